#include "lab/page_traversal.hpp"

#include <fmt/format.h>

#include <tuple>

#include "lab/chart.hpp"

namespace garner::lab {

figure traversal_pages::patterns() const {
  figure f("2.5", "Reading host memory in three patterns",
           "The paper, PCIe 3: aligned 12.23 of the 12.3 GB/s of a copy, off by 32 B less, strided some 4.7; UVM 9.");
  f.numbers.head = {"<pattern", "GB/s", "% of a copy", "32 B", "64 B", "96 B", "128 B"};
  bar_chart c("Figure 2.5: reading host memory in three patterns", "GB/s of each pattern", "", 0, {}, link_marks());
  std::vector<std::pair<std::string, double>> seen;
  for (pattern_row const& p : r_.patterns) {
    if (!p.verified || !p.skipped.empty()) continue;
    auto const count = [&](std::size_t k) { return p.link && !p.link->pages ? count_text(static_cast<double>(p.link->requests[k])) : "-"; };
    f.numbers.rows.push_back(
        {p.pattern, p.gbs ? short_number(*p.gbs) : "-",
         p.gbs && r_.machine.link && r_.machine.link->copy_gbs > 0 ? short_number(100 * *p.gbs / r_.machine.link->copy_gbs) : "-", count(0),
         count(1), count(2), count(3)});
    if (p.gbs) {
      c.add("", p.pattern, *p.gbs);
      seen.emplace_back(p.pattern, *p.gbs);
    } else if (p.link && p.link->request_count()) {
      double const all = static_cast<double>(p.link->request_count());
      bar b{p.pattern, {}, count_text(all), false};
      for (auto const n : p.link->requests) b.parts.push_back(static_cast<double>(n) / all);
      c.of("").push_back(std::move(b));
      c.parts = {"32 B", "64 B", "96 B", "128 B"};
      c.description = "the share of each request size; the number of requests stands behind";
    }
  }
  if (!c.parts.empty()) f.title += ": the requests (simulated)";
  c.unit = c.parts.empty() ? "GB/s" : "share of the requests; behind: how many";
  auto const best = std::max_element(seen.begin(), seen.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  auto const worst = std::min_element(seen.begin(), seen.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  if (seen.size() > 1)
    f.finding =
        fmt::format("\u2018{}\u2019 reads {} GB/s, {} times as much as \u2018{}\u2019{}.", best->first, short_number(best->second),
                    short_number(best->second / worst->second), worst->first, crosses_ ? "" : " (host memory by host threads: no link)");
  else if (!c.parts.empty())
    f.finding = "Strided reads request single sectors, aligned ones whole lines, and a line that is missed by 32 B costs two requests.";
  return drawn(std::move(f), c);
}

figure traversal_pages::request_sizes() const {
  figure f(
      "2.6", "Requests of BFS by size",
      "The paper: naive nearly all 32 B; merged some 40 % of 128 B; aligned 1.86 times that share on GAP-kron, 1.25 times on GAP-urand.");
  f.numbers.head = {"<graph", "<way", "32 B", "64 B", "96 B", "128 B", "bytes a request"};
  bar_chart c("Figure 2.6: requests of BFS by size", "the share of each request size, of all requests of a search",
              "share of the requests; behind: of 128 B", 1, {"32 B", "64 B", "96 B", "128 B"});
  by_graph whole_aligned, whole_merged;
  for (graph_row const& g : r_.graphs) {
    std::optional<double> merged, aligned;
    for (job_row const* j : rows(g.name, "bfs")) {
      if (!asks(*j)) continue;
      double const all = static_cast<double>(j->link->request_count());
      bar b{j->label, {}, "", !j->paper};
      std::vector<std::string> cells{g.name, j->label};
      for (auto const n : j->link->requests) {
        b.parts.push_back(static_cast<double>(n) / all);
        cells.push_back(percent(static_cast<double>(n) / all));
      }
      b.value = percent(b.parts[3]);
      cells.push_back(short_number(static_cast<double>(j->link->bytes_link()) / all));
      f.numbers.rows.push_back(std::move(cells));
      if (j->strategy == "merged") merged = b.parts[3];
      if (j->strategy == "aligned") aligned = b.parts[3];
      c.of(g.name).push_back(std::move(b));
    }
    if (merged && aligned) whole_aligned.add(g.name, percent(*aligned)), whole_merged.add(g.name, percent(*merged));
  }
  if (!whole_aligned.empty())
    f.finding = fmt::format("Share of whole lines among requests: {} {}; {} {}.", quoted("aligned"), whole_aligned.named(),
                            quoted("merged"), whole_merged.values());
  return drawn(std::move(f), c);
}

figure traversal_pages::degrees() const {
  figure f("2.7", "Edges by the degree of their vertex",
           "The paper: all edges of GAP-urand at degrees 16 to 48; hardly any of MOLIERE at small ones.");
  line_chart c("Figure 2.7: edges by the degree of their vertex, cumulative",
               "the share of the edges that lie at vertices of at most each degree, up to 96", "degree of the vertex, at most",
               "share of the edges", {0, 16, 32, 48, 64, 80, 96}, true);
  f.numbers.head = {"<graph", "vertices", "edges", "largest degree", "\u2264 16", "\u2264 32", "\u2264 48", "\u2264 96"};
  by_graph short_lists;
  for (graph_row const& g : r_.graphs) {
    curve l{g.name, {}};
    std::vector<std::string> cells{g.name, count_text(static_cast<double>(g.vertices)), count_text(static_cast<double>(g.edges)),
                                   count_text(static_cast<double>(g.degree_max))};
    for (degree_share const& s : g.shares) {
      if (s.degree <= 96) l.points.emplace_back(static_cast<double>(s.degree), s.share);
      if (s.degree == 16 || s.degree == 32 || s.degree == 48 || s.degree == 96) cells.push_back(percent(s.share));
      if (s.degree == 32) short_lists.add(g.name, percent(s.share));
    }
    if (c.curves.size() < 6) c.curves.push_back(std::move(l));
    f.numbers.rows.push_back(std::move(cells));
  }
  f.charts = draw(c);
  if (!short_lists.empty()) f.finding = fmt::format("Share of the edges in lists of at most 32 neighbors: {}.", short_lists.named());
  if (f.charts.empty()) f.absent = "No graph was measured.";
  return f;
}

figure traversal_pages::request_counts() const {
  figure f("2.8", "How many requests BFS sends", "The paper: merged up to 83.3 % fewer than naive, aligned up to 28.8 % fewer than merged.",
           paper_key);
  f.numbers.head = {"<graph", "<way", "requests", "of strided", "bytes"};
  bar_chart c("Figure 2.8: how many requests BFS sends", "requests of a search", "requests of a search");
  by_graph merging, aligning;
  for (graph_row const& g : r_.graphs) {
    job_row const *strided = find(g.name, "bfs", "strided"), *merged = find(g.name, "bfs", "merged"),
                  *aligned = find(g.name, "bfs", "aligned");
    auto const count = [](job_row const& j) { return static_cast<double>(j.link->request_count()) / j.runs(); };
    for (job_row const* j : rows(g.name, "bfs")) {
      if (!asks(*j)) continue;
      c.of(g.name).push_back({j->label, {count(*j)}, count_text(count(*j)), !j->paper});
      f.row(g.name, j->label, count_text(count(*j)), strided && asks(*strided) ? percent(count(*j) / count(*strided)) : "-",
            format_bytes(j->link->bytes_link() / j->ms.size()));
    }
    if (strided && merged && aligned && asks(*strided) && asks(*merged))
      merging.add(g.name, percent(1 - count(*merged) / count(*strided))),
          aligning.add(g.name, percent(1 - count(*aligned) / count(*merged)));
  }
  if (!merging.empty())
    f.finding = fmt::format("Requests saved by merging: {}; by aligning, of the rest: {}.", merging.named(), aligning.values());
  return drawn(std::move(f), c);
}

figure traversal_pages::bandwidth() const {
  figure f("2.9", "Bandwidth that BFS reaches",
           "The paper, of 12.3 GB/s: UVM 9, naive 4.7, merged 11, aligned 0.5 to 1 more. UVM here by the pages that hold the lists read.",
           paper_key);
  f.numbers.head = {"<graph", "<way", "GB/s", "% of a copy", "% of the link"};
  bar_chart c("Figure 2.9: bandwidth that BFS reaches", "GB/s over the link, all levels together", "GB/s", 0, {}, link_marks());
  by_graph parts;
  auto const& link = r_.machine.link;
  of_ways const found = bfs_ways(
      c, [&](job_row const& j) { return gbs_of(j); },
      [&](job_row const& j, double rate) {
        f.row(j.graph, j.label, rate, link ? short_number(100 * rate / link->copy_gbs) : "-",
              link ? short_number(100 * rate / link->zero_copy_gbs) : "-");
        if (j.strategy == "aligned" && link && link->zero_copy_gbs > 0) parts.add(j.graph, percent(rate / link->zero_copy_gbs));
      },
      " GB/s");
  if (!found.aligned.empty())
    f.finding = fmt::format("{} moves {}{}.", quoted("aligned"), found.aligned.named(),
                            parts.empty() ? "" : ": " + parts.values() + " of what the link gives to aligned reads");
  return drawn(std::move(f), c);
}

figure traversal_pages::not_measured() const {
  figure f("", "Not measured, so not shown");
  f.numbers.head = {"<what", "<why"};
  auto const why = [](std::string const& skipped, bool verified) {
    return !skipped.empty() ? skipped : verified ? "" : "the result was not verified";
  };
  for (pattern_row const& p : r_.patterns)
    if (auto const w = why(p.skipped, p.verified); !w.empty()) f.row("reading, " + p.pattern, w);
  for (job_row const& j : r_.jobs)
    if (auto const w = why(j.skipped, j.verified); !w.empty())
      f.row(fmt::format("{}, {}, {}, {}-byte ids", j.job, j.graph, j.label, j.id_bytes), w);
  return f;
}

namespace {

fact_list facts_of(named<run_file> const& n) {
  run_file const& r = n.run;
  machine_facts const& m = r.machine;
  fact_list facts(n.name, {r.garner, r.command, r.time, {}, {}, 0});
  facts.add("place", m.place + (m.device.empty() ? "" : ", " + m.device));
  facts.add("host threads", std::to_string(m.threads));
  if (m.device_budget) facts.add("device budget", format_bytes(*m.device_budget));
  if (m.host_budget) facts.add("host budget", format_bytes(*m.host_budget));
  if (m.link)
    facts.add("link",
              fmt::format("copy {} GB/s, aligned reads {} GB/s, {} G requests/s of 128 B, {} of 32 B{}", short_number(m.link->copy_gbs),
                          short_number(m.link->zero_copy_gbs), short_number(m.link->line_requests), short_number(m.link->sector_requests),
                          m.link->paged_gbs ? ", UVM in order " + short_number(*m.link->paged_gbs) + " GB/s" : ""));
  else facts.add("link", "none was measured");
  facts.add("protocol",
            fmt::format("{}: {} of {} sources for BFS and SSSP, of {} runs elsewhere; {} iterations of PageRank; seed {}", r.protocol.name,
                        r.protocol.statistic, r.protocol.sources, r.protocol.trials, r.protocol.iterations, r.protocol.seed));
  return facts;
}

bool same_setting(run_file const& a, run_file const& b) {
  auto const near = [](std::optional<std::uint64_t> x, std::optional<std::uint64_t> y) {
    if (!x || !y) return x == y;
    return std::max(*x, *y) - std::min(*x, *y) <= std::max(*x, *y) / 100;
  };
  auto const said = [](protocol_facts const& p) { return std::tie(p.name, p.statistic, p.sources, p.trials, p.iterations, p.seed); };
  bool const graphs_differ = std::none_of(a.graphs.begin(), a.graphs.end(), [&](graph_row const& g) {
    return std::any_of(b.graphs.begin(), b.graphs.end(), [&](graph_row const& h) { return g.name == h.name; });
  });
  return a.garner == b.garner && a.machine.place == b.machine.place && a.machine.device == b.machine.device &&
         near(a.machine.device_budget, b.machine.device_budget) && said(a.protocol) == said(b.protocol) && graphs_differ;
}

}  // namespace

std::vector<named<run_file>> joined(std::vector<named<run_file>> const& runs) {
  std::vector<named<run_file>> all;
  for (named<run_file> const& n : runs) {
    auto const at = std::find_if(all.begin(), all.end(), [&](named<run_file> const& m) { return same_setting(m.run, n.run); });
    if (at == all.end()) {
      all.push_back(n);
      continue;
    }
    run_file& to = at->run;
    at->name += ", " + n.name;
    to.command += "; " + n.run.command;
    if (to.machine.device_budget) to.machine.device_budget = std::min(*to.machine.device_budget, *n.run.machine.device_budget);
    to.graphs.insert(to.graphs.end(), n.run.graphs.begin(), n.run.graphs.end());
    to.jobs.insert(to.jobs.end(), n.run.jobs.begin(), n.run.jobs.end());
    // Patterns do not depend on the graph: those of the first file are used.
  }
  return all;
}

std::string section_of(named<run_file> const& n, std::string const& before) {
  traversal_pages const p(n.run);
  section s(before + p.setting(), facts_of(n));
  std::vector<figure> all{p.patterns(),      p.request_sizes(), p.degrees(),  p.request_counts(), p.bandwidth(),    p.over_uvm(),
                          p.amplification(), p.jobs_over_uvm(), p.id_width(), p.links(),          p.far_over_near()};
  for (figure& f : p.all_times()) all.push_back(std::move(f));
  all.push_back(p.not_measured());
  for (figure& f : all)
    if (f.charts.empty() && &f != &all.back())
      all.back().numbers.rows.push_back({title_of(f), f.absent.empty() ? p.why_not() : f.absent}), f.numbers.rows.clear();
  s.add(all, p.setting());
  return s.html();
}

}  // namespace garner::lab

#include <fmt/format.h>

#include <cmath>

#include "lab/chart.hpp"
#include "lab/page_traversal.hpp"

namespace garner::lab {

namespace {

double geometric_mean(std::vector<double> const& values) {
  double sum = 0;
  for (double const v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

figure traversal_pages::over_uvm() const {
  figure f("2.10", "BFS against UVM",
           "The paper, on average over six graphs: naive 0.73, merged 3.24, aligned 1.10 times merged, with UVM thrashing; here UVM is "
           "cold and holds all it moves, which favours it.",
           paper_key);
  f.numbers.head = {"<graph", "<way", "ms", "UVM, ms", "times UVM"};
  bar_chart c("Figure 2.10: BFS against UVM", "how many times as fast as UVM", "times as fast as UVM", 1, {},
              {{1, "UVM, cold: 1 (logarithmic scale)"}}, true);
  of_ways const found = bfs_ways(
      c,
      [&](job_row const& j) {
        job_row const* const uvm = find(j.graph, "bfs", "uvm");
        auto const base = uvm && uvm != &j ? ms_of(*uvm) : std::nullopt, ms = ms_of(j);
        return base && ms ? std::optional(*base / *ms) : std::nullopt;
      },
      [&](job_row const& j, double gain) { f.row(j.graph, j.label, ms_of(j), ms_of(*find(j.graph, "bfs", "uvm")), gain); });
  f.finding = found.text("Speed in multiples of UVM's");
  return drawn(std::move(f), c);
}

figure traversal_pages::amplification() const {
  figure f("2.11", "Bytes over the link by bytes of the edge list, BFS",
           "The paper: UVM up to 5.16 (Friendster), since it thrashes; aligned at most 1.31.", paper_key);
  f.numbers.head = {"<graph", "<way", "amplification", "overfetch"};
  bar_chart c("Figure 2.11: read amplification of BFS", "bytes over the link divided by bytes of the edge list",
              "bytes over the link / bytes of the edge list", 1, {}, {{1, "the edge list, once: 1"}});
  of_ways const found = bfs_ways(
      c,
      [&](job_row const& j) {
        auto const bytes = bytes_of(j);
        return bytes && j.data_bytes ? std::optional(*bytes / static_cast<double>(j.data_bytes)) : std::nullopt;
      },
      [&](job_row const& j, double a) { f.row(j.graph, j.label, a, j.link->bytes_useful ? short_number(j.link->overfetch()) : "-"); });
  f.finding = found.text("Bytes in multiples of the edge list");
  return drawn(std::move(f), c);
}

figure traversal_pages::jobs_over_uvm() const {
  figure f("2.12", "All algorithms against UVM",
           "The paper: aligned 2.60 times as fast as UVM on average over algorithms and graphs, less for components and PageRank, which "
           "read the list in order.",
           paper_key);
  f.numbers.head = {"<job", "<graph", "UVM, ms", "aligned, ms", "Garner, ms", "aligned, times UVM", "Garner, times UVM"};
  bar_chart c("Figure 2.12: all against UVM", "how many times as fast as UVM", "times as fast as UVM", 1, {},
              {{1, "UVM, cold: 1 (logarithmic scale)"}}, true);
  std::vector<double> aligned_gains, own_gains;
  for (std::string const& job : jobs_)
    for (graph_row const& g : r_.graphs) {
      job_row const *uvm = find(g.name, job, "uvm"), *aligned = find(g.name, job, "aligned"), *own = find(g.name, job, "default");
      auto const base = uvm ? ms_of(*uvm) : std::nullopt;
      if (!base) continue;
      std::string const group = job + ", " + g.name + (job == "pagerank" ? " (an iteration)" : "");
      std::vector<std::string> cells{job, g.name, short_number(*base), "-", "-", "-", "-"};
      std::size_t column = 3;
      for (job_row const* j : {aligned, own}) {
        if (auto const ms = j ? ms_of(*j) : std::nullopt; ms) {
          c.add(group, j->label, *base / *ms, !j->paper);
          cells[column] = short_number(*ms);
          cells[column + 2] = short_number(*base / *ms);
          (j->paper ? aligned_gains : own_gains).push_back(*base / *ms);
        }
        ++column;
      }
      f.numbers.rows.push_back(std::move(cells));
    }
  if (!aligned_gains.empty())
    f.finding =
        fmt::format("\u2018aligned\u2019 is {} times as fast as UVM (geometric mean){}.", short_number(geometric_mean(aligned_gains)),
                    own_gains.empty() ? "" : fmt::format(", Garner's own way {} times", short_number(geometric_mean(own_gains))));
  return drawn(std::move(f), c);
}

figure traversal_pages::id_width() const {
  figure f("2.13", "4-byte against 8-byte ids",
           "The paper: 1.57 times as fast with 4 bytes on average; nearly 2 for components of two graphs, less for SSSP (weights cross "
           "too) and PageRank.",
           paper_key);
  f.numbers.head = {"<job", "<graph", "<way", "4 B", "8 B", "<unit", "8 B / 4 B"};
  bar_chart c("Figure 2.13: 4-byte against 8-byte ids", "how many times as fast with 4-byte ids",
              timed_ ? "time with 8-byte ids / time with 4-byte ids" : "bytes with 8-byte ids / bytes with 4-byte ids", 2, {},
              {{1, "the same: 1"}});
  if (!timed_) c.description = "how many times the bytes with 8-byte ids";
  std::vector<double> gains;
  for (std::string const& job : jobs_)
    for (graph_row const& g : r_.graphs) {
      std::string const group = job + ", " + g.name;
      for (char const* strategy : {"aligned", "default"}) {
        job_row const *narrow = find(g.name, job, strategy, 4), *wide = find(g.name, job, strategy, 8);
        if (!narrow || !wide) continue;
        auto const a = timed_ ? ms_of(*narrow) : bytes_of(*narrow), b = timed_ ? ms_of(*wide) : bytes_of(*wide);
        if (!a || !b) continue;
        double const gain = *b / *a;
        if (narrow->paper) gains.push_back(gain);
        c.add(group, narrow->label, gain, !narrow->paper);
        double const unit = timed_ ? 1 : 1e6;
        f.numbers.rows.push_back(
            {job, g.name, narrow->label, short_number(*a / unit), short_number(*b / unit), timed_ ? "ms" : "MB", short_number(gain)});
      }
    }
  f.charts = draw(c);
  if (!gains.empty())
    f.finding = timed_ ? fmt::format("With 4-byte ids \u2018aligned\u2019 is {} times as fast (geometric mean).",
                                     short_number(geometric_mean(gains)))
                       : fmt::format("With 8-byte ids \u2018aligned\u2019 sends {} times the bytes (geometric mean; counted, not timed).",
                                     short_number(geometric_mean(gains)));
  if (f.charts.empty()) f.absent = "No algorithm was measured with both widths.";
  return f;
}

figure traversal_pages::links() const {
  figure f("2.14", "BFS over slower and faster links",
           "Predicted from requests and bytes: a request costs what it carries and 192 bytes more. The paper, from 12.3 to 24 GB/s: EMOGI "
           "1.88 times as fast, UVM 1.53.");
  f.numbers.head = {"<graph", "<way", "GB/s", "predicted, ms", "measured, ms"};
  by_graph slow, fast;
  std::string slowest, fastest;
  for (graph_row const& g : r_.graphs) {
    line_chart c("Figure 2.14: BFS on " + g.name + " over slower and faster links",
                 "predicted milliseconds of the transfer alone at each link rate, on a logarithmic scale", "rate of the link, GB/s",
                 g.name + ": predicted ms, log scale", {}, false, true);
    for (job_row const* j : rows(g.name, "bfs")) {
      if (j->predicted.size() < 2 || !asks(*j)) continue;
      bool const chosen = j->strategy == "merged" || j->strategy == "aligned" || j->strategy == "levels" || j->strategy == "default";
      curve l{j->label, {}};
      for (prediction const& p : j->predicted) {
        if (p.ms > 0) l.points.emplace_back(p.gbs, p.ms);
        bool const here = r_.machine.link && std::abs(p.gbs - r_.machine.link->zero_copy_gbs) < 0.06;
        auto const ms = ms_of(*j);
        f.row(g.name, j->label, p.gbs, p.ms, here && ms ? short_number(*ms) : "-");
        if (std::find(c.x_ticks.begin(), c.x_ticks.end(), p.gbs) == c.x_ticks.end()) c.x_ticks.push_back(p.gbs);
      }
      if (j->strategy == "aligned") {
        slowest = short_number(j->predicted.front().gbs), fastest = short_number(j->predicted.back().gbs);
        slow.add(g.name, short_number(j->predicted.front().ms) + " ms"), fast.add(g.name, short_number(j->predicted.back().ms));
      }
      if (chosen && c.curves.size() < 6) c.curves.push_back(std::move(l));
    }
    std::sort(c.x_ticks.begin(), c.x_ticks.end());
    f.charts += draw(c);
  }
  if (!slow.empty())
    f.finding =
        fmt::format("At {} GB/s the bytes of {} take {}; at {} GB/s {}.", slowest, quoted("aligned"), slow.named(), fastest, fast.values());
  return f;
}

figure traversal_pages::far_over_near() const {
  figure f("", "Remote over local: Garner with edges in host memory and in the device's");
  f.numbers.head = {"<job", "<graph", "ids", "far, ms", "near, ms", "far / near", "first far, ms", "first near, ms"};
  bar_chart c(f.title, "time with edges in host memory divided by time with edges in device memory",
              "time with remote edges / time with local edges", 2, {}, {{1, "as local edges: 1"}});
  std::string finding;
  for (std::string const& job : jobs_) {
    by_graph quotients;
    for (graph_row const& g : r_.graphs)
      for (std::uint32_t const id_bytes : {4u, 8u}) {
        job_row const *far = find(g.name, job, "default", id_bytes), *near = find(g.name, job, "near", id_bytes);
        if (!far || !near) continue;
        auto const a = ms_of(*far), b = ms_of(*near);
        if (!a || !b) continue;
        double const quotient = *a / *b;
        c.add(job, g.name, quotient, true);
        f.row(job + (job == "pagerank" ? " (an iteration)" : ""), g.name, fmt::format("{} B", id_bytes), *a, *b, quotient, first_of(*far),
              first_of(*near));
        quotients.add(g.name, short_number(quotient));
      }
    if (!quotients.empty()) finding += fmt::format("{}{} {}", finding.empty() ? "" : "; ", job, quotients.named());
  }
  f.charts = draw(c);
  f.said =
      "The same algorithm on the same graph in the same run, with the same defaults. First: a whole run including its preparation (state "
      "and device cache); both exclude loading the edges into their tier.";
  if (!finding.empty()) f.finding = "Slowdown with remote edges over local ones: " + finding + ".";
  if (!f.charts.empty()) return f;
  auto const skipped =
      std::find_if(r_.jobs.begin(), r_.jobs.end(), [](job_row const& j) { return j.strategy == "near" && !j.skipped.empty(); });
  f.absent = r_.machine.place.rfind("device", 0) != 0 && r_.machine.place.rfind("cuda", 0) != 0
                 ? "Only a GPU has memory of its own; measure with --device cuda."
             : skipped != r_.jobs.end() ? skipped->skipped
                                        : "No algorithm was measured with both strategies; measure with default and near.";
  return f;
}

std::vector<figure> traversal_pages::all_times() const {
  std::vector<figure> all;
  for (std::string const& job : jobs_) {
    std::string const unit = job == "pagerank" ? "ms per iteration" : "ms";
    bool const predicted = !timed_;
    figure f("", fmt::format("Garner and the paper: {}", job), "", paper_key);
    bar_chart c(fmt::format("{}: {} of every way", job, unit), unit + ", smaller is better", unit + ", smaller is better");
    f.numbers.head = {"<graph",       "<way",           "ids",           "runs", "first, ms", predicted ? unit : "each after, " + unit,
                      "least - most", "% of the floor", "amplification", "state"};
    by_graph of_own, of_aligned, of_floor;
    for (graph_row const& g : r_.graphs) {
      std::optional<double> aligned, own, own_floor;
      for (job_row const* row : rows(g.name, job, true)) {
        job_row const& j = *row;
        std::optional<double> ms = ms_of(j);
        if (predicted) ms = j.predicted.empty() ? std::nullopt : std::optional(j.predicted.front().ms / per(j));
        if (!ms) continue;
        auto const floor = floor_ms(j);
        auto const bytes = bytes_of(j), first = first_of(j);
        auto const [least, most] = std::minmax_element(j.ms.begin(), j.ms.end());
        f.row(g.name, j.label, fmt::format("{} B", j.id_bytes), j.ms.size(), first && !predicted ? short_number(*first) : "-", *ms,
              predicted ? "-" : short_number(*least / per(j)) + " - " + short_number(*most / per(j)),
              floor ? short_number(100 * *floor / *ms) : "-",
              bytes && j.data_bytes ? short_number(*bytes / per(j) / static_cast<double>(j.data_bytes)) : "-", format_bytes(j.state_bytes));
        if (j.id_bytes != 4) continue;
        if (j.strategy == "aligned") aligned = ms;
        if (j.strategy == "default") {
          own = ms;
          if (floor) own_floor = *floor / *ms;
        }
        c.add(g.name, j.label, *ms, !j.paper);
      }
      if (aligned && own) of_own.add(g.name, short_number(*own) + " ms"), of_aligned.add(g.name, short_number(*aligned));
      if (own_floor) of_floor.add(g.name, percent(*own_floor));
    }
    f.charts = draw(c);
    if (predicted)
      f.title +=
          fmt::format(" (predicted at {} GB/s)",
                      r_.jobs.empty() || r_.jobs.front().predicted.empty() ? "-" : short_number(r_.jobs.front().predicted.front().gbs));
    if (!of_own.empty())
      f.finding =
          fmt::format("Garner's own way takes {}{}; the paper's {} {}.", of_own.named(),
                      of_floor.empty() ? "" : " (" + of_floor.values() + " of the link's floor)", quoted("aligned"), of_aligned.values());
    f.said = r_.machine.link && crosses_ ? fmt::format(
                                               "% of the floor: what one read of edges{} takes at the {} GB/s of aligned reads, over the "
                                               "time taken; above 100 % not all was read.",
                                               job == "sssp" ? " and weights" : "", short_number(r_.machine.link->zero_copy_gbs))
                                         : "";
    if (f.charts.empty()) f.absent = "No row could be drawn; see what was not measured, below.";
    all.push_back(std::move(f));
  }
  return all;
}

}  // namespace garner::lab

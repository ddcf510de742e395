#include "lab/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "memory/budget.hpp"

namespace garner::lab {

namespace {

std::string times(double x) { return short_number(x); }

constexpr char const* paper_key = "<span class=\"key paper\"></span>the paper's way &nbsp; <span class=\"key own\"></span>Garner's own";

// One run, with lookups for the figures.
class pages {
 public:
  explicit pages(run_file const& r) : r_(r) {
    timed_ = r.machine.place != "simulated";
    crosses_ = r.machine.place != "host" && r.machine.place != "cpu";
    for (job_row const& j : r.jobs)
      if (std::find(jobs_.begin(), jobs_.end(), j.job) == jobs_.end()) jobs_.push_back(j.job);
  }

  std::string setting() const {
    std::string text = "Place " + r_.machine.place;
    if (!r_.machine.device.empty()) text += " (" + r_.machine.device + ")";
    if (r_.machine.device_budget) text += ", device budget " + format_bytes(*r_.machine.device_budget);
    return text + fmt::format(", {} of {} sources", r_.protocol.statistic, r_.protocol.sources);
  }

  figure patterns() const;
  figure request_sizes() const;
  figure degrees() const;
  figure request_counts() const;
  figure bandwidth() const;
  figure over_uvm() const;
  figure amplification() const;
  figure jobs_over_uvm() const;
  figure id_width() const;
  figure links() const;
  figure far_over_near() const;
  std::vector<figure> all_times() const;
  figure not_measured() const;

 private:
  job_row const* find(std::string const& graph, std::string const& job, std::string const& strategy, std::uint32_t id_bytes = 4) const {
    for (job_row const& j : r_.jobs)
      if (j.graph == graph && j.job == job && j.strategy == strategy && j.id_bytes == id_bytes && j.drawn()) return &j;
    return nullptr;
  }
  // Drawable rows of one algorithm on one graph: of the paper's width with remote edges, or all.
  std::vector<job_row const*> rows(std::string const& graph, std::string const& job, bool every = false) const {
    std::vector<job_row const*> all;
    for (job_row const& j : r_.jobs)
      if (j.graph == graph && j.job == job && (every || (j.id_bytes == 4 && !j.near())) && j.drawn()) all.push_back(&j);
    std::stable_partition(all.begin(), all.end(), [](job_row const* j) { return j->strategy == "uvm"; });  // the baseline first
    return all;
  }
  // Milliseconds of a run; for PageRank, of an iteration.
  static double per(job_row const& j) { return j.iterations ? static_cast<double>(j.iterations) : 1; }
  static std::optional<double> ms_of(job_row const& j) {
    if (!j.ms_statistic || !(*j.ms_statistic > 1e-9)) return std::nullopt;  // below any clock's resolution
    return *j.ms_statistic / per(j);
  }
  // The whole first run, including preparation.
  static std::optional<double> first_of(job_row const& j) {
    if (!j.prepare_ms || j.ms.empty()) return std::nullopt;
    return *j.prepare_ms + j.ms.front();
  }
  static std::optional<double> bytes_of(job_row const& j) {  // of a run
    if (!j.link || j.link->bytes_link() == 0) return std::nullopt;
    return static_cast<double>(j.link->bytes_link()) / j.runs();
  }
  std::optional<double> gbs_of(job_row const& j) const {
    auto const bytes = bytes_of(j);
    if (!timed_ || !bytes) return std::nullopt;
    double const ms = std::accumulate(j.ms.begin(), j.ms.end(), 0.0) / j.runs();
    return ms > 1e-9 ? std::optional(*bytes / ms / 1e6) : std::nullopt;
  }
  static bool asks(job_row const& j) { return j.link && j.link->request_count() > 0; }
  std::vector<mark> link_marks() const {
    if (!r_.machine.link) return {};
    return {{r_.machine.link->copy_gbs, fmt::format("a copy: {} GB/s", short_number(r_.machine.link->copy_gbs))},
            {r_.machine.link->zero_copy_gbs, fmt::format("aligned reads of all: {} GB/s", short_number(r_.machine.link->zero_copy_gbs))}};
  }
  // The lower bound: one read of the data at the rate of aligned reads.
  std::optional<double> floor_ms(job_row const& j) const {
    if (!r_.machine.link || !(r_.machine.link->zero_copy_gbs > 0) || !crosses_ || j.near()) return std::nullopt;
    return static_cast<double>(j.data_bytes) / r_.machine.link->zero_copy_gbs / 1e6;
  }
  std::string why_not() const {
    if (!crosses_) return "The CPU has no link traffic; measure on a device, or simulated.";
    if (!timed_) return "A simulated run counts requests and takes no times; measure on a device.";
    return "No row of this run could be drawn; see what was not measured, below.";
  }

  run_file const& r_;
  bool timed_ = true, crosses_ = true;
  std::vector<std::string> jobs_;
};

std::string quoted(std::string_view strategy) { return fmt::format("\xE2\x80\x98{}\xE2\x80\x99", strategy); }

// One value per graph, as a list in a sentence.
struct by_graph {
  std::vector<std::pair<std::string, std::string>> all;  // graph, value
  void add(std::string const& graph, std::string value) { all.emplace_back(graph, std::move(value)); }
  bool empty() const { return all.empty(); }
  std::string named() const {  // "3 on a, 4 on b and 5 on c"
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) text += between(i) + all[i].second + " on " + all[i].first;
    return text;
  }
  std::string values() const {  // "3, 4 and 5"
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) text += between(i) + all[i].second;
    return text;
  }

 private:
  std::string between(std::size_t i) const { return i == 0 ? "" : i + 1 == all.size() ? " and " : ", "; }
};

double geometric_mean(std::vector<double> const& values) {
  double sum = 0;
  for (double const v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

figure pages::patterns() const {
  figure f{"2.5",
           "Reading host memory in three patterns",
           "",
           "",
           "The paper, PCIe 3: aligned 12.23 of the 12.3 GB/s of a copy, off by 32 B less, strided some 4.7; UVM 9.",
           "",
           {},
           ""};
  f.numbers.head = {"<pattern", "GB/s", "% of a copy", "32 B", "64 B", "96 B", "128 B"};
  bar_chart c{"Figure 2.5: reading host memory in three patterns", "GB/s of each pattern", {{}}, {}, link_marks(), 0};
  std::vector<std::pair<std::string, double>> seen;
  for (pattern_row const& p : r_.patterns) {
    if (!p.verified || !p.skipped.empty()) continue;
    auto const count = [&](std::size_t k) { return p.link && !p.link->pages ? count_text(static_cast<double>(p.link->requests[k])) : "-"; };
    f.numbers.rows.push_back(
        {p.pattern, p.gbs ? short_number(*p.gbs) : "-",
         p.gbs && r_.machine.link && r_.machine.link->copy_gbs > 0 ? short_number(100 * *p.gbs / r_.machine.link->copy_gbs) : "-", count(0),
         count(1), count(2), count(3)});
    if (p.gbs) {
      c.groups[0].bars.push_back({p.pattern, {*p.gbs}, short_number(*p.gbs), false});
      seen.emplace_back(p.pattern, *p.gbs);
    } else if (p.link && p.link->request_count()) {
      double const all = static_cast<double>(p.link->request_count());
      bar b{p.pattern, {}, count_text(all), false};
      for (auto const n : p.link->requests) b.parts.push_back(static_cast<double>(n) / all);
      c.groups[0].bars.push_back(std::move(b));
      c.parts = {"32 B", "64 B", "96 B", "128 B"};
      c.description = "the share of each request size; the number of requests stands behind";
    }
  }
  if (!c.parts.empty()) f.title += ": the requests (simulated)";
  c.unit = c.parts.empty() ? "GB/s" : "share of the requests; behind: how many";
  f.charts = draw(c);
  auto const best = std::max_element(seen.begin(), seen.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  auto const worst = std::min_element(seen.begin(), seen.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  if (seen.size() > 1)
    f.finding = fmt::format("\xE2\x80\x98{}\xE2\x80\x99 reads {} GB/s, {} times as much as \xE2\x80\x98{}\xE2\x80\x99{}.", best->first,
                            short_number(best->second), times(best->second / worst->second), worst->first,
                            crosses_ ? "" : " (host memory by host threads: no link)");
  else if (!c.parts.empty())
    f.finding = "Strided reads request single sectors, aligned ones whole lines, and a line that is missed by 32 B costs two requests.";
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::request_sizes() const {
  figure f{
      "2.6",
      "Requests of BFS by size",
      "",
      "",
      "The paper: naive nearly all 32 B; merged some 40 % of 128 B; aligned 1.86 times that share on GAP-kron, 1.25 times on GAP-urand.",
      "",
      {},
      ""};
  f.numbers.head = {"<graph", "<way", "32 B", "64 B", "96 B", "128 B", "bytes a request"};
  bar_chart c{"Figure 2.6: requests of BFS by size",
              "the share of each request size, of all requests of a search",
              {},
              {"32 B", "64 B", "96 B", "128 B"},
              {},
              1};
  by_graph whole_aligned, whole_merged;
  for (graph_row const& g : r_.graphs) {
    bar_group group{g.name, {}};
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
      group.bars.push_back(std::move(b));
    }
    if (merged && aligned) whole_aligned.add(g.name, percent(*aligned)), whole_merged.add(g.name, percent(*merged));
    c.groups.push_back(std::move(group));
  }
  c.unit = "share of the requests; behind: of 128 B";
  f.charts = draw(c);
  if (!whole_aligned.empty())
    f.finding = fmt::format("Share of whole lines among requests: {} {}; {} {}.", quoted("aligned"), whole_aligned.named(),
                            quoted("merged"), whole_merged.values());
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::degrees() const {
  figure f{"2.7",
           "Edges by the degree of their vertex",
           "",
           "",
           "The paper: all edges of GAP-urand at degrees 16 to 48; hardly any of MOLIERE at small ones.",
           "",
           {},
           ""};
  line_chart c{"Figure 2.7: edges by the degree of their vertex, cumulative",
               "the share of the edges that lie at vertices of at most each degree, up to 96",
               "degree of the vertex, at most",
               "share of the edges",
               {},
               {0, 16, 32, 48, 64, 80, 96},
               true,
               false};
  f.numbers.head = {"<graph",          "vertices",        "edges",           "largest degree",
                    "\xE2\x89\xA4 16", "\xE2\x89\xA4 32", "\xE2\x89\xA4 48", "\xE2\x89\xA4 96"};
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

figure pages::request_counts() const {
  figure f{"2.8",
           "How many requests BFS sends",
           "",
           "",
           "The paper: merged up to 83.3 % fewer than naive, aligned up to 28.8 % fewer than merged.",
           paper_key,
           {},
           ""};
  f.numbers.head = {"<graph", "<way", "requests", "of strided", "bytes"};
  bar_chart c{"Figure 2.8: how many requests BFS sends", "requests of a search", {}, {}, {}, 0};
  by_graph merging, aligning;
  for (graph_row const& g : r_.graphs) {
    bar_group group{g.name, {}};
    job_row const *strided = find(g.name, "bfs", "strided"), *merged = find(g.name, "bfs", "merged"),
                  *aligned = find(g.name, "bfs", "aligned");
    auto const count = [](job_row const& j) { return static_cast<double>(j.link->request_count()) / j.runs(); };
    for (job_row const* j : rows(g.name, "bfs")) {
      if (!asks(*j)) continue;
      group.bars.push_back({j->label, {count(*j)}, count_text(count(*j)), !j->paper});
      f.numbers.rows.push_back({g.name, j->label, count_text(count(*j)),
                                strided && asks(*strided) ? percent(count(*j) / count(*strided)) : "-",
                                format_bytes(j->link->bytes_link() / j->ms.size())});
    }
    if (strided && merged && aligned && asks(*strided) && asks(*merged))
      merging.add(g.name, percent(1 - count(*merged) / count(*strided))),
          aligning.add(g.name, percent(1 - count(*aligned) / count(*merged)));
    c.groups.push_back(std::move(group));
  }
  c.unit = "requests of a search";
  f.charts = draw(c);
  if (!merging.empty())
    f.finding = fmt::format("Requests saved by merging: {}; by aligning, of the rest: {}.", merging.named(), aligning.values());
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::bandwidth() const {
  figure f{"2.9",
           "Bandwidth that BFS reaches",
           "",
           "",
           "The paper, of 12.3 GB/s: UVM 9, naive 4.7, merged 11, aligned 0.5 to 1 more. UVM here by the pages that hold the lists read.",
           paper_key,
           {},
           ""};
  f.numbers.head = {"<graph", "<way", "GB/s", "% of a copy", "% of the link"};
  bar_chart c{"Figure 2.9: bandwidth that BFS reaches", "GB/s over the link, all levels together", {}, {}, link_marks(), 0};
  by_graph rates, parts;
  for (graph_row const& g : r_.graphs) {
    bar_group group{g.name, {}};
    for (job_row const* j : rows(g.name, "bfs")) {
      auto const rate = gbs_of(*j);
      if (!rate) continue;
      group.bars.push_back({j->label, {*rate}, short_number(*rate), !j->paper});
      auto const& link = r_.machine.link;
      f.numbers.rows.push_back({g.name, j->label, short_number(*rate), link ? short_number(100 * *rate / link->copy_gbs) : "-",
                                link ? short_number(100 * *rate / link->zero_copy_gbs) : "-"});
      if (j->strategy != "aligned") continue;
      rates.add(g.name, short_number(*rate) + " GB/s");
      if (link && link->zero_copy_gbs > 0) parts.add(g.name, percent(*rate / link->zero_copy_gbs));
    }
    c.groups.push_back(std::move(group));
  }
  c.unit = "GB/s";
  f.charts = draw(c);
  if (!rates.empty())
    f.finding = fmt::format("{} moves {}{}.", quoted("aligned"), rates.named(),
                            parts.empty() ? "" : ": " + parts.values() + " of what the link gives to aligned reads");
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::over_uvm() const {
  figure f{"2.10",
           "BFS against UVM",
           "",
           "",
           "The paper, on average over six graphs: naive 0.73, merged 3.24, aligned 1.10 times merged, with UVM thrashing; here UVM "
           "is cold and holds all it moves, which favours it.",
           paper_key,
           {},
           ""};
  f.numbers.head = {"<graph", "<way", "ms", "UVM, ms", "times UVM"};
  bar_chart c{"Figure 2.10: BFS against UVM", "how many times as fast as UVM", {}, {}, {{1, "UVM, cold: 1 (logarithmic scale)"}}, 1, true};
  by_graph of_aligned, of_own;
  for (graph_row const& g : r_.graphs) {
    bar_group group{g.name, {}};
    job_row const* const uvm = find(g.name, "bfs", "uvm");
    auto const base = uvm ? ms_of(*uvm) : std::nullopt;
    if (!base) continue;
    std::optional<double> aligned, own;
    for (job_row const* j : rows(g.name, "bfs")) {
      auto const ms = ms_of(*j);
      if (!ms || j == uvm) continue;
      double const gain = *base / *ms;
      if (j->strategy == "aligned") aligned = gain;
      if (j->strategy == "default") own = gain;
      group.bars.push_back({j->label, {gain}, times(gain), !j->paper});
      f.numbers.rows.push_back({g.name, j->label, short_number(*ms), short_number(*base), times(gain)});
    }
    if (aligned) of_aligned.add(g.name, times(*aligned));
    if (own) of_own.add(g.name, times(*own));
    c.groups.push_back(std::move(group));
  }
  c.unit = "times as fast as UVM";
  f.charts = draw(c);
  if (!of_aligned.empty())
    f.finding = fmt::format("Speed in multiples of UVM's: {} {}{}.", quoted("aligned"), of_aligned.named(),
                            of_own.empty() ? "" : "; Garner's own way " + of_own.values());
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::amplification() const {
  figure f{"2.11",
           "Bytes over the link by bytes of the edge list, BFS",
           "",
           "",
           "The paper: UVM up to 5.16 (Friendster), since it thrashes; aligned at most 1.31.",
           paper_key,
           {},
           ""};
  f.numbers.head = {"<graph", "<way", "amplification", "overfetch"};
  bar_chart c{"Figure 2.11: read amplification of BFS",
              "bytes over the link divided by bytes of the edge list",
              {},
              {},
              {{1, "the edge list, once: 1"}},
              1};
  by_graph of_aligned, of_own;
  for (graph_row const& g : r_.graphs) {
    bar_group group{g.name, {}};
    for (job_row const* j : rows(g.name, "bfs")) {
      auto const bytes = bytes_of(*j);
      if (!bytes || !j->data_bytes) continue;
      double const a = *bytes / static_cast<double>(j->data_bytes);
      group.bars.push_back({j->label, {a}, short_number(a), !j->paper});
      f.numbers.rows.push_back({g.name, j->label, short_number(a), j->link->bytes_useful ? short_number(j->link->overfetch()) : "-"});
      if (j->strategy == "aligned") of_aligned.add(g.name, short_number(a));
      if (j->strategy == "default") of_own.add(g.name, short_number(a));
    }
    c.groups.push_back(std::move(group));
  }
  c.unit = "bytes over the link / bytes of the edge list";
  f.charts = draw(c);
  if (!of_aligned.empty())
    f.finding = fmt::format("Bytes in multiples of the edge list: {} {}{}.", quoted("aligned"), of_aligned.named(),
                            of_own.empty() ? "" : "; Garner's own way " + of_own.values());
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::jobs_over_uvm() const {
  figure f{"2.12",
           "All algorithms against UVM",
           "",
           "",
           "The paper: aligned 2.60 times as fast as UVM on average over algorithms and graphs, less for components and "
           "PageRank, which read the list in order.",
           paper_key,
           {},
           ""};
  f.numbers.head = {"<job", "<graph", "UVM, ms", "aligned, ms", "Garner, ms", "aligned, times UVM", "Garner, times UVM"};
  bar_chart c{"Figure 2.12: all against UVM", "how many times as fast as UVM", {}, {}, {{1, "UVM, cold: 1 (logarithmic scale)"}}, 1, true};
  std::vector<double> aligned_gains, own_gains;
  for (std::string const& job : jobs_)
    for (graph_row const& g : r_.graphs) {
      job_row const *uvm = find(g.name, job, "uvm"), *aligned = find(g.name, job, "aligned"), *own = find(g.name, job, "default");
      auto const base = uvm ? ms_of(*uvm) : std::nullopt;
      if (!base) continue;
      bar_group group{job + ", " + g.name + (job == "pagerank" ? " (an iteration)" : ""), {}};
      std::vector<std::string> cells{job, g.name, short_number(*base), "-", "-", "-", "-"};
      std::size_t column = 3;
      for (job_row const* j : {aligned, own}) {
        if (auto const ms = j ? ms_of(*j) : std::nullopt; ms) {
          group.bars.push_back({j->label, {*base / *ms}, times(*base / *ms), !j->paper});
          cells[column] = short_number(*ms);
          cells[column + 2] = times(*base / *ms);
          (j->paper ? aligned_gains : own_gains).push_back(*base / *ms);
        }
        ++column;
      }
      f.numbers.rows.push_back(std::move(cells));
      c.groups.push_back(std::move(group));
    }
  c.unit = "times as fast as UVM";
  f.charts = draw(c);
  if (!aligned_gains.empty())
    f.finding = fmt::format(
        "\xE2\x80\x98"
        "aligned\xE2\x80\x99 is {} times as fast as UVM (geometric mean){}.",
        times(geometric_mean(aligned_gains)),
        own_gains.empty() ? "" : fmt::format(", Garner's own way {} times", times(geometric_mean(own_gains))));
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::id_width() const {
  figure f{"2.13",
           "4-byte against 8-byte ids",
           "",
           "",
           "The paper: 1.57 times as fast with 4 bytes on average; nearly 2 for components of two graphs, less for SSSP (weights cross "
           "too) and PageRank.",
           paper_key,
           {},
           ""};
  f.numbers.head = {"<job", "<graph", "<way", "4 B", "8 B", "<unit", "8 B / 4 B"};
  bar_chart c{"Figure 2.13: 4-byte against 8-byte ids", "how many times as fast with 4-byte ids", {}, {}, {{1, "the same: 1"}}, 2};
  if (!timed_) c.description = "how many times the bytes with 8-byte ids";
  std::vector<double> gains;
  for (std::string const& job : jobs_)
    for (graph_row const& g : r_.graphs) {
      bar_group group{job + ", " + g.name, {}};
      for (char const* strategy : {"aligned", "default"}) {
        job_row const *narrow = find(g.name, job, strategy, 4), *wide = find(g.name, job, strategy, 8);
        if (!narrow || !wide) continue;
        auto const a = timed_ ? ms_of(*narrow) : bytes_of(*narrow), b = timed_ ? ms_of(*wide) : bytes_of(*wide);
        if (!a || !b) continue;
        double const gain = *b / *a;
        if (narrow->paper) gains.push_back(gain);
        group.bars.push_back({narrow->label, {gain}, times(gain), !narrow->paper});
        double const unit = timed_ ? 1 : 1e6;
        f.numbers.rows.push_back(
            {job, g.name, narrow->label, short_number(*a / unit), short_number(*b / unit), timed_ ? "ms" : "MB", times(gain)});
      }
      c.groups.push_back(std::move(group));
    }
  c.unit = timed_ ? "time with 8-byte ids / time with 4-byte ids" : "bytes with 8-byte ids / bytes with 4-byte ids";
  f.charts = draw(c);
  if (!gains.empty())
    f.finding = timed_ ? fmt::format(
                             "With 4-byte ids \xE2\x80\x98"
                             "aligned\xE2\x80\x99 is {} times as fast (geometric mean).",
                             times(geometric_mean(gains)))
                       : fmt::format(
                             "With 8-byte ids \xE2\x80\x98"
                             "aligned\xE2\x80\x99 sends {} times the bytes (geometric mean; counted, not timed).",
                             times(geometric_mean(gains)));
  if (f.charts.empty()) f.absent = "No algorithm was measured with both widths.";
  return f;
}

figure pages::links() const {
  figure f{"2.14",
           "BFS over slower and faster links",
           "",
           "",
           "Predicted from requests and bytes: a request costs what it carries and 192 bytes more. The paper, from 12.3 to 24 GB/s: EMOGI "
           "1.88 times as "
           "fast, UVM 1.53.",
           "",
           {},
           ""};
  f.numbers.head = {"<graph", "<way", "GB/s", "predicted, ms", "measured, ms"};
  by_graph slow, fast;
  std::string slowest, fastest;
  for (graph_row const& g : r_.graphs) {
    line_chart c{"Figure 2.14: BFS on " + g.name + " over slower and faster links",
                 "predicted milliseconds of the transfer alone at each link rate, on a logarithmic scale",
                 "rate of the link, GB/s",
                 g.name + ": predicted ms, log scale",
                 {},
                 {},
                 false,
                 true};
    for (job_row const* j : rows(g.name, "bfs")) {
      if (j->predicted.size() < 2 || !asks(*j)) continue;
      bool const chosen = j->strategy == "merged" || j->strategy == "aligned" || j->strategy == "levels" || j->strategy == "default";
      curve l{j->label, {}};
      for (prediction const& p : j->predicted) {
        if (p.ms > 0) l.points.emplace_back(p.gbs, p.ms);
        bool const here = r_.machine.link && std::abs(p.gbs - r_.machine.link->zero_copy_gbs) < 0.06;
        auto const ms = ms_of(*j);
        f.numbers.rows.push_back({g.name, j->label, short_number(p.gbs), short_number(p.ms), here && ms ? short_number(*ms) : "-"});
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
  if (f.charts.empty()) f.absent = why_not();
  return f;
}

figure pages::far_over_near() const {
  figure f{"", "Remote over local: Garner with edges in host memory and in the device's", "", "", "", "", {}, ""};
  f.numbers.head = {"<job", "<graph", "ids", "far, ms", "near, ms", "far / near", "first far, ms", "first near, ms"};
  bar_chart c{f.title, "time with edges in host memory divided by time with edges in device memory", {}, {}, {{1, "as local edges: 1"}}, 2};
  auto const text = [](std::optional<double> ms) { return ms ? short_number(*ms) : "-"; };
  std::string finding;
  for (std::string const& job : jobs_) {
    bar_group group{job, {}};
    by_graph quotients;
    for (graph_row const& g : r_.graphs)
      for (std::uint32_t const id_bytes : {4u, 8u}) {
        job_row const *far = find(g.name, job, "default", id_bytes), *near = find(g.name, job, "near", id_bytes);
        if (!far || !near) continue;
        auto const a = ms_of(*far), b = ms_of(*near);
        if (!a || !b) continue;
        double const quotient = *a / *b;
        group.bars.push_back({g.name, {quotient}, times(quotient), true});
        f.numbers.rows.push_back({job + (job == "pagerank" ? " (an iteration)" : ""), g.name, fmt::format("{} B", id_bytes),
                                  short_number(*a), short_number(*b), times(quotient), text(first_of(*far)), text(first_of(*near))});
        quotients.add(g.name, times(quotient));
      }
    if (!quotients.empty()) finding += fmt::format("{}{} {}", finding.empty() ? "" : "; ", job, quotients.named());
    c.groups.push_back(std::move(group));
  }
  c.unit = "time with remote edges / time with local edges";
  f.charts = draw(c);
  f.said =
      "The same algorithm on the same graph in the same run, with the same defaults. First: a whole run including its preparation "
      "(state and device cache); both exclude loading the edges into their tier.";
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

std::vector<figure> pages::all_times() const {
  std::vector<figure> all;
  for (std::string const& job : jobs_) {
    std::string const unit = job == "pagerank" ? "ms per iteration" : "ms";
    bool const predicted = !timed_;
    figure f{"", fmt::format("Garner and the paper: {}", job), "", "", "", paper_key, {}, ""};
    bar_chart c{fmt::format("{}: {} of every way", job, unit), unit + ", smaller is better", {}, {}, {}, 0};
    f.numbers.head = {"<graph",       "<way",           "ids",           "runs", "first, ms", predicted ? unit : "each after, " + unit,
                      "least - most", "% of the floor", "amplification", "state"};
    by_graph of_own, of_aligned, of_floor;
    for (graph_row const& g : r_.graphs) {
      bar_group group{g.name, {}};
      std::optional<double> aligned, own, own_floor;
      for (job_row const* row : rows(g.name, job, true)) {
        job_row const& j = *row;
        std::optional<double> ms = ms_of(j);
        if (predicted) ms = j.predicted.empty() ? std::nullopt : std::optional(j.predicted.front().ms / per(j));
        if (!ms) continue;
        auto const floor = floor_ms(j);
        auto const bytes = bytes_of(j), first = first_of(j);
        auto const [least, most] = std::minmax_element(j.ms.begin(), j.ms.end());
        f.numbers.rows.push_back({g.name, j.label, fmt::format("{} B", j.id_bytes), std::to_string(j.ms.size()),
                                  first && !predicted ? short_number(*first) : "-", short_number(*ms),
                                  predicted ? "-" : short_number(*least / per(j)) + " - " + short_number(*most / per(j)),
                                  floor ? short_number(100 * *floor / *ms) : "-",
                                  bytes && j.data_bytes ? short_number(*bytes / per(j) / static_cast<double>(j.data_bytes)) : "-",
                                  format_bytes(j.state_bytes)});
        if (j.id_bytes != 4) continue;
        if (j.strategy == "aligned") aligned = ms;
        if (j.strategy == "default") {
          own = ms;
          if (floor) own_floor = *floor / *ms;
        }
        group.bars.push_back({j.label, {*ms}, short_number(*ms), !j.paper});
      }
      if (aligned && own) of_own.add(g.name, short_number(*own) + " ms"), of_aligned.add(g.name, short_number(*aligned));
      if (own_floor) of_floor.add(g.name, percent(*own_floor));
      c.groups.push_back(std::move(group));
    }
    c.unit = unit + ", smaller is better";
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

figure pages::not_measured() const {
  figure f{"", "Not measured, so not shown", "", "", "", "", {}, ""};
  f.numbers.head = {"<what", "<why"};
  auto const why = [](std::string const& skipped, bool verified) {
    return !skipped.empty() ? skipped : verified ? "" : "the result was not verified";
  };
  for (pattern_row const& p : r_.patterns)
    if (auto const w = why(p.skipped, p.verified); !w.empty()) f.numbers.rows.push_back({"reading, " + p.pattern, w});
  for (job_row const& j : r_.jobs)
    if (auto const w = why(j.skipped, j.verified); !w.empty())
      f.numbers.rows.push_back({fmt::format("{}, {}, {}, {}-byte ids", j.job, j.graph, j.label, j.id_bytes), w});
  return f;
}

std::string facts_of(named<run_file> const& n) {
  run_file const& r = n.run;
  machine_facts const& m = r.machine;
  fact_list facts;
  facts.add("file", n.name);
  facts.add("measured", r.time + " with garner " + r.garner);
  facts.add("command", r.command);
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
  return facts.html();
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

}  // namespace

void bench_files::add(std::string const& text, std::string const& name) {
  auto const taken = [&]<class File>(std::vector<named<File>>& all) {
    if (!is_of(File::schema, text)) return false;
    all.push_back({name, parse<File>(text, name)});
    return true;
  };
  if (is_course(text)) trainings.push_back({name, parse_course(text, name)});
  else if (!taken(tierings) && !taken(gathers) && !taken(loads) && !taken(trainings) && !taken(storages) && !taken(shards) &&
           !taken(accuracies))
    runs.push_back({name, parse_run(text, name)});
}

namespace {

// What a page of one kind of files says above all: in its title, and below.
struct opening {
  char const *title, *head;
};
constexpr opening of_runs{"traversal",
                          "<h1>Garner: traversal over far edges, measured</h1>\n<p>The figures of the dissertation's chapter on EMOGI (2.5 "
                          "to 2.14), measured by <code>garner bench traversal</code>. Every result was verified by its certificate; what "
                          "was not is not drawn. The paper's values are those of its machine, a V100 on PCIe 3.</p>"};
constexpr opening of_tierings{
    "data tiering",
    "<h1>Garner: data tiering, measured</h1>\n<p>The figures of the dissertation's chapter on data tiering (4.8, 4.10, 4.11), measured by "
    "<code>garner bench tiering</code>. The paper's values are those of its graphs and its machine.</p>"};
constexpr opening of_gathers{"gathers of rows",
                             "<h1>Garner: gathers of rows, measured</h1>\n<p>The figures of the dissertation's chapter on unified tensors "
                             "(3.10, 3.12, 3.13) and Garner's own, measured by <code>garner bench gather</code>; of each way the rows were "
                             "compared with the table first. The paper's values are those of its machines.</p>"};
constexpr opening of_loads{"mini-batches",
                           "<h1>Garner: mini-batches, measured</h1>\n<p>Mini-batches of a training whose graph and rows lie far, near, and "
                           "far with some rows kept, measured by <code>garner bench load</code>; of each setting the first were checked "
                           "against graph and table. The paper's values are those of its machines.</p>"};
constexpr opening of_trainings{"trainings",
                               "<h1>Garner: trainings, measured</h1>\n<p>Whole trainings whose graph and rows lie far, near, and far with "
                               "some rows kept, by <code>garner bench train</code>, which compared what each learned bit for bit, or by "
                               "<code>garner train --json</code>. The paper's values are those of its machines.</p>"};
constexpr opening of_storages{
    "rows on storage",
    "<h1>Garner: rows on storage, measured</h1>\n<p>The figures of the GIDS paper (3, 8 to 17) on generated graphs, measured by "
    "<code>garner bench storage</code>. Drives are simulated, in counted time, unless a row says file; every row that was looked at came "
    "right. The paper's values are those of its machine: an A100, up to four Intel Optane drives, 512 GB of host memory.</p>"};
constexpr opening of_shards{
    "aggregation over shards",
    "<h1>Garner: aggregation over shards, measured</h1>\n<p>One aggregation over parts of a graph in every way, and models on it, beside "
    "one place, measured by <code>garner bench shards</code>; what each gave was compared with f64 first.</p>"};
constexpr opening of_accuracies{"accuracy",
                                "<h1>Garner: accuracy with and without sampling, measured</h1>\n<p>Trainings on real graphs, whole, over "
                                "shards and by mini-batches, by <code>tools/measure_sampling</code>: table 5 of the MGG paper.</p>"};

}  // namespace

std::string page_of(bench_files const& files) {
  opening const& o = !files.runs.empty()         ? of_runs
                     : !files.tierings.empty()   ? of_tierings
                     : !files.gathers.empty()    ? of_gathers
                     : !files.loads.empty()      ? of_loads
                     : !files.trainings.empty()  ? of_trainings
                     : !files.storages.empty()   ? of_storages
                     : !files.shards.empty()     ? of_shards
                     : !files.accuracies.empty() ? of_accuracies
                                                 : of_gathers;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>Garner: {}, measured</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n<body>\n<header>\n"
      "{}\n</header>\n<main>\n",
      o.title, style, o.head);
  std::vector<named<run_file>> const runs = joined(files.runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    pages const p(runs[i].run);
    std::string const heading = (runs.size() > 1 ? fmt::format("Run {}: ", i + 1) : std::string()) + p.setting();
    out += fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n<section class=\"figures\">\n", escaped(heading), facts_of(runs[i]));
    std::vector<figure> all{p.patterns(),      p.request_sizes(), p.degrees(),  p.request_counts(), p.bandwidth(),    p.over_uvm(),
                            p.amplification(), p.jobs_over_uvm(), p.id_width(), p.links(),          p.far_over_near()};
    for (figure& f : p.all_times()) all.push_back(std::move(f));
    figure left = p.not_measured();
    for (figure const& f : all)
      if (f.absent.empty()) out += html_of(f, p.setting());
      else left.numbers.rows.push_back({title_of(f), f.absent});
    if (!left.numbers.rows.empty()) out += html_of(left, p.setting());
    out += "</section>\n";
  }
  return out + tiering_sections(files.tierings) + gather_sections(files.gathers) + load_sections(files.loads) +
         train_sections(files.trainings) + storage_sections(files.storages) + shard_sections(files.shards) +
         accuracy_sections(files.accuracies) + "</main>\n</body>\n</html>\n";
}

}  // namespace garner::lab

// The figures of chapter 2 for a run of `garner-lab traversal`: 2.5 to 2.9 and the section in page_traversal.cpp, others in
// page_speed.cpp.
#pragma once
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "lab/figure.hpp"
#include "lab/page.hpp"
#include "memory/budget.hpp"

namespace garner::lab {

inline std::string const paper_key = key_of("the paper's way", "Garner's own");

inline std::string quoted(std::string_view strategy) { return fmt::format("\u2018{}\u2019", strategy); }

// One value per graph, as a list in a sentence.
struct by_graph {
  std::vector<std::pair<std::string, std::string>> all;  // graph, value
  void add(std::string const& graph, std::string value) { all.emplace_back(graph, std::move(value)); }
  bool empty() const { return all.empty(); }
  std::string named() const { return list(true); }    // "3 on a, 4 on b and 5 on c"
  std::string values() const { return list(false); }  // "3, 4 and 5"

 private:
  std::string list(bool named) const {
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i)
      text += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i].second + (named ? " on " + all[i].first : "");
    return text;
  }
};
// What the aligned strategy and Garner's own have on each graph.
struct of_ways {
  by_graph aligned, own;
  std::string text(char const* what) const {  // empty without aligned reads
    if (aligned.empty()) return "";
    return std::string(what) + ": " + quoted("aligned") + " " + aligned.named() +
           (own.empty() ? "" : "; Garner's own way " + own.values()) + ".";
  }
};

// One run, with lookups for the figures.
class traversal_pages {
 public:
  explicit traversal_pages(run_file const& r) : r_(r) {
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

  std::string why_not() const {
    if (!crosses_) return "The CPU has no link traffic; measure on a device, or simulated.";
    if (!timed_) return "A simulated run counts requests and takes no times; measure on a device.";
    return "No row of this run could be drawn; see what was not measured, below.";
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
  // A bar for each strategy of BFS on each graph, if it has that value; `each` adds its row to the table.
  template <class Value, class Each>
  of_ways bfs_ways(bar_chart& c, Value const& value, Each const& each, char const* unit = "") const {
    of_ways found;
    for (graph_row const& g : r_.graphs)
      for (job_row const* j : rows(g.name, "bfs"))
        if (std::optional<double> const v = value(*j)) {
          c.add(g.name, j->label, v, !j->paper);
          each(*j, *v);
          if (j->strategy == "aligned") found.aligned.add(g.name, short_number(*v) + unit);
          if (j->strategy == "default") found.own.add(g.name, short_number(*v) + unit);
        }
    return found;
  }
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

  run_file const& r_;
  bool timed_ = true, crosses_ = true;
  std::vector<std::string> jobs_;
};

}  // namespace garner::lab

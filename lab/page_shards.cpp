// The figures of aggregation over shards for a run of `garner-lab shards`.
#include <fmt/format.h>

#include <algorithm>

#include "core/median.hpp"
#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

std::string shape_text(mgg_tuning const& s) { return fmt::format("{}, {}, {}", s.ps, s.dist, s.wpb); }
std::string percent_of(std::optional<double> floor_ms, double ms) { return floor_ms ? short_number(100 * *floor_ms / ms) : "-"; }
std::string megabytes(std::uint64_t bytes) { return short_number(static_cast<double>(bytes) / 1e6); }
std::uint64_t largest_link(shard_row const& r) {
  std::uint64_t most = 0;
  for (auto const& of : r.links)
    for (std::uint64_t const bytes : of) most = std::max(most, bytes);
  return most;
}
// The traffic of managed rows is unknown.
std::string crossed(shard_row const& r) { return r.managed ? "-" : megabytes(r.bytes); }
std::string one_link(shard_row const& r) { return r.managed ? "-" : megabytes(largest_link(r)); }
// Milliseconds of the paper's table 4, on eight A100: preprocessing and one aggregation, by DGCL and by MGG.
struct paper_times {
  char const* graph;
  double dgcl_prepare, mgg_prepare, dgcl, mgg;
};
constexpr paper_times table_4[] = {{"RDD", 82820, 590, 12.74, 6.95},
                                   {"ENWIKI", 401560, 1220, 153.06, 12.79},
                                   {"PROD", 134350, 1410, 35.64, 3.35},
                                   {"PROT", 59150, 540, 11.36, 2.66},
                                   {"ORKT", 274410, 1600, 140.99, 17.20}};

// One graph of a run.
class shard_pages {
 public:
  shard_pages(shards_file const& f, split_graph const& g) : f_(f), g_(g) {
    for (shard_row const& r : f.rows)
      if (r.graph == g.name) (r.study == "ways" ? rows_ : others_).push_back(&r);
  }
  std::vector<shard_row const*> of_study(std::string_view study) const {
    std::vector<shard_row const*> all;
    for (shard_row const* r : others_)
      if (r->study == study) all.push_back(r);
    return all;
  }

  figure times() const {
    figure f = titled("", "one aggregation, by way");
    f.said = fmt::format(
        "The slowest of the shards; {} f32 per row. A single device comes first. A floor is what a way's own bytes need at {} GB/s of "
        "memory, {} of what a cache holds and {} of a link, if all overlapped.",
        f_.width, short_number(f_.rates.memory_gbs), short_number(f_.rates.cache_gbs), short_number(f_.rates.link_gbs));
    if (!f_.over.empty()) f.said += fmt::format(" Rows of other shards came over {}.", f_.over);
    bar_chart c(f.title, "ms per aggregation", "ms, smaller is better");
    f.numbers.head = {"<way",      "<sums",   "<rows of",   "<ps, dist, wpb", "shards",       "ms",          "over one",
                      "floor, ms", "% of it", "MB crossed", "MB, the most",   "MB, one link", "prepared, ms"};
    for (shard_row const* r : rows_) {
      c.add("", name_of(*r), r->ms, r->how.shards > 1 && r->how.strategy == shard_strategy::bulk);
      bool const mgg = r->how.strategy == shard_strategy::mgg;
      f.row(r->strategy(), mgg ? "-" : std::string(to_string(r->how.sums)), std::string(to_string(r->how.wire)),
            mgg ? shape_text(r->how.tuning) : "-", r->how.shards, r->ms, r->against_one, r->floor_ms, percent_of(r->floor_ms, r->ms),
            crossed(*r), r->managed ? "-" : megabytes(r->most_bytes), one_link(*r), r->prepare_ms);
    }
    if (rows_.empty()) return f;
    shard_row const* best = nullptr;
    for (shard_row const* r : rows_)
      if (r->how.shards > 1 && (!best || r->ms < best->ms)) best = r;
    if (best && best->against_one)
      f.finding = fmt::format("The quickest of {} shards is {}: {} times as long as one place.", f_.shards, name_of(*best),
                              short_number(*best->against_one));
    return drawn(std::move(f), c);
  }

  figure bytes() const {
    figure f = titled("", "bytes that cross between shards");
    f.said =
        fmt::format("The split: the largest part has {} times the mean of edges; {} of all edges lead to rows of others, {} a row.",
                    short_number(g_.imbalance), percent(g_.edges ? static_cast<double>(g_.cut_edges) / static_cast<double>(g_.edges) : 0),
                    short_number(g_.references));
    bar_chart c(f.title, "MB an aggregation", "MB of all shards, smaller is better");
    f.numbers.head = {"<way", "MB crossed"};
    for (shard_row const* r : rows_) {
      if (r->how.shards == 1 || !r->steps.empty() || r->managed ||
          (r->how.strategy == shard_strategy::bulk && r->how.sums == shard_reduction::fast && r->how.wire == element::f32))
        continue;
      double const mb = static_cast<double>(r->bytes) / 1e6;
      c.add("", name_of(*r), mb, r->how.strategy == shard_strategy::bulk);
      f.row(name_of(*r), megabytes(r->bytes));
    }
    return drawn(std::move(f), c);
  }

  // Bytes that each shard reads of each other, by strategy.
  figure links() const {
    figure f = titled("", "bytes over each link");
    std::vector<shard_row const*> strategies;
    for (shard_row const* r : rows_)
      if (!r->links.empty() && r->steps.empty() && r->how.wire == element::f32 &&
          (strategies.empty() || r->links.size() == strategies[0]->links.size()) &&
          std::none_of(strategies.begin(), strategies.end(), [&](shard_row const* w) { return w->how.strategy == r->how.strategy; }))
        strategies.push_back(r);
    if (strategies.empty()) return f;
    bar_chart c(f.title, "MB an aggregation over the link that carries most", "MB of the fullest link, smaller is better");
    f.numbers.head = {"<shard", "<reads of"};
    double fullest = 0, sum = 0;
    for (shard_row const* r : strategies) {
      f.numbers.head.push_back(r->strategy() + ", MB");
      double const mb = static_cast<double>(largest_link(*r)) / 1e6;
      c.add("", r->strategy(), mb, r->how.strategy == shard_strategy::bulk);
      if (r == strategies[0]) fullest = mb, sum = static_cast<double>(r->bytes) / 1e6;
    }
    std::size_t const n = strategies[0]->links.size();
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t of = 0; of < n; ++of) {
        if (k == of) continue;
        std::vector<std::string> row{std::to_string(k), std::to_string(of)};
        for (shard_row const* r : strategies) row.push_back(megabytes(r->links[k][of]));
        f.numbers.rows.push_back(std::move(row));
      }
    if (sum > 0 && n > 1)
      f.finding = fmt::format("By {} the fullest link carries {} times the mean of all.", strategies[0]->strategy(),
                              short_number(fullest * static_cast<double>(n * (n - 1)) / sum));
    return drawn(std::move(f), c);
  }

  figure search() const {
    figure f = titled("10", "the search over ps, dist and wpb",
                      "Each is doubled while that is faster, in the paper's order; then ps is halved again.");
    bar_chart c(fmt::format("Figure 10: {}", f.title), "ms an aggregation, step by step", "ms, step by step");
    f.numbers.head = {"step", "<ps, dist, wpb", "ms"};
    for (shard_row const* r : rows_) {
      for (std::size_t k = 0; k < r->steps.size(); ++k) {
        shard_step const& s = r->steps[k];
        c.add("", shape_text(s.shape), s.ms, s.shape == r->how.tuning);
        f.row(k + 1, shape_text(s.shape), s.ms);
      }
      if (!r->steps.empty()) f.finding = fmt::format("After {} measurements it says {}.", r->steps.size(), shape_text(r->how.tuning));
    }
    return drawn(std::move(f), c);
  }

  // Figure 8: the whole forward pass, and its aggregations alone, the only part in which the strategies differ.
  figure models() const {
    figure f = titled("8", "two models, forward");
    bar_chart c(fmt::format("Figure 8: {}", f.title), "ms a forward pass", "ms, smaller is better");
    f.numbers.head = {"<model",         "<way",     "shards",    "forward, ms", "over one",         "floor, ms",   "% of it",
                      "sums alone, ms", "over one", "floor, ms", "% of it",     "MB crossed a sum", "MB, one link"};
    std::string over_uvm;
    for (auto const& [study, name] : {std::pair("gcn", "GCN"), std::pair("gin", "GIN")}) {
      double mgg = 0, uvm = 0;
      shard_row const* best = nullptr;  // of several shards
      for (shard_row const* r : of_study(study)) {
        if (!r->forward) continue;
        shard_forward const& all = *r->forward;
        bool const own = r->how.shards > 1 && r->how.strategy == shard_strategy::bulk;
        c.add(fmt::format("{}, forward", name), name_of(*r), all.ms, own);
        c.add(fmt::format("{}, its aggregations alone", name), name_of(*r), r->ms, own);
        f.row(name, name_of(*r), r->how.shards, all.ms, all.against_one, all.floor_ms, percent_of(all.floor_ms, all.ms), r->ms,
              r->against_one, r->floor_ms, percent_of(r->floor_ms, r->ms), crossed(*r), one_link(*r));
        if (r->how.strategy == shard_strategy::mgg) (r->managed ? uvm : mgg) = all.ms;
        if (r->how.shards > 1 && (!best || all.ms < best->forward->ms)) best = r;
        f.said = fmt::format("Rows of {} elements, {} classes.", all.inputs, all.classes);
      }
      if (best && best->forward->against_one)
        f.finding += fmt::format("{}{}: {} is the quickest of {} shards, {} times as long as one place", f.finding.empty() ? "" : "; ",
                                 name, name_of(*best), f_.shards, short_number(*best->forward->against_one));
      if (mgg > 0 && uvm > 0)
        over_uvm += fmt::format("{}{}: mgg is {} times as fast as UVM", over_uvm.empty() ? " " : "; ", name, short_number(uvm / mgg));
    }
    f.said +=
        " GCN: two layers 16 wide; GIN: five layers 64 wide; with their products and activations. The aggregations alone are two of 16, "
        "and five of 64, one after the other.";
    if (!f_.no_uvm.empty()) f.said += " UVM is left out: " + f_.no_uvm + ".";
    if (!f.finding.empty()) f.finding += '.';
    if (!over_uvm.empty()) f.finding += over_uvm + " (the paper: 3.16 and 4.15 on average, eight A100).";
    return drawn(std::move(f), c);
  }

  figure ablation() const {
    figure f = titled(
        "9", "without partitions, and without interleaving",
        "Two warps per block, partitions of 16. The paper: 3.47 times as long without partitions, 1.32 without interleaving, on average. "
        "Synchronous reads: remote rows do not arrive while local ones are summed.");
    bar_chart c(fmt::format("Figure 9: {}", f.title), "ms an aggregation", "ms, smaller is better");
    f.numbers.head = {"<mgg", "ms", "over the first", "floor, ms", "% of it", "MB crossed", "MB, one link"};
    auto const all = of_study("ablation");
    if (shard_row const* const one = one_place(); one && !all.empty()) {
      c.add("", name_of(*one), one->ms);
      f.row(name_of(*one), one->ms, one->ms / all[0]->ms, one->floor_ms, percent_of(one->floor_ms, one->ms), "0", "0");
    }
    for (shard_row const* r : all) {
      std::string const name = r->how.tuning.whole_lists   ? "whole lists"
                               : r->how.tuning.apart       ? "warps apart"
                               : r->how.tuning.plain_reads ? "reads waited for"
                                                           : "as it is";
      c.add("", name, r->ms, name == "as it is");
      f.row(name, r->ms, r->against_one, r->floor_ms, percent_of(r->floor_ms, r->ms), crossed(*r), one_link(*r));
      if (r->against_one && name != "as it is")
        f.finding += fmt::format("{}{}: {} times as long", f.finding.empty() ? "" : "; ", name, short_number(*r->against_one));
    }
    if (!f.finding.empty()) f.finding += '.';
    return drawn(std::move(f), c);
  }

  figure sweep() const {
    figure f = titled("10", "every ps, dist and wpb");
    f.numbers.head = {"<ps, dist, wpb", "ms", "floor, ms", "% of it", "MB crossed", "MB, one link"};
    std::vector<shard_row const*> const all = of_study("sweep");
    line_chart by_ps(fmt::format("Figure 10: {}, ps and dist", f.title), "ms by ps, a curve a dist", "ps", "ms"),
        by_wpb(fmt::format("Figure 10: {}, wpb and dist", f.title), "ms by wpb, a curve a dist", "wpb", "ms");
    auto const put = [](line_chart& c, std::uint32_t dist, double x, double ms) {
      if (curve* const l = c.of(fmt::format("dist {}", dist))) l->points.emplace_back(x, ms), c.x_ticks.push_back(x);
    };
    shard_row const* best = nullptr;
    for (shard_row const* r : all) {
      f.row(shape_text(r->how.tuning), r->ms, r->floor_ms, percent_of(r->floor_ms, r->ms), crossed(*r), one_link(*r));
      if (!best || r->ms < best->ms) best = r;
    }
    if (!best) return f;
    shard_row const* const one = one_place();
    if (one) f.row(name_of(*one), one->ms, one->floor_ms, percent_of(one->floor_ms, one->ms), "0", "0");
    std::uint32_t const ps = all.back()->how.tuning.ps;  // the ps for which wpb was raised
    for (shard_row const* r : all) {
      mgg_tuning const& s = r->how.tuning;
      if (s.wpb == 1) put(by_ps, s.dist, s.ps, r->ms);
      if (s.ps == ps) put(by_wpb, s.dist, s.wpb, r->ms);
    }
    thin(by_ps.x_ticks), thin(by_wpb.x_ticks);
    f.finding = fmt::format("The fastest is {}: {} ms.", shape_text(best->how.tuning), short_number(best->ms));
    for (shard_row const* r : rows_)
      if (!r->steps.empty())
        f.finding += fmt::format(" The search says {}, after {} of {}.", shape_text(r->how.tuning), r->steps.size(), all.size());
    if (best->floor_ms) f.finding += fmt::format(" Its floor is {} % of that.", percent_of(best->floor_ms, best->ms));
    if (one) f.finding += fmt::format(" One place takes {} ms.", short_number(one->ms));
    f.said = fmt::format("First one warp a block, then partitions of {}.", ps);
    return drawn(std::move(f), by_ps, by_wpb);
  }

 private:
  shard_row const* one_place() const {
    for (shard_row const* r : rows_)
      if (r->how.shards == 1) return r;
    return nullptr;
  }
  figure titled(char const* number, std::string const& what, std::string said = "") const {
    return {number, g_.name + ": " + what, std::move(said)};
  }
  static std::string name_of(shard_row const& r) {
    if (r.how.shards == 1) return "one place";
    if (r.managed) return "uvm";
    std::string name(to_string(r.how.strategy));
    if (r.how.strategy == shard_strategy::mgg) return name + (r.steps.empty() ? "" : ", searched");
    if (r.how.sums == shard_reduction::fast) name += ", quick";
    if (r.how.wire != element::f32) name += ", " + std::string(to_string(r.how.wire));
    return name;
  }
  shards_file const& f_;
  split_graph const& g_;
  std::vector<shard_row const*> rows_, others_;  // of the strategies, of other studies
};

// Table 4 of the paper: one graph per group.
figure times_of_graphs(shards_file const& f) {
  figure all(
      "", "preprocessing and one aggregation (table 4)",
      "Preprocessing is the split and the lists of the slowest shard. The paper's columns are its table 4, eight A100; with --shrink 1 "
      "these graphs are as large as its own.");
  bar_chart c(all.title, "ms an aggregation", "ms, smaller is better");
  all.numbers.head = {"<graph",     "<way",         "prepared, ms",         "ms",   "over one",     "floor, ms", "% of it",
                      "MB crossed", "MB, one link", "paper, DGCL prepared", "DGCL", "MGG prepared", "MGG"};
  for (split_graph const& g : f.graphs) {
    auto const paper = std::find_if(std::begin(table_4), std::end(table_4), [&](paper_times const& p) { return g.name == p.graph; });
    auto const of_paper = [&](double paper_times::*what) {
      return paper == std::end(table_4) ? std::nullopt : std::optional((*paper).*what);
    };
    for (shard_row const& r : f.rows) {
      bool const searched = !r.steps.empty();
      if (r.graph != g.name || r.study != "ways" || r.how.wire != element::f32) continue;
      if (r.how.strategy == shard_strategy::mgg && !searched && !r.managed) continue;
      if (r.how.strategy == shard_strategy::bulk && r.how.sums == shard_reduction::fast) continue;
      std::string const name = r.how.shards == 1 ? "one place" : r.strategy();
      c.add(g.name, name, r.ms, r.how.shards > 1 && r.how.strategy == shard_strategy::bulk);
      all.row(g.name, name, g.split_ms + r.prepare_ms, r.ms, r.against_one, r.floor_ms, percent_of(r.floor_ms, r.ms), crossed(r),
              one_link(r), of_paper(&paper_times::dgcl_prepare), of_paper(&paper_times::dgcl), of_paper(&paper_times::mgg_prepare),
              of_paper(&paper_times::mgg));
    }
  }
  return drawn(std::move(all), c);
}

// Figure 8 over all graphs: speedup of the models by mgg over managed memory, next to the paper's means.
figure models_of_graphs(shards_file const& f) {
  figure all("8", "models by mgg against managed memory", "A whole forward pass on managed memory over one by mgg.");
  bar_chart c(all.title, "times as fast as UVM", "times as fast as UVM, larger is better");
  all.numbers.head = {"<model", "<graph", "one place, ms", "mgg, ms", "UVM, ms", "UVM over mgg", "paper, mean"};
  struct of_model {
    char const *study, *name;
    double paper;
  };
  for (of_model const& m : {of_model{"gcn", "GCN", 3.16}, of_model{"gin", "GIN", 4.15}}) {
    std::vector<double> ratios;
    for (split_graph const& g : f.graphs) {
      std::optional<double> one, mgg, uvm;
      for (shard_row const& r : f.rows)
        if (r.graph == g.name && r.study == m.study && r.forward) {
          if (r.how.shards == 1) one = r.forward->ms;
          else if (r.how.strategy == shard_strategy::mgg) (r.managed ? uvm : mgg) = r.forward->ms;
        }
      if (!mgg || !uvm || !(*mgg > 0)) continue;
      ratios.push_back(*uvm / *mgg);
      c.add(m.name, g.name, ratios.back());
      all.row(m.name, g.name, one, mgg, uvm, ratios.back(), "-");
    }
    if (ratios.empty()) continue;
    all.row(m.name, "mean", "-", "-", "-", mean(ratios), m.paper);
    all.finding += fmt::format("{}{}: {} times on average; the paper, on eight A100: {}", all.finding.empty() ? "" : ". ", m.name,
                               short_number(mean(ratios)), short_number(m.paper));
  }
  if (!all.finding.empty()) all.finding += '.';
  return drawn(std::move(all), c);
}

// Figure 9 over all graphs.
figure ablations_of_graphs(shards_file const& f) {
  figure all("9", "mgg without a part of it",
             "One aggregation without partitions, without interleaving, and without asynchronous reads, over one with all of them.");
  bar_chart c(all.title, "times as long as with all", "times as long as with all");
  all.numbers.head = {"<without", "<graph", "ms", "with all, ms", "over it", "paper, mean"};
  struct left_out {
    char const* name;
    bool mgg_tuning::*what;
    std::optional<double> paper;
  };
  for (left_out const& l : {left_out{"partitions", &mgg_tuning::whole_lists, 3.47}, left_out{"interleaving", &mgg_tuning::apart, 1.32},
                            left_out{"asynchronous reads", &mgg_tuning::plain_reads, {}}}) {
    std::string const group = std::string("without ") + l.name;
    std::vector<double> ratios;
    for (shard_row const& r : f.rows) {
      if (r.study != "ablation" || !(r.how.tuning.*l.what) || !r.against_one || !(*r.against_one > 0)) continue;
      ratios.push_back(*r.against_one);
      c.add(group, r.graph, ratios.back());
      all.row(l.name, r.graph, r.ms, r.ms / ratios.back(), ratios.back(), "-");
    }
    if (ratios.empty()) continue;
    all.row(l.name, "mean", "-", "-", mean(ratios), l.paper);
    all.finding +=
        fmt::format("{}ithout {} {} times as long on average", all.finding.empty() ? "W" : ", w", l.name, short_number(mean(ratios)));
    if (l.paper) all.finding += fmt::format(" (the paper, on four GPUs: {})", short_number(*l.paper));
  }
  if (!all.finding.empty()) all.finding += '.';
  return drawn(std::move(all), c);
}

}  // namespace

std::string section_of(named<shards_file> const& n) {
  shards_file const& r = n.run;
  std::string const setting =
      fmt::format("{}, {} shards, rows of {} f32, graphs of the paper's sizes divided by {}", place_of(r), r.shards, r.width, r.shrink);
  fact_list facts(n.name, r);
  facts.add("setting", setting + fmt::format(", medians of {}, seed {}, {} host threads", r.trials, r.seed, r.threads));
  section s("Shards: " + n.name, facts);
  s.add({times_of_graphs(r), models_of_graphs(r), ablations_of_graphs(r)}, setting);
  for (split_graph const& g : r.graphs) {
    shard_pages const p(r, g);
    s.add({p.times(), p.bytes(), p.links(), p.models(), p.ablation(), p.search(), p.sweep()},
          fmt::format("{}; {}: {} vertices, {} edges", setting, g.name, g.vertices, g.edges));
  }
  return s.html();
}

}  // namespace garner::lab

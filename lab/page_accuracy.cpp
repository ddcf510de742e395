// Table 5 of the MGG paper: accuracy and time of an epoch with and without sampling, as tools/measure_sampling measured them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

struct paper_accuracy {
  char const* set;
  double sampled, whole, slower;  // shares; epoch time without sampling over that with it
};
constexpr paper_accuracy table_5[] = {{"RDD", 0.937, 0.957, 1.07}, {"PROT", 0.776, 0.825, 1.25}};

std::string points(double value) { return fmt::format("{:.1f}", value); }

// The strategies that one model was trained with on one dataset; null: not measured.
struct trained {
  accuracy_row const *whole = nullptr, *shards = nullptr, *sampled = nullptr;
  accuracy_row const& any() const { return *(whole ? whole : shards ? shards : sampled); }
  std::string name() const { return any().set + ", " + any().model; }
};
std::vector<trained> trainings_of(accuracy_file const& f) {
  std::vector<trained> all;
  for (accuracy_row const& r : f.rows) {
    auto at = std::find_if(all.begin(), all.end(), [&](trained const& t) { return t.any().set == r.set && t.any().model == r.model; });
    if (at == all.end()) at = all.insert(all.end(), trained{});
    (r.strategy == "whole" ? at->whole : r.strategy == "shards" ? at->shards : at->sampled) = &r;
  }
  return all;
}

struct named_way {
  accuracy_row const* trained::*row;
  char const* name;
};
constexpr named_way strategies[] = {
    {&trained::whole, "whole graph"}, {&trained::shards, "over shards"}, {&trained::sampled, "mini-batches"}};

figure accuracy(accuracy_file const& f) {
  figure all("", "accuracy with and without sampling (table 5)");
  all.said = fmt::format(
      "The test score of the best epoch, mean and deviation of {} seeds. Over shards: {} of them. The paper: Reddit {} % sampled and {} % "
      "whole, proteins {} and {}.",
      f.seeds, f.shards, points(100 * table_5[0].sampled), points(100 * table_5[0].whole), points(100 * table_5[1].sampled),
      points(100 * table_5[1].whole));
  bar_chart c(all.title, "points of a hundred", "points of 100, larger is better", 100);
  all.numbers.head = {"<set, model", "vertices", "arcs", "<measure", "whole graph", "over shards", "mini-batches", "whole less sampled"};
  std::size_t within = 0, both = 0;
  for (trained const& t : trainings_of(f)) {
    std::vector<std::string> row{t.name(), count_text(static_cast<double>(t.any().vertices)), count_text(static_cast<double>(t.any().arcs)),
                                 t.any().measure};
    for (named_way const& w : strategies) {
      accuracy_row const* const r = t.*w.row;
      row.push_back(r ? fmt::format("{} \u00b1 {}", points(r->mean), points(r->deviation)) : "-");
      if (r) c.of(t.name()).push_back({w.name, {r->mean}, points(r->mean), r == t.shards});
    }
    row.push_back("-");
    if (t.whole && t.sampled) {
      double const more = t.whole->mean - t.sampled->mean;
      row.back() = points(more), ++both;
      within += std::abs(more) <= std::max(t.whole->deviation, t.sampled->deviation);
    }
    all.numbers.rows.push_back(std::move(row));
  }
  if (both) all.finding = fmt::format("In {} trainings, {} differ by at most one deviation.", both, within);
  return drawn(std::move(all), c);
}

figure times(accuracy_file const& f) {
  figure all("", "an epoch with and without sampling (table 5)");
  all.said = fmt::format(
      "An epoch of the whole graph is one step of all vertices; of mini-batches ({} neighbors, {} at once) only those that train have a "
      "turn. The paper: {} times as long whole on Reddit, {} on proteins.",
      f.fanout, f.batch, table_5[0].slower, table_5[1].slower);
  bar_chart c(all.title, "ms per epoch", "ms per epoch, smaller is better");
  all.numbers.head = {"<set, model", "whole, ms", "over shards, ms", "mini-batches, ms", "shards over whole", "whole over drawn"};
  for (trained const& t : trainings_of(f)) {
    std::vector<std::string> row{t.name()};
    for (named_way const& w : strategies) {
      accuracy_row const* const r = t.*w.row;
      row.push_back(r ? short_number(r->epoch_ms) : "-");
      if (r) c.add(t.name(), w.name, r->epoch_ms, r == t.shards);
    }
    auto const over = [](accuracy_row const* a, accuracy_row const* b) {
      return a && b && b->epoch_ms > 0 ? short_number(a->epoch_ms / b->epoch_ms) : std::string("-");
    };
    row.push_back(over(t.shards, t.whole)), row.push_back(over(t.whole, t.sampled));
    all.numbers.rows.push_back(std::move(row));
  }
  return drawn(std::move(all), c);
}

}  // namespace

std::string section_of(named<accuracy_file> const& n) {
  accuracy_file const& r = n.run;
  std::string const setting = fmt::format("{}, {} host threads", r.processor, r.threads);
  fact_list facts(n.name, {});
  facts.add("measured", r.time + " with " + r.garner);
  facts.add("setting", setting);
  section s("Accuracy: " + n.name, facts);
  s.add({accuracy(r), times(r)}, setting);
  return s.html();
}

}  // namespace garner::lab

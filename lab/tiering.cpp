#include "lab/tiering.hpp"

#include <cmath>

#include "core/fail.hpp"
#include "lab/field.hpp"
#include "lab/graphs.hpp"
#include "lab/tier_gathers.hpp"

namespace garner::lab {

namespace {

// Finer where the curves bend: each per cent up to 10, each five up to 100.
std::vector<double> kept_shares() {
  std::vector<double> all;
  for (int k = 0; k <= 10; ++k) all.push_back(k / 100.0);
  for (int k = 15; k <= 100; k += 5) all.push_back(k / 100.0);
  return all;
}

tier_curve curve_of(std::string name, access_trace const& t, std::vector<std::uint64_t> const& order, std::vector<double> const& kept) {
  tier_curve c{std::move(name), {}, {}};
  std::uint64_t hits = 0, at = 0;
  for (double const share : kept) {
    auto const rows = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(t.vertices)));
    for (; at < std::min<std::uint64_t>(rows, order.size()); ++at) hits += t.counts[order[at]];
    c.hits.push_back(t.accesses ? static_cast<double>(hits) / static_cast<double>(t.accesses) : 0);
  }
  return c;
}

struct tiering_setting {
  graph_handle const& g;
  tiering_options const& o;
  vertex_set train;

  score_result score(score_kind by, std::vector<std::uint32_t> const& fanouts, std::uint64_t presample = 1) const {
    score_options s;
    s.device = o.where, s.by = by, s.train = train, s.presample = presample;
    s.sampling = o.sampling, s.sampling.fanouts = fanouts;
    return scores(g, s);
  }
  // `main`: the trace for all figures but 4.10.
  tier_trace trace_of(std::vector<std::uint32_t> const& fanouts, std::vector<double> const& kept, tiering_graph* main) const {
    trace_options how;
    how.device = o.where, how.train = train, how.sampling = o.sampling, how.sampling.fanouts = fanouts;
    how.epochs = main ? o.epochs : o.deeper_epochs, how.keep_rows = main && o.gathers, how.keep_batches = 20;
    access_trace const t = record_trace(g, how);
    tier_trace row{{fanouts.begin(), fanouts.end()}, t.batches, t.accesses, t.sampled, t.epochs, t.ms, {}, 0, {}};
    if (main && !o.gathers) row.no_gathers = "left out (--no-gathers)";
    std::optional<tier_gathers> table;
    auto const add = [&](std::string name, std::vector<std::uint64_t> const& order, std::vector<float> const& score, bool gathers = true) {
      row.curves.push_back(curve_of(std::move(name), t, order, kept));
      if (!main || !gathers || !row.no_gathers.empty()) return;
      try {
        if (!table) table.emplace(o.where, o.row_bytes, t);
        row.curves.back().gathers = table->measure(score);
        row.gathered = table->batches();
      } catch (error const& e) {
        if (e.code() != errc::memory) throw;
        row.no_gathers = e.what();
      }
    };
    add("oracle", rows_by_count(t.counts), {t.counts.begin(), t.counts.end()});
    if (main && o.ceiling) {
      how.sampling.seed = o.sampling.seed + 1, how.keep_rows = false;
      how.epochs = std::min<std::uint64_t>(o.epochs * o.ceiling, 1u << 20);
      access_trace const again = record_trace(g, how);
      std::vector<std::uint64_t> const order = rows_by_count(again.counts);
      row.curves.push_back(curve_of(tier_curve::another, t, order, kept));
      row.curves.push_back(curve_of(tier_curve::ceiling, again, order, kept));
    }
    auto const add_score = [&](std::string const& name, score_result const& r) {
      add(name, rows_by_score(r.score), r.score, !name.starts_with("sampled "));  // of several presample sizes, the first is gathered
      if (main) main->scores.push_back({name, r.iterations, r.ms});
    };
    for (score_kind const by : all_scores)
      if (by != score_kind::sampled) add_score(std::string(to_string(by)), score(by, fanouts));
    // Depths of 4.10 cost as much as their trace for each sampling: one epoch.
    if (!main) add_score("sampled", score(score_kind::sampled, fanouts));
    else
      for (std::uint64_t const epochs : o.presample)
        add_score(tier_curve::sampled(epochs, o.presample), score(score_kind::sampled, fanouts, epochs));
    return row;
  }
};

}  // namespace

tiering_run measure_tiering(tiering_options const& o, std::function<void(tiering_run const& run, tiering_graph const& graph)> const& told) {
  tiering_run run;
  static_cast<file_head&>(run) = head_of_run(o.command, o.where);
  run.rule = to_string(o.sampling.rule), run.train = o.train, run.batch = o.sampling.batch, run.epochs = o.epochs;
  run.seed = o.sampling.seed, run.row_bytes = o.row_bytes, run.ceiling = o.ceiling, run.presample = o.presample;
  run.kept = kept_shares();
  auto const measure = [&](std::string name, graph_handle const& g) {
    tiering_setting const s{g, o, o.training(g)};
    tiering_graph row;
    row.name = std::move(name), row.vertices = g.info().vertices, row.edges = g.info().edges, row.directed = g.info().directed;
    row.traces.push_back(s.trace_of(o.sampling.fanouts, run.kept, &row));
    row.train = s.train.size();
    if (o.deeper)
      for (std::size_t const hops : {2, 3, 4, 6}) row.traces.push_back(s.trace_of(std::vector<std::uint32_t>(hops, 10), run.kept, nullptr));
    run.graphs.push_back(std::move(row));
    if (told) told(run, run.graphs.back());
  };
  each_graph(o, o.sampling.seed, {}, measure);
  return run;
}

}  // namespace garner::lab

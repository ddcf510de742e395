#include "gnn/decide_shards.hpp"

#include <algorithm>
#include <chrono>

#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "gnn/checkpoint.hpp"
#include "gnn/model.hpp"
#include "gnn/sharded.hpp"
#include "graph/handle.hpp"
#include "shard/rates.hpp"

namespace garner {

shard_decision::considered const& shard_decision::chosen() const {
  for (considered const& w : ways)
    if (w.way == options.way && w.shards == options.shards) return w;
  return ways.front();
}
namespace {
std::string named(shard_decision::considered const& w, std::size_t of) {
  return w.shards == 1 && of > 1 ? std::string("one place") : std::string(to_string(w.way));
}
}  // namespace
std::string shard_decision::why() const {
  considered const& best = chosen();
  std::string text =
      fmt::format("{}: {:.3g} ms of sums an epoch predicted, bound by {}", named(best, ways.size()), best.predicted_ms, best.bound);
  if (best.measured_ms) text += fmt::format(", {:.3g} measured", *best.measured_ms);
  for (considered const& w : ways) {
    if (&w == &best) continue;
    text += fmt::format("; {} {}", named(w, ways.size()),
                        !w.refused.empty() ? std::string("does not fit")
                        : w.measured_ms    ? fmt::format("{:.3g} measured", *w.measured_ms)
                                           : fmt::format("{:.3g} predicted", w.predicted_ms));
  }
  return text;
}

std::vector<model_pass> passes_of(model_options const& m, double input_dropout) {
  network_shape const s = shape_of(m, {});
  std::vector<model_pass> all;
  for (std::uint32_t l = 0; l < m.layers; ++l) {
    bool const first = s.width(l, 0) > s.outputs(l);  // the product comes before
    model_pass p{first ? s.outputs(l) : s.width(l, 0), true, first || l > 0 || m.residual, false};
    p.constant = l == 0 && !first && !m.residual && input_dropout <= 0;
    all.push_back(p);
  }
  return all;
}

std::vector<shard_pass> costs_of(std::vector<model_pass> const& passes) {
  std::vector<shard_pass> costs;
  for (model_pass const& p : passes) {
    if (p.forward) costs.push_back({p.columns, 1, p.constant});
    if (p.backward) costs.push_back({p.columns, 1, false});
  }
  return costs;
}

double measure_way(graph_handle const& g, list_side side, bool weighted, aggregation how, std::vector<model_pass> const& passes,
                   shard_options const& options, std::vector<place> const& places) {
  using steady = std::chrono::steady_clock;
  whole_graph const lists(g, side, weighted, true, true);
  shard_parts const parts(lists.pulled().offsets, lists.vertices(), options, g.name());
  std::uint32_t const n = options.shards;
  shard_group group(options, 3600);
  rank_group& threads = *group.threads();
  std::uint64_t widest = 0;
  for (model_pass const& p : passes) widest = std::max(widest, p.columns);
  std::vector<std::vector<double>> times(n);
  on_shards(group, [&](std::uint32_t k) {
    interrupts_held const together;
    executor x(places[k]);
    threads.take(k, x, 1);
    group.take(k, x);
    sharded_edges edges(group, k, x, lists, parts, how);
    std::uint64_t const numbers = std::max<std::uint64_t>(parts.count(k) * widest, 1);
    auto const rows = [&] {
      buffer<float> made(x.near(), numbers, x.device(), "rows of a shard");
      x.fill(made.data(), 0, made.bytes());
      return made;
    };
    buffer<float> const table = rows(), in = rows(), out = rows();
    edges.never_changes(table.data());
    auto const run = [&] {
      x.wait();
      threads.meet(k);
      auto const begun = steady::now();
      for (model_pass const& p : passes) {
        row_block<float const> const from{(p.constant ? table : in).data(), p.columns};
        row_block<float> const to{out.data(), p.columns};
        if (p.forward) edges.forward(x, from, to, p.columns, {});
        if (p.backward) edges.backward(x, {in.data(), p.columns}, to, p.columns, {}, false);
      }
      x.wait();
      return std::chrono::duration<double, std::milli>(steady::now() - begun).count();
    };
    times[k].push_back(run());  // counts where all take long
    if (threads.any(k, times[k][0] > 500) || threads.any(k, interrupt_requested())) return;
    times[k].clear();
    for (int round = 0; round < 3; ++round) times[k].push_back(run());
  });
  check_interrupted();
  return median_of_slowest(times, 0, times[0].size());
}

std::string split_words(shard_options const& o) {
  return fmt::format("{} of shards, way {}, {} sums, equal {}, rows of {}", o.shards, to_string(o.way), to_string(o.sums),
                     to_string(o.balance), to_string(o.wire));
}
void resume_split(std::filesystem::path const& file, shard_options& asked) {
  as_error([&] {
    for (auto const& [what, said] : checkpoint::read(file, checkpoint::kind::checkpoint).made_for) {
      if (what != "ranks") continue;
      for (std::uint32_t const shards : {asked.shards, 1u})
        for (shard_way const way : {shard_way::bulk, shard_way::collective, shard_way::mgg}) {
          shard_options o = asked;
          o.shards = shards, o.way = way;
          if (split_words(o) != said) continue;
          asked = o;
          return;
        }
    }
  });
}

shard_decision decide_shards(model_options const& model, graph_handle const& g, training_options const& t, shard_options const& asked,
                             std::vector<place> const& places, bool one_fits) {
  return as_error([&] {
    if (places.size() != asked.shards)
      fail(errc::usage, "{} shards and {} places: say a place for each shard", asked.shards, places.size());
    shard_decision d;
    d.options = asked;
    bool const several = std::any_of(places.begin(), places.end(), [&](place p) { return p.index != places[0].index; });
    shard_sizes sizes(split_report(g, t.side, asked));
    sizes.one_place = !several;
    bool const gcn = model.kind == model_kind::gcn && !model.residual;
    std::vector<model_pass> const passes = passes_of(model, t.input_dropout.value_or(gcn ? t.dropout : 0));
    shard_rates const rates = asked.shards > 1 ? measured_rates(places) : known_rates(places[0]);
    d.rates_measured = rates.measured;
    d.ways = ways_of(sizes, asked, t.weighted, costs_of(passes), rates, several && one_fits);
    std::size_t const measured = places[0].kind == place_kind::simulated ? 1 : how_many_to_measure(d.ways);
    auto const settings = [&](shard_decision::considered const& w) {
      shard_options o = asked;
      o.way = w.way, o.shards = w.shards;
      return o;
    };
    shard_decision::considered const* best = nullptr;
    for (std::size_t k = 0; measured > 1 && k < measured; ++k) {
      shard_decision::considered& w = d.ways[k];
      check_interrupted();
      try {
        w.measured_ms = measure_way(g, t.side, t.weighted, aggregation_of(model.kind), passes, settings(w), places);
        if (!best || *w.measured_ms < *best->measured_ms) best = &w;
      } catch (error const& e) {
        if (e.code() != errc::memory) throw;
        w.refused = e.what();
      }
    }
    d.options = settings(best ? *best : d.ways.front());
    return d;
  });
}

}  // namespace garner

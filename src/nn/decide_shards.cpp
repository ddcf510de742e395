#include "nn/decide_shards.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "core/clock.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "files/checkpoint.hpp"
#include "graph/handle.hpp"
#include "nn/model.hpp"
#include "nn/sharded.hpp"
#include "shard/rates.hpp"

namespace garner {

shard_decision::considered const& shard_decision::chosen() const {
  for (considered const& w : strategies)
    if (w.strategy == options.strategy && w.shards == options.shards) return w;
  if (strategies.empty()) fail(errc::usage, "this decision has considered no way; take what decide_shards() gives");
  return strategies.front();
}
namespace {
std::string named(shard_decision::considered const& w, std::size_t of) {
  return w.shards == 1 && of > 1 ? std::string("one place") : std::string(to_string(w.strategy));
}
}  // namespace
std::string shard_decision::why() const try {
  considered const& best = chosen();
  std::string text =
      fmt::format("{}: {:.3g} ms of sums an epoch predicted, bound by {}", named(best, strategies.size()), best.predicted_ms, best.bound);
  if (best.measured_ms) text += fmt::format(", {:.3g} measured", *best.measured_ms);
  for (considered const& w : strategies) {
    if (&w == &best) continue;
    text += fmt::format("; {} {}", named(w, strategies.size()),
                        !w.refused.empty() ? std::string("does not fit")
                        : w.measured_ms    ? fmt::format("{:.3g} measured", *w.measured_ms)
                                           : fmt::format("{:.3g} predicted", w.predicted_ms));
  }
  return text;
} catch (...) {
  rethrow_as_error();
}

double input_dropout_of(model_options const& m, double dropout) { return m.kind == model_kind::gin || m.residual ? 0 : dropout; }

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

namespace {
std::uint64_t widest_of(std::vector<model_pass> const& passes) {
  std::uint64_t widest = 0;
  for (model_pass const& p : passes) widest = std::max(widest, p.columns);
  return widest;
}

// Milliseconds of three rounds, or of one that takes long, of this shard; all shards call it.
std::vector<double> measure_shard(shard_group& group, std::uint32_t k, execution_device where, whole_graph const& lists,
                                  shard_parts const& parts, aggregation how, std::vector<model_pass> const& passes) {
  interrupts_held const together;
  rank_group& ranks = *group.threads();
  executor x(where);
  ranks.join(k, x, 1);
  group.join(k, x);
  sharded_edges edges(group, k, x, lists, parts, how);
  std::uint64_t const numbers = std::max<std::uint64_t>(parts.count(k) * widest_of(passes), 1);
  auto const rows = [&] {
    buffer<float> made(x.near(), numbers, x.device(), "rows of a shard");
    x.fill(made.data(), 0, made.bytes());
    return made;
  };
  buffer<float> const table = rows(), in = rows(), out = rows();
  edges.never_changes(table.data());
  auto const run = [&] {
    x.wait();
    ranks.barrier(k);
    auto const begun = steady::now();
    for (model_pass const& p : passes) {
      row_block<float const> const from{(p.constant ? table : in).data(), p.columns};
      row_block<float> const to{out.data(), p.columns};
      if (p.forward) edges.forward(x, from, to, p.columns, {});
      if (p.backward) edges.backward(x, {in.data(), p.columns}, to, p.columns, {}, false);
    }
    x.wait();
    return ms_since(begun);
  };
  std::vector<double> times{run()};  // counts where all take long
  if (ranks.any(k, times[0] > 500) || ranks.any(k, interrupt_requested())) return times;
  times.clear();
  for (int round = 0; round < 3; ++round) times.push_back(run());
  return times;
}

// The passes of a training, and its ways as predicted.
std::vector<model_pass> passes_for(model_options const& model, training_options const& t) {
  return passes_of(model, t.input_dropout.value_or(input_dropout_of(model, t.dropout.value_or(0.5))));
}
shard_decision predicted(graph_handle const& g, training_options const& t, shard_options const& asked, bool on_devices,
                         std::vector<model_pass> const& passes, shard_rates const& rates, bool several, bool may_take_one) {
  shard_decision d;
  d.options = asked;
  bool const in_place = asked.provider == shard_provider::automatic || asked.provider == shard_provider::peer;
  shard_sizes sizes(split_report(g, t.side, asked), several && on_devices && in_place);
  sizes.one_place = !several;
  d.rates_measured = rates.measured;
  d.strategies = ways_of(sizes, asked, t.weighted, costs_of(passes), rates, may_take_one);
  return d;
}
shard_options settings(shard_options o, shard_decision::considered const& w) {
  o.strategy = w.strategy, o.shards = w.shards;
  return o;
}
// Times each strategy worth measuring by measure(w), which returns a reason if memory does not suffice, and picks the fastest.
template <class Measure>
void refine(shard_decision& d, execution_device where, Measure const& measure) {
  std::size_t const worth = where.kind == device_kind::simulated ? 1 : how_many_to_measure(d.strategies);
  shard_decision::considered const* best = nullptr;
  for (std::size_t k = 0; worth > 1 && k < worth; ++k) {
    shard_decision::considered& w = d.strategies[k];
    check_interrupted();
    measure(w);
    if (w.measured_ms && (!best || *w.measured_ms < *best->measured_ms)) best = &w;
  }
  d.options = settings(d.options, best ? *best : d.strategies.front());
}
}  // namespace

double measure_way(graph_handle const& g, edge_direction side, bool weighted, aggregation how, std::vector<model_pass> const& passes,
                   shard_options const& options, std::vector<execution_device> const& places) {
  whole_graph const lists(g, side, weighted, true, true);
  shard_parts const parts(lists.pulled().offsets, lists.vertices(), options, g.name());
  shard_group group(options, 3600);
  std::vector<std::vector<double>> times(options.shards);
  on_shards(group, [&](std::uint32_t k) { times[k] = measure_shard(group, k, places[k], lists, parts, how, passes); });
  check_interrupted();
  return median_of_slowest(times, 0, times[0].size());
}

std::string split_words(shard_options const& o) {
  return fmt::format("{} of shards, way {}, {} sums, equal {}, rows of {}", o.shards, to_string(o.strategy), to_string(o.sums),
                     to_string(o.balance), to_string(o.wire));
}
bool resume_split(std::filesystem::path const& file, shard_options& asked) {
  return as_error([&] {
    for (auto const& [what, said] : checkpoint::read(file, checkpoint::kind::checkpoint).made_for) {
      if (what != "ranks") continue;
      for (std::uint32_t const shards : {asked.shards, 1u})
        for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg}) {
          shard_options o = asked;
          o.shards = shards, o.strategy = strategy;
          if (split_words(o) != said) continue;
          asked = o;
          return true;
        }
    }
    return false;
  });
}

shard_decision decide_shards(model_options const& model, graph_handle const& g, training_options const& t, shard_options const& asked,
                             std::vector<execution_device> const& places, bool one_fits) {
  return as_error([&] {
    if (places.size() != asked.shards)
      fail(errc::usage, "{} shards and {} devices: name a device for each shard", asked.shards, places.size());
    bool const several = std::any_of(places.begin(), places.end(), [&](execution_device p) { return p.index != places[0].index; });
    std::vector<model_pass> const passes = passes_for(model, t);
    shard_rates const rates = asked.shards > 1 ? measured_rates(places) : known_rates(places[0]);
    shard_decision d = predicted(g, t, asked, places[0].kind == device_kind::cuda, passes, rates, several, several && one_fits);
    refine(d, places[0], [&](shard_decision::considered& w) {
      try {
        w.measured_ms = measure_way(g, t.side, t.weighted, aggregation_of(model.kind), passes, settings(asked, w), places);
      } catch (error const& e) {
        if (e.code() != errc::memory) throw;
        w.refused = e.what();
      }
    });
    return d;
  });
}

shard_decision decide_shards_of_processes(model_options const& model, graph_handle const& g, training_options const& t,
                                          shard_options const& asked, std::string const& name, std::uint32_t shard, execution_device where,
                                          double timeout_seconds) {
  return as_error([&] {
    auto const ranks = rank_group::of_processes(name + ".deciding", shard, asked.shards, timeout_seconds, 0, "ways of a whole graph", [&] {
      if (t.shards) t.shards->threads()->look();
    });
    try {
      executor const x(where);
      ranks->join(shard, x, 1);
      // With another graph one would measure other strategies than the rest.
      ranks->require_same(shard, fmt::format("a graph of {} vertices and {} edges\na graph whose lists have the digest {:016x}\n",
                                             g.info().vertices, g.info().edges, digest_of(g)));
      std::vector<std::string> const at = ranks->all_gather(shard, x.on_device() ? device::describe(x.device()).pci : to_string(where));
      std::vector<model_pass> const passes = passes_for(model, t);
      // All predict the same, so that all measure the same ways: by rates that no process measures for itself.
      shard_decision d =
          predicted(g, t, asked, x.on_device(), passes, known_rates(where), std::set(at.begin(), at.end()).size() > 1, false);
      std::optional<whole_graph> lists;
      refine(d, where, [&](shard_decision::considered& w) {
        shard_options const o = settings(asked, w);
        // Results of f() on each, once all are there; empty if memory lacks on one. Any other exception of one is thrown on all.
        auto const all_say = [&](std::function<std::string()> const& f) {
          std::string mine;
          std::exception_ptr wrong;
          try {
            mine = "+" + f();
          } catch (error const& e) {
            if (e.code() == errc::interrupted) throw;
            bool const no_room = e.code() == errc::memory || e.code() == errc::device;  // device: for example, rows cannot be shared
            mine = (no_room ? "m" : "e") + std::string(e.what());
            wrong = std::current_exception();
          }
          std::vector<std::string> all = ranks->all_gather(shard, mine);
          for (std::uint32_t k = 0; k < all.size() && w.refused.empty(); ++k)  // all others only report that this one failed
            if (all[k][0] == 'm') w.refused = fmt::format("shard {}: {}", k, all[k].substr(1));
          if (!w.refused.empty()) return std::vector<std::string>();
          if (wrong) std::rethrow_exception(wrong);
          for (std::uint32_t k = 0; k < all.size(); ++k)
            if (all[k][0] == 'e') fail(errc::io, "shard {}: {}", k, all[k].substr(1));
          return all;
        };
        std::optional<shard_parts> parts;
        std::unique_ptr<shard_group> group;
        auto const ready = all_say([&] {  // before anyone waits for all to come
          if (!lists) lists.emplace(g, t.side, t.weighted, true, true);
          parts.emplace(lists->pulled().offsets, lists->vertices(), o, g.name());
          group = std::make_unique<shard_group>(o, fmt::format("{}.{}", name, to_string(w.strategy)), shard, timeout_seconds);
          return std::string();
        });
        if (ready.empty()) return;
        auto const said = all_say([&] {
          try {
            return fmt::format("{}",
                               fmt::join(measure_shard(*group, shard, where, *lists, *parts, aggregation_of(model.kind), passes), " "));
          } catch (std::exception const& e) {
            group->threads()->leave(shard, e.what());
            throw;
          }
        });
        if (said.empty()) return;
        std::vector<std::vector<double>> times(said.size());
        for (std::uint32_t k = 0; k < said.size(); ++k) {
          std::istringstream from(said[k].substr(1));
          for (double ms; from >> ms;) times[k].push_back(ms);
        }
        w.measured_ms = median_of_slowest(times, 0, times[0].size());
      });
      ranks->leave(shard, "it has ended");
      return d;
    } catch (std::exception const& e) {
      ranks->leave(shard, e.what());
      throw;
    }
  });
}

}  // namespace garner

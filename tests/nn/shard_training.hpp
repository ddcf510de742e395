// Shared by the tests of shards as threads and as processes: one small training, reported as a line of text.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <sstream>

#include "memory/budget.hpp"
#include "nn/communities.hpp"
#include "nn/model.hpp"
#include "shard/group.hpp"
#include "shard_support.hpp"

namespace garner::testing {

// The configuration of one shard, as text in the environment of its process.
struct orders {
  std::uint32_t shard = 0, shards = 2, moved = 0;  // moved: one edge has another end
  double wait = 60;
  std::string strategy = "bulk", provider = "automatic", place = "host", wire = "f32", name;  // way: "auto" too, of processes
  int epochs = 3;
  bool lacks = false;  // memory is short during the decision

  std::string text() const {
    return fmt::format("{} {} {} {} {} {} {} {} {} {}", shard, shards, moved, wait, strategy, provider, place, wire, name, epochs);
  }
  static orders read(std::string const& from) {
    orders o;
    std::istringstream(from) >> o.shard >> o.shards >> o.moved >> o.wait >> o.strategy >> o.provider >> o.place >> o.wire >> o.name >>
        o.epochs;
    return o;
  }
  shard_options options() const {
    shard_options s;
    s.shards = shards, s.strategy = strategy == "auto" ? shard_strategy::bulk : parse_shard_strategy(strategy),
    s.provider = parse_shard_provider(provider), s.wire = parse_element(wire);
    if (s.strategy == shard_strategy::mgg) s.sums = shard_reduction::fast;
    return s;
  }
};
struct learned {
  std::vector<float> values;
  std::vector<double> losses;
  shard_link link;
  std::optional<shard_decision> decided;
};
inline std::uint64_t hash_of(std::vector<float> const& values) {
  std::uint64_t sum = 1;
  for (float const v : values) sum = mix(sum ^ std::bit_cast<std::uint32_t>(v));
  return sum;
}
inline learned learn(orders const& o, std::shared_ptr<shard_group> const& group, std::function<void()> const& each_epoch = {}) {
  communities c(300, 3, 20);
  if (o.moved) c.edges.front() = {0, o.moved};
  execution_device const where = parse_device(o.place);
  graph_handle const g = c.graph();
  model_options m = c.model(model_kind::gcn);
  tiered_options tiers;
  tiers.device = where;
  tiered_tensor rows(c.table(), tiers);
  gnn_model model(where, m);
  training_options t;
  t.math = dense_math::f32, t.learning_rate = 0.02, t.dropout = 0.4, t.rank = o.shard, t.shards = group;
  learned found;
  if (o.strategy == "auto") {
    std::uint64_t const before = host_budget().limit();
    if (o.lacks) host_budget().set_limit(host_budget().used() + 36000);  // enough for them to communicate
    found.decided = decide_shards_of_processes(m, g, t, o.options(), o.name, o.shard, where, o.wait);
    host_budget().set_limit(before);
    group->take_way(found.decided->options.strategy);
  }
  training run(model, g, rows, c.known(), t);
  for (int e = 0; e < o.epochs; ++e) {
    found.losses.push_back(run.next().loss);
    if (each_epoch) each_epoch();
  }
  run.evaluate();
  auto& [x, options, net] = model.inside();
  found.values = host_copy(x, net.values(), net.count());
  found.link = link_of(*group);
  return found;
}
inline learned by_process(orders const& o, std::function<void()> const& each_epoch = {}) {
  return learn(o, shards_of_processes(o.options(), o.name, o.shard, o.wait), each_epoch);
}
// `threw`: each one's exception, if expected.
inline learned by_threads(orders const& o, std::vector<std::string>* threw = nullptr) {
  auto const group = shards_of_threads(o.options(), o.wait);
  std::vector<learned> all(o.shards);
  auto const said = on_shards(
      o.shards,
      [&](std::uint32_t k) {
        orders mine = o;
        mine.shard = k;
        all[k] = learn(mine, group);
      },
      [&](std::uint32_t k, std::string const& why) { leave_shards(*group, k, why); });
  if (threw) *threw = said;
  else EXPECT_EQ(said, none_of(o.shards));
  return all[0];
}

}  // namespace garner::testing

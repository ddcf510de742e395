// Shared by the tests of training over shards, as threads and as processes: one small training, reported as a line of text; and any
// training, of threads.
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

struct trained {
  std::vector<double> losses, validation;
  std::vector<float> values;
  evaluation last;
};
inline training_options whole_graph_steps(double dropout = 0.4) {
  training_options t;
  t.dropout = dropout, t.math = dense_math::f32, t.learning_rate = 0.02;
  return t;
}

// Shards of one training, each with its own copy of the model and its own table.
struct sharded_training {
  communities const& c;
  graph_handle const& g;
  model_options m;
  execution_device where;
  training_options t;
  int epochs = 4;
  std::shared_ptr<shard_group> group{};
  std::function<void(int, epoch_report const&)> seen{};  // from 1 on

  struct shard {
    std::optional<tiered_tensor> rows;
    std::optional<gnn_model> model;
    std::optional<training> run;
  };
  training& begin(shard& s, std::uint32_t k) const {
    tiered_options tiers;
    tiers.device = where;
    s.rows.emplace(c.table(), tiers);
    s.model.emplace(where, m);
    training_options mine = t;
    mine.rank = k, mine.shards = group;
    labeled_nodes known = c.known();
    if (m.labels == label_kind::multi_label) known.labels = c.yes_or_no();
    return s.run.emplace(*s.model, g, *s.rows, known, mine);
  }
  trained finish(shard& s, training& run) const {
    trained all;
    for (int e = static_cast<int>(run.epochs()); e < epochs; ++e) {
      epoch_report const r = run.next();
      all.losses.push_back(r.loss);
      if (seen) seen(e + 1, r);
      if (r.exact) all.validation.push_back(r.exact->validation.loss);
    }
    all.last = run.evaluate();
    auto& [x, o, net] = s.model->inside();
    all.values = host_copy(x, net.values(), net.count());
    return all;
  }
  trained in_one_piece() const {
    shard s;
    return finish(s, begin(s, 0));
  }
  // Runs f for every shard, on one thread each; returns the messages of exceptions.
  std::vector<std::string> each(shard_options const& o, std::function<void(std::uint32_t, shard&, training&)> const& f) {
    group = shards_of_threads(o);
    return on_shards(
        o.shards,
        [&](std::uint32_t k) {
          shard s;
          f(k, s, begin(s, k));
        },
        [&](std::uint32_t k, std::string const& why) { leave_shards(*group, k, why); });
  }
  // Shard 0's results; the others must be equal.
  trained by(shard_options const& o, std::vector<std::string>* threw = nullptr) {
    std::vector<trained> all(o.shards);
    auto const said = each(o, [&](std::uint32_t k, shard& s, training& run) { all[k] = finish(s, run); });
    if (threw) *threw = said;
    else EXPECT_EQ(said, none_of(o.shards));
    for (trained const& other : all) {
      EXPECT_EQ(other.values, all[0].values);
      EXPECT_EQ(other.losses, all[0].losses);
    }
    return all[0];
  }
};
inline shard_options of(std::uint32_t n, shard_reduction sums = shard_reduction::deterministic,
                        shard_strategy strategy = shard_strategy::bulk) {
  shard_options o;
  o.shards = n, o.sums = sums, o.strategy = strategy;
  return o;
}
inline void expect_same(trained const& a, trained const& b, std::string const& what) {
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_EQ(a.validation, b.validation) << what;
  EXPECT_EQ(a.values, b.values) << what;
  EXPECT_EQ(a.last.test.loss, b.last.test.loss) << what;
  EXPECT_EQ(a.last.test.accuracy, b.last.test.accuracy) << what;
}
inline void expect_close(trained const& a, trained const& b, std::string const& what) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) EXPECT_NEAR(a.losses[i], b.losses[i], 2e-4) << what << " " << i;
  for (std::size_t i = 0; i < a.validation.size(); ++i) EXPECT_NEAR(a.validation[i], b.validation[i], 5e-4) << what << " " << i;
  EXPECT_EQ(a.last.test.vertices, b.last.test.vertices) << what;
}
inline build_options directed() {
  build_options o;
  o.in_edges = true;
  return o;
}

}  // namespace garner::testing

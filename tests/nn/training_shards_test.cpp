// Full-graph training over shards: losses, parameters and evaluations equal those of one shard, bit for bit with deterministic reduction,
// and those of undivided training within rounding; and checkpoints.
#include <gmock/gmock.h>

#include "files/files.hpp"
#include "nn/shard_training.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

using shard_files = in_a_folder;
class training_shards : public at_place {};
GARNER_AT_EVERY_PLACE(training_shards);

TEST_P(training_shards, every_number_gives_the_same_bits) {
  communities const c(300, 3, 20);
  graph_handle const both = c.graph(), one_way = c.graph(directed());
  struct {
    model_kind kind;
    bool directed, norm, residual, answers;
  } const all[] = {{model_kind::gcn, false, false, false, false}, {model_kind::gcn, true, true, true, false},
                   {model_kind::sage, true, false, false, true},  {model_kind::sage, false, true, true, false},
                   {model_kind::gin, false, true, false, false},  {model_kind::gin, true, false, false, false}};
  for (auto const& a : all) {
    model_options m = c.model(a.kind);
    m.layer_norm = a.norm, m.residual = a.residual;
    if (a.answers) m.labels = label_kind::multi_label;
    sharded_training s{c, a.directed ? one_way : both, m, where(), whole_graph_steps()};
    std::string const what =
        fmt::format("{}{}{}{}", to_string(a.kind), a.directed ? " directed" : "", a.norm ? " norm" : "", a.residual ? " residual" : "");
    trained const one = s.by(of(1));
    EXPECT_LT(one.losses.back(), one.losses.front()) << what;
    for (std::uint32_t const n : {2u, 3u, 4u, 8u}) expect_same(s.by(of(n)), one, fmt::format("{} by {}", what, n));
    s.group = {};
    expect_close(one, s.in_one_piece(), what + " in one piece");
    expect_close(s.by(of(3, shard_reduction::fast)), one, what + " quick");
  }
}

TEST_P(training_shards, every_way_learns_the_same_within_rounding) {
  communities const c(300, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), where(), whole_graph_steps()};
  trained const one = s.by(of(1));
  expect_same(s.by(of(4, shard_reduction::deterministic, shard_strategy::collective)), one, "collective");
  expect_close(s.by(of(4, shard_reduction::deterministic, shard_strategy::mgg)), one, "mgg");
  for (element const wire : {element::bf16, element::f16}) {
    shard_options o = of(4);
    o.wire = wire;
    trained const rounded = s.by(o);
    EXPECT_NE(rounded.values, one.values);
    for (std::size_t i = 0; i < one.losses.size(); ++i) EXPECT_NEAR(rounded.losses[i], one.losses[i], 5e-3);
    o.shards = 1;
    expect_same(s.by(o), one, "alone");
  }
}

// On one device, several or none.
TEST_P(training_shards, recorded_steps_learn_bit_for_bit_as_those_that_are_not) {
  communities const c(300, 3, 20);
  graph_handle const both = c.graph(), one_way = c.graph(directed());
  bool const far = runs_later(where());
  struct {
    char const* name;
    model_kind kind;
    shard_options o;
    bool directed = false, answers = false, two = false;
  } cases[] = {{"bulk", model_kind::gin, of(3)},
               {"alone", model_kind::sage, of(1)},
               {"quick", model_kind::gcn, of(4, shard_reduction::fast), true},
               {"collective", model_kind::gcn, of(2, shard_reduction::deterministic, shard_strategy::collective), false, true},
               {"remote adjacency", model_kind::sage, of(3), true},
               {"rounded", model_kind::gcn, of(3)},
               {"mgg", model_kind::gcn, of(3, shard_reduction::fast, shard_strategy::mgg)},
               {"compressed adjacency", model_kind::sage, of(3), true},
               {"compressed remote adjacency", model_kind::gcn, of(2), true}};
  for (int const k : {4, 7, 8}) cases[k].o.list_window = 512;
  cases[4].o.remote_adjacency = cases[8].o.remote_adjacency = true;
  cases[7].o.compressed_adjacency = cases[8].o.compressed_adjacency = true;
  cases[5].o.wire = element::bf16;
  for (auto const& a : cases) {
    SCOPED_TRACE(a.name);
    model_options m = c.model(a.kind);
    if (a.answers) m.labels = label_kind::multi_label;
    std::vector<trained> found;
    for (bool const record : {false, true}) {
      sharded_training s{c, a.directed ? one_way : both, m, where(), whole_graph_steps()};
      s.t.cuda_graph = record, s.epochs = 6;
      s.seen = [&](int epoch, epoch_report const& r) {
        EXPECT_EQ(r.captured > 0, record && far && epoch > 2) << epoch;
        EXPECT_EQ(r.not_captured, "");
      };
      found.push_back(s.by(a.o));
    }
    if (a.o.strategy == shard_strategy::mgg) expect_close(found[1], found[0], a.name);
    else expect_same(found[1], found[0], a.name);
  }
}

TEST_P(training_shards, packed_lists_learn_the_same_bits) {
  communities const c(300, 3, 20);
  graph_handle const both = c.graph(), one_way = c.graph(directed());
  for (bool const directed : {false, true}) {
    sharded_training s{c, directed ? one_way : both, c.model(directed ? model_kind::sage : model_kind::gcn), where(), whole_graph_steps()};
    s.epochs = 3;
    trained const plain = s.by(of(1));
    for (std::uint32_t const n : {1u, 2u, 3u})
      for (bool const far : {false, true}) {
        shard_options o = of(n, shard_reduction::deterministic, n == 2 ? shard_strategy::collective : shard_strategy::bulk);
        o.compressed_adjacency = true, o.remote_adjacency = far, o.list_window = 512;
        expect_same(s.by(o), plain, fmt::format("by {}{}{}", n, far ? ", far" : "", directed ? ", directed" : ""));
      }
  }
}

// A table larger than device memory; forward and backward, with dropout and in another order.
TEST_P(training_shards, rows_by_tier_give_the_bits_of_rows_near) {
  communities c(300, 3, 24);
  graph_handle const both = c.graph(), other = reorder_graph(c.graph(), {vertex_order::random, 5, {}});
  struct {
    char const* name;
    model_kind kind;
    bool residual = false, inputs_dropped = false, reordered = false, answers = false;
    shard_strategy strategy = shard_strategy::bulk;
  } const cases[] = {{"gcn", model_kind::gcn, false, true},
                     {"sage", model_kind::sage, false, true, true},
                     {"sage by all rows", model_kind::sage, false, false, false, true, shard_strategy::collective},
                     {"residual gin", model_kind::gin, true, true}};
  for (auto const& a : cases)
    for (std::uint32_t const n : {1u, 3u}) {
      SCOPED_TRACE(fmt::format("{} by {}", a.name, n));
      model_options m = c.model(a.kind);
      m.residual = a.residual, m.hidden = 8;
      if (a.answers) m.labels = label_kind::multi_label;
      sharded_training s{c, a.reordered ? other : both, m, where(), whole_graph_steps()};
      if (a.inputs_dropped) s.t.input_dropout = 0.3;
      shard_options o = of(n, shard_reduction::deterministic, a.strategy);
      trained const near = s.by(o);
      o.far_rows = true;
      s.seen = [&](int epoch, epoch_report const& r) {
        EXPECT_EQ(r.captured, 0u);
        EXPECT_EQ(r.not_captured, epoch == 1 && runs_later(where()) ? "rows come by tier, for which the host waits" : "");
      };
      expect_same(s.by(o), near, a.name);
    }
}

// AUC uses scores that the host sees block by block; with an interrupt, a checkpoint and its resumption in between.
TEST_F(shard_files, recorded_steps_go_on_from_a_checkpoint) {
  communities const c(240, 2, 8);
  graph_handle const g = c.graph();
  for (device_kind const kind : {device_kind::cpu, device_kind::cuda}) {
    if (kind == device_kind::cuda && device::count() == 0) continue;
    sharded_training s{c, g, c.model(model_kind::gcn), {kind, 0}, whole_graph_steps()};
    s.epochs = 8;
    s.t.cuda_graph = false;
    trained const straight = s.by(of(3));
    s.t.cuda_graph = true;
    std::vector<trained> all(3);
    EXPECT_EQ(s.each(of(3),
                     [&](std::uint32_t k, auto& mine, training& run) {
                       for (int e = 0; e < 4; ++e) run.next();
                       run.save_checkpoint(at("c"));
                       for (int e = 0; e < 3; ++e) run.next();
                       run.load_checkpoint(at("c"));
                       all[k] = s.finish(mine, run);
                     }),
              none_of(3));
    EXPECT_EQ(all[0].values, straight.values);
    EXPECT_EQ(all[0].last.test.loss, straight.last.test.loss);
    EXPECT_EQ(all[0].last.test.auc, straight.last.test.auc);
  }
}

// Parts follow the internal order; rows, labels and scores follow the user's ids.
TEST_P(training_shards, a_graph_in_another_order_learns_the_same) {
  communities const c(300, 3, 8);
  for (bool const answers : {false, true})
    for (bool const one_way : {false, true}) {
      graph_handle const plain = one_way ? c.graph(directed()) : c.graph();
      graph_handle const other = reorder_graph(one_way ? c.graph(directed()) : c.graph(), {vertex_order::random, 5, {}});
      sharded_training s{c, plain, c.model(model_kind::sage), where(), whole_graph_steps(0)};
      sharded_training r{c, other, c.model(model_kind::sage), where(), whole_graph_steps(0)};
      if (answers) s.m.labels = r.m.labels = label_kind::multi_label;
      trained const expected = s.in_one_piece(), one = r.by(of(1));
      expect_close(one, expected, "in another order");
      EXPECT_NEAR(one.last.test.loss, expected.last.test.loss, 1e-3);
      EXPECT_NEAR(one.last.test.accuracy, expected.last.test.accuracy, 0.02);
      for (std::uint32_t const n : {2u, 5u}) expect_same(r.by(of(n)), one, fmt::format("in another order, by {}", n));
    }
}

TEST(training_over_shards, a_hub_and_empty_parts_change_nothing) {
  communities c(1400, 3, 8);
  for (std::uint64_t v = 0; v < 1400; ++v) c.edges.push_back({v, 5});
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::gin), {}, whole_graph_steps()};
  s.m.layer_norm = true, s.epochs = 2;
  trained const one = s.by(of(1));
  for (std::uint32_t const n : {5u, 16u}) expect_same(s.by(of(n)), one, fmt::format("by {}", n));
  communities small(18, 3, 8);
  small.edges = {{0, 1}, {0, 2}, {1, 2}};
  graph_handle const few = small.graph();
  sharded_training t{small, few, small.model(model_kind::sage), {}, whole_graph_steps(0)};
  expect_same(t.by(of(16)), t.by(of(1)), "mostly empty");
  shard_options packed = of(16);
  for (bool const far : {false, true}) {
    packed.compressed_adjacency = true, packed.remote_adjacency = far;
    expect_same(t.by(packed), t.by(of(1)), "mostly empty, compressed");
    expect_same(s.by(packed), one, "by 16, compressed");
  }
}

TEST_F(shard_files, a_checkpoint_goes_on_bit_for_bit_and_only_with_as_many_shards) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::gcn), {}, whole_graph_steps()};
  s.epochs = 6;
  trained const straight = s.by(of(3));
  auto const in_two = [&](std::uint32_t first, std::uint32_t second, std::vector<std::string>& threw, shard_strategy then) {
    EXPECT_EQ(s.each(of(first),
                     [&](std::uint32_t, auto&, training& run) {
                       for (int e = 0; e < 3; ++e) run.next();
                       run.save_checkpoint(at("c"));
                     }),
              none_of(first));
    shard_options how = of(second);
    how.strategy = then;
    std::vector<trained> all(second);
    threw = s.each(how, [&](std::uint32_t k, auto& mine, training& run) {
      run.load_checkpoint(at("c"));
      all[k] = s.finish(mine, run);
    });
    return all[0];
  };
  std::vector<std::string> threw;
  for (shard_strategy const then : {shard_strategy::bulk, shard_strategy::collective}) {  // the same bits, whichever was measured faster
    trained const gone_on = in_two(3, 3, threw, then);
    EXPECT_EQ(threw, none_of(3));
    EXPECT_EQ(gone_on.values, straight.values);
    EXPECT_EQ(gone_on.last.test.loss, straight.last.test.loss);
  }
  in_two(3, 2, threw, shard_strategy::bulk);
  EXPECT_THAT(threw[0] + threw[1], HasSubstr("3 of shards"));
}

}  // namespace
}  // namespace garner

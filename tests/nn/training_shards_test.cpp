// Full-graph training over shards: losses, parameters and evaluations equal those of one shard, bit for bit with deterministic reduction,
// and those of undivided training within rounding; checkpoints, interrupts, faults and rejected options.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <set>

#include "core/progress.hpp"
#include "files/files.hpp"
#include "nn/communities.hpp"
#include "nn/model.hpp"
#include "shard/group.hpp"
#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

struct trained {
  std::vector<double> losses, validation;
  std::vector<float> values;
  evaluation last;
};
training_options whole_graph_steps(double dropout = 0.4) {
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
  // Shard 0's results; the others must be equal.
  trained by(shard_options const& o, std::vector<std::string>* threw = nullptr) {
    group = shards_of_threads(o);
    std::vector<trained> all(o.shards);
    auto const said = on_shards(
        o.shards,
        [&](std::uint32_t k) {
          shard s;
          all[k] = finish(s, begin(s, k));
        },
        [&](std::uint32_t k, std::string const& why) { leave_shards(*group, k, why); });
    if (threw) *threw = said;
    else EXPECT_EQ(said, none_of(o.shards));
    for (trained const& other : all) {
      EXPECT_EQ(other.values, all[0].values);
      EXPECT_EQ(other.losses, all[0].losses);
    }
    return all[0];
  }
};
shard_options of(std::uint32_t n, shard_reduction sums = shard_reduction::deterministic, shard_strategy strategy = shard_strategy::bulk) {
  shard_options o;
  o.shards = n, o.sums = sums, o.strategy = strategy;
  return o;
}
void expect_same(trained const& a, trained const& b, std::string const& what) {
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_EQ(a.validation, b.validation) << what;
  EXPECT_EQ(a.values, b.values) << what;
  EXPECT_EQ(a.last.test.loss, b.last.test.loss) << what;
  EXPECT_EQ(a.last.test.accuracy, b.last.test.accuracy) << what;
}
void expect_close(trained const& a, trained const& b, std::string const& what) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) EXPECT_NEAR(a.losses[i], b.losses[i], 2e-4) << what << " " << i;
  for (std::size_t i = 0; i < a.validation.size(); ++i) EXPECT_NEAR(a.validation[i], b.validation[i], 5e-4) << what << " " << i;
  EXPECT_EQ(a.last.test.vertices, b.last.test.vertices) << what;
}
build_options directed() {
  build_options o;
  o.in_edges = true;
  return o;
}

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

TEST(training_over_shards, rows_by_tier_are_refused_where_all_are_wanted_near) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::gin), {}, whole_graph_steps()};
  s.m.hidden = 16;  // rows are not wider, so they are aggregated unmultiplied
  shard_options o = of(2);
  o.far_rows = true;
  std::vector<std::string> threw;
  s.by(o, &threw);
  EXPECT_THAT(threw[0] + threw[1], HasSubstr("the first layer aggregates them unchanged"));
  o.sums = shard_reduction::fast;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), HasSubstr("tiered features come in blocks of the deterministic reduction"));
}

// Errors are the same as for local rows.
TEST(training_over_shards, a_row_by_tier_that_is_no_number_is_named) {
  communities c(240, 3, 24);
  c.rows[77 * 24 + 5] = std::numeric_limits<float>::quiet_NaN();
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::gcn), {}, whole_graph_steps()};
  s.m.hidden = 8;
  shard_options o = of(3);
  o.far_rows = true;
  std::vector<std::string> threw;
  s.by(o, &threw);
  EXPECT_THAT(threw[0] + threw[1] + threw[2], HasSubstr("element 5 of row 77 of the features is not a finite number"));
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
    s.group = shards_of_threads(of(3));
    std::vector<trained> all(3);
    EXPECT_EQ(on_shards(3,
                        [&](std::uint32_t k) {
                          sharded_training::shard mine;
                          training& run = s.begin(mine, k);
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
    s.group = shards_of_threads(of(first));
    EXPECT_EQ(on_shards(first,
                        [&](std::uint32_t k) {
                          sharded_training::shard mine;
                          training& run = s.begin(mine, k);
                          for (int e = 0; e < 3; ++e) run.next();
                          run.save_checkpoint(at("c"));
                        }),
              none_of(first));
    shard_options how = of(second);
    how.strategy = then;
    s.group = shards_of_threads(how);
    std::vector<trained> all(second);
    threw = on_shards(second, [&](std::uint32_t k) {
      sharded_training::shard mine;
      training& run = s.begin(mine, k);
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

TEST(training_over_shards, a_shard_that_fails_or_an_interrupt_ends_all) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps()};
  for (bool const interrupted : {false, true}) {
    s.group = shards_of_threads(of(3));
    auto const threw = on_shards(
        3,
        [&](std::uint32_t k) {
          sharded_training::shard mine;
          training& run = s.begin(mine, k);
          run.next();
          if (k == 1 && interrupted) request_interrupt();
          if (k == 1 && !interrupted) fail(errc::memory, "shard 1 has no memory");
          run.next();
        },
        [&](std::uint32_t k, std::string const& why) { leave_shards(*s.group, k, why); });
    clear_interrupt();
    if (interrupted) {
      for (auto const& said : threw) EXPECT_EQ(said, "interrupted before step 2; nothing was left half-written");
      continue;
    }
    EXPECT_EQ(threw[1], "shard 1 has no memory");
    // Its training ended before the thread could report the reason.
    for (std::uint32_t const k : {0u, 2u}) EXPECT_THAT(threw[k], HasSubstr("rank 1 of 3 has stopped: "));
  }
}

TEST(training_over_shards, a_number_that_is_none_is_named_and_changes_nothing) {
  communities c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps(0)};
  s.t.learning_rate = 1e5, s.epochs = 60, s.t.evaluate_every = 0;
  for (std::uint64_t i = 0; i < c.rows.size(); ++i) c.rows[i] *= 1e18f;
  std::vector<std::string> threw;
  s.by(of(3), &threw);
  for (auto const& said : threw) EXPECT_THAT(said, ::testing::AnyOf(HasSubstr("grew beyond what a float holds"), HasSubstr("has stopped")));
  EXPECT_THAT(threw[0], HasSubstr("grew beyond what a float holds"));
  c.rows[200 * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
  s.by(of(3), &threw);
  EXPECT_THAT(threw[2], HasSubstr("element 3 of row 200"));
  graph_handle const other = reorder_graph(c.graph(), {vertex_order::random, 5, {}});
  sharded_training r{c, other, c.model(model_kind::sage), {}, whole_graph_steps(0)};
  r.by(of(3), &threw);
  EXPECT_THAT(threw[0] + threw[1] + threw[2], HasSubstr("element 3 of row 200"));
}

// Non-finite rows after a layer, or gradients: layer and vertex are those of undivided training.
TEST(training_over_shards, where_a_number_is_none_first_is_named) {
  communities const c(240, 3, 8);
  for (bool const other_order : {false, true}) {
    graph_handle const g = other_order ? reorder_graph(c.graph(), {vertex_order::random, 5, {}}) : c.graph();
    for (bool const forward : {true, false}) {
      sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps(0)};
      s.m.layers = 3;
      // Rows of 1e-30 after layer 1, then weights of 1e30: forward is finite, backward is not. Forward: twice as much.
      auto const begin = [&](sharded_training::shard& mine, std::uint32_t k) -> training& {
        training& run = s.begin(mine, k);
        auto& [x, o, net] = mine.model->inside();
        for (parameter const& p : net.parameters()) {
          float const by = p.name.find("weight") == std::string::npos ? 1 : p.layer == 0 ? (forward ? 1e20f : 1e-30f) : 1e30f;
          for (std::uint64_t r = 0; r < p.rows; ++r) {
            float* const row = net.values() + p.offset + r * p.stride;
            std::vector<float> values = host_copy(x, row, p.columns);
            for (float& v : values) v *= by;
            x.copy(row, values.data(), values.size() * sizeof(float));
          }
        }
        x.wait();
        return run;
      };
      s.group = {};
      sharded_training::shard alone;
      training& run = begin(alone, 0);
      std::string const one = error_of([&] { run.next(); });
      EXPECT_THAT(one, HasSubstr(forward ? "the rows behind layer 2 grew beyond" : "the gradient of the rows behind layer 1 grew beyond"));
      EXPECT_THAT(one, HasSubstr("first at vertex "));
      std::string const vertex = one.substr(one.find("first at vertex"), one.find(", where") - one.find("first at vertex"));
      for (std::uint32_t const n : {1u, 3u}) {
        s.group = shards_of_threads(of(n));
        auto const threw = on_shards(
            n,
            [&](std::uint32_t k) {
              sharded_training::shard mine;
              begin(mine, k).next();
            },
            [&](std::uint32_t k, std::string const& why) { leave_shards(*s.group, k, why); });
        for (std::string const& said : threw) {
          EXPECT_THAT(said, HasSubstr(one.substr(0, one.find(": first")))) << n;
          if (!other_order) {  // else the first is the first in internal order
            EXPECT_THAT(said, HasSubstr(vertex)) << n;
          }
        }
        EXPECT_EQ(std::set<std::string>(threw.begin(), threw.end()).size(), 1u);
      }
    }
  }
}

TEST(training_over_shards, a_shard_that_is_late_is_named_by_all) {
  communities const c(60, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps()};
  s.group = shards_of_threads(of(3), 0.3);
  std::atomic<int> ended = 0;
  auto const threw = on_shards(
      3,
      [&](std::uint32_t k) {
        sharded_training::shard mine;
        training& run = s.begin(mine, k);
        run.next();
        while (k == 1 && ended < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        run.next();
      },
      [&](std::uint32_t k, std::string const& why) {
        leave_shards(*s.group, k, why);
        ++ended;
      });
  // The longest waiter reports it; the other may get the error from there.
  for (std::uint32_t const k : {0u, 2u})
    EXPECT_THAT(threw[k], ::testing::AnyOf(HasSubstr("rank 1 of 3 is late: it has not come in 0.3 seconds"),
                                           HasSubstr("rank 1 of 3 has stopped: it was late: the others waited 0.3 seconds for it")));
  EXPECT_THAT(threw[1], HasSubstr("rank 1 of 3 has stopped: it was late: the others waited 0.3 seconds for it"));
}

TEST(training_over_shards, what_does_not_go_together_is_refused) {
  communities const c(60, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps()};
  auto const says = [&](std::uint32_t n) {
    s.group = shards_of_threads(of(n));
    return on_shards(
        n,
        [&](std::uint32_t k) {
          sharded_training::shard mine;
          s.begin(mine, k);
        },
        [&](std::uint32_t k, std::string const& why) { leave_shards(*s.group, k, why); });
  };
  s.t.fanouts = {2, 2};
  EXPECT_THAT(says(2)[0], HasSubstr("shards and fanouts"));
  s.t.fanouts = {};
  s.t.ranks = ranks_of_threads(2);
  EXPECT_EQ(says(2)[1], "shards and ranks; use one of them");
  s.t.ranks = {};
  communities const tiny(6, 3, 8);
  graph_handle const six = tiny.graph();
  sharded_training t{tiny, six, tiny.model(model_kind::sage), {}, whole_graph_steps()};
  std::vector<std::string> threw;
  t.by(of(7), &threw);
  EXPECT_THAT(threw[0], HasSubstr("7 shards, and "));
  EXPECT_THAT(error_of([] { shards_of_threads(of(17)); }), HasSubstr("17 shards: use 1 to 16"));
  shard_options o = of(2, shard_reduction::fast, shard_strategy::mgg);
  o.wire = element::bf16;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), HasSubstr("rows of bf16 between shards by mgg"));
  o.wire = element::i8;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), HasSubstr("rows of i8 between shards: use f32, bf16 or f16"));
}

}  // namespace
}  // namespace garner

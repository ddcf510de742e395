// Training over shards that cannot begin or go on: every shard ends, with an error that names the cause.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <set>

#include "core/progress.hpp"
#include "nn/shard_training.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

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

TEST(training_over_shards, a_shard_that_fails_or_an_interrupt_ends_all) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps()};
  for (bool const interrupted : {false, true}) {
    auto const threw = s.each(of(3), [&](std::uint32_t k, auto&, training& run) {
      run.next();
      if (k == 1 && interrupted) request_interrupt();
      if (k == 1 && !interrupted) fail(errc::memory, "shard 1 has no memory");
      run.next();
    });
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

// Multiplies the weights of each layer and column of its output.
template <class F>
void scale_weights(sharded_training::shard& mine, F const& by) {
  auto& [x, o, net] = mine.model->inside();
  for (parameter const& p : net.parameters()) {
    if (p.name.find("weight") == std::string::npos) continue;
    for (std::uint64_t r = 0; r < p.rows; ++r) {
      float* const row = net.values() + p.offset + r * p.stride;
      std::vector<float> values = host_copy(x, row, p.columns);
      for (float& v : values) v = static_cast<float>(v * by(p.layer, r));
      x.copy(row, values.data(), values.size() * sizeof(float));
    }
  }
  x.wait();
}

// Non-finite rows after a layer, or gradients: layer and vertex are those of undivided training.
TEST(training_over_shards, where_a_number_is_none_first_is_named) {
  communities const c(240, 3, 8);
  for (bool const other_order : {false, true}) {
    graph_handle const g = other_order ? reorder_graph(c.graph(), {vertex_order::random, 5, {}}) : c.graph();
    for (bool const forward : {true, false}) {
      sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps(0)};
      s.m.layers = 3;
      s.m.hidden = other_order ? 2 : 150;  // fewer than classes; more than one panel of rows in host memory
      // Rows of 1e-30 after layer 1, then weights of 1e30: forward is finite, backward is not. Forward: twice as much.
      auto const scale = [&](sharded_training::shard& mine) {
        scale_weights(mine, [&](std::uint32_t layer, std::uint64_t) { return layer == 0 ? (forward ? 1e20f : 1e-30f) : 1e30f; });
      };
      sharded_training::shard alone;
      training& run = s.begin(alone, 0);
      scale(alone);
      std::string const one = error_of([&] { run.next(); });
      EXPECT_THAT(one, HasSubstr(forward ? "the rows behind layer 2 grew beyond" : "the gradient of the rows behind layer 1 grew beyond"));
      EXPECT_THAT(one, HasSubstr("first at vertex "));
      std::string const vertex = one.substr(one.find("first at vertex"), one.find(", where") - one.find("first at vertex"));
      // From 100 on, with activations in host memory, from 200 on with rows of layers there too.
      for (std::uint32_t const n : {1u, 3u, 101u, 103u, 201u, 203u}) {
        shard_options how = of(n % 100);
        how.host_activations = n > 100, how.host_layers = n > 200;
        auto const threw = s.each(how, [&](std::uint32_t, auto& mine, training& its) {
          scale(mine);
          its.next();
        });
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

// Column 100 is not finite for most vertices, the first 64 for few: the first vertex has it in a later panel than others.
TEST(training_over_shards, of_few_numbers_the_first_is_named_wherever_rows_are) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::gcn), {}, whole_graph_steps(0)};
  s.m.hidden = 150, s.m.layers = 3;
  auto const scale = [&](sharded_training::shard& mine) {
    scale_weights(mine, [&](std::uint32_t layer, std::uint64_t column) {
      return layer == 0 ? 1e20 : layer == 2 ? 1e-20 : column == 100 ? 1e20 : column < 64 ? 1.92e19 : 1e-20;
    });
  };
  sharded_training::shard alone;
  training& run = s.begin(alone, 0);
  scale(alone);
  auto const begins = [](std::string const& said) { return said.substr(0, said.find(", where")); };
  std::string const one = begins(error_of([&] { run.next(); }));
  EXPECT_THAT(one, HasSubstr("the rows behind layer 2 grew beyond"));
  for (std::uint32_t const n : {1u, 3u}) {
    shard_options how = of(n);
    how.host_activations = how.host_layers = true;
    for (std::string const &said : s.each(how, [&](std::uint32_t, auto&mine, training&its) {
           scale(mine);
           its.next();
         }))
      EXPECT_EQ(begins(said), one) << n;
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
  auto const says = [&](std::uint32_t n) { return s.each(of(n), [](auto&&...) {}); };
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

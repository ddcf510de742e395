// The loader against "sample, then index": every strategy, window and device, and what it refuses.
#include <numeric>
#include <set>

#include "load/world.hpp"
#include "memory/budget.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class loader_at : public at_place {};
GARNER_AT_EVERY_PLACE(loader_at);

TEST_P(loader_at, hands_over_what_sample_then_index_gives_in_every_way) {
  std::vector<taken_batch> first;
  for (load_strategy const strategy : all_load_strategies)
    for (std::uint32_t const window : {1u, 3u, 8u})
      for (std::uint64_t const kept : {0u, 300u}) {
        world w(where(), kept);
        loader_options o;
        o.batch_size = 64, o.strategy = strategy, o.window = window, o.prefetch = 1 + window % 3;
        loader l = w.load(1000, o);
        EXPECT_EQ(l.batches(), 16u);
        std::vector<taken_batch> const epoch = epoch_of(l, where());
        ASSERT_EQ(epoch.size(), 16u) << to_string(strategy);
        if (first.empty()) first = epoch, expect_right(w, epoch, seeds_of(1000), 16);
        else EXPECT_TRUE(epoch == first) << to_string(strategy) << " " << window << " " << kept;
        load_report const r = l.report();
        EXPECT_EQ(r.batches, 16u);
        EXPECT_EQ(r.seeds, 1000u);
        std::uint64_t rows = 0;
        for (taken_batch const& b : epoch) rows += b.ids.size();
        EXPECT_EQ(r.rows.all(), rows);
        // Another epoch, another order; the same seeds.
        std::vector<taken_batch> const second = epoch_of(l, where());
        ASSERT_EQ(second.size(), 16u);
        EXPECT_EQ(second[0].epoch, 1u);
        EXPECT_NE(second[0].positions, epoch[0].positions);
        std::set<std::int64_t> all;
        for (taken_batch const& b : second) all.insert(b.positions.begin(), b.positions.end());
        EXPECT_EQ(all.size(), 1000u);
        if (strategy == load_strategy::window && kept == 0) expect_right(w, second, seeds_of(1000), 16);
      }
}

TEST_P(loader_at, chooses_its_window_by_what_the_first_took_and_tells_it) {
  bool const host = where().kind == device_kind::cpu;
  world w(where(), 0);
  loader_options o;
  o.batch_size = 16;
  loader l = w.load(1000, o);
  EXPECT_LE(l.report().window, 8u);
  std::vector<taken_batch> const epoch = epoch_of(l, where());
  expect_right(w, epoch, seeds_of(1000), 63);
  EXPECT_EQ(l.report().window, host ? 2u : 32u);
  o.window = 8;
  loader said = w.load(1000, o);
  EXPECT_TRUE(epoch_of(said, where()) == epoch);
  EXPECT_EQ(said.report().window, host ? 2u : 8u);
  if (where().kind != device_kind::simulated) return;
  o.window = 0;
  loader little = w.load(1000, o);  // constructed while memory suffices
  std::uint64_t const limit = host_budget().limit();
  host_budget().set_limit(host_budget().used() + (4u << 20));
  EXPECT_TRUE(epoch_of(little, where()) == epoch);
  host_budget().set_limit(limit);
  EXPECT_EQ(little.report().window, 8u);
}

// A group reads more rows than the previous one: the window grows while mini-batches of that one are still gathered.
TEST_P(loader_at, hands_over_right_rows_while_the_window_grows) {
  constexpr std::uint64_t many = 1u << 16, wide = 4;
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < many * 8; ++i) arcs.push_back({random_bits(1, 0, i) % many, random_bits(1, 1, i) % many});
  graph_handle const g = to_device(graph_access::wrap(make_graph(arcs, true, many)), where(), tier::host);
  std::vector<float> rows(many * wide);
  std::iota(rows.begin(), rows.end(), 0.f);
  tiered_options near;
  near.device = where();
  if (where().kind != device_kind::cpu) near.feature_cache = 0;
  tiered_tensor features({rows.data(), many, wide, element::f32, {}}, near);
  std::vector<std::int64_t> const fanouts{4, 4};
  block_sampler sampler(where(), g, fanouts, {});
  std::vector<std::int64_t> seeds(4000);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<std::int64_t>(i * 16);
  loader_options o;
  o.batch_size = 32;
  executor x(where());
  for (int trial = where().kind == device_kind::simulated && x.asynchronous() ? 16 : 1; trial; --trial) {
    loader l(sampler, {{&features, 0, false, {}}}, seeds, o);
    std::uint64_t wrong = 0;
    for (int epoch = 0; epoch < 2; ++epoch)
      while (std::optional<mini_batch> const b = l.next()) {
        auto const& v = b->subgraph().of_type(0);
        std::vector<std::int64_t> const ids = host_copy(x, v.ids, v.count);
        std::vector<float> const came = host_copy(x, static_cast<float const*>(b->of_table(0).data), v.count * wide);
        for (std::size_t i = 0; i < came.size(); ++i)
          wrong += came[i] != static_cast<float>(static_cast<std::uint64_t>(ids[i / wide]) * wide + i % wide);
      }
    ASSERT_EQ(wrong, 0u);
    EXPECT_EQ(l.report().window, where().kind == device_kind::cpu ? 2u : 32u);
  }
}

TEST_P(loader_at, draws_as_many_together_where_lists_lie_far_as_where_rows_do) {
  auto const window_of = [&](bool lists_far) {
    world w(where(), vertices);
    if (where().kind == device_kind::cuda) w.g = to_device(std::move(w.g), where(), lists_far ? tier::host : tier::device);
    block_sampler sampler(where(), w.g, w.fanouts, w.options);
    loader_options o;
    o.batch_size = 16;
    loader l(sampler, {{&w.features, 0, false, {}}, {&w.targets, 0, true, {}}}, seeds_of(1000), o);
    expect_right(w, epoch_of(l, where()), seeds_of(1000), 63);
    return l.report().window;
  };
  bool const later = runs_later(where());  // simulated adjacency is remote, whatever the options
  EXPECT_EQ(window_of(false), where().kind == device_kind::cuda ? 8u : later ? 32u : 2u);
  EXPECT_EQ(window_of(true), later ? 32u : 2u);
}

TEST_P(loader_at, is_right_where_the_window_is_too_small) {
  for (std::uint64_t const bytes : {0ull, 20ull, 4000ull, 20000ull}) {
    world w(where(), 0);
    loader_options o;
    o.batch_size = 100, o.strategy = load_strategy::window, o.window = 4, o.window_bytes = bytes;
    loader l = w.load(1200, o);
    for (int e = 0; e < 2; ++e) expect_right(w, epoch_of(l, where()), seeds_of(1200), 12);
  }
}

// The window keeps rows from epoch to epoch, and on a device an epoch is begun before the one ahead of it has ended.
TEST_P(loader_at, has_the_new_rows_in_an_epoch_after_a_put) {
  for (load_strategy const strategy : all_load_strategies) {
    world w(where());
    loader_options o;
    o.batch_size = 64, o.strategy = strategy, o.window = 4;
    loader l = w.load(1000, o);
    executor x(where());
    std::vector<std::int64_t> ids(vertices);
    std::iota(ids.begin(), ids.end(), 0);
    float by = 0;
    auto const put = [&] {
      std::vector<float> rows = w.rows;
      for (float& value : rows) value += ++by;
      w.features.put({ids.data(), ids.size(), 8}, std::as_bytes(std::span(rows)));
    };
    for (int epoch = 0; epoch < 4; ++epoch) {
      std::vector<float> const rows = w.rows;
      for (std::uint64_t index = 0; std::optional<mini_batch> b = l.next(); ++index) {
        taken_batch const got = taken(x, *b);
        if (epoch == 2 && index == 5) put();  // the epoch may hand over either from here on
        if (epoch == 2 && index > 4) continue;
        for (std::size_t i = 0; i < got.rows.size(); ++i)
          ASSERT_EQ(got.rows[i], rows[static_cast<std::size_t>(got.ids[i / width]) * width + i % width])
              << to_string(strategy) << " " << epoch;
      }
      if (epoch == 0) put();
    }
  }
}

TEST_P(loader_at, keeps_the_times_of_the_first_mini_batches_in_their_order) {
  world w(where());
  loader_options o;
  o.batch_size = 50, o.window = 2, o.keep_times = 5;
  loader l = w.load(600, o);
  std::vector<mini_batch> kept;
  for (int k = 0; k < 4; ++k) kept.push_back(*l.next());
  while (!kept.empty()) kept.pop_back();  // the last of them first
  std::uint64_t taken = 4;
  while (l.next()) ++taken;
  EXPECT_EQ(taken, 12u);
  load_report const r = l.report();
  ASSERT_EQ(r.times.size(), 5u);
  for (std::uint64_t k = 0; k < 5; ++k) {
    batch_times const& t = r.times[k];
    EXPECT_EQ(t.index, k);
    EXPECT_EQ(t.sample.end > 0, k % 2 == 0) << k;
    EXPECT_LE(t.gather.begin, t.gather.end);
    EXPECT_GT(t.gather.end, 0);
    EXPECT_GT(t.handed, 0);
  }
  l.begin(1);
  EXPECT_TRUE(l.report().times.empty());
  ASSERT_TRUE(l.next());
  ASSERT_EQ(l.report().times.size(), 1u);
  EXPECT_EQ(l.report().times[0].epoch, 1u);
}

TEST_P(loader_at, begins_later_epochs_with_groups_smaller_than_its_window) {
  if (where().kind == device_kind::cpu) GTEST_SKIP() << "all rows are near";
  world w(where());
  loader_options o;
  o.batch_size = 10, o.window = 32, o.keep_times = 70, o.strategy = load_strategy::window;
  loader l = w.load(700, o);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    l.begin(epoch);
    std::uint64_t taken = 0;
    for (; taken < 70; ++taken) ASSERT_TRUE(l.next());
    std::vector<std::uint64_t> first_of_group;
    for (batch_times const& t : l.report().times)
      if (t.sample.end > 0) first_of_group.push_back(t.index);
    EXPECT_EQ(first_of_group, epoch ? std::vector<std::uint64_t>({0, 8, 24, 56}) : std::vector<std::uint64_t>({0, 32, 64})) << epoch;
  }
}

TEST(loaders, refuse_what_makes_no_epoch) {
  world w({});
  loader_options o;
  auto const refused = [&](std::vector<std::int64_t> seeds, loader_options const& how = {}) {
    return error_of([&] { loader l(w.sampler, {{&w.features, 0, false, {}}}, std::move(seeds), how); });
  };
  EXPECT_NE(refused({}).find("empty"), std::string::npos);
  EXPECT_EQ(refused({1, 2, 1}), "seed 1 at position 2 stands there twice; name each vertex once");
  EXPECT_NE(refused({1, 3000}).find("seed 3000 at position 1"), std::string::npos);
  EXPECT_NE(refused({-1}).find("seed -1 at position 0"), std::string::npos);
  o.batch_size = 0;
  EXPECT_NE(refused({1}, o).find("mini-batches of 0"), std::string::npos);
  o = {}, o.prefetch = 0;
  EXPECT_NE(refused({1}, o).find("ahead"), std::string::npos);
  o = {}, o.window = 65;
  EXPECT_NE(refused({1}, o).find("window"), std::string::npos);
  o = {}, o.rank = 2, o.ranks = 2;
  EXPECT_NE(refused({1}, o).find("rank 2 of 2"), std::string::npos);
  o = {}, o.drop_last = true;
  EXPECT_NE(refused({1}, o).find("drop_last"), std::string::npos);
  std::vector<float> const small(10 * width);
  tiered_tensor table({small.data(), 10, width, element::f32, {}}, {});
  EXPECT_NE(error_of([&] {
              loader l(w.sampler, {{&table, 0, false, {}}}, {1});
            }).find("table 0 has 10 rows, and there are 3000"),
            std::string::npos);
  EXPECT_NE(error_of([&] { parse_load_strategy("quick"); }).find("use automatic"), std::string::npos);
}

}  // namespace
}  // namespace garner

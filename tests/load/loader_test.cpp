// The loader against "sample, then index": every strategy, every device, in order, resumed, interrupted.
#include "garner/load.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "child.hpp"
#include "comm/peer_group.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "files/npy_head.hpp"
#include "graph/handle.hpp"
#include "memory/budget.hpp"
#include "sample/blocks.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr std::uint64_t vertices = 3000, width = 5;

graph_handle a_graph(execution_device where) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 30000; ++i)
    arcs.push_back({random_bits(1, 0, i) % vertices, random_bits(1, 1, i) % (i % 3 ? vertices : 50)});
  return to_device(graph_access::wrap(make_graph(arcs, true, vertices)), where, tier::host);
}
std::vector<float> the_rows() {
  std::vector<float> rows(vertices * width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  return rows;
}
std::vector<std::int64_t> the_labels() {
  std::vector<std::int64_t> labels(vertices);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * 7);
  return labels;
}
std::vector<std::int64_t> seeds_of(std::uint64_t n) {
  std::vector<std::int64_t> s(n);
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<std::int64_t>((i * 17 + 5) % vertices);
  return s;
}

// Everything that a loader needs, on a device; `kept`: rows in device or simulated memory.
struct world {
  execution_device where;
  graph_handle g;
  std::vector<float> rows = the_rows();
  std::vector<std::int64_t> labels = the_labels();
  tiered_tensor features, targets;
  block_options options;
  std::vector<std::int64_t> fanouts;
  block_sampler sampler;

  static tiered_options tiers(execution_device p, std::uint64_t kept) {
    tiered_options o;
    o.device = p;
    if (p.kind != device_kind::cpu) o.feature_cache = kept * width * 4;
    return o;
  }
  static block_options with_ids() {
    block_options o;
    o.edge_ids = true;
    return o;
  }
  explicit world(execution_device p, std::uint64_t kept = 300, std::vector<std::int64_t> f = {4, 3})
      : where(p),
        g(a_graph(p)),
        features({rows.data(), vertices, width, element::f32, {}}, tiers(p, kept)),
        targets({labels.data(), vertices, 1, element::i64, {}}, tiers(p, 0)),
        options(with_ids()),
        fanouts(std::move(f)),
        sampler(p, g, fanouts, options) {}
  loader load(std::uint64_t n, loader_options o) {
    return loader(sampler, {{&features, 0, false, {}}, {&targets, 0, true, {}}}, seeds_of(n), o);
  }
};

struct taken_batch {
  std::uint64_t epoch = 0, index = 0;
  std::vector<std::int64_t> ids, row, col, edge, positions, labels;
  std::vector<float> rows;
  bool operator==(taken_batch const&) const = default;
};
taken_batch taken(executor& x, mini_batch const& b) {
  auto const& v = b.subgraph().of_type(0);
  auto const& e = b.subgraph().of_relation(0);
  auto const& f = b.of_table(0);
  EXPECT_EQ(f.count, v.count);
  EXPECT_EQ(f.row_bytes, width * 4);
  EXPECT_EQ(b.of_table(1).count, b.seeds());
  return {b.epoch(),
          b.index(),
          host_copy(x, v.ids, v.count),
          host_copy(x, e.row, e.count),
          host_copy(x, e.col, e.count),
          host_copy(x, e.edge, e.count),
          b.positions() ? host_copy(x, b.positions(), b.seeds()) : std::vector<std::int64_t>{},
          host_copy(x, static_cast<std::int64_t const*>(b.of_table(1).data), b.seeds()),
          host_copy(x, static_cast<float const*>(f.data), f.count * width)};
}
std::vector<taken_batch> epoch_of(loader& l, execution_device where) {
  executor x(where);
  std::vector<taken_batch> all;
  while (std::optional<mini_batch> b = l.next()) all.push_back(taken(x, *b));
  return all;
}
// Rows, labels and seeds match the ids; ids and edges match a separate sampler.
void expect_right(world& w, std::vector<taken_batch> const& epoch, std::vector<std::int64_t> const& seeds, std::uint64_t batches) {
  graph_handle const home = a_graph({});
  block_sampler one({}, home, w.fanouts, w.options);
  for (taken_batch const& b : epoch) {
    ASSERT_EQ(b.rows.size(), b.ids.size() * width);
    std::vector<std::int64_t> mine;
    for (std::size_t i = 0; i < b.positions.size(); ++i) {
      mine.push_back(seeds[static_cast<std::size_t>(b.positions[i])]);
      EXPECT_EQ(b.labels[i], mine.back() * 7);
    }
    ASSERT_TRUE(std::equal(mine.begin(), mine.end(), b.ids.begin()));
    for (std::size_t i = 0; i < b.ids.size(); ++i)
      for (std::size_t k = 0; k < width; ++k)
        ASSERT_EQ(b.rows[i * width + k], static_cast<float>(static_cast<std::uint64_t>(b.ids[i]) * width + k)) << "mini-batch " << b.index;
    sampled_subgraph const d = one.sample(b.epoch * batches + b.index, mine);
    executor x({});
    EXPECT_EQ(b.ids, host_copy(x, d.of_type(0).ids, d.of_type(0).count));
    EXPECT_EQ(b.row, host_copy(x, d.of_relation(0).row, d.of_relation(0).count));
    EXPECT_EQ(b.edge, host_copy(x, d.of_relation(0).edge, d.of_relation(0).count));
  }
}

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

TEST_P(loader_at, resumes_at_the_very_mini_batch) {
  world w(where());
  loader_options o;
  o.batch_size = 50;
  std::vector<taken_batch> whole;
  {
    loader l = w.load(600, o);
    for (int e = 0; e < 2; ++e)
      for (taken_batch& b : epoch_of(l, where())) whole.push_back(std::move(b));
  }
  executor x(where());
  for (std::size_t const stop : {0u, 5u, 12u, 17u}) {
    std::string saved;
    {
      loader l = w.load(600, o);
      std::size_t n = 0;
      while (n < stop)
        if (l.next()) ++n;
      saved = l.state().text();
    }
    loader l = w.load(600, o);
    l.resume(load_state::parse(saved));
    std::vector<taken_batch> rest;
    while (stop + rest.size() < whole.size())
      if (std::optional<mini_batch> b = l.next()) rest.push_back(taken(x, *b));
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + static_cast<std::ptrdiff_t>(stop))) << stop;
  }
  loader l = w.load(600, o);
  std::string const mine = l.state().text();
  o.batch_size = 51;
  loader other = w.load(600, o);
  EXPECT_NE(error_of([&] { other.resume(load_state::parse(mine)); }).find("another loader"), std::string::npos);
  EXPECT_NE(error_of([&] { load_state::parse("garner-loader 2"); }).find("is not a state of a loader"), std::string::npos);
  EXPECT_NE(error_of([&] { load_state::parse(mine + "x"); }).find("is not a state of a loader"), std::string::npos);
}

// Mini-batches of the caller's own seeds, in the caller's order, of any size; sampled by the given number.
TEST_P(loader_at, takes_an_epoch_of_the_callers_own) {
  world w(where());
  loader_options o;
  o.batch_size = 50, o.rank = 1, o.ranks = 2;
  loader l = w.load(600, o);
  ASSERT_TRUE(l.next());
  std::vector<std::vector<std::int64_t>> mine;
  for (std::size_t const n : {50u, 3u, 50u, 27u}) mine.push_back(seeds_of(n));
  mine[0][7] = mine[0][3];
  auto const open = [&](loader& to, std::uint64_t draws) {
    to.open(9, draws);
    for (auto const& seeds : mine) to.submit({{0, seeds}});
    to.end();
  };
  graph_handle const home = a_graph({});
  block_sampler one({}, home, w.fanouts, w.options);
  executor x(where()), here({});
  std::vector<taken_batch> first;
  for (std::uint64_t const draws : {1000ull, (1ull << 60) + 5}) {
    open(l, draws);
    EXPECT_EQ(l.batches(), mine.size());
    std::vector<taken_batch> const epoch = epoch_of(l, where());
    ASSERT_EQ(epoch.size(), mine.size());
    for (std::uint64_t b = 0; b < mine.size(); ++b) {
      sampled_subgraph const d = one.sample(draws + b, mine[b]);
      EXPECT_EQ(epoch[b].epoch, 9u);
      EXPECT_EQ(epoch[b].index, b);
      EXPECT_EQ(epoch[b].ids, host_copy(here, d.of_type(0).ids, d.of_type(0).count));
      EXPECT_EQ(epoch[b].row, host_copy(here, d.of_relation(0).row, d.of_relation(0).count));
      ASSERT_EQ(epoch[b].labels.size(), mine[b].size());
      for (std::size_t i = 0; i < mine[b].size(); ++i) EXPECT_EQ(epoch[b].labels[i], mine[b][i] * 7);
    }
    EXPECT_FALSE(l.next());  // it has ended
    EXPECT_FALSE(l.next());
    if (first.empty()) first = epoch;
    else EXPECT_NE(first[0].edge, epoch[0].edge);
  }
  // Stopped and continued; saved and resumed, only with the same epoch.
  open(l, 1000);
  EXPECT_TRUE(taken(x, *l.next()) == first[0]);
  l.stop();
  std::string const saved = l.state().text();
  for (std::size_t b = 1; b < mine.size(); ++b) EXPECT_TRUE(taken(x, *l.next()) == first[b]);
  l.stop();
  EXPECT_FALSE(l.next());
  loader other = w.load(600, o);
  EXPECT_NE(error_of([&] { other.resume(load_state::parse(saved)); }).find("another loader"), std::string::npos);
  open(other, 1000);
  other.resume(load_state::parse(saved));
  EXPECT_TRUE(taken(x, *other.next()) == first[1]);
  // Submitted one by one during delivery, fewer and more at a time than a group.
  for (std::size_t const at_once : {1u, 2u, 9u, 40u}) {
    l.open(9, 1000);
    std::size_t given = 0;
    for (std::size_t b = 0; b < 60; ++b) {
      for (; given < std::min<std::size_t>(60, b + at_once); ++given) l.submit({{0, mine[given % mine.size()]}});
      std::optional<mini_batch> const got = l.next();
      ASSERT_TRUE(got) << b;
      if (b < mine.size()) {
        EXPECT_TRUE(taken(x, *got) == first[b]);
      }
      sampled_subgraph const d = one.sample(1000 + b, mine[b % mine.size()]);
      EXPECT_EQ(taken(x, *got).ids, host_copy(here, d.of_type(0).ids, d.of_type(0).count));
    }
    EXPECT_NE(error_of([&] { l.next(); }).find("all 60 mini-batches that were given have been handed over"), std::string::npos);
    l.end();
    EXPECT_FALSE(l.next());
    EXPECT_NE(error_of([&] { l.submit({}); }).find("no epoch is open"), std::string::npos);
  }
  // Fewer than a group, then many during their delivery: the order is kept. A state covers delivered mini-batches only.
  loader_options four = o;
  four.window = 4;
  loader few = w.load(600, four);
  few.open(9, 1000);
  std::size_t more = 0;
  auto const give = [&](std::size_t n) {
    for (; n > 0; --n) few.submit({{0, mine[more++ % mine.size()]}});
  };
  give(4);
  for (std::size_t b = 0; b < 40; ++b) {
    std::optional<mini_batch> const got = few.next();
    ASSERT_TRUE(got);
    ASSERT_EQ(got->index(), b);
    if (b == 0) give(2);
    if (b == 1) give(9), std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (b == 3) give(25);
  }
  loader again = w.load(600, four);
  again.open(9, 1000);
  again.submit({{0, mine[0]}});
  again.resume(load_state::parse(saved));
  again.submit({{0, mine[1]}});
  EXPECT_TRUE(taken(x, *again.next()) == first[1]);
  l.open(1);
  l.end();
  EXPECT_EQ(l.batches(), 0u);
  EXPECT_FALSE(l.next());
  l.open(1);
  EXPECT_NE(error_of([&] { l.submit({{0, {5, 3000}}}); }).find("seed 3000 at position 1"), std::string::npos);
  EXPECT_NE(error_of([&] { l.submit({{0, {5, 6}, {1}}}); }).find("1 times for 2"), std::string::npos);
  EXPECT_NE(error_of([&] { l.submit({{7, {5}}}); }).find("type 7"), std::string::npos);
  EXPECT_EQ(l.batches(), 0u);
  l.begin(2);  // back to its own seeds
  EXPECT_EQ(l.batches(), 6u);
  EXPECT_EQ(epoch_of(l, where()).size(), 6u);
}

TEST_P(loader_at, shares_the_seeds_among_ranks) {
  world w(where());
  loader_options o;
  o.batch_size = 50, o.ranks = 3;
  std::multiset<std::int64_t> all;
  for (o.rank = 0; o.rank < 3; ++o.rank) {
    loader l = w.load(1000, o);
    EXPECT_EQ(l.batches(), 7u);
    for (taken_batch const& b : epoch_of(l, where())) all.insert(b.positions.begin(), b.positions.end());
  }
  EXPECT_EQ(std::set<std::int64_t>(all.begin(), all.end()).size(), 1000u);
  EXPECT_EQ(all.size(), 1002u);  // the same number for each
}

TEST_P(loader_at, in_order_and_without_a_rest_where_that_is_asked) {
  world w(where());
  loader_options o;
  o.batch_size = 64, o.shuffle = false, o.drop_last = true;
  loader l = w.load(200, o);
  std::vector<taken_batch> const epoch = epoch_of(l, where());
  ASSERT_EQ(epoch.size(), 3u);
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(epoch[b].positions[i], static_cast<std::int64_t>(b * 64 + i));
}

// Its resources are freed with the loader, or with their last owner.
TEST_P(loader_at, keeps_what_a_stream_reads_until_it_has_read_it_when_the_loader_goes) {
  world w(where(), 0);
  executor x(where()), reader(where());
  for (bool const goes_first : {true, false}) {
    loader_options o;
    o.batch_size = 64, o.prefetch = 1, o.shuffle = false;
    std::optional<loader> l(w.load(1000, o));
    buffer<std::uint8_t> const busy(x.near(), x.on_device() ? 256u << 20 : 1, x.device(), "a test");
    std::optional<mini_batch> b = l->next(stream_ref::of_address(reader.stream()));
    std::vector<std::int64_t> const ids = host_copy(x, b->subgraph().of_type(0).ids, b->subgraph().of_type(0).count);
    buffer<float> const rows(x.near(), ids.size() * width, x.device(), "a test");
    for (int k = 0; k < 40; ++k) reader.fill(busy.data(), k, busy.bytes());
    reader.copy(rows.data(), b->of_table(0).data, rows.bytes());
    if (goes_first) l.reset();
    b.reset();
    l.reset();
    std::vector<float> const seen = host_copy(reader, rows.data(), rows.size());
    for (std::size_t k = 0; k < seen.size(); ++k)
      ASSERT_EQ(seen[k], static_cast<float>(static_cast<std::uint64_t>(ids[k / width]) * width + k % width)) << goes_first;
  }
}

// Mini-batches that are kept, returned late or never requested.
TEST_P(loader_at, waits_for_a_caller_that_keeps_what_it_took_and_ends_when_it_stops) {
  world w(where());
  executor x(where());
  loader_options o;
  o.batch_size = 50, o.prefetch = 3;
  loader l = w.load(1000, o);
  std::vector<mini_batch> kept;
  for (int i = 0; i < 9; ++i) kept.push_back(std::move(*l.next()));
  std::vector<taken_batch> before;
  for (mini_batch const& b : kept) before.push_back(taken(x, b));
  std::optional<mini_batch> fourth = l.next();
  fourth.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(taken(x, kept[i]) == before[i]);
  kept.erase(kept.begin());
  l.begin(4);
  EXPECT_EQ(l.next()->epoch(), 4u);
  mini_batch outlives = std::move(*l.next());
  loader other = std::move(l);
  { loader const gone = std::move(other); }
  EXPECT_FALSE(taken(x, outlives).ids.empty());
}

// The first one returned is counted first, and the times are still of those that were delivered first.
// The host does not wait for the second stream, which is busy while the buffers would be refilled.
TEST_P(loader_at, keeps_a_mini_batch_until_every_stream_that_uses_it_has_read_it) {
  world w(where(), 0);
  executor x(where()), first(where()), second(where());
  loader_options o;
  o.batch_size = 64, o.prefetch = 1, o.shuffle = false;
  loader l = w.load(1000, o);
  std::uint64_t const batches = l.batches();
  buffer<std::uint8_t> const busy(x.near(), x.on_device() ? 256u << 20 : 1, x.device(), "a test");
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<buffer<float>> rows;
  while (std::optional<mini_batch> b = l.next(stream_ref::of_address(first.stream()))) {
    for (int k = 0; k < 40; ++k) second.fill(busy.data(), k, busy.bytes());
    b->use_on(stream_ref::of_address(second.stream()));
    ids.push_back(host_copy(x, b->subgraph().of_type(0).ids, b->subgraph().of_type(0).count));
    rows.emplace_back(x.near(), ids.back().size() * width, x.device(), "a test");
    second.copy(rows.back().data(), b->of_table(0).data, rows.back().bytes());
    b->use_on(stream_ref::of_address(first.stream()));  // already registered
  }
  second.wait();
  ASSERT_EQ(ids.size(), batches);
  for (std::size_t b = 0; b < ids.size(); ++b) {
    std::vector<float> const seen = host_copy(x, rows[b].data(), ids[b].size() * width);
    for (std::size_t k = 0; k < seen.size(); ++k)
      ASSERT_EQ(seen[k], static_cast<float>(static_cast<std::uint64_t>(ids[b][k / width]) * width + k % width)) << "mini-batch " << b;
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

TEST_P(loader_at, tells_what_went_wrong_and_begins_where_it_stopped) {
  world w(where());
  loader_options o;
  o.batch_size = 50;
  loader l = w.load(1000, o);
  ASSERT_TRUE(l.next());
  request_interrupt();
  errc code{};
  for (int i = 0; i < 30 && code != errc::interrupted; ++i) {
    try {
      l.next();
    } catch (error const& e) {
      code = e.code();
    }
  }
  clear_interrupt();
  EXPECT_EQ(code, errc::interrupted);
  load_state const s = l.state();
  std::vector<taken_batch> const rest = epoch_of(l, where());
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest.front().index, s.next);
  EXPECT_EQ(rest.back().index, 19u);
}

// --- memory that runs out in the middle of an epoch: 24 small mini-batches, then large ones
// -----------------------------------------------
struct uneven {
  static constexpr std::uint64_t small = 24, large = 4, batch = 20, width = 32;
  execution_device where;
  graph_handle g;
  std::vector<float> rows = std::vector<float>(vertices * width);
  tiered_tensor features;
  block_sampler sampler;

  static graph_handle graph(execution_device p) {
    std::vector<arc> arcs;
    for (std::uint64_t v = 0; v < (small + large) * batch; ++v)
      for (std::uint64_t k = 0; k < (v < small * batch ? 1 : 400); ++k) arcs.push_back({v, random_bits(2, v, k) % vertices});
    build_options sides;
    sides.in_edges = false;
    return to_device(graph_access::wrap(make_graph(arcs, false, vertices, sides)), p, tier::host);
  }
  static tiered_options all_far(execution_device p) {
    tiered_options o;
    o.device = p;
    if (p.kind != device_kind::cpu) o.feature_cache = 0;
    return o;
  }
  std::vector<float>& filled() {
    std::iota(rows.begin(), rows.end(), 0.0f);
    return rows;
  }
  explicit uneven(execution_device p)
      : where(p),
        g(graph(p)),
        features({filled().data(), vertices, width, element::f32, {}}, all_far(p)),
        sampler(p, g, {-1}, {}, edge_direction::out) {}
  loader load(load_strategy strategy) {
    loader_options o;
    o.batch_size = batch, o.shuffle = false, o.strategy = strategy, o.window = 4;
    std::vector<std::int64_t> seeds((small + large) * batch);
    std::iota(seeds.begin(), seeds.end(), 0);
    return loader(sampler, {{&features, 0, false, {}}}, seeds, o);
  }
  struct taken {
    std::uint64_t index;
    std::vector<std::int64_t> ids, row;
    std::vector<float> rows;
    bool operator==(taken const&) const = default;
  };
  taken of(mini_batch const& b) const {
    executor x(where);
    auto const& v = b.subgraph().of_type(0);
    return {b.index(), host_copy(x, v.ids, v.count), host_copy(x, b.subgraph().of_relation(0).row, b.subgraph().of_relation(0).count),
            host_copy(x, static_cast<float const*>(b.of_table(0).data), b.of_table(0).count * width)};
  }
  std::vector<taken> rest(loader& l) const {
    std::vector<taken> all;
    while (std::optional<mini_batch> b = l.next()) all.push_back(of(*b));
    return all;
  }
};
std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator{});
}
// The caller is slower, so that the loader allocates all buffers that it can use.
std::optional<mini_batch> held_a_while(loader& l) {
  std::optional<mini_batch> b = l.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return b;
}
struct host_limit {
  std::uint64_t const before = host_budget().limit();
  void to_what_is_used(std::uint64_t and_so_much = 0) const { host_budget().set_limit(host_budget().used() + and_so_much); }
  void back() const { host_budget().set_limit(before); }
  ~host_limit() { back(); }
};

TEST_P(loader_at, goes_on_at_the_very_mini_batch_when_there_is_memory_again) {
  if (where().kind == device_kind::cuda) GTEST_SKIP() << "the budget of the host is what runs out here";
  for (load_strategy const strategy : {load_strategy::window, load_strategy::tiered, load_strategy::staged}) {
    SCOPED_TRACE(to_string(strategy));
    std::uint64_t const used_before = host_budget().used();
    {
      uneven w(where());
      std::vector<uneven::taken> whole;
      {
        uneven other(where());
        loader l = other.load(strategy);
        whole = other.rest(l);
      }
      ASSERT_EQ(whole.size(), uneven::small + uneven::large);
      host_limit const limit;
      loader l = w.load(strategy);
      std::ptrdiff_t const threads = threads_now();
      std::vector<uneven::taken> got;
      for (int k = 0; k < 12; ++k) got.push_back(w.of(*held_a_while(l)));
      EXPECT_EQ(threads_now(), threads + 1);
      limit.to_what_is_used(1 << 16);  // for a late buffer; a large mini-batch needs ten times as much
      std::uint64_t const most = host_budget().limit();
      for (int again = 0; again < 3; ++again) {
        errc code{};
        std::string const said = error_of(
            [&] {
              while (std::optional<mini_batch> b = l.next()) got.push_back(w.of(*b));
            },
            &code);
        EXPECT_EQ(code, errc::memory) << said;
        EXPECT_EQ(got.size(), uneven::small);  // after all earlier mini-batches
        EXPECT_EQ(l.state().next, uneven::small);
        EXPECT_EQ(threads_now(), threads);
        EXPECT_LE(host_budget().used(), most);
      }
      limit.back();
      for (uneven::taken& t : w.rest(l)) got.push_back(std::move(t));
      EXPECT_TRUE(got == whole);
    }
    EXPECT_EQ(host_budget().used(), used_before);
  }
}

// --- ranks: threads, of which one fails, and processes, of which one is killed
// -------------------------------------------------------------
TEST_P(loader_at, goes_on_in_its_thread_when_that_of_another_rank_fails) {
  if (runs_later(where())) GTEST_SKIP() << "this test exhausts the host budget; here no later epoch is loaded ahead";
  world w(where());
  loader_options o;
  o.batch_size = 50, o.ranks = 2, o.prefetch = 1, o.window = 1;
  std::vector<taken_batch> alone;
  {
    loader l = w.load(1000, o);
    for (int e = 0; e < 2; ++e)
      for (taken_batch& b : epoch_of(l, where())) alone.push_back(std::move(b));
  }
  loader first = w.load(1000, o);
  block_sampler other(where(), w.g, w.fanouts, w.options);
  o.rank = 1;
  loader second(other, {{&w.features, 0, false, {}}}, seeds_of(1000), o);
  std::vector<taken_batch> got;
  executor x(where());
  for (int k = 0; k < 12; ++k)
    if (std::optional<mini_batch> const b = held_a_while(first)) got.push_back(taken(x, *b));  // it has all buffers for this epoch
  host_limit const limit;
  limit.to_what_is_used();
  std::atomic<int> refused{0};
  std::jthread fails([&] {
    for (int k = 0; k < 5; ++k) {
      errc code{};
      error_of([&] { second.next(); }, &code);
      refused += code == errc::memory;
    }
  });
  for (taken_batch& b : epoch_of(first, where())) got.push_back(std::move(b));
  EXPECT_TRUE(got == alone);
  fails.join();
  EXPECT_EQ(refused, 5);
  limit.back();
  EXPECT_EQ(epoch_of(first, where()).size(), 10u);
  EXPECT_EQ(second.next()->index(), 0u);
}

// The common options of ranks that share a table.
struct rank_of_group {
  std::vector<float> rows = the_rows();
  execution_device where;
  graph_handle g;
  tiered_tensor features;
  block_sampler sampler;
  loader l;
  static tiered_options tiers(execution_device p, std::string const& name) {
    tiered_options o;
    o.device = p, o.feature_cache = 100 * width * 4, o.peer_cache = 500 * width * 4;
    o.peers = {0, 1}, o.group = name;
    return o;
  }
  static loader_options options(int rank) {
    loader_options o;
    o.batch_size = 20, o.rank = static_cast<std::uint32_t>(rank), o.ranks = 2;
    return o;
  }
  rank_of_group(std::string const& name, int rank)
      : where{device_kind::simulated, rank},
        g(a_graph(where)),
        features({rows.data(), vertices, width, element::f32, {}}, tiers(where, name)),
        sampler(where, g, {4, 3}),
        l(sampler, {{&features, 0, false, {}}}, seeds_of(2000), options(rank)) {}
};
// Takes mini-batches and reports each, until it is killed.
TEST(loaders, DISABLED_rank_of_a_group) {
  char const* const name = std::getenv("GARNER_GROUP");
  if (!name) return;
  rank_of_group rank(name, 1);
  for (;;)
    if (rank.l.next()) tell('b');
}
TEST(loaders, of_a_group_say_which_rank_was_killed) {
  std::string const name = "ranks-" + std::to_string(::getpid());
  load_state at;
  {
    child other("loaders.DISABLED_rank_of_a_group", {"GARNER_GROUP=" + name, "GARNER_THREADS=1"});
    rank_of_group rank(name, 0);
    EXPECT_EQ(rank.features.tiers()[tier::peer], 1000u);
    EXPECT_EQ(other.hears(), 'b');
    for (int k = 0; k < 5; ++k) ASSERT_TRUE(rank.l.next());
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // mini-batches are ready
    other.end(SIGKILL);
    for (int again = 0; again < 2; ++again) {
      errc code{};
      std::string const said = error_of([&] { rank.l.next(); }, &code);
      EXPECT_NE(said.find("member 1 of the group '" + name + "' (process "), std::string::npos) << said;
      EXPECT_EQ(code, errc::device);
    }
    at = rank.l.state();
    EXPECT_EQ(at.next, 5u);
  }
  EXPECT_EQ(peer_group::left_behind(), 0u);
  child other("loaders.DISABLED_rank_of_a_group", {"GARNER_GROUP=" + name, "GARNER_THREADS=1"});  // both start again
  rank_of_group rank(name, 0);
  rank.l.resume(at);
  EXPECT_EQ(rank.l.next()->index(), 5u);
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

// --- rows that stay in a file
// --------------------------------------------------------------------------------------------------------------- The features of a world,
// in a file.
struct filed_world {
  std::filesystem::path folder;
  world w;
  std::optional<tiered_tensor> in_file;
  static std::string made_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "garner_load.XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error(name);
    return name;
  }
  std::string file() const { return (folder / "rows.npy").string(); }
  filed_world(execution_device p, std::uint64_t kept, std::uint64_t host_rows, std::optional<std::uint64_t> cached = {})
      : folder(made_folder()), w(p) {
    {
      std::ofstream out(file(), std::ios::binary);
      std::string const head = npy_head("<f4", vertices, width);
      out.write(head.data(), static_cast<std::streamsize>(head.size()));
      out.write(reinterpret_cast<char const*>(w.rows.data()), static_cast<std::streamsize>(w.rows.size() * 4));
    }
    tiered_options o = world::tiers(p, kept);
    o.host_cache = host_rows * width * 4;
    if (cached) o.file_cache = *cached * width * 4;
    in_file.emplace(open_rows(file()), o);
  }
  ~filed_world() {
    in_file.reset();
    std::filesystem::remove_all(folder);
  }
  loader load(std::uint64_t n, loader_options o) {
    return loader(w.sampler, {{&*in_file, 0, false, {}}, {&w.targets, 0, true, {}}}, seeds_of(n), o);
  }
};

TEST_P(loader_at, rows_that_stay_in_a_file_are_the_same_by_every_policy) {
  std::vector<taken_batch> first;
  {
    world w(where());
    loader_options o;
    o.batch_size = 64;
    loader l = w.load(1000, o);
    for (int e = 0; e < 2; ++e)
      for (taken_batch& b : epoch_of(l, where())) first.push_back(std::move(b));
  }
  std::map<std::pair<cache_policy, std::uint32_t>, std::uint64_t> hits;
  for (cache_policy const policy : all_cache_policies)
    for (std::uint32_t const window : {1u, 3u, 8u})
      for (std::uint64_t const cached : {900u, 1500u}) {
        filed_world w(where(), 300, cached + 200, cached);
        loader_options o;
        o.batch_size = 64, o.window = window, o.prefetch = 1 + window % 3, o.cache = policy;
        loader l = w.load(1000, o);
        std::vector<taken_batch> all;
        for (int e = 0; e < 2; ++e)
          for (taken_batch& b : epoch_of(l, where())) all.push_back(std::move(b));
        EXPECT_TRUE(all == first) << to_string(policy) << " " << window << " " << cached;
        load_report const r = l.report();
        EXPECT_EQ(r.rows[tier::file], r.file_hits + r.file_reads);
        EXPECT_EQ(r.file_bytes, r.file_reads * width * 4);
        EXPECT_GT(r.file_reads, 0u);
        EXPECT_GT(r.rows[tier::host], 0u);
        if (cached == 900) hits[{policy, window}] = r.file_hits;
      }
  for (std::uint32_t const window : {1u, 3u, 8u})
    for (cache_policy const policy : all_cache_policies)
      EXPECT_GE((hits[{cache_policy::next_use, window}]), (hits[{policy, window}]) * 98 / 100) << to_string(policy) << " " << window;
}

// A forked child has the memory of a loader and a table without their threads: it releases them, and the parent continues.
TEST_P(loader_at, a_child_by_fork_lets_go_of_what_its_parent_made) {
  filed_world w(where(), 300, 1100, 900);
  loader_options o;
  o.batch_size = 64;
  std::vector<taken_batch> const whole = [&] {
    loader all = w.load(600, o);
    return epoch_of(all, where());
  }();
  auto l = std::make_unique<loader>(w.load(600, o));
  executor x(where());
  std::vector<std::int64_t> const some{1, 2, 2900};
  std::vector<float> rows(some.size() * width);
  if (where().kind != device_kind::cuda) w.in_file->gather(std::span(some), rows);
  std::vector<taken_batch> got;
  while (std::optional<mini_batch> b = l->next()) {
    got.push_back(taken(x, *b));
    ::pid_t const child = ::fork();
    if (child == 0) {
      ::alarm(20);  // ends a child that waits for a missing thread
      b.reset();
      if (got.size() % 2 || where().kind == device_kind::cuda) l.reset();  // a child cannot use a GPU
      else *l = w.load(600, o);                                            // which replaces it
      w.in_file.reset();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  EXPECT_TRUE(got == whole);
}

TEST_P(loader_at, rows_that_stay_in_a_file_are_asked_for_by_kernels) {
  std::vector<taken_batch> first;
  std::vector<std::uint64_t> reads;
  for (std::uint64_t const near : {0u, 1u, 8u, 5000u}) {  // pages: a slot, one of them, half, and all
    filed_world w(where(), 300, 1500, 900);
    loader_options o;
    o.batch_size = 64, o.window_bytes = near * 4096;
    auto const epochs = [&](std::vector<taken_batch>& all) {
      loader l = w.load(1000, o);
      for (int e = 0; e < 2; ++e)
        for (taken_batch& b : epoch_of(l, where())) all.push_back(std::move(b));
      return l.report();
    };
    if (first.empty()) epochs(first);
    o.reads = reads_by::kernels;
    std::vector<taken_batch> all;
    load_report const r = epochs(all);
    EXPECT_TRUE(all == first) << near;
    EXPECT_GT(r.file_reads, 0u);
    EXPECT_LE(r.file_hits, r.rows[tier::file]);
    EXPECT_EQ(r.file_bytes, r.file_reads * 4096);
    reads.push_back(r.file_reads);
  }
  EXPECT_TRUE(std::is_sorted(reads.rbegin(), reads.rend())) << ::testing::PrintToString(reads);
  std::uint64_t const pages = (std::uint64_t{vertices} * width * 4 + 128 + 4095) / 4096;
  if (where().kind != device_kind::cpu) {
    EXPECT_LE(reads.back(), pages);  // each page once
  }
}

TEST_P(loader_at, rows_that_stay_in_a_file_come_by_way_of_near_memory_and_in_parts) {
  std::vector<taken_batch> first;
  for (std::uint64_t const near : {0u, 1u, 700u, 5000u})
    for (std::uint64_t const merged : {0u, 1u, 1500u, 1u << 20}) {
      filed_world w(where(), 100, 1200, 900);
      loader_options o;
      o.batch_size = 64, o.window = 4, o.window_bytes = near * width * 4, o.merge_reads = merged;
      loader l = w.load(1000, o);
      std::vector<taken_batch> all;
      for (int e = 0; e < 2; ++e)
        for (taken_batch& b : epoch_of(l, where())) all.push_back(std::move(b));
      if (first.empty()) first = all, expect_right(w.w, {all.begin(), all.begin() + 16}, seeds_of(1000), 16);
      EXPECT_TRUE(all == first) << near << " " << merged;
      load_report const r = l.report();
      EXPECT_EQ(r.rows[tier::file], r.file_hits + r.file_reads);
      bool const all_near = near == 5000 && where().kind != device_kind::cpu;  // then each is read once
      EXPECT_TRUE(!all_near || r.file_reads <= vertices) << r.file_reads;
    }
}

TEST_P(loader_at, rows_that_stay_in_a_file_come_in_an_epoch_that_is_broken_off_and_resumed) {
  filed_world w(where(), 0, 1500, 1200);
  loader_options o;
  o.batch_size = 64, o.window = 3;
  loader l = w.load(1000, o);
  std::vector<taken_batch> const whole = epoch_of(l, where());
  executor x(where());
  for (std::size_t const stop : {0u, 1u, 5u, 16u}) {
    l.begin(0);
    std::size_t n = 0;
    while (n < stop)
      if (l.next()) ++n;
    l.stop();
    for (std::size_t k = stop; k < whole.size(); ++k) {
      std::optional<mini_batch> const b = l.next();
      ASSERT_TRUE(b);
      EXPECT_TRUE(taken(x, *b) == whole[k]) << stop << " " << k;
    }
  }
}

TEST_P(loader_at, says_where_a_mini_batch_has_no_room_for_its_rows_of_a_file) {
  filed_world w(where(), 0, 200);
  loader_options o;
  o.batch_size = 64, o.window = 3, o.window_bytes = 0;
  loader l = w.load(1000, o);
  for (int again = 0; again < 2; ++again) {
    errc code{};
    std::string const why = error_of([&] { l.next(); }, &code);
    EXPECT_EQ(code, errc::usage);
    EXPECT_NE(why.find("than the 50 that their cache holds; use a larger budget for it"), std::string::npos) << why;
  }
}

TEST_P(loader_at, an_error_of_the_drive_comes_after_the_mini_batches_before_it) {
  filed_world w(where(), 0, 1500, 1200);
  loader_options o;
  o.batch_size = 64, o.window = 2;
  loader l = w.load(1000, o);
  ASSERT_TRUE(l.next());
  std::filesystem::resize_file(w.file(), std::filesystem::file_size(w.file()) - 4);
  errc code{};
  std::string const why = error_of(
      [&] {
        while (l.next())
          ;
      },
      &code);
  EXPECT_EQ(code, errc::input) << why;
  EXPECT_NE(why.find(w.file()), std::string::npos) << why;
  EXPECT_NE(error_of([&] { l.next(); }).find(w.file()), std::string::npos);
}

}  // namespace
}  // namespace garner

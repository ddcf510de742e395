// The order of mini-batches: resumed, of the caller's own seeds, by rank, and stopped by an interrupt.
#include <set>
#include <thread>

#include "core/progress.hpp"
#include "load/world.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class loader_at : public at_place {};
GARNER_AT_EVERY_PLACE(loader_at);

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

}  // namespace
}  // namespace garner

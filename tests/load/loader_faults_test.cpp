// A loader whose memory runs out in the middle of an epoch, and ranks of which one fails or is killed.
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "child.hpp"
#include "comm/peer_group.hpp"
#include "load/world.hpp"
#include "memory/budget.hpp"
#include "process.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class loader_at : public at_place {};
GARNER_AT_EVERY_PLACE(loader_at);

// --- 24 small mini-batches, then large ones ---
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
// The caller is slower, so that the loader allocates all buffers that it can use.
std::optional<mini_batch> held_a_while(loader& l) {
  std::optional<mini_batch> b = l.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
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

// --- ranks: threads, of which one fails, and processes, of which one is killed ---
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

}  // namespace
}  // namespace garner

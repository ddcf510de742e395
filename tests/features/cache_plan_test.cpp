// Planned caches for rows of a file: against independent serial references, against exhaustive search where feasible, and against each
// other.
#include "features/cache_plan.hpp"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <set>

#include "core/random.hpp"
#include "features/cache_run.hpp"
#include "garner/algorithms.hpp"
#include "garner/sample.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

template <class F>
void expect_error(errc code, char const* words, F const& f) {
  try {
    f();
    ADD_FAILURE() << "no error: " << words;
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_THAT(e.what(), ::testing::HasSubstr(words));
  }
}

using ids = std::vector<std::uint64_t>;
using trace = std::vector<ids>;
constexpr std::uint64_t never = ~std::uint64_t{0};

// Mini-batches of distinct rows, low ones far more often.
trace made(std::uint64_t seed, std::uint64_t batches, std::uint64_t each, std::uint64_t rows) {
  trace t(batches);
  for (std::uint64_t b = 0; b < batches; ++b) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; seen.size() < each; ++i) {
      double const u = unit_float(random_bits(seed, b, i));
      std::uint64_t const id = static_cast<std::uint64_t>(u * u * u * static_cast<double>(rows));
      if (seen.insert(id).second) t[b].push_back(id);
    }
  }
  return t;
}

// The next mini-batch after `b` that has `id`, up to `known`.
std::uint64_t next_use(trace const& t, std::uint64_t b, std::uint64_t known, std::uint64_t id) {
  for (std::uint64_t k = b + 1; k <= known && k < t.size(); ++k)
    if (std::find(t[k].begin(), t[k].end(), id) != t[k].end()) return k;
  return never;
}

// Hits of each mini-batch by Belady's rule, with all mini-batches known: rows with the earliest next use stay. A row whose next use
// is more than `reach` mini-batches later is not kept.
std::uint64_t belady_hits(trace const& t, std::uint64_t slots, std::uint64_t reach) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> uses;
  for (std::uint64_t b = 0; b < t.size(); ++b)
    for (std::uint64_t const id : t[b]) uses[id].push_back(b);
  std::set<std::pair<std::uint64_t, std::uint64_t>> there;  // next use, row
  std::uint64_t hits = 0;
  for (std::uint64_t b = 0; b < t.size(); ++b) {
    // All rows of the mini-batch have a slot; other cached rows share the rest.
    std::uint64_t found = 0;
    for (auto const& [next, id] : there) found += next == b;
    while (there.size() - found + t[b].size() > slots) there.erase(std::prev(there.end()));
    hits += found;
    for (std::uint64_t const id : t[b]) {
      there.erase({b, id});
      auto const later = std::upper_bound(uses[id].begin(), uses[id].end(), b);
      if (later != uses[id].end() && *later - b <= reach) there.insert({*later, id});
    }
  }
  return hits;
}

TEST(cache_plan, holds_what_it_says) {
  for (eviction const policy : all_evictions)
    for (std::uint64_t const slots : {40u, 64u, 300u}) {
      trace const t = made(slots, 300, 40, 400);
      cache_plan plan(slots, policy);
      std::vector<std::uint64_t> cache(slots, never), last(slots, never);
      std::uint64_t entered = 0, loads = 0, rows = 0, hits = 0;
      for (std::uint64_t b = 0; b < t.size(); ++b) {
        for (; entered < t.size() && entered < b + 6; ++entered) plan.enter(t[entered]);
        cache_plan::step const s = plan.next();
        ASSERT_EQ(s.batch, b);
        std::set<std::uint64_t> written;
        for (auto const& l : s.loads) {
          ASSERT_LT(l.slot, slots);
          // A slot's next writer waits for its last reader.
          if (last[l.slot] != never) {
            ASSERT_NE(l.after, cache_plan::nobody) << b;
            ASSERT_GE(l.after, last[l.slot]) << b;
            ASSERT_LT(l.after, b);
          }
          EXPECT_TRUE(written.insert(l.slot).second) << "twice in a mini-batch";
          cache[l.slot] = l.id;
        }
        ASSERT_EQ(s.slots.size(), t[b].size());
        for (std::uint64_t i = 0; i < t[b].size(); ++i) ASSERT_EQ(cache[s.slots[i]], t[b][i]) << to_string(policy) << " " << b << " " << i;
        for (std::uint32_t const slot : s.slots) last[slot] = b;
        EXPECT_EQ(s.rows, t[b].size());
        EXPECT_EQ(s.rows, s.hits + s.loads.size());
        loads += s.loads.size(), rows += s.rows, hits += s.hits;
      }
      EXPECT_EQ(rows, hits + loads);
      EXPECT_GT(hits, 0u);
      EXPECT_LE(plan.metadata_bytes(), 16 * slots);
    }
}

// Serial references, as simple as possible.
std::uint64_t clock_hits(trace const& t, std::uint64_t slots, std::optional<std::uint64_t> window) {
  std::vector<std::uint64_t> at(slots, never);
  std::uint64_t hand = 0, hits = 0, used = 0;
  for (std::uint64_t b = 0; b < t.size(); ++b) {
    std::set<std::uint64_t> busy;
    for (std::uint64_t i = 0; i < t[b].size(); ++i) {
      std::uint64_t const id = t[b][i];
      if (std::find(at.begin(), at.end(), id) != at.end()) {
        ++hits, busy.insert(id);
        continue;
      }
      auto const counted = [&](std::uint64_t other) {  // GIDS' counter: future uses in the window, including this mini-batch
        if (std::find(t[b].begin() + static_cast<std::ptrdiff_t>(i), t[b].end(), other) != t[b].end()) return true;
        return next_use(t, b, b + *window, other) != never;
      };
      std::uint64_t slot = never;
      if (used < slots) slot = used++;
      for (bool const heed : {true, false})
        for (std::uint64_t k = 0; k < slots && slot == never; ++k) {
          std::uint64_t const here = hand;
          hand = (hand + 1) % slots;
          if (!busy.contains(at[here]) && !(heed && window && counted(at[here]))) slot = here;
        }
      at[slot] = id, busy.insert(id);
    }
  }
  return hits;
}
std::uint64_t pinned_hits(trace const& t, std::uint64_t slots) {  // the first rows are the hottest
  std::set<std::uint64_t> there;
  std::uint64_t hits = 0;
  for (ids const& batch : t) {
    std::set<std::uint64_t> const now(batch.begin(), batch.end());
    for (std::uint64_t const id : batch) hits += there.contains(id);
    there.insert(batch.begin(), batch.end());
    for (auto it = there.end(); there.size() > slots && it != there.begin();) {
      --it;
      if (!now.contains(*it)) it = there.erase(it);
    }
  }
  return hits;
}

TEST(cache_plan, does_as_its_serial_twins) {
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (std::uint64_t const slots : {25u, 60u, 120u}) {
      trace const t = made(seed, 60, 20, 200);
      for (std::uint32_t const window : {0u, 1u, 4u, 8u}) {
        auto const hits = [&](eviction p) {
          cache_run const run = simulate_cache(t, slots, p, window);
          EXPECT_EQ(run.batches, t.size());
          EXPECT_EQ(run.accesses, t.size() * 20);
          return run.hits;
        };
        EXPECT_EQ(hits(eviction::clock), clock_hits(t, slots, {})) << seed << " " << slots;
        EXPECT_EQ(hits(eviction::window), clock_hits(t, slots, window)) << seed << " " << slots << " " << window;
        EXPECT_EQ(hits(eviction::pinned), pinned_hits(t, slots)) << seed << " " << slots;
      }
    }
}

// The most hits of any choice: tries every possible cache content after each mini-batch.
std::uint64_t best_hits(trace const& t, std::uint64_t slots) {
  std::map<std::set<std::uint64_t>, std::uint64_t> states{{{}, 0}};
  for (ids const& batch : t) {
    std::map<std::set<std::uint64_t>, std::uint64_t> after;
    for (auto const& [there, hits] : states) {
      std::uint64_t found = hits;
      std::vector<std::uint64_t> others;  // that may stay in addition to the mini-batch
      for (std::uint64_t const id : batch) found += there.contains(id);
      for (std::uint64_t const id : there)
        if (std::find(batch.begin(), batch.end(), id) == batch.end()) others.push_back(id);
      for (std::uint64_t chosen = 0; chosen < std::uint64_t{1} << others.size(); ++chosen) {
        std::set<std::uint64_t> stays(batch.begin(), batch.end());
        for (std::uint64_t k = 0; k < others.size(); ++k)
          if (chosen >> k & 1) stays.insert(others[k]);
        if (stays.size() > slots) continue;
        auto& best = after[stays];
        best = std::max(best, found);
      }
    }
    states = std::move(after);
  }
  std::uint64_t best = 0;
  for (auto const& [there, hits] : states) best = std::max(best, hits);
  return best;
}

TEST(cache_plan, next_use_is_the_best_there_is_where_all_is_known) {
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (std::uint64_t const slots : {3u, 4u, 6u}) {
      trace const t = made(100 + seed, 12, 3, 9);
      std::uint64_t const best = best_hits(t, slots);
      EXPECT_EQ(simulate_cache(t, slots, eviction::next_use, 199).hits, best) << seed << " " << slots;
      EXPECT_EQ(belady_hits(t, slots, never), best) << seed << " " << slots;
    }
}

TEST(cache_plan, what_was_just_read_goes_last_so_that_reads_need_not_wait_for_gathers) {
  constexpr std::uint64_t rows = 10, batches = 60;
  std::vector<float> colder(rows * batches);  // the later, the colder
  for (std::uint64_t i = 0; i < colder.size(); ++i) colder[i] = static_cast<float>(colder.size() - i);
  cache_plan plan(8 * rows, eviction::next_use, colder);
  for (std::uint64_t b = 0; b < batches; ++b) {
    ids fresh(rows);
    std::iota(fresh.begin(), fresh.end(), b * rows);
    plan.enter(fresh);
    for (auto const& l : plan.next().loads) EXPECT_TRUE(l.after == cache_plan::nobody || l.after + 3 < b) << b << " " << l.after;
  }
}

TEST(cache_plan, each_row_is_read_once_for_all_mini_batches_that_are_known) {
  constexpr std::uint64_t known = 4;
  trace const t = made(5, 40, 50, 5000);
  cache_plan plan(50 * (known + 1), eviction::next_use);  // holds all of them
  std::map<std::uint64_t, std::uint64_t> read;            // the last mini-batch that a row was read for
  std::uint64_t entered = 0;
  for (std::uint64_t b = 0; b < t.size(); ++b) {
    for (; entered < t.size() && entered <= b + known; ++entered) plan.enter(t[entered]);
    for (auto const& l : plan.next().loads) {
      // It was evicted without a known next use.
      EXPECT_TRUE(!read.contains(l.id) || b - read[l.id] > known) << b;
      read[l.id] = b;
    }
  }
}

TEST(cache_plan, a_sampled_training_finds_more_than_with_windows_and_nearly_all_that_can_be_found) {
  generate_options made;
  made.scale = 13;
  graph_handle const g = generate_graph(made);
  trace_options o;
  o.train = pick_training_set(g, 0.5, 3);
  o.sampling.fanouts = {10, 5}, o.sampling.batch = 64, o.keep_rows = true;
  access_trace const recorded = record_trace(g, o);
  trace t;
  std::uint64_t most = 0;
  for (std::uint64_t b = 0; b < recorded.batches; ++b) {
    t.emplace_back(recorded.rows.begin() + static_cast<std::ptrdiff_t>(recorded.offsets[b]),
                   recorded.rows.begin() + static_cast<std::ptrdiff_t>(recorded.offsets[b + 1]));
    most = std::max<std::uint64_t>(most, t.back().size());
  }
  std::vector<float> score(recorded.counts.begin(), recorded.counts.end());
  for (std::uint64_t const slots : {most + most / 4, 2 * most, 3 * most})
    for (std::uint32_t const window : {4u, 8u, 16u}) {
      auto const run = [&](eviction p) { return simulate_cache(t, slots, p, window, score); };
      cache_run const ours = run(eviction::next_use), gids = run(eviction::window), bam = run(eviction::clock);
      std::uint64_t const allowed = belady_hits(t, slots, window);
      EXPECT_GE(ours.hits, gids.hits) << slots << " " << window;
      EXPECT_GE(ours.hits, bam.hits) << slots << " " << window;
      EXPECT_GE(ours.hits, run(eviction::pinned).hits) << slots << " " << window;
      EXPECT_LE(ours.hits, belady_hits(t, slots, never)) << slots << " " << window;
      EXPECT_GE(static_cast<double>(ours.hits), 0.98 * static_cast<double>(allowed)) << slots << " " << window;
    }
}

TEST(cache_plan, a_row_that_stands_twice_in_a_mini_batch_is_one) {
  for (eviction const policy : all_evictions) {
    cache_plan plan(3, policy);
    plan.enter({5, 6, 5, 5});
    plan.enter({6, 6, 7, 8});
    plan.enter({5, 5});
    cache_plan::step const a = plan.next(), b = plan.next(), c = plan.next();
    EXPECT_EQ(a.rows, 2u);
    EXPECT_EQ(a.loads.size(), 2u);
    EXPECT_EQ(a.slots[0], a.slots[2]);
    EXPECT_EQ(a.slots[0], a.slots[3]);
    EXPECT_EQ(b.rows, 3u);
    EXPECT_EQ(b.slots[0], b.slots[1]);
    EXPECT_EQ(b.loads.size() + b.hits, 3u);
    EXPECT_EQ(c.rows, 1u);
    EXPECT_EQ(c.slots[0], c.slots[1]);
  }
}

TEST(cache_plan, begins_anew_where_a_mini_batch_has_no_room) {
  for (eviction const policy : all_evictions) {
    cache_plan plan(4, policy);
    plan.enter({1, 2, 3}), plan.enter({1, 2, 3, 4, 5}), plan.enter({1});
    EXPECT_EQ(plan.next().loads.size(), 3u);
    expect_error(errc::usage, "than the 4 that their cache holds", [&] { plan.next(); });
    EXPECT_EQ(plan.ahead(), 0u);
    plan.enter({1, 4});
    cache_plan::step const s = plan.next();
    EXPECT_EQ(s.batch, 3u);
    EXPECT_EQ(s.loads.size(), 2u);
    EXPECT_EQ(s.loads[0].after, cache_plan::nobody);
  }
  expect_error(errc::usage, "no mini-batch has entered", [] { cache_plan(4, eviction::clock).next(); });
  expect_error(errc::usage, "a cache of 0 rows", [] { cache_plan(0, eviction::clock); });
  expect_error(errc::usage, "use one of next-use, pinned", [] { parse_cache_policy("lru"); });
  for (cache_policy const p : all_cache_policies) EXPECT_EQ(parse_cache_policy(to_string(p)), p);
}

TEST(cache_plan, requests_under_way) {
  // GIDS' Optane: 1.5 M requests of 4 KiB per second, 11 us, and 25 us of the system; 95 % of the rate.
  drive_rate const optane{1.5e6, 11e-6, 25e-6, 1};
  EXPECT_EQ(required_requests(optane, 0.95), 1026u);  // 19 * 1.5e6 * 36e-6
  EXPECT_EQ(required_requests({1.5e6, 11e-6, 25e-6, 4}, 0.95), 4104u);
  // The required requests take latency + n / rate: the rate is 95 % of it.
  double const n = 1026;
  EXPECT_NEAR(n / (36e-6 + n / 1.5e6) / 1.5e6, 0.95, 0.001);
  EXPECT_EQ(requests_under_way({1e6, 324e-6, 0, 1}), 486u);
  EXPECT_EQ(look_ahead({1e6, 324e-6, 0, 1}, 1e6, 64), 2u);
  EXPECT_EQ(look_ahead({1e6, 324e-6, 0, 1}, 100, 64), 6u);
  EXPECT_EQ(look_ahead({1e6, 324e-6, 0, 1}, 1, 64), 64u);
  expect_error(errc::usage, "1 of a drive's rate", [&] { required_requests(optane, 1); });
  expect_error(errc::usage, "a drive of 0 requests", [] { requests_under_way({}); });
}

}  // namespace
}  // namespace garner

// Teams and for_each_item: the same kernels give the same results on every device and width.
#include "core/exec.hpp"

#include <gmock/gmock.h>

#include "core/event.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct results {
  std::uint64_t visits, sum, near_sum, near_asked, smallest, any_hits, any_misses, first_found, leaders, claims, index_sum;
};

// Item i reads the segment [begin(i), end(i)): all begins and lengths modulo a line occur.
struct ask_everything {
  span<std::uint32_t> all;
  std::uint32_t* bits;
  results* r;
  GARNER_HD static span<std::uint32_t> part(span<std::uint32_t> all, std::uint64_t i) {
    std::uint64_t const begin = i * 37 % 211;
    return {all.data, begin, begin + i * 13 % 173};
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    span<std::uint32_t> const mine = part(all, i);
    std::uint64_t const sum = t.sum(mine, [](std::uint32_t e) { return static_cast<std::uint64_t>(e); });
    std::uint64_t const near = t.sum(indices{mine.begin, mine.end}, [&](std::uint64_t k) {
      atomic_add(&r->near_asked, std::uint64_t{1});  // kernels that write must be evaluated once
      return k;
    });
    std::uint32_t const least = t.min(mine, 1000000u, [](std::uint32_t e) { return e; });
    bool const hit = t.any(mine, [](std::uint32_t e) { return e % 16 == 3; });
    found<std::uint32_t> const at = t.find(mine, [](std::uint32_t e) { return e % 16 == 3; });
    bool const miss = t.any(mine, [](std::uint32_t e) { return e > 1000000; });
    t.each(mine, [&](std::uint32_t e, std::uint64_t k) {
      atomic_add(&r->visits, std::uint64_t{1});
      atomic_add(&r->index_sum, k * e);
      if (t.claim(bits, e)) atomic_add(&r->claims, std::uint64_t{1});
    });
    t.once([&] {
      atomic_add(&r->sum, sum);
      atomic_add(&r->near_sum, near);
      atomic_add(&r->smallest, static_cast<std::uint64_t>(least));
      atomic_add(&r->any_hits, static_cast<std::uint64_t>(hit));
      atomic_add(&r->any_misses, static_cast<std::uint64_t>(miss));
      if (at) atomic_add(&r->first_found, at.index * at.element);
      atomic_add(&r->leaders, std::uint64_t{1});
    });
  }
};

results expected(std::vector<std::uint32_t> const& v, std::uint64_t items) {
  results r{};
  std::vector<bool> seen(100000);
  for (std::uint64_t i = 0; i < items; ++i) {
    auto const p = ask_everything::part({v.data(), 0, v.size()}, i);
    std::uint32_t least = 1000000;
    bool hit = false;
    for (std::uint64_t k = p.begin; k < p.end; ++k) {
      ++r.visits;
      r.index_sum += k * v[k];
      r.sum += v[k];
      r.near_sum += k, ++r.near_asked;
      least = std::min(least, v[k]);
      if (!hit && v[k] % 16 == 3) r.first_found += k * v[k];
      hit |= v[k] % 16 == 3;
      if (!seen[v[k]]) ++r.claims;
      seen[v[k]] = true;
    }
    r.smallest += least;
    r.any_hits += hit;
    ++r.leaders;
  }
  return r;
}

class exec : public at_place {};

template <int Width>
void check_width(execution_device where, access_mode how) {
  executor x(where);
  std::vector<std::uint32_t> values(500);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 7919 % 1009);
  auto const far = far_copy(x, values);
  auto const bits = near_copy(x, std::vector<std::uint32_t>(64, 0));
  auto const out = near_copy(x, std::vector<results>(1));
  constexpr std::uint64_t items = 3001;
  for_each_item<Width>(x, items, ask_everything{{far.data(), 0, values.size()}, bits.data(), out.data()}, how);
  results const got = x.read(out.data()), want = expected(values, items);
  EXPECT_EQ(got.visits, want.visits);
  EXPECT_EQ(got.index_sum, want.index_sum);
  EXPECT_EQ(got.sum, want.sum);
  EXPECT_EQ(got.near_sum, want.near_sum);
  EXPECT_EQ(got.near_asked, want.near_asked);
  EXPECT_EQ(got.smallest, want.smallest);
  EXPECT_EQ(got.any_hits, want.any_hits);
  EXPECT_EQ(got.any_misses, 0u);
  EXPECT_EQ(got.first_found, want.first_found);
  EXPECT_EQ(got.leaders, items);
  EXPECT_EQ(got.claims, want.claims);
}

TEST_P(exec, every_width_and_access_gives_the_same) {
  for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned}) {
    check_width<1>(where(), how);
    check_width<4>(where(), how);
    check_width<8>(where(), how);
    check_width<32>(where(), how);
  }
}

// Item i moves a segment to its own position: all begins and lengths modulo a line occur, shifted and not.
template <class T>
struct move_runs {
  T const* data;
  T* out;
  std::uint32_t* writes;
  static constexpr std::uint64_t room = 200;
  GARNER_HD static std::uint64_t begin(std::uint64_t i) { return i * 37 % 211; }
  GARNER_HD static std::uint64_t length(std::uint64_t i) { return i * 13 % 173; }
  using full_blocks = void;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    t.parts(
        span<T>{data, begin(i), begin(i) + length(i)},
        [&](T const* elements, auto count, auto first) {
          for (std::uint64_t k = 0; k < count; ++k) {
            out[i * room + first + k] = elements[k];
            atomic_add(writes + i * room + first + k, 1u);
          }
        },
        i % 2 == 1);
  }
};
template <int Width, class T>
void check_pieces(execution_device where, access_mode how) {
  executor x(where);
  constexpr std::uint64_t items = 600, room = move_runs<T>::room;
  std::vector<T> values(500);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 7919 + 1);
  auto const far = far_copy(x, values);
  auto const out = near_copy(x, std::vector<T>(items * room, T{}));
  auto const writes = near_copy(x, std::vector<std::uint32_t>(items * room, 0));
  if (where.kind == device_kind::cuda) x.limit_share(2, 1024);
  for_each_item<Width>(x, items, move_runs<T>{far.data(), out.data(), writes.data()}, how);
  auto const got = host_copy(x, out.data(), out.size());
  auto const times = host_copy(x, writes.data(), writes.size());
  for (std::uint64_t i = 0; i < items; ++i)
    for (std::uint64_t k = 0; k < room; ++k) {
      bool const there = k < move_runs<T>::length(i);
      ASSERT_EQ(times[i * room + k], there ? 1u : 0u) << i << " " << k;
      ASSERT_EQ(got[i * room + k], there ? values[move_runs<T>::begin(i) + k] : T{}) << i << " " << k;
    }
}

TEST_P(exec, a_share_is_as_it_was_whatever_is_thrown) {
  executor x(where());
  x.limit_share(3, 128);
  EXPECT_THROW(
      {
        limited_share const few(x, 2, 1024);
        EXPECT_EQ(x.share_blocks(), 2u);
        fail(errc::io, "here");
      },
      error);
  EXPECT_EQ(x.share_blocks(), 3u);
  EXPECT_EQ(x.threads_a_block(), 128u);
}

// "Not ready" is a result, and not an error that the next kernel reports.
TEST_P(exec, a_kernel_starts_behind_an_event_that_has_not_happened) {
  executor busy(where()), x(where());
  auto const room = near_copy(busy, std::vector<std::uint32_t>(1u << 24));
  for (int k = 0; k < 50; ++k) busy.fill(room.data(), k, room.bytes());
  event e;
  e.record(busy);
  static_cast<void>(e.happened());
  std::vector<std::uint32_t> const values{1, 2, 3};
  auto const data = near_copy(x, values), out = near_copy(x, std::vector<std::uint32_t>(3 * move_runs<std::uint32_t>::room)),
             writes = near_copy(x, std::vector<std::uint32_t>(3 * move_runs<std::uint32_t>::room));
  for_each_item<1>(x, 1, move_runs<std::uint32_t>{data.data(), out.data(), writes.data()});
  x.wait();
  busy.wait();
}

TEST_P(exec, pieces_cover_a_run_once) {
  for (access_mode how : {access_mode::merged, access_mode::aligned}) {
    check_pieces<8, std::uint8_t>(where(), how);
    check_pieces<32, std::uint8_t>(where(), how);
    check_pieces<8, std::uint64_t>(where(), how);
    check_pieces<32, std::uint64_t>(where(), how);
    check_pieces<32, std::int32_t>(where(), how);
  }
}

struct use_atomics {
  std::uint32_t* small;
  std::uint64_t* large;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    atomic_add(small + 0, 1u);
    atomic_min(small + 1, static_cast<std::uint32_t>(5000 - i));
    atomic_max(small + 2, static_cast<std::uint32_t>(i));
    atomic_or(small + 3, 1u << i % 32);
    atomic_add(large + 0, std::uint64_t{1} << 33);
    atomic_min(large + 1, (std::uint64_t{1} << 40) - i);
    atomic_max(large + 2, (std::uint64_t{1} << 40) + i);
    atomic_cas(large + 3, std::uint64_t{0}, std::uint64_t{77});
    if (i == 9) atomic_store(large + 4, std::uint64_t{1} << 50);
  }
};

TEST_P(exec, atomics) {
  executor x(where());
  auto const small = near_copy(x, std::vector<std::uint32_t>{0, ~0u, 0, 0});
  auto const large = near_copy(x, std::vector<std::uint64_t>{0, ~std::uint64_t{0}, 0, 0, 0});
  for_each_item<1>(x, 4096, use_atomics{small.data(), large.data()});
  EXPECT_EQ(host_copy(x, small.data(), 4), (std::vector<std::uint32_t>{4096, 5000 - 4095, 4095, ~0u}));
  std::uint64_t const big = std::uint64_t{1} << 40;
  EXPECT_EQ(host_copy(x, large.data(), 5),
            (std::vector<std::uint64_t>{std::uint64_t{4096} << 33, big - 4095, big + 4095, 77, std::uint64_t{1} << 50}));
}

struct add_reals {
  float* narrow;
  double* wide;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    atomic_add(narrow, 0.5f);
    atomic_add(wide, 0.25);
  }
};

TEST_P(exec, atomic_sums_of_reals) {
  executor x(where());
  auto const narrow = near_copy(x, std::vector<float>{1});
  auto const wide = near_copy(x, std::vector<double>{2});
  for_each_item<1>(x, 4096, add_reals{narrow.data(), wide.data()});
  EXPECT_EQ(x.read(narrow.data()), 2049.0f);
  EXPECT_EQ(x.read(wide.data()), 1026.0);
}

// Item i reads a part of 1 to 32 adjacent lists, some empty, some cut at either end.
struct sum_parts {
  std::uint32_t const* values;
  std::uint64_t const* offsets;  // of 32 lists
  std::uint64_t* sums;           // 32 per item
  static GARNER_HD std::uint32_t lists(std::uint64_t i) { return static_cast<std::uint32_t>(i * 7 % 32 + 1); }
  static GARNER_HD std::uint64_t begin(std::uint64_t i, std::uint64_t first) { return first + (i % 3 ? i * 5 % 40 : 0); }
  static GARNER_HD std::uint64_t end(std::uint64_t i, std::uint64_t last) { return last - smaller(last, i % 5 ? i * 11 % 50 : 0); }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    span<std::uint32_t> const part{values, begin(i, offsets[0]), end(i, offsets[lists(i)])};
    if (part.begin >= part.end) return;
    t.sum_lists(
        part, offsets, lists(i), [](std::uint32_t e) { return static_cast<std::uint64_t>(e); },
        [&](std::uint32_t k, std::uint64_t sum) { atomic_add(sums + i * 32 + k, sum); });
  }
};

TEST_P(exec, sums_of_lists) {
  executor x(where());
  std::uint64_t const items = 300;
  for (std::uint64_t most : {3, 40, 500}) {
    std::vector<std::uint64_t> offsets{17};
    for (std::uint64_t k = 0; k < 32; ++k) offsets.push_back(offsets.back() + (k % 4 == 2 ? 0 : k * 131 % (most + 1)));
    std::vector<std::uint32_t> values(offsets.back());
    for (std::uint32_t k = 0; k < values.size(); ++k) values[k] = k * 2654435761u >> 12;
    std::vector<std::uint64_t> want(items * 32);
    for (std::uint64_t i = 0; i < items; ++i)
      for (std::uint32_t k = 0; k < sum_parts::lists(i); ++k)
        for (std::uint64_t e = std::max(offsets[k], sum_parts::begin(i, offsets[0]));
             e < std::min(offsets[k + 1], sum_parts::end(i, offsets[sum_parts::lists(i)])); ++e)
          want[i * 32 + k] += values[e];
    auto const far = far_copy(x, values);
    auto const near = near_copy(x, offsets);
    for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned}) {
      auto const sums = near_copy(x, std::vector<std::uint64_t>(items * 32));
      sum_parts const body{far.data(), near.data(), sums.data()};
      if (how == access_mode::strided) for_each_item<1>(x, items, body, how);
      else for_each_item<32>(x, items, body, how);
      EXPECT_EQ(host_copy(x, sums.data(), want.size()), want) << to_string(how) << " " << most;
    }
  }
}

TEST_P(exec, no_items_no_visits) {
  executor x(where());
  for_each_item<32>(x, 0, use_atomics{nullptr, nullptr});
  x.wait();
}

// Item i has up to 40 indices. Each waits for the previous one, and an even one of a wide team for the odd one after it too.
template <bool Pairs>
struct wait_for_others {
  std::uint32_t *done, *rounds;
  static constexpr std::uint64_t room = 40;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    std::uint64_t const n = item % room + 1;
    std::uint32_t* const mine = done + item * room;
    t.take_turns(
        indices{0, n}, [](std::uint64_t) { return std::uint32_t{0}; },
        [&](std::uint32_t& waited, std::uint64_t i) {
          if (Pairs && i % 2 == 0 && i + 1 < n) {
            if (!load_acquire(mine + i + 1)) return false;
          } else if (!Pairs && i > 0 && !load_acquire(mine + i - 1)) {
            return false;
          }
          store_release(mine + i, waited + 1);
          return true;
        },
        [&](std::uint32_t& waited) {
          ++waited;
          change_add(rounds, 1);
        });
  }
};
template <int Width, bool Pairs>
void check_turns(execution_device where) {
  executor x(where);
  constexpr std::uint64_t items = 200, room = wait_for_others<Pairs>::room;
  auto const done = near_copy(x, std::vector<std::uint32_t>(items * room, 0));
  auto const rounds = near_copy(x, std::vector<std::uint32_t>(1, 0));
  for_each_item<Width>(x, items, wait_for_others<Pairs>{done.data(), rounds.data()});
  auto const got = host_copy(x, done.data(), items * room);
  std::uint64_t waited = 0;
  for (std::uint64_t i = 0; i < items; ++i)
    for (std::uint64_t k = 0; k < room; ++k) {
      ASSERT_EQ(got[i * room + k] != 0, k <= i % room) << i << " " << k;
      if (got[i * room + k]) waited += got[i * room + k] - 1;
    }
  EXPECT_EQ(x.read(rounds.data()), waited);  // one round for each that still waits
  if (Pairs) {
    EXPECT_GT(waited, 0u);
  }
}
TEST_P(exec, lanes_that_wait_take_turns) {
  check_turns<1, false>(where());
  check_turns<8, false>(where());
  check_turns<32, false>(where());
  check_turns<8, true>(where());
  check_turns<32, true>(where());
}

struct find_alike {
  std::uint64_t const* keys;
  std::uint32_t* first;
  std::uint64_t n;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    indices const mine{item * 40, smaller<std::uint64_t>(n, item * 40 + 40)};
    t.alike(
        mine, [&](std::uint64_t i) { return keys[i]; },
        [&](std::uint64_t i, std::uint64_t at) { first[i] = static_cast<std::uint32_t>(at); });
  }
};
template <int Width>
void check_alike(execution_device where) {
  executor x(where);
  std::vector<std::uint64_t> keys(1003);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix(i) % 7 << 40;
  auto const near = near_copy(x, keys);
  auto const first = near_copy(x, std::vector<std::uint32_t>(keys.size(), ~0u));
  for_each_item<Width>(x, (keys.size() + 39) / 40, find_alike{near.data(), first.data(), keys.size()});
  auto const got = host_copy(x, first.data(), keys.size());
  std::size_t const together = where.kind == device_kind::cuda ? Width : 32;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::size_t const within = i % 40 % 32;  // parts of 32, or of the team's lane count
    std::size_t at = i - within % together;
    while (keys[at] != keys[i]) ++at;
    ASSERT_EQ(got[i], at) << i;
  }
}
TEST_P(exec, which_are_alike) {
  check_alike<1>(where());
  check_alike<8>(where());
  check_alike<32>(where());
}

// Words that many lanes change concurrently, and a clock.
struct change_words {
  std::uint32_t* words;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    change_add(words, static_cast<std::uint32_t>(i));
    change_or(words + 1, 1u << i % 32);
    change_and(words + 2, ~(1u << i % 31));
    std::uint64_t const begin = nanoseconds_now();
    back_off(static_cast<unsigned>(i % 20));
    if (nanoseconds_now() < begin) change_add(words + 3, 1);
    if (i == 0) shared_store(reinterpret_cast<std::uint64_t*>(words + 4), 0x1122334455667788ull);
    if (i == 0) store_register(words + 6, 77);
  }
};
TEST_P(exec, words_between_threads) {
  executor x(where());
  auto const words = near_copy(x, std::vector<std::uint32_t>{0, 0, ~0u, 0, 0, 0, 0, 0});
  for_each_item<1>(x, 10000, change_words{words.data()});
  EXPECT_THAT(host_copy(x, words.data(), 7), ::testing::ElementsAre(49995000u, ~0u, 1u << 31, 0u, 0x55667788u, 0x11223344u, 77u));
}

TEST_P(exec, fill_and_copy) {
  executor x(where());
  auto const b = near_copy(x, std::vector<std::uint32_t>(3u << 20, 1));
  x.fill(b.data(), 0xff, b.bytes());
  auto const back = host_copy(x, b.data(), b.size());
  EXPECT_EQ(std::count(back.begin(), back.end(), ~0u), 3 << 20);
}
GARNER_AT_EVERY_PLACE(exec);

// The requests of a simulated warp, by hand: lanes 3 .. 31 of the first line, then one whole line, then 8 elements.
struct keep_reads : request_sink {
  std::vector<std::vector<far_read>> warps;
  void warp(std::span<std::vector<far_read> const> teams) override { warps.emplace_back(teams[0]); }
};
struct read_one {
  span<std::uint32_t> r;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    t.each(r, [](std::uint32_t) {});
  }
};
TEST(simulated, steps_start_on_lines_only_when_aligned) {
  keep_reads seen;
  executor x({device_kind::simulated, 0}, &seen);
  auto const far = far_copy(x, std::vector<std::uint32_t>(128));
  auto const at = reinterpret_cast<std::uint64_t>(far.data());
  for_each_item<32>(x, 1, read_one{{far.data(), 3, 72}}, access_mode::aligned);
  for_each_item<32>(x, 1, read_one{{far.data(), 3, 72}}, access_mode::merged);
  auto const expect = [&](std::vector<far_read> const& got, std::vector<std::pair<int, int>> const& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].first - at, static_cast<std::uint64_t>(4 * want[i].first));
      EXPECT_EQ(got[i].last - at, static_cast<std::uint64_t>(4 * want[i].second));
    }
  };
  ASSERT_EQ(seen.warps.size(), 2u);
  expect(seen.warps[0], {{3, 32}, {32, 64}, {64, 72}});
  expect(seen.warps[1], {{3, 35}, {35, 67}, {67, 72}});
}

TEST(place, names_there_and_back) {
  EXPECT_EQ(parse_device("device:3"), (execution_device{device_kind::cuda, 3}));
  EXPECT_EQ(to_string(execution_device{device_kind::cuda, 3}), "cuda:3");
  EXPECT_EQ(to_string(execution_device{}), "cpu");
  EXPECT_EQ(parse_device("cuda:3"), (execution_device{device_kind::cuda, 3}));
  EXPECT_EQ(parse_device("cpu"), execution_device{});
  EXPECT_EQ(parse_device("cuda"), parse_device("device"));
  EXPECT_EQ(parse_device("simulated").kind, device_kind::simulated);
  EXPECT_EQ(parse_access(to_string(access_mode::merged)), access_mode::merged);
  EXPECT_EQ(parse_tier(to_string(tier::managed)), tier::managed);
  EXPECT_NE(error_of([] { parse_device("device:x"); }).find("cpu, cuda, cuda:N or simulated"), std::string::npos);
}

TEST(executor, no_such_device) {
  errc code{};
  error_of([] { executor x({device_kind::cuda, 4711}); }, &code);
  EXPECT_EQ(code, errc::device);
}

}  // namespace
}  // namespace garner

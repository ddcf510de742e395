// Where rows go: budgets, scores, peers; what a tensor tells of itself; unified tensors.
#include "garner/features.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "core/random.hpp"
#include "features/place_rows.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

struct numbered_rows {  // row i holds i, width times
  std::vector<std::int64_t> values;
  row_array rows;
  numbered_rows(std::uint64_t n, std::uint64_t width) : values(n * width) {
    for (std::uint64_t i = 0; i < n * width; ++i) values[i] = static_cast<std::int64_t>(i / width);
    rows = {values.data(), n, width, element::i64, {}};
  }
};
std::vector<std::int64_t> all_ids(std::uint64_t n) {
  std::vector<std::int64_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  std::reverse(ids.begin(), ids.end());
  return ids;
}
// Every row of the tensor, at its place, is the one of its id.
void expect_all_rows(tiered_tensor& t) {
  executor x(t.where());
  auto const ids = all_ids(t.rows());
  auto const near = near_copy(x, ids);
  buffer<std::int64_t> const out(x.near(), t.rows() * t.width() + 1, x.device(), "a test");
  t.gather({near.data(), ids.size(), 8}, out.data());
  auto const got = host_copy(x, out.data(), t.rows() * t.width());
  for (std::uint64_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], ids[k / t.width()]) << t.about();
}

TEST(hottest, is_a_stable_sort_of_the_scores) {
  for (std::uint64_t n : {1, 10, 1000, 100000})
    for (std::uint32_t kinds : {1u, 3u, 1000000u}) {
      std::vector<float> scores(n);
      for (std::uint64_t i = 0; i < n; ++i)
        scores[i] = (static_cast<float>(random_bits(1, 0, i) % kinds) - static_cast<float>(kinds / 2)) * 0.25f;
      if (n > 9) scores[3] = -0.0f, scores[4] = 0.0f, scores[5] = INFINITY, scores[6] = -INFINITY, scores[7] = 1e-42f;
      std::vector<std::uint64_t> want(n);
      std::iota(want.begin(), want.end(), 0u);
      std::stable_sort(want.begin(), want.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
      for (std::uint64_t count : {std::uint64_t{1}, n / 3, n - 1, n}) {
        auto const got = hottest(scores, count);
        ASSERT_EQ(std::vector<std::uint64_t>(got.begin(), got.end()),
                  std::vector<std::uint64_t>(want.begin(), want.begin() + static_cast<long>(count)))
            << n << " " << kinds << " " << count;
      }
    }
  std::vector<float> scores(10, 1.0f);
  scores[7] = NAN;
  EXPECT_EQ(error_of([&] { hottest(scores, 3); }), "the score of row 7 is not a number");
}

TEST(shares, of_budgets_and_of_what_is_free) {
  auto const share = [](row_budget b) {
    row_shares const s = share_rows(b);
    return std::pair(s.near, s.peer);
  };
  using both = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(share({100, 10, 0, 0, 0, 0, 0}), both(0, 0));
  EXPECT_EQ(share({100, 10, 105, 0, 0, 0, 0}), both(10, 0));
  EXPECT_EQ(share({100, 10, ~0ull, 0, 0, 0, 0}), both(100, 0));
  EXPECT_EQ(share({100, 10, {}, {}, 600, 0, 0}), both(30, 0));    // half of what is free
  EXPECT_EQ(share({100, 10, {}, {}, 600, 400, 2}), both(0, 40));  // peers hold more
  EXPECT_EQ(share({100, 10, 100, 100, 600, 400, 4}), both(10, 40));
  EXPECT_EQ(share({100, 10, 500, ~0ull, 600, 400, 4}), both(50, 50));
  EXPECT_EQ(share({0, 10, 500, 500, 600, 400, 4}), both(0, 0));
  EXPECT_EQ(share({100, 0, 500, 500, 600, 400, 4}), both(0, 0));
}

TEST(tiers, rows_lie_in_any_mixture) {
  for (std::uint64_t rows : {1, 7, 1000})
    for (std::uint64_t width : {1, 3})
      for (std::uint64_t kept : {std::uint64_t{0}, rows / 4, rows})
        for (std::uint64_t peers : {0, 1, 2, 5})
          for (std::uint64_t a_peer : {std::uint64_t{0}, rows / 9, rows})
            for (bool scored : {false, true}) {
              if (peers == 0 && a_peer) continue;
              numbered_rows const data(rows, width);
              std::vector<float> scores(scored ? rows : 0);
              for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(random_bits(2, 0, i) % 20);
              tiered_options o;
              o.where = {place_kind::traced, 0};
              o.device_budget = kept * width * 8 + 7;
              o.peer_budget = a_peer * width * 8;
              for (std::uint64_t p = 0; p < peers; ++p) o.peers.push_back(static_cast<int>(p));
              o.scores = scores;
              tiered_tensor t(data.rows, o);
              EXPECT_EQ(t.device_rows(), kept);
              EXPECT_EQ(t.peer_rows(), std::min(rows - kept, a_peer * peers));
              EXPECT_EQ(t.device_rows() + t.peer_rows() + t.host_rows(), rows);
              expect_all_rows(t);
              auto const ids = all_ids(rows);
              gather_hits const hits = t.hits({ids.data(), ids.size(), 8});
              EXPECT_EQ(hits.device, t.device_rows());
              EXPECT_EQ(hits.peer, t.peer_rows());
              EXPECT_EQ(hits.host, t.host_rows());
              if (scored && kept && kept < rows) {  // no row far is hotter than one near
                float coldest_near = INFINITY, hottest_far = -INFINITY;
                for (std::int64_t id : ids) {
                  gather_hits const one = t.hits({&id, 1, 8});
                  float const s = scores[static_cast<std::size_t>(id)];
                  if (one.device) coldest_near = std::min(coldest_near, s);
                  else hottest_far = std::max(hottest_far, s);
                }
                EXPECT_GE(coldest_near, hottest_far);
              }
            }
}

TEST(tiers, on_a_device_rows_lie_in_any_mixture) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  for (bool scored : {false, true})
    for (std::uint64_t kept : {0, 300, 1000})
      for (bool peers : {false, true}) {
        numbered_rows const data(1000, 5);
        std::vector<float> scores(scored ? 1000 : 0);
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(random_bits(2, 0, i) % 20);
        tiered_options o;
        o.where = {place_kind::device, 0};
        o.device_budget = kept * 40;
        if (peers) {
          o.peer_budget = 100 * 40;
          for (int p = 0; p < device::count() && p < 8; ++p) o.peers.push_back(p);
        }
        o.scores = scores;
        tiered_tensor t(data.rows, o);
        EXPECT_EQ(t.device_rows(), kept);
        expect_all_rows(t);
      }
}

TEST(tiers, on_a_device_a_stream_of_the_callers) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  numbered_rows const data(5000, 16);
  tiered_options o;
  o.where = {place_kind::device, 0};
  o.device_budget = 1000 * 128;
  tiered_tensor t(data.rows, o);
  executor x(o.where), y(o.where);
  auto const ids = all_ids(5000);
  auto const near = near_copy(x, ids);
  for (gather_order order : {gather_order::none, gather_order::sorted})
    for (executor* on : {&x, &y, &x}) {
      buffer<std::int64_t> const out(tier::device, 5000 * 16, 0, "a test");
      gather_options how;
      how.stream = on->stream(), how.order = order, how.multiprocessors = 4;
      t.gather({near.data(), ids.size(), 8}, out.data(), how);
      auto const got = host_copy(*on, out.data(), out.size());
      for (std::uint64_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], ids[k / 16]);
    }
}

TEST(tiers, on_a_device_streams_that_come_and_go_at_one_address) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  constexpr std::uint64_t n = 200000, width = 64;
  numbered_rows const data(n, width);
  tiered_options o;
  o.where = {place_kind::device, 0};
  o.device_budget = 0;
  tiered_tensor t(data.rows, o);
  executor x(o.where);
  auto const up = all_ids(n);
  std::vector<std::int64_t> const down(up.rbegin(), up.rend());
  auto const near_up = near_copy(x, up), near_down = near_copy(x, down);
  buffer<std::int64_t> const out(tier::device, n * width, 0, "a test"), other(tier::device, n * width, 0, "a test");
  for (gather_way way : {gather_way::aligned, gather_way::naive})
    for (int round = 0; round < 4; ++round) {
      gather_options how;
      how.way = way, how.order = gather_order::sorted;
      void* const first = how.stream = device::make_stream(0);
      t.gather({near_up.data(), n, 8}, out.data(), how);
      device::free_stream(0, first);  // returns at once; what was given still runs
      void* const second = how.stream = device::make_stream(0);
      t.gather({near_down.data(), n, 8}, other.data(), how);
      device::wait(0, second);
      device::free_stream(0, second);
      auto const got = host_copy(x, out.data(), out.size()), got_other = host_copy(x, other.data(), other.size());
      for (std::uint64_t k = 0; k < got.size(); ++k) {
        ASSERT_EQ(got[k], up[k / width]) << (first == second ? "one address" : "two addresses");
        ASSERT_EQ(got_other[k], down[k / width]);
      }
    }
}

TEST(tiers, at_the_host_all_rows_are_near_where_they_were) {
  numbered_rows const data(100, 4);
  std::vector<float> const scores(100, 1.0f);
  tiered_options o;
  o.device_budget = 1000;
  o.scores = scores;
  tiered_tensor t(data.rows, o);
  EXPECT_EQ(t.host_rows(), 100u);
  expect_all_rows(t);
  EXPECT_EQ(t.about(), "host: 100 rows of 32 bytes in host memory, where they were");
}

TEST(tiers, what_contradicts_itself_is_refused) {
  numbered_rows const data(100, 4);
  std::vector<float> const few(99);
  auto const said = [&](auto change) {
    tiered_options o;
    o.where = {place_kind::traced, 0};
    change(o);
    errc code{};
    std::string const text = error_of([&] { tiered_tensor(data.rows, o); }, &code);
    EXPECT_EQ(code, errc::usage);
    return text;
  };
  EXPECT_EQ(said([&](auto& o) { o.scores = few; }), "99 scores for a table of 100 rows; give one a row");
  EXPECT_THAT(said([&](auto& o) { o.scales = few; }), HasSubstr("factors of rows are for i8 rows; these are i64"));
  EXPECT_THAT(said([&](auto& o) { o.peer_budget = 100; }), HasSubstr("a budget for peers, and no peers"));
  EXPECT_THAT(said([&](auto& o) { o.peers = {1, 2}; }), HasSubstr("peers must name 0 too"));
  EXPECT_THAT(said([&](auto& o) { o.peers = {0, 1, 1}; }), HasSubstr("named twice"));
  EXPECT_THAT(error_of([&] { tiered_tensor({nullptr, 3, 4, element::f32, {}}); }), HasSubstr("a table of 3 rows has no data"));
  EXPECT_THAT(error_of([&] {
                tiered_tensor({data.values.data(), ~0ull, 4, element::f32, {}});
              }),
              HasSubstr("more than a machine addresses"));
}

TEST(tiers, a_budget_beyond_memory_is_refused_and_given_back) {
  numbered_rows const data(100000, 4);
  std::uint64_t const before = host_budget().used(), limit = host_budget().limit();
  host_budget().set_limit(before + 100000);
  tiered_options o;
  o.where = {place_kind::traced, 0};
  o.device_budget = 3000000;
  errc code{};
  std::string const said = error_of([&] { tiered_tensor(data.rows, o); }, &code);
  host_budget().set_limit(limit);
  EXPECT_EQ(code, errc::memory);
  EXPECT_THAT(said, HasSubstr("rows kept on the device"));
  EXPECT_EQ(host_budget().used(), before);
}

TEST(unified, takes_an_array_in_place) {
  numbered_rows const data(10, 4);
  unified_tensor const u(data.rows, -1), copy = u;
  EXPECT_EQ(copy.device_data(), data.values.data());
  EXPECT_EQ(copy.device(), -1);
  EXPECT_EQ(copy.rows().rows, 10u);
  errc code{};
  error_of([&] { unified_tensor({data.values.data(), 0, 4, element::i64, {}}, -1); }, &code);
  EXPECT_EQ(code, errc::usage);
}
TEST(unified, on_a_device_the_owner_lives_as_long_as_the_last_copy) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  auto const memory = std::make_shared<std::vector<std::int64_t>>(4096, 7);
  std::optional<unified_tensor> a(std::in_place, row_array{memory->data(), 1024, 4, element::i64, memory}, 0);
  unified_tensor const b = *a;
  a.reset();
  EXPECT_EQ(memory.use_count(), 2);
  executor x({place_kind::device, 0});
  buffer<std::int64_t> const near(tier::device, 4096, 0, "a test");
  x.copy(near.data(), b.device_data(), 4096 * 8);
  EXPECT_EQ(host_copy(x, near.data(), 4096), *memory);
}

TEST(names, there_and_back) {
  for (element e : {element::f32, element::f16, element::bf16, element::i8, element::i64, element::u8})
    EXPECT_EQ(parse_element(to_string(e)), e);
  for (int w = 0; w < 6; ++w) EXPECT_EQ(parse_gather_way(to_string(static_cast<gather_way>(w))), static_cast<gather_way>(w));
  for (int o = 0; o < 4; ++o) EXPECT_EQ(parse_gather_order(to_string(static_cast<gather_order>(o))), static_cast<gather_order>(o));
  EXPECT_EQ(error_of([] { parse_element("f64"); }), "'f64' is no element; say one of f32, f16, bf16, i8, i64, u8");
  EXPECT_THAT(error_of([] { parse_gather_way("fast"); }), HasSubstr("'fast' is no way to gather; say one of automatic, staged"));
}

}  // namespace
}  // namespace garner

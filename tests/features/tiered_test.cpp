// The tiers of rows: budgets, scores, peers; a tensor's own report; unified tensors.
#include <cmath>

#include "features/numbered_rows.hpp"
#include "features/place_rows.hpp"
#include "refused.hpp"

namespace garner {
namespace {
using namespace garner::testing;

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
  EXPECT_EQ(error_of([&] { require_numbers(scores); }), "the score of row 7 is not a number");
  numbered_rows const data(10, 5);
  for (execution_device const where : {execution_device{}, execution_device{device_kind::simulated}})
    for (std::uint64_t budget : {0, 100}) {  // whether or not the scores matter
      tiered_options o;
      o.device = where, o.feature_cache = budget, o.scores = scores;
      errc code{};
      EXPECT_EQ(error_of([&] { tiered_tensor const t(data.rows, o); }, &code), "the score of row 7 is not a number") << to_string(where);
      EXPECT_EQ(code, errc::input);
    }
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
  EXPECT_EQ(share({100, 10, {}, {}, 600, 0, 0}), both(30, 0));    // half of the free memory
  EXPECT_EQ(share({100, 10, {}, {}, 600, 400, 2}), both(0, 40));  // peers hold more
  EXPECT_EQ(share({100, 10, 100, 100, 600, 400, 4}), both(10, 40));
  EXPECT_EQ(share({100, 10, 500, ~0ull, 600, 400, 4}), both(50, 50));
  EXPECT_EQ(share({0, 10, 500, 500, 600, 400, 4}), both(0, 0));
  EXPECT_EQ(share({100, 0, 500, 500, 600, 400, 4}), both(0, 0));
}

TEST(shares, of_peers_are_all_rows_and_the_first_peer_has_most) {
  for (std::uint64_t rows : {0, 1, 2, 5, 16, 1000})
    for (std::uint64_t peers = 1; peers <= 16; ++peers) {
      std::vector<std::uint64_t> had(peers);
      for (std::uint64_t k = 0; k < rows; ++k) had[k % peers] = std::max(had[k % peers], k / peers + 1);
      for (std::uint64_t p = 0; p < peers; ++p) EXPECT_EQ(rows_of_peer(rows, peers, p), had[p]) << rows << " " << peers << " " << p;
    }
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
              std::vector<float> const scores = some_scores(scored ? rows : 0);
              tiered_options o;
              o.device = {device_kind::simulated, 0};
              o.feature_cache = kept * width * 8 + 7;
              o.peer_cache = a_peer * width * 8;
              for (std::uint64_t p = 0; p < peers; ++p) o.peers.push_back(static_cast<int>(p));
              o.scores = scores;
              tiered_tensor t(data.rows, o);
              EXPECT_EQ(t.tiers()[tier::device], kept);
              EXPECT_EQ(t.tiers()[tier::peer], std::min(rows - kept, a_peer * peers));
              EXPECT_EQ(t.tiers()[tier::device] + t.tiers()[tier::peer] + t.tiers()[tier::host], rows);
              expect_all_rows(t);
              auto const ids = all_ids(rows);
              rows_by_tier const hits = t.hits({ids.data(), ids.size(), 8});
              EXPECT_EQ(hits[tier::device], t.tiers()[tier::device]);
              EXPECT_EQ(hits[tier::peer], t.tiers()[tier::peer]);
              EXPECT_EQ(hits[tier::host], t.tiers()[tier::host]);
              if (scored && kept && kept < rows) {  // no remote row is hotter than a local one
                float coldest_near = INFINITY, hottest_far = -INFINITY;
                for (std::int64_t id : ids) {
                  rows_by_tier const one = t.hits({&id, 1, 8});
                  float const s = scores[static_cast<std::size_t>(id)];
                  if (one[tier::device]) coldest_near = std::min(coldest_near, s);
                  else hottest_far = std::max(hottest_far, s);
                }
                EXPECT_GE(coldest_near, hottest_far);
              }
            }
}

// More than are brought at once.
TEST(tiers, many_rows_come_to_a_device_in_pieces) {
  device_kind const kind = device::count() ? device_kind::cuda : device_kind::simulated;
  numbered_rows const data(140000, 128);
  std::vector<float> const scores = some_scores(140000);
  for (bool scored : {false, true})
    for (std::uint64_t kept : {139000, 140000}) {
      tiered_options o;
      o.device = {kind, 0};
      o.feature_cache = kept * 1024;
      if (scored) o.scores = scores;
      tiered_tensor t(data.rows, o);
      EXPECT_EQ(t.tiers()[tier::device], kept);
      expect_all_rows(t);
    }
}

TEST(tiers, on_a_device_rows_lie_in_any_mixture) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  for (bool scored : {false, true})
    for (std::uint64_t kept : {0, 300, 1000})
      for (bool peers : {false, true}) {
        numbered_rows const data(1000, 5);
        std::vector<float> const scores = some_scores(scored ? 1000 : 0);
        tiered_options o;
        o.device = {device_kind::cuda, 0};
        o.feature_cache = kept * 40;
        if (peers) {
          o.peer_cache = 100 * 40;
          for (int p = 0; p < device::count() && p < 8; ++p) o.peers.push_back(p);
        }
        o.scores = scores;
        tiered_tensor t(data.rows, o);
        EXPECT_EQ(t.tiers()[tier::device], kept);
        expect_all_rows(t);
      }
}

TEST(tiers, on_a_device_what_repeats_is_not_copied_from_places_in_host_memory) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  numbered_rows const data(1000, 5);
  tiered_options o;
  o.device = {device_kind::cuda, 0}, o.feature_cache = 0;
  tiered_tensor t(data.rows, o);
  buffer<std::int64_t> ids(tier::host, 10, 0, "a test"), near(tier::device, 50, 0, "a test"), pinned(tier::host, 50, 0, "a test");
  std::fill_n(ids.data(), 10, 7);
  gather_options how;
  for (gather_order order : {gather_order::none, gather_order::bucketed, gather_order::sorted}) {
    how.order = order;
    EXPECT_EQ(t.gather({ids.data(), 10, 8}, near, how).duplicates, gather_duplicates::once) << to_string(order);
    EXPECT_EQ(t.gather({ids.data(), 10, 8}, pinned, how).duplicates,
              order == gather_order::sorted ? gather_duplicates::once : gather_duplicates::repeat)
        << to_string(order);
  }
}

TEST(tiers, on_a_device_ids_and_places_elsewhere_are_refused) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  auto* const plain = static_cast<std::int64_t*>(std::calloc(1000, 8));  // pageable host memory
  if (device::reads(0, plain)) {
    std::free(plain);
    GTEST_SKIP() << "this device pages host memory";
  }
  numbered_rows const data(1000, 5);
  tiered_options o;
  o.device = {device_kind::cuda, 0};
  tiered_tensor t(data.rows, o);
  executor x(o.device);
  buffer<std::int64_t> near(tier::device, 5000, 0, "a test"), pinned(tier::host, 10, 0, "a test");
  x.fill(near.data(), 0, near.bytes());
  x.wait();
  EXPECT_TRUE(refused(errc::usage, "ids lie in memory that cuda:0 does not read", [&] { t.gather({plain, 10, 8}, near); }));
  EXPECT_TRUE(refused(errc::usage, "outputs lie in memory", [&] { t.gather({near.data(), 10, 8}, {plain, 8000}); }));
  EXPECT_TRUE(refused(errc::usage, [&] { t.hits({plain, 10, 8}); }));
  t.gather({pinned.data(), 10, 8}, near);  // and the device still works
  EXPECT_EQ(x.read(near.data() + 50), 0);
  std::free(plain);
}

TEST(tiers, explain_tells_of_several_mini_batches) {
  numbered_rows const data(1000, 64);
  tiered_options o;
  o.device = {device_kind::simulated, 0};
  o.feature_cache = 0;
  tiered_tensor const t(data.rows, o);
  EXPECT_EQ(t.explain(200).order, gather_order::none);
  EXPECT_EQ(t.explain(200, {}, 2).order, gather_order::sorted);
}

TEST(tiers, on_a_device_a_stream_of_the_callers) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  numbered_rows const data(5000, 16);
  tiered_options o;
  o.device = {device_kind::cuda, 0};
  o.feature_cache = 1000 * 128;
  tiered_tensor t(data.rows, o);
  executor x(o.device), y(o.device);
  auto const ids = all_ids(5000);
  auto const near = near_copy(x, ids);
  for (gather_order order : {gather_order::none, gather_order::sorted})
    for (executor* on : {&x, &y, &x}) {
      buffer<std::int64_t> const out(tier::device, 5000 * 16, 0, "a test");
      gather_options how;
      how.stream = stream_ref::of_address(on->stream()), how.order = order, how.multiprocessors = 4;
      t.gather({near.data(), ids.size(), 8}, out, how);
      auto const got = host_copy(*on, out.data(), out.size());
      for (std::uint64_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], ids[k / 16]);
    }
}

TEST(tiers, on_a_device_streams_that_come_and_go_at_one_address) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  constexpr std::uint64_t n = 200000, width = 64;
  numbered_rows const data(n, width);
  tiered_options o;
  o.device = {device_kind::cuda, 0};
  o.feature_cache = 0;
  tiered_tensor t(data.rows, o);
  executor x(o.device);
  auto const up = all_ids(n);
  std::vector<std::int64_t> const down(up.rbegin(), up.rend());
  auto const near_up = near_copy(x, up), near_down = near_copy(x, down);
  buffer<std::int64_t> const out(tier::device, n * width, 0, "a test"), other(tier::device, n * width, 0, "a test");
  for (gather_strategy strategy : {gather_strategy::aligned, gather_strategy::naive})
    for (int round = 0; round < 4; ++round) {
      gather_options how;
      how.strategy = strategy, how.order = gather_order::sorted;
      void* const first = device::make_stream(0);
      how.stream = stream_ref::of_address(first);
      t.gather({near_up.data(), n, 8}, out, how);
      device::free_stream(0, first);  // returns at once; submitted work still runs
      void* const second = device::make_stream(0);
      how.stream = stream_ref::of_address(second);
      t.gather({near_down.data(), n, 8}, other, how);
      device::wait(0, second);
      device::free_stream(0, second);
      auto const got = host_copy(x, out.data(), out.size()), got_other = host_copy(x, other.data(), other.size());
      for (std::uint64_t k = 0; k < got.size(); ++k) {
        ASSERT_EQ(got[k], up[k / width]) << (first == second ? "one address" : "two addresses");
        ASSERT_EQ(got_other[k], down[k / width]);
      }
    }
}

// --- several tensors ---
class beside_others : public at_place {
 protected:
  void SetUp() override {
    at_place::SetUp();
    if (GetParam() == device_kind::cuda && device::count() < 2 && !IsSkipped()) GTEST_SKIP() << "needs two GPUs";
  }
  execution_device at(int k) const { return {GetParam(), GetParam() == device_kind::cpu ? 0 : k}; }
  budget& pays(int k) const { return GetParam() == device_kind::cuda ? device_budget(k) : host_budget(); }
};
GARNER_AT_EVERY_PLACE(beside_others);

TEST_P(beside_others, tensors_share_the_rows_on_peers) {
  bool const kept = GetParam() != device_kind::cpu;
  for (bool peers : {false, true})
    for (bool scored : {false, true})
      for (std::uint64_t near : {0, 300, 1000}) {
        std::uint64_t const before[] = {pays(0).used(), pays(1).used()};
        {
          numbered_rows const data(1000, 5);
          auto const scores = some_scores(1000);
          tiered_options o;
          o.device = at(0), o.feature_cache = near * 40;
          if (peers) o.peers = {0, 1}, o.peer_cache = 200 * 40;
          if (scored) o.scores = scores;
          std::optional<tiered_tensor> first(std::in_place, data.rows, o);
          std::uint64_t const made = pays(1).used();
          tiered_tensor second = first->for_device(at(1));
          // Its own: its cached rows, ranks if needed, and its scratch words. No row of a peer twice.
          bool const ranks = scored && near < 1000 && (near || peers) && kept;
          EXPECT_EQ(pays(1).used() - made, (kept ? near * 40 : 0) + (ranks ? 4000 : 0) + 8 * (2 + tier_count) +
                                               (GetParam() == device_kind::simulated && runs_later(at(1)) ? 16 : 0))
              << second.about();
          tiered_tensor const third = second.for_device(at(0));
          for (tiered_tensor const* t : std::initializer_list<tiered_tensor const*>{&second, &third}) {
            EXPECT_EQ(t->tiers()[tier::device], first->tiers()[tier::device]);
            EXPECT_EQ(t->tiers()[tier::peer], first->tiers()[tier::peer]);
            EXPECT_EQ(t->tiers()[tier::host], first->tiers()[tier::host]);
          }
          if (kept) {
            EXPECT_THAT(second.about(), HasSubstr("beside " + to_string(at(0))));
          }
          expect_all_rows(*first);
          first.reset();
          expect_all_rows(second);  // shared rows stay
          tiered_tensor last = second.for_device(at(0));
          second = std::move(last);
          expect_all_rows(second);
        }
        EXPECT_EQ(pays(0).used(), before[0]);
        EXPECT_EQ(pays(1).used(), before[1]);
      }
}

TEST_P(beside_others, tensors_have_the_factors_too) {
  std::vector<std::int8_t> const values(200, 3);
  std::vector<float> scales(100);
  std::iota(scales.begin(), scales.end(), 0.5f);
  tiered_options o;
  o.device = at(0), o.feature_cache = 50 * 2, o.scales = scales;
  std::optional<tiered_tensor> first(std::in_place, row_array{values.data(), 100, 2, element::i8, {}}, o);
  tiered_tensor second = first->for_device(at(1));
  first.reset();
  executor x(at(1));
  auto const ids = all_ids(100);
  auto const near = near_copy(x, ids);
  buffer<float> const out(x.near(), 200, x.device(), "a test");
  gather_options how;
  how.to = element::f32;
  for (gather_strategy strategy : {gather_strategy::automatic, gather_strategy::staged}) {
    how.strategy = strategy;
    second.gather({near.data(), 100, 8}, out, how);
    auto const got = host_copy(x, out.data(), 200);
    for (std::size_t k = 0; k < 200; ++k) ASSERT_EQ(got[k], 3 * scales[static_cast<std::size_t>(ids[k / 2])]);
  }
}

TEST(tiers, beside_is_of_places_of_one_kind) {
  numbered_rows const data(100, 4);
  tiered_options o;
  o.device = {device_kind::simulated, 0};
  tiered_tensor const t(data.rows, o);
  errc code{};
  EXPECT_EQ(error_of(
                [&] {
                  t.for_device({device_kind::cpu, 0});
                },
                &code),
            "a table whose rows lie as those of simulated cannot be gathered at cpu; make a tensor for it");
  EXPECT_EQ(code, errc::usage);
}

TEST(tiers, at_the_host_all_rows_are_near_where_they_were) {
  numbered_rows const data(100, 4);
  std::vector<float> const scores(100, 1.0f);
  tiered_options o;
  o.feature_cache = 1000;
  o.scores = scores;
  tiered_tensor t(data.rows, o);
  EXPECT_EQ(t.tiers()[tier::host], 100u);
  expect_all_rows(t);
  EXPECT_EQ(t.about(), "host: 100 rows of 32 bytes in host memory, where they were");
}

TEST(tiers, what_contradicts_itself_is_refused) {
  numbered_rows const data(100, 4);
  std::vector<float> const few(99);
  auto const said = [&](auto change) {
    tiered_options o;
    o.device = {device_kind::simulated, 0};
    change(o);
    errc code{};
    std::string const text = error_of([&] { tiered_tensor(data.rows, o); }, &code);
    EXPECT_EQ(code, errc::usage);
    return text;
  };
  EXPECT_EQ(said([&](auto& o) { o.scores = few; }), "99 scores for a table of 100 rows; give one a row");
  EXPECT_THAT(said([&](auto& o) { o.scales = few; }), HasSubstr("factors of rows are for i8 rows; these are i64"));
  EXPECT_THAT(said([&](auto& o) { o.peer_cache = 100; }), HasSubstr("a budget for peers, and no peers"));
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
  o.device = {device_kind::simulated, 0};
  o.feature_cache = 3000000;
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
  EXPECT_TRUE(refused(errc::usage, [&] { unified_tensor({data.values.data(), 0, 4, element::i64, {}}, -1); }));
}
TEST(unified, on_a_device_the_owner_lives_as_long_as_the_last_copy) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  auto const memory = std::make_shared<std::vector<std::int64_t>>(4096, 7);
  std::optional<unified_tensor> a(std::in_place, row_array{memory->data(), 1024, 4, element::i64, memory}, 0);
  unified_tensor const b = *a;
  a.reset();
  EXPECT_EQ(memory.use_count(), 2);
  executor x({device_kind::cuda, 0});
  buffer<std::int64_t> const near(tier::device, 4096, 0, "a test");
  x.copy(near.data(), b.device_data(), 4096 * 8);
  EXPECT_EQ(host_copy(x, near.data(), 4096), *memory);
}

TEST(names, there_and_back) {
  for (element e : {element::f32, element::f16, element::bf16, element::i8, element::i64, element::u8})
    EXPECT_EQ(parse_element(to_string(e)), e);
  for (int w = 0; w < 6; ++w) EXPECT_EQ(parse_gather_strategy(to_string(static_cast<gather_strategy>(w))), static_cast<gather_strategy>(w));
  for (int o = 0; o < 4; ++o) EXPECT_EQ(parse_gather_order(to_string(static_cast<gather_order>(o))), static_cast<gather_order>(o));
  EXPECT_EQ(error_of([] { parse_element("f64"); }), "'f64' is not a known element type; use one of f32, f16, bf16, i8, i64, u8");
  EXPECT_THAT(error_of([] { parse_gather_strategy("fast"); }),
              HasSubstr("'fast' is not a known strategy of a gather; use one of automatic, staged"));
}

}  // namespace
}  // namespace garner

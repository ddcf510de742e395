// The traffic model against manual counts (figure 2.4 of the dissertation), and its closed form against the trace.
#include "far/traffic.hpp"

#include "core/exec.hpp"
#include "core/random.hpp"
#include "far/matrix.hpp"
#include "memory/link.hpp"
#include "simulated_runs.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

using counts = std::array<std::uint64_t, 4>;

TEST(traffic, aligned_lines_go_whole) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<32>({{0, 128}}, access_mode::aligned).requests, (counts{0, 0, 0, 4}));
  EXPECT_EQ(trace<32>({{8, 128}}, access_mode::aligned).requests, (counts{0, 0, 1, 3}));
}
TEST(traffic, merged_but_off_by_a_sector_splits_every_line) {  // figure 2.4 (c): 96 B and 32 B
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<32>({{8, 40}}, access_mode::merged).requests, (counts{1, 0, 1, 0}));
}
TEST(traffic, of_four_merged_steps_the_first_leaves_alone_and_the_others_together) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<32>({{8, 136}}, access_mode::merged).requests, (counts{2, 0, 2, 2}));      // 96 32 | 96 128 128 32
  EXPECT_EQ(trace<32>({{8, 8 + 512}}, access_mode::merged).requests, (counts{8, 0, 8, 8}));  // every four of them equal
}
TEST(traffic, merged_but_off_by_an_element_asks_once_for_the_sector_that_two_steps_of_a_round_share) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<32>({{1, 97}}, access_mode::merged).requests, (counts{2, 0, 1, 2}));   // 128 32 | 96 128 32, of which 32 is shared
  EXPECT_EQ(trace<32>({{1, 161}}, access_mode::merged).requests, (counts{3, 0, 1, 4}));  // ... the next round requests it again
}
TEST(traffic, warps_that_begin_together_share_what_is_under_way) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<32>({{1, 33}, {33, 65}}, access_mode::merged).requests, (counts{2, 0, 1, 1}));
  runs far_apart{{1, 33}};
  for (std::uint64_t k = 1; k < 8; ++k) far_apart.push_back({k * 1000, k * 1000 + 1});
  far_apart.push_back({33, 65});  // the first warp of the next block
  EXPECT_EQ(trace<32>(far_apart, access_mode::merged).requests, (counts{2 + 7, 0, 0, 2}));
  // By the time of the request for the first list's end, the begin of the next has been evicted.
  EXPECT_EQ(trace<32>({{1, 161}, {161, 193}}, access_mode::merged).requests, (counts{4, 0, 1, 5}));
}
TEST(traffic, look_ups_between_reads_keep_the_third_and_fourth_back) {
  GARNER_NEEDS_COUNTS();
  traffic_model model(access_mode::merged);
  model.look_up_between_reads();
  executor x({device_kind::simulated, 0}, &model);
  auto const far = far_copy(x, std::vector<std::uint32_t>(200));
  runs const all{{1, 129}};
  for_each_item<32>(x, 1, read_runs<std::uint32_t>{far.data(), &all}, access_mode::merged);
  EXPECT_EQ(model.take().requests, (counts{4, 0, 1, 3}));  // 128 32 | 96 32 | 128 32 | 128 32
}
TEST(traffic, strided_asks_for_each_sector_once) {  // figure 2.4 (a): 32 lanes, 32 distant lists
  GARNER_NEEDS_COUNTS();
  runs lists;
  for (std::uint64_t lane = 0; lane < 32; ++lane) lists.push_back({lane * 1024, lane * 1024 + 64});
  traffic const t = trace<1>(lists, access_mode::strided);
  EXPECT_EQ(t.requests, (counts{32 * 8, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(t.overfetch(), 1.0);
}
TEST(traffic, a_last_warp_of_few_lanes_counts_as_the_others) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<1>({{0, 64}}, access_mode::aligned).requests, (counts{8, 0, 0, 0}));
}
TEST(traffic, strided_lanes_that_meet_in_a_line_merge) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<1>({{0, 8}, {8, 16}, {16, 24}, {24, 32}}, access_mode::strided).requests, (counts{0, 0, 0, 1}));
}
TEST(traffic, teams_of_eight_merge_within_their_warp) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(trace<8>({{0, 8}, {8, 16}, {32, 40}, {64, 72}}, access_mode::aligned).requests, (counts{2, 1, 0, 0}));
}
TEST(traffic, paged_moves_each_page_once) {
  GARNER_NEEDS_COUNTS();
  traffic const t = trace<32>({{0, 10}, {5, 20}, {1020, 1030}}, access_mode::paged);
  EXPECT_EQ(t.pages, 2u);
  EXPECT_EQ(t.bytes_link(), 8192u);
  EXPECT_EQ(t.request_count(), 0u);
}
TEST(traffic, figures) {
  GARNER_NEEDS_COUNTS();
  traffic t;
  t.requests = {1, 1, 1, 1};
  t.bytes_useful = 160;
  EXPECT_EQ(t.bytes_link(), 320u);
  EXPECT_DOUBLE_EQ(t.overfetch(), 2.0);
  EXPECT_DOUBLE_EQ(t.amplification(640), 0.5);
  EXPECT_DOUBLE_EQ(t.amplification(0), 0.0);
}
TEST(traffic, an_l2_keeps_the_sectors_it_was_given) {
  GARNER_NEEDS_COUNTS();
  auto const in_turn = [](runs const& all, std::uint64_t l2) {  // each is a separate kernel
    traffic_model model(access_mode::aligned, l2);
    executor x({device_kind::simulated, 0}, &model);
    auto const far = far_copy(x, std::vector<std::uint32_t>(64));
    traffic t;
    for (auto const& one : all) {
      runs const alone{one};
      for_each_item<32>(x, 1, read_runs<std::uint32_t>{far.data(), &alone}, access_mode::aligned);
      t += model.take();
    }
    return t;
  };
  runs const twice{{0, 32}, {0, 32}, {32, 64}, {0, 32}};
  EXPECT_EQ(in_turn(twice, 0).request_count(), 4u);
  EXPECT_EQ(in_turn(twice, 1 << 20).request_count(), 2u);
  EXPECT_EQ(in_turn(twice, 128).request_count(), 3u);  // one line: the second list evicts the first
  EXPECT_EQ(in_turn({{0, 8}, {0, 32}}, 1 << 20).requests, (counts{1, 0, 1, 0}));
}

template <class Id>
void closed_form_is_the_trace(bool looks_up) {
  for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned})
    for (std::uint64_t i = 0; i < 400; ++i) {
      std::uint64_t const begin = random_bits(1, 0, i) % 70, end = begin + random_bits(1, 1, i) % 500;
      traffic const t = how == access_mode::strided ? trace<1, Id>({{begin, end}}, how) : trace<32, Id>({{begin, end}}, how, 0, looks_up);
      run_traffic const c = traffic_of_run(begin, end, sizeof(Id), how, looks_up);
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_EQ(c.requests[k], t.requests[k]) << to_string(how) << " " << begin << " " << end << " " << k;
      EXPECT_EQ(c.useful, t.bytes_useful);
      EXPECT_EQ(c.sectors() * 32, t.bytes_link());
    }
}
TEST(traffic, closed_form_is_the_trace_of_a_run) {
  GARNER_NEEDS_COUNTS();
  for (bool looks_up : {false, true}) {
    closed_form_is_the_trace<std::uint32_t>(looks_up);
    closed_form_is_the_trace<std::uint64_t>(looks_up);
  }
}

// The figures of the machine that the model was made for: whole lines 51 GB/s = 0.40 G/s, off by 32 B (half 32, half 96) 0.50 G/s and
// 32 GB/s, single sectors 0.54 - 0.75 G/s; and PCIe 3 from the dissertation.
TEST(link_time, is_what_was_measured) {
  link_rates const pcie5 = link_rates::of(51);
  auto const giga = [](traffic const& t, link_rates const& r) { return static_cast<double>(t.request_count()) / predicted_ms(t, r) / 1e6; };
  auto const gbs = [](traffic const& t, link_rates const& r) { return static_cast<double>(t.bytes_link()) / predicted_ms(t, r) / 1e6; };
  traffic lines, off, sectors;
  lines.requests = {0, 0, 0, 1000};
  off.requests = {500, 0, 500, 0};
  sectors.requests = {1000, 0, 0, 0};
  EXPECT_NEAR(giga(lines, pcie5), 0.40, 0.005);
  EXPECT_NEAR(gbs(lines, pcie5), 51, 1e-9);
  EXPECT_NEAR(giga(off, pcie5), 0.50, 0.01);
  EXPECT_NEAR(gbs(off, pcie5), 32, 0.5);
  EXPECT_GT(giga(sectors, pcie5), 0.54);
  EXPECT_LT(giga(sectors, pcie5), 0.75);
  EXPECT_NEAR(gbs(sectors, link_rates::of(12.3)), 4.7, 0.4);
  EXPECT_NEAR(predicted_ms(lines, link_rates::of(25.5)), 2 * predicted_ms(lines, pcie5), 1e-12);
}
TEST(link_time, of_a_calibrated_link) {
  link_calibration link;
  link.line_requests = 0.4;
  link.sector_requests = 0.8;
  link_rates const r = rates_of(link);
  EXPECT_DOUBLE_EQ(r.line_ns, 2.5);
  EXPECT_DOUBLE_EQ(r.sector_ns, 1.25);
  traffic pages;
  pages.pages = 1000;
  EXPECT_EQ(predicted_ms(pages, r), 0);
  link.paged_gbs = 8;
  EXPECT_DOUBLE_EQ(predicted_ms(pages, rates_of(link)), 1000 * 4096 / 8e6);
  EXPECT_EQ(predicted_ms({}, r), 0);
}

TEST(matrix, what_goes_with_what) {
  execution_device const host{device_kind::cpu, 0}, gpu{device_kind::cuda, 0};
  for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned}) {
    require_combination(host, tier::host, how);
    require_combination(gpu, tier::host, how);
    require_combination(gpu, tier::device, how);
    EXPECT_NE(error_of([&] { require_combination(gpu, tier::managed, how); }).find("paged reads tier managed"), std::string::npos);
    EXPECT_NE(error_of([&] { require_combination(host, tier::device, how); }), "");
  }
  require_combination(gpu, tier::managed, access_mode::paged);
  errc code{};
  error_of([&] { require_combination(gpu, tier::host, access_mode::paged); }, &code);
  EXPECT_EQ(code, errc::usage);
  error_of([&] { require_combination(gpu, tier::host, access_mode::bulk); });
  EXPECT_EQ(default_tier(gpu, access_mode::paged), tier::managed);
  EXPECT_EQ(default_tier(gpu, access_mode::aligned), tier::host);
}

// Edges in tier peer have an owner and a reader: the message names both.
TEST(matrix, says_on_which_card_edges_lie) {
  execution_device const host{device_kind::cpu, 0}, first{device_kind::cuda, 0}, second{device_kind::cuda, 1};
  EXPECT_EQ(why_not_readable_at("g", tier::host, -1, -1, host), "");
  EXPECT_EQ(why_not_readable_at("g", tier::managed, 0, 0, host), "");
  EXPECT_EQ(why_not_readable_at("g", tier::host, 0, 0, second), "");
  EXPECT_EQ(why_not_readable_at("g", tier::peer, 0, 1, first), "");
  std::string const own = why_not_readable_at("g", tier::device, 0, 0, host), peer = why_not_readable_at("g", tier::peer, 0, 1, host);
  EXPECT_NE(own.find("are on device 0; run the algorithm on cuda:0"), std::string::npos) << own;
  EXPECT_NE(peer.find("are on device 1, for device 0 to read; run the algorithm on cuda:0"), std::string::npos) << peer;
  EXPECT_NE(why_not_readable_at("g", tier::device, 0, 0, second).find("not readable on cuda:1"), std::string::npos);
  EXPECT_NE(why_not_readable_at("g", tier::host, -1, -1, first).find("not readable on cuda:0"), std::string::npos);
}

}  // namespace
}  // namespace garner

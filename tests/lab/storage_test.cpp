// The storage benchmark: replays are consistent and as fast as their drives allow, a wrong row is found, the file survives a round trip,
// the page has every figure.
#include "lab/storage.hpp"

#include <numeric>
#include <set>

#include "core/random.hpp"
#include "features/cache_run.hpp"
#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "lab/storage_replay.hpp"
#include "refused.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;
using trace = std::vector<std::vector<std::uint64_t>>;

trace made_trace(std::uint64_t batches, std::uint64_t rows, std::uint64_t of) {
  trace t;
  for (std::uint64_t b = 0; b < batches; ++b) {
    std::set<std::uint64_t> ids;
    for (std::uint64_t k = 0; ids.size() < rows; ++k) {
      std::uint64_t const a = random_bits(7, b, k) % of, c = random_bits(8, b, k) % of;
      ids.insert(std::min(a, c));  // low ones are more frequent
    }
    t.emplace_back(ids.begin(), ids.end());
  }
  return t;
}
replay_terms small_terms(read_order order, eviction policy, std::uint32_t window) {
  replay_terms t;
  t.order = order, t.policy = policy, t.window = window;
  t.slots = 400, t.rows = 3000, t.row_bytes = 4096;
  t.drive = optane(0);
  t.depth = order == read_order::faults ? 1 : 512;
  t.warm = 10, t.tail = 10;
  return t;
}

TEST(storage_replay, counts_what_the_policy_counts_and_compares_what_came) {
  trace const t = made_trace(60, 100, 3000);
  for (auto const& [order, policy] : {std::pair(read_order::on_demand, eviction::clock),
                                      {read_order::on_demand, eviction::window},
                                      {read_order::ahead, eviction::next_use},
                                      {read_order::ahead, eviction::pinned}}) {
    replay_terms terms = small_terms(order, policy, 8);
    terms.warm = terms.tail = 0;
    replay_run const r = replay(t, terms);
    cache_run const plan = simulate_cache(t, 400, policy, 8);
    EXPECT_EQ(r.accesses, 6000u);
    EXPECT_EQ(r.hits, plan.hits) << to_string(policy);
    EXPECT_EQ(r.reads + r.hits, r.accesses);
    EXPECT_EQ(r.timed, 60u);
    EXPECT_GT(r.compared, 600u);
    EXPECT_LE(r.metadata_bytes, 16 * 400u);
    terms.warm = 10, terms.tail = 10;
    EXPECT_EQ(replay(t, terms).timed, 40u);
  }
}

TEST(storage_replay, drives_bound_it) {
  trace const t = made_trace(80, 300, 40000);
  auto const ms = [&](read_order order, eviction policy, std::uint32_t window, std::uint32_t drives, double us, double link = 0) {
    replay_terms terms = small_terms(order, policy, window);
    terms.slots = 1500, terms.rows = 40000;
    terms.drive = us < 100 ? optane(0) : samsung_980_pro(0);
    terms.drives = drives, terms.link_gbs = link, terms.tail = 20;
    replay_run const r = replay(t, terms);
    double const each = static_cast<double>(r.reads) / static_cast<double>(r.timed);
    // Bounded by its drives' requests (adjacent rows are one), and by the link.
    EXPECT_GE(r.ms, 0.95 * each / terms.drive.requests_a_second / drives * 1e3);
    EXPECT_GE(r.ms, link > 0 ? 0.98 * each * 4096 / link / 1e6 : 0);
    EXPECT_GE(r.ms, order == read_order::faults ? each * us * 1e-3 : 0);
    return r.ms;
  };
  double const one = ms(read_order::ahead, eviction::next_use, 8, 1, 324), four = ms(read_order::ahead, eviction::next_use, 8, 4, 324);
  EXPECT_GE(one / four, 3.8);
  EXPECT_GT(ms(read_order::ahead, eviction::next_use, 8, 4, 324, 2), 2 * four);  // the link is full
  EXPECT_LT(one, ms(read_order::on_demand, eviction::window, 8, 1, 324));
  EXPECT_GT(ms(read_order::faults, eviction::clock, 0, 1, 11), 10 * ms(read_order::on_demand, eviction::clock, 0, 1, 11));
  // Faults are sequential: more drives do not help.
  EXPECT_DOUBLE_EQ(ms(read_order::faults, eviction::clock, 0, 1, 11), ms(read_order::faults, eviction::clock, 0, 4, 11));
}

TEST(storage_replay, sampling_and_model_overlap_where_reads_run_ahead) {
  trace const t = made_trace(60, 100, 3000);
  auto const ms = [&](read_order order, double sample, double model) {
    replay_terms terms = small_terms(order, eviction::next_use, 4);
    terms.sample_ms = sample, terms.model_ms = model;
    return replay(t, terms).ms;
  };
  EXPECT_NEAR(ms(read_order::ahead, 1, 3), 3, 0.01);  // reads take some 0.05 ms
  EXPECT_NEAR(ms(read_order::ahead, 3, 1), 3, 0.01);
  double const reads = ms(read_order::on_demand, 0, 0);
  EXPECT_NEAR(ms(read_order::on_demand, 1, 3), 4 + reads, 1e-9);
}

TEST(storage_replay, merged_mini_batches_wait_once) {
  trace const t = made_trace(100, 40, 30000);
  auto const run = [&](std::uint64_t merged) {
    replay_terms terms = small_terms(read_order::on_demand, eviction::window, 8);
    terms.rows = 30000, terms.slots = 2000, terms.merge_reads = merged;
    terms.drive = samsung_980_pro(0);
    return replay(t, terms);
  };
  replay_run const each = run(0), merged = run(400);
  EXPECT_EQ(each.timed, 80u);
  EXPECT_GT(each.ms, 0.324);
  EXPECT_LT(merged.ms, each.ms / 3);
  EXPECT_GE(merged.from, 10u);  // begins with a group
}

TEST(storage_replay, resident_rows_are_never_read) {
  trace const t = made_trace(40, 100, 3000);
  std::vector<bool> resident(3000);
  for (std::uint64_t k = 0; k < 600; ++k) resident[k] = true;
  std::uint64_t expected = 0;
  for (auto const& batch : t)
    for (std::uint64_t const id : batch) expected += id < 600;
  replay_terms terms = small_terms(read_order::on_demand, eviction::clock, 0);
  terms.resident = &resident, terms.warm = terms.tail = 0;
  replay_run const r = replay(t, terms);
  EXPECT_EQ(r.resident, expected);
  EXPECT_EQ(r.reads + r.hits + r.resident, r.accesses);
  // They cross the link from host memory.
  terms.link_gbs = 0.1;
  EXPECT_GE(replay(t, terms).ms, 0.999 * static_cast<double>(r.reads + r.resident) / 40 * 4096 / 0.1 / 1e6);
}

TEST(storage_replay, pages_and_what_is_possible) {
  trace const t{{0, 1, 7, 8}, {3}};
  EXPECT_EQ(pages_of(t, 512, 4096), (trace{{0, 1}, {0}}));
  EXPECT_EQ(pages_of(t, 3072, 4096), (trace{{0, 1, 5, 6}, {2}}));
  EXPECT_EQ(pages_of(t, 8192, 4096), (trace{{0, 1, 2, 3, 14, 15, 16, 17}, {6, 7}}));
  trace const some = made_trace(50, 60, 900);
  auto const sum = [&](std::uint64_t slots, std::uint64_t reach) {
    std::vector<std::uint64_t> const hits = possible_hits(some, slots, reach);
    EXPECT_EQ(hits.size(), 50u);
    return std::accumulate(hits.begin(), hits.end(), std::uint64_t{0});
  };
  for (std::uint64_t const slots : {60u, 100u, 200u, 5000u}) {
    auto const next_use = [&](std::uint32_t window) { return simulate_cache(some, slots, eviction::next_use, window).hits; };
    EXPECT_EQ(sum(slots, 1000), next_use(199)) << slots;
    for (std::uint32_t const window : {1u, 3u, 8u}) {
      EXPECT_LE(sum(slots, window), next_use(window)) << slots << " " << window;
      EXPECT_LE(sum(slots, window), sum(slots, window + 1));
    }
  }
  std::uint64_t again = 0;  // in the previous mini-batch
  for (std::size_t b = 1; b < some.size(); ++b)
    for (std::uint64_t const id : some[b]) again += std::binary_search(some[b - 1].begin(), some[b - 1].end(), id);
  EXPECT_EQ(sum(5000, 1), again);
  EXPECT_TRUE(refused(errc::usage, [&] { possible_hits(some, 59); }));
}

TEST(storage_replay, wrong_rows_are_found) {
  trace const t = made_trace(20, 100, 3000);
  replay_terms terms = small_terms(read_order::ahead, eviction::next_use, 4);
  drive_fault wrong;
  wrong.what = drive_fault::kind::wrong_bit, wrong.every = 40;
  terms.drive.faults = {wrong};
  EXPECT_TRUE(refused(errc::internal, "came wrong", [&] { replay(t, terms); }));
  terms.drive.faults = {{}};
  terms.drive.faults[0].every = 100;
  EXPECT_TRUE(refused(errc::io, "row", [&] { replay(t, terms); }));
}

storage_bench_options small_options() {
  storage_bench_options o;
  o.scale = 10, o.fanouts = {4, 3}, o.batch = 16, o.batches = 12, o.warm = 3, o.compute_ms = 1, o.share = "100%";
  o.training = all_nodes;
  o.command = "garner-lab storage";
  return o;
}

TEST(storage_bench, measures_what_it_is_asked_for) {
  storage_bench_options o = small_options();
  o.figures = {"window", "stages"};
  storage_file const f = measure_storage(o, {});
  ASSERT_EQ(f.graphs.size(), 4u);
  EXPECT_TRUE(f.graphs[1].heterogeneous);
  EXPECT_EQ(f.graphs[0].row_bytes, 512u);
  EXPECT_EQ(f.link_gbs, 24);
  ASSERT_EQ(f.rows.size(), 4u * 5 + 11);
  for (storage_row const& r : f.rows) {
    EXPECT_EQ(r.skipped, "");
    EXPECT_NEAR(r.hits + r.reads + r.resident, r.rows, 1e-9);
    EXPECT_GT(r.compared + (r.strategy == "mmap"), 0u) << r.strategy;
    EXPECT_GE(*r.ms, 0.99);  // the model's
    EXPECT_LE(r.hits, r.possible ? *r.possible * 1.02 : r.rows) << r.strategy;
    EXPECT_LE(*r.metadata_bytes, 16);
  }
  o.figures = {"size"};
  errc code{};
  EXPECT_TRUE(refused(errc::usage, "sampling, cold", [&] { measure_storage(o, {}); }));
  o = small_options(), o.batches = 1;
  EXPECT_NE(error_of([&] { measure_storage(o, {}); }, &code).find("--batches 1"), std::string::npos);
  o = small_options(), o.cache_batches = 0.5;
  EXPECT_NE(error_of([&] { measure_storage(o, {}); }, &code).find("--cache-batches"), std::string::npos);
}

struct storage_bench_files : in_folder {};
TEST_F(storage_bench_files, reads_real_files) {
  storage_bench_options o = small_options();
  o.figures = {"cold"}, o.folders = {folder.string()};
  storage_file const f = measure_storage(o, {});
  ASSERT_EQ(f.rows.size(), 8u);
  for (std::size_t k = 4; k < 8; ++k) {
    EXPECT_EQ(f.rows[k].drive, "file");
    EXPECT_EQ(f.rows[k].gbs.size(), 12u);
    EXPECT_GT(f.rows[k].compared, 0u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  o.folders = {(folder / "none").string()};
  EXPECT_TRUE(refused(errc::io, [&] { measure_storage(o, {}); }));
}

TEST(storage_bench, file_comes_back) {
  storage_bench_options o = small_options();
  o.figures = {"cold"};
  std::string const text = to_json(measure_storage(o, {}));
  EXPECT_EQ(to_json(file_in<storage_file>(json::parse(text), "s.json")), text);
}

TEST(storage_bench, page_shows_every_figure) {
  storage_file f = measure_storage(small_options(), {});
  for (storage_row& r : f.rows)
    if (r.strategy == "device") r.skipped.clear(), r.sample_ms = 0.1;
  f.rows.push_back(f.rows[0]);
  f.rows.back().skipped = "no room for <it>";
  std::string const page = page_of({.storages = {{"s.json", f}}});
  expect_all(page, {"(figure 3)", "(figure 8)", "(figure 9)", "(figure 10)", "(figure 11)", "(figure 12)", "(figure 13)", "(figure 14)",
                    "(figure 15)", "(figure 16)", "(figure 17)", "targets and measurements", "no room for &lt;it&gt;",
                    "rows on storage, measured", "2.19 x in the paper", "said, not measured"});
}

}  // namespace
}  // namespace garner::testing

// Correct measurements: every row is verified, the closed forms equal the trace, files and memory give the same results.
#include "lab/traversal.hpp"

#include <filesystem>
#include <map>
#include <set>

#include "core/device.hpp"
#include "far/traffic.hpp"
#include "graph/container.hpp"
#include "graph/generate.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"
#include "refused.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"

namespace garner::testing {
namespace {

using namespace lab;

traversal_options small(device_kind where) {
  traversal_options o;
  o.where = {where, 0};
  o.scale = 8;
  o.edge_factor = 8;
  o.sources = 3;
  o.trials = 2;
  o.iterations = 2;
  o.pattern_bytes = 1u << 18;
  return o;
}

class traversal_at : public at_place {};
TEST_P(traversal_at, measures_and_verifies_everything) {
  traversal_options const o = small(GetParam());
  std::size_t told = 0;
  run_file const r = measure_traversal(o, {}, [&](job_row const&) { ++told; });
  EXPECT_EQ(told, r.jobs.size());
  EXPECT_EQ(r.graphs.size(), 3u);
  bool const host = GetParam() == device_kind::cpu, simulated = GetParam() == device_kind::simulated;
  std::set<std::string> seen;
  std::map<std::string, std::size_t> near_rows;
  for (job_row const& j : r.jobs) {
    SCOPED_TRACE(j.graph + " " + j.job + " " + j.strategy + " " + std::to_string(j.id_bytes));
    EXPECT_EQ(j.skipped, "");
    EXPECT_TRUE(j.verified);
    EXPECT_EQ(j.ms.size(), j.job == "bfs" || j.job == "sssp" ? 3u : 2u);
    EXPECT_EQ(j.ms_statistic.has_value(), !simulated);
    EXPECT_EQ(j.link.has_value(), !host && !j.near());
    EXPECT_EQ(j.prepare_ms.has_value(), !simulated);
    EXPECT_EQ(j.near(), j.strategy == "near");
    if (j.near()) {
      EXPECT_EQ(j.id_bytes, 4u);
      EXPECT_GT(*j.prepare_ms, 0);
      ++near_rows[j.job];
      continue;
    }
    EXPECT_GT(j.state_bytes, 0u);
    if (j.link) {
      EXPECT_EQ(j.access == "paged", j.link->pages > 0);
      EXPECT_GE(j.predicted.size(), 3u);
    }
    EXPECT_EQ(j.iterations, j.job == "pagerank" ? 2u : 0u);
    EXPECT_TRUE(seen.insert(j.graph + "|" + j.job + "|" + j.strategy + "|" + std::to_string(j.id_bytes)).second);
  }
  for (std::string const& job : o.jobs)
    for (std::string const strategy : {"aligned", "default"})
      for (std::string const id : {"4", "8"}) EXPECT_TRUE(seen.count("kron 8|" + job + "|" + strategy + "|" + id)) << job << strategy << id;
  EXPECT_EQ(seen.count("kron 8|bfs|uvm|4"), host ? 0u : 1u);
  for (std::string const& job : o.jobs) EXPECT_EQ(near_rows[job], host || simulated ? 0u : 3u) << job;
  EXPECT_EQ(file_in<run_file>(json::parse(to_json(r)), "r").jobs.size(), r.jobs.size());
}
GARNER_AT_EVERY_PLACE(traversal_at);

// The closed forms for a device equal the counts of a trace of the same reads.
TEST(traversal, patterns_send_what_figure_2_5_says) {
  traversal_options o = small(device_kind::simulated);
  o.kinds = {generator::kron};
  o.jobs = {"bfs"};
  run_file const r = measure_traversal(o, {}, {});
  std::map<std::string, pattern_row> by_name;
  for (pattern_row const& p : r.patterns) by_name[p.pattern] = p;
  std::uint64_t const lines = ((1u << 18) - 4096) / 128;
  using counts = std::array<std::uint64_t, 4>;
  EXPECT_EQ(by_name.at("strided").link->requests, (counts{4 * lines, 0, 0, 0}));
  EXPECT_EQ(by_name.at("off by 32 B").link->requests, (counts{lines / 2, 0, lines / 2, lines / 2}));
  EXPECT_EQ(by_name.at("aligned").link->requests, (counts{0, 0, 0, lines}));
  EXPECT_NE(by_name.at("UVM, cold").skipped, "");
  run_traffic const off = traffic_of_run(8, 8 + 1024, 4, access_mode::merged);
  for (std::size_t k : {0, 2, 3}) EXPECT_EQ(off.requests[k], 16u);  // of four lines: 96 32 | 96 128 128 32
}

// A device with memory for the state but not for the adjacency: rows with the reason, and later measurements still run.
TEST(traversal, near_edges_that_do_not_fit_are_told) {
  if (!device::count()) GTEST_SKIP() << "edges in GPU memory need a GPU";
  traversal_options o = small(device_kind::cuda);
  o.kinds = {generator::uniform};
  o.scale = 14;
  o.edge_factor = 128;  // some 16 MiB of adjacency, plus some 3 of state
  o.jobs = {"bfs", "components"};
  o.strategies = {"default", "near", "uvm"};
  budget& room = device_budget(0);
  std::uint64_t const limit = room.limit();
  std::uint64_t list_bytes = 0;
  for (bool const tight : {false, true}) {
    SCOPED_TRACE(tight);
    if (tight) room.set_limit(room.used() + list_bytes / 2);
    run_file const r = measure_traversal(o, {}, {});
    room.set_limit(limit);
    EXPECT_EQ(r.jobs.size(), 8u);
    for (job_row const& j : r.jobs) EXPECT_EQ(j.skipped.empty(), !(tight && j.near())) << j.job << j.strategy << j.skipped;
    list_bytes = r.jobs[0].data_bytes;
  }
}

// Compressed adjacency is measured with every strategy, with its own width only; files in another order keep their sources.
TEST(traversal, measures_packed_lists_and_other_orders) {
  executor x(execution_device{device_kind::cpu, 0});
  generate_options how;
  how.scale = 9;
  how.edge_factor = 8;
  auto const file = std::filesystem::temp_directory_path() / ("garner-bench-" + std::to_string(::getpid()) + ".gnr");
  for (bool const packed : {true, false})
    for (bool const weights : {true, false}) {
      if (weights) how.build.random_weights = build_options::weight_options{};
      else how.build.random_weights.reset();
      build_report report;
      graph g = reorder(generate(x, how, report), {}, {device_kind::cpu, 0});
      if (packed) pack(g);
      save_graph(g, file);
      for (device_kind const kind : {device_kind::cpu, device_kind::simulated, device_kind::cuda}) {
        if (kind == device_kind::cuda && !device::count()) continue;
        SCOPED_TRACE(std::to_string(packed) + std::to_string(weights) + std::to_string(static_cast<int>(kind)));
        traversal_options o = small(kind);
        o.kinds.clear();
        o.files = {file};
        run_file const r = measure_traversal(o, {}, {});
        std::set<std::string> paged;
        std::size_t wide = 0;
        for (job_row const& j : r.jobs) {
          EXPECT_TRUE(j.verified) << j.job << j.strategy << j.skipped;
          wide += j.id_bytes == 8;
          EXPECT_EQ(packed, j.data_bytes < g.info.edges * (j.job == "sssp" ? 8 : 4));
          if (j.strategy != "uvm") continue;
          paged.insert(j.job);
          if (j.job != "bfs" || kind != device_kind::simulated) continue;
          std::uint64_t pages = 0;  // as counted by a trace, from blocks if compressed
          for (std::uint64_t const source : pick_sources(g, o.sources, o.seed)) {
            bfs_asked b;
            b.device = o.where;
            b.access = access_mode::paged;
            b.variant = bfs_variant::emogi;
            pages += bfs_job(g, b).run(source).link.pages;
          }
          EXPECT_EQ(j.link->pages, pages);
        }
        EXPECT_EQ(paged.size(), kind == device_kind::cpu ? 0u : 4u);
        EXPECT_EQ(wide, packed ? 0u : 8u);
      }
    }
  std::filesystem::remove(file);
}

TEST(traversal, measures_the_ways_that_are_asked_for) {
  traversal_options o = small(device_kind::simulated);
  o.kinds = {generator::kron};
  o.strategies = {"default", "near", "strided"};
  run_file const r = measure_traversal(o, {}, {});
  std::multiset<std::string> strategies;
  for (job_row const& j : r.jobs) strategies.insert(j.strategy + std::to_string(j.id_bytes));
  EXPECT_EQ(strategies, (std::multiset<std::string>{"default4", "default4", "default4", "default4", "default8", "default8", "default8",
                                                    "default8", "strided4", "strided4", "strided4", "strided4"}));
  errc code{};
  o.strategies = {"default", "sideways"};
  std::string const wrong = error_of([&] { measure_traversal(o, {}, {}); }, &code);
  EXPECT_EQ(code, errc::usage);
  EXPECT_EQ(
      wrong,
      "'sideways' is not a strategy; pass some of uvm, strided, merged, aligned, copied, aligned-x8, levels, direction, default, near");
  // Nothing to measure: local edges need a device, and only bfs has levels.
  o.strategies = {"near"};
  EXPECT_TRUE(refused(errc::usage, "on simulated; use default too", [&] { measure_traversal(o, {}, {}); }));
  o.strategies = {"levels"}, o.jobs = {"sssp"};
  EXPECT_TRUE(refused(errc::usage, "levels", [&] { measure_traversal(o, {}, {}); }));
}

TEST(traversal, pages_are_those_of_a_fresh_trace) {
  traversal_options o = small(device_kind::simulated);
  o.kinds = {generator::web};
  o.scale = 12;
  o.jobs = {"bfs"};
  o.sources = 2;
  run_file const r = measure_traversal(o, {}, {});
  executor x(execution_device{device_kind::cpu, 0});
  generate_options how;
  how.kind = generator::web;
  how.scale = 12;
  how.edge_factor = 8;
  build_report report;
  graph const g = generate(x, how, report);
  std::uint64_t pages = 0;
  for (std::uint64_t const source : pick_sources(g, 2, 1)) {
    bfs_asked b;
    b.device = o.where;
    b.access = access_mode::paged;
    pages += bfs_job(g, b).run(source).link.pages;
  }
  for (job_row const& j : r.jobs) {
    EXPECT_EQ(j.link->pages, j.strategy == "uvm" ? pages : 0) << j.strategy;
  }
}

TEST(traversal, a_file_gives_what_memory_gives) {
  traversal_options o = small(device_kind::simulated);
  o.kinds = {generator::kron};
  run_file const made = measure_traversal(o, {}, {});
  executor x(execution_device{device_kind::cpu, 0});
  generate_options how;
  how.scale = 8;
  how.edge_factor = 8;
  for (std::uint32_t const id_bytes : {4u, 8u}) {
    how.build.id_bytes = id_bytes;
    build_report report;
    auto const file = std::filesystem::temp_directory_path() / ("garner-bench-" + std::to_string(::getpid()) + ".gnr");
    save_graph(generate(x, how, report), file);
    o.kinds.clear();
    o.files = {file};
    run_file const read = measure_traversal(o, {}, {});
    std::filesystem::remove(file);
    ASSERT_EQ(read.jobs.size(), made.jobs.size());
    for (job_row const& j : made.jobs)
      for (job_row const& k : read.jobs) {
        if (j.job == k.job && j.strategy == k.strategy && j.id_bytes == k.id_bytes) {
          EXPECT_EQ(*j.link, *k.link) << j.job << j.strategy << j.id_bytes;
        }
      }
  }
}

TEST(traversal, a_way_that_does_not_go_says_why_and_the_rest_goes_on) {
  // A directed graph that lacks in-edges cannot go bottom-up or pull.
  std::vector<arc> arcs;
  for (std::uint64_t v = 0; v < 63; ++v) arcs.push_back({v, v + 1}), arcs.push_back({0, v + 1});
  auto const file = std::filesystem::temp_directory_path() / ("garner-bench-" + std::to_string(::getpid()) + ".gnr");
  save_graph(make_graph(arcs), file);
  traversal_options o = small(device_kind::simulated);
  o.kinds.clear();
  o.files = {file};
  run_file const r = measure_traversal(o, {}, {});
  std::filesystem::remove(file);
  std::map<std::string, std::string> why;
  for (job_row const& j : r.jobs) why[j.job + "|" + j.strategy] = j.skipped;
  EXPECT_NE(why.at("bfs|direction").find("in-edges"), std::string::npos);
  EXPECT_EQ(why.at("bfs|default"), "");  // it uses levels then
  EXPECT_NE(why.at("pagerank|default").find("in-edges"), std::string::npos);
  EXPECT_EQ(why.at("bfs|aligned"), "");
  EXPECT_EQ(why.at("pagerank|aligned"), "");
}

TEST(traversal, a_slow_way_ends_early_and_says_so) {
  traversal_options o = small(device_kind::cpu);
  o.kinds = {generator::kron};
  o.way_seconds = 1e-9;
  run_file const r = measure_traversal(o, {}, {});
  for (job_row const& j : r.jobs) EXPECT_EQ(j.ms.size(), 1u) << j.job;
}

TEST(traversal, keeps_to_the_host_budget) {
  traversal_options o = small(device_kind::cpu);
  o.scale = 12;
  o.kinds = {generator::kron};
  o.pattern_bytes = 65536;
  std::uint64_t const limit = host_budget().limit();
  host_budget().set_limit(host_budget().used() + (1u << 20));
  errc code{};
  error_of([&] { measure_traversal(o, {}, {}); }, &code);
  host_budget().set_limit(limit);
  EXPECT_EQ(code, errc::memory);
}

TEST(traversal, refuses_what_cannot_be) {
  auto const refused = [](auto change) {
    traversal_options o = small(device_kind::cpu);
    change(o);
    EXPECT_TRUE(testing::refused(errc::usage, [&] { measure_traversal(o, {}, {}); }));
  };
  refused([](auto& o) { o.scale = 3; });
  refused([](auto& o) { o.sources = 0; });
  refused([](auto& o) { o.jobs = {"bfs", "sleep"}; });
  refused([](auto& o) { o.jobs.clear(); });
  refused([](auto& o) { o.kinds.clear(); });
  refused([](auto& o) { o.links = {0}; });
  refused([](auto& o) { o.way_seconds = 0; });
  refused([](auto& o) { o.files = {"a/x.gnr", "b/x.gnr"}; });
}

}  // namespace
}  // namespace garner::testing

// What algorithms read of adjacency in a file and what they are spared, as foreseen, and the memory that they take, as planned.
#include "traverse/cached_neighbors.hpp"

#include "traverse/file_tier.hpp"
#include "traverse/job.hpp"
#include "traverse/plan.hpp"
#include "traverse/sssp.hpp"

namespace garner {
namespace {
using namespace testing;

// Restores the host budget, however a test ends.
struct same_budget {
  std::uint64_t const was = host_budget().limit();
  ~same_budget() { host_budget().set_limit(was); }
};

graph_info without_weights(graph_info info) {
  info.weights = weight_kind::none;
  return info;
}

struct sparing : file_tier_at {
  static constexpr std::uint64_t kept_near = 1u << 20;  // space for the file's best neighbors on a device
  static graph kron(unsigned scale) { return generated(generator::kron, scale); }
  // Reads of one verified search.
  bfs_run searched(graph const& far, graph const& near, std::uint64_t source, std::optional<std::uint32_t> cached = {}) {
    bfs_asked o = options<bfs_asked>(), at_home = o;
    o.cached_neighbors = cached;
    o.graph_cache = at_home.graph_cache = kept_near;
    bfs_job job(far, o), twin(near, at_home);
    bfs_run const r = job.run(source);
    twin.run(source);
    EXPECT_TRUE(r.verified);
    EXPECT_EQ(job.depths(), twin.depths());
    return r;
  }
};
INSTANTIATE_TEST_SUITE_P(at, sparing, every_place, [](auto const& info) { return name_of(info.param); });

TEST_P(sparing, best_neighbors_of_the_file_are_asked_first) {
  for (bool packed : {false, true})
    for (std::uint32_t cached : {1u, 3u, 4u}) {
      SCOPED_TRACE(fmt::format("packed {} cached {}", packed, cached));
      graph g = kron(13);
      keep_cached_neighbors(g, {}, cached);
      if (packed) pack(g);
      std::string const file = saved(g);
      graph const near = load(file, where(), tier::host), far = load(file, where(), tier::file);
      std::uint64_t of_all[2] = {};
      for (std::uint64_t source : pick_sources(near, 4, 7)) {
        bfs_run const with = searched(far, near, source), without = searched(far, near, source, 0);
        EXPECT_LE(with.file.bytes_asked, without.file.bytes_asked);
        EXPECT_LE(with.file.bytes_read, without.file.bytes_read);
        of_all[0] += with.file.bytes_read, of_all[1] += without.file.bytes_read;
      }
      EXPECT_LT(of_all[0], of_all[1] / 2);
      components_asked c = options<components_asked>();
      c.graph_cache = kept_near;
      components_job job(far, c), twin(near, c);
      components_run const r = job.run();
      twin.run();
      EXPECT_TRUE(r.verified);
      EXPECT_EQ(job.labels(), twin.labels());
      EXPECT_LT(r.file.bytes_read, far.out.stored_targets.bytes / 8);  // the reads without neighbors in the file
      bfs_asked wrong = options<bfs_asked>();
      wrong.cached_neighbors = 2;
      errc code{};
      EXPECT_NE(error_of([&] { bfs_job(far, wrong); }, &code).find(fmt::format("those that it keeps, {}", cached)), std::string::npos);
      EXPECT_EQ(code, errc::usage);
    }
}

// After a bottom-up level the file is not read, since adjacency of unvisited vertices is in memory; unless memory is short.
TEST_P(sparing, lists_that_stay_open_are_read_once) {
  for (std::uint32_t cached : {0u, 2u})
    for (bool packed : {false, true}) {
      graph kept = kron(13);
      keep_cached_neighbors(kept, {}, cached);
      if (packed) pack(kept);
      std::string const file = saved(kept);
      graph const near = load(file, where(), tier::host), far = load(file, where(), tier::file, small_window);
      std::uint64_t const source = pick_sources(near, 1, 7)[0];
      auto const levels_after = [](bfs_run const& r) {
        std::uint64_t bytes = 0;
        bool turned = false;
        for (bfs_level const& l : r.levels) {
          if (turned) bytes += l.file.bytes_read;
          turned |= l.bottom_up;
        }
        EXPECT_TRUE(turned);
        return bytes;
      };
      EXPECT_EQ(levels_after(searched(far, near, source)), 0u);
    }
  // The unvisited vertices are a component of their own here, larger than the memory for them.
  edge_list e;
  e.vertices = 12000, e.undirected = true, e.source = "a test";
  auto const some = [](std::uint64_t what, std::uint64_t i, std::uint64_t of) { return random_bits(1, what, i) % of; };
  for (std::uint64_t i = 0; i < 60000; ++i) {  // from 0 to all of the first, from some of these to the next, and to the next again
    if (i < 5000) e.arcs.push_back({0, i});
    e.arcs.push_back({some(0, i, 5000), some(1, i, 5000)});
    if (i < 2000) e.arcs.push_back({5000 + i, some(2, i, 5000)}), e.arcs.push_back({5000 + i, 7000 + some(3, i, 500)});
    if (i < 20000) e.arcs.push_back({8000 + some(4, i, 4000), 8000 + some(5, i, 4000)});
  }
  build_report report;
  std::string const file = saved(build_graph(std::move(e), {}, report));
  graph const near = load(file, where(), tier::host), far = load(file, where(), tier::file, small_window);
  bfs_asked o = options<bfs_asked>();
  bfs_job job(far, o), twin(near, o);
  twin.run(0);
  for (bool roomy : {true, false}) {
    same_budget const after;
    if (!roomy) host_budget().set_limit(host_budget().used() + (1300u << 10));
    bfs_run const r = job.run(0);
    EXPECT_TRUE(r.verified);
    EXPECT_EQ(job.depths(), twin.depths());
    bool again = false;
    for (std::size_t k = 0, turned = 0; k < r.levels.size(); ++k) {
      again |= turned && r.levels[k].file.bytes_read;
      turned |= r.levels[k].bottom_up;
    }
    EXPECT_EQ(again, !roomy);
  }
}

TEST_F(file_tier, blocks_of_the_drive) {
  graph const g = random_graph(9, 4, true, weight_kind::none);
  std::string const file = saved(g);
  graph const near = load(file, {}, tier::host);
  for (std::uint32_t align : {512u, 4096u}) {
    simulated_drive like;
    like.direct = true, like.offset_align = align;
    graph const far = load(file, {}, tier::file, small_window, simulate({holding(file, like)}));
    EXPECT_EQ(far.in_file->block(), align);
    bfs_asked o;
    o.variant = bfs_variant::levels;
    bfs_job job(far, o), twin(near, o);
    for (std::uint64_t source : {7u, 3000u}) {
      bfs_run const r = job.run(source);
      twin.run(source);
      EXPECT_EQ(job.depths(), twin.depths());
      EXPECT_EQ(r.file.bytes_blocks % align, 0u);
      EXPECT_GE(r.file.bytes_blocks, r.file.bytes_asked);
      EXPECT_GE(r.file.bytes_read, r.file.bytes_blocks);
    }
    EXPECT_EQ(far.in_file->files().counters().copied_bytes, 0u);  // every read was exactly the request
  }
}

// The gap between two lists that is read along is what the drive delivers in the time of a request.
TEST_F(file_tier, gaps_are_those_that_the_drive_pays_for) {
  simulation how;
  how.counted_time = true;
  auto const gap_of = [&](simulated_drive d) {
    list_file file("drive", d.size, 1000, simulate({d}, how), 0);
    EXPECT_EQ(file.gap(list_file::many_requests - 1), list_file::usual_gap);  // too few to measure
    std::uint64_t const before = file.files().counters().reads;
    std::uint64_t const gap = file.gap(list_file::many_requests);
    EXPECT_EQ(file.files().counters().reads, before);  // they do not count as reads of lists
    EXPECT_EQ(file.gap(1), gap);
    return gap;
  };
  simulated_drive near = optane(64 << 20);
  near.bytes_a_second = 5e9;
  EXPECT_EQ(gap_of(near), 2048u);                        // 1.5 M requests: 3,333 bytes, or less
  EXPECT_EQ(gap_of(samsung_980_pro(64 << 20)), 16384u);  // 7 GB/s, and 128 in 324 us
  simulated_drive slow = optane(64 << 20);
  slow.requests_a_second = 20000;
  EXPECT_EQ(gap_of(slow), list_file::most_gap);
  EXPECT_EQ(gap_of(optane(1 << 20)), list_file::usual_gap);  // not worth it
  simulated_drive broken = optane(64 << 20);
  broken.faults.resize(1), broken.faults[0].every = 2;
  EXPECT_EQ(gap_of(broken), list_file::usual_gap);
}

TEST_F(file_tier, what_is_foreseen_is_what_is_read) {
  graph g = random_graph(10, 4, true, weight_kind::u32);
  for (bool packed : {false, true}) {
    if (packed) pack(g);
    graph const far = load(saved(g), {}, tier::file);
    executor x({});
    list_windows windows(x, far);
    for (std::uint64_t step : {1u, 3u, 40u, 700u})
      for (bool weights : {false, true}) {
        auto const range = [&](std::uint64_t k) { return indices{far.out.offsets[k * step], far.out.offsets[k * step + 1]}; };
        std::uint64_t const count = far.info.vertices / step;
        windows.take();
        list_windows::foreseen const said = windows.foresee(far.out, {true, weights}, count, range);
        EXPECT_EQ(windows.take().requests, 0u);
        windows.each(far.out, {true, weights}, count, range, [](list_window const&) {});
        file_reads const read = windows.take();
        EXPECT_EQ(said.bytes, read.bytes_read);
        EXPECT_EQ(said.requests, read.requests);
        EXPECT_GE(read.bytes_read, read.bytes_blocks);
        EXPECT_GE(read.bytes_blocks, read.bytes_asked);
      }
  }
}

TEST_F(file_tier, a_plan_says_what_is_taken) {
  budget& host = host_budget();
  ASSERT_EQ(host.used(), 0u);
  same_budget const after;
  std::uint64_t const was = after.was;
  for (weight_kind kind : {weight_kind::none, weight_kind::u32})
    for (bool packed : {false, true})
      for (bool undirected : {true, false})
        for (std::uint64_t more : {was, std::uint64_t{6} << 20, std::uint64_t{5} << 19}) {
          std::string file;
          {
            graph g = random_graph(11, 4, undirected, kind);
            if (undirected) keep_cached_neighbors(g, {}, 2);
            if (packed) pack(g);
            file = saved(g);
          }
          container_header const h = read_header(file);
          for (job_kind of : {job_kind::bfs, job_kind::components, job_kind::pagerank, job_kind::sssp}) {
            job_options o = default_options(of);
            if (auto* const ranks = std::get_if<pagerank_asked>(&o)) ranks->weighted = kind != weight_kind::none;
            if (reads_weights(o) != (kind != weight_kind::none)) continue;
            std::visit([](auto& job) { job.edges = tier::file; }, o);
            SCOPED_TRACE(fmt::format("{} compressed {} undirected {} left {}", to_string(of), packed, undirected, more));
            host.set_limit(was);
            std::uint64_t least = make_plan(h.info, o, stored_in(h)).host_bytes();
            if (more != was) {  // buffers of the remaining size then
              least -= list_windows::bytes_within(reads_weights(o) ? h.info : without_weights(h.info), was);
              host.set_limit(least + more);
            }
            job_plan const p = make_plan(h.info, o, stored_in(h));
            std::uint64_t lists = 0, windows = 0;
            for (plan_row const& r : p.rows) windows += r.what == "two windows of lists" ? r.bytes : 0;
            for (plan_row const& r : p.rows)
              if (r.what != "state" && r.what != "two windows of lists" && r.where == tier::host) lists += r.bytes;
            load_options how;
            how.edges = tier::file, how.weights = reads_weights(o), how.in_edges = reads_in_lists(h.info, o);
            how.cached_neighbors = bytes_of_file_neighbors(h.info, o, stored_in(h), p.kept) > 0;
            EXPECT_EQ(how.cached_neighbors, undirected && (of == job_kind::bfs || of == job_kind::components));
            {
              graph const far = load_graph(file, how);
              EXPECT_EQ(host.used(), lists);
              std::uint64_t taken = 0;
              bool any_read = false;
              std::visit(
                  [&]<class Options>(Options const& options) {
                    auto const run = [&](auto job, auto... source) {
                      any_read = job.run(source...).file.requests > 0;
                      taken = host.used();
                    };
                    if constexpr (std::is_same_v<Options, bfs_asked>) run(bfs_job(far, options), 5);
                    else if constexpr (std::is_same_v<Options, sssp_asked>) run(sssp_job(far, options), 5);
                    else if constexpr (std::is_same_v<Options, components_asked>) run(components_job(far, options));
                    else run(pagerank_job(far, options));
                  },
                  o);
              // Best neighbors may have sufficed, so that no buffer was allocated.
              std::uint64_t const spared = any_read ? 0 : windows;
              EXPECT_NEAR(static_cast<double>(taken + spared), static_cast<double>(p.host_bytes()),
                          more == was ? 512 : 512 + (kind == weight_kind::none ? 2 : 4) * 4096);  // each array of a buffer ends with a page
              EXPECT_LE(taken, host.limit());
            }
          }
          host.set_limit(was);
          ASSERT_EQ(host.used(), 0u);
        }
}

}  // namespace
}  // namespace garner

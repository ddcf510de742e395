// Algorithms over adjacency in a file against the same in memory: every algorithm, variant, access, id width, compressed or not, on every
// device, with staging buffers of a few lists up to everything; and the faults of a drive.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "core/random.hpp"
#include "generated.hpp"
#include "graph/container.hpp"
#include "graph/generate.hpp"
#include "graph/list_file.hpp"
#include "graph/pack.hpp"
#include "lab/drives/simulated.hpp"
#include "memory/budget.hpp"
#include "storage_support.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/components.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/plan.hpp"
#include "traverse/sssp.hpp"
#include "traverse_support.hpp"

namespace garner {
namespace {

using namespace testing;
using namespace lab;

graph random_graph(std::uint64_t seed, std::uint32_t id_bytes, bool undirected, weight_kind kind) {
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_loops = true;
  o.in_edges = !undirected;
  return hub_graph(seed, 4000, 20000, undirected, kind, o);
}

constexpr std::uint64_t small_window = 256 << 10;

// Restores the host budget, however a test ends.
struct same_budget {
  std::uint64_t const was = host_budget().limit();
  ~same_budget() { host_budget().set_limit(was); }
};

graph_info without_weights(graph_info info) {
  info.weights = weight_kind::none;
  return info;
}

struct file_tier : in_folder {
  std::string saved(graph const& g, std::string const& name = "g.gnr") const {
    save_graph(g, folder / name);
    return (folder / name).string();
  }
  // Loaded for a device, with its adjacency in the file or in memory.
  static graph load(std::string const& file, execution_device where, tier edges, std::uint64_t window = 0,
                    std::shared_ptr<drive_set> drives = {}, bool check = true) {
    container_header const h = read_header(file);
    load_options how;
    how.edges = edges, how.device = where.kind == device_kind::cuda ? where.index : -1;
    how.in_edges = h.info.in_edges, how.weights = h.info.weights != weight_kind::none;
    how.window_bytes = window, how.drives = std::move(drives), how.check = check;
    return load_graph(file, how);
  }
};

struct file_tier_at : file_tier, ::testing::WithParamInterface<device_kind> {
  void SetUp() override {
    in_folder::SetUp();
    if (GetParam() == device_kind::cuda && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  execution_device where() const { return {GetParam(), 0}; }
  // f(in memory, in the file) for every graph and buffer size.
  template <class F>
  void each_graph(weight_kind kind, F f) {
    for (bool undirected : {true, false})
      for (std::uint32_t id_bytes : {4u, 8u})
        for (bool packed : {false, true}) {
          if (packed && id_bytes == 8) continue;
          graph g = random_graph(id_bytes + undirected, id_bytes, undirected, kind);
          if (packed) pack(g);
          std::string const file = saved(g);
          graph const near = load(file, where(), tier::host);
          for (std::uint64_t window : {std::uint64_t{kind == weight_kind::none ? 96u : 300u} << 10, std::uint64_t{0}})
            for (bool check : {true, false}) {
              SCOPED_TRACE(
                  fmt::format("undirected {} ids {} compressed {} window {} checked {}", undirected, id_bytes, packed, window, check));
              f(near, load(file, where(), tier::file, window, {}, check));
              if (HasFatalFailure()) return;
            }
        }
  }
  static bool is_small(graph const& g) { return g.in_file->window_bytes() != 0; }  // for whole lists of hubs
  template <class Options>
  Options options() const {
    Options o;
    o.device = where();
    o.verify = true;
    o.graph_cache = 0;  // so that both read the same over the link
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(at, file_tier_at, every_place, [](auto const& info) { return name_of(info.param); });

// The adjacency of one direction was read at least as often as the algorithm needed all of it.
void read_something(file_reads const& f, std::uint64_t arcs, std::uint64_t arc_bytes) {
  if (arcs == 0) return;
  EXPECT_GT(f.requests, 0u);
  EXPECT_GT(f.bytes_asked, 0u);
  EXPECT_GE(f.bytes_read, std::min<std::uint64_t>(f.bytes_asked, arcs * arc_bytes));
}

TEST_P(file_tier_at, bfs) {
  each_graph(weight_kind::none, [&](graph const& near, graph const& far) {
    for (access_mode how : {access_mode::aligned, access_mode::merged, access_mode::strided})
      for (bfs_variant v : {bfs_variant::levels, bfs_variant::direction, bfs_variant::emogi}) {
        bfs_options o = options<bfs_options>();
        o.access = how, o.variant = v;
        o.tuning.queue_small = false;
        if (v == bfs_variant::direction && (near.info.directed || how == access_mode::strided)) continue;
        if (v == bfs_variant::emogi && is_small(far)) continue;
        SCOPED_TRACE(fmt::format("{} {}", to_string(v), to_string(how)));
        bfs_job twin(near, o), job(far, o);
        for (std::uint64_t source : {5u, 1000u}) {
          bfs_run const a = twin.run(source), b = job.run(source);
          ASSERT_TRUE(b.verified);
          ASSERT_EQ(job.depths(), twin.depths());
          EXPECT_EQ(b.reached, a.reached);
          EXPECT_EQ(b.levels.size(), a.levels.size());
          EXPECT_EQ(a.file.requests, 0u);
          read_something(b.file, v == bfs_variant::direction ? 0 : b.edges, 1);
          std::uint64_t by_level = 0;
          for (bfs_level const& l : b.levels) by_level += l.file.bytes_read;
          EXPECT_EQ(by_level, b.file.bytes_read);
          if (v == bfs_variant::direction) continue;
          // A buffer's lines are the file's. If lists begin within a line, the buffer size determines which neighbors share a read.
          EXPECT_EQ(b.link.bytes_useful, a.link.bytes_useful);
          if (how == access_mode::aligned) {
            EXPECT_EQ(b.link, a.link);
          }
        }
      }
  });
}

TEST_P(file_tier_at, components) {
  each_graph(weight_kind::none, [&](graph const& near, graph const& far) {
    for (access_mode how : {access_mode::aligned, access_mode::strided})
      for (components_variant v : {components_variant::afforest, components_variant::emogi}) {
        components_options o = options<components_options>();
        o.access = how, o.variant = v;
        if (v == components_variant::emogi && is_small(far)) continue;
        components_job twin(near, o), job(far, o);
        components_run const a = twin.run(), b = job.run();
        ASSERT_TRUE(b.verified);
        ASSERT_EQ(job.labels(), twin.labels());
        EXPECT_EQ(b.components, a.components);
        EXPECT_EQ(b.largest, a.largest);
        read_something(b.file, b.edges, 1);
      }
  });
}

TEST_P(file_tier_at, pagerank) {
  each_graph(weight_kind::none, [&](graph const& near, graph const& far) {
    for (access_mode how : {access_mode::aligned, access_mode::strided})
      for (pagerank_variant v : {pagerank_variant::pull, pagerank_variant::emogi}) {
        pagerank_options o = options<pagerank_options>();
        o.access = how, o.variant = v;
        if (v == pagerank_variant::emogi && is_small(far)) continue;
        pagerank_job twin(near, o), job(far, o);
        pagerank_run const a = twin.run(), b = job.run();
        ASSERT_TRUE(b.verified);
        if (v == pagerank_variant::pull) {
          ASSERT_EQ(job.ranks(), twin.ranks());  // bit by bit
          EXPECT_EQ(b.iterations, a.iterations);
          EXPECT_EQ(b.link.bytes_useful, a.link.bytes_useful);
          if (how == access_mode::aligned) {
            EXPECT_EQ(b.link, a.link);
          }
          // An iteration reads the adjacency once, in whole units.
          edge_lists const& lists = far.info.in_edges ? far.in : far.out;
          EXPECT_LE(b.rounds[0].file.bytes_read, lists.stored_targets.bytes + 64 * list_file::unit * 2);
          EXPECT_GE(b.rounds[0].file.bytes_read, lists.stored_targets.bytes / 4 * 4 - list_file::unit);
        } else {
          auto const x = twin.ranks(), y = job.ranks();
          for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 0.05 + 0.02 * static_cast<double>(x[k]));
        }
      }
  });
}

TEST_P(file_tier_at, weighted_pagerank) {
  for (weight_kind kind : {weight_kind::u32, weight_kind::f32})
    each_graph(kind, [&](graph const& near, graph const& far) {
      for (access_mode how : {access_mode::aligned, access_mode::strided}) {
        pagerank_options o = options<pagerank_options>();
        o.access = how, o.weighted = true, o.iterations = 5;
        pagerank_job twin(near, o), job(far, o);
        pagerank_run const a = twin.run(), b = job.run();
        ASSERT_TRUE(a.verified && b.verified);
        ASSERT_EQ(job.ranks(), twin.ranks());  // bit by bit
        EXPECT_EQ(b.link.bytes_useful, a.link.bytes_useful);
        read_something(b.file, b.edges, 1);
        o.weighted = false;
        pagerank_job alike(far, o);
        alike.run();
        EXPECT_NE(alike.ranks(), twin.ranks());
      }
    });
}

TEST_P(file_tier_at, sssp) {
  for (weight_kind kind : {weight_kind::u32, weight_kind::f32})
    each_graph(kind, [&](graph const& near, graph const& far) {
      for (access_mode how : {access_mode::aligned, access_mode::strided})
        for (sssp_variant v : {sssp_variant::near_far, sssp_variant::emogi}) {
          sssp_options o = options<sssp_options>();
          o.access = how, o.variant = v;
          if (v == sssp_variant::emogi && is_small(far)) continue;
          sssp_job twin(near, o), job(far, o);
          sssp_run const a = twin.run(5), b = job.run(5);
          ASSERT_TRUE(b.verified);
          EXPECT_EQ(b.reached, a.reached);
          if (kind == weight_kind::u32) ASSERT_EQ(job.distances(), twin.distances());
          else ASSERT_EQ(job.real_distances(), twin.real_distances());
          read_something(b.file, b.edges, 1);
          EXPECT_EQ(job.parents().size(), near.info.vertices);
        }
    });
}

TEST_F(file_tier, small_graphs_and_graphs_in_another_order) {
  for (generator kind : {generator::kron, generator::web, generator::uniform}) {
    graph g = generated(kind, 12);
    std::string const file = saved(g);
    graph const near = load(file, {}, tier::host), far = load(file, {}, tier::file, small_window);
    bfs_options o;
    o.verify = true;
    bfs_job twin(near, o), job(far, o);
    for (std::uint64_t source : pick_sources(near, 4, 3)) {
      twin.run(source), job.run(source);
      ASSERT_EQ(job.depths(), twin.depths());
    }
    // At most the reads of a search by levels, and some: here top-down levels read all lists at most once.
    EXPECT_EQ(pick_sources(near, 4, 3), pick_sources(far, 4, 3));
  }
}

TEST_F(file_tier, a_graph_without_arcs_and_one_vertex) {
  for (graph const& g : {make_graph({}, true, 1), make_graph({}, true, 40), make_graph({{0, 1}}, true)}) {
    std::string const file = saved(g);
    graph const far = load(file, {}, tier::file);
    bfs_options o;
    o.verify = true;
    EXPECT_EQ(bfs_job(far, o).run(0).reached, g.info.edges ? 2u : 1u);
    components_options c;
    c.verify = true;
    EXPECT_EQ(components_job(far, c).run().components, g.info.vertices - g.info.edges / 2);
    pagerank_options p;
    p.verify = true;
    EXPECT_TRUE(pagerank_job(far, p).run().converged);
  }
}

TEST_F(file_tier, what_does_not_go_together_is_said) {
  graph const g = random_graph(3, 4, false, weight_kind::none);
  std::string const file = saved(g);
  graph const near = load(file, {}, tier::host), far = load(file, {}, tier::file);
  errc code{};
  bfs_options o;
  o.variant = bfs_variant::direction;
  EXPECT_NE(error_of([&] { bfs_job(far, o); }, &code).find("use variant levels"), std::string::npos);
  EXPECT_EQ(code, errc::usage);
  o = {};
  o.edges = tier::file;
  EXPECT_NE(error_of([&] { bfs_job(near, o); }).find("do not lie in their file"), std::string::npos);
  o.edges = tier::host;
  EXPECT_NE(error_of([&] { bfs_job(far, o); }).find("were left in their file"), std::string::npos);
  o.edges = {}, o.access = access_mode::copied;
  EXPECT_NE(error_of([&] { bfs_job(far, o); }).find("does not go with tier file"), std::string::npos);
  EXPECT_NE(error_of([&] { far.view<std::uint32_t>(far.out); }).find("open it with tier host"), std::string::npos);
  pagerank_options p;
  p.by_degree = true;
  EXPECT_NE(error_of([&] { pagerank_job(far, p); }).find("by_degree"), std::string::npos);
  o = {};
  o.access = access_mode::paged;
  EXPECT_NE(error_of([&] { bfs_job(far, o); }).find("does not go with tier"), std::string::npos);
}

TEST_F(file_tier, a_list_that_is_not_cut_and_larger_than_a_window) {
  graph const g = random_graph(4, 8, true, weight_kind::none);
  graph const far = load(saved(g), {}, tier::file, 16 << 10);
  bfs_options o;
  o.variant = bfs_variant::emogi;
  errc code{};
  bfs_job job(far, o);
  std::string const text = error_of([&] { job.run(5); }, &code);
  EXPECT_EQ(code, errc::memory);
  EXPECT_NE(text.find("g.gnr: edges "), std::string::npos) << text;
  EXPECT_NE(text.find("raise the host budget"), std::string::npos) << text;
  o.variant = bfs_variant::levels, o.tuning.slice = 512;
  EXPECT_GT(bfs_job(far, o).run(5).reached, 1u);
}

TEST_F(file_tier, windows_keep_to_the_host_budget) {
  generate_options made;
  made.scale = 14;
  executor x({device_kind::cpu, 0});
  build_report report;
  std::string const file = saved(generate(x, made, report));
  graph const far = load(file, {}, tier::file);
  pagerank_options o;
  o.verify = true;
  budget& host = host_budget();
  std::uint64_t const was = host.limit(), state = pagerank_job::state_bytes(far.info, o);
  for (std::uint64_t more : {8u << 20, 2u << 20}) {
    host.set_limit(host.used() + state + more);
    pagerank_job job(far, o);
    EXPECT_TRUE(job.run().verified);
    EXPECT_LE(host.used(), host.limit());
  }
  host.set_limit(host.used() + state + (100 << 10));
  errc code{};
  std::string const text = error_of([&] { pagerank_job(far, o).run(); }, &code);
  host.set_limit(was);
  EXPECT_EQ(code, errc::memory);
  EXPECT_NE(text.find("host budget"), std::string::npos) << text;
}

// --- what is read, and what is spared ---

struct sparing : file_tier_at {
  static constexpr std::uint64_t kept_near = 1u << 20;  // space for the file's best neighbors on a device
  static graph kron(unsigned scale) { return generated(generator::kron, scale); }
  // Reads of one verified search.
  bfs_run searched(graph const& far, graph const& near, std::uint64_t source, std::optional<std::uint32_t> cached = {}) {
    bfs_options o = options<bfs_options>(), at_home = o;
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
      components_options c = options<components_options>();
      c.graph_cache = kept_near;
      components_job job(far, c), twin(near, c);
      components_run const r = job.run();
      twin.run();
      EXPECT_TRUE(r.verified);
      EXPECT_EQ(job.labels(), twin.labels());
      EXPECT_LT(r.file.bytes_read, far.out.stored_targets.bytes / 8);  // the reads without neighbors in the file
      bfs_options wrong = options<bfs_options>();
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
  bfs_options o = options<bfs_options>();
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
    bfs_options o;
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

// --- what is taken ---

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
            if (auto* const ranks = std::get_if<pagerank_options>(&o)) ranks->weighted = kind != weight_kind::none;
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
                    if constexpr (std::is_same_v<Options, bfs_options>) run(bfs_job(far, options), 5);
                    else if constexpr (std::is_same_v<Options, sssp_options>) run(sssp_job(far, options), 5);
                    else if constexpr (std::is_same_v<Options, components_options>) run(components_job(far, options));
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

// --- what a drive does ---

simulated_drive holding_it(std::string const& file, std::vector<drive_fault> faults) {
  simulated_drive like;
  like.faults = std::move(faults);
  return holding(file, like);
}

struct file_faults : file_tier {
  std::string file;
  void SetUp() override {
    file_tier::SetUp();
    file = saved(generated(generator::kron, 13));
  }
  graph with(std::vector<drive_fault> faults, bool check = true) const {
    return load(file, {}, tier::file, small_window, simulate({holding_it(file, std::move(faults))}), check);
  }
  static std::string run_pagerank(graph const& g, errc& code) {
    pagerank_job job(g, {});
    return error_of([&] { job.run(); }, &code);
  }
};

TEST_F(file_faults, an_error_of_the_drive_names_file_and_place) {
  drive_fault f;
  f.every = 3;
  graph const far = with({f});
  errc code{};
  std::string const text = run_pagerank(far, code);
  EXPECT_EQ(code, errc::io);
  EXPECT_NE(text.find("bytes at byte"), std::string::npos) << text;
  EXPECT_NE(text.find("Input/output error"), std::string::npos) << text;
}

TEST_F(file_faults, short_and_late_reads_and_answers_twice_change_nothing) {
  std::vector<drive_fault> faults(3);
  faults[0].what = drive_fault::kind::short_read, faults[0].every = 5;
  faults[1].what = drive_fault::kind::twice, faults[1].every = 7;
  faults[2].what = drive_fault::kind::late, faults[2].every = 11, faults[2].seconds = 0.002;
  graph const far = with(faults), near = load(file, {}, tier::host);
  pagerank_job job(far, {}), twin(near, {});
  job.run(), twin.run();
  EXPECT_EQ(job.ranks(), twin.ranks());
  bfs_job search(far, {}), same(near, {});
  std::uint64_t const source = pick_sources(near, 1, 1)[0];
  search.run(source), same.run(source);
  EXPECT_EQ(search.depths(), same.depths());
}

TEST_F(file_faults, a_wrong_bit_is_an_error) {
  drive_fault f;
  f.what = drive_fault::kind::wrong_bit, f.every = 4;
  graph const checked = with({f});
  errc code{};
  std::string const text = run_pagerank(checked, code);
  EXPECT_EQ(code, errc::input);
  EXPECT_NE(text.find("are not what was read before"), std::string::npos) << text;
}

TEST_F(file_faults, targets_beyond_the_vertices_are_found_without_checksums) {
  for (bool packed : {false, true}) {
    graph g = random_graph(6, 4, true, weight_kind::none);
    if (packed) pack(g);
    std::string const bad = saved(g, "bad.gnr");
    container_header const h = read_header(bad);
    std::uint64_t at = 0;
    for (container_section const& s : h.sections)
      if (s.kind == (packed ? section_kind::out_target_words : section_kind::out_targets)) at = s.offset + 40000 / (packed ? 2 : 1);
    {
      std::fstream out(bad, std::ios::in | std::ios::out | std::ios::binary);
      out.seekp(static_cast<std::streamoff>(at));
      std::string const damage(64, '\xff');
      out.write(damage.data(), 64);
    }
    EXPECT_NE(error_of([&] { load(bad, {}, tier::file); }).find("damaged"), std::string::npos);
    graph const far = load(bad, {}, tier::file, small_window, {}, false);
    errc code{};
    components_job job(far, {});
    std::string const text = error_of([&] { job.run(); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_NE(text.find("leads beyond the"), std::string::npos) << text;
  }
}

TEST_F(file_faults, a_file_that_is_written_to_or_cut_meanwhile) {
  graph const far = load(file, {}, tier::file, small_window);
  pagerank_job job(far, {});
  job.run();
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(5000);
    out.write("\1\2\3\4", 4);
  }
  errc code{};
  std::string text = error_of([&] { job.run(); }, &code);
  EXPECT_EQ(code, errc::input) << text;
  EXPECT_NE(text.find("g.gnr"), std::string::npos) << text;
  std::filesystem::resize_file(file, 20000);
  text = error_of([&] { job.run(); }, &code);
  EXPECT_NE(text.find("g.gnr"), std::string::npos) << text;
}

TEST_F(file_faults, an_interrupt_stops_reads_that_are_never_answered) {
  drive_fault f;
  f.what = drive_fault::kind::never, f.every = 2;
  graph const far = with({f});
  pagerank_job job(far, {});
  std::jthread const user([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    request_interrupt();
  });
  errc code{};
  auto const start = std::chrono::steady_clock::now();
  error_of([&] { job.run(); }, &code);
  EXPECT_EQ(code, errc::interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  clear_interrupt();
}

}  // namespace
}  // namespace garner

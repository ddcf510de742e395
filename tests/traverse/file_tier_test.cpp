// Algorithms over adjacency in a file against the same in memory: every algorithm, variant, access, id width, compressed or not, on every
// device, with staging buffers of a few lists up to everything.
#include "traverse/file_tier.hpp"

#include "traverse/sssp.hpp"

namespace garner {
namespace {
using namespace testing;

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
        bfs_asked o = options<bfs_asked>();
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
        components_asked o = options<components_asked>();
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
        pagerank_asked o = options<pagerank_asked>();
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
        pagerank_asked o = options<pagerank_asked>();
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
          sssp_asked o = options<sssp_asked>();
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
    bfs_asked o;
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
    bfs_asked o;
    o.verify = true;
    EXPECT_EQ(bfs_job(far, o).run(0).reached, g.info.edges ? 2u : 1u);
    components_asked c;
    c.verify = true;
    EXPECT_EQ(components_job(far, c).run().components, g.info.vertices - g.info.edges / 2);
    pagerank_asked p;
    p.verify = true;
    EXPECT_TRUE(pagerank_job(far, p).run().converged);
  }
}

TEST_F(file_tier, what_does_not_go_together_is_said) {
  graph const g = random_graph(3, 4, false, weight_kind::none);
  std::string const file = saved(g);
  graph const near = load(file, {}, tier::host), far = load(file, {}, tier::file);
  errc code{};
  bfs_asked o;
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
  pagerank_asked p;
  p.by_degree = true;
  EXPECT_NE(error_of([&] { pagerank_job(far, p); }).find("by_degree"), std::string::npos);
  o = {};
  o.access = access_mode::paged;
  EXPECT_NE(error_of([&] { bfs_job(far, o); }).find("does not go with tier"), std::string::npos);
}

TEST_F(file_tier, a_list_that_is_not_cut_and_larger_than_a_window) {
  graph const g = random_graph(4, 8, true, weight_kind::none);
  graph const far = load(saved(g), {}, tier::file, 16 << 10);
  bfs_asked o;
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
  pagerank_asked o;
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

}  // namespace
}  // namespace garner

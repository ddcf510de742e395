// Access copied against aligned: the same results on every device for uncompressed, compressed and weighted graphs, in blocks of one line
// up to a single one; it sends exactly the active edges.
#include "traverse/copied.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/pack.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/sssp.hpp"
#include "traverse_support.hpp"

namespace garner {
namespace {

using namespace testing;

graph random_graph(std::uint64_t seed, std::uint32_t id_bytes, bool undirected, weight_kind kind) {
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_loops = true;
  o.keep_duplicates = seed % 2;
  return hub_graph(seed, 2000, 6000, undirected, kind, o);
}
graph made(std::uint64_t seed, std::uint32_t id_bytes, bool undirected, weight_kind kind, bool packed, execution_device where) {
  graph g = random_graph(seed, id_bytes, undirected, kind);
  if (packed) pack(g);
  return mapped(std::move(g), where);
}

// Link traffic of `arcs` edges sent in one round.
std::uint64_t to_sectors(std::uint64_t bytes) { return (bytes + 31) / 32 * 32; }

class copied : public at_place {
 protected:
  // f(graph, options with place, access and blocks set) for all that must give the result of `aligned`.
  template <class Options, class F>
  void each_way(weight_kind kind, F f) {
    for (bool undirected : {true, false})
      for (std::uint32_t id_bytes : {4u, 8u})
        for (bool packed : {false, true}) {
          if (packed && id_bytes == 8) continue;
          graph const g = made(id_bytes + undirected, id_bytes, undirected, kind, packed, where());
          ASSERT_EQ(g.info.compressed, packed);
          for (std::uint64_t block : {std::uint64_t{1}, std::uint64_t{1024}, std::uint64_t{64} << 20}) {  // 1: a line
            SCOPED_TRACE(fmt::format("undirected {} ids {} compressed {} block {}", undirected, id_bytes, packed, block));
            Options o;
            o.device = where();
            o.access = access_mode::copied;
            o.tuning.block_bytes = block;
            o.verify = true;
            f(g, o);
            if (HasFatalFailure()) return;
          }
        }
  }
  bool crosses() const { return where().kind == device_kind::cuda || (where().kind == device_kind::simulated && counts_requests()); }
  void sent(traffic const& link, std::uint64_t arcs, std::uint64_t bytes, std::uint64_t bytes_link) const {
    EXPECT_EQ(link.bytes_useful, crosses() ? arcs * bytes : 0);
    EXPECT_EQ(link.bytes_link(), crosses() ? bytes_link : 0);
    EXPECT_LE(link.requests[0] + link.requests[1] + link.requests[2], 1000u);  // the rest of a line, once per round and array
  }
};
GARNER_AT_EVERY_PLACE(copied);

template <class Options>
Options like(Options o) {
  o.access = access_mode::aligned;
  o.graph_cache = 0;
  return o;
}

TEST_P(copied, bfs) {
  each_way<bfs_asked>(weight_kind::none, [&](graph const& g, bfs_asked o) {
    for (bfs_variant v : {bfs_variant::levels, bfs_variant::emogi})
      for (std::uint32_t per_team : {1u, 3u}) {
        o.variant = v;
        o.tuning.slice = 64;
        o.tuning.vertices_per_team = per_team;
        o.tuning.join_lists = per_team == 1;  // irrelevant
        bfs_job job(g, o), want(g, like(o));
        bfs_run const r = job.run(5);
        EXPECT_TRUE(r.verified);
        want.run(5);
        ASSERT_EQ(job.depths(), want.depths());
        EXPECT_TRUE(job.setting().device_cache.empty());
        std::uint64_t bytes = 0;
        for (bfs_level const& l : r.levels) bytes += to_sectors(l.edges * g.info.id_bytes);
        sent(r.link, r.edges, g.info.id_bytes, bytes);
        job.run(6);
        want.run(6);
        ASSERT_EQ(job.depths(), want.depths());
      }
  });
}

TEST_P(copied, sssp) {
  for (weight_kind kind : {weight_kind::u32, weight_kind::f32})
    each_way<sssp_asked>(kind, [&](graph const& g, sssp_asked o) {
      for (sssp_variant v : {sssp_variant::near_far, sssp_variant::emogi}) {
        o.variant = v;
        o.tuning.slice = 64;
        sssp_job job(g, o), want(g, like(o));
        sssp_run const r = job.run(5);
        EXPECT_TRUE(r.verified);
        want.run(5);
        if (kind == weight_kind::u32) ASSERT_EQ(job.distances(), want.distances());
        else ASSERT_EQ(job.real_distances(), want.real_distances());
        std::uint64_t bytes = 0;
        for (sssp_round const& round : r.rounds) bytes += to_sectors(round.edges * g.info.id_bytes) + to_sectors(round.edges * 4);
        EXPECT_EQ(r.link.bytes_useful, crosses() ? r.edges * (g.info.id_bytes + 4) : 0);
        EXPECT_EQ(r.link.bytes_link(), crosses() ? bytes : 0);
      }
    });
}

TEST_P(copied, components) {
  each_way<components_asked>(weight_kind::none, [&](graph const& g, components_asked o) {
    for (components_variant v : {components_variant::afforest, components_variant::emogi}) {
      o.variant = v;
      o.tuning.slice = 64;
      components_job job(g, o), want(g, like(o));
      components_run const r = job.run();
      EXPECT_TRUE(r.verified);
      want.run();
      ASSERT_EQ(job.labels(), want.labels());
      std::uint64_t bytes = 0;
      for (components_phase const& p : r.phases) bytes += to_sectors(p.edges * g.info.id_bytes);
      sent(r.link, r.edges, g.info.id_bytes, bytes);
    }
  });
}

TEST_P(copied, pagerank) {
  each_way<pagerank_asked>(weight_kind::none, [&](graph const& g, pagerank_asked o) {
    o.variant = pagerank_variant::emogi;
    pagerank_job job(g, o), want(g, like(o));
    pagerank_run const r = job.run();
    EXPECT_TRUE(r.verified);
    want.run();
    std::vector<float> const a = job.ranks(), b = want.ranks();
    double l1 = 0, all = 0;
    for (std::size_t k = 0; k < a.size(); ++k) l1 += std::abs(a[k] - b[k]), all += b[k];
    ASSERT_LE(l1 / all, 2e-3);
    std::uint64_t bytes = 0;
    for (pagerank_round const& round : r.rounds) bytes += to_sectors(round.edges * g.info.id_bytes);
    sent(r.link, r.edges, g.info.id_bytes, bytes);
  });
}

TEST_P(copied, small_graphs) {
  graph const lonely = make_graph({}, true, 3), loop = make_graph({{0, 1}}, true, 2);
  if (where().kind == device_kind::cuda) return;  // their edges are not mapped
  bfs_asked o;
  o.device = where();
  o.access = access_mode::copied;
  bfs_job none(lonely, o), one(loop, o);
  EXPECT_EQ(none.run(1).reached, 1u);
  EXPECT_EQ(one.run(1).reached, 2u);
}

// A cache cannot hold newly compacted lists.
TEST(copied_simulated, an_l2_does_not_matter) {
  graph const g = random_graph(1, 4, true, weight_kind::none);
  bfs_asked o;
  o.device = {device_kind::simulated, 0};
  o.access = access_mode::copied;
  o.tuning.block_bytes = 1024;
  traffic const plain = bfs_job(g, o).run(5).link;
  o.tuning.l2_bytes = 1 << 20;
  EXPECT_EQ(bfs_job(g, o).run(5).link, plain);
}

TEST(copied_usage, what_does_not_go) {
  graph const g = make_graph({{0, 1}, {1, 2}}, true, 3);
  auto const refusal = [](auto f) {
    errc code{};
    std::string const text = error_of(f, &code);
    EXPECT_EQ(code, errc::usage) << text;
    return text;
  };
  bfs_asked b;
  b.access = access_mode::copied;
  EXPECT_EQ(bfs_job::default_variant(g.info, b), bfs_variant::levels);
  b.variant = bfs_variant::direction;
  EXPECT_NE(refusal([&] { bfs_job(g, b); }).find("use variant levels"), std::string::npos);
  pagerank_asked p;
  p.access = access_mode::copied;
  EXPECT_NE(refusal([&] { pagerank_job(g, p); }).find("use variant emogi"), std::string::npos);
  b.variant = bfs_variant::levels;
  for (tier t : {tier::managed, tier::device, tier::file}) {
    b.edges = t;
    std::string const why = t == tier::device ? "cpu does not go with tier device" : "copied reads tier host";
    EXPECT_NE(refusal([&] { bfs_job(g, b); }).find(why), std::string::npos) << to_string(t);
  }
}

}  // namespace
}  // namespace garner

// Planned traffic of a direction-optimizing search, against simulated searches from many sources.
#include "traverse/search_model.hpp"

#include <algorithm>

#include "far/traffic.hpp"
#include "generated.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"

namespace garner {
namespace {
using namespace garner::testing;

degree_classes degrees_of(graph const& g) {
  degree_classes all;
  for (std::uint64_t v = 0; v < g.info.vertices; ++v) {
    std::uint64_t const begin = g.out.offsets[v], end = g.out.offsets[v + 1];
    all.add(end - begin, traffic_of_run(begin, end, g.info.id_bytes, access_mode::aligned));
  }
  return all;
}

// The median of the requests of searches from many sources.
double searched(graph const& g, std::uint32_t cached_neighbors) {
  bfs_asked o;
  o.device = {device_kind::simulated, 0};
  o.variant = bfs_variant::direction;
  o.cached_neighbors = cached_neighbors;
  o.graph_cache = 0;
  bfs_job job(g, o);
  std::vector<double> bytes;
  for (std::uint64_t const source : pick_sources(g, 15, 1)) bytes.push_back(static_cast<double>(job.run(source).link.bytes_link()));
  std::sort(bytes.begin(), bytes.end());
  return bytes[bytes.size() / 2];
}

TEST(search_model, is_near_what_simulated_searches_ask_for) {
  GARNER_NEEDS_COUNTS();
  for (std::uint32_t const id_bytes : {4u, 8u})
    for (generator const kind : {generator::uniform, generator::kron}) {
      graph const g = generated(kind, 14, id_bytes);
      degree_classes const degrees = degrees_of(g);
      EXPECT_EQ(degrees.alike(), kind == generator::uniform);
      double const once = static_cast<double>(g.info.edges * id_bytes);
      for (std::uint32_t const cached_neighbors : {0u, 3u, 4u}) {
        probing how;
        how.cached_neighbors = cached_neighbors, how.each_of_a_class = cached_neighbors == 4, how.arcs_a_step = 32.0 / id_bytes;
        double const told = static_cast<double>(model_search(degrees, how).bytes_link()), seen = searched(g, cached_neighbors);
        SCOPED_TRACE(fmt::format("{} {} bytes, {} cached neighbors: {} predicted, {} counted, {} in all",
                                 kind == generator::uniform ? "uniform" : "kron", id_bytes, cached_neighbors, told, seen, once));
        // Kronecker graphs: few bytes, which depend on the source.
        double const factor = kind == generator::uniform ? 1.4 : 2.5, bytes = kind == generator::uniform ? 0 : 0.02 * once;
        EXPECT_LE(told, factor * seen + bytes);
        EXPECT_GE(told, seen / factor - bytes);
        EXPECT_LT(told, once);
      }
    }
}

// Cases with an exact value.
TEST(search_model, of_graphs_that_leave_no_choice) {
  EXPECT_EQ(model_search({}, {}).bytes_link(), 0u);
  // Pairs: the source and its neighbor, each with a list of one; no level is worth switching for.
  degree_classes pairs;
  for (int v = 0; v < 100'000; ++v) pairs.add(1, traffic_of_run(0, 1, 4, access_mode::aligned));
  EXPECT_LE(model_search(pairs, {}).bytes_link(), 64u);
  // All neighbors are cached: no vertex reads remote memory in a bottom-up level.
  degree_classes few;
  for (int v = 0; v < 100'000; ++v) few.add(3, traffic_of_run(0, 3, 4, access_mode::aligned));
  probing how;
  std::uint64_t const none = model_search(few, how).bytes_link();
  how.cached_neighbors = 3;
  EXPECT_LT(model_search(few, how).bytes_link(), none / 2);
}

TEST(search_model, more_hints_ask_for_less) {
  for (generator const kind : {generator::uniform, generator::kron}) {
    degree_classes const degrees = degrees_of(generated(kind, 12, 4));
    std::uint64_t before = ~std::uint64_t{0};
    for (std::uint32_t cached_neighbors = 0; cached_neighbors <= 3; ++cached_neighbors) {
      probing how;
      how.cached_neighbors = cached_neighbors;
      std::uint64_t const now = model_search(degrees, how).bytes_link();
      EXPECT_LT(now, before) << cached_neighbors;
      before = now;
    }
  }
}

}  // namespace
}  // namespace garner

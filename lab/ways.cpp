#include "lab/ways.hpp"

#include <array>

namespace garner::lab {

namespace {

using enum access_mode;

void paper_bfs(bfs_asked& o) { o.variant = bfs_variant::emogi; }
void paper_bfs_x8(bfs_asked& o) { paper_bfs(o), o.tuning.vertices_per_team = 8; }
void levels(bfs_asked& o) { o.variant = bfs_variant::levels, o.graph_cache = 0; }
void direction(bfs_asked& o) { o.variant = bfs_variant::direction, o.graph_cache = 0; }
void direction_cached_neighbors(bfs_asked&) {}  // the default

constexpr strategy<bfs_asked> of_bfs[] = {
    {"uvm", "UVM", true, paged, 4, paper_bfs},
    {"strided", "strided", true, strided, 4, paper_bfs},
    {"merged", "merged", true, merged, 4, paper_bfs},
    {"aligned", "aligned", true, aligned, 4, paper_bfs},
    {"copied", "copied, Subway", true, copied, 4, paper_bfs},
    {"aligned-x8", "aligned, x8", true, aligned, 4, paper_bfs_x8},
    {"levels", "Garner, levels", false, aligned, 4, levels},
    {"direction", "Garner, no cached neighbors", false, aligned, 4, direction},
    {"default", "Garner", false, aligned, 4, direction_cached_neighbors},
    {"aligned", "aligned", true, aligned, 8, paper_bfs},
    {"default", "Garner", false, aligned, 8, direction_cached_neighbors},
    {"near", "Garner, near", false, aligned, 4, direction_cached_neighbors, true},
};
// The strategies of an algorithm that has one of each kind.
template <class Options>
constexpr std::array<strategy<Options>, 9> ways_of(void (*papers)(Options&), void (*own)(Options&)) {
  return {{{"uvm", "UVM", true, paged, 4, papers},
           {"strided", "strided", true, strided, 4, papers},
           {"merged", "merged", true, merged, 4, papers},
           {"aligned", "aligned", true, aligned, 4, papers},
           {"copied", "copied, Subway", true, copied, 4, papers},
           {"default", "Garner", false, aligned, 4, own},
           {"aligned", "aligned", true, aligned, 8, papers},
           {"default", "Garner", false, aligned, 8, own},
           {"near", "Garner, near", false, aligned, 4, own, true}}};
}
constexpr auto of_sssp = ways_of<sssp_asked>([](auto& o) { o.variant = sssp_variant::emogi; }, [](auto&) {});
constexpr auto of_components = ways_of<components_asked>([](auto& o) { o.variant = components_variant::emogi; }, [](auto&) {});
constexpr auto of_pagerank = ways_of<pagerank_asked>([](auto& o) { o.variant = pagerank_variant::emogi; }, [](auto&) {});

}  // namespace

std::span<strategy<bfs_asked> const> bfs_ways() { return of_bfs; }
std::span<strategy<sssp_asked> const> sssp_ways() { return of_sssp; }
std::span<strategy<components_asked> const> components_ways() { return of_components; }
std::span<strategy<pagerank_asked> const> pagerank_ways() { return of_pagerank; }

}  // namespace garner::lab

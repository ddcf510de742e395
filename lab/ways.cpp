#include "lab/ways.hpp"

namespace garner::lab {

namespace {

using enum access_mode;

void paper_bfs(bfs_options& o) { o.variant = bfs_variant::emogi; }
void paper_bfs_x8(bfs_options& o) { paper_bfs(o), o.tuning.vertices_per_team = 8; }
void levels(bfs_options& o) { o.variant = bfs_variant::levels, o.graph_cache = 0; }
void direction(bfs_options& o) { o.variant = bfs_variant::direction, o.graph_cache = 0; }
void direction_cached_neighbors(bfs_options&) {}  // the default

void paper_sssp(sssp_options& o) { o.variant = sssp_variant::emogi; }
void near_far(sssp_options&) {}

void paper_components(components_options& o) { o.variant = components_variant::emogi; }
void afforest(components_options&) {}

void paper_pagerank(pagerank_options& o) { o.variant = pagerank_variant::emogi; }
void pull(pagerank_options&) {}

constexpr strategy<bfs_options> of_bfs[] = {
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
constexpr strategy<sssp_options> of_sssp[] = {
    {"uvm", "UVM", true, paged, 4, paper_sssp},
    {"strided", "strided", true, strided, 4, paper_sssp},
    {"merged", "merged", true, merged, 4, paper_sssp},
    {"aligned", "aligned", true, aligned, 4, paper_sssp},
    {"copied", "copied, Subway", true, copied, 4, paper_sssp},
    {"default", "Garner", false, aligned, 4, near_far},
    {"aligned", "aligned", true, aligned, 8, paper_sssp},
    {"default", "Garner", false, aligned, 8, near_far},
    {"near", "Garner, near", false, aligned, 4, near_far, true},
};
constexpr strategy<components_options> of_components[] = {
    {"uvm", "UVM", true, paged, 4, paper_components},
    {"strided", "strided", true, strided, 4, paper_components},
    {"merged", "merged", true, merged, 4, paper_components},
    {"aligned", "aligned", true, aligned, 4, paper_components},
    {"copied", "copied, Subway", true, copied, 4, paper_components},
    {"default", "Garner", false, aligned, 4, afforest},
    {"aligned", "aligned", true, aligned, 8, paper_components},
    {"default", "Garner", false, aligned, 8, afforest},
    {"near", "Garner, near", false, aligned, 4, afforest, true},
};
constexpr strategy<pagerank_options> of_pagerank[] = {
    {"uvm", "UVM", true, paged, 4, paper_pagerank},
    {"strided", "strided", true, strided, 4, paper_pagerank},
    {"merged", "merged", true, merged, 4, paper_pagerank},
    {"aligned", "aligned", true, aligned, 4, paper_pagerank},
    {"copied", "copied, Subway", true, copied, 4, paper_pagerank},
    {"default", "Garner", false, aligned, 4, pull},
    {"aligned", "aligned", true, aligned, 8, paper_pagerank},
    {"default", "Garner", false, aligned, 8, pull},
    {"near", "Garner, near", false, aligned, 4, pull, true},
};

}  // namespace

std::span<strategy<bfs_options> const> bfs_ways() { return of_bfs; }
std::span<strategy<sssp_options> const> sssp_ways() { return of_sssp; }
std::span<strategy<components_options> const> components_ways() { return of_components; }
std::span<strategy<pagerank_options> const> pagerank_ways() { return of_pagerank; }

}  // namespace garner::lab

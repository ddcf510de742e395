// Shortest paths over edges in memory, from two sources with one state.
#include <cstdio>
#include <garner/garner.hpp>
#include <vector>

int main() {
  try {
    std::vector<garner::edge> const roads{{10, 20}, {20, 30}, {10, 30}, {30, 40}, {50, 60}};
    std::vector<float> const hours{1.5f, 0.5f, 3.0f, 1.0f, 2.0f};
    garner::edge_array array;
    array.edges = roads;
    array.real_weights = hours;
    garner::build_options build;
    build.undirected = true;
    build.numbering = garner::build_options::ids::compact;  // only ids that occur
    auto const g = garner::build_graph(array, build);

    garner::sssp_solver search(g);
    auto const ids = g.ids();
    for (std::uint64_t const source : {10, 40}) {
      search.run(source);
      auto const hours_to = search.real_distances();
      auto const before = search.parents();
      for (std::size_t k = 0; k < ids.size(); ++k) {
        if (before[k] == garner::no_vertex) continue;
        std::printf("%llu to %llu: %.1f h, by %llu\n", static_cast<unsigned long long>(source), static_cast<unsigned long long>(ids[k]),
                    static_cast<double>(hours_to[k]), static_cast<unsigned long long>(before[k]));
      }
    }
  } catch (garner::error const& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}

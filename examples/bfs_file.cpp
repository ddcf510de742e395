// Breadth-first search over a graph file: bfs_file GRAPH.gnr SOURCE [DEVICE]
#include <cstdio>
#include <cstdlib>
#include <garner/garner.hpp>

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "bfs_file GRAPH.gnr SOURCE [PLACE]\n"), 2;
  try {
    garner::bfs_options how;
    if (argc > 3) how.device = garner::parse_device(argv[3]);  // "cuda": edges stay in host memory, mapped for the GPU
    how.verify = true;
    garner::open_options open;
    open.device = how.device;
    auto const g = garner::open_graph(argv[1], open);
    auto const found = garner::bfs(g, std::strtoull(argv[2], nullptr, 10), how);
    std::printf("reached %llu of %llu vertices, depth %u\n", static_cast<unsigned long long>(found.run.reached),
                static_cast<unsigned long long>(g.info().vertices), found.run.depth_max);
    auto const ids = g.ids();
    for (std::size_t k = 0; k < ids.size() && k < 10; ++k) {
      if (found.depth[k] == garner::unreached) std::printf("%llu: not reached\n", static_cast<unsigned long long>(ids[k]));
      else std::printf("%llu: %u\n", static_cast<unsigned long long>(ids[k]), found.depth[k]);
    }
  } catch (garner::error const& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}

// The ten pages of highest rank: pagerank_top GRAPH, a graph file or any format that garner convert reads
#include <cstdio>
#include <garner/garner.hpp>
#include <string_view>

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "pagerank_top GRAPH\n"), 2;
  try {
    garner::build_options build;
    build.in_edges = true;  // PageRank pulls along in-edges
    bool const container = std::string_view(argv[1]).ends_with(".gnr");
    auto const g = container ? garner::open_graph(argv[1]) : garner::read_graph(argv[1], build);
    auto const ranked = garner::pagerank(g);
    std::printf("%llu iterations, ranks sum to %.4f\n", static_cast<unsigned long long>(ranked.run.iterations), ranked.run.rank_sum);
    for (auto const& [id, rank] : garner::highest_ranks(g, ranked, 10))
      std::printf("%llu %.6f\n", static_cast<unsigned long long>(id), static_cast<double>(rank));
  } catch (garner::error const& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}

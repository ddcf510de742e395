// An epoch of mini-batches with their feature rows, as in training: two hops, 15 and 10 neighbors per node.
//   load_batches [cpu | simulated]      On a GPU, ids and rows would be device pointers, and next() would take a stream.
#include <cstdio>
#include <garner/garner.hpp>
#include <numeric>
#include <vector>

int main(int argc, char** argv) {
  try {
    garner::execution_device const where = garner::parse_device(argc > 1 ? argv[1] : "cpu");
    garner::generate_options kron;
    kron.scale = 10;
    garner::graph_handle const graph = garner::generate_graph(kron);
    std::uint64_t const vertices = graph.info().vertices, width = 16;
    std::vector<float> rows(vertices * width);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i / width);

    garner::tiered_options tiers;
    tiers.device = where;
    garner::tiered_tensor features({rows.data(), vertices, width, garner::element::f32, {}}, tiers);
    garner::block_sampler sampler(where, graph, {15, 10});
    std::vector<std::int64_t> seeds(300);
    std::iota(seeds.begin(), seeds.end(), 0);
    garner::loader loader(sampler, {{.table = &features}}, seeds, {.batch_size = 100});

    std::uint64_t wrong = 0;
    while (auto const batch = loader.next()) {
      auto const& drawn = batch->subgraph().of_type(0);
      auto const* const x = static_cast<float const*>(batch->of_table(0).data);
      for (std::uint64_t i = 0; i < drawn.count; ++i) wrong += x[i * width] != static_cast<float>(drawn.ids[i]);
      std::printf("mini-batch %llu: %llu seeds, two hops: %s\n", static_cast<unsigned long long>(batch->index()),
                  static_cast<unsigned long long>(batch->seeds()), drawn.count > batch->seeds() ? "more vertices" : "none");
    }
    std::printf("rows that are not their vertex's: %llu\n", static_cast<unsigned long long>(wrong));
  } catch (garner::error const& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}

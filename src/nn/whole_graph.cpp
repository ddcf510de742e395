#include "nn/whole_graph.hpp"

#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"

namespace garner {

void whole_graph::take(side_lists& to, graph_handle const& g, bool in, bool weighted, bool inside) {
  graph_info const& info = g.info();
  to.from = inside ? lists_inside(g, in) : adjacency_of(g, in);
  to.view.offsets = to.from.offsets;
  to.view.ends = static_cast<std::uint32_t const*>(to.from.targets);
  if (info.id_bytes == 8) {
    to.ends.resize(info.edges);
    auto const* const wide = static_cast<std::uint64_t const*>(to.from.targets);
    shared_pool().run(info.edges, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) to.ends[i] = static_cast<std::uint32_t>(wide[i]);
    });
    to.view.ends = to.ends.data();
  }
  to.view.weights = nullptr;
  if (!weighted) return;
  if (info.weights == weight_kind::f32) {
    to.view.weights = static_cast<float const*>(to.from.weights);
    return;
  }
  auto const* const whole = static_cast<std::uint32_t const*>(to.from.weights);
  to.weights.assign(whole, whole + info.edges);
  to.view.weights = to.weights.data();
}

whole_graph::whole_graph(graph_handle const& g, edge_direction side, bool weighted, bool turned, bool inside) {
  graph_info const& info = g.info();
  vertices_ = info.vertices;
  if (vertices_ >= std::uint64_t{1} << 32) fail(errc::usage, "{}: {} vertices; a model takes less than 2^32", g.name(), vertices_);
  if (weighted && info.weights == weight_kind::none)
    fail(errc::input, "{}: this graph has no weights; convert it with some, or train without", g.name());
  same_ = !info.directed;
  take(pulled_, g, info.directed && side == edge_direction::in, weighted, inside);
  if (!same_ && turned) take(given_, g, side != edge_direction::in, weighted, inside);
}

std::vector<float> whole_graph::counts() const {
  std::vector<float> counts(vertices_);
  for (std::uint64_t v = 0; v < vertices_; ++v) counts[v] = static_cast<float>(pulled().offsets[v + 1] - pulled().offsets[v]);
  return counts;
}
std::vector<float> whole_graph::degrees() const {
  lists const& l = pulled();
  if (!l.weights) return counts();
  std::vector<float> sums(vertices_);
  for (std::uint64_t v = 0; v < vertices_; ++v) {
    double sum = 0;
    for (std::uint64_t k = l.offsets[v]; k < l.offsets[v + 1]; ++k) sum += static_cast<double>(l.weights[k]);
    sums[v] = static_cast<float>(sum);
  }
  return sums;
}

vertex_degrees degrees_of(graph_handle const& g, edge_direction side, bool weighted) {
  if (weighted) {
    whole_graph const all(g, side, true, false);
    return {all.counts(), all.degrees()};
  }
  graph const& inside = graph_access::of(g);
  edge_lists const& lists = side == edge_direction::in && inside.info.directed ? inside.in : inside.out;
  std::vector<float> counts(inside.info.vertices);
  for (std::uint64_t r = 0; r < counts.size(); ++r) {
    std::uint64_t const v = inside.at_rank(r);
    counts[r] = static_cast<float>(lists.offsets[v + 1] - lists.offsets[v]);
  }
  return {counts, counts};
}

}  // namespace garner

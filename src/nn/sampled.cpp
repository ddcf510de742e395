#include "nn/sampled.hpp"

#include <numeric>

#include "graph/handle.hpp"
#include "nn/model.hpp"

namespace garner {

sampled_layers::weights_of sampled_layers::weights_in(graph_handle const& g, edge_direction side) {
  graph const& inside = graph_access::of(g);
  if (inside.info.weights == weight_kind::none)
    fail(errc::input, "{}: this graph has no weights; convert it with some, or train without", inside.name);
  edge_lists const& lists = side == edge_direction::in && inside.info.directed ? inside.in : inside.out;
  return {with_id_type(inside.info, [&](auto id) { return inside.view<decltype(id)>(lists).weights; }), inside.info.weights};
}

sampled_layers::sampled_layers(executor& x, graph_handle const& g, edge_direction side, bool weighted, model_kind kind)
    : x_(x), how_(aggregation_of(kind)), edges_(1), weights_(1) {
  if (weighted) weights_[0] = weights_in(g, side);
  if (how_ != aggregation::gcn) return;
  vertex_degrees const of = degrees_of(g, side, weighted);
  counts_ = bring(x, of.counts, "degrees");
  degrees_ = weighted ? bring(x, of.degrees, "degrees") : buffer<float>();
}

sampled_layers::sampled_layers(executor& x, network_shape const& shape, hetero_graph const& g, edge_direction side, bool weighted)
    : x_(x), how_(aggregation_of(shape.kind)), edges_(shape.relations.size()), weights_(shape.relations.size()) {
  for (std::size_t r = 0; weighted && r < weights_.size(); ++r) weights_[r] = weights_in(g.adjacency(r), pulled_side(side));
}

std::uint64_t sampled_layers::bytes() const {
  std::uint64_t sum = counts_.bytes() + degrees_.bytes();
  for (auto const& e : edges_) sum += e.bytes();
  return sum;
}

void sampled_layers::take(mini_batch const& from, network<float> const& net, network<float>::pass& p) {
  network_shape const& s = net.shape();
  std::size_t const layers = s.layers, types = s.inputs.size();
  p.rows.assign(layers + 1, std::vector<std::uint64_t>(types));
  for (std::size_t t = 0; t < types; ++t) {
    auto const& by_hop = from.subgraph().of_type(t).by_hop;
    for (std::size_t l = 0; l <= layers; ++l)
      p.rows[l][t] = std::accumulate(by_hop.begin(), by_hop.begin() + static_cast<std::ptrdiff_t>(layers - l + 1), std::uint64_t{0});
  }
  bool const turns_inputs = net.turns_inputs(p);
  for (std::size_t r = 0; r < edges_.size(); ++r) {
    sampled_subgraph::edges const& edges = from.subgraph().of_relation(r);
    std::uint64_t const back = edges.count - (turns_inputs ? 0 : edges.by_hop.back());
    edges_[r].take(x_, edges, p.rows[1][s.relations[r].to], p.rows[0][s.relations[r].from], back,
                   weights_[r].kind == weight_kind::none ? nullptr : &weights_[r].of, weights_[r].kind);
    edges_[r].normalise(x_, how_, degrees_.empty() ? counts_.data() : degrees_.data(), counts_.data(),
                        from.subgraph().of_type(s.relations[r].from).ids);
  }
  p.edges = &edges_;
}

}  // namespace garner

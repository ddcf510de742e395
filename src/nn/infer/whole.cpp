#include "nn/infer/whole.hpp"

#include "nn/infer/rows.hpp"
#include "nn/model.hpp"

namespace garner {

whole_pass::whole_pass(executor& x, graph_handle const& g, edge_direction side, bool weighted, aggregation how)
    : x_(x), counts_{g.info().vertices}, edges_(1) {
  take(edges_[0], g, side, weighted, how, true);
}
whole_pass::whole_pass(executor& x, hetero_graph const& g, edge_direction side, bool weighted, bool turned)
    : x_(x), edges_(g.edges().size()) {
  for (vertex_type const& t : g.types()) counts_.push_back(t.count);
  for (std::size_t r = 0; r < edges_.size(); ++r) take(edges_[r], g.adjacency(r), pulled_side(side), weighted, aggregation::mean, turned);
}

void whole_pass::take(relation_edges<float>& to, graph_handle const& g, edge_direction side, bool weighted, aggregation how, bool turned) {
  lists_.reserve(edges_.size());
  whole_graph const& lists = lists_.emplace_back(g, side, weighted, turned);
  to.take(x_, lists.pulled(), turned ? lists.given() : lists.pulled(), lists.vertices());
  if (how == aggregation::gcn) {
    neighbors_ = bring(x_, lists.counts(), "degrees");
    degrees_ = bring(x_, lists.degrees(), "degrees");
  }
  to.normalise(x_, how, degrees_.data(), neighbors_.data(), nullptr);
}

network<float>::pass whole_pass::of(network<float> const& net, row_scaling scaling, std::span<tiered_tensor* const> features,
                                    blas& products) {
  network<float>::pass p;
  p.products = &products, p.edges = &edges_;
  p.rows.assign(net.shape().layers + 1, counts_);
  for (std::size_t t = 0; t < counts_.size(); ++t) {
    std::uint64_t const width = features[t]->width();
    if (t == rows_.size()) {
      buffer<float> of(x_.near(), counts_[t] * width, x_.device(), "rows of a whole graph");
      naming_type(net.shape().types[t], [&] { take_rows(x_, *features[t], scaling, 0, counts_[t], of.data()); });
      rows_.push_back(std::move(of));
    }
    p.inputs.push_back({rows_[t].data(), width});
  }
  return p;
}

std::uint64_t whole_pass::bytes() const {
  std::uint64_t sum = degrees_.bytes() + neighbors_.bytes();
  for (auto const& e : edges_) sum += e.bytes();
  for (auto const& r : rows_) sum += r.bytes();
  return sum;
}

std::uint64_t whole_pass::bytes_for(bool on_device, types_sizes const& of, network_shape const& s) {
  std::uint64_t lists = 0, rows = 0, made = 0;
  for (types_sizes::relation const& r : of.relations)
    lists += r.vertices * 4 + (of.weighted ? r.edges * 4 : 0) + (on_device ? (r.vertices + 1) * 8 + r.edges * 4 : 0);
  for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
    std::uint64_t const n = of.vertices[t];
    rows += n * s.inputs[t] * sizeof(float);
    if (s.residual) made += n * 2 * s.hidden * sizeof(float);
    for (std::uint32_t l = 0; l < s.layers; ++l)
      if (s.uses(l, t)) made += n * (s.taken(l, t) + (s.layer_norm ? 3 : 2) * s.outputs(l)) * sizeof(float);
  }
  return lists + lists / 4 + rows + made + made / 4;
}

}  // namespace garner

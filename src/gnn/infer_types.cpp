#include "gnn/infer_types.hpp"

#include "core/fail.hpp"
#include "gnn/infer.hpp"
#include "graph/handle.hpp"

namespace garner {

void require_types(gnn_model::parts const& m, hetero_graph const& g, std::span<tiered_tensor* const> features) {
  model_types const wanted = types_in(m.net.shape());
  if (wanted.names.empty()) fail(errc::usage, "{}: several types, and the model is of one; make it with the types of the graph", g.name());
  model_types const there = types_of(g, std::min<std::size_t>(wanted.target, g.types().size() - 1), features);
  for (std::size_t t = 0; t < std::max(wanted.names.size(), there.names.size()); ++t) {
    auto const name = [&](model_types const& of) { return t < of.names.size() ? "'" + of.names[t] + "'" : "none"; };
    if (name(wanted) != name(there))
      fail(errc::input, "{}: type {} is {}, and the model was made for {}; give it the graph that it was made for", g.name(), t,
           name(there), name(wanted));
    require_table(m, *features[t], g.types()[t].count, wanted.inputs[t], g.name(), there.names[t]);
  }
  if (wanted.relations != there.relations)
    fail(errc::input, "{}: its {} relations are not the {} that the model was made for, in their order", g.name(), there.relations.size(),
         wanted.relations.size());
}

types_inference::types_inference(executor& x, hetero_graph const& g) : x_(x), edges_(g.edges().size()) {
  for (vertex_type const& t : g.types()) counts_.push_back(t.count);
  lists_.reserve(edges_.size());
  for (std::size_t r = 0; r < edges_.size(); ++r) {
    whole_graph const& lists = lists_.emplace_back(g.lists(r), list_side::out, false, false);
    edges_[r].take(x, lists.pulled(), lists.pulled(), lists.vertices());  // nothing goes backward
    edges_[r].normalise(x, aggregation::mean, nullptr, nullptr, nullptr);
  }
}

row_block<float const> types_inference::run(network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> features,
                                            blas& products) {
  network<float>::pass p;
  p.products = &products, p.edges = &edges_;
  p.rows.assign(net.shape().layers + 1, counts_);
  std::vector<buffer<float>> rows;
  for (std::size_t t = 0; t < counts_.size(); ++t) {
    std::uint64_t const width = features[t]->width();
    buffer<float>& of = rows.emplace_back(x_.near(), counts_[t] * width, x_.device(), "rows of a whole graph");
    try {
      take_rows(x_, *features[t], scaling, 0, counts_[t], of.data());
    } catch (error const& e) {
      fail(e.code(), "'{}': {}", net.shape().types[t], e.what());
    }
    p.inputs.push_back({of.data(), width});
  }
  row_block<float> const scores = net.forward(x_, p);
  x_.wait();  // the rows go
  return {scores.data, scores.stride};
}

void infer(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> const& features, std::span<float> scores,
           inference_options const& options) {
  as_error([&] {
    gnn_model::parts& m = model.inside();
    require_types(m, g, features);
    std::uint64_t const n = g.types()[m.net.shape().target].count, classes = m.options.classes;
    if (scores.size() < n * classes)
      fail(errc::usage, "room for {} scores, and {} vertices have {} each; make it larger", scores.size(), n, classes);
    blas products(m.x, options.math);
    row_block<float const> const found = types_inference(m.x, g).run(m.net, m.options.scaling, features, products);
    m.x.copy(scores.data(), found.data, n * classes * sizeof(float));
    m.x.wait();
  });
}

}  // namespace garner

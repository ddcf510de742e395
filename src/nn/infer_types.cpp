#include "nn/infer_types.hpp"

#include <chrono>

#include "core/fail.hpp"
#include "graph/handle.hpp"
#include "nn/types_in_parts.hpp"

namespace garner {

void require_types(gnn_model::parts const& m, hetero_graph const& g, std::span<tiered_tensor* const> features, edge_direction side) {
  model_types const wanted = types_in(m.net.shape());
  if (wanted.names.empty()) fail(errc::usage, "{}: several types, and the model is of one; make it with the types of the graph", g.name());
  model_types const there = types_of(g, std::min<std::size_t>(wanted.target, g.types().size() - 1), features, side);
  for (std::size_t t = 0; t < std::max(wanted.names.size(), there.names.size()); ++t) {
    auto const name = [&](model_types const& of) { return t < of.names.size() ? "'" + of.names[t] + "'" : "none"; };
    if (name(wanted) != name(there))
      fail(errc::input, "{}: type {} is {}, and the model was made for {}; give it the graph that it was made for", g.name(), t,
           name(there), name(wanted));
    require_table(m, *features[t], g.types()[t].count, wanted.inputs[t], g.name(), there.names[t]);
  }
  if (wanted.relations != there.relations)
    fail(errc::input, "{}: its {} relations, {}, are not the {} that the model was made for, in their order and side", g.name(),
         there.relations.size(), side == edge_direction::in ? "pulled by `to`" : "pulled by `from` (side out)", wanted.relations.size());
}

types_inference::types_inference(executor& x, hetero_graph const& g, edge_direction side, bool weighted, bool turned)
    : x_(x), edges_(g.edges().size()) {
  for (vertex_type const& t : g.types()) counts_.push_back(t.count);
  lists_.reserve(edges_.size());
  for (std::size_t r = 0; r < edges_.size(); ++r) {
    whole_graph const& lists = lists_.emplace_back(g.adjacency(r), pulled_side(side), weighted, turned);
    edges_[r].take(x, lists.pulled(), turned ? lists.given() : lists.pulled(), lists.vertices());
    edges_[r].normalise(x, aggregation::mean, nullptr, nullptr, nullptr);
  }
}

network<float>::pass types_inference::pass_of(network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> features,
                                              blas& products) {
  network<float>::pass p;
  p.products = &products, p.edges = &edges_;
  p.rows.assign(net.shape().layers + 1, counts_);
  for (std::size_t t = 0; t < counts_.size(); ++t) {
    std::uint64_t const width = features[t]->width();
    if (t == rows_.size()) {
      buffer<float> of(x_.near(), counts_[t] * width, x_.device(), "rows of a whole graph");
      try {
        take_rows(x_, *features[t], scaling, 0, counts_[t], of.data());
      } catch (error const& e) {
        fail(e.code(), "'{}': {}", net.shape().types[t], e.what());
      }
      rows_.push_back(std::move(of));
    }
    p.inputs.push_back({rows_[t].data(), width});
  }
  return p;
}

row_block<float const> types_inference::run(network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> features,
                                            blas& products) {
  row_block<float> const scores = net.forward(x_, pass_of(net, scaling, features, products));
  x_.wait();  // the rows may go
  return {scores.data, scores.stride};
}

std::uint64_t types_inference::bytes() const {
  std::uint64_t sum = 0;
  for (auto const& e : edges_) sum += e.bytes();
  for (auto const& r : rows_) sum += r.bytes();
  return sum;
}

types_sizes sizes_of(hetero_graph const& g, bool weighted) {
  types_sizes s;
  for (vertex_type const& t : g.types()) s.vertices.push_back(t.count);
  for (std::size_t r = 0; r < g.edges().size(); ++r) {
    graph_info const& i = g.adjacency(r).info();
    s.relations.push_back({i.vertices, i.edges, i.edges});
  }
  s.weighted = weighted;
  return s;
}

std::uint64_t types_inference::bytes_for(bool on_device, types_sizes const& of, network_shape const& s) {
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

inference_report infer_types(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                             std::span<tiered_tensor* const> features, edge_direction side, bool weighted,
                             std::optional<std::uint64_t> near, blas& products, exact_inference::taker const& take) {
  std::uint64_t const allowed = near.value_or(free_near(x)),
                      whole = types_inference::bytes_for(x.on_device(), sizes_of(g, weighted), net.shape());
  if (whole > allowed) return types_in_parts(x, g, net, scaling, features, side, weighted, allowed).run(products, take);
  auto const begun = std::chrono::steady_clock::now();
  take(0, g.types()[net.shape().target].count, types_inference(x, g, side, weighted, false).run(net, scaling, features, products));
  inference_report report;
  report.device_bytes = whole;
  report.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  return report;
}

inference_report infer(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> const& features, std::span<float> scores,
                       inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& m = model.inside();
    require_types(m, g, features, options.side);
    std::uint64_t const n = g.types()[m.net.shape().target].count, classes = m.options.classes;
    if (scores.size() < n * classes)
      fail(errc::usage, "room for {} scores, and {} vertices have {} each; make it larger", scores.size(), n, classes);
    blas products(m.x, options.math);
    return infer_types(m.x, g, m.net, m.options.scaling, features, options.side, options.weighted, options.memory_limit, products,
                       [&](std::uint64_t first, std::uint64_t count, row_block<float const> found) {
                         m.x.copy(scores.data() + first * classes, found.data, count * classes * sizeof(float));
                         m.x.wait();
                       });
  });
}

}  // namespace garner

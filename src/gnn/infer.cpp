#include "gnn/infer.hpp"

#include <numeric>

#include "core/fail.hpp"
#include "gnn/layered.hpp"
#include "graph/handle.hpp"

namespace garner {

void take_rows(executor& x, tiered_tensor& features, row_scaling scaling, std::uint64_t first, std::uint64_t count, float* to,
               take_room* kept) {
  constexpr std::uint64_t most = 1u << 20;
  take_room own;
  take_room& in = kept ? *kept : own;
  std::int64_t* const ids = room(x, in.ids, std::min(count, most), "ids of rows");
  std::vector<std::int64_t> here(std::min(count, most));
  gather_options o;
  if (features.kind() != element::f32) o.to = element::f32;
  o.order = gather_order::none, o.duplicates = gather_duplicates::repeat;  // they ascend, each once
  std::uint64_t const width = features.width();
  for (std::uint64_t at = 0; at < count; at += most) {
    std::uint64_t const n = std::min(most, count - at);
    std::iota(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(n), static_cast<std::int64_t>(first + at));
    x.copy(ids, here.data(), n * sizeof(std::int64_t));
    x.wait();
    features.gather({ids, n, 8}, {to + at * width, n * width * sizeof(float)}, o);
  }
  if (std::uint64_t const bad = first_bad(x, to, count * width, &in.bad); bad != ~std::uint64_t{0})
    fail(errc::input, "element {} of row {} of the features is no finite number; mend the table, or replace such numbers by 0", bad % width,
         first + bad / width);
  scale_rows(x, row_block<float>{to, width}, count, width, scaling);
}

exact_inference::exact_inference(executor& x, whole_graph const& g, aggregation how) : x_(x), vertices_(g.vertices()), edges_(1) {
  edges_[0].take(x, g.pulled(), g.given(), vertices_);
  if (how == aggregation::gcn) {
    counts_ = bring(x, g.counts(), "degrees");
    degrees_ = bring(x, g.degrees(), "degrees");
  }
  edges_[0].normalise(x, how, degrees_.data(), counts_.data(), nullptr);
}

row_block<float const> exact_inference::rows(row_scaling scaling, tiered_tensor& features) {
  if (!have_rows_) {
    rows_ = buffer<float>(x_.near(), vertices_ * features.width(), x_.device(), "rows of a whole graph");
    take_rows(x_, features, scaling, 0, vertices_, rows_.data());
    have_rows_ = true;
  }
  return {rows_.data(), features.width()};
}

void exact_inference::run(network<float>& net, row_scaling scaling, tiered_tensor& features, blas& products, taker const& take) {
  network<float>::pass p;
  p.products = &products, p.edges = &edges_;
  p.rows.assign(net.shape().layers + 1, {vertices_});
  p.inputs = {rows(scaling, features)};
  row_block<float> const scores = net.forward(x_, p);
  take(0, vertices_, {scores.data, scores.stride});
}

inference_report infer(gnn_model& model, graph_handle const& g, tiered_tensor& features, std::span<float> scores,
                       inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& inside = model.inside();
    executor& x = inside.x;
    model_options const& o = inside.options;
    std::uint64_t const n = g.info().vertices;
    require_table(inside, features, g);
    if (scores.size() < n * o.classes)
      fail(errc::usage, "room for {} scores, and {} vertices have {} each; make it larger", scores.size(), n, o.classes);
    blas products(x, options.math);
    whole_graph const lists(g, options.side, options.weighted, false);
    layered_inference all(x, lists, o, inside.net, features, options.near_bytes);
    return all.run(products, [&](std::uint64_t first, std::uint64_t count, row_block<float const> found) {
      x.copy(scores.data() + first * o.classes, found.data, count * o.classes * sizeof(float));
      x.wait();
    });
  });
}

inference_report plan_inference(gnn_model& model, graph_handle const& g, tiered_tensor& features, inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& inside = model.inside();
    executor& x = inside.x;
    model_options const& o = inside.options;
    require_table(inside, features, g);
    whole_graph const lists(g, options.side, options.weighted, false);
    return layered_inference(x, lists, o, inside.net, features, options.near_bytes).planned();
  });
}

}  // namespace garner

#include "nn/network.hpp"

#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/random.hpp"

namespace garner {

static constexpr std::uint64_t no_part = ~std::uint64_t{0};

void network_shape::require_kind() const {
  if ((inputs.size() > 1 || relations.size() > 1) && kind != model_kind::sage)
    fail(errc::usage, "{} takes one type of vertices and of edges, and here are {} and {}; use sage", to_string(kind), inputs.size(),
         relations.size());
}

template <class Real>
std::uint64_t network<Real>::width(std::uint32_t layer, std::uint32_t type) const {
  return shape_.width(layer, type);
}
template <class Real>
std::uint64_t network<Real>::outputs(std::uint32_t layer) const {
  return shape_.outputs(layer);
}

template <class Real>
std::uint64_t network<Real>::reserve(std::uint64_t n) {  // each begins at 16 bytes
  return std::exchange(reserved_, reserved_ + (n + 3) / 4 * 4);
}
template <class Real>
void network<Real>::add(std::uint32_t layer, std::string name, std::vector<std::uint64_t> shape, std::uint64_t offset,
                        std::uint64_t stride) {
  std::uint64_t const rows = shape.size() == 2 ? shape[0] : 1, columns = shape.back();
  parameters_.push_back({std::move(name), std::move(shape), offset, rows, columns, stride, layer});
}
template <class Real>
typename network<Real>::dense network<Real>::add_dense(std::uint32_t layer, std::string const& weight, std::string const& bias,
                                                       std::uint64_t in, std::uint64_t out) {
  dense const d{reserve(out * in), reserve(out), in, out};
  add(layer, weight, {out, in}, d.weight, in);
  add(layer, bias, {out}, d.bias, out);
  return d;
}
template <class Real>
typename network<Real>::norm_of network<Real>::add_norm(std::uint32_t layer, std::string const& name, std::uint64_t width) {
  norm_of const n{reserve(width), reserve(width), width};
  add(layer, name + "weight", {width}, n.gain, width);
  add(layer, name + "bias", {width}, n.shift, width);
  return n;
}

template <class Real>
network<Real>::network(executor& x, network_shape shape, std::uint64_t seed) : shape_(std::move(shape)) {
  auto const& s = shape_;
  bool const several = s.inputs.size() > 1 || s.relations.size() > 1;
  s.require_kind();
  auto const type_name = [&](std::uint32_t t) { return several ? s.types[t] + "." : ""; };
  if (s.residual) {
    ends_.resize(s.inputs.size());
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t)
      ends_[t].first = add_dense(0, "lin_in." + type_name(t) + "weight", "lin_in." + type_name(t) + "bias", s.inputs[t], s.hidden);
  }
  layers_.resize(s.layers);
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    bool const last = l + 1 == s.layers;
    layers_[l] = std::vector<layer_of_type>(s.inputs.size());
    std::string const conv = "convs." + std::to_string(l) + ".";
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
      layer_of_type& of = layers_[l][t];
      if (s.layer_norm && (s.residual || (!last))) of.norm = add_norm(l, "norms." + std::to_string(l) + "." + type_name(t), s.hidden);
      of.used = s.uses(l, t);
      if (!of.used) continue;
      std::uint64_t const out = outputs(l);
      of.part.assign(s.relations.size(), no_part);
      if (s.kind == model_kind::sage) {
        std::uint64_t in = 0;
        for (std::size_t r = 0; r < s.relations.size(); ++r)
          if (s.relations[r].to == t) of.part[r] = in, in += width(l, s.relations[r].from);
        of.own_part = in;
        in += width(l, t);
        dense const d{reserve(out * in), reserve(out), in, out};
        of.products = {d};
        for (std::size_t r = 0; r < s.relations.size(); ++r)
          if (of.part[r] != no_part)
            add(l, conv + (several ? s.relations[r].name + "." : "") + "lin_l.weight", {out, width(l, s.relations[r].from)},
                d.weight + of.part[r], in);
        add(l, conv + type_name(t) + "lin_l.bias", {out}, d.bias, out);
        add(l, conv + type_name(t) + "lin_r.weight", {out, width(l, t)}, d.weight + of.own_part, in);
      } else {
        of.part[0] = 0;
        if (s.kind == model_kind::gcn) {
          of.products = {add_dense(l, conv + "lin.weight", conv + "bias", width(l, t), out)};
        } else {
          of.products = {add_dense(l, conv + "nn.lins.0.weight", conv + "nn.lins.0.bias", width(l, t), out)};
          if (s.layer_norm) of.between = add_norm(l, conv + "nn.norms.0.", out);
          of.products.push_back(add_dense(l, conv + "nn.lins.1.weight", conv + "nn.lins.1.bias", out, out));
        }
      }
    }
  }
  if (s.residual) {
    ends_of_type& end = ends_[s.target];
    if (s.layer_norm) end.norm = add_norm(s.layers, "norm_out.", s.hidden);
    end.last = add_dense(s.layers, "lin_out.weight", "lin_out.bias", s.hidden, s.classes);
  }
  values_ = buffer<Real>(x.near(), reserved_, x.device(), "a model");
  gradients_ = buffer<Real>(x.near(), reserved_, x.device(), "gradients");
  x.fill(gradients_.data(), 0, gradients_.bytes());
  draw(x, seed);
  dropped_inputs_.resize(s.inputs.size());
  inputs_.resize(s.inputs.size());
  for (auto& side : of_rows_) side.resize(s.inputs.size());
}

template <class Real>
void network<Real>::draw(executor& x, std::uint64_t seed) {
  std::vector<Real> values(values_.size(), 0);
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    parameter const& p = parameters_[k];
    double const bound = std::sqrt(6.0 / static_cast<double>(p.rows + p.columns));
    bool const gain = p.name.find("norm") != p.name.npos && p.name.ends_with("weight");
    for (std::uint64_t r = 0; r < p.rows; ++r)
      for (std::uint64_t c = 0; c < p.columns; ++c) {
        double const unit = static_cast<double>(unit_float(random_bits(seed, k, r * p.columns + c)));
        double const value = p.shape.size() == 2 ? (2 * unit - 1) * bound : gain ? 1 : 0;
        values[p.offset + r * p.stride + c] = static_cast<Real>(value);
      }
  }
  x.copy(values_.data(), values.data(), values_.bytes());
  x.wait();
}

template <class Real>
dropped network<Real>::drop_of(pass const& p, std::uint32_t layer, std::uint32_t type) const {
  double const share = !p.training ? 0 : layer == 0 ? p.input_dropout : p.dropout;
  std::uint64_t const a_step = (shape_.layers + 2) * shape_.inputs.size(), within = layer * shape_.inputs.size() + type;
  if (p.step_at) return {share, p.seed, within, p.step_at, a_step, p.first_row};
  return {share, p.seed, p.step * a_step + within, nullptr, 0, p.first_row};
}

template <class Real>
bool network<Real>::product_first(pass const& p, std::uint32_t l, std::uint32_t t) const {
  bool const one = shape_.relations.size() == 1 && shape_.inputs.size() == 1;
  return one && width(l, t) > layers_[l][t].products[0].out && p.rows[l][t] <= 2 * p.rows[l + 1][t];
}
template <class Real>
bool network<Real>::turns_inputs(pass const& p) const {
  return shape_.residual || product_first(p, 0, shape_.target);
}

template <class Real>
typename network<Real>::rows_in network<Real>::some_of(executor& x, pass const& p, rows_in from, std::uint64_t first, std::uint64_t count) {
  if (from.data || !p.bring) return {from.row(first), from.stride};
  rows_in const brought = p.bring(first, count);
  dropped drop = drop_of(p, 0, 0);
  if (drop.share <= 0) return brought;
  std::uint64_t const columns = shape_.inputs[0];
  drop.first += first;
  rows_out const to{room(x, dropped_inputs_[0], count * columns, "rows with dropout"), columns};
  drop_rows(x, brought, to, count, columns, drop);
  return {to.data, to.stride};
}
template <class Real>
bool network<Real>::ends_inside(pass const& p, std::optional<ending> const& then) {
  return then && p.steady && then->drop.share <= 0 && p.products->ends_products(then->relu);
}
template <class Real>
void network<Real>::multiply(executor& x, pass const& p, dense const& d, rows_in from, std::uint64_t count, rows_out to,
                             std::optional<ending> const& then) {
  bool const inside = ends_inside(p, then);
  each_block(x, p, count, [&](block const& b) {
    rows_in const rows = some_of(x, p, from, b.first, b.count);
    Real const* const w = values_.data() + d.weight;
    rows_out const made{to.row(b.first), to.stride};
    if (inside && b.products.product_ended(false, true, b.count, d.out, d.in, rows.data, rows.stride, w, d.in, made.data, made.stride,
                                           then->bias, then->relu))
      return;
    b.products.product(false, true, b.count, d.out, d.in, Real{1}, rows.data, rows.stride, w, d.in, Real{0}, made.data, made.stride);
    if (inside) activate(b.x, made, b.count, d.out, then->bias, then->relu, {});
  });
  if (then && !inside) activate(x, to, count, d.out, then->bias, then->relu, then->drop);
}
template <class Real>
void network<Real>::multiply_back(executor& x, pass const& p, dense const& d, rows_in from, std::uint64_t count, rows_out of_result,
                                  rows_out of_from) {
  each_block(x, p, count, [&](block const& b) {
    rows_in const rows = some_of(x, p, from, b.first, b.count);
    Real const* const made = of_result.row(b.first);
    b.sums.run(b.x, {made, of_result.stride}, b.count, d.out, b.gradients + d.bias);
    b.products.product(true, false, d.out, d.in, b.count, Real{1}, made, of_result.stride, rows.data, rows.stride, Real{0},
                       b.gradients + d.weight, d.in);
    if (of_from.data)
      b.products.product(false, false, b.count, d.in, d.out, Real{1}, made, of_result.stride, values_.data() + d.weight, d.in, Real{0},
                         of_from.row(b.first), of_from.stride);
  });
}
template <class Real>
void network<Real>::sum_columns(executor& x, pass const& p, rows_in rows, std::uint64_t count, std::uint64_t columns, std::uint64_t into) {
  each_block(x, p, count, [&](block const& b) { b.sums.run(b.x, {rows.row(b.first), rows.stride}, b.count, columns, b.gradients + into); });
}
template <class Real>
typename network<Real>::rows_in network<Real>::norm_rows(executor& x, norm_of const& n, rows_in from, std::uint64_t count,
                                                         buffer<Real>& to) {
  std::uint64_t const columns = n.width;
  rows_out const out{room(x, to, count * columns, "rows of a layer"), columns};
  normalise_rows(x, from, out, count, columns, values_.data() + n.gain, values_.data() + n.shift);
  return {out.data, out.stride};
}
template <class Real>
void network<Real>::norm_rows_back(executor& x, pass const& p, norm_of const& n, rows_in from, std::uint64_t count, rows_out gradient) {
  std::uint64_t const columns = n.width;
  sum_columns(x, p, {gradient.data, gradient.stride}, count, columns, n.shift);
  rows_out const terms{room(x, terms_, count * columns, "gradients"), columns};
  normalise_rows_back(x, from, gradient, terms, count, columns, values_.data() + n.gain);
  sum_columns(x, p, {terms.data, terms.stride}, count, columns, n.gain);
}

template <class Real>
typename network<Real>::rows_in network<Real>::encode(executor& x, pass const& p, std::uint32_t t, rows_in rows, std::uint64_t count) {
  ends_of_type& end = ends_[t];
  rows_out const encoded{room(x, end.encoded, count * shape_.hidden, "rows of a layer"), shape_.hidden};
  multiply(x, p, end.first, rows, count, encoded, ending{values_.data() + end.first.bias, true, drop_of(p, shape_.layers + 1, t)});
  return {encoded.data, encoded.stride};
}
template <class Real>
typename network<Real>::rows_in network<Real>::source_of(executor& x, std::uint32_t l, std::uint32_t t, rows_in in, std::uint64_t count) {
  layer_of_type& of = layers_[l][t];
  return shape_.residual && shape_.layer_norm ? norm_rows(x, of.norm, in, count, of.normed) : in;
}
template <class Real>
typename network<Real>::first_matrix network<Real>::first_of(std::uint32_t l, std::uint32_t t, std::uint32_t relation) const {
  layer_of_type const& of = layers_[l][t];
  dense const& first = of.products[0];
  Real const* const w = values_.data() + first.weight;
  return {of.part.empty() || of.part[relation] == no_part ? nullptr : w + of.part[relation],
          shape_.kind == model_kind::sage ? w + of.own_part : nullptr, first.in, first.out};
}
template <class Real>
typename network<Real>::rows_out network<Real>::first_room(executor& x, std::uint32_t l, std::uint32_t t, std::uint64_t count) {
  layer_of_type& of = layers_[l][t];
  std::uint64_t const columns = of.products[0].out;
  bool const two = of.products.size() > 1;
  buffer<Real>& to = two ? (shape_.layer_norm ? of.middle_made : of.middle) : norm_behind(l) ? of.made : of.out;
  return {room(x, to, count * columns, "rows of a layer"), columns};
}
template <class Real>
std::optional<typename network<Real>::ending> network<Real>::layer_ending(pass const& p, std::uint32_t l, std::uint32_t t) const {
  Real const* const bias = values_.data() + layers_[l][t].products.back().bias;
  if (norm_behind(l)) return ending{bias, false, {}};
  bool const active = shape_.residual || l + 1 < shape_.layers;
  if (!active && p.leave_bias) return {};
  return ending{bias, active, active ? drop_of(p, l + 1, t) : dropped{}};
}
template <class Real>
std::optional<typename network<Real>::ending> network<Real>::first_ending(pass const& p, std::uint32_t l, std::uint32_t t) const {
  std::vector<dense> const& products = layers_[l][t].products;
  if (products.size() == 1) return layer_ending(p, l, t);
  return ending{values_.data() + products[0].bias, !shape_.layer_norm, {}};
}
template <class Real>
typename network<Real>::rows_out network<Real>::finish(executor& x, pass const& p, std::uint32_t l, std::uint32_t t, rows_in in,
                                                       std::uint64_t count) {
  auto const& s = shape_;
  Real const* const w = values_.data();
  layer_of_type& of = layers_[l][t];
  std::uint64_t const columns = outputs(l);
  bool const norm = norm_behind(l), two = of.products.size() > 1;
  rows_out const out{room(x, of.out, count * columns, "rows of a layer"), columns};
  rows_out const made = norm ? rows_out{room(x, of.made, count * columns, "rows of a layer"), columns} : out;
  std::uint64_t const width = of.products[0].out;
  rows_out const first = !two ? made : rows_out{s.layer_norm ? of.middle_made.data() : of.middle.data(), width};
  auto const then = first_ending(p, l, t);
  if (!std::exchange(of.ended, false) && then) activate(x, first, count, width, then->bias, then->relu, then->drop);
  if (two) {
    if (s.layer_norm) {
      norm_rows(x, of.between, {first.data, first.stride}, count, of.middle);
      activate(x, rows_out{of.middle.data(), width}, count, width, static_cast<Real const*>(nullptr), true, {});
    }
    multiply(x, p, of.products.back(), {of.middle.data(), width}, count, made, layer_ending(p, l, t));
  }
  if (norm) {
    normalise_rows(x, {made.data, made.stride}, out, count, columns, w + of.norm.gain, w + of.norm.shift);
    activate(x, out, count, columns, static_cast<Real const*>(nullptr), true, drop_of(p, l + 1, t));
  }
  of.result = out;
  if (s.residual) {
    of.result = {room(x, of.result_room, count * columns, "rows of a layer"), columns};
    drop_rows(x, {out.data, out.stride}, of.result, count, columns, {});
    add_rows(x, in, of.result, count, columns);
  }
  return of.result;
}
template <class Real>
typename network<Real>::rows_out network<Real>::scores_of(executor& x, pass const& p, rows_in in, std::uint64_t count) {
  auto const& s = shape_;
  ends_of_type& end = ends_[s.target];
  end.in = s.layer_norm ? norm_rows(x, end.norm, in, count, end.normed) : in;
  rows_out const scores{room(x, end.scores, count * s.classes, "scores"), s.classes};
  multiply(x, p, end.last, end.in, count, scores,
           p.leave_bias ? std::nullopt : std::optional(ending{values_.data() + end.last.bias, false, {}}));
  return scores;
}

// Aggregated rows times the matrix that finish() goes on from.
template <class Real>
void network<Real>::aggregate(executor& x, pass const& p, std::uint32_t l, std::uint32_t t, std::vector<rows_in> const& source) {
  auto const& s = shape_;
  rows_out const to = first_room(x, l, t, p.rows[l + 1][t]);
  layer_of_type& of = layers_[l][t];
  std::uint64_t const targets = p.rows[l + 1][t];
  dense const& first = of.products[0];
  Real const* const w = values_.data();
  of.product_first = product_first(p, l, t);
  if (of.product_first) {
    std::uint64_t const in = width(l, t), out = first.out;
    rows_out const small{room(x, of.taken, p.rows[l][t] * out, "products of rows"), out};
    each_block(x, p, p.rows[l][t], [&](block const& b) {
      rows_in const rows = some_of(x, p, source[t], b.first, b.count);
      b.products.product(false, true, b.count, out, in, Real{1}, rows.data, rows.stride, w + first.weight + of.part[0], first.in, Real{0},
                         small.row(b.first), out);
    });
    (*p.edges)[0].forward(x, {small.data, out}, to, targets, out, s.kind == model_kind::gin ? rows_in{small.data, out} : rows_in{});
    if (s.kind == model_kind::sage)
      each_block(x, p, targets, [&](block const& b) {
        rows_in const rows = some_of(x, p, source[t], b.first, b.count);
        b.products.product(false, true, b.count, out, in, Real{1}, rows.data, rows.stride, w + first.weight + of.own_part, first.in,
                           Real{1}, to.row(b.first), to.stride);
      });
  } else {
    rows_out const taken{room(x, of.taken, targets * first.in, "aggregated rows"), first.in};
    for (std::size_t r = 0; r < s.relations.size(); ++r) {
      if (of.part[r] == no_part) continue;
      std::uint32_t const from = s.relations[r].from;
      (*p.edges)[r].forward(x, source[from], {taken.data + of.part[r], first.in}, targets, width(l, from),
                            s.kind == model_kind::gin ? source[t] : rows_in{});
    }
    if (s.kind == model_kind::sage) drop_rows(x, source[t], {taken.data + of.own_part, first.in}, targets, width(l, t), {});
    multiply_taken(x, p, l, t, {taken.data, taken.stride}, targets);
  }
}
template <class Real>
void network<Real>::multiply_taken(executor& x, pass const& p, std::uint32_t l, std::uint32_t t, rows_in taken, std::uint64_t count) {
  layer_of_type& of = layers_[l][t];
  auto const then = first_ending(p, l, t);
  of.ended = ends_inside(p, then);
  multiply(x, p, of.products[0], taken, count, first_room(x, l, t, count), of.ended ? then : std::nullopt);
}

// Through the end of a layer: dropout, ReLU, and the norm behind it.
template <class Real>
void network<Real>::activation_back(executor& x, pass const& p, std::uint32_t l, std::uint32_t t, rows_out gradient, std::uint64_t count) {
  layer_of_type& of = layers_[l][t];
  std::uint64_t const columns = outputs(l);
  if (shape_.residual || l + 1 < shape_.layers)
    activate_back(x, {of.out.data(), columns}, gradient, count, columns, true, drop_of(p, l + 1, t));
  if (norm_behind(l)) norm_rows_back(x, p, of.norm, {of.made.data(), columns}, count, gradient);
}
// The gradient of columns [part, part + in) of a matrix of out x first.in, and, where data is not null, that of what came in.
template <class Real>
void network<Real>::product_back(block const& b, dense const& d, std::uint64_t part, rows_in rows, rows_out of_result, rows_out of_from,
                                 bool add) {
  std::uint64_t const in = shape_.kind == model_kind::sage ? d.in / 2 : d.in;
  Real const* const made = of_result.row(b.first);
  b.products.product(true, false, d.out, in, b.count, Real{1}, made, of_result.stride, rows.data, rows.stride, Real{0},
                     b.gradients + d.weight + part, d.in);
  if (of_from.data)
    b.products.product(false, false, b.count, in, d.out, Real{1}, made, of_result.stride, values_.data() + d.weight + part, d.in,
                       add ? Real{1} : Real{0}, of_from.row(b.first), of_from.stride);
}
// Through what follows the first product of a layer but its last activation: what made `middle` remains.
template <class Real>
typename network<Real>::rows_out network<Real>::second_back(executor& x, pass const& p, std::uint32_t l, std::uint32_t t, rows_out of_made,
                                                            std::uint64_t targets) {
  layer_of_type& of = layers_[l][t];
  dense const& first = of.products[0];
  if (of.products.size() == 1) return of_made;
  rows_out const of_middle{room(x, of_middle_, targets * first.out, "gradients of rows between"), first.out};
  multiply_back(x, p, of.products.back(), {of.middle.data(), first.out}, targets, of_made, of_middle);
  activate_back(x, {of.middle.data(), first.out}, of_middle, targets, first.out, true, {});
  if (shape_.layer_norm) norm_rows_back(x, p, of.between, {of.middle_made.data(), first.out}, targets, of_middle);
  return of_middle;
}

template <class Real>
void network<Real>::aggregate_back(executor& x, pass const& p, std::uint32_t l, std::uint32_t t, rows_out of_made,
                                   std::vector<rows_out> const& of_source, std::vector<bool>& written) {
  auto const& s = shape_;
  layer_of_type& of = layers_[l][t];
  std::uint64_t const targets = p.rows[l + 1][t];
  dense const& first = of.products[0];
  of_made = second_back(x, p, l, t, of_made, targets);
  if (of.product_first) {
    std::uint64_t const out = first.out, sources = p.rows[l][t];
    rows_in const made{of_made.data, of_made.stride};
    sum_columns(x, p, made, targets, out, first.bias);
    rows_out const small{room(x, of_taken_, sources * out, "gradients of products"), out};
    (*p.edges)[0].backward(x, made, small, targets, sources, out, s.kind == model_kind::gin ? made : rows_in{}, false);
    bool const own = s.kind == model_kind::sage, together = own && sources == targets;  // a block is brought once for both
    auto const own_back = [&](block const& b, rows_in rows) { product_back(b, first, of.own_part, rows, of_made, of_source[t], true); };
    each_block(x, p, sources, [&](block const& b) {
      rows_in const rows = some_of(x, p, of.source, b.first, b.count);
      product_back(b, first, of.part[0], rows, small, of_source[t], false);
      if (together) own_back(b, rows);
    });
    if (own && !together) each_block(x, p, targets, [&](block const& b) { own_back(b, some_of(x, p, of.source, b.first, b.count)); });
    written[t] = true;
    return;
  }
  bool wanted = false;
  for (rows_out const& rows : of_source) wanted |= rows.data != nullptr;
  rows_out const of_taken{wanted ? room(x, of_taken_, targets * first.in, "gradients of aggregated rows") : nullptr, first.in};
  multiply_back(x, p, first, {of.taken.data(), first.in}, targets, of_made, of_taken);
  if (!wanted) return;
  bool own_done = s.kind == model_kind::gcn;
  rows_in const own{s.kind == model_kind::gin ? of_taken.data : of_taken.data + of.own_part, first.in};
  for (std::size_t r = 0; r < s.relations.size(); ++r) {
    std::uint32_t const from = s.relations[r].from;
    if (of.part[r] == no_part || !of_source[from].data) continue;
    bool const with_own = !own_done && from == t;
    (*p.edges)[r].backward(x, {of_taken.data + of.part[r], first.in}, of_source[from], targets, p.rows[l][from], width(l, from),
                           with_own ? own : rows_in{}, written[from]);
    written[from] = true;
    own_done |= with_own;
  }
  if (own_done || !of_source[t].data) return;
  if (!written[t]) x.fill(of_source[t].data, 0, p.rows[l][t] * of_source[t].stride * sizeof(Real));
  add_rows(x, own, of_source[t], targets, width(l, t));
  written[t] = true;
}

template <class Real>
row_block<Real> network<Real>::forward(executor& x, pass const& p) {
  if (place_layers(x, p); p.kept) return forward_kept(x, p);
  auto const& s = shape_;
  for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
    inputs_[t] = p.inputs[t];
    dropped const drop = drop_of(p, 0, t);
    if (drop.share <= 0 || p.bring) continue;
    rows_out const to{room(x, dropped_inputs_[t], p.rows[0][t] * s.inputs[t], "rows with dropout"), s.inputs[t]};
    drop_rows(x, p.inputs[t], to, p.rows[0][t], s.inputs[t], drop);
    inputs_[t] = {to.data, to.stride};
  }
  std::vector<rows_in> in = inputs_;
  for (std::uint32_t t = 0; s.residual && t < in.size(); ++t) in[t] = encode(x, p, t, in[t], p.rows[0][t]);
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    std::vector<rows_in> source = in;
    for (std::uint32_t t = 0; t < in.size(); ++t) {
      layer_of_type& of = layers_[l][t];
      source[t] = source_of(x, l, t, in[t], p.rows[l][t]);
      of.in = in[t], of.source = source[t];
    }
    std::vector<rows_in> next(in.size());
    for (std::uint32_t t = 0; t < in.size(); ++t) {
      if (!layers_[l][t].used) continue;
      aggregate(x, p, l, t, source);
      rows_out const out = finish(x, p, l, t, in[t], p.rows[l + 1][t]);
      next[t] = {out.data, out.stride};
      if (p.watch) p.watch("rows", l, t, 0, next[t], p.rows[l + 1][t], outputs(l));
    }
    in = std::move(next);
  }
  return s.residual ? scores_of(x, p, in[s.target], p.rows.back()[s.target]) : layers_.back()[s.target].result;
}

template <class Real>
void network<Real>::backward(executor& x, pass const& p, row_block<Real> scores, std::vector<row_block<Real>> const& of_inputs) {
  auto const& s = shape_;
  if (std::uint64_t const n = p.blocks.empty() ? 0 : (p.blocks.size() - 1) * reserved_; grow(x, by_block_, n, n, "gradients", x.near()))
    x.fill(by_block_.data(), 0, by_block_.bytes());
  if (p.kept) return backward_kept(x, p, scores);
  std::vector<rows_out> of_out(s.inputs.size());
  auto const gradients_of = [&](std::uint32_t side, std::uint32_t t, std::uint64_t count, std::uint64_t columns) {
    return rows_out{room(x, of_rows_[side % 2][t], count * columns, "gradients of rows"), columns};
  };
  of_out[s.target] = scores;
  if (s.residual) {
    ends_of_type& end = ends_[s.target];
    std::uint64_t const count = p.rows.back()[s.target];
    of_out[s.target] = gradients_of(s.layers, s.target, count, s.hidden);
    multiply_back(x, p, end.last, end.in, count, scores, of_out[s.target]);
    if (s.layer_norm) {
      rows_out const result = layers_.back()[s.target].result;
      norm_rows_back(x, p, end.norm, {result.data, result.stride}, count, of_out[s.target]);
    }
  }
  for (std::uint32_t l = s.layers; l-- > 0;) {
    bool const inputs = l == 0 && !s.residual;
    std::vector<rows_out> of_in(s.inputs.size());
    std::vector<bool> written(s.inputs.size(), false);
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t)
      of_in[t] = !inputs ? gradients_of(l, t, p.rows[l][t], width(l, t)) : t < of_inputs.size() ? of_inputs[t] : rows_out{};
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
      layer_of_type& of = layers_[l][t];
      if (!of.used || !of_out[t].data) continue;
      std::uint64_t const targets = p.rows[l + 1][t], columns = outputs(l);
      rows_out out = of_out[t];
      if (p.watch) p.watch("gradient", l, t, 0, {out.data, out.stride}, targets, columns);
      if (s.residual) {  // what goes round the layer stays as it is
        rows_out const copy{room(x, of_made_, targets * columns, "gradients of rows"), columns};
        drop_rows(x, {out.data, out.stride}, copy, targets, columns, {});
        out = copy;
      }
      activation_back(x, p, l, t, out, targets);
      aggregate_back(x, p, l, t, out, of_in, written);
    }
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
      if (!of_in[t].data) continue;
      std::uint64_t const count = p.rows[l][t];
      if (!written[t]) x.fill(of_in[t].data, 0, count * of_in[t].stride * sizeof(Real));
      if (!s.residual) continue;
      layer_of_type& of = layers_[l][t];
      if (s.layer_norm) norm_rows_back(x, p, of.norm, of.in, count, of_in[t]);
      if (of_out[t].data) add_rows(x, {of_out[t].data, of_out[t].stride}, of_in[t], p.rows[l + 1][t], s.hidden);
    }
    of_out = std::move(of_in);
  }
  for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
    rows_out const of_rows = t < of_inputs.size() ? of_inputs[t] : rows_out{};
    std::uint64_t const count = p.rows[0][t];
    if (s.residual) {
      ends_of_type& end = ends_[t];
      activate_back(x, {end.encoded.data(), s.hidden}, of_out[t], count, s.hidden, true, drop_of(p, s.layers + 1, t));
      multiply_back(x, p, end.first, inputs_[t], count, of_out[t], of_rows);
    }
    if (of_rows.data) activate_back(x, inputs_[t], of_rows, count, s.inputs[t], false, drop_of(p, 0, t));
  }
}

template <class Real>
std::uint64_t network<Real>::bytes() const {
  std::uint64_t sum = far_ ? far_->bytes() : of_taken_.bytes();
  for (auto const* b : {&values_, &gradients_, &by_block_, &of_middle_, &of_made_, &terms_, &some_columns_, &columns_that_come_, &of_block_,
                        &of_panel_, &all_scores_})
    sum += b->bytes();
  for (auto const& l : layers_)
    for (auto const& of : l)
      for (auto const* b : {&of.normed, &of.taken, &of.middle_made, &of.middle, &of.made, &of.out, &of.result_room}) sum += b->bytes();
  for (auto const& end : ends_) sum += end.encoded.bytes() + end.normed.bytes() + end.scores.bytes();
  for (auto const& b : dropped_inputs_) sum += b.bytes();
  for (auto const& side : of_rows_)
    for (auto const& b : side) sum += far_ ? 0 : b.bytes();
  return sum;
}

template class network<float>;
template class network<double>;

}  // namespace garner

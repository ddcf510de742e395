#include "gnn/network.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "core/random.hpp"

namespace garner {

namespace {
constexpr std::uint64_t none = ~std::uint64_t{0};
}

template <class Real>
std::uint64_t network<Real>::width(std::uint32_t layer, std::uint32_t type) const {
  return layer == 0 ? shape_.inputs[type] : shape_.hidden;
}

template <class Real>
std::uint64_t network<Real>::add(std::uint32_t layer, std::string name, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride,
                                 std::uint64_t offset, bool vector) {
  parameters_.push_back({std::move(name), vector ? std::vector{columns} : std::vector{rows, columns}, offset, rows, columns, stride, layer});
  return offset;
}

template <class Real>
network<Real>::network(executor& x, network_shape shape, std::uint64_t seed) : shape_(std::move(shape)) {
  auto const& s = shape_;
  std::uint64_t at = 0;
  auto const reserve = [&](std::uint64_t n) { return std::exchange(at, at + (n + 3) / 4 * 4); };  // matrices begin at 16 bytes
  bool const several = s.inputs.size() > 1 || s.relations.size() > 1;
  if (several && s.kind != model_kind::sage)
    fail(errc::usage, "{} takes one type of vertices and of edges, and here are {} and {}; say sage", to_string(s.kind), s.inputs.size(),
         s.relations.size());
  layers_.resize(s.layers);
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    bool const last = l + 1 == s.layers;
    layers_[l] = std::vector<layer_of_type>(s.inputs.size());
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
      layer_of_type& of = layers_[l][t];
      of.used = !last || t == s.target;
      if (!of.used) continue;
      std::uint64_t const out = last ? s.classes : s.hidden;
      std::string const conv = "convs." + std::to_string(l) + ".";
      of.part.assign(s.relations.size(), none);
      if (s.kind == model_kind::sage) {
        std::uint64_t in = 0;
        for (std::size_t r = 0; r < s.relations.size(); ++r)
          if (s.relations[r].to == t) of.part[r] = in, in += width(l, s.relations[r].from);
        of.own_part = in;
        in += width(l, t);
        std::uint64_t const weight = reserve(out * in), bias = reserve(out);
        of.products = {{weight, bias, in, out}};
        for (std::size_t r = 0; r < s.relations.size(); ++r)
          if (of.part[r] != none)
            add(l, conv + (several ? s.relations[r].name + "." : "") + "lin_l.weight", out, width(l, s.relations[r].from), in,
                weight + of.part[r], false);
        std::string const own = several ? s.types[t] + "." : "";
        add(l, conv + own + "lin_l.bias", 1, out, out, bias, true);
        add(l, conv + own + "lin_r.weight", out, width(l, t), in, weight + of.own_part, false);
      } else {
        of.part[0] = 0;
        std::uint64_t const in = width(l, t);
        auto const product = [&](std::string const& weight_name, std::string const& bias_name, std::uint64_t from) {
          dense const d{reserve(out * from), reserve(out), from, out};
          add(l, conv + weight_name, out, from, from, d.weight, false);
          add(l, conv + bias_name, 1, out, out, d.bias, true);
          of.products.push_back(d);
        };
        if (s.kind == model_kind::gcn) {
          product("lin.weight", "bias", in);
        } else {
          product("nn.lins.0.weight", "nn.lins.0.bias", in);
          product("nn.lins.1.weight", "nn.lins.1.bias", out);
        }
      }
      if (s.layer_norm && !last) {
        of.gain = reserve(out), of.shift = reserve(out);
        std::string const norm = "norms." + std::to_string(l) + "." + (several ? s.types[t] + "." : "");
        add(l, norm + "weight", 1, out, out, of.gain, true);
        add(l, norm + "bias", 1, out, out, of.shift, true);
      }
    }
  }
  values_ = buffer<Real>(x.near(), at, x.device(), "a model");
  gradients_ = buffer<Real>(x.near(), at, x.device(), "gradients");
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
    bool const norm = p.name.starts_with("norms.");
    double bound = 0;
    if (p.shape.size() == 2) {
      bound = shape_.kind == model_kind::gcn ? std::sqrt(6.0 / static_cast<double>(p.rows + p.columns))
                                             : 1 / std::sqrt(static_cast<double>(p.columns));
    } else if (!norm && shape_.kind != model_kind::gcn) {  // a bias, by the inputs of the matrix that it stands beside
      auto const matrix = std::find_if(parameters_.begin(), parameters_.end(), [&](parameter const& other) {
        return other.shape.size() == 2 && other.layer == p.layer && other.rows == p.columns;
      });
      bound = 1 / std::sqrt(static_cast<double>(matrix->columns));
    }
    for (std::uint64_t r = 0; r < p.rows; ++r)
      for (std::uint64_t c = 0; c < p.columns; ++c) {
        double const unit = static_cast<double>(unit_float(random_bits(seed, k, r * p.columns + c)));
        double const value = norm ? (p.name.ends_with("weight") ? 1 : 0) : (2 * unit - 1) * bound;
        values[p.offset + r * p.stride + c] = static_cast<Real>(value);
      }
  }
  x.copy(values_.data(), values.data(), values_.bytes());
  x.wait();
}

template <class Real>
dropped network<Real>::drop_of(pass const& p, std::uint32_t layer, std::uint32_t type) const {
  double const share = !p.training ? 0 : layer == 0 ? p.input_dropout : p.dropout;
  return {share, p.seed, (p.step * (shape_.layers + 1) + layer) * shape_.inputs.size() + type};
}

template <class Real>
row_block<Real> network<Real>::forward(executor& x, pass const& p) {
  auto const& s = shape_;
  Real const* const w = values_.data();
  for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
    inputs_[t] = p.inputs[t];
    dropped const drop = drop_of(p, 0, t);
    if (drop.share <= 0) continue;
    row_block<Real> const to{room(x, dropped_inputs_[t], p.rows[0][t] * s.inputs[t], "rows with dropout"), s.inputs[t]};
    drop_rows(x, p.inputs[t], to, p.rows[0][t], s.inputs[t], drop);
    inputs_[t] = {to.data, to.stride};
  }
  std::vector<row_block<Real const>> in = inputs_;
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    bool const last = l + 1 == s.layers;
    std::vector<row_block<Real const>> next(in.size());
    for (std::uint32_t t = 0; t < in.size(); ++t) {
      layer_of_type& of = layers_[l][t];
      if (!of.used) continue;
      std::uint64_t const targets = p.rows[l + 1][t];
      dense const& first = of.products[0];
      row_block<Real> const taken{room(x, of.taken, targets * first.in, "aggregated rows"), first.in};
      for (std::size_t r = 0; r < s.relations.size(); ++r) {
        if (of.part[r] == none) continue;
        std::uint32_t const from = s.relations[r].from;
        (*p.edges)[r].forward(x, in[from], {taken.data + of.part[r], first.in}, targets, width(l, from),
                              s.kind == model_kind::gin ? in[t] : row_block<Real const>{});
      }
      if (s.kind == model_kind::sage)
        drop_rows(x, in[t], {taken.data + of.own_part, first.in}, targets, width(l, t), {});
      row_block<Real const> from{taken.data, taken.stride};
      if (of.products.size() > 1) {
        row_block<Real> const middle{room(x, of.middle, targets * first.out, "rows between"), first.out};
        p.products->product(false, true, targets, first.out, first.in, Real{1}, taken.data, first.in, w + first.weight, first.in, Real{0},
                            middle.data, first.out);
        activate(x, middle, targets, first.out, w + first.bias, true, {});
        from = {middle.data, middle.stride};
      }
      dense const& second = of.products.back();
      row_block<Real> out{room(x, of.out, targets * second.out, "rows of a layer"), second.out};
      bool const norm = s.layer_norm && !last;
      row_block<Real> const made = norm ? row_block<Real>{room(x, of.before_norm, targets * second.out, "rows of a layer"), second.out} : out;
      p.products->product(false, true, targets, second.out, second.in, Real{1}, from.data, from.stride, w + second.weight, second.in,
                          Real{0}, made.data, second.out);
      if (norm) {
        activate(x, made, targets, second.out, w + second.bias, false, {});
        normalise_rows(x, {made.data, made.stride}, out, targets, second.out, w + of.gain, w + of.shift);
      }
      activate(x, out, targets, second.out, norm ? nullptr : w + second.bias, !last, last ? dropped{} : drop_of(p, l + 1, t));
      if (s.residual && !last && l > 0) {
        row_block<Real> const both{room(x, of.with_residual, targets * second.out, "rows of a layer"), second.out};
        drop_rows(x, {out.data, out.stride}, both, targets, second.out, {});
        add_rows(x, in[t], both, targets, second.out);
        out = both;
      }
      of.result = out;
      next[t] = {out.data, out.stride};
    }
    in = std::move(next);
  }
  return layers_.back()[s.target].result;
}

template <class Real>
void network<Real>::sum_columns(executor& x, row_block<Real const> rows, std::uint64_t count, std::uint64_t columns, std::uint64_t into) {
  sums_.run(x, rows, count, columns, gradients_.data() + into);
}

template <class Real>
void network<Real>::backward(executor& x, pass const& p, row_block<Real> scores, std::vector<row_block<Real>> const& of_inputs) {
  auto const& s = shape_;
  Real const* const w = values_.data();
  Real* const g = gradients_.data();
  std::vector<row_block<Real>> of_out(s.inputs.size());
  of_out[s.target] = scores;
  for (std::uint32_t l = s.layers; l-- > 0;) {
    bool const last = l + 1 == s.layers;
    std::vector<row_block<Real>> of_in(s.inputs.size());
    std::vector<bool> written(s.inputs.size(), false);
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
      if (l == 0) of_in[t] = t < of_inputs.size() ? of_inputs[t] : row_block<Real>{};
      else of_in[t] = {room(x, of_rows_[l % 2][t], p.rows[l][t] * width(l, t), "gradients of rows"), width(l, t)};
    }
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t) {
      layer_of_type& of = layers_[l][t];
      if (!of.used || !of_out[t].data) continue;
      std::uint64_t const targets = p.rows[l + 1][t];
      row_block<Real> const out = of_out[t];
      dense const &first = of.products[0], &second = of.products.back();
      bool const residual = s.residual && !last && l > 0;
      if (residual) {  // before it is changed: what went round the layer
        if (!written[t]) x.fill(of_in[t].data, 0, p.rows[l][t] * width(l, t) * sizeof(Real));
        add_rows(x, {out.data, out.stride}, of_in[t], targets, second.out);
        written[t] = true;
      }
      if (!last) activate_back(x, {of.out.data(), second.out}, out, targets, second.out, true, drop_of(p, l + 1, t));
      if (s.layer_norm && !last) {
        sum_columns(x, {out.data, out.stride}, targets, second.out, of.shift);
        row_block<Real> const terms{room(x, terms_, targets * second.out, "gradients"), second.out};
        normalise_rows_back(x, {of.before_norm.data(), second.out}, out, terms, targets, second.out, w + of.gain);
        sum_columns(x, {terms.data, terms.stride}, targets, second.out, of.gain);
      }
      auto const back = [&](dense const& d, row_block<Real const> in, row_block<Real> of_result, row_block<Real> of_what) {
        sum_columns(x, {of_result.data, of_result.stride}, targets, d.out, d.bias);
        p.products->product(true, false, d.out, d.in, targets, Real{1}, of_result.data, of_result.stride, in.data, in.stride, Real{0},
                            g + d.weight, d.in);
        if (of_what.data)
          p.products->product(false, false, targets, d.in, d.out, Real{1}, of_result.data, of_result.stride, w + d.weight, d.in, Real{0},
                              of_what.data, of_what.stride);
      };
      bool wanted = false;
      for (auto const& rows : of_in) wanted |= rows.data != nullptr;
      row_block<Real> const of_taken{wanted ? room(x, of_taken_, targets * first.in, "gradients of aggregated rows") : nullptr, first.in};
      if (of.products.size() > 1) {
        row_block<Real> const of_middle{room(x, of_middle_, targets * first.out, "gradients of rows between"), first.out};
        back(second, {of.middle.data(), first.out}, out, of_middle);
        activate_back(x, {of.middle.data(), first.out}, of_middle, targets, first.out, true, {});
        back(first, {of.taken.data(), first.in}, of_middle, of_taken);
      } else {
        back(second, {of.taken.data(), first.in}, out, of_taken);
      }
      if (!wanted) continue;
      bool own_done = s.kind == model_kind::gcn;
      row_block<Real const> const own{s.kind == model_kind::gin ? of_taken.data : of_taken.data + of.own_part, first.in};
      for (std::size_t r = 0; r < s.relations.size(); ++r) {
        std::uint32_t const from = s.relations[r].from;
        if (of.part[r] == none || !of_in[from].data) continue;
        bool const with_own = !own_done && from == t;
        (*p.edges)[r].backward(x, {of_taken.data + of.part[r], first.in}, of_in[from], targets, p.rows[l][from], width(l, from),
                               with_own ? own : row_block<Real const>{}, written[from]);
        written[from] = true;
        own_done |= with_own;
      }
      if (!own_done && of_in[t].data) {
        if (!written[t]) x.fill(of_in[t].data, 0, p.rows[l][t] * width(l, t) * sizeof(Real));
        add_rows(x, own, of_in[t], targets, width(l, t));
        written[t] = true;
      }
    }
    for (std::uint32_t t = 0; t < s.inputs.size(); ++t)
      if (of_in[t].data && !written[t]) {
        if (l == 0) x.fill(of_in[t].data, 0, p.rows[l][t] * width(l, t) * sizeof(Real));
        else of_in[t] = {};  // nothing that matters came of it
      }
    if (l == 0)
      for (std::uint32_t t = 0; t < s.inputs.size(); ++t)
        if (of_in[t].data) activate_back(x, inputs_[t], of_in[t], p.rows[0][t], s.inputs[t], false, drop_of(p, 0, t));
    of_out = std::move(of_in);
  }
}

template <class Real>
std::uint64_t network<Real>::bytes() const {
  std::uint64_t sum = values_.bytes() + gradients_.bytes() + of_taken_.bytes() + of_middle_.bytes() + terms_.bytes();
  for (auto const& l : layers_)
    for (auto const& of : l)
      sum += of.taken.bytes() + of.middle.bytes() + of.before_norm.bytes() + of.out.bytes() + of.with_residual.bytes();
  for (auto const& b : dropped_inputs_) sum += b.bytes();
  for (auto const& side : of_rows_)
    for (auto const& b : side) sum += b.bytes();
  return sum;
}

template class network<float>;
template class network<double>;

}  // namespace garner

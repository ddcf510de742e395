#include "lab/model_forward.hpp"

#include <cmath>

#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "lab/now.hpp"
#include "nn/model.hpp"
#include "nn/network.hpp"
#include "nn/sharded.hpp"

namespace garner::lab {

namespace {

network_shape shape_of(bench_model const& m) {
  network_shape s;
  s.kind = m.kind, s.inputs = {m.inputs}, s.relations = {{}};
  s.hidden = m.hidden, s.classes = m.classes, s.layers = m.layers;
  return s;
}

// Biases are random too, and GIN's rows stay near 1: five sums over hubs would exceed the range of f32.
std::vector<float> drawn_parameters(executor& x, network<float>& net, whole_graph const& lists, std::uint64_t seed) {
  std::vector<float> values(net.count());
  x.copy(values.data(), net.values(), values.size() * sizeof(float));
  x.wait();
  double const edges = static_cast<double>(lists.pulled().offsets[lists.vertices()]), n = static_cast<double>(lists.vertices());
  float const shrunk = net.shape().kind == model_kind::gin ? static_cast<float>(1 / (1 + edges / n)) : 1;
  for (std::size_t k = 0; k < net.parameters().size(); ++k) {
    parameter const& p = net.parameters()[k];
    for (std::uint64_t i = 0; i < p.rows * p.columns; ++i) {
      float& is = values[p.offset + i / p.columns * p.stride + i % p.columns];
      if (p.shape.size() == 1) is = unit_float(random_bits(seed, 101 + k, i)) - 0.5f;
      else if (p.name.find("lins.1") == p.name.npos) is *= shrunk;
    }
  }
  x.copy(net.values(), values.data(), values.size() * sizeof(float));
  x.wait();
  return values;
}

// A dense layer in f64 with error bounds: inputs are numbers and their possible errors, in units of the tolerance.
struct reference_dense {
  float const *weight, *bias;
  std::uint64_t in, out;
  void apply(std::vector<double>& is, std::vector<double>& off, bool relu) const {
    std::vector<double> made(out), made_off(out);
    for (std::uint64_t k = 0; k < out; ++k) {
      double sum = static_cast<double>(bias[k]), sizes = std::abs(sum);
      for (std::uint64_t c = 0; c < in; ++c) {
        double const w = static_cast<double>(weight[k * in + c]);
        sum += w * is[c], sizes += std::abs(w) * (std::abs(is[c]) + off[c]);
      }
      made[k] = relu ? std::max(sum, 0.0) : sum, made_off[k] = sizes;
    }
    is = std::move(made), off = std::move(made_off);
  }
};

class layer_check {
 public:
  layer_check(whole_graph const& lists, bench_model const& m, std::vector<parameter> const& parameters, std::vector<float> const& values,
              std::uint64_t seed, std::string const& name)
      : lists_(lists), model_(m), seed_(seed), name_(name), layers_(m.layers) {
    for (std::size_t k = 0; k + 1 < parameters.size(); k += 2) {  // a matrix, and its bias
      parameter const& w = parameters[k];
      layers_[w.layer].push_back({values.data() + w.offset, values.data() + parameters[k + 1].offset, w.columns, w.rows});
    }
  }
  // Rows of all vertices before and after layer l; results are checked for [first, first + count).
  void look(std::uint32_t l, float const* before, std::uint64_t in, float const* behind, std::uint64_t first, std::uint64_t count) const {
    constexpr std::uint64_t most = 20'000'000;  // additions
    auto const& of = lists_.pulled();
    std::vector<reference_dense> const& layer = layers_[l];
    std::uint64_t a_vertex = 0;  // multiplications
    for (reference_dense const& d : layer) a_vertex += d.in * d.out;
    std::uint64_t const all = of.offsets[lists_.vertices()] * in + lists_.vertices() * a_vertex;
    std::uint64_t const each = std::max<std::uint64_t>(1, all / most);
    bool const gcn = model_.kind == model_kind::gcn;
    auto const factor = [&](std::uint64_t v) {
      return gcn ? 1 / std::sqrt(static_cast<double>(of.offsets[v + 1] - of.offsets[v]) + 1) : 1.0;
    };
    for (std::uint64_t v = first; v < first + count; ++v) {
      if (random_bits(seed_, 5, v) % each != 0) continue;
      std::vector<double> is(in, 0), off(in, 0);
      auto const add = [&](std::uint64_t u) {
        double const f = factor(u) * factor(v);
        for (std::uint64_t c = 0; c < in; ++c) {
          double const of_u = f * static_cast<double>(before[u * in + c]);
          is[c] += of_u, off[c] += std::abs(of_u);
        }
      };
      add(v);
      for (std::uint64_t k = of.offsets[v]; k < of.offsets[v + 1]; ++k) add(of.ends[k]);
      for (std::size_t d = 0; d < layer.size(); ++d) layer[d].apply(is, off, l + 1 < model_.layers || d + 1 < layer.size());
      for (std::uint64_t c = 0; c < is.size(); ++c) {
        double const found = static_cast<double>(behind[v * is.size() + c]);
        if (!(std::abs(found - is[c]) <= 2e-5 * off[c]))
          fail(errc::internal, "{}: column {} of vertex {} behind layer {} is {}, and f64 gives {}", name_, c, v, l, found, is[c]);
      }
    }
  }

 private:
  whole_graph const& lists_;
  bench_model model_;
  std::uint64_t seed_;
  std::string const& name_;
  std::vector<std::vector<reference_dense>> layers_;
};

// Records the widths of the rows that a pass aggregates.
class noted_edges final : public aggregation_over<float> {
 public:
  explicit noted_edges(sharded_edges& edges) : edges_(edges) {}
  void forward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns, row_block<float const> self) override {
    columns_.push_back(columns);
    edges_.forward(x, in, out, columns, self);
  }
  void backward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns, row_block<float const> self,
                bool add) override {
    edges_.backward(x, in, out, columns, self, add);
  }
  std::uint64_t bytes() const override { return edges_.bytes(); }
  std::vector<std::uint64_t> take() { return std::exchange(columns_, {}); }

 private:
  sharded_edges& edges_;
  std::vector<std::uint64_t> columns_;
};

}  // namespace

forward_taken measure_forward(whole_graph const& lists, shard_options const& how, forward_job const& job, std::string const& name) {
  bench_model const& m = job.model;
  shard_parts const parts(lists.pulled().offsets, lists.vertices(), how, "a graph of the run");
  shard_group group(how, 3600);
  rank_group& threads = *group.threads();
  std::vector<std::vector<double>> times(how.shards);
  std::vector<float> rows_of_all[2];  // after a layer, by parity
  forward_taken found;
  on_shards(group, [&](std::uint32_t k) {
    interrupts_held const together;
    executor x(job.places[k]);
    threads.join(k, x, 1);
    group.join(k, x);
    sharded_edges edges(group, k, x, lists, parts, aggregation_of(m.kind));
    if (job.managed) edges.share_in(tier::managed);
    noted_edges noted(edges);
    std::vector<relation_edges<float>> relations(1);
    relations[0].leave_to(noted);
    blas products(x, dense_math::f32);
    network<float> net(x, shape_of(m), job.seed);
    std::vector<float> const values = drawn_parameters(x, net, lists, job.seed);
    layer_check const check(lists, m, net.parameters(), values, job.seed, name);

    std::uint64_t const first = parts.first(k), count = parts.count(k);
    buffer<float> rows(x.near(), std::max<std::uint64_t>(count * m.inputs, 1), x.device(), "rows of a shard");
    x.copy(rows.data(), job.features.data() + first * m.inputs, count * m.inputs * sizeof(float));
    network<float>::pass p;
    p.products = &products, p.edges = &relations, p.steady = true;
    p.rows.assign(m.layers + 1, {count});
    p.inputs = {{rows.data(), m.inputs}};
    p.watch = [&](char const*, std::uint32_t l, std::uint32_t, std::uint64_t, row_block<float const> made, std::uint64_t,
                  std::uint64_t columns) {
      std::vector<float>& all = rows_of_all[l % 2];
      if (k == 0) all.resize(lists.vertices() * columns);
      threads.barrier(k);
      x.copy(all.data() + first * columns, made.data, count * columns * sizeof(float));
      x.wait();
      threads.barrier(k);
      check.look(l, l == 0 ? job.features.data() : rows_of_all[(l + 1) % 2].data(), l == 0 ? m.inputs : m.hidden, all.data(), first, count);
      threads.barrier(k);
    };
    double const since = now_ms();
    for (std::uint64_t trial = 0; trial <= job.trials; ++trial) {  // the first is compared, and not timed
      if (trial > 1 && threads.any(k, now_ms() - since > slow_enough_ms)) break;
      x.wait();
      threads.barrier(k);
      double const begun = now_ms();
      net.forward(x, p);
      x.wait();
      if (trial) times[k].push_back(now_ms() - begun);
      p.watch = {};
      std::vector<std::uint64_t> const columns = noted.take();
      if (k == 0) found.columns = columns;
    }
  });
  found.ms = median_of_slowest(times, 0, times[0].size());
  return found;
}

}  // namespace garner::lab

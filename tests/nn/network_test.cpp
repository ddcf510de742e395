// Models: outputs against an independent serial f64 reference, gradients against f64 finite differences, and the same bits on the CPU and
// simulated.
#include "nn/network.hpp"

#include <gmock/gmock.h>
#include <cmath>
#include <map>
#include <numeric>

#include "core/random.hpp"
#include "garner/handle.hpp"
#include "garner/subgraph.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

// Two hops or more of a mini-batch over one or two types, as plain lists.
struct drawn_twin {
  std::vector<std::vector<std::int64_t>> row, col;  // per relation
  std::vector<std::vector<std::uint64_t>> rows;     // [l][t]
  std::vector<std::vector<std::int64_t>> ids;
};

struct case_of {
  char const* name;
  model_kind kind;
  std::uint32_t layers = 2;
  bool norm = false, residual = false;
  bool several = false;
  double input_dropout = 0, dropout = 0;
  bool weighted = false;
  bool wide = false;  // wide rows, all vertices are seeds: the GEMM comes first
};
std::ostream& operator<<(std::ostream& out, case_of const& c) { return out << c.name; }

case_of const cases[] = {
    {"gcn", model_kind::gcn},
    {"gcn_deep", model_kind::gcn, 3, true, true},
    {"gcn_weighted", model_kind::gcn, 2, false, false, false, 0, 0, true},
    {"gcn_dropout", model_kind::gcn, 2, false, false, false, 0.3, 0.5},
    {"sage", model_kind::sage},
    {"sage_weighted", model_kind::sage, 2, false, false, false, 0, 0, true},
    {"sage_deep", model_kind::sage, 3, true, true, false, 0, 0.4},
    {"sage_one", model_kind::sage, 1},
    {"sage_relations", model_kind::sage, 3, true, true, true, 0.2, 0.3},
    {"gcn_wide", model_kind::gcn, 2, false, false, false, 0.2, 0.3, true, true},
    {"sage_wide", model_kind::sage, 2, true, false, false, 0.2, 0.3, true, true},
    {"sage_residual", model_kind::sage, 2, false, true},
    {"gin", model_kind::gin},
    {"gin_weighted", model_kind::gin, 2, false, false, false, 0, 0, true},
    {"gin_norm", model_kind::gin, 2, true},
    {"gin_deep", model_kind::gin, 3, true, true, false, 0.1, 0.3},
    {"gin_wide", model_kind::gin, 2, true, false, false, 0.2, 0.3, true,
     true},  // without the norm some rows are 0, where ReLU is not differentiable
};

constexpr std::uint64_t vertices = 60, narrow = 5, hidden = 6, classes = 4;

graph_handle some_graph(std::uint64_t seed) {
  std::vector<edge> edges;
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::uint64_t const a = random_bits(seed, 0, i) % vertices, b = random_bits(seed, 1, i) % (vertices - 3);  // the last have no in-edges
    edges.push_back({a, b});
  }
  for (std::uint64_t v = 0; v < vertices; ++v) edges.push_back({v, v % 7});
  build_options o;
  o.in_edges = true;
  o.random_weights = build_options::weight_options{weight_kind::f32, 0.5, 2, 3};
  return build_graph({.edges = edges}, o);
}

template <class Real>
struct setup {
  executor x;
  graph_handle graph[3] = {some_graph(1), some_graph(2), some_graph(3)};
  std::vector<relation_edges<Real>> edges;
  std::vector<buffer<Real>> inputs;
  std::vector<buffer<Real>> degrees;
  typename network<Real>::pass pass;
  network_shape shape;
  std::unique_ptr<network<Real>> net;
  blas products;
  std::unique_ptr<block_sampler> sampler;
  sampled_subgraph drawn;

  setup(execution_device where, case_of const& c) : x(where), products(x, dense_math::f32) {
    shape.kind = c.kind, shape.layers = c.layers, shape.hidden = hidden, shape.classes = classes;
    shape.layer_norm = c.norm, shape.residual = c.residual;
    std::uint64_t const width = c.wide ? 13 : narrow;
    shape.inputs = {width};
    shape.relations = {{0, 0, "to"}};
    if (c.several) {
      shape.inputs = {width, width + 2};
      shape.types = {"a", "b"};
      shape.relations = {{0, 0, "aa"}, {0, 1, "ab"}, {1, 0, "ba"}};
    }
    net = std::make_unique<network<Real>>(x, shape, 7);
    block_options o;
    o.edge_ids = true;
    std::vector<sampled_type> types(shape.inputs.size(), sampled_type{vertices});
    std::vector<sampled_relation> relations;
    for (auto& g : graph)
      if (where.kind == device_kind::cuda) g = to_device(std::move(g), where, tier::device);
    for (std::size_t r = 0; r < shape.relations.size(); ++r)
      relations.push_back({&graph[r], edge_direction::in, shape.relations[r].from, shape.relations[r].to,
                           std::vector<std::int64_t>(c.layers, static_cast<std::int64_t>(3 + r))});
    sampler = std::make_unique<block_sampler>(where, types, relations, o);
    std::vector<std::int64_t> seeds{3, 17, 58, 59, 0, 41};
    for (std::int64_t v = 1; c.wide && v < 55; ++v)
      if (v != 3 && v != 17 && v != 41) seeds.push_back(v);
    drawn = sampler->sample(5, seeds);

    pass.rows.resize(c.layers + 1);
    for (std::uint32_t l = 0; l <= c.layers; ++l)
      for (std::uint32_t t = 0; t < types.size(); ++t) {
        auto const& by_hop = drawn.of_type(t).by_hop;
        pass.rows[l].push_back(std::accumulate(by_hop.begin(), by_hop.begin() + (c.layers - l + 1), std::uint64_t{0}));
      }
    edges.resize(relations.size());
    for (std::size_t r = 0; r < relations.size(); ++r) {
      auto const& e = drawn.of_relation(r);
      adjacency_arrays const lists = adjacency_of(graph[r], true);
      std::vector<Real> counts(vertices), sums(vertices);
      for (std::size_t v = 0; v < vertices; ++v)
        for (std::uint64_t k = lists.offsets[v]; k < lists.offsets[v + 1]; ++k)
          counts[v] += 1, sums[v] += c.weighted ? static_cast<Real>(static_cast<float const*>(lists.weights)[k]) : 1;
      degrees.push_back(near_copy(x, counts));
      degrees.push_back(near_copy(x, sums));
      std::vector<std::uint32_t> bits(graph[r].info().edges);
      std::memcpy(bits.data(), lists.weights, bits.size() * 4);
      weights.push_back(near_copy(x, bits));
      arc_array<std::uint32_t> of_weights;
      of_weights.data = weights.back().data();
      edges[r].take(x, e, pass.rows[1][relations[r].to], pass.rows[0][relations[r].from], e.count, c.weighted ? &of_weights : nullptr,
                    weight_kind::f32);
      edges[r].normalise(x,
                         c.kind == model_kind::gcn    ? aggregation::gcn
                         : c.kind == model_kind::sage ? aggregation::mean
                                                      : aggregation::sum,
                         degrees[2 * r + 1].data(), degrees[2 * r].data(), drawn.of_type(0).ids);
    }
    for (std::size_t t = 0; t < types.size(); ++t) {
      std::vector<Real> values(pass.rows[0][t] * shape.inputs[t]);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Real>(unit_float(random_bits(9, t, i)) * 2 - 0.8);
      inputs.push_back(near_copy(x, values));
      pass.inputs.push_back({inputs[t].data(), shape.inputs[t]});
    }
    pass.products = &products, pass.edges = &edges;
    pass.training = c.dropout > 0 || c.input_dropout > 0;
    pass.input_dropout = c.input_dropout, pass.dropout = c.dropout, pass.seed = 11, pass.step = 2;
  }
  std::vector<buffer<std::uint32_t>> weights;
  std::uint64_t seeds() const { return pass.rows.back()[0]; }

  std::vector<Real> scores() {
    row_block<Real> const out = net->forward(x, pass);
    return host_copy(x, out.data, seeds() * classes);
  }
  // A loss that depends on every score: sum of coefficient times score, with squared terms.
  double loss() {
    double sum = 0;
    std::vector<Real> const s = scores();
    for (std::size_t i = 0; i < s.size(); ++i) sum += std::sin(static_cast<double>(i) + 1) * s[i] + 0.5 * s[i] * s[i];
    return sum;
  }
  void gradients(std::vector<row_block<Real>> const& of_inputs) {
    std::vector<Real> s = scores();
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += static_cast<Real>(std::sin(static_cast<double>(i) + 1));
    auto of_scores = near_copy(x, s);
    net->backward(x, pass, {of_scores.data(), classes}, of_inputs);
    x.wait();
  }
};

// The serial reference: vertex by vertex, with maps, no dropout.
std::vector<double> twin(setup<double>& s, case_of const& c) {
  std::map<std::string, std::vector<double>> by_name;
  std::vector<double> const all = host_copy(s.x, s.net->values(), s.net->count());
  for (parameter const& p : s.net->parameters()) {
    auto& to = by_name[p.name];
    for (std::uint64_t r = 0; r < p.rows; ++r)
      for (std::uint64_t k = 0; k < p.columns; ++k) to.push_back(all[p.offset + r * p.stride + k]);
  }
  using table = std::vector<std::vector<double>>;
  std::vector<table> now;
  for (std::size_t t = 0; t < s.shape.inputs.size(); ++t) {
    std::vector<double> const values = host_copy(s.x, s.inputs[t].data(), s.inputs[t].size());
    table rows(s.pass.rows[0][t]);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].assign(values.begin() + static_cast<long>(i * s.shape.inputs[t]),
                     values.begin() + static_cast<long>((i + 1) * s.shape.inputs[t]));
    now.push_back(rows);
  }
  struct arc_of {
    std::size_t from, to;
    double weight;
  };
  std::vector<std::vector<arc_of>> arcs(s.shape.relations.size());
  for (std::size_t r = 0; r < arcs.size(); ++r) {
    auto const& e = s.drawn.of_relation(r);
    auto const rows = host_copy(s.x, e.row, e.count), cols = host_copy(s.x, e.col, e.count), ids = host_copy(s.x, e.edge, e.count);
    adjacency_arrays const lists = adjacency_of(s.graph[r], true);
    for (std::size_t k = 0; k < e.count; ++k)
      arcs[r].push_back({static_cast<std::size_t>(rows[k]), static_cast<std::size_t>(cols[k]),
                         c.weighted ? static_cast<double>(static_cast<float const*>(lists.weights)[ids[k]]) : 1.0});
  }
  auto const ids = host_copy(s.x, s.drawn.of_type(0).ids, s.pass.rows[0][0]);
  auto const matrix = [&](std::string const& name, std::vector<double> const& v) {
    auto const& w = by_name.at(name);
    std::vector<double> out(w.size() / v.size());
    for (std::size_t o = 0; o < out.size(); ++o)
      for (std::size_t k = 0; k < v.size(); ++k) out[o] += w[o * v.size() + k] * v[k];
    return out;
  };
  auto const plus = [](std::vector<double> a, std::vector<double> const& b, double by = 1) {
    for (std::size_t k = 0; k < a.size(); ++k) a[k] += by * b[k];
    return a;
  };
  auto const normed = [&](std::vector<double> v, std::string const& norm) {
    double mean = 0, spread = 0;
    for (double z : v) mean += z / static_cast<double>(v.size());
    for (double z : v) spread += (z - mean) * (z - mean) / static_cast<double>(v.size());
    for (std::size_t k = 0; k < v.size(); ++k)
      v[k] = (v[k] - mean) / std::sqrt(spread + 1e-5) * by_name.at(norm + "weight")[k] + by_name.at(norm + "bias")[k];
    return v;
  };
  if (c.residual)
    for (std::size_t t = 0; t < now.size(); ++t)
      for (auto& row : now[t]) {
        std::string const name = c.several ? "lin_in." + s.shape.types[t] + "." : "lin_in.";
        row = plus(matrix(name + "weight", row), by_name.at(name + "bias"));
        for (double& z : row) z = std::max(z, 0.0);
      }
  for (std::uint32_t l = 0; l < s.shape.layers; ++l) {
    bool const last = l + 1 == s.shape.layers;
    std::vector<table> next(now.size()), came = now;
    if (c.residual && c.norm)
      for (std::size_t t = 0; t < now.size(); ++t)
        for (auto& row : now[t]) row = normed(row, "norms." + std::to_string(l) + "." + (c.several ? s.shape.types[t] + "." : ""));
    std::string const conv = "convs." + std::to_string(l) + ".";
    for (std::size_t t = 0; t < now.size(); ++t) {
      if (last && t != 0) continue;
      std::string const own = c.several ? s.shape.types[t] + "." : "";
      for (std::size_t v = 0; v < s.pass.rows[l + 1][t]; ++v) {
        std::vector<double> out;
        for (std::size_t r = 0; r < arcs.size(); ++r) {
          if (s.shape.relations[r].to != t) continue;
          auto const& in = now[s.shape.relations[r].from];
          std::vector<double> sum(in[0].size());
          double total = 0, drawn = 0;
          for (auto const& a : arcs[r])
            if (a.to == v) total += a.weight, drawn += 1;
          auto const degree = [&](std::size_t u) {
            return host_copy(s.x, s.degrees[1].data(), vertices)[static_cast<std::size_t>(ids[u])];
          };
          for (auto const& a : arcs[r]) {
            if (a.to != v) continue;
            double by = a.weight;
            if (c.kind == model_kind::sage) by /= total;
            if (c.kind == model_kind::gcn) {
              double const have = host_copy(s.x, s.degrees[0].data(), vertices)[static_cast<std::size_t>(ids[v])];
              by *= have / drawn / std::sqrt((degree(v) + 1.0) * (degree(a.from) + 1.0));
            }
            sum = plus(sum, in[a.from], by);
          }
          if (c.kind == model_kind::gcn) sum = plus(sum, in[v], 1 / (degree(v) + 1.0));
          if (c.kind == model_kind::gin) sum = plus(sum, in[v]);
          std::string const relation = c.several ? s.shape.relations[r].name + "." : "";
          if (c.kind == model_kind::sage) sum = matrix(conv + relation + "lin_l.weight", sum);
          out = out.empty() ? sum : plus(out, sum);
        }
        if (c.kind == model_kind::sage) {
          auto const self = matrix(conv + own + "lin_r.weight", now[t][v]);
          out = plus(out.empty() ? std::vector<double>(self.size()) : out, self);
          out = plus(out, by_name.at(conv + own + "lin_l.bias"));
        } else if (c.kind == model_kind::gcn) {
          out = plus(matrix(conv + "lin.weight", out), by_name.at(conv + "bias"));
        } else {
          out = plus(matrix(conv + "nn.lins.0.weight", out), by_name.at(conv + "nn.lins.0.bias"));
          if (c.norm) out = normed(out, conv + "nn.norms.0.");
          for (double& z : out) z = std::max(z, 0.0);
          out = plus(matrix(conv + "nn.lins.1.weight", out), by_name.at(conv + "nn.lins.1.bias"));
        }
        if (!last || c.residual) {
          if (c.norm && !c.residual) out = normed(out, "norms." + std::to_string(l) + "." + own);
          for (double& z : out) z = std::max(z, 0.0);
          if (c.residual) out = plus(out, came[t][v]);
        }
        next[t].push_back(out);
      }
    }
    now = next;
  }
  if (c.residual)
    for (auto& row : now[0]) row = plus(matrix("lin_out.weight", c.norm ? normed(row, "norm_out.") : row), by_name.at("lin_out.bias"));
  std::vector<double> flat;
  for (auto const& row : now[0]) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

class network_at : public ::testing::TestWithParam<std::tuple<device_kind, case_of>> {
 protected:
  void SetUp() override {
    if (where().kind == device_kind::cuda && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  execution_device where() const { return {std::get<0>(GetParam()), 0}; }
  case_of of() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(at, network_at, ::testing::Combine(every_place, ::testing::ValuesIn(cases)), [](auto const& info) {
  return std::string(std::get<1>(info.param).name) + "_" + name_of(std::get<0>(info.param));
});

TEST_P(network_at, gives_what_the_serial_twin_gives) {
  case_of c = of();
  c.dropout = c.input_dropout = 0;
  setup<double> s(where(), c);
  // Norms with an effect.
  std::vector<double> all = host_copy(s.x, s.net->values(), s.net->count());
  for (parameter const& p : s.net->parameters())
    if (p.name.find("norm") != p.name.npos)
      for (std::uint64_t k = 0; k < p.columns; ++k) all[p.offset + k] += 0.1 * static_cast<double>(k);
  s.x.copy(s.net->values(), all.data(), all.size() * sizeof(double));
  auto const got = s.scores();
  auto const expected = twin(s, c);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-10) << i;
  setup<float> f(where(), c);
  auto const rough = f.scores();
  for (std::size_t i = 0; !c.norm && i < got.size(); ++i) EXPECT_NEAR(rough[i], expected[i], 1e-4) << i;
  // A library's planned GEMMs end in the written order.
  f.pass.steady = true;
  auto const planned = f.scores();
  if (where().kind != device_kind::cuda) {
    EXPECT_EQ(planned, rough);
  }
  for (std::size_t i = 0; !c.norm && i < got.size(); ++i) EXPECT_NEAR(planned[i], expected[i], 1e-4) << i;
}

TEST_P(network_at, gradients_are_those_of_finite_differences) {
  setup<double> s(where(), of());
  std::vector<buffer<double>> of_inputs;
  std::vector<row_block<double>> wanted;
  for (std::size_t t = 0; t < s.inputs.size(); ++t) {
    of_inputs.push_back(near_copy(s.x, std::vector<double>(s.inputs[t].size(), 1e9)));
    wanted.push_back({of_inputs[t].data(), s.shape.inputs[t]});
  }
  s.gradients(wanted);
  auto const got = host_copy(s.x, s.net->gradients(), s.net->count());
  auto const near = [&](double* at, double gradient, std::string const& what) {
    constexpr double step = 1e-6;
    double const value = s.x.read(at);
    auto const set = [&](double v) { s.x.copy(at, &v, sizeof v), s.x.wait(); };
    set(value + step);
    double const above = s.loss();
    set(value - step);
    double const below = s.loss();
    set(value);
    EXPECT_NEAR(gradient, (above - below) / (2 * step), 2e-4 * std::max(1.0, std::abs(gradient))) << what;
  };
  for (parameter const& p : s.net->parameters())
    for (std::uint64_t k = 0; k<p.rows * p.columns; k += p.rows * p.columns> 40 ? 7 : 1) {
      std::uint64_t const at = p.offset + k / p.columns * p.stride + k % p.columns;
      near(s.net->values() + at, got[at], p.name + " " + std::to_string(k));
    }
  for (std::size_t t = 0; t < s.inputs.size(); ++t) {
    auto const g = host_copy(s.x, of_inputs[t].data(), of_inputs[t].size());
    for (std::size_t i = 0; i < g.size(); i += 11) near(s.inputs[t].data() + i, g[i], "input " + std::to_string(i));
  }
}

TEST(network, has_the_same_bits_at_host_and_simulated) {
  for (case_of const& c : cases) {
    setup<float> a({device_kind::cpu, 0}, c), b({device_kind::simulated, 0}, c);
    EXPECT_EQ(a.scores(), b.scores()) << c.name;
    a.gradients({}), b.gradients({});
    EXPECT_EQ(host_copy(a.x, a.net->gradients(), a.net->count()), host_copy(b.x, b.net->gradients(), b.net->count())) << c.name;
  }
}

TEST(network, refuses_what_has_no_meaning) {
  executor x(execution_device{});
  network_shape s;
  s.kind = model_kind::gcn, s.inputs = {3, 3}, s.types = {"a", "b"}, s.relations = {{0, 1, "to"}}, s.classes = 2;
  EXPECT_THAT(error_of([&] { network<float>(x, s, 1); }), ::testing::HasSubstr("use sage"));
}

}  // namespace
}  // namespace garner

// Exact inference by layers: every way, and their combinations, against the whole graph in one piece; what was brought against the plan.
#include "nn/infer/infer.hpp"

#include <gmock/gmock.h>
#include <map>
#include <set>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/gnn.hpp"
#include "garner/handle.hpp"
#include "memory/budget.hpp"
#include "nn/infer/whole.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

constexpr std::uint64_t vertices = 5000, width = 40;

graph_handle const& some_graph() {
  static graph_handle const g = [] {
    std::vector<edge> edges;
    for (std::uint64_t i = 0; i < 9000; ++i)
      edges.push_back({random_bits(1, 0, i) % vertices, random_bits(1, 1, i) % (vertices - 3)});           // the last draw from none
    for (std::uint64_t v = 0; v < vertices; ++v) edges.push_back({v, 7}), edges.push_back({7, v % 4500});  // lists of more than one slice
    build_options o;
    o.in_edges = true;
    o.random_weights = build_options::weight_options{weight_kind::f32, 0.5, 2, 3};
    return build_graph({.edges = edges}, o);
  }();
  return g;
}
std::vector<float> some_rows() {
  std::vector<float> rows(vertices * width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(unit_float(random_bits(2, 0, i))) - 0.4f;
  return rows;
}

struct case_of {
  char const* name;
  model_kind kind;
  std::uint32_t layers = 2;
  std::uint64_t hidden = 24;
  bool norm = false, residual = false, weighted = false;
  edge_direction side = edge_direction::in;
  row_scaling scaling = row_scaling::none;
};
std::ostream& operator<<(std::ostream& out, case_of const& c) { return out << c.name; }
case_of const cases[] = {
    {"gcn", model_kind::gcn},
    {"gcn_wide", model_kind::gcn, 3, 56, true, false, true},
    {"gcn_residual", model_kind::gcn, 2, 24, true, true},
    {"sage", model_kind::sage, 3},
    {"sage_wide", model_kind::sage, 3, 56, false, false, true, edge_direction::out, row_scaling::sum},
    {"sage_norm", model_kind::sage, 2, 28, true},
    {"sage_residual", model_kind::sage, 3, 30, false, true},
    {"sage_residual_norm", model_kind::sage, 2, 26, true, true, true, edge_direction::out},
    {"gin", model_kind::gin, 3},
    {"gin_wide", model_kind::gin, 2, 56, true, false, true},
    {"gin_residual", model_kind::gin, 2, 24, true, true, false, edge_direction::in, row_scaling::length},
    {"sage_one", model_kind::sage, 1},
};

class infer_at : public ::testing::TestWithParam<std::tuple<device_kind, case_of>> {
 protected:
  void SetUp() override {
    if (where().kind == device_kind::cuda && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  execution_device where() const { return {std::get<0>(GetParam()), 0}; }
  case_of of() const { return std::get<1>(GetParam()); }
  static model_options model_of(case_of const& c) {
    model_options m;
    m.kind = c.kind, m.inputs = width, m.classes = 5, m.layers = c.layers, m.hidden = static_cast<std::uint32_t>(c.hidden);
    m.layer_norm = c.norm, m.residual = c.residual, m.scaling = c.scaling, m.seed = 3;
    return m;
  }
};
INSTANTIATE_TEST_SUITE_P(at, infer_at, ::testing::Combine(every_place, ::testing::ValuesIn(cases)), [](auto const& info) {
  return std::string(std::get<1>(info.param).name) + "_" + name_of(std::get<0>(info.param));
});

// Scores, and the rows before the classes, `hidden` elements each.
std::pair<std::vector<float>, std::vector<float>> in_one_piece(gnn_model& model, tiered_tensor& features, edge_direction side,
                                                               bool weighted) {
  auto& [x, o, net] = model.inside();
  whole_pass all(x, some_graph(), side, weighted, aggregation_of(o.kind));
  tiered_tensor* const tables[] = {&features};
  blas products(x, dense_math::f32);
  std::vector<float> rows;
  network<float>::pass p = all.of(net, o.scaling, tables, products);
  p.watch = [&x = x, &rows, before = o.layers - (o.residual ? 1 : 2)](char const*, std::uint32_t l, std::uint32_t, std::uint64_t,
                                                                      row_block<float const> made, std::uint64_t n, std::uint64_t columns) {
    if (l == before) rows = host_copy(x, made.data, n * columns);
  };
  auto scores = host_copy(x, net.forward(x, p).data, vertices * 5);
  return {std::move(scores), std::move(rows)};
}
void expect_close(std::vector<float> const& got, std::vector<float> const& expected, std::string const& how) {
  ASSERT_EQ(got.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst =
        std::max(worst, std::abs(static_cast<double>(got[i] - expected[i])) / std::max(1.0, std::abs(static_cast<double>(expected[i]))));
  EXPECT_LT(worst, 1e-4) << how;
}

TEST_P(infer_at, gives_what_one_piece_gives_whatever_fits_near) {
  case_of const c = of();
  std::vector<float> const rows = some_rows();
  tiered_options t;
  t.device = where();
  t.feature_cache = 0;
  if (t.device.kind == device_kind::cpu) t.feature_cache.reset();
  tiered_tensor features({rows.data(), vertices, width}, t);
  gnn_model model(where(), model_of(c));
  auto const [expected, before] = in_one_piece(model, features, c.side, c.weighted);
  std::set<std::string> strategies;
  bool parts = false, refused = false;
  double near = 64e6;
  for (; near > 1000; near *= 0.85) {
    inference_options o;
    o.side = c.side, o.weighted = c.weighted, o.math = dense_math::f32;
    o.memory_limit = static_cast<std::uint64_t>(near);
    std::vector<float> got(vertices * 5, -1), embedded(before.size(), -1);
    o.embeddings = embedded;
    inference_report planned, done;
    try {
      planned = plan_inference(model, some_graph(), features, o);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::memory);
      EXPECT_THAT(e.what(), HasSubstr("near_bytes"));
      refused = true;
      break;
    }
    std::string all;
    for (auto const& l : planned.layers) all += l.how + "\n";
    if (!strategies.insert(all).second) continue;
    done = infer(model, some_graph(), features, got, o);
    std::string const with = fmt::format("with {} bytes:\n{}", near, all);
    expect_close(got, expected, "scores " + with);
    expect_close(embedded, before, "embeddings " + with);
    ASSERT_EQ(done.layers.size(), planned.layers.size());
    for (std::size_t l = 0; l < done.layers.size(); ++l) {
      EXPECT_EQ(done.layers[l].rows_in, planned.layers[l].rows_in) << l << ": " << all;
      EXPECT_EQ(done.layers[l].rows_out, planned.layers[l].rows_out) << l << ": " << all;
      EXPECT_GE(done.layers[l].lists, planned.layers[l].lists) << l << ": " << all;
      parts |= done.layers[l].lists > 0;
    }
    EXPECT_LE(planned.device_bytes, *o.memory_limit);
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(parts);
  EXPECT_GE(strategies.size(), 3u);
}

TEST(infer, embeddings_are_those_of_a_plain_loop) {
  std::vector<float> const rows = some_rows();
  tiered_tensor features({rows.data(), vertices, width});
  model_options m;
  m.kind = model_kind::sage, m.inputs = width, m.classes = 5, m.layers = 2, m.hidden = 6;
  gnn_model model({}, m);
  std::vector<float> scores(vertices * 5), got(vertices * m.hidden), alone(scores.size());
  inference_options o;
  o.math = dense_math::f32;
  infer(model, some_graph(), features, alone, o);
  o.embeddings = got;
  infer(model, some_graph(), features, scores, o);
  EXPECT_EQ(scores, alone);
  std::map<std::string, parameter> named;
  for (parameter const& p : model.inside().net.parameters()) named[p.name] = p;
  float const* const values = model.inside().net.values();
  auto const value = [&](char const* name, std::uint64_t i, std::uint64_t k) {
    parameter const& p = named.at(name);
    return static_cast<double>(values[p.offset + i * p.stride + k]);
  };
  whole_graph const in(some_graph(), edge_direction::in, false, false);
  auto const& lists = in.pulled();
  std::vector<float> expected(got.size());
  for (std::uint64_t v = 0; v < vertices; ++v) {
    double const count = std::max<double>(1, static_cast<double>(lists.offsets[v + 1] - lists.offsets[v]));
    std::vector<double> mean(width);
    for (std::uint64_t e = lists.offsets[v]; e < lists.offsets[v + 1]; ++e)
      for (std::uint64_t k = 0; k < width; ++k) mean[k] += rows[lists.ends[e] * width + k] / count;
    for (std::uint64_t i = 0; i < m.hidden; ++i) {
      double sum = value("convs.0.lin_l.bias", 0, i);
      for (std::uint64_t k = 0; k < width; ++k)
        sum += value("convs.0.lin_l.weight", i, k) * mean[k] + value("convs.0.lin_r.weight", i, k) * rows[v * width + k];
      expected[v * m.hidden + i] = static_cast<float>(std::max(sum, 0.0));
    }
  }
  expect_close(got, expected, "by a plain loop");
  o.embeddings = std::span(got).first(got.size() - 1);
  EXPECT_THAT(error_of([&] { infer(model, some_graph(), features, scores, o); }), HasSubstr("elements of embeddings"));
  m.layers = 1;
  gnn_model flat({}, m);
  EXPECT_THAT(error_of([&] { infer(flat, some_graph(), features, scores, o); }), HasSubstr("one layer"));
}

TEST(infer, every_way_is_taken) {
  std::set<layer_way> strategies;
  bool relaid = false, own_near = false, rows_twice = false, in_parts = false, out_near = false;
  for (case_of const& c : cases) {
    inference_sizes s;
    s.model.kind = c.kind, s.model.inputs = width, s.model.classes = 5, s.model.layers = c.layers;
    s.model.hidden = static_cast<std::uint32_t>(c.hidden), s.model.layer_norm = c.norm, s.model.residual = c.residual;
    s.vertices = vertices, s.edges = 18000, s.longest = 5000, s.slices = 4, s.far_row_bytes = width * 4;
    try {
      for (double near = 64e6;; near *= 0.85) {
        inference_plan const p = plan_layers(s, static_cast<std::uint64_t>(near));
        in_parts |= !p.lists_near;
        for (auto const& l : p.layers) {
          strategies.insert(l.strategy);
          relaid |= l.relaid, own_near |= l.own_near, out_near |= l.out_near;
          rows_twice |= l.strategy == layer_way::products && c.kind == model_kind::sage && !l.own_near;
        }
      }
    } catch (error const&) {
    }
  }
  EXPECT_EQ(strategies.size(), 4u);
  EXPECT_TRUE(relaid && own_near && rows_twice && in_parts && out_near) << relaid << own_near << rows_twice << in_parts << out_near;
}

TEST(infer, reads_the_rows_of_each_layer_once_where_they_or_their_products_fit) {
  std::vector<float> const rows = some_rows();
  tiered_options t;
  t.device = {device_kind::simulated, 0};
  tiered_tensor features({rows.data(), vertices, width}, t);
  model_options m;
  m.kind = model_kind::gcn, m.inputs = width, m.classes = 5, m.layers = 3, m.hidden = 56;
  gnn_model model(t.device, m);
  inference_options o;
  o.memory_limit = 1'950'000;  // rows of 56 x 5000 are 1.1 MB: one layer's fit, two layers' do not
  std::vector<float> scores(vertices * 5);
  inference_report const r = infer(model, some_graph(), features, scores, o);
  ASSERT_EQ(r.layers.size(), 3u);
  EXPECT_EQ(r.layers[0].rows_in, vertices * width * 4);
  EXPECT_EQ(r.layers[1].rows_in, vertices * 56 * 4);
  EXPECT_EQ(r.layers[2].rows_in, vertices * 56 * 4);
  EXPECT_EQ(r.floor_bytes, vertices * (width + 56 + 56) * 4);
  EXPECT_EQ(r.layers[0].rows_out + r.layers[1].rows_out, 2 * vertices * 56 * 4);
}

TEST(infer, tells_the_row_that_is_no_number_and_stops_when_asked) {
  std::vector<float> rows = some_rows();
  rows[4321 * width + 7] = std::nanf("");
  tiered_tensor features({rows.data(), vertices, width});
  model_options m;
  m.inputs = width, m.classes = 5, m.hidden = 24;
  gnn_model model({}, m);
  std::vector<float> scores(vertices * 5);
  inference_options o;
  for (std::uint64_t const near : {64'000'000u, 2'000'000u}) {
    o.memory_limit = near;
    EXPECT_THAT(error_of([&] { infer(model, some_graph(), features, scores, o); }), HasSubstr("element 7 of row 4321"));
  }
  rows[4321 * width + 7] = 0;
  infer(model, some_graph(), features, scores, o);
  for (std::uint64_t checks = 0; checks < 12; checks += 3) {
    request_interrupt_after(checks);
    errc code{};
    std::vector<float> cut(vertices * 5);
    error_of([&] { infer(model, some_graph(), features, cut, o); }, &code);
    EXPECT_EQ(code, errc::interrupted);
    clear_interrupt();
    infer(model, some_graph(), features, cut, o);
    EXPECT_EQ(cut, scores);
  }
}

}  // namespace
}  // namespace garner

// Aggregation over a custom block, against loops in double; its backward is the transpose; errors are named.
#include "garner/aggregate.hpp"

#include <gmock/gmock.h>
#include <algorithm>

#include <cmath>
#include <numeric>
#include <random>

#include "core/convert.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

struct block {
  std::uint64_t targets, sources;
  std::vector<std::int64_t> row, col;
  std::vector<double> weights;
  std::vector<double> degrees;
};
block make_block(std::uint64_t targets, std::uint64_t sources, bool weighted) {
  std::mt19937 from(4);
  block b{targets, sources, {}, {}, {}, {}};
  for (std::uint64_t v = 0; v < targets; ++v)
    for (std::uint64_t k = from() % 7; k > 0; --k) {  // some have none
      b.row.push_back(static_cast<std::int64_t>(from() % sources)), b.col.push_back(static_cast<std::int64_t>(v));
      if (weighted) b.weights.push_back(1 + static_cast<double>(from() % 8) / 3);
    }
  for (std::uint64_t u = 0; u < sources; ++u) b.degrees.push_back(static_cast<double>(from() % 20) * (weighted ? 1.7 : 1));
  return b;
}
// The matrix of the aggregation: targets x sources.
std::vector<double> matrix_of(block const& b, aggregation how, bool own_degrees) {
  std::vector<double> m(b.targets * b.sources), in(std::max(b.targets, b.sources)), drawn(in.size());
  auto const weight = [&](std::size_t e) { return b.weights.empty() ? 1.0 : b.weights[e]; };
  for (std::size_t e = 0; e < b.row.size(); ++e)
    in[static_cast<std::size_t>(b.col[e])] += weight(e), ++drawn[static_cast<std::size_t>(b.col[e])];
  auto const degree = [&](std::size_t u) { return own_degrees ? in[u] : b.degrees[u]; };
  for (std::size_t e = 0; e < b.row.size(); ++e) {
    auto const v = static_cast<std::size_t>(b.col[e]), u = static_cast<std::size_t>(b.row[e]);
    double f = 1;
    if (how == aggregation::mean) f = 1 / in[v];
    // Without weights, degrees are counts, and sampled neighbors are scaled up for the others.
    bool const counts = !own_degrees && b.weights.empty();
    if (how == aggregation::gcn) f = 1 / std::sqrt((degree(v) + 1) * (degree(u) + 1)) * (counts ? degree(v) / drawn[v] : 1);
    m[v * b.sources + u] += weight(e) * f;
  }
  if (how == aggregation::gcn)
    for (std::size_t v = 0; v < b.targets; ++v) m[v * b.sources + v] += 1 / (degree(v) + 1);
  return m;
}

class block_aggregation_test : public at_place {
 protected:
  template <class Real>
  void check(block const& b, aggregation how, bool own_degrees, std::uint64_t columns) {
    executor x(where());
    auto const row = near_copy(x, b.row), col = near_copy(x, b.col);
    auto const weights = near_copy(x, std::vector<Real>(b.weights.begin(), b.weights.end()));
    auto const degrees = near_copy(x, std::vector<Real>(b.degrees.begin(), b.degrees.end()));
    std::mt19937 from(6);
    std::normal_distribution<double> normal;
    std::vector<Real> in(b.sources * columns), of_out(b.targets * columns);
    for (Real& v : in) v = static_cast<Real>(normal(from));
    for (Real& v : of_out) v = static_cast<Real>(normal(from));
    auto const rows = near_copy(x, in), gradients = near_copy(x, of_out);
    buffer<Real> out(x.near(), of_out.size(), x.device(), "a test"), of_in(x.near(), in.size(), x.device(), "a test");
    block_aggregation<Real> a(where());
    a.take({row.data(), col.data(), b.row.size(), b.targets, b.sources, b.weights.empty() ? nullptr : weights.data(),
            own_degrees ? nullptr : degrees.data()},
           how);
    a.forward(rows.data(), out.data(), columns);
    a.backward(gradients.data(), of_in.data(), columns);
    auto const found = host_copy(x, out.data(), out.size()), back = host_copy(x, of_in.data(), of_in.size());
    std::vector<double> const m = matrix_of(b, how, own_degrees);
    double const near = sizeof(Real) == 8 ? 1e-12 : 1e-4;
    for (std::uint64_t c = 0; c < columns; ++c) {
      for (std::uint64_t v = 0; v < b.targets; ++v) {
        double sum = 0;
        for (std::uint64_t u = 0; u < b.sources; ++u) sum += m[v * b.sources + u] * in[u * columns + c];
        ASSERT_NEAR(found[v * columns + c], sum, near) << v << " " << c;
      }
      for (std::uint64_t u = 0; u < b.sources; ++u) {
        double sum = 0;
        for (std::uint64_t v = 0; v < b.targets; ++v) sum += m[v * b.sources + u] * of_out[v * columns + c];
        ASSERT_NEAR(back[u * columns + c], sum, near) << u << " " << c;
      }
    }
  }
};
GARNER_AT_EVERY_PLACE(block_aggregation_test);

TEST_P(block_aggregation_test, forward_and_backward_are_a_matrix_and_its_transpose) {
  for (bool const weighted : {false, true})
    for (std::uint64_t const columns : {1, 8, 33}) {
      block const b = make_block(20, 50, weighted), square = make_block(40, 40, weighted);
      block const other = make_block(50, 20, weighted);  // of another type
      for (aggregation const how : {aggregation::sum, aggregation::mean}) {
        check<float>(b, how, true, columns);
        check<double>(b, how, true, columns);
        check<double>(other, how, true, columns);
      }
      check<float>(b, aggregation::gcn, false, columns);
      check<double>(b, aggregation::gcn, false, columns);
      check<float>(square, aggregation::gcn, true, columns);
      check<double>(square, aggregation::gcn, true, columns);
    }
}

TEST_P(block_aggregation_test, a_block_without_edges_gives_nothing_or_its_own) {
  block none{3, 5, {}, {}, {}, {4, 2, 0, 1, 9}};
  for (aggregation const how : {aggregation::sum, aggregation::mean, aggregation::gcn}) check<float>(none, how, false, 4);
}

TEST_P(block_aggregation_test, edges_that_cannot_be_are_named) {
  executor x(where());
  block_aggregation<float> a(where());
  auto const told = [&](std::vector<std::int64_t> r, std::vector<std::int64_t> c, std::uint64_t targets = 3, std::uint64_t sources = 5,
                        aggregation how = aggregation::sum) {
    auto const row = near_copy(x, r), col = near_copy(x, c);
    return error_of([&] { a.take({row.data(), col.data(), r.size(), targets, sources}, how); });
  };
  EXPECT_EQ(told({0, 5}, {0, 1}), "edge 1 from 5 to 1: there are 5 sources and 3 targets");
  EXPECT_EQ(told({0, 4, -1}, {0, 1, 2}), "edge 2 from -1 to 2: there are 5 sources and 3 targets");
  EXPECT_EQ(told({0, 4}, {0, 3}), "edge 1 from 4 to 3: there are 5 sources and 3 targets");
  EXPECT_EQ(told({0, 4, 1}, {0, 2, 1}), "edge 2 to 1 stands behind one to 2; sort edges by their targets");
  EXPECT_THAT(told({0}, {0}, 6, 5, aggregation::gcn), ::testing::HasSubstr("6 targets and 5 sources"));
  EXPECT_THAT(told({0}, {0}, 3, 5, aggregation::gcn), ::testing::HasSubstr("give those of the sources in the whole graph"));
  float one = 0;
  EXPECT_THAT(error_of([&] { a.forward(&one, &one, 1); }), ::testing::HasSubstr("take() some first"));
}

// Aggregation over lists, against loops in double.
struct some_lists {
  std::vector<std::int64_t> offsets{0}, order;
  std::vector<std::int32_t> ends;
  std::vector<std::int64_t> end_offsets{0};
  std::uint64_t rows;
};
some_lists make_lists(std::vector<std::uint64_t> const& lengths, std::uint64_t rows) {
  std::mt19937 from(7);
  some_lists l;
  l.rows = rows;
  for (std::uint64_t const n : lengths) {
    for (std::uint64_t k = 0; k < n; ++k) l.ends.push_back(static_cast<std::int32_t>(from() % rows));
    l.offsets.push_back(static_cast<std::int64_t>(l.ends.size()));
  }
  for (std::size_t e = 0; e < l.ends.size(); ++e) l.order.push_back(static_cast<std::int64_t>(l.ends.size() - 1 - e));
  for (std::uint64_t u = 0; u < rows; ++u) l.end_offsets.push_back(l.end_offsets.back() + 1 + static_cast<std::int64_t>(u % 3));
  return l;
}

class list_sums_test : public at_place {
 protected:
  template <class Stored, class Real>
  void check(some_lists const& l, row_real kind, std::uint64_t heads, std::uint64_t columns, list_sums::scale by, bool weighted,
             Stored (*narrowed)(Real), Real (*widened)(Stored), double near) {
    executor x(where());
    std::mt19937 from(9);
    std::normal_distribution<double> normal;
    std::uint64_t const items = l.offsets.size() - 1, edges = l.ends.size(), width = heads * columns;
    auto const draw = [&](std::uint64_t n) {
      std::vector<Stored> v(n);
      for (Stored& s : v) s = narrowed(static_cast<Real>(normal(from)));
      return v;
    };
    std::vector<Stored> const in = draw(l.rows * width), gradients = draw(items * width);
    std::vector<Real> weights(edges * heads);
    for (Real& w : weights) w = static_cast<Real>(normal(from));
    auto const offsets = near_copy(x, l.offsets), order = near_copy(x, l.order), end_offsets = near_copy(x, l.end_offsets);
    auto const ends = near_copy(x, l.ends);
    auto const rows = near_copy(x, in), of_out = near_copy(x, gradients);
    auto const w = near_copy(x, weights);
    buffer<Stored> out(x.near(), items * width, x.device(), "a test");
    buffer<Real> of_weights(x.near(), std::max<std::uint64_t>(edges * heads, 1), x.device(), "a test");
    list_sums::lists const lists{offsets.data(), ends.data(), order.data(), items, edges};
    list_sums::shape const shape{kind, heads, columns};
    buffer<std::uint8_t> scratch(x.near(), std::max<std::uint64_t>(list_sums::scratch_bytes(lists, shape), 1), x.device(), "a test");
    list_sums sums(where());
    sums.sum(lists, shape, rows.data(), out.data(), weighted ? w.data() : nullptr, by,
             by == list_sums::scale::shares ? end_offsets.data() : nullptr, scratch.data());
    auto const found = host_copy(x, out.data(), out.size());
    bool const back = by != list_sums::scale::shares;
    if (back) sums.dot(lists, shape, rows.data(), of_out.data(), of_weights.data(), by);
    auto const found_back = host_copy(x, of_weights.data(), edges * heads);
    for (std::uint64_t i = 0; i < items; ++i) {
      auto const begin = static_cast<std::size_t>(l.offsets[i]), end = static_cast<std::size_t>(l.offsets[i + 1]);
      double const divide = by == list_sums::scale::mean ? std::max(1.0, static_cast<double>(end - begin)) : 1;
      for (std::uint64_t h = 0; h < heads; ++h) {
        std::vector<double> sum(columns);
        for (std::size_t k = begin; k < end; ++k) {
          auto const u = static_cast<std::size_t>(l.ends[k]), at = static_cast<std::size_t>(l.order[k]) * heads + h;
          double const share = by == list_sums::scale::shares ? static_cast<double>(l.end_offsets[u + 1] - l.end_offsets[u]) : 1;
          double product = 0;
          for (std::uint64_t c = 0; c < columns; ++c) {
            double const v = static_cast<double>(widened(in[u * width + h * columns + c]));
            sum[c] += (weighted ? static_cast<double>(weights[at]) : 1.0) / share * v;
            product += v * static_cast<double>(widened(gradients[i * width + h * columns + c]));
          }
          if (back) {
            ASSERT_NEAR(found_back[at], product / divide, near * 100) << i << " " << k;
          }
        }
        for (std::uint64_t c = 0; c < columns; ++c)
          ASSERT_NEAR(widened(found[i * width + h * columns + c]), sum[c] / divide,
                      near * std::max(std::abs(sum[c] / divide), 1.0) * (end - begin > 100 ? 30 : 3))
              << i << " of " << end - begin << " edges, head " << h << ", column " << c;
      }
    }
  }
  void check_all(some_lists const& l) {
    using scale = list_sums::scale;
    for (scale const by : {scale::none, scale::mean, scale::shares})
      for (bool const weighted : {false, true}) {
        check<float, float>(
            l, row_real::f32, 1, 8, by, weighted, [](float v) { return v; }, [](float v) { return v; }, 1e-5);
        check<float, float>(
            l, row_real::f32, 3, 5, by, weighted, [](float v) { return v; }, [](float v) { return v; }, 1e-5);
        check<double, double>(
            l, row_real::f64, 2, 4, by, weighted, [](double v) { return v; }, [](double v) { return v; }, 1e-13);
        check<std::uint16_t, float>(l, row_real::f16, 2, 8, by, weighted, float_to_half, half_to_float, 1e-3);
        check<std::uint16_t, float>(l, row_real::bf16, 1, 33, by, weighted, float_to_brain, brain_to_float, 8e-3);
      }
  }
};
GARNER_AT_EVERY_PLACE(list_sums_test);

TEST_P(list_sums_test, are_those_of_loops) { check_all(make_lists({3, 0, 1, 12, 0, 7, 0}, 20)); }

// Around multiples of 512 edges, where slices end; adjacent long lists, and short ones in between.
TEST_P(list_sums_test, of_long_lists) {
  check_all(make_lists({5, 0, 1600, 2, 0, 513}, 30));
  check_all(make_lists({512, 513, 511, 1, 1024, 1025, 0}, 30));
  check_all(make_lists({0, 600}, 3));
}

TEST_P(list_sums_test, without_edges_are_zeros) { check_all(make_lists({0, 0, 0}, 4)); }

// An item adds its own row, with the weight after those of the edges, with 1 + eps, or another row unchanged.
TEST_P(list_sums_test, loops_add_rows_of_their_own) {
  executor x(where());
  std::vector<std::int64_t> const offsets{0, 2, 2, 3};
  std::vector<std::int32_t> const ends{1, 2, 0};
  std::vector<float> const in{1, 2, 3}, others{10, 20, 30}, weights{2, 3, 5, 7, 11}, eps{0.5F}, gradients{1, 10, 100};
  auto const o = near_copy(x, offsets);
  auto const e = near_copy(x, ends);
  auto const rows = near_copy(x, in), own = near_copy(x, others), w = near_copy(x, weights), by = near_copy(x, eps),
             g = near_copy(x, gradients);
  buffer<float> out(x.near(), 3, x.device(), "a test"), of_weights(x.near(), 5, x.device(), "a test");
  list_sums sums(where());
  list_sums::lists const l{o.data(), e.data(), nullptr, 3, 3, 2};
  using scale = list_sums::scale;
  auto const run = [&](float const* weighted, scale scaled, float const* of_loops, float const* with) {
    sums.sum(l, {row_real::f32, 1, 1}, rows.data(), out.data(), weighted, scaled, nullptr, nullptr, {}, of_loops, with);
    return host_copy(x, out.data(), 3);
  };
  EXPECT_EQ(run(w.data(), scale::none, nullptr, nullptr), (std::vector<float>{2 * 2 + 3 * 3 + 7 * 1, 11 * 2, 5 * 1}));
  EXPECT_EQ(run(nullptr, scale::mean, nullptr, by.data()), (std::vector<float>{2.5F + 1.5F, 3, 1}));
  EXPECT_EQ(run(nullptr, scale::none, own.data(), nullptr), (std::vector<float>{5 + 10, 20, 1}));
  sums.dot(l, {row_real::f32, 1, 1}, rows.data(), g.data(), of_weights.data(), scale::none);
  EXPECT_EQ(host_copy(x, of_weights.data(), 5), (std::vector<float>{2, 3, 100, 1, 20}));
}

// Attention weights sum to 1, and their gradients match finite differences.
TEST_P(list_sums_test, attention_is_a_softmax_and_its_gradients) {
  executor x(where());
  std::uint64_t const items = 4, heads = 2;
  for (std::uint64_t const loops : {std::uint64_t{0}, items}) {
    std::vector<std::int64_t> const offsets{0, 3, 3, 4, 6}, order{5, 0, 1, 4, 2, 3}, back_offsets{0, 2, 3, 4, 6},
        back_order{3, 5, 4, 1, 0, 2};
    std::vector<std::int32_t> const ends{0, 3, 2, 1, 3, 0}, back_ends{3, 0, 2, 0, 0, 3};
    std::vector<double> scores{0.3, -1.2, 0.7, 0.1, -0.4, 0.9, 1.5, -0.6, -2, 0.2, 0.8, -0.3, 0.6, 1.1, -0.9, 0.5};
    std::vector<double> factors((6 + loops) * heads);
    for (std::size_t k = 0; k < factors.size(); ++k) factors[k] = std::sin(static_cast<double>(3 * k + 1));
    auto const o = near_copy(x, offsets), by = near_copy(x, order), back_o = near_copy(x, back_offsets), back_by = near_copy(x, back_order);
    auto const e = near_copy(x, ends), back_e = near_copy(x, back_ends);
    list_sums::lists const l{o.data(), e.data(), by.data(), items, 6, loops},
        back{back_o.data(), back_e.data(), back_by.data(), items, 6, loops};
    list_sums::shape const shape{row_real::f64, heads, 1};
    list_sums sums(where());
    buffer<double> out(x.near(), factors.size(), x.device(), "a test"), of_scores(x.near(), scores.size(), x.device(), "a test");
    auto const weights = [&] {
      auto const s = near_copy(x, scores);
      sums.soften(l, shape, s.data(), out.data(), 0.2);
      return host_copy(x, out.data(), out.size());
    };
    auto const loss = [&] {
      auto const w = weights();
      return std::inner_product(w.begin(), w.end(), factors.begin(), 0.0);
    };
    auto const first = weights();
    for (std::uint64_t i = 0; i < items; ++i)
      for (std::uint64_t h = 0; h < heads; ++h) {
        double sum = loops ? first[(6 + i) * heads + h] : 0;
        for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k) {
          double const w = first[static_cast<std::size_t>(order[k]) * heads + h];
          bool const to_itself = static_cast<std::uint64_t>(ends[k]) == i;
          EXPECT_EQ(w == 0, loops && to_itself);
          sum += w;
        }
        EXPECT_NEAR(sum, !loops && offsets[i] == offsets[i + 1] ? 0 : 1, 1e-12);
      }
    auto const s = near_copy(x, scores), w = near_copy(x, first);
    auto gradients = near_copy(x, factors);
    sums.soften_back(l, back, shape, s.data(), w.data(), gradients.data(), of_scores.data(), 0.2);
    auto const found = host_copy(x, of_scores.data(), of_scores.size());
    for (std::size_t k = 0; k < scores.size(); ++k) {
      double const was = scores[k], step = 1e-6;
      scores[k] = was + step;
      double const above = loss();
      scores[k] = was - step;
      double const below = loss();
      scores[k] = was;
      EXPECT_NEAR(found[k], (above - below) / (2 * step), 1e-7) << k;
    }
  }
}

TEST_P(list_sums_test, refuse_what_cannot_be) {
  list_sums sums(where());
  std::int64_t const offsets[] = {0, 0};
  float one = 1;
  list_sums::lists const l{offsets, nullptr, nullptr, 1, 0};
  EXPECT_THAT(error_of([&] {
                sums.sum(l, {row_real::f32, 0, 1}, &one, &one, nullptr, {}, nullptr, nullptr);
              }),
              ::testing::HasSubstr("heads"));
  if (where().kind == device_kind::cuda) return;
  EXPECT_THAT(error_of([&] {
                sums.sum(l, {row_real::f32, 1, 1}, &one, &one, nullptr, list_sums::scale::shares, nullptr, nullptr);
              }),
              ::testing::HasSubstr("end_offsets"));
  EXPECT_THAT(error_of([&] {
                sums.sum({offsets, nullptr, nullptr, 1, 600}, {row_real::f32, 1, 1}, &one, &one, nullptr, {}, nullptr, nullptr);
              }),
              ::testing::HasSubstr("scratch_bytes()"));
}

}  // namespace
}  // namespace garner::testing

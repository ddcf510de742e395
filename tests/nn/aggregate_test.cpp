// Aggregation over lists of any length, with the longest split into slices: against plain sums in f64.
#include "nn/aggregate.hpp"

#include "core/random.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr std::uint64_t vertices = 9500;

// Edges to v from u, by v and then u: vertex 3 has all, vertex 9000 has 4097, others few; and all have vertex 5 as a neighbor.
struct arcs {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> ends;
  std::vector<float> weights;
};
arcs of_lists() {
  arcs a;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    for (std::uint32_t u = 0; u < vertices; ++u)
      if (v == 3 || (v == 9000 && u < 4097) || u == 5 || (u + v) % 4001 == 0) {
        a.ends.push_back(u);
        a.weights.push_back(static_cast<float>(unit_float(random_bits(1, v, u))) + 0.5f);
      }
    a.offsets.push_back(a.ends.size());
  }
  return a;
}
arcs turned(arcs const& a) {
  std::vector<std::vector<std::pair<std::uint32_t, float>>> to(vertices);
  for (std::uint64_t v = 0; v < vertices; ++v)
    for (std::uint64_t k = a.offsets[v]; k < a.offsets[v + 1]; ++k) to[a.ends[k]].push_back({static_cast<std::uint32_t>(v), a.weights[k]});
  arcs t;
  for (auto const& list : to) {
    for (auto [v, w] : list) t.ends.push_back(v), t.weights.push_back(w);
    t.offsets.push_back(t.ends.size());
  }
  return t;
}
std::vector<float> some_rows(std::uint64_t columns) {
  std::vector<float> rows(vertices * columns);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(unit_float(random_bits(2, columns, i))) - 0.5f;
  return rows;
}
// out[v] = sum over the list of v of weight * in[u], for u below `below`.
std::vector<double> plain(arcs const& a, std::vector<float> const& rows, std::uint64_t columns, std::uint64_t below = ~std::uint64_t{0}) {
  std::vector<double> out(vertices * columns);
  for (std::uint64_t v = 0; v < vertices; ++v)
    for (std::uint64_t k = a.offsets[v]; k < a.offsets[v + 1]; ++k)
      for (std::uint64_t c = 0; a.ends[k] < below && c < columns; ++c)
        out[v * columns + c] += static_cast<double>(a.weights[k]) * static_cast<double>(rows[a.ends[k] * columns + c]);
  return out;
}
void expect_near(std::vector<float> const& got, double const* expected, char const* what) {
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-3) << what << " " << i;
}

using aggregate_at = at_place;
GARNER_AT_EVERY_PLACE(aggregate_at);

TEST_P(aggregate_at, long_lists_give_what_plain_sums_give) {
  executor x(where());
  arcs const lists = of_lists(), back = turned(lists);
  ASSERT_GT(back.offsets[6] - back.offsets[5], 4096u);
  relation_edges<float> whole;
  whole.take(x, {lists.offsets.data(), lists.ends.data(), lists.weights.data()},
             {back.offsets.data(), back.ends.data(), back.weights.data()}, vertices);
  whole.normalise_whole(x, aggregation::sum, nullptr, vertices);
  for (std::uint64_t const columns : {5u, 8u, 70u}) {
    std::vector<float> const rows = some_rows(columns);
    auto const in = near_copy(x, rows), out = near_copy(x, std::vector<float>(rows.size(), 9));
    row_block<float const> const from{in.data(), columns};
    std::vector<double> const forth = plain(lists, rows, columns);
    whole.forward(x, from, {out.data(), columns}, vertices, columns);
    expect_near(host_copy(x, out.data(), rows.size()), forth.data(), "forward");
    // A range of targets, with an own row for each.
    std::vector<double> with_own = forth;
    for (std::size_t i = 0; i < with_own.size(); ++i) with_own[i] += static_cast<double>(rows[i]);
    whole.forward(x, from, {out.data(), columns}, 9100, columns, {from.row(2), columns}, 2);
    expect_near(host_copy(x, out.data(), 9100 * columns), with_own.data() + 2 * columns, "a range");
    // Adjacency of a single part.
    relation_edges<float> part;
    part.normalise_whole(x, aggregation::sum, nullptr, vertices);
    part.take_part(x, {lists.offsets.data(), lists.ends.data(), lists.weights.data()}, 8990, 300, vertices);
    part.forward(x, from, {out.data(), columns}, 200, columns, {from.row(8995), columns}, 8995);
    expect_near(host_copy(x, out.data(), 200 * columns), with_own.data() + 8995 * columns, "a part");
    // Backward, for the first targets only.
    whole.backward(x, from, {out.data(), columns}, 9001, vertices, columns, {}, false);
    expect_near(host_copy(x, out.data(), rows.size()), plain(back, rows, columns, 9001).data(), "backward");
  }
}

TEST_P(aggregate_at, long_lists_of_a_block_too) {
  executor x(where());
  arcs const lists = of_lists(), back = turned(lists);
  std::vector<std::int64_t> row(lists.ends.begin(), lists.ends.end()), col;
  for (std::uint64_t v = 0; v < vertices; ++v) col.insert(col.end(), lists.offsets[v + 1] - lists.offsets[v], static_cast<std::int64_t>(v));
  auto const near_row = near_copy(x, row), near_col = near_copy(x, col);
  sampled_subgraph::edges e;
  e.row = near_row.data(), e.col = near_col.data(), e.count = row.size();
  relation_edges<float> block;
  for (int again = 0; again < 2; ++again) {
    block.take(x, e, vertices, vertices, row.size());
    block.normalise(x, aggregation::sum, nullptr, nullptr, nullptr);
    constexpr std::uint64_t columns = 12;
    std::vector<float> const rows = some_rows(columns);
    auto const in = near_copy(x, rows), out = near_copy(x, rows);
    arcs bare = lists, bare_back = back;
    std::fill(bare.weights.begin(), bare.weights.end(), 1.f), std::fill(bare_back.weights.begin(), bare_back.weights.end(), 1.f);
    block.forward(x, {in.data(), columns}, {out.data(), columns}, vertices, columns);
    expect_near(host_copy(x, out.data(), rows.size()), plain(bare, rows, columns).data(), "forward");
    block.backward(x, {in.data(), columns}, {out.data(), columns}, vertices, vertices, columns, {}, false);
    expect_near(host_copy(x, out.data(), rows.size()), plain(bare_back, rows, columns).data(), "backward");
  }
  // The next block reverses no edge: no source has a list, although some had a long one before.
  block.take(x, e, vertices, vertices, 0);
  block.normalise(x, aggregation::sum, nullptr, nullptr, nullptr);
  auto const in = near_copy(x, some_rows(12)), out = near_copy(x, some_rows(12));
  block.backward(x, {in.data(), 12}, {out.data(), 12}, vertices, vertices, 12, {}, false);
  EXPECT_EQ(host_copy(x, out.data(), vertices * 12), std::vector<float>(vertices * 12));
}

TEST(aggregate, long_lists_have_the_same_bits_at_host_and_simulated) {
  arcs const lists = of_lists();
  std::vector<float> sums[2];
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated}) {
    executor x({kind, 0});
    relation_edges<float> all;
    all.normalise_whole(x, aggregation::sum, nullptr, vertices);
    all.take_part(x, {lists.offsets.data(), lists.ends.data(), lists.weights.data()}, 0, vertices, vertices);
    auto const in = near_copy(x, some_rows(8)), out = near_copy(x, some_rows(8));
    all.forward(x, {in.data(), 8}, {out.data(), 8}, vertices, 8);
    sums[kind == device_kind::cpu ? 0 : 1] = host_copy(x, out.data(), vertices * 8);
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(room, that_grows_tells_its_executor) {
  executor x(execution_device{});
  buffer<float> b;
  room(x, b, 10, "a test");
  EXPECT_EQ(x.moves(), 1u);
  float const* const at = room(x, b, 12, "a test");
  EXPECT_EQ(x.moves(), 1u);
  EXPECT_EQ(room(x, b, 3, "a test"), at);
  room(x, b, 13, "a test");
  EXPECT_EQ(x.moves(), 2u);
}

}  // namespace
}  // namespace garner

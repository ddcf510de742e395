// Aggregation over shards: every strategy, against plain f64 sums of random rows, forward and backward; and the same bits for any number of
// shards with deterministic reduction.
#include "nn/sharded.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "comm/rank_group.hpp"
#include "core/convert.hpp"
#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

std::vector<float> some_rows(std::uint64_t vertices, std::uint64_t columns, std::uint64_t seed) {
  std::vector<float> rows(vertices * columns);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(unit_float(random_bits(seed, columns, i))) - 0.5f;
  return rows;
}

// The reference: out = own factor * sum of factor * weight * row, plus an own row, straight from the graph's arrays.
struct twin {
  graph_handle const& g;
  aggregation how;
  bool weighted;
  double weight(adjacency_arrays const& l, std::uint64_t k) const {
    return weighted ? static_cast<double>(static_cast<float const*>(l.weights)[k]) : 1.0;
  }
  std::vector<double> degrees() const {
    adjacency_arrays const l = adjacency_of(g, true);
    std::vector<double> d(g.info().vertices);
    for (std::uint64_t v = 0; v < d.size(); ++v)
      for (std::uint64_t k = l.offsets[v]; k < l.offsets[v + 1]; ++k) d[v] += weight(l, k);
    return d;
  }
  // The matrix of the aggregation, or its transpose, times rows.
  std::vector<double> times(std::vector<float> const& rows, std::uint64_t columns, bool back, std::vector<float> const* self) const {
    adjacency_arrays const l = adjacency_of(g, true);
    auto const* const ends = static_cast<std::uint32_t const*>(l.targets);
    std::vector<double> const d = degrees();
    std::vector<double> out(d.size() * columns);
    auto const add = [&](std::uint64_t to, std::uint64_t from, double by) {
      for (std::uint64_t c = 0; c < columns; ++c) out[to * columns + c] += by * static_cast<double>(rows[from * columns + c]);
    };
    for (std::uint64_t v = 0; v < d.size(); ++v) {
      for (std::uint64_t k = l.offsets[v]; k < l.offsets[v + 1]; ++k) {
        std::uint64_t const u = ends[k];
        double const by = weight(l, k) * (how == aggregation::mean  ? 1 / d[v]
                                          : how == aggregation::gcn ? 1 / std::sqrt((d[v] + 1) * (d[u] + 1))
                                                                    : 1);
        add(back ? u : v, back ? v : u, by);
      }
      if (how == aggregation::gcn) add(v, v, 1 / (d[v] + 1));
      else if (self)
        for (std::uint64_t c = 0; c < columns; ++c) out[v * columns + c] += static_cast<double>((*self)[v * columns + c]);
    }
    return out;
  }
};

// All shards' rows after one call, in order. The rows have `gap` floats of padding.
struct shards_of {
  graph_handle const& g;
  shard_asked o;
  execution_device where;
  bool weighted = false;
  std::uint64_t vertices = g.info().vertices;
  std::vector<std::uint64_t> brought{};
  std::optional<tier> share_in{};
  std::vector<std::uint64_t> bytes{};

  std::vector<float> run(aggregation how, std::vector<float> const& rows, std::uint64_t columns, bool back, std::vector<float> const* self,
                         std::vector<float> const* before = nullptr, int times = 2, std::uint64_t gap = 0) {
    std::vector<float> out(vertices * columns);
    brought.assign(o.shards, 0), bytes.assign(o.shards, 0);
    shard_group group(o);
    auto const threw = on_shards(group, where, [&](std::uint32_t s, executor& x) {
      whole_graph const lists(g, edge_direction::in, weighted);
      shard_parts const parts(lists.pulled().offsets, vertices, o, "g");
      sharded_edges edges(group, s, x, lists, parts, how);
      if (share_in) edges.share_in(*share_in);
      std::uint64_t const first = parts.first(s), count = parts.count(s), stride = columns + gap;
      auto const part = [&](std::vector<float> const& of) {
        std::vector<float> mine(count * stride, 77);
        for (std::uint64_t i = 0; i < count; ++i) std::copy_n(of.data() + (first + i) * columns, columns, mine.data() + i * stride);
        return near_copy(x, mine);
      };
      auto const in = part(rows), own = part(self ? *self : rows);
      row_block<float const> const with{self ? own.data() : nullptr, stride};
      buffer<float> to;
      for (int k = 0; k < times; ++k) {
        to = part(before ? *before : rows);
        if (back) edges.backward(x, {in.data(), stride}, {to.data(), stride}, columns, with, before != nullptr);
        else edges.forward(x, {in.data(), stride}, {to.data(), stride}, columns, with);
      }
      std::vector<float> const mine = host_copy(x, to.data(), count * stride);
      for (std::uint64_t i = 0; i < count; ++i) std::copy_n(mine.data() + i * stride, columns, out.data() + (first + i) * columns);
      brought[s] = edges.rows_brought(back), bytes[s] = edges.bytes();
    });
    EXPECT_EQ(threw, none_of(o.shards));
    return out;
  }
};
void expect_near(std::vector<float> const& got, std::vector<double> const& expected, std::string const& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i], 2e-4 * (1 + std::abs(expected[i]))) << what << " " << i;
}

class sharded_at : public at_place {};
GARNER_AT_EVERY_PLACE(sharded_at);

TEST_P(sharded_at, every_way_gives_what_plain_sums_give) {
  constexpr std::uint64_t n = 1300;
  std::size_t turn = 0;
  for (bool const undirected : {true, false}) {
    graph_handle const g = graph_with_hub(n, undirected, true);
    for (std::uint32_t const shards : {1u, 2u, 3u, 4u, 8u})
      for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg})
        for (aggregation const how : {aggregation::sum, aggregation::mean, aggregation::gcn}) {
          shard_asked o;
          o.shards = shards, o.strategy = strategy;
          o.sums = shards == 3 ? shard_reduction::fast : shard_reduction::deterministic;
          if (shards == 4) o.provider = shard_provider::host;
          o.tuning = {shards == 2 ? 3u : 16u, shards == 4 ? 4u : 1u, 2};
          std::uint64_t const columns = std::array<std::uint64_t, 4>{1, 16, 17, 64}[turn++ % 4];
          bool const weighted = shards % 2 == 0;
          std::vector<float> const rows = some_rows(n, columns, 1), self = some_rows(n, columns, 2);
          shards_of of{g, o, where(), weighted};
          twin const plain{g, how, weighted};
          std::string const what =
              fmt::format("{} {} {} of {}", undirected ? "undirected" : "directed", to_string(strategy), to_string(how), shards);
          bool const with_self = how == aggregation::sum;
          expect_near(of.run(how, rows, columns, false, with_self ? &self : nullptr),
                      plain.times(rows, columns, false, with_self ? &self : nullptr), what + " forward");
          expect_near(of.run(how, rows, columns, true, nullptr, nullptr, 2, 4), plain.times(rows, columns, true, nullptr),
                      what + " backward");
        }
  }
}

// Disabling an optimization gives the same sums: unsplit lists, separate local and remote work, synchronous reads.
TEST_P(sharded_at, mgg_without_a_part_of_it_gives_the_same_sums) {
  constexpr std::uint64_t n = 1300;
  for (bool const weighted : {false, true}) {
    graph_handle const g = graph_with_hub(n, false, weighted);
    for (std::uint64_t const columns : {16, 5, 36}) {  // parts of 16 bytes, numbers, more than a team's lanes per step
      std::vector<float> const rows = some_rows(n, columns, 1);
      std::vector<double> const plain = twin{g, aggregation::mean, weighted}.times(rows, columns, false, nullptr);
      for (std::uint32_t const ps : {4u, 20u})  // fewer, and more than one step
        for (int what = 0; what < 8; ++what) {
          shard_asked o;
          o.shards = 3, o.strategy = shard_strategy::mgg, o.sums = shard_reduction::fast;
          o.tuning = {ps, 2, 2, (what & 1) != 0, (what & 2) != 0, (what & 4) != 0};
          shards_of of{g, o, where(), weighted};
          expect_near(of.run(aggregation::mean, rows, columns, false, nullptr), plain,
                      fmt::format("{} {} {} {}", weighted, columns, ps, what));
        }
    }
  }
}

// As in the benchmarks of managed memory: a copy of the rows lies there, unless they are multiplied first.
TEST_P(sharded_at, rows_that_others_read_in_another_tier_give_the_same_sums) {
  constexpr std::uint64_t n = 1300, columns = 16;
  graph_handle const g = graph_with_hub(n, false, false);
  std::vector<float> const rows = some_rows(n, columns, 1);
  for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::mgg})
    for (aggregation const how : {aggregation::sum, aggregation::gcn})
      for (bool const back : {false, true}) {
        shard_asked o;
        o.shards = 3, o.strategy = strategy, o.sums = shard_reduction::fast;
        shards_of near{g, o, where()}, there{g, o, where()};
        there.share_in = tier::host;
        std::vector<double> const plain = twin{g, how, false}.times(rows, columns, back, nullptr);
        std::string const what = fmt::format("{} {} {}", to_string(strategy), to_string(how), back);
        expect_near(near.run(how, rows, columns, back, nullptr), plain, what);
        expect_near(there.run(how, rows, columns, back, nullptr), plain, what + " there");
        for (std::uint32_t k = 0; k < 3; ++k) EXPECT_EQ(there.bytes[k] > near.bytes[k], how == aggregation::sum) << what;
      }
}

TEST_P(sharded_at, lists_in_host_memory_give_the_same_bits) {
  constexpr std::uint64_t n = 1300, columns = 16;
  for (bool const undirected : {true, false}) {
    graph_handle const g = graph_with_hub(n, undirected, true);
    std::vector<float> const rows = some_rows(n, columns, 1);
    for (std::uint32_t const shards : {1u, 3u})
      for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective})
        for (bool const back : {false, true}) {
          shard_asked o;
          o.shards = shards, o.strategy = strategy;
          std::vector<float> const near = shards_of{g, o, where(), true}.run(aggregation::gcn, rows, columns, back, nullptr);
          o.remote_adjacency = true, o.list_window = 512;  // many chunks
          EXPECT_EQ((shards_of{g, o, where(), true}.run(aggregation::gcn, rows, columns, back, nullptr)), near)
              << undirected << shards << to_string(strategy) << back;
        }
  }
  shard_asked o;
  o.shards = 2, o.remote_adjacency = true, o.strategy = shard_strategy::mgg;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), ::testing::HasSubstr("adjacency in host memory and mgg"));
  o.strategy = shard_strategy::bulk, o.list_window = 511;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), ::testing::HasSubstr("windows of 511 edges: use 512 or more"));
}

TEST_P(sharded_at, packed_lists_give_the_same_bits) {
  constexpr std::uint64_t n = 1300, columns = 16;
  for (bool const undirected : {true, false}) {
    graph_handle const g = graph_with_hub(n, undirected, true);  // with slices, and isolated vertices
    std::vector<float> const rows = some_rows(n, columns, 1);
    for (std::uint32_t const shards : {1u, 2u, 3u})
      for (shard_reduction const sums : {shard_reduction::deterministic, shard_reduction::fast})
        for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective})
          for (bool const back : {false, true}) {
            shard_asked o;
            o.shards = shards, o.strategy = strategy, o.sums = sums;
            bool const weighted = shards != 2;
            std::vector<float> const plain = shards_of{g, o, where(), weighted}.run(aggregation::gcn, rows, columns, back, nullptr);
            o.compressed_adjacency = true;
            for (std::uint64_t const window : {512u, 1u << 22})  // many, or one
              for (bool const far : {false, true}) {
                o.remote_adjacency = far, o.list_window = window;
                EXPECT_EQ((shards_of{g, o, where(), weighted}.run(aggregation::gcn, rows, columns, back, nullptr)), plain)
                    << undirected << shards << to_string(sums) << to_string(strategy) << back << far << window;
              }
          }
  }
  shard_asked o;
  o.shards = 2, o.compressed_adjacency = true, o.strategy = shard_strategy::mgg;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), ::testing::HasSubstr("compressed adjacency and mgg"));
  o.strategy = shard_strategy::bulk, o.list_window = 1u << 30;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), ::testing::HasSubstr("windows of 1073741824 edges, compressed"));
}

TEST_P(sharded_at, backward_adds_to_what_is_there) {
  constexpr std::uint64_t n = 700, columns = 64;
  graph_handle const g = graph_with_hub(n, false, false);
  std::vector<float> const rows = some_rows(n, columns, 1), before = some_rows(n, columns, 3);
  for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg})
    for (std::uint32_t const shards : {2u, 3u})
      for (shard_reduction const sums : {shard_reduction::deterministic, shard_reduction::fast}) {
        shard_asked o;
        o.shards = shards, o.strategy = strategy, o.sums = sums;
        std::vector<double> expected = twin{g, aggregation::mean, false}.times(rows, columns, true, nullptr);
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(before[i]);
        expect_near(shards_of{g, o, where()}.run(aggregation::mean, rows, columns, true, nullptr, &before), expected,
                    std::string(to_string(strategy)));
      }
}

// Remote rows are rounded, a shard's own rows are not.
TEST_P(sharded_at, rows_of_16_bits_are_those_of_others_rounded) {
  constexpr std::uint64_t n = 900;
  for (bool const weighted : {false, true}) {
    graph_handle const g = graph_with_hub(n, false, weighted);
    adjacency_arrays const lists = adjacency_of(g, true);
    for (std::uint64_t const columns : {17, 4, 6, 16, 64}) {  // words of 2 to 16 bytes, and four numbers per lane
      std::vector<float> const rows = some_rows(n, columns, 1), before = some_rows(n, columns, 3);
      for (element const wire : {element::bf16, element::f16})
        for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective})
          for (std::uint32_t const shards : {1u, 3u}) {
            shard_asked o;
            o.shards = shards, o.strategy = strategy, o.wire = wire;
            shard_parts const parts(lists.offsets, n, o, "g");
            std::vector<double> expected(n * columns), back(before.begin(), before.end());
            for (std::uint64_t v = 0; v < n; ++v)
              for (std::uint64_t k = lists.offsets[v]; k < lists.offsets[v + 1]; ++k) {
                std::uint64_t const u = static_cast<std::uint32_t const*>(lists.targets)[k];
                double const by = weighted ? static_cast<double>(static_cast<float const*>(lists.weights)[k]) : 1.0;
                bool const home = parts.owner(u) == parts.owner(v);
                for (std::uint64_t c = 0; c < columns; ++c) {
                  auto const read = [&](std::uint64_t at) {
                    float const is = rows[at * columns + c];
                    float const sent = wire == element::bf16 ? brain_to_float(float_to_brain(is)) : half_to_float(float_to_half(is));
                    return by * static_cast<double>(home ? is : sent);
                  };
                  expected[v * columns + c] += read(u), back[u * columns + c] += read(v);
                }
              }
            std::string const what = fmt::format("{} {} {} {} {}", weighted, columns, to_string(wire), to_string(strategy), shards);
            shards_of of{g, o, where(), weighted};
            expect_near(of.run(aggregation::sum, rows, columns, false, nullptr, nullptr, 1, columns % 4 ? 3 : 4), expected, what);
            expect_near(of.run(aggregation::sum, rows, columns, true, nullptr, &before, 1), back, what + " back");
          }
    }
  }
}

TEST_P(sharded_at, exact_sums_have_the_same_bits_with_any_number_of_shards) {
  constexpr std::uint64_t n = 1300, columns = 16;
  for (bool const undirected : {true, false}) {
    graph_handle const g = graph_with_hub(n, undirected, true);
    std::vector<float> const rows = some_rows(n, columns, 1);
    for (bool const back : {false, true}) {
      std::vector<float> one;
      for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective})
        for (std::uint32_t const shards : {1u, 2u, 3u, 4u, 8u, 16u}) {
          shard_asked o;
          o.shards = shards, o.strategy = strategy, o.provider = shards == 3 ? shard_provider::host : shard_provider::automatic;
          std::vector<float> const found = shards_of{g, o, where(), true}.run(aggregation::gcn, rows, columns, back, nullptr, nullptr, 1);
          if (one.empty()) one = found;
          EXPECT_EQ(found, one) << shards << " " << to_string(strategy);
        }
    }
  }
}

TEST(sharded, rows_cross_once_in_bulk_once_an_edge_by_mgg_and_all_collectively) {
  graph_handle const g = graph_with_hub(900, true, false);
  shard_asked o;
  o.shards = 4;
  shard_report const r = split_report(g, edge_direction::in, o);
  std::vector<float> const rows = some_rows(900, 1, 1);
  for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg}) {
    o.strategy = strategy;
    shards_of of{g, o, {}};
    of.run(aggregation::sum, rows, 1, false, nullptr);
    for (std::uint32_t s = 0; s < 4; ++s)
      EXPECT_EQ(of.brought[s], strategy == shard_strategy::bulk         ? r.parts[s].remote_rows()
                               : strategy == shard_strategy::collective ? 900 - r.parts[s].vertices
                                                                        : r.parts[s].remote_edges);
  }
  EXPECT_GT(r.references(), 1.5);
}

TEST(sharded, rows_that_never_change_come_once) {
  graph_handle const g = graph_with_hub(900, false, false);
  shard_asked o;
  o.shards = 3;
  shard_report const r = split_report(g, edge_direction::in, o);
  shard_group group(o);
  auto const threw = on_shards(group, {}, [&](std::uint32_t s, executor& x) {
    whole_graph const lists(g, edge_direction::in, false);
    shard_parts const parts(lists.pulled().offsets, 900, o, "g");
    sharded_edges edges(group, s, x, lists, parts, aggregation::mean);
    std::uint64_t const n = parts.count(s), once = r.parts[s].remote_rows() * 6;
    std::vector<float> const rows = some_rows(n, 6, s);
    std::vector<float> other = rows, out[3];
    edges.never_changes(rows.data());
    for (auto& to : out) {
      to.resize(n * 6);
      edges.forward(x, {rows.data(), 6}, {to.data(), 6}, 6, {});
    }
    EXPECT_EQ(edges.numbers_brought(), once);
    EXPECT_EQ(out[1], out[0]);
    edges.forward(x, {other.data(), 6}, {out[1].data(), 6}, 6, {});
    edges.backward(x, {rows.data(), 6}, {out[2].data(), 6}, 6, {}, false);
    EXPECT_EQ(out[1], out[0]);
    EXPECT_GT(edges.numbers_brought(), 2 * once);
    std::vector<float> last(n * 6);
    edges.forward(x, {rows.data(), 6}, {last.data(), 6}, 6, {});
    EXPECT_EQ(last, out[0]);
  });
  EXPECT_EQ(threw, none_of(3));
}

TEST(sharded, parts_without_vertices_or_edges_take_part) {
  graph_handle const g = graph_with_hub(40, true, false, 31);  // most have no edges; the hub has most of them
  std::vector<float> const rows = some_rows(40, 3, 1);
  std::vector<double> const expected = twin{g, aggregation::mean, false}.times(rows, 3, false, nullptr);
  for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg})
    for (shard_balance const balance : {shard_balance::edges, shard_balance::vertices}) {
      shard_asked o;
      o.shards = 16, o.strategy = strategy, o.balance = balance;
      expect_near(shards_of{g, o, {}}.run(aggregation::mean, rows, 3, false, nullptr), expected, "parts without anything");
    }
}

TEST(sharded, a_shard_that_fails_is_named_by_all_others) {
  graph_handle const g = graph_with_hub(200, true, false);
  shard_asked o;
  o.shards = 3;
  shard_group group(o);
  auto const threw = on_shards(group, {}, [&](std::uint32_t s, executor& x) {
    whole_graph const lists(g, edge_direction::in, false);
    shard_parts const parts(lists.pulled().offsets, 200, o, "g");
    sharded_edges edges(group, s, x, lists, parts, aggregation::sum);
    std::vector<float> rows(parts.count(s) * 8), to(parts.count(s) * 8);
    edges.forward(x, {rows.data(), 8}, {to.data(), 8}, 8, {});
    if (s == 1) fail(errc::memory, "no memory is left here");
    edges.forward(x, {rows.data(), 8}, {to.data(), 8}, 8, {});
  });
  EXPECT_EQ(threw[1], "no memory is left here");
  for (std::uint32_t const s : {0u, 2u})
    EXPECT_EQ(threw[s], "rank 1 of 3 has stopped: no memory is left here; begin anew in all ranks, from the last checkpoint");
}

}  // namespace
}  // namespace garner

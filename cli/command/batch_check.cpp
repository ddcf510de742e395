#include "batch_check.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common.hpp"
#include "made_rows.hpp"

namespace garner::cli {

namespace {

template <class T>
std::vector<T> home(executor& x, T const* from, std::uint64_t n) {
  std::vector<T> to(n);
  if (n) x.copy(to.data(), from, n * sizeof(T));
  x.wait();
  return to;
}

}  // namespace

batch_check::batch_check(graph_handle const& g, edge_direction side, std::vector<std::int64_t> fanouts, block_options const& options)
    : g_(g), lists_(adjacency_of(g, side == edge_direction::in)), fanouts_(std::move(fanouts)), o_(options), seen_(g.info().vertices, 0) {}

std::uint64_t batch_check::target(std::uint64_t e) const {
  return g_.info().id_bytes == 8 ? static_cast<std::uint64_t const*>(lists_.targets)[e]
                                 : static_cast<std::uint32_t const*>(lists_.targets)[e];
}

void batch_check::blocks_of(executor& x, sampled_subgraph const& drawn, std::span<std::int64_t const> seeds) {
  auto const wrong = [&](std::string const& what) {
    fail(errc::internal, "mini-batch {} of {} seeds is wrong: {}", drawn.number(), drawn.seeds(), what);
  };
  sampled_subgraph::vertices const& v = drawn.of_type(0);
  sampled_subgraph::edges const& e = drawn.of_relation(0);
  std::vector<std::int64_t> const ids = home(x, v.ids, v.count);
  if (drawn.seeds() != seeds.size() || v.count < seeds.size() || !std::equal(seeds.begin(), seeds.end(), ids.begin()))
    wrong("its vertices do not begin with its seeds");
  if (std::accumulate(v.by_hop.begin(), v.by_hop.end(), std::uint64_t{0}) != v.count || v.by_hop.size() != fanouts_.size() + 1)
    wrong("the vertices of its hops are not as many as it has");
  ++checked_;
  for (std::uint64_t i = 0; i < v.count; ++i) {
    auto const id = static_cast<std::uint64_t>(ids[i]);
    if (id >= g_.info().vertices) wrong(fmt::format("vertex {} at {} does not exist", ids[i], i));
    if (!o_.disjoint && std::exchange(seen_[id], checked_) == checked_) wrong(fmt::format("vertex {} stands there twice", id));
  }
  if (!o_.edges) return;
  if (std::accumulate(e.by_hop.begin(), e.by_hop.end(), std::uint64_t{0}) != e.count)
    wrong("the edges of its hops are not as many as it has");
  std::vector<std::int64_t> const row = home(x, e.row, e.count), col = home(x, e.col, e.count);
  std::vector<std::int64_t> const at = o_.edge_ids ? home(x, e.edge, e.count) : std::vector<std::int64_t>{};
  // Hop by hop: the frontier, and the neighbors that each of its nodes sampled. Edges are ordered by the frontier.
  std::uint64_t first = 0, drawing_from = 0, drawing_to = 0, edge = 0;
  std::vector<std::int64_t> mine;
  for (std::size_t h = 0; h < fanouts_.size(); ++h) {
    drawing_from = o_.rule == hop_rule::all ? 0 : drawing_to, drawing_to = first += v.by_hop[h];
    std::uint64_t const end = edge + e.by_hop[h];
    for (std::uint64_t target_at = drawing_from; target_at < drawing_to; ++target_at) {
      auto const id = static_cast<std::uint64_t>(ids[target_at]);
      std::uint64_t const begin = lists_.offsets[id], degree = lists_.offsets[id + 1] - begin;
      mine.clear();
      for (; edge < end && static_cast<std::uint64_t>(col[edge]) == target_at; ++edge) {
        auto const from = static_cast<std::uint64_t>(row[edge]);
        if (from >= v.count) wrong(fmt::format("edge {} comes from local number {} of {}", edge, from, v.count));
        std::int64_t const neighbor = ids[from];
        bool found = false;
        if (!at.empty()) {
          auto const where = static_cast<std::uint64_t>(at[edge]);
          found = where >= begin && where < begin + degree && target(where) == static_cast<std::uint64_t>(neighbor);
        } else {
          std::uint64_t low = begin, high = begin + degree;
          while (low < high) {
            std::uint64_t const mid = low + (high - low) / 2;
            if (target(mid) < static_cast<std::uint64_t>(neighbor)) low = mid + 1;
            else high = mid;
          }
          found = low < begin + degree && target(low) == static_cast<std::uint64_t>(neighbor);
        }
        if (!found) wrong(fmt::format("edge {} from {} to {} is not in the graph", edge, neighbor, id));
        mine.push_back(neighbor);
      }
      std::int64_t const f = fanouts_[h];
      std::uint64_t const most = f < 0                  ? degree
                                 : o_.replace && degree ? static_cast<std::uint64_t>(f)
                                                        : std::min<std::uint64_t>(degree, static_cast<std::uint64_t>(f));
      if (mine.size() > most || (mine.size() < most && !o_.weighted && !o_.temporal))
        wrong(fmt::format("node {} with {} neighbors has {} sampled at hop {}; expected {}", id, degree, mine.size(), h, most));
      // A multigraph may repeat an edge; otherwise sampling without replacement gives distinct neighbors.
      if (o_.replace && f >= 0) continue;
      std::sort(mine.begin(), mine.end());
      for (std::size_t k = 1; k < mine.size(); ++k)
        if (mine[k] == mine[k - 1]) {
          std::uint64_t times = 0;
          for (std::uint64_t j = begin; j < begin + degree; ++j) times += target(j) == static_cast<std::uint64_t>(mine[k]);
          if (times < 2) wrong(fmt::format("node {} sampled {} twice at hop {}", id, mine[k], h));
        }
    }
    if (edge != end) wrong(fmt::format("edge {} of hop {} belongs to no node that samples there", edge, h));
  }
}

void batch_check::batch(executor& x, mini_batch const& b, std::span<std::int64_t const> training, std::span<rows_source const> tables) {
  auto const wrong = [&](std::string const& what) {
    fail(errc::internal, "mini-batch {} of epoch {} is wrong: {}", b.index(), b.epoch(), what);
  };
  std::vector<std::int64_t> const positions = home(x, b.positions(), b.seeds());
  std::vector<std::int64_t> seeds;
  for (std::int64_t const p : positions) {
    if (p < 0 || static_cast<std::uint64_t>(p) >= training.size()) wrong(fmt::format("seed {} of {}", p, training.size()));
    seeds.push_back(training[static_cast<std::size_t>(p)]);
  }
  blocks_of(x, b.subgraph(), seeds);
  sampled_subgraph::vertices const& v = b.subgraph().of_type(0);
  std::vector<std::int64_t> const ids = home(x, v.ids, v.count);
  for (std::size_t k = 0; k < tables.size(); ++k) {
    mini_batch::rows const& r = b.of_table(k);
    std::uint64_t const n = k == 0 ? v.count : b.seeds();
    if (r.count != n || r.row_bytes != tables[k].row_bytes) wrong(fmt::format("{} rows of {} bytes of table {}", r.count, r.row_bytes, k));
    std::vector<char> const rows = home(x, static_cast<char const*>(r.data), n * r.row_bytes);
    for (std::uint64_t i = 0; i < n; ++i) {
      auto const id = static_cast<std::uint64_t>(ids[i]);
      char const* const got = rows.data() + i * r.row_bytes;
      bool const same = tables[k].data ? std::memcmp(got, static_cast<char const*>(tables[k].data) + id * r.row_bytes, r.row_bytes) == 0
                                       : !wrong_byte(id, got, r.row_bytes);
      if (!same) wrong(fmt::format("row {} of table {} is not that of vertex {}", i, k, id));
    }
  }
}

}  // namespace garner::cli

// As in the dissertation (section 4.2.2): a cumulative sum of the degrees in their new order, lists copied to their new positions, ids
// renamed by table. Lists are sorted as well: a chunk of new lists is written as keys (list, new id) and sorted, and the ids are read back
// from the keys, so hubs are not a special case. Weights move along; those of equal ids (in a multigraph) are sorted by the thread of the
// first. Cost: each old list is read once, in the new order; 16 bytes (with weights: 24) of local memory per edge of a chunk, and a sort of
// them.
#include "graph/relabel.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <vector>

#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "graph/take_target.hpp"

namespace garner {

namespace {

constexpr std::uint64_t chunk_edges = 1u << 28;

GARNER_HD inline std::uint32_t bits_of(float f) {
  std::uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

struct score_keys {  // the higher the score, the smaller the key
  float const* score;
  std::uint64_t* keys;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t r) const {
    std::uint32_t const bits = bits_of(score[r] + 0.0f);  // -0 counts as 0
    keys[r] = std::uint64_t{bits >> 31 ? bits : ~bits & 0x7fffffffu} << 32 | r;
  }
};

struct moved_degree {
  std::uint64_t const* offsets;
  std::uint32_t const* order;
  std::uint64_t* degree;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    degree[v] = offsets[order[v] + 1] - offsets[order[v]];
  }
};

template <class Id, bool Packed, bool Weighted>
struct list_keys {
  csr_view<Id> old;
  std::uint32_t const *order, *renamed;
  std::uint64_t const* offsets;  // new offsets
  std::uint64_t first, base;     // the first list and edge of the chunk
  int id_bits;
  std::uint64_t* keys;
  std::uint32_t* weights;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    span<Id> const list = known<Packed>(old.list(order[first + i]));
    std::uint64_t const to = offsets[first + i] - base;
    if constexpr (Weighted) {
      t.each(list, known<Packed>(old.weights_of(list)), [&](Id u, std::uint32_t w, std::uint64_t k) {
        keys[to + k - list.begin] = i << id_bits | renamed[u];
        weights[to + k - list.begin] = w;
      });
    } else {
      t.each(list, [&](Id u, std::uint64_t k) { keys[to + k - list.begin] = i << id_bits | renamed[u]; });
    }
  }
};

// Heapsort: needs neither extra memory nor a stack.
GARNER_HD inline void sort_few(std::uint32_t* at, std::uint64_t n) {
  auto const sink = [&](std::uint64_t i, std::uint64_t end) {
    for (std::uint64_t child = 2 * i + 1; child < end; i = child, child = 2 * i + 1) {
      if (child + 1 < end && at[child] < at[child + 1]) ++child;
      if (at[i] >= at[child]) return;
      std::uint32_t const other = at[i];
      at[i] = at[child];
      at[child] = other;
    }
  };
  for (std::uint64_t i = n / 2; i-- > 0;) sink(i, n);
  for (std::uint64_t end = n; end-- > 1;) {
    std::uint32_t const most = at[0];
    at[0] = at[end];
    at[end] = most;
    sink(0, end);
  }
}
struct sort_equal {
  std::uint64_t const* keys;
  std::uint32_t* weights;
  std::uint64_t n;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (i > 0 && keys[i] == keys[i - 1]) return;
    std::uint64_t end = i + 1;
    while (end < n && keys[end] == keys[i]) ++end;
    if (end - i > 1) sort_few(weights + i, end - i);
  }
};

template <class T>
buffer<T> near_of(executor& x, buffer<T> const& from, char const* what) {
  buffer<T> to(x.near(), from.size(), x.device(), what);
  if (from.size()) x.copy(to.data(), from.data(), from.bytes());
  return to;
}

}  // namespace

buffer<std::uint32_t> order_by_score(executor& x, graph const& g, std::span<float const> scores) {
  std::uint64_t const n = scores.size();
  buffer<float> score(x.near(), n, x.device(), "scores");
  buffer<std::uint64_t> keys(x.near(), n, x.device(), "vertices, to sort"), spare(x.near(), n, x.device(), "vertices, to sort");
  buffer<std::uint32_t> order(tier::host, n, -1, "new order"), near(x.near(), n, x.device(), "new order");
  if (n == 0) return order;
  x.copy(score.data(), scores.data(), scores.size_bytes());
  for_each_item<1>(x, n, score_keys{score.data(), keys.data()});
  std::span<std::uint64_t> const sorted = sort(x, keys.span(), spare.span());
  for_each_item<1>(x, n, narrow_each<std::uint64_t, std::uint32_t>{sorted.data(), near.data()});
  x.copy(order.data(), near.data(), near.bytes());
  x.wait();
  x.threads().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) order[i] = static_cast<std::uint32_t>(g.at_rank(order[i]));
  });
  return order;
}

edge_lists relabel_near(executor& x, graph const& g, edge_lists const& old, buffer<std::uint32_t> const& order,
                        buffer<std::uint32_t> const& renamed) {
  std::uint64_t const n = g.info.vertices, m = g.info.edges;
  bool const weighted = old.weights.bytes() || !old.packed_weights.empty(), packed = !old.packed_targets.empty();
  int const device = x.device();
  edge_lists lists;
  lists.offsets = buffer<std::uint64_t>(tier::host, n + 1, -1, "offsets");
  buffer<std::uint64_t> const old_offsets = near_of(x, old.offsets, "offsets");
  buffer<std::uint64_t> offsets(x.near(), n + 1, device, "offsets");
  {
    buffer<std::uint64_t> degree(x.near(), n, device, "degrees");
    for_each_item<1>(x, n, moved_degree{old_offsets.data(), order.data(), degree.data()});
    scan(x, degree.data(), offsets.data(), n);
    x.copy(lists.offsets.data(), offsets.data(), offsets.bytes());
    x.wait();
  }
  lists.targets = memory_block(x.near(), m * g.info.id_bytes, device, "edge list");
  if (weighted) lists.weights = memory_block(x.near(), m * 4, device, "weights");
  if (m == 0) return lists;
  buffer<std::uint32_t> const blocks = near_of(x, old.packed_targets.blocks, "directory of compressed adjacency"),
                              weight_blocks = near_of(x, old.packed_weights.blocks, "directory of compressed weights");
  buffer<std::uint64_t> const groups = near_of(x, old.packed_targets.groups, "directory of compressed adjacency"),
                              weight_groups = near_of(x, old.packed_weights.groups, "directory of compressed weights");

  // Chunks of new lists.
  std::vector<std::uint64_t> cuts{0};
  std::uint64_t most = 0;
  while (cuts.back() < n) {
    std::uint64_t const begin = cuts.back(), limit = lists.offsets[begin] + chunk_edges;
    auto const end = static_cast<std::uint64_t>(std::upper_bound(lists.offsets.begin() + begin + 1, lists.offsets.end(), limit) -
                                                lists.offsets.begin()) -
                     1;
    cuts.push_back(std::max(begin + 1, end));
    most = std::max(most, lists.offsets[cuts.back()] - lists.offsets[begin]);
  }
  buffer<std::uint64_t> keys(x.near(), most, device, "edges, to sort"), spare(x.near(), most, device, "edges, to sort");
  buffer<std::uint32_t> values(x.near(), weighted ? most : 0, device, "weights, to sort"),
      spare_values(x.near(), weighted ? most : 0, device, "weights, to sort");
  int const id_bits = static_cast<int>(std::bit_width(n));
  progress bar("reordering", m);
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    csr_view<Id> view = g.view<Id>(old, old_offsets.data());
    if (packed) view.targets.packed.at = {blocks.data(), groups.data()};
    if (!weight_blocks.empty()) view.weights.packed.at = {weight_blocks.data(), weight_groups.data()};
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      check_interrupted();
      std::uint64_t const first = cuts[c], count = cuts[c + 1] - first, base = lists.offsets[first],
                          edges = lists.offsets[cuts[c + 1]] - base;
      if (edges == 0) continue;
      auto const write = [&](auto compressed_adjacency, auto with_weights) {
        for_each_item<32>(x, count,
                          list_keys<Id, decltype(compressed_adjacency)::value, decltype(with_weights)::value>{
                              view, order.data(), renamed.data(), offsets.data(), first, base, id_bits, keys.data(), values.data()},
                          access_mode::aligned, true);
      };
      auto const write_weighted = [&](auto compressed_adjacency) {
        if (weighted) write(compressed_adjacency, std::true_type{});
        else write(compressed_adjacency, std::false_type{});
      };
      if (!packed) write_weighted(std::false_type{});
      else if constexpr (sizeof(Id) == 4) write_weighted(std::true_type{});
      int const bits = std::min(64, id_bits + static_cast<int>(std::bit_width(count)));
      std::span<std::uint64_t> sorted;
      if (weighted) {
        std::span<std::uint32_t> moved = values.span().first(edges);
        sorted = sort_by_key(x, keys.span().first(edges), spare.span().first(edges), moved, spare_values.span().first(edges), bits);
        for_each_item<1>(x, edges, sort_equal{sorted.data(), moved.data(), edges});
        x.copy(static_cast<std::uint32_t*>(lists.weights.data()) + base, moved.data(), edges * 4);
      } else {
        sorted = sort(x, keys.span().first(edges), spare.span().first(edges), bits);
      }
      for_each_item<1>(x, edges,
                       take_target<Id>{sorted.data(), (std::uint64_t{1} << id_bits) - 1, static_cast<Id*>(lists.targets.data()) + base});
      bar.advance(edges);
    }
  });
  x.wait();
  return lists;
}

std::uint64_t relabel_near_bytes(graph_info const& info) {
  std::uint64_t const chunk = std::min(info.edges, 2 * chunk_edges);  // a list larger than a chunk is a chunk of its own
  bool const weighted = info.weights != weight_kind::none;
  return info.edges * (info.id_bytes + (weighted ? 4 : 0)) * (info.in_edges ? 2 : 1) + (info.vertices + 1) * 32 +
         chunk * (weighted ? 24 : 16);
}

}  // namespace garner

// Copies of the most-read remote adjacency in device memory, chosen by reads saved per byte, whichever ids the vertices have. Invariant: a
// copy is whole. Each vertex has the distance from its list to the copy, in elements, or for compressed lists in words (two lists that
// share a block both have a copy of it). Offsets and directories apply to both. Cost: 8 bytes per vertex on the device, 16 if weights are
// cached too, and one read of the cached lists; 36 bytes per vertex of host memory during selection.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/exec.hpp"
#include "core/executor.hpp"
#include "features/place_rows.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "memory/buffer.hpp"

namespace garner {

namespace detail {

// Range that the edges [begin, end) of a list occupy in its array: elements, or the words of its blocks, including the one behind them that
// a reader may look at.
GARNER_HD inline indices units_of(packed_directory const& at, std::uint64_t begin, std::uint64_t end) {
  if (!at.blocks || begin == end) return {begin, end};
  constexpr std::uint64_t a_block = packed_directory::values_a_block;
  return {at.word_of(begin / a_block), at.word_of((end - 1) / a_block + 1) + 1};
}

template <class T>
struct copy_lists {
  std::uint64_t const* vertices;
  std::uint64_t const* offsets;
  packed_directory at;
  std::int64_t const* moved_by;
  T const* from;  // remote
  T* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const v = vertices[k];
    auto const shift = static_cast<std::uint64_t>(moved_by[v]);
    indices const mine = units_of(at, offsets[v], offsets[v + 1]);
    t.each(span<T>{from, mine.begin, mine.end}, [&](T value, std::uint64_t i) { to[i + shift] = value; });
  }
};

}  // namespace detail

class kept_lists {
 public:
  // `scores`: how often each vertex is sampled for, in the user's order (vertices beyond the array never are); `fanout`: entries read per
  // list then, ~0: all. `placed`: the same lists without copies. Asynchronous but for what the host reads.
  void keep(executor& x, graph const& g, edge_lists const& lists, placed_lists const& placed, std::span<float const> scores,
            std::uint64_t fanout, std::uint64_t budget, bool weighted) {
    require_numbers(scores);
    weighted = weighted && g.info.weights != weight_kind::none;
    bool const wide = lists.packed_targets.empty() && g.info.id_bytes == 8;
    packed_directory const targets_home = lists.packed_targets.view().at, weights_home = lists.packed_weights.view().at;
    std::uint64_t const* const offsets = lists.offsets.data();
    std::uint64_t const n = g.info.vertices, unit = wide ? 8 : 4;

    // Sampling reads a sector per entry, or each sector of the list.
    std::vector<float> worth(n, std::numeric_limits<float>::lowest());
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(n, scores.size()); ++k) {
      std::uint64_t const v = g.at_rank(k);
      if (offsets[v] == offsets[v + 1]) continue;
      indices const units = detail::units_of(targets_home, offsets[v], offsets[v + 1]);
      auto const bytes = static_cast<float>((units.end - units.begin) * unit);
      worth[v] = scores[k] * std::min(static_cast<float>(fanout), 1 + (bytes - static_cast<float>(unit)) / 32) / bytes;
    }
    buffer<std::uint64_t> const best = hottest(worth, std::min<std::uint64_t>({n, budget / unit, 0xffffffffu}));
    worth = {};

    bool const one_shift = lists.packed_targets.empty() && lists.packed_weights.empty();
    std::vector<std::uint64_t> chosen;
    std::vector<std::int64_t> shift_of_targets(n, arc_array<std::uint32_t>::elsewhere), shift_of_weights;
    if (weighted && !one_shift) shift_of_weights = shift_of_targets;
    std::uint64_t targets = 0, weights = 0;  // units so far
    for (std::uint64_t const v : best.span()) {
      std::uint64_t const begin = offsets[v], end = offsets[v + 1];
      if (begin == end) break;  // so have all others
      indices const of_targets = detail::units_of(targets_home, begin, end), of_weights = detail::units_of(weights_home, begin, end);
      std::uint64_t const more_targets = of_targets.end - of_targets.begin, more_weights = weighted ? of_weights.end - of_weights.begin : 0;
      if ((targets + more_targets) * unit + (weights + more_weights) * 4 > budget) continue;
      shift_of_targets[v] = static_cast<std::int64_t>(targets - of_targets.begin);
      if (!shift_of_weights.empty()) shift_of_weights[v] = static_cast<std::int64_t>(weights - of_weights.begin);
      targets += more_targets, weights += more_weights, arcs_ += end - begin;
      chosen.push_back(v);
    }
    if (chosen.empty()) return;
    buffer<std::uint64_t> const ids = near(x, chosen);
    vertices_ = chosen.size();
    auto const copied = [&](auto type, memory_block const& plain, packed_array const& packed, packed_directory const& at,
                            buffer<std::int64_t> const& moved_by, std::uint64_t units) {
      using T = decltype(type);
      memory_block to(x.near(), units * sizeof(T), x.device(), what);
      void const* const from = packed.empty() ? plain.data() : packed.words.data();
      for_each_item<8>(x, vertices_,
                       detail::copy_lists<T>{ids.data(), placed.offsets(), at, moved_by.data(), static_cast<T const*>(from),
                                             static_cast<T*>(to.data())});
      return to;
    };
    targets_moved_by_ = near(x, shift_of_targets);
    csr_view<std::uint32_t> const v = placed.view<std::uint32_t>();  // bytes of it for directories
    targets_ = wide ? copied(std::uint64_t{}, lists.targets, lists.packed_targets, {}, targets_moved_by_, targets)
                    : copied(std::uint32_t{}, lists.targets, lists.packed_targets, v.targets.packed.at, targets_moved_by_, targets);
    if (weighted) {
      if (!one_shift) weights_moved_by_ = near(x, shift_of_weights);
      weights_ = copied(std::uint32_t{}, lists.weights, lists.packed_weights, v.weights.packed.at,
                        one_shift ? targets_moved_by_ : weights_moved_by_, weights);
    }
    x.wait();
  }

  template <class Id>
  csr_view<Id> with(csr_view<Id> v) const {
    if (!vertices_) return v;
    auto const has = [](auto& array, memory_block const& copies, std::int64_t const* moved_by) {
      array.moved_by = moved_by;
      if (array.packed) array.near_words = static_cast<std::uint32_t const*>(copies.data());
      else array.near_data = static_cast<decltype(array.near_data)>(copies.data());
    };
    has(v.targets, targets_, targets_moved_by_.data());
    if (weights_.bytes()) has(v.weights, weights_, weights_moved_by_.empty() ? targets_moved_by_.data() : weights_moved_by_.data());
    return v;
  }

  std::uint64_t vertices() const { return vertices_; }
  std::uint64_t arcs() const { return arcs_; }
  std::uint64_t list_bytes() const { return targets_.bytes() + weights_.bytes(); }
  std::uint64_t bytes() const { return list_bytes() + targets_moved_by_.bytes() + weights_moved_by_.bytes(); }

 private:
  static constexpr char const* what = "lists kept by score";
  template <class T>
  static buffer<T> near(executor& x, std::vector<T> const& from) {
    buffer<T> to(x.near(), from.size(), x.device(), what);
    x.copy(to.data(), from.data(), to.bytes());
    return to;
  }

  std::uint64_t vertices_ = 0, arcs_ = 0;
  memory_block targets_, weights_;
  buffer<std::int64_t> targets_moved_by_, weights_moved_by_;
};

}  // namespace garner

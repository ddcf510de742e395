// A graph as the running device reads it: offsets are local, adjacency stays in its tier. For remote adjacency, local memory caches
// directories of compressed arrays and the first edges. On the CPU everything is local. Invariant: refers to the graph, which must outlive
// it; views stay valid while it lives. Cost: 8 local bytes per vertex and direction; a directory takes one bit per element.
#pragma once
#include <chrono>

#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

// One direction.
class placed_lists {
 public:
  placed_lists() = default;
  placed_lists(executor& x, graph const& g, edge_lists const& lists, char const* what) : g_(&g), lists_(&lists) {
    if (!x.on_device()) return;
    if (!lists.near_offsets.empty() && lists.near_offsets.device() == x.device()) near_ = lists.near_offsets.data();
    else copy(x, offsets_, lists.offsets, what), near_ = offsets_.data();
  }
  explicit operator bool() const { return g_ != nullptr; }

  std::uint64_t const* offsets() const { return near_ ? near_ : lists_->offsets.data(); }

  // Bytes of a directory that is not cached yet; 0 if it is, or does not exist.
  std::uint64_t directory_bytes(bool weights) const {
    packed_array const& from = weights ? lists_->packed_weights : lists_->packed_targets;
    return from.empty() || !(weights ? weight_blocks_ : target_blocks_).blocks.empty() ? 0 : from.blocks.bytes() + from.groups.bytes();
  }
  // Whether the device reads the directory in place.
  bool reads_directory(executor const& x, bool weights) const {
    packed_array const& from = weights ? lists_->packed_weights : lists_->packed_targets;
    return from.blocks.device() == x.device() && from.groups.device() == x.device();
  }
  void cache_directory(executor& x, bool weights, char const* what) {
    packed_array const& from = weights ? lists_->packed_weights : lists_->packed_targets;
    directory& to = weights ? weight_blocks_ : target_blocks_;
    copy(x, to.blocks, from.blocks, what);
    copy(x, to.groups, from.groups, what);
  }

  // Caches the first edges, with weights if requested, up to the budget. Returns the bytes used.
  std::uint64_t cache_first_arcs(executor& x, std::uint64_t budget, bool weighted) {
    bool const weights = weighted && g_->info.weights != weight_kind::none;
    auto const bytes = [&](std::uint64_t n) { return bytes_of_targets(n) + (weights ? bytes_of_weights(n) : 0); };
    std::uint64_t low = 0, high = lists_->offsets[g_->info.vertices] / 32;  // in blocks of 32; the whole list may end anywhere
    while (low < high) {
      std::uint64_t const middle = low + (high - low + 1) / 2;
      if (bytes(middle * 32) <= budget) low = middle;
      else high = middle - 1;
    }
    if (low == 0) return 0;
    first_arcs_ = low * 32;
    auto const take = [&](memory_block& to, memory_block const& plain, packed_array const& packed, std::uint64_t n) {
      to = memory_block(x.near(), n, x.device(), "first edges");
      x.copy(to.data(), packed.empty() ? plain.data() : packed.words.data(), n);
    };
    take(first_targets_, lists_->targets, lists_->packed_targets, bytes_of_targets(first_arcs_));
    if (weights) take(first_weights_, lists_->weights, lists_->packed_weights, bytes_of_weights(first_arcs_));
    return bytes(first_arcs_);
  }
  std::uint64_t first_arcs() const { return first_arcs_; }

  template <class Id>
  csr_view<Id> view() const {
    csr_view<Id> v = g_->bare_view<Id>(*lists_, offsets());  // file tier: its windows provide the rest
    if (!target_blocks_.blocks.empty()) v.targets.packed.at = {target_blocks_.blocks.data(), target_blocks_.groups.data()};
    if (!weight_blocks_.blocks.empty()) v.weights.packed.at = {weight_blocks_.blocks.data(), weight_blocks_.groups.data()};
    auto const keep = [&](auto& array, memory_block const& cached) {
      if (!cached.bytes()) return;
      array.kept = first_arcs_;
      if (array.packed) array.near_words = static_cast<std::uint32_t const*>(cached.data());
      else array.near_data = static_cast<decltype(array.near_data)>(cached.data());
    };
    keep(v.targets, first_targets_);
    keep(v.weights, first_weights_);
    return v;
  }

 private:
  struct directory {
    buffer<std::uint32_t> blocks;
    buffer<std::uint64_t> groups;
  };
  template <class T>
  static void copy(executor& x, buffer<T>& to, buffer<T> const& from, char const* what) {
    to = buffer<T>(x.near(), from.size(), x.device(), what);
    x.copy(to.data(), from.data(), to.bytes());
  }
  // Bytes of the first `arcs` elements.
  static std::uint64_t bytes_of(packed_array const& all, std::uint64_t arcs) { return (all.view().at.word_of(arcs / 32) + 1) * 4; }
  std::uint64_t bytes_of_targets(std::uint64_t arcs) const {
    return lists_->packed_targets.empty() ? arcs * g_->info.id_bytes : bytes_of(lists_->packed_targets, arcs);
  }
  std::uint64_t bytes_of_weights(std::uint64_t arcs) const {
    return lists_->packed_weights.empty() ? arcs * 4 : bytes_of(lists_->packed_weights, arcs);
  }

  graph const* g_ = nullptr;
  edge_lists const* lists_ = nullptr;
  buffer<std::uint64_t> offsets_;  // if the graph has no copy on the device
  std::uint64_t const* near_ = nullptr;
  directory target_blocks_, weight_blocks_;
  std::uint64_t first_arcs_ = 0;
  memory_block first_targets_, first_weights_;
};

}  // namespace garner

// The working memory of a sampler. Buffers have the size that mini-batches needed so far, and only grow. The stages of a hop share them:
// `first` and `rank` serve choosing and numbering, keys serve finding and the induced subgraph. Cost: see blocks.hpp.
#pragma once
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "core/primitives.hpp"
#include "memory/buffer.hpp"
#include "sample/blocks.hpp"
#include "sample/kernels/hop_state.hpp"
#include "sample/sampler_lists.hpp"

namespace garner {

using some_batches = std::span<sampled_subgraph::parts* const>;

struct sampler_buffers {
  struct of_type {
    buffer<std::uint32_t> place;   // local number per vertex; `none` except during sampling
    buffer<std::uint64_t> hashed;  // hash table of local numbers, two words per slot
    std::uint64_t slots = 0;       // slots of the hash table in the current sampling
    std::uint64_t taken = 0;       // most slots used by a mini-batch so far; 0: unknown
  };
  executor& x;
  block_options const& o;
  sampler_lists const& of;
  sampler_rooms room;
  std::vector<of_type> types;
  std::vector<std::vector<std::uint64_t>> seen;  // per relation: most edges per hop so far
  buffer<std::uint64_t> counters, at, rank, keys, spare_keys;
  buffer<std::uint32_t> drawn, first;
  buffer<std::int64_t> row, col, edge, sifted_col, sifted_edge, tree_time;
  // For sampling several mini-batches at once: their vertices, and the mini-batch of each vertex.
  buffer<std::int64_t> all_ids;
  buffer<std::uint32_t> all_batches;
  std::size_t roomy_for = 1;  // most mini-batches that were sampled together so far
  bool sized = false, sized_for_several = false;
  std::uint64_t hash_beyond;  // bytes of local numbers from which on a hash table is used

  sampler_buffers(executor& at, block_options const& options, sampler_lists const& lists, std::uint64_t beyond);

  // How many mini-batches, up to the given number, can be sampled together.
  std::uint32_t together(std::uint64_t wanted) const;
  // Capacity for these, whose number together() allows: at least their seeds.
  void expect(some_batches batches);
  void guess(std::uint64_t seeds, std::uint64_t batches);
  // Enlarges the capacity to the counted needs. errc::usage if a hop samples too many neighbors for 32-bit counts.
  void grow(std::uint64_t const* counted, std::uint64_t number, std::uint64_t seeds);
  void make(some_batches batches);
  void make_items(std::uint64_t vertices);  // those of the edges of a hop
  std::uint64_t bytes() const;

  // Whether vertices go into a hash table: one entry per vertex and mini-batch would overflow the processor's caches.
  bool hashes(std::size_t batches) const;
  drawing::place_table table_of(std::uint32_t t, std::uint64_t seeds, std::size_t batches) const;
  item_count counted(std::uint32_t counter, std::uint64_t most) const { return {counters.data() + counter, most}; }
  item_count items() const { return counted(drawing::counter_map::items, room.items); }
  item_count drawing_for(std::uint32_t t, std::size_t batches) const { return counted(of.map.drawing(t), room.vertices[t] * batches); }

 private:
  template <class T>
  bool make(buffer<T>& b, std::uint64_t n, char const* what = "a mini-batch") {
    return garner::grow(x, b, n, n, what, x.near());
  }
  std::uint64_t slots(std::size_t t, some_batches batches) const;
};

}  // namespace garner

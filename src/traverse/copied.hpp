// Access copied: in each round the host compacts the frontier's lists into blocks and sends them; teams read a
// block from local memory. This is the strategy of Subway (Sabet, Zhao, Gupta, EuroSys 2020), the baseline that
// copies instead of reading in place. The items of a frontier, one vertex each, form one stream of edges. Block
// b is elements [b * block, (b + 1) * block) of it, so a list may begin in one block and end in a later one, and
// every block except the last is full. Invariants: every edge of the frontier is sent exactly once, decompressed
// if necessary; no other data is. Kernels see an edge's own index, not that in the block. While a block is
// copied and processed the thread pool compacts the next one: two blocks in host memory, one on the device. On
// the CPU and the simulated device the kernel reads the block where it was compacted. Cost per round: items and
// their positions are copied to the host (16 bytes each); every edge is read, written and sent once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "far/traffic.hpp"
#include "graph/graph.hpp"
#include "memory/buffer.hpp"

namespace garner {

// Traffic of a round: the targets as whole lines plus a remainder, and the weights likewise. Blocks are whole lines, so their number does
// not matter.
inline run_traffic sent_in_blocks(std::uint64_t arcs, std::uint32_t id_bytes, bool weighted) {
  run_traffic t = traffic_of_run(0, arcs, id_bytes, access_mode::aligned);
  return weighted ? t + traffic_of_run(0, arcs, 4, access_mode::aligned) : t;
}

namespace detail {

template <class Item, class Cut>
struct measure_items {
  std::uint64_t const* offsets;
  Cut cut;
  Item const* items;
  std::uint64_t* length;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    Item const at = items[k];
    indices const slice = cut.slice_at(offsets[at.first], offsets[at.first + 1], at.slice());
    length[k] = slice.end - slice.begin;
  }
};

// The items [first, last) with elements in a block.
template <class Id, class Item, class Cut, class Visit>
struct walk_block {
  std::uint64_t const* offsets;
  Cut cut;
  Item const* items;
  std::uint64_t const* places;
  std::uint64_t first, last, begin, end;  // the block is [begin, end) of the stream
  Id const* targets;
  std::uint32_t const* weights;
  std::uint32_t per_team;
  Visit visit;

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const stop = smaller(last, first + (i + 1) * per_team);
    for (std::uint64_t k = first + i * per_team; k < stop; ++k) {
      Item const at = items[k];
      std::uint64_t const from = larger(places[k], begin) - begin, to = smaller(places[k + 1], end) - begin;
      // The edge index of an element is its index plus this, modulo 2^64.
      std::uint64_t const arc_of = cut.slice_at(offsets[at.first], offsets[at.first + 1], at.slice()).begin + begin - places[k];
      span<Id> const arcs{targets, from, to, true};
      if constexpr (Visit::weighted)
        t.each(arcs, span<std::uint32_t>{weights, from, to, true},
               [&](Id u, std::uint32_t w, std::uint64_t e) { visit(t, at, u, w, e + arc_of); });
      else t.each(arcs, [&](Id u, std::uint64_t e) { visit(t, at, u, e + arc_of); });
    }
  }
};

}  // namespace detail

template <class Id, class Item, class Cut>
class copied_lists {
 public:
  // `home`: host-readable adjacency, which must outlive this object.
  copied_lists(executor& x, csr_view<Id> const& home, std::uint64_t block_bytes, bool weighted, std::uint64_t most_items)
      : x_(x), home_(home), block_(elements_of_block(home.edges, block_bytes, weighted)) {
    length_ = buffer<std::uint64_t>(x.near(), most_items, x.device(), "lengths of what is sent");
    place_ = buffer<std::uint64_t>(x.near(), most_items + 1, x.device(), "places of what is sent");
    std::uint64_t const weights = weighted ? block_ : 0;
    targets_ = buffer<Id>(x.near(), block_, x.device(), "a block of lists");
    weights_ = buffer<std::uint32_t>(x.near(), weights, x.device(), "a block of weights");
    if (!x.asynchronous()) return;
    items_home_ = buffer<Item>(tier::host, most_items, x.device(), "frontier on the host");
    place_home_ = buffer<std::uint64_t>(tier::host, most_items + 1, x.device(), "places of what is sent");
    for (int k = 0; k < 2; ++k) {
      targets_home_[k] = buffer<Id>(tier::host, block_, x.device(), "a block of lists");
      weights_home_[k] = buffer<std::uint32_t>(tier::host, weights, x.device(), "a block of weights");
    }
  }

  ~copied_lists() {  // a block may be in flight when a run is interrupted
    try {
      x_.wait();
    } catch (...) {  // the next wait reports it, or has reported it
    }
  }
  copied_lists(copied_lists const&) = delete;
  copied_lists& operator=(copied_lists const&) = delete;

  // Local memory, and for a GPU the host memory as well.
  static std::uint64_t near_bytes(std::uint64_t edges, std::uint64_t block_bytes, bool weighted, std::uint64_t most_items) {
    return most_items * 16 + 8 + elements_of_block(edges, block_bytes, weighted) * element_bytes(weighted);
  }
  static std::uint64_t home_bytes(std::uint64_t edges, std::uint64_t block_bytes, bool weighted, std::uint64_t most_items) {
    return most_items * (sizeof(Item) + 8) + 8 + 2 * elements_of_block(edges, block_bytes, weighted) * element_bytes(weighted);
  }

  // Calls visit() for the `arcs` edges of `count` items, as frontier::for_each_arc does. On the device the last block is asynchronous.
  template <class Visit>
  void walk(std::uint64_t const* offsets, Cut const& cut, Item const* items, std::uint64_t count, std::uint64_t arcs,
            std::uint32_t per_team, Visit const& visit) {
    if (arcs == 0) return;
    for_each_item<1>(x_, count, detail::measure_items<Item, Cut>{offsets, cut, items, length_.data()});
    scan(x_, length_.data(), place_.data(), count);
    if (x_.asynchronous()) {
      x_.copy(items_home_.data(), items, count * sizeof(Item));
      x_.copy(place_home_.data(), place_.data(), (count + 1) * sizeof(std::uint64_t));
    }
    x_.wait();
    stream const all{cut, x_.asynchronous() ? items_home_.data() : items, x_.asynchronous() ? place_home_.data() : place_.data(), count};
    int turn = 0;
    for (std::uint64_t begin = 0; begin < arcs; begin += block_, turn ^= 1) {
      check_interrupted();
      std::uint64_t const end = std::min(arcs, begin + block_);
      Id* const targets = x_.asynchronous() ? targets_home_[turn].data() : targets_.data();
      std::uint32_t* const weights = !Visit::weighted ? nullptr : x_.asynchronous() ? weights_home_[turn].data() : weights_.data();
      compact(all, begin, end, targets, weights);
      x_.wait();  // waits until the previous block is sent and processed, which frees its host buffer
      send(targets_.data(), targets, (end - begin) * sizeof(Id));
      if (weights) send(weights_.data(), weights, (end - begin) * sizeof(std::uint32_t));
      std::uint64_t const first = all.item_at(begin), last = all.item_at(end - 1) + 1;
      for_each_item<32>(x_, (last - first + per_team - 1) / per_team,
                        detail::walk_block<Id, Item, Cut, Visit>{offsets, cut, items, place_.data(), first, last, begin, end,
                                                                 targets_.data(), weights_.data(), per_team, visit});
    }
  }

 private:
  // The data to send, as seen by the host.
  struct stream {
    Cut const& cut;
    Item const* items;
    std::uint64_t const* places;
    std::uint64_t count;
    std::uint64_t item_at(std::uint64_t element) const {
      return static_cast<std::uint64_t>(std::upper_bound(places, places + count + 1, element) - places) - 1;
    }
  };

  static constexpr std::uint64_t element_bytes(bool weighted) { return sizeof(Id) + (weighted ? 4 : 0); }
  // Whole lines of targets and of weights, and at most the graph's edges.
  static std::uint64_t elements_of_block(std::uint64_t edges, std::uint64_t block_bytes, bool weighted) {
    return std::min(std::max<std::uint64_t>(1, block_bytes / element_bytes(weighted) / 32), (edges + 31) / 32) * 32;
  }

  // Copies `n` edges, from number `arc` on, to the host's block.
  template <class T>
  static void take(arc_array<T> const& from, std::uint64_t arc, std::uint64_t n, T* to) {
    if (from.packed)
      each_in_turn(from.packed, arc, arc + n, [&](std::uint32_t value, std::uint64_t i) { return to[i - arc] = value, false; });
    else std::copy_n(from.data + arc, n, to);
  }
  // Parallel over elements, not items, since one list may be as long as all others.
  void compact(stream const& all, std::uint64_t begin, std::uint64_t end, Id* targets, std::uint32_t* weights) {
    x_.threads().run(end - begin, 1u << 16, [&](std::uint64_t a, std::uint64_t b) {
      std::uint64_t k = all.item_at(begin + a);
      for (std::uint64_t e = begin + a; e < begin + b; ++k) {
        Item const at = all.items[k];
        std::uint64_t const n = std::min(all.places[k + 1], begin + b) - e;
        std::uint64_t const* const offsets = home_.offsets + at.first;
        std::uint64_t const arc = all.cut.slice_at(offsets[0], offsets[1], at.slice()).begin + (e - all.places[k]);
        take(home_.targets, arc, n, targets + (e - begin));
        if (weights) take(home_.weights, arc, n, weights + (e - begin));
        e += n;
      }
    });
  }
  void send(void* to, void const* from, std::uint64_t bytes) {
    if (x_.asynchronous()) x_.copy(to, from, bytes);
    if (x_.where().kind == device_kind::simulated && x_.sink()) {
      // At distinct addresses: new data is never in a cache.
      std::vector<far_read> lines;
      for (std::uint64_t at = 0; at < bytes; at += 1u << 16)
        lines.push_back({sent_ + at, sent_ + std::min<std::uint64_t>(bytes, at + (1u << 16))});
      x_.sink()->warp({&lines, 1});
      sent_ += (bytes + 127) / 128 * 128;
    }
  }

  executor& x_;
  csr_view<Id> home_;
  std::uint64_t block_, sent_ = 0;
  buffer<std::uint64_t> length_, place_;
  buffer<Id> targets_;  // the block being processed
  buffer<std::uint32_t> weights_;
  buffer<Item> items_home_;  // on a device only
  buffer<std::uint64_t> place_home_;
  buffer<Id> targets_home_[2];
  buffer<std::uint32_t> weights_home_[2];
};

}  // namespace garner

// Access copied: each round the host compacts the lists of the frontier into blocks and sends them; teams walk a block as near memory. This
// is Subway's way (Sabet, Zhao, Gupta, EuroSys 2020), the rival that copies instead of reading in place.
// The items of a frontier, one vertex each, have places in one stream of arcs; block b is elements [b * block, (b + 1) * block) of it, so
// that a list may begin in one block and end in a later one, and every block but the last is full.
// Invariants: every arc of the frontier is sent once, decoded where it was packed, and nothing else of the lists is; the bodies see the
// arc's own index, not that in the block.
// While a block is copied and walked the thread pool compacts the next one: two blocks in host memory, one on the device. At the host and
// simulated places the walk reads the block where it was compacted. Cost a round: items and their places come to the host (16 bytes each);
// every arc is read, written and sent once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "access/traffic.hpp"
#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "graph/graph.hpp"
#include "memory/buffer.hpp"

namespace garner {

// What a round sends: the targets as whole lines and what is left of one, and the weights alike. Blocks are whole lines, so how many there
// are does not matter.
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

// The items [first, last) that a block holds some of.
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
      // The arc of an element is its index and this, modulo 2^64.
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
  // `home`: the lists as the host reads them; they must outlive this.
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

  ~copied_lists() {  // a block may be on its way when a run is interrupted
    try {
      x_.wait();
    } catch (...) {  // whoever waits next hears of it, or has
    }
  }
  copied_lists(copied_lists const&) = delete;
  copied_lists& operator=(copied_lists const&) = delete;

  // Near memory, and on a device what lies in host memory besides.
  static std::uint64_t near_bytes(std::uint64_t edges, std::uint64_t block_bytes, bool weighted, std::uint64_t most_items) {
    return most_items * 16 + 8 + elements_of_block(edges, block_bytes, weighted) * element_bytes(weighted);
  }
  static std::uint64_t home_bytes(std::uint64_t edges, std::uint64_t block_bytes, bool weighted, std::uint64_t most_items) {
    return most_items * (sizeof(Item) + 8) + 8 + 2 * elements_of_block(edges, block_bytes, weighted) * element_bytes(weighted);
  }

  // visit() for the `arcs` of `count` items, as frontier::for_each_arc. Asynchronous on the device, its last block.
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
      x_.wait();  // the block before was sent and walked meanwhile; after this its place in host memory is free
      send(targets_.data(), targets, (end - begin) * sizeof(Id));
      if (weights) send(weights_.data(), weights, (end - begin) * sizeof(std::uint32_t));
      std::uint64_t const first = all.item_at(begin), last = all.item_at(end - 1) + 1;
      for_each_item<32>(x_, (last - first + per_team - 1) / per_team,
                        detail::walk_block<Id, Item, Cut, Visit>{offsets, cut, items, place_.data(), first, last, begin, end,
                                                                 targets_.data(), weights_.data(), per_team, visit});
    }
  }

 private:
  // What is to be sent, as the host sees it.
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
  // Whole lines of targets and of weights, and no more than the graph has.
  static std::uint64_t elements_of_block(std::uint64_t edges, std::uint64_t block_bytes, bool weighted) {
    return std::min(std::max<std::uint64_t>(1, block_bytes / element_bytes(weighted) / 32), (edges + 31) / 32) * 32;
  }

  // Arcs [arc, arc + n) to the host's block.
  template <class T>
  static void take(arc_array<T> const& from, std::uint64_t arc, std::uint64_t n, T* to) {
    if (from.packed)
      each_in_turn(from.packed, arc, arc + n, [&](std::uint32_t value, std::uint64_t i) { return to[i - arc] = value, false; });
    else std::copy_n(from.data + arc, n, to);
  }
  // By elements and not by items, since one list may be as long as all others.
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
    if (x_.where().kind == place_kind::simulated && x_.sink()) {
      // At addresses of its own: no cache holds what is sent anew.
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
  buffer<Id> targets_;  // the block that is walked
  buffer<std::uint32_t> weights_;
  buffer<Item> items_home_;  // on a device only
  buffer<std::uint64_t> place_home_;
  buffer<Id> targets_home_[2];
  buffer<std::uint32_t> weights_home_[2];
};

}  // namespace garner

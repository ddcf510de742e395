// The union-find forest of Afforest (components.cpp): linking, the links of other shards, and pointer jumping. Invariants: label[v] <= v is
// an ancestor of v and never increases; a linked vertex never becomes a root again. Links may run concurrently with each other, and not
// with flatten.
#pragma once
#include <algorithm>

#include "core/exec.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/graph.hpp"
#include "traverse/frontier.hpp"
#include "traverse/spread.hpp"

namespace garner::detail {

template <class Id>
struct forest {
  Id* label;
  Id first, last;       // the shard's own vertices: [first, last)
  std::uint32_t* hung;  // bit v: v, of another shard, was a root and was linked here; null: single shard

  // Merges the trees of a and b: climbs from the larger of the two, and links it under the smaller if it is a root. Starts one step up on
  // both sides: one extra lookup of the smaller one keeps the trees flatter (a fifth faster on the CPU). Stale labels are safe: an ancestor
  // stays an ancestor, and the compare-and-swap verifies that the root is still a root. Returns whether another shard has news: its root.
  GARNER_HD bool unite(Id a, Id b) const {
    a = atomic_load_cached(label + a);
    b = atomic_load_cached(label + b);
    while (a != b) {
      if (a < b) {
        Id const t = a;
        a = b;
        b = t;
      }
      Id up = atomic_load_cached(label + a);
      if (up == a) {
        up = atomic_cas(label + a, a, b);
        if (up == a) {
          if (!hung || (a >= first && a < last)) return false;
          atomic_or(hung + a / 32, 1u << a % 32);
          return true;
        }
      }
      a = up;
    }
    return false;
  }
};

struct hung_news {
  std::uint64_t taken;  // roots
  std::uint32_t more;   // not 0: others' roots were linked meanwhile
};
// Applies another shard's links of this shard's vertices to the own trees.
template <class Id>
struct take_hung {
  std::uint32_t const* theirs;
  Id const* their_label;
  forest<Id> trees;
  std::uint64_t words;
  hung_news* news;
  static constexpr std::uint64_t block = 1024;  // words per team, one per lane
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      std::uint32_t const bits = theirs[w];
      for (std::uint32_t rest = bits; rest; rest &= rest - 1) {
        std::uint64_t const i = w * 32 + static_cast<std::uint64_t>(lowest_bit(rest));
        if (trees.unite(static_cast<Id>(trees.first + i), atomic_load(their_label + i)) && !atomic_load_cached(&news->more))
          atomic_store(&news->more, 1u);
      }
      return static_cast<std::uint64_t>(count_bits(bits));
    });
    t.once([&] {
      if (mine) atomic_add(&news->taken, mine);
    });
  }
};

// One vertex per lane: neighboring lanes read the starts of neighboring lists, one sector each. A CPU thread processes several vertices
// together and reads all their neighbors before the first union; otherwise it would wait for each read in sequence.
template <class Id, std::uint64_t Together>
struct link_first {
  csr_view<Id> g;
  forest<Id> trees;
  std::uint64_t most;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    if constexpr (Together == 1) {
      if (item >= g.vertices) return;
      span<Id> list = g.list(item);
      list.end = smaller(list.end, list.begin + most);
      t.each(list, [&](Id u) { trees.unite(static_cast<Id>(trees.first + item), u); });
    } else {
      std::uint64_t const first = item * Together, count = smaller(g.vertices - first, Together);
      for (std::uint64_t step = 0; step < most; ++step) {
        Id neighbor[Together];
        for (std::uint64_t k = 0; k < count; ++k) {
          std::uint64_t const v = first + k, i = g.offsets[v] + step;
          neighbor[k] = static_cast<Id>(trees.first + v);
          if (i >= g.offsets[v + 1]) continue;
          t.each(g.arcs({i, i + 1}), [&](Id u) {
            neighbor[k] = u;
            ask_soon(trees.label + u);
          });
        }
        for (std::uint64_t k = 0; k < count; ++k)
          if (auto const v = static_cast<Id>(trees.first + first + k); neighbor[k] != v) trees.unite(v, neighbor[k]);
      }
    }
  }
};

// The same with cached neighbors, from local memory.
template <class Id>
struct link_cached_neighbors {
  cached_neighbors_view cached_neighbors;
  std::uint32_t count;
  forest<Id> trees;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    for (std::uint32_t k = 0; k < count; ++k)
      if (std::uint32_t const u = cached_neighbors.at(v, k); u != cached_neighbors_view::none)
        trees.unite(static_cast<Id>(trees.first + v), static_cast<Id>(u));
  }
};

template <class Id>
struct link_arc {
  static constexpr bool weighted = false;
  std::uint64_t const* offsets;
  forest<Id> trees;
  template <class Team>
  GARNER_HD void operator()(Team const&, frontier_item<Id> const& at, Id u, std::uint64_t arc) const {
    trees.unite(static_cast<Id>(trees.first + at.owner_of(offsets, arc)), u);
  }
};

// For lists in a window of a file: the first edges of each in the window, or all.
template <class Id>
struct link_listed {
  csr_view<Id> g;
  forest<Id> trees;
  indices only;
  std::uint64_t most;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    span<Id> list = clipped(g.list(v), only);
    list.end = smaller(list.end, list.begin + most);
    t.each(list, [&](Id u) { trees.unite(static_cast<Id>(v), u); });
  }
};

// Compresses: every vertex, from `first` on, points to its root. Links must not run concurrently.
template <class Id>
struct flatten {
  Id* label;
  std::uint64_t first;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t item) const {
    std::uint64_t const v = first + item;
    Id const was = atomic_load_cached(label + v);
    Id at = was;
    for (Id up; (up = atomic_load_cached(label + at)) != at;) at = up;
    if (at != was) atomic_store(label + v, at);
  }
};
// The same for the vertices whose bits are set, one word per item.
template <class Id>
struct flatten_marked {
  std::uint32_t const* bits;
  Id* label;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    for (std::uint32_t rest = bits[w]; rest; rest &= rest - 1) flatten<Id>{label, w * 32}(t, static_cast<std::uint64_t>(lowest_bit(rest)));
  }
};

// Compresses the own trees, and sets a bit for each root that another shard owns. Most vertices have one root: its bit is read before.
template <class Id>
struct flatten_and_mark {
  forest<Id> trees;
  std::uint32_t* bits;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    flatten<Id>{trees.label, trees.first}(t, item);
    Id const root = trees.label[trees.first + item];
    if (root >= trees.first && root < trees.last) return;
    std::uint32_t const bit = 1u << root % 32;
    if (!(atomic_load_cached(bits + root / 32) & bit)) atomic_or(bits + root / 32, bit);
  }
};
// For each of these roots the one above it: from shard to shard, each of which knows the parents of its own vertices. A word per item.
template <class Id>
struct climb_others {
  std::uint32_t const* bits;
  peer_table labels;
  Id first_of[shard_parts::most];  // of each shard
  Id* label;
  std::uint64_t* asked;
  std::uint32_t mine;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t w) const {
    std::uint64_t reads = 0;
    for (std::uint32_t rest = bits[w]; rest; rest &= rest - 1) {
      Id const root = static_cast<Id>(w * 32 + static_cast<std::uint64_t>(lowest_bit(rest)));
      Id at = root;
      for (bool higher = true; higher;) {
        std::uint32_t owner = labels.shards - 1;
        while (at < first_of[owner]) --owner;
        Id const up = atomic_load(labels.template row<Id>(owner, at));
        higher = up != at, reads += owner != mine;
        at = up;
      }
      if (at != root) atomic_store(label + root, at);
    }
    if (reads) atomic_add(asked, reads);
  }
};

// The reads of link_first, and its requests in closed form: step by step the sectors that the 32 lanes of a warp do not hold yet.
struct measure_first {
  std::uint64_t const* offsets;
  std::uint64_t vertices, first;
  std::uint32_t id_bytes;
  frontier_size* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    frontier_size const mine = t.sum(indices{b * 32, smaller((vertices + 31) / 32, b * 32 + 32)}, [&](std::uint64_t warp) {
      frontier_size size{};
      for (std::uint64_t step = 0; step < first; ++step) {
        std::uint64_t begin = 0, end = 0;  // adjacent sectors of a line: one request
        for (std::uint64_t v = warp * 32; v < smaller(vertices, warp * 32 + 32); ++v) {
          std::uint64_t const i = offsets[v] + step;
          if (i >= offsets[v + 1]) continue;
          size.vertices += step == 0;
          ++size.edges;
          std::uint64_t const sector = i * id_bytes / 32;
          if ((step && (i - 1) * id_bytes / 32 == sector) || sector < end) continue;
          if (sector != end || sector % 4 == 0) {
            size.asked.add(end - begin, 1);
            begin = sector;
          }
          end = sector + 1;
        }
        size.asked.add(end - begin, 1);
      }
      size.asked.useful = size.edges * id_bytes;
      return size;
    });
    t.once([&] {
      atomic_add(&total->vertices, mine.vertices);
      atomic_add(&total->edges, mine.edges);
      for (int k = 0; k < 4; ++k) atomic_add(&total->asked.requests[k], mine.asked.requests[k]);
      atomic_add(&total->asked.useful, mine.asked.useful);
    });
  }
};

// With several shards: the roots of other shards that were linked here, as bits for their owners.
template <class Id>
class hung_roots {
 public:
  hung_roots(executor& x, shard_seat& at) : x_(x), at_(at), taken_(x.near(), 1, x.device(), "counters") {
    for (buffer<std::uint32_t>& bits : hung_)
      bits = buffer<std::uint32_t>(x.near(), at.alone() ? 0 : frontier<Id>::words_of(at.vertices()), x.device(), "bitmap of hung roots");
  }
  void join(peer_table const& labels) {
    labels_ = labels;
    for (int k : {0, 1}) theirs_[k] = at_.table(x_, hung_[k].data(), hung_[k].size());
  }
  void clear() {
    for (buffer<std::uint32_t>& bits : hung_) x_.fill(bits.data(), 0, bits.bytes());
    turn_ = 0;
  }
  std::uint32_t* written() { return at_.alone() ? nullptr : hung_[turn_].data(); }

  // Unites the shards' trees, until no shard has linked another's root. The other shard's parent of such a root is replaced by the root of
  // its tree. Linking to the original parents turned trees into chains, and climbing took half of the time. Waits. Returns the bytes
  // exchanged.
  std::uint64_t take(forest<Id> trees) {
    std::uint64_t bytes = 0, words = frontier<Id>::words_of(trees.last - trees.first);
    std::uint64_t const blocks = (words + take_hung<Id>::block - 1) / take_hung<Id>::block, first = trees.first;
    for (bool news = !at_.alone(); news;) {
      for_each_item<1>(x_, hung_[turn_].size(), flatten_marked<Id>{hung_[turn_].data(), trees.label});
      shard_seat::turn others(at_, x_);
      peer_table const& bits = theirs_[turn_];
      turn_ ^= 1;
      trees.hung = written();
      x_.fill(hung_[turn_].data(), 0, hung_[turn_].bytes());
      x_.fill(taken_.data(), 0, taken_.bytes());
      for (std::uint32_t k = 0; k < at_.shards(); ++k) {
        if (k == at_.shard()) continue;
        for_each_item<32>(
            x_, blocks,
            take_hung<Id>{bits.row<std::uint32_t>(k, first / 32), labels_.template row<Id>(k, first), trees, words, taken_.data()});
        bytes += words * sizeof(std::uint32_t);
      }
      hung_news const mine = x_.read(taken_.data());
      bytes += mine.taken * sizeof(Id);
      others.close();
      news = at_.sum(mine.more) != 0;
    }
    return bytes;
  }

  // Points each own vertex to the root of all shards' trees, whose parents of own vertices are one forest after take(): only roots that
  // others own are looked up, each once. Waits. Returns the bytes exchanged.
  std::uint64_t settle(forest<Id> trees) {
    std::uint64_t const n = trees.last - trees.first;
    std::uint32_t* const marked = hung_[turn_].data();  // empty: no shard has news
    for_each_item<1>(x_, n, flatten_and_mark<Id>{trees, marked});
    shard_seat::turn others(at_, x_);
    x_.fill(taken_.data(), 0, taken_.bytes());
    climb_others<Id> climb{marked, labels_, {}, trees.label, &taken_.data()->taken, at_.shard()};
    for (std::uint32_t k = 0; k < at_.shards(); ++k) climb.first_of[k] = static_cast<Id>(at_.first(k));
    for_each_item<1>(x_, hung_[turn_].size(), climb);
    for_each_item<1>(x_, n, flatten<Id>{trees.label, trees.first});
    others.close();
    return x_.read(taken_.data()).taken * sizeof(Id);
  }

 private:
  executor& x_;
  shard_seat& at_;
  buffer<std::uint32_t> hung_[2];  // of all vertices; one is written while the other is read
  buffer<hung_news> taken_;
  peer_table labels_, theirs_[2];
  int turn_ = 0;
};

}  // namespace garner::detail

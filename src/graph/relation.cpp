#include "graph/relation.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "graph/record_sorter.hpp"

namespace garner {

namespace {

// Calls f(number of the first, edges) for all edges, by all threads.
template <class F>
void each_edge(edge_source const& edges, F const& f) {
  progress bar("reading edges", edges.count());
  shared_pool().run(edges.count(), 1u << 16, [&](std::uint64_t first, std::uint64_t last) {
    thread_local std::vector<arc> part;
    part.resize(last - first);
    edges.read(first, last - first, part.data());
    for (std::uint64_t i = first; i < last; ++i) f(part[i - first], i);
    bar.advance(last - first);
  });
}

void keep_least(std::atomic<std::uint64_t>& least, std::uint64_t value) {
  for (std::uint64_t now = least.load(std::memory_order_relaxed); value < now;)
    if (least.compare_exchange_weak(now, value, std::memory_order_relaxed)) break;
}
void keep_most(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  for (std::uint64_t now = most.load(std::memory_order_relaxed); value > now;)
    if (most.compare_exchange_weak(now, value, std::memory_order_relaxed)) break;
}

[[noreturn]] void refuse_edge(edge_source const& edges, relation_sizes const& of, std::uint64_t number) {
  arc bad{};
  edges.read(number, 1, &bad);
  edges.check(bad, number);
  bool const source = bad.source >= of.sources;
  std::uint64_t const count = source ? of.sources : of.targets;
  fail(errc::input, "{}: edge {}: {} -> {}: {} {} does not exist; {}", edges.name(), number, bad.source, bad.target,
       source ? of.source_name : of.target_name, source ? bad.source : bad.target,
       count ? fmt::format("of {} they go from 0 to {}", count, count - 1) : "this type is empty");
}

[[noreturn]] void refuse_change(edge_source const& edges) { fail(errc::input, "{}: changed while it was read; do it again", edges.name()); }

// Splitters sampled among the keys divide them into buckets. A table by the highest bits narrows the search for a key's splitters.
class key_buckets {
 public:
  key_buckets(std::vector<std::uint64_t> sample, std::uint64_t count, int key_bits) : shift_(std::max(0, key_bits - table_bits)) {
    std::sort(sample.begin(), sample.end());
    for (std::uint64_t b = 1; b < count; ++b) splitters_.push_back(sample[b * sample.size() / count]);
    for (std::uint64_t slot = 0, at = 0; slot < first_.size(); first_[slot++] = static_cast<std::uint32_t>(at))
      while (at < splitters_.size() && splitters_[at] >> shift_ < slot) ++at;
  }
  std::uint64_t count() const { return splitters_.size() + 1; }
  std::uint64_t of(std::uint64_t key) const {  // number of splitters less than or equal to the key
    std::uint64_t at = first_[key >> shift_], end = first_[(key >> shift_) + 1];
    while (at < end) {
      std::uint64_t const middle = (at + end) / 2;
      if (splitters_[middle] <= key) at = middle + 1;
      else end = middle;
    }
    return at;
  }
  // A lower bound on the keys of this bucket and all later ones.
  std::uint64_t least(std::uint64_t bucket) const { return bucket == 0 ? 0 : splitters_[bucket - 1]; }

 private:
  static constexpr int table_bits = 14;
  int shift_;
  std::vector<std::uint64_t> splitters_;
  std::vector<std::uint32_t> first_ = std::vector<std::uint32_t>((1u << table_bits) + 2);
};

// Keys and optional payload (null: none), sorted, stable, by digits of the difference to the smallest key.
template <class Edge>
struct sorter_of_records {
  std::vector<std::uint64_t> spare_keys;
  std::vector<Edge> spare_edges;

  // On return both point to the sorted data: in the caller's memory, or here until the next call.
  void sort(std::uint64_t*& keys, Edge*& edges, std::uint64_t count) {
    if (std::is_sorted(keys, keys + count)) return;
    auto const [least, most] = std::minmax_element(keys, keys + count);
    std::uint64_t const low = *least;
    int const bits = static_cast<int>(std::bit_width(*most - low)), passes = (bits + 10) / 11, digit = (bits + passes - 1) / passes;
    std::uint64_t const values = std::uint64_t{1} << digit;
    std::vector<std::uint64_t> at(static_cast<std::uint64_t>(passes) * values);
    for (std::uint64_t i = 0; i < count; ++i)
      for (int pass = 0; pass < passes; ++pass)
        ++at[static_cast<std::uint64_t>(pass) * values + ((keys[i] - low) >> pass * digit & (values - 1))];
    spare_keys.resize(std::max<std::uint64_t>(spare_keys.size(), count));
    if (edges) spare_edges.resize(std::max<std::uint64_t>(spare_edges.size(), count));
    std::uint64_t* to = spare_keys.data();
    Edge* to_edges = spare_edges.data();
    for (int pass = 0; pass < passes; ++pass) {
      auto const first = at.begin() + static_cast<std::int64_t>(static_cast<std::uint64_t>(pass) * values);
      if (std::find(first, first + static_cast<std::int64_t>(values), count) != first + static_cast<std::int64_t>(values)) continue;
      std::exclusive_scan(first, first + static_cast<std::int64_t>(values), first, std::uint64_t{0});
      for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t const k = first[static_cast<std::int64_t>((keys[i] - low) >> pass * digit & (values - 1))]++;
        to[k] = keys[i];
        if (edges) to_edges[k] = edges[i];
      }
      std::swap(keys, to);
      if (edges) std::swap(edges, to_edges);
    }
  }
};

// The adjacency being written.
template <class Edge>
struct lists_being_made {
  relation& to;
  Edge* edge_ids;  // null: not requested
  float const* weights;
  int shift;  // a key is owner << shift | neighbor

  void write(std::uint64_t at, std::uint64_t key, std::uint64_t edge) const {
    memory_block const& targets = to.lists.out.targets;
    std::uint64_t const neighbor = key & ((std::uint64_t{1} << shift) - 1);
    if (to.lists.info.id_bytes == 8) static_cast<std::uint64_t*>(targets.data())[at] = neighbor;
    else static_cast<std::uint32_t*>(targets.data())[at] = static_cast<std::uint32_t>(neighbor);
    if (edge_ids) edge_ids[at] = static_cast<Edge>(edge);
    if (weights) static_cast<float*>(to.lists.out.weights.data())[at] = weights[edge];
  }
  // Lists after that of `before`, up to that of `v`, begin at `at`.
  void begin(std::uint64_t before, std::uint64_t v, std::uint64_t at) const {
    while (before != v) to.lists.out.offsets[++before] = at;
  }
};
constexpr std::uint64_t no_vertex = ~std::uint64_t{0};  // before the first

template <class Edge>
relation make(edge_source const& edges, relation_sizes const& of, direction strategy, relation_options const& options) {
  std::uint64_t const n = std::max(of.sources, of.targets), count = edges.count();
  int const shift = static_cast<int>(std::bit_width(n));
  // Calls f(key) for each directed copy of an edge.
  auto const keys_of = [strategy, shift](arc const& e, auto const& f) {
    if (strategy != direction::reversed) f(e.target << shift | e.source);
    if (strategy == direction::reversed || (strategy == direction::both && e.source != e.target)) f(e.source << shift | e.target);
  };
  auto const known = [&](arc const& e) { return e.source < of.sources && e.target < of.targets; };
  thread_pool& threads = shared_pool();
  relation made;
  graph& g = made.lists;
  g.info.vertices = n;
  g.info.id_bytes = options.id_bytes ? options.id_bytes : 4;
  g.info.directed = true;
  g.info.weights = options.weights ? weight_kind::f32 : weight_kind::none;
  g.name = edges.name();
  g.out.offsets = buffer<std::uint64_t>(tier::host, n + 1, -1, "offsets");
  auto const make_room = [&](std::uint64_t arcs) {
    g.info.edges = arcs;
    g.out.targets = memory_block(tier::host, arcs * g.info.id_bytes, -1, "edge list");
    if (options.weights) g.out.weights = memory_block(tier::host, arcs * 4, -1, "weights");
  };

  // --- input already sorted ---
  std::atomic<bool> sorted{strategy != direction::both};
  constexpr std::uint64_t step = 1u << 13;
  // Calls f(number, edge, previous key or no_vertex) in [first, last).
  auto const each_in_turn = [&](std::uint64_t first, std::uint64_t last, auto const& f) {
    std::vector<arc> part(std::min(step, last - first) + 1);
    std::uint64_t before = no_vertex;
    if (first > 0) {
      edges.read(first - 1, 1, part.data());
      if (known(part[0])) keys_of(part[0], [&](std::uint64_t key) { before = key; });
    }
    for (std::uint64_t begin = first; begin < last && sorted.load(std::memory_order_relaxed); begin += step) {
      std::uint64_t const n_read = std::min(step, last - begin);
      edges.read(begin, n_read, part.data());
      for (std::uint64_t i = 0; i < n_read; ++i) {
        std::uint64_t key = no_vertex;
        if (known(part[i])) keys_of(part[i], [&](std::uint64_t k) { key = k; });
        if (key == no_vertex || (begin + i > 0 && key < before)) {
          sorted = false;
          return;
        }
        f(begin + i, key, before);
        before = key;
      }
    }
  };
  if (sorted) threads.run(count, 1u << 16, [&](auto first, auto last) { each_in_turn(first, last, [](auto, auto, auto) {}); });
  if (sorted) {
    make_room(count);
    lists_being_made<Edge> const to{made, nullptr, options.weights, shift};
    std::uint64_t last_of_all = no_vertex;
    threads.run(count, 1u << 16, [&](std::uint64_t first, std::uint64_t last) {
      each_in_turn(first, last, [&](std::uint64_t i, std::uint64_t key, std::uint64_t before) {
        to.begin(before == no_vertex ? before : before >> shift, key >> shift, i);
        to.write(i, key, i);
        if (i + 1 == count) last_of_all = key >> shift;
      });
    });
    if (!sorted) refuse_change(edges);
    made.in_order = true;
    to.begin(last_of_all, n, count);
    return made;
  }

  // --- buckets ---
  bool const carries = options.edge_id_bytes || options.weights;
  std::uint64_t const arcs_at_most = strategy == direction::both ? 2 * count : count;
  std::unique_ptr<record_sorter> const device = sizeof(Edge) == 4 ? record_sorter::at(options.where, arcs_at_most, carries) : nullptr;
  std::uint64_t wanted = std::min<std::uint64_t>(4096, std::bit_ceil(arcs_at_most / (1u << 15) + 1));
  if (device) wanted = device->room() >= arcs_at_most ? 1 : std::min(wanted, std::bit_ceil(16 * (arcs_at_most / device->room() + 1)));
  std::vector<std::uint64_t> sample;
  for (std::uint64_t i = 0; wanted > 1 && i < 16 * wanted; ++i) {
    arc e{};
    edges.read(random_bits(0, 12, i) % count, 1, &e);
    if (known(e)) keys_of(e, [&](std::uint64_t key) { sample.push_back(key); });
  }
  key_buckets const buckets(sample, sample.empty() ? 1 : wanted, 2 * shift);
  std::uint64_t const size = device ? std::max<std::uint64_t>(1, device->part() / threads.threads() / 2)
                                    : std::max<std::uint64_t>(step, count / (threads.threads() * 8)),
                      blocks = (count + size - 1) / size;
  std::vector<std::uint64_t> place(buckets.count() * blocks + 1, 0);  // by bucket, then by block
  std::atomic<std::uint64_t> first_bad{count};
  auto const read_block = [&](std::uint64_t b, auto const& edge) {  // calls edge(number, edge)
    std::vector<arc> part(std::min(step, count));
    for (std::uint64_t first = b * size, last = std::min(count, first + size); first < last; first += step) {
      check_interrupted();
      std::uint64_t const n_read = std::min(step, last - first);
      edges.read(first, n_read, part.data());
      for (std::uint64_t i = 0; i < n_read; ++i) edge(first + i, part[i]);
    }
  };
  auto const each_block = [&](auto const& f) {  // calls f(block)
    progress bar("reading edges", count);
    threads.run(blocks, 1, [&](std::uint64_t b, std::uint64_t) {
      f(b);
      bar.advance(std::min(size, count - b * size));
    });
  };
  bool const counted = buckets.count() > 1 || strategy == direction::both || !device;
  if (!counted)
    for (std::uint64_t b = 0; b <= blocks; ++b) place[b] = std::min(count, b * size);
  else
    each_block([&](std::uint64_t b) {
      std::vector<std::uint64_t> mine(buckets.count(), 0);
      read_block(b, [&](std::uint64_t i, arc const& e) {
        if (!known(e)) return keep_least(first_bad, i);
        keys_of(e, [&](std::uint64_t key) { ++mine[buckets.of(key)]; });
      });
      for (std::uint64_t k = 0; k < mine.size(); ++k) place[k * blocks + b] = mine[k];
    });
  if (first_bad != count) refuse_edge(edges, of, first_bad);
  if (counted) std::exclusive_scan(place.begin(), place.end(), place.begin(), std::uint64_t{0});
  auto const begins = [&](std::uint64_t bucket) { return place[bucket * blocks]; };
  std::uint64_t const arcs = place.back();
  make_room(arcs);
  if constexpr (sizeof(Edge) == 8) made.wide_edge_ids = buffer<Edge>(tier::host, options.edge_id_bytes ? arcs : 0, -1, "edge ids");
  else made.edge_ids = buffer<Edge>(tier::host, options.edge_id_bytes ? arcs : 0, -1, "edge ids");
  Edge* edge_ids = nullptr;
  if constexpr (sizeof(Edge) == 8) edge_ids = made.wide_edge_ids.data();
  else edge_ids = made.edge_ids.data();
  lists_being_made<Edge> const to{made, edge_ids, options.weights, shift};

  // --- some buckets at a time: filled, then sorted together by a device, or each by one thread ---
  std::uint64_t const at_once = device ? device->room() : std::max<std::uint64_t>(1u << 20, arcs * 4 / (carries ? 8 + sizeof(Edge) : 8));
  std::vector<std::uint64_t> pieces{0};
  std::uint64_t room = 0;
  for (std::uint64_t k = 0; k < buckets.count(); pieces.push_back(k)) {
    std::uint64_t const first = k++;
    while (k < buckets.count() && begins(k + 1) - begins(first) <= at_once) ++k;
    room = std::max(room, begins(k) - begins(first));
  }
  std::uint64_t before = no_vertex;  // owner of the last edge written
  if (device && room <= device->room()) {
    for (std::uint64_t piece = 0; piece + 1 < pieces.size(); ++piece) {
      std::uint64_t const first = pieces[piece], last = pieces[piece + 1], base = begins(first);
      std::uint64_t const low = buckets.least(first), high = last == buckets.count() ? no_vertex : buckets.least(last);
      auto const in_block = [&](std::uint64_t b) {
        std::uint64_t sum = 0;
        for (std::uint64_t k = first; k < last; ++k) sum += place[k * blocks + b + 1] - place[k * blocks + b];
        return sum;
      };
      std::uint64_t next = 0;  // next block
      device->sort(
          begins(last) - base, 2 * shift,
          [&](std::uint64_t, std::uint64_t* keys, std::uint32_t* with) {
            std::uint64_t const from = next;
            std::vector<std::uint64_t> begin{0};
            for (; next < blocks && begin.back() + in_block(next) <= device->part(); ++next) begin.push_back(begin.back() + in_block(next));
            threads.run(next - from, 1, [&](std::uint64_t k, std::uint64_t) {
              std::uint64_t at = begin[k];
              read_block(from + k, [&](std::uint64_t i, arc const& e) {
                if (!known(e)) return keep_least(first_bad, i);
                keys_of(e, [&](std::uint64_t key) {
                  if (key < low || key >= high) return;
                  if (at == begin[k + 1]) refuse_change(edges);
                  keys[at] = key;
                  if (carries) with[at] = static_cast<std::uint32_t>(i);
                  ++at;
                });
              });
              if (at != begin[k + 1] && first_bad == count) refuse_change(edges);
            });
            if (first_bad != count) refuse_edge(edges, of, first_bad);
            return begin.back();
          },
          [&](std::uint64_t at, std::uint64_t n, std::uint64_t const* keys, std::uint32_t const* with) {
            threads.run(n, 1u << 16, [&](std::uint64_t i, std::uint64_t end) {
              for (; i < end; ++i) {
                to.begin(i > 0 ? keys[i - 1] >> shift : before, keys[i] >> shift, base + at + i);
                to.write(base + at + i, keys[i], with ? with[i] : 0);
              }
            });
            before = keys[n - 1] >> shift;
          });
    }
    to.begin(before, n, arcs);
    return made;
  }
  buffer<std::uint64_t> keys(tier::host, room, -1, "edges, to sort");
  buffer<Edge> with(tier::host, carries ? room : 0, -1, "edges, to sort");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ends(buckets.count());  // owners of the first and the last key of each bucket
  for (std::uint64_t piece = 0; piece + 1 < pieces.size(); ++piece) {
    std::uint64_t const first = pieces[piece], last = pieces[piece + 1], base = begins(first);
    std::uint64_t const low = buckets.least(first), high = last == buckets.count() ? no_vertex : buckets.least(last);
    each_block([&](std::uint64_t b) {
      std::vector<std::uint64_t> at(last - first), end(last - first);
      for (std::uint64_t k = first; k < last; ++k) at[k - first] = place[k * blocks + b], end[k - first] = place[k * blocks + b + 1];
      read_block(b, [&](std::uint64_t i, arc const& e) {
        if (!known(e)) refuse_change(edges);
        keys_of(e, [&](std::uint64_t key) {
          if (key < low || key >= high) return;
          std::uint64_t const k = buckets.of(key) - first;
          if (at[k] == end[k]) refuse_change(edges);
          std::uint64_t const free = at[k]++ - base;
          keys[free] = key;
          if (carries) with[free] = static_cast<Edge>(i);
        });
      });
      if (at != end) refuse_change(edges);
    });
    phase const timed{"graph.relation.sort"};
    std::atomic<std::uint64_t> next{first};
    threads.run(threads.threads(), 1, [&](std::uint64_t, std::uint64_t) {
      sorter_of_records<Edge> sorter;
      for (std::uint64_t k = next++; k < last; k = next++) {
        check_interrupted();
        std::uint64_t const begin = begins(k), n_keys = begins(k + 1) - begin;
        if (n_keys == 0) continue;
        std::uint64_t* mine = keys.data() + (begin - base);
        Edge* edge = carries ? with.data() + (begin - base) : nullptr;
        sorter.sort(mine, edge, n_keys);
        for (std::uint64_t i = 0; i < n_keys; ++i) {
          if (i > 0) to.begin(mine[i - 1] >> shift, mine[i] >> shift, begin + i);
          to.write(begin + i, mine[i], edge ? edge[i] : 0);
        }
        ends[k] = {mine[0] >> shift, mine[n_keys - 1] >> shift};
      }
    });
  }
  for (std::uint64_t k = 0; k < buckets.count(); ++k) {
    if (begins(k + 1) == begins(k)) continue;
    to.begin(before, ends[k].first, begins(k));
    before = ends[k].second;
  }
  to.begin(before, n, arcs);
  return made;
}

}  // namespace

relation make_relation(edge_source const& edges, relation_sizes const& of, direction strategy, relation_options const& options) {
  phase const timed{"graph.relation"};
  if (std::max(of.sources, of.targets) >= 0xffffffffull)
    fail(errc::input, "{}: {} {} and {} {}: more than the 2^32 - 2 that can be built", edges.name(), of.sources, of.source_name, of.targets,
         of.target_name);
  bool const wide = options.edge_id_bytes ? options.edge_id_bytes == 8 : options.weights && edges.count() >> 32;
  if (edges.count() >> 32 && options.edge_id_bytes == 4)
    fail(errc::input, "{}: {} edges are more than the 2^32 of an edge type; give them as two relations", edges.name(), edges.count());
  if (options.id_bytes != 0 && options.id_bytes != 4 && options.id_bytes != 8)
    fail(errc::usage, "id bytes {}: use 4 or 8", options.id_bytes);
  return wide ? make<std::uint64_t>(edges, of, strategy, options) : make<std::uint32_t>(edges, of, strategy, options);
}

std::pair<std::uint64_t, std::uint64_t> largest_ends(edge_source const& edges) {
  std::atomic<std::uint64_t> source{0}, target{0}, first_bad{edges.count()};
  each_edge(edges, [&](arc const& e, std::uint64_t i) {
    if (std::max(e.source, e.target) >> 63) return keep_least(first_bad, i);
    keep_most(source, e.source + 1), keep_most(target, e.target + 1);
  });
  if (first_bad != edges.count()) refuse_edge(edges, {"vertex", "vertex", std::uint64_t{1} << 63, std::uint64_t{1} << 63}, first_bad);
  return {source, target};
}

}  // namespace garner

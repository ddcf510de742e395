// Cuts out a part of a graph, or builds it from arrays, and the sampler over parts. Its two sides are both the sampler of blocks
// (sample/blocks.hpp): one over the lists of the part, one over lists owned by others. A part is an internal graph whose
// vertices count from 0 and whose targets are positions among all vertices. Its lists are in the order of the whole graph. If
// that is reordered, a part keeps the names of its vertices: random numbers are keyed by that name and the positions in its
// list.
// Cost of cutting: one pass over the offsets and one over the part's lists; 8 bytes per vertex of the part more if the graph is
// reordered (4 per edge if edges are named), and temporarily 4 or 8 bytes per vertex of the whole graph.
#include "garner/shards.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/executor.hpp"
#include "core/packed.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "garner/memory.hpp"
#include "graph/handle.hpp"
#include "graph/list_windows.hpp"
#include "graph/ranks.hpp"
#include "sample/blocks.hpp"
#include "sample/lists.hpp"
#include "sample/split_stages.hpp"

namespace garner {

using detail::there;

struct graph_part::parts {
  graph_handle lists;
  std::uint64_t first = 0, all_vertices = 0, all_edges = 0, first_edge = 0;
  std::vector<std::uint64_t> names = {};  // of a reordered graph; else empty
  std::uint64_t digest = 0;
};

namespace {

// Entries of the whole graph's lists, and their destination.
struct piece {
  std::uint64_t begin, end, to;
};

constexpr std::uint64_t a_piece = 1 << 16;  // entries; longer lists are cut, so that they fit a window of a file

void add_pieces(std::vector<piece>& all, std::uint64_t begin, std::uint64_t end, std::uint64_t to) {
  for (; begin < end; begin += a_piece, to += a_piece) all.push_back({begin, std::min(end, begin + a_piece), to});
}

// Element by element, from plain or compressed arrays that the host reads.
template <class T>
void copy_piece(arc_array<T> const& from, piece const& p, T* to) {
  if (from.packed)
    each_in_turn(from.packed, p.begin, p.end, [&](std::uint32_t value, std::uint64_t i) {
      to[p.to + (i - p.begin)] = static_cast<T>(value);
      return false;
    });
  else std::copy(from.data + p.begin, from.data + p.end, to + p.to);
}
template <class Id>
void copy_pieces(csr_view<Id> const& from, std::span<piece const> pieces, Id* targets, std::uint32_t* weights) {
  shared_pool().run(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k) {
      copy_piece(from.targets, pieces[k], targets);
      if (weights) copy_piece(from.weights, pieces[k], weights);
    }
  });
}

// Where each part begins, by position.
std::vector<std::uint64_t> parts_of(graph const& g, edge_lists const& lists, std::uint32_t parts, shard_balance balance) {
  if (parts == 0) fail(errc::usage, "a graph in 0 parts; use 1 or more");
  std::uint64_t const n = g.info.vertices, edges = lists.offsets.empty() ? 0 : lists.offsets[n];
  std::vector<std::uint64_t> begins(parts + 1, n);
  begins[0] = 0;
  __extension__ using wide = unsigned __int128;
  auto const share = [&](std::uint64_t all, std::uint32_t k) { return static_cast<std::uint64_t>(static_cast<wide>(all) * k / parts); };
  if (balance == shard_balance::vertices || edges == 0) {
    for (std::uint32_t k = 1; k < parts; ++k) begins[k] = share(n, k);
    return begins;
  }
  std::uint64_t so_far = 0, v = 0;
  for (std::uint32_t k = 1; k < parts; ++k) {
    for (; v < n && so_far < share(edges, k); ++v) {
      std::uint64_t const inside = g.at_rank(v);
      so_far += lists.offsets[inside + 1] - lists.offsets[inside];
    }
    begins[k] = v;
  }
  return begins;
}

// Sizes, lengths of lists and order: these are in memory, whatever tier holds the edges.
std::uint64_t digest_of(graph const& g, edge_lists const& lists) {
  std::vector<std::uint64_t> sums{g.info.vertices, g.info.edges, g.info.id_bytes, static_cast<std::uint64_t>(g.info.weights),
                                  static_cast<std::uint64_t>(g.info.order)};
  constexpr std::uint64_t block = 1 << 20;
  auto const add = [&](void const* data, std::uint64_t bytes) {
    std::size_t const before = sums.size();
    sums.resize(before + (bytes + block - 1) / block);
    shared_pool().run(sums.size() - before, 1, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k)
        sums[before + k] = XXH3_64bits(static_cast<std::byte const*>(data) + k * block, std::min(block, bytes - k * block));
    });
  };
  add(lists.offsets.data(), lists.offsets.bytes());
  add(g.by_id.data(), g.by_id.bytes());
  return XXH3_64bits(sums.data(), sums.size() * 8);
}

// The lists of positions [first, last).
graph_part::parts cut(graph_handle const& handle, edge_lists const& lists, edge_direction side, std::uint64_t first, std::uint64_t last,
                      bool weights) {
  graph const& g = graph_access::of(handle);
  std::uint64_t const count = last - first;
  bool const renamed = g.by_id.bytes() != 0;
  graph part;
  part.name = g.name;
  part.info.vertices = count, part.info.id_bytes = g.info.id_bytes, part.info.directed = true;
  part.info.weights = weights ? g.info.weights : weight_kind::none;
  part.out.offsets = buffer<std::uint64_t>(tier::host, count + 1, -1, "offsets of a part");
  std::vector<std::uint64_t> names;
  std::vector<piece> pieces;
  std::uint64_t* const offsets = part.out.offsets.data();
  offsets[0] = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    std::uint64_t const v = g.at_rank(first + k), begin = g.info.edges ? lists.offsets[v] : 0,
                        end = g.info.edges ? lists.offsets[v + 1] : 0;
    offsets[k + 1] = offsets[k] + (end - begin);
    if (renamed) names.push_back(v), add_pieces(pieces, begin, end, offsets[k]);
  }
  std::uint64_t const edges = part.info.edges = offsets[count];
  std::uint64_t first_edge = g.info.edges && !renamed ? lists.offsets[first] : 0;
  for (std::uint64_t k = 0; renamed && g.info.edges && k < first; ++k)
    first_edge += lists.offsets[g.at_rank(k) + 1] - lists.offsets[g.at_rank(k)];
  if (!renamed) add_pieces(pieces, first_edge, first_edge + edges, 0);
  std::sort(pieces.begin(), pieces.end(), [](piece const& a, piece const& b) { return a.begin < b.begin; });
  auto const copy = [&](auto id) {
    using Id = decltype(id);
    auto* const to = static_cast<Id*>(part.out.targets.data());
    auto* const weights_to = static_cast<std::uint32_t*>(part.out.weights.data());
    memory_block const& there = lists.packed_targets.empty() ? lists.targets : lists.packed_targets.words;
    if (g.in_file) {
      executor x({});
      list_windows windows(x, g);
      windows.each(
          lists, {true, weights, true}, pieces.size(),
          [&](std::uint64_t k) {
            return indices{pieces[k].begin, pieces[k].end};
          },
          [&](list_window const& w) {
            copy_pieces(w.over(g.bare_view<Id>(lists)), std::span<piece const>(pieces).subspan(w.first, w.last - w.first), to, weights_to);
          });
    } else if (in_device_memory(there.where())) {  // all of them come home for a while
      adjacency_arrays const home = lists_inside(handle, side == edge_direction::in);
      csr_view<Id> v;
      v.targets.data = static_cast<Id const*>(home.targets), v.weights.data = static_cast<std::uint32_t const*>(home.weights);
      copy_pieces(v, std::span<piece const>(pieces), to, weights_to);
    } else {
      copy_pieces(g.view<Id>(lists), std::span<piece const>(pieces), to, weights_to);
    }
    if (!renamed) return;
    std::vector<Id> const ranks = ranks_inside<Id>(g);
    shared_pool().run(edges, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) to[i] = ranks[to[i]];
    });
  };
  if (edges) {
    part.out.targets = memory_block(tier::host, edges * g.info.id_bytes, -1, "lists of a part");
    if (weights) part.out.weights = memory_block(tier::host, edges * 4, -1, "weights of a part");
    with_id_type(g.info, copy);
  }
  return {graph_access::wrap(std::move(part)), first, g.info.vertices, g.info.edges, first_edge, std::move(names), digest_of(g, lists)};
}

graph part_of_arrays(graph_part::arrays const& a) {
  if (a.offsets.empty() || a.offsets.front() != 0 || a.offsets.back() != static_cast<std::int64_t>(a.targets.size()))
    fail(errc::input, "offsets of a part: from {} to {} for {} targets; give one more than there are vertices, from 0 to all targets",
         a.offsets.empty() ? 0 : a.offsets.front(), a.offsets.empty() ? 0 : a.offsets.back(), a.targets.size());
  std::uint64_t const count = a.offsets.size() - 1, edges = a.targets.size();
  if (a.first + count > a.vertices || a.first_edge + edges > a.edges)
    fail(errc::usage, "a part of vertices {} to {} and {} edges behind {}, of {} vertices and {} edges in all", a.first, a.first + count,
         edges, a.first_edge, a.vertices, a.edges);
  if (!a.weights.empty() && a.weights.size() != edges)
    fail(errc::usage, "{} weights for {} edges of a part; give each one", a.weights.size(), edges);
  graph part;
  part.name = "part";
  part.info.vertices = count, part.info.edges = edges, part.info.directed = true;
  part.info.id_bytes = a.vertices > 0xffffffffu ? 8 : 4;
  part.out.offsets = buffer<std::uint64_t>(tier::host, count + 1, -1, "offsets of a part");
  for (std::uint64_t k = 0; k <= count; ++k) {
    if (k && a.offsets[k] < a.offsets[k - 1])
      fail(errc::input, "offset {} of a part is {}, behind {}; they never go down", k, a.offsets[k], a.offsets[k - 1]);
    part.out.offsets[k] = static_cast<std::uint64_t>(a.offsets[k]);
  }
  if (edges == 0) return part;
  part.out.targets = memory_block(tier::host, edges * part.info.id_bytes, -1, "lists of a part");
  with_id_type(part.info, [&](auto id) {
    auto* const to = static_cast<decltype(id)*>(part.out.targets.data());
    shared_pool().run(edges, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (static_cast<std::uint64_t>(a.targets[i]) >= a.vertices)
          fail_id("target {} at {} of a part: there are vertices 0 to {}", a.targets[i], i, a.vertices - 1);
        to[i] = static_cast<decltype(id)>(a.targets[i]);
      }
    });
  });
  if (a.weights.empty()) return part;
  part.info.weights = weight_kind::f32;
  part.out.weights = memory_block(tier::host, edges * 4, -1, "weights of a part");
  for (std::uint64_t i = 0; i < edges; ++i) {
    float const w = a.weights[i] + 0.0f;  // -0 becomes 0
    if (!(w >= 0) || !std::isfinite(w)) fail(errc::input, "weight {} of a part is {}; weights are 0 or more, and finite", i, w);
    std::memcpy(static_cast<float*>(part.out.weights.data()) + i, &w, sizeof w);
  }
  return part;
}

}  // namespace

graph_part::graph_part(graph_handle const& handle, std::uint32_t part, std::uint32_t of, part_options const& o)
    : parts_(as_error([&] {
        graph const& g = graph_access::of(handle);
        edge_lists const& lists = lists_of_side(g, o.side);
        if (o.weights && g.info.weights == weight_kind::none && g.info.edges)
          fail(errc::input, "{}: sampling by weights, and this graph has none; build it with weights, or use weighted = false", g.name);
        std::vector<std::uint64_t> const begins = parts_of(g, lists, of, o.balance);
        if (part >= of) fail(errc::usage, "part {} of {}: parts count from 0", part, of);
        bool const weights = o.weights && g.info.weights != weight_kind::none;
        return std::make_shared<graph_part::parts>(cut(handle, lists, o.side, begins[part], begins[part + 1], weights));
      })) {}
graph_part::graph_part(arrays const& a)
    : parts_(as_error([&] {
        return std::make_shared<graph_part::parts>(
            graph_part::parts{graph_access::wrap(part_of_arrays(a)), a.first, a.vertices, a.edges, a.first_edge});
      })) {}
graph_part::~graph_part() = default;
graph_part::graph_part(graph_part&&) noexcept = default;
graph_part& graph_part::operator=(graph_part&&) noexcept = default;
shard_part graph_part::part() const {
  parts const& p = there(parts_);
  return {p.first, p.lists.info().vertices, p.lists.info().edges};
}
std::uint64_t graph_part::all_vertices() const { return there(parts_).all_vertices; }
std::uint64_t graph_part::all_edges() const { return there(parts_).all_edges; }
std::uint64_t graph_part::digest() const { return there(parts_).digest; }
std::uint64_t graph_part::bytes() const {
  parts const& p = there(parts_);
  edge_lists const& l = graph_access::of(p.lists).out;
  return l.offsets.bytes() + l.near_offsets.bytes() + l.targets.bytes() + l.weights.bytes() + p.names.size() * 8;
}
void graph_part::to_device(execution_device where, std::optional<tier> edges) {
  there(parts_);
  if (parts_.use_count() > 1) fail(errc::usage, "this part has samplers; bring it elsewhere before samplers are made of it");
  parts_->lists = garner::to_device(std::move(parts_->lists), where, edges);
}

// Both sides. The outline of the whole graph has its sizes, without lists.
struct split_sampler::parts {
  std::shared_ptr<graph_part::parts const> part;
  graph outline;
  buffer<std::uint32_t> places;  // of each entry in its list, by its target's position; empty: as they stand
  std::optional<block_sampler::parts> owner, maker;
  std::vector<sampled_subgraph> made;
  bool edge_ids;
};

namespace {

void require_split(block_options const& o) {
  char const* const other = o.rule != hop_rule::last ? "rule all"
                            : o.disjoint             ? "disjoint trees"
                            : o.temporal             ? "temporal sampling"
                            : o.induced              ? "the induced subgraph"
                            : o.graph_cache          ? "a graph cache"
                                                     : nullptr;
  if (other) fail(errc::usage, "{}: not over a graph that is split by vertices; leave it out, or open the whole graph", other);
  require_options(o);
}

}  // namespace

split_sampler::split_sampler(execution_device where, graph_part const& part, std::vector<std::int64_t> fanouts,
                             block_options const& options)
    : parts_(as_error([&] {
        require_split(options);
        require_fanouts(fanouts, fanouts.size());
        graph_part::parts const& of = there(part.inside());
        graph const& lists = graph_access::of(of.lists);
        require_readable(lists, where, options.adjacency);
        if (options.weighted && lists.info.weights == weight_kind::none && lists.info.edges)
          fail(errc::input, "{}: sampling by weights, and this part has none; make it with weights", lists.name);
        if (where.kind == device_kind::cuda) self_test(where.index);
        auto p = std::make_unique<parts>();
        p->part = part.inside(), p->edge_ids = options.edge_ids;
        p->outline.name = lists.name;
        p->outline.info.vertices = of.all_vertices, p->outline.info.edges = of.all_edges, p->outline.info.id_bytes = lists.info.id_bytes;
        inner_relation own{&lists, &lists.out, 1, 0, fanouts, {}};
        own.names = of.names;
        if (options.edge_ids && !of.names.empty() && lists.info.edges) {
          p->places = {tier::host, lists.info.edges, -1, "order of edges"};
          adjacency_arrays const home = lists_inside(of.lists, false);
          with_id_type(lists.info, [&](auto id) {
            auto const* const targets = static_cast<decltype(id) const*>(home.targets);
            each_entry_by_rank(
                home.offsets, lists.info.vertices, [&](std::uint64_t i) { return targets[i]; },
                [&](std::uint64_t, std::uint64_t i, std::uint64_t place) { p->places[i] = static_cast<std::uint32_t>(place); });
          });
          own.places = p->places.span();
        }
        own.first_name = of.first, own.first_edge = of.first_edge;
        p->owner.emplace(where, std::vector<sampled_type>{{lists.info.vertices}, {of.all_vertices}}, std::vector<inner_relation>{own},
                         options, false);
        inner_relation all{&p->outline, &p->outline.out, 0, 0, std::move(fanouts), {}};
        all.elsewhere = true;
        block_options made = options;
        made.weighted = made.labor = false;  // what is left to do looks at no list
        p->maker.emplace(where, std::vector<sampled_type>{{of.all_vertices}}, std::vector<inner_relation>{all}, made, false);
        p->maker->fingerprint =
            mix(p->maker->fingerprint ^ (options.weighted ? 1 : 0) ^ (options.edge_ids ? 2 : 0) ^ (options.labor ? 4 : 0));
        return p;
      })) {}
split_sampler::~split_sampler() = default;
split_sampler::split_sampler(split_sampler&&) noexcept = default;
split_sampler& split_sampler::operator=(split_sampler&&) noexcept = default;

sampling_response split_sampler::sample(std::uint64_t number, std::uint32_t hop, std::span<std::int64_t const> vertices,
                                        std::span<std::uint32_t const> batches) {
  return as_error([&] {
    std::uint64_t const first = parts_->part->first, count = parts_->part->lists.info().vertices;
    if (vertices.size() != batches.size())
      fail(errc::usage, "{} mini-batches for {} requested vertices; pass one per vertex", batches.size(), vertices.size());
    std::vector<std::int64_t> own(vertices.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = vertices[i] - static_cast<std::int64_t>(first);
      if (static_cast<std::uint64_t>(own[i]) >= count)
        fail_id("vertex {} is requested: this part has {} from {} on", vertices[i], count, first);
    }
    return parts_->owner->split().draw(number, hop, own, batches);
  });
}
void split_sampler::begin(std::uint64_t number, std::vector<std::span<std::int64_t const>> const& seeds,
                          std::vector<sampled_subgraph> into) {
  as_error([&] {
    parts& p = *parts_;
    if (seeds.empty() || seeds.size() > max_batches || into.size() != seeds.size())
      fail(errc::usage, "{} mini-batches together; use 1 to {}", seeds.size(), max_batches);
    std::uint64_t const n = p.part->all_vertices;
    for (std::size_t k = 0; k < seeds.size(); ++k)
      for (std::size_t i = 0; i < seeds[k].size(); ++i)
        if (static_cast<std::uint64_t>(seeds[k][i]) >= n)
          fail_id("seed {} at position {} of mini-batch {}: there are vertices 0 to {}", seeds[k][i], i, number + k, n - 1);
    p.made = std::move(into);
    std::vector<sampled_subgraph::parts*> all;
    for (std::size_t k = 0; k < seeds.size(); ++k) {
      typed_seeds const one{0, seeds[k], {}};
      p.maker->prepare(p.made[k].inside(), number + k, {&one, 1}, false);
      all.push_back(&p.made[k].inside());
    }
    p.maker->split().begin(all);
  });
}
sampling_request const& split_sampler::request() const { return parts_->maker->split().asks(); }
void split_sampler::complete(sampling_response came) {
  as_error([&] {
    parts& p = *parts_;
    sampling_request const& asked = p.maker->split().asks();
    if (!asked.more) fail(errc::usage, "no hop is to be drawn; begin() mini-batches first");
    std::uint64_t const drawn = std::accumulate(came.counts.begin(), came.counts.end(), std::uint64_t{0});
    if (came.counts.size() != asked.vertices.size() || came.neighbors.size() != drawn ||
        came.edges.size() != (p.edge_ids ? came.neighbors.size() : 0))
      fail(errc::input, "{} counts, {} neighbors and {} edges came for {} vertices with {} sampled neighbors", came.counts.size(),
           came.neighbors.size(), came.edges.size(), asked.vertices.size(), drawn);
    std::uint64_t const n = p.part->all_vertices;
    for (std::int64_t const v : came.neighbors)
      if (static_cast<std::uint64_t>(v) >= n) fail(errc::input, "neighbor {} came: there are vertices 0 to {}", v, n - 1);
    p.maker->split().take(std::move(came));
  });
}
std::vector<sampled_subgraph> split_sampler::finish() {
  return as_error([&] {
    parts& p = *parts_;
    if (p.maker->split().asks().more)
      fail(errc::usage, "hop {} is still to be drawn; take() what came for it", p.maker->split().asks().hop);
    for (sampled_subgraph& b : p.made) p.maker->finish(b.inside());
    return std::move(p.made);
  });
}
execution_device split_sampler::device() const { return parts_->maker->at().where(); }
std::uint64_t split_sampler::bytes() const { return parts_->owner->bytes() + parts_->maker->bytes(); }
std::uint64_t split_sampler::fingerprint() const { return parts_->maker->fingerprint; }

}  // namespace garner

// Local numbers of the vertices that a hop reached, in the order in which they are first sampled, and edges by these. Names of edges; and
// how a hop differs if other processes own the adjacency.
#pragma once
#include "sample/kernels/hop_state.hpp"

namespace garner::drawing {

struct mark_first : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    first[i] = !c[map.over] && places.place[entry_of(i)] == static_cast<std::uint32_t>(base() + i);
  }
};
// An item a mini-batch.
struct open_vertices : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t b) const {
    if (c[map.over]) return;
    std::uint64_t* const mine = of(b);
    std::uint64_t const items = c[map.items], begin = mine[map.first_item], end = b + 1 < batches ? of(b + 1)[map.first_item] : items;
    std::uint64_t const all_of_them = mine[map.count(from)] + rank[end] - rank[begin];
    mine[map.first_rank] = rank[begin];
    mine[map.need_vertices(from)] = larger(mine[map.need_vertices(from)], all_of_them);
    // The next read of `over` finds the same value, whichever thread set it first.
    if (all_of_them > room_vertices) atomic_store(c + map.over, std::uint64_t{2} + hop * map.relations + relation);
  }
};
struct take_place : hop_of_relation {
  outputs to_batches[most_together];
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (std::uint64_t const over = c[map.over]) {  // memory does not suffice: as if they had not been sampled
      if (places.keys || over != 2 + hop * map.relations + relation) return;
      std::uint32_t* const entry = places.place + entry_of(i);
      if (atomic_load(entry) >= base()) atomic_store(entry, none);
      return;
    }
    if (!first[i]) return;
    std::uint64_t const batch = batch_of_edge(i), number = base() + rank[i];
    std::uint64_t const* const mine = of(batch);
    std::uint64_t const local = mine[map.count(from)] + rank[i] - mine[map.first_rank];
    std::int64_t const v = from_ids[number] = vertex_of(i);
    if (from_batch) from_batch[number] = static_cast<std::uint32_t>(batch), to_batches[batch].ids[local] = v;
    if (from_tree) from_tree[number] = static_cast<std::uint32_t>(tree_of(static_cast<std::uint64_t>(col[i])));
    places.place[entry_of(i)] = static_cast<std::uint32_t>(local);
  }
};
struct number_edges : hop_of_relation {
  outputs to_batches[most_together];
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const batch = batch_of_edge(i);
    outputs const& out = to_batches[batch];
    std::uint64_t const* const mine = of(batch);
    std::uint64_t const k = mine[map.edges(relation)] + i - mine[map.first_item];
    if (out.row) {
      out.row[k] = places.place[entry_of(i)];
      out.col[k] = col[i] - static_cast<std::int64_t>(mine[map.segment(to)]) + static_cast<std::int64_t>(mine[map.local(to)]);
    }
    if (out.edge) out.edge[k] = edge[i];
  }
};
// An item a mini-batch.
struct end_relation : hop_of_relation {
  bool counts_vertices, drops_edges;  // the induced subgraph keeps no sampled edges
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t b) const {
    if (c[map.over]) return;
    std::uint64_t* const mine = of(b);
    std::uint64_t const items = c[map.items], end = b + 1 < batches ? of(b + 1)[map.first_item] : items;
    std::uint64_t const n = end - mine[map.first_item];
    if (!drops_edges) mine[map.edges(relation)] += n;
    mine[map.drawn] += n;
    if (!counts_vertices) return;
    mine[map.count(from)] += rank[end] - rank[mine[map.first_item]];
    if (batches > 1) mine[map.next_segment(from)] = base() + mine[map.first_rank];
  }
};
struct end_hop : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    if (!c[map.over]) c[map.total(from)] += rank[c[map.items]];
  }
};

// --- names of edges ---
// By position in the adjacency of the whole graph, in the order of the user's ids.
struct name_edges : hop_of_relation {
  std::uint64_t const* begins;  // where the list of each vertex begins there, behind first_edge others; null: as here
  std::uint32_t const* places;  // remote: position of each entry in its original list; null: the order is the same
  std::uint64_t first_edge;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    auto const e = static_cast<std::uint64_t>(edge[i]);
    if (!places) {
      edge[i] = static_cast<std::int64_t>(first_edge + e);
      return;
    }
    std::uint64_t const begin = first_edge + (begins ? begins : offsets)[to_ids[col[i]]];
    t.each(known<false>(span<std::uint32_t>{places, e, e + 1}),
           [&](std::uint32_t place) { edge[i] = static_cast<std::int64_t>(begin + place); });
  }
};

// --- adjacency owned by other processes ---
// At the owner, after sampling: edges of each vertex, where some were left out.
struct count_sifted : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    drawn[i] = static_cast<std::uint32_t>(rank[at[i + 1]] - rank[at[i]]);
  }
};
// At the requesting process: drawn[] and row[] arrived. Finds the vertex of each edge, and the first edge of each neighbor.
struct take_drawn : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    auto const target = static_cast<std::int64_t>(first_drawing() + i);
    t.each(indices{at[i], at[i + 1]}, [&](std::uint64_t k) { col[k] = target; });
  }
};
struct reach_drawn : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    reach(i, static_cast<std::uint64_t>(row[i]), tree_of(static_cast<std::uint64_t>(col[i])), batch_of_edge(i));
  }
};

}  // namespace garner::drawing

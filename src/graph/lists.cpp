// Public API: adjacency as arrays, zero-copy or copied into the order of the user's ids. Cost: nothing, or a pass over the adjacency and as
// much host memory as it takes uncompressed; a reordered graph is sorted list by list.
#include <xxhash.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/executor.hpp"
#include "core/thread_pool.hpp"
#include "graph/handle.hpp"
#include "graph/list_windows.hpp"
#include "graph/pack.hpp"
#include "graph/ranks.hpp"

namespace garner {

namespace {

struct copies {
  memory_block offsets, targets, weights;
};

// Loads one whole array of adjacency that stays in its file.
void bring_home(graph const& g, edge_lists const& lists, bool weights, memory_block& to) {
  executor x({});
  list_windows windows(x, g);
  auto const copy = [&](auto const& array, auto* at, indices arcs) {
    if (array.packed)
      each_in_turn(array.packed, arcs.begin, arcs.end, [&](std::uint32_t v, std::uint64_t i) {
        at[i] = static_cast<std::remove_pointer_t<decltype(at)>>(v);
        return false;
      });
    else std::copy(array.data + arcs.begin, array.data + arcs.end, at + arcs.begin);
  };
  to = memory_block(tier::host, g.info.edges * (weights ? 4 : g.info.id_bytes), -1, "lists, as arrays");
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    windows.each_arc(lists, {!weights, weights, true}, [&](list_window const& w, indices arcs, indices) {
      csr_view<Id> const v = w.over(g.bare_view<Id>(lists));
      if (weights) copy(v.weights, static_cast<std::uint32_t*>(to.data()), arcs);
      else copy(v.targets, static_cast<Id*>(to.data()), arcs);
    });
  });
}

bool by_host(memory_block const& b) { return b.bytes() == 0 || !in_device_memory(b.where()); }

// An array of the adjacency, plain and in host memory: the original, or its copy in `spare`.
void const* plain(memory_block const& there, packed_array const& packed, std::uint64_t edges, std::uint32_t each, memory_block& spare) {
  if (there.bytes() && by_host(there)) return there.data();
  if (!there.bytes() && packed.empty()) return nullptr;
  spare = memory_block(tier::host, edges * each, -1, "lists, as arrays");
  auto const bring = [](memory_block const& from, void* to) {
    executor x(in_device_memory(from.where()) ? execution_device{device_kind::cuda, from.device()} : execution_device{});
    x.copy(to, from.data(), from.bytes());
    x.wait();
  };
  if (there.bytes()) {
    bring(there, spare.data());
    return spare.data();
  }
  auto* const words = static_cast<std::uint32_t*>(spare.data());  // compressed ids are 4 bytes wide
  if (by_host(packed.words)) {
    unpack_values(packed, edges, words);
    return words;
  }
  packed_array near;  // decompressed by the host
  near.words = memory_block(tier::host, packed.words.bytes(), -1, "compressed adjacency");
  bring(packed.words, near.words.data());
  near.blocks = buffer<std::uint32_t>(tier::host, packed.blocks.size(), -1, "directory of compressed adjacency");
  near.groups = buffer<std::uint64_t>(tier::host, packed.groups.size(), -1, "directory of compressed adjacency");
  std::copy_n(packed.blocks.data(), packed.blocks.size(), near.blocks.data());
  std::copy_n(packed.groups.data(), packed.groups.size(), near.groups.data());
  unpack_values(near, edges, words);
  return words;
}

// Where each internal vertex's list begins in the order of user ids; `to`: the offsets in that order.
void begins_by_rank(graph const& g, edge_lists const& of, std::uint64_t* begins, std::uint64_t* to) {
  std::uint64_t at = 0;
  for (std::uint64_t r = 0; r < g.info.vertices; ++r) {
    std::uint64_t const v = g.at_rank(r);
    begins[v] = at;
    if (to) to[r] = at;
    at += of.offsets[v + 1] - of.offsets[v];
  }
  if (to) to[g.info.vertices] = at;
}
// From internal order to the order of user ids.
template <class Id>
void by_rank(graph const& g, edge_lists const& of, Id const* targets, std::uint32_t const* weights, copies& to) {
  std::vector<Id> const rank = ranks_inside<Id>(g);
  std::vector<std::uint64_t> begins(g.info.vertices);
  begins_by_rank(g, of, begins.data(), static_cast<std::uint64_t*>(to.offsets.data()));
  each_entry_by_rank(
      of.offsets.data(), g.info.vertices, [&](std::uint64_t i) { return rank[targets[i]]; },
      [&](std::uint64_t v, std::uint64_t i, std::uint64_t place) {
        static_cast<Id*>(to.targets.data())[begins[v] + place] = rank[targets[i]];
        if (weights) static_cast<std::uint32_t*>(to.weights.data())[begins[v] + place] = weights[i];
      });
}

}  // namespace

adjacency_arrays lists_inside(graph_handle const& handle, bool in) {
  return as_error([&] {
    graph const& g = graph_access::of(handle);
    if (in && g.info.directed && g.info.edges && !g.info.in_edges)
      fail(errc::input, "{}: this directed graph has no in-edges; open it with its in-edges, which builds them", g.name);
    edge_lists const& of = in && g.info.in_edges ? g.in : g.out;
    std::uint64_t const m = g.info.edges;
    auto const made = std::make_shared<copies>();
    if (g.in_file) {
      bring_home(g, of, false, made->targets);
      if (g.info.weights != weight_kind::none) bring_home(g, of, true, made->weights);
    }
    return adjacency_arrays{of.offsets.data(),
                            g.in_file ? made->targets.data() : plain(of.targets, of.packed_targets, m, g.info.id_bytes, made->targets),
                            g.in_file ? made->weights.data() : plain(of.weights, of.packed_weights, m, 4, made->weights),
                            false,
                            made->targets.bytes() > 0,
                            made->weights.bytes() > 0,
                            made};
  });
}

std::uint64_t digest_of(graph_handle const& handle) {
  return as_error([&] {
    graph_info const& info = handle.info();
    std::vector<std::uint64_t> sums{info.vertices, info.edges,    info.id_bytes, static_cast<std::uint64_t>(info.weights),
                                    info.directed, info.in_edges, info.id_base,  static_cast<std::uint64_t>(info.order)};
    auto const add = [&](void const* data, std::uint64_t bytes) {
      constexpr std::uint64_t block = 1 << 20;
      std::size_t const before = sums.size();
      std::uint64_t const blocks = (bytes + block - 1) / block;
      sums.resize(before + blocks);
      shared_pool().run(blocks, 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t k = begin; k < end; ++k)
          sums[before + k] = XXH3_64bits(static_cast<std::byte const*>(data) + k * block, std::min(block, bytes - k * block));
      });
    };
    for (bool const in : {false, true}) {
      if (in && !(info.directed && info.in_edges)) continue;
      adjacency_arrays const lists = lists_inside(handle, in);
      add(lists.offsets, (info.vertices + 1) * 8);
      add(lists.targets, info.edges * info.id_bytes);
      if (lists.weights) add(lists.weights, info.edges * 4);
    }
    if (info.id_map) {
      std::vector<std::uint64_t> const ids = handle.ids();
      add(ids.data(), ids.size() * 8);
    }
    return XXH3_64bits(sums.data(), sums.size() * 8);
  });
}

adjacency_arrays adjacency_of(graph_handle const& handle, bool in) {
  return as_error([&] {
    graph const& g = graph_access::of(handle);
    adjacency_arrays const lists = lists_inside(handle, in);
    if (g.info.order == vertex_order::natural) return lists;
    edge_lists const& of = in && g.info.in_edges ? g.in : g.out;
    std::uint64_t const m = g.info.edges;
    auto const there = std::make_shared<copies>();
    there->offsets = memory_block(tier::host, (g.info.vertices + 1) * 8, -1, "lists, as arrays");
    there->targets = memory_block(tier::host, m * g.info.id_bytes, -1, "lists, as arrays");
    if (lists.weights) there->weights = memory_block(tier::host, m * 4, -1, "lists, as arrays");
    with_id_type(g.info, [&](auto id) {
      by_rank(g, of, static_cast<decltype(id) const*>(lists.targets), static_cast<std::uint32_t const*>(lists.weights), *there);
    });
    return adjacency_arrays{static_cast<std::uint64_t const*>(there->offsets.data()),
                            there->targets.data(),
                            lists.weights ? there->weights.data() : nullptr,
                            true,
                            true,
                            true,
                            there};
  });
}

entry_places places_of_entries(graph const& g, edge_lists const& lists) {
  entry_places all{{tier::host, g.info.vertices, -1, "order of edges"}, {tier::host, g.info.edges, -1, "order of edges"}};
  if (g.info.edges == 0) return all;
  begins_by_rank(g, lists, all.begins.data(), nullptr);
  memory_block spare;
  if (g.in_file) bring_home(g, lists, false, spare);
  void const* const targets = g.in_file ? spare.data() : plain(lists.targets, lists.packed_targets, g.info.edges, g.info.id_bytes, spare);
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    std::vector<Id> const rank = ranks_inside<Id>(g);
    each_entry_by_rank(
        lists.offsets.data(), g.info.vertices, [&](std::uint64_t i) { return rank[static_cast<Id const*>(targets)[i]]; },
        [&](std::uint64_t, std::uint64_t i, std::uint64_t place) { all.places[i] = static_cast<std::uint32_t>(place); });
  });
  return all;
}

}  // namespace garner

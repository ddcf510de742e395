// Shared by all algorithms: the graph, the device, the access mode, local offsets, and the device cache, a budget of local copies of remote
// data: directories of compressed adjacency, cached neighbors, the first edges. On the CPU all data is local, and nothing is copied.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "far/matrix.hpp"
#include "far/traffic.hpp"
#include "garner/memory.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"
#include "graph/placed.hpp"
#include "traverse/frontier.hpp"

namespace garner {

// A local copy of remote data, charged to the device budget.
struct cached_part {
  std::string what;
  std::uint64_t bytes;
  double ms;  // build time, once per setup
};

// Default size of the device cache: a tenth of the plain edge list.
inline std::uint64_t default_device_budget(graph_info const& info) { return info.edges * info.id_bytes / 10; }

class shard_seat;  // traverse/spread.hpp

// Copies between a vector and memory of the executor's device; they wait.
template <class T>
std::vector<T> to_host(executor& x, buffer<T> const& from) {
  std::vector<T> to(from.size());
  x.copy(to.data(), from.data(), from.bytes());
  x.wait();
  return to;
}
template <class T>
buffer<T> to_device(executor& x, std::vector<T> const& from, char const* what) {
  buffer<T> to(x.near(), from.size(), x.device(), what);
  if (!from.empty()) x.copy(to.data(), from.data(), to.bytes());
  x.wait();
  return to;
}

struct job_setting {
  graph const& g;
  shard_seat const* at;  // of a shard, whose part is g; else null
  access_mode access;
  tier edges;
  traffic_model model;  // records the accesses of a simulated run
  executor x;
  std::unique_ptr<list_windows> windows;  // for adjacency in a file; else null
  std::vector<cached_part> device_cache;
  std::optional<bool> spreads_cached_neighbors;  // set on first use (cached_neighbors.hpp)

  // errc::usage if access, tier and device are incompatible. `weighted`: the algorithm reads weights; else they stay remote.
  job_setting(graph const& graph_, execution_device where, access_mode how, std::optional<tier> edges_in, std::uint64_t l2_bytes,
              std::optional<std::uint64_t> device_budget, bool weighted = false, shard_seat const* seat = nullptr)
      : g(graph_),
        at(seat),
        access(how),
        edges(edges_in.value_or(graph_.in_file ? tier::file : default_tier(where, how))),
        model(how, l2_bytes),
        x(where, &model) {
    require_combination(where, edges, how);
    if ((edges == tier::file) != (g.in_file != nullptr))
      fail(errc::usage,
           "{}: its edges {} in their file, and the requested tier is {}; leave `edges` unset, or open the graph with that tier", g.name,
           g.in_file ? "were left" : "do not lie", to_string(edges));
    if (g.in_file) windows = std::make_unique<list_windows>(x, g);
    // Access copied needs no cache: it transfers all data each round. With adjacency in device memory, cached neighbors still save time.
    if (where.kind != device_kind::cpu && edges != tier::managed && how != access_mode::copied)
      left_ = device_budget.value_or(default_device_budget(g.info));
    if (x.on_device()) self_test(x.device());
    out_ = {x, g, g.out, "offsets"};
    if (g.info.in_edges) in_ = {x, g, g.in, "offsets of in-edges"};
    if (!x.on_device()) return;
    cache_directory(out_, false, "directory of compressed adjacency");
    if (weighted) cache_directory(out_, true, "directory of compressed weights");
    if (in_) cache_directory(in_, false, "directory of compressed in-edges");
    if (in_ && weighted) cache_directory(in_, true, "directory of compressed weights of in-edges");
    x.wait();
  }

  std::uint64_t const* offsets() const { return out_.offsets(); }
  template <class Id>
  csr_view<Id> view() const {
    return out_.view<Id>();
  }
  // Adjacency as the host reads it.
  template <class Id>
  csr_view<Id> home() const {
    return g.bare_view<Id>(g.out);
  }
  // In-edges: stored separately, or (undirected) the same adjacency.
  template <class Id>
  csr_view<Id> in_view() const {
    return in_ ? in_.view<Id>() : out_.view<Id>();
  }
  edge_lists const& in_edges() const { return in_ ? g.in : g.out; }
  // Reads of the file since the last call.
  file_reads take_file_reads() { return windows ? windows->take() : file_reads{}; }
  // The requests for the edges of a view over the link.
  template <class Id>
  arc_costs costs(csr_view<Id> const& v, bool weighted = false) const {
    return {access,
            g.info.id_bytes,
            edges == tier::host || edges == tier::file,
            weighted,
            v.targets.kept,
            v.targets.packed.at,
            v.weights.packed.at};
  }

  // Unused bytes of the device budget.
  std::uint64_t left() const { return left_; }
  void took(std::string what, std::uint64_t bytes, double ms) {
    left_ -= std::min(left_, bytes);
    device_cache.push_back({std::move(what), bytes, ms});
  }
  // Caches the first edges, as many as the budget still allows; `in`: of the in-edges.
  void keep_first_arcs(bool in, bool weighted) {
    auto const start = steady::now();
    if (edges != tier::host) return;
    placed_lists& lists = in && in_ ? in_ : out_;
    std::uint64_t const bytes = lists.cache_first_arcs(x, left_, weighted);
    if (!bytes) return;
    x.wait();
    took(fmt::format("first {} of {} edges{}", lists.first_arcs(), g.info.edges, &lists == &in_ ? " of in-edges" : ""), bytes,
         ms_since(start));
  }

  bool all_near() const { return x.on_device() && edges == tier::device; }  // including the edges

  // Before the clock starts: pending work has finished, counters are zero, and managed pages are back in host memory. Otherwise a second
  // run would measure the device's own memory.
  void start_afresh() {
    x.wait();
    model.take();
    take_file_reads();
    if (edges != tier::managed || !x.on_device()) return;
    for (edge_lists const* lists : {&g.out, &g.in})
      for (memory_block const* far : {&lists->targets, &lists->weights, &lists->packed_targets.words, &lists->packed_weights.words})
        if (far->bytes()) device::evict_managed(x.device(), far->data(), far->bytes());
  }

 private:
  // A directory is cached if the budget allows it; else it is read in place.
  void cache_directory(placed_lists& lists, bool weights, char const* what) {
    std::uint64_t const bytes = lists.directory_bytes(weights);
    if (!bytes || (edges == tier::host && bytes > left_ && lists.reads_directory(x, weights))) return;
    auto const start = steady::now();
    lists.cache_directory(x, weights, what);
    x.wait();
    double const ms = ms_since(start);
    if (edges == tier::host) took(what, bytes, ms);
    else device_cache.push_back({what, bytes, ms});  // for adjacency already on the device, not charged
  }

  std::uint64_t left_ = 0;
  placed_lists out_, in_;
};

}  // namespace garner

// What every job has: the graph, where it runs, how it reads the edges, the offsets near the place that runs, and a cache of far data kept
// near within a budget: directories of packed lists, cached neighbours, the first arcs. At the host nothing is far, so nothing is copied.
#pragma once
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/matrix.hpp"
#include "access/traffic.hpp"
#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"
#include "graph/placed.hpp"
#include "memory/self_test.hpp"
#include "traverse/frontier.hpp"

namespace garner {

// A copy of far data that a job keeps near, out of its device budget.
struct cached_part {
  std::string what;
  std::uint64_t bytes;
  double ms;  // to make it, once a job
};

// What the device cache may take where nobody said: a tenth of the plain edge list.
inline std::uint64_t default_device_budget(graph_info const& info) { return info.edges * info.id_bytes / 10; }

class shard_seat;  // traverse/spread.hpp

struct job_setting {
  graph const& g;
  shard_seat const* at;  // of a shard, whose part g is; else null
  access_mode access;
  tier edges;
  traffic_model model;  // hears a simulated run
  executor x;
  std::unique_ptr<list_windows> windows;  // where the lists stay in their file; else null
  std::vector<cached_part> device_cache;
  std::optional<bool> spreads_cached_neighbours;  // once somebody asked (cached_neighbours.hpp)

  // errc::usage where access, tier and place do not go together. `weighted`: the job reads weights; else those that are loaded stay far.
  job_setting(graph const& graph_, place where, access_mode how, std::optional<tier> edges_in, std::uint64_t l2_bytes,
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
           "{}: its edges {} in their file, and the job was told tier {}; leave `edges` unset, or open the graph with that tier", g.name,
           g.in_file ? "were left" : "do not lie", to_string(edges));
    if (g.in_file) windows = std::make_unique<list_windows>(x, g);
    // Copied: what is sent each round is all that comes near. Lists in device memory are looked through faster with neighbours at hand too.
    if (where.kind != place_kind::host && edges != tier::managed && how != access_mode::copied)
      left_ = device_budget.value_or(default_device_budget(g.info));
    if (x.on_device()) self_test(x.device());
    out_ = {x, g, g.out, "offsets"};
    if (g.info.in_lists) in_ = {x, g, g.in, "offsets of in-lists"};
    if (!x.on_device()) return;
    cache_directory(out_, false, "directory of packed lists");
    if (weighted) cache_directory(out_, true, "directory of packed weights");
    if (in_) cache_directory(in_, false, "directory of packed in-lists");
    if (in_ && weighted) cache_directory(in_, true, "directory of packed weights of in-lists");
    x.wait();
  }

  std::uint64_t const* offsets() const { return out_.offsets(); }
  template <class Id>
  csr_view<Id> view() const {
    return out_.view<Id>();
  }
  // As the host reads the lists.
  template <class Id>
  csr_view<Id> home() const {
    return g.bare_view<Id>(g.out);
  }
  // Who leads here: the in-lists where they are kept apart, else (undirected) the same lists.
  template <class Id>
  csr_view<Id> in_view() const {
    return in_ ? in_.view<Id>() : out_.view<Id>();
  }
  edge_lists const& in_lists() const { return in_ ? g.in : g.out; }
  // What was read of the file since the last time.
  file_reads take_file_reads() { return windows ? windows->take() : file_reads{}; }
  // What the arcs of a view ask for over the link.
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

  // Bytes of the device budget that no copy took yet.
  std::uint64_t left() const { return left_; }
  void took(std::string what, std::uint64_t bytes, double ms) {
    left_ -= std::min(left_, bytes);
    device_cache.push_back({std::move(what), bytes, ms});
  }
  // Keeps the first arcs near, as many as the budget still allows; `in`: of the in-lists.
  void keep_first_arcs(bool in, bool weighted) {
    auto const start = std::chrono::steady_clock::now();
    if (edges != tier::host) return;
    placed_lists& lists = in && in_ ? in_ : out_;
    std::uint64_t const bytes = lists.cache_first_arcs(x, left_, weighted);
    if (!bytes) return;
    x.wait();
    took(fmt::format("first {} of {} arcs{}", lists.first_arcs(), g.info.edges, &lists == &in_ ? " of in-lists" : ""), bytes,
         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }

  bool all_near() const { return x.on_device() && edges == tier::device; }  // the edges too

  // Before the clock starts: what was asked for is done, nothing is counted yet, and managed pages are at home, else a second run would
  // measure the device's own memory.
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
  // A directory comes near where the budget allows; else it is read where it lies.
  void cache_directory(placed_lists& lists, bool weights, char const* what) {
    std::uint64_t const bytes = lists.directory_bytes(weights);
    if (!bytes || (edges == tier::host && bytes > left_ && lists.reads_directory(x, weights))) return;
    auto const start = std::chrono::steady_clock::now();
    lists.cache_directory(x, weights, what);
    x.wait();
    double const ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (edges == tier::host) took(what, bytes, ms);
    else device_cache.push_back({what, bytes, ms});  // of lists that are there, no part of the budget
  }

  std::uint64_t left_ = 0;
  placed_lists out_, in_;
};

}  // namespace garner

// What every job has: the graph, where it runs, how it reads the edges, the offsets near the place that runs, and copies of far data kept
// near within a budget: directories of packed lists, hints, the first arcs. At the host nothing is far, so nothing is copied.
#pragma once
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "access/matrix.hpp"
#include "access/traffic.hpp"
#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "graph/graph.hpp"
#include "memory/self_test.hpp"
#include "traverse/frontier.hpp"

namespace garner {

// A copy of far data that a job keeps near, out of its device budget.
struct kept_copy {
  std::string what;
  std::uint64_t bytes;
  double ms;  // to make it, once a job
};

// What the copies may take where nobody said: a tenth of the plain edge list.
inline std::uint64_t default_device_budget(graph_info const& info) { return info.edges * info.id_bytes / 10; }

struct job_setting {
  graph const& g;
  access_mode access;
  tier edges;
  traffic_model model;  // hears a traced run
  executor x;
  std::vector<kept_copy> copies;
  std::optional<bool> spreads_hints;  // once somebody asked (hints.hpp)

  // errc::usage where access, tier and place do not go together.
  job_setting(graph const& graph_, place where, access_mode how, std::optional<tier> edges_in, std::uint64_t l2_bytes,
              std::optional<std::uint64_t> device_budget)
      : g(graph_), access(how), edges(edges_in.value_or(default_tier(where, how))), model(how, l2_bytes), x(where, &model) {
    require_combination(where, edges, how);
    // Copied: what is sent each round is all that comes near.
    if (where.kind != place_kind::host && edges == tier::host && how != access_mode::copied)
      left_ = device_budget.value_or(default_device_budget(g.info));
    if (!x.on_device()) return;
    self_test(x.device());
    near_offsets_ = near_copy(g.out.offsets, "offsets");
    if (g.info.in_lists) near_in_offsets_ = near_copy(g.in.offsets, "offsets of in-lists");
    keep_directory(g.out.packed_targets, near_directory_.targets, "directory of packed lists");
    keep_directory(g.out.packed_weights, near_directory_.weights, "directory of packed weights");
    keep_directory(g.in.packed_targets, near_directory_.in_targets, "directory of packed in-lists");
    keep_directory(g.in.packed_weights, near_directory_.in_weights, "directory of packed weights of in-lists");
    x.wait();
  }

  std::uint64_t const* offsets() const { return x.on_device() ? near_offsets_.data() : g.out.offsets.data(); }
  template <class Id>
  csr_view<Id> view() const {
    return near_view<Id>(g.out, offsets(), near_directory_.targets, near_directory_.weights, kept_);
  }
  // As the host reads the lists.
  template <class Id>
  csr_view<Id> home() const {
    return g.view<Id>(g.out);
  }
  // Who leads here: the in-lists where they are kept apart, else (undirected) the same lists.
  template <class Id>
  csr_view<Id> in_view() const {
    if (!g.info.in_lists) return view<Id>();
    return near_view<Id>(g.in, x.on_device() ? near_in_offsets_.data() : g.in.offsets.data(), near_directory_.in_targets,
                         near_directory_.in_weights, kept_in_);
  }
  // What the arcs of a view ask for over the link.
  template <class Id>
  arc_costs costs(csr_view<Id> const& v, bool weighted = false) const {
    return {access, g.info.id_bytes, edges == tier::host, weighted, v.targets.kept, v.targets.packed.at, v.weights.packed.at};
  }

  // Bytes of the device budget that no copy took yet.
  std::uint64_t left() const { return left_; }
  void took(std::string what, std::uint64_t bytes, double ms) {
    left_ -= std::min(left_, bytes);
    copies.push_back({std::move(what), bytes, ms});
  }
  // Keeps the first arcs near, as many as the budget still allows; `in`: of the in-lists.
  void keep_first_arcs(bool in, bool weighted) {
    auto const start = std::chrono::steady_clock::now();
    in = in && g.info.in_lists;
    edge_lists const& lists = in ? g.in : g.out;
    first_arcs& to = in ? kept_in_ : kept_;
    std::uint64_t const bytes = to.take(x, lists, g.info, left_, weighted);
    if (!bytes) return;
    x.wait();
    took(fmt::format("first {} of {} arcs{}", to.arcs, g.info.edges, in ? " of in-lists" : ""), bytes,
         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }

  // Before the clock starts: what was asked for is done, nothing is counted yet, and managed pages are at home, else a second run would
  // measure the device's own memory.
  void start_afresh() {
    model.take();
    x.wait();
    if (edges != tier::managed || !x.on_device()) return;
    for (edge_lists const* lists : {&g.out, &g.in})
      for (memory_block const* far : {&lists->targets, &lists->weights, &lists->packed_targets.words, &lists->packed_weights.words})
        if (far->bytes()) device::evict_managed(x.device(), far->data(), far->bytes());
  }

 private:
  struct directory_copy {
    buffer<std::uint32_t> blocks;
    buffer<std::uint64_t> groups;
  };
  // The first arcs of one direction, near.
  struct first_arcs {
    std::uint64_t arcs = 0;
    memory_block targets, weights;

    // How many bytes of `all` its first `arcs` elements take.
    static std::uint64_t bytes_of(packed_array const& all, std::uint64_t arcs) { return (all.view().at.word_of(arcs / 32) + 1) * 4; }
    static void copy(executor& x, memory_block& to, void const* from, std::uint64_t bytes) {
      to = memory_block(x.near(), bytes, x.device(), "first arcs");
      x.copy(to.data(), from, bytes);
    }
    std::uint64_t take(executor& x, edge_lists const& lists, graph_info const& info, std::uint64_t budget, bool weighted) {
      bool const weights = weighted && info.weights != weight_kind::none;
      auto const bytes = [&](std::uint64_t n) {
        return (lists.packed_targets.empty() ? n * info.id_bytes : bytes_of(lists.packed_targets, n)) +
               (!weights                       ? 0
                : lists.packed_weights.empty() ? n * 4
                                               : bytes_of(lists.packed_weights, n));
      };
      std::uint64_t low = 0, high = info.edges / 32;  // in blocks of 32; the whole list ends anywhere
      while (low < high) {
        std::uint64_t const middle = low + (high - low + 1) / 2;
        if (bytes(middle * 32) <= budget) low = middle;
        else high = middle - 1;
      }
      if (low == 0) return 0;
      arcs = low * 32;
      if (lists.packed_targets.empty()) copy(x, targets, lists.targets.data(), arcs * info.id_bytes);
      else copy(x, targets, lists.packed_targets.words.data(), bytes_of(lists.packed_targets, arcs));
      if (weights && lists.packed_weights.empty()) copy(x, this->weights, lists.weights.data(), arcs * 4);
      else if (weights) copy(x, this->weights, lists.packed_weights.words.data(), bytes_of(lists.packed_weights, arcs));
      return bytes(arcs);
    }
  };

  buffer<std::uint64_t> near_copy(buffer<std::uint64_t> const& from, char const* what) {
    buffer<std::uint64_t> to(tier::device, from.size(), x.device(), what);
    x.copy(to.data(), from.data(), to.bytes());
    return to;
  }
  // The directory comes near where the budget allows; else it is read where it lies.
  void keep_directory(packed_array const& from, directory_copy& to, char const* what) {
    std::uint64_t const bytes = from.blocks.bytes() + from.groups.bytes();
    bool const readable_there = from.blocks.device() == x.device() && from.groups.device() == x.device();
    if (from.empty() || (edges == tier::host && bytes > left_ && readable_there)) return;
    auto const start = std::chrono::steady_clock::now();
    to.blocks = buffer<std::uint32_t>(tier::device, from.blocks.size(), x.device(), what);
    x.copy(to.blocks.data(), from.blocks.data(), from.blocks.bytes());
    to.groups = near_copy(from.groups, what);
    x.wait();
    took(what, bytes, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  template <class Id>
  csr_view<Id> near_view(edge_lists const& lists, std::uint64_t const* near_offsets, directory_copy const& targets,
                         directory_copy const& weights, first_arcs const& kept) const {
    csr_view<Id> v = g.view<Id>(lists, near_offsets);
    if (!targets.blocks.empty()) v.targets.packed.at = {targets.blocks.data(), targets.groups.data()};
    if (!weights.blocks.empty()) v.weights.packed.at = {weights.blocks.data(), weights.groups.data()};
    auto const keep = [&](auto& array, memory_block const& copy) {
      if (!copy.bytes()) return;
      array.kept = kept.arcs;
      if (array.packed) array.near_words = static_cast<std::uint32_t const*>(copy.data());
      else array.near_data = static_cast<decltype(array.near_data)>(copy.data());
    };
    keep(v.targets, kept.targets);
    keep(v.weights, kept.weights);
    return v;
  }

  std::uint64_t left_ = 0;
  buffer<std::uint64_t> near_offsets_, near_in_offsets_;
  struct {
    directory_copy targets, weights, in_targets, in_weights;
  } near_directory_;
  first_arcs kept_, kept_in_;
};

}  // namespace garner

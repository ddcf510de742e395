// What every job has: the graph, where it runs, how it reads the edges, and the offsets near the place that runs.
#pragma once
#include <optional>

#include "access/matrix.hpp"
#include "access/traffic.hpp"
#include "core/device.hpp"
#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "memory/self_test.hpp"

namespace garner {

// Whether the arcs of such a job come over the link, so that their requests are counted: host memory (UVM tells nobody what it moves).
inline bool arcs_cross(place where, access_mode how, std::optional<tier> edges) {
  return edges.value_or(default_tier(where, how)) == tier::host;
}

struct job_setting {
  graph const& g;
  access_mode access;
  tier edges;
  traffic_model model;  // hears a traced run
  executor x;

  // errc::usage where access, tier and place do not go together.
  job_setting(graph const& graph_, place where, access_mode how, std::optional<tier> edges_in, std::uint64_t l2_bytes)
      : g(graph_), access(how), edges(edges_in.value_or(default_tier(where, how))), model(how, l2_bytes), x(where, &model) {
    require_combination(where, edges, how);
    if (!x.on_device()) return;
    self_test(x.device());
    near_offsets_ = buffer<std::uint64_t>(tier::device, g.info.vertices + 1, x.device(), "offsets");
    x.copy(near_offsets_.data(), g.out.offsets.data(), near_offsets_.bytes());
    if (g.info.in_lists) {
      near_in_offsets_ = buffer<std::uint64_t>(tier::device, g.info.vertices + 1, x.device(), "offsets of in-lists");
      x.copy(near_in_offsets_.data(), g.in.offsets.data(), near_in_offsets_.bytes());
    }
    x.wait();
  }

  std::uint64_t const* offsets() const { return x.on_device() ? near_offsets_.data() : g.out.offsets.data(); }
  template <class Id>
  csr_view<Id> view() const {
    return g.view<Id>(g.out, offsets());
  }
  // Who leads here: the in-lists where they are kept apart, else (undirected) the same lists.
  template <class Id>
  csr_view<Id> in_view() const {
    if (!g.info.in_lists) return view<Id>();
    return g.view<Id>(g.in, x.on_device() ? near_in_offsets_.data() : g.in.offsets.data());
  }
  // Before the clock starts: what was asked for is done, nothing is counted yet, and managed pages are at home, else a second run would
  // measure the device's own memory.
  void start_afresh() {
    model.take();
    x.wait();
    if (edges != tier::managed || !x.on_device()) return;
    device::evict_managed(x.device(), g.out.targets.data(), g.out.targets.bytes());
    if (g.in.targets.bytes()) device::evict_managed(x.device(), g.in.targets.data(), g.in.targets.bytes());
    if (g.out.weights.bytes()) device::evict_managed(x.device(), g.out.weights.data(), g.out.weights.bytes());
  }

 private:
  buffer<std::uint64_t> near_offsets_, near_in_offsets_;
};

}  // namespace garner

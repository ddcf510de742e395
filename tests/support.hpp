// Shared by all tests: the devices of this machine, device and remote arrays, small graphs, and a serial reference BFS.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <queue>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "garner/device.hpp"
#include "graph/build.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"
#include "memory/buffer.hpp"

namespace garner::testing {

inline std::string name_of(device_kind kind) {
  return kind == device_kind::cpu ? "host" : kind == device_kind::simulated ? "simulated" : "device";
}

// Suites over devices: a device test skips, visibly, on a machine without one.
class at_place : public ::testing::TestWithParam<device_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == device_kind::cuda && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  execution_device where() const { return {GetParam(), 0}; }
};
inline auto const every_place = ::testing::Values(device_kind::cpu, device_kind::simulated, device_kind::cuda);
#define GARNER_AT_EVERY_PLACE(suite)                                  \
  INSTANTIATE_TEST_SUITE_P(at, suite, ::garner::testing::every_place, \
                           [](auto const& info) { return ::garner::testing::name_of(info.param); })

// Whether submitted work runs later: on a GPU, and simulated with GARNER_STREAMS, which does not count requests either.
inline bool runs_later(execution_device where) { return where.kind != device_kind::cpu && executor(where).asynchronous(); }
inline bool counts_requests() { return !runs_later({device_kind::simulated, 0}); }
#define GARNER_NEEDS_COUNTS() \
  if (!::garner::testing::counts_requests()) GTEST_SKIP() << "counts requests, which streams do not"

// Device memory with given contents, and its readback.
template <class T>
buffer<T> near_copy(executor& x, std::vector<T> const& values) {
  buffer<T> b(x.near(), std::max<std::size_t>(values.size(), 1), x.device(), "a test");
  x.copy(b.data(), values.data(), values.size() * sizeof(T));
  x.wait();
  return b;
}
template <class T>
std::vector<T> host_copy(executor& x, T const* data, std::size_t n) {
  std::vector<T> values(n);
  x.copy(values.data(), data, n * sizeof(T));
  x.wait();
  return values;
}
// Remote memory: host memory that the device's teams can read.
template <class T>
buffer<T> far_copy(executor& x, std::vector<T> const& values) {
  buffer<T> b(tier::host, std::max<std::size_t>(values.size(), 1), x.device(), "a test");
  std::copy(values.begin(), values.end(), b.data());
  return b;
}

inline edge_list make_edges(std::vector<arc> arcs, bool undirected = false, std::uint64_t vertices = 0) {
  edge_list e;
  e.arcs = std::move(arcs);
  e.undirected = undirected;
  e.vertices = vertices;
  e.source = "a test";
  return e;
}
inline graph make_graph(std::vector<arc> arcs, bool undirected = false, std::uint64_t vertices = 0, build_options options = {}) {
  build_report report;
  return build_graph(make_edges(std::move(arcs), undirected, vertices), options, report);
}
inline std::uint64_t target_at(graph const& g, std::uint64_t i) {
  return g.info.id_bytes == 8 ? static_cast<std::uint64_t const*>(g.out.targets.data())[i]
                              : static_cast<std::uint32_t const*>(g.out.targets.data())[i];
}

// Plain BFS over internal ids.
inline std::vector<std::uint32_t> serial_depths(graph const& g, std::uint64_t source) {
  std::vector<std::uint32_t> depth(g.info.vertices, ~0u);
  std::queue<std::uint64_t> open;
  depth[source] = 0;
  open.push(source);
  while (!open.empty()) {
    std::uint64_t const v = open.front();
    open.pop();
    for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i) {
      std::uint64_t const u = target_at(g, i);
      if (depth[u] != ~0u) continue;
      depth[u] = depth[v] + 1;
      open.push(u);
    }
  }
  return depth;
}

// The message of the garner::error that f throws; fails the test if nothing is thrown.
template <class F>
std::string error_of(F f, errc* code = nullptr) {
  try {
    f();
  } catch (error const& e) {
    if (code) *code = e.code();
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace garner::testing

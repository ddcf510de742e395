// Counts of the traffic model for segments that are read concurrently, one per team: the test's own simulated kernel.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/exec.hpp"
#include "far/traffic.hpp"
#include "support.hpp"

namespace garner::testing {

template <class Id>
struct read_runs {
  Id const* data;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> const* runs;
  template <class Team>
  void operator()(Team t, std::uint64_t i) const {
    t.each(span<Id>{data, (*runs)[i].first, (*runs)[i].second}, [](Id) {});
  }
};
using runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Elements [first, second) of one array that begins on a line.
template <int Width, class Id = std::uint32_t>
traffic trace(runs const& all, access_mode how, std::uint64_t l2 = 0, bool looks_up = false) {
  traffic_model model(how, l2);
  if (looks_up) model.look_up_between_reads();
  executor x({device_kind::simulated, 0}, &model);
  std::uint64_t most = 1;
  for (auto [b, e] : all) most = std::max(most, e);
  auto const far = far_copy(x, std::vector<Id>(most));
  for_each_item<Width>(x, all.size(), read_runs<Id>{far.data(), &all}, how);
  return model.take();
}
// The non-empty lists of these vertices, in order.
template <class Offsets, class Wanted>
runs adjacency_of(Offsets const& offsets, std::uint64_t vertices, Wanted wanted) {
  runs all;
  for (std::uint64_t v = 0; v < vertices; ++v)
    if (wanted(v) && offsets[v] != offsets[v + 1]) all.push_back({offsets[v], offsets[v + 1]});
  return all;
}

}  // namespace garner::testing

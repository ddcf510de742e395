// Where an algorithm finds its edges: every access and tier of a device, and graphs that lie there.
#pragma once
#include <vector>

#include "far/matrix.hpp"
#include "support.hpp"

namespace garner::testing {

// An algorithm's default options at every access; edges in host memory and, on a GPU, in its own.
template <class Options>
std::vector<Options> every_access_and_tier(execution_device where) {
  std::vector<Options> all;
  for (access_mode how : {access_mode::paged, access_mode::strided, access_mode::merged, access_mode::aligned})
    for (tier t : {tier::host, tier::device}) {
      if (t == tier::device && (where.kind != device_kind::cuda || how == access_mode::paged)) continue;
      Options& o = all.emplace_back();
      o.device = where, o.access = how;
      if (t == tier::device) o.edges = t;
    }
  return all;
}

template <class Options>
Options verified(execution_device where) {
  Options o;
  o.device = where, o.verify = true;
  return o;
}
template <class Options>
Options verified(execution_device where, decltype(Options::variant) variant) {
  auto o = verified<Options>(where);
  o.variant = variant;
  return o;
}

// A copy with its lists in the memory for this device, access and tier.
template <class Options>
graph placed(graph const& from, Options const& o) {
  tier const t = o.device.kind == device_kind::cuda ? o.edges.value_or(default_tier(o.device, o.access)) : tier::host;
  executor x(o.device);
  graph copy;
  copy.info = from.info, copy.name = from.name;
  for (edge_lists graph::*lists : {&graph::out, &graph::in}) {
    edge_lists const& a = from.*lists;
    edge_lists& b = copy.*lists;
    if (a.offsets.empty()) continue;
    b.offsets = buffer<std::uint64_t>(tier::host, a.offsets.size(), -1, "copy");
    std::copy(a.offsets.begin(), a.offsets.end(), b.offsets.begin());
    for (memory_block edge_lists::*array : {&edge_lists::targets, &edge_lists::weights}) {
      b.*array = memory_block(t, (a.*array).bytes(), x.device(), "copy");
      if ((a.*array).bytes()) x.copy((b.*array).data(), (a.*array).data(), (a.*array).bytes());
    }
    x.wait();
  }
  return copy;
}

}  // namespace garner::testing

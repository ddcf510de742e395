// From the user's id of a vertex to ours. Cost: O(1), with an id map a binary search.
#include "graph/graph.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace garner {

std::uint64_t graph::internal_id(std::uint64_t user) const {
  if (info.vertices == 0) fail(errc::input, "vertex {} does not exist in {}; the graph has no vertices", user, name);
  if (!ids.empty()) {
    auto const* const at = std::lower_bound(ids.begin(), ids.end(), user);
    if (at != ids.end() && *at == user) return static_cast<std::uint64_t>(at - ids.begin());
    fail(errc::input, "vertex {} does not exist in {}; its {} ids go from {} to {} with gaps", user, name, info.vertices, ids[0],
         ids[info.vertices - 1]);
  }
  if (user < info.id_base || user - info.id_base >= info.vertices)
    fail(errc::input, "vertex {} does not exist in {}; ids go from {} to {}", user, name, info.id_base, info.id_base + (info.vertices - 1));
  return user - info.id_base;
}

}  // namespace garner

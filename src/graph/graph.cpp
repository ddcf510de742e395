// Maps a user's vertex id to its internal id. Cost: O(1), or a binary search if there is an id map. Also converts the table of internal ids
// to another width.
#include "graph/graph.hpp"

#include "core/executor.hpp"

#include <type_traits>

#include "core/fail.hpp"

namespace garner {

memory_block ids_of_width(memory_block const& from, std::uint32_t had, std::uint32_t id_bytes) {
  std::uint64_t const n = from.bytes() / had;
  memory_block to(tier::host, n * id_bytes, -1, "ids");
  auto const copy = [&](auto const* a, auto* b) {
    for (std::uint64_t i = 0; i < n; ++i) b[i] = static_cast<std::remove_pointer_t<decltype(b)>>(a[i]);
  };
  auto const into = [&](auto const* a) {
    if (id_bytes == 8) copy(a, static_cast<std::uint64_t*>(to.data()));
    else copy(a, static_cast<std::uint32_t*>(to.data()));
  };
  if (had == 8) into(static_cast<std::uint64_t const*>(from.data()));
  else into(static_cast<std::uint32_t const*>(from.data()));
  return to;
}

std::uint64_t graph::rank_of(std::uint64_t user) const {
  if (info.vertices == 0) fail_id("vertex {} does not exist in {}; the graph has no vertices", user, name);
  if (!ids.empty()) {
    std::uint64_t low = 0, high = info.vertices;  // the rank is in [low, high)
    while (high - low > 1) {
      std::uint64_t const middle = low + (high - low) / 2;
      (ids[at_rank(middle)] <= user ? low : high) = middle;
    }
    if (ids[at_rank(low)] == user) return low;
    std::uint64_t const first = ids[at_rank(0)], last = ids[at_rank(info.vertices - 1)];
    fail_id("vertex {} does not exist in {}; its {} ids go from {} to {}{}", user, name, info.vertices, first, last,
            last - first == info.vertices - 1 ? "" : " with gaps");
  }
  if (user < info.id_base || user - info.id_base >= info.vertices)
    fail_id("vertex {} does not exist in {}; ids go from {} to {}", user, name, info.id_base, info.id_base + (info.vertices - 1));
  return user - info.id_base;
}

void bring_offsets_near(graph& g, int device) {
  for (edge_lists* lists : {&g.out, &g.in}) {
    if (device < 0) lists->near_offsets = {};
    if (device < 0 || lists->offsets.empty() || (!lists->near_offsets.empty() && lists->near_offsets.device() == device)) continue;
    executor x({device_kind::cuda, device});
    lists->near_offsets = buffer<std::uint64_t>(tier::device, lists->offsets.size(), device, "offsets");
    x.copy(lists->near_offsets.data(), lists->offsets.data(), lists->offsets.bytes());
    x.wait();
  }
}

void graph::require_in_memory() const {
  if (in_file)
    fail(errc::usage,
         "{}: its lists were left in the file, where bfs, sssp, components, pagerank, scores and samples read them; for anything else "
         "open it with tier host",
         name);
}

}  // namespace garner

#include "far/matrix.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"
#include "garner/memory.hpp"
#include "memory/tiers.hpp"

namespace garner {

tier default_tier(execution_device, access_mode how) { return how == access_mode::paged ? tier::managed : tier::host; }

void require_combination(execution_device where, tier edges, access_mode how) try {
  if (how == access_mode::bulk) fail(errc::usage, "access bulk is not for traversal; use strided, merged, aligned, paged or copied");
  bool const known =
      edges == tier::host || edges == tier::managed || edges == tier::file || (in_device_memory(edges) && where.kind == device_kind::cuda);
  if (!known) fail(errc::usage, "{} does not go with tier {}; use tier host, managed or file there", to_string(where), to_string(edges));
  bool const fits = (how == access_mode::paged) == (edges == tier::managed) && (how != access_mode::copied || edges == tier::host);
  if (fits) return;
  fail(errc::usage,
       "access {} does not go with tier {} on {}; strided, merged and aligned read tier host or file, and on a GPU device or peer; paged "
       "reads tier managed; copied reads tier host",
       to_string(how), to_string(edges), to_string(where));
} catch (...) {
  rethrow_as_error();
}

std::string why_not_readable_at(std::string const& name, tier edges, int device, int owner, execution_device where) {
  if (where.kind == device_kind::cuda)
    return device == where.index || (edges == tier::host && device >= 0)  // pinned, it is mapped for all devices
               ? ""
               : fmt::format("{}: its edges are not readable on {}; open the graph for that device, or to_device() it there", name,
                             to_string(where));
  if (!in_device_memory(edges)) return "";
  return fmt::format("{}: its edges are on device {}{}; run the algorithm on cuda:{}, or to_device() the graph to {}", name, owner,
                     owner == device ? "" : fmt::format(", for device {} to read", device), device, to_string(where));
}
void require_readable_at(std::string const& name, memory_block const& edges, execution_device where) {
  if (edges.bytes() == 0) return;
  int const device = edges.device(), owner = edges.where() == tier::peer ? owner_of_peer_tier(device) : device;
  std::string const why = why_not_readable_at(name, edges.where(), device, owner, where);
  if (why.empty()) return;
  if (where.kind == device_kind::cuda) device::require(where.index);  // else nothing could be brought there
  fail(errc::usage, "{}", why);
}

}  // namespace garner

// Valid pairs of access and tier, by device. One table, printed when a call is refused.
//             host tier   device tier   managed tier
//   strided   yes         yes           no
//   merged    yes         yes           no
//   aligned   yes         yes           no
//   paged     no          no            yes
// The device tier needs a GPU. On the devices cpu and simulated, remote memory is host memory in any case, and every access returns the
// same result (only the counts of a simulated run differ), so there `managed` stands for the pages that a device would have moved.
#pragma once
#include <string>

#include "core/access.hpp"
#include "garner/device.hpp"

namespace garner {

class memory_block;

// errc::usage where the edges of graph `name` lie in memory that this place cannot read; anybody can read none.
void require_readable_at(std::string const& name, memory_block const& edges, execution_device where);
tier default_tier(execution_device where, access_mode how);                     // host; managed for paged
void require_combination(execution_device where, tier edges, access_mode how);  // errc::usage where they do not go together
// The default access of a tier: managed edges are read by pages.
inline access_mode access_in(tier edges, access_mode set = access_mode::aligned) {
  return edges == tier::managed && set == access_mode::aligned ? access_mode::paged : set;
}
// The refusal, or nothing. `device`: the one that the edges lie on or (host, managed, peer) that reads them; `owner`: that they lie on.
std::string why_not_readable_at(std::string const& name, tier edges, int device, int owner, execution_device where);

}  // namespace garner

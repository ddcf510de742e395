// Which access goes with which tier, and at which place. One table, printed when a call is refused.
//             host tier   device tier   managed tier
//   strided   yes         yes           no
//   merged    yes         yes           no
//   aligned   yes         yes           no
//   paged     no          no            yes
// The device tier needs a device; at the host and traced places far memory is host memory whatever is asked for, and every access gives
// the same answer (only what a traced run counts differs), so there `managed` stands for the pages that a device would have moved.
#pragma once
#include "garner/place.hpp"

namespace garner {

tier default_tier(place where, access_mode how);                     // host; managed for paged
void require_combination(place where, tier edges, access_mode how);  // errc::usage with the matrix

}  // namespace garner

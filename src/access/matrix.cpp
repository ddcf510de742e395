#include "access/matrix.hpp"

#include "core/fail.hpp"

namespace garner {

tier default_tier(place, access_mode how) { return how == access_mode::paged ? tier::managed : tier::host; }

void require_combination(place where, tier edges, access_mode how) {
  if (how == access_mode::bulk) fail(errc::usage, "access bulk is not for traversal; say strided, merged, aligned, paged or copied");
  bool const known = edges == tier::host || edges == tier::managed || (in_device_memory(edges) && where.kind == place_kind::device);
  bool const fits = (how == access_mode::paged) == (edges == tier::managed) && (how != access_mode::copied || edges == tier::host);
  if (known && fits) return;
  fail(errc::usage,
       "access {} does not go with tier {} at place {}; what goes: strided, merged, aligned with tier host (any place), device or peer "
       "(place device); paged with tier managed, copied with tier host (any place)",
       to_string(how), to_string(edges), to_string(where));
}

}  // namespace garner

#include "features/ask.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

void require_readable(executor& x, void const* at, char const* what) {
  if (x.on_device() && at && !device::reads(x.device(), at))
    fail(errc::usage, "{} lie in memory that {} does not read; give memory of that device, or host memory that is pinned (unified_tensor)",
         what, to_string(x.where()));
}

void require_ids(id_span const& ids) {
  std::uint32_t const bytes = ids.id_bytes();
  if (bytes != 4 && bytes != 8) fail(errc::usage, "ids of {} bytes; use 4 or 8", bytes);
  if (ids.is_unsigned() && bytes != 8) fail(errc::usage, "unsigned ids of {} bytes; widen them to 8", bytes);
  if (ids.size() && !ids.data()) fail(errc::usage, "{} ids and no data", ids.size());
  if (reinterpret_cast<std::uintptr_t>(ids.data()) % bytes != 0)
    fail(errc::usage, "ids of {} bytes that are not aligned to {}", bytes, bytes);
}

void refuse_id(executor& x, batch_list const& batches, std::uint64_t position, std::uint64_t rows, std::optional<std::uint64_t> before) {
  std::uint32_t const b = batches.batch_of(position);
  std::uint64_t const k = position - batches.start[b];
  char const* const at = static_cast<char const*>(batches.ids[b]) + k * batches.id_bytes[b];
  std::int64_t const id =
      batches.id_bytes[b] == 4 ? x.read(reinterpret_cast<std::int32_t const*>(at)) : x.read(reinterpret_cast<std::int64_t const*>(at));
  bool const positive = batches.of_unsigned >> b & 1;
  fail_id("id {} at position {}{}: this table has {}", positive ? std::to_string(static_cast<std::uint64_t>(id)) : std::to_string(id), k,
          before ? fmt::format(" of batch {}", *before + b) : "", rows ? fmt::format("rows 0 to {}", rows - 1) : "no rows");
}

}  // namespace garner

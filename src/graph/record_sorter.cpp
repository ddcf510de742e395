#include "graph/record_sorter.hpp"

#include "core/device.hpp"
#include "garner/error.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {
constexpr std::uint64_t worth_a_device = 1u << 23;  // below this the host sorts faster than a device can allocate
}

record_sorter::record_sorter(execution_device where, std::uint64_t records, std::uint64_t part, bool values)
    : x_(where),
      keys_(x_.near(), records, x_.device(), "edges, to sort"),
      spare_(x_.near(), records, x_.device(), "edges, to sort"),
      staged_keys_(tier::host, 2 * part, x_.device(), "edges on their way"),
      values_(x_.near(), values ? records : 0, x_.device(), "edges, to sort"),
      spare_values_(x_.near(), values ? records : 0, x_.device(), "edges, to sort"),
      staged_values_(tier::host, values ? 2 * part : 0, x_.device(), "edges on their way") {}

std::unique_ptr<record_sorter> record_sorter::at(execution_device where, std::uint64_t records, bool values) {
  if (where.kind == device_kind::cpu || records == 0 || records >> 32) return nullptr;
  std::uint64_t part = 1u << 14, room = std::max(part, records / 2 + 1);  // the simulated device has a small one, to have several parts
  if (where.kind == device_kind::cuda) {
    if (records < worth_a_device) return nullptr;
    part = 1u << 22, room = left_on_device(where.index) / 2 / (values ? 24 : 16);
    if (room < part || room < records / 4) return nullptr;  // each range reads all records again
  }
  try {
    return std::unique_ptr<record_sorter>(new record_sorter(where, std::min(room, records), part, values));
  } catch (error const& e) {
    if (e.code() != errc::memory) throw;
    return nullptr;
  }
}

}  // namespace garner

#include "features/file_rows.hpp"

#include "core/fail.hpp"
#include "core/primitives.hpp"

namespace garner {

std::uint64_t file_ids::find(executor& x, row_view const& table, id_span ids, buffer<std::uint64_t>& found,
                             buffer<std::uint32_t>& positions) {
  std::uint64_t const n = ids.size();
  if (n >> 32) fail(errc::usage, "a mini-batch of {} ids; one whose rows stand in a file has fewer than 2^32", n);
  if (n == 0) return 0;
  auto const at_least = [&](auto& memory) { grow(x, memory, n, "ids of rows in a file"); };
  at_least(ids_), at_least(numbers_), at_least(flags_), at_least(found), at_least(positions);
  batch_list one;
  one.add(ids, nullptr);
  find_file_rows(x, table, one, ids_.data(), numbers_.data(), flags_.data());
  std::uint64_t const rows = select(x, ids_.data(), flags_.data(), found.data(), n);
  select(x, numbers_.data(), flags_.data(), positions.data(), n);
  return rows;
}

}  // namespace garner

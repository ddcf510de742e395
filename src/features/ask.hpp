// Checks shared by all gathers: ids are readable, the device can read their memory; and the message for an id outside the table.
#pragma once
#include <cstdint>
#include <optional>

#include "core/executor.hpp"
#include "features/gather.hpp"
#include "garner/features.hpp"

namespace garner {

void require_ids(id_span const& ids);                                  // errc::usage where they cannot be
void require_readable(executor& x, void const* at, char const* what);  // a kernel that reads elsewhere ends the device's context
// Names the id that stands at `position` of these batches, of a table of so many rows. `before`: of several batches, how many came before.
[[noreturn]] void refuse_id(executor& x, batch_list const& batches, std::uint64_t position, std::uint64_t rows,
                            std::optional<std::uint64_t> before = {});

}  // namespace garner

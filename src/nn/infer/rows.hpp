// Rows of a table as a model takes them: floats, on the device, all finite, scaled.
#pragma once
#include <functional>
#include <string>

#include "core/fail.hpp"
#include "garner/features.hpp"
#include "nn/aggregate.hpp"

namespace garner {

// errc::input names the first row of a table with a number that is not finite; `position`: which row of the table each is.
void require_numbers(executor& x, float const* rows, std::uint64_t count, std::uint64_t width,
                     std::function<std::uint64_t(std::uint64_t row)> const& position, buffer<std::uint64_t>* in = nullptr);
// Rows [first, first + count) of a table as floats, scaled; errc::input names a row with a number that is not finite. `kept`: its
// workspace, for the next call.
struct take_room {
  buffer<std::int64_t> ids;
  buffer<std::uint64_t> bad;
};
// `which`: of these positions instead, `count` of them, in host memory.
void take_rows(executor& x, tiered_tensor& features, row_scaling scaling, std::uint64_t first, std::uint64_t count, float* to,
               take_room* kept = nullptr, std::int64_t const* which = nullptr);
// f(), whose errors name the type; "": the only one.
template <class F>
void naming_type(std::string const& type, F const& f) try {
  f();
} catch (error const& e) {
  if (type.empty()) throw;
  fail(e.code(), "'{}': {}", type, e.what());
}

}  // namespace garner

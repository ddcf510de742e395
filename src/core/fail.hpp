// Throws garner::error with a formatted message.
//   fail(errc::input, "{}: line {}: '{}' is not a vertex id; expected a whole number", file, line, word);
// Convention: "WHERE: WHAT with the values; WHAT TO TRY", one line, no full stop at the end.
#pragma once
#include <fmt/format.h>

#include <utility>

#include "garner/error.hpp"

namespace garner {

template <class... Args>
[[noreturn]] void fail(errc code, fmt::format_string<Args...> text, Args&&... args) {
  throw error(code, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_id(fmt::format_string<Args...> text, Args&&... args) {
  throw id_error(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace garner

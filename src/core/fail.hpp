// Throws garner::error with a formatted message.
//   fail(errc::input, "{}: line {}: '{}' is not a vertex id; expected a whole number", file, line, word);
// Convention: "WHERE: WHAT with the values; WHAT TO TRY", one line, no full stop at the end.
// And the border of the contract, which garner::error alone crosses: as_error(f) is f(), and whatever f throws leaves as one; a longer
// function is a try block that ends so. Whatever of include/garner may throw otherwise is one of these.
#pragma once
#include <fmt/format.h>

#include <utility>

#include "garner/error.hpp"

namespace garner {

namespace detail {
[[noreturn]] void fail(errc code, fmt::string_view text, fmt::format_args args);
[[noreturn]] void fail_id(fmt::string_view text, fmt::format_args args);
}  // namespace detail

template <class... Args>
[[noreturn]] void fail(errc code, fmt::format_string<Args...> text, Args&&... args) {
  detail::fail(code, text, fmt::make_format_args(args...));
}

template <class... Args>
[[noreturn]] void fail_id(fmt::format_string<Args...> text, Args&&... args) {
  detail::fail_id(text, fmt::make_format_args(args...));
}

[[noreturn]] void rethrow_as_error();  // what is being handled
template <class F>
decltype(auto) as_error(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    rethrow_as_error();
  }
}

}  // namespace garner

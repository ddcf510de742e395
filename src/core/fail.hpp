// Throws garner::error with a formatted message.
//   fail(errc::input, "{}: line {}: '{}' is not a vertex id; expected a whole number", file, line, word);
// Convention: "WHERE: WHAT with the values; WHAT TO TRY", one line, no full stop at the end.
// And the boundary of the API, which only garner::error crosses: as_error(f) is f(), and any exception of f leaves as one. A longer
// function is a try block that ends so. Every function of include/garner that may throw has one of the two forms.
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

// The words for the values of an enumeration, in their order: a table says what each value is called, and refuses a text that it lacks.
//   constexpr word_table<model_kind> kinds{"unknown model '{text}': use {a_or_b}", {"gcn", "sage", "gin"}};
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "core/fail.hpp"

namespace garner {

template <class E>
struct word_table {
  std::string_view refusal;                  // {text}: what was given; {a_or_b}: the words as "a, b or c"; {a_b}: as "a, b, c"
  std::array<std::string_view, 16> slots{};  // more than any enumeration has

  constexpr std::span<std::string_view const> all() const { return {slots.begin(), std::find(slots.begin(), slots.end(), "")}; }
  constexpr std::string_view operator[](E value) const { return slots.at(static_cast<std::size_t>(value)); }
  E parse(std::string_view text) const {
    return as_error([&] {
      auto const some = all();
      auto const at = std::find(some.begin(), some.end(), text);
      if (at != some.end()) return static_cast<E>(at - some.begin());
      std::string const a_b = fmt::format("{}", fmt::join(some, ", "));
      std::string const a_or_b = fmt::format("{} or {}", fmt::join(some.first(some.size() - 1), ", "), some.back());
      detail::fail(errc::usage, refusal, fmt::make_format_args(fmt::arg("text", text), fmt::arg("a_b", a_b), fmt::arg("a_or_b", a_or_b)));
    });
  }
};

}  // namespace garner

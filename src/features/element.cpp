// Names of what tables hold and of how rows are gathered.
#include <array>

#include "core/fail.hpp"
#include "garner/features.hpp"

namespace garner {

namespace {
constexpr std::array<std::string_view, 6> elements{"f32", "f16", "bf16", "i8", "i64", "u8"};
constexpr std::array<std::string_view, 6> strategies{"automatic", "staged", "naive", "shifted", "aligned", "bulk"};
constexpr std::array<std::string_view, 4> orders{"automatic", "none", "sorted", "bucketed"};
constexpr std::array<std::string_view, 3> duplicates{"automatic", "once", "repeat"};
constexpr std::array<std::string_view, 2> policies{"next-use", "pinned"};

template <class Enum, std::size_t N>
Enum parse_name(std::array<std::string_view, N> const& names, std::string_view text, char const* what) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  fail(errc::usage, "'{}' is not a known {}; use one of {}", text, what, fmt::join(names, ", "));
}
}  // namespace

std::string_view to_string(element e) { return elements[static_cast<std::size_t>(e)]; }
std::string_view to_string(gather_strategy w) { return strategies[static_cast<std::size_t>(w)]; }
std::string_view to_string(gather_order o) { return orders[static_cast<std::size_t>(o)]; }
std::string_view to_string(gather_duplicates d) { return duplicates[static_cast<std::size_t>(d)]; }
std::string_view to_string(cache_policy p) { return policies[static_cast<std::size_t>(p)]; }
element parse_element(std::string_view text) { return parse_name<element>(elements, text, "element type"); }
gather_strategy parse_gather_strategy(std::string_view text) {
  return parse_name<gather_strategy>(strategies, text, "strategy of a gather");
}
gather_order parse_gather_order(std::string_view text) { return parse_name<gather_order>(orders, text, "order of a gather"); }
gather_duplicates parse_gather_duplicates(std::string_view text) {
  return parse_name<gather_duplicates>(duplicates, text, "treatment of duplicates");
}
cache_policy parse_cache_policy(std::string_view text) { return parse_name<cache_policy>(policies, text, "cache policy"); }

}  // namespace garner

// Names of what tables hold and of how rows are gathered.
#include "core/words.hpp"
#include "garner/features.hpp"

namespace garner {

constexpr word_table<element> elements{"'{text}' is not a known element type; use one of {a_b}", {"f32", "f16", "bf16", "i8", "i64", "u8"}};
std::string_view to_string(element value) { return elements[value]; }
element parse_element(std::string_view text) { return elements.parse(text); }

constexpr word_table<gather_strategy> gather_strategies{"'{text}' is not a known strategy of a gather; use one of {a_b}",
                                                        {"automatic", "staged", "naive", "shifted", "aligned", "bulk"}};
std::string_view to_string(gather_strategy value) { return gather_strategies[value]; }
gather_strategy parse_gather_strategy(std::string_view text) { return gather_strategies.parse(text); }

constexpr word_table<gather_order> gather_orders{"'{text}' is not a known order of a gather; use one of {a_b}",
                                                 {"automatic", "none", "sorted", "bucketed"}};
std::string_view to_string(gather_order value) { return gather_orders[value]; }
gather_order parse_gather_order(std::string_view text) { return gather_orders.parse(text); }

constexpr word_table<gather_duplicates> duplicates{"'{text}' is not a known treatment of duplicates; use one of {a_b}",
                                                   {"automatic", "once", "repeat"}};
std::string_view to_string(gather_duplicates value) { return duplicates[value]; }
gather_duplicates parse_gather_duplicates(std::string_view text) { return duplicates.parse(text); }

constexpr word_table<cache_policy> policies{"'{text}' is not a known cache policy; use one of {a_b}", {"next-use", "pinned"}};
std::string_view to_string(cache_policy value) { return policies[value]; }
cache_policy parse_cache_policy(std::string_view text) { return policies.parse(text); }

}  // namespace garner

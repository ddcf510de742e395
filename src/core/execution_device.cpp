#include "garner/device.hpp"

#include <array>
#include <charconv>

#include "core/fail.hpp"

namespace garner {

namespace {
constexpr std::array<std::string_view, 5> tier_names{"device", "peer", "host", "managed", "file"};
constexpr std::array<std::string_view, 6> access_names{"strided", "merged", "aligned", "bulk", "paged", "copied"};

template <class Enum, std::size_t N>
Enum parse_name(std::array<std::string_view, N> const& names, std::string_view text, char const* what, char const* choices) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  fail(errc::usage, "'{}' is not a known {}; use one of {}", text, what, choices);
}
}  // namespace

std::string to_string(execution_device where) {
  switch (where.kind) {
    case device_kind::cpu:
      return "cpu";
    case device_kind::simulated:
      return "simulated";
    case device_kind::cuda:
      break;
  }
  return as_error([&] { return fmt::format("cuda:{}", where.index); });
}
std::string_view to_string(tier t) { return tier_names[static_cast<std::size_t>(t)]; }
std::string_view to_string(access_mode a) { return access_names[static_cast<std::size_t>(a)]; }

execution_device parse_device(std::string_view text) {
  if (text == "cpu" || text == "host") return {device_kind::cpu, 0};
  if (text == "simulated" || text == "traced") return {device_kind::simulated, 0};
  if (text == "cuda" || text == "device") return {device_kind::cuda, 0};
  for (std::string_view const kind : {"cuda:", "device:"}) {  // host and device: their names before 0.1.0
    if (!text.starts_with(kind)) continue;
    int index = -1;
    auto const [end, problem] = std::from_chars(text.data() + kind.size(), text.data() + text.size(), index);
    if (problem == std::errc() && end == text.data() + text.size() && index >= 0) return {device_kind::cuda, index};
  }
  fail(errc::usage, "'{}' is not a device; use cpu, cuda, cuda:N or simulated", text);
}
tier parse_tier(std::string_view text) { return parse_name<tier>(tier_names, text, "tier", "device, peer, host, managed, file"); }
access_mode parse_access(std::string_view text) {
  return parse_name<access_mode>(access_names, text, "access", "strided, merged, aligned, paged, copied");
}

}  // namespace garner

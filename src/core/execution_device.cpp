#include "garner/device.hpp"

#include <charconv>

#include "core/access.hpp"
#include "core/words.hpp"

namespace garner {

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

constexpr word_table<tier> tiers{"'{text}' is not a known tier; use one of {a_b}", {"device", "peer", "host", "managed", "file"}};
std::string_view to_string(tier value) { return tiers[value]; }
tier parse_tier(std::string_view text) { return tiers.parse(text); }

constexpr word_table<access_mode> access_modes{"'{text}' is not a known access; use one of strided, merged, aligned, paged, copied",
                                               {"strided", "merged", "aligned", "bulk", "paged", "copied"}};
std::string_view to_string(access_mode value) { return access_modes[value]; }
access_mode parse_access(std::string_view text) { return access_modes.parse(text); }

}  // namespace garner

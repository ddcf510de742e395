// Predicted times on links, as plan and traffic print them: this machine's calibrated link, and those that carry whole lines at the rates
// of PCIe 3 and 4 (the dissertation's figure 2.14) and PCIe 5.
#pragma once
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "garner/build.hpp"
#include "garner/device.hpp"
#include "garner/error.hpp"
#include "garner/handle.hpp"
#include "garner/link.hpp"

namespace garner::cli {

struct named_link {
  char const* name;  // GB/s
  double gbs;
};
inline constexpr std::array<named_link, 3> named_links{{{"12.3", 12.3}, {"24", 24}, {"51", 51}}};

// The link of the device `where`, or that of device 0 for others. It is read from the cache, else measured now. Empty without a GPU,
// if other work on the GPU must not be disturbed, or if too little memory is allowed for the measurement.
inline std::optional<link_rates> link_here(execution_device where, bool measure) {
  int const index = where.kind == device_kind::cuda ? where.index : 0;
  if (index >= device_count()) return std::nullopt;
  if (measure) {
    try {
      return rates_of(link_of(index));
    } catch (error const& e) {
      if (e.code() != errc::memory) throw;
    }
  }
  std::optional<link_calibration> const known = known_link(index);
  return known ? std::optional(rates_of(*known)) : std::nullopt;
}
inline std::string why_no_link(execution_device where) {
  if (device_count() == 0) return describe_build().no_device;
  if (where.kind == device_kind::cuda && where.index >= device_count()) return to_string(where) + " is not here";
  return "the link was not measured yet; garner info does";
}

// `ms(rates)` returns the prediction, or empty if it is unknown.
template <class F>
nlohmann::ordered_json times_of(std::optional<link_rates> const& here, F ms) {
  auto const or_null = [](std::optional<double> t) { return t ? nlohmann::ordered_json(*t) : nlohmann::ordered_json(nullptr); };
  nlohmann::ordered_json all{{"here", here ? or_null(ms(*here)) : nlohmann::ordered_json(nullptr)}};
  for (named_link const& l : named_links) all[l.name] = or_null(ms(link_rates::of(l.gbs)));
  return all;
}

inline std::string shown_ms(nlohmann::ordered_json const& ms) {
  if (ms.is_null()) return "-";
  double const t = ms.get<double>();
  return fmt::format("{:.{}f}", t, t < 10 ? 3 : t < 1000 ? 1 : 0);
}

}  // namespace garner::cli

// Execution device and memory tier.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace garner {

enum class device_kind : std::uint8_t {
  cpu,        // the threads of the CPU, each a team
  cuda,       // a GPU, whose teams are at most a warp
  simulated,  // the CPU simulating GPU teams in lockstep, to count the requests that a GPU would send
};

struct execution_device {
  device_kind kind = device_kind::cpu;
  int index = 0;  // device index; 0 for the others
  bool operator==(execution_device const&) const = default;
};

// Memory tiers. `managed` is host memory that the driver migrates to the device page by page (UVM): the baseline.
enum class tier : std::uint8_t { device, peer, host, managed, file };
inline constexpr std::size_t tier_count = 5;

std::string to_string(execution_device device);                                           // "cpu", "cuda:0", "simulated"
constexpr bool in_device_memory(tier t) { return t == tier::device || t == tier::peer; }  // the host cannot read it
std::string_view to_string(tier t);                                                       // "device", "peer", "host", "managed", "file"

execution_device parse_device(std::string_view text);  // "cpu", "cuda", "cuda:1", "simulated"; errc::usage with the choices otherwise
tier parse_tier(std::string_view text);

}  // namespace garner

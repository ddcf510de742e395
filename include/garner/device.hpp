// Execution device, memory tier (tier), and how a team reads a span (access).
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

// How a team reads a span (chapter 2.3.3 of EMOGI): one thread per span; one warp per span; one warp per span, starting at a 128-byte
// line; the copy engine; UVM pages; or not at all: the host compacts the active lists and copies them (Subway, EuroSys 2020).
enum class access_mode : std::uint8_t { strided, merged, aligned, bulk, paged, copied };

std::string to_string(execution_device device);                                           // "cpu", "cuda:0", "simulated"
constexpr bool in_device_memory(tier t) { return t == tier::device || t == tier::peer; }  // the host cannot read it
std::string_view to_string(tier t);                                                       // "device", "peer", "host", "managed", "file"
std::string_view to_string(access_mode);  // "strided", "merged", "aligned", "bulk", "paged", "copied"

execution_device parse_device(std::string_view text);  // "cpu", "cuda", "cuda:1", "simulated"; errc::usage with the choices otherwise
tier parse_tier(std::string_view text);
access_mode parse_access(std::string_view text);

tier default_tier(execution_device where, access_mode how);                     // host; managed for paged
void require_combination(execution_device where, tier edges, access_mode how);  // errc::usage where they do not go together

}  // namespace garner

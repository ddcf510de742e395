// for_each_item: runs a kernel over items, on the device of an executor.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#if defined(__CUDACC__)
#include "core/exec/current_device.hpp"
#endif
#include "core/access.hpp"
#include "core/device.hpp"
#include "core/exec/team.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

#if defined(__CUDACC__)
template <int Width, class Body>
__global__ void run_teams(Body const body, std::uint64_t n, std::uint64_t const* counted, bool aligned) {
  if (counted) n = smaller(n, *counted);
  std::uint64_t const thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint64_t const teams = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / Width;
  for (std::uint64_t i = thread / Width; i < n; i += teams) body(team(lanes::device<Width>{aligned}), i);
}
// run_teams for a kernel that declares `using full_blocks = void`. Its registers are limited
// to what a block of 1,024 threads allows, so that it runs on any share of the device.
template <int Width, class Body>
__global__ void __launch_bounds__(1024) run_full_teams(Body const body, std::uint64_t n, std::uint64_t const* counted, bool aligned) {
  if (counted) n = smaller(n, *counted);
  std::uint64_t const thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint64_t const teams = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / Width;
  for (std::uint64_t i = thread / Width; i < n; i += teams) body(team(lanes::device<Width>{aligned}), i);
}

namespace detail {
// The name of a launch in profilers: the kernel's, taken from "... [with Body = garner::{anonymous}::expand<unsigned int>]".
template <class Body>
char const* name_of_body() {
  static std::string const name = [] {
    std::string_view text = __PRETTY_FUNCTION__;
    std::size_t const from = text.find("Body = ");
    text = text.substr(from == text.npos ? 0 : from + 7);
    while (!text.empty() && (text.back() == ']' || text.back() == ' ')) text.remove_suffix(1);
    for (std::string_view space : {"garner::", "{anonymous}::", "<unnamed>::", "(anonymous namespace)::"})
      if (text.starts_with(space)) text.remove_prefix(space.size());
    return std::string(text);
  }();
  return name.c_str();
}
template <int Width, class Body>
constexpr auto kernel() {
  if constexpr (requires { typename Body::full_blocks; }) return run_full_teams<Width, Body>;
  else return run_teams<Width, Body>;
}
// Registers, when the program or library is loaded, every kernel that it launches anywhere.
template <int Width, class Body>
struct known_kernel {
  static inline bool const known = (device::register_kernel(reinterpret_cast<void const*>(kernel<Width, Body>())), true);
};
// Shared memory of a block, in which each warp decodes compressed adjacency, or each lane receives feature rows.
template <int Width, class Body>
constexpr std::size_t stage_bytes(unsigned threads) {
  std::size_t const decodes = Width == 32 ? threads / 32 * lanes::stages * lanes::stage_words * sizeof(std::uint32_t) : 0;
  if constexpr (requires { Body::rows_ahead; }) return std::max<std::size_t>(decodes, std::size_t{threads} * Body::rows_ahead * 16);
  else return decodes;
}
// Number of blocks of a kernel that one multiprocessor of the current device
// runs at once. The result is kept, since the query costs as much as a launch.
template <int Width, class Body>
int resident_blocks(int device, unsigned threads) {
  static std::array<std::atomic<std::uint64_t>, 16> all{};  // one per device: device << 48 | threads << 32 | blocks
  std::atomic<std::uint64_t>& known = all[static_cast<unsigned>(device) % all.size()];
  std::uint64_t const asked = static_cast<std::uint64_t>(device) << 16 | threads;
  std::uint64_t const kept = known.load(std::memory_order_relaxed);
  if (kept >> 32 == asked) return static_cast<int>(kept & 0xffffffffu);
  int blocks = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<Width, Body>(), static_cast<int>(threads),
                                                    stage_bytes<Width, Body>(threads)) != cudaSuccess)
    cudaGetLastError();
  blocks = std::max(1, blocks);
  known.store(asked << 32 | static_cast<unsigned>(blocks), std::memory_order_relaxed);
  return blocks;
}
}  // namespace detail
#endif

// Runs body(team, i) for each i in [0, items) with teams of Width lanes (1, 4, 8, 16 or 32); on the host a team
// is one thread. Adjacent items go to adjacent teams and start in order. Asynchronous on the device. `as_free`:
// every item has its own team, which starts when another ends. Use it for items whose lengths vary widely: with
// static shares, a team with a long item falls behind, and the remote reads of the teams lose their locality.
template <int Width, class Body>
void for_each_item(executor& x, item_count items, Body const& body, access_mode how = access_mode::aligned,
                   [[maybe_unused]] bool as_free = false) {
  static_assert(Width == 1 || Width == 4 || Width == 8 || Width == 16 || Width == 32);
  std::uint64_t const n = x.asynchronous() ? items.most : items.now();
  if (n == 0) return;
  bool const aligned = how == access_mode::aligned || how == access_mode::paged;
  switch (x.where().kind) {
    case device_kind::cpu: {
      // Waking the thread pool costs as much as about a thousand light items. An item for a wide team is likely a whole range, so fewer of
      // them are taken at once: at the end the threads wait for the one that took the last.
      constexpr std::uint64_t alone = Width == 1 ? 2048 : 64, turns = Width == 1 ? 16 : 64;
      std::uint64_t const grain = std::clamp<std::uint64_t>(n / (x.threads().threads() * turns), 1, 1024);
      x.threads().run(n, n < alone ? n : grain, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) body(team(lanes::host{}), i);
      });
      return;
    }
    case device_kind::simulated: {
      x.give([items, body, aligned, sink = x.sink()] {
        constexpr std::uint64_t teams = 32 / Width;
        std::vector<far_read> reads[teams];
        std::uint64_t const n = items.now();
        for (std::uint64_t warp = 0; warp < n; warp += teams) {
          if (warp % 4096 == 0) check_interrupted();
          std::uint64_t const in_warp = std::min(teams, n - warp);
          for (std::uint64_t t = 0; t < in_warp; ++t) {
            reads[t].clear();
            body(team(lanes::simulated<Width>{{}, sink ? &reads[t] : nullptr, aligned}), warp + t);
          }
          for (std::uint64_t t = in_warp; t < teams; ++t) reads[t].clear();  // the last warp may lack some teams
          if (sink) sink->warp({reads, teams});
        }
      });
      return;
    }
    case device_kind::cuda:
      break;
  }
#if defined(__CUDACC__)
  // The next block starts when the slowest team of a block has ended. So items whose lengths vary get small blocks.
  bool const free = as_free && !x.share_blocks();
  unsigned const threads = x.threads_a_block(free ? 64 : 256);
  auto* const kernel = detail::kernel<Width, Body>();
  (void)&detail::known_kernel<Width, Body>::known;
  current_device const here(x.device());
  // Launches only as many blocks as run at once: blocks that waited would start a second sweep over the items, out of order.
  std::uint64_t const most = x.share_blocks() ? x.share_blocks()
                                              : static_cast<std::uint64_t>(detail::resident_blocks<Width, Body>(x.device(), threads)) *
                                                    static_cast<unsigned>(x.multiprocessors());
  std::size_t const shared = detail::stage_bytes<Width, Body>(threads);
  if (shared > 48u << 10)  // beyond 48 KiB a kernel must opt in
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)) != cudaSuccess) {
      cudaGetLastError();
      fail(errc::device, "device {}: a kernel wants {} bytes of shared memory a block, which the device does not have", x.device(), shared);
    }
  std::uint64_t const all = (n * Width + threads - 1) / threads;
  device::named_range const named(detail::name_of_body<Body>());
  auto const blocks = static_cast<unsigned>(free && all < 0x7fffffff ? all : std::min(all, most));
  kernel<<<blocks, threads, shared, static_cast<cudaStream_t>(x.stream())>>>(body, n, items.at, aligned);
  if (cudaError_t const status = cudaGetLastError(); status != cudaSuccess)
    fail(errc::device, "device {}: a kernel could not be started: {}; was this build made for this GPU?", x.device(),
         cudaGetErrorString(status));
#else
  fail(errc::device, "this build has no GPU support; build with CUDA=1, or use device cpu or simulated");
#endif
}

}  // namespace garner

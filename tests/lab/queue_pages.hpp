// Pages that request queues read, compared byte by byte.
#pragma once
#include <gmock/gmock.h>

#include <cstring>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "lab/bam/queue.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner::testing {
using namespace lab;

inline std::vector<std::uint64_t> some_pages(std::uint64_t n, std::uint64_t pages, std::uint64_t seed) {
  std::vector<std::uint64_t> wanted(n);
  for (std::uint64_t i = 0; i < n; ++i) wanted[i] = mix(seed + i) % pages;
  return wanted;
}

// Reads into a frame each, and compares every byte with `byte` of its position.
template <class Byte>
void read_and_compare(executor& x, request_queues& queues, std::vector<std::uint64_t> const& wanted, Byte byte) {
  std::vector<std::uint32_t> frames(wanted.size());
  for (std::uint32_t k = 0; k < frames.size(); ++k) frames[k] = k;
  auto const pages = near_copy(x, wanted);
  auto const into = near_copy(x, frames);
  for (std::uint32_t k = 0; k < frames.size(); ++k) std::memset(queues.frame(k), 0xee, queues.page_bytes());
  queues.read(x, {pages.data(), wanted.size()}, {into.data(), wanted.size()});
  frames = host_copy(x, into.data(), frames.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::byte const* const at = queues.frame(frames[i]);
    for (std::uint64_t k = 0; k < queues.page_bytes(); ++k)
      if (at[k] != byte(wanted[i] * queues.page_bytes() + k))
        FAIL() << "request " << i << ", page " << wanted[i] << ", byte " << k << " is " << static_cast<int>(at[k]);
  }
}
inline void read_and_compare(executor& x, request_queues& queues, std::vector<std::uint64_t> const& wanted) {
  read_and_compare(x, queues, wanted, [](std::uint64_t place) { return byte_at(place); });
}
inline queue_options with(std::uint32_t page_bytes, std::uint32_t frames, double time_out = 20) {
  queue_options o;
  o.page_bytes = page_bytes, o.frames = frames, o.time_out_seconds = time_out;
  return o;
}

}  // namespace garner::testing

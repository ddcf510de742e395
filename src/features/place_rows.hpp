// Where the rows of a table go: how many into which tier, and which they are.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/features.hpp"
#include "memory/buffer.hpp"

namespace garner {

struct row_budget {
  std::uint64_t rows = 0, row_bytes = 0;
  std::optional<std::uint64_t> device_budget, peer_budget;  // as the user has them
  std::uint64_t free_here = 0, least_free_of_peers = 0;     // bytes
  std::uint32_t peers = 0;                                  // that can be used
};
struct row_shares {
  std::uint64_t near = 0, peer = 0;  // rows here; rows on all peers together
  std::string why;                   // the budgets, where they were chosen
};
row_shares share_rows(row_budget const& b);

// The ids of the `count` highest scores, highest first, of equal ones the lowest id first. errc::input names a score that is no number.
buffer<std::uint64_t> hottest(std::span<float const> scores, std::uint64_t count);

}  // namespace garner

// Where the rows of a table go: how many into which tier, and which they are.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/peer_group.hpp"
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

// For a table that stays in a file, the rows that no device holds.
struct file_budget {
  std::uint64_t rows = 0, row_bytes = 0;
  std::optional<std::uint64_t> host_budget, file_cache;  // as the user has them
  std::uint64_t free_host = 0;
};
struct file_shares {
  std::uint64_t host = 0, cache_bytes = 0;  // rows in host memory for good; of rows that come from the file: 0 where none do
  std::string why;
};
file_shares share_file_rows(file_budget const& b);  // errc::usage where not one row that comes from the file has room

// Rows that lie once for all that gather: row k of them is row k / n of peer k % n. Shared by the tensors that read them and released with
// the last; each peer's rows are one block, or of a group of processes, which each have their own peer's.
struct rows_on_peers {
  std::vector<int> devices;          // of the peers, in their order; empty without peers
  std::vector<memory_block> blocks;  // a peer each, where this process has them all
  std::optional<peer_group> group;
  std::vector<void const*> at;  // where those of each peer begin
};
constexpr std::uint64_t rows_of_peer(std::uint64_t rows, std::uint64_t peers, std::uint64_t p) { return (rows + peers - 1 - p) / peers; }

void require_numbers(std::span<float const> scores);  // errc::input names the first invalid one

// The ids of the `count` highest scores, which are numbers, highest first, of equal ones the lowest id first.
buffer<std::uint64_t> hottest(std::span<float const> scores, std::uint64_t count);

}  // namespace garner

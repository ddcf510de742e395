// Makes a shard's rows readable to the kernels of all others: fills in a peer table. One object per shard; the calls are for the host,
// hidden from kernels.
// Invariant: all shards make the same calls in the same order. An exception that not all threw at once ends the training of all.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "memory/buffer.hpp"
#include "shard/peer_table.hpp"

namespace garner {

// Rows on this shard's device, with `used_bytes` of each; the rest up to the next is ignored.
struct shared_part {
  void const* base = nullptr;
  std::uint64_t rows = 0, row_bytes = 0, used_bytes = 0;
  bool for_first = false;  // only shard 0 reads those of others
  std::uint64_t bytes() const { return rows ? (rows - 1) * row_bytes + used_bytes : 0; }
};

// Which rows shards need of each other, again and again; where rows are not read in place.
struct row_demand {
  std::vector<std::uint64_t> needed;         // of each other shard: so many
  std::vector<buffer<std::uint32_t>> asked;  // by each: these of this shard's, on the device
};

class row_access {
 public:
  virtual ~row_access() = default;
  // By all shards together, once for each kind of sharing: needs[k] of shard k's rows. Null: they are read in place.
  virtual std::shared_ptr<row_demand const> ask(executor&, std::vector<std::vector<std::uint32_t>> const&) { return nullptr; }
  // The table is valid once before() was called for the reader. Rows have their original layout and stride; this shard's own are not moved.
  // `only`: from others just the needed rows, in that order, contiguous.
  virtual peer_table share(executor& x, shared_part const& mine, row_demand const* only) = 0;
  virtual void before(std::uint32_t, executor&) {}
  // All have read, once what is given to x from here on happens.
  virtual void close(executor& x) = 0;
  virtual void drop(executor& x) = 0;       // instead of close(): something was thrown
  virtual bool waits() const = 0;           // the host waits for the device in these calls, so they cannot be recorded
  virtual std::string about() const = 0;    // transport of the rows
  virtual std::uint64_t bytes() const = 0;  // on the device, allocated by it
};

}  // namespace garner

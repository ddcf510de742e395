// How rows that a shard shares come to be where the kernels of all others read them: what fills in a peer table. An object a shard; the
// calls are of the host, and a kernel knows nothing of them.
// Invariant: all shards make the same calls in the same order. What a call throws that not all threw at once ends the training of all.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "memory/buffer.hpp"
#include "shard/peer_table.hpp"

namespace garner {

// Rows near this shard, with `used_bytes` of each; the rest up to the next is not looked at.
struct shared_part {
  void const* base = nullptr;
  std::uint64_t rows = 0, row_bytes = 0, used_bytes = 0;
  bool for_first = false;  // only shard 0 reads those of others
  std::uint64_t bytes() const { return rows ? (rows - 1) * row_bytes + used_bytes : 0; }
};

// Which rows shards need of each other, again and again; where rows are not read in place.
struct row_demand {
  std::vector<std::uint64_t> needed;         // of each other shard: so many
  std::vector<buffer<std::uint32_t>> asked;  // by each: these of this shard's, near
};

class row_access {
 public:
  virtual ~row_access() = default;
  // Of all shards together, once for each kind of sharing: needs[k] of shard k's rows. Null: they are read where they lie.
  virtual std::shared_ptr<row_demand const> ask(executor&, std::vector<std::vector<std::uint32_t>> const&) { return nullptr; }
  // What the table tells is there once before() was said to who reads. Rows are as they were near, so far apart; this shard's own are not
  // moved. `only`: of others just the rows that were needed, in that order, one after the other.
  virtual peer_table share(executor& x, shared_part const& mine, row_demand const* only) = 0;
  virtual void before(std::uint32_t, executor&) {}
  // All have read, once what is given to x from here on happens.
  virtual void close(executor& x) = 0;
  virtual void drop(executor& x) = 0;       // instead of close(): something was thrown
  virtual bool waits() const = 0;           // the host waits for the device in these calls, so they cannot be recorded
  virtual std::string about() const = 0;    // what rows come over
  virtual std::uint64_t bytes() const = 0;  // near, taken by it
};

}  // namespace garner

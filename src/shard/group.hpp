// The first provider of peer tables: n shards of one process, a thread and an executor each; all of one place, or devices that have peer
// access to each other. The threads meet in a rank_group, which tells of one that has gone.
// Invariants: all shards make the same calls in the same order. Rows that are shared stay as they are until close() has returned, or what
// is given to the executor after it; a shard that fails in between waits for the others to have read, so that nobody reads what is gone.
// Cost: two meetings of threads; nobody waits for a device.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "comm/rank_group.hpp"
#include "core/event.hpp"
#include "core/executor.hpp"
#include "shard/peer_table.hpp"

namespace garner {

class shard_group {
 public:
  explicit shard_group(shard_options const& o, double wait_seconds = 60);
  shard_options const& options() const { return options_; }
  std::shared_ptr<rank_group> const& threads() const { return threads_; }

  // After rank_group::take(). errc::device names two devices without peer access to each other.
  void take(std::uint32_t shard, executor& x);

  // What shard 0 made, for all.
  template <class T>
  std::shared_ptr<T const> from_first(std::uint32_t shard, std::shared_ptr<T const> mine) {
    return std::static_pointer_cast<T const>(share(shard, std::move(mine)));
  }

 private:
  friend class shared_rows;
  std::shared_ptr<void const> share(std::uint32_t shard, std::shared_ptr<void const> mine);
  struct member {
    place where;
    std::shared_ptr<void const> given;
    peer_table::part part;
    event ready, read;
  };
  shard_options options_;
  std::shared_ptr<rank_group> threads_;
  std::array<member, shard_parts::most> members_;
};

// All shards give rows and read those of each other. Made when all have given theirs.
class shared_rows {
 public:
  shared_rows(shard_group& g, std::uint32_t shard, executor& x, void const* mine, std::uint64_t rows, std::uint64_t row_bytes);
  ~shared_rows();  // not closed: something was thrown
  shared_rows(shared_rows const&) = delete;
  shared_rows& operator=(shared_rows const&) = delete;

  peer_table const& table() const { return table_; }
  void before(std::uint32_t shard, executor& reader) const;  // what is given to the reader from here on finds that shard's rows
  void close();                                              // all have read, once what is given to x from here on happens

 private:
  shard_group& group_;
  std::uint32_t shard_;
  executor& x_;
  peer_table table_;
  bool open_ = true;
};

}  // namespace garner

// Shards that make the same calls: threads of one process with an executor each, or processes of one machine; all on one device, or on
// several. They use a rank_group, which detects dead ones. The transport of rows (row_access) is chosen together.
// Invariants: all shards make the same calls in the same order, and all come to the same choice: a transport that one of them lacks is
// skipped by all. Shared rows are constant until close() has returned, or until the work submitted after it; a shard that fails in between
// waits for the readers, so that freed memory is never read.
// Cost: for threads whose devices have peer access two barriers, and no wait for a device; else see rows.cpp.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/rank_group.hpp"
#include "core/event.hpp"
#include "core/executor.hpp"
#include "shard/parts.hpp"
#include "shard/row_access.hpp"

namespace garner {

class pass_token;  // shard/recording.hpp

class shard_group {
 public:
  explicit shard_group(shard_asked const& o, double timeout_seconds = 300);
  // This process is that shard. `timeout_seconds`: for all to join, and for each at every barrier: a later one is named, and all end.
  // `also`: further parameters that must be equal for all processes.
  shard_group(shard_asked const& o, std::string const& name, std::uint32_t shard, double timeout_seconds = 60,
              std::string const& also = "");
  shard_asked const& options() const { return options_; }
  std::shared_ptr<rank_group> const& threads() const { return threads_; }  // or processes
  bool of_processes() const { return threads_->only().has_value(); }
  void take_way(shard_strategy w) { options_.strategy = w; }  // by all, before lists are cut
  // For mgg from the next aggregation on, set while all shards are outside of one; the cut of lists stays.
  void take_shape(mgg_tuning const& s) { options_.tuning = s; }

  // After rank_group::join(). errc::usage names two shards at places of different kinds, errc::device what each provider refused.
  void join(std::uint32_t shard, executor& x);
  shard_link const& link(std::uint32_t shard) const { return members_[shard].link; }                              // after it
  bool apart(std::uint32_t a, std::uint32_t b) const { return !devices_.empty() && devices_[a] != devices_[b]; }  // on devices of their own
  std::shared_ptr<row_demand const> ask(std::uint32_t shard, executor& x, std::vector<std::vector<std::uint32_t>> const& needs) {
    return members_[shard].access->ask(x, needs);
  }
  row_access const& access(std::uint32_t shard) const { return *members_[shard].access; }
  // Null: it joins the others when they all do. By its own thread.
  void use_token(std::uint32_t shard, pass_token* by) { members_[shard].token = by; }

  // What make() gives on shard 0, for all; each process makes its own.
  template <class Make>
  auto from_first(std::uint32_t shard, Make const& make) {
    using shared = decltype(make());
    if (of_processes()) return make();
    return std::static_pointer_cast<typename shared::element_type>(
        std::const_pointer_cast<void>(share(shard, shard == 0 ? make() : nullptr)));
  }

 private:
  friend class shared_rows;
  class direct_rows;
  std::shared_ptr<void const> share(std::uint32_t shard, std::shared_ptr<void const> mine);
  // Why not, as agree() says it; empty: `rows` is there, and works.
  std::string make(shard_provider p, std::uint32_t shard, executor& x, std::unique_ptr<row_access>& rows);
  std::string try_out(row_access& a, std::uint32_t shard, executor& x);
  void barrier(std::uint32_t shard);
  std::string unreached(std::uint32_t shard, executor const& x) const;
  struct member {
    execution_device where;
    std::shared_ptr<void const> given;
    shared_part part;
    event ready, read;
    std::unique_ptr<row_access> access;
    shard_link link;
    pass_token* token = nullptr;
  };
  shard_asked options_;
  std::shared_ptr<rank_group> threads_;
  std::array<member, shard_parts::most> members_;
  std::vector<std::string> devices_;  // of the shards, by bus address
};

// f(shard) on a thread each, shard 0's the caller's. The first failure is thrown when all have ended: the others end at their next barrier
// with that shard, or with one that has ended.
void on_shards(shard_group& g, std::function<void(std::uint32_t)> const& f);

// f() by all shards. Returns which shard failed in it and why, the same on all; empty: none did. errc::interrupted goes through.
std::string agree(rank_group& ranks, std::uint32_t shard, std::function<void()> const& f);

// All shards publish rows and read those of each other. Made when all have published theirs.
class shared_rows {
 public:
  // `only`, of shard_group::ask(): from others just these.
  shared_rows(shard_group& g, std::uint32_t shard, executor& x, shared_part const& mine, row_demand const* only = nullptr);
  ~shared_rows();  // not closed: something was thrown
  shared_rows(shared_rows const&) = delete;
  shared_rows& operator=(shared_rows const&) = delete;

  peer_table const& table() const { return table_; }
  // Rows of another shard for the requested `which`; null: consecutive, from the first on.
  std::uint32_t const* at(std::uint32_t const* which) const { return picked_ ? nullptr : which; }
  void before(std::uint32_t shard, executor& reader) const;  // what is given to the reader from here on finds that shard's rows
  void close();                                              // all have read, once what is given to x from here on happens

 private:
  row_access& access_;
  executor& x_;
  peer_table table_;
  bool open_ = true, picked_;
};

}  // namespace garner

#include "shard/group.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"
#include "shard/parts.hpp"

namespace garner {

namespace {
std::shared_ptr<rank_group> threads_of(shard_options const& o, double wait_seconds) {
  check_shard_options(o);
  return rank_group::of_threads(o.shards, wait_seconds);
}
}  // namespace

shard_group::shard_group(shard_options const& o, double wait_seconds) : options_(o), threads_(threads_of(o, wait_seconds)) {}

void shard_group::take(std::uint32_t shard, executor& x) {
  members_[shard].where = x.where();
  threads_->meet(shard);
  for (std::uint32_t k = 0; k < options_.shards; ++k) {
    place const other = members_[k].where;
    if (other.kind != x.where().kind)
      fail(errc::usage, "shard {} at {} and shard {} at {}: give all shards places of one kind", shard, to_string(x.where()), k,
           to_string(other));
    if (!x.on_device() || other.index == x.device()) continue;
    if (!device::peer_of(x.device(), other.index).can)
      fail(errc::device, "device {} cannot read the memory of device {}; say devices with peer access to each other, or one", x.device(),
           other.index);
    device::enable_peer(x.device(), other.index);
  }
}

std::shared_ptr<void const> shard_group::share(std::uint32_t shard, std::shared_ptr<void const> mine) {
  members_[shard].given = std::move(mine);
  threads_->meet(shard);
  std::shared_ptr<void const> const first = members_[0].given;
  threads_->meet(shard);
  members_[shard].given = {};
  return first;
}

shared_rows::shared_rows(shard_group& g, std::uint32_t shard, executor& x, void const* mine, std::uint64_t rows, std::uint64_t row_bytes)
    : group_(g), shard_(shard), x_(x) {
  auto& m = g.members_[shard];
  m.part = {mine, rows, row_bytes};
  m.ready.record(x);
  g.threads_->meet(shard);
  table_.shards = g.options_.shards;
  for (std::uint32_t k = 0; k < table_.shards; ++k) table_.of[k] = g.members_[k].part;
}

shared_rows::~shared_rows() {
  if (!open_) return;
  try {
    group_.members_[shard_].read.record(x_);
    group_.threads_->meet(shard_);
    x_.wait();
  } catch (...) {  // who is gone reads no more
  }
}

void shared_rows::before(std::uint32_t shard, executor& reader) const {
  if (shard != shard_) group_.members_[shard].ready.before(reader);
}

void shared_rows::close() {
  open_ = false;
  group_.members_[shard_].read.record(x_);
  group_.threads_->meet(shard_);
  for (std::uint32_t k = 0; k < table_.shards; ++k)
    if (k != shard_) group_.members_[k].read.before(x_);
}

}  // namespace garner

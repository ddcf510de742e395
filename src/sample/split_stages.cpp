#include "sample/split_stages.hpp"

#include <algorithm>
#include <utility>

#include "core/progress.hpp"

namespace garner {

using drawing::counter_map;

sampling_response split_stages::draw(std::uint64_t number, std::uint32_t h, std::span<std::int64_t const> vertices,
                                     std::span<std::uint32_t const> batches) {
  check_interrupted();
  std::uint64_t const n = vertices.size();
  sampling_response into;
  into.counts.resize(n);
  if (n == 0) return into;
  auto const room_for = [&](auto& b, std::uint64_t least) { grow(x_, b, least, least + n / 4, "a mini-batch", x_.near()); };
  room_for(b_.all_ids, n), room_for(b_.all_batches, n), room_for(b_.drawn, n), room_for(b_.at, n + 1);
  x_.copy(b_.all_ids.data(), vertices.data(), vertices.size_bytes());
  x_.copy(b_.all_batches.data(), batches.data(), batches.size_bytes());
  stages_.draw_lists(number, h, into);
  return into;
}

void split_stages::begin(some_batches prepared) {
  std::uint64_t most = 0;
  for (sampled_subgraph::parts const* b : prepared) most = std::max(most, b->seeds);
  if (!std::exchange(b_.sized, true) || b_.room.vertices[0] < most) b_.guess(most, prepared.size());
  batches_.assign(prepared.begin(), prepared.end());
  came_.clear(), asks_ = {};
  restart();
  go_on();
}
void split_stages::take(sampling_response came) {
  came_.resize(hop_ + 1);  // hops that were skipped sampled nothing
  came_.back() = std::move(came);
  go_on();
}
void split_stages::restart() {
  stages_.open(batches_);
  hop_ = 0;
  next_hop();
}
// Begins the next hop and copies its counters to the host.
void split_stages::next_hop() {
  auto const n = batches_.size();
  stages_.begin_hop(n, hop_, false);
  counted_.resize(lists_.map.part(n));
  x_.copy(counted_.data(), b_.counters.data(), lists_.map.part(n) * sizeof(std::uint64_t));
  x_.wait();
}
void split_stages::go_on() {
  counter_map const& map = lists_.map;
  auto const fanout = [&] { return lists_.relations[0].of.fanouts[hop_]; };
  while (hop_ < map.hops && (hop_ < came_.size() || fanout() == 0)) {
    std::uint64_t const comes = fanout() == 0 ? 0 : came_[hop_].neighbors.size();
    if (comes > b_.room.items) {
      b_.room.items = comes + comes / 4;
      restart();
      continue;
    }
    if (fanout() != 0) stages_.number_drawn(batches_, hop_, came_[hop_]);
    ++hop_;
    next_hop();
    if (counted_[counter_map::over]) {
      for (std::size_t k = 0; k < batches_.size(); ++k) b_.grow(counted_.data() + map.part(k), batches_[k]->number, batches_[k]->seeds);
      restart();
    }
  }
  if (hop_ == map.hops) {
    stages_.close(batches_);
    x_.wait();
    for (sampled_subgraph::parts* b : batches_) b->pending = true;
    asks_ = {};
    return;
  }
  asks_.more = true, asks_.hop = hop_;
  std::uint64_t const begin = counted_[map.begin(0)], n = counted_[map.drawing(0)];
  asks_.vertices.resize(n), asks_.batches.assign(n, 0);
  bool const several = batches_.size() > 1;
  x_.copy(asks_.vertices.data(), (several ? b_.all_ids.data() : batches_[0]->types[0].ids.data()) + begin, n * sizeof(std::int64_t));
  if (several) x_.copy(asks_.batches.data(), b_.all_batches.data() + begin, n * sizeof(std::uint32_t));
  x_.wait();
}

}  // namespace garner

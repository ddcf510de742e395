#include "shard/recording.hpp"

#include <exception>
#include <utility>

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

void pass_token::barrier() {
  std::uint64_t const now = met_;
  if (++here_ == threads_) {
    here_ = 0, ++met_;
    changed_.notify_all();
  } else if (!changed_.wait_for(mutex_, patience_, [&] { return broken_ || met_ != now; })) {
    break_off();
  }
  if (broken_) throw abandoned{};
}
void pass_token::break_off() {
  broken_ = true;
  changed_.notify_all();
}

void shard_recording::forget() noexcept {
  if (graph_) device::free_recording(device_, stream_, std::exchange(graph_, nullptr));
  parts_ = 0;
}
void shard_recording::leave(std::uint32_t shard) noexcept {
  if (shard == 0 && graph_) device::free_recording(device_, stream_, graph_);
}

void shard_recording::run(std::uint32_t shard, executor& x, std::function<void()> const& work) {
  member& m = members_[shard];
  m.ready.record(x);
  bool known = true;
  for (auto const& said : group_.threads()->all_gather_numbers(shard, {m.given && m.moves == x.moves(), 0})) known &= said[0] == 1;
  if (!known) {
    if (shard == 0) forget();
    m.work = nullptr;
    work();
    m.moves = x.moves(), m.given = true;
    return;
  }
  if (!x.asynchronous()) {
    if (!m.work) m.work = work;
    return m.work();
  }
  if (!graph_ && refused_.empty()) record(shard, x, work);
  if (graph_) give(shard, x);
  else work();
}

void shard_recording::record(std::uint32_t shard, executor& x, std::function<void()> const& work) {
  rank_group& threads = *group_.threads();
  member& m = members_[shard];
  bool const first = shard == 0;
  if (first) {
    token_ = std::make_unique<pass_token>(group_.options().shards, threads.patience());
    device_ = x.device(), stream_ = x.stream();
  }
  threads.barrier(shard);
  std::string why;
  std::string const for_another = "?";
  x.tell_recording();
  // However the work ends, nobody waits for this shard's turn.
  struct turn {
    shard_group& group;
    std::uint32_t shard;
    pass_token& all;
    bool whole = false;
    turn(shard_group& g, std::uint32_t s, pass_token& t) : group(g), shard(s), all(t) {
      all.lock();
      group.use_token(shard, &all);
    }
    ~turn() {
      if (!whole) all.break_off();
      if (shard) device::take_part_in_recording(false);
      group.use_token(shard, nullptr);
      all.unlock();
    }
  };
  try {
    turn mine(group_, shard, *token_);
    if (first) device::begin_recording(device_, stream_), begun_.record(x);
    else device::take_part_in_recording(true);
    token_->barrier();
    if (!first) begun_.before(x);
    work();
    m.done.record(x);
    token_->barrier();
    for (std::uint32_t k = 1; first && k < group_.options().shards; ++k) members_[k].done.before(x);
    mine.whole = true;
  } catch (abandoned const&) {
    why = for_another;
  } catch (std::exception const& e) {
    why = e.what();
  }
  std::string refused;
  for (std::string const& said : threads.all_gather(shard, why))
    if (!said.empty() && (refused.empty() || refused == for_another)) refused = said;
  if (refused == for_another) refused = "a shard was too late for a capture";
  if (first && !refused.empty()) device::drop_recording(device_, stream_);
  if (first && refused.empty()) try {
      graph_ = device::end_recording(device_, stream_, parts_);
    } catch (error const& e) {
      refused = e.what();
    }
  if (first) refused_ = refused;
  x.tell_recording();
  threads.barrier(shard);
}

void shard_recording::give(std::uint32_t shard, executor& x) {
  if (shard == 0) {
    for (std::uint32_t k = 1; k < group_.options().shards; ++k) members_[k].ready.before(x);
    device::replay(device_, stream_, graph_);
    started_.record(x);
  }
  group_.threads()->barrier(shard);
  if (shard) started_.before(x);
  x.tell_recording();
}

}  // namespace garner

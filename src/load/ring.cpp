#include "load/ring.hpp"

#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "graph/handle.hpp"

namespace garner {

void mini_batch::parts::use_on(void* stream) {
  if (!stream || device == -1) return ready.wait();
  // CUDA's per-thread default stream (2) differs between threads, and another thread may release
  // the mini-batch. So the legacy default stream (1) replaces it, which waits for all others.
  if (stream == reinterpret_cast<void*>(2)) stream = reinterpret_cast<void*>(1);
  auto const known = std::span(streams).first(readers);
  if (std::any_of(known.begin(), known.end(), [&](reader const& r) { return r.stream == stream; })) return;
  ready.before(stream);
  if (readers == streams.size()) streams.emplace_back();
  streams[readers++].stream = stream;
}
mini_batch::parts::~parts() {
  each_use([](reader& r) {
    try {
      r.done.wait();
    } catch (...) {  // the device is lost, or the process was forked
    }
  });
}

mini_batch::mini_batch() = default;
mini_batch::~mini_batch() { release(); }
mini_batch::mini_batch(mini_batch&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
mini_batch& mini_batch::operator=(mini_batch&& other) noexcept {
  if (this != &other) release(), taken_ = std::exchange(other.taken_, nullptr);
  return *this;
}
void mini_batch::release() noexcept {
  if (!taken_) return;
  try {
    taken_->each_use([&](parts::reader& r) { r.done.record(taken_->device, r.stream); });
    // A forked child does not return its copy: the parent's thread may have held the lock during the fork.
    if (auto const home = taken_->home.lock(); home && home->process == ::getpid()) {
      std::lock_guard const hold(home->mutex);
      home->idle.push_back(taken_);
      home->changed.notify_all();
    }
  } catch (...) {  // the device is lost: the next wait reports it
  }
  taken_ = nullptr;
}
namespace {
mini_batch::parts const& held(std::shared_ptr<mini_batch::parts> const& taken) {
  if (!taken) fail(errc::usage, "this mini-batch was given back; use the one that next() returned last");
  return *taken;
}
}  // namespace
std::uint64_t mini_batch::epoch() const { return held(taken_).epoch; }
std::uint64_t mini_batch::index() const { return held(taken_).index; }
std::uint64_t mini_batch::seeds() const { return held(taken_).seeds; }
sampled_subgraph const& mini_batch::subgraph() const { return *held(taken_).drawn; }
std::int64_t const* mini_batch::positions() const { return held(taken_).positions; }
mini_batch::rows const& mini_batch::of_table(std::size_t k) const {
  auto const& rows = held(taken_).rows;
  if (k >= rows.size()) fail(errc::usage, "table {} of a mini-batch with {}", k, rows.size());
  return rows[k];
}
void mini_batch::use_on(stream_ref stream) {
  held(taken_);
  as_error([&] { taken_->use_on(stream.get()); });
}

}  // namespace garner

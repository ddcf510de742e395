#include "core/progress.hpp"

#include <chrono>
#include <mutex>

#include "core/fail.hpp"

namespace garner {

namespace {
std::mutex listener_mutex;
progress_listener listener;
std::atomic<bool> listening{false};
std::atomic<bool> interrupted{false};
std::atomic<std::int64_t> checks_left{-1};  // until one is as if requested; negative: none will be

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace

void set_progress_listener(progress_listener l) {
  std::lock_guard const hold(listener_mutex);
  listener = std::move(l);
  listening = static_cast<bool>(listener);
}

progress::progress(std::string_view what, std::uint64_t total) : what_(what), total_(total), next_tell_(now_ms() + 200) {}

progress::~progress() {
  try {
    tell(true);
  } catch (...) {  // a listener that cannot listen any more
  }
}

void progress::advance(std::uint64_t n) {
  done_.fetch_add(n, std::memory_order_relaxed);
  check_interrupted();
  if (listening.load(std::memory_order_relaxed)) tell(false);
}

void progress::tell(bool last) {
  if (!listening.load(std::memory_order_relaxed)) return;
  std::int64_t const now = now_ms();
  std::int64_t due = next_tell_.load(std::memory_order_relaxed);
  // Work that ends before its first report was due is not shown; with several threads only one reports.
  if (now < due || (!last && !next_tell_.compare_exchange_strong(due, now + 100))) return;
  std::lock_guard const hold(listener_mutex);
  if (listener) listener(what_, last ? total_ : done_.load(std::memory_order_relaxed), total_);
}

void request_interrupt() noexcept { interrupted.store(true, std::memory_order_relaxed); }
void request_interrupt_after(std::uint64_t checks) noexcept { checks_left.store(static_cast<std::int64_t>(checks)); }
void clear_interrupt() noexcept {
  checks_left.store(-1);
  interrupted.store(false, std::memory_order_relaxed);
}
bool interrupt_requested() noexcept {
  if (checks_left.load(std::memory_order_relaxed) >= 0 && checks_left.fetch_sub(1) == 0) request_interrupt();
  return interrupted.load(std::memory_order_relaxed);
}
namespace {
thread_local int held = 0;
}
interrupts_held::interrupts_held() noexcept { ++held; }
interrupts_held::~interrupts_held() { --held; }
bool interrupts_held::here() noexcept { return held > 0; }
void check_interrupted() {
  if (!held && interrupt_requested()) fail(errc::interrupted, "interrupted; nothing was left half-written");
}

}  // namespace garner

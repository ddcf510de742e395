#include "features/row_rings.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <thread>

namespace garner {

namespace {

class threaded_reads final : public row_reads {
 public:
  threaded_reads(unsigned threads, std::function<std::unique_ptr<row_reads>()> const& make) {
    for (unsigned k = 0; k < threads; ++k) {
      workers_.push_back(std::make_unique<worker>());
      workers_.back()->reads = make();
      capacity_ += workers_.back()->reads->room();
    }
    try {
      for (auto const& w : workers_) w->thread = std::jthread([this, at = w.get()] { work(*at); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~threaded_reads() override { stop(); }

  void register_memory(void* begin, std::size_t bytes) override {
    std::lock_guard const hold(mutex_);
    for (auto const& w : workers_) w->places.push_back({begin, bytes});
  }
  std::size_t room() const override { return capacity_ - std::min(capacity_, open_); }
  std::size_t under_way() const override { return open_; }
  std::size_t lost() const override {
    std::size_t all = 0;
    for (auto const& w : workers_) all += w->lost.load(std::memory_order_acquire);
    return all;
  }
  void submit(std::span<want const> wants) override {
    if (wants.empty()) return;
    // Adjacent rows stay together: they are cheaper to read at once.
    std::size_t const parts = std::min<std::size_t>(workers_.size(), (wants.size() + least - 1) / least);
    {
      std::lock_guard const hold(mutex_);
      for (std::size_t k = 0; k < parts; ++k) {
        auto const part = wants.subspan(wants.size() * k / parts, wants.size() * (k + 1) / parts - wants.size() * k / parts);
        worker& w = *workers_[next_++ % workers_.size()];
        w.inbox.insert(w.inbox.end(), part.begin(), part.end());
      }
    }
    open_ += wants.size();
    asked_.notify_all();
  }
  std::span<done const> wait(std::size_t wanted) override {
    wanted = std::min(wanted, open_);
    {
      std::unique_lock hold(mutex_);
      came_.wait(hold, [&] { return broken_ || come_.size() >= wanted; });
      if (broken_) std::rethrow_exception(broken_);
      told_.swap(come_);
      come_.clear();
    }
    open_ -= told_.size();
    return told_;
  }

 private:
  static constexpr std::size_t least = 64;
  struct worker {
    std::unique_ptr<row_reads> reads;
    std::deque<want> inbox;
    std::vector<std::pair<void*, std::size_t>> places;  // to be registered
    std::atomic<std::size_t> lost{0};
    std::jthread thread;
  };

  void work(worker& w) {
    try {
      std::vector<want> some;
      std::vector<std::pair<void*, std::size_t>> places;
      for (;;) {
        some.clear(), places.clear();
        {
          std::unique_lock hold(mutex_);
          asked_.wait(hold, [&] { return stop_ || !w.inbox.empty() || w.reads->under_way(); });
          if (stop_) return;
          places.swap(w.places);
          std::size_t const n = w.reads->takes(w.inbox.size()) ? std::min(w.inbox.size(), w.reads->room()) : 0;
          some.assign(w.inbox.begin(), w.inbox.begin() + static_cast<std::ptrdiff_t>(n));
          w.inbox.erase(w.inbox.begin(), w.inbox.begin() + static_cast<std::ptrdiff_t>(n));
        }
        for (auto const& [begin, bytes] : places) w.reads->register_memory(begin, bytes);
        if (!some.empty()) w.reads->submit(some);
        if (w.reads->under_way() == 0) continue;
        std::span<done const> const done = w.reads->wait(std::min(least, w.reads->under_way()));
        w.lost.store(w.reads->lost(), std::memory_order_release);
        std::lock_guard const hold(mutex_);
        come_.insert(come_.end(), done.begin(), done.end());
        came_.notify_all();
      }
    } catch (...) {
      w.lost.store(w.reads->lost(), std::memory_order_release);
      std::lock_guard const hold(mutex_);
      if (!broken_) broken_ = std::current_exception();
      came_.notify_all();
    }
  }
  void stop() {
    {
      std::lock_guard const hold(mutex_);
      stop_ = true;
    }
    asked_.notify_all();
    for (auto const& w : workers_)
      if (w->thread.joinable()) w->thread.join();
  }

  std::size_t capacity_ = 0, open_ = 0, next_ = 0;  // of the caller
  std::mutex mutex_;
  std::condition_variable asked_, came_;
  std::vector<done> come_, told_;
  std::exception_ptr broken_;
  bool stop_ = false;
  std::vector<std::unique_ptr<worker>> workers_;
};

}  // namespace

std::unique_ptr<row_reads> reads_by_threads(unsigned threads, std::function<std::unique_ptr<row_reads>()> const& make) {
  if (threads <= 1) return make();
  return std::make_unique<threaded_reads>(threads, make);
}

}  // namespace garner

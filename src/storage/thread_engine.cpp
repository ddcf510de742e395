// Reads by a pool of threads: for kernels and Docker containers that refuse io_uring.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/fail.hpp"
#include "storage/engines.hpp"

namespace garner {

namespace {

class thread_engine final : public read_engine {
 public:
  thread_engine(std::vector<drive_descriptors> drives, unsigned threads, std::string why, pread_call call)
      : drives_(std::move(drives)), why_(std::move(why)), call_(std::move(call)) {
    if (!call_) call_ = [](int fd, ::iovec const* parts, int n, std::int64_t offset) { return ::preadv(fd, parts, n, offset); };
    try {
      for (unsigned k = 0; k < std::max(threads, 1u); ++k) threads_.emplace_back([this] { work(); });
    } catch (std::system_error const& e) {
      if (threads_.empty()) fail(errc::io, "a thread that reads cannot be started: {}; raise `ulimit -u`", e.what());
    }
  }
  ~thread_engine() override {
    {
      std::lock_guard const hold(mutex_);
      stop_ = true;
      waiting_.clear();
    }
    there_is_work_.notify_all();
    threads_.clear();
  }

  bool start(engine_read const& read) override {
    std::lock_guard const hold(mutex_);
    answers_.reserve(under_way_ + 1);  // a thread that has read must be able to report it without an allocation
    waiting_.push_back(read);
    ++under_way_;
    return true;
  }
  void flush() override { there_is_work_.notify_all(); }

  std::size_t reap(std::span<engine_answer> out, std::chrono::nanoseconds at_most) override {
    if (at_most.count() > 0) flush();
    std::unique_lock hold(mutex_);
    if (answers_.empty() && at_most.count() > 0) there_are_answers_.wait_for(hold, at_most, [&] { return !answers_.empty(); });
    std::size_t const n = std::min(out.size(), answers_.size());
    std::copy_n(answers_.begin(), n, out.begin());
    answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(n));
    under_way_ -= n;
    return n;
  }

  void cancel(std::uint64_t id) override {
    std::lock_guard const hold(mutex_);
    auto const found = std::find_if(waiting_.begin(), waiting_.end(), [id](engine_read const& r) { return r.id == id; });
    if (found == waiting_.end()) return;
    waiting_.erase(found);
    answers_.push_back({id, -ECANCELED});
  }

  std::string about() const override {
    return fmt::format("{} threads that read{}", threads_.size(), why_.empty() ? "" : " (no io_uring: " + why_ + ")");
  }

 private:
  void work() {
    std::unique_lock hold(mutex_);
    for (;;) {
      there_is_work_.wait(hold, [&] { return stop_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      engine_read const read = waiting_.front();
      waiting_.pop_front();
      hold.unlock();
      drive_descriptors const& d = drives_[read.drive];
      ::ssize_t const got =
          call_(read.direct ? d.direct : d.cached, read.parts, static_cast<int>(read.count), static_cast<std::int64_t>(read.offset));
      engine_answer const answer{read.id, got < 0 ? -errno : got};
      hold.lock();
      answers_.push_back(answer);
      if (answers_.size() == 1) there_are_answers_.notify_one();
    }
  }

  std::vector<drive_descriptors> const drives_;
  std::string const why_;
  pread_call call_;
  std::mutex mutex_;
  std::condition_variable there_is_work_, there_are_answers_;
  std::deque<engine_read> waiting_;
  std::vector<engine_answer> answers_;
  std::size_t under_way_ = 0;  // until their answers have been reaped
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace

std::unique_ptr<read_engine> make_thread_engine(std::vector<drive_descriptors> drives, unsigned threads, std::string why, pread_call call) {
  return std::make_unique<thread_engine>(std::move(drives), threads, std::move(why), std::move(call));
}

}  // namespace garner

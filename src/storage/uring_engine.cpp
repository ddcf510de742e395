// Reads by io_uring: one ring per queue, for all its drives. liburing handles memory order: it stores the tail
// of the submissions after their entries (release), and reads the tail of the completions before theirs
// (acquire). The iovec of a read stays in place until completion, since the kernel may look at it again whenever
// it resumes the read. Not IORING_SETUP_SINGLE_ISSUER, though it saves some: a queue may move from thread to
// thread.
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/fail.hpp"
#include "storage/engines.hpp"

namespace garner {

namespace {

constexpr std::uint64_t of_cancelling = ~std::uint64_t{0};  // what answers a cancel itself
constexpr std::size_t most_registered = 16;
constexpr std::size_t registered_at_most = std::size_t{1} << 30;  // the kernel takes no larger part

class uring_engine final : public read_engine {
 public:
  // 0, or -errno.
  int open(std::vector<drive_descriptors> const& drives, unsigned depth) {
    ::io_uring_params params{};
    params.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CLAMP;
    int problem = ::io_uring_queue_init_params(depth, &ring_, &params);
    if (problem == -EINVAL) {  // a kernel before 5.19
      params = {};
      params.flags = IORING_SETUP_CLAMP;
      problem = ::io_uring_queue_init_params(depth, &ring_, &params);
    }
    if (problem) return problem;
    opened_ = true;
    if (!(params.features & IORING_FEAT_EXT_ARG)) return -ENOSYS;  // before 5.11: waits cannot end
    for (drive_descriptors const& d : drives) {
      files_.push_back(d.cached);
      files_.push_back(d.direct >= 0 ? d.direct : d.cached);
    }
    fixed_files_ = ::io_uring_register_files(&ring_, files_.data(), static_cast<unsigned>(files_.size())) == 0;
    return 0;
  }
  ~uring_engine() override {
    if (opened_) ::io_uring_queue_exit(&ring_);
  }

  bool start(engine_read const& r) override {
    ::io_uring_sqe* const e = entry();
    if (!e) return false;
    unsigned const slot = r.drive * 2 + r.direct;
    int const file = fixed_files_ ? static_cast<int>(slot) : files_[slot];
    if (r.count == 1) {
      int const known = registered(r.parts[0]);
      auto const bytes = static_cast<unsigned>(r.parts[0].iov_len);
      if (known >= 0) ::io_uring_prep_read_fixed(e, file, r.parts[0].iov_base, bytes, r.offset, known);
      else ::io_uring_prep_read(e, file, r.parts[0].iov_base, bytes, r.offset);
    } else {
      ::io_uring_prep_readv(e, file, r.parts, r.count, r.offset);
    }
    if (fixed_files_) e->flags |= IOSQE_FIXED_FILE;
    e->user_data = r.id;
    return true;
  }

  void flush() override {
    while (::io_uring_sq_ready(&ring_)) {
      int const n = ::io_uring_submit(&ring_);
      if (n == -EINTR) continue;
      if (n == -EBUSY || n == -EAGAIN) return;  // the kernel wants answers to be taken first: the next reap submits
      if (n < 0) fail(errc::io, "io_uring took no reads: {}", std::strerror(-n));
    }
  }

  std::size_t reap(std::span<engine_answer> out, std::chrono::nanoseconds at_most) override {
    std::size_t n = take(out);
    if (n || at_most.count() <= 0) {
      flush();
      return n ? n : take(out);
    }
    auto const until = std::chrono::steady_clock::now() + at_most;
    for (;;) {
      ::__kernel_timespec most{at_most.count() / 1'000'000'000, at_most.count() % 1'000'000'000};
      ::io_uring_cqe* first = nullptr;
      int const problem = ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &most, nullptr);
      n = take(out);
      if (n) return n;
      if (problem == -EINTR || problem == -ETIME) return 0;  // an interrupt is looked for
      if (problem < 0 && problem != -EBUSY && problem != -EAGAIN) fail(errc::io, "io_uring gives no answers: {}", std::strerror(-problem));
      at_most = until - std::chrono::steady_clock::now();  // an answer of ours to a cancel
      if (at_most.count() <= 0) return 0;
    }
  }

  void cancel(std::uint64_t id) override {
    ::io_uring_sqe* const e = entry();
    if (!e) return;  // it completes in its own time
    ::io_uring_prep_cancel64(e, id, 0);
    e->user_data = of_cancelling;
  }

  void register_memory(void* begin, std::size_t bytes) override {
    auto parts = parts_;
    for (auto* at = static_cast<std::byte*>(begin); bytes;) {
      std::size_t const n = std::min(bytes, registered_at_most);
      parts.push_back({at, n});
      at += n, bytes -= n;
    }
    if (parts.size() > most_registered) return;
    if (!parts_.empty()) ::io_uring_unregister_buffers(&ring_);
    int const problem = ::io_uring_register_buffers(&ring_, parts.data(), static_cast<unsigned>(parts.size()));
    if (problem == 0) {
      parts_ = std::move(parts);
      return;
    }
    refused_ = std::strerror(-problem);
    if (!parts_.empty() && ::io_uring_register_buffers(&ring_, parts_.data(), static_cast<unsigned>(parts_.size())) != 0) parts_.clear();
  }

  std::string about() const override {
    std::string text = "io_uring";
    if (!parts_.empty()) text += ", registered memory";
    if (!refused_.empty()) text += fmt::format(" (memory not registered: {}; raise `ulimit -l`)", refused_);
    return text;
  }

 private:
  ::io_uring_sqe* entry() {
    ::io_uring_sqe* e = ::io_uring_get_sqe(&ring_);
    if (e) return e;
    flush();
    return ::io_uring_get_sqe(&ring_);
  }

  std::size_t take(std::span<engine_answer> out) {
    std::size_t n = 0;
    std::array<::io_uring_cqe*, 64> some;
    while (n < out.size()) {
      unsigned const got = ::io_uring_peek_batch_cqe(&ring_, some.data(), static_cast<unsigned>(std::min(out.size() - n, some.size())));
      if (!got) break;
      for (unsigned k = 0; k < got; ++k)
        if (some[k]->user_data != of_cancelling) out[n++] = {some[k]->user_data, some[k]->res};
      ::io_uring_cq_advance(&ring_, got);
    }
    return n;
  }

  int registered(::iovec const& p) const {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      auto const begin = reinterpret_cast<std::uintptr_t>(parts_[k].iov_base), at = reinterpret_cast<std::uintptr_t>(p.iov_base);
      if (at >= begin && at + p.iov_len <= begin + parts_[k].iov_len) return static_cast<int>(k);
    }
    return -1;
  }

  ::io_uring ring_{};
  bool opened_ = false, fixed_files_ = false;
  std::vector<int> files_;  // of each drive: through the page cache, past it
  std::vector<::iovec> parts_;
  std::string refused_;
};

}  // namespace

std::unique_ptr<read_engine> make_uring_engine(std::vector<drive_descriptors> const& drives, unsigned depth, std::string& why) {
  auto made = std::make_unique<uring_engine>();
  if (int const problem = made->open(drives, depth); problem != 0) {
    why = std::strerror(-problem);
    return nullptr;
  }
  return made;
}

}  // namespace garner

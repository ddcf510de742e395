// Leases: how one stream reads what another produces. A lease is a view, the event after which its data is valid, and the memory. use()
// orders the reader's stream behind that event. On release of the lease its last use is noted; memory that its owner has replaced meanwhile
// is kept until that use has run.
// Invariant: an owner does not write, evict or free leased memory. Its `leases` lists the open ones, and settle() orders a writer behind
// the last uses of released ones. A buffer that must grow meanwhile gets other memory, and open leases keep theirs.
// Cost: an event each way; event objects are reused, so steady work makes none. One thread acquires and releases; a lease has one reader,
// an executor or the host.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"

namespace garner {

// The owner's state of one lease.
class lease_record {
 public:
  bool out() const { return out_; }
  std::uint64_t number() const { return number_; }
  void before(executor& writer) const { used_.before(writer); }  // behind its last use
  void wait() const { used_.wait(); }                            // of the host, for that

 private:
  template <class View>
  friend class lease;
  template <class View>
  friend class leases;
  bool out_ = false, settled_ = true;
  std::uint64_t number_ = 0;
  event ready_, used_;
  executor *by_ = nullptr, *maker_ = nullptr;
  std::shared_ptr<void const> memory_;
};

template <class View>
class lease {
 public:
  lease() = default;
  lease(lease&& other) noexcept : of_(std::move(other.of_)), view_(std::move(other.view_)) {}
  lease& operator=(lease&& other) noexcept {
    if (this != &other) end(), of_ = std::move(other.of_), view_ = std::move(other.view_);
    return *this;
  }
  ~lease() { end(); }
  explicit operator bool() const { return of_ != nullptr; }

  // For what x is given from here on.
  View const& use(executor& x) {
    if (!of_) fail(errc::internal, "use of a released lease");
    if (of_->by_ && of_->by_ != &x) fail(errc::internal, "a lease is used by two executors");
    if (!std::exchange(of_->by_, &x)) of_->ready_.before(x);
    return view_;
  }
  View const& use() {  // by the host, now
    if (!of_) fail(errc::internal, "use of a released lease");
    of_->ready_.wait();
    return view_;
  }
  void end() noexcept {
    if (!of_) return;
    lease_record& r = *of_;
    try {
      if (r.by_) r.used_.record(*r.by_), r.settled_ = false;
      if (r.memory_.use_count() == 1) (r.by_ ? r.by_ : r.maker_)->keep(std::move(r.memory_));
    } catch (...) {  // the device is lost: the next wait reports it
    }
    r.memory_.reset();
    r.out_ = false, r.by_ = nullptr;
    of_.reset();
  }

 private:
  template <class>
  friend class leases;
  lease(std::shared_ptr<lease_record> of, View view) : of_(std::move(of)), view_(std::move(view)) {}
  std::shared_ptr<lease_record> of_;
  View view_{};
};

// Those that an owner has given.
template <class View>
class leases {
 public:
  // What it names is there when `maker` has done what it was given. `number`: the owner's; `memory`: what must stay, null: the owner's own.
  lease<View> give(executor& maker, View view, std::uint64_t number = 0, std::shared_ptr<void const> memory = nullptr) {
    auto const unused = std::find_if(all_.begin(), all_.end(), [](auto const& r) { return !r->out_ && r->settled_ && r.use_count() == 1; });
    std::shared_ptr<lease_record> const r = unused != all_.end() ? *unused : all_.emplace_back(std::make_shared<lease_record>());
    r->ready_.record(maker);
    r->maker_ = &maker, r->number_ = number, r->memory_ = std::move(memory), r->out_ = true;
    return {r, std::move(view)};
  }
  // Orders later work of `writer` behind all uses of released leases.
  void settle(executor& writer) {
    for (auto const& r : all_)
      if (!r->out_ && !std::exchange(r->settled_, true)) r->before(writer);
  }
  // The same where all were read by `reader`, which may replay captured work: the last uses do not cover replays. `reader` must still
  // exist.
  void settle(executor& writer, executor& reader) {
    if (std::exchange(recordings_, reader.recordings()) == reader.recordings()) return settle(writer);
    for (auto const& r : all_)
      if (!r->out_) r->settled_ = true;
    all_read_.record(reader), all_read_.before(writer);
  }
  void settle() {  // of the host, now
    for (auto const& r : all_)
      if (!r->out_ && !std::exchange(r->settled_, true)) r->wait();
  }
  // The host waits for all of their uses. Also for another thread, once one was passed to it.
  void wait() const {
    for (auto const& r : all_) r->wait();
  }
  bool out() const {
    return std::any_of(all_.begin(), all_.end(), [](auto const& r) { return r->out_; });
  }
  std::uint64_t oldest(std::uint64_t otherwise) const {  // number of those that are out
    for (auto const& r : all_)
      if (r->out_) otherwise = std::min(otherwise, r->number_);
    return otherwise;
  }

 private:
  std::vector<std::shared_ptr<lease_record>> all_;
  event all_read_;
  std::uint64_t recordings_ = 0;
};

// A buffer that one stream fills and another reads, again and again; two of them, and the next comes while the last is read.
template <class T>
class leased {
 public:
  leased() = default;
  leased(leased const&) = delete;  // leases have the address
  leased& operator=(leased const&) = delete;
  // To be filled by what `writer` is given from here on, or now by the host. errc::internal while a lease is out.
  T& fill(executor& writer) { return free().settle(writer), what_; }
  T& fill(executor& writer, executor& reader) { return free().settle(writer, reader), what_; }
  T& fill() { return free().settle(), what_; }
  lease<T*> filled(executor& writer) { return given_.give(writer, &what_); }
  T const& what() const { return what_; }

 private:
  leases<T*>& free() {
    if (given_.out()) fail(errc::internal, "a buffer is filled while it is read");
    return given_;
  }
  T what_;
  leases<T*> given_;
};

}  // namespace garner

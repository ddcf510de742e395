// Holds the implementation of a public object. Empty once the object was moved from: it may then be destroyed and assigned to, and any
// other use is errc::usage. A forked child leaves the objects of its parent alone: it lacks their threads, and their device memory and
// budgets belong to the parent.
#pragma once
#include <memory>
#include <utility>

namespace garner::detail {

[[noreturn]] void moved_elsewhere();
int this_process() noexcept;

template <class Pointer>
auto& there(Pointer const& at) {
  if (!at) moved_elsewhere();
  return *at;
}

template <class T>
class held {
 public:
  held() = default;
  held(std::unique_ptr<T> of) noexcept : of_(std::move(of)), process_(this_process()) {}
  ~held() { leave(); }
  held(held&&) noexcept = default;
  held& operator=(held&& other) noexcept {
    if (this == &other) return *this;
    leave();
    of_ = std::move(other.of_), process_ = other.process_;
    return *this;
  }

  T& operator*() const { return there(of_); }
  T* operator->() const { return &there(of_); }
  bool own() const noexcept { return of_ && process_ == this_process(); }  // present, and created by this process

 private:
  void leave() noexcept {
    if (!own()) static_cast<void>(of_.release());
  }
  std::unique_ptr<T> of_;
  int process_ = 0;
};

}  // namespace garner::detail

// The owner of memory in a tier: made by its tier's allocate, charged to the budget of the paying device, released with its last use.
// Kernels get the pointer; the owner stays on the host. Move-only.
// Invariant: data() is aligned to 4 KiB (so the index of a segment determines its lines); bytes() is the requested size.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "core/device.hpp"
#include "core/executor.hpp"
#include "garner/device.hpp"

namespace garner {

class budget;

// A tier: two calls, and the devices that may read it. Every tier models this; the contract suite in tests/memory holds them to it.
//   static constexpr tier kind;
//   static void* allocate(std::size_t bytes, int device);           errc::memory or errc::device, with what to try
//   static void release(void*, std::size_t bytes, int device) noexcept;
//   static bool readable(device_kind)                                 which places may read it
// Memory is not initialized, except that host and managed memory is zero.
template <class T>
concept memory_tier = requires(void* p, std::size_t n, int device, device_kind where) {
  { T::kind } -> std::convertible_to<tier>;
  { T::allocate(n, device) } -> std::same_as<void*>;
  { T::release(p, n, device) }
  noexcept;
  { T::readable(where) } -> std::same_as<bool>;
};

// Untyped memory of a tier known at run time.
class memory_block {
 public:
  memory_block() = default;
  // `device`: the device that the memory lies on, or (host, managed, peer) the one that reads it; -1 for host memory that no device will
  // read (then it is not pinned). `what` names the use in the budget's message. Zero bytes give an empty block.
  memory_block(tier where, std::size_t bytes, int device, char const* what);
  // Host memory shared with others: `owner` releases it, and has paid.
  memory_block(std::shared_ptr<void> owner, void* data, std::size_t bytes, int device);
  ~memory_block() { reset(); }
  memory_block(memory_block&& other) noexcept { swap(other); }
  memory_block& operator=(memory_block&& other) noexcept {
    memory_block(std::move(other)).swap(*this);
    return *this;
  }
  void reset() noexcept;
  void swap(memory_block& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(where_, other.where_);
    std::swap(device_, other.device_);
    std::swap(paid_by_, other.paid_by_);
    std::swap(owner_, other.owner_);
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  tier where() const { return where_; }
  int device() const { return device_; }
  std::shared_ptr<void> const& owner() const { return owner_; }  // of memory that others have too; else null

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  tier where_ = tier::host;
  int device_ = -1;
  budget* paid_by_ = nullptr;
  std::shared_ptr<void> owner_;
};

// n elements of T.
template <class T>
class buffer {
 public:
  buffer() = default;
  buffer(buffer&& other) noexcept : block_(std::move(other.block_)), size_(std::exchange(other.size_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    block_ = std::move(other.block_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  buffer(tier where, std::size_t n, int device, char const* what) : block_(where, bytes_of(n), device, what), size_(n) {}
  explicit buffer(memory_block&& of) : block_(std::move(of)), size_(block_.bytes() / sizeof(T)) {}
  T* data() const { return static_cast<T*>(block_.data()); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return block_.bytes(); }
  bool empty() const { return size_ == 0; }
  tier where() const { return block_.where(); }
  int device() const { return block_.device(); }
  std::span<T> span() const { return {data(), size_}; }
  T& operator[](std::size_t i) const { return data()[i]; }  // host only
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  void shrink(std::size_t n) { size_ = n; }  // forgets the tail; the memory stays until release

 private:
  static constexpr std::size_t bytes_of(std::size_t n) {
    return n > SIZE_MAX / sizeof(T) ? SIZE_MAX : n * sizeof(T);
  }  // SIZE_MAX is refused
  memory_block block_;
  std::size_t size_ = 0;
};

// make(), and once more where memory was short that x keeps and need not any longer.
void make_or_wait(executor& x, std::function<void()> const& make);

// Released when all work submitted to x so far has run.
template <class Memory>
void retire(executor& x, Memory&& memory) {
  if (memory.bytes() && x.asynchronous()) x.keep(std::make_shared<std::decay_t<Memory> const>(std::move(memory)));
  memory = {};
}
// Makes space for at least n elements, and then for `size`; drops contents, but keeps them for earlier work of x. True: made anew.
template <class T>
bool grow(executor& x, buffer<T>& b, std::uint64_t n, std::uint64_t size, char const* what, tier where) {
  if (b.size() >= n) return false;
  device::require_unrecorded(x.device(), size * sizeof(T));  // before what there is goes
  retire(x, std::move(b));
  make_or_wait(x, [&] { b = buffer<T>(where, size, x.device(), what); });
  return true;
}
template <class T>
bool grow(executor& x, buffer<T>& b, std::uint64_t n, char const* what) {
  return grow(x, b, n, n + n / 4, what, x.near());
}
inline bool grow(executor& x, memory_block& b, std::uint64_t bytes, std::uint64_t size, char const* what) {
  if (b.bytes() >= bytes) return false;
  device::require_unrecorded(x.device(), size);
  retire(x, std::move(b));
  make_or_wait(x, [&] { b = memory_block(x.near(), size, x.device(), what); });
  return true;
}
inline bool grow(executor& x, memory_block& b, std::uint64_t bytes, char const* what) { return grow(x, b, bytes, bytes + bytes / 4, what); }

}  // namespace garner

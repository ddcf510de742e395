// Host memory of the caller, pinned and mapped for devices in place. CUDA registers exact ranges of bytes: it refuses one that overlaps
// another, not one that shares a page with it. So a registry counts the holders of bytes: arrays may overlap or be the same. Pinning
// exactly the array matters: a copy that begins inside a registered range and ends outside is refused, so a larger range would break copies
// of the next array on the page.
// Invariant: bytes are pinned while they have a holder and unpinned with the last; bytes pinned by others (an allocator of pinned memory,
// another library) are used unchanged and never unpinned; a refusal changes nothing.
// Cost: one lock per call; pinning touches each page, some 3 s per 8 GiB of pages that were never touched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/device.hpp"

namespace garner {

struct pin_calls {  // the runtime's, or a test's
  std::function<device::pin_answer(void* data, std::size_t bytes, bool read_only)> pin;
  std::function<void(void* data)> unpin;
  std::function<std::size_t(void const* at)> pinned_from;
};

class pin_registry {
 public:
  explicit pin_registry(pin_calls calls) : calls_(std::move(calls)) {}
  // errc::memory where the system refuses; the message has a remedy, or names the mapping that cannot be pinned.
  void hold(void const* data, std::size_t bytes);
  void release(void const* data, std::size_t bytes) noexcept;  // exactly what was held
  std::size_t pinned_bytes() const;                            // by this registry

 private:
  struct part {
    std::uintptr_t end;
    std::uint64_t holders = 0;
    bool ours = true;
  };
  using parts = std::map<std::uintptr_t, part>;                         // by their begin; they do not overlap
  void pin_gap(std::uintptr_t begin, std::uintptr_t end, parts& made);  // [begin, end) into `made`
  void pin_ours(std::uintptr_t begin, std::uintptr_t end, parts& made, std::size_t step);
  std::uintptr_t theirs_until(std::uintptr_t at) const;  // `at`: not somebody else's
  // Where somebody else's begins in [begin, end), looked for in steps and then to the byte; `end`: nowhere.
  std::uintptr_t next_theirs(std::uintptr_t begin, std::uintptr_t end, std::size_t step) const;
  parts::iterator first_in(std::uintptr_t begin);

  pin_calls calls_;
  mutable std::mutex mutex_;
  parts parts_;
};

pin_registry& shared_pins();  // the process's own, over the CUDA runtime

// What an address belongs to, from the list of mappings (/proc/self/maps; a file of the same form in tests).
struct mapping_at {
  bool known = false, writable = false, shared = false;
  std::string file;  // empty: memory of the process's own
};
mapping_at mapping_of(void const* at, std::string const& maps = "/proc/self/maps");

// Holds the bytes of an array pinned as long as it lives. Move-only.
class pinned_pages {
 public:
  pinned_pages() = default;
  // errc::usage for no bytes, errc::device without the device, errc::memory where the system refuses.
  pinned_pages(void const* data, std::size_t bytes, int device);
  ~pinned_pages() { reset(); }
  pinned_pages(pinned_pages&& other) noexcept { *this = std::move(other); }
  pinned_pages& operator=(pinned_pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    return *this;
  }
  void reset() noexcept;
  explicit operator bool() const { return data_ != nullptr; }
  int device() const { return device_; }
  void const* device_data() const;  // as that device reads it

 private:
  void const* data_ = nullptr;
  std::size_t bytes_ = 0;
  int device_ = -1;
};

}  // namespace garner

// Blocks begin on a page, so that the index of a segment determines its lines; for an allocator with smaller alignment the size grows by a
// page.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace garner {

inline constexpr std::size_t page_bytes = 4096;

// Whole pages for `bytes`; huge sizes stay huge, and are refused by the allocator.
inline constexpr std::size_t whole_pages(std::size_t bytes) {
  std::size_t const highest = ~std::size_t{0} / page_bytes * page_bytes;
  return bytes > highest ? highest : (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// Brings the pages in by all threads of the shared pool, so not from inside its loops; errc::memory where the system has none left.
// `fresh`: nothing is in them yet. Else they are only read.
void touch_pages(void* pages, std::size_t bytes, bool fresh);

// Remembers where the few blocks begin that had to be moved up to the next page.
class page_aligner {
 public:
  static page_aligner& of_devices() {                // one for all of them: no two blocks have the same address
    static auto* const instance = new page_aligner;  // never destroyed: static buffers may outlive it
    return *instance;
  }
  // allocate(bytes) and release(pointer) are the allocator's.
  template <class Allocate, class Release>
  void* take(std::size_t bytes, Allocate allocate, Release release) {
    bytes = whole_pages(bytes);
    void* const p = allocate(bytes);
    if (reinterpret_cast<std::uintptr_t>(p) % page_bytes == 0) return p;
    release(p);
    void* const wide = allocate(bytes + page_bytes);
    auto const at = whole_pages(reinterpret_cast<std::uintptr_t>(wide));
    std::lock_guard const hold(mutex_);
    return moved_.emplace(reinterpret_cast<void*>(at), wide).first->first;
  }
  // What the allocator gave for this block.
  void* origin(void* block) noexcept {
    std::lock_guard const hold(mutex_);
    auto const at = moved_.find(block);
    if (at == moved_.end()) return block;
    void* const p = at->second;
    moved_.erase(at);
    return p;
  }

 private:
  std::mutex mutex_;
  std::map<void*, void*> moved_;
};

}  // namespace garner

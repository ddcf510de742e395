// Failing allocation: operator new of the whole program, which fails once, at the k-th request after it was armed. Include it in one source
// per program.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "garner/error.hpp"
#include "sanitized.hpp"

namespace {
std::atomic<std::int64_t> news_left{-1};  // requests until a failure; negative: off

[[maybe_unused]] void* allocate(std::size_t bytes) {
  if (news_left.load(std::memory_order_relaxed) >= 0 && news_left.fetch_sub(1, std::memory_order_relaxed) == 0) throw std::bad_alloc();
  if (void* const p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
}  // namespace
#if !GARNER_THREAD_SANITIZED  // ThreadSanitizer's runtime replaces these itself
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
// std::stable_sort allocates this way, and frees by the delete below.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  try {
    return allocate(bytes);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, std::nothrow_t const& n) noexcept { return operator new(bytes, n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace garner::testing {

// The message of the exception, empty if nothing was thrown; any other exception fails the test. `ours`: f does more than call the
// public API, which alone turns a failed new into an error.
inline std::string told(std::function<void()> const& f, errc& code, bool ours = false) {
  try {
    f();
  } catch (error const& e) {
    code = e.code();
    return e.what();
  } catch (std::bad_alloc const& e) {
    if (!ours) ADD_FAILURE() << "the contract lets a failed new through";
    code = errc::memory;
    return e.what();
  } catch (std::exception const& e) {
    ADD_FAILURE() << "not an error of Garner's: " << e.what();
    return e.what();
  }
  return "";
}

}  // namespace garner::testing

// Atomics, and small arithmetic that host and device have under different names.
// Relaxed, for 4- and 8-byte unsigned integers (atomic_add: float and double too); each returns the old value.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "core/mark.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace garner {

#if defined(__CUDA_ARCH__)
namespace detail {
template <class T>
using atomic_word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
template <class T>
__device__ atomic_word<T>* word(T* p) {
  return reinterpret_cast<atomic_word<T>*>(p);
}
template <class T>
__device__ atomic_word<T> const* word(T const* p) {
  return reinterpret_cast<atomic_word<T> const*>(p);
}
}  // namespace detail
#endif

template <class T>
GARNER_HD inline T atomic_load(T const* p) {  // never from a stale first-level cache
#if defined(__CUDA_ARCH__)
  return *const_cast<T const volatile*>(p);
#else
  return std::atomic_ref<T>(*const_cast<T*>(p)).load(std::memory_order_relaxed);
#endif
}
// It may be older than what others have written since this kernel began. Popular data is then cached by each multiprocessor, instead of one
// address in the L2 cache that serializes all readers.
template <class T>
GARNER_HD inline T atomic_load_cached(T const* p) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(__ldca(detail::word(p)));
#else
  return atomic_load(p);
#endif
}
template <class T>
GARNER_HD inline void atomic_store(T* p, T v) {
#if defined(__CUDA_ARCH__)
  *const_cast<T volatile*>(p) = v;
#else
  std::atomic_ref<T>(*p).store(v, std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline T atomic_or(T* p, T v) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(::atomicOr(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  return std::atomic_ref<T>(*p).fetch_or(v, std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline T atomic_add(T* p, T v) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_floating_point_v<T>) return ::atomicAdd(p, v);
  else return static_cast<T>(::atomicAdd(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  return std::atomic_ref<T>(*p).fetch_add(v, std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline T atomic_min(T* p, T v) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(::atomicMin(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  std::atomic_ref<T> at(*p);
  T old = at.load(std::memory_order_relaxed);
  while (v < old && !at.compare_exchange_weak(old, v, std::memory_order_relaxed)) {
  }
  return old;
#endif
}
template <class T>
GARNER_HD inline T atomic_max(T* p, T v) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(::atomicMax(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  std::atomic_ref<T> at(*p);
  T old = at.load(std::memory_order_relaxed);
  while (old < v && !at.compare_exchange_weak(old, v, std::memory_order_relaxed)) {
  }
  return old;
#endif
}
template <class T>
GARNER_HD inline T atomic_cas(T* p, T expected, T desired) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(
      ::atomicCAS(detail::word(p), static_cast<detail::atomic_word<T>>(expected), static_cast<detail::atomic_word<T>>(desired)));
#else
  std::atomic_ref<T>(*p).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  return expected;
#endif
}

GARNER_HD inline int count_bits(std::uint32_t w) {
#if defined(__CUDA_ARCH__)
  return __popc(w);
#else
  return __builtin_popcount(w);
#endif
}
GARNER_HD inline int lowest_bit(std::uint32_t w) {  // w != 0
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(w)) - 1;
#else
  return __builtin_ctz(w);
#endif
}
template <class T>
GARNER_HD inline T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
GARNER_HD inline T larger(T a, T b) {
  return a < b ? b : a;
}

// Asks memory for what is touched soon. At the host only: a device runs other warps meanwhile.
template <class T>
GARNER_HD inline void ask_soon([[maybe_unused]] T const* p) {
#if !defined(__CUDA_ARCH__)
  __builtin_prefetch(p);
#endif
}

}  // namespace garner

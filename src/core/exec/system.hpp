// Words by which threads communicate, with each other and across the link: the host's threads, a drive.
//   near words      among threads of one device (device scope). Read, written and changed: loads acquire, stores release, changes do both.
//   shared words    between a device and others across the link (system scope). Only read and written, since a change of a word is one
//                   atomic only on one side of the link: each has one writer at a time.
// A thread that reads a released word sees all that its writer saw before, including the writers of near words.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

// Device-scope words, of 32 bits.
GARNER_HD inline std::uint32_t load_acquire(std::uint32_t const* p) {
#if defined(__CUDA_ARCH__)
  std::uint32_t v;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
#else
  return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(p)).load(std::memory_order_acquire);
#endif
}
GARNER_HD inline void store_release(std::uint32_t* p, std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
  std::atomic_ref<std::uint32_t>(*p).store(v, std::memory_order_release);
#endif
}
GARNER_HD inline std::uint32_t change_add(std::uint32_t* p, std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  std::uint32_t old;
  asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
#else
  return std::atomic_ref<std::uint32_t>(*p).fetch_add(v, std::memory_order_acq_rel);
#endif
}
GARNER_HD inline std::uint32_t change_or(std::uint32_t* p, std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  std::uint32_t old;
  asm volatile("atom.acq_rel.gpu.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
#else
  return std::atomic_ref<std::uint32_t>(*p).fetch_or(v, std::memory_order_acq_rel);
#endif
}
GARNER_HD inline std::uint32_t change_and(std::uint32_t* p, std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  std::uint32_t old;
  asm volatile("atom.acq_rel.gpu.and.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
#else
  return std::atomic_ref<std::uint32_t>(*p).fetch_and(v, std::memory_order_acq_rel);
#endif
}

// Shared words. The first two order nothing; what was seen with `shared_load` may be acted on behind `shared_acquire`.
GARNER_HD inline std::uint32_t shared_load(std::uint32_t const* p) {
#if defined(__CUDA_ARCH__)
  std::uint32_t v;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
#else
  return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(p)).load(std::memory_order_relaxed);
#endif
}
GARNER_HD inline void shared_store(std::uint64_t* p, std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
#else
  std::atomic_ref<std::uint64_t>(*p).store(v, std::memory_order_relaxed);
#endif
}
// The same word again with all that its writer did before. At the host a load is an acquire anyway, and ThreadSanitizer knows no fences.
GARNER_HD inline void shared_acquire([[maybe_unused]] std::uint32_t const* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
  (void)std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(p)).load(std::memory_order_acquire);
#endif
}
// A register of a device, or a word of memory that somebody polls: behind all that was written before.
GARNER_HD inline void store_register(std::uint32_t* p, std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys; st.mmio.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
  std::atomic_ref<std::uint32_t>(*p).store(v, std::memory_order_release);
#endif
}

namespace at_host {
void back_off(unsigned tries);
std::uint64_t nanoseconds_now();
}  // namespace at_host

// Waits a little, longer the more often it was called before in the same wait. At the host others get the processor.
GARNER_HD inline void back_off(unsigned tries) {
#if defined(__CUDA_ARCH__)
  __nanosleep(32u << (tries < 5 ? tries : 5));
#else
  at_host::back_off(tries);
#endif
}
// A clock that only goes on, the same for all threads of a place.
GARNER_HD inline std::uint64_t nanoseconds_now() {
#if defined(__CUDA_ARCH__)
  std::uint64_t v;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(v));
  return v;
#else
  return at_host::nanoseconds_now();
#endif
}

}  // namespace garner

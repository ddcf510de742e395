// Functions that the C library of 2.27 lacks, or has under an older version only. Not visible to users; cmake/portable.cmake links
// this file.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include <cstdint>

#define GARNER_OF_LIBC extern "C" __attribute__((visibility("hidden")))

// A static libstdc++ needs these two.
GARNER_OF_LIBC char __libc_single_threaded;
char __libc_single_threaded = 0;  // reference counts always use atomics

GARNER_OF_LIBC std::uint32_t arc4random();
std::uint32_t arc4random() {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
  }
  return value;
}

// glibc has these two since 2.30. The replacement waits by the wall clock; libstdc++ checks its own clock after each wait.
namespace {

timespec by_the_wall(clockid_t clock, timespec const& until) {
  timespec now{}, wall{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  constexpr std::int64_t second = 1'000'000'000;
  std::int64_t const nanoseconds = std::int64_t{wall.tv_nsec} + until.tv_nsec - now.tv_nsec + second;  // 0 to 3 s
  return {wall.tv_sec + until.tv_sec - now.tv_sec - 1 + static_cast<time_t>(nanoseconds / second), static_cast<long>(nanoseconds % second)};
}
template <class F>
F* own(char const* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

GARNER_OF_LIBC int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, timespec const* until) {
  static auto* const there = own<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, timespec const*)>("pthread_cond_clockwait");
  if (there) return there(condition, mutex, clock, until);
  timespec const end = by_the_wall(clock, *until);
  return pthread_cond_timedwait(condition, mutex, &end);
}
GARNER_OF_LIBC int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, timespec const* until) {
  static auto* const there = own<int(pthread_mutex_t*, clockid_t, timespec const*)>("pthread_mutex_clocklock");
  if (there) return there(mutex, clock, until);
  timespec const end = by_the_wall(clock, *until);
  return pthread_mutex_timedlock(mutex, &end);
}

// The versions of 2.29 leave errno alone and are otherwise the same. The linker redirects NAME to __wrap_NAME (cmake/portable.cmake).
#if defined(__x86_64__)
#define GARNER_OLDER(name, parameters, arguments)              \
  extern "C" double garner_older_##name parameters;            \
  asm(".symver garner_older_" #name "," #name "@GLIBC_2.2.5"); \
  GARNER_OF_LIBC double __wrap_##name parameters;              \
  double __wrap_##name parameters { return garner_older_##name arguments; }
GARNER_OLDER(exp, (double x), (x))
GARNER_OLDER(exp2, (double x), (x))
GARNER_OLDER(log, (double x), (x))
GARNER_OLDER(log2, (double x), (x))
GARNER_OLDER(pow, (double x, double y), (x, y))
#endif

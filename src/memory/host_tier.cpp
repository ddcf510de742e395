// Host memory: pages of our own mapping. For a device they are shared (memfd), so that another process can be given the same ones later,
// touched by all threads, pinned and mapped; for the host alone they are private, since only those become huge pages everywhere.
// Cost: fresh pages take 3 s per 8 GiB on one thread, and pinning would touch them one by one; hence all threads touch them first.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/simulated_device.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"
#include "memory/tiers.hpp"

namespace garner {

namespace {

void* map_shared(std::size_t bytes) {
  int const fd = ::memfd_create("garner", MFD_CLOEXEC);
  if (fd < 0) return MAP_FAILED;
  void* p = MAP_FAILED;
  if (::ftruncate(fd, static_cast<::off_t>(bytes)) == 0) p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return p;
}

// Not reserved: the kernel would judge by MemTotal, which grows with use on some machines; the budget knows what is installed.
void* map_private(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

}  // namespace

void touch_pages(void* data, std::size_t bytes, bool fresh) {
  constexpr std::uint64_t grain = 64u << 20;
  progress told("preparing host memory", bytes);
  shared_pool().run(bytes, grain, [&](std::uint64_t begin, std::uint64_t end) {
    char* const at = static_cast<char*>(data) + begin;
#ifdef MADV_POPULATE_WRITE  // Linux 5.14; it reports what a write could only die of
    if (::madvise(at, end - begin, fresh ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) return told.advance(end - begin);
    if (errno != EINVAL && errno != EAGAIN)
      fail(errc::memory,
           "host memory: the system has no pages for {} bytes ({}): {}; take a smaller graph or a larger machine, in a container raise its "
           "memory limit",
           bytes, format_bytes(bytes), std::strerror(errno));
#endif
    for (std::uint64_t k = 0; k < end - begin; k += page_bytes) {
      if (fresh) static_cast<char volatile*>(at)[k] = 0;
      else static_cast<void>(static_cast<char volatile*>(at)[k]);
    }
    told.advance(end - begin);
  });
}

namespace {
std::string what_helps(std::size_t bytes) {
  ::rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes
             ? fmt::format("`ulimit -v` is {} KiB, raise it", limit.rlim_cur / 1024)
             : "use less, end other programs or take a larger machine";
}
}  // namespace

void* host_tier::allocate(std::size_t bytes, int device) {
  if (device == device::simulated) return simulated_device::allocate(bytes);
  if (device >= 0) device::make_current(device);
  std::size_t const pages = whole_pages(bytes);
  void* p = device >= 0 ? map_shared(pages) : MAP_FAILED;
  if (p == MAP_FAILED) p = map_private(pages);
  if (p == MAP_FAILED) {
    std::string const why = std::strerror(errno);
    fail(errc::memory, "host memory: {} bytes ({}) refused by the system: {}; {}", bytes, format_bytes(bytes), why, what_helps(bytes));
  }
  ::madvise(p, pages, MADV_HUGEPAGE);
  if (device < 0) return p;
  try {
    touch_pages(p, pages, true);
    device::map_host(p, pages);
  } catch (...) {
    ::munmap(p, pages);
    throw;
  }
  return p;
}

void host_tier::release(void* data, std::size_t bytes, int device) noexcept {
  if (device == device::simulated) return simulated_device::release(data);
  if (device >= 0) device::unmap_host(data);
  ::munmap(data, whole_pages(bytes));
}

}  // namespace garner

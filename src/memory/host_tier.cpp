#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/crew.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/budget.hpp"
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

// Fresh pages cost 3 s per 8 GiB on one thread, and pinning would take them one by one.
void touch(void* data, std::size_t bytes) {
  constexpr std::uint64_t grain = 64u << 20;
  progress told("preparing host memory", bytes);
  shared_crew().run(bytes, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end; at += 4096) static_cast<char volatile*>(data)[at] = 0;
    told.advance(end - begin);
  });
}

std::string why_not_pinned(std::size_t bytes) {
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    return fmt::format("`ulimit -l` allows {} bytes to be locked; raise it", limit.rlim_cur);
  return "in a container raise its memory limit and --shm-size";
}

}  // namespace

void* host_tier::allocate(std::size_t bytes, int device) {
  void* p = device >= 0 ? map_shared(bytes) : MAP_FAILED;
  if (p == MAP_FAILED) p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    fail(errc::memory, "host memory: {} bytes ({}) refused by the system: {}; use a smaller graph, fewer other programs, or a larger machine", bytes,
         format_bytes(bytes), std::strerror(errno));
  ::madvise(p, bytes, MADV_HUGEPAGE);
  if (device < 0) return p;
  try {
    touch(p, bytes);
    device::map_host(p, bytes);
  } catch (error const& e) {
    ::munmap(p, bytes);
    if (e.code() == errc::interrupted) throw;
    fail(e.code(), "{}; {}", e.what(), why_not_pinned(bytes));
  }
  return p;
}

void host_tier::release(void* data, std::size_t bytes, int device) noexcept {
  if (device >= 0) device::unmap_host(data);
  ::munmap(data, bytes);
}

}  // namespace garner

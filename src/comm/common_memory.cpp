#include "comm/common_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/segment_file.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"

namespace garner {

namespace {
// Header in the part of the first process.
struct notice {
  std::uint64_t bytes = 0, head_bytes = 0;
  std::int32_t process = 0, descriptor = -1;
  char head[common_memory::most_head] = {};
};
static_assert(sizeof(notice) <= page_bytes);
}  // namespace

struct common_memory::mapping {
  segment_file::descriptor fd;
  void* data = nullptr;
  std::size_t bytes = 0, charged = 0;
  ::pid_t process = ::getpid();
  bool pinned = false;

  ~mapping() {
    bool const forked = ::getpid() != process;  // pins and budget are the parent's
    if (pinned && !forked) device::unmap_host(data);
    if (data) ::munmap(data, bytes);
    if (charged && !forked) host_budget().give_back(charged);
  }
  void map(bool writable) {
    int const may = PROT_READ | (writable ? PROT_WRITE : 0);
    void* const p = ::mmap(nullptr, bytes, may, MAP_SHARED, fd.fd, 0);
    if (p == MAP_FAILED) fail(errc::memory, "{} bytes that processes share could not be mapped: {}", bytes, std::strerror(errno));
    data = p;
    ::madvise(data, bytes, MADV_HUGEPAGE);
  }
};

common_memory::common_memory(terms const& t)
    : said_(t), group_(t.name, {t.members, t.mine, -1, t.same, t.timeout_seconds, t.look}), mine_(std::make_shared<mapping>()) {
  group_.least_of({});
  page_ = group_.make(makes() ? page_bytes : 0, page_bytes, "what processes share");
}

void common_memory::pay(std::uint64_t bytes, char const* what) {
  host_budget().take(bytes, what);
  mine_->charged += bytes;
}

void* common_memory::make(std::uint64_t bytes) {
  mapping& m = *mine_;
  m.bytes = whole_pages(std::max<std::uint64_t>(bytes, 1));
  m.fd = segment_file::descriptor(::memfd_create("garner", MFD_CLOEXEC));
  if (m.fd.fd < 0 || ::ftruncate(m.fd.fd, static_cast<::off_t>(m.bytes)) != 0)
    fail(errc::memory, "{} bytes ({}) that processes share refused by the system: {}; take a larger machine, or fewer processes", bytes,
         format_bytes(bytes), std::strerror(errno));
  m.map(true);
  touch_pages(m.data, m.bytes, true);
  return m.data;
}

common_memory::found common_memory::open(bool pinned, std::string_view head) {
  mapping& m = *mine_;
  if (makes()) {
    if (head.size() > most_head) fail(errc::internal, "{} bytes to send to other processes, and {} are room", head.size(), most_head);
    auto& n = *new (page_) notice;
    n.bytes = m.bytes, n.process = m.process, n.descriptor = m.fd.fd;
    n.head_bytes = head.size();
    std::copy(head.begin(), head.end(), n.head);
  }
  notice const n = *static_cast<notice const*>(group_.open().at(0));
  if (!makes() && n.bytes) {
    std::string const at = fmt::format("/proc/{}/fd/{}", n.process, n.descriptor);
    m.fd = segment_file::descriptor(::open(at.c_str(), O_RDWR | O_CLOEXEC));
    if (m.fd.fd < 0)
      fail(errc::io, "{}: the memory of process {} for '{}' cannot be opened: {}; start all processes as one user, in one Docker container",
           at, n.process, said_.name, std::strerror(errno));
    m.bytes = n.bytes;
    m.map(said_.device >= 0);  // pages that may be written are pinned everywhere
    m.fd = {};
  }
  if (pinned && m.data && said_.device >= 0) {
    device::make_current(said_.device);
    touch_pages(m.data, m.bytes, false);
    device::map_host(m.data, m.bytes);
    m.pinned = true;
    if (!makes()) ::mprotect(m.data, m.bytes, PROT_READ);  // pinned pages may be read-only again
  }
  return {std::string(n.head, n.head_bytes), m.data ? std::shared_ptr<void>(mine_, m.data) : nullptr, m.bytes};
}

}  // namespace garner

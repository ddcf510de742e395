#include "comm/shared.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>

#include "comm/segment_file.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/detail/held.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"
#include "memory/pin.hpp"

namespace garner {

namespace {
using detail::there;
using segment_file::descriptor;
using segment_file::folder;
using segment_file::has_name;
using segment_file::held_by_others;
using segment_file::holders;
using segment_file::lock;
constexpr ::off_t filling = 1;  // the byte that is locked besides

std::string age_of(std::int64_t since) {
  std::int64_t const s = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::time(nullptr)) - since);
  if (s < 120) return fmt::format("{} seconds", s);
  if (s < 120 * 60) return fmt::format("{} minutes", s / 60);
  if (s < 48 * 3600) return fmt::format("{} hours", s / 3600);
  return fmt::format("{} days", s / 86400);
}
std::string size_and_age(int fd) {
  struct ::stat s {};
  ::fstat(fd, &s);
  return fmt::format("{}, made {} ago", format_bytes(static_cast<std::uint64_t>(s.st_size)), age_of(s.st_ctim.tv_sec));
}
[[noreturn]] void fail_stale(std::filesystem::path const& file, int fd, char const* state) {
  fail(errc::io, "{}: a stale table: {} ({}); create it with replace_stale, or remove the file", file.string(), state, size_and_age(fd));
}
}  // namespace

std::uint64_t shared_header::sum() const {
  std::uint64_t words[offsetof(shared_header, checksum) / 8], h = 0;
  std::memcpy(words, this, sizeof words);
  for (std::uint64_t w : words) h = mix(h ^ w);
  return h;
}

std::filesystem::path shared_file(std::string const& name) {
  bool good = !name.empty() && name.size() <= 200;
  for (char c : name)
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.');
  if (!good) fail(errc::usage, "'{}' is not a name for a shared table; use 1 to 200 letters, digits, '-', '_' or '.'", name);
  return std::filesystem::path(folder) / fmt::format("garner-{}-{}", ::geteuid(), name);
}

namespace {
struct live_segments {
  std::mutex mutex;
  std::set<shared_table::segment*> all;
};
live_segments& live() {
  static auto& instance = *new live_segments;  // never destroyed: a table may outlive it
  return instance;
}
}  // namespace

struct shared_table::segment {
  std::string name;
  std::filesystem::path file;
  descriptor fd;
  shared_header* header = nullptr;
  shared_header told;  // as it was when it was checked
  void* data = nullptr;
  std::size_t data_bytes = 0;  // whole pages
  ::pid_t process = ::getpid();
  bool created = false, charged = false, left = false;
  std::mutex mutex;
  pinned_pages pins;

  segment(std::string n, descriptor d) : name(std::move(n)), file(shared_file(name)), fd(std::move(d)) {
    std::lock_guard const hold(live().mutex);
    live().all.insert(this);
  }
  segment(segment const&) = delete;
  segment& operator=(segment const&) = delete;
  ~segment();
  // Whether this process holds the table of this file.
  static bool held_here(int fd);

  void map(std::size_t bytes) {
    void* const h = ::mmap(nullptr, page_bytes, PROT_READ | (created ? PROT_WRITE : 0), MAP_SHARED, fd.fd, 0);
    if (h == MAP_FAILED) fail(errc::memory, "{}: the header could not be mapped: {}", file.string(), std::strerror(errno));
    header = static_cast<shared_header*>(h);
    data_bytes = whole_pages(std::max<std::size_t>(bytes, 1));
    void* const d = ::mmap(nullptr, data_bytes, PROT_READ | (created ? PROT_WRITE : 0), MAP_SHARED, fd.fd, page_bytes);
    if (d == MAP_FAILED)
      fail(errc::memory, "{}: {} bytes could not be mapped: {}; raise `ulimit -v`", file.string(), data_bytes, std::strerror(errno));
    data = d;
    ::madvise(data, data_bytes, MADV_HUGEPAGE);
  }
  void leave() noexcept {
    if (left || ::getpid() != process) return;  // a child's is its parent's
    left = true;
    // Unlocks first: of two that leave at once the second finds no other; two exclusive attempts would refuse each other.
    lock(fd.fd, F_UNLCK, filling);
    lock(fd.fd, F_UNLCK, holders);
    if (lock(fd.fd, F_WRLCK, holders) && has_name(fd.fd)) ::unlink(file.c_str());
  }
  bool ready() const { return std::atomic_ref(header->ready).load(std::memory_order_acquire) != 0; }
};

shared_table::segment::~segment() {
  bool const forked = ::getpid() != process;                         // then the pins, the lock and the budget are the parent's
  if (forked) static_cast<void>(new pinned_pages(std::move(pins)));  // never unpinned: CUDA does not work in a child
  else pins.reset();
  if (data) ::munmap(data, data_bytes);
  if (header) ::munmap(header, page_bytes);
  {
    std::lock_guard const hold(live().mutex);
    live().all.erase(this);
  }
  if (!forked && charged) host_budget().give_back(data_bytes);
  leave();
}

bool shared_table::segment::held_here(int fd) {
  struct ::stat asked {};
  ::fstat(fd, &asked);
  std::lock_guard const hold(live().mutex);
  return std::any_of(live().all.begin(), live().all.end(), [&](segment const* s) {
    struct ::stat known {};
    return s->process == ::getpid() && ::fstat(s->fd.fd, &known) == 0 && known.st_dev == asked.st_dev && known.st_ino == asked.st_ino;
  });
}

void shared_table::leave_all() noexcept {
  std::lock_guard const hold(live().mutex);
  for (segment* s : live().all) s->leave();
}

shared_table shared_table::create(std::string const& name, std::uint64_t rows, std::uint64_t width, element kind,
                                  shared_options const& options) try {
  std::filesystem::path const file = shared_file(name);
  std::uint64_t const each = bytes_of(kind);
  if (each == 0) fail(errc::usage, "{}: unknown element {}; use f32, f16, bf16, i8, i64 or u8", file.string(), static_cast<int>(kind));
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (width > most / each || (width && rows > most / each / width))
    fail(errc::memory, "{}: {} rows of {} elements exceed any memory; use fewer", file.string(), rows, width);
  shared_header h;
  h.bytes = rows * width * each;
  h.rows = rows, h.width = width, h.kind = static_cast<std::uint32_t>(kind);
  h.creator = static_cast<std::uint32_t>(::getpid());
  h.created = static_cast<std::uint64_t>(std::time(nullptr));
  h.checksum = h.sum();

  // An existing table is reported before pages are allocated.
  auto const look = [&] {
    descriptor const old = segment_file::open(file);
    if (old.fd < 0) return;
    if (!has_name(old.fd)) return;
    if (held_by_others(old.fd, holders))
      fail(errc::usage, "{}: the table '{}' is held by {} ({}); attach to it, or take another name", file.string(), name,
           segment::held_here(old.fd) ? "this process" : "other processes", size_and_age(old.fd));
    if (!options.replace_stale) fail_stale(file, old.fd, "no process holds it any more");
    if (lock(old.fd, F_WRLCK, holders) && has_name(old.fd)) ::unlink(file.c_str());
  };
  look();

  struct ::statvfs room {};
  std::uint64_t const pages = whole_pages(std::max<std::size_t>(h.bytes, 1)), all = pages + page_bytes;
  if (::statvfs(folder, &room) != 0)
    fail(errc::io, "{}: {}: shared memory is missing; mount a tmpfs on {}", file.string(), std::strerror(errno), folder);
  if (std::uint64_t const free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize; room.f_blocks && free < all)
    fail(errc::memory, "{}: {} bytes ({}) of shared memory, and {} are free in {}; end what holds it, in a container raise --shm-size",
         file.string(), all, format_bytes(all), format_bytes(free), folder);

  descriptor d(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (d.fd < 0)
    fail(errc::io, "{}: cannot be made: {}; {} must be a tmpfs that this user may write", file.string(), std::strerror(errno), folder);
  auto s = std::make_shared<segment>(name, std::move(d));
  s->created = true;
  if (!lock(s->fd.fd, F_RDLCK, holders) || !lock(s->fd.fd, F_WRLCK, filling))
    fail(errc::io, "{}: cannot be locked: {}; Linux 3.15 or newer is needed", file.string(), std::strerror(errno));
  host_budget().take(pages, "a shared table");
  s->data_bytes = pages, s->charged = true;
  if (::fchmod(s->fd.fd, 0600) != 0 || ::ftruncate(s->fd.fd, static_cast<::off_t>(all)) != 0)
    fail(errc::memory, "{}: {} bytes refused by the system: {}; share a smaller table", file.string(), all, std::strerror(errno));
  s->map(h.bytes);
#ifdef MADV_POPULATE_WRITE
  if (::madvise(s->data, page_bytes, MADV_POPULATE_WRITE) == 0) touch_pages(s->data, pages, true);
#endif
  // Where pages could not be brought in so, writing to one that the system does not have would kill the process; this asks.
  if (int const problem = ::posix_fallocate(s->fd.fd, 0, static_cast<::off_t>(all));
      problem != 0 && problem != EOPNOTSUPP && problem != EINVAL)
    fail(errc::memory, "{}: {} bytes ({}) of shared memory refused: {}; in a container raise --shm-size", file.string(), all,
         format_bytes(all), std::strerror(problem));
  std::memcpy(static_cast<void*>(s->header), &h, sizeof h);
  s->told = h;

  std::string const self = fmt::format("/proc/self/fd/{}", s->fd.fd);
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, file.c_str(), AT_SYMLINK_FOLLOW) == 0) return shared_table(std::move(s));
    if (errno != EEXIST) fail(errc::io, "{}: cannot be given its name: {}", file.string(), std::strerror(errno));
    look();  // somebody came first
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail(errc::io, "{}: other processes keep making it; let one of them", file.string());
} catch (...) {
  rethrow_as_error();
}

shared_table shared_table::create(std::string const& name, std::uint64_t bytes, shared_options const& options) {
  return create(name, 1, bytes, element::u8, options);
}

namespace {
// Checks that header and file agree; returns the difference.
void check_header(shared_header const& h, std::filesystem::path const& file, std::uint64_t file_bytes) {
  auto const lies = [&](std::string const& what) {
    fail(errc::input, "{}: {}; it is not a table of this version of Garner: remove it, or take another name", file.string(), what);
  };
  if (h.magic != shared_header::magic_word) lies("it does not begin as a shared table does");
  if (h.version != shared_header::current_version) lies(fmt::format("version {}, expected {}", h.version, shared_header::current_version));
  if (h.checksum != h.sum()) lies("the checksum of its header differs");
  std::uint64_t const each = h.kind <= static_cast<std::uint32_t>(element::u8) ? bytes_of(static_cast<element>(h.kind)) : 0;
  if (each == 0 || h.header_bytes != page_bytes) lies(fmt::format("element kind {}, header of {} bytes", h.kind, h.header_bytes));
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (h.width > most / each || (h.width && h.rows > most / each / h.width) || h.rows * h.width * each != h.bytes)
    lies(fmt::format("{} rows of {} elements of {} bytes are not its {} bytes", h.rows, h.width, each, h.bytes));
  if (file_bytes < h.header_bytes + h.bytes) lies(fmt::format("it has {} bytes and its header says {} and a page", file_bytes, h.bytes));
}
}  // namespace

shared_table shared_table::attach(std::string const& name, shared_options const& options) try {
  std::filesystem::path const file = shared_file(name);
  if (!(options.timeout_seconds >= 0)) fail(errc::usage, "timeout {}: use seconds, 0 or more", options.timeout_seconds);  // no number too
  auto const until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.timeout_seconds);
  while (true) {
    check_interrupted();
    descriptor d = segment_file::open(file);
    if (d.fd < 0)
      fail(errc::io, "{}: shared table '{}' not found; its creator has not made it, or the last process that held it has ended",
           file.string(), name);
    struct ::stat status {};
    ::fstat(d.fd, &status);
    shared_header h;
    if (::pread(d.fd, &h, sizeof h, 0) != static_cast<::ssize_t>(sizeof h))
      fail(errc::input, "{}: {} bytes, shorter than a header; remove it", file.string(), status.st_size);
    check_header(h, file, static_cast<std::uint64_t>(status.st_size));
    if (!held_by_others(d.fd, holders)) {
      if (!has_name(d.fd)) continue;  // it went just now
      fail_stale(file, d.fd, "no process holds it any more");
    }
    // Locked only when it is filled: waiting processes must not keep a table alive whose creator died.
    if (h.ready == 0) {
      if (!held_by_others(d.fd, filling)) {
        h.ready = 0;
        if (::pread(d.fd, &h, sizeof h, 0) == static_cast<::ssize_t>(sizeof h) && h.ready) continue;  // it was filled in between
        if (!has_name(d.fd)) continue;
        fail_stale(file, d.fd, "its creator ended before it was filled");
      }
      if (std::chrono::steady_clock::now() >= until)
        fail(errc::io, "{}: process {} has not filled the table '{}' in {} seconds; wait longer (timeout)", file.string(), h.creator, name,
             options.timeout_seconds);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    if (!lock(d.fd, F_RDLCK, holders)) continue;  // the last one is just leaving
    auto s = std::make_shared<segment>(name, std::move(d));
    if (!has_name(s->fd.fd)) continue;
    s->told = h;
    s->map(h.bytes);
    if (!s->ready()) fail(errc::input, "{}: its header changed; it is not a table of Garner's", file.string());
    return shared_table(std::move(s));
  }
} catch (...) {
  rethrow_as_error();
}

void* shared_table::data() {
  segment const& s = there(segment_);
  if (!s.created) fail(errc::usage, "{}: only its creator may write a shared table; read rows()", s.file.native());
  return s.data;
}
void shared_table::publish() {
  segment& s = there(segment_);
  if (!s.created) fail(errc::usage, "{}: only its creator publishes a shared table", s.file.native());
  std::atomic_ref(s.header->ready).store(1, std::memory_order_release);
  lock(s.fd.fd, F_UNLCK, filling);
}
bool shared_table::published() const { return there(segment_).ready(); }
row_array shared_table::rows() const {
  shared_header const& h = there(segment_).told;
  row_array shared{segment_->data, h.rows, h.width, static_cast<element>(h.kind), segment_};
  shared.writable = false;  // other processes have copies of its rows
  return shared;
}
void const* shared_table::map_for(int device) try {
  segment& s = there(segment_);
  if (::getpid() != s.process)
    fail(errc::usage, "{}: a child by fork cannot map what its parent attached to; attach in the child, best with the start method spawn",
         s.file.string());
  std::lock_guard const hold(s.mutex);
  device::require(device);
  if (!s.pins) {
    touch_pages(s.data, s.data_bytes, false);
    // Pages that may be written are pinned everywhere; pinned ones may be read-only again.
    struct writable {
      segment& s;
      bool protect(int what) const { return s.created || ::mprotect(s.data, s.data_bytes, what) == 0; }
      explicit writable(segment& of) : s(of) {
        if (!protect(PROT_READ | PROT_WRITE)) fail(errc::memory, "{}: {}", s.file.string(), std::strerror(errno));
      }
      ~writable() { protect(PROT_READ); }
    } const meanwhile(s);
    s.pins = pinned_pages(s.data, s.data_bytes, device);
  }
  return device::seen_by(device, s.data);
} catch (...) {
  rethrow_as_error();
}
std::string const& shared_table::name() const { return there(segment_).name; }
std::uint64_t shared_table::bytes() const { return there(segment_).told.bytes; }
bool shared_table::created_here() const { return there(segment_).created; }

}  // namespace garner

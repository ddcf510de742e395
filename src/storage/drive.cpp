// Files and block devices as drives: opened, measured, and which alignment reads past the page cache want.
#include "storage/drive.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "core/fail.hpp"
#include "storage/engines.hpp"

namespace garner {

std::int64_t read_engine::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

constexpr std::uint32_t cautious_align = 4096;  // if the system does not report it: no drive needs more

class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

char const* remedy(int problem) { return problem == EMFILE || problem == ENFILE ? "; no file handles are left: raise `ulimit -n`" : ""; }

struct one_drive {
  drive_facts facts;
  descriptor cached, direct;
  struct ::stat opened {};
  std::atomic<bool> takes_direct{false};
};

void find_alignment(one_drive& d) {
  d.facts.offset_align = d.facts.memory_align = cautious_align;
#ifdef STATX_DIOALIGN
  struct ::statx about {};
  if (::statx(d.cached.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 && (about.stx_mask & STATX_DIOALIGN)) {
    d.facts.direct = about.stx_dio_offset_align != 0;
    if (d.facts.direct) d.facts.offset_align = about.stx_dio_offset_align, d.facts.memory_align = about.stx_dio_mem_align;
  }
#endif
}

void open_one(one_drive& d, std::string const& path, direct_reads direct) {
  d.facts.name = path;
  // noatime: updating the access time of each read costs 1 % of a read from memory; only the file's owner may set it.
  auto const open = [&](int flags) {
    int const plain = O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags, quiet = ::open(path.c_str(), plain | O_NOATIME);
    return descriptor(quiet < 0 && errno == EPERM ? ::open(path.c_str(), plain) : quiet);
  };
  d.cached = open(0);
  if (d.cached.get() < 0) fail(errc::io, "{}: cannot be opened: {}{}", path, std::strerror(errno), remedy(errno));
  if (::fstat(d.cached.get(), &d.opened) != 0) fail(errc::io, "{}: {}", path, std::strerror(errno));
  if (S_ISBLK(d.opened.st_mode)) {
    if (::ioctl(d.cached.get(), BLKGETSIZE64, &d.facts.size) != 0)
      fail(errc::io, "{}: its size is unknown: {}", path, std::strerror(errno));
  } else if (S_ISREG(d.opened.st_mode)) {
    d.facts.size = static_cast<std::uint64_t>(d.opened.st_size);
  } else {
    fail(errc::input, "{}: is neither a regular file nor a block device; name one", path);
  }
  ::posix_fadvise(d.cached.get(), 0, 0, POSIX_FADV_RANDOM);  // what lies behind a read is not wanted
  struct ::statfs system {};
  bool const in_memory = ::fstatfs(d.cached.get(), &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  if (direct == direct_reads::no || (direct == direct_reads::automatic && in_memory)) return;  // no cache to bypass
  d.direct = open(O_DIRECT);
  int const problem = d.direct.get() < 0 ? errno : 0;
  struct ::stat again {};
  if (!problem) {
    if (::fstat(d.direct.get(), &again) != 0 || again.st_ino != d.opened.st_ino || again.st_dev != d.opened.st_dev)
      fail(errc::input, "{}: was replaced while it was opened; try again", path);
    d.facts.direct = true;
    find_alignment(d);
  } else if (problem == EMFILE || problem == ENFILE) {
    fail(errc::io, "{}: cannot be opened: {}{}", path, std::strerror(problem), remedy(problem));
  }
  if (!d.facts.direct && direct == direct_reads::yes)
    fail(errc::io, "{}: its file system reads through the page cache only{}; leave the choice to Garner", path,
         problem ? fmt::format(" ({})", std::strerror(problem)) : "");
  if (!d.facts.direct) d.facts.offset_align = d.facts.memory_align = 1;
  d.takes_direct = d.facts.direct;
}

class file_drives final : public drive_set {
 public:
  file_drives(std::vector<std::string> const& paths, direct_reads direct) {
    for (std::string const& path : paths) {
      open_one(drives_.emplace_back(), path, direct);
      facts_.push_back(drives_.back().facts);
    }
  }
  std::vector<drive_facts> const& drives() const override { return facts_; }
  std::unique_ptr<read_engine> engine(engine_options const& options) override {
    std::vector<drive_descriptors> all;
    for (one_drive const& d : drives_) all.push_back({d.cached.get(), d.direct.get()});
    std::string why;
    if (options.kind != engine_kind::threads) {
      if (auto made = make_uring_engine(all, options.depth, why)) return made;
      if (options.kind == engine_kind::uring)
        fail(errc::io, "io_uring is not to be had: {}; leave the choice of the engine to Garner", why);
    }
    return make_thread_engine(std::move(all), options.threads, std::move(why));
  }
  void refuse_direct(std::uint32_t drive) override { drives_[drive].takes_direct = false; }
  bool takes_direct(std::uint32_t drive) const override { return drives_[drive].takes_direct.load(std::memory_order_relaxed); }
  void require_unchanged() const override {
    for (one_drive const& d : drives_) {
      if (!S_ISREG(d.opened.st_mode)) continue;
      struct ::stat open {
      }, named{};
      if (::fstat(d.cached.get(), &open) != 0) fail(errc::io, "{}: {}", d.facts.name, std::strerror(errno));
      if (::stat(d.facts.name.c_str(), &named) != 0 || named.st_ino != open.st_ino || named.st_dev != open.st_dev)
        fail(errc::input, "{}: was replaced or removed since it was opened; open it again", d.facts.name);
      if (open.st_size != d.opened.st_size || open.st_mtim.tv_sec != d.opened.st_mtim.tv_sec ||
          open.st_mtim.tv_nsec != d.opened.st_mtim.tv_nsec)
        fail(errc::input, "{}: was written to since it was opened; keep it unchanged while it is read", d.facts.name);
    }
  }

 private:
  std::deque<one_drive> drives_;  // which does not move them
  std::vector<drive_facts> facts_;
};

}  // namespace

std::shared_ptr<drive_set> open_drives(std::vector<std::string> const& paths, direct_reads direct) {
  if (paths.empty()) fail(errc::usage, "no file to read is named; name one or several");
  return std::make_shared<file_drives>(paths, direct);
}

}  // namespace garner

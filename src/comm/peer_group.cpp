#include "comm/peer_group.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "comm/segment_file.hpp"
#include "comm/shared.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/budget.hpp"
#include "memory/buffer.hpp"
#include "memory/page.hpp"

namespace garner {

namespace {
using segment_file::descriptor;
using segment_file::has_name;
using segment_file::held_by_others;
using segment_file::holders;
using segment_file::lock;

// The bytes that are locked, besides that of the holders.
constexpr ::off_t life_of(std::uint32_t member) { return 1 + static_cast<::off_t>(member); }

// State of a member; it only grows. closed: it has closed the parts of others; its own may still be read.
enum state : std::uint32_t { nobody, came, offered, filled, reading, closed };

struct slot {
  std::uint32_t state = nobody, process = 0;
  peer_group::offer offer{};
  device::memory_handle handle{};
  std::uint64_t bytes = 0;
};
struct table {                                                     // the shared pages of a group
  static constexpr std::uint64_t magic_word = 0x3350554f52475247;  // "GRGROUP3"
  enum : std::uint32_t { none, writing, written };
  std::uint64_t magic = magic_word;
  std::uint32_t members = 0;
  std::uint32_t refusal = none;  // of a member that came with different parameters: others need not wait any longer
  char same[512] = {}, other[600] = {};
  slot slots[peer_group::most_members];
  std::uint64_t common_bytes = 0, head_bytes = 0;  // of memory in common; by the first member, before it has filled
  std::int32_t descriptor = -1;
  char head[peer_group::most_head] = {};
};
constexpr std::size_t table_bytes = 2 * page_bytes;
static_assert(sizeof(table) <= table_bytes);

// Memory in common, as this process maps it.
struct mapping {
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
}  // namespace

std::filesystem::path peer_group::file(std::string const& name) {
  return shared_file(name).string() + "+peers";
}  // no table's name has a +

struct peer_group::rendezvous {
  std::string name;
  std::filesystem::path file;
  terms said;
  descriptor fd;
  table* page = nullptr;
  ::pid_t process = ::getpid();
  std::chrono::steady_clock::time_point until;
  std::shared_ptr<mapping> common = std::make_shared<mapping>();
  memory_block part;                                  // on a device
  std::size_t part_bytes = 0, charged = 0;            // of mine
  std::uint64_t stride = 0;                           // of parts in host memory, in whole pages
  char* own = nullptr;                                // in host memory
  std::vector<std::pair<void*, std::size_t>> opened;  // of others; on a device without their bytes

  rendezvous(std::string const& n, terms const& t) : name(n), file(peer_group::file(n)), said(t) {
    if (!(t.timeout_seconds >= 0)) fail(errc::usage, "timeout {}: use seconds, 0 or more", t.timeout_seconds);  // no number too
    until = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                   std::chrono::duration<double>(std::min(t.timeout_seconds, 1e9)));
  }
  rendezvous(rendezvous const&) = delete;
  rendezvous& operator=(rendezvous const&) = delete;
  ~rendezvous();

  std::atomic_ref<std::uint32_t> state_of(std::uint32_t member) const { return std::atomic_ref(page->slots[member].state); }
  void set(state s) const { state_of(said.mine).store(s, std::memory_order_release); }
  bool lives(std::uint32_t member) const { return member == said.mine || held_by_others(fd.fd, life_of(member)); }
  bool late() const { return std::chrono::steady_clock::now() >= until; }
  std::string named(std::uint32_t member) const {
    return fmt::format("member {} of the group '{}' (process {})", member, name, page->slots[member].process);
  }

  void map(int file_of) {
    void* const p = ::mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_of, 0);
    if (p == MAP_FAILED) fail(errc::memory, "{}: its page could not be mapped: {}", file.string(), std::strerror(errno));
    page = static_cast<table*>(p);
  }
  void unmap() {
    if (page) ::munmap(std::exchange(page, nullptr), table_bytes);
  }
  bool create();
  bool join(descriptor d);
  void tell_refusal() const;
  void heed_refusal() const;
  void wait_for(state wanted, bool with_end) const;
  bool read_by_others() const {
    for (std::uint32_t k = 0; k < said.members; ++k)
      if (std::uint32_t const s = state_of(k); k != said.mine && s != nobody && s != closed && lives(k)) return true;
    return false;
  }
  void close_opened() {
    for (auto [at, bytes] : opened) {
      if (said.device >= 0) device::close_memory(said.device, at);
      else ::munmap(at, bytes);
    }
    opened.clear();
  }
};

peer_group::rendezvous::~rendezvous() {
  close_opened();
  part.reset();
  if (own) ::munmap(own, charged);
  if (charged) host_budget().give_back(charged);
  unmap();
  if (fd.fd < 0) return;
  lock(fd.fd, F_UNLCK, life_of(said.mine));
  lock(fd.fd, F_UNLCK, holders);
  if (lock(fd.fd, F_WRLCK, holders) && has_name(fd.fd)) ::unlink(file.c_str());  // the last member of an incomplete group
}

// False: somebody was faster.
bool peer_group::rendezvous::create() {
  descriptor d(::open(segment_file::folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (d.fd < 0)
    fail(errc::io, "{}: cannot be made: {}; {} must be a tmpfs that this user may write", file.string(), std::strerror(errno),
         segment_file::folder);
  table t;
  t.members = said.members;
  std::memcpy(t.same, said.same.data(), std::min(said.same.size(), sizeof t.same - 1));
  t.slots[said.mine].state = came;
  t.slots[said.mine].process = static_cast<std::uint32_t>(process);
  if (::fchmod(d.fd, 0600) != 0 || ::posix_fallocate(d.fd, 0, table_bytes) != 0 ||
      ::pwrite(d.fd, &t, sizeof t, 0) != static_cast<::ssize_t>(sizeof t))
    fail(errc::memory, "{}: a page of shared memory refused; in a container raise --shm-size", file.string());
  if (!lock(d.fd, F_RDLCK, holders) || !lock(d.fd, F_WRLCK, life_of(said.mine)))
    fail(errc::io, "{}: cannot be locked: {}; Linux 3.15 or newer is needed", file.string(), std::strerror(errno));
  if (::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", d.fd).c_str(), AT_FDCWD, file.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (errno == EEXIST) return false;
    fail(errc::io, "{}: cannot be given its name: {}", file.string(), std::strerror(errno));
  }
  fd = std::move(d);
  map(fd.fd);
  return true;
}

void peer_group::rendezvous::tell_refusal() const {
  std::atomic_ref const refusal(page->refusal);
  if (std::uint32_t is = table::none; !refusal.compare_exchange_strong(is, table::writing)) return;
  std::string const what = fmt::format("{} members and {}", said.members, said.same);
  std::memcpy(page->other, what.data(), std::min(what.size(), sizeof page->other - 1));
  refusal.store(table::written, std::memory_order_release);
}

void peer_group::rendezvous::heed_refusal() const {
  if (std::atomic_ref(page->refusal).load(std::memory_order_acquire) == table::written)
    fail(errc::usage, "the group '{}' has {} members and {} here; another process came and says {}; let all use the same", name,
         said.members, said.same, page->other);
}

// False: retry a little later. The file may belong to a group that is just ending, in this process too.
bool peer_group::rendezvous::join(descriptor d) {
  if (!held_by_others(d.fd, holders)) {  // of processes that were killed while they waited for others: nothing in it is of worth
    if (lock(d.fd, F_WRLCK, holders) && has_name(d.fd)) ::unlink(file.c_str());
    return false;
  }
  struct ::stat s {};
  if (::fstat(d.fd, &s) != 0 || s.st_size < static_cast<::off_t>(table_bytes))
    fail(errc::input, "{}: {} bytes do not make a process group; remove it", file.string(), s.st_size);
  map(d.fd);
  table const& t = *page;
  if (t.magic != table::magic_word || t.members == 0 || t.members > most_members)
    fail(errc::input, "{}: is not a process group of this version of Garner; remove it, or take another name", file.string());
  bool const taken = said.mine < t.members && state_of(said.mine) != nobody;
  if (!taken) {
    std::string const theirs(t.same, ::strnlen(t.same, sizeof t.same));
    if (t.members != said.members || theirs != said.same.substr(0, sizeof t.same - 1)) {
      tell_refusal();
      fail(errc::usage, "the group '{}' was begun by others with {} members and {}; this process says {} members and {}", name, t.members,
           theirs, said.members, said.same);
    }
    // Writes the life first: from here on a used slot without a lock belongs to a member that has ended.
    if (lock(d.fd, F_RDLCK, holders) && lock(d.fd, F_WRLCK, life_of(said.mine)) && has_name(d.fd) && state_of(said.mine) == nobody) {
      page->slots[said.mine].process = static_cast<std::uint32_t>(process);
      fd = std::move(d);
      set(came);
      return true;
    }
  } else if (late()) {
    bool const there = held_by_others(d.fd, life_of(said.mine));
    fail(errc::usage, "{} {}", named(said.mine),
         there ? "is there already; give each process another of the peers, or the group another name"
               : "has ended while others wait in the group; end them too, or take another name");
  }
  unmap();
  return false;
}

peer_group::peer_group(std::string const& name, terms const& t) {
  if (t.members == 0 || t.members > most_members || t.mine >= t.members)
    fail(errc::usage, "member {} of a group of {}; at most {} are, counted from 0", t.mine, t.members, most_members);
  auto m = std::make_unique<rendezvous>(name, t);
  while (true) {
    check_interrupted();
    left_behind();  // an earlier group of that name may wait for it
    descriptor d = segment_file::open(m->file);
    if (d.fd < 0 ? m->create() : m->join(std::move(d))) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  rendezvous_ = std::move(m);
  if (t.device >= 0) device::require(t.device);  // as a member, so that the others learn of its end and do not wait for it
}

void peer_group::rendezvous::wait_for(state wanted, bool with_end) const {
  while (true) {
    check_interrupted();
    if (said.look) said.look();
    std::string missing;
    for (std::uint32_t k = 0; k < said.members; ++k) {
      std::uint32_t const s = state_of(k).load(std::memory_order_acquire);
      if (s >= wanted) continue;
      if (s != nobody && !lives(k)) fail(errc::io, "{} has ended, or could not have its part; begin anew in all processes", named(k));
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", k);
    }
    if (missing.empty()) return;
    heed_refusal();
    if (with_end && late())
      fail(errc::io,
           "of the {} members of the group '{}' these have not come in {} seconds: {}; start a process for each of the peers, or wait "
           "longer",
           said.members, name, said.timeout_seconds, missing);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

peer_group::offer peer_group::least_of(offer const& mine) {
  rendezvous& m = *rendezvous_;
  m.page->slots[m.said.mine].offer = mine;
  m.set(offered);
  m.wait_for(offered, true);
  if (m.said.mine == 0) ::unlink(m.file.c_str());  // all have come
  offer least = mine;
  for (std::uint32_t k = 0; k < m.said.members; ++k)
    for (std::size_t i = 0; i < numbers; ++i) least[i] = std::min(least[i], m.page->slots[k].offer[i]);
  return least;
}

void* peer_group::make(std::size_t bytes, std::size_t most, char const* what) {
  rendezvous& m = *rendezvous_;
  m.part_bytes = bytes;
  m.stride = whole_pages(std::max(most, bytes));
  if (bytes == 0) return nullptr;
  if (m.said.device >= 0) {
    m.part = memory_block(tier::device, bytes, m.said.device, what);
    return m.part.data();
  }
  std::size_t const pages = whole_pages(bytes);
  host_budget().take(pages, what);
  m.charged = pages;
  auto const at = static_cast<::off_t>(table_bytes + m.said.mine * m.stride);
  if (int const problem = ::posix_fallocate(m.fd.fd, at, static_cast<::off_t>(pages)); problem != 0)
    fail(errc::memory, "{}: {} bytes of shared memory refused: {}; in a container raise --shm-size", what, bytes, std::strerror(problem));
  void* const p = ::mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd.fd, at);
  if (p == MAP_FAILED) fail(errc::memory, "{}: {} bytes could not be mapped: {}", what, bytes, std::strerror(errno));
  return m.own = static_cast<char*>(p);
}

std::vector<void const*> peer_group::open() {
  rendezvous& m = *rendezvous_;
  slot& mine = m.page->slots[m.said.mine];
  mine.bytes = m.part_bytes;
  if (m.part.data()) mine.handle = device::export_memory(m.said.device, m.part.data());
  m.set(filled);
  m.wait_for(filled, false);
  std::vector<void const*> at;
  for (std::uint32_t k = 0; k < m.said.members; ++k) {
    slot const& s = m.page->slots[k];
    if (s.bytes == 0 || k == m.said.mine) {
      at.push_back(s.bytes == 0 ? nullptr : m.part.data() ? m.part.data() : m.own);
    } else if (m.said.device >= 0) {
      m.opened.emplace_back(device::open_memory(s.handle, m.said.device), s.bytes);
      at.push_back(m.opened.back().first);
    } else {
      int const may = PROT_READ | (m.said.writable ? PROT_WRITE : 0);
      void* const p = ::mmap(nullptr, s.bytes, may, MAP_SHARED, m.fd.fd, static_cast<::off_t>(table_bytes + k * m.stride));
      if (p == MAP_FAILED) fail(errc::memory, "the part of {} could not be mapped: {}", m.named(k), std::strerror(errno));
      m.opened.emplace_back(p, s.bytes);
      at.push_back(p);
    }
  }
  m.set(reading);
  require_alive();
  return at;
}

bool peer_group::makes() const { return rendezvous_->said.mine == 0; }
void peer_group::pay(std::uint64_t bytes, char const* what) {
  host_budget().take(bytes, what);
  rendezvous_->common->charged += bytes;
}

void* peer_group::make_common(std::uint64_t bytes) {
  mapping& m = *rendezvous_->common;
  m.bytes = whole_pages(std::max<std::uint64_t>(bytes, 1));
  m.fd = segment_file::descriptor(::memfd_create("garner", MFD_CLOEXEC));
  if (m.fd.fd < 0 || ::ftruncate(m.fd.fd, static_cast<::off_t>(m.bytes)) != 0)
    fail(errc::memory, "{} bytes ({}) that processes share refused by the system: {}; take a larger machine, or fewer processes", bytes,
         format_bytes(bytes), std::strerror(errno));
  m.map(true);
  touch_pages(m.data, m.bytes, true);
  return m.data;
}

peer_group::found peer_group::open_common(bool pinned, std::string_view head) {
  mapping& m = *rendezvous_->common;
  terms const& said = rendezvous_->said;
  table& t = *rendezvous_->page;
  if (makes()) {
    if (head.size() > most_head) fail(errc::internal, "{} bytes to send to other processes, and {} are room", head.size(), most_head);
    t.common_bytes = m.bytes, t.descriptor = m.fd.fd, t.head_bytes = head.size();
    std::copy(head.begin(), head.end(), t.head);
  }
  open();
  if (!makes() && t.common_bytes) {
    std::uint32_t const first = t.slots[0].process;
    std::string const at = fmt::format("/proc/{}/fd/{}", first, t.descriptor);
    m.fd = segment_file::descriptor(::open(at.c_str(), O_RDWR | O_CLOEXEC));
    if (m.fd.fd < 0)
      fail(errc::io, "{}: the memory of process {} for '{}' cannot be opened: {}; start all processes as one user, in one Docker container",
           at, first, rendezvous_->name, std::strerror(errno));
    m.bytes = t.common_bytes;
    m.map(said.device >= 0);  // pages that may be written are pinned everywhere
    m.fd = {};
  }
  if (pinned && m.data && said.device >= 0) {
    device::make_current(said.device);
    touch_pages(m.data, m.bytes, false);
    device::map_host(m.data, m.bytes);
    m.pinned = true;
    if (!makes()) ::mprotect(m.data, m.bytes, PROT_READ);  // pinned pages may be read-only again
  }
  return {std::string(t.head, t.head_bytes), m.data ? std::shared_ptr<void>(rendezvous_->common, m.data) : nullptr, m.bytes};
}

bool peer_group::lives(std::uint32_t member) const { return rendezvous_->lives(member); }
bool peer_group::ended(std::uint32_t member) const {
  return rendezvous_->state_of(member).load(std::memory_order_acquire) != nobody && !rendezvous_->lives(member);
}
void peer_group::heed_refusal() const { rendezvous_->heed_refusal(); }
void peer_group::require_alive() const {
  rendezvous const& m = *rendezvous_;
  for (std::uint32_t k = 0; k < m.said.members; ++k)
    if (!m.lives(k)) fail(errc::device, "{} has ended, and its part with it; make the table anew in all processes", m.named(k));
}

std::size_t peer_group::keep(std::unique_ptr<rendezvous> left) {
  struct leavings {
    std::mutex mutex;
    std::vector<std::unique_ptr<rendezvous>> kept;
  };
  static auto* const all = new leavings;  // never destroyed: what the process leaves at its end the system takes back
  std::vector<std::unique_ptr<rendezvous>> gone;
  std::lock_guard const hold(all->mutex);
  if (left) all->kept.push_back(std::move(left));
  for (auto& m : all->kept)
    if (!m->read_by_others()) gone.push_back(std::move(m));
  std::erase(all->kept, nullptr);
  return all->kept.size();
}
std::size_t peer_group::left_behind() { return keep(nullptr); }

peer_group::peer_group(peer_group&&) noexcept = default;
peer_group& peer_group::operator=(peer_group&& other) noexcept {
  std::swap(rendezvous_, other.rendezvous_);
  return *this;
}
peer_group::~peer_group() {
  if (!rendezvous_) return;
  rendezvous& m = *rendezvous_;
  if (::getpid() != m.process) {  // a child by fork: all of it is the parent's
    static_cast<void>(rendezvous_.release());
    return;
  }
  m.close_opened();
  m.common.reset();
  if (m.state_of(m.said.mine) < filled) return;  // notifies the others that there will be no part
  m.set(closed);
  try {
    keep(std::move(rendezvous_));
  } catch (...) {  // no memory to remember it by: it goes
  }
}

}  // namespace garner

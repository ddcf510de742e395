// See pci.hpp.
#include "lab/nvme/pci.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/fail.hpp"
#include "core/folder.hpp"

namespace garner::lab {

namespace {

constexpr std::uint32_t nvme_class = 0x010802;

std::uint32_t class_of(std::filesystem::path const& device) {
  std::ifstream in(device / "class");
  std::uint32_t c = 0;
  in >> std::hex >> c;
  return c;
}

struct opened {
  int number;
  explicit opened(std::string const& file, int flags) : number(::open(file.c_str(), flags | O_CLOEXEC)) {}
  ~opened() {
    if (number >= 0) ::close(number);
  }
  opened(opened const&) = delete;
  opened& operator=(opened const&) = delete;
};

}  // namespace

std::vector<std::string> nvme_addresses(std::string const& root) {
  std::vector<std::string> found;
  for (std::string const& name : names_in(root))
    if (class_of(root + "/" + name) == nvme_class) found.push_back(name);
  std::sort(found.begin(), found.end());
  return found;
}

pci_registers::pci_registers(std::string const& address, std::string const& root) : folder_(root + "/" + address) {
  std::error_code none;
  if (address.empty() || address.find('/') != address.npos || !std::filesystem::exists(folder_ + "/class", none))
    fail(errc::usage, "{}: not found; {} lists the devices of this machine", address, root);
  if (std::uint32_t const c = class_of(folder_); c != nvme_class) fail(errc::usage, "{}: is of class {:06x}, no drive of NVMe", address, c);
  if (auto const driver = std::filesystem::read_symlink(folder_ + "/driver", none); !driver.empty())
    fail(errc::usage, "{}: is held by the driver {}; where nothing on it is in use, `echo {} > {}/driver/unbind` frees it", address,
         driver.filename().string(), address, folder_);
  if (std::filesystem::exists(folder_ + "/iommu_group", none))
    fail(errc::usage, "{}: lies behind an IOMMU, which keeps it from physical addresses; that would take vfio, which Garner lacks",
         address);
  {
    std::ofstream enable(folder_ + "/enable");
    enable << "1" << std::flush;
    if (!enable) fail(errc::io, "{}/enable: cannot be written: {}; are you root?", folder_, std::strerror(errno));
  }
  std::string const file = folder_ + "/resource0";
  opened const region(file, O_RDWR | O_SYNC);
  struct stat facts {};
  if (region.number < 0 || ::fstat(region.number, &facts) != 0) fail(errc::io, "{}: cannot be opened: {}", file, std::strerror(errno));
  bytes_ = static_cast<std::size_t>(facts.st_size);
  void* const base = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, region.number, 0);
  if (base == MAP_FAILED) fail(errc::io, "{}: cannot be mapped: {}; a kernel in lockdown refuses it", file, std::strerror(errno));
  base_ = base;
  try {
    master(true);
  } catch (...) {
    ::munmap(base_, bytes_);
    throw;
  }
}

pci_registers::~pci_registers() {
  try {
    master(false);
  } catch (error const&) {  // then it is as it was
  }
  ::munmap(base_, bytes_);
}

// The command register: bit 1 answers to its memory space, bit 2 may reach memory itself, bit 10 no interrupts by wire.
void pci_registers::master(bool on) const {
  std::string const file = folder_ + "/config";
  opened const config(file, O_RDWR);
  std::uint16_t command = 0;
  bool done = config.number >= 0 && ::pread(config.number, &command, 2, 4) == 2;
  command = static_cast<std::uint16_t>(on ? command | 0x406 : command & ~0x4);
  done = done && ::pwrite(config.number, &command, 2, 4) == 2;
  if (!done) fail(errc::io, "{}: cannot be changed: {}", file, std::strerror(errno));
}

physical_memory::~physical_memory() {
  for (auto const& [at, pages] : blocks_) ::munmap(const_cast<std::byte*>(at), pages.size() * huge);
}

std::byte* physical_memory::allocate(std::size_t bytes, char const* what) {
  std::size_t const n = std::max<std::size_t>((bytes + huge - 1) / huge, 1);
  void* const at = ::mmap(nullptr, n * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
  if (at == MAP_FAILED)
    fail(errc::memory, "{} huge pages for {}: {}; `echo {} > /proc/sys/vm/nr_hugepages` sets more aside", n, what, std::strerror(errno),
         n + 64);
  std::vector<std::uint64_t> pages(n);
  opened const map("/proc/self/pagemap", O_RDONLY);
  for (std::size_t k = 0; k < n; ++k) {
    auto* const page = static_cast<std::byte*>(at) + k * huge;
    std::memset(page, 0, huge);
    std::uint64_t entry = 0;
    constexpr std::uint64_t present = std::uint64_t{1} << 63, frame_bits = (std::uint64_t{1} << 55) - 1;
    auto const where = static_cast<::off_t>(reinterpret_cast<std::uintptr_t>(page) / 4096 * 8);
    if (map.number < 0 || ::pread(map.number, &entry, 8, where) != 8 || !(entry & present) || !(entry & frame_bits)) {
      ::munmap(at, n * huge);
      fail(errc::io, "/proc/self/pagemap: does not show where pages lie; that takes root (CAP_SYS_ADMIN)");
    }
    pages[k] = (entry & frame_bits) * 4096;
  }
  std::lock_guard const hold(mutex_);
  blocks_[static_cast<std::byte*>(at)] = std::move(pages);
  return static_cast<std::byte*>(at);
}
void physical_memory::release(std::byte* at) noexcept {
  std::lock_guard const hold(mutex_);
  auto const block = blocks_.find(at);
  if (block == blocks_.end()) return;
  ::munmap(at, block->second.size() * huge);
  blocks_.erase(block);
}
std::uint64_t physical_memory::address(void const* at) const {
  auto const* const p = static_cast<std::byte const*>(at);
  std::lock_guard const hold(mutex_);
  auto block = blocks_.upper_bound(p);
  if (block == blocks_.begin()) fail(errc::internal, "an address that is in no block of physical memory");
  --block;
  auto const offset = static_cast<std::size_t>(p - block->first);
  if (offset >= block->second.size() * huge) fail(errc::internal, "an address that is in no block of physical memory");
  return block->second[offset / huge] + offset % huge;
}

}  // namespace garner::lab

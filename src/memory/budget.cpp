// Budgets, and the source of the host's: files of /proc and /sys, each of which may be absent. A control group limits all groups below it,
// so the tightest of the ancestors counts; in a container, the own cgroup often appears as the root.
#include "memory/budget.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

budget::budget(std::string name, std::string remedy, std::uint64_t limit)
    : name_(std::move(name)), remedy_(std::move(remedy)), limit_(limit) {}

void budget::take(std::uint64_t bytes, char const* what) {
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    std::uint64_t const allowed = limit();
    if (bytes > allowed || used > allowed - bytes)
      fail(errc::memory, "{}: {} bytes ({}) for {} are over the budget: {} of {} bytes are in use; raise {} or use less", name_, bytes,
           format_bytes(bytes), what, used, allowed, remedy_);
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
}
void budget::give_back(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
void budget::set_limit(std::uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }

std::uint64_t left_on_device(int index) { return std::min(device::memory(index).free_bytes, device_budget(index).left()); }
std::uint64_t most_on_device(int index) {
  return as_error([&] { return std::min(device::memory(index).free_bytes, device_budget(index).limit()); });
}

memory_use host_memory_use() {
  return as_error([] { return memory_use{host_budget().limit(), host_budget().used(), host_budget().peak()}; });
}
memory_use device_memory_use(int index) {
  return as_error([&] {
    budget const& b = device_budget(index);
    return memory_use{b.limit(), b.used(), b.peak(), device::most_taken(index)};
  });
}

budget& host_budget() {
  static budget instance("host memory", "the host budget", host_memory_now().limit());
  return instance;
}

budget& device_budget(int index) {
  if (index < 0) fail(errc::usage, "device {}: the index is negative; use 0 or more", index);
  static std::mutex mutex;
  static std::deque<budget> all;  // addresses stay
  std::lock_guard const hold(mutex);
  while (static_cast<int>(all.size()) <= index) all.emplace_back(fmt::format("device {}", all.size()), "its budget");
  return all[static_cast<std::size_t>(index)];
}

// --- the host's memory
// ---------------------------------------------------------------------------------------------------------------------
namespace {
namespace fs = std::filesystem;
// Files are named by texts: a path of libstdc++'s that is put together where memory runs out is freed twice.

// The number that follows each word of a file of "word number" lines; the last one counts.
std::map<std::string, std::uint64_t> words_of(std::string const& file) {
  std::map<std::string, std::uint64_t> found;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t n = 0;
    if (words >> word >> n) found[word] = n;
  }
  return found;
}

std::uint64_t number_in(std::string const& file, std::uint64_t otherwise) {  // "max" is not a number
  std::ifstream in(file);
  std::uint64_t n = 0;
  return in >> n ? n : otherwise;
}

// `cache`: the words of memory.stat that count pages which the kernel takes back by itself.
void look_at_group(host_memory& m, std::string const& mount, std::string group, char const* limit, char const* used,
                   std::array<char const*, 2> cache) {
  while (true) {
    std::string const at = mount + group + "/";
    // Version 1 encodes "no limit" as a number close to 2^63.
    if (std::uint64_t const bytes = number_in(at + limit, budget::unlimited); bytes < std::uint64_t{1} << 60) {
      auto const stat = words_of(at + "memory.stat");
      std::uint64_t held = number_in(at + used, 0);
      for (char const* word : cache)
        if (auto const w = stat.find(word); w != stat.end()) held -= std::min(held, w->second);
      held = std::min(held, bytes);
      if (m.group_limit == budget::unlimited || bytes - held < m.group_limit - m.group_used) m.group_limit = bytes, m.group_used = held;
    }
    if (group.empty() || group == "/") return;
    group.resize(group.rfind('/') == group.npos ? 0 : group.rfind('/'));
  }
}
}  // namespace

host_memory host_memory_now(fs::path const& of) try {
  host_memory m;
  std::string const root = of.native() + "/";
  auto const info = words_of(root + "proc/meminfo");
  auto const kib = [&](char const* word) {
    auto const at = info.find(word);
    return at == info.end() ? std::uint64_t{0} : at->second * 1024;
  };
  m.total = kib("MemTotal:");
  m.available = kib("MemAvailable:");

  std::ifstream zones(root + "proc/zoneinfo");
  std::uint64_t pages = 0, n = 0;
  for (std::string word; zones >> word;)
    if (word == "present" && zones >> n) pages += n;
  if (pages) m.installed = std::max(pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), m.total) + kib("SwapTotal:");

  std::ifstream groups(root + "proc/self/cgroup");  // "0::/path" or "4:memory:/path"
  for (std::string line; std::getline(groups, line);) {
    std::size_t const a = line.find(':'), b = line.find(':', a == std::string::npos ? a : a + 1);
    if (b == std::string::npos) continue;
    std::string const kinds = "," + line.substr(a + 1, b - a - 1) + ",", group = line.substr(b + 1);
    if (kinds == ",,") look_at_group(m, root + "sys/fs/cgroup", group, "memory.max", "memory.current", {"active_file", "inactive_file"});
    if (kinds.find(",memory,") != std::string::npos)
      look_at_group(m, root + "sys/fs/cgroup/memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                    {"total_active_file", "total_inactive_file"});
  }
  return m;
} catch (...) {
  rethrow_as_error();
}

std::uint64_t host_memory::limit() const {
  return group_limit == budget::unlimited ? installed : std::min(installed, group_limit - group_used);
}

std::uint64_t host_memory::free() const {
  if (installed == budget::unlimited) return std::min(limit(), available);
  return std::min(limit(), installed - std::min(installed, total - std::min(total, available)));
}

// --- bytes as people write them
// --------------------------------------------------------------------------------------------------------------
std::uint64_t parse_bytes(std::string const& text) try {
  double value = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit;
  for (char const* c = end; c != text.data() + text.size(); ++c)
    if (*c != ' ' || !unit.empty()) unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  static std::array<char const*, 5> const names{"", "k", "m", "g", "t"};
  double factor = 0, binary = 1, decimal = 1;
  for (char const* name : names) {
    std::string const n = name;
    if (unit == n || unit == n + "i" || unit == n + "ib") factor = n.empty() && !unit.empty() ? 0 : binary;
    if (unit == n + "b") factor = decimal;
    binary *= 1024, decimal *= 1000;
  }
  if (problem != std::errc() || factor == 0 || !(value >= 0) || value * factor >= 0x1p63)
    fail(errc::usage, "'{}' is not a number of bytes; use for example 8GiB, 512 MB or 4096 (GiB and G are 2^30, GB is 10^9)", text);
  std::uint64_t whole = 0;  // a double would round numbers beyond 2^53
  if (factor == 1 && std::from_chars(text.data(), end, whole).ptr == end) return whole;
  return static_cast<std::uint64_t>(value * factor);
} catch (...) {
  rethrow_as_error();
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == budget::unlimited) return "unlimited";
  static constexpr std::array<char const*, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t u = 0;
  while (value >= 1023.95 && u + 1 < units.size()) value /= 1024, ++u;
  return u == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[u]);
}

}  // namespace garner

#include "memory/budget.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <fstream>
#include <mutex>

#include "core/fail.hpp"

namespace garner {

budget::budget(std::string name, std::string remedy, std::uint64_t limit) : name_(std::move(name)), remedy_(std::move(remedy)), limit_(limit) {}

void budget::take(std::uint64_t bytes, char const* what) {
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    std::uint64_t const allowed = limit();
    if (bytes > allowed || used > allowed - bytes)
      fail(errc::memory, "{}: {} bytes ({}) for {} are over the budget: {} of {} bytes are in use; raise {} or ask for less", name_, bytes,
           format_bytes(bytes), what, used, allowed, remedy_);
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
}
void budget::give_back(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
void budget::set_limit(std::uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }

namespace {
// What the control group allows, or none. Never MemTotal: machines start small and grow as memory is touched.
std::uint64_t control_group_limit() {
  for (char const* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream in(file);
    std::uint64_t bytes = 0;
    if (in >> bytes && bytes < (std::uint64_t{1} << 60)) return bytes;
  }
  return budget::unlimited;
}
}  // namespace

budget& host_budget() {
  static budget instance("host memory", "--host-budget", control_group_limit());
  return instance;
}

budget& device_budget(int index) {
  static std::mutex mutex;
  static std::deque<budget> all;  // addresses stay
  std::lock_guard const hold(mutex);
  while (static_cast<int>(all.size()) <= index) all.emplace_back(fmt::format("device {}", all.size()), "--device-budget");
  return all[static_cast<std::size_t>(index < 0 ? 0 : index)];
}

std::uint64_t parse_bytes(std::string const& text) {
  double value = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  if (!unit.empty() && (unit.back() == 'B' || unit.back() == 'b')) unit.pop_back();
  double factor = 1;
  if (!unit.empty()) {
    std::size_t const power = std::string_view("KMGT").find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))));
    bool const binary = unit.size() == 1 || (unit.size() == 2 && unit[1] == 'i');
    factor = power == std::string_view::npos || !binary ? -1 : std::pow(1024.0, static_cast<double>(power + 1));
  }
  if (problem != std::errc() || factor < 0 || !(value >= 0) || value * factor >= 0x1p63)
    fail(errc::usage, "'{}' is no number of bytes; say for example 8GiB, 512M or 4096 (units are powers of 1024)", text);
  return static_cast<std::uint64_t>(value * factor);
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<char const*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t u = 0;
  while (value >= 1024 && u + 1 < units.size()) value /= 1024, ++u;
  return u == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[u]);
}

}  // namespace garner

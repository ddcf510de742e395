#include "shard/rates.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/device.hpp"
#include "garner/error.hpp"
#include "memory/buffer.hpp"
#include "memory/link.hpp"
#include "shard/exchange.hpp"
#include "shard/group.hpp"

namespace garner {

namespace {

double now_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr std::uint64_t columns = 64;

// Microseconds to bring so many rows of `of` to `to`; the best of a few.
double bring_us(executor& x, float const* of, std::uint64_t rows, float* to, int times) {
  peer_table table;
  table.shards = 1;
  table.of[0] = {of, rows, columns * sizeof(float)};
  double best = 0;
  for (int k = 0; k < 4; ++k) {  // the first is not counted
    x.wait();
    double const begun = now_us();
    for (int i = 0; i < times; ++i) bring_rows(x, table, 0, nullptr, rows, columns, element::f32, to);
    x.wait();
    double const us = (now_us() - begun) / times;
    if (k == 1 || (k && us < best)) best = us;
  }
  return best;
}
double meeting_us(std::uint32_t n) {
  shard_options o;
  o.shards = n;
  shard_group threads(o, 60);
  constexpr int times = 200;
  std::vector<double> us(n);
  on_shards(threads, [&](std::uint32_t k) {
    threads.threads()->barrier(k);
    double const begun = now_us();
    for (int i = 0; i < times; ++i) threads.threads()->barrier(k);
    us[k] = (now_us() - begun) / times;
  });
  return *std::max_element(us.begin(), us.end());
}
}  // namespace

shard_rates known_rates(execution_device where) {
  shard_rates r = where.kind == device_kind::cpu ? common_host_rates : h200_rates;
  if (where.kind == device_kind::cuda && where.index < device::count()) {
    r.cache_bytes = device::describe(where.index).l2_bytes;
    if (std::optional<link_calibration> const link = known_link(where.index)) r.host_gbs = link->to_device_gbs;
  }
  if (where.kind == device_kind::cpu)
    if (long const bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); bytes > 0) r.cache_bytes = static_cast<std::uint64_t>(bytes);
  return r;
}

namespace {
shard_rates measure(std::vector<execution_device> const& places) {
  execution_device const where = places[0];
  shard_rates r = known_rates(where);
  if (where.kind == device_kind::simulated) return r;
  executor x(where);
  std::uint64_t const rows = (std::uint64_t{where.kind == device_kind::cuda ? 256u : 64u} << 20) / (columns * sizeof(float));
  auto const room_of = [&](executor& at) {
    buffer<float> made(at.near(), rows * columns, at.device(), "rows that are timed");
    at.fill(made.data(), 0, made.bytes());
    at.wait();
    return made;
  };
  buffer<float> const from = room_of(x), to = room_of(x);
  auto const bytes = static_cast<double>(rows * columns * sizeof(float));
  r.memory_gbs = 2 * bytes / bring_us(x, from.data(), rows, to.data(), 1) / 1e3;
  r.launch_us = bring_us(x, from.data(), 1, to.data(), 50);
  r.link_gbs = r.memory_gbs / 2;  // read here, written here
  if (where.kind == device_kind::cpu) {
    std::uint64_t const few = 2048;  // 512 KiB
    r.cache_gbs =
        std::max(r.memory_gbs, 2 * static_cast<double>(few * columns * sizeof(float)) / bring_us(x, from.data(), few, to.data(), 8) / 1e3);
  }
  for (execution_device const other : places)
    if (x.on_device() && other.index != where.index) {
      if (!device::peer_of(where.index, other.index).can) {  // written to host memory, and read from there
        std::optional<link_calibration> const link = known_link(where.index);
        r.link_gbs = (link ? link->to_device_gbs : 50) / 2;
        break;
      }
      device::enable_peer(where.index, other.index);
      executor there(other);
      buffer<float> const far = room_of(there);
      r.link_gbs = bytes / bring_us(x, far.data(), rows, to.data(), 1) / 1e3;
      break;
    }
  r.meeting_us = meeting_us(static_cast<std::uint32_t>(places.size()));
  r.measured = true;
  return r;
}
}  // namespace

shard_rates measured_rates(std::vector<execution_device> const& places) {
  try {
    return measure(places);
  } catch (error const& e) {
    if (e.code() != errc::memory) throw;
    return known_rates(places[0]);
  }
}

}  // namespace garner

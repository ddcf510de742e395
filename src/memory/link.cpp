// Link calibration and the self-test. Both read a table in mapped host memory whose every word is a function of its index (and a salt), so
// that the sum over any rows is known without reading them; a rate counts only if each of its runs returned the right sum.
// Invariant: a figure is the median of five runs, timed by events, after one that does not count.
// Cost: about 2 s with a table of 1 GiB, mostly for making and pinning it; some 10 s with 16 GiB.
#include "memory/link.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "core/clock.hpp"
#include "core/device.hpp"
#include "core/exec.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/memory.hpp"
#include "memory/budget.hpp"
#include "memory/buffer.hpp"

namespace garner {

namespace {

GARNER_HD inline std::uint32_t word_at(std::uint64_t i, std::uint64_t salt) { return static_cast<std::uint32_t>(mix(i ^ salt)); }

struct write_words {
  std::uint32_t* table;
  std::uint64_t salt;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    table[i] = word_at(i, salt);
  }
};

// Item i performs the reads i, i + items, ... of `reads`: rows in order, or random ones of the table's `rows`; the sum of all words goes
// into *total. Each lane keeps a sum, since a sum per row would wait for each row before requesting the next.
struct sum_rows {
  std::uint32_t const* table;
  std::uint64_t salt;
  std::uint64_t row_words, stride_words, rows, reads, items;
  bool random;
  std::uint64_t seed;
  std::uint64_t* total;
  std::uint64_t first_word = 0;

  GARNER_HD std::uint64_t begin(std::uint64_t k) const { return first_word + (random ? random_bits(seed, 0, k) % rows : k) * stride_words; }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t sum = 0;
    for (std::uint64_t k = i; k < reads; k += items) {
      std::uint64_t const at = begin(k);
      t.each(span<std::uint32_t>{table, at, at + row_words}, [&](std::uint32_t w) { sum += w; });
    }
    sum = t.sum(indices{0, Team::width}, [&](std::uint64_t) { return sum; });  // of the lanes; one thread is its own
    t.once([&] { atomic_add(total, sum); });
  }
};
// The same sum, computed instead of read.
struct tell_rows {
  sum_rows what;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t sum = 0;
    for (std::uint64_t k = i; k < what.reads; k += what.items)
      for (std::uint64_t at = what.begin(k), end = at + what.row_words; at < end; ++at) sum += word_at(at, what.salt);
    atomic_add(what.total, sum);
  }
};

struct clock_pair {
  int device;
  void *first, *last = nullptr;
  explicit clock_pair(int d) : device(d), first(device::make_event(d)) { last = device::make_event(d); }
  ~clock_pair() {
    device::free_event(device, first);
    if (last) device::free_event(device, last);
  }
};

// The median of five after one that does not count; elsewhere than on a device by the clock of the host, and simulated once, since a trace
// does not depend on time. `prepare` and `check` stand outside the clock.
double median_ms(executor& x, std::function<void(std::uint64_t)> const& prepare, std::function<void()> const& work,
                 std::function<void()> const& check) {
  if (!x.on_device()) {
    std::vector<double> ms;
    for (std::uint64_t i = 0; i < (x.where().kind == device_kind::simulated ? 1 : 5); ++i) {
      check_interrupted();
      prepare(i);
      auto const start = steady::now();
      work();
      ms.push_back(ms_since(start));
      check();
    }
    return median(ms);
  }
  clock_pair const clock(x.device());
  std::vector<double> ms;
  for (std::uint64_t i = 0; i < 6; ++i) {
    check_interrupted();
    prepare(i);
    device::record(x.device(), x.stream(), clock.first);
    work();
    device::record(x.device(), x.stream(), clock.last);
    x.wait();
    check();
    if (i) ms.push_back(device::elapsed_ms(x.device(), clock.first, clock.last));
  }
  return median(ms);
}
double gbs(std::uint64_t bytes, double ms) { return static_cast<double>(bytes) / std::max(ms, 1e-6) / 1e6; }

struct pattern {  // rows that a measurement reads
  std::uint64_t reads, row_bytes, stride_bytes;
  bool random = false;
  std::uint64_t first_byte = 0;
  access_mode access = access_mode::aligned;
};

struct bench {
  std::optional<executor> own;
  executor& x;
  executor here{execution_device{device_kind::cpu, 0}};
  buffer<std::uint32_t> table;
  buffer<std::uint64_t> total;
  std::uint64_t salt = 0;

  bench(tier where, int device, std::uint64_t bytes, char const* what = "link calibration")
      : own(execution_device{device_kind::cuda, device}),
        x(*own),
        table(where, bytes / 4, device, what),
        total(tier::device, 1, device, what) {
    write(0);
  }
  bench(executor& given, tier where, std::uint64_t bytes, char const* what)
      : x(given), table(where, bytes / 4, given.device(), what), total(given.near(), 1, given.device(), what) {
    write(0);
  }
  void write(std::uint64_t with) {
    salt = with;
    for_each_item<1>(here, table.size(), write_words{table.data(), salt});
  }

  // GB/s of the rows that `p` reads of the first `table_bytes`, each run checked before it counts. `before`: prepares a run.
  template <int Width>
  double rate(pattern p, std::uint64_t table_bytes, std::function<void()> const& before = {}) {
    // Several items a team, since fewer teams may be resident than the share allows and all shall end together.
    std::uint64_t const items = x.on_device() ? static_cast<std::uint64_t>(x.block_limit()) * x.threads_a_block() / Width * 8 : 4096;
    sum_rows body{table.data(), salt, p.row_bytes / 4, p.stride_bytes / 4, table_bytes / p.stride_bytes, p.reads, std::min(p.reads, items),
                  p.random,     0,    total.data(),    p.first_byte / 4};
    std::uint64_t want = 0;
    double const ms = median_ms(
        x,
        [&](std::uint64_t round) {
          if (round == 0 || p.random) {  // other random rows each time, so that no run finds the last one's in the L2
            body.seed = round;
            sum_rows told = body;
            want = 0;
            told.items = std::min<std::uint64_t>(p.reads, 4096);
            told.total = &want;
            for_each_item<1>(here, told.items, tell_rows{told});
          }
          if (before) before();
          x.fill(total.data(), 0, sizeof(std::uint64_t));
        },
        [&] { for_each_item<Width>(x, body.items, body, p.access); },
        [&] {
          // The simulated lanes of a team share what a body keeps, so each of them adds the team's sum.
          std::uint64_t const shares = x.where().kind == device_kind::simulated ? Width : 1;
          if (std::uint64_t const got = x.read(total.data()); got != shares * want)
            fail(errc::device,
                 "device {}: reads of mapped host memory returned wrong data (sum {} instead of {}); on this machine keep all data on the "
                 "device "
                 "(tier device), or use device cpu",
                 x.device(), got, want);
        });
    return gbs(p.reads * p.row_bytes, ms);
  }
};

constexpr std::uint64_t chunk = 4096;  // a team's share of a table read in order
constexpr std::uint64_t mib = std::uint64_t{1} << 20, gib = std::uint64_t{1} << 30;

void measure_copies(bench& b, int device, link_calibration& link) {
  std::uint64_t const bytes = 64 * mib;
  memory_block const near(tier::device, bytes, device, "link calibration"), back(tier::host, bytes, device, "link calibration");
  auto const nothing = [] {};
  link.to_device_gbs =
      gbs(bytes, median_ms(
                     b.x, [&](auto) { b.x.fill(near.data(), 0, bytes); }, [&] { b.x.copy(near.data(), b.table.data(), bytes); }, nothing));
  link.to_host_gbs = gbs(
      bytes, median_ms(
                 b.x, [&](auto) { b.x.fill(back.data(), 0, bytes); }, [&] { b.x.copy(back.data(), near.data(), bytes); },
                 [&] {
                   if (std::memcmp(back.data(), b.table.data(), bytes) != 0)
                     fail(errc::device,
                          "device {}: a copy to the device and back came back changed; check the device with its vendor's tools", device);
                 }));
}

std::optional<double> measure_paged(int device) {
  if (!device::describe(device).managed_memory) return std::nullopt;
  std::uint64_t const bytes = std::min(gib, device::memory(device).free_bytes / 8) / chunk * chunk;
  try {
    bench b(tier::managed, device, bytes);
    return b.rate<32>({bytes / chunk, chunk, chunk}, bytes, [&] { device::evict_managed(device, b.table.data(), bytes); });
  } catch (error const& e) {
    if (e.code() == errc::memory) return std::nullopt;  // what needs no managed memory is known all the same
    throw;
  }
}

link_calibration measure(int device, std::uint64_t largest_table) {
  self_test(device);
  link_calibration link;
  device::properties const p = device::describe(device);
  link.device = p.name;
  link.pci = p.pci;
  link.driver = p.driver_version;
  progress told("measuring the link", 4);
  {
    std::uint64_t const allowed = std::min(host_memory_now().free(), host_budget().left()) / 2;
    std::uint64_t all = 64 * mib;
    while (all * 4 <= std::min(largest_table, allowed)) all *= 4;  // 64, 256 MiB, 1, 4, 16 GiB
    std::optional<bench> made;
    while (!made) try {
        made.emplace(tier::host, device, all);
      } catch (error const& e) {  // less may be pinned than is free
        if (e.code() != errc::memory || all <= 64 * mib) throw;
        all /= 4;
      }
    bench& b = *made;
    measure_copies(b, device, link);
    told.advance(1);
    std::uint64_t const some = std::min(all, 256 * mib);
    link.zero_copy_gbs = b.rate<32>({some / chunk, chunk, chunk}, some);
    link.line_requests = link.zero_copy_gbs / 128;
    link.sector_requests = b.rate<8>({some / 128, 32, 128}, some) / 32;
    for (int sms = 1; sms <= p.multiprocessors; sms += sms < 8 ? 1 : 4) {
      limited_share const few(b.x, static_cast<unsigned>(sms), 1024);
      link.saturating_sms = sms;
      if (b.rate<32>({some / chunk, chunk, chunk}, some) >= 0.95 * link.zero_copy_gbs) break;
    }
    told.advance(1);
    for (std::uint64_t bytes = std::min(all, gib); bytes <= all; bytes *= 4)
      for (std::uint64_t row : {128u, 512u, 1024u, 4096u})
        link.random_rows.push_back({row, bytes, b.rate<32>({some / row, row, row, true}, bytes)});
    told.advance(1);
  }
  if (largest_table > gib) link.paged_gbs = measure_paged(device);
  told.advance(1);
  return link;
}

std::mutex known_mutex;
std::map<int, link_calibration>& known() {
  static std::map<int, link_calibration> links;
  return links;
}
std::optional<link_calibration> look_up(int device) {
  if (auto const at = known().find(device); at != known().end()) return at->second;
  device::properties const p = device::describe(device);
  auto kept = load_link(link_cache_file(p.pci, p.name));
  if (!kept || kept->driver != p.driver_version || kept->pci != p.pci || kept->device != p.name) return std::nullopt;
  return *kept;
}

}  // namespace

void self_test(int device) try {
  static std::mutex mutex;
  static std::set<int> passed;
  std::lock_guard const hold(mutex);
  if (passed.count(device)) return;
  device::require(device);
  if (!device::describe(device).maps_host_memory)
    fail(errc::device, "device {}: cannot read host memory; keep all data on the device (tier device), or use device cpu", device);
  bench b(tier::host, device, mib, "the self-test of mapped reads");
  for (std::uint64_t salt : {0u, 1u}) {  // twice, since a stale page would pass once
    b.write(salt);
    b.rate<32>({b.table.bytes() / 4096, 4096, 4096}, b.table.bytes());
  }
  passed.insert(device);
} catch (...) {
  rethrow_as_error();
}

std::optional<link_calibration> known_link(int device) try {
  std::lock_guard const hold(known_mutex);
  return look_up(device);
} catch (...) {
  rethrow_as_error();
}

link_calibration const& link_of(int device, bool again, std::uint64_t largest_table) try {
  device::require(device);
  std::lock_guard const hold(known_mutex);
  if (!again)
    if (auto kept = look_up(device)) return known()[device] = *kept;
  link_calibration const fresh = measure(device, largest_table);
  try {
    if (auto const file = link_cache_file(fresh.pci, fresh.device); !file.empty()) save_link(fresh, file);
  } catch (error const& e) {  // a cache that cannot be written costs the next run some seconds, no more
    if (e.code() != errc::io) throw;
  }
  return known()[device] = fresh;
} catch (...) {
  rethrow_as_error();
}

double read_gbs(executor& x, read_pattern how, std::uint64_t bytes) {
  bool const paged = how == read_pattern::paged;
  std::uint64_t const rows = bytes / chunk - 1;  // one to spare, for those that begin 32 B late
  if (bytes < 2 * chunk) fail(errc::usage, "a table of {} bytes is too small to measure; use 8192 or more", bytes);
  bench b(x, paged && x.on_device() ? tier::managed : tier::host, rows * chunk + chunk, "reads in a pattern");
  pattern p{rows, chunk, chunk};
  if (how == read_pattern::strided) p.access = access_mode::strided;
  if (how == read_pattern::off_32) p.access = access_mode::merged, p.first_byte = 32;
  if (how == read_pattern::strided) return b.rate<1>(p, b.table.bytes());
  if (!paged || !x.on_device()) return b.rate<32>(p, b.table.bytes());
  return b.rate<32>(p, b.table.bytes(), [&] { device::evict_managed(x.device(), b.table.data(), b.table.bytes()); });
}

double host_copy_gbs() try {
  executor here(execution_device{device_kind::cpu, 0});
  std::uint64_t const bytes = std::clamp(host_memory_now().free() / 8 / mib, std::uint64_t{1}, std::uint64_t{256}) * mib;
  buffer<std::uint32_t> const from(tier::host, bytes / 4, -1, "measuring copies"), to(tier::host, bytes / 4, -1, "measuring copies");
  for_each_item<1>(here, from.size(), write_words{from.data(), 0});  // pages never written would all be the same page of zeros
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    auto const start = steady::now();
    here.threads().run(from.size(), mib,
                       [&](std::uint64_t a, std::uint64_t z) { std::memcpy(to.data() + a, from.data() + a, (z - a) * 4); });
    double const ms = ms_since(start);
    if (i) best = std::max(best, gbs(2 * bytes, ms));
  }
  if (std::memcmp(to.data(), from.data(), bytes) != 0) fail(errc::internal, "measuring copies: the copy differs from what was copied");
  return best;
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner

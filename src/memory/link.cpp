#include "memory/link.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "core/device.hpp"
#include "core/exec.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "memory/buffer.hpp"
#include "memory/self_test.hpp"

namespace garner {

namespace {

// What stands in a table: any word can be told from its place, so that a sum over any rows can be known without reading them.
GARNER_HD inline std::uint32_t word_at(std::uint64_t i) { return static_cast<std::uint32_t>(mix(i)); }

struct write_words {
  std::uint32_t* table;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    table[i] = word_at(i);
  }
};

// Item i reads the `row_words` words that begin at row(i); their sum goes into *total. With a table of null the words are told, not read:
// the expected total, from the same body.
struct sum_rows {
  std::uint32_t const* table;
  std::uint64_t row_words, stride_words, rows;
  bool random;
  std::uint64_t* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const row = random ? random_bits(5, 0, i) % rows : i;
    run<std::uint32_t> const r{table, row * stride_words, row * stride_words + row_words};
    std::uint64_t const sum = table ? t.sum(r, [](std::uint32_t w) { return static_cast<std::uint64_t>(w); })
                                    : t.sum(indices{r.begin, r.end}, [](std::uint64_t w) { return static_cast<std::uint64_t>(word_at(w)); });
    t.once([&] { atomic_add(total, sum); });
  }
};

struct clock_pair {
  int device;
  void *first, *last;
  explicit clock_pair(int d) : device(d), first(device::make_event(d)), last(device::make_event(d)) {}
  ~clock_pair() {
    device::free_event(device, first);
    device::free_event(device, last);
  }
};

// The median of five after one that does not count.
double median_ms(executor& x, std::function<void()> const& work) {
  clock_pair const clock(x.device());
  std::vector<double> ms;
  for (int i = 0; i < 6; ++i) {
    check_interrupted();
    device::record(x.device(), x.stream(), clock.first);
    work();
    device::record(x.device(), x.stream(), clock.last);
    x.wait();
    if (i) ms.push_back(device::elapsed_ms(clock.first, clock.last));
  }
  std::sort(ms.begin(), ms.end());
  return ms[2];
}

struct bench {
  executor x;
  executor here{place{place_kind::host, 0}};
  buffer<std::uint32_t> table;
  buffer<std::uint64_t> total;

  bench(int device, std::uint64_t bytes)
      : x({place_kind::device, device}), table(tier::host, bytes / 4, device, "link calibration"), total(tier::device, 1, device, "link calibration") {
    for_each_item<1>(here, table.size(), write_words{table.data()});
  }

  // GB/s of `items` rows; 0 bytes of it count before the sum was right.
  template <int Width>
  double rate(std::uint64_t items, std::uint64_t row_bytes, std::uint64_t stride_bytes, std::uint64_t table_bytes, bool random) {
    sum_rows body{table.data(), row_bytes / 4, stride_bytes / 4, table_bytes / stride_bytes, random, total.data()};
    double const ms = median_ms(x, [&] {
      x.fill(total.data(), 0, sizeof(std::uint64_t));
      for_each_item<Width>(x, items, body);
    });
    std::uint64_t const got = x.read(total.data());
    std::uint64_t want = 0;
    body.table = nullptr;
    body.total = &want;
    for_each_item<Width>(here, items, body);
    if (got != want)
      fail(errc::device, "device {}: reads of mapped host memory returned wrong data (sum {} instead of {}); this machine cannot be used with host memory",
           x.device(), got, want);
    return static_cast<double>(items * row_bytes) / ms / 1e6;
  }
};

link_calibration measure(int device, std::uint64_t largest_table) {
  self_test(device);
  link_calibration link;
  device::properties const p = device::describe(device);
  link.device = p.name;
  link.pci = p.pci;
  bench b(device, std::max<std::uint64_t>(largest_table, 64u << 20));
  std::uint64_t const all = b.table.bytes(), some = std::min<std::uint64_t>(all, 256u << 20);
  {
    std::uint64_t const bytes = 64u << 20;
    memory_block const near(tier::device, bytes, device, "link calibration");
    link.to_device_gbs = static_cast<double>(bytes) / median_ms(b.x, [&] { b.x.copy(near.data(), b.table.data(), bytes); }) / 1e6;
    memory_block const back(tier::host, bytes, device, "link calibration");
    link.to_host_gbs = static_cast<double>(bytes) / median_ms(b.x, [&] { b.x.copy(back.data(), near.data(), bytes); }) / 1e6;
    if (std::memcmp(back.data(), b.table.data(), bytes) != 0) fail(errc::device, "device {}: a copy came back changed", device);
  }
  constexpr std::uint64_t chunk = 16384;
  link.zero_copy_gbs = b.rate<32>(some / chunk, chunk, chunk, some, false);
  link.line_requests = link.zero_copy_gbs / 128;
  link.sector_requests = b.rate<8>(some / 128, 32, 128, some, false) / 32;
  for (int sms = 1; sms <= p.multiprocessors; sms += sms < 8 ? 1 : 4) {
    b.x.limit_share(static_cast<unsigned>(sms), 1024);
    link.saturating_sms = sms;
    if (b.rate<32>(some / chunk, chunk, chunk, some, false) >= 0.95 * link.zero_copy_gbs) break;
  }
  b.x.limit_share(0);
  for (std::uint64_t bytes = std::min<std::uint64_t>(all, 1u << 30); bytes <= all; bytes *= 4)
    for (std::uint64_t row : {128u, 512u, 1024u, 4096u})
      link.random_rows.push_back({row, bytes, b.rate<32>((256u << 20) / row, row, row, bytes, true)});
  return link;
}

}  // namespace

void self_test(int device) {
  static std::mutex mutex;
  static std::set<int> passed;
  std::lock_guard const hold(mutex);
  if (passed.count(device)) return;
  bench b(device, 4u << 20);
  b.rate<32>(b.table.bytes() / 4096, 4096, 4096, b.table.bytes(), false);
  passed.insert(device);
}

std::optional<link_calibration> known_link(int device) {
  device::properties const p = device::describe(device);
  return load_link(link_cache_file(p.pci, p.name));
}

link_calibration const& link_of(int device, bool again, std::uint64_t largest_table) {
  static std::mutex mutex;
  static std::map<int, link_calibration> known;
  std::lock_guard const hold(mutex);
  auto at = known.find(device);
  if (at != known.end() && !again) return at->second;
  if (!again)
    if (auto kept = known_link(device)) return known[device] = *kept;
  link_calibration const fresh = measure(device, largest_table);
  try {
    save_link(fresh, link_cache_file(fresh.pci, fresh.device));
  } catch (error const&) {  // a cache that cannot be written costs the next run some seconds, no more
  }
  return known[device] = fresh;
}

double host_copy_gbs() {
  executor here(place{place_kind::host, 0});
  std::uint64_t const bytes = 128u << 20;
  memory_block const from(tier::host, bytes, -1, "measuring"), to(tier::host, bytes, -1, "measuring");
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    auto const start = std::chrono::steady_clock::now();
    here.threads().run(bytes, 4u << 20, [&](std::uint64_t a, std::uint64_t z) {
      std::memcpy(static_cast<char*>(to.data()) + a, static_cast<char const*>(from.data()) + a, z - a);
    });
    best = std::max(best, 2.0 * static_cast<double>(bytes) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 1e9);
  }
  return best;
}

}  // namespace garner

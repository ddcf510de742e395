// Cost of hottest(): the scores are read three times (two histograms of 65,536 bins find the lowest score that is kept, one pass collects),
// then the kept ones are sorted, 8 bytes each.
#include "features/place_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>

#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"

namespace garner {

row_shares share_rows(row_budget const& b) {
  row_shares s;
  if (b.rows == 0 || b.row_bytes == 0) return s;
  // Leaves half of the free memory to the consumers of the rows. With fast peers all of it holds rows without replication: the more
  // distinct rows are on some device, the fewer cross the link (section 4.3.2 of the dissertation).
  std::uint64_t const near = b.device_budget.value_or(b.peers > 1 ? 0 : b.free_here / 2);
  std::uint64_t const peer = b.peers ? b.peer_budget.value_or(b.least_free_of_peers / 2) : 0;
  s.near = std::min(b.rows, near / b.row_bytes);
  std::uint64_t const a_peer = std::min(b.rows, peer / b.row_bytes);
  s.peer = b.peers && a_peer > (b.rows - s.near) / b.peers ? b.rows - s.near : a_peer * b.peers;
  if (!b.device_budget)
    s.why += fmt::format("; device budget {} chosen: {}", format_bytes(near), b.peers > 1 ? "peers hold more" : "half of what is free");
  if (b.peers && !b.peer_budget) s.why += fmt::format("; peer budget {} chosen: half of what is free", format_bytes(peer));
  return s;
}

file_shares share_file_rows(file_budget const& b) {
  file_shares s;
  if (b.rows == 0 || b.row_bytes == 0) return s;
  std::uint64_t const all = b.host_budget.value_or(b.free_host / 2);
  if (!b.host_budget) s.why = fmt::format("; host budget {} chosen: half of what is free", format_bytes(all));
  s.host = b.rows;
  if (all / b.row_bytes >= b.rows) return s;
  s.cache_bytes = b.file_cache.value_or(std::max(all / 4, std::min(all, b.row_bytes)));
  if (s.cache_bytes > all)
    fail(errc::usage, "a file cache of {} in a host budget of {}; use a larger budget, or a smaller cache", format_bytes(s.cache_bytes),
         format_bytes(all));
  if (s.cache_bytes < b.row_bytes)
    fail(errc::usage, "{} of host memory for rows that come from the file, and a row takes {}; use a larger host budget",
         format_bytes(s.cache_bytes), format_bytes(b.row_bytes));
  s.host = (all - s.cache_bytes) / b.row_bytes;
  return s;
}

namespace {
// Ascending where scores descend.
std::uint32_t coldness(float score) {
  auto const u = std::bit_cast<std::uint32_t>(score == 0 ? 0.0f : score);  // -0 is 0
  return ~(u >> 31 ? ~u : u | 0x80000000u);
}
constexpr std::uint64_t grain = 1u << 20;
}  // namespace

void require_numbers(std::span<float const> scores) {
  std::atomic<std::uint64_t> bad{~std::uint64_t{0}};
  shared_pool().run(scores.size(), grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      if (std::isnan(scores[i])) {
        std::uint64_t old = bad.load();
        while (i < old && !bad.compare_exchange_weak(old, i)) {
        }
        return;
      }
  });
  if (bad != ~std::uint64_t{0}) fail(errc::input, "the score of row {} is not a number", bad.load());
}

buffer<std::uint64_t> hottest(std::span<float const> scores, std::uint64_t count) {
  std::uint64_t const n = scores.size();
  count = std::min(count, n);
  executor here(execution_device{device_kind::cpu, 0});
  // The coldness of the last one kept, in two steps of 16 bits; `left` of its equals are kept.
  std::uint32_t last = 0;
  std::uint64_t left = count;
  for (int step = 0; step < 2; ++step) {
    std::vector<std::uint64_t> bins(65536, 0);
    std::mutex adding;
    here.threads().run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
      std::vector<std::uint32_t> mine(65536, 0);
      for (std::uint64_t i = begin; i < end; ++i) {
        std::uint32_t const c = coldness(scores[i]);
        if (step == 0) ++mine[c >> 16];
        else if (c >> 16 == last >> 16) ++mine[c & 0xffff];
      }
      std::lock_guard const hold(adding);
      for (std::size_t k = 0; k < bins.size(); ++k) bins[k] += mine[k];
    });
    std::uint32_t bin = 0;
    while (bin < 65535 && left > bins[bin]) left -= bins[bin++];
    last |= step == 0 ? bin << 16 : bin;
  }
  // In blocks, so that ids ascend: what is kept of each.
  std::uint64_t const blocks = (n + grain - 1) / grain;
  std::vector<std::uint64_t> hotter(blocks + 1, 0), equal(blocks + 1, 0);
  here.threads().run(blocks, 1, [&](std::uint64_t b, std::uint64_t) {
    std::uint64_t less = 0, same = 0;  // not counted in the arrays: threads would write to the same lines
    for (std::uint64_t i = b * grain; i < std::min(n, (b + 1) * grain); ++i) {
      std::uint32_t const c = coldness(scores[i]);
      less += c < last, same += c == last;
    }
    hotter[b + 1] = less, equal[b + 1] = same;
  });
  for (std::uint64_t b = 0; b < blocks; ++b) hotter[b + 1] += hotter[b], equal[b + 1] += equal[b];
  if (count > 0xffffffffu) fail(errc::usage, "{} rows cannot be kept by score; at most 2^32 - 1, give a smaller budget", count);
  buffer<std::uint64_t> ids(tier::host, count, -1, "the hottest rows"), found(tier::host, count, -1, "the hottest rows");
  buffer<std::uint64_t> keys(tier::host, count, -1, "the hottest rows, to be sorted");
  here.threads().run(blocks, 1, [&](std::uint64_t b, std::uint64_t) {
    std::uint64_t same = equal[b], at = hotter[b] + std::min(same, left);
    for (std::uint64_t i = b * grain; i < std::min(n, (b + 1) * grain); ++i) {
      std::uint32_t const c = coldness(scores[i]);
      if (c > last || (c == last && same++ >= left)) continue;
      found[at] = i;
      keys[at] = std::uint64_t{c} << 32 | at;  // the position keeps equal ones in the order of their ids
      ++at;
    }
  });
  auto const sorted = sort(here, keys.span(), ids.span(), 64);
  // `ids` may be where the sort left its result; what is written at k has been read by then.
  here.threads().run(count, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k) ids[k] = found[sorted[k] & 0xffffffffu];
  });
  return ids;
}

}  // namespace garner

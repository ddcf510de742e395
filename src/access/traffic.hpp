// The traffic model: what a GPU would send over the link for what its warps ask. docs/traffic.md states it for users.
//   sector 32 B, line 128 B; the sectors that one warp instruction touches within a line make one request per stretch of neighbours;
//   a team keeps the sectors of its last two reads, so whoever walks a list, with weights beside it, asks for each sector once;
//   no other cache, or an L2 of a given size (least recently used lines, each with the sectors it holds);
//   paged: each page of 4 KiB crosses once, when it is first touched (the read-mostly copy stays: no thrashing).
// Stands in for the bus monitor of the dissertation (section 2.3.2). Cost: about 20 ns a request, serial; with an L2 about 60 ns.
#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/executor.hpp"
#include "core/mark.hpp"
#include "garner/traffic.hpp"

namespace garner {

class traffic_model : public request_sink {
 public:
  explicit traffic_model(access_mode how, std::uint64_t l2_bytes = 0) : how_(how), l2_lines_(l2_bytes / 128) {}

  void warp(std::span<std::vector<far_read> const> teams) override;
  traffic const& seen() const { return seen_; }
  traffic take();  // what was seen since the last take; the caches stay as they are

 private:
  void instruction();                                                // the sectors in now_ are asked for by one instruction
  std::uint32_t missing(std::uint64_t line, std::uint32_t sectors);  // which of them the L2 does not hold; it holds them afterwards

  access_mode how_;
  std::uint64_t l2_lines_;
  traffic seen_;
  std::vector<std::uint64_t> now_;
  struct sectors {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t s) const { return begin <= s && s < end; }
  };
  std::vector<std::pair<sectors, sectors>> held_by_;  // what each team read last and before that
  std::unordered_set<std::uint64_t> pages_;
  struct cached {
    std::uint64_t line;
    std::uint32_t sectors;
  };
  std::list<cached> recent_;  // most recent first
  std::unordered_map<std::uint64_t, std::list<cached>::iterator> held_;
};

// The same counts in closed form, for one run of elements [begin, end) of `size` bytes each on a line-aligned array, read by a team of 32
// lanes (or by one lane, strided), no cache. `align`: the team starts on a line. Used where no trace is taken: on the device.
struct run_traffic {
  std::uint64_t requests[4] = {};
  std::uint64_t useful = 0;
  // n requests of 1 to 4 sectors. No indexing by a value, which would move the counts out of a kernel's registers.
  GARNER_HD void add(std::uint64_t sectors, std::uint64_t n) {
    for (std::uint64_t k = 0; k < 4; ++k) requests[k] += sectors == k + 1 ? n : 0;
  }
  GARNER_HD std::uint64_t sectors() const { return requests[0] + 2 * requests[1] + 3 * requests[2] + 4 * requests[3]; }
  GARNER_HD friend run_traffic operator+(run_traffic a, run_traffic const& b) {
    for (int k = 0; k < 4; ++k) a.requests[k] += b.requests[k];
    a.useful += b.useful;
    return a;
  }
};

namespace detail {
// The requests of one instruction that asks for bytes [first, last): a stretch of sectors, cut at lines.
GARNER_HD inline void add_stretch(run_traffic& t, std::uint64_t first, std::uint64_t last) {
  std::uint64_t const begin = first / 32, end = (last + 31) / 32;
  std::uint64_t const line_end = (begin / 4 + 1) * 4, head = line_end < end ? line_end : end;
  t.add(head - begin, 1);
  t.add(4, (end - head) / 4);
  t.add((end - head) % 4, 1);
}
}  // namespace detail

GARNER_HD inline run_traffic traffic_of_run(std::uint64_t begin, std::uint64_t end, std::uint64_t size, access_mode how) {
  run_traffic t;
  if (begin >= end) return t;
  t.useful = (end - begin) * size;
  std::uint64_t const first = begin * size, last = end * size;
  if (how == access_mode::strided) {  // each sector once, alone
    t.requests[0] = (last + 31) / 32 - first / 32;
    return t;
  }
  std::uint64_t const step = 32 * size;  // bytes that a step of the team covers
  if (how != access_mode::merged) {
    // Steps end on lines, so no line is cut by a step: one stretch for the whole run. (A step of 8-byte elements covers two lines.)
    detail::add_stretch(t, first, last);
    return t;
  }
  // Merged: steps of 32 elements from `first`, all with the same offset in the line, then what is left. A sector that a step shares with
  // the one before is held already.
  std::uint64_t const whole = (last - first) / step, second = (first + step + 31) / 32 * 32, left = first + whole * step;
  if (whole) detail::add_stretch(t, first, first + step);
  run_traffic one;
  if (whole > 1) detail::add_stretch(one, second, first + 2 * step);
  for (int k = 0; k < 4; ++k) t.requests[k] += (whole - 1) * one.requests[k];
  std::uint64_t const rest = whole ? (left + 31) / 32 * 32 : left;
  if (rest < last) detail::add_stretch(t, rest, last);
  return t;
}

// How fast a link carries requests, in order and with enough of them under way: a request costs a fixed time and a time a byte. Measured on
// a PCIe 5 link (GB/s = 1e9 bytes a second): whole lines 51 GB/s, 0.40 G/s; 64 B on average 0.50 G/s; 32 B 0.54 - 0.75 G/s. Two figures say
// it all: a request takes as long as its bytes and 192 more would, in lines 2.5 ns, of 64 B 2.0 ns, of 32 B 1.76 ns (0.57 G/s). On PCIe 3
// (lines 12.3 GB/s) the same shape gives single sectors 4.4 GB/s, where the dissertation measured 4.7.
// Not in it: scattered reads beyond the reach of address translation, and what the device itself does with what it reads.
struct link_rates {
  double line_ns = 0, sector_ns = 0;  // of a request of 128 B, of 32 B
  std::optional<double> paged_gbs;    // of pages that a driver moves
  static link_rates of(double gbs);   // a link that carries whole lines at `gbs`; of pages nothing is known
};
struct link_calibration;
link_rates rates_of(link_calibration const& link);
// The time the link needs for what was asked; 0 where nothing was, or for pages whose rate is not known.
double predicted_ms(traffic const& asked, link_rates const& rates);

}  // namespace garner

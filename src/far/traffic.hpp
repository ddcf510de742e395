// The traffic model: requests that a GPU would send over the link for its warps. docs/dev/traffic-model.md documents it for users.
//   sector 32 B, line 128 B; the sectors that one warp instruction touches within a line make one request per adjacent stretch.
// A warp that is one team has four reads in flight at a time, a *round*, and the warps of a block begin together:
//   no warp of the block requests a sector that is in flight; data of an earlier round is not cached (it is streamed);
//   the first read of a round leaves alone, the other three behind each other, so that two of them in one line are one request.
// A warp of several teams (one or eight lanes per list) has one read in flight, and each team keeps the sectors of its last two.
//   no other cache, or one of a given size (least recently used lines, each with the sectors it holds);
//   paged: each page of 4 KiB crosses once, when it is first touched (the read-mostly copy stays: no thrashing).
// Stands in for the bus monitor of the dissertation (section 2.3.2). Cost: about 30 ns per request, serial; with a cache about 70 ns.
#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/access.hpp"
#include "core/executor.hpp"
#include "core/mark.hpp"
#include "garner/link.hpp"

namespace garner {

class traffic_model : public request_sink {
 public:
  explicit traffic_model(access_mode how, std::uint64_t l2_bytes = 0) : how_(how), l2_lines_(l2_bytes / 128) {}

  void warp(std::span<std::vector<far_read> const> teams) override;
  traffic take();  // what was seen since the last take, which ends a kernel; the caches stay as they are
  // From here on something is looked up for each element before the next is read: of four reads of a warp the compiler then puts the first
  // two under way together, and each of the others when the one before has come.
  void look_up_between_reads() { looks_up_ = true; }

 private:
  struct sectors {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t s) const { return begin <= s && s < end; }
  };
  struct timed_read {
    sectors asked;
    std::uint32_t round;
    bool first;  // of its round
  };
  static constexpr std::size_t warps_a_block = 8;  // of 256 threads, as kernels are launched by default

  void join_block(std::vector<far_read> const& reads);               // of a warp that is one team
  void settle();                                                     // counts the requests of the block's warps, round by round
  void ask(sectors const& wanted);                                   // into now_ goes what is not under way in this round
  void in_lock_step(std::span<std::vector<far_read> const> teams);   // a warp of several teams
  void instruction();                                                // one instruction requests the sectors in now_
  std::uint32_t missing(std::uint64_t line, std::uint32_t sectors);  // which of them the L2 does not hold; it holds them afterwards

  access_mode how_;
  std::uint64_t l2_lines_;
  bool looks_up_ = false;
  traffic seen_;
  std::vector<timed_read> block_[warps_a_block];
  std::size_t warps_ = 0;           // of the block, so far
  std::vector<sectors> under_way_;  // in this round
  std::vector<std::uint64_t> now_;
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
// lanes (or by one lane, strided) that has the block to itself, no cache. `looks_up`: as traffic_model::look_up_between_reads. Used where
// no trace is taken: on the device.
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
// The requests for bytes [first, last), a stretch of sectors, cut at lines.
GARNER_HD inline void add_stretch(run_traffic& t, std::uint64_t first, std::uint64_t last) {
  std::uint64_t const begin = first / 32, end = (last + 31) / 32;
  std::uint64_t const line_end = (begin / 4 + 1) * 4, head = line_end < end ? line_end : end;
  t.add(head - begin, 1);
  t.add(4, (end - head) / 4);
  t.add((end - head) % 4, 1);
}
// The requests of four steps of `step` bytes from `origin`, for the bytes [first, last). The first leaves alone, the others together and
// without the sector that they share with it. `looks_up`: so does the second alone, and the others after it has arrived.
GARNER_HD inline void add_round(run_traffic& t, std::uint64_t origin, std::uint64_t first, std::uint64_t last, std::uint64_t step,
                                bool looks_up) {
  std::uint64_t const second = origin + step, end = origin + 4 * step, then = looks_up ? second + step : end,
                      rest = (second + 31) / 32 * 32;
  add_stretch(t, first, last < second ? last : second);
  if (rest < last) add_stretch(t, rest, last < then ? last : then);
  for (std::uint64_t s = then; s < end && s < last; s += step) add_stretch(t, s, last < s + step ? last : s + step);
}
// The requests of a segment in steps from `origin`, where 4 * step is a number of whole lines: all fours but the first and last are equal.
GARNER_HD inline run_traffic in_steps(std::uint64_t origin, std::uint64_t first, std::uint64_t last, std::uint64_t step,
                                      bool looks_up = false) {
  std::uint64_t const four = 4 * step, whole = (last - origin) / four, left = origin + whole * four;
  run_traffic t, one;
  add_round(t, origin, first, last, step, looks_up);
  if (whole > 1) add_round(one, origin + four, origin + four, last, step, looks_up);
  for (int k = 0; k < 4; ++k) t.requests[k] += (whole - 1) * one.requests[k];
  if (whole && left < last) add_round(t, left, left, last, step, looks_up);
  t.useful = last - first;
  return t;
}
// Bytes [first, last) in steps that end on multiples of `step` (32, 64 or 128), one after the other: a request each, of the sectors that it
// touches.
GARNER_HD inline run_traffic steps_in_turn(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
  run_traffic t;
  t.useful = last - first;
  std::uint64_t const whole_from = (first + step - 1) / step * step, whole_to = last / step * step;
  if (whole_from >= last || whole_from > whole_to) {  // within one step
    t.add((last + 31) / 32 - first / 32, 1);
    return t;
  }
  if (first < whole_from) t.add(whole_from / 32 - first / 32, 1);
  t.add(step / 32, (whole_to - whole_from) / step);
  if (whole_to < last) t.add((last + 31) / 32 - whole_to / 32, 1);
  return t;
}
}  // namespace detail

GARNER_HD inline run_traffic traffic_of_run(std::uint64_t begin, std::uint64_t end, std::uint64_t size, access_mode how,
                                            bool looks_up = false) {
  run_traffic t;
  if (begin >= end) return t;
  t.useful = (end - begin) * size;
  std::uint64_t const first = begin * size, last = end * size;
  if (how == access_mode::strided) {  // each sector once, alone
    t.requests[0] = (last + 31) / 32 - first / 32;
    return t;
  }
  if (how == access_mode::merged) return detail::in_steps(first, first, last, 32 * size, looks_up);
  // Steps end on lines, so no line is cut by a step: one stretch for the whole segment. (A step of 8-byte elements covers two lines.)
  detail::add_stretch(t, first, last);
  return t;
}

}  // namespace garner

#include "far/traffic.hpp"

#include <algorithm>
#include <utility>

#include "memory/link.hpp"

namespace garner {

void traffic_model::warp(std::span<std::vector<far_read> const> teams) {
  for (auto const& reads : teams)
    for (far_read const& r : reads) seen_.bytes_useful += r.last - r.first;
  if (how_ == access_mode::paged) {
    for (auto const& reads : teams)
      for (far_read const& r : reads)
        for (std::uint64_t page = r.first / 4096; page <= (r.last - 1) / 4096; ++page) seen_.pages += pages_.insert(page).second ? 1 : 0;
    return;
  }
  if (teams.size() == 1) return join_block(teams[0]);
  settle();
  in_lock_step(teams);
}

// Groups the reads of a warp that are in flight together. A kernel's sweep goes through one list, or through two parallel ones, in steps of
// 32 elements: a read that begins where one of the two ended continues it, any other begins a sweep, or the second list of one. Requests of
// compressed lists are pieces of lines instead, each of which crosses once: a partial piece leaves its round open.
void traffic_model::join_block(std::vector<far_read> const& reads) {
  if (warps_ == 0 && reads.empty()) return;
  if (warps_ == warps_a_block) settle();
  std::vector<timed_read>& mine = block_[warps_++];
  mine.clear();
  struct list {
    std::uint64_t end = ~std::uint64_t{0}, length = 0;
    std::uint32_t step = 0, round = 0;
  } walked[2];
  std::uint32_t rounds = 0;
  bool one_begun = false;
  for (far_read const& r : reads) {
    list* at = r.first == walked[0].end ? &walked[0] : r.first == walked[1].end ? &walked[1] : nullptr;
    if (at) {
      one_begun = false;
      if (at->step == 0 || at->length % 128 == 0) {
        std::uint32_t const k = ++at->step % 4;
        if (looks_up_ ? k != 1 : k == 0) ++at->round;
      }
    } else if (one_begun) {
      one_begun = false;
      at = &walked[1];
      *at = {0, 0, 0, walked[0].round};
    } else {
      one_begun = true;
      at = &walked[0];
      *at = {0, 0, 0, rounds};
      walked[1] = {};
    }
    at->end = r.last;
    at->length = r.last - r.first;
    rounds = std::max(rounds, at->round + 1);
    mine.push_back({{r.first / 32, (r.last + 31) / 32}, at->round, at->step % 4 == 0});
  }
}

void traffic_model::settle() {
  std::size_t done[warps_a_block] = {};
  bool more = warps_ > 0;
  for (std::uint32_t round = 0; more; ++round) {
    more = false;
    under_way_.clear();
    for (std::size_t w = 0; w < warps_; ++w) {
      auto const& reads = block_[w];
      std::size_t const begin = done[w];
      std::size_t& end = done[w];
      while (end < reads.size() && reads[end].round <= round) ++end;
      for (bool first : {true, false}) {
        now_.clear();
        for (std::size_t i = begin; i < end; ++i)
          if (reads[i].first == first) ask(reads[i].asked);
        instruction();
      }
      more |= end < reads.size();
    }
  }
  warps_ = 0;
}

void traffic_model::ask(sectors const& wanted) {
  auto const meets = [&](sectors const& s) { return s.begin < wanted.end && wanted.begin < s.end; };
  bool const some = std::any_of(under_way_.begin(), under_way_.end(), meets);
  for (std::uint64_t s = wanted.begin; s < wanted.end; ++s)
    if (!some || std::none_of(under_way_.begin(), under_way_.end(), [&](sectors const& u) { return u.has(s); })) now_.push_back(s);
  under_way_.push_back(wanted);
}

void traffic_model::in_lock_step(std::span<std::vector<far_read> const> teams) {
  std::size_t steps = 0;
  for (auto const& reads : teams) steps = std::max(steps, reads.size());
  held_by_.assign(teams.size(), {});
  for (std::size_t step = 0; step < steps; ++step) {
    now_.clear();
    for (std::size_t t = 0; t < teams.size(); ++t) {
      if (step >= teams[t].size()) continue;
      far_read const r = teams[t][step];
      sectors const asked{r.first / 32, (r.last + 31) / 32};
      auto& [last, other] = held_by_[t];
      for (std::uint64_t s = asked.begin; s < asked.end; ++s)
        if (!last.has(s) && !other.has(s)) now_.push_back(s);
      if (last.has(asked.begin) && last.has(asked.end - 1)) continue;
      other = std::exchange(last, asked);  // a read within `other` makes the two change places
    }
    instruction();
  }
}

void traffic_model::instruction() {
  std::sort(now_.begin(), now_.end());
  now_.erase(std::unique(now_.begin(), now_.end()), now_.end());
  for (std::size_t i = 0; i < now_.size();) {
    std::uint64_t const line = now_[i] / 4;
    std::uint32_t sectors = 0;
    for (; i < now_.size() && now_[i] / 4 == line; ++i) sectors |= 1u << now_[i] % 4;
    if (l2_lines_) sectors = missing(line, sectors);
    for (int k = 0; k < 4;) {  // one request per stretch of adjacent sectors
      int length = 0;
      while (k + length < 4 && sectors >> (k + length) & 1) ++length;
      if (length) ++seen_.requests[static_cast<std::size_t>(length) - 1];
      k += length + 1;
    }
  }
}

std::uint32_t traffic_model::missing(std::uint64_t line, std::uint32_t sectors) {
  auto const found = held_.find(line);
  if (found != held_.end()) {
    std::uint32_t const absent = sectors & ~found->second->sectors;
    found->second->sectors |= sectors;
    recent_.splice(recent_.begin(), recent_, found->second);
    return absent;
  }
  recent_.push_front({line, sectors});
  held_.emplace(line, recent_.begin());
  if (held_.size() > l2_lines_) {
    held_.erase(recent_.back().line);
    recent_.pop_back();
  }
  return sectors;
}

traffic traffic_model::take() {
  settle();
  return std::exchange(seen_, {});
}

// Rate of requests over a link, in order and with enough of them in flight: a request costs a fixed time and a time per byte. Measured on a
// PCIe 5 link (GB/s = 1e9 bytes per second): whole lines 51 GB/s, 0.40 G/s; 64 B on average 0.50 G/s; 32 B 0.54 - 0.75 G/s. Two figures
// suffice: a request takes as long as its bytes and 192 more would, in lines 2.5 ns, of 64 B 2.0 ns, of 32 B 1.76 ns (0.57 G/s). On PCIe 3
// (lines 12.3 GB/s) the same shape gives single sectors 4.4 GB/s, where the dissertation measured 4.7. It excludes scattered reads beyond
// the reach of address translation, and the device's own work on the data.
link_rates link_rates::of(double gbs) {
  link_rates r;
  r.line_ns = 128 / gbs;
  r.sector_ns = r.line_ns * (32.0 + 192) / (128 + 192);
  return r;
}

link_rates rates_of(link_calibration const& link) {
  link_rates r;
  if (link.line_requests > 0) r = link_rates::of(128 * link.line_requests);
  if (link.sector_requests > 0) r.sector_ns = std::min(r.line_ns, 1 / link.sector_requests);
  r.paged_gbs = link.paged_gbs;
  return r;
}

double predicted_ms(traffic const& asked, link_rates const& rates) {
  double ns = 0;
  for (std::size_t k = 0; k < 4; ++k)
    ns += static_cast<double>(asked.requests[k]) * (rates.sector_ns + (rates.line_ns - rates.sector_ns) * static_cast<double>(k) / 3);
  if (rates.paged_gbs) ns += static_cast<double>(asked.pages) * 4096 / *rates.paged_gbs;
  return ns / 1e6;
}

}  // namespace garner

#include "features/cache_plan.hpp"

#include <cmath>

#include "core/fail.hpp"

namespace garner {

namespace {
constexpr std::uint64_t most_age = 128, sweep = 64;  // ages stay below 256, so that a byte holds them
constexpr std::uint64_t most_recent = 3;             // mini-batches whose rows are evicted last, where score decides
}  // namespace

std::string_view to_string(eviction e) {
  constexpr std::string_view names[] = {"next-use", "window", "clock", "pinned"};
  return names[static_cast<std::size_t>(e)];
}

cache_plan::cache_plan(std::uint64_t slots, eviction policy, std::span<float const> scores)
    : policy_(policy),
      scores_(scores),
      owner_(slots, nobody),
      slot_of_(slots + std::max<std::uint64_t>(1, slots / 2)),
      next_(slots, unknown),
      last_(slots) {
  if (slots == 0 || slots >= number_table<std::uint32_t>::none)
    fail(errc::usage, "a cache of {} rows of a file: use 1 to 4,294,967,294", slots);
}

std::uint64_t cache_plan::metadata_bytes() const { return owner_.size() * (8 + 1 + 1) + slot_of_.places() * 4; }

void cache_plan::forget() {
  std::fill(owner_.begin(), owner_.end(), nobody);
  std::fill(next_.begin(), next_.end(), unknown);
  slot_of_ = number_table<std::uint32_t>(slot_of_.places());
  last_seen_ = number_table<spot>(64), seen_ = 0;
  used_ = hand_ = 0;
  planned_ += ahead_.size();
  ahead_.clear();
}

std::uint64_t cache_plan::distance(std::uint8_t mark_of_use) const { return (mark_of_use + 255 - planned_ % 255) % 255; }

void cache_plan::enter(std::vector<std::uint64_t> ids) {
  if (ahead_.size() >= most_ahead) fail(errc::usage, "{} mini-batches are known ahead; a cache plans with at most that many", most_ahead);
  if (ids.size() >> 32) fail(errc::usage, "a mini-batch of {} rows; a cache plans with fewer than 2^32", ids.size());
  std::uint64_t const number = entered();
  batch& b = ahead_.emplace_back();
  b.ids = std::move(ids);
  if (!looks_ahead()) return;
  b.next.assign(b.ids.size(), unknown);
  auto const rows_of = row_of_spot();
  if ((seen_ + b.ids.size()) * 3 > last_seen_.places() * 2) last_seen_.grow((seen_ + b.ids.size()) * 2, rows_of);
  for (std::uint64_t i = 0; i < b.ids.size(); ++i) {
    spot& seen = last_seen_(b.ids[i], rows_of);
    if (seen == last_seen_.none) {
      ++seen_;
      if (std::uint32_t const s = slot_of_.find(b.ids[i], row_of_slot()); s != slot_of_.none) next_[s] = mark(number);
    } else if (seen >> 32 == number) {
      continue;  // it stands in this mini-batch twice
    } else {
      ahead_[(seen >> 32) - planned_].next[seen & 0xffffffffu] = mark(number);
    }
    seen = number << 32 | i;
  }
}

cache_plan::step cache_plan::next() {
  if (ahead_.empty()) fail(errc::usage, "no mini-batch has entered that could be planned");
  if (planned_ % sweep == 0) limit_ages();
  batch const& b = ahead_.front();
  step s;
  s.batch = planned_;
  if (looks_ahead()) {
    auto const rows_of = row_of_spot();
    for (std::uint64_t i = 0; i < b.ids.size(); ++i)
      if (last_seen_.find(b.ids[i], rows_of) == (planned_ << 32 | i)) last_seen_.erase(b.ids[i], rows_of), --seen_;
  }
  try {
    s.slots.resize(b.ids.size());
    if (policy_ == eviction::next_use || policy_ == eviction::pinned) by_rank(b, s);
    else by_hand(b, s);
  } catch (...) {
    forget();
    throw;
  }
  ahead_.pop_front(), ++planned_;
  return s;
}

void cache_plan::limit_ages() {
  for (std::uint64_t s = 0; s < used_; ++s)
    if (age(s) == 0 || age(s) > most_age) last_[s] = static_cast<std::uint8_t>(planned_ - most_age);
}

void cache_plan::put(std::uint64_t id, std::uint32_t slot, std::uint8_t next, step& s) {
  std::uint64_t after = nobody;
  if (owner_[slot] != nobody) {
    after = planned_ - std::min(age(slot), planned_);
    slot_of_.erase(owner_[slot], row_of_slot());
  }
  owner_[slot] = id;
  slot_of_(id, row_of_slot()) = slot;
  next_[slot] = next, last_[slot] = static_cast<std::uint8_t>(planned_);
  s.loads.push_back({id, slot, after});
}

namespace {
[[noreturn]] void too_many(std::uint64_t slots) {
  fail(errc::usage,
       "a mini-batch has more rows in the file than the {} that their cache holds; use a larger budget for it, or smaller "
       "mini-batches",
       slots);
}
}  // namespace

// clock and window: a hand goes round.
void cache_plan::by_hand(batch const& b, step& s) {
  bool const counts = policy_ == eviction::window;
  auto const turn = [&](bool heed_counters) {
    for (std::uint64_t k = 0; k < owner_.size(); ++k) {
      std::uint64_t const slot = hand_;
      hand_ = hand_ + 1 == owner_.size() ? 0 : hand_ + 1;
      if (!busy(slot) && (!heed_counters || next_[slot] == unknown)) return slot;
    }
    return nobody;
  };
  for (std::uint64_t i = 0; i < b.ids.size(); ++i) {
    std::uint8_t const next = counts ? b.next[i] : unknown;
    std::uint32_t slot = slot_of_.find(b.ids[i], row_of_slot());
    if (slot != slot_of_.none) {
      if (!busy(slot)) ++s.rows, ++s.hits, last_[slot] = static_cast<std::uint8_t>(planned_), next_[slot] = next;
      s.slots[i] = slot;
      continue;
    }
    std::uint64_t free = used_ < owner_.size() ? used_++ : nobody;
    if (free == nobody && !s.stuck) free = turn(counts), s.stuck = counts && free == nobody;
    if (free == nobody) free = turn(false);
    if (free == nobody) too_many(owner_.size());
    ++s.rows;
    s.slots[i] = slot = static_cast<std::uint32_t>(free);
    put(b.ids[i], slot, next, s);
  }
}

// pinned and next_use: every slot is scanned once, and the least wanted rows are evicted.
void cache_plan::by_rank(batch const& b, step& s) {
  bool const knows = policy_ == eviction::next_use;
  std::vector<std::uint64_t> missing;  // positions
  for (std::uint64_t i = 0; i < b.ids.size(); ++i) {
    std::uint32_t const slot = slot_of_.find(b.ids[i], row_of_slot());
    s.slots[i] = slot;
    if (slot == slot_of_.none) {
      missing.push_back(i);
    } else if (!busy(slot)) {
      ++s.rows, ++s.hits;
      last_[slot] = static_cast<std::uint8_t>(planned_), next_[slot] = knows ? b.next[i] : unknown;
    }
  }
  std::uint64_t const fresh = std::min<std::uint64_t>(missing.size(), owner_.size() - used_);
  std::vector<std::uint32_t> const from = victims(missing.size() - fresh);
  std::uint64_t taken = 0;
  for (std::uint64_t const i : missing) {
    std::uint32_t slot = slot_of_.find(b.ids[i], row_of_slot());
    if (slot == slot_of_.none) {
      if (used_ == owner_.size() && taken == from.size()) too_many(owner_.size());
      slot = used_ < owner_.size() ? static_cast<std::uint32_t>(used_++) : from[taken++];
      ++s.rows;
      put(b.ids[i], slot, knows ? b.next[i] : unknown, s);
    }
    s.slots[i] = slot;
  }
}

// This many of the slots that are not in use, or all of them: those of the least wanted rows.
std::vector<std::uint32_t> cache_plan::victims(std::uint64_t wanted) const {
  std::vector<std::uint32_t> found;
  if (wanted == 0) return found;
  // The highest rank is evicted first. With next_use it is the mini-batches until the next use; rows without a known use come before all
  // others, the colder by score, or the longer unused, first. By score, rows that mini-batches not gathered yet may still read are evicted
  // last: overwriting them makes the drive wait. A cache of one mini-batch cannot afford that.
  constexpr std::uint64_t behind = 256;
  bool const knows = policy_ == eviction::next_use, ages = knows && scores_.empty();
  std::uint64_t const fits = owner_.size() / std::max<std::size_t>(1, ahead_.front().ids.size());
  std::uint64_t const recent = std::min(most_recent, fits - std::min<std::uint64_t>(fits, 1));
  auto const rank = [&](std::uint64_t slot) {
    if (knows && next_[slot] != unknown) return distance(next_[slot]);
    return behind + (ages ? age(slot) : knows && age(slot) > recent);
  };
  std::uint64_t bins[2 * behind] = {};
  for (std::uint64_t s = 0; s < used_; ++s)
    if (!busy(s)) ++bins[rank(s)];
  std::uint64_t least = std::size(bins) - 1, of_least = wanted;  // all ranks above `least`, and so many of it
  for (; least > 0 && bins[least] < of_least; --least) of_least -= bins[least];
  std::vector<std::uint32_t> equals;
  for (std::uint64_t s = 0; s < used_; ++s)
    if (std::uint64_t const r = busy(s) ? 0 : rank(s); r >= std::max<std::uint64_t>(least, 1))
      (r > least ? found : equals).push_back(static_cast<std::uint32_t>(s));
  if (equals.size() > of_least) {
    auto const colder = [&](std::uint32_t a, std::uint32_t b) {
      if (!scores_.empty() && scores_[owner_[a]] != scores_[owner_[b]]) return scores_[owner_[a]] < scores_[owner_[b]];
      return owner_[a] > owner_[b];
    };
    auto const last = equals.begin() + static_cast<std::ptrdiff_t>(of_least);
    if (least >= behind && !ages) std::nth_element(equals.begin(), last, equals.end(), colder);
    equals.erase(last, equals.end());
  }
  found.insert(found.end(), equals.begin(), equals.end());
  return found;
}

// --- requests under way ------------------------------------------------------------------------------------------------------------------
namespace {
double in_time(drive_rate const& d, double seconds) {
  if (!(d.requests_a_second > 0 && d.seconds >= 0 && d.system_seconds >= 0 && d.drives > 0))
    fail(errc::usage, "a drive of {} requests a second after {} s, {} of them", d.requests_a_second, d.seconds, d.drives);
  return d.requests_a_second * d.drives * seconds;
}
}  // namespace

std::uint64_t required_requests(drive_rate const& d, double share) {
  if (!(share > 0 && share < 1)) fail(errc::usage, "{} of a drive's rate: use more than 0 and less than 1", share);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(in_time(d, d.seconds + d.system_seconds) * share / (1 - share))));
}
std::uint64_t requests_under_way(drive_rate const& d) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(1.5 * in_time(d, d.seconds + d.system_seconds))));
}
std::uint32_t look_ahead(drive_rate const& d, double reads_a_batch, std::uint32_t most) {
  double const batches = 1 + std::ceil(static_cast<double>(requests_under_way(d)) / std::max(1.0, reads_a_batch));
  return static_cast<std::uint32_t>(std::clamp<double>(batches, 2, std::max<std::uint32_t>(2, most)));
}

}  // namespace garner

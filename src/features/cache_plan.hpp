// Plans which rows of a file a cache holds: what a mini-batch reads, into which slots, and what is evicted, decided on the host before any
// read. Pure: no file, no device. file_rows.hpp carries a plan out. Mini-batches enter
// in their order, sampled ahead, and are planned in that order, each with all that have entered by then. Every row of a mini-batch gets a
// slot: cached rows keep theirs, the others evict by the policy. A load names the last mini-batch that read the slot it overwrites
// (`after`), so that loads can run far ahead of the mini-batches that use them.
// Invariant: a slot holds one row, a row is in at most one slot; no slot of the planned mini-batch is given to another row of it.
// Cost: 16 bytes per slot (its row 8, a table of slots at two thirds 6, next and last use a byte each), 0 for rows outside the cache, and
// some 40 bytes per row of mini-batches that have entered. next_use and pinned scan all slots per mini-batch.
// Sources: clock is what BaM does (ASPLOS 2023: a hand over the slots that skips busy ones, no reference bit), window what GIDS prints
// (PVLDB 17(6) 2024, 3.4: counters of reuse over the mini-batches that have entered). next_use: Belady 1966, within the known future.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.hpp"

namespace garner {

// Open addressing over numbers of items whose keys are stored elsewhere: key_of(number) returns them. Keys are distinct.
template <class Number>
class number_table {
 public:
  static constexpr Number none = static_cast<Number>(~std::uint64_t{0});
  number_table() = default;
  explicit number_table(std::uint64_t places) : at_(std::max<std::uint64_t>(places, 2), none) {}

  template <class KeyOf>
  Number find(std::uint64_t key, KeyOf const& key_of) const {
    return at_[place_of(key, key_of)];
  }
  // The entry of this key: `none`, to be set to a number with that key; or a number, to be replaced by another with that key.
  template <class KeyOf>
  Number& operator()(std::uint64_t key, KeyOf const& key_of) {
    return at_[place_of(key, key_of)];
  }
  template <class KeyOf>
  void erase(std::uint64_t key, KeyOf const& key_of) {
    std::uint64_t hole = place_of(key, key_of);
    if (at_[hole] == none) return;
    for (std::uint64_t i = after(hole); at_[i] != none; i = after(i)) {
      std::uint64_t const home = home_of(key_of(at_[i]));
      bool const stays = hole <= i ? hole < home && home <= i : hole < home || home <= i;
      if (stays) continue;
      at_[hole] = at_[i], hole = i;
    }
    at_[hole] = none;
  }
  template <class KeyOf>
  void grow(std::uint64_t places, KeyOf const& key_of) {
    number_table larger(places);
    for (Number const n : at_)
      if (n != none) larger(key_of(n), key_of) = n;
    *this = std::move(larger);
  }
  std::uint64_t places() const { return at_.size(); }

 private:
  std::uint64_t home_of(std::uint64_t key) const { return upper_product(mix(key), at_.size()); }
  std::uint64_t after(std::uint64_t i) const { return i + 1 == at_.size() ? 0 : i + 1; }
  template <class KeyOf>
  std::uint64_t place_of(std::uint64_t key, KeyOf const& key_of) const {
    std::uint64_t i = home_of(key);
    while (at_[i] != none && key_of(at_[i]) != key) i = after(i);
    return i;
  }
  std::vector<Number> at_;
};

// All but clock and window see a whole mini-batch before they evict a row. Users have the first and the last.
enum class eviction : std::uint8_t {
  next_use,  // the row whose next use is last, among known mini-batches, so each row is read once for all of them
  window,    // round-robin, but not of rows with a known next use: GIDS' window buffering
  clock,     // round-robin of rows that are not in use: BaM's cache
  pinned,    // not the hottest rows by score
};
inline constexpr eviction all_evictions[] = {eviction::next_use, eviction::window, eviction::clock, eviction::pinned};
std::string_view to_string(eviction);  // "next-use", "window", "clock", "pinned"

class cache_plan {
 public:
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  static constexpr std::uint64_t most_ahead = 200;  // mini-batches that have entered and are not planned yet
  struct load {
    std::uint64_t id;
    std::uint32_t slot;
    std::uint64_t after;  // the mini-batch that read the slot last; nobody: none did
  };
  struct step {
    std::uint64_t batch = 0;           // its number, from 0
    std::vector<std::uint32_t> slots;  // of each of its rows, as they entered
    std::vector<load> loads;           // in the order of its rows
    std::uint64_t rows = 0, hits = 0;  // distinct rows; cached ones. With clock, rows evicted by their own mini-batch are loaded
                                       // again
    bool stuck = false;                // window: all that was not in use was to be used again; some of it had to go
  };

  // `scores`: by row, for pinned (none: the first rows are the hottest), and to choose among rows that nobody is known to use again.
  cache_plan(std::uint64_t slots, eviction policy, std::span<float const> scores = {});

  std::uint64_t slots() const { return owner_.size(); }
  std::uint64_t ahead() const { return ahead_.size(); }  // entered, not planned
  std::uint64_t entered() const { return planned_ + ahead_.size(); }
  // The rows of the mini-batch after the last that entered; one that stands twice is one.
  void enter(std::vector<std::uint64_t> ids);
  // errc::usage where it has more rows than there are slots; it is then as if it had not entered, and nothing is in the cache.
  step next();
  void forget();  // nothing is in the cache and nothing has entered; numbers go on
  // What stands there for the rows that are cached; nothing for others.
  std::uint64_t metadata_bytes() const;

 private:
  using spot = std::uint64_t;  // of a row in a mini-batch that has entered: number << 32 | position
  struct batch {
    std::vector<std::uint64_t> ids;
    std::vector<std::uint8_t> next;  // of each row, the next mini-batch that has it; unknown: none that has entered
  };
  static constexpr std::uint8_t unknown = 255;

  bool looks_ahead() const { return policy_ == eviction::window || policy_ == eviction::next_use; }
  std::uint8_t mark(std::uint64_t number) const { return static_cast<std::uint8_t>(number % 255); }  // of a next use
  std::uint64_t distance(std::uint8_t mark_of_use) const;                                            // 1 and up, from planned_
  std::uint64_t age(std::uint64_t slot) const { return static_cast<std::uint8_t>(planned_ - last_[slot]); }
  bool busy(std::uint64_t slot) const { return owner_[slot] != nobody && last_[slot] == static_cast<std::uint8_t>(planned_); }
  auto row_of_slot() const {
    return [this](std::uint32_t s) { return owner_[s]; };
  }
  auto row_of_spot() const {
    return [this](spot s) { return ahead_[(s >> 32) - planned_].ids[s & 0xffffffffu]; };
  }
  void limit_ages();
  void put(std::uint64_t id, std::uint32_t slot, std::uint8_t next, step& s);
  void by_hand(batch const& b, step& s);
  void by_rank(batch const& b, step& s);
  std::vector<std::uint32_t> victims(std::uint64_t wanted) const;

  eviction policy_;
  std::span<float const> scores_;
  std::vector<std::uint64_t> owner_;  // by slot: the row
  number_table<std::uint32_t> slot_of_;
  std::vector<std::uint8_t> next_, last_;  // by slot: the next use, modulo 255; the last one, modulo 256, at most most_age ago
  std::uint64_t used_ = 0, hand_ = 0;      // slots [0, used_) hold rows
  std::uint64_t planned_ = 0;              // the next number
  std::deque<batch> ahead_;
  number_table<spot> last_seen_{64};  // of each row, the last mini-batch that has it, of those that have entered
  std::uint64_t seen_ = 0;
};

// --- queue depth ------------------------------------------------------------------------------------------------------------------
// GIDS' storage access accumulator: n concurrent requests take latency + n / rate, so a share p of the
// rate takes n = p / (1 - p) * rate * latency of them. Mini-batches are merged until they request that
// many.
struct drive_rate {
  double requests_a_second = 0;  // of one drive, of the size that is read
  double seconds = 0;            // from a request to its answer, where few are under way
  double system_seconds = 0;     // the same of the path between drive and caller
  std::uint32_t drives = 1;
};
std::uint64_t required_requests(drive_rate const& d, double share);
// Ours never lets the drive run empty between mini-batches: so many requests are under way all the time (Little's law, with half as many
// again), and so many mini-batches are planned ahead that there are always that many to send. At least 2 (one is used), at most `most`.
std::uint64_t requests_under_way(drive_rate const& d);
std::uint32_t look_ahead(drive_rate const& d, double reads_a_batch, std::uint32_t most);

}  // namespace garner

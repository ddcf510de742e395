// Model checking: every interleaving of a few requests through a small queue. The code of queue_view.hpp itself runs word by word against a
// drive that completes in any order, repeats completions and loses them. Each state keeps the invariants of queue_view.hpp, and can reach
// the end. Injected defects show that the test finds defects.
//
// Method: the words of the queue are a small struct, so that a state is a copy of it. A lane's state is its queue_request before a call and
// the values that this call read; to advance by one word, the call runs again from its start with these values. Words that only the holder
// of a lock accesses are not separate steps; ownership of the lock is checked.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/bam/queue_view.hpp"
#include "sanitized.hpp"

namespace garner::lab {
namespace {

constexpr std::uint32_t most_depth = 4, most_lanes = 3, most_met = 120;

struct queue_memory {
  nvme_command commands[most_depth];
  nvme_completion completions[most_depth];
  std::uint32_t tail_doorbell, head_doorbell;
  queue_state state;
  std::uint32_t marks[most_depth], slots[most_depth], used[1], answers[most_depth];
};
struct lane {
  queue_request request;
  std::uint32_t left;    // requests still to be made, including the current one
  std::uint32_t number;  // number of the current one
  enum : std::uint32_t { steps, rings, reaps, gives_back };
  std::uint32_t part;
  std::uint32_t met;  // words in this step
  std::uint32_t said[most_met];
};
struct drive {
  std::uint32_t tail, head;                                  // the doorbell as seen; commands read; both modulo the depth
  std::uint32_t next;                                        // completions written
  std::uint32_t half, id, number;                            // 1: all but the last word of the next one, of this command
  std::uint32_t held, ids[most_depth], numbers[most_depth];  // commands read and not completed
  std::uint32_t may_repeat, may_lose;                        // how often
  std::uint32_t repeats, last_id, last_number, any;          // its last completion
};
struct world {
  queue_memory m;
  lane lanes[most_lanes];
  drive d;
  std::uint32_t clock, may_tick;
  std::uint32_t read, answered;  // requests, one bit each
};

struct setting {
  std::uint32_t depth, lanes, requests;  // requests of each lane
  std::uint32_t repeats = 0, losses = 0;
};
enum class defect { none, claims_in_two, positions_in_two, rings_unlocked, marked_early };

std::uint32_t status_of(std::uint32_t number) { return number * 5 + 1; }
std::uint32_t answer_of(std::uint32_t number) { return number * 7 + 3; }
nvme_command command_of(std::uint32_t number) {
  nvme_command c{};
  c.words[0] = nvme::head(2, number);
  for (int k = 1; k < 8; ++k) c.words[k] = number * 100 + static_cast<unsigned>(k);
  return c;
}

struct broken {
  char const* what;
};
void hold(bool is_so, char const* what) {
  if (!is_so) throw broken{what};
}

struct not_further {};  // the lane has used its step
struct acting {
  world* w;
  lane* who;
  std::uint32_t at, depth;
  bool moved;
  defect fault;
};
acting here;

// A step on a word, or its recorded value from an earlier run.
template <class Act>
std::uint32_t meet(void const* p, bool quiet, Act act, bool read = false) {
  lane& l = *here.who;
  if (here.at < l.met) return l.said[here.at++];
  queue_state const& s = here.w->m.state;
  if (p == &s.head || p == &here.w->m.head_doorbell) hold(s.reaping == 1, "touched by a lane that does not reap"), quiet = true;
  if (p == &s.doorbells) hold(s.ringing == 1, "touched by a lane that does not ring"), quiet = true;
  if (p == &s.strays) quiet = true;  // never read
  bool const own_slot =
      l.part == lane::steps && l.request.at == queue_request::waiting && p >= here.w->m.slots && p < here.w->m.slots + most_depth;
  if (own_slot && read) quiet = true;  // unshared
  if (!quiet && std::exchange(here.moved, true)) throw not_further{};
  hold(l.met < most_met, "a step of more words than the test has room for");
  ++here.at;
  return l.said[l.met++] = act();
}

struct stepping_words {
  static std::uint32_t acquire(std::uint32_t const* p) {
    return meet(
        p, false, [&] { return *p; }, true);
  }
  static void release(std::uint32_t* p, std::uint32_t v) {
    meet(p, false, [&] { return *p = v; });
  }
  static std::uint32_t add(std::uint32_t* p, std::uint32_t v) {
    if (here.fault == defect::positions_in_two && p == &here.w->m.state.tail) {
      std::uint32_t const old = acquire(p);
      return release(p, old + v), old;
    }
    return meet(p, false, [&] { return std::exchange(*p, *p + v); });
  }
  static std::uint32_t set_bits(std::uint32_t* p, std::uint32_t v) {
    if ((here.fault == defect::claims_in_two && p == here.w->m.used) ||
        (here.fault == defect::rings_unlocked && p == &here.w->m.state.ringing)) {
      std::uint32_t const old = acquire(p);
      return release(p, old | v), old;
    }
    return meet(p, false, [&] { return std::exchange(*p, *p | v); });
  }
  static void keep_bits(std::uint32_t* p, std::uint32_t v) {
    meet(p, false, [&] { return *p &= v; });
  }
  static std::uint32_t look(std::uint32_t const* p) { return acquire(p); }
  static void seen(std::uint32_t const*) {}
  static void write(std::uint64_t* p, std::uint64_t v) {
    auto const k = (reinterpret_cast<char*>(p) - reinterpret_cast<char*>(here.w->m.commands)) / 8;
    if (here.fault == defect::marked_early && k % 8 == 0) {  // as without a barrier between the command and its mark
      std::uint32_t* const mark = here.w->m.marks + k / 8;
      release(mark, *mark ? *mark + here.depth : static_cast<std::uint32_t>(k / 8) + 1);
    }
    meet(p, k % 8 > 0, [&] { return static_cast<std::uint32_t>(*p = v); });
  }
  static void ring(std::uint32_t* p, std::uint32_t v) { release(p, v); }
  static std::uint64_t now() {
    return meet(&here.w->clock, here.w->clock > 0 || here.w->may_tick == 0, [] { return here.w->clock; });
  }
};
using view = queue_view<stepping_words>;

class all_interleavings {
 public:
  all_interleavings(setting s, defect fault) : setting_(s), fault_(fault) {
    std::memset(static_cast<void*>(&w_), 0, sizeof w_);  // padding too: states are compared by their bytes
    view_.rings = {w_.m.commands, w_.m.completions, &w_.m.tail_doorbell, &w_.m.head_doorbell, s.depth};
    view_.state = &w_.m.state, view_.marks = w_.m.marks, view_.slots = w_.m.slots, view_.used = w_.m.used, view_.answers = w_.m.answers;
    view_.id_bits = static_cast<std::uint32_t>(lowest_bit(s.depth));
    w_.m.used[0] = ~0u << (s.depth - 1);
    for (std::uint32_t k = 0; k < s.lanes; ++k) w_.lanes[k].left = s.requests, w_.lanes[k].number = k * s.requests;
    w_.d.may_repeat = s.repeats, w_.d.may_lose = s.losses;
    w_.may_tick = s.losses ? 1 : 0;
  }

  // The first error; null: none.
  char const* try_all() {
    struct open {
      std::uint32_t index;
      world w;
    };
    std::vector<open> stack;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> leads;  // from, to
    std::vector<bool> ends;
    auto const enter = [&](std::uint32_t from) {
      check();
      XXH128_hash_t const h = XXH3_128bits(&w_, sizeof w_);
      auto const [at, fresh] = known_.try_emplace({h.low64, h.high64}, static_cast<std::uint32_t>(known_.size()));
      if (from != ~0u) leads.emplace_back(from, at->second);
      if (!fresh) return;
      ends.push_back(ended());
      stack.push_back({at->second, w_});
    };
    try {
      enter(~0u);
      while (!stack.empty()) {
        open const next = stack.back();
        stack.pop_back();
        for (int act = 0;; ++act) {
          std::memcpy(static_cast<void*>(&w_), &next.w, sizeof w_);
          int const did = try_act(act);
          if (did == no_more) break;
          if (did == done) enter(next.index);
        }
      }
    } catch (broken const& b) {
      return b.what;
    }
    // Backwards from the ends: every state not reached is stuck, or loops for ever.
    std::vector<std::vector<std::uint32_t>> before(ends.size());
    for (auto const& [from, to] : leads) before[to].push_back(from);
    std::vector<std::uint32_t> reached;
    std::vector<bool> met = ends;
    for (std::uint32_t i = 0; i < ends.size(); ++i)
      if (ends[i]) reached.push_back(i);
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (std::uint32_t const b : before[reached[i]])
        if (!met[b]) met[b] = true, reached.push_back(b);
    return reached.size() == ends.size() ? nullptr : "a state from which the end cannot be reached";
  }
  std::size_t states() const { return known_.size(); }

 private:
  enum { no_more, idle, done };

  int try_act(int act) {
    auto const lanes = static_cast<int>(setting_.lanes);
    if (act < lanes) return move(w_.lanes[act]) ? done : idle;
    drive& d = w_.d;
    switch (act -= lanes) {
      case 0:  // reads the doorbell
        if (d.tail == w_.m.tail_doorbell) return idle;
        hold(w_.m.tail_doorbell < setting_.depth, "a doorbell beyond the ring");
        hold(behind(w_.m.tail_doorbell, d.head) >= behind(d.tail, d.head), "the doorbell went back");
        d.tail = w_.m.tail_doorbell;
        return done;
      case 1:  // reads a command
        return d.head == d.tail ? idle : (read(), done);
      case 2:  // the last word of a completion
        if (!d.half) return idle;
        w_.m.completions[d.next % setting_.depth].words[3] =
            nvme::last_word(d.id, nvme::phase_at(d.next, setting_.depth), status_of(d.number));
        ++d.next;
        d.half = 0, d.any = 1, d.last_id = d.id, d.last_number = d.number;
        return done;
      case 3:  // repeats the last completion
        if (d.half || !d.any || d.may_repeat == 0 || !room()) return idle;
        --d.may_repeat;
        return begin(d.last_id, d.last_number), done;
      case 4:  // time advances
        if (w_.may_tick == 0) return idle;
        w_.may_tick = 0, w_.clock = 1;
        return done;
      default:
        break;
    }
    auto const k = static_cast<std::uint32_t>(act - 5) / 2;  // a command that it holds
    if (k >= setting_.depth) return no_more;
    if (k >= d.held) return idle;
    if (act % 2 == 0) {                                  // is lost
      if (d.may_lose == 0 || w_.clock > 0) return idle;  // time advances once, after a loss
      --d.may_lose;
      return drop(k), done;
    }
    if (d.half) return idle;
    if (!room()) {
      hold(setting_.repeats > 0, "the completion queue is full");
      return idle;
    }
    std::uint32_t const id = d.ids[k], number = d.numbers[k];
    drop(k);
    w_.answered |= 1u << number;
    return begin(id, number), done;
  }
  bool room() const { return behind(w_.d.next % setting_.depth, w_.m.head_doorbell) < setting_.depth - 1; }
  std::uint32_t behind(std::uint32_t at, std::uint32_t from) const { return (at + setting_.depth - from) % setting_.depth; }
  void begin(std::uint32_t id, std::uint32_t number) {
    w_.d.half = 1, w_.d.id = id, w_.d.number = number;
    w_.m.completions[w_.d.next % setting_.depth].words[0] = answer_of(number);
  }
  void drop(std::uint32_t k) {
    drive& d = w_.d;
    --d.held;
    for (; k < d.held; ++k) d.ids[k] = d.ids[k + 1], d.numbers[k] = d.numbers[k + 1];
    d.ids[d.held] = d.numbers[d.held] = 0;
  }
  void read() {
    drive& d = w_.d;
    nvme_command const c = w_.m.commands[d.head];
    d.head = (d.head + 1) % setting_.depth;
    std::uint32_t const number = nvme::name_space_of(c), id = nvme::id_of(c);
    nvme_command whole = command_of(number);
    whole.words[0] |= static_cast<std::uint64_t>(id) << 16;
    hold(number < setting_.lanes * setting_.requests && std::memcmp(&whole, &c, sizeof c) == 0, "a command that was not written whole");
    hold(!(w_.read >> number & 1), "a command was read twice");
    for (std::uint32_t k = 0; k < d.held; ++k) hold(d.ids[k] != id, "an id is used twice");
    hold(d.held < setting_.depth - 1, "more commands under way than slots");
    w_.read |= 1u << number;
    d.ids[d.held] = id, d.numbers[d.held] = number;
    ++d.held;
  }

  // One step of a lane.
  bool move(lane& l) {
    if (l.left == 0) return false;
    here = {&w_, &l, 0, setting_.depth, false, fault_};
    queue_request r = l.request;
    try {
      if (l.part == lane::gives_back) {
        view_.give_back(r);
        l.request = {};
        --l.left, ++l.number;
        l.part = lane::steps;
      } else if (l.part == lane::rings) {
        view_.ring();
        l.part = lane::reaps;
      } else if (l.part == lane::reaps) {
        view_.reap();
        l.part = lane::steps;
      } else {
        bool const ended = view_.step(r, command_of(l.number));
        l.request = r;
        l.part = lane::rings;
        if (ended) finish(l);
      }
    } catch (not_further) {
      return true;
    }
    l.met = 0;
    std::memset(l.said, 0, sizeof l.said);
    return true;
  }
  void finish(lane& l) {
    if (l.request.status & (queue_request::timed_out | queue_request::stopped)) {
      hold(w_.clock > 0 && setting_.losses > 0, "stopped without a reason");
      l.left = 0;
      return;
    }
    hold(w_.answered >> l.number & 1, "done before the drive completed the request");
    hold(l.request.status == status_of(l.number), "another request's status");
    hold(w_.m.answers[l.request.slot] == answer_of(l.number), "another request's answer");
    l.part = lane::gives_back;
  }
  bool ended() const {
    for (lane const& l : w_.lanes)
      if (l.left) return false;
    return true;
  }
  void check() const {
    queue_state const& s = w_.m.state;
    std::uint32_t sent = 0;
    for (std::uint32_t k = 0; k < setting_.lanes; ++k) {
      if (w_.lanes[k].request.at != queue_request::sent) continue;
      ++sent;
      hold(static_cast<std::int32_t>(w_.lanes[k].request.ticket - s.returned) < static_cast<std::int32_t>(setting_.depth) - 1,
           "sent before its turn");
      for (std::uint32_t j = 0; j < k; ++j)
        hold(w_.lanes[j].request.at != queue_request::sent || w_.lanes[j].request.slot != w_.lanes[k].request.slot,
             "two requests in one slot");
    }
    hold(sent < setting_.depth, "more requests sent than slots");
    hold(s.rung <= s.tail, "rung beyond what was taken");
    hold(s.strays <= setting_.repeats, "an answer was taken for a stray");
    if (!ended() || s.stopped) return;
    hold(s.asked == s.returned && s.asked == setting_.lanes * setting_.requests, "a ticket was lost");
    hold(w_.m.used[0] == ~0u << (setting_.depth - 1), "a slot was lost");
  }

  struct key {
    std::uint64_t low, high;
    bool operator==(key const&) const = default;
  };
  struct hash {
    std::size_t operator()(key const& k) const { return k.low; }
  };
  setting setting_;
  defect fault_;
  world w_;
  view view_;
  std::unordered_map<key, std::uint32_t, hash> known_;
};

char const* try_all(setting s, defect fault = defect::none) {
  auto const model = std::make_unique<all_interleavings>(s, fault);
  char const* const wrong = model->try_all();
  ::testing::Test::RecordProperty("states", std::to_string(model->states()));
  return wrong;
}

TEST(QueueModel, LanesTakeTurnsInOneSlot) { EXPECT_STREQ(try_all({2, 2, 3}), nullptr); }
TEST(QueueModel, ThreeLanesInOneSlot) { EXPECT_STREQ(try_all({2, 3, 1}), nullptr); }
TEST(QueueModel, WhatIsToldTwiceIsAStray) { EXPECT_STREQ(try_all({2, 2, 2, garner::testing::sanitized ? 1u : 2u}), nullptr); }
TEST(QueueModel, AnswersInAnyOrder) { EXPECT_STREQ(try_all({4, 2, 1, garner::testing::sanitized ? 0u : 1u}), nullptr); }
// The longest waiter stops the queue, and all leave.
TEST(QueueModel, AnAnswerThatNeverComes) { EXPECT_STREQ(try_all({2, 2, 1, 0, 1}), nullptr); }

// Validation of the test: each of these defects is found.
TEST(QueueModel, FindsSlotsClaimedInTwoActs) { EXPECT_STREQ(try_all({4, 2, 1}, defect::claims_in_two), "a slot was lost"); }
TEST(QueueModel, FindsPositionsTakenInTwoActs) {
  EXPECT_STREQ(try_all({4, 2, 1}, defect::positions_in_two), "a state from which the end cannot be reached");
}
TEST(QueueModel, FindsTwoThatRing) { EXPECT_STREQ(try_all({4, 2, 1}, defect::rings_unlocked), "touched by a lane that does not ring"); }
TEST(QueueModel, FindsMarksBeforeCommands) {
  EXPECT_STREQ(try_all({4, 2, 1}, defect::marked_early), "a command that was not written whole");
}

}  // namespace
}  // namespace garner::lab

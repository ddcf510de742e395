// A request queue as a kernel sees it: a pair of NVMe rings, and device words by which many lanes fill and empty them without blocking each
// other. The provider of the rings, a drive or a host thread (queue_service), is hidden here.
//
// A request is a few words of its lane (queue_request), with these states:
//   asking -> waiting    takes a ticket. Ticket t may go on once all but slots - 1 of the tickets before were returned: first come,
//                        first served; others wait while the queue is full.
//   waiting -> sent      claims a slot (a bit of `used`), takes the next position of the ring, writes its command there and marks it.
//   sent -> done         its slot has the drive's status; the lane releases slot and ticket.
// A waiting lane also works for the others: `ring` submits all contiguous marked positions to the drive, by one write of the doorbell;
// `reap` takes arrived completions, in order of the ring, and updates their slots. Each is done by one lane at a time; the others go
// on.
//
// Invariants (tests/lab/queue_model_test.cpp tries every interleaving against them):
//   1  At most `slots` = depth - 1 requests are between their turn and the end. So neither ring is ever full, and the positions p and
//      p - depth are never in use together: of the depth - 1 positions between at least one is done, and a drive reads commands in order.
//   2  A position is marked after its command was written, and the doorbell covers marked positions only.
//   3  A slot is used by one request. Its id is slot and generation; generations follow each other. A completion with another generation or
//      of an idle slot (repeated, or too late) is counted as a stray and changes nothing.
//   4  Slots become done by the reaping lane alone, and only from `sent`; by their owners alone they become anything else.
//   5  An entry of the completion ring is read after its phase was, and the doorbell gives entries back after they were read.
//   6  Every request that is marked and not stopped ends, as long as the drive answers: its own lane rings and reaps.
// A request that times out stops the queue: all its lanes leave, and keep their slots, since the drive may still write to their frames. The
// host ends what is in flight and makes the queue anew (request_queues::restart).
#pragma once
#include <cstdint>

#include "core/exec/atomics.hpp"
#include "core/exec/system.hpp"
#include "core/mark.hpp"
#include "lab/nvme/format.hpp"

namespace garner::lab {

// Addresses of a queue's words for the kernel. The rings and their doorbells are shared with the provider.
struct queue_rings {
  nvme_command* commands = nullptr;
  nvme_completion const* completions = nullptr;
  std::uint32_t *tail_doorbell = nullptr, *head_doorbell = nullptr;
  std::uint32_t depth = 0;  // entries of each; a power of two, 2 to 4096
};

inline constexpr std::uint32_t most_queue_depth = 4096;

// Device words of a queue. Groups that different lanes change are on lines of their own.
struct queue_state {
  alignas(64) std::uint32_t asked = 0;     // tickets taken
  alignas(64) std::uint32_t returned = 0;  // and given back
  alignas(64) std::uint32_t tail = 0;      // positions taken
  alignas(64) std::uint32_t ringing = 0;   // 1: a lane rings
  std::uint32_t rung = 0;                  // positions submitted to the drive
  std::uint32_t doorbells = 0;
  alignas(64) std::uint32_t reaping = 0;  // 1: a lane reaps
  std::uint32_t head = 0;                 // completions taken
  std::uint32_t strays = 0;
  alignas(64) std::uint32_t stopped = 0;  // 1: a request timed out
};

// A request between two steps: all that its lane knows.
struct queue_request {
  enum : std::uint32_t { asking, waiting, sent, done };
  std::uint32_t at = asking, ticket = 0, slot = 0;
  std::uint32_t status = 0;  // of the drive, once done; or one of:
  static constexpr std::uint32_t timed_out = 1u << 16, stopped = 1u << 17;
  std::uint64_t since = 0;
};

// Access to the words. The test of all interleavings has its own.
struct place_words {
  GARNER_HD static std::uint32_t acquire(std::uint32_t const* p) { return load_acquire(p); }
  GARNER_HD static void release(std::uint32_t* p, std::uint32_t v) { store_release(p, v); }
  GARNER_HD static std::uint32_t add(std::uint32_t* p, std::uint32_t v) { return change_add(p, v); }
  GARNER_HD static std::uint32_t set_bits(std::uint32_t* p, std::uint32_t v) { return change_or(p, v); }
  GARNER_HD static void keep_bits(std::uint32_t* p, std::uint32_t v) { change_and(p, v); }
  GARNER_HD static std::uint32_t look(std::uint32_t const* p) { return shared_load(p); }
  GARNER_HD static void seen(std::uint32_t const* p) { shared_acquire(p); }
  GARNER_HD static void write(std::uint64_t* p, std::uint64_t v) { shared_store(p, v); }
  GARNER_HD static void ring(std::uint32_t* p, std::uint32_t v) { store_register(p, v); }
  GARNER_HD static std::uint64_t now() { return nanoseconds_now(); }
};

template <class Words = place_words>
struct queue_view {
  queue_rings rings;
  queue_state* state = nullptr;
  std::uint32_t* marks = nullptr;    // a ring position: its number + 1, once its command is written
  std::uint32_t* slots = nullptr;    // depth - 1: what is sent there, generation, status
  std::uint32_t* used = nullptr;     // a bit per slot; bits without a slot are set
  std::uint32_t* answers = nullptr;  // a slot: the completion's first word; null: nobody asks
  std::uint32_t id_bits = 0;         // log2(depth): bits of an id that name the slot
  std::uint64_t time_out = 0;        // ns from sent to done

  static constexpr std::uint32_t slot_free = 0, slot_sent = 1u << 30, slot_done = 2u << 30, kind_bits = 3u << 30;
  static constexpr std::uint32_t look_ahead = 8;  // completions that are read at once

  // A step of a request: true once it is done, with its status. `command` is written as it is, but for the id. Between two steps its lane
  // works on the queue.
  GARNER_HD bool step(queue_request& r, nvme_command const& command) const {
    if (r.at == queue_request::asking) {
      r.ticket = Words::add(&state->asked, 1);
      r.at = queue_request::waiting;
    } else if (r.at == queue_request::waiting) {
      if (Words::acquire(&state->stopped)) return end(r, queue_request::stopped);
      if (my_turn(r.ticket) && claim(r)) send(r, command);
    } else {
      std::uint32_t const word = Words::acquire(slots + r.slot);
      if ((word & kind_bits) == slot_done) return end(r, word & 0x7fff);
      if (Words::acquire(&state->stopped)) return end(r, queue_request::stopped);
      if (Words::now() - r.since <= time_out) return false;
      Words::release(&state->stopped, 1);
      return end(r, queue_request::timed_out);
    }
    return false;
  }
  // The first word of the completion of a request that is done, before it is given back.
  GARNER_HD std::uint32_t answer(queue_request const& r) const { return Words::acquire(answers + r.slot); }
  // Gives slot and ticket of a request back that is done; those of a stopped queue are kept.
  GARNER_HD void give_back(queue_request const& r) const {
    if (r.status & (queue_request::timed_out | queue_request::stopped)) return;
    Words::release(slots + r.slot, slot_free | (Words::acquire(slots + r.slot) & generation_bits()));
    Words::keep_bits(used + r.slot / 32, ~(1u << r.slot % 32));
    Words::add(&state->returned, 1);
  }

  GARNER_HD void work() const {
    ring();
    reap();
  }
  GARNER_HD void ring() const {
    if (Words::acquire(&state->tail) == Words::acquire(&state->rung)) return;
    if (Words::acquire(&state->ringing) || Words::set_bits(&state->ringing, 1)) return;
    std::uint32_t const before = Words::acquire(&state->rung);
    std::uint32_t to = before;
    while (to - before < rings.depth && Words::acquire(marks + (to & (rings.depth - 1))) == to + 1) ++to;
    if (to != before) {
      Words::ring(rings.tail_doorbell, to & (rings.depth - 1));
      Words::release(&state->doorbells, Words::acquire(&state->doorbells) + 1);
      Words::release(&state->rung, to);
    }
    Words::release(&state->ringing, 0);
  }
  GARNER_HD void reap() const {
    if (Words::acquire(&state->reaping) || Words::set_bits(&state->reaping, 1)) return;
    std::uint32_t const before = Words::acquire(&state->head), n = smaller(look_ahead, rings.depth);
    std::uint32_t to = before, came = n;
    while (came == n && to - before < rings.depth) {
      std::uint32_t last[look_ahead];  // read together, since each may be a read over the link
      for (std::uint32_t k = 0; k < n; ++k) last[k] = Words::look(entry(to + k).words + 3);
      for (came = 0; came < n && nvme::phase_of(last[came]) == nvme::phase_at(to + came, rings.depth);) ++came;
      if (came == 0) break;
      Words::seen(entry(to + came - 1).words + 3);
      for (std::uint32_t k = 0; k < came; ++k) take(last[k], entry(to + k));
      to += came;
    }
    if (to != before) {
      Words::release(&state->head, to);
      Words::ring(rings.head_doorbell, to & (rings.depth - 1));
    }
    Words::release(&state->reaping, 0);
  }

  GARNER_HD std::uint32_t count() const { return rings.depth - 1; }
  GARNER_HD std::uint32_t generation_bits() const { return ((1u << (16 - id_bits)) - 1) << 15; }

 private:
  GARNER_HD nvme_completion const& entry(std::uint32_t n) const { return rings.completions[n & (rings.depth - 1)]; }
  GARNER_HD bool end(queue_request& r, std::uint32_t status) const {
    r.status = status;
    r.at = queue_request::done;
    return true;
  }
  GARNER_HD bool my_turn(std::uint32_t ticket) const {
    return static_cast<std::int32_t>(ticket - Words::acquire(&state->returned)) < static_cast<std::int32_t>(count());
  }
  // A slot is free for the lane with the next ticket; others may take the one that was seen, so a call may fail.
  GARNER_HD bool claim(queue_request& r) const {
    std::uint32_t const words = (count() + 31) / 32, first = r.ticket % words;
    for (std::uint32_t k = 0; k < words; ++k) {
      std::uint32_t const at = first + k < words ? first + k : first + k - words;
      for (std::uint32_t in_use = Words::acquire(used + at); ~in_use != 0;) {
        auto const bit = static_cast<std::uint32_t>(lowest_bit(~in_use));
        in_use = Words::set_bits(used + at, 1u << bit);
        if (!(in_use >> bit & 1)) return r.slot = at * 32 + bit, true;
      }
    }
    return false;
  }
  GARNER_HD void send(queue_request& r, nvme_command const& command) const {
    std::uint32_t const next = ((Words::acquire(slots + r.slot) & generation_bits()) + (1u << 15)) & generation_bits();
    Words::release(slots + r.slot, slot_sent | next);
    std::uint32_t const position = Words::add(&state->tail, 1), at = position & (rings.depth - 1);
    std::uint64_t const id = r.slot | (next >> 15) << id_bits;
    std::uint64_t* const words = rings.commands[at].words;
    Words::write(words, command.words[0] | id << 16);
    for (int k = 1; k < 8; ++k) Words::write(words + k, command.words[k]);
    r.since = Words::now();
    Words::release(marks + at, position + 1);
    r.at = queue_request::sent;
  }
  GARNER_HD void take(std::uint32_t last, nvme_completion const& whole) const {
    std::uint32_t const id = nvme::id_of(last), slot = id & (rings.depth - 1), generation = id >> id_bits << 15;
    if (slot >= count() || Words::acquire(slots + slot) != (slot_sent | generation)) {
      Words::add(&state->strays, 1);
      return;
    }
    if (answers) Words::release(answers + slot, Words::look(whole.words));
    Words::release(slots + slot, slot_done | generation | nvme::status_of(last));
  }
};

}  // namespace garner::lab

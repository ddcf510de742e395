#include "comm/rank_group.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/device.hpp"
#include "core/event.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/buffer.hpp"
#include "memory/page.hpp"
#include "memory/pin.hpp"

namespace garner {

namespace {

using steady = std::chrono::steady_clock;

// Written by its rank alone; all other fields are written before `state` and `arrived`.
struct mailbox {
  enum : std::uint32_t { absent, joined, left };
  std::atomic<std::uint32_t> state{absent};
  std::uint32_t root = 0;  // dead: the rank that caused it
  char why[1024] = {};
  std::atomic<std::uint64_t> arrived{0};  // number of barriers reached
  std::uint64_t bytes = 0;                // of its message
  char says[1024] = {};
  rank_group::pair numbers[2] = {};  // of this barrier and of the one before: a rank is at most one behind
};
static_assert(sizeof(mailbox) <= page_bytes && std::atomic<std::uint64_t>::is_always_lock_free);

// The mean of one number. `from` may be on peers: adjacent items read adjacent numbers.
struct mean_of_ranks {
  float const* from[rank_group::most_ranks];
  std::uint32_t ranks;
  float* to;
  float share;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    float sum = from[0][i];
    for (std::uint32_t r = 1; r < ranks; ++r) sum += from[r][i];
    to[i] = sum * share;
  }
};

}  // namespace

struct rank_group::parts {
  // State of each rank of this process; others read `where`, `values` and the events after a barrier.
  struct member {
    std::uint64_t barriers = 0;
    std::uint32_t root = 0;  // of the rank that a call named
    std::string why;
    execution_device where;
    float* values = nullptr;
    event given, summed, taken;
    buffer<float> room;  // what others read, where not `values` itself
    pinned_pages pinned;
    bool direct = false;
  };
  std::uint32_t ranks;
  double timeout_seconds, late_seconds = 0;
  std::string name;
  std::optional<std::uint32_t> only;
  std::uint64_t in_common = 0;
  std::unique_ptr<mailbox[]> own;  // of threads
  std::optional<peer_group> processes;
  std::array<mailbox const*, most_ranks> mailboxes{};
  std::array<float const*, most_ranks> rooms{};  // of processes
  mailbox* mine = nullptr;                       // of a process
  float* my_room = nullptr;
  std::array<member, most_ranks> members;

  steady::duration patience() const {
    return std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(std::min(timeout_seconds, 1e9)));
  }
  mailbox& of(std::uint32_t rank) { return own ? own[rank] : *mine; }
  std::string named(std::uint32_t rank) const {
    // A thread's device is known once the thread has come to a barrier.
    bool const at_device = own && own[rank].arrived.load(std::memory_order_acquire) && members[rank].where.kind == device_kind::cuda;
    return fmt::format("rank {} of {}{}", rank, ranks, at_device ? fmt::format(" (cuda:{})", members[rank].where.index) : "");
  }

  [[noreturn]] void throw_dead(std::uint32_t rank, std::uint32_t root, std::string why) {
    member& m = members[rank];
    m.root = root, m.why = std::move(why);
    fail(errc::io, "{} has stopped: {}; begin anew in all ranks, from the last checkpoint", named(root), m.why);
  }
  // Names k if it is dead and will not reach that barrier.
  void look_at(std::uint32_t rank, std::uint32_t k, std::uint64_t turn) {
    auto const come = [&] { return mailboxes[k]->arrived.load(std::memory_order_acquire) >= turn; };
    auto const has_left = [&] { return mailboxes[k]->state.load(std::memory_order_acquire) == mailbox::left; };
    bool const ended = processes && !processes->lives(k);
    if (has_left() && !come()) throw_dead(rank, mailboxes[k]->root, mailboxes[k]->why);
    if (ended && !come()) throw_dead(rank, k, "its process ended");
  }
  void barrier(std::uint32_t rank, bool first = false) {
    member& m = members[rank];
    std::uint64_t const turn = ++m.barriers;
    of(rank).arrived.store(turn, std::memory_order_release);
    double const most = first ? timeout_seconds : late_seconds;
    double waited = 0;
    auto looked = steady::now();
    auto const come = [&](std::uint32_t k) { return mailboxes[k]->arrived.load(std::memory_order_acquire) >= turn; };
    for (std::uint32_t k = 0; k < ranks; ++k)
      for (std::uint32_t looks = 0; !come(k); ++looks) {
        if (looks < 1000) {
          std::this_thread::yield();
          continue;
        }
        look_at(rank, k, turn);
        // Caps the time counted per poll at that of a busy machine: a rank that was stopped itself has waited for nobody.
        auto const now = steady::now();
        waited += std::min(std::chrono::duration<double>(now - std::exchange(looked, now)).count(), 0.1);
        if (first) check_interrupted();
        if (first && waited >= most)
          fail(errc::io, "{} has not come in {} seconds; start one for each rank, or wait longer", named(k), most);
        if (!first && most > 0 && waited >= most) {
          m.root = k, m.why = fmt::format("it was late: the others waited {} seconds for it", most);
          fail(errc::io, "{} is late: it has not come in {} seconds; begin anew in all ranks, from the last checkpoint", named(k), most);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(looks < 2000 ? 20 : 500));
      }
  }
  std::uint64_t begin_of(std::uint32_t rank, std::uint64_t count) const {
    return count / ranks * rank + std::min<std::uint64_t>(rank, count % ranks);
  }
};

rank_group::rank_group(std::unique_ptr<parts> made) : parts_(std::move(made)) {}
rank_group::~rank_group() = default;
void rank_group::look() const {
  parts& p = *parts_;
  if (!p.processes) return;
  for (std::uint32_t k = 0; k < p.ranks; ++k)
    if (p.mailboxes[k] && p.mailboxes[k]->state.load(std::memory_order_acquire) == mailbox::left)
      p.throw_dead(*p.only, p.mailboxes[k]->root, p.mailboxes[k]->why);
    else if (p.processes->ended(k))
      fail(errc::io, "{} has stopped: its process ended before all had features and adjacency; begin anew in all ranks", p.named(k));
  if (!p.mine) p.processes->heed_refusal();
}
std::uint32_t rank_group::ranks() const { return parts_->ranks; }
std::chrono::steady_clock::duration rank_group::patience() const { return parts_->patience(); }
std::optional<std::uint32_t> rank_group::only() const { return parts_->only; }
std::optional<peer_group::terms> rank_group::common(int device) {
  parts& p = *parts_;
  if (!p.only || p.ranks < 2) return std::nullopt;
  peer_group::terms t;
  t.members = p.ranks, t.mine = *p.only, t.device = device, t.timeout_seconds = p.timeout_seconds;
  t.look = [self = shared_from_this()] { self->look(); };
  t.name = fmt::format("{}.{}", p.name, p.in_common++);
  return t;
}

namespace {
void check(std::uint32_t ranks, double timeout_seconds) {
  if (ranks < 1 || ranks > rank_group::most_ranks) fail(errc::usage, "{} ranks: use 1 to {}", ranks, rank_group::most_ranks);
  if (!(timeout_seconds >= 0)) fail(errc::usage, "timeout {}: use seconds, 0 or more", timeout_seconds);
}
}  // namespace

std::shared_ptr<rank_group> rank_group::of_threads(std::uint32_t ranks, double timeout_seconds, double late_seconds) {
  check(ranks, timeout_seconds), check(ranks, late_seconds);
  auto p = std::make_unique<parts>();
  p->ranks = ranks, p->timeout_seconds = timeout_seconds, p->late_seconds = late_seconds;
  p->own = std::make_unique<mailbox[]>(ranks);
  for (std::uint32_t k = 0; k < ranks; ++k) p->mailboxes[k] = &p->own[k];
  return std::shared_ptr<rank_group>(new rank_group(std::move(p)));
}
std::shared_ptr<rank_group> rank_group::of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks,
                                                     double timeout_seconds, double late_seconds, std::string const& same,
                                                     std::function<void()> look) {
  check(ranks, timeout_seconds), check(ranks, late_seconds);
  if (rank >= ranks) fail(errc::usage, "rank {} of {}: ranks count from 0", rank, ranks);
  auto p = std::make_unique<parts>();
  p->ranks = ranks, p->timeout_seconds = timeout_seconds, p->late_seconds = late_seconds, p->only = rank, p->name = name;
  peer_group::terms t;
  t.members = ranks, t.mine = rank, t.same = same, t.timeout_seconds = timeout_seconds, t.look = std::move(look);
  p->processes.emplace(name, t);
  return std::shared_ptr<rank_group>(new rank_group(std::move(p)));
}

void rank_group::join(std::uint32_t rank, executor const& x, std::uint64_t numbers) {
  parts& p = *parts_;
  if (rank >= p.ranks) fail(errc::usage, "rank {} of {}: ranks count from 0", rank, p.ranks);
  if (p.only && *p.only != rank) fail(errc::usage, "this process is rank {} of {}, and not {}", *p.only, p.ranks, rank);
  if (p.only && p.mine) fail(errc::usage, "{} is taken already; make another group for another training", p.named(rank));
  parts::member& m = p.members[rank];
  if (p.processes) {
    // The minimum of a number and of its negative: all ranks agree if both are this one's.
    auto const least = p.processes->least_of({numbers, ~numbers, 0});
    if (least[0] != numbers || ~least[1] != numbers)
      fail(errc::usage, "{} has {} parameters and others have {} to {}; give all ranks one model", p.named(rank), numbers, least[0],
           ~least[1]);
    std::size_t const bytes = page_bytes + numbers * sizeof(float);
    void* const at = p.processes->make(bytes, bytes, "messages between ranks");
    p.mine = new (at) mailbox;
    p.mine->state.store(mailbox::joined, std::memory_order_release);
    auto const all = p.processes->open();
    for (std::uint32_t k = 0; k < p.ranks; ++k) {
      p.mailboxes[k] = static_cast<mailbox const*>(all[k]);
      p.rooms[k] = reinterpret_cast<float const*>(static_cast<char const*>(all[k]) + page_bytes);
    }
    p.my_room = reinterpret_cast<float*>(static_cast<char*>(at) + page_bytes);
    m.where = x.where();
    p.barrier(rank, true);
    return;
  }
  mailbox& b = p.of(rank);
  if (std::uint32_t is = mailbox::absent; !b.state.compare_exchange_strong(is, mailbox::joined, std::memory_order_acq_rel))
    fail(errc::usage, "{} is taken already; give each thread a rank of its own, and each training a group", p.named(rank));
  m.where = x.where();
  p.barrier(rank, true);
  m.direct = true;
  for (std::uint32_t a = 0; a < p.ranks; ++a)
    for (std::uint32_t c = 0; c < p.ranks; ++c) {
      execution_device const reads = p.members[a].where, has = p.members[c].where;
      bool const one = reads.kind == device_kind::cuda, other = has.kind == device_kind::cuda;
      m.direct &= one == other && (!one || reads.index == has.index || device::peer_of(reads.index, has.index).can);
    }
  if (m.direct && x.on_device())
    for (std::uint32_t k = 0; k < p.ranks; ++k)
      if (p.members[k].where.index != x.device()) device::enable_peer(x.device(), p.members[k].where.index);
  if (!m.direct) m.room = buffer<float>(tier::host, numbers, x.device(), "gradients of ranks");
  std::string const said = std::to_string(numbers);
  for (std::string const& other : all_gather(rank, said))
    if (other != said) fail(errc::usage, "a model of {} parameters and one of {} in one group; give all ranks one model", said, other);
}

void rank_group::leave(std::uint32_t rank, std::string_view why) noexcept {
  parts& p = *parts_;
  if (rank >= p.ranks || (p.only && (*p.only != rank || !p.mine))) return;
  mailbox& b = p.of(rank);
  if (b.state.load(std::memory_order_relaxed) == mailbox::left) return;
  parts::member const& m = p.members[rank];
  b.root = m.why.empty() ? rank : m.root;
  std::string_view const said = m.why.empty() ? why : std::string_view(m.why);
  std::memcpy(b.why, said.data(), std::min(said.size(), sizeof b.why - 1));
  b.state.store(mailbox::left, std::memory_order_release);
}

void rank_group::barrier(std::uint32_t rank) {
  parts_->of(rank).bytes = 0;  // for ahead(); all have read it
  parts_->barrier(rank);
}

std::vector<std::string> rank_group::all_gather(std::uint32_t rank, std::string_view mine) {
  parts& p = *parts_;
  std::vector<std::string> all(p.ranks);
  mailbox& b = p.of(rank);
  for (std::uint64_t from = 0, most = mine.size(); from == 0 || from < most; from += sizeof b.says) {
    std::string_view const part = mine.substr(std::min<std::size_t>(from, mine.size()), sizeof b.says);
    b.bytes = mine.size();
    if (!part.empty()) std::memcpy(b.says, part.data(), part.size());
    p.barrier(rank);
    for (std::uint32_t k = 0; k < p.ranks; ++k) {
      mailbox const& other = *p.mailboxes[k];
      most = std::max(most, other.bytes);
      if (other.bytes > from) all[k].append(other.says, std::min<std::uint64_t>(other.bytes - from, sizeof other.says));
    }
    p.barrier(rank);  // all have read it
  }
  return all;
}

void rank_group::require_same(std::uint32_t rank, std::string_view lines) {
  std::vector<std::string> const all = all_gather(rank, lines);
  for (std::size_t k = 1; k < all.size(); ++k) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < std::min(all[0].size(), all[k].size()) && all[0][i] == all[k][i]; ++i)
      if (all[0][i] == '\n') at = i + 1;
    auto const line = [&](std::string const& of) { return of.substr(at, of.find('\n', at) - at); };
    if (all[k] != all[0])
      fail(errc::usage, "rank 0 trains with {}, and rank {} with {}; give all ranks the same", line(all[0]), k, line(all[k]));
  }
}

std::vector<rank_group::pair> rank_group::all_gather_numbers(std::uint32_t rank, pair mine) {
  parts& p = *parts_;
  std::uint64_t const turn = p.members[rank].barriers + 1;
  p.of(rank).numbers[turn % 2] = mine, p.of(rank).bytes = 0;
  p.barrier(rank);
  std::vector<pair> all;
  for (std::uint32_t k = 0; k < p.ranks; ++k) all.push_back(p.mailboxes[k]->numbers[turn % 2]);
  return all;
}
void rank_group::look(std::uint32_t rank) {
  parts& p = *parts_;
  for (std::uint32_t k = 0; k < p.ranks; ++k)
    if (k != rank) p.look_at(rank, k, p.members[rank].barriers + 1);
}
bool rank_group::ahead(std::uint32_t rank) const {
  parts const& p = *parts_;
  for (std::uint32_t k = 0; k < p.ranks; ++k)
    if (k != rank && p.mailboxes[k]->arrived.load(std::memory_order_acquire) > p.members[rank].barriers && p.mailboxes[k]->bytes)
      return true;
  return false;
}

std::uint64_t rank_group::reached(std::uint32_t rank) const {
  mailbox const* const b = rank < parts_->ranks ? parts_->mailboxes[rank] : nullptr;
  return b ? b->arrived.load(std::memory_order_acquire) : 0;
}

bool rank_group::any(std::uint32_t rank, bool mine) {
  bool one = false;
  for (std::string const& said : all_gather(rank, mine ? "1" : "0")) one |= said == "1";
  return one;
}

void rank_group::mean(std::uint32_t rank, executor& x, float* values, std::uint64_t count) {
  parts& p = *parts_;
  parts::member& m = p.members[rank];
  auto const part = [&](std::uint32_t k) { return std::pair(p.begin_of(k, count), p.begin_of(k + 1, count) - p.begin_of(k, count)); };
  auto const [begin, n] = part(rank);
  mean_of_ranks sum{{}, p.ranks, nullptr, 1 / static_cast<float>(p.ranks)};
  if (m.direct) {
    auto const after = [&](event parts::member::*what) {
      for (std::uint32_t k = 0; k < p.ranks; ++k)
        if (k != rank) (p.members[k].*what).before(x);
    };
    m.values = values;
    m.given.record(x);
    p.barrier(rank);
    after(&parts::member::given);
    for (std::uint32_t k = 0; k < p.ranks; ++k) sum.from[k] = p.members[k].values + begin;
    sum.to = values + begin;  // which nobody else reads now
    for_each_item<1>(x, n, sum);
    m.summed.record(x);
    p.barrier(rank);
    after(&parts::member::summed);
    for (std::uint32_t k = 0; k < p.ranks; ++k)
      if (auto const [at, bytes] = part(k); k != rank) x.copy(values + at, p.members[k].values + at, bytes * sizeof(float));
    m.taken.record(x);
    p.barrier(rank);
    after(&parts::member::taken);
    return;
  }
  float* const room = p.own ? m.room.data() : p.my_room;
  if (!p.own && x.on_device() && !m.pinned) m.pinned = pinned_pages(room, count * sizeof(float), x.device());
  auto const of = [&](std::uint32_t k) -> float const* { return p.own ? p.members[k].room.data() : p.rooms[k]; };
  x.copy(room, values, count * sizeof(float));
  x.wait();
  p.barrier(rank);
  executor here(execution_device{});
  for (std::uint32_t k = 0; k < p.ranks; ++k) sum.from[k] = of(k) + begin;
  sum.to = room + begin;
  for_each_item<1>(here, n, sum);
  p.barrier(rank);
  for (std::uint32_t k = 0; k < p.ranks; ++k) {
    auto const [at, some] = part(k);
    x.copy(values + at, of(k) + at, some * sizeof(float));
  }
  x.wait();
  p.barrier(rank);
}

}  // namespace garner

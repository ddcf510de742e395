// Turns requests into reads of drives, and completed reads into completed requests. Invariants: a request completes once, with its first
// error; memory is neither freed nor reused while a drive may still write to it.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/buffer.hpp"
#include "storage/read_counts.hpp"
#include "storage/reader.hpp"

namespace garner {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};
constexpr std::size_t most_parts = 512;        // per read; the system allows 1024 (IOV_MAX)
constexpr unsigned most_tries = 100;           // of a read that fails with EAGAIN, some 0.1 s in all
constexpr std::chrono::milliseconds heed(50);  // interval between checks for an interrupt
constexpr std::chrono::seconds grace(2);       // time that a drive has to complete a cancel

std::uint64_t down(std::uint64_t x, std::uint64_t align) { return x / align * align; }
std::uint64_t up(std::uint64_t x, std::uint64_t align) { return down(x + align - 1, align); }

}  // namespace

struct read_queue::state {
  struct job {  // a request
    std::uint64_t tag = 0;
    std::uint32_t left = 0;  // reads that it waits for
    bool taken_back = false;
    read_done done;
  };
  struct part {  // the part of a request that one read serves
    std::uint32_t job = 0;
    std::byte* to = nullptr;
    std::uint64_t begin = 0, bytes = 0;  // within the read
  };
  struct send {  // one read of one drive
    enum class stage : std::uint8_t { free, waiting, asked, lost };
    stage at = stage::free;
    std::uint32_t drive = 0, generation = 0;   // generation: counts submissions, so that duplicate completions are detected
    std::uint32_t next = none, before = none;  // the next newer and the next older submitted read
    std::uint64_t offset = 0, bytes = 0;       // the range to read
    std::uint64_t needed = 0, done = 0;        // bytes from its begin: needed by the requests, and read so far
    std::int64_t started = -1;                 // time of the first submission; -1: not submitted
    unsigned tries = 0, replicas_tried = 0;
    bool direct = false, bounced = false, expired = false;
    std::vector<part> parts;
    std::vector<::iovec> memory;
    buffer<std::byte> bounce;  // receives unaligned reads before they are copied, and the unneeded bytes of gaps
  };
  struct piece {
    std::uint64_t offset, bytes;
    std::byte* to;
    std::uint32_t job;
  };
  struct lane {  // the queue of one drive
    std::deque<std::uint32_t> pending;
    unsigned under_way = 0;
    std::vector<piece> pieces;
    std::uint32_t offset_align = 1, memory_align = 1;  // replicas: the maximum over all drives, since any may serve a read
  };

  std::shared_ptr<drive_set> drives;
  reader_options options;
  std::uint64_t size;
  std::shared_ptr<reader::shared> home;
  std::shared_ptr<void const> keeper;
  std::shared_ptr<live_counters> count = std::make_shared<live_counters>();
  std::vector<lane> lanes;
  std::deque<send> sends;  // a deque, because sends must not move
  std::vector<job> jobs;
  std::vector<std::uint32_t> free_sends, free_jobs;
  std::uint32_t first = none, last = none;  // reads under way, oldest first
  std::vector<read_done> ready, told;
  std::vector<engine_answer> answers;
  std::size_t open = 0, lost = 0, under_way = 0;  // open: requests; lost, under_way: reads
  bool taking_back = false;
  std::int64_t now = 0;                 // when the current completions were received
  std::unique_ptr<read_engine> engine;  // last, so that it ends before the memory that it may write to

  state(reader& files, std::shared_ptr<void const> memory)
      : drives(files.drives_), options(files.options_), size(files.size_), home(files.shared_), keeper(std::move(memory)) {
    options.depth = files.depth();
    lanes.resize(drives->drives().size());
    for (std::size_t d = 0; d < lanes.size(); ++d) {
      drive_facts const& own = drives->drives()[d];
      bool const any = options.files == arrangement::replicated;
      lanes[d].offset_align = any ? files.offset_align() : own.offset_align;
      lanes[d].memory_align = any ? files.memory_align() : own.memory_align;
    }
    answers.resize(256);
    std::uint64_t const depth = std::min<std::uint64_t>(std::uint64_t{options.depth} * lanes.size(), 1u << 14);
    engine = drives->engine({options.engine, static_cast<unsigned>(depth), options.threads});
    std::lock_guard const hold(home->mutex);
    home->live.push_back(count);
    if (home->engine.empty()) home->engine = engine->about();
  }

  ~state() {
    std::lock_guard const hold(home->mutex);
    count->add_to(home->gone);
    std::erase(home->live, count);
  }

  // --- incoming requests ---

  std::uint32_t take_job() {
    if (free_jobs.empty()) {
      jobs.emplace_back();
      return static_cast<std::uint32_t>(jobs.size() - 1);
    }
    std::uint32_t const j = free_jobs.back();
    free_jobs.pop_back();
    return j;
  }
  std::uint32_t take_send() {
    if (free_sends.empty()) {
      sends.emplace_back();
      return static_cast<std::uint32_t>(sends.size() - 1);
    }
    std::uint32_t const s = free_sends.back();
    free_sends.pop_back();
    return s;
  }

  void cut(std::uint32_t j, std::uint64_t offset, std::uint64_t bytes, std::byte* to) {
    bool const striped = options.files == arrangement::striped && lanes.size() > 1;
    while (bytes) {
      std::uint64_t n = std::min(bytes, options.most_bytes), at = offset;
      std::uint32_t drive = 0;
      if (striped) {
        std::uint64_t const unit = offset / options.unit_bytes, within = offset % options.unit_bytes;
        n = std::min(n, options.unit_bytes - within);
        drive = static_cast<std::uint32_t>(unit % lanes.size());
        at = unit / lanes.size() * options.unit_bytes + within;
      } else if (lanes.size() > 1) {
        drive = static_cast<std::uint32_t>(offset / options.unit_bytes % lanes.size());  // adjacent requests go to the same drive
      }
      lanes[drive].pieces.push_back({options.begin + at, n, to, j});
      ++jobs[j].left;
      offset += n, bytes -= n, to += n;
    }
  }

  void submit(std::span<read_request const> requests) {
    for (read_request const& r : requests)
      if (r.offset > size || r.bytes > size - r.offset)
        fail(errc::usage, "{} bytes at byte {} are requested of {}, which has {}", r.bytes, r.offset,
             lanes.size() == 1 ? drives->drives()[0].name : fmt::format("{} files", lanes.size()), size);
    std::uint64_t asked = 0;
    for (read_request const& r : requests) {
      std::uint32_t const j = take_job();
      jobs[j] = {r.tag, 0, false, {r.tag}};
      asked += r.bytes;
      ++open;
      if (r.bytes) cut(j, r.offset, r.bytes, static_cast<std::byte*>(r.to));
      else tell(j);
    }
    count->requests += requests.size();
    count->bytes_asked += asked;
    now = engine->now();
    for (std::uint32_t d = 0; d < lanes.size(); ++d) join(d);
    pump();
    engine->flush();
  }

  void join(std::uint32_t d) {
    lane& l = lanes[d];
    std::vector<piece>& p = l.pieces;
    auto const by_place = [](piece const& a, piece const& b) { return a.offset < b.offset; };
    if (!std::is_sorted(p.begin(), p.end(), by_place)) std::sort(p.begin(), p.end(), by_place);
    for (std::size_t k = 0; k < p.size();) {
      std::size_t const begin = k;
      std::uint64_t end = p[k].offset + p[k].bytes;
      bool overlap = false;
      for (++k; k < p.size() && k - begin < most_parts; ++k) {
        std::uint64_t const to = std::max(end, p[k].offset + p[k].bytes);
        if (p[k].offset > end + options.gap_bytes || to - p[begin].offset > options.most_bytes) break;
        overlap |= p[k].offset < end;
        end = to;
      }
      if (k - begin > 1) count->joined += k - begin;
      l.pending.push_back(make_send(d, {p.data() + begin, k - begin}, end, overlap));
    }
    p.clear();
  }

  std::uint32_t make_send(std::uint32_t d, std::span<piece const> pieces, std::uint64_t end, bool overlap) {
    lane const& facts = lanes[d];
    std::uint32_t const s = take_send();
    send& it = sends[s];
    it.drive = d;
    it.offset = pieces[0].offset;
    it.bytes = end - it.offset;
    it.at = send::stage::waiting;
    it.done = 0, it.tries = 0, it.replicas_tried = 0, it.started = -1;
    it.expired = false;
    it.direct = drives->takes_direct(d);
    it.bounced = overlap;
    if (it.direct)
      for (piece const& p : pieces)
        it.bounced |= (p.offset | p.bytes) % facts.offset_align || reinterpret_cast<std::uintptr_t>(p.to) % facts.memory_align;
    if (it.bounced && it.direct) {
      it.offset = down(it.offset, facts.offset_align);
      it.bytes = up(end, facts.offset_align) - it.offset;
    }
    it.needed = end - it.offset;
    it.parts.clear();
    for (piece const& p : pieces) it.parts.push_back({p.job, p.to, p.offset - it.offset, p.bytes});
    return s;
  }

  // --- outgoing reads ---

  void describe_memory(send& s) {
    s.memory.clear();
    auto const make_room = [&](std::uint64_t bytes) {
      if (s.bounce.size() < bytes) s.bounce = buffer<std::byte>(tier::host, up(bytes, 4096), -1, "reads that are not aligned, and gaps");
    };
    if (s.bounced) {
      make_room(s.bytes);
      s.memory.push_back({s.bounce.data() + s.done, s.bytes - s.done});
      return;
    }
    std::uint64_t at = s.done;
    for (part const& p : s.parts) {
      if (p.begin + p.bytes <= at) continue;
      if (p.begin > at) {  // the gap before this part
        make_room(options.gap_bytes);
        s.memory.push_back({s.bounce.data(), p.begin - at});
        at = p.begin;
      }
      s.memory.push_back({p.to + (at - p.begin), p.bytes - (at - p.begin)});
      at = p.begin + p.bytes;
    }
  }

  void pump() {
    for (std::uint32_t d = 0; d < lanes.size(); ++d) {
      lane& l = lanes[d];
      while (!l.pending.empty() && l.under_way < options.depth) {
        std::uint32_t const k = l.pending.front();
        send& s = sends[k];
        describe_memory(s);
        engine_read const read{id_of(k, s.generation + 1),
                               d,
                               s.direct,
                               s.offset + s.done,
                               s.bytes - s.done,
                               s.memory.data(),
                               static_cast<std::uint32_t>(s.memory.size())};
        if (!engine->start(read)) return;
        ++s.generation;
        s.at = send::stage::asked;
        l.pending.pop_front();
        ++l.under_way, ++under_way;
        count->reads += 1;
        if (s.started >= 0) continue;
        s.started = now;
        s.before = last, s.next = none;
        (last == none ? first : sends[last].next) = k;
        last = k;
      }
    }
  }

  // --- completions ---

  static std::uint64_t id_of(std::uint32_t k, std::uint32_t generation) { return std::uint64_t{generation} << 32 | k; }

  void give_back(std::uint32_t k) {
    send& s = sends[k];
    if (s.started >= 0) {
      (s.before == none ? first : sends[s.before].next) = s.next;
      (s.next == none ? last : sends[s.next].before) = s.before;
    }
    s.at = send::stage::free;
    free_sends.push_back(k);
  }

  void tell(std::uint32_t j) {
    --open;
    if (!jobs[j].taken_back) {
      if (jobs[j].done.problem) count->failed += 1;
      ready.push_back(jobs[j].done);
    }
    free_jobs.push_back(j);
  }

  void finish_parts(send& s, int problem) {
    for (part const& p : s.parts) {
      job& j = jobs[p.job];
      if (problem && !j.done.problem) j.done = {j.tag, problem, s.drive, s.offset + p.begin, p.bytes};
      if (--j.left == 0) tell(p.job);
    }
  }
  void fail_send(std::uint32_t k, int problem) {
    finish_parts(sends[k], problem);
    give_back(k);
  }

  void ask_again(std::uint32_t k) {
    count->again += 1;
    sends[k].at = send::stage::waiting;
    lanes[sends[k].drive].pending.push_back(k);
  }

  // Reads each part separately, so that an error in one part does not fail the others.
  void ask_apart(std::uint32_t k) {
    std::vector<part> const parts = std::move(sends[k].parts);
    std::uint64_t const offset = sends[k].offset;
    std::uint32_t const d = sends[k].drive;
    give_back(k);
    for (part const& p : parts) {
      piece const alone{offset + p.begin, p.bytes, p.to, p.job};
      lanes[d].pending.push_back(make_send(d, {&alone, 1}, alone.offset + alone.bytes, false));
      count->again += 1;
    }
  }

  void answer(engine_answer const& a) {
    auto const k = static_cast<std::uint32_t>(a.id);
    if (k >= sends.size() || id_of(k, sends[k].generation) != a.id || sends[k].at < send::stage::asked) {
      count->strays += 1;
      return;
    }
    send& s = sends[k];
    if (s.at == send::stage::lost) {  // abandoned: its requests have completed already
      --lost;
      return give_back(k);
    }
    --lanes[s.drive].under_way, --under_way;
    if (a.result > 0) {
      s.done += static_cast<std::uint64_t>(a.result);
      count->bytes_read += static_cast<std::uint64_t>(a.result);
    }
    if (s.done >= s.needed) {
      count->latency[latency_histogram::bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(now - s.started, 0)))] += 1;
      if (s.bounced)
        for (part const& p : s.parts) {
          std::memcpy(p.to, s.bounce.data() + p.begin, p.bytes);
          count->copied_bytes += p.bytes;
        }
      finish_parts(s, 0);
      return give_back(k);
    }
    if (s.expired || taking_back) return fail_send(k, s.expired ? ETIMEDOUT : ECANCELED);
    if (a.result > 0) {  // a short read: submits the rest, which may begin unaligned
      if (s.direct && (s.offset + s.done) % lanes[s.drive].offset_align) s.direct = false;
      return ask_again(k);
    }
    int const problem = a.result < 0 ? static_cast<int>(-a.result) : ENODATA;
    if ((problem == EINTR || problem == EAGAIN) && ++s.tries < most_tries) {
      if (problem == EAGAIN && s.tries > 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return ask_again(k);
    }
    if (problem == EINVAL && s.direct) {  // the file system rejects direct reads after all
      drives->refuse_direct(s.drive);
      s.direct = false;
      return ask_again(k);
    }
    if (s.parts.size() > 1) return ask_apart(k);
    if (options.files == arrangement::replicated && ++s.replicas_tried < lanes.size()) {
      s.drive = (s.drive + 1) % static_cast<std::uint32_t>(lanes.size());
      s.done = 0;
      s.direct &= drives->takes_direct(s.drive);
      return ask_again(k);
    }
    fail_send(k, problem);
  }

  // Processes the completions that have arrived, or waits up to at_most for the first.
  void reap(std::chrono::nanoseconds at_most) {
    for (;;) {
      std::size_t const n = engine->reap(answers, at_most);
      now = engine->now();
      for (std::size_t k = 0; k < n; ++k) answer(answers[k]);
      pump();
      if (n < answers.size()) return;
      at_most = {};
    }
  }

  std::int64_t deadline() const { return static_cast<std::int64_t>(options.deadline_seconds * 1e9); }

  // Cancels reads past their deadline. A read not cancelled within the grace period is abandoned: its requests complete with ETIMEDOUT.
  void expire() {
    if (options.deadline_seconds <= 0) return;
    for (std::uint32_t k = first, younger; k != none; k = younger) {
      send& s = sends[k];
      younger = s.next;
      if (now - s.started < deadline()) return;
      if (s.at == send::stage::lost) continue;
      if (!s.expired) {
        s.expired = true;
        count->expired += 1;
        if (s.at == send::stage::waiting) {
          std::erase(lanes[s.drive].pending, k);
          fail_send(k, ETIMEDOUT);
        } else {
          engine->cancel(id_of(k, s.generation));
        }
      } else if (now - s.started >= deadline() + std::min(deadline(), std::chrono::nanoseconds(grace).count())) {
        lose(s);
      }
    }
  }
  void lose(send& s) {
    s.at = send::stage::lost;
    ++lost;
    --lanes[s.drive].under_way, --under_way;
    finish_parts(s, ETIMEDOUT);
  }

  // --- operations of a queue ---

  std::span<read_done const> wait(std::size_t most, std::size_t wanted) {
    wanted = std::min({wanted, most, open + ready.size()});
    for (bool looked = false; !looked || ready.size() < wanted; looked = true) {
      std::chrono::nanoseconds patience = ready.size() < wanted ? std::chrono::nanoseconds(heed) : std::chrono::nanoseconds(0);
      if (options.deadline_seconds > 0)
        patience = std::min(patience, std::chrono::nanoseconds(std::max<std::int64_t>(deadline() / 4, 1000)));
      reap(patience);
      expire();
      try {
        check_interrupted();
      } catch (...) {
        cancel();
        throw;
      }
    }
    engine->flush();
    std::size_t const n = std::min(most, ready.size());
    told.assign(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(n));
    ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(n));
    return told;
  }

  void cancel() {
    count->cancelled += open + ready.size();
    ready.clear();
    taking_back = true;
    for (job& j : jobs) j.taken_back |= j.left > 0;
    for (lane& l : lanes)
      for (; !l.pending.empty(); l.pending.pop_front()) fail_send(l.pending.front(), ECANCELED);
    for (std::uint32_t k = first; k != none; k = sends[k].next)
      if (sends[k].at == send::stage::asked) engine->cancel(id_of(k, sends[k].generation));
    engine->flush();
    auto const begin = std::chrono::steady_clock::now();
    while (under_way + (keeper ? 0 : lost) > 0) {
      reap(heed);
      if (keeper && std::chrono::steady_clock::now() - begin > grace)
        for (std::uint32_t k = first; k != none; k = sends[k].next)
          if (sends[k].at == send::stage::asked) lose(sends[k]);
    }
    taking_back = false;
  }
};

// Keeps queues that were closed while a drive still had reads of theirs, with the memory that the drive may write to. A queue
// is freed when its reads end. The list itself is never destroyed, because the process exits without waiting for reads.
void read_queue::bury(std::unique_ptr<state> last) {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::list<std::unique_ptr<state>>;
  std::lock_guard const hold(mutex);
  if (last) kept.push_back(std::move(last));
  kept.remove_if([](std::unique_ptr<state> const& s) {
    try {
      s->reap({});
    } catch (...) {  // ignored: the next call tries again
    }
    return s->lost + s->under_way == 0;
  });
}

read_queue::read_queue(reader& files, std::shared_ptr<void const> memory) : state_(std::make_unique<state>(files, std::move(memory))) {
  bury(nullptr);
}
read_queue::~read_queue() { close(); }
void read_queue::close() {
  if (!state_) return;
  try {
    state_->cancel();
  } catch (...) {  // the kernel reports an error: reads under way are left to it
  }
  if (state_->lost + state_->under_way) bury(std::move(state_));
  state_.reset();
}
read_queue::read_queue(read_queue&&) noexcept = default;
read_queue& read_queue::operator=(read_queue&& other) noexcept {
  close();
  state_ = std::move(other.state_);
  return *this;
}
void read_queue::register_memory(void* begin, std::size_t bytes) { state_->engine->register_memory(begin, bytes); }
void read_queue::submit(std::span<read_request const> requests) { state_->submit(requests); }
std::span<read_done const> read_queue::wait(std::size_t most, std::size_t wanted) { return state_->wait(most, wanted); }
void read_queue::cancel() { state_->cancel(); }
std::size_t read_queue::under_way() const { return state_->open + state_->ready.size(); }
std::size_t read_queue::lost() const { return state_->lost; }
std::int64_t read_queue::now() const { return state_->engine->now(); }

}  // namespace garner

#include "core/simulated_device.hpp"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stream_backend.hpp"

namespace garner::simulated_device {

namespace {

constexpr unsigned char poison = 0xfb;
constexpr std::size_t page = 4096;

enum class timing { at_once, late, random };
struct stream_rule {
  timing when = timing::at_once;
  std::uint64_t seed = 0;
};
stream_rule parse_rule(std::string_view text) {
  if (text.empty()) return {};
  if (text == "late") return {timing::late};
  constexpr std::string_view random = "random:";
  stream_rule r{timing::random};
  if (text.starts_with(random)) {
    std::string_view const seed = text.substr(random.size());
    auto const [end, problem] = std::from_chars(seed.data(), seed.data() + seed.size(), r.seed);
    if (!seed.empty() && problem == std::errc() && end == seed.data() + seed.size()) return r;
  }
  fail(errc::usage, "GARNER_STREAMS is '{}'; use late, random:SEED with a whole number as SEED, or unset it", text);
}

struct stream;
struct recorded {
  std::vector<std::function<void()>> tasks;
  std::vector<stream*> streams;
};
// Where an event was recorded.
struct point {
  stream* on = nullptr;
  bool in_recording = false, happened = false;
  std::chrono::steady_clock::time_point at = {};
};
using point_ref = std::shared_ptr<point>;
struct task {
  std::function<void()> run;
  point_ref after;  // null: nothing but those before it in its stream
  std::uint64_t number = 0;
  bool marks = false;  // an event: it happens whatever went wrong before
};
struct stream {
  std::deque<task> queue;
  std::uint64_t running = 0;       // the task's number; 0: none
  bool ended = false;              // freed by its owner; what it was given happens all the same
  std::uint64_t sleeps_until = 0;  // random: a tick
  std::exception_ptr problem;      // its task threw that, or was lost by it
  recorded* into = nullptr;
};
struct event {
  point_ref last;
};

class simulator final : public device::stream_backend {
 public:
  static simulator& instance() {
    static auto* one = new simulator;  // never destroyed: streams may outlive this file
    // Work submitted in the parent does not run in a child by fork, whose copy of the lock may be held.
    static int const told = ::pthread_atfork(nullptr, nullptr, [] { one = new simulator; });
    static_cast<void>(told);
    return *one;
  }

  bool has_streams() {
    std::lock_guard const hold(mutex_);
    if (!chosen_) {
      char const* const text = std::getenv("GARNER_STREAMS");
      rule_ = parse_rule(text ? text : "");
      drawn_ = 0, chosen_ = true;
    }
    return rule_.when != timing::at_once;
  }
  void choose(std::string_view text) {
    std::lock_guard const hold(mutex_);
    if (std::any_of(streams_.begin(), streams_.end(), [](auto const& s) { return !s->ended; }))
      fail(errc::usage, "streams of the simulated device are there; end their executors before another rule is chosen");
    rule_ = parse_rule(text);
    drawn_ = tick_ = 0, chosen_ = true, written_ = 0;
  }

  // --- memory ---
  void* allocate(std::size_t bytes) {
    device::require_unrecorded(device::simulated, bytes);
    void* const at = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (!at) fail(errc::memory, "the simulated device: {} bytes refused by the system; allocate less", bytes);
    std::memset(at, poison, bytes);
    std::lock_guard const hold(mutex_);
    blocks_[static_cast<char*>(at)] = {bytes};
    return at;
  }
  void release(void* at) noexcept {
    // A constructor that fails cannot wait before its members go; a GPU's driver waits as it frees.
    if (std::uncaught_exceptions() > 0) drain();
    std::lock_guard const hold(mutex_);
    auto const found = blocks_.find(static_cast<char*>(at));
    if (found == blocks_.end()) return;
    block& b = found->second;
    std::memset(at, poison, b.bytes);
    b.released = true, b.given = given_;
    (first_released_ ? blocks_.find(last_released_)->second.next : first_released_) = found->first;
    last_released_ = found->first;
    sweep();
  }
  bool owns(void const* at) noexcept {
    std::lock_guard const hold(mutex_);
    auto const behind = blocks_.upper_bound(static_cast<char*>(const_cast<void*>(at)));
    if (behind == blocks_.begin()) return false;
    auto const& [first, b] = *std::prev(behind);
    return !b.released && static_cast<char const*>(at) < first + b.bytes;
  }
  void* allocate_ordered(int, void* s, std::size_t bytes) override {
    {
      std::lock_guard const hold(mutex_);
      known(s);
    }
    return allocate(bytes);
  }
  void release_ordered(int, void* s, void* at) noexcept override {
    give(s, [this, at] { release(at); });
  }

  // --- streams ---
  bool owns(int, void const* at) override { return owns(at); }
  void* make_stream(int, bool) override {
    std::lock_guard const hold(mutex_);
    return streams_.emplace_back(std::make_unique<stream>()).get();
  }
  void free_stream(int, void* s) noexcept override {
    std::lock_guard const hold(mutex_);
    static_cast<stream*>(s)->ended = true;
    forget_ended();
  }
  void give(void* s, std::function<void()> run) {
    std::unique_lock hold(mutex_);
    push(known(s), std::move(run), nullptr);
    shake(hold);
  }
  void drain() noexcept {
    std::unique_lock hold(mutex_);
    for (std::size_t k = 0; k < streams_.size(); ++k)  // which may become fewer
      if (!streams_[k]->into) run_all(hold, *streams_[k]);
  }
  void copy(int, void* s, void* to, void const* from, std::size_t bytes) override {
    give(s, [=] { std::memmove(to, from, bytes); });
  }
  void fill(int, void* s, void* at, int byte, std::size_t bytes) override {
    give(s, [=] { std::memset(at, byte, bytes); });
  }
  void wait(int, void* s) override {
    std::unique_lock hold(mutex_);
    stream& on = known(s);
    if (on.into) refuse_to_wait();
    run_all(hold, on);
    tell(on);
  }
  void wait_all(int) noexcept override { drain(); }

  // --- events ---
  void* make_event(int) override { return new event; }
  void free_event(int, void* e) noexcept override { delete static_cast<event*>(e); }
  void record(int, void* s, void* e) override {
    std::unique_lock hold(mutex_);
    static_cast<event*>(e)->last = mark(known(s));
    shake(hold);
  }
  void wait_event(void* e) override {
    std::unique_lock hold(mutex_);
    point_ref const p = static_cast<event*>(e)->last;
    if (!p) return;
    run_until(hold, p);
    auto const on = std::find_if(streams_.begin(), streams_.end(), [&](auto const& s) { return s.get() == p->on; });
    if (on != streams_.end()) tell(**on);
  }
  bool happened(void* e) override {
    std::unique_lock hold(mutex_);
    point_ref const p = static_cast<event*>(e)->last;
    if (!p) return true;
    require_outside(*p);
    if (p->happened) return true;
    step(hold, p->on);  // a caller that polls gets an answer in the end
    return false;
  }
  void order_after(int, void* s, void* e) override {
    std::unique_lock hold(mutex_);
    stream& on = known(s);
    point_ref const p = static_cast<event*>(e)->last;
    if (!p) return;
    if (p->in_recording) {  // the stream takes part in that recording
      recorded* const into = p->on->into;
      if (!into || (on.into && on.into != into)) fail(errc::device, "a stream waits for an event of a capture that has ended");
      if (!on.into) on.into = into, into->streams.push_back(&on);
      return;
    }
    if (on.into) fail(errc::device, "what is recorded waits for an event from before");
    push(on, {}, p);
    shake(hold);
  }
  double elapsed_ms(void* first, void* last) override {
    std::lock_guard const hold(mutex_);
    point_ref const a = static_cast<event*>(first)->last, b = static_cast<event*>(last)->last;
    if (!a || !b || !a->happened || !b->happened) fail(errc::device, "the time between two events is not known before both have happened");
    return std::chrono::duration<double, std::milli>(b->at - a->at).count();
  }

  // --- capture: a replay runs the tasks in the order of their capture, whatever their streams ---
  void begin_recording(int, void* s) override {
    std::lock_guard const hold(mutex_);
    stream& on = known(s);
    if (on.into) fail(errc::device, "the stream is recorded already");
    on.into = new recorded;
    on.into->streams.push_back(&on);
  }
  void* end_recording(int, void* s, std::uint64_t& parts) override {
    std::lock_guard const hold(mutex_);
    recorded* const r = known(s).into;
    if (!r) fail(errc::device, "the stream is not recorded");
    for (stream* const one : r->streams) one->into = nullptr;
    r->streams.clear();
    parts = r->tasks.size();
    return r;
  }
  void drop_recording(int, void* s) noexcept override {
    std::lock_guard const hold(mutex_);
    recorded* const r = static_cast<stream*>(s)->into;
    if (!r) return;
    for (stream* const one : r->streams) one->into = nullptr;
    delete r;
  }
  void replay(int, void* s, void* of) override {
    give(s, [r = static_cast<recorded*>(of)] {
      for (auto const& run : r->tasks) run();
    });
  }
  void free_recording(int, void* s, void* of) noexcept override {
    std::unique_lock hold(mutex_);
    run_all(hold, *static_cast<stream*>(s));  // it may be under way
    delete static_cast<recorded*>(of);
  }

 private:
  stream& known(void* s) {
    if (std::none_of(streams_.begin(), streams_.end(), [s](auto const& one) { return one.get() == s; }))
      fail(errc::usage, "the stream at {} does not belong to the simulated device; pass no stream, and it uses its own", s);
    return *static_cast<stream*>(s);
  }
  [[noreturn]] static void refuse_to_wait() {
    fail(errc::device, "the host waits for work that is being captured; submit it once before the capture");
  }
  static void require_outside(point const& p) {
    if (p.in_recording) refuse_to_wait();
  }
  void push(stream& s, std::function<void()> run, point_ref after, bool marks = false) {
    if (s.into) {
      if (run) s.into->tasks.push_back(std::move(run));
      return;
    }
    if (s.problem && !marks) run = nullptr;
    s.queue.push_back({std::move(run), std::move(after), given_ + 1, marks});
    ++given_;
  }
  point_ref mark(stream& s) {
    auto p = std::make_shared<point>();
    p->on = &s, p->in_recording = s.into;
    if (!s.into)
      push(
          s,
          [this, p] {
            std::lock_guard const hold(mutex_);
            p->happened = true, p->at = std::chrono::steady_clock::now();
          },
          nullptr, true);
    return p;
  }
  bool ready(stream const& s) const {
    return !s.running && !s.queue.empty() && !(s.queue.front().after && !s.queue.front().after->happened);
  }
  void run_first(std::unique_lock<std::mutex>& hold, stream& s) {
    task t = std::move(s.queue.front());
    s.queue.pop_front();
    s.running = t.number;
    std::exception_ptr problem;
    if (t.run) {
      hold.unlock();
      try {
        interrupts_held const whole;  // as a kernel is
        t.run();
      } catch (...) {
        problem = std::current_exception();
      }
      t.run = nullptr;
      hold.lock();
    }
    s.running = 0;
    if (problem) {  // submitted work is dropped, except events, and each affected stream reports it
      s.problem = problem;
      for (auto const& other : streams_)
        for (task& lost : other->queue)
          if (!lost.marks && lost.run) lost.run = nullptr, other->problem = problem;
    }
    sweep();
    forget_ended();
    changed_.notify_all();
  }
  // The next task of a stream, or of those that it waits for.
  void step(std::unique_lock<std::mutex>& hold, stream* s) {
    while (!s->running && !ready(*s)) s = s->queue.front().after->on;
    if (s->running) return changed_.wait(hold);
    s->sleeps_until = 0;
    run_first(hold, *s);
  }
  void run_until(std::unique_lock<std::mutex>& hold, point_ref const& p) {
    require_outside(*p);
    while (!p->happened) {
      step(hold, p->on);
      shake(hold);
    }
  }
  // All work submitted to s so far; s may end with it.
  void run_all(std::unique_lock<std::mutex>& hold, stream& s) {
    std::uint64_t const last = given_;
    auto const there = [&] { return std::any_of(streams_.begin(), streams_.end(), [&](auto const& one) { return one.get() == &s; }); };
    while (there() && (s.running || (!s.queue.empty() && s.queue.front().number <= last))) {
      step(hold, &s);
      shake(hold);
    }
  }
  // Random: some of what may run does. Behind any task its stream may fall asleep, so that others get ahead of the next by a few tasks or
  // by many: a device's kernels differ as much in length.
  void shake(std::unique_lock<std::mutex>& hold) {
    if (rule_.when != timing::random) return;
    ++tick_;
    auto const may = [&](auto const& s) { return ready(*s) && s->sleeps_until <= tick_; };
    for (std::uint64_t n = draw() % 6; n; --n) {
      auto left = static_cast<std::uint64_t>(std::count_if(streams_.begin(), streams_.end(), may));
      if (left == 0) return;
      left = draw() % left;
      stream& s = **std::find_if(streams_.begin(), streams_.end(), [&](auto const& one) { return may(one) && left-- == 0; });
      if (draw() % 4 == 0) s.sleeps_until = tick_ + (std::uint64_t{4} << 4 * (draw() % 3));
      run_first(hold, s);
    }
  }
  std::uint64_t draw() { return random_bits(rule_.seed, 0, drawn_++); }

  void forget_ended() {
    std::erase_if(streams_, [](auto const& s) { return s->ended && !s->running && s->queue.empty(); });
  }
  // Memory goes when nothing that was given before its release can touch it.
  void sweep() noexcept {
    std::uint64_t first = ~std::uint64_t{0};  // of the tasks that have not run
    for (auto const& s : streams_)
      if (s->running) first = std::min(first, s->running);
      else if (!s->queue.empty()) first = std::min(first, s->queue.front().number);
    while (first_released_) {
      auto const found = blocks_.find(first_released_);
      block const& b = found->second;
      if (b.given >= first) return;
      auto const* const at = reinterpret_cast<unsigned char const*>(found->first);
      if (!written_ && (at[0] != poison || std::memcmp(at, at + 1, b.bytes - 1) != 0)) written_ = b.bytes;
      std::free(std::exchange(first_released_, b.next));
      blocks_.erase(found);
    }
  }
  void tell(stream& s) {
    if (std::exception_ptr const problem = std::exchange(s.problem, nullptr)) std::rethrow_exception(problem);
    if (written_) fail(errc::internal, "{} bytes of the simulated device were written after they were released", written_);
  }

  struct block {
    std::size_t bytes = 0;
    bool released = false;
    std::uint64_t given = 0;  // tasks, when it was released
    char* next = nullptr;     // that was released behind it
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  bool chosen_ = false;
  stream_rule rule_;
  std::uint64_t drawn_ = 0, given_ = 0, tick_ = 0;
  std::vector<std::unique_ptr<stream>> streams_;
  std::map<char*, block> blocks_;
  char *first_released_ = nullptr, *last_released_ = nullptr;
  std::size_t written_ = 0;  // bytes of memory that was written after its release
};

}  // namespace

bool has_streams() { return simulator::instance().has_streams(); }
void choose(std::string_view rule) { simulator::instance().choose(rule); }
void give(void* stream, std::function<void()> task) { simulator::instance().give(stream, std::move(task)); }
void drain() noexcept { simulator::instance().drain(); }
void* allocate(std::size_t bytes) { return simulator::instance().allocate(bytes); }
void release(void* at) noexcept { simulator::instance().release(at); }
bool owns(void const* at) noexcept { return simulator::instance().owns(at); }

}  // namespace garner::simulated_device

namespace garner::device {
stream_backend& simulated_streams() { return simulated_device::simulator::instance(); }
}  // namespace garner::device

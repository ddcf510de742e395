// When a simulated drive answers, and with what.
#include "lab/drives/simulated.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/random.hpp"
#include "memory/buffer.hpp"

namespace garner::lab {

static simulated_drive paced(std::uint64_t size, double latency_us, double requests_a_second, double bytes_a_second) {
  simulated_drive d;
  d.name = fmt::format("a simulated drive of {} us", latency_us), d.size = size;
  d.latency_us = latency_us, d.requests_a_second = requests_a_second, d.bytes_a_second = bytes_a_second;
  return d;
}
simulated_drive optane(std::uint64_t size) { return paced(size, 11, 1.5e6, 6e9); }
simulated_drive samsung_980_pro(std::uint64_t size) { return paced(size, 324, 0.7e6, 7e9); }

simulated_drive holding(std::string const& file, simulated_drive like) {
  input_file const in(file);
  auto const held = std::make_shared<buffer<std::byte>>(tier::host, in.size(), -1, "what a simulated drive holds");
  in.read(held->data(), in.size(), 0);
  like.name = file;
  like.size = in.size();
  like.bytes = [held](std::uint64_t offset, std::uint64_t n, std::byte* to) { std::memcpy(to, held->data() + offset, n); };
  return like;
}

namespace {

enum stream : std::uint64_t { of_latency, of_shortness, of_bit, of_faults };  // of random numbers

// What befalls a read.
struct lot {
  int problem = 0;
  unsigned kinds = 0;  // a bit for each
  std::int64_t late = 0;
  static constexpr unsigned bit(drive_fault::kind k) { return 1u << static_cast<unsigned>(k); }
  bool has(drive_fault::kind k) const { return kinds & bit(k); }
};

struct one {
  simulated_drive facts;
  std::uint64_t seed = 0;
  std::atomic<std::uint64_t> reads{0}, met{0};
  std::atomic<bool> gone{false}, direct{false};
  std::deque<std::atomic<std::uint64_t>> left;  // times of each fault
  bool any_pace = false;
  std::mutex mutex;  // over what paces it
  std::int64_t next_request = 0, link_free = 0;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;  // of the reads that it works on

  double draw(std::uint64_t stream, std::uint64_t serial) const {
    return static_cast<double>(random_bits(seed, stream, serial) >> 11) * 0x1p-53;
  }

  std::int64_t latency(std::uint64_t serial) const {
    double us = facts.latency_us;
    double const u = draw(of_latency, serial);
    if (facts.shape == latency_shape::uniform) us = std::max(facts.least_us, 2 * us * u);
    if (facts.shape == latency_shape::exponential) us = std::max(facts.least_us, facts.least_us - (us - facts.least_us) * std::log1p(-u));
    if (facts.shape == latency_shape::table) us = facts.table_us[static_cast<std::size_t>(u * static_cast<double>(facts.table_us.size()))];
    return static_cast<std::int64_t>(us * 1e3);
  }

  lot fate(engine_read const& r, std::uint64_t serial) {
    lot l;
    for (std::size_t k = 0; k < facts.faults.size(); ++k) {
      drive_fault const& f = facts.faults[k];
      if (r.offset >= f.end || r.offset + r.bytes <= f.begin) continue;
      bool const by_count = f.every && (serial + 1) % f.every == 0;
      if (!by_count && !(f.probability > 0 && draw(of_faults + k, serial) < f.probability)) continue;
      std::uint64_t times = left[k].load();
      while (times && !left[k].compare_exchange_weak(times, times - 1)) {
      }
      if (!times) continue;
      ++met;
      l.kinds |= lot::bit(f.what);
      if (f.what == drive_fault::kind::fails) l.problem = f.problem;
      if (f.what == drive_fault::kind::late) l.late += static_cast<std::int64_t>(f.seconds * 1e9);
    }
    return l;
  }
};

class drives_in_memory final : public simulated_drives {
 public:
  drives_in_memory(std::vector<simulated_drive> drives, simulation const& how) : how_(how) {
    if (drives.empty()) fail(errc::usage, "no drive to simulate; name one or several");
    for (simulated_drive& d : drives) {
      if (d.shape == latency_shape::table && d.table_us.empty()) fail(errc::usage, "{}: a table of latencies that is empty", d.name);
      if (d.offset_align == 0 || d.memory_align == 0) fail(errc::usage, "{}: alignments of 0; use 1 for any", d.name);
      facts_.push_back({d.name, d.size, d.direct, d.direct ? d.offset_align : 1, d.direct ? d.memory_align : 1});
      one& it = drives_.emplace_back();
      for (drive_fault const& f : d.faults) it.left.emplace_back(f.times);
      it.any_pace = !(d.requests_a_second > 0) && !(d.bytes_a_second > 0) && !d.depth && !(how.link_bytes_a_second > 0);
      it.direct = d.direct;
      it.seed = mix(how.seed + drives_.size());
      it.facts = std::move(d);
    }
  }

  std::vector<drive_facts> const& drives() const override { return facts_; }
  unsigned rings() const override { return how_.counted_time ? 1 : drive_set::rings(); }  // each engine counts its own time
  std::unique_ptr<read_engine> engine(engine_options const& options) override;
  void refuse_direct(std::uint32_t drive) override { drives_[drive].direct = false; }
  bool takes_direct(std::uint32_t drive) const override { return drives_[drive].direct.load(std::memory_order_relaxed); }
  void release_stuck() override { released_ = true; }
  std::uint64_t faults_met() const override {
    std::uint64_t all = 0;
    for (one const& d : drives_) all += d.met;
    return all;
  }

  std::int64_t now() const {
    if (how_.counted_time) return clock_.load(std::memory_order_relaxed);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void go_on_to(std::int64_t then) {
    std::int64_t at = clock_.load();
    while (at < then && !clock_.compare_exchange_weak(at, then)) {
    }
  }

  // Time at which a read that is submitted now will complete.
  std::int64_t end_of(one& d, engine_read const& r, std::uint64_t serial, std::int64_t now) {
    std::int64_t const latency = d.latency(serial);
    if (d.any_pace) return now + latency;
    std::lock_guard const hold(d.mutex);
    std::int64_t begin = now;
    if (d.facts.depth && d.ends.size() >= d.facts.depth) {
      begin = std::max(begin, d.ends.top());
      d.ends.pop();
    }
    if (d.facts.requests_a_second > 0) {
      begin = std::max(begin, d.next_request);
      d.next_request = begin + static_cast<std::int64_t>(1e9 / d.facts.requests_a_second);
    }
    std::int64_t end = begin + latency;
    if (d.facts.bytes_a_second > 0) {
      d.link_free = std::max(d.link_free, begin) + static_cast<std::int64_t>(static_cast<double>(r.bytes) * 1e9 / d.facts.bytes_a_second);
      end = std::max(end, d.link_free);
    }
    if (how_.link_bytes_a_second > 0) {
      std::lock_guard const hold_link(link_mutex_);
      link_free_ = std::max(link_free_, begin) + static_cast<std::int64_t>(static_cast<double>(r.bytes) * 1e9 / how_.link_bytes_a_second);
      end = std::max(end, link_free_);
    }
    if (d.facts.depth) d.ends.push(end);
    return end;
  }

  simulation const how_;
  std::deque<one> drives_;  // which does not move them
  std::vector<drive_facts> facts_;
  std::atomic<bool> released_{false};
  std::atomic<std::int64_t> clock_{0};
  std::mutex link_mutex_;
  std::int64_t link_free_ = 0;
};

class simulated_engine final : public read_engine {
 public:
  explicit simulated_engine(drives_in_memory& drives) : all_(drives) {}

  bool start(engine_read const& r) override {
    one& d = all_.drives_[r.drive];
    std::uint64_t const serial = d.reads.fetch_add(1, std::memory_order_relaxed);
    lot const l = d.facts.faults.empty() ? lot{} : d.fate(r, serial);
    if (l.has(kind::vanishes)) d.gone = true;
    if (started_at_ < 0) started_at_ = all_.now();  // reads that are started together are submitted at once
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(reads_.size()));
      reads_.emplace_back();
    }
    std::uint32_t const slot = free_.back();
    free_.pop_back();
    reads_[slot] = {serial, r, l};
    bool const silent = l.has(kind::never) || l.has(kind::stuck);
    under_way_.push_back({silent ? never : all_.end_of(d, r, serial, started_at_) + l.late, order_++, slot});
    std::push_heap(under_way_.begin(), under_way_.end(), later);
    return true;
  }
  void flush() override { started_at_ = -1; }

  std::size_t reap(std::span<engine_answer> out, std::chrono::nanoseconds at_most) override {
    started_at_ = -1;
    release();
    std::size_t n = take(out);
    if (n || at_most.count() <= 0) return n;
    std::int64_t const until = all_.now() + at_most.count();
    std::int64_t const next = under_way_.empty() ? never : under_way_.front().end;
    std::int64_t const then = std::min(until, next);
    if (all_.how_.counted_time) {
      all_.go_on_to(then);
    } else {
      constexpr std::int64_t exact = 60'000;  // what a sleep may take too long
      if (std::int64_t const wait = then - all_.now() - exact; wait > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait));
      while (all_.now() < then) std::this_thread::yield();
    }
    release();
    return take(out);
  }

  void cancel(std::uint64_t id) override {
    for (turn& t : under_way_)
      if (read& r = reads_[t.slot]; r.asked.id == id && !r.fate.has(kind::stuck)) {
        t.end = 0;
        r.fate.problem = ECANCELED;
        std::make_heap(under_way_.begin(), under_way_.end(), later);
        return;
      }
  }

  std::int64_t now() const override { return all_.now(); }
  std::string about() const override { return all_.how_.counted_time ? "simulated in counted time" : "simulated"; }

 private:
  static constexpr std::int64_t never = INT64_MAX;
  using kind = drive_fault::kind;
  struct read {
    std::uint64_t serial = 0;
    engine_read asked;
    lot fate;
  };
  struct turn {
    std::int64_t end;
    std::uint64_t order;
    std::uint32_t slot;
  };
  static bool later(turn const& a, turn const& b) { return a.end != b.end ? a.end > b.end : a.order > b.order; }

  void release() {
    if (!all_.released_.load(std::memory_order_relaxed)) return;
    for (turn& t : under_way_)
      if (lot& l = reads_[t.slot].fate; l.has(kind::stuck)) t.end = 0, l.kinds &= ~lot::bit(kind::stuck);
    std::make_heap(under_way_.begin(), under_way_.end(), later);
  }

  std::size_t take(std::span<engine_answer> out) {
    std::size_t n = 0;
    for (; !again_.empty() && n < out.size(); again_.pop_back()) out[n++] = again_.back();
    if (under_way_.empty()) return n;
    std::int64_t const now = all_.now();
    while (n < out.size() && !under_way_.empty() && under_way_.front().end <= now) {
      std::pop_heap(under_way_.begin(), under_way_.end(), later);
      read const& r = reads_[under_way_.back().slot];
      free_.push_back(under_way_.back().slot);
      under_way_.pop_back();
      out[n++] = {r.asked.id, answer(r)};
      if (r.fate.has(kind::twice)) again_.push_back(out[n - 1]);  // with the next ones, when its place may be another read's
    }
    return n;
  }

  std::int64_t answer(read const& r) {
    one& d = all_.drives_[r.asked.drive];
    if (r.fate.problem) return -r.fate.problem;
    if (d.gone) return -ENODEV;
    engine_read const& a = r.asked;
    if (a.direct) {
      bool fits = a.offset % d.facts.offset_align == 0;
      for (std::uint32_t k = 0; k < a.count; ++k)
        fits &= a.parts[k].iov_len % d.facts.offset_align == 0 &&
                reinterpret_cast<std::uintptr_t>(a.parts[k].iov_base) % d.facts.memory_align == 0;
      if (!fits) return -EINVAL;
    }
    if (a.offset >= d.facts.size) return 0;
    std::uint64_t given = std::min(a.bytes, d.facts.size - a.offset);
    if (r.fate.has(kind::short_read) && given > 1) given = 1 + random_bits(d.seed, of_shortness, r.serial) % (given - 1);
    std::uint64_t done = 0;
    for (std::uint32_t k = 0; k < a.count && done < given; ++k) {
      std::uint64_t const n = std::min<std::uint64_t>(a.parts[k].iov_len, given - done);
      auto* const to = static_cast<std::byte*>(a.parts[k].iov_base);
      if (d.facts.bytes) d.facts.bytes(a.offset + done, n, to);
      else std::memset(to, 0, n);
      done += n;
    }
    if (r.fate.has(kind::wrong_bit)) {
      std::uint64_t bit = random_bits(d.seed, of_bit, r.serial) % (given * 8);
      for (std::uint32_t k = 0; k < a.count; ++k) {
        std::uint64_t const bits = a.parts[k].iov_len * 8;
        if (bit < bits) {
          static_cast<std::byte*>(a.parts[k].iov_base)[bit / 8] ^= std::byte{1} << bit % 8;
          break;
        }
        bit -= bits;
      }
    }
    return static_cast<std::int64_t>(given);
  }

  drives_in_memory& all_;
  std::vector<read> reads_;
  std::vector<std::uint32_t> free_;
  std::vector<turn> under_way_;  // a heap, what ends first in front
  std::int64_t started_at_ = -1;
  std::uint64_t order_ = 0;
  std::vector<engine_answer> again_;
};

std::unique_ptr<read_engine> drives_in_memory::engine(engine_options const&) { return std::make_unique<simulated_engine>(*this); }

}  // namespace

std::shared_ptr<simulated_drives> simulate(std::vector<simulated_drive> drives, simulation const& how) {
  return std::make_shared<drives_in_memory>(std::move(drives), how);
}

}  // namespace garner::lab

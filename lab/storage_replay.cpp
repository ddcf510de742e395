#include "lab/storage_replay.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

#include "cli/command/made_rows.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "features/stored_rows.hpp"
#include "memory/budget.hpp"
#include "memory/buffer.hpp"

namespace garner::lab {

namespace {

constexpr std::uint64_t unit_bytes = 64 << 10;  // of a stripe
constexpr std::uint64_t whole = 3, every = 8;   // mini-batches whose rows are all compared; in the others, every 8th row
constexpr std::size_t most_merged = 64;

// One of several drives, with its stripes of the table that make_rows() would write, computed on the fly.
simulated_drive holding_made_rows(simulated_drive like, std::uint64_t k, std::uint64_t drives, std::uint64_t bytes) {
  std::uint64_t const units = (bytes + unit_bytes - 1) / unit_bytes;
  like.size = (units + drives - 1) / drives * unit_bytes;
  like.bytes = [k, drives](std::uint64_t offset, std::uint64_t n, std::byte* to) {
    for (std::uint64_t done = 0; done < n;) {
      std::uint64_t const at = offset + done, in_unit = at % unit_bytes, from = (at / unit_bytes * drives + k) * unit_bytes + in_unit;
      std::uint64_t const some = std::min(n - done, unit_bytes - in_unit);
      for (std::uint64_t b = 0; b < some;) {
        std::uint64_t const word = mix((from + b) / 8) >> (from + b) % 8 * 8, part = std::min(8 - (from + b) % 8, some - b);
        std::memcpy(to + done + b, &word, part);
        b += part;
      }
      done += some;
    }
  };
  return like;
}

class player {
 public:
  player(std::span<std::vector<std::uint64_t> const> trace, replay_terms const& t)
      : trace_(trace), t_(t), plan_(t.slots, t.policy, t.scores) {
    if (t.row_bytes == 0 || t.row_bytes % 8) fail(errc::usage, "rows of {} bytes: use a multiple of 8", t.row_bytes);
    bool const keeps = t.order != read_order::faults;
    std::uint64_t const bytes = (keeps ? t.slots : 1) * t.row_bytes, room = host_memory_now().free();
    if (bytes > room / 2)
      fail(errc::memory, "a cache of {} rows takes more than half of the {} of host memory that are free; use smaller mini-batches",
           t.slots, format_bytes(room));
    slots_ = {tier::host, bytes, -1, "rows of a simulated drive"};
    std::uint64_t const table = (t.rows * t.row_bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
    std::vector<simulated_drive> drives;
    for (std::uint32_t k = 0; k < t.drives; ++k) drives.push_back(holding_made_rows(t.drive, k, t.drives, table));
    simulation how;
    how.counted_time = true, how.link_bytes_a_second = t.link_gbs * 1e9;
    reader_options o;
    o.unit_bytes = unit_bytes, o.size = table, o.depth = t.depth;
    if (t.order != read_order::ahead) o.gap_bytes = 0, o.most_bytes = t.row_bytes;  // one request per row
    file_ = plain_stored_rows("a simulated table", simulate(std::move(drives), how), o, 0, t.rows, t.row_bytes);
    reads_ = file_->reads({});
    clock_.emplace(file_->files());
    run_.metadata_bytes = plan_.metadata_bytes();
    run_.gather_ms.resize(trace.size()), seen_.resize(trace.size());
  }

  replay_run play() {
    if (t_.warmed_up) {
      for (; entered_ < trace_.size(); ++entered_) plan_.enter(lacking(entered_)), plan_.next();
      entered_ = 0, first_number_ = trace_.size();
    }
    if (t_.order == read_order::ahead) ahead();
    else in_turn();
    // Timing begins and ends at a group of mini-batches that are read together.
    begins_.push_back(used_);
    auto first = std::lower_bound(begins_.begin(), begins_.end(), t_.warm), last = std::upper_bound(first, begins_.end(), counted());
    if (last - first < 2) first = begins_.begin(), last = begins_.end();
    std::uint64_t const from = *first, n = *std::prev(last);
    run_.from = from, run_.timed = n - from;
    run_.ms = (done_[n - 1] - (from ? done_[from - 1] : 0)) / static_cast<double>(run_.timed);
    double read_ms = 0;
    for (std::uint64_t k = from; k < n; ++k) {
      seen const& s = seen_[k];
      run_.accesses += s.accesses, run_.hits += s.hits, run_.resident += s.resident, run_.reads += s.reads;
      read_ms += s.read_ms, run_.copy_ms += s.copy_ms;
    }
    run_.read_ms = read_ms / static_cast<double>(run_.timed), run_.copy_ms /= static_cast<double>(run_.timed);
    return std::move(run_);
  }

 private:
  struct batch {
    cache_plan::step step;
    std::vector<row_reads::want> wants;
    std::vector<std::uint64_t> after;
    std::uint64_t sent = 0, left = 0, resident = 0;
  };

  std::uint64_t counted() const { return trace_.size() - std::min<std::uint64_t>(t_.tail, trace_.size() - 1); }

  struct seen {  // of a mini-batch
    std::uint64_t accesses = 0, hits = 0, resident = 0, reads = 0;
    double read_ms = 0, copy_ms = 0;
  };

  double now() const { return static_cast<double>(clock_->now()) * 1e-6 + idle_; }  // ms
  void pass(double ms) { idle_ += std::max(0.0, ms); }
  double link_ms(std::uint64_t rows) const { return t_.link_gbs > 0 ? static_cast<double>(rows * t_.row_bytes) / t_.link_gbs / 1e6 : 0; }

  std::vector<std::uint64_t> lacking(std::uint64_t k) const {
    if (!t_.resident) return trace_[k];
    std::vector<std::uint64_t> ids;
    for (std::uint64_t const id : trace_[k])
      if (!(*t_.resident)[id]) ids.push_back(id);
    return ids;
  }
  void enter_one() {
    std::vector<std::uint64_t> ids = lacking(entered_);
    ids_.push_back(ids);
    plan_.enter(std::move(ids));
    ++entered_;
  }
  void plan_one() {
    batch& b = batches_.emplace_back();
    b.step = plan_.next();
    std::uint64_t const k = planned_++;
    b.left = b.step.loads.size();
    b.resident = trace_[k].size() - ids_[k - used_].size();
    seen& s = seen_[k];
    s.accesses = trace_[k].size(), s.hits = b.step.hits, s.resident = b.resident, s.reads = b.left;
    // Submits what can be read at once, by position; the rest once slots become free, as in file_cache.
    auto& loads = b.step.loads;
    auto const rest = std::partition(loads.begin(), loads.end(), [&](cache_plan::load const& l) { return free(l.after); });
    std::sort(loads.begin(), rest, [](auto const& p, auto const& q) { return p.id < q.id; });
    std::sort(rest, loads.end(), [](auto const& p, auto const& q) { return p.after != q.after ? p.after < q.after : p.id < q.id; });
    for (cache_plan::load const& l : loads) {
      char* const at = reinterpret_cast<char*>(slots_.data()) + (t_.order == read_order::faults ? 0 : l.slot * t_.row_bytes);
      b.wants.push_back({l.id, at, k, l.slot});
      b.after.push_back(l.after);
    }
  }
  // Whether the slot whose row this mini-batch used last may be overwritten.
  bool free(std::uint64_t after) const { return after == cache_plan::nobody || after < first_number_ + used_; }

  void send() {
    for (batch& b : batches_) {
      if (b.sent == b.wants.size()) continue;
      if (!reads_->takes(b.wants.size() - b.sent)) return;
      std::size_t const room = t_.order == read_order::faults ? (reads_->under_way() ? 0 : 1) : reads_->room();
      some_.clear();
      for (; b.sent < b.wants.size() && some_.size() < room && free(b.after[b.sent]); ++b.sent) some_.push_back(b.wants[b.sent]);
      if (!some_.empty()) reads_->submit(some_);
      if (b.sent < b.wants.size()) return;
    }
  }
  void wait() {
    double const before = now();
    for (row_reads::done const& d : reads_->wait(1)) {
      if (d.problem) throw *d.problem;
      --batches_[d.group - used_].left;
      if (t_.order == read_order::faults) compare(d.row, reinterpret_cast<char const*>(slots_.data()));
    }
    seen_[used_].read_ms += now() - before;
  }
  void compare(std::uint64_t id, char const* at) {
    if (auto const wrong = cli::wrong_byte(id, at, t_.row_bytes))
      fail(errc::internal, "row {} came wrong from a simulated drive, from byte {} on", id, *wrong);
    ++run_.compared;
  }
  // The next mini-batch has its rows: checks them, and frees its slots.
  void use() {
    batch const& b = batches_.front();
    std::vector<std::uint64_t> const& ids = ids_.front();
    if (t_.order != read_order::faults)
      for (std::uint64_t i = 0; i < ids.size(); i += used_ < whole ? 1 : every)
        compare(ids[i], reinterpret_cast<char const*>(slots_.data()) + b.step.slots[i] * t_.row_bytes);
    batches_.pop_front(), ids_.pop_front();
    ++used_;
  }

  void in_turn() {
    std::uint64_t const n = trace_.size();
    while (used_ < counted()) {
      std::uint64_t asked = 0, members = 0, resident = 0;
      begins_.push_back(used_);
      do {
        pass(t_.sample_ms);
        while (entered_ < n && entered_ <= planned_ + t_.window) enter_one();
        plan_one();
        asked += batches_.back().left, resident += batches_.back().resident;
        ++members;
      } while (asked < t_.merge_reads && planned_ < n && members < most_merged);
      double const begun = now();
      for (send(); reads_->under_way(); send()) wait();
      if (double const crossed = link_ms(asked + (t_.resident_at_host ? resident : 0)); t_.order == read_order::on_demand)
        pass(begun + crossed - now());
      double const each = (now() - begun) / static_cast<double>(members);
      for (std::uint64_t m = 0; m < members; ++m) {
        double const due = now();
        while (batches_.front().left) send(), wait();  // rows whose slots the previous mini-batch used
        if (t_.order == read_order::faults) {
          double const copy = link_ms(trace_[used_].size());
          pass(copy);
          seen_[used_].copy_ms += copy;
        }
        run_.gather_ms[used_] = each + (now() - due);
        use();
        pass(t_.model_ms);
        done_.push_back(now());
      }
    }
  }

  // A mini-batch is planned once the window after it is known. After the last one the sampler continues with empty ones, so that the end
  // of the trace is as fast as its middle.
  void ahead() {
    std::uint64_t const n = trace_.size(), window = t_.window, reach = 2 * window + 1;  // mini-batches sampled ahead
    std::vector<double> sampled, gathered;
    auto const sampled_at = [&] {
      std::uint64_t const k = sampled.size();
      return std::max(k ? sampled[k - 1] : 0.0, k > reach ? gathered[k - reach - 1] : 0.0) + t_.sample_ms;
    };
    auto const samples = [&] { return sampled.size() < n + window && sampled.size() <= used_ + reach; };
    auto const room_at = [&] { return used_ >= 2 ? done_[used_ - 2] : 0.0; };  // of the ring: one is in the model, one is ready
    while (used_ < counted()) {
      while (samples() && sampled_at() <= now()) {
        sampled.push_back(sampled_at());
        if (entered_ < n) enter_one();
        if (sampled.size() > planned_ + window) plan_one();
      }
      send();
      bool const loaded = !batches_.empty() && batches_.front().left == 0;
      if (loaded && room_at() <= now()) {
        double const at = now(), before = used_ ? gathered.back() : 0;
        run_.gather_ms[used_] = at - before;
        gathered.push_back(at);
        begins_.push_back(used_);
        done_.push_back(std::max(at, used_ ? done_.back() : 0.0) + t_.model_ms);
        use();
        continue;
      }
      if (reads_->under_way()) {
        wait();
        continue;
      }
      double next = samples() ? sampled_at() : 1e300;
      if (loaded) next = std::min(next, room_at());
      if (next > 1e299) fail(errc::internal, "a replay that waits for nothing, at mini-batch {}", used_);
      pass(next - now());
    }
  }

  std::span<std::vector<std::uint64_t> const> trace_;
  replay_terms const& t_;
  cache_plan plan_;
  buffer<std::byte> slots_;
  std::shared_ptr<stored_rows const> file_;
  std::unique_ptr<row_reads> reads_;
  std::optional<read_queue> clock_;
  double idle_ = 0;                             // ms without reads in flight
  std::deque<std::vector<std::uint64_t>> ids_;  // of entered mini-batches, from used_ on
  std::deque<batch> batches_;                   // planned, from used_ on
  std::uint64_t entered_ = 0, planned_ = 0, used_ = 0;
  std::uint64_t first_number_ = 0;  // of the plan's, when the first mini-batch is planned
  std::vector<row_reads::want> some_;
  std::vector<double> done_;           // when each mini-batch left the model, ms
  std::vector<std::uint64_t> begins_;  // mini-batches that were not merged with the previous one
  std::vector<seen> seen_;
  replay_run run_;
};

}  // namespace

replay_run replay(std::span<std::vector<std::uint64_t> const> trace, replay_terms const& terms) {
  if (trace.empty()) fail(errc::usage, "a training without mini-batches");
  return player(trace, terms).play();
}

// The choice of row is irrelevant, only its mini-batch counts.
std::vector<std::uint64_t> possible_hits(std::span<std::vector<std::uint64_t> const> trace, std::uint64_t slots, std::uint64_t reach) {
  std::uint64_t const n = trace.size();
  std::unordered_map<std::uint64_t, std::uint64_t> next_use;  // for later mini-batches: the first that has the row
  std::vector<std::vector<std::uint64_t>> for_later(n);       // per mini-batch, the next uses of its rows within reach
  for (std::uint64_t b = n; b-- > 0;)
    for (std::uint64_t const id : trace[b]) {
      auto const [at, first] = next_use.try_emplace(id, b);
      if (!first && at->second - b <= reach) for_later[b].push_back(at->second);
      at->second = b;
    }
  std::vector<std::uint64_t> kept(n), hits;  // kept: per mini-batch
  std::uint64_t all = 0, last = 0;
  for (std::uint64_t b = 0; b < n; ++b) {
    std::uint64_t const rows = trace[b].size();
    if (rows > slots) fail(errc::usage, "a mini-batch of {} rows, and a cache holds {}", rows, slots);
    all -= kept[b];
    for (; all + rows > slots; --last) {
      std::uint64_t const gone = std::min(kept[last], all + rows - slots);
      kept[last] -= gone, all -= gone;
      if (all + rows <= slots) break;
    }
    hits.push_back(kept[b]);
    for (std::uint64_t const use : for_later[b]) ++kept[use], ++all, last = std::max(last, use);
  }
  return hits;
}

std::vector<std::vector<std::uint64_t>> pages_of(std::span<std::vector<std::uint64_t> const> trace, std::uint64_t row_bytes,
                                                 std::uint64_t page_bytes) {
  std::vector<std::vector<std::uint64_t>> all;
  for (auto const& ids : trace) {
    auto& pages = all.emplace_back();
    for (std::uint64_t const id : ids)
      for (std::uint64_t p = id * row_bytes / page_bytes; p <= ((id + 1) * row_bytes - 1) / page_bytes; ++p) pages.push_back(p);
    std::sort(pages.begin(), pages.end());
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  }
  return all;
}

}  // namespace garner::lab

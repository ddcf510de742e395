// The loader. A thread samples groups of mini-batches ahead, lets the prefetch window fetch their missing rows,
// gathers each mini-batch into the buffers of a ring slot, and delivers it. While group A is delivered, group B is
// sampled and its rows are fetched, and group C is submitted to the sampler. Sampler, window and gathers have one
// stream each. If a table stays in a file, the thread of its cache reads the rows of B and already knows C, so D is
// submitted to the sampler. The loader's thread waits for counts and for the caller. The caller waits only for a
// mini-batch that is not ready. A mini_batch is the lease (core/lease.hpp) of a ring slot, with one reader per stream:
// use_on() orders a stream behind the event of the slot's rows, and release records the last use by each stream.
// Invariants: mini-batches are delivered in order. Buffers of a mini-batch are neither overwritten nor freed before
// its holder releases it and the work on its streams completes. An error is reported after all mini-batches before it.
// Cost: the rows of `ahead` + 1 mini-batches in the ring, the sampler's results of two groups, and the window.
#include "garner/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>

#include "core/clock.hpp"
#include "core/device.hpp"
#include "core/event.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "features/file_cache.hpp"
#include "features/page_cache.hpp"
#include "features/window.hpp"
#include "graph/handle.hpp"
#include "load/plan.hpp"
#include "memory/budget.hpp"
#include "sample/blocks.hpp"
#include "sample/order.hpp"

namespace garner {

namespace {

constexpr std::uint32_t most_ahead = 64;

struct load_core;

// The fetch of one group's rows, with its times.
struct fetch_span {
  event begun, done;
  double ms = 0, began = 0;  // measured by the host's clock, if the device has none
  row_window::group_run run;
  std::uint64_t row_bytes = 0;
};

}  // namespace

// A slot of the ring.
struct mini_batch::parts {
  batch_times times;
  std::optional<std::size_t> times_at;  // index in the report's times, which keep the first mini-batches; none: not kept
  double gather_began = 0;              // by the host's clock
  std::uint64_t epoch = 0, index = 0, seeds = 0;
  std::unique_ptr<sampled_subgraph> drawn;
  std::shared_ptr<epoch_order const> order;
  std::int64_t const* positions = nullptr;
  std::vector<memory_block> rooms;
  std::vector<mini_batch::rows> rows;
  event begun, ready;
  // Streams that read the mini-batch, each with its last use. The first `readers` of them belong to the current or last holder.
  struct reader {
    void* stream = nullptr;
    event done;
  };
  std::vector<reader> streams;
  std::size_t readers = 0;
  int device = -1;
  buffer<std::uint64_t> counts, counts_here;  // rows per table and tier
  bool handed = false, told = true;           // handed to the caller; already counted in the report
  std::mutex telling;
  std::vector<std::shared_ptr<fetch_span>> fetched;
  double gather_ms = 0, file_waited_ms = 0;
  std::vector<file_rows::figures> of_files;  // one per table
  std::weak_ptr<load_core> home;

  // Orders the stream behind the arrival of the rows. Without a stream, or on the host, waits for them.
  void use_on(void* stream) {
    if (!stream || device == -1) return ready.wait();
    // CUDA's per-thread default stream (2) differs between threads, and another thread may release
    // the mini-batch. So the legacy default stream (1) replaces it, which waits for all others.
    if (stream == reinterpret_cast<void*>(2)) stream = reinterpret_cast<void*>(1);
    auto const known = std::span(streams).first(readers);
    if (std::any_of(known.begin(), known.end(), [&](reader const& r) { return r.stream == stream; })) return;
    ready.before(stream);
    if (readers == streams.size()) streams.emplace_back();
    streams[readers++].stream = stream;
  }
  template <class Use>
  void each_use(Use use) {
    for (reader& r : std::span(streams).first(readers)) use(r);
  }
  parts() = default;
  parts(parts const&) = delete;
  ~parts() {  // waits here, because the loader may have been destroyed first
    each_use([](reader& r) {
      try {
        r.done.wait();
      } catch (...) {  // the device is lost, or the process was forked
      }
    });
  }
};

namespace {

// State that the thread, the loader and the mini-batches held by callers share.
struct load_core {
  pid_t const process = ::getpid();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<mini_batch::parts>> ready;  // null: the end of an epoch
  std::vector<std::shared_ptr<mini_batch::parts>> idle;
  std::vector<std::unique_ptr<sampled_subgraph>> idle_blocks;
  std::vector<std::shared_ptr<mini_batch::parts>> all;
  std::exception_ptr error;
  bool stop = false;
  std::uint64_t asked_epochs = 1;  // number of epochs that may begin
  load_report report;
  steady::time_point begun = steady::now(), made = steady::now();
};

}  // namespace

mini_batch::mini_batch() = default;
mini_batch::~mini_batch() { release(); }
mini_batch::mini_batch(mini_batch&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
mini_batch& mini_batch::operator=(mini_batch&& other) noexcept {
  if (this != &other) release(), taken_ = std::exchange(other.taken_, nullptr);
  return *this;
}
void mini_batch::release() noexcept {
  if (!taken_) return;
  try {
    taken_->each_use([&](parts::reader& r) { r.done.record(taken_->device, r.stream); });
    // A forked child does not return its copy: the parent's thread may have held the lock during the fork.
    if (auto const home = taken_->home.lock(); home && home->process == ::getpid()) {
      std::lock_guard const hold(home->mutex);
      home->idle.push_back(taken_);
      home->changed.notify_all();
    }
  } catch (...) {  // the device is lost: the next wait reports it
  }
  taken_ = nullptr;
}
namespace {
mini_batch::parts const& held(std::shared_ptr<mini_batch::parts> const& taken) {
  if (!taken) fail(errc::usage, "this mini-batch was given back; use the one that next() returned last");
  return *taken;
}
}  // namespace
std::uint64_t mini_batch::epoch() const { return held(taken_).epoch; }
std::uint64_t mini_batch::index() const { return held(taken_).index; }
std::uint64_t mini_batch::seeds() const { return held(taken_).seeds; }
sampled_subgraph const& mini_batch::subgraph() const { return *held(taken_).drawn; }
std::int64_t const* mini_batch::positions() const { return held(taken_).positions; }
mini_batch::rows const& mini_batch::of_table(std::size_t k) const {
  auto const& rows = held(taken_).rows;
  if (k >= rows.size()) fail(errc::usage, "table {} of a mini-batch with {}", k, rows.size());
  return rows[k];
}
void mini_batch::use_on(stream_ref stream) {
  held(taken_);
  as_error([&] { taken_->use_on(stream.get()); });
}

struct loader::impl {
  block_sampler& sampler;
  std::vector<loaded_table> tables;
  loader_options o;
  std::vector<std::int64_t> times;
  executor x;  // runs the gathers
  buffer<std::int64_t> seeds;
  std::uint64_t seed_count = 0, fingerprint = 0;
  std::uint64_t share = 0, a_epoch = 0;  // seeds and mini-batches of an epoch, as of its start
  // An epoch defined by the caller. It is replaced while the thread is stopped, and extended under the lock.
  struct owned {
    std::deque<own_batch> batches;            // addresses stay valid as it grows; all are kept for resume()
    std::vector<std::uint64_t> fingerprints;  // element k: of the batches before batch k; the last: of all
    std::uint64_t draws = 0;
    bool ended = false;
  };
  std::optional<owned> own;
  std::vector<std::optional<tier>> tier_of;          // one per table: the tier of all its rows; none: several tiers
  std::vector<std::unique_ptr<row_window>> windows;  // one per table; null: no window
  std::vector<std::unique_ptr<file_rows>> caches;    // one per table; null: its rows do not stay in a file
  std::shared_ptr<load_core> core = std::make_shared<load_core>();
  std::jthread thread;
  bool from_files = false;
  std::atomic<std::uint32_t> window{0};  // mini-batches per group; the thread may change it once
  std::atomic<std::uint64_t> used{0};    // bytes_now(), as the thread last computed it
  bool chooses_window = false;
  std::uint64_t epoch = 0, next_index = 0;  // the next mini-batch to hand over
  bool at_end = false;                      // the epoch has ended: next() begins another
  event made;                               // zero of the device's clock; core->made is that of the host's

  // `own_alone`: the loader has no seeds of its own, and the caller defines every epoch.
  impl(block_sampler& s, std::vector<loaded_table> t, std::vector<std::int64_t> const& from, loader_options const& options,
       std::vector<std::int64_t> at_times, bool own_alone = false)
      : sampler(s), tables(std::move(t)), o(options), times(std::move(at_times)), x(executor(s.device()), executor::urgent{}) {
    chooses_window = o.window == 0;
    if (chooses_window) o.window = first_window;
    check_options();
    check_tables();
    if (own_alone) {
      own = owned{{}, {}, 0, true};  // no epoch is open
    } else {
      check(from);
      seed_count = from.size();
      count_epoch();
      if (a_epoch == 0)
        fail(errc::input, "{} seeds per rank do not fill one mini-batch of {}, and drop_last leaves smaller ones out; use a smaller batch",
             share, o.batch_size);
      seeds = near(from);
    }
    fingerprint = s.inside().fingerprint;
    auto const note = [&](std::uint64_t value) { fingerprint = with(fingerprint, value); };
    for (std::uint64_t const k : {o.batch_size, std::uint64_t{o.shuffle}, std::uint64_t{o.drop_last}, o.seed, std::uint64_t{o.seed_type},
                                  std::uint64_t{o.rank}, std::uint64_t{o.ranks}, seed_count})
      note(k);
    for (std::int64_t const k : from) note(static_cast<std::uint64_t>(k));
    std::uint64_t merge_reads = o.merge_reads;
    for (loaded_table const& table : tables) {
      std::shared_ptr<stored_rows const> const file = tensor_access::file(*table.table);
      if (!file || table.table->tiers()[tier::file] == 0 || table.seeds_only || table.by) continue;
      if (o.merge_share > 0) merge_reads = std::max(merge_reads, required_requests(file->measured(), o.merge_share));
      if (file->stored_bytes() >= worth_measuring)
        o.window = std::max(o.window, look_ahead(file->measured(), static_cast<double>(o.batch_size), batch_list::most));
    }
    for (loaded_table const& table : tables) {
      row_view const& view = tensor_access::view(*table.table);
      std::shared_ptr<stored_rows const> const file = tensor_access::file(*table.table);
      bool const ahead = !table.seeds_only && !table.by;  // its rows can be requested ahead
      rows_by_tier const tiers = table.table->tiers();
      tier_of.emplace_back();
      for (std::size_t t = 0; t < tier_count; ++t)
        if (tiers[static_cast<tier>(t)] == table.table->rows()) tier_of.back() = static_cast<tier>(t);
      caches.push_back(nullptr);
      if (file && view.kept() < view.rows && ahead) {
        std::uint64_t const host_bytes = tensor_access::file_cache_bytes(*table.table);
        std::uint64_t const device_bytes = x.on_device() ? window_bytes() : o.window_bytes.value_or(0);
        std::span<float const> const factors = tensor_access::host_factors(*table.table);
        if (o.reads == reads_by::kernels)
          caches.back() = std::make_unique<page_cache>(x.where(), file, view, page_cache::terms{host_bytes, device_bytes, factors, {}});
        else
          caches.back() = std::make_unique<file_cache>(x.where(), file, view,
                                                       file_cache::terms{host_bytes, device_bytes, o.cache, merge_reads, o.window,
                                                                         tensor_access::file_scores(*table.table), factors});
      }
      bool const far = x.where().kind != device_kind::cpu && view.kept() < view.rows && view.row_bytes > 0 && ahead && !file;
      windows.push_back(far && (o.strategy == load_strategy::window || o.strategy == load_strategy::automatic)
                            ? std::make_unique<row_window>(x.where(), view, table.table->kind(), window_bytes(), o.multiprocessors)
                            : nullptr);
    }
    auto const none = [](auto const& all) { return std::none_of(all.begin(), all.end(), [](auto const& w) { return w != nullptr; }); };
    from_files = !none(caches);
    bool const waits = !none(windows) || (x.where().kind != device_kind::cpu && sampler.inside().far());
    if (!waits && !from_files) o.window = std::min(o.window, near_window(x.asynchronous()));
    chooses_window &= waits;
    window = o.window;
    made.record(x);
    x.wait();
    core->made = steady::now();
  }
  ~impl() {
    try {
      halt();
    } catch (...) {  // the loader is destroyed in any case
    }
  }

  static std::uint64_t with(std::uint64_t fingerprint, std::uint64_t value) {
    return mix(fingerprint + 0x9e3779b97f4a7c15ull) ^ mix(value + 1);
  }
  buffer<std::int64_t> near(std::vector<std::int64_t> const& from) {
    buffer<std::int64_t> to(x.near(), from.size(), x.device(), "seeds");
    x.copy(to.data(), from.data(), to.bytes());
    x.wait();
    return to;
  }
  void count_epoch() {
    share = (seed_count + o.ranks - 1) / o.ranks;
    a_epoch = o.drop_last ? share / o.batch_size : (share + o.batch_size - 1) / o.batch_size;
  }

  double since_made() const { return ms_since(core->made); }
  batch_times::stage stage_of(event const& begin, event const& end, double began, double ms) const {
    if (!x.asynchronous()) return {began, began + ms};
    return {made.ms_until(begin), made.ms_until(end)};
  }

  // Called by the thread, which owns everything counted here, or before the thread starts.
  std::uint64_t bytes_now() const {
    std::uint64_t n = sampler.bytes() + seeds.bytes();
    for (auto const& w : windows) n += w ? w->bytes() : 0;
    for (auto const& r : core->all)
      for (memory_block const& b : r->rooms) n += b.bytes();
    for (auto const& c : caches)
      if (c) n += c->near_bytes() + (x.on_device() ? 0 : c->bytes());  // on a device, only device memory counts
    return n;
  }
  std::uint64_t window_bytes() const {
    if (o.window_bytes) return *o.window_bytes;
    if (!x.on_device()) return 1u << 30;  // simulated
    return most_on_device(x.device()) / 4;
  }
  double free_near() const {
    constexpr std::uint64_t most_of_host = std::uint64_t{4} << 30;
    return static_cast<double>(x.on_device() ? left_on_device(x.device())
                                             : std::min({host_budget().left(), host_memory_now().free(), most_of_host}));
  }
  void check_ids(std::vector<std::int64_t> const& from, std::uint32_t type) const {
    std::uint64_t const n = sampler.vertices(type);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (static_cast<std::uint64_t>(from[i]) >= n) fail_id("seed {} at position {}: there are {} vertices, counted from 0", from[i], i, n);
  }
  static void check_times(std::vector<std::int64_t> const& at, std::size_t count) {
    if (!at.empty() && at.size() != count) fail(errc::input, "{} times for {} seeds; give each one", at.size(), count);
  }
  void check_options() const {
    if (o.batch_size < 1 || o.batch_size > 1u << 24) fail(errc::usage, "mini-batches of {} seeds: use 1 to 16,777,216", o.batch_size);
    if (o.prefetch < 1 || o.prefetch > most_ahead) fail(errc::usage, "{} mini-batches ahead: use 1 to {}", o.prefetch, most_ahead);
    if (o.window < 1 || o.window > batch_list::most)
      fail(errc::usage, "a window of {} mini-batches: use 1 to {}", o.window, batch_list::most);
    if (!(o.merge_share >= 0 && o.merge_share < 1))
      fail(errc::usage, "mini-batches merged for {} of a drive's rate: use 0 or more, and less than 1", o.merge_share);
    if (o.ranks < 1 || o.rank >= o.ranks) fail(errc::usage, "rank {} of {}: ranks count from 0", o.rank, o.ranks);
  }
  void check(std::vector<std::int64_t> const& from) const {
    if (from.empty()) fail(errc::input, "the training set is empty; name at least one vertex");
    check_times(times, from.size());
    check_ids(from, o.seed_type);
    std::vector<bool> seen(sampler.vertices(o.seed_type));
    for (std::size_t i = 0; i < from.size(); ++i) {
      auto const v = static_cast<std::size_t>(from[i]);
      if (seen[v]) fail(errc::input, "seed {} at position {} stands there twice; name each vertex once", from[i], i);
      seen[v] = true;
    }
  }
  void check_tables() const {
    for (std::size_t k = 0; k < tables.size(); ++k) {
      loaded_table const& t = tables[k];
      if (!t.table) fail(errc::usage, "table {} is missing", k);
      if (t.relation) {
        std::uint64_t const edges = sampler.inside().edges(*t.relation);
        if (!t.by && t.table->rows() < edges)
          fail(errc::input, "table {} has {} rows, and there are {} edges of its type; give each edge one row", k, t.table->rows(), edges);
        auto const numbers = [&](tiered_tensor const& by) { return by.row_bytes() == 4 || by.row_bytes() == 8; };
        if (t.by && (*t.by >= k || tables[*t.by].relation != t.relation || !numbers(*tables[*t.by].table)))
          fail(errc::usage, "table {} is by table {}; give one before it, with a whole number of 4 or 8 bytes for each edge of its type", k,
               *t.by);
      } else {
        std::uint64_t const vertices = sampler.vertices(t.seeds_only ? o.seed_type : t.type);
        if (t.by) fail(errc::usage, "table {} is by table {}, which is of edges alone; use its relation", k, *t.by);
        if (t.table->rows() < vertices)
          fail(errc::input, "table {} has {} rows, and there are {} vertices of its type; give each vertex one row", k, t.table->rows(),
               vertices);
      }
      if (!(t.table->device() == sampler.device()))
        fail(errc::usage, "table {} is gathered on {} and the sampler works on {}; give both the same device", k,
             to_string(t.table->device()), to_string(sampler.device()));
      tensor_access::written(*t.table, t.to);
    }
  }

  // --- the thread ---
  struct job {
    std::shared_ptr<epoch_order const> order;  // null: the caller defined the epoch
    own_batch const* own = nullptr;            // seeds of the caller's epoch
    std::uint64_t epoch = 0, index = 0, first = 0, count = 0;
    std::unique_ptr<sampled_subgraph> drawn;
    bool ends = false;                                 // last of its epoch
    std::vector<std::shared_ptr<fetch_span>> fetched;  // one per table, in the group's first mini-batch
    double began = 0, ended = 0;                       // in the first: when sampling of the group was submitted, by the host's clock
    batch_times::stage sampled{};
    bool asked_for = false;  // in the first: fetch() has seen the group
  };
  struct group : std::vector<job> {
    std::vector<lease<row_view>> rows;  // one per table; empty: no window
  };

  void halt() {
    {
      std::lock_guard const hold(core->mutex);
      core->stop = true;
      core->changed.notify_all();
    }
    if (thread.joinable()) thread.join();
    std::exception_ptr problem;  // of one cache; the others must still forget their mini-batches
    for (auto const& c : caches)
      if (c) try {
          c->reset();
        } catch (...) {
          problem = std::current_exception();
        }
    std::lock_guard const hold(core->mutex);
    for (; !core->ready.empty(); core->ready.pop_front())
      if (auto const& r = core->ready.front()) core->idle.push_back(r);
    if (problem) std::rethrow_exception(problem);
  }
  void launch() {
    if (thread.joinable()) return;
    {
      std::lock_guard const hold(core->mutex);
      core->stop = false, core->error = nullptr, core->asked_epochs = 1;
    }
    used = bytes_now();
    thread = std::jthread([this, from = epoch, index = next_index] { work(from, index); });
  }
  bool stopped() {
    std::lock_guard const hold(core->mutex);
    return core->stop;
  }

  // Yields mini-batches from (epoch, index) on, in groups. Until the caller starts an epoch, next() waits if `waits`, else returns nothing.
  struct plan {
    impl& l;
    std::uint64_t epoch, index, begun = 0;
    std::shared_ptr<epoch_order const> order;

    group next(bool waits) {
      group g;
      if (l.own) {
        std::unique_lock hold(l.core->mutex);
        auto const& batches = l.own->batches;
        bool const& ended = l.own->ended;
        auto const some = [&](std::uint64_t n) { return batches.size() >= index + n || ended; };
        if (waits) l.core->changed.wait(hold, [&] { return l.core->stop || some(1); });
        if (l.core->stop || !some(waits ? 1 : l.window.load())) return g;
        for (; g.size() < l.window && index < batches.size(); ++index) {
          job& j = g.emplace_back();
          j.own = &batches[index], j.epoch = epoch, j.index = index;
          for (own_seeds const& s : *j.own) j.count += s.seeds.size();
        }
        return g;
      }
      if (!order || index == l.a_epoch) {
        // On a device, the next epoch's first mini-batches are prepared before this epoch ends.
        // On the host, preparing them would take the threads that the caller computes on.
        std::unique_lock hold(l.core->mutex);
        auto const may = [&] { return begun < l.core->asked_epochs + (l.x.asynchronous() ? 1 : 0); };
        if (waits) l.core->changed.wait(hold, [&] { return l.core->stop || may(); });
        if (l.core->stop || !may()) return g;
        hold.unlock();
        if (order) ++epoch, index = 0;
        ++begun;
        order = std::make_shared<epoch_order const>(order_of_epoch(l.x, l.seeds.span(), l.o.shuffle, l.o.seed, epoch, l.o.rank, l.o.ranks));
      }
      for (; g.size() < l.window && index < l.a_epoch; ++index) {
        std::uint64_t const first = index * l.o.batch_size;
        g.push_back({order, nullptr, epoch, index, first, std::min(l.o.batch_size, l.share - first), nullptr, index + 1 == l.a_epoch, {}});
      }
      return g;
    }
  };

  void work(std::uint64_t from, std::uint64_t index) {
    std::list<group> sampled;   // first: being handed over; second: being fetched; third: known to the file caches
    group given;                // submitted to the sampler
    std::exception_ptr failed;  // error of a later group: reported after all mini-batches before it
    try {
      plan p{*this, from, index, 0, nullptr};
      auto const attempt = [&](auto const& stages) {
        if (failed) return false;
        try {
          stages();
          return true;
        } catch (...) {
          failed = std::current_exception();
          return false;
        }
      };
      auto const sample_next = [&] {
        if (!attempt([&] { given = p.next(false), sample(given); })) drop(given);
        if (given.empty()) tell_caches_the_end();
      };
      auto const prepare = [&] {
        while (!given.empty() && sampled.size() < (from_files ? 3u : 2u)) {
          if (!attempt([&] { finish(given), enter(given); })) drop(given);
          if (given.empty()) break;
          sampled.push_back(std::move(given));
          given.clear();
          sample_next();
        }
        if (sampled.size() > 1 && !attempt([&] { fetch(*std::next(sampled.begin())); }))
          for (; sampled.size() > 1; sampled.pop_back()) drop(sampled.back());
      };
      while (!stopped()) {
        if (sampled.empty()) {
          if (failed) std::rethrow_exception(failed);
          group& a = sampled.emplace_back(p.next(true));
          sample(a), finish(a), enter(a), fetch(a), choose(a);
          if (a.empty()) {
            std::lock_guard const hold(core->mutex);
            if (!core->stop) core->ready.push_back(nullptr);  // the caller's epoch has ended
            core->changed.notify_all();
            break;
          }
          sample_next();
        }
        bool const at_once = !window_full();
        if (from_files && at_once) prepare();  // the file caches then know the later groups when they read for the first
        group& first = sampled.front();
        for (std::size_t i = 0; i < first.size(); ++i) {
          if (!hand_over(first[i], first)) break;
          if (i == 0 && at_once) prepare();
          if (own && given.empty()) sample_next();  // the caller may have added mini-batches meanwhile
        }
        first.rows.clear();  // all of its gathers have been submitted
        if (stopped()) break;
        if (!at_once || sampled.size() < 2) prepare();  // keeps the order of groups submitted meanwhile
        sampled.pop_front();
      }
    } catch (...) {
      std::lock_guard const hold(core->mutex);
      core->error = std::current_exception();
      core->changed.notify_all();
    }
    for (group& g : sampled) drop(g);
    drop(given);
    try {
      x.wait();
      for (auto const& w : windows)
        if (w) w->at().wait();
    } catch (...) {  // already reported above
    }
  }
  void enter(group& g) {
    for (job& j : g)
      for (std::size_t k = 0; k < tables.size(); ++k)
        if (caches[k]) caches[k]->enter(x, ids_of(j, k));
  }
  void tell_caches_the_end() {
    for (auto const& c : caches)
      if (c) c->end();
  }

  void drop(group& g) {
    for (job& j : g)
      if (j.drawn) {
        sampler.inside().discard(j.drawn->inside());
        std::lock_guard const hold(core->mutex);
        try {
          core->idle_blocks.push_back(std::move(j.drawn));
        } catch (std::bad_alloc const&) {  // freed instead of reused
        }
      }
    g.clear(), g.rows.clear();
  }
  void sample(group& g) {
    std::vector<sampled_subgraph::parts*> together;
    for (job& j : g) {
      {
        std::lock_guard const hold(core->mutex);
        if (!core->idle_blocks.empty()) j.drawn = std::move(core->idle_blocks.back()), core->idle_blocks.pop_back();
      }
      if (!j.drawn) j.drawn = std::make_unique<sampled_subgraph>();
      together.push_back(&j.drawn->inside());
      if (j.own) {
        std::vector<typed_seeds> some;
        for (own_seeds const& s : *j.own) some.push_back({s.type, s.seeds, s.times});
        sampler.inside().prepare(j.drawn->inside(), own->draws + j.index, some, false);
        continue;
      }
      std::vector<std::int64_t> at;
      if (!times.empty()) {
        at.resize(j.count);
        std::vector<std::int64_t> positions(j.count);
        x.copy(positions.data(), j.order->positions.data() + j.first, j.count * 8);
        x.wait();
        for (std::uint64_t i = 0; i < j.count; ++i) at[i] = times[static_cast<std::size_t>(positions[i])];
      }
      typed_seeds const seeds{o.seed_type, {j.order->ids.data() + j.first, j.count}, at};
      sampler.inside().prepare(j.drawn->inside(), j.epoch * a_epoch + j.index, {&seeds, 1}, at.empty());
    }
    double const began = since_made();
    sampler.inside().give(together);
    if (!g.empty()) g.front().began = began, g.front().ended = since_made();
  }
  void finish(group& g) {
    for (job& j : g) sampler.inside().finish(j.drawn->inside());
    if (g.empty() || !o.keep_times) return;
    job& first = g.front();
    first.sampled = stage_of(first.drawn->inside().begun, g.back().drawn->inside().done, first.began, first.ended - first.began);
  }
  id_span ids_of(job const& j, std::size_t table) const {
    loaded_table const& t = tables[table];
    if (t.relation) {
      auto const& e = j.drawn->inside().relations[*t.relation].seen;
      return {e.edge, e.count, 8};
    }
    auto const& v = j.drawn->inside().types[t.seeds_only ? o.seed_type : t.type].seen;
    std::uint64_t seeds = j.count;
    if (j.own) {
      auto const mine = std::find_if(j.own->begin(), j.own->end(), [&](own_seeds const& s) { return s.type == o.seed_type; });
      seeds = mine == j.own->end() ? 0 : mine->seeds.size();
    }
    return {v.ids, t.seeds_only ? seeds : v.count, 8};
  }
  // Chooses the size of later groups from what the first one sampled and fetched.
  void choose(group const& g) {
    if (g.empty() || !std::exchange(chooses_window, false)) return;
    double vertices = 0, edges = 0, rows = 0, brought = 0;
    for (job const& j : g) {
      double all = 0, drawn = 0;
      for (auto const& t : j.drawn->inside().types) all += static_cast<double>(t.seen.count);
      for (auto const& e : j.drawn->inside().relations) drawn += static_cast<double>(e.seen.count);
      vertices = std::max(vertices, all), edges = std::max(edges, drawn);
    }
    for (std::size_t k = 0; k < tables.size(); ++k) {
      if (!windows[k]) continue;
      double most = 0;
      for (job const& j : g) most = std::max(most, static_cast<double>(ids_of(j, k).size()));
      row_window::group_run const& run = g.front().fetched[k]->run;
      rows += most;
      brought += static_cast<double>((run.fetched + run.left_far) * tables[k].table->row_bytes()) / static_cast<double>(g.size());
    }
    auto const most = static_cast<double>(window_bytes()) * static_cast<double>(tables.size());
    window =
        std::max(choose_window(need_of_window(sampler.inside().bytes_each(), vertices, edges, rows, brought, most), free_near()), o.window);
  }
  bool window_full() const {
    return std::any_of(windows.begin(), windows.end(), [](auto const& w) { return w && w->full(); });
  }
  void fetch(group& g) {
    if (g.empty() || std::exchange(g.front().asked_for, true)) return;
    g.front().fetched.resize(tables.size()), g.rows.resize(tables.size());
    for (std::size_t k = 0; k < tables.size(); ++k) {
      if (!windows[k]) continue;
      row_window& w = *windows[k];
      std::vector<id_span> ids;
      for (job const& j : g) ids.push_back(ids_of(j, k));
      auto const clock = steady::now();
      auto const span = std::make_shared<fetch_span>();
      span->began = since_made();
      span->begun.record(w.at());
      auto [run, rows] = w.fetch(ids);
      span->done.record(w.at());
      span->ms = ms_since(clock);
      g.front().fetched[k] = span;
      g.rows[k] = std::move(rows);
      span->run = run, span->row_bytes = tables[k].table->row_bytes();
    }
  }
  // Returns false if the loader is stopping.
  bool hand_over(job& j, group& of) {
    std::shared_ptr<mini_batch::parts> r;
    auto const clock = steady::now();
    {
      std::unique_lock hold(core->mutex);
      // At most `prefetch` mini-batches are ready, in addition to those that the caller holds.
      core->changed.wait(hold, [&] { return core->stop || core->ready.size() < o.prefetch; });
      if (core->stop) return false;
      core->report.loader_waited_ms += ms_since(clock);
      if (!core->idle.empty()) r = core->idle.front(), core->idle.erase(core->idle.begin());
      else core->all.push_back(r = std::make_shared<mini_batch::parts>()), r->home = core;
    }
    bool filled = false;
    auto const back = [&] {
      std::lock_guard const hold(core->mutex);
      core->idle.push_back(r);
    };
    try {
      filled = fill(*r, j, of);
    } catch (...) {
      back();
      throw;
    }
    if (!filled) return back(), false;
    used = bytes_now();
    std::lock_guard const hold(core->mutex);
    core->ready.push_back(r);
    if (j.ends) core->ready.push_back(nullptr);
    core->changed.notify_all();
    return true;
  }
  bool counts_rows() const {
    for (std::size_t k = 0; k < tables.size(); ++k)
      if (!tier_of[k] && !tables[k].seeds_only) return true;
    return false;
  }
  // Returns false if the loader is stopping.
  bool fill(mini_batch::parts& r, job& j, group& of) {
    r.each_use([&](auto& use) { use.done.before(x); });
    tell(r);
    if (r.drawn) {
      // The sampler may overwrite the subgraph only after the work of its last holder.
      r.each_use([&](auto& use) { use.done.before(sampler.inside().at()); });
      std::lock_guard const hold(core->mutex);
      core->idle_blocks.push_back(std::move(r.drawn));
    }
    r.device = x.device();
    r.rooms.resize(tables.size()), r.rows.resize(tables.size());
    r.of_files.assign(tables.size(), {});
    r.file_waited_ms = 0;
    if (r.counts.empty()) {
      std::uint64_t const n = tier_count * tables.size();
      r.counts_here = {tier::host, n, x.device(), "hits of a mini-batch"};
      r.counts = {x.near(), n, x.device(), "hits of a mini-batch"};  // allocated last and tested: an interrupt may come before
    }
    for (auto& rows : of.rows)
      if (rows) rows.use(x);
    x.let_go();
    auto const clock = steady::now();
    r.gather_began = since_made();
    r.begun.record(x);
    if (counts_rows()) x.fill(r.counts.data(), 0, r.counts.bytes());
    for (std::size_t k = 0; k < tables.size(); ++k) {
      loaded_table const& t = tables[k];
      id_span ids = ids_of(j, k);
      if (t.by) ids = {r.rooms[*t.by].data(), ids.size(), static_cast<std::uint32_t>(r.rows[*t.by].row_bytes)};
      element const to = tensor_access::written(*t.table, t.to);
      std::uint64_t const row_bytes = t.table->width() * bytes_of(to), bytes = ids.size() * row_bytes;
      grow(x, r.rooms[k], bytes, bytes + bytes / 8, "rows of a mini-batch");  // orders x behind all readers of the old contents
      r.rows[k] = {r.rooms[k].data(), ids.size(), row_bytes, to};
      if (ids.size() == 0 && !caches[k]) continue;
      if (!t.seeds_only && !tier_of[k]) {
        batch_list one;
        one.add(ids, nullptr);
        count_hits(x, tensor_access::view(*t.table), one, r.counts.data() + k * tier_count);
      }
      tensor_access::require_peers(*t.table);
      if (windows[k] || caches[k]) {
        gather_how how;
        how.strategy = gather_strategy::aligned, how.kind = t.table->kind(), how.to = to;
        how.scales = to != how.kind && how.kind == element::i8 ? tensor_access::scales(*t.table) : nullptr;
        gather_from(x, windows[k] ? of.rows[k].use(x) : tensor_access::view(*t.table), ids, r.rooms[k].data(), how);
        if (!caches[k]) continue;
        if (!caches[k]->gather(
                x, r.rooms[k].data(), how, [&] { return stopped(); }, r.of_files[k]))
          return false;
        r.file_waited_ms += r.of_files[k].waited_ms;
        continue;
      }
      gather_options how;
      how.to = t.to;
      how.stream = stream_ref::of_address(x.stream());
      if (o.strategy == load_strategy::staged) how.strategy = gather_strategy::staged;
      if (o.strategy == load_strategy::zero_copy)
        how.strategy = gather_strategy::shifted, how.order = gather_order::none, how.duplicates = gather_duplicates::repeat;
      t.table->gather(ids, {r.rooms[k].data(), r.rooms[k].bytes()}, how);
    }
    if (counts_rows()) x.copy(r.counts_here.data(), r.counts.data(), r.counts.bytes());
    r.ready.record(x);
    r.gather_ms = ms_since(clock);
    r.epoch = j.epoch, r.index = j.index, r.seeds = j.count;
    if (r.order != j.order) x.keep(std::exchange(r.order, j.order));  // readers use its positions until then
    r.positions = j.order ? j.order->positions.data() + j.first : nullptr;
    r.drawn = std::move(j.drawn);
    r.fetched = std::move(j.fetched);
    r.times = {r.epoch, r.index, j.sampled, {}, {}, 0};
    std::lock_guard const hold(core->mutex);
    r.handed = r.told = false, r.times_at.reset();
    return true;
  }
  // Adds the costs of a mini-batch that was handed over to the report, once its work has completed.
  void tell(mini_batch::parts& r) {
    std::lock_guard const one(r.telling);  // keeps the figures of r until they are summed; other mini-batches need not wait
    {
      std::lock_guard const hold(core->mutex);
      if (!r.handed || r.told) return;
    }
    r.ready.wait();
    for (auto const& f : r.fetched)
      if (f) f->done.wait();
    std::lock_guard const hold(core->mutex);
    if (std::exchange(r.told, true)) return;
    load_report& all = core->report;
    sampled_subgraph::parts const& b = r.drawn->inside();
    all.sample_ms += b.ms;
    for (auto const& t : b.types) all.nodes += t.seen.count;
    for (auto const& e : b.relations) all.edges += e.seen.count;
    all.gather_ms += x.asynchronous() ? r.begun.ms_until(r.ready) : r.gather_ms;
    for (auto const& f : r.fetched) {
      if (!f) continue;
      all.fetch_ms += x.asynchronous() ? f->begun.ms_until(f->done) : f->ms;
      all.window_rows += f->run.far - f->run.fetched - f->run.left_far, all.fetched_rows += f->run.fetched;
      all.remote_bytes += (f->run.fetched + f->run.left_far) * f->row_bytes;
    }
    for (std::size_t k = 0; k < tables.size(); ++k) {
      std::array<std::uint64_t, tier_count> rows{};
      if (tables[k].seeds_only) continue;
      if (tier_of[k]) rows[static_cast<std::size_t>(*tier_of[k])] = r.rows[k].count;
      else std::copy_n(r.counts_here.data() + k * tier_count, tier_count, rows.data());
      for (std::size_t t = 0; t < tier_count; ++t) all.rows[static_cast<tier>(t)] += rows[t];
      std::uint64_t const row_bytes = tables[k].table->row_bytes();
      if (!windows[k] && x.where().kind != device_kind::cpu)
        all.remote_bytes += (rows[static_cast<std::size_t>(tier::host)] + rows[static_cast<std::size_t>(tier::file)]) * row_bytes;
      all.file_hits += r.of_files[k].hits, all.file_reads += r.of_files[k].reads, all.file_bytes += r.of_files[k].bytes;
    }
    all.file_waited_ms += r.file_waited_ms;
    if (!r.times_at) return;
    r.times.gather = stage_of(r.begun, r.ready, r.gather_began, r.gather_ms);
    for (auto const& f : r.fetched)
      if (f) r.times.fetch = stage_of(f->begun, f->done, f->began, f->ms);
    all.times[*r.times_at] = r.times;
  }

  // --- the caller ---
  std::optional<mini_batch> next(stream_ref stream) {
    if (at_end && own) return {};
    if (std::exchange(at_end, false)) {
      ++epoch, next_index = 0;
      std::lock_guard const hold(core->mutex);
      ++core->asked_epochs;
      core->changed.notify_all();
    }
    if (next_index == 0) {
      std::lock_guard const hold(core->mutex);
      core->begun = steady::now();
    }
    if (own) {
      std::lock_guard const hold(core->mutex);
      if (!own->ended && next_index == own->batches.size())
        fail(errc::usage, "all {} mini-batches that were given have been handed over; give() another, or end() the epoch", next_index);
    }
    if (next_index == batches() && !thread.joinable()) {  // stopped after the last mini-batch, or never started
      at_end = true;
      return {};
    }
    launch();
    std::shared_ptr<mini_batch::parts> r;
    auto const clock = steady::now();
    {
      std::unique_lock hold(core->mutex);
      while (core->ready.empty() && !core->error) {
        core->changed.wait_for(hold, std::chrono::milliseconds(50));
        if (core->ready.empty() && !core->error) hold.unlock(), check_interrupted(), hold.lock();
      }
      core->report.caller_waited_ms += ms_since(clock);
      if (core->ready.empty()) {
        std::exception_ptr const error = std::exchange(core->error, nullptr);
        hold.unlock();
        halt();
        try {
          std::rethrow_exception(error);
        } catch (garner::error const& e) {  // ignores an interrupt that the caller has handled since
          if (e.code() != errc::interrupted || interrupt_requested()) throw;
        }
        return next(stream);
      }
      r = core->ready.front();
      if (r) {
        hold.unlock();
        come(*r, stream);
        hold.lock();
        r->times.handed = since_made();
        if (auto& times = core->report.times; times.size() < o.keep_times) {
          r->times_at = times.size();
          times.push_back(r->times);  // the other times follow once the work has completed
        }
      }
      core->ready.pop_front();  // nothing below may fail: the mini-batch would be lost
      core->changed.notify_all();
      if (!r) {
        at_end = true;
        return {};
      }
      next_index = r->index + 1;
      r->handed = true;
      ++core->report.batches, core->report.seeds += r->seeds;
      core->report.ms = ms_since(core->begun);
    }
    mini_batch b;
    b.taken_ = r;
    return b;
  }
  // Makes the rows available, on the stream or at once. Rows of a peer that ended while they were read are invalid: this throws.
  void come(mini_batch::parts& r, stream_ref stream) {
    try {
      r.readers = 0;
      r.use_on(stream.get());
      for (loaded_table const& t : tables) tensor_access::require_peers(*t.table);
    } catch (...) {
      halt();
      throw;
    }
  }
  std::uint64_t batches() const {
    std::lock_guard const hold(core->mutex);
    return own ? own->batches.size() : a_epoch;
  }
  // The fingerprint of what defines the mini-batches before `next`.
  std::uint64_t fingerprint_at(std::uint64_t next) const {
    std::lock_guard const hold(core->mutex);
    return own && !own->fingerprints.empty() ? own->fingerprints[std::min<std::uint64_t>(next, own->batches.size())] : fingerprint;
  }
  void open(std::uint64_t e, std::uint64_t draws) {
    halt();
    own = owned{{}, {with(fingerprint, draws)}, draws, false};
    begin(e, 0);
  }
  void give(own_batch&& seeds) {
    for (own_seeds const& s : seeds) check_ids(s.seeds, s.type), check_times(s.times, s.seeds.size());
    std::lock_guard const hold(core->mutex);
    if (!own || own->ended) fail(errc::usage, "no epoch is open for a mini-batch of the caller's own; open() one");
    std::uint64_t print = own->fingerprints.back();
    for (own_seeds const& of : seeds) {
      print = with(with(print, of.type), of.seeds.size());
      for (std::int64_t const k : of.seeds) print = with(print, static_cast<std::uint64_t>(k));
    }
    own->fingerprints.push_back(print);
    try {
      own->batches.push_back(std::move(seeds));
    } catch (...) {
      own->fingerprints.pop_back();
      throw;
    }
    core->changed.notify_all();
  }
  void end() {
    std::lock_guard const hold(core->mutex);
    if (!own) fail(errc::usage, "no epoch is open that could end; open() one");
    own->ended = true;
    core->changed.notify_all();
  }
  void begin(std::uint64_t e, std::uint64_t index) {
    halt();
    epoch = e, next_index = index, at_end = false;
    begin_report();
  }
  void begin_report() {
    std::lock_guard const hold(core->mutex);
    for (auto const& r : core->all)
      if (r->handed) r->told = true;  // the new report leaves out earlier mini-batches
    core->report = {};
    core->begun = steady::now();
  }
};

loader::loader(block_sampler& sampler, std::vector<loaded_table> tables, std::vector<std::int64_t> seeds, loader_options const& options,
               std::vector<std::int64_t> times)
    : impl_(as_error([&] { return std::make_unique<impl>(sampler, std::move(tables), seeds, options, std::move(times)); })) {}
loader::loader(std::unique_ptr<impl> made) : impl_(std::move(made)) {}
loader::~loader() = default;
loader::loader(loader&&) noexcept = default;
loader& loader::operator=(loader&&) noexcept = default;
loader loader::of_own(block_sampler& sampler, std::vector<loaded_table> tables, loader_options const& options) {
  using ids = std::vector<std::int64_t>;
  return loader(as_error([&] { return std::make_unique<impl>(sampler, std::move(tables), ids{}, options, ids{}, true); }));
}
std::uint64_t loader::batches() const { return impl_->batches(); }
std::uint32_t loader::window() const { return impl_->window; }
void loader::begin(std::uint64_t epoch) {
  as_error([&] {
    if (impl_->seed_count == 0) fail(errc::usage, "this loader has no seeds of its own; open() an epoch and give() its mini-batches");
    impl_->halt();
    impl_->own.reset();
    impl_->begin(epoch, 0);
  });
}
void loader::open(std::uint64_t epoch, std::uint64_t draws) {
  as_error([&] { impl_->open(epoch, draws); });
}
void loader::submit(own_batch seeds) {
  as_error([&] { impl_->give(std::move(seeds)); });
}
void loader::end() {
  as_error([&] { impl_->end(); });
}
void loader::stop() {
  as_error([&] { impl_->halt(); });
}
std::optional<mini_batch> loader::next(stream_ref stream) {
  return as_error([&] { return impl_->next(stream); });
}
load_state loader::state() const {
  if (impl_->own) return {impl_->epoch, impl_->next_index, impl_->fingerprint_at(impl_->next_index)};
  if (impl_->at_end) return {impl_->epoch + 1, 0, impl_->fingerprint};
  return {impl_->epoch, impl_->next_index, impl_->fingerprint};
}
void loader::resume(load_state const& s) try {
  if (s.fingerprint != impl_->fingerprint_at(s.next))
    fail(errc::input,
         "this state is of another loader: graph, seeds, batch, fanouts, options and rank must be those that it was saved with");
  std::uint64_t const batches = impl_->batches();
  if (s.next > batches) fail(errc::input, "this state says mini-batch {} of an epoch of {}", s.next, batches);
  bool const another = s.next == batches && !impl_->own;
  impl_->begin(another ? s.epoch + 1 : s.epoch, another ? 0 : s.next);
} catch (...) {
  rethrow_as_error();
}
load_report loader::report() const try {
  std::vector<std::shared_ptr<mini_batch::parts>> all;
  {
    std::lock_guard const hold(impl_->core->mutex);
    all = impl_->core->all;
  }
  for (auto const& r : all) impl_->tell(*r);
  std::lock_guard const hold(impl_->core->mutex);
  load_report said = impl_->core->report;
  said.window = impl_->window;
  return said;
} catch (...) {
  rethrow_as_error();
}
std::uint64_t loader::bytes() const try { return impl_->thread.joinable() ? impl_->used.load() : impl_->bytes_now(); } catch (...) {
  rethrow_as_error();
}

std::string load_state::text() const {
  return as_error([&] { return fmt::format("garner-loader 1 epoch {} next {} of {:016x}", epoch, next, fingerprint); });
}
load_state load_state::parse(std::string_view text) {
  load_state s;
  auto const take = [&](std::string_view before, auto& value, int base) {
    if (!text.starts_with(before)) return false;
    text.remove_prefix(before.size());
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (problem != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  std::string_view const given = text;
  if (!take("garner-loader 1 epoch ", s.epoch, 10) || !take(" next ", s.next, 10) || !take(" of ", s.fingerprint, 16) ||
      text.find_first_not_of(" \n\r") != std::string_view::npos)
    fail(errc::input, "'{}' is not a state of a loader; pass the result of state().text()", given.substr(0, 60));
  return s;
}

std::string_view to_string(load_strategy strategy) {
  switch (strategy) {
    case load_strategy::window:
      return "window";
    case load_strategy::tiered:
      return "tiered";
    case load_strategy::zero_copy:
      return "zero_copy";
    case load_strategy::staged:
      return "staged";
    case load_strategy::automatic:
      break;
  }
  return "automatic";
}
load_strategy parse_load_strategy(std::string_view text) {
  for (load_strategy const strategy : all_load_strategies)
    if (text == to_string(strategy)) return strategy;
  fail(errc::usage, "strategy '{}': use automatic, window, tiered, zero_copy or staged", text);
}

}  // namespace garner

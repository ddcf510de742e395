// The loader: a thread that takes each mini-batch through the stages of load/stages.hpp, and its caller.
//
//     order ------> sample -------> finish --> enter ------> fetch ------> hand over ----> ready ----> caller
//     of an epoch   on the          counts     to the file   missing rows  gathers into    ring, in    leases a slot,
//                   sampler's                  caches        into windows  a slot, on the  order       gives it back
//                   stream                                   on theirs     loader's stream
//     group C (D)   group C (D)     group B    group B (C)   group B       group A, mini-batch by mini-batch
//
// While group A is delivered, group B is sampled and its rows are fetched, and group C is submitted to the sampler. If a table stays in a
// file, the thread of its cache reads the rows of B and already knows C, so D is submitted to the sampler. The loader's thread waits for
// counts and for the caller. The caller waits only for a mini-batch that is not ready.
// Invariants: mini-batches are delivered in order (load/ring.hpp). An error is reported after all mini-batches before it.
#include "garner/load.hpp"

#include <chrono>
#include <exception>
#include <iterator>
#include <list>
#include <thread>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "graph/handle.hpp"
#include "load/checks.hpp"
#include "load/order.hpp"
#include "load/plan.hpp"
#include "load/ring.hpp"
#include "load/stages.hpp"

namespace garner {

namespace {

// A run of the thread: until it is stopped, an epoch of the caller ends, or a stage fails.
class load_run {
 public:
  load_run(load_ring& ring, load_order& order, load_stages& stages, std::uint64_t epoch, std::uint64_t index)
      : ring_(ring), order_(order), stages_(stages), reader_(order, epoch, index) {}

  void operator()() {
    try {
      while (!ring_.stopped()) {
        if (groups_.empty() && !begin()) break;
        bool const at_once = !stages_.window_full();
        if (stages_.from_files() && at_once) prepare();  // the file caches then know the later groups when they read for the first
        hand_over(groups_.front(), at_once);
        if (ring_.stopped()) break;
        if (!at_once || groups_.size() < 2) prepare();  // keeps the order of groups submitted meanwhile
        groups_.pop_front();
      }
    } catch (...) {
      ring_.fail_with(std::current_exception());
    }
    for (load_group& g : groups_) stages_.drop(g);
    stages_.drop(given_);
    stages_.wait();
  }

 private:
  // The first group, or one after a pause. False: the caller's epoch has ended.
  bool begin() {
    if (failed_) std::rethrow_exception(failed_);
    load_group& a = groups_.emplace_back(next_group(true));
    stages_.sample(a), stages_.finish(a), stages_.enter(a), stages_.fetch(a), stages_.choose(a);
    if (a.empty()) return ring_.end_epoch(), false;
    sample_next();
    return true;
  }
  // The first groups of a run are smaller than the window, so that the caller does not wait for a whole one: once there is room for it, as
  // memory that grows in steps takes more. A file needs its look-ahead at once.
  load_group next_group(bool waits) {
    load_group g = reader_.next(waits, grows_ ? std::min(stages_.window(), size_) : stages_.window());
    if (!g.empty()) size_ = std::min(2 * size_, batch_list::most);
    return g;
  }
  void hand_over(load_group& first, bool at_once) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!stages_.hand_over(first[i], first)) break;
      if (i == 0 && at_once) prepare();
      if (order_.own() && given_.empty()) sample_next();  // the caller may have added mini-batches meanwhile
    }
    first.rows.clear();  // all of its gathers have been submitted
  }
  // Keeps the error of a later group, and then makes no further group.
  template <class Stages>
  bool attempt(Stages const& stages) {
    if (failed_) return false;
    try {
      stages();
      return true;
    } catch (...) {
      failed_ = std::current_exception();
      return false;
    }
  }
  void sample_next() {
    if (!attempt([&] { given_ = next_group(false), stages_.sample(given_); })) stages_.drop(given_);
    if (given_.empty()) stages_.enter_no_more();
  }
  void prepare() {
    while (!given_.empty() && groups_.size() < (stages_.from_files() ? 3u : 2u)) {
      if (!attempt([&] { stages_.finish(given_), stages_.enter(given_); })) stages_.drop(given_);
      if (given_.empty()) break;
      groups_.push_back(std::move(given_));
      given_.clear();
      sample_next();
    }
    if (groups_.size() > 1 && !attempt([&] { stages_.fetch(*std::next(groups_.begin())); }))
      for (; groups_.size() > 1; groups_.pop_back()) stages_.drop(groups_.back());
  }

  load_ring& ring_;
  load_order& order_;
  load_stages& stages_;
  load_order::reader reader_;
  std::list<load_group> groups_;  // first: being handed over; second: being fetched; third: known to the file caches
  load_group given_;              // submitted to the sampler
  bool const grows_ = stages_.largest() >= stages_.window() && !stages_.from_files();
  std::uint32_t size_ = first_window;  // of the next group, if they grow
  std::exception_ptr failed_;          // error of a later group: reported after all mini-batches before it
};

}  // namespace

struct loader::impl {
  load_terms terms;
  std::shared_ptr<load_ring> ring = std::make_shared<load_ring>();
  load_order order;
  load_stages stages;
  std::jthread thread;
  std::uint64_t epoch = 0, next_index = 0;  // the next mini-batch to hand over
  bool at_end = false;                      // the epoch has ended: next() begins another

  impl(block_sampler& sampler, std::vector<loaded_table> tables, std::optional<std::vector<std::int64_t>> const& seeds,
       loader_options const& options, std::vector<std::int64_t> times, loader_access::rows_source const& source = {})
      : terms(sampler, std::move(tables), options, std::move(times)),
        order(terms, *ring, seeds),
        stages(terms, *ring, order.bytes(), source) {}
  ~impl() {
    try {
      halt();
    } catch (...) {  // the loader is destroyed in any case
    }
  }

  void halt() {
    ring->halt();
    if (thread.joinable()) thread.join();
    std::exception_ptr const problem = stages.forget();
    ring->empty();
    if (problem) std::rethrow_exception(problem);
  }
  void launch() {
    if (thread.joinable()) return;
    ring->resume();
    stages.renew();
    stages.note_bytes();
    thread = std::jthread([this, from = epoch, index = next_index] { load_run(*ring, order, stages, from, index)(); });
  }

  std::optional<mini_batch> next(stream_ref stream) {
    if (at_end && order.own()) return {};
    if (std::exchange(at_end, false)) {
      ++epoch, next_index = 0;
      std::lock_guard const hold(ring->mutex);
      ++ring->asked_epochs;
      ring->changed.notify_all();
    }
    if (next_index == 0) {
      std::lock_guard const hold(ring->mutex);
      ring->begun = steady::now();
    }
    if (next_index == 0 && thread.joinable() && stages.changed()) halt();  // the thread has begun the epoch with old rows
    order.require_more(next_index);
    if (next_index == order.batches() && !thread.joinable()) {  // stopped after the last mini-batch, or never started
      at_end = true;
      return {};
    }
    launch();
    std::shared_ptr<mini_batch::parts> r;
    auto const clock = steady::now();
    {
      std::unique_lock hold(ring->mutex);
      while (ring->ready.empty() && !ring->error) {
        ring->changed.wait_for(hold, std::chrono::milliseconds(50));
        if (ring->ready.empty() && !ring->error) hold.unlock(), check_interrupted(), hold.lock();
      }
      ring->report.caller_waited_ms += ms_since(clock);
      if (ring->ready.empty()) {
        std::exception_ptr const error = std::exchange(ring->error, nullptr);
        hold.unlock();
        halt();
        try {
          std::rethrow_exception(error);
        } catch (garner::error const& e) {  // ignores an interrupt that the caller has handled since
          if (e.code() != errc::interrupted || interrupt_requested()) throw;
        }
        return next(stream);
      }
      r = ring->ready.front();
      if (r) {
        hold.unlock();
        come(*r, stream);
        hold.lock();
        r->times.handed = ring->since_made();
        if (auto& times = ring->report.times; times.size() < terms.o.keep_times) {
          r->times_at = times.size();
          times.push_back(r->times);  // the other times follow once the work has completed
        }
      }
      ring->ready.pop_front();  // nothing below may fail: the mini-batch would be lost
      ring->changed.notify_all();
      if (!r) {
        at_end = true;
        return {};
      }
      next_index = r->index + 1;
      r->handed = true;
      ++ring->report.batches, ring->report.seeds += r->seeds;
      ring->report.ms = ms_since(ring->begun);
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
      stages.require_peers();
    } catch (...) {
      halt();
      throw;
    }
  }
  void begin(std::uint64_t e, std::uint64_t index) {
    halt();
    epoch = e, next_index = index, at_end = false;
    ring->begin_report();
  }
};

loader::loader(block_sampler& sampler, std::vector<loaded_table> tables, std::vector<std::int64_t> seeds, loader_options const& options,
               std::vector<std::int64_t> times)
    : impl_(as_error([&] {
        return std::make_unique<impl>(sampler, std::move(tables), std::optional(std::move(seeds)), options, std::move(times));
      })) {}
loader::loader(std::unique_ptr<impl> made) : impl_(std::move(made)) {}
loader loader_access::with_rows(rows_source const& source, block_sampler& sampler, std::vector<loaded_table> tables,
                                std::vector<std::int64_t> seeds, loader_options const& options) {
  return loader(std::make_unique<loader::impl>(sampler, std::move(tables), std::optional(std::move(seeds)), options,
                                               std::vector<std::int64_t>{}, source));
}
loader::~loader() = default;
loader::loader(loader&&) noexcept = default;
loader& loader::operator=(loader&&) noexcept = default;
loader loader::of_own(block_sampler& sampler, std::vector<loaded_table> tables, loader_options const& options) {
  return loader(
      as_error([&] { return std::make_unique<impl>(sampler, std::move(tables), std::nullopt, options, std::vector<std::int64_t>{}); }));
}
std::uint64_t loader::batches() const { return impl_->order.batches(); }
std::uint32_t loader::window() const { return impl_->stages.window(); }
void loader::begin(std::uint64_t epoch) {
  as_error([&] {
    if (impl_->order.seeds() == 0) fail(errc::usage, "this loader has no seeds of its own; open() an epoch and give() its mini-batches");
    impl_->halt();
    impl_->order.close();
    impl_->begin(epoch, 0);
  });
}
void loader::open(std::uint64_t epoch, std::uint64_t draws) {
  as_error([&] {
    impl_->halt();
    impl_->order.open(draws);
    impl_->begin(epoch, 0);
  });
}
void loader::submit(own_batch seeds) {
  as_error([&] { impl_->order.give(std::move(seeds)); });
}
void loader::end() {
  as_error([&] { impl_->order.end(); });
}
void loader::stop() {
  as_error([&] { impl_->halt(); });
}
std::optional<mini_batch> loader::next(stream_ref stream) {
  return as_error([&] { return impl_->next(stream); });
}
load_state loader::state() const {
  load_order const& order = impl_->order;
  if (order.own()) return {impl_->epoch, impl_->next_index, order.fingerprint_at(impl_->next_index)};
  if (impl_->at_end) return {impl_->epoch + 1, 0, order.fingerprint()};
  return {impl_->epoch, impl_->next_index, order.fingerprint()};
}
void loader::resume(load_state const& s) try {
  load_order const& order = impl_->order;
  if (s.fingerprint != order.fingerprint_at(s.next))
    fail(errc::input,
         "this state is of another loader: graph, seeds, batch, fanouts, options and rank must be those that it was saved with");
  std::uint64_t const batches = order.batches();
  if (s.next > batches) fail(errc::input, "this state says mini-batch {} of an epoch of {}", s.next, batches);
  bool const another = s.next == batches && !order.own();
  impl_->begin(another ? s.epoch + 1 : s.epoch, another ? 0 : s.next);
} catch (...) {
  rethrow_as_error();
}
load_report loader::report() const try {
  load_ring& ring = *impl_->ring;
  std::vector<load_ring::slot> all;
  {
    std::lock_guard const hold(ring.mutex);
    all = ring.all;
  }
  for (auto const& r : all) impl_->stages.tell(*r);
  std::lock_guard const hold(ring.mutex);
  load_report said = ring.report;
  said.window = impl_->stages.window();
  return said;
} catch (...) {
  rethrow_as_error();
}
std::uint64_t loader::bytes() const try {
  return impl_->thread.joinable() ? impl_->stages.bytes_then() : impl_->stages.bytes_now();
} catch (...) {
  rethrow_as_error();
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

#include "dry_training.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "arithmetic.hpp"
#include "common.hpp"
#include "core/event.hpp"

namespace garner::cli {

namespace {
constexpr std::uint32_t trial_steps = 1u << 14;
double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

held_model::held_model(executor& x, double ms) : x_(x), ms_(ms) {
  if (ms <= 0 || !x.on_device()) return;
  lanes_ = static_cast<std::uint64_t>(x.multiprocessors()) * 1024;
  wrong_ = {x.near(), 1, x.device(), "arithmetic"};
  x.fill(wrong_.data(), 0, wrong_.bytes());
  event begin, end;
  for (int k = 0; k < 3; ++k) {  // the first loads the kernel
    begin.record(x);
    reckon(x, lanes_, trial_steps, wrong_.data());
    end.record(x);
    x.wait();
  }
  double const a_step = begin.ms_until(end) / trial_steps;
  steps_ = static_cast<std::uint32_t>(std::clamp(ms / a_step, 2.0, 4e9)) / 2 * 2;
}
void held_model::hold() {
  if (ms_ <= 0) return;
  if (x_.on_device()) reckon(x_, lanes_, steps_, wrong_.data());
  else std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms_));
}

namespace {

// Adds the loader's counts between two reports to a sum.
void add(load_report& to, load_report const& a, load_report const& b) {
  to.batches += b.batches - a.batches, to.seeds += b.seeds - a.seeds;
  to.nodes += b.nodes - a.nodes, to.edges += b.edges - a.edges;
  to.sample_ms += b.sample_ms - a.sample_ms, to.fetch_ms += b.fetch_ms - a.fetch_ms, to.gather_ms += b.gather_ms - a.gather_ms;
  to.loader_waited_ms += b.loader_waited_ms - a.loader_waited_ms, to.caller_waited_ms += b.caller_waited_ms - a.caller_waited_ms;
  for (std::size_t t = 0; t < tier_count; ++t) to.rows[static_cast<tier>(t)] += b.rows[static_cast<tier>(t)] - a.rows[static_cast<tier>(t)];
  to.window_rows += b.window_rows - a.window_rows, to.fetched_rows += b.fetched_rows - a.fetched_rows;
  to.remote_bytes += b.remote_bytes - a.remote_bytes;
  to.file_hits += b.file_hits - a.file_hits, to.file_reads += b.file_reads - a.file_reads, to.file_bytes += b.file_bytes - a.file_bytes;
  to.file_waited_ms += b.file_waited_ms - a.file_waited_ms;
}
// Per mini-batch.
dry_epoch each_of(load_report const& all, execution_device where) {
  dry_epoch e;
  e.batches = all.batches, e.seeds = all.seeds;
  auto const per = [&](auto sum) { return all.batches ? static_cast<double>(sum) / static_cast<double>(all.batches) : 0.0; };
  e.sample_ms = per(all.sample_ms), e.fetch_ms = per(all.fetch_ms), e.gather_ms = per(all.gather_ms);
  e.vertices = per(all.nodes), e.edges = per(all.edges);
  e.near_rows = per(all.rows[tier::device]), e.peer_rows = per(all.rows[tier::peer]);
  (where.kind == device_kind::cpu ? e.near_rows : e.far_rows) = per(all.rows[tier::host]);
  e.window_rows = per(all.window_rows), e.fetched_rows = per(all.fetched_rows), e.remote_bytes = per(all.remote_bytes);
  e.file_rows = per(all.rows[tier::file]), e.file_hit_rows = per(all.file_hits), e.file_reads = per(all.file_reads),
  e.file_bytes = per(all.file_bytes);
  e.file_waited_ms = per(all.file_waited_ms);
  e.caller_waited_ms = per(all.caller_waited_ms), e.loader_waited_ms = per(all.loader_waited_ms);
  return e;
}

}  // namespace

dry_result train_dry(loader& l, execution_device where, dry_options const& o) {
  executor x(where);
  held_model model(x, o.compute_ms);
  dry_result r;
  load_report const first = l.report();
  load_report before = first, timed_from = first;  // at the end of the previous epoch; timing starts here
  double const begun = now_ms();
  double epoch_begun = begun, stretch_at = begun, timed_ms = 0;
  std::uint64_t of_epoch = 0, warm_batches = 0, of_stretch = 0;
  bool warm = false;
  std::vector<double> stretches;
  auto const ends_epoch = [&](std::uint64_t epoch, double now) {
    load_report const after = l.report();
    load_report whole;
    add(whole, before, after);
    before = after;
    dry_epoch e = each_of(whole, where);
    e.epoch = epoch, e.ms = now - epoch_begun;
    r.epochs.push_back(e);
    if (o.told) o.told(e);
    of_epoch = 0;
    epoch_begun = now_ms();
  };
  auto const restart = [&](double now) {  // warm-up ends here
    warm = true, stretch_at = now, warm_batches = r.batches, of_stretch = 0, timed_ms = 0;
    stretches.clear();
  };
  std::uint64_t epoch = l.state().epoch;
  while (epoch < o.epochs && (!o.batches || r.batches < *o.batches)) {
    std::optional<mini_batch> b = l.next(stream_ref::of_address(x.stream()));
    if (!b) {
      x.wait();
      double const now = now_ms();
      bool const one_alone = o.epochs - epoch == 1 && r.epochs.empty();
      timed_ms += now - stretch_at;
      if (of_stretch) stretches.push_back((now - stretch_at) / static_cast<double>(of_stretch));
      ends_epoch(epoch++, now);
      of_stretch = 0, stretch_at = epoch_begun;
      if (r.epochs.size() == 1 && !one_alone && (!o.batches || r.batches < *o.batches)) restart(epoch_begun), timed_from = before;
      continue;
    }
    if (o.each) o.each(*b, x);
    model.hold();
    b.reset();  // returned in stream order, after the model's work
    ++r.batches, ++of_epoch, ++of_stretch;
    if (of_stretch < o.stretch) continue;
    double const now = now_ms();
    stretches.push_back((now - stretch_at) / static_cast<double>(of_stretch));
    timed_ms += now - stretch_at;
    stretch_at = now, of_stretch = 0;
    if (!warm && r.epochs.empty() && r.batches == o.stretch * 2 && (o.epochs - epoch == 1 || o.batches)) {
      timed_from = l.report();  // waits for work in flight
      restart(now_ms());
    }
  }
  x.wait();
  double const now = now_ms();
  if (of_epoch) ends_epoch(epoch, now);
  if (of_stretch) {
    timed_ms += now - stretch_at;
    stretches.push_back((now - stretch_at) / static_cast<double>(of_stretch));
  }
  r.warm = warm && r.batches > warm_batches;
  if (!r.warm) {  // nothing came after the warm-up
    timed_ms = now - begun, warm_batches = 0;
    stretches = {r.batches ? timed_ms / static_cast<double>(r.batches) : 0};
  }
  r.timed = r.batches - warm_batches;
  r.mean_ms = r.timed ? timed_ms / static_cast<double>(r.timed) : 0;
  r.median_ms = median(stretches);
  load_report const after = l.report();
  if (!r.warm) timed_from = first;
  load_report timed;
  add(timed, timed_from, after);
  r.all = each_of(timed, where);
  r.times = after.times;
  r.all.ms = r.mean_ms * static_cast<double>(r.all.batches);
  std::sort(r.times.begin(), r.times.end(),
            [](batch_times const& a, batch_times const& b) { return std::pair(a.epoch, a.index) < std::pair(b.epoch, b.index); });
  return r;
}

}  // namespace garner::cli

#include "load/order.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/fail.hpp"
#include "core/random.hpp"
#include "graph/handle.hpp"

namespace garner {

namespace {

std::uint64_t with(std::uint64_t fingerprint, std::uint64_t value) { return mix(fingerprint + 0x9e3779b97f4a7c15ull) ^ mix(value + 1); }

}  // namespace

load_order::load_order(load_terms& t, load_ring& ring, std::optional<std::vector<std::int64_t>> const& seeds) : t_(t), ring_(ring) {
  loader_options const& o = t.o;
  if (!seeds) {
    own_ = own_epoch{{}, {}, 0, true};  // no epoch is open
  } else {
    check_seeds(t, *seeds);
    seed_count_ = seeds->size();
    share_ = (seed_count_ + o.ranks - 1) / o.ranks;
    per_epoch_ = o.drop_last ? share_ / o.batch_size : (share_ + o.batch_size - 1) / o.batch_size;
    if (per_epoch_ == 0)
      fail(errc::input, "{} seeds per rank do not fill one mini-batch of {}, and drop_last leaves smaller ones out; use a smaller batch",
           share_, o.batch_size);
    seeds_ = {t.x.near(), seed_count_, t.x.device(), "seeds"};
    t.x.copy(seeds_.data(), seeds->data(), seeds_.bytes());
    t.x.wait();
  }
  fingerprint_ = t.sampler.inside().fingerprint;
  for (std::uint64_t const k : {o.batch_size, std::uint64_t{o.shuffle}, std::uint64_t{o.drop_last}, o.seed, std::uint64_t{o.seed_type},
                                std::uint64_t{o.rank}, std::uint64_t{o.ranks}, seed_count_})
    fingerprint_ = with(fingerprint_, k);
  if (!seeds) return;
  for (std::int64_t const k : *seeds) fingerprint_ = with(fingerprint_, static_cast<std::uint64_t>(k));
}
std::uint64_t load_order::batches() const {
  std::lock_guard const hold(ring_.mutex);
  return own_ ? own_->batches.size() : per_epoch_;
}
std::uint64_t load_order::fingerprint_at(std::uint64_t next) const {
  std::lock_guard const hold(ring_.mutex);
  return own_ && !own_->fingerprints.empty() ? own_->fingerprints[std::min<std::uint64_t>(next, own_->batches.size())] : fingerprint_;
}

// --- the caller's epoch ---
void load_order::require_more(std::uint64_t next) const {
  if (!own_) return;
  std::lock_guard const hold(ring_.mutex);
  if (!own_->ended && next == own_->batches.size())
    fail(errc::usage, "all {} mini-batches that were given have been handed over; give() another, or end() the epoch", next);
}
void load_order::open(std::uint64_t number) { own_ = own_epoch{{}, {with(fingerprint_, number)}, number, false}; }
void load_order::give(own_batch&& seeds) {
  for (own_seeds const& s : seeds) check_ids(t_, s.seeds, s.type), check_times(s.times, s.seeds.size());
  std::lock_guard const hold(ring_.mutex);
  if (!own_ || own_->ended) fail(errc::usage, "no epoch is open for a mini-batch of the caller's own; open() one");
  std::uint64_t print = own_->fingerprints.back();
  for (own_seeds const& of : seeds) {
    print = with(with(print, of.type), of.seeds.size());
    for (std::int64_t const k : of.seeds) print = with(print, static_cast<std::uint64_t>(k));
  }
  own_->fingerprints.push_back(print);
  try {
    own_->batches.push_back(std::move(seeds));
  } catch (...) {
    own_->fingerprints.pop_back();
    throw;
  }
  ring_.changed.notify_all();
}
void load_order::end() {
  std::lock_guard const hold(ring_.mutex);
  if (!own_) fail(errc::usage, "no epoch is open that could end; open() one");
  own_->ended = true;
  ring_.changed.notify_all();
}

// --- groups ---
load_group load_order::reader::next_own(bool waits, std::uint32_t window) {
  load_group g;
  std::unique_lock hold(of_.ring_.mutex);
  own_epoch const& own = *of_.own_;
  auto const some = [&](std::uint64_t n) { return own.batches.size() >= index_ + n || own.ended; };
  if (waits) of_.ring_.changed.wait(hold, [&] { return of_.ring_.stop || some(1); });
  if (of_.ring_.stop || !some(waits ? 1 : window)) return g;
  for (; g.size() < window && index_ < own.batches.size(); ++index_) {
    load_job& j = g.emplace_back();
    j.own = &own.batches[index_], j.number = own.number + index_, j.epoch = epoch_, j.index = index_;
    for (own_seeds const& s : *j.own) j.count += s.seeds.size();
  }
  return g;
}
load_group load_order::reader::next(bool waits, std::uint32_t window) {
  if (of_.own_) return next_own(waits, window);
  load_group g;
  loader_options const& o = of_.t_.o;
  executor& x = of_.t_.x;
  load_ring& ring = of_.ring_;
  if (!order_ || index_ == of_.per_epoch_) {
    // On a device, the next epoch's first mini-batches are prepared before this epoch ends.
    // On the host, preparing them would take the threads that the caller computes on.
    std::unique_lock hold(ring.mutex);
    auto const may = [&] { return begun_ < ring.asked_epochs + (x.asynchronous() ? 1 : 0); };
    if (waits) ring.changed.wait(hold, [&] { return ring.stop || may(); });
    if (ring.stop || !may()) return g;
    hold.unlock();
    if (order_) ++epoch_, index_ = 0;
    ++begun_;
    order_ = std::make_shared<epoch_order const>(order_of_epoch(x, of_.seeds_.span(), o.shuffle, o.seed, epoch_, o.rank, o.ranks));
  }
  for (; g.size() < window && index_ < of_.per_epoch_; ++index_) {
    std::uint64_t const first = index_ * o.batch_size, number = epoch_ * of_.per_epoch_ + index_;
    g.push_back({order_, nullptr, number, epoch_, index_, first, std::min(o.batch_size, of_.share_ - first), index_ + 1 == of_.per_epoch_});
  }
  return g;
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

}  // namespace garner

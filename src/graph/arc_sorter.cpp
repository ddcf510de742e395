#include "graph/arc_sorter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"

namespace garner {

namespace {

constexpr std::uint64_t least_part = 64;         // records per part; only tests go this low
constexpr std::uint64_t least_read = 16u << 10;  // records; smaller reads do not pay

void to_real(std::span<std::uint32_t> weights) {
  for (std::uint32_t& w : weights) w = std::bit_cast<std::uint32_t>(static_cast<float>(w));
}

}  // namespace

void arc_sorter::add(std::span<std::uint64_t const> added, std::span<std::uint32_t const> weights) {
  count_ += added.size();
  while (!added.empty()) {
    if (gathered_ == keys_.size() && !grow()) write_part();
    std::uint64_t const n = std::min<std::uint64_t>(added.size(), keys_.size() - gathered_);
    std::copy_n(added.data(), n, keys_.data() + gathered_);
    if (weighted_) std::copy_n(weights.data(), n, weights_.data() + gathered_), weights = weights.subspan(n);
    gathered_ += n;
    added = added.subspan(n);
  }
}

// Allocates twice as many records, up to the whole budget: a small input stays cheap. The sort buffer is allocated when first needed.
bool arc_sorter::grow() {
  std::uint64_t const most = std::max(least_part, bytes_ / (2 * record_bytes())), had = keys_.size();
  if (had == most) return false;
  std::uint64_t const room = had > most / 3 ? most : std::min(most, std::max<std::uint64_t>(1u << 20, 2 * had));
  spare_ = {}, spare_weights_ = {};
  auto const move = [&](auto& to, auto made) {
    std::copy_n(to.data(), gathered_, made.data());
    to = std::move(made);
  };
  move(keys_, buffer<std::uint64_t>(tier::host, room, -1, "edges, one part"));
  if (weighted_) move(weights_, buffer<std::uint32_t>(tier::host, room, -1, "weights, a part of them"));
  return true;
}

void arc_sorter::weights_become_real() {
  if (weighted_ && !std::exchange(real_, true)) to_real(weights_.span().first(gathered_));
}

void arc_sorter::sort_part() {
  phase const timed{"graph.sort_part"};
  if (spare_.size() < gathered_) {
    spare_ = buffer<std::uint64_t>(tier::host, keys_.size(), -1, "edges, to sort");
    if (weighted_) spare_weights_ = buffer<std::uint32_t>(tier::host, keys_.size(), -1, "weights, to sort");
  }
  part_ = keys_.span().first(gathered_);
  std::span<std::uint64_t> const spare = spare_.span().first(gathered_);
  if (weighted_) {
    part_weights_ = weights_.span().first(gathered_);
    part_ = sort_by_key(x_, part_, spare, part_weights_, spare_weights_.span().first(gathered_));
  } else {
    part_ = sort(x_, part_, spare);
  }
}

void arc_sorter::write_part() {
  sort_part();
  phase const timed{"graph.write_run"};
  run r{runs_.empty() ? std::make_shared<scratch_file>(folder_) : runs_.back().file, 0, gathered_, real_, true};
  r.at = r.file->bytes();
  progress told("writing a sorted part", part_.size_bytes() + part_weights_.size_bytes());
  auto const write = [&](std::span<std::byte const> bytes, std::uint64_t at) {  // by all threads: one does not saturate the page cache
    x_.threads().run(bytes.size(), 4u << 20, [&](std::uint64_t first, std::uint64_t last) {
      r.file->write_at(at + first, bytes.data() + first, last - first);
      told.advance(last - first);
    });
  };
  write(std::as_bytes(part_), r.at);
  if (weighted_) write(std::as_bytes(part_weights_), r.at + part_.size_bytes());
  runs_.push_back(std::move(r));
  ++runs_made_;
  gathered_ = 0;
}

void arc_sorter::cut() {
  if (gathered_) write_part();
  keys_ = {}, spare_ = {}, weights_ = {}, spare_weights_ = {};
}

void arc_sorter::renumber(std::function<void(std::span<std::uint64_t>)> change) {
  change_ = std::move(change);
  for (run& r : runs_) r.renumbered = false;
}

// Converts to the final form: floats if any weight is a float, ids as in the last numbering.
void arc_sorter::read(run const& from, std::uint64_t first, std::uint64_t n, std::uint64_t* keys, std::uint32_t* weights) const {
  from.file->read(keys, n * 8, from.at + first * 8);
  if (change_ && !from.renumbered) change_({keys, n});
  if (!weighted_) return;
  from.file->read(weights, n * 4, from.at + from.count * 8 + first * 4);
  if (real_ && !from.real) to_real({weights, n});
}

void arc_sorter::each_run(taker const& take) {
  std::uint64_t const step = std::max(least_part, std::min<std::uint64_t>(1u << 18, bytes_ / record_bytes()));
  buffer<std::uint64_t> keys(tier::host, step, -1, "edges, part of a run");
  buffer<std::uint32_t> weights(tier::host, weighted_ ? step : 0, -1, "weights, a part of a run");
  for (run const& r : runs_)
    for (std::uint64_t first = 0; first < r.count; first += step) {
      check_interrupted();
      std::uint64_t const n = std::min(step, r.count - first);
      read(r, first, n, keys.data(), weights.data());
      take(keys.span().first(n), weights.span().first(weighted_ ? n : 0));
    }
}

void arc_sorter::finish(std::uint64_t bytes) {
  if (runs_.empty()) {
    sort_part();
    return;
  }
  cut();
  // The buffered records of all runs, and twice as much to sort them.
  auto const fan_in = [&](std::uint64_t of) { return std::max<std::uint64_t>(2, of / (3 * record_bytes() * least_read)); };
  std::uint64_t const here = fan_in(bytes_);
  for (; runs_.size() > fan_in(bytes); ++passes_) {
    progress told("merging", count_ * record_bytes());
    auto const file = std::make_shared<scratch_file>(folder_);
    std::vector<run> merged;
    for (std::size_t first = 0; first < runs_.size(); first += here) {
      std::span<run const> const group = std::span<run const>(runs_).subspan(first, std::min<std::size_t>(here, runs_.size() - first));
      run to{file, file->bytes(), 0, real_, true};
      for (run const& r : group) to.count += r.count;
      std::uint64_t done = 0;
      merge(group, [&](std::span<std::uint64_t const> keys, std::span<std::uint32_t const> weights) {
        file->write_at(to.at + done * 8, keys.data(), keys.size_bytes());
        if (weighted_) file->write_at(to.at + to.count * 8 + done * 4, weights.data(), weights.size_bytes());
        done += keys.size();
        told.advance(keys.size() * record_bytes());
      });
      for (run const& r : group) r.file->drop(r.at, r.count * record_bytes());
      merged.push_back(std::move(to));
    }
    runs_ = std::move(merged);
  }
  bytes_ = bytes;
}

void arc_sorter::in_order(taker const& take) {
  if (runs_.empty()) return take(part_, part_weights_);
  progress told("merging", count_ * record_bytes());
  merge(runs_, [&](std::span<std::uint64_t const> keys, std::span<std::uint32_t const> weights) {
    take(keys, weights);
    told.advance(keys.size() * record_bytes());
  });
}

// Records read from a run and not yet consumed: [begin, end) of its part of the arrays. `next` is the next one to read.
struct arc_sorter::at_hand {
  std::uint64_t next = 0, begin = 0, end = 0, taken = 0, to = 0;
};

void arc_sorter::merge(std::span<run const> group, taker const& take) const {
  phase const timed{"graph.merge"};
  std::uint64_t const runs = group.size(), part = std::max(least_part, bytes_ / (3 * record_bytes() * runs)), all = runs * part;
  buffer<std::uint64_t> keys(tier::host, all, -1, "edges of runs"), chosen(tier::host, all, -1, "edges, to merge"),
      spare(tier::host, all, -1, "edges, to merge");
  std::uint64_t const w = weighted_ ? all : 0;
  buffer<std::uint32_t> weights(tier::host, w, -1, "weights of runs"), chosen_weights(tier::host, w, -1, "weights, to merge"),
      spare_weights(tier::host, w, -1, "weights, to merge");
  std::vector<at_hand> hands(runs);
  auto const keys_of = [&](std::uint64_t r) { return keys.data() + r * part; };
  auto const weights_of = [&](std::uint64_t r) { return weights.data() + (weighted_ ? r * part : 0); };
  auto const fill = [&](std::uint64_t r) {
    at_hand& h = hands[r];
    if (h.next == group[r].count || h.end - h.begin > part / 2) return;
    std::copy(keys_of(r) + h.begin, keys_of(r) + h.end, keys_of(r));
    if (weighted_) std::copy(weights_of(r) + h.begin, weights_of(r) + h.end, weights_of(r));
    h.end -= std::exchange(h.begin, 0);
    std::uint64_t const n = std::min(part - h.end, group[r].count - h.next);
    read(group[r], h.next, n, keys_of(r) + h.end, weights_of(r) + (weighted_ ? h.end : 0));
    h.next += n, h.end += n;
  };
  auto const give = [&](std::uint64_t r, std::uint64_t n) {
    at_hand& h = hands[r];
    take({keys_of(r) + h.begin, n}, {weights_of(r) + (weighted_ ? h.begin : 0), weighted_ ? n : 0});
    h.begin += n;
  };
  while (true) {
    check_interrupted();
    x_.threads().run(runs, 1, [&](std::uint64_t r, std::uint64_t last) {
      for (; r < last; ++r) fill(r);
    });
    bool more = false;  // still in files, and every key there is at least `bound`
    std::uint64_t bound = ~std::uint64_t{0}, total = 0, from = 0, givers = 0;
    for (std::uint64_t r = 0; r < runs; ++r)
      if (hands[r].next < group[r].count) more = true, bound = std::min(bound, keys_of(r)[hands[r].end - 1]);
    for (std::uint64_t r = 0; r < runs; ++r) {
      at_hand& h = hands[r];
      std::uint64_t const *const first = keys_of(r) + h.begin, *const last = keys_of(r) + h.end;
      h.taken = static_cast<std::uint64_t>((more ? std::lower_bound(first, last, bound) : last) - first);
      h.to = total;
      total += h.taken;
      if (h.taken) from = r, ++givers;
    }
    if (givers == 1) {
      give(from, total);
      continue;
    }
    if (total == 0) {
      if (!more) return;
      // Keys equal to the bound, run by run, so that equal keys keep their order.
      for (std::uint64_t r = 0; r < runs; ++r)
        for (at_hand& h = hands[r]; h.begin < h.end && keys_of(r)[h.begin] == bound; fill(r))
          give(r, static_cast<std::uint64_t>(std::upper_bound(keys_of(r) + h.begin, keys_of(r) + h.end, bound) - keys_of(r)) - h.begin);
      continue;
    }
    x_.threads().run(runs, 1, [&](std::uint64_t r, std::uint64_t last) {
      for (; r < last; ++r) {
        at_hand& h = hands[r];
        std::copy_n(keys_of(r) + h.begin, h.taken, chosen.data() + h.to);
        if (weighted_) std::copy_n(weights_of(r) + h.begin, h.taken, chosen_weights.data() + h.to);
        h.begin += h.taken;
      }
    });
    std::span<std::uint64_t> const gathered = chosen.span().first(total), room = spare.span().first(total);
    if (weighted_) {
      std::span<std::uint32_t> with = chosen_weights.span().first(total);
      std::span<std::uint64_t> const sorted = sort_by_key(x_, gathered, room, with, spare_weights.span().first(total));
      take(sorted, with);
    } else {
      take(sort(x_, gathered, room), {});
    }
  }
}

}  // namespace garner

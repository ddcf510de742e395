#include "graph/arc_sorter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"

namespace garner {

namespace {

constexpr std::uint64_t least_part = 64;         // records per part; only tests go this low
constexpr std::uint64_t least_read = 16u << 10;  // records; smaller reads do not pay
constexpr std::uint64_t children = 16;
constexpr std::uint64_t pages_to_split = 256;  // the fewer leaves, the more of their ends fit a cache

void to_real(std::span<std::uint32_t> weights) {
  for (std::uint32_t& w : weights) w = std::bit_cast<std::uint32_t>(static_cast<float>(w));
}

}  // namespace

arc_sorter::arc_sorter(executor& x, scratch_folder& folder, bool weighted, std::uint64_t bytes)
    : x_(x), folder_(folder), weighted_(weighted), bytes_(bytes) {
  std::uint64_t const most = std::max(least_part, bytes / record_bytes()), threads = x.threads().threads();
  page_ = std::clamp<std::uint64_t>(std::bit_floor(most / std::max<std::uint64_t>(256, 32 * pages_to_split * threads)), 16, 512);
  to_sort_ = std::min(most / 2, 4 * pages_to_split * page_ * threads);
  most_pages_ = std::max<std::uint64_t>(least_part / page_, (most - to_sort_) / page_);
}

void arc_sorter::add(std::span<std::uint64_t const> added, std::span<std::uint32_t const> weights) {
  count_ += added.size();
  std::uint64_t const within = page_ - 1;
  auto const leaf = [this](std::uint64_t key, std::uint32_t from) {
    range const* r = &ranges_[from];
    while (r->children) r = &ranges_[from = r->children + static_cast<std::uint32_t>(std::min(children - 1, (key - r->low) >> r->shift))];
    return from;
  };
  std::array<std::uint32_t, 64> where;  // leaves of keys, found before the first is written, so that a cache waits for all of them at once
  for (std::size_t i = 0; i < added.size(); i += where.size()) {
    std::size_t const n = std::min(where.size(), added.size() - i);
    for (std::size_t k = 0; k < n; ++k) {
      range const& to = ranges_[where[k] = leaf(added[i + k], 0)];
      __builtin_prefetch(to.keys + (to.count & within), 1);
    }
    for (std::size_t k = 0; k < n; ++k) {
      std::uint64_t const key = added[i + k];
      range* to = &ranges_[where[k]];
      while (to->children || (to->count & within) == 0) {  // split since, or to be given a page
        if (!to->children && to->count >= pages_to_split * page_ && !to->one_key &&
            most_pages_ - pages_.size() + free_pages_.size() > children)
          split(where[k]);
        else if (!to->children && add_page(*to)) break;
        else if (!to->children) {
          write_part();
          where.fill(0);
        }
        to = &ranges_[where[k] = leaf(key, where[k])];
      }
      std::uint64_t const at = to->count++ & within;
      to->keys[at] = key;
      if (weighted_) to->weights[at] = weights[i + k];
      ++gathered_;
    }
  }
}

bool arc_sorter::add_page(range& to) {
  if (free_pages_.empty()) make_pages();
  if (free_pages_.empty()) return false;
  std::uint32_t const p = free_pages_.back();
  free_pages_.pop_back();
  (to.count ? pages_[to.last].next : to.first) = p;
  to.last = p;
  to.keys = pages_[p].keys, to.weights = pages_[p].weights;
  return true;
}

// Memory comes in blocks, of which the system provides what is written to.
void arc_sorter::make_pages() {
  std::uint64_t const had = pages_.size(),
                      n = std::min(most_pages_ - had, std::clamp<std::uint64_t>(had, (1u << 20) / page_, (4u << 20) / page_));
  if (n == 0) return;
  std::uint64_t* const keys = keys_.emplace_back(tier::host, n * page_, -1, "edges, one part").data();
  std::uint32_t* const weights = weighted_ ? weights_.emplace_back(tier::host, n * page_, -1, "weights, a part of them").data() : nullptr;
  for (std::uint64_t k = 0; k < n; ++k) {
    pages_.push_back({keys + k * page_, weights ? weights + k * page_ : nullptr, 0});
    free_pages_.push_back(static_cast<std::uint32_t>(had + n - 1 - k));
  }
}

template <class Visit>
void arc_sorter::each_page(range const& of, Visit const& visit) const {
  std::uint32_t at = of.first;
  for (std::uint64_t left = of.count; left;) {
    std::uint64_t const n = std::min(left, page_);
    std::uint32_t const next = pages_[at].next;
    visit(at, n);
    left -= n, at = next;
  }
}

void arc_sorter::split(std::uint32_t at) {
  range const was = ranges_[at];
  std::uint64_t largest = was.low;
  each_page(was,
            [&](std::uint32_t p, std::uint64_t n) { largest = std::max(largest, *std::max_element(pages_[p].keys, pages_[p].keys + n)); });
  int const shift = std::max(0, static_cast<int>(std::bit_width(largest - was.low)) - std::countr_zero(children));
  std::uint32_t const first = static_cast<std::uint32_t>(ranges_.size());
  ranges_[at] = {.low = was.low, .children = first, .shift = static_cast<std::uint8_t>(shift)};
  for (std::uint64_t k = 0; k < children; ++k)
    ranges_.push_back({.low = was.low + (k << shift), .one_key = shift == 0 && k + 1 < children});
  each_page(was, [&](std::uint32_t p, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      range& to = ranges_[first + std::min(children - 1, (pages_[p].keys[i] - was.low) >> shift)];
      std::uint64_t const slot = to.count & (page_ - 1);
      if (slot == 0) add_page(to);
      ++to.count;
      to.keys[slot] = pages_[p].keys[i];
      if (weighted_) to.weights[slot] = pages_[p].weights[i];
    }
    free_pages_.push_back(p);
  });
}

void arc_sorter::weights_become_real() {
  if (!weighted_ || std::exchange(real_, true)) return;
  for (range const& r : ranges_)
    if (!r.children) each_page(r, [&](std::uint32_t p, std::uint64_t n) { to_real({pages_[p].weights, n}); });
}

void arc_sorter::each_sorted(
    bool in_turn, std::function<void(std::uint64_t, std::span<std::uint64_t const>, std::span<std::uint32_t const>)> const& take) {
  phase const timed{"graph.sort_part"};
  std::vector<range const*> leaves, open{&ranges_[0]};
  while (!open.empty()) {
    range const* const r = open.back();
    open.pop_back();
    if (r->children)
      for (std::uint64_t k = children; k-- > 0;) open.push_back(&ranges_[r->children + k]);
    else if (r->count) leaves.push_back(r);
  }
  // Leaves that a thread takes at once: as many as fit its room, which is that of the largest one.
  struct share {
    std::size_t begin, end;
    std::uint64_t at, count;
  };
  std::vector<share> shares;
  std::uint64_t room = 2 * pages_to_split * page_, at = 0;
  for (range const* const r : leaves)
    if (!r->one_key) room = std::max(room, r->count);
  for (std::size_t i = 0; i < leaves.size(); at += leaves[i++]->count) {
    bool const fits = !shares.empty() && shares.back().count + leaves[i]->count <= room;
    if (!fits) shares.push_back({i, i, at, 0});
    shares.back().end = i + 1, shares.back().count += leaves[i]->count;
  }
  progress told("sort", gathered_);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable moved;
  std::size_t turn = 0;
  bool failed = false;
  auto const work = [&] {
    std::uint64_t const n = std::min(room, gathered_), w = weighted_ ? n : 0;
    buffer<std::uint64_t> keys(tier::host, n, -1, "edges, to sort"), spare(tier::host, n, -1, "edges, to sort");
    buffer<std::uint32_t> weights(tier::host, w, -1, "weights, to sort"), spare_weights(tier::host, w, -1, "weights, to sort");
    for (std::size_t mine; (mine = next.fetch_add(1)) < shares.size();) {
      check_interrupted();
      share const& s = shares[mine];
      bool const whole = s.count <= room;  // else of one key, which needs no sort
      std::uint64_t done = 0;
      for (std::size_t i = s.begin; whole && i < s.end; ++i) {
        range const& r = *leaves[i];
        std::span<std::uint64_t> const to = keys.span().subspan(done, r.count);
        std::span<std::uint32_t> const with = weighted_ ? weights.span().subspan(done, r.count) : std::span<std::uint32_t>();
        std::uint64_t filled = 0;
        each_page(r, [&](std::uint32_t p, std::uint64_t count) {
          std::copy_n(pages_[p].keys, count, to.data() + filled);
          if (weighted_) std::copy_n(pages_[p].weights, count, with.data() + filled);
          filled += count;
        });
        done += r.count;
        if (r.one_key) continue;
        std::span<std::uint32_t> sorted_with = with;
        std::span<std::uint64_t> const sorted =
            weighted_ ? sort_by_key(x_, to, spare.span(), sorted_with, spare_weights.span()) : sort(x_, to, spare.span());
        if (sorted.data() == to.data()) continue;
        std::copy(sorted.begin(), sorted.end(), to.begin());
        std::copy(sorted_with.begin(), sorted_with.end(), with.begin());
      }
      if (in_turn) {
        std::unique_lock lock(mutex);
        moved.wait(lock, [&] { return turn == mine || failed; });
        if (failed) return;
      }
      if (whole) take(s.at, keys.span().first(done), weights.span().first(weighted_ ? done : 0));
      else
        each_page(*leaves[s.begin], [&](std::uint32_t p, std::uint64_t count) {
          take(s.at + done, {pages_[p].keys, count}, {pages_[p].weights, weighted_ ? count : 0});
          done += count;
        });
      told.advance(s.count);
      if (!in_turn) continue;
      std::lock_guard const hold(mutex);
      ++turn;
      moved.notify_all();
    }
  };
  // As many threads as have room, twice that of a share each.
  std::uint64_t const fit = std::max<std::uint64_t>(1, to_sort_ / (2 * std::max<std::uint64_t>(1, std::min(room, gathered_))));
  x_.threads().run(std::min<std::uint64_t>({x_.threads().threads(), shares.size(), fit}), 1, [&](std::uint64_t, std::uint64_t) {
    try {
      work();
    } catch (...) {
      std::lock_guard const hold(mutex);
      failed = true;
      next = shares.size();
      moved.notify_all();
      throw;
    }
  });
}

void arc_sorter::write_part() {
  phase const timed{"graph.write_run"};
  run r{runs_.empty() ? std::make_shared<scratch_file>(folder_) : runs_.back().file, 0, gathered_, real_, true};
  r.at = r.file->bytes();
  each_sorted(false, [&](std::uint64_t at, std::span<std::uint64_t const> keys, std::span<std::uint32_t const> weights) {
    r.file->write_at(r.at + at * 8, keys.data(), keys.size_bytes());
    if (weighted_) r.file->write_at(r.at + r.count * 8 + at * 4, weights.data(), weights.size_bytes());
  });
  runs_.push_back(std::move(r));
  ++runs_made_;
  gathered_ = 0;
  ranges_.assign(1, {});
  free_pages_.clear();
  for (std::size_t p = pages_.size(); p-- > 0;) free_pages_.push_back(static_cast<std::uint32_t>(p));
}

void arc_sorter::cut() {
  if (gathered_) write_part();
  keys_.clear(), weights_.clear(), pages_.clear(), free_pages_.clear();
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
  if (runs_.empty()) return;
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
  if (runs_.empty())
    return each_sorted(true,
                       [&](std::uint64_t, std::span<std::uint64_t const> keys, std::span<std::uint32_t const> with) { take(keys, with); });
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

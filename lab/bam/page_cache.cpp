#include "lab/bam/page_cache.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"

namespace garner::lab {

namespace {

using lanes::wide_word;

constexpr std::uint32_t most_ways = 32, nowhere = ~0u, referenced = 1u << 31;
constexpr std::uint64_t most_frames = 16384;
constexpr std::uint64_t no_page = ~std::uint64_t{0};
constexpr char const* use = "pages of a file";

// Pages by a number that scatters them over the sets, and sorts by set; and back again.
constexpr std::uint64_t scatter = 0x9e3779b97f4a7c15ull;
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;  // right in 3 bits, then in twice as many each time
  for (int k = 0; k < 5; ++k) inverse *= 2 - odd * inverse;
  return inverse;
}
constexpr std::uint64_t gather_back = inverse_of(scatter);
static_assert(scatter * gather_back == 1);

struct page_sets {
  std::uint64_t* keys;
  std::uint32_t *stamps, *hands;  // of a slot: the mini-batch that used it last, and whether since the hand went by
  std::uint32_t sets, strategies, now;
  GARNER_HD std::uint32_t set_of(std::uint64_t key) const { return static_cast<std::uint32_t>((key >> 32) * sets >> 32); }
};

struct row_bytes_in_file {
  row_places rows;
  std::uint64_t begin;
  std::uint32_t page_bytes;
  GARNER_HD std::uint64_t first(std::uint64_t row) const { return begin + rows(row); }
  GARNER_HD std::uint64_t first_page(std::uint64_t row) const { return first(row) / page_bytes; }
  GARNER_HD std::uint64_t last_page(std::uint64_t row) const { return (first(row) + rows.row_bytes - 1) / page_bytes; }
};

struct name_pages {  // of a row: as many keys as any has, some twice
  row_bytes_in_file at;
  std::uint64_t const* ids;
  std::uint64_t a_row;
  std::uint64_t* keys;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const first = at.first_page(ids[i]), last = at.last_page(ids[i]);
    for (std::uint64_t k = 0; k < a_row; ++k) keys[i * a_row + k] = smaller(first + k, last) * scatter;
  }
};

struct look_up {
  page_sets sets;
  std::uint64_t const* wanted;
  std::uint32_t* where;  // `nowhere` before
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t u) const {
    std::uint64_t const key = wanted[u], first = std::uint64_t{sets.set_of(key)} * sets.strategies;
    t.each(indices{first, first + sets.strategies}, [&](std::uint64_t slot) {
      if (sets.keys[slot] != key) return;
      where[u] = static_cast<std::uint32_t>(slot);
      sets.stamps[slot] = sets.now | referenced;
    });
  }
};

struct make_room {
  page_sets sets;
  std::uint64_t const* wanted;
  std::uint64_t n;
  std::uint32_t *where, *numbers;
  std::uint8_t *missing, *homeless;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t u) const {
    std::uint32_t const set = sets.set_of(wanted[u]);
    if (u && sets.set_of(wanted[u - 1]) == set) return;  // the first of a set serves all of it
    for (; u < n && sets.set_of(wanted[u]) == set; ++u) {
      numbers[u] = static_cast<std::uint32_t>(u);
      missing[u] = where[u] == nowhere;
      if (missing[u]) where[u] = take(set, wanted[u]);
      homeless[u] = where[u] == nowhere;
    }
  }

 private:
  GARNER_HD std::uint32_t take(std::uint32_t set, std::uint64_t key) const {
    std::uint32_t hand = sets.hands[set];
    for (std::uint32_t looked = 0; looked < 2 * sets.strategies; ++looked) {
      std::uint32_t const slot = set * sets.strategies + hand, stamp = sets.stamps[slot];
      hand = hand + 1 == sets.strategies ? 0 : hand + 1;
      if (sets.keys[slot] != no_page) {
        if ((stamp & ~referenced) == sets.now) continue;
        if (stamp & referenced) {
          sets.stamps[slot] = stamp & ~referenced;
          continue;
        }
      }
      sets.hands[set] = hand;
      sets.keys[slot] = key;
      sets.stamps[slot] = sets.now;
      return slot;
    }
    return nowhere;
  }
};

struct number_passing {
  std::uint32_t const* which;
  std::uint32_t* where;
  std::uint64_t slots;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    where[which[k]] = static_cast<std::uint32_t>(slots + k);
  }
};

// Pages on the device.
struct near_pages {
  char *slots, *passing;
  std::uint64_t count;
  std::uint32_t page_bytes;
  GARNER_HD char* operator[](std::uint32_t where) const {
    return where < count ? slots + std::uint64_t{where} * page_bytes : passing + (where - count) * page_bytes;
  }
};

struct bring_pages {
  request_queues_view queues;
  std::uint64_t const* wanted;
  std::uint32_t const *missing, *where;
  std::uint64_t *pages, n, tries;
  std::uint32_t *into, *results;
  char const* frames;
  near_pages to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    indices const mine{item * 32, smaller<std::uint64_t>(n, item * 32 + 32)};
    queues.read(t, mine, item + tries, pages, into, results);
    for (std::uint64_t k = mine.begin; k < mine.end; ++k) {
      if (results[k]) continue;
      auto const* const from = reinterpret_cast<wide_word const*>(frames + std::uint64_t{into[k]} * to.page_bytes);
      auto* const at = reinterpret_cast<wide_word*>(to[where[missing[k]]]);
      t.each(span<wide_word>{from, 0, to.page_bytes / sizeof *at}, [&](wide_word w, std::uint64_t i) { at[i] = w; });
    }
  }
};

struct name_requests {
  std::uint64_t const* wanted;
  std::uint32_t const* missing;
  std::uint64_t* pages;
  std::uint32_t *into, *results;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    pages[k] = wanted[missing[k]] * gather_back;
    into[k] = static_cast<std::uint32_t>(k);
    results[k] = request_queues_view::unread;
  }
};

template <class Word>
struct put_together {
  row_bytes_in_file file;
  near_pages pages;
  std::uint64_t const *ids, *wanted;
  std::uint64_t distinct;
  std::uint32_t const* where;
  std::uint8_t const* missing;
  char* rows;
  std::uint64_t *hits, *order;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t from = file.first(ids[i]), left = file.rows.row_bytes;
    char* to = rows + i * left;
    bool here = true;
    while (left) {
      std::uint64_t const page = from / file.page_bytes, begin = from % file.page_bytes;
      std::uint64_t const bytes = smaller(left, file.page_bytes - begin), u = find(page * scatter);
      here = here && !missing[u];
      char const* const at = pages[where[u]] + begin;
      t.each(indices{0, bytes / sizeof(Word)},
             [&](std::uint64_t k) { reinterpret_cast<Word*>(to)[k] = reinterpret_cast<Word const*>(at)[k]; });
      from += bytes, to += bytes, left -= bytes;
    }
    t.once([&] {
      order[i] = i;
      if (here) atomic_add(hits, std::uint64_t{1});
    });
  }

 private:
  GARNER_HD std::uint64_t find(std::uint64_t key) const {
    std::uint64_t first = 0, last = distinct;
    while (last - first > 1) {
      std::uint64_t const middle = (first + last) / 2;
      if (wanted[middle] <= key) first = middle;
      else last = middle;
    }
    return first;
  }
};

}  // namespace

page_cache::page_cache(execution_device where, std::shared_ptr<stored_rows const> file, row_view const& table, terms const& t)
    : where_(where), file_(std::move(file)), table_(table), terms_(t), places_(file_->places()) {
  std::uint64_t const page = places_.page_bytes, row = table.row_bytes;
  if (row == 0 || table.kept() == table.rows) return;
  pages_a_row_ = row % page == 0 && places_.begin % page == 0 ? row / page : places_.rows.per_page ? 1 : (row + page - 2) / page + 1;
  bool const near = where.kind != device_kind::cpu;
  // At the host pages stay where they come, but for those on their way.
  std::uint64_t const host_pages = t.host_bytes / page;
  std::uint64_t const frames = std::clamp<std::uint64_t>(near ? host_pages : host_pages / 4, 1, most_frames);
  if (host_pages < (near ? 1 : 2))
    fail(errc::usage, "{} of host memory for pages on their way from {}, and a page takes {} bytes; use more", t.host_bytes, file_->name(),
         page);
  std::uint64_t const all = (file_->files().size() + page - 1) / page;
  std::uint64_t const slots = std::min({near ? t.device_bytes / page : host_pages - frames, all, std::uint64_t{1} << 30});
  ways_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(slots, 1, most_ways));
  sets_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, slots / ways_));
  executor x(where);
  std::uint64_t const n = std::uint64_t{sets_} * ways_;
  pages_ = memory_block(x.near(), n * page, x.device(), use);
  keys_ = {x.near(), n, x.device(), use}, stamps_ = {x.near(), n, x.device(), use};
  hands_ = {x.near(), sets_, x.device(), use}, hits_ = {x.near(), 1, x.device(), use};
  terms_.service.device = x.device();
  if (terms_.service.queues < terms_.service.threads) terms_.service.queues = terms_.service.threads;
  terms_.service.wrong = [f = file_.get(), page](std::uint64_t offset, std::span<std::byte const> data) {
    return data.size() == page ? f->wrong(offset / page, data.data()) : std::string();
  };
  service_ = std::make_unique<queue_service>(file_->files(), terms_.service);
  queue_options o;
  o.page_bytes = static_cast<std::uint32_t>(page), o.frames = static_cast<std::uint32_t>(frames);
  o.time_out_seconds = 120;  // the deadline of the reader is the actual cause, and is reported first
  queues_ = std::make_unique<request_queues>(x, *service_, o);
  forget();
}

std::uint64_t page_cache::bytes() const { return queues_ ? std::uint64_t{queues_->frames()} * queues_->page_bytes() : 0; }
std::uint64_t page_cache::near_bytes() const { return pages_.bytes() + passing_.bytes() + rows_.bytes() + metadata_bytes(); }

void page_cache::forget() {
  executor x(where_);
  x.fill(keys_.data(), 0xff, keys_.bytes());
  x.fill(stamps_.data(), 0, stamps_.bytes());
  x.fill(hands_.data(), 0, hands_.bytes());
  x.wait();
  now_ = 0;
}

void page_cache::reset() {
  try {
    for (batch& b : entered_) idle_.push_back(std::move(b));
  } catch (std::bad_alloc const&) {  // it goes
  }
  entered_.clear();
  if (pages_a_row_) forget();
}

void page_cache::enter(executor& x, id_span ids) {
  batch b;
  if (!idle_.empty()) b = std::move(idle_.back()), idle_.pop_back();
  b.rows = pages_a_row_ ? finder_.find(x, table_, ids, b.ids, b.positions) : 0;
  entered_.push_back(std::move(b));
}

bool page_cache::gather(executor& x, void* out, gather_how how, stop_check const& stopped, figures& told) {
  if (entered_.empty()) fail(errc::internal, "a gather of a mini-batch that has not entered");
  batch& b = entered_.front();
  if (b.rows) {
    auto const clock = steady::now();
    try {
      if (!bring(x, b, stopped, told)) {
        forget();
        return false;
      }
    } catch (...) {
      try {
        forget();
      } catch (...) {  // the device is lost: the first error reports it
      }
      throw;
    }
    told.waited_ms += ms_since(clock);
    told.rows += b.rows;
    row_view from;
    from.rows = b.rows, from.row_bytes = table_.row_bytes;
    auto const* const rows = static_cast<char const*>(rows_.data());
    from.add(x.near(), b.rows, 1, &rows);
    id_order order;
    order.positions = b.positions.data();
    order.keys = order_.data();
    batch_list to;
    to.add({order_.data(), b.rows, 8, true}, out);
    if (how.scales) {
      std::vector<std::uint64_t> ids(b.rows);
      x.copy(ids.data(), b.ids.data(), b.rows * 8);
      x.wait();
      if (factors_.size() < b.rows) factors_ = {}, factors_ = {tier::host, b.rows + b.rows / 4, x.device(), use};
      for (std::uint64_t k = 0; k < b.rows; ++k) factors_[k] = terms_.factors[ids[k]];
      how.scales = factors_.data();
    }
    gather_rows(x, from, to, order, how);
    x.wait();  // the next takes the same memory
  }
  idle_.push_back(std::move(b));
  entered_.pop_front();
  return true;
}

// Copies all pages of a mini-batch to memory on the device, and assembles its rows.
bool page_cache::bring(executor& x, batch const& b, stop_check const& stopped, figures& told) {
  std::uint64_t const keys = b.rows * pages_a_row_, page = places_.page_bytes;
  if (keys >> 32)
    fail(errc::usage, "a mini-batch of {} rows of {} pages; one whose rows stand in a file has fewer than 2^32 pages", b.rows,
         pages_a_row_);
  auto const at_least = [&](auto& memory, std::uint64_t n) { grow(x, memory, n, use); };
  file_->files().require_unchanged();
  at_least(wanted_, keys), at_least(spare_, keys), at_least(distinct_, keys), at_least(order_, b.rows);
  at_least(at_, keys), at_least(numbers_, keys), at_least(missing_, keys), at_least(all_, keys), at_least(misses_, keys),
      at_least(homeless_, keys);
  at_least(rows_, b.rows * table_.row_bytes);

  row_bytes_in_file const file{places_.rows, places_.begin, places_.page_bytes};
  for_each_item<1>(x, b.rows, name_pages{file, b.ids.data(), pages_a_row_, wanted_.data()});
  auto const sorted = sort(x, wanted_.span().first(keys), spare_.span().first(keys));
  std::uint64_t const distinct = unique(x, sorted.data(), distinct_.data(), keys);

  if (++now_ == referenced) forget(), now_ = 1;
  page_sets const sets{keys_.data(), stamps_.data(), hands_.data(), sets_, ways_, now_};
  x.fill(at_.data(), 0xff, distinct * sizeof(std::uint32_t));
  for_each_item<32>(x, distinct, look_up{sets, distinct_.data(), at_.data()});
  for_each_item<1>(x, distinct, make_room{sets, distinct_.data(), distinct, at_.data(), numbers_.data(), misses_.data(), homeless_.data()});
  std::uint64_t const passing = select(x, numbers_.data(), homeless_.data(), all_.data(), distinct);
  std::uint64_t const missing = select(x, numbers_.data(), misses_.data(), missing_.data(), distinct);
  at_least(passing_, passing * page);
  for_each_item<1>(x, passing, number_passing{all_.data(), at_.data(), slots()});

  near_pages const near{static_cast<char*>(pages_.data()), static_cast<char*>(passing_.data()), slots(), places_.page_bytes};
  std::uint64_t const frames = queues_->frames();
  at_least(asked_, std::min(frames, missing)), at_least(into_, std::min(frames, missing)), at_least(results_, std::min(frames, missing));
  for (std::uint64_t done = 0; done < missing; done += frames) {
    if (stopped && stopped()) return false;
    std::uint64_t const n = std::min(frames, missing - done);
    std::uint32_t const* const which = missing_.data() + done;
    for_each_item<1>(x, n, name_requests{distinct_.data(), which, asked_.data(), into_.data(), results_.data()});
    queues_->run(x, [&](unsigned tries) {
      bring_pages const body{queues_->view(),
                             distinct_.data(),
                             which,
                             at_.data(),
                             asked_.data(),
                             n,
                             tries,
                             into_.data(),
                             results_.data(),
                             reinterpret_cast<char const*>(queues_->frame(0)),
                             near};
      for_each_item<32>(x, (n + 31) / 32, body);
    });
  }
  told.reads += missing, told.bytes += missing * page;

  x.fill(hits_.data(), 0, hits_.bytes());
  std::uint64_t const lies = places_.begin | table_.row_bytes | page | 16;
  auto const rows = [&](auto word) {
    for_each_item<32>(x, b.rows,
                      put_together<decltype(word)>{file, near, b.ids.data(), distinct_.data(), distinct, at_.data(), misses_.data(),
                                                   static_cast<char*>(rows_.data()), hits_.data(), order_.data()});
  };
  if (lies % 16 == 0) rows(wide_word{});
  else if (lies % 4 == 0) rows(std::uint32_t{});
  else rows(std::uint8_t{});
  told.hits += x.read(hits_.data());
  return true;
}

}  // namespace garner::lab

// See window.hpp. The kernels of a group: find missing rows and free slots, and assign slots.
#include "features/window.hpp"

#include <algorithm>
#include <bit>

#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/stats.hpp"

namespace garner {

namespace {

constexpr std::uint32_t none = ~0u, coming = none - 1;
constexpr std::uint64_t nobody = ~std::uint64_t{0};

struct find_missing {
  batch_list batches;
  row_view table;
  std::uint32_t *window_of, *used;
  std::uint32_t group, places;
  std::uint64_t* ids;
  std::uint8_t* fresh;
  std::uint32_t* far;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const id = batches.id(batches.batch_of(i), i);
    fresh[i] = 0, far[i] = 0, ids[i] = id;
    if (id >= table.rows || (table.segments && table.rank(id) < table.kept())) return;
    far[i] = 1;
    std::uint32_t const k = atomic_load(window_of + id);
    if (k < places) atomic_store(used + k, group);
    else if (k == none && atomic_cas(window_of + id, none, coming) == none) fresh[i] = 1;
  }
};
struct find_free {
  std::uint32_t const* used;
  std::uint32_t oldest;  // of the groups that may still read
  std::uint8_t* unused;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    unused[k] = used[k] < oldest;
  }
};
struct take_places {
  std::uint64_t const* ids;
  std::uint32_t const* free;
  std::uint64_t places;  // that are free
  std::uint64_t* owner;
  std::uint32_t *window_of, *used;
  std::uint32_t group;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const id = ids[i];
    if (i >= places) {
      window_of[id] = none;
      return;
    }
    std::uint32_t const k = free[i];
    if (owner[k] != nobody) window_of[owner[k]] = none;
    owner[k] = id, used[k] = group, window_of[id] = k;
  }
};

}  // namespace

row_window::row_window(execution_device where, row_view const& table, element kind, std::uint64_t most_bytes, unsigned multiprocessors)
    : x_(executor(where), executor::urgent{}), kind_(kind), most_bytes_(most_bytes), multiprocessors_(multiprocessors), table_(table) {
  now_ = make(0);
}

std::uint64_t row_window::places::bytes() const {
  return rows.bytes() + window_of.bytes() + used.bytes() + numbers.bytes() + free.bytes() + owner.bytes() + unused.bytes();
}

std::shared_ptr<row_window::places> row_window::make(std::uint64_t count) {
  constexpr char const* use = "the prefetch window";
  auto made = std::make_shared<places>();
  places& p = *made;
  p.rows = memory_block(x_.near(), count * table_.row_bytes, x_.device(), use);
  p.window_of = {x_.near(), table_.rows, x_.device(), use};
  p.used = {x_.near(), count, x_.device(), use}, p.numbers = {x_.near(), count, x_.device(), use};
  p.free = {x_.near(), count, x_.device(), use}, p.owner = {x_.near(), count, x_.device(), use};
  p.unused = {x_.near(), count, x_.device(), use};
  for_each_item<1>(x_, count, number_each<std::uint32_t>{p.numbers.data()});
  forget(p);
  return made;
}
// As if nothing were here.
void row_window::forget(places& p) {
  x_.fill(p.window_of.data(), 0xff, p.window_of.bytes());
  x_.fill(p.used.data(), 0, p.used.bytes());
  x_.fill(p.owner.data(), 0xff, p.owner.bytes());
  p.torn = false;
}

void row_window::make_room(std::uint64_t ids) {
  auto const at_least = [&](auto& b, std::uint64_t n) { grow(x_, b, n, "the prefetch window"); };
  at_least(ids_, ids), at_least(fresh_ids_, ids), at_least(spare_ids_, ids), at_least(fresh_, ids), at_least(far_, ids),
      at_least(far_before_, ids + 1);
  // Rows of two groups, all of them missing and distinct; limited by the table, and by the configured maximum.
  std::uint64_t const most =
      std::min<std::uint64_t>({most_bytes_ / std::max<std::uint64_t>(1, table_.row_bytes), table_.rows - table_.kept(), coming});
  std::uint64_t const wanted = std::min(most, 2 * ids), has = now_->used.size();
  bool const ends = group_ + 2 == none;  // of what groups are counted in
  if (has >= wanted && !now_->torn && !ends) return;
  if (!given_.out() && has >= wanted) {
    forget(*now_);
  } else {
    std::shared_ptr<places> next;
    try {
      next = make(std::max(has, std::min(most, wanted + wanted / 4)));
    } catch (error const& e) {
      if (e.code() != errc::memory || has == 0 || ends || (now_->torn && given_.out())) throw;
      if (now_->torn) forget(*now_);
      return;  // a smaller window serves as well, and slower
    }
    if (auto const before = std::exchange(now_, std::move(next)); before.use_count() == 1) x_.keep(before);
  }
  if (ends) group_ = 1;
}

row_window::fetched_rows row_window::fetch(std::span<id_span const> batches) {
  phase const timed{"load.window"};
  fetched_rows to;
  group_run& run = to.run;
  batch_list list;
  if (batches.size() > batch_list::most) fail(errc::usage, "a window of {} mini-batches; {} is the most", batches.size(), batch_list::most);
  for (id_span const& ids : batches) list.add(ids, nullptr);
  std::uint64_t const n = run.ids = list.total();
  if (full_ && given_.out()) fail(errc::internal, "rows of a group may come to places while the one before reads them where they lie");
  full_ = false;
  given_.settle(x_);
  bool const asks = n > 0 && table_.row_bytes > 0;
  if (asks) make_room(n), ++group_;
  places& p = *now_;
  auto const count = static_cast<std::uint32_t>(p.used.size());
  row_view view = table_;
  view.window_of = p.window_of.data(), view.window_rows = count, view.window = static_cast<char const*>(p.rows.data());
  if (asks) {
    p.torn = true;  // until all is done: what a fetch that ends in an error names may not have come
    for_each_item<1>(x_, n,
                     find_missing{list, table_, p.window_of.data(), p.used.data(), group_, count, ids_.data(), fresh_.data(), far_.data()});
    scan(x_, far_.data(), far_before_.data(), n);
    std::uint64_t const missing = select(x_, ids_.data(), fresh_.data(), fresh_ids_.data(), n);
    run.far = x_.read(far_before_.data() + n);
    if (missing) bring(p, missing, run);
    p.torn = false;
  }
  to.rows = given_.give(x_, view, group_, now_);
  bytes_ = p.bytes() + ids_.bytes() + fresh_ids_.bytes() + spare_ids_.bytes() + far_before_.bytes() + fresh_.bytes() + far_.bytes();
  return to;
}
// Ids of remote rows without a slot: these get one, and are fetched.
void row_window::bring(places& p, std::uint64_t missing, group_run& run) {
  std::uint64_t const count = p.used.size();
  std::span<std::uint64_t> const sorted =
      sort(x_, fresh_ids_.span().first(missing), spare_ids_.span().first(missing), static_cast<int>(std::bit_width(table_.rows)));
  for_each_item<1>(x_, count, find_free{p.used.data(), static_cast<std::uint32_t>(given_.oldest(group_)), p.unused.data()});
  std::uint64_t const free = select(x_, p.numbers.data(), p.unused.data(), p.free.data(), count);
  for_each_item<1>(x_, missing, take_places{sorted.data(), p.free.data(), free, p.owner.data(), p.window_of.data(), p.used.data(), group_});
  run.fetched = std::min(missing, free), run.left_far = missing - run.fetched;
  full_ = run.left_far > 0;
  id_order order;
  order.keys = sorted.data(), order.positions = p.free.data();
  batch_list rows;
  rows.add({sorted.data(), run.fetched, 8, true}, p.rows.data());
  gather_how how;
  how.strategy = gather_strategy::aligned, how.kind = how.to = kind_;
  limited_share const few(x_, multiprocessors_, multiprocessors_ ? 1024 : 0);  // in order they bring as much as all
  gather_rows(x_, table_, rows, order, how);
}

void gather_from(executor& x, row_view const& from, id_span ids, void* out, gather_how const& how) {
  batch_list one;
  one.add(ids, out);
  gather_rows(x, from, one, as_given(one), how);
}

}  // namespace garner

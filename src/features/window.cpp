// See window.hpp. The loops of a group: who is missing, which places are free, who gets which.
#include "features/window.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/device.hpp"
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
  std::uint32_t group;
  std::uint8_t* unused;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    unused[k] = used[k] + 1 < group;  // neither this group nor the one before, which is being handed over
  }
};
struct number_all {
  std::uint32_t* numbers;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    numbers[k] = static_cast<std::uint32_t>(k);
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

row_window::row_window(place where, row_view const& table, element kind, std::uint64_t most_bytes, unsigned multiprocessors)
    : x_(executor(where), executor::urgent{}), kind_(kind), most_bytes_(most_bytes), multiprocessors_(multiprocessors), view_(table) {
  window_of_ = {x_.near(), view_.rows, x_.device(), "the prefetch window"};
  x_.fill(window_of_.data(), 0xff, window_of_.bytes());
  x_.wait();
  view_.window_of = window_of_.data();
}

std::uint64_t row_window::bytes() const {
  return rows_.bytes() + window_of_.bytes() + used_.bytes() + numbers_.bytes() + free_.bytes() + far_.bytes() + owner_.bytes() +
         ids_.bytes() + fresh_ids_.bytes() + spare_ids_.bytes() + far_before_.bytes() + fresh_.bytes() + unused_.bytes();
}

void row_window::make_room(std::uint64_t ids) {
  auto const at_least = [&](auto& b, std::uint64_t n) { grow(x_, b, n, "the prefetch window"); };
  at_least(ids_, ids), at_least(fresh_ids_, ids), at_least(spare_ids_, ids), at_least(fresh_, ids), at_least(far_, ids),
      at_least(far_before_, ids + 1);
  // Two groups' rows, were none of them kept or asked for twice; but no more than the table has, or than it may.
  std::uint64_t const most =
      std::min<std::uint64_t>({most_bytes_ / std::max<std::uint64_t>(1, view_.row_bytes), view_.rows - view_.kept(), coming});
  std::uint64_t const wanted = std::min(most, 2 * ids);
  if (view_.window_rows >= wanted) return;
  x_.wait();
  if (x_.asynchronous()) device::wait_all(x_.device());  // who is handed rows of the window that goes
  std::uint64_t const places = std::min(most, wanted + wanted / 4);
  view_.window_rows = 0, view_.window = nullptr;  // memory may not be had
  rows_.reset();
  rows_ = memory_block(x_.near(), places * view_.row_bytes, x_.device(), "the prefetch window");
  used_ = {x_.near(), places, x_.device(), "the prefetch window"}, numbers_ = {x_.near(), places, x_.device(), "the prefetch window"};
  free_ = {x_.near(), places, x_.device(), "the prefetch window"}, owner_ = {x_.near(), places, x_.device(), "the prefetch window"};
  unused_ = {x_.near(), places, x_.device(), "the prefetch window"};
  for_each_item<1>(x_, places, number_all{numbers_.data()});
  forget();
  x_.wait();
  view_.window_rows = static_cast<std::uint32_t>(places);
  view_.window = static_cast<char const*>(rows_.data());
}
// As if nothing were here.
void row_window::forget() {
  x_.fill(window_of_.data(), 0xff, window_of_.bytes());
  x_.fill(used_.data(), 0, used_.bytes());
  x_.fill(owner_.data(), 0xff, owner_.bytes());
  group_ = 1;
}

row_window::group_run row_window::fetch(std::span<id_span const> batches) {
  phase const timed{"load.window"};
  group_run run;
  batch_list list;
  if (batches.size() > batch_list::most) fail(errc::usage, "a window of {} mini-batches; {} is the most", batches.size(), batch_list::most);
  for (id_span const& ids : batches) list.add(ids, nullptr);
  std::uint64_t const n = run.ids = list.total();
  full_ = false;
  if (n == 0 || view_.row_bytes == 0) return run;
  make_room(n);
  if (group_ + 2 == none) forget();
  ++group_;
  // Until all is done nothing is here: what a fetch that ends in an error names may not have come, and the next one makes room anew.
  std::uint32_t const has_places = std::exchange(view_.window_rows, 0);
  for_each_item<1>(x_, n,
                   find_missing{list, view_, window_of_.data(), used_.data(), group_, has_places, ids_.data(), fresh_.data(), far_.data()});
  scan(x_, far_.data(), far_before_.data(), n);
  std::uint64_t const missing = select(x_, ids_.data(), fresh_.data(), fresh_ids_.data(), n);
  run.far = x_.read(far_before_.data() + n);
  if (missing == 0) {
    view_.window_rows = has_places;
    return run;
  }
  std::span<std::uint64_t> const sorted =
      sort(x_, fresh_ids_.span().first(missing), spare_ids_.span().first(missing), static_cast<int>(std::bit_width(view_.rows)));
  for_each_item<1>(x_, has_places, find_free{used_.data(), group_, unused_.data()});
  std::uint64_t const places = select(x_, numbers_.data(), unused_.data(), free_.data(), has_places);
  for_each_item<1>(x_, missing, take_places{sorted.data(), free_.data(), places, owner_.data(), window_of_.data(), used_.data(), group_});
  run.fetched = std::min(missing, places), run.left_far = missing - run.fetched;
  full_ = run.left_far > 0;
  row_view far = view_;  // where the rows come from: not from here
  far.window_of = nullptr;
  id_order order;
  order.keys = sorted.data(), order.positions = free_.data();
  batch_list rows;
  rows.add({sorted.data(), run.fetched, 8, true}, rows_.data());
  gather_how how;
  how.way = gather_way::aligned, how.kind = how.to = kind_;
  {
    std::optional<limited_share> few;  // in order they bring as much as all
    if (multiprocessors_) few.emplace(x_, multiprocessors_, 1024);
    gather_rows(x_, far, rows, order, how);
  }
  view_.window_rows = has_places;
  return run;
}

void gather_from(executor& x, row_view const& from, id_span ids, void* out, gather_how const& how) {
  batch_list one;
  one.add(ids, out);
  gather_rows(x, from, one, as_given(one), how);
}

}  // namespace garner

#include "gnn/hot_rows.hpp"

#include <span>

#include "core/exec.hpp"
#include "core/primitives.hpp"

namespace garner {

namespace {

struct count_end {
  std::uint32_t const* ends;
  std::uint32_t* counts;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t e) const {
    atomic_add(counts + ends[e], 1u);
  }
};
struct class_of_row {
  std::uint32_t const* counts;
  std::uint64_t* keys;
  std::uint32_t* order;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    std::uint64_t below = 32;  // ~ as many halvings as it stands 0
    for (std::uint32_t n = counts[v]; n != 0; n /= 2) --below;
    keys[v] = below;
    order[v] = static_cast<std::uint32_t>(v);
  }
};
struct place_of_row {
  std::uint32_t const* order;
  std::uint32_t* place_of;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    place_of[order[k]] = static_cast<std::uint32_t>(k);
  }
};
struct rename_end {
  std::uint32_t const* ends;
  std::uint32_t const* place_of;
  std::uint32_t* to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t e) const {
    to[e] = place_of[ends[e]];
  }
};

}  // namespace

void hot_lists::take(executor& x, std::uint32_t const* ends, std::uint64_t edges, std::uint64_t rows, aggregated_widths const& widths,
                     std::uint64_t a_number, std::uint32_t* in_place) {
  auto const make = [&]<class T>(T, std::uint64_t n) { return buffer<T>(x.near(), n, x.device(), "an order of rows"); };
  alone_ = in_place && widths.widest * a_number < cache_line;
  a_number_ = a_number;
  own_ = {};
  if (!alone_) own_ = buffer<std::uint32_t>(x.near(), edges, x.device(), "lists in an order of rows");
  order_ = make(std::uint32_t{}, rows);
  auto const keys = make(std::uint64_t{}, rows), spare_keys = make(std::uint64_t{}, rows);
  auto const place_of = make(std::uint32_t{}, rows), spare = make(std::uint32_t{}, rows);
  std::uint32_t* const counts = place_of.data();  // until it is filled
  x.fill(counts, 0, place_of.bytes());
  for_each_item<1>(x, edges, count_end{ends, counts});
  for_each_item<1>(x, rows, class_of_row{counts, keys.data(), order_.data()});
  std::span<std::uint32_t> order(order_.data(), rows);
  sort_by_key(x, {keys.data(), rows}, {spare_keys.data(), rows}, order, {spare.data(), rows}, 6);
  if (order.data() != order_.data()) x.copy(order_.data(), order.data(), order_.bytes());
  for_each_item<1>(x, rows, place_of_row{order_.data(), place_of.data()});
  std::uint32_t* const to = alone_ ? in_place : own_.data();
  for_each_item<1>(x, edges, rename_end{ends, place_of.data(), to});
  ends_ = to;
  x.wait();
}

}  // namespace garner

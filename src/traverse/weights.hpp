// The weights of a graph, checked before shortest paths: their sum and their extremes, and the first that cannot be a length. Cost: one
// read of all weights.
#pragma once
#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/stats.hpp"
#include "traverse/distance.hpp"
#include "traverse/job.hpp"
#include "traverse/verify.hpp"

namespace garner {

namespace detail {

struct weight_tally {
  double sum = 0, largest = 0, least = 1e300;
  std::uint64_t bad = 0;
  GARNER_HD friend weight_tally operator+(weight_tally const& a, weight_tally const& b) {
    return {a.sum + b.sum, larger(a.largest, b.largest), smaller(a.least, b.least), a.bad + b.bad};
  }
};

GARNER_HD inline bool is_length(double weight) { return weight >= 0 && weight <= 3.5e38; }

template <class Measure>
struct tally_weights {
  arc_array<std::uint32_t> weights;
  std::uint64_t edges;
  weight_tally* of_block;
  static constexpr std::uint64_t block = 16384;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    weight_tally const mine = t.sum(weights.part(b * block, smaller(edges, (b + 1) * block)), [](std::uint32_t bits) {
      double const weight = Measure::weight(bits);
      return is_length(weight) ? weight_tally{weight, weight, weight, 0} : weight_tally{0, 0, 1e300, 1};
    });
    t.once([&] { of_block[b] = mine; });
  }
};

template <class Measure>
struct find_bad_weight {
  arc_array<std::uint32_t> weights;
  std::uint64_t edges, *first;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    using blocks = tally_weights<Measure>;
    t.each(weights.part(b * blocks::block, smaller(edges, (b + 1) * blocks::block)), [&](std::uint32_t bits, std::uint64_t i) {
      if (!is_length(Measure::weight(bits))) atomic_min(first, i);
    });
  }
};

// One edge, whatever the encoding of its lists.
template <class Id>
struct read_arc {
  csr_view<Id> g;
  std::uint64_t arc, *target_and_weight;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    span<Id> const one = g.arcs({arc, arc + 1});
    t.each(one, g.weights_of(one), [&](Id u, std::uint32_t bits, std::uint64_t) {
      target_and_weight[0] = u;
      target_and_weight[1] = bits;
    });
  }
};

}  // namespace detail

// The sum and maximum of all weights; each must be a valid length. Uses its own executor, which the traffic model does not count.
template <class Id, class Measure>
detail::weight_tally check_weights(graph const& g, csr_view<Id> const& view, execution_device where, access_mode how, bool in_file) {
  phase const timed{"sssp.weights"};
  executor x(where);
  std::optional<list_windows> windows;
  if (in_file) windows.emplace(x, g);
  // calls f(view, first block, blocks), over all of them or window by window
  auto const by_blocks = [&](bool targets, std::uint64_t first_block, std::uint64_t count, std::uint64_t block, auto const& f) {
    if (!windows) return f(view, first_block, count);
    windows->each(
        g.out, {targets, true, true}, count,
        [&](std::uint64_t k) {
          return indices{(first_block + k) * block, std::min(g.info.edges, (first_block + k + 1) * block)};
        },
        [&](list_window const& w) { f(w.over(view), first_block + w.first, w.last - w.first); });
  };
  using body = detail::tally_weights<Measure>;
  std::uint64_t const blocks = (g.info.edges + body::block - 1) / body::block;
  buffer<detail::weight_tally> of_block(x.near(), blocks, x.device(), "sums of weights");
  by_blocks(false, 0, blocks, body::block, [&](csr_view<Id> const& lists, std::uint64_t from, std::uint64_t count) {
    for_each_item<32>(x, count, beginning_at<body>{{lists.weights, g.info.edges, of_block.data()}, from}, how);
  });
  detail::weight_tally all;
  for (detail::weight_tally const& t : to_host(x, of_block)) all = all + t;
  if (all.bad) {
    buffer<std::uint64_t> first(x.near(), 1, x.device(), "sums of weights");
    x.fill(first.data(), 0xff, sizeof(std::uint64_t));
    by_blocks(false, 0, blocks, body::block, [&](csr_view<Id> const& lists, std::uint64_t from, std::uint64_t count) {
      using find = detail::find_bad_weight<Measure>;
      for_each_item<32>(x, count, beginning_at<find>{{lists.weights, g.info.edges, first.data()}, from}, how);
    });
    std::uint64_t const arc = x.read(first.data());
    std::uint64_t const* const offsets = g.out.offsets.data();
    auto const from = static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + g.info.vertices + 1, arc) - offsets) - 1;
    buffer<std::uint64_t> found(x.near(), 2, x.device(), "sums of weights");
    by_blocks(true, arc, 1, 1, [&](csr_view<Id> const& lists, std::uint64_t, std::uint64_t) {
      for_each_item<32>(x, 1, detail::read_arc<Id>{lists, arc, found.data()}, how);
    });
    std::vector<std::uint64_t> const to = to_host(x, found);
    fail(errc::input,
         "{}: edge {} -> {} has weight {}; shortest paths need finite weights from 0 up: mend the file or draw others with "
         "garner convert --random-weights 1:255",
         g.name, g.user_id(from), g.user_id(to[0]), Measure::weight(static_cast<std::uint32_t>(to[1])));
  }
  if (std::is_same_v<Measure, real_distance> && all.largest * static_cast<double>(g.info.vertices) > 1.7e38)
    fail(errc::input, "{}: weights up to {} over {} vertices could sum to more than f32 holds; scale them down", g.name, all.largest,
         g.info.vertices);
  return all;
}

}  // namespace garner

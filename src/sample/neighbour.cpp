// A hop is five loops over what it may draw (frontier x fanout items): choose positions in the lists, fetch the neighbours that stand there
// (the only far reads), mark who was drawn first, select those behind the rows so far, tell them their places.
// Invariant: slot[v] is the place of v among the rows, or none; while a hop runs, of a vertex not yet there: rows so far + the first item
// that drew it. So the smallest wins whichever thread comes first, and rows stand in the order of items at every place.
// Choosing: Floyd's sampling without replacement (Bentley, CACM 30(9) 1987): the k-th draw is uniform in [0, d - f + k]; what was drawn
// already becomes d - f + k itself. Each set of f positions is equally likely. f^2 / 2 comparisons, no table.
// Cost: 17 bytes an item, 8 a row, 4 a vertex; a far read of a sector an item where lists are longer than the fanout.
#include "sample/neighbour.hpp"

#include <algorithm>

#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "sample/lists.hpp"
#include "sample/score.hpp"

namespace garner {

namespace {

constexpr std::uint64_t nothing = ~std::uint64_t{0};
constexpr std::uint32_t none = ~0u;

// Uniform in [0, bound): the upper half of a product, so that lists of any length are drawn from alike.
GARNER_HD inline std::uint64_t below(std::uint64_t bits, std::uint64_t bound) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(bits) * bound >> 64);
}

struct choose {
  std::uint64_t const *rows, *offsets;
  std::uint64_t fanout, seed, stream;
  std::uint64_t* picks;  // places in the edge list, fanout each; nothing where a list is shorter
  std::uint64_t* drawn;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const v = rows[i], begin = offsets[v], degree = offsets[v + 1] - begin;
    std::uint64_t* const mine = picks + i * fanout;
    drawn[i] = smaller(degree, fanout);
    if (degree <= fanout) {
      for (std::uint64_t k = 0; k < fanout; ++k) mine[k] = k < degree ? begin + k : nothing;
      return;
    }
    std::uint64_t const key = random_bits(seed, stream, v);
    for (std::uint64_t k = 0; k < fanout; ++k) {
      std::uint64_t const last = degree - fanout + k;
      std::uint64_t pick = begin + below(mix(key + 0x9e3779b97f4a7c15ull * (k + 1)), last + 1);
      for (std::uint64_t j = 0; j < k; ++j)
        if (mine[j] == pick) pick = begin + last;
      mine[k] = pick;
    }
  }
};

template <class Id, bool Packed>
struct fetch {
  csr_view<Id> lists;
  std::uint64_t const* picks;
  std::uint64_t* found;
  std::uint32_t* slot;
  std::uint32_t base;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const at = picks[i];
    found[i] = nothing;
    if (at == nothing) return;
    t.each(known<Packed>(lists.arcs({at, at + 1})), [&](Id u) {
      found[i] = u;
      atomic_min(slot + u, base + static_cast<std::uint32_t>(i));
    });
  }
};

struct mark_first {
  std::uint64_t const* found;
  std::uint32_t const* slot;
  std::uint32_t base;
  std::uint8_t* first;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    first[i] = found[i] != nothing && slot[found[i]] == base + static_cast<std::uint32_t>(i);
  }
};

struct tell_places {
  std::uint64_t const* rows;
  std::uint64_t begin;
  std::uint32_t* slot;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    slot[rows[begin + i]] = static_cast<std::uint32_t>(begin + i);
  }
};

struct forget {
  std::uint64_t const* rows;
  std::uint32_t* slot;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    slot[rows[i]] = none;
  }
};

struct add_one {
  std::uint64_t const* rows;
  std::uint32_t* counts;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    ++counts[rows[i]];  // rows are all different
  }
};

}  // namespace

struct neighbour_sampler::impl {
  graph const& g;
  sample_options options;
  access_mode access;
  traffic_model model;
  executor x;
  placed_lists lists;
  buffer<std::uint32_t> slot;
  buffer<std::uint64_t> rows, picks, found, drawn;
  buffer<std::uint8_t> first;
  std::uint64_t count = 0, edges = 0;

  impl(graph const& graph_, place where, access_mode how, sample_options const& o)
      : g(graph_),
        options(o),
        access(how),
        model(how),
        x(where, &model),
        lists(near_lists(x, g, pulled_lists(g))),
        slot(x.near(), g.info.vertices, x.device(), "places of rows") {
    x.fill(slot.data(), 0xff, slot.bytes());
    x.wait();
  }
  virtual ~impl() = default;
  virtual void fetch_all(std::uint64_t items) = 0;

  // Room for at least n, what stands there kept. Grows by half, since on a device making room costs as much as a hop.
  template <class T>
  void make_room(buffer<T>& b, std::uint64_t n, std::uint64_t kept = 0) {
    if (b.size() >= n) return;
    x.wait();
    if (!kept) b = {};
    buffer<T> larger_one(x.near(), n + n / 2, x.device(), "a mini-batch");
    if (kept) x.copy(larger_one.data(), b.data(), kept * sizeof(T));
    x.wait();
    b = std::move(larger_one);
  }

  std::uint64_t sample(std::uint64_t number, std::uint64_t const* train, std::uint64_t n) {
    for_each_item<1>(x, count, forget{rows.data(), slot.data()});
    count = n;
    make_room(rows, n);
    if (n) x.copy(rows.data(), train, n * 8);
    for_each_item<1>(x, n, tell_places{rows.data(), 0, slot.data()});
    std::uint64_t begin = 0;
    for (std::size_t hop = 0; hop < options.fanouts.size(); ++hop) {
      check_interrupted();
      std::uint64_t const from = options.rule == hop_rule::all ? 0 : begin, drawing = count - from;
      std::uint64_t const fanout = options.fanouts[hop], items = drawing * fanout;
      if (drawing == 0) break;
      if (items + count >= none)
        fail(errc::usage,
             "a mini-batch of {} training vertices: hop {} would draw {} neighbours, and 2^32 is the most; say a smaller batch", n, hop + 1,
             items);
      make_room(rows, count + items, count);
      make_room(picks, items);
      make_room(found, items);
      make_room(first, items);
      make_room(drawn, drawing);
      for_each_item<1>(x, drawing,
                       choose{rows.data() + from, lists.offsets(), fanout, options.seed, number * 8 + hop, picks.data(), drawn.data()});
      edges += reduce_sum(x, drawn.data(), drawing);
      fetch_all(items);
      for_each_item<1>(x, items, mark_first{found.data(), slot.data(), static_cast<std::uint32_t>(count), first.data()});
      std::uint64_t const more = select(x, found.data(), first.data(), rows.data() + count, items);
      for_each_item<1>(x, more, tell_places{rows.data(), count, slot.data()});
      begin = count;
      count += more;
    }
    x.wait();
    return count;
  }
};

template <class Id>
struct neighbour_sampler::typed : neighbour_sampler::impl {
  using impl::impl;
  template <bool Packed>
  void fetch_of(csr_view<Id> const& v, std::uint64_t items) {
    // Neighbouring items may stand side by side; a thread takes one element, which no line can be begun for.
    for_each_item<1>(x, items, fetch<Id, Packed>{v, picks.data(), found.data(), slot.data(), static_cast<std::uint32_t>(count)},
                     access_mode::merged);
  }
  void fetch_all(std::uint64_t items) override {
    csr_view<Id> const v = lists.template view<Id>();
    if (!v.targets.packed) fetch_of<false>(v, items);
    else if constexpr (sizeof(Id) == 4) fetch_of<true>(v, items);
  }
};

std::uint64_t sampling_bytes(graph_info const& info, place where, sample_options const& o, std::uint64_t train) {
  std::uint64_t const n = info.vertices;
  std::uint64_t rows = std::min({n, o.batch, train}), drawing = 0, items = 0;
  for (std::uint64_t const fanout : o.fanouts) {
    drawing = std::max(drawing, rows);
    items = std::max(items, std::min<std::uint64_t>(rows * fanout, none));  // more is refused
    rows = std::min(n, rows * (fanout + 1));
  }
  std::uint64_t const batch = (drawing + items) * 8;  // its rows; before the last hop, so that others come behind them
  // make_room() takes half as much again, and what rows lay in stays until they are moved.
  return n * 4 + train * 8 + (where.kind == place_kind::device ? (n + 1) * 16 : 0) + (items * 17 + drawing * 8 + batch) / 2 * 3 + batch +
         64;
}

neighbour_sampler::neighbour_sampler(graph const& g, place where, access_mode access, std::optional<tier> edges,
                                     sample_options const& options) {
  check_sampling(options);
  pulled_lists(g);
  require_readable(g, where, access, edges);
  if (where.kind == place_kind::device) self_test(where.index);
  with_id_type(g.info, [&](auto id) { impl_ = std::make_unique<typed<decltype(id)>>(g, where, access, options); });
}
neighbour_sampler::~neighbour_sampler() = default;
neighbour_sampler::neighbour_sampler(neighbour_sampler&&) noexcept = default;

executor& neighbour_sampler::at() { return impl_->x; }
std::uint64_t neighbour_sampler::sample(std::uint64_t number, std::uint64_t const* train, std::uint64_t count) {
  phase const timed{"sample.batch"};
  return impl_->sample(number, train, count);
}
std::uint64_t const* neighbour_sampler::rows() const { return impl_->rows.data(); }
std::uint64_t neighbour_sampler::row_count() const { return impl_->count; }
std::uint64_t neighbour_sampler::edges_drawn() const { return impl_->edges; }
void neighbour_sampler::count_rows(std::uint32_t* counts) { for_each_item<1>(impl_->x, impl_->count, add_one{impl_->rows.data(), counts}); }
traffic neighbour_sampler::take_traffic() { return impl_->model.take(); }

}  // namespace garner

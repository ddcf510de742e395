#include "traverse/verify_sssp.hpp"

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "traverse/frontier.hpp"
#include "traverse/verify.hpp"

namespace garner {

namespace {

// The smallest (vertex, fault) found anywhere is reported, so that the message does not depend on timing.
enum class fault : std::uint64_t { none = 0, source, relaxes, no_tight_arc };

GARNER_HD inline void report(std::uint64_t* first, std::uint64_t v, fault what) {
  atomic_min(first, v << 8 | static_cast<std::uint64_t>(what));
}

template <class Id>
struct prove_source {
  Id source;
  std::uint32_t* proven;
  Id* parent;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    t.once([&] {
      proven[source / 32] |= 1u << source % 32;
      if (parent) parent[source] = source;
    });
  }
};

template <class Id, class Measure>
struct check_arcs {
  sssp_distances<Id, Measure> result;
  std::uint32_t* proven;  // bit v: a tight edge leads to v from a vertex with a smaller distance
  Id* parent;
  std::uint64_t* first_fault;
  indices only;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    auto const d = result.distance[v];
    if (d == Measure::infinity) return;
    span<Id> const list = clipped(result.g.list(v), only);
    t.each(list, result.g.weights_of(list), [&](Id u, std::uint32_t weight, std::uint64_t) {
      auto const sum = Measure::add(d, weight), there = result.distance[u];
      if (sum < there) report(first_fault, u, fault::relaxes);
      if (sum == there && d < there && t.claim(proven, u) && parent) parent[u] = static_cast<Id>(v);
    });
  }
};

// Counts reached vertices that are not proven.
template <class Measure>
struct count_unproven {
  typename Measure::word const* distance;
  std::uint64_t vertices, source;
  std::uint32_t const* proven;
  std::uint64_t *unproven, *first_fault;
  static constexpr std::uint64_t block = 1024;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      if (v == source && distance[v] != 0) report(first_fault, v, fault::source);
      return distance[v] != Measure::infinity && !has_bit(proven, v) ? std::uint64_t{1} : std::uint64_t{0};
    });
    t.once([&] {
      if (mine) atomic_add(unproven, mine);
    });
  }
};

template <class Measure>
struct report_unproven {
  typename Measure::word const* distance;
  std::uint32_t const* proven;
  std::uint64_t* first_fault;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    if (distance[v] != Measure::infinity && !has_bit(proven, v)) report(first_fault, v, fault::no_tight_arc);
  }
};

// Edges between vertices at equal distance, starting from those that are proven.
template <class Id, class Measure>
struct prove_level {
  static constexpr bool weighted = true;
  std::uint64_t const* offsets;
  typename Measure::word const* distance;
  std::uint32_t* proven;
  Id* parent;
  GARNER_HD void look_ahead(Id u) const { ask_soon(distance + u); }
  template <class Team>
  GARNER_HD void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint32_t weight, std::uint64_t arc) const {
    std::uint64_t const v = at.owner_of(offsets, arc);
    auto const d = distance[v];
    if (d != Measure::infinity && d == distance[u] && Measure::add(d, weight) == d && t.claim(proven, u) && parent)
      parent[u] = static_cast<Id>(v);
  }
};

struct newly_proven {
  std::uint32_t const* proven;
  std::uint32_t* known;
  GARNER_HD std::uint32_t word(std::uint64_t w) const { return proven[w] & ~known[w]; }
  GARNER_HD void take(std::uint64_t w, std::uint32_t bits) const { known[w] |= bits; }
};

constexpr char const* words[] = {  // of each fault
    "", "the source is not at distance 0", "an edge leads to it on a shorter path", "no path from the source is as short as its distance"};

}  // namespace

template <class Id, class Measure>
void verify_sssp(executor& x, sssp_distances<Id, Measure> const& result, graph const& g, access_mode how, Id* parent,
                 list_windows* windows) {
  phase const timed{"sssp.verify"};
  std::uint64_t const n = result.g.vertices, none = ~std::uint64_t{0};
  buffer<std::uint32_t> proven(x.near(), (n + 31) / 32, x.device(), "verification bitmap");
  buffer<std::uint64_t> found(x.near(), 2, x.device(), "verification");  // the first fault, and the number of unproven vertices
  std::uint64_t *const first_fault = found.data(), *const unproven = found.data() + 1;
  x.fill(proven.data(), 0, proven.bytes());
  x.fill(first_fault, 0xff, sizeof(std::uint64_t));
  if (parent) x.fill(parent, 0xff, n * sizeof(Id));
  auto const count = [&] {
    x.fill(unproven, 0, sizeof(std::uint64_t));
    using body = count_unproven<Measure>;
    for_each_item<32>(x, (n + body::block - 1) / body::block,
                      body{result.distance, n, result.source, proven.data(), unproven, first_fault});
    return x.read(unproven);
  };

  for_each_item<32>(x, 1, prove_source<Id>{static_cast<Id>(result.source), proven.data(), parent});
  auto const arcs_of = [&](csr_view<Id> const& lists, indices only) {
    sssp_distances<Id, Measure> here = result;
    here.g = lists;
    return check_arcs<Id, Measure>{here, proven.data(), parent, first_fault, only};
  };
  if (how == access_mode::strided) for_each_list<1>(x, windows, result.g, g, true, how, false, arcs_of);
  else for_each_list<32>(x, windows, result.g, g, true, how, true, arcs_of);
  if (count() != 0) {
    buffer<std::uint32_t> known(x.near(), proven.size(), x.device(), "verification bitmap");
    x.fill(known.data(), 0, known.bytes());
    frontier_options o;
    o.access = how == access_mode::copied ? access_mode::aligned : how;  // an in-place mode
    frontier<Id> front(x, g.info, result.g.offsets, o, arc_costs{.crosses = false});
    front.read_by(windows, g.out);
    while (front.gather(newly_proven{proven.data(), known.data()}).vertices) {
      check_interrupted();
      front.for_each_arc(result.g, prove_level<Id, Measure>{result.g.offsets, result.distance, proven.data(), parent});
    }
    for_each_item<1>(x, n, report_unproven<Measure>{result.distance, proven.data(), first_fault});
  }
  std::uint64_t const fault_found = x.read(first_fault);
  if (fault_found == none) return;
  fail(errc::internal, "{}: shortest paths from {} on {}, access {}: wrong at vertex {}: {}; {}", g.name, g.user_id(result.source),
       to_string(x.where()), to_string(how), g.user_id(fault_found >> 8), words[fault_found & 0xff], what_to_do(g));
}

GARNER_VERIFY_SSSP(std::uint32_t, whole_distance);
GARNER_VERIFY_SSSP(std::uint64_t, whole_distance);
GARNER_VERIFY_SSSP(std::uint32_t, real_distance);
GARNER_VERIFY_SSSP(std::uint64_t, real_distance);

}  // namespace garner

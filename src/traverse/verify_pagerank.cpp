#include "traverse/verify_pagerank.hpp"

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/stats.hpp"
#include "traverse/verify.hpp"

namespace garner {

namespace {

constexpr std::uint64_t block = 1024;  // vertices that a team reduces before it adds to the total

GARNER_HD inline double number_of(std::uint32_t bits, weight_kind kind) {
  if (kind == weight_kind::u32) return bits;
  float number;
  memcpy(&number, &bits, sizeof number);
  return static_cast<double>(number);
}

// The sum of each list's weights.
template <class Id>
struct weigh {
  csr_view<Id> g;
  weight_kind kind;
  double* leaving;
  indices only;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    span<Id> const list = clipped(g.list(v), only);
    t.each(list, g.weights_of(list), [&](Id, std::uint32_t w, std::uint64_t) { atomic_add(leaving + v, number_of(w, kind)); });
  }
};

template <class Id>
struct sum_dangling {
  pagerank_claim<Id> c;
  double const* leaving;  // null: use the degree
  double* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    double const mine = t.sum(indices{b * block, smaller(c.g.vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      bool const gives = leaving ? leaving[v] > 0 : c.g.degree(v) > 0;
      return gives ? 0.0 : static_cast<double>(c.rank[v]);
    });
    t.once([&] { atomic_add(total, mine); });
  }
};

template <class Id>
struct push_once {
  pagerank_claim<Id> c;
  double* pushed;
  std::uint32_t* arrived;  // null: not counted
  double const* leaving;   // null: unweighted
  weight_kind kind;
  indices only;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    if (leaving) {
      span<Id> const list = clipped(c.g.list(v), only);
      double const rank = static_cast<double>(c.rank[v]), all = leaving[v];
      t.each(list, c.g.weights_of(list), [&](Id u, std::uint32_t w, std::uint64_t) {
        if (all > 0) atomic_add(pushed + u, rank * (number_of(w, kind) / all));
      });
      return;
    }
    std::uint64_t const degree = c.g.degree(v);
    double const share = static_cast<double>(c.rank[v]) / static_cast<double>(degree ? degree : 1);
    t.each(clipped(c.g.list(v), only), [&](Id u) {
      atomic_add(pushed + u, share);
      if (arrived) atomic_add(arrived + u, 1u);
    });
  }
};

template <class Id>
struct compare {
  pagerank_claim<Id> c;
  double const *pushed, *dangling;
  std::uint32_t const* arrived;
  double* l1;
  std::uint64_t* first_fault;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    double const mine = t.sum(indices{b * block, smaller(c.g.vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      double const jump = c.jump ? static_cast<double>(c.jump[v]) : c.jump_all, rank = static_cast<double>(c.rank[v]);
      double const next = (1 - c.damping) * jump + c.damping * (pushed[v] + (c.redistribute ? *dangling * jump : 0));
      double const off = next - rank;
      // The comparison is written so that NaN ranks fail it.
      double const slack = next * (c.slack + (arrived ? c.slack_an_arc * arrived[v] : 0));
      bool const right = rank >= 0 && off >= -c.below - slack && off <= c.above + slack;
      if (!right) atomic_min(first_fault, v);
      return off < 0 ? -off : off;
    });
    t.once([&] { atomic_add(l1, mine); });
  }
};

}  // namespace

template <class Id>
void verify_pagerank(executor& x, pagerank_claim<Id> const& claim, graph const& g, access_mode how, list_windows* windows) {
  phase const timed{"pagerank.verify"};
  std::uint64_t const n = claim.g.vertices;
  if (n == 0) return;
  buffer<double> pushed(x.near(), n, x.device(), "verification"), sums(x.near(), 2, x.device(), "verification");
  buffer<std::uint64_t> first(x.near(), 1, x.device(), "verification");
  buffer<std::uint32_t> arrived(x.near(), claim.slack_an_arc > 0 ? n : 0, x.device(), "verification");
  x.fill(pushed.data(), 0, pushed.bytes());
  if (arrived.size()) x.fill(arrived.data(), 0, arrived.bytes());
  x.fill(sums.data(), 0, sums.bytes());
  x.fill(first.data(), 0xff, sizeof(std::uint64_t));
  double *const dangling = sums.data(), *const l1 = sums.data() + 1;
  std::uint64_t const blocks = (n + block - 1) / block;
  buffer<double> leaving(x.near(), claim.weighted ? n : 0, x.device(), "verification");
  if (claim.weighted) {
    x.fill(leaving.data(), 0, leaving.bytes());
    for_each_list<32>(x, windows, claim.g, g, true, how, true, [&](csr_view<Id> const& lists, indices only) {
      return weigh<Id>{lists, g.info.weights, leaving.data(), only};
    });
  }
  if (claim.redistribute) for_each_item<32>(x, blocks, sum_dangling<Id>{claim, leaving.data(), dangling});
  for_each_list<32>(x, windows, claim.g, g, claim.weighted, how, true, [&](csr_view<Id> const& lists, indices only) {
    pagerank_claim<Id> here = claim;
    here.g = lists;
    return push_once<Id>{here, pushed.data(), arrived.data(), leaving.data(), g.info.weights, only};
  });
  for_each_item<32>(x, blocks, compare<Id>{claim, pushed.data(), dangling, arrived.data(), l1, first.data()});
  std::uint64_t const found = x.read(first.data());
  double const distance = x.read(l1);
  if (found != ~std::uint64_t{0})
    fail(
        errc::internal, "{}: PageRank on {}, access {}: wrong at vertex {}: its rank is {} and its neighbors give it {}; {}", g.name,
        to_string(x.where()), to_string(how), g.user_id(found), x.read(claim.rank + found),
        [&] {
          double const jump = claim.jump ? static_cast<double>(x.read(claim.jump + found)) : claim.jump_all;
          return (1 - claim.damping) * jump +
                 claim.damping * (x.read(pushed.data() + found) + (claim.redistribute ? x.read(dangling) * jump : 0));
        }(),
        what_to_do(g));
  if (!(distance <= claim.l1))
    fail(errc::internal, "{}: PageRank on {}, access {}: wrong: one more step moves the ranks by {} (L1), where {} is allowed; {}", g.name,
         to_string(x.where()), to_string(how), distance, claim.l1, what_to_do(g));
}

template void verify_pagerank(executor&, pagerank_claim<std::uint32_t> const&, graph const&, access_mode, list_windows*);
template void verify_pagerank(executor&, pagerank_claim<std::uint64_t> const&, graph const&, access_mode, list_windows*);

}  // namespace garner

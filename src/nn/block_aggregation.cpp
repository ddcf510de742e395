// The contract's aggregation over a block: edges of the caller's, looked at before anything follows their numbers, then aggregate.hpp.
#include "garner/aggregate.hpp"

#include "core/call_chain.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "features/ask.hpp"
#include "graph/handle.hpp"
#include "nn/aggregate.hpp"

namespace garner {

namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};

struct look_at_edges {
  std::int64_t const *row, *col;
  std::uint64_t targets, sources;
  std::uint64_t* bad;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t e) const {
    bool const there = static_cast<std::uint64_t>(row[e]) < sources && static_cast<std::uint64_t>(col[e]) < targets;
    if (!there || (e > 0 && col[e - 1] > col[e])) atomic_min(bad, e);
  }
};

// Counts the edges of each target; the edges ascend by target.
template <class Real>
struct own_degree {
  std::int64_t const* col;
  Real const* weights;
  std::uint64_t edges;
  Real* degrees;
  GARNER_HD std::uint64_t first_of(std::int64_t v) const {
    std::uint64_t low = 0, high = edges;
    while (low < high) {
      std::uint64_t const middle = (low + high) / 2;
      if (col[middle] < v) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    std::uint64_t const begin = first_of(static_cast<std::int64_t>(v)), end = first_of(static_cast<std::int64_t>(v) + 1);
    Real sum = static_cast<Real>(end - begin);
    if (weights) {
      sum = 0;
      for (std::uint64_t e = begin; e < end; ++e) sum += weights[e];
    }
    degrees[v] = sum;
  }
};

}  // namespace

template <class Real>
struct block_aggregation<Real>::impl {
  executor x;
  relation_edges<Real> relation;
  buffer<std::uint64_t> bad, bad_here;
  buffer<Real> degrees;
  event checked;
  call_chain calls;
  bool ready = false;

  explicit impl(execution_device where) : x(where) {
    bad = {x.near(), 1, x.device(), "the status of an aggregation"};
    if (x.asynchronous()) bad_here = {tier::host, 1, x.device(), "the status of an aggregation"};
  }
  ~impl() { calls.end(); }
  impl(impl const&) = delete;

  void take(edges const& e, aggregation how, stream_ref stream) {
    if (how == aggregation::gcn && e.targets > e.sources)
      fail(errc::usage, "gcn over {} targets and {} sources; the targets are the first sources; pass at least as many sources", e.targets,
           e.sources);
    if (e.count && !(e.row && e.col)) fail(errc::usage, "{} edges and no ends", e.count);
    if (how == aggregation::gcn && !e.degrees && e.targets != e.sources)
      fail(errc::usage, "gcn over {} targets and {} sources, and no degrees; give those of the sources in the whole graph", e.targets,
           e.sources);
    require_readable(x, e.row, "edges");
    require_readable(x, e.col, "edges");
    require_readable(x, e.weights, "weights");
    require_readable(x, e.degrees, "degrees");
    ready = false;
    calls.run(x, stream, [&] {
      x.fill(bad.data(), 0xff, sizeof(std::uint64_t));
      for_each_item<1>(x, e.count, look_at_edges{e.row, e.col, e.targets, e.sources, bad.data()});
      std::uint64_t first = none;
      if (x.asynchronous()) {
        x.copy(bad_here.data(), bad.data(), sizeof(std::uint64_t));
        checked.record(x);
        checked.wait();
        first = bad_here[0];
      } else {
        first = bad[0];
      }
      if (first != none) refuse(e, first);
      sampled_subgraph::edges given;
      given.row = e.row, given.col = e.col, given.count = e.count;
      relation.take(x, given, e.targets, e.sources, e.count, nullptr, weight_kind::none, e.weights);
      if (how != aggregation::gcn) return relation.normalise(x, how, nullptr, nullptr, nullptr);
      // Without weights degrees are counts too; of weights nobody knows how many were left out.
      if (e.degrees) return relation.normalise(x, how, e.degrees, e.weights ? nullptr : e.degrees, nullptr);
      auto* const sums = room(x, degrees, e.targets, "degrees of a block");
      for_each_item<1>(x, e.targets, own_degree<Real>{e.col, e.weights, e.count, sums});
      relation.normalise(x, how, sums, nullptr, nullptr);
    });
    ready = true;
  }
  [[noreturn]] void refuse(edges const& e, std::uint64_t at) {
    std::int64_t const row = x.read(e.row + at), col = x.read(e.col + at);
    if (static_cast<std::uint64_t>(row) >= e.sources || static_cast<std::uint64_t>(col) >= e.targets)
      fail_id("edge {} from {} to {}: there are {} sources and {} targets", at, row, col, e.sources, e.targets);
    fail(errc::input, "edge {} to {} stands behind one to {}; sort edges by their targets", at, col, x.read(e.col + at - 1));
  }
  void require(Real const* in, Real const* out) {
    if (!ready) fail(errc::usage, "an aggregation without edges; take() some first");
    require_readable(x, in, "rows");
    require_readable(x, out, "outputs");
  }
};

template <class Real>
block_aggregation<Real>::block_aggregation(execution_device where) : impl_(as_error([&] { return std::make_unique<impl>(where); })) {}
template <class Real>
block_aggregation<Real>::~block_aggregation() = default;
template <class Real>
block_aggregation<Real>::block_aggregation(block_aggregation&&) noexcept = default;
template <class Real>
block_aggregation<Real>& block_aggregation<Real>::operator=(block_aggregation&&) noexcept = default;
template <class Real>
execution_device block_aggregation<Real>::device() const {
  return impl_->x.where();
}
template <class Real>
void block_aggregation<Real>::take(edges const& e, aggregation how, stream_ref stream) {
  as_error([&] { impl_->take(e, how, stream); });
}
template <class Real>
void block_aggregation<Real>::forward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream) {
  as_error([&] {
    impl& i = *impl_;
    i.require(in, out);
    i.calls.run(i.x, stream, [&] { i.relation.forward(i.x, {in, columns}, {out, columns}, i.relation.targets(), columns); });
  });
}
template <class Real>
void block_aggregation<Real>::backward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream) {
  as_error([&] {
    impl& i = *impl_;
    i.require(in, out);
    i.calls.run(i.x, stream, [&] {
      i.relation.backward(i.x, {in, columns}, {out, columns}, i.relation.targets(), i.relation.sources(), columns, {}, false);
    });
  });
}

template class block_aggregation<float>;
template class block_aggregation<double>;

}  // namespace garner

// Every score but the degree is rounds of one sum: each vertex sums the values of its targets (pull), then one step per vertex. The lists
// of 32 adjacent vertices are an item, summed one list after the other. A long list is cut into slices whose sums are added in order, so
// that a device gives the same bits each time.
// expected. For one mini-batch, hop by hop: P(v), that v is among its vertices, and M(v), that it is and has not yet sampled a given one of
// its in-neighbors. At a hop it samples each with s(v) = min(1, fanout / in-degree), so that
//   R(v) += M(v) s(v), that v has sampled u; P(u) = 1 - (1 - P0(u)) prod over targets v of u of (1 - R(v)),
// taking targets for independent. R grows only, and P of the last hop is what one mini-batch reads of u's row.
// The echo. In an undirected graph u may have brought v in itself, and v then samples u to no effect. What v adds to u counts only where v
// is there without u: of P(v) that is 1 - (1 - P(v)) / (1 - R(u)); to first order R(v) loses h(u) R(v) (1 - P(v)) / P(v), h = R / (1 - R).
// So the sum of the logarithms loses h(u) times a second sum, of back(v) = R(v) (1 - P(v)) / (P(v) (1 - R(v))). It separates neighbors of
// hubs from those of small vertices, where the plain product is wrong (docs/dev/papers.md).
// sampled: `expected`, and how often pre-sampled mini-batches of a few epochs read each row, blended (sample/blend.hpp).
// Cost: a round reads every edge once (expected, undirected: twice) and 4 random bytes of device memory each; three launches. Bytes per
// vertex: 16 (degree and the PageRanks), 40 (expected; directed: 28), sampled the same and then 20 and the sampler's own (sampling_bytes).
// Adjacency in a file is read whole each round, one staging buffer at a time; what is a long list there: rounds().
#include "sample/score.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "graph/transpose.hpp"
#include "sample/blend.hpp"
#include "sample/lists.hpp"
#include "sample/trace.hpp"

namespace garner {

namespace {

constexpr std::uint64_t slice = 4096, block = 2048;

// A slice of a long list.
struct long_slice {
  std::uint64_t vertex, begin, end;
};

template <class Id, bool Packed>
struct sum_short {
  csr_view<Id> out;
  float const* given;
  float* sum;
  bool in_window;  // of a file: it has none of those that are long together, which are others' work
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    std::uint64_t const first = w * 32, last = smaller(out.vertices, first + 32);
    std::uint64_t const* const offsets = out.offsets + first;
    auto const give = [&](Id v) { return given[v]; };
    std::uint64_t const arcs = offsets[last - first] - offsets[0];
    if (in_window && (arcs == 0 || arcs > slice)) return;
    if (arcs <= slice) {
      t.sum_lists(known<Packed>(out.arcs({offsets[0], offsets[last - first]})), offsets, static_cast<std::uint32_t>(last - first), give,
                  [&](std::uint32_t k, double part) { sum[first + k] = static_cast<float>(part); });
      return;
    }
    for (std::uint64_t v = first; v < last; ++v) {
      if (out.degree(v) == 0 || out.degree(v) > slice) continue;
      double const all = t.sum(known<Packed>(out.list(v)), [&](Id u) { return static_cast<double>(given[u]); });
      t.once([&] { sum[v] = static_cast<float>(all); });
    }
  }
};

template <class Id, bool Packed>
struct sum_slices {
  csr_view<Id> out;
  long_slice const* slices;
  float const* given;
  double* part;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    double const all =
        t.sum(known<Packed>(out.arcs({slices[i].begin, slices[i].end})), [&](Id u) { return static_cast<double>(given[u]); });
    t.once([&] { part[i] = all; });
  }
};

// A long vertex is an item; its slices follow each other.
struct sum_long {
  std::uint64_t const *vertex, *first;  // first: one more than there are
  double const* part;
  float* sum;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    double const all = t.sum(indices{first[i], first[i + 1]}, [&](std::uint64_t k) { return part[k]; });
    t.once([&] { sum[vertex[i]] = static_cast<float>(all); });
  }
};

template <class Id, bool Packed>
struct count_in {
  csr_view<Id> out;
  std::uint32_t* degree;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    t.each(known<Packed>(out.arcs({i * slice, smaller(out.edges, (i + 1) * slice)})), [&](Id v) { atomic_add(degree + v, 1u); });
  }
};

struct degree_of_lists {
  std::uint64_t const* offsets;
  std::uint32_t* degree;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    degree[v] = static_cast<std::uint32_t>(smaller<std::uint64_t>(offsets[v + 1] - offsets[v], 0xffffffffu));
  }
};

struct degree_score {
  std::uint64_t const* offsets;
  float* score;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    score[v] = static_cast<float>(offsets[v + 1] - offsets[v]);
  }
};

struct set_some {
  std::uint64_t const* which;
  float* at;
  float to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    at[which[i]] = to;
  }
};

struct times {
  float* at;
  float by;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    at[v] *= by;
  }
};

struct share_out {  // value that a vertex gives to each target; null without in-edges
  float const* score;
  std::uint32_t const* in_degree;
  float* given;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    given[v] = in_degree[v] ? score[v] / static_cast<float>(in_degree[v]) : 0;
  }
};

struct rank_step {
  std::uint64_t vertices;
  std::uint64_t const* offsets;
  float const* sum;
  float damping, jump;
  float* score;
  double* change;  // of each block
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    double const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      float const pulled = offsets[v] == offsets[v + 1] ? 0 : sum[v], next = jump + damping * pulled, old = score[v];
      score[v] = next;
      return static_cast<double>(next < old ? old - next : next - old);
    });
    t.once([&] { change[b] = mine; });
  }
};

struct fold_changes {
  std::uint64_t blocks;
  double* change;  // the sum comes behind the last
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    double const all = t.sum(indices{0, blocks}, [&](std::uint64_t b) { return change[b]; });
    t.once([&] { change[blocks] = all; });
  }
};

// Before a hop: which vertices sample, and what follows from it.
struct draw_step {
  std::uint32_t const* in_degree;
  float fanout;
  bool anew;               // vertices that sampled before sample again
  float const* there;      // P
  float *waiting, *drawn;  // M and R
  float* given;            // -log(1 - R)
  float *back, *echo;      // echo: h, of R before; null: no echo
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    float const d = static_cast<float>(in_degree[v]), s = d > fanout ? fanout / d : 1.0f, before = drawn[v], p = there[v];
    float const r = smaller(before + waiting[v] * s, 1 - 0x1p-24f);
    waiting[v] = anew ? waiting[v] * (1 - s) : 0;
    drawn[v] = r;
    given[v] = -log1pf(-r);
    if (!back) return;
    back[v] = p > 0 ? r * (1 - p) / (p * (1 - r)) : 0;
    echo[v] = before / (1 - before);
  }
};

// After a hop: which vertices are there.
struct reach_step {
  std::uint64_t const* offsets;
  float const *sum, *sum_back, *echo;  // null: no echo
  float const* start;                  // P0
  float *there, *waiting;              // P and M
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    float pulled = offsets[v] == offsets[v + 1] ? 0 : sum[v];
    if (echo && pulled > 0) pulled = larger(pulled - echo[v] * sum_back[v], 0.0f);
    float const now = start[v] + (1 - start[v]) * -expm1f(-pulled);
    float const more = larger(now - there[v], 0.0f);
    there[v] += more;
    waiting[v] += more;
  }
};

std::uint64_t blocks_of(std::uint64_t n) { return (n + block - 1) / block; }

// What all rounds share.
template <class Id>
class rounds {
 public:
  rounds(graph const& g, score_options const& o)
      : g_(g),
        o_(o),
        model_(access_to(o.edges)),
        x(o.device, &model_),
        n(g.info.vertices),
        lists_(near_lists(x, g, g.out)),
        score(near<float>("scores")),
        given_(near<float>("scores")),
        sum_(near<float>("scores")) {
    std::vector<std::uint64_t> vertex, first;
    std::uint64_t const* const offsets = g.out.offsets.data();
    if (g.in_file) windows_.emplace(x, g);
    std::vector<long_slice>& slices = slices_home_;
    for (std::uint64_t v = 0; v < n; ++v) {
      // In a staging buffer of a file an item is read whole: its 32 lists, if long together, are long ones each.
      indices const mine = windows_ ? arcs_of(v / 32) : indices{offsets[v], offsets[v + 1]};
      if (mine.end - mine.begin <= slice || offsets[v] == offsets[v + 1]) continue;
      vertex.push_back(v);
      first.push_back(slices.size());
      for (std::uint64_t i = offsets[v]; i < offsets[v + 1]; i += slice)
        slices.push_back({v, i, std::min<std::uint64_t>(i + slice, offsets[v + 1])});
    }
    first.push_back(slices.size());
    slices_ = near_values(x, slices, "long lists");
    vertex_ = near_values(x, vertex, "long lists");
    first_ = near_values(x, first, "long lists");
    part_ = buffer<double>(x.near(), slices.size(), x.device(), "long lists");
  }

  std::uint64_t const* offsets() const { return lists_.offsets(); }
  float* given() const { return given_.data(); }
  float const* sum() const { return sum_.data(); }  // of a vertex without out-edges: anything
  template <class T>
  buffer<T> near(char const* what) {
    return buffer<T>(x.near(), n, x.device(), what);
  }

  // to[u] = the sum of from[v] over the targets v of u.
  void add_up(float const* from, float* to) {
    check_interrupted();
    if (g_.out.packed_targets.empty()) add_up_of<false>(from, to);
    else if constexpr (sizeof(Id) == 4) add_up_of<true>(from, to);
  }
  void add_up() { add_up(given(), sum_.data()); }

  buffer<std::uint32_t> in_degrees() {
    auto degree = near<std::uint32_t>("in-degrees");
    if (g_.info.in_edges || !g_.info.directed) {
      placed_lists const in = near_lists(x, g_, g_.info.in_edges ? g_.in : g_.out);
      for_each_item<1>(x, n, degree_of_lists{in.offsets(), degree.data()});
      x.wait();
      return degree;
    }
    x.fill(degree.data(), 0, degree.bytes());
    std::uint64_t const items = (g_.info.edges + slice - 1) / slice;
    csr_view<Id> const out = lists_.template view<Id>();
    auto const range = [&](std::uint64_t i) { return indices{i * slice, std::min(g_.info.edges, (i + 1) * slice)}; };
    if (g_.out.packed_targets.empty()) each_list(items, count_in<Id, false>{out, degree.data()}, range);
    else if constexpr (sizeof(Id) == 4) each_list(items, count_in<Id, true>{out, degree.data()}, range);
    return degree;
  }

  void rank(score_result& r, std::vector<std::uint64_t> const& train, bool weighted) {
    auto const degree = in_degrees();
    auto const chosen = near_values(x, weighted ? train : std::vector<std::uint64_t>{}, "training set");
    std::uint64_t const blocks = blocks_of(n);
    buffer<double> change(x.near(), blocks + 1, x.device(), "sums");
    wait_at_end const settled(x);
    float const start = static_cast<float>(1.0 / static_cast<double>(n));
    for_each_item<1>(x, n, set_each<float>{score.data(), start});
    if (weighted)
      for_each_item<1>(x, chosen.size(),
                       set_some{chosen.data(), score.data(), static_cast<float>(1.0 / static_cast<double>(train.size()))});
    rank_step const step{n,
                         offsets(),
                         sum(),
                         static_cast<float>(o_.damping),
                         static_cast<float>((1 - o_.damping) / static_cast<double>(n)),
                         score.data(),
                         change.data()};
    std::uint64_t const most = weighted ? 5 : o_.most_iterations;
    r.converged = weighted;
    while (r.iterations < most && (weighted || !r.converged)) {
      for_each_item<1>(x, n, share_out{score.data(), degree.data(), given()});
      add_up();
      for_each_item<32>(x, blocks, step);
      ++r.iterations;
      if (weighted) continue;
      for_each_item<32>(x, 1, fold_changes{blocks, change.data()});
      r.l1_change = x.read(change.data() + blocks);
      r.converged = r.l1_change <= o_.tolerance;
    }
  }

  void expect(score_result& r, std::vector<std::uint64_t> const& train) {
    sample_options const& s = o_.sampling;
    auto const degree = in_degrees();
    auto const chosen = near_values(x, train, "training set");
    auto start = near<float>("expected accesses"), waiting = near<float>("expected accesses"), drawn = near<float>("expected accesses");
    bool const echoes = !g_.info.directed;
    buffer<float> back, echo, sum_back;
    if (echoes)
      for (buffer<float>* b : {&back, &echo, &sum_back}) *b = near<float>("expected accesses");
    wait_at_end const settled(x);
    std::uint64_t const batches = (train.size() + s.batch - 1) / s.batch;
    float const p = static_cast<float>(1.0 / static_cast<double>(batches));
    for (buffer<float>* b : {&start, &drawn}) for_each_item<1>(x, n, set_each<float>{b->data(), 0});
    for_each_item<1>(x, chosen.size(), set_some{chosen.data(), start.data(), p});
    x.copy(score.data(), start.data(), start.bytes());
    x.copy(waiting.data(), start.data(), start.bytes());
    for (std::uint32_t const fanout : s.fanouts) {
      for_each_item<1>(x, n,
                       draw_step{degree.data(), static_cast<float>(fanout), s.rule == hop_rule::all, score.data(), waiting.data(),
                                 drawn.data(), given(), back.data(), echo.data()});
      add_up();
      // Before the first hop nothing was sampled.
      if (echoes && r.iterations) add_up(back.data(), sum_back.data());
      for_each_item<1>(
          x, n,
          reach_step{offsets(), sum(), sum_back.data(), r.iterations ? echo.data() : nullptr, start.data(), score.data(), waiting.data()});
      ++r.iterations;
    }
    for_each_item<1>(x, n, times{score.data(), static_cast<float>(batches)});
  }

  // Both predictions; then mini-batches beforehand, counted.
  void presample(score_result& r, std::vector<std::uint64_t> const& train) {
    rank(r, train, true);
    std::vector<float> const weighted = fetched(score);
    score_result hops;
    expect(hops, train);
    r.iterations += hops.iterations;
    sample_options s = o_.sampling;
    s.seed = presampling_seed;
    r.score = fetched(score);
    neighbor_sampler sampler(g_, o_.device, o_.edges, s);
    auto const counts = near<std::uint32_t>("counts of rows");
    x.fill(counts.data(), 0, counts.bytes());
    x.wait();
    sample_epochs(sampler, s, train, o_.presample, [&](std::uint64_t) { sampler.count_rows(counts.data()); });
    sampler.at().wait();
    r.link += sampler.take_traffic();
    blend(r.score, weighted, fetched(counts), (train.size() + s.batch - 1) / s.batch, o_.presample);
  }

  void finish(score_result& r, steady::time_point start) {
    x.wait();
    r.ms = ms_since(start);
    r.link += model_.take();
    if (r.score.empty()) r.score = fetched(score);
  }

 private:
  template <class T>
  std::vector<T> fetched(buffer<T> const& from) {
    std::vector<T> to(from.size());
    if (!to.empty()) x.copy(to.data(), from.data(), from.bytes());
    x.wait();
    return to;
  }
  // For the 32 lists of an item.
  indices arcs_of(std::uint64_t item) const {
    std::uint64_t const* const offsets = g_.out.offsets.data();
    return {offsets[item * 32], offsets[std::min(n, item * 32 + 32)]};
  }
  // `range`: the edges that the kernel's item reads.
  template <class Body, class Range>
  void each_list(std::uint64_t items, Body const& body, Range const& range) {
    auto const run = [&](std::uint64_t first, std::uint64_t last, Body const& of) {
      beginning_at<Body> const some{of, first};
      for_each_item<32>(x, last - first, some);
    };
    if (!windows_) return run(0, items, body);
    windows_->each(g_.out, {true, false, true}, items, range, [&](list_window const& w) {
      Body some = body;
      some.out = w.over(some.out);
      run(w.first, w.last, some);
    });
  }
  template <bool Packed>
  void add_up_of(float const* from, float* to) {
    csr_view<Id> const out = lists_.template view<Id>();
    each_list((n + 31) / 32, sum_short<Id, Packed>{out, from, to, windows_.has_value()}, [&](std::uint64_t i) {
      indices const all = arcs_of(i);
      return all.end - all.begin <= slice ? all : indices{};
    });
    if (slices_.empty()) return;
    each_list(slices_.size(), sum_slices<Id, Packed>{out, slices_.data(), from, part_.data()}, [&](std::uint64_t i) {
      return indices{slices_home_[i].begin, slices_home_[i].end};
    });
    for_each_item<32>(x, vertex_.size(), sum_long{vertex_.data(), first_.data(), part_.data(), to});
  }

  graph const& g_;
  score_options const& o_;
  traffic_model model_;

 public:
  executor x;
  std::uint64_t const n;

 private:
  placed_lists lists_;

 public:
  buffer<float> score;

 private:
  std::optional<list_windows> windows_;  // of lists that stay in their file
  std::vector<long_slice> slices_home_;
  buffer<float> given_, sum_;
  buffer<long_slice> slices_;
  buffer<std::uint64_t> vertex_, first_;
  buffer<double> part_;
  wait_at_end settled_{x};
};

}  // namespace

void require_scorable(std::string const& name, graph_info const& info, score_options const& o) {
  if (!(o.damping >= 0 && o.damping < 1)) fail(errc::usage, "damping {}: use a number from 0 to less than 1", o.damping);
  if (!(o.tolerance > 0 && o.tolerance < 1e9)) fail(errc::usage, "tolerance {}: use a positive number", o.tolerance);
  if (o.most_iterations == 0) fail(errc::usage, "0 iterations: use 1 or more");
  require_out_edges(name, info);
  check_sampling(o.sampling);
  if (o.by == score_kind::sampled && (o.presample == 0 || o.presample > 1u << 16))
    fail(errc::usage, "{} epochs sampled beforehand: use 1 to 65,536", o.presample);
  if (o.by == score_kind::sampled) require_pulled_lists(name, info);
}

score_result score_vertices(graph const& g, score_options const& o, std::vector<std::uint64_t> const& train) {
  phase const timed{"sample.score"};
  require_scorable(g.name, g.info, o);
  score_options how = o;
  how.edges = require_readable(g, o.device, o.edges, true);
  if (o.device.kind == device_kind::cuda) self_test(o.device.index);
  score_result r;
  if (g.info.vertices == 0) return r;
  with_id_type(g.info, [&](auto id) {
    rounds<decltype(id)> job(g, how);
    job.x.wait();
    auto const start = steady::now();
    switch (o.by) {
      case score_kind::degree:
        for_each_item<1>(job.x, job.n, degree_score{job.offsets(), job.score.data()});
        break;
      case score_kind::expected:
        job.expect(r, train);
        break;
      case score_kind::sampled:
        job.presample(r, train);
        break;
      default:
        job.rank(r, train, o.by == score_kind::weighted_reverse_pagerank);
    }
    job.finish(r, start);
  });
  return r;
}

std::uint64_t score_bytes(graph_info const& info, score_options const& o, std::uint64_t train) {
  bool const on_device = o.device.kind == device_kind::cuda, counts = o.by == score_kind::sampled;
  std::uint64_t const long_lists = info.edges / slice;  // a list has at most one slice more than its full ones, and is a full one long
  std::uint64_t const predicting = info.vertices * (needs_sampling(o.by) ? 28 : 4) + (needs_training(o.by) ? train * 8 : 0);
  std::uint64_t const sampling = counts ? info.vertices * 4 + sampling_bytes(info, o.device, o.sampling, train) : 0;  // afterwards
  return info.vertices * 12 + std::max(predicting, sampling) + (on_device ? (info.vertices + 1) * 16 : 0) +
         2 * long_lists * (sizeof(long_slice) + 8) + long_lists * 16 + blocks_of(info.vertices) * 8 + 64;
}

}  // namespace garner

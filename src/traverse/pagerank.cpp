// Pull: an iteration scans the whole edge list in order, so that the link transfers whole lines. An item is a slice of the
// lists of 32 neighboring vertices; its team reduces one list at a time. A list within one slice is then complete. For a list
// cut by slices, each slice keeps its partial sum (`head`: the list began before, `tail`: it continues), and settle combines
// them in order. Sums are independent of timing, so results are bit-identical on each device. Weighted lists are reduced
// sequentially, in f64. Emogi: every vertex has a value and a residual; a round moves residuals above the tolerance into the
// values and pushes damping / degree of them to the out-neighbors (float atomics). Invariant between rounds: value[v] +
// residual[v] == (1 - damping) + damping (sum over u -> v of value[u] / degree[u]). Cost: pull: every edge once per iteration,
// 4 random local bytes per edge, three launches and one wait. Emogi: per round the edges of the active vertices. With several
// shards, each pulls along the lists of its own vertices, and copies the others' contributions and block sums once per
// iteration. Parts begin with a block, so items, sums and their order are those of a single device, and so are the bits.
#include "traverse/pagerank.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "memory/budget.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/spread.hpp"
#include "traverse/verify.hpp"
#include "traverse/verify_pagerank.hpp"

namespace garner {

namespace {

constexpr std::uint64_t block = pagerank_job::shard_grain;  // vertices that a team reduces
constexpr std::uint32_t slice = 4096;                       // elements per slice
constexpr std::uint64_t most_iterations = 1000, most_rounds = 5000;

// Sums over vertices.
struct totals {
  double change, dangling, ranks, most;
  GARNER_HD friend totals operator+(totals const& a, totals const& b) {
    return {a.change + b.change, a.dangling + b.dangling, a.ranks + b.ranks, larger(a.most, b.most)};
  }
};

// Reduces the blocks' sums, always in the same order.
struct fold {
  totals const* of_block;
  std::uint64_t blocks;
  totals* all;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    totals const sum = t.sum(indices{0, blocks}, [&](std::uint64_t b) { return of_block[b]; });
    t.once([&] { *all = sum; });
  }
};

// The results of an item.
struct list_sums {
  float* sum;
  double *head, *tail;
  // Stores the part of list k, from vertex `first` on, that lies in the slice.
  GARNER_HD void put(std::uint64_t i, std::uint64_t first, std::uint64_t const* offsets, std::uint32_t k, indices slice,
                     double part) const {
    if (offsets[k] < slice.begin) head[i] = part;
    else if (offsets[k + 1] > slice.end) tail[i] = part;
    else sum[first + k] = static_cast<float>(part);
  }
};

template <class Id, bool Packed>
struct pull_lists {
  csr_view<Id> in;
  cutter cut;
  frontier_item<Id> const* items;
  float const* given;  // rank / degree
  list_sums to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    frontier_item<Id> const at = items[i];
    std::uint64_t const* const offsets = in.offsets + at.first;
    indices const slice = cut.slice_at(offsets[0], offsets[at.length()], at.slice());
    t.sum_lists(
        known<Packed>(in.arcs(slice)), offsets, static_cast<std::uint32_t>(at.length()), [&](Id u) { return given[u]; },
        [&](std::uint32_t k, double part) { to.put(i, at.first, offsets, k, slice, part); });
  }
};

GARNER_HD inline double weight_of(std::uint32_t bits, bool real) {
  if (!real) return bits;
  float w;
  memcpy(&w, &bits, 4);
  return static_cast<double>(w);
}

// Weights range from 1e-45 to 3e38, so contributions need f64.
template <class Id>
struct pull_weighted {
  csr_view<Id> in;
  cutter cut;
  frontier_item<Id> const* items;
  double const* given;  // rank / sum of weights
  bool real;
  list_sums to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    frontier_item<Id> const at = items[i];
    std::uint64_t const* const offsets = in.offsets + at.first;
    indices const slice = cut.slice_at(offsets[0], offsets[at.length()], at.slice());
    for (std::uint32_t k = 0; k < at.length(); ++k) {
      span<Id> const list = clipped(in.arcs({offsets[k], offsets[k + 1]}), slice);
      if (list.begin == list.end) continue;
      double mine = 0;
      t.each(list, in.weights_of(list), [&](Id u, std::uint32_t w, std::uint64_t) { mine += given[u] * weight_of(w, real); });
      double const part = t.sum_of_lanes(mine);
      t.once([&] { to.put(i, at.first, offsets, k, slice, part); });
    }
  }
};

// The weight of the edges that leave each vertex.
template <class Id>
struct weigh_lists {
  csr_view<Id> out;
  indices only;
  bool real;
  double* weight;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    double const part = t.sum(out.weights_of(clipped(out.list(v), only)), [real = real](std::uint32_t w) { return weight_of(w, real); });
    t.once([&] { weight[v] += part; });
  }
};

// Reorders contributions by degree, so that the most frequently read ones are adjacent. Each vertex gets a position, highest degree first,
// equal within a factor of two. A copy of the adjacency has positions as targets. Reduction still follows each list's order, so ranks are
// bit-identical. Building the copy reads a position and writes an entry per edge: 1.3 iterations. With it an iteration takes a quarter less
// time, so it pays from the sixth on.
constexpr std::uint64_t least_iterations_by_degree = 6;
// Peak during the build: positions, plus the copy, or before it the keys to sort.
std::uint64_t bytes_by_degree(graph_info const& info) { return info.vertices * 4 + std::max(info.edges * 4, info.vertices * 2 * (8 + 4)); }
// Upper bound on iterations: a step changes the ranks by at most damping times the previous change, the first by 2.
std::uint64_t iterations_at_most(pagerank_options const& o) {
  if (o.iterations) return *o.iterations;
  double const tolerance = o.tolerance.value_or(1e-4);
  if (tolerance >= 2 || o.damping <= 0) return 1;
  return static_cast<std::uint64_t>(std::min(1000.0, 1 + std::ceil(std::log(tolerance / 2) / std::log(o.damping))));
}

struct order_key {
  std::uint64_t const* offsets;
  std::uint64_t* key;
  std::uint32_t* vertex;
  static constexpr int bits = 7;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    std::uint64_t const degree = offsets[v + 1] - offsets[v];
    std::uint64_t doublings = 0;
    for (std::uint64_t d = degree; d; d >>= 1) ++doublings;
    key[v] = 64 - doublings;
    vertex[v] = static_cast<std::uint32_t>(v);
  }
};
struct put_in_place {
  std::uint32_t const* vertex;
  std::uint32_t* place;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    place[vertex[i]] = static_cast<std::uint32_t>(i);
  }
};
struct copy_as_places {
  arc_array<std::uint32_t> targets;
  std::uint64_t edges;
  std::uint32_t const* place;
  std::uint32_t* to;
  static constexpr std::uint64_t block = 8192;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    t.each(known<false>(targets.part(b * block, smaller(edges, (b + 1) * block))),
           [&](std::uint32_t u, std::uint64_t i) { to[i] = place[u]; });
  }
};

// Computes the new ranks from the pulled sums.
struct settle {
  std::uint64_t const *in_offsets, *out_offsets;
  std::uint64_t vertices;
  cutter cut;
  std::uint64_t const* first_item;  // for each word of 32 vertices
  float const* sum;
  double const *head, *tail;
  float const* jump;  // null: jump_all for all
  double jump_all, damping;
  bool redistribute, start;  // start: ranks are the jump vector
  float *rank, *given;
  double const* weight;  // total weight of each vertex's out-edges; null: unweighted
  double* given_by_weight;
  std::uint32_t const* place;  // position of the contribution; null: the vertex itself
  totals const* before;
  totals* of_block;

  GARNER_HD double pulled(std::uint64_t v) const {
    std::uint64_t const begin = in_offsets[v], end = in_offsets[v + 1];
    if (begin == end) return 0;
    std::uint64_t const base = cut.base(in_offsets[v / 32 * 32]), first = (begin - base) / cut.slice, last = (end - 1 - base) / cut.slice;
    if (first == last) return static_cast<double>(sum[v]);
    std::uint64_t const item = first_item[v / 32];
    double all = tail[item + first];
    for (std::uint64_t p = first + 1; p <= last; ++p) all += head[item + p];
    return all;
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    double const shared = redistribute && !start ? damping * before->dangling : 0;
    totals const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      double const to = jump ? static_cast<double>(jump[v]) : jump_all;
      auto const next = static_cast<float>(start ? to : (1 - damping + shared) * to + damping * pulled(v));
      double const now = static_cast<double>(next), old = start ? now : static_cast<double>(rank[v]);
      std::uint64_t const degree = out_offsets[v + 1] - out_offsets[v], to_whom = place ? place[v] : v;
      rank[v] = next;
      if (weight) {
        if (degree || !place) given_by_weight[to_whom] = weight[v] > 0 ? now / weight[v] : 0;
        return totals{now < old ? old - now : now - old, weight[v] > 0 ? 0 : now, now, 0};
      }
      if (degree || !place) given[to_whom] = degree ? static_cast<float>(now / static_cast<double>(degree)) : 0;
      return totals{now < old ? old - now : now - old, degree ? 0 : now, now, 0};
    });
    t.once([&] { of_block[b] = mine; });
  }
};

struct set_residuals {
  float* residual;
  float to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    residual[v] = to;
  }
};

// Active: vertices whose residual exceeds the threshold. When taken, the residual moves to the value, and to the push buffer.
struct take_residuals {
  std::uint64_t const* offsets;
  std::uint64_t vertices;
  float threshold, damping;
  float *value, *residual, *delta;
  GARNER_HD std::uint32_t word(std::uint64_t w) const {
    std::uint32_t bits = 0;
    std::uint64_t const last = smaller(vertices, w * 32 + 32);
    for (std::uint64_t v = w * 32; v < last; ++v) bits |= residual[v] > threshold ? 1u << v % 32 : 0;
    return bits;
  }
  GARNER_HD void take(std::uint64_t w, std::uint32_t bits) const {
    for (; bits; bits &= bits - 1) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(bits)), degree = offsets[v + 1] - offsets[v];
      value[v] += residual[v];
      delta[v] = degree ? residual[v] * damping / static_cast<float>(degree) : 0;
      residual[v] = 0;
    }
  }
};

template <class Id>
struct push_residual {
  static constexpr bool weighted = false;
  float const* delta;
  float* residual;
  template <class Team>
  GARNER_HD void operator()(Team const&, frontier_item<Id> const& at, Id u, std::uint64_t) const {
    atomic_add(residual + u, delta[at.first]);
  }
};

struct sum_values {
  std::uint64_t vertices;
  float const *value, *residual;
  totals* of_block;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    totals const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      return totals{static_cast<double>(residual[v]), 0, static_cast<double>(value[v]), static_cast<double>(residual[v])};
    });
    t.once([&] { of_block[b] = mine; });
  }
};

std::uint64_t blocks_of(std::uint64_t vertices) { return (vertices + block - 1) / block; }
frontier_options cut_options(pagerank_options const& o) {
  frontier_options f;
  f.access = o.access;
  f.slice = slice;
  f.block_bytes = o.tuning.block_bytes;
  f.split = f.join = o.variant == pagerank_variant::pull;
  return f;
}
// A word of 32 vertices whose lists have e elements is cut into at most 1 + 2 e / slice slices.
std::uint64_t most_pieces(graph_info const& info) {
  return frontier<std::uint32_t>::words_of(info.vertices) + 2 * (info.edges / slice) + 1;
}

using clock = std::chrono::steady_clock;
double ms_between(clock::time_point a, clock::time_point b) { return std::chrono::duration<double, std::milli>(b - a).count(); }

}  // namespace

struct pagerank_job::impl {
  virtual ~impl() = default;
  virtual pagerank_run run() = 0;
  virtual std::vector<float> ranks() = 0;
  virtual job_setting const& setting() const = 0;

  struct over;
  template <class Id>
  struct pull;
  template <class Id>
  struct push;
  template <class Id>
  struct spread;
};

struct pagerank_job::impl::over : pagerank_job::impl {
  pagerank_options options;
  shard_seat at;
  job_setting job;
  executor& x = job.x;
  std::uint64_t const n, blocks;  // of its own vertices
  buffer<float> rank;
  buffer<totals> of_block, all;  // of all blocks
  shard_run had;

  over(shard_seat seat, pagerank_options const& o)
      : options(o),
        at(std::move(seat)),
        job(at.lists(), o.device, o.access, o.edges, o.tuning.l2_bytes,
            o.variant == pagerank_variant::emogi ? std::uint64_t{0} : o.graph_cache, o.weighted, at.alone() ? nullptr : &at),
        n(job.g.info.vertices),
        blocks(blocks_of(n)),
        rank(x.near(), n, x.device(), "ranks"),
        of_block(x.near(), blocks_of(at.vertices()), x.device(), "sums"),
        all(x.near(), 1, x.device(), "sums") {}

  job_setting const& setting() const override { return job; }
  pagerank_run run() override {
    pagerank_run r;
    r.weighted = options.weighted;
    if (at.vertices() == 0) {
      r.converged = true;
      return r;
    }
    job.start_afresh();
    had = {{at.first(), n, 0}, x.where(), 0, {}, 0};
    at.of_all(0);  // barrier: all begin together
    {
      phase const timed{"pagerank.iterations"};
      iterate(r, clock::now());
    }
    for (pagerank_round const& round : r.rounds) r.edges += round.edges;
    r.iterations = r.rounds.size();
    static counter seen{"pagerank.arcs"};
    if (at.shard() == 0) seen.add(r.edges);
    if (options.verify && at.alone()) {
      check(r);
      r.verified = true;
      job.model.take();
    }
    return r;
  }
  std::vector<float> ranks() override {
    std::vector<float> home(n);
    x.copy(home.data(), rank.data(), rank.bytes());
    x.wait();
    return home;
  }

  // Runs all rounds and fills in r: the rounds, the values derived from them, and r.ms.
  virtual void iterate(pagerank_run& r, clock::time_point start) = 0;
  virtual void check(pagerank_run const& r) = 0;

  void round_done(pagerank_run& r, pagerank_round round, traffic const& asked, clock::time_point& before) {
    clock::time_point const now = clock::now();
    r.link += asked;
    file_reads const read = job.take_file_reads();
    r.file += read;
    round.bytes_link = asked.bytes_link();
    round.file = read;
    round.ms = ms_between(before, now);
    r.ms += round.ms;
    r.rounds.push_back(round);
    before = now;
  }
  totals fold_blocks() {
    for_each_item<32>(x, 1, fold{of_block.data(), of_block.size(), all.data()});
    return x.read(all.data());
  }
};

template <class Id>
struct pagerank_job::impl::pull : pagerank_job::impl::over {
  cutter cut;
  buffer<std::uint64_t> first_item;
  buffer<frontier_item<Id>> items;
  buffer<float> given, sum, jump;
  buffer<double> head, tail, weight, given_by_weight;
  buffer<std::uint32_t> place, places;        // of each vertex, and of each target
  traffic a_sweep;                            // in closed form
  std::vector<frontier_item<Id>> items_home;  // for adjacency in a file
  csr_view<Id> in;
  struct tables {
    peer_table given, of_block;
  } theirs;  // of each shard's own
  wait_at_end settled{x};

  pull(shard_seat seat, pagerank_options const& o)
      : over(std::move(seat), o),
        cut(cut_options(o), job.g.info.id_bytes),
        given(x.near(), o.weighted ? 0 : at.vertices(), x.device(), "ranks"),
        sum(x.near(), n, x.device(), "ranks") {
    graph const& g = job.g;
    job.keep_first_arcs(true, o.weighted);
    in = job.template in_view<Id>();
    std::uint64_t const* const offsets = lists().offsets.data();
    arc_costs costs = job.costs(in, o.weighted);
    costs.looks_up = !o.weighted;  // for the ranks: matches sum_lists as compiled
    if (!g.info.compressed && !o.weighted) job.model.look_up_between_reads();
    if (costs.targets.blocks) costs.targets = lists().packed_targets.view().at;  // the host counts here
    if (costs.weights.blocks) costs.weights = lists().packed_weights.view().at;
    std::vector<std::uint64_t> first;
    std::vector<frontier_item<Id>> all_items;
    all_items.reserve(most_pieces(g.info));
    run_traffic asked{};
    for (std::uint64_t v = 0; v < n; v += 32) {
      std::uint64_t const end = std::min(n, v + 32);
      first.push_back(all_items.size());
      std::uint32_t const slices = cut.slices(offsets[v], offsets[end]);
      for (std::uint32_t p = 0; p < slices; ++p) {
        all_items.push_back(frontier_item<Id>::of(v, end - v, p));
        indices const slice = cut.slice_at(offsets[v], offsets[end], p);
        asked = asked + costs(slice.begin, slice.end);
      }
    }
    a_sweep.bytes_useful = asked.useful;
    for (std::size_t k = 0; k < 4; ++k) a_sweep.requests[k] = asked.requests[k];
    first_item = near(first, "positions");
    items = near(all_items, "slices");
    if (job.windows && x.asynchronous()) items_home = std::move(all_items);
    head = buffer<double>(x.near(), items.size(), x.device(), "slices");
    tail = buffer<double>(x.near(), items.size(), x.device(), "slices");
    if (!o.personalization.empty()) set_jump();
    if (o.weighted) weigh();
    if constexpr (sizeof(Id) == 4)
      if (g.info.edges && copies_by_degree()) copy_by_degree();
    x.wait();
  }
  void join(shard_group& group) {
    at.join(group, x);
    theirs = {at.table(x, own_given(), n), at.table(x, own_blocks(), blocks)};
  }
  // Contributions of this shard's own vertices, which begin with a block.
  float* own_given() const { return given.data() + at.first(); }
  totals* own_blocks() const { return of_block.data() + at.first() / block; }

  bool copies_by_degree() {
    if (!at.alone()) return false;
    graph_info const& info = job.g.info;
    if (options.by_degree.value_or(false) && (job.windows || (x.on_device() && !job.all_near())))
      fail(errc::usage, "{}: by_degree copies lists in the device's memory, and these lie in tier {}; leave it out, or use tier device",
           job.g.name, to_string(job.edges));
    if (options.by_degree) return *options.by_degree;
    if (!job.all_near() || !pagerank_job::may_copy_by_degree(info, options) || n * 4 <= device::describe(x.device()).l2_bytes) return false;
    // Degrees are first known here. Leaves a margin, as in the choice of a tier.
    if (detail::degrees_alike(job)) return false;
    budget const& allowed = device_budget(x.device());
    std::uint64_t const room = std::min(allowed.limit() - std::min(allowed.limit(), allowed.used()), device::memory(x.device()).free_bytes);
    return bytes_by_degree(info) <= room - room / 16;
  }
  void copy_by_degree() {
    phase const timed{"pagerank.by degree"};
    auto const start = clock::now();
    place = buffer<std::uint32_t>(x.near(), n, x.device(), "places");
    {
      buffer<std::uint64_t> key(x.near(), n, x.device(), "keys"), spare_key(x.near(), n, x.device(), "keys");
      buffer<std::uint32_t> vertex(x.near(), n, x.device(), "keys"), spare_vertex(x.near(), n, x.device(), "keys");
      for_each_item<1>(x, n, order_key{job.offsets(), key.data(), vertex.data()});
      std::span<std::uint32_t> sorted{vertex.data(), n};
      sort_by_key(x, {key.data(), n}, {spare_key.data(), n}, sorted, {spare_vertex.data(), n}, order_key::bits);
      for_each_item<1>(x, n, put_in_place{sorted.data(), place.data()});
      x.wait();
    }
    places = buffer<std::uint32_t>(x.near(), arcs(), x.device(), "lists by degree");
    for_each_item<32>(x, (arcs() + copy_as_places::block - 1) / copy_as_places::block,
                      copy_as_places{in.targets, arcs(), place.data(), places.data()});
    x.wait();
    in.targets = {};
    in.targets.data = places.data();
    job.device_cache.push_back({"lists, their targets by degree", place.bytes() + places.bytes(), ms_between(start, clock::now())});
  }
  void weigh() {
    given_by_weight = buffer<double>(x.near(), n, x.device(), "ranks");
    weight = buffer<double>(x.near(), n, x.device(), "weights");
    x.fill(weight.data(), 0, weight.bytes());
    for_each_list<32>(x, job.windows.get(), job.template view<Id>(), job.g, true, options.access, true,
                      [&](csr_view<Id> const& out, indices only) {
                        return weigh_lists<Id>{out, only, real(), weight.data()};
                      });
    x.wait();
  }
  bool real() const { return job.g.info.weights == weight_kind::f32; }
  std::uint64_t arcs() const { return job.g.info.edges; }

  // In an undirected graph both directions are the same; likewise without edges.
  edge_lists const& lists() const { return job.g.info.in_edges ? job.g.in : job.g.out; }
  std::uint64_t const* in_offsets() const { return in.offsets; }
  template <class T>
  buffer<T> near(std::vector<T> const& from, char const* what) {
    buffer<T> to(x.near(), from.size(), x.device(), what);
    if (!from.empty()) x.copy(to.data(), from.data(), to.bytes());
    x.wait();
    return to;
  }
  void set_jump() {
    std::vector<float> const share = shares();
    jump = near(std::vector<float>(share.begin() + static_cast<std::ptrdiff_t>(at.first()),
                                   share.begin() + static_cast<std::ptrdiff_t>(at.first() + n)),
                "personal start");
  }
  std::vector<float> shares() {  // of all vertices
    graph const& g = at.whole();
    std::vector<double> weight(at.vertices());
    double total = 0;
    for (auto const& [user, w] : options.personalization) {
      if (!(w >= 0) || !std::isfinite(w)) fail(errc::input, "personal weight {} of vertex {}: use a number from 0", w, user);
      weight[g.internal_id(user)] += w;
      total += w;
    }
    if (!std::isfinite(total)) fail(errc::input, "personal weights sum to {}: use smaller ones", total);
    if (total == 0) fail(errc::input, "personal weights are all 0: use one above 0");
    std::vector<float> share(weight.size());
    std::transform(weight.begin(), weight.end(), share.begin(), [&](double w) { return static_cast<float>(w / total); });
    return share;
  }

  template <bool Packed>
  void pull_all() {
    if (!job.windows) return pull_items<Packed>(in, 0, items.size());
    frontier_item<Id> const* const home = x.asynchronous() ? items_home.data() : items.data();
    std::uint64_t const* const offsets = lists().offsets.data();
    cutter const pieces = cut;
    job.windows->each(
        lists(), {true, options.weighted, true}, items.size(),
        [home, offsets, pieces](std::uint64_t k) {
          frontier_item<Id> const at = home[k];
          return pieces.slice_at(offsets[at.first], offsets[at.first + at.length()], at.slice());
        },
        [&](list_window const& w) { pull_items<Packed>(w.over(in), w.first, w.last - w.first); });
  }
  template <bool Packed>
  void pull_items(csr_view<Id> const& from, std::uint64_t first, std::uint64_t count) {
    list_sums const to{sum.data(), head.data() + first, tail.data() + first};
    auto const gather = [&](auto const& body) {
      if (options.access == access_mode::strided) for_each_item<1>(x, count, body, options.access);
      else for_each_item<32>(x, count, body, options.access);
    };
    if (!options.weighted) gather(pull_lists<Id, Packed>{from, cut, items.data() + first, given.data(), to});
    else if constexpr (!Packed) gather(pull_weighted<Id>{from, cut, items.data() + first, given_by_weight.data(), real(), to});
  }

  void iterate(pagerank_run& r, clock::time_point before) override {
    settle body{
        in_offsets(), job.offsets(), n,           cut,           first_item.data(),      sum.data(),
        head.data(),  tail.data(),   jump.data(), jump_all(),    options.damping,        options.dangling == dangling_mass::redistribute,
        true,         rank.data(),   own_given(), weight.data(), given_by_weight.data(), place.data(),
        all.data(),   own_blocks()};
    for_each_item<32>(x, blocks, body);
    share();
    fold_blocks();
    body.start = false;
    had.part.edges = lists().offsets[n] - lists().offsets[0];
    double const tolerance = options.tolerance.value_or(1e-4);
    std::uint64_t const most = options.iterations.value_or(most_iterations);
    while (r.rounds.size() < most && (options.iterations || !r.converged)) {
      check_interrupted();
      clock::time_point const begun = clock::now();
      if (options.weighted || !job.g.info.compressed || !in.targets.packed.at.blocks)
        pull_all<false>();  // weighted scans do their own lookup
      else if constexpr (sizeof(Id) == 4) pull_all<true>();
      for_each_item<32>(x, blocks, body);
      if (!at.alone()) x.wait();
      had.ms += ms_between(begun, clock::now());
      std::uint64_t const had_before = had.bytes_exchanged;
      share();
      totals const now = fold_blocks();
      traffic const asked = x.on_device() ? a_sweep : job.model.take();
      had.link += asked;
      auto const of_all = at.sum(round_sums{asked, had.bytes_exchanged - had_before});
      round_done(r, {at.vertices(), at.whole().info.edges, now.change, 0, 0, {}, of_all.exchanged}, of_all.asked, before);
      r.l1_change = now.change;
      r.rank_sum = now.ranks;
      r.converged = now.change <= tolerance;
    }
  }

  struct round_sums {
    traffic asked;
    std::uint64_t exchanged;
    round_sums operator+(round_sums const& b) const {
      round_sums c = *this;
      c.asked += b.asked, c.exchanged += b.exchanged;
      return c;
    }
  };
  double jump_all() const { return 1.0 / static_cast<double>(at.vertices()); }
  // Exchanges contributions and block sums among all shards. A shard that has more to settle waits until all have read them.
  void share() {
    if (at.alone()) return;
    shard_seat::turn others(at, x);
    had.bytes_exchanged += at.copy_others(x, theirs.given, given.data(), 1, sizeof(float)) +
                           at.copy_others(x, theirs.of_block, of_block.data(), block, sizeof(totals));
    others.close();
  }

  // The step maps ranks x < y to differences of at most damping |x - y|. So another step moves the ranks by at most damping times the last
  // change, plus f32 rounding.
  void check(pagerank_run const& r) override { check(r, job.view<Id>(), rank.data(), jump.data()); }
  void check(pagerank_run const& r, csr_view<Id> const& view, float const* ranks, float const* jumps) {
    bool const to_tolerance = r.converged && !options.iterations;
    double const allowed = options.damping * (to_tolerance ? options.tolerance.value_or(1e-4) : r.l1_change) + 2e-6;
    verify_pagerank(x,
                    pagerank_claim<Id>{view, ranks, jumps, jump_all(), options.damping, options.dangling == dangling_mass::redistribute,
                                       allowed, allowed, 0, 0, allowed, options.weighted},
                    at.whole(), options.access, job.windows.get());
  }
};

// With several shards. The certificate covers the whole result, on the first shard's device.
template <class Id>
struct pagerank_job::impl::spread : pagerank_job::impl {
  pagerank_options options;
  spread_job<pull<Id>> all;

  spread(graph const& g, pagerank_options const& o) : options(o), all(g, o, block, true) {}
  job_setting const& setting() const override { return all.first().job; }
  std::vector<float> ranks() override {
    return all.gathered([](pull<Id>& one) { return one.ranks(); });
  }
  pagerank_run run() override {
    pagerank_run r;
    all.on_each([&](pull<Id>& one) {
      pagerank_run mine = one.run();
      if (one.at.shard() == 0) r = std::move(mine);
    });
    for (std::size_t k = 0; k < all.size(); ++k) r.shards.push_back(all[k].had);
    if (!options.verify) return r;
    pull<Id>& one = all.first();
    graph const& g = one.at.whole();
    placed_lists const lists = out_lists_of_all(one.x, g);
    buffer<float> const rank = one.near(ranks(), "ranks"),
                        jump = one.near(options.personalization.empty() ? std::vector<float>{} : one.shares(), "personal start");
    one.check(r, lists.view<Id>(), rank.data(), jump.data());
    r.verified = true;
    one.job.model.take();
    return r;
  }
};

template <class Id>
struct pagerank_job::impl::push : pagerank_job::impl::over {
  buffer<float> residual, delta;
  csr_view<Id> out;
  frontier<Id> front;
  double residual_most = 0;
  wait_at_end settled{x};

  push(shard_seat seat, pagerank_options const& o)
      : over(std::move(seat), o),
        residual(x.near(), n, x.device(), "residuals"),
        delta(x.near(), n, x.device(), "residuals"),
        out(job.template view<Id>()),
        front(x, job.g.info, job.offsets(), cut_options(o), job.costs(out), job.template home<Id>()) {
    front.read_by(job.windows.get(), job.g.out);
  }

  float tolerance() const { return static_cast<float>(options.tolerance.value_or(0.001)); }

  void iterate(pagerank_run& r, clock::time_point before) override {
    auto const damping = static_cast<float>(options.damping);
    take_residuals take{job.offsets(), n, -1, damping, rank.data(), residual.data(), delta.data()};
    x.fill(rank.data(), 0, rank.bytes());
    for_each_item<1>(x, n, set_residuals{residual.data(), 1 - damping});
    front.gather(take);  // all of them, whatever the tolerance
    take.threshold = tolerance();
    std::uint64_t const most = options.iterations.value_or(most_rounds);
    while (front.size().vertices) {
      check_interrupted();
      frontier_size const size = front.size();
      front.for_each_arc(out, push_residual<Id>{delta.data(), residual.data()});
      // After the last round residuals stay in place, since none of them would be pushed.
      if (r.rounds.size() + 1 == most) take.threshold = std::numeric_limits<float>::infinity();
      front.gather(take);
      round_done(r, {size.vertices, size.edges, 0, 0, 0, {}, 0}, x.on_device() ? frontier<Id>::in_closed_form(size) : job.model.take(),
                 before);
    }
    for_each_item<32>(x, blocks, sum_values{n, rank.data(), residual.data(), of_block.data()});
    totals const now = fold_blocks();
    r.l1_change = now.change;
    r.rank_sum = now.ranks;
    residual_most = now.most;
    r.converged = now.most <= static_cast<double>(tolerance());
  }

  // A vertex's inflow exceeds its value by the residual. A sum of k floats has a relative error of at most k 2^-24.
  void check(pagerank_run const& r) override {
    double const residual_allowed = r.converged ? static_cast<double>(tolerance()) : residual_most;
    verify_pagerank(
        x,
        pagerank_claim<Id>{job.view<Id>(), rank.data(), nullptr, 1.0, options.damping, false, 1e-6, residual_allowed + 1e-6, 1e-4, 0x1p-24},
        job.g, options.access, job.windows.get());
  }
};

pagerank_job::pagerank_job(graph const& g, pagerank_options const& asked) {
  auto const start = std::chrono::steady_clock::now();
  pagerank_options o = asked;
  at_one_place(o);
  require_runnable(g.name, g.info, o);
  with_id_type(g.info, [&](auto id) {
    using id_type = decltype(id);
    if (!o.devices.empty()) impl_ = std::make_unique<impl::spread<id_type>>(g, o);
    else if (o.variant == pagerank_variant::pull) impl_ = std::make_unique<impl::pull<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::push<id_type>>(shard_seat(g), o);
  });
  prepare_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
void pagerank_job::require_runnable(std::string const& name, graph_info const& info, pagerank_options const& o) {
  bool const pulls = o.variant == pagerank_variant::pull;
  require_spread(name, info, o.devices, o.edges, o.access);
  if (o.devices.size() > 1 && !pulls)
    fail(errc::usage, "variant emogi is the paper's program, for one device; over {} devices use pull", o.devices.size());
  if (o.weighted && !pulls) fail(errc::usage, "variant emogi is the paper's program, whose edges all count the same; for weights use pull");
  if (o.weighted && o.devices.size() > 1)
    fail(errc::usage, "weighted ranks do not run over {} devices; use one device, or leave weighted out", o.devices.size());
  if (o.weighted && info.weights == weight_kind::none)
    fail(errc::input,
         "{}: has no weights; convert the graph again from a weighted file, or draw them with `garner convert --random-weights 1:255`, or "
         "leave "
         "weighted out",
         name);
  if (o.devices.size() > 1 && o.by_degree.value_or(false))
    fail(errc::usage, "by_degree over {} shards is not there; leave it out", o.devices.size());
  if (!(o.damping >= 0 && o.damping < 1)) fail(errc::usage, "damping {}: use a number from 0 to less than 1", o.damping);
  if (o.tolerance && !(*o.tolerance > 0 && *o.tolerance < 1e9)) fail(errc::usage, "tolerance {}: use a positive number", *o.tolerance);
  if (o.iterations && *o.iterations == 0) fail(errc::usage, "0 iterations: use 1 or more");
  if (!pulls && !o.personalization.empty()) fail(errc::usage, "a personal start goes with variant pull; variant emogi starts everywhere");
  if (pulls && o.access == access_mode::copied)
    fail(errc::usage, "access copied sends the lists of a frontier, and variant pull has none; use variant emogi");
  if (o.by_degree.value_or(false) && (!pulls || info.compressed || info.id_bytes != 4))
    fail(errc::usage, "{}: by_degree goes with variant pull over plain lists of 4-byte ids; leave it out{}", name,
         pulls && info.compressed ? ", or decompress the graph" : "");
  if (pulls && info.directed && !info.in_edges && info.edges)
    fail(errc::input,
         "{}: PageRank pulls along in-edges, and this directed graph lacks them; add them with `garner convert --in-edges`, or use "
         "variant emogi",
         name);
}
pagerank_job::~pagerank_job() = default;
pagerank_job::pagerank_job(pagerank_job&&) noexcept = default;

job_setting const& pagerank_job::setting() const { return impl_->setting(); }
pagerank_run pagerank_job::run() {
  pagerank_run r = impl_->run();
  r.prepare_ms = std::exchange(prepare_ms_, 0);
  return r;
}
std::vector<float> pagerank_job::ranks() { return impl_->ranks(); }

bool pagerank_job::may_copy_by_degree(graph_info const& info, pagerank_options const& o) {
  if (o.by_degree) return *o.by_degree;
  bool const near = o.device.kind == device_kind::cuda && o.edges.value_or(default_tier(o.device, o.access)) == tier::device;
  return near && o.variant == pagerank_variant::pull && !info.compressed && info.id_bytes == 4 && info.edges &&
         info.order != vertex_order::degree && iterations_at_most(o) >= least_iterations_by_degree;
}
std::uint64_t pagerank_job::state_bytes(graph_info const& info, pagerank_options const& o) {
  bool const on_device = o.device.kind == device_kind::cuda, pulls = o.variant == pagerank_variant::pull;
  std::uint64_t const offsets = on_device ? (info.vertices + 1) * 8 * (pulls && info.in_edges ? 2 : 1) : 0;
  std::uint64_t const both = info.vertices * 12 + (blocks_of(info.vertices) + 1) * sizeof(totals) + offsets;
  if (!pulls) return both + with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, cut_options(o)); });
  std::uint64_t const item = with_id_type(info, [](auto id) { return sizeof(frontier_item<decltype(id)>); }) + 16;
  return both + most_pieces(info) * item + (info.vertices + 31) / 32 * 8 + (o.personalization.empty() ? 0 : info.vertices * 4) +
         (o.weighted ? info.vertices * 12 : 0) + (may_copy_by_degree(info, o) && info.edges ? bytes_by_degree(info) : 0);
}

std::vector<ranked> highest_ranks(graph const& g, std::vector<float> const& ranks, std::size_t count) {
  std::vector<std::uint64_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  auto const top = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), top, order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return ranks[a] != ranks[b] ? ranks[a] > ranks[b] : g.user_id(a) < g.user_id(b);
  });
  std::vector<ranked> highest;
  for (auto v = order.begin(); v != top; ++v) highest.push_back({g.user_id(*v), ranks[*v]});
  return highest;
}

std::string_view to_string(pagerank_variant v) { return v == pagerank_variant::pull ? "pull" : "emogi"; }
std::string_view to_string(dangling_mass d) { return d == dangling_mass::redistribute ? "redistribute" : "drop"; }
pagerank_variant parse_pagerank_variant(std::string_view text) {
  if (text == "pull") return pagerank_variant::pull;
  if (text == "emogi") return pagerank_variant::emogi;
  fail(errc::usage, "variant '{}': use pull or emogi", text);
}
dangling_mass parse_dangling(std::string_view text) {
  if (text == "redistribute") return dangling_mass::redistribute;
  if (text == "drop") return dangling_mass::drop;
  fail(errc::usage, "dangling '{}': use redistribute or drop", text);
}

}  // namespace garner

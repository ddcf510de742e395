// PageRank by pulling: an iteration scans the whole edge list in order, so that the link transfers whole lines. An item is a slice of the
// lists of 32 neighboring vertices; its team reduces one list at a time. A list within one slice is then complete. For a list cut by
// slices, each slice keeps its partial sum (`head`: the list began before, `tail`: it continues), and settle combines them in order.
// Invariant: sums are independent of timing, so results are bit-identical on each device. Weighted lists are reduced sequentially, in f64.
// Cost: every edge once per iteration, 4 random local bytes per edge, three launches and one wait. With several shards, each pulls along
// the lists of its own vertices, and copies the others' contributions and block sums once per iteration. Parts begin with a block, so
// items, sums and their order are those of a single device, and so are the bits. The paper's program is in pagerank_push.hpp.
#include "traverse/pagerank.hpp"

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "core/words.hpp"
#include "traverse/by_degree.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank_kernels.hpp"
#include "traverse/pagerank_push.hpp"
#include "traverse/spread.hpp"
#include "traverse/verify.hpp"
#include "traverse/verify_pagerank.hpp"

namespace garner {

using namespace detail;

namespace {

constexpr std::uint64_t most_iterations = 1000;

std::uint64_t blocks_of(std::uint64_t vertices) { return (vertices + rank_block - 1) / rank_block; }
frontier_options cut_options(pagerank_asked const& o) {
  frontier_options f;
  f.access = o.access;
  f.slice = rank_slice;
  f.block_bytes = o.tuning.block_bytes;
  f.split = f.join = o.variant == pagerank_variant::pull;
  return f;
}
// A word of 32 vertices whose lists have e elements is cut into at most 1 + 2 e / slice slices.
std::uint64_t most_pieces(graph_info const& info) {
  return frontier<std::uint32_t>::words_of(info.vertices) + 2 * (info.edges / rank_slice) + 1;
}

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
  pagerank_asked options;
  shard_seat at;
  job_setting job;
  executor& x = job.x;
  std::uint64_t const n, blocks;  // of its own vertices
  buffer<float> rank;
  buffer<totals> of_block, all;  // of all blocks
  shard_run had;

  over(shard_seat seat, pagerank_asked const& o)
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
      iterate(r, steady::now());
    }
    for (pagerank_round const& round : r.rounds) r.edges += round.edges;
    r.iterations = r.rounds.size();
    if (options.first_alone) had.ms = r.ms, r.shards = {had};
    static counter seen{"pagerank.arcs"};
    if (at.shard() == 0) seen.add(r.edges);
    if (options.verify && at.alone()) {
      check(r);
      r.verified = true;
      job.model.take();
    }
    return r;
  }
  std::vector<float> ranks() override { return to_host(x, rank); }

  // Runs all rounds and fills in r: the rounds, the values derived from them, and r.ms.
  virtual void iterate(pagerank_run& r, steady::time_point start) = 0;
  virtual void check(pagerank_run const& r) = 0;

  void round_done(pagerank_run& r, pagerank_round round, traffic const& asked, steady::time_point& before) {
    steady::time_point const now = steady::now();
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
  lists_by_degree by_degree;
  traffic a_sweep;                            // in closed form
  std::vector<frontier_item<Id>> items_home;  // for adjacency in a file
  csr_view<Id> in;
  struct tables {
    peer_table given, of_block;
  } theirs;  // of each shard's own
  wait_at_end settled{x};

  pull(shard_seat seat, pagerank_asked const& o)
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
    first_item = to_device(x, first, "positions");
    items = to_device(x, all_items, "slices");
    if (job.windows && x.asynchronous()) items_home = std::move(all_items);
    head = buffer<double>(x.near(), items.size(), x.device(), "slices");
    tail = buffer<double>(x.near(), items.size(), x.device(), "slices");
    if (!o.personalization.empty()) set_jump();
    if (o.weighted) weigh();
    if constexpr (sizeof(Id) == 4)
      if (at.alone() && g.info.edges && copies_by_degree(job, o)) by_degree = copy_by_degree(job, in);
    x.wait();
  }
  void join(shard_group& group) {
    at.join(group, x);
    theirs = {at.table(x, own_given(), n), at.table(x, own_blocks(), blocks)};
  }
  // Contributions of this shard's own vertices, which begin with a block.
  float* own_given() const { return given.data() + at.first(); }
  totals* own_blocks() const { return of_block.data() + at.first() / rank_block; }

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
  void set_jump() {
    std::vector<float> const share = personal_start(at.whole(), options);
    jump = to_device(x,
                     std::vector<float>(share.begin() + static_cast<std::ptrdiff_t>(at.first()),
                                        share.begin() + static_cast<std::ptrdiff_t>(at.first() + n)),
                     "personal start");
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

  void iterate(pagerank_run& r, steady::time_point before) override {
    settle body{
        in_offsets(), job.offsets(), n,           cut,           first_item.data(),      sum.data(),
        head.data(),  tail.data(),   jump.data(), jump_all(),    options.damping,        options.dangling == dangling_mass::redistribute,
        true,         rank.data(),   own_given(), weight.data(), given_by_weight.data(), by_degree.place.data(),
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
      steady::time_point const begun = steady::now();
      if (options.weighted || !job.g.info.compressed || !in.targets.packed.at.blocks)
        pull_all<false>();  // weighted scans do their own lookup
      else if constexpr (sizeof(Id) == 4) pull_all<true>();
      for_each_item<32>(x, blocks, body);
      if (!at.alone()) x.wait();
      had.ms += ms_between(begun, steady::now());
      std::uint64_t const had_before = had.bytes_exchanged;
      share();
      totals const now = fold_blocks();
      traffic const asked = x.on_device() ? a_sweep : job.model.take();
      had.link += asked;
      auto const of_all = at.sum(round_sums{asked, {}, had.bytes_exchanged - had_before});
      round_done(r, {at.vertices(), at.whole().info.edges, now.change, 0, 0, {}, of_all.exchanged}, of_all.asked, before);
      r.l1_change = now.change;
      r.rank_sum = now.ranks;
      r.converged = now.change <= tolerance;
    }
  }

  double jump_all() const { return 1.0 / static_cast<double>(at.vertices()); }
  // Exchanges contributions and block sums among all shards. A shard that has more to settle waits until all have read them.
  void share() {
    if (at.alone()) return;
    shard_seat::turn others(at, x);
    had.bytes_exchanged += at.copy_others(x, theirs.given, given.data(), 1, sizeof(float)) +
                           at.copy_others(x, theirs.of_block, of_block.data(), rank_block, sizeof(totals));
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
  pagerank_asked options;
  spread_job<pull<Id>> all;

  spread(graph const& g, pagerank_asked const& o) : options(o), all(g, o, rank_block, true) {}
  job_setting const& setting() const override { return all.first().job; }
  std::vector<float> ranks() override {
    return all.gathered([](pull<Id>& one) { return one.ranks(); });
  }
  pagerank_run run() override {
    pagerank_run r = all.run();
    if (!options.verify) return r;
    pull<Id>& one = all.first();
    graph const& g = one.at.whole();
    placed_lists const lists = out_lists_of_all(one.x, g);
    buffer<float> const rank = to_device(one.x, ranks(), "ranks"),
                        jump = to_device(one.x, options.personalization.empty() ? std::vector<float>{} : personal_start(g, options),
                                         "personal start");
    one.check(r, lists.view<Id>(), rank.data(), jump.data());
    r.verified = true;
    one.job.model.take();
    return r;
  }
};

template <class Id>
struct pagerank_job::impl::push : pagerank_job::impl::over {
  residual_push<Id> pushes;

  push(shard_seat seat, pagerank_asked const& o) : over(std::move(seat), o), pushes(job, options, cut_options(o)) {}
  void iterate(pagerank_run& r, steady::time_point before) override {
    pushes.run(
        r, rank.data(), of_block.data(),
        [&](frontier_size const& size, traffic const& asked) {
          round_done(r, {size.vertices, size.edges, 0, 0, 0, {}, 0}, asked, before);
        },
        [&] { return fold_blocks(); });
  }
  void check(pagerank_run const& r) override { pushes.check(r, rank.data()); }
};

pagerank_job::pagerank_job(graph const& g, pagerank_asked const& asked) {
  auto const start = steady::now();
  pagerank_asked o = asked;
  at_one_place(o);
  require_runnable(g.name, g.info, o);
  with_id_type(g.info, [&](auto id) {
    using id_type = decltype(id);
    if (!o.devices.empty()) impl_ = std::make_unique<impl::spread<id_type>>(g, o);
    else if (o.variant == pagerank_variant::pull) impl_ = std::make_unique<impl::pull<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::push<id_type>>(shard_seat(g), o);
  });
  prepare_ms_ = ms_since(start);
}
void pagerank_job::require_runnable(std::string const& name, graph_info const& info, pagerank_asked const& o) {
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

bool pagerank_job::may_copy_by_degree(graph_info const& info, pagerank_asked const& o) {
  if (o.by_degree) return *o.by_degree;
  bool const near = o.device.kind == device_kind::cuda && o.edges.value_or(default_tier(o.device, o.access)) == tier::device;
  return near && o.variant == pagerank_variant::pull && !info.compressed && info.id_bytes == 4 && info.edges &&
         info.order != vertex_order::degree && iterations_at_most(o) >= least_iterations_by_degree;
}
std::uint64_t pagerank_job::state_bytes(graph_info const& info, pagerank_asked const& o) {
  bool const on_device = o.device.kind == device_kind::cuda, pulls = o.variant == pagerank_variant::pull;
  std::uint64_t const offsets = on_device ? (info.vertices + 1) * 8 * (pulls && info.in_edges ? 2 : 1) : 0;
  std::uint64_t const both = info.vertices * 12 + (blocks_of(info.vertices) + 1) * sizeof(totals) + offsets;
  if (!pulls) return both + with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, cut_options(o)); });
  std::uint64_t const item = with_id_type(info, [](auto id) { return sizeof(frontier_item<decltype(id)>); }) + 16;
  return both + most_pieces(info) * item + (info.vertices + 31) / 32 * 8 + (o.personalization.empty() ? 0 : info.vertices * 4) +
         (o.weighted ? info.vertices * 12 : 0) + (may_copy_by_degree(info, o) && info.edges ? bytes_by_degree(info) : 0);
}

constexpr word_table<pagerank_variant> pagerank_variants{"variant '{text}': use {a_or_b}", {"pull", "emogi"}};
std::string_view to_string(pagerank_variant value) { return pagerank_variants[value]; }
pagerank_variant parse_pagerank_variant(std::string_view text) { return pagerank_variants.parse(text); }

constexpr word_table<dangling_mass> dangling_masses{"dangling '{text}': use {a_or_b}", {"redistribute", "drop"}};
std::string_view to_string(dangling_mass value) { return dangling_masses[value]; }
dangling_mass parse_dangling(std::string_view text) { return dangling_masses.parse(text); }

}  // namespace garner

// Afforest: a union-find forest in which a larger root is linked under a smaller one. The first neighbors of every vertex
// are linked, and the trees compressed. By then one component holds most vertices; a sample identifies it. Only edges of the
// other vertices are then read, since in an undirected graph an edge between the two groups is stored at both ends. A
// directed graph stores an edge at one end, so all edges are read. Emogi: in rounds, both ends of every edge of an active
// vertex get the smaller of their labels; vertices whose label changed are active next. In a directed graph all vertices are
// active in every round, since an edge may be stored at an inactive vertex. Invariants: label[v] <= v is a vertex of v's
// component and never increases; at the end it is the smallest one, so the result does not depend on the order. A linked
// vertex never becomes a root again. With several shards, each has trees of all vertices, and links the edges of its own.
// When a shard links a root it does not own, it sets that root's bit for the owner, which applies the link to its own trees;
// rounds repeat until no shard links anything. Then the shards' entries for their own vertices form one forest: parents are
// smaller, and vertices united in any shard share a tree. Roots that are roots in one shard only are replaced by those above
// them, which their owners know. Traffic: n/8 bits and one id per root linked by another shard, and per such root. Cost:
// Afforest reads one or two sectors of each list, then the lists outside the largest component. Emogi reads the active
// vertices' lists in each round, in all some 4 to 6 times the edges. Memory: two ids per vertex, and the frontier.
#include "traverse/components.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/clock.hpp"
#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/census.hpp"
#include "traverse/forest.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/label_rounds.hpp"
#include "traverse/spread.hpp"
#include "traverse/verify.hpp"
#include "traverse/verify_components.hpp"

namespace garner {

using namespace detail;

namespace {

constexpr std::uint64_t samples = 1024;

// Flags the vertices of a word that are outside the largest component and have more edges than were linked.
template <class Id>
struct flag_others {
  Id const* label;
  Id largest;
  std::uint64_t const* offsets;
  std::uint64_t vertices, first;
  std::uint32_t* active;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    std::uint32_t const bits = t.sum(indices{w * 32, smaller(vertices, w * 32 + 32)}, [&](std::uint64_t v) {
      return label[v] != largest && offsets[v + 1] - offsets[v] > first ? std::uint32_t{1} << v % 32 : 0u;
    });
    t.once([&] { active[w] = bits; });
  }
};

bool is_emogi(components_asked const& o) { return o.variant == components_variant::emogi; }

frontier_options frontier_of(components_asked const& o) {
  // Joining lists does not help a CPU thread, and would need a search for the owner of each edge.
  bool const join =
      !is_emogi(o) && o.access == access_mode::aligned && o.tuning.vertices_per_team == 1 && o.device.kind != device_kind::cpu;
  return {o.access, !is_emogi(o), join, o.tuning.slice, o.tuning.vertices_per_team, o.tuning.block_bytes};
}

}  // namespace

struct components_job::impl {
  virtual ~impl() = default;
  virtual components_run run() = 0;
  virtual std::vector<std::uint64_t> labels() = 0;
  virtual job_setting const& setting() const = 0;
  template <class Id>
  struct over;
  template <class Id>
  struct spread;
};

template <class Id>
struct components_job::impl::over : components_job::impl {
  components_asked options;
  shard_seat at;
  job_setting job;
  executor& x = job.x;
  std::uint64_t const n;      // of its own vertices
  buffer<Id> label, members;  // of all vertices
  buffer<Id> drawn;
  buffer<std::uint32_t> active;
  buffer<census> counted;
  std::uint32_t const cached_per_vertex;
  buffer<std::uint32_t> cached_neighbors;  // for Afforest, instead of first neighbors
  csr_view<Id> out;
  frontier<Id> front;
  first_reads first;  // reads when linking first neighbors; the same in every run
  steady::time_point before;
  peer_table all_labels;  // of all vertices, of each shard
  hung_roots<Id> hung;
  shard_run had;
  std::uint64_t had_before = 0;
  wait_at_end settled{x};

  over(shard_seat seat, components_asked const& o)
      : options(o),
        at(std::move(seat)),
        job(at.lists(), o.device, o.access, o.edges, o.tuning.l2_bytes, is_emogi(o) ? std::uint64_t{0} : o.graph_cache, false,
            at.alone() ? nullptr : &at),
        n(job.g.info.vertices),
        label(x.near(), at.vertices(), x.device(), "labels"),
        members(x.near(), at.shard() == 0 ? at.vertices() : 0, x.device(), "sizes of components"),
        drawn(x.near(), samples, x.device(), "sample of labels"),
        active(x.near(), frontier<Id>::words_of(n), x.device(), "active bitmap"),
        counted(x.near(), 1, x.device(), "counters"),
        cached_per_vertex(
            !may_sample() ? 0
            : job.windows ? cached_in_file(job, std::nullopt)
            : job.edges == tier::host  // in device memory the adjacency itself is as fast: 12.9 against 19.2 ms
                ? at.cached_neighbors(cached_neighbors_within(job.g.info, job.g.cached_per_vertex, job.left(), options.first_neighbors))
                : 0),
        cached_neighbors(cached_lie_near(job) ? buffer<std::uint32_t>{} : make_cached_neighbors<Id>(job, cached_per_vertex)),
        out(first_arcs_kept()),
        front(x, job.g.info, job.offsets(), frontier_of(o), job.costs(out), job.home<Id>()),
        hung(x, at) {
    front.read_by(job.windows.get(), job.g.out);
    if (samples_first() && !cached_per_vertex) first = measure_first_reads(x, job.g.info, job.offsets(), options.first_neighbors);
  }
  void join(shard_group& group) {
    at.join(group, x);
    all_labels = at.table(x, label.data(), label.size());
    hung.join(all_labels);
  }
  Id* own_label() const { return label.data() + at.first(); }
  forest<Id> trees() { return {label.data(), static_cast<Id>(at.first()), static_cast<Id>(at.first() + n), hung.written()}; }
  csr_view<Id> first_arcs_kept() {
    job.keep_first_arcs(false, false);
    return job.view<Id>();
  }
  job_setting const& setting() const override { return job; }

  bool may_sample() const {
    return !is_emogi(options) && !job.g.info.directed && options.first_neighbors > 0 && options.access != access_mode::copied;
  }
  // Disabled for access copied, or for a file without stored cached neighbors: picking the first out of each list costs as much as reading
  // it whole.
  bool samples_first() const { return may_sample() && (!job.windows || cached_per_vertex); }

  void flatten_own() { for_each_item<1>(x, n, flatten<Id>{label.data(), at.first()}); }
  // Copies the labels of other shards' vertices from their owners.
  void copy_labels() {
    shard_seat::turn others(at, x);
    for (std::uint32_t k = 0; k < at.shards() && !at.alone(); ++k) {
      if (k == at.shard()) continue;
      x.copy(label.data() + at.first(k), all_labels.template row<Id>(k, at.first(k)), at.count(k) * sizeof(Id));
      had.bytes_exchanged += at.count(k) * sizeof(Id);
    }
    others.close();
  }

  struct common_label {
    Id label;
    double vertices;  // estimated number with that label
  };
  // The most common label in a sample over all shards, and its label here. Waits.
  Id most_common_of_all() {
    common_label most = most_common(own_label(), n);
    if (at.alone()) return most.label;
    for (common_label const& c : at.of_all(most))
      if (c.vertices > most.vertices || (c.vertices == most.vertices && c.label < most.label)) most = c;
    for_each_item<1>(x, 1, flatten<Id>{label.data(), most.label});
    return x.read(label.data() + most.label);
  }
  // The most common of `count` labels. Waits.
  common_label most_common(Id const* from, std::uint64_t count) {
    if (count == 0) return {};
    for_each_item<1>(x, samples, draw_labels<Id>{from, count, options.seed, drawn.data()});
    std::vector<Id> seen = to_host(x, drawn);
    std::sort(seen.begin(), seen.end());
    Id best = seen[0];
    std::size_t most = 0;
    for (std::size_t i = 0, end; i < samples; i = end) {
      for (end = i; end < samples && seen[end] == seen[i];) ++end;
      if (end - i > most) most = end - i, best = seen[i];
    }
    return {best, static_cast<double>(most) * static_cast<double>(count)};
  }

  // Ends a phase: its requests have completed.
  void book(components_run& r, components_phase::kind what, first_reads const& size) {
    traffic const asked = x.on_device() ? size.link : job.model.take();
    file_reads const read = job.take_file_reads();
    had.link += asked;
    auto const all =
        at.sum(round_sums{asked, {}, had.bytes_exchanged - std::exchange(had_before, had.bytes_exchanged), size.vertices, size.edges});
    steady::time_point const now = steady::now();
    r.link += all.asked;
    r.file += read;
    r.edges += all.edges;
    r.phases.push_back({what, all.vertices, all.edges, all.asked, ms_between(before, now), read, all.exchanged});
    before = now;
  }
  // Runs work of this shard alone, and waits for it.
  template <class F>
  void own_work(F const& f) {
    steady::time_point const begun = steady::now();
    f();
    if (at.alone()) return;
    x.wait();
    had.ms += ms_since(begun);
  }

  void book(components_run& r, components_phase::kind what, frontier_size const& size) {
    book(r, what, first_reads{size.vertices, size.edges, frontier<Id>::in_closed_form(size)});
  }

  void run_afforest(components_run& r) {
    if (samples_first()) {
      cached_neighbors_view const near(cached_lie_near(job) ? job.g.cached_neighbors.data() : cached_neighbors.data(), n,
                                       cached_per_vertex);
      // With four cached neighbors, each is the best of its class only, so all are linked.
      std::uint32_t const linked = !cached_per_vertex           ? options.first_neighbors
                                   : near.narrow || job.windows ? cached_per_vertex
                                                                : std::min(options.first_neighbors, cached_per_vertex);
      own_work([&] {
        if (cached_per_vertex) for_each_item<1>(x, n, link_cached_neighbors<Id>{near, linked, trees()});
        else if (x.where().kind == device_kind::cpu) for_each_item<1>(x, (n + 31) / 32, link_first<Id, 32>{out, trees(), linked});
        else  // Whole warps: the model of a simulated run assumes fewer than 32 teams for wide ones.
          for_each_item<1>(x, (n + 31) / 32 * 32, link_first<Id, 1>{out, trees(), linked}, access_mode::strided);
      });
      had.bytes_exchanged += hung.take(trees());
      flatten_own();
      Id const largest = most_common_of_all();
      book(r, components_phase::kind::first_neighbors, first);
      check_interrupted();
      for_each_item<32>(x, active.size(), flag_others<Id>{own_label(), largest, job.offsets(), n, near.narrow ? 0 : linked, active.data()});
      front.gather(flagged{active.data()});
    } else if (samples_file()) {
      std::uint64_t const arcs = job.g.info.edges / part_of_file;
      link_windows(arcs);
      flatten_own();
      Id const largest = most_common_of_all();
      std::uint64_t const* const offsets = job.g.out.offsets.data();
      frontier_size size{};
      size.vertices = static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + n + 1, arcs) - offsets) - 1;
      size.edges = arcs;
      if (!job.g.info.compressed) size.asked = traffic_of_run(0, arcs, sizeof(Id), options.access);
      book(r, components_phase::kind::first_neighbors, size);
      for_each_item<32>(x, active.size(), flag_others<Id>{label.data(), largest, job.offsets(), n, 0, active.data()});
      front.gather(flagged{active.data()});
    } else {
      front.gather(every_vertex{n});
    }
    if (job.windows && !samples_file() && !samples_first()) link_windows(job.g.info.edges);
    else own_work([&] { front.for_each_arc(out, link_arc<Id>{job.offsets(), trees()}); });
    had.bytes_exchanged += hung.take(trees());
    if (at.alone()) flatten_own();
    else had.bytes_exchanged += hung.settle(trees());
    x.wait();
    book(r, samples_first() || samples_file() ? components_phase::kind::remaining : components_phase::kind::all, front.size());
  }

  // Links the first edges of a file, window by window. Edges of the first window lead everywhere, so linking the first neighbors in it
  // makes one tree of most vertices. Trees are compressed before others are linked under them, each time the number of windows has doubled.
  void link_windows(std::uint64_t arcs) {
    constexpr std::uint64_t piece = 2048;
    std::uint64_t const* const offsets = job.g.out.offsets.data();
    auto const owner = [&](std::uint64_t arc) {
      return static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + n + 1, arc) - offsets) - 1;
    };
    std::uint64_t window = 0;
    job.windows->each(
        job.g.out, {true, false, true}, (arcs + piece - 1) / piece,
        [&](std::uint64_t k) {
          return indices{k * piece, std::min(arcs, (k + 1) * piece)};
        },
        [&](list_window const& w) {
          indices const only{w.first * piece, std::min(arcs, w.last * piece)};
          std::uint64_t const from = owner(only.begin), to = owner(only.end - 1) + 1;
          auto const link = [&](std::uint64_t most) {
            for_each_item<32>(x, to - from, beginning_at<link_listed<Id>>{{w.over(out), trees(), only, most}, from}, options.access, true);
          };
          bool const flattens = std::has_single_bit(++window);
          if (flattens) {
            link(std::max(1u, options.first_neighbors));
            flatten_own();
          }
          link(arcs);
          if (flattens) flatten_own();
        });
  }
  // For an undirected graph in a file, an eighth of the edges replaces the first neighbors, which are scattered. It identifies the largest
  // component, so that the adjacency of its vertices need not be read.
  bool samples_file() const { return job.windows && !job.g.info.directed && options.first_neighbors > 0 && !cached_per_vertex; }
  static constexpr std::uint64_t part_of_file = 8;

  void count(components_run& r) {
    phase const timed{"components.count"};
    std::uint64_t const n = at.vertices();
    Id const sampled = most_common(label.data(), n).label;
    x.fill(members.data(), 0, members.bytes());
    x.fill(counted.data(), 0, counted.bytes());
    std::uint64_t const blocks = (n + census_block - 1) / census_block;
    for_each_item<32>(x, blocks, count_members<Id>{label.data(), n, sampled, members.data(), counted.data()});
    for_each_item<32>(x, blocks, find_largest<Id>{members.data(), n, counted.data()});
    census const all = x.read(counted.data());
    r.components = all.components;
    r.largest = std::max(all.of_sampled, all.largest);
  }

  components_run run() override {
    components_run r;
    if (at.vertices() == 0) {
      r.verified = options.verify;
      return r;
    }
    for_each_item<1>(x, at.vertices(), number_each<Id>{label.data()});
    x.fill(active.data(), 0, active.bytes());
    hung.clear();
    had = {{at.first(), n, at.arcs()}, x.where(), 0, {}, 0}, had_before = 0;
    job.start_afresh();
    at.of_all(0);  // barrier: all begin together
    {
      phase const timed{"components.phases"};
      steady::time_point const start = before = steady::now();
      if (is_emogi(options))
        run_label_rounds(front, out, job.g.info.directed, label.data(), active.data(),
                         [&](frontier_size const& size) { book(r, components_phase::kind::round, size); });
      else run_afforest(r);
      r.ms = ms_between(start, before);
    }
    std::uint64_t const exchanged = had.bytes_exchanged;
    if (!at.alone()) copy_labels();  // the first shard now has all of them
    had.bytes_exchanged = exchanged;
    if (at.shard() != 0) return r;
    count(r);
    if (options.first_alone) had.ms = r.ms, r.shards = {had};
    static counter searched{"components.arcs"};
    searched.add(r.edges);
    if (options.verify && at.alone()) verify(r, job.view<Id>());
    return r;
  }
  void verify(components_run& r, csr_view<Id> const& view) {
    verify_components(x, view, label.data(), r.components, r.largest, at.whole(), options.access, job.windows.get());
    r.verified = true;
    job.model.take();
  }

  std::vector<std::uint64_t> labels() override {
    std::vector<Id> const raw = to_host(x, label);
    return {raw.begin(), raw.end()};
  }
};

// With several shards. The certificate covers the whole result, on the first shard's device.
template <class Id>
struct components_job::impl::spread : components_job::impl {
  spread_job<over<Id>> all;

  spread(graph const& g, components_asked const& o) : all(g, o, shard_grain, false) {}
  components_run run() override {
    components_run r = all.run();
    over<Id>& one = all.first();
    if (!one.options.verify) return r;
    graph const& g = one.at.whole();
    placed_lists const lists = out_lists_of_all(one.x, g);
    one.verify(r, lists.view<Id>());
    return r;
  }
  std::vector<std::uint64_t> labels() override { return all.first().labels(); }
  job_setting const& setting() const override { return all.first().job; }
};

first_reads measure_first_reads(executor& x, graph_info const& info, std::uint64_t const* offsets, std::uint64_t most) {
  buffer<frontier_size> total(x.near(), 1, x.device(), "counters");
  x.fill(total.data(), 0, total.bytes());
  for_each_item<32>(x, (info.vertices + 1023) / 1024, measure_first{offsets, info.vertices, most, info.id_bytes, total.data()});
  frontier_size const all = x.read(total.data());
  return {all.vertices, all.edges, frontier<std::uint32_t>::in_closed_form(all)};
}

components_job::components_job(graph const& g, components_asked const& asked) {
  auto const start = steady::now();
  components_asked o = asked;
  at_one_place(o);
  require_runnable(g.name, g.info, o);
  with_id_type(g.info, [&](auto id) {
    using id_type = decltype(id);
    if (o.devices.empty()) impl_ = std::make_unique<impl::over<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::spread<id_type>>(g, o);
  });
  prepare_ms_ = ms_since(start);
}
void components_job::require_runnable(std::string const& name, graph_info const& info, components_asked const& o) {
  require_spread(name, info, o.devices, o.edges, o.access);
  if (o.devices.size() > 1 && is_emogi(o))
    fail(errc::usage, "variant emogi is the paper's program, for one device; over {} devices use afforest", o.devices.size());
  require_tuning(o.tuning);
  if (o.first_neighbors > 64) fail(errc::usage, "{} first neighbors: use 0 to 64", o.first_neighbors);
  with_id_type(info, [&](auto id) { frontier<decltype(id)>::require_pieces(info, frontier_of(o)); });
}
components_job::~components_job() = default;
components_job::components_job(components_job&&) noexcept = default;

job_setting const& components_job::setting() const { return impl_->setting(); }
components_run components_job::run() {
  components_run r = impl_->run();
  r.prepare_ms = std::exchange(prepare_ms_, 0);
  return r;
}
std::vector<std::uint64_t> components_job::labels() { return impl_->labels(); }

std::uint64_t components_job::state_bytes(graph_info const& info, components_asked const& o) {
  std::uint64_t const offsets = o.device.kind == device_kind::cuda ? (info.vertices + 1) * 8 : 0;
  std::uint64_t const frontier_bytes =
      with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, frontier_of(o)); });
  return offsets + (info.vertices + 31) / 32 * 4 + (2 * info.vertices + samples) * info.id_bytes + sizeof(census) + frontier_bytes;
}

}  // namespace garner

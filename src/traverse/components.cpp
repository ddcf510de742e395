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
// smaller, and vertices united in any shard share a tree. Pointer jumping then replaces parents that are roots in one shard
// only. Traffic: n/8 bits and one id per root linked by another shard; once per run each label, once per other shard. Cost:
// Afforest reads one or two sectors of each list, then the lists outside the largest component. Emogi reads the active
// vertices' lists in each round, in all some 4 to 6 times the edges. Memory: two ids per vertex, and the frontier.
#include "traverse/components.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/spread.hpp"
#include "traverse/verify.hpp"
#include "traverse/verify_components.hpp"

namespace garner {

namespace {

constexpr std::uint64_t samples = 1024;

template <class Id>
struct forest {
  Id* label;
  Id first, last;       // the shard's own vertices: [first, last)
  std::uint32_t* hung;  // bit v: v, of another shard, was a root and was linked here; null: single shard

  // Merges the trees of a and b: climbs from the larger of the two, and links it under the smaller if it is a root. Starts one step up on
  // both sides: one extra lookup of the smaller one keeps the trees flatter (a fifth faster on the CPU). Stale labels are safe: an ancestor
  // stays an ancestor, and the compare-and-swap verifies that the root is still a root.
  GARNER_HD void unite(Id a, Id b) const {
    a = atomic_load_cached(label + a);
    b = atomic_load_cached(label + b);
    while (a != b) {
      if (a < b) {
        Id const t = a;
        a = b;
        b = t;
      }
      Id up = atomic_load_cached(label + a);
      if (up == a) {
        up = atomic_cas(label + a, a, b);
        if (up == a) {
          if (hung && (a < first || a >= last)) atomic_or(hung + a / 32, 1u << a % 32);
          return;
        }
      }
      a = up;
    }
  }
};

// Applies another shard's links of this shard's vertices to the own trees.
template <class Id>
struct take_hung {
  std::uint32_t const* theirs;
  Id const* their_label;
  forest<Id> trees;
  std::uint64_t words, *taken;
  static constexpr std::uint64_t block = 1024;  // words per team, one per lane
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      std::uint32_t const bits = theirs[w];
      for (std::uint32_t rest = bits; rest; rest &= rest - 1) {
        std::uint64_t const i = w * 32 + static_cast<std::uint64_t>(lowest_bit(rest));
        trees.unite(static_cast<Id>(trees.first + i), atomic_load(their_label + i));
      }
      return static_cast<std::uint64_t>(count_bits(bits));
    });
    t.once([&] {
      if (mine) atomic_add(taken, mine);
    });
  }
};

template <class Id>
struct name_each {
  Id* label;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    label[v] = static_cast<Id>(v);
  }
};

// One vertex per lane: neighboring lanes read the starts of neighboring lists, one sector each. A CPU thread processes several vertices
// together and reads all their neighbors before the first union; otherwise it would wait for each read in sequence.
template <class Id, std::uint64_t Together>
struct link_first {
  csr_view<Id> g;
  forest<Id> trees;
  std::uint64_t most;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    if constexpr (Together == 1) {
      if (item >= g.vertices) return;
      span<Id> list = g.list(item);
      list.end = smaller(list.end, list.begin + most);
      t.each(list, [&](Id u) { trees.unite(static_cast<Id>(trees.first + item), u); });
    } else {
      std::uint64_t const first = item * Together, count = smaller(g.vertices - first, Together);
      for (std::uint64_t step = 0; step < most; ++step) {
        Id neighbor[Together];
        for (std::uint64_t k = 0; k < count; ++k) {
          std::uint64_t const v = first + k, i = g.offsets[v] + step;
          neighbor[k] = static_cast<Id>(trees.first + v);
          if (i >= g.offsets[v + 1]) continue;
          t.each(g.arcs({i, i + 1}), [&](Id u) {
            neighbor[k] = u;
            ask_soon(trees.label + u);
          });
        }
        for (std::uint64_t k = 0; k < count; ++k)
          if (auto const v = static_cast<Id>(trees.first + first + k); neighbor[k] != v) trees.unite(v, neighbor[k]);
      }
    }
  }
};

// The same with cached neighbors, from local memory.
template <class Id>
struct link_cached_neighbors {
  cached_neighbors_view cached_neighbors;
  std::uint32_t count;
  forest<Id> trees;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    for (std::uint32_t k = 0; k < count; ++k)
      if (std::uint32_t const u = cached_neighbors.at(v, k); u != cached_neighbors_view::none)
        trees.unite(static_cast<Id>(trees.first + v), static_cast<Id>(u));
  }
};

template <class Id>
struct link_arc {
  static constexpr bool weighted = false;
  std::uint64_t const* offsets;
  forest<Id> trees;
  template <class Team>
  GARNER_HD void operator()(Team const&, frontier_item<Id> const& at, Id u, std::uint64_t arc) const {
    trees.unite(static_cast<Id>(trees.first + at.owner_of(offsets, arc)), u);
  }
};

// For lists in a window of a file: the first edges of each in the window, or all.
template <class Id>
struct link_listed {
  csr_view<Id> g;
  forest<Id> trees;
  indices only;
  std::uint64_t most;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    span<Id> list = clipped(g.list(v), only);
    list.end = smaller(list.end, list.begin + most);
    t.each(list, [&](Id u) { trees.unite(static_cast<Id>(v), u); });
  }
};

// Compresses: every vertex, from `first` on, points to its root. Links must not run concurrently.
template <class Id>
struct flatten {
  Id* label;
  std::uint64_t first;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t item) const {
    std::uint64_t const v = first + item;
    Id const was = atomic_load_cached(label + v);
    Id at = was;
    for (Id up; (up = atomic_load_cached(label + at)) != at;) at = up;
    if (at != was) atomic_store(label + v, at);
  }
};
// The same for the vertices whose bits are set, one word per item.
template <class Id>
struct flatten_marked {
  std::uint32_t const* bits;
  Id* label;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    for (std::uint32_t rest = bits[w]; rest; rest &= rest - 1) flatten<Id>{label, w * 32}(t, static_cast<std::uint64_t>(lowest_bit(rest)));
  }
};

template <class Id>
struct draw_labels {
  Id const* label;
  std::uint64_t vertices, seed;
  Id* drawn;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    drawn[i] = label[random_bits(seed, 11, i) % vertices];
  }
};

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

// Propagates the smaller label over the edge, in either direction.
template <class Id>
struct spread_labels {
  static constexpr bool weighted = false;
  Id* label;
  std::uint32_t* active;
  template <class Team>
  GARNER_HD void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint64_t) const {
    Id const v = at.first, mine = atomic_load(label + v), theirs = atomic_load(label + u);
    if (mine < theirs) {
      if (mine < atomic_min(label + u, mine)) t.claim(active, u);
    } else if (theirs < mine) {
      if (theirs < atomic_min(label + v, theirs)) t.claim(active, v);
    }
  }
};

struct every_vertex {
  std::uint64_t vertices;
  GARNER_HD std::uint32_t word(std::uint64_t w) const {
    std::uint64_t const left = vertices - w * 32;
    return left >= 32 ? ~0u : (1u << left) - 1;
  }
  GARNER_HD void take(std::uint64_t, std::uint32_t) const {}
};
struct flagged {
  std::uint32_t* active;
  GARNER_HD std::uint32_t word(std::uint64_t w) const { return active[w]; }
  GARNER_HD void take(std::uint64_t w, std::uint32_t) const { active[w] = 0; }
};

// The reads of link_first, and its requests in closed form: step by step the sectors that the 32 lanes of a warp do not hold yet.
struct measure_first {
  std::uint64_t const* offsets;
  std::uint64_t vertices, first;
  std::uint32_t id_bytes;
  frontier_size* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    frontier_size const mine = t.sum(indices{b * 32, smaller((vertices + 31) / 32, b * 32 + 32)}, [&](std::uint64_t warp) {
      frontier_size size{};
      for (std::uint64_t step = 0; step < first; ++step) {
        std::uint64_t begin = 0, end = 0;  // adjacent sectors of a line: one request
        for (std::uint64_t v = warp * 32; v < smaller(vertices, warp * 32 + 32); ++v) {
          std::uint64_t const i = offsets[v] + step;
          if (i >= offsets[v + 1]) continue;
          size.vertices += step == 0;
          ++size.edges;
          std::uint64_t const sector = i * id_bytes / 32;
          if ((step && (i - 1) * id_bytes / 32 == sector) || sector < end) continue;
          if (sector != end || sector % 4 == 0) {
            size.asked.add(end - begin, 1);
            begin = sector;
          }
          end = sector + 1;
        }
        size.asked.add(end - begin, 1);
      }
      size.asked.useful = size.edges * id_bytes;
      return size;
    });
    t.once([&] {
      atomic_add(&total->vertices, mine.vertices);
      atomic_add(&total->edges, mine.edges);
      for (int k = 0; k < 4; ++k) atomic_add(&total->asked.requests[k], mine.asked.requests[k]);
      atomic_add(&total->asked.useful, mine.asked.useful);
    });
  }
};

struct census {
  std::uint64_t components, of_sampled, largest;
  GARNER_HD friend census operator+(census const& a, census const& b) {
    return {a.components + b.components, a.of_sampled + b.of_sampled, larger(a.largest, b.largest)};
  }
};
constexpr std::uint64_t block = 1024;  // vertices that a team reduces before it adds to the census

// Counts components, and members by smallest vertex. The sampled component's many members are counted in registers.
template <class Id>
struct count_members {
  Id const* label;
  std::uint64_t vertices;
  Id sampled;
  Id* members;
  census* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    census const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      Id const at = label[v];
      if (at != sampled) atomic_add(members + at, Id{1});
      return census{at == static_cast<Id>(v), at == sampled, 0};
    });
    t.once([&] {
      atomic_add(&total->components, mine.components);
      atomic_add(&total->of_sampled, mine.of_sampled);
    });
  }
};
template <class Id>
struct find_largest {
  Id const* members;
  std::uint64_t vertices;
  census* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    census const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      return census{0, 0, members[v]};
    });
    t.once([&] { atomic_max(&total->largest, mine.largest); });
  }
};

bool is_emogi(components_options const& o) { return o.variant == components_variant::emogi; }

frontier_options frontier_of(components_options const& o) {
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
  using clock = std::chrono::steady_clock;
  components_options options;
  shard_seat at;
  job_setting job;
  executor& x = job.x;
  std::uint64_t const n;      // of its own vertices
  buffer<Id> label, members;  // of all vertices
  buffer<Id> drawn;
  buffer<std::uint32_t> active;
  buffer<std::uint32_t> hung[2];  // with several shards: of all vertices
  buffer<std::uint64_t> taken;
  buffer<census> counted;
  std::uint32_t const cached_per_vertex;
  buffer<std::uint32_t> cached_neighbors;  // for Afforest, instead of first neighbors
  csr_view<Id> out;
  frontier<Id> front;
  first_reads first;  // reads when linking first neighbors; the same in every run
  clock::time_point before;
  struct tables {
    peer_table label, hung[2];  // of all vertices
  } theirs;
  int turn = 0;  // index of the `hung` being written
  shard_run had;
  std::uint64_t had_before = 0;
  wait_at_end settled{x};

  over(shard_seat seat, components_options const& o)
      : options(o),
        at(std::move(seat)),
        job(at.lists(), o.device, o.access, o.edges, o.tuning.l2_bytes, is_emogi(o) ? std::uint64_t{0} : o.graph_cache, false,
            at.alone() ? nullptr : &at),
        n(job.g.info.vertices),
        label(x.near(), at.vertices(), x.device(), "labels"),
        members(x.near(), at.shard() == 0 ? at.vertices() : 0, x.device(), "sizes of components"),
        drawn(x.near(), samples, x.device(), "sample of labels"),
        active(x.near(), frontier<Id>::words_of(n), x.device(), "active bitmap"),
        taken(x.near(), 1, x.device(), "counters"),
        counted(x.near(), 1, x.device(), "counters"),
        cached_per_vertex(
            !may_sample() ? 0
            : job.windows ? cached_in_file(job, std::nullopt)
            : job.edges == tier::host  // in device memory the adjacency itself is as fast: 12.9 against 19.2 ms
                ? at.cached_neighbors(cached_neighbors_within(job.g.info, job.g.cached_per_vertex, job.left(), options.first_neighbors))
                : 0),
        cached_neighbors(cached_lie_near(job) ? buffer<std::uint32_t>{} : make_cached_neighbors<Id>(job, cached_per_vertex)),
        out(first_arcs_kept()),
        front(x, job.g.info, job.offsets(), frontier_of(o), job.costs(out), job.home<Id>()) {
    front.read_by(job.windows.get(), job.g.out);
    if (samples_first() && !cached_per_vertex) first = measure_first_reads(x, job.g.info, job.offsets(), options.first_neighbors);
    for (buffer<std::uint32_t>& bits : hung)
      bits = buffer<std::uint32_t>(x.near(), at.alone() ? 0 : frontier<Id>::words_of(at.vertices()), x.device(), "bitmap of hung roots");
  }
  void join(shard_group& group) {
    at.join(group, x);
    theirs = {at.table(x, label.data(), label.size()),
              {at.table(x, hung[0].data(), hung[0].size()), at.table(x, hung[1].data(), hung[1].size())}};
  }
  Id* own_label() const { return label.data() + at.first(); }
  forest<Id> trees() const {
    return {label.data(), static_cast<Id>(at.first()), static_cast<Id>(at.first() + n), at.alone() ? nullptr : hung[turn].data()};
  }
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
  // Unites the shards' trees, if any shard has linked another's root. The other shard's parent of such a root is replaced by the root of
  // its tree. Linking to the original parents turned trees into chains, and climbing took half of the time. Waits.
  void take_from_others() {
    if (at.alone()) return;
    std::uint64_t const words = frontier<Id>::words_of(n), blocks = (words + take_hung<Id>::block - 1) / take_hung<Id>::block;
    for (bool news = true; news;) {
      for_each_item<1>(x, hung[turn].size(), flatten_marked<Id>{hung[turn].data(), label.data()});
      shard_seat::turn others(at, x);
      peer_table const& bits = theirs.hung[turn];
      turn ^= 1;
      x.fill(hung[turn].data(), 0, hung[turn].bytes());
      x.fill(taken.data(), 0, taken.bytes());
      for (std::uint32_t k = 0; k < at.shards(); ++k) {
        if (k == at.shard()) continue;
        for_each_item<32>(x, blocks,
                          take_hung<Id>{bits.row<std::uint32_t>(k, at.first() / 32), theirs.label.template row<Id>(k, at.first()), trees(),
                                        words, taken.data()});
        had.bytes_exchanged += words * sizeof(std::uint32_t);
      }
      std::uint64_t const mine = x.read(taken.data());
      had.bytes_exchanged += mine * sizeof(Id);
      others.close();
      news = at.sum(mine) != 0;
    }
  }
  // Copies the labels of other shards' vertices from their owners.
  void copy_labels() {
    shard_seat::turn others(at, x);
    for (std::uint32_t k = 0; k < at.shards() && !at.alone(); ++k) {
      if (k == at.shard()) continue;
      x.copy(label.data() + at.first(k), theirs.label.template row<Id>(k, at.first(k)), at.count(k) * sizeof(Id));
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
    std::vector<Id> seen(samples);
    x.copy(seen.data(), drawn.data(), drawn.bytes());
    x.wait();
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
        at.sum(phase_sums{{size.vertices, size.edges, asked}, had.bytes_exchanged - std::exchange(had_before, had.bytes_exchanged)});
    clock::time_point const now = clock::now();
    r.link += all.size.link;
    r.file += read;
    r.edges += all.size.edges;
    r.phases.push_back({what, all.size.vertices, all.size.edges, all.size.link,
                        std::chrono::duration<double, std::milli>(now - before).count(), read, all.exchanged});
    before = now;
  }
  struct phase_sums {
    first_reads size;
    std::uint64_t exchanged = 0;
    phase_sums operator+(phase_sums const& b) const {
      phase_sums c = *this;
      c.size.vertices += b.size.vertices, c.size.edges += b.size.edges, c.size.link += b.size.link, c.exchanged += b.exchanged;
      return c;
    }
  };
  // Runs work of this shard alone, and waits for it.
  template <class F>
  void own_work(F const& f) {
    clock::time_point const begun = clock::now();
    f();
    if (at.alone()) return;
    x.wait();
    had.ms += std::chrono::duration<double, std::milli>(clock::now() - begun).count();
  }

  void book(components_run& r, components_phase::kind what, frontier_size const& size) {
    book(r, what, first_reads{size.vertices, size.edges, frontier<Id>::in_closed_form(size)});
  }

  void run_emogi(components_run& r) {
    front.gather(every_vertex{n});
    while (front.size().vertices) {
      check_interrupted();
      frontier_size const size = front.size();
      front.for_each_arc(out, spread_labels<Id>{label.data(), active.data()});
      front.gather(flagged{active.data()});
      if (job.g.info.directed && front.size().vertices) front.gather(every_vertex{n});
      book(r, components_phase::kind::round, size);
    }
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
      take_from_others();
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
    take_from_others();
    flatten_own();
    if (!at.alone()) {
      copy_labels();
      flatten_own();
    }
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
    std::uint64_t const blocks = (n + block - 1) / block;
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
    for_each_item<1>(x, at.vertices(), name_each<Id>{label.data()});
    x.fill(active.data(), 0, active.bytes());
    for (buffer<std::uint32_t>& bits : hung) x.fill(bits.data(), 0, bits.bytes());
    turn = 0, had = {{at.first(), n, at.arcs()}, x.where(), 0, {}, 0}, had_before = 0;
    job.start_afresh();
    at.of_all(0);  // barrier: all begin together
    {
      phase const timed{"components.phases"};
      clock::time_point const start = before = clock::now();
      if (is_emogi(options)) run_emogi(r);
      else run_afforest(r);
      r.ms = std::chrono::duration<double, std::milli>(before - start).count();
    }
    std::uint64_t const exchanged = had.bytes_exchanged;
    if (!at.alone()) copy_labels();  // the first shard now has all of them
    had.bytes_exchanged = exchanged;
    if (at.shard() != 0) return r;
    count(r);
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
    std::vector<Id> raw(at.vertices());
    x.copy(raw.data(), label.data(), label.bytes());
    x.wait();
    return {raw.begin(), raw.end()};
  }
};

// With several shards. The certificate covers the whole result, on the first shard's device.
template <class Id>
struct components_job::impl::spread : components_job::impl {
  spread_job<over<Id>> all;

  spread(graph const& g, components_options const& o) : all(g, o, shard_grain, false) {}
  components_run run() override {
    components_run r;
    all.on_each([&](over<Id>& one) {
      components_run mine = one.run();
      if (one.at.shard() == 0) r = std::move(mine);
    });
    for (std::size_t k = 0; k < all.size(); ++k) r.shards.push_back(all[k].had);
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

components_job::components_job(graph const& g, components_options const& asked) {
  auto const start = std::chrono::steady_clock::now();
  components_options o = asked;
  at_one_place(o);
  require_runnable(g.name, g.info, o);
  with_id_type(g.info, [&](auto id) {
    using id_type = decltype(id);
    if (o.devices.empty()) impl_ = std::make_unique<impl::over<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::spread<id_type>>(g, o);
  });
  prepare_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
void components_job::require_runnable(std::string const& name, graph_info const& info, components_options const& o) {
  require_spread(name, info, o.devices, o.edges, o.access);
  if (o.devices.size() > 1 && is_emogi(o))
    fail(errc::usage, "variant emogi is the paper's program, for one device; over {} devices use afforest", o.devices.size());
  if (o.tuning.slice < 64 || o.tuning.slice % 32) fail(errc::usage, "slice {}: use a multiple of 32, 64 or more", o.tuning.slice);
  if (o.tuning.vertices_per_team == 0 || o.tuning.vertices_per_team > 1024)
    fail(errc::usage, "{} vertices a team: use 1 to 1024", o.tuning.vertices_per_team);
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

std::uint64_t components_job::state_bytes(graph_info const& info, components_options const& o) {
  std::uint64_t const offsets = o.device.kind == device_kind::cuda ? (info.vertices + 1) * 8 : 0;
  std::uint64_t const frontier_bytes =
      with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, frontier_of(o)); });
  return offsets + (info.vertices + 31) / 32 * 4 + (2 * info.vertices + samples) * info.id_bytes + sizeof(census) + frontier_bytes;
}

std::vector<std::uint64_t> smallest_ids(graph const& g, std::vector<std::uint64_t> labels) {
  std::uint64_t const n = labels.size(), grain = 1u << 16;
  // The smallest internal id has the smallest user id, unless the graph is reordered.
  std::vector<std::uint64_t> name(g.info.order == vertex_order::natural ? 0 : n, ~std::uint64_t{0});
  if (!name.empty())
    shared_pool().run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t v = begin; v < end; ++v)
        if (std::uint64_t const id = g.user_id(v); id < atomic_load(&name[labels[v]])) atomic_min(&name[labels[v]], id);
    });
  shared_pool().run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t v = begin; v < end; ++v) labels[v] = name.empty() ? g.user_id(labels[v]) : name[labels[v]];
  });
  return labels;
}

}  // namespace garner

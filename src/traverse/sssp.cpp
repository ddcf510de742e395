// Shortest paths by near and far piles: vertices lowered below the threshold are near and are read in the next round;
// vertices lowered to a larger distance are far. When the near pile is empty, the threshold moves to `delta` beyond the
// smallest open distance, and the far pile yields vertices below it. With an infinite threshold all are near: that is
// Bellman-Ford with active flags, the paper's program. Invariants: distance[v] is the length of some path from the source,
// or infinity, and never increases; a vertex lowered since its list was last read is in a pile; relevant vertices in the
// far pile are at or beyond the threshold; at the end both are empty, so no edge relaxes. A pile is a bitmap, processed in
// vertex order, so that remote reads close in time are close in memory. One difference from the paper's program: if a
// vertex is lowered while its list is read, the paper's program abandons the list; here the rest of the list uses the lower
// distance. Cost: a vertex's edges and weights cross the link each time it is read; n / 4 bytes of bitmaps per round.
#include "traverse/sssp.hpp"

#include <cmath>
#include <utility>

#include "core/clock.hpp"
#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "traverse/distance.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/near_width.hpp"
#include "traverse/short_lists.hpp"
#include "traverse/verify_sssp.hpp"
#include "traverse/weights.hpp"

namespace garner {

namespace {

template <class Word>
struct start_at {
  std::uint64_t source;
  Word* distance;
  std::uint32_t* near;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    t.once([&] {
      distance[source] = 0;
      near[source / 32] |= 1u << source % 32;
    });
  }
};

template <class Id, class Measure>
struct relax {
  static constexpr bool weighted = true;
  std::uint64_t const* offsets;
  typename Measure::word *distance, below;
  std::uint32_t *near, *far, *overflowed;
  typename Measure::word from = 0;  // of the item's only vertex, as it was when the item was started
  bool one = false;
  GARNER_HD_INLINE void enter(frontier_item<Id> const& at) {
    one = at.length() == 1;
    if (one) from = atomic_load(distance + at.first);
  }
  GARNER_HD void look_ahead(Id u) const { ask_soon(distance + u); }
  // Distances never increase, so a stale value is safe: a sum at or above an old distance is also at or above the current one.
  struct sight {
    typename Measure::word sum, known;
  };
  GARNER_HD_INLINE sight see(frontier_item<Id> const& at, Id u, std::uint32_t weight, std::uint64_t arc) const {
    return {Measure::add(one ? from : atomic_load(distance + at.owner_of(offsets, arc)), weight), atomic_load(distance + u)};
  }
  template <class Team>
  GARNER_HD_INLINE void act(Team const& t, Id u, sight const& seen) const {
    if constexpr (Measure::may_overflow)
      if (seen.sum == Measure::infinity) atomic_store(overflowed, 1u);
    if (seen.sum >= seen.known || seen.sum >= atomic_min(distance + u, seen.sum)) return;
    t.claim(seen.sum < below ? near : far, u);
  }
  template <class Team>
  GARNER_HD_INLINE void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint32_t weight, std::uint64_t arc) const {
    act(t, u, see(at, u, weight, arc));
  }
};

// 32-bit distances to 64 bits.
struct widen {
  std::uint32_t const* from;
  std::uint64_t* to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    to[v] = from[v] == short_distance::infinity ? whole_distance::infinity : from[v];
  }
};

// The vertices of the near pile to read. `undirected`: a vertex with a single neighbor was lowered by it, and cannot lower it in turn.
struct near_pile {
  std::uint32_t* near;
  std::uint64_t const* offsets;
  std::uint64_t source;
  bool undirected;
  GARNER_HD std::uint32_t word(std::uint64_t w) const {
    std::uint32_t read = near[w];
    if (!undirected) return read;
    for (std::uint32_t bits = read; bits; bits &= bits - 1) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(bits));
      if (offsets[v + 1] - offsets[v] == 1 && v != source) read &= ~(bits & (~bits + 1));
    }
    return read;
  }
  GARNER_HD void take(std::uint64_t w, std::uint32_t) const { near[w] = 0; }
};

// Moves vertices below the new threshold from the far pile to the near one.
template <class Word>
struct bring_near {
  std::uint32_t *far, *near;
  Word const* distance;
  Word below;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t w) const {
    std::uint32_t const all = far[w];
    std::uint32_t moved = 0;
    for (std::uint32_t bits = all; bits; bits &= bits - 1) {
      int const k = lowest_bit(bits);
      if (distance[w * 32 + static_cast<std::uint64_t>(k)] < below) moved |= 1u << k;
    }
    if (!moved) return;
    far[w] = all & ~moved;
    near[w] |= moved;
  }
};

template <class Word>
struct least {
  Word value = static_cast<Word>(~Word{0});
  GARNER_HD friend least operator+(least a, least b) { return {smaller(a.value, b.value)}; }
};

// Drops far vertices lowered below the threshold since, which were near and read. Finds the smallest distance of the rest.
template <class Word>
struct look_far {
  std::uint32_t* far;
  Word const* distance;
  Word below;
  std::uint64_t words;
  Word* nearest;
  static constexpr std::uint64_t block = 128;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    least<Word> const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      least<Word> best;
      std::uint32_t const all = far[w];
      std::uint32_t kept = all;
      for (std::uint32_t bits = all; bits; bits &= bits - 1) {
        int const k = lowest_bit(bits);
        Word const d = distance[w * 32 + static_cast<std::uint64_t>(k)];
        if (d < below) kept &= ~(1u << k);
        else best.value = smaller(best.value, d);
      }
      if (kept != all) far[w] = kept;
      return best;
    });
    t.once([&] {
      if (mine.value != least<Word>{}.value) atomic_min(nearest, mine.value);
    });
  }
};

frontier_options frontier_of(sssp_asked const& o) {
  return {o.access,
          o.tuning.split_hubs && o.variant != sssp_variant::emogi,
          sssp_job::joins_lists(o),
          o.tuning.slice,
          o.tuning.vertices_per_team,
          o.tuning.block_bytes};
}

}  // namespace

struct sssp_job::impl {
  virtual ~impl() = default;
  virtual sssp_run run(std::uint64_t user_source) = 0;
  virtual std::vector<std::uint64_t> distances() = 0;
  virtual std::vector<float> real_distances() = 0;
  virtual std::vector<std::uint64_t> parents() = 0;
  virtual job_setting const& setting() const = 0;
  double delta = 0;
  template <class Id, class Measure>
  struct over;
};

template <class Id, class Measure>
struct sssp_job::impl::over : sssp_job::impl {
  using word = typename Measure::word;
  sssp_asked options;
  job_setting job;
  executor& x = job.x;
  std::uint64_t source = 0;
  buffer<std::uint32_t> near, far;
  buffer<word> distance;
  bool fits_short = std::is_same_v<Measure, whole_distance>;
  buffer<std::uint32_t> short_distances;  // integer distances use 32 bits, until those prove too few
  buffer<std::uint64_t> nearest;
  buffer<std::uint32_t> overflowed;
  buffer<tally> of_block;
  csr_view<Id> out;
  frontier<Id> front;
  short_lists<Id> near_lists;
  near_width width{{}, {}, {}, false};
  wait_at_end settled{x};

  over(graph const& g, sssp_asked const& o)
      : options(o),
        job(g, o.device, o.access, o.edges, o.tuning.l2_bytes, o.variant == sssp_variant::emogi ? std::uint64_t{0} : o.graph_cache, true),
        near(x.near(), frontier<Id>::words_of(g.info.vertices), x.device(), "near pile"),
        far(x.near(), near.size(), x.device(), "far pile"),
        distance(x.near(), g.info.vertices, x.device(), "distances"),
        short_distances(x.near(), fits_short ? g.info.vertices : 0, x.device(), "distances"),
        nearest(x.near(), 1, x.device(), "counters"),
        overflowed(x.near(), 1, x.device(), "counters"),
        of_block(x.near(), tally_blocks(g.info), x.device(), "sums of distances"),
        out(first_arcs_kept()),
        front(x, g.info, job.offsets(), frontier_of(o), job.costs(out, true), job.home<Id>()) {
    near_lists.keep(job, out, leaves_out_ones() ? 2 : 1, front.spare_words());
    front.keep(near_lists.view());
    front.read_by(job.windows.get(), g.out);
    detail::weight_tally const weights = check_weights<Id, Measure>(g, out, o.device, o.access, job.windows != nullptr);
    width = near_width(g.info, weights, o.delta, job.all_near());
    if (weights.largest > most_short) fits_short = false;
    delta = width.start();
  }

  csr_view<Id> first_arcs_kept() {
    if (job.g.info.compressed) job.keep_first_arcs(false, true);  // compressed: no short-list cache
    return job.view<Id>();
  }
  job_setting const& setting() const override { return job; }

  static std::uint64_t tally_blocks(graph_info const& info) {
    return (info.vertices + tally_distances<Measure>::block - 1) / tally_distances<Measure>::block;
  }

  // Moves the next vertices from the far pile to the near one; returns false if the far pile is empty.
  template <class M>
  bool move_on(typename M::word const* at, typename M::word& below) {
    using w = typename M::word;
    std::uint64_t const block = look_far<w>::block;
    w* const least = reinterpret_cast<w*>(nearest.data());
    x.fill(least, 0xff, sizeof(w));
    for_each_item<32>(x, (far.size() + block - 1) / block, look_far<w>{far.data(), at, below, far.size(), least});
    w const least_open = x.read(least);
    if (least_open >= M::infinity) return false;
    below = M::beyond(least_open, width.now());
    for_each_item<1>(x, far.size(), bring_near<w>{far.data(), near.data(), at, below});
    front.gather(pile());
    return true;
  }
  // Whether a list of one edge is read for the source only.
  bool leaves_out_ones() const { return !job.g.info.directed && options.variant != sssp_variant::emogi; }
  near_pile pile() const { return {near.data(), job.offsets(), source, leaves_out_ones()}; }

  sssp_run run(std::uint64_t user_source) override {
    source = job.g.internal_id(user_source);
    sssp_run r;
    r.source = user_source;
    job.start_afresh();
    if constexpr (std::is_same_v<Measure, whole_distance>) {
      if (fits_short && !search<short_distance>(r, short_distances)) {
        fits_short = false;
        r = sssp_run{};
        r.source = user_source;
        job.start_afresh();
      }
      if (!fits_short) search<Measure>(r, distance);
      else for_each_item<1>(x, distance.size(), widen{short_distances.data(), distance.data()});
    } else {
      search<Measure>(r, distance);
    }
    static counter relaxed{"sssp.arcs"};
    relaxed.add(r.edges);
    sum_up(r);
    if (options.verify) {
      verify_sssp(x, sssp_distances<Id, Measure>{job.view<Id>(), source, distance.data()}, job.g, options.access, static_cast<Id*>(nullptr),
                  job.windows.get());
      r.verified = true;
      job.model.take();
    }
    return r;
  }

  // Returns whether all sums fit; if not, the run is invalid.
  template <class M>
  bool search(sssp_run& r, buffer<typename M::word>& found) {
    auto* const at = found.data();
    x.fill(near.data(), 0, near.bytes());
    x.fill(far.data(), 0, far.bytes());
    x.fill(overflowed.data(), 0, overflowed.bytes());
    if constexpr (M::infinity == static_cast<typename M::word>(~typename M::word{0})) x.fill(at, 0xff, found.bytes());
    else for_each_item<1>(x, found.size(), set_each<typename M::word>{at, M::infinity});
    x.wait();

    phase const timed{"sssp.rounds"};
    steady::time_point const start = steady::now();
    steady::time_point before = start;
    typename M::word below = options.variant == sssp_variant::emogi ? M::infinity : M::beyond(0, width.start());
    width.begin();
    std::uint64_t arcs = 0;  // since the threshold moved
    auto const too_large = [&] { return M::may_overflow && x.read(overflowed.data()) != 0; };
    for_each_item<32>(x, 1, start_at<typename M::word>{source, at, near.data()});
    front.gather(pile());
    while (front.size().vertices) {
      check_interrupted();
      frontier_size const size = front.size();
      front.for_each_arc(out, relax<Id, M>{job.offsets(), at, below, near.data(), far.data(), overflowed.data()});
      front.gather(pile());
      arcs += size.edges;
      if (front.size().vertices == 0 && below < M::infinity) {
        width.follow(arcs, r.edges + size.edges);
        arcs = 0;
        while (front.size().vertices == 0 && move_on<M>(at, below))
          ++r.thresholds;  // repeat if the threshold yielded only vertices that need no read
      }
      steady::time_point const now = steady::now();
      traffic const asked = x.on_device() ? frontier<Id>::in_closed_form(size) : job.model.take();
      r.link += asked;
      r.edges += size.edges;
      file_reads const read = job.take_file_reads();
      r.file += read;
      r.rounds.push_back({size.vertices, size.edges, asked.bytes_link(), ms_between(before, now), read});
      before = now;
      if (r.rounds.size() % rounds_to_look == 0 && too_large()) return false;
    }
    r.ms = ms_between(start, before);
    return !too_large();
  }
  // Larger maximum weights do not try 32 bits; a search of many rounds checks periodically whether its sums still fit.
  static constexpr double most_short = 1 << 24;
  static constexpr std::size_t rounds_to_look = 64;

  void sum_up(sssp_run& r) {
    for_each_item<32>(x, of_block.size(), tally_distances<Measure>{distance.data(), distance.size(), of_block.data()});
    tally all;
    for (tally const& t : to_host(x, of_block)) all = all + t;
    r.reached = all.reached;
    if constexpr (sizeof(word) == 8) {
      r.distance_max = all.largest;
      r.distance_sum = all.real_sum < 18446744073709551615.0 ? all.sum : ~std::uint64_t{0};
    } else {
      r.real_max = Measure::value(static_cast<word>(all.largest));
      r.real_sum = all.real_sum;
    }
  }

  std::vector<std::uint64_t> distances() override {
    if constexpr (sizeof(word) == 8) return to_host(x, distance);
    else fail(errc::usage, "{}: its weights are f32; use real_distances()", job.g.name);
  }
  std::vector<float> real_distances() override {
    if constexpr (sizeof(word) == 8) fail(errc::usage, "{}: its weights are u32; use distances()", job.g.name);
    else {
      std::vector<word> const raw = to_host(x, distance);
      std::vector<float> all;
      all.reserve(raw.size());
      for (word const d : raw) all.push_back(Measure::real(d));
      return all;
    }
  }
  std::vector<std::uint64_t> parents() override {
    buffer<Id> parent(x.near(), job.g.info.vertices, x.device(), "parents");
    verify_sssp(x, sssp_distances<Id, Measure>{job.view<Id>(), source, distance.data()}, job.g, options.access, parent.data(),
                job.windows.get());
    job.model.take();
    std::vector<Id> const raw = to_host(x, parent);
    std::vector<std::uint64_t> all(raw.begin(), raw.end());
    for (auto& p : all)
      if (p == static_cast<Id>(~Id{0})) p = ~std::uint64_t{0};
    return all;
  }
};

sssp_job::sssp_job(graph const& g, sssp_asked const& o) {
  auto const start = steady::now();
  require_runnable(g.name, g.info, o);
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    if (g.info.weights == weight_kind::u32) impl_ = std::make_unique<impl::over<Id, whole_distance>>(g, o);
    else impl_ = std::make_unique<impl::over<Id, real_distance>>(g, o);
  });
  prepare_ms_ = ms_since(start);
}
void sssp_job::require_runnable(std::string const& name, graph_info const& info, sssp_asked const& o) {
  require_tuning(o.tuning);
  if (o.delta && !(*o.delta > 0 && std::isfinite(*o.delta))) fail(errc::usage, "delta {}: use a number above 0", *o.delta);
  if (o.variant == sssp_variant::emogi && (o.delta || o.tuning.join_lists.value_or(false)))
    fail(errc::usage, "variant emogi has no delta and joins no lists; leave them out or take variant near-far");
  with_id_type(info, [&](auto id) { frontier<decltype(id)>::require_pieces(info, frontier_of(o)); });
  if (info.weights == weight_kind::none)
    fail(errc::input, "{}: has no weights, which shortest paths need; draw them with garner convert {} NEW.gnr --random-weights 1:255",
         name, name);
}
sssp_job::~sssp_job() = default;
sssp_job::sssp_job(sssp_job&&) noexcept = default;

job_setting const& sssp_job::setting() const { return impl_->setting(); }
sssp_run sssp_job::run(std::uint64_t source) {
  sssp_run r = impl_->run(source);
  r.prepare_ms = std::exchange(prepare_ms_, 0);
  return r;
}
std::vector<std::uint64_t> sssp_job::distances() { return impl_->distances(); }
std::vector<float> sssp_job::real_distances() { return impl_->real_distances(); }
std::vector<std::uint64_t> sssp_job::parents() { return impl_->parents(); }
double sssp_job::delta() const { return impl_->delta; }

bool sssp_job::joins_lists(sssp_asked const& o) {
  return o.tuning.join_lists.value_or(o.variant != sssp_variant::emogi && o.device.kind != device_kind::cpu &&
                                      o.access == access_mode::aligned && o.tuning.vertices_per_team == 1);
}

std::uint64_t sssp_job::state_bytes(graph_info const& info, sssp_asked const& o) {
  std::uint64_t const offsets = o.device.kind == device_kind::cuda ? (info.vertices + 1) * 8 : 0;
  std::uint64_t const frontier_bytes =
      with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, frontier_of(o), true); });
  std::uint64_t const block = tally_distances<whole_distance>::block;
  return offsets + (info.vertices + 31) / 32 * 8 + info.vertices * (info.weights == weight_kind::f32 ? 4 : 12) +
         (info.vertices + block - 1) / block * sizeof(tally) + 12 + frontier_bytes;
}

}  // namespace garner

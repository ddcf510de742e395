#include "graph/build.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/take_target.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

std::uint64_t blocks_of(std::uint64_t n, std::uint64_t block) { return (n + block - 1) / block; }

// --- kernels -----------------------------------------------------------------------------------------------------------------------------
// Counts self-loops. A loop to be dropped is any of them, or the second of a pair (an undirected loop is stored once). It gets the key
// `vertices` << shift, above all others, so that the sort moves it to the end.
struct mark_loops {
  std::uint64_t* keys;
  std::uint64_t vertices, count;
  int shift;
  bool all, seconds;      // which loops are dropped
  std::uint64_t* marked;  // loops marked for dropping
  std::uint64_t* found;   // loops found
  static constexpr std::uint64_t block = 1024;
  struct both {
    std::uint64_t found, marked;
    GARNER_HD friend both operator+(both a, both b) { return {a.found + b.found, a.marked + b.marked}; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const end = smaller(count, (b + 1) * block), low = (std::uint64_t{1} << shift) - 1;
    both const mine = t.sum(indices{b * block, end}, [&](std::uint64_t i) {
      if (keys[i] >> shift != (keys[i] & low)) return both{0, 0};
      if (!all && !(seconds && i % 2)) return both{1, 0};
      keys[i] = vertices << shift;
      return both{1, 1};
    });
    t.once([&] {
      if (mine.found) atomic_add(found, mine.found);
      if (mine.marked) atomic_add(marked, mine.marked);
    });
  }
};

// The first of each group of equal keys takes the smallest weight of the group. Weights are not negative, so floats order as their bits do.
struct take_smallest {
  std::uint64_t const* keys;
  std::uint32_t* weights;
  std::uint64_t count;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (i && keys[i] == keys[i - 1]) return;
    for (std::uint64_t j = i + 1; j < count && keys[j] == keys[i]; ++j) weights[i] = smaller(weights[i], weights[j]);
  }
};

// Keys are sorted. Where a new source begins, its list and those of all preceding vertices without edges begin here.
struct mark_offset {
  std::uint64_t const* keys;
  std::uint64_t count, vertices;
  int shift;
  std::uint64_t* offsets;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {  // i in [0, count]
    std::uint64_t const from = i == 0 ? 0 : (keys[i - 1] >> shift) + 1;
    std::uint64_t const to = i == count ? vertices : keys[i] >> shift;
    for (std::uint64_t v = from; v <= to; ++v) offsets[v] = i;
  }
};

struct turn_around {
  std::uint64_t* keys;
  int shift;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const low = (std::uint64_t{1} << shift) - 1;
    keys[i] = (keys[i] & low) << shift | keys[i] >> shift;
  }
};

GARNER_HD inline std::uint32_t weight_of_bits(build_options::weight_options const& how, std::uint64_t bits) {
  if (how.kind == weight_kind::u32) {
    auto const low = static_cast<std::uint32_t>(how.low);
    return low + static_cast<std::uint32_t>(((bits >> 32) * (static_cast<std::uint64_t>(how.high) - low + 1)) >> 32);
  }
  float const w = static_cast<float>(how.low) + unit_float(bits) * static_cast<float>(how.high - how.low);
  std::uint32_t word;
  memcpy(&word, &w, 4);
  return word;
}

template <class Id>
struct draw_weight {
  csr_view<Id> g;
  std::uint32_t* weights;
  build_options::weight_options how;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    t.each(g.list(v), [&](Id u, std::uint64_t i) { weights[i] = weight_of_bits(how, edge_bits(v, u, how.seed)); });
  }
};

// --- one direction ---
struct sorted_arcs {
  std::span<std::uint64_t> keys;
  std::span<std::uint32_t> weights;
};

edge_lists make_lists(executor& x, sorted_arcs arcs, std::uint64_t vertices, int shift, std::uint32_t id_bytes) {
  std::uint64_t const m = arcs.keys.size();
  edge_lists lists;
  lists.offsets = buffer<std::uint64_t>(tier::host, vertices + 1, x.device(), "offsets");
  lists.targets = memory_block(tier::host, m * id_bytes, x.device(), "edge list");
  if (!arcs.weights.empty()) lists.weights = memory_block(tier::host, m * 4, x.device(), "weights");
  // The device builds in its own memory and copies the result back; the host builds in place.
  buffer<std::uint64_t> near_offsets;
  memory_block near_targets;
  std::uint64_t* offsets = lists.offsets.data();
  void* targets = lists.targets.data();
  if (x.asynchronous()) {
    near_offsets = buffer<std::uint64_t>(x.near(), vertices + 1, x.device(), "offsets being built");
    near_targets = memory_block(x.near(), m * id_bytes, x.device(), "edge list being built");
    offsets = near_offsets.data();
    targets = near_targets.data();
  }
  for_each_item<1>(x, m + 1, mark_offset{arcs.keys.data(), m, vertices, shift, offsets});
  std::uint64_t const low = (std::uint64_t{1} << shift) - 1;
  if (id_bytes == 8) for_each_item<1>(x, m, take_target<std::uint64_t>{arcs.keys.data(), low, static_cast<std::uint64_t*>(targets)});
  else for_each_item<1>(x, m, take_target<std::uint32_t>{arcs.keys.data(), low, static_cast<std::uint32_t*>(targets)});
  if (x.asynchronous()) {
    x.copy(lists.offsets.data(), offsets, lists.offsets.bytes());
    x.copy(lists.targets.data(), targets, m * id_bytes);
  }
  if (!arcs.weights.empty()) x.copy(lists.weights.data(), arcs.weights.data(), m * 4);
  x.wait();
  return lists;
}

// Bit v: vertex v has at least one edge.
template <class Id>
struct mark_touched {
  csr_view<Id> g;
  std::uint32_t* touched;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    if (g.degree(v) == 0) return;
    t.claim(touched, v);
    t.each(g.list(v), [&](Id u) { t.claim(touched, u); });
  }
};

std::uint64_t isolated_vertices(graph const& g) {
  executor here({device_kind::cpu, 0});
  if (!g.info.directed || g.info.in_edges) {  // then the offsets show it
    std::vector<std::uint64_t> of_block(blocks_of(g.info.vertices, 65536), 0);
    std::uint64_t const *const out = g.out.offsets.data(), *const in = g.info.in_edges ? g.in.offsets.data() : out;
    here.threads().run(g.info.vertices, 65536, [&](std::uint64_t a, std::uint64_t b) {
      std::uint64_t alone = 0;
      for (std::uint64_t v = a; v < b; ++v) alone += out[v] == out[v + 1] && in[v] == in[v + 1] ? 1 : 0;
      of_block[a / 65536] = alone;
    });
    return std::accumulate(of_block.begin(), of_block.end(), std::uint64_t{0});
  }
  std::vector<std::uint32_t> touched((g.info.vertices + 31) / 32, 0);
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    for_each_item<32>(here, g.info.vertices, mark_touched<Id>{g.view<Id>(g.out), touched.data()});
  });
  std::uint64_t hit = 0;
  for (std::uint32_t w : touched) hit += static_cast<std::uint64_t>(count_bits(w));
  return g.info.vertices - hit;
}

}  // namespace

int key_shift(std::uint64_t vertices) { return std::max(1, static_cast<int>(std::bit_width(vertices))); }

graph build_csr(executor& x, packed_arcs arcs, bool directed, build_options const& options, build_report& report) {
  phase const timed{"graph.build"};
  std::uint64_t const n = arcs.vertices;
  int const shift = arcs.shift;
  if (options.id_bytes != 0 && options.id_bytes != 4 && options.id_bytes != 8)
    fail(errc::usage, "id bytes {}: use 4 or 8", options.id_bytes);
  bool const weighted = arcs.weights_are != weight_kind::none && !options.random_weights;

  sorted_arcs sorted{arcs.keys.span(), {}};
  buffer<std::uint64_t> spare(x.near(), arcs.keys.size(), x.device(), "edges, to sort");
  buffer<std::uint32_t> spare_weights;
  std::uint64_t m = sorted.keys.size();
  // Number of loops among the keys, and of those marked for dropping.
  auto const look_for_loops = [&](std::span<std::uint64_t> keys, bool all, bool seconds) {
    buffer<std::uint64_t> counts(x.near(), 2, x.device(), "counters");
    x.fill(counts.data(), 0, counts.bytes());
    for_each_item<32>(x, blocks_of(keys.size(), mark_loops::block),
                      mark_loops{keys.data(), n, keys.size(), shift, all, seconds, counts.data(), counts.data() + 1});
    return std::pair{x.read(counts.data() + 1), x.read(counts.data())};
  };
  auto const [loops_found, loops] = look_for_loops(sorted.keys, !options.keep_loops, arcs.pairs);
  auto const other = [&](auto const& owner, auto const& spare_owner, auto span) {
    return span.data() == owner.data() ? spare_owner.data() : owner.data();
  };
  auto const sort_arcs = [&] {
    if (weighted) {
      if (spare_weights.empty()) spare_weights = buffer<std::uint32_t>(x.near(), arcs.weights.size(), x.device(), "weights, to sort");
      std::span<std::uint32_t> values{sorted.weights.data(), m};
      std::uint32_t* const free_values = other(arcs.weights, spare_weights, sorted.weights);
      sorted.keys = sort_by_key(x, sorted.keys, {other(arcs.keys, spare, sorted.keys), m}, values, {free_values, m}, 2 * shift);
      sorted.weights = values;
    } else {
      sorted.keys = sort(x, sorted.keys, {other(arcs.keys, spare, sorted.keys), m}, x.on_device() ? 2 * shift : 64);
    }
  };
  if (weighted) sorted.weights = arcs.weights.span();
  {
    phase const sorting{"graph.build.sort"};
    sort_arcs();
  }
  m -= loops;  // marked loops are at the end
  sorted.keys = sorted.keys.first(m);
  if (weighted) sorted.weights = sorted.weights.first(m);
  std::uint64_t const before = m;
  if (!options.keep_duplicates) {
    std::uint64_t* const keys = other(arcs.keys, spare, sorted.keys);
    if (weighted) {
      for_each_item<1>(x, m, take_smallest{sorted.keys.data(), sorted.weights.data(), m});
      std::uint32_t* const values = other(arcs.weights, spare_weights, sorted.weights);
      m = unique_by_key(x, sorted.keys.data(), sorted.weights.data(), keys, values, m);
      sorted.weights = {values, m};
    } else {
      m = unique(x, sorted.keys.data(), keys, m);
    }
    sorted.keys = {keys, m};
  }
  report.loops_kept = options.keep_loops ? look_for_loops(sorted.keys, false, false).first : 0;
  // The report counts edges: an undirected one has two keys, a loop has one.
  std::uint64_t const loops_before = options.keep_loops ? loops_found - loops : 0;
  std::uint64_t const arcs_dropped = (before - loops_before) - (m - report.loops_kept);
  report.loops_dropped = options.keep_loops ? 0 : arcs.pairs ? loops / 2 : loops;
  report.duplicates_dropped = (directed ? arcs_dropped : arcs_dropped / 2) + (loops_before - report.loops_kept);

  graph g;
  g.info.vertices = n;
  g.info.edges = m;
  g.info.directed = directed;
  g.info.id_bytes = options.id_bytes ? options.id_bytes : 4;
  g.info.weights = weighted ? arcs.weights_are : weight_kind::none;
  g.out = make_lists(x, sorted, n, shift, g.info.id_bytes);
  if (directed && options.in_edges) {
    for_each_item<1>(x, m, turn_around{sorted.keys.data(), shift});
    sort_arcs();
    g.in = make_lists(x, sorted, n, shift, g.info.id_bytes);
    g.info.in_edges = true;
  }
  if (options.random_weights) draw_weights(g, *options.random_weights);

  report.isolated = isolated_vertices(g);
  return g;
}

void require_weights(build_options::weight_options const& how) {
  bool const whole = how.kind == weight_kind::u32;
  if (how.kind == weight_kind::none || !(how.low >= 0) || !(how.high >= how.low) || !std::isfinite(how.high) ||
      (whole && (how.high > 4294967295.0 || how.low != std::floor(how.low) || how.high != std::floor(how.high))))
    fail(errc::usage, "weights from {} to {} cannot be drawn; use 0 <= low <= high, whole numbers below 2^32 for u32", how.low, how.high);
  auto const fits = [](double w) { return std::isfinite(static_cast<float>(w)) && (w == 0 || static_cast<float>(w) > 0); };
  if (!whole && !(fits(how.low) && fits(how.high)))
    fail(errc::usage, "weights from {} to {} do not fit a 32-bit float, which holds 0 and 1.4e-45 to 3.4e38; use others", how.low,
         how.high);
}

std::uint32_t drawn_weight(build_options::weight_options const& how, std::uint64_t u, std::uint64_t v) {
  return weight_of_bits(how, edge_bits(u, v, how.seed));
}

void draw_weights(graph& g, build_options::weight_options const& how) {
  require_weights(how);
  executor here({device_kind::cpu, 0});
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    for (edge_lists* lists : {&g.out, &g.in}) {
      if (lists->offsets.empty()) continue;
      lists->weights = memory_block(tier::host, g.info.edges * 4, lists->targets.device(), "weights");
      for_each_item<1>(here, g.info.vertices, draw_weight<Id>{g.view<Id>(*lists), static_cast<std::uint32_t*>(lists->weights.data()), how});
    }
  });
  g.info.weights = how.kind;
}

std::uint64_t build_bytes(std::uint64_t arcs, std::uint64_t vertices, bool weights, bool undirected, bool in_edges) {
  std::uint64_t const keys = undirected ? 2 * arcs : arcs;
  std::uint64_t const sort = keys * (weights ? 8 + 8 + 4 + 4 : 8 + 8);  // keys and sort buffer; with weights, both twice
  std::uint64_t const result = (vertices + 1) * 8 + keys * (weights ? 8 : 4);
  return arcs * (weights ? 20 : 16) + sort + result * (in_edges && !undirected ? 2 : 1);
}

namespace {
// The distinct user ids, ascending.
std::vector<std::uint64_t> distinct_ids(executor& x, edge_list const& e) {
  std::vector<std::uint64_t> all(2 * e.arcs.size()), spare(all.size());
  x.threads().run(e.arcs.size(), 1 << 16, [&](std::uint64_t a, std::uint64_t b) {
    for (std::uint64_t i = a; i < b; ++i) all[2 * i] = e.arcs[i].source, all[2 * i + 1] = e.arcs[i].target;
  });
  std::span<std::uint64_t> const in_order = sort(x, all, spare);
  std::vector<std::uint64_t>& out = in_order.data() == all.data() ? spare : all;
  out.resize(unique(x, in_order.data(), out.data(), in_order.size()));
  out.shrink_to_fit();
  return std::move(out);
}
}  // namespace

numbering_plan plan_numbering(edge_list const& said, std::uint64_t arcs, std::uint64_t largest, build_options const& options) {
  using numbering = build_options::ids;
  if (!said.ids.empty()) return {said.vertices, false};
  // Ids are too sparse to keep if the offsets alone would far outweigh the edges. A count in the header is always honored.
  std::uint64_t const vertices = std::max(said.vertices, arcs ? largest + 1 : 0);
  bool const sparse =
      (said.vertices == 0 || said.vertices < vertices) && (vertices >= 0xffffffffull || (vertices > (1u << 20) && vertices / 32 > arcs));
  return {vertices, options.numbering == numbering::compact || (options.numbering == numbering::automatic && sparse)};
}

void require_buildable(std::string const& source, std::uint64_t vertices, bool compact) {
  if (vertices >= 0xffffffffull)
    fail(errc::input, "{}: {} vertices are more than the 2^32 - 2 that can be built; {}", source, vertices,
         compact ? "the graph is too large" : "use --compact if most ids are unused");
}

void count_listed_twice(build_report& report, std::uint64_t edges, std::uint64_t loops_in_file, build_options const& options) {
  // Each edge was listed in both directions and then mirrored; those copies do not count as duplicates in the file.
  std::uint64_t const stored = (edges - report.loops_kept) / 2, came = (report.edges_read - loops_in_file) / 2;
  report.duplicates_dropped = (came > stored ? came - stored : 0) + (options.keep_loops ? loops_in_file - report.loops_kept : 0);
}

graph build_graph(edge_list e, build_options const& options, build_report& report) {
  executor x({device_kind::cpu, 0});
  bool const undirected = options.undirected.value_or(e.undirected);
  std::uint64_t const m = e.arcs.size();
  report.edges_read = m;
  using numbering = build_options::ids;
  if (!e.ids.empty() && options.numbering == numbering::keep) {  // then vertices missing from the list become isolated vertices
    x.threads().run(m, 1 << 16, [&](std::uint64_t a, std::uint64_t b) {
      for (; a < b; ++a) e.arcs[a] = {e.ids[e.arcs[a].source], e.ids[e.arcs[a].target]};
    });
    e.vertices = e.ids.back() + 1;
    e.ids.clear();
  }
  bool const listed = !e.ids.empty();

  std::uint64_t largest = 0, loops_in_file = 0;
  {
    struct of_block {
      std::uint64_t largest = 0, loops = 0;
    };
    std::vector<of_block> blocks(blocks_of(m, 65536));
    x.threads().run(m, 65536, [&](std::uint64_t a, std::uint64_t b) {
      of_block mine;
      for (std::uint64_t i = a; i < b; ++i) {
        mine.largest = std::max({mine.largest, e.arcs[i].source, e.arcs[i].target});
        mine.loops += e.arcs[i].source == e.arcs[i].target ? 1 : 0;
      }
      blocks[a / 65536] = mine;
    });
    for (of_block const& b : blocks) largest = std::max(largest, b.largest), loops_in_file += b.loops;
  }
  numbering_plan const numbers = plan_numbering(e, m, largest, options);
  bool const compact = numbers.compact;
  std::uint64_t vertices = numbers.vertices;
  std::vector<std::uint64_t> user;
  std::uint64_t first_id = listed ? e.ids.front() : 0;
  if (compact) {
    user = distinct_ids(x, e);
    vertices = user.size();
    if (vertices) first_id = user.front();
  }
  require_buildable(e.source, vertices, compact);
  // Contiguous ids need no map.
  bool const maps =
      listed ? e.ids.back() - e.ids.front() != e.ids.size() - 1 : compact && vertices && user.back() - first_id != vertices - 1;
  report.compacted = compact && maps;
  bool const weighted = !e.weights.empty();
  report.bytes_needed = build_bytes(m, vertices, weighted, undirected, options.in_edges);
  std::uint64_t const allowed = options.memory_limit ? options.memory_limit : host_budget().limit();
  if (report.bytes_needed > allowed)
    fail(errc::memory,
         "{}: building needs about {} bytes of host memory and {} are allowed; raise the host budget or use a larger "
         "machine{}",
         e.source, report.bytes_needed, allowed, vertices / 32 > m ? ", or use --compact if most ids are unused" : "");

  // Mirrored input already has both directions. Mirroring it again costs memory but repairs missing ones, and duplicates are dropped. The
  // input is trusted only if duplicates are kept.
  bool const mirror = undirected && !(e.mirrored && options.keep_duplicates);
  packed_arcs arcs;
  arcs.vertices = vertices;
  arcs.shift = key_shift(vertices);
  arcs.weights_are = e.weights_are;
  arcs.pairs = mirror;
  std::uint64_t const copies = mirror ? 2 : 1;
  arcs.keys = buffer<std::uint64_t>(tier::host, m * copies, -1, "arcs");
  if (weighted) arcs.weights = buffer<std::uint32_t>(tier::host, m * copies, -1, "weights of edges");
  x.threads().run(m, 1 << 15, [&](std::uint64_t a, std::uint64_t b) {
    auto const internal = [&](std::uint64_t id) {
      return compact ? static_cast<std::uint64_t>(std::lower_bound(user.begin(), user.end(), id) - user.begin()) : id;
    };
    for (std::uint64_t i = a; i < b; ++i) {
      std::uint64_t const u = internal(e.arcs[i].source), v = internal(e.arcs[i].target);
      arcs.keys[i * copies] = u << arcs.shift | v;
      if (mirror) arcs.keys[i * copies + 1] = v << arcs.shift | u;
      for (std::uint64_t k = 0; weighted && k < copies; ++k) arcs.weights[i * copies + k] = e.weights[i];
    }
  });
  std::string const name = e.source;
  std::uint64_t const base = e.id_base;
  std::uint64_t const names = e.names_digest;
  bool const listed_twice = mirror && e.mirrored;
  if (listed && maps) user = std::move(e.ids);
  e = {};
  graph g = build_csr(x, std::move(arcs), !undirected, options, report);
  if (undirected && !mirror) report.duplicates_dropped = 0;
  if (listed_twice) count_listed_twice(report, g.info.edges, loops_in_file, options);
  g.name = name;
  g.info.names_digest = names;
  if (maps) {
    g.info.id_map = true;
    g.ids = buffer<std::uint64_t>(tier::host, user.size(), -1, "id map");
    for (std::uint64_t i = 0; i < user.size(); ++i) g.ids[i] = user[i] + base;
  } else {
    g.info.id_base = base + first_id;
  }
  return g;
}

}  // namespace garner

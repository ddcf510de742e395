#include "graph/generate.hpp"

#include <algorithm>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "core/words.hpp"
#include "graph/build.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

struct endpoints {
  std::uint64_t u, v;
};

// Graph500's quadrants, one 32-bit random number per bit of the label: thresholds A, A+B, A+B+C of 2^32.
GARNER_HD inline endpoints draw_kron(std::uint64_t seed, std::uint64_t i, int scale) {
  constexpr std::uint32_t a = 2448131359u, ab = 3264175145u, abc = 4080218931u;  // .57 .76 .95
  std::uint64_t u = 0, v = 0, bits = 0;
  for (int level = 0; level < scale; ++level) {
    if (level % 2 == 0) bits = random_bits(seed, static_cast<std::uint64_t>(level / 2), i);
    auto const r = static_cast<std::uint32_t>(level % 2 ? bits >> 32 : bits);
    u = 2 * u + (r >= ab ? 1 : 0);
    v = 2 * v + ((r >= a && r < ab) || r >= abc ? 1 : 0);
  }
  return {permute_label(u, scale, seed), permute_label(v, scale, seed)};
}

GARNER_HD inline endpoints draw_uniform(std::uint64_t seed, std::uint64_t i, int scale) {
  return {random_bits(seed, 0, i) >> (64 - scale), random_bits(seed, 1, i) >> (64 - scale)};
}

// Four of five links are short: up to 2^k away, k uniform in 0 .. 10 (in crawl order, pages of one site are adjacent). The others go to the
// page of rank r^4 for a uniform r, so that the popularity of page k falls as k^(-3/4); ranks are spread over the ids.
GARNER_HD inline endpoints draw_web(std::uint64_t seed, std::uint64_t i, int scale) {
  std::uint64_t const n = std::uint64_t{1} << scale, bits = random_bits(seed, 1, i);
  std::uint64_t const u = random_bits(seed, 0, i) >> (64 - scale);
  if (bits % 5 != 0) {
    std::uint64_t const k = (bits >> 8) % 11;
    std::uint64_t const distance = 1 + ((bits >> 16) & ((std::uint64_t{1} << k) - 1));
    return {u, (bits >> 63 ? u + distance : u - distance) & (n - 1)};
  }
  std::uint64_t const r = bits >> 32, r2 = r * r >> 32, r4 = r2 * r2 >> 32;
  return {u, permute_label(r4 * n >> 32, scale, seed)};
}

GARNER_HD inline endpoints draw_ends(generator kind, std::uint64_t seed, std::uint64_t i, int scale) {
  return kind == generator::kron      ? draw_kron(seed, i, scale)
         : kind == generator::uniform ? draw_uniform(seed, i, scale)
                                      : draw_web(seed, i, scale);
}

struct draw_edge {
  generator kind;
  std::uint64_t seed;
  int scale, shift;
  std::uint64_t first;
  std::uint64_t* keys;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t item) const {
    std::uint64_t const i = first + item;
    endpoints const e = draw_ends(kind, seed, i, scale);
    keys[2 * i] = e.u << shift | e.v;
    keys[2 * i + 1] = e.v << shift | e.u;
  }
};

}  // namespace

generate_bytes bytes_to_generate(generate_options const& o) {
  std::uint64_t const n = std::uint64_t{1} << o.scale, arcs = 2 * o.edge_factor * n;
  std::uint64_t const id = o.build.id_bytes ? o.build.id_bytes : 4;
  return {arcs * (16 + id) + arcs / 8 + (n + 1) * 8, n * 8 + arcs * (id + (o.build.random_weights ? 4 : 0))};
}

namespace {
void require_size(generate_options const& o) {
  if (o.scale < 1 || o.scale > 31) fail(errc::usage, "scale {}: use 1 to 31", o.scale);
  if (o.edge_factor < 1 || o.edge_factor > 4096) fail(errc::usage, "edge factor {}: use 1 to 4096", o.edge_factor);
}
std::string name_of(generate_options const& o) {
  return fmt::format("{} scale {} edge factor {} seed {}", to_string(o.kind), o.scale, o.edge_factor, o.seed);
}
}  // namespace

void generate_edges(generate_options const& o, arc_sink& sink) {
  phase const timed{"graph.generate"};
  require_size(o);
  std::uint64_t const edges = o.edge_factor << o.scale;
  constexpr std::uint64_t part = 1u << 18;
  edge_list some = generated_list(o);
  progress told("drawing edges", edges);
  for (std::uint64_t first = 0; first < edges; first += part) {
    check_interrupted();
    some.arcs.resize(std::min(part, edges - first));
    shared_pool().run(some.arcs.size(), 1u << 12, [&](std::uint64_t i, std::uint64_t last) {
      for (; i < last; ++i) {
        endpoints const e = draw_ends(o.kind, o.seed, first + i, o.scale);
        some.arcs[i] = {e.u, e.v};
      }
    });
    told.advance(some.arcs.size());
    sink.take(some);
  }
}

edge_list generated_list(generate_options const& o) {
  edge_list list;
  list.undirected = true;
  list.vertices = std::uint64_t{1} << o.scale;
  list.source = name_of(o);
  return list;
}

std::uint64_t scratch_bytes_to_generate(generate_options const& o, bool compress) {
  return scratch_bytes_of(o.edge_factor << o.scale, false, true, false, compress, false) +
         (o.build.random_weights ? (o.edge_factor << o.scale) * (compress ? 16 : 8) : 0);
}

graph_info generate_container(generate_options const& o, std::filesystem::path const& to, large_options const& how, build_report& report,
                              large_report& about) {
  require_size(o);
  edge_list const list = generated_list(o);
  large_graph g(to, list.source, how, o.build);
  g.expect(scratch_bytes_to_generate(o, how.compress));
  generate_edges(o, g);
  graph_info const info = g.finish(list, report);
  about = g.about();
  return info;
}

graph generate(executor& x, generate_options const& o, build_report& report) {
  phase const timed{"graph.generate"};
  require_size(o);
  std::uint64_t const n = std::uint64_t{1} << o.scale, edges = o.edge_factor * n;
  packed_arcs arcs;
  arcs.vertices = n;
  arcs.shift = key_shift(n);
  arcs.pairs = true;
  arcs.keys = buffer<std::uint64_t>(x.near(), 2 * edges, x.device(), "generated arcs");
  {
    progress told("drawing edges", edges);
    constexpr std::uint64_t part = 1u << 22;  // small enough for Ctrl-C and the progress bar to stay responsive
    for (std::uint64_t first = 0; first < edges; first += part) {
      std::uint64_t const n_part = std::min(part, edges - first);
      for_each_item<1>(x, n_part, draw_edge{o.kind, o.seed, o.scale, arcs.shift, first, arcs.keys.data()});
      told.advance(n_part);
    }
  }
  report.edges_read = edges;
  graph g = build_csr(x, std::move(arcs), false, o.build, report);
  g.name = name_of(o);
  return g;
}

constexpr word_table<generator> generators{"'{text}' is not a generator; use {a_or_b}", {"kron", "uniform", "web"}};
std::string_view to_string(generator value) { return generators[value]; }
generator parse_generator(std::string_view text) { return generators.parse(text); }

}  // namespace garner

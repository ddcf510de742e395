// Weak components on every device, access, id width and variant, against BFS over the undirected view: all labels equal.
#include "traverse/components.hpp"

#include <array>

#include "core/random.hpp"
#include "far/matrix.hpp"
#include "far/traffic.hpp"
#include "generated.hpp"
#include "graph/generate.hpp"
#include "simulated_runs.hpp"
#include "support.hpp"
#include "traverse/placed.hpp"
#include "traverse/verify_components.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using variant = components_variant;

// The smallest vertex of each component: every edge in both directions, searched from each vertex in order.
std::vector<std::uint64_t> serial_labels(graph const& g) {
  std::vector<std::vector<std::uint64_t>> both(g.info.vertices);
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i) {
      both[v].push_back(target_at(g, i));
      both[target_at(g, i)].push_back(v);
    }
  std::vector<std::uint64_t> label(g.info.vertices, ~std::uint64_t{0});
  for (std::uint64_t s = 0; s < g.info.vertices; ++s) {
    if (label[s] != ~std::uint64_t{0}) continue;
    std::queue<std::uint64_t> open;
    label[s] = s;
    open.push(s);
    for (; !open.empty(); open.pop())
      for (std::uint64_t u : both[open.front()])
        if (label[u] == ~std::uint64_t{0}) label[u] = s, open.push(u);
  }
  return label;
}
std::pair<std::uint64_t, std::uint64_t> count_and_largest(std::vector<std::uint64_t> const& label) {
  std::vector<std::uint64_t> members(label.size());
  for (auto l : label) ++members[l];
  return {std::count_if(members.begin(), members.end(), [](auto m) { return m > 0; }),
          members.empty() ? 0 : *std::max_element(members.begin(), members.end())};
}

// Some hundred components: sparse, with a hub, and an island in the upper ids.
graph random_graph(std::uint64_t seed, bool undirected, std::uint32_t id_bytes) {
  std::uint64_t const n = 300 + random_bits(seed, 9, 0) % 1500, m = n * (1 + seed % 4) / 2;
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < m; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % n, v = random_bits(seed, 1, i) % n;
    if (i % 5 == 0) u = 77;
    if ((u < n / 2) != (v < n / 2)) v = (v + n / 2) % n;
    arcs.push_back({u, v});
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = seed % 2;
  o.keep_loops = seed % 3 == 0;
  return make_graph(arcs, undirected, n, o);
}

class components : public at_place {};

TEST_P(components, every_access_tier_id_width_and_variant_against_the_serial_twin) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      graph const original = random_graph(seed, seed / 2 % 2 == 0, id_bytes);
      auto const want = serial_labels(original);
      auto const [count, largest] = count_and_largest(want);
      ASSERT_GT(count, 1u);
      for (variant kind : {variant::afforest, variant::emogi})
        for (std::uint32_t per_team : {1u, 8u})
          for (components_asked o : every_access_and_tier<components_asked>(where())) {
            o.variant = kind;
            o.tuning.vertices_per_team = per_team;
            o.tuning.slice = 64;
            o.verify = true;
            graph const g = placed(original, o);
            components_job job(g, o);
            SCOPED_TRACE(fmt::format("{} seed {} ids {} per team {} {}", to_string(o.access), seed, id_bytes, per_team,
                                     kind == variant::emogi ? "emogi" : "afforest"));
            for (int trial = 0; trial < 2; ++trial) {  // no state of the previous run remains
              components_run const r = job.run();
              ASSERT_EQ(job.labels(), want);
              EXPECT_EQ(r.components, count);
              EXPECT_EQ(r.largest, largest);
              EXPECT_TRUE(r.verified);
            }
          }
    }
}

TEST_P(components, any_number_of_first_neighbors_and_any_sample) {
  for (bool undirected : {true, false}) {
    graph const original = random_graph(6, undirected, 4);
    auto const want = serial_labels(original);
    for (std::uint32_t first : {0u, 1u, 2u, 3u, 64u})
      for (std::uint64_t seed : {1u, 2u}) {
        components_asked o;
        o.device = where();
        o.graph_cache = 0;
        o.first_neighbors = first;
        o.seed = seed;
        o.verify = true;
        graph const g = placed(original, o);
        components_job job(g, o);
        components_run const r = job.run();
        EXPECT_EQ(job.labels(), want) << first;
        ASSERT_EQ(r.phases.size(), undirected && first ? 2u : 1u);
        std::uint64_t starts = 0;
        for (std::uint64_t v = 0; v < want.size(); ++v)
          starts += std::min<std::uint64_t>(first, original.out.offsets[v + 1] - original.out.offsets[v]);
        if (undirected && first) {
          EXPECT_EQ(r.phases[0].edges, starts);
        } else {
          EXPECT_EQ(r.phases[0].edges, original.info.edges);
        }
        if (where().kind != device_kind::cpu) {
          if (counts_requests()) {
            EXPECT_EQ(r.link.bytes_useful, r.edges * 4);
          }
        }
      }
  }
}

// A directed edge is stored at one end only, so a vertex must stay active while the other end may still change its label.
TEST_P(components, of_a_directed_graph_are_weak) {
  std::vector<arc> into;  // every edge leads to a smaller hub, and the smallest label enters last, from the opposite end
  for (std::uint64_t v = 2; v < 400; ++v) into.push_back({v, 1});
  for (std::uint64_t v = 400; v < 800; ++v) into.push_back({v, v - 1});
  into.push_back({799, 0});
  into.push_back({900, 901});
  graph const original = make_graph(into, false, 1000);
  for (variant kind : {variant::afforest, variant::emogi}) {
    auto o = verified<components_asked>(where(), kind);
    graph const g = placed(original, o);
    components_job job(g, o);
    components_run const r = job.run();
    EXPECT_EQ(job.labels(), serial_labels(original));
    EXPECT_EQ(r.largest, 800u);
    EXPECT_EQ(r.components, 200u);
  }
}

TEST_P(components, a_path_whichever_way_it_is_numbered_and_a_star) {
  std::vector<arc> up, shuffled, star;
  for (std::uint64_t v = 0; v + 1 < 1024; ++v) {
    up.push_back({v, v + 1});
    shuffled.push_back({permute_label(v, 10, 3), permute_label(v + 1, 10, 3)});
  }
  for (std::uint64_t v = 0; v < 5000; ++v)
    if (v != 4321) star.push_back({4321, v});
  for (auto const& arcs : {up, shuffled, star})
    for (bool undirected : {true, false})
      for (variant kind : {variant::afforest, variant::emogi}) {
        auto o = verified<components_asked>(where(), kind);
        graph const g = placed(make_graph(arcs, undirected), o);
        components_job job(g, o);
        components_run const r = job.run();
        EXPECT_EQ(r.components, 1u);
        EXPECT_EQ(r.largest, g.info.vertices);
        EXPECT_EQ(job.labels(), std::vector<std::uint64_t>(g.info.vertices, 0));
      }
}

// Large enough for contention in a thread pool: at one root (Kronecker), and in some thousand trees (uniform, one edge per vertex).
TEST_P(components, of_generated_graphs) {
  executor here({device_kind::cpu, 0});
  for (generator kind : {generator::kron, generator::uniform})
    for (variant how : {variant::afforest, variant::emogi}) {
      generate_options gen;
      gen.kind = kind;
      gen.scale = 14;
      gen.edge_factor = kind == generator::kron ? 16 : 1;
      build_report report;
      graph const original = generate(here, gen, report);
      auto const want = serial_labels(original);
      auto o = verified<components_asked>(where(), how);
      graph const g = placed(original, o);
      components_job job(g, o);
      components_run const r = job.run();
      EXPECT_EQ(job.labels(), want);
      EXPECT_EQ(std::pair(r.components, r.largest), count_and_largest(want));
    }
}

TEST_P(components, small_and_empty_graphs) {
  for (variant kind : {variant::afforest, variant::emogi}) {
    auto o = verified<components_asked>(where(), kind);
    graph const none = placed(make_graph({}), o);
    components_job empty(none, o);
    components_run r = empty.run();
    EXPECT_EQ(r.components + r.largest + r.phases.size(), 0u);
    EXPECT_TRUE(r.verified);
    EXPECT_TRUE(empty.labels().empty());

    graph const one = placed(make_graph({}, false, 1), o);
    r = components_job(one, o).run();
    EXPECT_EQ(r.components, 1u);
    EXPECT_EQ(r.largest, 1u);

    graph const apart = placed(make_graph({{38, 39}}, true, 40), o);
    components_job lonely(apart, o);
    r = lonely.run();
    EXPECT_EQ(r.components, 39u);
    EXPECT_EQ(r.largest, 2u);
    EXPECT_EQ(lonely.labels()[39], 38u);

    build_options keep;
    keep.keep_loops = keep.keep_duplicates = true;
    graph const original = make_graph({{1, 1}, {1, 1}, {2, 3}, {2, 3}, {3, 3}}, true, 64, keep);
    graph const odd = placed(original, o);
    components_job loops(odd, o);
    r = loops.run();
    EXPECT_EQ(r.components, 63u);
    EXPECT_EQ(loops.labels(), serial_labels(original));
  }
}

TEST_P(components, tells_of_the_link_what_a_trace_counts) {
  graph const original = random_graph(6, true, 4);
  components_asked o;
  o.device = where();
  graph const g = placed(original, o);
  components_run const here = components_job(g, o).run();
  o.device = {device_kind::simulated, 0};
  components_run const simulated = components_job(original, o).run();
  ASSERT_EQ(here.phases.size(), simulated.phases.size());
  // The closed form of a device counts a line shared by two lists twice (docs/dev/traffic-model.md): 5 % here.
  std::uint64_t const told = here.phases[0].link.bytes_link(), counted = simulated.phases[0].link.bytes_link();
  if (where().kind == device_kind::cuda) {
    EXPECT_GE(told, counted);
    EXPECT_LE(told, counted + counted / 12);
  } else if (where().kind == device_kind::simulated) {
    EXPECT_EQ(here.phases[0].link, simulated.phases[0].link);
  }
  EXPECT_EQ(here.phases[0].edges, simulated.phases[0].edges);
}
GARNER_AT_EVERY_PLACE(components);

// Tests the certificate: every way to corrupt a right result must be detected.
TEST_P(components, the_certificate_finds_what_is_wrong) {
  executor x(where());
  graph const original = make_graph({{0, 1}, {1, 2}, {3, 4}, {4, 5}}, true, 8);
  components_asked o;
  o.device = where();
  graph const g = placed(original, o);
  auto const offsets = near_copy(x, std::vector<std::uint64_t>(original.out.offsets.begin(), original.out.offsets.end()));
  std::vector<std::uint32_t> const right{0, 0, 0, 3, 3, 3, 6, 7};
  auto const verdict = [&](std::vector<std::uint32_t> const& label, std::uint64_t count, std::uint64_t largest) -> std::string {
    auto const near = near_copy(x, label);
    try {
      verify_components(x, g.view<std::uint32_t>(g.out, offsets.data()), near.data(), count, largest, g, access_mode::aligned);
    } catch (error const& e) {
      return e.what();
    }
    return "right";
  };
  EXPECT_EQ(verdict(right, 4, 3), "right");
  EXPECT_NE(verdict(right, 3, 3).find("3 components, the largest of 3 vertices, were reported, but there are 4"), std::string::npos);
  EXPECT_NE(verdict(right, 4, 4).find("the largest of 3"), std::string::npos);
  EXPECT_NE(verdict({0, 0, 0, 3, 3, 5, 6, 7}, 5, 3).find("vertex 4: an edge leads"), std::string::npos);  // split
  EXPECT_NE(verdict({0, 0, 0, 0, 0, 0, 6, 7}, 3, 6).find("union-find"), std::string::npos);               // two merged into one
  EXPECT_NE(verdict({0, 0, 0, 3, 3, 3, 6, 6}, 3, 3).find("union-find"), std::string::npos);               // isolated ones too
  EXPECT_NE(verdict({0, 0, 0, 3, 3, 3, 6, 900}, 4, 3).find("vertex 7: its label is not a vertex"), std::string::npos);
  EXPECT_NE(verdict({1, 1, 1, 3, 3, 3, 6, 7}, 4, 3).find("vertex 0: its label is larger"), std::string::npos);
  EXPECT_NE(verdict({0, 0, 0, 3, 3, 3, 6, 1}, 4, 3).find("vertex 7: its label does not bear"), std::string::npos);
}

// A device's closed form equals the count of a trace.
TEST(components_traffic, of_the_first_neighbors_is_simulated) {
  GARNER_NEEDS_COUNTS();
  graph const g = random_graph(3, true, 4);
  components_asked o;
  o.device = {device_kind::simulated, 0};
  o.graph_cache = 0;
  o.first_neighbors = 2;
  components_run const r = components_job(g, o).run();
  // Lane by lane, with plain sets: a warp's lanes do not request what they hold from the previous step.
  traffic want;
  for (std::uint64_t warp = 0; warp < g.info.vertices; warp += 32) {
    std::array<std::uint64_t, 32> held;
    held.fill(~std::uint64_t{0});
    for (std::uint64_t step = 0; step < 2; ++step) {
      std::vector<bool> asked((g.info.edges * 4 / 128 + 1) * 4);
      for (std::uint64_t v = warp; v < std::min(g.info.vertices, warp + 32); ++v) {
        std::uint64_t const i = g.out.offsets[v] + step;
        if (i >= g.out.offsets[v + 1]) continue;
        want.bytes_useful += 4;
        if (held[v - warp] != i / 8) asked[i / 8] = true;
        held[v - warp] = i / 8;
      }
      for (std::size_t line = 0; line + 4 <= asked.size(); line += 4)
        for (std::size_t k = 0, length; k < 4; k += length + 1) {
          for (length = 0; k + length < 4 && asked[line + k + length];) ++length;
          if (length) ++want.requests[length - 1];
        }
    }
  }
  EXPECT_EQ(r.phases[0].link, want);
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint32_t first : {1u, 2u, 9u}) {
      graph const any = random_graph(4, true, id_bytes);
      o.first_neighbors = first;
      executor x(o.device);
      first_reads const told = measure_first_reads(x, any.info, any.out.offsets.data(), first);
      components_phase const simulated = components_job(any, o).run().phases[0];
      EXPECT_EQ(told.link, simulated.link) << id_bytes << ' ' << first;
      EXPECT_EQ(told.edges, simulated.edges);
    }
}

TEST(components_traffic, of_a_round_is_that_of_all_lists) {
  GARNER_NEEDS_COUNTS();
  graph const g = random_graph(3, true, 4);
  components_asked o;
  o.device = {device_kind::simulated, 0};
  o.variant = variant::emogi;
  for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned}) {
    o.access = how;
    components_run const r = components_job(g, o).run();
    EXPECT_EQ(r.phases[0].vertices, g.info.vertices);
    EXPECT_EQ(r.phases[0].edges, g.info.edges);
    if (how == access_mode::strided) continue;  // lanes without edges are idle, which these lists do not model
    EXPECT_EQ(r.phases[0].link, trace<32>(adjacency_of(g.out.offsets, g.info.vertices, [](std::uint64_t) { return true; }), how));
  }
}

TEST(components_traffic, afforest_looks_at_few_edges_and_asks_for_less) {
  GARNER_NEEDS_COUNTS();
  graph const g = generated(generator::kron, 14);
  components_asked o;
  o.device = {device_kind::simulated, 0};
  o.verify = true;
  components_run const ours = components_job(g, o).run();
  o.variant = variant::emogi;
  components_run const theirs = components_job(g, o).run();
  EXPECT_EQ(ours.components, theirs.components);
  EXPECT_EQ(ours.largest, theirs.largest);
  EXPECT_LT(ours.edges * 10, g.info.edges);
  EXPECT_GT(2 * theirs.edges, 3 * g.info.edges);
  EXPECT_LT(ours.link.bytes_link() * 5, theirs.link.bytes_link());
}

TEST(components_options, are_checked) {
  graph const g = make_graph({{0, 1}});
  components_asked o;
  o.tuning.slice = 33;
  EXPECT_NE(error_of([&] { components_job(g, o); }).find("multiple of 32"), std::string::npos);
  o = {};
  o.tuning.vertices_per_team = 0;
  EXPECT_NE(error_of([&] { components_job(g, o); }), "");
  o = {};
  o.first_neighbors = 65;
  EXPECT_NE(error_of([&] { components_job(g, o); }).find("0 to 64"), std::string::npos);
  o = {};
  o.access = access_mode::paged;
  o.edges = tier::host;
  EXPECT_NE(error_of([&] { components_job(g, o); }).find("paged reads tier managed"), std::string::npos);
}

}  // namespace
}  // namespace garner

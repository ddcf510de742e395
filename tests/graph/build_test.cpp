// Edge list to CSR: dropped and kept edges, and the generators, with the same bits on every device.
#include "graph/build.hpp"

#include <cstring>
#include <map>
#include <set>

#include "core/random.hpp"
#include "graph/generate.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

std::vector<std::uint64_t> list_of(graph const& g, std::uint64_t v, bool in = false) {
  edge_lists const& l = in ? g.in : g.out;
  std::vector<std::uint64_t> list;
  for (std::uint64_t i = l.offsets[v]; i < l.offsets[v + 1]; ++i)
    list.push_back(g.info.id_bytes == 8 ? static_cast<std::uint64_t const*>(l.targets.data())[i]
                                        : static_cast<std::uint32_t const*>(l.targets.data())[i]);
  return list;
}
std::uint32_t weight_at(edge_lists const& l, std::uint64_t i) { return static_cast<std::uint32_t const*>(l.weights.data())[i]; }
using ids = std::vector<std::uint64_t>;

//  0 -> 1 (twice), 1 -> 1, 2 -> 0, 4 -> 2; 3 is isolated
std::vector<arc> const drawn{{0, 1}, {2, 0}, {1, 1}, {0, 1}, {4, 2}};

TEST(build, directed_drops_loops_and_duplicates) {
  build_report r;
  graph const g = build_graph(make_edges(drawn), {}, r);
  EXPECT_EQ(g.info.vertices, 5u);
  EXPECT_EQ(g.info.edges, 3u);
  EXPECT_TRUE(g.info.directed);
  EXPECT_EQ(list_of(g, 0), (ids{1}));
  EXPECT_EQ(list_of(g, 1), (ids{}));
  EXPECT_EQ(list_of(g, 4), (ids{2}));
  EXPECT_EQ(r.edges_read, 5u);
  EXPECT_EQ(r.loops_dropped, 1u);
  EXPECT_EQ(r.duplicates_dropped, 1u);
  EXPECT_EQ(r.isolated, 1u);  // 3; the loop at 1 is dropped, but 0 -> 1 enters it
}

TEST(build, undirected_lists_both_ways) {
  build_report r;
  build_options o;
  o.undirected = true;
  graph const g = build_graph(make_edges(drawn), o, r);
  EXPECT_EQ(g.info.edges, 6u);
  EXPECT_EQ(list_of(g, 0), (ids{1, 2}));
  EXPECT_EQ(list_of(g, 2), (ids{0, 4}));
  EXPECT_EQ(r.loops_dropped, 1u);
  EXPECT_EQ(r.duplicates_dropped, 1u);
  EXPECT_EQ(r.isolated, 1u);
}

TEST(build, keeps_what_it_is_told_to) {
  build_report r;
  build_options o;
  o.keep_duplicates = o.keep_loops = true;
  graph const g = build_graph(make_edges(drawn), o, r);
  EXPECT_EQ(g.info.edges, 5u);
  EXPECT_EQ(list_of(g, 0), (ids{1, 1}));
  EXPECT_EQ(list_of(g, 1), (ids{1}));
}

TEST(build, an_undirected_loop_is_one_arc) {
  build_report r;
  build_options o;
  o.keep_loops = true;
  for (bool duplicates : {false, true}) {
    o.keep_duplicates = duplicates;
    graph const g = build_graph(make_edges({{0, 0}, {0, 1}, {2, 2}, {2, 2}}, true), o, r);
    EXPECT_EQ(g.info.edges, duplicates ? 5u : 4u);
    EXPECT_EQ(r.loops_kept, duplicates ? 3u : 2u);
    EXPECT_EQ(r.loops_dropped, 0u);
    EXPECT_EQ(r.duplicates_dropped, duplicates ? 0u : 1u);
    EXPECT_EQ(list_of(g, 0), (ids{0, 1}));
    EXPECT_EQ(r.isolated, 0u);
  }
  edge_list listed_both_ways = make_edges({{0, 0}, {0, 1}, {1, 0}}, true);
  listed_both_ways.mirrored = true;
  o.keep_duplicates = false;
  EXPECT_EQ(build_graph(listed_both_ways, o, r).info.edges, 3u);
  EXPECT_EQ(r.duplicates_dropped, 0u);
}

TEST(build, in_lists_are_the_other_direction) {
  build_options o;
  o.in_edges = true;
  edge_list e = make_edges(drawn);
  e.weights = {5, 6, 7, 3, 9};
  e.weights_are = weight_kind::u32;
  build_report r;
  graph const g = build_graph(std::move(e), o, r);
  EXPECT_TRUE(g.info.in_edges);
  EXPECT_EQ(list_of(g, 1, true), (ids{0}));
  EXPECT_EQ(list_of(g, 0, true), (ids{2}));
  EXPECT_EQ(list_of(g, 2, true), (ids{4}));
  EXPECT_EQ(weight_at(g.out, 0), 3u);  // the smaller of 5 and 3
  EXPECT_EQ(weight_at(g.in, g.in.offsets[1]), 3u);
  EXPECT_EQ(weight_at(g.in, g.in.offsets[0]), 6u);
  EXPECT_EQ(r.isolated, 1u);
}

TEST(build, sparse_ids_are_compacted_and_speak_as_before) {
  build_report r;
  graph const g = build_graph(make_edges({{1ull << 50, 7}, {7, 99}}), {}, r);
  EXPECT_TRUE(r.compacted);
  EXPECT_EQ(g.info.vertices, 3u);
  EXPECT_EQ(g.user_id(2), 1ull << 50);
  EXPECT_EQ(g.internal_id(99), 1u);
  EXPECT_EQ(list_of(g, 2), (ids{0}));
  EXPECT_NE(error_of([&] { g.internal_id(8); }).find("8"), std::string::npos);
}

TEST(build, gaps_are_kept_unless_asked) {
  build_report r;
  EXPECT_EQ(build_graph(make_edges({{5, 9}}), {}, r).info.vertices, 10u);
  EXPECT_FALSE(r.compacted);
  build_options o;
  o.numbering = build_options::ids::compact;
  EXPECT_EQ(build_graph(make_edges({{5, 9}}), o, r).info.vertices, 2u);
  o.numbering = build_options::ids::keep;
  EXPECT_NE(error_of([&] { build_graph(make_edges({{5, 1ull << 40}}), o, r); }).find("--compact"), std::string::npos);
}

TEST(build, compact_ids_without_a_gap_need_no_map) {
  build_report r;
  build_options o;
  o.numbering = build_options::ids::compact;
  graph const g = build_graph(make_edges({{5, 7}, {6, 5}}), o, r);
  EXPECT_FALSE(g.info.id_map);
  EXPECT_FALSE(r.compacted);
  EXPECT_EQ(g.info.id_base, 5u);
  EXPECT_EQ(g.info.vertices, 3u);
  EXPECT_EQ(list_of(g, 0), (ids{2}));
}

TEST(build, header_vertices_and_base_count) {
  edge_list e = make_edges({{0, 1}}, false, 4);
  e.id_base = 1;
  build_report r;
  graph const g = build_graph(std::move(e), {}, r);
  EXPECT_EQ(g.info.vertices, 4u);
  EXPECT_EQ(g.user_id(0), 1u);
  EXPECT_EQ(g.internal_id(4), 3u);
  EXPECT_NE(error_of([&] { g.internal_id(0); }), "");
}

TEST(build, mirrored_input_is_not_counted_as_duplicates) {
  edge_list e = make_edges({{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 1}}, true);
  e.mirrored = true;
  build_report r;
  graph const g = build_graph(std::move(e), {}, r);
  EXPECT_EQ(g.info.edges, 4u);
  EXPECT_FALSE(g.info.directed);
}

TEST(build, nothing_at_all) {
  build_report r;
  graph const none = build_graph(make_edges({}), {}, r);
  EXPECT_EQ(none.info.vertices, 0u);
  EXPECT_EQ(none.info.edges, 0u);
  graph const lonely = build_graph(make_edges({}, false, 3), {}, r);
  EXPECT_EQ(lonely.info.vertices, 3u);
  EXPECT_EQ(lonely.out.offsets[3], 0u);
  EXPECT_EQ(r.isolated, 3u);
}

TEST(build, refuses_what_does_not_fit) {
  build_options o;
  o.memory_limit = 100;
  build_report r;
  errc code{};
  EXPECT_NE(error_of([&] { build_graph(make_edges(drawn), o, r); }, &code).find("100 are allowed"), std::string::npos);
  EXPECT_EQ(code, errc::memory);
  o = {};
  o.random_weights = build_options::weight_options{weight_kind::u32, 9, 3, 1};
  EXPECT_NE(error_of([&] { build_graph(make_edges(drawn), o, r); }), "");
  for (auto const& [low, high] : {std::pair(0.0, 1e39), std::pair(1e-50, 1.0), std::pair(0.0, 1e-50)}) {
    o.random_weights = build_options::weight_options{weight_kind::f32, low, high, 1};
    EXPECT_NE(error_of([&] { build_graph(make_edges(drawn), o, r); }, &code).find("do not fit a 32-bit float"), std::string::npos) << high;
    EXPECT_EQ(code, errc::usage);
  }
}

// Random edges against a map from pairs to the smallest weight.
TEST(build, random_arcs_against_a_map) {
  for (bool undirected : {false, true})
    for (std::uint32_t id_bytes : {4u, 8u}) {
      std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> want;
      edge_list e = make_edges({}, undirected);
      e.weights_are = weight_kind::u32;
      for (std::uint64_t i = 0; i < 20000; ++i) {
        std::uint64_t const u = random_bits(3, 0, i) % 150, v = random_bits(3, 1, i) % 150;
        auto const w = static_cast<std::uint32_t>(random_bits(3, 2, i) % 1000);
        e.arcs.push_back({u, v});
        e.weights.push_back(w);
        if (u == v) continue;
        for (auto key : {std::pair{u, v}, std::pair{v, u}}) {
          auto const [at, fresh] = want.try_emplace(key, w);
          if (!fresh) at->second = std::min(at->second, w);
          if (!undirected) break;
        }
      }
      build_options o;
      o.id_bytes = id_bytes;
      build_report r;
      graph const g = build_graph(std::move(e), o, r);
      ASSERT_EQ(g.info.edges, want.size());
      auto at = want.begin();
      for (std::uint64_t v = 0; v < g.info.vertices; ++v)
        for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i, ++at) {
          EXPECT_EQ(at->first, std::pair(v, target_at(g, i)));
          EXPECT_EQ(at->second, weight_at(g.out, i));
        }
    }
}

class generate_at : public at_place {};

TEST_P(generate_at, the_same_bits_as_on_the_host) {
  for (generator kind : {generator::kron, generator::uniform, generator::web}) {
    generate_options o;
    o.kind = kind;
    o.scale = 11;
    o.build.random_weights = build_options::weight_options{weight_kind::u32, 8, 72, 5};
    executor here({device_kind::cpu, 0}), x(where());
    build_report r, r2;
    graph const want = generate(here, o, r), got = generate(x, o, r2);
    ASSERT_EQ(got.info.edges, want.info.edges);
    EXPECT_EQ(std::memcmp(got.out.offsets.data(), want.out.offsets.data(), want.out.offsets.bytes()), 0);
    EXPECT_EQ(std::memcmp(got.out.targets.data(), want.out.targets.data(), want.out.targets.bytes()), 0);
    EXPECT_EQ(std::memcmp(got.out.weights.data(), want.out.weights.data(), want.out.weights.bytes()), 0);
    EXPECT_EQ(r.duplicates_dropped, r2.duplicates_dropped);
    EXPECT_EQ(r.loops_dropped, r2.loops_dropped);
    EXPECT_EQ(r.edges_read, r.duplicates_dropped + r.loops_dropped + want.info.edges / 2);
  }
}
GARNER_AT_EVERY_PLACE(generate_at);

TEST(generate, symmetric_with_weights_in_range_and_equal_both_ways) {
  generate_options o;
  o.scale = 9;
  o.build.random_weights = build_options::weight_options{weight_kind::f32, 0.5, 2, 5};
  executor here({device_kind::cpu, 0});
  build_report r;
  graph const g = generate(here, o, r);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> seen;
  std::set<std::uint32_t> distinct;
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i) {
      seen[{v, target_at(g, i)}] = weight_at(g.out, i);
      distinct.insert(weight_at(g.out, i));
      float w;
      std::memcpy(&w, static_cast<char const*>(g.out.weights.data()) + 4 * i, 4);
      EXPECT_GE(w, 0.5f);
      EXPECT_LT(w, 2.0f);
    }
  for (auto const& [key, w] : seen) EXPECT_EQ((seen.at({key.second, key.first})), w);
  EXPECT_GT(distinct.size(), seen.size() / 4);
}

TEST(generate, shapes_are_what_they_say) {
  executor here({device_kind::cpu, 0});
  build_report r;
  auto const largest = [&](generator kind) {
    generate_options o;
    o.kind = kind;
    o.scale = 14;
    graph const g = generate(here, o, r);
    std::uint64_t most = 0;
    for (std::uint64_t v = 0; v < g.info.vertices; ++v) most = std::max(most, g.out.offsets[v + 1] - g.out.offsets[v]);
    return most;
  };
  EXPECT_LT(largest(generator::uniform), 100u);
  EXPECT_GT(largest(generator::kron), 1000u);
  EXPECT_GT(largest(generator::web), 1000u);
  generate_options o;
  o.kind = generator::web;
  o.scale = 14;
  graph const web = generate(here, o, r);
  std::uint64_t near = 0;
  for (std::uint64_t v = 0; v < web.info.vertices; ++v)
    for (std::uint64_t u : list_of(web, v)) near += (u > v ? u - v : v - u) <= 1024;
  EXPECT_GT(near, web.info.edges * 7 / 10);
  o.scale = 40;
  EXPECT_NE(error_of([&] { generate(here, o, r); }).find("1 to 31"), std::string::npos);
}

}  // namespace
}  // namespace garner

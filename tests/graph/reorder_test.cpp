// Reordering: the orders against serial references, and the graph stays the same by user ids.
#include "graph/reorder.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "core/random.hpp"
#include "folder.hpp"
#include "garner/error.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "refused.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"

namespace garner::testing {
namespace {

using order_of = std::vector<std::uint64_t>;  // user ids, by internal id

order_of ids_of(graph const& g) {
  order_of ids(g.info.vertices);
  for (std::uint64_t v = 0; v < ids.size(); ++v) ids[v] = g.user_id(v);
  return ids;
}

// Every edge as (from, to, weight) in user ids, sorted.
std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> arcs_of(graph const& g, edge_lists const& lists) {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> all;
  auto const* const weights = static_cast<std::uint32_t const*>(lists.weights.data());
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
      std::uint64_t const u = g.info.id_bytes == 8 ? static_cast<std::uint64_t const*>(lists.targets.data())[i]
                                                   : static_cast<std::uint32_t const*>(lists.targets.data())[i];
      all.emplace_back(g.user_id(v), g.user_id(u), weights ? weights[i] : 0);
    }
  std::sort(all.begin(), all.end());
  return all;
}

void expect_same_graph(graph const& is, graph const& was) {
  EXPECT_EQ(is.info.vertices, was.info.vertices);
  EXPECT_EQ(is.info.edges, was.info.edges);
  EXPECT_EQ(is.info.id_bytes, was.info.id_bytes);
  EXPECT_EQ(is.info.weights, was.info.weights);
  EXPECT_EQ(is.info.directed, was.info.directed);
  ASSERT_EQ(is.info.in_edges, was.info.in_edges);
  check_csr(is.info, is.out.offsets.data(), is.out.targets.data(), "out");
  EXPECT_EQ(arcs_of(is, is.out), arcs_of(was, was.out));
  if (is.info.in_edges) {
    check_csr(is.info, is.in.offsets.data(), is.in.targets.data(), "in");
    EXPECT_EQ(arcs_of(is, is.in), arcs_of(was, was.in));
  }
  for (std::uint64_t v = 0; v < is.info.vertices; ++v) ASSERT_EQ(is.internal_id(is.user_id(v)), v);
  for (std::uint64_t r = 0; r < is.info.vertices; ++r) {
    ASSERT_EQ(is.user_id(is.at_rank(r)), was.user_id(was.at_rank(r)));
    ASSERT_EQ(is.rank_of(is.user_id(is.at_rank(r))), r);
  }
}

void expect_same_bytes(graph const& a, graph const& b) {
  auto const same = [](auto const& x, auto const& y) {
    return x.bytes() == y.bytes() && (x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0);
  };
  EXPECT_EQ(a.info.id_map, b.info.id_map);
  EXPECT_EQ(a.info.id_base, b.info.id_base);
  EXPECT_EQ(a.info.order, b.info.order);
  for (auto lists : {&graph::out, &graph::in}) {
    EXPECT_TRUE(same((a.*lists).offsets, (b.*lists).offsets));
    EXPECT_TRUE(same((a.*lists).targets, (b.*lists).targets));
    EXPECT_TRUE(same((a.*lists).weights, (b.*lists).weights));
  }
  EXPECT_TRUE(same(a.ids, b.ids));
  EXPECT_TRUE(same(a.by_id, b.by_id));
}

graph copy_of(graph const& g) {
  auto const bytes = [](memory_block const& from) {
    memory_block to(tier::host, from.bytes(), -1, "a test");
    if (from.bytes()) std::memcpy(to.data(), from.data(), from.bytes());
    return to;
  };
  auto const words = [](buffer<std::uint64_t> const& from) {
    buffer<std::uint64_t> to(tier::host, from.size(), -1, "a test");
    std::copy(from.begin(), from.end(), to.begin());
    return to;
  };
  graph c;
  c.info = g.info;
  c.name = g.name;
  c.out = {words(g.out.offsets), bytes(g.out.targets), bytes(g.out.weights), {}, {}, {}, {}, {}};
  c.in = {words(g.in.offsets), bytes(g.in.targets), bytes(g.in.weights), {}, {}, {}, {}, {}};
  c.ids = words(g.ids);
  c.by_id = bytes(g.by_id);
  return c;
}

struct shape {
  char const* name;
  bool undirected = true;
  std::uint32_t id_bytes = 4;
  weight_kind weights = weight_kind::none;
  bool in_edges = false, multi = false;
  std::uint64_t sparse = 1;  // ids are multiples of it
  std::uint64_t base = 0;
};

// Three parts with hubs, isolated vertices between, loops and (multi) repeated edges.
graph make(shape const& s, std::uint64_t edges = 3000) {
  edge_list e;
  e.source = s.name;
  e.id_base = s.base;
  e.undirected = s.undirected;
  e.vertices = s.sparse == 1 ? 1000 : 0;
  for (std::uint64_t i = 0; i < edges; ++i) {
    std::uint64_t const part = random_bits(1, 0, i) % 3 * 300, hub = random_bits(1, 1, i) % 4 ? 290 : 5;
    std::uint64_t const u = part + random_bits(1, 2, i) % hub, v = part + random_bits(1, 3, i) % 290;
    for (std::uint64_t k = 0; k < (s.multi ? 1 + i % 3 : 1); ++k) {
      e.arcs.push_back({u * s.sparse, v * s.sparse});
      if (s.weights == weight_kind::none) continue;
      float const real = static_cast<float>(random_bits(1, 4 + k, i) % 100) / 8;
      std::uint32_t word = static_cast<std::uint32_t>(random_bits(1, 4 + k, i) % 100);
      if (s.weights == weight_kind::f32) std::memcpy(&word, &real, 4);
      e.weights.push_back(word);
    }
  }
  e.weights_are = s.weights;
  build_options o;
  o.keep_loops = o.keep_duplicates = s.multi;
  o.id_bytes = s.id_bytes;
  o.in_edges = s.in_edges;
  if (s.sparse != 1) o.numbering = build_options::ids::compact;
  build_report report;
  return build_graph(std::move(e), o, report);
}

std::vector<shape> const shapes = {
    {"undirected"},
    {"directed", false},
    {"in-edges", false, 4, weight_kind::none, true},
    {"8 bytes", true, 8},
    {"8 bytes, in-edges, u32", false, 8, weight_kind::u32, true},
    {"u32", true, 4, weight_kind::u32},
    {"f32, in-edges", false, 4, weight_kind::f32, true},
    {"multigraph", true, 4, weight_kind::none, false, true},
    {"multigraph, u32, in-edges", false, 4, weight_kind::u32, true, true},
    {"sparse", true, 4, weight_kind::none, false, false, 1'000'003},
    {"sparse, 8 bytes, f32, multigraph", false, 8, weight_kind::f32, true, true, 7},
    {"from 1", true, 4, weight_kind::none, false, false, 1, 1},
};
std::vector<vertex_order> const orders = {vertex_order::degree, vertex_order::bfs, vertex_order::random};

graph ordered(graph const& g, vertex_order by, std::uint64_t seed = 1) { return reorder(copy_of(g), {by, seed}); }

TEST(ids_of_width, keeps_every_id_from_any_width_to_any) {
  for (std::uint32_t had : {4u, 8u})
    for (std::uint32_t wanted : {4u, 8u}) {
      memory_block from(tier::host, 100 * had, -1, "a test");
      for (std::uint64_t i = 0; i < 100; ++i) {
        if (had == 8) static_cast<std::uint64_t*>(from.data())[i] = 1000 - i;
        else static_cast<std::uint32_t*>(from.data())[i] = static_cast<std::uint32_t>(1000 - i);
      }
      memory_block const to = ids_of_width(from, had, wanted);
      ASSERT_EQ(to.bytes(), 100 * wanted);
      for (std::uint64_t i = 0; i < 100; ++i)
        EXPECT_EQ(wanted == 8 ? static_cast<std::uint64_t const*>(to.data())[i] : static_cast<std::uint32_t const*>(to.data())[i], 1000 - i)
            << had << " to " << wanted;
    }
}

TEST(reorder, keeps_the_graph_by_the_users_ids) {
  for (shape const& s : shapes) {
    graph const plain = make(s);
    for (vertex_order by : orders) {
      SCOPED_TRACE(std::string(s.name) + ", " + std::string(to_string(by)));
      graph const g = ordered(plain, by);
      EXPECT_EQ(g.info.order, by);
      EXPECT_NE(ids_of(g), ids_of(plain));
      expect_same_graph(g, plain);
    }
  }
}

// Descending, ties by the smaller id; scores are passed by ascending id, for any internal order.
TEST(reorder, follows_scores_that_are_handed_in) {
  for (shape const& s : shapes) {
    SCOPED_TRACE(s.name);
    graph const plain = make(s), other = ordered(plain, vertex_order::random);
    std::uint64_t const n = plain.info.vertices;
    std::vector<float> score(n);
    for (std::uint64_t r = 0; r < n; ++r) score[r] = static_cast<float>(static_cast<int>(random_bits(3, 0, r) % 9) - 4) / 2;
    score[0] = -0.0f;
    score[n - 1] = std::numeric_limits<float>::infinity();
    graph const g = reorder(copy_of(plain), {vertex_order::score, 1, score}), h = reorder(copy_of(other), {vertex_order::score, 1, score});
    EXPECT_EQ(g.info.order, vertex_order::score);
    expect_same_graph(g, plain);
    EXPECT_EQ(ids_of(g), ids_of(h));
    std::vector<std::uint64_t> rank(n);
    std::iota(rank.begin(), rank.end(), std::uint64_t{0});
    std::stable_sort(rank.begin(), rank.end(), [&](std::uint64_t a, std::uint64_t b) { return score[a] > score[b]; });
    for (std::uint64_t v = 0; v < n; ++v) ASSERT_EQ(g.user_id(v), plain.user_id(plain.at_rank(rank[v])));
  }
}

// Adjacency sorted on a device is byte-identical to the CPU's: each order but bfs, uncompressed and compressed, each shape.
class reorder_at : public at_place {};
GARNER_AT_EVERY_PLACE(reorder_at);
TEST_P(reorder_at, gives_the_hosts_bytes) {
  for (shape const& s : shapes) {
    SCOPED_TRACE(s.name);
    graph const plain = make(s);
    std::vector<float> score(plain.info.vertices);
    for (std::size_t r = 0; r < score.size(); ++r) score[r] = static_cast<float>(random_bits(4, 0, r) % 100) - 50;
    for (vertex_order by : {vertex_order::score, vertex_order::degree, vertex_order::random}) {
      for (bool const packed : {false, true}) {
        graph from = copy_of(plain), home = copy_of(plain);
        if (packed) pack(from), pack(home);
        graph const wanted = reorder(std::move(home), {by, 1, score});
        graph_handle there = to_device(graph_access::wrap(std::move(from)), where());
        graph const got = graph_access::take(to_device(reorder_graph(std::move(there), {by, 1, score}, where()), {}));
        expect_same_bytes(got, wanted);
      }
    }
  }
}

TEST(reorder, refuses_scores_that_are_none) {
  graph const g = make(shapes[0]);
  EXPECT_TRUE(refused(errc::usage, "0 scores for", [&] { ordered(g, vertex_order::score); }));
  std::vector<float> score(g.info.vertices, 1.0f);
  score[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(refused(errc::input, "vertex 7", [&] { reorder(copy_of(g), {vertex_order::score, 1, score}); }));
}

TEST(reorder, natural_restores_every_byte) {
  for (shape const& s : shapes) {
    graph const plain = make(s);
    expect_same_bytes(ordered(plain, vertex_order::natural), plain);
    if (s.multi && s.weights != weight_kind::none) continue;  // equal edges come back sorted by weight
    for (vertex_order by : orders) {
      SCOPED_TRACE(std::string(s.name) + ", " + std::string(to_string(by)));
      expect_same_bytes(ordered(ordered(plain, by), vertex_order::natural), plain);
    }
  }
}

TEST(reorder, does_not_depend_on_the_order_before) {
  for (shape const& s : {shapes[0], shapes[4], shapes[8], shapes[9]}) {
    graph const plain = make(s);
    for (vertex_order by : orders)
      for (vertex_order before : orders) {
        SCOPED_TRACE(std::string(s.name) + ", " + std::string(to_string(by)) + " after " + std::string(to_string(before)));
        expect_same_bytes(ordered(ordered(plain, before, 5), by), ordered(plain, by));
      }
  }
}

TEST(reorder, by_degree_is_stable) {
  for (shape const& s : shapes) {
    graph const plain = make(s), g = ordered(plain, vertex_order::degree);
    order_of expected = ids_of(plain);
    auto const degree = [&](std::uint64_t id) {
      std::uint64_t const v = plain.internal_id(id);
      return plain.out.offsets[v + 1] - plain.out.offsets[v];
    };
    std::stable_sort(expected.begin(), expected.end(), [&](std::uint64_t a, std::uint64_t b) { return degree(a) > degree(b); });
    EXPECT_EQ(ids_of(g), expected) << s.name;
  }
  // 5 and 2 have two edges, 1 and 9 one, the rest none.
  graph const small = ordered(make_graph({{5, 1}, {5, 2}, {2, 9}, {2, 1}, {1, 5}, {9, 0}}), vertex_order::degree);
  EXPECT_EQ(ids_of(small), (order_of{2, 5, 1, 9, 0, 3, 4, 6, 7, 8}));
}

TEST(reorder, by_search_is_that_of_a_queue) {
  for (shape const& s : shapes) {
    graph const plain = make(s, 700), g = ordered(plain, vertex_order::bfs), degree = ordered(plain, vertex_order::degree);
    order_of expected;
    std::set<std::uint64_t> seen;
    for (std::uint64_t const root : ids_of(degree)) {
      std::deque<std::uint64_t> open;
      auto const meet = [&](std::uint64_t id) {
        if (seen.insert(id).second) open.push_back(id);
      };
      for (meet(root); !open.empty(); open.pop_front()) {
        expected.push_back(open.front());
        std::uint64_t const v = plain.internal_id(open.front());
        for (std::uint64_t i = plain.out.offsets[v]; i < plain.out.offsets[v + 1]; ++i) meet(plain.user_id(target_at(plain, i)));
      }
    }
    EXPECT_EQ(ids_of(g), expected) << s.name;
  }
}

TEST(reorder, at_random_goes_by_the_seed) {
  graph const plain = make(shapes[0]);
  order_of const a = ids_of(ordered(plain, vertex_order::random, 1)), b = ids_of(ordered(plain, vertex_order::random, 2));
  EXPECT_EQ(a, ids_of(ordered(plain, vertex_order::random, 1)));
  EXPECT_NE(a, b);
  EXPECT_EQ(std::set(a.begin(), a.end()).size(), 1000u);
  std::uint64_t stayed = 0;
  for (std::uint64_t v = 0; v < 1000; ++v) stayed += a[v] == v ? 1 : 0;
  EXPECT_LT(stayed, 20u);
}

TEST(reorder, of_little_and_of_nothing) {
  for (vertex_order by : orders) {
    graph const none = reorder(make_graph({}), {by, 1});
    EXPECT_EQ(none.info.vertices, 0u);
    EXPECT_EQ(reorder(copy_of(none), {vertex_order::natural, 1}).info.id_map, false);
    EXPECT_NE(error_of([&] { none.internal_id(0); }).find("no vertices"), std::string::npos);
    graph const alone = reorder(make_graph({}, true, 5), {by, 1});
    expect_same_graph(alone, make_graph({}, true, 5));
    build_options loops;
    loops.keep_loops = true;
    graph const one = reorder(make_graph({{0, 0}}, true, 0, loops), {by, 1});
    EXPECT_EQ(one.info.edges, 1u);
    expect_same_graph(one, make_graph({{0, 0}}, true, 0, loops));
  }
}

TEST(reorder, lists_sorted_by_digits) {
  for (weight_kind weights : {weight_kind::none, weight_kind::u32})
    for (std::uint32_t id_bytes : {4u, 8u}) {
      edge_list e = make_edges({}, true, 5000);
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        e.arcs.push_back({random_bits(4, 0, i) % 5, random_bits(4, 1, i) % 5000});
        if (weights != weight_kind::none) e.weights.push_back(static_cast<std::uint32_t>(random_bits(4, 2, i)));
      }
      e.weights_are = weights;
      build_options o;
      o.id_bytes = id_bytes;
      o.keep_duplicates = o.keep_loops = true;
      build_report report;
      graph const plain = build_graph(std::move(e), o, report);
      for (vertex_order by : orders) {
        graph const g = ordered(plain, by);
        expect_same_graph(g, plain);
        auto const* const w = static_cast<std::uint32_t const*>(g.out.weights.data());
        for (std::uint64_t v = 0; w && v < g.info.vertices; ++v)
          for (std::uint64_t i = g.out.offsets[v] + 1; i < g.out.offsets[v + 1]; ++i)
            ASSERT_TRUE(target_at(g, i - 1) < target_at(g, i) || w[i - 1] <= w[i]) << "equal edges stand by weight";
      }
      expect_same_bytes(ordered(ordered(plain, vertex_order::bfs), vertex_order::degree), ordered(plain, vertex_order::degree));
    }
}

TEST(reorder, lists_too_long_for_one_thread) {
  std::uint64_t const leaves = (1u << 20) + 5;
  for (bool weighted : {false, true}) {
    edge_list e = make_edges({}, false, leaves + 2);
    for (std::uint64_t i = 0; i < leaves; ++i) {
      e.arcs.push_back({leaves + 1, i});
      if (weighted) e.weights.push_back(static_cast<std::uint32_t>(random_bits(3, 0, i)));
    }
    e.arcs.push_back({7, 8});
    if (weighted) e.weights.push_back(1), e.weights_are = weight_kind::u32;
    build_report report;
    graph const plain = build_graph(std::move(e), {}, report), g = ordered(plain, vertex_order::random);
    check_csr(g.info, g.out.offsets.data(), g.out.targets.data(), "a star");
    EXPECT_EQ(arcs_of(g, g.out), arcs_of(plain, plain.out));
  }
}

TEST(reorder, vertices_that_do_not_exist_are_named_with_the_users_ids) {
  graph const whole = ordered(make(shapes.back()), vertex_order::random);
  EXPECT_EQ(error_of([&] { whole.internal_id(0); }), "vertex 0 does not exist in from 1; its 1000 ids go from 1 to 1000");
  EXPECT_NE(error_of([&] { whole.internal_id(1001); }), "");
  graph const sparse = ordered(make(shapes[9]), vertex_order::degree);
  EXPECT_NE(error_of([&] { sparse.internal_id(17); }).find("with gaps"), std::string::npos);
}

TEST(reorder, sources_are_the_same_vertices) {
  for (std::uint64_t vertices : {1000ul, 1'000'000ul}) {  // the second has few vertices with edges, which takes the other sampling path
    graph const plain = make_graph({{3, 5}, {3, 6}, {900, 3}, {17, 900}}, false, vertices);
    for (vertex_order by : orders) EXPECT_EQ(pick_sources(ordered(plain, by), 20, 3), pick_sources(plain, 20, 3));
  }
}

TEST(reorder, memory_is_told_and_kept) {
  generate_options o;
  o.scale = 14;
  o.build.random_weights = {weight_kind::u32, 1, 9, 1};
  executor x({device_kind::cpu, 0});
  build_report report;
  for (vertex_order by : orders) {
    graph g = generate(x, o, report);
    graph_info const info = g.info;
    budget& b = host_budget();
    std::uint64_t const limit = b.limit();
    std::uint64_t const others = b.used() - (info.vertices + 1) * 8 - info.edges * 8;
    b.set_limit(others + reorder_bytes(info));
    g = reorder(std::move(g), {by, 1});
    b.set_limit(others + reorder_bytes(info) / 3);
    EXPECT_TRUE(refused(errc::memory, [&] {
      reorder(copy_of(g), {by == vertex_order::bfs ? vertex_order::degree : vertex_order::bfs, 1});
    }));
    b.set_limit(limit);
  }
}

TEST(reorder, names) {
  for (vertex_order by : {vertex_order::degree, vertex_order::bfs, vertex_order::random, vertex_order::natural, vertex_order::score})
    EXPECT_EQ(parse_order(to_string(by)), by);
  EXPECT_TRUE(refused(errc::usage, "degree, bfs, random, score or natural", [] { parse_order("size"); }));
}

struct reorder_files : ::testing::Test, own_folder {};

TEST_F(reorder_files, there_and_back) {
  for (shape const& s : shapes) {
    graph const g = ordered(make(s), vertex_order::bfs);
    save_graph(g, at("g.gnr"));
    check_container(at("g.gnr"));
    load_options all;
    all.in_edges = g.info.in_edges;
    all.weights = g.info.weights != weight_kind::none;
    expect_same_bytes(load_graph(at("g.gnr"), all), g);
    EXPECT_EQ(read_header(at("g.gnr")).sections.back().name, "by id");
  }
}

TEST_F(reorder_files, converted_again) {
  for (shape const& s : shapes) {
    SCOPED_TRACE(s.name);
    graph const plain = make(s), g = ordered(plain, vertex_order::degree);
    save_graph(g, at("g.gnr"));
    // Other id bytes: rebuilt, in the same order.
    convert_options other;
    other.build.id_bytes = 12 - s.id_bytes;
    convert(at("g.gnr"), at("other.gnr"), other);
    check_container(at("other.gnr"));
    load_options all;
    all.in_edges = g.info.in_edges;
    all.weights = g.info.weights != weight_kind::none;
    graph const wide = load_graph(at("other.gnr"), all);
    EXPECT_EQ(wide.info.order, vertex_order::degree);
    EXPECT_EQ(ids_of(wide), ids_of(g));
    EXPECT_EQ(arcs_of(wide, wide.out), arcs_of(plain, plain.out));
    for (std::uint64_t v = 0; v < wide.info.vertices; ++v) ASSERT_EQ(wide.internal_id(wide.user_id(v)), v);
    // Another numbering: the order is that of the ids again.
    convert_options compact;
    compact.build.numbering = build_options::ids::compact;
    convert(at("g.gnr"), at("compact.gnr"), compact);
    graph const again = load_graph(at("compact.gnr"), all);
    EXPECT_EQ(again.info.order, vertex_order::natural);
    EXPECT_EQ(arcs_of(again, again.out), arcs_of(plain, plain.out));
  }
}

}  // namespace
}  // namespace garner::testing

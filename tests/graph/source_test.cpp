// Graphs by name, and in-edges missing in the file: equal to built and generated ones.
#include "graph/source.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "core/random.hpp"
#include "folder.hpp"
#include "garner/algorithms.hpp"
#include "generated.hpp"
#include "graph/pack.hpp"
#include "graph/transpose.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;
namespace fs = std::filesystem;

struct sources : ::testing::Test, own_folder {};

struct shape {
  std::uint32_t id_bytes = 4;
  weight_kind weights = weight_kind::none;
  bool multi = false;
};
// One vertex with 150 in-edges, some isolated.
graph directed(shape const& s, bool in_edges) {
  edge_list e;
  e.vertices = 500;
  e.source = "a test";
  for (std::uint64_t i = 0; i < 6000; ++i) {
    e.arcs.push_back({random_bits(1, 0, i) % 400, i % 3 ? random_bits(1, 1, i) % 450 : 7});
    if (s.weights != weight_kind::none) e.weights.push_back(static_cast<std::uint32_t>(random_bits(1, 2, i) % 9));
  }
  e.weights_are = s.weights;
  build_options o;
  o.id_bytes = s.id_bytes;
  o.in_edges = in_edges;
  o.keep_duplicates = o.keep_loops = s.multi;
  build_report report;
  return build_graph(std::move(e), o, report);
}
std::vector<std::uint8_t> contents_of(memory_block const& b) {
  auto const* const p = static_cast<std::uint8_t const*>(b.data());
  return {p, p + b.bytes()};
}
void expect_same_in_lists(graph const& a, graph const& b) {
  EXPECT_TRUE(a.info.in_edges && b.info.in_edges);
  EXPECT_TRUE(std::equal(a.in.offsets.begin(), a.in.offsets.end(), b.in.offsets.begin(), b.in.offsets.end()));
  EXPECT_EQ(contents_of(a.in.targets), contents_of(b.in.targets));
  EXPECT_EQ(contents_of(a.in.weights), contents_of(b.in.weights));
}

TEST_F(sources, in_lists_are_those_that_building_makes) {
  for (shape const& s : {shape{}, shape{8}, shape{4, weight_kind::u32}, shape{8, weight_kind::f32}, shape{4, weight_kind::none, true}}) {
    graph const built = directed(s, true);
    graph g = directed(s, false);
    add_in_lists(g);
    expect_same_in_lists(g, built);
    graph packed = directed(s, false);
    pack(packed);
    add_in_lists(packed);
    EXPECT_TRUE(packed.info.compressed);
    unpack(packed);
    graph as_packed = directed(s, true);
    pack(as_packed), unpack(as_packed);
    expect_same_in_lists(packed, as_packed);
  }
  graph undirected = make_graph({{0, 1}}, true);
  add_in_lists(undirected);
  EXPECT_FALSE(undirected.info.in_edges);
}

TEST_F(sources, in_lists_are_made_where_the_file_has_none) {
  for (bool packs : {false, true}) {
    graph without = directed({}, false), with = directed({}, true);
    if (packs) pack(without), pack(with);
    save_graph(without, folder / "without.gnr");
    save_graph(with, folder / "with.gnr");
    graph_source from(folder / "without.gnr");
    EXPECT_FALSE(from.info().in_edges);
    EXPECT_EQ(from.making_bytes(false), 0u);
    from.want_in_lists();
    EXPECT_TRUE(from.info().in_edges && from.makes_in_lists());
    EXPECT_GT(from.making_bytes(false), 0u);
    EXPECT_TRUE(from.offsets(true).empty());
    open_options asks;
    EXPECT_FALSE(open_graph(folder / "without.gnr", asks).info().in_edges) << "unless asked";
    asks.in_edges = true;
    graph_handle const made = open_graph(folder / "without.gnr", asks), kept = open_graph(folder / "with.gnr");
    EXPECT_EQ(pagerank(made).rank, pagerank(kept).rank);
  }
}

TEST_F(sources, names_stand_for_generated_graphs) {
  for (auto const& [name, kind, factor] :
       {std::tuple{"kron:8", generator::kron, 16u}, {"uniform:7:3", generator::uniform, 3u}, {"web:9:20", generator::web, 20u}}) {
    generate_options how;
    how.kind = kind;
    how.scale = kind == generator::kron ? 8 : kind == generator::uniform ? 7 : 9;
    how.edge_factor = factor;
    graph const g = generated(how);
    graph_source from(name);
    EXPECT_TRUE(from.is_generated());
    EXPECT_EQ(from.info().edges, g.info.edges);
    EXPECT_EQ(from.offsets()[g.info.vertices], g.info.edges);
    graph const named = from.load({});
    EXPECT_EQ(named.name, name);
    EXPECT_EQ(named.info.vertices, g.info.vertices);
    EXPECT_EQ(contents_of(named.out.targets), contents_of(g.out.targets));
    EXPECT_EQ(open_graph(name).info().edges, g.info.edges);
  }
}

TEST_F(sources, names_that_are_none_are_refused_or_files) {
  for (char const* name :
       {"kron:", "kron:x", "kron:0", "kron:32", "kron:8:", "kron:8:0", "web:8:4097", "uniform:8:4:1", "kron:-1", "kron: 8"}) {
    EXPECT_TRUE(refused(errc::usage, "KIND:SCALE", [&] { graph_source from(name); })) << name;
  }
  for (char const* name : {"kron", "ring:8", "./kron:8", "k.gnr"}) EXPECT_FALSE(generated_by(name)) << name;
  load_options weighted;
  weighted.weights = true;
  graph_source from("kron:4");
  EXPECT_TRUE(refused(errc::input, "has no weights", [&] { from.load(weighted); }));
}

}  // namespace
}  // namespace garner

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

// The same edges, as an edge type of a dataset stores them; `both`: with the out-edges too.
graph reversed(shape const& s, bool both) {
  graph g = directed(s, true);
  std::swap(g.out, g.in);
  if (!both) g.in = {};
  g.info.in_edges = both, g.info.reversed = true;
  return g;
}

TEST_F(sources, a_file_of_in_edges_alone_is_the_same_graph) {
  fs::path const file = folder / "r.gnr";
  for (shape const& s : {shape{}, shape{8}, shape{4, weight_kind::u32}, shape{8, weight_kind::f32}, shape{4, weight_kind::none, true}})
    for (bool const both : {false, true})
      for (bool const packs : {false, true}) {
        if (packs && s.id_bytes == 8) continue;
        graph stored = reversed(s, both);
        graph whole = directed(s, true);
        if (packs) pack(stored), pack(whole), unpack(whole);
        save_graph(stored, file);
        load_options how;
        how.in_edges = true, how.weights = s.weights != weight_kind::none;
        graph_source from(file);
        EXPECT_TRUE(from.info().in_edges && !from.info().reversed && !from.makes_in_lists());
        EXPECT_EQ(from.makes() ? from.makes() : std::string("neither"), both ? "neither" : "out-edges");
        EXPECT_EQ(from.making_bytes(false) == 0, both);
        EXPECT_LE(from.making_bytes(false), from.making_bytes(false, false));
        auto const offsets = from.offsets(true);
        EXPECT_TRUE(std::equal(offsets.begin(), offsets.end(), whole.in.offsets.begin(), whole.in.offsets.end()));
        EXPECT_EQ(from.offsets(false).empty(), !both);
        graph g = from.load(how);
        EXPECT_FALSE(g.info.reversed);
        EXPECT_EQ(g.info.compressed, packs);
        unpack(g);
        expect_same_in_lists(g, whole);
        std::swap(g.out, g.in), std::swap(whole.out, whole.in);
        expect_same_in_lists(g, whole);
        how.in_edges = false;
        graph const outwards = from.load(how);
        EXPECT_TRUE(outwards.in.offsets.empty() && !outwards.info.in_edges);
        how.in_edges = true, how.edges = tier::file;
        if (both) EXPECT_TRUE(from.load(how).info.in_edges);
        else
          EXPECT_TRUE(refused(errc::input, "r.gnr: has no out-edges, and edges that stay in the file build none", [&] { from.load(how); }));
        EXPECT_TRUE(graph_source(file, true).info().reversed);
      }
}

TEST_F(sources, what_is_made_of_a_file_of_in_edges_keeps_the_edges) {
  save_graph(directed({}, true), folder / "g.gnr"), save_graph(reversed({}, false), folder / "r.gnr");
  graph_handle const plain = open_graph(folder / "g.gnr");
  EXPECT_EQ(digest_of(open_graph(folder / "r.gnr")), digest_of(plain));
  for (bool const in_edges : {false, true}) {  // as an edge type of a dataset it stays what it is
    build_options how;
    how.in_edges = in_edges, how.id_bytes = 8;
    graph_info const info = convert_graph(folder / "r.gnr", folder / "c.gnr", how);
    EXPECT_TRUE(info.reversed && info.in_edges == in_edges && read_header(folder / "c.gnr").info.reversed);
    how.id_bytes = 4;
    convert_graph(folder / "c.gnr", folder / "d.gnr", how);
    EXPECT_EQ(digest_of(open_graph(folder / "d.gnr")), digest_of(plain));
  }
  build_options twice;
  twice.undirected = true;
  EXPECT_FALSE(convert_graph(folder / "r.gnr", folder / "u.gnr", twice).reversed);
  convert_graph(folder / "g.gnr", folder / "v.gnr", twice);
  EXPECT_EQ(digest_of(open_graph(folder / "u.gnr")), digest_of(open_graph(folder / "v.gnr")));
  convert_graph(folder / "r.gnr", folder / "r.el"), convert_graph(folder / "g.gnr", folder / "g.el");
  EXPECT_EQ(digest_of(read_graph(folder / "r.el")), digest_of(read_graph(folder / "g.el")));
  save_graph(reorder_graph(open_graph(folder / "r.gnr")), folder / "o.gnr");
  EXPECT_EQ(digest_of(open_graph(folder / "o.gnr")), digest_of(reorder_graph(open_graph(folder / "g.gnr"))));
  // A handle to what is stored is saved as such.
  open_options as_it_is;
  as_it_is.as_stored = true;
  graph_handle const stored = open_graph(folder / "r.gnr", as_it_is);
  EXPECT_TRUE(stored.info().reversed && !stored.info().in_edges);
  save_graph(stored, folder / "s.gnr");
  EXPECT_EQ(digest_of(open_graph(folder / "s.gnr")), digest_of(plain));
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

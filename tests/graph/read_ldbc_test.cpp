// LDBC Graphalytics: the vertices and edges of .v, .e and .properties, and the messages for errors.
#include <gmock/gmock.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>

#include "folder.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "graph/formats.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

read_result parse(std::string const& v, std::string const& e, std::optional<std::string> const& p = {}, read_options options = {}) {
  input_stream vertices({v.data(), v.size()}, "g.v"), edges({e.data(), e.size()}, "g.e");
  std::optional<input_stream> properties;
  if (p) properties.emplace(std::span<char const>(p->data(), p->size()), "g.properties");
  return read_ldbc(vertices, edges, properties ? &*properties : nullptr, options);
}
std::string complaint(std::string const& v, std::string const& e, std::optional<std::string> const& p = {}) {
  errc code{};
  std::string const said = error_of([&] { parse(v, e, p); }, &code);
  EXPECT_EQ(code, errc::input) << said;
  return said;
}
std::string const directed = "graph.g.directed = true\n", undirected = "graph.g.directed = false\n";

std::vector<float> floats(edge_list const& e) {
  std::vector<float> all;
  for (std::uint32_t const w : e.weights) all.push_back(std::bit_cast<float>(w));
  return all;
}

TEST(read_ldbc, vertices_are_those_of_the_list) {
  // Unordered, sparse, one of them isolated.
  read_result const r = parse("70\n8\n900000000000\n9\n", "900000000000 8\n8 70\n", directed);
  EXPECT_THAT(r.edges.ids, ElementsAre(8, 9, 70, 900'000'000'000));
  EXPECT_THAT(r.edges.arcs, ElementsAre(arc{3, 0}, arc{0, 2}));
  EXPECT_EQ(r.edges.vertices, 4u);
  EXPECT_FALSE(r.edges.undirected);
  EXPECT_EQ(r.edges.weights_are, weight_kind::none);
  EXPECT_THAT(r.notes, IsEmpty());
  // Without gaps, which uses another lookup.
  EXPECT_THAT(parse("3\n1\n2\n", "2 3\n3 1\n", directed).edges.arcs, ElementsAre(arc{1, 2}, arc{2, 0}));
  EXPECT_THAT(parse("# a list\r\n 1 \r\n\n2", "# edges\n\n 1\t2\r\n2 1", directed).edges.arcs, ElementsAre(arc{0, 1}, arc{1, 0}));
  EXPECT_EQ(parse("", "", directed).edges.vertices, 0u);
  EXPECT_EQ(parse("5\n", "", directed).edges.vertices, 1u);
}

TEST(read_ldbc, properties_say_direction_and_weights) {
  EXPECT_TRUE(parse("1\n2\n", "1 2\n", undirected).edges.undirected);
  EXPECT_TRUE(parse("1\n2\n", "1 2\n", "! c\n# c\n\n graph.a.b.directed:false \nother.directed = x\n").edges.undirected);
  // A weight is real unless declared otherwise, even if all are integral.
  read_result r = parse("1\n2\n", "1 2 3\n2 1 0.25\n", directed);
  EXPECT_EQ(r.edges.weights_are, weight_kind::f32);
  EXPECT_THAT(floats(r.edges), ElementsAre(3.0F, 0.25F));
  EXPECT_EQ(parse("1\n2\n", "1 2 3\n").edges.weights_are, weight_kind::f32);
  std::string const weight = "graph.g.edge-properties.names = weight\ngraph.g.edge-properties.types = ";
  EXPECT_EQ(parse("1\n2\n", "1 2 3\n", directed + weight + "real\n").edges.weights_are, weight_kind::f32);
  EXPECT_EQ(parse("1\n2\n", "1 2 3\n", directed + weight + "int\n").edges.weights_are, weight_kind::u32);
  EXPECT_EQ(parse("1\n2\n", "", directed + weight + "real\n").edges.weights_are, weight_kind::f32);
  EXPECT_EQ(parse("1\n2\n", "1 2 -3\n", directed, {.ignore_weights = true}).edges.weights_are, weight_kind::none);
}

TEST(read_ldbc, says_what_does_not_add_up) {
  EXPECT_THAT(parse("1\n2\n", "1 2\n").notes, ElementsAre(HasSubstr("unless --undirected is set")));
  EXPECT_THAT(parse("1\n2\n", "1 2\n", "graph.g.algorithms = bfs\n").notes, ElementsAre(HasSubstr("unless --undirected is set")));
  EXPECT_THAT(parse("1\n2\n", "1 2\n", directed + "graph.g.meta.vertices = 3\ngraph.g.meta.edges = 1\n").notes,
              ElementsAre(HasSubstr("g.v: its properties promise 3 vertices, 2 were read")));
  EXPECT_THAT(parse("1\n2\n", "1 2\n", directed + "graph.g.meta.edges = 5\n").notes, ElementsAre(HasSubstr("5 edges, 1 were read")));
  EXPECT_THAT(parse("1\n2\n", "1 2\n", directed + "graph.g.edge-properties.names = weight\n").notes,
              ElementsAre(HasSubstr("promise a weight")));
}

TEST(read_ldbc, refuses_in_exact_words) {
  EXPECT_EQ(complaint("1\n2\n", "1 2\n2 3\n"), "g.e: line 2, byte 6: vertex 3 is not listed in g.v; mend one of the two");
  EXPECT_EQ(complaint("1\n5\n", "1 5\n3 1\n"), "g.e: line 2, byte 4: vertex 3 is not listed in g.v; mend one of the two");
  EXPECT_EQ(complaint("1\n5\n", "5 9\n"), "g.e: line 1, byte 2: vertex 9 is not listed in g.v; mend one of the two");
  EXPECT_EQ(complaint("", "5 9\n"), "g.e: line 1, byte 0: vertex 5 is not listed in g.v; mend one of the two");
  EXPECT_EQ(complaint("7\n5\n7\n", ""), "g.v: vertex 7 stands there more than once; a list of vertices names each once");
  EXPECT_EQ(complaint("7\n5 x\n", ""), "g.v: line 2, byte 4: 'x' follows the vertex id; properties of vertices are not read");
  EXPECT_THAT(complaint("7\n-5\n", ""), HasSubstr("'-5' is negative"));
  EXPECT_EQ(complaint("1\n2\n", "1 2 3 4\n"), "g.e: line 1, byte 0: 4 columns where an edge has 2, or 3 with its weight");
  EXPECT_EQ(complaint("1\n2\n", "1\n"), "g.e: line 1, byte 0: 1 column where an edge has 2, or 3 with its weight");
  EXPECT_EQ(complaint("1\n2\n", "1,2\n"), "g.e: line 1, byte 1: ',' between the columns, which blanks part");
  EXPECT_EQ(complaint("1\n2\n", "1 2\n2 1 4\n"), "g.e: line 2, byte 8: '4' follows the edge; the first one has 2 columns");
  EXPECT_THAT(complaint("1\n2\n", "1 2 4\n2 1\n"), HasSubstr("line 2, byte 9: a weight is missing"));
  EXPECT_THAT(complaint("1\n2\n", "1 2 -4\n"), HasSubstr("is negative"));
  EXPECT_THAT(complaint("1\n2\n", "1 2 NaN\n"), HasSubstr("not a finite number"));
  EXPECT_EQ(complaint("1\n", "", "graph.g.directed = maybe\n"), "g.properties: line 1, byte 19: 'maybe' where true or false should stand");
  EXPECT_THAT(complaint("1\n", "", directed + undirected), HasSubstr("line 2, byte 43: contradicts"));
  EXPECT_THAT(complaint("1\n", "", "graph.g.edge-properties.names = weight, age\n"), HasSubstr("'weight, age'"));
  EXPECT_TRUE(refused(errc::usage, "--skip-lines", [] { parse("1\n", "", {}, {.skip_lines = 1}); }));
}

TEST(read_ldbc, blocks_of_any_size_give_the_same) {
  std::string v, e;
  for (std::uint64_t i = 0; i < 3000; ++i) v += std::to_string((i * 7 % 3000) * 11 + 5) + "\n";
  for (std::uint64_t i = 0; i < 5000; ++i)
    e += std::to_string((i * 7 % 3000) * 11 + 5) + " " + std::to_string((i % 2999) * 11 + 5) + " 0.5\n";
  read_result const whole = parse(v, e, undirected);
  EXPECT_EQ(whole.edges.ids.size(), 3000u);
  for (std::size_t const block : {1, 5, 64, 4096}) {
    read_result const cut = parse(v, e, undirected, {.block_bytes = block});
    EXPECT_EQ(cut.edges.arcs, whole.edges.arcs) << block;
    EXPECT_EQ(cut.edges.ids, whole.edges.ids) << block;
    EXPECT_EQ(cut.edges.weights, whole.edges.weights) << block;
  }
}

class ldbc_files : public ::testing::Test, protected own_folder {
 protected:
  void write(std::string const& name, std::string const& text) const { std::ofstream(at(name), std::ios::binary) << text; }
  graph converted(std::string const& in, build_options const& build = {}) const {
    convert_options options;
    options.build = build;
    convert(at(in), at("g.gnr"), options);
    load_options how;
    how.weights = read_header(at("g.gnr")).info.weights != weight_kind::none;
    return load_graph(at("g.gnr"), how);
  }
  static std::vector<std::uint64_t> ids(graph const& g) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t v = 0; v < g.info.vertices; ++v) all.push_back(g.user_id(v));
    return all;
  }
};

TEST_F(ldbc_files, one_finds_the_others) {
  write("g.v", "30\n10\n20\n");
  write("g.e", "10 30 0.5\n");
  write("g.properties", undirected);
  for (std::string const name : {"g.v", "g.e"}) {
    graph const g = converted(name);
    EXPECT_THAT(ids(g), ElementsAre(10, 20, 30));
    EXPECT_FALSE(g.info.directed);
    EXPECT_EQ(g.info.edges, 2u);
    EXPECT_EQ(g.info.weights, weight_kind::f32);
    EXPECT_TRUE(g.info.id_map);
    EXPECT_EQ(g.internal_id(20), 1u);
  }
  build_options one_way;
  one_way.undirected = false;
  EXPECT_EQ(converted("g.e", one_way).info.edges, 1u) << "options of the command line override the properties";
  fs::remove(at("g.v"));
  EXPECT_TRUE(refused(errc::io, "g.v: not found, nor with .gz or .zst", [&] { converted("g.e"); }));
  write("g.v", "1\n");
  fs::remove(at("g.e"));
  EXPECT_THAT(error_of([&] { converted("g.v"); }), HasSubstr("g.e: not found"));
}

TEST_F(ldbc_files, compressed) {
  write("g.v", "30\n10\n20\n");
  write("g.e", "10 30\n");
  ASSERT_EQ(std::system(("gzip -n '" + at("g.v").string() + "' '" + at("g.e").string() + "'").c_str()), 0);
  EXPECT_THAT(ids(converted("g.e.gz")), ElementsAre(10, 20, 30));
  EXPECT_THAT(ids(converted("g.v")), ElementsAre(10, 20, 30));
  write("g.v", "1\n");
  EXPECT_THAT(error_of([&] { converted("g.e.gz"); }), HasSubstr("remove the one that is not meant"));
}

TEST_F(ldbc_files, numbering) {
  using ids_are = build_options::ids;
  auto const numbered = [](ids_are how) {
    build_options build;
    build.numbering = how;
    return build;
  };
  write("dense.v", "8\n6\n7\n");
  write("dense.e", "6 8\n");
  write("sparse.v", "8\n6\n3\n");
  write("sparse.e", "6 8\n");
  graph g = converted("dense.e");
  EXPECT_FALSE(g.info.id_map) << "no gap, no map";
  EXPECT_EQ(g.info.id_base, 6u);
  EXPECT_THAT(ids(g), ElementsAre(6, 7, 8));
  g = converted("dense.e", numbered(ids_are::compact));
  EXPECT_FALSE(g.info.id_map);
  EXPECT_THAT(ids(g), ElementsAre(6, 7, 8)) << "what is listed stays, though nothing leads there";
  EXPECT_EQ(g.out.offsets[1], 1u);
  g = converted("sparse.e", numbered(ids_are::keep));
  EXPECT_FALSE(g.info.id_map);
  EXPECT_THAT(ids(g), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(g.out.offsets[6], 0u);
  EXPECT_EQ(g.out.offsets[7], 1u);
  EXPECT_EQ(target_at(g, 0), 8u);
  g = converted("sparse.e");
  EXPECT_THAT(ids(g), ElementsAre(3, 6, 8));
  // And through a graph file, which is rebuilt.
  build_options both;
  both.undirected = true;
  convert_options again;
  again.build = both;
  convert(at("g.gnr"), at("h.gnr"), again);
  graph const h = load_graph(at("h.gnr"));
  EXPECT_THAT(ids(h), ElementsAre(3, 6, 8));
  EXPECT_EQ(h.info.edges, 2u);
}

TEST_F(ldbc_files, are_not_written) {
  write("g.v", "1\n2\n");
  write("g.e", "1 2\n");
  convert_options options;
  EXPECT_THAT(error_of([&] { plan_conversion(at("g.e"), at("h.e"), options); }), HasSubstr("ldbc is read but not written"));
  EXPECT_GT(plan_conversion(at("g.e"), at("g.gnr"), options).bytes_needed, 0u);
}

}  // namespace
}  // namespace garner::testing

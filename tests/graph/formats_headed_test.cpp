// Matrix Market, DIMACS and METIS, text whose header declares the vertices: contents, and the exact messages for headers that lie.
#include "graph/build.hpp"
#include "graph/edge_files.hpp"

using namespace garner;
using namespace garner::testing;

// --- Matrix Market ---------------------------------------------------------------------------------------------------------

TEST(mtx, pattern_general) {
  auto const e = edges(file_format::mtx, "%%MatrixMarket matrix coordinate pattern general\n% c\n\n4 4 3\n1 2\n4 1\n% in between\n3 3\n");
  EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{3, 0}, arc{2, 2}));
  EXPECT_EQ(e.vertices, 4u);
  EXPECT_EQ(e.id_base, 1u);
  EXPECT_FALSE(e.undirected);
  EXPECT_EQ(e.weights_are, weight_kind::none);
}

TEST(mtx, one_percent_sign_does) {
  auto const e = edges(file_format::mtx, "%MatrixMarket matrix coordinate integer symmetric\n% c\n3 3 2\n2 1 5\n3 2 6\n");
  EXPECT_THAT(e.arcs, ElementsAre(arc{1, 0}, arc{2, 1}));
  EXPECT_THAT(e.weights, ElementsAre(5u, 6u));
  EXPECT_TRUE(e.undirected);
}

TEST(mtx, integer_and_real_values) {
  auto e = edges(file_format::mtx, "%%matrixmarket MATRIX Coordinate Integer Symmetric\r\n3 3 2\r\n2 1 7\r\n3 1 0\r\n");
  EXPECT_TRUE(e.undirected);
  EXPECT_FALSE(e.mirrored);
  EXPECT_EQ(e.weights_are, weight_kind::u32);
  EXPECT_THAT(e.weights, ElementsAre(7u, 0u));
  e = edges(file_format::mtx, "%%MatrixMarket matrix coordinate real general\n3 3 2\n2 1 7\n3 1 2.5e-1");
  EXPECT_EQ(e.weights_are, weight_kind::f32);  // the header says real, also for integers
  EXPECT_EQ(as_float(e.weights[0]), 7.0f);
  EXPECT_EQ(as_float(e.weights[1]), 0.25f);
}

TEST(mtx, skew_symmetric_gives_its_structure) {
  auto const r = parse(file_format::mtx, "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 -7\n3 1 4\n");
  EXPECT_TRUE(r.edges.undirected);
  EXPECT_THAT(r.edges.arcs, ElementsAre(arc{1, 0}, arc{2, 0}));
  EXPECT_EQ(r.edges.weights_are, weight_kind::none);
  EXPECT_THAT(r.notes, ElementsAre("g.mtx: a skew-symmetric matrix negates its mirrored values, so its edges are read without weights"));
}

TEST(mtx, graphs_of_nothing) {
  EXPECT_THAT(edges(file_format::mtx, "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n").arcs, IsEmpty());
  auto const e = edges(file_format::mtx, "%%MatrixMarket matrix coordinate real general\n5 5 0");
  EXPECT_THAT(e.arcs, IsEmpty());
  EXPECT_EQ(e.vertices, 5u);
}

TEST(mtx, headers_that_lie_or_are_not_ours) {
  auto const bad = [](std::string const& text) { return complaint(file_format::mtx, text); };
  std::string const banner = "%%MatrixMarket matrix coordinate ", pattern = banner + "pattern general\n";
  EXPECT_EQ(bad(""), "g.mtx: is empty; a Matrix Market file begins with %%MatrixMarket");
  EXPECT_EQ(bad("3 3 1\n1 2\n"),
            "g.mtx: line 1, byte 0: the line does not begin with %%MatrixMarket; is this another format? Then use --from");
  EXPECT_EQ(bad("%%MatrixMarket matrix coordinate pattern\n"),
            "g.mtx: line 1, byte 0: 4 words where the banner has 5: %%MatrixMarket matrix coordinate FIELD SYMMETRY");
  EXPECT_EQ(bad("%%MatrixMarket vector coordinate real general\n"), "g.mtx: line 1, byte 0: holds a 'vector'; only a matrix is a graph");
  EXPECT_EQ(bad("%%MatrixMarket matrix array real general\n"),
            "g.mtx: line 1, byte 0: format 'array' is not read; only coordinate (sparse) matrices are");
  EXPECT_EQ(bad(banner + "complex general\n"), "g.mtx: line 1, byte 0: field 'complex' is not read; pattern, integer and real are");
  EXPECT_EQ(bad(banner + "real hermitian\n"),
            "g.mtx: line 1, byte 0: symmetry 'hermitian' is not read; general, symmetric and skew-symmetric are");
  EXPECT_EQ(bad(pattern + "% c\n"), "g.mtx: the size line is missing; after the comments stands 'rows columns entries'");
  EXPECT_EQ(bad(pattern + "3 4 1\n1 2\n"),
            "g.mtx: line 2, byte 49: 3 rows and 4 columns; a graph's matrix is square; where rows and columns are vertices of two types, "
            "make a folder ROW__to__COLUMN/edge_index.npy");
  EXPECT_EQ(bad(pattern + "3 3\n"), "g.mtx: line 2, byte 52: the line ends where the size line should stand: rows columns entries");
  EXPECT_EQ(bad(pattern + "3 3 x\n"), "g.mtx: line 2, byte 53: 'x' where the size line should stand: rows columns entries");
  EXPECT_EQ(bad(pattern + "-3 3 1\n"), "g.mtx: line 2, byte 49: '-3' where the size line should stand: rows columns entries");
  EXPECT_EQ(bad(pattern + "3 3 1 9\n"), "g.mtx: line 2, byte 55: '9' follows the size line's three numbers");
  EXPECT_EQ(bad(pattern + "3 3 1\n1 2\n2 3\n"), "g.mtx: line 4, byte 59: entry 2 where the header promises 1; mend the header or the file");
  EXPECT_EQ(
      bad(pattern + "3 3 18446744073709551615\n1 2\n"),
      "g.mtx: line 3: the file ends after 1 entries where its header promises 18446744073709551615; it was cut short or its header lies");
  EXPECT_EQ(bad(pattern + "3 3 1\n1 4\n"), "g.mtx: line 3, byte 57: column 4 is outside 1 to 3");
  EXPECT_EQ(bad(pattern + "3 3 1\n0 1\n"), "g.mtx: line 3, byte 55: row 0 is outside 1 to 3; Matrix Market counts from 1");
  EXPECT_EQ(bad(pattern + "3 3 1\n1 2 5\n"), "g.mtx: line 3, byte 59: '5' follows the entry; a pattern matrix has 2 columns");
  EXPECT_EQ(bad(banner + "integer general\n3 3 1\n1 2\n"),
            "g.mtx: line 3, byte 58: a weight is missing; expected a number after the two vertices");
  EXPECT_EQ(bad(banner + "integer general\n3 3 1\n1 2 0.5\n"), "g.mtx: line 3, byte 59: '0.5' is not a weight; expected a whole number");
  EXPECT_EQ(bad(banner + "real general\n3 3 1\n1 2 -1.5\n"),
            "g.mtx: line 3, byte 56: weight '-1.5' is negative; weights are numbers from 0 (--ignore-weights reads the edges alone)");
  EXPECT_EQ(bad(banner + "real skew-symmetric\n3 3 1\n2 2 0\n"),
            "g.mtx: line 3, byte 59: row 2 on the diagonal, which a skew-symmetric matrix does not store");
}

TEST(mtx, too_many_entries_are_found_at_their_line_in_any_block) {
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n9 9 1000\n";
  for (int i = 0; i < 1500; ++i) text += i % 2 ? "% \n3 4\n" : "1 2\n";
  for (std::size_t const block : {1u, 50u, 1u << 20})
    EXPECT_THAT(complaint(file_format::mtx, text, {.block_bytes = block}), HasSubstr("g.mtx: line 1503, byte 5558: entry 1001 where"))
        << block;
}

// --- DIMACS ----------------------------------------------------------------------------------------------------------------

TEST(gr, arcs_with_weights) {
  auto const e = edges(file_format::gr, "c road\nc\n\np sp 4 3\na 1 2 803\r\nc in between\na 2 1 803\na 4 4 0");
  EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{1, 0}, arc{3, 3}));
  EXPECT_THAT(e.weights, ElementsAre(803u, 803u, 0u));
  EXPECT_EQ(e.vertices, 4u);
  EXPECT_EQ(e.id_base, 1u);
  EXPECT_FALSE(e.undirected);
  EXPECT_THAT(edges(file_format::gr, "p sp 0 0\n").arcs, IsEmpty());
}

TEST(gr, bad_files_are_named) {
  auto const bad = [](std::string const& text) { return complaint(file_format::gr, text); };
  EXPECT_EQ(bad("c\n"),
            "g.gr: the line 'p sp VERTICES EDGES' or 'p edge VERTICES EDGES' is missing; is this another format? Then use --from");
  EXPECT_EQ(bad("a 1 2 3\n"), "g.gr: line 1, byte 0: an edge stands before the line 'p sp VERTICES EDGES' or 'p edge VERTICES EDGES'");
  EXPECT_EQ(bad("1 2\n"), "g.gr: line 1, byte 0: '1' begins the line; DIMACS lines begin with c, p, a or e");
  EXPECT_EQ(bad("p max 3 1\n"),
            "g.gr: line 1, byte 2: problem 'max' is not read; 'p sp VERTICES EDGES', 'p edge VERTICES EDGES' and 'p col' are");
  EXPECT_EQ(bad("p sp 3\n"), "g.gr: line 1, byte 6: the line ends where the number of vertices or edges should stand: p sp VERTICES EDGES");
  EXPECT_EQ(bad("p sp 3 x\n"), "g.gr: line 1, byte 7: 'x' where the number of vertices or edges should stand: p sp VERTICES EDGES");
  EXPECT_EQ(bad("p sp 3 1 1\n"), "g.gr: line 1, byte 9: '1' follows the counts of vertices and edges");
  EXPECT_EQ(bad("p sp 3 1\np sp 3 1\n"), "g.gr: line 2, byte 9: a second line 'p'; a file holds one graph");
  EXPECT_EQ(bad("p sp 3 1\ne 1 2\n"), "g.gr: line 2, byte 9: 'e' begins the line; DIMACS lines begin with c or a here");
  EXPECT_EQ(bad("p sp 3 1\na 1 4 1\n"), "g.gr: line 2, byte 13: vertex 4 is outside 1 to 3");
  EXPECT_EQ(bad("p sp 3 1\na 0 1 1\n"), "g.gr: line 2, byte 11: vertex 0 is outside 1 to 3; DIMACS counts from 1");
  EXPECT_EQ(bad("p sp 3 1\na 1 2\n"), "g.gr: line 2, byte 14: a weight is missing; expected a number after the two vertices");
  EXPECT_EQ(bad("p sp 3 1\na 1 2 3 4\n"), "g.gr: line 2, byte 17: '4' follows the weight; an edge is 'a FROM TO WEIGHT'");
  EXPECT_EQ(bad("p sp 3 1\na 1 2 3.5\n"), "g.gr: line 2, byte 15: '3.5' is not a weight; expected a whole number");
  EXPECT_EQ(bad("p sp 3 2\na 1 2 3\n"),
            "g.gr: line 2: the file ends after 1 edges where its header promises 2; it was cut short or its header lies");
  EXPECT_EQ(bad("p sp 3 1\na 1 2 3\na 1 3 3\n"), "g.gr: line 3, byte 17: entry 2 where the header promises 1; mend the header or the file");
}

TEST(gr, undirected_edges_of_coloring_and_cliques) {
  for (char const* problem : {"edge", "col"}) {
    std::string const text = "c FILE: x.col\np " + std::string(problem) + " 4 2\ne 1 2\r\nc\ne 4 3\n";
    for (bool const ignore : {false, true}) {
      auto const e = parse(file_format::gr, text, {.ignore_weights = ignore}).edges;
      EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{3, 2}));
      EXPECT_EQ(e.weights_are, weight_kind::none);
      EXPECT_EQ(e.vertices, 4u);
      EXPECT_EQ(e.id_base, 1u);
      EXPECT_TRUE(e.undirected);
    }
  }
  auto const bad = [](std::string const& text) { return complaint(file_format::gr, text); };
  EXPECT_EQ(bad("p edge 3\n"),
            "g.gr: line 1, byte 8: the line ends where the number of vertices or edges should stand: p edge VERTICES EDGES");
  EXPECT_EQ(bad("p col 3 1\na 1 2 3\n"), "g.gr: line 2, byte 10: 'a' begins the line; DIMACS lines begin with c or e here");
  EXPECT_EQ(bad("p col 3 1\ne 1 2 3\n"), "g.gr: line 2, byte 16: '3' follows the edge, which is 'e ONE OTHER'");
  EXPECT_EQ(bad("p edge 3 1\ne 1 4\n"), "g.gr: line 2, byte 15: vertex 4 is outside 1 to 3");
  EXPECT_EQ(bad("p edge 3 2\ne 1 2\n"),
            "g.gr: line 2: the file ends after 1 edges where its header promises 2; it was cut short or its header lies");
}

// --- METIS -----------------------------------------------------------------------------------------------------------------

TEST(metis, lists_with_and_without_weights) {
  auto e = edges(file_format::metis, "% the manual's first example, cut\n4 3\n2 3\n1 4\n1\n2\n");
  EXPECT_TRUE(e.undirected && e.mirrored);
  EXPECT_EQ(e.vertices, 4u);
  EXPECT_EQ(e.id_base, 1u);
  EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{0, 2}, arc{1, 0}, arc{1, 3}, arc{2, 0}, arc{3, 1}));
  e = edges(file_format::metis, "4 1 1\r\n2 7\r\n1 7\r\n\r\n% between\n\n");
  EXPECT_THAT(e.weights, ElementsAre(7u, 7u));
  EXPECT_EQ(complaint(file_format::metis, "4 2 1\n2 7\n1 7\n\n\n"),
            "g.metis: its lists have 2 entries where its header promises 2 edges, which stand twice; it was cut short or its header lies");
}

TEST(metis, blank_lines_are_vertices_without_edges) {
  for (std::size_t const block : {1u, 7u, 1u << 20}) {
    auto const e = parse(file_format::metis, "5 1 001\n\n4 9\n\n2 9\n\n\n\n", {.block_bytes = block}).edges;
    EXPECT_THAT(e.arcs, ElementsAre(arc{1, 3}, arc{3, 1}));
    EXPECT_THAT(e.weights, ElementsAre(9u, 9u));
    EXPECT_EQ(e.vertices, 5u);
  }
}

TEST(metis, sizes_and_weights_of_vertices_are_passed_over) {
  auto const r = parse(file_format::metis, "3 2 111 2\n5 1 1 2 8\n5 1 1 1 8 3 9\n5 1 1 2 9\n");
  EXPECT_THAT(r.edges.arcs, ElementsAre(arc{0, 1}, arc{1, 0}, arc{1, 2}, arc{2, 1}));
  EXPECT_THAT(r.edges.weights, ElementsAre(8u, 8u, 9u, 9u));
  EXPECT_THAT(r.notes, ElementsAre("g.metis: weights and sizes of vertices are not read"));
}

TEST(metis, bad_files_are_named) {
  auto const said = [](std::string const& text) { return complaint(file_format::metis, text); };
  EXPECT_THAT(said(""), HasSubstr("the line 'VERTICES EDGES [FMT [NCON]]' is missing"));
  EXPECT_THAT(said("5\n"), HasSubstr("line 1, byte 1: the header ends where a count should stand"));
  EXPECT_THAT(said("2 1 2\n"), HasSubstr("format '2' is not read"));
  EXPECT_THAT(said("2 1 1 3\n"), HasSubstr("3 weights per vertex do not go with format"));
  EXPECT_THAT(said("2 1\n3\n1\n"), HasSubstr("line 2, byte 4: vertex 3 is outside 1 to 2"));
  EXPECT_THAT(said("2 1\n0\n1\n"), HasSubstr("METIS counts from 1"));
  EXPECT_THAT(said("2 1\n2\n"), HasSubstr("ends after the lists of 1 vertices where its header promises 2"));
  EXPECT_THAT(said("2 1\n2\n1\n1\n"), HasSubstr("a list follows that of vertex 2"));
  EXPECT_THAT(said("3 2\n2 3\n1\n2\n"), HasSubstr("is not the same in the adjacency of both its ends"));
  EXPECT_THAT(said("2 1 1\n2 5\n1 6\n"), HasSubstr("of both its ends"));
  EXPECT_THAT(said("2 1 1\n2\n1 6\n"), HasSubstr("line 2, byte 7: a weight is missing"));
}

TEST_F(formats, metis_gives_back_what_it_was_given) {
  csr const c(edges(file_format::el, "0 1\n0 3\n1 0\n3 0\n"), false);
  EXPECT_THAT(write_edges(c.view, at("g.graph"), file_format::metis), Not(IsEmpty())) << "ids from 0 are left out";
  EXPECT_EQ(bytes_of(at("g.graph")), "4 2\n2 4\n1\n\n1\n");
  csr const weighted(edges(file_format::wel, "0 1 7\n1 0 7\n"), false);
  write_edges(weighted.view, at("w.graph.zst"), file_format::metis);
  EXPECT_THAT(read_edges(at("w.graph.zst"), {}).edges.weights, ElementsAre(7u, 7u));
  csr const directed(edges(file_format::el, "0 1\n"), true), loop(edges(file_format::el, "0 0\n"), false);
  EXPECT_THAT(message(errc::usage, [&] { write_edges(directed.view, at("g.graph"), file_format::metis); }), HasSubstr("undirected"));
  EXPECT_THAT(message(errc::usage, [&] { write_edges(loop.view, at("g.graph"), file_format::metis); }), HasSubstr("an edge to itself"));
}

// --- the graph that is built --------------------------------------------------------------------------------------------------

// Declared vertices exist, however few edges there are.
TEST_F(formats, what_a_header_declares_is_not_compacted) {
  using enum file_format;
  for (auto const& [format, text] : {std::pair{mtx, "%%MatrixMarket matrix coordinate pattern general\n10000000 10000000 1\n1 9999999\n"},
                                     std::pair{gr, "p sp 10000000 1\na 1 9999999 7\n"}}) {
    build_report report;
    graph const g = build_graph(edges(format, text), {}, report);
    EXPECT_EQ(g.info.vertices, 10'000'000u);
    EXPECT_FALSE(report.compacted);
    EXPECT_EQ(report.isolated, 9'999'998u);
    EXPECT_EQ(g.internal_id(9'999'999), 9'999'998u);
    build_options compact;
    compact.numbering = build_options::ids::compact;
    EXPECT_EQ(build_graph(edges(format, text), compact, report).info.vertices, 2u);
  }
  build_report report;
  EXPECT_THAT(message(errc::input, [&] { build_graph(edges(gr, "p sp 5000000000 1\na 1 2 7\n"), {}, report); }), HasSubstr("--compact"));
}

// The builder accepts a reader's output: formats that count from 1 keep the user's ids, without an extra vertex.
TEST_F(formats, a_built_graph_speaks_the_ids_of_its_file) {
  using enum file_format;
  for (auto const& [format, text] : {std::pair{mtx, "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 3\n4 1\n"},
                                     std::pair{gr, "p sp 4 2\na 1 3 7\na 4 1 7\n"}}) {
    build_report report;
    graph const g = build_graph(edges(format, text), {}, report);
    EXPECT_EQ(g.info.vertices, 4u);
    EXPECT_EQ(g.info.id_base, 1u);
    EXPECT_THAT(std::vector(g.out.offsets.data(), g.out.offsets.data() + 5), ElementsAre(0u, 1u, 1u, 1u, 2u));
    auto const* const targets = static_cast<std::uint32_t const*>(g.out.targets.data());
    EXPECT_EQ(g.user_id(targets[0]), 3u);
    EXPECT_EQ(g.user_id(targets[1]), 1u);
  }
}

// Edges in columns of text, the first two or the ones that are picked: odd but good lines, and the exact messages for bad ones.
#include <fmt/format.h>

#include <cstring>

#include "graph/edge_files.hpp"

using namespace garner;
using namespace garner::testing;
using namespace std::string_literals;

TEST(columns, plain_edges) {
  auto const e = edges(file_format::el, "0 1\n1 2\n18446744073709551614 0\n");
  EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{1, 2}, arc{18446744073709551614u, 0}));
  EXPECT_EQ(e.weights_are, weight_kind::none);
  EXPECT_FALSE(e.undirected);
  EXPECT_EQ(e.vertices, 0u);
  EXPECT_EQ(e.source, "g.el");
}

TEST(columns, nothing_is_no_edge) {
  for (char const* text : {"", "\n", "# only a comment", "  \r\n\t\n", "\xef\xbb\xbf"})
    EXPECT_THAT(edges(file_format::el, text).arcs, IsEmpty());
}

TEST(columns, odd_but_good_lines) {
  auto const good = ElementsAre(arc{0, 1}, arc{2, 3});
  EXPECT_THAT(edges(file_format::el, "0 1\r\n2 3\r\n").arcs, good);         // CRLF
  EXPECT_THAT(edges(file_format::el, "0 1\n2 3").arcs, good);               // no final newline
  EXPECT_THAT(edges(file_format::el, "0 1\r\n2 3\r").arcs, good);           // nor a whole CRLF
  EXPECT_THAT(edges(file_format::el, "  0\t 1 \t \n2\t3  \n").arcs, good);  // blanks before, between, after
  EXPECT_THAT(edges(file_format::el, "# c\n%d\n0 1\n\n # in between\n2 3\n%\n").arcs, good);
  EXPECT_THAT(edges(file_format::csv, "0,1\n2 , 3\n").arcs, good);
  EXPECT_THAT(edges(file_format::csv, "0;1\n2;3\n").arcs, good);
  EXPECT_THAT(edges(file_format::csv, "source,target\r\n0,1\r\n2,3\r\n").arcs, good);
  EXPECT_THAT(edges(file_format::csv, "# x\n\"from\";\"to\";\"how often\"\n0;1\n2;3\n").arcs, good);
  EXPECT_THAT(edges(file_format::snap, "# FromNodeId\tToNodeId\n0\t1\n2\t3\n").arcs, good);
  EXPECT_THAT(edges(file_format::el, "\xef\xbb\xbf"s + "0 1\n2 3\n").arcs, good);  // a byte order mark
  EXPECT_THAT(edges(file_format::el, "0000 01\n2 3\n").arcs, good);
}

TEST(columns, whole_weights_are_u32_until_one_has_a_fraction) {
  auto e = edges(file_format::wel, "0 1 5\n1 2 4294967295\n");
  EXPECT_EQ(e.weights_are, weight_kind::u32);
  EXPECT_THAT(e.weights, ElementsAre(5u, 4294967295u));
  e = edges(file_format::wel, "0 1 5\n1 2 0.25\n2 3 7\n3 4 1e3\n");
  EXPECT_EQ(e.weights_are, weight_kind::f32);
  ASSERT_EQ(e.weights.size(), 4u);
  EXPECT_EQ(as_float(e.weights[0]), 5.0f);
  EXPECT_EQ(as_float(e.weights[1]), 0.25f);
  EXPECT_EQ(as_float(e.weights[2]), 7.0f);
  EXPECT_EQ(as_float(e.weights[3]), 1000.0f);
}

TEST(columns, weights_may_have_a_sign_where_it_says_nothing) {
  auto e = edges(file_format::wel, "0 1 +5\n1 2 -0\n2 3 -000\n");
  EXPECT_EQ(e.weights_are, weight_kind::u32);
  EXPECT_THAT(e.weights, ElementsAre(5u, 0u, 0u));
  e = edges(file_format::wel, "0 1 +.5\n1 2 -0.0\n2 3 +1e1\n3 4 -0\n");
  EXPECT_EQ(e.weights_are, weight_kind::f32);
  EXPECT_THAT(e.weights, ElementsAre(std::bit_cast<std::uint32_t>(0.5f), 0u, std::bit_cast<std::uint32_t>(10.0f), 0u));
  EXPECT_THAT(edges(file_format::gr, "p sp 2 1\na 1 2 +7\n").weights, ElementsAre(7u));
  EXPECT_EQ(complaint(file_format::wel, "0 1 +-1\n"), "g.wel: line 1, byte 4: '+-1' is not a weight; expected a number");
  EXPECT_THAT(complaint(file_format::wel, "0 1 +x\n"), HasSubstr("'+x' is not a weight"));
  EXPECT_THAT(complaint(file_format::gr, "p sp 2 1\na 1 2 -0.0\n"), HasSubstr("'-0.0' is not a weight; expected a whole number"));
}

TEST(columns, one_fraction_late_in_a_large_file_turns_every_block) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "1 2 " + std::to_string(i) + (i == 1700 ? ".5\n" : "\n");
  for (std::size_t const block : {1u, 100u, 1u << 20}) {
    auto const e = parse(file_format::wel, text, {.block_bytes = block}).edges;
    ASSERT_EQ(e.weights_are, weight_kind::f32);
    ASSERT_EQ(e.weights.size(), 3000u);
    for (int i = 0; i < 3000; ++i)
      ASSERT_EQ(as_float(e.weights[static_cast<std::size_t>(i)]), static_cast<float>(i) + (i == 1700 ? 0.5f : 0)) << i;
  }
}

TEST(columns, ignored_weights_may_be_any_number) {
  auto const e = parse(file_format::wel, "0 1 -5\n1 2 nan\n2 3 1e99\n", {.ignore_weights = true}).edges;
  EXPECT_EQ(e.arcs.size(), 3u);
  EXPECT_EQ(e.weights_are, weight_kind::none);
  EXPECT_THAT(e.weights, IsEmpty());
}

TEST(columns, csv_and_snap_take_two_or_three) {
  EXPECT_EQ(edges(file_format::csv, "0,1,7\n").weights_are, weight_kind::u32);
  EXPECT_EQ(edges(file_format::snap, "0 1 7\n").weights_are, weight_kind::u32);
  EXPECT_EQ(complaint(file_format::csv, "0,1\n1,2,3\n"), "g.csv: line 2, byte 4: 3 columns where the first edge (line 1) has 2");
  EXPECT_EQ(complaint(file_format::snap, "#\n0 1 2\n\n1 2\n"), "g.snap: line 4, byte 9: 2 columns where the first edge (line 2) has 3");
}

TEST(columns, bad_lines_are_named) {
  using enum file_format;
  EXPECT_EQ(complaint(el, "0 1 2\n"), "g.el: line 1, byte 0: 3 columns where an .el has 2; is it a .wel? Then use --from wel");
  EXPECT_EQ(complaint(wel, "# x\n0 1\n"), "g.wel: line 2, byte 4: 2 columns where a .wel has 3; is it an .el? Then use --from el");
  EXPECT_EQ(complaint(wel, "0 1 2 3\n"), "g.wel: line 1, byte 0: 4 columns where an edge has 3");
  EXPECT_EQ(complaint(snap, "0 1 2 3\n"),
            "g.snap: line 1, byte 0: 4 columns where an edge has 2, or 3 with its weight; --columns picks them");
  EXPECT_EQ(complaint(el, "0 1\n7\n"), "g.el: line 2, byte 4: 1 column where the first edge (line 1) has 2");
  EXPECT_EQ(complaint(el, "0\n"), "g.el: line 1, byte 1: a vertex id is missing at the end of the line; an edge needs two");
  EXPECT_EQ(complaint(el, "0 1\n1 2 3\n"), "g.el: line 2, byte 4: 3 columns where the first edge (line 1) has 2");
  EXPECT_EQ(complaint(csv, "0,1\n1,2,\n"), "g.csv: line 2, byte 4: 3 columns where the first edge (line 1) has 2");
  EXPECT_EQ(complaint(csv, "0,1\n1,,2\n"), "g.csv: line 2, byte 6: a vertex id is missing between two separators");
  EXPECT_EQ(
      complaint(el, "0 1\n1 x2\n"),
      "g.el: line 2, byte 6: 'x2' is not a vertex id; expected a whole number (comments begin with # or %, --skip-lines N passes over N "
      "lines)");
  EXPECT_EQ(
      complaint(el, "0 1\r\n1 2.5\r\n"),
      "g.el: line 2, byte 7: '2.5' is not a vertex id; expected a whole number (comments begin with # or %, --skip-lines N passes over "
      "N lines)");
  EXPECT_EQ(complaint(el, "0 -1\n"), "g.el: line 1, byte 2: '-1' is negative; vertex ids are whole numbers from 0");
  EXPECT_EQ(complaint(el, "0 18446744073709551615\n"),
            "g.el: line 1, byte 2: '18446744073709551615' is too large for a vertex id; the largest is 18446744073709551614");
  EXPECT_EQ(complaint(el, "0 1\n99999999999999999999999 1\n"),
            "g.el: line 2, byte 4: '99999999999999999999999' is too large for a vertex id; the largest is 18446744073709551614");
  EXPECT_THAT(complaint(el, "\xff\xfe"s + "0\0 \0"s), HasSubstr("g.el: line 1, byte 0: '\\xff\\xfe0\\x00' is not a vertex id"));
  EXPECT_THAT(complaint(csv, "a,b\nc,d\n"), HasSubstr("g.csv: line 2, byte 4: 'c' is not a vertex id"));  // one header line, not two
  EXPECT_THAT(complaint(csv, "\"a\",\"b\"\n\"0\",\"1\"\n"),
              HasSubstr("line 2, byte 8: '\"0\"' stands in quotes; --columns 1,2 reads columns in quotes"));
  EXPECT_THAT(complaint(csv, "\"\",\"a\",\"b\"\n0,1,2\n"), HasSubstr("line 1, byte 0: '\"\"' stands in quotes; --columns"));
  EXPECT_THAT(complaint(csv, ",a,b\n0,1,2\n"), HasSubstr("line 1, byte 0: a vertex id is missing between two separators"));
  EXPECT_THAT(complaint(el, "source target\n0 1\n"), HasSubstr("line 1, byte 0: 'source' is not a vertex id"));
}

TEST(columns, bad_weights_are_named) {
  using enum file_format;
  EXPECT_EQ(complaint(wel, "0 1 -5\n"),
            "g.wel: line 1, byte 4: weight '-5' is negative; weights are numbers from 0 (--ignore-weights reads the edges alone)");
  EXPECT_THAT(complaint(wel, "0 1 2\n0 1 -0.5\n"), HasSubstr("g.wel: line 2, byte 10: weight '-0.5' is negative"));
  EXPECT_EQ(
      complaint(wel, "0 1 nan\n"),
      "g.wel: line 1, byte 4: weight 'nan' is not a finite number; weights are numbers from 0 (--ignore-weights reads the edges alone)");
  EXPECT_EQ(
      complaint(wel, "0 1 inf\n"),
      "g.wel: line 1, byte 4: weight 'inf' is not a finite number; weights are numbers from 0 (--ignore-weights reads the edges alone)");
  for (std::string const weight : {"1e39", "1e-46", "5e-324", "1e-400", "0.00000000000000000000000000000000000000000000000000001"}) {
    std::string const said = "weight '" + weight.substr(0, 40) + (weight.size() > 40 ? "..." : "") +
                             "' does not fit a 32-bit float, which holds 0 and 1.4e-45 to 3.4e38; multiply all "
                             "weights by one number (--ignore-weights reads the edges alone)";
    EXPECT_EQ(complaint(wel, "0 1 2\n0 1 " + weight + "\n"), "g.wel: line 2, byte 10: " + said);
    EXPECT_EQ(complaint(csv, "a,b,w\n0,1," + weight + "\n"), "g.csv: line 2, byte 10: " + said);
    EXPECT_EQ(complaint(snap, "w\ta\tb\n" + weight + "\t0\t1\n", {.columns = {"a", "b", "w"}}), "g.snap: line 2, byte 6: " + said);
    EXPECT_EQ(complaint(mtx, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 " + weight + "\n"),
              "g.mtx: line 3, byte 56: " + said);
  }
  EXPECT_THAT(edges(wel, "0 1 1.4e-45\n1 2 0e-400\n2 3 3.4e38\n").weights, ElementsAre(1u, 0u, std::bit_cast<std::uint32_t>(3.4e38f)));
  EXPECT_EQ(
      complaint(wel, "0 1 4294967296\n"),
      "g.wel: line 1, byte 4: weight '4294967296' is too large; whole weights end at 4294967295, write 1e10 to have them read as f32");
  EXPECT_EQ(complaint(wel, "0 1 heavy\n"), "g.wel: line 1, byte 4: 'heavy' is not a weight; expected a number");
  EXPECT_EQ(complaint(wel, "0 1 1.5x\n"), "g.wel: line 1, byte 4: '1.5x' is not a weight; expected a number");
  EXPECT_EQ(complaint(csv, "0,1,2\n0,1,,\n"), "g.csv: line 2, byte 10: a weight is missing; expected a number after the two vertices");
}

TEST(columns, the_first_of_several_bad_lines_is_told_with_its_true_number_in_any_block) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += i % 10 == 3 ? "# comment\r\n" : i == 4321 || i == 4400 || i == 4999 ? "1 oops\n" : "12 34\n";
  for (std::size_t const block : {1u, 7u, 64u, 1000u, 1u << 20})
    EXPECT_THAT(complaint(file_format::el, text, {.block_bytes = block}),
                HasSubstr("g.el: line 4322, byte 28088: 'oops' is not a vertex id"))
        << block;
}

TEST(columns, bytes_are_counted_through_a_long_preamble) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "# some words of whoever made this file\n";
  text += "0 1\n";
  std::string const where = fmt::format("line 1002, byte {}: 'x'", text.size() + 2);
  for (std::size_t const block : {1u, 300u, 1u << 20})
    EXPECT_THAT(complaint(file_format::el, text + "2 x\n", {.block_bytes = block}), HasSubstr(where)) << block;
}

TEST(columns, any_block_size_gives_the_same_arcs) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * 37 % 101) + "\t" + std::to_string(i) + (i % 5 ? "\n" : "  \r\n");
  auto const whole = edges(file_format::el, text).arcs;
  ASSERT_EQ(whole.size(), 2000u);
  for (std::size_t const block : {1u, 3u, 17u, 256u, 4099u})
    EXPECT_EQ(parse(file_format::el, text, {.block_bytes = block}).edges.arcs, whole) << block;
}

TEST(columns, skipped_lines_are_not_looked_at_but_counted) {
  EXPECT_THAT(parse(file_format::el, "what is this\n3 2\n0 1\n", {.skip_lines = 2}).edges.arcs, ElementsAre(arc{0, 1}));
  EXPECT_THAT(complaint(file_format::el, "a\nb\n0 c\n", {.skip_lines = 2}), HasSubstr("g.el: line 3, byte 6: 'c'"));
  EXPECT_EQ(complaint(file_format::el, "0 1\n", {.skip_lines = 5}), "g.el: has only 1 lines, 5 were to be skipped; lower --skip-lines");
  EXPECT_EQ(message(errc::usage, [] { parse(file_format::sg, "", {.skip_lines = 1}); }),
            "g.sg: --skip-lines is for text, and sg is a binary format; leave it out");
}

TEST(columns, a_line_without_end_is_refused_soon) {
  EXPECT_EQ(complaint(file_format::el, "0 1\n" + std::string(3u << 20, ' ') + "\n0 1\n", {.block_bytes = 1000}),
            "g.el: line 2, byte 4: the line is longer than 1 MiB; is this a text file?");
}

TEST(columns, a_first_line_that_counts_what_follows_is_pointed_out) {
  EXPECT_THAT(
      parse(file_format::snap, "4 3\n0 1\n1 2\n2 3\n").notes,
      ElementsAre("g.snap: line 1 reads '4 3' and 3 edges follow; if it counts vertices and edges, read again with --skip-lines 1"));
  EXPECT_THAT(parse(file_format::snap, "# x\n4 2\n0 1\n1 0\n2 3\n3 2\n").notes,
              ElementsAre(HasSubstr("line 2 reads '4 2' and 4 edges follow")));
  EXPECT_THAT(parse(file_format::snap, "4 5\n0 1\n1 2\n2 3\n").notes, IsEmpty());
  EXPECT_THAT(parse(file_format::snap, "0 1\n1 2\n2 3\n").notes, IsEmpty());  // 1 is half of 2, but 0 is not a vertex count
}

TEST(columns, comments_that_promise_another_count_or_no_direction_are_pointed_out) {
  EXPECT_THAT(parse(file_format::snap, "# Nodes: 3 Edges: 2\n0 1\n1 2\n").notes, IsEmpty());
  EXPECT_THAT(parse(file_format::snap, "# Nodes: 3 Edges: 5\n0 1\n1 2\n").notes,
              ElementsAre("g.snap: its comments promise 5 edges, 2 were read; the file may be cut short"));
  EXPECT_THAT(parse(file_format::snap, "# Undirected graph: x\n0 1\n1 2\n").notes,
              ElementsAre("g.snap: its comments call it undirected; --undirected mirrors its edges"));
}

TEST(columns, what_has_vertices_of_two_types_is_refused) {
  std::string const said =
      "KONECT calls it bipartite: a left and a right vertex of one number are two vertices, which one graph would merge; make a "
      "folder "
      "of two types, LEFT__to__RIGHT/edge_index.npy, or give right vertices other numbers and remove this line";
  for (char const* head : {"% bip unweighted\n", "%bip\r\n", "% 1 2\n% bip posweighted\n"})
    for (std::vector<std::string> const& columns : {std::vector<std::string>{}, std::vector<std::string>{"1", "2"}})
      EXPECT_THAT(complaint(file_format::snap, head + "1 1\n1 2\n"s, {.columns = columns}), HasSubstr(said)) << head;
  EXPECT_THAT(edges(file_format::snap, "% asym bip\n1 1\n").arcs, ElementsAre(arc{1, 1}));
  for (std::vector<std::string> const& columns : {std::vector<std::string>{}, std::vector<std::string>{"1", "2"}})
    EXPECT_THAT(parse(file_format::snap, "% sym unweighted\n1 2\n", {.columns = columns}).notes,
                ElementsAre(HasSubstr("its comments call it undirected")));
}

// --- picked columns --------------------------------------------------------------------------------------------------------

namespace {
edge_list picked(file_format format, std::string const& text, std::vector<std::string> columns) {
  return parse(format, text, {.columns = std::move(columns)}).edges;
}
}  // namespace

TEST(picked, by_number_or_by_name) {
  using enum file_format;
  auto const pairs = ElementsAre(arc{1, 31}, arc{2, 1029});
  auto e = picked(csv, "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n2,1029,3.0,1260759179\n", {"userId", "movieId", "rating"});
  EXPECT_THAT(e.arcs, pairs);
  EXPECT_EQ(e.weights_are, weight_kind::f32);
  EXPECT_THAT(e.weights, ElementsAre(std::bit_cast<std::uint32_t>(2.5f), std::bit_cast<std::uint32_t>(3.0f)));
  e = picked(csv, "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n2,1029,3.0,1260759179\n", {"1", "2"});
  EXPECT_THAT(e.arcs, pairs);
  EXPECT_EQ(e.weights_are, weight_kind::none);
  e = picked(csv, "w;t;s\r\n\"7\"; 31 ;1\r\n8;1029;2\r\n", {"s", "t", "w"});
  EXPECT_THAT(e.arcs, pairs);
  EXPECT_THAT(e.weights, ElementsAre(7u, 8u));
  EXPECT_THAT(picked(snap, "# src dst time\n1 31 99\n2 1029 98\n", {"src", "dst"}).arcs, pairs);
  EXPECT_THAT(picked(snap, "# some words\n1\t31\t-1\tx y\n2\t1029\t1\t\n", {"1", "2"}).arcs, pairs);
  EXPECT_THAT(picked(csv, "a,\"b,c\",d\n1,\"x,y\",31\n2,,1029\n", {"a", "d"}).arcs, pairs);
  EXPECT_THAT(picked(el, "31 5 1\n1029 5 2\n", {"3", "1"}).arcs, pairs);
}

// The column between the (k-1)-th and the k-th separator, empty or not, for every separator and position of the empty one.
TEST(picked, an_empty_column_is_a_column) {
  auto const pairs = ElementsAre(arc{10, 20}, arc{20, 30});
  struct layout {
    char const *text, *from, *to;
  };
  for (char const s : {'\t', ',', ';'})
    for (auto const format : {file_format::csv, file_format::snap})
      for (layout const& l :
           {layout{"|src|dst\n0|10|20\n1|20|30\n", "src", "dst"},   // as pandas writes its index
            layout{"#|src|dst\n0|10|20\n1|20|30\n", "src", "dst"},  // after a #
            layout{"# src|dst|\n10|20|\n20|30|\n", "src", "dst"},   // the last
            layout{"src||dst\n10|1|20\n20||30\n", "src", "dst"},    // in the middle
            layout{"\xef\xbb\xbf|src|dst\r\n0|10|20\r\n|20|30\r\n", "src", "dst"},
            layout{"\"\"|\"src\"|\"dst\"\n\"0\"|\"10\"|20\n|20|\"30\"\n", "src", "dst"}, layout{"|10|20\n|20|30\n", "2", "3"},
            layout{"x|10|20\r\n|20|30\r\n", "2", "3"}, layout{"10||20|\n20||30|", "1", "3"}, layout{"10|20|x|\n20|30||\n", "1", "2"},
            layout{"|#10%|10|20\n|# no comment|20|30\n", "3", "4"},
            layout{" |10|20\n\n# a comment | \"\n  % another\n |20|30\n", "2", "3"}}) {
        std::string text = l.text;
        std::replace(text.begin(), text.end(), '|', s);
        SCOPED_TRACE(text);
        for (std::size_t const block : {1u, 5u, 1u << 20})
          EXPECT_THAT(parse(format, text, {.columns = {l.from, l.to}, .block_bytes = block}).edges.arcs, pairs);
      }
  EXPECT_THAT(picked(file_format::csv, ",src,dst\n0,10,20\n1,20,30\n", {"2", "3"}).arcs, pairs);  // a .csv may begin with names
  EXPECT_THAT(picked(file_format::snap, "  10   1   20\n20  7  30  \n", {"1", "3"}).arcs, pairs);
  EXPECT_THAT(picked(file_format::csv, "10;20;0,5\n20;30;1,5\n", {"1", "2"}).arcs, pairs);
  EXPECT_THAT(picked(file_format::snap, "Smith, J; x\t10\t20\nDoe, J\t20\t30\n", {"2", "3"}).arcs, pairs);
  EXPECT_EQ(complaint(file_format::snap, "1\t2\t3\n1\t\t3\n", {.columns = {"1", "2"}}),
            "g.snap: line 2, byte 8: column 2 is empty; an edge needs a number there");
  EXPECT_EQ(complaint(file_format::csv, ",a,b\n0,1,\r\n", {.columns = {"a", "b"}}),
            "g.csv: line 2, byte 10: column 3 is empty; an edge needs a number there");
}

// # and % begin comments, and also a text in the first column: such a row has all columns, with numbers in the requested ones.
TEST(picked, comment_marks_begin_a_text) {
  using enum file_format;
  auto const pairs = ElementsAre(arc{10, 20}, arc{20, 30});
  for (auto const* columns : {"src dst", "2 3"}) {
    std::vector<std::string> const wanted{std::string(columns, std::strchr(columns, ' ')), std::strchr(columns, ' ') + 1};
    EXPECT_THAT(picked(csv, "tag,src,dst\n#a,10,20\n# to be looked at, 7\n%b,20,30\n#,of,all\n", wanted).arcs, pairs);
    EXPECT_THAT(picked(csv, "tag;src;dst;n\n#a;10;20;\n#a;10;20\n \"#b;\";20;30;x\n# 1;2;\"3;4\n", wanted).arcs, pairs);
  }
  EXPECT_THAT(picked(csv, "src,dst,tag\n10,20,#a\n#7,8,b\n20,30,%\n", {"src", "dst"}).arcs, pairs);  // in numeric columns, # is a comment
  EXPECT_THAT(picked(snap, "a 10 20\n# 7 8\nb 20 30\n", {"2", "3"}).arcs, pairs);
}

TEST(picked, names_may_stand_behind_comments) {
  using enum file_format;
  auto const pairs = ElementsAre(arc{10, 20}, arc{20, 30});
  for (char const* head : {"# made by hand\n\n", "# of \"two, \n# columns\n", "% 3 2\n# src\n"})
    for (char const* names : {"src,dst\n", "# src,dst\n"})
      EXPECT_THAT(picked(csv, std::string(head) + names + "10,20\n20,30\n", {"src", "dst"}).arcs, pairs) << head << names;
  EXPECT_THAT(complaint(snap, "# from to\n1 2\n", {.columns = {"src", "dst"}}),
              HasSubstr("g.snap: line 2, byte 10: no column is called 'src'; the line names '1', '2', and line 1 'from', 'to'"));
}

TEST(picked, quotes_are_those_of_rfc_4180) {
  auto const pairs = ElementsAre(arc{10, 20}, arc{20, 30}, arc{30, 10});
  std::string const text =
      "\"the \"\"first\"\" name\nof two\",\"src,\",\"# dst\"\r\n"
      "\"x, \"\"y\"\"\n\r\n1,2\",\"10\",20\r\n"
      "5\" disk,20,\"30\"\n"
      "# \"a comment, \"its quotes are text\n"
      "\"# no comment\n\",30 , \"10\" \n";
  for (std::size_t const block : {1u, 4u, 30u, 1u << 20})
    for (char const* const source : {"src,", "2"})
      EXPECT_THAT(parse(file_format::csv, text, {.columns = {source, "# dst"}, .block_bytes = block}).edges.arcs, pairs) << block;
  for (std::size_t const block : {1u, 30u, 1u << 20}) {
    EXPECT_EQ(complaint(file_format::csv, "n,a,b\n\"x\ny\",1,2\n\"\n\n\",1,z\n", {.columns = {"a", "b"}, .block_bytes = block}),
              "g.csv: line 4, byte 23: 'z' is not a vertex id; expected a whole number (comments begin with # or %, --skip-lines N passes "
              "over N lines)");
    EXPECT_EQ(complaint(file_format::csv, "a,b,n\n1,2,\"x\n3,4,y\n", {.columns = {"a", "b"}, .block_bytes = block}),
              "g.csv: line 2, byte 10: the quote that opens here is not closed; close it, or double a quote that is text inside of quotes");
  }
  EXPECT_THAT(complaint(file_format::csv, "a,b\n\"1\"2,3\n", {.columns = {"a", "b"}}),
              HasSubstr("line 2, byte 4: '\"1\"2' is not a number"));
  EXPECT_THAT(complaint(file_format::csv, "a,\"b\n1,2\n", {.columns = {"a", "b"}}), HasSubstr("line 1, byte 2: the quote that opens here"));
  std::string const open = "a,b,n\n1,2,\"x" + std::string(3u << 20, '\n');
  EXPECT_EQ(complaint(file_format::csv, open, {.columns = {"a", "b"}, .block_bytes = 1000}),
            "g.csv: line 2, byte 6: the line is longer than 1 MiB; is a quote not closed?");
}

TEST(picked, what_is_wrong_is_named) {
  using enum file_format;
  auto const said = [](errc code, std::string const& text, std::vector<std::string> columns) {
    return message(code, [&] { picked(csv, text, columns); });
  };
  EXPECT_THAT(said(errc::usage, "1,2\n", {"1"}), HasSubstr("1 columns are named"));
  EXPECT_THAT(said(errc::usage, "1,2\n", {"0", "1"}), HasSubstr("column 0 does not exist"));
  EXPECT_THAT(said(errc::usage, "1,2\n", {"1", "1"}), HasSubstr("is named twice"));
  EXPECT_THAT(said(errc::input, "a,b\n1,2\n", {"a", "c"}),
              HasSubstr("g.csv: line 1, byte 0: no column is called 'c'; the line names 'a', 'b'"));
  EXPECT_THAT(said(errc::input, "a,a\n1,2\n", {"a", "2"}), HasSubstr("two columns are called 'a'"));
  EXPECT_THAT(said(errc::input, "1,2,3\n1,2\n", {"1", "3"}), HasSubstr("line 2, byte 6: 2 columns where number 3 is needed"));
  EXPECT_THAT(said(errc::input, "1,2,3\n1,2,z\n", {"1", "3"}), HasSubstr("'z' is not a vertex id"));
  EXPECT_THAT(said(errc::input, "1,2,3\n1,2,3 4\n", {"1", "3"}), HasSubstr("'3 4' is not a number"));
  EXPECT_THAT(message(errc::usage, [] { picked(mtx, "", {"1", "2"}); }), HasSubstr("--columns is for text in columns"));
}

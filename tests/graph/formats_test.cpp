// The foreign formats: contents of well-formed and odd files, the exact messages for bad ones, and byte-identical round trips.
#include "graph/formats.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "folder.hpp"
#include "garner/error.hpp"
#include "garner/handle.hpp"
#include "graph/build.hpp"
#include "zipped.hpp"

using namespace garner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;
namespace fs = std::filesystem;

// Replaces the C library's: the n-th call fails, or Ctrl-C comes during it.
namespace {
enum class fsync_fault { error, interrupt };
int fault_at = 0;
fsync_fault fault_is = fsync_fault::error;
}  // namespace
extern "C" int fsync(int fd) {
  if (fault_at > 0 && --fault_at == 0) {
    if (fault_is == fsync_fault::error) return errno = EIO, -1;
    garner::request_interrupt();
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace garner {
void PrintTo(arc const& a, std::ostream* out) { *out << a.source << "->" << a.target; }
}  // namespace garner

namespace {

read_result parse(file_format format, std::string const& text, read_options options = {}) {
  input_stream in({text.data(), text.size()}, "g." + std::string(to_string(format)));
  return read_edges(in, format, options);
}
edge_list edges(file_format format, std::string const& text) { return parse(format, text).edges; }

template <class Call>
std::string message(errc code, Call const& call) {
  try {
    call();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    EXPECT_FALSE(std::string(e.what()).ends_with('.')) << e.what();
    return e.what();
  }
  return "no error";
}
std::string complaint(file_format format, std::string const& text, read_options options = {}) {
  return message(errc::input, [&] { parse(format, text, options); });
}

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

std::string gz(std::string const& text) {
  ::z_stream z{};
  ::deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  ::deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}
std::string zst(std::string const& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<char const*>(&value), sizeof value);
}

// A CSR that owns its arrays, made from unmodified edges: sorted, nothing dropped.
struct csr {
  std::vector<std::uint64_t> offsets, wide, ids;
  std::vector<std::uint32_t> narrow, weights;
  csr_arrays view;

  csr(edge_list list, bool directed, bool wide_ids = false, bool mirror = false) {
    if (mirror) {
      std::size_t const n = list.arcs.size();
      for (std::size_t i = 0; i < n; ++i)
        if (list.arcs[i].source != list.arcs[i].target) {
          list.arcs.push_back({list.arcs[i].target, list.arcs[i].source});
          if (!list.weights.empty()) list.weights.push_back(list.weights[i]);
        }
    }
    std::uint64_t n = list.vertices;
    for (arc& a : list.arcs) {
      n = std::max({n, a.source + 1, a.target + 1});
    }
    std::vector<std::size_t> order(list.arcs.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return std::pair(list.arcs[x].source, list.arcs[x].target) < std::pair(list.arcs[y].source, list.arcs[y].target);
    });
    offsets.assign(n + 1, 0);
    for (std::size_t const i : order) {
      ++offsets[list.arcs[i].source + 1];
      if (wide_ids) wide.push_back(list.arcs[i].target);
      else narrow.push_back(static_cast<std::uint32_t>(list.arcs[i].target));
      if (!list.weights.empty()) weights.push_back(list.weights[i]);
    }
    for (std::uint64_t v = 0; v < n; ++v) offsets[v + 1] += offsets[v];
    view.vertices = n;
    view.edges = list.arcs.size();
    view.id_bytes = wide_ids ? 8 : 4;
    view.offsets = offsets.data();
    view.targets = wide_ids ? static_cast<void const*>(wide.data()) : narrow.data();
    view.weights = list.weights_are == weight_kind::none ? nullptr : weights.data();
    view.weights_are = list.weights_are;
    view.id_base = list.id_base;
    view.directed = directed;
  }
};

struct formats : ::testing::Test, garner::testing::own_folder {};

edge_list random_edges(std::uint64_t n, std::uint64_t m, weight_kind kind, std::uint64_t seed) {
  edge_list list;
  for (std::uint64_t i = 0; i < m; ++i) {
    list.arcs.push_back({random_bits(seed, 0, i) % n, random_bits(seed, 1, i) % n});
    auto const bits = random_bits(seed, 2, i);
    if (kind == weight_kind::u32) list.weights.push_back(static_cast<std::uint32_t>(bits) >> 1);
    if (kind == weight_kind::f32) list.weights.push_back(std::bit_cast<std::uint32_t>(unit_float(bits) * (i % 7 ? 1 : 1e20f)));
  }
  list.weights_are = kind;
  return list;
}

}  // namespace

// --- names and endings -----------------------------------------------------------------------------------------------------

TEST(format_names, endings_are_told_through_compression) {
  EXPECT_EQ(format_of("a/b.el"), file_format::el);
  EXPECT_EQ(format_of("b.wel.gz"), file_format::wel);
  EXPECT_EQ(format_of("b.csv.zst"), file_format::csv);
  EXPECT_EQ(format_of("soc.txt.gz"), file_format::snap);
  EXPECT_EQ(format_of("soc.tsv"), file_format::snap);
  EXPECT_EQ(format_of("b.mtx"), file_format::mtx);
  EXPECT_EQ(format_of("b.gr.zst"), file_format::gr);
  EXPECT_EQ(format_of("b.sg"), file_format::sg);
  EXPECT_EQ(format_of("b.wsg"), file_format::wsg);
  EXPECT_EQ(format_of("b.bel"), file_format::bel);
  EXPECT_EQ(format_of("b.bel.col"), file_format::bel);
  EXPECT_EQ(format_of("b.bel.dst.gz"), file_format::bel);
  EXPECT_EQ(format_of("b.bel.val"), file_format::bel);
  EXPECT_EQ(format_of("b.v"), file_format::ldbc);
  EXPECT_EQ(format_of("b.e.zst"), file_format::ldbc);
  EXPECT_EQ(format_of("b.gnr"), file_format::gnr);
  EXPECT_EQ(message(errc::usage, [] { format_of("graph.dat"); }),
            "graph.dat: its ending names no format; endings are .el .wel .csv .txt .tsv .edgelist .edges .mtx .gr .col .graph "
            ".sg .wsg .bel .v .e .npy .npz .gnr (also with .gz or .zst), or use --from FORMAT or --to FORMAT");
  EXPECT_EQ(bel_stem("x/y.bel.dst.zst"), "x/y.bel");
  EXPECT_EQ(ldbc_stem("x/y.v.gz"), "x/y");
  EXPECT_EQ(ldbc_stem("x/y.e"), "x/y");
}

TEST(format_names, every_name_parses_back) {
  for (int i = 0; i <= static_cast<int>(file_format::gnr); ++i)
    EXPECT_EQ(parse_format(to_string(static_cast<file_format>(i))), static_cast<file_format>(i));
  EXPECT_EQ(message(errc::usage, [] { parse_format("graphml"); }),
            "'graphml' is not a format; use el, wel, csv, snap, mtx, gr, metis, sg, wsg, bel, ldbc, npy, npz, gnr");
}

// --- columns ---------------------------------------------------------------------------------------------------------------

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
  EXPECT_THAT(edges(file_format::el,
                    "\xef\xbb\xbf"
                    "0 1\n2 3\n")
                  .arcs,
              good);  // a byte order mark
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
  EXPECT_THAT(complaint(el,
                        "\xff\xfe"
                        "0\0 \0"s),
              HasSubstr("g.el: line 1, byte 0: '\\xff\\xfe0\\x00' is not a vertex id"));
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

// --- GAP -------------------------------------------------------------------------------------------------------------------

namespace {
struct gap {
  bool weighted = false;
  unsigned char directed = 1;
  std::int64_t arcs = 3, vertices = 3;
  std::vector<std::int64_t> offsets = {0, 2, 3, 3}, in_offsets = {0, 0, 1, 3};
  std::vector<std::int32_t> targets = {1, 2, 2}, in_targets = {0, 0, 1}, weights = {5, 6, 7}, in_weights = {5, 6, 7};

  std::string bytes() const {
    std::string out(1, static_cast<char>(directed));
    put(out, arcs), put(out, vertices);
    auto const lists = [&](auto const& o, auto const& t, auto const& w) {
      for (auto const x : o) put(out, x);
      for (std::size_t i = 0; i < t.size(); ++i) {
        put(out, t[i]);
        if (weighted) put(out, w[i]);
      }
    };
    lists(offsets, targets, weights);
    if (directed) lists(in_offsets, in_targets, in_weights);
    return out;
  }
  std::string complaint() const { return ::complaint(weighted ? file_format::wsg : file_format::sg, bytes()); }
};
}  // namespace

TEST(sg, directed_and_undirected) {
  auto e = edges(file_format::sg, gap{}.bytes());
  EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{0, 2}, arc{1, 2}));
  EXPECT_EQ(e.vertices, 3u);
  EXPECT_FALSE(e.undirected || e.mirrored);
  e = edges(file_format::wsg, gap{.weighted = true}.bytes());
  EXPECT_EQ(e.weights_are, weight_kind::u32);
  EXPECT_THAT(e.weights, ElementsAre(5u, 6u, 7u));
  e = edges(file_format::sg, gap{.directed = 0, .arcs = 4, .offsets = {0, 1, 3, 4}, .targets = {1, 0, 2, 1}}.bytes());
  EXPECT_TRUE(e.undirected && e.mirrored);
  EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{1, 0}, arc{1, 2}, arc{2, 1}));
  EXPECT_THAT(edges(file_format::sg, gap{.directed = 0, .arcs = 0, .vertices = 0, .offsets = {0}, .targets = {}}.bytes()).arcs, IsEmpty());
}

TEST(sg, what_is_wrong_is_named) {
  EXPECT_EQ(complaint(file_format::sg, ""),
            "g.sg: ends at byte 0, within the header that begins at byte 0; it was cut short or its header lies");
  EXPECT_EQ((gap{.directed = 2}.complaint()),
            "g.sg: its first byte is 2, a .sg begins with 0 (undirected) or 1 (directed); is it another format? Then use --from");
  EXPECT_EQ((gap{.vertices = -1}.complaint()),
            "g.sg: the header says -1 vertices, a .sg has 0 to 2147483648; it is damaged or another format");
  EXPECT_EQ((gap{.arcs = -1}.complaint()), "g.sg: the header says -1 edges; it is damaged or another format");
  EXPECT_EQ(
      (gap{.arcs = 1000000000000}.complaint()),
      "g.sg: has 105 bytes, a directed .sg of 3 vertices and 1000000000000 edges has 8000000000081; it was cut short, its header lies, or "
      "it is a .wsg");
  EXPECT_EQ((gap{.offsets = {1, 2, 3, 3}}.complaint()), "g.sg: its offsets begin at 1 and not at 0; it is damaged or another format");
  EXPECT_EQ((gap{.offsets = {0, 2, 1, 3}}.complaint()), "g.sg: its offsets fall from 2 to 1 at vertex 2; it is damaged");
  EXPECT_EQ((gap{.offsets = {0, 2, 4, 3}}.complaint()), "g.sg: offset 4 of vertex 2 is past the 3 edges; it is damaged");
  EXPECT_EQ((gap{.offsets = {0, 2, 2, 2}}.complaint()), "g.sg: its offsets end at 2, its header says 3 edges; it is damaged");
  EXPECT_EQ((gap{.targets = {1, 2, 3}}.complaint()), "g.sg: neighbor 3 of vertex 1 is outside 0 to 2; it is damaged");
  EXPECT_EQ((gap{.targets = {1, -2, 2}}.complaint()), "g.sg: neighbor -2 of vertex 0 is outside 0 to 2; it is damaged");
  EXPECT_EQ((gap{.in_targets = {0, 1, 1}}.complaint()), "g.sg: its in-neighbors are not those that its neighbors give; it is damaged");
  EXPECT_EQ((gap{.weighted = true, .weights = {5, -6, 7}}.complaint()),
            "g.wsg: weight -6 of the edge 0 -> 2 is negative; weights are numbers from 0");
  EXPECT_EQ((gap{.weighted = true, .in_weights = {5, 6, 8}}.complaint()),
            "g.wsg: its in-neighbors are not those that its neighbors give; it is damaged");
  EXPECT_EQ((gap{.directed = 0}.complaint()), "g.sg: it is marked undirected and some edge has no equal mirror; it is damaged");
}

TEST(sg, every_truncation_and_any_excess_is_found_plain_and_packed) {
  for (bool const weighted : {false, true}) {
    std::string const whole = gap{.weighted = weighted}.bytes();
    auto const format = weighted ? file_format::wsg : file_format::sg;
    for (std::size_t n = 0; n < whole.size(); ++n) {
      EXPECT_NE(complaint(format, whole.substr(0, n)), "no error") << n;
      EXPECT_THAT(complaint(format, zst(whole.substr(0, n))), HasSubstr("it was cut short or its header lies")) << n;
    }
    EXPECT_NE(complaint(format, whole + "x"), "no error");
    EXPECT_THAT(complaint(format, gz(whole + "x")), HasSubstr("goes on after byte"));
    EXPECT_EQ(edges(format, gz(whole)).arcs.size(), 3u);
  }
}

TEST(sg, a_count_that_lies_takes_no_memory) {
  std::string head(1, '\1');
  put(head, std::int64_t{1} << 50), put(head, std::int64_t{1} << 31);
  EXPECT_THAT(complaint(file_format::sg, zst(head)), HasSubstr("g.sg: ends at byte 17, within the offsets that begin at byte 17"));
}

// --- EMOGI -----------------------------------------------------------------------------------------------------------------

namespace {
template <class T>
std::string with_count(std::vector<T> const& items, std::uint64_t count, std::uint64_t ignored = 0) {
  std::string out;
  put(out, count), put(out, ignored);
  for (T const x : items) put(out, x);
  return out;
}
template <class T>
std::string with_count(std::vector<T> const& items) {
  return with_count(items, items.size(), 77);
}
using u64s = std::vector<std::uint64_t>;
using u32s = std::vector<std::uint32_t>;
}  // namespace

TEST_F(formats, bel_is_read_from_its_files) {
  file("g.bel.col", with_count(u64s{0, 2, 3, 3}));
  file("g.bel.dst", with_count(u64s{1, 2, 2}));
  for (char const* name : {"g.bel", "g.bel.col", "g.bel.dst"}) {
    auto const e = read_edges(at(name), {}).edges;
    EXPECT_THAT(e.arcs, ElementsAre(arc{0, 1}, arc{0, 2}, arc{1, 2}));
    EXPECT_EQ(e.vertices, 3u);
    EXPECT_EQ(e.weights_are, weight_kind::none);
    EXPECT_EQ(e.source, at("g.bel").string());
  }
  file("g.bel.val.gz", gz(with_count(u32s{7, 8, 4294967295u})));
  EXPECT_THAT(read_edges(at("g.bel"), {}).edges.weights, ElementsAre(7u, 8u, 4294967295u));
  EXPECT_THAT(read_edges(at("g.bel"), {.ignore_weights = true}).edges.weights, IsEmpty());
}

TEST_F(formats, bel_bad_files_are_named) {
  std::string const stem = at("g.bel").string();
  auto const bad = [&](std::string const& col, std::string const& dst, std::string const& val = "") {
    file("g.bel.col", col), file("g.bel.dst", dst);
    val.empty() ? void(fs::remove(at("g.bel.val"))) : void(file("g.bel.val", val));
    std::string text = message(errc::input, [&] { read_edges(at("g.bel"), {}); });
    EXPECT_TRUE(text.starts_with(stem)) << text;
    return text.substr(std::min(text.size(), stem.size()));
  };
  std::string const col = with_count(u64s{0, 2, 3, 3}), dst = with_count(u64s{1, 2, 2});
  EXPECT_EQ(bad("", dst), ".col: ends at byte 0, within the header that begins at byte 0; it was cut short or its header lies");
  EXPECT_EQ(bad(with_count(u64s{0, 2, 3, 3}, 5), dst),
            ".col: has 48 bytes, 5 entries of 8 bytes and the header have 56; it was cut short or its header lies");
  EXPECT_EQ(bad(with_count(u64s{0, 2, 3, 3}, ~0ull), dst),
            ".col: the header says 18446744073709551615 entries; it is damaged or another format");
  EXPECT_EQ(bad(with_count(u64s{}), dst), ".col: has no offsets; there is one more than there are vertices");
  EXPECT_EQ(bad(with_count(u64s{0, 3, 2, 3}), dst), ".col: its offsets fall from 3 to 2 at vertex 2; it is damaged");
  EXPECT_EQ(bad(with_count(u64s{0, 2, 3, 4}), dst),
            ".dst: has 3 targets, the offsets of " + stem + ".col end at 4; the files do not belong together");
  EXPECT_EQ(bad(col, with_count(u64s{1, 2, 3})), ".dst: target 3 of vertex 1 is outside 0 to 2; it is damaged");
  EXPECT_EQ(bad(col, dst, with_count(u32s{1, 2})), ".val: has 2 weights, " + stem + ".dst has 3 targets; the files do not belong together");
  EXPECT_EQ(bad(col, dst, with_count(u32s{1, 2, 3}) + "x"),
            ".val: has 29 bytes, 3 entries of 4 bytes and the header have 28; it was cut short or its header lies");
  fs::remove(at("g.bel.val"));
  file("g.bel.col.zst", zst(col));
  EXPECT_EQ(message(errc::input, [&] { read_edges(at("g.bel"), {}); }),
            stem + ".col: g.bel.col.zst is in the same folder; remove the one that is not meant");
  fs::remove(at("g.bel.col.zst")), fs::remove(at("g.bel.dst"));
  EXPECT_EQ(message(errc::io, [&] { read_edges(at("g.bel"), {}); }),
            stem + ".dst: not found, nor with .gz or .zst; a .bel is " + stem + ".col, .dst and perhaps .val");
}

// --- compression -----------------------------------------------------------------------------------------------------------

TEST_F(formats, packed_files_read_as_plain_ones) {
  std::string const text = "0 1\n1 2\n";
  auto const good = ElementsAre(arc{0, 1}, arc{1, 2});
  EXPECT_THAT(read_edges(file("a.el.gz", gz(text)), {}).edges.arcs, good);
  EXPECT_THAT(read_edges(file("a.el.zst", zst(text)), {}).edges.arcs, good);
  EXPECT_THAT(read_edges(file("b.el", gz(text)), {}).edges.arcs, good);      // the magic bytes decide
  EXPECT_THAT(read_edges(file("c.el.gz", zst(text)), {}).edges.arcs, good);  // also against the suffix, if they are unambiguous
  EXPECT_THAT(read_edges(file("d.el.gz", gz("0 1\n1") + gz(" 2\n")), {}).edges.arcs, good);  // members in a row
  EXPECT_THAT(read_edges(file("e.el.gz", gz(text) + std::string(512, '\0')), {}).edges.arcs, good);
  EXPECT_THAT(read_edges(file("f.el.zst", zst("0 1\n1") + zst(" 2\n")), {}).edges.arcs, good);
  EXPECT_THAT(read_edges(file("g.el.zst", "\x50\x2a\x4d\x18\x03\0\0\0abc"s + zst(text)), {}).edges.arcs, good);  // a skippable frame
  EXPECT_THAT(read_edges(file("h.el.gz", gz("")), {}).edges.arcs, IsEmpty());
}

TEST_F(formats, damaged_packed_files_are_named) {
  auto const bad = [&](std::string const& name, std::string const& bytes, read_options options = {}) {
    std::string const path = file(name, bytes).string(), text = message(errc::input, [&] { read_edges(at(name), options); });
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  };
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(random_bits(1, 0, static_cast<std::uint64_t>(i)) % 1000000) + " 1\n";
  std::string const g = gz(text), z = zst(text);
  EXPECT_THAT(
      bad("a.el.gz", g.substr(0, g.size() / 2)),
      ::testing::MatchesRegex(
          "the gzip data end in the middle, after [0-9]+ bytes of the file and [0-9]+ bytes of content; it was cut short, fetch it again"));
  EXPECT_THAT(
      bad("a.el.zst", z.substr(0, z.size() / 2)),
      ::testing::MatchesRegex(
          "the zstd data end in the middle, after [0-9]+ bytes of the file and [0-9]+ bytes of content; it was cut short, fetch it again"));
  for (std::size_t n : {g.size() - 1, g.size() - 8, std::size_t{2}, std::size_t{10}})
    EXPECT_THAT(bad("b.el.gz", g.substr(0, n)), HasSubstr("end in the middle")) << n;
  for (std::size_t n : {z.size() - 1, std::size_t{4}, std::size_t{10}})
    EXPECT_THAT(bad("b.el.zst", z.substr(0, n)), HasSubstr("end in the middle")) << n;
  EXPECT_EQ(bad("c.el.gz", "0 1\n"), "holds something else and not gzip data; give it its true ending, or fetch it again");
  EXPECT_EQ(bad("c.el.zst", "0 1\n"), "holds something else and not zstd data; give it its true ending, or fetch it again");
  EXPECT_EQ(bad("d.el.gz", ""), "is empty and not gzip data; give it its true ending, or fetch it again");
  std::string flipped = g;
  flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 1);  // the checksum
  EXPECT_THAT(bad("e.el.gz", flipped), HasSubstr("damaged gzip data near byte"));
  EXPECT_THAT(bad("f.el.gz", g + "junk"), HasSubstr("follows the end of the gzip data and is not gzip data"));
  EXPECT_THAT(bad("f.el.zst", z + "junk"), HasSubstr("damaged zstd data near byte"));
  // The first error of the file is reported: a bad line before the truncation.
  EXPECT_THAT(bad("g.el.gz", gz("0 x\n" + text).substr(0, g.size() / 2), {.block_bytes = 1000}),
              HasSubstr("line 1, byte 2: 'x' is not a vertex id"));
}

TEST_F(formats, files_that_cannot_be_read) {
  EXPECT_EQ(message(errc::io, [&] { read_edges(at("no.el"), {}); }),
            at("no.el").string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(message(errc::io, [&] { read_edges(folder, {.from = file_format::el}); }),
            folder.string() + ": is a folder; name a file in it");
  EXPECT_EQ(message(errc::usage, [&] { read_edges(file("g.gnr", ""), {}); }),
            at("g.gnr").string() + ": is a Garner graph file and not an edge list; it needs no conversion");
}

TEST_F(formats, reading_can_be_interrupted) {
  file("g.el", "0 1\n");
  request_interrupt();
  EXPECT_THAT(message(errc::interrupted, [&] { read_edges(at("g.el"), {}); }), HasSubstr("interrupted"));
  EXPECT_THAT(message(errc::interrupted,
                      [&] {
                        csr const c(random_edges(10, 20, weight_kind::none, 1), true);
                        write_edges(c.view, at("h.el"), file_format::el);
                      }),
              HasSubstr("interrupted"));
  clear_interrupt();
  EXPECT_EQ(files(), 1);
}

TEST_F(formats, waiting_for_a_pipe_can_be_interrupted) {
  ASSERT_EQ(::mkfifo(at("g.el").c_str(), 0600), 0);
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { request_interrupt(); };
  ::sigaction(SIGUSR1, &action, &before);
  ::pthread_t const reader = ::pthread_self();
  {
    std::jthread const user([&](std::stop_token done) {  // repeatedly, since the first may precede the wait
      while (std::this_thread::sleep_for(std::chrono::milliseconds(50)), !done.stop_requested()) ::pthread_kill(reader, SIGUSR1);
    });
    EXPECT_THAT(message(errc::interrupted, [&] { read_edges(at("g.el"), {}); }), HasSubstr("interrupted"));
  }
  ::sigaction(SIGUSR1, &before, nullptr);
  clear_interrupt();
}

// --- there and back --------------------------------------------------------------------------------------------------------

TEST_F(formats, each_format_gives_back_what_it_was_given) {
  using enum file_format;
  for (std::uint64_t const m : {0u, 1u, 300u, 150000u})
    for (bool const wide : {false, true})
      for (bool const directed : {true, false})
        for (auto const kind : {weight_kind::none, weight_kind::u32, weight_kind::f32}) {
          edge_list list = random_edges(m / 4 + 2, m, kind, m);
          // Equal weights for equal edges, so that an undirected graph is symmetric.
          for (std::size_t i = 0; i < list.weights.size(); ++i) {
            auto const bits = edge_bits(list.arcs[i].source, list.arcs[i].target, 5);
            list.weights[i] =
                kind == weight_kind::u32 ? static_cast<std::uint32_t>(bits >> 33) : std::bit_cast<std::uint32_t>(unit_float(bits) * 10);
          }
          csr const c(list, directed, wide, !directed);
          for (auto const to : {el, wel, mtx, sg, wsg, bel})
            for (char const* packing : {"", ".gz", ".zst"}) {
              if (m == 150000 && (*packing || wide)) continue;  // the large one once: several pieces, several blocks
              bool const weighted = to != el && to != sg && kind != weight_kind::none;
              if ((to == wel || to == wsg) && !weighted) continue;
              if ((to == wsg || to == bel) && kind == weight_kind::f32) continue;
              std::string const name = "g." + std::string(to_string(to)) + packing;
              write_edges(c.view, at(name), to);
              auto const back = read_edges(at(name), {}).edges;
              bool const as_stored = to == mtx && !directed;  // one of each pair
              csr const again(back, directed, wide, as_stored);
              SCOPED_TRACE(name + " " + std::to_string(m) + (directed ? " directed" : " undirected"));
              if (to != el && to != wel) {  // a plain list does not have vertices after the last edge
                ASSERT_EQ(again.offsets, c.offsets);
              }
              ASSERT_EQ(again.narrow, c.narrow);
              ASSERT_EQ(again.wide, c.wide);
              if (weighted && m > 0) {
                ASSERT_EQ(back.weights_are, kind);
                ASSERT_EQ(again.weights, c.weights);
              }
              if (to == sg || to == wsg || to == mtx) {
                ASSERT_EQ(back.undirected, !directed);
              }
              for (auto const& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
            }
        }
}

TEST_F(formats, conversions_there_and_back_are_byte_for_byte) {
  using enum file_format;
  auto const there = [&](std::string const& from, std::string const& to, bool directed = true, bool mirror = false) {
    csr const c(read_edges(at(from), {}).edges, directed, false, mirror);
    write_edges(c.view, at(to), format_of(to));
  };
  file("a.el", "0 1\n0 4\n1 0\n3 3\n4 2\n");
  there("a.el", "b.sg"), there("b.sg", "c.bel"), there("c.bel", "d.el.gz"), there("d.el.gz", "e.el");
  EXPECT_EQ(bytes_of(at("e.el")), bytes_of(at("a.el")));
  there("e.el", "f.sg");
  EXPECT_EQ(bytes_of(at("f.sg")), bytes_of(at("b.sg")));
  file("a.wel", "0 1 7\n0 4 0\n1 0 2147483647\n3 3 1\n4 2 9\n");
  there("a.wel", "b.wsg"), there("b.wsg", "c.mtx");
  EXPECT_EQ(bytes_of(at("c.mtx")), "%%MatrixMarket matrix coordinate integer general\n5 5 5\n1 2 7\n1 5 0\n2 1 2147483647\n4 4 1\n5 3 9\n");
  there("c.mtx", "d.bel.zst"), there("d.bel.zst", "e.wel");
  EXPECT_EQ(bytes_of(at("e.wel")), bytes_of(at("a.wel")));
  file("f.wel", "0 1 0.5\n1 2 3.0\n2 0 1e+30\n2 1 0.1\n");
  there("f.wel", "g.mtx"), there("g.mtx", "h.mtx.zst"), there("h.mtx.zst", "i.mtx");
  EXPECT_EQ(bytes_of(at("g.mtx")), "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 0.5\n2 3 3.0\n3 1 1e+30\n3 2 0.1\n");
  EXPECT_EQ(bytes_of(at("i.mtx")), bytes_of(at("g.mtx")));
  file("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n2 1\n3 3\n4 1\n4 2\n");
  there("s.mtx", "s.sg", false, true), there("s.sg", "t.mtx", false);
  EXPECT_EQ(bytes_of(at("t.mtx")), bytes_of(at("s.mtx")));
}

TEST_F(formats, the_bytes_of_a_small_sg_and_bel_are_as_documented) {
  csr const c(edges(file_format::wel, "0 1 5\n0 2 6\n1 2 7\n"), true);
  write_edges(c.view, at("g.sg"), file_format::sg);
  EXPECT_EQ(bytes_of(at("g.sg")), gap{}.bytes());
  write_edges(c.view, at("g.wsg"), file_format::wsg);
  EXPECT_EQ(bytes_of(at("g.wsg")), gap{.weighted = true}.bytes());
  write_edges(c.view, at("g.bel"), file_format::bel);
  EXPECT_EQ(bytes_of(at("g.bel.col")), with_count(u64s{0, 2, 3, 3}, 4));
  EXPECT_EQ(bytes_of(at("g.bel.dst")), with_count(u64s{1, 2, 2}, 3));
  EXPECT_EQ(bytes_of(at("g.bel.val")), with_count(u32s{5, 6, 7}, 3));
}

TEST_F(formats, text_speaks_the_users_ids) {
  csr c(edges(file_format::el, "0 1\n2 0\n"), true);
  std::vector<std::uint64_t> const ids = {1000000007, 5, 42};
  c.view.ids = ids.data();
  write_edges(c.view, at("g.el"), file_format::el);
  EXPECT_EQ(bytes_of(at("g.el")), "1000000007 5\n42 1000000007\n");
  EXPECT_THAT(write_edges(c.view, at("g.sg"), file_format::sg),
              ElementsAre(at("g.sg").string() + ": a .sg numbers vertices from 0; the graph's own ids are left out"));
  c.view.ids = nullptr;
  c.view.id_base = 1;
  write_edges(c.view, at("g.el"), file_format::el);
  EXPECT_EQ(bytes_of(at("g.el")), "1 2\n3 1\n");
  EXPECT_THAT(write_edges(c.view, at("g.mtx"), file_format::mtx), IsEmpty());
}

TEST_F(formats, given_in_lists_are_written_as_they_are) {
  csr const c(edges(file_format::wel, "0 1 5\n0 2 6\n1 2 7\n"), true);
  csr_arrays view = c.view;
  u64s const in_offsets = {0, 0, 1, 3};
  u32s const in_targets = {0, 0, 1}, in_weights = {5, 6, 7};
  view.in_offsets = in_offsets.data(), view.in_targets = in_targets.data(), view.in_weights = in_weights.data();
  write_edges(view, at("g.wsg"), file_format::wsg);
  EXPECT_EQ(bytes_of(at("g.wsg")), gap{.weighted = true}.bytes());
}

TEST_F(formats, what_cannot_be_written_is_refused_and_leaves_nothing) {
  csr const plain(edges(file_format::el, "0 1\n"), true), real(edges(file_format::wel, "0 1 0.5\n"), true),
      large(edges(file_format::wel, "0 1 4294967295\n"), true);
  auto const refused = [&](csr const& c, std::string const& name, file_format to) {
    std::string const text = message(errc::usage, [&] { write_edges(c.view, at(name), to); });
    return text.substr(std::min(text.size(), at(name).string().size()));
  };
  using enum file_format;
  EXPECT_EQ(refused(plain, "g.csv", csv), ": csv is not written; el, wel, mtx, metis, sg, wsg, bel and gnr are (name one with --to)");
  EXPECT_EQ(refused(plain, "g.wel", wel), ": the graph has no weights, which a .wel needs; write a .el or draw weights when converting");
  EXPECT_EQ(refused(plain, "g.wsg", wsg), ": the graph has no weights, which a .wsg needs; write a .sg or draw weights when converting");
  EXPECT_EQ(refused(real, "g.wsg", wsg), ": the weights are f32 and a .wsg holds whole numbers; write a .wel or .mtx");
  EXPECT_EQ(refused(real, "g.bel", bel), ": the weights are f32 and a .bel holds whole numbers; write a .wel or .mtx");
  EXPECT_EQ(refused(large, "g.wsg", wsg), ": weight 4294967295 is beyond the 2147483647 of a .wsg; write a .wel or .mtx");
  EXPECT_EQ(files(), 0);
  EXPECT_THAT(write_edges(large.view, at("g.el"), el),
              ElementsAre(at("g.el").string() + ": a .el has no weights; those of the graph are left out"));
  write_edges(large.view, at("g.bel"), bel);
  EXPECT_EQ(refused(plain, "g.bel", bel), ".val: is in the folder of the .bel to be written and would be read with it; remove it first");
  EXPECT_EQ(message(errc::io, [&] { write_edges(plain.view, at("no/g.el"), el); }).substr(0, at("no/g.el").string().size()),
            at("no/g.el").string());
}

TEST_F(formats, a_full_disk_leaves_no_half_file) {
  csr const c(random_edges(1000, 50000, weight_kind::none, 1), true);
  // A file size limit emulates a full disk: the write fails after some pages. In its own process, since limits cannot be raised again.
  auto const in_child = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    ::rlimit const limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_edges(c.view, at("g.el"), file_format::el);
    } catch (error const& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::_Exit(files() == 0 && e.code() == errc::io ? 0 : 1);
    }
    std::_Exit(2);
  };
  EXPECT_EXIT(in_child(), ::testing::ExitedWithCode(0), "writing failed at byte");
}

TEST_F(formats, of_a_bel_no_file_appears_before_all_are_safe) {
  csr const c(random_edges(10, 20, weight_kind::u32, 1), true);
  for (fsync_fault const fault : {fsync_fault::error, fsync_fault::interrupt})
    for (int const at_call : {1, 2, 3}) {
      fault_at = at_call;
      fault_is = fault;
      EXPECT_THROW(write_edges(c.view, at("g.bel"), file_format::bel), error);
      fault_at = 0;
      clear_interrupt();
      EXPECT_EQ(files(), 0) << at_call;
    }
  write_edges(c.view, at("g.bel"), file_format::bel);
  EXPECT_EQ(files(), 3);
}

// A file that is truncated or grows between open and the end of reading never gives a smaller graph.
TEST_F(formats, a_file_that_changes_while_it_is_read_is_an_error) {
  using enum file_format;
  std::string columns, weighted, gr_text = "p sp 9 200000\n", mtx_text = "%%MatrixMarket matrix coordinate pattern general\n9 9 200000\n";
  for (int i = 0; i < 200000; ++i) columns += "1 2\n", weighted += "1,2,3\n", gr_text += "a 1 2 3\n", mtx_text += "1 2\n";
  for (auto const& [format, text] :
       {std::pair{el, columns}, std::pair{snap, columns}, std::pair{csv, weighted}, std::pair{gr, gr_text}, std::pair{mtx, mtx_text}})
    for (std::int64_t const by : {-std::int64_t(text.size()) / 2, std::int64_t{-4}, std::int64_t{4}}) {
      fs::path const path = file("g.text", text);
      input_stream in(path);
      if (by < 0) fs::resize_file(path, text.size() + by);
      else std::ofstream(path, std::ios::app) << std::string("1 2\n");
      read_options small;
      small.block_bytes = 1000;
      EXPECT_THAT(message(errc::io, [&, how = format] { read_edges(in, how, small); }), HasSubstr("changed while it was read"))
          << to_string(format) << " by " << by;
    }
}

TEST_F(formats, the_lists_of_an_ldbc_that_change_while_they_are_read_are_an_error) {
  std::string vertices, arcs;
  for (int i = 0; i < 100000; ++i) vertices += fmt::format("{}\n", i), arcs += "1 2\n";
  for (char const* cut : {"g.v", "g.e"}) {
    input_stream v(file("g.v", vertices)), e(file("g.e", arcs));
    fs::resize_file(at(cut), 4 * 70000);
    EXPECT_THAT(message(errc::io, [&] { read_ldbc(v, e, nullptr, {}); }), HasSubstr(fmt::format("{}: ends at byte 280000", cut)));
  }
}

TEST_F(formats, a_file_of_nothing_is_refused_unless_asked_for) {
  for (char const* name : {"g.el", "g.csv", "g.txt"}) {
    file(name, "# a comment\n\n");
    EXPECT_THAT(message(errc::input, [&] { read_graph(at(name)); }), HasSubstr("holds no edge and no vertex"));
    build_options o;
    o.allow_empty = true;
    EXPECT_EQ(read_graph(at(name), o).info().vertices, 0u);
  }
  file("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 0\n");
  EXPECT_EQ(read_graph(at("g.mtx")).info().vertices, 3u) << "vertices are enough";
}

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
  EXPECT_EQ(message(errc::input,
                    [] {
                      picked(file_format::snap, "1\t2\t3\n1\t\t3\n", {"1", "2"});
                    }),
            "g.snap: line 2, byte 8: column 2 is empty; an edge needs a number there");
  EXPECT_EQ(message(errc::input,
                    [] {
                      picked(file_format::csv, ",a,b\n0,1,\r\n", {"a", "b"});
                    }),
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

// --- edge indices ----------------------------------------------------------------------------------------------------------

TEST_F(formats, an_edge_index_is_read_in_both_shapes) {
  auto const index = [&](auto const&... how) { return file("edge_index.npy", handmade::npy(how...)); };
  auto const all = ElementsAre(arc{5, 2}, arc{0, 3}, arc{7, 7});
  EXPECT_THAT(read_edges(index("<i8", "(2, 3)", std::vector<std::int64_t>{5, 0, 7, 2, 3, 7}), {}).edges.arcs, all);
  EXPECT_THAT(read_edges(index("<i4", "(3, 2)", std::vector<std::int32_t>{5, 2, 0, 3, 7, 7}), {}).edges.arcs, all);
  EXPECT_THAT(read_edges(index("<u8", "(2, 3)", std::vector<std::uint64_t>{5, 0, 7, 2, 3, 7}), {}).edges.arcs, all);
  // As numpy.save writes pairs.T: column by column.
  EXPECT_THAT(read_edges(index("<i8", "(2, 3)", std::vector<std::int64_t>{5, 2, 0, 3, 7, 7}, true), {}).edges.arcs, all);
  EXPECT_THAT(read_edges(index("<u4", "(3, 2)", std::vector<std::uint32_t>{5, 0, 7, 2, 3, 7}, true), {}).edges.arcs, all);
  EXPECT_THAT(read_edges(index("<u8", "(2, 0)", std::vector<std::uint64_t>{}), {}).edges.arcs, IsEmpty());
  EXPECT_THAT(read_edges(index("<u8", "(0, 2)", std::vector<std::uint64_t>{}), {}).edges.arcs, IsEmpty());
  EXPECT_THAT(read_edges(at("edge_index.npy"), {}).notes, IsEmpty());
  read_result const either = read_edges(index("<u4", "(2, 2)", std::vector<std::uint32_t>{1, 2, 3, 4}), {});
  EXPECT_THAT(either.edges.arcs, ElementsAre(arc{1, 3}, arc{2, 4}));
  EXPECT_THAT(either.notes, ElementsAre(HasSubstr("of shape (2, 2) it could be either; read as (2, E)")));
  EXPECT_FALSE(read_graph(at("edge_index.npy")).info().weights != weight_kind::none);
  auto const said = [&](auto const&... how) { return message(errc::input, [&] { read_edges(index(how...), {}); }); };
  EXPECT_THAT(said("<i8", "(2, 2)", std::vector<std::int64_t>{5, 0, -7, 2}), HasSubstr("edge 0: vertex -7 is negative"));
  EXPECT_THAT(said("<i4", "(2, 2)", std::vector<std::int32_t>{5, 0, 7, -2}), HasSubstr("edge 1: vertex -2 is negative"));
  EXPECT_THAT(said("<u8", "(1, 2)", std::vector<std::uint64_t>{5, ~std::uint64_t{0}}), HasSubstr("is too large for a vertex id"));
  EXPECT_THAT(said("<i8", "(3, 3)", std::vector<std::int64_t>(9)), HasSubstr("an array (3, 3) is not an edge index"));
  EXPECT_THAT(said("<i8", "(4,)", std::vector<std::int64_t>(4)), HasSubstr("is not an edge index"));
  EXPECT_THAT(said("<f4", "(2, 1)", std::vector<float>(2)), HasSubstr("elements are <f4"));
  EXPECT_THAT(said("<i8", "(2, 3)", std::vector<std::int64_t>(5)), HasSubstr("shorter than its header says"));
}

TEST_F(formats, an_archive_gives_its_edge_index) {
  std::string const index = handmade::npy<std::int64_t>("<i8", "(2, 3)", {5, 0, 7, 2, 3, 7}),
                    pairs = handmade::npy<std::int32_t>("<i4", "(3, 2)", {5, 2, 0, 3, 7, 7}),
                    nine = handmade::npy<std::int64_t>("<i8", "(1,)", {9});
  auto const all = ElementsAre(arc{5, 2}, arc{0, 3}, arc{7, 7});
  for (bool const deflated : {false, true})
    for (bool const wide : {false, true}) {
      SCOPED_TRACE(fmt::format("deflated {}, wide {}", deflated, wide));
      EXPECT_THAT(read_edges(file("g.npz", handmade::zipped({{"x.npy", nine}, {"edge_index.npy", index}}, deflated, wide)), {}).edges.arcs,
                  all);
      read_result const ogb =
          read_edges(file("data.npz", handmade::zipped({{"edge_index.npy", pairs}, {"num_nodes_list.npy", nine}}, deflated, wide)), {});
      EXPECT_THAT(ogb.edges.arcs, all);
      EXPECT_EQ(ogb.edges.vertices, 9u);
    }
  EXPECT_EQ(estimate_read_bytes(at("g.npz"), {}) / 16, 3 + (2u << 20) / 16);
  auto const said = [&](std::string const& bytes) { return message(errc::input, [&] { read_edges(file("g.npz", bytes), {}); }); };
  EXPECT_THAT(said(handmade::zipped({{"a.npy", nine}, {"b.npy", nine}})), HasSubstr("holds no array 'edge_index'; it holds a, b"));
  EXPECT_THAT(said(handmade::zipped({})), HasSubstr("it holds none"));
  EXPECT_THAT(said(handmade::zipped({{"edge_index.npy", nine}})), HasSubstr("g.npz: edge_index: an array (1) is not an edge index"));
  EXPECT_THAT(said(handmade::zipped({{"edge_index.npy", index}, {"num_nodes_list.npy", handmade::npy<std::int64_t>("<i8", "(1,)", {7})}})),
              HasSubstr("edge 2: 7 -> 7: of 7 vertices, as num_nodes_list counts them, the ids end at 6"));
  EXPECT_THAT(
      said(handmade::zipped({{"edge_index.npy", index}, {"num_nodes_list.npy", handmade::npy<std::int64_t>("<i8", "(2,)", {7, 8})}})),
      HasSubstr("one graph is read"));
  EXPECT_THAT(said("PK"), HasSubstr("not a whole zip archive"));
  for (bool const deflated : {false, true}) {
    std::string const whole = handmade::zipped({{"edge_index.npy", index}}, deflated);
    EXPECT_THAT(said(whole.substr(0, whole.size() - 9)), HasSubstr("it has no directory at its end"));
    EXPECT_THAT(said(whole.substr(60)), HasSubstr("not a whole zip archive"));
    std::string flipped = whole;
    flipped[whole.find("PK\x01\x02") - 9] ^= 8;
    EXPECT_THAT(said(flipped), HasSubstr("not a whole zip archive"));
  }
  EXPECT_THAT(message(errc::io, [&] { read_edges(at("none.npz"), {}); }), HasSubstr("cannot be opened"));
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

TEST(format_names, endings_may_be_upper_case) {
  EXPECT_EQ(format_of("A.MTX.GZ"), file_format::mtx);
  EXPECT_EQ(format_of("b.Csv"), file_format::csv);
  EXPECT_EQ(format_of("b.edgelist"), file_format::snap);
  EXPECT_EQ(format_of("b.edges.gz"), file_format::snap);
  EXPECT_EQ(format_of("queen5_5.col"), file_format::gr);
  EXPECT_EQ(format_of("b.graph.gz"), file_format::metis);
  EXPECT_EQ(format_of("edge_index.npy"), file_format::npy);
  EXPECT_EQ(format_of("data.npz"), file_format::npz);
}

// --- memory ----------------------------------------------------------------------------------------------------------------

TEST_F(formats, the_estimate_is_near_what_the_list_takes) {
  csr const c(random_edges(100000, 200000, weight_kind::u32, 3), true);
  using enum file_format;
  for (auto const to : {el, wel, mtx, sg, wsg, bel})
    for (char const* packing : {"", ".gz", ".zst"}) {
      std::string const name = "g" + std::string(packing) + "." + std::string(to_string(to)) + packing;
      write_edges(c.view, at(name), to);
      std::uint64_t const takes = 200000 * (to == el || to == sg ? 16 : 20), guess = estimate_read_bytes(at(name), {});
      EXPECT_GE(guess, takes * 9 / 10) << name;
      EXPECT_LE(guess, takes * 3 / 2 + (48u << 20)) << name;
    }
  EXPECT_LE(estimate_read_bytes(file("small.el", "0 1\n"), {}), 2u << 20);
  std::string head(1, '\1');  // a wrong header is trusted as far as the file could hold it
  put(head, std::int64_t{1} << 50), put(head, std::int64_t{1} << 31);
  EXPECT_LE(estimate_read_bytes(file("lies.sg", head), {}), 2u << 20);
}

// --- real files ------------------------------------------------------------------------------------------------------------

namespace {
struct real_file {
  char const* path;
  std::uint64_t skip, arcs;
  bool weighted;
  std::size_t notes;
};
class real_graphs : public ::testing::TestWithParam<real_file> {};
}  // namespace

TEST_P(real_graphs, have_their_known_number_of_arcs) {
  real_file const& f = GetParam();
  fs::path const path = fs::path(GARNER_SOURCE_DIR "/../shared/data") / f.path;
  if (!fs::exists(path)) GTEST_SKIP() << "needs ../shared/data/" << f.path;
  auto const r = read_edges(path, {.skip_lines = f.skip});
  EXPECT_EQ(r.edges.arcs.size(), f.arcs);
  EXPECT_EQ(r.edges.weights.size(), f.weighted ? f.arcs : 0);
  EXPECT_EQ(r.notes.size(), f.notes) << (r.notes.empty() ? "" : r.notes[0]);
  EXPECT_EQ(read_edges(path, {.skip_lines = f.skip, .block_bytes = 4096}).edges.arcs, r.edges.arcs);
}

INSTANTIATE_TEST_SUITE_P(shared_data, real_graphs,
                         ::testing::Values(real_file{"soc-Epinions1/soc-Epinions1.txt.gz", 0, 508837, false, 0},
                                           real_file{"web-NotreDame/web-NotreDame.txt.gz", 0, 1497134, false, 0},
                                           real_file{"wiki-Vote/wiki-Vote.txt", 0, 103689, false, 0},
                                           real_file{"email-Enron/email-Enron.txt", 1, 367662, false, 0},
                                           real_file{"email-Enron/email-Enron.txt", 0, 367663, false, 1},
                                           real_file{"facebook_combined/facebook_combined.txt", 1, 88234, false, 0},
                                           real_file{"facebook_combined/facebook_combined.txt", 0, 88235, false, 1},
                                           real_file{"gnn-amazon_photo/amazon_photo.edges.txt.zst", 0, 119081, false, 0},
                                           real_file{"gnn-tolokers/tolokers.edges.txt.zst", 0, 519000, false, 0},
                                           real_file{"USA-road-d.NY/USA-road-d.NY.gr.zst", 0, 730100, true, 0}),
                         [](auto const& info) {
                           std::string name;
                           for (char const c : fs::path(info.param.path).filename().string())
                             name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name + "_skip_" + std::to_string(info.param.skip);
                         });

// What all formats share: endings, compression, memory, files that cannot be read or change meanwhile, and real files.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/progress.hpp"
#include "garner/handle.hpp"
#include "graph/build.hpp"
#include "graph/edge_files.hpp"

using namespace garner;
using namespace garner::testing;
using namespace std::string_literals;
namespace fs = std::filesystem;

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
      EXPECT_THAT(message(errc::io, [&, how = format] { read_edges(in, how, {.block_bytes = 1000}); }),
                  HasSubstr("changed while it was read"))
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

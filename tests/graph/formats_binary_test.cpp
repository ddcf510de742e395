// Binary formats, those of GAP, EMOGI and NumPy: their bytes there and back, and the exact messages for what is cut short or lies.
#include <fmt/format.h>

#include "garner/handle.hpp"
#include "graph/build.hpp"
#include "graph/edge_files.hpp"
#include "zipped.hpp"

using namespace garner;
using namespace garner::testing;
namespace fs = std::filesystem;

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
  std::string complaint() const { return garner::testing::complaint(weighted ? file_format::wsg : file_format::sg, bytes()); }
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

TEST_F(formats, given_in_lists_are_written_as_they_are) {
  csr const c(edges(file_format::wel, "0 1 5\n0 2 6\n1 2 7\n"), true);
  csr_arrays view = c.view;
  u64s const in_offsets = {0, 0, 1, 3};
  u32s const in_targets = {0, 0, 1}, in_weights = {5, 6, 7};
  view.in_offsets = in_offsets.data(), view.in_targets = in_targets.data(), view.in_weights = in_weights.data();
  write_edges(view, at("g.wsg"), file_format::wsg);
  EXPECT_EQ(bytes_of(at("g.wsg")), gap{.weighted = true}.bytes());
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

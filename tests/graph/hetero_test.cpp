// Heterogeneous graphs: every dataset layout becomes a dataset file whose adjacency equals the edges, and a wrong dataset file is rejected
// with file and key.
#include "garner/hetero.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fstream>

#include "files/npy.hpp"
#include "folder.hpp"
#include "graph/arrays.hpp"
#include "graph/container.hpp"
#include "graph/data_set.hpp"
#include "graph/handle.hpp"
#include "graph/hetero.hpp"
#include "graph/typed_edges.hpp"
#include "memory/budget.hpp"
#include "zipped.hpp"

namespace garner {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using handmade::npy, handmade::zipped;
using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty;

struct hetero : ::testing::Test, testing::own_folder {
  // Compressed if the name ends in .gz.
  void put(std::string const& name, std::string const& bytes) const {
    fs::create_directories(at(name).parent_path());
    if (name.ends_with(".gz")) {
      ::gzFile const out = ::gzopen(at(name).c_str(), "wb");
      ASSERT_EQ(::gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
      ASSERT_EQ(::gzclose(out), Z_OK);
    } else {
      std::ofstream(at(name), std::ios::binary) << bytes;
    }
  }
  static std::string csv(pairs const& edges) {
    std::string text;
    for (arc const& e : edges) text += fmt::format("{},{}\n", e.source, e.target);
    return text;
  }
  // (2, E), or (E, 2).
  static std::string index(pairs const& edges, bool above = true) {
    std::vector<std::int64_t> values;
    if (above) {
      for (arc const& e : edges) values.push_back(static_cast<std::int64_t>(e.source));
      for (arc const& e : edges) values.push_back(static_cast<std::int64_t>(e.target));
    } else {
      for (arc const& e : edges) values.insert(values.end(), {static_cast<std::int64_t>(e.source), static_cast<std::int64_t>(e.target)});
    }
    return npy("<i8", above ? fmt::format("(2, {})", edges.size()) : fmt::format("({}, 2)", edges.size()), values);
  }

  // An array's contents, as text of its type, shape and numbers.
  static std::string shown(fs::path const& file) {
    npy_file const a(file);
    std::vector<char> bytes(a.rows() * a.row_bytes());
    a.read(bytes.data(), bytes.size(), a.head_bytes());
    std::vector<std::string> words;
    for (std::uint64_t i = 0; i < bytes.size() / a.element_bytes(); ++i) {
      auto const put = [&](auto value) {
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        words.push_back(fmt::format("{}", value));
      };
      if (a.type() == "<f4") put(float{});
      else put(std::int64_t{});
    }
    return fmt::format("{} ({}) {}", a.type(), fmt::join(a.shape(), ", "), fmt::join(words, " "));
  }
  static std::vector<std::int64_t> numbers(std::optional<fs::path> const& file) {
    return file ? whole_numbers({*file}, {}) : std::vector<std::int64_t>{};
  }

  void expect_edges(hetero_graph const& g, std::size_t k, pairs const& edges, direction strategy = direction::pulled) const {
    edge_type const& e = g.edges()[k];
    SCOPED_TRACE(name_of(e));
    EXPECT_EQ(e.edges, edges.size());
    graph const& lists = graph_access::of(g.adjacency(k));
    EXPECT_EQ(e.stored_edges, lists.info.edges);
    expect_lists(lists, numbers(e.edge_ids), twin(edges, lists.info.vertices, strategy));
  }

  pairs const writes = draw(400, 30, 50, 1), cites = draw(700, 50, 50, 2), member = draw(60, 30, 4, 3);

  // The layout of ogbn-mag.
  void make_mag(std::string const& root = "mag/") const {
    put(root + "raw/num-node-dict.csv.gz", "author,institution,paper\n30,4,50\n");
    put(root + "raw/nodetype-has-label.csv.gz", "author,institution,paper\nFalse,False,True\n");
    put(root + "raw/nodetype-has-feat.csv.gz", "author,institution,paper\nFalse,False,True\n");
    put(root + "raw/triplet-type-list.csv.gz", "author,affiliated_with,institution\nauthor,writes,paper\npaper,cites,paper\n");
    put(root + "raw/relations/author___affiliated_with___institution/edge.csv.gz", csv(member));
    put(root + "raw/relations/author___affiliated_with___institution/num-edge-list.csv.gz", "60\n");
    put(root + "raw/relations/author___writes___paper/edge.csv.gz", csv(writes));
    put(root + "raw/relations/author___writes___paper/edge_reltype.csv.gz", "1\n");
    put(root + "raw/relations/paper___cites___paper/edge.csv.gz", csv(cites));
    std::string features, years, labels, edge_years;
    for (int i = 0; i < 50; ++i)
      features += fmt::format("{},0.25,-1e-3\n", i), years += fmt::format("{}\n", 2000 + i), labels += fmt::format("{}\n", i % 7);
    for (int i = 0; i < 700; ++i) edge_years += fmt::format("{}\n", 1000 + i);
    put(root + "raw/node-feat/paper/node-feat.csv.gz", features);
    put(root + "raw/node-feat/paper/node_year.csv.gz", years);
    put(root + "raw/node-label/paper/node-label.csv.gz", labels);
    put(root + "raw/relations/paper___cites___paper/edge_year.csv.gz", edge_years);
    put(root + "raw/relations/paper___cites___paper/edge-feat.csv.gz", edge_years);
    put(root + "split/time/nodetype-has-split.csv.gz", "author,institution,paper\nFalse,False,True\n");
    put(root + "split/time/paper/train.csv.gz", "7\n3\n49\n");
    put(root + "split/time/paper/valid.csv.gz", "0\n");
    put(root + "split/time/paper/test.csv.gz", "1\n2\n");
  }
};

TEST_F(hetero, ogb_of_several_types) {
  make_mag();
  hetero_report const r = convert_hetero(at("mag"), at("mag.json"));
  EXPECT_THAT(r.notes, IsEmpty());
  hetero_graph const g = hetero_graph::open(at("mag.json"));
  ASSERT_EQ(g.types().size(), 3u);
  ASSERT_EQ(g.edges().size(), 3u);
  vertex_type const& paper = g.types()[g.type("paper")];
  EXPECT_EQ(paper.count, 50u);
  EXPECT_EQ(g.types()[g.type("institution")].count, 4u);
  EXPECT_FALSE(g.types()[g.type("author")].features || g.types()[g.type("author")].labels);
  EXPECT_THAT(shown(*paper.features), ::testing::StartsWith("<f4 (50, 3) 0 0.25 -0.001 1 0.25 -0.001"));
  EXPECT_THAT(shown(*paper.times), ::testing::StartsWith("<i8 (50) 2000 2001"));
  EXPECT_THAT(shown(*paper.labels), ::testing::StartsWith("<i8 (50, 1) 0 1 2 3 4 5 6 0"));
  EXPECT_EQ(shown(*paper.train), "<i8 (3) 7 3 49");
  EXPECT_EQ(shown(*paper.valid), "<i8 (1) 0");
  EXPECT_EQ(shown(*paper.test), "<i8 (2) 1 2");
  expect_edges(g, g.edge("author", "affiliated_with", "institution"), member);
  expect_edges(g, g.edge("author", "writes", "paper"), writes);
  std::size_t const c = g.edge("paper", "cites", "paper");
  expect_edges(g, c, cites);
  auto const ids = numbers(g.edges()[c].edge_ids), times = numbers(g.edges()[c].times);
  ASSERT_EQ(times.size(), 700u);
  for (std::size_t k = 0; k < 700; ++k) EXPECT_EQ(times[k], 1000 + ids[k]);
  EXPECT_THAT(shown(*g.edges()[c].features), ::testing::StartsWith("<f4 (700, 1) 1000 1001"));
  EXPECT_EQ(g.adjacency(0).info().vertices, 30u);
  EXPECT_THAT(error_of([&] { g.type("venue"); }), HasSubstr("has no vertices 'venue'; it has 'author', 'institution', 'paper'"));
  EXPECT_THAT(error_of([&] { g.edge("paper", "writes", "author"); }), HasSubstr("has no edges 'paper writes author'; it has 'author"));
  EXPECT_THAT(error_of([&] { g.adjacency(3); }), HasSubstr("edge type 3 of 3"));
  // The folders can move together.
  fs::create_directory(at("moved"));
  fs::rename(at("mag.json"), at("moved/mag.json"));
  fs::rename(at("mag.garner"), at("moved/mag.garner"));
  expect_edges(hetero_graph::open(at("moved/mag.json")), 0, member);
}

TEST_F(hetero, an_edge_type_without_edges) {
  make_mag();
  put("mag/raw/relations/paper___likes___author/edge.csv.gz", "");
  put("mag/raw/relations/paper___likes___author/num-edge-list.csv.gz", "0\n");
  convert_hetero(at("mag"), at("mag.json"));
  hetero_graph g = hetero_graph::open(at("mag.json"));
  expect_edges(g, g.edge("paper", "likes", "author"), {});
  hetero_graph const moved = std::move(g);
  EXPECT_EQ(moved.types().size(), 3u);
  EXPECT_THAT(error_of([&] { g.types(); }), HasSubstr("was moved elsewhere"));
}

TEST_F(hetero, edges_both_ways_and_packed) {
  make_mag();
  convert_hetero(at("mag"), at("both.json"), {.undirected = true, .compressed = true});
  hetero_graph const g = hetero_graph::open(at("both.json"));
  ASSERT_EQ(g.edges().size(), 5u);
  EXPECT_TRUE(g.adjacency(0).info().compressed);
  hetero_options how{.undirected = true, .id_bytes = 8};
  convert_hetero(at("mag"), at("wide.json"), how);
  hetero_graph const w = hetero_graph::open(at("wide.json"));
  expect_edges(w, w.edge("author", "writes", "paper"), writes);
  expect_edges(w, w.edge("paper", "rev_writes", "author"), writes, direction::reversed);
  std::size_t const c = w.edge("paper", "cites", "paper");
  expect_edges(w, c, cites, direction::both);
  EXPECT_GT(w.edges()[c].stored_edges, w.edges()[c].edges);
  EXPECT_EQ(numbers(w.edges()[c].times).size(), w.edges()[c].stored_edges);
  EXPECT_EQ(w.adjacency(0).info().id_bytes, 8u);
  how.compressed = true;
  EXPECT_THAT(error_of([&] { convert_hetero(at("mag"), at("x.json"), how); }), HasSubstr("compressed edges have ids of 4 bytes"));
}

TEST_F(hetero, ogb_of_one_type_as_text_and_as_archive) {
  put("arxiv/raw/edge.csv.gz", csv(cites));
  put("arxiv/raw/num-node-list.csv.gz", "50\n");
  put("arxiv/raw/num-edge-list.csv.gz", "700\n");
  std::string labels;
  for (int i = 0; i < 50; ++i) labels += i == 3 ? "nan\n" : fmt::format("{}\n", i);
  put("arxiv/raw/node-label.csv.gz", labels);
  put("arxiv/split/time/train.csv.gz", "4\n");
  put("arxiv/processed/pre_processed", "");
  convert_hetero(at("arxiv"), at("arxiv.json"));
  hetero_graph const g = hetero_graph::open(at("arxiv.json"));
  ASSERT_EQ(g.edges().size(), 1u);
  EXPECT_EQ(name_of(g.edges()[0]), "node to node");
  expect_edges(g, 0, cites);
  // Its graph file alone is the graph of these edges.
  fs::path const file = g.edges()[0].adjacency;
  EXPECT_TRUE(g.adjacency(0).info().reversed && read_header(file).info.reversed);
  graph_handle const alone = open_graph(file);
  EXPECT_TRUE(alone.info().in_edges && !alone.info().reversed);
  std::vector<edge> edges;
  for (arc const& e : cites) edges.push_back({e.source, e.target});
  build_options all;
  all.keep_duplicates = all.keep_loops = all.in_edges = true;
  EXPECT_EQ(digest_of(alone), digest_of(build_graph({.edges = edges, .vertices = 50}, all)));
  expect_edges(hetero_graph::open(at("arxiv.json"), [](fs::path const& lists) { return open_graph(lists); }), 0, cites);
  open_options outwards;
  outwards.in_edges = false;
  EXPECT_THAT(error_of([&] { hetero_graph::open(at("arxiv.json"), [&](fs::path const& lists) { return open_graph(lists, outwards); }); }),
              HasSubstr("was opened without its in-edges"));
  EXPECT_THAT(shown(*g.types()[0].labels), ::testing::StartsWith("<f4 (50, 1) 0 1 2 nan 4")) << "what is not there keeps them real";
  EXPECT_FALSE(g.types()[0].valid);

  std::vector<float> rows(150, 0.5f);
  std::vector<std::int64_t> years(50, 2020);
  years[49] = 1999;
  for (bool const deflated : {false, true}) {
    put("papers/raw/data.npz", zipped({{"edge_index.npy", index(cites)},
                                       {"num_nodes_list.npy", npy<std::int64_t>("<i8", "(1,)", {50})},
                                       {"num_edges_list.npy", npy<std::int64_t>("<i8", "(1,)", {700})},
                                       {"node_feat.npy", npy("<f4", "(50, 3)", rows)},
                                       {"node_year.npy", npy("<i8", "(50, 1)", years)}},
                                      deflated, true));
    put("papers/raw/node-label.npz", zipped({{"node_label.npy", npy("<f4", "(50, 1)", std::vector<float>(50, 7))}}, deflated, true));
    put("papers/split/time/train.csv.gz", "4\n");
    put("papers/split/time/valid.csv.gz", "5\n");
    put("papers/split/time/test.csv.gz", "6\n");
    std::string const name = deflated ? "deflated.json" : "stored.json";
    convert_hetero(at("papers"), at(name));
    hetero_graph const p = hetero_graph::open(at(name));
    expect_edges(p, 0, cites);
    EXPECT_THAT(shown(*p.types()[0].features), ::testing::StartsWith("<f4 (50, 3) 0.5 0.5"));
    EXPECT_THAT(shown(*p.types()[0].times), ::testing::EndsWith("2020 1999"));
    EXPECT_THAT(shown(*p.types()[0].labels), ::testing::StartsWith("<f4 (50, 1) 7 7"));
    EXPECT_EQ(numbers(p.types()[0].test), (std::vector<std::int64_t>{6}));
    EXPECT_FALSE(fs::exists(at(deflated ? "deflated.garner/edge_index.npy" : "stored.garner/edge_index.npy")));
  }
}

// A dictionary as torch.save writes it, by protocol 2.
std::string pickled(std::vector<std::pair<std::string, std::uint32_t>> const& counts) {
  std::string code("\x80\x02}q\x00(", 6);
  unsigned char memo = 1;
  for (auto const& [name, n] : counts) {
    code += 'X', handmade::append(code, static_cast<std::uint32_t>(name.size())), code += name, code += 'q',
        code += static_cast<char>(memo++);
    if (n < 256) code += 'K', code += static_cast<char>(n);
    else if (n < 65536) code += 'M', handmade::append(code, static_cast<std::uint16_t>(n));
    else code += 'J', handmade::append(code, n);
  }
  return code + "u.";
}

TEST_F(hetero, mag240m) {
  put("mag240m/meta.pt",
      zipped({{"archive/data.pkl", pickled({{"paper", 50}, {"author", 70000}, {"institution", 260}})}, {"archive/version", "3\n"}}));
  put("mag240m/processed/author___writes___paper/edge_index.npy", index(writes));
  put("mag240m/processed/paper___cites___paper/edge_index.npy", index(cites));
  put("mag240m/processed/author___affiliated_with___institution/edge_index.npy", index(member));
  std::string features = npy("<f2", "(50, 2)", std::vector<std::uint16_t>(100, 0x3c00));
  put("mag240m/processed/paper/node_feat.npy", features);
  put("mag240m/processed/paper/node_label.npy", npy("<f4", "(50,)", std::vector<float>(50, 1)));
  put("mag240m/processed/paper/node_year.npy", npy("<i2", "(50,)", std::vector<std::int16_t>(50, 2021)));
  put("mag240m/split_dict.pt", "no matter");
  hetero_report const r = convert_hetero(at("mag240m"), at("mag240m.json"));
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_THAT(r.notes[0], HasSubstr("split_dict.pt: is a pickle, which is not read"));
  hetero_graph const g = hetero_graph::open(at("mag240m.json"));
  EXPECT_EQ(g.types()[g.type("author")].count, 70000u) << "more than have an edge";
  EXPECT_EQ(g.types()[g.type("institution")].count, 260u);
  vertex_type const& paper = g.types()[g.type("paper")];
  EXPECT_TRUE(fs::equivalent(*paper.features, at("mag240m/processed/paper/node_feat.npy"))) << "not copied";
  EXPECT_THAT(shown(*paper.times), ::testing::StartsWith("<i8 (50) 2021"));
  expect_edges(g, g.edge("author", "writes", "paper"), writes);
  expect_edges(g, g.edge("paper", "cites", "paper"), cites);
  expect_edges(g, g.edge("author", "affiliated_with", "institution"), member);
  EXPECT_THAT(bytes_of(at("mag240m.json")), HasSubstr("\"features\": \"mag240m/processed/paper/node_feat.npy\""));
  // From another module, by its full name.
  fs::create_directory(at("elsewhere"));
  convert_hetero(at("mag240m"), at("elsewhere/m.json"));
  EXPECT_TRUE(read_dataset(at("elsewhere/m.json")).types[1].count);

  auto const refused = [&](std::string const& code) {
    put("meta.pt", zipped({{"archive/data.pkl", code}}));
    return error_of([&] { read_counts(at("meta.pt")); });
  };
  put("mag240m/num-node-dict.csv", "paper,author,institution\n50,30,5\n");
  put("mag240m/meta.pt", "of a torch that is older");
  put("mag240m/processed/paper/train.npy", npy<std::int64_t>("<i8", "(1,)", {4}));
  put("mag240m/processed/paper/test-whole.npy", npy<std::int64_t>("<i8", "(1,)", {5}));
  hetero_report const again = convert_hetero(at("mag240m"), at("again.json"));
  EXPECT_THAT(again.notes, IsEmpty());
  EXPECT_EQ(again.made.types[1].count, 5u);
  EXPECT_EQ(numbers(again.made.types[2].test), (std::vector<std::int64_t>{5}));
  EXPECT_THAT(refused("\x80\x02"
                      "cposix\nsystem\n."),
              HasSubstr("its data.pkl holds something else"));
  EXPECT_THAT(refused("}(X"), HasSubstr("cut"));
  EXPECT_THAT(refused("."), HasSubstr("not such a dictionary"));
  EXPECT_THAT(refused("}(K\x01u."), HasSubstr("not such a dictionary"));
  put("meta.pt", zipped({{"archive/x", ""}}));
  EXPECT_THAT(error_of([&] { read_counts(at("meta.pt")); }), HasSubstr("holds no data.pkl"));
}

TEST_F(hetero, igb) {
  pairs const square{{3, 1}, {2, 0}};
  put("igb/processed/paper__cites__paper/edge_index.npy", index(cites, false));
  put("igb/processed/paper__written_by__author/edge_index.npy", index(square, false));
  put("igb/processed/author__affiliated_to__institute/edge_index.npy", index(member, false));
  put("igb/processed/paper/node_feat.npy", npy("<f4", "(50, 2)", std::vector<float>(100)));
  put("igb/processed/paper/node_label_19.npy", npy("<f4", "(50,)", std::vector<float>(50, 18)));
  put("igb/processed/paper/node_label_2K.npy", npy("<f4", "(50,)", std::vector<float>(50, 1999)));
  put("igb/processed/paper/paper_id_index_mapping.npy", "whatever");
  put("igb/processed/paper/train.npy", npy<std::int32_t>("<i4", "(2,)", {49, 0}));
  put("igb/processed/author/node_feat.npy", npy("<f4", "(30, 2)", std::vector<float>(60)));
  hetero_report const r = convert_hetero(at("igb"), at("igb.json"));
  EXPECT_THAT(r.notes, ElementsAre(HasSubstr("19 classes are taken"), HasSubstr("institute: no file counts its vertices; 4")));
  hetero_graph const g = hetero_graph::open(at("igb.json"));
  expect_edges(g, g.edge("paper", "cites", "paper"), cites);
  expect_edges(g, g.edge("paper", "written_by", "author"), square);
  expect_edges(g, g.edge("author", "affiliated_to", "institute"), member);
  EXPECT_EQ(shown(*g.types()[g.type("paper")].train), "<i8 (2) 49 0");
  EXPECT_TRUE(fs::equivalent(*g.types()[g.type("paper")].labels, at("igb/processed/paper/node_label_19.npy")));
}

TEST_F(hetero, a_lone_index_and_what_lies_beside_it) {
  put("one/edge_index.npy", index({{1, 0}, {2, 2}}));
  put("one/node_feat.npy", npy("<f4", "(5, 1)", std::vector<float>(5)));
  put("one/train.npy", npy<std::int64_t>("<i8", "(1,)", {4}));
  hetero_report const r = convert_hetero(at("one"), at("one.json"));
  EXPECT_THAT(r.notes, ElementsAre(HasSubstr("of shape (2, 2) it could be either; read as (2, E)")));
  hetero_graph const g = hetero_graph::open(at("one.json"));
  EXPECT_EQ(g.types()[0].count, 5u);
  expect_edges(g, 0, {{1, 0}, {2, 2}});
  put("none/edge_index.npy", index({}));
  convert_hetero(at("none"), at("none.json"));
  EXPECT_EQ(hetero_graph::open(at("none.json")).types()[0].count, 0u);
}

TEST_F(hetero, a_graph_is_one_of_one_type) {
  hetero_graph const g(generate_graph({generator::kron, 6, 4, 1, {}}), "page", "links");
  EXPECT_EQ(g.types()[0].name, "page");
  EXPECT_EQ(g.types()[0].count, 64u);
  EXPECT_EQ(g.edge("page", "links", "page"), 0u);
  EXPECT_EQ(g.edges()[0].stored_edges, g.adjacency(0).info().edges);
}

// --- errors ------------------------------------------------------------------------------------------------------------------------------

TEST_F(hetero, a_folder_that_is_wrong_leaves_nothing) {
  auto const said = [&](std::function<void()> const& spoil) {
    fs::remove_all(at("mag"));
    make_mag();
    spoil();
    std::string const what = error_of([&] { convert_hetero(at("mag"), at("mag.json")); });
    EXPECT_FALSE(fs::exists(at("mag.json")) || fs::exists(at("mag.garner"))) << what;
    return what;
  };
  auto const put_anew = [&](std::string const& name, std::string const& text) { return [=, this] { put("mag/" + name, text); }; };
  auto const gone = [&](std::string const& name) { return [=, this] { fs::remove_all(at("mag/" + name)); }; };
  EXPECT_THAT(said(put_anew("raw/relations/author___writes___paper/edge.csv.gz", "0,0\n30,1\n")),
              HasSubstr("author___writes___paper/edge.csv.gz: edge 1: 30 -> 1: author 30 does not exist; of 30"));
  EXPECT_THAT(said(put_anew("raw/relations/author___writes___paper/edge.csv.gz", "0,0,1\n")), HasSubstr("has 3 columns"));
  EXPECT_THAT(said(put_anew("raw/relations/author___writes___venue/edge.csv.gz", "0,0\n")),
              HasSubstr("num-node-dict.csv.gz has no vertices 'venue'"));
  EXPECT_THAT(said(put_anew("raw/relations/author_writes/edge.csv.gz", "0,0\n")), HasSubstr("is not named FROM___RELATION___TO"));
  EXPECT_THAT(said(gone("raw/relations/author___writes___paper/edge.csv.gz")), HasSubstr("holds no edge.csv.gz"));
  EXPECT_THAT(said(gone("raw/num-node-dict.csv.gz")), HasSubstr("num-node-dict.csv.gz: cannot be opened"));
  EXPECT_THAT(said(put_anew("raw/num-node-dict.csv.gz", "author,institution,paper\n30,4,50\n30,4,50\n")), HasSubstr("describes 2 graphs"));
  EXPECT_THAT(said(put_anew("raw/num-node-dict.csv.gz", "author,institution,paper\n30,4\n")), HasSubstr("is not a line of names above"));
  EXPECT_THAT(said(put_anew("raw/num-node-dict.csv.gz", "author,institution,paper\n30,x,50\n")), HasSubstr("'institution' has x vertices"));
  EXPECT_THAT(said(put_anew("raw/relations/author___affiliated_with___institution/num-edge-list.csv.gz", "61\n")),
              HasSubstr("has 60 edges, and the dataset counts 61"));
  EXPECT_THAT(said(gone("raw/node-label/paper/node-label.csv.gz")), HasSubstr("'paper' has labels, says nodetype-has-label.csv.gz"));
  EXPECT_THAT(said(put_anew("raw/node-feat/paper/node-feat.csv.gz", "1,2\n3,4\n")), HasSubstr("node-feat.csv.gz: has 2 rows for 50 paper"));
  EXPECT_THAT(said(put_anew("raw/node-feat/paper/node-feat.csv.gz", "1,2\n3\n")),
              HasSubstr("line 2, byte 4: 1 columns where the first row has 2"));
  EXPECT_THAT(said(put_anew("raw/node-feat/paper/node-feat.csv.gz", "1,2\n3,x\n")), HasSubstr("line 2, byte 6: 'x' is not a number"));
  EXPECT_THAT(said(put_anew("raw/node-feat/paper/node_year.csv.gz", "1.5\n")), HasSubstr("'1.5' is not a whole number"));
  EXPECT_THAT(said(put_anew("split/time/paper/train.csv.gz", "1\n50\n")), HasSubstr("train.csv.gz: row 1 is 50; paper 50 does not exist"));
  EXPECT_THAT(said(put_anew("raw/relations/paper___cites___paper/edge_year.csv.gz", "1\n")),
              HasSubstr("edge_year.csv.gz: has 1 rows for 700 edges"));
  EXPECT_THAT(said(put_anew("split/random/paper/train.csv.gz", "1\n")),
              HasSubstr("split/ has 2 folders: random, time; name which one with --split"));
  convert_hetero(at("mag"), at("random.json"), {.split = "random"});
  EXPECT_EQ(shown(*read_dataset(at("random.json")).types[2].train), "<i8 (1) 1");
  EXPECT_THAT(error_of([&] { convert_hetero(at("mag"), at("x.json"), {.split = "scaffold"}); }),
              HasSubstr("has no folder 'scaffold'; it has random, time"));
  EXPECT_THAT(error_of([&] { convert_hetero(at("none"), at("x.json")); }), HasSubstr("is not a folder"));
  fs::create_directory(at("empty"));
  EXPECT_THAT(error_of([&] { convert_hetero(at("empty"), at("x.json")); }), HasSubstr("no layout of a data set; looked for relations/"));
  EXPECT_THAT(error_of([&] { convert_hetero(at("mag"), at("x.gnr")); }), HasSubstr("ends in .json"));
  EXPECT_THAT(error_of([&] { convert_hetero(at("mag"), at("nowhere/x.json")); }), HasSubstr("cannot be written"));
  fs::create_directory(at("x.garner"));
  std::ofstream(at("x.garner/kept")) << "mine";
  EXPECT_THAT(error_of([&] { convert_hetero(at("mag"), at("x.json"), {.split = "time"}); }),
              HasSubstr("x.garner: is there already; remove it"));
  EXPECT_TRUE(fs::exists(at("x.garner/kept")));
}

TEST_F(hetero, memory_that_a_budget_refuses_leaves_nothing) {
  put("one/edge_index.npy", index(draw(200000, 1000, 1000, 9)));
  std::uint64_t const before = host_budget().limit(), used = host_budget().used();
  host_budget().set_limit(used + 400000);
  errc code{};
  error_of([&] { convert_hetero(at("one"), at("one.json")); }, &code);
  host_budget().set_limit(before);
  EXPECT_EQ(code, errc::memory);
  EXPECT_EQ(host_budget().used(), used);
  EXPECT_FALSE(fs::exists(at("one.json")) || fs::exists(at("one.garner")));
}

TEST_F(hetero, a_manifest_that_is_wrong_is_refused_by_key) {
  make_mag();
  convert_hetero(at("mag"), at("mag.json"));
  std::string const right = bytes_of(at("mag.json"));
  EXPECT_EQ(manifest_text(read_dataset(at("mag.json")), at("mag.json")), right);
  auto const said = [&](std::string const& what, std::string const& with) {
    std::string text = right;
    std::size_t const where = text.find(what);
    EXPECT_NE(where, text.npos) << what;
    text.replace(where, what.size(), with);
    put("wrong.json", text);
    errc code{};
    std::string const words = error_of([&] { hetero_graph::open(at("wrong.json")); }, &code);
    EXPECT_TRUE(code == errc::input || code == errc::io) << words;
    EXPECT_THAT(words, ::testing::StartsWith(at("wrong.json").string() + ": "));
    return words.substr(at("wrong.json").string().size() + 2);
  };
  EXPECT_THAT(said("{", "["), HasSubstr("is not JSON there"));
  EXPECT_THAT(said("\"garner\": 1", "\"garner\": 2"), HasSubstr("garner: is 2; this Garner reads dataset files of version 1"));
  EXPECT_EQ(said("\"garner\": 1,", ""), "garner: is missing");
  EXPECT_THAT(said("\"garner\": 1", "\"garner\": 1, \"colour\": 2"),
              HasSubstr("colour: is not a known key; a dataset file has garner, vertices, edges"));
  EXPECT_THAT(said("\"count\": 30", "\"count\": 30, \"weight\": 1"), HasSubstr("vertices[0].weight: is not a known key; it has name"));
  EXPECT_EQ(said("\"count\": 30", "\"count\": -1"), "vertices[0].count: is -1 and not a whole number from 0 up");
  EXPECT_THAT(said("\"count\": 30", "\"count\": 2e999"), HasSubstr("holds a number beyond what a number can be"));
  EXPECT_EQ(said("\"count\": 30", "\"count\": 30, \"count\": 31"), "the key \"count\" stands twice in one object");
  EXPECT_EQ(said("\"name\": \"author\"", "\"name\": \"paper\""), "vertices[2].name: 'paper' stands twice");
  EXPECT_EQ(said("\"name\": \"author\"", "\"name\": \"\""), "vertices[0].name: is \"\" and not a text");
  EXPECT_THAT(said("\"from\": \"author\"", "\"from\": \"venue\""),
              HasSubstr("edges[0].from: no vertices are called 'venue'; there are 'author'"));
  EXPECT_THAT(said("\"to\": \"institution\"", "\"to\": \"paper\""), HasSubstr("edges 'author affiliated_with paper': lists: "));
  EXPECT_THAT(
      said("\"relation\": \"writes\",\n      \"to\": \"paper\"", "\"relation\": \"affiliated_with\",\n      \"to\": \"institution\""),
      HasSubstr("edges[1]: 'author affiliated_with institution' stands twice"));
  EXPECT_THAT(said("\"count\": 4\n", "\"count\": 31\n"), HasSubstr("has 30 vertices for 30 of 'author' and 31 of 'institution'"));
  EXPECT_THAT(said("\"count\": 4\n", "\"count\": 3\n"), HasSubstr("edges are of vertices beyond the 3 of 'institution'"));
  EXPECT_THAT(said("\"count\": 30\n", "\"count\": 29\n"), HasSubstr("has 30 vertices for 29 of 'author'"));
  EXPECT_THAT(said("\"count\": 50", "\"count\": 49"), HasSubstr("vertices 'paper': features: "));
  EXPECT_THAT(said("\"arcs\": 60", "\"arcs\": 61, \"edges\": 60"), HasSubstr("has 60 rows for 61 arcs"));
  EXPECT_THAT(said("mag.garner/author___affiliated_with___institution.gnr", "mag.garner/author___writes___paper.gnr"),
              HasSubstr("has 50 vertices for 30 of 'author' and 4 of 'institution'"));
  EXPECT_THAT(said("mag.garner/author___affiliated_with___institution.gnr", "nowhere.gnr"), HasSubstr("nowhere.gnr: cannot be opened"));
  EXPECT_THAT(said("mag.garner/paper.features.npy", "mag.garner/nowhere.npy"), HasSubstr("vertices 'paper': features: "));
  EXPECT_THAT(said("mag.garner/paper.train.npy", "mag.garner/paper.times.npy"), HasSubstr("train: "));
  EXPECT_THAT(said("mag.garner/paper.times.npy", "mag.garner/paper.features.npy"), HasSubstr("times: "));
  // Neighbors that do not exist in their type: the counts alone do not reveal it.
  graph lists = make_relation(some_edges({{40, 3}}), {"a", "b", 50, 50}, direction::pulled).lists;
  save_graph(lists, at("beyond.gnr"));
  std::string const author = R"({"garner": 1, "vertices": [{"name": "a", "count": 30}, {"name": "b", "count": 50}], "edges": [
    {"from": "a", "relation": "r", "to": "b", "arcs": 1, "lists": "beyond.gnr"}]})";
  put("beyond.json", author);
  EXPECT_THAT(error_of([&] { hetero_graph::open(at("beyond.json")); }), HasSubstr("beyond.gnr: edge 0 leads beyond the 30 of 'a'"));
}

}  // namespace
}  // namespace garner

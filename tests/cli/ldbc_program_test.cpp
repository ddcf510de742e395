// An LDBC Graphalytics graph through the program: .v and .e in, the four algorithms, result files in the benchmark's format. The two
// example graphs of the benchmark have published results; the benchmark allows a relative difference of 1e-4 for reals.
#include <map>

#include "cli/program.hpp"

namespace garner::testing {
namespace {

struct example {
  std::string name, properties, vertices, edges;
  std::uint64_t source;
  std::map<std::uint64_t, double> depth, distance, rank;  // unreached vertices are absent
};

// NAME's result in the benchmark's format: one id and value per line.
std::map<std::uint64_t, std::string> rows(folder const& at, std::string const& name) {
  std::map<std::uint64_t, std::string> all;
  std::istringstream lines(read_text(at / name));
  std::uint64_t v = 0, last = 0;
  for (std::string value; lines >> v >> value; last = v) {
    EXPECT_TRUE(all.empty() || last < v) << name << ": rows ascend";
    all[v] = value;
  }
  EXPECT_TRUE(lines.eof()) << name;
  return all;
}

class ldbc_example : public ::testing::TestWithParam<example> {};

TEST_P(ldbc_example, has_its_published_answers) {
  example const& x = GetParam();
  folder const at;
  at.write("x.v", x.vertices);
  at.write("x.e", x.edges);
  at.write("x.properties", x.properties);
  outcome const made = at.shell("garner convert x.e x.gnr --in-edges");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out.find("note:"), std::string::npos) << made.out;
  for (std::string const more : {"", " --device simulated"}) {
    SCOPED_TRACE(x.name + more);
    std::string const from = " --verify --source " + std::to_string(x.source) + more;
    for (std::string const& line : {"garner bfs x.gnr --out BFS --format ldbc" + from, "garner sssp x.gnr --out SSSP --format ldbc" + from,
                                    "garner components x.gnr --out WCC --format ldbc --verify" + more,
                                    "garner pagerank x.gnr --out PR --format ldbc --iterations 2 --damping 0.85 --verify" + more}) {
      outcome const o = at.shell(line);
      ASSERT_EQ(o.code, 0) << line << ": " << o.err;
    }
    auto const bfs = rows(at, "BFS"), sssp = rows(at, "SSSP"), wcc = rows(at, "WCC"), pr = rows(at, "PR");
    ASSERT_EQ(pr.size(), x.rank.size());
    for (auto const* all : {&bfs, &sssp, &wcc}) ASSERT_EQ(all->size(), pr.size());
    for (auto const& [v, rank] : x.rank) {
      EXPECT_NEAR(std::stod(pr.at(v)) / rank, 1, 1e-4) << v;
      EXPECT_EQ(pr.at(v).size(), 21u) << "written as 1.234567890123456e-01: " << pr.at(v);
      EXPECT_EQ(bfs.at(v), x.depth.count(v) ? std::to_string(static_cast<int>(x.depth.at(v))) : "9223372036854775807") << v;
      if (x.distance.count(v)) EXPECT_NEAR(std::stod(sssp.at(v)), x.distance.at(v), 1e-4 * x.distance.at(v)) << v;
      else EXPECT_EQ(sssp.at(v), "Infinity");
      EXPECT_EQ(wcc.at(v), wcc.begin()->second) << "both graphs are of one piece";
    }
  }
}

std::string described(std::string const& directed) {
  return "graph.x.vertex-file = x.v\ngraph.x.directed = " + directed +
         "\ngraph.x.edge-properties.names = weight\ngraph.x.edge-properties.types = real\n";
}

INSTANTIATE_TEST_SUITE_P(
    of, ldbc_example,
    ::testing::Values(
        example{"directed",
                described("true"),
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
                "1 3 0.5\n1 5 0.3\n2 4 0.1\n2 5 0.3\n2 10 0.12\n3 1 0.53\n3 5 0.62\n3 8 0.21\n3 10 0.52\n5 3 0.69\n5 4 0.53\n5 8 0.1\n"
                "6 3 0.23\n6 4 0.39\n7 4 0.83\n8 1 0.39\n9 4 0.69\n",
                1,
                {{1, 0}, {3, 1}, {4, 2}, {5, 1}, {8, 2}, {10, 2}},
                {{1, 0}, {3, 0.5}, {4, 0.83}, {5, 0.3}, {8, 0.4}, {10, 1.02}},
                {{1, 0.1477629166666667},
                 {2, 0.04753375},
                 {3, 0.1550469444444444},
                 {4, 0.1597573611111111},
                 {5, 0.14624},
                 {6, 0.04753375},
                 {7, 0.04753375},
                 {8, 0.1135740277777778},
                 {9, 0.04753375},
                 {10, 0.08748375}}},
        example{"undirected",
                described("false"),
                "2\n3\n4\n5\n6\n7\n8\n9\n10\n",
                "2 3 0.9\n2 4 0.69\n3 4 0.13\n3 5 0.5\n3 8 0.32\n5 6 0.63\n5 8 0.12\n6 7 0.53\n6 8 0.64\n6 9 0.23\n6 10 0.63\n7 9 0.36\n",
                2,
                {{2, 0}, {3, 1}, {4, 1}, {5, 2}, {6, 3}, {7, 4}, {8, 2}, {9, 4}, {10, 4}},
                {{2, 0}, {3, 0.82}, {4, 0.69}, {5, 1.26}, {6, 1.78}, {7, 2.31}, {8, 1.14}, {9, 2.01}, {10, 2.41}},
                {{2, 0.09084490740740739},
                 {3, 0.1424089506172839},
                 {4, 0.09084490740740739},
                 {5, 0.1249891975308642},
                 {6, 0.1686172839506173},
                 {7, 0.09749537037037037},
                 {8, 0.1249891975308642},
                 {9, 0.09749537037037037},
                 {10, 0.06231481481481481}}}),
    [](auto const& info) { return info.param.name; });

TEST(ldbc_program, sparse_ids_and_lonely_vertices_come_through) {
  folder const at;
  at.write("g.v", "900000000000\n5\n12\n7000000000\n");
  at.write("g.e", "7000000000 12 0.25\n");
  outcome const made = at.shell("garner convert g.v g.gnr --undirected");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("ids: as they were, by a map"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("4 vertices, 2 edges"), std::string::npos) << made.out;
  outcome const o = at.shell(
      "garner bfs g.gnr --source 12 --out d --format ldbc && cat d && garner sssp g.gnr --source 12 --out s --format ldbc && "
      "cat s && garner components g.gnr --out c --format ldbc && cat c");
  ASSERT_EQ(o.code, 0) << o.err;
  for (char const* part :
       {"d: depth of every vertex\n5 9223372036854775807\n12 0\n7000000000 1\n900000000000 9223372036854775807\n",
        "s: distance of every vertex\n5 Infinity\n12 0.000000000000000e+00\n7000000000 2.500000000000000e-01\n900000000000 Infinity\n",
        "5 5\n12 12\n7000000000 12\n900000000000 900000000000\n"})
    EXPECT_NE(o.out.find(part), std::string::npos) << o.out;
}

TEST(result_files, are_chosen_by_ending_or_format) {
  folder const at;
  at.write("g.wel", "10 20 3\n20 30 4\n40 10 1\n");
  ASSERT_EQ(at.shell("garner convert g.wel g.gnr --compact --in-edges").code, 0);
  outcome const o = at.shell(
      "garner bfs g.gnr --source 10 --out d.tsv && garner sssp g.gnr --source 10 --out s.tsv && garner components g.gnr --out c.x "
      "--format tsv && garner pagerank g.gnr --out p.npy && garner bfs g.gnr --source 10 --out d.npy");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_text(at / "d.tsv"), "vertex\tdepth\tparent\n10\t0\t10\n20\t1\t10\n30\t2\t20\n40\t-1\t-1\n");
  EXPECT_EQ(read_text(at / "s.tsv"), "vertex\tdistance\tparent\n10\t0\t10\n20\t3\t10\n30\t7\t20\n40\tinfinity\t-1\n");
  EXPECT_EQ(read_text(at / "c.x"), "vertex\tcomponent\n10\t10\n20\t10\n30\t10\n40\t10\n");
  for (char const* name : {"p.npy", "p.vertex.npy", "d.npy", "d.vertex.npy", "d.parent.npy"})
    EXPECT_EQ(read_text(at / name).substr(1, 5), "NUMPY") << name;
  EXPECT_FALSE(std::filesystem::exists(at / "p.parent.npy"));
  EXPECT_EQ(read_text(at / "d.npy").size(), 128u + 4 * 4);
}

TEST(result_files, as_numpy_reads_them) {
  if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "needs Python with numpy";
  folder const at;
  at.write("g.wel", "10 20 0.5\n20 30 4\n40 10 1\n");
  ASSERT_EQ(
      at.shell("garner convert g.wel g.gnr --compact --in-edges && garner sssp g.gnr --source 10 --out s.npy && garner pagerank g.gnr "
               "--out p.npy")
          .code,
      0);
  outcome const o = at.shell(
      "python3 -c 'import numpy as n\n"
      "for f in \"s\", \"s.parent\", \"s.vertex\": a = n.load(f + \".npy\", mmap_mode=\"r\"); print(a.dtype, a.tolist())\n"
      "print(abs(n.load(\"p.npy\").sum() - 1) < 1e-6)'");
  EXPECT_EQ(o.out, "float32 [0.0, 0.5, 4.5, inf]\nuint64 [10, 10, 20, 18446744073709551615]\nuint64 [10, 20, 30, 40]\nTrue\n") << o.err;
}

TEST(result_files, that_cannot_be_are_refused_before_the_job) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 8 --random-weights 1:9 k.gnr && mkdir d.parent.npy").code, 0);
  struct wrong {
    char const *more, *says;
    int code;
  };
  for (std::string const verb : {"bfs", "sssp", "components", "pagerank"})
    for (wrong const& w : {wrong{"--out o --format csv", "use text, tsv, npy, ldbc", 2}, wrong{"--format tsv", "--out", 2},
                           wrong{"--out o.npy.gz", "drop the ending .gz", 2}, wrong{"--out d.npy", "is a folder", 1},
                           wrong{"--out no/such/o.tsv", "cannot be written", 1}}) {
      outcome const o = at.shell("garner " + verb + " k.gnr " + w.more);
      EXPECT_EQ(o.code, w.code) << verb << " " << w.more << ": " << o.err;
      expect_one_line(o.err);
      EXPECT_NE(o.err.find(w.says), std::string::npos) << o.err;
      EXPECT_EQ(o.out, "");
    }
  // A full disk leaves none of a set of files.
  std::vector<std::string> const before = at.names();
  ASSERT_EQ(at.shell("garner generate kron --scale 14 --random-weights 1:9 k.gnr").code, 0);
  for (std::string const line : {"garner bfs k.gnr --out o.npy", "garner sssp k.gnr --out o.tsv"}) {
    outcome const o = at.shell(line, {.file_bytes = 100'000, .address_bytes = {}, .interrupt_after = {}});
    EXPECT_EQ(o.code, 1) << line;
    expect_one_line(o.err);
    EXPECT_EQ(at.names(), before) << line;
  }
}

}  // namespace
}  // namespace garner::testing

// `garner pagerank`: JSON, the file of ranks, rejected options, real graphs.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

json ranks_of(folder const& at, std::string const& arguments) {
  outcome const o = at.shell("garner pagerank " + arguments + " --json --verify");
  EXPECT_EQ(o.code, 0) << o.err;
  return o.code == 0 ? json::parse(o.out) : json();
}

TEST(pagerank_program, json_and_file) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 10 k.gnr").code, 0);
  json const all = ranks_of(at, "k.gnr --iterations 20 --out r.txt");
  for (char const* key :
       {"file",      "vertices",  "edges",     "directed", "device",           "tier",       "access",   "id_bytes",  "variant",
        "damping",   "tolerance", "dangling",  "personal", "state_bytes",      "checked",    "verified", "simulated", "iterations",
        "converged", "rank_sum",  "l1_change", "ms",       "ms_per_iteration", "bytes_link", "requests", "top",       "rounds"})
    EXPECT_TRUE(all.contains(key)) << key;
  EXPECT_EQ(all["iterations"], 20);
  EXPECT_EQ(all["rounds"].size(), 20u);
  EXPECT_EQ(all["top"].size(), 10u);
  EXPECT_EQ(all["verified"], true);
  EXPECT_TRUE(all["bytes_link"].is_null());
  EXPECT_NEAR(all["rank_sum"].get<double>(), 1, 1e-6);
  std::istringstream lines(read_text(at / "r.txt"));
  std::string head;
  std::getline(lines, head);
  EXPECT_EQ(head, "# vertex rank");
  double sum = 0, rank = 0, most = 0;
  std::uint64_t v = 0, count = 0, best = 0;
  while (lines >> v >> rank) {
    EXPECT_EQ(v, count++);
    sum += rank;
    if (rank > most) most = rank, best = v;
  }
  EXPECT_EQ(count, 1024u);
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(all["top"][0]["vertex"], best);
  EXPECT_FLOAT_EQ(all["top"][0]["rank"].get<float>(), static_cast<float>(most));
}

TEST(pagerank_program, places_and_tiers) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate uniform --scale 10 u.gnr").code, 0);
  for (std::string const tier : {"host", "managed"}) {
    json const all = ranks_of(at, "u.gnr --device simulated --tier " + tier);
    EXPECT_EQ(all["access"], tier == "host" ? "aligned" : "paged");
    EXPECT_EQ(all["converged"], true);
    EXPECT_GT(all["bytes_link"].get<double>(), 0);
    EXPECT_NEAR(all["rank_sum"].get<double>(), 1, 1e-6);
    EXPECT_FALSE(all["rounds"][0]["l1_change"].is_null());
  }
  EXPECT_EQ(ranks_of(at, "u.gnr --iterations 3")["iterations"], 3);
  outcome const text = at.shell("garner pagerank u.gnr --rounds --verify");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("ranks sum to 1"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("verified"), std::string::npos);
}

TEST(pagerank_program, directed_graphs_are_pulled_along_in_lists_made_or_kept) {
  folder const at;
  at.write("d.el", "0 1\n1 2\n2 0\n3 0\n");
  ASSERT_EQ(at.shell("garner convert d.el d.gnr").code, 0);
  json const made = ranks_of(at, "d.gnr --tolerance 1e-6");
  EXPECT_TRUE(made["in_edges_built_ms"].is_number());
  ASSERT_EQ(at.shell("garner convert d.gnr in.gnr --in-edges").code, 0);
  json const all = ranks_of(at, "in.gnr --tolerance 1e-6");
  EXPECT_TRUE(all["in_edges_built_ms"].is_null());
  EXPECT_EQ(all["top"], made["top"]);
  EXPECT_EQ(all["top"][0]["vertex"], 0);
  EXPECT_NEAR(all["rank_sum"].get<double>(), 1, 1e-6);
  EXPECT_LT(ranks_of(at, "in.gnr --iterations 1 --dangling drop --damping 0.5")["rank_sum"].get<double>(), 1.0001);
}

TEST(pagerank_program, personal_start_and_what_is_refused) {
  folder const at;
  at.write("d.el", "10 11\n11 12\n12 10\n13 10\n");
  ASSERT_EQ(at.shell("garner convert d.el d.gnr --undirected").code, 0);
  at.write("p.txt", "# start\n13 2.5\n\n12\n");
  json const all = ranks_of(at, "d.gnr --personalization p.txt --damping 0.1");
  EXPECT_EQ(all["top"][0]["vertex"], 13);
  EXPECT_EQ(all["personal"], 2);
  for (std::string const bad : {"x", "12 x", "12 -1", "12 1 1", "12 0", "-1", "# none"}) {
    at.write("bad.txt", bad + "\n");
    outcome const o = at.shell("garner pagerank d.gnr --personalization bad.txt");
    EXPECT_EQ(o.code, 1) << bad;
    expect_one_line(o.err);
  }
  at.write("bad.txt", "99\n");
  EXPECT_NE(at.shell("garner pagerank d.gnr --personalization bad.txt").err.find("99"), std::string::npos);
  for (std::string const bad : {"--variant x", "--dangling x", "--damping 1", "--damping -1", "--tolerance 0", "--iterations 0",
                                "--device x", "--access merged", "--l2-bytes 1MiB", "--variant emogi"}) {
    outcome const o = at.shell("garner pagerank d.gnr " + bad);
    EXPECT_EQ(o.code, 2) << bad;
    expect_one_line(o.err);
  }
  outcome const o = at.shell("garner pagerank d.gnr --memory-limit 10");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("--memory-limit"), std::string::npos) << o.err;
}

TEST(pagerank_program, weights_are_used_where_that_is_said) {
  folder const at;
  at.write("w.wel", "0 1 8\n0 2 1\n1 0 1\n2 0 1\n");
  at.write("u.el", "0 1\n0 2\n1 0\n2 0\n");
  ASSERT_EQ(at.shell("garner convert w.wel w.gnr && garner convert w.wel p.gnr --in-edges --compress && garner convert u.el u.gnr").code,
            0);
  for (std::string const of : {"w.gnr", "p.gnr", "w.gnr --device simulated", "p.gnr --tier file"}) {
    json const alike = ranks_of(at, of), all = ranks_of(at, of + " --weighted --tolerance 1e-8");
    EXPECT_EQ(alike["weighted"], false);
    EXPECT_EQ(alike["top"][1]["rank"], alike["top"][2]["rank"]);
    EXPECT_EQ(all["weighted"], true);
    EXPECT_EQ(all["top"][1]["vertex"], 1);
    double const first = all["top"][0]["rank"], second = all["top"][1]["rank"], third = all["top"][2]["rank"];
    EXPECT_NEAR(second, 0.05 + 0.85 * 8 / 9 * first, 1e-6) << of;
    EXPECT_NEAR(third, 0.05 + 0.85 / 9 * first, 1e-6) << of;
  }
  EXPECT_NE(at.shell("garner pagerank w.gnr").out.find("; weights are not used (--weighted)"), std::string::npos);
  EXPECT_EQ(at.shell("garner pagerank w.gnr --weighted").out.find("weights are not used"), std::string::npos);
  EXPECT_EQ(at.shell("garner pagerank u.gnr").out.find("weights are not used"), std::string::npos);
  outcome o = at.shell("garner pagerank u.gnr --weighted");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("u.gnr: has no weights; "), std::string::npos) << o.err;
  o = at.shell("garner pagerank w.gnr --weighted --shards 2");
  EXPECT_EQ(o.code, 2);
  expect_one_line(o.err);
  json const plan = json::parse(at.shell("garner plan w.gnr --algorithm pagerank --weighted --device simulated --json").out);
  std::string rows = plan["memory"].dump();
  EXPECT_NE(rows.find("\"weights of in-edges\""), std::string::npos) << rows;
  EXPECT_EQ(at.shell("garner plan w.gnr --algorithm bfs --weighted --device cpu").code, 2);
}

TEST(pagerank_program, real_graph) {
  std::filesystem::path const data = std::filesystem::path(GARNER_SOURCE_DIR) / "../shared/data/facebook_combined";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "needs ../shared/data/facebook_combined";
  std::filesystem::path file;
  for (auto const& e : std::filesystem::directory_iterator(data))
    if (e.path().filename().string().find(".txt") != std::string::npos) file = e.path();
  folder const at;
  outcome const made = at.shell("garner convert '" + file.string() + "' f.gnr --undirected --skip-lines 1");
  ASSERT_EQ(made.code, 0) << made.err;
  // Adjacency in the file: the same ranks, bit by bit, uncompressed and compressed.
  ASSERT_EQ(at.shell("garner convert '" + file.string() + "' p.gnr --undirected --skip-lines 1 --compress").code, 0);
  for (std::string const name : {"f.gnr", "p.gnr"}) {
    json const home = ranks_of(at, name + " --tolerance 1e-6"), stay = ranks_of(at, name + " --tolerance 1e-6 --tier file --verify");
    EXPECT_EQ(stay["top"], home["top"]) << name;
    EXPECT_EQ(stay["iterations"], home["iterations"]) << name;
    EXPECT_GT(stay["adjacency_reads"]["bytes"], 0) << name;
    EXPECT_EQ(stay["verified"], true);
  }
}

}  // namespace
}  // namespace garner::testing

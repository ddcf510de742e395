// `garner components`: its JSON, its result file, its messages, and known figures of real graphs.
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

void generate(folder const& at) {
  outcome const o = at.shell("garner generate kron --scale 12 k.gnr");
  ASSERT_EQ(o.code, 0) << o.err;
}
json run(folder const& at, std::string const& more) {
  outcome const o = at.shell("garner components --json --verify " + more);
  EXPECT_EQ(o.code, 0) << o.err;
  return o.code ? json() : json::parse(o.out);
}

TEST(components_program, gives_the_same_answer_in_every_way) {
  folder const at;
  generate(at);
  json const plain = run(at, "k.gnr --out a.txt");
  EXPECT_TRUE(plain.at("verified"));
  EXPECT_GT(plain.at("components"), 1);
  EXPECT_TRUE(plain.at("runs").at(0).at("bytes_link").is_null());
  for (std::string const more : {"--device simulated", "--tier managed", "--first-neighbors 0", "--first-neighbors 5 --trials 3"}) {
    SCOPED_TRACE(more);
    json const j = run(at, "k.gnr --out b.txt " + more);
    EXPECT_EQ(j.at("components"), plain.at("components"));
    EXPECT_EQ(j.at("largest"), plain.at("largest"));
    EXPECT_EQ(read_text(at / "b.txt"), read_text(at / "a.txt"));
    EXPECT_EQ(j.at("runs").size(), more.find("trials") == std::string::npos ? 1u : 3u);
    EXPECT_EQ(j.at("runs").at(0).at("bytes_link").is_number(), more.find("simulated") != std::string::npos);
  }
}

TEST(components_program, its_json_has_these_keys) {
  folder const at;
  generate(at);
  json const j = run(at, "k.gnr --device simulated");
  for (char const* key :
       {"file",    "vertices",          "edges",           "directed",   "device",   "tier",        "access",      "id_bytes",
        "variant", "vertices_per_team", "first_neighbors", "slice",      "l2_bytes", "graph_cache", "host_budget", "state_bytes",
        "checked", "verified",          "simulated",       "components", "largest",  "ms_median",   "runs"})
    EXPECT_TRUE(j.contains(key)) << key;
  json const& r = j.at("runs").at(0);
  // The median of two runs is their mean.
  outcome const twice = at.shell("garner components k.gnr --trials 2 --json");
  ASSERT_EQ(twice.code, 0) << twice.err;
  json const both = json::parse(twice.out);
  double const first = both.at("runs").at(0).at("ms"), second = both.at("runs").at(1).at("ms");
  EXPECT_DOUBLE_EQ(both.at("ms_median").get<double>(), (first + second) / 2);
  for (char const* key :
       {"components", "largest", "edges", "ms", "bytes_link", "amplification", "overfetch", "requests", "verified", "phases"})
    EXPECT_TRUE(r.contains(key)) << key;
  ASSERT_EQ(r.at("phases").size(), 2u);
  std::uint64_t bytes = 0, edges = 0;
  for (json const& p : r.at("phases")) {
    bytes += p.at("bytes_link").get<std::uint64_t>();
    edges += p.at("edges").get<std::uint64_t>();
    EXPECT_TRUE(p.contains("vertices") && p.contains("ms") && p.contains("gbs"));
  }
  EXPECT_EQ(r.at("phases").at(0).at("phase"), "first neighbors");
  EXPECT_EQ(r.at("phases").at(1).at("phase"), "remaining");
  EXPECT_EQ(r.at("bytes_link"), bytes);
  EXPECT_EQ(r.at("edges"), edges);
}

TEST(components_program, speaks_in_the_users_ids) {
  folder const at;
  at.write("g.el", "4000000000 70\n70 9\n8 8\n100 3000000000\n");
  ASSERT_EQ(at.shell("garner convert g.el g.gnr --compact").code, 0);
  outcome const o = at.shell("garner components g.gnr --out c.txt --verify");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("3 components, the largest of 3 vertices"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("verified\n"), std::string::npos) << o.out;
  EXPECT_EQ(read_text(at / "c.txt"), "# vertex component\n8 8\n9 9\n70 9\n100 100\n3000000000 100\n4000000000 9\n");
}

TEST(components_program, refuses_what_cannot_be) {
  folder const at;
  generate(at);
  for (auto const& [line, words] : std::map<std::string, std::string>{
           {"k.gnr --variant louvain", "--variant louvain: use afforest"},
           {"k.gnr --trials 0", "1 or more"},
           {"k.gnr --first-neighbors 65", "0 to 64"},
           {"k.gnr --access paged", "--access belongs to garner-lab"},
           {"k.gnr --variant=emogi", "--variant emogi belongs to garner-lab"},
       }) {
    outcome const o = at.shell("garner components " + line);
    EXPECT_EQ(o.code, 2) << line;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find(words), std::string::npos) << o.err;
    EXPECT_EQ(o.out, "");
  }
  for (std::string const line : {"none.gnr", "k.gnr --memory-limit 64K", "k.gnr --out /no/such/folder/c.txt"}) {
    outcome const o = at.shell("garner components " + line);
    EXPECT_EQ(o.code, 1) << line;
    expect_one_line(o.err);
  }
  EXPECT_NE(at.shell("garner info --json").out.find("\"components\""), std::string::npos);
}

TEST(components_program, device_gives_what_the_host_gives) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  folder const at;
  generate(at);
  json const host = run(at, "k.gnr --out a.txt");
  for (std::string const tier : {"host", "device", "managed"}) {
    SCOPED_TRACE(tier);
    json const j = run(at, "k.gnr --device cuda --out b.txt --tier " + tier);
    EXPECT_EQ(j.at("components"), host.at("components"));
    EXPECT_EQ(j.at("largest"), host.at("largest"));
    EXPECT_EQ(read_text(at / "b.txt"), read_text(at / "a.txt"));
  }
}

// Known figures; the graphs are next to the repository or missing. Ids without edges are components of their own.
struct known {
  std::string file, options;
  std::uint64_t used, components, largest;
};
class real_components : public ::testing::TestWithParam<known> {};

TEST_P(real_components, have_their_known_figures) {
  known const& k = GetParam();
  std::filesystem::path const file = std::filesystem::path(GARNER_SOURCE_DIR) / "../shared/data" / k.file;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs ../shared/data/" << k.file;
  folder const at;
  outcome const c = at.shell("garner convert '" + file.string() + "' g.gnr " + k.options);
  ASSERT_EQ(c.code, 0) << c.err;
  for (std::string const more : {"", " --device simulated", " --tier file --verify", " --tier file --device simulated"}) {
    json const j = run(at, "g.gnr" + more);
    EXPECT_EQ(j.at("components").get<std::uint64_t>(), k.components + j.at("vertices").get<std::uint64_t>() - k.used) << more;
    EXPECT_EQ(j.at("largest"), k.largest) << more;
  }
}
INSTANTIATE_TEST_SUITE_P(of, real_components,
                         ::testing::Values(known{"soc-Epinions1/soc-Epinions1.txt.gz", "", 75879, 2, 75877},
                                           known{"soc-Epinions1/soc-Epinions1.txt.gz", "--undirected", 75879, 2, 75877},
                                           known{"web-NotreDame/web-NotreDame.txt.gz", "", 325729, 1, 325729},
                                           known{"web-NotreDame/web-NotreDame.txt.gz", "--undirected", 325729, 1, 325729},
                                           known{"wiki-Vote/wiki-Vote.txt", "", 7115, 24, 7066},
                                           known{"wiki-Vote/wiki-Vote.txt", "--undirected", 7115, 24, 7066},
                                           known{"email-Enron/email-Enron.txt", "--skip-lines 1", 36692, 1065, 33696},
                                           known{"facebook_combined/facebook_combined.txt", "--skip-lines 1 --undirected", 4039, 1, 4039},
                                           known{"USA-road-d.NY/USA-road-d.NY.gr.zst", "", 264346, 1, 264346},
                                           known{"USA-road-d.NY/USA-road-d.NY.gr.zst", "--undirected", 264346, 1, 264346}));

}  // namespace
}  // namespace garner::testing

// garner sssp from a user's view: JSON, files of paths, errors with advice, known figures of a road network.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

TEST(sssp_program, json_has_what_it_promises) {
  folder const at;
  for (std::string const weights : {"--random-weights 8:72", "--random-weights-f32 0:1"}) {
    ASSERT_EQ(at.shell("garner generate kron --scale 10 --id-bytes 8 k.gnr " + weights).code, 0);
    std::vector<json> sums;
    for (std::string const how : {"--device cpu", "--device simulated"}) {
      SCOPED_TRACE(weights + " " + how);
      outcome const o = at.shell("garner sssp k.gnr --trials 3 --verify --json " + how);
      ASSERT_EQ(o.code, 0) << o.err;
      json const j = json::parse(o.out);
      bool const simulated = j.at("device") == "simulated";
      EXPECT_EQ(j.at("weights"), weights.find("f32") == std::string::npos ? "u32" : "f32");
      EXPECT_EQ(j.at("variant"), "near-far");
      EXPECT_TRUE(j.at("delta").is_number());
      EXPECT_EQ(j.at("split_hubs"), true);
      EXPECT_EQ(j.at("join_adjacency"), simulated);
      EXPECT_EQ(j.at("verified"), true);
      for (char const* key : {"file", "vertices", "edges", "directed", "tier", "access", "id_bytes", "vertices_per_team", "slice",
                              "l2_bytes", "graph_cache", "host_budget", "state_bytes", "checked", "simulated"})
        EXPECT_TRUE(j.contains(key)) << key;
      ASSERT_EQ(j.at("runs").size(), 3u);
      json sum;
      for (json const& r : j.at("runs")) {
        for (char const* key : {"source", "reached", "edges", "distance_max", "distance_sum", "thresholds", "ms", "bytes_link",
                                "amplification", "overfetch", "requests", "verified", "rounds"})
          EXPECT_TRUE(r.contains(key)) << key;
        std::uint64_t edges = 0, bytes = 0;
        for (json const& l : r.at("rounds")) {
          edges += l.at("edges").get<std::uint64_t>();
          if (simulated) bytes += l.at("bytes_link").get<std::uint64_t>();
        }
        EXPECT_EQ(r.at("edges"), edges);
        EXPECT_EQ(r.at("bytes_link").is_null(), !simulated);
        if (simulated) {
          EXPECT_EQ(r.at("bytes_link"), bytes);
        }
        sum.push_back({r.at("reached"), r.at("distance_max"), r.at("distance_sum")});
      }
      sums.push_back(sum);
      EXPECT_EQ(sums.front(), sum) << "places differ";
    }
  }
}

TEST(sssp_program, writes_paths_that_add_up) {
  folder const at;
  at.write("g.wel", "10 20 3\n20 30 4\n10 30 9\n40 10 1\n");
  ASSERT_EQ(at.shell("garner convert g.wel g.gnr --compact").code, 0);
  outcome const o = at.shell("garner sssp g.gnr --source 10 --out p.txt && cat p.txt");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("# vertex distance parent, from source 10\n10 0 10\n20 3 10\n30 7 20\n40 infinity -1\n"), std::string::npos)
      << o.out;
  EXPECT_NE(o.out.find("largest distance 7, distances sum 10"), std::string::npos) << o.out;
  outcome const rounds = at.shell("garner sssp g.gnr --source 10 --rounds --verify --delta 2");
  EXPECT_NE(rounds.out.find("frontier"), std::string::npos) << rounds.out;
  EXPECT_NE(rounds.out.find("verified"), std::string::npos) << rounds.out;
}

TEST(sssp_program, says_what_to_try) {
  folder const at;
  at.write("g.el", "0 1\n1 2\n");
  ASSERT_EQ(at.shell("garner convert g.el g.gnr && garner convert g.gnr w.gnr --random-weights 1:9").code, 0);
  struct wrong {
    char const *line, *says;
    int code;
  };
  for (wrong const& w : {wrong{"garner sssp g.gnr", "garner convert g.gnr NEW.gnr --random-weights 1:255", 1},
                         wrong{"garner sssp w.gnr --variant dijkstra", "--variant dijkstra: use near-far", 2},
                         wrong{"garner sssp w.gnr --delta 0", "above 0", 2}, wrong{"garner sssp w.gnr --source 99", "99", 1},
                         wrong{"garner sssp w.gnr --memory-limit 100", "--memory-limit", 1}}) {
    outcome const o = at.shell(w.line);
    EXPECT_EQ(o.code, w.code) << w.line << ": " << o.err;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find(w.says), std::string::npos) << w.line << ": " << o.err;
  }
}

TEST(sssp_program, knows_the_roads_of_new_york) {
  std::filesystem::path const file = std::filesystem::path(GARNER_SOURCE_DIR) / "../shared/data/USA-road-d.NY/USA-road-d.NY.gr.zst";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs ../shared/data/USA-road-d.NY";
  folder const at;
  ASSERT_EQ(at.shell("garner convert '" + file.string() + "' g.gnr").code, 0);
  ASSERT_EQ(at.shell("garner convert '" + file.string() + "' p.gnr --compress").code, 0);
  for (std::string const more : {"g.gnr", "g.gnr --device simulated", "g.gnr --tier file", "p.gnr --tier file"})
    for (auto const& [source, largest, sum] : {std::tuple{1, 1440081, 186686642878}, std::tuple{140961, 954419, 96216936160}}) {
      outcome const o = at.shell("garner sssp --verify --json --source " + std::to_string(source) + " " + more);
      ASSERT_EQ(o.code, 0) << o.err;
      json const run = json::parse(o.out).at("runs").at(0);
      EXPECT_EQ(run.at("reached"), 264346);
      EXPECT_EQ(run.at("distance_max"), largest);
      EXPECT_EQ(run.at("distance_sum"), sum);
      EXPECT_EQ(run.at("verified"), true);
    }
}

// With a GPU, every device gives the same result.
TEST(sssp_program, device_gives_what_the_host_gives) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 14 --random-weights 8:72 k.gnr").code, 0);
  json const host = json::parse(at.shell("garner sssp k.gnr --trials 3 --verify --json").out);
  for (std::string const tier : {"host", "device", "managed"}) {
    SCOPED_TRACE(tier);
    outcome const o = at.shell("garner sssp k.gnr --trials 3 --verify --json --device cuda --tier " + tier);
    ASSERT_EQ(o.code, 0) << o.err;
    json const j = json::parse(o.out);
    for (std::size_t k = 0; k < 3; ++k)
      for (char const* key : {"source", "reached", "distance_max", "distance_sum"})
        EXPECT_EQ(j["runs"][k][key], host["runs"][k][key]) << key;
  }
}

}  // namespace
}  // namespace garner::testing

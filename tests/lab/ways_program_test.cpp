// `garner-lab run`: the verbs of garner in the papers' ways, which come to the same results.
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "cli/training_files.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

json run(folder const& at, std::string const& line) {
  outcome const o = at.shell("garner-lab run " + line + " --json");
  EXPECT_EQ(o.code, 0) << line << ": " << o.err;
  return o.code ? json() : json::parse(o.out);
}
void refused(folder const& at, std::string const& line, std::string const& what) { expect_refused(at, "garner-lab run " + line, 2, what); }

TEST(ways_program, searches_in_every_way_reach_the_same) {
  folder const at;
  for (std::string const weights : {"--random-weights 8:72", "--random-weights-f32 0:1"}) {
    ASSERT_EQ(at.shell("garner generate kron --scale 10 --id-bytes 8 k.gnr " + weights).code, 0);
    json const levels = run(at, "bfs k.gnr --trials 3 --verify"), paths = run(at, "sssp k.gnr --trials 3 --verify");
    for (std::string const way :
         {"--variant emogi", "--device simulated --variant emogi", "--access strided", "--device simulated --access merged --no-split",
          "--device simulated --l2-bytes 64KiB --no-join", "--vertices-per-team 8 --slice 64", "--access paged", "--access copied"}) {
      SCOPED_TRACE(weights + " " + way);
      json const bfs = run(at, "bfs k.gnr --trials 3 --verify " + way), sssp = run(at, "sssp k.gnr --trials 3 --verify " + way);
      bool const emogi = way.find("emogi") != std::string::npos;
      EXPECT_EQ(sssp.at("variant"), emogi ? "emogi" : "near-far");
      EXPECT_EQ(sssp.at("delta").is_null(), emogi);
      EXPECT_EQ(sssp.at("split_hubs"), !emogi && way.find("--no-split") == std::string::npos);
      if (emogi) {
        EXPECT_EQ(sssp.at("join_adjacency"), false);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        for (char const* key : {"reached", "depth_max", "depth_sum"}) EXPECT_EQ(bfs["runs"][k][key], levels["runs"][k][key]) << key;
        for (char const* key : {"reached", "distance_max", "distance_sum"}) EXPECT_EQ(sssp["runs"][k][key], paths["runs"][k][key]) << key;
        EXPECT_EQ(bfs["runs"][k]["verified"], true);
      }
    }
    EXPECT_EQ(run(at, "bfs k.gnr --no-queue --verify")["queue_small"], false);
  }
}

TEST(ways_program, copied_sends_the_active_lists_and_gives_what_aligned_gives) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 10 k.gnr").code, 0);
  json const want = json::parse(at.shell("garner-lab run bfs k.gnr --source 5 --verify --json --device simulated").out);
  outcome const o = at.shell("garner-lab run bfs k.gnr --source 5 --verify --json --device simulated --access copied");
  ASSERT_EQ(o.code, 0) << o.err;
  json const got = json::parse(o.out);
  EXPECT_EQ(got.at("access"), "copied");
  EXPECT_EQ(got.at("variant"), "levels");
  EXPECT_TRUE(got.at("graph_cache_parts").empty());
  for (char const* key : {"source", "reached", "edges", "depth_max", "depth_sum"})
    EXPECT_EQ(got["runs"][0][key], want["runs"][0][key]) << key;
  std::uint64_t sectors = 0;
  for (json const& l : got["runs"][0]["levels"]) sectors += (l.at("edges").get<std::uint64_t>() * 4 + 31) / 32;
  EXPECT_EQ(got["runs"][0]["bytes_link"].get<std::uint64_t>(), sectors * 32);
  outcome const host = at.shell("garner-lab run bfs k.gnr --source 5 --verify --access copied");
  EXPECT_EQ(host.code, 0) << host.err;
  for (char const* no :
       {"bfs k.gnr --variant direction", "pagerank k.gnr", "bfs k.gnr --tier managed", "plan k.gnr --algorithm pagerank"}) {
    SCOPED_TRACE(no);
    outcome const refused = at.shell(std::string("garner-lab run ") + no + " --access copied");
    EXPECT_EQ(refused.code, 2);
    expect_one_line(refused.err);
    EXPECT_NE(refused.err.find("copied"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(at.shell("garner-lab run plan k.gnr --algorithm bfs --access copied").code, 0);
}

TEST(ways_program, components_are_the_same_in_every_way) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 12 k.gnr").code, 0);
  json const plain = run(at, "components k.gnr --verify --out a.txt");
  for (std::string const more : {"--variant emogi", "--device simulated --variant emogi --access strided", "--access paged",
                                 "--first-neighbors 5 --slice 64 --trials 3",
                                 "--variant emogi --vertices-per-team 8 --access merged --device simulated --l2-bytes 1MiB"}) {
    SCOPED_TRACE(more);
    json const j = run(at, "components k.gnr --verify --out b.txt " + more);
    EXPECT_EQ(j.at("components"), plain.at("components"));
    EXPECT_EQ(j.at("largest"), plain.at("largest"));
    EXPECT_EQ(read_text(at / "b.txt"), read_text(at / "a.txt"));
    EXPECT_EQ(j.at("runs").at(0).at("bytes_link").is_number(), more.find("simulated") != std::string::npos);
    if (more == "--variant emogi") {
      EXPECT_EQ(j.at("runs").at(0).at("phases").at(0).at("phase"), "round");
    }
  }
  json const shards = run(at, "components k.gnr --verify --out b.txt --shards 8 --access strided");
  EXPECT_EQ(shards.at("runs").at(0).at("shards").size(), 8u);
  EXPECT_EQ(read_text(at / "b.txt"), read_text(at / "a.txt"));
}

TEST(ways_program, ranks_are_pushed_and_pulled) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate uniform --scale 10 u.gnr && printf '0 1\n1 2\n2 0\n3 0\n' > d.el && garner convert d.el d.gnr").code,
            0);
  for (std::string const access : {"strided", "merged", "aligned", "paged"})
    for (std::string const variant : {"pull", "emogi"}) {
      json const all = run(at, "pagerank u.gnr --verify --device simulated --access " + access + " --variant " + variant);
      EXPECT_EQ(all["converged"], true);
      EXPECT_GT(all["bytes_link"].get<double>(), 0);
      EXPECT_NEAR(all["rank_sum"].get<double>(), variant == "pull" ? 1 : 1024, variant == "pull" ? 1e-6 : 10);
      EXPECT_EQ(all["rounds"][0]["l1_change"].is_null(), variant == "emogi");
    }
  EXPECT_EQ(run(at, "pagerank d.gnr --variant emogi --verify")["verified"], true);
  // Both variants agree where every vertex has out-edges.
  json const pull = run(at, "pagerank u.gnr --tolerance 1e-6"), push = run(at, "pagerank u.gnr --variant emogi --tolerance 1e-5");
  double const n = pull["vertices"].get<double>();
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(pull["top"][k]["vertex"], push["top"][k]["vertex"]);
    EXPECT_NEAR(push["top"][k]["rank"].get<double>() / n / pull["top"][k]["rank"].get<double>(), 1, 1e-3);
  }
}

TEST(ways_program, loads_and_trains_in_every_way) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 10 k.gnr").code, 0);
  for (std::string const strategy : {"zero_copy", "staged"})
    for (std::string const place : {"cpu", "simulated"}) {
      json const all = run(at,
                           "load k.gnr --width 5 --share 100% --batch 50 --fanout 4,3 --feature-cache 10% --score degree --epochs 2 "
                           "--verify --device " +
                               place + " --strategy " + strategy);
      EXPECT_EQ(all["verified"], all["batches"]);
      json const& first = all["epochs"][0];
      EXPECT_EQ(first["remote_rows"].get<double>() > 0, place == "simulated");
      EXPECT_TRUE(first["window_hits"].is_null());
      if (place == "simulated") {
        EXPECT_GE(first["remote_bytes"].get<double>(), 20 * first["remote_rows"].get<double>() - 1);
      }
    }
  write_communities(at);
  std::string const train = "train g.gnr --features x.npy --labels y.npy --split s.npy --full --model gcn --epochs ";
  json const mgg = run(at, train + "3 --shards 3 --shard-strategy mgg --mgg 8,2,4 --shard-balance vertices --checkpoint c");
  EXPECT_EQ(mgg["shards"]["strategy"], "mgg");
  EXPECT_EQ(mgg["shards"]["balance"], "vertices");
  json const on =
      run(at, train + "5 --shards 3 --shard-balance vertices --resume c --shard-reduction fast --shard-strategy mgg --mgg 8,2,4");
  EXPECT_EQ(on["shards"]["strategy"], "mgg");
  EXPECT_EQ(on["epochs"].size(), 2u);
}

TEST(ways_program, what_contradicts_itself_is_refused_before_loading) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 12 --random-weights 1:9 k.gnr").code, 0);
  std::string spoilt = read_text(at / "k.gnr");
  spoilt[spoilt.size() / 2] = static_cast<char>(spoilt[spoilt.size() / 2] ^ 1);
  at.write("spoilt.gnr", spoilt);
  for (auto const& [line, what] : std::multimap<std::string, std::string>{
           {"bfs spoilt.gnr --access copied --variant direction", "bottom-up"},
           {"plan spoilt.gnr --algorithm bfs --access copied --variant direction", "bottom-up"},
           {"pagerank spoilt.gnr --access copied --variant pull", "pull"},
           {"plan spoilt.gnr --algorithm pagerank --access copied", "pull"},
           {"bfs spoilt.gnr --access strided --cached-neighbors 2", "by levels"},
           {"bfs spoilt.gnr --access copied --tier managed", "does not go"},
           {"bfs spoilt.gnr --access bulk", "bulk"},
           {"bfs spoilt.gnr --access sideways", "sideways"},
           {"bfs spoilt.gnr --access aligned --tier managed", "does not go"},
           {"components spoilt.gnr --access paged --tier host", "does not go"},
           {"sssp spoilt.gnr --access paged --tier host", "paged reads tier managed"},
           {"sssp spoilt.gnr --variant emogi --delta 4", "leave out --delta"},
           {"sssp spoilt.gnr --variant dijkstra", "--variant dijkstra: use near-far or emogi"},
           {"bfs spoilt.gnr --slice 33", "multiple of 32"},
           {"bfs spoilt.gnr --slice 4294967296", "not a whole number"},
           {"components spoilt.gnr --slice 65", "multiple of 32"},
           {"components spoilt.gnr --vertices-per-team 0", "1 to 1024"},
           {"bfs spoilt.gnr --l2-bytes 1M", "--device simulated"},
           {"components spoilt.gnr --shards 2 --variant emogi", "over 2 devices use afforest"},
           {"bfs spoilt.gnr --shards 2 --access paged", "over 2 shards"},
           {"pagerank spoilt.gnr --variant emogi --dangling drop", "--dangling"},
           {"pagerank spoilt.gnr --variant emogi --personalization p.txt", "--personalization"},
           {"pagerank spoilt.gnr --variant emogi --weighted", "pull"},
           {"load spoilt.gnr --width 3 --access copied", "--access"},
           {"score spoilt.gnr --access copied", "--access"},
           {"load spoilt.gnr --width 3 --strategy fast", "automatic, window, tiered, zero_copy or staged"}})
    refused(at, line, what);
  write_communities(at);
  std::string const train = "train g.gnr --features x.npy --labels y.npy --split s.npy --full --shards 2 ";
  refused(at, train + "--shard-strategy x", "--shard-strategy x: use auto, bulk, collective or mgg");
  refused(at, train + "--shard-adjacency compressed --shard-strategy mgg", "compressed adjacency and mgg");
  refused(at, train + "--mgg 1,1,1", "--mgg goes with --shard-strategy mgg");
  refused(at, train + "--shard-strategy mgg --mgg 1,1", "--mgg of 2 numbers");
  refused(at, train + "--shard-strategy mgg --mgg 33,1,1", "33 neighbors of a partition (ps): use 1 to 32");
  refused(at, train + "--shard-strategy mgg --shard-reduction deterministic", "it sums with atomics");
}

TEST(ways_program, plans_refuse_in_the_words_of_the_algorithm) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 12 --random-weights 1:9 k.gnr").code, 0);
  for (std::string const job : {"sssp", "components", "pagerank"})
    for (std::string const place : {"cpu", "simulated"}) {
      std::string const setting = " --memory-limit 100K --variant emogi --device " + place;
      outcome const planned = at.shell("garner-lab run plan k.gnr --algorithm " + job + setting);
      EXPECT_EQ(planned.code, 1);
      EXPECT_NE(planned.err.find("are allowed"), std::string::npos) << planned.err;
      EXPECT_EQ(planned.err, at.shell("garner-lab run " + job + " k.gnr" + setting).err);
    }
}

// Known figures of a road network, which is next to the repository or missing.
TEST(ways_program, roads_of_new_york_in_the_papers_ways) {
  std::filesystem::path const file = std::filesystem::path(GARNER_SOURCE_DIR) / "../shared/data/USA-road-d.NY/USA-road-d.NY.gr.zst";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs ../shared/data/USA-road-d.NY";
  folder const at;
  ASSERT_EQ(at.shell("garner convert '" + file.string() + "' g.gnr").code, 0);
  json const sssp = run(at, "sssp g.gnr --variant emogi --source 1 --verify").at("runs").at(0);
  EXPECT_EQ(sssp.at("distance_max"), 1440081);
  EXPECT_EQ(sssp.at("distance_sum"), 186686642878);
  for (std::string const more : {"", " --tier file"}) {
    json const components = run(at, "components g.gnr --variant emogi --verify" + more);
    EXPECT_EQ(components.at("components"), 1);
    EXPECT_EQ(components.at("largest"), 264346);
  }
}

// With a GPU every way gives the same answer.
TEST(ways_program, device_gives_what_the_host_gives) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 14 --random-weights 8:72 k.gnr").code, 0);
  std::map<std::string, std::vector<char const*>> const same{{"bfs", {"source", "reached", "depth_max", "depth_sum"}},
                                                             {"sssp", {"source", "reached", "distance_max", "distance_sum"}},
                                                             {"components", {"components", "largest"}}};
  for (auto const& [job, keys] : same) {
    json const host = run(at, job + " k.gnr --trials 3 --verify");
    for (std::string const variant : {"", " --variant emogi"})
      for (std::string const how : {"--access strided", "--access merged", "--access aligned", "--access aligned --tier device",
                                    "--access paged", "--access copied"}) {
        if (how == "--access copied" && variant.empty() && job != "bfs") continue;
        SCOPED_TRACE(job + how + variant);
        json const j = run(at, job + " k.gnr --trials 3 --verify --device cuda " + how + variant);
        for (std::size_t k = 0; k < 3; ++k)
          for (char const* key : keys) EXPECT_EQ(j["runs"][k][key], host["runs"][k][key]) << key;
        if (job == "bfs") {
          EXPECT_EQ(j["runs"][0]["bytes_link"].is_null(),
                    how.find("device") != std::string::npos || how.find("paged") != std::string::npos);
        }
      }
  }
}

}  // namespace
}  // namespace garner::testing

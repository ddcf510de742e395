// `garner bfs|components|pagerank --shards`: the result files of one device, the report per shard, rejected options; their plan; and
// tools/prove_spread on the CPU.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json ran(folder const& at, std::string const& line) {
  outcome const o = at.shell(line + " --json");
  EXPECT_EQ(o.code, 0) << line << ": " << o.err;
  return o.code == 0 ? json::parse(o.out) : json();
}
std::string refused(folder const& at, std::string const& line, int code = 2) {
  outcome const o = at.shell(line);
  EXPECT_EQ(o.code, code) << line << ": " << o.out;
  return o.err;
}

TEST(spread_program, files_are_those_of_one_place) {
  folder const at;
  at.shell("garner generate kron --scale 13 plain.gnr");
  at.shell("garner reorder plain.gnr compressed.gnr --by degree --compress");
  for (std::string const graph : {"plain.gnr", "compressed.gnr"})
    for (std::string const job : {"bfs", "components", "pagerank"}) {
      std::string const out = job == "bfs" ? " --out one.npy" : " --out one.txt",
                        again = job == "bfs" ? " --out two.npy" : " --out two.txt";
      ran(at, "garner " + job + " " + graph + out);
      for (std::string const more : {"--shards 1", "--shards 2", "--shards 3 --device simulated", "--shards 8"}) {
        SCOPED_TRACE(graph + " " + job + " " + more);
        // Ranks are the bits of one device with the same reads.
        if (job == "pagerank") ran(at, "garner pagerank " + graph + out + more.substr(std::string("--shards 1").size()));
        json const j = ran(at, "garner " + job + " " + graph + " --verify " + more + again);
        EXPECT_TRUE(j.at("verified"));
        EXPECT_TRUE(read_text(at / again.substr(7)) == read_text(at / out.substr(7)));
        json const& r = job == "pagerank" ? j : j.at("runs").at(0);
        ASSERT_EQ(r.at("shards").size(), more == "--shards 1" ? 0u : std::stoul(more.substr(9)));
        std::uint64_t edges = 0, link = 0, exchanged = 0, of_steps = 0;
        for (json const& s : r.at("shards"))
          edges += s.at("edges").get<std::uint64_t>(), link += s.at("bytes_link").get<std::uint64_t>(),
              exchanged += s.at("bytes_exchanged").get<std::uint64_t>();
        for (json const& step : r.at(job == "bfs" ? "levels" : job == "components" ? "phases" : "rounds"))
          of_steps += step.at("bytes_exchanged").get<std::uint64_t>();
        if (more == "--shards 1") continue;
        EXPECT_EQ(edges, j.at("edges"));
        EXPECT_GE(exchanged, of_steps);  // includes the exchange before the first step
        EXPECT_GT(of_steps, 0u);
        if (!r.at("bytes_link").is_null()) {
          EXPECT_EQ(link, r.at("bytes_link"));
        }
      }
    }
  std::string const said = at.shell("garner components plain.gnr --shards 3").out;
  EXPECT_THAT(said, HasSubstr("shards  3 on cpu"));
  EXPECT_THAT(said, HasSubstr("from others"));
}

TEST(spread_program, what_does_not_go_together_is_refused) {
  folder const at;
  at.shell("garner generate kron --scale 8 k.gnr");
  at.shell("printf '0 1\n1 2\n' > s.el && garner convert s.el s.gnr --undirected");
  EXPECT_THAT(refused(at, "garner bfs k.gnr --shards 0"), HasSubstr("--shards 0: use 1 to 16"));
  EXPECT_THAT(refused(at, "garner pagerank k.gnr --shards 17"), HasSubstr("--shards 17: use 1 to 16"));
  EXPECT_THAT(refused(at, "garner bfs s.gnr --shards 4"), HasSubstr("4 shards, and s.gnr has 3 vertices; use at most as many"));
  EXPECT_THAT(refused(at, "garner bfs k.gnr --shards 2 --tier file"), HasSubstr("edges in tier file over 2 shards"));
  EXPECT_THAT(refused(at, "garner bfs k.gnr --shards 2 --tier managed"), HasSubstr("over 2 shards"));
  EXPECT_THAT(refused(at, "garner pagerank k.gnr --shards 2 --by-degree yes"), HasSubstr("by_degree over 2 shards"));
  EXPECT_THAT(refused(at, "garner bfs k.gnr --shards 3 --devices 0,1"), HasSubstr("--shards 3 and --devices of 2: use 2"));
  EXPECT_THAT(refused(at, "garner bfs k.gnr --devices 0,1 --device simulated"),
              HasSubstr("--devices and --device simulated: use one of them"));
  EXPECT_NE(at.shell("garner sssp k.gnr --shards 2").code, 0);
  if (device::count() == 0) {
    EXPECT_NE(at.shell("garner bfs k.gnr --devices 0,1").code, 0);
  }
}

TEST(spread_program, a_plan_tells_the_bytes_of_each) {
  folder const at;
  at.shell("garner generate kron --scale 14 k.gnr");
  for (std::string const job : {"bfs", "components", "pagerank"}) {
    SCOPED_TRACE(job);
    json const p = ran(at, "garner plan k.gnr --algorithm " + job + " --shards 3 --device simulated"),
               ran_so = ran(at, "garner " + job + " k.gnr --shards 3");
    json const& shards = (job == "pagerank" ? ran_so : ran_so.at("runs").at(0)).at("shards");
    ASSERT_EQ(p.at("shards").size(), 3u);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(p.at("shards")[k].at("vertices"), shards[k].at("vertices"));
      EXPECT_EQ(p.at("shards")[k].at("edges"), shards[k].at("edges"));
      EXPECT_GT(p.at("shards")[k].at("bytes"), 0);
    }
    json const near = ran(at, "garner plan k.gnr --algorithm " + job + " --devices 0,1 --shards 2 --tier device --device-memory 1GiB"),
               far = ran(at, "garner plan k.gnr --algorithm " + job + " --devices 0,1 --shards 2 --tier host --device-memory 1GiB");
    EXPECT_TRUE(near.at("alone").is_null());
    EXPECT_GT(near.at("device_bytes"), far.at("device_bytes"));
    EXPECT_EQ(near.at("device_bytes"),
              std::max(near.at("shards")[0].at("bytes").get<std::uint64_t>(), near.at("shards")[1].at("bytes").get<std::uint64_t>()));
    json const one = ran(at, "garner plan k.gnr --algorithm " + job + " --tier host --device-memory 1GiB");
    EXPECT_EQ(far.at("bytes_link"), one.at("bytes_link"));
    json alone = ran(at, "garner plan k.gnr --algorithm " + job + " --devices 0,1 --tier host --device-memory 1GiB");
    EXPECT_THAT(alone.at("alone").get<std::string>(), HasSubstr("cuda:0 alone: "));
    alone["alone"] = nullptr;
    EXPECT_EQ(alone, one);  // of so small a graph, the first device is faster
    EXPECT_NEAR(far.at("ms").at("51").get<double>(), one.at("ms").at("51").get<double>() / 2, 1e-3);
  }
  EXPECT_THAT(refused(at, "garner plan k.gnr --algorithm bfs --devices 0,1 --device-memory 64KiB", 1), HasSubstr("device"));
  EXPECT_THAT(refused(at, "garner plan k.gnr --algorithm sssp --shards 2"), HasSubstr("--shards goes with --algorithm train"));
  EXPECT_THAT(at.shell("garner plan k.gnr --algorithm bfs --shards 2 --device simulated").out, HasSubstr("shard 1: state"));
}

TEST(spread_program, prove_spread_measures_and_checks) {
  folder const at;
  outcome const o =
      at.shell("python3 '" GARNER_SOURCE_DIR "/tools/prove_spread' '" + std::filesystem::path(program()).parent_path().string() +
               "' --device cpu --scale 10 --devices 0,1,2 --trials 3 --store . --out s.json");
  ASSERT_EQ(o.code, 0) << o.out << o.err;
  json const proof = json::parse(read_text(at / "s.json"));
  EXPECT_EQ(proof.at("shards"), 3);
  for (std::string const job : {"bfs levels", "bfs direction", "components", "pagerank"}) {
    EXPECT_EQ(proof.at("jobs").at(job).at("several").at("shards").size(), 3u);
    EXPECT_EQ(proof.at("jobs").at(job).at("one").at("all_ms").size(), 3u);
  }
  EXPECT_EQ(at.names(), std::vector<std::string>{"s.json"});
}

}  // namespace
}  // namespace garner::testing

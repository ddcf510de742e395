// `garner train` and `garner predict` on a dataset file: training and its report, round trips of model and checkpoint, rejected options.
#include <gmock/gmock.h>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/training_files.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct library : folder {
  std::string const train = "garner train g.json --fanout 5,5 --batch 16 --quiet ";
  library() {
    write_library(*this);
    EXPECT_EQ(shell("garner convert in g.json --undirected").code, 0);
  }
};

TEST(training_types_program, learns_and_predicts) {
  library const at;
  for (std::string const place : {"cpu", "simulated"}) {
    outcome const o = at.shell(at.train + "--epochs 12 -o m --json --device " + place);
    ASSERT_EQ(o.code, 0) << o.err;
    json const all = json::parse(o.out);
    EXPECT_EQ(all["target"], "paper");
    EXPECT_EQ(all["nodes"], 120);
    EXPECT_EQ(all["edges"], 1000);
    EXPECT_EQ(all["features"].size(), 2u);
    EXPECT_EQ(all["training_nodes"], 90);
    EXPECT_EQ(all["test_nodes"], 30);
    EXPECT_GT(all["test_accuracy"].get<double>(), 0.85);
    outcome const p = at.shell("garner predict g.json --model m -o s.npy --classes-only --device " + place);
    ASSERT_EQ(p.code, 0) << p.err;
    std::string const found = read_text(at / "s.npy");
    std::string const head = npy_head("<i8", 120);
    ASSERT_EQ(found.size(), head.size() + 120 * 8);
    std::uint64_t right = 0;
    for (std::uint64_t v = 3; v < 120; v += 4) right += static_cast<unsigned char>(found[head.size() + v * 8]) == v % 3 ? 1 : 0;
    EXPECT_DOUBLE_EQ(static_cast<double>(right) / 30, all["test_accuracy"].get<double>());
  }
  ASSERT_EQ(at.shell(at.train + "--epochs 4 -o four").code, 0);
  ASSERT_EQ(at.shell(at.train + "--epochs 2 --checkpoint c").code, 0);
  ASSERT_EQ(at.shell(at.train + "--epochs 4 --resume c -o again").code, 0);
  EXPECT_EQ(read_text(at / "four"), read_text(at / "again"));
  outcome const two = at.shell(at.train + "--epochs 2 --ranks 2");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("ranks   2: cpu, cpu"));
}

TEST(training_types_program, learns_on_the_whole_graph_and_the_other_way_round) {
  library const at;
  for (std::string const place : {"cpu", "simulated"})
    for (std::string const how : {"--full", "--full --side out", "--fanout 5,5 --batch 16 --side out"}) {
      outcome const o = at.shell("garner train g.json --quiet --lr 0.05 --epochs 40 -o m --json --device " + place + " " + how);
      ASSERT_EQ(o.code, 0) << o.err;
      json const all = json::parse(o.out);
      EXPECT_GT(all["test_accuracy"].get<double>(), 0.8) << how;
      std::string const side = how.find("out") == how.npos ? "" : " --side out";
      outcome const p = at.shell("garner predict g.json --model m -o s.npy --classes-only --device " + place + side);
      EXPECT_EQ(p.code, 0) << p.err;
      if (!side.empty()) {
        outcome const other = at.shell("garner predict g.json --model m -o s.npy");
        EXPECT_EQ(other.code, 1);
        EXPECT_THAT(other.err, HasSubstr("are not the 2 that the model was made for"));
      }
    }
  // In parts, with the least memory that it accepts.
  ASSERT_EQ(
      at.shell("garner train g.json --fanout 5,5 --hidden 4 --quiet --epochs 1 -o m && garner predict g.json --model m -o s.npy").code, 0);
  outcome const parts = at.shell("garner predict g.json --model m -o p.npy --local-bytes 24KiB --json");
  ASSERT_EQ(parts.code, 0) << parts.err;
  EXPECT_EQ(json::parse(parts.out)["layers"].size(), 2u);
  // The rows before the classes, in parts and in one piece.
  for (std::string const how : {"a.npy", "b.npy --local-bytes 24KiB"})
    ASSERT_EQ(at.shell("garner predict g.json --model m -o p.npy --embeddings " + how).code, 0);
  std::string const one = read_text(at / "a.npy"), some = read_text(at / "b.npy"), head = npy_head("<f4", 120, 4);
  ASSERT_EQ(one.size(), head.size() + 120 * 4 * sizeof(float));
  ASSERT_EQ(one.size(), some.size());
  for (std::size_t k = head.size(); k < one.size(); k += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, one.data() + k, sizeof a), std::memcpy(&b, some.data() + k, sizeof b);
    EXPECT_NEAR(a, b, 1e-5) << k;
  }
  EXPECT_LE(json::parse(parts.out)["local_bytes"], 24 * 1024);
  outcome const little = at.shell("garner predict g.json --model m -o p.npy --local-bytes 1KiB");
  EXPECT_EQ(little.code, 1);
  EXPECT_THAT(little.err, HasSubstr("exact inference of 2 types wants"));
  // Weights for the graph files.
  ASSERT_EQ(
      at.shell("cp -r g.garner w.garner && for f in g.garner/*.gnr; do garner convert $f w.garner/${f#g.garner/} --random-weights 1:9 "
               "--quiet || exit 1; "
               "done; sed s,g.garner/,w.garner/, g.json > w.json")
          .code,
      0);
  outcome const weighted = at.shell(
      "garner train w.json --full --weighted --quiet --epochs 3 -o m && "
      "garner predict w.json --weighted --model m -o a.npy && garner predict w.json --model m -o b.npy");
  ASSERT_EQ(weighted.code, 0) << weighted.err;
  EXPECT_NE(read_text(at / "a.npy"), read_text(at / "b.npy"));
}

// Processes with other files get an error at the start that names the difference, and all end.
TEST(training_types_program, processes_of_different_files_are_told) {
  library const at;
  json other = json::parse(read_text(at / "g.json"));
  write_npy(at, "other.npy", "<f4", std::vector<float>(90 * 4, 0.25f), 4);
  for (auto& type : other["vertices"])
    if (type["name"] == "author") type["features"] = "other.npy";
  std::ofstream(at / "other.json") << other.dump();
  auto const told = [&](std::string const& second) {
    std::string const after = " --fanout 5,5 --batch 16 --group garner-cli-t-" + std::to_string(::getpid());
    outcome const o = at.shell("export WORLD_SIZE=2; RANK=1 garner train " + second + after +
                               " > one.txt 2>&1 & RANK=0 garner train g.json" + after + " --quiet; wait");
    return o.err + read_text(at / "one.txt");
  };
  EXPECT_THAT(told("g.json --epochs 5"), HasSubstr(" epochs, and rank 1 with end: after 5 epochs; give all ranks the same"));
  EXPECT_THAT(told("other.json"), HasSubstr("rank 0 trains with 'author' of rows of "));
}

TEST(training_types_program, refuses_what_does_not_go_together) {
  library const at;
  auto const says = [&](std::string const& line, int code, char const* text) {
    outcome const o = at.shell(line);
    EXPECT_EQ(o.code, code) << line;
    EXPECT_THAT(o.err, HasSubstr(text)) << line;
  };
  says(at.train + "--features x.npy", 2, "--features x.npy: g.json names");
  says(at.train + "--target author", 1, "--target author: ");
  says(at.train + "--target editor", 1, "'editor'");
  says(at.train + "--model gcn", 2, "use sage");
  says(at.train + "--weighted", 1, "has no weights");
  says(at.train + "--feature-cache 10%", 2, "use bytes per table");
  says(at.train + "--norm batch", 2, "--norm batch: use none, layer or automatic");
  says("garner train g.json --full --ranks 2", 2, "full-graph training uses shards");
  ASSERT_EQ(at.shell("garner generate kron --scale 5 k.gnr && " + at.train + "--epochs 1 -o m").code, 0);
  says("garner train k.gnr", 2, "--features is required");
  says("garner predict k.gnr --model m -o s.npy", 2, "--features is required");
  says("garner predict k.gnr --features in/processed/paper/node_feat.npy --model m -o s.npy", 2, "the model has several");
  says("tr -d '\\n' < g.json | sed 's/, *\"features\": \"[^\"]*\"//g' > h.json; garner train h.json --fanout 5,5", 1,
       "'author' has no features");
  says("tr -d '\\n' < g.json | sed 's/, *\"labels\": \"[^\"]*\"//g' > l.json; garner train l.json --fanout 5,5", 1, "no type has labels");
}

TEST(training_types_program, learns_the_same_bits_from_rows_that_stay_in_their_files) {
  library const at;
  ASSERT_EQ(at.shell(at.train + "--epochs 3 -o memory").code, 0);
  for (std::string const place : {"cpu", "simulated"}) {
    outcome const o =
        at.shell(at.train + "--epochs 3 --feature-tier file --host-cache 97% --file-cache 1390 --device " + place + " -o file --json");
    ASSERT_EQ(o.code, 0) << o.err;
    json const all = json::parse(o.out);
    for (json const& e : all["epochs"]) EXPECT_GT(e["file_rows"].get<double>(), 0);
    for (json const& rows : all["features"]) EXPECT_THAT(rows.get<std::string>(), HasSubstr("node_feat.npy"));
    EXPECT_TRUE(place != "cpu" || at.shell("cmp memory file").code == 0);
    // And lists: data larger than memory.
    std::string const both = "--epochs 3 --tier file --feature-tier file --host-cache 97% --file-cache 1390 -o both --device " + place;
    ASSERT_EQ(at.shell(at.train + both).code, 0);
    EXPECT_EQ(at.shell("cmp file both").code, 0);
    EXPECT_EQ(at.shell("garner predict g.json --model memory -o a.npy --quiet && garner predict g.json --model memory -o b.npy --quiet "
                       "--feature-tier file --host-cache 500 && cmp a.npy b.npy")
                  .code,
              0);
  }
}

// The peak memory of a run, as its budget counted it.
double peak_of(outcome const& o) {
  std::size_t const at = o.err.find("memory.host_peak");
  EXPECT_NE(at, std::string::npos) << o.err;
  if (at == std::string::npos) return 0;
  std::string digits;
  for (char const c : o.err.substr(at + 16, o.err.find('\n', at) - at - 16))
    if (c >= '0' && c <= '9') digits += c;
  return std::stod(digits);
}

TEST(training_types_program, is_planned_before_it_loads) {
  library const at;
  auto const plan = [&](std::string const& line) {
    outcome const o = at.shell("garner plan g.json --json " + line);
    EXPECT_EQ(o.code, 0) << line << ": " << o.err;
    return o.code ? json() : json::parse(o.out);
  };
  // The plan equals the training's memory: full-graph, including adjacency, within a hundredth; with mini-batches at least that.
  for (std::string const place : {"cpu", "simulated"})
    for (std::string const how :
         {"--full", "--full --side out --norm layer --residual --layers 3", "--fanout 5,5 --batch 16",
          "--fanout 4,-1 --batch 16 --side out --hidden 16", "--fanout 3,3 --batch 16 --feature-cache 1KiB --norm layer --residual"}) {
      SCOPED_TRACE(how + " at " + place);
      std::string const what = how + " --device " + place;
      json const told = plan("--algorithm train " + what);
      outcome const o = at.shell("garner train g.json --epochs 2 --stats --json --quiet " + what);
      ASSERT_EQ(o.code, 0) << o.err;
      json const run = json::parse(o.out);
      for (char const* key : {"target", "training_nodes", "edges"}) EXPECT_EQ(told[key], run[key]);
      EXPECT_EQ(told["nodes"], 210);
      EXPECT_EQ(told["training"]["parameters"], run["parameters"]);
      EXPECT_EQ(told["training"]["steps"], run["epochs"][0]["steps"]);
      double host = 0;
      for (json const& r : told["memory"])
        if (r["array"].get<std::string>().rfind("features of", 0)) host += r["bytes"].get<double>();  // those are in their files
      double const took = peak_of(o);
      if (how.rfind("--full", 0) == 0) {
        EXPECT_NEAR(host, took, 0.01 * took);
        continue;
      }
      EXPECT_GT(host, took);
      EXPECT_LT(host, 1.5 * took);
      // Rows by tier, per epoch, by type in the sums.
      double near = 0, far = 0;
      for (json const& t : told["types"]) near += t["local_rows"].get<double>(), far += t["remote_rows"].get<double>();
      EXPECT_NEAR(near, told["local_rows"].get<double>(), 1e-6);
      double const steps = told["training"]["steps"].get<double>();
      EXPECT_NEAR(near * steps, run["epochs"][0]["local_rows"].get<double>(), 0.25 * near * steps);
      EXPECT_NEAR(far * steps, run["epochs"][0]["remote_rows"].get<double>(), 0.25 * far * steps);
      double crosses = 0;
      for (json const& r : told["training"]["reads"]) crosses += r["epoch"]["remote_bytes"].get<double>();
      EXPECT_NEAR(crosses, told["training"]["link_bytes"].get<double>(), steps);
      EXPECT_EQ(crosses > 0, place == "simulated");
    }
  json const near = plan("--algorithm train --fanout 5,5 --device-memory 1GiB"),
             far = plan("--algorithm train --fanout 5,5 --device-memory 1GiB --tier host");
  EXPECT_EQ(near["tier"], "device");
  EXPECT_EQ(far["tier"], "host");
  EXPECT_EQ(near["sample"]["bytes_link"], 0);
  EXPECT_GT(far["sample"]["bytes_link"], 0);
  EXPECT_EQ(far["training"]["bound_by"]["12.3"], "link");
  json const two = plan("--algorithm train --fanout 5,5 --batch 16 --device cpu --ranks 2");
  EXPECT_EQ(two["training"]["steps"], 3);
  EXPECT_EQ(two["training"]["reads"].back()["what"], "gradients of ranks");
  // Mini-batches alone, of any type.
  json const load = plan("--algorithm load --fanout 5,5 --batch 16 --device simulated --window 4");
  EXPECT_EQ(load["target"], "paper");
  EXPECT_EQ(load["types"].size(), 2u);
  EXPECT_FALSE(load.contains("training"));
  EXPECT_EQ(load["window"], 4);
  json const filed =
      plan("--algorithm load --fanout 5,5 --batch 16 --device simulated --feature-tier file --host-cache 600 --drive-reads 1000");
  EXPECT_GT(filed["drive"]["file_reads"], 0);
  EXPECT_GT(filed["drive"]["ms"], 0);
  auto const says = [&](std::string const& line, int code, std::string const& words) {
    expect_refused(at, "garner plan g.json " + line + " >/dev/null", code, words);
  };
  says("--algorithm train --model gcn", 2, "gcn takes one type of vertices and of edges");
  says("--algorithm train --feature-cache 10%", 2, "--feature-cache 10%: there are several tables");
  says("--algorithm train --graph-cache 1KiB", 2, "--graph-cache 1KiB");
  says("--algorithm train --features x.npy", 2, "--features: g.json names");
  says("--algorithm load --width 8", 2, "--width: g.json names");
  says("--algorithm load --share 10%", 2, "--share: g.json names");
  says("--algorithm train --split s.npy", 2, "--split: g.json names");
  says("--algorithm train --weighted", 1, "this graph has no weights");
  says("--algorithm train --target author", 1, "--target author: g.json has no labels of these");
  says("--algorithm load --target x", 1, "has no vertices 'x'; it has 'author', 'paper'");
  says("--algorithm load --device cpu --memory-limit 8KiB", 1, "g.json: needs");
  says("--algorithm train --device-memory 8KiB", 1, "g.json: needs");
  outcome const one = at.shell("garner plan kron:8 --algorithm load --width 8 --target x");
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.err, HasSubstr("--target x: kron:8 has one type of vertices"));
  // A type without features.
  EXPECT_EQ(at.shell("grep -v node_feat g.json | sed 's/\"count\": 90,/\"count\": 90/' > bare.json").code, 0);
  outcome const bare = at.shell("garner plan bare.json --algorithm train");
  EXPECT_EQ(bare.code, 1);
  EXPECT_THAT(bare.err, HasSubstr("has no features"));
}

}  // namespace
}  // namespace garner::testing

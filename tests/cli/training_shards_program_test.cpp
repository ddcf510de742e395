// `garner train --full --shards`: the same model file for any number, the report on the split, rejected options; and its plan.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/training_files.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string const files = "g.gnr --features x.npy --labels y.npy --split s.npy --quiet ";
json ran(folder const& at, std::string const& line) {
  outcome const o = at.shell(line + " --json");
  EXPECT_EQ(o.code, 0) << line << ": " << o.err;
  return o.code == 0 ? json::parse(o.out) : json();
}

TEST(training_shards_program, every_number_of_shards_writes_the_same_model) {
  folder const at;
  write_communities(at);
  std::string first;
  for (char const* const place : {"cpu", "simulated"})
    for (char const* const n : {"1", "2", "3", "8"}) {
      json const all =
          ran(at, "garner train " + files + "--full --model gcn --epochs 3 --device " + place + " --shards " + n + " -o m" + n);
      EXPECT_EQ(all["shards"]["count"], std::stoi(n));
      EXPECT_EQ(all["shards"]["reduction"], "deterministic");
      EXPECT_EQ(all["ranks"], 1);
      EXPECT_EQ(all["shards"]["remote_rows"] == 0, std::string(n) == "1");
      if (first.empty()) first = read_text(at / "m1");
      EXPECT_EQ(read_text(at / (std::string("m") + n)), first) << place << n;
    }
  for (char const* const more : {"", "--shards 3", "--shard-features tiered"}) {
    json const all = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --device simulated --activations host -o m " + more);
    EXPECT_EQ(all["shards"]["activations"], "host");
    EXPECT_EQ(read_text(at / "m"), first) << more;
  }
  EXPECT_THAT(at.shell("garner train " + files + "--full --epochs 1 --activations host").out, HasSubstr("; activations in host memory"));
  for (char const* const more : {"--device cpu", "--device simulated --shards 3 --shard-features tiered"}) {
    json const all = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --activations file --scratch . -o m " + more);
    EXPECT_EQ(all["shards"]["activations"], "file");
    EXPECT_EQ(read_text(at / "m"), first) << more;
  }
  EXPECT_THAT(at.shell("garner train " + files + "--full --epochs 1 --activations file --scratch .").out,
              HasSubstr("; activations in a file in ."));
  EXPECT_EQ(ran(at, "garner train " + files + "--full --epochs 1 --scratch .")["shards"], nullptr);  // there is room
  ran(at, "garner train " + files + "--full --model gcn --epochs 2 --activations host --checkpoint two.ckpt");
  ran(at, "garner train " + files + "--full --model gcn --epochs 3 --resume two.ckpt -o m");  // goes on as one shard
  EXPECT_EQ(read_text(at / "m"), first);
  EXPECT_EQ(ran(at, "garner train " + files + "--full --epochs 1")["shards"], nullptr);
  json const balanced =
      ran(at, "garner train " + files + "--full --epochs 2 --shards 2 --shard-strategy collective --shard-balance vertices");
  EXPECT_EQ(balanced["shards"]["strategy"], "collective");
  EXPECT_EQ(balanced["shards"]["balance"], "vertices");
  json const rounded = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 3 --shard-dtype bf16 -o rounded");
  EXPECT_EQ(rounded["shards"]["dtype"], "bf16");
  EXPECT_NE(read_text(at / "rounded"), first);
  json const by_tier =
      ran(at, "garner train " + files + "--full --model gcn --hidden 4 --epochs 3 --shards 3 --shard-features tiered -o tiers");
  EXPECT_EQ(by_tier["shards"]["features"], "tiered");
  EXPECT_EQ(ran(at, "garner train " + files + "--full --model gcn --hidden 4 --epochs 3 --shards 2 -o near")["shards"]["features"],
            "local");
  EXPECT_EQ(read_text(at / "tiers"), read_text(at / "near"));
  json const packed = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 2 --shard-adjacency compressed -o coded");
  EXPECT_EQ(packed["shards"]["adjacency"], "compressed");
  EXPECT_EQ(rounded["shards"]["adjacency"], "plain");
  EXPECT_EQ(read_text(at / "coded"), first);
  EXPECT_THAT(at.shell("garner train " + files + "--full --epochs 1 --shards 2 --shard-adjacency compressed").out,
              HasSubstr("reduction deterministic, compressed adjacency\n"));
  outcome const words = at.shell("garner train " + files + "--full --epochs 1 --shards 3 --shard-strategy bulk");
  EXPECT_THAT(words.out, HasSubstr("shards  3 on cpu; strategy bulk, features as f32, reduction deterministic"));
  EXPECT_THAT(words.out, HasSubstr("times the mean number of edges"));
  // Resumes a checkpoint.
  ran(at, "garner train " + files + "--full --model gcn --epochs 2 --shards 3 --checkpoint c.ckpt");
  ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 3 --resume c.ckpt -o again");
  EXPECT_EQ(read_text(at / "again"), first);
}

TEST(training_shards_program, processes_write_the_same_model_and_tell_what_rows_come_over) {
  folder const at;
  write_communities(at);
  json const threads = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 3 --shard-strategy bulk -o threads");
  EXPECT_EQ(threads["shards"]["transport"], "peer");
  EXPECT_EQ(threads["shards"]["over"], "memory of one process");
  EXPECT_EQ(threads["shards"]["passed_over"], json::array());
  for (std::string const provider : {"peer", "host"}) {
    std::string const train = "garner train " + files + "--full --model gcn --epochs 3 --shard-transport " + provider +
                              (provider == "host" ? " --shard-strategy bulk" : "") + " --group garner-cli-" + std::to_string(::getpid()) +
                              provider;
    outcome const all = at.shell("export WORLD_SIZE=3; RANK=1 " + train + " > one.txt & first=$!; RANK=2 " + train +
                                 " > two.txt & second=$!; RANK=0 " + train + " -o processes --json && wait $first && wait $second");
    ASSERT_EQ(all.code, 0) << all.err;
    json const told = json::parse(all.out);
    EXPECT_EQ(told["shards"]["count"], 3);
    EXPECT_EQ(told["shards"]["transport"], provider);
    ASSERT_EQ(told["shards"]["decided"].is_null(), provider == "host");  // without a given strategy they measure together
    for (json const& w : provider == "peer" ? told["shards"]["decided"]["strategies"] : json::array())
      EXPECT_TRUE(w["measured_ms"].is_number()) << told["shards"];
    EXPECT_EQ(told["ranks"], 1);
    EXPECT_EQ(read_text(at / "one.txt") + read_text(at / "two.txt"), "");
    EXPECT_EQ(read_text(at / "processes"), read_text(at / "threads"));
  }
  // Threads resume a checkpoint of processes.
  std::string const train =
      "garner train " + files + "--full --model gcn --checkpoint c.ck --group garner-cli-" + std::to_string(::getpid());
  outcome const two =
      at.shell("export WORLD_SIZE=2; RANK=1 " + train + " --epochs 2 > one.txt & first=$!; RANK=0 " + train + " --epochs 2 && wait $first");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("shards  2 processes on cpu"));
  EXPECT_THAT(two.out, HasSubstr("over    peer: shared memory"));
  ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 2 --resume c.ck -o again");
  EXPECT_EQ(read_text(at / "again"), read_text(at / "threads"));
}

TEST(training_shards_program, a_process_that_is_killed_ends_the_others) {
  folder const at;
  write_communities(at);
  std::string const train =
      " train " + files + "--full --model gcn --epochs 1000000 --evaluate-every 0 --group garner-cli-k-" + std::to_string(::getpid());
  outcome const killed = at.shell("export WORLD_SIZE=2; RANK=0 garner" + train + " > zero.txt & first=$!; RANK=1 \"" + program() + "\"" +
                                  train + " & second=$!; sleep 1; kill -9 $second; wait $first");
  EXPECT_EQ(killed.code, 1);
  EXPECT_THAT(killed.err, HasSubstr("rank 1 of 2 has stopped: its process ended"));
}

// A process with other files gets an error at the start that names the difference, and the others end.
TEST(training_shards_program, processes_of_different_files_are_told) {
  folder const at;
  communities c = write_communities(at);
  c.rows[0] += 1;
  write_npy(at, "other.npy", "<f4", c.rows, c.width);
  at.shell("garner convert e.wel other.gnr");
  auto const told = [&](std::string const& other) {
    std::string const after = "--full --model gcn --group garner-cli-f-" + std::to_string(::getpid());
    outcome const o = at.shell("export WORLD_SIZE=2; RANK=1 garner train " + other + after + " > one.txt 2>&1 & RANK=0 garner train " +
                               files + after + "; wait");
    return o.err + read_text(at / "one.txt");
  };
  EXPECT_THAT(told(files + "--epochs 5 "),
              HasSubstr("patience 50, and rank 1 with evaluation: every 1 epochs, patience 0; give all ranks the same"));
  std::string line = files;
  EXPECT_THAT(told(line.replace(line.find("x.npy"), 5, "other.npy")), HasSubstr("rank 0 trains with rows of "));
  line = files;
  EXPECT_THAT(told(line.replace(line.find("g.gnr"), 5, "other.gnr")), HasSubstr("rank 0 trains with a graph of "));
}

TEST(training_shards_program, processes_that_say_other_ways_are_told) {
  folder const at;
  write_communities(at);
  std::string const train = "garner train " + files + "--full --model gcn --group garner-cli-w-" + std::to_string(::getpid());
  outcome const o = at.shell("export WORLD_SIZE=2; RANK=1 " + train + " --shard-strategy bulk > one.txt 2>&1 & RANK=0 " + train + "; wait");
  // Both fail at once: the waiting one does not need its whole timeout.
  EXPECT_THAT(o.err, HasSubstr("its strategy measured first"));
  EXPECT_THAT(read_text(at / "one.txt"), HasSubstr("its strategy measured first"));
  std::string const uneven = "garner train " + files + "--full --model gcn --group garner-cli-u-" + std::to_string(::getpid());
  outcome const u = at.shell("RANK=1 WORLD_SIZE=3 " + uneven + " > one.txt 2>&1 & RANK=0 WORLD_SIZE=2 " + uneven + "; wait");
  for (std::string const& said : {u.err, read_text(at / "one.txt")})
    EXPECT_THAT(said, AllOf(HasSubstr("2 members"), HasSubstr("3 members"))) << said;
}

TEST(training_shards_program, a_plan_tells_the_bytes_of_each) {
  folder const at;
  write_communities(at);
  std::string const what = "garner plan g.gnr --algorithm train --features x.npy --classes 3 --full ";
  json const p = ran(at, what + "--shards 3");
  ASSERT_EQ(p["shards"].size(), 3u);
  std::uint64_t vertices = 0, edges = 0, bytes = 0, near = 0;
  for (json const& s : p["shards"]) {
    vertices += s["nodes"].get<std::uint64_t>(), edges += s["edges"].get<std::uint64_t>(), bytes += s["bytes"].get<std::uint64_t>();
    EXPECT_GT(s["remote_rows_at_most"], 0);
  }
  for (json const& row : p["memory"])
    if (row["array"] != "offsets" && row["array"] != "adjacency" && row["array"] != "features") near += row["bytes"].get<std::uint64_t>();
  EXPECT_EQ(vertices, p["nodes"]);
  EXPECT_EQ(edges, p["edges"]);
  EXPECT_EQ(near, bytes);  // everything on one device
  // Each strategy with its predicted time, fastest first; for two devices also a single one.
  auto const ways_of = [](json const& plan) {
    std::vector<std::string> all;
    double last = 0;
    for (json const& w : plan["strategies"]) {
      all.push_back(fmt::format("{} {}", w["strategy"].get<std::string>(), w["shards"].get<int>()));
      EXPECT_GE(w["predicted_ms"], last);
      EXPECT_GE(w["predicted_ms"], w["floor_ms"]);
      EXPECT_GT(w["floor_ms"], 0);
      last = w["predicted_ms"];
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(ways_of(p), (std::vector<std::string>{"bulk 3", "collective 3"}));
  EXPECT_THAT(at.shell(what + "--shards 3").out, HasSubstr("aggregation ms per epoch"));
  json const devices = ran(at, what + "--devices 0,1 --device-memory 1GiB");
  EXPECT_EQ(ways_of(devices), (std::vector<std::string>{"bulk 1", "bulk 2", "collective 2"}));
  EXPECT_EQ(devices["strategies"][0]["shards"], 1);  // so small a graph
  std::uint64_t largest = 0;
  for (json const& s : devices["shards"]) largest = std::max(largest, s["bytes"].get<std::uint64_t>());
  EXPECT_EQ(devices["device_bytes"], largest);
  // The limit for compressed adjacency, in device or host memory; the link then carries less.
  auto const bytes_of = [](json const& rows, char const* key, char const* array) {
    for (json const& row : rows)
      if (row[key] == array) return key == std::string("what") ? row["batch"]["remote_bytes"].get<double>() : row["bytes"].get<double>();
    return 0.0;
  };
  std::string const far = what + "--devices 0,1 --device-memory 1GiB --tier host";
  json const plain = ran(at, far), packed = ran(at, far + " --shard-adjacency compressed");
  double const crossing = bytes_of(plain["training"]["reads"], "what", "lists of shards");
  EXPECT_GT(crossing, 0);
  EXPECT_LT(bytes_of(packed["training"]["reads"], "what", "lists of shards"), 0.7 * crossing);
  double const at_home = bytes_of(packed["memory"], "array", "compressed adjacency of shards, at most");
  EXPECT_GT(at_home, 0);
  EXPECT_LT(at_home, bytes_of(plain["memory"], "array", "adjacency of shards"));
  EXPECT_GT(bytes_of(packed["memory"], "array", "codes of a window of lists"), 0);
  json const held = ran(at, what + "--devices 0,1 --device-memory 1GiB --shard-adjacency compressed");
  EXPECT_GT(bytes_of(held["memory"], "array", "compressed adjacency of a shard, at most"), 0);
  EXPECT_LT(bytes_of(held["memory"], "array", "compressed adjacency of a shard, at most"),
            bytes_of(devices["memory"], "array", "adjacency of a shard"));
  EXPECT_EQ(ran(at, what)["shards"].size(), 0u);
  EXPECT_EQ(at.shell(what + "--devices 0,1 --shards 2").code, 2);  // as the training itself
  // Less memory: activations in host memory, then rows by tier, rows of layers, adjacency in host memory.
  std::string const wide = "garner plan kron:14 --algorithm train --width 300 --classes 3 --hidden 256 --full --json --device-memory ";
  json const all = ran(at, wide + "1GiB"), some = ran(at, wide + "140MiB"), tiered = ran(at, wide + "90MiB");
  EXPECT_EQ(all["activations"], "device");
  EXPECT_EQ(some["activations"], "host");
  EXPECT_GT(bytes_of(some["memory"], "array", "rows of a shard"), 0);
  EXPECT_EQ(bytes_of(tiered["memory"], "array", "rows of a shard"), 0);
  EXPECT_LT(some["device_bytes"].get<double>(), 0.7 * all["device_bytes"].get<double>());
  EXPECT_GT(bytes_of(some["memory"], "array", "activations"), 0);
  // A file for them where host memory is short, too.
  std::uint64_t const host = some["host_bytes"].get<std::uint64_t>();
  json const filed = ran(at, wide + fmt::format("140MiB --scratch . --memory-limit {}", host - 1));
  EXPECT_EQ(filed["activations"], "file");
  EXPECT_LT(filed["host_bytes"].get<std::uint64_t>(), host - bytes_of(some["memory"], "array", "activations") / 2);
  EXPECT_EQ(filed["scratch"]["bytes"], bytes_of(some["memory"], "array", "activations"));
  EXPECT_GE(filed["training"]["epoch_ms"]["51"].get<double>(), filed["scratch"]["ms"].get<double>());
  EXPECT_EQ(ran(at, wide + fmt::format("140MiB --scratch . --memory-limit {}", host + 1))["activations"], "host");
  EXPECT_THAT(at.shell(wide + "140MiB --scratch . --activations file").out, HasSubstr("file_bytes"));
  EXPECT_THAT(at.shell(wide + "140MiB --activations device").err, HasSubstr("or keep activations in host memory (--activations host)"));
  // What does not help is left: rows of layers of few columns.
  std::string const narrow = "garner plan kron:19 --algorithm train --width 300 --classes 3 --hidden 16 --model gcn --norm none --full ";
  json const few = ran(at, narrow + "--tier host --activations host --shard-features tiered");
  json const found = ran(at, narrow + fmt::format("--device-memory {}", few["device_bytes"].get<std::uint64_t>()));
  EXPECT_EQ(found["device_bytes"], few["device_bytes"]);
  EXPECT_EQ(bytes_of(found["memory"], "array", "rows of layers"), 0);
  EXPECT_THAT(at.shell(wide + "40MiB").err, HasSubstr("or use more devices"));
  double const both_ways = 2 * bytes_of(some["memory"], "array", "activations");
  EXPECT_EQ(some["training"]["link_bytes"], both_ways);
  EXPECT_GE(some["training"]["epoch_ms"]["12.3"].get<double>(), both_ways / 2 / 12.4e6);
  outcome const no = at.shell(what + "--devices 0,1 --device-memory 100KiB > /dev/null");
  EXPECT_EQ(no.code, 1);
  EXPECT_THAT(no.err, HasSubstr("needs about"));
}

// Host memory is the CPU's own: without a folder for a file the same training is refused.
TEST(training_shards_program, goes_to_a_file_where_host_memory_is_too_small) {
  folder const at;
  write_communities(at, communities(3000, 3, 16));
  std::string const train = "garner train " + files + "--full --model gcn --hidden 64 --layers 3 --epochs 2 -o ";
  ran(at, train + "roomy --shards 1");
  EXPECT_EQ(ran(at, train + "filed --scratch . --memory-limit 8MiB")["shards"]["activations"], "file");
  EXPECT_EQ(read_text(at / "filed"), read_text(at / "roomy"));
  EXPECT_EQ(at.shell(train + "none --memory-limit 8MiB").code, 1);
  EXPECT_THAT(at.shell(train + "none --memory-limit 4MiB --activations host").err,
              HasSubstr("raise the host budget (--memory-limit), keep activations in a file (--activations file --scratch FOLDER), take"));
}

// The strategy is chosen by measuring, reported with its reason, and with deterministic reduction gives equal bits; a checkpoint keeps it.
TEST(training_shards_program, decides_the_way_and_tells_why) {
  folder const at;
  write_communities(at);
  std::string const train = "garner train " + files + "--full --model gcn --epochs 3 --shards 3 ";
  std::string first;
  for (char const* const strategy : {"", "--shard-strategy auto ", "--shard-strategy bulk ", "--shard-strategy collective "}) {
    json const all = ran(at, train + strategy + "-o m");
    if (first.empty()) first = read_text(at / "m");
    EXPECT_EQ(read_text(at / "m"), first) << strategy;
    json const& decided = all["shards"]["decided"];
    bool const decides = *strategy == 0 || std::string(strategy).find("auto") != std::string::npos;
    ASSERT_EQ(decided.is_null(), !decides) << strategy;
    if (!decides) continue;
    EXPECT_EQ(decided["rates_measured"], true);
    EXPECT_EQ(decided["strategies"].size(), 2u);
    EXPECT_EQ(decided["why"].get<std::string>().find(all["shards"]["strategy"].get<std::string>() + ": "), 0u);
    EXPECT_THAT(at.shell(train + strategy).out, HasSubstr("\nstrategy "));
  }
  json const quick = ran(at, train + "--shard-reduction fast");
  EXPECT_EQ(quick["shards"]["decided"]["strategies"].size(), 2u);
  EXPECT_EQ(ran(at, train + "--device simulated")["shards"]["decided"]["rates_measured"], false);
  // What goes on keeps the way that it began with.
  for (char const* const strategy : {"bulk", "collective"}) {
    ran(at, train + "--checkpoint c --shard-strategy " + strategy + " --shard-reduction deterministic");
    json const on = ran(at, "garner train " + files + "--full --model gcn --epochs 5 --shards 3 --resume c");
    EXPECT_EQ(on["shards"]["strategy"], strategy);
    EXPECT_EQ(on["shards"]["decided"], nullptr);
    EXPECT_EQ(on["epochs"].size(), 2u);
  }
}

// A training that cannot fit is rejected with its bytes before adjacency is read; if only timing does not fit, it trains all the same.
TEST(training_shards_program, refuses_what_does_not_fit_before_loading) {
  folder const at;
  write_communities(at, communities(20'000, 3, 8));
  for (char const* const more : {"--shards 3 ", ""}) {
    outcome const o = at.shell("garner train " + files + "--full --hidden 512 --stats --epochs 1 --memory-limit 40MiB " + more);
    EXPECT_EQ(o.code, 1) << more;
    EXPECT_THAT(o.err, HasSubstr("garner: g.gnr: needs about ")) << more;
    EXPECT_THAT(o.err, HasSubstr("and 40.0 MiB (41943040 bytes) are allowed")) << more;
    expect_one_line(o.err);
  }
  json const few = ran(at, "garner train " + files + "--full --hidden 8 --epochs 1 --shards 3 --memory-limit 40MiB");
  EXPECT_EQ(few["shards"]["decided"]["rates_measured"], false);
}

// Shard 0 writes to a slow reader: the others end, and it reports why.
TEST(training_shards_program, a_shard_that_is_late_ends_all) {
  folder const at;
  write_communities(at, communities(60, 3, 8));
  outcome const o = at.shell("(head -c 65536 /dev/zero; garner train " + files +  // the pipe is full
                             "--full --epochs 2 --shards 3 --shard-timeout 0.5) | (sleep 8; cat > /dev/null)");
  EXPECT_THAT(o.err, HasSubstr("rank 0 of 3 has stopped: it was late: the others waited 0.5 seconds for it"));
  expect_one_line(o.err);
}

TEST(training_shards_program, refuses_what_contradicts_itself) {
  folder const at;
  write_communities(at, communities(12, 3, 8));
  auto const says = [&](std::string const& more, int code, std::string const& text) {
    expect_refused(at, "garner train " + files + more, code, text);
  };
  says("--full --shards 0", 2, "--shards 0: use 1 to 16");
  says("--activations host --fanout 5,5", 2, "--activations goes with --full");
  says("--full --activations hots", 2, "activations 'hots': use automatic, device, host or file");
  says("--full --activations file", 2, "--activations file: name a folder on a disk with room for them, with --scratch");
  says("--full --activations host --scratch .", 2, "--scratch .: activations go there");
  says("--scratch . --fanout 5,5", 2, "--scratch .: activations go there");
  for (char const* const where : {"--activations file --scratch none", "--scratch none", "--scratch ''"})
    says(fmt::format("--full {}", where), 2, "is not a folder; name one on a disk with room for activations");
  says("--full --shards 2 --activations host --shard-reduction fast", 2, "activations in host memory");
  says("--full --shard-dtype bf16", 2, "--shard-dtype goes with shards");
  says("--full --group ''", 2, "--group '': use one name");
  write_npy(at, "far.npy", "<i8", std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0, 5'000'000, 2, 0, 1, 2});
  outcome const far = at.shell("garner train g.gnr --features x.npy --labels far.npy --split s.npy --full");
  EXPECT_EQ(far.code, 1);
  EXPECT_THAT(far.err, HasSubstr("far.npy: label 5000000 of node 7 would make more classes than there are nodes (12)"));
  says("--full --layers 65", 2, "--layers 65: use 1 to 64");
  says("--full --lr -1", 2, "--lr");
  says("--full --shards 17", 2, "17 shards: use 1 to 16");
  says("--full --shards 13", 2, "13 shards, and g.gnr has 12 vertices; use at most as many");
  says("--shards 2", 2, "--shards goes with --full");
  says("--shard-strategy bulk", 2, "--shard-strategy goes with --full");
  says("--full --shards 2 --ranks 2", 2, "--ranks");
  says("--full --shards 2 --devices 0,1", 2, "--devices");
  says("--full --shards 2 --group x", 2, "WORLD_SIZE is not set");
  says("--full --shards 2 --shard-transport x", 2, "use automatic, peer, nccl, nvshmem or host");
  says("--shard-transport peer", 2, "--shard-transport goes with --full");
  outcome const other = at.shell("RANK=0 WORLD_SIZE=3 garner train " + files + "--full --shards 2 --group x");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--shards 2 and --group: each shard is a process, and WORLD_SIZE is 3; use --shards 3"));
  says("--full --shards 2 --shard-strategy x", 2, "--shard-strategy x: use auto, bulk or collective");
  says("--full --shards 2 --shard-timeout 0", 2, "--shard-timeout 0: use seconds, more than 0");
  says("--shard-timeout 5", 2, "--shard-timeout goes with --full");
  says("--full --shards 2 --shard-reduction x", 2, "use deterministic or fast");
  says("--full --shards 2 --shard-dtype x", 2, "'x'");
  says("--full --shards 2 --shard-dtype i8", 2, "rows of i8 between shards: use f32, bf16 or f16");
  says("--full --shards 2 --shard-balance x", 2, "edges or vertices");
  says("--full --shards 2 --shard-adjacency x", 2, "--shard-adjacency x: use plain or compressed");
  says("--full --shard-adjacency compressed", 2, "--shard-adjacency goes with shards");
  says("--full --shards 2 --shard-features x", 2, "--shard-features x: use local or tiered");
  says("--full --shard-features tiered", 2, "--shard-features goes with shards");
  says("--full --shards 2 --shard-features tiered --shard-reduction fast", 2,
       "tiered features come in blocks of the deterministic reduction");
  says("--full --shards 2 --shard-features tiered --model gin", 2, "the first layer aggregates them unchanged");
  outcome const types = at.shell("garner train h.json --full --shards 2");
  EXPECT_EQ(types.code, 2);
  EXPECT_THAT(types.err, HasSubstr("are not split"));
}

}  // namespace
}  // namespace garner::testing

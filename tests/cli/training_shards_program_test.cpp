// `garner train --full --shards`: the same model file with any number, what is told of the split, what is refused; and its plan.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/training_files.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
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
  for (char const* const place : {"host", "simulated"})
    for (char const* const n : {"1", "2", "3", "8"}) {
      json const all = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --place " + place + " --shards " + n + " -o m" + n);
      EXPECT_EQ(all["shards"]["count"], std::stoi(n));
      EXPECT_EQ(all["shards"]["sums"], "exact");
      EXPECT_EQ(all["ranks"], 1);
      EXPECT_EQ(all["shards"]["remote_rows"] == 0, std::string(n) == "1");
      if (first.empty()) first = read_text(at / "m1");
      EXPECT_EQ(read_text(at / (std::string("m") + n)), first) << place << n;
    }
  EXPECT_EQ(ran(at, "garner train " + files + "--full --epochs 1")["shards"], nullptr);
  json const mgg = ran(at, "garner train " + files + "--full --epochs 2 --shards 2 --shard-way mgg --mgg 8,2,4 --shard-balance vertices");
  EXPECT_EQ(mgg["shards"]["way"], "mgg");
  EXPECT_EQ(mgg["shards"]["balance"], "vertices");
  json const rounded = ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 3 --shard-wire bf16 -o rounded");
  EXPECT_EQ(rounded["shards"]["wire"], "bf16");
  EXPECT_NE(read_text(at / "rounded"), first);
  outcome const words = at.shell("garner train " + files + "--full --epochs 1 --shards 3");
  EXPECT_THAT(words.out, HasSubstr("shards  3 at host; way bulk, rows of f32, sums exact"));
  EXPECT_THAT(words.out, HasSubstr("times the mean of edges"));
  // A checkpoint goes on.
  ran(at, "garner train " + files + "--full --model gcn --epochs 2 --shards 3 --checkpoint c.ckpt");
  ran(at, "garner train " + files + "--full --model gcn --epochs 3 --shards 3 --resume c.ckpt -o again");
  EXPECT_EQ(read_text(at / "again"), first);
}

TEST(training_shards_program, a_plan_tells_the_bytes_of_each) {
  folder const at;
  write_communities(at);
  std::string const what = "garner plan g.gnr --job train --features x.npy --classes 3 --full ";
  json const p = ran(at, what + "--shards 3");
  ASSERT_EQ(p["shards"].size(), 3u);
  std::uint64_t vertices = 0, edges = 0, bytes = 0, near = 0;
  for (json const& s : p["shards"]) {
    vertices += s["vertices"].get<std::uint64_t>(), edges += s["edges"].get<std::uint64_t>(), bytes += s["bytes"].get<std::uint64_t>();
    EXPECT_GT(s["remote_rows_at_most"], 0);
  }
  for (json const& row : p["memory"])
    if (row["array"] != "offsets" && row["array"] != "lists" && row["array"] != "table of rows") near += row["bytes"].get<std::uint64_t>();
  EXPECT_EQ(vertices, p["vertices"]);
  EXPECT_EQ(edges, p["edges"]);
  EXPECT_EQ(near, bytes);  // all at one place
  json const devices = ran(at, what + "--devices 0,1 --device-memory 1GiB");
  std::uint64_t largest = 0;
  for (json const& s : devices["shards"]) largest = std::max(largest, s["bytes"].get<std::uint64_t>());
  EXPECT_EQ(devices["device_bytes"], largest);
  EXPECT_EQ(ran(at, what)["shards"].size(), 0u);
  outcome const no = at.shell(what + "--devices 0,1 --device-memory 100KiB > /dev/null");
  EXPECT_EQ(no.code, 1);
  EXPECT_THAT(no.err, HasSubstr("needs about"));
}

TEST(training_shards_program, refuses_what_contradicts_itself) {
  folder const at;
  write_communities(at, communities(12, 3, 8));
  auto const says = [&](std::string const& more, int code, char const* text) {
    outcome const o = at.shell("garner train " + files + more);
    EXPECT_EQ(o.code, code) << more;
    EXPECT_THAT(o.err, HasSubstr(text)) << more;
    expect_one_line(o.err);
  };
  says("--full --shards 0", 2, "--shards 0: say 1 or more");
  says("--full --shards 17", 2, "17 shards: say 1 to 16");
  says("--full --shards 13", 2, "13 shards, and g.gnr has 12 vertices; say at most as many");
  says("--shards 2", 2, "--shards is of the whole graph");
  says("--shard-way bulk", 2, "--shard-way is of the whole graph");
  says("--full --shards 2 --ranks 2", 2, "--ranks");
  says("--full --shards 2 --devices 0,1", 2, "--devices");
  says("--full --shards 2 --group x", 2, "--shards and --group");
  says("--full --shards 2 --shard-way x", 2, "bulk, collective or mgg");
  says("--full --shards 2 --shard-sums x", 2, "exact or quick");
  says("--full --shards 2 --shard-wire x", 2, "'x'");
  says("--full --shards 2 --shard-wire i8", 2, "rows of i8 between shards: say f32, bf16 or f16");
  says("--full --shards 2 --shard-balance x", 2, "edges or vertices");
  says("--full --shards 2 --mgg 1,1,1", 2, "--mgg is of --shard-way mgg");
  says("--full --shards 2 --shard-way mgg --mgg 1,1", 2, "--mgg of 2 numbers");
  says("--full --shards 2 --shard-way mgg --mgg 33,1,1", 2, "33 neighbours of a partition (ps): say 1 to 32");
  says("--full --shards 2 --shard-way mgg --shard-sums exact", 2, "it adds by atomics");
  outcome const types = at.shell("garner train h.json --full --shards 2");
  EXPECT_EQ(types.code, 2);
  EXPECT_THAT(types.err, HasSubstr("are not split"));
}

}  // namespace
}  // namespace garner::testing

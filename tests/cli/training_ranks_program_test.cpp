// `garner train` with several ranks: threads and processes give one model; a common checkpoint, rejected options, a process that is killed.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/random.hpp"
#include "files/npy_head.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A graph of 512 vertices, with features, labels and a split.
struct lessons : folder {
  std::string const train = "garner train k.gnr --features x.npy --labels y.npy --split s.npy --fanout 4,3 --batch 40 --quiet ";
  lessons() {
    EXPECT_EQ(shell("garner generate kron --scale 9 k.gnr").code, 0);
    std::string rows, labels, split;
    for (std::uint64_t v = 0; v < 512; ++v) {
      std::int64_t const label = static_cast<std::int64_t>(v % 3);
      labels.append(reinterpret_cast<char const*>(&label), sizeof label);
      split += static_cast<char>(v % 4 == 3 ? 2 : 1);
      for (std::uint64_t c = 0; c < 6; ++c) {
        float const x = unit_float(random_bits(1, v, c)) + (c == v % 3 ? 1.0f : 0.0f);
        rows.append(reinterpret_cast<char const*>(&x), sizeof x);
      }
    }
    write("x.npy", npy_head("<f4", 512, 6) + rows);
    write("y.npy", npy_head("<i8", 512) + labels);
    write("s.npy", npy_head("|u1", 512) + split);
  }
};

TEST(training_ranks_program, threads_and_processes_come_to_one_model_and_go_on_from_a_checkpoint) {
  lessons const at;
  outcome const four = at.shell(at.train + "--ranks 2 --epochs 4 -o four.model --json");
  ASSERT_EQ(four.code, 0) << four.err;
  json const all = json::parse(four.out);
  EXPECT_EQ(all["ranks"], 2);
  EXPECT_EQ(all["epochs"].size(), 4u);
  EXPECT_EQ(all["epochs"][0]["steps"], 5);  // 384 to train
  ASSERT_EQ(at.shell(at.train + "--ranks 2 --epochs 2 --checkpoint c.ck").code, 0);
  ASSERT_EQ(at.shell(at.train + "--ranks 2 --epochs 4 --resume c.ck -o again.model").code, 0);
  EXPECT_EQ(read_text(at / "four.model"), read_text(at / "again.model"));
  outcome const other = at.shell(at.train + "--epochs 4 --resume c.ck");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("ranks"));

  std::string const name = "garner-cli-" + std::to_string(::getpid());
  std::string const process = at.train + "--epochs 4 --group " + name + " -o process.model";
  outcome const both = at.shell("RANK=1 WORLD_SIZE=2 " + process + " > one.txt & RANK=0 WORLD_SIZE=2 " + process + " && wait $!");
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("2 processes"));
  EXPECT_EQ(read_text(at / "one.txt"), "");
  EXPECT_EQ(read_text(at / "four.model"), read_text(at / "process.model"));
}

TEST(training_ranks_program, processes_have_lists_and_rows_in_host_memory_once) {
  lessons const at;
  ASSERT_EQ(at.shell("garner convert x.npy x.gnt").code, 0);
  std::string const name = "garner-cli-m-" + std::to_string(::getpid());
  std::string const process =
      " train k.gnr --features x.gnt --feature-tier host --labels y.npy --split s.npy --fanout 4,3 --batch 40 --quiet "
      "--epochs 1000000 --evaluate-every 0 --group " +
      name;
  // The unnamed memory that each has mapped, by inode.
  outcome const both = at.shell("RANK=0 WORLD_SIZE=2 \"" + program() + "\"" + process + " > zero.txt & first=$!; RANK=1 WORLD_SIZE=2 \"" +
                                program() + "\"" + process +
                                " & second=$!; sleep 2; for p in $first $second; do awk '/memfd:garner/ {print $5}' "
                                "/proc/$p/maps | sort -u > maps.$p; wc -l < maps.$p; done; cat maps.* | sort -u | wc -l; "
                                "ls /dev/shm | grep -c " +
                                name + "; kill -9 $first; wait $second; ls /dev/shm | grep -c " + name);
  EXPECT_EQ(both.out, "2\n2\n2\n0\n0\n") << both.err;  // adjacency and rows in both, the same ones; no file, before and after
  EXPECT_THAT(both.err, HasSubstr("rank 0 of 2 has stopped"));
  // A rank that fails at the start does not block the other.
  // (It must have begun: an earlier one that came and ended is unknown.)
  outcome const refused =
      at.shell("RANK=1 WORLD_SIZE=2 garner" + process + " & second=$!; for k in $(seq 600); do ls /dev/shm | grep -q " + name +
               " && break; sleep 0.05; done; RANK=0 WORLD_SIZE=2 garner train k.gnr "
               "--features nowhere.npy --labels y.npy --split s.npy --fanout 4,3 --group " +
               name + "; wait $second");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("nowhere.npy: cannot be opened"));
  EXPECT_THAT(refused.err, HasSubstr("rank 0 of 2 has stopped"));
}

TEST(training_ranks_program, refuses_what_contradicts_itself) {
  lessons const at;
  auto const says = [&](std::string const& more, int code, char const* text) {
    outcome const o = at.shell(at.train + more);
    EXPECT_EQ(o.code, code) << more;
    EXPECT_THAT(o.err, HasSubstr(text)) << more;
  };
  says("--ranks 0", 2, "--ranks 0: use 1 to 16");
  says("--ranks 17", 2, "17 ranks: use 1 to 16");
  says("--ranks 2 --devices 0,1", 2, "--ranks");
  says("--devices 0 --device simulated", 2, "--devices and --device simulated");
  says("--group x", 2, "RANK is not set");
  says("--ranks 2 --resume nowhere", 1, "--resume nowhere: ");
  outcome const number = at.shell("RANK=one WORLD_SIZE=2 " + at.train + "--group x");
  EXPECT_EQ(number.code, 2);
  EXPECT_THAT(number.err, HasSubstr("RANK is 'one'"));
  outcome const full = at.shell("garner train k.gnr --features x.npy --labels y.npy --split s.npy --full --ranks 2");
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("use --shards 2"));
}

TEST(training_ranks_program, a_process_that_is_killed_is_named_and_interrupts_stop_all) {
  lessons const at;
  std::string const name = "garner-cli-k-" + std::to_string(::getpid()),
                    process = at.train + "--epochs 1000000 --evaluate-every 0 --group " + name;
  outcome const killed = at.shell("RANK=0 WORLD_SIZE=2 " + process + " > zero.txt & first=$!; RANK=1 WORLD_SIZE=2 \"" + program() + "\"" +
                                  process.substr(6) + " & second=$!; sleep 1; kill -9 $second; wait $first");
  EXPECT_EQ(killed.code, 1);
  EXPECT_THAT(killed.err, HasSubstr("rank 1 of 2 has stopped: its process ended"));
  how_to_run how;
  how.interrupt_after = std::chrono::milliseconds(800);
  outcome const stopped = at.garner(
      {"train", "k.gnr",   "--features", "x.npy", "--labels", "y.npy",   "--split",          "s.npy", "--fanout",     "4,3", "--batch",
       "40",    "--quiet", "--ranks",    "3",     "--epochs", "1000000", "--evaluate-every", "0",     "--checkpoint", "c.ck"},
      how);
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("continue from c.ck with --resume c.ck"));
  outcome const on = at.shell(at.train + "--ranks 3 --resume c.ck --evaluate-every 0 --epochs 1");
  EXPECT_EQ(on.code, 0) << on.err;
}

}  // namespace
}  // namespace garner::testing

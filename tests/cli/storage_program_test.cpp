// Tables larger than memory through the program, interrupted and out of memory; and drives measured.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "files/npy_head.hpp"
#include "sanitized.hpp"

namespace garner::testing {
namespace {

void write_rows(folder const& at, std::uint64_t rows) {
  std::ofstream out(at / "x.npy", std::ios::binary);
  out << npy_head("<f4", rows, 256);
  std::vector<float> row(256);
  for (std::uint64_t k = 0; k < rows; ++k) {
    std::fill(row.begin(), row.end(), static_cast<float>(k));
    out.write(reinterpret_cast<char const*>(row.data()), 1024);
  }
}

TEST(rows_of_any_size, take_little_memory) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps books of its own";
  folder const at;
  write_rows(at, 400'000);  // 400 MB
  outcome const there = at.garner({"convert", "x.npy", "x.gnt"});
  ASSERT_EQ(there.code, 0) << there.err;
  outcome const back = at.garner({"convert", "x.gnt", "y.npy"});
  ASSERT_EQ(back.code, 0) << back.err;
  EXPECT_LT(std::max(there.peak_bytes, back.peak_bytes), 100u << 20);
  EXPECT_EQ(at.shell("cmp x.npy y.npy").code, 0);
}

TEST(rows_of_any_size, stopped_or_without_room_leave_nothing) {
  folder const at;
  write_rows(at, 100'000);
  how_to_run small;
  small.file_bytes = 10u << 20;
  outcome const full = at.shell("trap '' XFSZ; garner convert x.npy x.gnt", small);
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_NE(full.err.find("x.gnt: writing failed at byte"), std::string::npos) << full.err;
  how_to_run stopped;
  stopped.interrupt_after = std::chrono::milliseconds(15);
  int heard = 0;
  for (int tries = 0; tries < 20; ++tries, *stopped.interrupt_after += std::chrono::milliseconds(heard ? 10 : 40)) {
    outcome const o = at.garner({"convert", "x.npy", "x.gnt"}, stopped);
    if (o.code == 0) break;  // it was faster
    EXPECT_EQ(at.names(), std::vector<std::string>{"x.npy"});
    if (o.code == -SIGINT) continue;  // its handler was not installed yet
    EXPECT_EQ(o.code, 1);
    EXPECT_NE(o.err.find("interrupted"), std::string::npos) << o.err;
    ++heard;
  }
  EXPECT_GT(heard, 0);
}

// Ctrl-C while mini-batches wait for thousands of reads: one line, and no file is left.
TEST(rows_of_any_size, stopped_while_a_training_reads_them) {
  folder const at;
  write_rows(at, 1 << 16);
  ASSERT_EQ(at.garner({"generate", "kron", "k.gnr", "--scale", "16"}).code, 0);
  ASSERT_EQ(at.garner({"convert", "x.npy", "x.gnt"}).code, 0);
  how_to_run stopped;
  stopped.interrupt_after = std::chrono::milliseconds(150);
  int heard = 0;
  for (int tries = 0; tries < 6; ++tries, *stopped.interrupt_after += std::chrono::milliseconds(150)) {
    outcome const o = at.garner({"load", "k.gnr", "--features", tries % 2 ? "x.gnt" : "x.npy", "--feature-tier", "file", "--host-cache",
                                 "40%", "--share", "100%", "--batch", "100", "--fanout", "5,5", "--epochs", "50", "--quiet"},
                                stopped);
    EXPECT_EQ(at.names(), (std::vector<std::string>{"k.gnr", "x.gnt", "x.npy"}));
    if (o.code == -SIGINT) continue;  // its handler was not installed yet
    EXPECT_EQ(o.code, 1) << o.out;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find("interrupted"), std::string::npos) << o.err;
    ++heard;
  }
  EXPECT_GT(heard, 0);
}

TEST(drives, are_measured) {
  folder const at;
  std::filesystem::create_directory(at / "d");
  std::ofstream(at / "f", std::ios::binary) << std::string(300'000, 'x');
  outcome const o = at.garner({"info", "--drives", "f,d", "--quick", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  auto const drives = nlohmann::json::parse(o.out)["drives"];
  ASSERT_EQ(drives.size(), 2u);
  EXPECT_EQ(drives[0]["bytes"], 300'000);
  EXPECT_EQ(drives[0]["reads"][0]["request_bytes"], 512);
  EXPECT_EQ(drives[1]["bytes"], 64u << 20);
  for (auto const& d : drives) {
    EXPECT_GT(d["latency_us"], 0);
    EXPECT_GT(d["requests_per_second"], 100);
    for (auto const& r : d["reads"]) {
      EXPECT_GT(r["requests_per_second"], 0);
      EXPECT_GE(r["p99_us"], r["median_us"]);
      EXPECT_NEAR(r["gbs"].get<double>(), r["requests_per_second"].get<double>() * r["request_bytes"].get<double>() / 1e9, 1e-6);
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(at / "d"));
  outcome const text = at.garner({"info", "--drives", "f", "--quick"});
  EXPECT_NE(text.out.find("drive    f: f, "), std::string::npos) << text.out;
  std::ofstream(at / "tiny", std::ios::binary) << "x";
  EXPECT_NE(at.garner({"info", "--drives", "tiny"}).err.find("tiny: 1 bytes are too few to measure"), std::string::npos);
  EXPECT_NE(at.garner({"info", "--drives", "nix"}).err.find("nix: cannot be opened"), std::string::npos);
}

// Adjacency in the file: the figures of the same run over host memory, and the bytes read.
TEST(file_edges_program, tells_what_it_read) {
  folder at;
  ASSERT_EQ(at.garner({"generate", "kron", "--scale", "12", "--random-weights", "1:9", "g.gnr"}).code, 0);
  ASSERT_EQ(at.garner({"convert", "g.gnr", "p.gnr", "--compress"}).code, 0);
  for (std::string const file : {"g.gnr", "p.gnr"})
    for (std::string const job : {"bfs", "sssp", "components", "pagerank"}) {
      SCOPED_TRACE(job + " " + file);
      auto const run = [&](std::string const& tier) {
        outcome const o = at.garner({job, file, "--tier", tier, "--verify", "--json", "--memory-limit", "64MB"});
        EXPECT_EQ(o.code, 0) << o.err;
        return nlohmann::json::parse(o.out);
      };
      auto const near = run("host"), far = run("file");
      EXPECT_EQ(far["tier"], "file");
      EXPECT_EQ(far["verified"], true);
      auto const &a = job == "pagerank" ? near : near["runs"][0], &b = job == "pagerank" ? far : far["runs"][0];
      EXPECT_TRUE(a["adjacency_reads"].is_null());
      // The cached best neighbors determine all components of this graph.
      EXPECT_EQ(b["adjacency_reads"]["bytes"].get<std::uint64_t>() == 0, job == "components");
      for (char const* same : {"reached", "depth_sum", "distance_sum", "components", "largest", "iterations", "rank_sum"})
        if (a.contains(same)) {
          EXPECT_EQ(a[same], b[same]) << same;
        }
      outcome const said = at.garner({job, file, "--tier", "file"});
      EXPECT_NE(said.out.find("edges in tier file"), std::string::npos) << said.out;
      EXPECT_NE(said.out.find("file    "), std::string::npos) << said.out;
    }
  outcome const small = at.garner({"bfs", "g.gnr", "--tier", "file", "--memory-limit", "200KiB"});
  EXPECT_EQ(small.code, 1);
  EXPECT_NE(small.err.find("raise the host budget"), std::string::npos) << small.err;
  outcome const made = at.garner({"bfs", "kron:8", "--tier", "file"});
  EXPECT_EQ(made.code, 2);
  EXPECT_NE(made.err.find("lies in no file"), std::string::npos) << made.err;
  outcome const loaded = at.garner({"load", "g.gnr", "--tier", "file", "--width", "8", "--batches", "2", "--verify"});
  EXPECT_EQ(loaded.code, 0) << loaded.err;
  outcome const planned = at.garner({"plan", "p.gnr", "--algorithm", "pagerank", "--device", "cpu", "--tier", "file"});
  EXPECT_NE(planned.out.find("is read from it per iteration"), std::string::npos) << planned.out;
}

}  // namespace
}  // namespace garner::testing

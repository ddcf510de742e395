// `garner-lab traffic` counts what the algorithm counts; `garner-lab trace` records what a training reads.
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

char const* const jobs[] = {"bfs", "sssp", "components", "pagerank"};

void generate(folder const& at) {
  outcome const o = at.shell("garner generate kron --scale 12 --random-weights 1:9 k.gnr");
  ASSERT_EQ(o.code, 0) << o.err;
}
json run(folder const& at, std::string const& line) {
  outcome const o = at.shell(line + " --json");
  EXPECT_EQ(o.code, 0) << line << ": " << o.err;
  return o.code ? json() : json::parse(o.out);
}

TEST(traffic_program, knows_what_packed_lists_take) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate uniform --scale 13 --compress p.gnr").code, 0);
  std::uint64_t const planned =
      run(at, "garner plan p.gnr --algorithm bfs --variant levels --device simulated --graph-cache 0").at("host_bytes");
  outcome const o = at.shell("garner-lab traffic bfs p.gnr --memory-limit " + std::to_string(planned * 3 / 4));
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("p.gnr: needs about"), std::string::npos) << o.err;  // at the start, not at some later allocation
  EXPECT_EQ(at.shell("garner-lab traffic bfs p.gnr --memory-limit " + std::to_string(planned * 11 / 10)).code, 0);
  // Also scores and traces: compressed adjacency takes less than uncompressed.
  EXPECT_EQ(at.shell("garner score p.gnr --by degree --memory-limit " + std::to_string(planned * 11 / 10)).code, 0);
}

TEST(traffic_program, counts_what_the_job_counts) {
  folder const at;
  generate(at);
  std::map<std::string, std::string> const same{{"bfs", "bfs k.gnr --source 5 --variant levels"},
                                                {"sssp", "sssp k.gnr --source 5"},
                                                {"components", "components k.gnr"},
                                                {"pagerank", "pagerank k.gnr --iterations 1"}};
  for (std::string const l2 : {"0", "64KiB"})
    for (std::string const job : jobs) {
      SCOPED_TRACE(job + " " + l2);
      bool const searches = job == "bfs" || job == "sssp";
      json const all = run(at, "garner-lab traffic " + job + " k.gnr --l2-bytes " + l2 + (searches ? " --source 5" : ""));
      for (char const* key : {"file", "graph", "vertices", "edges", "id_bytes", "algorithm", "variant", "source", "iterations", "l2_bytes",
                              "data_bytes", "runs"})
        EXPECT_TRUE(all.contains(key)) << key;
      ASSERT_EQ(all.at("runs").size(), 4u);
      for (json const& r : all.at("runs")) {
        std::string const access = r.at("access");
        json const own =
            run(at, "garner-lab run " + same.at(job) + " --device simulated --graph-cache 0 --l2-bytes " + l2 + " --access " + access);
        json const& seen = own.contains("runs") ? own.at("runs").at(0) : own;
        EXPECT_EQ(r.at("bytes_link"), seen.at("bytes_link")) << access;
        for (char const* size : {"32", "64", "96", "128"}) EXPECT_EQ(r.at("requests").at(size), seen.at("requests").at(size)) << access;
        EXPECT_EQ(r.at("pages"), seen.at("requests").at("pages"));
        EXPECT_EQ(r.at("overfetch"), seen.at("overfetch"));
        bool const paged = access == "paged";
        EXPECT_EQ(r.at("ms").at("51").is_null(), paged);
        if (paged) continue;
        EXPECT_GT(r.at("ms").at("12.3"), r.at("ms").at("51"));
        EXPECT_EQ(r.at("sectors").get<std::uint64_t>() * 32, r.at("bytes_link"));
      }
    }
  json const one = run(at, "garner-lab traffic pagerank k.gnr --access merged --iterations 3");
  ASSERT_EQ(one.at("runs").size(), 1u);
  EXPECT_EQ(one.at("runs").at(0).at("edges"), 3 * one.at("edges").get<std::uint64_t>());
}

// Planned reads of a file equal the algorithm's, in all and step by step.
TEST(traffic_program, tells_what_is_read_of_a_file) {
  folder const at;
  generate(at);
  std::map<std::string, std::string> const same{{"bfs", "bfs k.gnr --source 5 --variant levels"},
                                                {"bfs direction", "bfs k.gnr --source 5 --variant direction"},
                                                {"sssp", "sssp k.gnr --source 5"},
                                                {"components", "components k.gnr"},
                                                {"pagerank", "pagerank k.gnr --iterations 3"}};
  for (auto const& [name, line] : same) {
    SCOPED_TRACE(name);
    std::string const job = name.substr(0, name.find(' '));
    std::string const more = name != job ? " --source 5 --variant direction" : job == "bfs" || job == "sssp" ? " --source 5" : "";
    json const all = run(at, "garner-lab traffic " + job + " k.gnr --tier file" + more + (job == "pagerank" ? " --iterations 3" : ""));
    EXPECT_EQ(all.at("tier"), "file");
    ASSERT_EQ(all.at("runs").size(), 3u);  // no pages of it are moved
    for (json const& r : all.at("runs")) {
      json const own = run(
          at, "garner-lab run " + line + " --device simulated --tier file --graph-cache 0 --access " + r.at("access").get<std::string>());
      json const& seen = (own.contains("runs") ? own.at("runs").at(0) : own).at("adjacency_reads");
      json const& read = r.at("adjacency_reads");
      for (char const* key : {"requests", "bytes", "bytes_requested", "bytes_of_blocks", "overfetch", "share_of_adjacency"})
        EXPECT_EQ(read.at(key), seen.at(key)) << key;
      EXPECT_FALSE(read.at("steps").empty());
      for (char const* key : {"requests", "bytes", "bytes_requested", "bytes_of_blocks"}) {
        std::uint64_t sum = 0;
        for (json const& step : read.at("steps")) sum += step.at(key).get<std::uint64_t>();
        EXPECT_EQ(sum, read.at(key)) << key;
      }
    }
    EXPECT_TRUE(run(at, "garner-lab traffic " + job + " k.gnr --access merged" + more).at("runs").at(0).at("adjacency_reads").is_null());
  }
  outcome const text = at.shell("garner-lab traffic bfs k.gnr --source 5 --tier file --access aligned");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("aligned, from the file: "), std::string::npos) << text.out;
  for (std::string const bad : {"bfs k.gnr --tier device", "bfs k.gnr --tier file --access paged", "bfs k.gnr --tier moon", "tour k.gnr",
                                "bfs k.gnr --access copied --variant direction", "pagerank k.gnr --access copied",
                                "bfs k.gnr --iterations 2", "components k.gnr --source 1", "bfs k.gnr --access bulk"}) {
    outcome const o = at.shell("garner-lab traffic " + bad);
    EXPECT_EQ(o.code, 2) << bad;
    expect_one_line(o.err);
  }
}

TEST(traffic_program, prints_a_table) {
  folder const at;
  generate(at);
  outcome const o = at.shell("garner-lab traffic bfs k.gnr --source 5");
  EXPECT_EQ(o.code, 0);
  for (char const* word : {"strided", "merged", "aligned", "paged", "12.3 GB/s", "24 GB/s", "51 GB/s", "128 B"})
    EXPECT_NE(o.out.find(word), std::string::npos) << word;
  EXPECT_NE(o.out.find("no time here"), std::string::npos);  // no link was measured in this folder
}

TEST(trace_program, records_what_a_training_reads) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 9 k.gnr && printf '3\\n# none\\n7 # seven\\n\\n' > train.txt").code, 0);
  outcome const o = at.shell("garner-lab trace k.gnr --fanout 5,5 --train train.txt --epochs 3 --keep-features --json -o t.gtr");
  ASSERT_EQ(o.code, 0) << o.err;
  json const all = json::parse(o.out);
  EXPECT_EQ(all["training_nodes"], 2);
  EXPECT_EQ(all["batches"], 3);
  EXPECT_EQ(read_text(at / "t.gtr").substr(0, 8), "GARNERTR");
  EXPECT_EQ(at.shell("garner-lab trace k.gnr --fanout 5,5 --train train.txt --epochs 3 --keep-features -o u.gtr && cmp t.gtr u.gtr").code,
            0);
  EXPECT_EQ(at.shell("garner-lab trace k.gnr --fanout 5,5 --train train.txt -o t.npy").code, 0);
  EXPECT_EQ(read_text(at / "t.npy").substr(1, 5), "NUMPY");
}

TEST(trace_program, refuses) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 8 k.gnr && printf '1 2\\n2 3\\n' > d.el && garner convert d.el d.gnr --directed && "
                     "printf '1\\nx\\n' > bad.txt && printf '99999\\n' > far.txt && : > none.txt")
                .code,
            0);
  at.write("t.npy", std::string("\x93NUMPY\x01\0", 8));  // lists of ids are text
  // Before the file is loaded: this one would be refused as damaged.
  std::string spoilt = read_text(at / "k.gnr");
  spoilt[spoilt.size() / 2] = static_cast<char>(spoilt[spoilt.size() / 2] ^ 1);
  at.write("spoilt.gnr", spoilt);
  auto const says = [&](std::string const& line, int code, std::string const& what) {
    outcome const o = at.shell(line);
    EXPECT_EQ(o.code, code) << line << ": " << o.err;
    EXPECT_NE(o.err.find(what), std::string::npos) << line << ": " << o.err;
    expect_one_line(o.err);
  };
  says("garner-lab trace k.gnr --fanout 1025", 2, "fanout 1025");
  says("garner-lab trace k.gnr --train t.npy", 1, "t.npy: line 1: '\\x93NUMPY\\x01\\x00' is not a node id");
  says("garner-lab trace k.gnr --fanout 2,2,2,2,2,2,2", 2, "7 hops");
  says("garner-lab trace k.gnr --fanout 2,x", 2, "2,x");
  says("garner-lab trace k.gnr --train 0%", 2, "0%");
  says("garner-lab trace k.gnr --train 101%", 2, "101%");
  says("garner-lab trace k.gnr --train bad.txt", 1, "line 2");
  says("garner-lab trace k.gnr --train far.txt", 1, "99999");
  says("garner-lab trace k.gnr --train none.txt", 1, "names no node");
  says("garner-lab trace k.gnr --batch 0", 2, "--batch 0");
  says("garner-lab trace k.gnr --epochs 0", 2, "0 epochs");
  says("garner-lab trace k.gnr --rule most", 2, "all");
  says("garner-lab trace k.gnr --keep-features -o c.npy", 2, ".gtr");
  says("garner-lab trace k.gnr --keep-features", 2, "-o FILE.gtr");
  EXPECT_NE(at.shell("garner-lab trace d.gnr --train 100%").out.find("in-edges: not in the file; built in"), std::string::npos);
  says("garner-lab trace k.gnr -o k.gnr", 2, "the graph itself");
  says("garner-lab trace k.gnr --train 100% --memory-limit 120KiB", 1, "k.gnr: needs about");
  says("garner-lab trace spoilt.gnr --epochs 0", 2, "epochs");
  says("garner-lab trace spoilt.gnr --access copied", 2, "--access");
}

}  // namespace
}  // namespace garner::testing

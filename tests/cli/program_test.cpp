// The program's behavior that transcripts cannot show: signals, full disks, closed pipes, out of memory, JSON, and known figures of
// real graphs.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"
#include "sanitized.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

void generate(folder const& at, std::string const& file, std::string const& more = "--scale 10") {
  outcome const o = at.shell("garner generate kron " + more + " " + file);
  ASSERT_EQ(o.code, 0) << o.err;
}

TEST(interrupt, leaves_no_file) {
  folder const at;
  outcome const o = at.garner({"generate", "kron", "--scale", sanitized ? "14" : "18", "k.gnr"},
                              {.file_bytes = {}, .address_bytes = {}, .interrupt_after = std::chrono::milliseconds(100)});
  EXPECT_EQ(o.code, 1) << o.out << o.err;
  expect_one_line(o.err);
  EXPECT_NE(o.err.find("interrupted"), std::string::npos) << o.err;
  EXPECT_TRUE(at.names().empty()) << ::testing::PrintToString(at.names());
}

TEST(full_disk, leaves_no_half_file) {
  folder const at;
  generate(at, "k.gnr", "--scale 14");
  std::vector<std::string> const before = at.names();
  for (std::string const line : {"garner generate kron --scale 14 new.gnr", "garner convert k.gnr new.el", "garner convert k.gnr new.gnr",
                                 "garner reorder k.gnr new.gnr", "garner convert k.gnr new.bel", "garner convert k.gnr new.sg.gz",
                                 "garner bfs k.gnr --out new.txt", "garner convert k.gnr k.gnr --id-bytes 8"}) {
    outcome const o = at.shell(line, {.file_bytes = 100'000, .address_bytes = {}, .interrupt_after = {}});
    EXPECT_EQ(o.code, 1) << line << o.out;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find("File too large"), std::string::npos) << o.err;
    EXPECT_EQ(at.names(), before) << line;
  }
  EXPECT_EQ(at.shell("garner stats k.gnr --check").code, 0) << "the old file stands as it was";
}

TEST(target, among_devices_and_processes_is_refused) {
  if (::geteuid() == 0) GTEST_SKIP() << "a program that fails this would spoil /dev for root";
  folder const at;
  generate(at, "k.gnr");
  for (std::string const name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    outcome const o = at.shell("garner convert k.gnr --to el " + name + " > out.txt");
    EXPECT_EQ(o.code, 1) << name;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find("cannot hold a result"), std::string::npos) << o.err;
  }
}

TEST(full_disk, of_standard_output_is_an_error) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  folder const at;
  generate(at, "k.gnr");
  for (std::string const line :
       {"garner bfs k.gnr", "garner bfs k.gnr --json", "garner generate kron --scale 8 n.gnr", "garner convert k.gnr n.el", "garner --help",
        "garner --version", "garner bfs --help", "garner stats k.gnr", "garner stats k.gnr --json"}) {
    outcome const o = at.shell(line + " > /dev/full");
    EXPECT_EQ(o.code, 1) << line;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find("No space left"), std::string::npos) << line << ": " << o.err;
  }
}

TEST(pipe, whose_reader_has_gone_is_quiet) {
  folder const at;
  generate(at, "k.gnr");
  outcome const o =
      at.shell("{ sleep 0.2; garner bfs k.gnr --trials 50; echo $? > code; } | true; sleep 0.1; while [ ! -s code ]; do sleep 0.05; done");
  EXPECT_EQ(read_text(at / "code"), "1\n");
  EXPECT_EQ(o.err, "");
}

TEST(memory, that_ends_is_one_line) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs the address space itself";
  folder const at;
  outcome const o = at.garner({"generate", "kron", "--scale", "22", "--quiet", "k.gnr"},
                              {.file_bytes = {}, .address_bytes = 600'000'000, .interrupt_after = {}});
  EXPECT_EQ(o.code, 1) << o.out;
  expect_one_line(o.err);
  EXPECT_TRUE(at.names().empty()) << ::testing::PrintToString(at.names());
}

TEST(permission, that_is_missing_is_said) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  folder const at;
  generate(at, "k.gnr");
  ASSERT_EQ(at.shell("chmod 0 k.gnr").code, 0);
  outcome const o = at.shell("garner bfs k.gnr");
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_NE(o.err.find("Permission denied"), std::string::npos) << o.err;
}

TEST(gpu, that_is_not_there_is_said) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  folder const at;
  generate(at, "k.gnr");
  for (std::string const line : {"garner bfs k.gnr --device cuda", "garner bfs k.gnr --device cuda:3 --tier device",
                                 "garner generate kron --scale 8 --device cuda n.gnr"}) {
    outcome const o = at.shell(line);
    EXPECT_EQ(o.code, 1) << line;
    expect_one_line(o.err);
    EXPECT_NE(o.err.find("use device cpu"), std::string::npos) << "what to try is missing: " << o.err;
  }
}

TEST(common, stats_and_quiet) {
  folder const at;
  generate(at, "k.gnr");
  outcome const plain = at.shell("garner bfs k.gnr --quiet"), told = at.shell("garner bfs k.gnr --stats");
  EXPECT_EQ(plain.err, "");
  EXPECT_NE(told.err.find("bfs.levels"), std::string::npos) << told.err;
  EXPECT_NE(told.err.find("bfs.arcs"), std::string::npos) << told.err;
  EXPECT_NE(told.err.find("memory.host_peak"), std::string::npos) << told.err;
  EXPECT_EQ(told.err.find("memory.device_"), std::string::npos) << told.err;  // none was taken
}

TEST(json, has_what_it_promises) {
  folder const at;
  generate(at, "k.gnr", "--scale 10 --id-bytes 8");
  for (std::string const place : {"cpu", "simulated"}) {
    SCOPED_TRACE(place);
    outcome const o = at.shell("garner bfs k.gnr --trials 3 --verify --json --device " + place);
    ASSERT_EQ(o.code, 0) << o.err;
    json const j = json::parse(o.out);
    EXPECT_EQ(j.at("vertices"), 1024);
    EXPECT_GT(j.at("edges"), 10000);
    EXPECT_EQ(j.at("device"), place);
    EXPECT_EQ(j.at("tier"), "host");
    EXPECT_EQ(j.at("access"), "aligned");
    EXPECT_EQ(j.at("id_bytes"), 8);
    EXPECT_EQ(j.at("verified"), true);
    EXPECT_EQ(j.at("vertices_per_team"), 1);
    EXPECT_EQ(j.at("split_hubs"), true);
    EXPECT_TRUE(j.contains("graph_cache") && j.contains("host_budget"));
    ASSERT_EQ(j.at("runs").size(), 3u);
    for (json const& r : j.at("runs")) {
      for (char const* key :
           {"source", "reached", "depth_max", "depth_sum", "ms", "gteps", "bytes_link", "amplification", "overfetch", "requests", "levels"})
        EXPECT_TRUE(r.contains(key)) << key;
      ASSERT_EQ(r.at("levels").size(), r.at("depth_max").get<std::size_t>() + 1);
      std::uint64_t reached = 0, bytes = 0;
      for (json const& l : r.at("levels")) {
        reached += l.at("frontier").get<std::uint64_t>();
        if (place == "simulated") bytes += l.at("bytes_link").get<std::uint64_t>();
        EXPECT_TRUE(l.contains("ms") && l.contains("edges"));
        EXPECT_TRUE(l.at("gbs").is_null());
      }
      EXPECT_EQ(r.at("reached"), reached);
      if (place == "cpu") {
        for (char const* key : {"bytes_link", "amplification", "overfetch", "requests"}) EXPECT_TRUE(r.at(key).is_null()) << key;
      } else {
        json const& q = r.at("requests");
        std::uint64_t const sent = 32 * q.at("32").get<std::uint64_t>() + 64 * q.at("64").get<std::uint64_t>() +
                                   96 * q.at("96").get<std::uint64_t>() + 128 * q.at("128").get<std::uint64_t>();
        EXPECT_EQ(r.at("bytes_link"), sent);
        EXPECT_EQ(q.at("pages"), 0);
        EXPECT_EQ(bytes, sent);
        EXPECT_NEAR(r.at("amplification").get<double>(), static_cast<double>(sent) / (8 * j.at("edges").get<double>()), 1e-9);
      }
    }
  }
  EXPECT_EQ(json::parse(at.shell("garner bfs k.gnr --json").out).at("verified"), false);
}

TEST(sources, that_were_saved_give_the_same_searches) {
  folder const at;
  generate(at, "k.gnr");
  json const a = json::parse(at.shell("garner bfs k.gnr --trials 5 --seed 9 --save-sources s.txt --json").out);
  json const b = json::parse(at.shell("garner bfs k.gnr --sources s.txt --json --device simulated").out);
  ASSERT_EQ(a.at("runs").size(), b.at("runs").size());
  for (std::size_t k = 0; k < 5; ++k)
    for (char const* key : {"source", "reached", "depth_sum"}) EXPECT_EQ(a["runs"][k][key], b["runs"][k][key]);
}

// Known figures of real graphs, which are next to the repository or missing.
struct known {
  char const *file, *options;
  std::uint64_t source, reached;
  int depth;
  std::uint64_t sum;
};
class real_graph : public ::testing::TestWithParam<known> {};

TEST_P(real_graph, has_its_known_figures) {
  known const& k = GetParam();
  std::filesystem::path const file = std::filesystem::path(GARNER_SOURCE_DIR) / "../shared/data" / k.file;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs ../shared/data/" << k.file;
  folder const at;
  outcome const c = at.shell("garner convert '" + file.string() + "' g.gnr " + k.options);
  ASSERT_EQ(c.code, 0) << c.err;
  outcome const p = at.shell("garner convert '" + file.string() + "' p.gnr --compress " + k.options);
  ASSERT_EQ(p.code, 0) << p.err;
  for (std::string const more :
       {"g.gnr", "g.gnr --device simulated", "g.gnr --tier file", "p.gnr --tier file", "g.gnr --tier file --no-check --variant levels"}) {
    SCOPED_TRACE(more);
    outcome const o = at.shell("garner bfs --verify --json --source " + std::to_string(k.source) + " " + more);
    ASSERT_EQ(o.code, 0) << o.err;
    json const run = json::parse(o.out).at("runs").at(0);
    EXPECT_EQ(run.at("reached"), k.reached);
    EXPECT_EQ(run.at("depth_max"), k.depth);
    EXPECT_EQ(run.at("depth_sum"), k.sum);
    EXPECT_EQ(run.at("verified"), true);
  }
}
INSTANTIATE_TEST_SUITE_P(of, real_graph,
                         ::testing::Values(known{"soc-Epinions1/soc-Epinions1.txt.gz", "", 645, 47676, 9, 137602},
                                           known{"soc-Epinions1/soc-Epinions1.txt.gz", "--undirected", 645, 75877, 8, 208277},
                                           known{"web-NotreDame/web-NotreDame.txt.gz", "", 7137, 325729, 48, 1886024},
                                           known{"web-NotreDame/web-NotreDame.txt.gz", "--undirected", 7137, 325729, 25, 1294347},
                                           known{"wiki-Vote/wiki-Vote.txt", "", 2565, 2316, 4, 4050},
                                           known{"wiki-Vote/wiki-Vote.txt", "--undirected --compact", 2565, 7066, 4, 14395},
                                           known{"email-Enron/email-Enron.txt", "--skip-lines 1", 5038, 33696, 8, 107294},
                                           known{"facebook_combined/facebook_combined.txt", "--skip-lines 1 --undirected", 107, 4039, 5,
                                                 8784},
                                           known{"USA-road-d.NY/USA-road-d.NY.gr.zst", "", 140961, 264346, 415, 56509180}));

TEST(info, tells_the_machine_and_the_build) {
  folder const at;
  outcome const o = at.shell("XDG_CACHE_HOME=cache garner info --json --quick");
  ASSERT_EQ(o.code, 0) << o.err;
  json const j = json::parse(o.out);
  for (char const* key : {"version", "build", "host", "devices"}) EXPECT_TRUE(j.contains(key)) << key;
  EXPECT_EQ(j.at("devices").size(), static_cast<std::size_t>(device::count()));
  EXPECT_GE(j.at("host").at("threads").get<int>(), 1);
  EXPECT_NE(j.at("build").at("algorithms").dump().find("bfs"), std::string::npos);
  outcome const text = at.shell("XDG_CACHE_HOME=cache garner info --quick");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("host"), std::string::npos);
}

TEST(demo, verifies_every_row_and_leaves_nothing) {
  folder const at;
  outcome const o = at.shell("TMPDIR=$PWD XDG_CACHE_HOME=cache garner demo --scale 9 --quiet");
  ASSERT_EQ(o.code, 0) << o.err;
  for (char const* word : {"cpu", "simulated", "edges in", "remote MB", "GraphSAGE", "10 % cached", "bit for bit"})
    EXPECT_NE(o.out.find(word), std::string::npos) << word;
  for (std::string const& name : at.names()) EXPECT_EQ(name.find(".gnr"), std::string::npos) << name;
}

// What only the papers' figures use is in none of the user's verbs, and says where it went.
TEST(options, of_the_papers_belong_to_garner_lab) {
  folder const at;
  for (auto const& [line, what] : {std::pair<std::string, std::string>{"bfs kron:8 --access merged", "--access"},
                                   {"bfs kron:8 --device simulated --l2-bytes=1MiB", "--l2-bytes"},
                                   {"sssp kron:8 --no-split", "--no-split"},
                                   {"pagerank kron:8 --variant emogi", "--variant emogi"},
                                   {"plan kron:8 --algorithm components --device cpu --variant=emogi", "--variant emogi"},
                                   {"load kron:8 --width 4 --strategy staged", "--strategy staged"},
                                   {"load kron:8 --width 4 --way zero_copy", "--strategy zero_copy"},
                                   {"load kron:8 --width 4 --cache-policy clock", "--cache-policy clock"},
                                   {"load kron:8 --width 4 --reads kernels", "--reads"},
                                   {"train kron:8 --merge-reads 4", "--merge-reads"},
                                   {"train kron:8 --full --shards 2 --shard-strategy mgg", "--shard-strategy mgg"},
                                   {"train kron:8 --full --shards 2 --mgg 16,1,4", "--mgg"}}) {
    outcome const o = at.shell("garner " + line);
    EXPECT_EQ(o.code, 2) << line;
    EXPECT_TRUE(o.err.ends_with("garner: " + what + " belongs to garner-lab, which `make lab` builds from the sources\n")) << o.err;
  }
  std::string const shown = at.shell("garner --reference; garner man; garner completion bash; garner completion zsh").out;
  for (std::string const word :
       {"--access", "--l2-bytes", "--no-split", "--slice", "--mgg", "--reads", "emogi", "zero_copy", "staged", "mgg"})
    for (char const* const end : {" ", "`", "|", "[", ",", "'", ")"}) EXPECT_EQ(shown.find(word + end), std::string::npos) << word;
}

// Names before 0.1.0 do what the new ones do; a line on stderr says which is new, and nothing else shows the old ones.
TEST(options, that_had_other_names_are_still_taken) {
  folder const at;
  auto const same = [&](std::string const& now, std::string const& before, std::string const& notes) {
    outcome const n = at.shell("garner " + now), b = at.shell("garner " + before);
    EXPECT_EQ(n.code, 0) << n.err;
    EXPECT_EQ(n.err, "") << now;
    EXPECT_EQ(b.out, n.out) << before;
    EXPECT_EQ(b.err, notes) << before;
  };
  auto const is_now = [](std::string const& was, std::string const& is) { return "garner: " + was + " is now " + is + "\n"; };
  same("plan kron:8 --algorithm bfs --device cuda:1 --graph-cache 1KiB --device-memory 1GiB",
       "plan kron:8 --job=bfs --place device:1 --device-budget 1KiB --device-memory 1GiB",
       is_now("--job", "--algorithm") + is_now("--place", "--device") + is_now("--device-budget", "--graph-cache"));
  same("plan kron:8 --algorithm load --device simulated --width 4 --fanout 3 --graph-cache 10% --feature-cache 20% --prefetch 3",
       "plan kron:8 --algorithm load --device simulated --width 4 --fanout 3 --keep-lists 10% --budget 20% --ahead=3",
       is_now("--keep-lists", "--graph-cache") + is_now("--budget", "--feature-cache") + is_now("--ahead", "--prefetch"));
  same(
      "plan kron:8 --algorithm train --full --classes 3 --width 4 --device cpu --shards 2 --shard-reduction fast --shard-adjacency "
      "compressed",
      "plan kron:8 --algorithm train --full --classes 3 --width 4 --device=host --shards 2 --shard-sums quick --shard-lists=packed",
      is_now("--shard-sums", "--shard-reduction") + is_now("--shard-lists", "--shard-adjacency"));
  same("plan kron:8 --algorithm bfs --memory-limit 1GiB", "plan kron:8 --algorithm bfs --host-budget 1GiB",
       is_now("--host-budget", "--memory-limit"));
  at.write("p.txt", "1\n");
  for (auto const& [before, note] :
       {std::pair<std::string, std::string>{"pagerank kron:8 --personal p.txt", is_now("--personal", "--personalization")}}) {
    outcome const b = at.shell("garner " + before);
    EXPECT_EQ(b.code, 0) << b.err;
    EXPECT_EQ(b.err, note) << before;
  }
  std::string const shown =
      at.shell("garner --reference; garner man; garner completion bash; garner completion zsh; garner bfs --help-all").out;
  for (std::string const was :
       {"--place", "--device-budget", "--keep-lists", "--hints", "--fanouts", "--shard-wire", "--host-budget", "--personal"})
    for (char const* const end : {" ", "`", "|", "["}) EXPECT_EQ(shown.find(was + end), std::string::npos) << was;
  outcome const unknown = at.shell("garner stats kron:8 --place cpu");  // which has neither
  EXPECT_EQ(unknown.code, 2);
  expect_one_line(unknown.err);
}

// With a GPU every place gives the same answer.
TEST(place, device_gives_what_the_host_gives) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  folder const at;
  generate(at, "k.gnr", "--scale 14");
  json const host = json::parse(at.shell("garner bfs k.gnr --trials 3 --verify --json").out);
  for (std::string const how : {"--tier host", "--tier device", "--tier managed", "--tier host --variant levels"}) {
    SCOPED_TRACE(how);
    outcome const o = at.shell("garner bfs k.gnr --trials 3 --verify --json --device cuda " + how);
    ASSERT_EQ(o.code, 0) << o.err;
    json const j = json::parse(o.out);
    EXPECT_TRUE(j.at("device_memory").is_number());
    for (std::size_t k = 0; k < 3; ++k) {
      for (char const* key : {"source", "reached", "depth_max", "depth_sum"}) EXPECT_EQ(j["runs"][k][key], host["runs"][k][key]) << key;
      EXPECT_EQ(j["runs"][k]["bytes_link"].is_null(), how.find("host") == std::string::npos);
    }
  }
  ASSERT_EQ(at.shell("garner generate kron --scale 14 --device cuda d.gnr").code, 0);
  EXPECT_EQ(at.shell("cmp k.gnr d.gnr").code, 0) << "a generated graph has the same bits on every device";
  outcome const o = at.shell("garner bfs k.gnr --device cuda --tier device --device-memory 64K");
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_NE(o.err.find("--device-memory"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace garner::testing

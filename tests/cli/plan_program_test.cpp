// `garner plan`: its JSON; a plan fails with the algorithm's own message.
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

char const* const jobs[] = {"bfs", "sssp", "components", "pagerank"};

void generate(folder const& at) {
  outcome const o = at.shell("garner generate kron --scale 12 --random-weights 1:9 k.gnr");
  ASSERT_EQ(o.code, 0) << o.err;
}
json run(folder const& at, std::string const& line) {
  outcome const o = at.shell("garner " + line + " --json");
  EXPECT_EQ(o.code, 0) << line << ": " << o.err;
  return o.code ? json() : json::parse(o.out);
}

TEST(plan_program, its_json_has_these_keys) {
  folder const at;
  generate(at);
  for (std::string const job : jobs)
    for (std::string const place : {"cuda", "cpu", "simulated"}) {
      SCOPED_TRACE(job + " " + place);
      json const j = run(at, "plan k.gnr --algorithm " + job + " --device " + place);
      for (char const* key : {"file",          "graph",        "vertices",     "edges",
                              "id_bytes",      "algorithm",    "variant",      "device",
                              "tier",          "access",       "memory",       "graph_cache_parts",
                              "host_bytes",    "host_allowed", "device_bytes", "device_allowed",
                              "crossings",     "from_offsets", "per",          "bound",
                              "bytes_link",    "ms",           "fits",         "why_not",
                              "levels_at_most"})
        EXPECT_TRUE(j.contains(key)) << key;
      std::map<std::string, std::uint64_t> by_tier;
      for (json const& r : j.at("memory")) by_tier[r.at("tier")] += r.at("bytes").get<std::uint64_t>();
      EXPECT_EQ(by_tier["host"], j.at("host_bytes"));
      EXPECT_EQ(by_tier["device"], j.at("device_bytes"));
      EXPECT_EQ(by_tier["device"] > 0, place == "cuda");
      EXPECT_TRUE(j.at("fits"));
      EXPECT_TRUE(j.at("why_not").is_null());
      for (char const* link : {"here", "12.3", "24", "51"}) EXPECT_TRUE(j.at("ms").contains(link)) << link;
      EXPECT_EQ(j.at("crossings").empty(), place == "cpu");
      if (place == "cpu") continue;
      EXPECT_GT(j.at("bytes_link"), 0);
      EXPECT_NEAR(j.at("ms").at("12.3").get<double>() / j.at("ms").at("24").get<double>(), 24 / 12.3, 1e-9);
      EXPECT_EQ(j.at("ms").at("here").is_null(), device::count() == 0);
    }
}

// The ids of a reordered graph, cached neighbors in the file and compressed adjacency count too, in the plan and in the run.
TEST(plan_program, memory_is_what_the_job_takes_of_any_file) {
  folder const at;
  outcome const made = at.shell(
      "garner generate uniform --scale 13 --random-weights 1:9 k.gnr && garner reorder k.gnr r.gnr --by random --keep-cached-neighbors 3 &&"
      " garner reorder k.gnr p.gnr --by random --keep-cached-neighbors 4 --compress");
  ASSERT_EQ(made.code, 0) << made.err;
  for (std::string const job : jobs)
    for (std::string const file : {"k.gnr", "r.gnr", "p.gnr"})
      for (std::string const place : {"cpu", "simulated"}) {
        SCOPED_TRACE(job + " " + file + " " + place);
        auto const planned = run(at, "plan " + file + " --algorithm " + job + " --device " + place).at("host_bytes").get<double>();
        outcome const ran = at.shell("garner " + job + " " + file + " --device " + place + " --stats --quiet --memory-limit " +
                                     std::to_string(static_cast<std::uint64_t>(planned * 1.01 + 4096)));
        ASSERT_EQ(ran.code, 0) << ran.err;
        std::size_t const peak_at = ran.err.find("memory.host_peak");
        ASSERT_NE(peak_at, std::string::npos) << ran.err;
        std::string digits;
        for (char c : ran.err.substr(peak_at + 16, ran.err.find('\n', peak_at) - peak_at - 16))
          if (c >= '0' && c <= '9') digits += c;
        EXPECT_NEAR(std::stod(digits), planned, 0.02 * planned + 4096);
      }
}

// Contradictory options are a usage error, reported before the file is loaded: this one would be rejected as damaged.
TEST(plan_program, what_does_not_go_together_is_refused_before_loading) {
  folder const at;
  generate(at);
  std::string spoilt = read_text(at / "k.gnr");
  spoilt[spoilt.size() / 2] = static_cast<char>(spoilt[spoilt.size() / 2] ^ 1);
  at.write("k.gnr", spoilt);
  ASSERT_EQ(at.shell("garner bfs k.gnr").code, 1);
  struct refused {
    std::string job, options, word;
    bool of_plan = true;
  };
  for (refused const& r :
       {refused{"sssp", "--delta inf", "delta", false}, refused{"bfs", "--variant levels --cached-neighbors 2", "direction", false},
        refused{"bfs", "--access aligned", "belongs to garner-lab"}, refused{"components", "--variant emogi", "belongs to garner-lab"}}) {
    SCOPED_TRACE(r.job + " " + r.options);
    std::vector<std::string> lines{r.job + " k.gnr "};
    if (r.of_plan) lines.push_back("plan k.gnr --algorithm " + r.job + " ");
    std::string first;
    for (std::string const& line : lines) {
      outcome const o = at.shell("garner " + line + r.options);
      EXPECT_EQ(o.code, 2) << line << o.err;
      EXPECT_NE(o.err.find(r.word), std::string::npos) << line << o.err;
      expect_one_line(o.err);
      if (first.empty()) first = o.err;
    }
  }
}

// A direction-optimizing search: an estimate, and for comparison the reads of a search by levels.
TEST(plan_program, estimates_a_search_that_turns_round) {
  folder const at;
  generate(at);
  json const turns = run(at, "plan k.gnr --algorithm bfs"), levels = run(at, "plan k.gnr --algorithm bfs --variant levels --graph-cache 0");
  EXPECT_EQ(turns.at("bound"), "about");
  EXPECT_EQ(levels.at("bound"), "at most");
  EXPECT_TRUE(levels.at("levels_at_most").is_null());
  EXPECT_EQ(turns.at("levels_at_most").at("bytes_link"), levels.at("bytes_link"));
  EXPECT_LT(turns.at("bytes_link").get<double>(), 0.5 * levels.at("bytes_link").get<double>());
  EXPECT_LT(turns.at("ms").at("51"), turns.at("levels_at_most").at("ms").at("51"));
  EXPECT_EQ(turns.at("levels_at_most").at("ms").at("51"), levels.at("ms").at("51"));
  outcome const text = at.shell("garner plan k.gnr --algorithm bfs");
  EXPECT_NE(text.out.find("about"), std::string::npos);
  EXPECT_NE(text.out.find("if they are local (web, roads)"), std::string::npos);
}

TEST(plan_program, refuses_in_the_words_of_the_job) {
  folder const at;
  generate(at);
  for (std::string const job : jobs)
    for (std::string const place : {"cpu", "simulated"}) {
      std::string const setting = " --memory-limit 100K --device " + place;
      SCOPED_TRACE(job + setting);
      outcome const planned = at.shell("garner plan k.gnr --algorithm " + job + setting);
      outcome const refused = at.shell("garner " + job + " k.gnr" + setting);
      EXPECT_EQ(planned.code, 1);
      EXPECT_EQ(refused.code, 1);
      expect_one_line(planned.err);
      EXPECT_EQ(planned.err, refused.err);
      EXPECT_NE(planned.err.find("are allowed"), std::string::npos);
      EXPECT_NE(planned.out.find("fits    no"), std::string::npos) << planned.out;
    }
  // The planned memory is exact: the command runs with it, and fails with a byte less.
  json const j = run(at, "plan k.gnr --algorithm bfs --device cpu");
  auto const needed = j.at("host_bytes").get<std::uint64_t>();
  EXPECT_EQ(at.shell("garner bfs k.gnr --memory-limit " + std::to_string(needed + needed / 50)).code, 0);
  EXPECT_EQ(at.shell("garner bfs k.gnr --memory-limit " + std::to_string(needed - 1)).code, 1);
  // In JSON too.
  outcome const o = at.shell("garner plan k.gnr --algorithm pagerank --device cpu --memory-limit 100K --json");
  EXPECT_EQ(o.code, 1);
  json const refused = json::parse(o.out);
  EXPECT_FALSE(refused.at("fits"));
  EXPECT_EQ("garner: " + refused.at("why_not").get<std::string>() + "\n", o.err);
}

TEST(plan_program, refuses_what_no_device_holds) {
  folder const at;
  generate(at);
  outcome const o = at.shell("garner plan k.gnr --algorithm bfs --device-memory 8K");
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_NE(o.err.find("of cuda:0 and 8.0 KiB (8192 bytes) are allowed or free; raise its budget (--device-memory) or use --device cpu"),
            std::string::npos)
      << o.err;
  if (device::count() == 0) return;
  EXPECT_EQ(at.shell("garner bfs k.gnr --device cuda --device-memory 8K").err, o.err);
}

TEST(plan_program, refuses_what_the_job_refuses) {
  folder const at;
  generate(at);
  ASSERT_EQ(at.shell("printf '0 1\\n1 2\\n' > d.el && garner convert d.el d.gnr").code, 0);
  for (std::string const pair : {"sssp d.gnr", "pagerank d.gnr"}) {
    std::string const job = pair.substr(0, pair.find(' '));
    EXPECT_EQ(at.shell("garner plan d.gnr --algorithm " + job).err, at.shell("garner " + pair).err);
  }
  for (std::string const line : {"plan k.gnr", "plan k.gnr --algorithm tour", "plan k.gnr --algorithm bfs --variant pull",
                                 "plan k.gnr --algorithm bfs --iterations 3", "plan k.gnr --algorithm pagerank --iterations 0",
                                 "plan k.gnr --algorithm bfs --access paged", "plan k.gnr --algorithm bfs --device moon"}) {
    outcome const o = at.shell("garner " + line);
    EXPECT_EQ(o.code, 2) << line;
    expect_one_line(o.err);
  }
}

}  // namespace
}  // namespace garner::testing

// A run file survives a round trip; anything missing, wrong or of another type is one error that names it.
#include "lab/run_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "lab/sample.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using json = nlohmann::ordered_json;
using lab::parse_run;

std::string refused(std::string const& text) {
  errc code{};
  std::string const message = error_of([&] { parse_run(text, "run.json"); }, &code);
  EXPECT_EQ(code, errc::input) << message;
  EXPECT_EQ(message.rfind("run.json: ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

TEST(run_file, comes_back_as_it_was_written) {
  std::string const text = to_json(sample_run());
  EXPECT_EQ(to_json(parse_run(text, "run.json")), text);
  lab::run_file const r = parse_run(text, "run.json");
  ASSERT_EQ(r.jobs.size(), 6u);
  EXPECT_EQ(r.jobs[1].link->requests[3], 1000u);
  EXPECT_EQ(r.jobs[4].prepare_ms, 1.5);
  EXPECT_FALSE(r.jobs[0].prepare_ms);
  EXPECT_TRUE(r.jobs[5].near());
  EXPECT_FALSE(r.jobs[4].near());
  EXPECT_FALSE(r.machine.host_budget);
  EXPECT_EQ(r.patterns[1].skipped, "no time");
}

// Every key of the file in turn, at every depth: removed, and replaced by a value of another type.
void each_key(json& at, json const& all, std::string const& where) {
  if (at.is_array()) {
    for (auto& item : at) each_key(item, all, where + "[]");
    return;
  }
  if (!at.is_object()) return;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto const key = std::next(at.begin(), static_cast<std::ptrdiff_t>(i)).key();
    if (key == "bytes_link") continue;  // for human readers; the requests determine it
    SCOPED_TRACE(where + "." + key);
    json const was = at;
    at.erase(key);
    std::string const missing = refused(all.dump());
    EXPECT_NE(missing.find(key == "schema" || key == "version" ? "schema" : key), std::string::npos) << missing;
    at = was;
    at[key] = json::array({json::array({-1})});
    refused(all.dump());
    at = was;
    each_key(at[key], all, where + "." + key);
  }
}
TEST(run_file, names_the_key_that_is_missing_or_wrong) {
  json all = json::parse(to_json(sample_run()));
  each_key(all, all, "");
}

TEST(run_file, takes_nothing_else) {
  refused("");
  refused("{");
  refused("[]");
  refused("null");
  refused("{\"a\": \"\xff\"}");
  refused("{\"a\": 1e999}");
  refused(std::string(100000, '['));
  json all = json::parse(to_json(sample_run()));
  all["version"] = 2;
  EXPECT_NE(refused(all.dump()).find("version 2"), std::string::npos);
  all = json::parse(to_json(sample_run()));
  all["jobs"][0]["id_bytes"] = 5;
  EXPECT_NE(refused(all.dump()).find("jobs[0].id_bytes"), std::string::npos);
  all["jobs"][0]["id_bytes"] = 4;
  all["jobs"][1]["ms"][0] = -1;
  EXPECT_NE(refused(all.dump()).find("jobs[1].ms[0]"), std::string::npos);
  // Benchmark files of earlier releases have another schema.
  for (char const* name : {"bfs-h200.json", "bfs-direction-h200.json"}) {
    std::ifstream in(std::string(GARNER_SOURCE_DIR) + "/docs/benchmarks/" + name);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    ASSERT_FALSE(text.empty()) << name;
    EXPECT_NE(refused(text).find("docs/benchmarks"), std::string::npos);
  }
}

TEST(run_file, that_is_not_there_or_no_file) {
  errc code{};
  error_of([] { lab::read_run("/nowhere/run.json"); }, &code);
  EXPECT_EQ(code, errc::io);
  EXPECT_NE(error_of([] { lab::read_run("/"); }, &code).find("folder"), std::string::npos);
  EXPECT_EQ(code, errc::io);
}

}  // namespace
}  // namespace garner::testing

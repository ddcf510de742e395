// Every file that report draws survives a round trip; anything missing, wrong or of another type is one error that names it.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using json = nlohmann::ordered_json;
using namespace lab;

std::string refused(std::string const& text) {
  errc code{};
  std::string const message = error_of([&] { bench_files().add(text, "run.json"); }, &code);
  EXPECT_EQ(code, errc::input) << message;
  EXPECT_EQ(message.rfind("run.json: ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

// One of everything, of each kind.
gather_file gathers() {
  gather_file f{{"0.1.0", "bench", "now", "cuda:0", "a GPU", 4}, 1 << 20, 3, 1, 51.1, {}};
  f.rows.push_back({"beside", "4096 B", 4096, 100, 1, "aligned", "none", "repeat", 8, 16, 2, 46.5, 1e6, 0.9, 7, {}, "why", ""});
  f.rows.back().beside = gather_beside{"partition", 124, 49.25, 10, 10.5, 10.71};
  return f;
}
load_file loads() {
  load_file f{{"0.1.0", "bench", "now", "cuda:0", "a GPU", 4}, {4, 3}, "last", "1%", "degree", 20, 12, 1, 1.5, 51.1, {}, {}};
  f.graphs.push_back({"g", 10, 20, 3});
  load_row r;
  r.graph = "g", r.figure = "ways", r.lists = "host", r.strategy = "window", r.ms = 4, r.moments = {{0, {0, 1}, {1, 2}, {2, 3}, 3.5}};
  f.rows = {r, r};
  f.rows[1].skipped = "no room";
  return f;
}
train_file trainings() {
  train_file f{{"0.1.0", "bench", "now", "cuda:0", "", 4}, {4, -1}, "1%", 20, 8, 5, 1, {}, {}, {}, {}, {}};
  f.graphs.push_back({"g", 10, 20, 3});
  f.rows.emplace_back().times = {4, 1, 2, 3, 6, 0.5, 0.25};
  f.rows.push_back(f.rows[0]);
  f.rows[1].skipped = "no room", f.rows[1].score = "wrpr";
  f.trainable.push_back({"adam", 512, 8, 100, 96, 0.5, 4, 2, 6, 6, 90, 8640, 1, 5, ""});
  f.courses.emplace_back().epochs.push_back({1, 2.5, 0.25, {}, {}, 0.5, {}, {1, 2, 3, 4}});
  return f;
}
storage_file storages() {
  storage_file f{{"0.1.0", "bench", "now", "cpu", "", 4}, {4, 3}, "1%", 16, 3, 1, 5, 1, 24, false, {}, {}};
  f.graphs.push_back({{"g", 10, 20, 3}, "IGB-Full", true, 10, 512, 0.5, 7});
  f.rows.push_back({"g", "cold", "GIDS", "window", "optane", 1, 8, 5, 9, 4, 1, 2, {}, 1, 5, 3, 0, 2, 8, 4, 3, 16, 5, {1, 2}, ""});
  f.rows.push_back(f.rows[0]);
  f.rows[1].skipped = "no room", f.rows[1].policy = f.rows[1].drive = "";
  return f;
}
shards_file shards() {
  shards_file f;
  f.shards = 2, f.over = "peer";
  f.graphs.emplace_back().name = "g";
  shard_row r;
  r.graph = "g", r.ms = 1.5, r.against_one = 1, r.bytes = 3, r.most_bytes = 2, r.steps = {{{2, 1, 1}, 4.5}};
  r.how.strategy = shard_strategy::mgg, r.links = {{0, 7}, {8, 0}};
  f.rows.push_back(r);
  r.managed = true, r.links = {}, r.study = "gin", r.forward = {602, 41, 7.25, 2.5, {}, {64, 41}};
  f.rows.push_back(r);
  r.managed = false, r.how.strategy = shard_strategy::bulk;
  f.rows.push_back(r);
  return f;
}
tiering_run tierings() {
  tiering_run f{{"0.1.0", "bench", "now", "cpu", "", 4}, "last", "5%", 5, 1, 1, 512, 8, {1}, {0, 0.5, 1}, {}};
  tier_trace t{{4, 3}, 6, 100, 90, 1, 2.5, {}, 6, ""};
  t.curves = {{"oracle", {0, 0.75, 1}, {}}, {"degree", {0, 0.5, 1}, {{0, 1e6, 2.5}}}};
  f.graphs.push_back({"g", 10, 20, 3, true, {{"degree", 1, 0.5}}, {t}});
  return f;
}
accuracy_file accuracies() {
  accuracy_file f{"now", "garner 0.1.0", "a processor", "10,10", 2, 3, 2, 512, {}};
  f.rows.push_back({"Cora", "gcn", "whole", "accuracy", 10, 20, 81.7, 0.3, 5});
  return f;
}
whole_file wholes() { return {"a GPU", "2026-11-28", "abc", "bench", 9, 3, 64, 8, {{"gcn", "a file", 4, 1e6, 2.5, 1, 3}}}; }
users_file users() { return {"a GPU", "2026-11-28", "abc", "bench", {{"pyg", "WholeGraph", 1.5, 1.25, 3}}}; }
std::map<std::string, std::string> const& samples() {
  static std::map<std::string, std::string> const all{{"runs", to_json(sample_run())},   {"gathers", to_json(gathers())},
                                                      {"loads", to_json(loads())},       {"trainings", to_json(trainings())},
                                                      {"storages", to_json(storages())}, {"shards", to_json(shards())},
                                                      {"tierings", to_json(tierings())}, {"accuracies", to_json(accuracies())},
                                                      {"users", to_json(users())},       {"wholes", to_json(wholes())}};
  return all;
}

TEST(file, comes_back_as_it_was_written) {
  for (auto const& [kind, text] : samples()) {
    bench_files f;
    f.add(text, "run.json");
    std::string again;
    auto const write = [&](auto const& some) {
      for (auto const& [name, run] : some) again += to_json(run);
    };
    write(f.runs), write(f.gathers), write(f.loads), write(f.trainings);
    write(f.storages), write(f.shards), write(f.tierings), write(f.accuracies), write(f.users), write(f.wholes);
    EXPECT_EQ(again, text) << kind;
    EXPECT_NE(page_of(f).find("run.json"), std::string::npos) << kind;
  }
  run_file const r = file_in<run_file>(json::parse(samples().at("runs")), "run.json");
  ASSERT_EQ(r.jobs.size(), 6u);
  EXPECT_EQ(r.jobs[1].link->requests[3], 1000u);
  EXPECT_EQ(r.jobs[4].prepare_ms, 1.5);
  EXPECT_FALSE(r.jobs[0].prepare_ms);
  EXPECT_TRUE(r.jobs[5].near());
  EXPECT_FALSE(r.jobs[4].near());
  EXPECT_FALSE(r.machine.host_budget);
  EXPECT_EQ(r.patterns[1].skipped, "no time");
  EXPECT_EQ(file_in<shards_file>(json::parse(samples().at("shards")), "run.json").rows[1].strategy(), "uvm");
}

// For other readers: the rest of the file determines them.
std::set<std::string> const derived{"runs.patterns[].link.bytes_link",
                                    "runs.jobs[].link.bytes_link",
                                    "gathers.rows[].beside.slower",
                                    "gathers.rows[].beside.slower_than_alone",
                                    "tierings.graphs[].traces[].curves[].of_oracle_at_10",
                                    "tierings.graphs[].traces[].curves[].link_bytes",
                                    "trainings.trainable[].of_floor",
                                    "trainings.trainable[].of_both_floors"};
// Some files lack them.
std::set<std::string> const newer{"wholes.rows[].moved_ms",
                                  "wholes.rows[].floor_ms",
                                  "gathers.garner",
                                  "gathers.time",
                                  "gathers.rows[].duplicates",
                                  "gathers.rows[].beside",
                                  "tierings.presample",
                                  "trainings.trainable",
                                  "tierings.graphs[].traces[].epochs",
                                  "shards.over",
                                  "shards.rows[].plain_reads",
                                  "users.rows[].remote_over_local",
                                  "users.rows[].rival"};

// Every key of the file in turn, at every depth: removed, and replaced by a value of another type.
void each_key(json& at, json const& all, std::string const& where, std::set<std::string>& seen) {
  if (at.is_array()) {
    for (auto& item : at) each_key(item, all, where + "[]", seen);
    return;
  }
  if (!at.is_object()) return;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto const key = std::next(at.begin(), static_cast<std::ptrdiff_t>(i)).key();
    std::string const path = where + "." + key;
    if (derived.contains(path)) {
      seen.insert(path);
      continue;
    }
    if (at[key].is_null() && (key == "ps" || key == "dist" || key == "wpb")) continue;  // of another strategy than mgg
    SCOPED_TRACE(path);
    json const was = at;
    at.erase(key);
    if (newer.contains(path)) {
      seen.insert(path);
      bench_files().add(all.dump(), "run.json");
    } else {
      std::string const missing = refused(all.dump());
      EXPECT_NE(missing.find(key == "version" ? "schema" : key), std::string::npos) << missing;
    }
    at = was;
    at[key] = json::array({json::array({-1})});
    refused(all.dump());
    at = was;
    each_key(at[key], all, path, seen);
  }
}
TEST(file, names_the_key_that_is_missing_or_wrong) {
  std::set<std::string> seen;
  for (auto const& [kind, text] : samples()) {
    json all = json::parse(text);
    each_key(all, all, kind, seen);
  }
  EXPECT_EQ(seen.size(), derived.size() + newer.size());
}

TEST(file, says_which_value_is_wrong) {
  struct wrong {
    char const *kind, *at;
    json value;
    char const* said;
  };
  wrong const all[] = {
      {"runs", "/version", 2, "version 2"},
      {"runs", "/jobs/0/id_bytes", 5, "jobs[0].id_bytes"},
      {"runs", "/jobs/1/ms/0", -1, "jobs[1].ms[0]"},
      {"gathers", "/version", 2, "version 2"},
      {"gathers", "/rows/0/gbs", -1, "'rows[0].gbs'"},
      {"gathers", "/rows/0/multiprocessors", 1 << 21, "'rows[0].multiprocessors'"},
      {"gathers", "/rows/0/beside/whole_ms", 0, "'rows[0].beside.whole_ms'"},
      {"gathers", "/rows/0/beside/beside_ms", 0, "a time above 0"},
      {"loads", "/fanouts/0", -1, "'fanouts[0]'"},
      {"loads", "/rows/0/moments/0/sample", {1}, "a beginning and an end"},
      {"trainings", "/fanouts/0", "all", "a whole number"},
      {"trainings", "/version", 99, "version 99"},
      {"tierings", "/kept", {0, 1, 0.5}, "two shares or more, ascending"},
      {"tierings", "/graphs/0/traces/0/curves/1/hits", {0, 1}, "'graphs[0].traces[0].curves[1].hits' is [0,1] and not a number for each"},
      {"tierings", "/graphs/0/traces/0/fanouts", json::array(), "one hop or more"},
      {"tierings", "/graphs/0/traces", json::array(), "one trace or more"},
      {"shards", "/version", 2, "version"},
      {"shards", "/rows/0/way", "x", "run.json: 'rows[0].way' is \"x\" and not a word of garner-lab shards"},
      {"shards", "/rows/0/sums", "x", "'rows[0].sums' is \"x\""},
      {"shards", "/rows/1/study", "x", "'rows[1].study' is \"x\" and not a word of garner-lab shards"},
      {"shards", "/rows/0/shards", 17, "a number from 1 to 16"},
      {"shards", "/rows/0/steps/0/ps", 0, "'rows[0].steps[0].ps' is 0 and not a number from 1 to 32"},
      {"shards", "/rows/1/forward/inputs", -2, "'rows[1].forward.inputs' is -2"},
      {"shards", "/rows/1/forward/columns/1", 4.5, "'rows[1].forward.columns[1]' is 4.5"},
      {"shards", "/rows/0/links/1", {8}, "as many numbers for each shard"},
      {"shards", "/rows/0/ms", -1.5, "'rows[0].ms'"},
      {"users", "/rows/0/ms", "x", "'rows[0].ms' is \"x\""},
      {"accuracies", "/seeds", -3, "'seeds' is -3"},
      {"accuracies", "/rows/0/way", "half",
       "'rows[0].way' is \"half\" and not whole, shards or sampled; write the file anew with tools/measure_sampling"}};
  for (wrong const& w : all) {
    json file = json::parse(samples().at(w.kind));
    file.at(json::json_pointer(w.at)) = w.value;
    std::string const said = refused(file.dump());
    EXPECT_NE(said.find(w.said), std::string::npos) << w.kind << w.at << ": " << said;
  }
}

TEST(file, takes_nothing_else) {
  for (std::string const text : {"", "{", "[]", "null", "{\"a\": \"\xff\"}", "{\"a\": 1e999}", "{\"schema\": \"garner.bench.tierings\"}"})
    refused(text);
  refused(std::string(100000, '['));
  // Benchmark files of earlier releases have another schema.
  for (char const* name : {"bfs-h200.json", "bfs-direction-h200.json"}) {
    std::ifstream in(std::string(GARNER_SOURCE_DIR) + "/docs/benchmarks/" + name);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    ASSERT_FALSE(text.empty()) << name;
    EXPECT_NE(refused(text).find("docs/benchmarks"), std::string::npos);
  }
}

TEST(file, that_is_not_there_or_no_file) {
  errc code{};
  error_of([] { read_bench("/nowhere/run.json"); }, &code);
  EXPECT_EQ(code, errc::io);
  EXPECT_NE(error_of([] { read_bench("/"); }, &code).find("folder"), std::string::npos);
  EXPECT_EQ(code, errc::io);
}

}  // namespace
}  // namespace garner::testing

// `garner-lab`: runs measured and drawn, exit codes and output, and rejected options.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

std::string const quick = "--scale 6 --sources 2 --trials 1 --pattern-bytes 64KiB --link 10,20 ";

TEST(bench_program, explains_what_a_gather_would_choose) {
  folder const at;
  outcome const o = at.shell("garner-lab gather --explain --ids 300000,2000000");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 1 + 5 * 2 * 2);
  EXPECT_NE(o.out.find("device cuda:0, a table of 32.0 GiB"), std::string::npos) << o.out;
  if (device::count() == 0) {
    EXPECT_NE(o.out.find("  512 B    300,000 ids              bulk, sorted, duplicates once: 512 B rows of a 32.0 GiB table"),
              std::string::npos)
        << o.out;
    EXPECT_NE(o.out.find("  512 B  2,000,000 ids              aligned, sorted, duplicates once: "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find(" 4096 B    300,000 ids              aligned, sorted, duplicates once: "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find(" ids in 8 batches aligned, sorted, duplicates once: "), std::string::npos) << o.out;
  }
  EXPECT_NE(at.shell("garner-lab gather --explain --device cpu").out.find("at the host a row is one copy"), std::string::npos);
  EXPECT_EQ(at.shell("garner-lab traversal --explain").code, 2);
  EXPECT_EQ(at.shell("garner-lab gather --explain --table-bytes 12").code, 2);
  EXPECT_EQ(at.shell("garner-lab gather").code, 2);
}

TEST(bench_program, gathers_are_measured_into_a_file) {
  folder const at;
  for (std::string const place : {"cpu", "simulated"}) {
    SCOPED_TRACE(place);
    outcome const o =
        at.shell("garner-lab gather --table-bytes 1MiB --ids 50,100 --trials 1 --device " + place + " --out " + place + ".json");
    ASSERT_EQ(o.code, 0) << o.err;
    json const run = json::parse(read_text(at / (place + ".json")));
    EXPECT_EQ(run.at("schema"), "garner.bench.gather");
    EXPECT_EQ(run.at("table_bytes"), 1 << 20);
    std::vector<std::string> left_out;
    for (json const& r : run.at("rows")) {
      bool const copies = r.at("figure") == "copies" && place != "cpu";
      if (copies || r.at("figure") == "share" || r.at("figure") == "near" || r.at("figure") == "beside") {  // of other places
        EXPECT_NE(r.at("skipped").get<std::string>().find(copies ? "--device cpu" : "--device cuda"), std::string::npos) << r;
        EXPECT_TRUE(r.at("ms").is_null() && r.at("beside").is_null()) << r;
        left_out.push_back(r.at("figure"));
        continue;
      }
      EXPECT_EQ(r.at("skipped"), "") << r;
      if (place == "cpu") EXPECT_GT(r.at("gbs").get<double>(), 0) << r;
      else EXPECT_TRUE(r.at("ms").is_null() && (r.at("way") == "staged" || r.at("requests") > 0)) << r;
    }
    std::vector<std::string> others{"share", "near", "beside"};
    if (place != "cpu") others.push_back("copies");
    EXPECT_EQ(left_out, others);
  }
  EXPECT_EQ(at.shell("garner-lab gather --table-bytes 1KiB --out x.json").code, 2);
  EXPECT_EQ(at.shell("garner-lab gather --figures none --table-bytes 1MiB --device cpu --out x.json").code, 2);
  outcome const misspelt = at.shell("garner-lab gather --figures unaligned,foo --table-bytes 1MiB --device cpu --out x.json");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.out.find("unaligned"), std::string::npos) << misspelt.out;  // nothing is measured first
  EXPECT_NE(misspelt.err.find("'foo' is not a figure"), std::string::npos) << misspelt.err;
  EXPECT_EQ(at.shell("garner-lab gather --ids 0 --table-bytes 1MiB --device cpu --out x.json").code, 2);
  EXPECT_EQ(at.shell("ls").out, "cpu.json\nsimulated.json\n");
  outcome const o = at.shell("garner-lab report simulated.json cpu.json --out page.html");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(read_text(at / "page.html").find("Gathers of rows: cpu.json"), std::string::npos);
}

TEST(bench_program, measures_into_a_file_and_report_draws_it) {
  folder const at;
  for (std::string const place : {"cpu", "simulated"}) {
    SCOPED_TRACE(place);
    outcome const o = at.shell("garner-lab traversal " + quick + "--device " + place + " --protocol paper --out " + place + ".json");
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");
    json const run = json::parse(read_text(at / (place + ".json")));
    EXPECT_EQ(run.at("schema"), "garner.bench.traversal");
    EXPECT_EQ(run.at("command"), "garner-lab traversal " + quick + "--device " + place + " --protocol paper --out " + place + ".json");
    EXPECT_EQ(run.at("machine").at("place"), place);
    EXPECT_EQ(run.at("protocol").at("statistic"), "mean");
    EXPECT_EQ(run.at("protocol").at("sources"), 2);
    EXPECT_EQ(run.at("graphs").size(), 3u);
    for (json const& j : run.at("jobs")) EXPECT_TRUE(j.at("verified")) << j;
  }
  json const simulated = json::parse(read_text(at / "simulated.json"));
  EXPECT_EQ(simulated.at("jobs").at(0).at("predicted").at(1).at("gbs"), 20);
  outcome const o = at.shell("garner-lab report simulated.json cpu.json --out page.html");
  EXPECT_EQ(o.code, 0) << o.err;
  std::string const page = read_text(at / "page.html");
  EXPECT_NE(page.find("Run 2: Place cpu"), std::string::npos);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(at.shell("garner-lab report cpu.json").code, 0);
  EXPECT_NE(read_text(at / "report.html").find("Place cpu"), std::string::npos);
}

TEST(bench_program, takes_graphs_jobs_and_kinds_as_told) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate web --scale 7 w.gnr").code, 0);
  outcome const o =
      at.shell("garner-lab traversal " + quick + "--device simulated --kinds none --graph w.gnr --algorithms bfs,components --out r.json");
  ASSERT_EQ(o.code, 0) << o.err;
  json const run = json::parse(read_text(at / "r.json"));
  EXPECT_EQ(run.at("graphs").size(), 1u);
  EXPECT_EQ(run.at("graphs").at(0).at("name"), "w.gnr");
  for (json const& j : run.at("jobs")) EXPECT_TRUE(j.at("job") == "bfs" || j.at("job") == "components");
  ASSERT_EQ(at.shell("garner-lab traversal " + quick + "--device simulated --kinds kron --strategies default,near --out w.json").code, 0);
  json const few = json::parse(read_text(at / "w.json"));
  EXPECT_EQ(few.at("jobs").size(), 8u);
  for (json const& j : few.at("jobs")) EXPECT_EQ(j.at("way"), "default");
}

TEST(bench_program, refuses_with_one_line_and_writes_nothing) {
  folder const at;
  at.write("old.json", "{\"schema\": \"other\", \"version\": 1}");
  at.write("bad.json", "{");
  auto const before = at.names();
  for (auto const& [line, code] : std::vector<std::pair<std::string, int>>{
           {"garner-lab gnn --out r.json", 2},
           {"garner-lab traversal", 2},
           {"garner-lab traversal --out nowhere/r.json", 1},
           {"garner-lab traversal --device moon --out r.json", 2},
           {"garner-lab traversal --device cpu --kinds ring --out r.json", 2},
           {"garner-lab traversal --device cpu --algorithms sleep --out r.json", 2},
           {"garner-lab traversal --device cpu --strategies default,sideways --out r.json", 2},
           {"garner-lab traversal --device cpu --strategies near --out r.json", 2},
           {"garner-lab traversal --device cpu --scale 40 --out r.json", 2},
           {"garner-lab traversal --device cpu --protocol long --out r.json", 2},
           {"garner-lab traversal --device cpu --link 0 --out r.json", 2},
           {"garner-lab traversal --device cpu --kinds none --out r.json", 2},
           {"garner-lab traversal --device cpu --graph-cache 1G --out r.json", 2},
           {"garner-lab traversal --device cpu --kinds none --graph missing.gnr --pattern-bytes 64KiB --out r.json", 1},
           {"garner-lab traversal --device cpu --scale 20 --memory-limit 10M --pattern-bytes 64KiB --out r.json", 1},
           {"garner-lab report", 2},
           {"garner-lab report none.json --out r.html", 1},
           {"garner-lab report bad.json --out r.html", 1},
           {"garner-lab report old.json --out r.html", 1},
           {"garner-lab report old.json --out old.json", 2}}) {
    expect_refused(at, line, code, "");
    EXPECT_EQ(at.names(), before) << line;
  }
  EXPECT_NE(at.shell("garner-lab report old.json").err.find("garner.bench.traversal"), std::string::npos);
}

TEST(load_program, measures_every_figure_and_report_draws_it) {
  folder const at;
  outcome const o = at.shell(
      "garner-lab load --device simulated --scale 9 --fanout 4,3 --rule last --batch 20 --share 100% --feature-bytes 20 --batches 32 "
      "--out "
      "r.json && "
      "garner-lab load --device cpu --scale 9 --fanout 4,3 --batch 20 --share 100% --compute-ms 0.5 --out h.json && "
      "garner-lab report r.json h.json --out r.html");
  ASSERT_EQ(o.code, 0) << o.err;
  json const all = json::parse(read_text(at / "r.json"));
  EXPECT_EQ(all["schema"], "garner.bench.load");
  EXPECT_EQ(all["rows"].size(), 8u + 6 + 8);
  double hits = 0;
  for (json const& r : all["rows"]) {
    if (r["figure"] != "window") continue;
    double const asked = r["window_rows"].get<double>() + r["fetched_rows"].get<double>();
    EXPECT_GE(r["window_rows"].get<double>() / asked, hits);  // a larger window has more
    hits = r["window_rows"].get<double>() / asked;
  }
  EXPECT_GT(hits, 0.5);
  json const host = json::parse(read_text(at / "h.json"));
  ASSERT_EQ(host["rows"].size(), 1u);
  EXPECT_GE(host["rows"][0]["ms"].get<double>(), 0.5);
  std::string const page = read_text(at / "r.html");
  for (char const* figure : {"(figure 4.11)", "what overlapped", "against its size", "by where they were", "in each way"})
    EXPECT_NE(page.find(figure), std::string::npos) << figure;
  EXPECT_EQ(page.find("(figure 4.12)"), std::string::npos);  // nothing was timed
  for (std::string const no : {"--figures size", "--share 2"})
    expect_refused(at, "garner-lab load --device cpu --scale 8 --out r.json " + no, 2, no);
}

TEST(train_program, trains_in_every_way_and_report_draws_it) {
  folder const at;
  outcome const o = at.shell(
      "garner-lab train --device simulated --scale 9 --fanout 4,3 --batch 20 --share 100% --feature-bytes 20 --hidden 8 --widths 4,8 "
      "--epochs "
      "2 "
      "--batches 3 --figures ways,widths,placement --out t.json && "
      "garner-lab train --device cpu --scale 9 --fanout 4,3 --batch 20 --share 100% --hidden 8 --classes 3 --figures "
      "ways,learning,trainable --step-rows 50 --out "
      "h.json && garner-lab report t.json h.json --out t.html");
  ASSERT_EQ(o.code, 0) << o.err;
  json const all = json::parse(read_text(at / "t.json")), host = json::parse(read_text(at / "h.json"));
  EXPECT_EQ(all["schema"], "garner.bench.train");
  EXPECT_EQ(all["rows"].size(), 8u + 8 + 2 + 2 * (1 + 4 * 6));
  EXPECT_EQ(all["hidden"], 8);
  EXPECT_EQ(all["rows"][0]["width"], 5);
  EXPECT_EQ(all["rows"][0]["batches"], 3);
  EXPECT_EQ(all["rows"][0]["epochs_timed"], 1);
  EXPECT_TRUE(all["courses"].empty());
  EXPECT_EQ(host["rows"].size(), 1u);
  EXPECT_EQ(host["courses"].size(), 2u);
  ASSERT_EQ(host["trainable"].size(), 3u);
  EXPECT_EQ(host["trainable"][2]["optimiser"], "adam");
  EXPECT_EQ(host["trainable"][2]["step_rows"], 50);
  EXPECT_GT(host["courses"][0]["epochs"].back()["test_accuracy"], host["courses"][1]["epochs"].back()["test_accuracy"]);
  std::string const page = read_text(at / "t.html");
  for (char const* figure : {"(figure 3.14)", "(figure 3.15)", "(figure 4.9)", "loss by epoch", "accuracy by epoch", "what overlapped"})
    EXPECT_NE(page.find(figure), std::string::npos) << figure;
  std::string const train = "garner-lab train --device cpu --scale 8 --out r.json ";
  expect_refused(at, train + "--figures size", 2, "ways, widths, placement, learning, trainable");
  for (std::string const no : {"--feature-bytes 6", "--epochs 0", "--batches 0", "--classes 1", "--widths 0", "--step-rows 0"})
    expect_refused(at, train + no, 2, no.substr(0, no.find(' ')));
}

TEST(storage_program, measures_every_figure_and_report_draws_it) {
  folder const at;
  std::filesystem::create_directory(at / "d");
  outcome const o = at.shell(
      "garner-lab storage --device cpu --scale 10 --fanout 4,3 --batch 16 --batches 8 --share 100% --compute-ms 1 --drives d --out "
      "s.json && "
      "garner-lab report s.json --out s.html");
  ASSERT_EQ(o.code, 0) << o.err;
  auto const all = json::parse(read_text(at / "s.json"));
  EXPECT_EQ(all["schema"], "garner.bench.storage");
  EXPECT_EQ(all["graphs"].size(), 7u);
  EXPECT_EQ(all["rows"].size(), 20u + 6 + 8 + 11 + 8 + 48 + 3);
  for (auto const& r : all["rows"]) EXPECT_EQ(r["skipped"].is_null(), r["way"] != "device") << r;
  EXPECT_TRUE(std::filesystem::is_empty(at / "d"));
  EXPECT_NE(read_text(at / "s.html").find("(figure 15)"), std::string::npos);
  auto const says = [&](std::string const& line, std::string const& what) {
    expect_refused(at, "garner-lab storage --scale 8 --out x.json " + line, 2, what);
    EXPECT_FALSE(std::filesystem::exists(at / "x.json"));
  };
  says("--device cpu --figures size", "--figures size");
  says("--device cpu --batches 1", "--batches 1");
  says("--device cpu --batches 0", "--batches 0");
  says("--device cpu --cache-batches 0.5", "--cache-batches 0.5");
  says("--device cpu --link-gbs 0", "--link-gbs 0");
  says("--device cpu --drives s.json", "s.json");
  says("--device cpu --kinds kron,web", "one kind");
  says("--device simulated", "pass cpu or cuda");
}

TEST(tiering_program, is_measured_into_a_page) {
  folder const at;
  outcome const o = at.shell(
      "garner generate web --scale 9 w.gnr && garner-lab tiering --device cpu --kinds kron --graph w.gnr --scale 9 --batch 5 --fanout "
      "3,3 --presample 2,1 --epochs 3 "
      "--out t.json && garner-lab report t.json --out t.html");
  ASSERT_EQ(o.code, 0) << o.err;
  json const all = json::parse(read_text(at / "t.json"));
  EXPECT_EQ(all["schema"], "garner.bench.tiering");
  ASSERT_EQ(all["graphs"].size(), 2u);
  EXPECT_EQ(all["graphs"][1]["name"], "w.gnr");
  json const& traces = all["graphs"][0]["traces"];
  EXPECT_EQ(traces[0]["curves"].back()["score"], "sampled 1");
  EXPECT_EQ(traces[0]["epochs"], 3);
  EXPECT_EQ(traces[1]["epochs"], 1);
  EXPECT_EQ(traces[1]["curves"].back()["score"], "sampled");
  EXPECT_NE(read_text(at / "t.html").find("(figure 4.11)"), std::string::npos);
}

TEST(tiering_program, refuses) {
  folder const at;
  at.write("e.json", "{}");
  for (auto const& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"tiering --presample 8,0 --device cpu --out r.json", "--presample 0"},
           {"tiering --presample 8,1,8 --device cpu --out r.json", "8 stands twice"},
           {"tiering --deeper-epochs 0 --device cpu --out r.json", "--deeper-epochs 0"},
           {"tiering --fanout 1025 --device cpu --out r.json", "fanout 1025"},
           {"shards --device cpu --shards 0 --out b.json", "--shards 0: use 1 to 16"},
           {"moving --out r.json", "traversal, gather, tiering, load, train, storage, shards, report, traffic, trace, schema"},
           {"report e.json", "what garner-lab, tools/prove_user and tools/measure_sampling write"}})
    expect_refused(at, "garner-lab " + line, line == "report e.json" ? 1 : 2, what);
  EXPECT_TRUE(at.shell("garner-lab tiering").err.starts_with("garner-lab: "));
}

TEST(bench_program, stops_at_ctrl_c) {
  folder const at;
  outcome const o =
      at.shell("exec garner-lab traversal --device simulated --scale 18 --out r.json", {{}, {}, std::chrono::milliseconds(700)});
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_TRUE(at.names().empty());
}

}  // namespace
}  // namespace garner::testing

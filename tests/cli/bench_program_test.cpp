// `garner bench` and `garner report`: a run measured and drawn, exit codes and output, and rejected options.
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
  outcome const o = at.shell("garner bench gather --explain --ids 300000,2000000");
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
  EXPECT_NE(at.shell("garner bench gather --explain --device cpu").out.find("at the host a row is one copy"), std::string::npos);
  EXPECT_EQ(at.shell("garner bench traversal --explain").code, 2);
  EXPECT_EQ(at.shell("garner bench gather --explain --table 12").code, 2);
  EXPECT_EQ(at.shell("garner bench gather").code, 2);
}

TEST(bench_program, gathers_are_measured_into_a_file) {
  folder const at;
  for (std::string const place : {"cpu", "simulated"}) {
    SCOPED_TRACE(place);
    outcome const o =
        at.shell("garner bench gather --table-bytes 1MiB --ids 50,100 --trials 1 --device " + place + " --out " + place + ".json");
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
  EXPECT_EQ(at.shell("garner bench gather --table-bytes 1KiB --out x.json").code, 2);
  EXPECT_EQ(at.shell("garner bench gather --figures none --table 1MiB --device cpu --out x.json").code, 2);
  outcome const misspelt = at.shell("garner bench gather --figures unaligned,foo --table 1MiB --device cpu --out x.json");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.out.find("unaligned"), std::string::npos) << misspelt.out;  // nothing is measured first
  EXPECT_NE(misspelt.err.find("'foo' is not a figure"), std::string::npos) << misspelt.err;
  EXPECT_EQ(at.shell("garner bench gather --ids 0 --table 1MiB --device cpu --out x.json").code, 2);
  EXPECT_EQ(at.shell("ls").out, "cpu.json\nsimulated.json\n");
  outcome const o = at.shell("garner report simulated.json cpu.json --out page.html");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(read_text(at / "page.html").find("Gathers of rows: cpu.json"), std::string::npos);
}

TEST(bench_program, measures_into_a_file_and_report_draws_it) {
  folder const at;
  for (std::string const place : {"cpu", "simulated"}) {
    SCOPED_TRACE(place);
    outcome const o = at.shell("garner bench traversal " + quick + "--device " + place + " --protocol paper --out " + place + ".json");
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");
    json const run = json::parse(read_text(at / (place + ".json")));
    EXPECT_EQ(run.at("schema"), "garner.bench.traversal");
    EXPECT_EQ(run.at("command"), "garner bench traversal " + quick + "--device " + place + " --protocol paper --out " + place + ".json");
    EXPECT_EQ(run.at("machine").at("place"), place);
    EXPECT_EQ(run.at("protocol").at("statistic"), "mean");
    EXPECT_EQ(run.at("protocol").at("sources"), 2);
    EXPECT_EQ(run.at("graphs").size(), 3u);
    for (json const& j : run.at("jobs")) EXPECT_TRUE(j.at("verified")) << j;
  }
  json const simulated = json::parse(read_text(at / "simulated.json"));
  EXPECT_EQ(simulated.at("jobs").at(0).at("predicted").at(1).at("gbs"), 20);
  outcome const o = at.shell("garner report simulated.json cpu.json --out page.html");
  EXPECT_EQ(o.code, 0) << o.err;
  std::string const page = read_text(at / "page.html");
  EXPECT_NE(page.find("Run 2: Place cpu"), std::string::npos);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(at.shell("garner report cpu.json").code, 0);
  EXPECT_NE(read_text(at / "report.html").find("Place cpu"), std::string::npos);
}

TEST(bench_program, takes_graphs_jobs_and_kinds_as_told) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate web --scale 7 w.gnr").code, 0);
  outcome const o = at.shell("garner bench traversal " + quick +
                             "--device simulated --kinds none --graph w.gnr --algorithms bfs,components --out r.json");
  ASSERT_EQ(o.code, 0) << o.err;
  json const run = json::parse(read_text(at / "r.json"));
  EXPECT_EQ(run.at("graphs").size(), 1u);
  EXPECT_EQ(run.at("graphs").at(0).at("name"), "w.gnr");
  for (json const& j : run.at("jobs")) EXPECT_TRUE(j.at("job") == "bfs" || j.at("job") == "components");
  ASSERT_EQ(at.shell("garner bench traversal " + quick + "--device simulated --kinds kron --strategies default,near --out w.json").code, 0);
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
           {"garner bench gnn --out r.json", 2},
           {"garner bench traversal", 2},
           {"garner bench traversal --out nowhere/r.json", 1},
           {"garner bench traversal --device moon --out r.json", 2},
           {"garner bench traversal --device cpu --kinds ring --out r.json", 2},
           {"garner bench traversal --device cpu --algorithms sleep --out r.json", 2},
           {"garner bench traversal --device cpu --strategies default,sideways --out r.json", 2},
           {"garner bench traversal --device cpu --strategies near --out r.json", 2},
           {"garner bench traversal --device cpu --scale 40 --out r.json", 2},
           {"garner bench traversal --device cpu --protocol long --out r.json", 2},
           {"garner bench traversal --device cpu --link 0 --out r.json", 2},
           {"garner bench traversal --device cpu --kinds none --out r.json", 2},
           {"garner bench traversal --device cpu --graph-cache 1G --out r.json", 2},
           {"garner bench traversal --device cpu --kinds none --graph missing.gnr --pattern-bytes 64KiB --out r.json", 1},
           {"garner bench traversal --device cpu --scale 20 --memory-limit 10M --pattern-bytes 64KiB --out r.json", 1},
           {"garner report", 2},
           {"garner report none.json --out r.html", 1},
           {"garner report bad.json --out r.html", 1},
           {"garner report old.json --out r.html", 1},
           {"garner report old.json --out old.json", 2}}) {
    SCOPED_TRACE(line);
    outcome const o = at.shell(line);
    EXPECT_EQ(o.code, code) << o.err;
    expect_one_line(o.err);
    EXPECT_EQ(at.names(), before);
  }
  EXPECT_NE(at.shell("garner report old.json").err.find("garner.bench.traversal"), std::string::npos);
}

TEST(bench_program, stops_at_ctrl_c) {
  folder const at;
  outcome const o = at.garner({"bench", "traversal", "--device", "simulated", "--scale", "18", "--out", "r.json"},
                              {{}, {}, std::chrono::milliseconds(700)});
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_TRUE(at.names().empty());
}

}  // namespace
}  // namespace garner::testing

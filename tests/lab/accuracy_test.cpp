// Table 5 of the MGG paper on the page: results of tools/measure_sampling are read and drawn.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;
using ::testing::HasSubstr;

std::string committed() {
  std::ifstream in(GARNER_SOURCE_DIR "/docs/benchmarks/sampling-host.json");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(accuracy, the_committed_run_is_drawn) {
  std::string const text = committed();
  accuracy_file const f = file_in<accuracy_file>(json::parse(text), "s.json");
  EXPECT_EQ(f.seeds, 3u);
  ASSERT_EQ(f.rows.size(), 18u);
  EXPECT_EQ(f.rows[0].strategy, "whole");
  EXPECT_NEAR(f.rows[0].mean, 81.7, 1e-9);
  std::string const page = page_of({.accuracies = {{"s.json", f}}});
  expect_all(page, {"accuracy with and without sampling (table 5)", "Cora, gcn", "81.7 \u00b1 0.3", "whole graph", "over shards",
                    "mini-batches", "Reddit 93.7 % sampled and 95.7 % whole", "1.07 times as long", "whole over drawn", "3.33"});
}

TEST(accuracy, a_training_that_was_not_measured_is_a_dash) {
  accuracy_file f;
  f.rows.push_back({"Cora", "gcn", "shards", "accuracy", 10, 20, 81, 1, 5});
  std::string const page = page_of({.accuracies = {{"s.json", f}}});
  EXPECT_THAT(page, HasSubstr("<td>-</td><td>81.0 \u00b1 1.0</td><td>-</td><td>-</td>"));
}

}  // namespace
}  // namespace garner::testing

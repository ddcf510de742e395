// Golden transcripts (tests/cli/golden.hpp) of garner-lab.
#include "cli/golden.hpp"

namespace garner::testing {
namespace {

TEST(lab_golden, help) {
  std::vector<std::string> all{"garner-lab --version | sed 's/ .*//'", "garner-lab --help", "garner-lab", "garner-lab gather",
                               "garner-lab bfs"};
  for (std::string const verb : {"traversal", "gather", "tiering", "load", "train", "storage", "shards", "report", "traffic", "trace"})
    all.push_back("garner-lab " + verb + " --help-all");
  expect_golden_of("lab", "help", all);
}

TEST(lab_golden, traffic) {
  expect_golden_of("lab", "traffic",
                   {R"(printf '0 1\n1 2\n2 0\n3 0\n3 1\n' > d.el && garner convert d.el d.gnr > log)",
                    "garner generate kron --scale 10 --random-weights 1:9 k.gnr > log", "garner-lab traffic bfs k.gnr --source 1",
                    "garner-lab traffic sssp k.gnr --source 1", "garner-lab traffic components k.gnr --variant emogi",
                    "garner-lab traffic pagerank k.gnr --l2-bytes 8K", "garner-lab trace d.gnr --train 100% --fanout 2 | grep -v time",
                    "garner-lab traffic pagerank d.gnr --access merged | grep -v merged"});
}

}  // namespace
}  // namespace garner::testing

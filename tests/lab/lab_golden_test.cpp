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

TEST(lab_golden, ways) {
  std::string const bfs = "garner-lab run bfs tree.gnr --source 0 --device simulated --access ";
  expect_golden_of(
      "lab", "ways",
      {"printf '0 1\\n0 2\\n1 3\\n3 4\\n9 8\\n' > tree.el && garner convert tree.el tree.gnr > log", "garner-lab run | sed 's/pass.*//'",
       "garner-lab run bfs --help-all", bfs + "strided --verify", bfs + "merged", bfs + "paged",
       bfs + "aligned --l2-bytes 1M --json --verify", "garner generate kron --scale 10 --random-weights 1:9 --id-bytes 8 k.gnr > log",
       "garner-lab run bfs k.gnr --device simulated --access strided --trials 2 --no-split --vertices-per-team 8 --verify",
       "garner-lab run plan k.gnr --algorithm sssp --device simulated --access merged",
       "garner-lab run plan k.gnr --algorithm components --device simulated --access strided"});
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

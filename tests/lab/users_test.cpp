// The first figure of a page is remote over local of users' scripts, from the JSON of tools/prove_user.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;

TEST(users, the_committed_run_is_the_first_figure) {
  std::ifstream in(GARNER_SOURCE_DIR "/docs/benchmarks/user-path-h100.json");
  std::stringstream text;
  text << in.rdbuf();
  bench_files files;
  files.runs.push_back({"run.json", sample_run()});
  files.add(text.str(), "user-path-h100.json");
  ASSERT_EQ(files.users.size(), 1u);
  std::string const page = page_of(files);
  EXPECT_LT(page.find("<h3>remote over local, by script</h3>"), page.find("(figure 2.5)"));
  EXPECT_EQ(page.find("<h3>"), page.find("<h3>remote over local"));
  expect_all(page, {"<title>Garner: users&#39; scripts, measured</title>", "pyg, links, features remote", "NVIDIA H100",
                    "WholeGraph, remote", "commit 307a201", "take 0.86 to 3.43 times as long as with local data"});
}

TEST(users, whole_graphs_are_drawn_by_what_bounds_them) {
  std::ifstream in(GARNER_SOURCE_DIR "/docs/benchmarks/whole-graph-kept-h100-x2.json");
  std::stringstream text;
  text << in.rdbuf();
  bench_files files;
  files.add(text.str(), "whole.json");
  ASSERT_EQ(files.wholes.size(), 1u);
  std::string const page = page_of(files);
  expect_all(page, {"<title>Garner: whole graphs, measured</title>", "<h3>epoch by GPU memory allowed</h3>", "NVIDIA H100", "crossing",
                    "11.5 GiB, host", "11.4 GiB, 2 GPUs", "11.5 GiB, file",
                    "<td class=\"name\">gcn</td><td class=\"name\">host</td><td>11.4 GiB</td><td>530</td><td>418</td><td>3.22</td><td "
                    "class=\"name\">the link</td>",
                    "<td class=\"name\">gcn</td><td class=\"name\">one shard</td><td>46.0 GiB</td><td>171</td><td>-</td><td>1.04</td><td "
                    "class=\"name\">the GPU</td>",
                    "up to 14.0 times as long as all on the GPU"});
}

TEST(users, without_local_twins_there_is_a_table) {
  users_file const f{"a GPU", "2026-11-28", "", "tools/prove_user", {{"pyg", "", 1.5, {}, {}}}};
  std::string const page = page_of({.users = {{"u.json", f}}});
  expect_all(page, {">pyg</td><td>1.50</td><td>-</td>"});
  EXPECT_EQ(page.find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace garner::testing

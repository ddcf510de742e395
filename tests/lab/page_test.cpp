// The page as text; tools/check_page and a browser check its layout.
#include "lab/page.hpp"

#include <gtest/gtest.h>

#include "lab/sample.hpp"

namespace garner::testing {
namespace {

using lab::page_of;

bool holds(std::string const& text, std::string const& what) { return text.find(what) != std::string::npos; }

TEST(page, shows_every_figure_with_the_papers_value) {
  std::string const page = page_of({.runs = {{"run.json", sample_run()}}});
  for (char const* figure : {"2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12", "2.14"})
    EXPECT_TRUE(holds(page, std::string("(figure ") + figure + ")</h3>")) << figure;
  EXPECT_TRUE(holds(page, "1.86 times"));  // the paper, 2.6
  EXPECT_TRUE(holds(page, "device budget 1.0 GiB"));
  EXPECT_TRUE(holds(page, "width=device-width"));
  EXPECT_TRUE(holds(page, "prefers-color-scheme:dark"));
  // 8.5 ms of UVM against 1.5 of aligned and 1.0 of the default; 8-byte ids were not measured, and the page reports it.
  EXPECT_TRUE(holds(page,
                    "Speed in multiples of UVM&#39;s: \xE2\x80\x98"
                    "aligned\xE2\x80\x99 5.67 on kron 10; Garner&#39;s own way 8.50."));
  EXPECT_TRUE(holds(page, "No algorithm was measured with both widths."));
  // 80,000 bytes at 51 GB/s are 0.00157 ms: 0.1 % of 1.5 ms.
  EXPECT_TRUE(holds(page, "% of the floor"));
  EXPECT_TRUE(holds(page, "<td>0.105</td>"));
}

// Remote 1.0 ms, local 0.375: 2.67 times; the first runs include preparation: 0.5 + 1.5 and 0.25 + 1.25.
TEST(page, divides_far_by_near) {
  std::string page = page_of({.runs = {{"run.json", sample_run()}}});
  EXPECT_TRUE(holds(page, "Slowdown with remote edges over local ones: bfs 2.67 on kron 10.</p>"));
  EXPECT_TRUE(holds(page,
                    "<td class=\"name\">bfs</td><td class=\"name\">kron 10</td><td>4 B</td><td>1.00</td><td>0.375</td><td>2.67</td>"
                    "<td>2.00</td><td>1.50</td></tr>"));
  EXPECT_TRUE(holds(page, "<th scope=\"col\">first, ms</th><th scope=\"col\">each after, ms</th>"));
  // Local edges do not use the link: only the times show them.
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = page.find(">Garner, near</td>", at)) != std::string::npos; ++at) ++rows;
  EXPECT_EQ(rows, 1u);

  lab::run_file r = sample_run();
  for (auto& j : r.jobs) j.job = "pagerank", j.iterations = 2;
  EXPECT_TRUE(holds(page_of({.runs = {{"run.json", r}}}),
                    "<td class=\"name\">pagerank (an iteration)</td><td class=\"name\">kron 10</td><td>4 B</td><td>0.500</td>"
                    "<td>0.188</td><td>2.67</td><td>2.00</td><td>1.50</td></tr>"));
}

TEST(page, says_why_far_over_near_is_absent) {
  auto const absent = [](lab::run_file const& r, std::string const& why) {
    std::string const page = page_of({.runs = {{"run.json", r}}});
    EXPECT_FALSE(holds(page, "Slowdown with remote edges"));
    EXPECT_TRUE(holds(page, "and in the device&#39;s</td><td class=\"name\">" + why)) << page;
  };
  lab::run_file r = sample_run();
  r.jobs[5].skipped = "no room on the device", r.jobs[5].verified = false;
  absent(r, "no room on the device</td>");
  r = sample_run();
  r.jobs[4].verified = false;  // without a remote one to divide by
  absent(r, "No algorithm was measured with both strategies");
  r = sample_run();
  r.jobs.pop_back();
  absent(r, "No algorithm was measured with both strategies");
  r.machine.place = "host";
  absent(r, "Only a GPU has memory of its own");
}

TEST(page, is_self_contained) {
  std::string const page = page_of({.runs = {{"a.json", sample_run()}, {"b.json", sample_run()}}});  // the same graph twice: two runs
  for (char const* no : {"<script", "http://", "https://", "src=", "@import", "url("}) EXPECT_FALSE(holds(page, no)) << no;
  EXPECT_TRUE(holds(page, "Run 2: "));
}

TEST(page, joins_runs_of_one_setting_over_different_graphs) {
  lab::run_file other = sample_run();
  other.graphs[0].name = "web 10";
  for (auto& j : other.jobs) j.graph = "web 10";
  other.machine.device_budget = *other.machine.device_budget - 1000;
  std::string page = page_of({.runs = {{"a.json", sample_run()}, {"b.json", other}}});
  EXPECT_FALSE(holds(page, "Run 2: "));
  EXPECT_TRUE(holds(page, "a.json, b.json"));
  EXPECT_TRUE(holds(page, "5.67 on kron 10 and 5.67 on web 10"));
  lab::run_file const was = other;
  for (auto change :
       std::vector<void (*)(lab::run_file&)>{[](auto& r) { r.machine.device_budget = 1000; }, [](auto& r) { r.machine.place = "host"; },
                                             [](auto& r) { r.protocol.sources = 64; }, [](auto& r) { r.garner = "9"; }}) {
    other = was;
    change(other);
    EXPECT_TRUE(holds(page_of({.runs = {{"a.json", sample_run()}, {"b.json", other}}}), "Run 2: "));
  }
}

TEST(page, does_not_draw_what_was_not_verified) {
  lab::run_file r = sample_run();
  r.jobs[3].verified = false;  // aligned
  r.jobs[3].ms_statistic = 777.25;
  r.jobs[2].skipped = "too large";
  std::string const page = page_of({.runs = {{"run.json", r}}});
  EXPECT_FALSE(holds(page, "777"));
  EXPECT_TRUE(holds(page, "the result was not verified"));
  EXPECT_TRUE(holds(page, "too large"));
  EXPECT_FALSE(holds(page, ">merged</text>"));
  EXPECT_TRUE(holds(page, ">strided</text>"));
}

TEST(page, escapes_what_the_file_says) {
  lab::run_file r = sample_run();
  std::string const evil = "<img src=x onerror=alert(1)>\"'&";
  r.command = r.time = r.garner = r.machine.device = r.graphs[0].name = r.patterns[0].pattern = r.patterns[1].skipped = evil;
  for (auto& j : r.jobs) j.graph = j.label = j.job = evil;
  r.jobs[0].skipped = evil;
  std::string const page = page_of({.runs = {{evil, r}}});
  EXPECT_FALSE(holds(page, "<img"));
  EXPECT_TRUE(holds(page, "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"));
}

TEST(page, draws_an_empty_run) {
  lab::run_file r = sample_run();
  r.graphs.clear(), r.patterns.clear(), r.jobs.clear();
  EXPECT_TRUE(holds(page_of({.runs = {{"run.json", r}}}), "Not measured, so not shown"));
}

TEST(page, survives_the_largest_and_the_smallest) {
  lab::run_file r = sample_run();
  for (auto& j : r.jobs) j.predicted = {{1e-300, 5e-324}, {1e18, 1e18}, {12, 1}}, j.ms = {1e18, 5e-324}, j.ms_statistic = 1e18;
  r.jobs[3].ms_statistic = 5e-324;
  r.jobs[1].link->requests = {~0ull, ~0ull, ~0ull, ~0ull};
  r.jobs[2].link->requests = {1, 0, 0, 0};
  std::string const page = page_of({.runs = {{"run.json", r}}});
  EXPECT_LT(page.size(), 200'000u);
  for (char const* no : {"nan", "\"inf", "\"-inf"}) EXPECT_FALSE(holds(page, no)) << no;
}

// All-zero results must not divide by zero.
TEST(page, survives_zeros) {
  lab::run_file r = sample_run();
  r.machine.link = lab::link_rates{};
  r.patterns[0].gbs = 0;
  for (auto& j : r.jobs) j.ms = {0, 0}, j.ms_statistic = 0, j.link = traffic{}, j.data_bytes = 0, j.predicted = {{0, 0}, {0, 0}};
  std::string const page = page_of({.runs = {{"run.json", r}}});
  for (char const* no : {"nan", "inf<", "inf ", "-nan"}) EXPECT_FALSE(holds(page, no)) << no;
}

}  // namespace
}  // namespace garner::testing

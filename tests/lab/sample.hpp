// What tests of the lab share.
#pragma once
#include <gmock/gmock.h>

#include <numeric>

#include "garner/handle.hpp"
#include "lab/run_file.hpp"

namespace garner::testing {

inline std::vector<std::int64_t> all_nodes(graph_handle const& g) {  // as a training set
  std::vector<std::int64_t> all(g.info().vertices);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}
inline void expect_all(std::string const& page, std::initializer_list<char const*> texts) {
  for (char const* text : texts) EXPECT_THAT(page, ::testing::HasSubstr(text));
}

// A small run file with one of everything, as a device would write it.
inline lab::run_file sample_run() {
  using namespace lab;
  run_file r;
  r.garner = "0.1.0";
  r.command = "garner-lab traversal --out run.json";
  r.time = "2026-11-21T12:00:00Z";
  r.machine = {"device 0", "Some GPU", 16, 60u << 20, 1u << 30, std::nullopt, link_rates{55, 51, 26.4, 0.4, 0.72}};
  r.protocol = {"short", "median", 2, 1, 5, 1};
  r.graphs.push_back({"kron 10", 1024, 20000, 300, false, {{0, 0}, {16, 0.25}, {32, 0.5}, {48, 0.75}, {96, 1}}});
  pattern_row aligned{"aligned", 4096, 0.1, 50.5, traffic{{0, 0, 0, 32}, 0, 4096}, true, ""};
  r.patterns = {aligned, {"strided", 4096, std::nullopt, std::nullopt, std::nullopt, false, "no time"}};
  double ms = 8;
  for (char const* strategy : {"uvm", "strided", "merged", "aligned", "default"}) {
    job_row j;
    j.graph = "kron 10", j.job = "bfs", j.strategy = strategy, j.label = strategy, j.paper = std::string(strategy) != "default";
    j.place = "device 0", j.access = "aligned", j.tier = "host", j.data_bytes = 80000, j.state_bytes = 9000, j.device_budget = 1u << 30;
    j.ms = {ms, ms + 1}, j.ms_statistic = ms + 0.5, j.verified = true, j.modelled = true;
    j.link = traffic{{8, 4, 2, 1000}, 0, 160000};
    j.predicted = {{12.3, 10}, {51, 2.5}};
    if (j.strategy == "default") j.prepare_ms = 1.5;
    r.jobs.push_back(j);
    ms /= 2;
  }
  // The default again, with edges in the device's memory.
  job_row near = r.jobs.back();
  near.strategy = "near", near.label = "Garner, near", near.tier = "device";
  near.ms = {0.25, 0.5}, near.ms_statistic = 0.375, near.prepare_ms = 1.25, near.link.reset(), near.predicted.clear(),
  near.modelled = false;
  r.jobs.push_back(near);
  return r;
}

}  // namespace garner::testing

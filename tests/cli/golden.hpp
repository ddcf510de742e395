// Golden transcripts: golden/NAME.txt holds commands with their output and exit codes; times are masked. To accept the program's current
// output: GARNER_UPDATE_GOLDEN=1 build/tests/golden_test (or lab_golden_test), and read the difference. A transcript: "$ COMMAND", then its
// standard output, its standard error with "! " before each line, and "= CODE" if it is not 0.
#pragma once
#include <algorithm>
#include <functional>
#include <regex>

#include "cli/program.hpp"

namespace garner::testing {

// Masks times, rates and values that depend on the machine.
inline std::string masked(std::string text) {
  static std::vector<std::pair<std::regex, std::string>> const masks = {
      {std::regex(R"~(\| +\d+\.\d +\d+\.\d \|)~"), "| # # |"},  // waiting times of a training
      {std::regex(R"~((layer  ?\d+|all     ): +\d+\.\d ms)~"), "$1: # ms"},
      {std::regex(R"~(\(\d+\.\d before the layers\), \d+\.\d GB/s)~"), "(# before the layers), # GB/s"},
      {std::regex(R"~(("loss": \d+\.\d{3})\d*)~"), "$1"},
      {std::regex(R"~("((evaluation|sample|fetch|gather|model|input|output|caller_waited|loader_waited)_ms)": [-+.e\d]+)~"), "\"$1\": #"},
      {std::regex(R"~(("gbs": )[-+.e\d]+)~"), "$1#"},
      {std::regex(R"~((layer +\d+|all  +): +\d+\.\d ms)~"), "$1: # ms"},  // times of an inference
      {std::regex(R"~(\(\d+\.\d before the layers\), \d+\.\d GB/s)~"), "(# before the layers), # GB/s"},
      {std::regex(R"~(; \d+\.\d\d s\n)~"), "; # s\n"},
      {std::regex(R"~(time \d+\.\d+ ms, \d+\.\d+ GTEPS)~"), "time # ms, # GTEPS"},
      {std::regex(R"~( +\d+\.\d{3} +\d+\.\d{4} )~"), " # # "},
      {std::regex(R"~( +\d+\.\d{3} +(-|\d+\.\d\d)\n)~"), " # $1\n"},
      {std::regex(R"~(ms least .* together \d+\.\d+ GTEPS)~"), "ms least #, median #, most #; together # GTEPS"},
      {std::regex(R"~(first \d+\.\d+ ms, \d+\.\d+ of these)~"), "first # ms, # of these"},
      {std::regex(R"~(; \d+\.\d+ ms before it)~"), "; # ms before it"},
      {std::regex(R"~((built|made) in \d+\.\d ms)~"), "$1 in # ms"},
      {std::regex(R"~("(ms|gteps|prepare_ms|first_ms|each_ms)": [-+.e\d]+)~"), "\"$1\": #"},
      {std::regex(R"~("host_budget": [a-z\d]+)~"), "\"host_budget\": #"},
      {std::regex(R"~("state_bytes": \d+)~"), "\"state_bytes\": #"},
      {std::regex(R"~(memory  state .*)~"), "memory  state #"},
      {std::regex(R"~(garner \d+\.\d+\.\d+ \((with|without) GPU support\))~"), "garner # (# GPU support)"},
      {std::regex(R"~(of (\S+ .?i?B|an amount not known) allowed\n)~"), "of # allowed\n"},
      {std::regex(R"~(\n  here .*)~"), "\n  here #"},
      {std::regex(R"~(\nno time here: .*\n)~"), ""},
      {std::regex(R"~(\| +(-|[\d.]+) )~"), "| # "},
      {std::regex(R"~((memory  )\S+ \S+ (of sampler, ring and window))~"), "$1# $2"},
      {std::regex(R"~(("local_bytes": )\d+)~"), "$1#"},
      {std::regex(R"~([ !] GPU \d+ {2,}[^\n]*\n( +-> [^\n]*\n)?)~"), ""},  // of the doctor, as all that this machine has
      {std::regex(R"~([ !] (Garner|driver|host memory|pinned memory|/dev/shm|io_uring|cuBLAS|NCCL|torch|PyG) {2,}[^\n]*(\n +-> [^\n]*)?)~"),
       "  $1 #"},
      {std::regex(R"~((garner-loader 1 epoch \d+ next \d+ of )[0-9a-f]{16})~"), "$1#"},
  };
  for (auto const& [what, with] : masks) text = std::regex_replace(text, what, with);
  return text;
}

inline std::string transcript(folder const& at, std::vector<std::string> const& commands) {
  std::string all;
  for (auto const& command : commands) {
    outcome const o = at.shell(command);
    all += "$ " + command + "\n" + masked(o.out);
    if (!o.out.empty() && o.out.back() != '\n') all += "\n% no newline at the end\n";
    std::istringstream lines(masked(o.err));
    for (std::string line; std::getline(lines, line);) all += "! " + line + "\n";
    if (o.code != 0) all += "= " + std::to_string(o.code) + "\n";
  }
  return all;
}

inline void expect_golden_of(std::string const& of, std::string const& name, std::vector<std::string> const& commands,
                             std::function<void(folder const&)> const& prepare = {}) {
  folder const at;
  if (prepare) prepare(at);
  std::string const now = transcript(at, commands);
  std::filesystem::path const file = std::filesystem::path(GARNER_SOURCE_DIR) / "tests" / of / "golden" / (name + ".txt");
  if (std::getenv("GARNER_UPDATE_GOLDEN")) {
    std::ofstream(file) << now;
    GTEST_SKIP() << file << " was written anew; read the difference";
  }
  ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing; GARNER_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(now, read_text(file)) << "GARNER_UPDATE_GOLDEN=1 takes what the program writes now as right";
}

}  // namespace garner::testing

// The verbs of the program, one file each. A verb adds its subcommand to the app, with a callback that parses and calls the library;
// what is common to all (errors, exit codes, progress, --quiet, --stats) stands in main.cpp.
#pragma once
#include <CLI/CLI.hpp>

namespace garner {

void add_generate(CLI::App& app);
void add_convert(CLI::App& app);
void add_reorder(CLI::App& app);
void add_stats(CLI::App& app);
void add_bfs(CLI::App& app);
void add_pagerank(CLI::App& app);
void add_components(CLI::App& app);
void add_sssp(CLI::App& app);
void add_score(CLI::App& app);
void add_trace(CLI::App& app);
void add_plan(CLI::App& app);
void add_traffic(CLI::App& app);
void add_bench(CLI::App& app);
void add_report(CLI::App& app);
void add_info(CLI::App& app);
void add_demo(CLI::App& app);

}  // namespace garner

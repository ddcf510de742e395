// The verbs of the program, one file each. A verb adds its subcommand to the app, with a callback that parses and calls the library;
// what is common to all (errors, exit codes, progress, --quiet, --stats) stands in command/program.cpp.
#pragma once
#include "command/options.hpp"

namespace garner {

void add_generate(cli::program& p);
void add_convert(cli::program& p);
void add_reorder(cli::program& p);
void add_stats(cli::program& p);
void add_bfs(cli::program& p);
void add_pagerank(cli::program& p);
void add_components(cli::program& p);
void add_sssp(cli::program& p);
void add_score(cli::program& p);
void add_sample(cli::program& p);
void add_load(cli::program& p);
void add_train(cli::program& p);
void add_predict(cli::program& p);
void add_plan(cli::program& p);
void add_info(cli::program& p);
void add_doctor(cli::program& p);
void add_demo(cli::program& p);

std::vector<void (*)(cli::program&)> all_verbs();

std::string_view json_table();  // of what they print as JSON; its first lines say how it is written

}  // namespace garner
namespace garner::cli {

std::string manual(program const& p, std::string const& version);  // roff
std::string completion(program const& p, std::string_view shell);  // bash or zsh; errc::usage of any other

}  // namespace garner::cli

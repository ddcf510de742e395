// The verbs of garner-lab, one file each.
#pragma once
#include "cli/command/options.hpp"

namespace garner::lab {

void add_traversal(cli::program& p);
void add_gather(cli::program& p);
void add_tiering(cli::program& p);
void add_load(cli::program& p);
void add_train(cli::program& p);
void add_storage(cli::program& p);
void add_shards(cli::program& p);
void add_report(cli::program& p);
void add_traffic(cli::program& p);
void add_trace(cli::program& p);

std::string_view json_table();  // of what they write as JSON, as cli/json_table.cpp says

}  // namespace garner::lab

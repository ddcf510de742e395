// Every verb, in the order of the help.
#include "verbs.hpp"

#include "command/schema.hpp"

namespace garner {

std::vector<void (*)(cli::program&)> all_verbs() {
  return {add_generate, add_convert, add_reorder, add_stats,   add_bfs,  add_sssp, add_components, add_pagerank, add_score,
          add_sample,   add_load,    add_train,   add_predict, add_plan, add_info, add_doctor,     add_demo,     cli::add_schema};
}

}  // namespace garner

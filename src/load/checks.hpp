// What a loader is made of, and its checks. Invariant: terms that exist are sound.
#pragma once
#include <cstdint>
#include <vector>

#include "core/executor.hpp"
#include "garner/load.hpp"

namespace garner {

struct load_terms {
  block_sampler& sampler;
  std::vector<loaded_table> tables;
  loader_options o;
  bool chooses_window;              // o.window was automatic
  std::vector<std::int64_t> times;  // of the loader's seeds
  executor x;                       // runs the gathers

  load_terms(block_sampler& s, std::vector<loaded_table> of_tables, loader_options const& options, std::vector<std::int64_t> at_times);
};

void check_ids(load_terms const& t, std::vector<std::int64_t> const& ids, std::uint32_t type);
void check_times(std::vector<std::int64_t> const& times, std::size_t seeds);
void check_seeds(load_terms const& t, std::vector<std::int64_t> const& seeds);  // of the loader, for its epochs

}  // namespace garner

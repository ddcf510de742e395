// `garner bench storage`: its own options, in addition to those that all benches share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lab/storage.hpp"
#include "options.hpp"

namespace garner::cli {

struct storage_arguments {
  double cache_batches = 5;
  std::optional<double> link_gbs;
  std::vector<std::string> drives;
  void add(verb& v);
  // `o` has the rest; writes the file.
  void measure(lab::storage_bench_options o, std::string const& out) const;
};

}  // namespace garner::cli

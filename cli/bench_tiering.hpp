// `garner bench tiering`: its own options, in addition to those that all benches share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lab/tiering.hpp"
#include "sample_options.hpp"

namespace garner::cli {

struct tiering_arguments {
  sample_arguments training;
  std::optional<std::uint64_t> epochs;  // 1
  std::uint64_t deeper_epochs = 1, row_bytes = 512;
  std::uint64_t ceiling = 8;
  std::vector<std::uint64_t> presample{8};
  bool no_deeper = false, no_gathers = false;
  void add(verb& v);
  // `o` has the place, the graphs and the command; writes the file.
  void measure(lab::tiering_options o, std::uint64_t seed, std::string const& out) const;
};

}  // namespace garner::cli

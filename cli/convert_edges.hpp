// garner convert of tables of edges: Parquet, Arrow, several files, ids that are names. The Python package reads them, by garner.convert.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "command/options.hpp"
#include "garner/graph.hpp"

namespace garner::cli {

struct edge_arguments {
  std::string src, dst, weight, names;
  std::vector<std::string> node_features, node_labels;
  bool renumber = false;
  void add(verb& v);
  // Whether `in` is such a table, or an option is set that tables alone have.
  bool concern(std::string const& in) const;
  // errc::usage if the Python package or pyarrow is missing; else the errors of garner.convert. None: `out` is a dataset file.
  std::optional<graph_info> convert(std::string const& in, std::string const& out, build_options const& options,
                                    std::string const& memory_limit, std::string const& scratch) const;
};

}  // namespace garner::cli

// --compress, --keep-cached-neighbors and --no-cached-neighbors: what the verbs that write graph files can do to a graph on its way.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "command/options.hpp"
#include "graph/graph.hpp"
#include "graph/large_graph.hpp"

namespace garner::cli {

struct pack_arguments {
  bool compress = false, plain = false, none_cached = false;
  std::optional<std::uint32_t> cached_neighbors;

  void add(verb& v);
  void require_container(std::string const& out, bool is_container) const;  // errc::usage: other formats hold neither
  void require_narrow(std::uint32_t id_bytes) const;                        // errc::usage: compressed ids are 4 bytes wide
  // Applies them and prints what it did. `container`: the format can hold both; cached neighbors are stored there by default.
  void apply(graph& g, execution_device where, bool container) const;
  // The same of a graph that is written by parts: what is to be done to it, of which `beside` must live as long, and what was done.
  std::unique_ptr<beside_lists> by_parts(large_options& how) const;
  void tell(large_report const& about, graph_info const& info) const;
};

}  // namespace garner::cli

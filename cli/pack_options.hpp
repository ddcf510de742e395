// --compress, --keep-cached-neighbors and --no-cached-neighbors: what the verbs that write graph files can do to a graph on its way.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "command/options.hpp"
#include "garner/convert.hpp"

namespace garner::cli {

struct pack_arguments {
  bool compress = false, plain = false, none_cached = false;
  std::optional<std::uint32_t> cached_neighbors;

  void add(verb& v);
  void require_container(std::string const& out, bool is_container) const;  // errc::usage: other formats hold neither
  void require_narrow(std::uint32_t id_bytes) const;                        // errc::usage: compressed ids are 4 bytes wide
  pack_options options() const;
  // Prints what was done. `container`: the file can hold both.
  void tell(pack_report const& r, graph_info const& info, bool container) const;
  void tell(convert_result const& r, bool container) const;
};

}  // namespace garner::cli

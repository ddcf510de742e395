// --compress and --keep-hints: what the verbs that write containers can do to a graph on its way.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "graph/graph.hpp"

namespace garner::cli {

struct pack_arguments {
  bool compress = false, plain = false;
  std::uint32_t hints = 0;

  void add(CLI::App& verb);
  bool any() const { return compress || hints; }
  void require_container(std::string const& out, bool is_container) const;  // errc::usage: other formats hold neither
  void apply(graph& g, place where) const;                                  // and says what it did
};

}  // namespace garner::cli

// The property of every reader's fuzz target: any input gives a consistent edge list, the same for blocks of any size, or one error line
// about the input.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

#include "garner/error.hpp"
#include "graph/formats.hpp"

namespace garner {

template <class Read>
void check_reader(Read const& read) {
  std::string said[2];
  edge_list lists[2];
  for (int i = 0; i < 2; ++i) {
    read_options options;
    options.block_bytes = i ? 4096 : 5;
    try {
      lists[i] = read(options).edges;
      edge_list const& e = lists[i];
      if (e.weights.size() != (e.weights_are == weight_kind::none ? 0 : e.arcs.size())) std::abort();
      if (e.mirrored && !e.undirected) std::abort();
      if (e.vertices)
        for (arc const& a : e.arcs)
          if (a.source >= e.vertices || a.target >= e.vertices) std::abort();
    } catch (error const& e) {
      said[i] = e.what();
      if (e.code() != errc::input || said[i].empty() || said[i].find('\n') != std::string::npos) std::abort();
    }
  }
  if (said[0].empty() != said[1].empty() || lists[0].arcs != lists[1].arcs || lists[0].weights != lists[1].weights) std::abort();
}

inline void check_reader(char const* data, std::size_t size, file_format format) {
  check_reader([&](read_options const& options) {
    input_stream in({data, size}, "input." + std::string(to_string(format)));
    return read_edges(in, format, options);
  });
}

}  // namespace garner

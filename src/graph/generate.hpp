// Generators: see generate_options. Every arc is a pure function of (seed, its number), drawn at the executor's place.
// Cost on one core some 100 ns an edge, the sort of build_csr after it; 32 bytes an edge of near memory.
#pragma once
#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

graph generate(executor& x, generate_options const& options, build_report& report);

generator parse_generator(std::string_view name);  // kron, uniform, web; errc::usage otherwise
std::string_view to_string(generator g);

// Near memory of the place, and host memory of the result, that generate() will take at its peak.
struct generate_bytes {
  std::uint64_t near, result;
};
generate_bytes bytes_to_generate(generate_options const& options);

}  // namespace garner

// A generated graph in host memory, as several tests of traversal want one.
#pragma once
#include "core/executor.hpp"
#include "graph/generate.hpp"

namespace garner::testing {

inline graph generated(generate_options const& o) {
  build_report report;
  executor here({device_kind::cpu, 0});
  return generate(here, o, report);
}
inline graph generated(generator kind, int scale, std::uint32_t id_bytes = 4) {
  generate_options o;
  o.kind = kind;
  o.scale = scale;
  o.build.id_bytes = id_bytes;
  return generated(o);
}

}  // namespace garner::testing

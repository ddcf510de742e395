// A generated graph in host memory, as several tests of traversal want one.
#pragma once
#include "core/executor.hpp"
#include "graph/generate.hpp"

namespace garner::testing {

inline graph generated(generator kind, int scale, std::uint32_t id_bytes = 4) {
  generate_options o;
  o.kind = kind;
  o.scale = scale;
  o.build.id_bytes = id_bytes;
  build_report report;
  executor here({device_kind::cpu, 0});
  return generate(here, o, report);
}

}  // namespace garner::testing

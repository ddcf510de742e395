// Graphs in files, loaded for a device with their adjacency left there or in memory.
#pragma once
#include <gtest/gtest.h>

#include "core/random.hpp"
#include "generated.hpp"
#include "graph/container.hpp"
#include "graph/generate.hpp"
#include "graph/list_file.hpp"
#include "graph/pack.hpp"
#include "lab/drives/simulated.hpp"
#include "memory/budget.hpp"
#include "storage_support.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/pagerank.hpp"
#include "traverse_support.hpp"

namespace garner::testing {
using namespace lab;

inline graph random_graph(std::uint64_t seed, std::uint32_t id_bytes, bool undirected, weight_kind kind) {
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_loops = true;
  o.in_edges = !undirected;
  return hub_graph(seed, 4000, 20000, undirected, kind, o);
}

inline constexpr std::uint64_t small_window = 256 << 10;

struct file_tier : in_folder {
  std::string saved(graph const& g, std::string const& name = "g.gnr") const {
    save_graph(g, folder / name);
    return (folder / name).string();
  }
  // Loaded for a device, with its adjacency in the file or in memory.
  static graph load(std::string const& file, execution_device where, tier edges, std::uint64_t window = 0,
                    std::shared_ptr<drive_set> drives = {}, bool check = true) {
    container_header const h = read_header(file);
    load_options how;
    how.edges = edges, how.device = where.kind == device_kind::cuda ? where.index : -1;
    how.in_edges = h.info.in_edges, how.weights = h.info.weights != weight_kind::none;
    how.window_bytes = window, how.drives = std::move(drives), how.check = check;
    return load_graph(file, how);
  }
};

struct file_tier_at : file_tier, ::testing::WithParamInterface<device_kind> {
  void SetUp() override {
    in_folder::SetUp();
    if (GetParam() == device_kind::cuda && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  execution_device where() const { return {GetParam(), 0}; }
  // f(in memory, in the file) for every graph and buffer size.
  template <class F>
  void each_graph(weight_kind kind, F f) {
    for (bool undirected : {true, false})
      for (std::uint32_t id_bytes : {4u, 8u})
        for (bool packed : {false, true}) {
          if (packed && id_bytes == 8) continue;
          graph g = random_graph(id_bytes + undirected, id_bytes, undirected, kind);
          if (packed) pack(g);
          std::string const file = saved(g);
          graph const near = load(file, where(), tier::host);
          for (std::uint64_t window : {std::uint64_t{kind == weight_kind::none ? 96u : 300u} << 10, std::uint64_t{0}})
            for (bool check : {true, false}) {
              SCOPED_TRACE(
                  fmt::format("undirected {} ids {} compressed {} window {} checked {}", undirected, id_bytes, packed, window, check));
              f(near, load(file, where(), tier::file, window, {}, check));
              if (HasFatalFailure()) return;
            }
        }
  }
  static bool is_small(graph const& g) { return g.in_file->window_bytes() != 0; }  // for whole lists of hubs
  template <class Options>
  Options options() const {
    Options o;
    o.device = where();
    o.verify = true;
    o.graph_cache = 0;  // so that both read the same over the link
    return o;
  }
};

}  // namespace garner::testing

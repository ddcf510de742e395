// What a sampler reads: adjacency, times and names, as the device that runs reads them. Made once; refers to the graphs, which must outlive
// it. The most-read of remote lists have copies on the device.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "garner/subgraph.hpp"
#include "graph/list_windows.hpp"
#include "graph/placed.hpp"
#include "memory/buffer.hpp"
#include "memory/pin.hpp"
#include "sample/blocks.hpp"
#include "sample/kept_lists.hpp"
#include "sample/kernels/hop_state.hpp"

namespace garner {

struct sampler_lists {
  struct of_type {
    std::uint64_t vertices = 0;
    buffer<std::int64_t> times;
    bool is_source = false;  // a relation samples vertices of this type
  };
  struct of_relation {
    inner_relation of;
    placed_lists lists;
    kept_lists kept;
    std::unique_ptr<list_windows> windows;  // set if the adjacency stays in its file
    pinned_pages pinned_times, pinned_places;
    std::int64_t const* times = nullptr;
    std::uint32_t const* places = nullptr;
    buffer<std::uint32_t> largest;        // largest weight per adjacency list, to sample long lists by weight without replacement
    bool far = false, looks = false;      // lies beyond the link; sampling reads every entry of a list
    std::uint64_t cached = 0;             // bytes of the first edges, cached
    buffer<std::uint64_t> names, begins;  // for a graph in another vertex order
    template <class Id>
    csr_view<Id> view() const {
      return kept.with(lists.view<Id>());
    }
    std::string told_of_kept() const;
  };
  std::vector<of_type> types;
  std::vector<of_relation> relations;
  drawing::counter_map map;
  std::uint64_t cached_arcs = 0;  // bytes of adjacency cached on the device
  // For a graph whose internal vertex order differs from the user's.
  memory_block inside, ranks;
  std::uint32_t inside_bytes = 4;

  sampler_lists(executor& x, std::vector<sampled_type> const& of_types, std::vector<inner_relation> of_relations, block_options const& o);
  void rename(executor& x, graph const& g);  // vertices have the user's names from now on
  std::uint64_t bytes() const;
  bool looks() const {
    return std::any_of(relations.begin(), relations.end(), [](of_relation const& r) { return r.looks; });
  }
  bool far() const {
    return std::any_of(relations.begin(), relations.end(), [](of_relation const& r) { return r.far; });
  }
};

}  // namespace garner

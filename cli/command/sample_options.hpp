// What the verbs that predict or record a training share: the graph loaded where it runs, fanouts, the training set.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "comm/rank_group.hpp"
#include "common.hpp"
#include "garner/sample.hpp"
#include "graph/source.hpp"

namespace garner::cli {

struct sample_arguments {
  std::string file, place = "cpu", tier, fanout = "12,12,12", rule = "all", train = "1%";
  std::uint64_t batch = 1000, seed = 1, presample = 8;
  bool json = false, no_check = false;
  budget_arguments budgets;
  std::shared_ptr<rank_group> together = {};  // processes that share adjacency and features in host memory; null: only this one

  void add_file(verb& v);
  void add_place(verb& v);
  void add_training(verb& v, bool with_seed = true);
  void add_presample(verb& v, char const* of);
  void add_rest(verb& v);

  garner::execution_device where() const { return parse_device(place); }
  char const* access() const { return tier == "managed" ? "paged" : "aligned"; }
  garner::tier edges(std::uint64_t near_bytes) const;  // `near_bytes`: what a device must have room for, where the tier is chosen
  sample_options sampling() const;                     // errc::usage where one is out of range

  // An upper bound of the training nodes, known before the graph is loaded.
  std::uint64_t most_training(std::uint64_t vertices) const;
  // errc::memory before anything is allocated: `state` local bytes in addition to the graph. `edges`: gets the tier.
  struct more {
    bool weights = false;
    std::uint64_t host_bytes = 0;  // also in addition to the graph, in host memory
    std::uint64_t kept_lists = 0;  // local, if adjacency is remote
  };
  graph_handle load(graph_source& from, std::optional<garner::tier>& edges, bool in_edges, std::uint64_t state,
                    more const& also = {false, 0, 0}) const;
};

// Before a graph is loaded: whether it is a share, or a file that can be read.
void check_training(std::string const& text);
// "1%" of the vertices, sampled with the seed; or a file of vertex ids, one per line (blank lines and # comments are skipped).
vertex_set training_set(graph_handle const& g, std::string const& text, std::uint64_t seed);

}  // namespace garner::cli

// What `garner sample`, `garner load` and `garner plan --job load` share: whose neighbours are drawn and how, the training vertices, and
// the graph loaded for that.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/batch_check.hpp"
#include "garner/blocks.hpp"
#include "sample_options.hpp"

namespace garner::cli {

struct loading_arguments : sample_arguments {
  std::string share = "1%", side = "in";
  std::uint64_t epochs = 1;
  std::optional<std::uint64_t> batches;
  bool replace = false, disjoint = false, weighted = false, edge_ids = false, verify = false;

  loading_arguments();
  void add_sampling(verb& v);  // FILE, how it samples, the training vertices
  void add_run(verb& v);       // --epochs, --batches, --verify

  std::vector<std::int64_t> fanouts() const;  // -1: all; errc::usage where it is none
  list_side lists() const;
  block_options blocks() const;
  score_options scoring() const;  // as far as sampling says
  void check() const;             // what can be refused before there is a graph
  // errc::memory before anything is taken; in-lists are made where they are asked for and there are none.
  graph_handle load_lists(graph_source& from, std::optional<garner::tier>& edges, std::uint64_t near_bytes, std::uint64_t host_bytes) const;
};

// Positions of the training vertices: of --train, or of --share, drawn among those that have neighbours to draw.
struct training_vertices {
  std::vector<std::int64_t> positions;
  std::uint64_t drawn_from = 0;  // 0: they were named
};
training_vertices training_of(graph_handle const& g, loading_arguments const& a);
std::uint64_t share_of(std::string const& text, std::uint64_t of);  // of --share; errc::usage

// Lines and keys that both verbs begin with.
void say_sampling(graph_source const& from, loading_arguments const& a, garner::tier edges, training_vertices const& t,
                  std::uint64_t batches);
nlohmann::ordered_json sampling_json(graph_source const& from, loading_arguments const& a, garner::tier edges, training_vertices const& t,
                                     std::uint64_t batches);

}  // namespace garner::cli

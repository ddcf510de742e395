// What `garner sample`, `garner load` and `garner plan --algorithm load` share: how neighbors are sampled, the training vertices,
// and the graph loaded for that.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "batch_check.hpp"
#include "garner/subgraph.hpp"
#include "sample_options.hpp"

namespace garner::cli {

struct training_vertices;

struct loading_arguments : sample_arguments {
  static constexpr char const* lists_scored =
      "which adjacency is cached: degree, rpr, wrpr, expected, sampled (see garner score), or an .npy file by ascending id; with "
      "--graph-cache";
  std::string share = "1%", side = "in", keep_lists, score = "expected";
  std::uint64_t epochs = 1;
  std::optional<std::uint64_t> batches;
  bool replace = false, disjoint = false, weighted = false, labor = false, edge_ids = false, verify = false;
  bool full = false;  // of a training: steps of the whole graph, which go back along its edges too

  loading_arguments();
  // FILE, how it samples, the training vertices; `scored`: what --score says.
  void add_sampling(verb& v, char const* scored = lists_scored);
  void add_run(verb& v);  // --epochs, --batches, --verify

  std::vector<std::int64_t> fanouts() const;  // -1: all; errc::usage if it is not a fanout
  edge_direction lists() const;
  bool wants_in_lists() const { return full || lists() == edge_direction::in || score == "sampled"; }  // it pulls
  block_options blocks() const;
  std::uint64_t kept_list_bytes(std::uint64_t all) const;  // of so many bytes of remote adjacency; errc::usage
  // By --score, in the order of ids().
  std::vector<float> scores_of(graph_handle const& g, training_vertices const& train, std::optional<garner::tier> edges) const;
  void check() const;  // what can be refused before there is a graph
  // errc::memory before anything is allocated; missing in-edges are built if they are needed.
  graph_handle load_lists(graph_source& from, std::optional<garner::tier>& edges, std::uint64_t near_bytes, std::uint64_t host_bytes) const;
};

// Positions of the training vertices: of --train, or of --share, drawn among those that have neighbours to draw.
struct training_vertices {
  std::vector<std::int64_t> positions;
  std::uint64_t drawn_from = 0;  // 0: they were named
};
training_vertices training_of(graph_handle const& g, loading_arguments const& a);
std::uint64_t share_of(std::string const& text, std::uint64_t of);  // of --share; errc::usage
// "8GiB" or "10%", of so many bytes of `what`; errc::usage.
std::uint64_t bytes_or_share(char const* option, char const* what, std::string const& text, std::uint64_t of);
std::uint64_t drawn_list_bytes(graph_source const& from, loading_arguments const& a);  // of the adjacency that is sampled

// The first lines and keys of both verbs.
void say_sampling(graph_source const& from, loading_arguments const& a, garner::tier edges, training_vertices const& t,
                  std::uint64_t batches);
nlohmann::ordered_json sampling_json(graph_source const& from, loading_arguments const& a, garner::tier edges, training_vertices const& t,
                                     std::uint64_t batches);

}  // namespace garner::cli

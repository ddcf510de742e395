// Predicted access frequencies of feature rows: scores, a sampler, and traces of accesses.
// Edge direction: an edge u -> v leads from u to v. Sampling the neighbors of v reads its in-neighbors u, so a score ranks the vertices
// that are read: score(u) depends on the out-neighbors of u, the targets that may sample it (docs/dev/papers.md has the formulas). In an
// undirected graph both are the same. Sources: chapter 4 of Min's dissertation (Data Tiering, KDD 2022); neighbor sampling: GraphSAGE,
// NeurIPS 2017.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/device.hpp"
#include "garner/handle.hpp"
#include "garner/traffic.hpp"

namespace garner {

// --- neighbor sampling ---
// The frontier of a hop.
enum class hop_rule : std::uint8_t {
  all,   // every vertex of the mini-batch so far, with a new sample at each hop (DGL's rule, used for the paper's figures)
  last,  // the vertices that the previous hop discovered (PyG's rule)
};
struct sample_options {
  std::vector<std::uint32_t> fanouts = {12, 12, 12};  // one per hop, 1 to 6 hops; in-neighbors per vertex, 0 to 1024
  hop_rule rule = hop_rule::all;
  std::uint64_t batch = 1000;  // training vertices per mini-batch
  std::uint64_t seed = 1;
};
// A training set: vertices by user id, in any order; duplicates count once.
using vertex_set = std::vector<std::uint64_t>;
// A share of the vertices in (0, 1], at least one, sampled without replacement: a pure function of the graph's ids and the seed.
vertex_set pick_training_set(graph_handle const& g, double share, std::uint64_t seed = 1);

// --- scores ---
enum class score_kind : std::uint8_t {
  degree,                     // out-edges
  reverse_pagerank,           // to convergence: a vertex passes damping / in-degree of its score to each in-neighbor
  weighted_reverse_pagerank,  // five iterations, training vertices start with vertices / training vertices times as much (Algorithm 2)
  expected,                   // accesses per epoch, predicted from fanouts, training set and mini-batch
  sampled,                    // the same, corrected by counts from presampled mini-batches
};
inline constexpr score_kind all_scores[] = {score_kind::degree, score_kind::reverse_pagerank, score_kind::weighted_reverse_pagerank,
                                            score_kind::expected, score_kind::sampled};
// Whether a score needs a training set, and whether it needs fanouts, rule and mini-batch too.
constexpr bool needs_training(score_kind k) { return k != score_kind::degree && k != score_kind::reverse_pagerank; }
constexpr bool needs_sampling(score_kind k) { return k == score_kind::expected || k == score_kind::sampled; }
struct score_options {
  execution_device device;
  std::optional<tier> edges;  // the memory tier of the edges; unset: where they are
  score_kind by = score_kind::expected;
  double damping = 0.85;                 // both PageRanks
  double tolerance = 1e-6;               // reverse_pagerank: on the L1 change per iteration; scores sum to at most 1
  std::uint64_t most_iterations = 1000;  // reverse_pagerank
  std::uint64_t presample = 8;           // sampled: number of presampled epochs, 1 to 65,536
  vertex_set train;                      // weighted_reverse_pagerank, expected, sampled
  sample_options sampling;               // expected, sampled; no score uses its seed (`sampled` has a random stream of its own)
};
struct score_result {
  std::vector<float> score;  // entry k: of the vertex graph.ids()[k]
  std::uint64_t iterations = 0;
  bool converged = true;  // reverse_pagerank: the tolerance was reached
  double l1_change = 0;   // reverse_pagerank
  double ms = 0;          // excludes allocating state
  traffic link;           // simulated: counted; else 0
};
// errc::usage for options out of range, errc::input for a training vertex that does not exist or an empty training set;
// sampled: also for a directed graph without in-edges.
score_result scores(graph_handle const& g, score_options const& options = {});

std::vector<float> read_scores(std::filesystem::path const& file);  // an .npy with one number per vertex, by ascending id: f4, f8, integers
// Writes a feature table (.npy; row r belongs to the vertex graph.ids()[r]) in the internal order of a reordered graph. `out` may be the
// input file. errc::input if the number of rows is not the number of vertices.
void permute_table(graph_handle const& g, std::filesystem::path const& table, std::filesystem::path const& out);

std::string_view to_string(score_kind kind);                      // "degree", "rpr", "wrpr", "expected", "sampled"
score_kind parse_score(std::string_view text);                    // these, or the full names; errc::usage otherwise
std::string_view to_string(hop_rule rule);                        // "all", "last"
hop_rule parse_hop_rule(std::string_view text);                   // errc::usage otherwise
std::vector<std::uint32_t> parse_fanouts(std::string_view text);  // "12,12,12"; errc::usage otherwise

// --- traces ---
struct trace_options {
  execution_device device;
  std::optional<tier> edges;
  vertex_set train;
  sample_options sampling;
  std::uint64_t epochs = 1;
  bool keep_rows = false;                          // keep the rows of each mini-batch, besides the count of each row
  std::uint64_t keep_batches = ~std::uint64_t{0};  // keep_rows: limit; save_trace() needs all or none
};
// The accesses of a training: an access is a distinct row of a mini-batch. Row k belongs to the vertex graph.ids()[k].
struct access_trace {
  sample_options sampling;
  std::uint64_t vertices = 0, train = 0, epochs = 0, batches = 0;  // batches: in all epochs
  std::uint64_t accesses = 0;
  std::uint64_t sampled = 0;           // number of sampled edges
  std::vector<std::uint32_t> counts;   // per row
  std::vector<std::uint64_t> offsets;  // start of each mini-batch in `rows`, and the end; empty unless kept
  std::vector<std::uint64_t> rows;     // training vertices first, then in the order of discovery
  double ms = 0;                       // of the sampling
  traffic link;                        // simulated: counted
};
// All devices return the same bits. errc::input for a directed graph without in-edges.
access_trace record_trace(graph_handle const& g, trace_options const& options);

// docs/reference/file-formats.md specifies the file. Written atomically.
void save_trace(access_trace const& t, std::filesystem::path const& file);
access_trace load_trace(std::filesystem::path const& file);  // errc::input if it is damaged or shorter than its header declares

// Hit rate of a cache of the first `share` of the rows, by descending score; ranked by the trace itself: the oracle.
// Ties go to the smaller row.
std::vector<std::uint64_t> rows_by_score(std::vector<float> const& score);
std::vector<std::uint64_t> rows_by_count(std::vector<std::uint32_t> const& counts);
std::uint64_t hits(access_trace const& t, std::vector<std::uint64_t> const& order, std::uint64_t rows_kept);

}  // namespace garner

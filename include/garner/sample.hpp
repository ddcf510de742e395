// Which rows of a feature table a training will read: scores that predict it, a sampler that does it, traces that record it.
// The direction of edges, once: an edge u -> v says that u leads to v. Sampling the neighbours of v pulls its in-neighbours u; so a score
// ranks the vertices that are pulled, and score(u) looks along the out-edges of u, at the targets that would pull it (docs/dev/papers.md
// has the formulas). In an undirected graph both are the same lists. Sources: chapter 4 of Min's dissertation (Data Tiering, KDD 2022);
// neighbour sampling: GraphSAGE, NeurIPS 2017.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/handle.hpp"
#include "garner/place.hpp"
#include "garner/traffic.hpp"

namespace garner {

// --- neighbour sampling ---
// Who samples at a hop.
enum class hop_rule : std::uint8_t {
  all,   // every vertex that the mini-batch has so far, each time anew (DGL's rule, with which the paper's figures were made)
  last,  // those that the hop before reached first (PyG's rule)
};
struct sample_options {
  std::vector<std::uint32_t> fanouts = {12, 12, 12};  // a hop each, 1 to 6 of them; in-neighbours drawn a vertex, 0 to 1024
  hop_rule rule = hop_rule::all;
  std::uint64_t batch = 1000;  // training vertices of a mini-batch
  std::uint64_t seed = 1;
};
// A training set: vertices by the user's ids, in any order; one that stands twice counts once.
using vertex_set = std::vector<std::uint64_t>;
// A share of the vertices in (0, 1], at least one, drawn without replacement: a pure function of the graph's ids and the seed.
vertex_set draw_training_set(graph_handle const& g, double share, std::uint64_t seed = 1);

// --- scores ---
enum class score_kind : std::uint8_t {
  degree,                     // out-edges
  reverse_pagerank,           // to convergence: a vertex gives damping / in-degree of its score to each in-neighbour
  weighted_reverse_pagerank,  // five iterations, begun with vertices / training vertices as much at these (Algorithm 2)
  expected,                   // accesses an epoch, predicted from fanouts, training set and mini-batch
  sampled,                    // the same, corrected by mini-batches that are sampled beforehand and counted
};
inline constexpr score_kind all_scores[] = {score_kind::degree, score_kind::reverse_pagerank, score_kind::weighted_reverse_pagerank,
                                            score_kind::expected, score_kind::sampled};
// Whether it asks for a training set, and whether for fanouts, rule and mini-batch too.
constexpr bool needs_training(score_kind k) { return k != score_kind::degree && k != score_kind::reverse_pagerank; }
constexpr bool needs_sampling(score_kind k) { return k == score_kind::expected || k == score_kind::sampled; }
struct score_options {
  place where;
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;  // where they lie; unset: where they are
  score_kind by = score_kind::expected;
  double damping = 0.85;                 // both PageRanks
  double tolerance = 1e-6;               // reverse_pagerank: of the L1 change of an iteration; scores sum to 1 or less
  std::uint64_t most_iterations = 1000;  // reverse_pagerank
  std::uint64_t presample = 8;           // sampled: so many epochs are sampled beforehand, 1 to 65,536
  vertex_set train;                      // weighted_reverse_pagerank, expected, sampled
  sample_options sampling;               // expected, sampled; its seed goes into no score (`sampled` draws from a stream of its own)
};
struct score_result {
  std::vector<float> score;  // entry k: of the vertex graph.ids()[k]
  std::uint64_t iterations = 0;
  bool converged = true;  // reverse_pagerank: the tolerance was reached
  double l1_change = 0;   // reverse_pagerank
  double ms = 0;          // state is made before the clock starts
  traffic link;           // simulated: counted; elsewhere nothing
};
// errc::usage for options out of range, errc::input for a training vertex that does not exist or a training set that is empty;
// sampled: also where a directed graph has no in-lists.
score_result scores(graph_handle const& g, score_options const& options = {});

std::vector<float> read_scores(std::filesystem::path const& file);  // an .npy of one number a vertex, by ascending id: f4, f8, whole ones
// Writes a feature table (.npy; row r is that of the vertex graph.ids()[r]) in the order that the vertices of a reordered graph have
// inside. `out` may be the table itself. errc::input where it has not a row a vertex.
void permute_table(graph_handle const& g, std::filesystem::path const& table, std::filesystem::path const& out);

std::string_view to_string(score_kind kind);                      // "degree", "rpr", "wrpr", "expected", "sampled"
score_kind parse_score(std::string_view text);                    // these, or the names in full; errc::usage otherwise
std::string_view to_string(hop_rule rule);                        // "all", "last"
hop_rule parse_hop_rule(std::string_view text);                   // errc::usage otherwise
std::vector<std::uint32_t> parse_fanouts(std::string_view text);  // "12,12,12"; errc::usage otherwise

// --- traces ---
struct trace_options {
  place where;
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;
  vertex_set train;
  sample_options sampling;
  std::uint64_t epochs = 1;
  bool keep_rows = false;                          // of each mini-batch, not only how often each row was read
  std::uint64_t keep_batches = ~std::uint64_t{0};  // keep_rows: of the first so many; save_trace() takes all or none
};
// What a training reads: an access is a unique row of a mini-batch. Row k belongs to the vertex graph.ids()[k].
struct access_trace {
  sample_options sampling;
  std::uint64_t vertices = 0, train = 0, epochs = 0, batches = 0;  // batches: of all epochs
  std::uint64_t accesses = 0;
  std::uint64_t sampled = 0;           // edges drawn
  std::vector<std::uint32_t> counts;   // of each row
  std::vector<std::uint64_t> offsets;  // where the rows of each mini-batch begin, one more than there are; empty unless kept ...
  std::vector<std::uint64_t> rows;     // ... and the rows: first the training vertices, then as they were reached
  double ms = 0;                       // of the sampling
  traffic link;                        // simulated: counted
};
// The same bits at every place. errc::input where a directed graph has no in-lists.
access_trace record_trace(graph_handle const& g, trace_options const& options);

// docs/reference/file-formats.md states the file. Written whole or not at all.
void save_trace(access_trace const& t, std::filesystem::path const& file);
access_trace read_trace(std::filesystem::path const& file);  // errc::input where it is damaged or shorter than its header says

// Accesses that the rows of highest score would answer, if the first `share` of the rows were kept; by the trace itself: the oracle.
// Of equals the smaller row comes first.
std::vector<std::uint64_t> rows_by_score(std::vector<float> const& score);
std::vector<std::uint64_t> rows_by_count(std::vector<std::uint32_t> const& counts);
std::uint64_t hits(access_trace const& t, std::vector<std::uint64_t> const& order, std::uint64_t rows_kept);

}  // namespace garner

// Predicts what an algorithm will use, from the graph's header (and offsets) alone: the tier of each array, the link traffic, and whether
// it all fits. The figures are those of the run itself: state_bytes, and the closed form of the traffic model. Invariant: the totals are
// what the commands compare with the budgets, so plan and run reject the same inputs. Cost: with offsets one pass over them, some 10 ns per
// vertex and thread; otherwise negligible.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "garner/graph.hpp"
#include "garner/traffic.hpp"
#include "graph/container.hpp"
#include "traverse/asked.hpp"

namespace garner {

struct link_rates;

enum class job_kind : std::uint8_t { bfs, sssp, components, pagerank };
std::string_view to_string(job_kind kind);
job_kind parse_job(std::string_view text);  // errc::usage lists the choices

// The algorithm's own options; the alternatives are in the order of job_kind.
using job_options = std::variant<bfs_asked, sssp_asked, components_asked, pagerank_asked>;
job_options default_options(job_kind kind);
inline job_kind kind_of(job_options const& o) { return static_cast<job_kind>(o.index()); }
void set_variant(job_options& o, std::string_view name);  // errc::usage lists the choices
std::string_view variant_of(job_options const& o);
// Validates before the graph is loaded: errc::usage if the options are incompatible, errc::input if the graph lacks what the algorithm
// needs (weights, in-edges).
void require_runnable(std::string const& name, graph_info const& info, job_options const& o);

// One array, or the whole state of an algorithm.
struct plan_row {
  std::string what;
  tier where;
  std::uint64_t bytes;
};

// A copy of remote data on the device, and the link traffic that it saves per run (PageRank: per iteration).
struct planned_part {
  std::string what;
  std::uint64_t bytes = 0, bytes_saved_on_link = 0;
  std::uint32_t cached_neighbors = 0;  // best neighbors per vertex
  bool to_make = false;                // computed by a read of the adjacency before the clock starts
};
// What a graph file's header has besides the counts.
struct stored {
  packed_words words;
  std::uint32_t cached_neighbors = 0;
  std::uint64_t file_bytes = 0;  // of all of it
};
inline stored stored_in(container_header const& h) { return {h.words, h.cached_neighbors, h.file_bytes}; }
// How the algorithm's device budget is spent.
std::vector<planned_part> planned_device_cache(graph_info const& info, job_options const& o, stored const& s = {});
// Host memory of the file's cached neighbors: on their way to the device cache, or, with adjacency in a file, to be checked first, if the
// host budget can hold them too.
std::uint64_t bytes_of_file_neighbors(graph_info const& info, job_options const& o, stored const& s, std::vector<planned_part> const& kept);
std::uint64_t target_bytes(graph_info const& info, stored const& s,
                           bool in = false);  // of one direction, with the directory of compressed adjacency
std::uint64_t weight_bytes(graph_info const& info, stored const& s, bool in = false);
// Minimum host memory for adjacency in a file: directories of compressed adjacency, checksums, and two windows, which use more if more is
// left.
std::uint64_t file_tier_bytes(graph_info const& info, stored const& s, bool in_edges, bool weighted);

// One kind of link traffic, in requests of the access mode.
struct crossing {
  enum class bound : std::uint8_t { exactly, at_most, at_least, about, usually_below } how = bound::at_most;
  std::string what;
  traffic link;
  std::optional<std::uint64_t> times = 1;  // unset: once per iteration or round, whose number is unknown
  bool before = false;                     // once during setup, before the clock starts
};
std::string_view to_string(crossing::bound b);

struct job_plan {
  std::vector<plan_row> rows;
  std::vector<planned_part> kept;
  std::vector<crossing> crossings;
  std::uint32_t cached_neighbors = 0;     // best neighbors cached per vertex
  bool cached_neighbors_to_make = false;  // the file lacks them
  bool from_offsets = false;              // requests from actual offsets; else from one long list
  // For comparison with an estimate: every list once, the most that a pure top-down search reads (variant levels). Not an upper bound for
  // the estimate: bottom-up levels may read a list several times.
  std::optional<traffic> levels_at_most;
  std::string_view per;           // unit of the traffic: "iteration", "round", or "run"
  std::uint64_t iterations = 1;   // requested number of `per` units
  bool iterations_known = false;  // false: the totals are those of one

  // Tier file: bytes read from it per run, iteration, or round (`per`).
  std::optional<std::uint64_t> file_bytes;
  crossing::bound file_bound = crossing::bound::exactly;

  std::uint64_t bytes(tier where) const;
  std::uint64_t host_bytes() const;  // charged to the host budget: the tiers host and managed
  std::uint64_t device_bytes() const { return bytes(tier::device); }
  std::uint64_t bytes_saved() const;
  // While the clock runs: for all iterations if their number is known, else for one.
  std::uint64_t bytes_link() const;
  // For a first search, including traffic before its clock starts. And whether a pure top-down search has less traffic, in which case
  // variant levels is better for a single search.
  std::uint64_t first_bytes_link() const;
  bool levels_cheaper_once() const { return levels_at_most && levels_at_most->bytes_link() < first_bytes_link(); }
  double ms(link_rates const& rates) const;  // time of the link alone; without `paged` rates 0
};

// `offsets` and `in_offsets` (of a directed graph's in-edges, if the algorithm reads them) may be null: not loaded.
job_plan make_plan(graph_info const& info, job_options const& o, stored const& s = {}, std::uint64_t const* offsets = nullptr,
                   std::uint64_t const* in_offsets = nullptr);
std::uint64_t state_bytes(graph_info const& info, job_options const& o);  // of the algorithm: peak local memory
bool reads_weights(job_options const& o);
bool pulls_in_lists(job_options const& o);  // needs a directed graph's in-edges, even if it lacks them
// A shard of an algorithm that runs on several devices.
struct job_part {
  execution_device where;
  std::uint64_t first = 0, vertices = 0, edges = 0;  // edges: entries of the adjacency that it reads
  std::uint64_t list_bytes = 0;                      // of this adjacency, in host memory, or local if it is copied there
  std::uint64_t state_bytes = 0, cache_bytes = 0;    // local: state of its own and of all vertices; copies of remote data
  std::uint64_t near_bytes(tier edges) const { return state_bytes + cache_bytes + (edges == tier::device ? list_bytes : 0); }
};
// Empty for a single device. `offsets`: of the adjacency by which parts are balanced (for PageRank the in-edges, if it reads them); null:
// assumes equal degrees. errc::usage if there are more shards than vertices.
std::vector<job_part> plan_parts(graph_info const& info, job_options const& o, stored const& s, std::string const& name,
                                 std::uint64_t const* offsets = nullptr);
// The largest share of any single GPU; on other devices the total.
std::uint64_t near_bytes(std::vector<job_part> const& parts, tier edges);
std::vector<execution_device> shards_of(job_options const& o);
// The default tier of the edges, with `device_bytes` free: device memory if they fit there together with the state. Otherwise, or if the
// run reproduces the paper (its variant, or an access mode other than aligned), default_tier.
tier automatic_tier(graph_info const& info, job_options const& o, stored const& s, std::uint64_t device_bytes);
// Whether the optional copy of the adjacency by degree, which PageRank may make by default, fits too.
bool room_by_degree(graph_info const& info, pagerank_asked const& o, stored const& s, std::uint64_t device_bytes);
// Whether the algorithm reads in-edges that are stored separately.
bool reads_in_lists(graph_info const& info, job_options const& o);

}  // namespace garner

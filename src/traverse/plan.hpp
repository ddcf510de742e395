// What a job will take, before anything of the graph but its header (and offsets) is read: which array lies in which tier, what must cross
// the link, and whether it fits. The figures are the job's own: state_bytes, and the closed form of the traffic model.
// Invariant: the bytes added up here are those that the verbs of the jobs compare with the budgets, so both refuse alike.
// Cost: with offsets one pass over them, some 10 ns a vertex and thread; without them nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "garner/components.hpp"
#include "garner/graph.hpp"
#include "garner/pagerank.hpp"
#include "garner/sssp.hpp"
#include "garner/traffic.hpp"
#include "garner/traverse.hpp"
#include "graph/container.hpp"

namespace garner {

struct link_rates;

enum class job_kind : std::uint8_t { bfs, sssp, components, pagerank };
std::string_view to_string(job_kind kind);
job_kind parse_job(std::string_view text);  // errc::usage with the choices otherwise

// What is asked of a job, in its own options; the alternatives stand in the order of job_kind.
using job_options = std::variant<bfs_options, sssp_options, components_options, pagerank_options>;
job_options default_options(job_kind kind);
inline job_kind kind_of(job_options const& o) { return static_cast<job_kind>(o.index()); }
void set_variant(job_options& o, std::string_view name);  // errc::usage with the choices otherwise
std::string_view variant_of(job_options const& o);
// What can be refused before the graph is loaded: errc::usage where the options do not go together, errc::input where the graph lacks what
// the job needs (weights, in-lists).
void require_runnable(std::string const& name, graph_info const& info, job_options const& o);

// One array, or all of a job's own state.
struct plan_row {
  std::string what;
  tier where;
  std::uint64_t bytes;
};

// A copy of far data that is kept on the device, and what it spares the link in one run (of PageRank: one iteration).
struct planned_part {
  std::string what;
  std::uint64_t bytes = 0, bytes_saved_on_link = 0;
  std::uint32_t cached_neighbours = 0;  // so many best neighbours of every vertex
  bool to_make = false;                 // found by a read of all lists before the clock starts
};
// What the header of a container says beside the counts.
struct stored {
  packed_words words;
  std::uint32_t cached_neighbours = 0;
  std::uint64_t file_bytes = 0;  // of all of it
};
inline stored stored_in(container_header const& h) { return {h.words, h.cached_neighbours, h.file_bytes}; }
// What the device budget of the job is spent on.
std::vector<planned_part> planned_device_cache(graph_info const& info, job_options const& o, stored const& s = {});
// Host memory of the file's cached neighbours: where they go into the device cache, or where lists stay in the file and they are asked
// first, if the host budget has room for them too.
std::uint64_t bytes_of_file_neighbours(graph_info const& info, job_options const& o, stored const& s,
                                       std::vector<planned_part> const& kept);
std::uint64_t target_bytes(graph_info const& info, stored const& s,
                           bool in = false);  // of one direction, with the directory of packed lists
std::uint64_t weight_bytes(graph_info const& info, stored const& s, bool in = false);
// Host memory that lists in a file take at the least: directories of packed ones, checksums, and two windows, which take more where more is
// left.
std::uint64_t file_tier_bytes(graph_info const& info, stored const& s, bool in_lists, bool weighted);

// Something that crosses the link, in requests of the job's access.
struct crossing {
  enum class bound : std::uint8_t { exactly, at_most, at_least, about, usually_below } how = bound::at_most;
  std::string what;
  traffic link;
  std::optional<std::uint64_t> times = 1;  // unset: so often in each iteration or round, whose count is not known
  bool before = false;                     // once when the job is made, before its clock starts
};
std::string_view to_string(crossing::bound b);

struct job_plan {
  std::vector<plan_row> rows;
  std::vector<planned_part> kept;
  std::vector<crossing> crossings;
  std::uint32_t cached_neighbours = 0;     // so many best neighbours of every vertex are kept
  bool cached_neighbours_to_make = false;  // they are not in the file
  bool from_offsets = false;               // the requests are those of the lists; else of one long list
  // Beside an estimate: every list once, the most that the search would read if it never turned round (variant levels). No bound of what it
  // does read: bottom-up it may look at a list in several levels.
  std::optional<traffic> levels_at_most;
  std::string_view per;           // what crosses "an iteration", "a round", or "a run"
  std::uint64_t iterations = 1;   // how often `per` was asked for
  bool iterations_known = false;  // false: the totals are those of one

  // Tier file: what is read of it a run, an iteration, or a round (`per`).
  std::optional<std::uint64_t> file_bytes;
  crossing::bound file_bound = crossing::bound::exactly;

  std::uint64_t bytes(tier where) const;
  std::uint64_t host_bytes() const;  // what the host budget pays: the tiers host and managed
  std::uint64_t device_bytes() const { return bytes(tier::device); }
  std::uint64_t bytes_saved() const;
  // While the clock runs: of all iterations where they are known, else of one.
  std::uint64_t bytes_link() const;
  // Of a first search: with what crosses before its clock starts. And whether a search that never turns round crosses less, in which case
  // a graph that is searched once is better searched by levels.
  std::uint64_t first_bytes_link() const;
  bool levels_cheaper_once() const { return levels_at_most && levels_at_most->bytes_link() < first_bytes_link(); }
  double ms(link_rates const& rates) const;  // of the link alone; unset rates of `paged` give 0
};

// `offsets` and `in_offsets` (of a directed graph's in-lists, where the job reads them) may be null: not read.
job_plan make_plan(graph_info const& info, job_options const& o, stored const& s = {}, std::uint64_t const* offsets = nullptr,
                   std::uint64_t const* in_offsets = nullptr);
std::uint64_t state_bytes(graph_info const& info, job_options const& o);  // of the job: near memory, at the most
bool reads_weights(job_options const& o);
bool pulls_in_lists(job_options const& o);  // asks for the in-lists of a directed graph, whether it has them or not
// A shard of a job over several places.
struct job_part {
  place where;
  std::uint64_t first = 0, vertices = 0, edges = 0;  // edges: entries of the lists that it reads
  std::uint64_t list_bytes = 0;                      // of these lists, in host memory, or near where it has them there
  std::uint64_t state_bytes = 0, cache_bytes = 0;    // near: what it knows of its vertices and of all; copies of far data
  std::uint64_t near_bytes(tier edges) const { return state_bytes + cache_bytes + (edges == tier::device ? list_bytes : 0); }
};
// None for a job of one place. `offsets`: of the lists by whose entries the parts are as large (PageRank's of in-lists, where it reads
// them); null: as if all were alike. errc::usage where there are more shards than vertices.
std::vector<job_part> plan_parts(graph_info const& info, job_options const& o, stored const& s, std::string const& name,
                                 std::uint64_t const* offsets = nullptr);
// The most that one device has of them; elsewhere than on devices all of it.
std::uint64_t near_bytes(std::vector<job_part> const& parts, tier edges);
std::vector<place> shards_of(job_options const& o);
// Where the edges belong where nobody said, with `device_bytes` free: in the device's memory if they fit there beside the job's state;
// else, and where the job repeats the paper (its variant, or an access other than aligned), where default_tier says.
tier automatic_tier(graph_info const& info, job_options const& o, stored const& s, std::uint64_t device_bytes);
// Whether the copy of the lists by degree fits too, where PageRank may make one that nobody asked for.
bool room_by_degree(graph_info const& info, pagerank_options const& o, stored const& s, std::uint64_t device_bytes);
// Which of the two the job reads: the lists of who leads to a vertex, kept apart from the others.
bool reads_in_lists(graph_info const& info, job_options const& o);

}  // namespace garner

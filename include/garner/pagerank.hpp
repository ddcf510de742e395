// PageRank: what one asks and what one gets.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "garner/place.hpp"
#include "garner/spread.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class pagerank_variant : std::uint8_t {
  pull,   // power iteration: each vertex sums what its in-neighbours give. Ranks are shares and sum to 1; the same bits each time at one
          // place
  emogi,  // the paper's: residuals pushed to out-neighbours while above a tolerance. Not normalised: ranks sum to about the vertices
};
enum class dangling_mass : std::uint8_t {
  redistribute,  // the rank of vertices without out-edges goes where the jumps go
  drop,          // it is lost, so that ranks sum to less than 1
};

struct pagerank_options {
  place where;
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;  // where the edge list lies; unset: where the graph has them
  // Bytes of far data cached on the device: directories of packed lists, the first arcs. Unset: a tenth of the plain edge list.
  // Place host and emogi keep none.
  std::optional<std::uint64_t> device_budget;
  pagerank_variant variant = pagerank_variant::pull;
  double damping = 0.85;
  // pull: of the L1 change of an iteration, 1e-4; emogi: of the residual of a vertex, absolute, 0.001
  std::optional<double> tolerance;
  std::optional<std::uint64_t> iterations;  // pull: exactly so many; emogi: at the most
  // pull only:
  dangling_mass dangling = dangling_mass::redistribute;
  std::vector<std::pair<std::uint64_t, double>> personal;  // user ids and weights: where it starts and jumps to; empty: anywhere alike
  // A vertex gives to each out-neighbour in proportion to the weight of the edge; else to all alike, whatever weights the graph has. One
  // place. errc::input where the graph has none.
  bool weighted = false;
  // pull, of plain lists with 4-byte ids: a copy of the lists in which vertices stand by degree, so that what is looked up most lies
  // together. Unset: where the lists lie in the device's memory, degrees differ, so many iterations may come that it pays, and there is
  // room. On a device it takes lists that lie there.
  std::optional<bool> by_degree;
  std::uint64_t l2_bytes = 0;             // simulated runs: an L2 of this size before the link; 0: none
  bool check_certificate = false;         // verify each run
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of lists (and weights) sent at once
  std::vector<place> shards;              // as of bfs_options; pull only. Ranks are the same bits with any number of them
};

struct pagerank_round {
  std::uint64_t vertices = 0, edges = 0;  // that took part: pull: all
  double l1_change = 0;                   // pull only
  std::uint64_t bytes_link = 0;
  double ms = 0;
  file_reads file;                    // where the lists lie in a file
  std::uint64_t bytes_exchanged = 0;  // that shards read of each other
};

struct pagerank_run {
  std::uint64_t iterations = 0;
  bool converged = false;  // the tolerance was reached
  bool weighted = false;   // edges counted by their weights
  double rank_sum = 0;
  double l1_change = 0;     // pull: of the last iteration; emogi: the residual that was left, summed over the vertices
  std::uint64_t edges = 0;  // arcs looked at
  double ms = 0;            // all iterations; state is made and cleared before the clock starts
  double prepare_ms = 0;    // of the first run of a job: what came before its clock: state, and the device cache; of later ones 0
  traffic link;             // simulated: counted; device: the same model in closed form; host: nothing crosses a link
  file_reads file;          // where the lists lie in a file
  bool verified = false;
  std::vector<pagerank_round> rounds;
  std::vector<job_shard> shards;  // none: one place
};

}  // namespace garner

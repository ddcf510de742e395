// Results of one run of `garner-lab tiering`, as values and as a JSON file; `garner-lab schema` documents the keys. The reader
// accepts only its own schema and version, and names the key that is missing or wrong.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

// The hit rate of the cached rows, at each of tiering_run::kept.
struct tier_gather {  // a mini-batch gathered from a table with that share cached; the mean of several
  double kept = 0, link_bytes = 0;
  std::optional<double> ms;  // empty if nothing is timed (simulated)
};
struct tier_curve {
  // The counts of a training with another seed: as a prediction of the trace, which includes chance; and the hit rate of its own rows,
  // an upper bound for any prediction (the best rows, chosen with hindsight).
  static constexpr char const *another = "another training", *ceiling = "ceiling";
  // The first is "sampled", others include their epochs: "sampled 32".
  static std::string sampled(std::uint64_t epochs, std::vector<std::uint64_t> const& all) {
    return epochs == all.front() ? "sampled" : "sampled " + std::to_string(epochs);
  }
  std::string score;  // "oracle": the trace itself
  std::vector<double> hits;
  std::vector<tier_gather> gathers;  // kept ascends; empty if none ran
};
struct tier_trace {
  std::vector<std::uint64_t> fanouts;
  std::uint64_t batches = 0, accesses = 0, sampled = 0, epochs = 1;
  double ms = 0;
  std::vector<tier_curve> curves;  // the oracle; another, ceiling; the scores
  std::uint64_t gathered = 0;      // mini-batches
  std::string no_gathers;          // why none ran; else empty, also in traces of figure 4.10

  tier_curve const* find(std::string const& score) const {
    for (tier_curve const& c : curves)
      if (c.score == score) return &c;
    return nullptr;
  }
};
struct score_cost {
  std::string score;
  std::uint64_t iterations = 0;
  double ms = 0;
};
struct tiering_graph {
  std::string name;
  std::uint64_t vertices = 0, edges = 0, train = 0;
  bool directed = false;
  std::vector<score_cost> scores;
  std::vector<tier_trace> traces;  // the first: the requested fanouts; then the depths of figure 4.10, if measured
};
struct tiering_run : file_head {
  static constexpr file_schema schema{"garner.bench.tiering", 2, "tiering"};
  std::string rule, train;  // train: as specified
  std::uint64_t batch = 0, epochs = 0, seed = 0, row_bytes = 0;
  std::uint64_t ceiling = 0;             // epochs of the other training, per `epochs`; 0: no such training
  std::vector<std::uint64_t> presample;  // epochs that the scores `sampled` counted; empty in older files
  std::vector<double> kept;              // shares of the rows, ascending from 0 to 1
  std::vector<tiering_graph> graphs;

  std::size_t at(double share) const;  // the index of the first share in `kept` that is not smaller
  // The score's hits over the oracle's, with this share cached. It is also the share of the saved link
  // bytes.
  double of_oracle(tier_trace const& t, tier_curve const& c, double share = 0.1) const;
  double link_bytes(tier_trace const& t, tier_curve const& c, std::size_t kept_index) const;  // per epoch
};

std::string to_json(tiering_run const& run);
tiering_run parse_tiering(std::string const& text, std::string const& name);  // errc::input begins with `name` and names the problem
bool is_tiering(std::string const& text);                                     // of this schema, any version

}  // namespace garner::lab

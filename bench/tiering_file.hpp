// What one run of `garner bench tiering` measured, as values and as a JSON file; docs/reference/json.md documents the keys. The reader
// takes its own schema and version only, and says by name which key is missing or wrong.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"

namespace garner::bench {

// The share of the accesses that the rows kept would answer, at each of tiering_run::kept.
struct tier_gather {  // a mini-batch gathered from a table of which that share was kept; the mean of several
  double kept = 0, link_bytes = 0;
  std::optional<double> ms;  // none where nothing is timed (simulated)
};
struct tier_curve {
  // The counts of a training with another seed: as a prediction of the trace, which is luck too; and what their own rows answer of that
  // training, more than any prediction can be expected to (the best rows were chosen knowing it).
  static constexpr char const *another = "another training", *ceiling = "ceiling";
  // The first is "sampled", others say their epochs: "sampled 32".
  static std::string sampled(std::uint64_t epochs, std::vector<std::uint64_t> const& all) {
    return epochs == all.front() ? "sampled" : "sampled " + std::to_string(epochs);
  }
  std::string score;  // "oracle": the trace itself
  std::vector<double> hits;
  std::vector<tier_gather> gathers;  // kept ascends; empty where none ran
};
struct tier_trace {
  std::vector<std::uint64_t> fanouts;
  std::uint64_t batches = 0, accesses = 0, sampled = 0, epochs = 1;
  double ms = 0;
  std::vector<tier_curve> curves;  // the oracle; another, ceiling; the scores
  std::uint64_t gathered = 0;      // mini-batches
  std::string no_gathers;          // why none ran; empty where some did, and in traces of figure 4.10

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
  std::vector<tier_trace> traces;  // the first: the fanouts that were asked for; then the depths of figure 4.10, where they were measured
};
struct tiering_run : file_head {
  static constexpr file_schema schema{"garner.bench.tiering", 2, "tiering"};
  std::string rule, train;  // train: as it was asked for
  std::uint64_t batch = 0, epochs = 0, seed = 0, row_bytes = 0;
  std::uint64_t ceiling = 0;             // epochs of the other training, for each of `epochs`; 0: there is none
  std::vector<std::uint64_t> presample;  // epochs that the scores `sampled` counted; empty in files of before there were any
  std::vector<double> kept;              // shares of the rows, ascending from 0 to 1
  std::vector<tiering_graph> graphs;

  std::size_t at(double share) const;  // the index of the first of kept that is not smaller
  // Of the accesses that the oracle answers with this share kept, the part that the score does. It is also the part of the link bytes
  // saved.
  double of_oracle(tier_trace const& t, tier_curve const& c, double share = 0.1) const;
  double link_bytes(tier_trace const& t, tier_curve const& c, std::size_t kept_index) const;  // of an epoch
};

std::string to_json(tiering_run const& run);
tiering_run parse_tiering(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_tiering(std::string const& text);                                     // of this schema, of any version

}  // namespace garner::bench

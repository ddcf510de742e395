// Results of one run of `garner-lab tiering`.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

// The hit rate of the cached rows, at each of tiering_run::kept.
struct tier_gather {  // a mini-batch gathered from a table with that share cached; the mean of several
  double kept = 0, link_bytes = 0;
  std::optional<double> ms;  // empty if nothing is timed (simulated)

  void keys(auto& k) { k("kept", kept, "link_bytes", link_bytes, "ms", ms); }
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
  // Written only: tiering_run::of_oracle, and its link_bytes at each of `kept`.
  double saved = 0;
  std::vector<double> bytes = {};

  void keys(auto& k) {
    k("score", score), k.derived("of_oracle_at_10", saved);
    k("hits", hits), k.derived("link_bytes", bytes);
    k("gathers", gathers);
  }
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
  void keys(auto& k) {
    k("fanouts", fanouts), k.require("fanouts", !fanouts.empty(), "one hop or more");
    if (k.has("epochs")) k("epochs", epochs);
    else epochs = 0;
    k("batches", batches, "accesses", accesses, "sampled", sampled, "ms", ms, "gathered", gathered);
    k.or_null("no_gathers", no_gathers);
    k("curves", curves);
  }
};
struct score_cost {
  std::string score;
  std::uint64_t iterations = 0;
  double ms = 0;

  void keys(auto& k) { k("score", score, "iterations", iterations, "ms", ms); }
};
struct tiering_graph {
  std::string name;
  std::uint64_t vertices = 0, edges = 0, train = 0;
  bool directed = false;
  std::vector<score_cost> scores;
  std::vector<tier_trace> traces;  // the first: the requested fanouts; then the depths of figure 4.10, if measured

  void keys(auto& k) {
    k("name", name, "vertices", vertices, "edges", edges, "directed", directed, "training_vertices", train, "scores", scores);
    k("traces", traces), k.require("traces", !traces.empty(), "one trace or more");
  }
};
struct tiering_run : file_head {
  static constexpr file_schema schema{"garner.bench.tiering", 2, "tiering"};
  std::string rule, train;  // train: as specified
  std::uint64_t batch = 0, epochs = 0, seed = 0, row_bytes = 0;
  std::uint64_t ceiling = 0;             // epochs of the other training, per `epochs`; 0: no such training
  std::vector<std::uint64_t> presample;  // epochs that the scores `sampled` counted; empty in older files
  std::vector<double> kept;              // shares of the rows, ascending from 0 to 1
  std::vector<tiering_graph> graphs;

  std::size_t at(double share) const {  // the index of the first share in `kept` that is not smaller
    return static_cast<std::size_t>(std::lower_bound(kept.begin(), kept.end(), share - 1e-9) - kept.begin());
  }
  // The score's hits over the oracle's, with this share cached. It is also the share of the saved link
  // bytes.
  double of_oracle(tier_trace const& t, tier_curve const& c, double share = 0.1) const {
    tier_curve const* const oracle = t.find("oracle");
    std::size_t const i = at(share);
    return oracle && i < c.hits.size() && oracle->hits[i] > 0 ? c.hits[i] / oracle->hits[i] : 1;
  }
  double link_bytes(tier_trace const& t, tier_curve const& c, std::size_t kept_index) const {  // per epoch
    return static_cast<double>(t.accesses) * (1 - c.hits[kept_index]) * static_cast<double>(row_bytes) /
           static_cast<double>(std::max<std::uint64_t>(t.epochs, 1));
  }

  template <class K>
  void keys(K& k) {
    file_head::keys(k);
    k("rule", rule, "train", train, "batch", batch, "epochs", epochs, "seed", seed, "row_bytes", row_bytes, "ceiling", ceiling);
    if (k.has("presample")) k("presample", presample);
    k("kept", kept);
    k.require("kept", kept.size() > 1 && std::is_sorted(kept.begin(), kept.end()), "two shares or more, ascending");
    if constexpr (K::reads) {
      k("graphs", graphs);
      check_hits(k.here());
      for (tiering_graph& g : graphs)
        for (tier_trace& t : g.traces)
          if (t.epochs == 0) t.epochs = epochs;  // older files have those of the run
    } else {
      for (tiering_graph& g : graphs)
        for (tier_trace& t : g.traces)
          for (tier_curve& c : t.curves) {
            c.saved = of_oracle(t, c);
            for (std::size_t i = 0; i < c.hits.size(); ++i) c.bytes.push_back(link_bytes(t, c, i));
          }
      k("graphs", graphs);
    }
  }

 private:
  void check_hits(field const& file) const {
    for (field const& g : file["graphs"].items())
      for (field const& t : g["traces"].items())
        for (field const& c : t["curves"].items())
          if (c["hits"].items().size() != kept.size()) c["hits"].wrong("a number for each of 'kept'");
  }
};

}  // namespace garner::lab

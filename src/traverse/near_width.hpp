// How far the threshold moves beyond the smallest open distance. Too small means many rounds of few edges each, too large means repeated
// relaxations. The best value varies within a search (near a hub it is a thousandth of what the last vertices need). So by default delta
// starts small and follows the edges per threshold: times 1.5 after a small number, halved after a large one. It is at least the minimum
// weight: within that, near vertices cannot lower each other. Small is a fortieth of all edges: a round over scattered lists touches all of
// their pages, which takes as much link time as that many edges (Kronecker 26: 8 ms per round, for 7 M edges or 40 M). In device memory the
// passes over the piles cost as much as some 10 M edges, and a repeated relaxation is cheap: rounds of a twentieth, and the rest in one
// round once most edges were visited (Kronecker 20: 13 rounds instead of 21, as many edges).
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "traverse/weights.hpp"

namespace garner {

class near_width {
 public:
  near_width(graph_info const& info, detail::weight_tally const& weights, std::optional<double> given, bool all_near)
      : fixed_(given.has_value()),
        few_(info.edges / (all_near ? 20 : 40)),
        many_(info.edges / (all_near ? 4 : 8)),
        late_(info.edges / 4 * 3),
        late_growth_(all_near ? 1000 : 4) {
    double const edges = std::max(1.0, static_cast<double>(info.edges)), mean = weights.sum / edges;
    least_ = std::max(weights.least < 1e300 ? weights.least : 0, mean / 4096);
    start_ = given.value_or(std::max(least_, mean / 4 / std::max(1.0, edges / static_cast<double>(info.vertices))));
    if (!(start_ > 0)) start_ = 1;
    now_ = start_;
  }
  void begin() { now_ = start_; }
  // `all`: edges visited since the start. The last vertices have few edges
  // to revisit, while each round touches all pages of the adjacency.
  void follow(std::uint64_t arcs, std::uint64_t all) {
    if (fixed_) return;
    if (arcs < few_) now_ *= all > late_ ? late_growth_ : 1.5;
    else if (arcs > many_) now_ = std::max(least_, now_ / 2);
  }
  double start() const { return start_; }
  double now() const { return now_; }

 private:
  bool fixed_;
  std::uint64_t few_, many_, late_;
  double late_growth_;
  double least_ = 0, start_ = 1, now_ = 1;
};

}  // namespace garner

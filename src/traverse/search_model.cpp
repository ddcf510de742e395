#include "traverse/search_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "traverse/bfs.hpp"
#include "traverse/cached_neighbors.hpp"

namespace garner {

namespace {

std::size_t class_of(std::uint64_t degree) {
  if (degree < degree_classes::exact) return degree;
  auto const doubling = static_cast<std::size_t>(std::bit_width(degree)) - 1;  // 6 and more
  return degree_classes::exact + (doubling - 6) * 8 + (degree >> (doubling - 3) & 7);
}

// (1 - x)^n and its complement, accurate for tiny x.
double none_of(double n, double x) { return x >= 1 ? (n > 0 ? 0 : 1) : std::exp(n * std::log1p(-x)); }
double some_of(double n, double x) { return x >= 1 ? (n > 0 ? 1 : 0) : -std::expm1(n * std::log1p(-x)); }

struct kind {  // a class of vertices with edges
  double degree, vertices, arcs;
  std::array<double, 4> requests;
};

// An edge end that is unreached before the frontier: its share of all such ends, and the probability that it is not in the frontier either.
// By ascending degree.
struct edge_end {
  double share, miss;
};

// The probability that the `k` ends of highest degree among `d` all miss. The k-th is at the point with a share G of all ends below. Those
// above it miss with a probability that decreases linearly in G across its class: a sum over the classes, each in closed form.
double best_miss(std::vector<edge_end> const& ends, double d, std::uint32_t k) {
  d = std::min(d, 4096.0);  // avoids cancellation below; vertices of that degree are reached long before
  double strategies = d;    // d! / (d - k)! / (k - 1)!
  for (std::uint32_t j = 1; j < k; ++j) strategies *= (d - j) / j;
  double sum = 0, below = 1, missing = 0;  // from the highest degree down: G, and the share of the ends above it that miss
  for (auto e = ends.rbegin(); e != ends.rend(); ++e) {
    double const high = below, low = std::max(0.0, below - e->share), straight = missing + e->miss * high;
    double choose = 1;
    for (std::uint32_t j = 0; j < k; ++j) {
      double const power = d - k + j + 1;
      sum += strategies * e->miss * choose * std::pow(straight, k - 1 - j) * std::pow(-e->miss, j) *
             (std::pow(high, power) - std::pow(low, power)) / power;
      choose *= static_cast<double>(k - 1 - j) / (j + 1);
    }
    missing += e->miss * (high - low), below = low;
  }
  return std::clamp(sum, std::pow(std::clamp(missing, 0.0, 1.0), d), 1.0);  // at least the probability that all ends miss
}

class search_model {
 public:
  search_model(degree_classes const& degrees, probing const& how) : how_(how), spread_(degrees.alike()) {
    for (degree_class const& c : degrees.all) {
      vertices_ += c.vertices;
      if (c.arcs <= 0) continue;
      kinds_.push_back({c.arcs / c.vertices, c.vertices, c.arcs, c.requests});
      with_edges_ += c.vertices, arcs_ += c.arcs, squares_ += c.squares;
    }
  }

  // The degree that `part` of the vertices with edges do not exceed.
  double degree_at(double part) const {
    double sum = 0;
    for (kind const& k : kinds_)
      if ((sum += k.vertices) >= part * with_edges_) return k.degree;
    return 0;
  }

  traffic from(double source_degree) {
    asked_ = {};
    double const at_source = source_degree / arcs_;  // fractions of edge ends
    double unexplored = arcs_, before = 0, now = 0;  // near[t - 1], near[t]
    bool bottom_up = false;
    // A level of less than half a vertex is empty; paths of several thousand levels are beyond the model.
    for (int level = 0; level < 4096 && before < 1; ++level) {
      double next = 0;
      for (kind const& k : kinds_) next += k.arcs / arcs_ * (at_source + (1 - at_source) * some_of(k.degree - 1, now));
      double frontier = 1, frontier_arcs = source_degree;  // the source; its single list does not count
      std::array<double, 4> lists{};
      if (level) {
        frontier = frontier_arcs = 0;
        for (kind const& k : kinds_) {
          double const share = none_of(k.degree, before) * some_of(k.degree, (now - before) / (1 - before));
          frontier += share * k.vertices, frontier_arcs += share * k.arcs;
          for (std::size_t s = 0; s < 4; ++s) lists[s] += share * k.requests[s];
        }
      }
      if (frontier < 0.5) break;
      unexplored = std::max(0.0, unexplored - frontier_arcs);
      bottom_up = bottom_up ? bfs_turns::stays(frontier, vertices_) : bfs_turns::turns(frontier_arcs, unexplored);
      if (bottom_up) look_for_parents(before, now, next);
      else
        for (std::size_t s = 0; s < 4; ++s) asked_[s] += lists[s];
      before = now, now = next;
    }
    traffic t;
    for (std::size_t s = 0; s < 4; ++s) t.requests[s] = static_cast<std::uint64_t>(asked_[s] + 0.5);
    t.bytes_useful = t.bytes_link();
    return t;
  }

 private:
  void look_for_parents(double before, double now, double next) {
    if (now >= 1) return;
    double const hit = (next - now) / (1 - now);  // that a neighbor lies in the frontier
    std::vector<edge_end> ends;
    for (kind const& k : kinds_)
      ends.push_back({k.arcs / arcs_ * none_of(k.degree - 1, before) / (1 - now), none_of(k.degree - 1, (now - before) / (1 - before))});
    for (kind const& k : kinds_) {
      double const unreached = k.vertices * none_of(k.degree, now);
      if (unreached < 0.5) continue;
      double const cached_neighbors =
          std::round(how_.each_of_a_class ? how_.cached_neighbors * some_of(k.degree, 1.0 / how_.cached_neighbors) : how_.cached_neighbors);
      if (k.degree <= cached_neighbors) continue;
      double open = 1;
      if (cached_neighbors > 0)
        open = spread_ ? none_of(cached_neighbors, hit) * none_named(k.degree, cached_neighbors, hit)
                       : best_miss(ends, k.degree, static_cast<std::uint32_t>(cached_neighbors));
      if (open <= 0) continue;
      // The rest misses so often that, together with the cached neighbors, the total probability of a miss matches.
      double const steps = 1 + (k.degree - 1) / how_.arcs_a_step;
      double const miss = std::pow(std::min(1.0, none_of(k.degree, hit) / open), how_.arcs_a_step / k.degree);
      double const walked = miss > 1 - 1e-9 ? steps : (1 - std::pow(miss, steps)) / (1 - miss);
      ask(unreached * open * walked);
    }
  }
  // Spread cached neighbors: an edge serves one of its ends first. So half of a vertex's edges may select it, each as one of
  // `cached_neighbors` of half of the other end's. The probability that none of those vertices is in the frontier.
  double none_named(double degree, double cached_neighbors, double hit) const {
    double const others = squares_ / arcs_ / 2;
    return none_of(degree / 2, hit * std::min(1.0, cached_neighbors / others));
  }
  void ask(double steps) {
    double const sectors = std::min(4.0, how_.sectors_a_step);
    auto const whole = static_cast<std::size_t>(sectors);
    double const more = sectors - static_cast<double>(whole);
    if (whole) asked_[whole - 1] += steps * (1 - more);
    if (more > 0) asked_[whole] += steps * more;
  }

  probing how_;
  bool spread_;
  std::vector<kind> kinds_;
  double vertices_ = 0, with_edges_ = 0, arcs_ = 0, squares_ = 0;
  std::array<double, 4> asked_{};
};

}  // namespace

void degree_classes::add(std::uint64_t degree, run_traffic const& list) {
  degree_class& c = all[class_of(degree)];
  double const d = static_cast<double>(degree);
  c.vertices += 1, c.arcs += d, c.squares += d * d;
  for (std::size_t k = 0; k < 4; ++k) c.requests[k] += static_cast<double>(list.requests[k]);
}
bool degree_classes::alike() const {
  degree_class sum;
  for (degree_class const& c : all) sum.vertices += c.vertices, sum.arcs += c.arcs, sum.squares += c.squares;
  return detail::are_alike(sum.squares, sum.vertices, sum.arcs);
}
degree_classes operator+(degree_classes a, degree_classes const& b) {
  for (std::size_t i = 0; i < degree_classes::count; ++i) {
    degree_class& c = a.all[i];
    degree_class const& d = b.all[i];
    c.vertices += d.vertices, c.arcs += d.arcs, c.squares += d.squares;
    for (std::size_t k = 0; k < 4; ++k) c.requests[k] += d.requests[k];
  }
  return a;
}

traffic model_search(degree_classes const& degrees, probing const& how) {
  constexpr std::size_t sources = 15;
  search_model model(degrees, how);
  std::vector<traffic> all;
  for (std::size_t i = 0; i < sources; ++i)
    if (double const degree = model.degree_at((static_cast<double>(i) + 0.5) / sources); degree > 0) all.push_back(model.from(degree));
  if (all.empty()) return {};
  auto const middle = all.begin() + sources / 2;
  std::nth_element(all.begin(), middle, all.end(), [](traffic const& a, traffic const& b) { return a.bytes_link() < b.bytes_link(); });
  return *middle;
}

}  // namespace garner

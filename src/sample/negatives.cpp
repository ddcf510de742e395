// Negative samples: pairs of vertices, or targets for given sources, sampled uniformly; optionally none that is an edge. On the host.
// Cost: one random number per negative; never_positive: a binary search of a list each, and as many again as hit an edge. If 64 attempts
// fail, one of the remaining is sampled: a read of the source's list, and for pairs of all lists once per mini-batch.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/packed.hpp"
#include "core/random.hpp"
#include "garner/subgraph.hpp"
#include "graph/handle.hpp"

namespace garner {

namespace {

constexpr std::uint64_t most_draws = 64;
// Random streams of their own, separate from those of the sampler.
constexpr std::uint64_t of_sources = 0x6e65676174697665ull, of_targets = 0x7461726765747321ull, of_left = 0x6f6e657320676f6eull;

template <class Id>
bool leads_to(graph const& g, std::uint64_t from, std::uint64_t to) {
  csr_view<Id> const v = g.view<Id>(g.out);
  auto const element = [&](std::uint64_t i) {
    std::uint64_t found = 0;
    if (g.out.packed_targets.empty()) return static_cast<std::uint64_t>(v.targets.data[i]);
    each_in_turn(v.targets.packed, i, i + 1, [&](std::uint32_t u, std::uint64_t) {
      found = u;
      return true;
    });
    return found;
  };
  std::uint64_t low = v.offsets[from], high = v.offsets[from + 1];
  std::uint64_t const end = high;
  while (low < high) {
    std::uint64_t const middle = low + (high - low) / 2;
    if (element(middle) < to) low = middle + 1;
    else high = middle;
  }
  return low < end && element(low) == to;
}

// Pairs without an edge, in the order of the user's ids, whatever that of the graph.
class pairs_left {
 public:
  pairs_left(graph const& g, std::uint64_t sources, std::uint64_t targets) : g_(g), sources_(sources), targets_(targets) {}

  // Targets to which `from` does not lead: how many, and the k-th.
  std::uint64_t count(std::uint64_t from) {
    if (of_ != from) look_at(from);
    return targets_ - taken_.size();
  }
  std::uint64_t target(std::uint64_t from, std::uint64_t k) {
    if (of_ != from) look_at(from);
    std::uint64_t low = 0, high = taken_.size();
    while (low < high) {
      std::uint64_t const middle = low + (high - low) / 2;
      if (taken_[middle] - middle <= k) low = middle + 1;
      else high = middle;
    }
    return k + low;
  }
  // The same for all pairs, source by source.
  std::uint64_t count() {
    if (before_.empty()) {
      before_.push_back(0);
      for (std::uint64_t u = 0; u < sources_; ++u) before_.push_back(before_.back() + count(u));
    }
    return before_.back();
  }
  std::pair<std::uint64_t, std::uint64_t> pair(std::uint64_t k) {
    auto const u = static_cast<std::uint64_t>(std::upper_bound(before_.begin(), before_.end(), k) - before_.begin() - 1);
    return {u, target(u, k - before_[u])};
  }

 private:
  void look_at(std::uint64_t from) {
    of_ = from;
    taken_.clear();
    std::uint64_t const v = g_.at_rank(from), begin = g_.out.offsets[v], end = g_.out.offsets[v + 1];
    auto const take = [&](std::uint64_t u) {
      if (g_.by_id.bytes()) u = g_.rank_of(g_.user_id(u));
      if (u < targets_) taken_.push_back(u);
    };
    with_id_type(g_.info, [&](auto id) {
      csr_view<decltype(id)> const lists = g_.view<decltype(id)>(g_.out);
      if (g_.out.packed_targets.empty())
        for (std::uint64_t i = begin; i < end; ++i) take(lists.targets.data[i]);
      else each_in_turn(lists.targets.packed, begin, end, [&](std::uint32_t u, std::uint64_t) { return take(u), false; });
    });
    std::sort(taken_.begin(), taken_.end());
    taken_.erase(std::unique(taken_.begin(), taken_.end()), taken_.end());
  }

  graph const& g_;
  std::uint64_t sources_, targets_, of_ = ~std::uint64_t{0};
  std::vector<std::uint64_t> taken_, before_;
};

}  // namespace

vertex_pairs sample_negatives(std::uint64_t number, std::span<std::int64_t const> sources, std::uint64_t source_vertices,
                              std::uint64_t target_vertices, negative_options const& o, graph_handle const* handle) {
  return as_error([&] {
    bool const triplet = o.kind == negative_kind::triplet;
    if (!(o.amount > 0) || !std::isfinite(o.amount) || (triplet && o.amount != std::floor(o.amount)))
      fail(errc::usage, "{} negatives an edge: use a number above 0{}", o.amount, triplet ? ", whole where each source gets as many" : "");
    if (!sources.empty() && (source_vertices == 0 || target_vertices == 0))
      fail(errc::usage, "negatives between {} and {} vertices: both counts must be above 0", source_vertices, target_vertices);
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (static_cast<std::uint64_t>(sources[i]) >= source_vertices)
        fail_id("source {} at position {} of mini-batch {}: there are vertices 0 to {}", sources[i], i, number, source_vertices - 1);
    graph const* g = nullptr;
    if (o.never_positive) {
      if (!handle) fail(errc::usage, "negatives that exclude edges need a graph; pass it");
      g = &graph_access::of(*handle);
      memory_block const& lists = g->out.packed_targets.empty() ? g->out.targets : g->out.packed_targets.words;
      if (lists.bytes() && in_device_memory(lists.where()))
        fail(errc::usage, "{}: its edges lie in tier {}, and the host looks for them; keep them in host memory", g->name,
             to_string(lists.where()));
      if (std::max(source_vertices, target_vertices) > g->info.vertices)
        fail(errc::input, "{}: has {} vertices, and negatives are sampled between {} and {}; pass the graph of these", g->name,
             g->info.vertices, source_vertices, target_vertices);
    }
    auto const edge = [&](std::uint64_t u, std::uint64_t v) {
      return g && with_id_type(g->info, [&](auto id) { return leads_to<decltype(id)>(*g, g->at_rank(u), g->at_rank(v)); });
    };
    double const wanted = std::ceil(static_cast<double>(sources.size()) * o.amount);
    if (wanted > 0x1p40) fail(errc::usage, "{} negatives of a mini-batch; use a smaller one, or fewer an edge", wanted);
    auto const count = static_cast<std::uint64_t>(wanted);
    vertex_pairs drawn;
    drawn.targets.reserve(count);
    if (!triplet) drawn.sources.reserve(count);
    auto const each = triplet ? static_cast<std::uint64_t>(o.amount) : 1;
    std::optional<pairs_left> left;
    for (std::uint64_t k = 0; k < count; ++k) {
      std::uint64_t u = 0, v = 0, draw = 0;
      do {
        std::uint64_t const at = k * most_draws + draw;
        u = triplet ? static_cast<std::uint64_t>(sources[k / each])
                    : upper_product(random_bits(o.seed ^ of_sources, number, at), source_vertices);
        v = upper_product(random_bits(o.seed ^ of_targets, number, at), target_vertices);
      } while (edge(u, v) && ++draw < most_draws);
      if (draw == most_draws) {
        if (!left) left.emplace(*g, source_vertices, target_vertices);
        std::uint64_t const all = triplet ? left->count(u) : left->count();
        if (all == 0)
          fail(errc::input, "{}: {} leads to each of {} vertices, so that no negative is left; {}use never_positive = false", g->name,
               triplet ? fmt::format("vertex {}", u) : "every vertex", target_vertices, triplet ? "leave the vertex out, or " : "");
        std::uint64_t const which = upper_product(random_bits(o.seed ^ of_left, number, k), all);
        if (triplet) v = left->target(u, which);
        else std::tie(u, v) = left->pair(which);
      }
      if (!triplet) drawn.sources.push_back(static_cast<std::int64_t>(u));
      drawn.targets.push_back(static_cast<std::int64_t>(v));
    }
    return drawn;
  });
}

}  // namespace garner

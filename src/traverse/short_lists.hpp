// Short-list cache: the device budget holds weighted remote lists of few edges, shortest first. Late in a search lists are short and
// scattered over all pages, and each costs a request or two, so caching them saves more time per byte than caching a hub's list. Invariant:
// degree and id alone determine which lists are cached (short_rule), without a lookup; they are stored whole, in vertex order. Cost: one
// pass over the offsets and one read of these lists, once per setup; in addition 8 bytes per 32 vertices.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "memory/buffer.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"

namespace garner {

namespace detail {

struct count_short_arcs {
  std::uint64_t const* offsets;
  std::uint64_t vertices;
  short_rule rule;
  std::uint32_t* arcs_of_word;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t w) const {
    std::uint64_t arcs = 0;
    for (std::uint64_t v = w * 32; v < smaller(vertices, w * 32 + 32); ++v) {
      std::uint64_t const degree = offsets[v + 1] - offsets[v];
      if (rule.keeps(v, degree)) arcs += degree;
    }
    arcs_of_word[w] = static_cast<std::uint32_t>(arcs);
  }
};

template <class Id>
struct copy_short_lists {
  csr_view<Id> g;
  short_rule rule;
  std::uint64_t const* first;
  Id* targets;
  std::uint32_t* weights;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    std::uint64_t at = first[w];
    if (at == first[w + 1]) return;
    std::uint64_t const left = g.vertices - w * 32;
    each_stretch(left < 32 ? (1u << left) - 1 : ~0u, w, g.offsets, true, rule,
                 [&](std::uint64_t, std::uint64_t, std::uint64_t begin, std::uint64_t end, bool kept) {
                   if (!kept) return;
                   span<Id> const arcs = known<false>(g.arcs({begin, end}));
                   t.each(arcs, known<false>(g.weights_of(arcs)), [&](Id u, std::uint32_t weight, std::uint64_t i) {
                     targets[at + i - begin] = u;
                     weights[at + i - begin] = weight;
                   });
                   at += end - begin;
                 });
  }
};

}  // namespace detail

template <class Id>
class short_lists {
 public:
  // Fills the rest of the device budget; lists of fewer than `least` edges are never read by this algorithm. `spare`: local, one word per
  // 32 vertices. Does nothing if lists are compressed (blocks span several lists), or local.
  void keep(job_setting& job, csr_view<Id> const& g, std::uint64_t least, std::uint32_t* spare) {
    std::uint64_t const words = frontier<Id>::words_of(g.vertices), places = (words + 1) * 8;
    if (job.edges != tier::host || g.targets.packed || g.weights.packed || job.left() <= places) return;
    auto const start = steady::now();
    auto const [rule, arcs] = chosen(job.g, least, (job.left() - places) / (sizeof(Id) + 4));
    if (!arcs) return;
    executor& x = job.x;
    first_ = buffer<std::uint64_t>(x.near(), words + 1, x.device(), "short lists");
    targets_ = buffer<Id>(x.near(), arcs, x.device(), "short lists");
    weights_ = buffer<std::uint32_t>(x.near(), arcs, x.device(), "short lists");
    view_ = {rule, targets_.data(), weights_.data(), first_.data()};
    for_each_item<1>(x, words, detail::count_short_arcs{g.offsets, g.vertices, rule, spare});
    scan(x, spare, first_.data(), words);
    for_each_item<8>(x, words, detail::copy_short_lists<Id>{g, rule, first_.data(), targets_.data(), weights_.data()});
    x.wait();
    job.took(fmt::format("{} edges of lists of up to {}", arcs, rule.most + (rule.more_below ? 1 : 0)),
             first_.bytes() + targets_.bytes() + weights_.bytes(), ms_since(start));
  }
  short_lists_view<Id> const& view() const { return view_; }

 private:
  struct choice {
    short_rule rule;
    std::uint64_t arcs;
  };
  // Selects at most `most_arcs` edges: all lists up to some length, then the first lists that are one edge longer.
  static choice chosen(graph const& g, std::uint64_t least, std::uint64_t most_arcs) {
    std::uint64_t const n = g.info.vertices;
    std::uint64_t const* const offsets = g.out.offsets.data();
    constexpr std::uint64_t longest = 4096;
    std::vector<std::uint64_t> of_length(longest + 1);  // number of lists by length; the last: longer ones
    std::mutex mutex;
    shared_pool().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      std::vector<std::uint64_t> mine(of_length.size());
      for (std::uint64_t v = begin; v < end; ++v) ++mine[std::min(offsets[v + 1] - offsets[v], longest)];
      std::lock_guard const hold(mutex);
      for (std::size_t d = 0; d < mine.size(); ++d) of_length[d] += mine[d];
    });
    short_rule rule{least, least - 1, 0};
    std::uint64_t arcs = 0;
    while (rule.most + 1 < longest && arcs + (rule.most + 1) * of_length[rule.most + 1] <= most_arcs) {
      ++rule.most;
      arcs += rule.most * of_length[rule.most];
    }
    if (rule.most + 1 == longest) {
      // The remaining, longer lists are cached as a whole or not at all.
      std::uint64_t const rest = g.info.edges - arcs - (least > 1 ? of_length[1] : 0);
      if (rest && arcs + rest <= most_arcs) return {{least, g.info.edges, 0}, arcs + rest};
      while (rule.most >= least && !of_length[rule.most]) --rule.most;
      return {rule, arcs};
    }
    std::uint64_t more = (most_arcs - arcs) / (rule.most + 1);
    for (std::uint64_t v = 0; v < n && more; ++v)
      if (offsets[v + 1] - offsets[v] == rule.most + 1) --more, arcs += rule.most + 1, rule.more_below = v + 1;
    return {rule, arcs};
  }

  buffer<std::uint64_t> first_;
  buffer<Id> targets_;
  buffer<std::uint32_t> weights_;
  short_lists_view<Id> view_{};
};

}  // namespace garner

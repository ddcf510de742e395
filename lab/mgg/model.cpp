#include "lab/mgg/model.hpp"

#include <algorithm>
#include <limits>

namespace garner::lab {

std::uint64_t mgg_shared_bytes(mgg_tuning const& shape, std::uint64_t columns) {
  return std::uint64_t{4} * shape.ps * shape.wpb + 8 * columns * shape.wpb;
}

mgg_search search_mgg(std::uint64_t columns, std::uint64_t shared_bytes, std::function<double(mgg_tuning const&)> const& measure) {
  mgg_search found;
  auto const time_of = [&](mgg_tuning const& s) {
    constexpr double never = std::numeric_limits<double>::infinity();
    bool const least = s == mgg_tuning{1, 1, 1};  // which is measured whatever it takes
    if (s.ps > mgg_limits::ps || s.dist > mgg_limits::dist || s.wpb > mgg_limits::wpb ||
        (!least && mgg_shared_bytes(s, columns) > shared_bytes))
      return never;
    for (mgg_step const& known : found.steps)
      if (known.shape == s) return known.ms;
    found.steps.push_back({s, measure(s)});
    return found.steps.back().ms;
  };
  auto const raise = [&](mgg_tuning s, std::uint32_t mgg_tuning::*which) {
    for (double now = time_of(s);;) {
      mgg_tuning next = s;
      next.*which *= 2;
      double const then = time_of(next);
      if (!(then < now)) return s;
      s = next, now = then;
    }
  };
  auto const is_of_best = [&](double ms) {  // of the three that are fastest
    return std::count_if(found.steps.begin(), found.steps.end(), [&](mgg_step const& s) { return s.ms < ms; }) < 3;
  };
  mgg_tuning s{1, 1, 1};
  s = raise(s, &mgg_tuning::ps);
  s = raise(s, &mgg_tuning::dist);
  raise(s, &mgg_tuning::wpb);
  while (s.ps > 1) {
    s.ps /= 2;
    mgg_tuning const at = raise(s, &mgg_tuning::wpb);
    if (!is_of_best(time_of(at))) break;
  }
  found.best = *std::min_element(found.steps.begin(), found.steps.end(), [](mgg_step const& a, mgg_step const& b) { return a.ms < b.ms; });
  return found;
}

}  // namespace garner::lab

// The median of measured values: of an even number of them the mean of the two in the middle, 0 of none; and their mean.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

namespace garner {

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  std::size_t const n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

inline double mean(std::vector<double> const& values) {  // 0 of none
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// For each trial the time of the slowest member, from `first` to `first + trials` of each.
inline double median_of_slowest(std::vector<std::vector<double>> const& of_each, std::size_t first, std::size_t trials) {
  std::vector<double> slowest;
  for (std::size_t t = first; t < first + trials; ++t) {
    double most = 0;
    for (auto const& times : of_each) most = std::max(most, times[t]);
    slowest.push_back(most);
  }
  return median(std::move(slowest));
}

}  // namespace garner

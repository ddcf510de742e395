// The median of measured values: of an even number of them the mean of the two in the middle. 0 of none.
#pragma once
#include <algorithm>
#include <vector>

namespace garner {

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  std::size_t const n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace garner

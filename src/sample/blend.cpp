// A row is read by n of N mini-batches sampled beforehand; the model expected it with the chance p of each. Chances of similar rows are
// modelled as samples of Beta(a p, a (1 - p)). The best guess is then (a p + n) / (a + N): the prediction weighs as much as a mini-batches.
// Rows are similar (one level) where both predictions nearly agree: `expected` within a quarter of an octave, and its ratio to wrpr, which
// errs elsewhere, within an eighth. A level read more often than expected has its p corrected. The scatter of its counts, compared to coins
// of chance p, determines its a: the excess is (N - 1) / (a + 1) of their variance, less two standard errors. Where the prediction cannot
// be improved (Kronecker graphs) a is large and nothing changes; counts of many epochs win. Invariant: sums are taken by chunks of the
// rows, in order: the same bits with any number of threads. Cost: four passes over the rows, 2 bytes per row. Source: pre-sampling, GNNLab,
// EuroSys 2022; the weighing: empirical Bayes (Robbins 1956).
#include "sample/blend.hpp"

#include <algorithm>
#include <cmath>

#include "core/thread_pool.hpp"

namespace garner {

namespace {

constexpr std::uint64_t chunks = 32;
constexpr int octaves = 20, a_quarter = 4, an_eighth = 8, ratios = 128;  // ratios: eighths of an octave
constexpr int levels = (octaves * a_quarter + 1) * ratios;
// So many accesses as expected are added to those that a level was read: where few are, the prediction stays.
constexpr double accesses_taken_on_trust = 8;
// Standard errors subtracted from the scatter of a level: with few mini-batches, a small excess is chance.
constexpr double standard_errors = 2;

// Sums a level, over all rows.
struct sums {
  std::vector<double> a, b, c;
};
template <class Add>
sums add_up(std::uint64_t n, Add add) {
  std::vector<sums> part(std::min<std::uint64_t>(chunks, n / 4096 + 1),
                         {std::vector<double>(levels), std::vector<double>(levels), std::vector<double>(levels)});
  std::uint64_t const chunk = (n + part.size() - 1) / part.size();
  shared_pool().run(part.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k)
      for (std::uint64_t v = k * chunk; v < std::min(n, (k + 1) * chunk); ++v) add(part[k], v);
  });
  for (std::size_t k = 1; k < part.size(); ++k)
    for (std::size_t l = 0; l < levels; ++l) part[0].a[l] += part[k].a[l], part[0].b[l] += part[k].b[l], part[0].c[l] += part[k].c[l];
  return std::move(part[0]);
}

}  // namespace

void blend(std::vector<float>& score, std::vector<float> const& weighted, std::vector<std::uint32_t> const& counts, std::uint64_t batches,
           std::uint64_t epochs) {
  std::uint64_t const n = score.size();
  double const a_batch = 1 / static_cast<double>(batches), sampled = static_cast<double>(batches) * static_cast<double>(epochs);
  sums const all = add_up(n, [&](sums& s, std::uint64_t v) {
    s.a[0] += static_cast<double>(score[v]);
    s.b[0] += weighted.empty() ? 1 : static_cast<double>(weighted[v]);
  });
  double const scale = all.b[0] > 0 ? all.a[0] / all.b[0] : 1;
  auto const bin = [](double x, int least, int most) {
    return static_cast<int>(std::clamp(std::floor(x), static_cast<double>(least), static_cast<double>(most)));  // of log2(0): the least
  };
  std::vector<std::uint16_t> level(n);
  auto const expected = [&](std::uint64_t v) { return std::min(1.0, static_cast<double>(score[v]) * a_batch); };
  sums const read = add_up(n, [&](sums& s, std::uint64_t v) {
    double const e = static_cast<double>(score[v]), w = weighted.empty() ? e : scale * static_cast<double>(weighted[v]);
    int const row = e > 0 ? bin(a_quarter * std::log2(expected(v)), -octaves * a_quarter, 0) + octaves * a_quarter : 0;
    int const ratio = e > 0 && w > 0 ? bin(an_eighth * std::log2(w / e) + ratios / 2, 0, ratios - 1) : 0;
    level[v] = static_cast<std::uint16_t>(row * ratios + ratio);
    s.a[level[v]] += counts[v];
    s.b[level[v]] += sampled * expected(v);
  });
  // The prediction, corrected for its level.
  auto const chance = [&](std::uint64_t v) {
    double const times = (read.a[level[v]] + accesses_taken_on_trust) / (read.b[level[v]] + accesses_taken_on_trust);
    return std::min(1.0, expected(v) * times);
  };
  sums const scatter = add_up(n, [&](sums& s, std::uint64_t v) {
    double const p = chance(v), off = static_cast<double>(counts[v]) - sampled * p;
    s.a[level[v]] += off * off;
    double const var = sampled * p * (1 - p);
    s.b[level[v]] += var;
    s.c[level[v]] += var + 2 * var * var;  // the most that off * off varies where only coins scatter
  });
  std::vector<double> weight(levels);
  for (std::size_t l = 0; l < levels; ++l) {
    double excess = 0;  // one mini-batch has no scatter
    if (sampled > 1)
      excess = scatter.b[l] > 0 ? ((scatter.a[l] - standard_errors * std::sqrt(scatter.c[l])) / scatter.b[l] - 1) / (sampled - 1) : 0.99;
    weight[l] = 1 / std::clamp(excess, 1e-5, 0.99) - 1;
  }
  shared_pool().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t v = begin; v < end; ++v) {
      double const a = weight[level[v]];
      score[v] = static_cast<float>(static_cast<double>(batches) * (a * chance(v) + counts[v]) / (a + sampled));
    }
  });
}

}  // namespace garner

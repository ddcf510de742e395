// Rows that a model learns: a step of so many different ones, gathered, stepped and written back, near and far, by each optimiser.
// Invariant: the same table, ids and gradients in all settings of an optimiser. Before a setting is timed its first step is held against
// the plain arithmetic of the optimiser in double, and against rows that were not to change; afterwards the rows against those of the
// optimiser's first setting, bit for bit.
#pragma once
#include <functional>

#include "bench/train_file.hpp"
#include "garner/embedding.hpp"

namespace garner::bench {

struct trainable_options {
  place where;
  std::uint64_t rows = 0, width = 128, step_rows = 300'000;  // of the table; different ones a step, at most all
  std::uint64_t steps = 16, seed = 1;                        // timed
};
// `told` hears each row when it is measured. errc::internal where a step did something else than it should.
std::vector<trainable_row> measure_trainable(trainable_options const& options, std::function<void(trainable_row const&)> const& told);

}  // namespace garner::bench

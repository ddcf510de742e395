// Trainable rows: a step on a number of distinct rows, gathered, updated and written back, in local and remote memory, by each optimizer.
// Invariant: all settings of an optimizer use the same table, ids and gradients. Before a setting is timed, its first step is compared with
// the optimizer's plain arithmetic in double, and with rows that must not change; afterwards the rows are compared with those of the
// optimizer's first setting, bit for bit.
#pragma once
#include <functional>

#include "garner/embedding.hpp"
#include "lab/train_file.hpp"

namespace garner::lab {

struct trainable_options {
  execution_device where;
  std::uint64_t rows = 0, width = 128, step_rows = 300'000;  // of the table; distinct rows per step, at most all
  std::uint64_t steps = 16, seed = 1;                        // timed
};
// Calls `told` with each row once it is measured. errc::internal if a step is wrong.
std::vector<trainable_row> measure_trainable(trainable_options const& options, std::function<void(trainable_row const&)> const& told);

}  // namespace garner::lab

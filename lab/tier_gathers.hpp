// Figure 4.11, measured: the mini-batches of a trace, gathered from a table in host memory whose hottest rows by a score are on the device.
// Invariant: before timing, a sample of a mini-batch's rows is compared with the formula that filled the table.
// Cost: the table (vertices x row bytes) is filled once; each score and share copies the cached rows anew.
#pragma once
#include <cstdint>
#include <vector>

#include "core/executor.hpp"
#include "garner/features.hpp"
#include "garner/sample.hpp"
#include "lab/tiering_file.hpp"
#include "memory/buffer.hpp"

namespace garner::lab {

class tier_gathers {
 public:
  // `t` has the rows of the mini-batches to gather, and must outlive this. errc::memory if the table does not fit.
  tier_gathers(execution_device where, std::uint64_t row_bytes, access_trace const& t);

  std::uint64_t batches() const { return t_.offsets.size() - 1; }
  // For each share, ascending. CPU: all rows are local, so a single gather with nothing cached. Simulated: nothing is
  // timed.
  std::vector<tier_gather> measure(std::vector<float> const& score);

 private:
  void check(tiered_tensor& table);
  tier_gather gather(tiered_tensor& table, double kept);
  id_span ids_of(std::uint64_t batch) const;

  access_trace const& t_;
  std::uint64_t row_bytes_;
  executor x_;
  memory_block table_, out_;
  buffer<std::uint64_t> ids_, some_ids_;
  std::vector<std::uint64_t> some_;  // rows of the first mini-batch, for the check
  std::vector<tier_gather> at_host_;
};

}  // namespace garner::lab

// Checks a mini-batch on the host, with code that is independent of the sampler: nodes are distinct, seeds first; every edge is in its
// target's adjacency, at most fanout edges per target and none twice; counts match; each row and label belongs to its node.
// Cost: one side's adjacency in host memory (nothing if it is there uncompressed), and a mini-batch's arrays.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "garner/handle.hpp"
#include "garner/load.hpp"
#include "garner/subgraph.hpp"

namespace garner::cli {

class batch_check {
 public:
  struct rows_source {
    void const* data = nullptr;  // host-readable; null: rows of make_rows()
    std::uint64_t row_bytes = 0;
  };
  batch_check(graph_handle const& g, edge_direction side, std::vector<std::int64_t> fanouts, block_options const& options);

  // errc::internal names the wrong mini-batch and the error. `seeds`: the seeds it was sampled from.
  void blocks_of(executor& x, sampled_subgraph const& drawn, std::span<std::int64_t const> seeds);
  // `training`: the loader's seeds. `tables`: in its order; the second for seeds only.
  void batch(executor& x, mini_batch const& b, std::span<std::int64_t const> training, std::span<rows_source const> tables);

 private:
  std::uint64_t target(std::uint64_t e) const;
  graph_handle const& g_;
  adjacency_arrays lists_;
  std::vector<std::int64_t> fanouts_;
  block_options o_;
  std::vector<std::uint32_t> seen_;  // per vertex: the last mini-batch with it
  std::uint32_t checked_ = 0;
};

}  // namespace garner::cli

// What a mini-batch must be, checked on the host by means that share nothing with what made it: vertices stand once, seeds first; every
// edge is one of its target's list, as many as the fanout allows and none twice; counts add up; each row and label is that of its vertex.
// Cost: the lists of one side in host memory (nothing where they lie there plain), and a mini-batch's arrays.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "garner/blocks.hpp"
#include "garner/handle.hpp"
#include "garner/load.hpp"

namespace garner::bench {

class batch_check {
 public:
  struct rows_source {
    void const* data = nullptr;  // readable by the host; null: of make_rows()
    std::uint64_t row_bytes = 0;
  };
  batch_check(graph_handle const& g, list_side side, std::vector<std::int64_t> fanouts, block_options const& options);

  // errc::internal says which mini-batch is wrong, and in what. `seeds`: what it was sampled from.
  void blocks_of(executor& x, blocks const& drawn, std::span<std::int64_t const> seeds);
  // `training`: what the loader was given. `tables`: in its order; the second of the seeds alone.
  void batch(executor& x, mini_batch const& b, std::span<std::int64_t const> training, std::span<rows_source const> tables);

 private:
  std::uint64_t target(std::uint64_t e) const;
  graph_handle const& g_;
  graph_lists lists_;
  std::vector<std::int64_t> fanouts_;
  block_options o_;
  std::vector<std::uint32_t> seen_;  // a vertex: the last mini-batch that had it
  std::uint32_t checked_ = 0;
};

}  // namespace garner::bench

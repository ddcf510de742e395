// Rows of a part of the vertices, whose table exceeds device memory: they stay in their tiers, and are copied to the device a block at a
// time, the next during the product of the last one. Invariant: a block is valid until the next but one is requested; the rows are checked
// once for numbers that are not finite. Cost: two blocks of device memory; each pass over all rows crosses the link once.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/lease.hpp"
#include "garner/features.hpp"
#include "garner/gnn.hpp"
#include "nn/aggregate.hpp"

namespace garner {

class part_rows {
 public:
  // Blocks of a part: where each begins, and the last ends, counted from `first`; `positions` (null: they follow each other): which rows
  // of the table those of the part are. The table must outlive it. errc::input names a row that holds no finite number.
  part_rows(executor& x, tiered_tensor& table, row_scaling scaling, std::vector<std::uint64_t> const& blocks, std::uint64_t first,
            std::int64_t const* positions);
  // Rows of the block that begins there, for what is given to x from here on.
  row_block<float const> block(std::uint64_t first, std::uint64_t count);
  std::uint64_t bytes() const { return ids_.bytes() + rows_[0].what().bytes() + rows_[1].what().bytes(); }
  static std::uint64_t largest(std::span<std::uint64_t const> blocks);

 private:
  void bring(std::size_t block, int to);
  executor &x_, come_;
  tiered_tensor& table_;
  row_scaling scaling_;
  std::vector<std::uint64_t> blocks_;
  buffer<std::int64_t> ids_;
  leased<buffer<float>> rows_[2];  // come_ fills them, and x_ reads
  lease<buffer<float>*> held_[2];  // for x_, until others come there
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t holds_[2] = {none, none};
  int last_ = 0;  // what was given last
  std::vector<bool> looked_;
  wait_at_end settled_{x_}, all_came_{come_};
};

}  // namespace garner

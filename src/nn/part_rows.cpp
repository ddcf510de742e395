#include "nn/part_rows.hpp"

#include <algorithm>
#include <numeric>

#include "nn/infer/rows.hpp"
#include "nn/pointwise.hpp"

namespace garner {

part_rows::part_rows(executor& x, tiered_tensor& table, row_scaling scaling, std::vector<std::uint64_t> const& blocks, std::uint64_t first,
                     std::int64_t const* positions)
    : x_(x), come_(x, executor::urgent{}), table_(table), scaling_(scaling), blocks_(blocks), looked_(blocks.size()) {
  std::vector<std::int64_t> ids(blocks_.back());
  if (positions) std::copy_n(positions, ids.size(), ids.begin());
  else std::iota(ids.begin(), ids.end(), static_cast<std::int64_t>(first));
  ids_ = garner::bring(x, ids, "ids of rows");
  for (leased<buffer<float>>& rows : rows_)
    rows.fill(come_) = buffer<float>(x.near(), largest(blocks_) * table.width(), x.device(), "rows of a block");
}

std::uint64_t part_rows::largest(std::span<std::uint64_t const> blocks) {
  std::uint64_t most = 1;
  for (std::size_t b = 0; b + 1 < blocks.size(); ++b) most = std::max(most, blocks[b + 1] - blocks[b]);
  return most;
}

void part_rows::bring(std::size_t block, int to) {
  std::uint64_t const first = blocks_[block], count = blocks_[block + 1] - first, width = table_.width();
  holds_[to] = none, held_[to].end();
  gather_options o;
  if (table_.kind() != element::f32) o.to = element::f32;
  o.order = gather_order::none, o.duplicates = gather_duplicates::repeat;  // each once, and mostly they ascend
  if (come_.asynchronous()) o.stream = stream_ref::of_address(come_.stream());
  float* const rows = rows_[to].fill(come_).data();
  table_.gather({ids_.data() + first, count, 8}, {rows, count * width * sizeof(float)}, o);
  if (!looked_[block])
    require_numbers(come_, rows, count, width,
                    [&](std::uint64_t row) { return static_cast<std::uint64_t>(come_.read(ids_.data() + first + row)); });
  looked_[block] = true;
  scale_rows(come_, row_block<float>{rows, width}, count, width, scaling_);
  held_[to] = rows_[to].filled(come_), holds_[to] = block;
}

row_block<float const> part_rows::block(std::uint64_t first, std::uint64_t count) {
  if (count == 0) return {rows_[0].what().data(), table_.width()};
  std::size_t const b = static_cast<std::size_t>(std::upper_bound(blocks_.begin(), blocks_.end(), first) - blocks_.begin()) - 1;
  if (holds_[last_] != b) last_ ^= 1;
  if (holds_[last_] != b) bring(b, last_);
  row_block<float const> const rows{held_[last_].use(x_)->data(), table_.width()};
  std::size_t next = b;  // passes go over all blocks, again and again
  do next = next + 2 < blocks_.size() ? next + 1 : 0;
  while (blocks_[next] == blocks_[next + 1]);
  if (next != b && holds_[last_ ^ 1] != next) bring(next, last_ ^ 1);
  return rows;
}

}  // namespace garner

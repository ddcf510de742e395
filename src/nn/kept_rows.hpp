// Rows that the backward pass needs, kept in host memory: what a layer has made is copied there block by block, during the work on the next
// block, and comes back the same way while the block before is used. A slot holds the rows of one kind of a layer; its blocks are those of
// the pass. Invariant: a block that came is valid until the next but one of its kind is requested. Nothing reads or writes the slots when
// the object ends. Cost: the rows in host memory; two blocks of device memory, and two of each kind; each row crosses once each way.
#pragma once
#include <cstdint>
#include <vector>

#include "core/lease.hpp"
#include "nn/aggregate.hpp"

namespace garner {

template <class Real>
class kept_rows {
 public:
  enum kind : std::uint8_t { taken, made, in, kinds };  // what the first product takes; what it made; what came into the layer
  struct slot {
    std::uint32_t layer;
    kind of;
  };
  // `blocks`: where each begins, and the last ends.
  kept_rows(executor& x, std::vector<std::uint64_t> blocks);

  // A copy of the rows of block b, `columns` each, as they are when x has done what it was given. A step keeps all blocks of a slot.
  void keep(slot s, std::size_t b, row_block<Real const> rows, std::uint64_t columns);
  // The rows of block b, as many columns as were kept, for what x is given from here on; the next block of the slot begins to come.
  row_block<Real const> bring(slot s, std::size_t b, std::uint64_t columns);
  // Block 0 of the slot begins to come.
  void expect(slot s) { come(s, 0); }

  std::uint64_t bytes() const;       // on the device
  std::uint64_t host_bytes() const;  // besides

 private:
  struct slot_rows {
    buffer<Real> data;
    std::uint64_t columns = 0;
  };
  struct came_to {
    leased<buffer<Real>> rows;  // come_ fills them, and x_ reads
    lease<buffer<Real>*> held;
    std::size_t layer = 0, block = 0;
  };
  std::uint64_t count(std::size_t b) const { return blocks_[b + 1] - blocks_[b]; }
  slot_rows& rows_of(slot s);
  came_to* come(slot s, std::size_t b);  // null: an empty block

  executor &x_, go_, come_;
  std::vector<std::uint64_t> blocks_;
  std::uint64_t largest_ = 1;
  std::vector<slot_rows> slots_;
  leased<buffer<Real>> going_[2];  // x_ fills them, and go_ reads
  came_to came_[kinds][2];
  std::uint64_t sent_ = 0, brought_[kinds] = {};
  event gone_;  // of the last copy to host memory
  wait_at_end settled_{x_}, all_gone_{go_}, all_came_{come_};
};

}  // namespace garner

// Rows that the backward pass needs, kept in host memory, or in a file: what a layer has made is copied there block by block, during the
// work on the next block, and comes back the same way while the block before is used. A slot holds the rows of one kind of a layer; its
// blocks are those of the pass. In a file its blocks begin on pages, and pass through two blocks of host memory each way.
// Invariant: a block that came is valid until the next but one of its kind is requested. Nothing reads or writes the slots when the object
// ends. What a file gives back is what was written, or an error. Cost: the rows in host memory, or on the drive; two blocks of device
// memory, and two of each kind; each row crosses once each way.
#pragma once
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/lease.hpp"
#include "core/scratch_file.hpp"
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
  // `blocks`: where each begins, and the last ends. `scratch`: the folder of the file, which has no name; null: in host memory.
  // errc::io, from every call: a folder that cannot be used, a full disk, a file that gives back other rows.
  kept_rows(executor& x, std::vector<std::uint64_t> blocks, std::shared_ptr<scratch_folder> scratch = {});

  // A copy of the rows of block b, `columns` each, as they are when x has done what it was given. A step keeps all blocks of a slot.
  void keep(slot s, std::size_t b, row_block<Real const> rows, std::uint64_t columns);
  // The rows of block b, as many columns as were kept, for what x is given from here on; the next block of the slot begins to come.
  row_block<Real const> bring(slot s, std::size_t b, std::uint64_t columns);
  // Block 0 of the slot begins to come.
  void expect(slot s);

  std::uint64_t bytes() const;       // on the device
  std::uint64_t host_bytes() const;  // besides
  std::uint64_t file_bytes() const { return file_ ? file_->bytes() : 0; }

 private:
  static constexpr std::uint64_t page = scratch_file::page;
  static constexpr std::size_t pieces = 4;  // of a block: read or written at once, each with its checksum
  struct slot_rows {
    buffer<Real> data;
    std::uint64_t columns = 0;
    std::vector<std::uint64_t> at;    // in the file: where each block begins, and the last ends
    std::vector<std::uint64_t> sums;  // of the pieces of each
  };
  struct came_to {
    leased<buffer<Real>> rows;  // come_ fills them, and x_ reads
    lease<buffer<Real>*> held;
    std::size_t layer = 0, block = 0;
  };
  // A block in host memory, on its way to the file or back. Its work ends before it.
  struct staged {
    buffer<Real> rows;
    event copied;  // from the device, or to it
    bool used = false;
    slot_rows* of = nullptr;
    std::size_t layer = 0, block = 0;
    std::vector<std::future<void>> work = {};
    void wait() {  // behind an error the rows are nobody's
      slot_rows* const whose = std::exchange(of, nullptr);
      for (auto& w : std::exchange(work, {})) w.get();
      of = whose;
    }
  };
  std::uint64_t count(std::size_t b) const { return blocks_[b + 1] - blocks_[b]; }
  std::size_t some_from(std::size_t b) const {  // the first block from b on that is not empty
    while (b + 1 < blocks_.size() && count(b) == 0) ++b;
    return b;
  }
  slot_rows& rows_of(slot s);
  slot_rows& kept(slot s);               // errc::internal: it was not
  came_to* come(slot s, std::size_t b);  // null: an empty block
  void make(slot_rows& to, std::uint64_t columns);
  Real* staging(staged& in, std::uint64_t columns);
  staged* read(slot s, std::size_t b);
  void carry(staged& s, bool write);  // between host memory and the file
  void settle();                      // all is written

  executor &x_, go_, come_;
  std::vector<std::uint64_t> blocks_;
  std::uint64_t largest_ = 1;
  std::shared_ptr<scratch_folder> folder_;
  std::unique_ptr<scratch_file> file_;
  std::deque<slot_rows> slots_;    // references stay
  leased<buffer<Real>> going_[2];  // x_ fills them, and go_ reads
  came_to came_[kinds][2];
  staged leaving_[2], arriving_[kinds][2];
  staged* unwritten_ = nullptr;                                                // of leaving_, while the next block is made
  std::uint64_t sent_ = 0, brought_[kinds] = {}, read_[kinds] = {}, end_ = 0;  // end_: of what the file has room for
  event gone_;                                                                 // of the last copy to host memory
  wait_at_end settled_{x_}, all_gone_{go_}, all_came_{come_};
};

}  // namespace garner

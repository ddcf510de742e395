// Names as node ids: strings of bytes, each numbered at its first appearance. Memory holds 96 bits of hash and the number of each name; the
// names go to a scratch file in the order of their numbers. Invariant: the numbers depend on the order of the names alone, not on how they
// are divided into calls, nor on threads. Two names would share a number if 96 bits were equal: for 2^30 names a chance of 1 in 10^11.
// Cost: 18 to 28 bytes of memory per name, and one random access per name and row.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/scratch_file.hpp"
#include "core/thread_pool.hpp"
#include "garner/handle.hpp"
#include "memory/buffer.hpp"

namespace garner {

class name_table {
 public:
  // `bytes`: of memory at most. `source`: of the names, for messages.
  name_table(scratch_folder& folder, std::uint64_t bytes, std::string source);
  // Numbers the names of row k of all columns, in their order: `to` has as many numbers per row. The columns are of one length.
  void number(std::vector<name_column const*> const& columns, std::uint64_t* to);
  std::uint64_t count() const { return count_; }
  std::uint64_t digest() const;   // of all names in the order of their numbers; not 0
  void end() { parts_.clear(); }  // frees the memory, after the last name; reading goes on
  // The names from `first` on: appended to `bytes`, and where each ends to `ends`. errc::io.
  void read(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& ends, std::string& bytes);

 private:
  struct slot {
    std::uint64_t hash;
    std::uint32_t check, number;  // number + 1; 0: empty
  };
  struct hashed {
    std::uint64_t hash = 0;
    std::uint32_t check = 0;
  };
  struct part {          // of the table: the names whose hashes begin with the same bits
    buffer<slot> slots;  // ascending, with gaps: the search for a new name is short
    std::uint64_t used = 0;
  };
  static constexpr int part_bits = 6;
  static std::uint64_t home(std::uint64_t hash, std::uint64_t slots);
  part& part_of(hashed const& h) { return parts_[h.hash >> (64 - part_bits)]; }
  part const& part_of(hashed const& h) const { return parts_[h.hash >> (64 - part_bits)]; }
  void fetch(hashed const& h) const;
  slot* find(hashed const& h);  // where the name is or belongs; null: its part is empty
  std::uint32_t insert(hashed const& h, char const* name, std::uint64_t bytes);
  void grow(part& p);
  void flush();

  scratch_file names_, ends_;
  std::uint64_t limit_, held_ = 0, count_ = 0, bytes_ = 0;
  std::string source_, waiting_;
  std::vector<std::uint64_t> waiting_ends_;
  std::vector<part> parts_;
  std::uint64_t digest_ = 0;  // of the names so far
};

}  // namespace garner

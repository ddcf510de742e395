// Adjacency that stays in the graph file: offsets, ids and directories of compressed adjacency are in
// memory; targets and weights are read on demand (list_windows.hpp). Invariant: a loop sees validated data
// only. A 512 B unit that was read before, by the initial check or later, must be unchanged on each read (a
// 31-bit checksum per unit, in memory). Once per block of 32 edges, targets are checked against the vertex
// count, and compressed blocks against their words. So a bit error of the drive causes an error, never a
// wild write. Cost: 4 bytes of host memory per unit and one bit per 32 edges; each unit read is hashed, at
// some 10 GB/s per thread. Reads are whole blocks of the drive: mostly one unit, sometimes several.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/packed.hpp"
#include "graph/graph.hpp"
#include "storage/reader.hpp"

namespace garner {

class list_file {
 public:
  static constexpr std::uint64_t unit = 512;  // bytes under one checksum, and the smallest read of any drive
  // `drives`: hold the file, if it is not opened by name. `window_bytes`: bytes of adjacency per staging buffer; 0: as many as the host
  // budget allows.
  list_file(std::filesystem::path const& file, std::uint64_t bytes, std::uint64_t edges, std::shared_ptr<drive_set> drives,
            std::uint64_t window_bytes);

  // The exact memory of one; `bytes`: size of the whole file.
  static std::uint64_t memory_bytes(std::uint64_t bytes, std::uint64_t edges) { return units_of(bytes) * 4 + 2 * words_of(edges) * 4; }
  reader& files() const { return *files_; }
  std::string const& name() const { return name_; }
  std::uint64_t window_bytes() const { return window_bytes_; }
  std::uint64_t block() const { return block_; }  // smallest read, and its alignment
  // Gaps up to this size are read along, since another request costs as much: `usual_gap`, or, before many requests, a one-time measurement
  // of the drive. Throws only errc::interrupted; other failures will recur in the actual read.
  static constexpr std::uint64_t usual_gap = 4096, most_gap = 64 << 10, many_requests = 4096;
  std::uint64_t gap(std::uint64_t requests);

  // Checks the units read from byte `at` of the file on (a multiple of unit): records new ones, compares known ones. Returns the start of
  // the first that differs, or `none`. Thread-safe if no two threads check the same unit.
  std::uint64_t compare(std::uint64_t at, void const* data, std::uint64_t bytes);
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  // Blocks of 32 edges whose targets are known to be valid, per direction.
  bool is_right(bool in, std::uint64_t block) const;
  void note_right(bool in, std::uint64_t block);
  void note_all_right(bool in);

 private:
  static std::uint64_t units_of(std::uint64_t bytes) { return (bytes + unit - 1) / unit; }
  static std::uint64_t words_of(std::uint64_t edges) { return edges / 1024 + 1; }
  std::uint64_t measure() const;

  std::string name_;
  std::uint64_t window_bytes_, block_ = unit;
  std::mutex measuring_;
  std::optional<std::uint64_t> measured_gap_;
  std::unique_ptr<reader> files_;
  buffer<std::uint32_t> sums_;  // by unit; 0: not read yet
  buffer<std::uint32_t> right_[2];
};

}  // namespace garner

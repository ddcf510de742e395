// Neighbour lists that stay in their container file: offsets, ids and directories of packed lists are in memory, targets and weights are
// read as they are wanted (list_windows.hpp).
// Invariant: what a loop gets to see was looked at. A unit of 512 B that was read before, when the file was checked or since, must be the
// same each time (a checksum of 31 bits a unit, in memory); and no target leads beyond the vertices, nor does a packed block reach beyond
// its words, which is looked at once for each block of 32 arcs. So a drive that gives a wrong bit makes an error, never a wrong write.
// Cost: 4 bytes a unit and a bit for 32 arcs of host memory; each unit that is read is hashed, at some 10 GB/s a thread.
// A read wants whole blocks of the drive, which are a unit mostly, and may be several.
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
  static constexpr std::uint64_t unit = 512;  // what a checksum is of, and what no drive reads less than
  // `drives`: that hold the file, where it is not to be opened by its name. `window_bytes`: of lists that are read together; 0: as many as
  // the host budget leaves room for.
  list_file(std::filesystem::path const& file, std::uint64_t bytes, std::uint64_t edges, std::shared_ptr<drive_set> drives,
            std::uint64_t window_bytes);

  // Exactly what one takes; `bytes`: of the whole file.
  static std::uint64_t memory_bytes(std::uint64_t bytes, std::uint64_t edges) { return units_of(bytes) * 4 + 2 * words_of(edges) * 4; }
  reader& files() const { return *files_; }
  std::string const& name() const { return name_; }
  std::uint64_t window_bytes() const { return window_bytes_; }
  std::uint64_t block() const { return block_; }  // what is read at the least, and begins at a multiple of itself
  // Bytes between two wanted ones that are read with them, since another request costs as much: `usual_gap`, or where many requests are
  // coming what the drive measures, once. errc::interrupted alone; what else fails will fail again where it is read for its own sake.
  static constexpr std::uint64_t usual_gap = 4096, most_gap = 64 << 10, many_requests = 4096;
  std::uint64_t gap(std::uint64_t requests);

  // Units that were read from byte `at` of the file on, a multiple of unit: noted, or held against what was noted. The byte at which one
  // begins that differs, or `none`. Any thread, as long as no two look at the same unit.
  std::uint64_t compare(std::uint64_t at, void const* data, std::uint64_t bytes);
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  // Blocks of 32 arcs whose targets are known to be vertices, of each direction.
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
  buffer<std::uint32_t> sums_;  // by unit; 0: not seen yet
  buffer<std::uint32_t> right_[2];
};

}  // namespace garner

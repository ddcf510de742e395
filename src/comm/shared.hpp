// Segments of shared memory behind include/garner/shared.hpp.
// A segment is a file of /dev/shm: a header page, then the table. Who holds it has a lock on its first byte; the creator one on the second
// until the table is filled. The system takes locks back from killed processes, so a segment without a lock is stale: it is said, never
// taken over by itself.
// Invariants: it has its name only when it is whole (sized, backed by pages, headed, locked), since it is made without a name and linked
// then; it is unlinked by the holder that can lock it alone, and a lock counts only when the name still stood after it was taken, so nobody
// keeps a segment that is going. A child by fork shares its parent's hold and never lets go of it. Locks belong to the open file (F_OFD_*),
// not to the process, so that tables held twice in one process do not let go of each other.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "garner/shared.hpp"

namespace garner {

struct shared_header {
  static constexpr std::uint64_t magic_word = 0x31485352454e5247;  // "GRNERSH1"
  static constexpr std::uint32_t current_version = 1;
  std::uint64_t magic = magic_word;
  std::uint32_t version = current_version, header_bytes = 4096;
  std::uint64_t bytes = 0, rows = 0, width = 0;
  std::uint32_t kind = 0, creator = 0;  // creator: its process id
  std::uint64_t created = 0;            // seconds since 1970
  std::uint64_t checksum = 0;           // of all before
  std::uint32_t ready = 0;              // 1: filled; written last and read first

  std::uint64_t sum() const;
};

std::filesystem::path shared_file(std::string const& name);  // where the segment of this user's lies; errc::usage for a bad name

}  // namespace garner

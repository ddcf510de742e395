// Segments of shared memory behind include/garner/shared.hpp. A segment is a file of /dev/shm: a header page, then the table.
// Holders have a lock on its first byte; the creator one on the second until the table is filled. The system releases locks of
// killed processes, so a segment without a lock is stale: it is reported, never taken over implicitly.
// Invariants: it has its name only when it is complete (sized, backed by pages, headed, locked), since it is made without a name
// and linked then. The holder that can lock it exclusively unlinks it, and a lock counts only if the name still existed after
// locking, so that a segment that is being removed gets no new holders. A child by fork shares its parent's hold and never
// releases it. Locks belong to the open file (F_OFD_*), not to the process, so that two holds in one process do not release each
// other.
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
  std::uint64_t checksum = 0;           // sum over the fields before
  std::uint32_t ready = 0;              // 1: filled; written last and read first

  std::uint64_t sum() const;
};

std::filesystem::path shared_file(std::string const& name);  // where the segment of this user's lies; errc::usage for a bad name

}  // namespace garner

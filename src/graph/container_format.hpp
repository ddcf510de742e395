// The graph file's layout: a header of one page with the table of sections, then each array of the graph on a page boundary.
// docs/reference/file-formats.md defines it. Invariant: the header's counts and flags fully determine the table (layout()). So a reader
// compares the table field by field, and allocates only what the file's true size justifies. Every byte of the file is checksummed or must
// be zero.
#pragma once
#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/container.hpp"

namespace garner::container {

constexpr std::uint32_t version_now = 1;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t block = 4u << 20;   // bytes under one leaf checksum, and per read of a thread
constexpr std::uint64_t batch = 16u << 20;  // bytes per copy through a bounce buffer
constexpr std::uint32_t max_sections = 61;
// A non-text byte, both kinds of line end and an end-of-file mark: a transfer in text mode would change them.
constexpr std::array<unsigned char, 8> magic_bytes{0x89, 'G', 'N', 'R', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t flag_directed = 1, flag_in_lists = 2, flag_id_map = 4, flag_reordered = 8, flag_packed = 16,
                        flag_cached_neighbors = 32, flag_reversed = 64, flags_known = 127;
constexpr std::array<char const*, 22> section_names{"",
                                                    "out offsets",
                                                    "out targets",
                                                    "out weights",
                                                    "in offsets",
                                                    "in targets",
                                                    "in weights",
                                                    "ids",
                                                    "by id",
                                                    "out target codes",
                                                    "out target directory",
                                                    "out target groups",
                                                    "out weight codes",
                                                    "out weight directory",
                                                    "out weight groups",
                                                    "in target codes",
                                                    "in target directory",
                                                    "in target groups",
                                                    "in weight codes",
                                                    "in weight directory",
                                                    "in weight groups",
                                                    "cached neighbors"};

struct raw_section {
  std::uint32_t kind, element_bytes;
  std::uint64_t offset, bytes, checksum, reserved[4];
};
struct raw_header {
  std::array<unsigned char, 8> magic;
  std::uint32_t version, header_bytes;
  std::uint64_t file_bytes, vertices, edges;
  std::uint32_t id_bytes, weights, flags, sections;
  std::uint64_t id_base;
  std::uint32_t order, reserved0;
  packed_words words;
  std::uint64_t cached_neighbors, names_digest, reserved;
  raw_section table[max_sections];
  std::uint64_t unused[7], checksum;
};
static_assert(sizeof(raw_section) == 64 && sizeof(raw_header) == page && offsetof(raw_header, table) == 128);
static_assert(offsetof(raw_header, checksum) == page - 8);

constexpr std::uint64_t on_page(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }
constexpr std::uint64_t blocks_of(std::uint64_t bytes) { return (bytes + block - 1) / block; }
std::uint64_t header_checksum(raw_header const& raw);
// The checksum of a section: over the checksums of its blocks, so that they can be computed in any order.
std::uint64_t tree_checksum(std::vector<std::uint64_t> const& of_blocks);

// Section positions for such a graph; the end of the last is the file size. The counts must not overflow: see parse().
std::vector<container_section> layout(graph_info const& info, packed_words const& words, std::uint64_t cached_neighbors);
inline std::uint64_t end_of(std::vector<container_section> const& sections) {
  return on_page(sections.back().offset + sections.back().bytes);
}

class container_file {
 public:
  explicit container_file(std::filesystem::path const& path);  // errc::io
  ~container_file();
  container_file(container_file const&) = delete;
  container_file& operator=(container_file const&) = delete;

  void read(std::uint64_t at, void* to, std::uint64_t bytes) const;  // errc::io also if the file has shrunk
  std::string const& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::string name_;
  std::uint64_t bytes_ = 0;
  int fd_ = -1;
};

// The header of such a file, including checksums.
raw_header header_of(graph_info const& info, packed_words const& words, std::uint64_t cached_neighbors,
                     std::vector<container_section> const& sections);

container_header parse(container_file const& file);  // errc::input names the invalid field and its byte

}  // namespace garner::container

#include "graph/container_format.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/fail.hpp"
#include "core/packed.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/pack.hpp"

namespace garner::container {

static_assert(std::endian::native == std::endian::little, "graph files are little-endian, and their arrays are used without conversion");

std::uint64_t header_checksum(raw_header const& raw) { return XXH3_64bits(&raw, offsetof(raw_header, checksum)); }
std::uint64_t tree_checksum(std::vector<std::uint64_t> const& of_blocks) { return XXH3_64bits(of_blocks.data(), of_blocks.size() * 8); }

std::vector<container_section> layout(graph_info const& info, packed_words const& words, std::uint64_t cached_neighbors) {
  std::vector<container_section> all;
  std::uint64_t at = page;
  auto const add = [&](section_kind kind, std::uint64_t elements, std::uint64_t element_bytes) {
    all.push_back({kind, section_names[static_cast<std::size_t>(kind)], at, elements * element_bytes, element_bytes, 0});
    at = on_page(at + elements * element_bytes);
  };
  bool const weighted = info.weights != weight_kind::none, plain = !info.compressed;
  add(section_kind::out_offsets, info.vertices + 1, 8);
  if (plain) add(section_kind::out_targets, info.edges, info.id_bytes);
  if (plain && weighted) add(section_kind::out_weights, info.edges, 4);
  if (info.in_edges) {
    add(section_kind::in_offsets, info.vertices + 1, 8);
    if (plain) add(section_kind::in_targets, info.edges, info.id_bytes);
    if (plain && weighted) add(section_kind::in_weights, info.edges, 4);
  }
  if (info.id_map) add(section_kind::ids, info.vertices, 8);
  if (info.order != vertex_order::natural) add(section_kind::by_id, info.vertices, info.id_bytes);
  if (info.compressed) {
    auto const add_packed = [&](section_kind first, std::uint64_t codes) {
      auto const kind = static_cast<std::uint32_t>(first);
      std::uint64_t const blocks = (info.edges + packed_directory::values_a_block - 1) / packed_directory::values_a_block;
      add(first, codes, 4);
      add(static_cast<section_kind>(kind + 1), blocks + 1, 4);
      add(static_cast<section_kind>(kind + 2), blocks / packed_directory::blocks_a_group + 1, 8);
    };
    add_packed(section_kind::out_target_words, words.out_targets);
    if (weighted) add_packed(section_kind::out_weight_words, words.out_weights);
    if (info.in_edges) add_packed(section_kind::in_target_words, words.in_targets);
    if (info.in_edges && weighted) add_packed(section_kind::in_weight_words, words.in_weights);
  }
  if (cached_neighbors) add(section_kind::cached_neighbors, cached_neighbors_view::words_of(info.vertices, cached_neighbors), 4);
  return all;
}

container_file::container_file(std::filesystem::path const& path) : name_(path.string()) {
  fd_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: opening a pipe that lacks a writer would hang
  if (fd_ < 0) fail(errc::io, "{}: cannot be opened: {}; check the name and its permissions", name_, std::strerror(errno));
  struct ::stat status {};
  int const failed = ::fstat(fd_, &status);
  if (failed != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    fail(errc::io, "{}: is {}; a graph file is a regular file", name_, S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}
container_file::~container_file() { ::close(fd_); }

void container_file::read(std::uint64_t at, void* to, std::uint64_t bytes) const {
  for (auto* p = static_cast<std::byte*>(to); bytes;) {
    ::ssize_t const n = ::pread(fd_, p, bytes, static_cast<::off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errc::io, "{}: reading failed at byte {}: {}; check the disk it lies on", name_, at, std::strerror(errno));
    if (n == 0)
      fail(errc::io, "{}: ends at byte {} but had {} bytes when opened; it was changed while it was read, try again", name_, at, bytes_);
    p += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

raw_header header_of(graph_info const& info, packed_words const& words, std::uint64_t cached_neighbors,
                     std::vector<container_section> const& sections) {
  raw_header raw{};
  raw.magic = magic_bytes;
  raw.version = version_now;
  raw.header_bytes = page;
  raw.file_bytes = end_of(sections);
  raw.vertices = info.vertices;
  raw.edges = info.edges;
  raw.id_bytes = info.id_bytes;
  raw.weights = static_cast<std::uint32_t>(info.weights);
  raw.flags = (info.directed ? flag_directed : 0) | (info.in_edges ? flag_in_lists : 0) | (info.id_map ? flag_id_map : 0) |
              (info.order != vertex_order::natural ? flag_reordered : 0) | (info.compressed ? flag_packed : 0) |
              (cached_neighbors ? flag_cached_neighbors : 0) | (info.reversed ? flag_reversed : 0);
  raw.order = static_cast<std::uint32_t>(info.order);
  raw.words = words;
  raw.cached_neighbors = cached_neighbors;
  raw.names_digest = info.names_digest;
  raw.sections = static_cast<std::uint32_t>(sections.size());
  raw.id_base = info.id_map ? 0 : info.id_base;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    auto const& s = sections[i];
    raw.table[i] = {static_cast<std::uint32_t>(s.kind), static_cast<std::uint32_t>(s.element_bytes), s.offset, s.bytes, s.checksum, {}};
  }
  raw.checksum = header_checksum(raw);
  return raw;
}

container_header parse(container_file const& file) {
  std::string const& name = file.name();
  raw_header raw{};
  std::uint64_t const have = std::min(file.bytes(), page);
  file.read(0, &raw, have);
  if (have == 0) fail(errc::input, "{}: is empty; a graph file begins with a header of {} bytes", name, page);
  if (std::uint64_t const n = std::min<std::uint64_t>(have, 8); std::memcmp(&raw, magic_bytes.data(), n) != 0) {
    if (std::memcmp(reinterpret_cast<char const*>(&raw) + 1, "GNR", std::min<std::uint64_t>(have - 1, 3)) == 0 && have > 3)
      fail(errc::input, "{}: byte 0: the mark of a graph file is damaged, as by a transfer as text; copy the file again in binary", name);
    fail(errc::input, "{}: byte 0: is not a Garner graph file; make one with `garner convert {} OUT.gnr`", name, name);
  }
  if (have < page) fail(errc::input, "{}: ends at byte {}, within the header of {} bytes; copy or convert it again", name, have, page);
  if (raw.version != version_now)
    fail(errc::input, "{}: byte 8: is a graph file of version {}, this Garner reads version {}; use the Garner that wrote it", name,
         raw.version, version_now);
  if (std::uint64_t const sum = header_checksum(raw); sum != raw.checksum)
    fail(errc::input,
         "{}: byte {}: the header's checksum is {:016x} but its bytes give {:016x}; the file is damaged, copy or convert it again", name,
         offsetof(raw_header, checksum), raw.checksum, sum);
  // The header is intact. Any error below is a fault of its writer, or the writer was a newer Garner.
  auto const bad = [&](std::size_t byte, std::string const& what) {
    fail(errc::input, "{}: byte {}: {}; convert it again", name, byte, what);
  };
  if (raw.header_bytes != page)
    bad(offsetof(raw_header, header_bytes), fmt::format("the header has {} bytes, not {}", raw.header_bytes, page));
  if (raw.file_bytes != file.bytes())
    fail(errc::input, "{}: byte {}: the header says {} bytes but the file has {}; it was {}, copy it again", name,
         offsetof(raw_header, file_bytes), raw.file_bytes, file.bytes(), file.bytes() < raw.file_bytes ? "cut short" : "added to");
  if (raw.id_bytes != 4 && raw.id_bytes != 8)
    bad(offsetof(raw_header, id_bytes), fmt::format("vertex ids of {} bytes; 4 or 8 are possible", raw.id_bytes));
  if (raw.weights > 2) bad(offsetof(raw_header, weights), fmt::format("unknown kind of weights {}", raw.weights));
  if (raw.flags & ~flags_known)
    bad(offsetof(raw_header, flags), fmt::format("unknown flags {:#x}, perhaps of a newer Garner", raw.flags & ~flags_known));
  bool const directed = raw.flags & flag_directed, in_edges = raw.flags & flag_in_lists, id_map = raw.flags & flag_id_map;
  bool const turned = raw.flags & flag_reversed;
  if ((in_edges || turned) && !directed) bad(offsetof(raw_header, flags), "in-edges of an undirected graph");
  bool const reordered = raw.flags & flag_reordered;
  if (reordered && !id_map) bad(offsetof(raw_header, flags), "reordered without an id map");
  if (reordered && (raw.order == 0 || raw.order > static_cast<std::uint32_t>(vertex_order::score)))
    bad(offsetof(raw_header, order), fmt::format("unknown order {}, perhaps of a newer Garner", raw.order));
  // These two bounds keep every product and sum in layout() far below 2^64.
  if (raw.vertices >= raw.file_bytes / 8)
    bad(offsetof(raw_header, vertices), fmt::format("{} vertices are more than a file of {} bytes can hold", raw.vertices, raw.file_bytes));
  bool const packed = raw.flags & flag_packed;
  if (!packed && raw.edges > raw.file_bytes / raw.id_bytes)
    bad(offsetof(raw_header, edges), fmt::format("{} edges are more than a file of {} bytes can hold", raw.edges, raw.file_bytes));
  if (packed && raw.edges / 8 > raw.file_bytes)  // a directory has 4 bytes per 32 edges
    bad(offsetof(raw_header, edges),
        fmt::format("{} compressed edges are more than a file of {} bytes can hold", raw.edges, raw.file_bytes));
  if (packed && raw.id_bytes != 4) bad(offsetof(raw_header, id_bytes), fmt::format("compressed ids of {} bytes; must be 4", raw.id_bytes));
  bool const weighted = raw.weights != 0;
  std::uint64_t const* const words = &raw.words.out_targets;
  for (std::size_t k = 0; k < 4; ++k) {
    bool const there = packed && (k < 2 || in_edges) && (k % 2 == 0 || weighted);
    if (words[k] > raw.file_bytes / 4 || there != (words[k] != 0))
      bad(offsetof(raw_header, words) + k * 8, fmt::format("{} words of codes do not go with the flags or the file's size", words[k]));
  }
  if (raw.cached_neighbors > cached_neighbors_view::most ||
      (raw.flags & flag_cached_neighbors ? raw.cached_neighbors == 0 : raw.cached_neighbors != 0))
    bad(offsetof(raw_header, cached_neighbors), fmt::format("{} cached neighbors per vertex do not go with the flags; 1 to {} are possible",
                                                            raw.cached_neighbors, cached_neighbors_view::most));
  if (raw.edges && !raw.vertices) bad(offsetof(raw_header, edges), fmt::format("{} edges but no vertex", raw.edges));
  if (raw.id_bytes == 4 && raw.vertices > std::numeric_limits<std::uint32_t>::max())
    bad(offsetof(raw_header, id_bytes), fmt::format("{} vertices need ids of 8 bytes", raw.vertices));
  if (id_map ? raw.id_base != 0 : raw.id_base > std::numeric_limits<std::uint64_t>::max() - raw.vertices)
    bad(offsetof(raw_header, id_base),
        fmt::format("the first id {} does not go with {}", raw.id_base, id_map ? "an id map" : "so many vertices"));

  container_header header;
  header.info = {raw.vertices,
                 raw.edges,
                 raw.id_bytes,
                 static_cast<weight_kind>(raw.weights),
                 directed,
                 in_edges,
                 id_map,
                 raw.id_base,
                 static_cast<vertex_order>(reordered ? raw.order : 0),
                 packed,
                 raw.names_digest,
                 turned};
  header.words = raw.words;
  header.cached_neighbors = static_cast<std::uint32_t>(raw.cached_neighbors);
  header.version = raw.version;
  header.file_bytes = raw.file_bytes;
  header.sections = layout(header.info, header.words, header.cached_neighbors);
  if (raw.sections != header.sections.size()) {
    for (std::uint32_t i = 0; i < std::min(raw.sections, max_sections); ++i)
      if (std::uint32_t const kind = raw.table[i].kind; kind == 0 || kind >= section_names.size())
        bad(offsetof(raw_header, table) + i * sizeof(raw_section),
            fmt::format("unknown section of kind {}, perhaps of a newer Garner", kind));
    bad(offsetof(raw_header, sections), fmt::format("{} sections where such a graph has {}", raw.sections, header.sections.size()));
  }
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    raw_section const& r = raw.table[i];
    container_section& s = header.sections[i];
    std::size_t const at = offsetof(raw_header, table) + i * sizeof(raw_section);
    auto const same = [&](std::size_t byte, char const* what, std::uint64_t is, std::uint64_t expected) {
      if (is != expected)
        bad(at + byte, fmt::format("section {} ('{}'): {} {} where the counts require {}", i, s.name, what, is, expected));
    };
    same(offsetof(raw_section, kind), "kind", r.kind, static_cast<std::uint32_t>(s.kind));
    same(offsetof(raw_section, element_bytes), "element bytes", r.element_bytes, s.element_bytes);
    if (r.offset > raw.file_bytes || r.bytes > raw.file_bytes - r.offset)
      bad(at + offsetof(raw_section, offset),
          fmt::format("section {} ('{}'): {} bytes at {} pass the end of the file at {}", i, s.name, r.bytes, r.offset, raw.file_bytes));
    same(offsetof(raw_section, offset), "offset", r.offset, s.offset);
    same(offsetof(raw_section, bytes), "bytes", r.bytes, s.bytes);
    s.checksum = r.checksum;
  }
  if (std::uint64_t const end = end_of(header.sections); end != raw.file_bytes)
    bad(offsetof(raw_header, file_bytes), fmt::format("the file has {} bytes but its sections end at {}", raw.file_bytes, end));
  auto const zero = [&](std::size_t begin, std::size_t end) {
    auto const* p = reinterpret_cast<unsigned char const*>(&raw);
    for (std::size_t i = begin; i < end; ++i)
      if (p[i]) bad(i, fmt::format("a reserved byte is {:#x}, perhaps of a newer Garner", p[i]));
  };
  zero(reordered ? offsetof(raw_header, reserved0) : offsetof(raw_header, order), offsetof(raw_header, words));
  zero(offsetof(raw_header, reserved), offsetof(raw_header, table));
  for (std::size_t i = 0; i < max_sections; ++i) {
    std::size_t const at = offsetof(raw_header, table) + i * sizeof(raw_section);
    zero(at + (i < header.sections.size() ? offsetof(raw_section, reserved) : 0), at + sizeof(raw_section));
  }
  zero(offsetof(raw_header, unused), offsetof(raw_header, checksum));
  return header;
}

}  // namespace garner::container

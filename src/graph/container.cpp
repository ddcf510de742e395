// The container file: a header of one page with the section table, then each array of the graph as a section on a page boundary.
// Invariant: the counts and flags of the header determine the section table entirely (layout()), so a reader compares it field by field and
// allocates nothing that the file's true size does not bear out; every byte of the file is under a checksum or must be zero.
// Cost: each byte is read once, in blocks that are hashed and checked while they are warm in the cache, by all threads of the crew.
#include "graph/container.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>

#include "core/crew.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"
#include "graph/hint_view.hpp"
#include "graph/pack.hpp"

namespace garner {

static_assert(std::endian::native == std::endian::little, "the container is little-endian and its arrays are used as they lie in the file");

namespace {

constexpr std::uint32_t version_now = 1;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t block = 4u << 20;   // what one checksum of the tree covers, and what one thread reads at a time
constexpr std::uint64_t batch = 16u << 20;  // what goes through a bounce buffer at a time
constexpr std::uint32_t max_sections = 61;
// A byte that is no text, both kinds of line end and an end-of-file mark: what a transfer as text would change.
constexpr std::array<unsigned char, 8> magic_bytes{0x89, 'G', 'N', 'R', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t flag_directed = 1, flag_in_lists = 2, flag_id_map = 4, flag_reordered = 8, flag_packed = 16, flag_hints = 32,
                        flags_known = 63;
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
                                                    "hints"};

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
  std::uint64_t hints, reserved[2];
  raw_section table[max_sections];
  std::uint64_t unused[7], checksum;
};
static_assert(sizeof(raw_section) == 64 && sizeof(raw_header) == page && offsetof(raw_header, table) == 128);
static_assert(offsetof(raw_header, checksum) == page - 8);

constexpr std::uint64_t on_page(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }
constexpr std::uint64_t blocks_of(std::uint64_t bytes) { return (bytes + block - 1) / block; }
std::uint64_t header_checksum(raw_header const& raw) { return XXH3_64bits(&raw, offsetof(raw_header, checksum)); }
// A section's checksum: over the checksums of its blocks, so that they can be computed in any order.
std::uint64_t tree_checksum(std::vector<std::uint64_t> const& of_blocks) { return XXH3_64bits(of_blocks.data(), of_blocks.size() * 8); }

// Where the sections of such a graph lie; the end of the last is the size of the file. The counts must not overflow: see parse().
std::vector<container_section> layout(graph_info const& info, packed_words const& words, std::uint64_t hints) {
  std::vector<container_section> all;
  std::uint64_t at = page;
  auto const add = [&](section_kind kind, std::uint64_t elements, std::uint64_t element_bytes) {
    all.push_back({kind, section_names[static_cast<std::size_t>(kind)], at, elements * element_bytes, element_bytes, 0});
    at = on_page(at + elements * element_bytes);
  };
  bool const weighted = info.weights != weight_kind::none, plain = !info.packed;
  add(section_kind::out_offsets, info.vertices + 1, 8);
  if (plain) add(section_kind::out_targets, info.edges, info.id_bytes);
  if (plain && weighted) add(section_kind::out_weights, info.edges, 4);
  if (info.in_lists) {
    add(section_kind::in_offsets, info.vertices + 1, 8);
    if (plain) add(section_kind::in_targets, info.edges, info.id_bytes);
    if (plain && weighted) add(section_kind::in_weights, info.edges, 4);
  }
  if (info.id_map) add(section_kind::ids, info.vertices, 8);
  if (info.order != vertex_order::natural) add(section_kind::by_id, info.vertices, info.id_bytes);
  if (info.packed) {
    auto const add_packed = [&](section_kind first, std::uint64_t codes) {
      auto const kind = static_cast<std::uint32_t>(first);
      std::uint64_t const blocks = (info.edges + packed_directory::values_a_block - 1) / packed_directory::values_a_block;
      add(first, codes, 4);
      add(static_cast<section_kind>(kind + 1), blocks + 1, 4);
      add(static_cast<section_kind>(kind + 2), blocks / packed_directory::blocks_a_group + 1, 8);
    };
    add_packed(section_kind::out_target_words, words.out_targets);
    if (weighted) add_packed(section_kind::out_weight_words, words.out_weights);
    if (info.in_lists) add_packed(section_kind::in_target_words, words.in_targets);
    if (info.in_lists && weighted) add_packed(section_kind::in_weight_words, words.in_weights);
  }
  if (hints) add(section_kind::hints, hint_view::words_of(info.vertices, hints), 4);
  return all;
}
std::uint64_t end_of(std::vector<container_section> const& sections) { return on_page(sections.back().offset + sections.back().bytes); }

// --- reading -----------------------------------------------------------------------------------------------------------------------

class input_file {
 public:
  explicit input_file(std::filesystem::path const& path) : name_(path.string()) {
    fd_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe that nobody writes to must not hang
    if (fd_ < 0) fail(errc::io, "{}: cannot be opened: {}; check the name and its permissions", name_, std::strerror(errno));
    struct ::stat status {};
    int const failed = ::fstat(fd_, &status);
    if (failed != 0 || !S_ISREG(status.st_mode)) {
      ::close(fd_);
      fail(errc::io, "{}: is {}; a container is read from a regular file", name_,
           S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
    }
    bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~input_file() { ::close(fd_); }
  input_file(input_file const&) = delete;
  input_file& operator=(input_file const&) = delete;

  void read(std::uint64_t at, void* to, std::uint64_t bytes) const {
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
  std::string const& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::string name_;
  std::uint64_t bytes_ = 0;
  int fd_ = -1;
};

container_header parse(input_file const& file) {
  std::string const& name = file.name();
  raw_header raw{};
  std::uint64_t const have = std::min(file.bytes(), page);
  file.read(0, &raw, have);
  if (have == 0) fail(errc::input, "{}: is empty; a container begins with a header of {} bytes", name, page);
  if (std::uint64_t const n = std::min<std::uint64_t>(have, 8); std::memcmp(&raw, magic_bytes.data(), n) != 0) {
    if (std::memcmp(reinterpret_cast<char const*>(&raw) + 1, "GNR", std::min<std::uint64_t>(have - 1, 3)) == 0 && have > 3)
      fail(errc::input, "{}: byte 0: the mark of a container is damaged, as by a transfer as text; copy the file again in binary", name);
    fail(errc::input, "{}: byte 0: is not a Garner container; make one with `garner convert {} OUT.gnr`", name, name);
  }
  if (have < page) fail(errc::input, "{}: ends at byte {}, within the header of {} bytes; copy or convert it again", name, have, page);
  if (raw.version != version_now)
    fail(errc::input, "{}: byte 8: is a container of version {}, this Garner reads version {}; use the Garner that wrote it", name,
         raw.version, version_now);
  if (std::uint64_t const sum = header_checksum(raw); sum != raw.checksum)
    fail(errc::input,
         "{}: byte {}: the header's checksum is {:016x} but its bytes give {:016x}; the file is damaged, copy or convert it again", name,
         offsetof(raw_header, checksum), raw.checksum, sum);
  // From here on the header is what its writer wrote: what is wrong now is the writer's fault, or a later Garner's.
  auto const bad = [&](std::size_t byte, std::string const& what) {
    fail(errc::input, "{}: byte {}: {}; convert it again", name, byte, what);
  };
  if (raw.header_bytes != page)
    bad(offsetof(raw_header, header_bytes), fmt::format("the header has {} bytes, not {}", raw.header_bytes, page));
  if (raw.file_bytes != file.bytes())
    fail(errc::input, "{}: byte {}: the header tells of {} bytes but the file has {}; it was {}, copy it again", name,
         offsetof(raw_header, file_bytes), raw.file_bytes, file.bytes(), file.bytes() < raw.file_bytes ? "cut short" : "added to");
  if (raw.id_bytes != 4 && raw.id_bytes != 8)
    bad(offsetof(raw_header, id_bytes), fmt::format("vertex ids of {} bytes; 4 or 8 are possible", raw.id_bytes));
  if (raw.weights > 2) bad(offsetof(raw_header, weights), fmt::format("unknown kind of weights {}", raw.weights));
  if (raw.flags & ~flags_known)
    bad(offsetof(raw_header, flags), fmt::format("unknown flags {:#x}, perhaps of a newer Garner", raw.flags & ~flags_known));
  bool const directed = raw.flags & flag_directed, in_lists = raw.flags & flag_in_lists, id_map = raw.flags & flag_id_map;
  if (in_lists && !directed) bad(offsetof(raw_header, flags), "in-lists of an undirected graph");
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
  if (packed && raw.edges / 8 > raw.file_bytes)  // a directory of 4 bytes for 32 edges
    bad(offsetof(raw_header, edges), fmt::format("{} packed edges are more than a file of {} bytes can hold", raw.edges, raw.file_bytes));
  if (packed && raw.id_bytes != 4) bad(offsetof(raw_header, id_bytes), fmt::format("packed ids of {} bytes; 4 are possible", raw.id_bytes));
  bool const weighted = raw.weights != 0;
  std::uint64_t const* const words = &raw.words.out_targets;
  for (std::size_t k = 0; k < 4; ++k) {
    bool const there = packed && (k < 2 || in_lists) && (k % 2 == 0 || weighted);
    if (words[k] > raw.file_bytes / 4 || there != (words[k] != 0))
      bad(offsetof(raw_header, words) + k * 8, fmt::format("{} words of codes do not go with the flags or the file's size", words[k]));
  }
  if (raw.hints > hint_view::most || (raw.flags & flag_hints ? raw.hints == 0 : raw.hints != 0))
    bad(offsetof(raw_header, hints),
        fmt::format("{} hints a vertex do not go with the flags; 1 to {} are possible", raw.hints, hint_view::most));
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
                 in_lists,
                 id_map,
                 raw.id_base,
                 static_cast<vertex_order>(reordered ? raw.order : 0),
                 packed};
  header.words = raw.words;
  header.hints = static_cast<std::uint32_t>(raw.hints);
  header.version = raw.version;
  header.file_bytes = raw.file_bytes;
  header.sections = layout(header.info, header.words, header.hints);
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
        bad(at + byte, fmt::format("section {} ('{}'): {} {} where the counts ask for {}", i, s.name, what, is, expected));
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

// --- the invariants of CSR ---------------------------------------------------------------------------------------------------------

// Several threads look at parts of an array; the fault at the lowest index is the one that is told, so that the message does not depend on
// which thread was first.
class first_fault {
 public:
  void note(std::uint64_t index, std::string what) {
    std::lock_guard const hold(mutex_);
    if (index < index_) index_ = index, what_ = std::move(what);
  }
  void tell(std::string const& where) const {
    if (!what_.empty()) fail(errc::input, "{}: {}; convert the graph again", where, what_);
  }

 private:
  std::mutex mutex_;
  std::uint64_t index_ = std::numeric_limits<std::uint64_t>::max();
  std::string what_;
};

// " (byte 4104)" of element i where the array lies in a file.
std::string at_byte(container_section const* s, std::uint64_t i) {
  return s ? fmt::format(" (byte {})", s->offset + i * s->element_bytes) : "";
}

void check_offsets(graph_info const& info, std::uint64_t const* offsets, std::string const& where, container_section const* s) {
  std::uint64_t const n = info.vertices;
  if (offsets[0] != 0) fail(errc::input, "{}: offset 0{} is {}, not 0; convert the graph again", where, at_byte(s, 0), offsets[0]);
  first_fault fault;
  shared_crew().run(n, 1u << 19, [&](std::uint64_t begin, std::uint64_t end) {
    bool down = false;  // no early exit: this way it runs at the speed of memory
    for (std::uint64_t i = begin; i < end; ++i) down |= offsets[i + 1] < offsets[i];
    if (!down) return;
    while (offsets[begin + 1] >= offsets[begin]) ++begin;
    fault.note(begin,
               fmt::format("offset {}{} goes down from {} to {}", begin + 1, at_byte(s, begin + 1), offsets[begin], offsets[begin + 1]));
  });
  fault.tell(where);
  if (offsets[n] != info.edges)
    fail(errc::input, "{}: the last offset{} is {} but there are {} edges; convert the graph again", where, at_byte(s, n), offsets[n],
         info.edges);
}

// Checks targets block by block as they pass, against offsets that are known to be good.
class target_check {
 public:
  target_check(graph_info const& info, std::uint64_t const* offsets, container_section const* s, std::uint64_t block_bytes = block)
      : info_(info),
        offsets_(offsets),
        section_(s),
        block_(block_bytes),
        ends_((info.edges * info.id_bytes + block_bytes - 1) / block_bytes) {}

  // Block number `index`, which holds `bytes` bytes; from any thread.
  void operator()(std::uint64_t index, void const* data, std::uint64_t bytes) {
    with_id_type(info_, [&](auto id) { look(index, static_cast<decltype(id) const*>(data), bytes / sizeof id); });
  }
  void finish(std::string const& where) {
    std::uint64_t const per_block = block_ / info_.id_bytes;
    for (std::uint64_t k = 1; k < ends_.size(); ++k)
      if (ends_[k - 1].last > ends_[k].first && !std::binary_search(offsets_, offsets_ + info_.vertices + 1, k * per_block))
        unsorted(k * per_block);
    fault_.tell(where);
  }

 private:
  struct end_targets {
    std::uint64_t first = 0, last = 0;
  };

  template <class Id>
  void look(std::uint64_t index, Id const* t, std::uint64_t n) {
    std::uint64_t const base = index * (block_ / sizeof(Id));
    ends_[index] = {t[0], t[n - 1]};
    Id top = 0;
    for (std::uint64_t i = 0; i < n; ++i) top = std::max(top, t[i]);
    if (top >= info_.vertices) {
      std::uint64_t i = 0;
      while (t[i] < info_.vertices) ++i;
      fault_.note(base + i, fmt::format("edge {}{} leads to vertex {} but there are {} vertices", base + i, at_byte(section_, base + i),
                                        t[i], info_.vertices));
    }
    std::uint64_t v = static_cast<std::uint64_t>(std::upper_bound(offsets_, offsets_ + info_.vertices + 1, base) - offsets_) - 1;
    for (std::uint64_t e = 0; e < n; ++v) {
      std::uint64_t const end = std::min(n, offsets_[v + 1] - base);
      bool sorted = true;
      for (std::uint64_t i = e + 1; i < end; ++i) sorted &= t[i - 1] <= t[i];
      if (!sorted) return unsorted(base + static_cast<std::uint64_t>(std::is_sorted_until(t + e, t + end) - t));
      e = std::max(e, end);
    }
  }
  void unsorted(std::uint64_t edge) {
    fault_.note(edge, fmt::format("edge {}{} breaks the ascending order of its list", edge, at_byte(section_, edge)));
  }

  graph_info const& info_;
  std::uint64_t const* offsets_;
  container_section const* section_;
  std::uint64_t block_;
  std::vector<end_targets> ends_;  // of each block: where two blocks meet is looked at last
  first_fault fault_;
};

// Once around: `by_id` leads to ids that ascend, so no vertex stands in it twice, so all do, and no id is given twice.
template <class Id>
void check_by_id(std::uint64_t const* ids, Id const* by_id, std::uint64_t n, std::string const& where, container_section const& s) {
  first_fault fault;
  shared_crew().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t last = 0;
    for (std::uint64_t i = begin ? begin - 1 : 0; i < end; ++i) {
      if (by_id[i] >= n)
        return fault.note(i, fmt::format("entry {}{} is vertex {} but there are {} vertices", i, at_byte(&s, i), by_id[i], n));
      std::uint64_t const id = ids[by_id[i]];
      if (i >= begin && i && id <= last)
        return fault.note(i, fmt::format("entry {}{} leads to the id {} after {}, not ascending", i, at_byte(&s, i), id, last));
      last = id;
    }
  });
  fault.tell(where);
}

void check_ids(std::uint64_t const* ids, std::uint64_t n, std::string const& where, container_section const& s) {
  first_fault fault;
  shared_crew().run(n ? n - 1 : 0, 1u << 19, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      if (ids[i + 1] <= ids[i]) {
        fault.note(i, fmt::format("id {}{} is {} after {}, not ascending", i + 1, at_byte(&s, i + 1), ids[i + 1], ids[i]));
        return;
      }
  });
  fault.tell(where);
}

// --- sections ----------------------------------------------------------------------------------------------------------------------

// Two pinned buffers that take turns: while one is copied to the device the other is filled from the file.
struct bounce {
  bounce(int on_device, std::uint64_t bytes) : device(on_device) {
    for (auto& m : memory) m = memory_block(tier::host, bytes, device, "bounce buffers of the loader");
    if (device >= 0)
      for (auto& s : stream) s = device::make_stream(device);
  }
  ~bounce() {
    for (void* s : stream)
      if (s) {
        try {
          device::wait(device, s);  // after an error a copy may still read the memory that is about to go
        } catch (...) {
        }
        device::free_stream(device, s);
      }
  }
  bounce(bounce const&) = delete;
  bounce& operator=(bounce const&) = delete;

  int device;
  std::array<memory_block, 2> memory;
  std::array<void*, 2> stream{};
};

class section_reader {
 public:
  // Called for each block as it passes, from any thread.
  using block_check = std::function<void(std::uint64_t index, void const* data, std::uint64_t bytes)>;

  explicit section_reader(std::filesystem::path const& path) : file(path), header(parse(file)) {}

  container_section const* find(section_kind kind) const {
    for (auto const& s : header.sections)
      if (s.kind == kind) return &s;
    return nullptr;
  }
  std::string where(container_section const& s) const { return file.name() + ": " + s.name; }

  // `to` is memory that the host reads; null with on_device: goes to `far` there; null without: only looked at.
  void read(container_section const& s, void* to, bool check, block_check const& look = {}, int on_device = -1, void* far = nullptr) {
    static counter loaded{"container.bytes_read"};
    std::vector<std::uint64_t> sums(blocks_of(s.bytes));
    std::optional<bounce> between;
    if (!to && s.bytes) between.emplace(on_device, std::min(batch, s.bytes));
    std::uint64_t const step = to ? s.bytes : batch;
    for (std::uint64_t begin = 0, turn = 0; begin < s.bytes; begin += step, turn ^= 1) {
      std::uint64_t const bytes = std::min(step, s.bytes - begin);
      if (on_device >= 0 && between) device::wait(on_device, between->stream[turn]);
      auto* const at = static_cast<std::byte*>(to ? to : between->memory[turn].data());
      shared_crew().run(blocks_of(bytes), 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t k = first; k < last; ++k) {
          std::byte* const data = at + k * block;
          std::uint64_t const n = std::min(block, bytes - k * block), index = begin / block + k;
          file.read(s.offset + begin + k * block, data, n);
          if (check) sums[index] = XXH3_64bits(data, n);
          if (look) look(index, data, n);
          bar->advance(n);
        }
      });
      if (on_device >= 0 && between) device::copy(on_device, between->stream[turn], static_cast<std::byte*>(far) + begin, at, bytes);
    }
    if (on_device >= 0 && between)
      for (void* stream : between->stream) device::wait(on_device, stream);
    loaded.add(s.bytes);
    if (!check) return;
    if (std::uint64_t const sum = tree_checksum(sums); sum != s.checksum)
      fail(errc::input,
           "{} (bytes {} to {}): the header gives the checksum {:016x} but the data have {:016x}; the file is damaged, copy or convert it "
           "again",
           where(s), s.offset, s.offset + s.bytes, s.checksum, sum);
    std::array<unsigned char, page> padding;
    std::uint64_t const end = s.offset + s.bytes, n = on_page(end) - end;
    file.read(end, padding.data(), n);
    for (std::uint64_t i = 0; i < n; ++i)
      if (padding[i])
        fail(errc::input,
             "{}: byte {}: is {:#x} in the padding after '{}', which must be zero; the file is damaged, copy or convert it again",
             file.name(), end + i, padding[i], s.name);
  }

  // One direction of the edges; without `keep` targets and weights are only looked at.
  edge_lists read_lists(bool in, load_options const& how, bool keep) {
    auto const kind = [&](section_kind out) { return static_cast<section_kind>(static_cast<std::uint32_t>(out) + (in ? 3 : 0)); };
    graph_info const& info = header.info;
    edge_lists lists;
    lists.offsets = read_offsets(*find(kind(section_kind::out_offsets)), how.check);
    auto const load = [&](container_section const& s, memory_block& to, section_reader::block_check const& look) {
      if (keep) to = memory_block(how.edges, s.bytes, how.device, s.name.c_str());
      bool const far = keep && in_device_memory(how.edges);
      read(s, far ? nullptr : to.data(), how.check, look, far ? how.device : -1, to.data());
    };
    if (info.packed) {
      read_packed(lists, in, how, keep);
      return lists;
    }
    container_section const& targets = *find(kind(section_kind::out_targets));
    target_check check(info, lists.offsets.data(), &targets);
    load(targets, lists.targets, std::ref(check));
    check.finish(where(targets));
    if (how.weights) load(*find(kind(section_kind::out_weights)), lists.weights, {});
    return lists;
  }
  // Codes and their directory; unless they are kept, they are released after the check, which needs them whole.
  void read_packed(edge_lists& lists, bool in, load_options const& how, bool keep) {
    auto const kind = [&](section_kind out, int k) {
      return static_cast<section_kind>(static_cast<std::uint32_t>(out) + (in ? 6 : 0) + static_cast<std::uint32_t>(k));
    };
    bool const far = keep && in_device_memory(how.edges);
    auto const load = [&](packed_array& to, section_kind first) {
      container_section const &words = *find(kind(first, 0)), &blocks = *find(kind(first, 1)), &groups = *find(kind(first, 2));
      to.blocks = buffer<std::uint32_t>(tier::host, blocks.bytes / 4, how.device, blocks.name.c_str());
      to.groups = buffer<std::uint64_t>(tier::host, groups.bytes / 8, how.device, groups.name.c_str());
      to.words = memory_block(keep && !far ? how.edges : tier::host, words.bytes, how.device, words.name.c_str());
      read(blocks, to.blocks.data(), how.check);
      read(groups, to.groups.data(), how.check);
      read(words, to.words.data(), how.check);
      check_directory(to, header.info.edges, where(words));
      return &words;
    };
    container_section const* const codes = load(lists.packed_targets, section_kind::out_target_words);
    constexpr std::uint64_t step = 1u << 14;  // decoded at a time: little beside the file, and near
    target_check check(header.info, lists.offsets.data(), nullptr, step * 4);
    shared_crew().run((header.info.edges + step - 1) / step, 64, [&](std::uint64_t first, std::uint64_t last) {
      std::vector<std::uint32_t> values(step);
      for (std::uint64_t k = first; k < last; ++k) {
        std::uint64_t const begin = k * step, end = std::min(header.info.edges, begin + step);
        each_in_turn(lists.packed_targets.view(), begin, end,
                     [&](std::uint32_t v, std::uint64_t i) { return values[i - begin] = v, false; });
        check(k, values.data(), (end - begin) * 4);
      }
    });
    check.finish(where(*codes));
    if (how.weights) load(lists.packed_weights, section_kind::out_weight_words);
    if (!far) return;
    for (packed_array* p : {&lists.packed_targets, &lists.packed_weights}) {
      if (p->empty()) continue;
      memory_block there(how.edges, p->words.bytes(), how.device, "packed lists");
      void* const stream = device::make_stream(how.device);
      device::copy(how.device, stream, there.data(), p->words.data(), there.bytes());
      device::wait(how.device, stream);
      device::free_stream(how.device, stream);
      p->words = std::move(there);
    }
  }
  buffer<std::uint32_t> read_hints(bool check) {
    container_section const& s = *find(section_kind::hints);
    buffer<std::uint32_t> hints(tier::host, s.bytes / 4, -1, "hints");
    read(s, hints.data(), check);
    hint_view const view(hints.data(), header.info.vertices, header.hints);
    for (std::uint64_t v = 0; v < header.info.vertices; ++v)
      for (std::uint32_t k = 0; k < view.per_vertex; ++k)
        if (std::uint32_t const u = view.at(v, k); u >= header.info.vertices && u != hint_view::none)
          fail(errc::input, "{}: hint {} of vertex {} (byte {}) is vertex {} but there are {} vertices; convert the graph again", where(s),
               k, v, s.offset + (view.narrow ? v * 12 + k * 3 : (v * view.per_vertex + k) * 4), u, header.info.vertices);
    return hints;
  }
  buffer<std::uint64_t> read_offsets(container_section const& s, bool check) {
    buffer<std::uint64_t> offsets(tier::host, s.bytes / 8, -1, "offsets");
    read(s, offsets.data(), check);
    check_offsets(header.info, offsets.data(), where(s), &s);
    return offsets;
  }
  buffer<std::uint64_t> read_ids(bool check) {
    container_section const& s = *find(section_kind::ids);
    buffer<std::uint64_t> ids(tier::host, header.info.vertices, -1, "ids");
    read(s, ids.data(), check);
    if (check && header.info.order == vertex_order::natural) check_ids(ids.data(), ids.size(), where(s), s);
    return ids;
  }
  memory_block read_by_id(buffer<std::uint64_t> const& ids, bool check) {
    container_section const& s = *find(section_kind::by_id);
    memory_block by_id(tier::host, s.bytes, -1, "ids");
    read(s, by_id.data(), check);
    // In any case, since it says where in memory an id is looked for.
    with_id_type(header.info, [&](auto id) {
      check_by_id(ids.data(), static_cast<decltype(id) const*>(by_id.data()), header.info.vertices, where(s), s);
    });
    return by_id;
  }

  input_file file;
  container_header header;
  std::optional<progress> bar;  // from when it is known how much will be read
};

}  // namespace

container_header read_header(std::filesystem::path const& file) { return parse(input_file(file)); }

graph load_graph(std::filesystem::path const& file, load_options const& how) {
  phase const timed{"container.load"};
  if (how.edges == tier::file)
    fail(errc::usage, "{}: edges cannot be loaded into the tier '{}'; name host, managed, device or peer", file.string(),
         to_string(how.edges));
  if (in_device_memory(how.edges)) device::require(how.device);
  section_reader reader(file);
  graph g;
  g.name = reader.file.name();
  g.info = reader.header.info;
  g.checked = how.check;
  if (how.in_lists && g.info.directed && !g.info.in_lists)
    fail(errc::input, "{}: has no in-lists; add them with `garner convert --in-lists`", g.name);
  if (how.weights && g.info.weights == weight_kind::none)
    fail(errc::input,
         "{}: has no weights; convert the graph again from a weighted file, or draw them with `garner convert --weights 1:255`", g.name);
  g.info.in_lists = g.info.in_lists && how.in_lists;
  if (!how.weights) g.info.weights = weight_kind::none;
  std::uint64_t wanted = 0;
  for (auto const& s : layout(g.info, reader.header.words, reader.header.hints)) wanted += s.bytes;
  reader.bar.emplace("loading", wanted);
  if (g.info.id_map) g.ids = reader.read_ids(how.check);
  if (how.hints && reader.header.hints) g.hints = reader.read_hints(how.check), g.hints_per_vertex = reader.header.hints;
  if (g.info.order != vertex_order::natural) g.by_id = reader.read_by_id(g.ids, how.check);
  g.out = reader.read_lists(false, how, true);
  if (g.info.in_lists) g.in = reader.read_lists(true, how, true);
  return g;
}

buffer<std::uint64_t> load_offsets(std::filesystem::path const& file, bool of_in_lists, bool check) {
  section_reader reader(file);
  container_section const* s = reader.find(of_in_lists ? section_kind::in_offsets : section_kind::out_offsets);
  if (!s) fail(errc::input, "{}: has no in-lists; add them with `garner convert --in-lists`", file.string());
  reader.bar.emplace("loading", s->bytes);
  return reader.read_offsets(*s, check);
}

void check_container(std::filesystem::path const& file) {
  section_reader reader(file);
  reader.bar.emplace("checking", reader.header.file_bytes);
  load_options how;
  how.weights = reader.header.info.weights != weight_kind::none;
  if (reader.header.info.id_map) {
    auto const ids = reader.read_ids(true);
    if (reader.header.info.order != vertex_order::natural) reader.read_by_id(ids, true);
  }
  if (reader.header.hints) reader.read_hints(true);
  reader.read_lists(false, how, false);
  if (reader.header.info.in_lists) reader.read_lists(true, how, false);
}

void save_graph(graph const& g, std::filesystem::path const& file) {
  phase const timed{"container.save"};
  auto const words_of = [](packed_array const& a) { return a.words.bytes() / 4; };
  packed_words const words{words_of(g.out.packed_targets), words_of(g.out.packed_weights), words_of(g.in.packed_targets),
                           words_of(g.in.packed_weights)};
  std::vector<container_section> sections = layout(g.info, words, g.hints_per_vertex);
  // In the order of section_kind, which is that of the file.
  struct source {
    void const* data;
    std::uint64_t bytes;
    tier where;
  };
  auto const of = [](auto const& b) { return source{b.data(), b.bytes(), b.where()}; };
  std::array<source, section_names.size()> sources{source{},          of(g.out.offsets), of(g.out.targets),
                                                   of(g.out.weights), of(g.in.offsets),  of(g.in.targets),
                                                   of(g.in.weights),  of(g.ids),         of(g.by_id)};
  auto at = static_cast<std::size_t>(section_kind::out_target_words);
  for (packed_array const* p : {&g.out.packed_targets, &g.out.packed_weights, &g.in.packed_targets, &g.in.packed_weights})
    sources[at++] = of(p->words), sources[at++] = of(p->blocks), sources[at++] = of(p->groups);
  sources[static_cast<std::size_t>(section_kind::hints)] = of(g.hints);
  for (auto const& s : sections) {
    source const& from = sources[static_cast<std::size_t>(s.kind)];
    if (from.bytes < s.bytes)
      fail(errc::internal, "{}: '{}' of the graph has {} bytes where its counts ask for {}", file.string(), s.name, from.bytes, s.bytes);
    if (s.bytes && in_device_memory(from.where))
      fail(errc::usage, "{}: '{}' lies on a device; load the graph into host memory to save it", file.string(), s.name);
  }
  std::uint64_t const end = end_of(sections);
  pending_file out(file);
  progress bar("writing", end - page);
  static constexpr std::array<std::byte, page> zeros{};
  for (auto& s : sections) {
    auto const* const data = static_cast<std::byte const*>(sources[static_cast<std::size_t>(s.kind)].data);
    std::vector<std::uint64_t> sums(blocks_of(s.bytes));
    shared_crew().run(sums.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t k = first; k < last; ++k) {
        std::uint64_t const n = std::min(block, s.bytes - k * block);
        sums[k] = XXH3_64bits(data + k * block, n);
        out.write_at(s.offset + k * block, data + k * block, n);
        bar.advance(n);
      }
    });
    s.checksum = tree_checksum(sums);
    std::uint64_t const tail = s.offset + s.bytes;
    out.write_at(tail, zeros.data(), on_page(tail) - tail);
  }
  raw_header raw{};
  raw.magic = magic_bytes;
  raw.version = version_now;
  raw.header_bytes = page;
  raw.file_bytes = end;
  raw.vertices = g.info.vertices;
  raw.edges = g.info.edges;
  raw.id_bytes = g.info.id_bytes;
  raw.weights = static_cast<std::uint32_t>(g.info.weights);
  raw.flags = (g.info.directed ? flag_directed : 0) | (g.info.in_lists ? flag_in_lists : 0) | (g.info.id_map ? flag_id_map : 0) |
              (g.info.order != vertex_order::natural ? flag_reordered : 0) | (g.info.packed ? flag_packed : 0) |
              (g.hints_per_vertex ? flag_hints : 0);
  raw.order = static_cast<std::uint32_t>(g.info.order);
  raw.words = words;
  raw.hints = g.hints_per_vertex;
  raw.sections = static_cast<std::uint32_t>(sections.size());
  raw.id_base = g.info.id_map ? 0 : g.info.id_base;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    auto const& s = sections[i];
    raw.table[i] = {static_cast<std::uint32_t>(s.kind), static_cast<std::uint32_t>(s.element_bytes), s.offset, s.bytes, s.checksum, {}};
  }
  raw.checksum = header_checksum(raw);
  out.write_at(0, &raw, sizeof raw);
  out.commit();
}

void check_csr(graph_info const& info, std::uint64_t const* offsets, void const* targets, std::string const& where) {
  check_offsets(info, offsets, where, nullptr);
  target_check check(info, offsets, nullptr);
  std::uint64_t const bytes = info.edges * info.id_bytes;
  shared_crew().run(blocks_of(bytes), 1, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t k = first; k < last; ++k)
      check(k, static_cast<std::byte const*>(targets) + k * block, std::min(block, bytes - k * block));
  });
  check.finish(where);
}

}  // namespace garner

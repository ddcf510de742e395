#include "shard/packed_chunk.hpp"

#include "core/exec.hpp"
#include "graph/pack.hpp"

namespace garner {

namespace {

constexpr std::uint64_t per_block = packed_directory::values_a_block, per_group = packed_directory::blocks_a_group;
constexpr std::uint64_t stretch = 1024;  // values that a team decompresses

std::uint64_t stretches(indices values) { return (values.end - values.begin / per_block * per_block + stretch - 1) / stretch; }
// Stretch k of some values: it begins with a block.
GARNER_HD span<std::uint32_t> stretch_of(packed_view const& from, indices values, std::uint64_t k) {
  std::uint64_t const first = values.begin / per_block * per_block + k * stretch;
  return {nullptr, larger(values.begin, first), smaller(values.end, first + stretch), true, from};
}

struct unpack_ends {
  packed_view from;
  indices values;
  std::uint32_t* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    t.each(stretch_of(from, values, k), [&](std::uint32_t v, std::uint64_t i) { to[i - values.begin] = v; });
  }
};
struct unpack_items {
  packed_view rows, marks;
  indices values;
  std::uint64_t first_end, ends;
  shard_item* items;
  std::uint64_t* offsets;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    if (k == 0) t.once([&] { offsets[values.end - values.begin] = first_end + ends; });
    t.each(stretch_of(rows, values, k), stretch_of(marks, values, k), [&](std::uint32_t row, std::uint32_t mark, std::uint64_t i) {
      items[i - values.begin] = {row, mark & 1, mark >> 1 & 1, 0};
      offsets[i - values.begin] = first_end + (mark >> 2);
    });
  }
};

// What of an array's codes its values lie in.
struct part_of_codes {
  std::uint64_t block, blocks, group, groups, word, words;
  part_of_codes(packed_directory const& at, indices values)
      : block(values.begin / per_block),
        blocks((values.end + per_block - 1) / per_block - block),
        group(block / per_group),
        groups((block + blocks) / per_group - group + 1),
        word(at.word_of(block)),
        words(at.word_of(block + blocks) - word) {}
};
constexpr std::uint64_t line = 32;  // words: those of a line stay together

// A pointer to element 0 of an array whose elements from `first` on are at `p`.
template <class T>
T const* counted_from(T const* p, std::uint64_t first) {
  return reinterpret_cast<T const*>(reinterpret_cast<std::uintptr_t>(p) - first * sizeof(T));
}

packed_array codes_of(executor& x, std::vector<std::uint32_t> const& values, std::uint64_t const* offsets, std::uint64_t lists, bool far) {
  bool const moves = !far && x.asynchronous();
  packed_array made = pack_values(values.data(), values.size(), offsets, lists, tier::host, moves ? -1 : x.device());
  if (!moves) return made;
  packed_array near;
  near.words = memory_block(x.near(), made.words.bytes(), x.device(), "compressed adjacency of a shard");
  near.blocks = buffer<std::uint32_t>(x.near(), made.blocks.size(), x.device(), "compressed adjacency of a shard");
  near.groups = buffer<std::uint64_t>(x.near(), made.groups.size(), x.device(), "compressed adjacency of a shard");
  x.copy(near.words.data(), made.words.data(), made.words.bytes());
  x.copy(near.blocks.data(), made.blocks.data(), made.blocks.bytes());
  x.copy(near.groups.data(), made.groups.data(), made.groups.bytes());
  x.wait();
  return near;
}

template <class Codes>
packed_view view_of(executor& x, bool far, packed_array const& a, indices values, Codes& to) {
  if (!far || values.begin == values.end) return a.view();
  part_of_codes const p(a.view().at, values);
  x.copy(to.words.data() + p.word % line, static_cast<std::uint32_t const*>(a.words.data()) + p.word, (p.words + 1) * 4);
  x.copy(to.blocks.data(), a.blocks.data() + p.block, (p.blocks + 1) * 4);
  x.copy(to.groups.data(), a.groups.data() + p.group, p.groups * 8);
  return {{counted_from(to.blocks.data(), p.block), counted_from(to.groups.data(), p.group)},
          counted_from(to.words.data(), p.word / line * line)};
}

}  // namespace

packed_chunk::packed_chunk(executor& x, shard_lists::chunk const& from, std::vector<chunk_window> const& windows, bool far) : far_(far) {
  std::uint64_t const n = from.items.size();
  std::vector<std::uint32_t> rows, marks;
  rows.reserve(n), marks.reserve(n);
  std::vector<std::uint64_t> begins;  // of the windows, in which both ascend
  for (chunk_window const& w : windows) {
    begins.push_back(w.item);
    for (std::uint64_t i = w.item; i < w.item + w.items; ++i) {
      shard_item const it = from.items[i];
      rows.push_back(it.row);
      marks.push_back(static_cast<std::uint32_t>(from.offsets[i] - w.end) << 2 | it.ends << 1 | it.begins);
    }
  }
  begins.push_back(n);
  rows_ = codes_of(x, rows, begins.data(), windows.size(), far), marks_ = codes_of(x, marks, begins.data(), windows.size(), far);
  ends_ = codes_of(x, from.ends, from.offsets.data(), n, far);
}

void packed_chunk::room::grow(executor& x, packed_chunk const& c, std::vector<chunk_window> const& windows) {
  if (!c.far_) return;
  auto const grow_to = [&](codes& to, packed_array const& a, auto const& values_of) {
    std::uint64_t words = to.words.size(), blocks = to.blocks.size(), groups = to.groups.size();
    for (chunk_window const& w : windows) {
      part_of_codes const p(a.view().at, values_of(w));
      words = std::max(words, p.words + line), blocks = std::max(blocks, p.blocks + 1), groups = std::max(groups, p.groups);
    }
    auto const make = [&](auto& b, std::uint64_t n) {
      if (n > b.size()) b = {}, b = std::decay_t<decltype(b)>(x.near(), n, x.device(), "codes of a window of lists");
    };
    make(to.words, words), make(to.blocks, blocks), make(to.groups, groups);
  };
  auto const items = [](chunk_window const& w) { return indices{w.item, w.item + w.items}; };
  grow_to(rows_, c.rows_, items), grow_to(marks_, c.marks_, items);
  grow_to(ends_, c.ends_, [](chunk_window const& w) { return indices{w.end, w.end + w.ends}; });
}

void packed_chunk::unpack(executor& x, chunk_window const& w, room& codes, plain const& to) const {
  indices const items{w.item, w.item + w.items}, ends{w.end, w.end + w.ends};
  packed_view const rows = view_of(x, far_, rows_, items, codes.rows_), marks = view_of(x, far_, marks_, items, codes.marks_),
                    of_ends = view_of(x, far_, ends_, ends, codes.ends_);
  for_each_item<32>(x, stretches(items), unpack_items{rows, marks, items, w.end, w.ends, to.items, to.offsets});
  if (w.ends) for_each_item<32>(x, stretches(ends), unpack_ends{of_ends, ends, to.ends});
}

std::uint64_t packed_chunk::most_bytes(std::uint64_t items, std::uint64_t ends, std::uint64_t chunks, std::uint64_t rows,
                                       std::uint64_t vertices, std::uint64_t window) {
  std::uint64_t const more = chunks * per_block;
  return most_packed_bytes(items + more, rows) + most_packed_bytes(items + more, 4 * window + 4) + most_packed_bytes(ends + more, vertices);
}

}  // namespace garner

// Compression: each block of 32 values is measured (three encodings, the smallest wins), a scan assigns positions, then the blocks are
// written. Invariant: unpack_values(pack_values(v)) == v for any values. A partial last block is padded with zero gaps. Cost: two reads of
// the values and one write of the codes, by all threads of the thread pool.
#include "graph/pack.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"

namespace garner {

namespace {

using directory = packed_directory;
constexpr std::uint64_t per_block = directory::values_a_block, per_group = directory::blocks_a_group;

std::uint32_t width_of(std::uint32_t value) { return static_cast<std::uint32_t>(std::bit_width(value)); }

// One decoded block.
struct block_plan {
  std::uint32_t values[per_block];
  std::uint32_t starts = 1, base = 0, gap_bits = 0, start_bits = 0;
  bool mixed = false;

  std::uint32_t words() const {
    auto const n = static_cast<std::uint32_t>(std::popcount(starts));
    std::uint32_t const gaps = gap_bits == directory::all_start ? 0 : gap_bits;
    return (mixed ? 2 : 1) + (n * start_bits + (per_block - n) * gaps + 31) / 32;
  }
};

class block_reader {
 public:
  // `values` start with number `first`.
  block_reader(std::uint32_t const* values, std::uint64_t first, std::uint64_t count, std::uint64_t const* offsets, std::uint64_t vertices)
      : values_(values), first_(first), count_(count), offsets_(offsets), vertices_(vertices) {}

  // Blocks must be requested in ascending order.
  block_plan plan(std::uint64_t b) {
    block_plan p;
    std::uint64_t const begin = b * per_block, end = std::min(count_, begin + per_block);
    std::uint32_t const* const values = values_ + (begin - first_);
    std::uint32_t starts = 1;
    if (offsets_) {
      if (!placed_) {
        next_ = static_cast<std::uint64_t>(std::upper_bound(offsets_, offsets_ + vertices_ + 1, begin) - offsets_);
        placed_ = true;
      }
      for (; next_ <= vertices_ && offsets_[next_] < end; ++next_)
        if (offsets_[next_] >= begin) starts |= 1u << (offsets_[next_] - begin);
    }
    std::uint32_t low = values[0], high = low, start_low = low, start_high = low, gap_high = 0;
    for (std::uint32_t k = 0; k < end - begin; ++k) {
      std::uint32_t const v = values[k];
      p.values[k] = v;
      low = std::min(low, v), high = std::max(high, v);
      if (k && v < values[k - 1]) starts |= 1u << k;
      if (starts >> k & 1) start_low = std::min(start_low, v), start_high = std::max(start_high, v);
      else gap_high = std::max(gap_high, v - values[k - 1]);
    }
    for (std::uint64_t k = end - begin; k < per_block; ++k) p.values[k] = p.values[k - 1];
    // Encodes every value as a start, which needs no mask.
    block_plan all = p;
    all.starts = ~0u, all.base = low, all.gap_bits = directory::all_start, all.start_bits = width_of(high - low);
    p.starts = starts, p.base = start_low, p.gap_bits = width_of(gap_high), p.start_bits = width_of(start_high - start_low);
    p.mixed = starts != 1;
    return offsets_ && p.words() < all.words() ? p : all;
  }

 private:
  std::uint32_t const* values_;
  std::uint64_t first_, count_;
  std::uint64_t const* offsets_;
  std::uint64_t vertices_, next_ = 0;
  bool placed_ = false;
};

void write_block(block_plan const& p, std::uint32_t* to) {
  *to++ = p.base;
  if (p.mixed) *to++ = p.starts;
  std::uint64_t held = 0;
  std::uint32_t bits = 0;
  auto const put = [&](std::uint32_t value, std::uint32_t width) {
    held |= std::uint64_t{value} << bits;
    for (bits += width; bits >= 32; bits -= 32, held >>= 32) *to++ = static_cast<std::uint32_t>(held);
  };
  for (std::uint32_t k = 0; k < per_block; ++k)
    if (p.starts >> k & 1) put(p.values[k] - p.base, p.start_bits);
  for (std::uint32_t k = 0; k < per_block; ++k)
    if (!(p.starts >> k & 1)) put(p.values[k] - p.values[k - 1], p.gap_bits);
  if (bits) *to = static_cast<std::uint32_t>(held);
}

std::uint64_t blocks_of(std::uint64_t count) { return (count + per_block - 1) / per_block; }

// Measures `groups` groups from group `first` on, whose values begin at `values`. Writes each block's directory entry to `blocks`, each
// group's words to `sizes`.
void measure_groups(std::uint32_t const* values, array_of_lists const& of, std::uint64_t first, std::uint64_t groups, std::uint32_t* blocks,
                    std::uint64_t* sizes) {
  shared_pool().run(groups, 1, [&](std::uint64_t k, std::uint64_t last) {
    for (; k < last; ++k) {
      check_interrupted();
      block_reader reader(values, first * per_group * per_block, of.count, of.offsets, of.vertices);
      std::uint64_t at = 0, b = (first + k) * per_group;
      for (std::uint64_t const end = std::min(blocks_of(of.count), b + per_group); b < end; ++b) {
        block_plan const p = reader.plan(b);
        blocks[b - first * per_group] = directory::make(at, p.gap_bits, p.start_bits, p.mixed);
        at += p.words();
      }
      sizes[k] = at;
    }
  });
}
// Writes their codes: group k starts at words + at[k].
void write_groups(std::uint32_t const* values, array_of_lists const& of, std::uint64_t first, std::uint64_t groups, std::uint64_t const* at,
                  std::uint32_t const* blocks, std::uint32_t* words) {
  directory const here{blocks, at};
  shared_pool().run(groups, 1, [&](std::uint64_t k, std::uint64_t last) {
    for (; k < last; ++k) {
      check_interrupted();
      block_reader reader(values, first * per_group * per_block, of.count, of.offsets, of.vertices);
      std::uint64_t b = (first + k) * per_group;
      for (std::uint64_t const end = std::min(blocks_of(of.count), b + per_group); b < end; ++b)
        write_block(reader.plan(b), words + here.word_of(b - first * per_group));
    }
  });
}

}  // namespace

packed_array pack_values(std::uint32_t const* values, std::uint64_t count, std::uint64_t const* offsets, std::uint64_t vertices, tier where,
                         int device) {
  phase const timed{"pack"};
  packed_array to;
  array_of_lists const of{count, offsets, vertices};
  std::uint64_t const blocks = blocks_of(count), groups = blocks / per_group + 1;
  to.blocks = buffer<std::uint32_t>(tier::host, blocks + 1, device, "directory of compressed adjacency");
  to.groups = buffer<std::uint64_t>(tier::host, groups, device, "directory of compressed adjacency");
  // Processes groups in parallel; their words are counted first, so that all can be written at once.
  measure_groups(values, of, 0, groups, to.blocks.data(), to.groups.data());
  std::uint64_t all = 0;
  for (auto& g : to.groups) all += std::exchange(g, all);
  to.blocks[blocks] = static_cast<std::uint32_t>(all - to.groups[blocks / per_group]);
  to.words = memory_block(where, (all + 1) * 4, device, "compressed adjacency");
  auto* const words = static_cast<std::uint32_t*>(to.words.data());
  words[all] = 0;
  write_groups(values, of, 0, groups, to.groups.data(), to.blocks.data(), words);
  return to;
}

std::uint64_t packed_parts::add(std::uint32_t const* values, std::uint64_t n) {
  phase const timed{"pack"};
  if (values_ % values_a_group)
    fail(errc::internal, "a part of {} values behind one that ended within a group of {}", n, std::uint64_t{values_a_group});
  std::uint64_t const first = values_ / values_a_group, groups = (n + values_a_group - 1) / values_a_group;
  blocks.resize(blocks_of(n)), sizes.resize(groups), begins.resize(groups);
  measure_groups(values, of_, first, groups, blocks.data(), sizes.data());
  std::uint64_t all = 0;
  for (std::uint64_t k = 0; k < groups; ++k) begins[k] = all, all += sizes[k];
  words.resize(all);
  write_groups(values, of_, first, groups, begins.data(), blocks.data(), words.data());
  for (std::uint64_t& b : begins) b += words_;
  words_ += all, values_ += n;
  return all;
}

void packed_parts::finish() {
  std::uint64_t const all = blocks_of(values_);
  blocks.assign(1, 0), begins.clear(), words.assign(1, 0);
  // The end of the last block, relative to its group. It forms a group of its own if the preceding groups are full.
  if (all % per_group == 0) begins.assign(1, words_);
  else blocks[0] = static_cast<std::uint32_t>(sizes.back());
  ++words_;
}

void unpack_values(packed_array const& from, std::uint64_t count, std::uint32_t* to) {
  shared_pool().run(blocks_of(count), 4096, [&](std::uint64_t first, std::uint64_t last) {
    check_interrupted();
    each_in_turn(from.view(), first * per_block, std::min(count, last * per_block), [&](std::uint32_t v, std::uint64_t i) {
      to[i] = v;
      return false;
    });
  });
}

std::uint64_t most_packed_bytes(std::uint64_t count, std::uint64_t below) {
  auto const bits = static_cast<std::uint64_t>(std::bit_width(below > 1 ? below - 1 : 1));  // one word per bit: 32 values of one width
  return blocks_of(count) * (bits + 1) * 4 + 4 + (blocks_of(count) + 1) * 4 + (blocks_of(count) / per_group + 1) * 8;
}

bool block_is_right(packed_directory const& at, std::uint32_t const* words, std::uint64_t b) {
  packed_directory::entry const e = at[b];
  std::uint64_t const has = at.word_of(b + 1) - e.word;
  if (e.mixed && has < 2) return false;
  block_plan p;
  p.mixed = e.mixed, p.gap_bits = e.gap_bits, p.start_bits = e.start_bits;
  p.starts = e.mixed ? words[e.word + 1] | 1 : e.gap_bits == directory::all_start ? ~0u : 1u;
  return p.words() == has;
}

void check_directory(packed_array const& a, std::uint64_t count, std::string const& where, std::uint64_t stored_words) {
  std::uint64_t const blocks = blocks_of(count), words = stored_words ? stored_words : a.words.bytes() / 4;
  auto const bad = [&](std::uint64_t b, std::string const& what) {
    fail(errc::input, "{}: block {} (edges {} to {}) {}; convert the graph again", where, b, b * per_block,
         std::min(count, (b + 1) * per_block), what);
  };
  if (a.blocks.size() != blocks + 1 || a.groups.size() != blocks / per_group + 1 || words == 0)
    fail(errc::input, "{}: a directory of {} blocks for {} edges; convert the graph again", where, a.blocks.size(), count);
  packed_directory const at = a.view().at;
  for (std::uint64_t g = 0; g < a.groups.size(); ++g)  // prevents overflow of the sums below
    if (a.groups[g] >= words || (g && a.groups[g] < a.groups[g - 1]))
      bad(g * per_group, fmt::format("begins at word {} of {}", a.groups[g], words));
  auto const* const codes = static_cast<std::uint32_t const*>(a.words.data());
  if (at.word_of(0) != 0) bad(0, fmt::format("begins at word {}", at.word_of(0)));
  if (at.word_of(blocks) != words - 1)
    bad(blocks, fmt::format("begins at word {}, but the codes end at {}", at.word_of(blocks), words - 1));
  for (std::uint64_t b = 0; b < blocks; ++b) {
    packed_directory::entry const e = at[b];
    std::uint64_t const next = at.word_of(b + 1);
    if (e.start_bits > 32 || (e.gap_bits > 32 && e.gap_bits != directory::all_start) || a.blocks[b] >> 31 || next <= e.word ||
        next >= words)
      bad(b, "is damaged");
    if (codes && !block_is_right(at, codes, b)) bad(b, fmt::format("has {} words, which contradicts its widths", next - e.word));
  }
}

namespace {

void pack_lists(graph_info const& info, edge_lists& lists) {
  int const device = lists.targets.device();
  if (in_device_memory(lists.targets.where()))
    fail(errc::usage, "adjacency on a device cannot be compressed; load the graph into host memory");
  std::vector<std::uint32_t> narrow;
  auto const* targets = static_cast<std::uint32_t const*>(lists.targets.data());
  if (info.id_bytes == 8) {
    narrow.resize(info.edges);
    auto const* const wide = static_cast<std::uint64_t const*>(lists.targets.data());
    std::transform(wide, wide + info.edges, narrow.begin(), [](std::uint64_t u) { return static_cast<std::uint32_t>(u); });
    targets = narrow.data();
  }
  lists.packed_targets = pack_values(targets, info.edges, lists.offsets.data(), info.vertices, lists.targets.where(), device);
  lists.targets.reset();
  if (info.weights == weight_kind::none) return;
  lists.packed_weights = pack_values(static_cast<std::uint32_t const*>(lists.weights.data()), info.edges, nullptr, info.vertices,
                                     lists.weights.where(), device);
  lists.weights.reset();
}

void unpack_lists(graph_info const& info, edge_lists& lists) {
  auto const plain = [&](packed_array& from, memory_block& to, char const* what) {
    if (from.empty()) return;
    to = memory_block(from.words.where(), info.edges * 4, from.words.device(), what);
    unpack_values(from, info.edges, static_cast<std::uint32_t*>(to.data()));
    from = {};
  };
  plain(lists.packed_targets, lists.targets, "edge list");
  plain(lists.packed_weights, lists.weights, "weights");
}

}  // namespace

void pack(graph& g) {
  g.require_in_memory();
  if (g.info.compressed) return;
  if (g.info.vertices > std::numeric_limits<std::uint32_t>::max())
    fail(errc::input, "{}: {} vertices; compression requires fewer than 2^32", g.name, g.info.vertices);
  pack_lists(g.info, g.out);
  if (g.info.in_edges) pack_lists(g.info, g.in);
  if (g.by_id.bytes() && g.info.id_bytes == 8) g.by_id = ids_of_width(g.by_id, 8, 4);
  g.info.id_bytes = 4;
  g.info.compressed = true;
}

void unpack(graph& g) {
  g.require_in_memory();
  if (!g.info.compressed) return;
  unpack_lists(g.info, g.out);
  if (g.info.in_edges) unpack_lists(g.info, g.in);
  g.info.compressed = false;
}

}  // namespace garner

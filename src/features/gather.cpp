// The loops of a gather, written once for host, simulated and device. A team serves a row. It looks up the row, reads it in words
// as wide as the row, its source and its target allow (16 bytes at best, four per lane in flight), and writes each word, converted
// or not, to every position that requested the row. Ordered by id, the first team of a group of equal ids serves all of it, up to
// 127 positions; a longer group is cut where a position divisible by 64 has 64 of the same behind it, so that no team needs the
// length of the group. Unsorted ids find their duplicates in a hash table of positions (open addressing, at most half full): the
// first position in a slot, which one is left to chance, fetches the row; the others copy it from there, with as many teams as
// there are.
// Cost: a row crosses once; an order takes a sort of 12 bytes per id by as many bits as ids have, the table 8 to 16 bytes per id.
#include "features/gather.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/convert.hpp"
#include "core/primitives.hpp"
#include "core/random.hpp"

namespace garner {

namespace {

constexpr std::uint64_t page_bits = 21;  // in bytes: 2 MiB share a translation or are adjacent
constexpr std::uint64_t group_cut = 64;
constexpr std::uint32_t nobody = ~std::uint32_t{0};

// --- what is written of a word that was read -----------------------------------------------------------------------------------------
struct as_is {
  static constexpr std::uint64_t least_word = 1;
  template <class Word>
  GARNER_HD static void put(char* row, std::uint64_t at, Word const* words, std::uint64_t n, float) {
    if (n == 1) reinterpret_cast<Word*>(row)[at] = *words;  // a lane: one store as wide as its load
    else std::memcpy(row + at * sizeof(Word), words, n * sizeof(Word));
  }
};
template <class From, class To>
struct converted {
  static constexpr std::uint64_t least_word = sizeof(typename From::bits);
  template <class Word>
  GARNER_HD static void put(char* row, std::uint64_t at, Word const* words, std::uint64_t n, float factor) {
    constexpr std::uint64_t each = sizeof(Word) / sizeof(typename From::bits), bytes = each * sizeof(typename To::bits);
    using part =
        std::conditional_t<bytes % 16 == 0, lanes::wide_word,
                           std::conditional_t<bytes == 8, std::uint64_t, std::conditional_t<bytes == 4, std::uint32_t, std::uint16_t>>>;
    for (std::uint64_t k = 0; k < n; ++k) {
      typename From::bits in[each];
      std::memcpy(in, words + k, sizeof(Word));
      alignas(16) typename To::bits out[each];
#if defined(__CUDACC__)
#pragma unroll
#endif
      for (std::uint64_t e = 0; e < each; ++e) out[e] = To::of(From::value(in[e], factor));
      part parts[bytes / sizeof(part)];
      std::memcpy(parts, out, bytes);
      auto* const to = reinterpret_cast<part*>(row + (at + k) * bytes);
#if defined(__CUDACC__)
#pragma unroll
#endif
      for (std::uint64_t p = 0; p < bytes / sizeof(part); ++p) to[p] = parts[p];
    }
  }
};

template <class Put>
struct move_rows {
  using full_blocks = void;  // gathers use a share of the device while others run
  row_view from;
  id_order order;
  char* out;
  float const* scales;
  std::uint64_t n, out_row_bytes;
  std::uint32_t word;
  bool shifted;
  std::uint64_t* bad;  // null: the ids have been looked at

  GARNER_HD_INLINE bool cut(std::uint64_t i) const {
    return i % group_cut == 0 && i >= group_cut && order.keys[i - group_cut] == order.keys[i];
  }
  GARNER_HD_INLINE char* place(std::uint64_t i) const {
    std::uint64_t const position = order.positions ? order.positions[i] : i;
    return order.places ? order.places[position] : out + position * out_row_bytes;
  }

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    // A host thread has one row in flight, a device thousands. It prefetches some rows together, so that their translations overlap; the
    // code between two rows is too long for out-of-order execution to do so.
    if constexpr (Team::width == 1) {
      constexpr std::uint64_t ahead = 16, begins = 256;  // bytes; what is longer is streamed by then
      if (i % ahead == 0)
        for (std::uint64_t k = i + ahead; k < smaller(i + 2 * ahead, n); ++k)
          if (std::uint64_t const next = order.id(k); next < from.rows) {
            char const* const row = from[next].row;
            if (!row) continue;
            for (std::uint64_t at = 0; at < smaller(from.row_bytes, begins); at += 64) ask_soon(row + at);
          }
    }
    std::uint64_t last = i + 1;
    if (order.groups) {
      std::uint64_t const key = order.keys[i];
      if (i > 0 && order.keys[i - 1] == key && !cut(i)) return;  // served by the first of the group
      while (last < n && order.keys[last] == key && !cut(last)) ++last;
    }
    std::uint64_t const id = order.id(i);
    if (id >= from.rows) {
      if (bad) atomic_min(bad, i);
      return;
    }
    if constexpr (Team::width == 1 && std::is_same_v<Put, as_is>) return move<std::uint8_t>(t, id, i, last);  // one memcpy
    switch (word) {
      case 16:
        return move<lanes::wide_word>(t, id, i, last);
      case 8:
        return move<std::uint64_t>(t, id, i, last);
      case 4:
        return move<std::int32_t>(t, id, i, last);  // signed: never a compressed list
      case 2:
        return move<std::uint16_t>(t, id, i, last);
      default:
        return move<std::uint8_t>(t, id, i, last);
    }
  }
  template <class Word, class Team>
  GARNER_HD void move(Team t, std::uint64_t id, std::uint64_t i, std::uint64_t last) const {
    if constexpr (sizeof(Word) >= Put::least_word) {
      auto const [row, where] = from[id];
      if (from.in_file && !row) return;
      float const factor = scales ? scales[id] : 1.0f;
      char* const first = place(i);
      auto const at = reinterpret_cast<std::uintptr_t>(row);
      std::uint64_t const begin = at % lanes::line_bytes / sizeof(Word);
      t.parts(
          span<Word>{reinterpret_cast<Word const*>(at / lanes::line_bytes * lanes::line_bytes), begin,
                     begin + from.row_bytes / sizeof(Word), where != tier::host},
          [&](Word const* words, auto count, auto offset) {
            Put::put(first, offset, words, count, factor);
#if defined(__CUDACC__)
#pragma unroll 1
#endif
            for (std::uint64_t k = i + 1; k < last; ++k) Put::put(place(k), offset, words, count, factor);
          },
          shifted);
    }
  }
};

// --- ids -------------------------------------------------------------------------------------------------------------------------------
struct look_at_ids {
  batch_list batches;
  row_view from;
  std::uint64_t out_row_bytes;
  std::uint64_t *bad, *keys;
  std::uint32_t* positions;
  char** places;
  std::uint32_t shift;
  bool split;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint32_t const b = batches.batch_of(i);
    std::uint64_t id = batches.id(b, i);
    bool const there = id < from.rows;
    if (!there) atomic_min(bad, i), id = from.rows;
    if (!keys) return;
    std::uint64_t page = id * from.apart() >> page_bits;
    if (split && there && from[id].where == tier::host) id += from.rows + 1, page += (from.rows * from.apart() >> page_bits) + 1;
    keys[i] = shift ? id << shift | page : id;
    if (positions) positions[i] = static_cast<std::uint32_t>(i);
    if (places) places[i] = batches.outs[b] + (i - batches.start[b]) * out_row_bytes;
  }
};

struct look_for_file_rows {
  row_view from;
  batch_list batch;
  std::uint64_t* ids;
  std::uint32_t* numbers;
  std::uint8_t* flags;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const id = batch.id(0, i);
    ids[i] = id, numbers[i] = static_cast<std::uint32_t>(i);
    flags[i] = id < from.rows && !from[id].row;
  }
};

// Invariant: the key of a position in the table is constant; only a position that is left out replaces its own by an invalid id.
struct find_repeats {
  using full_blocks = void;
  row_view from;
  std::uint64_t* keys;
  std::uint64_t far_from, mask;
  std::uint32_t shift;
  std::uint32_t* firsts;
  std::uint64_t *repeats, *count;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const id = keys[i] >> shift;
    if (far_from ? id < far_from : id >= from.rows || from[id].where != tier::host) return;
    for (std::uint64_t slot = mix(id) & mask;; slot = (slot + 1) & mask) {
      std::uint32_t first = atomic_load(firsts + slot);  // looks before it locks: the slot of a popular row is taken
      if (first == nobody) first = atomic_cas(firsts + slot, nobody, static_cast<std::uint32_t>(i));
      if (first == nobody) return;
      if (keys[first] >> shift != id) continue;
      keys[i] = from.rows << shift | (keys[i] & ((std::uint64_t{1} << shift) - 1));
      repeats[atomic_add(count, std::uint64_t{1})] = std::uint64_t{first} << 32 | i;
      return;
    }
  }
};
// By words that divide both places and the length.
template <class Word, class Team>
GARNER_HD void copy_words(Team t, char const* from, char* to, std::uint64_t bytes) {
  auto const at = reinterpret_cast<std::uintptr_t>(from);
  std::uint64_t const begin = at % lanes::line_bytes / sizeof(Word);
  t.parts(span<Word>{reinterpret_cast<Word const*>(at / lanes::line_bytes * lanes::line_bytes), begin, begin + bytes / sizeof(Word), true},
          [&](Word const* words, auto n, auto offset) { as_is::put(to, offset, words, n, 1.0f); });
}
template <class Team>
GARNER_HD void copy_words(Team t, char const* from, char* to, std::uint64_t bytes, std::uint32_t word) {
  switch (word) {
    case 16:
      return copy_words<lanes::wide_word>(t, from, to, bytes);
    case 8:
      return copy_words<std::uint64_t>(t, from, to, bytes);
    case 4:
      return copy_words<std::int32_t>(t, from, to, bytes);
    case 2:
      return copy_words<std::uint16_t>(t, from, to, bytes);
    default:
      return copy_words<std::uint8_t>(t, from, to, bytes);
  }
}
struct copy_row {
  using full_blocks = void;
  id_order order;
  char* out;
  std::uint64_t row_bytes;
  std::uint32_t word;

  GARNER_HD char* place(std::uint64_t position) const { return order.places ? order.places[position] : out + position * row_bytes; }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    copy_words(t, place(order.repeats[k] >> 32), place(order.repeats[k] & nobody), row_bytes, word);
  }
};
// The last of equal ids, which stand together, counts.
struct write_row {
  row_view to;
  id_order order;
  char const* rows;
  std::uint64_t n;
  std::uint32_t word;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const id = order.keys[i];
    if (i + 1 < n && order.keys[i + 1] == id) return;
    if (char const* const row = to[id].row)
      copy_words(t, rows + order.positions[i] * to.row_bytes, const_cast<char*>(row), to.row_bytes, word);
  }
};

struct count_rows {
  static constexpr std::uint64_t ids_an_item = 256, bits_a_count = 64 / tier_count;
  row_view from;
  batch_list batches;
  std::uint64_t n;
  std::uint64_t* counts;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    indices const mine{item * ids_an_item, smaller((item + 1) * ids_an_item, n)};
    // Counts of all tiers: each row is looked up once.
    static_assert(ids_an_item < 1u << bits_a_count);
    std::uint64_t const hits = t.sum(mine, [&](std::uint64_t i) {
      std::uint64_t const id = batches.id(batches.batch_of(i), i);
      return id < from.rows ? std::uint64_t{1} << static_cast<unsigned>(from[id].where) * bits_a_count : 0;
    });
    t.once([&] {
      for (std::size_t k = 0; k < tier_count; ++k)
        if (std::uint64_t const n = hits >> k * bits_a_count & ((1u << bits_a_count) - 1)) atomic_add(counts + k, n);
    });
  }
};

template <class Put>
void launch(executor& x, row_view const& from, batch_list const& to, id_order const& order, gather_how const& how, unsigned word,
            std::uint64_t* bad) {
  std::uint64_t const n = to.total();
  std::uint64_t const out_row_bytes = from.row_bytes / bytes_of(how.kind) * bytes_of(how.to);
  move_rows<Put> const body{from, order, to.outs[0], how.scales, n, out_row_bytes, word, how.strategy == gather_strategy::shifted, bad};
  access_mode const access = how.strategy == gather_strategy::aligned ? access_mode::aligned : access_mode::merged;
  if constexpr (std::is_same_v<Put, as_is>) {
    // Short rows: four per warp, as long as eight lanes still request whole lines or the whole row at once.
    if (how.strategy == gather_strategy::aligned && (from.row_bytes <= 8 * word || (word == 16 && from.row_bytes <= 256)))
      return for_each_item<8>(x, n, body, access);
  }
  for_each_item<32>(x, n, body, access);
}

}  // namespace

bool converts(element from, element to) {
  return from == to ||
         ((to == element::f32 || to == element::bf16) && (from == element::f16 || from == element::bf16 || from == element::i8));
}

unsigned widest_load(row_view const& from, batch_list const& to, element kind, element written, unsigned most) {
  std::uint64_t const in = bytes_of(kind), out = bytes_of(written);
  std::uint64_t places = from.row_bytes | from.stride, outs = 0;
  for (std::uint32_t k = 0; k < from.used_parts(); ++k) places |= reinterpret_cast<std::uintptr_t>(from.part[k]);
  places |= reinterpret_cast<std::uintptr_t>(from.far) | reinterpret_cast<std::uintptr_t>(from.window);
  for (std::uint32_t b = 0; b < to.count; ++b) outs |= reinterpret_cast<std::uintptr_t>(to.outs[b]);
  // What a word becomes is stored in parts of at most 16 bytes.
  auto const stored = [&](unsigned word) { return kind == written ? word : std::min<std::uint64_t>(16, word / in * out); };
  unsigned word = 16;
  while (word > (kind == written ? 1 : in) && (word > most || places % word != 0 || outs % stored(word) != 0)) word /= 2;
  return word;
}

id_order check_ids(executor& x, batch_list const& batches, std::uint64_t rows, std::uint64_t* bad) {
  row_view from;
  from.rows = rows;
  for_each_item<1>(x, batches.total(), look_at_ids{batches, from, 0, bad, nullptr, nullptr, nullptr, 0, false});
  return as_given(batches);
}
id_order as_given(batch_list const& batch) {
  id_order order;
  order.ids = batch.ids[0], order.id_bytes = batch.id_bytes[0];
  return order;
}

id_order order_ids(executor& x, batch_list const& batches, row_view const& from, std::uint64_t out_row_bytes, gather_order order,
                   bool split, bool once, id_sorter& room, std::uint64_t* bad) {
  std::uint64_t const n = batches.total();
  auto const of_size = [&](auto& b, std::uint64_t least, std::uint64_t size, char const* what) { grow(x, b, least, size, what, x.near()); };
  auto const at_least = [&](auto& b, char const* what) { of_size(b, n, n + n / 4, what); };
  bool const sorts = order != gather_order::none, pages = order == gather_order::bucketed, finds = once && order != gather_order::sorted;
  std::uint64_t const slots = std::bit_ceil(2 * n);
  at_least(room.keys, "ids of a gather");
  if (sorts)
    at_least(room.positions, "positions of a gather, to be sorted"), at_least(room.spare_keys, "ids of a gather, to be sorted"),
        at_least(room.spare_positions, "positions of a gather, to be sorted");
  if (finds) {
    of_size(room.firsts, slots, slots, "a table of the ids of a gather");
    at_least(room.repeats, "positions of repeated ids of a gather");
  }
  if (batches.count > 1) at_least(room.places, "places of the rows of a gather");
  std::uint64_t const last_page = from.rows * from.apart() >> page_bits;
  int const bits = std::max<int>(1, std::bit_width(pages ? last_page + (split ? last_page + 1 : 0) : from.rows << split));
  id_order made;
  made.shift = static_cast<std::uint32_t>(pages ? bits : 0);
  made.groups = once && order == gather_order::sorted;
  made.far_from = split ? from.rows + 1 : 0;
  made.keys = room.keys.data();
  if (batches.count > 1) made.places = room.places.data();
  for_each_item<1>(x, n,
                   look_at_ids{batches, from, out_row_bytes, bad, room.keys.data(), sorts ? room.positions.data() : nullptr,
                               batches.count > 1 ? room.places.data() : nullptr, made.shift, split});
  if (finds) {
    made.repeats = room.repeats.data();
    x.fill(room.firsts.data(), 0xff, slots * sizeof(std::uint32_t));
    for_each_item<1>(
        x, n, find_repeats{from, room.keys.data(), made.far_from, slots - 1, made.shift, room.firsts.data(), room.repeats.data(), bad + 1});
  }
  if (!sorts) return made;
  std::span<std::uint32_t> positions = room.positions.span().first(n);
  made.keys =
      sort_by_key(x, room.keys.span().first(n), room.spare_keys.span().first(n), positions, room.spare_positions.span().first(n), bits)
          .data();
  made.positions = positions.data();
  return made;
}

void gather_rows(executor& x, row_view const& from, batch_list const& to, id_order const& order, gather_how const& how,
                 std::uint64_t* bad) {
  if (to.total() == 0 || from.row_bytes == 0) return;
  bool const plain = how.kind == how.to;
  unsigned const most = how.load_bytes ? how.load_bytes : how.strategy == gather_strategy::aligned ? 16 : 4;
  unsigned const word = widest_load(from, to, how.kind, how.to, most);
  if (plain) return launch<as_is>(x, from, to, order, how, word, bad);
  bool const brain = how.to == element::bf16;
  switch (how.kind) {
    case element::f16:
      return brain ? launch<converted<from_half, to_brain>>(x, from, to, order, how, word, bad)
                   : launch<converted<from_half, to_float>>(x, from, to, order, how, word, bad);
    case element::bf16:
      return launch<converted<from_brain, to_float>>(x, from, to, order, how, word, bad);
    case element::i8:
      return brain ? launch<converted<from_byte, to_brain>>(x, from, to, order, how, word, bad)
                   : launch<converted<from_byte, to_float>>(x, from, to, order, how, word, bad);
    default:
      fail(errc::internal, "a gather from {} to {}", to_string(how.kind), to_string(how.to));
  }
}

void copy_repeats(executor& x, batch_list const& to, id_order const& order, std::uint64_t n, std::uint64_t out_row_bytes) {
  if (n == 0 || out_row_bytes == 0) return;
  std::uint64_t bits = out_row_bytes | 16;
  for (std::uint32_t b = 0; b < to.count; ++b) bits |= reinterpret_cast<std::uintptr_t>(to.outs[b]);
  for_each_item<32>(x, n, copy_row{order, to.outs[0], out_row_bytes, static_cast<std::uint32_t>(bits & (~bits + 1))});
}

void write_rows(executor& x, row_view const& to, id_order const& order, std::uint64_t n, void const* rows) {
  batch_list from;
  from.add({}, const_cast<void*>(rows));
  unsigned const word = widest_load(to, from, element::u8, element::u8, 16);
  for_each_item<32>(x, n, write_row{to, order, static_cast<char const*>(rows), n, word});
}

void find_file_rows(executor& x, row_view const& from, batch_list const& batch, std::uint64_t* ids, std::uint32_t* numbers,
                    std::uint8_t* flags) {
  for_each_item<1>(x, batch.total(), look_for_file_rows{from, batch, ids, numbers, flags});
}

void count_hits(executor& x, row_view const& from, batch_list const& batches, std::uint64_t* counts) {
  std::uint64_t const n = batches.total(), each = count_rows::ids_an_item;
  for_each_item<32>(x, (n + each - 1) / each, count_rows{from, batches, n, counts});
}

}  // namespace garner

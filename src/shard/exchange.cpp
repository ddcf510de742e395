#include "shard/exchange.hpp"

#include "core/convert.hpp"
#include "core/exec.hpp"
#include "core/row_team.hpp"

namespace garner {

namespace {

template <class From>
struct bring_row {
  peer_table::part from;
  std::uint32_t const* which;
  std::int64_t const* places;  // null: k
  std::uint64_t columns;
  float* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    using bits = typename From::bits;
    auto const* const row = from.template row<bits>(which ? which[k] : k);
    float* const out = to + (places ? static_cast<std::uint64_t>(places[k]) : k) * columns;
    t.each(span<bits>{row, 0, columns}, [&](bits v, std::uint64_t c) { out[c] = From::value(v, 1.0f); });
  }
};

// The same for 16 bits, four numbers per lane.
template <class From>
struct bring_wide_row {
  peer_table::part from;
  std::uint32_t const* which;
  std::uint64_t words;
  float* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    auto const* const row = from.row<std::uint64_t>(which ? which[k] : k);
    float* const out = to + k * words * 4;
    t.parts(span<std::uint64_t>{row, 0, words}, [&](std::uint64_t const* some, std::uint64_t n, std::uint64_t at) {
      for (std::uint64_t i = 0; i < n; ++i) {
        row_part<float, 4> made;
        for (int j = 0; j < 4; ++j) made.v[j] = From::value(static_cast<std::uint16_t>(some[i] >> 16 * j), 1.0f);
        row_part<float, 4>::in(out + (at + i) * 4) = made;
      }
    });
  }
};
// Copies a row bytewise, a word per lane: a row of 64 bytes takes four lanes, so that a warp has eight rows in flight.
template <class Word>
struct move_row {
  peer_table::part from;
  std::uint32_t const* which;
  std::uint64_t words;
  Word* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    auto const* const row = from.template row<Word>(which ? which[k] : k);
    Word* const out = to + k * words;
    t.parts(span<Word>{row, 0, words}, [&](Word const* some, std::uint64_t n, std::uint64_t at) {
      for (std::uint64_t i = 0; i < n; ++i) out[at + i] = some[i];
    });
  }
};
template <class Word>
struct pick_row {
  char const* rows;
  std::uint64_t row_bytes;
  std::uint32_t const* which;
  std::uint64_t words;
  Word* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    auto const* const row = reinterpret_cast<Word const*>(rows + which[k] * row_bytes);
    t.each(indices{0, words}, [&](std::uint64_t w) { to[k * words + w] = row[w]; });
  }
};

// N numbers per lane.
template <class To, int N>
struct pack_row {
  float const* rows;
  std::uint64_t stride, columns;
  std::uint16_t* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    t.each(indices{0, columns / N}, [&](std::uint64_t at) {
      auto const in = row_part<float, N>::in(rows + k * stride + at * N);
      row_part<std::uint16_t, N> made;
      for (int j = 0; j < N; ++j) made.v[j] = To::of(in.v[j]);
      row_part<std::uint16_t, N>::in(to + k * columns + at * N) = made;
    });
  }
  bool can() const {
    return columns % 4 == 0 && stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(rows) % 16 == 0 &&
           reinterpret_cast<std::uintptr_t>(to) % 8 == 0;
  }
};

struct sum_number {
  peer_table table;
  float* to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    float sum = 0;
    for (std::uint32_t s = 0; s < table.shards; ++s)
      for (std::uint64_t b = 0; b < table.of[s].rows; ++b) sum += table.row<float>(s, b)[i];
    to[i] = sum;
  }
};

template <class From>
void bring(executor& x, std::uint64_t count, bring_row<From> const& body) {
  if constexpr (sizeof(typename From::bits) == 2) {
    auto const all = body.from.row_bytes | body.columns * 2 | reinterpret_cast<std::uintptr_t>(body.from.base) |
                     reinterpret_cast<std::uintptr_t>(body.to) / 2;
    if (all % 8 == 0 && !body.places)
      return with_row_team<float>(body.columns, true, [&](auto width) {
        for_each_item<decltype(width)::value>(x, count, bring_wide_row<From>{body.from, body.which, body.columns / 4, body.to},
                                              access_mode::merged);
      });
  }
  // In order of address, and short: they need not begin on lines.
  if (body.columns > 8) for_each_item<32>(x, count, body, access_mode::merged);
  else for_each_item<8>(x, count, body, access_mode::merged);
}

template <class Word>
void move(executor& x, peer_table::part const& from, std::uint32_t const* which, std::uint64_t count, std::uint64_t bytes, void* to) {
  std::uint64_t const words = bytes / sizeof(Word);
  move_row<Word> const body{from, which, words, static_cast<Word*>(to)};
  with_row_team<float>(words * 4, true, [&](auto width) { for_each_item<decltype(width)::value>(x, count, body, access_mode::merged); });
}
template <class To>
void pack(executor& x, std::uint64_t count, pack_row<To, 4> const& wide) {
  if (!wide.can()) return for_each_item<32>(x, count, pack_row<To, 1>{wide.rows, wide.stride, wide.columns, wide.to});
  with_row_team<float>(wide.columns, true, [&](auto width) { for_each_item<decltype(width)::value>(x, count, wide); });
}
}  // namespace

void move_rows(executor& x, peer_table::part const& from, std::uint32_t const* which, std::uint64_t count, std::uint64_t bytes, void* to) {
  std::uint64_t const all = bytes | from.row_bytes | reinterpret_cast<std::uintptr_t>(from.base) | reinterpret_cast<std::uintptr_t>(to);
  std::uint64_t word = 16;
  while (word > 2 && (all % word || (word > 4 && bytes / word < 4))) word /= 2;  // four lanes at the least have some of it
  if (word == 16) move<lanes::wide_word>(x, from, which, count, bytes, to);
  else if (word == 8) move<std::uint64_t>(x, from, which, count, bytes, to);
  else if (word == 4) move<std::uint32_t>(x, from, which, count, bytes, to);
  else move<std::uint16_t>(x, from, which, count, bytes, to);
}
void bring_rows(executor& x, peer_table const& table, std::uint32_t shard, std::uint32_t const* which, std::uint64_t count,
                std::uint64_t columns, element wire, float* to) {
  peer_table::part const& from = table.of[shard];
  if (wire == element::bf16) bring(x, count, bring_row<from_brain>{from, which, nullptr, columns, to});
  else if (wire == element::f16) bring(x, count, bring_row<from_half>{from, which, nullptr, columns, to});
  else move_rows(x, from, which, count, columns * sizeof(float), to);
}
void put_rows(executor& x, peer_table const& table, std::uint32_t shard, std::int64_t const* places, std::uint64_t count,
              std::uint64_t columns, float* to) {
  bring(x, count, bring_row<from_float>{table.of[shard], nullptr, places, columns, to});
}
void pick_rows(executor& x, void const* rows, std::uint64_t row_bytes, std::uint32_t const* which, std::uint64_t count, std::uint64_t bytes,
               void* to) {
  auto const* const from = static_cast<char const*>(rows);
  if (bytes % 4 == 0)
    for_each_item<32>(x, count, pick_row<std::uint32_t>{from, row_bytes, which, bytes / 4, static_cast<std::uint32_t*>(to)});
  else for_each_item<32>(x, count, pick_row<std::uint16_t>{from, row_bytes, which, bytes / 2, static_cast<std::uint16_t*>(to)});
}
void pack_rows(executor& x, float const* rows, std::uint64_t stride, std::uint64_t count, std::uint64_t columns, element wire,
               std::uint16_t* to) {
  if (wire == element::bf16) pack(x, count, pack_row<to_brain, 4>{rows, stride, columns, to});
  else pack(x, count, pack_row<to_half, 4>{rows, stride, columns, to});
}
void sum_of_rows(executor& x, peer_table const& table, std::uint64_t numbers, float* to) {
  for_each_item<1>(x, numbers, sum_number{table, to});
}

}  // namespace garner

#include "shard/exchange.hpp"

#include <cstring>
#include <type_traits>

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
    auto const* const row = reinterpret_cast<bits const*>(static_cast<char const*>(from.base) + (which ? which[k] : k) * from.row_bytes);
    float* const out = to + (places ? static_cast<std::uint64_t>(places[k]) : k) * columns;
    t.each(span<bits>{row, 0, columns}, [&](bits v, std::uint64_t c) { out[c] = From::value(v, 1.0f); });
  }
};

// Four numbers a lane: of a row of 16 floats four lanes' work, so that a warp has eight rows on the way.
template <class From>
struct bring_wide_row {
  using bits = typename From::bits;
  using word = std::conditional_t<sizeof(bits) == 4, lanes::wide_word, std::uint64_t>;
  peer_table::part from;
  std::uint32_t const* which;
  std::uint64_t words;
  float* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    auto const* const row = reinterpret_cast<word const*>(static_cast<char const*>(from.base) + (which ? which[k] : k) * from.row_bytes);
    float* const out = to + k * words * 4;
    t.parts(span<word>{row, 0, words}, [&](word const* some, std::uint64_t n, std::uint64_t at) {
      for (std::uint64_t i = 0; i < n; ++i) {
        bits in[4];
        std::memcpy(in, some + i, sizeof in);
        row_part<float, 4> made;
        for (int j = 0; j < 4; ++j) made.v[j] = From::value(in[j], 1.0f);
        row_part<float, 4>::in(out + (at + i) * 4) = made;
      }
    });
  }
  bool can(std::uint64_t columns) const {
    return columns % 4 == 0 && from.row_bytes % sizeof(word) == 0 && reinterpret_cast<std::uintptr_t>(from.base) % sizeof(word) == 0 &&
           reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
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

template <class To>
struct pack_row {
  float const* rows;
  std::uint64_t stride, columns;
  std::uint16_t* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    t.each(indices{0, columns}, [&](std::uint64_t c) { to[k * columns + c] = To::of(rows[k * stride + c]); });
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
  if (bring_wide_row<From> const wide{body.from, body.which, body.columns / 4, body.to}; !body.places && wide.can(body.columns)) {
    return with_row_team<float>(body.columns, true,
                                [&](auto width) { for_each_item<decltype(width)::value>(x, count, wide, access_mode::merged); });
  }
  // In order of address, and short: they need not begin on lines.
  if (body.columns > 8) for_each_item<32>(x, count, body, access_mode::merged);
  else for_each_item<8>(x, count, body, access_mode::merged);
}
}  // namespace

void bring_rows(executor& x, peer_table const& table, std::uint32_t shard, std::uint32_t const* which, std::uint64_t count,
                std::uint64_t columns, element wire, float* to) {
  peer_table::part const& from = table.of[shard];
  if (wire == element::bf16) bring(x, count, bring_row<from_brain>{from, which, nullptr, columns, to});
  else if (wire == element::f16) bring(x, count, bring_row<from_half>{from, which, nullptr, columns, to});
  else bring(x, count, bring_row<from_float>{from, which, nullptr, columns, to});
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
  if (wire == element::bf16) for_each_item<32>(x, count, pack_row<to_brain>{rows, stride, columns, to});
  else for_each_item<32>(x, count, pack_row<to_half>{rows, stride, columns, to});
}
void sum_of_rows(executor& x, peer_table const& table, std::uint64_t numbers, float* to) {
  for_each_item<1>(x, numbers, sum_number{table, to});
}

}  // namespace garner

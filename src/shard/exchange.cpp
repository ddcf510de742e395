#include "shard/exchange.hpp"

#include "core/exec.hpp"

namespace garner {

namespace {

struct bring_row {
  peer_table::part from;
  std::uint32_t const* which;
  std::uint64_t columns;
  float* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    auto const* const row = reinterpret_cast<float const*>(static_cast<char const*>(from.base) + which[k] * from.row_bytes);
    float* const out = to + k * columns;
    t.each(span<float>{row, 0, columns}, [&](float v, std::uint64_t c) { out[c] = v; });
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

}  // namespace

void bring_rows(executor& x, peer_table const& table, std::uint32_t shard, std::uint32_t const* which, std::uint64_t count,
                std::uint64_t columns, float* to) {
  // In order of address, and short: they need not begin on lines.
  if (columns > 8) for_each_item<32>(x, count, bring_row{table.of[shard], which, columns, to}, access_mode::merged);
  else for_each_item<8>(x, count, bring_row{table.of[shard], which, columns, to}, access_mode::merged);
}
void sum_of_rows(executor& x, peer_table const& table, std::uint64_t numbers, float* to) {
  for_each_item<1>(x, numbers, sum_number{table, to});
}

}  // namespace garner

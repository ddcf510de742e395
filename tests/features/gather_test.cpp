// The contract of gathers: all strategies, orders, row sizes and tier mixtures against the simplest serial code.
#include <cmath>
#include <cstring>
#include <set>

#include "core/random.hpp"
#include "far/bulk.hpp"
#include "garner/features.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

std::uint8_t byte_at(std::uint64_t i) { return static_cast<std::uint8_t>(random_bits(7, 0, i / 8) >> i % 8 * 8); }

// A table of bytes in its own memory, `offset` bytes off a page.
struct table {
  std::vector<std::uint8_t> memory;
  row_array rows;
  table(std::uint64_t n, std::uint64_t width, element kind = element::u8, std::uint64_t offset = 0)
      : memory(n * width * bytes_of(kind) + 8192) {
    auto const at = (reinterpret_cast<std::uintptr_t>(memory.data()) + 4095) / 4096 * 4096 + offset;
    auto* const data = reinterpret_cast<std::uint8_t*>(at);
    for (std::uint64_t i = 0; i < n * width * bytes_of(kind); ++i) data[i] = byte_at(i);
    rows = {data, n, width, kind, {}};
  }
  std::uint8_t const* row(std::uint64_t id) const { return static_cast<std::uint8_t const*>(rows.data) + id * rows.row_bytes(); }
};

std::vector<std::int64_t> draw_ids(std::uint64_t n, std::uint64_t rows, std::uint64_t seed, bool repeated) {
  std::vector<std::int64_t> ids(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t const bits = random_bits(seed, 1, i);
    ids[i] = static_cast<std::int64_t>(repeated && bits % 3 ? (bits >> 8) % std::min<std::uint64_t>(rows, 2) : (bits >> 8) % rows);
  }
  return ids;
}

// Gathers on a device, from ids of either width, into its memory; returns the rows to the host.
std::vector<std::uint8_t> gathered(tiered_tensor& t, std::vector<std::int64_t> const& ids, gather_options const& options = {},
                                   bool narrow = false, gather_run* ran = nullptr, std::uint64_t out_offset = 0) {
  executor x(t.device());
  auto const wide = near_copy(x, ids);
  auto const small = near_copy(x, std::vector<std::int32_t>(ids.begin(), ids.end()));
  std::uint64_t const bytes = ids.size() * t.width() * bytes_of(options.to.value_or(t.kind()));
  auto const out = near_copy(x, std::vector<std::uint8_t>(bytes + out_offset + 64, 0xcd));
  id_span const from = narrow ? id_span{small.data(), ids.size(), 4} : id_span{wide.data(), ids.size(), 8};
  gather_run const run = t.gather(from, {out.data() + out_offset, bytes}, options);
  if (ran) *ran = run;
  auto all = host_copy(x, out.data(), out.size());
  for (std::uint64_t k = 0; k < out_offset; ++k) EXPECT_EQ(all[k], 0xcd) << "before the rows";
  for (std::uint64_t k = out_offset + bytes; k < all.size(); ++k) EXPECT_EQ(all[k], 0xcd) << "after the rows";
  return {all.begin() + static_cast<std::ptrdiff_t>(out_offset), all.begin() + static_cast<std::ptrdiff_t>(out_offset + bytes)};
}
std::vector<std::uint8_t> serial(table const& t, std::vector<std::int64_t> const& ids) {
  std::vector<std::uint8_t> out(ids.size() * t.rows.row_bytes());
  for (std::size_t i = 0; i < ids.size(); ++i)
    std::copy_n(t.row(static_cast<std::uint64_t>(ids[i])), t.rows.row_bytes(), out.data() + i * t.rows.row_bytes());
  return out;
}

std::vector<gather_strategy> const strategies{gather_strategy::automatic, gather_strategy::staged,  gather_strategy::naive,
                                              gather_strategy::shifted,   gather_strategy::aligned, gather_strategy::bulk};
std::vector<gather_order> const orders{gather_order::automatic, gather_order::none, gather_order::sorted, gather_order::bucketed};
std::vector<gather_duplicates> const all_duplicates{gather_duplicates::automatic, gather_duplicates::once, gather_duplicates::repeat};
bool go_together(gather_strategy strategy, gather_duplicates duplicates) {
  return strategy != gather_strategy::staged || duplicates != gather_duplicates::once;
}
bool go_together(gather_strategy strategy, gather_order order) {
  return strategy != gather_strategy::staged || order <= gather_order::none;
}
bool runs_at(execution_device where, gather_strategy strategy) {
  return strategy != gather_strategy::bulk || where.kind != device_kind::cuda || has_bulk_copies(where.index);
}

class gather : public at_place {};
GARNER_AT_EVERY_PLACE(gather);

TEST_P(gather, all_ways_orders_and_sizes_of_rows_give_the_serial_rows) {
  for (std::uint64_t width : {1, 2, 3, 4, 5, 12, 16, 128, 132, 480, 512, 602 * 4, 1028, 65536}) {
    std::uint64_t const rows = width > 4096 ? 40 : 300;
    table const data(rows, width);
    std::vector<float> scores(rows);
    for (std::uint64_t i = 0; i < rows; ++i) scores[i] = static_cast<float>(random_bits(3, 0, i) % 50);
    for (std::uint64_t kept : {std::uint64_t{0}, rows / 3, rows}) {
      tiered_options options;
      options.device = where();
      options.feature_cache = kept * width;
      options.scores = scores;
      tiered_tensor t(data.rows, options);
      for (gather_strategy strategy : strategies)
        for (gather_order order : orders) {
          if (!go_together(strategy, order) || !runs_at(where(), strategy)) continue;
          gather_options how;
          how.strategy = strategy, how.order = order;
          for (gather_duplicates duplicates : all_duplicates) {
            if (!go_together(strategy, duplicates)) continue;
            bool const repeated = duplicates != gather_duplicates::automatic;
            how.duplicates = duplicates;
            auto const ids = draw_ids(width > 4096 ? 90 : 700, rows, width, repeated);
            EXPECT_EQ(gathered(t, ids, how, repeated), serial(data, ids))
                << width << " bytes, " << to_string(strategy) << " " << to_string(order) << " " << to_string(duplicates) << ", "
                << t.about();
          }
        }
    }
  }
}

TEST_P(gather, tables_and_places_for_rows_may_lie_off_a_line) {
  for (std::uint64_t offset : {1, 2, 4, 8, 16, 60})
    for (std::uint64_t width : {16, 68, 300}) {
      table const data(200, width, element::u8, offset);
      tiered_options options;
      options.device = where();
      options.feature_cache = 50 * width;
      tiered_tensor t(data.rows, options);
      auto const ids = draw_ids(100, 200, offset, false);
      for (gather_strategy strategy : strategies)
        for (std::uint64_t out_offset : {std::uint64_t{0}, offset, std::uint64_t{3}}) {
          if (!runs_at(where(), strategy)) continue;
          for (gather_duplicates duplicates : all_duplicates) {
            if (!go_together(strategy, duplicates)) continue;
            gather_options how;
            how.strategy = strategy, how.duplicates = duplicates;
            EXPECT_EQ(gathered(t, ids, how, false, nullptr, out_offset), serial(data, ids))
                << offset << " " << width << " " << to_string(strategy) << " " << to_string(duplicates);
          }
        }
    }
}

TEST_P(gather, a_row_repeated_any_number_of_times) {
  table const data(10, 100);
  tiered_options options;
  options.device = where();
  options.feature_cache = 0;
  tiered_tensor t(data.rows, options);
  gather_options how;
  how.duplicates = gather_duplicates::once;
  for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed})
    for (std::uint64_t n : {1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000})
      for (std::uint64_t before : {0, 1, 63, 64, 100}) {
        std::vector<std::int64_t> ids(before, 2);
        ids.insert(ids.end(), n, 5);
        if (before) ids.insert(ids.end(), 7, 9);
        how.order = order;
        EXPECT_EQ(gathered(t, ids, how), serial(data, ids)) << to_string(order) << " " << n << " after " << before;
      }
}

TEST_P(gather, many_ids_that_repeat_and_collide) {
  // Enough for contention of all threads and teams in the hash table, at its fullest (n a power of two, few repeated), and with hubs.
  table const data(200000, 16);
  tiered_options options;
  options.device = where();
  options.feature_cache = 20000 * 16;
  tiered_tensor t(data.rows, options);
  for (gather_strategy strategy : {gather_strategy::aligned, gather_strategy::bulk})
    for (gather_order order : {gather_order::none, gather_order::bucketed})
      for (bool repeated : {false, true}) {
        if (!runs_at(where(), strategy)) continue;
        gather_options how;
        how.strategy = strategy, how.order = order, how.duplicates = gather_duplicates::once;
        auto const ids = draw_ids(1u << 17, 200000, 5, repeated);
        EXPECT_EQ(gathered(t, ids, how), serial(data, ids)) << to_string(strategy) << " " << to_string(order) << repeated;
        auto const few = draw_ids(3000, 200000, 6, repeated);  // in the buffers of the others
        EXPECT_EQ(gathered(t, few, how), serial(data, few)) << to_string(strategy) << " " << to_string(order) << repeated;
      }
}

TEST_P(gather, bad_ids_are_named_and_nothing_is_read_for_them) {
  table const data(100, 24);
  tiered_options options;
  options.device = where();
  options.feature_cache = 30 * 24;
  tiered_tensor t(data.rows, options);
  for (gather_strategy strategy : strategies)
    for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed}) {
      if (!go_together(strategy, order) || !runs_at(where(), strategy)) continue;
      gather_options how;
      how.strategy = strategy, how.order = order;
      if (strategy != gather_strategy::staged) how.duplicates = gather_duplicates::once;
      std::vector<std::int64_t> ids = draw_ids(5000, 100, 1, false);
      ids[4321] = 100, ids[17] = -3;
      errc code{};
      EXPECT_EQ(error_of([&] { gathered(t, ids, how); }, &code), "id -3 at position 17: this table has rows 0 to 99");
      EXPECT_EQ(code, errc::input);
      EXPECT_EQ(error_of([&] { gathered(t, ids, how, true); }), "id -3 at position 17: this table has rows 0 to 99");
      ids[17] = 3;
      EXPECT_EQ(error_of([&] { gathered(t, ids, how, true); }), "id 100 at position 4321: this table has rows 0 to 99");
      ids[4321] = 9;
      EXPECT_EQ(gathered(t, ids, how), serial(data, ids));  // and the tensor is unchanged
    }
  EXPECT_EQ(error_of([&] { gathered(t, {std::numeric_limits<std::int64_t>::min()}); }),
            "id -9223372036854775808 at position 0: this table has rows 0 to 99");
  EXPECT_EQ(error_of([&] { gathered(t, {std::numeric_limits<std::int64_t>::max()}); }),
            "id 9223372036854775807 at position 0: this table has rows 0 to 99");
  EXPECT_EQ(error_of([&] { t.gather({strategies.data(), 1, 2}, {}); }), "ids of 2 bytes; use 4 or 8");
  EXPECT_EQ(error_of([&] { t.gather({strategies.data(), 1, 4, true}, {}); }), "unsigned ids of 4 bytes; widen them to 8");
  executor x(where());
  auto const as_given = near_copy(x, std::vector<std::uint64_t>{3, ~std::uint64_t{0}});
  EXPECT_EQ(error_of([&] { t.hits({as_given.data(), 2, 8, true}); }), "id 18446744073709551615 at position 1: this table has rows 0 to 99");
  EXPECT_EQ(error_of([&] { t.hits({as_given.data(), 2, 8}); }), "id -1 at position 1: this table has rows 0 to 99");
  EXPECT_EQ(error_of([&] { t.gather({nullptr, 1, 8}, {}); }), "1 ids and no data");
  std::int64_t const id = 0;
  EXPECT_EQ(error_of([&] { t.gather({&id, 1, 8}, {}); }), "1 ids and no output for their rows; pass one");
  std::vector<std::uint8_t> small(t.row_bytes() - 1);
  EXPECT_EQ(error_of([&] {
              t.gather({&id, 1, 8}, small);
            }),
            fmt::format("1 rows take {} bytes, and the output has {}; pass a larger one", t.row_bytes(), small.size()));
}

TEST_P(gather, tables_of_no_and_one_row_and_no_ids) {
  for (std::uint64_t rows : {0, 1})
    for (std::uint64_t width : {0, 4}) {
      table const data(rows, width);
      tiered_options options;
      options.device = where();
      tiered_tensor t(data.rows, options);
      EXPECT_EQ(t.rows(), rows);
      EXPECT_EQ(t.gather({}, {}).rows, 0u);
      EXPECT_EQ(gathered(t, {}).size(), 0u);
      if (rows == 0) EXPECT_EQ(error_of([&] { gathered(t, {0}); }), "id 0 at position 0: this table has no rows");
      else EXPECT_EQ(gathered(t, {0, 0, 0}), serial(data, {0, 0, 0}));
    }
}

TEST_P(gather, many_batches_each_to_its_own_place) {
  constexpr std::uint64_t wall = 16;  // after the rows
  executor x(where());
  // Rows that the copy engine moves whole and others; some cached, or none.
  for (auto const& [width, kept, strategy, order] : [] {
         std::vector<std::tuple<std::uint64_t, std::uint64_t, gather_strategy, gather_order>> all;
         for (std::uint64_t width : {36u, 48u})
           for (std::uint64_t kept : {0u, 100u})
             for (gather_strategy strategy : {gather_strategy::automatic, gather_strategy::bulk})
               for (gather_order order : orders) all.emplace_back(width, kept, strategy, order);
         return all;
       }()) {
    if (!runs_at(where(), strategy)) continue;
    SCOPED_TRACE(fmt::format("{} bytes, {} kept, {} {}", width, kept, to_string(strategy), to_string(order)));
    table const data(500, width);
    tiered_options options;
    options.device = where();
    options.feature_cache = kept * width;
    tiered_tensor t(data.rows, options);
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{150}}) {
      std::vector<std::vector<std::int64_t>> ids;
      std::vector<buffer<std::int64_t>> near;
      std::vector<buffer<std::uint8_t>> outs;
      std::vector<id_span> batches;
      std::vector<row_output> places;
      for (std::size_t b = 0; b < count; ++b) {
        ids.push_back(draw_ids(b * 7 % 50, 500, b, true));  // some are empty
        near.push_back(near_copy(x, ids.back()));
        outs.push_back(near_copy(x, std::vector<std::uint8_t>(ids.back().size() * width + wall, 0xcd)));
        batches.push_back({near.back().data(), ids.back().size(), 8});
        places.push_back(outs.back());
      }
      gather_options how;
      for (gather_duplicates duplicates : all_duplicates) {
        how.strategy = strategy, how.order = order, how.duplicates = duplicates;
        EXPECT_EQ(t.gather_many(batches, places, how).strategy, strategy == gather_strategy::bulk ? strategy : gather_strategy::aligned);
        for (std::size_t b = 0; b < count; ++b) {
          auto right = serial(data, ids[b]);
          right.insert(right.end(), wall, 0xcd);
          EXPECT_EQ(host_copy(x, outs[b].data(), right.size()), right) << b << " " << to_string(duplicates);
          if (!ids[b].empty()) x.fill(outs[b].data(), 0, ids[b].size() * width);
        }
        x.wait();
      }
      if (count == 150) {
        ids[101][3] = -1;
        near[101] = near_copy(x, ids[101]);
        batches[101] = {near[101].data(), ids[101].size(), 8};
        EXPECT_EQ(error_of([&] { t.gather_many(batches, places, how); }), "id -1 at position 3 of batch 101: this table has rows 0 to 499");
      }
    }
  }
}

// --- conversion ---
float half_the_plain_way(std::uint16_t h) {
  int const exponent = h >> 10 & 31, mantissa = h & 1023;
  double const size = exponent == 31 ? (mantissa ? NAN : INFINITY)
                      : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                     : std::ldexp(mantissa, -24);
  return static_cast<float>(h >> 15 ? -size : size);
}
std::uint16_t brain_the_plain_way(float f) {
  if (std::isnan(f)) return 0x7fc0;
  std::uint32_t u;
  std::memcpy(&u, &f, 4);
  std::uint32_t const low = u & 0xffff;
  std::uint32_t up = u >> 16;
  if (low > 0x8000 || (low == 0x8000 && up % 2)) ++up;
  return static_cast<std::uint16_t>(up);
}

TEST_P(gather, conversions_give_the_same_bits_everywhere) {
  executor x(where());
  for (element kind : {element::f16, element::bf16, element::i8})
    for (element to : {element::f32, element::bf16}) {
      if (kind == to) continue;
      for (std::uint64_t width : {1, 3, 8, 301, 512}) {
        std::uint64_t const rows = kind == element::i8 ? 100 : 65536 / width + 1;  // all bits of 16
        table data(rows, width, kind);
        auto* const words = static_cast<std::uint16_t*>(const_cast<void*>(data.rows.data));
        if (kind != element::i8)
          for (std::uint64_t i = 0; i < rows * width; ++i) words[i] = static_cast<std::uint16_t>(i);
        std::vector<float> factors(kind == element::i8 ? rows : 0), others = factors;
        for (std::size_t i = 0; i < factors.size(); ++i)
          factors[i] = 0.37f * static_cast<float>(i), others[i] = -0.01f * static_cast<float>(i);
        tiered_options options;
        options.device = where();
        options.feature_cache = rows / 2 * data.rows.row_bytes();
        options.scales = factors;
        tiered_tensor t(data.rows, options);
        std::vector<std::int64_t> ids(rows);
        for (std::uint64_t i = 0; i < rows; ++i) ids[i] = static_cast<std::int64_t>(rows - 1 - i);
        for (gather_strategy strategy : strategies)
          for (bool own : {true, false}) {
            if ((!own && kind != element::i8) || strategy == gather_strategy::bulk) continue;
            gather_options how;
            how.strategy = strategy, how.to = to;
            if (!own) how.scales = others;
            auto const got = gathered(t, ids, how);
            if (strategy != gather_strategy::staged && own) {  // each row twice, the second copied from the first as converted
              how.order = gather_order::none, how.duplicates = gather_duplicates::once;
              auto twice = ids;
              twice.insert(twice.end(), ids.begin(), ids.end());
              auto right = got;
              right.insert(right.end(), got.begin(), got.end());
              EXPECT_EQ(gathered(t, twice, how), right) << to_string(kind) << " to " << to_string(to) << ", " << width;
            }
            std::uint64_t wrong = 0;
            for (std::uint64_t k = 0; k < rows * width; ++k) {
              std::uint64_t const id = rows - 1 - k / width, at = id * width + k % width;
              float f = 0;
              if (kind == element::i8)
                f = static_cast<float>(static_cast<std::int8_t const*>(data.rows.data)[at]) * (own ? factors : others)[id];
              else if (kind == element::f16) f = half_the_plain_way(words[at]);
              else {
                std::uint32_t const u = static_cast<std::uint32_t>(words[at]) << 16;
                std::memcpy(&f, &u, 4);
              }
              if (to == element::f32) {
                float g;
                std::memcpy(&g, got.data() + k * 4, 4);
                wrong += std::isnan(f) ? !std::isnan(g) : std::memcmp(&f, &g, 4) != 0;
              } else {
                std::uint16_t g;
                std::memcpy(&g, got.data() + k * 2, 2);
                wrong += std::isnan(f) ? (g & 0x7fff) <= 0x7f80 : g != brain_the_plain_way(f);
              }
            }
            EXPECT_EQ(wrong, 0u) << to_string(kind) << " to " << to_string(to) << ", " << width << " " << to_string(strategy);
          }
      }
    }
  table const data(3, 4, element::f32);
  tiered_options options;
  options.device = where();
  tiered_tensor t(data.rows, options);
  gather_options how;
  how.to = element::bf16;
  EXPECT_EQ(error_of([&] { gathered(t, {1}, how); }),
            "rows of f32 cannot be written as bf16; f16, bf16 and i8 become f32 or bf16, others are converted before they are a table");
  table const halves(3, 4, element::f16);
  tiered_tensor h(halves.rows, options);
  how.strategy = gather_strategy::bulk;
  EXPECT_EQ(error_of([&] { gathered(h, {1}, how); }),
            "the copy engine brings rows as they are and converts none; use aligned, or no conversion");
}

// --- what crosses the link ---
traffic simulated(std::uint64_t width, std::vector<std::int64_t> const& ids, gather_strategy strategy, std::uint64_t kept = 0,
                  gather_order order = gather_order::none, gather_duplicates duplicates = gather_duplicates::automatic) {
  table const data(4000, width);
  tiered_options options;
  options.device = {device_kind::simulated, 0};
  options.feature_cache = kept * width;
  tiered_tensor t(data.rows, options);
  gather_options how;
  how.strategy = strategy, how.order = order, how.duplicates = duplicates;
  gather_run run;
  EXPECT_EQ(gathered(t, ids, how, false, &run), serial(data, ids));
  EXPECT_EQ(run.strategy, strategy);
  return run.link;
}
TEST(simulated_gather, figure_3_5_of_the_dissertation) {
  GARNER_NEEDS_COUNTS();
  // Eight of four steps that each meet two lines; but the last three steps leave together, and meet in lines.
  EXPECT_EQ(simulated(480, {1}, gather_strategy::naive).request_count(), 6u);
  EXPECT_EQ(simulated(480, {1}, gather_strategy::shifted).request_count(), 5u);
  EXPECT_EQ(simulated(480, {1}, gather_strategy::aligned).request_count(), 5u);
  EXPECT_EQ(simulated(480, {1}, gather_strategy::shifted).bytes_useful, 480u);
}
TEST(simulated_gather, rows_of_602_floats) {
  GARNER_NEEDS_COUNTS();
  // Row 3 begins 56 B into a line: 72 + 18 * 128 + 32 bytes; unaligned, each of 19 steps touches two lines,
  // of which three of every four steps share some: 4 rounds of 2 + 4 requests, and one of 2 + 3.
  traffic const naive = simulated(2408, {3}, gather_strategy::naive), shifted = simulated(2408, {3}, gather_strategy::shifted),
                aligned = simulated(2408, {3}, gather_strategy::aligned);
  EXPECT_EQ(naive.request_count(), 29u);
  EXPECT_EQ(shifted.request_count(), 20u);
  EXPECT_EQ(aligned.request_count(), 20u);
  EXPECT_EQ(aligned.requests[3], 18u);
  EXPECT_EQ(aligned.bytes_useful, 2408u);
}
TEST(simulated_gather, shorter_than_a_line_or_of_whole_lines_is_not_shifted) {
  for (std::uint64_t width : {64, 100, 128, 512})
    EXPECT_EQ(simulated(width, {1, 5, 3}, gather_strategy::shifted), simulated(width, {1, 5, 3}, gather_strategy::naive)) << width;
}
TEST(simulated_gather, near_rows_ask_nothing_of_the_link_and_repeated_ones_once) {
  GARNER_NEEDS_COUNTS();
  EXPECT_EQ(simulated(512, {0, 1, 2}, gather_strategy::aligned, 3).request_count(), 0u);
  EXPECT_EQ(simulated(512, {0, 1, 3}, gather_strategy::aligned, 3).request_count(), 4u);
  std::vector<std::int64_t> const same(64, 7);
  for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed}) {
    EXPECT_EQ(simulated(512, same, gather_strategy::aligned, 0, order).request_count(), 4u) << to_string(order);
    EXPECT_EQ(simulated(512, same, gather_strategy::aligned, 0, order, gather_duplicates::repeat).request_count(), 4u * 64 / 8)
        << to_string(order);  // a block's warps share
  }
  EXPECT_EQ(simulated(512, {0, 1, 3}, gather_strategy::bulk, 3, gather_order::bucketed).request_count(), 4u);
}
TEST(simulated_gather, reads_each_far_row_once_in_every_way_and_order) {
  GARNER_NEEDS_COUNTS();
  // Rows of whole units of the copy engine, so that exactly the rows are read. No group is so long that it is split.
  for (std::uint64_t width : {16, 48, 128, 512, 2416}) {
    table const data(1000, width);
    auto ids = draw_ids(1200, 1000, width, false);
    for (std::int64_t id : draw_ids(800, 50, width + 1, false)) ids.push_back(id * 20);
    auto const right = serial(data, ids);
    for (std::uint64_t kept : {0, 300}) {
      std::uint64_t asked = 0;
      std::set<std::int64_t> distinct;
      for (std::int64_t id : ids)
        if (static_cast<std::uint64_t>(id) >= kept) ++asked, distinct.insert(id);
      tiered_options options;
      options.device = {device_kind::simulated, 0};
      options.feature_cache = kept * width;
      tiered_tensor t(data.rows, options);
      for (gather_strategy strategy : {gather_strategy::naive, gather_strategy::shifted, gather_strategy::aligned, gather_strategy::bulk})
        for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed}) {
          SCOPED_TRACE(fmt::format("{} bytes, {} kept, {} {}", width, kept, to_string(strategy), to_string(order)));
          gather_options how;
          how.strategy = strategy, how.order = order;
          gather_run run;
          EXPECT_EQ(gathered(t, ids, how, false, &run), right);
          if (strategy == gather_strategy::bulk && order == gather_order::sorted) {  // it splits groups at each 1,024th position
            EXPECT_GE(run.link.bytes_useful, distinct.size() * width);
            EXPECT_LE(run.link.bytes_useful, (distinct.size() + ids.size() / 1024) * width);
          } else {
            EXPECT_EQ(run.link.bytes_useful, distinct.size() * width);
          }
          how.duplicates = gather_duplicates::repeat;
          EXPECT_EQ(gathered(t, ids, how, false, &run), right);
          if (strategy == gather_strategy::bulk)
            EXPECT_GE(run.link.bytes_useful, distinct.size() * width);  // the engine detects adjacent duplicates
          else EXPECT_EQ(run.link.bytes_useful, asked * width);
        }
    }
  }
}
TEST(simulated_gather, automatic_reads_each_far_row_once_unless_that_would_show) {
  GARNER_NEEDS_COUNTS();
  // 40 MB of rows: a table within reach, where translations need no order. 200 KB: even one more launch would show.
  for (auto const& [n, once] : {std::pair{10000, true}, {50, false}}) {
    table const data(3000, 4096);
    tiered_options options;
    options.device = {device_kind::simulated, 0};
    options.feature_cache = 0;
    tiered_tensor t(data.rows, options);
    auto ids = draw_ids(static_cast<std::uint64_t>(n) / 2, 3000, 1, false);
    ids.insert(ids.end(), ids.begin(), ids.end());
    std::set<std::int64_t> const distinct(ids.begin(), ids.end());
    gather_run run;
    EXPECT_EQ(gathered(t, ids, {}, false, &run), serial(data, ids));
    EXPECT_EQ(run.duplicates, once ? gather_duplicates::once : gather_duplicates::repeat) << run.why;
    EXPECT_EQ(run.link.bytes_useful, (once ? distinct.size() : ids.size()) * 4096) << run.why;
    gather_options how;
    how.duplicates = gather_duplicates::once;
    EXPECT_EQ(gathered(t, ids, how, false, &run), serial(data, ids));
    EXPECT_EQ(run.link.bytes_useful, distinct.size() * 4096) << run.why;
    how.duplicates = gather_duplicates::repeat;
    EXPECT_EQ(gathered(t, ids, how, false, &run), serial(data, ids));
    EXPECT_EQ(run.link.bytes_useful, ids.size() * 4096) << run.why;
  }
}
TEST(simulated_gather, several_batches_cross_once_by_the_copy_engine_too) {
  GARNER_NEEDS_COUNTS();
  table const data(4000, 512);
  tiered_options options;
  options.device = {device_kind::simulated, 0};
  options.feature_cache = 100 * 512;
  tiered_tensor t(data.rows, options);
  std::vector<std::int64_t> const ids{5, 700, 3000, 700, 99, 3000};  // two remote rows, twice each
  std::vector<std::uint8_t> out(2 * ids.size() * 512);
  std::vector<id_span> const batches{{ids.data(), ids.size(), 8}, {ids.data(), ids.size(), 8}};
  std::uint64_t const half = out.size() / 2;
  std::vector<row_output> const outs{{out.data(), half}, {out.data() + half, half}};
  gather_options how;
  how.strategy = gather_strategy::bulk;
  gather_run const run = t.gather_many(batches, outs, how);
  EXPECT_EQ(run.order, gather_order::sorted);
  EXPECT_EQ(run.link.request_count(), 2u * 4);
  EXPECT_EQ(run.link.bytes_useful, 2u * 512);
}

}  // namespace
}  // namespace garner

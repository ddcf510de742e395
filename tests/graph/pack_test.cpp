// Compressed adjacency against the original values.
#include "graph/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "generated.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;

// Lists of many lengths and spreads; kind chooses.
struct lists {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> values;
};
lists random_lists(std::uint64_t seed) {
  lists l;
  std::uint64_t const n = 1 + random_bits(seed, 1, 0) % 300;
  for (std::uint64_t v = 0; v < n; ++v) {
    std::uint64_t const kind = random_bits(seed, 2, v) % 6;
    std::uint64_t const length = kind == 0 ? 0 : kind == 1 ? 1 : kind < 4 ? random_bits(seed, 3, v) % 7 : random_bits(seed, 3, v) % 400;
    std::uint32_t const spread = kind == 5 ? ~0u : 1u << random_bits(seed, 4, v) % 31;
    std::vector<std::uint32_t> list;
    for (std::uint64_t k = 0; k < length; ++k) list.push_back(static_cast<std::uint32_t>(random_bits(seed, 100 + v, k)) % spread);
    if (seed % 7) std::sort(list.begin(), list.end());
    l.values.insert(l.values.end(), list.begin(), list.end());
    l.offsets.push_back(l.values.size());
  }
  return l;
}

TEST(pack, gives_back_what_was_packed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    lists const l = random_lists(seed);
    for (bool with_lists : {true, false}) {
      packed_array const p =
          pack_values(l.values.data(), l.values.size(), with_lists ? l.offsets.data() : nullptr, l.offsets.size() - 1, tier::host, -1);
      check_directory(p, l.values.size(), "a test");
      EXPECT_LE(p.bytes(), most_packed_bytes(l.values.size()));
      std::vector<std::uint32_t> back(l.values.size());
      unpack_values(p, back.size(), back.data());
      ASSERT_EQ(back, l.values) << "seed " << seed << " lists " << with_lists;
    }
  }
}

// Decoding begins at a list, in the middle of a block, and may stop anywhere.
TEST(pack, any_part_in_turn) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    lists const l = random_lists(seed);
    std::uint64_t const n = l.values.size();
    for (bool with_lists : {true, false}) {
      packed_array const p = pack_values(l.values.data(), n, with_lists ? l.offsets.data() : nullptr, l.offsets.size() - 1, tier::host, -1);
      for (std::uint64_t k = 0; k < 50 && n; ++k) {
        std::uint64_t const begin = random_bits(seed, 50, k) % n,
                            end = begin + random_bits(seed, 51, k) % std::min<std::uint64_t>(100, n - begin + 1),
                            most = random_bits(seed, 52, k) % 70;
        std::vector<std::uint32_t> got;
        std::uint64_t next = begin;
        bool const stopped = each_in_turn(p.view(), begin, end, [&](std::uint32_t v, std::uint64_t i) {
          EXPECT_EQ(i, next++);
          got.push_back(v);
          return got.size() > most;
        });
        std::uint64_t const length = std::min(end - begin, most + 1);
        EXPECT_EQ(stopped, end - begin > most);
        ASSERT_EQ(got, std::vector<std::uint32_t>(l.values.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  l.values.begin() + static_cast<std::ptrdiff_t>(begin + length)))
            << "seed " << seed << " lists " << with_lists << " from " << begin << " to " << end;
      }
    }
  }
}

// Decoding a block gives the same as element by element, and no more than was requested.
TEST(pack, blocks_at_once) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    lists const l = random_lists(seed);
    std::uint64_t const n = l.values.size();
    for (bool with_lists : {true, false}) {
      packed_array const p = pack_values(l.values.data(), n, with_lists ? l.offsets.data() : nullptr, l.offsets.size() - 1, tier::host, -1);
      for (std::uint64_t b = 0; b * 32 < n; ++b)
        for (std::uint64_t count : {std::uint64_t{32}, std::uint64_t{1}, random_bits(seed, 60, b) % 33}) {
          count = std::min(count, n - b * 32);
          std::uint32_t got[33];
          std::fill(std::begin(got), std::end(got), 0xabcdu);
          unpack_block(p.view(), b, static_cast<std::uint32_t>(count), got);
          for (std::uint64_t k = 0; k < count; ++k)
            ASSERT_EQ(got[k], l.values[b * 32 + k]) << "seed " << seed << " block " << b << " " << k;
          ASSERT_EQ(got[count], 0xabcdu);
        }
    }
  }
}

TEST(pack, more_blocks_than_a_group_holds) {
  std::vector<std::uint32_t> values(packed_directory::blocks_a_group * 32 * 2 + 77);
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(random_bits(3, 0, i));
  packed_array const p = pack_values(values.data(), values.size(), nullptr, 0, tier::host, -1);
  check_directory(p, values.size(), "a test");
  std::vector<std::uint32_t> back(values.size());
  unpack_values(p, back.size(), back.data());
  EXPECT_EQ(back, values);
}

TEST(pack, a_kronecker_graph_shrinks) {
  generate_options gen;
  gen.scale = 14;
  gen.build.random_weights = build_options::weight_options{weight_kind::u32, 8, 72, 1};
  graph g = generated(gen);
  std::uint64_t const plain = g.out.targets.bytes(), plain_weights = g.out.weights.bytes();
  pack(g);
  EXPECT_TRUE(g.info.compressed);
  EXPECT_LT(g.out.packed_targets.bytes() * 5, plain * 3);
  EXPECT_LT(g.out.packed_weights.bytes() * 3, plain_weights);
}

// A team reads the original values from a compressed segment: every element once, by its index.
struct copy_runs {
  arc_array<std::uint32_t> from, beside;
  std::uint64_t const* offsets;
  std::uint32_t *to, *to_beside;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    span<std::uint32_t> const list = from.part(offsets[v], offsets[v + 1]);
    t.each(list, [&](std::uint32_t e, std::uint64_t i) { atomic_add(to + i, e); });
    t.each(list, beside.part(list.begin, list.end),
           [&](std::uint32_t e, std::uint32_t w, std::uint64_t i) { atomic_add(to_beside + i, e ^ w); });
  }
};

template <int Width>
void teams_read(execution_device where, access_mode how) {
  executor x(where);
  int const device = x.device();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    lists const l = random_lists(seed);
    std::uint64_t const m = l.values.size(), n = l.offsets.size() - 1;
    packed_array const p = pack_values(l.values.data(), m, l.offsets.data(), n, tier::host, device);
    buffer<std::uint32_t> const to(tier::host, m, device, "a test"), both(tier::host, m, device, "a test"),
        plain(tier::host, m + 1, device, "a test");
    buffer<std::uint64_t> const offsets(tier::host, n + 1, device, "a test");
    std::copy(l.values.begin(), l.values.end(), plain.begin());
    std::copy(l.offsets.begin(), l.offsets.end(), offsets.begin());
    buffer<std::uint32_t> const near_to(x.near(), m, device, "a test"), near_both(x.near(), m, device, "a test");
    x.fill(near_to.data(), 0, near_to.bytes());
    x.fill(near_both.data(), 0, near_both.bytes());
    arc_array<std::uint32_t> packed, beside;
    packed.packed = p.view();
    beside.data = plain.data();
    for_each_item<Width>(x, n, copy_runs{packed, beside, offsets.data(), near_to.data(), near_both.data()}, how);
    x.copy(to.data(), near_to.data(), to.bytes());
    x.copy(both.data(), near_both.data(), both.bytes());
    x.wait();
    for (std::uint64_t k = 0; k < m; ++k) ASSERT_EQ(to[k], l.values[k]) << "element " << k << ", seed " << seed << ", width " << Width;
    EXPECT_TRUE(std::all_of(both.begin(), both.end(), [](std::uint32_t b) { return b == 0; })) << "seed " << seed << " width " << Width;
  }
}

class packed_runs : public at_place {};
TEST_P(packed_runs, are_read_by_teams_from_anywhere) {
  teams_read<32>(where(), access_mode::aligned);
  teams_read<8>(where(), access_mode::merged);
  teams_read<1>(where(), access_mode::strided);
}
GARNER_AT_EVERY_PLACE(packed_runs);

TEST(pack, a_damaged_directory_is_an_error) {
  lists const l = random_lists(9);
  auto const damaged = [&](auto damage) {
    packed_array p = pack_values(l.values.data(), l.values.size(), l.offsets.data(), l.offsets.size() - 1, tier::host, -1);
    damage(p);
    errc code{};
    std::string const what = error_of([&] { check_directory(p, l.values.size(), "f.gnr: out words"); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_NE(what.find("f.gnr: out words"), std::string::npos) << what;
    EXPECT_NE(what.find("convert the graph again"), std::string::npos) << what;
  };
  damaged([](packed_array& p) { p.blocks[1] ^= 1u << 18; });
  damaged([](packed_array& p) { p.blocks[1] ^= 1u << 24; });
  damaged([](packed_array& p) { p.blocks[1] += 1; });
  damaged([](packed_array& p) { p.blocks[0] += 1; });
  damaged([](packed_array& p) { p.groups[0] = ~std::uint64_t{0}; });
  damaged([](packed_array& p) { p.blocks[p.blocks.size() - 1] -= 1; });
}

}  // namespace
}  // namespace garner

// For tests of the graph file: its bytes, sealed anew after a change, and random graphs to save.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>

#include "core/random.hpp"
#include "folder.hpp"
#include "garner/error.hpp"
#include "graph/container.hpp"

namespace garner::testing {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

struct container : ::testing::Test, own_folder {};

using bytes = std::vector<unsigned char>;
inline bytes contents(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void put(fs::path const& file, bytes const& b) {
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<char const*>(b.data()), static_cast<std::streamsize>(b.size()));
}
template <class T>
T get(bytes const& b, std::size_t at) {
  T value;
  std::memcpy(&value, b.data() + at, sizeof value);
  return value;
}
template <class T>
void set(bytes& b, std::size_t at, T value) {
  std::memcpy(b.data() + at, &value, sizeof value);
}

// The file as an independent writer would seal it, from docs/reference/file-formats.md alone, so that a checksum does not hide an inner
// error.
inline void seal(bytes& b) {
  auto const sections = get<std::uint32_t>(b, 52);
  for (std::size_t i = 0; i < std::min<std::size_t>(sections, 61); ++i) {
    std::size_t const entry = 128 + 64 * i;
    auto const offset = get<std::uint64_t>(b, entry + 8), size = get<std::uint64_t>(b, entry + 16);
    if (offset > b.size() || size > b.size() - offset) continue;
    std::vector<std::uint64_t> sums;
    for (std::uint64_t k = 0; k < size; k += 4 << 20)
      sums.push_back(XXH3_64bits(b.data() + offset + k, std::min<std::uint64_t>(4 << 20, size - k)));
    set(b, entry + 24, XXH3_64bits(sums.data(), 8 * sums.size()));
  }
  set(b, 4088, XXH3_64bits(b.data(), 4088));
}

struct shape {
  std::uint64_t vertices = 0, edges = 0;
  std::uint32_t id_bytes = 4;
  weight_kind weights = weight_kind::none;
  bool directed = false, in_edges = false, id_map = false;
  std::uint64_t id_base = 0;
  vertex_order order = vertex_order::natural;
};

// Random lists that keep the CSR invariant; in-edges need not match out-edges, which the file does not require.
inline edge_lists random_lists(shape const& s, std::uint64_t seed) {
  std::vector<std::vector<std::uint64_t>> lists(s.vertices);
  for (std::uint64_t e = 0; e < s.edges; ++e) lists[random_bits(seed, 0, e) % s.vertices].push_back(random_bits(seed, 1, e) % s.vertices);
  edge_lists result;
  result.offsets = buffer<std::uint64_t>(tier::host, s.vertices + 1, -1, "test");
  result.targets = memory_block(tier::host, s.edges * s.id_bytes, -1, "test");
  std::uint64_t n = 0;
  result.offsets[0] = 0;
  for (std::uint64_t v = 0; v < s.vertices; ++v) {
    std::sort(lists[v].begin(), lists[v].end());
    for (std::uint64_t t : lists[v]) std::memcpy(static_cast<char*>(result.targets.data()) + s.id_bytes * n++, &t, s.id_bytes);
    result.offsets[v + 1] = n;
  }
  if (s.weights != weight_kind::none) {
    result.weights = memory_block(tier::host, s.edges * 4, -1, "test");
    for (std::uint64_t e = 0; e < s.edges; ++e)
      static_cast<std::uint32_t*>(result.weights.data())[e] = static_cast<std::uint32_t>(random_bits(seed, 2, e));
  }
  return result;
}
inline graph random_graph(shape const& s, std::uint64_t seed = 1) {
  graph g;
  g.info = {s.vertices, s.edges, s.id_bytes, s.weights, s.directed, s.in_edges, s.id_map, s.id_base, s.order};
  g.out = random_lists(s, seed);
  if (s.in_edges) g.in = random_lists(s, seed + 1);
  if (s.id_map) {
    g.ids = buffer<std::uint64_t>(tier::host, s.vertices, -1, "test");
    for (std::uint64_t v = 0; v < s.vertices; ++v) g.ids[v] = 10 * v + random_bits(seed, 3, v) % 10;
  }
  if (s.order == vertex_order::natural) return g;
  // The ids in another order: the vertex at index k is 7 k + 3, a permutation unless 7 divides their number.
  std::vector<std::uint64_t> const ascending(g.ids.begin(), g.ids.end());
  g.by_id = memory_block(tier::host, s.vertices * s.id_bytes, -1, "test");
  for (std::uint64_t k = 0; k < s.vertices; ++k) {
    std::uint64_t const v = (7 * k + 3) % s.vertices;
    g.ids[v] = ascending[k];
    std::memcpy(static_cast<char*>(g.by_id.data()) + k * s.id_bytes, &v, s.id_bytes);
  }
  return g;
}
inline load_options everything(graph_info const& info) { return {.in_edges = info.in_edges, .weights = info.weights != weight_kind::none}; }
// The message of f(), "" without an exception.
template <class F>
std::string message_of(F&& f, errc code = errc::input) {
  try {
    f();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_THAT(e.what(), ::testing::Not(HasSubstr("\n")));
    return e.what();
  }
  return "";
}

constexpr weight_kind none = weight_kind::none, u32 = weight_kind::u32, f32 = weight_kind::f32;

}  // namespace garner::testing

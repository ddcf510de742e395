// Graph files of compressed graphs and of cached neighbors: they survive a round trip, and damage is reported.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/random.hpp"
#include "folder.hpp"
#include "graph/container.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "support.hpp"
#include "traverse/cached_neighbors.hpp"

namespace garner {
namespace {

using namespace testing;
namespace fs = std::filesystem;

struct packed_container : ::testing::Test, own_folder {
  static graph sample(bool directed, bool weighted) {
    edge_list e;
    e.vertices = 2000;
    e.undirected = !directed;
    e.source = "a test";
    if (weighted) e.weights_are = weight_kind::u32;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      e.arcs.push_back({i % 4 ? random_bits(1, 0, i) % 2000 : 7, random_bits(1, 1, i) % 2000});
      if (weighted) e.weights.push_back(static_cast<std::uint32_t>(random_bits(1, 2, i) % 65 + 8));
    }
    build_options o;
    o.in_edges = directed;
    build_report report;
    return build_graph(std::move(e), o, report);
  }
  static std::vector<std::uint32_t> words(memory_block const& b) {
    auto const* p = static_cast<std::uint32_t const*>(b.data());
    return {p, p + b.bytes() / 4};
  }
};

TEST_F(packed_container, holds_what_was_saved) {
  for (bool directed : {false, true})
    for (bool weighted : {false, true}) {
      std::uint32_t const cached_neighbors = directed ? 4 : 3;
      graph const plain = sample(directed, weighted);
      graph g = sample(directed, weighted);
      keep_cached_neighbors(g, {device_kind::cpu, 0}, cached_neighbors);
      pack(g);
      fs::path const file = folder / "g.gnr";
      save_graph(g, file);
      check_container(file);
      container_header const h = read_header(file);
      EXPECT_TRUE(h.info.compressed);
      EXPECT_EQ(h.cached_neighbors, cached_neighbors);
      load_options how;
      how.weights = weighted;
      how.in_edges = directed;
      graph back = load_graph(file, how);
      EXPECT_EQ(back.cached_per_vertex, cached_neighbors);
      EXPECT_TRUE(
          std::equal(g.cached_neighbors.begin(), g.cached_neighbors.end(), back.cached_neighbors.begin(), back.cached_neighbors.end()));
      EXPECT_EQ(words(back.out.packed_targets.words), words(g.out.packed_targets.words));
      unpack(back);
      EXPECT_EQ(words(back.out.targets), words(plain.out.targets));
      EXPECT_EQ(words(back.out.weights), words(plain.out.weights));
      EXPECT_EQ(words(back.in.targets), words(plain.in.targets));
      EXPECT_EQ(words(back.in.weights), words(plain.in.weights));
    }
}

// Compression makes ids 4 bytes wide; the table by id must follow.
TEST_F(packed_container, a_reordered_graph_of_wide_ids_is_read_again) {
  for (auto by : {vertex_order::degree, vertex_order::bfs, vertex_order::random}) {
    build_options wide;
    wide.id_bytes = 8;
    graph g = reorder(make_graph({{0, 1}, {2, 1}, {3, 1}, {3, 4}}, true, 0, wide), {.by = by});
    std::vector<std::uint64_t> order(g.ids.begin(), g.ids.end());
    pack(g);
    save_graph(g, folder / "g.gnr");
    check_container(folder / "g.gnr");
    graph const back = load_graph(folder / "g.gnr");
    EXPECT_EQ(std::vector<std::uint64_t>(back.ids.begin(), back.ids.end()), order);
    for (std::uint64_t v = 0; v < 5; ++v) EXPECT_EQ(back.user_id(back.internal_id(v)), v);
  }
}

TEST_F(packed_container, a_hint_out_of_range_is_told) {
  for (std::uint32_t count : {3u, 4u}) {
    graph g = sample(true, false);
    keep_cached_neighbors(g, {device_kind::cpu, 0}, count);
    g.cached_neighbors[5 * 3 + 1] = 0xfffeu << 8;  // of four: the second and third of vertex 5
    fs::path const file = folder / "g.gnr";
    save_graph(g, file);
    errc code{};
    load_options how;
    how.in_edges = true;
    std::string const text = error_of([&] { load_graph(file, how); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_NE(text.find("hint 1 of vertex 5 (byte "), std::string::npos) << text;
  }
}

TEST_F(packed_container, every_damaged_byte_is_told) {
  graph g = sample(true, true);
  keep_cached_neighbors(g, {device_kind::cpu, 0}, 4);
  pack(g);
  fs::path const file = folder / "g.gnr", bad = folder / "bad.gnr";
  save_graph(g, file);
  std::ifstream in(file, std::ios::binary);
  std::vector<char> const all{std::istreambuf_iterator<char>(in), {}};
  load_options how;
  how.weights = how.in_edges = true;
  for (std::uint64_t i = 0; i < 300; ++i) {
    std::vector<char> data = all;
    std::size_t const at = i < 100 ? i * 2 : random_bits(5, 0, i) % data.size();
    data[at] = static_cast<char>(data[at] ^ 1 << i % 8);
    std::ofstream(bad, std::ios::binary).write(data.data(), static_cast<std::streamsize>(data.size()));
    errc code{};
    error_of([&] { load_graph(bad, how); }, &code);
    EXPECT_EQ(code, errc::input) << "byte " << at;
  }
}

// For every section of the file: its first, middle and last byte.
TEST_F(packed_container, a_flipped_bit_of_any_section_is_told_with_its_name) {
  fs::path const file = folder / "g.gnr", bad = folder / "bad.gnr";
  std::set<section_kind> seen;
  for (bool packed : {false, true}) {
    graph g = sample(true, true);
    if (!packed) g = graph_access::take(reorder_graph(graph_access::wrap(std::move(g)), {vertex_order::degree}));
    keep_cached_neighbors(g, {device_kind::cpu, 0}, packed ? 4 : 2);
    if (packed) pack(g);
    save_graph(g, file);
    check_container(file);
    std::ifstream in(file, std::ios::binary);
    std::vector<char> const all{std::istreambuf_iterator<char>(in), {}};
    for (container_section const& s : read_header(file).sections) {
      seen.insert(s.kind);
      for (std::uint64_t const at : {s.offset, s.offset + s.bytes / 2, s.offset + s.bytes - 1}) {
        std::vector<char> data = all;
        data[at] = static_cast<char>(data[at] ^ 4);
        std::ofstream(bad, std::ios::binary).write(data.data(), static_cast<std::streamsize>(data.size()));
        std::string const what = error_of([&] { check_container(bad); });
        EXPECT_NE(what.find("bad.gnr: " + s.name + " (bytes"), std::string::npos) << what;
        EXPECT_NE(what.find("checksum"), std::string::npos) << what;
      }
    }
  }
  EXPECT_EQ(seen.size(), 21u) << "every kind but none";
}

// Behind valid checksums, as from a defective writer: a target out of range inside a compressed list, a descending list.
TEST_F(packed_container, codes_that_lead_astray_are_told) {
  fs::path const file = folder / "g.gnr";
  auto const told = [&](auto damage) {
    graph g = sample(false, false);
    damage(g);
    pack(g);
    save_graph(g, file);
    errc code{};
    std::string const what = error_of([&] { load_graph(file); }, &code);
    EXPECT_EQ(code, errc::input);
    return what;
  };
  std::string const far = told([](graph& g) { static_cast<std::uint32_t*>(g.out.targets.data())[g.info.edges - 1] = 2000; });
  EXPECT_NE(far.find("leads to vertex 2000 but there are 2000 vertices"), std::string::npos) << far;
  std::string const down = told([](graph& g) {
    auto* t = static_cast<std::uint32_t*>(g.out.targets.data()) + g.out.offsets[7];
    std::swap(t[0], t[g.out.offsets[8] - g.out.offsets[7] - 1]);
  });
  EXPECT_NE(down.find("breaks the ascending order"), std::string::npos) << down;
}

}  // namespace
}  // namespace garner

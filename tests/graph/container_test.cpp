// The graph file: round trips are byte-identical, and every error in a file is detected.
#include "graph/container.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

#include "core/device.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "folder.hpp"
#include "garner/error.hpp"
#include "memory/budget.hpp"

using namespace garner;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

struct container : ::testing::Test, garner::testing::own_folder {};

using bytes = std::vector<unsigned char>;
bytes contents(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void put(fs::path const& file, bytes const& b) {
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
void seal(bytes& b) {
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
edge_lists random_lists(shape const& s, std::uint64_t seed) {
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
graph random_graph(shape const& s, std::uint64_t seed = 1) {
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
load_options everything(graph_info const& info) {
  load_options how;
  how.in_edges = info.in_edges;
  how.weights = info.weights != weight_kind::none;
  return how;
}
void expect_same(void const* a, void const* b, std::size_t n) {
  if (n) {
    EXPECT_EQ(std::memcmp(a, b, n), 0);
  }
}
void expect_same(edge_lists const& a, edge_lists const& b) {
  ASSERT_EQ(a.offsets.bytes(), b.offsets.bytes());
  ASSERT_EQ(a.targets.bytes(), b.targets.bytes());
  ASSERT_EQ(a.weights.bytes(), b.weights.bytes());
  expect_same(a.offsets.data(), b.offsets.data(), a.offsets.bytes());
  expect_same(a.targets.data(), b.targets.data(), a.targets.bytes());
  expect_same(a.weights.data(), b.weights.data(), a.weights.bytes());
}
void expect_same(graph const& a, graph const& b) {
  EXPECT_EQ(a.info.vertices, b.info.vertices);
  EXPECT_EQ(a.info.edges, b.info.edges);
  EXPECT_EQ(a.info.id_bytes, b.info.id_bytes);
  EXPECT_EQ(a.info.weights, b.info.weights);
  EXPECT_EQ(a.info.directed, b.info.directed);
  EXPECT_EQ(a.info.in_edges, b.info.in_edges);
  EXPECT_EQ(a.info.id_map, b.info.id_map);
  EXPECT_EQ(a.info.id_base, b.info.id_base);
  EXPECT_EQ(a.info.order, b.info.order);
  expect_same(a.out, b.out);
  expect_same(a.in, b.in);
  ASSERT_EQ(a.ids.bytes(), b.ids.bytes());
  expect_same(a.ids.data(), b.ids.data(), a.ids.bytes());
  ASSERT_EQ(a.by_id.bytes(), b.by_id.bytes());
  expect_same(a.by_id.data(), b.by_id.data(), a.by_id.bytes());
}

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

TEST_F(container, round_trips_keep_every_array_and_every_byte) {
  std::vector<shape> const shapes{{0, 0},
                                  {1, 0},
                                  {1, 3},
                                  {7, 0, 8, u32},
                                  {0, 0, 8, f32, true, true, true},
                                  {100, 1000},
                                  {100, 1000, 8},
                                  {100, 1000, 4, u32, true, true},
                                  {100, 1000, 8, f32, true, true, true},
                                  {100, 1000, 4, f32, false, false, true},
                                  {100, 1000, 4, none, true, false, false, 1},
                                  {100, 1000, 4, u32, true, true, true, 0, vertex_order::degree},
                                  {100, 1000, 8, none, false, false, true, 0, vertex_order::bfs},
                                  {0, 0, 8, none, false, false, true, 0, vertex_order::random},
                                  {200'001, 1000, 4, none, false, false, true, 0, vertex_order::random},
                                  {512, 1024, 4, u32, true, true, true},  // sections that end on a page
                                  {5000, 5'000'000, 4, u32},              // more than one block, more than one bounce buffer
                                  {700'000, 2'100'000, 8, none, true, true, false, 1}};
  for (auto const& s : shapes) {
    SCOPED_TRACE(::testing::Message() << s.vertices << " vertices, " << s.edges << " edges, ids of " << s.id_bytes);
    graph const g = random_graph(s);
    save_graph(g, at("a.gnr"));
    graph const back = load_graph(at("a.gnr"), everything(g.info));
    expect_same(g, back);
    check_container(at("a.gnr"));
    save_graph(back, at("b.gnr"));
    EXPECT_TRUE(contents(at("a.gnr")) == contents(at("b.gnr")));
    load_options how = everything(g.info);
    how.check = false;
    expect_same(g, load_graph(at("a.gnr"), how));
    auto const offsets = load_offsets(at("a.gnr"));
    expect_same(g.out.offsets.data(), offsets.data(), g.out.offsets.bytes());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(container, the_bytes_are_those_of_the_definition) {
  shape s{3, 4, 4, u32, true, false, true};
  graph g = random_graph(s);
  save_graph(g, at("a.gnr"));
  bytes const b = contents(at("a.gnr"));
  ASSERT_EQ(b.size(), 5 * 4096u);
  bytes const magic{0x89, 'G', 'N', 'R', '\r', '\n', 0x1a, '\n'};
  EXPECT_TRUE(std::equal(magic.begin(), magic.end(), b.begin()));
  EXPECT_EQ(get<std::uint32_t>(b, 8), 1u);
  EXPECT_EQ(get<std::uint32_t>(b, 12), 4096u);
  EXPECT_EQ(get<std::uint64_t>(b, 16), b.size());
  EXPECT_EQ(get<std::uint64_t>(b, 24), 3u);
  EXPECT_EQ(get<std::uint64_t>(b, 32), 4u);
  EXPECT_EQ(get<std::uint32_t>(b, 40), 4u);
  EXPECT_EQ(get<std::uint32_t>(b, 44), 1u);
  EXPECT_EQ(get<std::uint32_t>(b, 48), 5u);  // directed, id map
  EXPECT_EQ(get<std::uint32_t>(b, 52), 4u);
  std::uint32_t const kinds[]{1, 2, 3, 7};
  std::uint64_t const sizes[]{32, 16, 16, 24};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(get<std::uint32_t>(b, 128 + 64 * i), kinds[i]);
    EXPECT_EQ(get<std::uint64_t>(b, 128 + 64 * i + 8), 4096 * (i + 1));
    EXPECT_EQ(get<std::uint64_t>(b, 128 + 64 * i + 16), sizes[i]);
  }
  EXPECT_EQ(std::memcmp(b.data() + 8192, g.out.targets.data(), 16), 0);
  bytes sealed = b;
  seal(sealed);
  EXPECT_TRUE(sealed == b);  // checksums agree with the definition

  container_header const h = read_header(at("a.gnr"));
  ASSERT_EQ(h.sections.size(), 4u);
  EXPECT_EQ(h.sections[3].name, "ids");
  EXPECT_EQ(h.sections[3].kind, section_kind::ids);
  EXPECT_EQ(h.file_bytes, b.size());
}

TEST_F(container, loads_only_what_is_asked_for) {
  save_graph(random_graph({50, 300, 4, u32, true, true}), at("a.gnr"));
  graph const g = load_graph(at("a.gnr"));
  EXPECT_FALSE(g.info.in_edges);
  EXPECT_EQ(g.info.weights, none);
  EXPECT_TRUE(g.in.offsets.empty());
  EXPECT_EQ(g.out.weights.bytes(), 0u);
  save_graph(random_graph({50, 300, 4, none, true}), at("b.gnr"));
  load_options how;
  how.in_edges = true;
  EXPECT_THAT(message_of([&] { load_graph(at("b.gnr"), how); }), HasSubstr("has no in-edges"));
  EXPECT_THAT(message_of([&] { load_offsets(at("b.gnr"), true); }), HasSubstr("has no in-edges"));
  how = {};
  how.weights = true;
  EXPECT_THAT(message_of([&] { load_graph(at("b.gnr"), how); }), HasSubstr("has no weights"));
  how = {};
  how.edges = tier::file;  // they stay there
  graph const left = load_graph(at("b.gnr"), how);
  EXPECT_EQ(left.out.targets.bytes(), 0u);
  EXPECT_THAT(message_of([&] { save_graph(left, at("d.gnr")); }, errc::usage), HasSubstr("were left in the file"));
  save_graph(random_graph({50, 300}), at("c.gnr"));
  how = {};
  how.in_edges = true;  // for an undirected graph they are the out-edges
  EXPECT_TRUE(load_graph(at("c.gnr"), how).in.offsets.empty());
}

TEST_F(container, every_flipped_byte_is_found) {
  graph const g = random_graph({20, 60, 4, f32, true, true, true, 0, vertex_order::degree});
  save_graph(g, at("a.gnr"));
  bytes const whole = contents(at("a.gnr"));
  ASSERT_EQ(whole.size(), 9 * 4096u);
  int const fd = ::open(at("a.gnr").c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    // All bits of the header, one bit of each byte elsewhere.
    for (int bit = i < 4096 ? 0 : static_cast<int>(i * 5 % 8); bit < 8; bit += i < 4096 ? 1 : 8) {
      unsigned char const flipped = static_cast<unsigned char>(whole[i] ^ (1u << bit));
      ASSERT_EQ(::pwrite(fd, &flipped, 1, static_cast<off_t>(i)), 1);
      EXPECT_THROW(i < 4096 ? (void)read_header(at("a.gnr")) : check_container(at("a.gnr")), error) << "byte " << i << " bit " << bit;
      if (i % 64 == 0) {
        EXPECT_THROW(load_graph(at("a.gnr"), everything(g.info)), error) << "byte " << i;
      }
    }
    ASSERT_EQ(::pwrite(fd, &whole[i], 1, static_cast<off_t>(i)), 1);
    if (HasFailure()) break;
  }
  ::close(fd);
  if (!HasFailure()) check_container(at("a.gnr"));
}

TEST_F(container, flips_in_far_blocks_are_found) {
  save_graph(random_graph({5000, 5'000'000, 4, u32}), at("a.gnr"));
  bytes b = contents(at("a.gnr"));
  load_options how;
  how.weights = true;
  for (std::size_t at_byte :
       {std::size_t{4096} + 8 * 5001 - 1, std::size_t{13} << 20, std::size_t{30} << 20, b.size() - 4096, b.size() - 1}) {
    b[at_byte] ^= 16;
    put(at("b.gnr"), b);
    EXPECT_NE(message_of([&] { check_container(at("b.gnr")); }), "") << at_byte;
    EXPECT_NE(message_of([&] { load_graph(at("b.gnr"), how); }), "") << at_byte;
    b[at_byte] ^= 16;
  }
}

TEST_F(container, every_truncation_is_found) {
  save_graph(random_graph({20, 60}), at("a.gnr"));
  auto const size = fs::file_size(at("a.gnr"));
  put(at("long.gnr"), [&] {
    bytes b = contents(at("a.gnr"));
    b.push_back(0);
    return b;
  }());
  EXPECT_THAT(message_of([&] { read_header(at("long.gnr")); }), HasSubstr("was added to"));
  for (auto n = size; n-- > 0;) {
    fs::resize_file(at("a.gnr"), n);
    std::string const why = message_of([&] { load_graph(at("a.gnr")); });
    EXPECT_THAT(why, HasSubstr(n == 0 ? "is empty" : n < 4096 ? "within the header" : "cut short"));
    if (HasFailure()) return;
  }
}

TEST_F(container, each_wrong_field_of_the_header_has_its_message) {
  save_graph(random_graph({20, 60, 4, u32}), at("a.gnr"));
  bytes const good = contents(at("a.gnr"));
  struct fault {
    std::size_t byte, width;
    std::uint64_t value;
    char const* message;
  };
  std::uint64_t const huge = ~std::uint64_t{0};
  std::vector<fault> const faults{
      {0, 1, 'G', "transfer as text"},
      {4, 1, '\n', "transfer as text"},
      {0, 4, 0x46464952, "not a Garner graph file"},
      {8, 4, 2, "byte 8: is a graph file of version 2, this Garner reads version 1"},
      {12, 4, 8192, "byte 12: the header has 8192 bytes"},
      {16, 8, 8192, "byte 16: the header says 8192 bytes but the file has 16384; it was added to"},
      {16, 8, huge, "byte 16: the header says 18446744073709551615 bytes but the file has 16384; it was cut short"},
      {24, 8, huge, "byte 24: 18446744073709551615 vertices are more than a file of 16384 bytes can hold"},
      {24, 8, std::uint64_t{1} << 61, "vertices are more than"},
      {24, 8, 2000, "section 0 ('out offsets'): bytes 168 where the counts require 16008"},
      {24, 8, 0, "byte 32: 60 edges but no vertex"},
      {32, 8, huge, "byte 32: 18446744073709551615 edges are more than"},
      {32, 8, std::uint64_t{1} << 62, "edges are more than"},
      {32, 8, 61, "section 1 ('out targets'): bytes 240 where the counts require 244"},
      {40, 4, 0, "byte 40: vertex ids of 0 bytes; 4 or 8 are possible"},
      {40, 4, 8, "section 1 ('out targets'): element bytes 4 where the counts require 8"},
      {44, 4, 3, "byte 44: unknown kind of weights 3"},
      {44, 4, 0, "byte 52: 3 sections where such a graph has 2"},
      {48, 4, 8, "byte 48: reordered without an id map"},
      {48, 4, 1u << 31, "byte 48: unknown flags 0x80000000"},
      {48, 4, 2, "byte 48: in-edges of an undirected graph"},
      {48, 4, 3, "byte 52: 3 sections where such a graph has 6"},
      {52, 4, 0, "byte 52: 0 sections where such a graph has 3"},
      {52, 4, 4, "byte 320: unknown section of kind 0"},
      {52, 4, huge & 0xffffffff, "byte 320: unknown section of kind 0"},
      {56, 8, huge, "byte 56: the first id 18446744073709551615 does not go with so many vertices"},
      {72, 1, 1, "byte 72: 1 words of codes do not go with the flags"},
      {104, 1, 1, "byte 104: 1 cached neighbors per vertex do not go with the flags"},
      {112, 1, 1, "byte 112: a reserved byte is 0x1"},
      {127, 1, 1, "byte 127: a reserved byte"},
      {128, 4, 2, "byte 128: section 0 ('out offsets'): kind 2 where"},
      {132, 4, 4, "byte 132: section 0 ('out offsets'): element bytes 4 where the counts require 8"},
      {128 + 64 + 8, 8, 4096, "byte 200: section 1 ('out targets'): offset 4096 where the counts require 8192"},  // overlaps section 0
      {128 + 64 + 8, 8, 16384, "byte 200: section 1 ('out targets'): 240 bytes at 16384 pass the end of the file at 16384"},
      {128 + 64 + 8, 8, huge, "pass the end of the file"},
      {128 + 64 + 16, 8, huge, "pass the end of the file"},
      {128 + 128 + 16, 8, 236, "byte 272: section 2 ('out weights'): bytes 236 where the counts require 240"},
      {128 + 32, 1, 1, "byte 160: a reserved byte"},
      {128 + 3 * 64, 1, 1, "byte 320: a reserved byte"},
      {4087, 1, 1, "byte 4087: a reserved byte"},
  };
  for (auto const& f : faults) {
    bytes b = good;
    std::memcpy(b.data() + f.byte, &f.value, f.width);
    if (f.byte != 52 || f.value < 62) seal(b);
    else set(b, 4088, XXH3_64bits(b.data(), 4088));
    put(at("b.gnr"), b);
    EXPECT_THAT(message_of([&] { read_header(at("b.gnr")); }), HasSubstr(f.message)) << "byte " << f.byte;
    load_options how;
    how.check = false;
    EXPECT_THAT(message_of([&] { load_graph(at("b.gnr"), how); }), HasSubstr(f.message)) << "byte " << f.byte;
  }
  bytes b = good;
  set(b, 4088, std::uint64_t{0});
  put(at("b.gnr"), b);
  EXPECT_THAT(message_of([&] { read_header(at("b.gnr")); }), HasSubstr("byte 4088: the header's checksum is 0000000000000000 but"));
  // A file whose sections end before it does.
  b = good;
  b.resize(b.size() + 4096);
  set(b, 16, std::uint64_t{b.size()});
  seal(b);
  put(at("b.gnr"), b);
  EXPECT_THAT(message_of([&] { read_header(at("b.gnr")); }), HasSubstr("the file has 20480 bytes but its sections end at 16384"));
}

TEST_F(container, an_unknown_section_is_named) {
  save_graph(random_graph({20, 60}), at("a.gnr"));
  bytes b = contents(at("a.gnr"));
  b.resize(b.size() + 4096);
  set(b, 16, std::uint64_t{b.size()});
  set(b, 52, std::uint32_t{3});
  set(b, 128 + 128, std::uint32_t{77});
  seal(b);
  put(at("a.gnr"), b);
  EXPECT_THAT(message_of([&] { read_header(at("a.gnr")); }), HasSubstr("byte 256: unknown section of kind 77"));
}

TEST_F(container, broken_invariants_are_found_under_right_checksums) {
  shape const s{20, 60, 4, none, true, true, true};
  graph const g = random_graph(s);
  save_graph(g, at("a.gnr"));
  container_header const h = read_header(at("a.gnr"));
  bytes const good = contents(at("a.gnr"));
  auto const offset = [&](section_kind k) {
    for (auto const& x : h.sections)
      if (x.kind == k) return x.offset;
    return std::uint64_t{0};
  };
  auto const with = [&](std::uint64_t byte, auto value) {
    bytes b = good;
    set(b, byte, value);
    seal(b);
    put(at("b.gnr"), b);
    load_options how;
    how.in_edges = true;
    std::string const loading = message_of([&] { load_graph(at("b.gnr"), how); });
    EXPECT_EQ(loading, message_of([&] { check_container(at("b.gnr")); }));
    return loading;
  };
  for (bool in : {false, true}) {
    edge_lists const& lists = in ? g.in : g.out;
    auto const offsets = offset(in ? section_kind::in_offsets : section_kind::out_offsets);
    auto const targets = offset(in ? section_kind::in_targets : section_kind::out_targets);
    std::string const side = in ? "in " : "out ";
    EXPECT_THAT(with(offsets, std::uint64_t{1}), HasSubstr(side + "offsets: offset 0 (byte " + std::to_string(offsets) + ") is 1, not 0"));
    EXPECT_THAT(with(offsets + 8 * 10, std::uint64_t{61}), HasSubstr("offset 11 (byte " + std::to_string(offsets + 88) +
                                                                     ") goes down from 61 to " + std::to_string(lists.offsets[11])));
    EXPECT_THAT(with(offsets + 8 * 10, ~std::uint64_t{0}), HasSubstr("goes down from 18446744073709551615"));
    EXPECT_THAT(with(offsets + 8 * 20, std::uint64_t{61}),
                HasSubstr("the last offset (byte " + std::to_string(offsets + 160) + ") is 61 but there are 60 edges"));
    EXPECT_THAT(with(targets + 4 * 17, std::uint32_t{20}), HasSubstr(side + "targets: edge 17 (byte " + std::to_string(targets + 68) +
                                                                     ") leads to vertex 20 but there are 20 vertices"));
    EXPECT_THAT(with(targets + 4 * 59, ~std::uint32_t{0}), HasSubstr("edge 59"));
    std::uint64_t v = 0;  // a list with two different targets
    auto const* t = static_cast<std::uint32_t const*>(lists.targets.data());
    while (lists.offsets[v + 1] - lists.offsets[v] < 2 || t[lists.offsets[v]] == t[lists.offsets[v + 1] - 1] || t[lists.offsets[v]] == 19)
      ++v;
    std::uint64_t const first = lists.offsets[v];
    EXPECT_THAT(with(targets + 4 * first, std::uint32_t{19}), HasSubstr("breaks the ascending order of its list"));
  }
  auto const ids = offset(section_kind::ids);
  EXPECT_THAT(with(ids + 8 * 5, g.ids[4]), HasSubstr("ids: id 5 (byte " + std::to_string(ids + 40) + ") is " + std::to_string(g.ids[4]) +
                                                     " after " + std::to_string(g.ids[4])));
  EXPECT_EQ(with(ids + 8 * 19, ~std::uint64_t{0}), "");
}

TEST_F(container, what_is_wrong_with_an_order_is_found) {
  graph const g = random_graph({20, 60, 4, none, false, false, true, 0, vertex_order::bfs});
  save_graph(g, at("a.gnr"));
  container_header const h = read_header(at("a.gnr"));
  EXPECT_EQ(h.info.order, vertex_order::bfs);
  bytes const good = contents(at("a.gnr"));
  EXPECT_EQ(get<std::uint32_t>(good, 48), 12u);  // id map, reordered
  EXPECT_EQ(get<std::uint32_t>(good, 64), 2u);
  auto const& ids = h.sections[2];
  auto const& by_id = h.sections[3];
  EXPECT_EQ(static_cast<std::uint32_t>(by_id.kind), 8u);
  auto const with = [&](std::uint64_t byte, auto value) {
    bytes b = good;
    set(b, byte, value);
    seal(b);
    put(at("b.gnr"), b);
    std::string const loading = message_of([&] { load_graph(at("b.gnr")); });
    EXPECT_EQ(loading, message_of([&] { check_container(at("b.gnr")); }));
    load_options trusting;
    trusting.check = false;  // the order is checked in any case: it is used as an index
    EXPECT_EQ(loading, message_of([&] { load_graph(at("b.gnr"), trusting); }));
    return loading;
  };
  EXPECT_EQ(with(by_id.offset, std::uint32_t{3}), "");  // unmodified
  EXPECT_THAT(with(by_id.offset + 4 * 5, std::uint32_t{20}),
              HasSubstr("by id: entry 5 (byte " + std::to_string(by_id.offset + 20) + ") is vertex 20 but there are 20 vertices"));
  EXPECT_THAT(with(by_id.offset + 4 * 5, ~std::uint32_t{0}), HasSubstr("entry 5"));
  EXPECT_THAT(with(by_id.offset + 4 * 5, std::uint32_t{(7 * 4 + 3) % 20}), HasSubstr("by id: entry 5"));  // one appears twice
  EXPECT_THAT(with(by_id.offset, std::uint32_t{4}), HasSubstr("not ascending"));
  EXPECT_THAT(with(ids.offset + 8 * 4, g.ids[11]), HasSubstr("not ascending"));  // one id twice
  EXPECT_THAT(with(48, std::uint32_t{8}), HasSubstr("byte 48: reordered without an id map"));
  EXPECT_THAT(with(48, std::uint32_t{4}), HasSubstr("sections where such a graph has 3"));
  EXPECT_THAT(with(64, std::uint32_t{0}), HasSubstr("byte 64: unknown order 0"));
  EXPECT_THAT(with(64, std::uint32_t{5}), HasSubstr("byte 64: unknown order 5"));
  EXPECT_THAT(with(68, std::uint32_t{1}), HasSubstr("byte 68: a reserved byte is 0x1"));

  save_graph(random_graph({20, 60}), at("plain.gnr"));
  bytes plain = contents(at("plain.gnr"));
  set(plain, 64, std::uint32_t{1});
  seal(plain);
  put(at("plain.gnr"), plain);
  EXPECT_THAT(message_of([&] { read_header(at("plain.gnr")); }), HasSubstr("byte 64: a reserved byte is 0x1"));
}

TEST_F(container, faults_where_blocks_meet_are_found) {
  shape const s{3, 2'500'000, 4};
  graph g = random_graph(s);
  auto* t = static_cast<std::uint32_t*>(g.out.targets.data());
  std::uint64_t const per_block = 1u << 20;
  for (std::uint64_t edge : {per_block, 2 * per_block, std::uint64_t{2'499'999}}) {
    auto const kept = t[edge];
    t[edge] = 3;
    EXPECT_THAT(message_of([&] { check_csr(g.info, g.out.offsets.data(), t, "here"); }),
                HasSubstr("here: edge " + std::to_string(edge) + " leads to vertex 3 but there are 3 vertices"));
    t[edge] = kept;
  }
  EXPECT_EQ(message_of([&] { check_csr(g.info, g.out.offsets.data(), t, "here"); }), "");
  // One list: 0 ... 0 1 ... 1 2 ... 2, with one descent exactly at a block boundary.
  g.out.offsets[1] = 0, g.out.offsets[2] = s.edges;
  for (std::uint64_t e = 0; e < s.edges; ++e) t[e] = e < per_block ? 1 : 0;
  EXPECT_THAT(message_of([&] { check_csr(g.info, g.out.offsets.data(), t, "here"); }),
              HasSubstr("edge 1048576 breaks the ascending order"));
  save_graph(g, at("a.gnr"));
  EXPECT_THAT(message_of([&] { check_container(at("a.gnr")); }), HasSubstr("edge 1048576 (byte 4202496) breaks the ascending order"));
  g.out.offsets[1] = per_block;  // the same targets, but a new list begins there
  check_csr(g.info, g.out.offsets.data(), t, "here");
}

TEST_F(container, a_file_that_is_none_is_refused) {
  EXPECT_THAT(message_of([&] { read_header(at("missing.gnr")); }, errc::io), HasSubstr("No such file"));
  EXPECT_THAT(message_of([&] { read_header(folder); }, errc::io), HasSubstr("is a folder"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { read_header(at("pipe")); }, errc::io), HasSubstr("not a regular file"));
  put(at("text.el"), {'0', ' ', '1', '\n'});
  EXPECT_THAT(message_of([&] { read_header(at("text.el")); }), HasSubstr("not a Garner graph file; make one with `garner convert"));
  save_graph(random_graph({5, 5}), at("a.gnr"));
  fs::permissions(at("a.gnr"), fs::perms::none);
  if (::geteuid() != 0) {
    EXPECT_THAT(message_of([&] { read_header(at("a.gnr")); }, errc::io), HasSubstr("Permission denied"));
  }
}

TEST_F(container, a_budget_can_refuse) {
  save_graph(random_graph({1000, 50'000}), at("a.gnr"));
  auto const limit = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 100'000);  // enough for the offsets, not for the targets
  EXPECT_NE(message_of([&] { load_graph(at("a.gnr")); }, errc::memory), "");
  host_budget().set_limit(limit);
  auto const used = host_budget().used();
  load_graph(at("a.gnr"));
  EXPECT_EQ(host_budget().used(), used);
}

TEST_F(container, a_full_disk_leaves_the_old_file) {
  save_graph(random_graph({5, 5}), at("a.gnr"));
  bytes const old = contents(at("a.gnr"));
  graph const g = random_graph({1000, 1'000'000});
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ::rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::rlimit small = before;
  small.rlim_cur = 1u << 20;
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string const why = message_of([&] { save_graph(g, at("a.gnr")); }, errc::io);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(why, HasSubstr("writing failed at byte"));
  EXPECT_TRUE(contents(at("a.gnr")) == old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);  // no temporary left
}

TEST_F(container, an_interrupt_leaves_no_file) {
  graph const g = random_graph({1000, 100'000});
  save_graph(g, at("a.gnr"));
  request_interrupt();
  EXPECT_NE(message_of([&] { save_graph(g, at("b.gnr")); }, errc::interrupted), "");
  EXPECT_NE(message_of([&] { load_graph(at("a.gnr")); }, errc::interrupted), "");
  clear_interrupt();
  EXPECT_FALSE(fs::exists(at("b.gnr")));
}

TEST_F(container, a_graph_that_contradicts_itself_is_not_saved) {
  graph g = random_graph({10, 20});
  g.info.edges = 21;
  EXPECT_THAT(message_of([&] { save_graph(g, at("a.gnr")); }, errc::internal), HasSubstr("'out targets' of the graph has 80 bytes"));
  EXPECT_FALSE(fs::exists(at("a.gnr")));
}

TEST(graph_ids, a_vertex_that_does_not_exist_is_told) {
  graph g;
  g.name = "FILE";
  g.info.vertices = 42;
  EXPECT_EQ(g.internal_id(41), 41u);
  EXPECT_EQ(message_of([&] { g.internal_id(99); }), "vertex 99 does not exist in FILE; ids go from 0 to 41");
  g.info.id_base = 1;
  EXPECT_EQ(g.internal_id(1), 0u);
  EXPECT_EQ(g.user_id(0), 1u);
  EXPECT_EQ(message_of([&] { g.internal_id(0); }), "vertex 0 does not exist in FILE; ids go from 1 to 42");
  EXPECT_NE(message_of([&] { g.internal_id(~std::uint64_t{0}); }), "");
  g.info.vertices = 0;
  EXPECT_THAT(message_of([&] { g.internal_id(0); }), HasSubstr("the graph has no vertices"));
  graph const mapped = random_graph({10, 20, 4, none, false, false, true});
  for (std::uint64_t v = 0; v < 10; ++v) EXPECT_EQ(mapped.internal_id(mapped.user_id(v)), v);
  std::set<std::uint64_t> const known(mapped.ids.begin(), mapped.ids.end());
  for (std::uint64_t u = 0; u < 110; ++u)
    if (!known.count(u)) {
      EXPECT_THAT(message_of([&] { mapped.internal_id(u); }), HasSubstr("with gaps"));
    }
}

TEST_F(container, loads_onto_a_device_through_bounce_buffers) {
  if (device::count() == 0) GTEST_SKIP() << device::why_none();
  for (shape const& s : {shape{100, 1000, 8, u32}, shape{5000, 15'000'000, 4, f32, true, true}}) {
    graph const g = random_graph(s);
    save_graph(g, at("a.gnr"));
    load_options how = everything(g.info);
    for (tier where : {tier::device, tier::managed, tier::host}) {
      how.edges = where;
      how.device = 0;
      graph const d = load_graph(at("a.gnr"), how);
      void* const stream = device::make_stream(0);
      for (auto const& [far, near] :
           {std::pair{&d.out.targets, &g.out.targets}, {&d.out.weights, &g.out.weights}, {&d.in.targets, &g.in.targets}}) {
        std::vector<std::byte> back(near->bytes());
        ASSERT_EQ(far->bytes(), near->bytes());
        if (near->bytes() == 0) continue;
        EXPECT_EQ(far->where(), where);
        device::copy(0, stream, back.data(), far->data(), back.size());
        device::wait(0, stream);
        EXPECT_EQ(std::memcmp(back.data(), near->data(), back.size()), 0);
      }
      device::free_stream(0, stream);
      if (where == tier::device) {
        EXPECT_NE(message_of([&] { save_graph(d, at("b.gnr")); }, errc::usage), "");
      }
    }
    how.edges = tier::device;
    bytes b = contents(at("a.gnr"));
    b[b.size() / 2] ^= 1;
    put(at("b.gnr"), b);
    EXPECT_NE(message_of([&] { load_graph(at("b.gnr"), how); }), "");
  }
}

}  // namespace

// Graph files of edges that arrive in parts: the bytes of a graph built at once; names numbered as a map numbers them, however they are
// divided, by any number of threads.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "core/fail.hpp"
#include "core/random.hpp"
#include "folder.hpp"
#include "garner/handle.hpp"
#include "refused.hpp"

namespace garner {
namespace {

using ::testing::HasSubstr;

class writer : public ::testing::Test, protected testing::own_folder {};

std::vector<edge> some_edges(std::uint64_t n, std::uint64_t below) {
  std::vector<edge> all;
  for (std::uint64_t i = 0; i < n; ++i) all.push_back({random_bits(1, 0, i) % below, random_bits(1, 1, i) % below});
  return all;
}
// The weight of edge i.
float weight(std::uint64_t i) { return static_cast<float>(random_bits(1, 2, i) % 1000) / 8; }

TEST_F(writer, edges_in_parts_become_the_graph_of_all_edges) {
  std::vector<edge> const all = some_edges(50000, 3000);
  std::vector<float> weights(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) weights[i] = weight(i);
  for (bool const undirected : {false, true}) {
    build_options o;
    o.undirected = undirected, o.in_edges = !undirected;
    save_graph(build_graph({all, {}, weights, 0}, o), folder / "whole.gnr");
    for (std::uint64_t const limit : {std::uint64_t{0}, std::uint64_t{33} << 20}) {
      o.memory_limit = limit;
      graph_writer to(folder / "parts.gnr", "some edges", {}, o);
      for (std::size_t first = 0, n = 1; first < all.size(); first += n, n = n * 3 + 1) {
        std::size_t const count = std::min(n, all.size() - first);
        to.add({std::span(all).subspan(first, count), {}, std::span(weights).subspan(first, count), 0});
        if (first > 20000) to.rest();
      }
      EXPECT_FALSE(std::filesystem::exists(folder / "parts.gnr"));
      build_report report;
      graph_info const info = to.finish(&report);
      EXPECT_EQ(report.edges_read, all.size());
      EXPECT_EQ(info.weights, weight_kind::f32);
      EXPECT_TRUE(bytes_of(folder / "parts.gnr") == bytes_of(folder / "whole.gnr")) << undirected << ' ' << limit;
      std::filesystem::remove(folder / "parts.gnr");
    }
  }
}

// Names of 0 to 40 bytes, of which many repeat, with offsets of 32 bits.
struct named {
  std::string bytes;
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::string> values;
  void add(std::string value) {
    bytes += value;
    offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
    values.push_back(std::move(value));
  }
  name_column seen(std::uint64_t first, std::uint64_t count) const {
    name_column c;
    c.bytes = bytes.data(), c.offsets = offsets.data() + first, c.offset_bytes = 4, c.values = c.rows = count;
    return c;
  }
};
std::string some_name(std::uint64_t k) {
  std::string const number = std::to_string(mix(k));
  return k == 0 ? "" : k % 3 ? "user " + number : std::string("\0\xff", 2) + number + number;
}

TEST_F(writer, names_are_numbered_in_the_order_of_their_first_appearance) {
  constexpr std::uint64_t rows = 200000, below = 60000;
  named sources, targets;
  std::unordered_map<std::string, std::uint64_t> numbers;
  std::vector<std::string> in_order;
  std::vector<edge> edges(rows);
  for (std::uint64_t i = 0; i < rows; ++i) {
    sources.add(some_name(random_bits(2, 0, i) % below)), targets.add(some_name(random_bits(2, 1, i) % below));
    std::uint64_t* const ends[2] = {&edges[i].source, &edges[i].target};
    for (int side : {0, 1}) {
      std::string const& name = (side ? targets : sources).values[i];
      auto const [at, is_new] = numbers.try_emplace(name, numbers.size());
      if (is_new) in_order.push_back(name);
      *ends[side] = at->second;
    }
  }
  save_graph(build_graph({edges, {}, {}, 0}), folder / "whole.gnr");
  std::uint64_t digest = 0;
  for (std::uint64_t const part : {rows, std::uint64_t{70001}, std::uint64_t{999}}) {
    graph_writer to(folder / "parts.gnr", "names", {}, {});
    for (std::uint64_t first = 0; first < rows; first += part) {
      std::uint64_t const n = std::min(part, rows - first);
      to.add(sources.seen(first, n), targets.seen(first, n));
    }
    ASSERT_EQ(to.names(), in_order.size());
    std::vector<std::uint64_t> ends;
    std::string bytes;
    for (std::uint64_t first = 0; first < in_order.size(); first += 7777)  // appended in parts too
      to.read_names(first, std::min<std::uint64_t>(7777, in_order.size() - first), ends, bytes);
    ASSERT_EQ(ends.size(), in_order.size());
    for (std::size_t k = 0; k < ends.size(); ++k)
      ASSERT_EQ(bytes.substr(k ? ends[k - 1] : 0, ends[k] - (k ? ends[k - 1] : 0)), in_order[k]) << part << ' ' << k;
    std::uint64_t const names_digest = to.finish().names_digest;
    EXPECT_NE(names_digest, 0u);
    if (part == rows) digest = names_digest;
    EXPECT_EQ(names_digest, digest) << part;
    EXPECT_TRUE(bytes_of(folder / "parts.gnr").substr(4096) == bytes_of(folder / "whole.gnr").substr(4096)) << part;  // behind the header
  }
}

TEST_F(writer, codes_and_fixed_widths_are_names_too) {
  std::vector<std::int64_t> const values{-5, 1ll << 62, 7};
  std::vector<std::uint32_t> const source{2, 0, 1, 2}, target{0, 0, 2, 1};
  name_column a;
  a.bytes = reinterpret_cast<char const*>(values.data()), a.width = 8, a.values = values.size(), a.rows = source.size();
  name_column b = a;
  a.codes = source.data(), b.codes = target.data();
  std::vector<std::uint32_t> const weights{1, 2, 3, 4};
  build_options o;
  o.keep_loops = true;
  graph_writer to(folder / "g.gnr", "numbers", {}, o);
  to.add(a, b, {{}, weights, {}, 0});
  EXPECT_EQ(to.names(), 3);
  std::vector<std::uint64_t> ends;
  std::string bytes;
  to.read_names(0, 3, ends, bytes);
  ASSERT_EQ(bytes.size(), 24);
  std::vector<std::int64_t> names(3);
  std::memcpy(names.data(), bytes.data(), 24);
  EXPECT_THAT(names, ::testing::ElementsAre(7, -5, 1ll << 62));
  graph_info const info = to.finish();
  EXPECT_EQ(info.vertices, 3);
  EXPECT_EQ(info.edges, 4);
  EXPECT_EQ(info.weights, weight_kind::u32);
}

TEST_F(writer, refuses_what_cannot_be) {
  auto const said = [](auto const& f, errc code) {
    try {
      f();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  named one;
  one.add("a"), one.add("b");
  std::vector<edge> const plain{{0, 1}, {2, ~std::uint64_t{0}}};
  graph_writer to(folder / "g.gnr", "some table", {}, {});
  to.add(one.seen(0, 2), one.seen(0, 2));
  EXPECT_THAT(said([&] { to.add(one.seen(0, 2), one.seen(0, 1)); }, errc::usage), HasSubstr("2 sources for 1 targets"));
  EXPECT_THAT(said([&] { to.add({plain, {}, {}, 0}); }, errc::usage), HasSubstr("some table: edge 2 has no names"));
  graph_writer other(folder / "h.gnr", "some table", {}, {});
  other.add({std::span(plain).first(1), {}, {}, 0});
  EXPECT_THAT(said([&] { other.add({plain, {}, {}, 0}); }, errc::input), HasSubstr("edge 2: 2 -> 18446744073709551615"));
  EXPECT_THAT(said([&] { other.add(one.seen(0, 2), one.seen(0, 2)); }, errc::usage), HasSubstr("edge 1 has names"));
  EXPECT_THAT(said([&] { graph_writer(folder / "none/g.gnr", "some table", {}, {}); }, errc::io), HasSubstr("none"));
  EXPECT_THAT(said([&] { graph_writer(folder / "i.gnr", "no rows", {}, {}).finish(); }, errc::input), HasSubstr("no rows"));
  // Names may take half of the memory.
  build_options small;
  small.memory_limit = 1 << 20;
  graph_writer third(folder / "k.gnr", "many names", {}, small);
  named many;
  for (std::uint64_t k = 0; k < 50000; ++k) many.add(some_name(k));
  std::string const why = said([&] { third.add(many.seen(0, 50000), many.seen(0, 50000)); }, errc::memory);
  EXPECT_THAT(why, HasSubstr("many names: "));
  EXPECT_THAT(why, HasSubstr("512.0 KiB are allowed"));
  EXPECT_EQ(files(), 0) << "nothing is left";
}

TEST_F(writer, vertices_without_edges_are_counted_at_the_end) {
  graph_writer to(folder / "g.gnr", "some edges", {}, {});
  std::vector<edge> const one{{3, 5}};
  to.add({one, {}, {}, 0});
  EXPECT_EQ(to.finish(nullptr, 9).vertices, 9u);
  EXPECT_TRUE(testing::refused(errc::usage, "finish() was called", [&] { to.add(edge_array{}); }));
  EXPECT_EQ(graph_writer(folder / "empty.gnr", "no edges", {}, {}).finish(nullptr, 7).vertices, 7u);
}

TEST_F(writer, names_of_one_column_are_numbered_as_they_first_appear) {
  name_numbers numbers(folder, "some names");
  std::string const text = "annbobann";
  std::vector<std::uint64_t> to(3), ends;
  numbers.number({text.data(), nullptr, 8, 3, 3, 3}, to.data());
  EXPECT_THAT(to, ::testing::ElementsAre(0, 1, 0));
  numbers.number({text.data() + 3, nullptr, 8, 3, 1, 1}, to.data());
  EXPECT_EQ(to[0], 1u);
  std::string bytes;
  numbers.read_names(0, numbers.names(), ends, bytes);
  EXPECT_EQ(bytes, "annbob");
  EXPECT_THAT(ends, ::testing::ElementsAre(3, 6));
  graph_writer graph(folder / "g.gnr", "an edge", {}, {});
  graph.add({text.data(), nullptr, 8, 3, 1, 1}, {text.data() + 3, nullptr, 8, 3, 1, 1}, edge_array{});
  EXPECT_EQ(numbers.digest(), graph.finish().names_digest);
}

}  // namespace
}  // namespace garner

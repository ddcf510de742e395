// Every error in a graph file is found: flipped bytes, truncations, wrong fields, and broken invariants under right checksums.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph_files.hpp"

using namespace garner;
using namespace garner::testing;

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
  for (std::size_t at_byte :
       {std::size_t{4096} + 8 * 5001 - 1, std::size_t{13} << 20, std::size_t{30} << 20, b.size() - 4096, b.size() - 1}) {
    b[at_byte] ^= 16;
    put(at("b.gnr"), b);
    EXPECT_NE(message_of([&] { check_container(at("b.gnr")); }), "") << at_byte;
    EXPECT_NE(message_of([&] { load_graph(at("b.gnr"), {.weights = true}); }), "") << at_byte;
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
      {48, 4, 64, "byte 48: in-edges of an undirected graph"},
      {48, 4, 129, "byte 48: unknown flags 0x80"},
      {48, 4, 3, "byte 52: 3 sections where such a graph has 6"},
      {52, 4, 0, "byte 52: 0 sections where such a graph has 3"},
      {52, 4, 4, "byte 320: unknown section of kind 0"},
      {52, 4, huge & 0xffffffff, "byte 320: unknown section of kind 0"},
      {56, 8, huge, "byte 56: the first id 18446744073709551615 does not go with so many vertices"},
      {72, 1, 1, "byte 72: 1 words of codes do not go with the flags"},
      {104, 1, 1, "byte 104: 1 cached neighbors per vertex do not go with the flags"},
      {120, 1, 1, "byte 120: a reserved byte is 0x1"},
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
    EXPECT_THAT(message_of([&] { load_graph(at("b.gnr"), {.check = false}); }), HasSubstr(f.message)) << "byte " << f.byte;
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
    std::string const loading = message_of([&] { load_graph(at("b.gnr"), {.in_edges = true}); });
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
    // The order is checked in any case: it is used as an index.
    EXPECT_EQ(loading, message_of([&] { load_graph(at("b.gnr"), {.check = false}); }));
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

// The graph file: round trips are byte-identical, a load brings the wanted arrays alone, and a save that fails leaves the old file.
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "core/device.hpp"
#include "core/progress.hpp"
#include "graph/graph_files.hpp"
#include "memory/budget.hpp"

using namespace garner;
using namespace garner::testing;

namespace {

void expect_same(void const* a, void const* b, std::size_t n) {
  if (n) {
    EXPECT_EQ(std::memcmp(a, b, n), 0);
  }
}
template <class Memory>
void expect_same_bytes(Memory const& a, Memory const& b) {
  ASSERT_EQ(a.bytes(), b.bytes());
  expect_same(a.data(), b.data(), a.bytes());
}
void expect_same(edge_lists const& a, edge_lists const& b) {
  expect_same_bytes(a.offsets, b.offsets);
  expect_same_bytes(a.targets, b.targets);
  expect_same_bytes(a.weights, b.weights);
}
void expect_same(graph const& a, graph const& b) {
  EXPECT_EQ(a.info.vertices, b.info.vertices);
  EXPECT_EQ(a.info.edges, b.info.edges);
  EXPECT_EQ(a.info.id_bytes, b.info.id_bytes);
  EXPECT_EQ(a.info.weights, b.info.weights);
  EXPECT_EQ(a.info.directed, b.info.directed);
  EXPECT_EQ(a.info.in_edges, b.info.in_edges);
  EXPECT_EQ(a.info.reversed, b.info.reversed);
  EXPECT_EQ(a.info.id_map, b.info.id_map);
  EXPECT_EQ(a.info.id_base, b.info.id_base);
  EXPECT_EQ(a.info.order, b.info.order);
  expect_same(a.out, b.out);
  expect_same(a.in, b.in);
  expect_same_bytes(a.ids, b.ids);
  expect_same_bytes(a.by_id, b.by_id);
}

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
    graph g = random_graph(s);
    g.info.reversed = g.info.directed && s.id_bytes == 8;
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
  g.info.reversed = true;
  save_graph(g, at("r.gnr"));
  EXPECT_EQ(get<std::uint32_t>(contents(at("r.gnr")), 48), 69u);
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
  EXPECT_THAT(message_of([&] { load_graph(at("b.gnr"), {.in_edges = true}); }), HasSubstr("has no in-edges"));
  EXPECT_THAT(message_of([&] { load_offsets(at("b.gnr"), true); }), HasSubstr("has no in-edges"));
  EXPECT_THAT(message_of([&] { load_graph(at("b.gnr"), {.weights = true}); }), HasSubstr("has no weights"));
  graph const left = load_graph(at("b.gnr"), {.edges = tier::file});  // they stay there
  EXPECT_EQ(left.out.targets.bytes(), 0u);
  EXPECT_THAT(message_of([&] { save_graph(left, at("d.gnr")); }, errc::usage), HasSubstr("were left in the file"));
  save_graph(random_graph({50, 300}), at("c.gnr"));
  EXPECT_TRUE(load_graph(at("c.gnr"), {.in_edges = true}).in.offsets.empty());  // for an undirected graph they are the out-edges
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
  EXPECT_EQ(files(), 1);  // no temporary left
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

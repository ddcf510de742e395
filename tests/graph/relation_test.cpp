// The edges of one relation: their lists hold what a serial reference sorts, and the first edge that cannot be is named.
#include "graph/relation.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "graph/container.hpp"
#include "graph/pack.hpp"
#include "graph/typed_edges.hpp"

namespace garner {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(relation, lists_hold_every_edge_once_in_every_direction) {
  struct sizes {
    std::uint64_t edges, sources, targets;
  };
  for (auto const& [count, sources, targets] :
       {sizes{0, 3, 2}, sizes{1, 1, 1}, sizes{5000, 70, 9}, sizes{300000, 40, 900}, sizes{1200000, 3000, 1}})
    for (direction const strategy : {direction::pulled, direction::reversed, direction::both})
      for (std::uint32_t const id_bytes : {0u, 8u}) {
        if ((id_bytes == 8 || strategy != direction::pulled) && count > 1000000) continue;  // one list, sorted by all threads
        SCOPED_TRACE(fmt::format("{} edges, way {}, id bytes {}", count, static_cast<int>(strategy), id_bytes));
        std::uint64_t const from = strategy == direction::both ? std::max(sources, targets) : sources,
                            to = strategy == direction::both ? from : targets;
        some_edges const edges(draw(count, from, to, count + 1));
        relation const made = make_relation(edges, {"a", "b", from, to}, strategy, {.id_bytes = id_bytes});
        EXPECT_EQ(made.lists.info.id_bytes, id_bytes ? 8u : 4u);
        std::vector<std::int64_t> const ids(made.edge_ids.begin(), made.edge_ids.end());
        expect_lists(made.lists, ids, twin(edges.edges, std::max(from, to), strategy));
      }
}

TEST(relation, edges_in_order_need_no_ids) {
  relation const made = make_relation(some_edges({{0, 0}, {1, 0}, {1, 0}, {0, 2}}), {"a", "b", 2, 3}, direction::pulled);
  EXPECT_TRUE(made.edge_ids.empty());
  EXPECT_FALSE(make_relation(some_edges({{1, 0}, {0, 0}}), {"a", "b", 2, 3}, direction::pulled).edge_ids.empty());
}

TEST(relation, the_first_edge_that_cannot_be_is_named) {
  pairs edges = draw(200000, 50, 60, 3);
  edges[150000] = {50, 0}, edges[199999] = {0, 60};
  auto const said = [&] { return error_of([&] { make_relation(some_edges(edges), {"author", "paper", 50, 60}, direction::pulled); }); };
  EXPECT_EQ(said(), "some edges: edge 150000: 50 -> 0: author 50 does not exist; of 50 they go from 0 to 49");
  edges[150000] = {0, 0};
  EXPECT_EQ(said(), "some edges: edge 199999: 0 -> 60: paper 60 does not exist; of 60 they go from 0 to 59");
  EXPECT_THAT(error_of([] { make_relation(some_edges({{0, 0}}), {"a", "b", 0, 1}, direction::pulled); }), HasSubstr("this type is empty"));
  EXPECT_THAT(error_of([] { make_relation(some_edges({}), {"a", "b", 0xffffffffull, 1}, direction::pulled); }), HasSubstr("2^32 - 2"));
}

TEST(relation, an_arc_beyond_a_bound_is_found_in_plain_and_packed_lists_and_in_a_file) {
  graph g = make_relation(some_edges(draw(20000, 100, 200, 5)), {"a", "b", 100, 200}, direction::pulled).lists;
  std::uint64_t highest = 0, where = 0;
  for (std::uint64_t k = 0; k < g.info.edges; ++k)
    if (target_at(g, k) > highest) highest = target_at(g, k), where = k;
  EXPECT_EQ(first_beyond(g, 100), g.info.edges);
  EXPECT_EQ(first_beyond(g, highest), where);
  auto const in_a_file = [&] {
    std::filesystem::path const file = std::filesystem::temp_directory_path() / fmt::format("garner_beyond.{}.gnr", ::getpid());
    save_graph(g, file.string());
    graph const there = load_graph(file.string(), {.edges = tier::file, .window_bytes = 64u << 10});
    EXPECT_EQ(first_beyond(there, 100), g.info.edges);
    EXPECT_EQ(first_beyond(there, highest), where);
    std::filesystem::remove(file);
  };
  in_a_file();
  pack(g);
  EXPECT_EQ(first_beyond(g, 100), g.info.edges);
  EXPECT_EQ(first_beyond(g, highest), where);
  in_a_file();
}

}  // namespace
}  // namespace garner

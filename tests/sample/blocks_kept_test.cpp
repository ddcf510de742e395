// Blocks from lists of which some have copies on the device: the same bits, and fewer requests.

#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "sample/taken_blocks.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class blocks_at : public at_place {};
GARNER_AT_EVERY_PLACE(blocks_at);

TEST_P(blocks_at, have_the_same_bits_where_some_lists_are_kept_near) {
  auto const seeds = some_seeds(50, 1003);
  for (bool const packs : {false, true}) {
    graph g = random_graph(true);
    if (packs) pack(g);
    graph_handle const h = brought(std::move(g), where());
    block_options o;
    o.edge_ids = true;
    block_sampler none(where(), h, {6, 5}, o);
    o.graph_cache = 20000;
    block_sampler some(where(), h, {6, 5}, o);
    o.graph_cache = 1u << 30;
    block_sampler all(where(), h, {6, 5}, o);
    sampled_subgraphs const wanted = taken(none, none.sample(1, seeds));
    EXPECT_TRUE(wanted == taken(some, some.sample(1, seeds)));
    EXPECT_TRUE(wanted == taken(all, all.sample(1, seeds)));
    if (where().kind == device_kind::cuda) {
      EXPECT_GT(all.bytes(), some.bytes());
      EXPECT_GT(some.bytes(), none.bytes());
    }
  }
}

TEST_P(blocks_at, have_the_same_bits_where_lists_are_kept_by_score) {
  reorder_options by;
  by.by = vertex_order::degree;
  auto const packed = [](graph g) {
    pack(g);
    return g;
  };
  std::vector<graph (*)()> const graphs{[] { return random_graph(true); }, [] { return random_graph(false); },
                                        [] { return random_graph(true, 8); }, [] { return weighted_graph(); }};
  std::uint64_t compared = 0;
  for (std::size_t kind = 0; kind < graphs.size(); ++kind)
    for (bool const packs : {false, true})
      for (bool const reorders : {false, true}) {
        graph g = graphs[kind]();
        if (packs && g.info.id_bytes == 8) continue;
        if (reorders) g = reorder(std::move(g), by, {});
        if (packs) g = packed(std::move(g));
        bool const has_weights = g.info.weights != weight_kind::none;
        std::uint64_t const n = g.info.vertices;
        graph_handle const h = brought(std::move(g), where());
        std::vector<float> const scores = some_scores(n);
        std::vector<std::int64_t> times(n);
        for (std::size_t v = 0; v < n; ++v) times[v] = static_cast<std::int64_t>(random_bits(8, 0, v) % 50);
        auto const seeds = some_seeds(40, n);
        for (int how = 0; how < 7; ++how) {
          block_options o;
          o.edge_ids = o.inner_edge_ids = true;  // the user's edge ids are read over the link
          o.replace = o.disjoint = how == 1;
          if (how == 2) o.rule = hop_rule::all;
          if (how == 3) o.induced = true;
          if (how == 4) o.temporal = temporal_rule::uniform;
          if (how == 5 && !has_weights) continue;
          o.weighted = how == 5, o.labor = how == 6;
          std::vector<std::int64_t> const fanouts = how == 2 ? std::vector<std::int64_t>{-1, 3} : std::vector<std::int64_t>{6, 5};
          auto const draw = [&](traffic* link = nullptr, std::uint64_t* near = nullptr) {
            block_sampler s(where(), h, fanouts, o, edge_direction::in, times);
            EXPECT_EQ(s.take_traffic().bytes_link(), 0u) << "keeping lists is not drawing";
            if (near) *near = s.bytes();
            sampled_subgraphs const d = taken(s, s.sample(1, seeds));
            if (link) *link = s.take_traffic();
            return d;
          };
          traffic all_far;
          std::uint64_t none_near = 0, before = 0;
          sampled_subgraphs const wanted = draw(&all_far, &none_near);
          o.scores = scores;
          for (std::uint64_t const budget : {0u, 50u, 3000u, 20000u, 1u << 30}) {
            o.graph_cache = budget;
            traffic link;
            std::uint64_t near = 0;
            EXPECT_TRUE(wanted == draw(&link, &near)) << "graph " << kind << " " << packs << reorders << ", how " << how << ", " << budget;
            ++compared;
            if (where().kind == device_kind::cpu) {
              EXPECT_EQ(near, none_near);  // all adjacency is local there
              continue;
            }
            EXPECT_GE(near, before);
            before = near;
            EXPECT_LE(near, none_near + budget + (budget ? 16 * n : 0));
            if (where().kind != device_kind::simulated) continue;
            if (budget == 0) {
              EXPECT_EQ(link.bytes_link(), all_far.bytes_link());
            } else if (budget == 20000) {
              if (counts_requests()) {
                EXPECT_LT(link.bytes_useful, all_far.bytes_useful) << "graph " << kind << " " << packs << reorders << ", how " << how;
              }
            } else if (budget > 20000 && !(how == 3 && packs)) {  // for an empty compressed list among the induced edges, a block is read
              EXPECT_EQ(link.bytes_link(), 0u) << "graph " << kind << " " << packs << reorders << ", how " << how;
            }
          }
        }
      }
  EXPECT_EQ(compared, (2u * 4 * 6 + 2 * 6 + 4 * 7) * 5);
}

// In random order, as in typical graphs.
TEST(blocks, ask_less_of_far_lists_that_are_kept_by_score_than_of_the_first) {
  GARNER_NEEDS_COUNTS();
  generate_options how;
  how.scale = 12;
  graph_handle const g = generate_graph(how);
  execution_device const simulated{device_kind::simulated, 0};
  std::vector<std::int64_t> seeds;
  for (std::int64_t v = 0; v < 4096; v += 8) seeds.push_back(v);
  score_options of;
  of.by = score_kind::expected;
  of.sampling = {{10, 5}, hop_rule::last, 64, 1};
  std::vector<std::uint64_t> const ids = g.ids();
  for (std::int64_t const k : seeds) of.train.push_back(ids[static_cast<std::size_t>(k)]);
  std::vector<float> const score = scores(g, of).score;
  block_options o;
  auto const asked = [&] {
    block_sampler s(simulated, g, {10, 5}, o);
    for (std::uint64_t b = 0; b < 8; ++b) s.sample(b, std::span<std::int64_t const>(seeds).subspan(b * 64, 64));
    return s.take_traffic().request_count();
  };
  std::uint64_t const none = asked();
  for (double const share : {0.05, 0.1, 0.2, 0.3}) {
    o.graph_cache = static_cast<std::uint64_t>(share * static_cast<double>(g.info().edges) * 4);
    o.scores = {};
    std::uint64_t const first = asked();
    o.scores = score;
    std::uint64_t const best = asked();
    EXPECT_LT(first, none);
    EXPECT_GT(4 * (none - best), 5 * (none - first)) << share;
    std::string const about = block_sampler(simulated, g, {10, 5}, o).about();
    EXPECT_NE(about.find(" near: the lists of "), std::string::npos) << about;
  }
}

TEST(blocks, refuse_scores_that_are_not_one_a_vertex) {
  graph_handle const g = graph_access::wrap(random_graph(true));
  execution_device const simulated{device_kind::simulated, 0};
  block_options o;
  o.graph_cache = 1000;
  std::vector<float> score = some_scores(1002);
  o.scores = score;
  EXPECT_EQ(error_of([&] { block_sampler(simulated, g, {2}, o); }), "1002 scores for 1003 vertices of type 0; give each one");
  score.push_back(std::nanf(""));
  o.scores = score;
  EXPECT_NE(error_of([&] { block_sampler(simulated, g, {2}, o); }).find("score of row 1002 is not a number"), std::string::npos);
  EXPECT_NE(error_of([&] {
              block_sampler(simulated, {{1003}, {1003}}, {{&g, edge_direction::in, 0, 1, {2}}}, o);
            }).find("give each type its own"),
            std::string::npos);
}

}  // namespace
}  // namespace garner

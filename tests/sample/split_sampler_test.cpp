// Blocks sampled over parts of a graph: equal to those of the sampler over the whole graph, for any number of parts, on every device.
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "core/random.hpp"
#include "garner/shards.hpp"
#include "graph/container.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "sample/blocks.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct drawn {
  std::vector<std::int64_t> ids, row, col, edge;
  std::vector<std::uint64_t> vertices, edges;
  bool operator==(drawn const&) const = default;
};
drawn taken(execution_device where, sampled_subgraph const& b) {
  executor x(where);
  sampled_subgraph::vertices const& v = b.of_type(0);
  sampled_subgraph::edges const& e = b.of_relation(0);
  auto const copy = [&](std::int64_t const* at, std::uint64_t n) { return at ? host_copy(x, at, n) : std::vector<std::int64_t>{}; };
  return {copy(v.ids, v.count), copy(e.row, e.count), copy(e.col, e.count), copy(e.edge, e.count), v.by_hop, e.by_hop};
}

graph random_graph(std::uint64_t vertices, bool undirected, std::uint32_t id_bytes = 4, bool weighted = false) {
  edge_list e = make_edges({}, undirected, vertices);
  if (weighted) e.weights_are = weight_kind::u32;
  for (std::uint64_t i = 0; i < 12000; ++i) {
    std::uint64_t u = random_bits(1, 0, i) % vertices, v = random_bits(1, 1, i) % vertices;
    if (i % 4 == 0) v = 9;
    if (v % 5 == 1) continue;
    e.arcs.push_back({u, v});
    if (weighted) e.weights.push_back(static_cast<std::uint32_t>(i % 4));
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = o.keep_loops = true;
  o.in_edges = !undirected;
  build_report report;
  return build_graph(std::move(e), o, report);
}

// All parts and their samplers in one process: messages between them are passed by value.
class split_graph {
 public:
  split_graph(execution_device where, graph_handle const& g, std::uint32_t parts, std::vector<std::int64_t> const& fanouts,
              block_options const& o, part_options const& how = {})
      : where_(where) {
    for (std::uint32_t k = 0; k < parts; ++k) {
      parts_.emplace_back(g, k, parts, how);
      if (where.kind == device_kind::cuda) parts_.back().to_device(where, tier::host);
    }
    for (graph_part const& p : parts_) samplers_.emplace_back(where, p, fanouts, o);
  }
  void begin(std::size_t who, std::uint64_t number, std::vector<std::vector<std::int64_t>> const& seeds) {
    samplers_[who].begin(number, {seeds.begin(), seeds.end()}, std::vector<sampled_subgraph>(seeds.size()));
    number_ = number;
  }
  std::vector<drawn> drawn_by(std::size_t who) {
    split_sampler& s = samplers_[who];
    while (s.request().more) {
      sampling_request const asks = s.request();
      struct answer {
        std::vector<std::int64_t> neighbors, edges;
      };
      std::vector<answer> all(asks.vertices.size());
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        std::vector<std::int64_t> of;
        std::vector<std::uint32_t> batches;
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < all.size(); ++i)
          if (static_cast<std::uint64_t>(asks.vertices[i]) - parts_[k].part().first < parts_[k].part().vertices)
            of.push_back(asks.vertices[i]), batches.push_back(asks.batches[i]), at.push_back(i);
        sampling_response const d = samplers_[k].sample(number_, asks.hop, of, batches);
        EXPECT_EQ(d.counts.size(), of.size());
        std::size_t first = 0;
        for (std::size_t i = 0; i < of.size(); first += d.counts[i++]) {
          auto const part = [&](std::vector<std::int64_t> const& from) {
            if (from.empty()) return from;
            auto const begin = from.begin() + static_cast<std::ptrdiff_t>(first);
            return std::vector(begin, begin + d.counts[i]);
          };
          all[at[i]] = {part(d.neighbors), part(d.edges)};
        }
        EXPECT_EQ(first, d.neighbors.size());
      }
      sampling_response came;
      for (answer const& a : all) {
        came.counts.push_back(static_cast<std::uint32_t>(a.neighbors.size()));
        came.neighbors.insert(came.neighbors.end(), a.neighbors.begin(), a.neighbors.end());
        came.edges.insert(came.edges.end(), a.edges.begin(), a.edges.end());
      }
      s.complete(std::move(came));
    }
    std::vector<drawn> found;
    for (sampled_subgraph const& b : s.finish()) found.push_back(taken(where_, b));
    return found;
  }
  std::vector<graph_part>& parts() { return parts_; }
  split_sampler& sampler(std::size_t k) { return samplers_[k]; }

 private:
  execution_device where_;
  std::vector<graph_part> parts_;
  std::vector<split_sampler> samplers_;
  std::uint64_t number_ = 0;
};

std::vector<std::vector<std::int64_t>> some_seeds(std::uint64_t batches, std::uint64_t vertices) {
  std::vector<std::vector<std::int64_t>> all(batches);
  for (std::uint64_t k = 0; k < batches; ++k) {
    if (k == 2) continue;  // one without seeds
    for (std::uint64_t i = 0; i < 5 + 9 * k; ++i) all[k].push_back(static_cast<std::int64_t>(random_bits(5, k, i) % vertices));
    all[k].push_back(9);
    all[k].push_back(9);
  }
  return all;
}

class split_at : public at_place {};
GARNER_AT_EVERY_PLACE(split_at);

TEST_P(split_at, are_the_bits_of_the_whole_graph) {
  auto const reordered = [](graph g) {
    reorder_options by;
    by.by = vertex_order::random;
    return reorder(std::move(g), by, {});
  };
  auto const packed = [](graph g) {
    pack(g);
    return g;
  };
  std::vector<std::function<graph()>> const graphs{
      [] { return random_graph(1003, false); },          [] { return random_graph(1003, true, 8); },
      [] { return random_graph(1003, false, 4, true); }, [&] { return reordered(random_graph(1003, false, 4, true)); },
      [&] { return packed(random_graph(1003, true)); },  [&] { return packed(reordered(random_graph(1003, false, 4, true))); }};
  std::uint64_t compared = 0;
  for (std::size_t kind = 0; kind < graphs.size(); ++kind) {
    graph_handle const whole = graph_access::wrap(graphs[kind]());
    bool const weighted = whole.info().weights != weight_kind::none;
    for (int how = 0; how < 7; ++how) {
      if ((how == 3 || how == 5) && !weighted) continue;
      if (how == 6 && whole.info().order != vertex_order::natural) continue;  // other bits, of the same distribution
      block_options o;
      o.seed = 11, o.edge_ids = how != 1, o.replace = how == 2 || how == 5, o.weighted = how == 3 || how == 5, o.labor = how == 6;
      std::vector<std::int64_t> const fanouts = how == 1   ? std::vector<std::int64_t>{-1, 0, 3}
                                                : how == 2 ? std::vector<std::int64_t>{6, -1, 4}
                                                : how == 4 ? std::vector<std::int64_t>{0}
                                                           : std::vector<std::int64_t>{6, 5, 4};
      block_sampler at_home({}, whole, fanouts, o);
      auto const seeds = some_seeds(5, 1003);
      std::vector<drawn> wanted;
      for (std::size_t k = 0; k < seeds.size(); ++k) wanted.push_back(taken({}, at_home.sample(100 + k, seeds[k])));
      for (std::uint32_t const parts : {1u, 2u, 5u}) {
        part_options split;
        split.weights = weighted;
        split.balance = parts == 5 ? shard_balance::vertices : shard_balance::edges;
        split_graph g(where(), whole, parts, fanouts, o, split);
        for (std::size_t const who : {std::size_t{0}, std::size_t{parts - 1}}) {
          g.begin(who, 3, seeds);  // and its results are never taken
          g.begin(who, 100, seeds);
          EXPECT_TRUE(wanted == g.drawn_by(who)) << "graph " << kind << ", how " << how << ", parts " << parts;
          g.begin(who, 101, {seeds[1]});
          EXPECT_TRUE(wanted[1] == g.drawn_by(who)[0]) << "alone";
          ++compared;
        }
      }
    }
  }
  EXPECT_EQ(compared, 6u * (6 * 4 + 3 * 2 + 4));
}

TEST_P(split_at, are_right_where_room_runs_out_and_where_vertices_are_hashed) {
  for (bool const large : {false, true}) {
    std::uint64_t const vertices = large ? 1u << 20 : 1003, batches = large ? 16 : 3;
    graph_handle const whole = graph_access::wrap(random_graph(vertices, false));
    block_sampler at_home({}, whole, {-1, -1}, {});
    std::vector<std::vector<std::int64_t>> const seeds(batches, {9});  // with thousands of neighbors
    split_graph g(where(), whole, 3, {-1, -1}, {});
    for (std::uint64_t const number : {5u, 77u}) {
      g.begin(1, number, seeds);
      std::vector<drawn> const found = g.drawn_by(1);
      for (std::size_t k = 0; k < batches; ++k) EXPECT_TRUE(found[k] == taken({}, at_home.sample(number + k, seeds[k])));
    }
  }
}

TEST(graph_parts, cover_the_graph_and_are_read_from_their_file_alone) {
  graph_handle const whole = graph_access::wrap(random_graph(1003, true));
  std::filesystem::path const file = std::filesystem::temp_directory_path() / ("split_" + std::to_string(::getpid()) + ".gnr");
  save_graph(whole, file);
  open_options stays;
  stays.edges = tier::file;
  graph_handle const in_file = open_graph(file, stays);
  std::uint64_t next = 0, edges = 0;
  block_sampler at_home({}, whole, {4, 4}, {});
  for (std::uint32_t k = 0; k < 4; ++k) {
    graph_part const part(in_file, k, 4);
    EXPECT_EQ(part.part().first, next);
    EXPECT_EQ(part.digest(), graph_part(whole, k, 4).digest());
    EXPECT_LT(part.part().edges, whole.info().edges / 2);
    next += part.part().vertices, edges += part.part().edges;
  }
  EXPECT_EQ(next, 1003u);
  EXPECT_EQ(edges, whole.info().edges);
  split_graph g({}, in_file, 4, {4, 4}, {});
  auto const seeds = some_seeds(2, 1003);
  g.begin(2, 8, seeds);
  std::vector<drawn> const found = g.drawn_by(2);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(found[k] == taken({}, at_home.sample(8 + k, seeds[k])));
  std::filesystem::remove(file);
  EXPECT_NE(graph_part(whole, 0, 2).digest(), graph_part(graph_access::wrap(random_graph(1004, true)), 0, 2).digest());
}

TEST(graph_parts, more_than_there_are_vertices_are_empty) {
  graph_handle const whole = graph_access::wrap(make_graph({{0, 1}, {1, 2}}, true, 3));
  split_graph g({}, whole, 7, {2, 2}, {});
  block_sampler at_home({}, whole, {2, 2}, {});
  g.begin(6, 1, {{1}});
  EXPECT_TRUE(g.drawn_by(6)[0] == taken({}, at_home.sample(1, std::vector<std::int64_t>{1})));
}

TEST_P(split_at, go_on_when_a_part_is_moved_or_goes) {
  graph_handle const whole = graph_access::wrap(random_graph(1003, true));
  std::vector<std::int64_t> const seeds{9, 4, 700};
  block_sampler at_home({}, whole, {5, 5}, {});
  drawn const wanted = taken({}, at_home.sample(8, seeds));
  auto part = std::make_unique<graph_part>(whole, 0, 1);
  if (where().kind == device_kind::cuda) part->to_device(where(), tier::host);
  split_sampler s(where(), *part, {5, 5}, {});
  errc code{};
  EXPECT_NE(error_of([&] { part->to_device({}); }, &code).find("this part has samplers"), std::string::npos);
  EXPECT_EQ(code, errc::usage);
  auto const again = [&] {
    s.begin(8, {std::span(seeds)}, std::vector<sampled_subgraph>(1));
    while (s.request().more) s.complete(s.sample(8, s.request().hop, s.request().vertices, s.request().batches));
    return taken(where(), s.finish()[0]);
  };
  EXPECT_TRUE(again() == wanted);
  graph_part elsewhere = std::move(*part);
  EXPECT_TRUE(again() == wanted);
  elsewhere = graph_part(whole, 1, 2);
  part.reset();
  EXPECT_TRUE(again() == wanted);
  elsewhere.to_device({});  // without a sampler
}

TEST(graph_parts, refuse_what_cannot_be) {
  auto const refused = [](errc wanted, std::string const& part, auto const& call) {
    errc code{};
    std::string const said = error_of(call, &code);
    return said.find(part) != std::string::npos && code == wanted ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << said;
  };
  std::vector<std::int64_t> const offsets{0, 2, 1, 3}, up{0, 1, 3}, targets{0, 1, 2};
  EXPECT_TRUE(refused(errc::input, "offset 2 of a part is 1, behind 2", [&] {
    graph_part(graph_part::arrays{0, 9, 0, 9, offsets, targets, {}});
  }));
  EXPECT_TRUE(refused(errc::input, "from 0 to 3 for 2 targets", [&] {
    graph_part(graph_part::arrays{0, 9, 0, 9, up, std::span(targets).first(2), {}});
  }));
  EXPECT_TRUE(refused(errc::input, "target 2 at 2 of a part: there are vertices 0 to 1", [&] {
    graph_part(graph_part::arrays{0, 2, 0, 9, up, targets, {}});
  }));
  EXPECT_TRUE(refused(errc::usage, "of 9 vertices and 3 edges in all", [&] {
    graph_part(graph_part::arrays{8, 9, 0, 3, up, targets, {}});
  }));
  std::vector<float> const weights{1, -1, 2};
  EXPECT_TRUE(refused(errc::input, "weight 1 of a part is -1", [&] { graph_part(graph_part::arrays{0, 9, 0, 9, up, targets, weights}); }));
  graph_handle const whole = graph_access::wrap(random_graph(1003, true));
  EXPECT_TRUE(refused(errc::usage, "part 2 of 2", [&] { graph_part(whole, 2, 2); }));
  graph_handle const outwards = graph_access::wrap(make_graph({{0, 1}, {1, 2}}, false, 3));
  EXPECT_TRUE(refused(errc::input, "this directed graph has no in-edges", [&] { graph_part(outwards, 0, 2); }));
  part_options heavy;
  heavy.weights = true;
  EXPECT_TRUE(refused(errc::input, "sampling by weights", [&] { graph_part(whole, 0, 2, heavy); }));
  graph_part const part(whole, 1, 2);
  block_options o;
  o.disjoint = true;
  EXPECT_TRUE(refused(errc::usage, "disjoint trees: not over a graph that is split", [&] { split_sampler({}, part, {3}, o); }));
  split_sampler s({}, part, {3}, {});
  std::vector<std::int64_t> const seed{1003}, other{0};
  std::vector<std::uint32_t> const batch{0};
  EXPECT_TRUE(refused(errc::input, "seed 1003 at position 0 of mini-batch 4",
                      [&] { s.begin(4, {std::span(seed)}, std::vector<sampled_subgraph>(1)); }));
  EXPECT_TRUE(refused(errc::input, "vertex 0 is requested: this part has", [&] { s.sample(0, 0, other, batch); }));
  s.begin(4, {std::span(other)}, std::vector<sampled_subgraph>(1));
  EXPECT_TRUE(refused(errc::usage, "hop 0 is still to be drawn", [&] { s.finish(); }));
  EXPECT_TRUE(refused(errc::input, "2 counts, 1 neighbors", [&] { s.complete({{1, 0}, {5}, {}}); }));
  EXPECT_TRUE(refused(errc::input, "neighbor 1003 came", [&] { s.complete({{1}, {1003}, {}}); }));
  s.complete({{1}, {5}, {}});
  EXPECT_EQ(s.finish()[0].of_type(0).count, 2u);
}

}  // namespace
}  // namespace garner

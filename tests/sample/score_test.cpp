// Scores on every device and id width, uncompressed and compressed, against serial f64 references that push along in-edges.
#include "sample/score.hpp"
#include "graph/handle.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "core/random.hpp"
#include "garner/sample.hpp"
#include "graph/container.hpp"
#include "graph/generate.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "memory/budget.hpp"
#include "refused.hpp"
#include "sample/blend.hpp"
#include "sample/neighbor.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

// A hub on both sides with more edges than a slice, loops, duplicates, isolated vertices.
std::vector<arc> random_arcs(std::uint64_t seed, std::uint64_t n) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 6 * n; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % n, v = random_bits(seed, 1, i) % n;
    if (i % 3 == 0) u = 5;
    if (i % 5 == 0) v = 37;
    if (u % 7 != 3) arcs.push_back({u, v});
  }
  return arcs;
}
graph random_graph(std::uint64_t seed, bool undirected, std::uint32_t id_bytes = 4, bool in_edges = true) {
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = o.keep_loops = seed % 2;
  o.in_edges = in_edges && !undirected;
  return make_graph(random_arcs(seed, 3000), undirected, 3003, o);
}

std::vector<double> in_degrees(graph const& g) {
  std::vector<double> d(g.info.vertices);
  for (std::uint64_t i = 0; i < g.info.edges; ++i) ++d[target_at(g, i)];
  return d;
}
// For each u the sum of `given` over its targets.
std::vector<double> summed(graph const& g, std::vector<double> const& given) {
  std::vector<double> sum(g.info.vertices);
  for (std::uint64_t u = 0; u < g.info.vertices; ++u)
    for (std::uint64_t i = g.out.offsets[u]; i < g.out.offsets[u + 1]; ++i) sum[u] += given[target_at(g, i)];
  return sum;
}

std::vector<double> serial_rank(graph const& g, std::vector<double> score, std::uint64_t iterations) {
  std::vector<double> const in = in_degrees(g);
  double const n = static_cast<double>(g.info.vertices);
  for (std::uint64_t k = 0; k < iterations; ++k) {
    std::vector<double> given(score.size());
    for (std::size_t v = 0; v < score.size(); ++v) given[v] = in[v] > 0 ? score[v] / in[v] : 0;
    std::vector<double> const sum = summed(g, given);
    for (std::size_t v = 0; v < score.size(); ++v) score[v] = 0.15 / n + 0.85 * sum[v];
  }
  return score;
}

std::vector<double> serial_expected(graph const& g, sample_options const& o, std::vector<std::uint64_t> const& train) {
  std::size_t const n = g.info.vertices;
  std::vector<double> const in = in_degrees(g);
  double const batches = static_cast<double>((train.size() + o.batch - 1) / o.batch);
  std::vector<double> start(n), there, waiting, missed(n, 1), back(n), echo(n);
  for (std::uint64_t v : train) start[v] = 1 / batches;
  there = waiting = start;
  for (std::uint32_t const fanout : o.fanouts) {
    for (std::size_t v = 0; v < n; ++v) {
      double const s = in[v] > fanout ? fanout / in[v] : 1;
      echo[v] = g.info.directed ? 0 : (1 - missed[v]) / missed[v];
      missed[v] = std::max(missed[v] - waiting[v] * s, 0x1p-24);
      back[v] = there[v] > 0 ? (1 - missed[v]) * (1 - there[v]) / there[v] / missed[v] : 0;
      waiting[v] = o.rule == hop_rule::all ? waiting[v] * (1 - s) : 0;
    }
    for (std::size_t u = 0; u < n; ++u) {
      double pulled = 0;
      for (std::uint64_t i = g.out.offsets[u]; i < g.out.offsets[u + 1]; ++i)
        pulled += -std::log(missed[target_at(g, i)]) - echo[u] * back[target_at(g, i)];
      double const more = std::max(0.0, 1 - (1 - start[u]) * std::exp(-std::max(0.0, pulled)) - there[u]);
      waiting[u] += more;
      there[u] += more;
    }
  }
  for (double& p : there) p *= batches;
  return there;
}

void expect_near(std::vector<float> const& got, std::vector<double> const& wanted, double relative, double absolute) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t v = 0; v < got.size(); ++v)
    ASSERT_NEAR(static_cast<double>(got[v]), wanted[v], relative * std::abs(wanted[v]) + absolute) << "vertex " << v;
}

// The graph in memory that this device reads.
graph_handle brought(graph g, execution_device where) { return to_device(graph_access::wrap(std::move(g)), where, tier::host); }

class scores_at : public at_place {};
GARNER_AT_EVERY_PLACE(scores_at);

vertex_set some_vertices(graph const& g, std::uint64_t count) {
  vertex_set train;
  for (std::uint64_t v = 0; v < count; ++v) train.push_back(g.user_id(v * 7 % g.info.vertices));
  return train;
}
std::vector<std::uint64_t> inside(graph const& g, vertex_set const& train) { return training_ids(g, train); }

TEST_P(scores_at, equal_their_serial_twins_in_each_id_width) {
  for (bool const undirected : {false, true})
    for (std::uint32_t const id_bytes : {4u, 8u}) {
      graph const g = random_graph(1 + id_bytes / 8, undirected, id_bytes);
      graph_handle const h = brought(random_graph(1 + id_bytes / 8, undirected, id_bytes), where());
      score_options o;
      o.device = where();
      o.train = some_vertices(g, 300);
      o.sampling.batch = 70;
      o.by = score_kind::degree;
      std::vector<double> degree(g.info.vertices);
      for (std::size_t v = 0; v < degree.size(); ++v) degree[v] = static_cast<double>(g.out.offsets[v + 1] - g.out.offsets[v]);
      expect_near(scores(h, o).score, degree, 0, 0);

      double const n = static_cast<double>(g.info.vertices);
      o.by = score_kind::reverse_pagerank;
      score_result const r = scores(h, o);
      EXPECT_TRUE(r.converged);
      EXPECT_LE(r.l1_change, 1e-6);
      expect_near(r.score, serial_rank(g, std::vector<double>(g.info.vertices, 1 / n), 300), 1e-4, 1e-9);

      o.by = score_kind::weighted_reverse_pagerank;
      std::vector<double> start(g.info.vertices, 1 / n);
      for (std::uint64_t v : inside(g, o.train)) start[v] *= n / static_cast<double>(o.train.size());
      score_result const w = scores(h, o);
      EXPECT_EQ(w.iterations, 5u);
      expect_near(w.score, serial_rank(g, start, 5), 1e-5, 1e-9);

      for (hop_rule const rule : {hop_rule::all, hop_rule::last}) {
        o.by = score_kind::expected;
        o.sampling.rule = rule;
        for (std::vector<std::uint32_t> const& fanouts : std::vector<std::vector<std::uint32_t>>{{7, 5, 3}, {4, 0, 3}, {0}}) {
          o.sampling.fanouts = fanouts;
          expect_near(scores(h, o).score, serial_expected(g, o.sampling, inside(g, o.train)), 1e-4, 1e-5);
        }
      }
    }
}

TEST_P(scores_at, are_the_same_from_packed_lists_and_without_in_lists) {
  graph const g = random_graph(2, false, 4);
  graph packed = random_graph(2, false, 4), without = random_graph(2, false, 4, false);
  pack(packed);
  graph_handle const h = brought(random_graph(2, false, 4), where()), p = brought(std::move(packed), where()),
                     w = brought(std::move(without), where());
  score_options o;
  o.device = where();
  o.train = some_vertices(g, 100);
  for (score_kind const by : {score_kind::degree, score_kind::reverse_pagerank, score_kind::expected}) {
    o.by = by;
    score_result const plain = scores(h, o);
    EXPECT_EQ(scores(w, o).score, plain.score);  // in-degrees are counted
    EXPECT_EQ(scores(h, o).score, plain.score);  // the same bits each time
    std::vector<double> wanted(plain.score.begin(), plain.score.end());
    expect_near(scores(p, o).score, wanted, 1e-5, 1e-9);
  }
}

TEST_P(scores_at, follow_the_users_ids_whatever_the_order_inside) {
  graph_handle const h = brought(random_graph(3, true), where());
  reorder_options by;
  graph_handle const d = brought(reorder(random_graph(3, true), by), where());
  score_options o;
  o.device = where();
  o.train = pick_training_set(h, 0.05);
  EXPECT_EQ(pick_training_set(d, 0.05), o.train);
  score_result const a = scores(h, o), b = scores(d, o);
  expect_near(b.score, std::vector<double>(a.score.begin(), a.score.end()), 1e-5, 1e-7);
}

// Its inputs: both predictions of the device, and the counts of a training with its own seed.
TEST_P(scores_at, sampled_blends_both_predictions_with_what_was_counted) {
  for (bool const undirected : {false, true})
    for (bool const packed : {false, true}) {
      graph g = random_graph(3, undirected);
      if (packed) pack(g);
      graph_handle const h = brought(std::move(g), where());
      score_options o;
      o.device = where();
      o.train = pick_training_set(h, 0.1);
      o.sampling.fanouts = {5, 4};
      o.sampling.batch = 40;
      o.sampling.seed = 9;
      o.presample = 3;
      std::vector<float> wanted = scores(h, o).score;
      o.by = score_kind::weighted_reverse_pagerank;
      std::vector<float> const weighted = scores(h, o).score;
      trace_options t;
      t.device = where();
      t.train = o.train;
      t.sampling = o.sampling;
      t.sampling.seed = presampling_seed;
      t.epochs = 3;
      access_trace const counted = record_trace(h, t);
      blend(wanted, weighted, counted.counts, counted.batches / 3, 3);
      o.by = score_kind::sampled;
      score_result const r = scores(h, o);
      EXPECT_EQ(r.score, wanted);
      EXPECT_EQ(r.iterations, 7u);
      if (where().kind == device_kind::simulated && counts_requests()) {
        EXPECT_GT(r.link.bytes_link(), counted.link.bytes_link());
      }
      o.sampling.seed = 10;  // the training's seed: irrelevant here
      EXPECT_EQ(scores(h, o).score, wanted);
      o.presample = 4;
      EXPECT_NE(scores(h, o).score, wanted);
    }
}

// Five vertices: 0 -> 1, 0 -> 2, 1 -> 2, 3 -> 2, 2 -> 4; vertex 4 trains.
graph five() {
  build_options o;
  o.in_edges = true;
  return make_graph({{0, 1}, {0, 2}, {1, 2}, {3, 2}, {2, 4}}, false, 5, o);
}
TEST_P(scores_at, of_the_five_vertices_are_those_of_the_docs) {
  graph_handle const h = brought(five(), where());
  score_options o;
  o.device = where();
  o.train = {4};
  o.sampling.fanouts = {2, 2};
  o.by = score_kind::degree;
  EXPECT_EQ(scores(h, o).score, (std::vector<float>{2, 1, 1, 1, 0}));
  o.by = score_kind::reverse_pagerank;
  expect_near(scores(h, o).score, {0.08459125, 0.045725, 0.0555, 0.045725, 0.03}, 1e-6, 0);
  o.by = score_kind::weighted_reverse_pagerank;  // no path has five edges, so the initial values vanish
  expect_near(scores(h, o).score, {0.08459125, 0.045725, 0.0555, 0.045725, 0.03}, 1e-6, 0);
  o.by = score_kind::expected;
  expect_near(scores(h, o).score, {2.0 / 3, 2.0 / 3, 1, 2.0 / 3, 1}, 1e-6, 0);
}

TEST_P(scores_at, of_graphs_without_edges_or_vertices) {
  score_options o;
  o.device = where();
  EXPECT_TRUE(scores(brought(make_graph({}), where()), o).score.empty());
  graph_handle const h = brought(make_graph({}, true, 4), where());
  o.train = {1, 3, 3};
  EXPECT_EQ(scores(h, o).score, (std::vector<float>{0, 1, 0, 1}));
  o.by = score_kind::sampled;
  EXPECT_EQ(scores(h, o).score, (std::vector<float>{0, 1, 0, 1}));
  EXPECT_TRUE(scores(brought(make_graph({}), where()), o).score.empty());
  o.by = score_kind::reverse_pagerank;
  expect_near(scores(h, o).score, std::vector<double>(4, 0.0375), 1e-6, 0);
}

// The predicted bytes suffice, and a third of them does not.
// Adjacency in a file: the same numbers, for any staging buffer, and the same presampled mini-batches.
TEST(scores, are_those_of_lists_in_memory_where_these_stay_in_their_file) {
  std::filesystem::path const file = std::filesystem::temp_directory_path() / fmt::format("garner_scores.{}.gnr", ::getpid());
  for (bool const packed : {false, true})
    for (std::uint32_t const id_bytes : {4u, 8u})
      for (bool const in_edges : {true, false})
        for (bool const reordered : {false, true}) {
          if (packed && id_bytes == 8) continue;
          graph g = random_graph(1, false, id_bytes, in_edges);
          if (reordered) g = reorder(std::move(g), {});
          if (packed) pack(g);
          save_graph(g, file.string());
          load_options how;
          how.in_edges = in_edges;
          graph_handle const here = graph_access::wrap(load_graph(file.string(), how));
          for (std::uint64_t const window : {std::uint64_t{64} << 10, std::uint64_t{0}}) {
            how.edges = tier::file, how.window_bytes = window;
            graph_handle const there = graph_access::wrap(load_graph(file.string(), how));
            how.edges = tier::host;
            for (execution_device const where : {execution_device{}, execution_device{device_kind::simulated, 0}})
              for (score_kind const by : all_scores) {
                if (by == score_kind::sampled && !in_edges) continue;
                SCOPED_TRACE(
                    fmt::format("{} compressed {} ids {} window {} {}", to_string(by), packed, id_bytes, window, to_string(where)));
                score_options o;
                o.device = where, o.by = by;
                o.train = pick_training_set(here, 0.1);
                o.sampling = {{4, 3}, hop_rule::last, 100, 1};
                score_result const a = scores(here, o), b = scores(there, o);
                expect_near(b.score, std::vector<double>(a.score.begin(), a.score.end()), 1e-5, 1e-9);
              }
          }
        }
  std::filesystem::remove(file);
}

TEST(scores, take_the_memory_that_is_told) {
  generate_options how;
  how.kind = generator::uniform;
  how.scale = 13;
  graph_handle const h = generate_graph(how);
  auto const suffices = [&](std::uint64_t bytes, auto&& run) {
    std::uint64_t const before = host_budget().limit();
    host_budget().set_limit(host_budget().used() + bytes);
    bool enough = true;
    try {
      run();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::memory) << e.what();
      enough = false;
    }
    host_budget().set_limit(before);
    return enough;
  };
  for (double const share : {0.01, 1.0})
    for (std::uint64_t const batch : {100u, 1000u, 100000u})
      for (hop_rule const rule : {hop_rule::all, hop_rule::last}) {
        score_options o;
        o.by = score_kind::sampled;
        o.presample = 1;
        o.train = pick_training_set(h, share);
        o.sampling.batch = batch;
        o.sampling.fanouts = {12, 5, 6};
        o.sampling.rule = rule;
        std::uint64_t const told = score_bytes(h.info(), o, o.train.size());
        EXPECT_TRUE(suffices(told, [&] { scores(h, o); })) << share << " " << batch;
        EXPECT_FALSE(suffices(told / 3, [&] { scores(h, o); })) << share << " " << batch;
        trace_options t;
        t.train = o.train;
        t.sampling = o.sampling;
        std::uint64_t const state = h.info().vertices * 4 + sampling_bytes(h.info(), t.device, t.sampling, t.train.size());
        EXPECT_TRUE(suffices(state, [&] { record_trace(h, t); })) << share << " " << batch;
        EXPECT_FALSE(suffices(state / 3, [&] { record_trace(h, t); })) << share << " " << batch;
      }
  for (score_kind const by : all_scores) {
    score_options o;
    o.by = by;
    o.presample = by == score_kind::sampled ? 1 : 0;  // the others ignore it
    o.train = pick_training_set(h, 1);
    std::uint64_t const told = score_bytes(h.info(), o, o.train.size());
    EXPECT_TRUE(suffices(told, [&] { scores(h, o); })) << to_string(by);
    EXPECT_FALSE(suffices(told / 3, [&] { scores(h, o); })) << to_string(by);
  }
}

TEST(scores, say_what_is_wrong) {
  graph_handle const h = graph_access::wrap(random_graph(1, true));
  errc code{};
  score_options o;
  EXPECT_TRUE(refused(errc::input, "training set is empty", [&] { scores(h, o); }));
  o.train = {1, 999999};
  EXPECT_TRUE(refused(errc::input, "999999", [&] { scores(h, o); }));
  o.train = {1};
  o.by = score_kind::sampled;
  o.presample = 0;
  EXPECT_TRUE(refused(errc::usage, "0 epochs", [&] { scores(h, o); }));
  o.presample = 1;
  graph_handle const without = graph_access::wrap(random_graph(1, false, 4, false));
  EXPECT_TRUE(refused(errc::input, "--in-edges", [&] { scores(without, o); }));
  o.by = score_kind::expected;
  EXPECT_EQ(scores(without, o).score.size(), without.info().vertices);
  o.damping = 1;
  EXPECT_TRUE(refused(errc::usage, [&] { scores(h, o); }));
  o.damping = 0.85;
  o.sampling.fanouts = {1, 1, 1, 1, 1, 1, 1};
  EXPECT_TRUE(refused(errc::usage, "7 hops", [&] { scores(h, o); }));
  EXPECT_NE(error_of([&] { parse_fanouts("12,1025"); }, &code).find("fanout 1025"), std::string::npos);
  for (char const* text : {"", "12,", "a", "12;3", "1,1,1,1,1,1,1", "-1"}) {
    EXPECT_TRUE(refused(errc::usage, [&] { parse_fanouts(text); })) << text;
  }
  EXPECT_EQ(parse_fanouts("25,10"), (std::vector<std::uint32_t>{25, 10}));
  EXPECT_TRUE(refused(errc::usage, [&] { pick_training_set(h, 0); }));
  EXPECT_EQ(pick_training_set(h, 1).size(), h.info().vertices);
  EXPECT_EQ(pick_training_set(h, 1e-9).size(), 1u);
  for (score_kind const k : all_scores) EXPECT_EQ(parse_score(to_string(k)), k);
  EXPECT_NE(error_of([] { parse_score("size"); }, &code).find("wrpr"), std::string::npos);
}

}  // namespace
}  // namespace garner

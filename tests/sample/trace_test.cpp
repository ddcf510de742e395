// Traces: counted as the sampler returns them, the same on every device, saved in a file that is checked when read.
#include "sample/trace.hpp"
#include "graph/handle.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "garner/sample.hpp"
#include "graph/generate.hpp"
#include "graph/reorder.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph_handle kron(execution_device where, int scale = 10) {
  generate_options o;
  o.scale = scale;
  return to_device(generate_graph(o), where, tier::host);
}
std::string temporary(char const* name) { return (std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name)).string(); }
std::string bytes_of_file(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class traces_at : public at_place {};
GARNER_AT_EVERY_PLACE(traces_at);

TEST_P(traces_at, count_the_rows_of_their_mini_batches) {
  graph_handle const g = kron(where());
  trace_options o;
  o.device = where();
  o.train = pick_training_set(g, 0.1);
  o.sampling.fanouts = {4, 3};
  o.sampling.batch = 40;
  o.epochs = 2;
  o.keep_rows = true;
  access_trace const t = record_trace(g, o);
  EXPECT_EQ(t.train, 102u);
  EXPECT_EQ(t.batches, 6u);  // 40, 40, 22, twice
  ASSERT_EQ(t.offsets.size(), 7u);
  EXPECT_EQ(t.accesses, t.rows.size());
  std::vector<std::uint32_t> counts(t.vertices);
  std::map<std::uint64_t, int> trained;
  for (std::uint64_t b = 0; b < t.batches; ++b) {
    std::set<std::uint64_t> const rows(t.rows.begin() + static_cast<std::ptrdiff_t>(t.offsets[b]),
                                       t.rows.begin() + static_cast<std::ptrdiff_t>(t.offsets[b + 1]));
    EXPECT_EQ(rows.size(), t.offsets[b + 1] - t.offsets[b]);  // unique
    for (std::uint64_t r : rows) ++counts[r];
    std::uint64_t const size = b % 3 == 2 ? 22 : 40;
    for (std::uint64_t i = 0; i < size; ++i) ++trained[t.rows[t.offsets[b] + i]];
  }
  EXPECT_EQ(counts, t.counts);
  EXPECT_EQ(trained.size(), o.train.size());
  for (auto const& [row, times] : trained) {
    EXPECT_EQ(times, 2);  // once per epoch
    EXPECT_TRUE(std::binary_search(o.train.begin(), o.train.end(), row));
  }
  EXPECT_FALSE(
      std::equal(t.rows.begin(), t.rows.begin() + 40, t.rows.begin() + static_cast<std::ptrdiff_t>(t.offsets[3])));  // shuffled again

  trace_options there = o;
  there.device = {};
  graph_handle const home = kron({});
  access_trace const h = record_trace(home, there);
  EXPECT_EQ(t.rows, h.rows);  // the same bits
  EXPECT_EQ(t.counts, h.counts);
  EXPECT_EQ(t.sampled, h.sampled);
}

TEST_P(traces_at, have_the_training_vertices_alone_where_no_neighbors_are_drawn) {
  graph_handle const g = kron(where());
  trace_options o;
  o.device = where();
  o.train = pick_training_set(g, 0.1);
  o.sampling.batch = 40;
  for (std::vector<std::uint32_t> const& fanouts : std::vector<std::vector<std::uint32_t>>{{0}, {0, 5}}) {
    o.sampling.fanouts = fanouts, o.sampling.rule = hop_rule::last;
    access_trace const t = record_trace(g, o);
    EXPECT_EQ(t.accesses, o.train.size());
    EXPECT_EQ(t.sampled, 0u);
  }
}

TEST(traces, name_rows_by_the_users_ids_whatever_the_order_inside) {
  graph_handle const plain = kron({});
  graph_handle const ordered = reorder_graph(kron({}));
  trace_options o;
  o.train = pick_training_set(plain, 0.05);
  o.sampling.fanouts = {1024};  // all neighbors: deterministic
  o.keep_rows = true;
  access_trace const a = record_trace(plain, o), b = record_trace(ordered, o);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.accesses, b.accesses);
  std::vector<std::uint32_t> counts(b.vertices);
  for (std::uint64_t r : b.rows) ++counts[r];
  EXPECT_EQ(counts, b.counts);
}

TEST(traces, keep_the_rows_of_the_first_mini_batches_where_asked) {
  graph_handle const g = kron({}, 9);
  trace_options o;
  o.train = pick_training_set(g, 0.1);
  o.sampling.fanouts = {5, 2};
  o.sampling.batch = 20;
  o.keep_rows = true;
  access_trace const all = record_trace(g, o);
  o.keep_batches = 2;
  access_trace const two = record_trace(g, o);
  ASSERT_GT(all.batches, 2u);
  ASSERT_EQ(two.offsets.size(), 3u);
  EXPECT_TRUE(std::equal(two.offsets.begin(), two.offsets.end(), all.offsets.begin()));
  ASSERT_EQ(two.rows.size(), two.offsets[2]);
  EXPECT_TRUE(std::equal(two.rows.begin(), two.rows.end(), all.rows.begin()));
  EXPECT_EQ(two.counts, all.counts);
  EXPECT_TRUE(refused(errc::usage, "of 2 of its", [&] { save_trace(two, temporary("two.gtr")); }));
}

TEST(traces, come_back_from_their_file) {
  graph_handle const g = kron({}, 9);
  std::string const file = temporary("a.gtr");
  for (bool const keep : {false, true}) {
    trace_options o;
    o.train = pick_training_set(g, 0.1);
    o.sampling.fanouts = {5, 2, 1};
    o.sampling.rule = hop_rule::last;
    o.sampling.batch = 20;
    o.sampling.seed = 9;
    o.keep_rows = keep;
    access_trace const t = record_trace(g, o);
    save_trace(t, file);
    access_trace const r = load_trace(file);
    EXPECT_EQ(r.counts, t.counts);
    EXPECT_EQ(r.offsets, t.offsets);
    EXPECT_EQ(r.rows, t.rows);
    EXPECT_EQ(r.sampling.fanouts, t.sampling.fanouts);
    EXPECT_EQ(r.sampling.rule, t.sampling.rule);
    EXPECT_EQ(r.sampling.seed, 9u);
    EXPECT_EQ(r.sampling.batch, 20u);
    EXPECT_EQ(r.accesses, t.accesses);
    EXPECT_EQ(r.sampled, t.sampled);
    EXPECT_EQ(r.batches, t.batches);
  }
  // Truncated anywhere, longer, or with any header byte inverted: an error or a trace, never a crash.
  std::string const whole = bytes_of_file(file);
  auto const reads = [&](std::string const& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      load_trace(file);
      return true;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::input) << e.what();
      return false;
    }
  };
  EXPECT_TRUE(reads(whole));
  for (std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{127}, std::size_t{128}, whole.size() / 2, whole.size() - 1})
    EXPECT_FALSE(reads(whole.substr(0, size))) << size;
  EXPECT_FALSE(reads(whole + "x"));
  for (std::size_t i = 0; i < 128; ++i) {
    std::string turned = whole;
    turned[i] = static_cast<char>(~turned[i]);
    bool const taken = reads(turned);
    // Magic, version, hops, vertices; mini-batches, accesses; rule and bytes of a row.
    if (i < 24 || (i >= 40 && i < 56) || (i >= 104 && i < 112)) {
      EXPECT_FALSE(taken) << "byte " << i;
    }
  }
  std::string worse = whole;
  worse[worse.size() - 1] = '\x7f';  // a row out of range
  EXPECT_FALSE(reads(worse));
  std::filesystem::remove(file);
  EXPECT_TRUE(refused(errc::io, [&] { load_trace(file); }));
}

TEST(traces, of_the_five_vertices_are_those_of_the_docs) {
  build_options b;
  b.in_edges = true;
  graph_handle const g = graph_access::wrap(make_graph({{0, 1}, {0, 2}, {1, 2}, {3, 2}, {2, 4}}, false, 5, b));
  trace_options o;
  o.train = {4};
  o.sampling.fanouts = {2, 2};
  o.epochs = 600;
  access_trace const t = record_trace(g, o);
  EXPECT_EQ(t.accesses, 2400u);  // 4, then 2, then two of 0, 1 and 3
  EXPECT_EQ(t.counts[4], 600u);
  EXPECT_EQ(t.counts[2], 600u);
  for (std::size_t v : {0, 1, 3}) EXPECT_NEAR(t.counts[v], 400, 60);  // five standard deviations
}

TEST(traces, order_rows_and_count_hits) {
  EXPECT_EQ(rows_by_score({1, 3, -2, 3, 0, -0.0f, -5}), (std::vector<std::uint64_t>{1, 3, 0, 4, 5, 2, 6}));
  EXPECT_EQ(rows_by_count({1, 3, 0, 3}), (std::vector<std::uint64_t>{1, 3, 0, 2}));
  access_trace t;
  t.counts = {1, 3, 0, 3};
  EXPECT_EQ(hits(t, {1, 3, 0, 2}, 2), 6u);
  EXPECT_EQ(hits(t, {1, 3, 0, 2}, 99), 7u);
  EXPECT_EQ(hits(t, {}, 2), 0u);
}

// The purpose of the expected score: it predicts the trace.
TEST(traces, are_predicted_by_the_expected_score) {
  for (generator const kind : {generator::kron, generator::web}) {
    generate_options go;
    go.kind = kind;
    go.scale = 14;
    graph_handle const g = generate_graph(go);
    trace_options o;
    o.train = pick_training_set(g, 0.01);
    o.sampling.fanouts = {12, 12, 12};
    o.sampling.batch = 10;
    o.epochs = 10;
    access_trace const t = record_trace(g, o);
    score_options s;
    s.train = o.train;
    s.sampling = o.sampling;
    std::vector<float> const score = scores(g, s).score;
    std::uint64_t const kept = t.vertices / 10;
    double const share =
        static_cast<double>(hits(t, rows_by_score(score), kept)) / static_cast<double>(hits(t, rows_by_count(t.counts), kept));
    EXPECT_GT(share, 0.9);
    EXPECT_NEAR(std::accumulate(score.begin(), score.end(), 0.0) * 10 / static_cast<double>(t.accesses), 1, 0.25);
  }
}

}  // namespace
}  // namespace garner

// The tiering bench: its curves are those of its trace, its file comes back, its page shows every figure.
#include "lab/tiering.hpp"

#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;

tiering_options small_options(execution_device where, bool deeper) {
  tiering_options o;
  o.where = where;
  o.kinds = {generator::kron};
  o.scale = 9;
  o.sampling.fanouts = {4, 3};
  o.sampling.batch = 5;
  o.deeper = deeper;
  o.train = "5%";
  o.training = [](graph_handle const& g) { return pick_training_set(g, 0.05); };
  o.command = "garner-lab tiering";
  return o;
}
tiering_run small_run(bool deeper = true, execution_device where = {}) { return measure_tiering(small_options(where, deeper), {}); }

class tiering_at : public at_place {};
GARNER_AT_EVERY_PLACE(tiering_at);

TEST_P(tiering_at, curves_rise_to_all_accesses_and_none_passes_the_oracle) {
  tiering_run const r = small_run(true, where());
  ASSERT_EQ(r.graphs.size(), 1u);
  tiering_graph const& g = r.graphs[0];
  EXPECT_EQ(g.train, 26u);
  ASSERT_EQ(g.traces.size(), 5u);
  EXPECT_EQ(g.traces[4].fanouts, std::vector<std::uint64_t>(6, 10));
  for (tier_trace const& t : g.traces) {
    ASSERT_EQ(t.curves.size(), &t == &g.traces[0] ? 8u : 6u);
    EXPECT_EQ(t.curves[0].score, "oracle");
    for (tier_curve const& c : t.curves) {
      EXPECT_EQ(c.hits.front(), 0);
      EXPECT_DOUBLE_EQ(c.hits.back(), 1);
      EXPECT_TRUE(std::is_sorted(c.hits.begin(), c.hits.end()));
      if (c.score == tier_curve::ceiling) continue;  // of another training
      for (std::size_t i = 0; i < c.hits.size(); ++i) EXPECT_LE(c.hits[i], t.curves[0].hits[i] + 1e-12);
      EXPECT_LE(r.of_oracle(t, c), 1.0);
      EXPECT_GT(r.of_oracle(t, c), 0.5);
    }
    EXPECT_DOUBLE_EQ(r.link_bytes(t, t.curves[0], 0), static_cast<double>(t.accesses) * 512);
  }
  EXPECT_EQ(g.scores.size(), 5u);
}

// The bytes that gathers fetch are those that the trace foretells, whatever score says which rows are kept.
TEST_P(tiering_at, gathers_fetch_what_the_trace_says) {
  tiering_run const r = small_run(true, where());
  tier_trace const& t = r.graphs[0].traces[0];
  ASSERT_EQ(t.no_gathers, "");
  ASSERT_EQ(t.gathered, t.batches);  // 6 of them
  for (tier_curve const& c : t.curves) {
    if (c.score == tier_curve::another || c.score == tier_curve::ceiling) {
      EXPECT_TRUE(c.gathers.empty());
      continue;
    }
    ASSERT_EQ(c.gathers.size(), where().kind == device_kind::cpu ? 1u : 8u) << c.score;
    for (tier_gather const& m : c.gathers) {
      EXPECT_EQ(m.ms.has_value(), where().kind != device_kind::simulated);
      double const expected = r.link_bytes(t, c, r.at(m.kept)) / static_cast<double>(t.batches);
      EXPECT_NEAR(m.link_bytes, where().kind == device_kind::cpu ? 0 : expected, 1e-6 * expected) << c.score << " " << m.kept;
    }
  }
  for (std::size_t k = 1; k < r.graphs[0].traces.size(); ++k) EXPECT_EQ(r.graphs[0].traces[k].gathered, 0u);
}

TEST(tiering, says_why_it_did_not_gather) {
  tiering_options o = small_options({}, false);
  o.gathers = false;
  o.ceiling = 0;
  tiering_run const none = measure_tiering(o, {});
  EXPECT_EQ(none.graphs[0].traces[0].curves.size(), 6u);
  EXPECT_NE(none.graphs[0].traces[0].no_gathers.find("--no-gathers"), std::string::npos);
  o.gathers = true;
  o.row_bytes = std::uint64_t{1} << 50;  // 512 rows of them are 2^59 bytes
  tiering_run const r = measure_tiering(o, {});
  EXPECT_NE(r.graphs[0].traces[0].no_gathers.find("half of the"), std::string::npos) << r.graphs[0].traces[0].no_gathers;
  EXPECT_NE(page_of({.tierings = {{"t.json", r}}}).find("No gathers: a table of 512 rows"), std::string::npos);
  for (tier_curve const& c : r.graphs[0].traces[0].curves) EXPECT_TRUE(c.gathers.empty());
  for (std::uint64_t const row : {1, 5, 12}) {  // not of words
    o.row_bytes = row;
    EXPECT_GT(measure_tiering(o, {}).graphs[0].traces[0].gathered, 0u);
  }
}

// The best rows of many epochs answer less of them than an oracle's of one, and more than is to be expected of any prediction.
TEST(tiering, another_training_bounds_what_is_predicted) {
  tiering_options o = small_options({}, false);
  o.scale = 14;
  o.row_bytes = 4;
  o.sampling.batch = 20;
  o.ceiling = 32;
  tiering_run const r = measure_tiering(o, {});
  tier_trace const& t = r.graphs[0].traces[0];
  tier_curve const *const another = t.find(tier_curve::another), *const ceiling = t.find(tier_curve::ceiling);
  ASSERT_TRUE(another && ceiling);
  EXPECT_LT(r.of_oracle(t, *ceiling), 0.99);
  // The trace's own luck, with any choice of rows, is a per cent or less.
  EXPECT_GT(r.of_oracle(t, *ceiling) + 0.01, r.of_oracle(t, *another));
  EXPECT_GT(r.of_oracle(t, *another), 0.85);
  for (char const* score : {"degree", "rpr", "wrpr", "expected", "sampled"})
    EXPECT_LT(r.of_oracle(t, *t.find(score)), r.of_oracle(t, *ceiling) + 0.01) << score;
}

// One mini-batch that was counted costs little of what the prediction saves.
TEST(tiering, sampled_over_one_mini_batch_saves_what_expected_does) {
  tiering_options o = small_options({}, false);
  o.kinds = {generator::uniform, generator::kron, generator::web};
  o.scale = 12;
  o.sampling.fanouts = {4, 4};
  o.sampling.batch = 1000;
  o.presample = {1};
  o.epochs = 10;
  o.ceiling = 0;
  o.gathers = false;
  o.training = [](graph_handle const& g) { return pick_training_set(g, 0.01); };
  tiering_run const r = measure_tiering(o, {});
  for (tiering_graph const& g : r.graphs) {
    tier_trace const& t = g.traces[0];
    EXPECT_EQ(t.batches, 10u);
    EXPECT_GT(r.of_oracle(t, *t.find("sampled")), 0.95 * r.of_oracle(t, *t.find("expected"))) << g.name;
  }
}

TEST(tiering, file_comes_back) {
  std::string const text = to_json(small_run(false));
  EXPECT_EQ(to_json(file_in<tiering_run>(json::parse(text), "t.json")), text);
}

TEST(tiering, page_shows_every_figure) {
  std::string const page = page_of({.tierings = {{"t.json", small_run()}}});
  expect_all(page, {"(figure 4.8)", "(figure 4.10)", "(figure 4.11)", "of what the oracle saves"});
  EXPECT_EQ(page_of({.tierings = {{"t.json", small_run(false)}}}).find("(figure 4.10)"), std::string::npos);
  // Figure 4.10 has epochs and fanouts of its own, and each `sampled` says over how many epochs it counted.
  tiering_options o = small_options({}, true);
  o.epochs = 7, o.deeper_epochs = 2;
  o.presample = {3, 5};
  o.ceiling = 0;
  o.gathers = false;
  std::string const longer = page_of({.tierings = {{"t.json", measure_tiering(o, {})}}});
  expect_all(longer, {"expected, sampled over 3 epochs", "expected, sampled over 5 epochs", "expected, sampled over 1 epoch",
                      "over 3, 5 epochs beforehand", "mini-batches of 5, 7 epochs"});
  std::size_t const at = longer.find("mini-batches of 5, 2 epochs");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(longer.find("fanout 10 a hop, 12 mini-batches", at), at + 300);
  tiering_run timed = small_run(false);
  EXPECT_NE(page.find("ms a gather"), std::string::npos);
  EXPECT_NE(page.find("another training of 8 times the epochs"), std::string::npos);
  EXPECT_EQ(page.find("gather time against"), std::string::npos);  // at the host there is one time alone
  timed.graphs[0].traces[0].curves[4].gathers = {{0, 1e6, 2.5}, {0.1, 1e5, 1.5}};
  EXPECT_NE(page_of({.tierings = {{"t.json", timed}}}).find("gather time against"), std::string::npos);
}

}  // namespace
}  // namespace garner::testing

// The training benchmark: properties of the communities, comparison of parameters, round trip of the file, every figure of the page.
#include "lab/train.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command/made_rows.hpp"
#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;
using namespace cli;
using ::testing::HasSubstr;
using json = nlohmann::ordered_json;

community_options small_communities() {
  community_options o;
  o.vertices = 1203, o.communities = 4, o.width = 12, o.training = 0.3;
  return o;
}
train_bench_options small_options(execution_device where) {
  train_bench_options o;
  o.where = where;
  o.scale = 9;
  o.fanouts = {4, 3};
  o.batch = 20, o.width = 8, o.hidden = 8, o.classes = 5, o.epochs = 3, o.batches = 4;
  o.widths = {3, 16};
  o.kept = {0, 0.1, 0.5};
  o.communities = small_communities();
  o.course_epochs = 3;
  o.step_rows = 100;
  o.share = "100%";
  o.training = all_nodes;
  o.command = "garner-lab train";
  return o;
}

TEST(community, edges_stay_inside_and_rows_say_little) {
  community_options const o = small_communities();
  community_graph const c = make_communities(o), again = make_communities(o);
  EXPECT_EQ(c.rows, again.rows);
  EXPECT_EQ(c.split, again.split);
  adjacency_arrays const lists = adjacency_of(c.graph), same = adjacency_of(again.graph);
  std::uint64_t const n = o.vertices, arcs = c.graph.info().edges;
  ASSERT_EQ(c.graph.info().vertices, n);
  auto const* const to = static_cast<std::uint32_t const*>(lists.targets);
  EXPECT_TRUE(std::equal(to, to + arcs, static_cast<std::uint32_t const*>(same.targets)));
  std::uint64_t inside = 0, most = 0;
  for (std::uint64_t v = 0; v < n; ++v) {
    for (std::uint64_t k = lists.offsets[v]; k < lists.offsets[v + 1]; ++k) inside += c.labels[to[k]] == c.labels[v];
    most = std::max(most, lists.offsets[v + 1] - lists.offsets[v]);
  }
  EXPECT_NEAR(static_cast<double>(inside) / static_cast<double>(arcs), 0.6 + 0.4 / 4, 0.05);
  EXPECT_GT(most, 10 * arcs / n);  // some have many neighbors
  double signal = 0, squares = 0;  // against the centre of its own community: the mean of the rows
  std::vector<double> mean(o.communities * o.width);
  for (std::uint64_t v = 0; v < n; ++v)
    for (std::uint64_t j = 0; j < o.width; ++j)
      mean[static_cast<std::size_t>(c.labels[v]) * o.width + j] += c.rows[v * o.width + j] * o.communities / static_cast<double>(n);
  for (double const m : mean) signal += std::abs(m) / static_cast<double>(mean.size());
  for (float const x : c.rows) squares += x * x / static_cast<double>(c.rows.size());
  EXPECT_NEAR(signal, 0.25, 0.04);
  EXPECT_NEAR(squares, 1 + 0.25 * 0.25, 0.05);
  EXPECT_NEAR(static_cast<double>(std::count(c.split.begin(), c.split.end(), 1)), 0.3 * static_cast<double>(n), 60);
  for (auto const spoil : {+[](community_options& x) { x.communities = 1; }, +[](community_options& x) { x.width = 0; },
                           +[](community_options& x) { x.inside = 1.5; }, +[](community_options& x) { x.training = 0; }}) {
    community_options bad = o;
    spoil(bad);
    EXPECT_TRUE(refused(errc::usage, [&] { make_communities(bad); }));
  }
}

// Also without a single edge: a mini-batch without neighbors.
TEST(take_course, learns_more_with_the_graph_and_the_same_at_every_place) {
  community_graph c = make_communities(small_communities());
  graph_handle const none = without_edges(c.labels.size());
  course_options how;
  how.epochs = 12, how.fanouts = {5, 3}, how.batch = 60, how.hidden = 16;
  std::uint64_t told = 0;
  train_course const curve = curve_of("with", c, c.graph, how, [&](train_course const& k, train_epoch const& e) {
    EXPECT_EQ(k.epochs.size(), ++told);
    EXPECT_EQ(e.epoch, told);
  });
  taken_course const with = take_course(c, c.graph, how), without = take_course(c, none, how);
  EXPECT_EQ(told, 12u);
  EXPECT_GT(with.exact.test.accuracy, without.exact.test.accuracy + 0.1);
  EXPECT_GT(without.exact.test.accuracy, 0.3);
  EXPECT_LT(curve.epochs.back().loss, curve.epochs.front().loss);
  EXPECT_EQ(*curve.epochs.back().test_accuracy, with.exact.test.accuracy);
  train_times const& t = curve.epochs.back().times;
  EXPECT_GT(*t.model_ms, 0);
  EXPECT_LE(*t.model_ms, *t.ms);
  EXPECT_EQ(curve.epochs[0].rows.far, 0);
  same_parameters same;
  same.check("host", with.parameters);
  how.where = {device_kind::simulated, 0};
  double far = 1e300;
  for (double const kept : {0.0, 0.1, 1.0}) {
    how.kept = kept;
    same.check("simulated", take_course(c, c.graph, how).parameters);
    train_epoch const first = curve_of("simulated", c, c.graph, how).epochs[0];
    EXPECT_FALSE(first.times.ms);
    EXPECT_LT(first.rows.far, far);
    far = first.rows.far;
  }
  EXPECT_EQ(far, 0);
  EXPECT_TRUE(refused(errc::internal, "without: learned other parameters than host", [&] { same.check("without", without.parameters); }));
  std::vector<gnn_model::tensor> spoilt = with.parameters;
  spoilt[1].values.back() = std::nextafter(spoilt[1].values.back(), 1e9f);
  EXPECT_NE(error_of([&] { same.check("spoilt", spoilt); }).find(spoilt[1].name), std::string::npos);
  spoilt.pop_back();
  EXPECT_NE(error_of([&] { same.check("fewer", spoilt); }).find("tensors"), std::string::npos);
}

TEST(made_floats, are_small_and_all_over) {
  memory_block const table = make_floats(1000, 7, -1);
  auto const* const x = static_cast<float const*>(table.data());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 7000; ++i) {
    ASSERT_TRUE(x[i] >= -1 && x[i] < 1) << i;
    sum += x[i], squares += x[i] * x[i];
  }
  EXPECT_NEAR(sum / 7000, 0, 0.03);
  EXPECT_NEAR(squares / 7000, 1.0 / 3, 0.02);
}

TEST(train_bench, measures_what_it_says) {
  train_bench_options o = small_options({device_kind::simulated, 0});
  o.peers = {0, 1};
  std::uint64_t rows = 0, epochs = 0;
  train_file const f = measure_trainings(
      o, {[&](train_file const&, train_row const&) { ++rows; }, [&](train_course const&, train_epoch const&) { ++epochs; }});
  EXPECT_EQ(rows, f.rows.size());
  EXPECT_EQ(epochs, 6u);
  ASSERT_EQ(f.graphs.size(), 1u);
  EXPECT_EQ(f.graphs[0].train, 80u);  // 4 mini-batches of 20
  std::map<std::string, std::uint64_t> figures;
  for (train_row const& r : f.rows) {
    ++figures[r.figure];
    EXPECT_EQ(r.skipped, "");
    EXPECT_EQ(r.batches, 4u);
    EXPECT_EQ(r.epochs, 2u);
    EXPECT_FALSE(r.times.ms);
    EXPECT_GT(r.loss, 0);
    EXPECT_TRUE(r.width != 8 || r.loss == f.rows[0].loss) << r.loss;  // the same mini-batches and the same parameters
    EXPECT_EQ(r.rows.peer > 0, r.devices == 2);
    EXPECT_EQ(r.rows.near + r.rows.peer > 0, r.kept > 0);
    EXPECT_EQ(r.score.empty(), r.kept == 0);
  }
  EXPECT_EQ(figures["ways"], 8u);
  EXPECT_EQ(figures["widths"], 8u);
  EXPECT_EQ(figures["placement"], 2u + 2 * (1 + 4 * 2) + 2);
  train_row const &staged = f.rows[3], &window = f.rows[0];
  EXPECT_EQ(staged.strategy, "staged");
  EXPECT_LT(window.rows.remote_bytes, staged.rows.remote_bytes);
  EXPECT_EQ(staged.rows.remote_bytes, staged.rows.far * 32);
  // On the CPU all rows are local.
  o = small_options({});
  o.epochs = 1;
  train_file const host = measure_trainings(o);
  ASSERT_EQ(host.rows.size(), 3u);
  for (train_row const& r : host.rows) {
    EXPECT_GT(*r.times.ms, 0);
    EXPECT_GT(*r.times.model_ms, 0);
    EXPECT_TRUE(r.near());
    EXPECT_EQ(r.epochs, 1u);
  }
  o.figures = {"learning"};
  EXPECT_TRUE(measure_trainings(o).rows.empty());
  for (auto const spoil : {+[](train_bench_options& x) { x.figures = {"size"}; }, +[](train_bench_options& x) { x.epochs = 0; },
                           +[](train_bench_options& x) { x.batches = 0; }, +[](train_bench_options& x) { x.classes = 1; },
                           +[](train_bench_options& x) { x.widths = {0}; }}) {
    train_bench_options bad = small_options({});
    spoil(bad);
    EXPECT_TRUE(refused(errc::usage, [&] { measure_trainings(bad); }));
  }
}

TEST(train_bench, steps_rows_that_are_learned) {
  train_bench_options o = small_options({device_kind::simulated, 0});
  o.figures = {"trainable"};
  std::uint64_t told = 0;
  train_file const f = measure_trainings(o, {{}, {}, [&](train_file const&, trainable_row const&) { ++told; }});
  EXPECT_TRUE(f.rows.empty());
  ASSERT_EQ(f.trainable.size(), 6u);
  EXPECT_EQ(told, 6u);
  for (std::size_t k = 0; k < 6; ++k) {
    trainable_row const& r = f.trainable[k];
    EXPECT_EQ(r.optimizer, k < 2 ? "sgd" : k < 4 ? "adagrad" : "adam");
    EXPECT_EQ(r.record_bytes, 32u * (k / 2 + 1));
    EXPECT_EQ(r.rows, 512u);
    EXPECT_EQ(r.step_rows, 100u);
    EXPECT_EQ(r.steps, 4u);
    EXPECT_EQ(r.kept, k % 2 ? 0.1 : 0);
    EXPECT_FALSE(r.update_ms);
    if (k % 2) EXPECT_NEAR(r.far_rows, 90, 8);
    else EXPECT_EQ(r.far_rows, 100);
    EXPECT_EQ(r.remote_bytes, r.far_rows * static_cast<double>(r.record_bytes));
  }
  o.where = {}, o.step_rows = 10'000;  // more than there are
  train_file const host = measure_trainings(o);
  ASSERT_EQ(host.trainable.size(), 3u);
  for (trainable_row const& r : host.trainable) {
    EXPECT_GT(*r.gather_ms, 0);
    EXPECT_GT(*r.update_ms, 0);
    EXPECT_FALSE(r.of_floor());  // no link traffic
    EXPECT_EQ(r.step_rows, 512u);
    EXPECT_EQ(r.far_rows, 0);
  }
  o.step_rows = 0;
  EXPECT_TRUE(refused(errc::usage, [&] { measure_trainings(o); }));
}

// A table that does not fit is a row with the reason; the others are measured.
TEST(train_bench, what_does_not_fit_is_told) {
  train_bench_options o = small_options({});
  o.figures = {"widths"};
  o.widths = {4, std::uint64_t{1} << 50, 8};
  train_file const f = measure_trainings(o);
  ASSERT_EQ(f.rows.size(), 3u);
  EXPECT_EQ(f.rows[0].skipped, "");
  EXPECT_NE(f.rows[1].skipped.find("host memory"), std::string::npos) << f.rows[1].skipped;
  EXPECT_FALSE(f.rows[1].times.ms);
  EXPECT_EQ(f.rows[2].skipped, "");
}

TEST(train_bench, file_comes_back) {
  std::string const text = to_json(measure_trainings(small_options({})));
  EXPECT_EQ(to_json(file_in<train_file>(json::parse(text), "t.json")), text);
}

TEST(train_bench, reads_what_garner_train_prints) {
  json epoch = json::parse(R"({"epoch": 1, "steps": 3, "loss": 2.5, "accuracy": 0.25, "train_accuracy": null, "validation_accuracy": null,
    "test_accuracy": null, "ms": 10.0, "sample_ms": 1.0, "fetch_ms": 2.0, "gather_ms": 3.0, "model_ms": 8.0, "caller_waited_ms": 0.5,
    "loader_waited_ms": 4.0, "local_rows": 5, "peer_rows": 0, "remote_rows": 7, "remote_bytes": 700})");
  json second = epoch;
  second["epoch"] = 2, second["loss"] = 1.25, second["test_accuracy"] = 0.5;
  json run{{"file", "g.gnr"}, {"nodes", 10},  {"edges", 20},         {"device", "cuda:0"},
           {"model", "gcn"},  {"hidden", 16}, {"classes", 3},        {"fanouts", {5, -1}},
           {"batch", 4},      {"seed", 1},    {"training_nodes", 6}, {"epochs", {epoch, second}}};
  ASSERT_TRUE(is_course(run));
  train_file f = course_in(json::parse(run.dump()), "run.json");
  EXPECT_TRUE(f.alone);
  ASSERT_EQ(f.courses.size(), 1u);
  EXPECT_EQ(f.courses[0].name, "g.gnr, gcn");
  EXPECT_EQ(f.fanouts, (std::vector<std::int64_t>{5, -1}));
  ASSERT_EQ(f.courses[0].epochs.size(), 2u);
  EXPECT_EQ(*f.courses[0].epochs[1].test_accuracy, 0.5);
  std::string const page = page_of({.trainings = {{"run.json", f}}});
  EXPECT_NE(page.find("Loss of g.gnr, gcn: from 2.50 to 1.25."), std::string::npos);
  // 1 + 2 + 3 + 8 ms of stages in 10.
  EXPECT_NE(page.find("<td>14.0</td><td>10.0</td><td>28.6 %</td>"), std::string::npos);
  EXPECT_NE(page.find("trainings, measured"), std::string::npos);
  run["device"] = "simulated", run["fanouts"] = nullptr, run["batch"] = nullptr;
  f = course_in(json::parse(run.dump()), "run.json");
  EXPECT_FALSE(f.courses[0].epochs[0].times.ms);
  EXPECT_NE(page_of({.trainings = {{"run.json", f}}}).find("the whole graph at every step"), std::string::npos);
  run["epochs"][0].erase("remote_bytes");
  EXPECT_TRUE(refused(errc::input, "remote_bytes", [&] { course_in(json::parse(run.dump()), "run.json"); }));
}

TEST(train_bench, page_shows_every_figure) {
  train_bench_options o = small_options({device_kind::simulated, 0});
  o.peers = {0, 1};
  train_file f = measure_trainings(o);
  std::string page = page_of({.trainings = {{"t.json", f}}});
  EXPECT_THAT(page, HasSubstr("bytes over the link (figure 3.14)"));
  EXPECT_EQ(page.find("what overlapped"), std::string::npos);  // nothing was timed
  f.place = "device 0";
  for (train_row const& like :
       {f.rows[0], *std::find_if(f.rows.begin(), f.rows.end(), [](train_row const& r) { return r.figure == "widths"; })}) {
    train_row near = like;
    near.kept = 1, near.strategy = "tiered", near.lists = "device";
    f.rows.insert(f.rows.begin(), near);
  }
  for (train_row& r : f.rows) {
    double const ms = r.near() ? 8 : r.strategy == "staged" ? 48 : r.strategy == "zero_copy" ? 24 : r.kept == 0 ? 12 : 10;
    r.times = {ms, 1, 2, 3, 6, 0.5, 0.25}, r.ms_median = ms;
  }
  EXPECT_THAT(page, HasSubstr("rows that are learned: bytes over the link"));
  for (trainable_row& r : f.trainable)
    r.gather_ms = 2, r.update_ms = 6, r.update_ms_median = 6, r.gather_floor_ms = 1, r.update_floor_ms = 5;
  f.trainable.push_back(f.trainable[0]);
  f.trainable.back().skipped = "no room for <rows>";
  for (train_course& c : f.courses)
    for (train_epoch& e : c.epochs) e.times = {4, 1, 1, 1, 2, 0.5, 0.25};
  train_row skipped = f.rows[0];
  skipped.times = {}, skipped.skipped = "no room for <it>";
  f.rows.push_back(skipped);
  page = page_of({.trainings = {{"t.json", f}}});
  expect_all(page, {"(figure 3.14)", "(figure 3.15)", "(figure 4.9)", "what overlapped", "loss by epoch", "accuracy by epoch",
                    "no room for &lt;it&gt;", "no room for &lt;rows&gt;", "rows that are learned: a step", "trainings, measured",
                    "degree, 2 devices", "way tiered"});
  EXPECT_THAT(
      page,
      HasSubstr("takes 1.50 times as long as near with none of the rows kept, 1.25 times as long as near with 10.0 % of the rows kept. "
                "Staged takes 2.00 times as long as zero_copy."));
  EXPECT_THAT(page, HasSubstr("Windows are 4.00 times as fast as staged with rows of 3 floats, 4.00 times with 16."));
  EXPECT_THAT(page,
              HasSubstr("Zero_copy is 2.00 times as fast as staged; a tenth kept by degree, way window, is 2.40 times as fast again."));
  EXPECT_THAT(page, HasSubstr("Time of an update over the floor of remote rows: sgd: 120 %; adagrad: 120 %; adam: 120 %."));
  EXPECT_THAT(page, HasSubstr("<td>120 %</td><td>133 %</td>"));  // 6 of 5, 8 of 6
  // 1 + 2 + 3 + 6 ms of stages in 12 with nothing cached: stages run in sequence; in 8, a third overlaps if all rows are local.
  EXPECT_THAT(
      page,
      HasSubstr(
          "<td class=\"name\">near</td><td>1.00</td><td>2.00</td><td>3.00</td><td>6.00</td><td>12.0</td><td>8.00</td><td>33.3 %</td>"));
}

}  // namespace
}  // namespace garner::testing

// Training: it learns, with mini-batches and on the full graph; the same bits on every device and in every run; losses and areas under
// ROC are those of the scores.
#include <cmath>

#include "child.hpp"
#include "nn/evaluate.hpp"
#include "nn/lesson.hpp"

namespace garner {
namespace {
using namespace garner::testing;

GARNER_OF_EVERY_KIND();

TEST_P(of_kind, learns) {
  lesson l({}, kind(), by());
  epoch_report const first = l.run->next();
  ASSERT_TRUE(first.exact);
  EXPECT_EQ(first.epoch, 1u);
  EXPECT_EQ(first.steps, by() == strategy::full ? 1u : 5u);  // 144 by 32
  EXPECT_TRUE(first.best);
  epoch_report last;
  for (int k = 1; k < (by() == strategy::full ? 160 : 40); ++k) last = l.run->next();
  EXPECT_LT(last.loss, first.loss * 0.6);
  ASSERT_TRUE(last.exact);
  EXPECT_EQ(last.exact->train.vertices, 144u);
  EXPECT_EQ(last.exact->validation.vertices, 48u);
  EXPECT_EQ(last.exact->test.vertices, 48u);
  EXPECT_GT(last.exact->test.accuracy, 0.85);
  EXPECT_GT(last.exact->train.accuracy, 0.9);
  EXPECT_LT(last.exact->validation.loss, first.exact->validation.loss);
  EXPECT_FALSE(last.exact->test.auc);  // three classes
  // evaluate() equals infer().
  std::vector<float> scores(l.of.vertices * l.of.classes);
  infer(l.model, l.g, l.features, scores);
  std::uint64_t right = 0;
  for (std::uint64_t v = 0; v < l.of.vertices; ++v) {
    auto const row = scores.begin() + static_cast<long>(v * l.of.classes);
    if (l.of.split[v] == 3) right += std::max_element(row, row + 3) - row == l.of.classes_of[v];
  }
  EXPECT_EQ(static_cast<double>(right) / 48, last.exact->test.accuracy);
}

TEST_P(of_kind, has_the_same_bits_at_host_and_simulated) {
  lesson a({}, kind(), by()), b({device_kind::simulated, 0}, kind(), by());
  for (int k = 0; k < 2; ++k) {
    epoch_report const x = a.run->next(), y = b.run->next();
    EXPECT_EQ(x.loss, y.loss);
    EXPECT_EQ(x.exact->test.loss, y.exact->test.loss);
  }
  EXPECT_EQ(a.values(), b.values());
}

TEST(training, learns_the_same_where_some_lists_are_kept_near) {
  lesson a({}, model_kind::sage, strategy::drawn);
  training_options o = options_of(strategy::drawn);
  std::vector<float> scores(a.of.vertices);
  for (std::size_t v = 0; v < scores.size(); ++v) scores[v] = static_cast<float>(v % 7);
  o.graph_cache = 2000, o.graph_scores = scores;
  lesson b({device_kind::simulated, 0}, communities().model(model_kind::sage), o);
  EXPECT_EQ(a.after(2), b.after(2));
  o.graph_scores = std::span(scores).first(3);
  EXPECT_THROW(lesson({device_kind::simulated, 0}, communities().model(model_kind::sage), o), error);
}

TEST_P(of_kind, is_told_by_its_seed) {
  lesson a({}, kind(), by()), b({}, kind(), by());
  std::vector<float> const once = a.after(2);
  EXPECT_EQ(once, b.after(2));
  training_options o = options_of(by());
  o.seed = 2;
  lesson c({}, communities().model(kind()), o);
  EXPECT_NE(once, c.after(2));
}

// Bits of the parameters after two epochs, sent to the parent process.
TEST(training, DISABLED_tells_its_bits) {
  for (strategy const w : {strategy::full, strategy::drawn})
    for (model_kind const k : {model_kind::gcn, model_kind::sage, model_kind::gin})
      for (float const v : lesson({}, k, w).after(2)) {
        char bytes[4];
        std::memcpy(bytes, &v, 4);
        for (char const c : bytes) tell(static_cast<char>('A' + (c & 15))), tell(static_cast<char>('A' + ((c >> 4) & 15)));
      }
  ::_exit(0);
}
std::string bits_with(std::string const& threads, std::string const& library) {
  child of("training.DISABLED_tells_its_bits", {"GARNER_THREADS=" + threads, "GARNER_BLAS=" + library});
  std::string said;
  while (char const letter = of.hears()) said += letter;
  EXPECT_EQ(of.end(), 0);
  EXPECT_GT(said.size(), 1000u);
  return said;
}
TEST(training, has_the_same_bits_for_any_number_of_threads) {
  for (char const* const library : {"none", ""}) {
    std::string const one = bits_with("1", library);
    EXPECT_EQ(one, bits_with("2", library)) << library;
    EXPECT_EQ(one, bits_with("7", library)) << library;
  }
}

TEST(training, answers_yes_or_no_of_several_classes) {
  for (strategy const w : {strategy::full, strategy::drawn}) {
    model_options m = communities().model(model_kind::sage);
    m.labels = label_kind::multi_label;
    lesson l({}, m, options_of(w));
    double const first = l.run->next().loss;
    epoch_report last;
    for (int k = 0; k < (w == strategy::full ? 80 : 20); ++k) last = l.run->next();
    EXPECT_LT(last.loss, first * 0.7);
    EXPECT_GT(last.exact->test.accuracy, 0.85);
    EXPECT_EQ(last.exact->test.vertices, 48u);
    EXPECT_GT(last.accuracy, 0.75);
  }
}

TEST(training, of_answers_as_floats_is_that_of_bytes) {
  communities c;
  std::vector<float> const floats(c.answers.begin(), c.answers.end());
  model_options m = c.model(model_kind::gcn);
  m.labels = label_kind::multi_label;
  lesson a({}, m, options_of(strategy::drawn)), b({}, m, options_of(strategy::drawn));
  b.run.emplace(b.model, b.g, b.features, labeled_nodes{{floats.data(), c.vertices, c.classes, element::f32, {}}, c.split},
                options_of(strategy::drawn));
  EXPECT_EQ(a.after(1), b.after(1));
}

TEST(training, counts_edges_by_their_weights) {
  for (strategy const w : {strategy::full, strategy::drawn}) {
    training_options o = options_of(w);
    lesson plain({}, communities().model(model_kind::gcn), o);
    o.weighted = true;
    lesson weighted({}, communities().model(model_kind::gcn), o),
        simulated({device_kind::simulated, 0}, communities().model(model_kind::gcn), o);
    std::vector<float> const values = weighted.after(1);
    EXPECT_NE(plain.after(1), values);
    EXPECT_EQ(simulated.after(1), values);
  }
}

// A hop without neighbors: adjacency of the previous mini-batch must not remain.
TEST(training, goes_on_where_seeds_have_no_neighbors) {
  communities c;
  std::erase_if(c.edges, [](edge const& e) { return e.source % 4 || e.target % 4; });
  c.edges.push_back({0, c.vertices - 1});
  for (model_kind const kind : {model_kind::gcn, model_kind::sage, model_kind::gin})
    for (std::vector<std::int64_t> const& fanouts : std::vector<std::vector<std::int64_t>>{{3, 3}, {0, 3}, {3, 0}, {0, 0}}) {
      training_options o = lesson::for_kind(kind, strategy::drawn);
      o.fanouts = fanouts, o.batch_size = 1, o.dropout = 0, o.input_dropout = 0;
      lesson l({}, c.model(kind), o, c), simulated({device_kind::simulated, 0}, c.model(kind), o, c);
      EXPECT_TRUE(std::isfinite(l.run->next().loss));
      EXPECT_EQ(l.values(), simulated.after(1));
      o.fanouts = {1000, 1000}, o.batch_size = 1000;  // all neighbors: a step equals a full-graph step
      if (fanouts[0] != 3 || fanouts[1] != 3) continue;
      lesson all({}, c.model(kind), o, c);
      o.fanouts.clear();
      lesson whole({}, c.model(kind), o, c);
      EXPECT_NEAR(all.run->next().loss, whole.run->next().loss, 1e-5);
      std::vector<float> const a = all.values(), b = whole.values();
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-3) << i;
    }
}

TEST(training, of_one_direction_draws_that_direction) {
  communities const c;
  build_options b;
  b.undirected = false, b.in_edges = true;
  graph_handle const g = c.graph(b);
  tiered_tensor features(c.table(), {});
  for (strategy const w : {strategy::full, strategy::drawn}) {
    std::vector<std::vector<float>> values;
    for (edge_direction const side : {edge_direction::in, edge_direction::out}) {
      training_options o = options_of(w);
      o.side = side;
      gnn_model model({}, c.model(model_kind::sage));
      training run(model, g, features, c.known(), o);
      for (int k = 0; k < 3; ++k) EXPECT_TRUE(run.next().exact);
      std::vector<float> flat;
      for (auto const& t : model.tensors()) flat.insert(flat.end(), t.values.begin(), t.values.end());
      values.push_back(flat);
    }
    EXPECT_NE(values[0], values[1]);
  }
}

TEST(area_under_roc, is_the_share_of_pairs_in_order) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> margins;
    std::vector<bool> second;
    for (std::uint64_t i = 0; i < 150; ++i) {
      margins.push_back(static_cast<float>(random_bits(seed, 0, i) % (seed % 2 ? 12 : 100000)) - 5);  // with many ties
      second.push_back(random_bits(seed, 1, i) % 3 == 0);
    }
    double right = 0, pairs = 0;
    for (std::size_t i = 0; i < 150; ++i)
      for (std::size_t k = 0; k < 150; ++k)
        if (second[i] && !second[k]) pairs += 1, right += margins[i] > margins[k] ? 1 : margins[i] == margins[k] ? 0.5 : 0;
    EXPECT_NEAR(area_under_roc(margins, second).value(), right / pairs, 1e-12);
  }
  EXPECT_FALSE(area_under_roc({1, 2}, {true, true}));
  EXPECT_FALSE(area_under_roc({1, 2}, {false, false}));
  EXPECT_FALSE(area_under_roc({}, {}));
}

// Losses of a step and an evaluation match the scores of infer(), including biases: for parts of the vertices, and if all
// are in one part, whose scores are used in place.
TEST(training, tells_the_losses_of_its_scores) {
  for (label_kind const labels : {label_kind::single_label, label_kind::multi_label})
    for (bool const residual : {false, true})
      for (bool const all_train : {false, true}) {
        communities c;
        if (all_train) std::fill(c.split.begin(), c.split.end(), std::uint8_t{1});
        model_options m = c.model(model_kind::gcn);
        m.labels = labels, m.residual = residual;
        training_options o = options_of(strategy::full);
        o.dropout = 0, o.input_dropout = 0, o.evaluate_every = 0;
        lesson l({}, m, o, c);
        l.after(5);
        evaluation const e = l.run->evaluate();
        std::vector<float> scores(c.vertices * c.classes);
        infer(l.model, l.g, l.features, scores);
        double loss[4] = {}, counted[4] = {};
        for (std::uint64_t v = 0; v < c.vertices; ++v) {
          float const* const row = &scores[v * c.classes];
          double sum = 0;
          for (std::uint64_t k = 0; k < c.classes; ++k) {
            double const z = row[k];
            if (labels == label_kind::single_label) sum += std::exp(z);
            else loss[c.split[v]] += std::log1p(std::exp(z)) - z * c.answers[v * c.classes + k], counted[c.split[v]] += 1;
          }
          if (labels == label_kind::single_label) loss[c.split[v]] += std::log(sum) - row[c.classes_of[v]], counted[c.split[v]] += 1;
        }
        EXPECT_NEAR(e.train.loss, loss[1] / counted[1], 1e-6);
        if (!all_train) {
          EXPECT_NEAR(e.test.loss, loss[3] / counted[3], 1e-6);
        }
        EXPECT_NEAR(l.run->next().loss, e.train.loss, 1e-6);  // before the step
      }
}

TEST(training, tells_the_area_under_roc_of_two_classes) {
  communities c(240, 2);
  lesson l({}, c.model(model_kind::sage), options_of(strategy::full), c);
  evaluation const e = l.run->evaluate();
  EXPECT_FALSE(e.train.auc);
  std::vector<float> scores(c.vertices * 2), margins;
  std::vector<bool> second;
  infer(l.model, l.g, l.features, scores);
  for (std::uint64_t v = 0; v < c.vertices; ++v)
    if (c.split[v] == 3) margins.push_back(scores[2 * v + 1] - scores[2 * v]), second.push_back(c.classes_of[v] == 1);
  ASSERT_TRUE(e.test.auc);
  EXPECT_EQ(*e.test.auc, area_under_roc(margins, second));
  EXPECT_TRUE(e.validation.auc);
}

}  // namespace
}  // namespace garner

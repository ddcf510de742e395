// Training without memory, with numbers that are not finite, or with what it cannot train with: an error that names the cause.
#include <cmath>
#include <limits>

#include "memory/budget.hpp"
#include "nn/lesson.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

// After running out of memory at any point, it continues with the same results.
TEST(training, goes_on_when_there_is_memory_again) {
  for (strategy const w : {strategy::drawn, strategy::full}) {
    lesson whole({}, model_kind::sage, w);
    std::vector<double> told;
    for (int k = 0; k < 2; ++k) told.push_back(whole.run->next().loss);
    lesson l({}, model_kind::sage, w);
    std::uint64_t const limit = host_budget().limit();
    std::vector<double> got;
    int refused = 0;
    for (std::uint64_t more = 0; got.size() < 2 && more < (1u << 24); more = more * 3 / 2 + 500) {
      host_budget().set_limit(host_budget().used() + more);
      std::vector<float> const before = l.values();
      std::uint64_t const steps = l.run->step();
      try {
        got.push_back(l.run->next().loss);
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::memory) << e.what();
        ++refused;
        if (l.run->step() == steps) {
          EXPECT_EQ(l.values(), before);
        }
      }
      host_budget().set_limit(limit);
    }
    EXPECT_GT(refused, 4);
    EXPECT_EQ(got, told);
    EXPECT_EQ(l.run->step(), whole.run->step());
    EXPECT_EQ(l.values(), whole.values());
  }
}

TEST(training, names_the_row_that_holds_no_number) {
  for (strategy const w : {strategy::full, strategy::drawn})
    for (float const bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      for (row_scaling const scaling : {row_scaling::none, row_scaling::length}) {
        model_options m = communities().model(model_kind::sage);
        m.scaling = scaling;
        lesson l({}, m, options_of(w));
        l.of.rows[37 * 8 + 5] = bad;
        std::vector<float> const before = l.values();
        errc code = errc::io;
        std::string const said = error_of(
            [&] {
              for (int k = 0; k < 30; ++k) l.run->next();
            },
            &code);
        EXPECT_EQ(code, errc::input);
        EXPECT_THAT(said, AllOf(HasSubstr("element 5 of row 37"), HasSubstr("features")));
        for (float const v : l.values()) ASSERT_TRUE(std::isfinite(v));
        if (w == strategy::full) {
          EXPECT_EQ(l.values(), before);
        }
      }
}

TEST(training, names_the_parameter_that_is_no_number) {
  for (strategy const w : {strategy::full, strategy::drawn}) {
    lesson l({}, model_kind::sage, w);
    auto& [x, o, net] = l.model.inside();
    parameter const& p = net.parameters()[3];  // of the second layer
    ASSERT_EQ(p.layer, 1u);
    float const bad = std::numeric_limits<float>::quiet_NaN();
    x.copy(net.values() + p.offset, &bad, sizeof bad);
    EXPECT_THAT(error_of([&] { l.run->next(); }), AllOf(HasSubstr(p.name), HasSubstr("layer 2")));
  }
}

TEST(training, at_too_high_a_rate_says_so_and_leaves_numbers) {
  for (strategy const w : {strategy::full, strategy::drawn})
    for (std::uint32_t const layers : {2u, 6u}) {
      model_options m = communities().model(model_kind::gin);
      m.layers = layers;
      training_options o = options_of(w);
      if (w == strategy::drawn) o.fanouts.assign(layers, 3);
      o.learning_rate = 9e5;
      lesson l({}, m, o);
      errc code = errc::io;
      std::string const said = error_of(
          [&] {
            for (int k = 0; k < 2000; ++k) l.run->next();
          },
          &code);
      EXPECT_EQ(code, errc::input);
      EXPECT_THAT(said, AllOf(HasSubstr("grew beyond what a float holds"), HasSubstr("smaller rate than 900000")));
      for (float const v : l.values()) ASSERT_TRUE(std::isfinite(v));
    }
}

TEST(training, refuses_what_it_cannot_train_with) {
  communities const c;
  graph_handle const g = c.graph();
  tiered_tensor features(c.table(), {});
  auto const said = [&](labeled_nodes const& known, training_options const& o, model_options m, errc expected,
                        graph_handle const* of = nullptr, tiered_tensor* rows = nullptr) {
    errc code = errc::io;
    gnn_model model({}, m);
    std::string const words = error_of([&] { training(model, of ? *of : g, rows ? *rows : features, known, o); }, &code);
    EXPECT_EQ(code, expected) << words;
    EXPECT_EQ(words.find('\n'), std::string::npos);
    return words;
  };
  model_options const m = c.model(model_kind::sage);
  for (strategy const w : {strategy::full, strategy::drawn}) {
    training_options const o = options_of(w);
    labeled_nodes known = c.known();
    known.labels.rows = 239;
    EXPECT_THAT(said(known, o, m, errc::input), AllOf(HasSubstr("239 labels"), HasSubstr("240 vertices")));
    known = c.known(), known.split = std::span(c.split).first(200);
    EXPECT_THAT(said(known, o, m, errc::input), HasSubstr("a split of 200"));
    communities bad = c;
    bad.classes_of[12] = -1;
    EXPECT_THAT(said(bad.known(), o, m, errc::input), AllOf(HasSubstr("position 12"), HasSubstr("-1")));
    bad = c, bad.classes_of[7] = 3;
    EXPECT_THAT(said(bad.known(), o, m, errc::input), AllOf(HasSubstr("label 3 at position 7"), HasSubstr("3 classes")));
    bad = c, bad.split[9] = 7;
    EXPECT_THAT(said(bad.known(), o, m, errc::input), HasSubstr("part 7 at position 9"));
    bad = c, bad.split.assign(240, 2);
    EXPECT_THAT(said(bad.known(), o, m, errc::input), HasSubstr("no vertex is to train with"));
    known = c.known(), known.labels = c.yes_or_no();
    EXPECT_THAT(said(known, o, m, errc::usage), HasSubstr("labels of 3 x u8"));
    model_options several = m;
    several.labels = label_kind::multi_label;
    EXPECT_THAT(said(c.known(), o, several, errc::usage), HasSubstr("labels of 1 x i64"));
    bad = c, bad.answers[3 * 10 + 2] = 2;
    EXPECT_THAT(said({bad.yes_or_no(), bad.split}, o, several, errc::input), HasSubstr("answer 2 of class 2 at position 10"));
    model_options wide = m;
    wide.inputs = 9;
    EXPECT_THAT(said(c.known(), o, wide, errc::input), AllOf(HasSubstr("rows have 8 elements"), HasSubstr("takes 9")));
    row_array less = c.table();
    less.rows = 100;
    tiered_tensor few(less, {});
    EXPECT_THAT(said(c.known(), o, m, errc::input, nullptr, &few), HasSubstr("100 rows of features"));
    tiered_options elsewhere;
    elsewhere.device = {device_kind::simulated, 0};
    elsewhere.feature_cache = 0;
    tiered_tensor far(c.table(), elsewhere);
    EXPECT_THAT(said(c.known(), o, m, errc::usage, nullptr, &far), AllOf(HasSubstr("simulated"), HasSubstr("cpu")));
    training_options how = o;
    how.weighted = true;
    EXPECT_THAT(said(c.known(), how, m, errc::input), HasSubstr("no weights"));
    build_options directed;
    directed.undirected = false, directed.in_edges = false;
    graph_handle const out_only = c.graph(directed);
    EXPECT_THAT(said(c.known(), o, m, errc::input, &out_only), HasSubstr("in-edges"));
    for (double const share : {-0.1, 1.0, std::nan("")}) {
      how = o, how.dropout = share;
      EXPECT_THAT(said(c.known(), how, m, errc::usage), HasSubstr("dropout"));
      how = o, how.input_dropout = share;
      EXPECT_THAT(said(c.known(), how, m, errc::usage), HasSubstr("dropout of rows"));
    }
    for (double const rate : {0.0, -1.0, 1e7, std::nan("")}) {
      how = o, how.learning_rate = rate;
      EXPECT_THAT(said(c.known(), how, m, errc::usage), HasSubstr("a rate of"));
    }
    how = o, how.weight_decay = -1;
    EXPECT_THAT(said(c.known(), how, m, errc::usage), HasSubstr("a decay of"));
  }
  training_options o = options_of(strategy::drawn);
  o.fanouts = {3, 3, 3};
  EXPECT_THAT(said(c.known(), o, m, errc::usage), HasSubstr("3 fanouts for a model of 2 layers"));
  for (auto const& [name, set] : std::vector<std::pair<char const*, std::function<void(model_options&)>>>{
           {"elements a row", [](model_options& o) { o.inputs = 0; }},
           {"classes", [](model_options& o) { o.classes = 0; }},
           {"layers", [](model_options& o) { o.layers = 65; }},
           {"hidden elements", [](model_options& o) { o.hidden = 0; }}}) {
    model_options wrong = m;
    set(wrong);
    EXPECT_THAT(error_of([&] { gnn_model({}, wrong); }), HasSubstr(name));
  }
}

}  // namespace
}  // namespace garner

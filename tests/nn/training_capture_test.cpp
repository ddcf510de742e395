// Captured steps of the whole graph: the same bits as steps that are not captured.
#include "nn/lesson.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct recorded_case {
  char const* name;
  std::function<void(model_options&, training_options&)> set;
  std::uint64_t classes = 3;
};
void PrintTo(recorded_case const& c, std::ostream* to) { *to << c.name; }
recorded_case const recorded_cases[] = {
    {"gcn", [](auto& m, auto& o) { m.kind = model_kind::gcn, o.weighted = true, o.weight_decay = 0.1; }},
    {"sage", [](auto&, auto&) {}},
    {"gin", [](auto& m, auto& o) { m.kind = model_kind::gin, m.layer_norm = true, o.learning_rate = 0.01, o.input_dropout = 0; }},
    {"deep", [](auto& m, auto&) { m.layers = 3, m.layer_norm = m.residual = true; }},
    {"deep_gcn", [](auto& m, auto&) { m.kind = model_kind::gcn, m.layers = 3, m.layer_norm = m.residual = true; }},
    {"residual_gin", [](auto& m, auto& o) { m.kind = model_kind::gin, m.residual = true, o.learning_rate = 0.01; }},
    {"norm", [](auto& m, auto& o) { m.layers = 3, m.layer_norm = true, o.weight_decay = 0; }},
    {"answers", [](auto& m, auto&) { m.labels = label_kind::multi_label; }},
    {"two_classes", [](auto&, auto& o) { o.dropout = 0; }, 2},
};
struct recorded_at : in_a_folder, ::testing::WithParamInterface<std::tuple<device_kind, recorded_case>> {
  void SetUp() override {
    if (where().kind == device_kind::cuda && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  execution_device where() const { return {std::get<0>(GetParam()), 0}; }
  bool far() const { return runs_later(where()); }
  std::unique_ptr<lesson> begun(bool recorded) const {
    recorded_case const& c = std::get<1>(GetParam());
    communities of(240, c.classes);
    model_options m = of.model(model_kind::sage);
    training_options o = options_of(strategy::full);
    c.set(m, o);
    o.cuda_graph = recorded;
    return std::make_unique<lesson>(where(), m, o, of);
  }
  static void expect_same(epoch_report const& a, epoch_report const& b) {
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.accuracy, b.accuracy);
    EXPECT_EQ(a.best, b.best);
    ASSERT_TRUE(a.exact && b.exact);
    for (auto const part : {&evaluation::train, &evaluation::validation, &evaluation::test}) {
      EXPECT_EQ(((*a.exact).*part).loss, ((*b.exact).*part).loss);
      EXPECT_EQ(((*a.exact).*part).accuracy, ((*b.exact).*part).accuracy);
      EXPECT_EQ(((*a.exact).*part).auc, ((*b.exact).*part).auc);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(at, recorded_at, ::testing::Combine(every_place, ::testing::ValuesIn(recorded_cases)), [](auto const& info) {
  return std::string(std::get<1>(info.param).name) + "_" + name_of(std::get<0>(info.param));
});

TEST_P(recorded_at, learns_bit_for_bit_as_one_that_is_not) {
  auto const plain = begun(false), recorded = begun(true);
  for (int epoch = 1; epoch <= 7; ++epoch) {
    SCOPED_TRACE(epoch);
    epoch_report const a = plain->run->next(), b = recorded->run->next();
    expect_same(a, b);
    EXPECT_EQ(plain->values(), recorded->values());
    EXPECT_EQ(a.captured, 0u);
    EXPECT_EQ(b.captured > 0, far() && epoch > 2);  // the first allocates its buffers, the second knows them
    EXPECT_EQ(b.not_captured, "");
  }
  plain->run->load_best(), recorded->run->load_best();
  EXPECT_EQ(plain->run->evaluate().test.loss, recorded->run->evaluate().test.loss);
  EXPECT_EQ(plain->run->next().loss, recorded->run->next().loss);
}

TEST_P(recorded_at, goes_on_from_a_checkpoint_bit_for_bit) {
  auto const plain = begun(false), recorded = begun(true), later = begun(true), back = begun(false);
  for (int epoch = 0; epoch < 4; ++epoch) plain->run->next(), recorded->run->next();
  recorded->run->save_checkpoint(at("c"));
  later->after(3);  // its own history, which is discarded
  later->run->load_checkpoint(at("c")), back->run->load_checkpoint(at("c"));
  for (int epoch = 0; epoch < 4; ++epoch) {
    epoch_report const a = plain->run->next();
    expect_same(a, recorded->run->next());
    expect_same(a, later->run->next());
    expect_same(a, back->run->next());
  }
  EXPECT_EQ(plain->values(), recorded->values());
  EXPECT_EQ(plain->values(), later->values());
  EXPECT_EQ(plain->values(), back->values());
}

// Another use of the model reallocates its buffers.
TEST_P(recorded_at, goes_on_behind_an_inference_of_a_larger_graph) {
  auto const plain = begun(false), recorded = begun(true);
  communities const larger(2000, plain->of.classes);
  graph_handle const g = to_device(larger.graph(lesson::weighted()), where(), tier::host);
  tiered_tensor features(larger.table(), lesson::tiers(where()));
  std::vector<float> scores(larger.vertices * larger.classes);
  for (int epoch = 1; epoch <= 8; ++epoch) {
    expect_same(plain->run->next(), recorded->run->next());
    if (epoch != 4) continue;
    for (lesson* const l : {plain.get(), recorded.get()}) infer(l->model, g, features, scores);
  }
  EXPECT_EQ(plain->values(), recorded->values());
}

}  // namespace
}  // namespace garner

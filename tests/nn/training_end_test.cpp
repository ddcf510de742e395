// When training ends, and what its options are by default.
#include "nn/lesson.hpp"

namespace garner {
namespace {
using namespace garner::testing;

TEST(training, ends_by_patience_and_takes_the_best) {
  training_options o = options_of(strategy::full);
  o.learning_rate = 0.3, o.patience = 3;  // too fast to keep improving
  lesson l({}, communities().model(model_kind::sage), o);
  std::vector<float> best;
  std::uint64_t best_epoch = 0;
  double lowest = 1e300;
  while (!l.run->finished() && l.run->epochs() < 500) {
    epoch_report const r = l.run->next();
    EXPECT_EQ(r.best, r.exact->validation.loss < lowest);
    if (r.best) best = l.values(), best_epoch = r.epoch, lowest = r.exact->validation.loss;
  }
  ASSERT_TRUE(l.run->finished());
  EXPECT_EQ(l.run->epochs(), best_epoch + 3);
  EXPECT_EQ(l.run->best_epoch(), best_epoch);
  EXPECT_NE(l.values(), best);
  l.run->load_best();
  EXPECT_EQ(l.values(), best);
  EXPECT_EQ(l.run->evaluate().validation.loss, lowest);
}

// Default stopping: by the validation loss, also when resumed in between.
TEST(training, ends_by_itself_when_the_validation_loss_no_longer_falls) {
  for (strategy const w : {strategy::full, strategy::drawn}) {
    training_options o = options_of(w);
    o.learning_rate = 0.1;
    lesson l({}, communities().model(model_kind::sage), o);
    std::uint64_t const steps = w == strategy::full ? 1 : 5, patience = 50 / steps;  // per epoch: 144 nodes in mini-batches of 32
    EXPECT_EQ(l.run->options().patience, patience);
    EXPECT_EQ(l.run->options().epochs, std::max<std::uint64_t>(1000 / steps, 100));
    std::vector<float> best;
    double lowest = 1e300;
    own_folder const here;
    std::uint64_t kept = 0;
    while (!l.run->finished()) {
      epoch_report const r = l.run->next();
      if (r.best) best = l.values(), lowest = r.exact->validation.loss;
      if (r.epoch > 12 && !r.best && !kept) l.run->save_checkpoint(here.at("c")), kept = r.epoch;
    }
    ASSERT_LT(l.run->epochs(), *l.run->options().epochs);
    EXPECT_EQ(l.run->epochs(), *l.run->best_epoch() + patience);
    EXPECT_NE(l.values(), best);
    lesson again({}, communities().model(model_kind::sage), o);
    ASSERT_GT(kept, 0u);
    again.run->load_checkpoint(here.at("c"));
    EXPECT_EQ(again.run->epochs(), kept);
    while (!again.run->finished()) again.run->next();
    EXPECT_EQ(again.run->epochs(), l.run->epochs());
    for (lesson* const one : {&l, &again}) {
      one->run->load_best();
      EXPECT_EQ(one->values(), best);
      EXPECT_EQ(one->run->evaluate().validation.loss, lowest);
    }
  }
}
TEST(training, ends_after_the_epochs_that_are_set_or_a_fixed_number_without_validation) {
  auto const ends = [](communities c, std::function<void(training_options&)> const& set) {
    training_options o = options_of(strategy::full);
    set(o);
    lesson l({}, c.model(model_kind::sage), o, c);
    while (!l.run->finished()) l.run->next();
    return l.run->epochs();
  };
  communities const all;
  communities without;
  for (auto& part : without.split) part = part == 2 ? 0 : part;
  EXPECT_EQ(ends(all, [](auto& o) { o.epochs = 7; }), 7u);
  EXPECT_EQ(ends(all, [](auto& o) { o.learning_rate = 0.3, o.epochs = 150; }), 150u);  // although the loss rises
  EXPECT_LT(ends(all, [](auto& o) { o.learning_rate = 0.3, o.epochs = 150, o.patience = 3; }), 150u);
  EXPECT_EQ(ends(all, [](auto& o) { o.evaluate_every = 0; }), 200u);
  EXPECT_EQ(ends(all, [](auto& o) { o.patience = 0; }), 200u);
  EXPECT_EQ(ends(without, [](auto&) {}), 200u);
  EXPECT_EQ(ends(without, [](auto& o) { o.patience = 3; }), 200u);
}
TEST(training, layers_and_dropout_suit_the_number_of_training_nodes) {
  for (model_kind const kind : {model_kind::gcn, model_kind::sage, model_kind::gin})
    for (std::uint64_t const n : {0, 999, 1000}) {
      model_options m = communities().model(kind);
      suit_layers(m, n);
      EXPECT_EQ(m.residual, n == 1000);
      EXPECT_EQ(m.layer_norm, n == 1000 || kind == model_kind::gin);
      lesson const l({}, m, {});
      EXPECT_EQ(l.run->options().dropout, n == 1000 ? 0.2 : 0.5);
      EXPECT_EQ(l.run->options().input_dropout, n < 1000 && kind != model_kind::gin ? 0.5 : 0);
    }
}

TEST(training, evaluates_as_often_as_it_is_told) {
  training_options o = options_of(strategy::drawn);
  o.evaluate_every = 2;
  lesson l({}, communities().model(model_kind::sage), o);
  EXPECT_FALSE(l.run->next().exact);
  EXPECT_TRUE(l.run->next().exact);
  o.evaluate_every = 0;
  lesson never({}, communities().model(model_kind::sage), o);
  for (int k = 0; k < 3; ++k) EXPECT_FALSE(never.run->next().exact);
  EXPECT_FALSE(never.run->best_epoch());
  std::vector<float> const last = never.values();
  never.run->load_best();
  EXPECT_EQ(never.values(), last);
  EXPECT_EQ(never.values(), l.values().size() == last.size() ? last : std::vector<float>());
}

}  // namespace
}  // namespace garner

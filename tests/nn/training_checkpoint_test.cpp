// Checkpoints of training and files of models: the same bits after any of them, interrupted at any step; and files that are refused.
#include "core/progress.hpp"
#include "files/checkpoint.hpp"
#include "nn/lesson.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

using training_files = in_a_folder;
GARNER_OF_EVERY_KIND();

TEST_P(of_kind, goes_on_from_a_checkpoint_bit_for_bit) {
  lesson whole({}, kind(), by());
  std::vector<epoch_report> told;
  for (int k = 0; k < 4; ++k) told.push_back(whole.run->next());

  lesson a({}, kind(), by());
  a.after(2);
  a.run->save_checkpoint(at("c"));
  lesson b({}, kind(), by());
  b.run->load_checkpoint(at("c"));
  EXPECT_EQ(b.run->epochs(), 2u);
  EXPECT_EQ(b.run->step(), a.run->step());
  EXPECT_EQ(b.run->best_epoch(), a.run->best_epoch());
  epoch_report r = b.run->next();
  EXPECT_EQ(r.epoch, 3u);
  EXPECT_EQ(r.loss, told[2].loss);
  EXPECT_EQ(b.run->next().exact->test.loss, told[3].exact->test.loss);
  EXPECT_EQ(b.values(), whole.values());
  b.run->load_best(), whole.run->load_best();
  EXPECT_EQ(b.values(), whole.values());
}

// An interrupt may come after the last step, before the end of the epoch was detected: the loader then continues with the next
// epoch, and the training must still end this one.
TEST(training, ends_an_epoch_whose_last_step_was_done_before_it_was_broken_off) {
  own_folder const here;
  std::filesystem::path const file = here.at("c");
  training_options o = options_of(strategy::drawn);
  o.evaluate_every = 0;
  lesson whole({}, communities().model(model_kind::sage), o), a({}, communities().model(model_kind::sage), o),
      b({}, communities().model(model_kind::sage), o);
  epoch_report const first = whole.run->next(), second = whole.run->next();
  a.run->next();
  a.run->save_checkpoint(file);
  checkpoint c = checkpoint::read(file, checkpoint::kind::checkpoint);
  for (named_array& array : c.arrays)
    if (array.name == "counters") {
      auto& counters = std::get<std::vector<std::uint64_t>>(array.values);
      counters[0] = 0, counters[3] = 1;  // between the last step and the end of the epoch
    }
  c.write(file);
  b.run->load_checkpoint(file);
  EXPECT_EQ(b.run->epochs(), 0u);
  epoch_report const r = b.run->next();
  EXPECT_EQ(r.epoch, 1u);
  EXPECT_EQ(r.steps, first.steps);
  EXPECT_EQ(r.loss, first.loss);
  EXPECT_EQ(b.values(), a.values());
  EXPECT_EQ(b.run->next().loss, second.loss);
  EXPECT_EQ(b.values(), whole.values());
}

// Interrupted at any moment: between steps, and between the last step and the evaluation.
TEST_P(of_kind, goes_on_from_the_middle_of_an_epoch) {
  lesson whole({}, kind(), by());
  std::vector<epoch_report> told;
  for (int k = 0; k < 3; ++k) told.push_back(whole.run->next());
  bool amid = false, over = false;
  for (std::uint64_t checks = 0; !over && checks < 100'000; checks = checks * 5 / 4 + 1) {
    SCOPED_TRACE(checks);
    lesson a({}, kind(), by());
    a.run->next();
    std::uint64_t const begun = a.run->step();
    request_interrupt_after(checks);
    errc code = errc::io;
    try {
      a.run->next();
      over = true;
    } catch (error const& e) {
      code = e.code();
    }
    clear_interrupt();
    if (over) break;
    EXPECT_EQ(code, errc::interrupted);
    std::uint64_t const done = a.run->step() - begun;
    amid = amid || (done > 0 && done < told[1].steps);
    a.run->save_checkpoint(at("c"));
    lesson b({}, kind(), by());
    b.run->load_checkpoint(at("c"));
    epoch_report const second = b.run->next(), third = b.run->next();
    EXPECT_EQ(second.epoch, 2u);
    EXPECT_EQ(second.steps, told[1].steps);
    EXPECT_EQ(second.loss, told[1].loss);
    EXPECT_EQ(second.accuracy, told[1].accuracy);
    EXPECT_EQ(second.best, told[1].best);
    EXPECT_EQ(third.loss, told[2].loss);
    EXPECT_EQ(b.run->best_epoch(), whole.run->best_epoch());
    ASSERT_EQ(b.values(), whole.values());
    a.run->next(), a.run->next();  // the interrupted one itself also continues
    ASSERT_EQ(a.values(), whole.values());
  }
  EXPECT_TRUE(over);
  EXPECT_TRUE(amid || by() == strategy::full);
}

// Some steps at a time, of mini-batches; an epoch of the whole graph has none of its own.
TEST_P(of_kind, an_epoch_in_parts_is_the_same_epoch) {
  for (std::uint64_t const most : {1u, 2u, 5u, 1000u}) {
    SCOPED_TRACE(most);
    lesson whole({}, kind(), by()), a({}, kind(), by());
    for (int k = 0; k < 2; ++k) {
      epoch_report const want = whole.run->next();
      std::uint64_t const before = a.run->step();
      double loss = 0, correct = 0;
      std::uint64_t steps = 0, calls = 0;
      while (auto const part = a.run->next_steps(most)) {
        std::uint64_t const now = part->step - before - steps;
        EXPECT_EQ(part->epoch, want.epoch);
        EXPECT_EQ(a.run->step(), part->step);
        EXPECT_EQ(now, std::min(most, want.steps - steps));
        steps += now, ++calls;
        if (most == 1) {
          auto const nodes = static_cast<double>(steps == want.steps ? 144 - 32 * (steps - 1) : 32);
          loss += part->loss * nodes, correct += part->accuracy * nodes;
        }
      }
      EXPECT_EQ(steps, by() == strategy::full ? 0 : want.steps);
      EXPECT_FALSE(a.run->next_steps(most));
      epoch_report const r = a.run->next();
      EXPECT_EQ(r.epoch, want.epoch);
      EXPECT_EQ(r.steps, want.steps);
      EXPECT_EQ(r.loss, want.loss);
      EXPECT_EQ(r.accuracy, want.accuracy);
      if (calls && most == 1) {
        EXPECT_NEAR(loss / 144, r.loss, 1e-5);
        EXPECT_NEAR(correct / 144, r.accuracy, 1e-5);
      }
      ASSERT_EQ(a.values(), whole.values());
    }
  }
}

TEST_F(training_files, of_another_training_are_refused) {
  lesson kept({}, model_kind::sage, strategy::drawn);
  kept.after(1);
  kept.run->save_checkpoint(at("c"));
  auto const refused = [&](model_options const& m, training_options const& o, communities const& c) {
    lesson l({}, m, o, c);
    std::vector<float> const before = l.values();
    errc code = errc::io;
    std::string const said = error_of([&] { l.run->load_checkpoint(at("c")); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_EQ(l.values(), before);
    EXPECT_EQ(l.run->epochs(), 0u);
    return said;
  };
  communities const c;
  model_options const m = c.model(model_kind::sage);
  training_options const o = options_of(strategy::drawn);
  model_options other = m;
  other.hidden = 17;
  EXPECT_THAT(refused(other, o, c), HasSubstr("model"));
  other = m, other.kind = model_kind::gcn;
  EXPECT_THAT(refused(other, o, c), AllOf(HasSubstr("model"), HasSubstr("gcn"), HasSubstr("sage")));
  training_options how = o;
  how.seed = 9;
  EXPECT_THAT(refused(m, how, c), HasSubstr("seed"));
  how = o, how.fanouts = {3, 4};
  EXPECT_THAT(refused(m, how, c), HasSubstr("fanouts"));
  how = o, how.fanouts.clear();
  EXPECT_THAT(refused(m, how, c), HasSubstr("whole graph"));
  how = o, how.learning_rate = 0.5;
  EXPECT_THAT(refused(m, how, c), HasSubstr("optimiser"));
  how = o, how.dropout = 0.4;
  EXPECT_THAT(refused(m, how, c), HasSubstr("dropout"));
  how = o, how.weighted = true;
  EXPECT_THAT(refused(m, how, c), HasSubstr("weighted"));
  communities another = c;
  another.edges.pop_back(), another.edges.pop_back();
  EXPECT_THAT(refused(m, o, another), HasSubstr("graph"));
  another = c, another.classes_of[0] = 2;
  EXPECT_THAT(refused(m, o, another), HasSubstr("training set"));
  another = c, another.split[0] = 0;
  EXPECT_THAT(refused(m, o, another), HasSubstr("training set"));
  EXPECT_THAT(refused(m, o, communities(240, 3, 8, 7)), HasSubstr("graph"));
  // An invalid file, or a truncated one.
  std::string const all = bytes_of("c");
  for (std::string const& bytes : {std::string(), all.substr(0, all.size() / 2), all.substr(0, all.size() - 1), all + "x"}) {
    put(bytes, "c");
    lesson l({}, m, o, c);
    EXPECT_THAT(error_of([&] { l.run->load_checkpoint(at("c")); }), HasSubstr(at("c").string()));
  }
  kept.model.save(at("c"));
  EXPECT_THAT(refused(m, o, c), HasSubstr("model"));
}

TEST_F(training_files, that_the_disk_has_no_room_for_leave_the_old) {
  lesson l({}, model_kind::sage, strategy::drawn);
  l.after(1);
  l.run->save_checkpoint(at("c"));
  l.model.save(at("m"));
  std::string const old = bytes_of("c"), model = bytes_of("m");
  l.after(1);
  {
    full_disk const here(1000);
    EXPECT_THAT(error_of([&] { l.run->save_checkpoint(at("c")); }), HasSubstr("c"));
    EXPECT_THAT(error_of([&] { l.model.save(at("m")); }), HasSubstr("m"));
  }
  EXPECT_EQ(bytes_of("c"), old);
  EXPECT_EQ(bytes_of("m"), model);
  EXPECT_EQ(files(), 2);
  lesson again({}, model_kind::sage, strategy::drawn);
  again.run->load_checkpoint(at("c"));
  EXPECT_EQ(again.after(1), l.values());
}

TEST_F(training_files, of_models_give_the_same_scores) {
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated}) {
    lesson l({kind, 0}, model_kind::gin, strategy::full);
    l.after(2);
    l.model.save(at("m"));
    gnn_model const read = gnn_model::load(at("m"), {kind, 0});
    auto const a = l.model.tensors(), b = read.tensors();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].values, b[k].values) << a[k].name;
    EXPECT_EQ(to_text(read.options()), to_text(l.model.options()));
    EXPECT_EQ(read.parameters(), l.model.parameters());
  }
}

}  // namespace
}  // namespace garner

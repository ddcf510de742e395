// Training: it learns, with mini-batches and on the full graph; the same bits on every device and in every run; saved, resumed,
// interrupted; and rejected input.
#include "garner/gnn.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "child.hpp"
#include "core/progress.hpp"
#include "files/checkpoint.hpp"
#include "files/files.hpp"
#include "files/npy_head.hpp"
#include "memory/budget.hpp"
#include "nn/communities.hpp"
#include "nn/evaluate.hpp"
#include "nn/model.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

enum class strategy { full, drawn };
training_options options_of(strategy w) {
  training_options o;
  if (w == strategy::drawn) o.fanouts = {3, 3};
  o.batch_size = 32, o.dropout = 0.3, o.input_dropout = 0.1, o.learning_rate = 0.02;
  return o;
}

// Everything that a training needs, on a device.
struct lesson {
  communities of;
  graph_handle g;
  tiered_tensor features;
  gnn_model model;
  std::optional<training> run;

  static tiered_options tiers(execution_device p) {
    tiered_options t;
    t.device = p;
    if (p.kind != device_kind::cpu) t.feature_cache = 50 * 32;
    return t;
  }
  lesson(execution_device p, model_options const& m, training_options const& o, communities c = communities())
      : of(std::move(c)), g(to_device(of.graph(weighted()), p, tier::host)), features(of.table(), tiers(p)), model(p, m) {
    run.emplace(model, g, features, m.labels == label_kind::single_label ? of.known() : labeled_nodes{of.yes_or_no(), of.split}, o);
  }
  lesson(execution_device p, model_kind kind, strategy w) : lesson(p, communities().model(kind), for_kind(kind, w)) {}
  static training_options for_kind(model_kind kind, strategy w) {
    training_options o = options_of(w);
    if (kind == model_kind::gin) o.learning_rate = 0.01, o.input_dropout = 0, o.dropout = 0.1;  // its sums are large
    return o;
  }
  static build_options weighted() {
    build_options b;
    b.undirected = true;
    b.random_weights = build_options::weight_options{weight_kind::f32, 0.5, 2, 3};
    return b;
  }
  std::vector<float> values() {
    auto& [x, o, net] = model.inside();
    return host_copy(x, net.values(), net.count());
  }
  std::vector<float> after(int epochs) {
    for (int k = 0; k < epochs; ++k) run->next();
    return values();
  }
};

struct of_kind : ::testing::TestWithParam<std::tuple<model_kind, strategy>> {
  model_kind kind() const { return std::get<0>(GetParam()); }
  strategy by() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(each, of_kind,
                         ::testing::Combine(::testing::Values(model_kind::gcn, model_kind::sage, model_kind::gin),
                                            ::testing::Values(strategy::full, strategy::drawn)),
                         [](auto const& info) {
                           return std::string(to_string(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) == strategy::full ? "_full" : "_drawn");
                         });

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

TEST_P(of_kind, goes_on_from_a_checkpoint_bit_for_bit) {
  std::filesystem::path const file = ::testing::TempDir() + "/garner_training_" + std::string(to_string(kind())) +
                                     (by() == strategy::full ? "f" : "d") + std::to_string(::getpid());
  lesson whole({}, kind(), by());
  std::vector<epoch_report> told;
  for (int k = 0; k < 4; ++k) told.push_back(whole.run->next());

  lesson a({}, kind(), by());
  a.after(2);
  a.run->save_checkpoint(file);
  lesson b({}, kind(), by());
  b.run->load_checkpoint(file);
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
  std::filesystem::remove(file);
}

// An interrupt may come after the last step, before the end of the epoch was detected: the loader then continues with the next
// epoch, and the training must still end this one.
TEST(training, ends_an_epoch_whose_last_step_was_done_before_it_was_broken_off) {
  std::filesystem::path const file = ::testing::TempDir() + "/garner_last_step_" + std::to_string(::getpid());
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
  std::filesystem::remove(file);
}

// Interrupted at any moment: between steps, and between the last step and the evaluation.
TEST_P(of_kind, goes_on_from_the_middle_of_an_epoch) {
  std::filesystem::path const file = ::testing::TempDir() + "/garner_middle_" + std::string(to_string(kind())) +
                                     (by() == strategy::full ? "f" : "d") + std::to_string(::getpid());
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
    a.run->save_checkpoint(file);
    lesson b({}, kind(), by());
    b.run->load_checkpoint(file);
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
  std::filesystem::remove(file);
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
    std::filesystem::path const file = ::testing::TempDir() + "/garner_training_end" + std::to_string(::getpid());
    std::uint64_t kept = 0;
    while (!l.run->finished()) {
      epoch_report const r = l.run->next();
      if (r.best) best = l.values(), lowest = r.exact->validation.loss;
      if (r.epoch > 12 && !r.best && !kept) l.run->save_checkpoint(file), kept = r.epoch;
    }
    ASSERT_LT(l.run->epochs(), *l.run->options().epochs);
    EXPECT_EQ(l.run->epochs(), *l.run->best_epoch() + patience);
    EXPECT_NE(l.values(), best);
    lesson again({}, communities().model(model_kind::sage), o);
    ASSERT_GT(kept, 0u);
    again.run->load_checkpoint(file);
    std::filesystem::remove(file);
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

using training_files = in_a_folder;

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

// --- recorded steps of the whole graph ---
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
struct recorded_at : ::testing::TestWithParam<std::tuple<device_kind, recorded_case>> {
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
  std::filesystem::path const file = ::testing::TempDir() + "/garner_recorded_" + std::get<1>(GetParam()).name +
                                     name_of(std::get<0>(GetParam())) + std::to_string(::getpid());
  auto const plain = begun(false), recorded = begun(true), later = begun(true), back = begun(false);
  for (int epoch = 0; epoch < 4; ++epoch) plain->run->next(), recorded->run->next();
  recorded->run->save_checkpoint(file);
  later->after(3);  // its own history, which is discarded
  later->run->load_checkpoint(file), back->run->load_checkpoint(file);
  for (int epoch = 0; epoch < 4; ++epoch) {
    epoch_report const a = plain->run->next();
    expect_same(a, recorded->run->next());
    expect_same(a, later->run->next());
    expect_same(a, back->run->next());
  }
  EXPECT_EQ(plain->values(), recorded->values());
  EXPECT_EQ(plain->values(), later->values());
  EXPECT_EQ(plain->values(), back->values());
  std::filesystem::remove(file);
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

// --- labels and splits of files ---
template <class T>
std::string npy(char const* type, std::vector<T> const& values, std::uint64_t width = 0) {
  std::string bytes = npy_head(type, values.size() / std::max<std::uint64_t>(width, 1), width);
  bytes.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
  return bytes;
}
using label_files = in_a_folder;

template <class T>
void expect_labels(label_files const& f, std::filesystem::path const& file) {
  static_cast<void>(f);
  row_array const r = read_labels(file);
  ASSERT_EQ(r.rows, 4u) << sizeof(T);
  EXPECT_EQ(r.width, 1u);
  EXPECT_EQ(r.kind, element::i64);
  auto const* const v = static_cast<std::int64_t const*>(r.data);
  EXPECT_THAT(std::vector<std::int64_t>(v, v + 4), ::testing::ElementsAre(3, 0, std::is_unsigned_v<T> ? 5 : -1, 2));
}
template <class T>
std::vector<T> some_labels() {
  return {T{3}, T{0}, std::is_unsigned_v<T> ? T{5} : static_cast<T>(-1), T{2}};
}

TEST_F(label_files, hold_whole_numbers_of_any_width) {
  auto const check = [&]<class T>(char const* type, T) {
    SCOPED_TRACE(type);
    expect_labels<T>(*this, put(npy(type, some_labels<T>())));
    expect_labels<T>(*this, put(npy(type, some_labels<T>(), 1)));
    std::vector<T> const parts{1, 2, 3, 0, 1};
    EXPECT_THAT(read_split(put(npy(type, parts))), ::testing::ElementsAre(1, 2, 3, 0, 1));
    std::vector<T> const answers{1, 0, 0, 1, 1, 1};
    row_array const r = read_labels(put(npy(type, answers, 3)));
    EXPECT_EQ(r.rows, 2u);
    EXPECT_EQ(r.width, 3u);
    EXPECT_EQ(r.kind, element::u8);
    auto const* const v = static_cast<std::uint8_t const*>(r.data);
    EXPECT_THAT(std::vector<int>(v, v + 6), ::testing::ElementsAre(1, 0, 0, 1, 1, 1));
  };
  check("|i1", std::int8_t{}), check("|u1", std::uint8_t{}), check("<i2", std::int16_t{}), check("<u2", std::uint16_t{});
  check("<i4", std::int32_t{}), check("<u4", std::uint32_t{}), check("<i8", std::int64_t{}), check("<u8", std::uint64_t{});
  check("<f4", float{}), check("<f8", double{});
  std::vector<char> const bits{1, 0, 0, 1};
  row_array const r = read_labels(put(npy("|b1", bits, 2)));
  EXPECT_EQ(static_cast<std::uint8_t const*>(r.data)[3], 1);
  EXPECT_THAT(read_split(put(npy("|b1", bits))), ::testing::ElementsAre(1, 0, 0, 1));
}

TEST_F(label_files, without_a_label_hold_no_number_or_one_below_0) {
  row_array const r = read_labels(put(npy("<f4", std::vector<float>{1, std::nanf(""), -7})));
  auto const* const v = static_cast<std::int64_t const*>(r.data);
  EXPECT_THAT(std::vector<std::int64_t>(v, v + 3), ::testing::ElementsAre(1, -1, -1));
}

TEST_F(label_files, name_what_is_no_label) {
  auto const labels = [&](std::string const& bytes) {
    errc code = errc::io;
    std::string const said = error_of([&] { read_labels(put(bytes)); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_THAT(said, HasSubstr(at("x").string()));
    return said;
  };
  auto const split = [&](std::string const& bytes) {
    errc code = errc::io;
    std::string const said = error_of([&] { read_split(put(bytes)); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_THAT(said, HasSubstr(at("x").string()));
    return said;
  };
  EXPECT_THAT(labels(npy("<f4", std::vector<float>{1, 2.5f})), AllOf(HasSubstr("element 1 is 2.5"), HasSubstr("whole numbers")));
  EXPECT_THAT(labels(npy("<f8", std::vector<double>{1, 2, INFINITY})), HasSubstr("element 2 is inf"));
  EXPECT_THAT(labels(npy("<u8", std::vector<std::uint64_t>{1, ~0ull})), HasSubstr("element 1 is 18446744073709551615"));
  EXPECT_THAT(labels(npy("<f2", std::vector<std::uint16_t>{0, 0})), HasSubstr("write them as int64"));
  EXPECT_THAT(labels(npy("<U1", std::vector<std::uint32_t>{65, 66})), HasSubstr("<U1"));
  EXPECT_THAT(labels(npy("<i4", std::vector<std::int32_t>{0, 1, 2, 1}, 2)),
              AllOf(HasSubstr("class 0 of row 1 holds 2"), HasSubstr("0 or 1")));
  EXPECT_THAT(labels(npy("<f4", std::vector<float>{0, std::nanf("")}, 2)), HasSubstr("class 1 of row 0 holds NaN"));
  EXPECT_THAT(split(npy("<i8", std::vector<std::int64_t>{1, 7})), HasSubstr("part 7 at position 1"));
  EXPECT_THAT(split(npy("<i8", std::vector<std::int64_t>{-1})), HasSubstr("part -1 at position 0"));
  EXPECT_THAT(split(npy("<f4", std::vector<float>{std::nanf("")})), AllOf(HasSubstr("part NaN at position 0")));
  EXPECT_THAT(split(npy("<i8", std::vector<std::int64_t>{1, 1}, 2)), HasSubstr("rows of 2"));
  errc code = errc::input;
  EXPECT_THAT(error_of([&] { read_labels(at("none")); }, &code), HasSubstr("none"));
  EXPECT_EQ(code, errc::io);
}

}  // namespace
}  // namespace garner

// Ranks that train one model: the gradients of a single rank with all seeds, the same bits on all ranks; ranks that differ, fail, end or
// are killed; interrupts; checkpoints. Ranks are threads, on the CPU and simulated, and processes.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "child.hpp"
#include "comm/rank_group.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/gnn.hpp"
#include "nn/model.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::uint64_t vertices = 240, width = 12, classes = 3;

graph_handle some_graph(execution_device where = {}) {
  std::vector<edge> edges;
  for (std::uint64_t i = 0; i < 1500; ++i) edges.push_back({random_bits(5, 0, i) % vertices, random_bits(5, 1, i) % vertices});
  for (std::uint64_t v = 0; v < vertices; ++v) edges.push_back({v, (v + 1) % vertices});
  build_options o;
  o.in_edges = true;
  return to_device(build_graph({.edges = edges}, o), where);
}

// A rank's own objects: everything but the graph.
struct rank_of {
  std::vector<float> rows = std::vector<float>(vertices * width);
  std::vector<std::int64_t> labels = std::vector<std::int64_t>(vertices);
  std::vector<std::uint8_t> split = std::vector<std::uint8_t>(vertices, 1);
  std::optional<tiered_tensor> features;
  std::optional<gnn_model> model;
  std::optional<training> run;

  rank_of() {
    for (std::uint64_t v = 0; v < vertices; ++v) {
      labels[v] = static_cast<std::int64_t>(v % classes);
      for (std::uint64_t c = 0; c < width; ++c)
        rows[v * width + c] = unit_float(random_bits(6, v, c)) + (c % classes == v % classes ? 0.5f : 0.f);
      if (v % 5 == 3) split[v] = 2;
      if (v % 5 == 4) split[v] = 3;
    }
  }
  std::uint32_t hidden = 8;
  bool residual = false;
  training& begin(execution_device where, graph_handle const& g, training_options const& o, std::uint64_t seed = 3) {
    tiered_options t;
    t.device = where;
    features.emplace(row_array{rows.data(), vertices, width, element::f32, {}}, t);
    model_options m;
    m.inputs = width, m.classes = classes, m.hidden = hidden, m.seed = seed, m.residual = residual;
    model.emplace(where, m);
    labeled_nodes known;
    known.labels = {labels.data(), vertices, 1, element::i64, {}};
    known.split = split;
    return run.emplace(*model, g, *features, known, o);
  }
  std::vector<float> values() const {
    auto& [x, o, net] = model->inside();
    return host_copy(x, net.values(), net.count());
  }
  std::vector<float> gradients() const {
    auto& [x, o, net] = model->inside();
    return host_copy(x, net.gradients(), net.count());
  }
};

training_options options_of(std::uint64_t batch) {
  training_options o;
  o.fanouts = {4, 3};
  o.batch_size = batch;
  o.math = dense_math::f32;
  return o;
}

// Runs f(rank) on one thread each; returns the messages of exceptions, empty without one.
std::vector<std::string> on_ranks(std::uint32_t n, std::function<void(std::uint32_t)> const& f) {
  std::vector<std::string> threw(n);
  std::vector<std::jthread> threads;
  for (std::uint32_t k = 0; k < n; ++k)
    threads.emplace_back([&, k] {
      try {
        f(k);
      } catch (error const& e) {
        threw[k] = e.what();
        if (threw[k].empty()) threw[k] = "?";
      }
    });
  threads.clear();
  return threw;
}
std::vector<std::string> const nothing(std::uint32_t n) { return std::vector<std::string>(n); }

class training_ranks : public at_place {};
// A mini-batch's seeds are divided among the ranks. All neighbors: a node's sample depends on the hop in which it is reached.
TEST_P(training_ranks, the_gradients_are_those_of_one_rank_with_all_seeds) {
  graph_handle const g = some_graph(where());
  for (auto const& [n, hidden, residual] : {std::tuple(2u, 16u, false), std::tuple(2u, 16u, true), std::tuple(3u, 8u, false)}) {
    training_options o = options_of(144);  // the whole training set
    o.fanouts = {-1, -1}, o.dropout = 0, o.evaluate_every = 0, o.weight_decay = 0;
    rank_of one;
    one.hidden = hidden, one.residual = residual;
    epoch_report const alone = one.begin(where(), g, o).next();
    ASSERT_EQ(alone.steps, 1u);
    o.batch_size = 144 / n, o.ranks = ranks_of_threads(n);
    std::vector<rank_of> all(n);
    std::vector<epoch_report> told(n);
    EXPECT_EQ(on_ranks(n,
                       [&, hidden = hidden, residual = residual](std::uint32_t k) {
                         training_options mine = o;
                         mine.rank = k;
                         all[k].hidden = hidden, all[k].residual = residual;
                         told[k] = all[k].begin(where(), g, mine).next();
                       }),
              nothing(n));
    std::vector<float> const expected = one.gradients(), found = all[0].gradients();
    float largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 2e-6) << i << " of " << n << " ranks";
      largest = std::max(largest, std::abs(expected[i]));
    }
    EXPECT_GT(largest, 0.01f);
    for (std::uint32_t k = 0; k < n; ++k) {
      EXPECT_NEAR(told[k].loss, alone.loss, 1e-6);
      EXPECT_DOUBLE_EQ(told[k].accuracy, alone.accuracy);
    }
  }
}

TEST_P(training_ranks, all_hold_the_same_bits_after_each_epoch) {
  graph_handle const g = some_graph(where());
  constexpr std::uint32_t n = 3;
  training_options o = options_of(10);
  o.ranks = ranks_of_threads(n), o.patience = 3;
  std::vector<rank_of> all(n);
  std::vector<std::vector<float>> last(n);
  std::vector<std::vector<epoch_report>> told(n);
  EXPECT_EQ(on_ranks(n,
                     [&](std::uint32_t k) {
                       training_options mine = o;
                       mine.rank = k;
                       training& run = all[k].begin(where(), g, mine);
                       while (run.epochs() < 6 && !run.finished()) {
                         told[k].push_back(run.next());
                         auto const values = all[k].values();
                         last[k].insert(last[k].end(), values.begin(), values.end());
                       }
                     }),
            nothing(n));
  for (std::uint32_t k = 1; k < n; ++k) {
    EXPECT_TRUE(last[k] == last[0]) << "rank " << k;
    ASSERT_EQ(told[k].size(), told[0].size());
    for (std::size_t e = 0; e < told[k].size(); ++e) {
      EXPECT_EQ(told[k][e].steps, 5u);
      EXPECT_EQ(told[k][e].loss, told[0][e].loss);
      ASSERT_TRUE(told[k][e].exact);
      EXPECT_EQ(told[k][e].exact->validation.loss, told[0][e].exact->validation.loss);
      EXPECT_EQ(told[k][e].best, told[0][e].best);
    }
  }
  EXPECT_NE(all[0].gradients(), std::vector<float>(all[0].gradients().size()));
  EXPECT_LT(told[0].back().loss, told[0].front().loss);
}

TEST_P(training_ranks, a_checkpoint_of_all_goes_on_bit_for_bit) {
  graph_handle const g = some_graph(where());
  constexpr std::uint32_t n = 2;
  fs::path const file = fs::temp_directory_path() / fmt::format("garner-ranks-{}-{}", ::getpid(), static_cast<int>(where().kind));
  std::vector<rank_of> through(n), first(n), second(n);
  std::vector<epoch_report> told(n), again(n);
  training_options o = options_of(10);
  auto const begin = [&](std::vector<rank_of>& all, std::shared_ptr<rank_group> ranks, std::uint32_t k) -> training& {
    training_options mine = o;
    mine.ranks = std::move(ranks), mine.rank = k;
    return all[k].begin(where(), g, mine);
  };
  auto const one = ranks_of_threads(n), two = ranks_of_threads(n), three = ranks_of_threads(n);
  EXPECT_EQ(on_ranks(n,
                     [&](std::uint32_t k) {
                       training& run = begin(through, one, k);
                       for (int e = 0; e < 3; ++e) told[k] = run.next();
                     }),
            nothing(n));
  std::vector<std::uint64_t> stopped(n);
  std::vector<std::string> said(n);
  EXPECT_EQ(on_ranks(n,
                     [&](std::uint32_t k) {
                       training& run = begin(first, two, k);
                       run.next();
                       two->barrier(k);
                       if (k == 1) request_interrupt_after(3);
                       two->barrier(k);
                       try {
                         run.next();
                       } catch (error const& e) {
                         said[k] = e.what();
                         stopped[k] = run.step();
                       }
                       two->barrier(k);
                       clear_interrupt();
                       two->barrier(k);
                       run.save_checkpoint(file);
                     }),
            nothing(n));
  EXPECT_THAT(said[0], HasSubstr("interrupted before step"));
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(stopped[0], stopped[1]);
  EXPECT_GT(stopped[0], 8u - 1);  // eight per epoch
  EXPECT_LT(stopped[0], 16u);
  EXPECT_EQ(on_ranks(n,
                     [&](std::uint32_t k) {
                       training& run = begin(second, three, k);
                       run.load_checkpoint(file);
                       EXPECT_EQ(run.step(), stopped[0]);
                       while (run.epochs() < 3) again[k] = run.next();
                     }),
            nothing(n));
  for (std::uint32_t k = 0; k < n; ++k) {
    EXPECT_TRUE(second[k].values() == through[k].values());
    EXPECT_EQ(again[k].loss, told[k].loss);
    EXPECT_EQ(again[k].exact->test.accuracy, told[k].exact->test.accuracy);
  }
  rank_of alone;
  try {
    alone.begin(where(), g, o).load_checkpoint(file);
    FAIL();
  } catch (error const& e) {
    EXPECT_THAT(e.what(), HasSubstr("ranks"));
  }
  fs::remove(file);
}
GARNER_AT_EVERY_PLACE(training_ranks);

TEST(training_ranks, a_rank_that_ends_or_fails_is_named_by_the_others) {
  graph_handle const g = some_graph();
  constexpr std::uint32_t n = 3;
  for (bool const fails : {false, true}) {
    std::vector<rank_of> all(n);
    auto const ranks = ranks_of_threads(n);
    auto const threw = on_ranks(n, [&](std::uint32_t k) {
      training_options mine = options_of(10);
      mine.ranks = ranks, mine.rank = k;
      training& run = all[k].begin({}, g, mine);
      run.next();
      if (k == 1) {
        if (fails) run.load_checkpoint("/nowhere/at/all");
        all[k].run.reset();
        return;
      }
      run.next();
    });
    for (std::uint32_t const k : {0u, 2u})
      EXPECT_THAT(threw[k],
                  HasSubstr(fails ? "rank 1 of 3 has stopped: /nowhere/at/all" : "rank 1 of 3 has stopped: its training has ended"));
    EXPECT_EQ(threw[1].empty(), !fails);
  }
}
TEST(training_ranks, a_rank_that_never_begins_is_named_by_the_others) {
  graph_handle const g = some_graph();
  auto const ranks = ranks_of_threads(2);
  rank_of one;
  auto threw = on_ranks(2, [&](std::uint32_t k) {
    training_options mine = options_of(10);
    mine.ranks = ranks;
    if (k == 1) leave_ranks(*ranks, 1, "no such file");
    else one.begin({}, g, mine);
  });
  EXPECT_THAT(threw[0], HasSubstr("rank 1 of 2 has stopped: no such file"));
  training_options mine = options_of(10);
  mine.ranks = ranks_of_threads(2, 0.05);
  try {
    rank_of().begin({}, g, mine);
    FAIL();
  } catch (error const& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank 1 of 2 has not come in 0.05 seconds"));
  }
}
TEST(training_ranks, a_row_that_one_rank_alone_reads_wrong_is_told_by_all) {
  graph_handle const g = some_graph();
  std::vector<rank_of> all(2);
  for (std::uint64_t c = 0; c < width; ++c) all[1].rows[7 * width + c] = std::numeric_limits<float>::quiet_NaN();
  auto const ranks = ranks_of_threads(2);
  auto const threw = on_ranks(2, [&](std::uint32_t k) {
    training_options mine = options_of(40);
    mine.ranks = ranks, mine.rank = k, mine.fanouts = {-1, -1}, mine.evaluate_every = 0;
    all[k].begin({}, g, mine).next();
  });
  for (std::string const& said : threw) EXPECT_THAT(said, HasSubstr("rank 1: element 0 of row 7 of the features is not a finite number"));
  EXPECT_TRUE(all[0].values() == all[1].values());
}
TEST(training_ranks, ranks_that_differ_are_refused) {
  graph_handle const g = some_graph();
  auto const say = [&](std::function<void(training_options&, std::uint64_t&)> const& other, char const* expected) {
    std::vector<rank_of> all(2);
    auto const ranks = ranks_of_threads(2);
    auto const threw = on_ranks(2, [&](std::uint32_t k) {
      training_options mine = options_of(40);
      mine.ranks = ranks, mine.rank = k, mine.patience = 0;
      std::uint64_t seed = 3;
      if (k == 1) other(mine, seed);
      all[k].begin({}, g, mine, seed);
    });
    for (std::string const& said : threw) EXPECT_THAT(said, HasSubstr(expected));
  };
  say([](auto& o, auto&) { o.learning_rate = 0.5; }, "rank 0 trains with optimiser: rate 0.01");
  say([](auto&, auto& seed) { seed = 4; }, "rank 0 trains with parameters: ");
  say([](auto& o, auto&) { o.patience = 4; }, "patience 0, and rank 1 with evaluation: every 1 epochs, patience 4");
  training_options whole = options_of(10);
  whole.fanouts = {}, whole.ranks = ranks_of_threads(2);
  EXPECT_THROW(rank_of().begin({}, g, whole), error);
  whole = options_of(10);
  whole.ranks = ranks_of_threads(2), whole.rank = 2;
  EXPECT_THROW(rank_of().begin({}, g, whole), error);
  EXPECT_THROW(ranks_of_threads(0), error);
  EXPECT_THROW(ranks_of_threads(17), error);
  EXPECT_THROW(ranks_of_processes("garner-ranks-test", 2, 2), error);
}
TEST(training_ranks, texts_of_any_length_reach_all) {
  auto const ranks = rank_group::of_threads(3);
  std::vector<std::vector<std::string>> heard(3);
  EXPECT_EQ(on_ranks(3,
                     [&](std::uint32_t k) {
                       executor x(execution_device{});
                       ranks->join(k, x, 1);
                       for (std::size_t const length : {0u, 1u, 1023u, 1024u, 1025u, 5000u})
                         for (std::string& one : ranks->all_gather(k, std::string(length * k, static_cast<char>('a' + k))))
                           heard[k].push_back(one);
                     }),
            nothing(3));
  std::vector<std::string> expected;
  for (std::size_t const length : {0u, 1u, 1023u, 1024u, 1025u, 5000u})
    for (std::uint32_t k = 0; k < 3; ++k) expected.push_back(std::string(length * k, static_cast<char>('a' + k)));
  for (auto const& one : heard) EXPECT_EQ(one, expected);
}

// --- processes ---
std::string checked(std::vector<float> const& values) {
  std::uint64_t sum = 1;
  for (float const v : values) sum = mix(sum ^ std::bit_cast<std::uint32_t>(v));
  return std::to_string(sum);
}
// Rank 1 of 2: reports each epoch, waits for go(); writes its results.
TEST(training_ranks, DISABLED_child) {
  char const* const name = std::getenv("GARNER_RANKS");
  char const* const file = std::getenv("GARNER_RANKS_FILE");
  if (!name || !file) return;
  int result = 0;
  try {
    graph_handle const g = some_graph();
    training_options o = options_of(10);
    o.ranks = ranks_of_processes(name, 1, 2), o.rank = 1;
    rank_of mine;
    training& run = mine.begin({}, g, o);
    for (int e = 0; e < 2; ++e) {
      run.next();
      tell('e');
      go();
    }
    std::FILE* const out = std::fopen(file, "w");
    std::fputs(checked(mine.values()).c_str(), out);
    std::fclose(out);
  } catch (error const& e) {
    std::fputs(e.what(), stderr);
    tell('x');
    result = 4;
  }
  ::_exit(result);
}
class rank_processes : public ::testing::Test {
 protected:
  std::string name = fmt::format("garner-ranks-{}", ::getpid());
  fs::path file = fs::temp_directory_path() / (name + ".txt");
  child other() const {
    return child("training_ranks.DISABLED_child", {"GARNER_RANKS=" + name, "GARNER_RANKS_FILE=" + file.string(), "GARNER_THREADS=1"});
  }
  training_options options() const {
    training_options o = options_of(10);
    o.ranks = ranks_of_processes(name, 0, 2);
    return o;
  }
  ~rank_processes() override { fs::remove(file); }
};
TEST_F(rank_processes, hold_the_same_bits_as_threads) {
  graph_handle const g = some_graph();
  child c = other();
  rank_of mine;
  training& run = mine.begin({}, g, options());
  for (int e = 0; e < 2; ++e) {
    run.next();
    EXPECT_EQ(c.hears(), 'e');
    c.go();
  }
  EXPECT_EQ(c.end(), 0);
  std::vector<rank_of> threads(2);
  auto const ranks = ranks_of_threads(2);
  EXPECT_EQ(on_ranks(2,
                     [&](std::uint32_t k) {
                       training_options o = options_of(10);
                       o.ranks = ranks, o.rank = k;
                       training& one = threads[k].begin({}, g, o);
                       for (int e = 0; e < 2; ++e) one.next();
                     }),
            nothing(2));
  EXPECT_TRUE(mine.values() == threads[0].values());
  std::FILE* const in = std::fopen(file.c_str(), "r");
  ASSERT_TRUE(in);
  char text[64] = {};
  EXPECT_TRUE(std::fgets(text, sizeof text, in));
  std::fclose(in);
  EXPECT_EQ(text, checked(mine.values()));
}
TEST_F(rank_processes, one_that_is_killed_is_named) {
  graph_handle const g = some_graph();
  child c = other();
  rank_of mine;
  training& run = mine.begin({}, g, options());
  run.next();
  EXPECT_EQ(c.hears(), 'e');
  c.end(SIGKILL);
  try {
    run.next();
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::io);
    EXPECT_THAT(e.what(), HasSubstr("rank 1 of 2 has stopped: its process ended"));
  }
}

}  // namespace
}  // namespace garner

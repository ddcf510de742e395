// Training over shards that are processes: the same bits as with threads for any number of them, for each strategy and transport; processes
// that are killed, time out, never join, or have other options; two processes on one device.
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "child.hpp"
#include "nn/shard_training.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(shard_process, DISABLED_child) {
  char const* const said = std::getenv("GARNER_SHARD");
  char const* const file = std::getenv("GARNER_SHARD_FILE");
  if (!said || !file) return;
  int result = 0;
  try {
    learned const found = by_process(orders::read(said), [] { tell('e'); });
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<char const*>(found.values.data()), static_cast<std::streamsize>(found.values.size() * sizeof(float)));
  } catch (error const& e) {
    std::ofstream(file) << e.what();
    tell('x');
    result = 4;
  }
  ::_exit(result);
}
// A process, and its output.
struct other_shard {
  fs::path file;
  child process;
  explicit other_shard(orders const& o)
      : file(fs::temp_directory_path() / fmt::format("garner-shard-{}-{}", ::getpid(), o.shard)),
        process("shard_process.DISABLED_child", {"GARNER_SHARD=" + o.text(), "GARNER_SHARD_FILE=" + file.string(), "GARNER_THREADS=1"}) {}
  ~other_shard() {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
  std::string text() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<float> values() const {
    std::string const bytes = text();
    std::vector<float> all(bytes.size() / sizeof(float));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(float));
    return all;
  }
};

class shard_processes : public ::testing::Test {
 protected:
  static int turn;
  orders ask;
  shard_processes() { ask.name = fmt::format("garner-shards-{}-{}", ::getpid(), ++turn); }
  ~shard_processes() override {
    for (auto const& e : fs::directory_iterator("/dev/shm"))  // all files are removed
      EXPECT_EQ(e.path().filename().string().find(ask.name), std::string::npos) << e.path();
  }
  // This process is shard 0; all must get its results.
  learned together() {
    std::vector<std::unique_ptr<other_shard>> others;
    for (std::uint32_t k = 1; k < ask.shards; ++k) {
      orders its = ask;
      its.shard = k;
      others.push_back(std::make_unique<other_shard>(its));
    }
    learned const mine = by_process(ask);
    for (auto const& o : others) {
      EXPECT_EQ(o->process.end(), 0) << o->text();
      EXPECT_EQ(o->values(), mine.values);
    }
    return mine;
  }
};
int shard_processes::turn = 0;

TEST_F(shard_processes, come_to_the_bits_of_threads_with_any_number) {
  std::vector<float> one;
  for (std::string const place : {"host", "simulated"})
    for (std::string const strategy : {"bulk", "collective"})
      for (std::uint32_t const n : {1u, 2u, 3u, 4u}) {
        ask.shards = n, ask.strategy = strategy, ask.place = place, ask.name += "x";
        learned const mine = together();
        if (one.empty()) one = by_threads(ask).values;
        EXPECT_EQ(mine.values, one) << strategy << n;
        EXPECT_EQ(mine.link.provider, shard_provider::peer);
        EXPECT_EQ(mine.link.about, n == 1 ? "memory of one process" : "shared memory");
      }
  ask.provider = "host", ask.shards = 3, ask.place = "host", ask.name += "x";
  learned const staged = together();
  EXPECT_EQ(staged.values, one);
  EXPECT_EQ(staged.link.provider, shard_provider::host);
}
TEST_F(shard_processes, come_to_what_threads_come_to_within_rounding_by_mgg) {
  ask.strategy = "mgg", ask.shards = 3;
  learned const mine = together(), threads = by_threads(ask);
  for (std::size_t e = 0; e < mine.losses.size(); ++e) EXPECT_NEAR(mine.losses[e], threads.losses[e], 2e-4);
}
TEST_F(shard_processes, decide_together_what_is_fastest) {
  ask.shards = 3;
  std::vector<float> const one = by_threads(ask).values;
  ask.strategy = "auto";
  learned const mine = together();
  EXPECT_EQ(mine.values, one);
  ASSERT_TRUE(mine.decided);
  auto const& strategies = mine.decided->strategies;
  ASSERT_EQ(strategies.size(), 2u);
  ASSERT_TRUE(strategies[0].measured_ms && strategies[1].measured_ms) << mine.decided->why();
  EXPECT_EQ(mine.decided->chosen().measured_ms, std::min(*strategies[0].measured_ms, *strategies[1].measured_ms));
  // If one lacks memory for all strategies, all use the prediction.
  ask.lacks = true, ask.name += "x";
  learned const poor = together();
  EXPECT_EQ(poor.values, one);
  for (auto const& w : poor.decided->strategies) {
    EXPECT_FALSE(w.measured_ms);
    EXPECT_THAT(w.refused, AllOf(HasSubstr("shard 0: "), HasSubstr("over the budget")));
  }
  EXPECT_EQ(poor.decided->options.strategy, poor.decided->strategies.front().strategy);
  // A process that never joins is named.
  ask.wait = 0.3, ask.name += "x";
  EXPECT_THAT(error_of([&] {
                communities const c(300, 3, 20);
                decide_shards_of_processes(c.model(model_kind::gcn), c.graph(), {}, ask.options(), ask.name, 0, {}, ask.wait);
              }),
              HasSubstr("have not come in 0.3 seconds: 1, 2"));
}
TEST_F(shard_processes, end_with_the_name_of_one_that_is_killed) {
  ask.shards = 3, ask.epochs = 100000;
  orders first = ask, second = ask;
  first.shard = 1, second.shard = 2;
  other_shard one(first), two(second);
  int epochs = 0;
  std::chrono::steady_clock::time_point killed;
  std::string const why = error_of([&] {
    by_process(ask, [&] {
      if (++epochs != 2) return;
      killed = std::chrono::steady_clock::now();
      EXPECT_EQ(two.process.end(SIGKILL), 128 + SIGKILL);
    });
  });
  EXPECT_THAT(why, HasSubstr("rank 2 of 3 has stopped: its process ended"));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(5));
  EXPECT_EQ(one.process.end(), 4);
  EXPECT_THAT(one.text(), HasSubstr("rank 2 of 3 has stopped: its process ended"));
}
TEST_F(shard_processes, end_with_the_name_of_one_that_is_late) {
  ask.wait = 1.5, ask.epochs = 100000;
  orders its = ask;
  its.shard = 1;
  other_shard other(its);
  int epochs = 0;
  std::string const why = error_of([&] {
    by_process(ask, [&] {
      if (++epochs == 2) other.process.send(SIGSTOP);
    });
  });
  EXPECT_THAT(why, HasSubstr("rank 1 of 2 is late: it has not come in 1.5 seconds"));
  other.process.send(SIGCONT);  // it gets the error
  EXPECT_EQ(other.process.end(), 4);
  EXPECT_THAT(other.text(), HasSubstr("it was late: the others waited 1.5 seconds for it"));
}
TEST_F(shard_processes, end_where_one_never_comes) {
  ask.wait = 0.3;
  EXPECT_THAT(error_of([&] { by_process(ask); }), AllOf(HasSubstr("have not come in 0.3 seconds: 1"), HasSubstr(ask.name)));
}
TEST_F(shard_processes, refuse_other_options_and_other_graphs) {
  ask.wait = 1;
  orders its = ask;
  its.shard = 1, its.strategy = "collective";
  {
    auto const mine = shards_of_processes(ask.options(), ask.name, 0, ask.wait);
    other_shard other(its);
    EXPECT_EQ(other.process.end(), 4);
    EXPECT_THAT(other.text(), AllOf(HasSubstr("begun by others with 2 members and shards of the build "), HasSubstr("way bulk"),
                                    HasSubstr("this process says"), HasSubstr("way collective")));
  }
  its = ask;
  ask.wait = its.wait = 20, its.shard = 1, its.moved = 40;
  other_shard other(its);
  std::string const why = error_of([&] { by_process(ask); });
  EXPECT_THAT(why, AllOf(HasSubstr("rank 0 trains with lists: "), HasSubstr("and rank 1 with lists: ")));
  EXPECT_EQ(other.process.end(), 4);
  EXPECT_EQ(other.text(), why);
}
TEST_F(shard_processes, two_processes_on_one_device_come_to_the_bits_of_threads) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  ask.place = "device";
  std::vector<float> const threads = by_threads(ask).values;
  for (std::string const provider : {"peer", "host"})
    for (std::string const strategy : {"bulk", "collective"}) {
      ask.provider = provider, ask.strategy = strategy, ask.name += "x";
      learned const mine = together();
      EXPECT_EQ(mine.values, threads) << provider << strategy;
      EXPECT_EQ(to_string(mine.link.provider), provider);
    }
}
TEST_F(shard_processes, one_that_is_killed_on_a_device_is_named) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  ask.place = "device", ask.epochs = 100000;
  orders its = ask;
  its.shard = 1;
  other_shard other(its);
  int epochs = 0;
  EXPECT_THAT(error_of([&] {
                by_process(ask, [&] {
                  if (++epochs == 2) other.process.end(SIGKILL);
                });
              }),
              HasSubstr("rank 1 of 2 has stopped: its process ended"));
}

}  // namespace
}  // namespace garner

// Rows over NCCL, replaced by a library of tests/stand_in: with windows, with send and receive, with the bits of any other transport.
// If it is missing, too old, or refuses, on all shards or one, another transport is used and the reason is reported.
#include <gmock/gmock.h>

#include "child.hpp"
#include "nn/shard_training.hpp"
#include "stand_in/stand_in.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class shard_nccl : public ::testing::Test {
 protected:
  orders ask;
  stand_in nccl{"GARNER_NCCL", "nccl_stand_in"};
  void SetUp() override {
    if (!nccl.there()) GTEST_SKIP() << nccl.file << " was not built";
    nccl.say("NCCL_NVLS_ENABLE", "0");
    ask.provider = "nccl", ask.shards = 3, ask.wait = 20, ask.name = "garner-nccl-" + std::to_string(::getpid());
  }
  std::vector<float> expected() const {
    orders plain = ask;
    plain.provider = "peer", plain.strategy = "bulk", plain.shards = 2;
    return by_threads(plain).values;
  }
  // The rows' transport is memory of one process, with this reason for the lack of NCCL.
  std::string passed_over() const {
    learned const found = by_threads(ask);
    EXPECT_EQ(found.link.provider, shard_provider::peer);
    EXPECT_EQ(found.values, expected());
    EXPECT_EQ(found.link.passed_over.size(), 1u);
    return found.link.passed_over.empty() ? "" : found.link.passed_over[0];
  }
};

TEST_F(shard_nccl, sends_and_receives_with_the_same_bits) {
  for (std::string const strategy : {"bulk", "collective"})
    for (std::uint32_t const n : {2u, 3u, 4u}) {
      ask.strategy = strategy, ask.shards = n;
      learned const found = by_threads(ask);
      EXPECT_EQ(found.values, expected()) << strategy << n;
      EXPECT_EQ(found.link.provider, shard_provider::nccl);
      EXPECT_THAT(found.link.about, AllOf(HasSubstr("NCCL 2.14.3 (" + nccl.file.string() + "), sent and received"),
                                          HasSubstr("has no windows that the host knows the places of; 2.29 or newer has")));
      EXPECT_THAT(found.link.passed_over, IsEmpty());
    }
  EXPECT_THAT(nccl.log(), AllOf(HasSubstr("multicast 0\n"), HasSubstr("init without blocking 1\n"), HasSubstr("exchange of ")));
}
TEST_F(shard_nccl, has_windows) {
  nccl.say("GARNER_STAND_IN_VERSION", "22903");
  for (std::string const strategy : {"bulk", "collective"}) {
    ask.strategy = strategy;
    learned const found = by_threads(ask);
    EXPECT_EQ(found.values, expected()) << strategy;
    EXPECT_EQ(found.link.about, "NCCL 2.29.3 (" + nccl.file.string() + "), windows");
  }
  EXPECT_THAT(nccl.log(), Not(HasSubstr("exchange")));
}
TEST_F(shard_nccl, rounded_rows_and_mgg_come_over_it) {
  for (std::string const version : {"21403", "22903"}) {
    nccl.say("GARNER_STAND_IN_VERSION", version);
    ask.strategy = "bulk", ask.wire = "bf16";
    orders plain = ask;
    plain.provider = "peer";
    EXPECT_EQ(by_threads(ask).values, by_threads(plain).values);
    ask.wire = plain.wire = "f32", ask.strategy = plain.strategy = "mgg";
    learned const mine = by_threads(ask), theirs = by_threads(plain);
    for (std::size_t e = 0; e < mine.losses.size(); ++e) EXPECT_NEAR(mine.losses[e], theirs.losses[e], 2e-4);
  }
}
TEST_F(shard_nccl, windows_that_one_shard_refuses_none_has) {
  nccl.say("GARNER_STAND_IN_VERSION", "22903");
  nccl.say("GARNER_STAND_IN_RANK", "1");
  for (auto const& [what, why] :
       {std::pair("windows", "shard 1: NCCL 2.29.3 (" + nccl.file.string() + "): ncclCommWindowRegister: the stand-in refuses"),
        std::pair("places", "shard 1: NCCL 2.29.3 (" + nccl.file.string() + "): the window of rank 0 is out of this rank's reach")}) {
    nccl.say("GARNER_STAND_IN_REFUSES", what);
    learned const found = by_threads(ask);
    EXPECT_EQ(found.link.about, "NCCL 2.29.3 (" + nccl.file.string() + "), sent and received (" + why + ")");
    EXPECT_EQ(found.values, expected());
  }
}
TEST_F(shard_nccl, windows_in_which_others_write_something_else_are_passed_over) {
  nccl.say("GARNER_STAND_IN_VERSION", "22903");
  nccl.say("GARNER_STAND_IN_REFUSES", "wrong");
  nccl.say("GARNER_STAND_IN_RANK", "1");
  EXPECT_EQ(passed_over(), "nccl (shard 1: what shard 2 wrote is not what is read of it)");
}
TEST_F(shard_nccl, absent_or_another_library_is_passed_over) {
  nccl.say("GARNER_NCCL", "/nowhere/libnccl.so.2");
  EXPECT_EQ(passed_over(), "nccl (shard 0: no libnccl.so.2 (tried /nowhere/libnccl.so.2); install it, or name its file in GARNER_NCCL)");
  nccl.say("GARNER_NCCL", "libz.so.1");
  EXPECT_EQ(passed_over(), "nccl (shard 0: libz.so.1 has no ncclGetVersion; a newer one is needed)");
  ::unsetenv("GARNER_NCCL");
  EXPECT_EQ(passed_over(), "nccl (shard 0: rows lie in host memory, and NCCL is for devices)");
}
TEST_F(shard_nccl, one_that_may_use_multicast_is_passed_over_and_the_environment_stays) {
  nccl.say("NCCL_NVLS_ENABLE", "2");
  EXPECT_EQ(passed_over(), "nccl (shard 0: NCCL_NVLS_ENABLE is 2; " + nccl.file.string() +
                               " would use NVLink multicast; start the process with NCCL_NVLS_ENABLE=0)");
  EXPECT_STREQ(std::getenv("NCCL_NVLS_ENABLE"), "2");
  ::unsetenv("NCCL_NVLS_ENABLE");
  EXPECT_THAT(passed_over(), HasSubstr("nccl (shard 0: NCCL_NVLS_ENABLE is not set; "));
  EXPECT_EQ(std::getenv("NCCL_NVLS_ENABLE"), nullptr);
  EXPECT_EQ(nccl.log(), "");  // not called at all
}
TEST_F(shard_nccl, one_that_is_too_old_is_passed_over) {
  for (auto const& [said, told] : {std::pair("21003", "2.10.3"), std::pair("2804", "2.8.4")}) {
    nccl.say("GARNER_STAND_IN_VERSION", said);
    EXPECT_THAT(passed_over(), AllOf(HasSubstr(std::string("NCCL ") + told), HasSubstr("is too old; 2.14 or newer is needed")));
  }
}
TEST_F(shard_nccl, one_that_refuses_is_passed_over_by_all) {
  nccl.say("GARNER_STAND_IN_REFUSES", "init");
  EXPECT_THAT(passed_over(), HasSubstr("nccl (shard 0: NCCL 2.14.3"));
  nccl.say("GARNER_STAND_IN_RANK", "2");  // the others wait for it within NCCL
  auto const begun = std::chrono::steady_clock::now();
  EXPECT_THAT(passed_over(), HasSubstr("ncclCommInitRankConfig: "));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_THAT(nccl.log(), HasSubstr("abort"));
}
TEST_F(shard_nccl, one_that_fails_later_ends_all_with_its_words) {
  nccl.say("GARNER_STAND_IN_REFUSES", "send");
  nccl.say("GARNER_STAND_IN_RANK", "1");
  std::vector<std::string> threw;
  by_threads(ask, &threw);
  EXPECT_THAT(threw[1], HasSubstr("ncclSend: the stand-in refuses"));
  for (std::uint32_t const s : {0u, 2u})
    EXPECT_THAT(threw[s], AllOf(HasSubstr("rank 1 of 3 has stopped"), HasSubstr("ncclSend: the stand-in refuses")));
}

TEST(shard_nccl_process, DISABLED_child) {
  char const* const said = std::getenv("GARNER_SHARD");
  if (!said) return;
  int result = 0;
  try {
    by_process(orders::read(said), [] { tell('e'); });
  } catch (error const& e) {
    result = std::string_view(e.what()).find("has stopped: its process ended") != std::string_view::npos ? 4 : 5;
  }
  ::_exit(result);
}
TEST_F(shard_nccl, processes_send_and_receive_and_name_one_that_is_killed) {
  auto const other = [&](std::uint32_t k) {
    orders its = ask;
    its.shard = k;
    return child("shard_nccl_process.DISABLED_child", {"GARNER_SHARD=" + its.text(), "GARNER_THREADS=1"});
  };
  for (std::string const version : {"21403", "22903"}) {
    nccl.say("GARNER_STAND_IN_VERSION", version);
    ask.name += "x", ask.epochs = 3;
    {
      child one = other(1), two = other(2);
      learned const found = by_process(ask);
      EXPECT_EQ(found.values, expected());
      EXPECT_EQ(found.link.provider, shard_provider::nccl);
      EXPECT_EQ(one.end(), 0);
      EXPECT_EQ(two.end(), 0);
    }
    ask.name += "x", ask.epochs = 100000;
    child one = other(1), two = other(2);
    int epochs = 0;
    std::chrono::steady_clock::time_point killed;
    std::string const why = error_of([&] {
      by_process(ask, [&] {
        if (++epochs != 2) return;
        killed = std::chrono::steady_clock::now();
        two.end(SIGKILL);
      });
    });
    EXPECT_THAT(why, HasSubstr("rank 2 of 3 has stopped: its process ended"));
    EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(5));
    EXPECT_EQ(one.end(), 4);
  }
}

}  // namespace
}  // namespace garner

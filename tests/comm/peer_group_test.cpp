// Processes that each hold a part: membership, agreement, and the death of a member. Parts lie in host memory here (as on the simulated
// device); members are threads where it does not matter, and processes where they are killed. For GPUs see
// tests/features/tiered_processes_test.
#include "comm/peer_group.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "child.hpp"
#include "core/device.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string part_of(std::uint32_t member, std::size_t bytes) { return std::string(bytes, static_cast<char>('a' + member)); }

// A member's whole life: it writes its part of member + 1 times `each` bytes, and reads those of all.
std::string meet(std::string const& name, std::uint32_t members, std::uint32_t mine, std::size_t each, double wait = 60) {
  peer_group g(name, {members, mine, -1, "a test", wait});
  auto const least = g.least_of({mine + 1, members - mine, 7});
  std::size_t const bytes = each * (mine + 1);
  if (void* const part = g.make(bytes, each * members, "a part")) std::memcpy(part, part_of(mine, bytes).data(), bytes);
  auto const at = g.open();
  g.require_alive();
  std::string all = fmt::format("{} {} {} ", least[0], least[1], least[2]);
  for (std::uint32_t k = 0; k < members; ++k)
    if (at[k]) all.append(static_cast<char const*>(at[k]), each * (k + 1));
  return all;
}
std::string expected(std::uint32_t members, std::size_t each) {
  std::string all = "1 1 7 ";
  for (std::uint32_t k = 0; k < members; ++k) all += part_of(k, each * (k + 1));
  return all;
}

// Member 1 of 2 in another process: reports its progress, and waits for go().
TEST(peer_group, DISABLED_child) {
  char const* const name = std::getenv("GARNER_GROUP");
  if (!name) return;
  int result = 0;
  try {
    peer_group g(name, {2, 1, -1, "a test", 60});
    tell('c');
    go();
    g.least_of({1, 1, 1});
    tell('o');
    go();
    std::memset(g.make(5000, 5000, "a part"), 'b', 5000);
    auto const at = g.open();
    tell('r');
    go();
    if (std::string(static_cast<char const*>(at[0]), 5000) != std::string(5000, 'a')) result = 3;
  } catch (error const& e) {
    tell(static_cast<char>('0' + static_cast<int>(e.code())));
    result = 4;
  }
  if (result == 0) {
    tell(peer_group::left_behind() ? 'k' : 'l');  // it has released its part
    go();
    tell(peer_group::left_behind() ? 'k' : 'l');
  }
  ::_exit(result);
}

class peer_groups : public ::testing::Test {
 protected:
  void SetUp() override {
    name_ = "test-" + std::to_string(::getpid()) + "-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    file_ = peer_group::file(name_);
    used_ = host_budget().used();
  }
  void TearDown() override {
    EXPECT_FALSE(fs::exists(file_)) << "left behind";
    fs::remove(file_);
    EXPECT_EQ(peer_group::left_behind(), 0u);
    EXPECT_EQ(host_budget().used(), used_);
  }
  peer_group::terms terms(std::uint32_t members, std::uint32_t mine, double wait = 60) const { return {members, mine, -1, "a test", wait}; }
  child other() const { return child("peer_group.DISABLED_child", {"GARNER_GROUP=" + name_, "GARNER_THREADS=1"}); }
  std::string refused(peer_group::terms const& t, errc expected) {
    errc code{};
    std::string const text = error_of([&] { peer_group(name_, t); }, &code);
    EXPECT_EQ(code, expected) << text;
    return text;
  }
  std::string name_;
  fs::path file_;
  std::uint64_t used_ = 0;
};

TEST_F(peer_groups, read_each_others_parts) {
  for (std::uint32_t members : {1u, 2u, 3u, peer_group::most_members})
    for (std::size_t each : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{100'001}}) {
      std::vector<std::string> read(members);
      {
        std::vector<std::jthread> all;
        for (std::uint32_t k = 0; k < members; ++k) all.emplace_back([&, k] { read[k] = meet(name_, members, k, each); });
      }
      for (auto const& r : read) ASSERT_TRUE(r == expected(members, each)) << members << " members, " << each << " bytes";
      ASSERT_EQ(peer_group::left_behind(), 0u);
    }
}

TEST_F(peer_groups, meet_again_at_once_under_the_same_name) {
  constexpr std::uint32_t members = 3;
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> all;
    for (std::uint32_t k = 0; k < members; ++k)
      all.emplace_back([&, k] {
        for (std::size_t round = 1; round <= 20; ++round) right += meet(name_, members, k, round * 100) == expected(members, round * 100);
      });
  }
  EXPECT_EQ(right, 60);
}

TEST_F(peer_groups, the_file_is_the_users_own_and_has_its_name_until_all_have_come) {
  peer_group a(name_, terms(2, 0));
  struct ::stat s {};
  ASSERT_EQ(::stat(file_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
  peer_group b(name_, terms(2, 1));
  std::jthread const offers([&] { b.least_of({1, 2, 3}); });
  EXPECT_EQ(a.least_of({3, 2, 1}), (peer_group::offer{1, 2, 1}));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(peer_groups, who_does_not_come_is_named) {
  errc code{};
  EXPECT_EQ(error_of([&] { meet(name_, 3, 1, 10, 0.05); }, &code),
            "of the 3 members of the group '" + name_ +
                "' these have not come in 0.05 seconds: 0, 2; start a process for each of the peers, or wait longer");
  EXPECT_EQ(code, errc::io);
}

TEST_F(peer_groups, a_wait_that_is_no_time_is_refused) {
  for (double seconds : {std::numeric_limits<double>::quiet_NaN(), -1.0}) {
    errc code{};
    EXPECT_NE(error_of([&] { meet(name_, 3, 1, 10, seconds); }, &code).find("use seconds, 0 or more"), std::string::npos);
    EXPECT_EQ(code, errc::usage);
  }
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(peer_groups, what_they_do_not_agree_on_is_said) {
  peer_group a(name_, terms(2, 0));
  a.heed_refusal();
  EXPECT_EQ(refused({2, 1, -1, "another one", 60}, errc::usage),
            "the group '" + name_ + "' was begun by others with 2 members and a test; this process says 2 members and another one");
  EXPECT_THAT(refused(terms(3, 2), errc::usage), HasSubstr("2 members and a test; this process says 3 members"));
  EXPECT_THAT(refused(terms(2, 0, 0.05), errc::usage),
              HasSubstr(fmt::format("member 0 of the group '{}' (process {}) is there already", name_, ::getpid())));
  EXPECT_THAT(refused(terms(17, 0), errc::usage), HasSubstr("at most 16"));
  EXPECT_THAT(refused(terms(2, 2), errc::usage), HasSubstr("member 2 of a group of 2"));
  EXPECT_THAT(refused(terms(0, 0), errc::usage), HasSubstr("a group of 0"));
  // A waiting member gets the first one's error.
  for (int turn = 0; turn < 2; ++turn) {
    errc code{};
    EXPECT_EQ(error_of(
                  [&] {
                    turn ? a.heed_refusal() : static_cast<void>(a.least_of({1, 1, 1}));
                  },
                  &code),
              "the group '" + name_ +
                  "' has 2 members and a test here; another process came and says 2 members and another one; "
                  "let all use the same");
    EXPECT_EQ(code, errc::usage);
  }
}

TEST_F(peer_groups, names_and_files_that_are_none_are_refused) {
  errc code{};
  error_of([] { peer_group::file("a/b"); }, &code);
  EXPECT_EQ(code, errc::usage);
  std::ofstream(file_) << "others may read this";
  fs::permissions(file_, fs::perms(0644));
  refused(terms(2, 0), errc::io);
  fs::remove(file_);
}

TEST_F(peer_groups, one_that_is_killed_while_others_wait_is_named) {
  for (char until : {'c', 'o'}) {
    child c = other();
    ASSERT_EQ(c.hears(), 'c');
    peer_group g(name_, terms(2, 0));
    if (until == 'o') c.go(), g.least_of({1, 1, 1});
    if (until == 'o') {
      ASSERT_EQ(c.hears(), 'o');
    }
    ASSERT_EQ(c.end(SIGKILL), 128 + SIGKILL);
    errc code{};
    std::string const said = error_of(
        [&] {
          if (until == 'c') g.least_of({1, 1, 1});
          g.make(10, 10, "a part");
          g.open();
        },
        &code);
    EXPECT_EQ(code, errc::io);
    EXPECT_THAT(said, HasSubstr("member 1 of the group '" + name_ + "' (process "));
    EXPECT_THAT(said, HasSubstr("has ended"));
  }
}

TEST_F(peer_groups, one_that_gives_up_is_heard_by_the_others) {
  child c = other();
  ASSERT_EQ(c.hears(), 'c');
  {
    peer_group g(name_, terms(2, 0));
    c.go();
    g.least_of({1, 1, 1});
    ASSERT_EQ(c.hears(), 'o');
    std::uint64_t const limit = host_budget().limit();
    host_budget().set_limit(host_budget().used() + 4095);
    errc code{};
    EXPECT_THAT(error_of([&] { g.make(5000, 5000, "a part"); }, &code), HasSubstr("a part"));
    EXPECT_EQ(code, errc::memory);
    host_budget().set_limit(limit);
  }
  c.go();
  EXPECT_EQ(c.hears(), static_cast<char>('0' + static_cast<int>(errc::io)));
  EXPECT_EQ(c.end(), 4);
}

TEST_F(peer_groups, one_that_was_killed_is_seen_before_its_part_is_read) {
  child c = other();
  peer_group g(name_, terms(2, 0));
  c.go(), c.go(), c.go();
  g.least_of({1, 1, 1});
  std::memset(g.make(5000, 5000, "a part"), 'a', 5000);
  auto const at = g.open();
  EXPECT_EQ(std::string(static_cast<char const*>(at[1]), 5000), std::string(5000, 'b'));
  for (char heard : {'c', 'o', 'r', 'k'}) EXPECT_EQ(c.hears(), heard);  // it has released the group, and its part stays for us
  EXPECT_NO_THROW(g.require_alive());
  c.end(SIGKILL);
  errc code{};
  EXPECT_THAT(error_of([&] { g.require_alive(); }, &code), HasSubstr("member 1 of the group"));
  EXPECT_EQ(code, errc::device);
}

TEST_F(peer_groups, who_lets_go_first_leaves_its_part_until_the_others_have) {
  child c = other();
  ASSERT_EQ(c.hears(), 'c');
  {
    peer_group g(name_, terms(2, 0));
    c.go();
    g.least_of({1, 1, 1});
    ASSERT_EQ(c.hears(), 'o');
    c.go();
    std::memset(g.make(5000, 5000, "a part"), 'a', 5000);
    auto const at = g.open();
    ASSERT_EQ(c.hears(), 'r');
    c.go();
    ASSERT_EQ(c.hears(), 'k');  // the child released it
    EXPECT_NO_THROW(g.require_alive());
    EXPECT_EQ(std::string(static_cast<char const*>(at[1]), 5000), std::string(5000, 'b'));
  }
  EXPECT_EQ(peer_group::left_behind(), 0u);  // the child no longer reads our parts
  c.go();
  EXPECT_EQ(c.hears(), 'l');
  EXPECT_EQ(c.end(), 0);
}

TEST_F(peer_groups, of_the_killed_are_taken_over) {
  {
    child c = other();
    ASSERT_EQ(c.hears(), 'c');
    c.end(SIGKILL);
    ASSERT_TRUE(fs::exists(file_));
  }
  std::vector<std::string> read(2);
  {
    std::jthread const a([&] { read[0] = meet(name_, 2, 0, 10); }), b([&] { read[1] = meet(name_, 2, 1, 10); });
  }
  EXPECT_EQ(read[0], expected(2, 10));
  EXPECT_EQ(read[1], expected(2, 10));
}

TEST_F(peer_groups, a_member_that_ended_does_not_come_twice) {
  child c = other();
  ASSERT_EQ(c.hears(), 'c');
  peer_group const g(name_, terms(2, 0));
  c.end(SIGKILL);
  EXPECT_THAT(refused(terms(2, 1, 0.05), errc::usage), HasSubstr("has ended while others wait in the group"));
}

TEST_F(peer_groups, a_child_by_fork_does_not_let_go) {
  child c = other();
  auto g = std::make_unique<peer_group>(name_, terms(2, 0));
  c.go(), c.go();
  g->least_of({1, 1, 1});
  std::memset(g->make(5000, 5000, "a part"), 'a', 5000);
  g->open();
  ::pid_t const pid = ::fork();
  if (pid == 0) {
    g.reset();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_NO_THROW(g->require_alive());
  c.go();
  for (char heard : {'c', 'o', 'r', 'k'}) EXPECT_EQ(c.hears(), heard);  // it read ours, and its own stays for us
}

TEST_F(peer_groups, without_a_gpu_have_no_parts_on_one) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  peer_group g(name_, terms(2, 1));
  refused({2, 0, 0, "a test", 60}, errc::device);
  EXPECT_THAT(error_of([&] { g.least_of({1, 1, 1}); }), HasSubstr("has ended"));  // at once, not when its time is over
}

}  // namespace
}  // namespace garner

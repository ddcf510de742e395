// Memory shared by real processes: visible to all as a whole, freed with the last of them, without an entry in any file system.
#include "comm/peer_group.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "child.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"
#include "support.hpp"

namespace garner {
namespace {

using testing::child;
using testing::error_of;
using testing::go;
using testing::tell;

constexpr std::uint64_t words = 100003;
std::uint32_t word(std::uint64_t i) { return static_cast<std::uint32_t>(i * 2654435761u + 17); }
peer_group::terms terms(std::string const& name, std::uint32_t mine, std::uint32_t members = 2) {
  peer_group::terms t;
  t.name = name, t.members = members, t.mine = mine, t.same = "words";
  t.timeout_seconds = 30;
  return t;
}
std::string fresh() {
  static int k = 0;
  return fmt::format("garner-common-{}-{}", ::getpid(), k++);
}
void fill(peer_group& to) {
  to.pay(words * 4, "words");
  auto* const at = static_cast<std::uint32_t*>(to.make_common(words * 4));
  for (std::uint64_t i = 0; i < words; ++i) at[i] = word(i);
}
bool holds(peer_group::found const& f) {
  auto const* const at = static_cast<std::uint32_t const*>(f.memory.get());
  for (std::uint64_t i = 0; i < words; ++i)
    if (at[i] != word(i)) return false;
  return f.head == "a head" && f.bytes >= words * 4;
}
// Pages of this process that it shares with others, of unnamed files.
std::size_t shared_mappings() {
  std::ifstream in("/proc/self/maps");
  std::size_t found = 0;
  for (std::string line; std::getline(in, line);) found += line.find("memfd:garner") != line.npos;
  return found;
}
std::size_t files_of(std::string const& name) {
  std::size_t found = 0;
  for (auto const& e : std::filesystem::directory_iterator("/dev/shm")) found += e.path().string().find(name) != std::string::npos;
  return found;
}

TEST(common_memory, DISABLED_child) {
  char const *const what = std::getenv("GARNER_CHILD"), *const name = std::getenv("GARNER_CHILD_NAME");
  if (!what) return;
  std::string const todo = what;
  int result = 0;
  try {
    if (todo == "read") {
      peer_group mine(terms(name, 1));
      auto const found = mine.open_common(false);
      result = holds(found) ? 0 : 3;
      tell(result ? 'w' : 'a');
      go();
      if (!holds(found)) result = 4;  // the first process may have ended
    } else if (todo == "make") {
      peer_group mine(terms(name, 0));
      fill(mine);
      auto const found = mine.open_common(false, "a head");
      tell('a');
      go();
    } else if (todo == "come") {
      peer_group const mine(terms(name, 1));
      tell('a');
      go();
    } else if (todo == "start") {
      peer_group mine(terms(name, 0));
      fill(mine);
      tell('a');
      go();  // killed before its go
    }
  } catch (error const& e) {
    tell('e');
    result = 5;
  }
  ::_exit(result);
}

TEST(common_memory, is_seen_whole_and_paid_for_once) {
  std::string const name = fresh();
  std::uint64_t const before = host_budget().used();
  std::size_t const maps = shared_mappings();
  {
    child reader("common_memory.DISABLED_child", {"GARNER_CHILD=read", "GARNER_CHILD_NAME=" + name});
    peer_group mine(terms(name, 0));
    EXPECT_TRUE(mine.makes());
    fill(mine);
    EXPECT_EQ(host_budget().used(), before + words * 4);
    auto const found = mine.open_common(false, "a head");
    EXPECT_TRUE(holds(found));
    EXPECT_EQ(shared_mappings(), maps + 1);
    EXPECT_EQ(reader.hears(), 'a');
    EXPECT_EQ(files_of(name), 0u);  // no name is left behind
    reader.go();
    EXPECT_EQ(reader.end(), 0);
  }
  EXPECT_EQ(host_budget().used(), before);
  EXPECT_EQ(shared_mappings(), maps);
}

TEST(common_memory, stays_with_the_others_when_the_first_is_killed) {
  std::string const name = fresh();
  std::size_t const maps = shared_mappings();
  {
    child first("common_memory.DISABLED_child", {"GARNER_CHILD=make", "GARNER_CHILD_NAME=" + name});
    peer_group mine(terms(name, 1));
    EXPECT_FALSE(mine.makes());
    std::uint64_t const before = host_budget().used();
    auto const found = mine.open_common(false);
    EXPECT_EQ(host_budget().used(), before);
    EXPECT_EQ(first.hears(), 'a');
    EXPECT_EQ(first.end(SIGKILL), 128 + SIGKILL);
    EXPECT_TRUE(holds(found));
    EXPECT_EQ(files_of(name), 0u);
  }
  EXPECT_EQ(shared_mappings(), maps);
}

TEST(common_memory, names_who_ended_before_it_was_whole) {
  std::string name = fresh();
  {
    child first("common_memory.DISABLED_child", {"GARNER_CHILD=start", "GARNER_CHILD_NAME=" + name});
    peer_group mine(terms(name, 1));
    EXPECT_EQ(first.hears(), 'a');
    first.end(SIGKILL);
    EXPECT_NE(error_of([&] { mine.open_common(false); }).find("member 0 of the group '" + name), std::string::npos);
  }
  EXPECT_EQ(files_of(name), 0u);
  name = fresh();
  {
    child other("common_memory.DISABLED_child", {"GARNER_CHILD=come", "GARNER_CHILD_NAME=" + name});
    peer_group mine(terms(name, 0));
    fill(mine);
    EXPECT_EQ(other.hears(), 'a');
    other.end(SIGKILL);
    EXPECT_NE(error_of([&] { mine.open_common(false, "a head"); }).find("member 1 of the group '" + name), std::string::npos);
  }
  EXPECT_EQ(files_of(name), 0u);
}

TEST(common_memory, refuses_other_words_and_more_than_a_budget_has) {
  std::string const name = fresh();
  child reader("common_memory.DISABLED_child", {"GARNER_CHILD=come", "GARNER_CHILD_NAME=" + name});
  peer_group mine(terms(name, 0));
  EXPECT_EQ(reader.hears(), 'a');
  std::uint64_t const limit = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 100);
  EXPECT_NE(error_of([&] { mine.pay(words * 4, "words"); }).find("words"), std::string::npos);
  host_budget().set_limit(limit);
  reader.end(SIGKILL);

  std::string const other = fresh();
  child first("common_memory.DISABLED_child", {"GARNER_CHILD=make", "GARNER_CHILD_NAME=" + other});
  peer_group::terms wrong = terms(other, 1);
  wrong.same = "numbers", wrong.timeout_seconds = 1;
  std::string const said = error_of([&] { peer_group{wrong}; });
  EXPECT_TRUE(said.find("numbers") != said.npos || first.hears() == 'e') << said;  // the second process gets the error
}

TEST(common_memory, of_one_process_is_its_own) {
  peer_group mine(terms(fresh(), 0, 1));
  auto const found = mine.open_common(false, "nothing to hold");
  EXPECT_EQ(found.memory, nullptr);
  EXPECT_EQ(found.head, "nothing to hold");
}

}  // namespace
}  // namespace garner

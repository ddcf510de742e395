// Files that are published atomically, whatever their name refers to.
#include "core/publish.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "child.hpp"
#include "core/progress.hpp"
#include "folder.hpp"
#include "garner/error.hpp"

namespace {
int calls_of_umask = 0;
}
// Replaces the system's function, to observe its caller.
extern "C" ::mode_t umask(::mode_t mask) noexcept {
  ++calls_of_umask;
  return static_cast<::mode_t>(::syscall(SYS_umask, mask));
}

namespace garner {
namespace {

namespace fs = std::filesystem;

struct publishing : ::testing::Test, garner::testing::own_folder {
  static void write(fs::path const& to, std::string const& text) {
    pending_file out(to);
    out.write(text);
    out.commit();
  }
  std::string content(char const* name = "x") const { return bytes_of(at(name)); }
};

TEST_F(publishing, a_file_appears_whole_or_not_at_all) {
  {
    pending_file first(folder / "x");
    first.write("one");
    EXPECT_FALSE(fs::exists(folder / "x"));
    first.commit();
  }
  EXPECT_EQ(content(), "one");
  {
    pending_file dropped(folder / "x");
    dropped.write("two");
  }
  EXPECT_EQ(content(), "one");
  {
    pending_file stopped(folder / "x");
    request_interrupt();
    EXPECT_THROW(stopped.write("three"), error);
  }
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(files(), 1);
}

TEST_F(publishing, what_is_no_place_for_a_file_is_refused) {
  fs::create_directory(folder / "d");
  EXPECT_THROW(pending_file(folder / "d"), error);
  EXPECT_THROW(pending_file("/dev/null"), error);
  EXPECT_THROW(pending_file(folder / "none" / "x"), error);
}

TEST_F(publishing, what_was_flushed_is_published_though_interrupted) {
  pending_file out(folder / "x");
  out.write("one");
  out.flush();
  EXPECT_FALSE(fs::exists(folder / "x"));
  request_interrupt();
  out.publish();
  EXPECT_EQ(content(), "one");
  pending_file late(folder / "x");
  EXPECT_THROW(late.flush(), error);
}

TEST_F(publishing, links_stay_and_their_target_is_written) {
  fs::create_directory(folder / "d");
  write(folder / "d" / "x", "old");
  fs::create_symlink("d/x", folder / "near");
  fs::create_symlink(folder / "near", folder / "far");
  fs::create_symlink("d/y", folder / "dangling");
  write(folder / "far", "new");
  write(folder / "dangling", "made");
  EXPECT_EQ(content("d/x"), "new");
  EXPECT_EQ(content("d/y"), "made");
  for (char const* link : {"near", "far", "dangling"}) EXPECT_TRUE(fs::is_symlink(folder / link)) << link;
  EXPECT_EQ(files(), 4);  // and nothing temporary
  fs::create_symlink("round", folder / "round");
  EXPECT_THROW(pending_file(folder / "round"), error);
}

TEST_F(publishing, a_replaced_file_keeps_its_mode) {
  auto const mode = [&] {
    struct ::stat facts {};
    ::stat((folder / "x").c_str(), &facts);
    return facts.st_mode & 07777;
  };
  ::mode_t const mask = ::umask(027);
  write(folder / "x", "one");
  EXPECT_EQ(mode(), 0640u);
  ::chmod((folder / "x").c_str(), 0604);
  write(folder / "x", "two");
  EXPECT_EQ(mode(), 0604u);
  // A file that another thread creates meanwhile has the user's umask.
  int const calls = calls_of_umask;
  write(folder / "y", "three");
  EXPECT_EQ(calls_of_umask, calls);
  ::umask(mask);
}

// A name as long as the file system allows leaves no space for a suffix.
TEST_F(publishing, the_longest_names_are_written) {
  for (std::size_t length : {249u, 255u})
    for (auto naming : {pending_file::naming::where_it_can_be_avoided, pending_file::naming::always})
      for (char const* text : {"one", "two"}) {
        std::string const name(length, 'x');
        pending_file out(folder / name, naming);
        out.write(text);
        out.commit();
        EXPECT_EQ(content(name.c_str()), text);
      }
  EXPECT_EQ(files(), 2);
  EXPECT_THROW(pending_file(folder / std::string(256, 'x')), error);
}

TEST_F(publishing, what_is_pending_has_no_name) {
  write(folder / "old", "one");
  pending_file first(folder / "x"), second(folder / "old");
  first.write("text");
  first.flush(), second.flush();
  if (files() != 1) GTEST_SKIP() << "the file system of " << folder << " has no unnamed files";
  first.publish(), second.publish();
  EXPECT_EQ(files(), 2);
}

// A killed process leaves a name on systems without unnamed files; the next one removes it, and names of live processes stay.
TEST(DISABLED_child, writes_until_it_is_killed) {
  pending_file out(std::getenv("GARNER_TEST_FILE"), pending_file::naming::always);
  out.write("half");
  garner::testing::tell('w');
  garner::testing::go();
  ::_exit(0);
}
TEST_F(publishing, stale_temporaries_go_and_live_ones_stay) {
  {
    garner::testing::child killed("DISABLED_child.writes_until_it_is_killed", {"GARNER_TEST_FILE=" + (folder / "x").string()});
    ASSERT_EQ(killed.hears(), 'w');
    EXPECT_EQ(files(), 1);
    killed.end(SIGKILL);
  }
  EXPECT_EQ(files(), 1) << "what it left";
  std::ofstream(folder / ".garner-of-mine") << "no temporary";
  {
    pending_file first(folder / "x", pending_file::naming::always), second(folder / "y", pending_file::naming::always);
    EXPECT_EQ(files(), 3);
    first.write("one"), second.write("two");
    first.commit(), second.commit();
  }
  EXPECT_EQ(content("x"), "one");
  EXPECT_EQ(content("y"), "two");
  EXPECT_EQ(files(), 3);
}

TEST_F(publishing, no_way_through_devices_leads_to_a_file) {
  write(folder / "x", "one");
  std::FILE* const open = std::fopen((folder / "x").c_str(), "r");
  std::string const name = "/dev/fd/" + std::to_string(::fileno(open));
  fs::create_symlink(name, folder / "link");
  EXPECT_THROW(pending_file{name}, error);
  EXPECT_THROW(pending_file(folder / "link"), error);
  std::fclose(open);
}

}  // namespace
}  // namespace garner

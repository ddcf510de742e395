// Files that come whole or not at all, wherever their name leads.
#include "core/publish.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/progress.hpp"
#include "garner/error.hpp"

namespace garner {
namespace {

namespace fs = std::filesystem;

struct publishing : testing::Test {
  fs::path folder;
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "garner_publish.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override {
    clear_interrupt();
    fs::remove_all(folder);
  }
  static void write(fs::path const& to, std::string const& text) {
    pending_file out(to);
    out.write(text);
    out.commit();
  }
  std::string content(char const* name = "x") const {
    std::ifstream in(folder / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  auto files() const { return std::distance(fs::directory_iterator(folder), {}); }
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

}  // namespace
}  // namespace garner

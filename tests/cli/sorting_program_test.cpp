// Graphs larger than --memory-limit: the same file, within the budget, and no other file left however the program ends.
#include <gmock/gmock.h>

#include "program.hpp"
#include "sanitized.hpp"

namespace garner::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// The program's base memory: itself, its libraries, text in buffers.
constexpr std::uint64_t mib = 1u << 20, constant = 48 * mib;

std::string same(folder const& in, char const* a, char const* b) {
  return in.shell(std::string("cmp ") + a + " " + b + " && echo same").out;
}

TEST(sorting_program, memory_stays_within_the_budget) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps books of its own";
  folder in;
  ASSERT_EQ(in.garner({"generate", "uniform", "whole.gnr", "--scale", "18", "--random-weights", "1:9"}).code, 0);
  for (char const* budget : {"40MiB", "96MiB"}) {
    outcome const o = in.garner({"generate", "uniform", "parts.gnr", "--scale", "18", "--random-weights", "1:9", "--memory-limit", budget});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("are allowed: sorted by parts, with about "));
    EXPECT_THAT(o.out, HasSubstr("of disk in the folder of"));
    EXPECT_EQ(same(in, "whole.gnr", "parts.gnr"), "same\n");
    EXPECT_LT(o.peak_bytes, (budget[0] == '4' ? 40 : 96) * mib + constant);
  }
  ASSERT_EQ(in.garner({"convert", "whole.gnr", "g.wel", "--directed"}).code, 0);
  outcome const whole = in.garner({"convert", "g.wel", "whole.gnr", "--in-edges", "--compress"});
  outcome const parts =
      in.garner({"convert", "g.wel", "parts.gnr", "--in-edges", "--compress", "--memory-limit", "40MiB", "--scratch", "."});
  ASSERT_EQ(parts.code, 0) << parts.err;
  EXPECT_EQ(same(in, "whole.gnr", "parts.gnr"), "same\n");
  EXPECT_LT(parts.peak_bytes, 40 * mib + constant);
  EXPECT_GT(whole.peak_bytes, 3 * parts.peak_bytes);  // so that the bound is meaningful
  EXPECT_THAT(in.names(), UnorderedElementsAre("whole.gnr", "parts.gnr", "g.wel"));
}

TEST(sorting_program, a_pipe_is_sorted_as_the_file_is) {
  folder in;
  ASSERT_EQ(in.garner({"generate", "kron", "k.gnr", "--scale", "17"}).code, 0);
  ASSERT_EQ(in.garner({"convert", "k.gnr", "k.el"}).code, 0);
  ASSERT_EQ(in.garner({"convert", "k.el", "whole.gnr"}).code, 0);
  for (char const* budget : {"", " --memory-limit 40MiB"}) {
    outcome const o = in.shell(std::string("cat k.el | garner convert - parts.gnr --from el") + budget);
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.out.find("sorted: ") != std::string::npos, budget[0] != 0);
    EXPECT_EQ(same(in, "whole.gnr", "parts.gnr"), "same\n");
  }
}

// Killed at any moment: the old file stays, complete, and no other.
TEST(sorting_program, what_is_killed_leaves_nothing) {
  folder in;
  in.write("old.gnr", "not touched");
  for (char const* signal : {"INT", "KILL", "TERM"})
    for (char const* seconds : {"0.05", "0.3", "0.8"}) {
      outcome const o = in.shell(std::string("timeout -s ") + signal + " " + seconds + " \"" + program() +
                                 "\" generate kron old.gnr --scale 20 --memory-limit 64MiB --compress");
      EXPECT_NE(o.code, 0);
      EXPECT_THAT(in.names(), UnorderedElementsAre("old.gnr")) << signal << " after " << seconds;
      EXPECT_EQ(read_text(in / "old.gnr"), "not touched");
    }
}

TEST(sorting_program, a_disk_that_is_too_small_is_told_before_it_starts) {
  folder in;
  outcome o = in.garner({"generate", "kron", "k.gnr", "--scale", "31", "--edge-factor", "4096", "--memory-limit", "1GiB"});
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_THAT(o.err, HasSubstr("the work needs about 140737488355328 bytes of disk there and "));
  EXPECT_THAT(o.err, HasSubstr("name another folder with --scratch"));
  // A disk that fills up during the run, emulated by a file size limit.
  how_to_run how;
  how.file_bytes = 8 * mib;
  o = in.garner({"generate", "kron", "k.gnr", "--scale", "18", "--memory-limit", "48MiB"}, how);
  EXPECT_EQ(o.code, 1);
  expect_one_line(o.err);
  EXPECT_THAT(o.err, HasSubstr("the work needs about "));
  EXPECT_THAT(in.names(), UnorderedElementsAre());
}

}  // namespace
}  // namespace garner::testing

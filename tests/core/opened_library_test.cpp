// Libraries opened at run time: the search path, and the messages for missing or unexpected libraries.
#include "core/opened_library.hpp"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>

#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using from = opened_library::from;

TEST(opened_library, finds_what_the_process_has_and_where_it_lies) {
  // The C library is the one that every process has, whatever else is linked into it.
  std::optional<opened_library> const c = opened_library::of_file("libc.so.6", from::process);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->file(), "libc.so.6");
  EXPECT_THAT(c->path_of("gnu_get_libc_version"), HasSubstr("/libc.so"));
  EXPECT_EQ(c->path_of("no_such_entry"), "libc.so.6");
  char const* (*version)() = nullptr;
  EXPECT_TRUE(c->entry_if_any(version, "gnu_get_libc_version"));
  EXPECT_STREQ(version(), gnu_get_libc_version());
  EXPECT_TRUE(c->has("getpid"));
  EXPECT_FALSE(c->has("no_such_entry"));
  EXPECT_FALSE(c->entry_if_any(version, "no_such_entry"));
  EXPECT_EQ(version, nullptr);
  EXPECT_EQ(error_of([&] { c->entry(version, "no_such_entry"); }), "libc.so.6 has no no_such_entry; a newer one is needed");
}

TEST(opened_library, tells_what_is_not_there_by_its_name_and_what_is_no_library_by_the_loader_words) {
  std::string why;
  EXPECT_FALSE(opened_library::of_file("/nowhere/libx.so", from::process, &why));
  EXPECT_FALSE(opened_library::of_file("/nowhere/libx.so", from::loader, &why));
  EXPECT_THAT(why, HasSubstr("cannot open shared object file"));
  EXPECT_EQ(opened_library::told("/nowhere/libx.so", why), "/nowhere/libx.so");
  std::string const text = "/proc/self/status";
  EXPECT_FALSE(opened_library::of_file(text, from::loader, &why));
  EXPECT_THAT(opened_library::told(text, why), HasSubstr(text + ": "));
}

TEST(opened_library, is_looked_for_by_the_loader_beside_garner_and_in_the_toolkit) {
  std::vector<std::string> const files = opened_library::files_of("libnone.so.7", "none");
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0], "libnone.so.7");
  EXPECT_THAT(files[1], EndsWith("/../nvidia/none/lib/libnone.so.7"));
  EXPECT_EQ(files[2], "/usr/local/cuda/lib64/libnone.so.7");
  EXPECT_EQ(error_of([] { opened_library("GARNER_NONE", "libnone.so.7", "none", {}); }),
            "no libnone.so.7 (tried libnone.so.7, " + files[1] + ", " + files[2] + "); install it, or name its file in GARNER_NONE");
}

}  // namespace
}  // namespace garner

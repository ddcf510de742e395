// The boundary of the public API: every exception leaves as garner::error, even without memory for its message.
#include "core/fail.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "failing_new.hpp"
#include "garner/detail/held.hpp"

namespace garner {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::told;

template <class E>
std::string leaves(E const& e, errc expected) {
  errc code{};
  std::string const what = told([&] { as_error([&] { throw e; }); }, code);
  EXPECT_EQ(code, expected) << what;
  return what;
}

TEST(as_error, gives_what_is_given) {
  int one = 1;
  int& same = as_error([&]() -> int& { return one; });
  EXPECT_EQ(&same, &one);
  EXPECT_EQ(*as_error([] { return std::make_unique<int>(2); }), 2);
  as_error([&] { one = 3; });
  EXPECT_EQ(one, 3);
}

TEST(as_error, makes_an_error_of_all_that_is_thrown) {
  EXPECT_EQ(leaves(error(errc::input, "as it is"), errc::input), "as it is");
  EXPECT_THROW(as_error([] { fail_id("id {}", 1); }), id_error);
  EXPECT_THAT(leaves(std::bad_alloc(), errc::memory), HasSubstr("out of host memory"));
  EXPECT_THAT(leaves(std::bad_array_new_length(), errc::memory), HasSubstr("out of host memory"));
  EXPECT_THAT(leaves(std::length_error("vector::reserve"), errc::memory), HasSubstr("out of host memory"));
  EXPECT_THAT(leaves(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)), errc::io),
              HasSubstr("Resource temporarily unavailable"));
  EXPECT_THAT(leaves(std::filesystem::filesystem_error("rename", "/a", "/b", std::make_error_code(std::errc::permission_denied)), errc::io),
              AllOf(HasSubstr("Permission denied"), HasSubstr("/a")));
  EXPECT_EQ(leaves(std::out_of_range("at"), errc::internal), "a defect of Garner: at; please report it");
  EXPECT_EQ(leaves(fmt::format_error("format"), errc::internal), "a defect of Garner: format; please report it");
  EXPECT_EQ(leaves(std::runtime_error("odd"), errc::internal), "a defect of Garner: odd; please report it");
}

TEST(as_error, needs_no_memory) {
#if GARNER_THREAD_SANITIZED
  GTEST_SKIP() << "ThreadSanitizer brings its own operator new";
#endif
  std::string const word(100, 'x');
  for (auto const& f :
       std::vector<std::function<void()>>{[&] { fail(errc::input, "{} is not a word", word); }, [&] { fail_id("{} is not a word", word); },
                                          [&] { as_error([] { throw std::runtime_error("a message that is long enough"); }); },
                                          [&] { as_error([] { throw std::bad_alloc(); }); }}) {
    for (int k = 0; k < 6; ++k) {  // for the message and for the exception itself
      bool refused = false;
      errc code{};
      std::string const what = told(
          [&] {
            news_left = k;
            try {
              f();
            } catch (...) {
              refused = news_left.exchange(-1) < 0;
              throw;
            }
          },
          code);
      EXPECT_NE(what, "");
      if (refused) {
        EXPECT_EQ(code, errc::memory) << what;
      }
    }
  }
}

TEST(held, is_empty_once_it_was_moved_from) {
  detail::held<int> a(std::make_unique<int>(7));
  detail::held<int> b = std::move(a);
  EXPECT_EQ(*b, 7);
  EXPECT_TRUE(b.own());
  EXPECT_FALSE(a.own());
  errc code{};
  EXPECT_EQ(told([&] { ++*a; }, code), "this object was moved elsewhere; use the one that it was moved to");
  EXPECT_EQ(code, errc::usage);
  a = detail::held<int>(std::make_unique<int>(8));
  EXPECT_EQ(*a, 8);
  b = std::move(a);
  EXPECT_EQ(*b, 8);
  detail::held<int>& same = b;
  b = std::move(same);
  EXPECT_EQ(*b, 8);
}

}  // namespace
}  // namespace garner

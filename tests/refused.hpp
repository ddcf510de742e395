// Whether a call is refused: by an error of this kind, whose message has these words.
#pragma once
#include <gtest/gtest.h>

#include <string_view>

#include "core/fail.hpp"

namespace garner::testing {

template <class F>
::testing::AssertionResult refused(errc code, std::string_view words, F call) {
  try {
    call();
  } catch (error const& e) {
    if (e.code() == code && std::string_view(e.what()).find(words) != std::string_view::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "error " << static_cast<int>(e.code()) << ": " << e.what();
  }
  return ::testing::AssertionFailure() << "no error was thrown";
}
template <class F>
::testing::AssertionResult refused(errc code, F call) {
  return refused(code, "", call);
}

}  // namespace garner::testing

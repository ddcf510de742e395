#include "core/fail.hpp"

#include <unistd.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "garner/detail/held.hpp"

namespace garner {

namespace {
// Made beforehand: once memory is exhausted a message cannot be allocated.
error const out_of_memory(errc::memory, "out of host memory; free some or take a smaller graph");
}  // namespace

void detail::fail(errc code, fmt::string_view text, fmt::format_args args) {
  error const what = [&] {
    try {
      return error(code, fmt::vformat(text, args));
    } catch (std::bad_alloc const&) {
      return out_of_memory;
    }
  }();
  throw what;
}

void detail::fail_id(fmt::string_view text, fmt::format_args args) {
  try {
    throw id_error(fmt::vformat(text, args));
  } catch (std::bad_alloc const&) {
    throw out_of_memory;
  }
}

void rethrow_as_error() {
  try {
    throw;
  } catch (error const&) {
    throw;
  } catch (std::bad_alloc const&) {
    throw out_of_memory;
  } catch (std::length_error const&) {  // more than any array has
    throw out_of_memory;
  } catch (std::system_error const& e) {
    fail(errc::io, "{}", e.what());
  } catch (std::exception const& e) {
    fail(errc::internal, "a defect of Garner: {}; please report it", e.what());
  }
}

void detail::moved_elsewhere() { garner::fail(errc::usage, "this object was moved elsewhere; use the one that it was moved to"); }
int detail::this_process() noexcept { return ::getpid(); }

}  // namespace garner

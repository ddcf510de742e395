#include "comm/opened_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "core/fail.hpp"

namespace garner {

namespace {
std::mutex environment;  // threads open one library at one time, and what sets it must not meet what reads it
std::string said(char const* variable) {
  char const* const value = std::getenv(variable);
  return value ? value : "";
}
}  // namespace

bool opened_library::named(char const* variable) {
  std::lock_guard const hold(environment);
  return !said(variable).empty();
}

opened_library::opened_library(char const* variable, std::string const& name, std::string const& wheel, std::span<setting const> settings) {
  std::lock_guard const hold(environment);
  for (auto const& [key, value] : settings)
    if (said(key) != value) ::setenv(key, value, 1);
  std::vector<std::string> files{name};
  ::Dl_info in{};
  static int const here = 0;
  if (::dladdr(&here, &in) != 0 && in.dli_fname) {
    std::string const file = in.dli_fname;
    files.push_back(fmt::format("{}../nvidia/{}/lib/{}", file.substr(0, file.find_last_of('/') + 1), wheel, name));
  }
  files.push_back("/usr/local/cuda/lib64/" + name);
  if (!said(variable).empty()) files = {said(variable)};
  std::string tried;
  for (int const mode : {RTLD_NOLOAD, 0})
    for (std::string const& file : files) {
      handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | mode);
      if (handle_) {
        file_ = file;
        return;
      }
      if (mode & RTLD_NOLOAD) continue;
      std::string const why = ::dlerror();
      tried += (tried.empty() ? "" : ", ") + (why.starts_with(file + ": cannot open") ? file : why);
    }
  fail(errc::device, "no {} (tried {}); install it, or name its file in {}", name, tried, variable);
}

void* opened_library::find(char const* name) const noexcept { return ::dlsym(handle_, name); }
void* opened_library::require(char const* name) const {
  void* const found = find(name);
  if (!found) fail(errc::device, "{} has no {}; a newer one is needed", file_, name);
  return found;
}

}  // namespace garner

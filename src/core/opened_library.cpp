#include "core/opened_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "core/fail.hpp"

namespace garner {

namespace {
std::string said(char const* variable) {
  char const* const value = std::getenv(variable);
  return value ? value : "";
}
// The file that an address of the process came from; empty where the loader does not know.
std::string file_at(void const* address) {
  ::Dl_info in{};
  return address && ::dladdr(address, &in) != 0 && in.dli_fname ? in.dli_fname : "";
}
}  // namespace

bool opened_library::named(char const* variable) { return !said(variable).empty(); }

std::vector<std::string> opened_library::files_of(std::string const& name, std::string const& wheel) {
  std::vector<std::string> files{name};
  static int const here = 0;
  if (std::string const own = file_at(&here); !own.empty())
    files.push_back(fmt::format("{}../nvidia/{}/lib/{}", own.substr(0, own.find_last_of('/') + 1), wheel, name));
  files.push_back("/usr/local/cuda/lib64/" + name);
  return files;
}

std::optional<opened_library> opened_library::of_file(std::string const& file, from where, std::string* why) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | (where == from::process ? RTLD_NOLOAD : 0));
  if (handle) return opened_library(handle, file);
  char const* const words = ::dlerror();  // if it is already loaded; otherwise null
  if (why) *why = words ? words : "";
  return std::nullopt;
}
std::string opened_library::told(std::string const& file, std::string const& why) {
  return why.starts_with(file + ": cannot open") ? file : why;
}

opened_library::opened_library(char const* variable, std::string const& name, std::string const& wheel, std::span<setting const> settings) {
  std::vector<std::string> files = files_of(name, wheel);
  if (!said(variable).empty()) files = {said(variable)};
  std::string tried, why;
  for (from const where : both)
    for (std::string const& file : files) {
      if (std::optional<opened_library> found = of_file(file, where, &why)) {
        for (auto const& [key, value] : settings)
          if (std::string const is = said(key); is != value)
            fail(errc::device, "{} is {}; {} would use NVLink multicast; start the process with {}={}", key, is.empty() ? "not set" : is,
                 file, key, value);
        *this = *std::move(found);
        return;
      }
      if (where == from::loader) tried += (tried.empty() ? "" : ", ") + told(file, why);
    }
  fail(errc::device, "no {} (tried {}); install it, or name its file in {}", name, tried, variable);
}

void* opened_library::find(char const* name) const noexcept { return ::dlsym(handle_, name); }
void* opened_library::require(char const* name) const {
  void* const found = find(name);
  if (!found) fail(errc::device, "{} has no {}; a newer one is needed", file_, name);
  return found;
}
std::string opened_library::path_of(char const* name) const {
  std::string const path = file_at(find(name));
  return path.empty() ? file_ : path;
}

}  // namespace garner

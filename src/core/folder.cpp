#include "core/folder.hpp"

#include <dirent.h>

#include <memory>
#include <string_view>

namespace garner {

std::vector<std::string> names_in(std::filesystem::path const& folder) {
  std::vector<std::string> names;
  std::unique_ptr<::DIR, int (*)(::DIR*)> const open(::opendir(folder.c_str()), ::closedir);
  if (!open) return names;
  while (::dirent const* const entry = ::readdir(open.get()))
    if (std::string_view const name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  return names;
}

}  // namespace garner

// A shared library that is opened at run time: that of the process where it has one (torch's), else where the loader, the packages of pip
// beside Garner's, or the toolkit have it; or the one alone that a variable of the environment names.
#pragma once
#include <span>
#include <string>
#include <utility>

namespace garner {

class opened_library {
 public:
  // `name`: its file's; `wheel`: the folder of its package under nvidia/; `settings`: of the environment, which it reads. errc::device
  // tells where it was looked for.
  using setting = std::pair<char const*, char const*>;
  opened_library(char const* variable, std::string const& name, std::string const& wheel, std::span<setting const> settings);
  static bool named(char const* variable);  // by the environment

  // errc::device where it has none of that name.
  template <class Call>
  void entry(Call& call, char const* name) const {
    call = reinterpret_cast<Call>(require(name));
  }
  template <class Call>
  void entry_if_any(Call& call, char const* name) const {
    call = reinterpret_cast<Call>(find(name));
  }
  std::string const& file() const { return file_; }

 private:
  void* find(char const* name) const noexcept;
  void* require(char const* name) const;
  void* handle_ = nullptr;  // never closed: what it began may run on
  std::string file_;
};

}  // namespace garner

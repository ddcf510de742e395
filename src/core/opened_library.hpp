// A shared library that is opened at run time: that of the process where it has one (torch's), else where the loader, the packages of pip
// beside Garner's, or the toolkit have it; or the one alone that a variable of the environment names. Who takes one of several names or
// versions asks file by file. Invariant: none is ever closed, since what it began may run on.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace garner {

class opened_library {
 public:
  // `name`: its file's; `wheel`: the folder of its package under nvidia/; `settings`: what it must read in the environment, which is the
  // process's and is never changed. errc::device tells where it was looked for, or which setting lacks.
  using setting = std::pair<char const*, char const*>;
  opened_library(char const* variable, std::string const& name, std::string const& wheel, std::span<setting const> settings);
  static bool named(char const* variable);  // by the environment

  // Of the process alone, or of any that the loader opens.
  enum class from : bool { process, loader };
  static constexpr from both[] = {from::process, from::loader};  // in the order in which they are asked
  // Where one of such a name may lie.
  static std::vector<std::string> files_of(std::string const& name, std::string const& wheel);
  // That of one file; none, with the loader's words, where it does not open.
  static std::optional<opened_library> of_file(std::string const& file, from where, std::string* why = nullptr);
  // What is told of a file that did not: its name alone where it is not there.
  static std::string told(std::string const& file, std::string const& why);

  // errc::device where it has none of that name.
  template <class Call>
  void entry(Call& call, char const* name) const {
    call = reinterpret_cast<Call>(require(name));
  }
  template <class Call>
  bool entry_if_any(Call& call, char const* name) const {
    call = reinterpret_cast<Call>(find(name));
    return call != nullptr;
  }
  bool has(char const* name) const { return find(name) != nullptr; }
  std::string const& file() const { return file_; }  // as it was asked for
  std::string path_of(char const* name) const;       // where the loader found what has this entry; else file()

 private:
  opened_library(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* find(char const* name) const noexcept;
  void* require(char const* name) const;
  void* handle_ = nullptr;
  std::string file_;
};

}  // namespace garner

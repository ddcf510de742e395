// A shared library that is opened at run time: that of the process where it has one (torch's), else where the loader, the pip packages next
// to Garner's, or the toolkit have it; or only the one that an environment variable names. A caller with several names or versions tries
// file by file. Invariant: none is ever closed, since its threads may run on.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace garner {

class opened_library {
 public:
  // `name`: its file's; `wheel`: the folder of its package under nvidia/; `settings`: environment variables that it must see, which belong
  // to the process and are never changed. errc::device lists the places searched, or the missing setting.
  using setting = std::pair<char const*, char const*>;
  opened_library(char const* variable, std::string const& name, std::string const& wheel, std::span<setting const> settings);
  static bool named(char const* variable);  // by the environment

  // Looks in the process only, or in all libraries that the loader finds.
  enum class from : bool { process, loader };
  static constexpr from both[] = {from::process, from::loader};  // in the order of the search
  // Where one of such a name may lie.
  static std::vector<std::string> files_of(std::string const& name, std::string const& wheel);
  // That of one file; none, with the loader's words, where it does not open.
  static std::optional<opened_library> of_file(std::string const& file, from where, std::string* why = nullptr);
  // Message for a file that failed to open: its name alone where it does not exist.
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
  std::string const& file() const { return file_; }  // as it was requested
  std::string path_of(char const* name) const;       // where the loader found what has this entry; else file()

 private:
  opened_library(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* find(char const* name) const noexcept;
  void* require(char const* name) const;
  void* handle_ = nullptr;
  std::string file_;
};

}  // namespace garner

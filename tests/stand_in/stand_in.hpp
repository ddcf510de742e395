// Selects a library of tests/stand_in instead of one that is opened at run time, and its behavior, by the environment of this process and
// of its children.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace garner::testing {

class stand_in {
 public:
  // `name`: of its file, in the folder of the tests; `variable`: its environment variable for Garner.
  stand_in(std::string const& variable, std::string const& name)
      : file(std::filesystem::read_symlink("/proc/self/exe").parent_path() / (name + ".so")),
        log_(std::filesystem::temp_directory_path() / ("garner-stand-in-" + std::to_string(::getpid()))) {
    say(variable, file.string());
    say("GARNER_STAND_IN_LOG", log_.string());
    say("GARNER_STAND_IN_NAME", name_);
  }
  ~stand_in() {
    for (auto const& [name, before] : said_) ::unsetenv(name.c_str());
    std::error_code ignored;
    std::filesystem::remove(log_, ignored);
    for (auto const& e : std::filesystem::directory_iterator("/dev/shm"))
      if (e.path().filename().string().starts_with(name_)) std::filesystem::remove(e.path(), ignored);
  }
  bool there() const { return std::filesystem::exists(file); }
  void say(std::string const& name, std::string const& value) {
    said_[name] = value;
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::string log() const {
    std::ifstream in(log_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path const file;

 private:
  std::string const name_ = "garner-stand-in-" + std::to_string(::getpid()) + "-";  // of its files
  std::filesystem::path log_;
  std::map<std::string, std::string> said_;
};

}  // namespace garner::testing

// Runs the program in its own folder, as a shell would: returns output and exit code. The program is GARNER_PROGRAM of the environment,
// else the one that was built with the tests.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "folder.hpp"

namespace garner::testing {

inline std::string program() {
  char const* const named = std::getenv("GARNER_PROGRAM");
  return std::filesystem::absolute(named ? named : GARNER_PROGRAM).string();
}

inline std::string read_text(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct outcome {
  int code = -1;  // exit code, or -signal
  std::string out, err;
  std::uint64_t peak_bytes = 0;  // resident, of the program and what it ran
};

struct how_to_run {
  std::optional<rlim_t> file_bytes, address_bytes;
  std::optional<std::chrono::milliseconds> interrupt_after;  // Ctrl-C
};

class folder {
 public:
  std::filesystem::path const& path() const { return own_.folder; }
  std::filesystem::path operator/(std::string const& name) const { return path() / name; }

  void write(std::string const& name, std::string const& text) const { std::ofstream(path() / name, std::ios::binary) << text; }

  // All names in it, hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& e : std::filesystem::directory_iterator(path())) all.push_back(e.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

  // A line of shell in which `garner` is the program, and `garner-lab` the other of its folder.
  outcome shell(std::string const& line, how_to_run const& how = {}) const {
    folder const outputs;
    std::string const out = (outputs / "out").string(), err = (outputs / "err").string();
    std::string const script =
        "PATH=" + std::filesystem::path(program()).parent_path().string() + ":$PATH\ngarner() { \"" + program() + "\" \"$@\"; }\n" + line;
    return run({"/bin/sh", "-c", script}, out, err, how);
  }
  // The program itself, without a shell between (for signals).
  outcome garner(std::vector<std::string> arguments, how_to_run const& how = {}) const {
    folder const outputs;
    arguments.insert(arguments.begin(), program());
    return run(arguments, (outputs / "out").string(), (outputs / "err").string(), how);
  }

 private:
  outcome run(std::vector<std::string> const& arguments, std::string const& out, std::string const& err, how_to_run const& how) const {
    std::vector<char*> argv;
    for (auto const& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::pid_t const child = ::fork();
    if (child == 0) {
      if (::chdir(path().c_str()) != 0) ::_exit(126);
      ::setenv("LC_ALL", "C", 1);
      ::setenv("XDG_CACHE_HOME", path().c_str(), 1);
      ::dup2(::open("/dev/null", O_RDONLY), 0);
      ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1);
      ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), 2);
      auto const limit = [](int what, std::optional<rlim_t> bytes) {
        ::rlimit const r{bytes.value_or(0), bytes.value_or(0)};
        if (bytes) ::setrlimit(static_cast<__rlimit_resource>(what), &r);
      };
      limit(RLIMIT_FSIZE, how.file_bytes);
      limit(RLIMIT_AS, how.address_bytes);
      ::signal(SIGINT, SIG_DFL);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    if (how.interrupt_after) {
      std::this_thread::sleep_for(*how.interrupt_after);
      ::kill(child, SIGINT);
    }
    int status = 0;
    ::rusage used{};
    while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_text(out), read_text(err),
            static_cast<std::uint64_t>(used.ru_maxrss) * 1024};
  }

  own_folder own_;
};

// Errors are one line on stderr that names the program.
inline void expect_one_line(std::string const& err) {
  EXPECT_TRUE(err.starts_with("garner: ") || err.starts_with("garner-lab: ") || err.starts_with("garner-lab run: ")) << err;
  EXPECT_EQ(err.find('\n'), err.size() - 1) << err;
}
// A line of shell that ends with that code, and with one line of error that holds `what`.
inline void expect_refused(folder const& at, std::string const& line, int code, std::string const& what) {
  outcome const o = at.shell(line);
  EXPECT_EQ(o.code, code) << line << ": " << o.err;
  EXPECT_NE(o.err.find(what), std::string::npos) << line << ": " << o.err;
  expect_one_line(o.err);
}

}  // namespace garner::testing

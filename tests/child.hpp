// Child processes of a test: this program started again with one of its tests, since a forked copy of a threaded program is unusable. The
// child's test is named DISABLED_..., reads its instructions from the environment and ends by _exit. It reports progress in letters, and
// waits for go() before it continues.
#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

namespace garner::testing {

inline constexpr int told_at = 100, go_at = 101;  // descriptors of the child
inline void tell(char letter) { static_cast<void>(!::write(told_at, &letter, 1)); }
inline bool go() {  // false: the parent has ended
  char c = 0;
  return ::read(go_at, &c, 1) == 1;
}

class child {
 public:
  // `environment`: variables added to this process's own.
  child(std::string const& test, std::vector<std::string> environment) {
    int told[2], gone[2];
    if (::pipe2(told, O_CLOEXEC) != 0 || ::pipe2(gone, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    std::string filter = "--gtest_filter=" + test, disabled = "--gtest_also_run_disabled_tests", name = "child";
    char* const arguments[] = {name.data(), filter.data(), disabled.data(), nullptr};
    std::vector<char*> all;
    for (std::string& e : environment) all.push_back(e.data());
    for (char** e = ::environ; *e; ++e) all.push_back(*e);
    all.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {  // only system calls until exec
      int const null = ::open("/dev/null", O_WRONLY);
      if (::dup2(told[1], told_at) < 0 || ::dup2(gone[0], go_at) < 0 || ::dup2(null, 1) < 0) ::_exit(9);
      ::execve("/proc/self/exe", arguments, all.data());
      ::_exit(9);
    }
    ::close(told[1]);
    ::close(gone[0]);
    told_ = told[0], go_ = gone[1];
  }
  ~child() { end(SIGKILL); }
  child(child const&) = delete;
  child& operator=(child const&) = delete;
  char hears() {  // 0: it ended
    char c = 0;
    return ::read(told_, &c, 1) == 1 ? c : '\0';
  }
  void go() { static_cast<void>(!::write(go_, "g", 1)); }
  void send(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  // Its exit code, or 128 + the signal.
  int end(int signal = 0) {
    if (pid_ < 0) return -1;
    if (signal) ::kill(pid_, signal);
    ::close(go_);  // a waiting child continues
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    ::close(told_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  ::pid_t pid_ = -1;
  int told_ = -1, go_ = -1;
};

}  // namespace garner::testing

// A program, from main() on: signals, the environment, its verbs, and what they throw.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>

#include "common.hpp"
#include "garner/error.hpp"
#include "garner/handle.hpp"

namespace garner::cli {

namespace {

program_of const* running = nullptr;

enum exit_code { done = 0, failed = 1 };

// A reader that has ended (garner ... | head) is not an error to report.
int complain_of_output(int code) {
  if (code == EPIPE) return failed;
  return complain(failed, fmt::format("standard output: {}; make room or write elsewhere", std::strerror(code)));
}

void stop(int) { request_interrupt(); }

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int s : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    sigaction(s, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaction(s, &action, nullptr);  // nohup stays nohup
  }
  for (int s : {SIGPIPE, SIGXFSZ}) std::signal(s, SIG_IGN);  // the write returns an error instead
}

int run(int argc, char** argv) {
  program all;
  for (auto* const add : running->verbs) add(all);
  bool quiet = false, stats = false;
  all.add_to_all("--quiet", quiet);
  all.add_to_all("--stats", stats);
  if (!running->prints || !running->prints(all, argc, argv)) all.run(argc, argv, [&] { show_progress(!quiet); });
  flush_out();
  if (stats) print_stats();
  return done;
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (error const& e) {
    return complain(e);
  } catch (output_error const& e) {
    return complain_of_output(e.code);
  } catch (std::bad_alloc const&) {
    return complain(failed,
                    "out of host memory; free some, use a smaller graph, or set --memory-limit, which is checked before the work starts");
  } catch (std::system_error const& e) {
    return e.code().value() == EPIPE ? failed : complain(failed, e.what());
  } catch (std::exception const& e) {
    return complain(failed, fmt::format("a defect of Garner: {}", e.what()));
  }
}

}  // namespace

program_of const& this_program() { return *running; }
std::string program_of::version() const { return fmt::format("{} {}", name, GARNER_VERSION); }

int run_program(program_of const& what, int argc, char** argv) {
  running = &what;
  catch_signals();
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // else the first search would pay for loading its kernels
  // Of the libraries between shards: no NVLink multicast, and of one machine no other transport.
  for (auto const& [name, value] :
       {std::pair("NCCL_NVLS_ENABLE", "0"), {"NVSHMEM_DISABLE_NVLS", "1"}, {"NVSHMEM_REMOTE_TRANSPORT", "none"}})
    ::setenv(name, value, 0);
  command_line() = what.name;
  for (int i = 1; i < argc; ++i) command_line() += " " + std::string(argv[i]);
  int const code = guarded(argc, argv);
  std::fflush(stdout);
  return code;
}

}  // namespace garner::cli

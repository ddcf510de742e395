// The program `garner`: adds the verbs, runs one, and turns what it threw into one line on stderr and an exit code.
// Exit codes: 0 done, 1 failed, 2 the command line is invalid.
// Ctrl-C stops the work, which then removes its temporary files; a second one ends the program at once.
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
#include "core/device.hpp"
#include "core/progress.hpp"
#include "garner/error.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

enum exit_code { done = 0, failed = 1 };

// A reader that has ended (garner ... | head) is not an error to report.
int complain_of_output(int code) {
  if (code == EPIPE) return failed;
  return cli::complain(failed, fmt::format("standard output: {}; make room or write elsewhere", std::strerror(code)));
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
  cli::program program;
  for (auto* add : {add_generate, add_convert, add_reorder, add_stats,  add_bfs,   add_sssp,    add_components, add_pagerank,
                    add_score,    add_trace,   add_sample,  add_load,   add_train, add_predict, add_plan,       add_traffic,
                    add_bench,    add_report,  add_info,    add_doctor, add_demo,  add_schema})
    add(program);
  bool quiet = false, stats = false;
  program.add_to_all("--quiet", quiet);
  program.add_to_all("--stats", stats);
  program.run(argc, argv, fmt::format("garner {} ({})", GARNER_VERSION, device::built() ? "with GPU support" : "without GPU support"),
              [&] { cli::show_progress(!quiet); });
  cli::flush_out();
  if (stats) cli::print_stats();
  return done;
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (error const& e) {
    return cli::complain(e);
  } catch (cli::output_error const& e) {
    return complain_of_output(e.code);
  } catch (std::bad_alloc const&) {
    return cli::complain(
        failed, "out of host memory; free some, use a smaller graph, or set --memory-limit, which is checked before the work starts");
  } catch (std::system_error const& e) {
    return e.code().value() == EPIPE ? failed : cli::complain(failed, e.what());
  } catch (std::exception const& e) {
    return cli::complain(failed, fmt::format("a defect of Garner: {}", e.what()));
  }
}

}  // namespace
}  // namespace garner

int main(int argc, char** argv) {
  garner::catch_signals();
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // else the first search would pay for loading its kernels
  // Of the libraries between shards: no NVLink multicast, and of one machine no other transport.
  for (auto const& [name, value] :
       {std::pair("NCCL_NVLS_ENABLE", "0"), {"NVSHMEM_DISABLE_NVLS", "1"}, {"NVSHMEM_REMOTE_TRANSPORT", "none"}})
    ::setenv(name, value, 0);
  garner::cli::command_line() = "garner";
  for (int i = 1; i < argc; ++i) garner::cli::command_line() += " " + std::string(argv[i]);
  int const code = garner::guarded(argc, argv);
  std::fflush(stdout);
  return code;
}

// The program `garner`.
#include "command/common.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

// For packages: neither help nor reference shows these.
bool prints(cli::program const& p, int argc, char** argv) {
  std::string_view const first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "man") cli::write_out(manual(p, cli::this_program().version()));
  else if (first == "completion") cli::write_out(completion(p, argc == 3 ? argv[2] : ""));
  else return false;
  return true;
}

cli::program_of const what{"garner",
                           "graphs larger than the memory of the GPU",
                           "garner help VERB, or garner VERB --help, says more, with an example. Two commands to begin with:\n"
                           "  garner generate kron --scale 20 kron20.gnr\n"
                           "  garner bfs kron20.gnr --verify\n"
                           "garner man prints the manual page, and garner completion bash (or zsh) what a shell completes.",
                           all_verbs(),
                           json_table(),
                           {},
                           prints};

}  // namespace
}  // namespace garner

int main(int argc, char** argv) { return garner::cli::run_program(garner::what, argc, argv); }

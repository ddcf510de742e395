#include "lab/run_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "lab/field.hpp"

namespace garner::lab {

void no_bench_file(std::string const& text, std::string const& name) {
  try {
    json const all = json::parse(text);
  } catch (json::parse_error const& e) {
    fail(errc::input, "{}: is not JSON (byte {}); pass a file that garner-lab wrote", name, e.byte);
  } catch (json::exception const& e) {
    fail(errc::input, "{}: is not JSON ({}); pass a file that garner-lab wrote", name, e.what());
  }
  fail(errc::input,
       "{}: is not of the schema {}; report draws what garner-lab, tools/prove_user and tools/measure_sampling write, what garner train "
       "--json prints and "
       "nothing else (not the output of --json of other verbs, not docs/benchmarks)",
       name, run_file::schema.name);
}

std::string read_bench(std::filesystem::path const& file) {
  constexpr std::uintmax_t most = 64u << 20;
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) fail(errc::io, "{}: is a folder; pass a file that garner-lab wrote", file.string());
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(errc::io, "{}: {}", file.string(), std::strerror(errno));
  std::string text;
  char part[65536];
  while (in.read(part, sizeof part), in.gcount() > 0) {
    text.append(part, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) fail(errc::input, "{}: is larger than 64 MiB; garner-lab writes no such file", file.string());
  }
  if (in.bad()) fail(errc::io, "{}: {}", file.string(), std::strerror(errno));
  return text;
}

}  // namespace garner::lab

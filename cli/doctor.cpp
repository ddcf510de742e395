// `garner doctor`: whether Garner works on this machine, and what helps where it does not. The checks are the library's.
#include "garner/doctor.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command/common.hpp"
#include "verbs.hpp"

namespace garner {

namespace {
using json = nlohmann::ordered_json;

// The versions of torch and PyG, of the Python that runs this program (python/garner/__main__.py says which) or of the first on PATH. They
// are read, not imported: that takes no second, and nothing of the current folder.
constexpr char const* ask_python = R"(timeout -s KILL 10 "${GARNER_PYTHON:-python3}" -c '
import sys
sys.path = [at for at in sys.path if at]
from importlib.metadata import PackageNotFoundError, version
print(sys.executable)
for name in "torch", "torch_geometric":
  try: print(version(name))
  except PackageNotFoundError: print("not installed")' < /dev/null 2> /dev/null)";

void ask_for_packages(doctor_report& r) {
  std::string said;
  int status = -1;
  if (std::FILE* const from = ::popen(ask_python, "r")) {
    std::array<char, 512> part;
    while (std::size_t const n = std::fread(part.data(), 1, part.size(), from)) said.append(part.data(), n);
    status = ::pclose(from);
  }
  std::array<std::string, 3> lines;  // which Python, torch, PyG
  std::size_t at = 0;
  for (std::string& line : lines) {
    std::size_t const end = std::min(said.find('\n', at), said.size());
    line = said.substr(at, end - at);
    at = std::min(end + 1, said.size());
  }
  for (auto const& [name, version] : {std::pair("torch", lines[1]), {"PyG", lines[2]}})
    r.checks.push_back({name,
                        status != 0                  ? "not known: no Python answers on PATH"
                        : version == "not installed" ? fmt::format("not installed for {}", lines[0])
                                                     : fmt::format("{}, of {}", version, lines[0]),
                        ""});
}

void examine(std::string const& where, bool as_json) {
  doctor_report r = examine_machine(where.empty() ? std::nullopt : std::optional(parse_device(where)));
  ask_for_packages(r);
  if (as_json) {
    json all{{"usable", r.usable}, {"checks", json::array()}};
    for (doctor_check const& c : r.checks)
      all["checks"].push_back({{"name", c.name}, {"found", c.found}, {"advice", c.advice.empty() ? json() : json(c.advice)}});
    cli::say("{}\n", all.dump(2));
  } else {
    cli::say("{}", to_text(r));
  }
  cli::flush_out();
  if (!r.usable) cli::fail(errc::device, "Garner does not work as it should on this machine; the lines with -> name what helps");
}
}  // namespace

void add_doctor(cli::program& p) {
  struct settings {
    std::string where;
    bool as_json = false;
  };
  cli::verb& v = p.add("doctor", "whether Garner works on this machine, GPU by GPU, and what helps where it does not");
  auto const s = std::make_shared<settings>();
  v.add("--device", s->where, "device to test: cpu, cuda, cuda:N or simulated (default: every GPU, else cpu)");
  v.add("--json", s->as_json);
  v.ends_with(
      "Exits with 1 if a GPU is present but not usable, or if a self-test fails; hidden GPUs do not count.\n"
      "In Python garner.doctor() also reports whether torch sees the GPU. Example: garner doctor");
  v.runs([s] { examine(s->where, s->as_json); });
}

}  // namespace garner

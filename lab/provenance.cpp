#include "lab/provenance.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "lab/field.hpp"

namespace garner::lab {

namespace {

std::string line_of(std::istream& in) {
  std::string line;
  std::getline(in, line);
  return line;
}
std::string line_of(std::string const& command) {
  std::string line;
  if (std::FILE* const from = ::popen((command + " 2> /dev/null").c_str(), "r")) {
    for (int c; (c = std::fgetc(from)) != EOF && c != '\n';) line += static_cast<char>(c);
    ::pclose(from);
  }
  return line;
}
json or_null(std::string const& text) { return text.empty() ? json() : json(text); }

}  // namespace

std::string commit_of(std::filesystem::path const& program) {
  if (char const* const given = std::getenv("COMMIT"); given && *given) return given;
  std::error_code problem;
  for (auto at = std::filesystem::canonical(program, problem).parent_path(); !at.empty() && at != at.root_path(); at = at.parent_path()) {
    if (std::ifstream in(at / "commit"); in) return line_of(in);
    if (!std::filesystem::exists(at / ".git", problem) || at.string().find('\'') != std::string::npos) continue;
    std::string const git = fmt::format("git -C '{}' ", at.string()), found = line_of(git + "rev-parse HEAD");
    return found.empty() || line_of(git + "status --porcelain -uno").empty() ? found : found + "-dirty";
  }
  return "";
}

std::string with_provenance(std::string const& run, std::string const& commit) {
  json const all = json::parse(run);
  json const& device = (all.contains("machine") ? all["machine"] : all)["device"];
  bool const gpu = device.is_string() && device != "";
  json out{{"device", device},
           {"driver", gpu ? or_null(line_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader")) : json()},
           {"date", all["time"].get<std::string>().substr(0, 10)},
           {"commit", or_null(commit)}};
  out["command"] = all["command"];
  for (auto const& [key, value] : all.items()) out[key] = value;
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace garner::lab

#include "convert_edges.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/common.hpp"

namespace garner::cli {

namespace {

using nlohmann::json;

constexpr char code[] =
    "import json, sys\n"
    "try:\n"
    "  from garner.edges import main\n"
    "except ImportError as e:\n"
    "  print(json.dumps({'missing': str(e)}))\n"
    "else:\n"
    "  main()\n";

// What the Python that GARNER_PYTHON names (else python3) prints for these arguments. errc::internal if a signal ended it.
std::string python_says(std::string const& python, std::string const& arguments) {
  int ends[2];
  if (::pipe(ends) != 0) fail(errc::io, "no pipe to {} can be made; close some files", python);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string name = python, option = "-c", text = code, given = arguments;
  std::array<char*, 5> const all{name.data(), option.data(), text.data(), given.data(), nullptr};
  pid_t child = 0;
  int const failed = ::posix_spawnp(&child, name.c_str(), &actions, nullptr, all.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> part;
  for (ssize_t n = 0; !failed && ((n = ::read(ends[0], part.data(), part.size())) > 0 || (n < 0 && errno == EINTR));)
    if (n > 0) said.append(part.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  if (!failed)
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  if (!failed && WIFSIGNALED(status)) fail(errc::internal, "{} was ended by signal {}; try again", python, WTERMSIG(status));
  return said;
}

// A column by its position or its name.
json column(std::string const& said, int otherwise) {
  if (said.empty()) return otherwise;
  if (std::all_of(said.begin(), said.end(), [](unsigned char c) { return std::isdigit(c); }) && said.size() < 9) return std::stoi(said);
  return said;
}

}  // namespace

void edge_arguments::add(verb& v) {
  v.add("--src", src);
  v.add("--dst", dst);
  v.add("--weight", weight);
  v.add("--renumber", renumber);
  v.add("--names", names);
  v.add("--node-features", node_features);
  v.add("--node-labels", node_labels);
}

bool edge_arguments::concern(std::string const& in) const {
  if (!src.empty() || !dst.empty() || !weight.empty() || renumber || !names.empty()) return true;
  if (!node_features.empty() || !node_labels.empty() || in.ends_with(".yaml")) return true;
  if (std::error_code none; std::filesystem::exists(in + "/metadata.yaml", none)) return true;
  if (std::count(in.begin(), std::find(in.begin(), in.end(), '='), ':') == 2 && in.find('=') != in.npos) return true;
  if (in.find_first_of("*?[") != in.npos && !std::filesystem::exists(in)) return true;
  return std::ranges::any_of(std::array{".parquet", ".pq", ".arrow", ".feather", ".ipc"},
                             [&](char const* end) { return in.ends_with(end); });
}

std::optional<graph_info> edge_arguments::convert(std::string const& in, std::string const& out, build_options const& o,
                                                  std::string const& memory_limit, std::string const& scratch) const {
  json given{{"edges", in},
             {"file", out},
             {"src", column(src, 0)},
             {"dst", column(dst, 1)},
             {"undirected", o.undirected.value_or(false)},
             {"keep_duplicates", o.keep_duplicates},
             {"keep_loops", o.keep_loops},
             {"in_edges", o.in_edges},
             {"numbering", o.numbering == build_options::ids::compact ? "compact"
                           : o.numbering == build_options::ids::keep  ? "keep"
                                                                      : "automatic"},
             {"id_bytes", o.id_bytes}};
  if (!weight.empty()) given["weight"] = column(weight, 0);
  if (renumber) given["renumber"] = true;
  if (!names.empty()) given["names"] = names;
  if (!node_features.empty()) given["features"] = node_features;
  if (!node_labels.empty()) given["labels"] = node_labels;
  if (!memory_limit.empty()) given["memory_limit"] = memory_limit;
  if (!scratch.empty()) given["scratch"] = scratch;
  if (auto const& w = o.random_weights) {
    given["weight_seed"] = w->seed;
    if (w->kind == weight_kind::f32) given["random_weights"] = {w->low, w->high};
    else given["random_weights"] = {static_cast<std::uint64_t>(w->low), static_cast<std::uint64_t>(w->high)};
  }
  char const* const said = std::getenv("GARNER_PYTHON");
  std::string const python = said && *said ? said : "python3";
  json const result = json::parse(python_says(python, given.dump(-1, ' ', false, json::error_handler_t::replace)), nullptr, false);
  if (result.is_discarded() || result.contains("missing"))
    fail(errc::usage,
         "{}: the Python package of Garner reads such tables, and {} has none; install it with: pip install garner-graph pyarrow", in,
         python);
  if (result.contains("error")) {
    std::string const kind = result["kind"];
    static constexpr std::array<std::pair<char const*, errc>, 7> kinds{{{"InputError", errc::input},
                                                                        {"IdError", errc::input},
                                                                        {"FileError", errc::io},
                                                                        {"OutOfMemory", errc::memory},
                                                                        {"Interrupted", errc::interrupted},
                                                                        {"KindError", errc::usage},
                                                                        {"UsageError", errc::usage}}};
    auto const* const at = std::ranges::find_if(kinds, [&](auto const& one) { return one.first == kind; });
    std::string said_there = result["error"];
    for (std::size_t k; (k = said_there.find("renumber=True")) != said_there.npos;) said_there.replace(k, 13, "--renumber");
    fail(at == kinds.end() ? errc::internal : at->second, "{}", said_there);
  }
  if (result.contains("dataset")) return {};
  graph_info info;
  info.vertices = result["num_nodes"], info.edges = result["num_edges"], info.id_bytes = result["id_bytes"];
  info.directed = result["directed"], info.in_edges = result["in_edges"];
  std::string const weights = result["weights"];
  info.weights = weights == "u32" ? weight_kind::u32 : weights == "f32" ? weight_kind::f32 : weight_kind::none;
  return info;
}

}  // namespace garner::cli

// The header of the files of `garner-lab`: schema, version, and the run that wrote them.
#pragma once
#include <cstdint>
#include <string>

#include "garner/device.hpp"
#include "lab/field.hpp"

namespace garner::lab {

struct file_head {
  std::string garner, command, time;
  std::string place, device;  // device: its name; empty without one
  std::uint64_t threads = 0;
};
struct file_schema {
  char const* name;
  int version;
  char const* bench;  // the argument of `garner-lab` that writes one
};

file_head head_of_run(std::string command, execution_device where);  // for a run that begins now
json to_json(file_schema const& schema, file_head const& head);
file_head head_in(field const& file);

bool is_of(file_schema const& schema, std::string const& text);  // of any version
// errc::input begins with `file` and names the problem: not JSON, another schema, another version.
json parse_as(file_schema const& schema, std::string const& text, std::string const& file);
void require_version(file_schema const& schema, json const& all, std::string const& file);

// A graph that was measured, and its number of training vertices.
struct bench_graph {
  std::string name;
  std::uint64_t vertices = 0, edges = 0, train = 0;
};
json to_json(bench_graph const& graph);
bench_graph graph_in(field const& graph);

}  // namespace garner::lab

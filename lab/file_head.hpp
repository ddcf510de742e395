// The header of the files of `garner-lab`: schema, version, and the run that wrote them. `garner-lab schema` documents their keys;
// structs hold their values, and name them in `keys`. The readers accept only their own schema and version, and name the key that is
// missing or wrong. A missing measurement is absent (null), never 0.
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

  void keys(auto& k) {
    k("garner", garner, "command", command, "time", time, "place", place);
    k.or_null("device", device);
    k("threads", threads);
  }
};

file_head head_of_run(std::string command, execution_device where);  // for a run that begins now

bool is_of(file_schema const& schema, json const& file);  // of any version
// errc::input names another version of the schema.
void require_version(file_schema const& schema, json const& all, std::string const& file);

template <class File>
File file_in(json const& all, std::string const& name) {
  require_version(File::schema, all, name);
  field const whole(all, "", name, File::schema);
  File file;
  key_reader k(whole);
  file.keys(k);
  return file;
}
template <class File>
std::string to_json(File file) {
  key_writer k;
  k.derived("schema", std::string(File::schema.name));
  if (File::schema.version) k.derived("version", File::schema.version);
  file.keys(k);
  return k.all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";  // a file's name need not be UTF-8
}

// A graph that was measured, and its number of training vertices.
struct bench_graph {
  std::string name;
  std::uint64_t vertices = 0, edges = 0, train = 0;

  void keys(auto& k) { k("name", name, "vertices", vertices, "edges", edges, "training_vertices", train); }
};

}  // namespace garner::lab

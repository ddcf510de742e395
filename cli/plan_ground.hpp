// What garner plan --algorithm load or train plans for: a graph file and its table, or those of a dataset file, read as far as a plan
// needs.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan_load.hpp"
#include "traverse/plan.hpp"

namespace garner::cli {

// How many vertices there are of each part; 1: to train, as split_part has it.
using part_counts = std::array<std::uint64_t, 4>;

// A feature table, of one node type or of all nodes.
struct planned_table {
  std::string type, file;  // file: empty if rows are generated
  table_size size;
  std::uint64_t kept = 0;              // cached rows
  std::optional<file_shares> in_file;  // if it stays in its file

  std::string named(char const* what) const { return type.empty() ? what : fmt::format("{} of '{}'", what, type); }
};
// What is planned for: one graph file and its table, or those of a dataset file.
struct planned_ground {
  std::string told;
  std::uint64_t vertices = 0, edges = 0;
  load_question q;
  tier lists_in = tier::host;   // of several relations: the first that is not near, else near
  std::vector<plan_row> lists;  // of one rank
  std::vector<planned_table> tables;
  part_counts parts{};
  model_types types;         // none: one type
  std::uint64_t inputs = 0;  // of one type
  model_options labels;      // their kind and classes, if the dataset file has them

  bool several() const { return !types.names.empty(); }
  std::uint64_t near_lists() const {
    std::uint64_t sum = 0;
    for (plan_row const& r : lists) sum += r.where == tier::device ? r.bytes : 0;
    return sum;
  }
  bool from_offsets() const {
    if (!several()) return !q.degrees.empty();
    return std::any_of(q.types.begin(), q.types.end(), [](load_type const& t) { return t.classes.size() > 1; });
  }
};
// `device_allowed`: bytes of the device.
planned_ground ground_of_one(load_arguments const& a, plan_train_arguments const* train, std::uint64_t device_allowed);
planned_ground ground_of_types(load_arguments& a, plan_load_arguments const& p, plan_train_arguments const* train,
                               std::uint64_t device_allowed);
// Bytes written to a file in that folder and read again, at the rates that it has now. `refusal`, if empty: why they cannot be.
nlohmann::ordered_json scratch_told(std::string const& folder, std::uint64_t bytes, std::string& refusal);

}  // namespace garner::cli

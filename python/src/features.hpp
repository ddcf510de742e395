// Tables as Python holds them: what they were made of, and the rows.
#pragma once
#include "garner/features.hpp"

#include <map>
#include <string>
#include <vector>

#include "common.hpp"

namespace garner::python {

// A row is all of an array but its first dimension.
struct host_table {
  row_array rows;
  std::vector<std::size_t> shape;
  nb::dlpack::dtype type;
  bool writable = false;
};

struct py_table {
  host_table host;
  tiered_tensor tensor;
};

// What rows may be converted to.
inline std::map<std::string, element> const conversions{{"f32", element::f32}, {"bf16", element::bf16}};

std::map<std::string, std::uint64_t> by_tier(rows_by_tier const& rows);
// A table, one of garner.tiered, or what garner.tiered takes; `kept` keeps it.
py_table& table_from(nb::handle from, execution_device where, std::vector<nb::object>& kept);
nb::dict told_of(load_report const& r);

}  // namespace garner::python

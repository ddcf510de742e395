// A shared table as Python holds it; features.cpp takes it where it lies.
#pragma once
#include <vector>

#include "common.hpp"
#include "garner/shared.hpp"

namespace garner::python {

struct py_shared {
  shared_table table;
  std::vector<std::size_t> shape;
  nb::dlpack::dtype type;
};

// As row_array::kind. Elements that Garner does not know are bytes to it; Python keeps their type.
element element_of(nb::dlpack::dtype type);
nb::dlpack::dtype type_of(element kind);

}  // namespace garner::python

// An edge index: a NumPy array of shape (2, E), sources above targets as in PyTorch Geometric, or (E, 2), one edge per row; integers of 4
// or 8 bytes in C or Fortran order. Shape (2, 2) is ambiguous: it is read as (2, E) unless the caller specifies otherwise. Invariant: the
// header is validated against the file size before memory is allocated for it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "files/npy.hpp"
#include "graph/edge_list.hpp"
#include "graph/zip.hpp"

namespace garner {

class edge_index {
 public:
  // The array's header; errc::input if the array is not an edge index.
  struct form {
    std::uint64_t count = 0;
    bool apart = true;       // all sources precede all targets; else the two ends of an edge are adjacent
    bool either = false;     // shape (2, 2)
    bool is_signed = false;  // of 4 bytes; else of 8
    bool wide = false;
  };
  static form form_of(npy_layout const& array, bool rows_if_either = false);

  explicit edge_index(std::filesystem::path const& file, bool rows_if_either = false)
      : file_(file, npy_layout::order::any), form_(form_of(file_, rows_if_either)) {}
  std::string const& name() const { return file_.name(); }
  form const& is() const { return form_; }
  std::uint64_t count() const { return form_.count; }
  // Reads edges from `first` on without conversion: a negative id wraps around to 2^64 less. Thread-safe.
  void read(std::uint64_t first, std::uint64_t n, arc* to) const;
  // errc::input if an id is invalid: negative, or 2^64 - 1.
  static void check(form const& is, std::string const& name, arc const& edge, std::uint64_t number);

 private:
  npy_file file_;
  form form_;
};

// The array's header in an archive, and the member positioned at its data. `name`: of the array, without .npy.
class zipped_array {
 public:
  zipped_array(zip_file const& in, std::string const& name, npy_layout::order allowed = npy_layout::order::by_rows);
  npy_layout const& layout() const { return layout_; }
  void read(void* to, std::uint64_t n) { member_.read(to, n); }

 private:
  zip_file::member member_;
  npy_layout layout_;
};

}  // namespace garner

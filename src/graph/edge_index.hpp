// An edge index: an array of NumPy's of shape (2, E), sources above targets as PyTorch Geometric has it, or (E, 2), an edge a row; whole
// numbers of 4 or 8 bytes, row by row or column by column. Of shape (2, 2) it could be either: it is read as (2, E), unless the caller
// knows better. Invariant: what the header says is held against the file before anybody takes memory for it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/npy.hpp"
#include "graph/edge_list.hpp"
#include "graph/zip.hpp"

namespace garner {

class edge_index {
 public:
  // What is in the header of an array; errc::input where that is no edge index.
  struct form {
    std::uint64_t count = 0;
    bool apart = true;       // all sources stand before all targets; else an edge's stand side by side
    bool either = false;     // a shape of (2, 2)
    bool is_signed = false;  // of 4 bytes, or of 8:
    bool wide = false;
  };
  static form form_of(npy_layout const& array, bool rows_if_either = false);

  explicit edge_index(std::filesystem::path const& file, bool rows_if_either = false)
      : file_(file, npy_layout::order::any), form_(form_of(file_, rows_if_either)) {}
  std::string const& name() const { return file_.name(); }
  form const& is() const { return form_; }
  std::uint64_t count() const { return form_.count; }
  // Edges from `first` on, as they lie: a negative id comes as 2^64 less. Any thread may.
  void read(std::uint64_t first, std::uint64_t n, arc* to) const;
  // errc::input where an id of it is none: negative, or 2^64 - 1.
  static void check(form const& is, std::string const& name, arc const& edge, std::uint64_t number);

 private:
  npy_file file_;
  form form_;
};

// How an array in an archive begins, and the member standing at its data. `name`: of the array, without .npy.
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

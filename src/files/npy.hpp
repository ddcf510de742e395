// A file in NumPy's format (versions 1 to 3), open: magic, version, length of the header, the header (a Python dictionary with descr,
// fortran_order and shape), then the data. The only reader of it.
// Invariant: every number of the header is held against the size of the file before anybody takes memory for it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/input_file.hpp"

namespace garner {

// Contents of the header, whether the bytes come from a file or from a part of an archive.
class npy_layout {
 public:
  // Bytes of the source from `at`; throws where it has not so many.
  using reader = std::function<void(void* to, std::uint64_t n, std::uint64_t at)>;
  enum class order : std::uint8_t { by_rows, any };  // any: column-major too (fortran_order), as by_columns() then returns
  // `size`: of the source in bytes. errc::input unless it is a NumPy array, of one plain element type, little-endian, stored row by row,
  // with dimensions, and as long as its header states.
  npy_layout(std::string name, std::uint64_t size, reader const& read, order allowed = order::by_rows) : name_(std::move(name)) {
    parse(size, read, allowed);
  }

  std::string const& name() const { return name_; }
  std::string const& type() const { return type_; }  // as "<f4"
  std::vector<std::uint64_t> const& shape() const { return shape_; }
  bool by_columns() const { return by_columns_; }
  std::uint64_t element_bytes() const { return element_bytes_; }
  std::uint64_t rows() const { return shape_[0]; }
  std::uint64_t row_bytes() const { return row_bytes_; }  // over all of shape_[0]
  std::uint64_t head_bytes() const { return head_; }      // before the data

 protected:
  explicit npy_layout(std::string name) : name_(std::move(name)) {}
  void without_head() { head_ = 0; }  // the data begin the file
  void parse(std::uint64_t size, reader const& read, order allowed);
  std::string name_;

 private:
  struct header;
  std::string type_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t element_bytes_ = 0, row_bytes_ = 0, head_ = 0;
  bool by_columns_ = false;
};

// What such a header says of a file that has none (raw bytes): a text of three lines, whose name ends in .raw. "garner raw 1"; type, rows
// and width, as "<f4 100 1024"; the file of the bytes, absolute or from the folder of the text.
struct raw_rows {
  std::string type;
  std::uint64_t rows = 0, width = 0;
  std::filesystem::path file;
  static raw_rows parse(std::string const& text, std::filesystem::path const& from);  // errc::input names what is wrong
  std::string text() const;
};

class npy_file : public npy_layout {
 public:
  explicit npy_file(std::filesystem::path const& file, order allowed = order::by_rows);  // .npy or .raw

  std::string head() const;                                      // of the .npy file with these data
  std::string const& data_file() const { return file_.name(); }  // that holds the data, from head_bytes() on
  void read(void* to, std::uint64_t n, std::uint64_t at) const { file_.read(to, n, at); }
  // The whole file in memory, its pages read on demand, until the last copy of the pointer is destroyed. If another process truncates the
  // file meanwhile, a read beyond its end kills this one (SIGBUS).
  std::shared_ptr<void const> map() const;

 private:
  npy_file(std::filesystem::path const& file, std::optional<raw_rows> const& raw, order allowed);
  input_file file_;
  std::string made_head_;  // of raw bytes
};

}  // namespace garner

// Files of named tensors as the Python package `safetensors` has them: the length of a header (8 bytes, little-endian), the header (a JSON
// object of "__metadata__", texts by name, and of dtype, shape and data_offsets of each tensor), then the data, back to back.
// Invariant: the results of tensor_file were checked against the true size of the file: the bytes of each tensor exist, tensors do not
// overlap, and together they cover the data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.hpp"

namespace garner {

// Bytes of an element by its name in the header: F32, F64, F16, BF16, I64, I32, U8, BOOL ...; 0: unknown to Garner, or smaller than a
// byte.
std::uint64_t bytes_of_dtype(std::string_view dtype);
std::string type_and_shape(std::string_view dtype, std::span<std::uint64_t const> shape);  // "F32 [3, 4]"

struct file_tensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;  // empty: one element
  void const* data = nullptr;        // dense, the last dimension fastest
};
using file_metadata = std::map<std::string, std::string>;

// Everything before the data, whose begin is a multiple of 64. Larger elements go first, so that each tensor is aligned to its element
// although the data has no holes.
struct tensor_head {
  std::string bytes;
  struct part {
    std::size_t tensor;  // of those given
    std::uint64_t bytes;
  };
  std::vector<part> order;  // of the data
};
// errc::usage where a tensor is invalid in such a file: two of one name, an unknown dtype, a name that is not UTF-8.
tensor_head head_of(std::string const& file, std::span<file_tensor const> tensors, file_metadata const& metadata);

struct tensor_info {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, bytes = 0;  // in the data
};

class tensor_file {
 public:
  explicit tensor_file(std::filesystem::path const& file);  // errc::input where the file is something else, or damaged

  std::string const& name() const { return file_.name(); }
  std::string const& head() const { return head_; }  // all before the data, as it stands in the file
  file_metadata const& metadata() const { return metadata_; }
  std::vector<tensor_info> const& tensors() const { return tensors_; }  // as their data lie
  tensor_info const* find(std::string const& name) const;               // nullptr: not found
  void read(tensor_info const& tensor, void* to) const { read(tensor, to, tensor.bytes, 0); }
  void read(tensor_info const& tensor, void* to, std::uint64_t n, std::uint64_t from) const {  // n bytes of it; any thread may
    file_.read(to, n, head_.size() + tensor.begin + from);
  }

 private:
  class header;
  void place();  // the tensors in the data
  input_file file_;
  std::string head_;
  file_metadata metadata_;
  std::vector<tensor_info> tensors_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace garner

// The state of a training, or a model alone, in one file: arrays, facts about them, and the data set of their training. The format is that
// of safetensors.hpp with kind, version and checksum in the metadata; docs/reference/file-formats.md documents it.
// Invariant: a checkpoint that was read is, byte for byte, the one that was written: the checksum covers the whole file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "garner/features.hpp"

namespace garner {

struct named_array {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>> values;
};

// A float array too large for a copy in memory: it is passed some rows (of its first dimension) at a time, in order.
struct large_array {
  std::string name;
  std::vector<std::uint64_t> shape;  // rows, and more
  std::function<void(std::uint64_t first, std::uint64_t rows, float* to)> give;
  element kind = element::f32;  // in the file; f16, bf16: of numbers that are such
};

struct checkpoint {
  enum class kind : std::uint8_t { model, checkpoint };  // what is needed to use a model, and to go on training it
  using texts = std::map<std::string, std::string>;

  kind is = kind::checkpoint;
  texts facts;     // anything but names that begin with "garner."
  texts made_for;  // the fingerprint, field by field: model, graph, options that must be the same again
  std::vector<named_array> arrays;
  std::vector<large_array> large = {};  // written; never read
  std::string file = "a checkpoint";    // for messages: where it was read from

  // Atomic: if it fails (errc::io) or is interrupted the old file stays. errc::usage where arrays and shapes disagree, or a name is
  // invalid.
  void write(std::filesystem::path const& to) const;
  // errc::input where the file is something else, of another kind or version, or damaged. `left`: arrays that stay in the file, for
  // read_large().
  static checkpoint read(std::filesystem::path const& from, kind wanted, std::set<std::string> const& left = {});
  // Reads an array that was left in the file, some rows at a time. errc::input where it is missing, or has other elements or another shape,
  // before the first row: call it with an empty `take` before anything is changed.
  using take_rows = std::function<void(std::uint64_t first, std::uint64_t rows, float const* values)>;
  void read_large(std::string const& name, std::vector<std::uint64_t> const& shape, take_rows const& take,
                  element kind = element::f32) const;

  // errc::input where it was made for something else; names the fields that differ, and of the first both values.
  void require_made_for(texts const& wanted) const;
  std::string const& fact(std::string const& name) const;  // errc::input where it has none
  // errc::input where it is missing, or has other elements or another shape.
  template <class T>
  std::vector<T> const& values(std::string const& name, std::vector<std::uint64_t> const& shape) const;
};

extern template std::vector<float> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;
extern template std::vector<double> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;
extern template std::vector<std::int64_t> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;
extern template std::vector<std::uint64_t> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;

}  // namespace garner

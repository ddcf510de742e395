// Arrays of a data set on their way into a manifest: looked at where they lie, or written as .npy. A text without a header line (numbers
// parted by commas, a row a line, plain, .gz or .zst), a part of an .npz, or an .npy. Cost: one pass, two of a text whose kind is not
// known; bounded memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/npy.hpp"

namespace garner {

struct array_source {
  std::filesystem::path file;
  std::string key = {};  // of an .npz: which array
};

// What is asked of it.
struct array_rules {
  std::optional<std::uint64_t> rows = {};   // exactly so many
  std::optional<std::uint64_t> below = {};  // whole numbers from 0 below this, one a row
  std::uint64_t most_rows = ~std::uint64_t{0};
  bool whole = false;          // int64, one number a row
  bool kind_as_found = false;  // of text: int64 where all are whole, else f32; unset: f32
  std::string of = {};         // what the rows are, for messages: "paper"
};

// The file that holds it as an .npy: the source itself where it does as it is, else `written`, which is made.
std::filesystem::path as_npy(array_source const& from, array_rules const& rules, std::filesystem::path const& written);

// All numbers of an array of one column, by the same rules.
std::vector<std::int64_t> whole_numbers(array_source const& from, array_rules rules);

// errc::input unless the array keeps the rules that its head tells of; with `values` the numbers are looked at too.
void check_array(std::filesystem::path const& npy, array_rules const& rules, bool values);

}  // namespace garner

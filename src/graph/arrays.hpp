// Arrays of a dataset that a dataset file will name: validated in place, or written as .npy. Sources are text without a header line
// (comma-separated, one row per line, plain, .gz or .zst), a member of an .npz, or an .npy. Cost: one pass, or two over text of unknown
// type; bounded memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "files/npy.hpp"

namespace garner {

struct array_source {
  std::filesystem::path file;
  std::string key = {};  // of an .npz: the array's name
};

// What the array must satisfy.
struct array_rules {
  std::optional<std::uint64_t> rows = {};   // exact number of rows
  std::optional<std::uint64_t> below = {};  // one integer per row, from 0 below this bound
  std::uint64_t most_rows = ~std::uint64_t{0};
  bool whole = false;          // int64, one number per row
  bool kind_as_found = false;  // of text: int64 if all values are integers, else f32; unset: f32
  std::string of = {};         // what a row is, for messages: "paper"
};

// The file that holds the array as .npy: the source itself if it qualifies, else `written`, which is created.
std::filesystem::path as_npy(array_source const& from, array_rules const& rules, std::filesystem::path const& written);

// Whether it is raw float32 with the ending .npy, as the largest IGB has them: rows of igb_width features, or one label each.
bool is_raw(std::filesystem::path const& file);
inline constexpr std::uint64_t igb_width = 1024;

// All numbers of a single-column array, validated by the same rules.
std::vector<std::int64_t> whole_numbers(array_source const& from, array_rules rules);

// Throws errc::input if the array's header breaks the rules; with `values` also if its numbers do.
void check_array(std::filesystem::path const& npy, array_rules const& rules, bool values);

}  // namespace garner

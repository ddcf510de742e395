// Inspects a dataset folder in the layout of OGB, MAG240M or IGB: locates its files, and reads only a few counts.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "graph/arrays.hpp"

namespace garner {

struct data_set {
  struct vertices {
    std::string name;
    std::optional<std::uint64_t> count = {};  // unset: only the edges imply it
    std::optional<array_source> features = {}, labels = {}, times = {}, train = {}, valid = {}, test = {};
  };
  struct edges {
    std::string from, relation, to;
    array_source index;                       // a two-column text, an edge index (.npy), or one in an .npz
    bool rows_if_either = false;              // an array of shape (2, 2) is one of (E, 2)
    std::optional<std::uint64_t> count = {};  // as the dataset declares it
    std::optional<array_source> features = {}, times = {};
  };
  std::vector<vertices> types;
  std::vector<edges> relations;
  std::vector<std::string> notes;
};

// errc::input if the folder has none of the known layouts; errc::usage if it has several splits and `split` selects none of them.
data_set look_into(std::filesystem::path const& folder, std::string const& split);

// The values of a dictionary from strings to integers, as torch.save writes it (meta.pt of MAG240M).
std::vector<std::pair<std::string, std::uint64_t>> read_counts(std::filesystem::path const& file);

}  // namespace garner

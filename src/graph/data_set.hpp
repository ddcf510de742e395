// What a folder of a data set holds, by the layouts of OGB, MAG240M and IGB: looked for, not read, but for a few counts.
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
    std::optional<std::uint64_t> count = {};  // unset: nothing tells but the edges
    std::optional<array_source> features = {}, labels = {}, times = {}, train = {}, valid = {}, test = {};
  };
  struct edges {
    std::string from, relation, to;
    array_source index;                       // a text of two columns, an edge index (.npy), or that of an .npz
    bool rows_if_either = false;              // an array of shape (2, 2) is one of (E, 2)
    std::optional<std::uint64_t> count = {};  // as the data set says
    std::optional<array_source> features = {}, times = {};
  };
  std::vector<vertices> types;
  std::vector<edges> relations;
  std::vector<std::string> notes;
};

// errc::input where the folder holds no layout that is known; errc::usage where it holds several splits and `split` names none of them.
data_set look_into(std::filesystem::path const& folder, std::string const& split);

// The numbers of a dictionary from text to whole numbers, as torch.save writes it (meta.pt of MAG240M).
std::vector<std::pair<std::string, std::uint64_t>> read_counts(std::filesystem::path const& file);

}  // namespace garner

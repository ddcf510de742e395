// The dataset file of a heterogeneous graph: its text, constraints, and the files it names. docs/reference/file-formats.md has the keys.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "garner/hetero.hpp"

namespace garner {

// Parses a text. Messages cite `file`, and paths are relative to its folder. Opens no other file. errc::input names the key and the fault.
dataset_info parse_manifest(std::string_view text, std::filesystem::path const& file);
// The inverse of parse_manifest. Files under the folder of `file` get relative paths, others keep theirs.
std::string manifest_text(dataset_info const& manifest, std::filesystem::path const& file);
// Checks names only: not empty, unique, and types exist.
void check_names(dataset_info const& manifest, std::string const& file);

// The index of the named type; errc::input lists the names that exist.
std::size_t type_named(std::vector<vertex_type> const& types, std::string_view name, std::string const& file);

std::string name_of(edge_type const& e);  // "author writes paper"

}  // namespace garner

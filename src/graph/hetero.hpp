// The manifest of a heterogeneous graph: its text, what it must keep, and the files it names. docs/reference/file-formats.md has the keys.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "garner/hetero.hpp"

namespace garner {

// Of a text; `file` stands in messages, and paths are from its folder. Looks at no other file. errc::input names the key and what is wrong.
hetero_manifest parse_manifest(std::string_view text, std::filesystem::path const& file);
// As parse_manifest takes it; files under the folder of `file` are named from there, others as they are.
std::string manifest_text(hetero_manifest const& manifest, std::filesystem::path const& file);
// The names alone: none empty, none twice, types that are there.
void check_names(hetero_manifest const& manifest, std::string const& file);

// Where a name stands among them; errc::input names those that there are.
std::size_t type_named(std::vector<vertex_type> const& types, std::string_view name, std::string const& file);

std::string name_of(edge_type const& e);  // "author writes paper"

}  // namespace garner

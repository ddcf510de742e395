// Feature tables and scores in .npy files: read a vector of scores, write a table's rows in the order of a reordered graph, and that order.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

// errc::io or errc::input where it is no table, or none of so many rows as `graph` has vertices; before work that will need it.
void check_table(std::filesystem::path const& file, std::uint64_t vertices, std::string const& graph);

// One dimension, of f4, f8, or whole numbers.
std::vector<float> read_score_file(std::filesystem::path const& file);

// Row k of `out` is the row of the vertex with internal id k; in `table` row r is that of the r-th vertex by ascending user id. `out` may
// be `table`: it is written beside and renamed. Cost: each row read and written once, by the thread pool; 16 MiB a thread.
void permute_rows(graph const& g, std::filesystem::path const& table, std::filesystem::path const& out);

// One int64 a vertex: at k how many user ids are smaller than that of the vertex with internal id k, so which row of `table` is row k of
// `out` above. Whole or not at all. Cost: 8 bytes a vertex in host memory, while it is written.
void write_map(graph const& g, std::filesystem::path const& out);

}  // namespace garner

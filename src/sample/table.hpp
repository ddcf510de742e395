// Feature tables and scores in .npy files: read a vector of scores, write a table's rows in the order of a reordered graph, and that order.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

// errc::io or errc::input where it is not a table, or its rows are not as many as the vertices of `graph`; before work that will need it.
void check_table(std::filesystem::path const& file, std::uint64_t vertices, std::string const& graph);

// One dimension, of f4, f8, or whole numbers.
std::vector<float> read_score_file(std::filesystem::path const& file);

// Row k of `out` is the row of the vertex with internal id k; in `table` row r is that of the r-th vertex by ascending user id. `out` may
// be `table`: a new file is written and renamed. Cost: each row read and written once, by the thread pool; 16 MiB per thread.
void permute_rows(graph const& g, std::filesystem::path const& table, std::filesystem::path const& out);

// One int64 per vertex: at k how many user ids are smaller than that of the vertex with internal id k, so which row of `table` is row k of
// `out` above. Written atomically. Cost: 8 bytes per vertex in host memory during the write.
void write_map(graph const& g, std::filesystem::path const& out);

}  // namespace garner

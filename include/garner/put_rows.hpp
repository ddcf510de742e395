// Rows of a feature file that are replaced where they stand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace garner {

// Replaces rows of an .npy or feature file (.gnt, with its checksums): row k of `rows` (bytes, as the file stores them) becomes row ids[k];
// of equal ids the last counts. Every row is the old or the new one, on a crash too: some 64 MiB at a time are written to a journal next to
// the file (file.put) first, and the next to open the file finishes what a crash cut off. Tables that were opened before refuse to read the
// changed file (errc::input): open it again. errc::input names an id that the file lacks and its position; nothing has changed then.
void put_rows(std::filesystem::path const& file, std::span<std::int64_t const> ids, std::span<std::byte const> rows);

}  // namespace garner

// A table of rows made in memory, whose every byte follows from where it stands: so a row that came wrong is known.
// Cost: written once, by all threads.
#pragma once
#include <cstdint>
#include <optional>

#include "memory/buffer.hpp"

namespace garner::bench {

// `device`: that reads it; -1: none. errc::memory where it would take more than half of the host memory that is free.
memory_block make_rows(std::uint64_t rows, std::uint64_t row_bytes, int device);
// The same of floats in [-1, 1), to learn from.
memory_block make_floats(std::uint64_t rows, std::uint64_t width, int device);
// The first byte of a row that is not what make_rows() wrote.
std::optional<std::uint64_t> wrong_byte(std::uint64_t id, void const* row, std::uint64_t row_bytes);

}  // namespace garner::bench

// A feature table in memory, whose every byte is a function of its position, so that a wrong row is detected.
// Cost: written once, by all threads.
#pragma once
#include <cstdint>
#include <optional>

#include "memory/buffer.hpp"

namespace garner::cli {

// `device`: that reads it; -1: none. errc::memory if it needs more than half of the free host memory.
memory_block make_rows(std::uint64_t rows, std::uint64_t row_bytes, int device);
// The same with floats in [-1, 1), for training.
memory_block make_floats(std::uint64_t rows, std::uint64_t width, int device);
// The first byte of a row that differs from make_rows().
std::optional<std::uint64_t> wrong_byte(std::uint64_t id, void const* row, std::uint64_t row_bytes);

}  // namespace garner::cli

#include "made_rows.hpp"

#include <bit>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"

namespace garner::cli {

namespace {

// `word`: the i-th 8 bytes.
template <class Word>
memory_block made(std::uint64_t rows, std::uint64_t row_bytes, int device, Word word) {
  std::uint64_t bytes = 0;
  std::uint64_t const room = host_memory_now().free();
  if (__builtin_mul_overflow(rows, row_bytes, &bytes) || bytes > room / 2)
    fail(errc::memory, "a table of {} rows of {} bytes takes more than half of the {} of host memory that are free; use shorter rows", rows,
         row_bytes, format_bytes(room));
  memory_block table(tier::host, (bytes + 7) / 8 * 8, device, "a table made in memory");
  auto* const words = static_cast<std::uint64_t*>(table.data());
  progress told("filling the table", table.bytes());
  shared_pool().run(table.bytes() / 8, 1u << 20, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) words[i] = word(i);
    told.advance((end - begin) * 8);
  });
  return table;
}

// In [-1, 1).
std::uint32_t small_float(std::uint64_t bits) { return std::bit_cast<std::uint32_t>(2 * unit_float(bits) - 1); }

}  // namespace

memory_block make_rows(std::uint64_t rows, std::uint64_t row_bytes, int device) { return made(rows, row_bytes, device, mix); }

memory_block make_floats(std::uint64_t rows, std::uint64_t width, int device) {
  return made(rows, width * sizeof(float), device, [](std::uint64_t i) {
    std::uint64_t const bits = mix(i + 1);
    return static_cast<std::uint64_t>(small_float(bits)) << 32 | small_float(bits << 32);
  });
}

std::optional<std::uint64_t> wrong_byte(std::uint64_t id, void const* row, std::uint64_t row_bytes) {
  auto const* const got = static_cast<unsigned char const*>(row);
  std::uint64_t const first = id * row_bytes;
  for (std::uint64_t b = 0; b < row_bytes;) {
    std::uint64_t const at = first + b, word = mix(at / 8);
    if (at % 8 == 0 && row_bytes - b >= 8) {
      if (std::memcmp(got + b, &word, 8) == 0) {
        b += 8;
        continue;
      }
    }
    if (got[b] != static_cast<unsigned char>(word >> at % 8 * 8)) return b;
    ++b;
  }
  return std::nullopt;
}

}  // namespace garner::cli

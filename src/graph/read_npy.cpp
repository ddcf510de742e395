// An edge index: an array of NumPy's of shape (2, E), sources above targets as PyTorch Geometric has it, or (E, 2), an edge a row; whole
// numbers of 4 or 8 bytes. Of shape (2, 2) it is read as (2, E). Cost: one pass; nothing is taken before the header is held against the
// file.
#include <algorithm>
#include <vector>

#include "core/fail.hpp"
#include "core/npy.hpp"
#include "core/progress.hpp"
#include "graph/formats.hpp"
#include "graph/reading_room.hpp"

namespace garner {

namespace {

template <class T>
void read_index(npy_file const& file, bool columns, std::uint64_t count, edge_list& out) {
  progress bar("reading", count * 2 * sizeof(T));
  constexpr std::uint64_t step = 1u << 17;
  std::vector<T> part(2 * step);
  auto const id = [&](T value, std::uint64_t edge) {
    if (std::is_signed_v<T> && value < 0)
      fail(errc::input, "{}: edge {}: vertex {} is negative; vertex ids are whole numbers from 0", file.name(), edge,
           static_cast<std::int64_t>(value));
    if (static_cast<std::uint64_t>(value) == ~std::uint64_t{0})
      fail(errc::input, "{}: edge {}: {} is too large for a vertex id; the largest is 18446744073709551614", file.name(), edge, value);
    return static_cast<std::uint64_t>(value);
  };
  for (std::uint64_t first = 0; first < count; first += step) {
    std::uint64_t const n = std::min(step, count - first);
    if (columns) {
      file.read(part.data(), n * sizeof(T), file.head_bytes() + first * sizeof(T));
      file.read(part.data() + n, n * sizeof(T), file.head_bytes() + (count + first) * sizeof(T));
    } else {
      file.read(part.data(), 2 * n * sizeof(T), file.head_bytes() + 2 * first * sizeof(T));
    }
    for (std::uint64_t i = 0; i < n; ++i)
      out.arcs.push_back({id(part[columns ? i : 2 * i], first + i), id(part[columns ? n + i : 2 * i + 1], first + i)});
    bar.advance(2 * n * sizeof(T));
  }
}

// Whether it is (2, E), and E.
std::pair<bool, std::uint64_t> shape_of(npy_file const& file) {
  auto const& s = file.shape();
  if (s.size() != 2 || (s[0] != 2 && s[1] != 2))
    fail(errc::input, "{}: an array ({}) is no edge index; (2, E) or (E, 2) is", file.name(), fmt::join(s, ", "));
  return {s[0] == 2, s[0] == 2 ? s[1] : s[0]};
}

}  // namespace

std::uint64_t edges_of_npy(std::filesystem::path const& path) { return shape_of(npy_file(path)).second; }

read_result read_npy(std::filesystem::path const& path) {
  npy_file const file(path);
  auto const [columns, count] = shape_of(file);
  read_result result;
  reading_room room(file.name());
  room.reserve(result.edges.arcs, count);
  if (file.type() == "<i8") read_index<std::int64_t>(file, columns, count, result.edges);
  else if (file.type() == "<u8") read_index<std::uint64_t>(file, columns, count, result.edges);
  else if (file.type() == "<i4") read_index<std::int32_t>(file, columns, count, result.edges);
  else if (file.type() == "<u4") read_index<std::uint32_t>(file, columns, count, result.edges);
  else
    fail(errc::input,
         "{}: elements are {}; an edge index has whole numbers of 4 or 8 bytes: write it with numpy.save(file, "
         "index.astype('<i8'))",
         file.name(), file.type());
  return result;
}

}  // namespace garner

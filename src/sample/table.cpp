#include "sample/table.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "files/npy.hpp"
#include "files/npy_head.hpp"
#include "graph/ranks.hpp"

namespace garner {

namespace {

template <class T>
void widen(npy_file const& in, std::vector<float>& to) {
  std::vector<T> values(to.size());
  in.read(values.data(), values.size() * sizeof(T), in.head_bytes());
  std::transform(values.begin(), values.end(), to.begin(), [](T v) { return static_cast<float>(v); });
}

void require_row_each(npy_file const& in, std::uint64_t vertices, std::string const& graph) {
  if (in.rows() != vertices)
    fail(errc::input, "{}: has {} rows and {} has {} vertices; give each vertex one row, by ascending id", in.name(), in.rows(), graph,
         vertices);
}

}  // namespace

void check_table(std::filesystem::path const& file, std::uint64_t vertices, std::string const& graph) {
  require_row_each(npy_file(file), vertices, graph);
}

std::vector<float> read_score_file(std::filesystem::path const& file) {
  npy_file const in(file);
  if (in.shape().size() != 1) fail(errc::input, "{}: has {} dimensions; scores are one number per vertex", in.name(), in.shape().size());
  std::vector<float> score(in.rows());
  std::string_view const kind = std::string_view(in.type()).substr(1);
  if (kind == "f4") widen<float>(in, score);
  else if (kind == "f8") widen<double>(in, score);
  else if (kind == "u4") widen<std::uint32_t>(in, score);
  else if (kind == "i4") widen<std::int32_t>(in, score);
  else if (kind == "u8") widen<std::uint64_t>(in, score);
  else if (kind == "i8") widen<std::int64_t>(in, score);
  else fail(errc::input, "{}: holds elements of type {}; scores are f4, f8, u4, i4, u8 or i8", in.name(), in.type());
  return score;
}

void permute_rows(graph const& g, std::filesystem::path const& table, std::filesystem::path const& out) {
  phase const timed{"sample.table"};
  npy_file const in(table);
  std::uint64_t const n = g.info.vertices, row = in.row_bytes(), data = in.head_bytes();
  require_row_each(in, n, g.name);
  std::vector<std::uint64_t> const from = ranks_inside<std::uint64_t>(g);
  pending_file to(out);
  {
    std::string head(data, ' ');
    in.read(head.data(), data, 0);
    to.write(head);
  }
  std::uint64_t const rows = row ? std::max<std::uint64_t>(1, (16u << 20) / row) : n;
  progress bar("permuting rows", n);
  shared_pool().run(row ? n : 0, rows, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<char> chunk((end - begin) * row);
    for (std::uint64_t k = begin; k < end;) {
      std::uint64_t run = 1;  // rows that stay adjacent are read at once
      while (k + run < end && from[k + run] == from[k] + run) ++run;
      in.read(chunk.data() + (k - begin) * row, run * row, data + from[k] * row);
      k += run;
    }
    to.write_at(data + begin * row, chunk.data(), chunk.size());
    bar.advance(end - begin);
  });
  to.commit();
}

void write_map(graph const& g, std::filesystem::path const& out) {
  phase const timed{"sample.map"};
  std::vector<std::int64_t> const rank = ranks_inside<std::int64_t>(g);
  pending_file to(out);
  to.write(npy_head("<i8", g.info.vertices));
  to.write(rank.data(), rank.size() * sizeof(std::int64_t));
  to.commit();
}

}  // namespace garner

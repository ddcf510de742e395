// Each chunk counts its degrees in a small table (exact below `exact_degrees`, by powers of two above); then the tables are reduced. Cost:
// one pass over the offsets; a second one only if half of the vertices have degree `exact_degrees` or more.
#include "graph/summary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <mutex>

#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "graph/source.hpp"

namespace garner {

namespace {

constexpr std::uint64_t exact_degrees = 1024, line = 128, share_step = 8, share_end = 96;

struct tally {
  std::array<std::uint64_t, exact_degrees> exact{};  // vertices of each degree
  struct {
    std::uint64_t vertices = 0, edges = 0;
  } bins[65];  // bin k: degrees of k bits
  std::uint64_t on_lines = 0, isolated = 0, min = std::numeric_limits<std::uint64_t>::max(), max = 0;

  void add(tally const& other) {
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += other.exact[i];
    for (std::size_t k = 0; k < std::size(bins); ++k) bins[k].vertices += other.bins[k].vertices, bins[k].edges += other.bins[k].edges;
    on_lines += other.on_lines;
    isolated += other.isolated;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

std::uint64_t median(std::uint64_t n, std::uint64_t const* offsets, tally const& all) {
  std::uint64_t rank = (n - 1) / 2;
  for (std::uint64_t d = 0; d < exact_degrees; ++d) {
    if (rank < all.exact[d]) return d;
    rank -= all.exact[d];
  }
  std::vector<std::uint64_t> high;
  for (std::uint64_t v = 0; v < n; ++v)
    if (std::uint64_t const d = offsets[v + 1] - offsets[v]; d >= exact_degrees) high.push_back(d);
  std::nth_element(high.begin(), high.begin() + static_cast<std::ptrdiff_t>(rank), high.end());
  return high[rank];
}

}  // namespace

graph_summary summarize(graph_info const& info, std::uint64_t const* offsets, std::uint64_t const* in_offsets) {
  tally all;
  std::mutex mutex;
  shared_pool().run(info.vertices, 1u << 18, [&](std::uint64_t begin, std::uint64_t end) {
    tally mine;
    for (std::uint64_t v = begin; v < end; ++v) {
      std::uint64_t const degree = offsets[v + 1] - offsets[v];
      if (degree < exact_degrees) ++mine.exact[degree];
      auto& bin = mine.bins[std::bit_width(degree)];
      ++bin.vertices;
      bin.edges += degree;
      mine.on_lines += degree != 0 && offsets[v] * info.id_bytes % line == 0;
      mine.isolated += degree == 0 && (!in_offsets || in_offsets[v + 1] == in_offsets[v]);
      mine.min = std::min(mine.min, degree);
      mine.max = std::max(mine.max, degree);
    }
    std::lock_guard const hold(mutex);
    all.add(mine);
  });

  graph_summary s;
  s.info = info;
  s.lists = info.vertices - all.exact[0];
  s.lists_on_lines = all.on_lines;
  if (!info.directed || in_offsets) s.isolated = all.isolated;
  if (info.vertices) {
    s.degree_min = all.min;
    s.degree_max = all.max;
    s.degree_mean = static_cast<double>(info.edges) / static_cast<double>(info.vertices);
    s.degree_median = median(info.vertices, offsets, all);
    for (int k = 0; k <= static_cast<int>(std::bit_width(all.max)); ++k) {
      std::uint64_t const low = k ? std::uint64_t{1} << (k - 1) : 0;
      s.bins.push_back({low, k ? 2 * low - 1 : 0, all.bins[k].vertices, all.bins[k].edges});
    }
  }
  auto const share = [&](std::uint64_t degree, std::uint64_t edges) {
    s.shares.push_back({degree, edges, info.edges ? static_cast<double>(edges) / static_cast<double>(info.edges) : 1});
  };
  std::uint64_t edges = 0;
  for (std::uint64_t d = 0; d <= share_end; ++d) {
    edges += d * all.exact[d];
    if (d % share_step == 0) share(d, edges);
  }
  if (s.degree_max > share_end) share(s.degree_max, info.edges);
  return s;
}

stored_graph inspect_graph(std::filesystem::path const& file, bool check) {
  return as_error([&] {
    graph_source const from(file, true);
    if (check && !from.is_generated()) check_container(file);
    container_header const& h = from.header();
    stored_graph r{h.version, h.file_bytes, {}, {}};
    for (container_section const& s : h.sections) r.sections.push_back({s.name, s.offset, s.bytes, s.element_bytes, s.checksum});
    auto const in_offsets = h.info.in_edges ? from.offsets(true, !check) : buffer<std::uint64_t>{};
    r.shape = summarize(h.info, from.offsets(false, !check).data(), in_offsets.empty() ? nullptr : in_offsets.data());
    return r;
  });
}

}  // namespace garner

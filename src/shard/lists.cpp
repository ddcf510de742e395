#include "shard/lists.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace garner {

namespace {

// Which vertices are needed, and how many before each of them.
class needed_vertices {
 public:
  explicit needed_vertices(std::uint64_t vertices) : words_(vertices / 64 + 1), before_(vertices / 64 + 1) {}
  void add(std::uint64_t v) { words_[v / 64] |= std::uint64_t{1} << v % 64; }
  void count() {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < words_.size(); ++k) before_[k] = sum, sum += static_cast<std::uint32_t>(std::popcount(words_[k]));
  }
  std::uint32_t before(std::uint64_t v) const {
    return before_[v / 64] + static_cast<std::uint32_t>(std::popcount(words_[v / 64] & ((std::uint64_t{1} << v % 64) - 1)));
  }
  std::vector<std::uint32_t> in(std::uint64_t first, std::uint64_t end) const {  // counted from `first`
    std::vector<std::uint32_t> found;
    for (std::uint64_t k = first / 64; k * 64 < end; ++k)
      for (std::uint64_t left = words_[k]; left != 0; left &= left - 1) {
        std::uint64_t const v = k * 64 + static_cast<std::uint64_t>(std::countr_zero(left));
        if (v >= first && v < end) found.push_back(static_cast<std::uint32_t>(v - first));
      }
    return found;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> before_;
};

struct range {
  std::uint32_t owner;
  std::uint64_t begin, end;
};

}  // namespace

shard_lists::shard_lists(given const& lists, shard_parts const& parts, std::uint32_t shard, shard_reduction sums, numbered how,
                         std::uint64_t slice, std::vector<bool> const& whole)
    : chunks(parts.shards()), needs(parts.shards()) {
  std::uint32_t const n = parts.shards();
  std::uint64_t const first = parts.first(shard), count = parts.count(shard), begin = lists.offsets[first],
                      end = lists.offsets[first + count];
  for (std::uint32_t k = 0; k < n; ++k) order.push_back(sums == shard_reduction::deterministic ? k : (shard + k) % n);
  edges = end - begin;
  needed_vertices needed(parts.vertices());
  for (std::uint64_t k = begin; k < end; ++k) needed.add(lists.ends[k]);
  needed.count();
  bool more = false;
  for (std::uint32_t k = 0; k < whole.size(); ++k) {
    std::uint64_t const from = parts.first(k), to = from + parts.count(k), some = needed.before(to) - needed.before(from);
    if (k == shard || rows_that_come(some, to - from, whole[k]) == some) continue;
    for (std::uint64_t v = from; v < to; ++v) needed.add(v);
    more = true;
  }
  if (more) needed.count();
  std::vector<std::uint64_t> base(n);  // what is taken off an end
  for (std::uint32_t k = 0; k < n; ++k) {
    base[k] = parts.first(k);
    if (k == shard) continue;
    needs[k] = needed.in(parts.first(k), parts.first(k) + parts.count(k));
    remote_rows += needs[k].size();
  }
  std::vector<std::uint32_t> place(n);
  for (std::uint32_t k = 0; k < n; ++k) place[order[k]] = k;

  std::vector<std::pair<std::uint32_t, float>> sorted;
  std::vector<range> ranges;
  auto const put = [&](std::uint32_t row, std::uint64_t from, std::uint64_t to) {
    auto const end_at = [&](std::uint64_t k) { return sorted[k].first; };
    ranges.clear();
    if (how == numbered::by_graph) ranges.push_back({shard, from, to});
    for (std::uint64_t k = from; k < to && how == numbered::by_arrival;) {
      std::uint32_t const owner = parts.owner(end_at(k));
      std::uint64_t const beyond = parts.first(owner) + parts.count(owner), at = k;
      while (k < to && end_at(k) < beyond) ++k;
      ranges.push_back({owner, at, k});
    }
    if (ranges.empty()) ranges.push_back({shard, from, from});
    auto const [one, other] =
        std::minmax_element(ranges.begin(), ranges.end(), [&](range const& a, range const& b) { return place[a.owner] < place[b.owner]; });
    for (range const& r : ranges) {
      chunk& to_chunk = chunks[r.owner];
      bool const remote = r.owner != shard;
      to_chunk.items.push_back({row, r.owner == one->owner, r.owner == other->owner, 0});
      to_chunk.offsets.push_back(to_chunk.ends.size());
      for (std::uint64_t k = r.begin; k < r.end; ++k) {
        std::uint32_t const v = end_at(k);
        to_chunk.ends.push_back(how == numbered::by_graph ? v
                                : remote                  ? needed.before(v) - needed.before(base[r.owner])
                                                          : static_cast<std::uint32_t>(v - base[r.owner]));
        if (lists.weights) to_chunk.weights.push_back(sorted[k].second);
      }
      if (remote) remote_edges += r.end - r.begin;
    }
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t const from = lists.offsets[first + i], length = lists.offsets[first + i + 1] - from;
    sorted.clear();
    for (std::uint64_t k = from; k < from + length; ++k) sorted.emplace_back(lists.ends[k], lists.weights ? lists.weights[k] : 1.0f);
    auto const by_end = [](auto const& a, auto const& b) { return a.first < b.first; };
    if (!std::is_sorted(sorted.begin(), sorted.end(), by_end)) std::stable_sort(sorted.begin(), sorted.end(), by_end);
    if (length <= slice) {
      put(static_cast<std::uint32_t>(i), 0, length);
      continue;
    }
    std::uint64_t const some = (length + slice - 1) / slice;
    long_lists.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(some), slices});
    for (std::uint64_t k = 0; k < some; ++k, ++slices)
      put(static_cast<std::uint32_t>(count + slices), k * slice, std::min(length, (k + 1) * slice));
  }
  for (chunk& c : chunks) c.offsets.push_back(c.ends.size());
}

std::vector<chunk_window> windows_of(shard_lists::chunk const& c, std::uint64_t edges) {
  std::vector<chunk_window> all;
  std::uint64_t const items = c.items.size();
  for (std::uint64_t from = 0, to; from < items; from = to) {
    for (to = from + 1; to < items && to - from < edges / 4 && c.offsets[to + 1] - c.offsets[from] <= edges;) ++to;
    all.push_back({from, to - from, c.offsets[from], c.offsets[to] - c.offsets[from]});
  }
  return all;
}

mgg_lists::mgg_lists(shard_lists::given const& lists, shard_parts const& parts, std::uint32_t shard, std::uint32_t ps) {
  std::uint64_t const first = parts.first(shard), count = parts.count(shard);
  std::vector<std::uint32_t> place;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t const from = lists.offsets[first + i], length = lists.offsets[first + i + 1] - from;
    place.resize(length);
    std::iota(place.begin(), place.end(), 0u);
    if (!std::is_sorted(lists.ends + from, lists.ends + from + length))
      std::stable_sort(place.begin(), place.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return lists.ends[from + a] < lists.ends[from + b]; });
    for (std::uint64_t k = 0; k < length;) {
      std::uint32_t const owner = parts.owner(lists.ends[from + place[k]]);
      std::uint64_t const base = parts.first(owner), beyond = base + parts.count(owner);
      neighbor_partition p{static_cast<std::uint32_t>(i), owner, 0, 0, ends.size()};
      for (; k < length && p.count < ps && lists.ends[from + place[k]] < beyond; ++k, ++p.count) {
        ends.push_back(static_cast<std::uint32_t>(lists.ends[from + place[k]] - base));
        if (lists.weights) weights.push_back(lists.weights[from + place[k]]);
      }
      if (owner != shard) remote_edges += p.count;
      (owner == shard ? local : remote).push_back(p);
    }
  }
}

}  // namespace garner

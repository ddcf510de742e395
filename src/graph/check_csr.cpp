#include "graph/check_csr.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/thread_pool.hpp"

namespace garner {

void first_fault::tell(std::string const& where) const {
  if (!what_.empty()) fail(errc::input, "{}: {}; convert the graph again", where, what_);
}

namespace {
// " (byte 4104)": the position of element i if the array is in a file.
std::string at_byte(container_section const* s, std::uint64_t i) {
  return s ? fmt::format(" (byte {})", s->offset + i * s->element_bytes) : "";
}
}  // namespace

void check_offsets(graph_info const& info, std::uint64_t const* offsets, std::string const& where, container_section const* s) {
  std::uint64_t const n = info.vertices;
  if (offsets[0] != 0) fail(errc::input, "{}: offset 0{} is {}, not 0; convert the graph again", where, at_byte(s, 0), offsets[0]);
  first_fault fault;
  shared_pool().run(n, 1u << 19, [&](std::uint64_t begin, std::uint64_t end) {
    bool down = false;  // no early exit: the loop runs at memory bandwidth
    for (std::uint64_t i = begin; i < end; ++i) down |= offsets[i + 1] < offsets[i];
    if (!down) return;
    while (offsets[begin + 1] >= offsets[begin]) ++begin;
    fault.note(begin,
               fmt::format("offset {}{} goes down from {} to {}", begin + 1, at_byte(s, begin + 1), offsets[begin], offsets[begin + 1]));
  });
  fault.tell(where);
  if (offsets[n] != info.edges)
    fail(errc::input, "{}: the last offset{} is {} but there are {} edges; convert the graph again", where, at_byte(s, n), offsets[n],
         info.edges);
}

target_check::target_check(graph_info const& info, std::uint64_t const* offsets, container_section const* s, std::uint64_t block_bytes)
    : info_(info),
      offsets_(offsets),
      section_(s),
      block_(block_bytes),
      ends_((info.edges * info.id_bytes + block_bytes - 1) / block_bytes) {}

void target_check::operator()(std::uint64_t index, void const* data, std::uint64_t bytes) {
  with_id_type(info_, [&](auto id) { look(index, static_cast<decltype(id) const*>(data), bytes / sizeof id); });
}

void target_check::finish(std::string const& where) {
  std::uint64_t const per_block = block_ / info_.id_bytes;
  for (std::uint64_t k = 1; k < ends_.size(); ++k)
    if (ends_[k - 1].last > ends_[k].first && !std::binary_search(offsets_, offsets_ + info_.vertices + 1, k * per_block))
      unsorted(k * per_block);
  fault_.tell(where);
}

template <class Id>
void target_check::look(std::uint64_t index, Id const* t, std::uint64_t n) {
  std::uint64_t const base = index * (block_ / sizeof(Id));
  ends_[index] = {t[0], t[n - 1]};
  Id top = 0;
  for (std::uint64_t i = 0; i < n; ++i) top = std::max(top, t[i]);
  if (top >= info_.vertices) {
    std::uint64_t i = 0;
    while (t[i] < info_.vertices) ++i;
    fault_.note(base + i, fmt::format("edge {}{} leads to vertex {} but there are {} vertices", base + i, at_byte(section_, base + i), t[i],
                                      info_.vertices));
  }
  std::uint64_t v = static_cast<std::uint64_t>(std::upper_bound(offsets_, offsets_ + info_.vertices + 1, base) - offsets_) - 1;
  for (std::uint64_t e = 0; e < n; ++v) {
    std::uint64_t const end = std::min(n, offsets_[v + 1] - base);
    bool sorted = true;
    for (std::uint64_t i = e + 1; i < end; ++i) sorted &= t[i - 1] <= t[i];
    if (!sorted) return unsorted(base + static_cast<std::uint64_t>(std::is_sorted_until(t + e, t + end) - t));
    e = std::max(e, end);
  }
}

void target_check::unsorted(std::uint64_t edge) {
  fault_.note(edge, fmt::format("edge {}{} breaks the ascending order of its list", edge, at_byte(section_, edge)));
}

namespace {
template <class Id>
void check_order(std::uint64_t const* ids, Id const* by_id, std::uint64_t n, std::string const& where, container_section const& s) {
  first_fault fault;
  shared_pool().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t last = 0;
    for (std::uint64_t i = begin ? begin - 1 : 0; i < end; ++i) {
      if (by_id[i] >= n)
        return fault.note(i, fmt::format("entry {}{} is vertex {} but there are {} vertices", i, at_byte(&s, i), by_id[i], n));
      std::uint64_t const id = ids[by_id[i]];
      if (i >= begin && i && id <= last)
        return fault.note(i, fmt::format("entry {}{} leads to the id {} after {}, not ascending", i, at_byte(&s, i), id, last));
      last = id;
    }
  });
  fault.tell(where);
}

}  // namespace

void check_by_id(graph_info const& info, std::uint64_t const* ids, void const* by_id, std::string const& where,
                 container_section const& s) {
  with_id_type(info, [&](auto id) { check_order(ids, static_cast<decltype(id) const*>(by_id), info.vertices, where, s); });
}

void check_ids(std::uint64_t const* ids, std::uint64_t n, std::string const& where, container_section const& s) {
  first_fault fault;
  shared_pool().run(n ? n - 1 : 0, 1u << 19, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      if (ids[i + 1] <= ids[i]) {
        fault.note(i, fmt::format("id {}{} is {} after {}, not ascending", i + 1, at_byte(&s, i + 1), ids[i + 1], ids[i]));
        return;
      }
  });
  fault.tell(where);
}

void check_csr(graph_info const& info, std::uint64_t const* offsets, void const* targets, std::string const& where) {
  check_offsets(info, offsets, where, nullptr);
  constexpr std::uint64_t block = 4u << 20;
  target_check check(info, offsets, nullptr, block);
  std::uint64_t const bytes = info.edges * info.id_bytes;
  shared_pool().run((bytes + block - 1) / block, 1, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t k = first; k < last; ++k)
      check(k, static_cast<std::byte const*>(targets) + k * block, std::min(block, bytes - k * block));
  });
  check.finish(where);
}

}  // namespace garner

#include "graph/name_table.hpp"

#include <xxhash.h>

#include <algorithm>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

constexpr std::uint64_t block = 1u << 14;  // rows whose hashes are held at once
constexpr std::uint64_t ahead = 16;        // probes whose slots are fetched ahead
constexpr std::uint64_t slack = 128;       // slots of a part behind the last home; the last one stays empty
constexpr std::uint64_t most_names = 0xfffffffe;
constexpr std::uint64_t buffered = 1u << 20;  // bytes of names before they are written

struct text {
  char const* data;
  std::uint64_t bytes;
};
std::uint64_t entry(void const* values, std::uint32_t width, std::uint64_t k) {
  return width == 4 ? static_cast<std::uint32_t const*>(values)[k] : static_cast<std::uint64_t const*>(values)[k];
}
// Distinct value k of a column.
text value_of(name_column const& c, std::uint64_t k) {
  if (!c.offsets) return {c.bytes + k * c.width, c.width};
  std::uint64_t const from = entry(c.offsets, c.offset_bytes, k);
  return {c.bytes + from, entry(c.offsets, c.offset_bytes, k + 1) - from};
}
std::uint64_t value_at(name_column const& c, std::uint64_t row) { return c.codes ? c.codes[row] : row; }

}  // namespace

name_table::name_table(scratch_folder& folder, std::uint64_t bytes, std::string source)
    : names_(folder), ends_(folder), limit_(bytes), source_(std::move(source)), parts_(1u << part_bits) {}

// The slot at which the probes for a hash begin; the bits that chose the part are shifted out.
std::uint64_t name_table::home(std::uint64_t hash, std::uint64_t slots) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(hash << part_bits) * (slots - slack) >> 64);
}

void name_table::fetch(hashed const& h) const {
  part const& p = part_of(h);
  if (p.slots.size()) __builtin_prefetch(p.slots.data() + home(h.hash, p.slots.size()));
}

name_table::slot* name_table::find(hashed const& h) {
  part& p = part_of(h);
  if (p.slots.size() == 0) return nullptr;
  slot* s = p.slots.data() + home(h.hash, p.slots.size());
  while (s->number && (s->hash < h.hash || (s->hash == h.hash && s->check < h.check))) ++s;
  return s;
}

// In the order of the hashes, so both tables are passed through once.
void name_table::grow(part& p) {
  std::uint64_t const had = p.slots.size(), want = std::max(2 * slack, had + had / 2), bytes = want * sizeof(slot);
  if (held_ + bytes > limit_)
    fail(errc::memory,
         "{}: {} names so far take {} of memory, and {} are allowed; names take up to 28 bytes each, and up to half of the memory limit: "
         "raise it",
         source_, count_, format_bytes(held_), format_bytes(limit_));
  buffer<slot> to(tier::host, want, -1, "names");
  std::fill_n(to.data(), want, slot{});
  std::uint64_t at = 0;
  for (slot const& s : p.slots.span())
    if (s.number) at = std::max(at, home(s.hash, want)), to[at++] = s;  // fits: the gaps do not get narrower
  p.slots = std::move(to);
  held_ += (want - had) * sizeof(slot);
}

// The number of a name, which is new or was added since it was looked for.
std::uint32_t name_table::insert(hashed const& h, char const* name, std::uint64_t bytes) {
  part& p = part_of(h);
  slot *s = nullptr, *gap = nullptr;
  for (;; grow(p)) {
    if (p.slots.size() == 0) continue;
    gap = s = find(h);
    if (s->number && s->hash == h.hash && s->check == h.check) return s->number;
    while (gap->number) ++gap;
    if (gap + 1 < p.slots.data() + p.slots.size() && p.used < (p.slots.size() - slack) / 8 * 7) break;
  }
  if (count_ == most_names) fail(errc::input, "{}: more than {} names; node ids end there", source_, most_names);
  std::copy_backward(s, gap, gap + 1);
  *s = {h.hash, h.check, static_cast<std::uint32_t>(++count_)};
  digest_ = (digest_ ^ h.hash) * 0x9e3779b97f4a7c15ull + (digest_ >> 32);
  ++p.used;
  waiting_.append(name, bytes);
  waiting_ends_.push_back(bytes_ += bytes);
  if (waiting_.size() >= buffered || waiting_ends_.size() >= buffered / 8) flush();
  return static_cast<std::uint32_t>(count_);
}

void name_table::flush() {
  names_.append(waiting_.data(), waiting_.size());
  ends_.append(waiting_ends_.data(), waiting_ends_.size() * 8);
  waiting_.clear(), waiting_ends_.clear();
}

void name_table::number(std::vector<name_column const*> const& columns, std::uint64_t* to) {
  thread_pool& pool = shared_pool();
  std::uint64_t const width = columns.size();
  std::vector<std::vector<hashed>> distinct(width);
  std::vector<hashed> rows;
  auto const hash = [](text t) {
    XXH128_hash_t const h = XXH3_128bits(t.data, t.bytes);
    return hashed{h.low64, static_cast<std::uint32_t>(h.high64)};
  };
  for (std::uint64_t c = 0; c < width; ++c)
    if (columns[c]->codes) {
      distinct[c].resize(columns[c]->values);
      pool.run(columns[c]->values, 4096, [&](std::uint64_t k, std::uint64_t last) {
        for (; k < last; ++k) distinct[c][k] = hash(value_of(*columns[c], k));
      });
    }
  std::uint64_t const all = columns[0]->rows;
  for (std::uint64_t first = 0; first < all; first += block) {
    check_interrupted();
    std::uint64_t const n = width * std::min(block, all - first);
    rows.resize(n);
    // Known names are found by all threads; what is new is inserted in the order of the rows.
    pool.run(n, 4096, [&](std::uint64_t begin, std::uint64_t end) {
      auto const prepare = [&](std::uint64_t i) {
        std::uint64_t const row = first + i / width;
        name_column const& c = *columns[i % width];
        fetch(rows[i] = c.codes ? distinct[i % width][c.codes[row]] : hash(value_of(c, row)));
      };
      for (std::uint64_t i = begin; i < std::min(end, begin + ahead); ++i) prepare(i);
      for (std::uint64_t i = begin; i < end; ++i) {
        if (i + ahead < end) prepare(i + ahead);
        slot const* const s = find(rows[i]);
        to[width * first + i] = s && s->hash == rows[i].hash && s->check == rows[i].check ? s->number : 0;
      }
    });
    std::uint64_t soon = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      for (; soon < std::min(n, i + ahead); ++soon)
        if (to[width * first + soon] == 0) fetch(rows[soon]);
      std::uint64_t& number = to[width * first + i];
      if (number == 0) {
        name_column const& c = *columns[i % width];
        text const t = value_of(c, value_at(c, first + i / width));
        number = insert(rows[i], t.data, t.bytes);
      }
      --number;
    }
  }
}

std::uint64_t name_table::digest() const { return (digest_ ^ count_) ? digest_ ^ count_ : 1; }

void name_table::read(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& ends, std::string& bytes) {
  flush();
  std::uint64_t from = 0;
  std::size_t const had = ends.size(), had_bytes = bytes.size();
  ends.resize(had + count);
  if (count == 0) return;
  if (first) ends_.read(&from, 8, (first - 1) * 8);
  ends_.read(ends.data() + had, count * 8, first * 8);
  bytes.resize(had_bytes + ends.back() - from);
  names_.read(bytes.data() + had_bytes, ends.back() - from, from);
  for (std::size_t k = had; k < ends.size(); ++k) ends[k] += had_bytes - from;
}

}  // namespace garner

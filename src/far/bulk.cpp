// Bulk gathers on the host, plainly, and simulated: there the pieces go through a stage byte by byte as on a device, so that a test without
// one sees every byte that the engine would fetch.
#include "far/bulk.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

namespace {
std::uint64_t id_of(bulk_rows const& w, std::uint64_t k) {
  return (w.id_bytes == 8 ? static_cast<std::uint64_t const*>(w.ids)[k] : static_cast<std::uint32_t const*>(w.ids)[k]) >> w.id_shift;
}
char* place_of(bulk_rows const& w, std::uint64_t k) {
  std::uint64_t const position = w.positions ? w.positions[k] : k;
  return w.places ? w.places[position] : static_cast<char*>(w.out) + position * w.row_bytes;
}

void gather_on_host(executor& x, bulk_rows const& w) {
  auto const* const table = static_cast<char const*>(w.table);
  std::uint64_t const grain = std::clamp<std::uint64_t>((256u << 10) / w.row_bytes, 1, 4096);
  x.threads().run(w.count, grain, [&](std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t ahead = 8;  // rows on their way
    for (std::uint64_t k = begin; k < end; ++k) {
      if (k + ahead < end)
        if (std::uint64_t const next = id_of(w, k + ahead); next >= w.first_far)
          __builtin_prefetch(table + (next - w.first_row) * w.row_bytes);
      if (std::uint64_t const id = id_of(w, k); id >= w.first_far)
        std::memcpy(place_of(w, k), table + (id - w.first_row) * w.row_bytes, w.row_bytes);
    }
  });
}

void gather_simulated(request_sink* sink, bulk_rows const& w, std::uint64_t stage_bytes) {
  auto const table = reinterpret_cast<std::uint64_t>(w.table), table_end = table + w.rows * w.row_bytes;
  auto const byte = [](std::uint64_t a) { return *reinterpret_cast<char const*>(a); };
  std::vector<char> stage(stage_bytes);
  std::vector<far_read> reads[1];
  for (std::uint64_t k = 0, group = 0; k < w.count; k = group) {
    if (k % 4096 == 0) check_interrupted();
    std::uint64_t const id = id_of(w, k);
    group = k + 1;
    if (id < w.first_far) continue;
    while (group < w.count && group % bulk_repeats != 0 && id_of(w, group) == id) ++group;
    std::uint64_t const row = table + (id - w.first_row) * w.row_bytes, row_end = row + w.row_bytes;
    reads[0].clear();
    for (std::uint64_t p = 0; p < bulk_pieces(row, row_end, stage_bytes); ++p) {
      bulk_piece const b = bulk_piece_of(row, row_end, p, stage_bytes, table, table_end);
      for (std::uint64_t a = b.fetch; a < b.fetch_end; ++a) stage.at(a - b.base) = byte(a);
      std::uint64_t const first = std::min(b.from, b.fetch), last = std::max(b.to, b.fetch_end);
      for (std::uint64_t a = first; a < last; a = (a / bulk_line + 1) * bulk_line)
        reads[0].push_back({a, std::min(last, (a / bulk_line + 1) * bulk_line)});
      for (std::uint64_t j = k; j < group; ++j)
        for (std::uint64_t a = b.from; a < b.to; ++a)
          place_of(w, j)[a - row] = a >= b.fetch && a < b.fetch_end ? stage[a - b.base] : byte(a);
    }
    if (sink) sink->warp({reads, 1});
  }
}
}  // namespace

bulk_shape shape_of(bulk_rows const& w, bulk_options const& options, unsigned multiprocessors, std::size_t shared_bytes) {
  auto const from = reinterpret_cast<std::uint64_t>(w.table), to = w.places ? w.place_bits : reinterpret_cast<std::uint64_t>(w.out);
  bulk_shape s;
  s.whole = (from | to | w.row_bytes) % bulk_unit == 0;
  // What a row spans of lines at most, which is known from the bits that beginnings and lengths have in common.
  std::uint64_t const common = (from | w.row_bytes | bulk_line) & ~((from | w.row_bytes | bulk_line) - 1);
  std::uint64_t const span = (w.row_bytes + bulk_line - common + bulk_line - 1) / bulk_line * bulk_line;
  std::uint64_t const most =
      std::clamp<std::uint64_t>(options.stage_bytes ? options.stage_bytes : 4096, bulk_line, 16384) / bulk_line * bulk_line;
  s.stage_bytes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(span, bulk_line, most));
  std::size_t const room = std::min<std::size_t>(shared_bytes, 200u << 10);
  s.warps = options.warps ? std::clamp(options.warps, 1u, 16u) : s.stage_bytes <= 1152 ? 16 : 8;
  auto const stages = [&] { return room / s.warps / s.stage_bytes; };
  while (s.warps > 1 && (stages() < 4 || s.shared_bytes() > room)) s.warps /= 2;
  auto const fits = [&](std::size_t n) { return s.warps * (256 + n * s.stage_bytes) <= room; };
  std::size_t n = std::min<std::size_t>(32, stages());
  while (n > 1 && !fits(n)) --n;
  s.stages = static_cast<unsigned>(n);
  std::uint64_t const warps = (w.count + 31) / 32;
  std::uint64_t const asked = options.multiprocessors ? options.multiprocessors : 4;
  s.blocks =
      static_cast<unsigned>(std::max<std::uint64_t>(1, std::min({asked, std::uint64_t{multiprocessors}, (warps + s.warps - 1) / s.warps})));
  return s;
}

bool has_bulk_copies(int device) { return device >= 0 && on_gpu::has_bulk_copies(device); }

void gather_bulk(executor& x, bulk_rows const& w, bulk_options const& options) {
  if (w.id_bytes != 4 && w.id_bytes != 8) fail(errc::usage, "ids of {} bytes cannot be gathered; use 4 or 8", w.id_bytes);
  if (w.count == 0 || w.row_bytes == 0) return;
  switch (x.where().kind) {
    case device_kind::cpu:
      return gather_on_host(x, w);
    case device_kind::simulated:
      return x.give([sink = x.sink(), w, stage = shape_of(w, options, 4, 200u << 10).stage_bytes] { gather_simulated(sink, w, stage); });
    case device_kind::cuda:
      return on_gpu::gather_bulk(x, w, options);
  }
}

}  // namespace garner

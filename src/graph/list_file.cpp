#include "graph/list_file.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "core/exec.hpp"
#include "storage/measure.hpp"

namespace garner {

list_file::list_file(std::filesystem::path const& file, std::uint64_t bytes, std::uint64_t edges, std::shared_ptr<drive_set> drives,
                     std::uint64_t window_bytes)
    : name_(file.string()), window_bytes_(window_bytes) {
  reader_options how;
  how.size = bytes;
  how.gap_bytes = 0;           // gaps are skipped or read in place before the reader's completion
  how.deadline_seconds = 30;   // as for feature files
  how.most_bytes = 256 << 10;  // larger reads do not get faster
  files_ = drives ? std::make_unique<reader>(std::move(drives), how) : std::make_unique<reader>(std::vector<std::string>{name_}, how);
  block_ = std::clamp<std::uint64_t>(files_->offset_align(), unit, 4096);  // arrays in the file begin and end on a 4 KiB page
  sums_ = buffer<std::uint32_t>(tier::host, units_of(bytes), -1, "checksums of lists in a file");
  for (auto& right : right_) right = buffer<std::uint32_t>(tier::host, words_of(edges), -1, "checked lists of a file");
}

std::uint64_t list_file::gap(std::uint64_t requests) {
  std::lock_guard const hold(measuring_);
  if (!measured_gap_ && requests >= many_requests) measured_gap_ = measure();
  return measured_gap_.value_or(usual_gap);
}

// Uses a reader of its own, so that these reads do not count as adjacency reads.
std::uint64_t list_file::measure() const try {
  constexpr std::uint64_t large = 256 << 10;
  if (files_->size() < 64 * large) return usual_gap;
  reader probe(*files_, files_->depth());
  double const bytes = measure_reads(probe, large, 16, 1, 0.015).requests_a_second() * large;
  double requests = 0;  // takes the best of several: a busy processor must not count against the drive
  for (std::uint64_t k = 1; k <= 3; ++k)
    requests = std::max(requests, measure_reads(probe, block_, probe.depth(), 1, 0.008, k).requests_a_second());
  // Powers of two make the measured gap, and so each run, reproducible.
  return std::clamp(std::bit_floor(gap_that_pays(requests, bytes)), block_, std::max(most_gap, block_));
} catch (error const& e) {
  if (e.code() == errc::interrupted) throw;
  return usual_gap;
}

std::uint64_t list_file::compare(std::uint64_t at, void const* data, std::uint64_t bytes) {
  for (std::uint64_t k = 0; k < bytes; k += unit) {
    std::uint64_t const n = std::min(unit, bytes - k);
    auto const sum = static_cast<std::uint32_t>(XXH3_64bits_withSeed(static_cast<std::byte const*>(data) + k, n, at + k)) | 1;
    // Several threads may read the same file.
    std::uint32_t* const place = sums_.data() + (at + k) / unit;
    std::uint32_t const known = atomic_load(place);
    if (known == 0) atomic_store(place, sum);
    else if (known != sum) return at + k;
  }
  return none;
}

bool list_file::is_right(bool in, std::uint64_t block) const { return has_bit(right_[in].data(), block); }
void list_file::note_right(bool in, std::uint64_t block) { atomic_or(right_[in].data() + block / 32, 1u << block % 32); }
void list_file::note_all_right(bool in) { std::fill(right_[in].begin(), right_[in].end(), ~0u); }

}  // namespace garner

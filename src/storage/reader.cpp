// What a reader reads, and what its queues (read_queue.cpp) have done.
#include "storage/reader.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"
#include "storage/read_counts.hpp"

namespace garner {

std::size_t latency_histogram::bucket_of(std::uint64_t ns) {
  if (ns < 4) return ns;
  unsigned const power = static_cast<unsigned>(std::bit_width(ns)) - 1;
  return power * 4 + (ns >> (power - 2) & 3);
}
std::uint64_t latency_histogram::begin_of(std::size_t bucket) {
  if (bucket < 8) return std::min<std::size_t>(bucket, 4);
  return (4 + bucket % 4) << (bucket / 4 - 2);
}
std::uint64_t latency_histogram::count() const {
  std::uint64_t all = 0;
  for (std::uint64_t const n : counts) all += n;
  return all;
}
double latency_histogram::quantile(double share) const {
  std::uint64_t const all = count();
  if (!all) return 0;
  auto const wanted = static_cast<std::uint64_t>(share * static_cast<double>(all - 1));
  std::uint64_t before = 0;
  for (std::size_t k = 0; k < buckets; ++k) {
    before += counts[k];
    if (before > wanted)
      return (static_cast<double>(begin_of(k)) + static_cast<double>(k + 1 < buckets ? begin_of(k + 1) : begin_of(k))) / 2;
  }
  return 0;
}

std::uint64_t gap_that_pays(double requests_a_second, double bytes_a_second) {
  return requests_a_second > 0 ? static_cast<std::uint64_t>(bytes_a_second / requests_a_second) : 0;
}

reader::reader(std::shared_ptr<drive_set> drives, reader_options const& options)
    : drives_(std::move(drives)), options_(options), depth_(options.depth), shared_(std::make_shared<shared>()) {
  std::vector<drive_facts> const& all = drives_->drives();
  options_.most_bytes = std::min<std::uint64_t>(options_.most_bytes, 1u << 30);  // a read's length has 32 bits in io_uring
  if (options_.depth == 0 || options_.unit_bytes == 0 || options_.most_bytes == 0)
    fail(errc::usage, "a depth of {}, units of {} and reads of at most {} bytes; each must be 1 or more", options_.depth,
         options_.unit_bytes, options_.most_bytes);
  bool const striped = options_.files == arrangement::striped && all.size() > 1;
  std::uint64_t least = ~std::uint64_t{0};
  for (drive_facts const& d : all) {
    if (d.size < options_.begin)
      fail(errc::input, "{}: ends at byte {}, and what is read of it begins at {}", d.name, d.size, options_.begin);
    if (!striped && d.size != all[0].size && !options_.size)
      fail(errc::input, "{}: has {} bytes and {} has {}; replicas are the same", d.name, d.size, all[0].name, all[0].size);
    least = std::min(least, d.size - options_.begin);
  }
  size_ = options_.size;
  if (!size_) size_ = striped ? least / options_.unit_bytes * options_.unit_bytes * all.size() : least;
  for (std::size_t k = 0; options_.size && k < all.size(); ++k) {
    std::uint64_t needs = options_.begin + size_;
    if (striped) {
      std::uint64_t const units = size_ / options_.unit_bytes, tail = size_ % options_.unit_bytes;
      needs = options_.begin + (units / all.size() + (k < units % all.size())) * options_.unit_bytes + (k == units % all.size() ? tail : 0);
    }
    if (all[k].size < needs) fail(errc::input, "{}: has {} bytes where {} are due; is it a whole copy?", all[k].name, all[k].size, needs);
  }
}

reader::reader(reader const& like, unsigned depth)
    : reader(like.drives_, [&] {
        reader_options own = like.options_;
        own.depth = depth, own.sizes_depth = false, own.size = like.size_;
        return own;
      }()) {}
void reader::size_depth(unsigned depth) {
  if (options_.sizes_depth && depth) depth_.store(depth, std::memory_order_relaxed);
}

reader::~reader() = default;

unsigned reader::rings() const {
  if (options_.rings) return options_.rings;
  return std::clamp(shared_pool().threads() / 4, 1u, std::max(1u, drives_->rings()));
}
std::uint32_t reader::offset_align() const {
  std::uint32_t most = 1;
  for (drive_facts const& d : drives()) most = std::max(most, d.offset_align);
  return most;
}
std::uint32_t reader::memory_align() const {
  std::uint32_t most = 1;
  for (drive_facts const& d : drives()) most = std::max(most, d.memory_align);
  return most;
}

read_counters reader::counters() const {
  std::lock_guard const hold(shared_->mutex);
  read_counters all = shared_->gone;
  for (auto const& queue : shared_->live) queue->add_to(all);
  return all;
}

std::string reader::about() const {
  std::vector<drive_facts> const& all = drives();
  std::string text = all.size() == 1 ? all[0].name
                     : options_.files == arrangement::striped
                         ? fmt::format("{} files striped by {}", all.size(), format_bytes(options_.unit_bytes))
                         : fmt::format("{} replicas", all.size());
  {
    std::lock_guard const hold(shared_->mutex);
    if (!shared_->engine.empty()) text += ", " + shared_->engine;
  }
  std::size_t direct = 0;
  for (std::uint32_t k = 0; k < all.size(); ++k) direct += drives_->takes_direct(k);
  if (direct == all.size()) text += fmt::format(", past the page cache (blocks of {})", offset_align());
  else if (direct) text += fmt::format(", {} of them past the page cache (blocks of {})", direct, offset_align());
  else text += ", through the page cache";
  return text;
}

error reader::error_of(read_done const& done) const {
  std::string const& name = drives().at(done.drive).name;
  std::string const where = fmt::format("{}: {} bytes at byte {}", name, done.bytes, done.at);
  switch (done.problem) {
    case ENODATA:
      return {errc::input, where + ": the file ends before; was it cut just now?"};
    case ETIMEDOUT:
      return {errc::io, fmt::format("{}: no answer within {} s; look at the drive, or allow more time", where, options_.deadline_seconds)};
    case EBADMSG:
      return {errc::input, where + ": are not what was written there (checksum); restore the file from a copy"};
    default:
      return {errc::io, fmt::format("{}: cannot be read: {}", where, std::strerror(done.problem))};
  }
}

void read_all(read_queue& queue, reader const& files, std::span<read_request const> requests) {
  constexpr std::size_t at_once = 4096;
  try {
    for (std::size_t begin = 0; begin < requests.size() || queue.under_way();) {
      if (begin < requests.size() && queue.under_way() < at_once) {
        std::size_t const n = std::min(at_once, requests.size() - begin);
        queue.submit(requests.subspan(begin, n));
        begin += n;
      }
      for (read_done const& d : queue.wait(at_once))
        if (d.problem) throw files.error_of(d);
    }
  } catch (...) {
    queue.cancel();
    throw;
  }
}

void read_all(reader& files, std::span<read_request const> requests) {
  read_queue queue(files);
  read_all(queue, files, requests);
}

}  // namespace garner

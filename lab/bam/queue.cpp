// See queue.hpp: what the host does for request queues.
#include "lab/bam/queue.hpp"

#include <bit>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner::lab {

namespace {

struct read_pages {
  request_queues_view queues;
  std::uint64_t const* pages;
  std::uint32_t *frames, *results;
  std::uint64_t n, tries;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    queues.read(t, indices{item * 32, smaller<std::uint64_t>(n, item * 32 + 32)}, item + tries, pages, frames, results);
  }
};

// The pieces of a frame that begin on other pages of memory than its first.
std::uint64_t further_pieces(std::uint64_t at, std::uint64_t bytes, std::uint64_t piece) {
  std::uint64_t const first = piece - at % piece;
  return bytes > first ? (bytes - first + piece - 1) / piece : 0;
}

constexpr std::uint64_t memory_page = 4096;  // of PRPs, as configured in the controllers

struct serving {
  explicit serving(queue_provider& p) : provider(p) { provider.begin(); }
  ~serving() { provider.end(); }
  serving(serving const&) = delete;
  serving& operator=(serving const&) = delete;
  queue_provider& provider;
};

}  // namespace

queue_words::queue_words(std::uint32_t d) : depth(d) {
  marks = sizeof(queue_state);
  slots = marks + std::size_t{d} * 4;
  used = slots + std::size_t{d} * 4;
  answers = used + (std::size_t{d} + 31) / 32 * 4;
  bytes = answers + std::size_t{d} * 4;
}
void queue_words::write(std::byte* image, std::uint32_t const* slots_before) const {
  std::memset(image, 0, bytes);
  for (std::uint32_t k = 0; slots_before && k < depth; ++k) {
    std::uint32_t const generation = slots_before[k] & ~queue_view<>::kind_bits & ~0x7fffu;
    std::memcpy(image + slots + k * 4, &generation, 4);
  }
  std::uint32_t const none = ~0u << ((depth - 1) % 32);  // bits of no slot
  std::memcpy(image + used + (depth - 1) / 32 * 4, &none, 4);
}
queue_view<> queue_words::view(std::byte* block, queue_rings const& rings, double time_out_seconds, bool with_answers) const {
  auto const words = [&](std::size_t at) { return reinterpret_cast<std::uint32_t*>(block + at); };
  queue_view<> v;
  v.rings = rings;
  v.state = reinterpret_cast<queue_state*>(block);
  v.marks = words(marks), v.slots = words(slots), v.used = words(used);
  v.answers = with_answers ? words(answers) : nullptr;
  v.id_bits = static_cast<std::uint32_t>(std::countr_zero(depth));
  v.time_out = static_cast<std::uint64_t>(time_out_seconds * 1e9);
  return v;
}

request_queues::request_queues(executor& x, queue_provider& provider, queue_options const& options)
    : provider_(provider), memory_(provider.memory()), options_(options) {
  std::vector<queue_drive> const& drives = provider.drives();
  auto const& queues = provider.queues();
  std::uint64_t const page = options.page_bytes;
  if (options.frames == 0 || !(options.time_out_seconds > 0))
    fail(errc::usage, "{} frames and {} s for a request; each must be more than 0", options.frames, options.time_out_seconds);
  if (page > (2u << 20)) fail(errc::usage, "pages of {} bytes; at most 2 MiB are read by one command", page);
  std::uint64_t least = ~std::uint64_t{0};
  for (queue_drive const& d : drives) {
    if (page == 0 || page % d.block_bytes)
      fail(errc::usage, "{}: pages of {} bytes on a drive whose blocks have {}; use a multiple", d.name, page, d.block_bytes);
    if (page / d.block_bytes > 65536 || (d.most_bytes && page > d.most_bytes))
      fail(errc::usage, "{}: pages of {} bytes, and the drive reads at most {} at once", d.name, page,
           d.most_bytes ? d.most_bytes : 65536ull * d.block_bytes);
    if (options.replicated && d.blocks * d.block_bytes != drives[0].blocks * drives[0].block_bytes)
      fail(errc::input, "{}: has {} bytes and {} has {}; replicas are the same", d.name, d.blocks * d.block_bytes, drives[0].name,
           drives[0].blocks * drives[0].block_bytes);
    least = std::min(least, (d.blocks * d.block_bytes + page - 1) / page);
  }
  for (std::size_t k = 0; k < queues.size(); ++k)
    if (queues[k].drive != k % drives.size()) fail(errc::internal, "queue {} is of drive {}", k, queues[k].drive);
  if (queues.empty() || queues.size() % drives.size())
    fail(errc::usage, "{} queues for {} drives; use a multiple", queues.size(), drives.size());
  pages_ = options.replicated ? least : least * drives.size();

  if (provider.in_use.exchange(true)) fail(errc::usage, "{}: these queues are in use; make others", drives[0].name);
  try {
    open(x);
  } catch (...) {
    release();
    throw;
  }
}

void request_queues::open(executor& x) {
  std::vector<queue_drive> const& drives = provider_.drives();
  auto const& queues = provider_.queues();
  std::uint64_t const page = options_.page_bytes;
  // Frames, and the lists of their pieces where there are more than two.
  frames_ = memory_->allocate(std::size_t{options_.frames} * page, "frames of pages that are read");
  std::uint64_t const list_bytes = std::bit_ceil((page / memory_page + 1) * 8);
  bool const lists = page > 2 * memory_page || (page > memory_page && page % memory_page);
  if (lists) lists_ = memory_->allocate(options_.frames * list_bytes, "lists of the pieces of frames");
  std::vector<page_frame> frames(options_.frames);
  for (std::uint32_t k = 0; k < options_.frames; ++k) {
    std::byte* const at = frame(k);
    std::uint64_t const first = memory_page - reinterpret_cast<std::uintptr_t>(at) % memory_page;
    std::uint64_t const further = further_pieces(reinterpret_cast<std::uintptr_t>(at), page, memory_page);
    frames[k] = {memory_->address(at), further ? memory_->address(at + first) : 0};
    if (further < 2) continue;
    std::byte* const list = lists_ + k * list_bytes;
    for (std::uint64_t j = 0; j < further; ++j) {
      std::uint64_t const piece = memory_->address(at + first + j * memory_page);
      std::memcpy(list + j * 8, &piece, 8);
    }
    frames[k].prp2 = memory_->address(list);
  }
  near_frames_ = {x.near(), frames.size(), x.device(), "frames of pages that are read"};
  x.copy(near_frames_.data(), frames.data(), near_frames_.bytes());

  failure_ = {x.near(), 1, x.device(), "request queues"};
  targets_.resize(queues.size());
  words_.resize(queues.size());
  for (unsigned q = 0; q < queues.size(); ++q) {
    queue_drive const& d = drives[queues[q].drive];
    queue_words const words(queues[q].rings.depth);
    words_[q] = {x.near(), words.bytes, x.device(), "request queues"};
    targets_[q] = {words.view(words_[q].data(), queues[q].rings, options_.time_out_seconds, false), d.name_space,
                   static_cast<std::uint32_t>(page / d.block_bytes), d.blocks};
  }
  std::vector<bool> anew(queues.size());
  for (unsigned q = 0; q < queues.size(); ++q)
    if (!anew[q])
      for (unsigned const made : provider_.restart(q, {})) anew[made] = true;
  for (unsigned q = 0; q < queues.size(); ++q) make_anew(x, q, true);
  near_targets_ = {x.near(), targets_.size(), x.device(), "request queues"};
  x.copy(near_targets_.data(), targets_.data(), near_targets_.bytes());
  x.fill(failure_.data(), 0, failure_.bytes());
  x.wait();
}

void request_queues::release() noexcept {
  if (!broken_.empty()) return;  // a drive may still write there; the memory goes with its owner
  if (lists_) memory_->release(lists_);
  if (frames_) memory_->release(frames_);
  provider_.in_use = false;
}

request_queues_view request_queues::view() const {
  auto const count = static_cast<std::uint32_t>(targets_.size());
  return {near_targets_.data(),
          near_frames_.data(),
          failure_.data(),
          count,
          static_cast<std::uint32_t>(provider_.drives().size()),
          options_.replicated,
          pages_};
}

std::size_t request_queues::near_bytes() const {
  std::size_t all = near_frames_.bytes() + near_targets_.bytes() + failure_.bytes();
  for (auto const& w : words_) all += w.bytes();
  return all;
}

void request_queues::make_anew(executor& x, unsigned q, bool first) {
  queue_words const words(targets_[q].queue.rings.depth);
  std::vector<std::byte> image(words.bytes), old(words.bytes);
  if (!first) {
    x.copy(old.data(), words_[q].data(), words.bytes);
    x.wait();
    queue_state state;
    std::memcpy(&state, old.data(), sizeof state);
    before_.commands += state.tail, before_.doorbells += state.doorbells, before_.strays += state.strays;
    ++before_.restarts;
  }
  words.write(image.data(), first ? nullptr : reinterpret_cast<std::uint32_t const*>(old.data() + words.slots));
  x.copy(words_[q].data(), image.data(), words.bytes);
  x.wait();
}

std::vector<std::uint16_t> request_queues::under_way(executor& x, unsigned q) const {
  queue_view<> const& v = targets_[q].queue;
  std::vector<std::uint32_t> slots(v.count());
  x.copy(slots.data(), v.slots, slots.size() * 4);
  x.wait();
  std::vector<std::uint16_t> ids;
  for (std::uint32_t k = 0; k < slots.size(); ++k)
    if ((slots[k] & v.kind_bits) == v.slot_sent)
      ids.push_back(static_cast<std::uint16_t>(k | (slots[k] & v.generation_bits()) >> 15 << v.id_bits));
  return ids;
}

queue_report request_queues::report(executor& x) const {
  queue_report r = before_;
  for (auto const& words : words_) {
    auto const state = x.read(reinterpret_cast<queue_state const*>(words.data()));
    r.commands += state.tail, r.doorbells += state.doorbells, r.strays += state.strays;
  }
  return r;
}

error request_queues::error_of(queue_failure const& f, unsigned tries) const {
  std::size_t const drives = provider_.drives().size();
  queue_drive const& d = provider_.drives()[f.queue % drives];
  std::uint64_t const page = options_.replicated ? f.page : f.page / drives;
  std::string const where =
      fmt::format("{}: page {} ({} bytes at byte {})", d.name, f.page, options_.page_bytes, page * options_.page_bytes);
  std::string const often = tries ? fmt::format(", {} times", tries + 1) : std::string();
  if (f.page >= pages_) return {errc::usage, fmt::format("{}: there are {} pages", where, pages_)};
  if (f.status & (queue_request::timed_out | queue_request::stopped))
    return {errc::io,
            fmt::format("{}: no answer within {} s{}; look at the drive, or allow more time", where, options_.time_out_seconds, often)};
  std::string why = provider_.explain(f.queue, f.status);
  if (why.empty()) why = nvme::status_name(f.status) + often + "; look at the drive, or read a copy";
  return {errc::io, fmt::format("{}: {}", where, why)};
}

bool request_queues::settle(executor& x, unsigned tries) {
  queue_failure const f = x.read(failure_.data());
  if (!f.noted) return false;
  x.fill(failure_.data(), 0, failure_.bytes());
  try {
    std::vector<bool> anew(targets_.size());
    for (unsigned q = 0; q < targets_.size(); ++q) {
      if (anew[q] || !x.read(&targets_[q].queue.state->stopped)) continue;
      for (unsigned const made : provider_.restart(q, under_way(x, q))) make_anew(x, made, false), anew[made] = true;
    }
  } catch (std::exception const& e) {
    broken_ = e.what();
    throw;
  }
  check_interrupted();
  // Another try goes to another replica.
  bool const elsewhere = options_.replicated && tries + 1 < provider_.drives().size();
  if (!elsewhere && (tries >= options_.retries || f.status & nvme::final_bit || f.page >= pages_)) throw error_of(f, tries);
  ++before_.again;
  return true;
}

void request_queues::run(executor& x, std::function<void(unsigned)> const& loop) {
  if (!broken_.empty()) fail(errc::io, "these queues take nothing more: {}", broken_);
  x.fill(failure_.data(), 0, failure_.bytes());  // of a loop that was interrupted
  serving const now(provider_);
  unsigned tries = 0;
  try {
    do loop(tries);
    while (settle(x, tries++));
  } catch (error const& e) {
    if (e.code() == errc::device && broken_.empty()) broken_ = e.what();  // its lanes have left, with requests in flight
    throw;
  }
}

void request_queues::read(executor& x, std::span<std::uint64_t const> pages, std::span<std::uint32_t> frames) {
  if (frames.size() < pages.size()) fail(errc::usage, "{} pages into {} frames", pages.size(), frames.size());
  std::uint64_t const n = pages.size();
  if (n == 0) return;
  buffer<std::uint32_t> results(x.near(), n, x.device(), "results of reads");
  x.fill(results.data(), 0xff, results.bytes());
  run(x, [&](unsigned tries) {
    for_each_item<32>(x, (n + 31) / 32, read_pages{view(), pages.data(), frames.data(), results.data(), n, tries});
  });
}

}  // namespace garner::lab

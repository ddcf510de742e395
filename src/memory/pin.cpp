#include "memory/pin.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/fail.hpp"
#include "memory/page.hpp"

namespace garner {

namespace {
void* as_pointer(std::uintptr_t a) { return reinterpret_cast<void*>(a); }
constexpr std::size_t fine_step = 64;  // of a search among somebody else's parts, where steps of a page found none

std::string why_refused(std::uintptr_t begin, std::size_t bytes, std::string const& why) {
  mapping_at const m = mapping_of(as_pointer(begin));
  std::string what_helps;
  if (m.known && !m.writable)
    what_helps =
        fmt::format("; it is a read-only mapping{}{}, which this device cannot pin: map it private and writable, or read it into memory",
                    m.file.empty() ? "" : " of ", m.file);
  else if (m.known && m.shared && !m.file.empty() && m.file.rfind("/dev/shm/", 0) != 0 && m.file.rfind("/memfd:", 0) != 0)
    what_helps = fmt::format(
        "; it is a shared mapping of {}, whose pages a file system may refuse to pin: map it private, or read it into memory", m.file);
  else what_helps = "; free host memory, or in a container raise the memory limit";  // `ulimit -l` does not bind NVIDIA's driver
  return fmt::format("host memory: {} bytes at {} could not be pinned and mapped where they lie: {}{}", bytes, as_pointer(begin), why,
                     what_helps);
}
}  // namespace

mapping_at mapping_of(void const* at, std::string const& maps) {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream in(maps);
  for (std::string line; std::getline(in, line);) {  // begin-end rwxp offset major:minor inode file
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string mode, offset, dev, inode;
    if (!(words >> std::hex >> begin >> dash >> end >> mode >> offset >> dev >> inode) || address < begin || address >= end) continue;
    mapping_at m{true, mode.size() > 1 && mode[1] == 'w', mode.size() > 3 && mode[3] == 's', ""};
    std::getline(words >> std::ws, m.file);
    if (m.file.rfind('/', 0) != 0) m.file.clear();  // "[heap]"
    return m;
  }
  return {};
}

pin_registry::parts::iterator pin_registry::first_in(std::uintptr_t begin) {
  auto at = parts_.upper_bound(begin);
  if (at != parts_.begin() && std::prev(at)->second.end > begin) --at;
  return at;
}

std::uintptr_t pin_registry::theirs_until(std::uintptr_t at) const { return at + calls_.pinned_from(as_pointer(at)); }

std::uintptr_t pin_registry::next_theirs(std::uintptr_t begin, std::uintptr_t end, std::size_t step) const {
  std::uintptr_t before = begin;  // not pinned elsewhere
  for (std::uintptr_t at = begin; at < end; at = at == end - 1 ? end : std::min(end - 1, at / step * step + step)) {
    if (theirs_until(at) == at) {
      before = at;
      continue;
    }
    while (at - before > 1) {  // it begins in (before, at]
      std::uintptr_t const middle = before + (at - before) / 2;
      (theirs_until(middle) == middle ? before : at) = middle;
    }
    return at;
  }
  return end;
}

void pin_registry::pin_ours(std::uintptr_t begin, std::uintptr_t end, parts& made, std::size_t step) {
  device::pin_answer answer = calls_.pin(as_pointer(begin), end - begin, false);
  if (answer.result == device::pin_result::refused && !mapping_of(as_pointer(begin)).writable)
    if (device::pin_answer again = calls_.pin(as_pointer(begin), end - begin, true); again.result == device::pin_result::pinned)
      answer = again;
  if (answer.result == device::pin_result::pinned) {
    made[begin] = {end};
    return;
  }
  if (answer.result == device::pin_result::refused) fail(errc::memory, "{}", why_refused(begin, end - begin, answer.why));
  if (!step)
    fail(errc::memory,
         "host memory: {} bytes at {} are pinned in part by other code, and the driver does not report which; unpin them there, or copy "
         "them",
         end - begin, as_pointer(begin));
  // Some bytes in between are pinned by others: pin those before, between and after them.
  for (std::uintptr_t at = begin; at < end;) {
    std::uintptr_t const theirs = next_theirs(at, end, step);
    if (theirs > at) pin_ours(at, theirs, made, step > fine_step ? fine_step : 0);
    if (theirs == end) break;
    at = std::min(end, theirs_until(theirs));
    made[theirs] = {at, 0, false};
  }
}

void pin_registry::pin_gap(std::uintptr_t begin, std::uintptr_t end, parts& made) {
  // Often its allocator has pinned all of it: checked first, since that is one query.
  std::uintptr_t at = begin;
  while (at < end) {
    std::uintptr_t const theirs = std::min(end, theirs_until(at));
    if (theirs == at) break;
    made[at] = {theirs, 0, false};
    at = theirs;
  }
  if (at < end) pin_ours(at, end, made, page_bytes);
}

void pin_registry::hold(void const* data, std::size_t bytes) {
  auto const begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes;
  std::lock_guard const hold(mutex_);
  parts made;
  try {
    std::uintptr_t at = begin;
    for (auto p = first_in(begin); p != parts_.end() && p->first < end; ++p) {
      if (at < p->first) pin_gap(at, p->first, made);
      at = p->second.end;
    }
    if (at < end) pin_gap(at, end, made);
  } catch (...) {
    for (auto const& [from, p] : made)
      if (p.ours) calls_.unpin(as_pointer(from));
    throw;
  }
  parts_.merge(made);
  for (auto p = first_in(begin); p != parts_.end() && p->first < end; ++p) ++p->second.holders;
}

void pin_registry::release(void const* data, std::size_t bytes) noexcept {
  auto const begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes;
  std::lock_guard const hold(mutex_);
  for (auto p = first_in(begin); p != parts_.end() && p->first < end;) {
    if (--p->second.holders) {
      ++p;
      continue;
    }
    if (p->second.ours) calls_.unpin(as_pointer(p->first));
    p = parts_.erase(p);
  }
}

std::size_t pin_registry::pinned_bytes() const {
  std::lock_guard const hold(mutex_);
  std::size_t n = 0;
  for (auto const& [begin, p] : parts_)
    if (p.ours) n += p.end - begin;
  return n;
}

pin_registry& shared_pins() {
  // Never destroyed: an array that lives until the process ends may be released after it.
  static auto& instance = *new pin_registry({device::pin, device::unmap_host, device::pinned_from});
  return instance;
}

pinned_pages::pinned_pages(void const* data, std::size_t bytes, int device) : device_(device) {
  if (!data || bytes == 0) fail(errc::usage, "an empty array cannot be pinned; pass one with data");
  device::make_current(device);
  shared_pins().hold(data, bytes);
  data_ = data;
  bytes_ = bytes;
}

void pinned_pages::reset() noexcept {
  if (data_) shared_pins().release(std::exchange(data_, nullptr), bytes_);
}

void const* pinned_pages::device_data() const { return device::seen_by(device_, data_); }

}  // namespace garner

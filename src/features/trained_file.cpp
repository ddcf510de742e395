// See trained_file.hpp. All is little-endian. A head takes 4 KiB. A record is a row, padded to sectors, and its state (embedding.hpp).
// A journal: records, then for each its row, then a tail with the steps and the number of records.
#include "features/trained_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "storage/file_changes.hpp"

namespace garner {

namespace {

constexpr std::uint64_t head_bytes = 4096, at_once = 16u << 20;
constexpr char magic[8] = {'\x89', 'G', 'N', 'E', '\r', '\n', '\x1a', '\n'},
               journal_magic[8] = {'\x89', 'G', 'N', 'L', '\r', '\n', '\x1a', '\n'};

struct file_head {
  char is[8];
  std::uint32_t version, kind, optimizer, zero;
  std::uint64_t rows, width, record_bytes, steps, sum;
  std::uint64_t own_sum() const { return ::XXH3_64bits(this, offsetof(file_head, sum)); }
};
struct journal_tail {
  std::uint64_t steps, count, sum;  // sum: of the rows, the steps and the count
  char is[8];
  std::uint64_t own_sum(std::vector<std::uint64_t> const& rows) const {
    return ::XXH3_64bits_withSeed(rows.data(), rows.size() * sizeof(std::uint64_t), ::XXH3_64bits(this, offsetof(journal_tail, sum)));
  }
};

file_head head_of(trained_file::shape const& of, std::uint64_t steps) {
  file_head h{};
  std::memcpy(h.is, magic, sizeof magic);
  h.version = 1, h.kind = static_cast<std::uint32_t>(of.kind), h.optimizer = static_cast<std::uint32_t>(of.optimizer);
  h.rows = of.rows, h.width = of.width, h.record_bytes = of.record_bytes, h.steps = steps;
  h.sum = h.own_sum();
  return h;
}
std::string told(std::uint64_t rows, std::uint64_t width, std::uint32_t kind, std::uint32_t optimizer) {
  return fmt::format("{} rows of {} {}, stepped by {}", rows, width, to_string(static_cast<element>(kind)),
                     to_string(static_cast<row_optimizer>(optimizer)));
}

void read_at(int fd, std::string const& name, void* to, std::uint64_t bytes, std::uint64_t at) {
  for (std::uint64_t done = 0; done < bytes;) {
    ::ssize_t const n = ::pread(fd, static_cast<char*>(to) + done, bytes - done, static_cast<::off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      fail(n ? errc::io : errc::input, "{}: cannot be read at byte {}: {}; restore the table from a copy", name, at + done,
           n ? std::strerror(errno) : "it ends there");
    done += static_cast<std::uint64_t>(n);
  }
}
void write_at(int fd, std::string const& name, void const* from, std::uint64_t bytes, std::uint64_t at) {
  for (std::uint64_t done = 0; done < bytes;) {
    ::ssize_t const n = ::pwrite(fd, static_cast<char const*>(from) + done, bytes - done, static_cast<::off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      fail(errc::io, "{}: writing rows failed: {}; the journal next to the table has all of them, and the next to open it writes them",
           name, std::strerror(errno));
    done += static_cast<std::uint64_t>(n);
  }
}

}  // namespace

void trained_file::create(std::filesystem::path const& file, shape const& of, draw_records_to const& draw) {
  pending_file out(file);
  std::string head(head_bytes, '\0');
  file_head const h = head_of(of, 0);
  std::memcpy(head.data(), &h, sizeof h);
  out.write(head);
  std::uint64_t const some = std::clamp<std::uint64_t>(at_once / of.record_bytes, 1, of.rows);
  std::vector<char> records(some * of.record_bytes);
  progress told("drawing rows", of.rows);
  for (std::uint64_t r = 0; r < of.rows; r += some) {
    std::uint64_t const n = std::min(some, of.rows - r);
    draw(r, n, records.data());
    out.write(records.data(), n * of.record_bytes);
    told.advance(n);
  }
  out.commit();
}

trained_file::trained_file(std::filesystem::path file, shape const& of) : name_(file.string()), of_(of) {
  fd_ = ::open(name_.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd_ < 0)
    fail(errc::io, "{}: cannot be opened for training: {}; rows are learned in a file that you may write to", name_, std::strerror(errno));
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
      fail(errc::io, "{}: another table has it open for training; end that one first, or train a copy of the file", name_);
    file_head h{};
    std::uint64_t const size = static_cast<std::uint64_t>(std::max<::off_t>(::lseek(fd_, 0, SEEK_END), 0));
    if (size >= head_bytes) read_at(fd_, name_, &h, sizeof h, 0);
    if (std::memcmp(h.is, magic, sizeof magic) != 0 || h.version != 1)
      fail(errc::input, "{}: is not a file of trainable rows; name one, or a new file", name_);
    auto const damaged = [&] { fail(errc::input, "{}: is damaged or cut; restore it from a copy", name_); };
    if (h.kind > static_cast<std::uint32_t>(element::u8) || h.optimizer > 2) damaged();
    file_head const wanted = head_of(of, 0);
    if (std::memcmp(&wanted, &h, offsetof(file_head, steps)) != 0)
      fail(errc::input, "{}: holds {}, and the table is to have {}; open it as what it is, or name a new file", name_,
           told(h.rows, h.width, h.kind, h.optimizer), told(of.rows, of.width, wanted.kind, wanted.optimizer));
    if (size - head_bytes != of.rows * of.record_bytes) damaged();
    apply_journal();
    read_at(fd_, name_, &h, sizeof h, 0);
    if (h.sum != h.own_sum()) damaged();
    steps_ = h.steps;
  } catch (...) {
    ::close(fd_);
    throw;
  }
}
trained_file::~trained_file() { ::close(fd_); }

void trained_file::require_whole() const {
  if (behind_) fail(errc::io, "{}: its last flush was not finished; open it again, which finishes it", name_);
}

void trained_file::read(std::span<std::uint64_t const> rows, std::span<char* const> at) const {
  require_whole();
  shared_pool().run(rows.size(), 64, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t k = first; k < last; ++k) {
      auto const changed = place_of_.find(rows[k]);
      if (changed != place_of_.end()) journal_->read_at(changed->second * of_.record_bytes, at[k], of_.record_bytes);
      else read_at(fd_, name_, at[k], of_.record_bytes, head_bytes + rows[k] * of_.record_bytes);
    }
  });
}

void trained_file::change(std::span<std::uint64_t const> rows, std::span<char const* const> at) {
  require_whole();
  if (rows.empty()) return;
  if (!journal_) journal_ = std::make_unique<pending_file>(journal_of(name_));
  interrupts_held const whole;
  // A record that is there already is written where it is, so that a failure may leave some of those new and others old: they are in the
  // memory of the caller all the same, which keeps them.
  std::vector<std::uint64_t> places;
  std::uint64_t end = row_at_.size();
  for (std::uint64_t const row : rows) {
    auto const known = place_of_.find(row);
    places.push_back(known == place_of_.end() ? end++ : known->second);
  }
  shared_pool().run(rows.size(), 64, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t k = first; k < last; ++k) journal_->write_at(places[k] * of_.record_bytes, at[k], of_.record_bytes);
  });
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (place_of_.try_emplace(rows[k], places[k]).second) row_at_.push_back(rows[k]);
}

void trained_file::flush(std::uint64_t steps) {
  require_whole();
  if (!journal_ && steps == steps_) return;
  if (!journal_) journal_ = std::make_unique<pending_file>(journal_of(name_));
  journal_tail tail{steps, row_at_.size(), 0, {}};
  tail.sum = tail.own_sum(row_at_);
  std::memcpy(tail.is, journal_magic, sizeof journal_magic);
  std::uint64_t const ids = row_at_.size() * of_.record_bytes, ids_bytes = row_at_.size() * sizeof(std::uint64_t);
  journal_->write_at(ids, row_at_.data(), ids_bytes);
  journal_->write_at(ids + ids_bytes, &tail, sizeof tail);
  if (between_changes) between_changes();
  journal_->flush();
  interrupts_held const whole;
  behind_ = true;  // until the file has what the journal has
  journal_->publish();
  journal_.reset();
  if (between_changes) between_changes();
  apply_journal();
  behind_ = false;
  place_of_.clear(), row_at_.clear();
  steps_ = steps;
}

void trained_file::apply_journal() {
  std::string const name = journal_of(name_);
  if (::access(name.c_str(), F_OK) != 0) return;
  interrupts_held const whole;
  input_file const in(name);
  auto const bad = [&](char const* what) {
    fail(errc::input, "{}: is the journal of rows that were learned, and {}; restore the table from a copy, and remove this file", name,
         what);
  };
  journal_tail tail{};
  if (in.size() < sizeof tail) bad("is damaged");
  in.read(&tail, sizeof tail, in.size() - sizeof tail);
  std::uint64_t const each = of_.record_bytes + sizeof(std::uint64_t);
  if (std::memcmp(tail.is, journal_magic, sizeof journal_magic) != 0) bad("is damaged");
  if (tail.count > in.size() / each || tail.count * each + sizeof tail != in.size()) bad("is of another table");
  std::vector<std::uint64_t> rows(tail.count);
  in.read(rows.data(), rows.size() * sizeof(std::uint64_t), tail.count * of_.record_bytes);
  if (tail.sum != tail.own_sum(rows)) bad("is damaged");
  if (std::any_of(rows.begin(), rows.end(), [&](std::uint64_t row) { return row >= of_.rows; })) bad("is of another table");
  file_head const head = head_of(of_, tail.steps);
  shared_pool().run(rows.size(), 64, [&](std::uint64_t first, std::uint64_t last) {
    std::vector<char> record(of_.record_bytes);
    for (std::uint64_t k = first; k < last; ++k) {
      in.read(record.data(), record.size(), k * of_.record_bytes);
      write_at(fd_, name_, record.data(), record.size(), head_bytes + rows[k] * of_.record_bytes);
      if (between_changes) between_changes();
    }
  });
  write_at(fd_, name_, &head, sizeof head, 0);
  if (::fdatasync(fd_) != 0)
    fail(errc::io, "{}: writing rows failed: {}; check the disk, and open the table again", name_, std::strerror(errno));
  if (between_changes) between_changes();
  ::unlink(name.c_str());
}

void record_cache::bring(std::span<std::uint64_t const> rows, bool change, std::uint64_t* slots) {
  ++calls_;
  std::vector<std::uint64_t> missing, leaving, fresh;
  std::vector<std::uint64_t*> wanted;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    auto const here = slot_of_.find(rows[k]);
    if (here == slot_of_.end()) {
      missing.push_back(rows[k]), wanted.push_back(slots + k);
      continue;
    }
    slot& s = slots_[here->second];
    s.used = calls_, s.again = true;
    slots[k] = here->second;
  }
  std::vector<char const*> from;
  std::vector<char*> to;
  while (fresh.size() < missing.size()) {
    std::uint64_t const k = hand_;
    hand_ = hand_ + 1 == slots_.size() ? 0 : hand_ + 1;
    slot& s = slots_[k];
    if (s.row != none && (s.used == calls_ || std::exchange(s.again, false))) continue;
    s.used = calls_;
    fresh.push_back(k), to.push_back(at(k));
    if (s.row != none && s.changed) leaving.push_back(s.row), from.push_back(at(k));
  }
  file_.change(leaving, from);
  for (std::uint64_t const k : fresh) {
    if (slots_[k].row != none) slot_of_.erase(slots_[k].row);
    slots_[k].row = none, slots_[k].changed = false;
  }
  file_.read(missing, to);
  for (std::size_t k = 0; k < missing.size(); ++k) slots_[fresh[k]].row = missing[k], slot_of_[missing[k]] = *wanted[k] = fresh[k];
  for (std::size_t k = 0; k < rows.size() && change; ++k) slots_[slots[k]].changed = true;
}

void record_cache::write_back() {
  std::vector<std::uint64_t> rows;
  std::vector<char const*> from;
  for (std::uint64_t k = 0; k < slots_.size(); ++k)
    if (slots_[k].row != none && slots_[k].changed) rows.push_back(slots_[k].row), from.push_back(at(k));
  file_.change(rows, from);
  for (slot& s : slots_) s.changed = false;
}

char const* record_cache::find(std::uint64_t row) const {
  auto const here = slot_of_.find(row);
  return here == slot_of_.end() ? nullptr : at(here->second);
}
void record_cache::put(std::uint64_t row, char const* record) {
  std::uint64_t const k = slot_of_.at(row);
  std::memcpy(at(k), record, bytes_);
  slots_[k].changed = true;
}

}  // namespace garner

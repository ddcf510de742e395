// See file_changes.hpp. A journal, little-endian: 8 bytes of magic, XXH3 of what follows, the id, the number of changes, then for each
// its file, 4 bytes of zeros, offset and length, and its bytes.
#include "storage/file_changes.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"

namespace garner {

namespace {

constexpr std::string_view journal_magic = "\x89GNJ\r\n\x1a\n";
constexpr std::size_t journal_begins = 8 + 8;

class opened {
 public:
  explicit opened(std::string const& name) : name_(name), fd_(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (fd_ < 0)
      fail(errc::io, "{}: cannot be written to: {}; rows are put by a user that may write to the file", name, std::strerror(errno));
  }
  opened(opened&& o) noexcept : name_(std::move(o.name_)), fd_(std::exchange(o.fd_, -1)) {}
  opened& operator=(opened&&) = delete;
  ~opened() {
    if (fd_ >= 0) ::close(fd_);
  }
  void lock() const {
    while (::flock(fd_, LOCK_EX) != 0)
      if (errno != EINTR) fail(errc::io, "{}: cannot be locked: {}", name_, std::strerror(errno));
  }
  std::uint64_t size() const {
    struct ::stat facts {};
    if (::fstat(fd_, &facts) != 0) fail(errc::io, "{}: {}", name_, std::strerror(errno));
    return static_cast<std::uint64_t>(facts.st_size);
  }
  void write(std::string const& bytes, std::uint64_t at) const {
    for (std::size_t k = 0; k < bytes.size();) {
      ::ssize_t const n = ::pwrite(fd_, bytes.data() + k, bytes.size() - k, static_cast<::off_t>(at + k));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) refuse();
      k += static_cast<std::size_t>(n);
    }
  }
  void flush() const {
    if (::fdatasync(fd_) != 0) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    fail(errc::io, "{}: writing rows failed: {}; the journal next to the table has all of them, and the next to open it writes them", name_,
         std::strerror(errno));
  }
  std::string name_;
  int fd_;
};

void step() {
  if (between_changes) between_changes();
}

void apply(std::filesystem::path const& file, std::vector<opened> const& files, std::vector<file_change> const& changes) {
  for (file_change const& c : changes) {
    files[c.file].write(c.bytes, c.offset);
    step();
  }
  for (opened const& f : files) f.flush();
  step();
  ::unlink(journal_of(file).c_str());
}

void require_within(std::vector<opened> const& files, std::vector<file_change> const& changes, std::string const& name) {
  for (file_change const& c : changes)
    if (c.file >= files.size() || c.offset > files[c.file].size() || c.bytes.size() > files[c.file].size() - c.offset)
      fail(errc::input, "{}: changes bytes that the table lacks; restore the table from a copy, and remove this file", name);
}

template <class T>
void add(std::string& text, T value) {
  text.append(reinterpret_cast<char const*>(&value), sizeof value);
}

std::vector<opened> open_all(std::vector<std::string> const& names) {
  std::vector<opened> all;
  for (std::string const& n : names) all.emplace_back(n);
  return all;
}

}  // namespace

std::string journal_of(std::filesystem::path const& file) { return file.string() + ".put"; }

void change_files(std::filesystem::path const& file, std::vector<std::string> const& names, file_id const& id,
                  std::vector<file_change> const& changes, std::function<void()> const& require_current) {
  opened const first(file.string());
  first.lock();
  struct ::stat there {};
  if (::stat(journal_of(file).c_str(), &there) == 0)  // of a process that ended meanwhile
    fail(errc::input, "{}: another process began to write rows and ended; put them again, which finishes its write first", file.string());
  require_current();
  std::vector<opened> const files = open_all(names);
  require_within(files, changes, file.string());
  std::string text;
  text.append(reinterpret_cast<char const*>(id.data()), id.size());
  add(text, std::uint64_t{changes.size()});
  for (file_change const& c : changes)
    add(text, c.file), add(text, std::uint32_t{0}), add(text, c.offset), add(text, std::uint64_t{c.bytes.size()}), text += c.bytes;
  pending_file journal(journal_of(file));
  journal.write(journal_magic);
  std::uint64_t const sum = ::XXH3_64bits(text.data(), text.size());
  journal.write(&sum, sizeof sum);
  journal.write(text);
  step();
  journal.flush();
  interrupts_held const whole;
  journal.publish();
  step();
  apply(file, files, changes);
}

void finish_changes(std::filesystem::path const& file, files_of of) {
  std::string const name = journal_of(file);
  struct ::stat there {};
  if (::stat(name.c_str(), &there) != 0) return;
  opened const first(file.string());
  first.lock();
  if (::stat(name.c_str(), &there) != 0) return;  // its writer has finished
  auto const bad = [&](char const* what) {
    fail(errc::input, "{}: is the journal of rows that were put, and {}; restore the table from a copy, and remove this file", name, what);
  };
  input_file const in(name);
  std::string text(in.size(), '\0');
  in.read(text.data(), text.size(), 0);
  std::uint64_t sum = 0, at = journal_begins, count = 0;
  if (text.size() < journal_begins + 24 || text.compare(0, journal_magic.size(), journal_magic) != 0) bad("is damaged");
  std::memcpy(&sum, text.data() + 8, 8);
  if (sum != ::XXH3_64bits(text.data() + journal_begins, text.size() - journal_begins)) bad("is damaged");
  changed_files const now = of(file);
  if (std::memcmp(now.id.data(), text.data() + at, now.id.size()) != 0) bad("is not of this table");
  at += 16;
  std::memcpy(&count, text.data() + at, 8), at += 8;
  std::vector<file_change> changes;
  for (; count; --count) {
    file_change& c = changes.emplace_back();
    std::uint64_t bytes = 0;
    if (text.size() - at < 24) bad("is damaged");
    std::memcpy(&c.file, text.data() + at, 4), std::memcpy(&c.offset, text.data() + at + 8, 8),
        std::memcpy(&bytes, text.data() + at + 16, 8);
    at += 24;
    if (bytes > text.size() - at) bad("is damaged");
    c.bytes = text.substr(at, bytes), at += bytes;
  }
  std::vector<opened> const files = open_all(now.files);
  require_within(files, changes, name);
  apply(file, files, changes);
}

changed_files itself_alone(std::filesystem::path const& file) {
  struct ::stat facts {};
  if (::stat(file.c_str(), &facts) != 0) fail(errc::io, "{}: {}", file.string(), std::strerror(errno));
  changed_files one{{file.string()}, {}};
  std::uint64_t const numbers[2] = {facts.st_ino, static_cast<std::uint64_t>(facts.st_size)};
  std::memcpy(one.id.data(), numbers, sizeof numbers);
  return one;
}

}  // namespace garner

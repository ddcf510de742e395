// Sources of reads: one drive or several, each a file, a block device, or simulated; and the engine that reads them. A reader (reader.hpp)
// splits, sorts and joins requests, and submits plain reads of one drive each to an engine. An engine belongs to one queue of the reader
// and is used by one thread at a time; the drives are shared by all queues.
// Invariant: every submitted read completes exactly once, in any order, also after cancel(); until then the engine owns its memory.
#pragma once
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace garner {

struct drive_facts {
  std::string name;
  std::uint64_t size = 0;
  bool direct = false;  // read past the page cache (O_DIRECT): offset and length are multiples of offset_align, memory of memory_align
  std::uint32_t offset_align = 1, memory_align = 1;
};

struct engine_read {
  std::uint64_t id = 0;  // comes back with the answer
  std::uint32_t drive = 0;
  bool direct = false;
  std::uint64_t offset = 0, bytes = 0;
  ::iovec const* parts = nullptr;  // stay where they are until the answer has come
  std::uint32_t count = 0;
};

struct engine_answer {
  std::uint64_t id = 0;
  std::int64_t result = 0;  // bytes, fewer than requested where the drive returned fewer, or -errno
};

class read_engine {
 public:
  virtual ~read_engine() = default;                 // waits for what is under way
  virtual bool start(engine_read const& read) = 0;  // false: full; reap first
  virtual void flush() = 0;                         // what was started is on its way; reap() does so too where it waits
  // Returns available completions; without one, waits for the first, at most so long. Zero: does not wait.
  virtual std::size_t reap(std::span<engine_answer> out, std::chrono::nanoseconds at_most) = 0;
  virtual void cancel(std::uint64_t id) = 0;  // its answer comes sooner: -ECANCELED, or what it was
  virtual void register_memory(void* begin, std::size_t bytes) { (void)begin, (void)bytes; }  // reads into it may cost less
  virtual std::int64_t now() const;       // nanoseconds; simulated drives may count their own
  virtual std::string about() const = 0;  // "io_uring", and what it could not have
};

enum class engine_kind : std::uint8_t { automatic, uring, threads };
enum class direct_reads : std::uint8_t { automatic, no, yes };  // yes: errc::io where the file system has none

struct engine_options {
  engine_kind kind = engine_kind::automatic;
  unsigned depth = 128;   // reads under way on all drives together
  unsigned threads = 16;  // of the pool, where io_uring is not to be had
};

class drive_set {
 public:
  virtual ~drive_set() = default;
  virtual std::vector<drive_facts> const& drives() const = 0;
  virtual std::unique_ptr<read_engine> engine(engine_options const& options) = 0;
  virtual unsigned rings() const { return static_cast<unsigned>(drives().size()); }  // that can be of use
  virtual void refuse_direct(std::uint32_t drive) { (void)drive; }                   // the file system returned EINVAL: cached from now on
  virtual bool takes_direct(std::uint32_t drive) const { return drives()[drive].direct; }
  // errc::input where the opened file was replaced, or has changed.
  virtual void require_unchanged() const {}
};

// Files or block devices, opened; errc::io names the one that cannot be.
std::shared_ptr<drive_set> open_drives(std::vector<std::string> const& paths, direct_reads direct = direct_reads::automatic);

}  // namespace garner

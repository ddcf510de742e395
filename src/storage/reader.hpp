// Reads of pages and bytes from files, many at a time. A reader owns the open files; each thread makes a queue of its own on it.
//   reader files({"a.bin"}, {});
//   read_queue queue(files);
//   queue.submit(requests);                        // any number; the queue owns destinations until their request completes
//   while (queue.under_way()) for (read_done const& d : queue.wait(64)) ...;
// or, all of them and an error thrown: read_all(files, requests).
// Requests of one submit are sorted by offset, and joined to one read of the drive where they touch, or where at most `gap_bytes` between
// them would be read in vain. Short reads, EINTR and EAGAIN are finished. A joined read that fails is retried part by part, so that an
// error affects only its own request; with replicated files the retry uses another one. Unaligned reads past the page cache use bounce
// buffers of the queue.
// Invariants: every submitted request completes exactly once, or is withdrawn by cancel() (which a Ctrl-C calls); after that nothing writes
// to its destination. The one exception is a read past its deadline that the drive fails to cancel: it completes with ETIMEDOUT and is
// counted by lost(), and its memory must outlive the queue. A queue that was made with `memory` keeps that until the last such read has
// ended, past its own end; others wait for it in their destructor.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "garner/error.hpp"
#include "storage/drive.hpp"

namespace garner {

enum class arrangement : std::uint8_t { striped, replicated };  // of several files: unit by unit in turn, or each the same

struct reader_options {
  arrangement files = arrangement::striped;
  std::uint64_t unit_bytes = 64 << 10;  // striped: byte o lies on drive (o / unit) % drives
  std::uint64_t begin = 0;              // bytes at the start of every file that belong to somebody else
  std::uint64_t size = 0;               // of all that is read, in bytes; 0: the size of the files, whole units of each where striped
  direct_reads direct = direct_reads::automatic;
  engine_kind engine = engine_kind::automatic;
  unsigned depth = 128;                  // reads under way a drive and a queue
  bool sizes_depth = false;              // `depth` is the initial value: a measurement of the drive may change it (size_depth)
  unsigned threads = 16;                 // a queue, where io_uring is not to be had
  std::uint64_t gap_bytes = 4096;        // a drive of 1.5 M requests/s and 6 GB/s reads 4 KiB in the time of a request; see gap_that_pays
  std::uint64_t most_bytes = 256 << 10;  // of one read: more is split, and no more is joined
  double deadline_seconds = 0;           // of a read, from its submission to the drive; 0: none
  unsigned rings = 0;                    // queues, a thread each, for callers that read much; 0: as many as drives need
};

struct read_request {
  std::uint64_t offset = 0, bytes = 0;
  void* to = nullptr;     // any host memory, pinned or not
  std::uint64_t tag = 0;  // comes back
};

struct read_done {
  std::uint64_t tag = 0;
  int problem = 0;  // errno; 0: the bytes are there. ENODATA: the file ends before; ETIMEDOUT: past the deadline
  std::uint32_t drive = 0;
  std::uint64_t at = 0, bytes = 0;  // the read of that drive's file that failed
};

// Histogram of times in nanoseconds: four buckets for each power of two.
class latency_histogram {
 public:
  static constexpr std::size_t buckets = 256;
  static std::size_t bucket_of(std::uint64_t ns);
  static std::uint64_t begin_of(std::size_t bucket);
  std::array<std::uint64_t, buckets> counts{};
  std::uint64_t count() const;
  double quantile(double share) const;  // nanoseconds, the middle of its bucket; 0 of nothing
};

struct read_counters {
  std::uint64_t requests = 0, bytes_asked = 0;  // what was submitted
  std::uint64_t reads = 0, bytes_read = 0;      // requests to the drives, and their results
  std::uint64_t joined = 0;                     // requests that shared a read with another one
  std::uint64_t again = 0;                      // retried reads: short, interrupted, refused, of another replica
  std::uint64_t copied_bytes = 0;               // that went through the queue's own memory
  std::uint64_t failed = 0, expired = 0, cancelled = 0;
  std::uint64_t strays = 0;   // answers that nobody waits for, or that come twice
  latency_histogram latency;  // of reads, from submission to the drive until their completion is seen
};

class reader {
 public:
  reader(std::shared_ptr<drive_set> drives, reader_options const& options);
  // errc::io names a file that cannot be opened; errc::input replicas of different sizes, or a file that is shorter than `size` wants.
  reader(std::vector<std::string> const& files, reader_options const& options) : reader(open_drives(files, options.direct), options) {}
  // The same files, read apart from the others: nothing that it reads is counted by `like`.
  reader(reader const& like, unsigned depth);
  ~reader();
  reader(reader const&) = delete;
  reader& operator=(reader const&) = delete;

  std::uint64_t size() const { return size_; }
  std::vector<drive_facts> const& drives() const { return drives_->drives(); }
  reader_options const& options() const { return options_; }  // as they were configured
  unsigned depth() const { return depth_.load(std::memory_order_relaxed); }
  // For queues that are made from now on without a configured depth; any thread.
  void size_depth(unsigned depth);
  // A thread takes what one fast drive gives; a quarter of the processors is for reading at most.
  unsigned rings() const;
  std::uint32_t offset_align() const;  // reads and memory that keep to these are not copied; 1: any
  std::uint32_t memory_align() const;
  read_counters counters() const;  // of all its queues, also destroyed ones; any thread may call it
  std::string about() const;       // "2 files striped by 64.0 KiB, io_uring, past the page cache (512)"; what could not be had, and why
  // errc::input where a file was replaced, removed or written to since it was opened.
  void require_unchanged() const { drives_->require_unchanged(); }
  // What happened to a request, as the error to throw.
  error error_of(read_done const& done) const;

 private:
  friend class read_queue;
  struct shared;
  std::shared_ptr<drive_set> drives_;
  reader_options options_;
  std::atomic<unsigned> depth_;
  std::uint64_t size_ = 0;
  std::shared_ptr<shared> shared_;
};

class read_queue {
 public:
  explicit read_queue(reader& files, std::shared_ptr<void const> memory = {});  // the reader must outlive it
  ~read_queue();                                                                // cancels
  read_queue(read_queue&&) noexcept;
  read_queue& operator=(read_queue&&) noexcept;

  // Many reads will go into this memory (some pinned block): the kernel maps it once. As many as 16 parts; where it refuses nothing
  // changes.
  void register_memory(void* begin, std::size_t bytes);
  // Does not wait. errc::usage where a request leaves the files; then none of them was taken.
  void submit(std::span<read_request const> requests);
  // Requests that are done: at most `most`, at least so many as are `wanted` where so many are under way (0: does not wait). The span is
  // the queue's, until the next call. Throws errc::interrupted after a Ctrl-C; everything has been cancelled then.
  std::span<read_done const> wait(std::size_t most, std::size_t wanted = 1);
  // Withdraws all requests without completion. When it returns nothing writes to any destination (except reads that are lost()).
  void cancel();
  std::size_t under_way() const;  // requests without completion
  std::size_t lost() const;       // reads past their deadline that the drive still holds
  std::int64_t now() const;       // nanoseconds of the engine's clock: real ones, but of simulated drives in counted time

 private:
  struct state;
  static void bury(std::unique_ptr<state> last);
  void close();
  std::unique_ptr<state> state_;
};

// All of them, or the first error is thrown and nothing is under way any more.
void read_all(reader& files, std::span<read_request const> requests);
void read_all(read_queue& queue, reader const& files, std::span<read_request const> requests);

// The bytes that a drive reads in the time that one more request costs it.
std::uint64_t gap_that_pays(double requests_a_second, double bytes_a_second);

}  // namespace garner

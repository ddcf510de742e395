// Drives that are simulated: they answer from memory, when a drive of given latency and rates would have, and fail by script.
//   auto drives = simulate({optane(bytes), optane(bytes)}, {});
//   reader files(drives, {});
// A read begins when one of the drive's `depth` places is free and its rate of requests allows, needs its latency from then on, and its
// bytes follow those of the read before over the drive's link, and then over the link that all drives share. In counted time nobody waits:
// a queue that waits goes on to the next answer, and its clock with it (a drive that never answers lets it pass too, so that deadlines
// come). By the same seed, drives and reads a single queue gets the same answers in the same order; several queues share the clock, and the
// order in which their threads come.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/drive.hpp"

namespace garner::lab {

struct drive_fault {
  enum class kind : std::uint8_t {
    fails,       // with `problem`, an errno
    short_read,  // gives a part
    wrong_bit,   // gives all, one bit of it flipped
    late,        // by `seconds`
    never,       // no answer, until it is cancelled
    stuck,       // no answer, even when it is cancelled, until release_stuck()
    twice,       // two answers
    vanishes,    // from this read on all fail with ENODEV, also those under way
  };
  kind what = kind::fails;
  int problem = 5;  // EIO
  double seconds = 10;
  // Which reads: each n-th, or with this probability; of those that touch a byte of [begin, end). The first `times` of them.
  std::uint64_t every = 0;
  double probability = 0;
  std::uint64_t begin = 0, end = ~std::uint64_t{0};
  std::uint64_t times = ~std::uint64_t{0};
};

enum class latency_shape : std::uint8_t { fixed, uniform, exponential, table };

struct simulated_drive {
  std::string name = "a simulated drive";
  std::uint64_t size = 0;
  // What it holds: bytes [offset, offset + n) to `to`, for any thread. Empty: zeros.
  std::function<void(std::uint64_t offset, std::uint64_t n, std::byte* to)> bytes;
  latency_shape shape = latency_shape::fixed;
  double latency_us = 0;         // its mean; uniform: from 0 to twice as much; exponential: at least least_us
  double least_us = 0;           // uniform, exponential: never less
  std::vector<double> table_us;  // table: each as likely
  double requests_a_second = 0;  // 0: any
  double bytes_a_second = 0;     // 0: any
  unsigned depth = 0;            // reads that it works on at once; 0: any
  bool direct = false;           // wants alignment as a drive read past the page cache does; what is not aligned is EINVAL
  std::uint32_t offset_align = 512, memory_align = 4;
  std::vector<drive_fault> faults;
};

// The drives of the GIDS paper: 11 us, 1.5 M requests/s of 4 KiB and 6 GB/s (Intel Optane); 324 us, 0.7 M and 7 GB (Samsung 980 Pro).
simulated_drive optane(std::uint64_t size);
simulated_drive samsung_980_pro(std::uint64_t size);

// A drive like that one which holds the bytes of a file, in memory.
simulated_drive holding(std::string const& file, simulated_drive like);

struct simulation {
  bool counted_time = false;
  std::uint64_t seed = 1;
  double link_bytes_a_second = 0;  // of what all drives give together; 0: any
};

class simulated_drives : public drive_set {
 public:
  virtual void release_stuck() = 0;  // those that are and that will be
  virtual std::uint64_t faults_met() const = 0;
};
std::shared_ptr<simulated_drives> simulate(std::vector<simulated_drive> drives, simulation const& how = {});

}  // namespace garner::lab

// The engines over file descriptors.
#pragma once
#include <functional>
#include <span>

#include "storage/drive.hpp"

namespace garner {

// File descriptors of each drive: through the page cache, or past it (-1: unavailable).
struct drive_descriptors {
  int cached = -1, direct = -1;
};

// A pool of threads that call preadv. What a thread has begun cannot be cancelled, only waited for.
using pread_call = std::function<::ssize_t(int descriptor, ::iovec const* parts, int count, std::int64_t offset)>;
std::unique_ptr<read_engine> make_thread_engine(std::vector<drive_descriptors> drives, unsigned threads, std::string why = "",
                                                pread_call call = {});

// io_uring; null where the kernel refuses it or this build lacks it, with the reason in `why`.
std::unique_ptr<read_engine> make_uring_engine(std::vector<drive_descriptors> const& drives, unsigned depth, std::string& why);

}  // namespace garner

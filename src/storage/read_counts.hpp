// What the queues of a reader have done, counted by each queue and summed by the reader.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/reader.hpp"

namespace garner {

struct live_counters {
  // Written by one thread, read by any.
  struct counter {
    std::atomic<std::uint64_t> value{0};
    void operator+=(std::uint64_t n) { value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
    operator std::uint64_t() const { return value.load(std::memory_order_relaxed); }
  };
  counter requests, bytes_asked, reads, bytes_read, joined, again, copied_bytes, failed, expired, cancelled, strays;
  std::array<counter, latency_histogram::buckets> latency;

  void add_to(read_counters& all) const {
    all.requests += requests, all.bytes_asked += bytes_asked, all.reads += reads, all.bytes_read += bytes_read, all.joined += joined;
    all.again += again, all.copied_bytes += copied_bytes, all.failed += failed, all.expired += expired, all.cancelled += cancelled;
    all.strays += strays;
    for (std::size_t k = 0; k < latency.size(); ++k) all.latency.counts[k] += latency[k];
  }
};

struct reader::shared {
  std::mutex mutex;
  std::vector<std::shared_ptr<live_counters const>> live;
  read_counters gone;
  std::string engine;  // as reported by the first queue's engine
};

}  // namespace garner

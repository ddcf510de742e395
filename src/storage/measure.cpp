// Benchmark of random reads: each thread keeps its queue depth, and submits a new read for each completion.
#include "storage/measure.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "core/fail.hpp"
#include "core/random.hpp"
#include "memory/buffer.hpp"

namespace garner {

namespace {

struct one_thread {
  std::uint64_t requests = 0;
  std::int64_t begin = 0, end = 0;
  std::exception_ptr problem;
};

void read_until(reader& files, std::uint64_t bytes, unsigned depth, double seconds, std::uint64_t seed, std::uint64_t stream,
                one_thread& out) try {
  std::uint64_t const places = files.size() / bytes, stride = (bytes + 4095) / 4096 * 4096;
  buffer<std::byte> to(tier::host, depth * stride, -1, "reads to measure");
  read_queue queue(files);
  queue.register_memory(to.data(), to.bytes());
  std::vector<read_request> ask(depth);
  std::uint64_t drawn = 0;
  auto const request = [&](std::uint64_t slot) {
    return read_request{upper_product(random_bits(seed, stream, drawn++), places) * bytes, bytes, to.data() + slot * stride, slot};
  };
  for (unsigned k = 0; k < depth; ++k) ask[k] = request(k);
  out.begin = queue.now();
  std::int64_t const until = out.begin + static_cast<std::int64_t>(seconds * 1e9);
  queue.submit(ask);
  for (;;) {
    ask.clear();
    for (read_done const& d : queue.wait(depth)) {
      if (d.problem) throw files.error_of(d);
      ask.push_back(request(d.tag));
    }
    out.requests += ask.size();
    out.end = queue.now();
    if (out.end >= until) break;
    queue.submit(ask);
  }
} catch (...) {
  out.problem = std::current_exception();
}

}  // namespace

read_rate measure_reads(reader& files, std::uint64_t bytes, unsigned depth, unsigned threads, double seconds, std::uint64_t seed) {
  if (bytes == 0 || depth == 0 || threads == 0)
    fail(errc::usage, "reads of {} bytes, {} at once by {} threads; each must be 1 or more", bytes, depth, threads);
  if (files.size() < bytes)
    fail(errc::input, "{}: {} bytes are too few to measure reads of {}; name a larger file", files.drives()[0].name, files.size(), bytes);
  latency_histogram const before = files.counters().latency;
  std::vector<one_thread> each(threads);
  {
    std::vector<std::jthread> others;
    for (unsigned k = 1; k < threads; ++k) others.emplace_back([&, k] { read_until(files, bytes, depth, seconds, seed, k, each[k]); });
    read_until(files, bytes, depth, seconds, seed, 0, each[0]);
  }
  read_rate rate{bytes, depth, threads, 0, 0, files.counters().latency};
  for (one_thread const& t : each) {
    if (t.problem) std::rethrow_exception(t.problem);
    rate.requests += t.requests;
    rate.seconds = std::max(rate.seconds, static_cast<double>(t.end - t.begin) * 1e-9);
  }
  for (std::size_t k = 0; k < before.counts.size(); ++k) rate.latency.counts[k] -= before.counts[k];
  return rate;
}

}  // namespace garner

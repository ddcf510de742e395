// Reads of files by both engines: every arrangement, every alignment, and every fault that a file can have.
#include "storage/reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "memory/buffer.hpp"
#include "storage/engines.hpp"
#include "storage_support.hpp"

namespace garner {
namespace {

using namespace testing;

struct reading : in_folder, ::testing::WithParamInterface<engine_kind> {
  reader_options with(direct_reads direct = direct_reads::automatic) const {
    reader_options o;
    o.engine = GetParam();
    o.direct = direct;
    return o;
  }
};

// Requests all over, of many sizes, some twice, some of no bytes; every byte is compared.
void read_everywhere(reader& files, std::uint64_t requests, std::uint64_t most, std::uint64_t seed) {
  std::vector<std::byte> to(requests * most + 64);
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < requests; ++k) {
    std::uint64_t const bytes = std::min(random_bits(seed, 0, k) % (most + 1), files.size());
    std::uint64_t const at = k % 7 == 6 ? asked.back().offset : random_bits(seed, 1, k) % (files.size() - bytes + 1);
    asked.push_back({at, std::min(bytes, files.size() - at), to.data() + k * most + random_bits(seed, 2, k) % 64, k});
    if (k + 1 < requests) asked.back().bytes = std::min<std::uint64_t>(asked.back().bytes, most - 64);
  }
  read_queue queue(files);
  queue.submit(asked);
  std::vector<int> told(requests, 0);
  while (queue.under_way())
    for (read_done const& d : queue.wait(100)) {
      ASSERT_EQ(d.problem, 0) << files.error_of(d).what();
      ++told[d.tag];
      read_request const& r = asked[d.tag];
      ASSERT_TRUE(holds(static_cast<std::byte const*>(r.to), r.offset, r.bytes)) << "request " << d.tag;
    }
  EXPECT_EQ(std::count(told.begin(), told.end(), 1), static_cast<std::ptrdiff_t>(requests));
}

TEST_P(reading, one_file_of_any_length_at_any_place) {
  for (std::uint64_t const bytes : {1ull, 511ull, 4096ull, 4097ull, 1234567ull}) {
    std::string const file = made("one", bytes);
    for (direct_reads const direct : {direct_reads::automatic, direct_reads::no}) {
      reader files({file}, with(direct));
      EXPECT_EQ(files.size(), bytes);
      read_everywhere(files, 300, 20000, bytes);
    }
  }
}

TEST_P(reading, stripes_and_replicas) {
  for (std::uint64_t const unit : {512u, 4096u, 5000u, 65536u}) {
    std::vector<std::string> const names = striped("s", 3, unit, 900001);
    reader_options o = with();
    o.unit_bytes = unit;
    o.size = 900001;
    reader files(names, o);
    read_everywhere(files, 300, 30000, unit);
  }
  std::string const a = made("a", 300000), b = made("b", 300000);
  reader_options o = with();
  o.files = arrangement::replicated;
  reader files({a, b}, o);
  EXPECT_EQ(files.size(), 300000u);
  read_everywhere(files, 300, 30000, 5);
}

INSTANTIATE_TEST_SUITE_P(by, reading, ::testing::Values(engine_kind::uring, engine_kind::threads),
                         [](auto const& info) { return info.param == engine_kind::uring ? "uring" : "threads"; });

}  // namespace
}  // namespace garner

// Host memory of a whole run, as the system counts it: what `garner bfs` uses beyond a run on a tiny graph, versus the size of the file.
#include "cli/program.hpp"
#include "sanitized.hpp"

namespace garner::testing {
namespace {

// Kronecker 20. Depths and parents, 8 bytes per vertex, are the result; on the CPU the limit is their size plus the graph file's (on a
// device they lie there). Huge pages decide how much of a frontier's memory is touched: 0 to 5 MB.
TEST(host_memory, is_that_of_the_container) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps books of its own";
  folder const at;
  outcome const made = at.shell(
      "garner generate kron --scale 20 plain.gnr && garner convert plain.gnr compressed.gnr --compress && garner generate kron --scale 4 "
      "tiny.gnr");
  ASSERT_EQ(made.code, 0) << made.err;
  std::uint64_t const vertices = std::uint64_t{1} << 20;
  for (std::string const variant : {"direction", "levels"}) {
    auto const peak = [&](std::string const& file) {
      outcome const o = at.garner({"bfs", file, "--device", "cpu", "--variant", variant});
      EXPECT_EQ(o.code, 0) << o.err;
      return o.peak_bytes;
    };
    std::uint64_t const alone = peak("tiny.gnr");
    for (std::string const file : {"plain.gnr", "compressed.gnr"}) {
      double const ratio =
          static_cast<double>(peak(file) - alone - 8 * vertices) / static_cast<double>(std::filesystem::file_size(at / file));
      EXPECT_LT(ratio, 1.1) << file << " " << variant;
      EXPECT_GT(ratio, 0.9) << file << " " << variant;  // else nothing was measured
    }
  }
}

}  // namespace
}  // namespace garner::testing

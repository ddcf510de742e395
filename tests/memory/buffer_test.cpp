// Owners of memory: moving, swapping, emptiness, elements.
#include "memory/buffer.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "memory/budget.hpp"
#include "support.hpp"

namespace garner {
namespace {

std::uint64_t used() { return host_budget().used(); }
buffer<std::uint32_t> make(std::size_t n) { return {tier::host, n, -1, "a test"}; }

TEST(buffer, owns_n_elements) {
  auto const before = used();
  {
    auto const b = make(1000);
    EXPECT_EQ(b.size(), 1000u);
    EXPECT_EQ(b.bytes(), 4000u);
    EXPECT_EQ(b.where(), tier::host);
    EXPECT_FALSE(b.empty());
    std::iota(b.begin(), b.end(), 5u);
    EXPECT_EQ(b[0], 5u);
    EXPECT_EQ(b[999], 1004u);
    EXPECT_EQ(b.span().size(), 1000u);
    EXPECT_EQ(b.end() - b.begin(), 1000);
    EXPECT_EQ(used() - before, 4000u);
  }
  EXPECT_EQ(used(), before);
}

TEST(buffer, moving_takes_the_memory_and_leaves_nothing) {
  auto const before = used();
  auto a = make(100);
  a[7] = 77;
  auto* const data = a.data();
  buffer<std::uint32_t> b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b[7], 77u);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(a.bytes(), 0u);
  EXPECT_EQ(used() - before, 400u);

  auto c = make(10);
  c = std::move(b);  // the ten are released at once
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), 100u);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(used() - before, 400u);
  c = {};
  EXPECT_EQ(used(), before);
}

TEST(buffer, moving_onto_itself_keeps_it) {
  auto a = make(3);
  a[2] = 9;
  auto& same = a;
  a = std::move(same);
  ASSERT_EQ(a.size(), 3u);
  EXPECT_EQ(a[2], 9u);
  memory_block m(tier::host, 10, -1, "a test");
  auto& also = m;
  m = std::move(also);
  EXPECT_EQ(m.bytes(), 10u);
  EXPECT_NE(m.data(), nullptr);
}

TEST(buffer, swaps) {
  memory_block a(tier::host, 10, -1, "a test"), b(tier::host, 20, -1, "a test");
  void *const pa = a.data(), *const pb = b.data();
  a.swap(b);
  EXPECT_EQ(a.data(), pb);
  EXPECT_EQ(b.data(), pa);
  EXPECT_EQ(a.bytes(), 20u);
  EXPECT_EQ(b.bytes(), 10u);
}

TEST(buffer, empty_ones_take_nothing) {
  auto const before = used();
  buffer<std::uint64_t> const none, zero(tier::host, 0, -1, "a test");
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(zero.empty());
  EXPECT_EQ(zero.data(), nullptr);
  EXPECT_EQ(used(), before);
}

TEST(buffer, shrinking_forgets_the_tail_and_keeps_the_memory) {
  auto const before = used();
  auto b = make(100);
  b[9] = 3;
  b.shrink(10);
  EXPECT_EQ(b.size(), 10u);
  EXPECT_EQ(b[9], 3u);
  EXPECT_EQ(used() - before, 400u);
}

TEST(buffer, a_count_whose_bytes_wrap_is_refused) {
  errc code{};
  std::size_t const wraps = (~std::size_t{0} / 8) + 2;  // times 8 is 8
  std::string const text = testing::error_of([&] { buffer<std::uint64_t>(tier::host, wraps, -1, "a test"); }, &code);
  EXPECT_EQ(code, errc::memory) << text;
}

TEST(buffer, of_device_memory_moves_too) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  auto const before = device_budget(0).used();
  {
    buffer<std::uint32_t> a(tier::device, 256, 0, "a test");
    auto b = std::move(a);
    EXPECT_EQ(b.where(), tier::device);
    EXPECT_EQ(device_budget(0).used() - before, 1024u);
  }
  EXPECT_EQ(device_budget(0).used(), before);
}

}  // namespace
}  // namespace garner

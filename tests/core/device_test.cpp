// The device behind plain functions: memory in other processes, peers; without a GPU, each of them fails with a message.
#include "core/device.hpp"

#include <cstdlib>
#include <functional>

#include "child.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr std::size_t words = 3 << 18;
std::vector<std::uint32_t> pattern() {
  std::vector<std::uint32_t> p(words);
  for (std::size_t i = 0; i < words; ++i) p[i] = static_cast<std::uint32_t>(i * 2654435761u + 5);
  return p;
}
std::string hex(device::memory_handle const& h) {
  std::string text;
  for (unsigned char b : h.bytes) text += fmt::format("{:02x}", b);
  return fmt::format("{}{:x}", text, h.offset);
}

// Opens its parent's export, compares it, and writes its first word.
TEST(ipc, DISABLED_child) {
  char const *const text = std::getenv("GARNER_IPC"), *const index = std::getenv("GARNER_IPC_DEVICE");
  if (!text || !index) return;
  int result = 0;
  try {
    device::memory_handle h;
    for (std::size_t i = 0; i < sizeof h.bytes; ++i)
      h.bytes[i] = static_cast<unsigned char>(std::stoi(std::string(text).substr(2 * i, 2), nullptr, 16));
    h.offset = std::stoull(std::string(text).substr(2 * sizeof h.bytes), nullptr, 16);
    executor x({device_kind::cuda, std::atoi(index)});
    void* const opened = device::open_memory(h, x.device());
    if (host_copy(x, static_cast<std::uint32_t const*>(opened), words) != pattern()) result = 3;
    std::uint32_t const mine = 4711;
    x.copy(opened, &mine, 4);
    x.wait();
    tell('d');
    go();  // killed here, or continues
    device::close_memory(x.device(), opened);
  } catch (error const&) {
    result = 4;
  }
  ::_exit(result);
}

class device_memory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  }
  // From `first` words into an allocation.
  void share_with(int other, bool kill, std::size_t first = 0) {
    executor x({device_kind::cuda, 0});
    buffer<std::uint32_t> const all(tier::device, words + first, 0, "a test");
    auto* const ours = all.data() + first;
    x.copy(ours, pattern().data(), words * 4);
    x.wait();
    device::memory_handle const h = device::export_memory(0, ours);
    EXPECT_EQ(h, device::export_memory(0, ours));
    child c("ipc.DISABLED_child", {"GARNER_IPC=" + hex(h), "GARNER_IPC_DEVICE=" + std::to_string(other)});
    EXPECT_EQ(c.hears(), 'd');
    EXPECT_EQ(host_copy(x, ours, 1)[0], 4711u);
    EXPECT_EQ(c.end(kill ? SIGKILL : 0), kill ? 128 + SIGKILL : 0);
    auto expected = pattern();
    expected[0] = 4711;
    EXPECT_EQ(host_copy(x, ours, words), expected);
  }
};

TEST_F(device_memory, is_read_and_written_by_another_process) { share_with(0, false); }
TEST_F(device_memory, outlives_a_process_that_was_killed_while_it_had_it_open) { share_with(0, true); }
TEST_F(device_memory, is_opened_for_another_device) {
  if (device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  if (!device::peer_of(1, 0).can) GTEST_SKIP() << "device 1 cannot read device 0";
  share_with(1, false);
}
TEST_F(device_memory, may_be_the_middle_of_an_allocation) { share_with(0, false, 1000); }
TEST_F(device_memory, that_nobody_exported_is_refused) {
  EXPECT_TRUE(refused(errc::device, [&] { device::open_memory({}, 0); }));
}

// Settings of pools shared with torch and RMM do not change.
TEST_F(device_memory, in_the_order_of_a_stream_leaves_the_default_pool_alone) {
  auto* const pool_of = reinterpret_cast<int (*)(void**, int)>(device::driver_entry("cuDeviceGetDefaultMemPool", 11020));
  auto* const attribute_of = reinterpret_cast<int (*)(void*, int, void*)>(device::driver_entry("cuMemPoolGetAttribute", 11020));
  ASSERT_TRUE(pool_of && attribute_of);
  executor x({device_kind::cuda, 0});
  void* const scratch = x.scratch(1 << 20);
  x.fill(scratch, 1, 1 << 20);
  x.wait();
  void* pool = nullptr;
  ASSERT_EQ(pool_of(&pool, 0), 0);
  std::uint64_t kept = ~std::uint64_t{0}, used = kept;
  ASSERT_EQ(attribute_of(pool, 4, &kept), 0);  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
  ASSERT_EQ(attribute_of(pool, 7, &used), 0);  // CU_MEMPOOL_ATTR_USED_MEM_CURRENT
  EXPECT_EQ(kept, 0u);
  EXPECT_EQ(used, 0u);
}

TEST_F(device_memory, of_peers_is_read_where_they_can) {
  EXPECT_TRUE(device::peer_of(0, 0).can && device::peer_of(0, 0).fast);
  EXPECT_NO_THROW(device::enable_peer(0, 0));
  if (device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  device::peer_link const link = device::peer_of(0, 1);
  if (!link.can) {
    EXPECT_TRUE(refused(errc::device, [] { device::enable_peer(0, 1); }));
    return;
  }
  device::enable_peer(0, 1);
  device::enable_peer(0, 1);  // a second time is harmless
  executor there({device_kind::cuda, 1}), here({device_kind::cuda, 0});
  auto const theirs = near_copy(there, pattern());
  EXPECT_EQ(host_copy(here, theirs.data(), words), pattern());
}

TEST(no_gpu, refuses_in_words) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  int some = 0;
  for (auto const& f :
       {std::function<void()>([&] { device::export_memory(0, &some); }), std::function<void()>([] { device::open_memory({}, 0); }),
        std::function<void()>([] { device::peer_of(0, 1); }), std::function<void()>([] { device::enable_peer(0, 1); }),
        std::function<void()>([] { device::begin_recording(0, nullptr); }),
        std::function<void()>([] { device::replay(0, nullptr, nullptr); })}) {
    EXPECT_TRUE(refused(errc::device, f));
  }
  EXPECT_EQ(device::pinned_from(&some), 0u);
}

}  // namespace
}  // namespace garner

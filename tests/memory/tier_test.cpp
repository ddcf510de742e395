// The contract of memory tiers. A new tier gets the whole suite by a fixture of a few lines.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/primitives.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"
#include "memory/tiers.hpp"
#include "support.hpp"

namespace garner {
namespace {

using testing::error_of;

// Properties of a tier: its type, the device, the charged budget, host access, and whether it is zero-initialized.
struct host_alone {
  using tier_type = host_tier;
  static constexpr int device = -1;
  static constexpr int gpus = 0;
  static constexpr bool host_touches = true, zeroed = true;
  static budget& pays() { return host_budget(); }
};
struct host_for_device {
  using tier_type = host_tier;
  static constexpr int device = 0;
  static constexpr int gpus = 1;
  static constexpr bool host_touches = true, zeroed = true;
  static budget& pays() { return host_budget(); }
};
struct on_device {
  using tier_type = device_tier;
  static constexpr int device = 0;
  static constexpr int gpus = 1;
  static constexpr bool host_touches = false, zeroed = false;
  static budget& pays() { return device_budget(0); }
};
// Memory of another device as device 0 writes and reads it.
struct on_peer {
  using tier_type = peer_tier;
  static constexpr int device = 0;
  static constexpr int gpus = 2;
  static constexpr bool host_touches = false, zeroed = false;
  static budget& pays() { return device_budget(owner_of_peer_tier(0)); }
};
struct managed_for_device {
  using tier_type = managed_tier;
  static constexpr int device = 0;
  static constexpr int gpus = 1;
  static constexpr bool host_touches = true, zeroed = true;
  static budget& pays() { return host_budget(); }
};

struct names {  // tests that need a GPU contain "device"
  template <class Fixture>
  static std::string GetName(int) {
    if (std::is_same_v<Fixture, host_alone>) return "host";
    if (std::is_same_v<Fixture, host_for_device>) return "host_for_device";
    if (std::is_same_v<Fixture, on_peer>) return "peer_of_device";
    return std::is_same_v<Fixture, on_device> ? "device" : "managed_for_device";
  }
};

template <class Fixture>
class tier_contract : public ::testing::Test {
 protected:
  using tier_type = typename Fixture::tier_type;
  void SetUp() override {
    if (Fixture::gpus && device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
    if (device::count() < Fixture::gpus) GTEST_SKIP() << "needs two GPUs";
    if (Fixture::gpus > 1 && !device::peer_of(0, 1).fast) GTEST_SKIP() << "device 0 has no fast link to device 1";
    used_ = Fixture::pays().used();
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(Fixture::pays().used(), used_) << "a block was not given back to its budget";
    }
  }
  memory_block block(std::size_t bytes) const { return memory_block(tier_type::kind, bytes, Fixture::device, "a test"); }
  std::uint64_t charged() const { return Fixture::pays().used() - used_; }

  // Contents there and back, by way of the device if the host has no access.
  void write(memory_block const& b, std::vector<unsigned char> const& from) const {
    if (Fixture::host_touches) std::memcpy(b.data(), from.data(), from.size());
    else transfer(b.data(), from.data(), from.size());
  }
  std::vector<unsigned char> read(memory_block const& b) const {
    std::vector<unsigned char> to(b.bytes());
    if (Fixture::host_touches) std::memcpy(to.data(), b.data(), to.size());
    else transfer(to.data(), b.data(), to.size());
    return to;
  }
  static void transfer(void* to, void const* from, std::size_t bytes) {
    executor x({device_kind::cuda, 0});
    x.copy(to, from, bytes);
    x.wait();
  }
  static std::vector<unsigned char> pattern(std::size_t bytes, unsigned salt) {
    std::vector<unsigned char> p(bytes);
    for (std::size_t i = 0; i < bytes; ++i) p[i] = static_cast<unsigned char>(i * 31 + i / 251 + salt);
    return p;
  }

 private:
  std::uint64_t used_ = 0;
};

using fixtures = ::testing::Types<host_alone, host_for_device, on_device, on_peer, managed_for_device>;
TYPED_TEST_SUITE(tier_contract, fixtures, names);

TYPED_TEST(tier_contract, keeps_what_is_written_at_any_size) {
  for (std::size_t bytes :
       {std::size_t{1}, std::size_t{127}, page_bytes - 1, page_bytes, page_bytes + 1, std::size_t{1} << 20, (std::size_t{5} << 20) + 3}) {
    memory_block const b = this->block(bytes);
    ASSERT_NE(b.data(), nullptr);
    EXPECT_EQ(b.bytes(), bytes);
    EXPECT_EQ(b.where(), TypeParam::tier_type::kind);
    auto const p = this->pattern(bytes, 7);
    this->write(b, p);
    EXPECT_EQ(this->read(b), p) << bytes << " bytes";
  }
}

TYPED_TEST(tier_contract, begins_on_a_page_and_does_not_overlap) {
  std::vector<memory_block> blocks;
  for (std::size_t i = 0; i < 40; ++i) blocks.push_back(this->block(1 + i * 701));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i].data()) % page_bytes, 0u) << "block " << i;
    this->write(blocks[i], this->pattern(blocks[i].bytes(), static_cast<unsigned>(i)));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(this->read(blocks[i]), this->pattern(blocks[i].bytes(), static_cast<unsigned>(i))) << "block " << i;
}

TYPED_TEST(tier_contract, is_zero_at_first_where_it_says_so) {
  if (!TypeParam::zeroed) GTEST_SKIP() << "device memory is not initialised";
  for (int round = 0; round < 3; ++round) {  // also after another block was written and released
    memory_block const b = this->block(3 << 20);
    EXPECT_EQ(this->read(b), std::vector<unsigned char>(3 << 20, 0)) << "round " << round;
    this->write(b, std::vector<unsigned char>(3 << 20, 0xff));
  }
}

TYPED_TEST(tier_contract, zero_bytes_are_an_empty_block) {
  memory_block const b = this->block(0);
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_EQ(b.bytes(), 0u);
  EXPECT_EQ(this->charged(), 0u);
}

TYPED_TEST(tier_contract, charges_its_budget_and_gives_back) {
  {
    memory_block a = this->block(10'000);
    EXPECT_EQ(this->charged(), 10'000u);
    memory_block const b = this->block(500);
    EXPECT_EQ(this->charged(), 10'500u);
    a.reset();
    EXPECT_EQ(this->charged(), 500u);
    a.reset();  // a second time is harmless
    EXPECT_EQ(this->charged(), 500u);
  }
  EXPECT_EQ(this->charged(), 0u);
}

TYPED_TEST(tier_contract, a_budget_refuses_with_the_counts) {
  budget& pays = TypeParam::pays();
  std::uint64_t const limit = pays.limit();
  pays.set_limit(pays.used() + 9'999);
  errc code{};
  std::string const text = error_of([&] { this->block(10'000); }, &code);
  EXPECT_EQ(code, errc::memory);
  EXPECT_NE(text.find("10000"), std::string::npos) << text;
  EXPECT_NE(text.find("a test"), std::string::npos) << text;
  EXPECT_NE(text.find(&pays == &host_budget() ? "raise the host budget" : "raise its budget"), std::string::npos) << text;
  this->block(9'999);
  pays.set_limit(limit);
}

TYPED_TEST(tier_contract, gigantic_sizes_are_refused_and_leave_nothing) {
  budget& pays = TypeParam::pays();
  std::uint64_t const limit = pays.limit();
  for (std::uint64_t allowed : {limit, budget::unlimited}) {  // limited by the budget or by the tier
    pays.set_limit(allowed);
    for (std::size_t bytes : {std::size_t{1} << 50, std::size_t{1} << 62, ~std::size_t{0} - 4096, ~std::size_t{0}}) {
      errc code{};
      std::string const text = error_of([&] { this->block(bytes); }, &code);
      EXPECT_EQ(code, errc::memory) << text;
      EXPECT_NE(text.find(std::to_string(bytes).substr(0, 6)), std::string::npos) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      EXPECT_NE(text.back(), '.') << text;
      EXPECT_EQ(this->charged(), 0u);
    }
  }
  pays.set_limit(limit);
  EXPECT_NE(this->block(4096).data(), nullptr);  // still usable
}

TYPED_TEST(tier_contract, says_truly_who_may_read_it) {
  using tier_type = typename TypeParam::tier_type;
  EXPECT_EQ(tier_type::readable(device_kind::cpu), TypeParam::host_touches);
  EXPECT_EQ(tier_type::readable(device_kind::simulated), TypeParam::host_touches);
  EXPECT_TRUE(tier_type::readable(device_kind::cuda));  // of host memory: if it was mapped for one
  if (TypeParam::device < 0) return;
  memory_block const b = this->block(100'000);
  auto const p = this->pattern(100'000, 3);
  this->write(b, p);
  memory_block const near(tier::device, 100'000, 0, "a test");
  this->transfer(near.data(), b.data(), 100'000);
  std::vector<unsigned char> back(100'000);
  this->transfer(back.data(), near.data(), 100'000);
  EXPECT_EQ(back, p);
  // A kernel of device 0 reads it too.
  executor x({device_kind::cuda, 0});
  std::vector<std::uint64_t> words(12'500);
  std::memcpy(words.data(), p.data(), 100'000);
  buffer<std::uint64_t> const sums(x.near(), words.size() + 1, 0, "a test");
  scan(x, static_cast<std::uint64_t const*>(b.data()), sums.data(), words.size());
  EXPECT_EQ(x.read(sums.data() + words.size()), std::accumulate(words.begin(), words.end(), std::uint64_t{0}));
}

TYPED_TEST(tier_contract, many_threads_at_once) {
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (unsigned k = 0; k < 8; ++k)
    threads.emplace_back([&, k] {
      std::vector<memory_block> held;
      for (unsigned i = 0; i < 20; ++i) {
        held.push_back(this->block(1000 * (k + 1) + i));
        this->write(held.back(), this->pattern(held.back().bytes(), k + i));
        if (i % 3 == 2) {
          if (this->read(held[i - 1]) != this->pattern(held[i - 1].bytes(), k + i - 1)) ++wrong;
          held[i - 2].reset();
        }
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(this->charged(), 0u);
}

TEST(tiers, without_a_gpu_its_memory_is_refused_clearly) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  for (tier t : {tier::device, tier::managed, tier::host}) {
    errc code{};
    std::string const text = error_of([&] { memory_block(t, 4096, 0, "a test"); }, &code);
    EXPECT_EQ(code, errc::device) << text;
  }
  EXPECT_EQ(device_budget(0).used(), 0u);
}

TEST(tiers, no_peer_without_a_fast_link) {
  if (device::count() > 1 && device::peer_of(0, 1).fast) GTEST_SKIP() << "there is one";
  errc code{};
  std::string const text = error_of([&] { memory_block(tier::peer, 4096, 0, "a test"); }, &code);
  EXPECT_EQ(code, errc::device) << text;
}

TEST(tiers, tiers_that_are_no_memory_are_refused) {
  auto const used = host_budget().used();
  for (tier t : {tier::file}) {
    errc code{};
    std::string const text = error_of([&] { memory_block(t, 4096, -1, "a test"); }, &code);
    EXPECT_EQ(code, errc::usage) << text;
    EXPECT_NE(text.find(std::string(to_string(t))), std::string::npos) << text;
  }
  EXPECT_EQ(host_budget().used(), used);
}

TEST(tiers, host_memory_is_unmapped_when_it_is_released) {
  memory_block b(tier::host, 100'000, -1, "a test");
  void* const p = b.data();
  EXPECT_EQ(::msync(p, 100'000, MS_ASYNC), 0);
  b.reset();
  for (std::size_t at : {0u, 24u * 4096})  // its first page and its last
    EXPECT_NE(::msync(static_cast<char*>(p) + at, 4096, MS_ASYNC), 0) << at;
}

TEST(tiers, host_blocks_may_be_made_inside_a_loop_of_the_crew) {
  std::atomic<std::uint64_t> bytes{0};
  shared_pool().run(64, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) bytes += memory_block(tier::host, 1 << 20, -1, "a test").bytes();
  });
  EXPECT_EQ(bytes, std::uint64_t{64} << 20);
}

TEST(tiers, managed_memory_beyond_half_of_a_device_is_refused) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  std::uint64_t const limit = host_budget().limit(), half = device::memory(0).free_bytes / 2;
  host_budget().set_limit(budget::unlimited);
  errc code{};
  std::string const text = error_of([&] { memory_block(tier::managed, half + (std::uint64_t{1} << 30), 0, "a test"); }, &code);
  EXPECT_EQ(code, errc::memory);
  EXPECT_NE(text.find("half"), std::string::npos) << text;
  memory_block const some(tier::managed, 1 << 20, 0, "a test");
  error_of([&] { memory_block(tier::managed, half, 0, "a test"); });  // together they exceed it
  host_budget().set_limit(limit);
}

TEST(page_aligner, moves_up_what_begins_between_pages_and_finds_it_again) {
  // An allocator that returns addresses 512 bytes off a page, and tracks its blocks.
  alignas(4096) static char memory[16 * 4096];
  std::size_t next = 512;
  std::vector<void*> held;
  auto const allocate = [&](std::size_t bytes) {
    void* const p = memory + next;
    next += bytes + 512 - bytes % 512;
    EXPECT_LE(next, sizeof memory);
    held.push_back(p);
    return p;
  };
  auto const release = [&](void* p) { std::erase(held, p); };
  page_aligner aligner;
  void* const block = aligner.take(100, allocate, release);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0u);
  ASSERT_EQ(held.size(), 1u);  // the first try was released
  EXPECT_NE(held[0], block);
  EXPECT_LE(static_cast<char*>(block) + 4096, memory + next);
  release(aligner.origin(block));
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(aligner.origin(block), block);  // forgotten
}

}  // namespace
}  // namespace garner

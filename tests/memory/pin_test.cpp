// Bytes pinned in place, exactly: holders are counted, foreign pins are left alone, and a refusal changes nothing.
// A model replaces the runtime: like it, it refuses bytes that are already pinned.
#include "memory/pin.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "memory/page.hpp"
#include "support.hpp"

namespace garner {
namespace {

using testing::error_of;

struct runtime_model {
  std::mutex mutex;
  std::map<std::uintptr_t, std::uintptr_t> pinned;  // begin -> end
  std::set<std::uintptr_t> foreign;                 // begins of foreign pins
  std::size_t most = ~std::size_t{0};               // the limit of locked memory
  bool takes_read_only = true;
  int pins = 0, unpins = 0, wrong = 0;

  bool overlaps(std::uintptr_t a, std::uintptr_t b) const {
    for (auto const& [begin, end] : pinned)
      if (begin < b && a < end) return true;
    return false;
  }
  void pin_foreign(std::uintptr_t begin, std::uintptr_t end) { pinned[begin] = end, foreign.insert(begin); }
  pin_calls calls() {
    return {[this](void* p, std::size_t bytes, bool read_only) -> device::pin_answer {
              std::lock_guard const hold(mutex);
              auto const a = reinterpret_cast<std::uintptr_t>(p);
              if (bytes == 0) ++wrong;
              if (overlaps(a, a + bytes)) return {device::pin_result::already};
              if (bytes > most || (read_only && !takes_read_only)) return {device::pin_result::refused, "out of memory"};
              pinned[a] = a + bytes;
              ++pins;
              return {device::pin_result::pinned};
            },
            [this](void* p) {
              std::lock_guard const hold(mutex);
              auto const a = reinterpret_cast<std::uintptr_t>(p);
              if (!pinned.count(a) || foreign.count(a)) ++wrong;
              pinned.erase(a);
              ++unpins;
            },
            [this](void const* p) -> std::size_t {
              std::lock_guard const hold(mutex);
              auto const a = reinterpret_cast<std::uintptr_t>(p);
              for (auto const& [begin, end] : pinned)
                if (begin <= a && a < end) return end - a;
              return 0;
            }};
  }
};

void const* at(std::uintptr_t a) { return reinterpret_cast<void const*>(a); }
// No process has memory there, not even under a sanitizer.
constexpr std::uintptr_t base = 0x1000'0000'0000'0000, page = page_bytes;

TEST(pins, its_bytes_alone_and_given_back) {
  runtime_model model;
  pin_registry r(model.calls());
  r.hold(at(base + 100), page);  // over two pages
  ASSERT_EQ(model.pinned.size(), 1u);
  EXPECT_EQ(model.pinned.at(base + 100), base + 100 + page);
  EXPECT_EQ(r.pinned_bytes(), page);
  r.release(at(base + 100), page);
  EXPECT_TRUE(model.pinned.empty());
  EXPECT_EQ(r.pinned_bytes(), 0u);
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, equal_and_overlapping_arrays_share_bytes) {
  runtime_model model;
  pin_registry r(model.calls());
  r.hold(at(base), 4 * page);
  r.hold(at(base), 4 * page);
  EXPECT_EQ(model.pins, 1);
  r.hold(at(base + 3 * page + 8), 4 * page);
  EXPECT_EQ(r.pinned_bytes(), 7 * page + 8);
  r.release(at(base), 4 * page);
  EXPECT_EQ(model.unpins, 0);
  r.release(at(base), 4 * page);
  EXPECT_EQ(r.pinned_bytes(), 7 * page + 8) << "the third still holds the end of the first part";
  r.release(at(base + 3 * page + 8), 4 * page);
  EXPECT_TRUE(model.pinned.empty());
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, neighbors_on_one_page_are_pinned_each_by_itself) {
  runtime_model model;
  pin_registry r(model.calls());
  r.hold(at(base + 10), 100);
  r.hold(at(base + 2000), 100);
  r.hold(at(base + 110), 50);  // begins at the end of the first
  EXPECT_EQ(model.pins, 3);
  EXPECT_EQ(r.pinned_bytes(), 250u);
  r.release(at(base + 10), 100);
  EXPECT_FALSE(model.overlaps(base, base + 110));
  EXPECT_TRUE(model.overlaps(base + 110, base + 160));
  r.release(at(base + 110), 50);
  r.release(at(base + 2000), 100);
  EXPECT_TRUE(model.pinned.empty());
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, an_array_that_begins_on_the_last_page_of_another) {
  runtime_model model;
  pin_registry r(model.calls());
  r.hold(at(base + 100), 10'000);
  EXPECT_FALSE(model.overlaps(base + 10'100, base + 3 * page)) << "the next array could not be copied";
  r.hold(at(base + 10'100), 20'000);
  EXPECT_EQ(model.pinned, (std::map<std::uintptr_t, std::uintptr_t>{{base + 100, base + 10'100}, {base + 10'100, base + 30'100}}));
  r.release(at(base + 100), 10'000);
  EXPECT_EQ(model.pinned, (std::map<std::uintptr_t, std::uintptr_t>{{base + 10'100, base + 30'100}}));
  r.release(at(base + 10'100), 20'000);
  EXPECT_TRUE(model.pinned.empty());
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, an_array_around_others) {
  runtime_model model;
  pin_registry r(model.calls());
  std::pair<std::uintptr_t, std::size_t> const inner[] = {{base + 10, 100}, {base + 2000, 100}, {base + 4 * page, 10}};
  for (auto const& [a, n] : inner) r.hold(at(a), n);
  r.hold(at(base - page + 3), 8 * page);  // before, between and after
  EXPECT_EQ(r.pinned_bytes(), 8 * page);
  EXPECT_EQ(model.pins, 7);
  for (auto const& [a, n] : inner) r.release(at(a), n);
  EXPECT_EQ(r.pinned_bytes(), 8 * page);
  r.release(at(base - page + 3), 8 * page);
  EXPECT_TRUE(model.pinned.empty());
}

TEST(pins, what_somebody_else_pinned_is_used_and_left) {
  runtime_model model;
  pin_registry r(model.calls());
  model.pin_foreign(base, base + 4 * page);
  r.hold(at(base + 5), 3 * page);
  EXPECT_EQ(model.pins, 0);
  r.release(at(base + 5), 3 * page);
  EXPECT_EQ(model.unpins, 0);
  // Partly: before, in the middle, after.
  for (std::uintptr_t shift : {-2 * page, 1 * page, 3 * page}) {
    r.hold(at(base + shift), 4 * page);
    r.release(at(base + shift), 4 * page);
  }
  r.hold(at(base - 3 * page), 10 * page);
  EXPECT_EQ(r.pinned_bytes(), 6 * page);
  r.release(at(base - 3 * page), 10 * page);
  EXPECT_EQ(model.pinned.size(), 1u);
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, what_somebody_else_pinned_may_begin_anywhere) {
  runtime_model model;
  pin_registry r(model.calls());
  std::uintptr_t const begin = base + 517, end = begin + 2 * page;
  model.pin_foreign(begin, end);
  for (auto [a, n] : {std::pair(begin, 2 * page), {base + 600, 10 + 0 * page}, {base + 4000, page}}) {
    r.hold(at(a), n);
    EXPECT_EQ(r.pinned_bytes(), 0u);
    r.release(at(a), n);
  }
  EXPECT_EQ(model.pins, 0);
  // Overlapping it by a byte on either side: everything but the foreign bytes is pinned, to the byte.
  for (auto [a, n, ours] :
       {std::tuple(base, std::size_t{518}, std::size_t{517}), {end - 1, 2, 1}, {begin - 1, 2 * page + 2, 2}, {base, 3 * page, page}}) {
    r.hold(at(a), n);
    EXPECT_EQ(r.pinned_bytes(), ours);
    r.release(at(a), n);
  }
  // After it, nothing on its last page is pinned.
  r.hold(at(end), 100);
  EXPECT_EQ(r.pinned_bytes(), 100u);
  r.release(at(end), 100);
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, small_parts_of_somebody_else_are_found_or_said) {
  runtime_model model;
  pin_registry r(model.calls());
  model.pin_foreign(base + 100, base + 200);
  model.pin_foreign(base + 200, base + 300);
  model.pin_foreign(base + 3 * page + 777, base + 3 * page + 877);
  r.hold(at(base), 5 * page);
  EXPECT_EQ(r.pinned_bytes(), 5 * page - 300);
  r.release(at(base), 5 * page);
  EXPECT_EQ(model.pinned.size(), 3u);
  model.pin_foreign(base + 2 * page + 1, base + 2 * page + 9);  // finer than the search
  std::string const text = error_of([&] { r.hold(at(base), 5 * page); });
  EXPECT_NE(text.find("pinned in part by other code"), std::string::npos) << text;
  EXPECT_EQ(model.pinned.size(), 4u);
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, a_refusal_says_what_to_try_and_leaves_nothing) {
  runtime_model model;
  pin_registry r(model.calls());
  r.hold(at(base + 4 * page), page);
  model.most = 4 * page;
  errc code{};
  std::string const text = error_of([&] { r.hold(at(base), 20 * page); }, &code);  // four pages succeed, then fifteen are too many
  EXPECT_EQ(code, errc::memory);
  EXPECT_NE(text.find("; free host memory, or in a container raise the memory limit"), std::string::npos) << text;
  EXPECT_EQ(text.find("ulimit"), std::string::npos) << text;  // the driver is not subject to it
  EXPECT_NE(text.find("out of memory"), std::string::npos) << text;
  EXPECT_EQ(r.pinned_bytes(), page);
  EXPECT_EQ(model.pinned.size(), 1u);
  r.release(at(base + 4 * page), page);
  EXPECT_TRUE(model.pinned.empty());
}

TEST(pins, a_read_only_mapping_is_pinned_as_such_or_said) {
  std::string const file = ::testing::TempDir() + "garner_pin_" + std::to_string(::getpid());
  std::ofstream(file) << std::string(3 * page, 'x');
  int const fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  void* const p = ::mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  ASSERT_NE(p, MAP_FAILED);
  mapping_at const m = mapping_of(static_cast<char*>(p) + page + 1);
  EXPECT_TRUE(m.known);
  EXPECT_FALSE(m.writable);
  EXPECT_EQ(m.file, file);
  for (bool takes : {true, false}) {
    runtime_model model;
    pin_calls calls = model.calls();
    auto const plain = calls.pin;
    calls.pin = [&](void* q, std::size_t n, bool read_only) -> device::pin_answer {
      if (!read_only || !takes) return {device::pin_result::refused, "invalid argument"};
      return plain(q, n, read_only);
    };
    pin_registry r(calls);
    if (takes) {
      r.hold(p, 3 * page);
      EXPECT_EQ(r.pinned_bytes(), 3 * page);
      r.release(p, 3 * page);
    } else {
      std::string const text = error_of([&] { r.hold(p, 3 * page); });
      EXPECT_NE(text.find("read-only mapping of " + file), std::string::npos) << text;
    }
  }
  ::munmap(p, 3 * page);
  ::unlink(file.c_str());
}

TEST(pins, mappings_are_told_apart) {
  std::string const maps = ::testing::TempDir() + "garner_maps_" + std::to_string(::getpid());
  std::ofstream(maps) << "1000-3000 r--p 00000000 08:01 77 /data/a table.npy\n3000-5000 rw-s 00000000 00:15 3 /dev/shm/x\n"
                         "5000-6000 rw-p 00000000 00:00 0 [heap]\n6000-7000 rw-p 00000000 00:00 0\n";
  EXPECT_EQ(mapping_of(at(0x2fff), maps).file, "/data/a table.npy");
  EXPECT_FALSE(mapping_of(at(0x1000), maps).writable);
  EXPECT_TRUE(mapping_of(at(0x3000), maps).shared);
  EXPECT_EQ(mapping_of(at(0x5001), maps).file, "");
  EXPECT_TRUE(mapping_of(at(0x6001), maps).writable);
  EXPECT_FALSE(mapping_of(at(0x7000), maps).known);
  ::unlink(maps.c_str());
}

TEST(pins, random_arrays_from_many_threads) {
  runtime_model model;
  pin_registry r(model.calls());
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        std::vector<std::pair<std::uintptr_t, std::size_t>> held;
        for (int i = 0; i < 400; ++i) {
          if (held.size() < 8 && random() % 2) {
            held.emplace_back(base + random() % (64 * page), 1 + random() % (9 * page));
            r.hold(at(held.back().first), held.back().second);
          } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            r.release(at(held.back().first), held.back().second);
            held.pop_back();
          }
        }
        for (auto const& [a, n] : held) r.release(at(a), n);
      });
  }
  EXPECT_TRUE(model.pinned.empty());
  EXPECT_EQ(model.pins, model.unpins);
  EXPECT_EQ(model.wrong, 0);
}

TEST(pins, without_a_gpu_nothing_is_pinned) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  int some = 0;
  errc code{};
  error_of([&] { pinned_pages(&some, sizeof some, 0); }, &code);
  EXPECT_EQ(code, errc::device);
  error_of([&] { pinned_pages(nullptr, 0, 0); }, &code);
  EXPECT_EQ(code, errc::usage);
}

TEST(pins, on_a_device_arrays_overlap_and_what_is_pinned_stays) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  std::vector<std::uint32_t> words(1 << 20);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i * 7);
  executor x({device_kind::cuda, 0});
  buffer<std::uint32_t> near(tier::device, words.size(), 0, "a test");
  {
    pinned_pages const all(words.data(), words.size() * 4, 0), again(words.data(), words.size() * 4, 0);
    pinned_pages const part(words.data() + 1001, 40'000, 0);
    EXPECT_EQ(static_cast<std::uint32_t const*>(part.device_data()), static_cast<std::uint32_t const*>(all.device_data()) + 1001);
    x.copy(near.data(), all.device_data(), words.size() * 4);
    EXPECT_EQ(testing::host_copy(x, near.data(), words.size()), words);
    EXPECT_GT(device::pinned_from(words.data() + 5000), 0u);
  }
  EXPECT_EQ(device::pinned_from(words.data() + 5000), 0u);
  EXPECT_EQ(shared_pins().pinned_bytes(), 0u);
  buffer<std::uint32_t> const ours(tier::host, 1 << 16, 0, "a test");  // pinned by its tier
  {
    pinned_pages const part(ours.data() + 100, 4096, 0);
    EXPECT_EQ(shared_pins().pinned_bytes(), 0u);
  }
  EXPECT_GT(device::pinned_from(ours.data()), 0u);
}

// A copy that begins inside a registered range and ends outside is refused by the runtime.
TEST(pins, on_a_device_neighbors_and_seams_are_copied) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  std::vector<std::uint32_t> words(20'000);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i * 11 + 1);
  executor x({device_kind::cuda, 0});
  buffer<std::uint32_t> near(tier::device, words.size(), 0, "a test");
  auto const comes_and_goes = [&](std::size_t first, std::size_t n) {
    x.fill(near.data(), 0, words.size() * 4);
    x.copy(near.data(), words.data() + first, n * 4);
    std::vector<std::uint32_t> const part(words.begin() + static_cast<std::ptrdiff_t>(first),
                                          words.begin() + static_cast<std::ptrdiff_t>(first + n));
    EXPECT_EQ(testing::host_copy(x, near.data(), n), part) << first << ' ' << n;
    std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(first), n, 0u);
    x.copy(words.data() + first, near.data(), n * 4);
    x.wait();
    EXPECT_TRUE(std::equal(part.begin(), part.end(), words.begin() + static_cast<std::ptrdiff_t>(first))) << first << ' ' << n;
  };
  std::optional<pinned_pages> one(std::in_place, words.data() + 25, 10'000, 0);
  EXPECT_EQ(device::pinned_from(words.data() + 25), 10'000u);
  EXPECT_EQ(device::pinned_from(words.data() + 2525), 0u) << "what lies behind it on its last page is not pinned";
  comes_and_goes(2525, 9000);  // begins on its last page
  comes_and_goes(0, 3000);     // around it
  comes_and_goes(30, 9000);    // begins inside, ends outside
  {
    pinned_pages const two(words.data() + 2525, 20'000, 0), three(words.data() + 6000, 40'000, 0);
    for (auto [first, n] : {std::pair{2525, 5000}, {2000, 1000}, {25, 15'975}, {2000, 17'000}, {0, 20'000}})
      comes_and_goes(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
    one.reset();
    comes_and_goes(2525, 5000);
  }
  comes_and_goes(0, 20'000);
  EXPECT_EQ(shared_pins().pinned_bytes(), 0u);
}

}  // namespace
}  // namespace garner

// CUDA graphs: a replay repeats the captured work on the current contents of device memory; it captures again once memory has moved, and
// launches directly if a device refuses to capture.
#include "core/recording.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "core/primitives.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

constexpr std::uint64_t n = 1000;

// Sums over device memory, through a copy of it.
struct work_at : at_place {
  void SetUp() override {
    at_place::SetUp();
    if (IsSkipped()) return;
    x.emplace(where());
    in = near_copy(*x, std::vector<std::uint32_t>(n)), copied = near_copy(*x, std::vector<std::uint32_t>(n));
    out = near_copy(*x, std::vector<std::uint64_t>(n + 1));
  }
  bool far() const { return GetParam() == device_kind::cuda; }
  void set(std::uint32_t seed) {
    values.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) values[i] = i * seed + 1;
    x->copy(in.data(), values.data(), n * sizeof(std::uint32_t));
    x->wait();
  }
  void give() {
    x->fill(out.data(), 0xff, (n + 1) * sizeof(std::uint64_t));
    x->copy(copied.data(), in.data(), n * sizeof(std::uint32_t));
    scan(*x, copied.data(), out.data(), n);
  }
  void expect_sums() {
    std::vector<std::uint64_t> expected(n + 1);
    std::partial_sum(values.begin(), values.end(), expected.begin() + 1, [](std::uint64_t a, std::uint64_t b) { return a + b; });
    EXPECT_EQ(host_copy(*x, out.data(), n + 1), expected);
  }
  std::optional<executor> x;
  std::vector<std::uint32_t> values;
  buffer<std::uint32_t> in, copied;
  buffer<std::uint64_t> out;
};

TEST_P(work_at, is_given_again_over_what_stands_near_now) {
  recording r;
  int called = 0;
  for (std::uint32_t time = 1; time <= 5; ++time) {
    set(time);
    r.run(*x, [&] {
      ++called;
      give();
    });
    expect_sums();
    EXPECT_EQ(r.parts() > 0, far() && time > 1);
  }
  EXPECT_EQ(called, far() ? 2 : 5);  // once directly, once to capture it; the CPU calls the function
  EXPECT_EQ(r.refused(), "");
  if (far()) {
    EXPECT_EQ(r.parts(), 3u);
  }
}

TEST_P(work_at, is_what_was_recorded_whatever_is_said_later) {
  recording r;
  auto const byte_after = [&](int byte) {
    r.run(*x, [this, byte] { x->fill(out.data(), byte, 8); });
    return host_copy(*x, out.data(), 1)[0] & 0xff;
  };
  EXPECT_EQ(byte_after(1), 1u);
  EXPECT_EQ(byte_after(2), 2u);  // captured
  EXPECT_EQ(byte_after(3), 2u);
  x->tell_move();
  EXPECT_EQ(byte_after(4), 4u);
  EXPECT_EQ(r.parts(), 0u);
  EXPECT_EQ(byte_after(5), 5u);
  EXPECT_EQ(byte_after(6), 5u);
}

// Memory that grows each time has a new address each time.
TEST_P(work_at, is_not_recorded_while_its_memory_moves) {
  recording r;
  int called = 0;
  for (int time = 1; time <= 4; ++time) {
    set(7);
    r.run(*x, [&] {
      ++called;
      x->tell_move();
      give();
    });
    if (time < 4) x->tell_move();
    expect_sums();
  }
  EXPECT_EQ(called, 4);
  EXPECT_EQ(r.parts(), 0u);
}

TEST_P(work_at, that_fails_is_told_and_recorded_later) {
  recording r;
  set(3);
  EXPECT_EQ(error_of([&] { r.run(*x, [] { fail(errc::memory, "none left"); }); }), "none left");
  for (int time = 0; time < 3; ++time) {
    x->fill(out.data(), 0, out.bytes());
    r.run(*x, [&] { give(); });
    expect_sums();
  }
  EXPECT_EQ(r.parts() > 0, far());
  EXPECT_EQ(r.refused(), "");
}

TEST_P(work_at, that_waits_is_given_as_before) {
  recording r;
  std::uint32_t last = 0;
  for (std::uint32_t time = 1; time <= 4; ++time) {
    set(time);
    r.run(*x, [&] {
      give();
      last = x->read(copied.data() + n - 1);
    });
    EXPECT_EQ(last, values.back());
    expect_sums();
  }
  EXPECT_EQ(r.refused().empty(), !far()) << r.refused();
  EXPECT_EQ(r.parts(), 0u);
}

TEST_P(work_at, that_allocates_is_given_as_before) {
  recording r, scratched;
  for (std::uint32_t time = 1; time <= 4; ++time) {
    set(time);
    r.run(*x, [&] {
      buffer<std::uint64_t> const own(x->near(), n, x->device(), "a test");
      give();
      if (far()) x->wait();
    });
    expect_sums();
  }
  EXPECT_EQ(r.refused().empty(), !far()) << r.refused();
  if (!far()) return;
  EXPECT_THAT(r.refused(), HasSubstr("are wanted by what is being recorded"));
  for (std::size_t const wanted : {std::size_t{1} << 20, std::size_t{1} << 24})
    scratched.run(*x, [&] { x->fill(x->scratch(wanted), 0, 8); });
  EXPECT_THAT(scratched.refused(), HasSubstr("are wanted by what is being recorded"));
}

// An interrupt during capture does not count as a refusal.
TEST_P(work_at, that_is_interrupted_is_recorded_later) {
  recording r;
  set(2);
  r.run(*x, [&] { give(); });
  errc code{};
  error_of([&] { r.run(*x, [] { fail(errc::interrupted, "stopped"); }); }, &code);
  EXPECT_EQ(code, errc::interrupted);
  if (!far()) return;  // the function is called
  r.run(*x, [&] { give(); });
  expect_sums();
  EXPECT_EQ(r.refused(), "");
  EXPECT_GT(r.parts(), 0u);
}

GARNER_AT_EVERY_PLACE(work_at);

}  // namespace
}  // namespace garner

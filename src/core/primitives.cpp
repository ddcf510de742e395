// Which implementation of a primitive runs: a table, no more.
#include "core/primitives.hpp"

#include <algorithm>
#include <type_traits>

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

namespace {
executor& threads_of_the_host() {
  static executor one(execution_device{device_kind::cpu, 0});
  return one;
}
// f(x) at the host, or behind what the simulated device was given; what it returns is waited for.
template <class F>
auto on_threads(executor& x, F f) {
  using result = decltype(f(x));
  if (!x.asynchronous()) return f(x);
  if constexpr (std::is_void_v<result>) {
    x.give([f] { f(threads_of_the_host()); });
  } else {
    result value{};
    x.give([&value, f] { value = f(threads_of_the_host()); });
    x.wait();
    return value;
  }
}
}  // namespace

#if defined(GARNER_CUDA)
#define GARNER_ON_GPU(name, ...) \
  if (x.on_device()) return on_gpu::name(x, __VA_ARGS__)
#else
#define GARNER_ON_GPU(name, ...) \
  if (x.on_device()) fail(errc::device, "{}", device::why_none())
#endif
#define GARNER_DISPATCH(name, ...)  \
  GARNER_ON_GPU(name, __VA_ARGS__); \
  return on_threads(x, [=](executor& here) { return on_host::name(here, __VA_ARGS__); })

void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n) { GARNER_DISPATCH(scan, in, out, n); }
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) { GARNER_DISPATCH(scan, in, out, n); }
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, item_count n) {
  GARNER_ON_GPU(scan, in, out, n);
  on_threads(x, [=](executor& here) { on_host::scan(here, in, out, n.now()); });
}
// Where a sort of the simulated device leaves its result is known before it runs; the spare then holds nothing of use.
std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits) {
  GARNER_ON_GPU(sort, keys, spare, bits);
  if (!x.asynchronous()) return on_host::sort(x, keys, spare, bits);
  x.give([=] {
    auto const sorted = on_host::sort(threads_of_the_host(), keys, spare, bits);
    if (sorted.data() != keys.data()) std::copy(sorted.begin(), sorted.end(), keys.begin());
    std::fill(spare.begin(), spare.end(), ~std::uint64_t{0});
  });
  return keys;
}
std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits) {
  GARNER_ON_GPU(sort_by_key, keys, spare, values, spare_values, bits);
  if (!x.asynchronous()) return on_host::sort_by_key(x, keys, spare, values, spare_values, bits);
  x.give([=, given = values] {
    std::span<std::uint32_t> moved = given;
    auto const sorted = on_host::sort_by_key(threads_of_the_host(), keys, spare, moved, spare_values, bits);
    if (sorted.data() == keys.data()) return;
    std::copy(sorted.begin(), sorted.end(), keys.begin());
    std::copy(moved.begin(), moved.end(), given.begin());
  });
  return keys;
}
std::uint64_t select(executor& x, std::uint64_t const* in, std::uint8_t const* flags, std::uint64_t* out, std::uint64_t n) {
  GARNER_DISPATCH(select, in, flags, out, n);
}
std::uint64_t select(executor& x, std::uint32_t const* in, std::uint8_t const* flags, std::uint32_t* out, std::uint64_t n) {
  GARNER_DISPATCH(select, in, flags, out, n);
}
std::uint64_t unique(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) { GARNER_DISPATCH(unique, in, out, n); }
std::uint64_t unique_by_key(executor& x, std::uint64_t const* keys, std::uint32_t const* values, std::uint64_t* out_keys,
                            std::uint32_t* out_values, std::uint64_t n) {
  GARNER_DISPATCH(unique_by_key, keys, values, out_keys, out_values, n);
}

}  // namespace garner

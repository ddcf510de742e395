// Which implementation of a primitive runs: a table, no more.
#include "core/primitives.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

#if defined(GARNER_CUDA)
#define GARNER_DISPATCH(name, ...) return x.on_device() ? on_gpu::name(x, __VA_ARGS__) : on_host::name(x, __VA_ARGS__)
#else
#define GARNER_DISPATCH(name, ...)                                 \
  if (x.on_device()) fail(errc::device, "{}", device::why_none()); \
  return on_host::name(x, __VA_ARGS__)
#endif

void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n) { GARNER_DISPATCH(scan, in, out, n); }
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) { GARNER_DISPATCH(scan, in, out, n); }
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, item_count n) {
#if defined(GARNER_CUDA)
  if (x.on_device()) return on_gpu::scan(x, in, out, n);
#endif
  scan(x, in, out, n.now());
}
std::uint64_t reduce_sum(executor& x, std::uint64_t const* in, std::uint64_t n) { GARNER_DISPATCH(reduce_sum, in, n); }
std::uint64_t reduce_max(executor& x, std::uint64_t const* in, std::uint64_t n) { GARNER_DISPATCH(reduce_max, in, n); }
std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits) {
  GARNER_DISPATCH(sort, keys, spare, bits);
}
std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits) {
  GARNER_DISPATCH(sort_by_key, keys, spare, values, spare_values, bits);
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
void histogram(executor& x, std::uint32_t const* bin, std::uint64_t n, std::uint64_t* counts, std::uint32_t bins) {
  GARNER_DISPATCH(histogram, bin, n, counts, bins);
}

}  // namespace garner

// The primitives: the same meaning on every device, CUB on the GPU, loops of the thread pool on the host. Pointers are to memory of the
// executor's device. Only functions that return a value to the host synchronize. Element types are the few that Garner needs, so that they
// are compiled once.
#pragma once
#include <cstdint>
#include <span>

#include "core/executor.hpp"

namespace garner {

// out[i] = in[0] + ... + in[i-1] for i in [0, n]; out has n + 1 entries, the last is the total. Asynchronous. out must not overlap in.
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n);
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n);
// The same for a count in device memory: out[i] for i up to that number; out has space for the bound and one more.
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, item_count n);

// Sorts by the lowest `bits` bits of the keys, stable. Takes a spare of the same size; returns which of the two holds the result (the other
// holds nothing of use). With values, they move along, and `values` is set to the one that holds them.
std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits = 64);
std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits = 64);

// Keeps the elements whose flag is not 0, in their order; returns how many. out must not overlap in.
std::uint64_t select(executor& x, std::uint64_t const* in, std::uint8_t const* flags, std::uint64_t* out, std::uint64_t n);
std::uint64_t select(executor& x, std::uint32_t const* in, std::uint8_t const* flags, std::uint32_t* out, std::uint64_t n);

// The first of each group of equal adjacent elements; returns how many. out must not overlap in.
std::uint64_t unique(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n);
std::uint64_t unique_by_key(executor& x, std::uint64_t const* keys, std::uint32_t const* values, std::uint64_t* out_keys,
                            std::uint32_t* out_values, std::uint64_t n);

// The implementations behind the dispatch above; the device's exist only in a build with CUDA.
namespace on_host {
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n);
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n);
std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits);
std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits);
std::uint64_t select(executor& x, std::uint64_t const* in, std::uint8_t const* flags, std::uint64_t* out, std::uint64_t n);
std::uint64_t select(executor& x, std::uint32_t const* in, std::uint8_t const* flags, std::uint32_t* out, std::uint64_t n);
std::uint64_t unique(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n);
std::uint64_t unique_by_key(executor& x, std::uint64_t const* keys, std::uint32_t const* values, std::uint64_t* out_keys,
                            std::uint32_t* out_values, std::uint64_t n);
}  // namespace on_host
namespace on_gpu {
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n);
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n);
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, item_count n);
std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits);
std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits);
std::uint64_t select(executor& x, std::uint64_t const* in, std::uint8_t const* flags, std::uint64_t* out, std::uint64_t n);
std::uint64_t select(executor& x, std::uint32_t const* in, std::uint8_t const* flags, std::uint32_t* out, std::uint64_t n);
std::uint64_t unique(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n);
std::uint64_t unique_by_key(executor& x, std::uint64_t const* keys, std::uint32_t const* values, std::uint64_t* out_keys,
                            std::uint32_t* out_values, std::uint64_t n);
}  // namespace on_gpu

}  // namespace garner

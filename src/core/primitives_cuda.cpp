// The primitives on the device: CUB, with the executor's scratch as its temporary storage.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/cub.cuh>
#include <cuda/std/functional>

#include "core/exec.hpp"
#include "core/exec/current_device.hpp"
#include "core/gpus_seen.hpp"
#include "core/primitives.hpp"

namespace garner::on_gpu {

namespace {
// Calls a CUB algorithm twice, as CUB wants it: for the size of its storage, then for the work.
template <class Call>
void with_storage(executor& x, Call call, std::size_t extra = 0) {
  auto const check = [&](cudaError_t status) {
    if (status != cudaSuccess) fail(errc::device, "device {}: a primitive failed: {}", x.device(), cudaGetErrorString(status));
  };
  current_device const here(x.device());
  std::size_t bytes = 0;
  check(call(nullptr, bytes, nullptr));
  bytes = (bytes + 255) / 256 * 256;
  auto* const storage = static_cast<char*>(x.scratch(bytes + extra + 256));
  check(call(storage, bytes, storage + bytes));
}
cudaStream_t stream(executor& x) { return static_cast<cudaStream_t>(x.stream()); }

// in[i], and 0 one past the end, so that an exclusive scan of n + 1 entries ends with the total.
template <class T>
struct padded {
  T const* in;
  std::uint64_t n;
  std::uint64_t const* counted = nullptr;  // null: n itself
  __host__ __device__ std::uint64_t operator()(std::uint64_t i) const { return i < n && !(counted && i >= *counted) ? in[i] : 0; }
};
// One block does a short scan in one launch, where CUB's own takes two and asks the driver about the device each time: levels of a road
// network are short, and many.
constexpr std::uint64_t short_scan = 1u << 15;
template <class T>
__global__ void __launch_bounds__(1024) scan_in_one_block(padded<T> in, std::uint64_t* out, std::uint64_t n) {
  using block_scan = cub::BlockScan<std::uint64_t, 1024>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint64_t const each = (n + 1 + 1023) / 1024, begin = threadIdx.x * each, end = smaller(n + 1, begin + each);
  std::uint64_t sum = 0;
  for (std::uint64_t i = begin; i < end; ++i) sum += in(i);
  block_scan(storage).ExclusiveSum(sum, sum);
  for (std::uint64_t i = begin; i < end; ++i) {
    std::uint64_t const value = in(i);
    out[i] = sum;
    sum += value;
  }
}
template <class T>
void scan_any(executor& x, T const* in, std::uint64_t* out, std::uint64_t n, std::uint64_t const* counted = nullptr) {
  if (n < short_scan) {
    current_device const here(x.device());
    scan_in_one_block<<<1, 1024, 0, stream(x)>>>(padded<T>{in, n, counted}, out, n);
    if (cudaError_t const status = cudaGetLastError(); status != cudaSuccess)
      fail(errc::device, "device {}: a primitive failed: {}", x.device(), cudaGetErrorString(status));
    return;
  }
  auto const input = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0), padded<T>{in, n, counted});
  with_storage(x,
               [&](void* s, std::size_t& bytes, void*) { return cub::DeviceScan::ExclusiveSum(s, bytes, input, out, n + 1, stream(x)); });
}

// Runs call(storage, bytes, count) where count is a device u64, and returns its value.
template <class Call>
std::uint64_t counted(executor& x, Call call) {
  std::uint64_t* count = nullptr;
  with_storage(
      x,
      [&](void* s, std::size_t& bytes, void* extra) {
        count = static_cast<std::uint64_t*>(extra);
        return call(s, bytes, count);
      },
      sizeof(std::uint64_t));
  return x.read(count);
}
// CUB counted what it selects from in 32 bits before CCCL 2.7 (CUDA 12.8).
void require_countable(std::uint64_t n) {
#if CUB_VERSION < 200700
  if (n > 0x7fffffffull)
    fail(errc::device, "{} elements: this build's CUDA selects from at most 2^31 - 1; build with CUDA 12.8 or newer", n);
#else
  (void)n;
#endif
}
template <class T>
std::uint64_t select_any(executor& x, T const* in, std::uint8_t const* flags, T* out, std::uint64_t n) {
  if (n == 0) return 0;
  require_countable(n);
  return counted(x, [&](void* s, std::size_t& bytes, std::uint64_t* count) {
    return cub::DeviceSelect::Flagged(s, bytes, in, flags, out, count, static_cast<std::int64_t>(n), stream(x));
  });
}
}  // namespace

void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n) { scan_any(x, in, out, n); }
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) { scan_any(x, in, out, n); }
void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, item_count n) { scan_any(x, in, out, n.most, n.at); }

std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits) {
  cub::DoubleBuffer<std::uint64_t> k(keys.data(), spare.data());
  with_storage(x, [&](void* s, std::size_t& bytes, void*) {
    return cub::DeviceRadixSort::SortKeys(s, bytes, k, static_cast<std::int64_t>(keys.size()), 0, bits, stream(x));
  });
  return k.Current() == keys.data() ? keys : spare.first(keys.size());
}
std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits) {
  cub::DoubleBuffer<std::uint64_t> k(keys.data(), spare.data());
  cub::DoubleBuffer<std::uint32_t> v(values.data(), spare_values.data());
  with_storage(x, [&](void* s, std::size_t& bytes, void*) {
    return cub::DeviceRadixSort::SortPairs(s, bytes, k, v, static_cast<std::int64_t>(keys.size()), 0, bits, stream(x));
  });
  values = {v.Current(), keys.size()};
  return {k.Current(), keys.size()};
}

std::uint64_t select(executor& x, std::uint64_t const* in, std::uint8_t const* flags, std::uint64_t* out, std::uint64_t n) {
  return select_any(x, in, flags, out, n);
}
std::uint64_t select(executor& x, std::uint32_t const* in, std::uint8_t const* flags, std::uint32_t* out, std::uint64_t n) {
  return select_any(x, in, flags, out, n);
}
std::uint64_t unique(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) {
  if (n == 0) return 0;
  require_countable(n);
  return counted(x, [&](void* s, std::size_t& bytes, std::uint64_t* count) {
    return cub::DeviceSelect::Unique(s, bytes, in, out, count, static_cast<std::int64_t>(n), stream(x));
  });
}
std::uint64_t unique_by_key(executor& x, std::uint64_t const* keys, std::uint32_t const* values, std::uint64_t* out_keys,
                            std::uint32_t* out_values, std::uint64_t n) {
  if (n == 0) return 0;
  require_countable(n);
  return counted(x, [&](void* s, std::size_t& bytes, std::uint64_t* count) {
    return cub::DeviceSelect::UniqueByKey(s, bytes, keys, values, out_keys, out_values, count, static_cast<std::int64_t>(n),
                                          cuda::std::equal_to<>{}, stream(x));
  });
}

}  // namespace garner::on_gpu

namespace garner {

// Here, since nvcc alone knows what it compiles for.
gpu_build this_build() {
  gpu_build b{fmt::format("{}.{}", __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__), {__CUDA_ARCH_LIST__}};
  for (int& a : b.architectures) a /= 10;  // 900 is 9.0
  return b;
}

}  // namespace garner

// The CUDA runtime behind core/device.hpp. Compiled by the host compiler: no kernel stands here.
#include <cuda.h>
#include <cuda_runtime_api.h>
#if __has_include(<nvtx3/nvToolsExt.h>)  // nvcc of PyPI comes without
#include <nvtx3/nvToolsExt.h>
#define GARNER_NVTX(call) call
#else
#define GARNER_NVTX(call) static_cast<void>(0)
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "core/device.hpp"
#include "core/exec/cuda_call.hpp"
#include "core/fail.hpp"
#include "core/gpus_seen.hpp"

namespace garner::device {

namespace {
template <class Call>
Call driver_call(char const* name, int version) {
  return reinterpret_cast<Call>(driver_entry(name, version));
}

cudaError_t count_status(int& n) {
  n = 0;
  cudaError_t const status = cudaGetDeviceCount(&n);
  if (status != cudaSuccess) {
    cudaGetLastError();
    n = 0;
  }
  begun = begun || n > 0;  // to count is to begin
  return status;
}
}  // namespace

void* driver_entry(char const* name, int version) noexcept {
  void* entry = nullptr;
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult found{};
  cudaError_t const status = cudaGetDriverEntryPointByVersion(name, &entry, static_cast<unsigned>(version), cudaEnableDefault, &found);
  bool const there = status == cudaSuccess && found == cudaDriverEntryPointSuccess;
#else
  static_cast<void>(version);
  cudaDriverEntryPointQueryResult found{};
  bool const there =
      cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found) == cudaSuccess && found == cudaDriverEntryPointSuccess;
#endif
  if (there) return entry;
  cudaGetLastError();
  return nullptr;
}

bool built() { return true; }

int count() noexcept {
  static int const n = [] {
    int devices;
    count_status(devices);
    return devices;
  }();
  return begun_by_parent ? 0 : n;
}

std::string why_none() {
  if (begun_by_parent) return forked;
  gpu_problem p = why_no_gpu(see_gpus(), this_build());
  int n;
  if (p.why.empty()) p = {fmt::format("no usable GPU: {}", cudaGetErrorString(count_status(n))), "check nvidia-smi"};
  return told(p);
}

void require(int index) {
  if (count() == 0) fail(errc::device, "{}", why_none());
  if (index < 0 || index >= count())
    fail(errc::device, "device {} does not exist; there are devices 0 to {}; use cuda:{}", index, count() - 1, count() - 1);
}

void make_current(int index) {
  require(index);
  require_own_state();
  begun = true;
  GARNER_CALL(cudaSetDevice(index));
}

properties describe(int index) {
  require(index);
  // Kept: the runtime takes milliseconds, and each executor asks.
  static std::mutex mutex;
  static auto& known = *new std::vector<std::optional<properties>>(static_cast<std::size_t>(count()));
  std::lock_guard const hold(mutex);
  std::optional<properties>& kept = known[static_cast<std::size_t>(index)];
  if (kept) return *kept;
  cudaDeviceProp p;
  GARNER_CALL(cudaGetDeviceProperties(&p, index));
  properties r;
  r.name = p.name;
  r.multiprocessors = p.multiProcessorCount;
  r.compute_major = p.major;
  r.compute_minor = p.minor;
  r.memory_bytes = p.totalGlobalMem;
  r.l2_bytes = static_cast<std::uint64_t>(p.l2CacheSize);
  r.pci = fmt::format("{:04x}:{:02x}:{:02x}", p.pciDomainID, p.pciBusID, p.pciDeviceID);
  r.maps_host_memory = p.canMapHostMemory;
  r.managed_memory = p.managedMemory;
  GARNER_CALL(cudaDriverGetVersion(&r.driver_version));
  GARNER_CALL(cudaRuntimeGetVersion(&r.runtime_version));
  kept = r;
  return r;
}

memory_now memory(int index) {
  require(index);
  current const here(index);
  std::size_t free_bytes = 0, total = 0;
  GARNER_CALL(cudaMemGetInfo(&free_bytes, &total));
  return {free_bytes, total};
}

namespace {
struct free_seen {
  std::atomic<std::uint64_t> first{0}, least{0};
};
constexpr int devices_watched = 16;
free_seen watched[devices_watched];

std::uint64_t free_now() {
  std::size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) cudaGetLastError();
  return free_bytes;
}
void watch_first(int index) {
  std::uint64_t none = 0;
  if (index < devices_watched && watched[index].first.load() == 0) {
    std::uint64_t const now = free_now();
    if (watched[index].first.compare_exchange_strong(none, now)) watched[index].least = now;
  }
}
void watch_least(int index) {
  if (index >= devices_watched) return;
  std::uint64_t const now = free_now();
  std::uint64_t least = watched[index].least.load();
  while (now && now < least && !watched[index].least.compare_exchange_weak(least, now)) {
  }
}
}  // namespace

std::uint64_t most_taken(int index) noexcept {
  return index >= 0 && index < devices_watched ? watched[index].first.load() - watched[index].least.load() : 0;
}

namespace {
[[noreturn]] void refused(int index, std::size_t bytes, cudaError_t status) {
  cudaGetLastError();
  std::size_t free_bytes = 0, total = 0;
  ignore(cudaMemGetInfo(&free_bytes, &total));
  fail(errc::memory,
       "device {}: {} bytes refused ({}); {} of {} bytes are free; keep less on the device (graph_cache, feature_cache) or free some",
       index, bytes, cudaGetErrorString(status), free_bytes, total);
}
}  // namespace

void* allocate(int index, std::size_t bytes) {
  require(index);
  require_unrecorded(index, bytes);
  current const here(index);
  watch_first(index);
  void* p = nullptr;
  cudaError_t const status = cudaMalloc(&p, bytes);
  if (status != cudaSuccess) refused(index, bytes, status);
  watch_least(index);
  return p;
}
void release(int index, void* pointer) noexcept {
  if (begun_by_parent) return;
  current const here(index, std::nothrow);
  ignore(cudaFree(pointer));
}

namespace {
// Garner's own, a device each, since torch and RMM share the default one. Never destroyed: what was given may be under way at the end.
struct own_pools {
  std::mutex mutex;
  std::vector<cudaMemPool_t> of = std::vector<cudaMemPool_t>(static_cast<std::size_t>(count()));
};
cudaMemPool_t pool_of(int index) {
  static own_pools& all = *new own_pools;
  std::lock_guard const hold(all.mutex);
  cudaMemPool_t& kept = all.of[static_cast<std::size_t>(index)];
  if (kept) return kept;
  cudaMemPoolProps what{};
  what.allocType = cudaMemAllocationTypePinned;
  what.location.type = cudaMemLocationTypeDevice;
  what.location.id = index;
  cudaMemPool_t pool = nullptr;
  GARNER_CALL(cudaMemPoolCreate(&pool, &what));
  std::uint64_t until_trimmed = ~std::uint64_t{0};
  cudaError_t const status = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &until_trimmed);
  if (status != cudaSuccess) ignore(cudaMemPoolDestroy(pool));
  check(status, "cudaMemPoolSetAttribute");
  return kept = pool;
}
}  // namespace

void* allocate_from_pool(int index, cudaStream_t stream, std::size_t bytes) {
  require(index);
  current const here(index);
  watch_first(index);
  cudaMemPool_t const pool = pool_of(index);
  void* p = nullptr;
  cudaError_t status = cudaMallocFromPoolAsync(&p, bytes, pool, stream);
  if (status != cudaSuccess) {  // what lies idle in the pool may be in other sizes
    cudaGetLastError();
    ignore(cudaDeviceSynchronize());
    ignore(cudaMemPoolTrimTo(pool, 0));
    status = cudaMallocFromPoolAsync(&p, bytes, pool, stream);
  }
  if (status != cudaSuccess) refused(index, bytes, status);
  watch_least(index);
  return p;
}

void* allocate_managed(int index, std::size_t bytes) {
  require(index);
  current const here(index);
  void* p = nullptr;
  check(cudaMallocManaged(&p, bytes), "cudaMallocManaged", errc::memory);
  return p;
}
void release_managed(int index, void* pointer) noexcept { release(index, pointer); }

namespace {
#if CUDART_VERSION >= 13000
cudaMemLocation on_device(int index) { return {cudaMemLocationTypeDevice, {index}}; }
cudaMemLocation on_host() { return {cudaMemLocationTypeHost, {0}}; }
#else
int on_device(int index) { return index; }
int on_host() { return cudaCpuDeviceId; }
#endif
}  // namespace

void advise_read_mostly(int index, void* managed, std::size_t bytes) {
  GARNER_CALL(cudaMemAdvise(managed, bytes, cudaMemAdviseSetReadMostly, on_device(index)));
}

void evict_managed(int index, void* managed, std::size_t bytes) {
  current const here(index);
  // A read-mostly page on both sides would not move: the advice is taken back for the way home, and given again.
  GARNER_CALL(cudaMemAdvise(managed, bytes, cudaMemAdviseUnsetReadMostly, on_device(index)));
#if CUDART_VERSION >= 13000
  GARNER_CALL(cudaMemPrefetchAsync(managed, bytes, on_host(), 0, nullptr));
#else
  GARNER_CALL(cudaMemPrefetchAsync(managed, bytes, on_host(), nullptr));
#endif
  GARNER_CALL(cudaDeviceSynchronize());
  advise_read_mostly(index, managed, bytes);
}

void map_host(void* pointer, std::size_t bytes) {
  cudaError_t const status = cudaHostRegister(pointer, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
  if (status == cudaSuccess) return;
  cudaGetLastError();
  fail(errc::memory,
       "{} bytes of host memory could not be pinned and mapped: {}; free some, or in a container raise the memory limit and --shm-size",
       bytes, cudaGetErrorString(status));
}
void unmap_host(void* pointer) noexcept {
  if (begun_by_parent) return;
  if (cudaHostUnregister(pointer) != cudaSuccess) cudaGetLastError();
}

pin_answer pin(void* pages, std::size_t bytes, bool read_only) {
  unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
  if (read_only) flags |= cudaHostRegisterReadOnly;
  cudaError_t const status = cudaHostRegister(pages, bytes, flags);
  if (status == cudaSuccess) return {pin_result::pinned};
  cudaGetLastError();
  if (status == cudaErrorHostMemoryAlreadyRegistered) return {pin_result::already};
  return {pin_result::refused, fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status))};
}

bool reads(int index, void const* at) noexcept {
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, at) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  if (a.type == cudaMemoryTypeDevice) return a.device == index;
  if (a.type != cudaMemoryTypeUnregistered) return true;
  int pages = 0;
  if (cudaDeviceGetAttribute(&pages, cudaDevAttrPageableMemoryAccess, index) != cudaSuccess) cudaGetLastError();
  return pages != 0;
}
std::size_t pinned_from(void const* at) noexcept {
  cudaPointerAttributes a{};
  auto const pinned = [&a](void const* p) {
    if (cudaPointerGetAttributes(&a, p) == cudaSuccess) return a.type == cudaMemoryTypeHost || a.type == cudaMemoryTypeManaged;
    cudaGetLastError();
    return false;
  };
  if (!pinned(at)) return 0;
  static auto const ask = driver_call<decltype(&cuPointerGetAttribute)>("cuPointerGetAttribute", 4000);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  auto const pointer = reinterpret_cast<CUdeviceptr>(a.devicePointer ? a.devicePointer : const_cast<void*>(at));
  if (ask && ask(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer) == CUDA_SUCCESS &&
      ask(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer) == CUDA_SUCCESS && start)
    return start <= pointer && pointer < start + bytes ? start + bytes - pointer : 0;
  // If the driver lacks the size: to the end of the page where its last byte is pinned too, else this byte alone.
  constexpr std::size_t page = 4096;
  std::size_t const here = page - reinterpret_cast<std::uintptr_t>(at) % page;
  return pinned(static_cast<char const*>(at) + here - 1) ? here : 1;
}

void const* seen_by(int index, void const* host) {
  current const here(index);
  cudaPointerAttributes a{};
  GARNER_CALL(cudaPointerGetAttributes(&a, host));
  if (!a.devicePointer) fail(errc::device, "device {}: it cannot read the host memory at {}; pin it first", index, host);
  return a.devicePointer;
}

namespace {
// Begin of the allocation that contains a device pointer; the pointer itself where the driver lacks it.
char* beginning_of(void* pointer) noexcept {
  static auto const ask = driver_call<decltype(&cuPointerGetAttribute)>("cuPointerGetAttribute", 4000);
  CUdeviceptr start = 0;
  auto const at = reinterpret_cast<CUdeviceptr>(pointer);
  bool const told = ask && ask(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at) == CUDA_SUCCESS && start && start <= at;
  return reinterpret_cast<char*>(told ? start : at);
}
}  // namespace

memory_handle export_memory(int index, void* pointer) {
  require(index);
  current const here(index);
  memory_handle handle;
  static_assert(sizeof(handle.bytes) == sizeof(cudaIpcMemHandle_t));
  cudaIpcMemHandle_t ipc{};
  char* const start = beginning_of(pointer);
  GARNER_CALL(cudaIpcGetMemHandle(&ipc, start));
  std::memcpy(handle.bytes, &ipc, sizeof ipc);
  handle.offset = static_cast<std::uint64_t>(static_cast<char*>(pointer) - start);
  return handle;
}
void* open_memory(memory_handle const& handle, int index) {
  require(index);
  current const here(index);
  cudaIpcMemHandle_t ipc{};
  std::memcpy(&ipc, handle.bytes, sizeof ipc);
  void* opened = nullptr;
  cudaError_t const status = cudaIpcOpenMemHandle(&opened, ipc, cudaIpcMemLazyEnablePeerAccess);
  if (status == cudaSuccess) return static_cast<char*>(opened) + handle.offset;
  cudaGetLastError();
  fail(errc::device,
       "device {}: the memory of another process could not be opened: {} ({}); its process must still run and be another one, and see the "
       "devices under the same CUDA_VISIBLE_DEVICES",
       index, cudaGetErrorString(status), cudaGetErrorName(status));
}
void close_memory(int index, void* opened) noexcept {
  current const here(index, std::nothrow);
  if (cudaIpcCloseMemHandle(beginning_of(opened)) != cudaSuccess) cudaGetLastError();
}

peer_link peer_of(int reader, int owner) {
  require(reader);
  require(owner);
  if (reader == owner) return {true, true, 0};
  int can = 0, atomics = 0, rank = 0;
  GARNER_CALL(cudaDeviceCanAccessPeer(&can, reader, owner));
  if (!can) return {};
  GARNER_CALL(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, reader, owner));
  GARNER_CALL(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, reader, owner));
  return {true, atomics != 0, rank};
}
void enable_peer(int reader, int owner) {
  if (!peer_of(reader, owner).can)
    fail(errc::device, "device {} cannot read the memory of device {}; keep these rows in host memory, or on each device", reader, owner);
  if (reader == owner) return;
  current const here(reader);
  cudaError_t const status = cudaDeviceEnablePeerAccess(owner, 0);
  if (status == cudaSuccess) return;
  cudaGetLastError();
  if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "cudaDeviceEnablePeerAccess");
}

namespace {
struct kernel_list {
  std::mutex mutex;
  std::vector<void const*> all;
};
kernel_list& kernels() {
  static kernel_list list;
  return list;
}
}  // namespace
void register_kernel(void const* kernel) {
  kernel_list& list = kernels();
  std::lock_guard const hold(list.mutex);
  list.all.push_back(kernel);
}
kernel_loader::kernel_loader(int index, std::function<void()> first)
    : thread_([index, first = std::move(first)](std::stop_token const& stop) {
        try {
          current const here(index);
          try {
            if (first) first();
          } catch (...) {  // a later use reports the error
          }
          for (void const* kernel : kernels().all) {  // all were registered before main()
            if (stop.stop_requested()) return;
            cudaFuncAttributes ignored;
            ignore(cudaFuncGetAttributes(&ignored, kernel));
          }
        } catch (...) {  // nothing is loaded for an unusable device
        }
      }) {}
kernel_loader::~kernel_loader() = default;

void push_range([[maybe_unused]] char const* name) noexcept { GARNER_NVTX(nvtxRangePushA(name)); }
void pop_range() noexcept { GARNER_NVTX(nvtxRangePop()); }

}  // namespace garner::device

// Partitions of a device: green contexts of the driver (CUDA 12.4; their streams 12.5), looked up by name.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "core/device.hpp"
#include "core/exec/current_device.hpp"
#include "core/fail.hpp"
#include "lab/share/share.hpp"

namespace garner::lab::on_gpu {

namespace {
struct driver {
  CUresult (*device_get)(CUdevice*, int);
  CUresult (*resource)(CUdevice, CUdevResource*, CUdevResourceType);
  CUresult (*split)(CUdevResource*, unsigned*, CUdevResource const*, CUdevResource*, unsigned, unsigned);
  CUresult (*describe)(CUdevResourceDesc*, CUdevResource*, unsigned);
  CUresult (*create)(CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned);
  CUresult (*destroy)(CUgreenCtx);
  CUresult (*stream)(CUstream*, CUgreenCtx, unsigned, int);
  CUresult (*name)(CUresult, char const**);

  bool whole() const { return device_get && resource && split && describe && create && destroy && stream; }
  std::string words(char const* call, CUresult status) const {
    char const* text = nullptr;
    if (!name || name(status, &text) != CUDA_SUCCESS || !text) text = "an unknown error";
    return fmt::format("{}: {}", call, text);
  }
};
template <class Call>
void find(Call& call, char const* name, int version) {
  call = reinterpret_cast<Call>(device::driver_entry(name, version));
}
driver const& the_driver() {
  static driver const d = [] {
    driver f{};
    find(f.device_get, "cuDeviceGet", 2000);
    find(f.resource, "cuDeviceGetDevResource", 12040);
    find(f.split, "cuDevSmResourceSplitByCount", 12040);
    find(f.describe, "cuDevResourceGenerateDesc", 12040);
    find(f.create, "cuGreenCtxCreate", 12040);
    find(f.destroy, "cuGreenCtxDestroy", 12040);
    find(f.stream, "cuGreenCtxStreamCreate", 12050);
    find(f.name, "cuGetErrorName", 6000);
    return f;
  }();
  return d;
}
}  // namespace

std::string make_partition(int device, unsigned multiprocessors, partition& made) {
  // The runtime's context first, which a green context keeps and would otherwise make and end itself.
  if (cudaSetDevice(device) != cudaSuccess || cudaFree(nullptr) != cudaSuccess) {
    cudaError_t const status = cudaGetLastError();
    return fmt::format("the device cannot be used: {}", cudaGetErrorString(status));
  }
  driver const& d = the_driver();
  if (!d.whole()) return "the driver has no green contexts, which came with CUDA 12.5 (driver 555)";
  CUdevice handle = 0;
  CUdevResource all{}, share{}, rest{};
  unsigned groups = 1;
  if (CUresult const s = d.device_get(&handle, device); s != CUDA_SUCCESS) return d.words("cuDeviceGet", s);
  if (CUresult const s = d.resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM); s != CUDA_SUCCESS) return d.words("cuDeviceGetDevResource", s);
  if (CUresult const s = d.split(&share, &groups, &all, &rest, 0, multiprocessors); s != CUDA_SUCCESS || groups == 0)
    return d.words("cuDevSmResourceSplitByCount", s);
  auto const context = [&](CUdevResource& of, void*& to) -> std::string {
    CUdevResourceDesc desc{};
    CUgreenCtx green{};
    if (CUresult const s = d.describe(&desc, &of, 1); s != CUDA_SUCCESS) return d.words("cuDevResourceGenerateDesc", s);
    if (CUresult const s = d.create(&green, desc, handle, CU_GREEN_CTX_DEFAULT_STREAM); s != CUDA_SUCCESS)
      return d.words("cuGreenCtxCreate", s);
    to = green;
    return "";
  };
  if (std::string why = context(share, made.share); !why.empty()) return why;
  made.multiprocessors = share.sm.smCount;
  if (rest.type != CU_DEV_RESOURCE_TYPE_SM || rest.sm.smCount == 0) return "";
  if (std::string why = context(rest, made.others); !why.empty()) {
    free_partition(made.share);
    return why;
  }
  made.rest = rest.sm.smCount;
  return "";
}

void free_partition(void* part) noexcept { the_driver().destroy(static_cast<CUgreenCtx>(part)); }

void* partition_stream(int device, void* part) {
  current_device const here(device);
  CUstream s{};
  if (CUresult const status = the_driver().stream(&s, static_cast<CUgreenCtx>(part), CU_STREAM_NON_BLOCKING, 0); status != CUDA_SUCCESS)
    fail(errc::device, "device {}: {}", device, the_driver().words("cuGreenCtxStreamCreate", status));
  return s;
}

}  // namespace garner::lab::on_gpu

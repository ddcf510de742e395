// cuBLAS, opened at run time through the entry points declared here: no build needs its headers, and the process's own (torch's) is taken
// where it has one.
// Reproducible: one stream at a time and a workspace of our own, which is what cuBLAS asks for to give the same bits again
// (docs.nvidia.com/cuda/cublas, "Results Reproducibility"); so the calls of one executor give the same bits on the same kind of device.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "comm/opened_library.hpp"
#include "core/device.hpp"
#include "core/exec/current_device.hpp"
#include "core/fail.hpp"
#include "gnn/dense_product.hpp"
#include "memory/buffer.hpp"

namespace garner::on_gpu {

namespace {
// Values of cublas_api.h and library_types.h, which are the same in CUDA 12 and 13.
constexpr int success = 0;                                                             // CUBLAS_STATUS_SUCCESS
constexpr int as_it_is = 0, transposed = 1;                                            // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int real_32 = 0, real_64 = 1;                                                // CUDA_R_32F, CUDA_R_64F
constexpr int compute_32 = 68, compute_64 = 70, compute_bf16 = 75, compute_tf32 = 77;  // CUBLAS_COMPUTE_32F, 64F, 32F_FAST_16BF, _TF32
constexpr int default_math = 0;                                                        // CUBLAS_DEFAULT_MATH
constexpr int default_way = -1;                                                        // CUBLAS_GEMM_DEFAULT

using handle = void*;
using stream = void*;
struct cublas {
  int (*create)(handle*) = nullptr;
  int (*destroy)(handle) = nullptr;
  int (*version)(handle, int*) = nullptr;
  int (*set_stream)(handle, stream) = nullptr;
  int (*set_workspace)(handle, void*, std::size_t) = nullptr;
  int (*set_math_mode)(handle, int) = nullptr;
  int (*set_multiprocessors)(handle, int) = nullptr;
  char const* (*words)(int) = nullptr;
  // Dimensions of 64 bits; a type stands behind each pointer.
  int (*product)(handle, int, int, std::int64_t, std::int64_t, std::int64_t, void const*, void const*, int, std::int64_t, void const*, int,
                 std::int64_t, void const*, void*, int, std::int64_t, int, int) = nullptr;
  std::string file;
};

// The entries of one file; what was wrong with it goes to `tried`.
bool open_file(std::string const& file, opened_library::from where, cublas& found, std::vector<std::string>& tried) {
  // A file by its path may not find its companion; one that is loaded already is found by its name.
  if (std::size_t const name = file.rfind("/libcublas.so"); name != file.npos)
    opened_library::of_file(file.substr(0, name) + "/libcublasLt" + file.substr(name + 10), where);
  std::string why;
  std::optional<opened_library> const library = opened_library::of_file(file, where, &why);
  if (!library) {
    if (where == opened_library::from::loader) tried.push_back(opened_library::told(file, why));
    return false;
  }
  bool whole = true;
  auto const entry = [&](auto& call, char const* name) {
    if (library->entry_if_any(call, name) || !whole) return;
    whole = false;
    tried.push_back(fmt::format("{} has no {}", file, name));
  };
  entry(found.create, "cublasCreate_v2");
  entry(found.destroy, "cublasDestroy_v2");
  entry(found.version, "cublasGetVersion_v2");
  entry(found.set_stream, "cublasSetStream_v2");
  entry(found.set_workspace, "cublasSetWorkspace_v2");
  entry(found.set_math_mode, "cublasSetMathMode");
  entry(found.set_multiprocessors, "cublasSetSmCountTarget");
  entry(found.words, "cublasGetStatusString");
  entry(found.product, "cublasGemmEx_64");
  found.file = library->path_of("cublasCreate_v2");
  return whole;
}

class by_cublas final : public dense_library {
 public:
  by_cublas(executor& x, dense_math math, std::size_t workspace) : x_(x), math_(math) {
    current_device const here(x.device());
    open();
    // 32 MiB are what cuBLAS recommends for a device of compute capability 9 (its own choice there), 4 MiB before it.
    std::size_t const bytes = workspace ? workspace : (device::describe(x.device()).compute_major >= 9 ? 32u : 4u) << 20;
    try {
      workspace_ = memory_block(tier::device, bytes, x.device(), "the workspace of dense products");
      check(library_.set_math_mode(handle_, default_math), "cublasSetMathMode");
      if (x.share()) check(library_.set_multiprocessors(handle_, x.multiprocessors()), "cublasSetSmCountTarget");
      follow();
    } catch (...) {
      library_.destroy(handle_);
      throw;
    }
  }
  ~by_cublas() override {
    device::wait_all(x_.device());  // what was given may still use the workspace
    library_.destroy(handle_);
  }
  void run(dense_product<float> const& p) override {
    run(p, real_32, math_ == dense_math::tf32 ? compute_tf32 : math_ == dense_math::bf16 ? compute_bf16 : compute_32);
  }
  void run(dense_product<double> const& p) override { run(p, real_64, compute_64); }
  std::string about() const override {
    int version = 0;
    library_.version(handle_, &version);
    return fmt::format("cuBLAS {}.{}.{} ({}), {}", version / 10000, version / 100 % 100, version % 100, library_.file, to_string(math_));
  }

 private:
  void open() {
    std::vector<std::string> tried;
    bool const newest = device::describe(x_.device()).driver_version >= 13000;
    std::vector<int> majors{12};
    if (newest) majors.insert(majors.begin(), 13);  // which a driver of 12 cannot run
    for (opened_library::from const where : opened_library::both)
      for (int const major : majors)
        for (std::string const& file : opened_library::files_of(fmt::format("libcublas.so.{}", major), major == 12 ? "cublas" : "cu13")) {
          if (!open_file(file, where, library_, tried)) continue;
          int const status = library_.create(&handle_);
          if (status == success) return;
          handle_ = nullptr;
          tried.push_back(fmt::format("{}: cublasCreate: {}", library_.file, library_.words(status)));
        }
    std::string all;
    for (std::string const& why : tried) all += (all.empty() ? "" : ", ") + why;
    fail(errc::device, "device {}: no cuBLAS for dense products (tried {}); install that of CUDA {}, or name its folder in LD_LIBRARY_PATH",
         x_.device(), all, newest ? "12 or 13" : "12");
  }
  void check(int status, char const* call) const {
    if (status != success) fail(errc::device, "device {}: {}: {}", x_.device(), call, library_.words(status));
  }
  // The executor's stream, if it is another now. To set one sets the workspace back to cuBLAS's own.
  void follow() {
    if (followed_ && stream_ == x_.stream()) return;
    check(library_.set_stream(handle_, x_.stream()), "cublasSetStream");
    check(library_.set_workspace(handle_, workspace_.data(), workspace_.bytes()), "cublasSetWorkspace");
    stream_ = x_.stream();
    followed_ = true;
  }
  template <class T>
  void run(dense_product<T> const& p, int type, int compute) {
    current_device const here(x_.device());
    follow();
    auto const number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
    auto const row = [](std::uint64_t ld) { return std::max<std::int64_t>(1, static_cast<std::int64_t>(ld)); };
    // cuBLAS counts by columns: what it takes for a matrix is our transposed, and c' = b' a'.
    check(library_.product(handle_, p.transpose_b ? transposed : as_it_is, p.transpose_a ? transposed : as_it_is, number(p.n), number(p.m),
                           number(p.k), &p.alpha, p.b, type, row(p.ldb), p.a, type, row(p.lda), &p.beta, p.c, type, row(p.ldc), compute,
                           default_way),
          "cublasGemmEx");
  }

  executor& x_;
  dense_math math_;
  cublas library_;
  handle handle_ = nullptr;
  memory_block workspace_;
  stream stream_ = nullptr;
  bool followed_ = false;
};
}  // namespace

std::unique_ptr<dense_library> open_dense(executor& x, dense_math math, std::size_t workspace) {
  return std::make_unique<by_cublas>(x, math, workspace);
}

}  // namespace garner::on_gpu

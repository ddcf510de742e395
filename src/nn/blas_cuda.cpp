// cuBLAS, opened at run time through the entry points declared here: no build needs its headers, and the process's own
// (torch's) is preferred. Products with bias and ReLU use cuBLASLt, cuBLAS's own companion, where the process has it: its
// epilogue saves a pass over each result. Its algorithm for a size depends on that, on the stride of rows, and on the
// alignment of the whole arrays, not on offsets in them: blocks of rows have the same bits at any offset. Reproducible:
// one stream at a time and a workspace of our own, as cuBLAS requires for bitwise equal results
// (docs.nvidia.com/cuda/cublas, "Results Reproducibility"); so the calls of one executor give the same bits on the same
// kind of device.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/exec/current_device.hpp"
#include "core/fail.hpp"
#include "core/opened_library.hpp"
#include "memory/buffer.hpp"
#include "nn/dense_product.hpp"

namespace garner::on_gpu {

namespace {
// Values of cublas_api.h and library_types.h, which are the same in CUDA 12 and 13.
constexpr int success = 0, invalid_value = 7, not_supported = 15;  // CUBLAS_STATUS_SUCCESS, _INVALID_VALUE, _NOT_SUPPORTED
constexpr int as_it_is = 0, transposed = 1;                        // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int real_32 = 0, real_64 = 1;                            // CUDA_R_32F, CUDA_R_64F
constexpr int compute_32 = 68, compute_64 = 70, compute_bf16 = 75, compute_tf32 = 77;  // CUBLAS_COMPUTE_32F, 64F, 32F_FAST_16BF, _TF32
constexpr int default_math = 0;                                                        // CUBLAS_DEFAULT_MATH
constexpr int default_way = -1;                                                        // CUBLAS_GEMM_DEFAULT

// Constants of cublasLt.h.
constexpr int transposes_a = 3, transposes_b = 4, ends_by = 7,
              bias_at = 8;                                  // CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB, _EPILOGUE, _BIAS_POINTER
constexpr std::uint32_t by_bias = 4, by_bias_and_relu = 6;  // CUBLASLT_EPILOGUE_BIAS, _RELU_BIAS
constexpr int most_workspace = 1, sums_in_parts = 3;        // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, _REDUCTION_SCHEME_MASK
constexpr int alignment_of[] = {5, 6, 7, 8};                // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, _B, _C, _D
struct algorithm {                                          // cublasLtMatmulAlgo_t
  std::uint64_t data[8];
};
struct found_algorithm {  // cublasLtMatmulHeuristicResult_t
  algorithm algo;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(found_algorithm) == 96);

using handle = void*;
using stream = void*;
struct cublas {
  int (*create)(handle*) = nullptr;
  int (*destroy)(handle) = nullptr;
  int (*version)(handle, int*) = nullptr;
  int (*set_stream)(handle, stream) = nullptr;
  int (*set_workspace)(handle, void*, std::size_t) = nullptr;
  int (*set_math_mode)(handle, int) = nullptr;
  char const* (*words)(int) = nullptr;
  // Dimensions of 64 bits; a type stands behind each pointer.
  int (*product)(handle, int, int, std::int64_t, std::int64_t, std::int64_t, void const*, void const*, int, std::int64_t, void const*, int,
                 std::int64_t, void const*, void*, int, std::int64_t, int, int) = nullptr;
  std::string file;
};

// Functions of libcublasLt, which accepts cuBLAS's handles.
struct cublas_lt {
  int (*make_product)(void**, int, int) = nullptr;
  int (*end_product)(void*) = nullptr;
  int (*set_of_product)(void*, int, void const*, std::size_t) = nullptr;
  int (*make_layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*end_layout)(void*) = nullptr;
  int (*make_wishes)(void**) = nullptr;
  int (*end_wishes)(void*) = nullptr;
  int (*set_of_wishes)(void*, int, void const*, std::size_t) = nullptr;
  int (*find)(handle, void*, void*, void*, void*, void*, void*, int, found_algorithm*, int*) = nullptr;
  int (*run)(handle, void*, void const*, void const*, void*, void const*, void*, void const*, void const*, void*, void*, void*,
             algorithm const*, void*, std::size_t, stream) = nullptr;

  bool open(std::string const& file, opened_library::from where) {
    auto const library = opened_library::of_file(file, where);
    return library && library->entry_if_any(make_product, "cublasLtMatmulDescCreate") &&
           library->entry_if_any(end_product, "cublasLtMatmulDescDestroy") &&
           library->entry_if_any(set_of_product, "cublasLtMatmulDescSetAttribute") &&
           library->entry_if_any(make_layout, "cublasLtMatrixLayoutCreate") &&
           library->entry_if_any(end_layout, "cublasLtMatrixLayoutDestroy") &&
           library->entry_if_any(make_wishes, "cublasLtMatmulPreferenceCreate") &&
           library->entry_if_any(end_wishes, "cublasLtMatmulPreferenceDestroy") &&
           library->entry_if_any(set_of_wishes, "cublasLtMatmulPreferenceSetAttribute") &&
           library->entry_if_any(find, "cublasLtMatmulAlgoGetHeuristic") && library->entry_if_any(run, "cublasLtMatmul");
  }
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
      workspace_ = memory_block(tier::device, bytes, x.device(), "the workspace of cuBLAS");
      check(library_.set_math_mode(handle_, default_math), "cublasSetMathMode");
      follow();
      find_endings();
    } catch (...) {
      library_.destroy(handle_);
      throw;
    }
  }
  ~by_cublas() override {
    device::wait_all(x_.device());  // what was given may still use the workspace
    plans_.clear();
    library_.destroy(handle_);
  }
  void run(dense_product<float> const& p) override { run(p, real_32, compute_of_floats()); }
  void run(dense_product<double> const& p) override { run(p, real_64, compute_64); }
  bool ends(bool relu) const override { return ends_[relu]; }
  bool run_ended(dense_product<float> const& p, float const* bias, bool relu) override {
    if (!ends_[relu]) return false;
    current_device const here(x_.device());
    follow();
    plan& planned = plan_of(p, bias, relu);
    if (!planned.possible) return false;
    check(lt_.set_of_product(planned.product, bias_at, &bias, sizeof bias), "cublasLtMatmulDescSetAttribute");
    int const status = lt_.run(handle_, planned.product, &p.alpha, p.b, planned.layout[0], p.a, planned.layout[1], &p.beta, p.c,
                               planned.layout[2], p.c, planned.layout[2], &planned.how, workspace_.data(), workspace_.bytes(), x_.stream());
    if (status == not_supported || status == invalid_value) {  // after all
      planned.possible = false;
      return false;
    }
    check(status, "cublasLtMatmul");
    return true;
  }
  std::string about() const override {
    int version = 0;
    library_.version(handle_, &version);
    return fmt::format("cuBLAS {}.{}.{} ({}), {}{}", version / 10000, version / 100 % 100, version % 100, library_.file, to_string(math_),
                       ends_[true] ? ", with cuBLASLt" : "");
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
          if (status == success) {
            has_lt_ = lt_.open(fmt::format("libcublasLt.so.{}", major), opened_library::from::process);
            return;
          }
          handle_ = nullptr;
          tried.push_back(fmt::format("{}: cublasCreate: {}", library_.file, library_.words(status)));
        }
    std::string all;
    for (std::string const& why : tried) all += (all.empty() ? "" : ", ") + why;
    fail(errc::device, "device {}: no cuBLAS for GEMM (tried {}); install that of CUDA {}, or name its folder in LD_LIBRARY_PATH",
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

  int compute_of_floats() const { return math_ == dense_math::tf32 ? compute_tf32 : math_ == dense_math::bf16 ? compute_bf16 : compute_32; }

  // Key of a cuBLASLt plan: sizes, strides of rows, and the alignment that follows from both.
  struct sizes {
    bool transpose_a, transpose_b, relu;
    std::uint64_t m, n, k, lda, ldb, ldc;
    std::array<std::uint32_t, 4> alignment;  // of b, a, c and the bias
    auto operator<=>(sizes const&) const = default;
  };
  struct plan {
    cublas_lt const* lt;
    void *product = nullptr, *layout[3] = {};  // of b, a and c
    algorithm how{};
    bool possible = false;
    explicit plan(cublas_lt const& of) : lt(&of) {}
    plan(plan const&) = delete;
    ~plan() {
      for (void* const one : layout)
        if (one) lt->end_layout(one);
      if (product) lt->end_product(product);
    }
  };
  plan& plan_of(dense_product<float> const& p, float const* bias, bool relu) {
    auto const alignment = [](void const* at, std::uint64_t ld) {
      auto const bits = reinterpret_cast<std::uintptr_t>(at) | ld * sizeof(float) | 256;
      return static_cast<std::uint32_t>(bits & (~bits + 1));
    };
    sizes const key{p.transpose_a, p.transpose_b,
                    relu,          p.m,
                    p.n,           p.k,
                    p.lda,         p.ldb,
                    p.ldc,         {alignment(p.b, p.ldb), alignment(p.a, p.lda), alignment(p.c, p.ldc), alignment(bias, 0)}};
    if (auto const known = plans_.find(key); known != plans_.end()) return known->second;
    if (plans_.size() == 256) plans_.clear();  // sizes that do not come again after all
    plan& made = plans_.try_emplace(key, lt_).first->second;
    int const turned[] = {p.transpose_b ? transposed : as_it_is, p.transpose_a ? transposed : as_it_is};
    std::uint32_t const by = relu ? by_bias_and_relu : by_bias;
    auto const done = [](int status) { return status == success; };
    auto const layout = [&](int which, bool turn, std::uint64_t rows, std::uint64_t columns, std::uint64_t ld) {
      if (turn) std::swap(rows, columns);
      return done(lt_.make_layout(&made.layout[which], real_32, rows, columns, static_cast<std::int64_t>(ld)));
    };
    auto const set = [&](int what, auto const& value) { return done(lt_.set_of_product(made.product, what, &value, sizeof value)); };
    if (!done(lt_.make_product(&made.product, compute_of_floats(), real_32)) || !set(transposes_a, turned[0]) ||
        !set(transposes_b, turned[1]) || !set(ends_by, by) || !set(bias_at, bias) || !layout(0, p.transpose_b, p.n, p.k, p.ldb) ||
        !layout(1, p.transpose_a, p.k, p.m, p.lda) || !layout(2, false, p.n, p.m, p.ldc))
      return made;
    void* wishes = nullptr;
    if (!done(lt_.make_wishes(&wishes))) return made;
    std::uint64_t const room = workspace_.bytes();
    std::uint32_t const of_result = std::min(key.alignment[2], key.alignment[3]),
                        aligned[] = {key.alignment[0], key.alignment[1], of_result, of_result};
    std::uint32_t const none = 0;  // the epilogue must be the product's own, not that of a split-K reduction
    bool wished = done(lt_.set_of_wishes(wishes, most_workspace, &room, sizeof room)) &&
                  done(lt_.set_of_wishes(wishes, sums_in_parts, &none, sizeof none));
    for (int k = 0; k < 4; ++k) wished &= done(lt_.set_of_wishes(wishes, alignment_of[k], &aligned[k], sizeof aligned[k]));
    found_algorithm best{};
    int count = 0;
    made.possible =
        wished &&
        done(lt_.find(handle_, made.product, made.layout[0], made.layout[1], made.layout[2], made.layout[2], wishes, 1, &best, &count)) &&
        count == 1 && done(best.state);
    made.how = best.algo;
    lt_.end_wishes(wishes);
    return made;
  }
  // Supported epilogues. A ReLU that loses a NaN would hide errors from the search for them. That is undocumented, so it is tested once per
  // device and arithmetic. The library's answer is cached; lack of memory is an error as usual.
  void find_endings() {
    if (!has_lt_) return;
    static std::mutex one;
    static std::map<std::pair<int, dense_math>, std::array<bool, 2>> known;
    std::lock_guard const hold(one);
    auto const at = known.find({x_.device(), math_});
    if (at != known.end()) {
      ends_ = at->second;
      return;
    }
    ends_ = {true, true};
    std::array const found{keeps_nan(false), keeps_nan(true)};
    ends_ = found;
    known[{x_.device(), math_}] = found;
    plans_.clear();
  }
  bool keeps_nan(bool relu) {
    constexpr std::array<std::array<std::uint64_t, 3>, 4> tried{{{512, 64, 64}, {512, 16, 16}, {40, 47, 100}, {16, 16, 2048}}};  // m, n, k
    constexpr std::uint64_t most = 512 * 64;
    memory_block const room(tier::device, (3 * most + 64) * sizeof(float), x_.device(), "a trial of products");
    auto* const a = static_cast<float*>(room.data());
    float *const b = a + most, *const c = b + most, *const bias = c + most;
    x_.fill(a, 0xff, most * sizeof(float));  // NaNs
    x_.fill(b, 0, most * sizeof(float));
    x_.fill(bias, 0, 64 * sizeof(float));
    std::vector<float> got(most);
    for (auto const& [m, n, k] : tried) {
      x_.fill(c, 0, most * sizeof(float));
      try {
        if (!run_ended({false, true, m, n, k, 1, a, k, b, k, 0, c, n}, bias, relu)) return false;
      } catch (error const&) {  // of the library; a product without an ending it has
        return false;
      }
      x_.copy(got.data(), c, m * n * sizeof(float));
      x_.wait();
      for (std::uint64_t i = 0; i < m * n; ++i)
        if (!std::isnan(got[i])) return false;
    }
    return true;
  }

  executor& x_;
  dense_math math_;
  cublas library_;
  cublas_lt lt_;
  bool has_lt_ = false;
  std::array<bool, 2> ends_{};
  std::map<sizes, plan> plans_;
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

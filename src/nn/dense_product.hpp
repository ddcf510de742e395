// The seam behind class blas: what one product is, the libraries that make it, and the product of our own.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "core/executor.hpp"
#include "core/thread_pool.hpp"
#include "garner/gnn.hpp"

namespace garner {

// c (m x n) = alpha * op(a) * op(b) + beta * c, as blas::product. The library is not called if m or n is 0.
template <class T>
struct dense_product {
  bool transpose_a, transpose_b;
  std::uint64_t m, n, k;
  T alpha;
  T const* a;
  std::uint64_t lda;
  T const* b;
  std::uint64_t ldb;
  T beta;
  T* c;
  std::uint64_t ldc;
};

class dense_library {
 public:
  virtual ~dense_library() = default;
  virtual void run(dense_product<float> const& p) = 0;
  virtual void run(dense_product<double> const& p) = 0;
  // blas::product_ended. Whether it ends any, and one of them.
  virtual bool ends(bool /*relu*/) const { return false; }
  virtual bool run_ended(dense_product<float> const& /*p*/, float const* /*bias*/, bool /*relu*/) { return false; }
  virtual std::string about() const = 0;
};

// Garner's own, on a thread pool: any sizes, and the same bits for any number of threads (of one machine: where there are fused
// multiply-adds, they are used). `plain`: as on an x86 without AVX2.
void own_product(thread_pool& threads, dense_product<float> const& p, bool plain = false);
void own_product(thread_pool& threads, dense_product<double> const& p, bool plain = false);

namespace on_host {

// What was found of a BLAS with C's names. Nothing is closed again: its threads may still run.
struct cblas {
  using sgemm_call = void (*)(int, int, int, int, int, int, float, float const*, int, float const*, int, float, float*, int);
  using dgemm_call = void (*)(int, int, int, int, int, int, double, double const*, int, double const*, int, double, double*, int);
  sgemm_call sgemm = nullptr;  // null: not available
  dgemm_call dgemm = nullptr;
  std::string about;  // which, or why none
};
// `named`: value of GARNER_BLAS: a file, `none`, or null for the usual ones. errc::usage where a named one is unusable.
cblas find_cblas(char const* named);

std::unique_ptr<dense_library> open_dense(executor& x);  // by GARNER_BLAS; looked for once
std::unique_ptr<dense_library> open_dense(executor& x, cblas const& found);

}  // namespace on_host

namespace on_gpu {
// `workspace`: 0: as many bytes as cuBLAS recommends.
std::unique_ptr<dense_library> open_dense(executor& x, dense_math math, std::size_t workspace);  // errc::device without cuBLAS
}  // namespace on_gpu

}  // namespace garner

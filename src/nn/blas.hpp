// GEMM: OpenBLAS on the host, cuBLAS on a GPU, both opened at run time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "core/executor.hpp"
#include "garner/gnn.hpp"

namespace garner {

class dense_library;

class blas {
 public:
  // `workspace`: bytes of a device for it; 0: as many as cuBLAS recommends.
  blas(executor& x, dense_math math, std::size_t workspace = 0);
  ~blas();
  blas(blas const&) = delete;
  blas& operator=(blas const&) = delete;

  // Row-major: c (m x n) = alpha * op(a) (m x k) * op(b) (k x n) + beta * c; op(a) is a, or of a k x m its transpose; ld*: elements per
  // row. Memory of the executor's device, in the order of its stream. beta 0: c is not read.
  void product(bool transpose_a, bool transpose_b, std::uint64_t m, std::uint64_t n, std::uint64_t k, float alpha, float const* a,
               std::uint64_t lda, float const* b, std::uint64_t ldb, float beta, float* c, std::uint64_t ldc);
  void product(bool transpose_a, bool transpose_b, std::uint64_t m, std::uint64_t n, std::uint64_t k, double alpha, double const* a,
               std::uint64_t lda, double const* b, std::uint64_t ldb, double beta, double* c, std::uint64_t ldc);
  // product() with alpha 1 and beta 0 whose epilogue adds `bias` (n numbers), and with `relu` sets negative results to 0; a NaN stays one.
  // False, and nothing done: the library cannot. Sizes are planned once and kept: for those that recur.
  bool product_ended(bool transpose_a, bool transpose_b, std::uint64_t m, std::uint64_t n, std::uint64_t k, float const* a,
                     std::uint64_t lda, float const* b, std::uint64_t ldb, float* c, std::uint64_t ldc, float const* bias, bool relu);
  bool product_ended(bool, bool, std::uint64_t, std::uint64_t, std::uint64_t, double const*, std::uint64_t, double const*, std::uint64_t,
                     double*, std::uint64_t, double const*, bool) {
    return false;
  }
  bool ends_products(bool relu) const;  // whether it can of most sizes
  std::string about() const;            // which library, in words

 private:
  std::unique_ptr<dense_library> library_;
};

}  // namespace garner

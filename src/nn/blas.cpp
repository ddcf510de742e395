#include "nn/blas.hpp"

#include <utility>

#include "core/fail.hpp"
#include "nn/dense_product.hpp"

namespace garner {

namespace {
template <class T>
void check(dense_product<T> const& p) {
  auto const check = [](char const* name, bool transposed, std::uint64_t rows, std::uint64_t columns, std::uint64_t ld) {
    if (transposed) std::swap(rows, columns);
    if (ld < columns)
      fail(errc::usage, "dense product: {} has {} x {} elements, and a row of it {}; use at least as many a row as there are columns", name,
           rows, columns, ld);
  };
  check("a", p.transpose_a, p.m, p.k, p.lda);
  check("b", p.transpose_b, p.k, p.n, p.ldb);
  check("c", false, p.m, p.n, p.ldc);
}
template <class T>
void run(dense_library& library, dense_product<T> const& p) {
  check(p);
  if (p.m > 0 && p.n > 0) library.run(p);
}
}  // namespace

blas::blas(executor& x, dense_math math, std::size_t workspace)
    : library_(x.on_device() ? on_gpu::open_dense(x, math, workspace) : on_host::open_dense(x)) {}
blas::~blas() = default;

void blas::product(bool transpose_a, bool transpose_b, std::uint64_t m, std::uint64_t n, std::uint64_t k, float alpha, float const* a,
                   std::uint64_t lda, float const* b, std::uint64_t ldb, float beta, float* c, std::uint64_t ldc) {
  run<float>(*library_, {transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}
void blas::product(bool transpose_a, bool transpose_b, std::uint64_t m, std::uint64_t n, std::uint64_t k, double alpha, double const* a,
                   std::uint64_t lda, double const* b, std::uint64_t ldb, double beta, double* c, std::uint64_t ldc) {
  run<double>(*library_, {transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

bool blas::product_ended(bool transpose_a, bool transpose_b, std::uint64_t m, std::uint64_t n, std::uint64_t k, float const* a,
                         std::uint64_t lda, float const* b, std::uint64_t ldb, float* c, std::uint64_t ldc, float const* bias, bool relu) {
  dense_product<float> const p{transpose_a, transpose_b, m, n, k, 1, a, lda, b, ldb, 0, c, ldc};
  check(p);
  return m == 0 || n == 0 || (k > 0 && library_->run_ended(p, bias, relu));
}
bool blas::ends_products(bool relu) const { return library_->ends(relu); }
std::string blas::about() const { return library_->about(); }

}  // namespace garner

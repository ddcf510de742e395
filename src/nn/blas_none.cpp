// Stands in for blas_cuda.cpp in a build without CUDA.
#include "core/device.hpp"
#include "core/fail.hpp"
#include "nn/dense_product.hpp"

namespace garner::on_gpu {

std::unique_ptr<dense_library> open_dense(executor&, dense_math, std::size_t) { fail(errc::device, "{}", device::why_none()); }

}  // namespace garner::on_gpu

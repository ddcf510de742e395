// Stands in for bulk_cuda.cpp in a build without CUDA.
#include "core/fail.hpp"
#include "far/bulk.hpp"

namespace garner::on_gpu {

bool has_bulk_copies(int) { return false; }
void gather_bulk(executor&, bulk_rows const&, bulk_options const&) {
  fail(errc::device, "this build has no GPU support; build with CUDA=1, or gather on device cpu or simulated");
}

}  // namespace garner::on_gpu

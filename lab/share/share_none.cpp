// Stands in for share_cuda.cpp in a build without CUDA.
#include "lab/share/share.hpp"

namespace garner::lab::on_gpu {

std::string make_partition(int, unsigned, partition&) { return "this build has no GPU support"; }
void free_partition(void*) noexcept {}
void* partition_stream(int, void*) { return nullptr; }

}  // namespace garner::lab::on_gpu

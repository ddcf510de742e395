// See queue_provider.hpp.
#include "lab/bam/queue_provider.hpp"

namespace garner::lab {

std::byte* mapped_memory::allocate(std::size_t bytes, char const* what) {
  memory_block block(tier::host, bytes, device_, what);  // of zeroes
  auto* const at = static_cast<std::byte*>(block.data());
  std::lock_guard const hold(mutex_);
  blocks_[at] = std::move(block);
  return at;
}
void mapped_memory::release(std::byte* at) noexcept {
  std::lock_guard const hold(mutex_);
  blocks_.erase(at);
}

}  // namespace garner::lab

// Stands in for device_cuda.cpp in a build without CUDA.
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/gpus_seen.hpp"
#include "core/stream_backend.hpp"

namespace garner {
gpu_build this_build() { return {}; }
}  // namespace garner

namespace garner::device {

namespace {
[[noreturn]] void refuse() { fail(errc::device, "{}", why_none()); }
}  // namespace

bool built() { return false; }
int count() noexcept { return 0; }
std::string why_none() { return told(why_no_gpu(see_gpus(), this_build())); }
void require(int) { refuse(); }
void make_current(int) { refuse(); }
void* driver_entry(char const*, int) noexcept { return nullptr; }
properties describe(int) { refuse(); }
memory_now memory(int) { refuse(); }
std::uint64_t most_taken(int) noexcept { return 0; }
void* allocate(int, std::size_t) { refuse(); }
void release(int, void*) noexcept {}
void* allocate_managed(int, std::size_t) { refuse(); }
void release_managed(int, void*) noexcept {}
void advise_read_mostly(int, void*, std::size_t) { refuse(); }
void evict_managed(int, void*, std::size_t) { refuse(); }
void map_host(void*, std::size_t) { refuse(); }
void unmap_host(void*) noexcept {}
pin_answer pin(void*, std::size_t, bool) { refuse(); }
bool reads(int, void const*) noexcept { return false; }
std::size_t pinned_from(void const*) noexcept { return 0; }
void const* seen_by(int, void const*) { refuse(); }
memory_handle export_memory(int, void*) { refuse(); }
void* open_memory(memory_handle const&, int) { refuse(); }
void close_memory(int, void*) noexcept {}
peer_link peer_of(int, int) { refuse(); }
void enable_peer(int, int) { refuse(); }
void register_kernel(void const*) {}
kernel_loader::kernel_loader(int, std::function<void()>) {}
kernel_loader::~kernel_loader() = default;
stream_backend& gpu_streams() { refuse(); }
void push_range(char const*) noexcept {}
void pop_range() noexcept {}

}  // namespace garner::device

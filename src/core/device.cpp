// Streams, events and what is given to them: the GPU's, or those of the simulated device.
#include "core/device.hpp"

#include "core/fail.hpp"
#include "core/stream_backend.hpp"

namespace garner::device {

namespace {
stream_backend& of(int index) { return index == simulated ? simulated_streams() : gpu_streams(); }
thread_local bool recording_here = false;
}  // namespace

void* allocate_ordered(int index, void* stream, std::size_t bytes) {
  require_unrecorded(index, bytes);
  return of(index).allocate_ordered(index, stream, bytes);
}
void release_ordered(int index, void* stream, void* pointer) noexcept { of(index).release_ordered(index, stream, pointer); }
bool owns(int index, void const* at) { return of(index).owns(index, at); }
void* make_stream(int index, bool urgent) { return of(index).make_stream(index, urgent); }
void free_stream(int index, void* stream) noexcept { of(index).free_stream(index, stream); }
void* make_event(int index) { return of(index).make_event(index); }
void free_event(int index, void* event) noexcept { of(index).free_event(index, event); }
void record(int index, void* stream, void* event) { of(index).record(index, stream, event); }
void wait_event(int index, void* event) { of(index).wait_event(event); }
bool happened(int index, void* event) { return of(index).happened(event); }
void order_after(int index, void* stream, void* event) { of(index).order_after(index, stream, event); }
double elapsed_ms(int index, void* first, void* last) { return of(index).elapsed_ms(first, last); }
void copy(int index, void* stream, void* to, void const* from, std::size_t bytes) { of(index).copy(index, stream, to, from, bytes); }
void fill(int index, void* stream, void* at, int byte, std::size_t bytes) { of(index).fill(index, stream, at, byte, bytes); }
void wait_all(int index) noexcept { of(index).wait_all(index); }
void wait(int index, void* stream) { of(index).wait(index, stream); }

void require_unrecorded(int index, std::size_t bytes) {
  if (recording_here)  // a captured graph would use them after their release
    fail(errc::device, "device {}: {} bytes are wanted by what is being recorded; give it once before", index, bytes);
}
void begin_recording(int index, void* stream) {
  of(index).begin_recording(index, stream);
  recording_here = true;
}
void take_part_in_recording(bool from_here) noexcept { recording_here = from_here; }
void* end_recording(int index, void* stream, std::uint64_t& parts) {
  recording_here = false;
  return of(index).end_recording(index, stream, parts);
}
void drop_recording(int index, void* stream) noexcept {
  recording_here = false;
  of(index).drop_recording(index, stream);
}
void replay(int index, void* stream, void* recorded) { of(index).replay(index, stream, recorded); }
void free_recording(int index, void* stream, void* recorded) noexcept { of(index).free_recording(index, stream, recorded); }

}  // namespace garner::device

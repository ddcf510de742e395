// The GPU as the rest of Garner sees it: plain functions without a CUDA type, so that every module compiles with any compiler.
// device_cuda.cpp implements them over the CUDA runtime; device_none.cpp stands in for builds without CUDA: count() is 0 and the rest
// throws errc::device. Streams and events may also be those of the simulated device (simulated_device.hpp), by the index. Failures of the
// runtime are thrown as errc::device (errc::memory for allocations) with the call and the runtime's words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace garner::device {

inline constexpr int simulated = -2;  // the index of the simulated device, where it has streams

bool built();             // this build has GPU support
int count() noexcept;     // usable devices; 0 without a driver or without support in the build
std::string why_none();   // why count() is 0, and what to try
void require(int index);  // throws errc::device unless `index` is a usable device; the message lists the valid ones

// The device that calls of this thread that name none belong to (pinning). Without it they would make a context on device 0, with its
// memory.
void make_current(int index);

// A function of the driver by name, as of this version of CUDA (12040 is 12.4); null where the driver lacks it. Garner thus does not link
// libcuda, which exists only on machines with a GPU.
void* driver_entry(char const* name, int version) noexcept;

struct properties {
  std::string name;
  int multiprocessors = 0, compute_major = 0, compute_minor = 0;
  std::uint64_t memory_bytes = 0, l2_bytes = 0;
  std::string pci;  // bus address
  bool maps_host_memory = false, managed_memory = false;
  int driver_version = 0, runtime_version = 0;  // as CUDA counts: 13000 is 13.0
};
properties describe(int index);
struct memory_now {
  std::uint64_t free_bytes = 0, total_bytes = 0;
};
memory_now memory(int index);

// Memory. Pointers are valid on the host for mapped and managed memory (one address on both sides), never for allocate()'s.
void* allocate(int index, std::size_t bytes);
// The most by which allocate() saw the device's free memory shrink since its first call: the driver's own count, in its blocks, scratch
// included; what other processes take meanwhile too. 0 where nothing was allocated.
std::uint64_t most_taken(int index) noexcept;
void release(int index, void* pointer) noexcept;
void* allocate_managed(int index, std::size_t bytes);
void release_managed(int index, void* pointer) noexcept;
void advise_read_mostly(int index, void* managed, std::size_t bytes);  // UVM keeps a read-only copy a page on the device
void evict_managed(int index, void* managed, std::size_t bytes);       // pages go back to the host, so that the next run is cold
void map_host(void* pointer, std::size_t bytes);  // pins host pages and maps them for all devices; the message of errc::memory has a remedy
void unmap_host(void* pointer) noexcept;
// The same for memory of the caller (others use memory/pin.hpp, which counts the holders of pinned bytes): just these bytes, and failure is
// a result. `already`: some of the bytes are pinned. Read-only pages are pinned where the device can read such.
enum class pin_result : std::uint8_t { pinned, already, refused };
struct pin_answer {
  pin_result result = pin_result::refused;
  std::string why = {};  // the runtime's words, of a refusal
};
pin_answer pin(void* pages, std::size_t bytes, bool read_only);
std::size_t pinned_from(void const* at) noexcept;  // number of bytes from here on that are pinned (or managed) by anyone; 0: none
bool reads(int index, void const* at) noexcept;    // its own memory, pinned or managed host memory, or any where the device pages
bool owns(int index, void const* at);              // its own memory alone: what a device that pages (HMM, GH200) reads of the host is not
// Working memory in the order of a stream, from a pool of Garner's own: what is given back is given out again without a call of the
// driver, so steady work allocates nothing. It is there for work that comes later on that stream, and may be given back while work before
// still uses it. The pool keeps what it has.
void* allocate_ordered(int index, void* stream, std::size_t bytes);
void release_ordered(int index, void* stream, void* pointer) noexcept;

void const* seen_by(int index, void const* host);  // the address at which a device reads pinned memory

// Memory of a device in other processes (CUDA IPC). A handle is plain bytes, to be sent to the other process by any channel: the driver's
// own of the allocation that contains `pointer`, and the offset in it. The allocation must not be released before all others have closed
// it. A process does not open its own. Opening by a device that is not the owner's needs access between the two.
struct memory_handle {
  unsigned char bytes[64] = {};
  std::uint64_t offset = 0;
  bool operator==(memory_handle const&) const = default;
};
memory_handle export_memory(int index, void* pointer);
void* open_memory(memory_handle const& handle, int index);
void close_memory(int index, void* opened) noexcept;

// Reads of another device's memory. `fast`: over NVLink (the link takes atomics, as PCIe does not); `rank`: the driver's order among the
// links, 0 is best.
struct peer_link {
  bool can = false, fast = false;
  int rank = 0;
};
peer_link peer_of(int reader, int owner);  // nothing is changed; a device reads its own fast
void enable_peer(int reader, int owner);   // from now on kernels of `reader` may read it; again is harmless

// Streams and events (opaque). A stream belongs to its device; only wait() and the blocking copy synchronize here.
void* make_stream(int index, bool urgent = false);  // urgent: its blocks start before those of other streams
void free_stream(int index, void* stream) noexcept;
void* make_event(int index);
void free_event(int index, void* event) noexcept;
void record(int index, void* stream, void* event);
void wait_event(int index, void* event);  // until it has happened
bool happened(int index, void* event);
void order_after(int index, void* stream, void* event);  // what is given from here on waits for it; the host goes on
double elapsed_ms(int index, void* first, void* last);   // both must have happened
void copy(int index, void* stream, void* to, void const* from,
          std::size_t bytes);  // any direction; what is read must stay until it happened
void fill(int index, void* stream, void* at, int byte, std::size_t bytes);
void wait_all(int index) noexcept;   // for all streams of the device
void wait(int index, void* stream);  // and throws what went wrong on it since the last wait

// Stream capture: work that this thread submits between begin and end does not run. It is kept, and runs as a whole at each replay (CUDA
// graphs), in the same streams, with the same arguments. Kernels, copies and fills can be captured; a wait or an allocation is an error,
// and then so is the end. `parts`: how many there are. drop_recording: an end after an error.
void begin_recording(int index, void* stream);
// Streams of other threads and devices join the capture when they wait for an event submitted since begin; the captured stream must wait
// for theirs before the end. Such a thread marks begin and end of its part; one thread submits at a time.
void take_part_in_recording(bool from_here) noexcept;
void require_unrecorded(int index, std::size_t bytes);  // errc::device while this thread records; all that allocates asks
void* end_recording(int index, void* stream, std::uint64_t& parts);
void drop_recording(int index, void* stream) noexcept;
void replay(int index, void* stream, void* recorded);
void free_recording(int index, void* stream, void* recorded) noexcept;  // of the stream that it was last replayed on

// Names a range for profilers until the other call (NVTX). Nearly free if no profiler listens.
void push_range(char const* name) noexcept;
void pop_range() noexcept;
// The driver loads a kernel when it is first launched, which takes as long as many a search. A loader brings over what this program may
// launch while something else is waited for, and stops when it ends.
void register_kernel(void const* kernel);
class kernel_loader {
 public:
  explicit kernel_loader(int index, std::function<void()> first = {});  // `first`: what a library launches itself, tried out
  ~kernel_loader();
  kernel_loader(kernel_loader const&) = delete;
  kernel_loader& operator=(kernel_loader const&) = delete;

 private:
  std::jthread thread_;
};

struct named_range {
  explicit named_range(char const* name) { push_range(name); }
  ~named_range() { pop_range(); }
  named_range(named_range const&) = delete;
  named_range& operator=(named_range const&) = delete;
};

}  // namespace garner::device

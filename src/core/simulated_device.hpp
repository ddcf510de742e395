// The simulated device's streams. GARNER_STREAMS=late or random:SEED gives the device `simulated` the streams of a GPU: work submitted to
// an executor there is queued, and runs when a thread waits for it.
//   late           nothing runs before a thread waits for it: by an event, a stream, a read to the host
//   random:SEED    some of the ready tasks run, in an order determined by the seed, at each submission or wait
// Without the variable calls there have finished when they return, as on the host. Requests are counted only then.
// Invariant: a stream runs in order, and a task that waits for an event runs behind it; no other order is guaranteed, as on a GPU. Memory
// is poisoned when it is made and when it is released. It stays until all work submitted before its release has run, and a write into it
// meanwhile is a fault that every later wait throws. A missing wait thus shows, whichever of two streams runs first.
// Cost: a closure per operation; a task runs on the thread that waits for it, one at a time in a stream.
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace garner::simulated_device {

bool has_streams();                  // errc::usage for a value that GARNER_STREAMS does not have
void choose(std::string_view rule);  // as GARNER_STREAMS, "" for none: for tests, while no stream exists; forgets faults

void give(void* stream, std::function<void()> task);
void drain() noexcept;  // runs all that was given
void* allocate(std::size_t bytes);
void release(void* at) noexcept;
bool owns(void const* at) noexcept;  // it is in memory of allocate()

}  // namespace garner::simulated_device

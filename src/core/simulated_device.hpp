// The simulated device's streams. GARNER_STREAMS=late or random:SEED gives place simulated the streams of a GPU: what is given to an
// executor there is queued, and runs when somebody waits for it.
//   late           nothing runs before somebody waits for it: by an event, a stream, a read to the host
//   random:SEED    some of what may run does, in an order drawn from the seed, whenever something is given or waited for
// Without the variable calls there have finished when they return, as at the host. Requests are counted then alone.
// Invariant: a stream runs in order, and what waits for an event runs behind it; nothing else is promised, as on a GPU. Memory is poisoned
// when it is made and when it is released; it stays until all that was given before its release has run, and a write into it meanwhile is
// a fault that every later wait throws. So a wait that is missing shows, whichever of two streams it lets go first.
// Cost: a closure an operation; a task runs on the thread that waits for it, one at a time in a stream.
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace garner::simulated_device {

bool has_streams();                  // errc::usage for a value that GARNER_STREAMS does not have
void choose(std::string_view rule);  // as GARNER_STREAMS, "" for none: for tests, while there is no stream; forgets faults

void give(void* stream, std::function<void()> task);
void drain() noexcept;  // runs all that was given
void* allocate(std::size_t bytes);
void release(void* at) noexcept;
bool owns(void const* at) noexcept;  // it lies in memory of allocate()

}  // namespace garner::simulated_device

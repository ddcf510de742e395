// Mapped host memory is read from the device and compared, before anything relies on it: on some machines such reads return garbage.
#pragma once

namespace garner {

// 1 MiB is written twice with different words, and each time read by all multiprocessors. Once per process and device; errc::device when
// the device does not see what the host wrote. Cost: some 10 ms the first time.
void self_test(int device);

}  // namespace garner

// Tables from .npy files: any bytes give a table of the declared size, or one error line about the input.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "garner/features.hpp"
#include "works.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace garner;
  int const fd = ::memfd_create("input", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, data, size) != static_cast<::ssize_t>(size)) std::abort();
  works([&] {
    row_array const t = read_rows("/proc/self/fd/" + std::to_string(fd));
    std::uint64_t const bytes = t.rows * t.row_bytes();
    if (bytes > size) std::abort();
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (static_cast<std::uint8_t const*>(t.data)[i] != data[size - bytes + i]) std::abort();
  });
  ::close(fd);
  return 0;
}

// Archives of arrays: any bytes give an edge list, the same each time, or one error line about the input.
#include <sys/mman.h>
#include <unistd.h>

#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace garner;
  int const fd = ::memfd_create("input", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, data, size) != static_cast<::ssize_t>(size)) std::abort();
  check_reader([&](read_options options) {
    options.from = file_format::npz;
    return read_edges(std::filesystem::path("/proc/self/fd/" + std::to_string(fd)), options);
  });
  ::close(fd);
  return 0;
}

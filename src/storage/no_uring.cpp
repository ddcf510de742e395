// Where liburing was not there at build.
#include "storage/engines.hpp"

namespace garner {

std::unique_ptr<read_engine> make_uring_engine(std::vector<drive_descriptors> const&, unsigned, std::string& why) {
  why = "this build is without liburing";
  return nullptr;
}

}  // namespace garner

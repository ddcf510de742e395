// Replaces the host library of NVSHMEM: its entry points over files of /dev/shm, between processes, for host memory. The environment
// controls it: GARNER_STAND_IN_MAJOR (3), GARNER_STAND_IN_REFUSES (init, malloc, places, hang: a rank that never arrives), only for
// GARNER_STAND_IN_RANK if that is set. Its files begin with
// GARNER_STAND_IN_NAME, and it logs its calls to GARNER_STAND_IN_LOG.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "told.hpp"

namespace {

std::string name;
int rank = -1, ranks = 0, made = 0, status = 0;
struct block {
  int number;
  std::size_t bytes;
  std::map<int, void*> mapped;
};
std::map<void const*, block> blocks;

bool refuses(char const* what) { return refuses(what, rank); }
std::string file(std::string const& what, int of) { return "/dev/shm/" + name + "-" + what + "-" + std::to_string(of); }
void meet(std::string const& what) {  // until all ranks have arrived
  ::close(::open(file(what, rank).c_str(), O_CREAT | O_WRONLY, 0600));
  for (int k = 0; k < ranks; ++k)
    while (::access(file(what, k).c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace

extern "C" {

struct unique_id {
  int version;
  char bytes[124];
};
struct attributes {
  int version;
  void* mpi;
  struct {
    int version;
    struct {
      int version;
      unique_id* id;
      int rank, ranks;
    } id;
    char unused[96];
  } arguments;
};

void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  log("multicast off " + said("NVSHMEM_DISABLE_NVLS"));
  std::string const is = said("GARNER_STAND_IN_MAJOR");
  *major = is.empty() ? 3 : std::atoi(is.c_str()), *minor = 4, *patch = 5;
}
int nvshmemx_init_status() { return status; }
int nvshmemx_get_uniqueid(unique_id* id) {
  std::random_device random;
  std::snprintf(id->bytes, sizeof id->bytes, "%s%u%u", said("GARNER_STAND_IN_NAME").c_str(), random(), random());
  return id->version == (1 << 16) + 128 ? 0 : 7;
}
int nvshmemx_set_attr_uniqueid_args(int mine, int all, unique_id const* id, attributes* to) {
  if (to->version != (1 << 16) + 144 || to->arguments.version != (1 << 16) + 128 || to->arguments.id.version != (1 << 16) + 24) return 7;
  to->arguments.id.id = const_cast<unique_id*>(id), to->arguments.id.rank = mine, to->arguments.id.ranks = all;
  return 0;
}
int nvshmemx_hostlib_init_attr(unsigned flags, attributes* of) {
  rank = of->arguments.id.rank, ranks = of->arguments.id.ranks, name = of->arguments.id.id->bytes;
  if (flags != 8 || refuses("init")) return 7;
  while (refuses("hang")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  meet("came");
  status = 2;
  return 0;
}
void* nvshmem_malloc(std::size_t bytes) {
  if (refuses("malloc")) return nullptr;
  int const number = made++;
  std::string const of = std::to_string(number);
  int const fd = ::open(file("memory" + of, rank).c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ::ftruncate(fd, static_cast<::off_t>(bytes)) != 0) return nullptr;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  meet("there" + of);
  log("malloc of " + std::to_string(bytes));
  blocks[at] = {number, bytes, {}};
  return at;
}
void nvshmem_free(void* at) {
  block& b = blocks.at(at);
  meet("done" + std::to_string(b.number));
  for (auto const& [k, there] : b.mapped) ::munmap(there, b.bytes);
  ::munmap(at, b.bytes);
  blocks.erase(at);
}
void* nvshmem_ptr(void const* at, int of) {
  if (refuses("places")) return nullptr;
  block& b = blocks.at(at);
  void*& there = b.mapped[of];
  if (!there) {
    int const fd = ::open(file("memory" + std::to_string(b.number), of).c_str(), O_RDWR);
    there = ::mmap(nullptr, b.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
  }
  return there;
}

}  // extern "C"

// Replaces NCCL: its entry points over files of /dev/shm, between threads and between processes, for host memory. The environment controls
// it: GARNER_STAND_IN_VERSION (21403), GARNER_STAND_IN_REFUSES (init, windows, places, send: with an error; wrong: the address of another
// rank), only for GARNER_STAND_IN_RANK if that is set. Its files begin with GARNER_STAND_IN_NAME, and it logs its calls to
// GARNER_STAND_IN_LOG.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "told.hpp"

namespace {

enum result { success = 0, refused = 5, in_progress = 7 };

struct communicator;
struct window {
  communicator* of = nullptr;
  int number = 0;
  std::size_t bytes = 0;
  std::map<int, void*> mapped;
  ~window();
};

struct communicator {
  std::string name;  // of its files
  int rank = 0, ranks = 0;
  std::atomic<int> state{in_progress};
  std::atomic<bool> stops{false};
  std::map<int, int> sent, received;  // messages, by the other rank
  std::map<window*, std::unique_ptr<window>> windows;
  int windows_made = 0;
  std::thread works;
  std::string file(std::string const& what) const { return "/dev/shm/" + name + "-" + what; }
  void run(std::function<void()> f);
  bool until(std::string const& there) const {
    while (!stops && ::access(there.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return !stops;
  }
  ~communicator() {
    stops = true;
    if (works.joinable()) works.join();
    windows.clear();
  }
};
window::~window() {
  for (auto const& [k, at] : mapped)
    if (k != of->rank) ::munmap(at, bytes);
  ::unlink(of->file("window-" + std::to_string(number) + "-" + std::to_string(of->rank)).c_str());
}
void communicator::run(std::function<void()> f) {
  if (works.joinable()) works.join();
  state = in_progress;
  works = std::thread([this, f = std::move(f)] {
    f();
    if (!stops) state = success;
  });
}

struct message {
  communicator* of;
  void* at;
  std::size_t bytes;
  int other;
  bool sends;
};
thread_local std::vector<message> group;

std::mutex mutex;
std::map<void*, std::pair<std::string, std::size_t>> memory;  // allocated: its file
void write_whole(std::string const& file, void const* at, std::size_t bytes) {
  std::string const part = file + ".part";
  int const fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (std::size_t done = 0; done < bytes;) {
    ::ssize_t const n = ::write(fd, static_cast<char const*>(at) + done, bytes - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  ::close(fd);
  ::rename(part.c_str(), file.c_str());
}
void read_whole(std::string const& file, void* at, std::size_t bytes) {
  int const fd = ::open(file.c_str(), O_RDONLY);
  for (std::size_t done = 0; done < bytes;) {
    ::ssize_t const n = ::read(fd, static_cast<char*>(at) + done, bytes - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  ::close(fd);
  ::unlink(file.c_str());
}

}  // namespace

extern "C" {

struct id_bytes {
  char bytes[128];
};

int ncclGetVersion(int* version) {
  log("multicast " + said("NCCL_NVLS_ENABLE"));
  std::string const is = said("GARNER_STAND_IN_VERSION");
  *version = is.empty() ? 21403 : std::atoi(is.c_str());
  return success;
}
char const* ncclGetErrorString(int status) { return status == refused ? "the stand-in refuses" : "no error"; }
int ncclGetUniqueId(id_bytes* id) {
  std::random_device random;
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::snprintf(id->bytes, sizeof id->bytes, "%s%u%u", said("GARNER_STAND_IN_NAME").c_str(), random(), random());
  return success;
}
int ncclCommInitRankConfig(void** made, int ranks, id_bytes id, int rank, void* config) {
  int blocking = 1;
  std::memcpy(&blocking, static_cast<char*>(config) + 16, sizeof blocking);
  log("init without blocking " + std::to_string(blocking == 0));
  if (refuses("init", rank)) return refused;
  auto* const c = new communicator;
  c->name = id.bytes, c->rank = rank, c->ranks = ranks;
  write_whole(c->file("came-" + std::to_string(rank)), "", 0);
  c->run([c] {
    for (int k = 0; k < c->ranks; ++k)
      if (!c->until(c->file("came-" + std::to_string(k)))) return;
  });
  *made = c;
  return in_progress;
}
int ncclCommGetAsyncError(void* of, int* state) {
  *state = static_cast<communicator*>(of)->state;
  return success;
}
int ncclCommAbort(void* of) {
  log("abort");
  auto* const c = static_cast<communicator*>(of);
  ::unlink(c->file("came-" + std::to_string(c->rank)).c_str());
  delete c;
  return success;
}
int ncclGroupStart() {
  group.clear();
  return success;
}
int ncclSend(void const* at, std::size_t bytes, int type, int other, void* of, void*) {
  auto* const c = static_cast<communicator*>(of);
  if (type != 1 || refuses("send", c->rank)) return refused;
  group.push_back({c, const_cast<void*>(at), bytes, other, true});
  return success;
}
int ncclRecv(void* at, std::size_t bytes, int type, int other, void* of, void*) {
  if (type != 1) return refused;
  group.push_back({static_cast<communicator*>(of), at, bytes, other, false});
  return success;
}
int ncclGroupEnd() {
  if (group.empty()) return success;
  communicator* const c = group[0].of;
  log("exchange of " + std::to_string(group.size()));
  c->run([c, all = group] {
    for (message const& m : all)
      if (m.sends)
        write_whole(c->file(std::to_string(c->rank) + "-" + std::to_string(m.other) + "-" + std::to_string(c->sent[m.other]++)), m.at,
                    m.bytes);
    for (message const& m : all) {
      if (m.sends) continue;
      std::string const file =
          c->file(std::to_string(m.other) + "-" + std::to_string(c->rank) + "-" + std::to_string(c->received[m.other]++));
      if (!c->until(file)) return;
      read_whole(file, m.at, m.bytes);
    }
  });
  return in_progress;
}

int ncclMemAlloc(void** at, std::size_t bytes) {
  static std::atomic<int> number{0};
  std::string const file =
      "/dev/shm/" + said("GARNER_STAND_IN_NAME") + "memory-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  int const fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::ftruncate(fd, static_cast<::off_t>(bytes)) != 0) return refused;
  *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  std::lock_guard const hold(mutex);
  memory[*at] = {file, bytes};
  return success;
}
int ncclMemFree(void* at) {
  std::lock_guard const hold(mutex);
  auto const found = memory.find(at);
  if (found == memory.end()) return refused;
  ::unlink(found->second.first.c_str());
  ::munmap(at, found->second.second);
  memory.erase(found);
  return success;
}
int ncclCommWindowRegister(void* of, void* at, std::size_t bytes, void** made, int flags) {
  auto* const c = static_cast<communicator*>(of);
  if (flags != 1 || refuses("windows", c->rank)) return refused;
  std::string file;
  {
    std::lock_guard const hold(mutex);
    file = memory[at].first;
  }
  auto made_here = std::make_unique<window>();
  window* const w = made_here.get();
  w->of = c, w->number = c->windows_made++, w->bytes = bytes;
  int const number = w->number;
  c->windows[w] = std::move(made_here);
  log("window of " + std::to_string(bytes));
  auto const link = [c, number](int rank) { return c->file("window-" + std::to_string(number) + "-" + std::to_string(rank)); };
  static_cast<void>(!::symlink(file.c_str(), link(c->rank).c_str()));
  c->run([c, made, bytes, w, at, link] {
    for (int k = 0; k < c->ranks; ++k) {
      if (k == c->rank) {
        w->mapped[k] = at;
        continue;
      }
      if (!c->until(link(k))) return;
      int const fd = ::open(link(k).c_str(), O_RDWR);
      w->mapped[k] = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      ::close(fd);
    }
    *made = w;
  });
  return in_progress;
}
int ncclCommWindowDeregister(void* of, void* made) {
  auto* const c = static_cast<communicator*>(of);
  c->windows.erase(static_cast<window*>(made));
  return success;
}
int ncclGetPeerDevicePointer(void* made, std::size_t offset, int rank, void** at) {
  auto* const w = static_cast<window*>(made);
  if (refuses("wrong", w->of->rank)) rank = w->of->rank;
  *at = refuses("places", w->of->rank) ? nullptr : static_cast<char*>(w->mapped[rank]) + offset;
  return success;
}

}  // extern "C"

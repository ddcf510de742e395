#include "comm/nccl.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/opened_library.hpp"

namespace garner {

namespace {
// Values and structs of nccl.h, which have been the same since 2.14.
constexpr int success = 0, in_progress = 7;  // ncclSuccess, ncclInProgress
constexpr bool good(int status) { return status == success || status == in_progress; }
constexpr int bytes_type = 1;  // ncclUint8
constexpr int symmetric = 1;   // NCCL_WIN_COLL_SYMMETRIC
struct id_bytes {              // ncclUniqueId
  char bytes[128];
};
struct config {  // the head of ncclConfig_t; a shorter one is taken with the rest unset
  std::size_t size = sizeof(config);
  unsigned int magic = 0xcafebeef, version = nccl::oldest;
  int blocking = 0;
  int unused = -2147483647 - 1;  // cgaClusterSize, unset
};

opened_library opened_nccl() {
  static constexpr opened_library::setting no_multicast[] = {{"NCCL_NVLS_ENABLE", "0"}};
  return {nccl::variable, "libnccl.so.2", "nccl", no_multicast};
}
}  // namespace

struct nccl::entries {
  opened_library library = opened_nccl();
  int (*get_version)(int*) = nullptr;
  int (*get_id)(id_bytes*) = nullptr;
  int (*init)(void**, int, id_bytes, int, config*) = nullptr;
  int (*state)(void*, int*) = nullptr;
  int (*abort)(void*) = nullptr;
  char const* (*words)(int) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(void const*, std::size_t, int, int, void*, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, void*, void*) = nullptr;
  // For newer versions.
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*release)(void*) = nullptr;
  int (*enter)(void*, void*, std::size_t, void**, int) = nullptr;
  int (*leave)(void*, void*) = nullptr;
  int (*place_of)(void*, std::size_t, int, void**) = nullptr;
  int version = 0;
};

nccl::nccl() : calls_(std::make_unique<entries>()) {
  entries& c = *calls_;
  opened_library const& from = c.library;
  from.entry(c.get_version, "ncclGetVersion");
  from.entry(c.words, "ncclGetErrorString");
  if (int const status = c.get_version(&c.version); status != success)
    fail(errc::device, "{}: ncclGetVersion: {}", from.file(), c.words(status));
  if (c.version < oldest)
    fail(errc::device, "{} is too old; 2.14 or newer is needed, install one, or name its file in {}", about(), variable);
  from.entry(c.get_id, "ncclGetUniqueId");
  from.entry(c.init, "ncclCommInitRankConfig");
  from.entry(c.state, "ncclCommGetAsyncError");
  from.entry(c.abort, "ncclCommAbort");
  from.entry(c.group_start, "ncclGroupStart");
  from.entry(c.group_end, "ncclGroupEnd");
  from.entry(c.send, "ncclSend");
  from.entry(c.receive, "ncclRecv");
  from.entry_if_any(c.allocate, "ncclMemAlloc");
  from.entry_if_any(c.release, "ncclMemFree");
  from.entry_if_any(c.enter, "ncclCommWindowRegister");
  from.entry_if_any(c.leave, "ncclCommWindowDeregister");
  from.entry_if_any(c.place_of, "ncclGetPeerDevicePointer");
}
nccl::~nccl() {
  abort();  // to end it in order, all ranks would have to come
  if (memory_) calls_->release(memory_);
}

std::string nccl::about() const {
  int const v = calls_->version, head = v < 10000 ? 1000 : 10000;  // 2.8.4 was 2804
  return fmt::format("NCCL {}.{}.{} ({})", v / head, v % head / 100, v % 100, calls_->library.file());
}

void nccl::abort() noexcept {
  if (communicator_) calls_->abort(std::exchange(communicator_, nullptr));
}
void nccl::check(int status, char const* call) {
  if (!good(status)) fail(errc::device, "{}: {}: {}", about(), call, calls_->words(status));
}
bool nccl::settle(char const* call) {
  auto const until = std::chrono::steady_clock::now() + ranks_->patience();
  try {
    for (unsigned looks = 0;; ++looks) {
      int now = success;
      check(calls_->state(communicator_, &now), "ncclCommGetAsyncError");
      check(now, call);
      if (now == success) return true;
      if (looks < 100) {
        std::this_thread::yield();
        continue;
      }
      ranks_->look(rank_);
      if (!taken_ && ranks_->ahead(rank_)) {
        abort();
        return false;
      }
      if (std::chrono::steady_clock::now() >= until)
        fail(errc::device, "{}: {}: not done in {} seconds", about(), call, std::chrono::duration<double>(ranks_->patience()).count());
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } catch (...) {
    abort();
    throw;
  }
}

nccl::unique_id nccl::make_id() const {
  id_bytes id{};
  if (int const status = calls_->get_id(&id); status != success)
    fail(errc::device, "{}: ncclGetUniqueId: {}", about(), calls_->words(status));
  return {id.bytes, sizeof id.bytes};
}
void nccl::begin(rank_group& ranks, std::uint32_t rank, unique_id const& id, int device) {
  ranks_ = &ranks, rank_ = rank, device_ = device;
  if (device_ >= 0) device::make_current(device_);
  id_bytes bytes{};
  std::memcpy(bytes.bytes, id.data(), std::min(id.size(), sizeof bytes.bytes));
  config c;
  check(calls_->init(&communicator_, static_cast<int>(ranks.ranks()), bytes, static_cast<int>(rank), &c), "ncclCommInitRankConfig");
  settle("ncclCommInitRankConfig");
}

void nccl::exchange(void* stream, std::span<message const> sent, std::span<message const> received) {
  if (device_ >= 0) device::make_current(device_);
  entries const& c = *calls_;
  if (!communicator_) fail(errc::device, "{}: its communicator was given up; begin anew", about());
  check(c.group_start(), "ncclGroupStart");
  int sends = success, receives = success;  // ends a begun group always: it belongs to the thread and affects all users of the library
  for (message const& m : sent)
    if (m.bytes && good(sends)) sends = c.send(m.at, m.bytes, bytes_type, static_cast<int>(m.rank), communicator_, stream);
  for (message const& m : received)
    if (m.bytes && good(sends) && good(receives))
      receives = c.receive(m.at, m.bytes, bytes_type, static_cast<int>(m.rank), communicator_, stream);
  int const ended = c.group_end();
  check(sends, "ncclSend"), check(receives, "ncclRecv"), check(ended, "ncclGroupEnd");
  settle("ncclGroupEnd");
}
void nccl::wait(event const& e) {
  try {
    for (unsigned looks = 0; !e.happened(); ++looks) {
      if (looks < 1000) {
        std::this_thread::yield();
        continue;
      }
      if (int now = success; communicator_) {
        check(calls_->state(communicator_, &now), "ncclCommGetAsyncError");
        check(now, "rows of other shards");
      }
      ranks_->look(rank_);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  } catch (...) {
    abort();  // what waits on the stream ends
    throw;
  }
}

peer_memory nccl::make_window(std::uint64_t bytes) {
  entries const& c = *calls_;
  if (c.version < oldest_windows || !c.allocate || !c.release || !c.enter || !c.leave || !c.place_of)
    fail(errc::device, "{} has no windows that the host knows the places of; 2.29 or newer has", about());
  if (device_ >= 0) device::make_current(device_);
  if (window_) {
    check(c.leave(communicator_, std::exchange(window_, nullptr)), "ncclCommWindowDeregister");
    if (!settle("ncclCommWindowDeregister")) return {};
  }
  if (memory_) check(c.release(std::exchange(memory_, nullptr)), "ncclMemFree");
  peer_memory made;
  check(c.allocate(&made.mine, bytes), "ncclMemAlloc");
  memory_ = made.mine;
  check(c.enter(communicator_, made.mine, bytes, &window_, symmetric), "ncclCommWindowRegister");
  if (!settle("ncclCommWindowRegister")) return {};
  if (!window_) fail(errc::device, "{}: ncclCommWindowRegister: it made none; no memory is symmetric here", about());
  for (std::uint32_t k = 0; k < ranks_->ranks(); ++k) {
    void* at = nullptr;
    check(c.place_of(window_, 0, static_cast<int>(k), &at), "ncclGetPeerDevicePointer");
    if (!at) fail(errc::device, "{}: the window of rank {} is out of this rank's reach", about(), k);
    made.at.push_back(at);
  }
  return made;
}
}  // namespace garner

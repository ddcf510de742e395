#include "comm/nvshmem.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/opened_library.hpp"

namespace garner {

namespace {
// Structs of nvshmemx_api.h: each has its version, (1 << 16) + its size.
struct unique_id {
  int version = (1 << 16) + 128;
  char bytes[124] = {};
};
struct id_arguments {
  int version = (1 << 16) + 24;
  unique_id* id = nullptr;
  int rank = -1, ranks = -1;
};
struct init_arguments {
  int version = (1 << 16) + 128;
  id_arguments id;
  char unused[96] = {};
};
struct init_attributes {
  int version = (1 << 16) + 144;
  void* mpi = nullptr;
  init_arguments arguments;
};
static_assert(sizeof(unique_id) == 128 && sizeof(id_arguments) == 24 && sizeof(init_arguments) == 128 && sizeof(init_attributes) == 144);
constexpr unsigned by_unique_id = 1u << 3;  // NVSHMEMX_INIT_WITH_UNIQUEID

std::atomic<bool> begun{false};

opened_library opened_nvshmem() {
  static constexpr opened_library::setting no_multicast[] = {{"NVSHMEM_DISABLE_NVLS", "1"}};
  return {nvshmem::variable, "libnvshmem_host.so.3", "nvshmem", no_multicast};
}
}  // namespace

struct nvshmem::entries {
  opened_library library = opened_nvshmem();
  void (*version)(int*, int*, int*) = nullptr;
  int (*status)() = nullptr;
  int (*get_id)(unique_id*) = nullptr;
  int (*set_id)(int, int, unique_id const*, init_attributes*) = nullptr;
  int (*init)(unsigned, init_attributes*) = nullptr;
  void* (*allocate)(std::size_t) = nullptr;
  void (*release)(void*) = nullptr;
  void* (*place_of)(void const*, int) = nullptr;
  int major = 0, minor = 0, patch = 0;
};

nvshmem::nvshmem() : calls_(std::make_unique<entries>()) {
  entries& c = *calls_;
  opened_library const& from = c.library;
  from.entry(c.version, "nvshmemx_vendor_get_version_info");
  c.version(&c.major, &c.minor, &c.patch);
  if (c.major < oldest)
    fail(errc::device, "{} is too old; {}.0 or newer is needed, install one, or name its file in {}", about(), oldest, variable);
  from.entry(c.status, "nvshmemx_init_status");
  from.entry(c.get_id, "nvshmemx_get_uniqueid");
  from.entry(c.set_id, "nvshmemx_set_attr_uniqueid_args");
  from.entry(c.init, "nvshmemx_hostlib_init_attr");
  from.entry(c.allocate, "nvshmem_malloc");
  from.entry(c.release, "nvshmem_free");
  from.entry(c.place_of, "nvshmem_ptr");
  if (begun || c.status() != 0) fail(errc::device, "{}: this process has begun it already, and may do so once", about());
}
nvshmem::~nvshmem() = default;  // its memory goes with the process: to release it, all ranks would have to come

std::string nvshmem::about() const {
  entries const& c = *calls_;
  return fmt::format("NVSHMEM {}.{}.{} ({})", c.major, c.minor, c.patch, c.library.file());
}

template <class F>
auto nvshmem::watched(char const* call, F const& f) -> std::optional<decltype(f())> {
  struct work {
    decltype(f()) found{};
    std::exception_ptr wrong;
    std::atomic<bool> done{false};
  };
  auto const shared = std::make_shared<work>();
  std::thread worker([shared, f, device = device_] {
    try {
      if (device >= 0) device::make_current(device);
      shared->found = f();
    } catch (...) {
      shared->wrong = std::current_exception();
    }
    shared->done.store(true, std::memory_order_release);
  });
  auto const until = std::chrono::steady_clock::now() + ranks_->patience();
  try {
    for (unsigned looks = 0; !shared->done.load(std::memory_order_acquire); ++looks) {
      ranks_->look(rank_);
      if (!taken_ && ranks_->ahead(rank_)) {
        worker.detach();
        return std::nullopt;
      }
      if (std::chrono::steady_clock::now() >= until)
        fail(errc::device, "{}: {}: not done in {} seconds", about(), call, std::chrono::duration<double>(ranks_->patience()).count());
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  } catch (...) {
    worker.detach();
    throw;
  }
  worker.join();
  if (shared->wrong) std::rethrow_exception(shared->wrong);
  return shared->found;
}

std::string nvshmem::make_id() const {
  unique_id id;
  if (int const status = calls_->get_id(&id); status != 0) fail(errc::device, "{}: nvshmemx_get_uniqueid: status {}", about(), status);
  return {reinterpret_cast<char const*>(&id), sizeof id};
}
void nvshmem::begin(rank_group& ranks, std::uint32_t rank, std::string const& id, int device) {
  ranks_ = &ranks, rank_ = rank, device_ = device;
  begun = true;  // from here on, whatever comes of it
  struct both {
    unique_id id;
    init_attributes attributes;
  };
  auto const b = std::make_shared<both>();
  std::memcpy(&b->id, id.data(), std::min(id.size(), sizeof b->id));
  if (int const status = calls_->set_id(static_cast<int>(rank), static_cast<int>(ranks.ranks()), &b->id, &b->attributes); status != 0)
    fail(errc::device, "{}: nvshmemx_set_attr_uniqueid_args: status {}", about(), status);
  auto const status = watched("nvshmemx_hostlib_init_attr", [b, init = calls_->init] { return init(by_unique_id, &b->attributes); });
  if (status && *status != 0) fail(errc::device, "{}: nvshmemx_hostlib_init_attr: status {}", about(), *status);
}

peer_memory nvshmem::make_window(std::uint64_t bytes) {
  if (memory_)
    watched("nvshmem_free", [release = calls_->release, at = std::exchange(memory_, nullptr)] {
      release(at);
      return 0;
    });
  peer_memory made;
  auto const at = watched("nvshmem_malloc", [allocate = calls_->allocate, bytes] { return allocate(bytes); });
  if (!at) return {};
  made.mine = memory_ = *at;
  if (!memory_) fail(errc::device, "{}: nvshmem_malloc: {} bytes refused", about(), bytes);
  for (std::uint32_t k = 0; k < ranks_->ranks(); ++k) {
    void const* const at = k == rank_ ? memory_ : calls_->place_of(memory_, static_cast<int>(k));
    if (!at) fail(errc::device, "{}: memory of rank {} is out of this rank's reach", about(), k);
    made.at.push_back(at);
  }
  return made;
}

}  // namespace garner

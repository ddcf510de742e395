#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "comm/nccl.hpp"
#include "comm/nvshmem.hpp"
#include "comm/peer_group.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/opened_library.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"
#include "memory/pin.hpp"
#include "shard/exchange.hpp"
#include "shard/group.hpp"

// How each shard's rows become readable to the kernels of all others (row_access.hpp), as shard_group::make() chooses:
//   direct_rows  shards of one process whose devices have peer access: in place
//   staged_rows  staging buffers that all others read. Shared data is copied into one, so that a shard may change its own memory freely,
//                and so that memory of a failed shard is never read after its release. They are shared memory or CUDA IPC between
//                processes, host memory (pinned for GPUs without peer access), or memory of NCCL (2.29 and newer) or NVSHMEM.
//   nccl_rows    NCCL sends and receives, where it has no windows or devices lack peer access. NCCL does not reduce, since its order
//                differs from ours. Received rows are on the device: for an aggregation in bulk the requested rows, else all of all shards.
// Invariant: staging buffers are made by all shards together, in the size that each needs; they are replaced only if one is too small,
// after all reads. Cost of staging: a copy of the rows, two waits of the host for its device and two barriers; close() does not wait for
// shards. Cost of send and receive: rows are copied to a contiguous buffer and stored twice, and the host waits until this shard has
// received everything (requested rows: in close()), as a dead shard would block the device forever.
namespace garner {

// Shards of one process: rows are read in place, behind the events of their writers.
class shard_group::direct_rows final : public row_access {
 public:
  direct_rows(shard_group& g, std::uint32_t shard) : g_(g), shard_(shard) {}
  peer_table share(executor& x, shared_part const& mine, row_demand const*) override {
    auto& m = g_.members_[shard_];
    m.part = mine;
    m.ready.record(x);
    g_.barrier(shard_);
    peer_table t;
    t.shards = g_.options_.shards;
    for (std::uint32_t k = 0; k < t.shards; ++k) {
      shared_part const& of = g_.members_[k].part;
      t.of[k] = {of.base, of.rows, of.row_bytes};
    }
    return t;
  }
  void before(std::uint32_t shard, executor& reader) override {
    if (shard != shard_) g_.members_[shard].ready.before(reader);
  }
  void close(executor& x) override {
    g_.members_[shard_].read.record(x);
    g_.barrier(shard_);
    for (std::uint32_t k = 0; k < g_.options_.shards; ++k)
      if (k != shard_) g_.members_[k].read.before(x);
  }
  void drop(executor& x) override {
    if (g_.members_[shard_].token) return;  // what is being recorded reads nothing yet
    close(x);
    x.wait();
  }
  bool waits() const override { return false; }
  std::string about() const override { return "memory of one process"; }
  std::uint64_t bytes() const override { return 0; }

 private:
  shard_group& g_;
  std::uint32_t shard_;
};

namespace {

class staging {
 public:
  virtual ~staging() = default;
  // By all shards together: one buffer each of so many bytes, instead of those before.
  virtual peer_memory make(std::vector<std::uint64_t> const& bytes) = 0;
  virtual std::string about() const = 0;
  virtual bool near() const = 0;  // buffers are where their shards keep their own state
};

// `device`: that reads them, -1: none. `here`: they lie on the devices, and else in host memory.
class process_staging final : public staging {
 public:
  process_staging(rank_group& ranks, int device, bool here) : ranks_(ranks), mine_(*ranks.only()), device_(device), here_(here) {}

  peer_memory make(std::vector<std::uint64_t> const& bytes) override {
    bool const before = group_.has_value();
    pins_.clear();
    group_.reset();
    if (before) {
      ranks_.barrier(mine_);  // all have released it
      peer_group::left_behind();
    }
    peer_group::terms terms = *ranks_.common(here_ ? device_ : -1);
    terms.same = "rows of shards";
    terms.writable = device_ >= 0;  // pages that may be written are pinned everywhere
    peer_group group(terms);
    peer_memory made;
    made.mine = group.make(bytes[mine_], *std::max_element(bytes.begin(), bytes.end()), "rows that shards share");
    made.at = group.open();
    group_.emplace(std::move(group));
    if (device_ < 0 || here_) return made;
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      if (bytes[k] == 0) continue;
      pins_.emplace_back(made.at[k], whole_pages(bytes[k]), device_);
      made.at[k] = pins_.back().device_data();
    }
    return made;
  }
  std::string about() const override {
    if (device_ < 0) return "shared memory";
    return here_ ? "memory of each other's devices (CUDA IPC)" : "host memory that processes share";
  }
  bool near() const override { return device_ < 0 || here_; }

 private:
  rank_group& ranks_;
  std::uint32_t mine_;
  int device_;
  bool here_;
  std::optional<peer_group> group_;
  std::vector<pinned_pages> pins_;
};

class thread_staging final : public staging {
 public:
  thread_staging(rank_group& ranks, std::uint32_t shard, int device) : ranks_(ranks), shard_(shard), device_(device) {}

  peer_memory make(std::vector<std::uint64_t> const& bytes) override {
    block_ = memory_block(tier::host, bytes[shard_], device_, "rows that shards share");
    peer_memory made;
    made.mine = block_.data();
    for (auto const& [at, unused] : ranks_.all_gather_numbers(shard_, {reinterpret_cast<std::uintptr_t>(block_.data()), 0}))
      made.at.push_back(reinterpret_cast<void const*>(at));
    return made;
  }
  std::string about() const override { return "host memory"; }
  bool near() const override { return device_ < 0; }

 private:
  rank_group& ranks_;
  std::uint32_t shard_;
  int device_;
  memory_block block_;
};

template <class Library>
class library_staging final : public staging {
 public:
  library_staging(std::shared_ptr<Library> by, int device)
      : by_(std::move(by)), pays_(device < 0 ? host_budget() : device_budget(device)) {}
  ~library_staging() override { pays_.give_back(paid_); }
  peer_memory make(std::vector<std::uint64_t> const& bytes) override {
    constexpr std::uint64_t whole = 2u << 20;  // of the driver's pages
    std::uint64_t const most = (*std::max_element(bytes.begin(), bytes.end()) + whole - 1) / whole * whole;
    pays_.give_back(std::exchange(paid_, 0));
    pays_.take(most, "rows that shards share");
    paid_ = most;
    return by_->make_window(most);
  }
  std::string about() const override { return by_->about() + ", windows"; }
  bool near() const override { return true; }

 private:
  std::shared_ptr<Library> by_;
  budget& pays_;
  std::uint64_t paid_ = 0;
};

class staged_rows final : public row_access {
 public:
  // By all shards together: it is known then whether it is available.
  staged_rows(rank_group& ranks, std::uint32_t shard, std::unique_ptr<staging> memory)
      : ranks_(ranks), shard_(shard), memory_(std::move(memory)), bytes_(ranks.ranks()) {
    make(std::vector<std::uint64_t>(bytes_.size(), page_bytes));
  }
  peer_table share(executor& x, shared_part const& mine, row_demand const*) override {
    read_.wait();
    std::vector<rank_group::pair> const all =
        ranks_.all_gather_numbers(shard_, {mine.rows, mine.row_bytes});  // all have read what was there
    std::vector<std::uint64_t> wanted;
    for (auto const& [rows, row_bytes] : all) wanted.push_back(rows * row_bytes);
    make(wanted);
    if (mine.bytes()) x.copy(places_.mine, mine.base, mine.bytes());
    x.wait();
    ranks_.barrier(shard_);
    peer_table t;
    t.shards = ranks_.ranks();
    for (std::uint32_t k = 0; k < t.shards; ++k) t.of[k] = {places_.at[k], all[k][0], all[k][1]};
    t.of[shard_].base = mine.base;
    return t;
  }
  void close(executor& x) override { read_.record(x); }
  void drop(executor& x) override { x.wait(); }
  bool waits() const override { return true; }
  std::string about() const override { return memory_->about(); }
  std::uint64_t bytes() const override { return memory_->near() ? bytes_[shard_] : 0; }

 private:
  void make(std::vector<std::uint64_t> const& wanted) {
    bool enough = true;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      enough &= wanted[k] <= bytes_[k];
      bytes_[k] = std::max(bytes_[k], wanted[k]);
    }
    if (!enough) places_ = memory_->make(bytes_);
  }
  rank_group& ranks_;
  std::uint32_t shard_;
  std::unique_ptr<staging> memory_;
  std::vector<std::uint64_t> bytes_;
  peer_memory places_;
  event read_;
};

// Offset of each shard in a buffer for all, and the size of that.
std::vector<std::uint64_t> places_of(std::vector<std::uint64_t> const& bytes) {
  std::vector<std::uint64_t> at{0};
  for (std::uint64_t const b : bytes) at.push_back(at.back() + (b + 127) / 128 * 128);
  return at;
}

class nccl_rows final : public row_access {
 public:
  nccl_rows(std::shared_ptr<nccl> by, rank_group& ranks, std::uint32_t shard, executor& x, std::string why_no_windows)
      : by_(std::move(by)), ranks_(ranks), shard_(shard), why_no_windows_(std::move(why_no_windows)), far_(x, executor::urgent{}) {
    by_->taken();
  }
  std::shared_ptr<row_demand const> ask(executor& x, std::vector<std::vector<std::uint32_t>> const& needs) override {
    std::uint32_t const n = ranks_.ranks();
    auto made = std::make_shared<row_demand>();
    std::vector<std::uint64_t> counts;
    for (auto const& of : needs) counts.push_back(of.size());
    std::vector<std::string> const all =
        ranks_.all_gather(shard_, {reinterpret_cast<char const*>(counts.data()), counts.size() * sizeof counts[0]});
    made->needed = counts;
    std::vector<buffer<std::uint32_t>> mine;
    std::vector<nccl::message> sent, received;
    for (std::uint32_t k = 0; k < n; ++k) {
      std::uint64_t asks = 0;
      std::memcpy(&asks, all[k].data() + shard_ * sizeof asks, sizeof asks);
      made->asked.emplace_back(x.near(), asks, x.device(), "rows requested by other shards");
      mine.emplace_back(x.near(), counts[k], x.device(), "rows requested by a shard");
      x.copy(mine[k].data(), needs[k].data(), mine[k].bytes());
      if (k == shard_) continue;
      sent.push_back({k, mine[k].data(), mine[k].bytes()});
      received.push_back({k, made->asked[k].data(), made->asked[k].bytes()});
    }
    by_->exchange(x.stream(), sent, received);
    arrived_.record(x);
    by_->wait(arrived_);
    return made;
  }

  peer_table share(executor& x, shared_part const& mine, row_demand const* only) override {
    std::uint32_t const n = ranks_.ranks();
    std::vector<rank_group::pair> const all = ranks_.all_gather_numbers(shard_, {mine.rows, mine.row_bytes});
    std::vector<std::uint64_t> in(n), out(n);
    bool const receives = only || !mine.for_first || shard_ == 0;
    for (std::uint32_t k = 0; k < n; ++k) {
      if (k == shard_) continue;
      shared_part const theirs{nullptr, all[k][0], all[k][1], mine.used_bytes};
      in[k] = only ? only->needed[k] * mine.used_bytes : receives ? theirs.bytes() : 0;
      out[k] = only ? only->asked[k].size() * mine.used_bytes : mine.for_first && k != 0 ? 0 : mine.bytes();
    }
    std::vector<std::uint64_t> const at = places_of(in), packed_at = places_of(out);
    auto const room = [&](buffer<char>& in, std::uint64_t bytes, char const* what) {
      grow(x, in, bytes, bytes, what, x.near());
      return in.data();
    };
    char* const came = room(came_, at[n], "rows of other shards, as they come");
    char* const packed = only ? room(packed_, packed_at[n], "rows for other shards, contiguous") : nullptr;
    ready_.record(x);
    ready_.before(far_);
    read_.before(far_);  // what came before
    std::vector<nccl::message> sent, received;
    peer_table t;
    t.shards = n;
    for (std::uint32_t k = 0; k < n; ++k) {
      if (only && k != shard_)
        pick_rows(far_, mine.base, mine.row_bytes, only->asked[k].data(), only->asked[k].size(), mine.used_bytes, packed + packed_at[k]);
      sent.push_back({k, only ? packed + packed_at[k] : static_cast<char*>(const_cast<void*>(mine.base)), out[k]});
      received.push_back({k, came + at[k], in[k]});
      t.of[k] = {came + at[k], only ? only->needed[k] : all[k][0], only ? mine.used_bytes : all[k][1]};
    }
    t.of[shard_] = {mine.base, mine.rows, mine.row_bytes};
    by_->exchange(far_.stream(), sent, received);
    arrived_.record(far_);
    if (!only) by_->wait(arrived_);  // what is given now would wait for it, and a host for that
    return t;
  }
  void before(std::uint32_t shard, executor& reader) override {
    if (shard != shard_) arrived_.before(reader);
  }
  void close(executor& x) override {
    arrived_.before(x);  // rows that were sent stay as they are until then
    by_->wait(arrived_);
    read_.record(x);
  }
  void drop(executor& x) override {
    by_->wait(arrived_);
    x.wait();
  }
  bool waits() const override { return true; }
  std::string about() const override { return fmt::format("{}, sent and received ({})", by_->about(), why_no_windows_); }
  std::uint64_t bytes() const override { return came_.bytes() + packed_.bytes(); }

 private:
  std::shared_ptr<nccl> by_;
  rank_group& ranks_;
  std::uint32_t shard_;
  std::string why_no_windows_;
  executor far_;
  buffer<char> came_, packed_;
  event ready_, arrived_, read_;
};

template <class Library>
std::string begin(std::shared_ptr<Library>& by, rank_group& ranks, std::uint32_t shard, executor const& x, char const* name) {
  std::string id;
  std::string const why = agree(ranks, shard, [&] {
    if (std::is_same_v<Library, nvshmem> && !ranks.only()) fail(errc::device, "NVSHMEM is for shards that are processes");
    if (!x.on_device() && !opened_library::named(Library::variable))
      fail(errc::device, "rows lie in host memory, and {} is for devices", name);
    by = std::make_shared<Library>();
    if (shard == 0) id = by->make_id();
  });
  if (!why.empty()) return why;
  id = ranks.all_gather(shard, id)[0];
  return agree(ranks, shard, [&] { by->begin(ranks, shard, id, x.device()); });
}

int device_at(std::string const& bus) {  // -1: this process does not see it
  for (int d = 0; d < device::count(); ++d)
    if (device::describe(d).pci == bus) return d;
  return -1;
}
}  // namespace

// Why this shard's kernels cannot read the memory of all other devices; empty: they can, and may from here on.
std::string shard_group::unreached(std::uint32_t shard, executor const& x) const {
  for (std::uint32_t k = 0; k < options_.shards && x.on_device(); ++k) {
    if (devices_[k] == devices_[shard]) continue;
    int const other = device_at(devices_[k]);
    if (other < 0)
      return fmt::format("the device of shard {} ({}) is invisible to this process; start all with the same CUDA_VISIBLE_DEVICES", k,
                         devices_[k]);
    if (!device::peer_of(x.device(), other).can) return fmt::format("device {} cannot read the memory of device {}", x.device(), other);
    device::enable_peer(x.device(), other);
  }
  return "";
}

std::string shard_group::make(shard_provider p, std::uint32_t shard, executor& x, std::unique_ptr<row_access>& rows) {
  bool const one_process = !of_processes() || options_.shards == 1;
  std::string why;
  auto const staged = [&](std::unique_ptr<staging> memory) {
    std::unique_ptr<row_access> made;
    why = agree(*threads_, shard, [&] { made = std::make_unique<staged_rows>(*threads_, shard, std::move(memory)); });
    if (why.empty()) rows = std::move(made);
    return why;
  };
  auto const over = [&](auto& by, char const* name) {  // `by` is null where the library could not begin
    if (why = begin(by, *threads_, shard, x, name); !why.empty()) by.reset();
    else if (staged(std::make_unique<library_staging<std::decay_t<decltype(*by)>>>(by, x.device())).empty()) by->taken();
    return why;
  };
  switch (p) {
    case shard_provider::automatic:
    case shard_provider::peer:
      why = agree(*threads_, shard, [&] {
        if (std::string const mine = unreached(shard, x); !mine.empty()) fail(errc::device, "{}", mine);
      });
      if (why.empty() && !one_process) return staged(std::make_unique<process_staging>(*threads_, x.device(), true));
      if (why.empty()) rows = std::make_unique<direct_rows>(*this, shard);
      return why;
    case shard_provider::nccl: {
      std::shared_ptr<nccl> by;
      std::string const no_windows = over(by, "NCCL");
      if (no_windows.empty() || !by) return no_windows;
      by.reset();  // some may have abandoned it while they waited for others
      why = begin(by, *threads_, shard, x, "NCCL");
      if (why.empty()) rows = std::make_unique<nccl_rows>(by, *threads_, shard, x, no_windows);
      return why;
    }
    case shard_provider::nvshmem: {
      std::shared_ptr<nvshmem> by;
      return over(by, "NVSHMEM");
    }
    case shard_provider::host:
      if (one_process) return staged(std::make_unique<thread_staging>(*threads_, shard, x.device()));
      return staged(std::make_unique<process_staging>(*threads_, x.device(), false));
  }
  return why;
}

}  // namespace garner

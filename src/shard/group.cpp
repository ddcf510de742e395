#include "shard/group.hpp"

#include <exception>
#include <mutex>
#include <thread>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "garner/build.hpp"
#include "shard/exchange.hpp"
#include "shard/library_rows.hpp"
#include "shard/parts.hpp"
#include "shard/recording.hpp"
#include "shard/windows.hpp"

namespace garner {

namespace {
shard_options const& checked(shard_options const& o) {
  check_shard_options(o);
  return o;
}
std::string told(shard_options const& o) {
  return fmt::format("shards of the build {}: way {}, {} sums, equal {}, rows of {}, over {}", build_id(), to_string(o.strategy),
                     o.strategy == shard_strategy::mgg ? "no" : to_string(o.sums), to_string(o.balance), to_string(o.wire),
                     to_string(o.provider));
}
std::vector<shard_provider> in_turn(shard_provider said) {
  using enum shard_provider;
  switch (said) {
    case automatic:
      return {peer, nccl, host};
    case nccl:
      return {nccl, peer, host};
    case nvshmem:
      return {nvshmem, peer, nccl, host};
    default:
      return {said};
  }
}
int device_at(std::string const& bus) {  // -1: this process does not see it
  for (int d = 0; d < device::count(); ++d)
    if (device::describe(d).pci == bus) return d;
  return -1;
}
}  // namespace

std::string agree(rank_group& ranks, std::uint32_t shard, std::function<void()> const& f) {
  std::string why;
  try {
    f();
  } catch (error const& e) {
    if (e.code() == errc::interrupted) throw;
    why = e.what();
  } catch (std::exception const& e) {
    why = e.what();
  }
  std::vector<std::string> const all = ranks.all_gather(shard, why);
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!all[k].empty()) return fmt::format("shard {}: {}", k, all[k]);
  return "";
}

void on_shards(shard_group& g, std::function<void(std::uint32_t)> const& f) {
  std::mutex mutex;
  std::exception_ptr first;
  auto const keep = [&](std::exception_ptr what) {
    std::lock_guard const hold(mutex);
    if (!first) first = std::move(what);
  };
  auto const run = [&](std::uint32_t shard) {
    try {
      f(shard);
      g.threads()->leave(shard, "it has ended");
    } catch (std::exception const& e) {
      keep(std::current_exception());
      g.threads()->leave(shard, e.what());
    } catch (...) {
      keep(std::current_exception());
      g.threads()->leave(shard, "it threw an unknown exception");
    }
  };
  {
    std::vector<std::jthread> others;
    std::uint32_t begun = 1;
    try {
      for (; begun < g.options().shards; ++begun) others.emplace_back(run, begun);
      run(0);
    } catch (std::exception const& e) {  // no more threads: those that there are must not wait for the others
      keep(std::current_exception());
      g.threads()->leave(0, e.what());
      for (; begun < g.options().shards; ++begun) g.threads()->leave(begun, e.what());
    }
  }
  if (first) std::rethrow_exception(first);
}

// Shards of one process: rows are read in place, behind the events of their writers.
class direct_rows final : public row_access {
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

shard_group::shard_group(shard_options const& o, double timeout_seconds)
    : options_(checked(o)), threads_(rank_group::of_threads(o.shards, timeout_seconds, timeout_seconds)) {}
shard_group::shard_group(shard_options const& o, std::string const& name, std::uint32_t shard, double timeout_seconds,
                         std::string const& also)
    : options_(checked(o)), threads_(rank_group::of_processes(name, shard, o.shards, timeout_seconds, timeout_seconds, told(o) + also)) {}

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
  auto const windows = [&](std::unique_ptr<window_memory> memory) {
    auto made = std::make_unique<window_rows>(*threads_, shard, std::move(memory));
    std::string const why = agree(*threads_, shard, [&] { made->begin(); });
    if (why.empty()) rows = std::move(made);
    return why;
  };
  std::string why;
  switch (p) {
    case shard_provider::automatic:
    case shard_provider::peer:
      why = agree(*threads_, shard, [&] {
        if (std::string const mine = unreached(shard, x); !mine.empty()) fail(errc::device, "{}", mine);
      });
      if (why.empty() && !one_process) return windows(process_windows(*threads_, x.device(), true));
      if (why.empty()) rows = std::make_unique<direct_rows>(*this, shard);
      return why;
    case shard_provider::nccl: {
      std::shared_ptr<nccl> by;
      if (why = begin_nccl(by, *threads_, shard, x); !why.empty()) return why;
      std::string const no_windows = windows(windows_of(by, x.device()));
      if (no_windows.empty()) return by->taken(), why;
      by.reset();  // some may have abandoned it while they waited for others
      why = begin_nccl(by, *threads_, shard, x);
      if (why.empty()) rows = std::make_unique<nccl_rows>(by, *threads_, shard, x, no_windows);
      return why;
    }
    case shard_provider::nvshmem: {
      std::shared_ptr<nvshmem> by;
      if (why = begin_nvshmem(by, *threads_, shard, x); !why.empty()) return why;
      why = windows(windows_of(by, x.device()));
      if (why.empty()) by->taken();
      return why;
    }
    case shard_provider::host:
      return windows(one_process ? thread_windows(*threads_, shard, x.device()) : process_windows(*threads_, x.device(), false));
  }
  return why;
}

// Whether peers read the data that each wrote: some machines report peer access that does not work.
std::string shard_group::try_out(row_access& a, std::uint32_t shard, executor& x) {
  constexpr std::uint64_t some = 16;
  auto const of = [](std::uint32_t k) {
    std::vector<float> numbers;
    for (std::uint64_t i = 0; i < some; ++i) numbers.push_back(unit_float(random_bits(0x5ba2d, k, i)));
    return numbers;
  };
  buffer<float> mine(x.near(), some, x.device(), "a trial of shards"), found(x.near(), some, x.device(), "a trial of shards");
  std::vector<float> const own = of(shard);
  x.copy(mine.data(), own.data(), mine.bytes());
  peer_table const t = a.share(x, {mine.data(), 1, mine.bytes(), mine.bytes()}, nullptr);
  std::string wrong;
  for (std::uint32_t k = 0; k < t.shards; ++k) {
    a.before(k, x);
    bring_rows(x, t, k, nullptr, 1, some, element::f32, found.data());
    std::vector<float> here(some);
    x.copy(here.data(), found.data(), found.bytes());
    x.wait();
    if (here != of(k)) wrong = fmt::format("what shard {} wrote is not what is read of it", k);
  }
  a.close(x);
  return agree(*threads_, shard, [&] {
    if (!wrong.empty()) fail(errc::device, "{}", wrong);
  });
}

void shard_group::join(std::uint32_t shard, executor& x) {
  members_[shard].where = x.where();
  bool const on_device = x.on_device();
  std::string const mine = on_device ? device::describe(x.device()).pci : std::string(to_string(x.where()));
  std::vector<std::string> const all = threads_->all_gather(shard, (on_device ? "d" : "h") + mine);
  std::vector<std::string> places;
  for (std::string const& said : all) places.push_back(said.substr(1));
  for (std::uint32_t k = 0; k < options_.shards; ++k)
    if (all[k][0] != all[shard][0] || (!on_device && places[k] != mine))
      fail(errc::usage, "shard {} at {} and shard {} at {}: give all shards devices of one kind", shard, mine, k, places[k]);
  if (shard == 0 || of_processes()) devices_ = places;
  threads_->barrier(shard);

  shard_link found;
  for (shard_provider const p : in_turn(options_.provider)) {
    std::unique_ptr<row_access> a;
    std::string why = make(p, shard, x, a);
    if (why.empty() && options_.shards > 1 && (on_device || a->waits())) why = try_out(*a, shard, x);
    if (why.empty()) {
      found.provider = p, found.about = a->about();
      members_[shard].access = std::move(a);
      members_[shard].link = found;
      return;
    }
    found.passed_over.push_back(fmt::format("{} ({})", to_string(p), why));
  }
  fail(errc::device, "shards cannot read rows of each other: {}; use another provider, or other devices",
       fmt::join(found.passed_over, ", "));
}

void shard_group::barrier(std::uint32_t shard) {
  if (pass_token* const t = members_[shard].token) t->barrier();
  else threads_->barrier(shard);
}

std::shared_ptr<void const> shard_group::share(std::uint32_t shard, std::shared_ptr<void const> mine) {
  members_[shard].given = std::move(mine);
  threads_->barrier(shard);
  std::shared_ptr<void const> const first = members_[0].given;
  threads_->barrier(shard);
  members_[shard].given = {};
  return first;
}

shared_rows::shared_rows(shard_group& g, std::uint32_t shard, executor& x, shared_part const& mine, row_demand const* only)
    : access_(*g.members_[shard].access), x_(x), table_(access_.share(x, mine, only)), picked_(only != nullptr) {}

shared_rows::~shared_rows() {
  if (!open_) return;
  try {
    access_.drop(x_);
  } catch (...) {  // a dead shard reads no more
  }
}

void shared_rows::before(std::uint32_t shard, executor& reader) const { access_.before(shard, reader); }

void shared_rows::close() {
  open_ = false;
  access_.close(x_);
}

}  // namespace garner

#include "shard/group.hpp"

#include <exception>
#include <mutex>
#include <thread>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "garner/build.hpp"
#include "shard/exchange.hpp"
#include "shard/parts.hpp"
#include "shard/recording.hpp"

namespace garner {

namespace {
shard_asked const& checked(shard_asked const& o) {
  check_shard_options(o);
  return o;
}
std::string told(shard_asked const& o) {
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

shard_group::shard_group(shard_asked const& o, double timeout_seconds)
    : options_(checked(o)), threads_(rank_group::of_threads(o.shards, timeout_seconds, timeout_seconds)) {}
shard_group::shard_group(shard_asked const& o, std::string const& name, std::uint32_t shard, double timeout_seconds,
                         std::string const& also)
    : options_(checked(o)), threads_(rank_group::of_processes(name, shard, o.shards, timeout_seconds, timeout_seconds, told(o) + also)) {}

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

// A block asks its budget first, then its tier; both get back what they gave.
#include "memory/buffer.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"
#include "memory/budget.hpp"
#include "memory/tiers.hpp"

namespace garner {

namespace {
// Calls f with a value of the tier's type.
template <class F>
decltype(auto) with_tier(tier where, F&& f) {
  switch (where) {
    case tier::host:
      return f(host_tier{});
    case tier::device:
      return f(device_tier{});
    case tier::managed:
      return f(managed_tier{});
    case tier::peer:
      return f(peer_tier{});
    case tier::file:
      break;
  }
  fail(errc::usage, "tier {} holds no memory blocks; use host, device, peer or managed", to_string(where));
}
budget& payer(tier where, int device) {
  if (where == tier::peer) return device_budget(owner_of_peer_tier(device));
  return where == tier::device ? device_budget(device) : host_budget();
}
}  // namespace

memory_block::memory_block(tier where, std::size_t bytes, int device, char const* what) : where_(where), device_(device) {
  if (bytes == 0) return;
  if (where == tier::device || where == tier::managed) device::require(device);  // no budget for a device that is not there
  budget& pays = payer(where, device);
  pays.take(bytes, what);
  try {
    data_ = with_tier(where, [&](auto t) { return t.allocate(bytes, device); });
  } catch (error const& e) {
    pays.give_back(bytes);
    throw error(e.code(), fmt::format("{}: {}", what, e.what()));
  } catch (...) {
    pays.give_back(bytes);
    throw;
  }
  bytes_ = bytes;
  paid_by_ = &pays;
}

memory_block::memory_block(std::shared_ptr<void> owner, void* data, std::size_t bytes, int device)
    : data_(data), bytes_(bytes), device_(device), owner_(std::move(owner)) {}

void make_or_wait(executor& x, std::function<void()> const& make) {
  try {
    make();
  } catch (error const& e) {
    if (e.code() != errc::memory || !x.asynchronous()) throw;
    x.wait();
    make();
  }
}

void memory_block::reset() noexcept {
  if (!data_) return;
  if (!owner_) {
    with_tier(where_, [&](auto t) { t.release(data_, bytes_, device_); });
    paid_by_->give_back(bytes_);
  }
  owner_.reset();
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace garner

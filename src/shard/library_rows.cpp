#include "shard/library_rows.hpp"

#include <algorithm>
#include <cstring>

#include "core/fail.hpp"
#include "core/opened_library.hpp"
#include "memory/budget.hpp"
#include "shard/exchange.hpp"
#include "shard/group.hpp"

namespace garner {

namespace {

template <class Library>
class in_windows final : public window_memory {
 public:
  in_windows(std::shared_ptr<Library> by, int device) : by_(std::move(by)), pays_(device < 0 ? host_budget() : device_budget(device)) {}
  ~in_windows() override { pays_.give_back(paid_); }
  places make(std::vector<std::uint64_t> const& bytes) override {
    constexpr std::uint64_t whole = 2u << 20;  // of the driver's pages
    std::uint64_t const most = (*std::max_element(bytes.begin(), bytes.end()) + whole - 1) / whole * whole;
    pays_.give_back(std::exchange(paid_, 0));
    pays_.take(most, "rows that shards share");
    paid_ = most;
    typename Library::window w = by_->make_window(most);
    return {std::move(w.at), w.mine};
  }
  std::string about() const override { return by_->about() + ", windows"; }
  bool near() const override { return true; }

 private:
  std::shared_ptr<Library> by_;
  budget& pays_;
  std::uint64_t paid_ = 0;
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

// Offset of each shard in a buffer for all, and the size of that.
std::vector<std::uint64_t> places_of(std::vector<std::uint64_t> const& bytes) {
  std::vector<std::uint64_t> at{0};
  for (std::uint64_t const b : bytes) at.push_back(at.back() + (b + 127) / 128 * 128);
  return at;
}

}  // namespace

std::string begin_nccl(std::shared_ptr<nccl>& by, rank_group& ranks, std::uint32_t shard, executor const& x) {
  return begin(by, ranks, shard, x, "NCCL");
}
std::string begin_nvshmem(std::shared_ptr<nvshmem>& by, rank_group& ranks, std::uint32_t shard, executor const& x) {
  return begin(by, ranks, shard, x, "NVSHMEM");
}
std::unique_ptr<window_memory> windows_of(std::shared_ptr<nccl> by, int device) {
  return std::make_unique<in_windows<nccl>>(std::move(by), device);
}
std::unique_ptr<window_memory> windows_of(std::shared_ptr<nvshmem> by, int device) {
  return std::make_unique<in_windows<nvshmem>>(std::move(by), device);
}

nccl_rows::nccl_rows(std::shared_ptr<nccl> by, rank_group& ranks, std::uint32_t shard, executor& x, std::string why_no_windows)
    : by_(std::move(by)), ranks_(ranks), shard_(shard), why_no_windows_(std::move(why_no_windows)), far_(x, executor::urgent{}) {
  by_->taken();
}
std::string nccl_rows::about() const { return fmt::format("{}, sent and received ({})", by_->about(), why_no_windows_); }

std::shared_ptr<row_demand const> nccl_rows::ask(executor& x, std::vector<std::vector<std::uint32_t>> const& needs) {
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

peer_table nccl_rows::share(executor& x, shared_part const& mine, row_demand const* only) {
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
void nccl_rows::before(std::uint32_t shard, executor& reader) {
  if (shard != shard_) arrived_.before(reader);
}
void nccl_rows::close(executor& x) {
  arrived_.before(x);  // rows that were sent stay as they are until then
  by_->wait(arrived_);
  read_.record(x);
}
void nccl_rows::drop(executor& x) {
  by_->wait(arrived_);
  x.wait();
}

}  // namespace garner

#include "shard/windows.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "memory/page.hpp"

namespace garner {

namespace {

class of_processes final : public window_memory {
 public:
  of_processes(rank_group& ranks, int device, bool here) : ranks_(ranks), mine_(*ranks.only()), device_(device), here_(here) {}

  places make(std::vector<std::uint64_t> const& bytes) override {
    bool const before = group_.has_value();
    pins_.clear();
    group_.reset();
    if (before) {
      ranks_.barrier(mine_);  // all have released it
      peer_group::left_behind();
    }
    common_memory::terms const t = *ranks_.common(here_ ? device_ : -1);
    peer_group::terms terms;
    terms.members = t.members, terms.mine = t.mine, terms.device = t.device;
    terms.same = "rows of shards", terms.timeout_seconds = t.timeout_seconds, terms.look = t.look;
    terms.writable = device_ >= 0;  // pages that may be written are pinned everywhere
    peer_group group(t.name, terms);
    group.least_of({});
    places made;
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

class of_threads final : public window_memory {
 public:
  of_threads(rank_group& ranks, std::uint32_t shard, int device) : ranks_(ranks), shard_(shard), device_(device) {}

  places make(std::vector<std::uint64_t> const& bytes) override {
    block_ = memory_block(tier::host, bytes[shard_], device_, "rows that shards share");
    places made;
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

}  // namespace

std::unique_ptr<window_memory> process_windows(rank_group& processes, int device, bool here) {
  return std::make_unique<of_processes>(processes, device, here);
}
std::unique_ptr<window_memory> thread_windows(rank_group& threads, std::uint32_t shard, int device) {
  return std::make_unique<of_threads>(threads, shard, device);
}

window_rows::window_rows(rank_group& ranks, std::uint32_t shard, std::unique_ptr<window_memory> memory)
    : ranks_(ranks), shard_(shard), memory_(std::move(memory)), bytes_(ranks.ranks()) {}
window_rows::~window_rows() = default;

void window_rows::begin() { make(std::vector<std::uint64_t>(bytes_.size(), page_bytes)); }
void window_rows::make(std::vector<std::uint64_t> const& wanted) {
  bool enough = true;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    enough &= wanted[k] <= bytes_[k];
    bytes_[k] = std::max(bytes_[k], wanted[k]);
  }
  if (!enough) places_ = memory_->make(bytes_);
}

peer_table window_rows::share(executor& x, shared_part const& mine, row_demand const*) {
  read_.wait();
  std::vector<rank_group::pair> const all = ranks_.all_gather_numbers(shard_, {mine.rows, mine.row_bytes});  // all have read what was there
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

}  // namespace garner

#include "features/file_cache.hpp"

#include <algorithm>
#include <map>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {
constexpr std::uint64_t kept_after_gather = 8;    // mini-batches that were gathered and may still run
constexpr std::chrono::milliseconds heed(50);     // between two looks for an interrupt
constexpr std::uint64_t stage_bytes = 32u << 20;  // of rows in flight to slots on the device
constexpr char const* use = "rows of a file, kept";
}  // namespace

file_cache::file_cache(execution_device where, std::shared_ptr<stored_rows const> file, row_view const& table, terms const& t)
    : where_(where), file_(std::move(file)), table_(table), terms_(t) {
  std::uint64_t const in_file = table.rows - table.kept(), row_bytes = std::max<std::uint64_t>(1, table.row_bytes);
  if (in_file == 0) return;
  if (where.kind != device_kind::cpu) near_slots_ = std::min(t.device_bytes / row_bytes, in_file);
  slots_ = std::min(near_slots_ + std::min(t.host_bytes / row_bytes, in_file - near_slots_), std::uint64_t{0xfffffffe});
  if (slots_ == 0)
    fail(errc::usage, "{} of host memory for rows on their way from {}, and a row takes {}; use more", format_bytes(t.host_bytes),
         file_->name(), format_bytes(table.row_bytes));
  executor x(where);
  if (near_slots_) {
    near_rows_ = memory_block(x.near(), near_slots_ * table.row_bytes, x.device(), use);
    stages_ = std::min(near_slots_, std::max<std::uint64_t>(1, stage_bytes / row_bytes));
  }
  if (!t.factors.empty()) slot_factors_ = {tier::host, slots_, x.device(), use};
  view_.rows = slots_, view_.row_bytes = table.row_bytes;
  make_memory(x.device());
  plan_.emplace(slots_, t.policy, t.scores);
}

void file_cache::make_memory(int device) {
  memory_ = std::make_shared<written>();
  memory_->slots = memory_block(tier::host, (slots_ - near_slots_) * view_.row_bytes, device, use);
  memory_->stage = memory_block(tier::host, stages_ * view_.row_bytes, device, "rows of a file on their way to a device");
  auto const* near = static_cast<char const*>(near_rows_.data());
  auto const* host = static_cast<char const*>(memory_->slots.data());
  view_.segments = 0;
  view_.add(tier::device, near_slots_, 1, &near);
  view_.add(tier::host, slots_ - near_slots_, 1, &host);
}

file_cache::~file_cache() {
  halt();
  for (auto const* const batches : {&entered_, &given_})
    for (batch_ref const& b : *batches) try {
        b->slots.settle();
      } catch (...) {  // the device is lost: the next wait reports it
      }
}

std::uint64_t file_cache::bytes() const {
  return (memory_ ? memory_->slots.bytes() + memory_->stage.bytes() : 0) + slot_factors_.bytes() + (plan_ ? plan_->metadata_bytes() : 0);
}

void file_cache::enter(executor& x, id_span ids) {
  if (unclean_) reset();
  batch_ref b;
  {
    std::lock_guard const hold(mutex_);
    if (!idle_.empty()) b = std::move(idle_.back()), idle_.pop_back();
  }
  if (!b) b = std::make_shared<batch>();
  b->rows = 0;
  std::vector<std::uint64_t> wanted;
  if (ids.size() && plan_) {
    b->rows = ids_.find(x, table_, ids, found_, b->positions);
    wanted.resize(b->rows);
    x.copy(wanted.data(), found_.data(), b->rows * 8);
    x.wait();
  }
  b->step = {}, b->wants.clear(), b->after.clear();
  b->sorted = b->loaded = b->planned = false;
  b->sent = b->left = 0, b->error = nullptr;
  if (failed_) b->planned = b->loaded = true, b->error = failed_;
  try {
    if (plan_ && !failed_) plan_->enter(std::move(wanted));
    std::lock_guard const hold(mutex_);
    entered_.push_back(b);
  } catch (...) {
    failed_ = std::current_exception();
    throw;
  }
  while (plan_ && !failed_ && plan_->ahead() > terms_.window) plan_one();
}

void file_cache::end() {
  while (plan_ && !failed_ && plan_->ahead()) plan_one();
}

void file_cache::plan_one() {
  batch_ref b;
  {
    std::lock_guard const hold(mutex_);
    auto const first = std::find_if(entered_.begin(), entered_.end(), [](batch_ref const& e) { return !e->planned; });
    b = *first;
  }
  b->planned = true;
  try {
    b->step = plan_->next();
    b->left = b->step.loads.size();
    b->loaded = b->left == 0;
    if (b->loaded) return;
    launch();
    std::lock_guard const hold(mutex_);
    queue_.push_back(b);
    changed_.notify_all();
  } catch (...) {  // the plan does not know any more which slots those before it still want
    std::lock_guard const hold(mutex_);
    failed_ = std::current_exception();
    for (batch_ref const& e : entered_)
      if (e == b || !e->planned) e->planned = e->loaded = true, e->error = failed_;
  }
}

// What can be read at once first, by place; the rest as slots become free.
void file_cache::put_in_order(batch& b, std::uint64_t gathered) const {
  auto& loads = b.step.loads;
  auto const now = [&](cache_plan::load const& l) { return l.after == cache_plan::nobody || l.after < gathered; };
  auto const rest = std::partition(loads.begin(), loads.end(), now);
  std::sort(loads.begin(), rest, [](auto const& p, auto const& q) { return p.id < q.id; });
  std::sort(rest, loads.end(), [](auto const& p, auto const& q) { return p.after != q.after ? p.after < q.after : p.id < q.id; });
  char* const at = static_cast<char*>(memory_->slots.data());
  for (cache_plan::load const& l : loads) {
    bool const near = l.slot < near_slots_;  // gets its place when it is sent
    b.wants.push_back({l.id, near ? nullptr : at + (l.slot - near_slots_) * view_.row_bytes, b.step.batch, l.slot});
    b.after.push_back(l.after);
  }
  b.sorted = true;
}

// --- the thread ---
void file_cache::launch() {
  if (thread_.joinable()) return;
  stop_ = false, broken_ = nullptr;
  thread_ = std::jthread([this] { work(); });
}
void file_cache::halt() {
  {
    std::lock_guard const hold(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  thread_ = {};
}
void file_cache::reset() {
  unclean_ = true;
  halt();
  std::lock_guard const hold(mutex_);
  for (auto* const batches : {&given_, &entered_})
    for (; !batches->empty(); batches->pop_front()) batches->front()->slots.settle(), idle_.push_back(batches->front());
  queue_.clear();
  gathered_ = 0, broken_ = nullptr;
  if (lost_) {  // a drive may still write to what there was
    memory_.reset();
    make_memory(near_rows_.device() >= 0 ? near_rows_.device() : where_.kind == device_kind::cuda ? where_.index : -1);
    lost_ = false;
  }
  if (plan_) plan_ = cache_plan(slots_, terms_.policy, terms_.scores);
  unclean_ = false, failed_ = nullptr;
}

void file_cache::work() {
  try {
    read_all_of_it();
  } catch (...) {
    std::lock_guard const hold(mutex_);
    broken_ = std::current_exception();
    changed_.notify_all();
  }
}

// Copies rows that arrived in host memory to their slots on the device, and waits for the copies.
void file_cache::send_near(executor& x, std::vector<std::uint64_t>& stages, std::vector<std::uint32_t>& slots,
                           buffer<std::uint64_t> const& keys, buffer<std::uint32_t> const& positions) {
  if (stages.empty()) return;
  row_view from;
  from.rows = stages_, from.row_bytes = view_.row_bytes;
  from.far = static_cast<char const*>(memory_->stage.data());
  x.copy(keys.data(), stages.data(), stages.size() * sizeof stages[0]);
  x.copy(positions.data(), slots.data(), slots.size() * sizeof slots[0]);
  id_order order;
  order.keys = keys.data(), order.positions = positions.data();
  batch_list to;
  to.add({keys.data(), stages.size(), 8, true}, near_rows_.data());
  gather_rows(x, from, to, order, {});
  x.wait();
  stages.clear(), slots.clear();
}

void file_cache::read_all_of_it() {
  std::unique_ptr<row_reads> const reads = file_->reads(memory_);
  for (memory_block const& b : {std::cref(memory_->slots), std::cref(memory_->stage)})
    if (b.bytes()) reads->register_memory(b.data(), b.bytes());
  struct at_end {
    row_reads const& reads;
    bool& lost;
    ~at_end() { lost = lost || reads.lost() > 0; }  // read when the thread has ended
  } const look{*reads, lost_};
  std::map<std::uint64_t, batch_ref> sent;  // by number, while rows of it are under way
  std::vector<row_reads::want> some;
  std::uint64_t looked_at = cache_plan::nobody;  // the mini-batch for which the file was looked at last
  // Lease of the slots on the device.
  executor x(where_);
  std::vector<std::uint64_t> free_stages(stages_), come;
  std::vector<std::uint32_t> come_slots, stage_of_slot(near_slots_);
  for (std::uint64_t k = 0; k < stages_; ++k) free_stages[k] = k;
  buffer<std::uint64_t> const keys(x.near(), stages_, x.device(), use);
  buffer<std::uint32_t> const positions(x.near(), stages_, x.device(), use);
  for (;;) {
    batch_ref b;
    std::vector<batch_ref> given;
    std::uint64_t gathered = 0;
    {
      std::unique_lock hold(mutex_);
      auto const may_send = [&] {
        if (queue_.empty()) return false;
        batch const& first = *queue_.front();
        return !first.sorted || first.after[first.sent] == cache_plan::nobody || first.after[first.sent] < gathered_;
      };
      changed_.wait(hold, [&] { return stop_ || reads->under_way() || may_send(); });
      if (stop_) return;
      gathered = gathered_;
      if (may_send()) b = queue_.front(), given.assign(given_.begin(), given_.end());
    }
    std::size_t const room = reads->room();
    if (b && reads->takes(b->sorted ? b->wants.size() - b->sent : b->step.loads.size())) {
      if (looked_at != b->step.batch) file_->files().require_unchanged(), looked_at = b->step.batch;
      if (!b->sorted) put_in_order(*b, gathered);
      some.clear();
      std::uint64_t const first_given = gathered - given.size();
      std::uint64_t waited = cache_plan::nobody;
      for (; b->sent < b->wants.size() && some.size() < room; ++b->sent) {
        std::uint64_t const after = b->after[b->sent];
        row_reads::want& w = b->wants[b->sent];
        if (after != cache_plan::nobody) {
          if (after >= gathered) break;
          if (after >= first_given && after != waited) given[after - first_given]->slots.wait(), waited = after;
        }
        if (w.tag < near_slots_) {
          if (free_stages.empty()) break;
          stage_of_slot[w.tag] = static_cast<std::uint32_t>(free_stages.back());
          w.to = static_cast<char*>(memory_->stage.data()) + free_stages.back() * view_.row_bytes;
          free_stages.pop_back();
        }
        if (!terms_.factors.empty()) slot_factors_[w.tag] = terms_.factors[w.row];
        some.push_back(w);
      }
      sent[b->step.batch] = b;
      reads->submit(some);
      if (b->sent == b->wants.size()) {
        std::lock_guard const hold(mutex_);
        queue_.pop_front();
      }
    }
    if (reads->under_way() == 0) continue;
    std::span<row_reads::done const> const done = reads->wait(std::min<std::size_t>(64, reads->under_way()));
    for (row_reads::done const& d : done)
      if (d.tag < near_slots_) {
        if (!d.problem) come.push_back(stage_of_slot[d.tag]), come_slots.push_back(d.tag);
        if (!d.problem || reads->lost() == 0) free_stages.push_back(stage_of_slot[d.tag]);
        else if (free_stages.empty() && reads->under_way() == 0) throw error(*d.problem);
      }
    send_near(x, come, come_slots, keys, positions);
    for (row_reads::done const& d : done) {
      auto const at = sent.find(d.group);
      batch& of = *at->second;
      if (d.problem && !of.error) of.error = std::make_exception_ptr(*d.problem);
      if (--of.left) continue;
      {
        std::lock_guard const hold(mutex_);
        of.loaded = true;
        changed_.notify_all();
      }
      sent.erase(at);
    }
  }
}

// --- called by the consumer ---
bool file_cache::gather(executor& x, void* out, gather_how how, stop_check const& stopped, figures& told) {
  batch_ref b;
  {
    std::lock_guard const hold(mutex_);
    if (entered_.empty()) fail(errc::internal, "a gather of a mini-batch that has not entered");
    b = entered_.front();
  }
  if (!b->planned && plan_) plan_one();
  auto const clock = steady::now();
  {
    std::unique_lock hold(mutex_);
    while (plan_ && !b->loaded && !broken_) {
      changed_.wait_for(hold, heed);
      if (b->loaded || broken_) break;
      hold.unlock();
      if (stopped && stopped()) return false;
      hold.lock();
    }
    if (std::exception_ptr const error = b->error ? b->error : plan_ && !b->loaded ? broken_ : nullptr) {
      hold.unlock();
      std::rethrow_exception(error);
    }
  }
  told.waited_ms += ms_since(clock);
  told.rows += b->step.rows, told.hits += b->step.hits, told.reads += b->step.loads.size();
  told.bytes += b->step.loads.size() * table_.row_bytes;
  if (b->rows && view_.row_bytes) {
    lease<row_view> slots = b->slots.give(x, view_);  // all of them have come
    row_view const& view = slots.use(x);
    auto const at_least = [&](auto& memory, tier where) {
      grow(x, memory, b->rows, b->rows + b->rows / 4, "slots of rows of a file", where);
    };
    at_least(b->keys_here, tier::host);
    std::copy(b->step.slots.begin(), b->step.slots.end(), b->keys_here.begin());
    id_order order;
    order.positions = b->positions.data();
    order.keys = b->keys_here.data();
    if (x.asynchronous()) {
      at_least(b->keys, x.near());
      x.copy(b->keys.data(), b->keys_here.data(), b->rows * 8);
      order.keys = b->keys.data();
    }
    batch_list to;
    to.add({order.keys, b->rows, 8, true}, out);
    if (how.scales) how.scales = slot_factors_.data();
    gather_rows(x, view, to, order, how);
  }
  std::unique_lock hold(mutex_);
  entered_.pop_front();
  given_.push_back(b);
  ++gathered_;
  if (given_.size() > kept_after_gather) {
    batch_ref const old = given_.front();
    given_.pop_front();
    hold.unlock();
    old->slots.settle();
    hold.lock();
    idle_.push_back(old);
  }
  changed_.notify_all();
  return true;
}

}  // namespace garner

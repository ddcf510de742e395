#include "features/sources.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/event.hpp"
#include "far/bulk.hpp"
#include "features/stored_rows.hpp"

namespace garner {

namespace {

class direct final : public row_source {
 public:
  void bring(executor& x, row_request const& what) override {
    gather_how how = what.how;
    if (how.strategy == gather_strategy::bulk) how.strategy = gather_strategy::aligned;
    gather_rows(x, what.from, what.to, what.order, how);
  }
};

class bulk final : public row_source {
 public:
  explicit bulk(unsigned multiprocessors) : multiprocessors_(multiprocessors) {}
  void bring(executor& x, row_request const& what) override {
    if (what.from.kept() > 0) direct().bring(x, what);
    bulk_rows rows;
    rows.table = what.from.far;
    rows.first_row = rows.first_far = what.order.far_from;
    rows.rows = what.from.rows, rows.row_bytes = what.from.row_bytes;
    rows.ids = what.order.keys ? what.order.keys : what.order.ids;
    rows.id_bytes = what.order.keys ? 8 : what.order.id_bytes;
    rows.id_shift = what.order.shift;
    rows.count = what.to.total();
    rows.positions = what.order.positions;
    rows.out = what.to.outs[0];
    rows.places = what.order.places;
    for (std::uint32_t b = 0; b < what.to.count; ++b) rows.place_bits |= reinterpret_cast<std::uintptr_t>(what.to.outs[b]);
    gather_bulk(x, rows, {multiprocessors_, 0, 0});
  }

 private:
  unsigned multiprocessors_;
};

class staged final : public row_source {
 public:
  staged(row_sender& sender, float const* scales) : sender_(sender), scales_(scales) {}
  void bring(executor& x, row_request const& what) override {
    gather_how how = what.how;
    how.strategy = gather_strategy::naive;
    if (how.scales) how.scales = scales_;
    std::vector<std::byte> ids;
    for (std::uint32_t b = 0; b < what.to.count; ++b) {
      std::uint64_t const n = what.to.start[b + 1] - what.to.start[b];
      ids.resize(n * what.to.id_bytes[b]);
      x.copy(ids.data(), what.to.ids[b], ids.size());
      x.wait();
      batch_list one;
      one.add({ids.data(), n, what.to.id_bytes[b]}, nullptr);
      sender_.send(
          n,
          [&](std::uint64_t k, std::uint64_t some, std::uint64_t* to) {
            for (std::uint64_t i = 0; i < some; ++i) to[i] = one.id(0, k + i);
          },
          what.to.outs[b], how, nullptr);
    }
  }

 private:
  row_sender& sender_;
  float const* scales_;
};

}  // namespace

std::unique_ptr<row_source> direct_source() { return std::make_unique<direct>(); }
std::unique_ptr<row_source> bulk_source(unsigned multiprocessors) { return std::make_unique<bulk>(multiprocessors); }
std::unique_ptr<row_source> staged_source(row_sender& sender, float const* scales) { return std::make_unique<staged>(sender, scales); }

struct row_sender::stage {
  static constexpr std::uint64_t bytes = 64u << 20;  // smaller ones wait for threads: 16 MiB halved the rate
  memory_block buffers[2];
  event sent[2];
  void close() {  // what was sent has been waited for
    for (memory_block& b : buffers) b.reset();
  }
  // The first so many of them, of the size that is needed now: pinning more would take longer than to send a small table.
  void open(int device, std::uint64_t count, std::uint64_t wanted) {
    for (std::uint64_t k = 0; k < count; ++k)
      if (buffers[k].bytes() < wanted || !buffers[k].data()) {
        sent[k].wait();
        buffers[k] = memory_block(tier::host, wanted, device, "buffers of a staged gather");
      }
  }
};

row_sender::row_sender(executor& x, row_array const& source) : x_(x), source_(source), stage_(std::make_unique<stage>()) {}
row_sender::~row_sender() = default;
void row_sender::close() { stage_->close(); }

void row_sender::send(std::uint64_t n, id_source const& ids_of, char* to, gather_how const& how, progress* told) {
  executor here(execution_device{device_kind::cpu, 0});
  row_view all;
  all.rows = source_.rows, all.row_bytes = source_.row_bytes(), all.far = static_cast<char const*>(source_.data);
  std::uint64_t const out_bytes = source_.width * bytes_of(how.to);
  if (out_bytes == 0) return;
  std::uint64_t const each = std::max<std::uint64_t>(1, stage::bytes / out_bytes);
  if (x_.asynchronous() && n) stage_->open(x_.device(), n > each ? 2 : 1, std::min(n, each) * out_bytes);
  bool const in_order = !ids_of && !source_.file && how.kind == how.to;
  std::vector<std::uint64_t> ids(in_order ? 0 : std::min(n, each));
  for (std::uint64_t k = 0, turn = 0; k < n; k += each, turn ^= 1) {
    check_interrupted();
    std::uint64_t const some = std::min(each, n - k);
    if (ids_of) ids_of(k, some, ids.data());
    else std::iota(ids.begin(), ids.end(), k);
    char* at = to + k * out_bytes;
    if (x_.asynchronous()) {
      stage_->sent[turn].wait();
      at = static_cast<char*>(stage_->buffers[turn].data());
    }
    if (source_.file) {
      read_rows_of(
          *source_.file, some, [&](std::uint64_t first, std::uint64_t n, std::uint64_t* to) { std::copy_n(ids.data() + first, n, to); }, at,
          nullptr);
    } else if (in_order) {
      char const* const from = all.far + k * out_bytes;
      here.threads().run(some * out_bytes, 1u << 20, [&](std::uint64_t a, std::uint64_t b) { std::memcpy(at + a, from + a, b - a); });
    } else {
      batch_list batch;
      batch.add({ids.data(), some, 8}, at);
      gather_rows(here, all, batch, as_given(batch), how);
    }
    if (x_.asynchronous()) {
      x_.copy(to + k * out_bytes, at, some * out_bytes);
      stage_->sent[turn].record(x_);
    }
    if (told) told->advance(some * all.row_bytes);
  }
  x_.wait();
}

}  // namespace garner

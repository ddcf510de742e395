#include "nn/kept_rows.hpp"

#include <xxhash.h>

#include <algorithm>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "nn/pointwise.hpp"

namespace garner {

template <class Real>
kept_rows<Real>::kept_rows(executor& x, std::vector<std::uint64_t> blocks, std::shared_ptr<scratch_folder> scratch)
    : x_(x), go_(x, executor::urgent{}), come_(x, executor::urgent{}), blocks_(std::move(blocks)), folder_(std::move(scratch)) {
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) largest_ = std::max(largest_, count(b));
  if (!folder_) return;
  file_ = std::make_unique<scratch_file>(*folder_);
  file_->go_past_page_cache();
}

template <class Real>
typename kept_rows<Real>::slot_rows& kept_rows<Real>::rows_of(slot s) {
  std::size_t const k = std::size_t{s.layer} * kinds + s.of;
  if (slots_.size() <= k) slots_.resize(k + 1);
  return slots_[k];
}
template <class Real>
typename kept_rows<Real>::slot_rows& kept_rows<Real>::kept(slot s) {
  slot_rows& from = rows_of(s);
  if (from.columns == 0) fail(errc::internal, "rows of layer {} are wanted, and were not kept", s.layer);
  return from;
}

// Room for the rows of a slot. One of other columns than before, which a file had, is not used again.
template <class Real>
void kept_rows<Real>::make(slot_rows& to, std::uint64_t columns) {
  settle();
  for (auto& of : arriving_)
    for (staged& c : of)
      if (c.of == &to) c.wait(), c.of = nullptr;
  to = {};
  if (!file_) {
    to.data = buffer<Real>(tier::host, blocks_.back() * columns, x_.device(), "activations in host memory");
  } else {
    std::uint64_t const begin = end_;
    for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) {
      to.at.push_back(end_);
      end_ += (count(b) * columns * sizeof(Real) + page - 1) / page * page;
    }
    to.at.push_back(end_);
    to.sums.resize(to.at.size() * pieces);
    folder_->expect_more(end_ - begin);
  }
  to.columns = columns;
}

template <class Real>
Real* kept_rows<Real>::staging(staged& in, std::uint64_t columns) {
  in.wait();
  if (std::exchange(in.used, true)) in.copied.wait();
  std::uint64_t const whole = (largest_ * columns * sizeof(Real) + page - 1) / page * page;
  return whole_room(go_, in.rows, whole / sizeof(Real), "activations on their way to a file", tier::host);
}

template <class Real>
void kept_rows<Real>::carry(staged& s, bool write) {
  slot_rows& of = *s.of;
  std::uint64_t const from = of.at[s.block], bytes = of.at[s.block + 1] - from;
  std::uint64_t const each = std::max<std::uint64_t>((bytes / page + pieces - 1) / pieces, 256) * page;
  char* const rows = reinterpret_cast<char*>(s.rows.data());
  for (std::uint64_t at = 0, k = 0; at < bytes; at += each, ++k) {
    std::uint64_t const n = std::min(each, bytes - at);
    auto const piece = [this, write, n, part = rows + at, there = from + at, sum = &of.sums[s.block * pieces + k]] {
      interrupts_held const with_the_step;
      if (write) {
        *sum = XXH3_64bits(part, n);
        return file_->write_at(there, part, n);
      }
      file_->read(part, n, there);
      if (XXH3_64bits(part, n) != *sum)
        fail(errc::io, "{}: a scratch file there gives back other activations than were written, at byte {}; check the disk it lies on",
             folder_->path().string(), there);
    };
    s.work.push_back(std::async(std::launch::async, piece));
  }
}

template <class Real>
void kept_rows<Real>::settle() {
  if (staged* const last = std::exchange(unwritten_, nullptr)) last->copied.wait(), carry(*last, true);
  for (staged& s : leaving_) s.wait();
}

template <class Real>
void kept_rows<Real>::keep(slot s, std::size_t b, row_block<Real const> rows, std::uint64_t columns) {
  std::uint64_t const n = count(b);
  if (n == 0) return;
  slot_rows& to = rows_of(s);
  if (to.columns != columns) make(to, columns);
  auto const here = [&](auto const& c) { return c.layer == s.layer && c.block == b; };
  for (staged& c : leaving_)
    if (here(c) && c.of == &to) settle(), c.of = nullptr;  // of a step that failed
  for (came_to& c : came_[s.of])                           // of an earlier step
    if (here(c)) c.held.end();
  for (staged& c : arriving_[s.of])
    if (here(c)) c.wait(), c.of = nullptr;
  std::uint64_t const turn = sent_++ % 2;
  leased<buffer<Real>>& by = going_[turn];
  Real* const packed = room(x_, by.fill(x_), largest_ * columns, "activations on their way");
  drop_rows(x_, rows, row_block<Real>{packed, columns}, n, columns, {});
  lease<buffer<Real>*> made = by.filled(x_);
  staged& out = leaving_[turn];
  if (unwritten_ == &out) unwritten_ = nullptr;  // of a step that failed: all blocks are kept again
  Real* const there = file_ ? staging(out, columns) : to.data.data() + blocks_[b] * columns;
  go_.copy(there, made.use(go_)->data(), n * columns * sizeof(Real));
  gone_.record(go_);
  if (!file_) return;
  out.copied.record(go_);
  out.of = &to, out.layer = s.layer, out.block = b;
  // The block before is in host memory by now, or soon; x_ has this one to work on.
  if (staged* const last = std::exchange(unwritten_, &out)) last->copied.wait(), carry(*last, true);
}

// The block begins to come from the file.
template <class Real>
typename kept_rows<Real>::staged* kept_rows<Real>::read(slot s, std::size_t b) {
  b = some_from(b);
  if (b + 1 >= blocks_.size()) return nullptr;
  slot_rows& from = kept(s);
  for (staged& c : arriving_[s.of])
    if (c.of == &from && c.block == b) return &c;
  settle();
  staged& to = arriving_[s.of][read_[s.of]++ % 2];
  to.of = nullptr;
  staging(to, from.columns);
  to.of = &from, to.layer = s.layer, to.block = b;
  carry(to, false);
  return &to;
}

template <class Real>
typename kept_rows<Real>::came_to* kept_rows<Real>::come(slot s, std::size_t b) {
  b = some_from(b);
  if (b + 1 >= blocks_.size()) return nullptr;
  for (came_to& c : came_[s.of])
    if (c.held && c.layer == s.layer && c.block == b) return &c;
  slot_rows const& from = kept(s);
  staged* const by = file_ ? read(s, b) : nullptr;
  if (by) by->wait();
  came_to& to = came_[s.of][brought_[s.of]++ % 2];
  to.held.end();
  gone_.before(come_);
  Real* const rows = room(come_, to.rows.fill(come_), largest_ * from.columns, "activations that come back");
  come_.copy(rows, by ? by->rows.data() : from.data.data() + blocks_[b] * from.columns, count(b) * from.columns * sizeof(Real));
  if (by) by->copied.record(come_), by->of = nullptr;
  to.held = to.rows.filled(come_), to.layer = s.layer, to.block = b;
  return &to;
}

template <class Real>
void kept_rows<Real>::expect(slot s) {
  if (file_) read(s, 0);
  else come(s, 0);
}

template <class Real>
row_block<Real const> kept_rows<Real>::bring(slot s, std::size_t b, std::uint64_t columns) {
  if (count(b) == 0) return {nullptr, columns};
  row_block<Real const> const rows{come(s, b)->held.use(x_)->data(), columns};
  if (b + 2 >= blocks_.size()) return rows;
  if (file_) read(s, b + 1);
  else come(s, b + 1);
  return rows;
}

template <class Real>
std::uint64_t kept_rows<Real>::bytes() const {
  std::uint64_t sum = 0;
  for (auto const& b : going_) sum += b.what().bytes();
  for (auto const& of : came_)
    for (auto const& c : of) sum += c.rows.what().bytes();
  return sum;
}
template <class Real>
std::uint64_t kept_rows<Real>::host_bytes() const {
  std::uint64_t sum = 0;
  for (slot_rows const& s : slots_) sum += s.data.bytes();
  for (staged const& s : leaving_) sum += s.rows.bytes();
  for (auto const& of : arriving_)
    for (staged const& s : of) sum += s.rows.bytes();
  return sum;
}

template class kept_rows<float>;
template class kept_rows<double>;

}  // namespace garner

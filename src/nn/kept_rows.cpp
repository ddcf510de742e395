#include "nn/kept_rows.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "nn/pointwise.hpp"

namespace garner {

template <class Real>
kept_rows<Real>::kept_rows(executor& x, std::vector<std::uint64_t> blocks)
    : x_(x), go_(x, executor::urgent{}), come_(x, executor::urgent{}), blocks_(std::move(blocks)) {
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) largest_ = std::max(largest_, count(b));
}

template <class Real>
typename kept_rows<Real>::slot_rows& kept_rows<Real>::rows_of(slot s) {
  std::size_t const k = std::size_t{s.layer} * kinds + s.of;
  if (slots_.size() <= k) slots_.resize(k + 1);
  return slots_[k];
}

template <class Real>
void kept_rows<Real>::keep(slot s, std::size_t b, row_block<Real const> rows, std::uint64_t columns) {
  std::uint64_t const n = count(b);
  if (n == 0) return;
  slot_rows& to = rows_of(s);
  if (to.columns != columns) {
    to = {};
    to = {buffer<Real>(tier::host, blocks_.back() * columns, x_.device(), "activations in host memory"), columns};
  }
  for (came_to& c : came_[s.of])
    if (c.layer == s.layer && c.block == b) c.held.end();  // of an earlier step
  leased<buffer<Real>>& by = going_[sent_++ % 2];
  Real* const packed = room(x_, by.fill(x_), largest_ * columns, "activations on their way");
  drop_rows(x_, rows, row_block<Real>{packed, columns}, n, columns, {});
  lease<buffer<Real>*> made = by.filled(x_);
  go_.copy(to.data.data() + blocks_[b] * columns, made.use(go_)->data(), n * columns * sizeof(Real));
  gone_.record(go_);
}

template <class Real>
typename kept_rows<Real>::came_to* kept_rows<Real>::come(slot s, std::size_t b) {
  while (b + 1 < blocks_.size() && count(b) == 0) ++b;
  if (b + 1 >= blocks_.size()) return nullptr;
  for (came_to& c : came_[s.of])
    if (c.held && c.layer == s.layer && c.block == b) return &c;
  slot_rows const& from = rows_of(s);
  if (from.columns == 0) fail(errc::internal, "rows of layer {} are wanted, and were not kept", s.layer);
  came_to& to = came_[s.of][brought_[s.of]++ % 2];
  to.held.end();
  gone_.before(come_);
  Real* const rows = room(come_, to.rows.fill(come_), largest_ * from.columns, "activations that come back");
  come_.copy(rows, from.data.data() + blocks_[b] * from.columns, count(b) * from.columns * sizeof(Real));
  to.held = to.rows.filled(come_), to.layer = s.layer, to.block = b;
  return &to;
}

template <class Real>
row_block<Real const> kept_rows<Real>::bring(slot s, std::size_t b, std::uint64_t columns) {
  if (count(b) == 0) return {nullptr, columns};
  row_block<Real const> const rows{come(s, b)->held.use(x_)->data(), columns};
  if (b + 2 < blocks_.size()) come(s, b + 1);
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
  return sum;
}

template class kept_rows<float>;
template class kept_rows<double>;

}  // namespace garner

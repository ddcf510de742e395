// Executors that work concurrently on independent blocks of rows: a device can run several, since one kernel is too short to fill it. Each
// has its own workspaces: products, sums. Invariant: worker b % n does block b, so a worker's blocks are in order. Work submitted to x
// before runs before all of them, and later work behind. The bits of a block do not depend on its worker. Cost: a stream and 8 MiB of
// device memory each.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/event.hpp"
#include "core/executor.hpp"
#include "nn/blas.hpp"
#include "nn/pointwise.hpp"

namespace garner {

template <class Real>
struct block_worker {
  block_worker(executor const& beside, dense_math math) : x(beside.where()), products(x, math, workspace) {}
  static constexpr std::size_t workspace = 8u << 20;
  executor x;
  blas products;
  column_sums<Real> sums;
  losses<Real> loss;
  event done;
};

template <class Real>
class block_workers {
 public:
  static constexpr unsigned usual = 8;
  block_workers(executor& x, dense_math math, unsigned n = usual) {
    for (unsigned k = 0; k < n; ++k) all_.push_back(std::make_unique<block_worker<Real>>(x, math));
  }
  // f(worker, b) for each block.
  template <class F>
  void each(executor& x, std::size_t blocks, F const& f) {
    begun_.record(x);
    std::uint64_t moved = 0;
    for (auto const& w : all_) begun_.before(w->x), moved -= w->x.moves();
    for (std::size_t b = 0; b < blocks; ++b) f(*all_[b % all_.size()], b);
    for (auto const& w : all_) w->done.record(w->x), w->done.before(x), moved += w->x.moves();
    if (moved) x.tell_move();
  }
  void wait() {
    for (auto const& w : all_) w->x.wait();
  }

 private:
  std::vector<std::unique_ptr<block_worker<Real>>> all_;
  event begun_;
};

}  // namespace garner

// What a model does to each row, number or parameter by itself: activation, dropout, layer norm, losses, Adam; and sums over rows.
// Invariant: sums go over slices of 64 rows in their order, then over slices of those, so that they are the same bits for any number of
// threads; what dropout leaves out is a function of (seed, step, layer, position). A NaN stays one through every function here. Cost: each
// array read and written once. Sources: Srivastava et al., JMLR 2014 (dropout); Ba et al., 2016 (layer norm); Kingma and Ba, ICLR 2015
// (Adam); Loshchilov and Hutter, ICLR 2019 (decay apart from the gradient).
#pragma once
#include <cstdint>
#include <span>

#include "core/executor.hpp"
#include "memory/buffer.hpp"
#include "nn/aggregate.hpp"

namespace garner {

// What is left out: position i of stream `stream`, with probability share; what stays is multiplied by 1 / (1 - share).
struct dropped {
  double share = 0;
  std::uint64_t seed = 0, stream = 0;
  std::uint64_t const* step = nullptr;  // on the device: the stream is so many times `apart` further on, a number read when the work runs
  std::uint64_t apart = 0;
  std::uint64_t first = 0;  // what row 0 is counted as
};

// rows += bias (null: none), what is negative becomes 0 (`relu`), then dropout.
template <class Real>
void activate(executor& x, row_block<Real> rows, std::uint64_t count, std::uint64_t columns, Real const* bias, bool relu,
              dropped const& drop);
// The gradient of what activate() gave, from that of its result, which is `y`. Without relu, `drop` must be what it was.
template <class Real>
void activate_back(executor& x, row_block<Real const> y, row_block<Real> gradient, std::uint64_t count, std::uint64_t columns, bool relu,
                   dropped const& drop);
// to = from with dropout; rows may be the same.
template <class Real>
void drop_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns,
               dropped const& drop);
template <class Real>
void add_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns);  // to += from

// to = from, each row times its factor.
template <class Real>
void multiply_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns,
                   Real const* factors);
// A row of zeros stays.
template <class Real>
void scale_rows(executor& x, row_block<Real> rows, std::uint64_t count, std::uint64_t columns, row_scaling how);

// Each row less its mean, over its deviation (with 1e-5 added to its square), times gain, plus shift. `from` and `to` differ.
template <class Real>
void normalise_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns,
                    Real const* gain, Real const* shift);
// In place of the gradient of the result that of `from`; gain_terms: for each number its share in the gradient of the gain, to be summed.
template <class Real>
void normalise_rows_back(executor& x, row_block<Real const> from, row_block<Real> gradient, row_block<Real> gain_terms, std::uint64_t count,
                         std::uint64_t columns, Real const* gain);

// sums[c] += the sum of column c (set, unless `add`).
template <class Real>
class column_sums {
 public:
  void run(executor& x, row_block<Real const> rows, std::uint64_t count, std::uint64_t columns, Real* sums, bool add = false);

 private:
  buffer<Real> slices_[2];
};

// For the seeds of a mini-batch.
struct loss_totals {
  double loss = 0;                        // summed over seeds (softmax), or over seeds and classes (sigmoid)
  std::uint64_t correct = 0;              // seeds whose highest class is their label; sigmoid: classes on the right side of one half
  std::uint64_t counted = 0;              // labels looked at: seeds, or seeds times classes
  std::uint64_t bad = ~std::uint64_t{0};  // the first row with a number that is not finite
};
// labels: of row i labels[i] (softmax; below 0: none) or its classes (sigmoid, as `truths`: 0 or 1, below 0: none). gradient (null: not
// wanted): of the mean over counted rows, which is `scale` times the sum; may alias the scores. totals: on the device, added to. bias: on
// the device, one number per class that the scores still lack, as activate() adds it; null: none.
template <class Real>
class losses {
 public:
  void softmax(executor& x, row_block<Real const> scores, std::int64_t const* labels, std::uint64_t count, std::uint64_t classes,
               double scale, row_block<Real> gradient, loss_totals* totals, Real const* bias = nullptr);
  void sigmoid(executor& x, row_block<Real const> scores, float const* truths, std::uint64_t count, std::uint64_t classes, double scale,
               row_block<Real> gradient, loss_totals* totals, Real const* bias = nullptr);
  static std::uint64_t bytes_for(std::span<std::uint64_t const> counts);  // of rows, one call after the other
  std::uint64_t bytes() const { return loss_.bytes() + correct_.bytes() + counted_.bytes() + bad_.bytes() + slices_.bytes(); }

 private:
  void add_up(executor& x, std::uint64_t count, loss_totals* totals);
  buffer<double> loss_;
  buffer<std::uint32_t> correct_, counted_, bad_;
  buffer<loss_totals> slices_;
};

struct adam_corrections {
  double first, second;  // 1 / (1 - beta^step) of both moments
};
struct adam_step {
  double rate = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0;
  std::uint64_t step = 1;                   // counted from 1
  adam_corrections const* known = nullptr;  // on the device: numbers of the step, read when the work runs
  adam_corrections corrections() const;     // by `step`
};
// decay is added to the gradient, as torch.optim.Adam has it. *bad (on the device, ~0: none): once set, nothing changes any more.
template <class Real>
void adam(executor& x, Real* values, Real const* gradients, Real* first, Real* second, std::uint64_t count, adam_step const& how,
          std::uint64_t const* bad);

// Row k of `to` is that of `from` at positions[k] - first, `columns` each.
void pick(executor& x, std::int64_t const* positions, std::uint64_t count, std::int64_t const* from, std::int64_t* to);
void pick(executor& x, std::int64_t const* positions, std::uint64_t count, float const* from, std::uint64_t columns, float* to,
          std::uint64_t first = 0);
// Lowers *bad to `told` where the square of one of the numbers, which Adam needs, is not finite.
template <class Real>
void mark_bad(executor& x, Real const* values, std::uint64_t count, std::uint64_t told, std::uint64_t* bad);
// *value becomes NaN if *bad is set (~0: it is not).
template <class Real>
void spoil(executor& x, std::uint64_t const* bad, Real* value);
// The first of `count` numbers that is not finite (~0: all are). Waits. `kept`: its workspace, for the next call.
template <class Real>
std::uint64_t first_bad(executor& x, Real const* values, std::uint64_t count, buffer<std::uint64_t>* kept = nullptr);

}  // namespace garner

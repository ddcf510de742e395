// A model: its parameters, what it makes of rows, and the gradients of that. One array holds all parameters, another all gradients, so that
// Adam is one loop and a sum over ranks one array.
// A layer of type t: rows of what each relation aggregates and of its own, side by side, times one matrix (GraphSAGE); what GCN or GIN
// aggregate, times theirs. Then, but for the last, layer norm and a residual where asked, ReLU, dropout. Layer l of L is worked out for the
// vertices of the first L - l hops alone.
// Invariant: forward() keeps what backward() needs until the next forward(). Cost: of each layer its aggregated and its finished rows.
// Sources: Kipf and Welling, ICLR 2017; Hamilton et al., NeurIPS 2017; Xu et al., ICLR 2019; Schlichtkrull et al., ESWC 2018 (relations).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnn/aggregate.hpp"
#include "gnn/blas.hpp"
#include "gnn/pointwise.hpp"
#include "garner/gnn.hpp"

namespace garner {

struct network_shape {
  model_kind kind = model_kind::sage;
  std::vector<std::uint64_t> inputs;  // of each type, elements a row
  struct relation {
    std::uint32_t from = 0, to = 0;
    std::string name = {};
  };
  std::vector<relation> relations;
  std::vector<std::string> types = {""};
  std::uint32_t target = 0;  // the type that is told apart
  std::uint64_t hidden = 64, classes = 0;
  std::uint32_t layers = 2;
  bool layer_norm = false, residual = false;
};

// A tensor of a model as files have it: a block of the parameters, `rows` x `columns` (bias and norm: 1 x columns), `stride` apart.
struct parameter {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0, rows = 1, columns = 0, stride = 0;
  std::uint32_t layer = 0;
};

template <class Real>
class network {
 public:
  // Parameters are drawn by `seed`: as Glorot and Bengio have it (GCN), or uniform in +-1 / sqrt(inputs).
  network(executor& x, network_shape shape, std::uint64_t seed);

  network_shape const& shape() const { return shape_; }
  std::vector<parameter> const& parameters() const { return parameters_; }
  std::uint64_t count() const { return values_.size(); }
  Real* values() const { return values_.data(); }
  Real* gradients() const { return gradients_.data(); }

  struct pass {
    blas* products = nullptr;
    std::vector<relation_edges<Real>>* edges = nullptr;  // a relation
    std::vector<std::vector<std::uint64_t>> rows;        // [l][t]: of type t before layer l; the last: those that come out
    std::vector<row_block<Real const>> inputs;           // a type
    bool training = false;
    double input_dropout = 0, dropout = 0;
    std::uint64_t seed = 0, step = 0;  // of dropout
  };
  // Scores, rows[layers][target] x classes; stay until the next call.
  row_block<Real> forward(executor& x, pass const& p);
  // Sets gradients(). `scores`: the gradient of what forward() gave; overwritten. `of_inputs`: by type, filled where data is not null.
  void backward(executor& x, pass const& p, row_block<Real> scores, std::vector<row_block<Real>> const& of_inputs = {});

  std::uint64_t bytes() const;

 private:
  struct dense {  // one matrix and its bias
    std::uint64_t weight = 0, bias = 0, in = 0, out = 0;
  };
  struct layer_of_type {
    bool used = false;
    std::vector<dense> products;  // one, or GIN's two
    std::uint64_t gain = 0, shift = 0;
    std::vector<std::uint64_t> part;  // by relation: its first column among the inputs; ~0: another type's
    std::uint64_t own_part = 0;
    buffer<Real> taken, middle, before_norm, out, with_residual;
    row_block<Real> result;  // of the last forward
  };
  std::uint64_t width(std::uint32_t layer, std::uint32_t type) const;  // of the rows that come into it
  std::uint64_t add(std::uint32_t layer, std::string name, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride,
                    std::uint64_t offset, bool vector);
  void draw(executor& x, std::uint64_t seed);
  void sum_columns(executor& x, row_block<Real const> rows, std::uint64_t count, std::uint64_t columns, std::uint64_t into);
  dropped drop_of(pass const& p, std::uint32_t layer, std::uint32_t type) const;

  network_shape shape_;
  std::vector<parameter> parameters_;
  buffer<Real> values_, gradients_;
  std::vector<std::vector<layer_of_type>> layers_;
  std::vector<buffer<Real>> dropped_inputs_;
  std::vector<row_block<Real const>> inputs_;
  buffer<Real> of_taken_, of_middle_, terms_;
  std::vector<buffer<Real>> of_rows_[2];  // gradients of the rows of each type, layer by layer in turn
  column_sums<Real> sums_;
};

}  // namespace garner

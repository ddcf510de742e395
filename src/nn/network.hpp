// A model: its parameters, its forward pass over rows, and its gradients. One array holds all parameters, another all gradients, so that
// Adam is one loop and a sum over ranks one array. A layer of type t: rows that each relation aggregates and the vertices' own rows,
// concatenated, times one matrix (GraphSAGE); aggregates of GCN or GIN, times theirs. Where input rows are wider than output rows, and
// nearly all of them are targets, the product comes first. Then, in all but the last layer, optional layer norm (for GIN between its two
// products too), ReLU, dropout. Residual: a product, ReLU and dropout before the layers; each layer adds its normed result to its input; a
// final product (Platonov et al., ICLR 2023). Layer l of L is computed for the vertices of the first L - l hops alone.
// Invariant: forward() keeps what backward() needs until the next forward().
// Cost: for each layer its aggregated and its finished rows.
// Sources: Kipf and Welling, ICLR 2017; Hamilton et al., NeurIPS 2017; Xu et al., ICLR 2019; Schlichtkrull et al., ESWC 2018 (relations).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/lease.hpp"
#include "garner/gnn.hpp"
#include "nn/aggregate.hpp"
#include "nn/blas.hpp"
#include "nn/block_workers.hpp"
#include "nn/kept_rows.hpp"
#include "nn/pointwise.hpp"

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
  std::uint32_t target = 0;  // the type that is classified
  std::uint64_t hidden = 64, classes = 0;
  std::uint32_t layers = 2;
  bool layer_norm = false, residual = false;

  void require_kind() const;  // errc::usage: several types are sage's
  std::uint64_t width(std::uint32_t layer, std::uint32_t type) const { return layer == 0 && !residual ? inputs[type] : hidden; }
  std::uint64_t outputs(std::uint32_t layer) const { return layer + 1 == layers && !residual ? classes : hidden; }
  bool uses(std::uint32_t layer, std::uint32_t type) const { return layer + 1 < layers || type == target; }  // somebody wants its rows
  // Of what the first product of a type takes in: GraphSAGE's relations side by side, and its own rows.
  std::uint64_t taken(std::uint32_t layer, std::uint32_t type) const {
    std::uint64_t sum = width(layer, type);
    for (relation const& r : relations)
      if (kind == model_kind::sage && r.to == type) sum += width(layer, r.from);
    return sum;
  }
  // Whether the layer's rows of a type are those that the target's classes are computed from.
  bool gives_embeddings(std::uint32_t layer, std::uint32_t type) const { return type == target && layer + (residual ? 1 : 2) == layers; }
};

// A tensor of a model as in files: a block of the parameters, `rows` x `columns` (bias and norm: 1 x columns), and its row stride.
struct parameter {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0, rows = 1, columns = 0, stride = 0;
  std::uint32_t layer = 0;
};

template <class Real>
class network {
 public:
  // Matrices get Glorot and Bengio's random initialization with `seed`; biases are 0, gains 1.
  network(executor& x, network_shape shape, std::uint64_t seed);

  network_shape const& shape() const { return shape_; }
  std::vector<parameter> const& parameters() const { return parameters_; }
  std::uint64_t count() const { return values_.size(); }
  Real* values() const { return values_.data(); }
  Real* gradients() const { return gradients_.data(); }

  static constexpr std::uint64_t columns_at_once = 64;  // of a pass with `kept`, in an aggregation
  struct pass {
    blas* products = nullptr;
    std::vector<relation_edges<Real>>* edges = nullptr;  // a relation
    std::vector<std::vector<std::uint64_t>> rows;        // [l][t]: of type t before layer l; the last: those that come out
    std::vector<row_block<Real const>> inputs;           // a type
    // With one type whose rows are remote: instead of them, rows of a block, until the next call. Where turns_inputs() alone.
    std::function<row_block<Real const>(std::uint64_t first, std::uint64_t count)> bring = {};
    bool training = false;
    double input_dropout = 0, dropout = 0;
    std::uint64_t seed = 0, step = 0;        // of dropout
    std::uint64_t const* step_at = nullptr;  // on the device: the step number is there when the work is done
    // A part of a graph: its first vertex, by which dropout counts, and its blocks of rows, counted from there: where each begins, and the
    // last ends. Products and gradients are made block by block; empty: all at once.
    std::uint64_t first_row = 0;
    std::span<std::uint64_t const> blocks = {};
    block_workers<Real>* workers = nullptr;  // executors of concurrent blocks; null, and where rows are brought: one after the other
    // With blocks, of one type: rows that backward() needs are kept in host memory, and the device has one or two arrays of rows of all
    // vertices; what backward() needs besides is made again, block by block. The same bits. Rows may be brought for any model then.
    kept_rows<Real>* kept = nullptr;
    bool host_layers = false;   // with `kept`: these arrays are in host memory, and some columns of them come to the device
    Real* gradients = nullptr;  // where they go without blocks; null: to gradients()
    bool steady = false;        // products of the same sizes come again: the library may plan them
    bool leave_bias = false;    // forward() returns scores without the last bias, for callers that add it in a later pass
    // Receives the rows of a step: the output of each layer, then, from the last layer down, its gradients; with `kept` by blocks, of which
    // `first` is the first row. Rows are contiguous. For the search of a number that is not finite; training steps leave it empty.
    using watcher = std::function<void(char const* what, std::uint32_t layer, std::uint32_t type, std::uint64_t first,
                                       row_block<Real const> rows, std::uint64_t count, std::uint64_t columns)>;
    watcher watch = {};
  };
  // Scores, rows[layers][target] x classes; stay until the next call.
  row_block<Real> forward(executor& x, pass const& p);
  // What it left out of them; null: nothing.
  Real const* bias_left(pass const& p) const {
    if (!p.leave_bias) return nullptr;
    return values_.data() + (shape_.residual ? ends_[shape_.target].last.bias : layers_.back()[shape_.target].products.back().bias);
  }
  // Sets gradients(). `scores`: the gradient of what forward() gave; overwritten. `of_inputs`: by type, filled where data is not null.
  void backward(executor& x, pass const& p, row_block<Real> scores, std::vector<row_block<Real>> const& of_inputs = {});
  // With blocks: gradients() is not set, but a row of these each.
  row_block<Real> block_gradients() const { return {by_block_.data(), reserved_}; }

  // Whether backward() takes the edges that lead from rows of the inputs, those of the last hop among them; `p`: of its rows.
  bool turns_inputs(pass const& p) const;
  std::uint64_t bytes() const;

  // --- forward() in pieces, for callers with the rows of a layer in parts: any `count` of them at a time. The result of a piece is valid
  // until the next call for that layer. ---
  using rows_in = row_block<Real const>;
  using rows_out = row_block<Real>;
  std::uint64_t width(std::uint32_t layer, std::uint32_t type) const;  // of the rows that come into it
  std::uint64_t outputs(std::uint32_t layer) const;
  rows_in encode(executor& x, pass const& p, std::uint32_t type, rows_in rows, std::uint64_t count);         // residual: before the layers
  rows_in source_of(executor& x, std::uint32_t layer, std::uint32_t type, rows_in in, std::uint64_t count);  // what is aggregated
  // The matrix of what is aggregated and, side by side with it, that of a vertex's own row (GraphSAGE; else null).
  struct first_matrix {
    Real const *aggregated, *own;
    std::uint64_t stride, out;
  };
  first_matrix first_of(std::uint32_t layer, std::uint32_t type, std::uint32_t relation = 0) const;
  bool uses(std::uint32_t layer, std::uint32_t type) const { return layers_[layer][type].used; }   // somebody wants its rows
  rows_out first_room(executor& x, std::uint32_t layer, std::uint32_t type, std::uint64_t count);  // where their products go,
  rows_out finish(executor& x, pass const& p, std::uint32_t layer, std::uint32_t type, rows_in in,
                  std::uint64_t count);                                             // and what follows
  rows_out scores_of(executor& x, pass const& p, rows_in in, std::uint64_t count);  // residual: behind the layers

 private:
  struct dense {  // one matrix and its bias
    std::uint64_t weight = 0, bias = 0, in = 0, out = 0;
  };
  struct norm_of {
    std::uint64_t gain = 0, shift = 0, width = 0;
  };
  struct rooms {
    buffer<Real> normed, taken, middle_made, middle, made, out, result_room;
  };
  struct layer_of_type : rooms {
    bool used = false;
    std::vector<dense> products;      // one, or GIN's two
    std::vector<std::uint64_t> part;  // by relation: its first column among the inputs; ~0: another type's
    std::uint64_t own_part = 0;
    norm_of norm, between;       // between GIN's products
    bool product_first = false;  // in the last forward
    bool ended = false;          // the product that finish() goes on from has its ending
    rows_in in;                  // of the last forward, and what is aggregated: the same, or normed
    rows_in source;
    rows_out result;
  };
  struct ends_of_type {  // residual: before and behind the layers
    dense first, last;
    norm_of norm;
    buffer<Real> encoded, normed, scores;
    rows_in in;
  };
  bool norm_behind(std::uint32_t layer) const { return shape_.layer_norm && !shape_.residual && layer + 1 < shape_.layers; }
  dense add_dense(std::uint32_t layer, std::string const& weight, std::string const& bias, std::uint64_t in, std::uint64_t out);
  norm_of add_norm(std::uint32_t layer, std::string const& name, std::uint64_t width);
  void add(std::uint32_t layer, std::string name, std::vector<std::uint64_t> shape, std::uint64_t offset, std::uint64_t stride);
  std::uint64_t reserve(std::uint64_t n);
  void draw(executor& x, std::uint64_t seed);
  bool product_first(pass const& p, std::uint32_t layer, std::uint32_t type) const;
  dropped drop_of(pass const& p, std::uint32_t layer, std::uint32_t type) const;

  struct block {
    std::uint64_t first, count;
    Real* gradients;
    executor& x;  // runs the block
    blas& products;
    column_sums<Real>& sums;
  };
  // f(block) for each block.
  template <class F>
  void each_block(executor& x, pass const& p, std::uint64_t count, F const& f) {
    if (p.blocks.empty()) return f(block{0, count, p.gradients ? p.gradients : gradients_.data(), x, *p.products, sums_});
    auto const one = [&](std::size_t b, executor& by, blas& products, column_sums<Real>& sums) {
      Real* const gradients = by_block_.empty() ? by_block_.data() : by_block_.data() + b * reserved_;  // null in the forward pass
      f(block{p.blocks[b], p.blocks[b + 1] - p.blocks[b], gradients, by, products, sums});
    };
    std::size_t const blocks = p.blocks.size() - 1;
    if (p.workers) return p.workers->each(x, blocks, [&](block_worker<Real>& w, std::size_t b) { one(b, w.x, w.products, w.sums); });
    for (std::size_t b = 0; b < blocks; ++b) one(b, x, *p.products, sums_);
  }
  // Rows of a block, where they lie, or brought; then with dropout.
  rows_in some_of(executor& x, pass const& p, rows_in from, std::uint64_t first, std::uint64_t count);
  // What follows a product, as activate() takes it.
  struct ending {
    Real const* bias;
    bool relu;
    dropped drop;
  };
  std::optional<ending> layer_ending(pass const& p, std::uint32_t layer, std::uint32_t type) const;  // of the last product of a layer
  std::optional<ending> first_ending(pass const& p, std::uint32_t layer, std::uint32_t type) const;  // of its first, maybe the same
  static bool ends_inside(pass const& p, std::optional<ending> const& then);  // the library does that as it writes the product
  void multiply(executor& x, pass const& p, dense const& d, rows_in from, std::uint64_t count, rows_out to,
                std::optional<ending> const& then = {});
  // Gradients of matrix and bias, and, where data is not null, of what came in.
  void multiply_back(executor& x, pass const& p, dense const& d, rows_in from, std::uint64_t count, rows_out of_result, rows_out of_from);
  void aggregate(executor& x, pass const& p, std::uint32_t layer, std::uint32_t type, std::vector<rows_in> const& source);
  void aggregate_back(executor& x, pass const& p, std::uint32_t layer, std::uint32_t type, rows_out of_made,
                      std::vector<rows_out> const& of_source, std::vector<bool>& written);
  rows_in norm_rows(executor& x, norm_of const& n, rows_in from, std::uint64_t count, buffer<Real>& to);
  void norm_rows_back(executor& x, pass const& p, norm_of const& n, rows_in from, std::uint64_t count, rows_out gradient);
  void sum_columns(executor& x, pass const& p, rows_in rows, std::uint64_t count, std::uint64_t columns, std::uint64_t into);
  void multiply_taken(executor& x, pass const& p, std::uint32_t layer, std::uint32_t type, rows_in taken, std::uint64_t count);
  void activation_back(executor& x, pass const& p, std::uint32_t layer, std::uint32_t type, rows_out gradient, std::uint64_t count);
  rows_out second_back(executor& x, pass const& p, std::uint32_t layer, std::uint32_t type, rows_out of_made, std::uint64_t count);
  void product_back(block const& b, dense const& d, std::uint64_t part, rows_in rows, rows_out of_result, rows_out of_from, bool add);
  // With rows kept in host memory (network_kept.cpp).
  rows_out forward_kept(executor& x, pass const& p);
  void backward_kept(executor& x, pass const& p, rows_out scores);
  template <class F>
  void each_kept(executor& x, pass const& p, F const& f);
  layer_of_type& take_rooms(std::uint32_t layer);
  void place_layers(executor& x, pass const& p);
  static constexpr std::uint64_t panels(std::uint64_t columns) { return (columns + columns_at_once - 1) / columns_at_once; }
  rows_out all_rows(executor& x, pass const& p, buffer<Real>& in, std::uint64_t columns, char const* what);
  bool in_panels(Real const* rows) const;
  template <class F>
  void each_panel(pass const& p, Real* all, std::uint64_t first, std::uint64_t columns, F const& f);
  void bring_block(executor& x, pass const& p, rows_out all, std::uint64_t first, std::uint64_t count, std::uint64_t columns, rows_out to);
  rows_out block_of(executor& x, pass const& p, buffer<Real>& to, rows_out all, std::uint64_t first, std::uint64_t count,
                    std::uint64_t columns);
  void put_block(executor& x, pass const& p, rows_in rows, rows_out all, std::uint64_t first, std::uint64_t count, std::uint64_t columns);
  void watch_blocks(executor& x, pass const& p, char const* what, std::uint32_t layer, rows_out rows, std::uint64_t columns);
  void aggregate_kept(executor& x, pass const& p, bool back, rows_in in, rows_out out, std::uint64_t columns, rows_in self);
  bool made_again(std::uint32_t layer) const;
  rows_out finish_made(executor& x, pass const& p, std::uint32_t layer, rows_in made, std::uint64_t count);
  rows_in inputs_of(executor& x, pass const& p, pass const& of_block, std::uint64_t first, std::uint64_t count);

  network_shape shape_;
  std::uint64_t reserved_ = 0;
  std::vector<parameter> parameters_;
  buffer<Real> values_, gradients_, by_block_;
  std::vector<std::vector<layer_of_type>> layers_;
  std::vector<ends_of_type> ends_;
  std::vector<buffer<Real>> dropped_inputs_;
  std::vector<rows_in> inputs_;
  buffer<Real> of_taken_, of_middle_, of_made_, terms_, some_columns_, columns_that_come_, of_block_, of_panel_, all_scores_;
  std::uint32_t rooms_at_ = 0;            // of a pass with `kept`: the layer that has the workspaces
  std::vector<buffer<Real>> of_rows_[2];  // gradients of the rows of each type, layer by layer in turn
  column_sums<Real> sums_;
  // With of_rows_ and of_taken_ in host memory: what goes there, on a stream of its own, while rows come. Later reads wait for gone.
  struct far_rows {
    executor go;
    leased<buffer<Real>> columns, panels[2];  // x fills them, and go reads
    std::uint64_t turn = 0;
    event gone;
    wait_at_end all_gone{go};
    explicit far_rows(executor& x) : go(x, executor::urgent{}) {}
    std::uint64_t bytes() const { return columns.what().bytes() + panels[0].what().bytes() + panels[1].what().bytes(); }
    void put(executor& x, leased<buffer<Real>>& from, Real* to, std::uint64_t numbers) {
      lease<buffer<Real>*> made = from.filled(x);
      go.copy(to, made.use(go)->data(), numbers * sizeof(Real));
      gone.record(go);
    }
  };
  std::unique_ptr<far_rows> far_;
};

}  // namespace garner

// Exact inference over a graph of several types, layer by layer, for data larger than what lies near: the rows of each type lie in host
// memory (of the first layer in its table), and come as they are wanted.
// What a type takes up is a sum over its relations, each linear in the rows that it brings. So of one relation after the other as many
// columns of its sources lie near as fit, chunks of targets add them up, and a product adds that to the targets' sums, which lie near or in
// host memory. Invariant: no draw; the same scores as in one piece, to rounding. What lies near fits into what it was given.
// Cost: the rows of a type come once for each relation that brings them, and once for themselves; lists once for each block of columns.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "garner/features.hpp"
#include "garner/hetero.hpp"
#include "gnn/infer.hpp"
#include "gnn/model.hpp"
#include "gnn/whole_graph.hpp"

namespace garner {

class types_in_parts {
 public:
  // All must outlive it. errc::memory where `near` bytes are too few.
  types_in_parts(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> tables,
                 list_side side, bool weighted, std::uint64_t near);
  inference_report planned() const { return planned_; }

  using taker = exact_inference::taker;
  inference_report run(blas& products, taker const& take);

 private:
  using rows_in = row_block<float const>;
  using rows_out = row_block<float>;
  // Of a type: what is aggregated, and (residual, with norm) the rows as they were. No data: they are in the table.
  struct stored {
    buffer<float> source, before;
  };
  struct room_of {  // of a type in a layer
    bool sums_near = false;
    std::vector<std::uint64_t> columns;  // by relation, of its sources near at a time; 0: none of this type's
  };

  void plan(std::uint64_t near);
  void add_up(std::uint32_t l, std::uint32_t t, network<float>::pass const& p, buffer<float>& sums);
  void finish(std::uint32_t l, std::uint32_t t, network<float>::pass const& p, buffer<float> const& sums, bool any, taker const& take);
  void bring_block(std::uint32_t l, std::uint32_t t, std::uint64_t begin, std::uint64_t columns, float* to);
  void bring_rows(std::uint32_t t, buffer<float> const& from, std::uint64_t width, std::uint64_t first, std::uint64_t count, float* to);
  void give(std::uint32_t to_layer, std::uint32_t t, rows_in rows, std::uint64_t first, std::uint64_t count);
  void lay_out(std::uint32_t t);
  stored make(std::uint32_t layer, std::uint32_t t) const;
  bool two_stores() const { return net_.shape().residual && net_.shape().layer_norm; }
  std::uint64_t edge_bytes() const { return weighted_ ? 8 : 4; }

  executor& x_;
  network<float>& net_;
  row_scaling scaling_;
  std::vector<tiered_tensor*> tables_;
  bool weighted_;
  std::vector<std::uint64_t> counts_;
  std::vector<whole_graph> lists_;  // a relation
  std::uint64_t chunk_ = 0, part_edges_ = 0;
  std::vector<std::vector<room_of>> rooms_;  // a layer, a type
  inference_report planned_;
  relation_edges<float> edges_;
  std::vector<stored> rows_, next_;
  buffer<float> block_, taken_, own_, before_, staged_;
  take_room taking_;
  inference_report::layer* told_ = nullptr;
};

}  // namespace garner

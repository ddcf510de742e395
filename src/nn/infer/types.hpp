// Exact inference over a graph of several types, layer by layer, for data larger than device memory. A type's result is a sum over its
// relations, each linear in its source rows. So for one relation after the other, as many columns of its sources as fit are on the device,
// chunks of targets aggregate them, and a product adds that to the targets' sums, which are on the device or in host memory. Copies
// overlap: the next chunk's own rows, and where two fit the next block of columns, arrive during the current one. Invariant: device memory
// stays within the given limit. Cost: the rows of a type cross once for each relation that reads them, and once for themselves; adjacency
// once for each block of columns.
#pragma once
#include <span>

#include "garner/hetero.hpp"
#include "nn/infer/by_layers.hpp"
#include "nn/infer/plan.hpp"

namespace garner {

class types_in_parts final : public inference_by_layers {
 public:
  // All must outlive it. errc::memory where `near` bytes are too few.
  types_in_parts(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> tables,
                 edge_direction side, bool weighted, std::uint64_t near);

 private:
  // Columns of the aggregated rows of all vertices of a type, on their way to the device.
  struct block {
    std::uint32_t relation = 0, from = 0;
    std::uint64_t begin = 0, columns = 0;
    float* to = nullptr;
    std::uint64_t done = 0;  // vertices whose rows were submitted
  };
  void make_next(std::uint32_t layer) override;
  void layer(std::uint32_t l, pass const& p, score_taker const& take) override;
  void add_up(std::uint32_t l, std::uint32_t t, pass const& p);
  void finish(std::uint32_t l, std::uint32_t t, pass const& p, bool any, score_taker const& take);
  bool bring_some(block& b);  // a chunk of it; whether there is more

  std::vector<whole_graph> lists_;                       // a relation
  std::vector<std::vector<types_plan::room_of>> rooms_;  // a layer, a type
  buffer<float> sums_, blocks_[2];
};

}  // namespace garner

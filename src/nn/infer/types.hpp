// Exact inference over a graph of several types, layer by layer, for data larger than device memory: the rows of each type are in host
// memory (for the first layer in its table), and are read on demand. A type's result is a sum over its relations, each linear in its
// source rows. So for one relation after the other, as many columns of its sources as fit are on the device, chunks of targets aggregate
// them, and a product adds that to the targets' sums, which are on the device or in host memory. Copies overlap: the next chunk's own
// rows, and where two fit the next block of columns, arrive during the current one; results of a chunk are written back during the next.
// Invariant: no sampling; the same scores as in one piece, up to rounding. Device memory stays within the given limit.
// Cost: the rows of a type cross once for each relation that reads them, and once for themselves; adjacency once for each block of
// columns.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/lease.hpp"
#include "garner/features.hpp"
#include "garner/hetero.hpp"
#include "nn/infer/infer.hpp"
#include "nn/infer/plan.hpp"
#include "nn/infer/rows.hpp"
#include "nn/model.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

class types_in_parts {
 public:
  // All must outlive it. errc::memory where `near` bytes are too few.
  types_in_parts(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> tables,
                 edge_direction side, bool weighted, std::uint64_t near);
  inference_report planned() const { return planned_; }

  using taker = score_taker;
  inference_report run(blas& products, taker const& take);

 private:
  using rows_in = row_block<float const>;
  using rows_out = row_block<float>;
  // For a type: the aggregated rows, and (residual, with norm) the original ones. Without data: they are in the table.
  struct stored {
    buffer<float> source, before;
  };
  // Columns of the aggregated rows of all vertices of a type, on their way to the device.
  struct block {
    std::uint32_t relation = 0, from = 0;
    std::uint64_t begin = 0, columns = 0;
    float* to = nullptr;
    std::uint64_t done = 0;  // vertices whose rows were submitted
  };
  struct chunk_rows {  // of a chunk's vertices; of `before` as of stored
    buffer<float> own, before, sums;
  };
  using chunk_maker = std::function<void(std::uint64_t first, std::uint64_t count, chunk_rows& to)>;
  using chunk_user = std::function<void(std::uint64_t first, std::uint64_t count, chunk_rows const& rows)>;
  using chunk_end = std::function<void(std::uint64_t first, std::uint64_t count)>;

  inference_report run_layers(blas& products, taker const& take);
  void plan(std::uint64_t near);
  void add_up(std::uint32_t l, std::uint32_t t, network<float>::pass const& p);
  void finish(std::uint32_t l, std::uint32_t t, network<float>::pass const& p, bool any, taker const& take);
  // Chunk after chunk of n vertices: what `bring` gives to far_ comes while what `use` gave to x_ of the one before is under way. `done`:
  // when the next one's coming has been given.
  void each_chunk(std::uint64_t n, chunk_maker const& bring, chunk_user const& use, chunk_end const& done = {});
  bool bring_some(std::uint32_t l, block& b);  // a chunk of it; whether there is more
  void bring_rows(std::uint32_t t, buffer<float> const& from, std::uint64_t width, std::uint64_t first, std::uint64_t count, float* to);
  void give(std::uint32_t to_layer, std::uint32_t t, rows_in rows, std::uint64_t first, std::uint64_t count);
  void put(buffer<float>& to, rows_in rows, std::uint64_t first, std::uint64_t count);
  void lay_out(std::uint32_t t);
  void wait();
  stored make(std::uint32_t layer, std::uint32_t t) const;
  bool two_stores() const { return net_.shape().residual && net_.shape().layer_norm; }
  std::uint64_t edge_bytes() const { return weighted_ ? 8 : 4; }

  executor& x_;
  executor far_, out_;  // what comes, what goes
  network<float>& net_;
  row_scaling scaling_;
  std::vector<tiered_tensor*> tables_;
  bool weighted_;
  std::vector<std::uint64_t> counts_;
  std::vector<whole_graph> lists_;  // a relation
  std::uint64_t chunk_ = 0, part_edges_ = 0;
  std::vector<std::vector<types_plan::room_of>> rooms_;  // a layer, a type
  inference_report planned_;
  relation_edges<float> edges_;
  std::vector<stored> rows_, next_;
  buffer<float> sums_, laid_, blocks_[2], taken_;
  leased<chunk_rows> chunks_[2];       // far_ fills them, and x_ reads
  leased<buffer<float>> staged_[2];    // the host fills them, and far_ reads
  leased<buffer<float>> outgoing_[2];  // x_ fills them, and out_ reads
  std::uint64_t stagings_ = 0, puts_ = 0;
  take_room taking_;
  inference_report::layer* told_ = nullptr;
};

}  // namespace garner

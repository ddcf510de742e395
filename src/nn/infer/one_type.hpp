// Exact inference layer by layer, for data larger than device memory: scores of all vertices, each from its whole neighborhood. Rows are
// read from host memory (for the first layer from the table) and written back there, unless the plan keeps them on the device. Input of the
// next chunk is copied while the last one is computed. Output has the layout of the next layer's input, so that all copies are of
// contiguous bytes.
// Invariant: no sampling; the same scores as for a whole graph in one piece, up to rounding. The model is not changed.
// Cost: the bytes of the plan (plan.hpp); host memory for the rows of two layers.
#pragma once
#include <functional>

#include "core/lease.hpp"
#include "garner/features.hpp"
#include "nn/infer/infer.hpp"
#include "nn/infer/plan.hpp"
#include "nn/infer/rows.hpp"
#include "nn/model.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

class layered_inference {
 public:
  // All must outlive it. `near`: at most so many bytes of the device; unset: what is free.
  layered_inference(executor& x, whole_graph const& g, model_options const& o, network<float>& net, tiered_tensor& features,
                    std::optional<std::uint64_t> near);
  inference_plan const& plan() const { return plan_; }
  inference_report planned() const;

  using taker = score_taker;
  inference_report run(blas& products, taker const& take);

 private:
  // All rows, `columns` each, in blocks of so many columns, one array after the other.
  struct stored {
    buffer<float> data;
    std::uint64_t columns = 0, block = 0;
    bool near = false;
  };
  using rows_in = row_block<float const>;
  using rows_out = row_block<float>;
  using row_user = std::function<void(std::uint64_t first, std::uint64_t count, rows_in rows)>;
  using target_user = std::function<void(std::uint64_t first, std::uint64_t count)>;

  void run_layers(blas& products, taker const& take, inference_report& report);
  void layer(std::uint32_t l, network<float>::pass const& p, taker const& take, inference_report::layer& told);
  void finish(std::uint32_t l, network<float>::pass const& p, std::uint64_t first, std::uint64_t count, taker const& take);
  stored make(std::uint64_t columns, std::uint64_t block, bool near);
  void make_next(std::uint32_t layer, bool near);
  void give(std::uint32_t to_layer, rows_in rows, std::uint64_t first, std::uint64_t count);
  void put(stored& to, rows_in rows, std::uint64_t first, std::uint64_t count);
  // Columns [begin, end) of rows [first, first + count), to device memory.
  void bring(executor& by, std::uint64_t begin, std::uint64_t end, stored const& from, std::uint64_t first, std::uint64_t count,
             rows_out to);
  void bring_sources(executor& by, std::uint64_t first, std::uint64_t count, float* to);  // of this layer, whole
  void each_rows(row_user const& use);
  void each_targets(std::uint32_t layer, target_user const& use);
  void wait_all();
  std::uint64_t block_of(std::uint32_t layer) const;

  executor& x_;
  executor far_, out_;  // what comes, what goes
  whole_graph const& g_;
  model_options const& o_;
  network<float>& net_;
  tiered_tensor& features_;
  std::uint64_t n_;
  aggregation how_;
  double row_bytes_ = 0;  // of the table's rows, those that come from host memory
  inference_plan plan_;
  relation_edges<float> edges_;
  std::uint64_t width_ = 0;  // of this layer's rows
  stored source_, before_;   // what is aggregated; residual and norm: the rows as they were
  stored next_source_, next_before_;
  bool from_table_ = false;
  std::vector<buffer<float>> spare_;   // host memory of layers that are done
  leased<buffer<float>> staged_[2];    // far_ fills them, and x_ reads
  leased<buffer<float>> outgoing_[2];  // x_ fills them, and out_ reads
  buffer<float> bringing_, taken_, own_, residual_;
  take_room taking_;
  std::uint64_t puts_ = 0;
  inference_report::layer* told_ = nullptr;
};

}  // namespace garner

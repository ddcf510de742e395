// Exact inference layer by layer of a graph of one type, for data larger than device memory: scores of all vertices, each from its whole
// neighborhood. Each layer goes as its plan says (plan.hpp); its output has the layout of the next layer's input, so that all copies are of
// contiguous bytes.
// Cost: the bytes of the plan; host memory for the rows of two layers.
#pragma once
#include <optional>

#include "nn/infer/by_layers.hpp"
#include "nn/infer/plan.hpp"

namespace garner {

class layered_inference final : public inference_by_layers {
 public:
  // All must outlive it. `near`: at most so many bytes of the device; unset: what is free. `embeddings`: they
  // will be taken too.
  layered_inference(executor& x, whole_graph const& g, model_options const& o, network<float>& net, tiered_tensor& features,
                    std::optional<std::uint64_t> near, bool embeddings = false);

 private:
  void prepare() override;
  void make_next(std::uint32_t layer) override;
  void layer(std::uint32_t l, pass const& p, score_taker const& take) override;
  void finish(std::uint32_t l, pass const& p, std::uint64_t first, std::uint64_t count, score_taker const& take);
  void each_targets(std::uint32_t layer, part_user const& use);

  whole_graph const& g_;
  model_options const& o_;
  std::uint64_t n_;
  aggregation how_;
  inference_plan plan_;
  buffer<float> own_, residual_;
};

}  // namespace garner

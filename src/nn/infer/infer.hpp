// Exact inference: scores of all vertices, each from all of its neighbors. By layers (one_type.hpp); a graph of several types in one piece
// where that fits (whole.hpp), else in parts (types.hpp).
#pragma once
#include <functional>
#include <optional>
#include <span>

#include "garner/features.hpp"
#include "garner/hetero.hpp"
#include "nn/model.hpp"

namespace garner {

// Scores of vertices [first, first + count), in order, on the device.
// Also of the rows before the classes.
using score_taker = std::function<void(std::uint64_t first, std::uint64_t count, row_block<float const> scores)>;

std::uint64_t free_near(executor const& x);  // what may be taken now, with something left for others

// errc::input where tables, types and relations are not those of the model; names the first that differs.
void require_types(gnn_model::parts const& m, hetero_graph const& g, std::span<tiered_tensor* const> features, edge_direction side);

// Scores of the target's vertices, in order. `near`: at most so many bytes of the device; unset: what is free.
inference_report infer_types(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                             std::span<tiered_tensor* const> features, edge_direction side, bool weighted,
                             std::optional<std::uint64_t> near, blas& products, score_taker const& take,
                             score_taker const& take_embeddings = {});

}  // namespace garner

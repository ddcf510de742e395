// What garner train, garner predict and garner plan --job train say alike of models, and of what those are given.
#pragma once
#include <string>

#include "garner/gnn.hpp"

namespace garner::cli {

// --norm: none, layer or automatic, which is what suits the model.
bool layer_norm_of(std::string const& said, model_kind model);

}  // namespace garner::cli

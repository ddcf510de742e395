#include "models.hpp"

#include "core/fail.hpp"

namespace garner::cli {

bool layer_norm_of(std::string const& said, model_kind model) {
  if (said != "automatic" && said != "none" && said != "layer") fail(errc::usage, "--norm {}: say none, layer or automatic", said);
  return said == "layer" || (said == "automatic" && model == model_kind::gin);
}

}  // namespace garner::cli

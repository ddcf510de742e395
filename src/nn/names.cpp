// What the models and their parts are called in text, and back.
#include "core/fail.hpp"
#include "garner/gnn.hpp"

namespace garner {

std::string_view to_string(aggregation how) {
  switch (how) {
    case aggregation::sum:
      return "sum";
    case aggregation::mean:
      return "mean";
    case aggregation::gcn:
      return "gcn";
  }
  return "?";
}
aggregation parse_aggregation(std::string_view text) {
  for (aggregation const how : {aggregation::sum, aggregation::mean, aggregation::gcn})
    if (to_string(how) == text) return how;
  fail(errc::usage, "unknown aggregation '{}': use sum, mean or gcn", text);
}

std::string_view to_string(model_kind kind) {
  switch (kind) {
    case model_kind::gcn:
      return "gcn";
    case model_kind::sage:
      return "sage";
    case model_kind::gin:
      return "gin";
  }
  return "?";
}
model_kind parse_model_kind(std::string_view text) {
  for (model_kind const kind : {model_kind::gcn, model_kind::sage, model_kind::gin})
    if (to_string(kind) == text) return kind;
  fail(errc::usage, "unknown model '{}': use gcn, sage or gin", text);
}

}  // namespace garner

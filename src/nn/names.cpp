// What the models and their parts are called in text, and back.
#include "core/words.hpp"
#include "garner/gnn.hpp"

namespace garner {

constexpr word_table<aggregation> aggregations{"unknown aggregation '{text}': use {a_or_b}", {"sum", "mean", "gcn"}};
std::string_view to_string(aggregation value) { return aggregations[value]; }
aggregation parse_aggregation(std::string_view text) { return aggregations.parse(text); }

constexpr word_table<model_kind> model_kinds{"unknown model '{text}': use {a_or_b}", {"gcn", "sage", "gin"}};
std::string_view to_string(model_kind value) { return model_kinds[value]; }
model_kind parse_model_kind(std::string_view text) { return model_kinds.parse(text); }

constexpr word_table<row_scaling> row_scalings{"unknown scaling of rows '{text}': use {a_or_b}", {"none", "sum", "length"}};
std::string_view to_string(row_scaling value) { return row_scalings[value]; }
row_scaling parse_row_scaling(std::string_view text) { return row_scalings.parse(text); }

constexpr word_table<dense_math> dense_maths{"dense math '{text}': use {a_or_b}", {"f32", "tf32", "bf16"}};
std::string_view to_string(dense_math value) { return dense_maths[value]; }
dense_math parse_dense_math(std::string_view text) { return dense_maths.parse(text); }

constexpr word_table<activation_place> activation_places{"activations '{text}': use {a_or_b}", {"automatic", "device", "host", "file"}};
std::string_view to_string(activation_place value) { return activation_places[value]; }
activation_place parse_activation_place(std::string_view text) { return activation_places.parse(text); }

}  // namespace garner

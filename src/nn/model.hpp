// The inside of the contract's gnn_model: a network at a place, and what its rows and labels are.
#pragma once
#include "core/executor.hpp"
#include "garner/gnn.hpp"
#include "nn/network.hpp"

namespace garner {

struct gnn_model::parts {
  executor x;
  model_options options;
  network<float> net;
  ~parts() { wait_at_end const settled(x); }
  parts(execution_device where, model_options const& o, model_types const& t = {});
};

// Checks that a table fits the model: one row per vertex of the graph, of the same width, on its device. `type`: with several, its name.
void require_table(gnn_model::parts const& m, tiered_tensor const& features, std::uint64_t vertices, std::uint64_t inputs,
                   std::string const& graph, std::string const& type = "");
// ... and that the model is of one type.
void require_table(gnn_model::parts const& m, tiered_tensor const& features, graph_handle const& g);

// As types_of has it, from the dataset file and one width per type.
model_types types_of(dataset_info const& g, std::string const& name, std::size_t target, std::vector<std::uint64_t> widths,
                     edge_direction side);
model_types types_in(network_shape const& s);  // no names: of one type
network_shape shape_of(model_options const& o, model_types const& t = {});
aggregation aggregation_of(model_kind kind);
std::string to_text(model_options const& o);  // one line, as checkpoints and messages compare it

}  // namespace garner

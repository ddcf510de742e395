// Plan of exact inference for each layer: what it keeps on the device, and in which parts the rest crosses the link. It picks the strategy
// with the fewest bytes that cross, over all layers; among equal ones the fewest aggregated columns. Invariant: what a plan keeps on the
// device fits the given memory. Cost: some tens of sums per layer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "nn/network.hpp"

namespace garner {

enum class layer_way : std::uint8_t {
  rows,      // all input rows are on the device
  products,  // input rows are multiplied on arrival, and the products stay on the device (aggregation is linear)
  columns,   // some of their columns are on the device at a time, with the sums of their results
  far_sums,  // the same, the sums in host memory
};

struct layer_plan {
  layer_way strategy = layer_way::rows;
  std::uint64_t columns = 0;  // of the rows that are on the device at a time
  bool own_near = false;      // products: those of the vertices' own rows stay on the device too; else these rows are read twice
  bool relaid = false;        // the table is laid out by columns in host memory first
  bool out_near = false;      // the result stays on the device for the next layer
  std::uint64_t bytes_in = 0, bytes_out = 0, list_bytes = 0;
  std::string about() const;  // in words
};

struct inference_sizes {
  model_options model;
  std::uint64_t vertices = 0, edges = 0;
  std::uint64_t longest = 0, slices = 0;      // of lists: edges of the longest one, and its slices
  bool weighted = false, embeddings = false;  // these leave the device too
  double far_row_bytes = 0;                   // of a row of the table, those that cross the link
};

struct inference_plan {
  bool lists_near = true;
  std::uint64_t chunk = 0;       // vertices at a time
  std::uint64_t part_edges = 0;  // remote lists: so many edges at a time, or one list
  std::uint64_t near_bytes = 0;  // at most at a time
  bool encoded_near = false;     // residual models: the rows behind the first product
  std::uint64_t encode_in = 0, encode_out = 0;
  std::vector<layer_plan> layers;
  std::uint64_t bytes() const;  // over the link, without scores
};

// errc::memory where `near` bytes are too few for all strategies.
inference_plan plan_layers(inference_sizes const& of, std::uint64_t near);

// Before anything of several types is loaded.
struct types_sizes {
  std::vector<std::uint64_t> vertices;  // of each type
  struct relation {
    std::uint64_t vertices = 0, edges = 0, longest = 0;  // of its graph file; edges of the longest list
  };
  std::vector<relation> relations = {};
  std::vector<double> row_bytes = {};  // of each type's table, those of a row that cross the link
  bool weighted = false;

  std::uint64_t edge_bytes() const { return weighted ? 8 : 4; }
};

// The same of several types, in parts (types.hpp).
struct types_plan {
  struct room_of {  // of a type in a layer
    bool sums_near = false;
    bool ahead = false;                       // two blocks fit: the next arrives during the sums of one
    std::vector<std::uint64_t> columns = {};  // by relation, of its sources on the device at a time; 0: none of this type's
  };
  std::uint64_t chunk = 0, part_edges = 0;
  std::uint64_t near_bytes = 0, least = 0;      // at most at a time; least: `near` is too little, and so many are needed
  std::vector<std::vector<room_of>> rooms;      // a layer, a type
  std::vector<inference_report::layer> layers;  // in words, and the bytes that will come and go
};
types_plan plan_types(network_shape const& s, types_sizes const& of, std::uint64_t near);

}  // namespace garner

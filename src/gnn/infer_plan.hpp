// How exact inference goes about each layer: what it keeps near, and in which parts the rest comes over the link.
// A way is taken by the bytes that cross, of all layers together; among equal ones by how many columns are aggregated.
// Invariant: what a plan keeps near fits into what it was given. Cost: some tens of sums a layer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "garner/gnn.hpp"

namespace garner {

enum class layer_way : std::uint8_t {
  rows,      // all rows that come in lie near
  products,  // they are multiplied as they come, and the products lie near (aggregation is linear)
  columns,   // some of their columns lie near at a time, and the sums of what came of them
  far_sums,  // the same, the sums in host memory
};

struct layer_plan {
  layer_way way = layer_way::rows;
  std::uint64_t columns = 0;  // of the rows that lie near at a time
  bool own_near = false;      // products: those of the vertices' own rows lie near too; else these rows come twice
  bool relaid = false;        // the table is laid out by columns in host memory first
  bool out_near = false;      // what comes out stays near for the next layer
  std::uint64_t bytes_in = 0, bytes_out = 0, list_bytes = 0;
  std::string about() const;  // in words
};

struct inference_sizes {
  model_options model;
  std::uint64_t vertices = 0, edges = 0;
  std::uint64_t longest = 0, slices = 0;  // of lists: edges of the longest one, slices of those that are added up so
  bool weighted = false;
  double far_row_bytes = 0;  // of a row of the table, those that cross the link
};

struct inference_plan {
  bool lists_near = true;
  std::uint64_t chunk = 0;       // vertices at a time
  std::uint64_t part_edges = 0;  // lists that are not near: so many edges at a time, or one list
  std::uint64_t near_bytes = 0;  // at most at a time
  bool encoded_near = false;     // residual models: the rows behind the first product
  std::uint64_t encode_in = 0, encode_out = 0;
  std::vector<layer_plan> layers;
  std::uint64_t bytes() const;  // over the link, without scores
};

// errc::memory where `near` bytes are too few for any way.
inference_plan plan_layers(inference_sizes const& of, std::uint64_t near);

}  // namespace garner

// What samplers and mini-batches are to Python: arrays that are not copied, each of which keeps alive what it is of.
#pragma once
#include "garner/subgraph.hpp"

#include <memory>

#include "graphs.hpp"

namespace garner::python {

using numbers = nb::ndarray<std::int64_t const, nb::ndim<1>, nb::c_contig>;

// int64 where it lies, also on a device; other whole numbers of the host as a copy. Kept alive as long as this.
struct int64s {
  numbers kept;
  std::span<std::int64_t const> seen;
};
int64s int64s_of(nb::handle from, char const* name, execution_device where);
// The same of positions among so many vertices, which a bool each says as well.
int64s positions_of(nb::handle from, char const* name, std::uint64_t vertices, execution_device where);

// Buffers of mini-batches that nobody holds any more, for the next; at the host alone, as on a device work on them may be under way.
struct spare_blocks {
  static constexpr std::size_t most = 4;
  std::vector<sampled_subgraph> idle;  // touched under the interpreter's lock
  sampled_subgraph take() {
    if (idle.empty()) return {};
    sampled_subgraph b = std::move(idle.back());
    idle.pop_back();
    return b;
  }
};

// The side that this graph is sampled from; the adjacency of an edge type holds in-edges, and is taken as it is.
edge_direction side_of(std::string const& side, py_graph const& of);
std::vector<std::int64_t> fanouts_of(nb::handle from);
// The options of a sampler but for place and scores, which are the caller's to take.
block_options options_of(keywords& given);

struct py_sampler {
  std::vector<std::shared_ptr<graph_handle>> graphs;  // whose lists it reads
  std::vector<int64s> times;
  std::size_t types = 1, relations = 1;
  bool edge_ids = false;
  std::shared_ptr<spare_blocks> spare = std::make_shared<spare_blocks>();
  std::optional<block_sampler> sampler;
  turns busy;
  void const* lent = nullptr;  // the Loader whose thread draws from it; changed in turn
};

struct py_blocks {
  sampled_subgraph made;
  std::size_t types = 1, relations = 1;
  bool edge_ids = false;
  std::shared_ptr<spare_blocks> spare;

  py_blocks(sampled_subgraph&& of, std::size_t of_types, std::size_t of_relations, bool with_edge_ids, std::shared_ptr<spare_blocks> home)
      : made(std::move(of)), types(of_types), relations(of_relations), edge_ids(with_edge_ids), spare(std::move(home)) {}
  py_blocks(py_blocks&&) = default;
  ~py_blocks() {
    if (spare && made.device().kind == device_kind::cpu && spare->idle.size() < spare_blocks::most) spare->idle.push_back(std::move(made));
  }
};

// The sampled nodes of one type, or edges of one relation; `of`, the Blocks or MiniBatch, stays alive with it.
struct py_vertices {
  nb::object of;
  execution_device at;
  sampled_subgraph::vertices const* seen;
};
struct py_edges {
  nb::object of;
  execution_device at;
  sampled_subgraph::edges const* seen;
  bool edge_ids;
};

// errc::usage for a number beyond those that there are.
py_vertices vertices_of(nb::object of, sampled_subgraph const& drawn, std::size_t types, std::uint32_t type);
py_edges edges_of(nb::object of, sampled_subgraph const& drawn, std::size_t relations, std::uint32_t relation, bool edge_ids);

// An array that a mini-batch hands over where NumPy cannot: on a device, or of bfloat16. A consumer on another stream than the one that the
// mini-batch was handed over to passes that stream to DLPack, which notifies the mini-batch.
struct py_batch_array {
  nb::object of, exported;
  bool on_device;
};
nb::object batch_array(nb::object const& of, execution_device at, void* data, std::vector<std::size_t> const& shape,
                       std::int64_t const* strides, nb::dlpack::dtype type);

template <class T>
nb::object array_of(nb::object const& of, execution_device at, T const* data, std::vector<std::size_t> const& shape,
                    std::vector<std::int64_t> const& strides) {
  static T none{};
  T* const there = data ? const_cast<T*>(data) : &none;  // of an empty array
  if (at.kind == device_kind::cuda) return batch_array(of, at, there, shape, strides.data(), nb::dtype<T>());
  return nb::cast(nb::ndarray<nb::numpy, T>(there, shape.size(), shape.data(), of, strides.data()));
}
template <class T>
nb::object array_of(nb::object const& of, execution_device at, T const* data, std::uint64_t n) {
  return array_of(of, at, data, {n}, {1});
}

}  // namespace garner::python

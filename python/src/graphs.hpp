// A graph as Python holds it: shared with the searches that run on it, exchanged when it is brought elsewhere.
#pragma once
#include <functional>
#include <memory>

#include "common.hpp"
#include "garner/shared.hpp"

namespace garner::python {

class py_graph {
 public:
  explicit py_graph(graph_handle&& g) : handle_(std::make_shared<graph_handle>(std::move(g))) {}
  explicit py_graph(std::shared_ptr<graph_handle> g) : handle_(std::move(g)) {}  // of an owner of more
  py_graph(graph_handle&& g, shared_table in) : py_graph(std::move(g)) { lies_in = std::move(in); }
  // Whoever works on it holds this meanwhile. All copies are made under the interpreter's lock.
  std::shared_ptr<graph_handle> use() const;
  // The same with the in-edges of a directed graph, which are made once where it has none; unless `wanted` is false.
  std::shared_ptr<graph_handle> use_in_lists(bool wanted = true);
  bool in_use() const;  // by somebody else
  // The graph becomes what work() makes of it; refused while somebody else holds it. Where work() throws, it is what work() left of it.
  void replace(char const* what, std::function<graph_handle(graph_handle&&)> const& work);

  std::optional<build_report> report;
  nb::object names = nb::none();        // of renumbered ids
  std::optional<shared_table> lies_in;  // whose memory its arrays are; a device reads them once that is mapped for it

 private:
  std::shared_ptr<graph_handle> handle_;
  std::weak_ptr<graph_handle> shared_;  // what it was before its in-edges were made, and shares arrays with
  turns making_;                        // its in-edges
};

// Edges in arrays of Python, copied. Weights become u32 of whole numbers, f32 of others.
struct given_edges {
  std::vector<edge> edges;
  std::vector<std::uint32_t> whole;
  std::vector<float> real;
  void take(nb::handle source, nb::handle target);
  void take_weights(nb::handle weights, std::size_t count);  // None: none
  edge_array seen(std::uint64_t vertices) const { return {edges, whole, real, vertices}; }
};
// The keywords of garner.build, read, generate and of graph files that are written in parts.
build_options build_options_of(keywords& given);

// The graph of a call's keywords; TypeError for another object.
py_graph& graph_in(keywords& given, char const* call);
std::string path_of(nb::handle file);  // str, bytes or PathLike
// The keywords of garner.open and garner.open_hetero.
open_options open_options_of(char const* function, nb::kwargs const& options);

}  // namespace garner::python

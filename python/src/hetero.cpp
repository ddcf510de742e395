// Graphs of several types, as a dataset file binds them: names, counts, where arrays lie, and the lists of each edge type as a Graph.
#include <nanobind/stl/vector.h>

#include "garner/hetero.hpp"
#include "graphs.hpp"

namespace garner::python {

namespace {

using optional_path = std::optional<std::filesystem::path>;

nb::object path_text(std::filesystem::path const& path) {
  std::string const& bytes = path.native();
  PyObject* const text = PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  if (!text) throw nb::python_error();
  return nb::steal(text);
}
template <auto Member, class T>
auto path_in() {
  return [](T const& of) { return of.*Member ? path_text(*(of.*Member)) : nb::object(nb::none()); };
}

struct py_hetero {
  std::shared_ptr<hetero_graph> held;

  std::size_t edge(nb::handle which) const {
    if (nb::isinstance<nb::tuple>(which) && nb::len(which) == 3) {
      std::string name[3];
      bool all = true;
      for (std::size_t i = 0; i < 3; ++i) all = all && nb::try_cast(nb::object(which[i]), name[i]);
      if (all) return held->edge(name[0], name[1], name[2]);
    }
    std::size_t k = 0;
    if (!nb::try_cast(nb::borrow(which), k))
      refuse(errc::usage, std::string("adjacency(): ") + shown(which) + ": use (from, relation, to), or a position in edge_types");
    return k;
  }
  py_graph lists(nb::handle which) const {
    std::size_t const k = edge(which);
    return py_graph(std::shared_ptr<graph_handle>(held, &held->adjacency(k)));  // keeps all of it
  }
};

py_hetero open(nb::object file, nb::kwargs options) {
  std::string const path = path_of(file);
  open_options const o = open_options_of("open_hetero", options);
  return {released([&] { return std::make_shared<hetero_graph>(hetero_graph::open(path, o)); })};
}

}  // namespace

void add_hetero(nb::module_& m) {
#define OPTIONAL_PATH(type, name, told) \
  .def_prop_ro(#name, path_in<&type::name, type>(), nb::sig("def " #name "(self) -> str | None"), told)
  nb::class_<vertex_type>(m, "NodeType", "A type of nodes: its name, how many there are, and where their arrays lie (None: nowhere).")
      .def_ro("name", &vertex_type::name)
      .def_ro("count", &vertex_type::count) OPTIONAL_PATH(vertex_type, features, "an .npy, a row per node")  //
      OPTIONAL_PATH(vertex_type, labels, "an .npy, a row per node")                                          //
      OPTIONAL_PATH(vertex_type, times, "an .npy of int64, one per node")                                    //
      OPTIONAL_PATH(vertex_type, train, "an .npy of int64: training nodes")                                  //
      OPTIONAL_PATH(vertex_type, valid, "an .npy of int64")                                                  //
      OPTIONAL_PATH(vertex_type, test, "an .npy of int64")                                                   //
      OPTIONAL_PATH(vertex_type, names, "the file of the names of its nodes, for garner.read_names")         //
      .def("__repr__", [](vertex_type const& t) { return "<garner.NodeType " + t.name + ": " + std::to_string(t.count) + " nodes>"; });
  nb::class_<edge_type>(m, "EdgeType",
                        "A type of edges: a triple of names, how many there are, and where their arrays lie (None: nowhere).")
      .def_prop_ro(
          "key", [](edge_type const& e) { return nb::make_tuple(e.from, e.relation, e.to); },
          nb::sig("def key(self) -> tuple[str, str, str]"), "(from, relation, to), as HeteroData names it")
      .def_prop_ro(
          "file", [](edge_type const& e) { return e.adjacency.empty() ? nb::object(nb::none()) : path_text(e.adjacency); },
          nb::sig("def file(self) -> str | None"), "the graph file of its adjacency")
      .def_ro("stored_edges", &edge_type::stored_edges, "entries of the adjacency")
      .def_ro("num_edges", &edge_type::edges, "in the data set: rows of features")
          OPTIONAL_PATH(edge_type, edge_ids, "an .npy of int64: which edge each entry of the adjacency is; None: entry k is edge k")  //
      OPTIONAL_PATH(edge_type, times, "an .npy of int64, one per entry")                                                              //
      OPTIONAL_PATH(edge_type, features, "an .npy, a row per edge")                                                                   //
      .def("__repr__", [](edge_type const& e) {
        return "<garner.EdgeType " + e.from + " " + e.relation + " " + e.to + ": " + std::to_string(e.stored_edges) + " edges>";
      });
#undef OPTIONAL_PATH
  nb::class_<py_hetero>(
      m, "HeteroGraph",
      "A graph of several types of nodes and edges, made by open_hetero. In the adjacency of an edge type (from, relation,\n"
      "to) row v is a node of type `to`, and holds its neighbors of type `from`, as a CSC of PyG.")
      .def("_repr_html_", [](nb::handle_t<py_hetero> g) { return in_notebook("of_hetero", g); })
      .def_prop_ro(
          "name", [](py_hetero const& g) { return path_text(g.held->name()); }, nb::sig("def name(self) -> str"),
          "of its dataset file, as messages call it")
      .def_prop_ro("node_types", [](py_hetero const& g) { return g.held->types(); })
      .def_prop_ro("edge_types", [](py_hetero const& g) { return g.held->edges(); })
      .def("adjacency", &py_hetero::lists, nb::arg("edge_type"),
           nb::sig("def adjacency(self, edge_type: tuple[str, str, str] | int) -> Graph"),
           "The adjacency of an edge type, by its key or its position in edge_types. Samplers read its rows, with either side; algorithms "
           "take\n"
           "the graph that garner.open makes of its file. It is not copied, and stays where it is while this\n"
           "HeteroGraph lives: its to() and reorder() are refused. It has as many rows as the larger of both types; those behind the last\n"
           "node of type `to` are empty. Errors: InputError names the keys that there are.")
      .def("__repr__", [](py_hetero const& g) {
        return "<garner.HeteroGraph " + g.held->name() + ": " + std::to_string(g.held->types().size()) + " node types, " +
               std::to_string(g.held->edges().size()) + " edge types>";
      });
  m.def("open_hetero", &open, nb::arg("file"), nb::arg("options"),
        nb::sig("def open_hetero(file: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, device: object = 'cpu', edges: str | None = "
                "None, weights: bool | None = None, in_edges: bool | None = None, check: bool = True) -> HeteroGraph"),
        "Opens a dataset file, as the program's `convert FOLDER NAME.json` makes it of OGB's, MAG240M's and IGB's folders.\n"
        "\n"
        "device, edges, weights, in_edges, check: of every edge type, as of open()\n"
        "Errors: FileError, InputError (it names the dataset file, the key and the file), OutOfMemory.");
}

}  // namespace garner::python

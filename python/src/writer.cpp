// A graph file of edges that arrive in parts, with or without names. garner/edges.py reads the parts.
#include <optional>

#include <nanobind/stl/vector.h>

#include "garner/hetero.hpp"
#include "graphs.hpp"

namespace garner::python {

namespace {

template <class T>
T const* values_of(array const& a) {
  return static_cast<T const*>(a.data());
}

// (bytes, offsets or None, width, codes or None): what name_column has, as arrays of NumPy.
struct given_names {
  array bytes, offsets, codes;
  name_column seen;
  explicit given_names(nb::tuple const& from) {
    bytes = host_array(from[0], "bytes of names");
    seen.bytes = values_of<char>(bytes);
    seen.width = nb::cast<std::uint32_t>(from[2]);
    if (!from[1].is_none()) {
      offsets = host_array(from[1], "offsets of names");
      seen.offsets = offsets.data();
      seen.offset_bytes = offsets.dtype().bits / 8;
      seen.values = offsets.shape(0) - 1;
    } else {
      seen.values = bytes.shape(0) / seen.width;
    }
    seen.rows = seen.values;
    if (from[3].is_none()) return;
    codes = host_array(from[3], "codes of names");
    seen.codes = values_of<std::uint32_t>(codes);
    seen.rows = codes.shape(0);
  }
};

// The offsets (count + 1) and the bytes of the names from `first` on.
template <class From>
nb::tuple names_of(From& from, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> ends{0};
  std::string bytes;
  released([&] { return from.read_names(first, count, ends, bytes), 0; });
  return nb::make_tuple(to_numpy(std::vector<std::int64_t>(ends.begin(), ends.end())), nb::bytes(bytes.data(), bytes.size()));
}

class py_names {
 public:
  py_names(std::string const& source, nb::object scratch, std::uint64_t memory_limit) {
    std::string const in = path_of(scratch);
    to_.emplace(released([&] { return name_numbers(in, source, memory_limit); }));
  }
  nb::object number(nb::tuple column) {
    given_names const from(column);
    std::vector<std::uint64_t> found(from.seen.rows);
    released([&] { return to_->number(from.seen, found.data()), 0; });
    return nb::cast(to_numpy(std::vector<std::int64_t>(found.begin(), found.end())));
  }
  std::uint64_t names() const { return to_->names(); }
  std::uint64_t digest() const { return to_->digest(); }
  nb::tuple read_names(std::uint64_t first, std::uint64_t count) { return names_of(*to_, first, count); }

 private:
  std::optional<name_numbers> to_;
};

class py_writer {
 public:
  py_writer(nb::object file, std::string const& source, nb::object scratch, nb::kwargs options) {
    keywords given("convert", options);
    build_options const o = build_options_of(given);
    given.done();
    std::string const to = path_of(file), in = scratch.is_none() ? std::string() : path_of(scratch);
    to_.emplace(released([&] { return graph_writer(to, source, in, o); }));
  }
  void add(nb::object source, nb::object target, nb::object weights) {
    part_.take(source, target);
    part_.take_weights(weights, part_.edges.size());
    released([&] { return to_->add(part_.seen(0)), 0; });
  }
  void add_names(nb::tuple source, nb::tuple target, nb::object weights) {
    given_names const from(source), to(target);
    part_.edges.clear();
    part_.take_weights(weights, from.seen.rows);
    released([&] { return to_->add(from.seen, to.seen, part_.seen(0)), 0; });
  }
  void rest() {
    released([&] { return to_->rest(), 0; });
  }
  graph_info finish(std::uint64_t vertices, bool reversed) {
    return released([&] { return to_->finish(nullptr, vertices, reversed); });
  }
  std::uint64_t names() const { return to_->names(); }
  nb::tuple read_names(std::uint64_t first, std::uint64_t count) { return names_of(*to_, first, count); }

 private:
  std::optional<graph_writer> to_;
  given_edges part_;
};

graph_info convert(nb::object from, nb::object to, nb::kwargs options) {
  keywords given("convert", options);
  build_options const o = build_options_of(given);
  given.done();
  std::string const in = path_of(from), out = path_of(to);
  return released([&] { return convert_graph(in, out, o); });
}
std::vector<std::string> convert_folder(nb::object from, nb::object to, bool undirected, std::uint32_t id_bytes) {
  std::string const in = path_of(from), out = path_of(to);
  return released([&] { return convert_hetero(in, out, {.undirected = undirected, .id_bytes = id_bytes}).notes; });
}

}  // namespace

void add_writer(nb::module_& m) {
  m.def(
      "_convert_rows",
      [](nb::object in, nb::object out) {
        std::string const from = path_of(in), to = path_of(out);
        released([&] { return convert_rows(from, to, {}).rows; });
      },
      nb::arg("source"), nb::arg("file"), nb::sig("def _convert_rows(source: object, file: object) -> None"),
      "Rows of an .npy or feature file as the other.");
  m.def("_convert", &convert, nb::arg("source"), nb::arg("file"), nb::arg("options"),
        nb::sig("def _convert(source: object, file: object, **options: object) -> GraphInfo"),
        "garner.convert of a file that is not a table.");
  m.def("_convert_folder", &convert_folder, nb::arg("folder"), nb::arg("file"), nb::arg("undirected"), nb::arg("id_bytes"),
        "garner.convert of the folder of a data set; its notes.");
  nb::class_<py_writer>(m, "_GraphWriter", "A graph file of edges that arrive in parts; see graph_writer in garner/handle.hpp.")
      .def(nb::init<nb::object, std::string const&, nb::object, nb::kwargs>(), nb::arg("file"), nb::arg("source"),
           nb::arg("scratch").none(), nb::arg("options"),
           nb::sig("def __init__(self, file: object, source: str, scratch: object, **options: object) -> None"))
      .def("add", &py_writer::add, nb::arg("source"), nb::arg("target"), nb::arg("weights").none(),
           nb::sig("def add(self, source: object, target: object, weights: object) -> None"))
      .def("add_names", &py_writer::add_names, nb::arg("source"), nb::arg("target"), nb::arg("weights").none(),
           nb::sig("def add_names(self, source: tuple[object, object, int, object], target: tuple[object, object, int, object], weights: "
                   "object) "
                   "-> None"))
      .def("rest", &py_writer::rest)
      .def("finish", &py_writer::finish, nb::arg("num_nodes") = 0, nb::arg("reversed") = false)
      .def_prop_ro("names", &py_writer::names)
      .def("read_names", &py_writer::read_names, nb::arg("first"), nb::arg("count"),
           nb::sig("def read_names(self, first: int, count: int) -> tuple[numpy.typing.NDArray[numpy.int64], bytes]"));
  nb::class_<py_names>(m, "_NameNumbers", "Numbers names in the order of their first appearance; see name_numbers in garner/handle.hpp.")
      .def(nb::init<std::string const&, nb::object, std::uint64_t>(), nb::arg("source"), nb::arg("scratch"), nb::arg("memory_limit"))
      .def("number", &py_names::number, nb::arg("column"),
           nb::sig("def number(self, column: tuple[object, object, int, object]) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("names", &py_names::names)
      .def_prop_ro("digest", &py_names::digest)
      .def("read_names", &py_names::read_names, nb::arg("first"), nb::arg("count"),
           nb::sig("def read_names(self, first: int, count: int) -> tuple[numpy.typing.NDArray[numpy.int64], bytes]"));
}

}  // namespace garner::python

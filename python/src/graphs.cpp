// Graphs: opened, read, built from arrays, generated; described, brought to a device, reordered, saved.
#include "blocks.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace garner::python {

open_options open_options_of(char const* function, nb::kwargs const& options) {
  open_options o;
  keywords given(function, options);
  given.take("device", o.device);
  given.take("edges", o.edges);
  given.take("weights", o.weights);
  given.take("in_edges", o.in_edges);
  given.take("check", o.check);
  given.done();
  return o;
}

namespace {

std::map<std::string, vertex_order> const orders{{"natural", vertex_order::natural},
                                                 {"degree", vertex_order::degree},
                                                 {"bfs", vertex_order::bfs},
                                                 {"random", vertex_order::random},
                                                 {"score", vertex_order::score}};
std::map<std::string, generator> const generators{{"kron", generator::kron}, {"uniform", generator::uniform}, {"web", generator::web}};
std::map<std::string, build_options::ids> const numberings{
    {"automatic", build_options::ids::automatic}, {"keep", build_options::ids::keep}, {"compact", build_options::ids::compact}};

template <class Enum>
std::string name_in(std::map<std::string, Enum> const& names, Enum value) {
  for (auto const& [name, meaning] : names)
    if (meaning == value) return name;
  return "?";
}

std::string name_of(weight_kind k) { return k == weight_kind::none ? "none" : k == weight_kind::u32 ? "u32" : "f32"; }

// (low, high): whole numbers draw u32 weights, anything else f32.
std::optional<build_options::weight_options> drawn(nb::object const& range, std::uint64_t seed) {
  if (!range.is_valid() || range.is_none()) return std::nullopt;
  std::pair<double, double> ends;
  if (!nb::try_cast(range, ends)) refuse(errc::usage, std::string("random_weights ") + shown(range) + ": use (low, high), as (1, 255)");
  bool const whole = nb::isinstance<nb::int_>(nb::object(range[0])) && nb::isinstance<nb::int_>(nb::object(range[1]));
  bool const sound = 0 <= ends.first && ends.first <= ends.second && std::isfinite(ends.second) && (!whole || ends.second <= 4294967295.0);
  if (!sound) refuse(errc::usage, std::string("random_weights ") + shown(range) + ": use (low, high) with 0 <= low <= high");
  return build_options::weight_options{whole ? weight_kind::u32 : weight_kind::f32, ends.first, ends.second, seed};
}

}  // namespace

build_options build_options_of(keywords& given) {
  build_options o;
  given.take("undirected", o.undirected);
  given.take("keep_duplicates", o.keep_duplicates);
  given.take("keep_loops", o.keep_loops);
  given.take("in_edges", o.in_edges);
  given.choose("numbering", o.numbering, numberings);
  given.take("id_bytes", o.id_bytes);
  if (o.id_bytes != 0 && o.id_bytes != 4 && o.id_bytes != 8)
    refuse(errc::usage, "id_bytes " + std::to_string(o.id_bytes) + ": use 4 or 8, or 0 for what fits");
  nb::object range;
  std::uint64_t seed = 1;
  given.take("random_weights", range);
  given.take("weight_seed", seed);
  o.random_weights = drawn(range, seed);
  given.take_bytes("memory_limit", o.memory_limit);
  return o;
}

namespace {

py_graph open(nb::object file, nb::kwargs options) {
  std::string const path = path_of(file);
  open_options const o = open_options_of("open", options);
  return py_graph(released([&] { return open_graph(path, o); }));
}

py_graph read(nb::object file, nb::kwargs options) {
  std::string const path = path_of(file);
  keywords given("read", options);
  build_options const o = build_options_of(given);
  given.done();
  build_report report;
  py_graph g(released([&] { return read_graph(path, o, &report); }));
  g.report = report;
  return g;
}

// Weights as Garner keeps them: u32 of whole numbers, f32 of others, of which none becomes 0 or infinite by that.
void read_weights(nb::handle from, std::vector<std::uint32_t>& whole, std::vector<float>& real, std::vector<edge> const& edges) {
  nb::object given = checked("host", from, "weights");
  int const bytes = nb::cast<int>(given.attr("itemsize"));
  if (nb::cast<std::string>(given.attr("dtype").attr("kind")) == "f" && bytes != 4 && bytes != 8) given = given.attr("astype")("float64");
  array const a = host_array(given, "weights");
  nb::dlpack::dtype const t = a.dtype();
  if (a.ndim() != 1) refuse(errc::usage, "weights: has " + std::to_string(a.ndim()) + " dimensions; give one");
  if (t.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && (t.bits == 32 || t.bits == 64)) {
    real.resize(a.shape(0));
    std::int64_t const stride = a.stride(0);
    for (std::size_t i = 0; i < real.size(); ++i) {
      std::int64_t const at = static_cast<std::int64_t>(i) * stride;
      double const weight =
          t.bits == 32 ? static_cast<double>(static_cast<float const*>(a.data())[at]) : static_cast<double const*>(a.data())[at];
      real[i] = static_cast<float>(weight);
      if ((real[i] == 0 && weight != 0) || (std::isinf(real[i]) && std::isfinite(weight))) {
        std::string const ends =
            i < edges.size() ? std::to_string(edges[i].source) + " -> " + std::to_string(edges[i].target) : "of no edge";
        char said[32];
        std::snprintf(said, sizeof said, "%.9g", weight);
        refuse(errc::input, "edge " + std::to_string(i) + ": " + ends + ": its weight is " + said +
                                "; weights are 32-bit floats, which hold 0 and 1.4e-45 to 3.4e38: multiply all weights by one number");
      }
    }
    return;
  }
  checked("real", given, "weights");
  std::vector<std::uint64_t> wide(whole_numbers(from, "weights").shape(0));
  write_ids(a, "weights", wide.data());
  whole.resize(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] > std::numeric_limits<std::uint32_t>::max())
      refuse(errc::input,
             "weights[" + std::to_string(i) + "] is " + std::to_string(wide[i]) + "; whole weights end at 4294967295, cast them to float");
    whole[i] = static_cast<std::uint32_t>(wide[i]);
  }
}

}  // namespace

void given_edges::take(nb::handle source, nb::handle target) {
  array const from = whole_numbers(source, "source"), to = whole_numbers(target, "target");
  if (from.shape(0) != to.shape(0))
    refuse(errc::usage, std::to_string(from.shape(0)) + " sources for " + std::to_string(to.shape(0)) + " targets; give each edge both");
  edges.resize(from.shape(0));
  static_assert(sizeof(edge) == 2 * sizeof(std::uint64_t));
  if (edges.empty()) return;
  write_ids(from, "source", &edges[0].source, 2);
  write_ids(to, "target", &edges[0].target, 2);
}
void given_edges::take_weights(nb::handle weights, std::size_t count) {
  whole.clear(), real.clear();
  if (weights.is_none()) return;
  read_weights(weights, whole, real, edges);
  if (std::size_t const n = std::max(whole.size(), real.size()); n != count)
    refuse(errc::usage, std::to_string(n) + " weights for " + std::to_string(count) + " edges; give each edge one");
}

namespace {

// garner/graphs.py makes arrays of what it is given.
py_graph build(nb::object source, nb::object target, nb::object weights, std::optional<std::uint64_t> vertices, nb::kwargs options) {
  keywords given("build", options);
  build_options const o = build_options_of(given);
  given.done();
  given_edges all;
  all.take(source, target);
  if (vertices)
    for (std::size_t i = 0; i < all.edges.size(); ++i)
      if (auto const& [u, v] = all.edges[i]; std::max(u, v) >= *vertices)
        throw id_error("edge " + std::to_string(i) + ": " + std::to_string(u) + " -> " + std::to_string(v) + ": of " +
                       std::to_string(*vertices) + " vertices the ids end at " + std::to_string(std::max<std::uint64_t>(*vertices, 1) - 1) +
                       "; use more vertices, or leave the number out");
  all.take_weights(weights, all.edges.size());
  build_report report;
  py_graph g(released([&] { return build_graph(all.seen(vertices.value_or(0)), o, &report); }));
  g.report = report;
  return g;
}

// What keeps lists alive: the graph itself, and copies where they were made.
struct held_lists {
  std::shared_ptr<graph_handle> graph;
  adjacency_arrays lists;
};

template <class T>
nb::object part_of(nb::capsule const& held, void const* data, std::uint64_t n) {
  return nb::cast(nb::ndarray<nb::numpy, T const, nb::ndim<1>, nb::c_contig>(static_cast<T const*>(data), {n}, held));
}

// 4 bytes without a sign as int32 where all fit, which torch takes; else widened.
nb::object whole_part(nb::capsule const& held, void const* data, std::uint64_t n, bool fits) {
  if (fits) return part_of<std::int32_t>(held, data, n);
  auto const* const from = static_cast<std::uint32_t const*>(data);
  return nb::cast(to_numpy(std::vector<std::int64_t>(from, from + n)));
}

nb::tuple csr(py_graph const& g, std::string const& side) {
  if (side != "in" && side != "out") refuse(errc::usage, "side '" + side + "': use 'in' or 'out'");
  auto kept = std::make_unique<held_lists>();
  kept->graph = g.use();
  released([&] {
    kept->lists = adjacency_of(*kept->graph, side == "in" && !kept->graph->info().reversed);
    return 0;
  });
  adjacency_arrays const lists = kept->lists;
  graph_info const info = kept->graph->info();
  // A copy needs its graph no more: that may be moved.
  bool const own = lists.targets_copied && lists.offsets_copied && (lists.weights_copied || !lists.weights);
  if (own) kept->graph.reset();
  nb::capsule const held(kept.release(), [](void* p) noexcept { delete static_cast<held_lists*>(p); });
  nb::object const offsets = part_of<std::int64_t>(held, lists.offsets, info.vertices + 1);
  nb::object const targets = info.id_bytes == 8 ? part_of<std::int64_t>(held, lists.targets, info.edges)
                                                : whole_part(held, lists.targets, info.edges, info.vertices <= std::uint64_t{1} << 31);
  nb::object weights = nb::none();
  if (info.weights == weight_kind::f32) weights = part_of<float>(held, lists.weights, info.edges);
  if (info.weights == weight_kind::u32) {
    auto const* const w = static_cast<std::uint32_t const*>(lists.weights);
    bool const fit = released([&] { return std::all_of(w, w + info.edges, [](std::uint32_t x) { return x <= INT32_MAX; }); });
    weights = whole_part(held, w, info.edges, fit);
  }
  return nb::make_tuple(offsets, targets, weights);
}

// The ends of edges in an array that Garner reads as it lies.
edge_ends ends_of(array const& a, char const* name) {
  nb::dlpack::dtype const t = a.dtype();
  if (a.ndim() != 1 || t.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int) || (t.bits != 32 && t.bits != 64))
    refuse(errc::usage, std::string(name) + ": of " + kind_of(t) + "; give one dimension of int64 or int32");
  return {a.data(), a.shape(0), a.shape(0) ? a.stride(0) : 1, t.bits / 8u};
}

// (the graph, whether entry k is edge k, edges of the entries); what garner.pyg samples.
nb::tuple build_adjacency(nb::object source, nb::object target, std::uint64_t sources, std::uint64_t targets, nb::object weights,
                          bool backward, bool edge_ids, std::string const& name, nb::object times, bool times_of_edges,
                          nb::object sorted_at) {
  int64s const timed = int64s_of(times, "times", {});
  execution_device const where = place_of(sorted_at);
  array const from = host_array(source, "source"), to = host_array(target, "target");
  array kept;
  adjacency made = released([&, ends = std::pair(ends_of(from, "source"), ends_of(to, "target")), w = floats(weights, "weights", kept)] {
    return make_adjacency(ends.first, ends.second, {sources, targets, backward, edge_ids, w, name, timed.seen, times_of_edges, where});
  });
  std::uint64_t const m = made.graph.info().edges;
  nb::object ids = nb::none();
  if (made.edge_ids) {
    auto* const owner = new std::shared_ptr<void const>(made.owner);
    nb::capsule const held(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void const>*>(p); });
    void* const data = const_cast<void*>(made.edge_ids);  // nobody else has them
    if (made.edge_id_bytes == 8) ids = nb::cast(numpy_array<std::int64_t>(static_cast<std::int64_t*>(data), {m}, held));
    else ids = nb::cast(numpy_array<std::int32_t>(static_cast<std::int32_t*>(data), {m}, held));
  }
  return nb::make_tuple(py_graph(std::move(made.graph)), made.in_order, ids);
}

py_graph generate(std::string const& kind, int scale, std::uint64_t edge_factor, std::uint64_t seed, nb::kwargs options) {
  generate_options o;
  auto const found = generators.find(kind);
  if (found == generators.end()) refuse(errc::usage, "kind '" + kind + "': use one of kron, uniform, web");
  if (scale < 1 || scale > 31) refuse(errc::usage, "scale " + std::to_string(scale) + ": use 1 to 31");
  if (edge_factor < 1 || edge_factor > 4096) refuse(errc::usage, "edge_factor " + std::to_string(edge_factor) + ": use 1 to 4096");
  o.kind = found->second;
  o.scale = scale;
  o.edge_factor = edge_factor;
  o.seed = seed;
  execution_device where;
  keywords given("generate", options);
  given.take("device", where);
  o.build = build_options_of(given);
  given.done();
  if (where.kind == device_kind::simulated)
    refuse(errc::usage, "device is 'simulated'; generating a graph reads no remote data; use 'cpu' or 'cuda'");
  build_report report;
  py_graph g(released([&] { return generate_graph(o, where, &report); }));
  g.report = report;
  return g;
}

std::string describe(py_graph const& g) {
  graph_info const& i = g.use()->info();
  return "<garner.Graph " + g.use()->name() + ": " + std::to_string(i.vertices) + " vertices, " + std::to_string(i.edges) + " edges, " +
         (i.directed ? i.in_edges   ? "directed, with in-edges"
                       : i.reversed ? "directed, in-edges alone"
                                    : "directed"
                     : "undirected: each counts twice") +
         ", " + std::to_string(i.id_bytes) + "-byte ids, " +
         (i.weights == weight_kind::none ? "no weights" : name_of(i.weights) + " weights") + ">";
}

}  // namespace

py_graph& graph_in(keywords& given, char const* call) {
  nb::object const found = given.need("graph");
  if (!nb::isinstance<py_graph>(found))
    throw nb::type_error(
        (std::string(call) + "(): graph=" + shown(found) + " is not a Graph; make one with garner.build, open, read or generate").c_str());
  return nb::cast<py_graph&>(found);  // which the caller's arguments keep
}

std::string path_of(nb::handle file) {
  nb::object const text = nb::module_::import_("os").attr("fspath")(file);
  std::string path;
  if (nb::try_cast(text, path)) return path;
  nb::bytes const raw(nb::module_::import_("os").attr("fsencode")(text));
  return std::string(raw.c_str(), raw.size());
}

std::shared_ptr<graph_handle> py_graph::use() const {
  if (!handle_) refuse(errc::usage, "this graph is being moved, or was lost when moving it failed; open or build it again");
  return handle_;
}

std::shared_ptr<graph_handle> py_graph::use_in_lists(bool wanted) {
  turn const mine(making_);
  if (graph_info const& i = use()->info(); wanted && i.directed && !i.in_edges && i.edges) {
    if (in_use()) {
      shared_ = handle_;
      handle_ = std::make_shared<graph_handle>(released([held = use()] { return make_in_edges(held); }));
    } else {
      replace("its in-edges are made", [](graph_handle&& g) { return make_in_edges(std::move(g)); });
    }
  }
  return use();
}

bool py_graph::in_use() const {  // this one and the graph's own; the arrays' of what it was
  return use().use_count() > 2 || shared_.use_count() > 1;
}

void py_graph::replace(char const* what, std::function<graph_handle(graph_handle&&)> const& work) {
  if (in_use())
    refuse(errc::usage,
           std::string("the graph is in use by a training, a loader, a search or another thread; delete or finish it before ") + what);
  graph_handle taken = std::move(*handle_);
  handle_.reset();  // a thread that uses the graph meanwhile gets an error
  try {
    graph_handle done = released([&] { return work(std::move(taken)); });
    handle_ = std::make_shared<graph_handle>(std::move(done));
  } catch (...) {
    if (taken) handle_ = std::make_shared<graph_handle>(std::move(taken));
    throw;
  }
}

#define BUILD_OPTIONS                                                                                                          \
  "undirected: bool | None = None, keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, "          \
  "numbering: str = 'automatic', id_bytes: int = 0, random_weights: tuple[float, float] | None = None, weight_seed: int = 1, " \
  "memory_limit: int | str | None = None"
#define BUILD_OPTIONS_TOLD                                                                                         \
  "\n"                                                                                                             \
  "undirected: each edge in both directions; None: as the format says, else directed\n"                            \
  "keep_duplicates: else of equal edges the one with the smallest weight stays; keep_loops\n"                      \
  "in_edges: also the in-edges of a directed graph (CSC); else they are made at their first use\n"                 \
  "numbering: 'automatic', 'keep' (gaps become isolated nodes) or 'compact'; id_bytes: 4, 8, or 0 for what fits\n" \
  "random_weights: (low, high), whole numbers for u32 weights, else f32, random by weight_seed\n"                  \
  "memory_limit: most bytes of host memory to take, as \"8GiB\"\n"                                                 \
  "Errors: InputError for an edge that cannot be (it is named), UsageError, OutOfMemory, FileError, Interrupted."

void add_graphs(nb::module_& m) {
  nb::class_<graph_info>(m, "GraphInfo", "What one knows of a graph without its arrays.")
      .def("__repr__", [](nb::handle_t<graph_info> i) { return in_notebook("described", i); })
      .def_ro("num_nodes", &graph_info::vertices)
      .def_ro("num_edges", &graph_info::edges, "stored: an undirected edge counts twice")
      .def_ro("id_bytes", &graph_info::id_bytes, "4 or 8: bytes of one entry of the edge list")
      .def_prop_ro(
          "weights", [](graph_info const& i) { return name_of(i.weights); }, "'none', 'u32' or 'f32'")
      .def_ro("directed", &graph_info::directed)
      .def_ro("in_edges", &graph_info::in_edges, "a directed graph that also holds its in-edges (CSC)")
      .def_ro("reversed", &graph_info::reversed, "rows hold in-edges, as HeteroGraph.adjacency() has them")
      .def_ro("id_map", &graph_info::id_map, "internal ids differ from the user's by a table")
      .def_ro("id_base", &graph_info::id_base, "user id = internal id + id_base, unless there is a table")
      .def_prop_ro(
          "order", [](graph_info const& i) { return name_in(orders, i.order); }, "'natural', 'degree', 'bfs', 'random' or 'score'")
      .def_ro("compressed", &graph_info::compressed, "targets and weights are compressed")
      .def_ro("names_digest", &graph_info::names_digest, "of the names of its nodes, for garner.read_names; 0: they have none");

  nb::class_<build_report>(m, "BuildReport", "What happened on the way from edges to a graph.")
      .def("__repr__", [](nb::handle_t<build_report> r) { return in_notebook("described", r); })
      .def_ro("edges_read", &build_report::edges_read)
      .def_ro("loops_dropped", &build_report::loops_dropped)
      .def_ro("loops_kept", &build_report::loops_kept)
      .def_ro("duplicates_dropped", &build_report::duplicates_dropped)
      .def_ro("isolated", &build_report::isolated, "nodes without any edge")
      .def_ro("compacted", &build_report::compacted)
      .def_ro("bytes_needed", &build_report::bytes_needed, "host memory at the peak, predicted before it started");

  nb::class_<py_graph>(m, "Graph",
                       "A graph in memory: CSR, its offsets in host memory, its edges in a tier. Made by open, read, build and generate.\n"
                       "Vertices are named by the user's ids; entry k of every result belongs to the node ids()[k].")
      .def_prop_ro("info", [](py_graph const& g) { return g.use()->info(); })
      .def_prop_ro(
          "name", [](py_graph const& g) { return g.use()->name(); }, "of its file, as messages call it")
      .def_ro("report", &py_graph::report, "what was dropped while it was built; None where it was opened")
      .def_rw("names", &py_graph::names, nb::for_getter(nb::sig("def names(self) -> Any")),
              nb::for_setter(nb::sig("def names(self, value: Any, /) -> None")), nb::for_setter(nb::arg("value").none()),
              "ids that garner.read_edges renumbered: entry k belongs to node k; else None")
      .def("__len__", [](py_graph const& g) { return g.use()->info().vertices; })
      .def("__repr__", &describe)
      .def("_repr_html_", [](nb::handle_t<py_graph> g) { return in_notebook("of_graph", g); })
      .def(
          "ids",
          [](py_graph const& g) {
            auto const held = g.use();
            return to_int64(released([&] { return held->ids(); }), "id");
          },
          "All nodes by the user's ids, ascending. Shape: (nodes,), int64.")
      .def("csr", &csr, nb::arg("side") = "out",
           nb::sig("def csr(self, side: str = 'out') -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32] | "
                   "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64] | "
                   "numpy.typing.NDArray[numpy.float32] | None]"),
           "The adjacency as arrays (offsets, targets, weights or None), as scipy.sparse.csr_array((weights, targets, offsets)) "
           "takes\n"
           "them: row k is the node ids()[k], and so is target k. Read only. Not copied where they lie plain in host memory in the order\n"
           "of ids(); the graph stays there as long as such arrays live. Compressed adjacency, that on a device and that of a reordered "
           "graph "
           "are\n"
           "copied. Targets are int32 where they fit, weights int32, int64 or float32. An undirected edge stands twice. side='in': the "
           "sources\n"
           "of in-edges instead of targets. Errors: InputError where a directed graph has no in-edges; make_in_edges() makes them.")
      .def(
          "position", [](py_graph const& g, nb::object id) { return g.use()->position(id_of(id, "vertex")); }, nb::arg("id"),
          nb::sig("def position(self, id: int) -> int"),
          "The k with ids()[k] == id: where this node stands in every result. Errors: IdError for an id that does not exist.")
      .def(
          "save",
          [](py_graph const& g, nb::object file) {
            std::string const path = path_of(file);
            auto const held = g.use();
            std::uint64_t const digest = !g.names.is_none() && path.ends_with(".gnr") ? held->info().names_digest : 0;
            nb::object const names = nb::module_::import_("garner.names");
            nb::object const column = digest ? names.attr("checked")(path, g.names, digest) : nb::none();
            std::vector<std::string> const lost = released([&] { return save_graph(*held, path); });
            if (digest) names.attr("write")(path, column, digest);
            return lost;
          },
          nb::arg("file"), nb::sig("def save(self, file: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> list[str]"),
          "Writes the graph, whole or not at all: a graph file (.gnr) keeps everything, other endings are those of `garner convert`.\n"
          "Returns what the format could not keep. Errors: FileError, UsageError where such a file is not written.")
      .def(
          "to",
          [](nb::object self, nb::object where, std::optional<std::string> edges) {
            execution_device const to = place_of(where);
            std::optional<tier> const t = edges ? std::optional(parse_tier(*edges)) : std::nullopt;
            auto& g = nb::cast<py_graph&>(self);
            if (g.in_use() && readable_by(*g.use(), to, t)) return self;
            if (g.lies_in && to.kind == device_kind::cuda) released([&] { return g.lies_in->map_for(to.index); });
            g.replace("to()", [&](graph_handle&& from) { return to_device(std::move(from), to, t); });
            return self;
          },
          nb::arg("device"), nb::arg("edges") = nb::none(), nb::sig("def to(self, device: object, edges: str | None = None) -> Graph"),
          "Makes the graph readable for a device (edges 'host', 'device' or 'managed'; None: as garner.open), or for 'cpu' again.\n"
          "In place, and returns it. Errors: UsageError while a search or a loader holds it, unless it can be read there as it lies;\n"
          "where moving fails the graph stays as it was.")
      .def(
          "make_in_edges",
          [](nb::object self) {
            nb::cast<py_graph&>(self).use_in_lists();
            return self;
          },
          nb::sig("def make_in_edges(self) -> Graph"),
          "Makes the in-edges of a directed graph that has none (info.in_edges), as sampling along them, PageRank and training do at "
          "their\n"
          "first use. In place, and returns it; a save() has them. Takes as much memory as the edges that there are.\n"
          "Errors: InputError where its edges stay in a file.")
      .def(
          "reorder",
          [](nb::object self, std::string const& by, std::uint64_t seed, nb::object scores) {
            auto const found = orders.find(by);
            if (found == orders.end()) refuse(errc::usage, "by '" + by + "': use one of bfs, degree, natural, random, score");
            if ((found->second == vertex_order::score) == scores.is_none())
              refuse(errc::usage,
                     "reorder: by='score' and scores= go together; pass both, with one score per node as garner.score returns them");
            array kept;
            std::span<float const> const given = floats(scores, "scores", kept);
            nb::cast<py_graph&>(self).replace("reorder()", [&](graph_handle&& g) {
              return reorder_graph(std::move(g), {found->second, seed, given});
            });
            return self;
          },
          nb::arg("by") = "degree", nb::arg("seed") = 1, nb::arg("scores") = nb::none(),
          nb::sig("def reorder(self, by: str = 'degree', seed: int = 1, scores: object = None) -> Graph"),
          "Lays the nodes in another order inside ('degree', 'bfs', 'random', 'score'; 'natural' again); ids and results stay the "
          "user's.\n"
          "scores: 'score': shape (nodes,), float32, as garner.score gives them: the highest first.\n"
          "In place, and returns it; edges lie in host memory afterwards. Errors: as of to().")
      .def(
          "digest",
          [](py_graph const& g) {
            auto const held = g.use();
            return released([&] { return digest_of(*held); });
          },
          "A number that two graphs have in common where ids, edges, weights and their order are the same, wherever they lie: as "
          "processes\n"
          "compare what they opened. A pass over the edges.")
      .def(
          "pick_sources",
          [](py_graph const& g, std::uint64_t count, std::uint64_t seed) {
            auto const held = g.use();
            return to_int64(released([&] { return pick_sources(*held, count, seed); }), "id");
          },
          nb::arg("count"), nb::arg("seed") = 1,
          "Vertices with edges that leave them, a pure function of graph, count and seed; may repeat. Shape: (count,), int64; empty "
          "where\n"
          "no node has edges.");

  m.def("open", &open, nb::arg("file"), nb::arg("options"),
        nb::sig("def open(file: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, device: object = 'cpu', edges: str | None = None, "
                "weights: bool | None = None, "
                "in_edges: bool | None = None, check: bool = True) -> Graph"),
        "Opens a graph file (.gnr), or makes a graph in memory: 'kron:20', 'uniform:22:32', 'web:18' (KIND:SCALE or "
        "KIND:SCALE:EDGE_FACTOR).\n"
        "\n"
        "device: that will run the algorithms: 'cpu', 'cuda', 'cuda:1', 'simulated'\n"
        "edges: memory tier of the edges: 'host' (mapped for the device), 'device', 'managed', 'file' (left there); None: 'device' where\n"
        "  they and the state of an algorithm fit, else 'host'\n"
        "weights, in_edges: None: where the file has them; True: InputError where it has no weights, in-edges are made\n"
        "  (a file of a dataset holds in-edges alone, whose out-edges are made: twice the memory)\n"
        "check: the checksums; offsets and targets are checked in any case\n"
        "Errors: FileError where it cannot be read, InputError where it is damaged, OutOfMemory.");
  m.def("read", &read, nb::arg("file"), nb::arg("options"),
        nb::sig("def read(file: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, " BUILD_OPTIONS ") -> Graph"),
        "Reads a file of any other format that `garner convert` reads, by its ending (.el .wel .csv .txt .tsv .edgelist .edges\n"
        ".mtx .gr .col .graph .sg .wsg .bel .v .e, plain, .gz or .zst, .npy .npz).\n" BUILD_OPTIONS_TOLD);
  m.def("_build", &build, nb::arg("source"), nb::arg("target"), nb::arg("weights").none(), nb::arg("num_nodes").none(), nb::arg("options"),
        nb::sig("def _build(source: object, target: object, weights: object, num_nodes: int | None, **options: object) -> Graph"),
        "garner.build, of arrays.");
  m.def("_adjacency", &build_adjacency, nb::arg("source"), nb::arg("target"), nb::arg("sources"), nb::arg("targets"),
        nb::arg("weights").none(), nb::arg("backward"), nb::arg("edge_ids"), nb::arg("name"), nb::arg("times") = nb::none(),
        nb::arg("times_of_edges") = false, nb::arg("device") = "cpu",
        nb::sig("def _adjacency(source: object, target: object, sources: int, targets: int, weights: object, backward: bool, edge_ids: "
                "bool, name: str, times: object = None, times_of_edges: bool = False, device: object = 'cpu') -> tuple[Graph, bool, "
                "numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64] | None]"),
        "The neighbors of each target (backward: source) as out-edges, of edges as they lie; whether entry k is edge k; and where\n"
        "edge_ids is set and it is not, the edge of each entry: int32 whose bits are those of uint32, from 2^32 edges on int64. "
        "times: one an edge, or one a\n"
        "node of the type that is sampled: the neighbors of a node are in their order. device: that sorts them.");
  m.def("generate", &generate, nb::arg("kind") = "kron", nb::arg("scale") = 20, nb::arg("edge_factor") = 16, nb::arg("seed") = 1,
        nb::arg("options"),
        nb::sig("def generate(kind: str = 'kron', scale: int = 20, edge_factor: int = 16, seed: int = 1, *, device: object = "
                "'cpu', " BUILD_OPTIONS ") -> Graph"),
        "A generated graph: undirected, 2^scale nodes, edge_factor * 2^scale random edges; the same bits on every device.\n"
        "\n"
        "kind: 'kron' (Graph500: A .57 B .19 C .19 D .05), 'uniform', 'web' (in the manner of a crawl)\n"
        "device: that makes it: 'cpu' or 'cuda'" BUILD_OPTIONS_TOLD);
}

}  // namespace garner::python

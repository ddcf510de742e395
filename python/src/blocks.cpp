// Mini-batches: block_sampler and what it draws.
#include "blocks.hpp"

#include <nanobind/stl/tuple.h>

namespace garner::python {

namespace {

int64s seen_in(numbers const& there) { return {there, {there.data(), there.shape(0)}}; }
// Where it lies, if that is the device that works.
std::optional<int64s> near_of(nb::handle from, execution_device where) {
  numbers there;
  if (where.kind != device_kind::cuda || !nb::ndarray_check(from) || !nb::try_cast(from, there, false)) return std::nullopt;
  if (there.device_type() != nb::device::cuda::value || where.index != static_cast<int>(there.device_id())) return std::nullopt;
  return seen_in(there);
}

}  // namespace

int64s int64s_of(nb::handle from, char const* name, execution_device where) {
  if (from.is_none()) return {};
  if (auto const near = near_of(from, where)) return *near;
  return seen_in(nb::cast<numbers>(checked("int64", from, name)));  // negative ones are the library's to refuse: times may be so
}
int64s positions_of(nb::handle from, char const* name, std::uint64_t vertices, execution_device where) {
  if (from.is_none()) return {};
  if (auto const near = near_of(from, where)) return *near;
  return seen_in(nb::cast<numbers>(checked("positions", from, name, vertices)));
}
std::vector<std::int64_t> fanouts_of(nb::handle from) { return nb::cast<std::vector<std::int64_t>>(checked("fanouts", from)); }

nb::object batch_array(nb::object const& of, execution_device at, void* data, std::vector<std::size_t> const& shape,
                       std::int64_t const* strides, nb::dlpack::dtype type) {
  bool const on_device = at.kind == device_kind::cuda;
  return nb::cast(py_batch_array{
      of,
      nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), of, strides, type,
                                          on_device ? nb::device::cuda::value : nb::device::cpu::value, on_device ? at.index : 0)),
      on_device});
}

py_vertices vertices_of(nb::object of, sampled_subgraph const& drawn, std::size_t types, std::uint32_t type) {
  if (type >= types) refuse(errc::usage, "type " + std::to_string(type) + ": of " + std::to_string(types) + ", counted from 0");
  return {std::move(of), drawn.device(), &drawn.of_type(type)};
}
py_edges edges_of(nb::object of, sampled_subgraph const& drawn, std::size_t relations, std::uint32_t relation, bool edge_ids) {
  if (relation >= relations)
    refuse(errc::usage, "relation " + std::to_string(relation) + ": of " + std::to_string(relations) + ", counted from 0");
  return {std::move(of), drawn.device(), &drawn.of_relation(relation), edge_ids};
}

namespace {

std::map<std::string, edge_direction> const sides{{"in", edge_direction::in}, {"out", edge_direction::out}};
std::map<std::string, temporal_rule> const temporals{{"uniform", temporal_rule::uniform}, {"last", temporal_rule::last}};
std::map<std::string, negative_kind> const negatives{{"binary", negative_kind::binary}, {"triplet", negative_kind::triplet}};

}  // namespace

edge_direction side_of(std::string const& side, py_graph const& of) {
  auto const found = sides.find(side);
  if (found == sides.end()) refuse(errc::usage, "side '" + side + "': use in, out");
  return of.use()->info().reversed ? edge_direction::out : found->second;
}
block_options options_of(keywords& given) {
  block_options o;
  std::string text = "last";
  given.take("seed", o.seed);
  given.take("rule", text);
  o.rule = parse_hop_rule(text);
  given.take("replace", o.replace);
  given.take("disjoint", o.disjoint);
  given.take("weighted", o.weighted);
  given.take("labor", o.labor);
  temporal_rule t = temporal_rule::uniform;
  nb::object temporal = nb::none();
  given.take("temporal", temporal);
  if (!temporal.is_none()) {
    nb::kwargs one = nb::steal<nb::kwargs>(PyDict_New());
    one["temporal"] = temporal;
    keywords("BlockSampler", one).choose("temporal", t, temporals);
    o.temporal = t;
  }
  given.take("edges", o.edges);
  given.take("edge_ids", o.edge_ids);
  given.take("induced", o.induced);
  given.take("adjacency", o.adjacency);
  given.take_bytes("graph_cache", o.graph_cache);
  return o;
}

namespace {

// A relation, as BlockSampler takes it.
struct py_relation {
  std::shared_ptr<graph_handle> graph;
  sampled_relation made;
  int64s times;
};

py_relation relation(py_graph& g, std::vector<std::int64_t> fanouts, std::uint32_t from, std::uint32_t to, std::string const& side,
                     nb::handle times) {
  py_relation r;
  edge_direction const taken = side_of(side, g);
  r.graph = g.use_in_lists(taken == edge_direction::in);
  r.times = int64s_of(times, "times", {});
  r.made = {r.graph.get(), taken, from, to, std::move(fanouts), r.times.seen};
  return r;
}

void remember(py_sampler& s, execution_device where, std::vector<sampled_type> types, std::vector<sampled_relation> relations,
              block_options const& o) {
  s.types = types.size(), s.relations = relations.size(), s.edge_ids = o.edge_ids;
  s.sampler.emplace(released([&] { return block_sampler(where, std::move(types), std::move(relations), o); }));
}

int64s seeds_of(py_sampler const& s, nb::handle from, std::uint32_t type) {
  if (type >= s.types)
    refuse(errc::usage, "seeds of type " + std::to_string(type) + ": of " + std::to_string(s.types) + ", counted from 0");
  if (from.is_none()) refuse(errc::usage, "seeds=None; give nodes of type " + std::to_string(type) + ", or an empty list");
  return positions_of(from, "seeds", s.sampler->vertices(type), s.sampler->device());
}

py_blocks drawn(py_sampler& s, std::uint64_t number, std::span<typed_seeds const> seeds) {
  turn const mine(s.busy);
  if (s.lent) refuse(errc::usage, "a Loader samples with this sampler, ahead of its caller; stop() that, or make another sampler");
  py_blocks b(s.spare->take(), s.types, s.relations, s.edge_ids, s.spare);
  released([&] {
    s.sampler->start_types(b.made, number, seeds);
    s.sampler->finish(b.made);
    return 0;
  });
  return b;
}

#define SAMPLER_OPTIONS                                                                                                             \
  "seed: int = 1, rule: str = 'last', replace: bool = False, disjoint: bool = False, weighted: bool = False, labor: bool = "        \
  "False, temporal: str | None = None, edges: bool = True, edge_ids: bool = False, induced: bool = False, device: object = 'cpu', " \
  "adjacency: str | None = None, graph_cache: int | str | None = None, scores: object = None"
#define SAMPLER_OPTIONS_TOLD                                                                                                             \
  "seed: the neighbors of a node are a function of seed, mini-batch, hop, relation, node and tree: the same for any number of threads\n" \
  "and on every device; rule: the nodes that sample at a hop: 'last' (those that the previous hop reached; PyG) or 'all' (DGL)\n"        \
  "replace: with replacement (where all are wanted, -1, each comes once); weighted: in proportion to the weights of the edges\n"         \
  "labor: LABOR-0 (Balin and Catalyurek, NeurIPS 2023): nodes of a mini-batch sample the same neighbors where they can, so that it\n"    \
  "has fewer nodes; as many neighbors per node; not with replace, weighted, temporal\n"                                                  \
  "disjoint: one tree per seed; temporal: 'uniform' or 'last': no neighbor is later than its seed, disjoint; needs times\n"              \
  "edges: False: nodes alone, the arrays of edges are empty; edge_ids: the position of each edge in the adjacency; induced: all edges\n" \
  "among the sampled nodes\n"                                                                                                            \
  "device: that samples: 'cpu', 'cuda', 'cuda:1', 'simulated'; adjacency: the memory tier that it must lie in; None: where it is\n"      \
  "graph_cache: bytes of GPU memory for adjacency that lies in host memory, as \"1GiB\": that of the nodes with the highest scores\n"    \
  "(shape (nodes,), as garner.score gives them; for several types an array, or None, each); None: that of the first nodes, for graphs\n" \
  "ordered by degree or score"

}  // namespace

void add_blocks(nb::module_& m) {
  nb::class_<py_batch_array>(m, "BatchArray",
                             "What a mini-batch hands over where NumPy cannot: on a device, or of bfloat16. torch.from_dlpack and "
                             "cupy.from_dlpack\n"
                             "take it; the stream that they work on is one more that uses the mini-batch.")
      .def(
          "__dlpack__",
          [](py_batch_array const& a, nb::kwargs how) {
            return dlpack_of(a.exported, how, a.on_device, [&](std::uint64_t stream) {
              if (nb::hasattr(a.of, "use_on")) a.of.attr("use_on")(stream);  // Blocks are done before they are handed over
            });
          },
          nb::arg("how"), nb::sig("def __dlpack__(self, **how: object) -> object"))
      .def(
          "__dlpack_device__", [](py_batch_array const& a) { return a.exported.attr("__dlpack_device__")(); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
  nb::class_<py_vertices>(m, "SampledNodes", "The sampled nodes of one type. Its arrays keep the SampledSubgraph alive.")
      .def_prop_ro(
          "ids", [](py_vertices const& v) { return array_of(v.of, v.at, v.seen->ids, v.seen->count); },
          nb::sig("def ids(self) -> typing.Any"),
          "Positions among Graph.ids(): the seeds first, then as they were reached. int64: NumPy's, or of the device (DLPack).")
      .def_prop_ro(
          "tree",
          [](py_vertices const& v) -> nb::object {
            if (!v.seen->tree) return nb::none();
            return array_of(v.of, v.at, reinterpret_cast<std::int32_t const*>(v.seen->tree), v.seen->count);
          },
          nb::sig("def tree(self) -> typing.Any"), "disjoint: which seed each belongs to, int32; else None")
      .def_prop_ro(
          "by_hop", [](py_vertices const& v) { return v.seen->by_hop; }, "the seeds, then how many each hop reached first")
      .def("__len__", [](py_vertices const& v) { return v.seen->count; });
  nb::class_<py_edges>(m, "SampledEdges", "The sampled edges of one relation. Its arrays keep the SampledSubgraph alive.")
      .def_prop_ro(
          "edge_index",
          [](py_edges const& e) {
            sampled_subgraph::edges const& seen = *e.seen;
            return array_of(e.of, e.at, seen.row, {2, seen.count}, {seen.count ? seen.col - seen.row : 0, 1});
          },
          nb::sig("def edge_index(self) -> typing.Any"),
          "Both as one array of shape (2, edges): row above col. int64: NumPy's, or of the device (DLPack).")
      .def_prop_ro(
          "row", [](py_edges const& e) { return array_of(e.of, e.at, e.seen->row, e.seen->count); }, nb::sig("def row(self) -> typing.Any"),
          "The neighbor of each edge, by its number among the nodes of its type. int64.")
      .def_prop_ro(
          "col", [](py_edges const& e) { return array_of(e.of, e.at, e.seen->col, e.seen->count); }, nb::sig("def col(self) -> typing.Any"),
          "The node that sampled it. In the order of hops, then of this.")
      .def_prop_ro(
          "edge",
          [](py_edges const& e) -> nb::object {
            if (!e.edge_ids) return nb::none();
            return array_of(e.of, e.at, e.seen->edge, e.seen->count);
          },
          nb::sig("def edge(self) -> typing.Any"),
          "edge_ids: its position in the adjacency that was sampled, in the order of Graph.ids(); else None")
      .def_prop_ro(
          "by_hop", [](py_edges const& e) { return e.seen->by_hop; }, "how many each hop sampled")
      .def("__len__", [](py_edges const& e) { return e.seen->count; });

  nb::class_<py_blocks>(m, "SampledSubgraph",
                        "One sampled mini-batch, on the device that sampled it. For one graph: of_type(0), of_relation(0).\n"
                        "Layer k has the nodes of the first k + 2 entries of by_hop, and the edges of the first k + 1.")
      .def(
          "of_type",
          [](nb::object self, std::uint32_t type) {
            auto const& b = nb::cast<py_blocks const&>(self);
            return vertices_of(self, b.made, b.types, type);
          },
          nb::arg("type"), nb::sig("def of_type(self, type: int) -> SampledNodes"))
      .def(
          "of_relation",
          [](nb::object self, std::uint32_t relation) {
            auto const& b = nb::cast<py_blocks const&>(self);
            return edges_of(self, b.made, b.relations, relation, b.edge_ids);
          },
          nb::arg("relation"), nb::sig("def of_relation(self, relation: int) -> SampledEdges"))
      .def_prop_ro(
          "number", [](py_blocks const& b) { return b.made.number(); }, "of the mini-batch")
      .def_prop_ro(
          "seeds", [](py_blocks const& b) { return b.made.seeds(); }, "how many")
      .def_prop_ro(
          "device", [](py_blocks const& b) { return told_memory(b.made.device()); }, "where its arrays lie: 'cpu', 'cuda:0'")
      .def("__repr__", [](py_blocks const& b) {
        std::uint64_t vertices = 0, edges = 0;
        for (std::size_t k = 0; k < b.types; ++k) vertices += b.made.of_type(k).count;
        for (std::size_t k = 0; k < b.relations; ++k) edges += b.made.of_relation(k).count;
        return "<garner.SampledSubgraph " + std::to_string(b.made.number()) + ": " + std::to_string(b.made.seeds()) + " seeds, " +
               std::to_string(vertices) + " vertices, " + std::to_string(edges) + " edges>";
      });

  nb::class_<py_relation>(
      m, "Relation", "The adjacency of one relation, for garner.BlockSampler.of_relations: from nodes of one type to nodes of another.")
      .def(
          "__init__",
          [](py_relation* self, nb::args positional, nb::kwargs options) {
            keywords given("Relation", positional, std::move(options), {"graph", "fanouts", "source", "target", "side", "times"});
            py_graph& g = graph_in(given, "Relation");
            bool in_time_order = false;
            given.take("in_time_order", in_time_order);
            std::vector<std::int64_t> fanouts = fanouts_of(given.need("fanouts"));
            std::uint32_t source = 0, target = 0;
            std::string side = "in";
            nb::object times = nb::none();
            given.take("source", source);
            given.take("target", target);
            given.take("side", side);
            given.take("times", times);
            given.done();
            new (self) py_relation(relation(g, std::move(fanouts), source, target, side, times));
            self->made.in_time_order = in_time_order;
          },
          nb::arg("positional"), nb::arg("options"),
          nb::sig("def __init__(self, graph: Graph, fanouts: collections.abc.Sequence[int], source: int = 0, target: int = 0, side: str = "
                  "'in', times: object = None, *, in_time_order: bool = False) -> None"),
          "fanouts: neighbors to sample per node at each hop, 0 none, -1 all. source, target: the types of the neighbors and of the nodes\n"
          "that sample them. side: 'in' samples in-neighbors, 'out' the neighbors that the graph stores. times: shape (edges,), whole\n"
          "numbers, in the order of the edges by Graph.ids(), as Graph.csr() has out-edges. in_time_order: the neighbors of each node are\n"
          "in the order of the times of their edges, or else of their own: temporal sampling then searches instead of reading each\n"
          "entry. This is not checked.");

  nb::class_<py_sampler>(
      m, "BlockSampler",
      "Samples the mini-batches of a GNN: seeds in, SampledSubgraph out. The graph stays where it is as long as this lives.\n"
      "Source: GraphSAGE, NeurIPS 2017.")
      .def(
          "__init__",
          [](py_sampler* self, nb::args positional, nb::kwargs options) {
            keywords given("BlockSampler", positional, std::move(options), {"graph", "fanouts"});
            py_graph& g = graph_in(given, "BlockSampler");
            std::vector<std::int64_t> fanouts = fanouts_of(given.need("fanouts"));
            execution_device where;
            std::string side = "in";
            nb::object times = nb::none();
            given.take("device", where);
            given.take("side", side);
            given.take("times", times);
            nb::object scores = nb::none();
            given.take("scores", scores);
            block_options const o = options_of(given);
            given.done();
            warn_without_gpu(where, "graph_cache", o.graph_cache);
            array scored;
            auto made = std::make_unique<py_sampler>();
            py_relation r = relation(g, std::move(fanouts), 0, 0, side, nb::none());
            made->graphs.push_back(r.graph);
            made->times.push_back(int64s_of(times, "times", {}));
            std::vector<sampled_type> const types{{r.graph->info().vertices, made->times[0].seen, floats(scores, "scores", scored)}};
            remember(*made, where, types, {r.made}, o);
            new (self) py_sampler(std::move(*made));
          },
          nb::arg("positional"), nb::arg("options"),
          nb::sig("def __init__(self, graph: Graph, fanouts: collections.abc.Sequence[int], *, side: str = 'in', times: object = "
                  "None, " SAMPLER_OPTIONS ") -> None"),
          "fanouts: neighbors to sample per node at each hop, 0 none, -1 all\n"
          "side: 'in' samples the sources of a node's in-edges, 'out' the targets of its out-edges; the same for an undirected graph\n"
          "times: shape (nodes,), whole numbers\n" SAMPLER_OPTIONS_TOLD
          "\nErrors: UsageError where options contradict each other, InputError where a graph lacks weights or times.")
      .def_static(
          "of_relations",
          [](std::vector<std::uint64_t> const& vertices, nb::sequence relations, nb::kwargs options) {
            keywords given("BlockSampler.of_relations", std::move(options));
            execution_device where;
            nb::object times = nb::none();
            given.take("device", where);
            given.take("times", times);
            nb::object scores = nb::none();
            given.take("scores", scores);
            block_options const o = options_of(given);
            given.done();
            warn_without_gpu(where, "graph_cache", o.graph_cache);
            auto made = std::make_unique<py_sampler>();
            std::vector<sampled_type> types;
            std::vector<array> scored(vertices.size());
            if (!scores.is_none() && nb::len(scores) != vertices.size())
              refuse(errc::usage, "scores: give one array (or None) for each of the " + std::to_string(vertices.size()) + " types");
            if (!times.is_none() && nb::len(times) != vertices.size())
              refuse(errc::usage, "times: give one array (or None) for each of the " + std::to_string(vertices.size()) + " types");
            for (std::size_t k = 0; k < vertices.size(); ++k) {
              made->times.push_back(times.is_none() ? int64s{} : int64s_of(nb::object(times[k]), "times", {}));
              types.push_back({vertices[k], made->times.back().seen,
                               scores.is_none() ? std::span<float const>{} : floats(nb::object(scores[k]), "scores", scored[k])});
            }
            std::vector<sampled_relation> all;
            for (nb::handle one : relations) {
              py_relation const* given = nullptr;
              if (!nb::try_cast(one, given) || !given)
                throw nb::type_error("BlockSampler.of_relations(): relations are made by garner.Relation");
              py_relation const& r = *given;
              made->graphs.push_back(r.graph);
              made->times.push_back(r.times);
              all.push_back(r.made);
            }
            remember(*made, where, std::move(types), std::move(all), o);
            return made.release();
          },
          nb::arg("num_nodes"), nb::arg("relations"), nb::arg("options"), nb::rv_policy::take_ownership,
          nb::sig("def of_relations(num_nodes: collections.abc.Sequence[int], relations: collections.abc.Sequence[Relation], *, times: "
                  "collections.abc.Sequence[object] | None = None, " SAMPLER_OPTIONS ") -> BlockSampler"),
          "For several types of nodes: how many there are of each, and the relations between them, as garner.Relation.\n"
          "times: an array, or None, for each type. The rest is as for one graph.")
      .def(
          "sample",
          [](py_sampler& s, nb::object seeds, std::uint64_t number, std::uint32_t type, nb::object times) {
            execution_device const where = s.sampler->device();
            int64s const from = seeds_of(s, seeds, type), at = int64s_of(times, "times", where);
            typed_seeds const one{type, from.seen, at.seen};
            return drawn(s, number, {&one, 1});
          },
          nb::arg("seeds"), nb::arg("number") = 0, nb::arg("type") = 0, nb::arg("times") = nb::none(),
          nb::sig("def sample(self, seeds: object, number: int = 0, type: int = 0, times: object = None) -> SampledSubgraph"),
          "Mini-batch `number` of these seeds: positions of nodes of this type (of a graph without gaps its ids), whole numbers, in\n"
          "any order, one that stands twice is there twice; or a bool each node. times: shape (seeds,): of a temporal sampling; None: "
          "of\n"
          "the seeds' own.\n"
          "Errors: IdError, InputError for a seed that does not exist, with its position and the mini-batch.")
      .def(
          "sample_types",
          [](py_sampler& s, std::vector<std::tuple<nb::object, std::uint32_t, nb::object>> const& seeds, std::uint64_t number) {
            execution_device const where = s.sampler->device();
            std::vector<int64s> kept;
            std::vector<typed_seeds> all;
            for (auto const& [ids, type, times] : seeds) {
              int64s const from = seeds_of(s, ids, type), at = int64s_of(times, "times", where);
              kept.insert(kept.end(), {from, at});
              all.push_back({type, from.seen, at.seen});
            }
            return drawn(s, number, all);
          },
          nb::arg("seeds"), nb::arg("number") = 0,
          nb::sig(
              "def sample_types(self, seeds: collections.abc.Sequence[tuple[object, int, object]], number: int = 0) -> SampledSubgraph"),
          "The same with seeds of several types: (seeds, type, times or None) each. Positions and trees are counted through.")
      .def_prop_ro(
          "device", [](py_sampler const& s) { return told(s.sampler->device()); }, "that samples: 'cpu', 'cuda:0', 'simulated'")
      .def_prop_ro(
          "lent", [](py_sampler const& s) { return s.lent != nullptr; }, "whether a Loader is using it, so that nothing else can")
      .def_prop_ro(
          "nbytes", [](py_sampler const& s) { return in_turn(s.busy, [&] { return s.sampler->bytes(); }); },
          "bytes of memory on its device that it holds now")
      .def(
          "summary", [](py_sampler const& s) { return s.sampler->about(); },
          "One line: where the adjacency lies, and how much of it is in GPU memory.");

  m.def(
      "sample_negatives",
      [](nb::object sources, std::uint64_t source_vertices, std::uint64_t target_vertices, nb::kwargs options) -> nb::object {
        negative_options o;
        std::uint64_t number = 0;
        nb::object graph = nb::none();
        keywords given("sample_negatives", std::move(options));
        given.take("number", number);
        given.choose("kind", o.kind, negatives);
        given.take("amount", o.amount);
        given.take("never_positive", o.never_positive);
        given.take("seed", o.seed);
        given.take("graph", graph);
        given.done();
        int64s const from = int64s_of(sources, "sources", {});
        std::shared_ptr<graph_handle> g;
        if (!graph.is_none()) {
          py_graph* held = nullptr;
          if (!nb::try_cast(graph, held))
            throw nb::type_error("sample_negatives(): graph is not a Graph; make one with garner.build or open");
          g = held->use();
        }
        vertex_pairs drawn = released([&] { return sample_negatives(number, from.seen, source_vertices, target_vertices, o, g.get()); });
        if (o.kind == negative_kind::triplet) return nb::cast(to_numpy(std::move(drawn.targets)));
        return nb::make_tuple(to_numpy(std::move(drawn.sources)), to_numpy(std::move(drawn.targets)));
      },
      nb::arg("sources"), nb::arg("num_sources"), nb::arg("num_targets"), nb::arg("options"),
      nb::sig("def sample_negatives(sources: object, num_sources: int, num_targets: int, *, number: int = 0, kind: str = 'binary', "
              "amount: float = 1, never_positive: bool = False, seed: int = 1, graph: Graph | None = None) -> typing.Any"),
      "Negative samples for the edges of a mini-batch, uniform over the nodes of each type, int64.\n"
      "kind: 'binary': (sources, targets), amount an edge, of all together, rounded up; 'triplet': targets, amount a source, source by\n"
      "source. never_positive: none is an edge of graph. number, seed: as of BlockSampler.\n"
      "Errors: UsageError; InputError where a node has an edge to all others, so that none is left.");

  m.def(
      "_random_walks",
      [](py_graph& g, nb::object starts, std::uint32_t length, nb::kwargs options) {
        random_walk_options o;
        std::string side = "out";
        keywords given("random_walk", std::move(options));
        given.take("p", o.p);
        given.take("q", o.q);
        given.take("seed", o.seed);
        given.take("side", side);
        given.take("edge_ids", o.edge_ids);
        given.take("device", o.device);
        given.take("edges", o.edges);
        given.done();
        o.side = side_of(side, g);
        std::shared_ptr<graph_handle> const graph = g.use_in_lists(o.side == edge_direction::in);
        int64s const from = positions_of(starts, "start", graph->info().vertices, {});
        random_walks w = released([&] { return walk_randomly(*graph, from.seen, length, o); });
        return nb::make_tuple(to_numpy(std::move(w.nodes)), to_numpy(std::move(w.edges)));
      },
      nb::arg("graph"), nb::arg("start"), nb::arg("walk_length"), nb::arg("options"),
      nb::sig("def _random_walks(graph: Graph, start: object, walk_length: int, *, p: float = 1, q: float = 1, seed: int = 1, side: str = "
              "'out', edge_ids: bool = False, device: object = 'cpu', edges: str | None = None) -> "
              "tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]"),
      "garner.random_walk, of flat arrays.");
}

}  // namespace garner::python

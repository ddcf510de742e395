// A graph whose lists are split over processes: GraphPart and SplitSampler, under garner.torch.remote_graph.
#include "blocks.hpp"

namespace garner::python {

namespace {

struct py_part {
  graph_part part;
  turns busy;
};
struct py_split {
  turns busy;
  bool edge_ids = false;
  std::shared_ptr<spare_blocks> spare = std::make_shared<spare_blocks>();
  std::optional<split_sampler> sampler;
};

template <class T>
numpy_array<T> copied(std::vector<T> const& from) {
  return to_numpy(std::vector<T>(from));
}

}  // namespace

void add_split(nb::module_& m) {
  nb::class_<py_part>(
      m, "GraphPart",
      "The adjacency of a block of a graph's nodes, as one of several processes keeps it; garner.torch.remote_graph makes it.")
      .def(
          "__init__",
          [](py_part* self, nb::args positional, nb::kwargs options) {
            keywords given("GraphPart", positional, std::move(options), {"graph", "part", "parts", "side", "balance", "weighted"});
            py_graph& g = graph_in(given, "GraphPart");
            std::uint32_t part = 0, parts = 1;
            std::string side = "in", balance = "edges";
            part_options o;
            given.need("part", part);
            given.need("parts", parts);
            given.take("side", side);
            given.take("balance", balance);
            given.take("weighted", o.weights);
            given.done();
            o.side = side_of(side, g), o.balance = parse_shard_balance(balance);
            auto const held = g.use_in_lists(o.side == edge_direction::in);
            new (self) py_part{released([&] { return graph_part(*held, part, parts, o); }), {}};
          },
          nb::arg("positional"), nb::arg("options"),
          nb::sig("def __init__(self, graph: Graph, part: int, parts: int, side: str = 'in', balance: str = 'edges', weighted: bool = "
                  "False) -> None"),
          "Cut out; the graph may go then. Parts have as many edges each, or nodes.")
      .def_static(
          "of_arrays",
          [](std::uint64_t first, std::uint64_t vertices, std::uint64_t first_edge, std::uint64_t edges, nb::object offsets,
             nb::object targets, nb::object weights) {
            int64s const from = int64s_of(offsets, "offsets", {}), to = int64s_of(targets, "targets", {});
            array kept;
            if (!weights.is_none()) weights = checked("weights", weights, "targets", to.seen.size());
            graph_part::arrays const lists{first, vertices, first_edge, edges, from.seen, to.seen, floats(weights, "weights", kept)};
            return py_part{released([&] { return graph_part(lists); }), {}};
          },
          nb::arg("first"), nb::arg("num_nodes"), nb::arg("first_edge"), nb::arg("num_edges"), nb::arg("offsets"), nb::arg("targets"),
          nb::arg("weights") = nb::none(),
          nb::sig("def of_arrays(first: int, num_nodes: int, first_edge: int, num_edges: int, offsets: object, targets: object, weights: "
                  "object = "
                  "None) -> GraphPart"),
          "From arrays: the adjacency of the nodes from first on, of num_nodes in all, after first_edge of num_edges edges in all.")
      .def_prop_ro(
          "first", [](py_part const& p) { return p.part.part().first; }, "of its nodes, by position")
      .def_prop_ro(
          "edges", [](py_part const& p) { return p.part.part().edges; }, "of its nodes")
      .def_prop_ro(
          "num_nodes", [](py_part const& p) { return p.part.all_vertices(); }, "of the whole graph")
      .def_prop_ro(
          "num_edges", [](py_part const& p) { return p.part.all_edges(); }, "of the whole graph")
      .def_prop_ro(
          "digest", [](py_part const& p) { return p.part.digest(); },
          "a number that parts of one graph have in common: of its sizes, the lengths of its lists and its order; of arrays 0")
      .def_prop_ro(
          "nbytes", [](py_part const& p) { return p.part.bytes(); }, "of its adjacency, and of what it knows of its nodes")
      .def("__len__", [](py_part const& p) { return p.part.part().vertices; })
      .def(
          "to",
          [](py_part& p, nb::object where, std::optional<std::string> edges) {
            execution_device const to = place_of(where);
            std::optional<tier> const t = edges ? std::optional(parse_tier(*edges)) : std::nullopt;
            in_turn(p.busy, [&] { p.part.to_device(to, t); });
          },
          nb::arg("device"), nb::arg("edges") = nb::none(), nb::sig("def to(self, device: object, edges: str | None = None) -> None"),
          "As Graph.to. Errors: UsageError while a sampler uses it.");

  nb::class_<py_split>(
      m, "SplitSampler",
      "Samples a GraphPart on request of any process, and makes the mini-batches of this one: those that BlockSampler makes of\n"
      "the whole graph.")
      .def(
          "__init__",
          [](py_split* self, nb::args positional, nb::kwargs options) {
            keywords given("SplitSampler", positional, std::move(options), {"part", "fanouts"});
            nb::object const part = given.need("part");
            if (!nb::isinstance<py_part>(part))
              throw nb::type_error(
                  (std::string("SplitSampler(): part=") + shown(part) + " is not a GraphPart; garner.torch.remote_graph makes one")
                      .c_str());
            auto& p = nb::cast<py_part&>(part);
            std::vector<std::int64_t> fanouts = fanouts_of(given.need("fanouts"));
            execution_device where;
            given.take("device", where);
            block_options const o = options_of(given);
            given.done();
            auto made = std::make_unique<py_split>();
            made->edge_ids = o.edge_ids;
            made->sampler.emplace(in_turn(p.busy, [&] { return split_sampler(where, p.part, std::move(fanouts), o); }));
            new (self) py_split(std::move(*made));
          },
          nb::arg("positional"), nb::arg("options"),
          nb::sig("def __init__(self, part: GraphPart, fanouts: collections.abc.Sequence[int], *, seed: int = 1, replace: bool = False, "
                  "weighted: bool = False, labor: bool = False, edges: bool = True, edge_ids: bool = False, device: object = 'cpu', "
                  ""
                  "adjacency: str | None = None) -> None"),
          "As garner.BlockSampler, without the options that need more than the adjacency of one node.")
      .def(
          "sample",
          [](py_split& s, std::uint64_t number, std::uint32_t hop, nb::object vertices, nb::object batches) {
            int64s const of = int64s_of(vertices, "nodes", {});
            int64s const which = int64s_of(batches, "batches", {});
            sampling_response d = in_turn(s.busy, [&] {
              std::vector<std::uint32_t> const narrow(which.seen.begin(), which.seen.end());
              return s.sampler->sample(number, hop, of.seen, narrow);
            });
            return nb::make_tuple(to_numpy(std::vector<std::int64_t>(d.counts.begin(), d.counts.end())), to_numpy(std::move(d.neighbors)),
                                  to_numpy(std::move(d.edges)));
          },
          nb::arg("number"), nb::arg("hop"), nb::arg("nodes"), nb::arg("batches"),
          nb::sig("def sample(self, number: int, hop: int, nodes: object, batches: object) -> tuple[numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]"),
          "On request: a hop of mini-batches number + batches[i] for nodes[i] of the part: how many neighbors each, these, and\n"
          "with edge_ids the positions of their edges in the adjacency of the whole graph. Errors: IdError for a node of another part.")
      .def(
          "begin",
          [](py_split& s, nb::sequence seeds, std::uint64_t number) {
            turn const mine(s.busy);
            std::vector<int64s> kept;
            std::vector<std::span<std::int64_t const>> all;
            std::vector<sampled_subgraph> into;
            for (nb::handle one : seeds) {
              kept.push_back(int64s_of(one, "seeds", s.sampler->device()));
              all.push_back(kept.back().seen);
              into.push_back(s.spare->take());
            }
            released([&] { s.sampler->begin(number, all, std::move(into)); });
          },
          nb::arg("seeds"), nb::arg("number"), nb::sig("def begin(self, seeds: collections.abc.Sequence[object], number: int) -> None"),
          "Mini-batches number, number + 1 ... of these seeds together. Errors: IdError for a seed that does not exist.")
      .def(
          "requests",
          [](py_split const& s) -> nb::object {
            turn const mine(s.busy);
            sampling_request const& a = s.sampler->request();
            if (!a.more) return nb::none();
            return nb::make_tuple(a.hop, copied(a.vertices), to_numpy(std::vector<std::int64_t>(a.batches.begin(), a.batches.end())));
          },
          nb::sig("def requests(self) -> tuple[int, numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]] | None"),
          "(hop, nodes, of which mini-batch each is) that comes next; None: all is sampled.")
      .def(
          "complete",
          [](py_split& s, nb::object counts, nb::object neighbors, nb::object edges) {
            int64s const each = int64s_of(counts, "counts", {}), of = int64s_of(neighbors, "neighbors", {}),
                         at = int64s_of(edges, "edges", {});
            in_turn(s.busy, [&] {
              s.sampler->complete(
                  {{each.seen.begin(), each.seen.end()}, {of.seen.begin(), of.seen.end()}, {at.seen.begin(), at.seen.end()}});
            });
          },
          nb::arg("counts"), nb::arg("neighbors"), nb::arg("edges") = nb::none(),
          nb::sig("def complete(self, counts: object, neighbors: object, edges: object = None) -> None"),
          "The sampled neighbors for requests(), in its order. Errors: InputError where they cannot be.")
      .def(
          "finish",
          [](py_split& s) {
            nb::list all;
            turn const mine(s.busy);
            for (sampled_subgraph& b : released([&] { return s.sampler->finish(); }))
              all.append(nb::cast(py_blocks(std::move(b), 1, 1, s.edge_ids, s.spare)));
            return all;
          },
          nb::sig("def finish(self) -> list[SampledSubgraph]"), "The mini-batches, once requests() returns None.")
      .def_prop_ro(
          "device", [](py_split const& s) { return told(s.sampler->device()); }, "that samples: 'cpu', 'cuda:0', 'simulated'")
      .def_prop_ro(
          "nbytes", [](py_split const& s) { return in_turn(s.busy, [&] { return s.sampler->bytes(); }); },
          "bytes of memory on its device that it holds now")
      .def_prop_ro(
          "fingerprint", [](py_split const& s) { return s.sampler->fingerprint(); },
          "of what decides which neighbors are sampled: all processes must have the same");
}

}  // namespace garner::python

// Which rows of a feature table a training will read: scores for garner.tiered and Graph.reorder.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "garner/sample.hpp"
#include "graphs.hpp"

namespace garner::python {

namespace {

// A share of the vertices, their ids, or a bool each vertex in the order of the ids.
vertex_set training_of(graph_handle const& g, nb::handle said, std::uint64_t seed) {
  if (PyFloat_Check(said.ptr())) return pick_training_set(g, nb::cast<double>(said), seed);
  nb::object const found = checked("masked", said, "train", g.info().vertices);
  bool const mask = nb::cast<bool>(found.attr("__getitem__")(0));
  array const ids = nb::cast<array>(found.attr("__getitem__")(1));
  vertex_set train(ids.shape(0));
  if (train.empty()) return train;
  write_ids(ids, "train", train.data());
  if (!mask) return train;
  vertex_set const all = released([&] { return g.ids(); });
  for (std::uint64_t& v : train) v = all[v];
  return train;
}

nb::object score(py_graph& g, nb::kwargs options) {
  score_options o;
  nb::object train = nb::none();
  std::uint64_t train_seed = 1;
  std::string text = "expected";
  keywords given("score", std::move(options));
  given.take("by", text);
  o.by = parse_score(text);
  given.take("train", train);
  given.take("train_seed", train_seed);
  nb::object fanouts = nb::none();
  given.take("fanouts", fanouts);
  if (!fanouts.is_none()) {
    o.sampling.fanouts.clear();
    for (std::int64_t const f : nb::cast<std::vector<std::int64_t>>(checked("fanouts", fanouts))) {
      if (f < 0) refuse(errc::usage, "fanout " + std::to_string(f) + " is negative; pass 1 to 1,024 neighbors per hop, or 0 for none");
      o.sampling.fanouts.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(f, UINT32_MAX)));
    }
  }
  text = "all";
  given.take("rule", text);
  o.sampling.rule = parse_hop_rule(text);
  given.take("batch_size", o.sampling.batch);
  given.take("damping", o.damping);
  given.take("tolerance", o.tolerance);
  given.take("iterations", o.most_iterations);
  given.take("presample", o.presample);
  given.take("device", o.device);
  given.take("edges", o.edges);
  given.done();
  auto const held = g.use_in_lists(o.by == score_kind::sampled);
  if (needs_training(o.by) && train.is_none())
    refuse(errc::usage,
           "score by='" + std::string(to_string(o.by)) +
               "' predicts a training: use train=, the ids of its nodes or a share of all as 0.1; by='degree' and 'rpr' need none");
  if (!train.is_none()) o.train = training_of(*held, train, train_seed);
  score_result r = released([&] { return scores(*held, o); });
  if (!r.converged)
    warn("score: the scores had not come to rest after " + std::to_string(r.iterations) +
         " iterations; use more iterations=, or a larger tolerance=");
  return nb::cast(to_numpy(std::move(r.score)));
}

}  // namespace

void add_scores(nb::module_& m) {
  m.def(
      "score", &score, nb::arg("graph"), nb::arg("options"),
      nb::sig("def score(graph: Graph, *, by: str = 'expected', train: object = None, train_seed: int = 1, fanouts: "
              "collections.abc.Sequence[int] = (12, 12, 12), rule: str = 'all', batch_size: int = 1000, damping: float = 0.85, tolerance: "
              "float = "
              "1e-06, iterations: int = 1000, presample: int = 8, device: object = 'cpu', edges: str | None = None) "
              "-> numpy.typing.NDArray[numpy.float32]"),
      "Which rows of a feature table a GNN training with neighbor sampling will read most: garner.tiered(features, scores=...) keeps the\n"
      "rows of the highest in GPU memory, Graph.reorder('score', scores=...) lays the nodes so. Shape (nodes,), float32; entry k belongs "
      "to "
      "the\n"
      "node graph.ids()[k], so row k of the table shall be of that node. An edge u -> v says that sampling v may read u.\n"
      "\n"
      "by: 'expected' (accesses an epoch, predicted), 'sampled' (the same, corrected by mini-batches sampled beforehand), 'wrpr' "
      "(weighted\n"
      "reverse PageRank), 'rpr' (reverse PageRank), 'degree'; the first three want train\n"
      "train: ids of the training nodes, or a share of all as 0.1, random by train_seed\n"
      "fanouts, rule, batch_size: expected, sampled: neighbors sampled at each hop; 'all' (DGL) or 'last' (PyG) sample on; nodes a "
      "mini-batch\n"
      "presample: sampled: epochs beforehand; damping: rpr, wrpr; tolerance, iterations: rpr (a RuntimeWarning where it has not "
      "converged)\n"
      "device, edges: as of garner.bfs\n"
      "Errors: UsageError, IdError for a training node that does not exist, InputError for an empty training set,\n"
      "OutOfMemory, DeviceError, Interrupted. Source: Data Tiering (KDD 2022; chapter 4 of Min's dissertation).");
}

}  // namespace garner::python

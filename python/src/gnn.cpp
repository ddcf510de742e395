// Models, trained and asked: a door over garner/gnn.hpp. What labels and splits are as arrays is the business of garner/models.py.
#include "garner/gnn.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>

#include "blocks.hpp"
#include "features.hpp"
#include "garner/shards.hpp"

namespace garner::python {

namespace {

struct py_model {
  std::shared_ptr<gnn_model> made;
  turns busy = {};  // of the training too that it is of
};

using matrix = nb::ndarray<nb::numpy, float>;
matrix owned(std::vector<float>&& values, std::vector<std::size_t> const& shape) {
  auto* const kept = new std::vector<float>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return matrix(kept->data(), shape.size(), shape.data(), owner);
}

nb::dict options_of(model_options const& o) {
  nb::dict d;
  d["kind"] = std::string(to_string(o.kind));
  d["inputs"] = o.inputs, d["hidden"] = o.hidden, d["classes"] = o.classes, d["layers"] = o.layers;
  d["layer_norm"] = o.layer_norm, d["residual"] = o.residual;
  d["labels"] = o.labels == label_kind::one_class ? "single_label" : "multi_label";
  d["scaling"] = std::string(to_string(o.scaling));
  return d;
}

nb::dict said_of(evaluation const& e) {
  nb::dict d;
  for (auto const& [name, part] : {std::pair{"train", &e.train}, std::pair{"validation", &e.validation}, std::pair{"test", &e.test}}) {
    nb::dict one;
    one["vertices"] = part->vertices, one["accuracy"] = part->accuracy, one["loss"] = part->loss;
    one["auc"] = part->auc ? nb::object(nb::float_(*part->auc)) : nb::object(nb::none());
    d[name] = one;
  }
  d["ms"] = e.ms;
  return d;
}

// The graph and all else stay as long as it does.
struct py_training {
  nb::object graph_object;
  std::shared_ptr<graph_handle> graph;
  std::vector<nb::object> kept;
  py_model model;
  std::unique_ptr<training> run;
  // Of several devices: those behind the first, which train on a part of the graph each.
  struct follower {
    tiered_tensor table;
    gnn_model model;
    std::unique_ptr<training> run;
  };
  std::vector<std::unique_ptr<follower>> others;
  std::shared_ptr<shard_group> shards;

  // A call that all devices make together, each on a thread of its own, without the interpreter's lock; the result is the first one's. What
  // goes wrong with another is told by the first, which waits for it.
  template <class Call>
  auto on_all(Call const& call) {
    std::vector<std::jthread> threads;
    for (auto const& one : others)
      threads.emplace_back([&call, &one] {
        try {
          call(*one->run);
        } catch (std::exception const&) {
          return;
        }
      });
    return call(*run);
  }
  // The trainings, made together.
  void start(graph_handle const& g, tiered_tensor& table, known_vertices const& known, model_options const& m, training_options t,
             std::vector<place> const& devices) {
    t.shards = shards;
    for (std::size_t k = 1; k < devices.size(); ++k)
      others.push_back(std::make_unique<follower>(follower{table.beside(devices[k]), gnn_model(devices[k], m), {}}));
    std::vector<std::exception_ptr> failed(devices.size());
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 1; k < devices.size(); ++k)
      threads.emplace_back([&, k] {
        follower& mine = *others[k - 1];
        try {
          training_options o = t;
          o.rank = k;
          mine.run = std::make_unique<training>(mine.model, g, mine.table, known, o);
        } catch (std::exception const& e) {
          failed[k] = std::current_exception();
          leave_shards(*shards, k, e.what());
        }
      });
    try {
      run = std::make_unique<training>(*model.made, g, table, known, t);
    } catch (std::exception const& e) {
      if (shards) leave_shards(*shards, 0, e.what());
      throw;
    }
    threads.clear();  // which waits for all
    for (std::exception_ptr const& problem : failed)
      if (problem) std::rethrow_exception(problem);
  }
};

void make(py_training* self, nb::object graph, nb::object features, nb::object labels,
          nb::ndarray<std::uint8_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> const& split, nb::kwargs options) {
  model_options m;
  training_options t;
  std::string kind = "sage", norm = "automatic", scaling = "automatic", math = "tf32", side = "in";
  std::optional<std::uint64_t> classes;
  place where{};
  std::vector<place> devices;
  bool deterministic = true;
  keywords given("train", std::move(options));
  given.take("model", kind);
  given.take("fanouts", t.fanouts);
  given.take("num_layers", m.layers);
  given.take("hidden_channels", m.hidden);
  given.take("norm", norm);
  given.take("residual", m.residual);
  given.take("scaling", scaling);
  given.take("num_classes", classes);
  given.take("batch_size", t.batch);
  given.take("lr", t.rate);
  given.take("weight_decay", t.decay);
  given.take("dropout", t.dropout);
  given.take("input_dropout", t.input_dropout);
  given.take("weighted", t.weighted);
  given.take("side", side);
  given.take("seed", t.seed);
  given.take("evaluate_every", t.evaluate_every);
  given.take("epochs", t.epochs);
  given.take("patience", t.patience);
  given.take("cuda_graph", t.record);
  given.take("math", math);
  given.take("device", where);
  given.take("devices", devices);
  given.take("deterministic", deterministic);
  take_loading(given, t.load);
  given.done();
  if (!devices.empty()) {
    if (!t.fanouts.empty())
      refuse(errc::usage, "devices= and fanouts=: several devices train on the whole graph; set fanouts=None, or device=");
    where = devices[0];
  }
  m.kind = parse_model_kind(kind);
  m.seed = t.seed;
  if (norm != "automatic" && norm != "none" && norm != "layer") refuse(errc::usage, "norm '" + norm + "': say none, layer or automatic");
  if (norm == "automatic") {
    bool const residual = m.residual;
    suit_layers(m, residual ? 0 : static_cast<std::uint64_t>(std::count(split.data(), split.data() + split.size(), std::uint8_t{1})));
    m.residual = m.residual || residual;
  } else {
    m.layer_norm = norm == "layer";
  }
  t.math = parse_dense_math(math);
  t.side = side_of(side);

  new (self) py_training;
  try {
    self->graph_object = graph;
    self->graph = nb::cast<py_graph&>(graph).use_in_lists(t.side == list_side::in || t.fanouts.empty());
    tiered_tensor& table = table_from(features, where, self->kept).tensor;
    m.inputs = table.width();
    known_vertices known;
    known.split = {split.data(), split.size()};
    if (nb::ndarray<std::int64_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> of_class; nb::try_cast(labels, of_class)) {
      known.labels = {of_class.data(), of_class.size(), 1, element::i64};
      std::int64_t const highest = of_class.size() ? *std::max_element(of_class.data(), of_class.data() + of_class.size()) : 0;
      m.classes = classes.value_or(static_cast<std::uint64_t>(std::max<std::int64_t>(highest, 0)) + 1);
    } else {
      auto const answers = nb::cast<nb::ndarray<std::uint8_t const, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(labels);
      known.labels = {answers.data(), answers.shape(0), answers.shape(1), element::u8};
      m.labels = label_kind::yes_or_no;
      m.classes = answers.shape(1);
      if (classes && *classes != m.classes)
        refuse(errc::usage,
               "num_classes=" + std::to_string(*classes) + ", and labels have " + std::to_string(m.classes) + " columns, one a class");
    }
    released([&] {
      m.scaling = scaling == "automatic" ? scaling_of(table) : parse_row_scaling(scaling);
      self->model.made = std::make_shared<gnn_model>(where, m);
      if (devices.size() > 1) {
        shard_options o;
        o.shards = static_cast<std::uint32_t>(devices.size());
        o.sums = deterministic ? shard_sums::exact : shard_sums::quick;
        o = decide_shards(m, *self->graph, t, o, devices).options;
        devices.resize(o.shards);
        self->shards = shards_of_threads(o);
      }
      self->start(*self->graph, table, known, m, t, devices);
    });
  } catch (...) {
    self->~py_training();
    throw;
  }
}

nb::dict next_of(py_training& t) {
  epoch_report const e = in_turn(t.model.busy, [&] { return t.on_all([](training& one) { return one.next(); }); });
  nb::dict d;
  d["epoch"] = e.epoch, d["steps"] = e.steps;
  d["loss"] = e.loss, d["accuracy"] = e.accuracy;
  d["ms"] = e.ms, d["best"] = e.best;
  d["exact"] = e.exact ? nb::object(said_of(*e.exact)) : nb::object(nb::none());
  d["recorded"] = e.recorded;
  d["unrecorded"] = e.unrecorded.empty() ? nb::object(nb::none()) : nb::object(nb::str(e.unrecorded.c_str()));
  d["load"] = told_of(e.load);
  return d;
}

// What a training tells of itself, when no epoch is under way.
template <auto Member>
auto told_in_turn() {
  return [](py_training& t) { return in_turn(t.model.busy, [&] { return (t.run.get()->*Member)(); }); };
}

}  // namespace

void add_gnn(nb::module_& m) {
  nb::class_<py_model>(m, "Model",
                       "A graph network that Garner trained: GCN, GraphSAGE or GIN. garner.read_model reads one, garner.train makes one.")
      .def_prop_ro(
          "options", [](py_model const& p) { return options_of(p.made->options()); }, nb::sig("def options(self) -> dict[str, typing.Any]"),
          "'kind', 'inputs', 'hidden', 'classes', 'layers', 'layer_norm', 'residual', 'labels', 'scaling'")
      .def_prop_ro("parameters", [](py_model const& p) { return p.made->parameters(); })
      .def_prop_ro(
          "device", [](py_model const& p) { return told(p.made->where()); }, "where its parameters lie: 'cpu', 'cuda:0', 'simulated'")
      .def(
          "tensors",
          [](py_model const& p) {
            nb::dict d;
            for (gnn_model::tensor& t : in_turn(p.busy, [&] { return p.made->tensors(); }))
              d[t.name.c_str()] = owned(std::move(t.values), {t.shape.begin(), t.shape.end()});
            return d;
          },
          nb::sig("def tensors(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]"),
          "Copies of the parameters, by the names that PyG's models have.")
      .def(
          "save",
          [](py_model const& p, nb::object file) {
            std::string const path = path_of(file);
            in_turn(p.busy, [&] { p.made->write(path); });
          },
          nb::arg("file"), nb::sig("def save(self, file: str | os.PathLike[str]) -> None"), "As safetensors.")
      .def("__repr__", [](py_model const& p) {
        model_options const& o = p.made->options();
        return "<garner.Model " + std::string(to_string(o.kind)) + " of " + std::to_string(o.layers) + " layers, " +
               std::to_string(o.inputs) + " inputs, " + std::to_string(o.classes) + " classes>";
      });
  m.def(
      "_read_model",
      [](nb::object file, nb::object device) {
        place const where = place_of(device);
        std::string const path = path_of(file);
        return py_model{released([&] { return std::make_shared<gnn_model>(gnn_model::read(path, where)); })};
      },
      nb::arg("file"), nb::arg("device"), nb::sig("def _read_model(file: str | os.PathLike[str], device: object) -> Model"));
  m.def(
      "_predict",
      [](py_model const& model, py_graph& graph, nb::object features, std::string const& side, bool weighted, std::string const& math) {
        inference_options o;
        o.side = side_of(side), o.weighted = weighted, o.math = parse_dense_math(math);
        std::vector<nb::object> kept;
        tiered_tensor& table = table_from(features, model.made->where(), kept).tensor;
        auto const g = graph.use_in_lists(o.side == list_side::in);
        std::uint64_t const n = g->info().vertices, classes = model.made->options().classes;
        std::vector<float> scores = in_turn(model.busy, [&] {
          std::vector<float> all(n * classes);
          infer(*model.made, *g, table, all, o);
          return all;
        });
        return owned(std::move(scores), {n, classes});
      },
      nb::arg("model"), nb::arg("graph"), nb::arg("features"), nb::arg("side"), nb::arg("weighted"), nb::arg("math"),
      nb::sig("def _predict(model: Model, graph: Graph, features: object, side: str, weighted: bool, math: str) -> "
              "numpy.typing.NDArray[numpy.float32]"));

  nb::class_<py_training>(m, "TrainingRun", "A training by its arrays; garner.Training is its face.")
      .def(
          "__init__", &make, nb::arg("graph"), nb::arg("features"), nb::arg("labels"), nb::arg("split"), nb::arg("options"),
          nb::sig("def __init__(self, graph: Graph, features: object, labels: object, split: numpy.typing.NDArray[numpy.uint8], **options: "
                  "object) -> None"))
      .def("next", &next_of, nb::sig("def next(self) -> dict[str, typing.Any]"), "One epoch, or what is left of one.")
      .def(
          "evaluate",
          [](py_training& t) {
            return said_of(in_turn(t.model.busy, [&] { return t.on_all([](training& one) { return one.evaluate(); }); }));
          },
          nb::sig("def evaluate(self) -> dict[str, typing.Any]"))
      .def(
          "save_checkpoint",
          [](py_training& t, nb::object file) {
            std::string const path = path_of(file);
            in_turn(t.model.busy, [&] { t.on_all([&](training& one) { one.keep(path); }); });
          },
          nb::arg("file"), nb::sig("def save_checkpoint(self, file: str | os.PathLike[str]) -> None"))
      .def(
          "load_checkpoint",
          [](py_training& t, nb::object file) {
            std::string const path = path_of(file);
            in_turn(t.model.busy, [&] { t.on_all([&](training& one) { one.resume(path); }); });
          },
          nb::arg("file"), nb::sig("def load_checkpoint(self, file: str | os.PathLike[str]) -> None"))
      .def("load_best", [](py_training& t) { in_turn(t.model.busy, [&] { t.on_all([](training& one) { one.take_best(); }); }); })
      .def_prop_ro("model", [](py_training& t) { return t.model; })
      .def_prop_ro("finished", told_in_turn<&training::over>())
      .def_prop_ro("epochs", told_in_turn<&training::epochs>())
      .def_prop_ro("steps", told_in_turn<&training::step>())
      .def_prop_ro("best_epoch", told_in_turn<&training::best_epoch>())
      .def_prop_ro("bytes", told_in_turn<&training::bytes>());
}

}  // namespace garner::python

// Models and trainings: a door over garner/gnn.hpp. garner/models.py makes the arrays of labels and splits.
#include "garner/gnn.hpp"

#include <nanobind/stl/optional.h>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <sstream>
#include <system_error>
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
  d["inputs"] = o.inputs, d["hidden_channels"] = o.hidden, d["num_classes"] = o.classes, d["num_layers"] = o.layers;
  d["layer_norm"] = o.layer_norm, d["residual"] = o.residual;
  d["labels"] = o.labels == label_kind::single_label ? "single_label" : "multi_label";
  d["scaling"] = std::string(to_string(o.scaling));
  return d;
}

nb::dict said_of(evaluation const& e) {
  nb::dict d;
  for (auto const& [name, part] : {std::pair{"train", &e.train}, std::pair{"validation", &e.validation}, std::pair{"test", &e.test}}) {
    nb::dict one;
    one["nodes"] = part->vertices, one["accuracy"] = part->accuracy, one["loss"] = part->loss;
    one["auc"] = part->auc ? nb::object(nb::float_(*part->auc)) : nb::object(nb::none());
    d[name] = one;
  }
  d["ms"] = e.ms;
  return d;
}

// What has become of the threads of one call. They share it with the call, which ends before a thread that hangs does.
struct device_threads {
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<bool> works;
  std::exception_ptr first;  // the other threads' exceptions follow from it
};

// An exception of a device's thread, with the device in its message where the failure is that device's own.
std::exception_ptr at_device(std::string const& name) {
  try {
    throw;
  } catch (error const& e) {
    bool const of_all = e.code() == errc::usage || e.code() == errc::input || e.code() == errc::interrupted;
    return of_all ? std::current_exception() : std::make_exception_ptr(error(e.code(), name + ": " + e.what()));
  } catch (...) {
    return std::current_exception();
  }
}

bool is_io(std::exception_ptr const& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (error const& e) {
    return e.code() == errc::io;
  } catch (...) {
    return false;
  }
}

// The graph and all else stay as long as it does.
struct py_training {
  nb::object graph_object = {};
  std::shared_ptr<graph_handle> graph = {};
  std::vector<nb::object> kept = {};
  nb::ndarray<std::uint8_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> split = {};  // while trainings are made
  py_model model = {};
  std::unique_ptr<training> run = {};
  // Devices behind the first, each of which trains on a part of the graph.
  struct follower {
    tiered_tensor table;
    gnn_model model;
    std::unique_ptr<training> run;
  };
  std::vector<std::unique_ptr<follower>> others = {};
  std::shared_ptr<shard_group> shards = {};
  std::vector<execution_device> devices = {};
  double timeout = 300;   // seconds
  std::string hung = {};  // of which device; from then on nothing of this may be called, nor freed: a thread has it

  py_training() = default;
  py_training(py_training&&) = default;
  ~py_training() {
    if (!hung.empty()) new py_training(std::move(*this));
  }

  std::string name_of(std::uint32_t k, std::uint32_t count) const {
    std::string all;  // which one works for all is not known here
    for (execution_device const one : devices) all += (all.empty() ? "" : ", ") + told(one);
    return count < devices.size()
               ? all
               : told(devices[k]) +
                     (devices.size() > 1 ? " (rank " + std::to_string(k) + " of " + std::to_string(devices.size()) + ")" : "");
  }
  // f(k) on `count` threads, without the interpreter's lock. Throws the first exception, or errc::device if no thread has ended or reached
  // a barrier for `limit` seconds. A hung thread outlives this call, so f owns what it uses or uses what a hung training never frees.
  template <class F>
  void on_threads(std::uint32_t count, double limit, F const& f) {
    auto const all = std::make_shared<device_threads>();
    all->works.assign(count, true);
    auto const end = [all](std::uint32_t k, std::exception_ptr problem) {
      std::lock_guard const hold(all->mutex);
      // A rank that stopped because of another one reports errc::io, perhaps before the other one's own error is here.
      if (problem && (!all->first || (is_io(all->first) && !is_io(problem)))) all->first = std::move(problem);
      all->works[k] = false;
      all->ended.notify_all();
    };
    for (std::uint32_t k = 0; k < count; ++k) try {
        std::thread([end, own = std::optional<F>(f), k, name = name_of(k, count)]() mutable {
          pthread_setname_np(pthread_self(), ("garner-device-" + std::to_string(k % 10)).c_str());
          std::exception_ptr problem;
          try {
            (*own)(k);
          } catch (...) {
            problem = at_device(name);
          }
          own.reset();  // before the caller may free what f refers to
          end(k, std::move(problem));
        }).detach();
      } catch (std::system_error const& e) {  // no more threads
        if (shards) leave_shards(*shards, k, e.what());
        end(k, std::make_exception_ptr(error(errc::memory, name_of(k, count) + ": " + e.what())));
      }
    auto const reached = [&](std::uint32_t k) { return shards ? barriers_of(*shards, k) : 0; };
    auto const sign = [&] {
      std::uint64_t barriers = 0;
      for (std::uint32_t k = 0; k < count; ++k) barriers += reached(k);
      return barriers;
    };
    using clock = std::chrono::steady_clock;
    auto last = sign();
    auto since = clock::now();
    std::optional<clock::time_point> interrupted;
    std::unique_lock hold(all->mutex);
    while (std::count(all->works.begin(), all->works.end(), true)) {
      all->ended.wait_for(hold, std::chrono::milliseconds(100));
      if (std::uint64_t const now = sign(); std::exchange(last, now) != now) since = clock::now();
      if (interrupted_now() && !interrupted) since = *(interrupted = clock::now());
      // A second more than the barrier's own timeout, whose error is better. After Ctrl-C a device has at most 10 seconds to stop.
      double const most = interrupted ? std::min(limit, 10.0) : limit + 1;
      if (std::chrono::duration<double>(clock::now() - since).count() < most) continue;
      std::uint64_t least = ~std::uint64_t{0};
      for (std::uint32_t k = 0; k < count; ++k)
        if (all->works[k]) least = std::min(least, reached(k));
      for (std::uint32_t k = 0; k < count; ++k) {
        if (!all->works[k] || reached(k) != least) continue;
        hung += (hung.empty() ? "" : " and ") + name_of(k, count);
        if (shards) leave_shards(*shards, k, "it hangs");
      }
      std::ostringstream silence;
      silence << hung << ": no sign for " << limit << " seconds";
      std::string const names = std::exchange(hung, silence.str());
      if (interrupted) refuse(errc::interrupted, "interrupted; " + names + " did not stop, and the training cannot go on");
      refuse_hung();
    }
    if (all->first) std::rethrow_exception(all->first);
  }
  // Parts are made and strategies measured with few barriers or none, on a graph of any size.
  double making() const { return std::max(timeout, 3600.0); }
  void refuse_hung() const {
    if (hung.empty()) return;
    refuse(errc::device, hung +
                             ", and the training cannot go on; see nvidia-smi for a fault, end this process (os._exit if it "
                             "does not end), and begin anew from the last checkpoint without that device or with a longer timeout=");
  }
  // A call that all devices make together; the result is the first one's.
  template <class Call>
  auto on_all(Call const& call) {
    refuse_hung();
    if (others.empty()) return call(*run);
    std::vector<training*> all{run.get()};
    for (auto const& one : others) all.push_back(one->run.get());
    auto const count = static_cast<std::uint32_t>(all.size());
    using result = decltype(call(*run));
    if constexpr (std::is_void_v<result>) {
      on_threads(count, timeout, [all, call](std::uint32_t k) { call(*all[k]); });
    } else {
      auto const found = std::make_shared<std::optional<result>>();
      on_threads(count, timeout, [all, call, found](std::uint32_t k) {
        result mine = call(*all[k]);
        if (k == 0) *found = std::move(mine);
      });
      return std::move(**found);
    }
  }
  // The trainings, made together.
  void start(tiered_tensor& table, labeled_nodes const& known, training_options t) {
    t.shards = shards;
    if (devices.size() <= 1) {
      run = std::make_unique<training>(*model.made, *graph, table, known, t);
      return;
    }
    std::vector<std::pair<gnn_model*, tiered_tensor*>> of{{model.made.get(), &table}};
    for (std::size_t k = 1; k < devices.size(); ++k) {
      others.push_back(
          std::make_unique<follower>(follower{table.for_device(devices[k]), gnn_model(devices[k], model.made->options()), {}}));
      of.emplace_back(&others.back()->model, &others.back()->table);
    }
    auto const made = std::make_shared<std::vector<std::unique_ptr<training>>>(devices.size());
    on_threads(static_cast<std::uint32_t>(devices.size()), making(), [of, made, known, t, g = graph.get()](std::uint32_t k) {
      training_options o = t;
      o.rank = k;
      (*made)[k] = std::make_unique<training>(*of[k].first, *g, *of[k].second, known, o);
    });
    run = std::move((*made)[0]);
    for (std::size_t k = 1; k < devices.size(); ++k) others[k - 1]->run = std::move((*made)[k]);
  }
};

void make(py_training* self, nb::object graph, nb::object features, nb::object labels,
          nb::ndarray<std::uint8_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> const& split, nb::kwargs options) {
  model_options m;
  training_options t;
  std::string kind = "sage", norm = "automatic", scaling = "automatic", math = "tf32", side = "in", activations = "automatic";
  std::optional<std::uint64_t> classes;
  execution_device where{};
  std::vector<execution_device> devices;
  bool deterministic = true;
  double timeout = 300;
  keywords given("train", std::move(options));
  given.take("model", kind);
  given.take("fanouts", t.fanouts);
  given.take("num_layers", m.layers);
  given.take("hidden_channels", m.hidden);
  given.take("norm", norm);
  given.take("residual", m.residual);
  given.take("scaling", scaling);
  given.take("num_classes", classes);
  given.take("batch_size", t.batch_size);
  given.take("lr", t.learning_rate);
  given.take("weight_decay", t.weight_decay);
  given.take("dropout", t.dropout);
  given.take("input_dropout", t.input_dropout);
  given.take("weighted", t.weighted);
  given.take("side", side);
  given.take("seed", t.seed);
  given.take("evaluate_every", t.evaluate_every);
  given.take("epochs", t.epochs);
  given.take("patience", t.patience);
  given.take("cuda_graph", t.cuda_graph);
  given.take("math", math);
  given.take("activations", activations);
  nb::object scratch = nb::none();
  given.take("scratch", scratch);
  if (!scratch.is_none()) t.scratch = path_of(scratch);
  given.take("device", where);
  given.take("devices", devices);
  given.take("deterministic", deterministic);
  given.take("timeout", timeout);
  take_loading(given, t.load);
  given.done();
  if (!devices.empty()) {
    if (!t.fanouts.empty())
      refuse(errc::usage, "devices= and fanouts=: several devices train on the whole graph; set fanouts=None, or device=");
    where = devices[0];
    for (execution_device const one : devices) {
      if (one.kind != where.kind) refuse(errc::usage, "devices=: " + told(where) + " and " + told(one) + "; give devices of one kind");
      if (int const there = device_count(); there && one.kind == device_kind::cuda && one.index >= there)
        refuse(errc::device, "devices=: " + told(one) + " does not exist; there are " + std::to_string(there) + ", counted from 0");
    }
  }
  if (!devices.empty() && !t.scratch.empty() && activations != "file")
    refuse(errc::usage, "scratch= with devices=: activations go there with activations='file'; add it, or leave scratch out");
  if (!(timeout > 0)) refuse(errc::usage, "timeout=" + std::to_string(timeout) + ": use seconds, more than 0");
  m.kind = parse_model_kind(kind);
  m.seed = t.seed;
  if (norm != "automatic" && norm != "none" && norm != "layer") refuse(errc::usage, "norm '" + norm + "': use none, layer or automatic");
  if (norm == "automatic") {
    bool const residual = m.residual;
    suit_layers(m, residual ? 0 : static_cast<std::uint64_t>(std::count(split.data(), split.data() + split.size(), std::uint8_t{1})));
    m.residual = m.residual || residual;
  } else {
    m.layer_norm = norm == "layer";
  }
  t.math = parse_dense_math(math), t.activations = parse_activation_place(activations);

  new (self) py_training;
  try {
    self->graph_object = graph;
    self->kept.push_back(labels), self->split = split;
    self->timeout = timeout;
    t.side = side_of(side, nb::cast<py_graph&>(graph));
    self->graph = nb::cast<py_graph&>(graph).use_in_lists(t.side == edge_direction::in || t.fanouts.empty());
    tiered_tensor& table = table_from(features, where, self->kept).tensor;
    m.inputs = table.width();
    labeled_nodes known;
    known.split = {split.data(), split.size()};
    if (nb::ndarray<std::int64_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> of_class; nb::try_cast(labels, of_class)) {
      known.labels = {of_class.data(), of_class.size(), 1, element::i64};
      std::int64_t const highest = of_class.size() ? *std::max_element(of_class.data(), of_class.data() + of_class.size()) : 0;
      m.classes = classes.value_or(static_cast<std::uint64_t>(std::max<std::int64_t>(highest, 0)) + 1);
    } else {
      auto const answers = nb::cast<nb::ndarray<std::uint8_t const, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(labels);
      known.labels = {answers.data(), answers.shape(0), answers.shape(1), element::u8};
      m.labels = label_kind::multi_label;
      m.classes = answers.shape(1);
      if (classes && *classes != m.classes)
        refuse(errc::usage,
               "num_classes=" + std::to_string(*classes) + ", and labels have " + std::to_string(m.classes) + " columns, one a class");
    }
    released([&] {
      m.scaling = scaling == "automatic" ? scaling_of(table) : parse_row_scaling(scaling);
      self->model.made = std::make_shared<gnn_model>(where, m);
      if (!devices.empty()) {
        shard_options o;
        o.shards = static_cast<std::uint32_t>(devices.size());
        o.sums = deterministic ? shard_reduction::deterministic : shard_reduction::fast;
        o.host_activations = t.activations == activation_place::host || t.activations == activation_place::file;
        o.scratch = t.scratch;
        self->devices = devices;
        auto const decided = std::make_shared<shard_options>(o);
        if (!o.host_activations)  // else memory is too short to measure others
          self->on_threads(1, self->making(), [decided, m, t, devices, g = self->graph.get()](std::uint32_t) {
            *decided = decide_shards(m, *g, t, *decided, devices).options;
          });
        self->devices.resize(decided->shards);
        self->shards = shards_of_threads(*decided, timeout);
      }
      self->start(table, known, t);
    });
    self->kept.erase(self->kept.begin()), self->split = {};
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
  d["captured"] = e.captured;
  d["not_captured"] = e.not_captured.empty() ? nb::object(nb::none()) : nb::object(nb::str(e.not_captured.c_str()));
  d["load"] = told_of(e.load);
  return d;
}

// A property of a training, read while no epoch is under way.
template <auto Member>
auto told_in_turn() {
  return [](py_training& t) { return in_turn(t.model.busy, [&] { return t.refuse_hung(), (t.run.get()->*Member)(); }); };
}

}  // namespace

void add_gnn(nb::module_& m) {
  nb::class_<py_model>(m, "Model",
                       "A graph network that Garner trained: GCN, GraphSAGE or GIN. garner.read_model reads one, garner.train makes one.")
      .def_prop_ro(
          "options", [](py_model const& p) { return options_of(p.made->options()); }, nb::sig("def options(self) -> dict[str, typing.Any]"),
          "'kind', 'inputs', 'hidden_channels', 'num_classes', 'num_layers', 'layer_norm', 'residual', 'labels', 'scaling'")
      .def_prop_ro("parameters", [](py_model const& p) { return p.made->parameters(); })
      .def_prop_ro(
          "device", [](py_model const& p) { return told(p.made->device()); }, "where its parameters lie: 'cpu', 'cuda:0', 'simulated'")
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
            in_turn(p.busy, [&] { p.made->save(path); });
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
        execution_device const where = place_of(device);
        std::string const path = path_of(file);
        return py_model{released([&] { return std::make_shared<gnn_model>(gnn_model::load(path, where)); })};
      },
      nb::arg("file"), nb::arg("device"), nb::sig("def _read_model(file: str | os.PathLike[str], device: object) -> Model"));
  m.def(
      "_predict",
      [](py_model const& model, py_graph& graph, nb::object features, std::string const& side, bool weighted, std::string const& math) {
        inference_options o;
        o.side = side_of(side, graph), o.weighted = weighted, o.math = parse_dense_math(math);
        std::vector<nb::object> kept;
        tiered_tensor& table = table_from(features, model.made->device(), kept).tensor;
        auto const g = graph.use_in_lists(o.side == edge_direction::in);
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
          "next_steps",
          [](py_training& t, std::uint64_t most) -> nb::object {
            auto const found = in_turn(t.model.busy, [&] { return t.on_all([most](training& one) { return one.next_steps(most); }); });
            if (!found) return nb::none();
            nb::dict d;
            d["epoch"] = found->epoch, d["step"] = found->step, d["loss"] = found->loss, d["accuracy"] = found->accuracy;
            return d;
          },
          nb::arg("most"), nb::sig("def next_steps(self, most: int) -> dict[str, float] | None"),
          "At most so many steps of an epoch of mini-batches; None: no step of it is left, and next() ends it.")
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
            in_turn(t.model.busy, [&] { t.on_all([path](training& one) { one.save_checkpoint(path); }); });
          },
          nb::arg("file"), nb::sig("def save_checkpoint(self, file: str | os.PathLike[str]) -> None"))
      .def(
          "load_checkpoint",
          [](py_training& t, nb::object file) {
            std::string const path = path_of(file);
            in_turn(t.model.busy, [&] { t.on_all([path](training& one) { one.load_checkpoint(path); }); });
          },
          nb::arg("file"), nb::sig("def load_checkpoint(self, file: str | os.PathLike[str]) -> None"))
      .def("load_best", [](py_training& t) { in_turn(t.model.busy, [&] { t.on_all([](training& one) { one.load_best(); }); }); })
      .def_prop_ro("model", [](py_training& t) { return t.refuse_hung(), t.model; })
      .def_prop_ro(
          "devices",
          [](py_training& t) {
            nb::list all;
            if (t.devices.empty()) all.append(told(t.model.made->device()));
            for (execution_device const one : t.devices) all.append(told(one));
            return all;
          },
          nb::sig("def devices(self) -> list[str]"))
      .def_prop_ro("activations",
                   [](py_training& t) {
                     return in_turn(t.model.busy, [&] { return t.refuse_hung(), std::string(to_string(t.run->options().activations)); });
                   })
      .def_prop_ro("finished", told_in_turn<&training::finished>())
      .def_prop_ro("epochs", told_in_turn<&training::epochs>())
      .def_prop_ro("steps", told_in_turn<&training::step>())
      .def_prop_ro("best_epoch", told_in_turn<&training::best_epoch>())
      .def_prop_ro("bytes", told_in_turn<&training::bytes>());
}

}  // namespace garner::python

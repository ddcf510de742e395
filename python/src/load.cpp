// The loader: mini-batches with their rows, handed over in time. Arrays are not copied: each keeps the MiniBatch that it is of, whose
// buffers go back to the loader with the last of them.
#include "garner/load.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <tuple>

#include "blocks.hpp"
#include "features.hpp"

namespace garner::python {

namespace {

// How the rows of a table look.
struct row_face {
  std::vector<std::size_t> shape;  // the first is to be set
  nb::dlpack::dtype type;
};

struct py_loader;
std::set<py_loader*>& all_loaders() {  // touched under the interpreter's lock
  static auto* const all = new std::set<py_loader*>;
  return *all;
}

struct py_loader {
  nb::object sampler_object;
  py_sampler& sampler;
  std::vector<nb::object> kept;  // tables
  std::shared_ptr<std::vector<row_face>> faces = std::make_shared<std::vector<row_face>>();
  std::unique_ptr<loader> made;
  turns busy;                         // over all members below
  bool entered = false, own = false;  // the epoch: by an iterator; of the caller's seeds
  bool own_alone = false;             // all of them
  std::uint64_t iteration = 0;        // the last alone goes on
  std::uint32_t seed_type = 0;
  pid_t const process = ::getpid();

  explicit py_loader(nb::object of) : sampler_object(std::move(of)), sampler(nb::cast<py_sampler&>(sampler_object)) {
    all_loaders().insert(this);
  }
  py_loader(py_loader const&) = delete;
  ~py_loader() {
    all_loaders().erase(this);
    if (process != ::getpid()) {  // its thread is the parent's
      static_cast<void>(made.release());
      return;
    }
    {
      nb::gil_scoped_release unlocked;
      made.reset();
    }
    if (sampler.lent == this) sampler.lent = nullptr;
  }

  // In host memory: the loader copies them.
  int64s seeds_of(nb::handle from, std::uint32_t type) const {
    if (type >= sampler.types)
      refuse(errc::usage, "seed_type " + std::to_string(type) + ": of " + std::to_string(sampler.types) + ", counted from 0");
    return positions_of(from, "seeds", sampler.sampler->vertices(type), {});
  }
  loader& here() {
    if (process != ::getpid()) refuse(errc::usage, "this Loader was made by another process; make one in each");
    return *made;
  }
  loader& at_work() {
    loader& l = here();
    if (sampler.lent == this) return l;
    turn const others(sampler.busy);  // whose sampling is under way
    if (sampler.lent) refuse(errc::usage, "another Loader samples with this sampler; stop() that, or make another sampler");
    sampler.lent = this;
    return l;
  }
  void stop() {
    if (process != ::getpid()) return;
    turn const mine(busy);
    released([&] { made->stop(); });
    if (sampler.lent == this) sampler.lent = nullptr;
  }
};

struct py_mini_batch {
  mini_batch made;
  std::shared_ptr<std::vector<row_face> const> faces;
  std::size_t types = 1, relations = 1;
  bool edge_ids = false;
  turns busy = {};
  execution_device where() const { return made.subgraph().device(); }
};

// An iteration: what is left of one epoch.
struct py_epoch {
  nb::object of;
  std::uint64_t iteration;
};

// The stream that torch works on, where torch is there and sees the device; else 0: the caller waits.
std::uint64_t stream_of_torch(execution_device at) {
  if (at.kind != device_kind::cuda) return 0;
  nb::dict const modules = nb::cast<nb::dict>(nb::module_::import_("sys").attr("modules"));
  if (!modules.contains("torch")) return 0;
  nb::object const cuda = nb::object(modules["torch"]).attr("cuda");
  if (!nb::cast<bool>(cuda.attr("is_available")())) return 0;
  std::uint64_t const stream = nb::cast<std::uint64_t>(cuda.attr("current_stream")(at.index).attr("cuda_stream"));
  return stream ? stream : 1;  // the default stream by name
}

// In turn.
nb::object next_of(py_loader& l, std::optional<std::uint64_t> on) {
  loader& from = l.at_work();
  std::uint64_t const address = on ? *on : stream_of_torch(l.sampler.sampler->device());
  stream_ref const stream = stream_ref::of_address(reinterpret_cast<void*>(address));
  bool again = false;
  std::optional<mini_batch> b = released([&] {
    for (;;) try {
        return from.next(stream);
      } catch (error const& e) {
        // A Ctrl-C of which Python was notified before stopped the loader's thread: it continues where it stopped.
        if (e.code() != errc::interrupted || std::exchange(again, true) || interrupted_now()) throw;
      }
  });
  l.entered = b.has_value();
  if (!b) return nb::none();
  return nb::cast(py_mini_batch{std::move(*b), l.faces, l.sampler.types, l.sampler.relations, l.sampler.edge_ids});
}

nb::dlpack::dtype type_as(element e) {
  using code = nb::dlpack::dtype_code;
  return e == element::bf16 ? nb::dlpack::dtype{static_cast<std::uint8_t>(code::Bfloat), 16, 1}
                            : nb::dlpack::dtype{static_cast<std::uint8_t>(code::Float), 32, 1};
}

}  // namespace

void take_loading(keywords& given, loader_options& into) {
  static std::map<std::string, load_strategy> const strategies{
      {"automatic", load_strategy::automatic}, {"window", load_strategy::window}, {"tiered", load_strategy::tiered}};
  static std::map<std::string, cache_policy> const policies{{"next-use", cache_policy::next_use}, {"pinned", cache_policy::pinned}};
  given.take("prefetch", into.prefetch);
  given.take("window", into.window);
  given.choose("strategy", into.strategy, strategies);
  given.take_bytes("window_bytes", into.window_bytes);
  given.choose("cache", into.cache, policies);
  given.take("multiprocessors", into.multiprocessors);
}

namespace {

void make(py_loader* self, nb::args positional, nb::kwargs options) {
  loader_options o;
  nb::object rank = nb::none(), ranks = nb::none(), times = nb::none();
  std::optional<element> to;
  keywords given("Loader", positional, std::move(options), {"sampler", "seeds", "tables", "labels"});
  nb::object sampler = given.need("sampler"), seeds = given.need("seeds");
  nb::object tables = nb::make_tuple(), labels = nb::make_tuple(), of_edges = nb::make_tuple();
  given.take("tables", tables);
  given.take("labels", labels);
  given.take("edge_tables", of_edges);
  given.take("batch_size", o.batch_size);
  given.take("shuffle", o.shuffle);
  given.take("drop_last", o.drop_last);
  given.take("seed", o.seed);
  given.take("seed_type", o.seed_type);
  take_loading(given, o);
  given.take("keep_times", o.keep_times);
  given.take("rank", rank);
  given.take("ranks", ranks);
  given.take("times", times);
  given.choose("dtype", to, conversions);
  given.done();
  nb::object const share = nb::module_::import_("garner.shares").attr("share_of_seeds")(rank, ranks, seeds);
  std::tie(o.rank, o.ranks) = nb::cast<std::pair<std::uint32_t, std::uint32_t>>(share);

  if (!nb::isinstance<py_sampler>(sampler))
    throw nb::type_error(
        (std::string("Loader(): sampler=") + shown(sampler) + " is not a BlockSampler; make one with garner.BlockSampler").c_str());
  new (self) py_loader(std::move(sampler));
  try {
    execution_device const where = self->sampler.sampler->device();
    std::vector<loaded_table> all;
    auto const add = [&](nb::handle one, bool seeds_only) {
      loaded_table t;
      nb::object table = nb::borrow(one);
      if (!seeds_only && nb::isinstance<nb::tuple>(table)) {
        if (nb::len(table) != 2 || !nb::try_cast(nb::object(table[1]), t.type))
          throw nb::type_error("Loader(): tables are tables, or pairs of a table and the number of a type of vertices");
        table = nb::object(table[0]);
      }
      py_table& found = table_from(table, where, self->kept);
      t.table = &found.tensor, t.seeds_only = seeds_only;
      if (!seeds_only) t.to = to;
      self->faces->push_back({found.host.shape, t.to ? type_as(*t.to) : found.host.type});
      all.push_back(t);
    };
    auto const each = [&](nb::object const& some, char const* name, bool seeds_only) {  // a list of tables, or one
      if (nb::hasattr(some, "shape")) return add(some, seeds_only);
      if (!PySequence_Check(some.ptr()))
        throw nb::type_error((std::string("Loader(): ") + name + "=" + shown(some) + " is not a sequence; give a list of tables").c_str());
      for (nb::handle one : some) add(one, seeds_only);
    };
    each(tables, "tables", false);
    each(labels, "labels", true);
    for (nb::handle one : of_edges) {
      loaded_table t;
      std::uint32_t relation = 0;
      if (!nb::isinstance<nb::tuple>(one) || nb::len(one) < 2 || nb::len(one) > 3 || !nb::try_cast(nb::object(one[1]), relation) ||
          (nb::len(one) == 3 && !nb::try_cast(nb::object(one[2]), t.by)))
        throw nb::type_error("Loader(): edge_tables are (table, number of a relation), and the number of the table that names their rows");
      py_table& found = table_from(nb::object(one[0]), where, self->kept);
      t.table = &found.tensor, t.relation = relation;
      self->faces->push_back({found.host.shape, found.host.type});
      all.push_back(t);
    }
    self->seed_type = o.seed_type;
    if (seeds.is_none()) {
      self->own_alone = true;
      self->made =
          in_turn(self->sampler.busy, [&] { return std::make_unique<loader>(loader::of_own(*self->sampler.sampler, std::move(all), o)); });
      return;
    }
    int64s const from = self->seeds_of(seeds, o.seed_type), at = int64s_of(times, "times", {});
    std::vector<std::int64_t> const ids(from.seen.begin(), from.seen.end()), ages(at.seen.begin(), at.seen.end());
    self->made =
        in_turn(self->sampler.busy, [&] { return std::make_unique<loader>(*self->sampler.sampler, std::move(all), ids, o, ages); });
  } catch (...) {
    self->~py_loader();
    throw;
  }
}

// In turn. What begins an epoch, in which the sampler is the loader's from then on.
template <class Begin>
void begin(py_loader& l, bool own, Begin do_it) {
  bool const worked = l.sampler.lent == &l;
  loader& made = l.at_work();
  try {
    released([&] { do_it(made); });
  } catch (...) {
    if (!worked) l.sampler.lent = nullptr;
    throw;
  }
  l.entered = false, l.own = own;
}

nb::object rows_of(nb::object self, std::size_t k) {
  auto const& b = nb::cast<py_mini_batch const&>(self);
  mini_batch::rows const& rows = b.made.of_table(k);
  row_face face = (*b.faces)[k];
  face.shape[0] = rows.count;
  static std::uint64_t none = 0;
  void* const data = rows.data && rows.count ? rows.data : &none;
  execution_device const at = b.where();
  bool const bf16 = face.type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat);  // which NumPy has no name for
  if (at.kind == device_kind::cuda || bf16) return batch_array(self, at, data, face.shape, nullptr, face.type);
  return nb::cast(nb::ndarray<nb::numpy>(data, face.shape.size(), face.shape.data(), self, nullptr, face.type, nb::device::cpu::value, 0));
}

}  // namespace

nb::dict told_of(load_report const& r) {
  nb::dict d;
  d["batches"] = r.batches, d["seeds"] = r.seeds;
  d["nodes"] = r.nodes, d["edges"] = r.edges;
  d["ms"] = r.ms, d["sample_ms"] = r.sample_ms, d["fetch_ms"] = r.fetch_ms, d["gather_ms"] = r.gather_ms;
  d["loader_waited_ms"] = r.loader_waited_ms, d["caller_waited_ms"] = r.caller_waited_ms;
  d["rows"] = by_tier(r.rows);
  nb::list times;
  for (batch_times const& t : r.times) {
    nb::dict one;
    one["epoch"] = t.epoch, one["index"] = t.index;
    for (auto const& [name, stage] : {std::pair{"sample", &t.sample}, std::pair{"fetch", &t.fetch}, std::pair{"gather", &t.gather}})
      one[name] = nb::make_tuple(stage->begin, stage->end);
    one["handed"] = t.handed;
    times.append(one);
  }
  d["times"] = times;
  d["window_rows"] = r.window_rows, d["fetched_rows"] = r.fetched_rows, d["remote_bytes"] = r.remote_bytes, d["window"] = r.window;
  d["file_hits"] = r.file_hits, d["file_reads"] = r.file_reads, d["file_bytes"] = r.file_bytes;
  d["file_waited_ms"] = r.file_waited_ms;
  return d;
}

void add_load(nb::module_& m) {
  auto const batches = [](py_loader& l) { return in_turn(l.busy, [&] { return l.here().batches(); }); };
  nb::class_<py_mini_batch>(m, "MiniBatch",
                            "What garner.Loader hands over. Its buffers return to the loader once it and all its arrays are released.")
      .def_prop_ro("epoch", [](py_mini_batch const& b) { return b.made.epoch(); })
      .def_prop_ro(
          "index", [](py_mini_batch const& b) { return b.made.index(); }, "in its epoch")
      .def_prop_ro(
          "seeds", [](py_mini_batch const& b) { return b.made.seeds(); }, "how many; they are the first nodes of their type")
      .def_prop_ro(
          "positions",
          [](nb::object self) {
            auto const& b = nb::cast<py_mini_batch const&>(self);
            if (!b.made.positions()) return nb::object(nb::none());
            return array_of(self, b.where(), b.made.positions(), b.made.seeds());
          },
          nb::sig("def positions(self) -> typing.Any"),
          "Each seed's position among those that the loader was given. int64. None: the caller passed these seeds to submit().")
      .def(
          "of_type",
          [](nb::object self, std::uint32_t type) {
            auto const& b = nb::cast<py_mini_batch const&>(self);
            return vertices_of(self, b.made.subgraph(), b.types, type);
          },
          nb::arg("type"), nb::sig("def of_type(self, type: int) -> SampledNodes"))
      .def(
          "of_relation",
          [](nb::object self, std::uint32_t relation) {
            auto const& b = nb::cast<py_mini_batch const&>(self);
            return edges_of(self, b.made.subgraph(), b.relations, relation, b.edge_ids);
          },
          nb::arg("relation"), nb::sig("def of_relation(self, relation: int) -> SampledEdges"))
      .def("rows", &rows_of, nb::arg("table"), nb::sig("def rows(self, table: int) -> typing.Any"),
           "Rows of a table, for all nodes of its type; of a table of labels, for the seeds. Labels count on behind tables. An array of\n"
           "NumPy's, or of the device (DLPack).")
      .def(
          "use_on",
          [](py_mini_batch& b, std::uint64_t stream) {
            in_turn(b.busy, [&] { b.made.use_on(stream_ref::of_address(reinterpret_cast<void*>(stream))); });
          },
          nb::arg("stream"),
          "Adds a stream that uses it (its address, as torch.cuda.Stream.cuda_stream; 1: the default one) to the one that it was handed\n"
          "over to. Work put on the stream from now on finds its rows. Its buffers are reused once the work is done that all these\n"
          "streams had been given before the last array was released. torch.from_dlpack and other consumers of DLPack call it.")
      .def_prop_ro(
          "device", [](py_mini_batch const& b) { return told_memory(b.where()); }, "where its arrays lie: 'cpu', 'cuda:0'")
      .def("__repr__", [](py_mini_batch const& b) {
        return "<garner.MiniBatch " + std::to_string(b.made.index()) + " of epoch " + std::to_string(b.made.epoch()) + ": " +
               std::to_string(b.made.seeds()) + " seeds>";
      });

  nb::class_<py_epoch>(m, "LoaderEpoch", "What is left of an epoch of a garner.Loader.")
      .def(
          "__iter__", [](nb::object self) { return self; }, nb::sig("def __iter__(self) -> LoaderEpoch"))
      .def(
          "__next__",
          [](py_epoch& e) {
            auto& l = nb::cast<py_loader&>(e.of);
            turn const mine(l.busy);
            if (e.iteration == 0) throw nb::stop_iteration();
            if (e.iteration != l.iteration)
              refuse(errc::usage, "a later iteration over this Loader has begun; for two at a time make two loaders");
            nb::object b = next_of(l, {});
            if (!b.is_none()) return b;
            e.iteration = 0;
            throw nb::stop_iteration();
          },
          nb::sig("def __next__(self) -> MiniBatch"));

  nb::class_<py_loader>(
      m, "Loader",
      "Mini-batches in time: a thread samples them ahead, fetches the remote rows of several of them at once, gathers their\n"
      "rows and hands them over. Iterating yields the MiniBatches of one epoch; what was resumed goes on first.\n"
      "While it works nothing else can use its sampler. Threads may share it: each mini-batch is one's.")
      .def(
          "__init__", &make, nb::arg("positional"), nb::arg("options"),
          nb::sig(
              "def __init__(self, sampler: BlockSampler, seeds: object, tables: collections.abc.Sequence[object] = (), labels: "
              "collections.abc.Sequence[object] = (), *, edge_tables: collections.abc.Sequence[tuple[object, ...]] = (), batch_size: int = "
              "1024, shuffle: bool = True, drop_last: bool = False, seed: int = "
              "1, seed_type: int = 0, prefetch: int = 2, window: int = 0, strategy: str = 'automatic', window_bytes: int | str | None = "
              "None, "
              "cache: str = 'next-use', multiprocessors: int = 8, keep_times: int = "
              "0, rank: int | None = "
              "None, ranks: int | str | None = "
              "None, times: object = "
              "None, dtype: str | None = "
              "None) -> None"),
          "seeds: positions of nodes of type seed_type, each once, or a bool per node. tables: one or a list, a row per node: of\n"
          "garner.tiered, gathered where the sampler samples, or what garner.tiered takes; of another type of nodes: (table, type).\n"
          "labels: the same, of which the rows of the seeds come. edge_tables: (table, relation): of the edges, by SampledEdges.edge, rows "
          "behind\n"
          "those of labels; (table, relation, k): by the numbers that table k of all, a permutation, has for them.\n"
          "seeds None: each epoch is the caller's own, by open() and submit(). times: one a seed, of a temporal sampling. dtype: of the "
          "rows "
          "of\n"
          "tables: 'f32', 'bf16'; None: as they are.\n"
          "batch_size, drop_last: seeds per mini-batch; one with fewer is left out. shuffle, seed: the order is a function of seed and "
          "epoch.\n"
          "prefetch: mini-batches that are ready before they are needed. window: the prefetch window: mini-batches whose remote rows are\n"
          "fetched together; 0: 8 to 32,\n"
          "as an eighth of free memory has room for; in window_bytes a table (None: a quarter of what is free). multiprocessors: of the\n"
          "device, for remote rows; 0: all.\n"
          "strategy: 'automatic', 'window', 'tiered': how rows come. cache: of tables that stay in a file, which "
          "rows\n"
          "stay in memory a while: 'next-use', 'pinned' (by score).\n"
          "keep_times: for so many mini-batches report() has the times of each stage.\n"
          "rank, ranks: this one of several processes takes its share of the seeds, which must be the same in all; ranks='torchrun': as\n"
          "torch.distributed says, or else the environment (RANK, WORLD_SIZE). None: all of the seeds are this process's own.\n"
          "Errors: UsageError, InputError for seeds twice or a table with fewer rows than nodes, IdError for a seed that does not exist.")
      .def_prop_ro("batches", batches, "an epoch")
      .def("__len__", batches)
      .def(
          "begin",
          [](py_loader& l, std::uint64_t epoch) {
            turn const mine(l.busy);
            begin(l, false, [&](loader& made) { made.begin(epoch); });
          },
          nb::arg("epoch"), "The next mini-batch is the first of that epoch; what was under way is dropped.")
      .def(
          "open",
          [](py_loader& l, std::uint64_t epoch, std::uint64_t draws) {
            turn const mine(l.busy);
            begin(l, true, [&](loader& made) { made.open(epoch, draws); });
          },
          nb::arg("epoch") = 0, nb::arg("first_number") = 0,
          "Begins an epoch of the caller's own, shared with no rank: of the mini-batches that submit() brings, until end(). Mini-batch k "
          "samples\n"
          "what the sampler samples by number first_number + k. next() has none behind the last until another epoch is begun.")
      .def(
          "submit",
          [](py_loader& l, std::vector<std::tuple<nb::object, std::uint32_t, nb::object>> const& seeds) {
            own_batch all;
            for (auto const& [ids, type, times] : seeds) {
              int64s const from = l.seeds_of(ids, type), at = int64s_of(times, "times", {});
              all.push_back({type, {from.seen.begin(), from.seen.end()}, {at.seen.begin(), at.seen.end()}});
            }
            turn const mine(l.busy);
            l.here().submit(std::move(all));
          },
          nb::arg("seeds"), nb::sig("def submit(self, seeds: collections.abc.Sequence[tuple[object, int, object]]) -> None"),
          "One more mini-batch of the open epoch: (seeds, type, times or None) of each type that has some, as BlockSampler.sample_types "
          "takes\n"
          "them, in host memory. One that comes some 5 windows before its turn is sampled and gathered ahead.")
      .def(
          "end",
          [](py_loader& l) {
            turn const mine(l.busy);
            l.here().end();
          },
          "No more mini-batches are given in the open epoch.")
      .def_prop_ro(
          "window", [](py_loader& l) { return l.here().window(); }, "mini-batches that are sampled together, as it was chosen by now")
      .def(
          "next",
          [](py_loader& l, std::optional<std::uint64_t> stream) {
            turn const mine(l.busy);
            return next_of(l, stream);
          },
          nb::arg("stream") = nb::none(), nb::sig("def next(self, stream: int | None = None) -> MiniBatch | None"),
          "The next mini-batch of the epoch, or None at its end, after which the next epoch begins.\n"
          "stream: on a device: its rows are there when this stream (an address) has come so far; 0: when this returns; None: the stream\n"
          "that torch works on.")
      .def(
          "__iter__",
          [](nb::object self) {
            auto& l = nb::cast<py_loader&>(self);
            turn const mine(l.busy);
            if (l.entered && !l.own) {  // the one before was broken off
              std::uint64_t const epoch = l.here().state().epoch;
              begin(l, false, [&](loader& made) { made.begin(epoch + 1); });
            }
            return py_epoch{self, ++l.iteration};
          },
          nb::sig("def __iter__(self) -> LoaderEpoch"))
      .def(
          "state", [](py_loader& l) { return in_turn(l.busy, [&] { return l.here().state().text(); }); },
          "Where it is, in one line for a file: resume() of a loader over the same graph, seeds and options goes on there.")
      .def(
          "resume",
          [](py_loader& l, std::string const& state) {
            load_state const s = load_state::parse(state);
            turn const mine(l.busy);
            loader& made = l.at_work();
            released([&] { made.resume(s); });
            l.entered = false;
          },
          nb::arg("state"), "Goes on at the very mini-batch. InputError where the state is of another loader.")
      .def("stop", &py_loader::stop, "Ends its thread and frees its sampler; next() goes on where it stopped.")
      .def(
          "report", [](py_loader& l) { return told_of(in_turn(l.busy, [&] { return l.here().report(); })); },
          nb::sig("def report(self) -> dict[str, typing.Any]"),
          "Since begin(), resume() or the making: mini-batches and seeds handed over, what each stage took in ms (they overlap), how long\n"
          "the loader and its caller waited for each other, rows by tier, those of the window, bytes that crossed the link. times: when\n"
          "each stage of the first keep_times mini-batches began and ended, in ms since the loader was made; sample and fetch of\n"
          "mini-batches made together are in the first one, 0 in the others.")
      .def_prop_ro(
          "nbytes", [](py_loader& l) { return in_turn(l.busy, [&] { return l.here().bytes(); }); },
          "bytes of memory on its device that it and its sampler hold now")
      .def("__repr__", [](py_loader& l) {
        auto const [n, state] = in_turn(l.busy, [&] { return std::pair(l.here().batches(), l.here().state().text()); });
        return "<garner.Loader of " + std::to_string(n) + " mini-batches, " + state + ">";
      });

  // No thread is left when the interpreter ends, whoever still holds its loader.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    // While one stops other threads run, which may make loaders and release them.
    std::set<py_loader*> const some = all_loaders();
    for (py_loader* l : some) {
      nb::object const kept = all_loaders().contains(l) ? nb::find(*l) : nb::object();
      if (kept.is_valid() && l->made) l->stop();
    }
  }));
}

}  // namespace garner::python

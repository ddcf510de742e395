// Rows that a model learns, and aggregation over lists or a part of a graph: by addresses. Which library's arrays they are is the
// business of garner/rows.py and garner/arrays.py.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "blocks.hpp"
#include "features.hpp"

namespace garner::python {

namespace {

stream_ref stream_at(std::uint64_t address) { return stream_ref::of_address(reinterpret_cast<void*>(address)); }
template <class T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

using rows_of_floats = nb::ndarray<nb::numpy, float, nb::ndim<2>, nb::c_contig>;

row_real real_of(std::string const& kind) {
  for (auto const& [name, is] : {std::pair{"float32", row_real::f32}, {"float64", row_real::f64}, {"float16", row_real::f16}})
    if (kind == name) return is;
  return row_real::bf16;
}

// offsets, ends, order: addresses; items, edges, loops.
using lists_told = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
list_sums::lists adjacency_of(lists_told const& l) {
  return {at<std::int64_t>(std::get<0>(l)),
          at<std::int32_t>(std::get<1>(l)),
          at<std::int64_t>(std::get<2>(l)),
          std::get<3>(l),
          std::get<4>(l),
          std::get<5>(l)};
}
// What rows hold, heads, columns of each.
using shape_told = std::tuple<std::string, std::uint64_t, std::uint64_t>;
list_sums::shape shape_of(shape_told const& s) { return {real_of(std::get<0>(s)), std::get<1>(s), std::get<2>(s)}; }

void add_list_sums(nb::module_& m) {
  using sums = in_turns<list_sums>;
  nb::class_<sums>(m, "ListSums", "Sums over adjacency lists by addresses; garner.torch.aggregate is its face.")
      .def(
          "__init__",
          [](sums* self, nb::object where) {
            execution_device const there = place_of(where);
            new (self) sums(released([&] { return list_sums(there); }));
          },
          nb::arg("device"), nb::sig("def __init__(self, device: object) -> None"))
      .def_static(
          "scratch_bytes",
          [](lists_told const& lists, shape_told const& shape) { return list_sums::scratch_bytes(adjacency_of(lists), shape_of(shape)); },
          nb::arg("lists"), nb::arg("shape"))
      .def(
          "sum",
          [](sums& a, lists_told const& lists, shape_told const& shape, std::uint64_t in, std::uint64_t out, std::uint64_t weights,
             bool mean, std::uint64_t end_offsets, std::uint64_t scratch, std::uint64_t stream, std::uint64_t own, std::uint64_t eps) {
            using scale = list_sums::scale;
            list_sums::lists const over = adjacency_of(lists);
            list_sums::shape const of = shape_of(shape);
            scale const by = mean ? scale::mean : end_offsets ? scale::shares : scale::none;
            in_turn(a.busy, [&] {
              a.sum(over, of, at<void>(in), at<void>(out), at<void>(weights), by, at<std::int64_t>(end_offsets), at<void>(scratch),
                    stream_at(stream), at<void>(own), at<void>(eps));
            });
          },
          nb::arg("lists"), nb::arg("shape"), nb::arg("rows"), nb::arg("out"), nb::arg("weights"), nb::arg("mean"), nb::arg("end_offsets"),
          nb::arg("scratch"), nb::arg("stream"), nb::arg("own"), nb::arg("eps"))
      .def(
          "dot",
          [](sums& a, lists_told const& lists, shape_told const& shape, std::uint64_t in, std::uint64_t gradients, std::uint64_t out,
             bool mean, std::uint64_t stream) {
            list_sums::lists const over = adjacency_of(lists);
            list_sums::shape const of = shape_of(shape);
            in_turn(a.busy, [&] {
              a.dot(over, of, at<void>(in), at<void>(gradients), at<void>(out), mean ? list_sums::scale::mean : list_sums::scale::none,
                    stream_at(stream));
            });
          },
          nb::arg("lists"), nb::arg("shape"), nb::arg("rows"), nb::arg("gradients"), nb::arg("out"), nb::arg("mean"), nb::arg("stream"))
      .def(
          "soften",
          [](sums& a, lists_told const& lists, shape_told const& shape, std::uint64_t scores, std::uint64_t weights, double slope,
             std::uint64_t stream) {
            list_sums::lists const over = adjacency_of(lists);
            list_sums::shape const of = shape_of(shape);
            in_turn(a.busy, [&] { a.soften(over, of, at<void>(scores), at<void>(weights), slope, stream_at(stream)); });
          },
          nb::arg("lists"), nb::arg("shape"), nb::arg("scores"), nb::arg("weights"), nb::arg("slope"), nb::arg("stream"))
      .def(
          "soften_back",
          [](sums& a, lists_told const& lists, lists_told const& back, shape_told const& shape, std::uint64_t scores, std::uint64_t weights,
             std::uint64_t gradients, std::uint64_t of_scores, double slope, std::uint64_t stream) {
            list_sums::lists const over = adjacency_of(lists), turned = adjacency_of(back);
            list_sums::shape const of = shape_of(shape);
            in_turn(a.busy, [&] {
              a.soften_back(over, turned, of, at<void>(scores), at<void>(weights), at<void>(gradients), at<void>(of_scores), slope,
                            stream_at(stream));
            });
          },
          nb::arg("lists"), nb::arg("back"), nb::arg("shape"), nb::arg("scores"), nb::arg("weights"), nb::arg("gradients"),
          nb::arg("of_scores"), nb::arg("slope"), nb::arg("stream"));
}

void add_shard_aggregation(nb::module_& m) {
  using part = in_turns<shard_aggregation>;
  nb::class_<part>(m, "ShardAggregation", "A part of a graph and its sums, by addresses; garner.torch.shard is its face.")
      .def(
          "__init__",
          [](part* self, py_graph& graph, std::uint32_t shard, std::uint32_t shards, std::string const& side, bool weighted,
             std::string const& balance, bool deterministic, bool host_adjacency, nb::object device) {
            shard_options o;
            o.remote_adjacency = host_adjacency;
            o.shards = shards, o.balance = parse_shard_balance(balance),
            o.sums = deterministic ? shard_reduction::deterministic : shard_reduction::fast;
            edge_direction const from = side_of(side, graph);
            execution_device const where = place_of(device);
            auto const g = graph.use_in_lists();
            new (self) part(released([&] { return shard_aggregation(*g, from, weighted, o, shard, where); }));
          },
          nb::arg("graph"), nb::arg("shard"), nb::arg("shards"), nb::arg("side"), nb::arg("weighted"), nb::arg("balance"),
          nb::arg("deterministic"), nb::arg("host_adjacency"), nb::arg("device"),
          nb::sig("def __init__(self, graph: Graph, shard: int, shards: int, side: str, weighted: bool, balance: str, deterministic: bool, "
                  "host_adjacency: bool, device: object) -> None"))
      .def_prop_ro("first", &shard_aggregation::first)
      .def_prop_ro("count", &shard_aggregation::count)
      .def_prop_ro("symmetric", &shard_aggregation::symmetric, "backward needs the rows that forward needs")
      .def_prop_ro("bytes", &shard_aggregation::bytes)
      .def(
          "positions", [](part const& a) { return to_numpy(a.positions()); }, "Where its nodes stand among Graph.ids().")
      .def(
          "needs",
          [](part const& a, bool back) {
            std::vector<std::int64_t> counts, rows;
            for (auto const& of : a.needs(back)) {
              counts.push_back(static_cast<std::int64_t>(of.size()));
              rows.insert(rows.end(), of.begin(), of.end());
            }
            return std::pair(to_numpy(std::move(counts)), to_numpy(std::move(rows)));
          },
          nb::arg("back"), "How many rows of each shard, and which, by that shard's own numbers, one shard's after the other.")
      .def(
          "begin",
          [](part& a, std::string const& how, bool back, std::uint64_t in, std::uint64_t out, std::uint64_t columns, std::uint64_t stream) {
            aggregation const as = parse_aggregation(how);
            in_turn(a.busy, [&] { a.begin(as, back, at<float>(in), at<float>(out), columns, stream_at(stream)); });
          },
          nb::arg("how"), nb::arg("back"), nb::arg("rows"), nb::arg("out"), nb::arg("columns"), nb::arg("stream") = 0)
      .def(
          "reduce_host",
          [](part& a, std::string const& how, bool back, std::uint64_t in, std::uint64_t out, std::uint64_t columns) {
            aggregation const as = parse_aggregation(how);
            in_turn(a.busy, [&] { a.reduce_host(as, back, at<float>(in), at<float>(out), columns); });
          },
          nb::arg("how"), nb::arg("back"), nb::arg("rows"), nb::arg("out"), nb::arg("columns"))
      .def(
          "finish",
          [](part& a, std::string const& how, bool back, std::uint64_t in, std::uint64_t brought, std::uint64_t out, std::uint64_t columns,
             std::uint64_t stream) {
            aggregation const as = parse_aggregation(how);
            in_turn(a.busy, [&] { a.finish(as, back, at<float>(in), at<float>(brought), at<float>(out), columns, stream_at(stream)); });
          },
          nb::arg("how"), nb::arg("back"), nb::arg("rows"), nb::arg("brought"), nb::arg("out"), nb::arg("columns"), nb::arg("stream") = 0);
}

}  // namespace

void add_rows(nb::module_& m) {
  nb::class_<update_run>(m, "UpdateRun", "What a step of an Embedding did.")
      .def_ro("rows", &update_run::rows, "different ones that were stepped")
      .def_ro("remote_rows", &update_run::remote_rows, "of these, in host memory")
      .def_ro("remote_bytes", &update_run::remote_bytes, "with their state: so many are read over the link, and as many written")
      .def_ro("link", &update_run::link, "simulated: traffic on the link for reading them; the same bytes are written back");

  nb::class_<embedding>(m, "LearnedTable", "A trainable table, by addresses; garner.embedding is its face.")
      .def(
          "__init__",
          [](embedding* self, std::uint64_t rows, std::uint64_t width, nb::object where, std::string const& optimizer,
             std::string const& first, double spread, std::uint64_t seed, nb::object device_budget, nb::object scores,
             std::string const& dtype, nb::object file, nb::object host_cache) {
            embedding_options o;
            o.device = place_of(where);
            o.optimizer = parse_row_optimizer(optimizer);
            o.kind = parse_element(dtype);
            if (!file.is_none()) o.file = path_of(file);
            o.host_cache = bytes_of(host_cache);
            o.init = parse_initializer(first);
            o.init_scale = spread, o.seed = seed;
            o.feature_cache = bytes_of(device_budget);
            warn_without_gpu(o.device, "feature_cache", o.feature_cache);
            array kept;
            o.scores = floats(scores, "scores", kept);
            new (self) embedding(released([&] { return embedding(rows, width, o); }));
          },
          nb::arg("rows"), nb::arg("width"), nb::arg("device") = nb::none(), nb::arg("optimizer") = "adam", nb::arg("init") = "normal",
          nb::arg("init_scale") = 1.0, nb::arg("seed") = 1, nb::arg("feature_cache") = nb::none(), nb::arg("scores") = nb::none(),
          nb::arg("dtype") = "f32", nb::arg("file") = nb::none(), nb::arg("host_cache") = nb::none(),
          nb::sig(
              "def __init__(self, rows: int, width: int, device: object = None, optimizer: str = 'adam', init: str = 'normal', init_scale: "
              "float = 1, seed: int = 1, feature_cache: int | str | None = None, scores: object = None, dtype: str = 'f32', file: str | "
              "os.PathLike[str] | None = None, host_cache: int | str | None = None) -> None"))
      .def_prop_ro("rows", &embedding::rows)
      .def_prop_ro("width", &embedding::width)
      .def_prop_ro("record_bytes", &embedding::record_bytes)
      .def_prop_ro("dtype", [](embedding const& e) { return std::string(to_string(e.kind())); })
      .def_prop_ro("optimizer", [](embedding const& e) { return std::string(to_string(e.optimizer())); })
      .def_prop_ro(
          "device_index", [](embedding const& e) { return e.device().kind == device_kind::cuda ? e.device().index : -1; },
          "that gathers and steps; -1: the host")
      .def_prop_ro("device", [](embedding const& e) { return told(e.device()); })
      .def_prop_ro("tiers", [](embedding const& e) { return by_tier(e.tiers()); })
      .def_prop_rw(
          "steps", [](embedding const& e) { return released([&] { return e.steps(); }); },
          [](embedding& e, std::uint64_t steps) { released([&] { e.set_steps(steps); }); })
      .def_prop_ro("states", &embedding::states)
      .def("summary", &embedding::about)
      .def(
          "gather",
          [](embedding& e, std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, bool> const& ids, std::uint64_t out,
             std::uint64_t stream) {
            id_span const span(at<void>(std::get<0>(ids)), std::get<1>(ids), std::get<2>(ids), std::get<3>(ids));
            return released([&] { return e.gather(span, {at<void>(out), ~std::uint64_t{0}}, stream_at(stream)); });
          },
          nb::arg("ids"), nb::arg("out"), nb::arg("stream") = 0)
      .def(
          "update",
          [](embedding& e, std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, bool> const& ids, std::uint64_t gradients, double lr,
             double lr_decay, std::pair<double, double> betas, std::optional<double> eps, std::uint64_t stream, std::string const& dtype) {
            id_span const span(at<void>(std::get<0>(ids)), std::get<1>(ids), std::get<2>(ids), std::get<3>(ids));
            sparse_step s;
            s.learning_rate = lr, s.rate_decay = lr_decay, s.beta1 = betas.first, s.beta2 = betas.second, s.epsilon = eps;
            s.stream = stream_at(stream);
            gradient_span const rows(at<void>(gradients), span.size() * e.width(), parse_element(dtype));
            return released([&] { return e.update(span, rows, s); });
          },
          nb::arg("ids"), nb::arg("gradients"), nb::arg("lr"), nb::arg("lr_decay") = 0.0, nb::arg("betas") = nb::make_tuple(0.9, 0.999),
          nb::arg("eps") = nb::none(), nb::arg("stream") = 0, nb::arg("dtype") = "f32",
          nb::sig("def update(self, ids: tuple[int, int, int, bool], gradients: int, lr: float, lr_decay: float = 0, betas: tuple[float, "
                  "float] = (0.9, 0.999), eps: float | None = None, stream: int = 0, dtype: str = 'f32') -> UpdateRun"))
      .def(
          "read",
          [](embedding const& e, std::string const& what, std::uint64_t first, std::uint64_t count) {
            auto* const kept = new std::vector<float>(count * e.width());
            nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
            released([&] {
              e.read(what, first, count, *kept);
              return 0;
            });
            return rows_of_floats(kept->data(), {count, e.width()}, owner);
          },
          nb::arg("what"), nb::arg("init"), nb::arg("count"))
      .def(
          "write",
          [](embedding& e, std::string const& what, std::uint64_t first,
             nb::ndarray<float const, nb::ndim<2>, nb::c_contig, nb::device::cpu> const& from) {
            std::span<float const> const values(from.data(), from.size());
            released([&] {
              e.write(what, first, from.shape(0), values);
              return 0;
            });
          },
          nb::arg("what"), nb::arg("init"), nb::arg("values"),
          nb::sig("def write(self, what: str, first: int, values: numpy.typing.NDArray[numpy.float32]) -> None"))
      .def("flush", [](embedding& e) { released([&] { return e.flush(), 0; }); })
      .def(
          "save",
          [](embedding const& e, nb::object file) {
            std::string const path = path_of(file);
            released([&] {
              e.save(path);
              return 0;
            });
          },
          nb::arg("file"), nb::sig("def save(self, file: str | os.PathLike[str]) -> None"))
      .def(
          "load",
          [](embedding& e, nb::object file) {
            std::string const path = path_of(file);
            released([&] {
              e.load(path);
              return 0;
            });
          },
          nb::arg("file"), nb::sig("def load(self, file: str | os.PathLike[str]) -> None"));

  add_list_sums(m);
  add_shard_aggregation(m);
}

}  // namespace garner::python

// Feature tables: host arrays that a device reads in place, and tiered tables. What array a caller holds, and which library made it, is
// garner/arrays.py's business: here ids and rows are addresses.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "features.hpp"
#include "garner/put_rows.hpp"
#include "graphs.hpp"
#include "shared.hpp"

namespace garner::python {

namespace {

using code = nb::dlpack::dtype_code;
bool is(nb::dlpack::dtype t, code c, unsigned bits) { return t.code == static_cast<std::uint8_t>(c) && t.bits == bits && t.lanes == 1; }

int device_of(execution_device where) { return where.kind == device_kind::cuda ? where.index : -1; }

// Names the elements of rows that travel as bytes, for messages.
void name_type(host_table& t) {
  if (t.rows.kind != element::u8 || is(t.type, code::UInt, 8)) return;
  t.rows.type = kind_of(t.type), t.rows.type_bytes = (t.type.bits + 7u) / 8u;
}

// `device` (-1: none) will read it: a shared table is pinned for it first, since a read-only mapping cannot be pinned everywhere.
host_table table_of(nb::handle from, char const* name, int device) {
  if (nb::isinstance<py_shared>(from)) {
    auto& s = nb::cast<py_shared&>(from);
    if (device >= 0) released([&] { return s.table.map_for(device); });
    host_table t{s.table.rows(), s.shape, s.type, s.table.created_here()};
    name_type(t);
    return t;
  }
  array a = host_array(from, name);
  host_table t;
  if (a.ndim() == 0) refuse(errc::usage, std::string(name) + ": is a single number; a table has rows");
  bool const empty = a.size() == 0;  // then strides say nothing
  std::int64_t step = 1;
  for (std::size_t d = a.ndim(); d-- > 0;) {
    if (!empty && a.shape(d) > 1 && a.stride(d) != step)
      refuse(errc::usage, std::string(name) + ": is not contiguous; give a copy that is, as numpy.ascontiguousarray makes it");
    step *= static_cast<std::int64_t>(a.shape(d));
    t.shape.insert(t.shape.begin(), a.shape(d));
  }
  t.type = a.dtype();
  std::uint64_t width = 1;
  for (std::size_t d = 1; d < a.ndim(); ++d) width *= a.shape(d);
  t.rows.kind = element_of(t.type);
  name_type(t);
  t.rows.width = t.rows.kind == element::u8 ? width * ((t.type.bits + 7u) / 8u) : width;
  t.rows.rows = a.shape(0);
  t.rows.data = a.data();
  nb::ndarray<> changed;
  t.writable = t.rows.writable = nb::try_cast(from, changed);
  t.rows.owner = std::make_shared<array>(std::move(a));  // letting go of it takes the interpreter's lock by itself
  return t;
}

// A file: rows of a feature file stay in it, as do others with `stays`. Else an .npy file is mapped where the host reads it, or read into
// memory that a device reads. A type that Garner has no element for is kept here, as an array of it would keep it; one that DLPack has none
// for (void, text, long double) comes as bytes, with a warning.
host_table table_of_file(nb::handle file, bool mapped, std::optional<element> as, bool stays) {
  std::string const path = path_of(file);
  host_table t;
  t.rows = released([&] {
    return stays || path.ends_with(".gnt") ? open_rows(path, as) : mapped ? map_rows(path, as) : read_rows(path, as);
  });
  t.shape.assign(t.rows.shape.begin(), t.rows.shape.end());
  t.type = type_of(t.rows.kind);
  if (t.rows.type.empty()) {
    if (t.shape.empty()) t.shape = {t.rows.rows, t.rows.width};
    return t;
  }
  // The widths that NumPy has: a type of another would get an array of fewer bytes than a gather writes (its bool is always one byte).
  static std::map<std::pair<char, std::uint64_t>, code> const codes{
      {{'b', 1}, code::Bool},  {{'i', 1}, code::Int},   {{'i', 2}, code::Int},     {{'i', 4}, code::Int},     {{'i', 8}, code::Int},
      {{'u', 1}, code::UInt},  {{'u', 2}, code::UInt},  {{'u', 4}, code::UInt},    {{'u', 8}, code::UInt},    {{'f', 2}, code::Float},
      {{'f', 4}, code::Float}, {{'f', 8}, code::Float}, {{'c', 8}, code::Complex}, {{'c', 16}, code::Complex}};
  std::uint64_t const each = t.rows.type_bytes;
  if (auto const found = codes.find({t.rows.type[1], each}); found != codes.end()) {
    t.type = {static_cast<std::uint8_t>(found->second), static_cast<std::uint8_t>(8 * each), 1};
    name_type(t);
    return t;
  }
  t.shape = {t.rows.rows, t.rows.width};
  warn(path + ": elements are '" + t.rows.type + "', and rows come as raw bytes (uint8)" +
       (each == 2 ? "; if they are bfloat16, which this format has no name for, use dtype='bf16'" : ""));
  return t;
}

// `as`: what its elements are, whatever the array calls them.
host_table table_of(nb::handle from, char const* name, int device, std::optional<element> as, bool stays) {
  if (nb::isinstance<nb::str>(from) || nb::isinstance<nb::bytes>(from) || nb::hasattr(from, "__fspath__"))
    return table_of_file(from, device < 0, as, stays);
  if (stays)
    refuse(errc::usage, std::string(name) + ": host_cache and file_cache are of tables that stay in a file; name an .npy or .gnt file");
  host_table t = table_of(from, name, device);
  if (!as) return t;
  t.rows.shape.assign(t.shape.begin(), t.shape.end());
  t.rows = seen_as(std::move(t.rows), *as);
  t.shape.assign(t.rows.shape.begin(), t.rows.shape.end());
  if (t.shape.empty()) t.shape = {t.rows.rows, t.rows.width};
  t.type = type_of(*as);
  return t;
}

struct py_unified {
  host_table host;
  unified_tensor tensor;

  // The array at the host, or as the device sees it; self, the Python object, stays alive as long as what is made of it.
  template <class Framework>
  nb::object view(nb::handle self, bool near_host) const {
    int const device = near_host ? -1 : tensor.device();
    void* const data = const_cast<void*>(device < 0 ? tensor.rows().data : tensor.device_data());
    int const type = device < 0 ? nb::device::cpu::value : nb::device::cuda::value;
    std::size_t const n = host.shape.size();
    std::size_t const* const shape = host.shape.data();
    if (host.writable) return nb::cast(nb::ndarray<Framework>(data, n, shape, self, nullptr, host.type, type, device < 0 ? 0 : device));
    return nb::cast(nb::ndarray<Framework, nb::ro>(data, n, shape, self, nullptr, host.type, type, device < 0 ? 0 : device));
  }
};

// The arguments of a gather, kept while it runs.
struct asked {
  gather_options options;
  array scales;
};

asked asked_of(keywords& given) {
  asked a;
  std::string text = "automatic";
  given.take("strategy", text);
  a.options.strategy = parse_gather_strategy(text);
  text = "automatic";
  given.take("order", text);
  a.options.order = parse_gather_order(text);
  text = "automatic";
  given.take("duplicates", text);
  a.options.duplicates = parse_gather_duplicates(text);
  given.choose("to", a.options.to, conversions);
  nb::object scales = nb::none();
  given.take("scales", scales);
  a.options.scales = floats(scales, "scales", a.scales);
  given.take("multiprocessors", a.options.multiprocessors);
  std::uint64_t stream = 0;
  given.take("stream", stream);
  a.options.stream = stream_ref::of_address(reinterpret_cast<void*>(stream));
  given.done();
  return a;
}

using id_address = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, bool>;  // address, count, bytes of one, whether unsigned
id_span ids_at(id_address const& a) {
  return {reinterpret_cast<void const*>(std::get<0>(a)), std::get<1>(a), std::get<2>(a), std::get<3>(a)};
}

std::string gather_name(gather_strategy w) { return std::string(to_string(w)); }

}  // namespace

py_table& table_from(nb::handle from, execution_device where, std::vector<nb::object>& kept) {
  nb::object found = nb::borrow(from);
  if (!nb::isinstance<py_table>(found) && !nb::hasattr(found, "_table"))
    found = nb::module_::import_("garner").attr("tiered")(found, nb::arg("device") = told(where));
  if (!nb::isinstance<py_table>(found)) found = found.attr("_table");
  kept.push_back(found);
  return nb::cast<py_table&>(found);
}

std::map<std::string, std::uint64_t> by_tier(rows_by_tier const& rows) {
  std::map<std::string, std::uint64_t> named;
  for (tier const t : {tier::device, tier::peer, tier::host, tier::file}) named[std::string(to_string(t))] = rows[t];
  return named;
}

void add_features(nb::module_& m) {
  nb::class_<py_unified>(
      m, "Unified",
      "A host array that a device reads in place: pinned and mapped until its last owner is released (the array itself, and\n"
      "all that was made of it by DLPack). torch.from_dlpack, cupy.from_dlpack and numpy.from_dlpack take it. Chapter 3 of\n"
      "Min's dissertation (PyTorch-Direct, PVLDB 14(11) 2021).")
      .def(
          "__init__",
          [](py_unified* self, nb::args positional, nb::kwargs options) {
            keywords given("Unified", positional, std::move(options), {"array", "device"});
            nb::object from = nb::none(), where = nb::none();
            given.take("array", from);
            given.take("device", where);
            given.done();
            if (from.is_none()) throw nb::type_error("Unified(): give the array that a device shall read; garner.unified says which");
            execution_device const at = place_of(where);
            host_table t = table_of(from, "array", device_of(at));
            new (self) py_unified{t, released([&] { return unified_tensor(t.rows, device_of(at)); })};
          },
          nb::arg("positional"), nb::arg("options"), nb::sig("def __init__(self, array: object, device: object = None) -> None"))
      .def(
          "__dlpack__",
          [](nb::handle self, nb::kwargs how) {
            auto const& u = nb::cast<py_unified const&>(self);
            bool const host = how.contains("dl_device") && !nb::object(how["dl_device"]).is_none() &&
                              nb::cast<int>(nb::object(how["dl_device"])[0]) == nb::device::cpu::value;
            return dlpack_of(u.view<nb::array_api>(self, host), how, !host && u.tensor.device() >= 0);
          },
          nb::arg("how"), nb::sig("def __dlpack__(self, **how: object) -> object"))
      .def("__dlpack_device__",
           [](py_unified const& u) {
             int const device = u.tensor.device();
             return std::pair(device < 0 ? int{nb::device::cpu::value} : int{nb::device::cuda::value}, device < 0 ? 0 : device);
           })
      .def_prop_ro(
          "array", [](nb::handle self) { return nb::cast<py_unified&>(self).view<nb::numpy>(self, true); },
          nb::sig("def array(self) -> numpy.typing.NDArray[typing.Any]"), "the host array, for NumPy")
      .def_prop_ro(
          "shape", [](py_unified const& u) { return nb::tuple(nb::cast(u.host.shape)); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "device",
          [](py_unified const& u) {
            int const device = u.tensor.device();
            return told(device < 0 ? execution_device{} : execution_device{device_kind::cuda, device});
          },
          "that reads it: 'cuda:0', or 'cpu'")
      .def_prop_ro(
          "address", [](py_unified const& u) { return reinterpret_cast<std::uint64_t>(u.tensor.device_data()); }, "as the device sees it")
      .def("__len__", [](py_unified const& u) { return u.host.shape[0]; })
      .def("__repr__", [](py_unified const& u) {
        std::string said =
            "<garner.Unified " + std::string(nb::str(nb::tuple(nb::cast(u.host.shape))).c_str()) + " " + kind_of(u.host.type);
        return said + (u.tensor.device() < 0 ? ", read by the CPU>" : ", read by cuda:" + std::to_string(u.tensor.device()) + ">");
      });

  nb::class_<gather_run>(m, "GatherRun", "What a gather did, or would do.")
      .def_prop_ro("strategy", [](gather_run const& r) { return gather_name(r.strategy); })
      .def_prop_ro("order", [](gather_run const& r) { return std::string(to_string(r.order)); })
      .def_prop_ro("duplicates", [](gather_run const& r) { return std::string(to_string(r.duplicates)); })
      .def_ro("rows", &gather_run::rows, "delivered")
      .def_ro("row_bytes", &gather_run::row_bytes)
      .def_ro("file_rows", &gather_run::file_rows, "a table in a file: rows that stay there ...")
      .def_ro("file_reads", &gather_run::file_reads, "... and how many of them were read for this")
      .def_ro("why", &gather_run::why, "how the way and the order were chosen")
      .def_ro("link", &gather_run::link, "simulated: traffic on the link for the host's rows")
      .def("__repr__", [](gather_run const& r) {
        return "<garner.GatherRun " + gather_name(r.strategy) + ", " + std::string(to_string(r.order)) + ", " + std::to_string(r.rows) +
               " rows>";
      });

  nb::class_<py_table>(m, "Table", "A tiered table by addresses; garner.tiered is its face.")
      .def(
          "__init__",
          [](py_table* self, nb::object features, nb::object where, nb::object device_budget, nb::object peer_budget,
             std::optional<std::vector<int>> peers, nb::object scores, nb::object scales, std::optional<std::string> group,
             double timeout_seconds, std::optional<std::string> dtype, nb::object host_budget, nb::object file_cache) {
            tiered_options o;
            std::optional<element> as;
            if (dtype) as = parse_element(*dtype);
            o.device = place_of(where);
            o.feature_cache = bytes_of(device_budget);
            o.peer_cache = bytes_of(peer_budget);
            warn_without_gpu(o.device, "feature_cache", o.feature_cache);
            warn_without_gpu(o.device, "peer_cache", o.peer_cache);
            o.host_cache = bytes_of(host_budget), o.file_cache = bytes_of(file_cache);
            o.peers = peers.value_or(std::vector<int>{});
            o.group = group.value_or("");
            o.timeout_seconds = timeout_seconds;
            array score_array, scale_array;
            o.scores = floats(scores, "scores", score_array);
            o.scales = floats(scales, "scales", scale_array);
            host_table const t = table_of(features, "features", device_of(o.device), as, o.host_cache || o.file_cache);
            new (self) py_table{t, released([&] { return tiered_tensor(t.rows, o); })};
          },
          nb::arg("features"), nb::arg("device") = nb::none(), nb::arg("feature_cache") = nb::none(), nb::arg("peer_cache") = nb::none(),
          nb::arg("peers") = nb::none(), nb::arg("scores") = nb::none(), nb::arg("scales") = nb::none(), nb::arg("group") = nb::none(),
          nb::arg("timeout") = 60.0, nb::arg("dtype") = nb::none(), nb::arg("host_cache") = nb::none(), nb::arg("file_cache") = nb::none(),
          nb::sig(
              "def __init__(self, features: object, device: object = None, feature_cache: int | str | None = None, peer_cache: int | "
              "str | None = None, peers: collections.abc.Sequence[int] | None = None, scores: object = None, scales: object = None, group: "
              "str | None = None, timeout: float = 60, dtype: str | None = None, host_cache: int | str | None = None, file_cache: "
              "int | str | None = None) -> None"))
      .def(
          "for_device",
          [](py_table const& t, nb::object where) {
            execution_device const at = place_of(where);
            return py_table{t.host, released([&] { return t.tensor.for_device(at); })};
          },
          nb::arg("device"), nb::sig("def for_device(self, device: object) -> Table"),
          "The same table for another device of this process; the rows on peers and in host memory are shared.")
      .def_prop_ro(
          "shape", [](py_table const& t) { return nb::tuple(nb::cast(t.host.shape)); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "kind", [](py_table const& t) { return kind_of(t.host.type); }, "'float32', 'bfloat16', ...")
      .def_prop_ro("row_bytes", [](py_table const& t) { return t.tensor.row_bytes(); })
      .def_prop_ro(
          "device_index", [](py_table const& t) { return device_of(t.tensor.device()); }, "of the GPU that gathers; -1: the CPU")
      .def_prop_ro(
          "device", [](py_table const& t) { return told(t.tensor.device()); }, "that gathers: 'cpu', 'cuda:0', 'simulated'")
      .def_prop_ro(
          "rows", [](py_table const& t) { return by_tier(t.tensor.tiers()); }, "how many lie in each tier, by its name")
      .def("summary", [](py_table const& t) { return t.tensor.about(); })
      .def(
          "gather",
          [](py_table& t, std::vector<id_address> const& batches, std::vector<std::uint64_t> const& outs, nb::kwargs how) {
            keywords given("Tiered.gather", std::move(how));
            asked const a = asked_of(given);
            if (outs.size() != batches.size())
              refuse(errc::usage,
                     std::to_string(outs.size()) + " outs for " + std::to_string(batches.size()) + " mini-batches; give each one");
            std::vector<id_span> ids;
            std::vector<row_output> to;
            for (std::size_t k = 0; k < batches.size(); ++k) {
              ids.push_back(ids_at(batches[k]));
              to.push_back({reinterpret_cast<void*>(outs[k]), ~std::uint64_t{0}});  // tables.py has looked at their sizes
            }
            return released(
                [&] { return ids.size() == 1 ? t.tensor.gather(ids[0], to[0], a.options) : t.tensor.gather_many(ids, to, a.options); });
          },
          nb::arg("batches"), nb::arg("outs"), nb::arg("how"),
          nb::sig(
              "def gather(self, batches: collections.abc.Sequence[tuple[int, int, int, bool]], outs: collections.abc.Sequence[int], *, "
              "strategy: str = 'automatic', order: str = 'automatic', duplicates: str = 'automatic', to: str | None = None, scales: object "
              "= None, "
              "multiprocessors: int = 0, stream: "
              "int = 0) -> GatherRun"),
          "Copies the rows of ids at (address, count, bytes of an id, whether unsigned) to addresses on the device that gathers. Nothing\n"
          "here knows how long they are.")
      .def(
          "explain",
          [](py_table const& t, std::uint64_t ids, std::uint64_t batches, nb::kwargs how) {
            keywords given("Tiered.explain", std::move(how));
            asked const a = asked_of(given);
            return released([&] { return t.tensor.explain(ids, a.options, batches); });
          },
          nb::arg("ids"), nb::arg("batches") = 1, nb::arg("how"),
          nb::sig(
              "def explain(self, ids: int, batches: int = 1, *, strategy: str = 'automatic', order: str = 'automatic', duplicates: str = "
              "'automatic', to: str | None = "
              "None, scales: object = "
              "None, multiprocessors: int = 0, stream: int = 0) -> GatherRun"))
      .def(
          "hits", [](py_table const& t, id_address const& ids) { return by_tier(released([&] { return t.tensor.hits(ids_at(ids)); })); },
          nb::arg("ids"))
      .def(
          "put",
          [](py_table& t, id_address const& ids, std::uint64_t rows, std::uint64_t bytes) {
            released([&] { return t.tensor.put(ids_at(ids), {reinterpret_cast<std::byte const*>(rows), bytes}), 0; });
          },
          nb::arg("ids"), nb::arg("rows"), nb::arg("bytes"));

  m.def(
      "_put_rows",
      [](nb::handle file, nb::ndarray<std::int64_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> const& ids,
         nb::ndarray<std::uint8_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu> const& rows) {
        std::string const path = path_of(file);
        std::span<std::int64_t const> const of(ids.data(), ids.size());
        auto const bytes = std::as_bytes(std::span(rows.data(), rows.size()));
        released([&] {
          put_rows(path, of, bytes);
          return 0;
        });
      },
      nb::arg("file"), nb::arg("ids"), nb::arg("rows"),
      nb::sig("def _put_rows(file: str | os.PathLike[str], ids: numpy.typing.NDArray[numpy.int64], rows: "
              "numpy.typing.NDArray[numpy.uint8]) -> None"));
}

}  // namespace garner::python

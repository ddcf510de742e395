// Tables that several processes share. Shapes and types of a caller's array, and filling a table from it, are garner/sharing.py's business.
#include "shared.hpp"

#include <nanobind/stl/pair.h>

#include "graphs.hpp"

namespace garner::python {

namespace {

using code = nb::dlpack::dtype_code;
using code_and_bits = std::pair<unsigned, unsigned>;
nb::dlpack::dtype made_of(code_and_bits t) { return {static_cast<std::uint8_t>(t.first), static_cast<std::uint8_t>(t.second), 1}; }
std::uint64_t bytes_of_one(nb::dlpack::dtype t) { return (t.bits + 7u) / 8u; }
bool is_bf16(nb::dlpack::dtype t) { return t.code == static_cast<std::uint8_t>(code::Bfloat); }

py_shared created(std::string const& name, std::vector<std::size_t> shape, code_and_bits of, bool replace_stale) {
  nb::dlpack::dtype const type = made_of(of);
  if (shape.empty()) refuse(errc::usage, name + ": a shared table has rows; give an array, or a shape of at least one dimension");
  std::uint64_t width = 1;
  for (std::size_t d = 1; d < shape.size(); ++d)
    if (__builtin_mul_overflow(width, shape[d], &width))
      refuse(errc::memory, name + ": a row is larger than any memory; give a smaller shape");
  element const kind = element_of(type);
  if (kind == element::u8 && __builtin_mul_overflow(width, bytes_of_one(type), &width))
    refuse(errc::memory, name + ": a row is larger than any memory; give a smaller shape");
  shared_options options;
  options.replace_stale = replace_stale;
  return {released([&] { return shared_table::create(name, shape[0], width, kind, options); }), std::move(shape), type};
}

// `of`, `shape`: what its creator calls it, which the segment does not hold in full.
py_shared attached(std::string const& name, std::optional<code_and_bits> of, std::optional<std::vector<std::size_t>> shape,
                   double timeout_seconds) {
  shared_options options;
  options.timeout_seconds = timeout_seconds;
  shared_table table = released([&] { return shared_table::attach(name, options); });
  row_array const rows = table.rows();
  std::uint64_t const row_bytes = rows.rows ? table.bytes() / rows.rows : 0;
  nb::dlpack::dtype const type = of ? made_of(*of) : type_of(rows.kind);
  if (!shape) {
    if (row_bytes % bytes_of_one(type))
      refuse(errc::usage, name + ": rows of " + std::to_string(row_bytes) + " bytes do not divide into elements of " + kind_of(type) +
                              "; attach without dtype=, or with one that fits");
    shape = {rows.rows, rows.rows ? row_bytes / bytes_of_one(type) : rows.width};
  }
  std::uint64_t bytes = bytes_of_one(type);
  for (std::size_t d : *shape) bytes *= d;
  if (bytes != table.bytes() || shape->empty() || shape->front() != rows.rows)
    refuse(errc::input, name + ": another table has taken this name; attach to it by its name");
  return {std::move(table), std::move(*shape), type};
}

// `self`, the Python object, stays alive as long as what is made of it.
template <class Framework>
nb::object view(nb::handle self, nb::dlpack::dtype type) {
  auto& s = nb::cast<py_shared&>(self);
  int const host = nb::device::cpu::value;
  if (s.table.created_here())
    return nb::cast(nb::ndarray<Framework>(s.table.data(), s.shape.size(), s.shape.data(), self, nullptr, type, host, 0));
  return nb::cast(nb::ndarray<Framework, nb::ro>(s.table.rows().data, s.shape.size(), s.shape.data(), self, nullptr, type, host, 0));
}

nb::object bfloat16() {  // invalid where NumPy has none
  try {
    return nb::module_::import_("numpy").attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
  } catch (nb::python_error const& e) {
    if (!e.matches(PyExc_ImportError)) throw;
    return {};
  }
}

nb::object array_of(nb::handle self) {
  auto const& s = nb::cast<py_shared const&>(self);
  if (!is_bf16(s.type)) return view<nb::numpy>(self, s.type);
  nb::object const type = bfloat16();
  if (!type.is_valid()) refuse(errc::usage, "NumPy knows no bfloat16; take torch.from_dlpack of the table, or install ml_dtypes");
  return view<nb::numpy>(self, nb::dtype<std::uint16_t>()).attr("view")(type);
}

nb::object dtype_of(py_shared const& s) {
  if (!is_bf16(s.type)) return nb::module_::import_("numpy").attr("dtype")(kind_of(s.type));
  nb::object const type = bfloat16();
  return type.is_valid() ? type : nb::object(nb::str("bfloat16"));
}

}  // namespace

element element_of(nb::dlpack::dtype t) {
  auto const is = [&](code c, unsigned bits) { return t.code == static_cast<std::uint8_t>(c) && t.bits == bits && t.lanes == 1; };
  if (is(code::Float, 32)) return element::f32;
  if (is(code::Float, 16)) return element::f16;
  if (is(code::Bfloat, 16)) return element::bf16;
  if (is(code::Int, 8)) return element::i8;
  if (is(code::Int, 64)) return element::i64;
  return element::u8;
}

nb::dlpack::dtype type_of(element kind) {
  static std::map<element, code_and_bits> const types{{element::f32, {2, 32}}, {element::f16, {2, 16}}, {element::bf16, {4, 16}},
                                                      {element::i8, {0, 8}},   {element::i64, {0, 64}}, {element::u8, {1, 8}}};
  return made_of(types.at(kind));
}

void add_shared(nb::module_& m) {
  nb::class_<py_shared>(
      m, "Shared",
      "One table in host memory for several processes of a user; garner.shared makes it or attaches to it. Gone with the\n"
      "last process that holds it; here it is held until its last owner is released (this object, and all that was made of it:\n"
      "arrays, tables of garner.tiered and garner.unified). Section 3.3 of Min's dissertation.",
      nb::is_weak_referenceable())
      .def_prop_ro(
          "array", [](nb::handle self) { return array_of(self); }, nb::sig("def array(self) -> numpy.typing.NDArray[typing.Any]"),
          "the table itself, for NumPy; only its creator may write")
      .def_prop_ro(
          "shape", [](py_shared const& s) { return nb::tuple(nb::cast(s.shape)); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", &dtype_of, nb::sig("def dtype(self) -> object"), "of NumPy; 'bfloat16' where NumPy has none")
      .def_prop_ro("name", [](py_shared const& s) { return s.table.name(); })
      .def_prop_ro("nbytes", [](py_shared const& s) { return s.table.bytes(); })
      .def_prop_ro(
          "created_here", [](py_shared const& s) { return s.table.created_here(); }, "by this object, which fills and publishes it")
      .def_prop_ro("published", [](py_shared const& s) { return s.table.published(); })
      .def(
          "publish", [](py_shared& s) { s.table.publish(); },
          "It is filled: others may attach. Errors: UsageError where it was not created by this object.")
      .def(
          "map_for",
          [](py_shared& s, nb::object device) {
            execution_device const at = place_of(device);
            if (at.kind != device_kind::cuda) refuse(errc::usage, "map_for: name which device, as 0 or 'cuda:1'");
            return reinterpret_cast<std::uint64_t>(released([&] { return s.table.map_for(at.index); }));
          },
          nb::arg("device"), nb::sig("def map_for(self, device: object) -> int"),
          "Pins it for a device of this process, once, until the last owner is released; its address as that device reads it.\n"
          "garner.tiered and garner.unified do so themselves. Errors: OutOfMemory, DeviceError; UsageError in a child by fork.")
      .def("__len__", [](py_shared const& s) { return s.shape[0]; })
      .def(
          "__dlpack__",
          [](nb::handle self, nb::kwargs how) {
            return dlpack_of(view<nb::array_api>(self, nb::cast<py_shared const&>(self).type), how, false);
          },
          nb::arg("how"), nb::sig("def __dlpack__(self, **how: object) -> object"))
      .def("__dlpack_device__", [](py_shared const&) { return std::pair(int{nb::device::cpu::value}, 0); })
      .def(
          "__reduce__",
          [](py_shared const& s) {
            return nb::make_tuple(nb::module_::import_("garner.tables").attr("_attach"),
                                  nb::make_tuple(s.table.name(), code_and_bits(s.type.code, s.type.bits), nb::tuple(nb::cast(s.shape))));
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"), "Pickled, it is its name: unpickling attaches to it.")
      .def("__repr__", [](py_shared const& s) {
        return "<garner.Shared '" + s.table.name() + "' " + nb::str(nb::tuple(nb::cast(s.shape))).c_str() + " " + kind_of(s.type) +
               (s.table.created_here() ? s.table.published() ? ", created here>" : ", not published yet>" : ", attached>");
      });
  m.def(
      "_graph_bytes",
      [](py_graph const& g) {
        auto const held = g.use();
        return released([&] { return shared_bytes(*held); });
      },
      nb::arg("graph"), "What _write_graph takes of a shared table.");
  m.def(
      "_write_graph",
      [](py_graph const& g, py_shared& to, std::uint64_t at) {
        auto const held = g.use();
        released([&] {
          write_shared(*held, static_cast<char*>(to.table.data()) + at);
          return 0;
        });
      },
      nb::arg("graph"), nb::arg("shared"), nb::arg("at"),
      "Its arrays, into a shared table that was created here; `at`: a multiple of a page.");
  m.def(
      "_graph_in",
      [](py_shared const& from, std::uint64_t at, std::uint64_t bytes) {
        auto const* const data = static_cast<char const*>(from.table.rows().data) + at;
        return py_graph(open_shared(std::make_shared<shared_table>(from.table), data, bytes), from.table);
      },
      nb::arg("shared"), nb::arg("at"), nb::arg("bytes"), "The graph that was written there; nothing is copied.");
  m.def("_leave_shared", &shared_table::leave_all, "As the process ends: nothing that it alone held is left behind.");
  m.def("_create_shared", &created, nb::arg("name"), nb::arg("shape"), nb::arg("type"), nb::arg("replace_stale"));
  m.def("_attach_shared", &attached, nb::arg("name"), nb::arg("type").none(), nb::arg("shape").none(), nb::arg("timeout"));
}

}  // namespace garner::python

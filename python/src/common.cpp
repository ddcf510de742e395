// Errors, Ctrl-C, keywords, arrays.
#include "common.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstring>

namespace garner::python {

// --- errors: the classes of garner/errors.py --------------------------------------------------------------------------------------------
namespace {

struct error_classes {
  PyObject *usage, *input, *io, *memory, *device, *interrupted, *internal;
} classes;

PyObject* class_of(errc code) {
  switch (code) {
    case errc::usage:
      return classes.usage;
    case errc::input:
      return classes.input;
    case errc::io:
      return classes.io;
    case errc::memory:
      return classes.memory;
    case errc::device:
      return classes.device;
    case errc::interrupted:
      return classes.interrupted;
    case errc::internal:
      break;
  }
  return classes.internal;
}

void translate(std::exception_ptr const& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (error const& e) {
    // A handler of the user's own for Ctrl-C is heard first; what it raises stands.
    if (e.code() == errc::interrupted && PyErr_CheckSignals() != 0) {
      if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return;
      PyErr_Clear();
    }
    std::string message = e.what();
    if (e.code() == errc::memory)  // how its budgets are raised here
      for (auto const& [budget, by] : {std::pair{"raise the host budget", " (garner.limit_host_memory)"},
                                       std::pair{"raise its budget", " (garner.limit_device_memory)"}})
        if (std::size_t const at = message.find(budget); at != std::string::npos) message.insert(at + std::strlen(budget), by);
    PyErr_SetString(class_of(e.code()), message.c_str());
  }
}

}  // namespace

void add_errors() {
  nb::module_ const errors = nb::module_::import_("garner.errors");
  auto named = [&](char const* name) { return nb::object(errors.attr(name)).release().ptr(); };  // lives as long as the process
  classes = {named("UsageError"),  named("InputError"),  named("FileError"),    named("OutOfMemory"),
             named("DeviceError"), named("Interrupted"), named("InternalError")};
  nb::register_exception_translator(translate);
}

// --- Ctrl-C
// --------------------------------------------------------------------------------------------------------------------------------
namespace {

std::atomic<bool> asked{false};
struct sigaction pythons;
bool guarded = false;  // the main thread's own

void stop(int) {
  asked = true;
  request_interrupt();
}

}  // namespace

interruptible::interruptible() {
  // Signals are the main thread's in Python too. Whoever ignores Ctrl-C, or lets it end the process, keeps that.
  if (guarded || ::syscall(SYS_gettid) != ::getpid()) return;
  ::sigaction(SIGINT, nullptr, &pythons);
  if (pythons.sa_handler == SIG_IGN || pythons.sa_handler == SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = stop;
  asked = false;
  ::sigaction(SIGINT, &action, nullptr);
  installed_ = guarded = true;
}

interruptible::~interruptible() {
  if (!installed_) return;
  ::sigaction(SIGINT, &pythons, nullptr);
  guarded = false;
  if (!asked) return;
  clear_interrupt();
  PyErr_SetInterrupt();  // Python hears of it now: where the work had ended before it could stop, KeyboardInterrupt follows it
}

// --- keywords
// ------------------------------------------------------------------------------------------------------------------------------
nb::object keywords::find(char const* name) {
  nb::str const key(name);
  if (!given_.contains(key)) return {};
  nb::object value = given_[key];
  if (PyDict_DelItem(given_.ptr(), key.ptr()) != 0) throw nb::python_error();
  return value;
}

std::string keywords::text(char const* name, nb::handle value) const {
  std::string said;
  if (!nb::try_cast(value, said)) wrong(name, value);
  return said;
}

void keywords::wrong(char const* name, nb::handle value) const {
  std::string const message = std::string(call_) + "(): " + name + "=" + nb::repr(value).c_str() + " is of the wrong type; help(garner." +
                              call_ + ") tells which it takes";
  throw nb::type_error(message.c_str());
}

void keywords::done() const {
  if (given_.size() == 0) return;
  std::string const name = nb::cast<std::string>(nb::object(given_.keys()[0]));
  std::string const message = std::string(call_) + "() has no option '" + name + "'; help(garner." + call_ + ") lists them";
  throw nb::type_error(message.c_str());
}

place place_of(nb::handle spec) {
  if (spec.is_none()) return default_place();
  int index = 0;
  if (!nb::isinstance<nb::str>(spec) && nb::try_cast(spec, index)) {
    if (index < 0) refuse(errc::usage, "device " + std::to_string(index) + ": devices count from 0; for the CPU say 'host'");
    return {place_kind::device, index};
  }
  std::string said = nb::str(spec).c_str();  // a torch.device says "cuda:1"
  if (said == "cpu") said = "host";
  if (said == "traced" || said.starts_with("traced:")) said.replace(0, 6, "simulated");  // its name before 0.1.0
  if (said == "cuda" || said.starts_with("cuda:")) said.replace(0, 4, "device");
  // Which of the simulated processes of a group this is; libgarner has an index for all places.
  if (said.starts_with("simulated:")) {
    char const *const end = said.data() + said.size(), *const number = said.data() + 10;
    auto const [last, problem] = std::from_chars(number, end, index = 0);
    if (problem != std::errc() || last != end || index < 0)
      refuse(errc::usage, "'" + said + "' is no place; say host, device, device:N, simulated or, for a process of a group, simulated:N");
    return {place_kind::simulated, index};
  }
  return parse_place(said);
}

place default_place() { return device_count() > 0 ? place{place_kind::device, 0} : place{}; }

std::optional<std::uint64_t> bytes_of(nb::handle amount) {
  if (amount.is_none()) return std::nullopt;
  if (std::string text; nb::try_cast(amount, text)) return parse_bytes(text);
  if (std::uint64_t bytes = 0; nb::try_cast(amount, bytes)) return bytes;
  return parse_bytes(nb::str(amount).c_str());  // which says what it takes
}

// --- arrays
// --------------------------------------------------------------------------------------------------------------------------------
std::string kind_of(nb::dlpack::dtype t) {
  static char const* const names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  if (t.code == 6) return "bool";
  return (t.code < 7 ? names[t.code] : "unknown") + std::to_string(t.bits);
}

array host_array(nb::handle from, char const* name) {
  nb::object kept = nb::borrow(from);
  if (!nb::ndarray_check(from)) kept = nb::module_::import_("numpy").attr("asarray")(from);
  array a;
  if (!nb::try_cast(kept, a)) {
    auto const text = [&](nb::object const& of) { return std::string(nb::str(nb::handle(of)).c_str()); };
    std::string message = std::string(name) + ": a " + text(from.type().attr("__name__"));
    if (nb::hasattr(from, "dtype")) message += " of " + text(from.attr("dtype"));
    message += " is no array that DLPack can hand over; give a NumPy array or a tensor of numbers, in this machine's byte order";
    throw nb::type_error(message.c_str());
  }
  int const where = a.device_type();
  if (where != nb::device::cpu::value && where != 3 /* pinned host memory */)
    refuse(errc::usage, std::string(name) + ": lies on a device; it is read by the host, so move it there first");
  return a;
}

namespace {

bool is_signed(nb::dlpack::dtype t) { return t.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int); }
bool is_unsigned(nb::dlpack::dtype t) { return t.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt); }

template <class T>
void widen(array const& a, char const* name, std::uint64_t* to, std::size_t step) {
  auto const* const from = static_cast<T const*>(a.data());
  std::int64_t const stride = a.stride(0);
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    T const id = from[static_cast<std::int64_t>(i) * stride];
    if constexpr (std::is_signed_v<T>)
      if (id < 0) refuse(errc::input, std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(id) + "; say 0 or more");
    to[i * step] = static_cast<std::uint64_t>(id);
  }
}

}  // namespace

array whole_numbers(nb::handle from, char const* name) {
  array a = host_array(from, name);
  if (a.ndim() != 1) refuse(errc::usage, std::string(name) + ": has " + std::to_string(a.ndim()) + " dimensions; give one");
  nb::dlpack::dtype const t = a.dtype();
  bool const empty_list = a.shape(0) == 0;  // which NumPy takes for float64
  if (!empty_list && ((!is_signed(t) && !is_unsigned(t)) || t.lanes != 1 || t.bits > 64))
    refuse(errc::usage, std::string(name) + ": is of " + kind_of(t) + "; give whole numbers of 8 to 64 bits");
  return a;
}

void write_ids(array const& a, char const* name, std::uint64_t* to, std::size_t step) {
  if (a.shape(0) == 0) return;
  bool const negatives = is_signed(a.dtype());
  switch (a.dtype().bits) {
    case 8:
      return negatives ? widen<std::int8_t>(a, name, to, step) : widen<std::uint8_t>(a, name, to, step);
    case 16:
      return negatives ? widen<std::int16_t>(a, name, to, step) : widen<std::uint16_t>(a, name, to, step);
    case 32:
      return negatives ? widen<std::int32_t>(a, name, to, step) : widen<std::uint32_t>(a, name, to, step);
    default:
      return negatives ? widen<std::int64_t>(a, name, to, step) : widen<std::uint64_t>(a, name, to, step);
  }
}

void warn(std::string const& message) {
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 2) != 0) throw nb::python_error();
}

}  // namespace garner::python

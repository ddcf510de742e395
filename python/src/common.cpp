// Errors, Ctrl-C, keywords, arrays.
#include "common.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace garner::python {

// --- errors: the classes of garner/errors.py --------------------------------------------------------------------------------------------
namespace {

struct error_classes {
  PyObject *usage, *input, *id, *io, *memory, *device, *interrupted, *internal;
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

// What the library says to the program's users and to those of C++, in Python's words (garner/errors.py).
std::string in_python(std::string const& message) {
  try {
    return nb::cast<std::string>(nb::module_::import_("garner.errors").attr("in_python")(message));
  } catch (std::exception const&) {  // the name of a file is not valid text, or the interpreter ends: the message stays as it is
    PyErr_Clear();
    return message;
  }
}

void translate(std::exception_ptr const& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (error const& e) {
    // The user's own handler for Ctrl-C runs first; an exception that it raises stands.
    if (e.code() == errc::interrupted && PyErr_CheckSignals() != 0) {
      if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return;
      PyErr_Clear();
    }
    std::string const message = e.what();
    PyErr_SetString(dynamic_cast<id_error const*>(&e) ? classes.id : class_of(e.code()), in_python(message).c_str());
  }
}

}  // namespace

void add_errors() {
  nb::module_ const errors = nb::module_::import_("garner.errors");
  auto named = [&](char const* name) { return nb::object(errors.attr(name)).release().ptr(); };  // lives as long as the process
  classes = {named("UsageError"),  named("InputError"),  named("IdError"),     named("FileError"),
             named("OutOfMemory"), named("DeviceError"), named("Interrupted"), named("InternalError")};
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
  if (!asked.exchange(false)) return;
  clear_interrupt();
  PyErr_SetInterrupt();  // notifies Python now: where the work had ended before it could stop, KeyboardInterrupt follows it
}

bool interrupted_now() { return asked; }

// --- turns ------------------------------------------------------------------------------------------------------------------------------
turn::turn(turns const& of, char const* refusal) : held_(of.held_) {
  if (std::exchange(held_->process, ::getpid()) != ::getpid()) {  // whoever had it is not in this child by fork
    static_cast<void>(held_->mutex.release());
    held_->mutex = std::make_unique<std::timed_mutex>();
  }
  bool mine = held_->mutex->try_lock();
  if (!mine && refusal) refuse(errc::usage, refusal);
  if (!mine && held_->by == std::this_thread::get_id())  // by a finalizer, or a handler of a signal
    refuse(errc::usage, "this object is in use further out in the same thread; call it when that call has returned");
  while (!mine) {
    {
      nb::gil_scoped_release unlocked;  // which whoever has the turn may wait for
      mine = held_->mutex->try_lock_for(std::chrono::milliseconds(50));
    }
    if (!mine && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  held_->by = std::this_thread::get_id();
}
turn::~turn() {
  held_->by = {};
  held_->mutex->unlock();
}

// --- keywords
// ------------------------------------------------------------------------------------------------------------------------------
keywords::keywords(char const* call, nb::args const& positional, nb::kwargs given, std::initializer_list<char const*> names)
    : call_(call), given_(std::move(given)) {
  if (positional.size() > names.size())
    throw nb::type_error((std::string(call_) + "() takes " + std::to_string(names.size()) + " arguments by position and was given " +
                          std::to_string(positional.size()) + "; pass options by name, as help(garner." + call_ + ") lists them")
                             .c_str());
  for (std::size_t k = 0; k < positional.size(); ++k) {
    nb::str const name(names.begin()[k]);
    if (given_.contains(name)) throw nb::type_error((std::string(call_) + "(): " + name.c_str() + " was given twice").c_str());
    given_[name] = positional[k];
  }
}

nb::object keywords::need(char const* name) {
  nb::object value = find(name);
  if (!value.is_valid()) throw nb::type_error((std::string(call_) + "(): " + name + " is missing; see help(garner." + call_ + ")").c_str());
  return value;
}

nb::object keywords::find(char const* name) {
  if (given_.size() == 0) return {};
  nb::str const key(name);
  nb::module_::import_("garner._arguments").attr("renew")(call_, nb::make_tuple(key), nb::handle(given_));  // names of before
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
  std::string const message =
      std::string(call_) + "(): " + name + "=" + shown(value) + " is of the wrong type; help(garner." + call_ + ") names the right one";
  throw nb::type_error(message.c_str());
}

bool of_papers(std::string_view keyword, std::string_view value) {
  static constexpr std::pair<std::string_view, std::string_view> all[] = {
      {"access", ""},       {"l2_bytes", ""},   {"block_bytes", ""}, {"vertices_per_team", ""}, {"split_hubs", ""},
      {"slice", ""},        {"join_lists", ""}, {"reads", ""},       {"join_adjacency", ""},    {"merge_reads", ""},
      {"variant", "emogi"}, {"cache", "clock"}, {"cache", "window"}, {"strategy", "staged"},    {"strategy", "zero_copy"}};
  return std::find(std::begin(all), std::end(all), std::pair(keyword, value)) != std::end(all);
}

void keywords::done() const {
  if (given_.size() == 0) return;
  std::string const name = nb::cast<std::string>(nb::object(given_.keys()[0]));
  std::string const message = of_papers(name, "")
                                  ? std::string(call_) + "(): option '" + name + in_lab
                                  : std::string(call_) + "() has no option '" + name + "'; help(garner." + call_ + ") lists them";
  throw nb::type_error(message.c_str());
}

execution_device place_of(nb::handle spec) {
  if (spec.is_none()) return default_place();
  int index = 0;
  if (!nb::isinstance<nb::str>(spec) && !nb::isinstance<nb::bool_>(spec) && nb::try_cast(spec, index)) {
    if (index < 0) refuse(errc::usage, "device " + std::to_string(index) + ": devices count from 0; for the CPU use 'cpu'");
    return {device_kind::cuda, index};
  }
  std::string said = nb::str(spec).c_str();  // a torch.device says "cuda:1"
  // 'host' and 'device' are the names of before. simulated:N: the N-th of the simulated devices of a group.
  std::size_t const colon = std::min(said.find(':'), said.size());
  std::string const kind = said.substr(0, colon);
  bool const gpu = kind == "cuda" || kind == "device", simulated = kind == "simulated";
  bool known = gpu || simulated || ((kind == "cpu" || kind == "host") && colon == said.size());
  if (known && colon < said.size()) {
    char const *const end = said.data() + said.size(), *const number = said.data() + colon + 1;
    auto const [last, problem] = std::from_chars(number, end, index = 0);
    known = problem == std::errc() && last == end && index >= 0;
  }
  if (!known) refuse(errc::usage, "device is '" + said + "'; use 'cpu', 'cuda', 'cuda:N', N or 'simulated'");
  return {gpu ? device_kind::cuda : simulated ? device_kind::simulated : device_kind::cpu, index};
}

execution_device default_place() {
  int const devices = device_count();
  if (devices == 0) return {};
  std::uint32_t const local = from_environment("LOCAL_RANK").value_or(0);
  return {device_kind::cuda, static_cast<int>(local) < devices ? static_cast<int>(local) : 0};  // where each sees its own alone, the first
}

std::string told(execution_device where) {
  if (where.kind == device_kind::cpu) return "cpu";
  if (where.kind == device_kind::simulated && where.index == 0) return "simulated";
  return (where.kind == device_kind::cuda ? "cuda:" : "simulated:") + std::to_string(where.index);
}

std::string told_memory(execution_device where) { return told(where.kind == device_kind::cuda ? where : execution_device{}); }

std::optional<std::uint32_t> from_environment(char const* name) {
  char const* const said = std::getenv(name);
  if (!said) return std::nullopt;
  std::uint32_t number = 0;
  char const* const end = said + std::strlen(said);
  if (auto const [last, problem] = std::from_chars(said, end, number); problem != std::errc() || last != end || last == said)
    refuse(errc::usage,
           std::string("the environment says ") + name + "='" + said + "', and torchrun says a number; unset it, or use rank and ranks");
  return number;
}

namespace {

// What libgarner reads: no blank between number and unit, and kB, MB, GB and TB, of which it takes B for no more than a word, as numbers.
std::string plain_size(std::string const& said) {
  double number = 0;
  auto const [end, problem] = std::from_chars(said.data(), said.data() + said.size(), number);
  std::string unit(problem == std::errc() ? end : said.data());
  unit.erase(0, unit.find_first_not_of(' '));
  static constexpr std::string_view powers = "kmgt";
  std::size_t const power = unit.size() == 2 && (unit[1] | 0x20) == 'b' ? powers.find(static_cast<char>(unit[0] | 0x20)) : powers.npos;
  if (problem == std::errc() && power != powers.npos && number >= 0 && number < 1e9)
    return std::to_string(std::llround(number * std::pow(1e3, power + 1)));
  return problem == std::errc() ? std::string(said.data(), end) + unit : said;
}

}  // namespace

std::optional<std::uint64_t> bytes_of(nb::handle amount) {
  if (amount.is_none()) return std::nullopt;
  if (std::string text; nb::try_cast(amount, text)) return parse_bytes(plain_size(text));
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
  nb::object const kept = nb::ndarray_check(from) ? nb::borrow(from) : checked("host", from, name);
  array a;
  if (!nb::try_cast(kept, a)) {
    auto const text = [&](nb::object const& of) { return std::string(nb::str(nb::handle(of)).c_str()); };
    std::string message = std::string(name) + ": a " + text(from.type().attr("__name__"));
    if (nb::hasattr(from, "dtype")) message += " of " + text(from.attr("dtype"));
    message += " is not an array that DLPack can hand over; give a NumPy array or a tensor of numbers, in this machine's byte order";
    throw nb::type_error(message.c_str());
  }
  int const where = a.device_type();
  if (where != nb::device::cpu::value && where != 3 /* pinned host memory */)
    refuse(errc::usage, std::string(name) + ": lies on a device; it is read by the host, so move it there first");
  return a;
}

namespace {

bool is_signed(nb::dlpack::dtype t) { return t.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int); }

template <class T>
void widen(array const& a, char const* name, std::uint64_t* to, std::size_t step) {
  auto const* const from = static_cast<T const*>(a.data());
  std::int64_t const stride = a.stride(0);
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    T const id = from[static_cast<std::int64_t>(i) * stride];
    if constexpr (std::is_signed_v<T>)
      if (id < 0) refuse(errc::input, std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(id) + "; use 0 or more");
    to[i * step] = static_cast<std::uint64_t>(id);
  }
}

}  // namespace

array whole_numbers(nb::handle from, char const* name) { return nb::cast<array>(checked("whole", from, name)); }

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

std::span<float const> floats(nb::handle from, char const* name, array& kept) {
  if (from.is_none()) return {};
  kept = nb::cast<array>(checked("floats", from, name));
  return {static_cast<float const*>(kept.data()), kept.shape(0)};
}

std::uint64_t id_of(nb::handle from, char const* name) {
  nb::object const whole = nb::steal(PyBool_Check(from.ptr()) ? nullptr : PyNumber_Index(from.ptr()));
  if (!whole.is_valid()) {
    PyErr_Clear();
    throw nb::type_error((std::string(name) + "=" + shown(from) + " is not an id; give one whole number").c_str());
  }
  std::uint64_t id = 0;
  if (!nb::try_cast(whole, id))
    throw id_error(std::string(name) + " " + nb::str(whole).c_str() + " does not exist; ids are whole numbers from 0 to 2^63 - 1");
  return id;
}

numpy_array<std::int64_t> to_int64(std::vector<std::uint64_t>&& values, char const* what) {
  auto* const kept = new std::vector<std::uint64_t>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::uint64_t>*>(p); });
  for (std::uint64_t const v : *kept)  // but the largest, which is -1: none
    if (v > std::uint64_t{INT64_MAX} && v != ~std::uint64_t{0})
      refuse(errc::input,
             std::string(what) + " " + std::to_string(v) + " is more than int64 holds, 2^63 - 1; renumber the vertices from 0");
  return numpy_array<std::int64_t>(reinterpret_cast<std::int64_t*>(kept->data()), {kept->size()}, owner);
}

nb::object dlpack_of(nb::object const& exported, nb::kwargs const& how, bool on_device, std::function<void(std::uint64_t)> const& order) {
  nb::object const stream = how.contains("stream") ? nb::object(how["stream"]) : nb::none();
  if (!on_device && !stream.is_none())
    throw nb::buffer_error("__dlpack__(): the array lies in host memory, where no stream is waited for; leave stream= out");
  if (on_device) {
    std::int64_t address = 1;  // the legacy default stream, which None means as well
    if ((!stream.is_none() && !nb::try_cast(stream, address)) || address < -1 || address == 0)
      throw nb::buffer_error(
          (std::string("__dlpack__(): stream=") + shown(stream) +
           " is not a CUDA stream; pass its address, 1 for the legacy default one, 2 for that of the thread, -1 for no order")
              .c_str());
    if (order && address != -1) order(static_cast<std::uint64_t>(address));
  }
  return exported.attr("__dlpack__")(**how);
}

void warn(std::string const& message) {
  auto const level = nb::cast<Py_ssize_t>(nb::module_::import_("garner._arguments").attr("caller_level")());
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), level) != 0) throw nb::python_error();
}
void warn_without_gpu(execution_device where, char const* option, std::optional<std::uint64_t> bytes) {
  if (where.kind != device_kind::cpu || bytes.value_or(0) == 0) return;
  warn(std::string(option) +
       " has no effect on the CPU, which has no GPU memory; run on a GPU (garner.doctor() reports whether one can be used), or leave " +
       option + " out");
}

}  // namespace garner::python

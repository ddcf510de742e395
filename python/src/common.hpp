// What all of the binding shares: work without the interpreter's lock that Ctrl-C can stop, keywords, arrays in and out.
// The binding sees include/garner alone: it compiles wherever a Python, these headers and libgarner are.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "garner/garner.hpp"

namespace garner {
struct loader_options;
}

namespace garner::python {

namespace nb = nanobind;

// What garner/notebook.py makes of an object.
inline nb::str in_notebook(char const* function, nb::handle of) {
  return nb::str(nb::module_::import_("garner.notebook").attr(function)(of));
}
void add_errors();
void add_graphs(nb::module_& m);
void add_writer(nb::module_& m);
void add_hetero(nb::module_& m);
void add_jobs(nb::module_& m);
void add_features(nb::module_& m);
void add_scores(nb::module_& m);
void add_shared(nb::module_& m);
void add_blocks(nb::module_& m);
void add_split(nb::module_& m);
void add_load(nb::module_& m);
void add_rows(nb::module_& m);
void add_gnn(nb::module_& m);

[[noreturn]] inline void refuse(errc code, std::string const& message) { throw error(code, message); }

// What garner/_checks.py, which all that comes in passes, makes of it by this function of its.
template <class... Args>
nb::object checked(char const* by, Args&&... args) {
  return nb::module_::import_("garner._checks").attr(by)(std::forward<Args>(args)...);
}
inline std::string shown(nb::handle value) { return nb::cast<std::string>(checked("told", value)); }  // in a few words

// While it lives, in the main thread, Ctrl-C requests that Garner stops. Then Python's own handler is back, and notified of a Ctrl-C.
class interruptible {
 public:
  interruptible();
  ~interruptible();
  interruptible(interruptible const&) = delete;
  interruptible& operator=(interruptible const&) = delete;

 private:
  bool installed_ = false;
};

bool interrupted_now();  // by Ctrl-C, since the outermost of them lives

// Runs work() without the interpreter's lock. Nothing of Python may be touched inside.
template <class Work>
auto released(Work&& work) {
  interruptible guard;
  nb::gil_scoped_release unlocked;
  return work();
}

// An object whose calls let other threads of Python run while they work on what one at a time may use. A copy is of the same object.
class turns {
  friend class turn;
  // Touched under the interpreter's lock, but for the mutex itself.
  struct held {
    std::unique_ptr<std::timed_mutex> mutex = std::make_unique<std::timed_mutex>();
    std::thread::id by = {};
    pid_t process = ::getpid();
  };
  std::shared_ptr<held> held_ = std::make_shared<held>();
};
// A call of such an object, made and ended under the interpreter's lock. A second thread waits for the first; Ctrl-C ends its wait.
// `refusal`: errc::usage with these words instead.
class turn {
 public:
  explicit turn(turns const& of, char const* refusal = nullptr);
  ~turn();
  turn(turn const&) = delete;
  turn& operator=(turn const&) = delete;

 private:
  std::shared_ptr<turns::held> held_;
};
template <class Work>
auto in_turn(turns const& of, Work&& work) {
  turn const mine(of);
  return released(work);
}
// A class of the library as Python has it.
template <class T>
struct in_turns : T {
  turns busy;
  explicit in_turns(T&& made) : T(std::move(made)) {}
};

execution_device place_of(
    nb::handle spec);  // "cpu", "cuda", "cuda:1", "simulated", "simulated:1", 1, torch.device(...), and "host", "device:1" of before
execution_device default_place();                 // device 0, of a process of torchrun that of LOCAL_RANK; the CPU without a GPU
std::string told(execution_device where);         // as place_of() takes it
std::string told_memory(execution_device where);  // the device whose memory it computes in: a simulated one has the CPU's
// A number that torchrun set in this process's environment: RANK, WORLD_SIZE, LOCAL_RANK; std::nullopt where it is unset, errc::usage
// where its value is not a number.
std::optional<std::uint32_t> from_environment(char const* name);
std::optional<std::uint64_t> bytes_of(nb::handle amount);  // 4096, "8GiB", None

// Whether only the papers' figures use a keyword, or a value of it: garner-lab has it.
bool of_papers(std::string_view keyword, std::string_view value);
inline constexpr char const* in_lab = "' belongs to garner-lab, which `make lab` builds from the sources";

// Keyword options, taken one by one, by the names of before too (garner/_arguments.py); done() refuses what is left, which is a mistake of
// the caller's.
class keywords {
 public:
  keywords(char const* call, nb::kwargs given) : call_(call), given_(std::move(given)) {}
  // `names`: of those that may be given by position too.
  keywords(char const* call, nb::args const& positional, nb::kwargs given, std::initializer_list<char const*> names);

  nb::object need(char const* name);  // TypeError where it is missing
  template <class T>
  void need(char const* name, T& into) {
    given_[name] = need(name);
    take(name, into);
  }
  template <class T>
  void take(char const* name, T& into) {
    if (nb::object const value = find(name); value.is_valid()) {
      if (std::is_integral_v<T> && !std::is_same_v<T, bool> && PyBool_Check(value.ptr())) wrong(name, value);
      try {
        into = nb::cast<T>(value);
      } catch (nb::cast_error const&) {
        wrong(name, value);
      }
    }
  }
  void take(char const* name, execution_device& into) {
    if (nb::object const value = find(name); value.is_valid()) into = place_of(value);
  }
  void take(char const* name, std::vector<execution_device>& into) {
    nb::object const value = find(name);
    if (!value.is_valid() || value.is_none()) return;
    if (!nb::isinstance<nb::list>(value) && !nb::isinstance<nb::tuple>(value)) wrong(name, value);
    for (nb::handle const one : value) into.push_back(place_of(one));
  }
  void take(char const* name, std::optional<tier>& into) {
    if (nb::object const value = find(name); value.is_valid() && !value.is_none()) into = parse_tier(text(name, value));
  }
  // One of a few names; the error for another one lists them. None leaves `into` as it is.
  template <class Enum, class Into>
  void choose(char const* name, Into& into, std::map<std::string, Enum> const& choices) {
    nb::object const value = find(name);
    if (!value.is_valid() || value.is_none()) return;
    auto const found = choices.find(text(name, value));
    if (of_papers(name, text(name, value))) refuse(errc::usage, std::string(name) + " '" + text(name, value) + in_lab);
    if (found != choices.end()) {
      into = found->second;
      return;
    }
    std::string all;
    for (auto const& choice : choices) all += (all.empty() ? "" : ", ") + choice.first;
    refuse(errc::usage, std::string(name) + " '" + text(name, value) + "': use one of " + all);
  }
  void take_bytes(char const* name, std::optional<std::uint64_t>& into) {
    if (nb::object const value = find(name); value.is_valid()) into = bytes_of(value);
  }
  void take_bytes(char const* name, std::uint64_t& into) {
    if (nb::object const value = find(name); value.is_valid()) into = bytes_of(value).value_or(into);
  }
  void done() const;

 private:
  nb::object find(char const* name);  // and takes it out; invalid where it is not given
  std::string text(char const* name, nb::handle value) const;
  [[noreturn]] void wrong(char const* name, nb::handle value) const;

  char const* call_;
  nb::kwargs given_;
};

// Options of a loader that Loader and train share: prefetch, window, strategy, window_bytes, cache, multiprocessors.
void take_loading(keywords& given, loader_options& into);

// Any array of the host's: NumPy, torch, anything with DLPack or a buffer; a list becomes a NumPy array. Never copied otherwise.
using array = nb::ndarray<nb::ro>;
array host_array(nb::handle from, char const* name);
std::string kind_of(nb::dlpack::dtype type);  // "int64", "float32"

// One-dimensional whole numbers of any width and stride; errc::usage otherwise. write_ids writes to every `step`-th entry; errc::input
// names a negative one and its position.
array whole_numbers(nb::handle from, char const* name);
void write_ids(array const& from, char const* name, std::uint64_t* to, std::size_t step = 1);

// A NumPy array that owns what the vector held.
template <class T>
using numpy_array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <class T>
numpy_array<T> to_numpy(std::vector<T>&& values) {
  auto* const kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return numpy_array<T>(kept->data(), {kept->size()}, owner);
}

// One float32 per row, from numbers of any kind; empty for None. `kept` holds them.
std::span<float const> floats(nb::handle from, char const* name, array& kept);

// One id: an int, or what stands for one. TypeError, or IdError for a negative one.
std::uint64_t id_of(nb::handle from, char const* name);
// The same numbers as int64, which all of torch, SciPy and PyG take; what is not there (2^64 - 1) is -1. Nothing is copied.
numpy_array<std::int64_t> to_int64(std::vector<std::uint64_t>&& values, char const* what);

// __dlpack__ of what nanobind exports, ordered before the consumer's stream as the protocol has it. `order` receives the stream of a
// device; empty: no work is under way. BufferError for a stream given for an array of the host, and for an invalid one.
nb::object dlpack_of(nb::object const& exported, nb::kwargs const& how, bool on_device,
                     std::function<void(std::uint64_t)> const& order = {});

void warn(std::string const& message);  // a Python RuntimeWarning
// Warns of an option that needs GPU memory where the CPU runs. No bytes: the option is unset.
void warn_without_gpu(execution_device where, char const* option, std::optional<std::uint64_t> bytes);

}  // namespace garner::python

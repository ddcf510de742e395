// The module _garner: a thin shell over include/garner. Python's face is the package `garner`.
#include <nanobind/stl/tuple.h>

#include <mutex>

#include "common.hpp"
#include "garner/doctor.hpp"
#include "garner/handle.hpp"
#include "garner/progress.hpp"

namespace garner::python {

namespace {

nb::dict info() {
  build_info const all = released([] { return describe_build(); });
  nb::dict said;
  said["version"] = all.version;
  said["cuda"] = all.cuda;
  nb::list devices;
  for (device_info const& d : all.devices) {
    nb::dict one;
    one["index"] = d.index;
    one["name"] = d.name;
    one["compute_capability"] = std::to_string(d.compute_major) + "." + std::to_string(d.compute_minor);
    one["multiprocessors"] = d.multiprocessors;
    one["memory_bytes"] = d.memory_bytes;
    one["free_bytes"] = d.free_bytes;
    one["driver"] = d.driver_version;
    one["runtime"] = d.runtime_version;
    devices.append(one);
  }
  said["devices"] = devices;
  said["no_device"] = all.no_device.empty() ? nb::object(nb::none()) : nb::object(nb::str(all.no_device.c_str()));
  return said;
}

nb::tuple examine(nb::object where, std::vector<std::tuple<std::string, std::string, std::string>> const& more) {
  std::optional<garner::execution_device> const at = where.is_none() ? std::nullopt : std::optional(place_of(where));
  doctor_report r = released([&] { return examine_machine(at); });
  for (auto const& [name, found, advice] : more) r.checks.push_back({name, found, advice});
  nb::list checks;
  for (doctor_check const& c : r.checks) checks.append(nb::make_tuple(c.name, c.found, c.advice));
  return nb::make_tuple(r.usable, checks, to_text(r));
}

// What the library does, as it last reported: a thread of Python looks, since those that report must not wait for the interpreter.
struct last_report {
  std::mutex mutex;
  std::optional<std::tuple<std::string, std::uint64_t, std::uint64_t>> what;
};
last_report& reported() {
  static last_report one;
  return one;
}

void watch(bool on) {
  set_progress_listener({});
  reported().what.reset();
  if (!on) return clear_interrupt();
  set_progress_listener([](std::string_view what, std::uint64_t done, std::uint64_t total) {
    std::lock_guard const hold(reported().mutex);
    reported().what.emplace(what, done, total);
  });
}

}  // namespace
}  // namespace garner::python

NB_MODULE(_garner, m) {
  using namespace garner::python;
  m.doc() = "Garner's binding; import garner instead.";
  // Without a look at the devices: CUDA begun by an import would not work in a child by fork.
  m.def("_version", [] { return garner::version(); });
  nb::set_leak_warnings(false);  // a loader's process may end while its tables are in use, which is not a leak
  add_errors();
  m.def(
      "info", &info, nb::sig("def info() -> dict[str, object]"),
      "What this Garner is: 'version', 'cuda' (built for GPUs), 'devices' (a dict each: name, memory_bytes, free_bytes, ...), 'no_device'\n"
      "(why no GPU can be used, and what to try; else None).");
  m.def("_examine_machine", &examine, nb::arg("device").none(), nb::arg("more"),
        nb::sig("def _examine_machine(device: object, more: list[tuple[str, str, str]]) -> tuple[bool, list[tuple[str, str, str]], str]"),
        "The checks, `more` behind them: whether all is usable; name, found and advice of each; and the text.");
  m.def(
      "_why_gpu_unusable", [] { return garner::why_gpu_unusable(); },
      "Does not initialize CUDA. Empty: a GPU can be used, or the machine lacks one.");
  m.def("_watch", &watch, nb::arg("on"), "garner.progress: whether the library reports how far it is.");
  m.def(
      "_watched",
      [] {
        std::lock_guard const hold(reported().mutex);
        return reported().what;
      },
      "What it does, how much is done, and of how much.");
  m.def(
      "_stop", [] { garner::request_interrupt(); }, "As Ctrl-C, until _watch(False).");
  m.def(
      "parse_bytes", [](nb::object bytes) { return bytes_of(bytes).value_or(0); }, nb::arg("bytes"),
      nb::sig("def parse_bytes(bytes: int | str) -> int"),
      "A size as all options take it: \"8GiB\" or \"1.5 GiB\" in powers of 1024 (\"8G\" too), \"8GB\" or \"512 MB\" of 1000, plain bytes.");
  m.def(
      "limit_host_memory", [](nb::object bytes) { garner::limit_host_memory(bytes_of(bytes).value_or(~std::uint64_t{0})); },
      nb::arg("bytes").none(), nb::sig("def limit_host_memory(bytes: int | str | None) -> None"),
      "What Garner may take of host memory, as \"8GiB\"; whatever would pass it raises OutOfMemory. None: no limit.");
  m.def(
      "limit_device_memory",
      [](int device, nb::object bytes) { garner::limit_device_memory(device, bytes_of(bytes).value_or(~std::uint64_t{0})); },
      nb::arg("device"), nb::arg("bytes").none(), nb::sig("def limit_device_memory(device: int, bytes: int | str | None) -> None"),
      "What Garner may take of a device's memory.");
  add_graphs(m);
  add_writer(m);
  add_hetero(m);
  add_jobs(m);
  add_features(m);
  add_scores(m);
  add_shared(m);
  add_blocks(m);
  add_split(m);
  add_load(m);
  add_rows(m);
  add_gnn(m);
}

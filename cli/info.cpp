// `garner info`: devices, links, host memory, what this build can do, and the measured rates.
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "core/crew.hpp"
#include "core/device.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct settings {
  bool json = false, again = false, large = false;
};

std::uint64_t meminfo(std::string const& key) {
  std::ifstream in("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (in >> word)
    if (word == key + ":" && in >> kib) return kib * 1024;
  return 0;
}

std::string bytes_or(std::uint64_t bytes, char const* none) { return bytes == budget::unlimited ? none : format_bytes(bytes); }
nlohmann::json bytes_or_null(std::uint64_t bytes) { return bytes == budget::unlimited ? nlohmann::json() : nlohmann::json(bytes); }

nlohmann::json gather(settings const& s) {
  ::rlimit lock{};
  ::getrlimit(RLIMIT_MEMLOCK, &lock);
  nlohmann::json all;
  all["version"] = GARNER_VERSION;
  all["build"] = {{"cuda", device::built()},
                  {"compiler", __VERSION__},
                  {"reads", {"gnr", "el", "wel", "csv", "txt", "mtx", "gr", "sg", "wsg", "bel"}},
                  {"writes", {"gnr", "el", "wel", "mtx", "sg", "wsg", "bel"}},
                  {"places", device::built() ? nlohmann::json{"host", "traced", "device"} : nlohmann::json{"host", "traced"}},
                  {"jobs", {"bfs"}}};
  all["host"] = {{"threads", shared_crew().threads()},
                 {"memory_total_bytes", meminfo("MemTotal")},
                 {"memory_available_bytes", meminfo("MemAvailable")},
                 {"budget_bytes", bytes_or_null(host_budget().limit())},
                 {"locked_limit_bytes", lock.rlim_cur == RLIM_INFINITY ? nlohmann::json() : nlohmann::json(lock.rlim_cur)},
                 {"copy_gbs", host_copy_gbs()}};
  all["devices"] = nlohmann::json::array();
  if (device::count() == 0) all["no_device"] = device::why_none();
  for (int d = 0; d < device::count(); ++d) {
    device::properties const p = device::describe(d);
    device::memory_now const now = device::memory(d);
    link_calibration const& l = link_of(d, s.again, s.large ? std::uint64_t{16} << 30 : std::uint64_t{1} << 30);
    nlohmann::json rows = nlohmann::json::array();
    for (row_rate const& r : l.random_rows) rows.push_back({{"row_bytes", r.row_bytes}, {"table_bytes", r.table_bytes}, {"gbs", r.gbs}});
    all["devices"].push_back({{"index", d},
                              {"name", p.name},
                              {"pci", p.pci},
                              {"compute_capability", fmt::format("{}.{}", p.compute_major, p.compute_minor)},
                              {"multiprocessors", p.multiprocessors},
                              {"memory_bytes", p.memory_bytes},
                              {"memory_free_bytes", now.free_bytes},
                              {"l2_bytes", p.l2_bytes},
                              {"driver", p.driver_version},
                              {"runtime", p.runtime_version},
                              {"link",
                               {{"to_device_gbs", l.to_device_gbs},
                                {"to_host_gbs", l.to_host_gbs},
                                {"zero_copy_gbs", l.zero_copy_gbs},
                                {"line_requests_giga", l.line_requests},
                                {"sector_requests_giga", l.sector_requests},
                                {"saturating_sms", l.saturating_sms},
                                {"random_rows", rows}}}});
  }
  return all;
}

void print(nlohmann::json const& all) {
  using cli::say;
  auto const number = [](nlohmann::json const& j) { return j.get<double>(); };
  auto const bytes = [](nlohmann::json const& j, char const* none) { return bytes_or(j.is_null() ? budget::unlimited : j.get<std::uint64_t>(), none); };
  nlohmann::json const &host = all["host"], &build = all["build"];
  say("garner {}, built with {}, {}\n", all["version"].get<std::string>(), build["compiler"].get<std::string>(),
      build["cuda"].get<bool>() ? "for GPUs" : "without GPU support");
  auto const list = [](nlohmann::json const& words) {
    std::string text;
    for (auto const& w : words) text += (text.empty() ? "" : " ") + w.get<std::string>();
    return text;
  };
  say("reads {}; writes {}; places {}; jobs {}\n", list(build["reads"]), list(build["writes"]), list(build["places"]), list(build["jobs"]));
  say("host: {} threads, memory {} ({} available now), budget {}, may lock {}, copies {:.1f} GB/s (read + write)\n", host["threads"].get<int>(),
      bytes(host["memory_total_bytes"], ""), bytes(host["memory_available_bytes"], ""), bytes(host["budget_bytes"], "unlimited"),
      bytes(host["locked_limit_bytes"], "any amount"), number(host["copy_gbs"]));
  if (all.contains("no_device")) say("devices: none: {}\n", all["no_device"].get<std::string>());
  for (auto const& d : all["devices"]) {
    nlohmann::json const& l = d["link"];
    say("device {}: {} ({}), compute capability {}, {} multiprocessors, {} ({} free), L2 {}\n", d["index"].get<int>(), d["name"].get<std::string>(),
        d["pci"].get<std::string>(), d["compute_capability"].get<std::string>(), d["multiprocessors"].get<int>(), bytes(d["memory_bytes"], ""),
        bytes(d["memory_free_bytes"], ""), bytes(d["l2_bytes"], ""));
    say("  copies {:.1f} GB/s to the device, {:.1f} back; reads of host memory {:.1f} GB/s = {:.0f} % of copies, reached by {} of its multiprocessors\n",
        number(l["to_device_gbs"]), number(l["to_host_gbs"]), number(l["zero_copy_gbs"]), 100 * number(l["zero_copy_gbs"]) / number(l["to_device_gbs"]),
        l["saturating_sms"].get<int>());
    say("  requests {:.2f} G/s of 128 B, {:.2f} G/s of 32 B\n", number(l["line_requests_giga"]), number(l["sector_requests_giga"]));
    say("  random rows of host memory, GB/s:\n");
    for (auto const& r : l["random_rows"])
      say("    {:>5} B rows of a table of {:>9}: {:5.1f}\n", r["row_bytes"].get<int>(), format_bytes(r["table_bytes"].get<std::uint64_t>()), number(r["gbs"]));
  }
}

}  // namespace

void add_info(CLI::App& app) {
  auto* const verb = app.add_subcommand("info", "Devices, links and their measured rates, host memory, what this build can do");
  auto const s = std::make_shared<settings>();
  verb->add_flag("--json", s->json, "Print one JSON object");
  verb->add_flag("--measure", s->again, "Measure the links again (else from the cache where they were measured before)");
  verb->add_flag("--large", s->large, "Measure random rows of tables up to 16 GiB, too (with --measure)");
  verb->footer("Example:\n  garner info --json\n");
  verb->callback([s] {
    nlohmann::json const all = gather(*s);
    if (s->json) cli::say("{}\n", all.dump(2));
    else print(all);
  });
}

}  // namespace garner

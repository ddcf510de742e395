// `garner info`: devices, links, host memory, drives, what this build can do, and the measured rates. The text is printed from the JSON
// object, so that both say the same.
#include <sys/resource.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command/common.hpp"
#include "garner/build.hpp"
#include "garner/link.hpp"
#include "garner/memory.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using json = nlohmann::ordered_json;  // in the order in which it is filled

struct info_settings {
  bool as_json = false, again = false, quick = false;
  std::vector<std::string> drives;
};

std::string bytes_or(std::uint64_t bytes, char const* none) { return bytes == unlimited_bytes ? none : cli::format_bytes(bytes); }
json bytes_or_null(std::uint64_t bytes) { return bytes == unlimited_bytes ? json() : json(bytes); }

std::string compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return "g++ " __VERSION__;
#endif
}

json gather(info_settings const& s) {
  ::rlimit lock{};
  ::getrlimit(RLIMIT_MEMLOCK, &lock);
  host_memory const memory = host_memory_now();
  build_info const build = describe_build();
  json all;
  all["version"] = GARNER_VERSION;
  all["build"] = {{"cuda", build.cuda},
                  {"cuda_toolkit", build.cuda ? json(build.toolkit) : json()},
                  {"compiler", compiler()},
                  {"reads", {"gnr", "el", "wel", "csv", "snap", "mtx", "gr", "metis", "sg", "wsg", "bel", "ldbc", "npy", "npz"}},
                  {"writes", {"gnr", "el", "wel", "mtx", "metis", "sg", "wsg", "bel"}},
                  {"devices", build.cuda ? json{"cpu", "simulated", "cuda"} : json{"cpu", "simulated"}},
                  {"algorithms", {"bfs", "sssp", "components", "pagerank"}}};
  all["host"] = {{"threads", host_threads()},
                 {"memory_total_bytes", memory.total},
                 {"memory_available_bytes", memory.available},
                 {"memory_installed_bytes", bytes_or_null(memory.installed)},
                 {"group_limit_bytes", bytes_or_null(memory.group_limit)},
                 {"group_used_bytes", memory.group_limit == unlimited_bytes ? json() : json(memory.group_used)},
                 {"budget_bytes", bytes_or_null(host_memory_use().limit)},
                 {"locked_limit_bytes", lock.rlim_cur == RLIM_INFINITY ? json() : json(lock.rlim_cur)},
                 {"copy_gbs", host_copy_gbs()}};
  all["devices"] = json::array();
  if (build.devices.empty()) all["no_device"] = build.no_device;
  for (device_info const& d : build.devices) {
    link_calibration const& l = link_of(d.index, s.again, std::uint64_t{s.quick ? 1u : 16u} << 30);
    json rows = json::array();
    for (row_rate const& r : l.random_rows) rows.push_back({{"row_bytes", r.row_bytes}, {"table_bytes", r.table_bytes}, {"gbs", r.gbs}});
    all["devices"].push_back({{"index", d.index},
                              {"name", d.name},
                              {"pci", d.pci},
                              {"compute_capability", fmt::format("{}.{}", d.compute_major, d.compute_minor)},
                              {"multiprocessors", d.multiprocessors},
                              {"memory_bytes", d.memory_bytes},
                              {"memory_free_bytes", d.free_bytes},
                              {"l2_bytes", d.l2_bytes},
                              {"driver", d.driver_version},
                              {"runtime", d.runtime_version},
                              {"link",
                               {{"to_device_gbs", l.to_device_gbs},
                                {"to_host_gbs", l.to_host_gbs},
                                {"zero_copy_gbs", l.zero_copy_gbs},
                                {"line_requests_giga", l.line_requests},
                                {"sector_requests_giga", l.sector_requests},
                                {"saturating_sms", l.saturating_sms},
                                {"paged_gbs", l.paged_gbs ? json(*l.paged_gbs) : json()},
                                {"random_reads", rows},
                                {"cached_in", link_cache_file(l.pci, l.device).string()}}}});
  }
  if (!s.drives.empty()) {
    all["drives"] = json::array();
    for (std::string const& path : s.drives) {
      drive_rates const t = measure_drive(path, s.quick);
      json reads = json::array();
      for (drive_read const& r : t.reads)
        reads.push_back({{"request_bytes", r.bytes},
                         {"in_flight", r.in_flight},
                         {"threads", r.threads},
                         {"requests_per_second", r.requests_per_second},
                         {"gbs", r.bytes_per_second / 1e9},
                         {"median_us", r.median_us},
                         {"p99_us", r.p99_us}});
      all["drives"].push_back({{"path", path},
                               {"bytes", t.bytes},
                               {"how", t.how},
                               {"latency_us", t.latency_us},
                               {"requests_per_second", t.requests_per_second},
                               {"gbs", t.bytes_per_second / 1e9},
                               {"gap_bytes", t.gap_bytes},
                               {"reads", reads}});
    }
  }
  return all;
}

void print(json const& all) {
  using cli::say;
  auto const number = [](json const& j) { return j.get<double>(); };
  auto const bytes = [](json const& j, char const* none) { return bytes_or(j.is_null() ? unlimited_bytes : j.get<std::uint64_t>(), none); };
  json const &host = all["host"], &build = all["build"];
  say("garner {}, built with {}, {}\n", all["version"].get<std::string>(), build["compiler"].get<std::string>(),
      build["cuda"].get<bool>() ? "for GPUs with CUDA " + build["cuda_toolkit"].get<std::string>() : "without GPU support");
  auto const list = [](json const& words) {
    std::string text;
    for (auto const& w : words) text += (text.empty() ? "" : " ") + w.get<std::string>();
    return text;
  };
  say("reads    {}\nwrites   {}\ndevices  {}\nruns     {}\n", list(build["reads"]), list(build["writes"]), list(build["devices"]),
      list(build["algorithms"]));
  say("host     {} threads; copies {:.1f} GB/s (read + write)\n", host["threads"].get<int>(), number(host["copy_gbs"]));
  say("         memory {} ({} available now, {} installed), control group {}\n", bytes(host["memory_total_bytes"], ""),
      bytes(host["memory_available_bytes"], ""), bytes(host["memory_installed_bytes"], "unknown"),
      host["group_limit_bytes"].is_null()
          ? "without a limit"
          : fmt::format("{} of {} used", bytes(host["group_used_bytes"], ""), bytes(host["group_limit_bytes"], "")));
  say("         budget {}, may lock {} (ulimit -l)\n", bytes(host["budget_bytes"], "unlimited"),
      bytes(host["locked_limit_bytes"], "any amount"));
  if (all.contains("no_device")) say("GPU      none: {}\n", all["no_device"].get<std::string>());
  for (auto const& d : all["devices"]) {
    json const& l = d["link"];
    say("device {} {} ({}), compute capability {}, {} multiprocessors, {} ({} free), L2 {}\n", d["index"].get<int>(),
        d["name"].get<std::string>(), d["pci"].get<std::string>(), d["compute_capability"].get<std::string>(),
        d["multiprocessors"].get<int>(), bytes(d["memory_bytes"], ""), bytes(d["memory_free_bytes"], ""), bytes(d["l2_bytes"], ""));
    say("         driver for CUDA {}.{}\n", d["driver"].get<int>() / 1000, d["driver"].get<int>() % 1000 / 10);
    say("         copies {:.1f} GB/s to the device, {:.1f} back; reads of host memory {:.1f} GB/s = {:.0f} % of copies, reached by {} of "
        "its multiprocessors\n",
        number(l["to_device_gbs"]), number(l["to_host_gbs"]), number(l["zero_copy_gbs"]),
        100 * number(l["zero_copy_gbs"]) / number(l["to_device_gbs"]), l["saturating_sms"].get<int>());
    say("         requests {:.2f} G/s of 128 B, {:.2f} G/s of 32 B\n", number(l["line_requests_giga"]), number(l["sector_requests_giga"]));
    if (!l["paged_gbs"].is_null()) say("         managed memory {:.1f} GB/s (UVM, cold, read in order)\n", number(l["paged_gbs"]));
    say("         random reads, GB/s by table{:>8} {:>8} {:>8} {:>8}\n", "128 B", "512 B", "1024 B", "4096 B");
    std::uint64_t table = 0;
    for (auto const& r : l["random_reads"]) {
      auto const bytes_of_table = r["table_bytes"].get<std::uint64_t>();
      if (bytes_of_table != table) say("{}{:>34}", table ? "\n" : "", cli::format_bytes(bytes_of_table));
      table = bytes_of_table;
      say(" {:8.1f}", number(r["gbs"]));
    }
    say("\n         cached in {}; --measure repeats the measurement, with larger tables than --quick\n", l["cached_in"].get<std::string>());
  }
  if (!all.contains("drives")) return;
  for (auto const& d : all["drives"]) {
    say("drive    {}: {}\n", d["path"].get<std::string>(), d["how"].get<std::string>());
    say("         a read takes {:.0f} us; at most {} reads of 4 KiB and {:.2f} GB per second; a gap of {} costs as much as a request\n",
        number(d["latency_us"]), cli::grouped(static_cast<std::uint64_t>(number(d["requests_per_second"]))), number(d["gbs"]),
        cli::format_bytes(d["gap_bytes"].get<std::uint64_t>()));
    say("         random reads {:>9} {:>10} {:>12} {:>8} {:>10} {:>9}\n", "of", "in flight", "per second", "GB/s", "median us", "p99 us");
    for (auto const& r : d["reads"])
      say("         {:>22} {:>10} {:>12} {:>8.2f} {:>10.0f} {:>9.0f}\n", cli::format_bytes(r["request_bytes"].get<std::uint64_t>()),
          r["threads"].get<unsigned>() > 1 ? fmt::format("{} x {}", r["threads"].get<unsigned>(), r["in_flight"].get<unsigned>())
                                           : fmt::format("{}", r["in_flight"].get<unsigned>()),
          cli::grouped(static_cast<std::uint64_t>(number(r["requests_per_second"]))), number(r["gbs"]), number(r["median_us"]),
          number(r["p99_us"]));
  }
}

}  // namespace

void add_info(cli::program& p) {
  cli::verb& v = p.add("info", "devices, links and their measured rates, host memory, what this build can do");
  auto const s = std::make_shared<info_settings>();
  v.add("--json", s->as_json);
  v.add("--measure", s->again);
  v.add("--quick", s->quick);
  v.add("--drives", s->drives);
  v.ends_with("Example: garner info --json");
  v.runs([s] {
    json const all = gather(*s);
    if (s->as_json) cli::say("{}\n", all.dump(2));
    else print(all);
  });
}

}  // namespace garner

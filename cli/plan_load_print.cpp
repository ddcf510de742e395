// What garner plan prints of a load or training, from its JSON.
#include <fmt/format.h>

#include "command/common.hpp"
#include "command/link_times.hpp"
#include "plan_load.hpp"

namespace garner::cli {

namespace {

using json = nlohmann::ordered_json;

std::string text(json const& j) { return j.get<std::string>(); }
std::string number(json const& j) { return grouped(static_cast<std::uint64_t>(j.get<double>() + 0.5)); }

}  // namespace

void print_plan_of_load(json const& all) {
  auto const bytes = [](json const& j) { return j.is_null() ? std::string("an unknown amount") : format_bytes(j.get<std::uint64_t>()); };
  say("graph   {}: {}\n", text(all["file"]), text(all["graph"]));
  bool const trains = all.contains("training"), full = trains && all["training"]["full"].get<bool>();
  std::vector<std::uint64_t> row_bytes;
  if (all["types"].is_null()) row_bytes.push_back(all["row_bytes"].get<std::uint64_t>());
  else
    for (json const& of : all["types"]) row_bytes.push_back(of["row_bytes"].get<std::uint64_t>());
  say("plan    {}, on {}; adjacency in tier {}, access {}, feature rows of {} B{}\n\n", text(all["algorithm"]), text(all["device"]),
      text(all["tier"]), text(all["access"]), fmt::join(row_bytes, ", "),
      full ? "" : fmt::format(", strategy {}, window {}", text(all["strategy"]), all["window"].get<std::uint64_t>()));
  if (all["activations"] == "host" || all["activations"] == "file")
    say("activations stay in {} until the backward pass\n\n", all["activations"] == "host" ? "host memory" : "a file");
  std::size_t width = 46;
  for (json const& r : all["memory"]) width = std::max(width, text(r["array"]).size());
  say("{:<{}} {:<8} {:>20}\n", "array", width, "tier", "bytes");
  for (json const& r : all["memory"])
    say("{:<{}} {:<8} {:>20} {:>12}\n", text(r["array"]), width, text(r["tier"]), grouped(r["bytes"].get<std::uint64_t>()),
        bytes(r["bytes"]));
  say("host    {} of {} allowed\n", bytes(all["host_bytes"]), bytes(all["host_allowed"]));
  if (text(all["device"]).starts_with("cuda"))
    say("device  {} of {} allowed or free\n", bytes(all["device_bytes"]), bytes(all["device_allowed"]));
  if (json const& shards = all["shards"]; !shards.empty()) {
    say("\n{:>5} {:>14} {:>14} {:>16} {:>20}\n", "shard", "nodes", "edges", "remote rows", "bytes");
    for (std::size_t k = 0; k < shards.size(); ++k)
      say("{:>5} {:>14} {:>14} {:>16} {:>20} {:>12}\n", k, number(shards[k]["nodes"]), number(shards[k]["edges"]),
          number(shards[k]["remote_rows_at_most"]), grouped(shards[k]["bytes"].get<std::uint64_t>()), bytes(shards[k]["bytes"]));
    say("remote rows are an upper bound: the adjacency is read when the graph is split\n");
    say("\n{:<12} {:>6} {:>24} {:>10}   {}\n", "strategy", "shards", "aggregation ms per epoch", "floor", "bound by");
    for (json const& w : all["strategies"])
      say("{:<12} {:>6} {:>24} {:>10}   {}\n", text(w["strategy"]), w["shards"].get<std::uint64_t>(), shown_ms(w["predicted_ms"]),
          shown_ms(w["floor_ms"]), text(w["bound"]));
    say("predicted by the rates of {} for random edges; training measures the strategies that are close to each other\n",
        text(all["device"]) == "cpu" ? "a common host" : "an H200");
  }
  if (!full)
    say("\na mini-batch of {} training nodes, {} per epoch; {}\n", grouped(all["batch"].get<std::uint64_t>()),
        grouped(all["batches_per_epoch"].get<std::uint64_t>()),
        all["from_offsets"].get<bool>() ? "by the degrees, for random edges" : "by the mean degree");
  if (!full) say("  about {} nodes, {} edges\n", number(all["nodes_per_batch"]), number(all["edges_per_batch"]));
  auto const of_rows = [&](json const& of, std::string const& type) {
    say("  features{}  {} local, {} remote; {} of these cross the link, the others hit the window\n", type, number(of["local_rows"]),
        number(of["remote_rows"]), number(of["fetched_rows"]));
  };
  if (!full && all["types"].is_null()) of_rows(all, "");
  else if (!full)
    for (json const& of : all["types"]) of_rows(of, fmt::format(" of '{}'", text(of["type"])));
  if (all["together"]["bytes_link"] == 0) {
    say("\nlink    nothing crosses it\n");
  } else if (!full) {
    say("\nover the link, per mini-batch, in ms{}\n  {:<10} {:>11} {:>9} {:>9} {:>9} {:>9}\n",
        all.contains("not_here") ? fmt::format(" (here: {})", text(all["not_here"])) : "", "stage", "bytes", "here", "12.3 GB/s", "24 GB/s",
        "51 GB/s");
    for (char const* stage : {"sample", "fetch", "together"}) {
      json const &s = all[stage], &ms = s["ms"];
      say("  {:<10} {:>11} {:>9} {:>9} {:>9} {:>9}\n", stage, bytes(s["bytes_link"]), shown_ms(ms["here"]), shown_ms(ms["12.3"]),
          shown_ms(ms["24"]), shown_ms(ms["51"]));
    }
    say("stages overlap each other and the model; both share one link\n");
  }
  if (json const& d = all["drive"]; d["file_rows"].get<double>() > 0) {
    say("\nfrom the file, per mini-batch: {} feature rows; {} are read ({}), the others hit the cache\n", number(d["file_rows"]),
        number(d["file_reads"]), bytes(d["bytes"]));
    if (d["ms"].is_null())
      say("  the rate of its drive is unknown, since the file is small; set --drive-reads N (garner info --drives measures it)\n");
    else say("  {} reads per second: {} ms, {} ms per epoch\n", number(d["reads_per_second"]), shown_ms(d["ms"]), shown_ms(d["epoch_ms"]));
  }
  if (trains) {
    json const& t = all["training"];
    say("\nan epoch of {}: steps {}, parameters {}\n", text(t["model"]), grouped(t["steps"].get<std::uint64_t>()),
        grouped(t["parameters"].get<std::uint64_t>()));
    if (t["ranks"] != 1)
      say("  each of {} ranks: {} training nodes, {} per step of all ranks\n", t["ranks"].get<std::uint64_t>(),
          grouped((all["training_nodes"].get<std::uint64_t>() + t["ranks"].get<std::uint64_t>() - 1) / t["ranks"].get<std::uint64_t>()),
          grouped(all["batch"].get<std::uint64_t>() * t["ranks"].get<std::uint64_t>()));
    say("  {:<18}  {:^32}  {:>20}\n", "bytes read", full ? "per step" : "per mini-batch", "per epoch");
    std::string const tiers = fmt::format("{:>10} {:>10} {:>10}", "local", "peers", "remote");
    say("  {:<18}  {}  {}\n", "", tiers, tiers);
    for (json const& r : t["reads"]) {
      std::string line = fmt::format("  {:<18}", text(r["what"]));
      for (char const* of : {"batch", "epoch"})
        line +=
            fmt::format("  {:>10} {:>10} {:>10}", bytes(r[of]["local_bytes"]), bytes(r[of]["peer_bytes"]), bytes(r[of]["remote_bytes"]));
      if (r["epoch"]["file_bytes"] != 0)
        line += fmt::format("  and from the file {}, {} per epoch", bytes(r["batch"]["file_bytes"]), bytes(r["epoch"]["file_bytes"]));
      say("{}\n", line);
    }
    say("  {:.3g} GFLOP of GEMMs, {} of features aggregated, {} over the link ({} more per evaluation)\n", t["flops"].get<double>() / 1e9,
        format_bytes(static_cast<std::uint64_t>(t["local_bytes_moved"].get<double>())),
        format_bytes(static_cast<std::uint64_t>(t["link_bytes"].get<double>())), bytes(t["evaluation_link_bytes"]));
    if (!t["gemm_ms"].is_null()) {
      say("  ms, assuming {:.0f} TFLOP/s and {:.1f} TB/s: GEMMs {:.3g}, aggregation {:.3g}\n", assumed_flops / 1e12,
          assumed_near_bytes / 1e12, t["gemm_ms"].get<double>(), t["aggregation_ms"].get<double>());
      if (json const& drive = all["scratch"]; !drive.is_null() && !drive["ms"].is_null())
        say("  {} written to {} and read again, at {:.2f} and {:.2f} GB/s: {} ms\n", bytes(drive["bytes"]), text(drive["folder"]),
            drive["written_bytes_per_second"].get<double>() / 1e9, drive["read_bytes_per_second"].get<double>() / 1e9,
            shown_ms(drive["ms"]));
      for (named_link const& l : named_links)
        say("  with a link of {:>4} GB/s {} ms per epoch, bound by {}\n", l.name, shown_ms(t["epoch_ms"][l.name]),
            text(t["bound_by"][l.name]));
    }
  }
  say("\nfits    {}\n", all["fits"].get<bool>() ? all["device_allowed"].is_null() && all["device_bytes"] != 0
                                                      ? "the host; the GPU's memory is unknown (set it with --device-memory)"
                                                      : "yes"
                                                : "no");
}

}  // namespace garner::cli

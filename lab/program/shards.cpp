// garner-lab shards: aggregation over parts of a graph.
#include <memory>

#include "bench.hpp"
#include "lab/shards.hpp"
#include "memory/budget.hpp"
#include "shard/parts.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

struct shards_arguments : bench_arguments {
  shards_bench_options o;
  std::string provider;
  std::uint32_t parts = 2;
  std::vector<std::uint32_t> devices;
};

void say_shards(shards_file const& f, shard_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<8} {:<8} {:>6} {:<11} {:<6} {:<5} {:<11} {:>9} {:>7} {:>10} {:>8} {:>5} {:>8} {:>10}\n", "graph", "study", "shards", "way",
             "sums", "rows", "ps,dist,wpb", "ms", "to one", "bytes", "floor ms", "%", "measured", "forward ms");
  bool const mgg = r.how.strategy == shard_strategy::mgg;
  std::string shape =
      fmt::format("{},{},{}", r.how.tuning.whole_lists ? "-" : std::to_string(r.how.tuning.ps), r.how.tuning.dist, r.how.tuning.wpb);
  if (r.how.tuning.apart) shape += " /";
  if (r.how.tuning.plain_reads) shape += " w";
  tell("{:<8} {:<8} {:>6} {:<11} {:<6} {:<5} {:<11} {:>9.3f} {:>7} {:>10} {:>8} {:>5} {:>8} {:>10}\n", r.graph, r.study, r.how.shards,
       r.strategy(), mgg ? "-" : to_string(r.how.sums), to_string(r.how.wire), mgg ? shape : "-", r.ms,
       r.against_one ? fmt::format("{:.2f}", *r.against_one) : "-", format_bytes(r.bytes),
       r.floor_ms ? fmt::format("{:.3f}", *r.floor_ms) : "-", r.floor_ms ? fmt::format("{:.0f}", 100 * *r.floor_ms / r.ms) : "-",
       r.steps.empty() ? "-" : std::to_string(r.steps.size()), r.forward ? fmt::format("{:.3f}", r.forward->ms) : "-");
}

void measure(shards_arguments& a) {
  shards_bench_options& o = a.o;
  if (!a.devices.empty() && !a.place.empty()) fail(errc::usage, "--devices and --device {}: use one of them", a.place);
  for (std::uint32_t const d : a.devices) o.places.push_back({device_kind::cuda, static_cast<int>(d)});
  if (o.places.empty() && a.parts == 0) fail(errc::usage, "--shards 0: use 1 to {}", shard_parts::most);
  if (o.places.empty()) o.places.assign(a.parts, a.where());
  for (std::string const& name : a.kinds)
    if (name != "none") o.graphs.push_back(name);
  for (std::string const& file : a.files) o.files.emplace_back(file);
  if (!a.provider.empty()) o.provider = parse_shard_provider(a.provider);
  o.seed = a.seed, o.figures = a.figures, o.command = cli::command_line();
  for (execution_device const p : o.places) a.begin(p);
  tell("{} shards at {}, rows of {} f32; each way's sums compared with f64 first; medians of {}, of the slowest shard\n", o.places.size(),
       to_string(o.places[0]), o.width, o.trials);
  shards_file const run = measure_shards(o, say_shards);
  cli::say("floors are of {:.0f} GB/s of memory, {:.0f} of what a cache holds, {:.0f} of a link{}\n", run.rates.memory_gbs,
           run.rates.cache_gbs, run.rates.link_gbs, run.rates.measured ? "" : ", none measured");
  if (!run.over.empty()) cli::say("rows of other shards came over {}\n", run.over);
  if (!run.no_uvm.empty()) cli::say("left out, rows in managed memory: {}\n", run.no_uvm);
  a.write(to_json(run));
}

}  // namespace

void add_shards(cli::program& p) {
  auto const a = std::make_shared<shards_arguments>();
  cli::verb& v = p.add("shards", "aggregation over parts of a graph");
  a->add(v, "ways,search,models,ablation,sweep");
  v.add("--kinds", a->kinds, "some of RDD,ENWIKI,PROD,PROT,ORKT; or none (default: all)");
  v.add("--graph", a->files).repeats();
  v.add("--shards", a->parts, "parts, one thread each on one device");
  v.add("--devices", a->devices, "GPUs, one shard each, as 0,1");
  v.add("--width", a->o.width, "elements per feature row");
  v.add("--shrink", a->o.shrink);
  v.add("--trials", a->o.trials, "runs of each setting");
  v.add("--shard-transport", a->provider);
  v.ends_with("Example: garner-lab shards --devices 0,1 --shrink 1 --out shards.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner::lab

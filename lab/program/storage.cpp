// garner-lab storage: trainings with features on drives, simulated and real.
#include <filesystem>
#include <memory>

#include "bench.hpp"
#include "lab/storage.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

struct storage_arguments : bench_arguments {
  storage_bench_options o;
};

void say_storage(storage_file const& f, storage_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<34} {:<9} {:<29} {:<15} {:>3} {:>6} {:>10} {:>9} {:>9} {:>8} {:>8}\n", "graph", "figure", "way", "drive", "", "window",
             "ms", "sample", "read", "hits", "possible");
  std::string const head =
      fmt::format("{:<34} {:<9} {:<29} {:<15} {:>3} {:>6}", r.graph, r.figure, r.strategy, r.drive.empty() ? "-" : r.drive,
                  r.drives ? std::to_string(r.drives) : "-", r.window ? std::to_string(r.window) : "-");
  auto const share = [&](double hits) { return r.rows > 0 && r.slots ? fmt::format("{:.2f} %", 100 * hits / r.rows) : std::string("-"); };
  tell_row(head, r.skipped,
           fmt::format("{:>10} {:>9} {:>9} {:>8} {:>8}", or_dash(r.ms), or_dash(r.sample_ms), or_dash(r.read_ms), share(r.hits),
                       r.possible ? share(*r.possible) : "-"));
}

void measure(storage_arguments& a) {
  storage_bench_options& o = a.o;
  o.where = a.where(), o.scale = a.scale, o.command = cli::command_line();
  if (a.kinds.size() > 1) fail(errc::usage, "--kinds: storage measures one kind of graph; use kron, uniform or web");
  if (!a.kinds.empty()) o.kind = parse_generator(a.kinds.front());
  a.set_training(o);
  o.warm = std::min(o.warm, o.batches / 4), o.compute_ms = a.compute_ms;
  a.begin(o.where);
  if (o.where.kind == device_kind::simulated)
    fail(errc::usage, "--device simulated: drives are simulated on the CPU, or while a GPU samples; pass cpu or cuda");
  if (o.link_gbs && !(*o.link_gbs > 0 && *o.link_gbs <= 1e6)) fail(errc::usage, "--link-gbs {}: use more than 0", *o.link_gbs);
  for (std::string const& folder : o.folders)
    if (!std::filesystem::is_directory(folder))
      fail(errc::usage, "--drives {}: is not a folder; name one that a table can be written to", folder);
  tell("device {}, fanouts {}, mini-batches of {}; simulated drives in counted time; rows compared; ms per mini-batch\n",
       to_string(o.where), fmt::join(o.fanouts, ","), o.batch);
  a.write(to_json(measure_storage(o, say_storage)));
}

}  // namespace

void add_storage(cli::program& p) {
  auto const a = std::make_shared<storage_arguments>();
  cli::verb& v = p.add("storage", "trainings with features on drives, simulated and real, on graphs like the paper's");
  a->add(v, "stages,sampling,cold,window,policies,drives,memory");
  v.add("--scale", a->scale, "2^SCALE vertices of the graph like IGB-Full");
  v.add("--kinds", a->kinds, "kron, uniform or web (default: kron)");
  a->add_training(v, "mini-batches per setting, the first quarter, at most 10, as warm-up (default: 40)");
  v.add("--compute-ms", a->compute_ms);
  v.add("--cache-batches", a->o.cache_batches);
  v.add("--link-gbs", a->o.link_gbs);
  v.add("--drives", a->o.folders, "also trainings from a table made in these folders, which goes with the run, as /data,/mnt/x");
  v.ends_with("Example: garner-lab storage --scale 18 --fanout 10,5,5 --batch 256 --share 10% --compute-ms 5 --out storage.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner::lab

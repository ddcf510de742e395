#include "bench_storage.hpp"

#include <filesystem>

#include "common.hpp"
#include "core/fail.hpp"
#include "core/publish.hpp"

namespace garner::cli {

void storage_arguments::add(verb& v) {
  v.add("--cache-batches", cache_batches);
  v.add("--link-gbs", link_gbs);
  v.add("--drives", drives, "storage: also trainings from a table made in these folders, which goes with the run, as /data,/mnt/x");
}

namespace {

void say_storage(lab::storage_file const& f, lab::storage_row const& r) {
  if (f.rows.size() == 1)
    say("{:<34} {:<9} {:<29} {:<15} {:>3} {:>6} {:>10} {:>9} {:>9} {:>8} {:>8}\n", "graph", "figure", "way", "drive", "", "window", "ms",
        "sample", "read", "hits", "possible");
  std::string const head =
      fmt::format("{:<34} {:<9} {:<29} {:<15} {:>3} {:>6}", r.graph, r.figure, r.strategy, r.drive.empty() ? "-" : r.drive,
                  r.drives ? std::to_string(r.drives) : "-", r.window ? std::to_string(r.window) : "-");
  auto const ms = [](std::optional<double> t) { return t ? fmt::format("{:.3f}", *t) : std::string("-"); };
  auto const share = [&](double hits) { return r.rows > 0 && r.slots ? fmt::format("{:.2f} %", 100 * hits / r.rows) : std::string("-"); };
  if (!r.skipped.empty()) say("{}  not measured: {}\n", head, with_flags(r.skipped));
  else
    say("{} {:>10} {:>9} {:>9} {:>8} {:>8}\n", head, ms(r.ms), ms(r.sample_ms), ms(r.read_ms), share(r.hits),
        r.possible ? share(*r.possible) : "-");
  flush_out();
}

}  // namespace

void storage_arguments::measure(lab::storage_bench_options o, std::string const& out) const {
  if (o.where.kind == device_kind::simulated)
    fail(errc::usage, "--device simulated: drives are simulated on the CPU, or while a GPU samples; pass cpu or cuda");
  if (link_gbs && !(*link_gbs > 0 && *link_gbs <= 1e6)) fail(errc::usage, "--link-gbs {}: use more than 0", *link_gbs);
  for (std::string const& folder : drives)
    if (!std::filesystem::is_directory(folder))
      fail(errc::usage, "--drives {}: is not a folder; name one that a table can be written to", folder);
  o.cache_batches = cache_batches, o.link_gbs = link_gbs, o.folders = drives;
  say("device {}, fanouts {}, mini-batches of {}; simulated drives in counted time; rows compared; ms per mini-batch\n", to_string(o.where),
      fmt::join(o.fanouts, ","), o.batch);
  flush_out();
  lab::storage_file const run = lab::measure_storage(o, say_storage);
  pending_file file(out);
  file.write(lab::to_json(run));
  file.commit();
  say("{}: written; garner report {} draws it\n", out, out);
}

}  // namespace garner::cli

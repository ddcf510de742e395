// `garner demo`: everything in one call, for `make demo`. Generates a Kronecker graph, writes a graph file, runs BFS from it on every
// device and in every access mode that this machine has, verifies each run, and prints one table. Then it trains on a graph of
// communities with the features in every available tier, compares the models, and prints another table.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "common.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "far/matrix.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "lab/train.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"
#include "memory/self_test.hpp"
#include "traverse/bfs.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct row {
  std::string where, access;
  bfs_run run;
};

struct settings {
  int scale = 18;
  std::string file;  // empty: a temporary one
};

// The file, and whether it goes when the demo ends.
struct demo_file {
  std::filesystem::path path;
  bool temporary;
  ~demo_file() {
    std::error_code ignored;
    if (temporary) std::filesystem::remove(path, ignored);
  }
};

bfs_run median_run(bfs_job& job, std::uint64_t source, int times) {
  std::vector<bfs_run> runs;
  for (int i = 0; i < times; ++i) runs.push_back(job.run(source));
  std::sort(runs.begin(), runs.end(), [](bfs_run const& a, bfs_run const& b) { return a.ms < b.ms; });
  return runs[runs.size() / 2];
}

struct mode {
  access_mode access;
  std::uint32_t per_team;
  char const* name;
};
constexpr mode modes[] = {{access_mode::paged, 1, "paged"},
                          {access_mode::strided, 1, "strided"},
                          {access_mode::merged, 1, "merged"},
                          {access_mode::aligned, 1, "aligned"},
                          {access_mode::aligned, 8, "aligned, 8 lists per warp"}};

void run_demo(settings const& s) {
  bool const gpu = device::count() > 0;
  if (s.scale < 8 || s.scale > 26) fail(errc::usage, "--scale {}: use 8 to 26", s.scale);
  std::error_code no_folder;
  std::filesystem::path const folder = std::filesystem::temp_directory_path(no_folder);
  if (s.file.empty() && no_folder)
    fail(errc::io, "the temporary folder: {}; set TMPDIR to one that exists, or name a file with --file", no_folder.message());
  demo_file const file{s.file.empty() ? folder / fmt::format("garner-demo-{}.gnr", ::getpid()) : std::filesystem::path(s.file),
                       s.file.empty()};
  check_target(file.path);
  generate_options make;
  make.scale = s.scale;
  build_report report;
  if (gpu) self_test(0);  // before anything relies on it
  {
    executor x(gpu ? execution_device{device_kind::cuda, 0} : execution_device{device_kind::cpu, 0});
    graph const made = generate(x, make, report);
    save_graph(made, file.path);
    cli::say("Kronecker graph of scale {}: {} vertices, {} edges ({} of edge list), written to {} and read back for each row.\n", s.scale,
             cli::grouped(made.info.vertices), cli::grouped(made.info.edges), format_bytes(made.info.edges * made.info.id_bytes),
             file.path.string());
  }
  if (gpu) cli::say("cuda:0: {}. The edge list is in host memory, the state per vertex in GPU memory.\n", device::describe(0).name);
  else cli::say("No GPU here: {}.\n", device::why_none());

  std::vector<row> rows;
  double link_gbs = 0;
  if (gpu) {
    link_gbs = link_of(0).zero_copy_gbs;
  }
  std::uint64_t edge_bytes = 0, source = 0;
  std::vector<execution_device> places{{device_kind::cpu, 0}, {device_kind::simulated, 0}};
  if (gpu) places.push_back({device_kind::cuda, 0});
  for (execution_device const where : places)
    for (mode const& m : modes) {
      bfs_options o;
      o.device = where;
      o.access = m.access;
      o.tuning.vertices_per_team = m.per_team;
      o.variant = bfs_variant::levels;  // the same edges in all modes, and none of them cached
      o.graph_cache = 0;
      o.verify = true;
      load_options load;
      bool const on_device = where.kind == device_kind::cuda;
      load.edges = on_device ? default_tier(where, m.access) : tier::host;
      load.device = on_device ? where.index : -1;
      graph const g = load_graph(file.path, load);
      edge_bytes = g.info.edges * g.info.id_bytes;
      source = pick_sources(g, 1, 1).at(0);
      bfs_job job(g, o);
      // A trace does not depend on time, and one cold run of UVM is enough.
      int const times = m.access == access_mode::paged || where.kind == device_kind::simulated ? 1 : 5;
      rows.push_back({to_string(where), m.name, median_run(job, source, times)});
    }

  cli::say("BFS from vertex {}, every run verified; ms is the median of five (paged: one, cold).\n\n", source);
  cli::say("{:<9} {:<26} {:>6} {:>8} {:>7}  {:>9} {:>8} {:>8} {:>8}  {:>6} {:>6}  {}\n", "device", "access", "levels", "ms", "GTEPS",
           "32 B", "64 B", "96 B", "128 B", "ampl.", "% link", "requests");
  for (row const& r : rows) {
    bool const host = r.where == "cpu", simulated = r.where == "simulated";
    auto const count = [&](std::size_t k) { return host || r.access == "paged" ? std::string("-") : cli::grouped(r.run.link.requests[k]); };
    std::string const time = simulated ? "-" : fmt::format("{:.2f}", r.run.ms), rate = simulated ? "-" : fmt::format("{:.3f}", r.run.gteps);
    double const gbs = static_cast<double>(r.run.link.bytes_link()) / r.run.ms / 1e6;
    bool const far = !host && !simulated && r.access != "paged";
    cli::say("{:<9} {:<26} {:>6} {:>8} {:>7}  {:>9} {:>8} {:>8} {:>8}  {:>6} {:>6}  {}\n", r.where, r.access, r.run.levels.size(), time,
             rate, count(0), count(1), count(2), count(3),
             host || (!simulated && r.access == "paged") ? "-" : fmt::format("{:.2f}", r.run.link.amplification(edge_bytes)),
             far && link_gbs > 0 ? fmt::format("{:.0f}", 100 * gbs / link_gbs) : "-",
             host                  ? "none: nothing crosses a link"
             : r.access == "paged" ? (simulated ? "simulated, 4 KiB pages" : "pages, not counted")
             : simulated           ? "simulated"
                                   : "modeled");
  }
  cli::say("\nampl.: bytes over the link / bytes of the edge list. ");
  if (gpu) cli::say("% link: of the {:.1f} GB/s that aligned reads of host memory reach here.\n", link_gbs);
  else
    cli::say(
        "This machine has no GPU, so the requests come from simulated runs: the same\nprogram on 32 simulated lanes, which counts what a "
        "GPU would send.\n");
  auto const requests_of = [&](std::string_view access) -> std::uint64_t {
    for (row const& r : rows)
      if (r.where == "simulated" && r.access == access) return r.run.link.request_count();
    return 0;
  };
  std::uint64_t const strided = requests_of("strided"), aligned = requests_of("aligned");
  if (aligned)
    cli::say("For the same edges `strided` sends {} requests and `aligned` {}: {:.1f} times fewer, most of them whole lines of 128 B.\n",
             cli::grouped(strided), cli::grouped(aligned), static_cast<double>(strided) / static_cast<double>(aligned));
}

void train_demo() {
  using namespace lab;
  struct tried {
    execution_device where;
    double kept;
    char const* lists_and_rows;
    tier lists = tier::host;
  };
  constexpr execution_device host{}, simulated{device_kind::simulated, 0}, gpu{device_kind::cuda, 0};
  std::vector<tried> all{{host, 1, "host memory"}, {simulated, 0, "host memory"}, {simulated, 0.1, "host memory, 10 % cached"}};
  if (device::count())
    all.insert(all.end(), {{gpu, 1, "device memory", tier::device}, {gpu, 0, "host memory"}, {gpu, 0.1, "host memory, 10 % cached"}});
  community_options const of;
  community_graph data = make_communities(of);
  course_options how;
  how.epochs = 5, how.evaluate_every = 0;
  cli::say("\nGraphSAGE on {} nodes of {} communities, {} edges, {} floats per node: {} epochs of mini-batches of {}, fanouts {}.\n\n",
           cli::grouped(data.labels.size()), of.communities, cli::grouped(data.graph.info().edges), of.width, how.epochs, how.batch,
           fmt::join(how.fanouts, ","));
  cli::say("{:<9} {:<30} {:>8}  {:>9} {:>9} {:>8}  {:>9} {:>6}\n", "device", "graph and features in", "accuracy", "local", "remote",
           "remote MB", "ms", "/ local");
  // Products are rounded as the processor has them, so a device is compared with itself.
  same_parameters of_host, of_device;
  double near_ms = 0;
  for (tried const& t : all) {
    bool const on_device = t.where.kind == device_kind::cuda;
    how.where = t.where, how.kept = t.kept;
    data.graph = to_device(std::move(data.graph), t.where, t.lists);
    taken_course const done = take_course(t.lists_and_rows, data, data.graph, how);
    (on_device ? of_device : of_host).check(fmt::format("{}, {}", to_string(t.where), t.lists_and_rows), done.parameters);
    std::vector<double> ms;
    for (train_epoch const& e : done.course.epochs)
      if (e.times.ms && e.epoch > 1) ms.push_back(*e.times.ms);
    double const each = ms.empty() ? 0 : median(ms);
    if (on_device && t.kept == 1) near_ms = each;
    train_rows const& rows = done.course.epochs.back().rows;
    cli::say("{:<9} {:<30} {:>6.2f} %  {:>9} {:>9} {:>8.2f}  {:>9} {:>6}\n", to_string(t.where), t.lists_and_rows,
             100 * done.exact.test.accuracy, cli::grouped(static_cast<std::uint64_t>(rows.near)),
             cli::grouped(static_cast<std::uint64_t>(rows.far)), rows.remote_bytes / 1e6, ms.empty() ? "-" : fmt::format("{:.2f}", each),
             on_device && near_ms > 0 ? fmt::format("{:.2f}", each / near_ms) : "-");
    cli::flush_out();
  }
  how.where = host, how.kept = 1;
  taken_course const alone = take_course("rows alone", data, without_edges(data.labels.size()), how);
  cli::say(
      "\naccuracy: on {} held-out nodes, exact; from a node's own features alone {:.2f} %. Rows and MB are per epoch,\nms is the median "
      "epoch after the first. In every memory tier the trained parameters are the same, bit for bit{}.\n",
      cli::grouped(alone.exact.test.vertices), 100 * alone.exact.test.accuracy, device::count() ? " (cpu and simulated; cuda)" : "");
}

}  // namespace

void add_demo(cli::program& p) {
  cli::verb& v = p.add("demo", "generate, write, read, search, train and verify: two tables of what this machine does");
  auto const s = std::make_shared<settings>();
  v.add("--scale", s->scale, "2^SCALE vertices, 8 to 26");
  v.add("--file", s->file);
  v.ends_with("Example: garner demo --scale 20");
  v.runs([s] {
    run_demo(*s);
    train_demo();
  });
}

}  // namespace garner

// `garner demo`: everything in one call, for `make demo`. Generates a Kronecker graph, writes a graph file, runs BFS from it wherever the
// edges can be on this machine, verifies each run, and prints one table. Then it trains on a graph of communities with the features in
// every available tier, compares the models, and prints another table.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "command/common.hpp"
#include "command/course.hpp"
#include "garner/algorithms.hpp"
#include "garner/build.hpp"
#include "garner/convert.hpp"
#include "garner/link.hpp"
#include "garner/memory.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

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

bfs_run median_run(bfs_solver& job, std::uint64_t source, int times) {
  std::vector<bfs_run> runs;
  for (int i = 0; i < times; ++i) runs.push_back(job.run(source));
  std::sort(runs.begin(), runs.end(), [](bfs_run const& a, bfs_run const& b) { return a.ms < b.ms; });
  return runs[runs.size() / 2];
}

void run_demo(settings const& s) {
  bool const gpu = device_count() > 0;
  if (s.scale < 8 || s.scale > 26) cli::fail(errc::usage, "--scale {}: use 8 to 26", s.scale);
  std::error_code no_folder;
  std::filesystem::path const folder = std::filesystem::temp_directory_path(no_folder);
  if (s.file.empty() && no_folder)
    cli::fail(errc::io, "the temporary folder: {}; set TMPDIR to one that exists, or name a file with --file", no_folder.message());
  demo_file const file{s.file.empty() ? folder / fmt::format("garner-demo-{}.gnr", ::getpid()) : std::filesystem::path(s.file),
                       s.file.empty()};
  check_target(file.path);
  generate_options make;
  make.scale = s.scale;
  if (gpu) self_test(0);  // before anything relies on it
  {
    graph_handle const made = generate_graph(make, {gpu ? device_kind::cuda : device_kind::cpu, 0});
    save_graph(made, file.path, file_format::gnr);
    cli::say("Kronecker graph of scale {}: {} vertices, {} edges ({} of edge list), written to {} and read back for each row.\n", s.scale,
             cli::grouped(made.info().vertices), cli::grouped(made.info().edges),
             cli::format_bytes(made.info().edges * made.info().id_bytes), file.path.string());
  }
  if (gpu) cli::say("cuda:0: {}.\n", link_of(0).device);
  else cli::say("No GPU here: {}.\n", describe_build().no_device);
  cli::say("BFS, every run verified; ms is the median of five (managed: one, cold).\n\n{:<9} {:<10} {:>6} {:>8} {:>7}  {:>9} {:>6}\n",
           "device", "edges in", "levels", "ms", "GTEPS", "remote MB", "% link");
  double const link_gbs = gpu ? link_of(0).zero_copy_gbs : 0;
  constexpr execution_device cpu{}, simulated{device_kind::simulated, 0}, cuda{device_kind::cuda, 0};
  std::vector<std::pair<execution_device, tier>> runs{{cpu, tier::host}, {simulated, tier::host}};
  if (gpu) runs.insert(runs.end(), {{cuda, tier::device}, {cuda, tier::host}, {cuda, tier::managed}});
  for (auto const& [where, edges] : runs) {
    bfs_options o;
    o.device = where, o.edges = edges, o.verify = true;
    open_options open;
    open.device = where, open.edges = edges;
    graph_handle const g = open_graph(file.path, open);
    bfs_solver job(g, o);
    bool const timed = where.kind != device_kind::simulated, counted = edges == tier::host && where.kind != device_kind::cpu;
    bfs_run const r = median_run(job, pick_sources(g, 1, 1).at(0), timed && edges != tier::managed ? 5 : 1);
    double const bytes = static_cast<double>(r.link.bytes_link());
    cli::say("{:<9} {:<10} {:>6} {:>8} {:>7}  {:>9} {:>6}\n", to_string(where), to_string(edges), r.levels.size(),
             timed ? fmt::format("{:.2f}", r.ms) : "-", timed ? fmt::format("{:.3f}", r.gteps) : "-",
             counted ? fmt::format("{:.2f}", bytes / 1e6) : "-",
             counted && timed && link_gbs > 0 ? fmt::format("{:.0f}", bytes / r.ms / 1e4 / link_gbs) : "-");
  }
  if (gpu) cli::say("\n% link: of the {:.1f} GB/s that reads of host memory reach here.\n", link_gbs);
}

void train_demo() {
  struct tried {
    execution_device where;
    double kept;
    char const* lists_and_rows;
    tier lists = tier::host;
  };
  constexpr execution_device host{}, simulated{device_kind::simulated, 0}, gpu{device_kind::cuda, 0};
  std::vector<tried> all{{host, 1, "host memory"}, {simulated, 0, "host memory"}, {simulated, 0.1, "host memory, 10 % cached"}};
  if (device_count())
    all.insert(all.end(), {{gpu, 1, "device memory", tier::device}, {gpu, 0, "host memory"}, {gpu, 0.1, "host memory, 10 % cached"}});
  cli::community_options const of;
  cli::community_graph data = cli::make_communities(of);
  cli::course_options how;
  how.epochs = 5, how.evaluate_every = 0;
  cli::say("\nGraphSAGE on {} nodes of {} communities, {} edges, {} floats per node: {} epochs of mini-batches of {}, fanouts {}.\n\n",
           cli::grouped(data.labels.size()), of.communities, cli::grouped(data.graph.info().edges), of.width, how.epochs, how.batch,
           fmt::join(how.fanouts, ","));
  cli::say("{:<9} {:<30} {:>8}  {:>9} {:>9} {:>8}  {:>9} {:>6}\n", "device", "graph and features in", "accuracy", "local", "remote",
           "remote MB", "ms", "/ local");
  // Products are rounded as the processor has them, so a device is compared with itself.
  cli::same_parameters of_host, of_device;
  double near_ms = 0;
  for (tried const& t : all) {
    bool const on_device = t.where.kind == device_kind::cuda;
    how.where = t.where, how.kept = t.kept;
    data.graph = to_device(std::move(data.graph), t.where, t.lists);
    cli::taken_course const done = cli::take_course(data, data.graph, how);
    (on_device ? of_device : of_host).check(fmt::format("{}, {}", to_string(t.where), t.lists_and_rows), done.parameters);
    std::vector<double> ms;
    for (epoch_report const& e : done.epochs)
      if (t.where.kind != device_kind::simulated && e.epoch > 1) ms.push_back(e.ms);
    double const each = ms.empty() ? 0 : cli::median(ms);
    if (on_device && t.kept == 1) near_ms = each;
    load_report const& l = done.epochs.back().load;
    std::uint64_t const far = t.where.kind == device_kind::cpu ? 0 : l.rows[tier::host];
    cli::say("{:<9} {:<30} {:>6.2f} %  {:>9} {:>9} {:>8.2f}  {:>9} {:>6}\n", to_string(t.where), t.lists_and_rows,
             100 * done.exact.test.accuracy, cli::grouped(l.rows[tier::device] + l.rows[tier::host] - far), cli::grouped(far),
             static_cast<double>(l.remote_bytes) / 1e6, ms.empty() ? "-" : fmt::format("{:.2f}", each),
             on_device && near_ms > 0 ? fmt::format("{:.2f}", each / near_ms) : "-");
    cli::flush_out();
  }
  how.where = host, how.kept = 1;
  cli::taken_course const alone = cli::take_course(data, cli::without_edges(data.labels.size()), how);
  cli::say(
      "\naccuracy: on {} held-out nodes, exact; from a node's own features alone {:.2f} %. Rows and MB are per epoch,\nms is the median "
      "epoch after the first. In every memory tier the trained parameters are the same, bit for bit{}.\n",
      cli::grouped(alone.exact.test.vertices), 100 * alone.exact.test.accuracy, device_count() ? " (cpu and simulated; cuda)" : "");
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

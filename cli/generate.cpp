// garner generate: a synthetic graph, as a graph file or in any other format.
#include <chrono>
#include <memory>

#include "command/common.hpp"
#include "garner/memory.hpp"
#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "pack_options.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct generate_arguments {
  std::string kind, out, place = "cpu", to, scratch;
  generate_options how;
  cli::weight_arguments weights;
  cli::budget_arguments budgets;
  cli::pack_arguments pack;
};

void make_graph(generate_arguments& a) {
  auto const start = std::chrono::steady_clock::now();
  a.how.kind = parse_generator(a.kind);
  a.how.build.random_weights = a.weights.parse();
  execution_device const where = parse_device(a.place);
  if (where.kind == device_kind::simulated) cli::fail(errc::usage, "--device simulated: a generator reads no remote data; use cpu or cuda");
  file_format const to = a.to.empty() ? format_of(a.out) : parse_format(a.to);
  if (!is_written(to) || (to == file_format::gnr && !strip_compression(a.out).compression.empty()))
    cli::fail(errc::usage, "{}: such a file is not written; el, wel, mtx, metis, sg, wsg, bel and (never compressed) gnr are", a.out);
  a.pack.require_container(a.out, to == file_format::gnr);
  if (a.how.scale < 1 || a.how.scale > 31) cli::fail(errc::usage, "--scale {}: use 1 to 31", a.how.scale);
  if (a.how.edge_factor < 1 || a.how.edge_factor > 4096) cli::fail(errc::usage, "--edge-factor {}: use 1 to 4096", a.how.edge_factor);
  cli::require_id_bytes(a.how.build.id_bytes);
  a.pack.require_narrow(a.how.build.id_bytes);
  if ((to == file_format::wel || to == file_format::wsg) && !a.how.build.random_weights)
    cli::fail(errc::usage, "{}: the graph has no weights, and a .{} needs them; add some with --random-weights LOW:HIGH", a.out,
              to_string(to));
  a.budgets.apply(where);

  check_target(to == file_format::bel ? bel_stem(a.out) + ".col" : a.out);

  generate_options const& o = a.how;
  cli::say("{}: 2^{} vertices, edge factor {}, seed {}, on {}\n", a.kind, o.scale, o.edge_factor, o.seed, to_string(where));
  generate_bytes const bytes = bytes_to_generate(o);
  bool const near_is_host = where.kind == device_kind::cpu;
  std::uint64_t const host_bytes = bytes.result + (near_is_host ? bytes.near : 0), allowed = host_memory_use().limit;
  bool const by_parts = near_is_host && to == file_format::gnr && host_bytes > allowed && allowed >= large_graph_least;
  cli::say("memory: about {} of host memory", cli::format_bytes(host_bytes));
  if (!near_is_host) cli::say(" and {} of {}", cli::format_bytes(bytes.near), to_string(where));
  build_report report;
  auto const dropped = [&] {
    cli::say("dropped: {} loops, {} duplicates of {} generated edges\n", cli::grouped(report.loops_dropped),
             cli::grouped(report.duplicates_dropped), cli::grouped(report.edges_read));
  };
  auto const done = [&](graph_info const& info) {
    cli::say("{}: {}, {} isolated; {:.2f} s\n", a.out, cli::describe(info, report.loops_kept), cli::grouped(report.isolated),
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  if (by_parts) {
    large_options how;
    how.scratch = a.scratch;
    std::unique_ptr<beside_lists> const beside = a.pack.by_parts(how);
    cli::say(", and {} are allowed: sorted by parts, with about {} of disk in {}\n", cli::format_bytes(allowed),
             cli::format_bytes(scratch_bytes_to_generate(o, how)), a.scratch.empty() ? "the folder of OUT" : a.scratch);
    cli::flush_out();
    large_report about;
    graph_info const info = generate_container(o, a.out, how, report, about);
    dropped();
    a.pack.tell(about, info);
    return done(info);
  }
  cli::say("\n");
  cli::flush_out();
  cli::require_memory(a.kind + " graph", host_bytes, near_is_host ? 0 : bytes.near, where);

  executor x(where);
  graph g = generate(x, o, report);
  dropped();
  a.pack.apply(g, where, to == file_format::gnr);
  for (auto const& note : write_graph(g, a.out, to)) cli::say("note: {}\n", note);
  done(g.info);
}

}  // namespace

void add_generate(cli::program& p) {
  auto const a = std::make_shared<generate_arguments>();
  cli::verb& v = p.add("generate", "make a graph: Kronecker, uniform or in the manner of a web crawl");
  v.add("KIND", a->kind).required();
  v.add("OUT", a->out, "file to write; its ending is the format: .gnr, or as garner convert").required();
  v.add("--scale", a->how.scale, "2^SCALE vertices, 1 to 31");
  v.add("--edge-factor", a->how.edge_factor, "edges generated per vertex, before loops and duplicates are dropped");
  v.add("--seed", a->how.seed, "random seed; the same seed gives the same bits on every device");
  v.add("--device", a->place, "cpu, cuda or cuda:N").among("cpu cuda");
  v.add("--id-bytes", a->how.build.id_bytes, "bytes per vertex id in the edge list, 4 or 8 (default: 4)");
  v.add("--keep-duplicates", a->how.build.keep_duplicates, "keep edges that are generated twice");
  v.add("--keep-loops", a->how.build.keep_loops, "keep edges from a vertex to itself");
  v.add("--to", a->to);
  a->weights.add(v);
  a->pack.add(v);
  a->budgets.add(v, true);
  v.add("--scratch", a->scratch);
  v.ends_with("Example: garner generate kron --scale 20 kron20.gnr");
  v.runs([a] { make_graph(*a); });
}

}  // namespace garner

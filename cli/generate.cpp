// garner generate: a synthetic graph, as a graph file or in any other format.
#include <chrono>
#include <memory>

#include "command/common.hpp"
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

  convert_options how;
  how.to = to, how.pack = a.pack.options(), how.scratch = a.scratch;
  generate_options const& o = a.how;
  generate_plan const plan = plan_generation(o, a.out, how, where);
  cli::say("{}: 2^{} vertices, edge factor {}, seed {}, on {}\n", a.kind, o.scale, o.edge_factor, o.seed, to_string(where));
  cli::say("memory: about {} of host memory", cli::format_bytes(plan.host_bytes));
  if (where.kind != device_kind::cpu) cli::say(" and {} of {}", cli::format_bytes(plan.device_bytes), to_string(where));
  if (plan.by_parts)
    cli::say(", and {} are allowed: sorted by parts, with about {} of disk in {}", cli::format_bytes(plan.bytes_allowed),
             cli::format_bytes(plan.scratch_bytes), a.scratch.empty() ? "the folder of OUT" : a.scratch);
  cli::say("\n");
  cli::flush_out();
  if (!plan.by_parts) cli::require_memory(a.kind + " graph", plan.host_bytes, plan.device_bytes, where);
  convert_result const r = generate_file(o, a.out, how, where);
  cli::say("dropped: {} loops, {} duplicates of {} generated edges\n", cli::grouped(r.report.loops_dropped),
           cli::grouped(r.report.duplicates_dropped), cli::grouped(r.report.edges_read));
  a.pack.tell(r, to == file_format::gnr);
  for (auto const& note : r.notes) cli::say("note: {}\n", note);
  cli::say("{}: {}, {} isolated; {:.2f} s\n", a.out, cli::describe(r.info, r.report.loops_kept), cli::grouped(r.report.isolated),
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
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

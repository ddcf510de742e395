// garner convert: from any graph format to any other.
#include <chrono>
#include <memory>

#include "common.hpp"
#include "core/fail.hpp"
#include "graph/convert.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "pack_options.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct convert_arguments {
  std::string in, out, from, to;
  bool undirected = false, directed = false, compact = false, keep_ids = false, no_check = false;
  convert_options how;
  cli::weight_arguments weights;
  cli::budget_arguments budgets;
  cli::pack_arguments pack;
};

void convert_file(convert_arguments& a) {
  auto const start = std::chrono::steady_clock::now();
  build_options& b = a.how.build;
  if (!a.from.empty()) a.how.read.from = parse_format(a.from);
  if (!a.to.empty()) a.how.to = parse_format(a.to);
  if (a.undirected || a.directed) b.undirected = a.undirected;
  if (a.compact || a.keep_ids) b.numbering = a.compact ? build_options::ids::compact : build_options::ids::keep;
  b.draw_weights = a.weights.parse();
  if (b.draw_weights) a.how.read.ignore_weights = true;
  a.how.check = !a.no_check;
  cli::require_id_bytes(b.id_bytes);
  a.pack.require_narrow(b.id_bytes);
  a.budgets.apply({});

  convert_plan const plan = plan_conversion(a.in, a.out, a.how);
  a.pack.require_container(a.out, plan.to == file_format::gnr);
  a.how.finish = [&](graph& g) {
    if (a.pack.plain) unpack(g);
    a.pack.apply(g, {}, plan.to == file_format::gnr);
  };
  bool const container = plan.from == file_format::gnr;
  cli::say("{} ({}) -> {} ({})\n", a.in, to_string(plan.from), a.out, to_string(plan.to));
  if (!plan.builds) cli::say("as it is: direction, ids, loops and duplicates\n");
  else
    cli::say("direction: {}; duplicates: {}; loops: {}; ids: {}\n",
             b.undirected ? (*b.undirected ? "undirected" : "directed")
             : container  ? "as it is"
                          : "as the format says, else directed",
             plan.keeps_all      ? "as they are"
             : b.keep_duplicates ? "kept"
                                 : "dropped, the smallest weight stays",
             plan.keeps_all ? "as they are"
             : b.keep_loops ? "kept"
                            : "dropped",
             a.compact                      ? "compacted"
             : a.keep_ids                   ? "kept"
             : container                    ? "as they are"
             : declares_vertices(plan.from) ? "as the file declares them"
                                            : "kept unless too sparse");
  if (plan.bytes_needed) cli::say("memory: about {} of host memory\n", format_bytes(plan.bytes_needed));
  else cli::say("memory: not known before a pipe is read\n");
  cli::flush_out();

  convert_result const r = convert(a.in, a.out, a.how);
  for (auto const& note : r.notes) cli::say("note: {}\n", note);
  if (r.built) {
    cli::say("read: {} edges; dropped: {} loops, {} duplicates\n", cli::grouped(r.report.arcs_read), cli::grouped(r.report.loops_dropped),
             cli::grouped(r.report.duplicates_dropped));
    cli::say("ids: {}\n", r.report.compacted ? a.compact ? "compacted; the user's stand in a map"
                                                         : "compacted, since they are too sparse to keep; the user's stand in a map"
                          : r.info.id_map    ? "as they were, by a map"
                          : a.compact        ? fmt::format("without a gap, beginning with {}; no map is needed", r.info.id_base)
                                      : fmt::format("kept, beginning with {}; what does not occur is an isolated vertex", r.info.id_base));
  }
  cli::say("{}: {}{}; {:.2f} s\n", a.out, cli::describe(r.info, r.report.loops_kept),
           r.built ? fmt::format(", {} isolated", cli::grouped(r.report.isolated)) : "",
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

void add_convert(cli::program& p) {
  auto const a = std::make_shared<convert_arguments>();
  cli::verb& v = p.add("convert", "from any graph format to any other");
  v.add("IN", a->in).required();
  v.add("OUT", a->out).required();
  v.add("--from", a->from);
  v.add("--to", a->to, "format of OUT: gnr, el, wel, mtx, sg, wsg, bel");
  v.add("--undirected", a->undirected);
  v.add("--directed", a->directed).not_with("--undirected");
  v.add("--in-lists", a->how.build.in_lists);
  v.add("--keep-duplicates", a->how.build.keep_duplicates);
  v.add("--keep-loops", a->how.build.keep_loops);
  v.add("--compact", a->compact);
  v.add("--keep-ids", a->keep_ids).not_with("--compact");
  v.add("--allow-empty", a->how.build.allow_empty);
  v.add("--skip-lines", a->how.read.skip_lines);
  v.add("--id-bytes", a->how.build.id_bytes);
  v.add("--ignore-weights", a->how.read.ignore_weights);
  a->weights.add(v);
  a->pack.add(v);
  v.add("--unpack", a->pack.plain).not_with("--compress");
  v.add("--no-check", a->no_check, "of a container: do not check its checksums");
  a->budgets.add(v, false);
  v.ends_with("Example: garner convert soc-Epinions1.txt.gz epinions.gnr --undirected");
  v.runs([a] { convert_file(*a); });
}

}  // namespace garner

// garner convert: from any graph format to any other, and feature tables to paged files.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "command/common.hpp"
#include "convert_edges.hpp"
#include "garner/convert.hpp"
#include "garner/hetero.hpp"
#include "pack_options.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct convert_arguments {
  std::string in, out, from, to, split;
  bool undirected = false, directed = false, compact = false, keep_ids = false, no_check = false;
  convert_options how;
  cli::weight_arguments weights;
  cli::budget_arguments budgets;
  cli::pack_arguments pack;
  cli::edge_arguments table;
  std::string scratch;
  std::vector<std::string> stripe;
  std::uint32_t page_bytes = 4096;
};

// The first option that is set and concerns edges, or "".
std::string of_edges(convert_arguments const& a) {
  build_options const& b = a.how.build;
  for (auto const& [said, option] :
       {std::pair(!a.from.empty(), "--from"), std::pair(!a.to.empty(), "--to"), std::pair(b.in_edges, "--in-edges"),
        std::pair(b.keep_duplicates, "--keep-duplicates"), std::pair(b.keep_loops, "--keep-loops"), std::pair(a.compact, "--compact"),
        std::pair(a.keep_ids, "--keep-ids"), std::pair(b.allow_empty, "--allow-empty"), std::pair(!a.how.read.columns.empty(), "--columns"),
        std::pair(a.how.read.skip_lines != 0, "--skip-lines"), std::pair(a.how.read.ignore_weights, "--ignore-weights"),
        std::pair(!a.scratch.empty(), "--scratch"), std::pair(a.weights.parse().has_value(), "--random-weights"),
        std::pair(a.pack.plain, "--decompress"), std::pair(a.pack.cached_neighbors.has_value(), "--keep-cached-neighbors"),
        std::pair(a.no_check, "--no-check")})
    if (said) return option;
  return "";
}

// A result for standard output is first written whole to a temporary file, so that no partial result goes there. The program's own lines go
// to standard error.
struct standard_output {
  std::string path;
  standard_output() {
    std::string name = (std::filesystem::temp_directory_path() / "garner-convert-XXXXXX").string();
    int const fd = ::mkstemp(name.data());
    if (fd < 0) cli::fail(errc::io, "{}: cannot be written: {}; name another folder with TMPDIR", name, std::strerror(errno));
    ::close(fd);
    path = name;
  }
  ~standard_output() { ::unlink(path.c_str()); }
  standard_output(standard_output const&) = delete;
  standard_output& operator=(standard_output const&) = delete;

  void send() const {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> part(1u << 20);
    while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0)
      cli::write_result({part.data(), static_cast<std::size_t>(in.gcount())});
    if (in.bad()) cli::fail(errc::io, "{}: reading failed; check the disk it lies on", path);
  }
};

// `in` and `out`: the files behind the names.
void convert_files(convert_arguments& a, std::string const& in, std::string const& out) {
  auto const start = std::chrono::steady_clock::now();
  build_options& b = a.how.build;
  if (a.undirected || a.directed) b.undirected = a.undirected;
  if (a.compact || a.keep_ids) b.numbering = a.compact ? build_options::ids::compact : build_options::ids::keep;
  b.random_weights = a.weights.parse();
  if (b.random_weights) a.how.read.ignore_weights = true;
  a.how.check = !a.no_check;
  cli::require_id_bytes(b.id_bytes);
  a.pack.require_narrow(b.id_bytes);
  a.budgets.apply({});

  a.how.scratch = a.scratch;
  a.how.pack = a.pack.options();
  convert_plan const plan = plan_conversion(in, out, a.how);
  a.pack.require_container(a.out, plan.to == file_format::gnr);
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
  if (plan.bytes_needed && plan.by_parts)
    cli::say("memory: about {} of host memory, and {} are allowed: sorted by parts, with about {} of disk in {}\n",
             cli::format_bytes(plan.bytes_needed), cli::format_bytes(plan.bytes_allowed), cli::format_bytes(plan.scratch_bytes),
             a.scratch.empty() ? "the folder of OUT" : a.scratch);
  else if (plan.bytes_needed) cli::say("memory: about {} of host memory\n", cli::format_bytes(plan.bytes_needed));
  else cli::say("memory: not known before a pipe is read\n");
  cli::flush_out();

  convert_result const r = convert(in, out, a.how);
  a.pack.tell(r, plan.to == file_format::gnr);
  for (auto const& note : r.notes) cli::say("note: {}\n", note);
  if (r.built) {
    cli::say("read: {} edges; dropped: {} loops, {} duplicates\n", cli::grouped(r.report.edges_read), cli::grouped(r.report.loops_dropped),
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

// "features, labels, train, valid, test": which files a type has.
template <class... Files>
std::string has(Files const&... files) {
  std::vector<std::string> names;
  (
      [&](auto const& one) {
        if (one.second) names.emplace_back(one.first);
      }(files),
      ...);
  return names.empty() ? "" : fmt::format(", with {}", fmt::join(names, ", "));
}

void say_dataset(std::string const& out, dataset_info const& made, double seconds) {
  for (vertex_type const& t : made.types)
    cli::say("{}: {} vertices{}\n", t.name, cli::grouped(t.count),
             has(std::pair("features", t.features), std::pair("labels", t.labels), std::pair("times", t.times), std::pair("train", t.train),
                 std::pair("valid", t.valid), std::pair("test", t.test), std::pair("names", t.names)));
  std::uint64_t stored = 0;
  for (edge_type const& e : made.edges) {
    cli::say("{} {} {}: {} edges{}\n", e.from, e.relation, e.to, cli::grouped(e.stored_edges),
             has(std::pair("features", e.features), std::pair("times", e.times), std::pair("edge ids", e.edge_ids)));
    stored += e.stored_edges;
  }
  cli::say("{}: {} node types, {} edge types, {} edges; {:.2f} s\n", out, made.types.size(), made.edges.size(), cli::grouped(stored),
           seconds);
}

// A table of edges to a graph file, or tables of several types to a dataset file.
void convert_edges(convert_arguments& a) {
  auto const start = std::chrono::steady_clock::now();
  build_options& b = a.how.build;
  for (auto const& [said, option] :
       {std::pair(!a.from.empty(), "--from"), std::pair(!a.to.empty(), "--to"), std::pair(b.allow_empty, "--allow-empty"),
        std::pair(!a.how.read.columns.empty(), "--columns"), std::pair(a.how.read.skip_lines != 0, "--skip-lines"),
        std::pair(a.how.read.ignore_weights, "--ignore-weights"), std::pair(a.pack.compress, "--compress"),
        std::pair(a.pack.cached_neighbors.has_value(), "--keep-cached-neighbors"), std::pair(!a.split.empty(), "--split")})
    if (said) cli::fail(errc::usage, "{}: is a table of edges, whose columns --src, --dst and --weight name; leave out {}", a.in, option);
  if (!a.out.ends_with(".gnr") && !a.out.ends_with(".json"))
    cli::fail(errc::usage, "{}: a table of edges becomes a graph file, whose name ends in .gnr, or a dataset file, in .json", a.out);
  if (a.undirected || a.directed) b.undirected = a.undirected;
  if (a.compact || a.keep_ids) b.numbering = a.compact ? build_options::ids::compact : build_options::ids::keep;
  b.random_weights = a.weights.parse();
  cli::require_id_bytes(b.id_bytes);
  cli::say("{} (table of edges) -> {} ({})\n", a.in, a.out, a.out.ends_with(".gnr") ? "gnr" : "dataset file");
  cli::flush_out();
  std::optional<graph_info> const info = a.table.convert(a.in, a.out, b, a.budgets.host, a.scratch);
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (info) cli::say("{}: {}; {:.2f} s\n", a.out, cli::describe(*info), seconds);
  else say_dataset(a.out, read_dataset(a.out), seconds);
}

// The folder of a data set to a dataset file and its graph files.
void convert_folder(convert_arguments const& a) {
  auto const start = std::chrono::steady_clock::now();
  build_options const& b = a.how.build;
  if (std::string const option = of_edges(a); !option.empty())
    cli::fail(errc::usage, "{}: is a folder, whose edges and ids all stay; leave out {}", a.in, option);
  if (!a.out.ends_with(".json")) cli::fail(errc::usage, "{}: is a folder; it becomes a dataset file, whose name ends in .json", a.in);
  cli::require_id_bytes(b.id_bytes);
  a.pack.require_narrow(b.id_bytes);
  a.budgets.apply({});
  cli::say("{} (folder) -> {} (dataset file)\ndirection: {}; duplicates, loops and ids: as they are\n", a.in, a.out,
           a.undirected ? "undirected" : "directed");
  cli::flush_out();
  hetero_report const r = convert_hetero(a.in, a.out, {a.undirected, a.pack.compress, b.id_bytes, a.split});
  for (auto const& note : r.notes) cli::say("note: {}\n", note);
  say_dataset(a.out, r.made, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

// A feature table: .npy to .gnt, and back.
void convert_table(convert_arguments const& a) {
  auto const start = std::chrono::steady_clock::now();
  std::string option = of_edges(a);
  if (option.empty() && (a.undirected || a.directed)) option = a.undirected ? "--undirected" : "--directed";
  if (option.empty() && a.pack.compress) option = "--compress";
  if (!option.empty()) cli::fail(errc::usage, "{}: rows have no edges; leave out {}", a.in, option);
  a.budgets.apply({});
  bool const into_pages = a.out.ends_with(".gnt");
  if (!into_pages && !a.stripe.empty()) cli::fail(errc::usage, "{}: is one file; --stripe is for a .gnt", a.out);
  rows_converted const r = convert_rows(a.in, a.out, a.stripe, a.page_bytes);
  std::string pages;
  if (into_pages)
    pages = fmt::format(" in pages of {}, {}{}", cli::format_bytes(r.page_bytes),
                        r.per_page ? fmt::format("{} per page", r.per_page) : std::string("back to back"),
                        r.stripes > 1 ? fmt::format(", on {} stripes", r.stripes) : std::string());
  cli::say("{}: {} feature rows of {} bytes ({}){}, {}; {:.2f} s\n", a.out, cli::grouped(r.rows), cli::grouped(r.row_bytes), r.type, pages,
           cli::format_bytes(r.bytes), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void convert_file(convert_arguments& a) {
  if (a.table.concern(a.in)) return convert_edges(a);
  if (std::filesystem::is_directory(a.in)) return convert_folder(a);
  if (a.out.ends_with(".gnt") || a.in.ends_with(".gnt")) return convert_table(a);
  if (!a.stripe.empty()) cli::fail(errc::usage, "{}: is one file; --stripe is for a .gnt", a.out);
  if (a.out.ends_with(".json"))
    cli::fail(errc::usage, "{}: a dataset file is made from a folder, and {} is not one; pass the data set's folder", a.out, a.in);
  if (!a.split.empty()) cli::fail(errc::usage, "--split {}: is for a folder, and {} is not one; leave it out", a.split, a.in);
  if (!a.from.empty()) a.how.read.from = parse_format(a.from);
  if (!a.to.empty()) a.how.to = parse_format(a.to);
  std::optional<standard_output> stream;
  std::string const in = a.in == "-" ? "/dev/stdin" : a.in;
  if (a.in == "-" && !a.how.read.from) cli::fail(errc::usage, "-: standard input has no ending; use its format with --from");
  if (a.in == "-" && (*a.how.read.from == file_format::bel || *a.how.read.from == file_format::ldbc ||
                      *a.how.read.from == file_format::npy || *a.how.read.from == file_format::npz || *a.how.read.from == file_format::gnr))
    cli::fail(errc::usage, "-: {} is not read from standard input; name the file", to_string(*a.how.read.from));
  if (a.out == "-") {
    if (!a.how.to) cli::fail(errc::usage, "-: standard output has no ending; use its format with --to");
    if (*a.how.to == file_format::bel) cli::fail(errc::usage, "-: a .bel is three files; name them");
    if (::isatty(STDOUT_FILENO) && (*a.how.to == file_format::gnr || *a.how.to == file_format::sg || *a.how.to == file_format::wsg))
      cli::fail(errc::usage, "-: {} is binary, and standard output is a terminal; redirect it to a file", to_string(*a.how.to));
    cli::say_on_standard_error();
    stream.emplace();
  }
  std::string const out = stream ? stream->path : a.out;
  try {
    convert_files(a, in, out);
  } catch (error const& e) {
    std::string said = e.what();
    if (std::size_t const at = stream ? said.find(out) : said.npos; at != said.npos) said.replace(at, out.size(), "standard output");
    cli::fail(e.code(), "{}", said);
  }
  if (stream) stream->send();
}

}  // namespace

void add_convert(cli::program& p) {
  auto const a = std::make_shared<convert_arguments>();
  cli::verb& v = p.add("convert", "from any graph format to any other; feature tables to checked pages (.gnt)");
  v.add("IN", a->in).required();
  v.add("OUT", a->out).required();
  v.add("--from", a->from);
  v.add("--to", a->to, "format of OUT: gnr, el, wel, mtx, metis, sg, wsg, bel");
  v.add("--stripe", a->stripe);
  v.add("--page-bytes", a->page_bytes);
  v.add("--undirected", a->undirected);
  v.add("--directed", a->directed).not_with("--undirected");
  v.add("--in-edges", a->how.build.in_edges);
  v.add("--keep-duplicates", a->how.build.keep_duplicates);
  v.add("--keep-loops", a->how.build.keep_loops);
  v.add("--compact", a->compact);
  v.add("--keep-ids", a->keep_ids).not_with("--compact");
  v.add("--allow-empty", a->how.build.allow_empty);
  v.add("--columns", a->how.read.columns);
  v.add("--skip-lines", a->how.read.skip_lines);
  a->table.add(v);
  v.add("--id-bytes", a->how.build.id_bytes);
  v.add("--split", a->split);
  v.add("--ignore-weights", a->how.read.ignore_weights);
  a->weights.add(v);
  a->pack.add(v);
  v.add("--decompress", a->pack.plain).not_with("--compress");
  v.add("--no-check", a->no_check, "do not verify the checksums of a graph file");
  a->budgets.add(v, false);
  v.add("--scratch", a->scratch);
  v.ends_with("Example: garner convert soc-Epinions1.txt.gz epinions.gnr --undirected");
  v.runs([a] { convert_file(*a); });
}

}  // namespace garner

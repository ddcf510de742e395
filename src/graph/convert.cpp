#include "graph/convert.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "graph/build.hpp"
#include "graph/container.hpp"
#include "graph/pack.hpp"
#include "graph/source.hpp"
#include "graph/transpose.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

using numbering = build_options::ids;

// A graph file needs a rebuild only if the options request something that it lacks.
bool must_build(graph_info const& has, build_options const& want) {
  return (want.undirected && *want.undirected == has.directed) || (want.in_edges && has.directed && !has.in_edges) ||
         (want.id_bytes && want.id_bytes != has.id_bytes) || want.numbering != numbering::automatic;
}

load_options load_all(graph_info const& info, convert_options const& options) {
  load_options how;
  how.in_edges = info.in_edges;
  how.weights = info.weights != weight_kind::none && !options.read.ignore_weights;
  how.check = options.check;
  return how;
}

std::uint64_t arrays_bytes(graph_info const& info) {
  std::uint64_t const one = (info.vertices + 1) * 8 + info.edges * (info.id_bytes + (info.weights == weight_kind::none ? 0 : 4));
  return one * (info.in_edges ? 2 : 1) + bytes_of_ids(info);
}

// Header of a graph file, or an approximation of the graph to be made. A graph file is made of one as it is stored, other formats of its
// edges.
graph_info info_of(std::filesystem::path const& in, file_format to) {
  auto const made = generated_by(in);
  if (!made) return graph_source(in, to == file_format::gnr).info();
  graph_info about;
  about.vertices = std::uint64_t{1} << made->scale;
  about.edges = 2 * made->edge_factor * about.vertices;
  return about;
}

// Duplicates stay, as in the rest of the adjacency; but if directed edges become undirected, u v and v u would be two.
bool keeps_all(graph_info const& has, build_options const& want) { return !(has.directed && want.undirected.value_or(false)); }

// Internal ids represent the user's. Their id table (if any) is restored after the build, unless vertices are renumbered.
edge_list arcs_of(graph const& g, bool renumber) {
  edge_list e;
  e.arcs.resize(g.info.edges);
  e.undirected = e.mirrored = !g.info.directed;
  bool const users = renumber && !g.ids.empty();
  e.vertices = users ? 0 : g.info.vertices;
  e.id_base = g.ids.empty() ? g.info.id_base : 0;
  e.source = g.name;
  e.names_digest = g.info.names_digest;
  with_id_type(g.info, [&](auto id) {
    auto const* const targets = static_cast<decltype(id) const*>(g.out.targets.data());
    shared_pool().run(g.info.vertices, 4096, [&](std::uint64_t v, std::uint64_t last) {
      for (; v < last; ++v)
        for (std::uint64_t k = g.out.offsets[v]; k < g.out.offsets[v + 1]; ++k)
          e.arcs[k] = users ? arc{g.ids[v], g.ids[targets[k]]} : arc{v, targets[k]};
    });
  });
  if (auto const* const w = static_cast<std::uint32_t const*>(g.out.weights.data())) {
    e.weights.assign(w, w + g.info.edges);
    e.weights_are = g.info.weights;
  }
  return e;
}

graph build_again(graph g, build_options options, build_report& report) {
  bool const renumber = options.numbering != numbering::automatic;
  if (!renumber) options.numbering = numbering::keep;
  if (keeps_all(g.info, options)) options.keep_duplicates = options.keep_loops = true;
  if (!options.undirected) options.undirected = !g.info.directed;
  options.in_edges |= g.info.in_edges;  // an undirected graph has none, whatever this flag is
  edge_list e = arcs_of(g, renumber);
  buffer<std::uint64_t> ids = std::move(g.ids);
  memory_block by_id = std::move(g.by_id);
  graph_info const had = g.info;
  g = {};
  graph built = build_graph(std::move(e), options, report);
  built.info.reversed = had.reversed && built.info.directed;
  if (!renumber && !ids.empty()) {
    built.ids = std::move(ids);
    built.info.id_map = true;
    built.info.id_base = 0;
    built.info.order = had.order;
    built.by_id = had.id_bytes == built.info.id_bytes ? std::move(by_id) : ids_of_width(by_id, had.id_bytes, built.info.id_bytes);
  }
  return built;
}

}  // namespace

void check_target(std::filesystem::path const& out) {
  as_error([&] { pending_file const there(out); });  // removed on scope exit
}

namespace {

// As far as the format alone determines it.
bool has_weights(file_format f) { return f == file_format::wel || f == file_format::gr || f == file_format::wsg; }

// Edge lists to graph files, if the minimum memory is available.
bool can_sort_by_parts(convert_plan const& plan) {
  return plan.to == file_format::gnr && plan.from != file_format::gnr && host_budget().limit() >= large_graph_least;
}

std::string why_not_by_parts(convert_plan const& plan) {
  if (plan.from == file_format::gnr)
    return " (only an edge list may need more and is sorted by parts; a graph file is built again in memory)";
  if (plan.to != file_format::gnr)
    return fmt::format(" (a larger graph is sorted by parts into a graph file, a .gnr; a .{} is written from a graph in memory)",
                       to_string(plan.to));
  return fmt::format(" (from {} on it is sorted by parts)", format_bytes(large_graph_least));
}

// Estimates the cost and selects the strategy; formats are known.
void look_at(std::filesystem::path const& in, convert_options const& options, convert_plan& plan) {
  build_options const& b = options.build;
  if (plan.from == file_format::gnr) {
    graph_info const info = info_of(in, plan.to);
    plan.bytes_needed = arrays_bytes(info);
    plan.builds = must_build(info, b);
    plan.keeps_all = keeps_all(info, b);
    if (plan.builds)
      plan.bytes_needed =
          std::max(plan.bytes_needed + info.edges * 16, build_bytes(info.edges, info.vertices, info.weights != weight_kind::none,
                                                                    b.undirected.value_or(!info.directed), b.in_edges || info.in_edges));
  } else {
    // Only the size of an edge list is known. Assume 16 bytes per edge, and at most one vertex per four edges.
    std::uint64_t const read = estimate_read_bytes(in, options.read), arcs = read / 16;
    bool const undirected = b.undirected.value_or(plan.from == file_format::metis);
    if (read) plan.bytes_needed = std::max(read, build_bytes(arcs, arcs / 4, false, b.undirected.value_or(false), b.in_edges));
    bool const weights = has_weights(plan.from) && !options.read.ignore_weights && !b.random_weights;
    plan.scratch_bytes =
        scratch_bytes_of(arcs, weights, undirected, b.in_edges, options.pack && options.pack->compress, b.numbering == numbering::compact);
  }
  plan.bytes_allowed = host_budget().limit();
  plan.by_parts = can_sort_by_parts(plan) && (plan.bytes_needed > host_budget().limit() || plan.bytes_needed == 0);
}

// Text read ahead may take a quarter of the budget; a block takes some thirty times its size.
std::size_t block_within(std::uint64_t bytes, std::size_t said) {
  return std::clamp<std::size_t>(bytes / 4 / (32 * shared_pool().threads()), std::min<std::size_t>(said, 16u << 10), said);
}

convert_result convert_by_parts(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options,
                                std::uint64_t scratch_bytes, beside_lists* beside) {
  convert_result result;
  bool const compress = options.pack && options.pack->compress;
  large_graph to(out, in.string(), {options.scratch, options.sort_bytes, compress, beside}, options.build);
  to.expect(scratch_bytes);
  read_options how = options.read;
  how.block_bytes = block_within(options.sort_bytes ? options.sort_bytes : host_budget().limit(), how.block_bytes);
  how.sink = &to;
  read_result read = read_edges(in, how);
  if (!to.any()) require_vertices(read.edges, options.build.allow_empty);
  result.notes = std::move(read.notes);
  result.info = to.finish(std::move(read.edges), result.report);
  result.by_parts = to.about(), result.packed = to.about();
  result.packed.compressed = compress;
  return result;
}

convert_result convert_in_memory(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options,
                                 convert_plan const& plan, beside_lists* beside) {
  convert_result result;
  graph g;
  if (plan.from == file_format::gnr) {
    graph_source source(in, plan.to == file_format::gnr);
    graph_info const info = source.info();
    g = source.load(load_all(info, options));
    result.built = must_build(info, options.build);
    if (result.built || plan.to != file_format::gnr || options.build.random_weights) unpack(g);
    if (result.built) g = build_again(std::move(g), options.build, result.report);
    else if (options.build.random_weights) draw_weights(g, *options.build.random_weights);
  } else {
    read_result read = read_edges(in, options.read);
    require_vertices(read.edges, options.build.allow_empty);
    result.notes = std::move(read.notes);
    g = build_graph(std::move(read.edges), options.build, result.report);
  }
  if (beside && plan.to == file_format::gnr) result.packed = beside->finish(g);
  result.info = g.info;
  for (auto& note : write_graph(g, out, plan.to)) result.notes.push_back(std::move(note));
  return result;
}

}  // namespace

convert_plan plan_conversion(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options) try {
  build_options const& b = options.build;
  convert_plan plan{options.read.from ? *options.read.from : format_of(in), options.to ? *options.to : format_of(out)};
  if (!is_written(plan.to))
    fail(errc::usage, "{}: {} is read but not written; el, wel, mtx, metis, sg, wsg, bel and gnr are (name one with --to)", out.string(),
         to_string(plan.to));
  if (plan.to == file_format::gnr && strip_compression(out).compression != "")
    fail(errc::usage, "{}: a graph file has no .gz or .zst, since it is read in place; drop the ending {}", out.string(),
         strip_compression(out).compression);
  bool const weighted = plan.to == file_format::wel || plan.to == file_format::wsg;
  bool const none = plan.from == file_format::el || plan.from == file_format::sg || plan.from == file_format::npy ||
                    plan.from == file_format::npz || options.read.ignore_weights ||
                    (plan.from == file_format::gnr && info_of(in, plan.to).weights == weight_kind::none);
  if (weighted && none && !b.random_weights)
    fail(errc::usage, "{}: has no weights, which a .{} needs; write a .{} or draw some with --random-weights", out.string(),
         to_string(plan.to), to_string(plan.to).substr(1));
  if (plan.from == file_format::gnr) {
    if (!options.read.columns.empty())
      fail(errc::usage, "{}: --columns is for text in columns, and this is a graph file; leave it out", in.string());
    if (options.read.skip_lines) fail(errc::usage, "{}: --skip-lines is for text, and this is a graph file; leave it out", in.string());
  }
  look_at(in, options, plan);
  std::uint64_t const allowed = host_budget().limit();
  if (!plan.by_parts && plan.bytes_needed > allowed)
    fail(errc::memory,
         "{}: converting needs about {} ({} bytes) of host memory and {} ({} bytes) are allowed; raise the host budget or "
         "use a larger "
         "machine{}",
         in.string(), format_bytes(plan.bytes_needed), plan.bytes_needed, format_bytes(allowed), allowed, why_not_by_parts(plan));
  check_target(plan.to == file_format::bel ? std::filesystem::path(bel_stem(out) + ".col") : out);
  return plan;
} catch (...) {
  rethrow_as_error();
}

convert_result convert(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options,
                       beside_lists* beside) {
  phase const timed{"graph.convert"};
  file_format const from = options.read.from ? *options.read.from : format_of(in), to = options.to ? *options.to : format_of(out);
  convert_plan plan{from, to};
  look_at(in, options, plan);
  if (plan.by_parts || options.sort_bytes) return convert_by_parts(in, out, options, plan.scratch_bytes, beside);
  try {
    return convert_in_memory(in, out, options, plan, beside);
  } catch (error const& e) {
    // An estimate from the beginning of a file may have been too low, above all for compressed input.
    if (e.code() != errc::memory || !can_sort_by_parts(plan)) throw;
  }
  return convert_by_parts(in, out, options, plan.scratch_bytes, beside);
}

std::vector<std::string> write_graph(graph const& g, std::filesystem::path const& out, file_format to) {
  if (to == file_format::gnr) {
    save_graph(g, out);
    return {};
  }
  require_out_edges(g.name, g.info);
  if (g.info.compressed)
    fail(errc::usage, "{}: compressed adjacency can only be written as .gnr; decompress it, or write a .gnr", out.string());
  csr_arrays a;
  a.vertices = g.info.vertices;
  a.edges = g.info.edges;
  a.id_bytes = g.info.id_bytes;
  a.offsets = g.out.offsets.data();
  a.targets = g.out.targets.data();
  a.weights = static_cast<std::uint32_t const*>(g.out.weights.data());
  a.weights_are = g.info.weights;
  if (g.info.in_edges) {
    a.in_offsets = g.in.offsets.data();
    a.in_targets = g.in.targets.data();
    a.in_weights = static_cast<std::uint32_t const*>(g.in.weights.data());
  }
  a.ids = g.ids.empty() ? nullptr : g.ids.data();
  a.id_base = g.info.id_base;
  a.directed = g.info.directed;
  return write_edges(a, out, to);
}

}  // namespace garner

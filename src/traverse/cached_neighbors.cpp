// Cached neighbors for graph files, and the files that are written with them.
#include "traverse/cached_neighbors.hpp"

#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "traverse/plan.hpp"

namespace garner {

namespace {
void require_possible(graph const& g, std::uint32_t per_vertex) {
  if (per_vertex > most_cached_neighbors)
    fail(errc::usage, "{} cached neighbors per vertex: use 0 to {}", per_vertex, most_cached_neighbors);
  if (g.info.directed && !g.info.in_edges)
    fail(errc::input, "{}: cached neighbors of a directed graph need its in-edges; add them with `garner convert --in-edges`", g.name);
}
// Per vertex: those that the options give, else those that a search would use.
std::uint32_t wanted(pack_options const& o, graph_info const& info, packed_words const& words) {
  if (o.cached_neighbors) return *o.cached_neighbors;
  return info.directed && !info.in_edges ? 0 : cached_neighbors_worth_keeping(info, words);
}
packed_words words_of(graph const& g) {
  auto const words = [](packed_array const& a) { return a.words.bytes() / 4; };
  return {words(g.out.packed_targets), words(g.out.packed_weights), words(g.in.packed_targets), words(g.in.packed_weights)};
}
}  // namespace

void keep_cached_neighbors(graph& g, execution_device where, std::uint32_t per_vertex, bool or_as_degrees) {
  require_possible(g, per_vertex);
  g.cached_neighbors = {};
  g.cached_per_vertex = 0;
  if (per_vertex == 0 || g.info.vertices == 0) return;
  job_setting job(g, where, access_mode::aligned, tier::host, 0, std::uint64_t{0});
  if (or_as_degrees && cached_neighbors_view::is_narrow(g.info.vertices, per_vertex) && !detail::spreads(job)) --per_vertex;
  with_id_type(g.info, [&](auto id) {
    auto const near = make_cached_neighbors<decltype(id)>(job, per_vertex);
    g.cached_neighbors = buffer<std::uint32_t>(tier::host, near.size(), -1, "cached_neighbors");
    job.x.copy(g.cached_neighbors.data(), near.data(), near.bytes());
    job.x.wait();
  });
  g.cached_per_vertex = per_vertex;
}

pack_report packed_beside::finish(graph& g) {
  pack_report r;
  auto const seconds = [](steady::time_point since) { return ms_since(since) / 1e3; };
  if (options_.decompress) unpack(g);
  if (options_.compress && !g.info.compressed) {
    auto const start = steady::now();
    r.compressed = true;
    r.plain_bytes = g.out.targets.bytes() + g.out.weights.bytes() + g.in.targets.bytes() + g.in.weights.bytes();
    pack(g);
    auto const bits = [&](packed_array const& a) {
      return g.info.edges ? static_cast<double>(a.bytes()) * 8 / static_cast<double>(g.info.edges) : 0.0;
    };
    r.packed_bytes =
        g.out.packed_targets.bytes() + g.out.packed_weights.bytes() + g.in.packed_targets.bytes() + g.in.packed_weights.bytes();
    r.target_bits = bits(g.out.packed_targets), r.weight_bits = bits(g.out.packed_weights);
    r.pack_seconds = seconds(start);
  }
  std::optional<std::uint32_t> const asked = options_.cached_neighbors;
  r.cached_before = g.cached_per_vertex && g.cached_per_vertex == asked.value_or(g.cached_per_vertex);
  if (asked == 0u) g.cached_neighbors = {}, g.cached_per_vertex = 0;
  else if (!r.cached_before)
    if (std::uint32_t const count = wanted(options_, g.info, words_of(g))) {
      auto const start = steady::now();
      keep_cached_neighbors(g, where_, count, !asked);
      r.cached_seconds = seconds(start);
    }
  r.cached_neighbors = g.cached_per_vertex, r.cached_bytes = g.cached_neighbors.bytes();
  return r;
}

std::uint32_t packed_beside::per_vertex(graph const& g, packed_words const& words) {
  per_vertex_ = wanted(options_, g.info, words);
  if (per_vertex_ == 0 || g.info.vertices == 0) return 0;
  require_possible(g, per_vertex_);
  spread_ = false;
  if (!g.info.directed) {
    job_setting job(g, {}, access_mode::aligned, tier::host, 0, std::uint64_t{0});
    spread_ = detail::spreads(job);
  }
  if (!options_.cached_neighbors && cached_neighbors_view::is_narrow(g.info.vertices, per_vertex_) && !spread_) --per_vertex_;
  return per_vertex_;
}

void packed_beside::make(graph const& g, std::uint64_t first, std::uint64_t count, std::uint64_t const* offsets, void const* targets,
                         std::uint32_t* to) {
  executor x({device_kind::cpu, 0});
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    csr_view<Id> part;
    part.offsets = offsets;
    part.targets.data = static_cast<Id const*>(targets);
    part.vertices = count, part.edges = offsets[count];
    std::uint64_t const* const degrees = g.out.offsets.data();
    if (cached_neighbors_view::is_narrow(g.info.vertices, per_vertex_))
      for_each_item<32>(x, count, detail::find_cached_neighbors<Id, true>{part, degrees, per_vertex_, spread_, to, first});
    else for_each_item<32>(x, count, detail::find_cached_neighbors<Id, false>{part, degrees, per_vertex_, spread_, to, first});
  });
}

std::uint32_t cached_neighbors_worth_keeping(graph_info const& info, packed_words const& words) {
  bfs_asked search;
  search.device = {device_kind::cuda, 0};
  search.access = access_mode::aligned;
  search.variant = bfs_variant::direction;
  for (planned_part const& c : planned_device_cache(info, search, {words, 0}))
    if (c.cached_neighbors) return c.cached_neighbors;
  return 0;
}

pack_report pack_graph(graph_handle& g, pack_options const& options, execution_device where) {
  return as_error([&] { return packed_beside(options, where).finish(graph_access::change(g)); });
}

convert_result convert(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options) {
  return as_error([&] {
    packed_beside beside(options.pack.value_or(pack_options()));
    return convert(in, out, options, options.pack ? &beside : nullptr);
  });
}

generate_plan plan_generation(generate_options const& o, std::filesystem::path const& out, convert_options const& how,
                              execution_device where) {
  return as_error([&] {
    file_format const to = how.to ? *how.to : format_of(out);
    check_target(to == file_format::bel ? bel_stem(out) + ".col" : out.string());
    generate_bytes const bytes = bytes_to_generate(o);
    bool const near_is_host = where.kind == device_kind::cpu;
    generate_plan p;
    p.host_bytes = bytes.result + (near_is_host ? bytes.near : 0), p.device_bytes = near_is_host ? 0 : bytes.near;
    p.bytes_allowed = host_budget().limit();
    p.by_parts = near_is_host && to == file_format::gnr && p.host_bytes > p.bytes_allowed && p.bytes_allowed >= large_graph_least;
    p.scratch_bytes = scratch_bytes_to_generate(o, how.pack && how.pack->compress);
    return p;
  });
}

convert_result generate_file(generate_options const& o, std::filesystem::path const& out, convert_options const& how,
                             execution_device where) {
  return as_error([&] {
    packed_beside beside(how.pack.value_or(pack_options()), where);
    file_format const to = how.to ? *how.to : format_of(out);
    convert_result r;
    if (plan_generation(o, out, how, where).by_parts) {
      large_report about;
      bool const compress = how.pack && how.pack->compress;
      r.info = generate_container(o, out, {how.scratch, 0, compress, how.pack ? &beside : nullptr}, r.report, about);
      r.by_parts = about, r.packed = about;
      r.packed.compressed = compress;
      return r;
    }
    executor x(where);
    graph g = generate(x, o, r.report);
    if (how.pack && to == file_format::gnr) r.packed = beside.finish(g);
    r.notes = write_graph(g, out, to);
    r.info = g.info;
    return r;
  });
}

}  // namespace garner

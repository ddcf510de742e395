#include "pack_options.hpp"

#include <chrono>

#include "command/common.hpp"
#include "graph/pack.hpp"
#include "traverse/cached_neighbors.hpp"

namespace garner::cli {

namespace {
packed_words words_of(graph const& g) {
  auto const words = [](packed_array const& a) { return a.words.bytes() / 4; };
  return {words(g.out.packed_targets), words(g.out.packed_weights), words(g.in.packed_targets), words(g.in.packed_weights)};
}

void say_packed(std::uint64_t plain, std::uint64_t packed, double bits, double weight_bits, graph_info const& info) {
  say("compressed: {} to {}, {:.2f} bits per edge", format_bytes(plain), format_bytes(packed), bits);
  if (info.weights != weight_kind::none) say(" and {:.2f} of weights", weight_bits);
}

// Says why they are missing, if they were not requested.
void say_none_cached(graph_info const& info) {
  if (info.directed && !info.in_edges) say("cached neighbors: none, since a directed graph needs in-edges for them (--in-edges)\n");
  else
    say("cached neighbors: none, since the graph has too few edges per vertex: they would exceed a tenth of the edge list "
        "(--keep-cached-neighbors)\n");
}
}  // namespace

void pack_arguments::add(verb& v) {
  v.add("--compress", compress);
  v.add("--keep-cached-neighbors", cached_neighbors);
  v.add("--no-cached-neighbors", none_cached).not_with("--keep-cached-neighbors");
}

void pack_arguments::require_container(std::string const& out, bool is_container) const {
  if ((compress || cached_neighbors) && !is_container)
    fail(errc::usage, "{}: only a graph file (.gnr) holds compressed adjacency and cached neighbors", out);
  if (cached_neighbors && (*cached_neighbors == 0 || *cached_neighbors > most_cached_neighbors))
    fail(errc::usage, "--keep-cached-neighbors {}: use 1 to {}, or --no-cached-neighbors for none", *cached_neighbors,
         most_cached_neighbors);
}

void pack_arguments::require_narrow(std::uint32_t id_bytes) const {
  if (compress && id_bytes == 8) fail(errc::usage, "--id-bytes 8: compressed adjacency has ids of 4 bytes; leave out one of them");
}

void pack_arguments::apply(graph& g, execution_device where, bool container) const {
  using clock = std::chrono::steady_clock;
  auto const seconds = [](clock::time_point since) { return std::chrono::duration<double>(clock::now() - since).count(); };
  if (compress && !g.info.compressed) {
    auto const start = clock::now();
    auto const plain_bytes = g.out.targets.bytes() + g.out.weights.bytes() + g.in.targets.bytes() + g.in.weights.bytes();
    pack(g);
    auto const bits = [&](packed_array const& a) {
      return g.info.edges ? static_cast<double>(a.bytes()) * 8 / static_cast<double>(g.info.edges) : 0.0;
    };
    auto const packed =
        g.out.packed_targets.bytes() + g.out.packed_weights.bytes() + g.in.packed_targets.bytes() + g.in.packed_weights.bytes();
    say_packed(plain_bytes, packed, bits(g.out.packed_targets), bits(g.out.packed_weights), g.info);
    say("; {:.2f} s\n", seconds(start));
  }

  if (none_cached || !container) {
    g.cached_neighbors = {};
    g.cached_per_vertex = 0;
    return;
  }
  bool const asked = cached_neighbors.has_value();
  if (!asked && g.info.directed && !g.info.in_edges) return say_none_cached(g.info);
  if (asked ? *cached_neighbors == g.cached_per_vertex : g.cached_per_vertex != 0)
    return say("cached neighbors: {} per vertex, as in the file, {}\n", g.cached_per_vertex, format_bytes(g.cached_neighbors.bytes()));
  std::uint32_t const wanted = asked ? *cached_neighbors : cached_neighbors_worth_keeping(g.info, words_of(g));
  if (wanted == 0) return say_none_cached(g.info);
  auto const start = clock::now();
  keep_cached_neighbors(g, where, wanted, !asked);
  say("cached neighbors: {} per vertex, {}; {:.2f} s\n", g.cached_per_vertex, format_bytes(g.cached_neighbors.bytes()), seconds(start));
}

std::unique_ptr<beside_lists> pack_arguments::by_parts(large_options& how) const {
  std::unique_ptr<beside_lists> made;
  if (!none_cached) made = std::make_unique<cached_neighbors_by_parts>(cached_neighbors);
  how.compress = compress;
  how.beside = made.get();
  return made;
}

void pack_arguments::tell(large_report const& about, graph_info const& info) const {
  if (about.runs)
    say("sorted: {} run{}{}, at most {} of disk besides the graph file\n", grouped(about.runs), about.runs == 1 ? "" : "s",
        about.passes ? fmt::format(", {} more pass{} over them", about.passes, about.passes == 1 ? "" : "es") : "",
        format_bytes(about.scratch_bytes));
  if (info.compressed) {
    say_packed(about.plain_bytes, about.packed_bytes, about.target_bits, about.weight_bits, info);
    say("\n");
  }
  if (none_cached) return;
  if (about.cached_neighbors) say("cached neighbors: {} per vertex, {}\n", about.cached_neighbors, format_bytes(about.cached_bytes));
  else if (!cached_neighbors) say_none_cached(info);
}

}  // namespace garner::cli

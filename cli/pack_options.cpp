#include "pack_options.hpp"

#include "command/common.hpp"

namespace garner::cli {

namespace {
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

pack_options pack_arguments::options() const { return {compress, plain, none_cached ? std::optional(0u) : cached_neighbors}; }

void pack_arguments::tell(pack_report const& r, graph_info const& info, bool container) const {
  auto const took = [](std::optional<double> seconds) { return seconds ? fmt::format("; {:.2f} s", *seconds) : std::string(); };
  if (r.compressed)
    say("compressed: {} to {}, {:.2f} bits per edge{}{}\n", format_bytes(r.plain_bytes), format_bytes(r.packed_bytes), r.target_bits,
        info.weights == weight_kind::none ? "" : fmt::format(" and {:.2f} of weights", r.weight_bits), took(r.pack_seconds));
  if (none_cached || !container) return;
  if (r.cached_neighbors || r.cached_seconds)
    say("cached neighbors: {} per vertex, {}{}{}\n", r.cached_neighbors, r.cached_before ? "as in the file, " : "",
        format_bytes(r.cached_bytes), took(r.cached_seconds));
  else if (!cached_neighbors) say_none_cached(info);
}

void pack_arguments::tell(convert_result const& r, bool container) const {
  if (r.by_parts && r.by_parts->runs)
    say("sorted: {} run{}{}, at most {} of disk besides the graph file\n", grouped(r.by_parts->runs), r.by_parts->runs == 1 ? "" : "s",
        r.by_parts->passes ? fmt::format(", {} more pass{} over them", r.by_parts->passes, r.by_parts->passes == 1 ? "" : "es") : "",
        format_bytes(r.by_parts->scratch_bytes));
  tell(r.packed, r.info, container);
}

}  // namespace garner::cli

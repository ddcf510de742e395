// Hints for the file.
#include "traverse/hints.hpp"

namespace garner {

void keep_hints(graph& g, place where, std::uint32_t per_vertex) {
  if (per_vertex > most_hints) fail(errc::usage, "{} hints a vertex: say 0 to {}", per_vertex, most_hints);
  if (g.info.directed && !g.info.in_lists)
    fail(errc::input, "{}: hints of a directed graph need its in-lists; add them with `garner convert --in-lists`", g.name);
  g.hints = {};
  g.hints_per_vertex = 0;
  if (per_vertex == 0 || g.info.vertices == 0) return;
  job_setting job(g, where, access_mode::aligned, tier::host, 0, std::uint64_t{0});
  with_id_type(g.info, [&](auto id) {
    auto const near = make_hints<decltype(id)>(job, per_vertex);
    g.hints = buffer<std::uint32_t>(tier::host, near.size(), -1, "hints");
    job.x.copy(g.hints.data(), near.data(), near.bytes());
    job.x.wait();
  });
  g.hints_per_vertex = per_vertex;
}

}  // namespace garner

#include "traverse/verify.hpp"

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/stats.hpp"
#include "garner/bfs.hpp"

namespace garner {

namespace {

// Possible faults of a vertex. The smallest (vertex, fault) found anywhere is reported, so that the message does not depend on timing.
enum class fault : std::uint64_t { none = 0, source, arc_spans_levels, stray_parent, bad_parent, parent_depth, no_such_arc, too_deep };

GARNER_HD inline void report(std::uint64_t* first, std::uint64_t v, fault what) {
  atomic_min(first, v << 8 | static_cast<std::uint64_t>(what));
}

template <class Id>
struct check_arcs {
  bfs_tree<Id> tree;
  std::uint32_t* confirmed;  // bit v: the edge parent[v] -> v was found
  std::uint64_t* first_fault;
  indices only;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    std::uint32_t const d = tree.depth[v];
    if (d == unreached) return;
    t.each(clipped(tree.g.list(v), only), [&](Id u) {
      if (tree.depth[u] > d + 1 && d < tree.limit) report(first_fault, u, fault::arc_spans_levels);
      if (tree.parent[u] == static_cast<Id>(v)) t.claim(confirmed, u);
    });
  }
};

template <class Id>
struct check_vertices {
  bfs_tree<Id> tree;
  std::uint32_t const* confirmed;
  std::uint64_t* first_fault;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    std::uint32_t const d = tree.depth[v];
    Id const p = tree.parent[v];
    fault found = fault::none;
    if (v == tree.source) found = d == 0 && p == static_cast<Id>(v) ? fault::none : fault::source;
    else if (d == unreached) found = p == static_cast<Id>(~Id{0}) ? fault::none : fault::stray_parent;
    else if (d > tree.limit) found = fault::too_deep;
    else if (p >= tree.g.vertices) found = fault::bad_parent;
    else if (d == 0 || tree.depth[p] + 1 != d) found = fault::parent_depth;
    else if (!has_bit(confirmed, v)) found = fault::no_such_arc;
    if (found != fault::none) report(first_fault, v, found);
  }
};

constexpr char const* words[] = {  // of each fault
    "",
    "the source is not at depth 0 or not its own parent",
    "an edge from a vertex more than one level above leads to it",
    "it is not reached and yet has a parent",
    "its parent is not a vertex",
    "its parent is not one level above",
    "no edge leads from its parent to it",
    "it is deeper than the limit"};

}  // namespace

std::string what_to_do(graph const& g) {
  if (g.checked) return "please report it";
  return fmt::format(
      "the file was loaded unchecked (--no-check) and may be damaged: load it checked, or use garner stats {} --check; if it is whole, "
      "please report it",
      g.name);
}

template <class Id>
void verify_bfs(executor& x, bfs_tree<Id> const& tree, graph const& g, access_mode how, list_windows* windows) {
  phase const timed{"bfs.verify"};
  std::uint64_t const n = tree.g.vertices;
  buffer<std::uint32_t> confirmed(x.near(), (n + 31) / 32, x.device(), "verification bitmap");
  buffer<std::uint64_t> first(x.near(), 1, x.device(), "verification");
  x.fill(confirmed.data(), 0, confirmed.bytes());
  x.fill(first.data(), 0xff, sizeof(std::uint64_t));
  for_each_list<32>(x, windows, tree.g, g, false, how, true, [&](csr_view<Id> const& lists, indices only) {
    bfs_tree<Id> here = tree;
    here.g = lists;
    return check_arcs<Id>{here, confirmed.data(), first.data(), only};
  });
  for_each_item<1>(x, n, check_vertices<Id>{tree, confirmed.data(), first.data()});
  std::uint64_t const found = x.read(first.data());
  if (found == ~std::uint64_t{0}) return;
  fail(errc::internal, "{}: BFS from {} on {}, access {}: wrong at vertex {}: {}; {}", g.name, g.user_id(tree.source), to_string(x.where()),
       to_string(how), g.user_id(found >> 8), words[found & 0xff], what_to_do(g));
}

template void verify_bfs(executor&, bfs_tree<std::uint32_t> const&, graph const&, access_mode, list_windows*);
template void verify_bfs(executor&, bfs_tree<std::uint64_t> const&, graph const&, access_mode, list_windows*);

}  // namespace garner

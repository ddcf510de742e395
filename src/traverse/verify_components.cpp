#include "traverse/verify_components.hpp"

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/stats.hpp"
#include "memory/buffer.hpp"
#include "traverse/verify.hpp"

namespace garner {

namespace {

// Possible faults of a vertex; the smallest (vertex, fault) found anywhere is reported.
enum class fault : std::uint64_t { no_vertex = 1, not_smallest, not_its_own, differs };

GARNER_HD inline void report(std::uint64_t* first, std::uint64_t v, fault what) {
  atomic_min(first, v << 8 | static_cast<std::uint64_t>(what));
}

template <class Id>
struct check_labels {
  Id const* label;
  std::uint64_t vertices;
  Id* above;  // the union-find forest; initially every vertex is a root
  std::uint64_t* first_fault;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    above[v] = static_cast<Id>(v);
    Id const at = label[v];
    if (at >= vertices) report(first_fault, v, fault::no_vertex);
    else if (at > v) report(first_fault, v, fault::not_smallest);
    else if (label[at] != at) report(first_fault, v, fault::not_its_own);
  }
};

// An independent union-find: it halves paths, and links the smaller root under the larger.
template <class Id>
GARNER_HD inline Id root_of(Id* above, Id v) {
  for (;;) {
    Id const p = atomic_load(above + v);
    if (p == v) return v;
    Id const pp = atomic_load(above + p);
    if (pp == p) return p;
    atomic_cas(above + v, p, pp);
    v = pp;
  }
}

template <class Id>
struct check_arcs {
  csr_view<Id> g;
  Id const* label;
  Id* above;
  std::uint64_t* first_fault;
  indices only;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    Id const mine = label[v];
    Id a = static_cast<Id>(v);  // per lane: the current ancestor of v
    t.each(clipped(g.list(v), only), [&](Id u) {
      if (label[u] != mine) report(first_fault, v, fault::differs);
      if (atomic_load(above + u) == a) return;
      for (Id b = u;;) {
        a = root_of(above, a);
        b = root_of(above, b);
        if (a == b) break;
        Id const low = smaller(a, b), high = larger(a, b);
        if (atomic_cas(above + low, low, high) == low) break;
      }
    });
  }
};

struct counts {
  std::uint64_t labels, roots;
  GARNER_HD friend counts operator+(counts const& a, counts const& b) { return {a.labels + b.labels, a.roots + b.roots}; }
};
struct greatest {
  std::uint64_t value;
  GARNER_HD friend greatest operator+(greatest const& a, greatest const& b) { return {larger(a.value, b.value)}; }
};
constexpr std::uint64_t block = 1024;

// Counts both, then reuses the forest's memory for sizes.
template <class Id>
struct count_roots {
  Id const* label;
  std::uint64_t vertices;
  Id* above;
  counts* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    counts const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      counts const c{label[v] == static_cast<Id>(v), above[v] == static_cast<Id>(v)};
      above[v] = 0;
      return c;
    });
    t.once([&] {
      atomic_add(&total->labels, mine.labels);
      atomic_add(&total->roots, mine.roots);
    });
  }
};
template <class Id>
struct add_size {
  Id const* label;
  Id* size;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    atomic_add(size + label[v], Id{1});
  }
};
template <class Id>
struct greatest_size {
  Id const* size;
  std::uint64_t vertices;
  std::uint64_t* most;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    greatest const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) { return greatest{size[v]}; });
    t.once([&] { atomic_max(most, mine.value); });
  }
};

constexpr char const* words[] = {  // of each fault
    "", "its label is not a vertex", "its label is larger than itself", "its label does not bear its own label",
    "an edge leads from it to a vertex with another label"};

}  // namespace

template <class Id>
void verify_components(executor& x, csr_view<Id> view, Id const* label, std::uint64_t components, std::uint64_t largest, graph const& g,
                       access_mode how, list_windows* windows) {
  phase const timed{"components.verify"};
  std::uint64_t const n = view.vertices, blocks = (n + block - 1) / block;
  buffer<Id> above(x.near(), n, x.device(), "verification forest");
  struct outcome {
    std::uint64_t first_fault;
    counts found;
    std::uint64_t most;
  };
  buffer<outcome> near(x.near(), 1, x.device(), "verification");
  x.fill(near.data(), 0, sizeof(outcome));
  x.fill(&near.data()->first_fault, 0xff, sizeof(std::uint64_t));
  auto const where = [&] { return fmt::format("{}: components on {}, access {}", g.name, to_string(x.where()), to_string(how)); };
  for_each_item<1>(x, n, check_labels<Id>{label, n, above.data(), &near.data()->first_fault});
  for_each_list<32>(x, windows, view, g, false, how, true, [&](csr_view<Id> const& lists, indices only) {
    return check_arcs<Id>{lists, label, above.data(), &near.data()->first_fault, only};
  });
  if (std::uint64_t const first = x.read(&near.data()->first_fault); first != ~std::uint64_t{0})
    fail(errc::internal, "{}: wrong at vertex {}: {}; {}", where(), g.user_id(first >> 8), words[first & 0xff], what_to_do(g));
  // All labels are valid vertices from here on.
  for_each_item<32>(x, blocks, count_roots<Id>{label, n, above.data(), &near.data()->found});
  for_each_item<1>(x, n, add_size<Id>{label, above.data()});
  for_each_item<32>(x, blocks, greatest_size<Id>{above.data(), n, &near.data()->most});
  outcome const seen = x.read(near.data());
  if (seen.found.labels != seen.found.roots)
    fail(errc::internal, "{}: {} labels, but a union-find over the edges finds {} components; {}", where(), seen.found.labels,
         seen.found.roots, what_to_do(g));
  if (seen.found.labels != components || seen.most != largest)
    fail(errc::internal, "{}: {} components, the largest of {} vertices, were reported, but there are {}, the largest of {}; {}", where(),
         components, largest, seen.found.labels, seen.most, what_to_do(g));
}

template void verify_components(executor&, csr_view<std::uint32_t>, std::uint32_t const*, std::uint64_t, std::uint64_t, graph const&,
                                access_mode, list_windows*);
template void verify_components(executor&, csr_view<std::uint64_t>, std::uint64_t const*, std::uint64_t, std::uint64_t, graph const&,
                                access_mode, list_windows*);

}  // namespace garner

// For adjacency in a file: caches in host memory the lists of vertices that a bottom-up level searched without success. Later levels search
// the cache for vertices that are still unvisited, so a search reads such a list once. Invariants: while `whole`, each unvisited vertex
// with edges has all of its neighbors here, in one entry or several. Entries belong to vertices that were open at that time; those visited
// since are skipped. Uses at most a quarter of the host budget left at the start of the level. If that is too little the cache stays empty,
// and the next bottom-up level reads again. Cost: a host pass over the items of each window; 12 to 16 local bytes per entry, and the plain
// targets in host memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/exec.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"
#include "memory/budget.hpp"
#include "memory/buffer.hpp"

namespace garner {

// Finds a neighbor in the frontier among cached lists.
template <class Id>
struct search_open_lists {
  std::uint64_t const* begins;
  Id const* owners;
  Id const* targets;  // remote
  std::uint64_t arcs;
  std::uint32_t const* current;
  std::uint32_t* visited;
  Id* parent;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const v = owners[i];
    if (has_bit(visited, v)) return;
    found<Id> const hit = t.find(
        span<Id>{targets, begins[i], begins[i + 1]}, [&](Id u) { return has_bit(current, u); }, 1, arcs);
    if (!hit) return;
    // Entries of one long list may each find a neighbor.
    if (t.claim(visited, v)) parent[v] = hit.element;
  }
};

template <class Id>
class open_lists {
 public:
  explicit open_lists(executor& x) : x_(x) {}

  bool whole() const { return whole_; }
  std::uint64_t arcs() const { return arcs_; }

  void clear() {
    parts_.clear();
    whole_ = false, keeps_ = true, arcs_ = 0, bytes_ = 0;
    most_bytes_ = host_budget().left() / 4;
  }
  // Caches lists of a window's unvisited vertices. `arcs(k)`: edges of item k; each_vertex(k, f): its vertices with their edges. `words`:
  // host-readable words of the bitmap of visited vertices.
  template <class EachVertex>
  void take(edge_lists const& lists, list_window const& w, std::uint32_t const* visited, EachVertex const& each_vertex) {
    auto const each_open = [&](std::uint64_t k, auto f) {
      each_vertex(k, [&](std::uint64_t v, indices arcs) {
        if (arcs.begin < arcs.end && !has_bit(visited, v)) f(v, arcs);
      });
    };
    add(
        w.last - w.first,
        [&](std::uint64_t k, auto f) { each_open(w.first + k, [&](std::uint64_t v, indices a) { f(v, a.end - a.begin); }); },
        [&](std::uint64_t k, auto f) {
          each_open(w.first + k, [&](std::uint64_t v, indices a) {
            f(v, a.end - a.begin, [&](Id* to) {
              std::uint64_t const at = w.targets_at[k];
              if (lists.packed_targets.empty()) {
                std::copy_n(reinterpret_cast<Id const*>(at) + a.begin, a.end - a.begin, to);
                return;
              }
              packed_view const packed{lists.packed_targets.view().at, reinterpret_cast<std::uint32_t const*>(at)};
              each_in_turn(packed, a.begin, a.end, [&](std::uint32_t u, std::uint64_t i) {
                to[i - a.begin] = static_cast<Id>(u);
                return false;
              });
            });
          });
        });
  }
  // Completes the cache with vertices whose neighbors are all cached neighbors: those are neither visited nor in `asked`, so no window had
  // them. Host memory, both bitmaps.
  void finish(csr_view<Id> const& home, std::uint32_t const* visited, std::uint32_t const* asked, cached_neighbors_view const& cached) {
    std::uint64_t const words = (home.vertices + 31) / 32;
    auto const each_near = [&](std::uint64_t w, auto f) {
      std::uint64_t const left = home.vertices - w * 32;
      for (std::uint32_t rest = ~visited[w] & ~asked[w] & (left < 32 ? (1u << left) - 1 : ~0u); rest; rest &= rest - 1) {
        std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(rest)), degree = home.degree(v);
        std::uint32_t ids[cached_neighbors_view::most], n = 0;
        for (std::uint32_t k = 0; k < cached.per_vertex; ++k)
          if (std::uint32_t const u = cached.at(v, k); u != cached_neighbors_view::none && n < degree) ids[n++] = u;
        if (n) f(v, n, ids);
      }
    };
    if (cached.per_vertex)
      add(
          words, [&](std::uint64_t w, auto f) { each_near(w, [&](std::uint64_t v, std::uint64_t n, std::uint32_t const*) { f(v, n); }); },
          [&](std::uint64_t w, auto f) {
            each_near(
                w, [&](std::uint64_t v, std::uint64_t n, std::uint32_t const* ids) { f(v, n, [&](Id* to) { std::copy_n(ids, n, to); }); });
          });
    whole_ = keeps_;
  }
  void search(std::uint32_t const* current, std::uint32_t* visited, Id* parent) {
    for (part const& p : parts_)
      for_each_item<32>(
          x_, p.owners.size(),
          search_open_lists<Id>{p.begins.data(), p.owners.data(), p.targets.data(), p.targets.size(), current, visited, parent});
  }

 private:
  struct part {
    buffer<std::uint64_t> begins;  // local
    buffer<Id> owners;             // local
    buffer<Id> targets;            // remote
  };

  // `count(k, f)` calls `f(vertex, arcs)` for the contents of k; `fill(k, f)` calls `f(vertex, arcs, put)`, where put(to) writes targets.
  template <class Count, class Fill>
  void add(std::uint64_t n, Count const& count, Fill const& fill) {
    if (!keeps_ || n == 0) return;
    constexpr std::uint64_t grain = 4096;
    struct sums {
      std::uint64_t entries = 0, arcs = 0;
    };
    std::vector<sums> before((n + grain - 1) / grain + 1);
    auto const by_grains = [&](auto const& one) {
      shared_pool().run(before.size() - 1, 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t g = first; g < last; ++g) one(g, g * grain, std::min(n, (g + 1) * grain));
      });
    };
    by_grains([&](std::uint64_t g, std::uint64_t first, std::uint64_t last) {
      sums mine;
      for (std::uint64_t k = first; k < last; ++k) count(k, [&](std::uint64_t, std::uint64_t arcs) { ++mine.entries, mine.arcs += arcs; });
      before[g + 1] = mine;
    });
    for (std::size_t g = 1; g < before.size(); ++g) before[g].entries += before[g - 1].entries, before[g].arcs += before[g - 1].arcs;
    auto const [entries, arcs] = before.back();
    if (entries == 0) return;
    std::uint64_t const bytes = (entries + 1) * 8 + (entries + arcs) * sizeof(Id);
    try {
      if (2 * bytes > most_bytes_ - std::min(most_bytes_, bytes_)) fail(errc::memory, "no room");  // local arrays start on the host
      part p;
      buffer<std::uint64_t> begins(tier::host, entries + 1, x_.device(), "lists that stay open");
      buffer<Id> owners(tier::host, entries, x_.device(), "lists that stay open");
      p.targets = buffer<Id>(tier::host, arcs, x_.device(), "lists that stay open");
      by_grains([&](std::uint64_t g, std::uint64_t first, std::uint64_t last) {
        sums at = before[g];
        for (std::uint64_t k = first; k < last; ++k)
          fill(k, [&](std::uint64_t v, std::uint64_t length, auto put) {
            owners[at.entries] = static_cast<Id>(v), begins[at.entries] = at.arcs;
            put(p.targets.data() + at.arcs);
            ++at.entries, at.arcs += length;
          });
      });
      begins[entries] = arcs;
      if (x_.near() == tier::host) {
        p.begins = std::move(begins), p.owners = std::move(owners);
      } else {
        p.begins = buffer<std::uint64_t>(x_.near(), entries + 1, x_.device(), "lists that stay open");
        p.owners = buffer<Id>(x_.near(), entries, x_.device(), "lists that stay open");
        x_.copy(p.begins.data(), begins.data(), begins.bytes());
        x_.copy(p.owners.data(), owners.data(), owners.bytes());
        x_.wait();
      }
      bytes_ += bytes, arcs_ += arcs;
      parts_.push_back(std::move(p));
    } catch (error const& e) {
      if (e.code() != errc::memory) throw;
      parts_.clear();
      keeps_ = false;
    }
  }

  executor& x_;
  std::vector<part> parts_;
  bool whole_ = false, keeps_ = false;
  std::uint64_t arcs_ = 0, bytes_ = 0, most_bytes_ = 0;
};

}  // namespace garner

#include "graph/common_lists.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "garner/memory.hpp"
#include "memory/page.hpp"

namespace garner {

namespace {

// The first process's description of the arrays, which are stored consecutively, each from a page boundary.
struct contents {
  graph_info info;
  std::uint32_t cached_per_vertex = 0;
  bool shared = false, checked = true;
  std::uint64_t bytes[24] = {};
  char name[512] = {};
};
static_assert(std::is_trivially_copyable_v<contents> && sizeof(contents) <= peer_group::most_head);

// Calls f(array) for each host-resident array: memory_block or buffer.
template <class Graph, class F>
void each_array(Graph& g, F const& f) {
  for (auto* lists : {&g.out, &g.in}) {
    f(lists->offsets), f(lists->targets), f(lists->weights);
    for (auto* p : {&lists->packed_targets, &lists->packed_weights}) f(p->words), f(p->blocks), f(p->groups);
  }
  f(g.cached_neighbors), f(g.ids), f(g.by_id);
}

std::uint64_t bytes_of(memory_block const& b) { return b.bytes(); }
template <class T>
std::uint64_t bytes_of(buffer<T> const& b) {
  return b.size() * sizeof(T);  // the tail may be discarded
}

contents contents_of(graph const& g) {
  contents c;
  c.info = g.info, c.cached_per_vertex = g.cached_per_vertex, c.checked = g.checked;
  std::memcpy(c.name, g.name.data(), std::min(g.name.size(), sizeof c.name - 1));
  c.shared = true;
  std::size_t k = 0;
  each_array(g, [&](auto const& array) {
    c.shared &= array.bytes() == 0 || array.where() == tier::host;
    c.bytes[k++] = bytes_of(array);
  });
  return c;
}
std::uint64_t all_bytes(contents const& c) {
  std::uint64_t all = 0;
  for (std::uint64_t bytes : c.bytes) all += whole_pages(bytes);
  return all;
}

// The arrays are consecutive from `at` on, in memory of this owner.
graph lying_at(contents const& c, std::shared_ptr<void> const& owner, char* at, int device) {
  graph g;
  g.info = c.info, g.cached_per_vertex = c.cached_per_vertex, g.checked = c.checked, g.name = c.name;
  std::size_t k = 0;
  each_array(g, [&](auto& array) {
    std::uint64_t const bytes = c.bytes[k++];
    if (bytes) array = std::decay_t<decltype(array)>(memory_block(owner, at, bytes, device));
    at += whole_pages(bytes);
  });
  return g;
}

// A private page is released as soon as it is copied.
void move_bytes(char* to, char* from, std::uint64_t bytes) {
  constexpr std::uint64_t step = 64u << 20;
  for (std::uint64_t at = 0; at < bytes; at += step) {
    std::uint64_t const some = std::min(step, bytes - at);
    shared_pool().run(some, 4u << 20, [&](std::uint64_t a, std::uint64_t b) { std::memcpy(to + at + a, from + at + a, b - a); });
    ::madvise(from + at, whole_pages(some), MADV_DONTNEED);
  }
}

}  // namespace

graph load_in_common(peer_group::terms t, std::function<graph()> const& load) {
  t.same = "a graph";
  peer_group common(t);
  graph g;
  contents c;
  if (common.makes()) {
    g = load();
    c = contents_of(g);
    each_array(g, [&](auto const& array) { c.shared &= array.bytes() == 0 || array.device() < 0; });
    if (c.shared) {
      char* at = static_cast<char*>(common.make_common(all_bytes(c)));
      each_array(g, [&](auto& array) {
        std::uint64_t const bytes = bytes_of(array);
        if (bytes == 0) return;
        move_bytes(at, static_cast<char*>(static_cast<void*>(array.data())), bytes);
        array = {};
        common.pay(bytes, "lists");
        at += whole_pages(bytes);
      });
    }
  }
  bool const on_device = t.device >= 0;
  peer_group::found const found = common.open_common(true, {reinterpret_cast<char const*>(&c), sizeof c});
  std::memcpy(&c, found.head.data(), sizeof c);
  if (!c.shared) return common.makes() ? std::move(g) : load();
  if (on_device) self_test(t.device);
  graph mine = lying_at(c, found.memory, static_cast<char*>(found.memory.get()), t.device);
  if (on_device) bring_offsets_near(mine, t.device);
  return mine;
}

// A graph in one contiguous block: a page that describes the contents, then the arrays.
namespace {
struct piece {
  std::uint64_t magic = magic_word;
  contents said;
  static constexpr std::uint64_t magic_word = 0x31617267726e7267;  // "grngrga1"
};
static_assert(sizeof(piece) <= page_bytes);
contents in_host_memory(graph const& g) {
  g.require_in_memory();
  contents const c = contents_of(g);
  if (!c.shared) fail(errc::usage, "{}: its lists lie on a device; bring the graph to the host first, as g.to(\"host\")", g.name);
  return c;
}
}  // namespace

std::uint64_t bytes_in_one_piece(graph const& g) { return page_bytes + all_bytes(in_host_memory(g)); }

void write_in_one_piece(graph const& g, void* to) {
  piece const p{.said = in_host_memory(g)};
  std::memcpy(to, &p, sizeof p);
  char* at = static_cast<char*>(to) + page_bytes;
  each_array(g, [&](auto const& array) {
    std::uint64_t const bytes = bytes_of(array);
    char const* const from = static_cast<char const*>(static_cast<void const*>(array.data()));
    shared_pool().run(bytes, 4u << 20, [&](std::uint64_t a, std::uint64_t b) { std::memcpy(at + a, from + a, b - a); });
    at += whole_pages(bytes);
  });
}

graph graph_in_one_piece(std::shared_ptr<void> const& owner, void* at, std::uint64_t bytes) {
  piece p;
  if (bytes >= page_bytes) std::memcpy(&p, at, sizeof p);
  if (bytes < page_bytes || p.magic != piece::magic_word || bytes < page_bytes + all_bytes(p.said))
    fail(errc::input, "{} bytes of memory hold no graph of this version of Garner; share the graph anew, with one version in all processes",
         bytes);
  return lying_at(p.said, owner, static_cast<char*>(at) + page_bytes, -1);
}

}  // namespace garner

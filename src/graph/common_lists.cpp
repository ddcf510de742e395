#include "graph/common_lists.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "memory/page.hpp"
#include "memory/self_test.hpp"

namespace garner {

namespace {

// What the first process says of the arrays, which lie one after the other, each from a page on.
struct contents {
  graph_info info;
  std::uint32_t cached_per_vertex = 0;
  bool shared = false, checked = true;
  std::uint64_t bytes[24] = {};
  char name[512] = {};
};
static_assert(std::is_trivially_copyable_v<contents> && sizeof(contents) <= common_memory::most_head);

// f(array) for each that the host holds: memory_block or buffer.
template <class F>
void each_array(graph& g, F const& f) {
  for (edge_lists* lists : {&g.out, &g.in}) {
    f(lists->offsets), f(lists->targets), f(lists->weights);
    for (packed_array* p : {&lists->packed_targets, &lists->packed_weights}) f(p->words), f(p->blocks), f(p->groups);
  }
  f(g.cached_neighbours), f(g.ids), f(g.by_id);
}

std::uint64_t bytes_of(memory_block const& b) { return b.bytes(); }
template <class T>
std::uint64_t bytes_of(buffer<T> const& b) {
  return b.size() * sizeof(T);  // its tail may be forgotten
}

// A private page that was copied is given back at once.
void move_bytes(char* to, char* from, std::uint64_t bytes) {
  constexpr std::uint64_t step = 64u << 20;
  for (std::uint64_t at = 0; at < bytes; at += step) {
    std::uint64_t const some = std::min(step, bytes - at);
    shared_pool().run(some, 4u << 20, [&](std::uint64_t a, std::uint64_t b) { std::memcpy(to + at + a, from + at + a, b - a); });
    ::madvise(from + at, whole_pages(some), MADV_DONTNEED);
  }
}

}  // namespace

graph load_in_common(common_memory::terms t, std::function<graph()> const& load) {
  t.same = "a graph";
  common_memory common(t);
  graph g;
  contents c;
  if (common.makes()) {
    g = load();
    c.info = g.info, c.cached_per_vertex = g.cached_per_vertex, c.checked = g.checked;
    std::memcpy(c.name, g.name.data(), std::min(g.name.size(), sizeof c.name - 1));
    c.shared = true;
    std::uint64_t all = 0;
    std::size_t k = 0;
    each_array(g, [&](auto const& array) {
      c.shared &= array.bytes() == 0 || (array.where() == tier::host && array.device() < 0);
      all += whole_pages(c.bytes[k++] = bytes_of(array));
    });
    if (c.shared) {
      char* at = static_cast<char*>(common.make(all));
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
  common_memory::found const found = common.open(true, {reinterpret_cast<char const*>(&c), sizeof c});
  std::memcpy(&c, found.head.data(), sizeof c);
  if (!c.shared) return common.makes() ? std::move(g) : load();
  if (on_device) self_test(t.device);
  graph mine;
  mine.info = c.info, mine.cached_per_vertex = c.cached_per_vertex, mine.checked = c.checked, mine.name = c.name;
  char* at = static_cast<char*>(found.memory.get());
  std::size_t k = 0;
  each_array(mine, [&](auto& array) {
    std::uint64_t const bytes = c.bytes[k++];
    if (bytes) array = std::decay_t<decltype(array)>(memory_block(found.memory, at, bytes, t.device));
    at += whole_pages(bytes);
  });
  if (on_device) bring_offsets_near(mine, t.device);
  return mine;
}

}  // namespace garner

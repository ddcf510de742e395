// Damaged graph files. Random bytes never pass the checksums, so the first byte selects how to use the rest:
//   even: the rest is the file, as it is.
//   odd:  a recipe: counts, flags and bytes of the sections, laid out and sealed as in docs/reference/file-formats.md, with a few
//   bytes patched
//         before sealing (bit 1 clear) or after it (bit 1 set).
// A file that loads with checks must keep the invariants; the loader and the checker must agree; loading unchecked must not crash.
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "garner/error.hpp"
#include "graph/container.hpp"
#include "graph/source.hpp"

namespace {

using namespace garner;
using bytes = std::vector<std::uint8_t>;

struct reader {
  std::uint8_t const* at;
  std::uint8_t const* end;
  std::uint64_t take(std::size_t n) {
    std::uint64_t value = 0;
    n = std::min<std::size_t>(n, static_cast<std::size_t>(end - at));
    std::memcpy(&value, at, n);
    at += n;
    return value;
  }
};
template <class T>
void set(bytes& b, std::size_t at, T value) {
  std::memcpy(b.data() + at, &value, sizeof value);
}
std::uint64_t get(bytes const& b, std::size_t at) {
  std::uint64_t value;
  std::memcpy(&value, b.data() + at, 8);
  return value;
}
void seal(bytes& b) {
  for (std::size_t entry = 128; entry < 128 + 8 * 64; entry += 64) {
    std::uint64_t const offset = get(b, entry + 8), size = get(b, entry + 16);
    if (offset == 0 || offset > b.size() || size > b.size() - offset) continue;
    std::uint64_t const sum = XXH3_64bits(b.data() + offset, size);  // files here are shorter than a block
    set(b, entry + 24, size ? XXH3_64bits(&sum, 8) : XXH3_64bits(&sum, 0));
  }
  set(b, 4088, XXH3_64bits(b.data(), 4088));
}

bytes cook(reader in, bool patch_late) {
  static constexpr std::uint8_t magic[8] = {0x89, 'G', 'N', 'R', '\r', '\n', 0x1a, '\n'};
  std::uint64_t const vertices = in.take(1), edges = in.take(1), flags = in.take(1), base = in.take(1);
  std::uint32_t const id_bytes = flags & 8 ? 8 : 4, weights = static_cast<std::uint32_t>(flags >> 4 & 3);
  std::size_t const patches = flags >> 6;
  struct patch {
    std::size_t at;
    std::uint64_t value;
    std::size_t width;
  };
  std::vector<patch> wrong;
  for (std::size_t i = 0; i < patches; ++i) {
    std::size_t const at = in.take(2);
    wrong.push_back({at, in.take(8), std::size_t{1} << (at >> 14)});
  }
  bytes b(4096);
  std::memcpy(b.data(), magic, 8);
  set<std::uint32_t>(b, 8, 1);
  set<std::uint32_t>(b, 12, 4096);
  set(b, 24, vertices);
  set(b, 32, edges);
  set(b, 40, id_bytes);
  set(b, 44, weights);
  // With an id map, the base gives the order instead, if it is not the natural one.
  std::uint32_t const order = flags & 4 && base % 8 < 4 ? static_cast<std::uint32_t>(base % 8) : 0;
  set(b, 48, static_cast<std::uint32_t>(flags & 7) | (order ? 8u : 0u) | (base & 16 ? 64u : 0u));
  set(b, 56, flags & 4 ? 0 : base);
  set(b, 64, order);
  std::uint32_t n = 0;
  auto const add = [&](std::uint32_t kind, std::uint32_t element, std::uint64_t count) {
    std::size_t const entry = 128 + 64 * n++, offset = b.size(), size = element * count;
    b.resize((offset + size + 4095) / 4096 * 4096);
    set(b, entry, kind);
    set(b, entry + 4, element);
    set<std::uint64_t>(b, entry + 8, offset);
    set<std::uint64_t>(b, entry + 16, size);
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      // Small steps make valid offsets, lists and ids; 255 means that a full value follows.
      std::uint64_t const step = in.take(1);
      value = step == 255 ? in.take(element) : kind == 1 || kind == 4 ? std::min(value + step, edges) : value + step;
      if ((kind == 1 || kind == 4) && step != 255 && i == 0) value = 0;
      if ((kind == 1 || kind == 4) && step != 255 && i + 1 == count) value = edges;
      if ((kind == 2 || kind == 5) && step != 255 && vertices) value %= vertices;
      std::memcpy(b.data() + offset + i * element, &value, element);
    }
  };
  for (std::uint32_t side = 0; side <= (flags & 2 ? 3u : 0u); side += 3) {
    add(1 + side, 8, vertices + 1);
    add(2 + side, id_bytes, edges);
    if (weights) add(3 + side, 4, edges);
  }
  if (flags & 4) add(7, 8, vertices);
  if (order) add(8, id_bytes, vertices);
  set(b, 52, n);
  set<std::uint64_t>(b, 16, b.size());
  auto const spoil = [&] {
    for (auto const& w : wrong)
      if (std::size_t const at = w.at % (b.size() - 8); true) std::memcpy(b.data() + at, &w.value, w.width);
  };
  if (!patch_late) spoil();
  seal(b);
  if (patch_late) spoil();
  return b;
}

void walk(graph const& g, edge_lists const& lists) {
  if (lists.offsets[0] != 0 || lists.offsets[g.info.vertices] != g.info.edges) std::abort();
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t e = lists.offsets[v]; e < lists.offsets[v + 1]; ++e) {
      std::uint64_t target = 0;
      std::memcpy(&target, static_cast<char const*>(lists.targets.data()) + e * g.info.id_bytes, g.info.id_bytes);
      if (target >= g.info.vertices) std::abort();
    }
}

template <class F>
bool works(F&& f) {
  try {
    f();
    return true;
  } catch (error const& e) {
    if (e.code() == errc::internal || std::strchr(e.what(), '\n')) std::abort();
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static int const fd = ::memfd_create("container_fuzz", 0);
  static std::string const file = "/proc/self/fd/" + std::to_string(fd);
  if (size == 0) return 0;
  bytes const b = data[0] & 1 ? cook({data + 1, data + size}, data[0] & 2) : bytes(data + 1, data + size);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, b.data(), b.size(), 0) != static_cast<::ssize_t>(b.size())) std::abort();

  load_options how;
  bool const readable = works([&] {
    auto const info = read_header(file).info;
    how.in_edges = info.in_edges;
    how.weights = info.weights != weight_kind::none;
  });
  bool const right = works([&] {
    graph const g = load_graph(file, how);
    walk(g, g.out);
    if (g.info.in_edges) walk(g, g.in);
    for (std::uint64_t v = 0; v < g.info.vertices; ++v)
      if (g.internal_id(g.user_id(v)) != v) std::abort();
  });
  if (right != works([&] { check_container(file); })) std::abort();
  how.check = false;
  // Without checksums too, the result is a CSR that can be traversed.
  bool const trusted = works([&] {
    graph const g = load_graph(file, how);
    walk(g, g.out);
    if (g.info.in_edges) walk(g, g.in);
    for (std::uint64_t v = 0; v < g.info.vertices; ++v)
      if (g.at_rank(v) >= g.info.vertices) std::abort();
  });
  if ((right && !trusted) || (trusted && !readable)) std::abort();
  // As a graph of its own it has out-edges, which are built where the file holds in-edges alone.
  bool const opened = works([&] {
    graph_source from(file);
    graph const g = from.load(how);
    if (g.info.reversed) std::abort();
    walk(g, g.out);
    if (g.info.in_edges) walk(g, g.in);
  });
  if (trusted && !opened) std::abort();
  return 0;
}

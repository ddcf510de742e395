// Writes a CSR as el, wel, mtx, metis, sg, wsg or bel, each file as a sequence of
// chunks. Invariant: the bytes depend on the graph alone and not on the number of
// threads. A file appears whole or not at all; the three files of a .bel are renamed
// only after all are safe on disk. Cost: one pass. A directed .sg without in-edges
// needs a transposition, which takes 8 bytes per vertex and 4 to 8 per edge.
#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "graph/chunked_file.hpp"
#include "graph/formats.hpp"

namespace garner {

namespace {

constexpr std::uint64_t chunk_arcs = 1u << 16;

std::uint64_t target(csr_arrays const& g, void const* targets, std::uint64_t i) {
  return g.id_bytes == 8 ? static_cast<std::uint64_t const*>(targets)[i] : static_cast<std::uint32_t const*>(targets)[i];
}

// The shortest text that reads back as the same bits, with a point or an exponent so that it reads back as f32.
void put_weight(std::string& out, std::uint32_t bits, weight_kind kind) {
  if (kind == weight_kind::u32) return put_number(out, bits);
  char text[32];
  std::string_view const word(text,
                              static_cast<std::size_t>(std::to_chars(text, text + sizeof text, std::bit_cast<float>(bits)).ptr - text));
  out += word;
  if (word.find_first_of(".e") == word.npos) out += ".0";
}

// Calls visit(source, edge) for the edges of chunk p in order.
template <class Visit>
void visit_piece(csr_arrays const& g, std::uint64_t p, Visit const& visit) {
  std::uint64_t const first = p * chunk_arcs, last = std::min(g.edges, first + chunk_arcs);
  if (first >= last) return;
  auto u = static_cast<std::uint64_t>(std::upper_bound(g.offsets, g.offsets + g.vertices + 1, first) - g.offsets) - 1;
  for (std::uint64_t i = first; i < last; ++i) {
    while (g.offsets[u + 1] <= i) ++u;
    visit(u, i);
  }
}
std::uint64_t chunks_of(csr_arrays const& g) { return (g.edges + chunk_arcs - 1) / chunk_arcs; }

void write_columns(csr_arrays const& g, chunked_file& file, progress& bar, bool weighted) {
  auto const id = [&](std::uint64_t v) { return g.ids ? g.ids[v] : v + g.id_base; };
  file.chunks(std::max<std::uint64_t>(1, chunks_of(g)), [&](std::uint64_t p, std::string& out) {
    std::uint64_t n = 0;
    visit_piece(g, p, [&](std::uint64_t u, std::uint64_t i) {
      put_number(out, id(u));
      out += ' ';
      put_number(out, id(target(g, g.targets, i)));
      if (weighted) out += ' ', put_weight(out, g.weights[i], g.weights_are);
      out += '\n';
      ++n;
    });
    bar.advance(n);
  });
}

void write_mtx(csr_arrays const& g, chunked_file& file, progress& bar) {
  bool const weighted = g.weights != nullptr;
  auto const stored = [&](std::uint64_t u, std::uint64_t i) { return g.directed || target(g, g.targets, i) <= u; };  // the lower triangle
  std::atomic<std::uint64_t> entries{g.directed ? g.edges : 0};
  if (!g.directed)
    shared_pool().run(chunks_of(g), 1, [&](std::uint64_t p, std::uint64_t last) {
      std::uint64_t n = 0;
      for (; p != last; ++p) visit_piece(g, p, [&](std::uint64_t u, std::uint64_t i) { n += stored(u, i); });
      entries += n;
    });
  file.chunk(fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n",
                         !weighted                           ? "pattern"
                         : g.weights_are == weight_kind::f32 ? "real"
                                                             : "integer",
                         g.directed ? "general" : "symmetric", g.vertices, g.vertices, entries.load()));
  file.chunks(chunks_of(g), [&](std::uint64_t p, std::string& out) {
    std::uint64_t n = 0;
    visit_piece(g, p, [&](std::uint64_t u, std::uint64_t i) {
      ++n;
      if (!stored(u, i)) return;
      put_number(out, u + 1);
      out += ' ';
      put_number(out, target(g, g.targets, i) + 1);
      if (weighted) out += ' ', put_weight(out, g.weights[i], g.weights_are);
      out += '\n';
    });
    bar.advance(n);
  });
}

// One line per vertex. The format requires an undirected graph without loops.
void write_metis(csr_arrays const& g, chunked_file& file, progress& bar) {
  file.chunk(fmt::format("{} {}{}\n", g.vertices, g.edges / 2, g.weights ? " 001" : ""));
  constexpr std::uint64_t lines = 1u << 14;
  file.chunks((g.vertices + lines - 1) / lines, [&](std::uint64_t p, std::string& out) {
    std::uint64_t const first = p * lines, last = std::min(g.vertices, first + lines);
    for (std::uint64_t v = first; v < last; ++v) {
      for (std::uint64_t i = g.offsets[v]; i < g.offsets[v + 1]; ++i) {
        if (i != g.offsets[v]) out += ' ';
        put_number(out, target(g, g.targets, i) + 1);
        if (g.weights) out += ' ', put_weight(out, g.weights[i], g.weights_are);
      }
      out += '\n';
    }
    bar.advance(g.offsets[last] - g.offsets[first]);
  });
}

struct weighted_target {
  std::int32_t v, w;
};

void write_sg(csr_arrays const& g, chunked_file& file, progress& bar, bool weighted) {
  std::vector<std::uint64_t> in_offsets;
  std::vector<std::uint32_t> in_targets, in_weights;
  auto const lists = [&](std::uint64_t const* offsets, auto const& neighbor, std::uint32_t const* weights) {
    file.array<std::uint64_t>(g.vertices + 1, bar, [&](std::uint64_t i) { return offsets[i]; });
    if (weighted)
      file.array<weighted_target>(g.edges, bar, [&](std::uint64_t i) {
        return weighted_target{static_cast<std::int32_t>(neighbor(i)), static_cast<std::int32_t>(weights[i])};
      });
    else file.array<std::int32_t>(g.edges, bar, [&](std::uint64_t i) { return static_cast<std::int32_t>(neighbor(i)); });
  };
  std::string header(17, '\0');
  header[0] = g.directed;
  std::memcpy(header.data() + 1, &g.edges, 8);
  std::memcpy(header.data() + 9, &g.vertices, 8);
  file.chunk(header);
  lists(
      g.offsets, [&](std::uint64_t i) { return target(g, g.targets, i); }, g.weights);
  if (!g.directed) return;
  if (g.in_offsets && (!weighted || g.in_weights)) {
    lists(
        g.in_offsets, [&](std::uint64_t i) { return target(g, g.in_targets, i); }, g.in_weights);
    return;
  }
  in_offsets.assign(g.vertices + 2, 0);  // shifted by one while the lists are filled: in_offsets[v + 1] is the next position in v's list
  for (std::uint64_t i = 0; i < g.edges; ++i) ++in_offsets[target(g, g.targets, i) + 2];
  for (std::uint64_t v = 0; v < g.vertices; ++v) in_offsets[v + 2] += in_offsets[v + 1];
  in_targets.resize(g.edges);
  if (weighted) in_weights.resize(g.edges);
  for (std::uint64_t u = 0; u < g.vertices; ++u) {
    if ((u & 0xffff) == 0) check_interrupted();
    for (std::uint64_t i = g.offsets[u]; i < g.offsets[u + 1]; ++i) {
      std::uint64_t const to = in_offsets[target(g, g.targets, i) + 1]++;
      in_targets[to] = static_cast<std::uint32_t>(u);
      if (weighted) in_weights[to] = g.weights[i];
    }
  }
  lists(
      in_offsets.data(), [&](std::uint64_t i) { return in_targets[i]; }, in_weights.data());
}

void write_bel(csr_arrays const& g, std::filesystem::path const& path) {
  std::string const stem = bel_stem(path), compression = strip_compression(path).compression;
  // A file with another compression, or an older graph's weights, would be read together with the new ones.
  for (char const* part : {".col", ".dst", ".val"})
    for (char const* ending : {"", ".gz", ".zst"}) {
      std::string const other = stem + part + ending;
      std::error_code none;  // an inaccessible file is reported by the pending file
      if ((ending != compression || (part == std::string_view(".val") && !g.weights)) && std::filesystem::exists(other, none))
        fail(errc::usage, "{}: is in the folder of the .bel to be written and would be read with it; remove it first", other);
    }
  progress bar("writing", g.vertices + 1 + g.edges * (g.weights ? 2 : 1));
  auto const header = [](std::uint64_t count) {
    std::uint64_t const words[2] = {count, 0};
    return std::string(reinterpret_cast<char const*>(words), sizeof words);
  };
  chunked_file offsets(stem + ".col" + compression, compression), targets(stem + ".dst" + compression, compression);
  std::optional<chunked_file> weights;
  offsets.chunk(header(g.vertices + 1));
  offsets.array<std::uint64_t>(g.vertices + 1, bar, [&](std::uint64_t i) { return g.offsets[i]; });
  targets.chunk(header(g.edges));
  targets.array<std::uint64_t>(g.edges, bar, [&](std::uint64_t i) { return target(g, g.targets, i); });
  if (g.weights) {
    weights.emplace(stem + ".val" + compression, compression);
    weights->chunk(header(g.edges));
    weights->array<std::uint32_t>(g.edges, bar, [&](std::uint64_t i) { return g.weights[i]; });
  }
  std::vector<chunked_file*> parts{&offsets, &targets};
  if (weights) parts.push_back(&*weights);
  for (auto* const part : parts) part->file().flush();
  for (auto* const part : parts) part->file().publish();
}

}  // namespace

std::vector<std::string> write_edges(csr_arrays const& graph, std::filesystem::path const& path, file_format to) {
  phase const timed{"graph.write"};
  // Empty arrays may be null, which elsewhere means absent.
  csr_arrays g = graph;
  static constexpr std::uint64_t no_offset = 0;
  static constexpr std::uint32_t no_weight = 0;
  if (!g.offsets && g.vertices == 0) g.offsets = &no_offset;
  if (!g.weights && g.edges == 0 && g.weights_are != weight_kind::none) g.weights = &no_weight;
  std::string const name = path.string();
  bool const text = to == file_format::el || to == file_format::wel || to == file_format::mtx || to == file_format::metis;
  bool const weighted = to != file_format::el && to != file_format::sg && g.weights;
  if (!text && to != file_format::sg && to != file_format::wsg && to != file_format::bel)
    fail(errc::usage, "{}: {} is not written; el, wel, mtx, metis, sg, wsg, bel and gnr are (name one with --to)", name, to_string(to));
  if ((to == file_format::wel || to == file_format::wsg) && !g.weights)
    fail(errc::usage, "{}: the graph has no weights, which a .{} needs; write a .{} or draw weights when converting", name, to_string(to),
         to_string(to).substr(1));
  if (!text && weighted && g.weights_are == weight_kind::f32)
    fail(errc::usage, "{}: the weights are f32 and a .{} holds whole numbers; write a .wel or .mtx", name, to_string(to));
  if (to == file_format::metis) {
    if (g.directed)
      fail(errc::usage, "{}: the graph is directed and METIS holds undirected ones; make it so with --undirected, or write an .mtx", name);
    if (weighted && g.weights_are == weight_kind::f32)
      fail(errc::usage, "{}: the weights are f32 and METIS holds whole numbers; write a .wel or .mtx", name);
    std::atomic<std::uint64_t> looped{g.vertices};
    shared_pool().run(chunks_of(g), 1, [&](std::uint64_t p, std::uint64_t last) {
      for (; p != last; ++p)
        visit_piece(g, p, [&](std::uint64_t u, std::uint64_t i) {
          if (target(g, g.targets, i) == u) looped = u;
        });
    });
    if (looped < g.vertices)
      fail(errc::usage, "{}: vertex {} has an edge to itself, which METIS does not hold; convert without --keep-loops, or write an .mtx",
           name, g.ids ? g.ids[looped] : looped + g.id_base);
  }
  if (to == file_format::sg || to == file_format::wsg) {
    if (g.vertices > (std::uint64_t{1} << 31))
      fail(errc::usage, "{}: {} vertices are more than the 2147483648 of a .{}; write a .bel or .gnr", name, g.vertices, to_string(to));
    if (weighted)
      if (auto const* w = std::find_if(g.weights, g.weights + g.edges, [](std::uint32_t x) { return x >> 31; }); w != g.weights + g.edges)
        fail(errc::usage, "{}: weight {} is beyond the 2147483647 of a .wsg; write a .wel or .mtx", name, *w);
  }

  std::vector<std::string> notes;
  if (g.weights && !weighted)
    notes.push_back(fmt::format("{}: a .{} has no weights; those of the graph are left out", name, to_string(to)));
  std::uint64_t const base = to == file_format::mtx || to == file_format::metis ? 1 : 0;
  if (to != file_format::el && to != file_format::wel && (g.ids || g.id_base != base))
    notes.push_back(fmt::format("{}: a .{} numbers vertices from {}; the graph's own ids are left out", name, to_string(to), base));

  if (to == file_format::bel) {
    write_bel(g, path);
    return notes;
  }
  bool const both = !text && g.directed;
  progress bar("writing", text ? g.edges : (g.vertices + 1 + g.edges) * (both ? 2 : 1));
  chunked_file file(path, strip_compression(path).compression);
  if (to == file_format::mtx) write_mtx(g, file, bar);
  else if (to == file_format::metis) write_metis(g, file, bar);
  else if (text) write_columns(g, file, bar, weighted);
  else write_sg(g, file, bar, weighted);
  file.file().commit();
  return notes;
}

}  // namespace garner

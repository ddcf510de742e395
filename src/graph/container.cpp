// Reads and writes graph files (the format: container_format.hpp; the invariants: check_csr.hpp). Cost: all threads read each byte once, in
// blocks that are hashed and checked while they are warm in the cache.
#include "graph/container.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>

#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "garner/memory.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/check_csr.hpp"
#include "graph/container_format.hpp"
#include "graph/list_file.hpp"
#include "graph/pack.hpp"

namespace garner {

using namespace container;

namespace {

// Double buffering with two pinned buffers: one is copied to the device while the other is filled from the file.
struct bounce {
  bounce(int on_device, std::uint64_t bytes) : device(on_device) {
    for (auto& m : memory) m = memory_block(tier::host, bytes, device, "bounce buffers of the loader");
    if (device >= 0)
      for (auto& s : stream) s = device::make_stream(device);
  }
  ~bounce() {
    for (void* s : stream)
      if (s) {
        try {
          device::wait(device, s);  // after an error a copy may still read memory that is about to be freed
        } catch (...) {
        }
        device::free_stream(device, s);
      }
  }
  bounce(bounce const&) = delete;
  bounce& operator=(bounce const&) = delete;

  int device;
  std::array<memory_block, 2> memory;
  std::array<void*, 2> stream{};
};

class section_reader {
 public:
  // Called for each block as it arrives, from any thread.
  using block_check = std::function<void(std::uint64_t index, void const* data, std::uint64_t bytes)>;

  explicit section_reader(std::filesystem::path const& path) : file(path), header(parse(file)) {}

  container_section const* find(section_kind kind) const {
    for (auto const& s : header.sections)
      if (s.kind == kind) return &s;
    return nullptr;
  }
  std::string where(container_section const& s) const { return file.name() + ": " + s.name; }

  // `to`: host-readable memory. Null with on_device: the data goes to `far` on the device. Null otherwise: the data is only checked.
  void read(container_section const& s, void* to, bool check, block_check const& look = {}, int on_device = -1, void* far = nullptr) {
    static counter loaded{"container.bytes_read"};
    std::vector<std::uint64_t> sums(blocks_of(s.bytes));
    std::optional<bounce> between;
    if (!to && s.bytes) between.emplace(on_device, std::min(batch, s.bytes));
    std::uint64_t const step = to ? s.bytes : batch;
    for (std::uint64_t begin = 0, turn = 0; begin < s.bytes; begin += step, turn ^= 1) {
      std::uint64_t const bytes = std::min(step, s.bytes - begin);
      if (on_device >= 0 && between) device::wait(on_device, between->stream[turn]);
      auto* const at = static_cast<std::byte*>(to ? to : between->memory[turn].data());
      shared_pool().run(blocks_of(bytes), 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t k = first; k < last; ++k) {
          std::byte* const data = at + k * block;
          std::uint64_t const n = std::min(block, bytes - k * block), index = begin / block + k;
          file.read(s.offset + begin + k * block, data, n);
          if (check) sums[index] = XXH3_64bits(data, n);
          if (look) look(index, data, n);
          bar->advance(n);
        }
      });
      if (on_device >= 0 && between) device::copy(on_device, between->stream[turn], static_cast<std::byte*>(far) + begin, at, bytes);
    }
    if (on_device >= 0 && between)
      for (void* stream : between->stream) device::wait(on_device, stream);
    loaded.add(s.bytes);
    if (!check) return;
    if (std::uint64_t const sum = tree_checksum(sums); sum != s.checksum)
      fail(errc::input,
           "{} (bytes {} to {}): the header gives the checksum {:016x} but the data have {:016x}; the file is damaged, copy or convert it "
           "again",
           where(s), s.offset, s.offset + s.bytes, s.checksum, sum);
    std::array<unsigned char, page> padding;
    std::uint64_t const end = s.offset + s.bytes, n = on_page(end) - end;
    file.read(end, padding.data(), n);
    for (std::uint64_t i = 0; i < n; ++i)
      if (padding[i])
        fail(errc::input,
             "{}: byte {}: is {:#x} in the padding after '{}', which must be zero; the file is damaged, copy or convert it again",
             file.name(), end + i, padding[i], s.name);
  }

  // One direction of the edges. Without `keep`, targets and weights are only checked.
  edge_lists read_lists(bool in, load_options const& how, bool keep) {
    auto const kind = [&](section_kind out) { return static_cast<section_kind>(static_cast<std::uint32_t>(out) + (in ? 3 : 0)); };
    graph_info const& info = header.info;
    edge_lists lists;
    lists.offsets = read_offsets(*find(kind(section_kind::out_offsets)), how.check);
    auto const load = [&](container_section const& s, memory_block& to, section_reader::block_check const& look) {
      if (keep) to = memory_block(how.edges, s.bytes, how.device, s.name.c_str());
      bool const far = keep && in_device_memory(how.edges);
      read(s, far ? nullptr : to.data(), how.check, look, far ? how.device : -1, to.data());
    };
    if (info.compressed) {
      read_packed(lists, in, how, keep);
      return lists;
    }
    container_section const& targets = *find(kind(section_kind::out_targets));
    target_check check(info, lists.offsets.data(), &targets, block);
    if (lists_stay) {
      lists.stored_targets = {targets.offset, targets.bytes};
      if (how.check) {
        look_through(targets, std::ref(check));
        check.finish(where(targets));
        lists_stay->note_all_right(in);
      }
      if (how.weights) {
        container_section const& weights = *find(kind(section_kind::out_weights));
        lists.stored_weights = {weights.offset, weights.bytes};
        if (how.check) look_through(weights, {});
      }
      return lists;
    }
    load(targets, lists.targets, std::ref(check));
    check.finish(where(targets));
    if (how.weights) load(*find(kind(section_kind::out_weights)), lists.weights, {});
    return lists;
  }
  // A section that stays in the file. Checksums are recorded, so that later reads return the same data.
  void look_through(container_section const& s, block_check const& look) {
    read(s, nullptr, true, [&](std::uint64_t index, void const* data, std::uint64_t bytes) {
      // read() has verified that the padding behind a section is zero.
      std::uint64_t const whole = bytes / list_file::unit * list_file::unit, at = s.offset + index * block;
      lists_stay->compare(at, data, whole);
      if (std::uint64_t const rest = bytes - whole) {
        std::array<std::byte, list_file::unit> last{};
        std::memcpy(last.data(), static_cast<std::byte const*>(data) + whole, rest);
        lists_stay->compare(at + whole, last.data(), last.size());
      }
      if (look) look(index, data, bytes);
    });
  }
  // The codes and their directory. The check needs them whole; unless kept, they are released after it.
  void read_packed(edge_lists& lists, bool in, load_options const& how, bool keep) {
    auto const kind = [&](section_kind out, int k) {
      return static_cast<section_kind>(static_cast<std::uint32_t>(out) + (in ? 6 : 0) + static_cast<std::uint32_t>(k));
    };
    bool const far = keep && in_device_memory(how.edges);
    auto const load = [&](packed_array& to, section_kind first) {
      container_section const &words = *find(kind(first, 0)), &blocks = *find(kind(first, 1)), &groups = *find(kind(first, 2));
      to.blocks = buffer<std::uint32_t>(tier::host, blocks.bytes / 4, how.device, blocks.name.c_str());
      to.groups = buffer<std::uint64_t>(tier::host, groups.bytes / 8, how.device, groups.name.c_str());
      if (lists_stay) {
        read(blocks, to.blocks.data(), how.check);
        read(groups, to.groups.data(), how.check);
        check_directory(to, header.info.edges, where(words), words.bytes / 4);
        if (how.check) look_through(words, {});
        return &words;
      }
      to.words = memory_block(keep && !far ? how.edges : tier::host, words.bytes, how.device, words.name.c_str());
      read(blocks, to.blocks.data(), how.check);
      read(groups, to.groups.data(), how.check);
      read(words, to.words.data(), how.check);
      check_directory(to, header.info.edges, where(words));
      return &words;
    };
    container_section const* const codes = load(lists.packed_targets, section_kind::out_target_words);
    if (lists_stay) {
      lists.stored_targets = {codes->offset, codes->bytes};
      if (!how.weights) return;
      container_section const* const weights = load(lists.packed_weights, section_kind::out_weight_words);
      lists.stored_weights = {weights->offset, weights->bytes};
      return;
    }
    constexpr std::uint64_t step = 1u << 14;  // ids decoded per step: small next to the file, and cached
    target_check check(header.info, lists.offsets.data(), nullptr, step * 4);
    shared_pool().run((header.info.edges + step - 1) / step, 64, [&](std::uint64_t first, std::uint64_t last) {
      std::vector<std::uint32_t> values(step);
      for (std::uint64_t k = first; k < last; ++k) {
        std::uint64_t const begin = k * step, end = std::min(header.info.edges, begin + step);
        each_in_turn(lists.packed_targets.view(), begin, end,
                     [&](std::uint32_t v, std::uint64_t i) { return values[i - begin] = v, false; });
        check(k, values.data(), (end - begin) * 4);
      }
    });
    check.finish(where(*codes));
    if (how.weights) load(lists.packed_weights, section_kind::out_weight_words);
    if (!far) return;
    for (packed_array* p : {&lists.packed_targets, &lists.packed_weights}) {
      if (p->empty()) continue;
      memory_block there(how.edges, p->words.bytes(), how.device, "compressed adjacency");
      void* const stream = device::make_stream(how.device);
      device::copy(how.device, stream, there.data(), p->words.data(), there.bytes());
      device::wait(how.device, stream);
      device::free_stream(how.device, stream);
      p->words = std::move(there);
    }
  }
  buffer<std::uint32_t> read_cached_neighbors(bool check, int device = -1) {  // device: the GPU that will copy them, at link speed
    container_section const& s = *find(section_kind::cached_neighbors);
    buffer<std::uint32_t> cached_neighbors(tier::host, s.bytes / 4, device, "cached neighbors");
    read(s, cached_neighbors.data(), check);
    cached_neighbors_view const view(cached_neighbors.data(), header.info.vertices, header.cached_neighbors);
    for (std::uint64_t v = 0; v < header.info.vertices; ++v)
      for (std::uint32_t k = 0; k < view.per_vertex; ++k)
        if (std::uint32_t const u = view.at(v, k); u >= header.info.vertices && u != cached_neighbors_view::none)
          fail(errc::input, "{}: hint {} of vertex {} (byte {}) is vertex {} but there are {} vertices; convert the graph again", where(s),
               k, v, s.offset + (view.narrow ? v * 12 + k * 3 : (v * view.per_vertex + k) * 4), u, header.info.vertices);
    return cached_neighbors;
  }
  buffer<std::uint64_t> read_offsets(container_section const& s, bool check) {
    buffer<std::uint64_t> offsets(tier::host, s.bytes / 8, -1, "offsets");
    read(s, offsets.data(), check);
    check_offsets(header.info, offsets.data(), where(s), &s);
    return offsets;
  }
  buffer<std::uint64_t> read_ids(bool check) {
    container_section const& s = *find(section_kind::ids);
    buffer<std::uint64_t> ids(tier::host, header.info.vertices, -1, "ids");
    read(s, ids.data(), check);
    if (check && header.info.order == vertex_order::natural) check_ids(ids.data(), ids.size(), where(s), s);
    return ids;
  }
  memory_block read_by_id(buffer<std::uint64_t> const& ids, bool check) {
    container_section const& s = *find(section_kind::by_id);
    memory_block by_id(tier::host, s.bytes, -1, "ids");
    read(s, by_id.data(), check);
    // Always checked, since it determines the address at which an id is looked up.
    check_by_id(header.info, ids.data(), by_id.data(), where(s), s);
    return by_id;
  }

  container_file file;
  container_header header;
  std::shared_ptr<list_file> lists_stay;  // for tier file
  std::optional<progress> bar;            // created once the amount to read is known
};

}  // namespace

container_header read_header(std::filesystem::path const& file) { return parse(container_file(file)); }

graph load_graph(std::filesystem::path const& file, load_options const& how) {
  phase const timed{"container.load"};
  if (in_device_memory(how.edges)) device::require(how.device);
  section_reader reader(file);
  std::optional<device::kernel_loader> kernels;  // the first launch would wait for kernel loading
  if (how.device >= 0) {
    self_test(how.device);
    kernels.emplace(how.device, [device = how.device] {  // the kernels of a scan, and the memory pool it allocates from
      executor x({device_kind::cuda, device});
      buffer<std::uint32_t> counts(tier::device, 1u << 16, device, "a first scan");
      buffer<std::uint64_t> sums(tier::device, counts.size() + 1, device, "a first scan");
      x.fill(counts.data(), 0, counts.bytes());
      scan(x, counts.data(), sums.data(), counts.size());
      x.wait();
    });
  }
  graph g;
  g.name = reader.file.name();
  g.info = reader.header.info;
  g.checked = how.check;
  if (how.in_edges && g.info.directed && !g.info.in_edges)
    fail(errc::input, "{}: has no in-edges; add them with `garner convert --in-edges`", g.name);
  if (how.weights && g.info.weights == weight_kind::none)
    fail(errc::input,
         "{}: has no weights; convert the graph again from a weighted file, or draw them with `garner convert --random-weights 1:255`",
         g.name);
  g.info.in_edges = g.info.in_edges && how.in_edges;
  if (!how.weights) g.info.weights = weight_kind::none;
  std::uint64_t wanted = 0;
  for (auto const& s : layout(g.info, reader.header.words, reader.header.cached_neighbors)) wanted += s.bytes;
  reader.bar.emplace("loading", wanted);
  if (g.info.id_map) g.ids = reader.read_ids(how.check);
  if (how.cached_neighbors && reader.header.cached_neighbors)
    g.cached_neighbors = reader.read_cached_neighbors(how.check, how.device), g.cached_per_vertex = reader.header.cached_neighbors;
  if (g.info.order != vertex_order::natural) g.by_id = reader.read_by_id(g.ids, how.check);
  if (how.edges == tier::file)
    g.in_file = reader.lists_stay = std::make_shared<list_file>(file, reader.header.file_bytes, g.info.edges, how.drives, how.window_bytes);
  g.out = reader.read_lists(false, how, true);
  if (g.info.in_edges) g.in = reader.read_lists(true, how, true);
  if (how.device >= 0) bring_offsets_near(g, how.device);
  return g;
}

std::uint64_t list_bytes(container_header const& header, load_options const& how) {
  graph_info const& info = header.info;
  auto const one = [&](std::uint64_t words, std::uint64_t plain) { return info.compressed ? words * 4 : info.edges * plain; };
  std::uint64_t bytes = one(header.words.out_targets, info.id_bytes) + (how.weights ? one(header.words.out_weights, 4) : 0);
  if (how.in_edges && info.directed)
    bytes += one(header.words.in_targets, info.id_bytes) + (how.weights ? one(header.words.out_weights, 4) : 0);
  return bytes;
}

buffer<std::uint64_t> load_offsets(std::filesystem::path const& file, bool of_in_lists, bool check) {
  section_reader reader(file);
  container_section const* s = reader.find(of_in_lists ? section_kind::in_offsets : section_kind::out_offsets);
  if (!s) fail(errc::input, "{}: has no in-edges; add them with `garner convert --in-edges`", file.string());
  reader.bar.emplace("loading", s->bytes);
  return reader.read_offsets(*s, check);
}

void check_container(std::filesystem::path const& file) {
  section_reader reader(file);
  reader.bar.emplace("checking", reader.header.file_bytes);
  load_options how;
  how.weights = reader.header.info.weights != weight_kind::none;
  if (reader.header.info.id_map) {
    auto const ids = reader.read_ids(true);
    if (reader.header.info.order != vertex_order::natural) reader.read_by_id(ids, true);
  }
  if (reader.header.cached_neighbors) reader.read_cached_neighbors(true);
  reader.read_lists(false, how, false);
  if (reader.header.info.in_edges) reader.read_lists(true, how, false);
}

namespace {

// The file of the names: digests bind the two, whatever order or compression the graph has.
std::filesystem::path names_of(std::filesystem::path graph_file) { return graph_file.replace_extension(".names.parquet"); }

void copy_names(std::filesystem::path const& from, std::filesystem::path const& to) {
  std::error_code none;
  if (from.extension() != ".gnr" || !std::filesystem::exists(names_of(from), none)) return;
  if (std::filesystem::equivalent(names_of(from), names_of(to), none)) return;
  input_file const in(names_of(from));
  pending_file out(names_of(to));
  std::vector<char> part(std::min<std::uint64_t>(in.size(), 1u << 20));
  for (std::uint64_t at = 0; at < in.size(); at += part.size()) {
    std::uint64_t const n = std::min<std::uint64_t>(part.size(), in.size() - at);
    in.read(part.data(), n, at);
    out.write(part.data(), n);
  }
  out.commit();
}

}  // namespace

void save_graph(graph const& g, std::filesystem::path const& file) {
  g.require_in_memory();
  phase const timed{"container.save"};
  auto const words_of = [](packed_array const& a) { return a.words.bytes() / 4; };
  packed_words const words{words_of(g.out.packed_targets), words_of(g.out.packed_weights), words_of(g.in.packed_targets),
                           words_of(g.in.packed_weights)};
  std::vector<container_section> sections = layout(g.info, words, g.cached_per_vertex);
  // In the order of section_kind, which is the order in the file.
  struct source {
    void const* data;
    std::uint64_t bytes;
    tier where;
  };
  auto const of = [](auto const& b) { return source{b.data(), b.bytes(), b.where()}; };
  std::array<source, section_names.size()> sources{source{},          of(g.out.offsets), of(g.out.targets),
                                                   of(g.out.weights), of(g.in.offsets),  of(g.in.targets),
                                                   of(g.in.weights),  of(g.ids),         of(g.by_id)};
  auto at = static_cast<std::size_t>(section_kind::out_target_words);
  for (packed_array const* p : {&g.out.packed_targets, &g.out.packed_weights, &g.in.packed_targets, &g.in.packed_weights})
    sources[at++] = of(p->words), sources[at++] = of(p->blocks), sources[at++] = of(p->groups);
  sources[static_cast<std::size_t>(section_kind::cached_neighbors)] = of(g.cached_neighbors);
  for (auto const& s : sections) {
    source const& from = sources[static_cast<std::size_t>(s.kind)];
    if (from.bytes < s.bytes)
      fail(errc::internal, "{}: '{}' of the graph has {} bytes but its counts require {}", file.string(), s.name, from.bytes, s.bytes);
    if (s.bytes && in_device_memory(from.where))
      fail(errc::usage, "{}: '{}' lies on a device; load the graph into host memory to save it", file.string(), s.name);
  }
  pending_file out(file);
  progress bar("writing", end_of(sections) - page);
  static constexpr std::array<std::byte, page> zeros{};
  for (auto& s : sections) {
    auto const* const data = static_cast<std::byte const*>(sources[static_cast<std::size_t>(s.kind)].data);
    std::vector<std::uint64_t> sums(blocks_of(s.bytes));
    shared_pool().run(sums.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t k = first; k < last; ++k) {
        std::uint64_t const n = std::min(block, s.bytes - k * block);
        sums[k] = XXH3_64bits(data + k * block, n);
        out.write_at(s.offset + k * block, data + k * block, n);
        bar.advance(n);
      }
    });
    s.checksum = tree_checksum(sums);
    std::uint64_t const tail = s.offset + s.bytes;
    out.write_at(tail, zeros.data(), on_page(tail) - tail);
  }
  raw_header const raw = header_of(g.info, words, g.cached_per_vertex, sections);
  out.write_at(0, &raw, sizeof raw);
  out.flush();
  if (g.info.names_digest) copy_names(g.name, file);
  out.publish();
}

}  // namespace garner

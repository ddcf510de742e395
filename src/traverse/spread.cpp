#include "traverse/spread.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/thread_pool.hpp"

namespace garner {

namespace {

// Parts of a compressed edge list begin at a group of blocks, those of a plain one at a page.
constexpr std::uint64_t arcs_a_group = packed_directory::values_a_block * packed_directory::blocks_a_group, words_a_page = 1024;

// A view of the whole graph's memory, which outlives the part.
memory_block lent(void const* at, std::uint64_t bytes, int device) {
  void* const data = const_cast<void*>(at);
  return {std::shared_ptr<void>(std::shared_ptr<void>(), data), data, bytes, device};
}
memory_block lists_at(executor& x, tier edges, void const* at, std::uint64_t bytes, int device) {
  if (bytes == 0) return {};
  if (edges != tier::device || !x.on_device()) return lent(at, bytes, device);
  memory_block near(tier::device, bytes, x.device(), "lists of a part");
  x.copy(near.data(), at, bytes);
  return near;
}

// Vertices [first, first + count); edge numbers start at the page or group before the part's first edge.
edge_lists part_of(executor& x, edge_lists const& all, graph_info const& info, std::uint64_t first, std::uint64_t count, tier edges,
                   std::uint64_t& arcs) {
  std::uint64_t const begin = all.offsets[first], end = all.offsets[first + count],
                      step = all.packed_targets.empty() ? words_a_page : arcs_a_group, base = begin / step * step;
  edge_lists part;
  part.offsets = buffer<std::uint64_t>(tier::host, count + 1, -1, "offsets of a part");
  shared_pool().run(count + 1, 1u << 16, [&](std::uint64_t a, std::uint64_t b) {
    for (std::uint64_t v = a; v < b; ++v) part.offsets[v] = all.offsets[first + v] - base;
  });
  arcs = end - base;
  if (packed_array const& from = all.packed_targets; !from.empty()) {
    std::uint64_t const block = base / packed_directory::values_a_block,
                        blocks = (end + packed_directory::values_a_block - 1) / packed_directory::values_a_block - block,
                        group = block / packed_directory::blocks_a_group, groups = blocks / packed_directory::blocks_a_group + 1,
                        word = from.groups[group] / words_a_page * words_a_page, words = from.view().at.word_of(block + blocks) - word + 1;
    packed_array& to = part.packed_targets;
    to.blocks = buffer<std::uint32_t>(lent(from.blocks.data() + block, (blocks + 1) * sizeof(std::uint32_t), from.blocks.device()));
    to.groups = buffer<std::uint64_t>(tier::host, groups, -1, "directory of a part");
    for (std::uint64_t k = 0; k < groups; ++k)
      to.groups[k] = from.groups[std::min<std::uint64_t>(group + k, from.groups.size() - 1)] - word;
    to.words =
        lists_at(x, edges, static_cast<std::uint32_t const*>(from.words.data()) + word, words * sizeof(std::uint32_t), from.words.device());
  } else {
    part.targets =
        lists_at(x, edges, static_cast<char const*>(all.targets.data()) + base * info.id_bytes, arcs * info.id_bytes, all.targets.device());
  }
  x.wait();
  return part;
}

}  // namespace

void require_spread(std::string const& name, graph_info const& info, std::vector<execution_device> const& shards, std::optional<tier> edges,
                    access_mode how) {
  if (shards.empty()) return;
  if (shards.size() > shard_parts::most) fail(errc::usage, "{} shards: use 1 to {}", shards.size(), shard_parts::most);
  if (shards.size() > info.vertices)
    fail(errc::usage, "{} shards, and {} has {} vertices; use at most as many", shards.size(), name, info.vertices);
  for (execution_device const& where : shards)
    if (where.kind != shards[0].kind)
      fail(errc::usage, "a shard at {} and one at {}: give all shards devices of one kind", to_string(shards[0]), to_string(where));
  if (shards.size() == 1) return;
  if (edges && *edges != tier::host && *edges != tier::device)
    fail(errc::usage,
         "edges in tier {} over {} shards: they read lists in host memory, or each has its own on its device; use tier host or device",
         to_string(*edges), shards.size());
  if (how == access_mode::paged || how == access_mode::copied)
    fail(errc::usage, "access {} over {} shards: use strided, merged or aligned", to_string(how), shards.size());
}

void require_lists_for(graph const& g, execution_device where) {
  for (edge_lists const* lists : {&g.out, &g.in})
    for (memory_block const* of : {&lists->targets, &lists->packed_targets.words}) {
      if (of->bytes() && of->where() != tier::host)
        fail(errc::usage,
             "{}: its edges lie in tier {}; several shards read them in host memory, so open the graph with edges in tier host", g.name,
             to_string(of->where()));
      require_readable_at(g.name, *of, where);
    }
}

void require_peers(std::vector<execution_device> const& shards) {
  for (execution_device const& one : shards)
    if (one.kind == device_kind::cuda) device::require(one.index);
  for (execution_device const& one : shards)
    for (execution_device const& other : shards)
      if (one.kind == device_kind::cuda && one.index != other.index && !device::peer_of(one.index, other.index).can)
        fail(errc::device, "device {} cannot read the memory of device {}; use devices with peer access to each other, or one", one.index,
             other.index);
}

shard_seat::shard_seat(graph const& whole, shard_parts const& parts, std::uint32_t shard, execution_device where, tier edges)
    : whole_(&whole), parts_(parts), shard_(shard) {
  executor x(where);
  std::uint64_t const from = first(), n = count(shard);
  part_.info = whole.info;
  part_.info.vertices = n, part_.info.order = vertex_order::natural, part_.info.id_map = false, part_.info.weights = weight_kind::none;
  part_.out = part_of(x, whole.out, whole.info, from, n, edges, part_.info.edges);
  std::uint64_t in_arcs = 0;
  if (whole.info.in_edges) part_.in = part_of(x, whole.in, whole.info, from, n, edges, in_arcs);
  part_.info.edges = std::max(part_.info.edges, in_arcs);
  part_.name = whole.name, part_.checked = whole.checked;
  // The encoding of four depends on the total vertex count; a request for four gets three here.
  if (std::uint32_t const kept = whole.cached_per_vertex; kept && kept < cached_neighbors_view::most) {
    part_.cached_neighbors = buffer<std::uint32_t>(
        lent(whole.cached_neighbors.data() + from * kept, n * kept * sizeof(std::uint32_t), whole.cached_neighbors.device()));
    part_.cached_per_vertex = kept;
  }
}

void on_each_shard(std::vector<execution_device> const& shards, std::function<void(std::uint32_t, shard_group&)> const& f) {
  shard_options how;
  how.shards = static_cast<std::uint32_t>(shards.size());
  how.provider = shard_provider::peer;  // the shards' arrays are read in place during the run
  shard_group group(how, 1e9);          // failures in one process are always reported, so a slow shard is just busy
  on_shards(group, [&](std::uint32_t k) {
    try {
      f(k, group);
    } catch (error const& e) {
      if (e.code() == errc::interrupted) throw;
      fail(e.code(), "shard {} of {} at {}: {}", k, shards.size(), to_string(shards[k]), e.what());
    }
  });
}

}  // namespace garner

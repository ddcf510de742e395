// Public API for graphs: parses requests and calls the internal modules.
#include "graph/handle.hpp"

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/device.hpp"
#include "core/executor.hpp"
#include "core/thread_pool.hpp"
#include "far/matrix.hpp"
#include "garner/memory.hpp"
#include "graph/build.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/common_lists.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "graph/reorder.hpp"
#include "graph/source.hpp"
#include "graph/transpose.hpp"
#include "memory/budget.hpp"
#include "memory/pin.hpp"

namespace garner {

struct graph_handle::holder {
  graph g;
};
graph_handle::graph_handle(std::unique_ptr<holder> h) : holder_(std::move(h)) {}
graph_handle::~graph_handle() = default;
graph_handle::graph_handle(graph_handle&&) noexcept = default;
graph_handle& graph_handle::operator=(graph_handle&&) noexcept = default;

graph_handle graph_access::wrap(graph&& g) {
  return graph_handle(std::make_unique<graph_handle::holder>(graph_handle::holder{std::move(g)}));
}
graph const& graph_access::of(graph_handle const& h) {
  if (!h.holder_) fail(errc::usage, "this graph was moved elsewhere; use the handle that it was moved to");
  return h.holder_->g;
}
graph& graph_access::change(graph_handle& h) {
  of(h);
  return h.holder_->g;
}
graph graph_access::take(graph_handle&& h) {
  of(h);
  return std::move(std::exchange(h.holder_, nullptr)->g);
}
graph_info const& graph_handle::info() const { return graph_access::of(*this).info; }
std::string const& graph_handle::name() const { return graph_access::of(*this).name; }
std::uint64_t graph_handle::position(std::uint64_t id) const {
  return as_error([&] { return graph_access::of(*this).rank_of(id); });
}

std::vector<std::uint64_t> graph_handle::ids() const {
  graph const& g = graph_access::of(*this);
  return as_error([&] {
    std::vector<std::uint64_t> all(g.info.vertices);
    shared_pool().run(all.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t r = begin; r < end; ++r) all[r] = g.user_id(g.at_rank(r));
    });
    return all;
  });
}

namespace {

constexpr std::uint64_t no_id = ~std::uint64_t{0};

bool on_device(execution_device where) { return where.kind == device_kind::cuda; }

// The tier of edges for a device; without a GPU, managed memory is host memory. If no tier was requested, edges go to device memory when it
// has space for `list_bytes` and an algorithm's state.
tier tier_for(execution_device where, std::optional<tier> edges, graph_info const& info, std::uint64_t list_bytes) {
  tier t = edges.value_or(tier::host);
  if (t == tier::file) {
    if (on_device(where)) self_test(where.index);
    return t;
  }
  if (t != tier::host && t != tier::managed && !(in_device_memory(t) && on_device(where)))
    fail(errc::usage, "edges in tier {} cannot be read on {}; use host, managed, file, or on a GPU device or peer", to_string(t),
         to_string(where));
  if (!on_device(where)) return tier::host;
  device::require(where.index);
  self_test(where.index);
  std::uint64_t const free = most_on_device(where.index);
  if (!edges && list_bytes + state_allowance(info) <= free - free / 16) t = tier::device;
  return t;
}
std::uint64_t bytes_of(edge_lists const& lists) {
  return lists.targets.bytes() + lists.weights.bytes() + lists.packed_targets.words.bytes() + lists.packed_weights.words.bytes();
}

// Returns a copy in `to`, or nothing if the array is readable in its present tier.
std::optional<memory_block> copied(executor& x, memory_block const& from, tier to, char const* what) {
  bool const readable = x.on_device() ? from.where() == to && from.device() == x.device() : !in_device_memory(from.where());
  if (from.bytes() == 0 || readable) return {};
  if (in_device_memory(from.where()) && from.device() != x.device() && x.on_device())
    fail(errc::usage, "edges move from device {} to device {} through host memory; bring the graph to cpu first", from.device(),
         x.device());
  if (from.owner() && to == tier::host && x.on_device()) {  // shared memory is pinned in its present location
    struct held {
      std::shared_ptr<void> owner;
      pinned_pages pages;
    };
    auto both = std::make_shared<held>(held{from.owner(), pinned_pages(from.data(), from.bytes(), x.device())});
    return memory_block(std::move(both), from.data(), from.bytes(), x.device());
  }
  memory_block there(to, from.bytes(), x.device(), what);
  bool const home = in_device_memory(from.where()) && !x.on_device();
  executor source(home ? execution_device{device_kind::cuda, from.device()} : x.where());
  source.copy(there.data(), from.data(), from.bytes());
  source.wait();
  return there;
}

}  // namespace

edge_list list_of(edge_array const& from, std::uint64_t first) {
  std::uint64_t const m = from.edges.size();
  bool const whole = !from.weights.empty(), real = !from.real_weights.empty();
  if (whole && real) fail(errc::usage, "an edge array has weights of one kind; leave out `weights` or `real_weights`");
  if ((whole && from.weights.size() != m) || (real && from.real_weights.size() != m))
    fail(errc::usage, "{} weights for {} edges; give each edge one", whole ? from.weights.size() : from.real_weights.size(), m);
  edge_list e;
  e.source = "an edge array";
  e.vertices = from.vertices;
  e.arcs.resize(m);
  if (whole) e.weights_are = weight_kind::u32;
  if (real) e.weights_are = weight_kind::f32;
  if (whole || real) e.weights.resize(m);
  shared_pool().run(m, 1u << 15, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      auto const& [source, target] = from.edges[i];
      e.arcs[i] = {source, target};
      if (source == no_id || target == no_id) fail(errc::input, "edge {}: {} -> {}: ids end at 2^64 - 2", first + i, source, target);
      if (whole) e.weights[i] = from.weights[i];
      if (!real) continue;
      float const w = from.real_weights[i] + 0.0f;  // -0 becomes 0
      if (!(w >= 0) || !std::isfinite(w))
        fail(errc::input, "edge {}: {} -> {}: its weight is {}; weights are 0 or more, and finite", first + i, source, target, w);
      std::memcpy(&e.weights[i], &w, sizeof w);
    }
  });
  return e;
}

namespace {
// `in_common`: the adjacency in host memory is not pinned for any device yet.
graph open_alone(std::filesystem::path const& file, open_options const& o, bool in_common) {
  load_options how;
  graph_source from(file, o.as_stored);
  how.weights = o.weights.value_or(from.info().weights != weight_kind::none);
  how.in_edges = o.in_edges.value_or(from.info().in_edges);
  if (how.in_edges) from.want_in_lists();
  how.edges = tier_for(o.device, o.edges, from.info(), list_bytes(from.header(), how));
  how.device = on_device(o.device) && !(in_common && how.edges == tier::host) ? o.device.index : -1;
  how.check = o.check;
  // For a graph that may exceed host memory, cached neighbors are optional.
  if (how.edges == tier::file) {
    std::uint64_t const words = cached_neighbors_view::words_of(from.info().vertices, from.header().cached_neighbors);
    how.cached_neighbors = words * 4 <= host_budget().left() / 4;
  }
  return from.load(how);
}
}  // namespace

graph_handle open_graph(std::filesystem::path const& file, open_options const& o) {
  return as_error([&] { return graph_access::wrap(open_alone(file, o, false)); });
}
graph_handle open_in_common(std::filesystem::path const& file, open_options const& o, peer_group::terms const& terms) {
  return as_error([&] { return graph_access::wrap(load_in_common(terms, [&] { return open_alone(file, o, true); })); });
}

graph_handle read_graph(std::filesystem::path const& file, build_options const& options, build_report* report) {
  return as_error([&] {
    if (format_of(file) == file_format::gnr) fail(errc::usage, "{}: is a graph file; open_graph opens it", file.string());
    build_report mine;
    edge_list edges = read_edges(file, {}).edges;
    require_vertices(edges, options.allow_empty);
    return graph_access::wrap(build_graph(std::move(edges), options, report ? *report : mine));
  });
}

graph_handle build_graph(edge_array const& edges, build_options const& options, build_report* report) {
  return as_error([&] {
    build_report mine;
    return graph_access::wrap(build_graph(list_of(edges), options, report ? *report : mine));
  });
}

graph_handle make_in_edges(graph_handle&& handle) {
  return as_error([&] {
    graph& g = graph_access::change(handle);
    if (!g.info.directed || g.info.in_edges) return std::move(handle);
    if (g.in_file)
      fail(errc::input, "{}: has no in-edges, and edges that stay in the file build none; add them with `garner convert --in-edges`",
           g.name);
    memory_block const& lists = g.info.compressed ? g.out.packed_targets.words : g.out.targets;
    bool const far = in_device_memory(lists.where());
    execution_device const where = lists.device() < 0 ? execution_device{} : execution_device{device_kind::cuda, lists.device()};
    tier const edges = lists.where();
    if (far) handle = to_device(std::move(handle), {});
    add_in_lists(graph_access::change(handle));
    return where == execution_device{} ? std::move(handle) : to_device(std::move(handle), where, edges);
  });
}

graph_handle make_in_edges(std::shared_ptr<graph_handle const> const& handle) {
  return as_error([&] {
    graph const& from = graph_access::of(*handle);
    auto const owner =
        std::make_shared<std::shared_ptr<graph_handle const>>(handle);  // shared by all copies: the handle's use count shows other users
    auto const shared = [&](memory_block const& b) {
      if (in_device_memory(b.where()))
        fail(errc::usage, "{}: its edges are on a device and in use; release the other handles, or open it with its in-edges", from.name);
      return b.bytes() ? memory_block(owner, b.data(), b.bytes(), b.device()) : memory_block();
    };
    auto const share = [&]<class T>(buffer<T>& to, buffer<T> const& b) {
      if (!b.empty()) to = buffer<T>(memory_block(owner, b.data(), b.size() * sizeof(T), b.device()));
    };
    graph g;
    g.info = from.info, g.name = from.name, g.checked = from.checked, g.in_file = from.in_file;
    share(g.out.offsets, from.out.offsets), share(g.ids, from.ids), g.by_id = shared(from.by_id);
    g.out.targets = shared(from.out.targets), g.out.weights = shared(from.out.weights);
    for (auto const part : {&edge_lists::packed_targets, &edge_lists::packed_weights}) {
      packed_array& to = g.out.*part;
      packed_array const& there = from.out.*part;
      to.words = shared(there.words), share(to.blocks, there.blocks), share(to.groups, there.groups);
    }
    return make_in_edges(graph_access::wrap(std::move(g)));
  });
}

graph_handle generate_graph(generate_options const& options, execution_device where, build_report* report) {
  return as_error([&] {
    build_report mine;
    executor x(where);
    return graph_access::wrap(generate(x, options, report ? *report : mine));
  });
}

graph_handle to_device(graph_handle&& handle, execution_device where, std::optional<tier> edges) {
  return as_error([&] {
    graph& g = graph_access::change(handle);
    if (g.in_file && edges == tier::file) {  // the file serves any device
      bring_offsets_near(g, on_device(where) ? where.index : -1);
      return std::move(handle);
    }
    g.require_in_memory();
    if (edges == tier::file) fail(errc::usage, "{}: its lists lie in memory; save the graph, and open the file with tier file", g.name);
    tier const to = tier_for(where, edges, g.info, bytes_of(g.out) + bytes_of(g.in));
    executor x(where);
    std::vector<std::pair<memory_block*, memory_block>> there;  // installed once all of them exist
    auto const bring = [&](memory_block& from, char const* what) {
      if (auto block = copied(x, from, to, what)) there.emplace_back(&from, std::move(*block));
    };
    for (edge_lists* lists : {&g.out, &g.in}) {
      bring(lists->targets, "edge list");
      bring(lists->weights, "weights");
      for (packed_array* p : {&lists->packed_targets, &lists->packed_weights}) bring(p->words, "compressed adjacency");
    }
    bring_offsets_near(g, x.on_device() ? x.device() : -1);
    for (auto& [from, block] : there) *from = std::move(block);
    return std::move(handle);
  });
}

bool readable_by(graph_handle const& handle, execution_device where, std::optional<tier> edges) try {
  graph const& g = graph_access::of(handle);
  if (g.in_file && edges.value_or(tier::file) != tier::file) return false;
  for (edge_lists const* lists : {&g.out, &g.in}) {
    for (memory_block const* b : {&lists->targets, &lists->weights, &lists->packed_targets.words, &lists->packed_weights.words}) {
      if (b->bytes() == 0) continue;
      if ((edges && b->where() != *edges) || !why_not_readable_at("", b->where(), b->device(), b->device(), where).empty()) return false;
    }
    if (on_device(where) && !lists->offsets.empty() && (lists->near_offsets.empty() || lists->near_offsets.device() != where.index))
      return false;
  }
  return true;
} catch (...) {
  rethrow_as_error();
}

graph_handle reorder_graph(graph_handle g, reorder_options const& options, execution_device where) {
  return as_error([&] { return graph_access::wrap(reorder(graph_access::take(std::move(g)), options, where)); });
}

std::vector<std::string> save_graph(graph_handle const& g, std::filesystem::path const& file) {
  return as_error([&] { return save_graph(g, file, format_of(file)); });
}

std::vector<std::string> save_graph(graph_handle const& g, std::filesystem::path const& file, file_format to) {
  return as_error([&] { return write_graph(graph_access::of(g), file, to); });
}

std::uint64_t shared_bytes(graph_handle const& g) {
  return as_error([&] { return bytes_in_one_piece(graph_access::of(g)); });
}
void write_shared(graph_handle const& g, void* to) {
  as_error([&] { write_in_one_piece(graph_access::of(g), to); });
}
graph_handle open_shared(std::shared_ptr<void> owner, void const* at, std::uint64_t bytes) {
  return as_error([&] { return graph_access::wrap(graph_in_one_piece(owner, const_cast<void*>(at), bytes)); });
}

graph_info convert_graph(std::filesystem::path const& in, std::filesystem::path const& out, build_options const& options,
                         build_report* report) {
  return as_error([&] {
    convert_options how;
    how.build = options;
    plan_conversion(in, out, how);
    convert_result const r = convert(in, out, how);
    if (report) *report = r.report;
    return r.info;
  });
}

void limit_host_memory(std::uint64_t bytes) {
  as_error([&] { host_budget().set_limit(bytes); });
}
void limit_device_memory(int device, std::uint64_t bytes) {
  as_error([&] { device_budget(device).set_limit(bytes); });
}
int device_count() { return device::count(); }

}  // namespace garner

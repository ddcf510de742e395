// Random walks: a walk is an item, a step a read of one entry of a list. With p and q a step uses rejection sampling (KnightKing, SOSP
// 2019): a uniform neighbor is accepted with its chance over the largest one, else chosen again. Whether it leads back to the node before
// is looked up in its list only if the random number has not decided yet. Invariant: the choice is a function of (seed, walk, step,
// attempt). Cost: a remote read per step. With p and q, up to 1,000,000 attempts per step are expected at worst, a few where p and q are
// close to 1, and a scan of a list for some of them.
#include <algorithm>
#include <span>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "sample/lists.hpp"

namespace garner {

namespace {

constexpr std::uint64_t of_walks = 0x72616e646f6d7761ull;  // a stream separate from those of samplers
constexpr std::uint64_t no_node = ~std::uint64_t{0};

template <class Id, bool Packed>
struct walk {
  csr_view<Id> lists;
  std::int64_t* nodes;  // length + 1 a walk, the start there
  std::int64_t* edges;  // null: not kept
  std::uint64_t seed;
  std::uint32_t length;
  bool second_order;
  std::uint64_t back, near, away;  // chances over the largest, of 2^64

  template <class Team>
  GARNER_HD std::uint64_t target(Team t, std::uint64_t v, std::uint64_t e) const {
    return t.sum(known<Packed>(lists.targets.part_of(v, e, e + 1)), [](Id u) { return static_cast<std::uint64_t>(u); });
  }
  template <class Team>
  GARNER_HD bool leads(Team t, std::uint64_t from, std::uint64_t to) const {
    return t.any(known<Packed>(lists.list(from)), [to](Id u) { return static_cast<std::uint64_t>(u) == to; });
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::int64_t* const mine = nodes + i * (length + 1);
    auto v = static_cast<std::uint64_t>(mine[0]);
    std::uint64_t before = no_node;
    for (std::uint32_t k = 0; k < length; ++k) {
      std::uint64_t const begin = lists.offsets[v], degree = lists.offsets[v + 1] - begin;
      std::uint64_t next = v, e = no_node;
      std::uint64_t const key = random_bits(seed, of_walks + k, i);
      for (std::uint64_t attempt = 0; degree; ++attempt) {
        e = begin + upper_product(mix(key + 0x9e3779b97f4a7c15ull * (2 * attempt + 1)), degree);
        next = target(t, v, e);
        if (!second_order || before == no_node || degree == 1) break;
        std::uint64_t const u = mix(key + 0x9e3779b97f4a7c15ull * (2 * attempt + 2));
        if (next == before) {
          if (u <= back) break;
        } else if (u <= smaller(near, away)) {
          break;
        } else if (u <= larger(near, away) && u <= (leads(t, next, before) ? near : away)) {
          break;
        }
      }
      t.once([&] {
        mine[k + 1] = static_cast<std::int64_t>(next);
        if (edges) edges[i * length + k] = static_cast<std::int64_t>(e);
      });
      before = v, v = next;
    }
  }
};

template <class Id>
void run(executor& x, graph const& g, edge_lists const& lists, random_walk_options const& o, std::uint32_t length, std::uint64_t count,
         std::int64_t* nodes, std::int64_t* edges) {
  placed_lists const placed = near_lists(x, g, lists);
  double const largest = std::max({1 / o.p, 1.0, 1 / o.q});
  auto const chance = [&](double of) { return of >= largest ? ~std::uint64_t{0} : static_cast<std::uint64_t>(of / largest * 0x1p64); };
  csr_view<Id> const view = placed.view<Id>();
  bool const second = o.p != 1 || o.q != 1;
  auto const go = [&](auto packed) {
    walk<Id, decltype(packed)::value> const body{view, nodes, edges, o.seed, length, second, chance(1 / o.p), chance(1), chance(1 / o.q)};
    if (second) for_each_item<32>(x, count, body, access_mode::aligned, true);
    else for_each_item<1>(x, count, body, access_mode::merged);
  };
  if (!view.targets.packed) go(std::false_type{});
  else if constexpr (sizeof(Id) == 4) go(std::true_type{});
  x.wait();
}

}  // namespace

random_walks walk_randomly(graph_handle const& handle, std::span<std::int64_t const> starts, std::uint32_t length,
                           random_walk_options const& o) {
  return as_error([&] {
    phase const timed{"sample.walk"};
    graph const& g = graph_access::of(handle);
    for (auto const& [value, name] : {std::pair{o.p, "p"}, std::pair{o.q, "q"}})
      if (!(value >= 0.001 && value <= 1000)) fail(errc::usage, "random walks with {} = {}: use a number from 0.001 to 1,000", name, value);
    if (length < 1 || length > 1u << 20) fail(errc::usage, "random walks of {} steps; use 1 to 1,048,576", length);
    edge_lists const& lists = lists_of_side(g, o.side);
    require_readable(g, o.device, o.edges);
    if (o.edge_ids && g.by_id.bytes())
      fail(errc::usage, "{}: the vertices of this graph were reordered, and walks name edges of a graph in natural order alone", g.name);
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (static_cast<std::uint64_t>(starts[i]) >= g.info.vertices)
        fail_id("start {} at position {} of the walks: there are vertices 0 to {}", starts[i], i, g.info.vertices - 1);
    random_walks made;
    if (starts.empty()) return made;
    if (o.device.kind == device_kind::cuda) self_test(o.device.index);
    std::uint64_t const count = starts.size(), stride = length + std::uint64_t{1};
    made.nodes.resize(count * stride);
    made.edges.resize(o.edge_ids ? count * length : 0);
    for (std::uint64_t i = 0; i < count; ++i)
      made.nodes[i * stride] = static_cast<std::int64_t>(g.at_rank(static_cast<std::uint64_t>(starts[i])));
    traffic_model model(access_to(o.edges));
    executor x(o.device, &model);
    buffer<std::int64_t> nodes(x.near(), made.nodes.size(), x.device(), "nodes of random walks");
    buffer<std::int64_t> edges(x.near(), made.edges.size(), x.device(), "edges of random walks");
    x.copy(nodes.data(), made.nodes.data(), nodes.bytes());
    with_id_type(g.info,
                 [&](auto id) { run<decltype(id)>(x, g, lists, o, length, count, nodes.data(), o.edge_ids ? edges.data() : nullptr); });
    x.copy(made.nodes.data(), nodes.data(), nodes.bytes());
    if (o.edge_ids) x.copy(made.edges.data(), edges.data(), edges.bytes());
    x.wait();
    if (g.by_id.bytes())
      with_id_type(g.info, [&](auto id) {
        std::vector<decltype(id)> const rank = ranks_inside<decltype(id)>(g);
        for (std::int64_t& v : made.nodes) v = static_cast<std::int64_t>(rank[static_cast<std::size_t>(v)]);
      });
    return made;
  });
}

}  // namespace garner

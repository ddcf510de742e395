// The contract of blocks: checks combinations of options, and converts the user's graphs to internal ones.
#include <algorithm>

#include "core/stats.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "graph/relation.hpp"
#include "sample/blocks.hpp"
#include "sample/lists.hpp"

namespace garner {

void require_options(block_options const& o) {
  if (o.weighted && o.temporal) fail(errc::usage, "sampling by weights and temporal sampling do not go together; choose one");
  if (o.labor && (o.replace || o.weighted || o.temporal))
    fail(errc::usage, "labor samples uniformly and without replacement, and does not go with {}; choose one",
         o.replace    ? "replace"
         : o.weighted ? "weighted"
                      : "temporal");
  if (o.induced && (o.disjoint || o.temporal))
    fail(errc::usage, "the induced subgraph of disjoint trees is not defined; choose one of the two");
}

namespace {

// A graph in another order: what is given one an entry of its lists, and where entries stand there, as they lie inside.
void take_order(inner_relation& r, bool names_edges) {
  struct owned {
    entry_places at;
    buffer<std::int64_t> times;
  };
  if (r.times.empty() && !names_edges) return;
  auto const mine = std::make_shared<owned>(owned{places_of_entries(*r.g, *r.lists), {tier::host, r.times.size(), -1, "times of edges"}});
  std::uint64_t const* const offsets = r.lists->offsets.data();
  shared_pool().run(r.times.empty() ? 0 : r.g->info.vertices, 256, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t v = begin; v < end; ++v)
      for (std::uint64_t i = offsets[v]; i < offsets[v + 1]; ++i) mine->times[i] = r.times[mine->at.begins[v] + mine->at.places[i]];
  });
  r.times = mine->times.span();
  if (names_edges) r.begins = mine->at.begins.span(), r.places = mine->at.places.span();
  else mine->at = {};
  r.owner = mine;
}

}  // namespace

void require_fanouts(std::vector<std::int64_t> const& fanouts, std::size_t hops) {
  constexpr std::size_t most_hops = 64;
  constexpr std::int64_t most_drawn = 1 << 20;
  if (fanouts.empty() || fanouts.size() > most_hops)
    fail(errc::usage, "{} hops: use 1 to {} fanouts, as 15,10,5; -1 draws all neighbors", fanouts.size(), most_hops);
  if (fanouts.size() != hops)
    fail(errc::usage, "relations with {} and {} hops; give each relation as many fanouts, 0 where a hop draws none", hops, fanouts.size());
  for (std::int64_t const f : fanouts)
    if (f < -1 || f > most_drawn) fail(errc::usage, "fanout {}: use 0 (none) to {} neighbors a hop, or -1 for all of them", f, most_drawn);
}

sampled_subgraph::sampled_subgraph() : parts_(as_error([] { return std::make_unique<parts>(); })) {}
sampled_subgraph::~sampled_subgraph() = default;
sampled_subgraph::sampled_subgraph(sampled_subgraph&&) noexcept = default;
sampled_subgraph& sampled_subgraph::operator=(sampled_subgraph&&) noexcept = default;
sampled_subgraph::vertices const& sampled_subgraph::of_type(std::size_t k) const {
  if (k >= parts_->types.size()) fail(errc::usage, "type {} of a mini-batch with {}", k, parts_->types.size());
  return parts_->types[k].seen;
}
sampled_subgraph::edges const& sampled_subgraph::of_relation(std::size_t k) const {
  if (k >= parts_->relations.size()) fail(errc::usage, "relation {} of a mini-batch with {}", k, parts_->relations.size());
  return parts_->relations[k].seen;
}
std::uint64_t sampled_subgraph::number() const { return parts_->number; }
std::uint64_t sampled_subgraph::seeds() const { return parts_->seeds; }
double sampled_subgraph::ms() const { return parts_->ms; }
execution_device sampled_subgraph::device() const { return parts_->where; }

block_sampler::block_sampler(execution_device where, std::vector<sampled_type> types, std::vector<sampled_relation> relations,
                             block_options const& options) {
  as_error([&] {
    require_options(options);
    if (relations.empty()) fail(errc::usage, "a sampler of no relation; name at least one graph");
    if (!options.scores.empty()) {
      if (types.size() != 1)
        fail(errc::usage, "scores in the options are those of one type of vertices, and there are {}; give each type its own",
             types.size());
      types.front().scores = options.scores;
    }
    std::vector<inner_relation> inner;
    std::size_t const hops = relations.front().fanouts.size();
    bool const one = types.size() == 1 && relations.size() == 1;
    std::vector<std::string> about;
    for (std::size_t k = 0; k < relations.size(); ++k) {
      sampled_relation& r = relations[k];
      if (!r.adjacency) fail(errc::usage, "relation {} has no graph", k);
      if (r.from >= types.size() || r.to >= types.size())
        fail(errc::usage, "relation {} is from type {} to type {}, and there are {} types", k, r.from, r.to, types.size());
      require_fanouts(r.fanouts, hops);
      graph const& g = graph_access::of(*r.adjacency);
      std::uint64_t const from = types[r.from].vertices, to = types[r.to].vertices;
      if (std::max(from, to) > g.info.vertices)
        fail(errc::input, "{}: has {} vertices, and its types have {} and {}; build it with as many vertices as the larger type", g.name,
             g.info.vertices, from, to);
      if (!one && g.by_id.bytes())
        fail(errc::usage, "{}: its vertices were reordered; graphs of several relations keep their natural order", g.name);
      edge_lists const* const lists = &lists_of_side(g, r.side);
      require_readable(g, where, options.adjacency, true);
      if (one && g.by_id.bytes() && to != g.info.vertices)
        fail(errc::usage, "{}: has {} vertices in another order, and its type has {}; use as many, or keep the natural order", g.name,
             g.info.vertices, to);
      if (std::uint64_t const bad = g.in_file ? g.info.edges : first_beyond(g, from, lists == &g.in); bad != g.info.edges)
        fail(errc::input, "{}: edge {} of its lists leads to a vertex beyond the {} of type {}; use as many as there are", g.name, bad,
             from, r.from);
      if (g.in_file && (options.weighted || options.induced || options.labor || (options.temporal && g.info.edges && r.times.empty())))
        fail(errc::usage,
             "{}: draws by weight, by the times of vertices or by labor, and the induced subgraph, look through whole lists, and these "
             "were left in their file; open it with tier host",
             g.name);
      if (options.weighted && g.info.weights == weight_kind::none && g.info.edges)
        fail(errc::input, "{}: sampling by weights, and this graph has none; build it with weights, or use weighted = false", g.name);
      if (!r.times.empty() && r.times.size() != g.info.edges)
        fail(errc::input, "{}: {} times for {} edges; give each edge one, in the order of its lists", g.name, r.times.size(), g.info.edges);
      if (options.temporal && g.info.edges && r.times.empty() && types[r.from].times.empty())
        fail(errc::input, "{}: temporal sampling, and neither its edges nor its vertices have times", g.name);
      tier const t = g.in_file ? tier::file : (lists->packed_targets.empty() ? lists->targets : lists->packed_targets.words).where();
      about.push_back(fmt::format("{}: {} edges in tier {}", g.name.empty() ? "graph" : g.name, g.info.edges, to_string(t)));
      inner.push_back({&g, lists, r.from, r.to, std::move(r.fanouts), r.times, r.in_time_order});
    }
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (!types[t].times.empty() && types[t].times.size() != types[t].vertices)
        fail(errc::input, "{} times for {} vertices of type {}; give each one", types[t].times.size(), types[t].vertices, t);
      if (!types[t].scores.empty() && types[t].scores.size() != types[t].vertices)
        fail(errc::input, "{} scores for {} vertices of type {}; give each one", types[t].scores.size(), types[t].vertices, t);
    }
    if (where.kind == device_kind::cuda) self_test(where.index);
    std::vector<std::int64_t> times;
    if (one && inner[0].g->by_id.bytes()) {
      types[0].times = times = values_inside(*inner[0].g, types[0].times);
      take_order(inner[0], options.edge_ids && !options.inner_edge_ids);
    }
    parts_ = std::make_unique<parts>(where, std::move(types), std::move(inner), options, one);
    for (std::size_t k = 0; k < about.size(); ++k) parts_->about += (k ? "; " : "") + about[k] + parts_->kept_near[k];
  });
}
block_sampler::block_sampler(execution_device where, graph_handle const& g, std::vector<std::int64_t> fanouts, block_options const& options,
                             edge_direction side, std::span<std::int64_t const> times)
    : block_sampler(as_error([&] {
        std::vector<sampled_relation> one(1);
        one[0].adjacency = &g, one[0].side = side, one[0].fanouts = std::move(fanouts);
        return block_sampler(where, {sampled_type{g.info().vertices, times, options.scores}}, std::move(one), options);
      })) {}
block_sampler::~block_sampler() = default;
block_sampler::block_sampler(block_sampler&&) noexcept = default;
block_sampler& block_sampler::operator=(block_sampler&&) noexcept = default;

sampled_subgraph block_sampler::sample(std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type,
                                       std::span<std::int64_t const> times) {
  typed_seeds const one{type, seeds, times};
  return sample_types(number, {&one, 1});
}
sampled_subgraph block_sampler::sample_types(std::uint64_t number, std::span<typed_seeds const> seeds) {
  sampled_subgraph b;
  start_types(b, number, seeds);
  finish(b);
  return b;
}
void block_sampler::start(sampled_subgraph& into, std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type,
                          std::span<std::int64_t const> times) {
  typed_seeds const one{type, seeds, times};
  start_types(into, number, {&one, 1});
}
void block_sampler::start_types(sampled_subgraph& into, std::uint64_t number, std::span<typed_seeds const> seeds) {
  as_error([&] { parts_->start(into.inside(), number, seeds, false); });
}
void block_sampler::finish(sampled_subgraph& of) {
  as_error([&] {
    phase const timed{"sample.batch"};
    parts_->finish(of.inside());
  });
}
void block_sampler::work_on(stream_ref stream) { parts_->at().work_on(stream.get()); }
execution_device block_sampler::device() const { return parts_->at().where(); }
std::uint64_t block_sampler::vertices(std::uint32_t type) const { return parts_->vertices(type); }
std::uint64_t block_sampler::bytes() const { return parts_->bytes(); }
std::string block_sampler::about() const {
  return as_error([&] { return parts_->about; });
}
traffic block_sampler::take_traffic() {
  return as_error([&] { return parts_->take_traffic(); });
}

}  // namespace garner

// The internals of the contract's block_sampler: its parts, and what the host does before and after the stages of sampling. See hop.hpp.
#include "sample/blocks.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/handle.hpp"
#include "memory/budget.hpp"
#include "sample/hop.hpp"
#include "sample/lists.hpp"
#include "sample/sampler_buffers.hpp"
#include "sample/sampler_lists.hpp"
#include "sample/split_stages.hpp"

namespace garner {

using drawing::counter_map;

struct block_sampler::parts::impl {
  traffic_model model;
  executor x;
  block_options o;
  std::uint64_t const beyond;  // of local numbers, by what is free before lists are cached
  sampler_lists lists;
  sampler_buffers buffers;
  hop_stages stages;
  split_stages split;
  wait_at_end settled{x};

  impl(execution_device where, std::vector<sampled_type> const& types, std::vector<inner_relation> relations, block_options const& options)
      : model(access_to(options.adjacency)),
        x(executor(where, &model), executor::urgent{}),  // runs alongside a model: few blocks, which wait for the link
        o(options),
        beyond(places_beyond(x.on_device(), x.on_device() ? most_on_device(x.device()) : 0)),
        lists(x, types, std::move(relations), o),
        buffers(x, o, lists, beyond),
        stages(x, o, lists, buffers),
        split(x, lists, buffers, stages) {
    x.wait();
    model.take();  // discards the reads that filled the caches
    o.scores = {};
  }

  std::uint64_t bytes() const { return lists.bytes() + buffers.bytes(); }

  // Samples mini-batches. together() allows their number, and they are numbered consecutively.
  void give(some_batches batches) {
    auto const n = static_cast<std::uint32_t>(batches.size()), hops = lists.map.hops;
    bool const all = o.rule == hop_rule::all;
    auto const clock = steady::now();
    stages.open(batches);
    for (std::uint32_t h = 0; h < hops; ++h) {
      stages.begin_hop(n, h, all);
      for (std::uint32_t r = 0; r < lists.map.relations; ++r)
        if (lists.relations[r].of.fanouts[h] != 0) stages.hop(batches, h, r);
    }
    stages.begin_hop(n, hops, all);
    if (o.induced && o.edges) {
      stages.begin_hop(n, hops, true);  // all vertices, not only those of the last hop
      for (std::uint32_t r = 0; r < lists.map.relations; ++r) stages.induced(batches, r);
      stages.begin_hop(n, hops, true);
    }
    stages.close(batches);
    if (x.asynchronous()) return;
    double const ms = ms_since(clock);
    for (sampled_subgraph::parts* b : batches) b->ms = ms / n;
  }
};

block_sampler::parts::parts(execution_device where, std::vector<sampled_type> types, std::vector<inner_relation> relations,
                            block_options const& options, bool renamed) {
  block_options o = options;
  if (o.temporal) o.disjoint = true;
  graph const* const first = relations.empty() ? nullptr : relations.front().g;
  auto const note = [&](std::uint64_t value) { fingerprint = mix(fingerprint + 0x9e3779b97f4a7c15ull) ^ mix(value + 1); };
  for (std::uint64_t const k :
       {o.seed, static_cast<std::uint64_t>(o.rule), std::uint64_t{o.replace}, std::uint64_t{o.disjoint}, std::uint64_t{o.weighted},
        o.temporal ? 1 + static_cast<std::uint64_t>(*o.temporal) : 0, std::uint64_t{o.induced}})
    note(k);
  if (o.labor) note(1);
  for (inner_relation const& r : relations) {
    note(r.g->info.vertices), note(r.g->info.edges), note(r.from), note(r.to);
    for (std::int64_t const f : r.fanouts) note(static_cast<std::uint64_t>(f));
  }
  impl_ = std::make_unique<impl>(where, types, std::move(relations), o);
  if (renamed && first) impl_->lists.rename(impl_->x, *first);
  for (sampler_lists::of_relation const& r : impl_->lists.relations) kept_near.push_back(r.told_of_kept());
}
block_sampler::parts::~parts() = default;

executor& block_sampler::parts::at() { return impl_->x; }
split_stages& block_sampler::parts::split() { return impl_->split; }
void block_sampler::parts::hash_beyond(std::uint64_t bytes) { impl_->buffers.hash_beyond = bytes; }
bool block_sampler::parts::far() const { return impl_->lists.far(); }
traffic block_sampler::parts::take_traffic() { return impl_->model.take(); }
std::uint64_t block_sampler::parts::bytes() const { return impl_->bytes(); }
double block_sampler::parts::bytes_each() const {
  return static_cast<double>(impl_->bytes() - impl_->lists.cached_arcs) / static_cast<double>(impl_->buffers.roomy_for);
}
std::uint64_t block_sampler::parts::vertices(std::uint32_t type) const {
  auto const& types = impl_->lists.types;
  if (type >= types.size()) fail(errc::usage, "vertices of type {}: there are {} types", type, types.size());
  return types[type].vertices;
}
std::uint64_t block_sampler::parts::edges(std::uint32_t relation) const {
  auto const& relations = impl_->lists.relations;
  if (relation >= relations.size()) fail(errc::usage, "edges of relation {}: there are {}", relation, relations.size());
  if (!impl_->o.edge_ids) fail(errc::usage, "tables of edges: this sampler does not name the edges it samples; make it with edge_ids");
  return relations[relation].of.g->info.edges;
}

void block_sampler::parts::start(sampled_subgraph::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
  prepare(b, number, seeds, near);
  sampled_subgraph::parts* const one = &b;
  give({&one, 1});
}
void block_sampler::parts::give(std::span<sampled_subgraph::parts* const> batches) {
  impl& s = *impl_;
  for (std::size_t k = 0; k < batches.size();) {
    std::size_t n = 1;
    while (k + n < batches.size() && batches[k + n]->number == batches[k]->number + n) ++n;
    n = s.buffers.together(n);
    some_batches const some = batches.subspan(k, n);
    s.buffers.expect(some);
    s.give(some);
    for (sampled_subgraph::parts* b : some) b->pending = true;
    k += n;
  }
}

void block_sampler::parts::prepare(sampled_subgraph::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
  impl& s = *impl_;
  std::uint64_t count = 0;
  std::vector<bool> given(s.lists.types.size());
  for (auto const& [type, ids, times] : seeds) {
    if (type >= s.lists.types.size()) fail(errc::usage, "seeds of type {}: there are {} types of vertices", type, s.lists.types.size());
    if (given[type]) fail(errc::usage, "mini-batch {}: seeds of type {} twice; give those of a type together", number, type);
    given[type] = true;
    if (s.o.temporal && times.empty() && !ids.empty() && s.lists.types[type].times.empty())
      fail(errc::usage, "mini-batch {}: temporal sampling from seeds that have no times; give each one", number);
    if (!times.empty() && times.size() != ids.size())
      fail(errc::usage, "mini-batch {}: {} times for {} seeds", number, times.size(), ids.size());
    if (!ids.empty() && s.lists.types[type].vertices == 0)
      fail_id("mini-batch {}: {} seeds of type {}, which has no vertices", number, ids.size(), type);
    count += ids.size();
  }
  if (count >= drawing::none) fail(errc::usage, "a mini-batch of {} seeds; 2^32 - 2 is the most", count);
  b.done.wait();
  b.number = number, b.seeds = count, b.where = s.x.where();
  auto const staged = [&](buffer<std::int64_t>& to, std::uint64_t first, std::span<std::int64_t const> from) -> std::int64_t const* {
    if (near || from.empty()) return from.data();
    if (s.x.asynchronous() && device::owns(s.x.device(), from.data())) return from.data();
    if (to.size() < count) to = {tier::host, count, s.x.device(), "seeds of a mini-batch"};
    std::copy_n(from.data(), from.size(), to.data() + first);
    return to.data() + first;
  };
  b.groups.clear();
  std::uint64_t first = 0;
  for (auto const& [type, ids, times] : seeds) {
    b.groups.push_back(
        {type, first, ids.size(), staged(b.seed_room, first, ids), times.empty() ? nullptr : staged(b.time_room, first, times)});
    first += ids.size();
  }
}

void block_sampler::parts::finish(sampled_subgraph::parts& b) {
  impl& s = *impl_;
  if (!b.pending) fail(errc::usage, "this mini-batch was not started, or is finished; call start() first");
  b.pending = false;
  for (;;) {
    b.done.wait();
    std::uint64_t const* const c = b.counted.data();
    if (c[counter_map::bad] != drawing::nothing) {
      std::uint64_t const i = c[counter_map::bad];
      auto const g = std::find_if(b.groups.begin(), b.groups.end(), [&](auto const& one) { return i - one.first < one.count; });
      std::int64_t const id = s.x.read(g->seeds + (i - g->first));
      fail_id("seed {} at position {} of mini-batch {}: there are vertices 0 to {}{}", id, i, b.number, s.lists.types[g->type].vertices - 1,
              s.lists.types.size() > 1 ? fmt::format(" of type {}", g->type) : "");
    }
    if (!c[counter_map::was_over]) break;
    s.x.wait();
    s.buffers.grow(c, b.number, b.seeds);
    sampled_subgraph::parts* const one = &b;
    s.give({&one, 1});
  }
  std::uint64_t const* const c = b.counted.data();
  counter_map const& map = s.lists.map;
  b.drawn = c[counter_map::drawn];
  if (s.x.asynchronous()) b.ms = b.begun.ms_until(b.done) / b.together;
  for (std::uint32_t t = 0; t < map.types; ++t) {
    sampled_subgraph::vertices& v = b.types[t].seen;
    v.ids = b.types[t].ids.data(), v.tree = s.o.disjoint ? b.types[t].tree.data() : nullptr;
    v.count = c[map.count(t)];
    v.by_hop.clear();
    for (std::uint32_t h = 0; h <= map.hops; ++h) v.by_hop.push_back(c[map.history(h) + t] - (h ? c[map.history(h - 1) + t] : 0));
  }
  for (std::uint32_t r = 0; r < map.relations; ++r) {
    sampled_subgraph::edges& e = b.relations[r].seen;
    e.row = b.relations[r].rows(), e.col = b.relations[r].cols(), e.edge = b.relations[r].edge.data();
    e.count = s.o.edges ? c[map.edges(r)] : 0;
    e.by_hop.clear();
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      std::uint64_t const n = c[map.history(h + 1) + map.types + r] - c[map.history(h) + map.types + r];
      if (s.o.edges && !s.o.induced) e.by_hop.push_back(n);
      s.buffers.seen[r][h] = std::max(s.buffers.seen[r][h], n);
    }
  }
  for (std::uint32_t h = 0; h < map.hops && !s.o.induced; ++h)  // a hop inserts all its neighbors, new or not
    for (std::uint32_t t = 0; t < map.types; ++t) {
      std::uint64_t n = c[map.history(h) + t];
      for (std::uint32_t r = 0; r < map.relations; ++r)
        if (s.lists.relations[r].of.from == t) n += c[map.history(h + 1) + map.types + r] - c[map.history(h) + map.types + r];
      s.buffers.types[t].taken = std::max(s.buffers.types[t].taken, n);
    }
}
void block_sampler::parts::discard(sampled_subgraph::parts& b) noexcept {
  try {
    b.done.wait();
  } catch (...) {
  }
  b.pending = false;
}

}  // namespace garner

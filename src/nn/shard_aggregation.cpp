// The API's aggregation over a part of a graph if the caller provides all other rows: sharded.hpp without a group.
#include "core/call_chain.hpp"
#include "core/fail.hpp"
#include "features/ask.hpp"
#include "garner/aggregate.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "nn/sharded.hpp"

namespace garner {

struct shard_aggregation::impl {
  executor x;
  std::uint64_t first = 0, count = 0;
  std::vector<std::int64_t> positions;
  std::optional<sharded_edges> edges;
  call_chain calls;

  impl(graph_handle const& g, edge_direction side, bool weighted, shard_options const& options, std::uint32_t shard, execution_device where)
      : x(where) {
    if (shard >= options.shards) fail(errc::usage, "shard {} of {}: shards count from 0", shard, options.shards);
    if (options.strategy != shard_strategy::bulk)
      fail(errc::usage, "rows that the caller brings by {}: use bulk", to_string(options.strategy));
    whole_graph const all(g, side, weighted, true, true);
    shard_parts const parts(all.pulled().offsets, all.vertices(), options, g.name(), 1, shard_parts::most_elsewhere);
    first = parts.first(shard), count = parts.count(shard);
    graph const& inside = graph_access::of(g);
    positions.resize(count);
    if (inside.info.order == vertex_order::natural) {
      for (std::uint64_t i = 0; i < count; ++i) positions[i] = static_cast<std::int64_t>(first + i);
    } else {
      auto const ranks = ranks_inside<std::int64_t>(inside);
      std::copy_n(ranks.begin() + static_cast<std::ptrdiff_t>(first), count, positions.begin());
    }
    edges.emplace(options, shard, x, all, parts, aggregation::sum);
  }
  ~impl() { calls.end(); }
  impl(impl const&) = delete;

  void require(float const* in, float const* brought, float const* out) {
    require_readable(x, in, "rows");
    require_readable(x, out, "outputs");
    require_readable(x, brought, "rows of other shards");
  }
};

shard_aggregation::shard_aggregation(graph_handle const& g, edge_direction side, bool weighted, shard_options const& options,
                                     std::uint32_t shard, execution_device where)
    : impl_(as_error([&] { return std::make_unique<impl>(g, side, weighted, options, shard, where); })) {}
shard_aggregation::~shard_aggregation() = default;
shard_aggregation::shard_aggregation(shard_aggregation&&) noexcept = default;
shard_aggregation& shard_aggregation::operator=(shard_aggregation&&) noexcept = default;

std::uint64_t shard_aggregation::first() const { return impl_->first; }
std::uint64_t shard_aggregation::count() const { return impl_->count; }
std::vector<std::int64_t> shard_aggregation::positions() const {
  return as_error([&] { return impl_->positions; });
}
std::vector<std::vector<std::uint32_t>> const& shard_aggregation::needs(bool back) const { return impl_->edges->needed(back); }
bool shard_aggregation::symmetric() const { return impl_->edges->same(); }
std::uint64_t shard_aggregation::bytes() const { return impl_->edges->bytes(); }

void shard_aggregation::begin(aggregation how, bool back, float const* in, float* out, std::uint64_t columns, stream_ref stream) {
  as_error([&] {
    impl& i = *impl_;
    i.require(in, nullptr, out);
    i.calls.run(i.x, stream, [&] {
      i.edges->aggregate_as(i.x, how);
      i.edges->begin(i.x, back, {in, columns}, {out, columns}, columns);
    });
  });
}
void shard_aggregation::finish(aggregation how, bool back, float const* in, float const* brought, float* out, std::uint64_t columns,
                               stream_ref stream) {
  as_error([&] {
    impl& i = *impl_;
    i.require(in, brought, out);
    i.calls.run(i.x, stream, [&] {
      i.edges->aggregate_as(i.x, how);
      i.edges->finish(i.x, back, {in, columns}, brought, {out, columns}, columns);
    });
  });
}

}  // namespace garner

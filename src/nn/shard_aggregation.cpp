// The API's aggregation over a part of a graph if the caller provides all other rows: sharded.hpp without a group.
#include "core/call_chain.hpp"
#include "core/fail.hpp"
#include "core/lease.hpp"
#include "features/ask.hpp"
#include "garner/aggregate.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "memory/pin.hpp"
#include "nn/pointwise.hpp"
#include "nn/sharded.hpp"

namespace garner {

struct shard_aggregation::impl {
  executor x;
  std::uint64_t first = 0, count = 0;
  std::vector<std::int64_t> positions;
  std::optional<sharded_edges> edges;
  call_chain calls;
  struct panels {  // some columns of rows in host memory: `come` fills, x adds, `go` empties
    executor come, go;
    leased<buffer<float>> came[2], made[2];
    explicit panels(executor const& x) : come(x, executor::urgent{}), go(x, executor::urgent{}) {}
  };
  std::optional<panels> far;

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

  void reduce_host(aggregation how, bool back, float const* in, float* out, std::uint64_t columns);
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

// Invariant: a call ends with nothing under way. Cost: each column crosses once each way, and both at once, while others are reduced; the
// adjacency is read once for every 64.
void shard_aggregation::impl::reduce_host(aggregation how, bool back, float const* in, float* out, std::uint64_t columns) {
  constexpr std::uint64_t most = 64;
  if (edges->needed(back).size() > 1)
    fail(errc::usage, "rows in host memory, and the graph is in {} parts; use one part, or rows on the device", edges->needed(back).size());
  if (count * columns == 0) return;
  pinned_pages pinned[2];
  row_block<float const> from{in, columns};
  row_block<float> to{out, columns};
  std::uint64_t const bytes = count * columns * sizeof(float);
  if (x.on_device() && !device::reads(x.device(), in)) {
    pinned[0] = pinned_pages(in, bytes, x.device());
    from.data = static_cast<float const*>(pinned[0].device_data());
  }
  if (x.on_device() && !device::reads(x.device(), out)) {
    pinned[1] = pinned_pages(out, bytes, x.device());
    to.data = static_cast<float*>(const_cast<void*>(pinned[1].device_data()));
  }
  if (!far) far.emplace(x);
  wait_at_end const went(far->go), came(far->come), done(x);
  edges->aggregate_as(x, how);
  for (std::uint64_t c = 0, k = 0; c < columns; c += most, ++k) {
    std::uint64_t const w = std::min(most, columns - c);
    auto const room_of = [&](executor& by, leased<buffer<float>>& of, char const* what) {
      return row_block<float>{room(by, of.fill(by), count * w, what), w};
    };
    auto& some = far->came[k % 2];
    auto& sums = far->made[k % 2];
    drop_rows(far->come, {from.data + c, columns}, room_of(far->come, some, "columns of rows"), count, w, {});
    lease<buffer<float>*> here = some.filled(far->come);
    row_block<float const> const rows{here.use(x)->data(), w};
    row_block<float> const made = room_of(x, sums, "columns of sums");
    edges->begin(x, back, rows, made, w);
    edges->finish(x, back, rows, nullptr, made, w);
    lease<buffer<float>*> there = sums.filled(x);
    drop_rows(far->go, {there.use(far->go)->data(), w}, row_block<float>{to.data + c, columns}, count, w, {});
  }
  x.wait(), far->go.wait();
}
void shard_aggregation::reduce_host(aggregation how, bool back, float const* in, float* out, std::uint64_t columns) {
  as_error([&] { impl_->calls.run(impl_->x, {}, [&] { impl_->reduce_host(how, back, in, out, columns); }); });
}

}  // namespace garner

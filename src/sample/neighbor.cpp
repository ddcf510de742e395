// What scores and traces need of the sampler of blocks: the rows of a mini-batch, without its edges, by internal ids.
#include "sample/neighbor.hpp"

#include <algorithm>

#include "core/exec.hpp"
#include "core/stats.hpp"
#include "sample/blocks.hpp"
#include "sample/lists.hpp"
#include "sample/score.hpp"

namespace garner {

namespace {

struct add_one {
  std::uint64_t const* rows;
  std::uint32_t* counts;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    ++counts[rows[i]];  // rows are all different
  }
};

block_options as_blocks(std::optional<tier> edges, sample_options const& o) {
  block_options b;
  b.seed = o.seed, b.rule = o.rule, b.edges = false, b.adjacency = edges;
  return b;
}

}  // namespace

struct neighbor_sampler::impl {
  block_sampler::parts sampler;
  sampled_subgraph drawn;
  std::uint64_t edges = 0;
  impl(graph const& g, execution_device where, std::optional<tier> lists_in, sample_options const& o)
      : sampler(where, {{g.info.vertices, {}}}, {{&g, &pulled_lists(g), 0, 0, {o.fanouts.begin(), o.fanouts.end()}, {}}},
                as_blocks(lists_in, o), false) {}
};

std::uint64_t sampling_bytes(graph_info const& info, execution_device where, sample_options const& o, std::uint64_t train) {
  std::uint64_t const n = info.vertices;
  constexpr std::uint64_t most = ~0u;  // more is refused
  std::uint64_t const seeds = std::min({n, o.batch, train});
  std::uint64_t rows = seeds, items = 0;
  for (std::uint64_t const fanout : o.fanouts) {
    items = std::max(items, std::min({rows * fanout, info.edges + seeds * fanout, most}));
    rows = std::min(n, rows * (fanout + 1));
  }
  bool const device = where.kind == device_kind::cuda;
  // Buffers are 1.25 times the need; sorting remote reads takes two keys per edge, and as many again where they are sorted.
  return n * 4 + train * 48 + (device ? (n + 1) * 16 : 0) + (items * (36 + (device ? 24 : 0)) + rows * 20) / 4 * 5 + 4096;
}

neighbor_sampler::neighbor_sampler(graph const& g, execution_device where, std::optional<tier> edges, sample_options const& options) {
  check_sampling(options);
  pulled_lists(g);
  require_readable(g, where, edges, true);
  if (where.kind == device_kind::cuda) self_test(where.index);
  impl_ = std::make_unique<impl>(g, where, edges, options);
}
neighbor_sampler::~neighbor_sampler() = default;
neighbor_sampler::neighbor_sampler(neighbor_sampler&&) noexcept = default;

executor& neighbor_sampler::at() { return impl_->sampler.at(); }
std::uint64_t neighbor_sampler::sample(std::uint64_t number, std::uint64_t const* train, std::uint64_t count) {
  phase const timed{"sample.batch"};
  sampled_subgraph::parts& b = impl_->drawn.inside();
  typed_seeds const seeds{0, {reinterpret_cast<std::int64_t const*>(train), count}, {}};
  impl_->sampler.start(b, number, {&seeds, 1}, true);
  impl_->sampler.finish(b);
  impl_->edges += b.drawn;
  return row_count();
}
std::uint64_t const* neighbor_sampler::rows() const { return reinterpret_cast<std::uint64_t const*>(impl_->drawn.of_type(0).ids); }
std::uint64_t neighbor_sampler::row_count() const { return impl_->drawn.of_type(0).count; }
std::uint64_t neighbor_sampler::edges_drawn() const { return impl_->edges; }
void neighbor_sampler::count_rows(std::uint32_t* counts) { for_each_item<1>(at(), row_count(), add_one{rows(), counts}); }
traffic neighbor_sampler::take_traffic() { return impl_->sampler.take_traffic(); }

}  // namespace garner

#include "nn/graph_shard.hpp"

#include "core/fail.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "nn/infer/rows.hpp"

namespace garner {

graph_shard::graph_shard(shard_group& group, std::uint32_t shard, executor& x, graph_handle const& g, edge_direction side, bool weighted,
                         aggregation how)
    : group_(group), shard_(shard), x_(x), relations_(1) {
  auto const all = group.from_first(shard, [&] { return std::make_shared<whole_graph const>(g, side, weighted, true, true); });
  parts_.emplace(all->pulled().offsets, all->vertices(), group.options(), g.name());
  edges_.emplace(group, shard, x, *all, *parts_, how);
  relations_[0].leave_to(*edges_);
  for (std::uint64_t const v : parts_->blocks(shard)) blocks_.push_back(v - parts_->first(shard));
  if (group.options().host_activations) {
    std::string const& scratch = group.options().scratch;  // all count on the same disk
    kept_.emplace(x, blocks_,
                  scratch.empty() ? nullptr : group.from_first(shard, [&] { return std::make_shared<scratch_folder>(scratch); }));
  }
  graph const& inside = graph_access::of(g);
  if (inside.info.order == vertex_order::natural) return;
  std::vector<std::int64_t> const positions = ranks_inside<std::int64_t>(inside);
  if (shard == 0) all_positions_ = bring(x, positions, "positions of all vertices");
  auto const from = positions.begin() + static_cast<std::ptrdiff_t>(first());
  positions_.assign(from, from + static_cast<std::ptrdiff_t>(count()));
  permuted_ = true;
}
near_labels graph_shard::labels(labelled_parts const& of, split_part p) const {
  return permuted_ ? of.near_of_rows(x_, p, positions_) : of.near_of_range(x_, p, first(), count());
}

void graph_shard::require_rows(shard_options const& o, network<float> const& net) {
  network<float>::pass p;
  p.rows.assign(net.shape().layers + 1, {1});
  if (o.far_rows && !o.host_activations && !net.turns_inputs(p))
    fail(errc::usage,
         "tiered features, and the first layer aggregates them unchanged, which needs all in device memory; use local features, or "
         "activations in host memory");
}

void graph_shard::fill(network<float>::pass& p, network<float>& net, row_scaling scaling, tiered_tensor& features) {
  p.edges = &relations_;
  p.rows.assign(net.shape().layers + 1, {count()});
  p.first_row = first(), p.blocks = blocks_;
  if (kept_) p.kept = &*kept_, p.host_layers = group_.options().host_layers;
  if (group_.options().far_rows) {
    if (!far_rows_) far_rows_.emplace(x_, features, scaling, blocks_, first(), permuted_ ? positions_.data() : nullptr);
    p.inputs = {{nullptr, features.width()}};
    p.bring = [this](std::uint64_t from, std::uint64_t some) { return far_rows_->block(from, some); };
    return;
  }
  if (!have_rows_) {
    // Some of none too: a shard without rows has others' all the same.
    rows_ = buffer<float>(x_.near(), std::max<std::uint64_t>(count() * features.width(), 1), x_.device(), "rows of a shard");
    take_rows(x_, features, scaling, first(), count(), rows_.data(), nullptr, permuted_ ? positions_.data() : nullptr);
    have_rows_ = true;
    edges_->never_changes(rows_.data());
  }
  p.inputs = {{rows_.data(), features.width()}};
}

void graph_shard::sum_gradients(network<float>& net) {
  row_block<float> const mine = net.block_gradients();
  shared_rows rows(group_, shard_, x_, {mine.data, blocks(), mine.stride * sizeof(float), net.count() * sizeof(float)});
  for (std::uint32_t k = 0; k < parts_->shards(); ++k) rows.before(k, x_);
  sum_of_rows(x_, rows.table(), net.count(), net.gradients());
  rows.close();
}

void graph_shard::scores_of_all(row_block<float const> mine, std::uint64_t columns, taker const& take) {
  shared_rows rows(group_, shard_, x_, {mine.data, count(), mine.stride * sizeof(float), columns * sizeof(float), true});
  float* const all = shard_ == 0 && permuted_ ? room(x_, all_scores_, parts_->vertices() * columns, "scores of all vertices") : nullptr;
  for (std::uint32_t k = 0; shard_ == 0 && k < parts_->shards(); ++k) {
    rows.before(k, x_);
    if (permuted_) {
      put_rows(x_, rows.table(), k, all_positions_.data() + parts_->first(k), parts_->count(k), columns, all);
      continue;
    }
    auto const blocks = parts_->blocks(k);
    for (std::size_t b = 0; b + 1 < blocks.size(); ++b)
      take(blocks[b], blocks[b + 1] - blocks[b], {rows.table().row<float>(k, blocks[b] - blocks[0]), mine.stride});
  }
  if (all) take(0, parts_->vertices(), {all, columns});
  rows.close();
}

}  // namespace garner

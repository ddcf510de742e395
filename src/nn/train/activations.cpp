// Where activations of full-graph steps stay: on the device if all fits there, else in host memory, as one shard trains.
#include "core/fail.hpp"
#include "nn/decide_shards.hpp"
#include "nn/infer/infer.hpp"
#include "nn/part_rows.hpp"
#include "nn/plan.hpp"
#include "nn/train/impl.hpp"

namespace garner {

namespace {
// Bytes on the device; without `how` in one piece.
std::uint64_t bytes_for(gnn_model::parts const& m, training_ground const& on, training_options const& o, shard_options const* how) {
  graph const& inside = graph_access::of(*on.one);
  graph_info const& info = inside.info;
  edge_lists const& lists = info.directed && o.side == edge_direction::in && info.in_edges ? inside.in : inside.out;
  training_question q;
  q.load.info = info, q.load.where = m.x.where(), q.load.weighted = o.weighted;
  q.load.row_bytes = on.tables[0]->row_bytes();
  q.model = m.options, q.training = static_cast<double>(info.vertices);
  q.dropout = o.dropout.value_or(0.5) > 0;
  q.input_dropout = o.input_dropout.value_or(input_dropout_of(m.options, o.dropout.value_or(0.5)));
  auto const left = [&] {  // what the model has is there
    std::uint64_t const all = plan_training(q).bytes();
    return all - std::min(all, m.net.bytes());
  };
  if (!how) return left();
  shard_parts const parts(lists.offsets.data(), info.vertices, *how, on.name());
  q.shard = {static_cast<double>(info.vertices),
             static_cast<double>(info.edges),
             0,
             static_cast<std::uint32_t>(parts.blocks(0).size() - 1),
             static_cast<double>(part_rows::largest(parts.blocks(0))),
             true,
             *how};
  return left();
}
}  // namespace

training_options training::impl::placed(gnn_model::parts const& m, training_ground const& on, training_options o) {
  bool const whole = o.fanouts.empty() && !o.shards && !o.ranks, asked = o.activations == activation_place::host;
  if (!whole || o.activations == activation_place::device || on.several) {
    if (asked && on.several)
      fail(errc::usage, "{}: activations of several types of nodes stay on the device; leave activations out", on.name());
    if (asked && !o.shards) fail(errc::usage, "activations in host memory are for full-graph steps; leave activations out");
    bool const in_host = o.fanouts.empty() && o.shards && o.shards->options().host_activations;
    o.activations = in_host ? activation_place::host : activation_place::device;
    return o;
  }
  shard_options how;
  how.host_activations = true;
  std::uint64_t const free = m.x.on_device() ? free_near(m.x) : ~std::uint64_t{0};
  o.activations = activation_place::device;
  if (!asked && (!m.x.on_device() || bytes_for(m, on, o, nullptr) <= free)) return o;
  o.activations = activation_place::host;
  for (bool shard_options::*const less : {&shard_options::far_rows, &shard_options::host_layers, &shard_options::remote_adjacency}) {
    shard_options other = how;
    other.*less = true;
    if (std::uint64_t const needed = bytes_for(m, on, o, &how); needed > free && bytes_for(m, on, o, &other) < needed) how = other;
  }
  o.shards = shards_of_threads(how);
  return o;
}

}  // namespace garner

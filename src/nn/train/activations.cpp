// Where activations of full-graph steps stay: on the device if all fits there, else in host memory, as one shard trains, or in a file.
#include <algorithm>
#include <filesystem>

#include "core/fail.hpp"
#include "garner/memory.hpp"
#include "memory/budget.hpp"
#include "nn/decide_shards.hpp"
#include "nn/infer/infer.hpp"
#include "nn/part_rows.hpp"
#include "nn/plan.hpp"
#include "nn/train/impl.hpp"

namespace garner {

namespace {
struct bytes_taken {
  std::uint64_t device, host;  // host: of the training alone
};
// Without `how` in one piece.
bytes_taken bytes_for(gnn_model::parts const& m, training_ground const& on, training_options const& o, shard_options const* how) {
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
    training_plan const p = plan_training(q);
    std::uint64_t host = 0;
    for (load_array const& a : p.host) host += a.bytes;
    return bytes_taken{p.bytes() - std::min(p.bytes(), m.net.bytes()), host};
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
  bool const whole = o.fanouts.empty() && !o.shards && !o.ranks, in_file = o.activations == activation_place::file,
             asked = in_file || o.activations == activation_place::host;
  if (in_file && o.scratch.empty())
    fail(errc::usage, "activations in a file, and no folder for it; set scratch to one on a disk with room");
  if (!o.scratch.empty() && !in_file && (!whole || on.several || o.activations != activation_place::automatic))
    fail(errc::usage,
         "scratch {}: full-graph steps of one device keep activations there by themselves, or with activations 'file'; leave it out",
         o.scratch);
  if (std::error_code none; !o.scratch.empty() && !std::filesystem::is_directory(o.scratch, none))
    fail(errc::usage, "scratch {}: is not a folder; name one on a disk with room for activations", o.scratch);
  if (!whole || o.activations == activation_place::device || on.several) {
    if (asked && on.several)
      fail(errc::usage, "{}: activations of several types of nodes stay on the device; leave activations out", on.name());
    if (asked && !o.shards)
      fail(errc::usage, "activations in {} are for full-graph steps; leave activations out", in_file ? "a file" : "host memory");
    shard_options const* const how = o.fanouts.empty() && o.shards ? &o.shards->options() : nullptr;
    o.activations = !how || !how->host_activations ? activation_place::device
                    : how->scratch.empty()         ? activation_place::host
                                                   : activation_place::file;
    return o;
  }
  shard_options how;
  how.host_activations = true;
  bool const near_is_host = !m.x.on_device();
  std::uint64_t const left = std::min(host_budget().left(), host_memory_now().free()), free = !near_is_host       ? free_near(m.x)
                                                                                              : o.scratch.empty() ? ~std::uint64_t{0}
                                                                                                                  : left;
  auto const bytes = [&](shard_options const* by) { return bytes_for(m, on, o, by); };
  o.activations = activation_place::device;
  if (!asked && bytes(nullptr).device <= free) return o;
  for (bool shard_options::*const less : {&shard_options::far_rows, &shard_options::host_layers, &shard_options::remote_adjacency}) {
    shard_options other = how;
    other.*less = true;
    if (near_is_host && less != &shard_options::far_rows) break;
    if (std::uint64_t const needed = bytes(&how).device; needed > free && bytes(&other).device < needed) how = other;
  }
  if (bytes_taken const all = bytes(&how); in_file || (!o.scratch.empty() && all.host + (near_is_host ? all.device : 0) > left))
    how.scratch = o.scratch;
  o.activations = how.scratch.empty() ? activation_place::host : activation_place::file;
  o.shards = shards_of_threads(how);
  return o;
}

}  // namespace garner

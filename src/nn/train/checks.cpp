#include "nn/train/impl.hpp"

#include <algorithm>
#include <bit>

#include "core/random.hpp"
#include "nn/decide_shards.hpp"
#include "nn/infer/infer.hpp"

namespace garner {

namespace {
void check_share(char const* what, double share) {
  if (!(share >= 0 && share < 1)) fail(errc::usage, "{} {}: use 0 to less than 1", what, share);
}
}  // namespace

void training::impl::require_same() const {
  std::string mine;
  for (auto const& [what, value] : made_for()) mine += fmt::format("{}: {}\n", what, value);
  if (o.shards && o.shards->of_processes()) mine += fmt::format("lists: {:016x}\n", digest_of(*ground.one));
  mine += fmt::format("evaluation: every {} epochs, patience {}\nend: after {} epochs\nstep: {}\nparameters: {:016x}\n", o.evaluate_every,
                      *o.patience, *o.epochs, done_steps, checked_values());
  ranks->require_same(o.rank, mine);
}

std::uint64_t training::impl::checked_values() const {
  std::vector<float> values(m.net.count());
  x.copy(values.data(), m.net.values(), values.size() * sizeof(float));
  x.wait();
  std::uint64_t sum = 1;
  for (float const v : values) sum = mix(sum ^ std::bit_cast<std::uint32_t>(v));
  return sum;
}

void training::impl::check() {
  if (o.ranks && o.rank >= o.ranks->ranks()) fail(errc::usage, "rank {} of {}: ranks count from 0", o.rank, o.ranks->ranks());
  if (o.shards && o.rank >= ranks->ranks()) fail(errc::usage, "shard {} of {}: shards count from 0", o.rank, ranks->ranks());
  if (o.shards) check_shards();
  else if (ranks && o.fanouts.empty())
    fail(errc::usage, "{} ranks, and a step of the whole graph is not shared by ranks; use fanouts, or shards", ranks->ranks());
  if (ground.several) check_types();
  else require_table(m, *ground.tables[0], *ground.one);
  if (!o.fanouts.empty() && o.fanouts.size() != m.options.layers)
    fail(errc::usage, "{} fanouts for a model of {} layers; use one a layer", o.fanouts.size(), m.options.layers);
  if (!o.dropout) o.dropout = m.options.residual && m.options.layer_norm ? 0.2 : 0.5;
  check_share("dropout", *o.dropout);
  if (!o.input_dropout) o.input_dropout = input_dropout_of(m.options, *o.dropout);
  check_share("dropout of rows", *o.input_dropout);
  if (!(o.learning_rate > 0 && o.learning_rate < 1e6)) fail(errc::usage, "a rate of {}: use more than 0", o.learning_rate);
  if (o.weight_decay && !(*o.weight_decay >= 0 && *o.weight_decay < 1e6))
    fail(errc::usage, "a decay of {}: use 0 or more", *o.weight_decay);
}

void training::impl::choose_unset() {
  if (!o.weight_decay) o.weight_decay = std::min(5e-4, 0.5 / static_cast<double>(seeds.size()));
  std::uint64_t const a_step = std::max<std::uint64_t>(o.batch_size, 1) * (ranks ? ranks->ranks() : 1);
  std::uint64_t const steps = o.fanouts.empty() ? 1 : (seeds.size() + a_step - 1) / a_step;
  auto const epochs_of = [&](std::uint64_t n, std::uint64_t least) { return std::max((n + steps - 1) / steps, least); };
  bool const validates = o.evaluate_every && !parts.of(split_part::validation).positions.empty();
  if (!o.patience) {
    std::uint64_t const every = std::max(o.evaluate_every, 1u);
    o.patience = o.epochs || !validates ? 0 : static_cast<std::uint32_t>((epochs_of(50, 10) + every - 1) / every);
  }
  if (!o.epochs) o.epochs = validates && *o.patience ? epochs_of(1000, 100) : epochs_of(200, 10);
}

void training::impl::check_shards() const {
  if (o.ranks) fail(errc::usage, "shards and ranks; use one of them");
  if (!o.fanouts.empty()) fail(errc::usage, "shards and fanouts: shards are of the whole graph; leave the fanouts out, or use ranks");
  if (ground.several) fail(errc::usage, "{}: several types of vertices are not split into shards; train without", ground.name());
}

void training::impl::check_types() {
  require_types(m, *ground.several, ground.tables, o.side);
  if (o.graph_cache) fail(errc::usage, "{}: lists of several types lie where they lie; leave out those to keep", ground.name());
}

}  // namespace garner

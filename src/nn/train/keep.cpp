#include "nn/train/impl.hpp"

#include "core/progress.hpp"
#include "core/random.hpp"
#include "nn/decide_shards.hpp"
#include "nn/train/source.hpp"

namespace garner {

checkpoint::texts training::impl::made_for(checkpoint::texts const* other) const {
  std::uint64_t seeds_and_labels = mix(seeds.size());
  auto const& part = parts.of(split_part::train);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    seeds_and_labels = mix(seeds_and_labels ^ mix(static_cast<std::uint64_t>(seeds[i]) + 1));
    if (!part.classes.empty()) seeds_and_labels = mix(seeds_and_labels ^ static_cast<std::uint64_t>(part.classes[i]));
  }
  for (float const a : part.answers) seeds_and_labels = mix(seeds_and_labels ^ (a != 0 ? 1 : 2));
  return {{"model", to_text(m.options)},
          {"graph", told_graph()},
          {"features", told_tables()},
          {"training set", fmt::format("{} vertices ({:016x})", seeds.size(), seeds_and_labels)},
          {"fanouts", o.fanouts.empty() ? "whole graph" : fmt::format("{} of mini-batches of {}", fmt::join(o.fanouts, ","), o.batch_size)},
          {"seed", std::to_string(o.seed)},
          {"optimiser", fmt::format("rate {}, decay {}", o.learning_rate, *o.weight_decay)},
          {"dropout", fmt::format("{}, of rows {}", *o.dropout, *o.input_dropout)},
          {"ranks", o.shards ? split_of(other) : std::to_string(ranks ? ranks->ranks() : 1)}};
}

std::string training::impl::split_of(checkpoint::texts const* other) const {
  shard_options same = o.shards->options();
  std::string const mine = split_words(same);
  if (!other || !other->contains("ranks") || same.sums != shard_reduction::deterministic) return mine;
  for (shard_strategy const s : {shard_strategy::bulk, shard_strategy::collective})
    if (same.strategy = s; split_words(same) == other->at("ranks")) return other->at("ranks");
  return mine;
}

std::string training::impl::told_graph() const {
  if (ground.one) {
    graph_info const& g = ground.one->info();
    return fmt::format("{} vertices, {} arcs, {} {}{}", g.vertices, g.edges, g.directed ? "directed" : "undirected",
                       o.side == edge_direction::in ? "in-lists" : "out-lists", o.weighted ? ", weighted" : "");
  }
  std::string all;
  for (vertex_type const& t : ground.several->types()) all += fmt::format("{}{} of '{}'", all.empty() ? "" : ", ", t.count, t.name);
  for (edge_type const& e : ground.several->edges()) all += fmt::format(", {} arcs {} {} {}", e.stored_edges, e.from, e.relation, e.to);
  return all + fmt::format("; target '{}'{}{}", ground.several->types()[ground.target].name,
                           o.side == edge_direction::in ? "" : ", side out", o.weighted ? ", weighted" : "");
}

std::string training::impl::told_tables() const {
  std::string all;
  for (tiered_tensor const* t : ground.tables)
    all += fmt::format("{}{} rows of {} {}", all.empty() ? "" : ", ", t->rows(), t->width(), to_string(t->kind()));
  return all;
}

std::vector<float> training::impl::here(buffer<float> const& from) const {
  std::vector<float> values(from.size());
  x.copy(values.data(), from.data(), from.bytes());
  x.wait();
  return values;
}

void training::impl::keep(std::filesystem::path const& file) const {
  std::optional<interrupts_held> together;  // the next step notifies all ranks
  if (ranks) together.emplace();
  network<float> const& net = m.net;
  checkpoint c;
  c.made_for = made_for();
  std::vector<float> values(net.count());
  x.copy(values.data(), net.values(), values.size() * sizeof(float));
  x.wait();
  std::uint64_t const n = net.count();
  std::vector<std::string> states{bytes_of(sum_of(totals_seen())) + source->state()};
  if (ranks) states = ranks->all_gather(o.rank, states[0]);
  std::vector<std::uint64_t> counted;
  std::vector<double> losses;
  for (std::size_t k = 0; k < states.size(); ++k) {
    auto const t = from_bytes<loss_totals>(states[k]);
    for (std::uint64_t const number : {t.correct, t.counted, t.bad}) counted.push_back(number);
    losses.push_back(t.loss);
    c.facts.emplace(loader_of(k), states[k].substr(sizeof t));
  }
  c.arrays.push_back({"values", {n}, std::move(values)});
  c.arrays.push_back({"first moments", {n}, here(first)});
  c.arrays.push_back({"second moments", {n}, here(second)});
  if (best) c.arrays.push_back({"best values", {n}, best_values});
  c.arrays.push_back(
      {"counters", {6}, std::vector<std::uint64_t>{done_epochs, done_steps, epoch_steps, static_cast<std::uint64_t>(at), best, worse}});
  c.arrays.push_back({"best loss", {1}, std::vector<double>{best_loss}});
  c.arrays.push_back({"counted", {states.size(), 3}, std::move(counted)});
  c.arrays.push_back({"losses", {states.size()}, std::move(losses)});
  if (o.rank == 0 || !ranks) c.write(file);
  if (ranks) ranks->barrier(o.rank);  // it is there
}

std::string training::impl::loader_of(std::size_t rank) { return rank ? fmt::format("loader of rank {}", rank) : "loader"; }
void training::impl::resume(std::filesystem::path const& file) {
  std::optional<interrupts_held> together;
  if (ranks) together.emplace();
  checkpoint const c = checkpoint::read(file, checkpoint::kind::checkpoint);
  c.require_made_for(made_for(&c.made_for));
  std::uint64_t const n = m.net.count();
  auto const& values = c.values<float>("values", {n});
  auto const &one = c.values<float>("first moments", {n}), &two = c.values<float>("second moments", {n});
  auto const& counters = c.values<std::uint64_t>("counters", {6});
  double const best_loss_there = c.values<double>("best loss", {1})[0];
  std::uint64_t const all = ranks ? ranks->ranks() : 1, mine = ranks ? o.rank : 0;
  auto const& counted = c.values<std::uint64_t>("counted", {all, 3});
  auto const& losses = c.values<double>("losses", {all});
  std::vector<float> best_there = counters[4] ? c.values<float>("best values", {n}) : std::vector<float>();
  std::vector<loss_totals> totals_there(blocks());
  loss_totals& t = totals_there[0];
  t.loss = losses[mine], t.correct = counted[mine * 3], t.counted = counted[mine * 3 + 1], t.bad = counted[mine * 3 + 2];
  source->resume(c, loader_of(mine));
  x.copy(m.net.values(), values.data(), n * sizeof(float));
  x.copy(first.data(), one.data(), n * sizeof(float));
  x.copy(second.data(), two.data(), n * sizeof(float));
  x.copy(totals.data(), totals_there.data(), totals_there.size() * sizeof(loss_totals));
  x.wait();
  done_epochs = counters[0], done_steps = counters[1], epoch_steps = counters[2], at = static_cast<stage>(counters[3]);
  steps_ms = 0;
  best = counters[4], worse = counters[5], best_loss = best_loss_there, best_values = std::move(best_there);
  if (ranks) require_same();
}

}  // namespace garner

#include "nn/train/impl.hpp"

#include <algorithm>

#include "core/progress.hpp"

namespace garner {

namespace {
constexpr std::uint64_t steps_unseen = 64;
}  // namespace

std::shared_ptr<rank_group> ranks_of_threads(std::uint32_t ranks, double timeout_seconds) {
  return as_error([&] { return rank_group::of_threads(ranks, timeout_seconds); });
}
std::shared_ptr<rank_group> ranks_of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks, double timeout_seconds) {
  return as_error([&] { return rank_group::of_processes(name, rank, ranks, timeout_seconds); });
}
void leave_ranks(rank_group& ranks, std::uint32_t rank, std::string_view why) noexcept { ranks.leave(rank, why); }
void leave_shards(shard_group& shards, std::uint32_t shard, std::string_view why) noexcept { shards.threads()->leave(shard, why); }

namespace {
rank_group* ranks_of(training_options const& o) {
  if (o.shards) return o.shards->threads().get();
  return o.ranks && o.ranks->ranks() > 1 ? o.ranks.get() : nullptr;
}
}  // namespace

training::impl::impl(gnn_model& model, training_ground on, labeled_nodes const& from, training_options const& options)
    : m(model.inside()),
      ground(std::move(on)),
      o(options),
      x(m.x),
      products(x, o.math, o.shards ? block_worker<float>::workspace : 0),  // the bits of a block then do not depend on its worker
      parts(from, ground.name(), ground.vertices(ground.target), m.options),
      ranks(ranks_of(o)) {
  check();
  seeds = parts.of(split_part::train).positions;
  if (seeds.empty()) fail(errc::input, "no vertex is to train with: the split has no 1; mark some");
  choose_unset();
  network<float>& net = m.net;
  first = zeros(net.count()), second = zeros(net.count());
  if (o.shards) {
    ranks->take(o.rank, x, net.count());
    o.shards->take(o.rank, x);
    require_same();
    graph_shard::require_rows(o.shards->options(), m.net);
    shard.emplace(*o.shards, o.rank, x, *ground.one, o.side, o.weighted, aggregation_of(m.options.kind));
    if (blocks() > 1 && !x.sink()) workers.emplace(x, o.math);
  }
  totals = buffer<loss_totals>(x.near(), 2 * blocks(), x.device(), "totals");  // and as they were before a step
  set_totals({});
  if (shard && o.cuda_graph && shard_recording::can(*o.shards, o.rank) && !o.shards->options().far_rows) {
    auto const one = [&] { return o.shards->from_first(o.rank, [&] { return std::make_shared<shard_recording>(*o.shards); }); };
    shards_step = one(), shards_evaluation = one();
  }
  if (shard ? shards_step != nullptr : o.fanouts.empty() && o.cuda_graph)
    numbers = buffer<step_numbers>(x.near(), 1, x.device(), "numbers of a step");
  if (shard) {
    known = shard->labels(parts, split_part::train);
  } else if (o.fanouts.empty() && ground.several) {
    whole.emplace(x, *ground.several, o.side, o.weighted, true);
    known = parts.near_of_all(x, split_part::train);
  } else if (o.fanouts.empty()) {
    whole.emplace(x, *ground.one, o.side, o.weighted, aggregation_of(m.options.kind));
    known = parts.near_of_all(x, split_part::train);
  } else {
    block_options b;
    b.seed = o.seed;
    b.edge_ids = b.inner_edge_ids = o.weighted;
    b.graph_cache = o.graph_cache, b.scores = o.graph_scores;
    make_sampler(b);
    loader_options l = o.load;
    l.seed_type = ground.target;
    l.batch_size = o.batch_size, l.seed = o.seed, l.shuffle = true;
    l.rank = ranks ? o.rank : 0, l.ranks = ranks ? ranks->ranks() : 1;
    std::vector<loaded_table> rows;
    for (std::uint32_t t = 0; t < ground.tables.size(); ++t) {
      rows.push_back({ground.tables[t], t});
      if (ground.tables[t]->kind() != element::f32) rows.back().to = element::f32;
    }
    batches.emplace(*sampler, std::move(rows), seeds, l);
    known = parts.near_of(x, split_part::train);
  }
  if (!ranks || shard) return;
  ranks->take(o.rank, x, net.count());
  require_same();
}

training::impl::~impl() {
  for (auto const& r : {shards_step, shards_evaluation})
    if (r) r->leave(o.rank);
}

void training::impl::make_sampler(block_options const& b) {
  if (ground.one) {
    layers.emplace(x, *ground.one, o.side, o.weighted, m.options.kind);
    sampler.emplace(x.where(), *ground.one, o.fanouts, b, o.side);
    return;
  }
  layers.emplace(x, m.net.shape(), *ground.several, o.side, o.weighted);
  std::vector<sampled_type> types;
  for (vertex_type const& t : ground.several->types()) types.push_back({t.count});
  std::vector<sampled_relation> relations;
  for (std::size_t r = 0; r < m.net.shape().relations.size(); ++r) {
    auto const& of = m.net.shape().relations[r];
    relations.push_back({&ground.several->adjacency(r), pulled_side(o.side), of.from, of.to, o.fanouts});
  }
  sampler.emplace(x.where(), std::move(types), std::move(relations), b);
}

void training::impl::take_losses(row_block<float> scores, float const* bias, near_labels const& of, std::uint64_t rows,
                                 std::uint64_t counted, row_block<float> gradient) {
  if (!shard) take_loss(loss, x, {scores.data, scores.stride}, of, m.options, rows, counted, gradient, totals.data(), 0, bias);
  auto const one = [&](std::uint64_t b, executor& by, losses<float>& with) {
    std::uint64_t const at = shard->block(b);
    take_loss(with, by, {scores.row(at), scores.stride}, of, m.options, shard->block(b + 1) - at, counted,
              {gradient.row(at), gradient.stride}, totals.data() + b, at, bias);
  };
  if (workers) workers->each(x, blocks(), [&](block_worker<float>& w, std::size_t b) { one(b, w.x, w.loss); });
  for (std::uint64_t b = 0; shard && !workers && b < blocks(); ++b) one(b, x, loss);
}

void training::impl::give_step(network<float>::pass const& p, near_labels const& of, std::uint64_t rows, std::uint64_t counted,
                               adam_step const& a) {
  network<float>& net = m.net;
  std::uint64_t const classes = m.options.classes;
  row_block<float> const scores = net.forward(x, p);
  x.copy(totals.data() + blocks(), totals.data(), blocks() * sizeof(loss_totals));
  row_block<float> const gradient{room(x, of_scores, rows * classes, "gradients of scores"), classes};
  try {
    take_losses(scores, net.bias_left(p), of, rows, counted, gradient);
    net.backward(x, p, gradient);
  } catch (...) {  // memory that ran out: the step comes again, and counts once
    x.copy(totals.data(), totals.data() + blocks(), blocks() * sizeof(loss_totals));
    throw;
  }
  if (shard) {
    auto const one = [&](executor& by, std::uint64_t b) { spoil(by, &(totals.data() + b)->bad, net.block_gradients().row(b)); };
    if (workers) workers->each(x, blocks(), [&](block_worker<float>& w, std::size_t b) { one(w.x, b); });
    for (std::uint64_t b = 0; !workers && b < blocks(); ++b) one(x, b);
    shard->sum_gradients(net);
  } else if (ranks) {
    spoil(x, &totals.data()->bad, net.gradients());  // so that no rank takes a step that this one does not
    ranks->mean(o.rank, x, net.gradients(), net.count());
  }
  mark_bad(x, net.gradients(), net.count(), std::uint64_t{0}, &totals.data()->bad);
  adam(x, net.values(), net.gradients(), first.data(), second.data(), net.count(), a, &totals.data()->bad);
}

void training::impl::step_done() {
  clock.end(x);
  ++done_steps, ++epoch_steps;
  if (done_steps % steps_unseen == 0) look();
}

network<float>::pass training::impl::pass_of_whole() {
  network<float>::pass p;
  if (shard) {
    p.products = &products;
    shard->fill(p, m.net, m.options.scaling, *ground.tables[0]);
    if (!p.bring) p.workers = workers ? &*workers : nullptr;
  } else {
    p = whole->of(m.net, m.options.scaling, ground.tables, products);
  }
  p.steady = true;
  return p;
}

void training::impl::give_recorded(recording& alone, std::shared_ptr<shard_recording> const& by_all, std::function<void()> const& work) {
  if (by_all) by_all->run(o.rank, x, work);
  else if (!shard && o.cuda_graph) alone.run(x, work);
  else work();
}

void training::impl::step_of_whole() {
  clock.begin(x);
  network<float>::pass p = pass_of_step(pass_of_whole());
  adam_step a = adam_of_step();
  if (numbers.size()) {
    x.write(numbers.data(), step_numbers{done_steps, a.corrections()});
    p.step_at = &numbers.data()->step, a.known = &numbers.data()->adam;
  }
  std::uint64_t const rows = shard ? shard->count() : ground.vertices(ground.target);
  give_recorded(step_recorded, shards_step, [this, p, a, rows] { give_step(p, known, rows, seeds.size(), a); });
  step_done();
}

void training::impl::step(mini_batch const& b) {
  clock.begin(x);
  network<float>::pass p = pass_of_step();
  layers->take(b, m.net, p);
  for (std::size_t t = 0; t < ground.tables.size(); ++t) {
    mini_batch::rows const& rows = b.of_table(t);
    std::uint64_t const width = ground.tables[t]->width();
    row_block<float> const data{static_cast<float*>(rows.data), width};
    scale_rows(x, data, rows.count, width, m.options.scaling);
    p.inputs.push_back({data.data, data.stride});
  }
  pick_labels(x, m.options, b.positions(), b.seeds(), known, drawn);
  give_step(p, drawn, b.seeds(), b.seeds(), adam_of_step());
  step_done();
}

std::vector<loss_totals> training::impl::look() {
  std::vector<loss_totals> const seen = totals_seen();
  clock.waited();
  if (sum_of(seen).bad != ~std::uint64_t{0}) tell_bad();
  return seen;
}

epoch_report training::impl::next() {
  auto const begun = steady::now();
  if (at == stage::between) {
    set_totals({});
    clock.restart();
    epoch_steps = 0, at = stage::steps;
  }
  epoch_report r;
  if (at == stage::evaluation || (!batches && epoch_steps)) {
    // The last call was interrupted in it, or behind the one step of a whole graph.
  } else if (shard || whole) {
    if (!shard) check_interrupted();
    else if (ranks->any(o.rank, interrupt_requested()))
      fail(errc::interrupted, "interrupted before step {}; nothing was left half-written", done_steps + 1);
    interrupts_held const whole_step;
    step_of_whole();
  } else {
    stream_ref const stream = x.asynchronous() ? stream_ref::of_address(x.stream()) : stream_ref{};
    std::optional<progress> bar;
    if (!ranks || o.rank == 0) bar.emplace("training", batches->batches());
    std::optional<interrupts_held> together;  // all ranks check at the same step
    if (ranks) together.emplace();
    // Broken off behind the last step, where the loader stands at the next epoch already.
    bool const all_stepped = epoch_steps > 0 && epoch_steps == batches->batches() && batches->state().next == 0;
    while (!all_stepped) {
      load_state const before = batches->state();
      auto b = next_batch(stream);
      if (ranks && ranks->any(o.rank, !b || (*b && interrupt_requested()))) {
        b = {};
        batches->resume(before);
        fail(errc::interrupted, "interrupted before step {}; nothing was left half-written", done_steps + 1);
      }
      if (!*b) break;
      try {
        interrupts_held const whole_step;
        step(**b);
      } catch (...) {  // it comes again
        b = {};
        batches->resume(before);
        throw;
      }
      if (bar) bar->advance(1);
    }
    r.load = batches->report();
  }
  std::vector<loss_totals> blocks_seen = look();
  if (ranks) {
    std::string mine;
    for (loss_totals const& t : blocks_seen) mine += bytes_of(t);
    blocks_seen.clear();
    for (std::string const& said : ranks->tell_all(o.rank, mine))
      for (std::size_t at = 0; at < said.size(); at += sizeof(loss_totals))
        blocks_seen.push_back(from_bytes<loss_totals>(said.substr(at, sizeof(loss_totals))));
  }
  loss_totals const seen = sum_of(blocks_seen);
  if (at == stage::steps) ++done_epochs;
  at = stage::evaluation;
  r.epoch = done_epochs, r.steps = epoch_steps;
  auto const counted = static_cast<double>(std::max<std::uint64_t>(seen.counted, 1));
  r.loss = seen.loss / counted, r.accuracy = static_cast<double>(seen.correct) / counted;
  r.ms = ms_since(begun), r.model_ms = clock.ms();
  if (o.evaluate_every && done_epochs % o.evaluate_every == 0) r.exact = ranks && !shard ? evaluate_for_all() : evaluate();
  r.captured = shards_step ? shards_step->parts() : step_recorded.parts();
  std::string refused = shards_step ? shards_step->refused() : step_recorded.refused();
  if (refused.empty()) refused = shards_evaluation ? shards_evaluation->refused() : evaluation_recorded.refused();
  if (shard && o.cuda_graph && !shards_step && x.asynchronous())
    refused = o.shards->options().far_rows
                  ? "rows come by tier, for which the host waits"
                  : fmt::format("rows of other shards come over {}, for which the host waits", o.shards->link(o.rank).about);
  if (!refused.empty() && !std::exchange(refusal_told, true)) r.not_captured = refused;
  if (r.exact) r.best = weigh(*r.exact);  // last, since it counts
  at = stage::between;
  return r;
}

std::optional<std::optional<mini_batch>> training::impl::next_batch(stream_ref stream) {
  try {
    return batches->next(stream);
  } catch (error const& e) {
    if (!ranks || e.code() != errc::interrupted) throw;
    return {};
  }
}

namespace {
// f(), whose errors the other ranks see too, except interrupts that all agreed on.
template <class F>
auto told_to(rank_group* ranks, std::uint32_t rank, F const& f, bool agreed = false) {
  try {
    return as_error(f);
  } catch (error const& e) {
    if (ranks && !(agreed && e.code() == errc::interrupted)) ranks->leave(rank, e.what());
    throw;
  }
}
}  // namespace

training::training(gnn_model& model, graph_handle const& g, tiered_tensor& features, labeled_nodes const& known,
                   training_options const& options)
    : impl_(told_to(ranks_of(options), options.rank, [&] {
        return std::make_unique<impl>(model, training_ground{&g, nullptr, {&features}}, known, options);
      })) {}
training::training(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> features, labeled_nodes const& known,
                   training_options const& options)
    : impl_(told_to(ranks_of(options), options.rank, [&] {
        if (g.types().empty()) fail(errc::input, "{}: has no vertices to train with", g.name());
        std::uint32_t const target =
            std::min<std::uint32_t>(model.inside().net.shape().target, static_cast<std::uint32_t>(g.types().size()) - 1);
        return std::make_unique<impl>(model, training_ground{nullptr, &g, std::move(features), target}, known, options);
      })) {}
training::~training() {
  if (impl_.own() && impl_->ranks) impl_->ranks->leave(impl_->o.rank, "its training has ended");
}
training::training(training&&) noexcept = default;
bool training::finished() const {
  impl const& t = *impl_;
  return t.done_epochs >= *t.o.epochs || (*t.o.patience && t.worse >= *t.o.patience);
}
training_options const& training::options() const { return impl_->o; }
epoch_report training::next() {
  return told_to(
      impl_->ranks, impl_->o.rank, [&] { return impl_->next(); }, true);
}
evaluation training::evaluate() {
  return told_to(impl_->shard ? impl_->ranks : nullptr, impl_->o.rank, [&] { return impl_->evaluate(); });
}
void training::save_checkpoint(std::filesystem::path const& file) const {
  told_to(impl_->ranks, impl_->o.rank, [&] { impl_->keep(file); });
}
void training::load_checkpoint(std::filesystem::path const& file) {
  told_to(impl_->ranks, impl_->o.rank, [&] { impl_->resume(file); });
}
std::uint64_t training::epochs() const { return impl_->done_epochs; }
std::uint64_t training::step() const { return impl_->done_steps; }
std::optional<std::uint64_t> training::best_epoch() const { return impl_->best ? std::optional(impl_->best) : std::nullopt; }
void training::load_best() {
  as_error([&] {
    if (!impl_->best) return;
    executor& x = impl_->x;
    x.copy(impl_->m.net.values(), impl_->best_values.data(), impl_->best_values.size() * sizeof(float));
    x.wait();
  });
}
std::uint64_t training::bytes() const {
  impl const& t = *impl_;
  return t.m.net.bytes() + t.first.bytes() + t.second.bytes() + t.of_scores.bytes() + t.known.bytes() + t.drawn.bytes() +
         (t.batches ? t.batches->bytes() : 0) + (t.layers ? t.layers->bytes() : 0) + (t.whole ? t.whole->bytes() : 0) +
         (t.judge ? t.judge->bytes() : 0) + t.numbers.bytes() + (t.shard ? t.shard->bytes() : 0);
}

}  // namespace garner

#include "core/progress.hpp"
#include "nn/infer/infer.hpp"
#include "nn/infer/one_type.hpp"
#include "nn/sampled.hpp"
#include "nn/train/source.hpp"

namespace garner {

void training::impl::step_source::take_losses(row_block<float> scores, float const* bias, near_labels const& of, std::uint64_t rows,
                                              std::uint64_t counted, row_block<float> gradient) {
  take_loss(t.loss, x, {scores.data, scores.stride}, of, t.m.options, rows, counted, gradient, t.totals.data(), 0, bias);
}
void training::impl::step_source::share_gradients() {
  if (!t.ranks) return;
  spoil(x, &t.totals.data()->bad, net.gradients());  // so that no rank takes a step that this one does not
  t.ranks->mean(t.o.rank, x, net.gradients(), net.count());
}

struct training::impl::sampled_source final : step_source {
  explicit sampled_source(impl& of) : step_source(of) {
    training_options const& o = t.o;
    block_options b;
    b.seed = o.seed;
    b.edge_ids = b.inner_edge_ids = o.weighted;
    b.graph_cache = o.graph_cache, b.scores = o.graph_scores;
    make_sampler(b);
    loader_options l = o.load;
    l.seed_type = t.ground.target;
    l.batch_size = o.batch_size, l.seed = o.seed, l.shuffle = true;
    l.rank = t.ranks ? o.rank : 0, l.ranks = t.ranks ? t.ranks->ranks() : 1;
    std::vector<loaded_table> rows;
    for (std::uint32_t k = 0; k < t.ground.tables.size(); ++k) {
      rows.push_back({t.ground.tables[k], k});
      if (t.ground.tables[k]->kind() != element::f32) rows.back().to = element::f32;
    }
    batches.emplace(*sampler, std::move(rows), t.seeds, l);
    known = t.parts.near_of(x, split_part::train);
  }
  void make_sampler(block_options const& b) {
    training_options const& o = t.o;
    if (t.ground.one) {
      layers.emplace(x, *t.ground.one, o.side, o.weighted, t.m.options.kind);
      sampler.emplace(x.where(), *t.ground.one, o.fanouts, b, o.side);
      return;
    }
    layers.emplace(x, net.shape(), *t.ground.several, o.side, o.weighted);
    std::vector<sampled_type> types;
    for (vertex_type const& of : t.ground.several->types()) types.push_back({of.count});
    std::vector<sampled_relation> relations;
    for (std::size_t r = 0; r < net.shape().relations.size(); ++r) {
      auto const& of = net.shape().relations[r];
      relations.push_back({&t.ground.several->adjacency(r), pulled_side(o.side), of.from, of.to, o.fanouts});
    }
    sampler.emplace(x.where(), std::move(types), std::move(relations), b);
  }
  std::uint64_t bytes() const override { return step_source::bytes() + drawn.bytes() + batches->bytes() + layers->bytes(); }
  std::string state() const override { return batches->state().text(); }
  void resume(checkpoint const& c, std::string const& fact) override { batches->resume(load_state::parse(c.fact(fact))); }

  void steps(epoch_report& r) override {
    rank_group* const ranks = t.ranks;
    stream_ref const stream = x.asynchronous() ? stream_ref::of_address(x.stream()) : stream_ref{};
    std::optional<progress> bar;
    if ((!ranks || t.o.rank == 0) && t.steps_until == ~std::uint64_t{0}) bar.emplace("training", batches->batches());  // of an epoch
    std::optional<interrupts_held> together;  // all ranks check at the same step
    if (ranks) together.emplace();
    // Broken off behind the last step, where the loader stands at the next epoch already.
    bool const all_stepped = t.epoch_steps > 0 && t.epoch_steps == batches->batches() && batches->state().next == 0;
    while (!all_stepped && t.epoch_steps < t.steps_until) {
      load_state const before = batches->state();
      auto b = next_batch(stream);
      if (ranks && ranks->any(t.o.rank, !b || (*b && interrupt_requested()))) {
        b = {};
        batches->resume(before);
        fail(errc::interrupted, "interrupted before step {}; nothing was left half-written", t.done_steps + 1);
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
      else if (!ranks) check_interrupted();
    }
    r.load = batches->report();
  }
  // None, of ranks: this one was interrupted.
  std::optional<std::optional<mini_batch>> next_batch(stream_ref stream) {
    try {
      return batches->next(stream);
    } catch (error const& e) {
      if (!t.ranks || e.code() != errc::interrupted) throw;
      return {};
    }
  }
  void step(mini_batch const& b) {
    t.clock.begin(x);
    network<float>::pass p = t.pass_of_step();
    layers->take(b, net, p);
    for (std::size_t k = 0; k < t.ground.tables.size(); ++k) {
      mini_batch::rows const& rows = b.of_table(k);
      std::uint64_t const width = t.ground.tables[k]->width();
      row_block<float> const data{static_cast<float*>(rows.data), width};
      scale_rows(x, data, rows.count, width, t.m.options.scaling);
      p.inputs.push_back({data.data, data.stride});
    }
    pick_labels(x, t.m.options, b.positions(), b.seeds(), known, drawn);
    t.give_step(p, drawn, b.seeds(), b.seeds(), t.adam_of_step());
    t.step_done();
  }
  evaluation evaluate() override {
    evaluator e(x, t.m.options, t.parts);
    auto const take = [&](std::uint64_t from, std::uint64_t count, row_block<float const> scores) { e.take(from, count, scores); };
    training_ground const& g = t.ground;
    if (g.several) {
      infer_types(x, *g.several, net, t.m.options.scaling, g.tables, t.o.side, t.o.weighted, std::nullopt, t.products, take);
    } else {
      if (!lists) lists.emplace(*g.one, t.o.side, t.o.weighted, false);
      layered_inference(x, *lists, t.m.options, net, *g.tables[0], std::nullopt).run(t.products, take);
    }
    return e.result();
  }

  std::optional<sampled_layers> layers;
  std::optional<block_sampler> sampler;
  std::optional<loader> batches;
  std::optional<whole_graph> lists;  // of evaluations
  near_labels drawn;                 // of a mini-batch
};
std::unique_ptr<training::impl::step_source> training::impl::step_source::sampled(impl& of) { return std::make_unique<sampled_source>(of); }

}  // namespace garner

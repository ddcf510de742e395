#include "core/progress.hpp"
#include "core/recording.hpp"
#include "nn/infer/whole.hpp"
#include "nn/train/source.hpp"

namespace garner {

void training::impl::graph_source::steps(epoch_report&) {
  if (t.epoch_steps) return;  // the last call was interrupted behind it
  agree_on_step();
  interrupts_held const whole_step;
  t.clock.begin(x);
  network<float>::pass p = t.pass_of_step(steady_pass());
  adam_step a = t.adam_of_step();
  if (numbers.size()) {
    x.write(numbers.data(), step_numbers{t.done_steps, a.corrections()});
    p.step_at = &numbers.data()->step, a.known = &numbers.data()->adam;
  }
  whole_room(x, t.of_scores, rows() * t.m.options.classes, "gradients of scores", x.near());
  run_step([this, p, a, n = rows()] { t.give_step(p, known, n, t.seeds.size(), a); });
  t.step_done();
}

struct training::impl::whole_source final : graph_source {
  explicit whole_source(impl& of) : graph_source(of) {
    training_ground const& g = t.ground;
    if (t.o.cuda_graph) number_steps();
    if (g.several) graph.emplace(x, *g.several, t.o.side, t.o.weighted, true);
    else graph.emplace(x, *g.one, t.o.side, t.o.weighted, aggregation_of(t.m.options.kind));
    known = t.parts.near_of_all(x, split_part::train);
  }
  std::uint64_t bytes() const override { return graph_source::bytes() + graph->bytes(); }
  void agree_on_step() override { check_interrupted(); }
  network<float>::pass pass() override { return graph->of(net, t.m.options.scaling, t.ground.tables, t.products); }
  std::uint64_t rows() const override { return t.ground.vertices(t.ground.target); }
  void run_step(std::function<void()> const& work) override { run(step, work); }
  void run(recording& by, std::function<void()> const& work) {
    if (t.o.cuda_graph) by.run(x, work);
    else work();
  }
  evaluation evaluate() override {
    judge_anew();
    std::uint64_t const n = rows();
    network<float>::pass p = steady_pass();
    p.leave_bias = !tells_area(t.m.options);
    run(evaluated, [this, n, p] {
      row_block<float> const scores = net.forward(x, p);
      judge->weigh(0, n, {scores.data, scores.stride}, net.bias_left(p));
    });
    judge->note(n);
    return judge->result();
  }
  void tell_captured(epoch_report& r) override {
    r.captured = step.parts();
    t.tell_refused(r, step.refused().empty() ? evaluated.refused() : step.refused());
  }

  std::optional<whole_pass> graph;
  recording step, evaluated;  // they know all that stands before them
};
std::unique_ptr<training::impl::step_source> training::impl::step_source::whole(impl& of) { return std::make_unique<whole_source>(of); }

}  // namespace garner

#include "core/progress.hpp"
#include "nn/graph_shard.hpp"
#include "nn/train/source.hpp"
#include "shard/recording.hpp"

namespace garner {

// All shards make the same calls in the same order.
struct training::impl::shard_source final : graph_source {
  explicit shard_source(impl& of) : graph_source(of), group(*t.o.shards) {
    t.ranks->join(t.o.rank, x, net.count());
    group.join(t.o.rank, x);
    t.require_same();
    graph_shard::require_rows(group.options(), net);
    part.emplace(group, t.o.rank, x, *t.ground.one, t.o.side, t.o.weighted, aggregation_of(t.m.options.kind));
    if (blocks() > 1 && !x.sink() && !group.options().host_activations) workers.emplace(x, t.o.math);
    if (t.o.cuda_graph && shard_recording::can(group, t.o.rank) && !comes_by_block()) {
      auto const one = [&] { return group.from_first(t.o.rank, [&] { return std::make_shared<shard_recording>(group); }); };
      step = one(), evaluated = one();
      number_steps();
    }
    known = part->labels(t.parts, split_part::train);
  }
  void leave() override {
    for (auto const& r : {step, evaluated})
      if (r) r->leave(t.o.rank);
  }
  std::uint64_t bytes() const override { return graph_source::bytes() + part->bytes(); }
  bool by_all() const override { return true; }
  std::uint64_t blocks() const override { return part->blocks(); }
  std::uint64_t stream() const override { return 0; }
  std::uint64_t rows() const override { return part->count(); }
  std::uint64_t position(std::uint64_t row) const override { return part->position(row); }

  void agree_on_step() override {
    if (t.ranks->any(t.o.rank, interrupt_requested()))
      fail(errc::interrupted, "interrupted before step {}; nothing was left half-written", t.done_steps + 1);
  }
  network<float>::pass pass() override {
    network<float>::pass p;
    p.products = &t.products;
    part->fill(p, net, t.m.options.scaling, *t.ground.tables[0]);
    if (!p.bring) p.workers = workers ? &*workers : nullptr;
    return p;
  }
  void run_step(std::function<void()> const& work) override { run(step, work); }
  void run(std::shared_ptr<shard_recording> const& by, std::function<void()> const& work) {
    if (by) by->run(t.o.rank, x, work);
    else work();
  }
  bool comes_by_block() const { return group.options().far_rows || group.options().host_activations; }
  // f(block, executor, losses) for each block, at once where there are workers.
  template <class F>
  void each_block(F const& f) {
    if (workers) return workers->each(x, blocks(), [&](block_worker<float>& w, std::size_t b) { f(b, w.x, w.loss); });
    for (std::uint64_t b = 0; b < blocks(); ++b) f(b, x, t.loss);
  }
  void take_losses(row_block<float> scores, float const* bias, near_labels const& of, std::uint64_t, std::uint64_t counted,
                   row_block<float> gradient) override {
    each_block([&](std::uint64_t b, executor& by, losses<float>& with) {
      std::uint64_t const first = part->block(b);
      take_loss(with, by, {scores.row(first), scores.stride}, of, t.m.options, part->block(b + 1) - first, counted,
                {gradient.row(first), gradient.stride}, t.totals.data() + b, first, bias);
    });
  }
  void share_gradients() override {
    each_block(
        [&](std::uint64_t b, executor& by, losses<float>&) { spoil(by, &(t.totals.data() + b)->bad, net.block_gradients().row(b)); });
    part->sum_gradients(net);
  }
  // Scores of all vertices on all shards; shard 0 evaluates them, and reports.
  evaluation evaluate() override {
    auto const begun = steady::now();
    interrupts_held const together;
    bool const area = tells_area(t.m.options);
    network<float>::pass p = steady_pass();
    p.leave_bias = !area;
    if (t.o.rank == 0) judge_anew();
    auto const give = [this, p, area] {
      row_block<float> const scores = net.forward(x, p);
      part->scores_of_all({scores.data, scores.stride}, t.m.options.classes,
                          [&](std::uint64_t from, std::uint64_t count, row_block<float const> found) {
                            judge->weigh(from, count, found, net.bias_left(p));
                            if (area) judge->note(from + count);
                          });
    };
    if (area) give();  // the host waits for the scores of each block
    else run(evaluated, give);
    if (t.o.rank == 0 && !area) judge->note(t.ground.vertices(t.ground.target));
    evaluation mine;
    if (t.o.rank == 0) mine = judge->result(), mine.ms = ms_since(begun);
    return from_bytes<evaluation>(t.ranks->all_gather(t.o.rank, bytes_of(mine))[0]);
  }
  void tell_captured(epoch_report& r) override {
    if (step) {
      r.captured = step->parts();
      t.tell_refused(r, step->refused().empty() ? evaluated->refused() : step->refused());
    } else if (t.o.cuda_graph && x.asynchronous()) {
      t.tell_refused(r, !group.options().scratch.empty()   ? "activations come from a file, for which the host waits"
                        : group.options().host_activations ? "activations come from host memory, for which the host waits"
                        : group.options().far_rows
                            ? "rows come by tier, for which the host waits"
                            : fmt::format("rows of other shards come over {}, for which the host waits", group.link(t.o.rank).about));
    }
  }

  shard_group& group;
  std::optional<graph_shard> part;
  std::optional<block_workers<float>> workers;
  std::shared_ptr<shard_recording> step, evaluated;  // of all shards; null: they are not captured
};
std::unique_ptr<training::impl::step_source> training::impl::step_source::shard(impl& of) { return std::make_unique<shard_source>(of); }

}  // namespace garner

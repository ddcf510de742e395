// Training: mini-batches of the loader, or the whole graph, through a network, and Adam. Invariant: after any number of steps the state
// (parameters, Adam's moments, the loader's position, totals, the best so far) determines all later steps, and keep() writes all of it; a
// step whose loss or gradients are not finite leaves the state unchanged. The host waits for the device at the end of an epoch and every 64
// steps. A step of the whole graph, with the evaluation behind it, is captured and replayed: what differs by step is in device memory
// (step_numbers). Ranks agree on each step before it, and have the same parameters after it. Shards are ranks that train on a part of the
// whole graph each, captured together if no host waits in a step; their reductions go by the blocks of their parts. Cost: three numbers per
// parameter besides itself, and the cost of network.hpp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "comm/rank_group.hpp"
#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/recording.hpp"
#include "files/checkpoint.hpp"
#include "graph/handle.hpp"
#include "nn/decide_shards.hpp"
#include "nn/evaluate.hpp"
#include "nn/graph_shard.hpp"
#include "nn/infer/infer.hpp"
#include "nn/infer/one_type.hpp"
#include "nn/infer/whole.hpp"
#include "nn/model.hpp"
#include "nn/sampled.hpp"
#include "shard/recording.hpp"

namespace garner {

namespace {

constexpr std::uint64_t steps_unseen = 64;

void check_share(char const* what, double share) {
  if (!(share >= 0 && share < 1)) fail(errc::usage, "{} {}: use 0 to less than 1", what, share);
}

// Plain numbers in a text, for the other ranks.
template <class T>
std::string bytes_of(T const& value) {
  return {reinterpret_cast<char const*>(&value), sizeof value};
}
template <class T>
T from_bytes(std::string const& text) {
  T value;
  std::memcpy(&value, text.data(), sizeof value);
  return value;
}
// Device memory that a captured step reads.
struct step_numbers {
  std::uint64_t step = 0;  // done before it
  adam_corrections adam{};
};
struct told_evaluation {
  enum : std::uint32_t { done, interrupted } how = done;
  evaluation found;
};
// What the steps of an epoch took, by the device's clock where they run on one: of these the sum is known when the host has waited.
class step_clock {
 public:
  void restart() { ms_ = 0, open_ = 0; }
  void begin(executor& x) {
    begun_ = steady::now();
    if (open_ == laps_.size()) laps_.emplace_back();
    laps_[open_].first.record(x);
  }
  void end(executor& x) {
    if (x.asynchronous()) laps_[open_++].second.record(x);
    else ms_ += ms_since(begun_);
  }
  void waited() {
    for (; open_; --open_) ms_ += laps_[open_ - 1].first.ms_until(laps_[open_ - 1].second);
  }
  double ms() const { return ms_; }

 private:
  std::vector<std::pair<event, event>> laps_;
  std::size_t open_ = 0;
  steady::time_point begun_;
  double ms_ = 0;
};

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

// Vertices, edges and rows, of one type or of several.
struct training_ground {
  graph_handle const* one = nullptr;
  hetero_graph const* several = nullptr;
  std::vector<tiered_tensor*> tables;  // a type
  std::uint32_t target = 0;

  std::string const& name() const { return one ? one->name() : several->name(); }
  std::uint64_t vertices(std::size_t type) const { return one ? one->info().vertices : several->types()[type].count; }
  std::string of_type(std::size_t type) const { return one ? "" : fmt::format("'{}': ", several->types()[type].name); }
};

struct training::impl {
  gnn_model::parts& m;
  training_ground const ground;
  training_options o;
  executor& x;
  blas products;
  labelled_parts parts;
  rank_group* const ranks;  // null: one
  std::vector<std::int64_t> seeds;
  std::optional<whole_graph> lists;  // of evaluations
  // For whole-graph steps.
  std::optional<whole_pass> whole;
  std::optional<graph_shard> shard;
  std::optional<block_workers<float>> workers;
  // For mini-batches.
  std::optional<sampled_layers> layers;
  std::optional<block_sampler> sampler;
  std::optional<loader> batches;
  near_labels known;  // of the seeds, in their order; with a whole graph of all vertices
  near_labels drawn;  // of a mini-batch
  losses<float> loss;
  buffer<float> first, second, of_scores;
  buffer<loss_totals> totals;
  std::uint64_t done_epochs = 0, done_steps = 0, epoch_steps = 0;
  enum class stage : std::uint8_t { between, steps, evaluation };  // of an epoch: what comes next
  stage at = stage::between;
  step_clock clock;
  std::vector<float> best_values;
  std::uint64_t best = 0, worse = 0;  // the epoch, 0: none; evaluations since
  double best_loss = 0;
  // For the whole graph.
  std::optional<evaluator> judge;
  buffer<step_numbers> numbers;
  recording step_recorded, evaluation_recorded;                     // they know all that stands before them
  std::shared_ptr<shard_recording> shards_step, shards_evaluation;  // of all shards; null: they are not captured
  bool refusal_told = false;
  wait_at_end settled{x};

  impl(gnn_model& model, training_ground on, labeled_nodes const& from, training_options const& options)
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
  ~impl() {
    for (auto const& r : {shards_step, shards_evaluation})
      if (r) r->leave(o.rank);
  }
  std::uint64_t blocks() const { return shard ? shard->blocks() : 1; }

  void make_sampler(block_options const& b) {
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

  // What must be the same on all ranks, for them to stay so.
  void require_same() const {
    std::string mine;
    for (auto const& [what, value] : made_for()) mine += fmt::format("{}: {}\n", what, value);
    if (o.shards && o.shards->of_processes()) mine += fmt::format("lists: {:016x}\n", digest_of(*ground.one));
    mine += fmt::format("evaluation: every {} epochs, patience {}\nend: after {} epochs\nstep: {}\nparameters: {:016x}\n", o.evaluate_every,
                        *o.patience, *o.epochs, done_steps, checked_values());
    ranks->require_same(o.rank, mine);
  }
  std::uint64_t checked_values() const {
    std::vector<float> values(m.net.count());
    x.copy(values.data(), m.net.values(), values.size() * sizeof(float));
    x.wait();
    std::uint64_t sum = 1;
    for (float const v : values) sum = mix(sum ^ std::bit_cast<std::uint32_t>(v));
    return sum;
  }

  void check() {
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
  // By the number of training nodes. An epoch of many steps learns more than one of few, so ends are counted in steps.
  void choose_unset() {
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
  void check_shards() const {
    if (o.ranks) fail(errc::usage, "shards and ranks; use one of them");
    if (!o.fanouts.empty()) fail(errc::usage, "shards and fanouts: shards are of the whole graph; leave the fanouts out, or use ranks");
    if (ground.several) fail(errc::usage, "{}: several types of vertices are not split into shards; train without", ground.name());
  }
  void check_types() {
    require_types(m, *ground.several, ground.tables, o.side);
    if (o.graph_cache) fail(errc::usage, "{}: lists of several types lie where they lie; leave out those to keep", ground.name());
  }
  buffer<float> zeros(std::uint64_t n) {
    buffer<float> made(x.near(), n, x.device(), "moments of Adam");
    x.fill(made.data(), 0, made.bytes());
    return made;
  }
  // For the first block; those of others are 0.
  void set_totals(loss_totals const& t) {
    std::vector<loss_totals> all(blocks());
    all[0] = t;
    x.copy(totals.data(), all.data(), all.size() * sizeof(loss_totals));
    x.wait();
  }
  std::vector<loss_totals> totals_seen() const {  // a block each
    std::vector<loss_totals> all(blocks());
    x.copy(all.data(), totals.data(), all.size() * sizeof(loss_totals));
    x.wait();
    return all;
  }
  static loss_totals sum_of(std::vector<loss_totals> const& all) {
    loss_totals sum;
    for (loss_totals const& t : all) {
      sum.loss += t.loss, sum.correct += t.correct, sum.counted += t.counted;
      sum.bad = std::min(sum.bad, t.bad);
    }
    return sum;
  }

  // `p`: of the rows and edges.
  network<float>::pass pass_of_step(network<float>::pass p = {}) {
    p.products = &products;
    p.training = true;
    p.input_dropout = *o.input_dropout, p.dropout = *o.dropout;
    p.leave_bias = true;
    p.seed = o.seed + 0x5eed + (shard ? 0 : o.rank) * 0x9e3779b97f4a7c15ull, p.step = done_steps;
    return p;
  }
  adam_step adam_of_step() const {
    adam_step a;
    a.rate = o.learning_rate, a.decay = *o.weight_decay, a.step = done_steps + 1;
    return a;
  }
  // `bias`: what the scores still lack.
  void take_losses(row_block<float> scores, float const* bias, near_labels const& of, std::uint64_t rows, std::uint64_t counted,
                   row_block<float> gradient) {
    if (!shard) take_loss(loss, x, {scores.data, scores.stride}, of, m.options, rows, counted, gradient, totals.data(), 0, bias);
    auto const one = [&](std::uint64_t b, executor& by, losses<float>& with) {
      std::uint64_t const at = shard->block(b);
      take_loss(with, by, {scores.row(at), scores.stride}, of, m.options, shard->block(b + 1) - at, counted,
                {gradient.row(at), gradient.stride}, totals.data() + b, at, bias);
    };
    if (workers) workers->each(x, blocks(), [&](block_worker<float>& w, std::size_t b) { one(b, w.x, w.loss); });
    for (std::uint64_t b = 0; shard && !workers && b < blocks(); ++b) one(b, x, loss);
  }
  // Forward, loss, backward, Adam.
  void give_step(network<float>::pass const& p, near_labels const& of, std::uint64_t rows, std::uint64_t counted, adam_step const& a) {
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
  void step_done() {
    clock.end(x);
    ++done_steps, ++epoch_steps;
    if (done_steps % steps_unseen == 0) look();
  }
  network<float>::pass pass_of_whole() {
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
  void give_recorded(recording& alone, std::shared_ptr<shard_recording> const& by_all, std::function<void()> const& work) {
    if (by_all) by_all->run(o.rank, x, work);
    else if (!shard && o.cuda_graph) alone.run(x, work);
    else work();
  }
  void step_of_whole() {
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
  void step(mini_batch const& b) {
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
  std::vector<loss_totals> look() {
    std::vector<loss_totals> const seen = totals_seen();
    clock.waited();
    if (sum_of(seen).bad != ~std::uint64_t{0}) tell_bad();
    return seen;
  }
  [[noreturn]] void tell_bad() {
    loss_totals clean = sum_of(totals_seen());
    clean.bad = ~std::uint64_t{0}, clean.loss = 0;
    set_totals(clean);
    network<float>& net = m.net;
    for (parameter const& p : net.parameters())
      for (std::uint64_t r = 0; r < p.rows; ++r)
        if (first_bad(x, net.values() + p.offset + r * p.stride, p.columns) != ~std::uint64_t{0})
          fail(errc::input, "parameter {} of layer {} holds a number that is not finite; begin with another model file", p.name,
               p.layer + 1);
    constexpr std::uint64_t some = 1u << 16;
    std::string of_rows;  // ranks may have read different tables
    try {
      for (std::size_t t = 0; t < ground.tables.size(); ++t) {
        std::uint64_t const n = ground.vertices(t);
        buffer<float> rows(x.near(), std::min(some, n) * ground.tables[t]->width(), x.device(), "a search for numbers that are not finite");
        of_rows = ground.of_type(t);
        for (std::uint64_t at = 0; at < n; at += some)
          take_rows(x, *ground.tables[t], row_scaling::none, at, std::min(some, n - at), rows.data());
      }
      of_rows.clear();
    } catch (error const& e) {
      of_rows += e.what();
      if (!ranks) fail(e.code(), "{}", of_rows);
    }
    if (ranks) {
      std::vector<std::string> const all = ranks->tell_all(o.rank, of_rows);
      for (std::size_t k = 0; k < all.size(); ++k)
        if (!all[k].empty()) fail(errc::input, "rank {}: {}", k, all[k]);
    }
    if (o.fanouts.empty()) search_rows(clean);
    for (parameter const& p : net.parameters())
      for (std::uint64_t r = 0; r < p.rows; ++r)
        if (first_bad(x, net.gradients() + p.offset + r * p.stride, p.columns) != ~std::uint64_t{0})
          fail(errc::input, "the gradient of {} in layer {} grew beyond what a float holds, in epoch {}; use a smaller rate than {}",
               p.name, p.layer + 1, done_epochs + 1, o.learning_rate);
    fail(errc::input, "scores grew beyond what a float holds, in epoch {}; use a smaller rate than {}", done_epochs + 1, o.learning_rate);
  }

  // Repeats the last step of the whole graph, checking where rows, or their gradients, first are not finite. errc::input names that
  // place.
  void search_rows(loss_totals const& clean) {
    struct {
      std::uint64_t turn = ~std::uint64_t{0}, position = 0;  // which rows it was that were seen
      float value = 0;
      std::uint32_t layer = 0, type = 0;
      bool forward = false;
    } first;
    std::uint64_t turn = 0;
    network<float>::pass p = pass_of_step(pass_of_whole());
    p.step = done_steps - 1, p.leave_bias = false;
    p.watch = [&](char const* what, std::uint32_t layer, std::uint32_t type, row_block<float const> rows, std::uint64_t count,
                  std::uint64_t columns) {
      ++turn;
      if (first.turn != ~std::uint64_t{0} || count == 0) return;
      std::uint64_t const bad = first_bad(x, rows.data, count * columns);
      if (bad == ~std::uint64_t{0}) return;
      first.turn = turn, first.layer = layer, first.type = type, first.forward = what == std::string_view("rows");
      first.position = shard ? shard->position(bad / columns) : bad / columns;
      first.value = x.read(rows.data + bad);
    };
    row_block<float> const scores = m.net.forward(x, p);
    std::uint64_t const rows = shard ? shard->count() : ground.vertices(ground.target);
    row_block<float> const gradient{room(x, of_scores, rows * m.options.classes, "gradients of scores"), m.options.classes};
    take_losses(scores, m.net.bias_left(p), known, rows, seeds.size(), gradient);
    m.net.backward(x, p, gradient);
    set_totals(clean);
    if (ranks)  // the first of all shards
      for (std::string const& said : ranks->tell_all(o.rank, bytes_of(first)))
        if (auto const other = from_bytes<decltype(first)>(said);
            std::pair(other.turn, other.position) < std::pair(first.turn, first.position))
          first = other;
    if (first.turn == ~std::uint64_t{0}) return;
    std::string const vertex = ground.one ? std::to_string(ground.one->ids()[first.position])
                                          : fmt::format("{} of '{}'", first.position, ground.several->types()[first.type].name);
    fail(errc::input,
         "the {} layer {} grew beyond what a float holds, in epoch {}: first at vertex {}, where {} came out; use a smaller rate than {}",
         first.forward ? "rows behind" : "gradient of the rows behind", first.layer + 1, done_epochs + 1, vertex, first.value,
         o.learning_rate);
  }

  epoch_report next() {
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

  // None, of ranks: this one was interrupted.
  std::optional<std::optional<mini_batch>> next_batch(stream_ref stream) {
    try {
      return batches->next(stream);
    } catch (error const& e) {
      if (!ranks || e.code() != errc::interrupted) throw;
      return {};
    }
  }
  // By rank 0; the others wait.
  evaluation evaluate_for_all() {
    told_evaluation mine;
    if (o.rank == 0) try {
        mine.found = evaluate();
      } catch (error const& e) {
        if (e.code() != errc::interrupted) throw;
        mine.how = told_evaluation::interrupted;
      }
    auto const told = from_bytes<told_evaluation>(ranks->tell_all(o.rank, bytes_of(mine))[0]);
    if (told.how == told_evaluation::interrupted)
      fail(errc::interrupted, "interrupted behind epoch {}; nothing was left half-written", done_epochs);
    return told.found;
  }

  // Whether it is the best so far.
  bool weigh(evaluation const& e) {
    if (e.validation.vertices == 0) return false;
    if (best && !(e.validation.loss < best_loss)) {
      ++worse;
      return false;
    }
    best_values.resize(m.net.count());
    x.copy(best_values.data(), m.net.values(), best_values.size() * sizeof(float));
    x.wait();
    best_loss = e.validation.loss, best = done_epochs, worse = 0;
    return true;
  }

  // What must be the same again, for the steps that come to be those that would have come.
  // With `other`, of a checkpoint: a strategy of the same bits does not differ from its own.
  checkpoint::texts made_for(checkpoint::texts const* other = nullptr) const {
    std::uint64_t seeds_and_labels = mix(seeds.size());
    auto const& part = parts.of(split_part::train);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      seeds_and_labels = mix(seeds_and_labels ^ mix(static_cast<std::uint64_t>(seeds[i]) + 1));
      if (!part.classes.empty()) seeds_and_labels = mix(seeds_and_labels ^ static_cast<std::uint64_t>(part.classes[i]));
    }
    for (float const a : part.answers) seeds_and_labels = mix(seeds_and_labels ^ (a != 0 ? 1 : 2));
    return {
        {"model", to_text(m.options)},
        {"graph", told_graph()},
        {"features", told_tables()},
        {"training set", fmt::format("{} vertices ({:016x})", seeds.size(), seeds_and_labels)},
        {"fanouts", o.fanouts.empty() ? "whole graph" : fmt::format("{} of mini-batches of {}", fmt::join(o.fanouts, ","), o.batch_size)},
        {"seed", std::to_string(o.seed)},
        {"optimiser", fmt::format("rate {}, decay {}", o.learning_rate, *o.weight_decay)},
        {"dropout", fmt::format("{}, of rows {}", *o.dropout, *o.input_dropout)},
        {"ranks", o.shards ? split_of(other) : std::to_string(ranks ? ranks->ranks() : 1)}};
  }
  std::string split_of(checkpoint::texts const* other) const {
    shard_options same = o.shards->options();
    std::string const mine = split_words(same);
    if (!other || !other->contains("ranks") || same.sums != shard_reduction::deterministic) return mine;
    for (shard_strategy const s : {shard_strategy::bulk, shard_strategy::collective})
      if (same.strategy = s; split_words(same) == other->at("ranks")) return other->at("ranks");
    return mine;
  }
  std::string told_graph() const {
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
  std::string told_tables() const {
    std::string all;
    for (tiered_tensor const* t : ground.tables)
      all += fmt::format("{}{} rows of {} {}", all.empty() ? "" : ", ", t->rows(), t->width(), to_string(t->kind()));
    return all;
  }
  std::vector<float> here(buffer<float> const& from) const {
    std::vector<float> values(from.size());
    x.copy(values.data(), from.data(), from.bytes());
    x.wait();
    return values;
  }
  void keep(std::filesystem::path const& file) const {
    std::optional<interrupts_held> together;  // the next step notifies all ranks
    if (ranks) together.emplace();
    network<float> const& net = m.net;
    checkpoint c;
    c.made_for = made_for();
    std::vector<float> values(net.count());
    x.copy(values.data(), net.values(), values.size() * sizeof(float));
    x.wait();
    std::uint64_t const n = net.count();
    std::vector<std::string> states{bytes_of(sum_of(totals_seen())) + (batches ? batches->state().text() : "")};
    if (ranks) states = ranks->tell_all(o.rank, states[0]);
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
    if (ranks) ranks->meet(o.rank);  // it is there
  }
  static std::string loader_of(std::size_t rank) { return rank ? fmt::format("loader of rank {}", rank) : "loader"; }
  void resume(std::filesystem::path const& file) {
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
    if (batches) batches->resume(load_state::parse(c.fact(loader_of(mine))));
    x.copy(m.net.values(), values.data(), n * sizeof(float));
    x.copy(first.data(), one.data(), n * sizeof(float));
    x.copy(second.data(), two.data(), n * sizeof(float));
    x.copy(totals.data(), totals_there.data(), totals_there.size() * sizeof(loss_totals));
    x.wait();
    done_epochs = counters[0], done_steps = counters[1], epoch_steps = counters[2], at = static_cast<stage>(counters[3]);
    best = counters[4], worse = counters[5], best_loss = best_loss_there, best_values = std::move(best_there);
    if (ranks) require_same();
  }

  void judge_anew() {
    if (judge) judge->begin();
    else judge.emplace(x, m.options, parts);
  }
  // Scores of all vertices on all shards; shard 0 evaluates them, and reports.
  evaluation evaluate_shards() {
    auto const begun = steady::now();
    interrupts_held const together;
    network<float>::pass p = pass_of_whole();
    p.leave_bias = !tells_area(m.options);
    if (o.rank == 0) judge_anew();
    auto const give = [this, p] {
      row_block<float> const scores = m.net.forward(x, p);
      shard->scores_of_all({scores.data, scores.stride}, m.options.classes,
                           [&](std::uint64_t from, std::uint64_t count, row_block<float const> found) {
                             judge->weigh(from, count, found, m.net.bias_left(p));
                             if (tells_area(m.options)) judge->note(from + count);
                           });
    };
    if (tells_area(m.options)) give();  // the host waits for the scores of each block
    else give_recorded(evaluation_recorded, shards_evaluation, give);
    if (o.rank == 0 && !tells_area(m.options)) judge->note(ground.vertices(ground.target));
    evaluation mine;
    if (o.rank == 0) mine = judge->result(), mine.ms = ms_since(begun);
    return from_bytes<evaluation>(ranks->tell_all(o.rank, bytes_of(mine))[0]);
  }
  evaluation evaluate() {
    if (shard) return evaluate_shards();
    auto const begun = steady::now();
    evaluation found = whole ? evaluate_whole() : evaluate_in_parts();
    found.ms = ms_since(begun);
    return found;
  }
  evaluation evaluate_whole() {
    judge_anew();
    std::uint64_t const n = ground.vertices(ground.target);
    network<float>::pass p = pass_of_whole();
    p.leave_bias = !tells_area(m.options);
    auto const give = [this, n, p] {
      row_block<float> const scores = m.net.forward(x, p);
      judge->weigh(0, n, {scores.data, scores.stride}, m.net.bias_left(p));
    };
    give_recorded(evaluation_recorded, shards_evaluation, give);
    judge->note(n);
    return judge->result();
  }
  evaluation evaluate_in_parts() {
    evaluator e(x, m.options, parts);
    auto const take = [&](std::uint64_t from, std::uint64_t count, row_block<float const> scores) { e.take(from, count, scores); };
    if (ground.several) {
      infer_types(x, *ground.several, m.net, m.options.scaling, ground.tables, o.side, o.weighted, std::nullopt, products, take);
    } else {
      if (!lists) lists.emplace(*ground.one, o.side, o.weighted, false);
      layered_inference(x, *lists, m.options, m.net, *ground.tables[0], std::nullopt).run(products, take);
    }
    return e.result();
  }
};

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

#include "nn/train/impl.hpp"

#include <algorithm>

#include "core/progress.hpp"
#include "nn/train/source.hpp"

namespace garner {

namespace {
constexpr std::uint64_t steps_unseen = 64;

struct told_evaluation {
  enum : std::uint32_t { done, interrupted } how = done;
  evaluation found;
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

training::impl::impl(gnn_model& model, training_ground on, labeled_nodes const& from, training_options const& options)
    : m(model.inside()),
      ground(std::move(on)),
      o(placed(m, ground, options)),
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
  source = o.shards ? step_source::shard(*this) : o.fanouts.empty() ? step_source::whole(*this) : step_source::sampled(*this);
  totals = buffer<loss_totals>(x.near(), 2 * blocks(), x.device(), "totals");  // and as they were before a step
  set_totals({});
  if (!ranks || source->by_all()) return;
  ranks->join(o.rank, x, net.count());
  require_same();
}

training::impl::~impl() {
  if (source) source->leave();
}
std::uint64_t training::impl::blocks() const { return source->blocks(); }

network<float>::pass training::impl::pass_of_step(network<float>::pass p) {
  p.products = &products;
  p.training = true;
  p.input_dropout = *o.input_dropout, p.dropout = *o.dropout;
  p.leave_bias = true;
  p.seed = o.seed + 0x5eed + source->stream() * 0x9e3779b97f4a7c15ull, p.step = done_steps;
  return p;
}

void training::impl::give_step(network<float>::pass const& p, near_labels const& of, std::uint64_t rows, std::uint64_t counted,
                               adam_step const& a) {
  network<float>& net = m.net;
  std::uint64_t const classes = m.options.classes;
  row_block<float> const scores = net.forward(x, p);
  x.copy(totals.data() + blocks(), totals.data(), blocks() * sizeof(loss_totals));
  row_block<float> const gradient{room(x, of_scores, rows * classes, "gradients of scores"), classes};
  try {
    source->take_losses(scores, net.bias_left(p), of, rows, counted, gradient);
    net.backward(x, p, gradient);
  } catch (...) {  // memory that ran out: the step comes again, and counts once
    x.copy(totals.data(), totals.data() + blocks(), blocks() * sizeof(loss_totals));
    throw;
  }
  source->share_gradients();
  mark_bad(x, net.gradients(), net.count(), std::uint64_t{0}, &totals.data()->bad);
  adam(x, net.values(), net.gradients(), first.data(), second.data(), net.count(), a, &totals.data()->bad);
}

void training::impl::step_done() {
  clock.end(x);
  ++done_steps, ++epoch_steps;
  if (done_steps % steps_unseen == 0) look();
}

std::vector<loss_totals> training::impl::look() {
  std::vector<loss_totals> const seen = totals_seen();
  clock.waited();
  if (sum_of(seen).bad != ~std::uint64_t{0}) tell_bad();
  return seen;
}

void training::impl::begin_epoch() {
  if (at != stage::between) return;
  set_totals({});
  clock.restart();
  epoch_steps = 0, steps_ms = 0, at = stage::steps;
}

std::optional<step_report> training::impl::next_steps(std::uint64_t most) {
  auto const begun = steady::now();
  if (at == stage::evaluation || o.fanouts.empty()) return {};
  begin_epoch();
  loss_totals const before = sum_of(totals_seen());
  std::uint64_t const steps_before = epoch_steps;
  steps_until = epoch_steps + std::min(most, ~epoch_steps);
  epoch_report ignored;
  try {
    source->steps(ignored);
  } catch (...) {
    steps_until = ~std::uint64_t{0};
    throw;
  }
  steps_until = ~std::uint64_t{0};
  loss_totals const now = sum_of(look());
  steps_ms += ms_since(begun);
  if (epoch_steps == steps_before) return {};
  auto const counted = static_cast<double>(std::max<std::uint64_t>(now.counted - before.counted, 1));
  return step_report{done_epochs + 1, done_steps, (now.loss - before.loss) / counted,
                     static_cast<double>(now.correct - before.correct) / counted};
}

epoch_report training::impl::next() {
  auto const begun = steady::now();
  begin_epoch();
  epoch_report r;
  if (at != stage::evaluation) source->steps(r);  // else the last call was interrupted in it
  std::vector<loss_totals> blocks_seen = look();
  if (ranks) {
    std::string mine;
    for (loss_totals const& t : blocks_seen) mine += bytes_of(t);
    blocks_seen.clear();
    for (std::string const& said : ranks->all_gather(o.rank, mine))
      for (std::size_t at = 0; at < said.size(); at += sizeof(loss_totals))
        blocks_seen.push_back(from_bytes<loss_totals>(said.substr(at, sizeof(loss_totals))));
  }
  loss_totals const seen = sum_of(blocks_seen);
  if (at == stage::steps) ++done_epochs;
  at = stage::evaluation;
  r.epoch = done_epochs, r.steps = epoch_steps;
  auto const counted = static_cast<double>(std::max<std::uint64_t>(seen.counted, 1));
  r.loss = seen.loss / counted, r.accuracy = static_cast<double>(seen.correct) / counted;
  r.ms = steps_ms + ms_since(begun), r.model_ms = clock.ms();
  if (o.evaluate_every && done_epochs % o.evaluate_every == 0) r.exact = ranks && !source->by_all() ? evaluate_for_all() : evaluate();
  source->tell_captured(r);
  if (r.exact) r.best = weigh(*r.exact);  // last, since it counts
  at = stage::between;
  return r;
}

void training::impl::tell_refused(epoch_report& r, std::string const& why) {
  if (!why.empty() && !std::exchange(refusal_told, true)) r.not_captured = why;
}

evaluation training::impl::evaluate_for_all() {
  told_evaluation mine;
  if (o.rank == 0) try {
      mine.found = evaluate();
    } catch (error const& e) {
      if (e.code() != errc::interrupted) throw;
      mine.how = told_evaluation::interrupted;
    }
  auto const told = from_bytes<told_evaluation>(ranks->all_gather(o.rank, bytes_of(mine))[0]);
  if (told.how == told_evaluation::interrupted)
    fail(errc::interrupted, "interrupted behind epoch {}; nothing was left half-written", done_epochs);
  return told.found;
}

bool training::impl::weigh(evaluation const& e) {
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

evaluation training::impl::evaluate() {
  auto const begun = steady::now();
  evaluation found = source->evaluate();
  if (!source->by_all()) found.ms = ms_since(begun);
  return found;
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
std::optional<step_report> training::next_steps(std::uint64_t most) {
  return told_to(
      impl_->ranks, impl_->o.rank, [&] { return impl_->next_steps(most); }, true);
}
evaluation training::evaluate() {
  return told_to(impl_->source->by_all() ? impl_->ranks : nullptr, impl_->o.rank, [&] { return impl_->evaluate(); });
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
  return t.m.net.bytes() + t.first.bytes() + t.second.bytes() + t.of_scores.bytes() + t.source->bytes();
}

}  // namespace garner

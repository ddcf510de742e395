#include "nn/train/impl.hpp"

#include "core/progress.hpp"
#include "nn/infer/infer.hpp"
#include "nn/infer/one_type.hpp"

namespace garner {

namespace {
struct told_evaluation {
  enum : std::uint32_t { done, interrupted } how = done;
  evaluation found;
};
}  // namespace

evaluation training::impl::evaluate_for_all() {
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

void training::impl::judge_anew() {
  if (judge) judge->begin();
  else judge.emplace(x, m.options, parts);
}

evaluation training::impl::evaluate_shards() {
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

evaluation training::impl::evaluate() {
  if (shard) return evaluate_shards();
  auto const begun = steady::now();
  evaluation found = whole ? evaluate_whole() : evaluate_in_parts();
  found.ms = ms_since(begun);
  return found;
}

evaluation training::impl::evaluate_whole() {
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

evaluation training::impl::evaluate_in_parts() {
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

}  // namespace garner

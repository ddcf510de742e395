#include "nn/evaluate.hpp"

#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "garner/handle.hpp"

namespace garner {

labelled_parts::labelled_parts(labeled_nodes const& known, std::string const& graph, std::uint64_t vertices, model_options const& o)
    : vertices_(vertices), width_(o.labels == label_kind::single_label ? 1 : o.classes) {
  row_array const& labels = known.labels;
  if (labels.rows < vertices_)
    fail(errc::input, "{} labels, and {} has {} vertices; give each vertex one, -1 where none is known", labels.rows, graph, vertices_);
  if (known.split.size() < vertices_)
    fail(errc::input, "a split of {}, and {} has {} vertices; give each vertex a part: 1 train, 2 validation, 3 test, 0 none",
         known.split.size(), graph, vertices_);
  bool const one = o.labels == label_kind::single_label;
  if (one && (labels.kind != element::i64 || labels.width != 1))
    fail(errc::usage, "labels of {} x {}: a class each is one i64 a vertex", labels.width, to_string(labels.kind));
  if (!one && ((labels.kind != element::u8 && labels.kind != element::f32) || labels.width != o.classes))
    fail(errc::usage, "labels of {} x {}: answers are {} u8 or f32 a vertex, one a class", labels.width, to_string(labels.kind), o.classes);
  for (std::uint64_t v = 0; v < vertices_; ++v) {
    std::uint8_t const which = known.split[v];
    if (which > 3) fail(errc::input, "part {} at position {} of the split: use 1 train, 2 validation, 3 test, 0 none", which, v);
    if (which == 0) continue;
    part& p = parts_[which];
    if (one) {
      std::int64_t const label = static_cast<std::int64_t const*>(labels.data)[v];
      if (label < 0 && which == 1)
        fail(errc::input, "vertex at position {} is to train with and has the label {}: no class; take it out of the split", v, label);
      if (label < 0) continue;
      if (static_cast<std::uint64_t>(label) >= o.classes)
        fail(errc::input, "label {} at position {} is not one of the model's {} classes, counted from 0; use more classes", label, v,
             o.classes);
      p.positions.push_back(static_cast<std::int64_t>(v)), p.classes.push_back(label);
      continue;
    }
    p.positions.push_back(static_cast<std::int64_t>(v));
    for (std::uint64_t c = 0; c < o.classes; ++c) {
      std::uint64_t const at = v * o.classes + c;
      float const answer =
          labels.kind == element::u8 ? static_cast<std::uint8_t const*>(labels.data)[at] : static_cast<float const*>(labels.data)[at];
      if (answer != 0 && answer != 1) fail(errc::input, "answer {} of class {} at position {}: use 0 or 1", answer, c, v);
      p.answers.push_back(answer);
    }
  }
}

near_labels labelled_parts::near_of(executor& x, split_part p) const {
  return {bring(x, of(p).classes, "labels"), bring(x, of(p).answers, "labels")};
}
template <class F>
near_labels labelled_parts::near_of(executor& x, split_part p, std::uint64_t count, F const& row_of) const {
  part const& from = of(p);
  bool const one = width_ == 1 && from.answers.empty();
  std::vector<std::int64_t> classes(one ? count : 0, -1);
  std::vector<float> answers(one ? 0 : count * width_, -1);
  for (std::size_t i = 0; i < from.positions.size(); ++i) {
    std::uint64_t const at = row_of(i);
    if (at >= count) continue;
    if (one) classes[at] = from.classes[i];
    else
      std::copy_n(from.answers.begin() + static_cast<std::ptrdiff_t>(i * width_), width_,
                  answers.begin() + static_cast<std::ptrdiff_t>(at * width_));
  }
  return {bring(x, classes, "labels"), bring(x, answers, "labels")};
}
near_labels labelled_parts::near_of_range(executor& x, split_part p, std::uint64_t first, std::uint64_t count) const {
  return near_of(x, p, count, [&](std::size_t i) { return static_cast<std::uint64_t>(of(p).positions[i]) - first; });
}
near_labels labelled_parts::near_of_rows(executor& x, split_part p, std::span<std::int64_t const> positions) const {
  auto const& labelled = of(p).positions;
  std::vector<std::uint64_t> row_of(labelled.size(), ~std::uint64_t{0});
  for (std::size_t k = 0; k < positions.size(); ++k) {
    auto const at = std::lower_bound(labelled.begin(), labelled.end(), positions[k]);
    if (at != labelled.end() && *at == positions[k]) row_of[static_cast<std::size_t>(at - labelled.begin())] = k;
  }
  return near_of(x, p, positions.size(), [&](std::size_t i) { return row_of[i]; });
}

void pick_labels(executor& x, model_options const& o, std::int64_t const* positions, std::uint64_t count, near_labels const& from,
                 near_labels& to) {
  if (o.labels == label_kind::single_label) pick(x, positions, count, from.classes.data(), room(x, to.classes, count, "labels"));
  else pick(x, positions, count, from.answers.data(), o.classes, room(x, to.answers, count * o.classes, "labels"));
}

void take_loss(losses<float>& with, executor& x, row_block<float const> scores, near_labels const& of, model_options const& o,
               std::uint64_t rows, std::uint64_t counted, row_block<float> gradient, loss_totals* totals, std::uint64_t first,
               float const* bias) {
  auto const mean = 1 / static_cast<double>(counted);
  if (o.labels == label_kind::single_label)
    with.softmax(x, scores, of.classes.data() + first, rows, o.classes, mean, gradient, totals, bias);
  else
    with.sigmoid(x, scores, of.answers.data() + first * o.classes, rows, o.classes, mean / static_cast<double>(o.classes), gradient, totals,
                 bias);
}

evaluator::evaluator(executor& x, model_options const& o, labelled_parts const& parts) : x_(x), o_(o), parts_(parts) {
  for (split_part const p : {split_part::train, split_part::validation, split_part::test})
    sides_.push_back({p,
                      bring(x, parts.of(p).positions, "positions of labels"),
                      parts.near_of(x, p),
                      buffer<loss_totals>(x.near(), 1, x.device(), "totals"),
                      tells_area(o_) && p != split_part::train,
                      {},
                      0,
                      {}});
  begin();
}

void evaluator::begin() {
  loss_totals const none;
  for (side& s : sides_) {
    x_.copy(s.totals.data(), &none, sizeof none);
    s.seen = 0, s.margins.clear();
  }
  x_.wait();
}

std::uint64_t evaluator::below(side const& s, std::uint64_t end) const {
  auto const& positions = parts_.of(s.which).positions;
  return static_cast<std::uint64_t>(std::lower_bound(positions.begin(), positions.end(), static_cast<std::int64_t>(end)) -
                                    positions.begin());
}

void evaluator::weigh(std::uint64_t first, std::uint64_t count, row_block<float const> scores, float const* bias) {
  for (side& s : sides_) {
    std::uint64_t const from = below(s, first), n = below(s, first + count) - from;
    if (n == 0) continue;
    row_block<float const> picked = scores;
    if (s.ranked || n < count) {  // else all of them, as they lie
      float* const rows = room(x_, s.ranked ? s.picked : picked_, n * o_.classes, "scores");
      pick(x_, s.positions.data() + from, n, scores.data, o_.classes, rows, first);
      picked = {rows, o_.classes};
    }
    if (o_.labels == label_kind::single_label)
      losses_.softmax(x_, picked, s.labels.classes.data() + from, n, o_.classes, 1, {}, s.totals.data(), bias);
    else losses_.sigmoid(x_, picked, s.labels.answers.data() + from * o_.classes, n, o_.classes, 1, {}, s.totals.data(), bias);
  }
}

void evaluator::note(std::uint64_t end) {
  for (side& s : sides_) {
    std::uint64_t const n = below(s, end) - s.seen;
    if (s.ranked && n > 0) {
      std::vector<float> here(n * o_.classes);
      x_.copy(here.data(), s.picked.data(), here.size() * sizeof(float));
      x_.wait();
      for (std::uint64_t i = 0; i < n; ++i) s.margins.push_back(o_.classes == 1 ? here[i] : here[2 * i + 1] - here[2 * i]);
    }
    s.seen += n;
  }
}

std::uint64_t evaluator::bytes() const {
  std::uint64_t sum = losses_.bytes() + picked_.bytes();
  for (side const& s : sides_) sum += s.positions.bytes() + s.labels.bytes() + s.totals.bytes() + s.picked.bytes();
  return sum;
}

std::uint64_t evaluator::bytes_for(model_options const& o, std::array<std::uint64_t, 3> const& counts, std::uint64_t vertices) {
  std::uint64_t sum = losses<float>::bytes_for(counts), picked = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    std::uint64_t const n = counts[k];
    sum += n * (sizeof(std::int64_t) + label_bytes(o)) + sizeof(loss_totals);
    if (k > 0 && tells_area(o)) sum += grown(0, n * o.classes) * sizeof(float);
    else if (n < vertices) picked = grown(picked, n * o.classes);
  }
  return sum + picked * sizeof(float);
}

evaluation evaluator::result() {
  evaluation e;
  evaluation::part* const parts[] = {&e.train, &e.validation, &e.test};
  for (std::size_t k = 0; k < sides_.size(); ++k) {
    side& s = sides_[k];
    loss_totals const t = x_.read(s.totals.data());
    auto const counted = static_cast<double>(std::max<std::uint64_t>(t.counted, 1));
    auto const& known = parts_.of(s.which);
    *parts[k] = {known.positions.size(), static_cast<double>(t.correct) / counted, t.loss / counted, std::nullopt};
    if (s.margins.empty()) continue;
    std::vector<bool> second;
    for (std::size_t i = 0; i < s.margins.size(); ++i)
      second.push_back(known.answers.empty() ? known.classes[i] == 1 : known.answers[i] == 1);
    parts[k]->auc = area_under_roc(s.margins, second);
  }
  return e;
}

std::optional<double> area_under_roc(std::vector<float> const& margins, std::vector<bool> const& second) {
  std::vector<std::size_t> order(margins.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return margins[a] < margins[b]; });
  double pairs = 0, below = 0, of_second = 0;
  for (std::size_t i = 0; i < order.size();) {
    double first_here = 0, second_here = 0;
    std::size_t k = i;
    for (; k < order.size() && !(margins[order[i]] < margins[order[k]]); ++k) (second[order[k]] ? second_here : first_here) += 1;
    pairs += second_here * (below + first_here / 2);
    below += first_here, of_second += second_here;
    i = k;
  }
  if (below == 0 || of_second == 0) return std::nullopt;
  return pairs / (below * of_second);
}

}  // namespace garner

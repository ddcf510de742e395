// The figures of trainings, from a run of `garner-lab train` or from garner train --json.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

double quotient(std::optional<double> a, std::optional<double> b) { return a && b && *a > 0 && *b > 0 ? *a / *b : 0; }
std::string times_text(double q) { return q > 0 ? short_number(q) : "-"; }

void add_stages(figure& f, bar_chart& c, std::string const& name, train_times const& t) {
  if (t.ms && t.stages())
    add_stages(f, c, name, {*t.sample_ms, *t.fetch_ms, *t.gather_ms, *t.model_ms}, *t.ms, {t.caller_waited_ms, t.loader_waited_ms});
}

// One graph of a run.
class train_pages : run_rows<train_row> {
 public:
  train_pages(train_file const& f, bench_graph const& g) : run_rows(f.rows, g.name), name_(g.name) {
    timed_ = std::any_of(rows_.begin(), rows_.end(), [](train_row const* r) { return r->times.ms.has_value(); });
    unit_ = timed_ ? "ms per epoch" : "MB over the link per epoch";
  }

  figure strategies() const {
    figure f(
        "3.14", name_ + ": an epoch of training, in each way",
        "Local: adjacency and features in GPU memory. Remote: both in host memory. All learned the same, bit for bit. The paper, one GPU: "
        "its best zero-copy is 16 to 44 % faster than gathers by the host (staged).");
    bar_chart c = bars(f);
    f.numbers.head = {"<lists", "<rows kept", "<way", "ms", "median", "a mini-batch, ms", "far / near", "MB far", "loss"};
    train_row const* const near = find("ways", "tiered", 1);
    std::string finding;
    for (train_row const* r : of("ways")) {
      add(c, kept_text(r->kept), r->strategy, *r);
      double const q = near ? quotient(r->times.ms, near->times.ms) : 0;
      double const batches = static_cast<double>(std::max<std::uint64_t>(r->batches, 1));
      f.row(r->lists, percent(r->kept), r->strategy, r->times.ms, r->ms_median, r->times.ms ? short_number(*r->times.ms / batches) : "-",
            times_text(q), r->rows.remote_bytes / 1e6, r->loss);
      if (q > 0 && r->strategy == "window")
        finding += fmt::format("{}{} times as long as near with {} of the rows kept", finding.empty() ? "" : ", ", short_number(q),
                               r->kept == 0 ? "none" : percent(r->kept));
    }
    train_row const *zero = find("ways", "zero_copy", 0), *staged = find("ways", "staged", 0);
    double const faster = zero && staged ? quotient(staged->times.ms, zero->times.ms) : 0;
    if (!finding.empty()) f.finding = "An epoch with remote rows in prefetch windows takes " + finding + ".";
    if (faster > 0)
      f.finding += fmt::format("{}Staged takes {} times as long as zero_copy.", finding.empty() ? "" : " ", short_number(faster));
    return drawn(std::move(f), c);
  }

  figure stages() const {
    figure f("", name_ + ": an epoch by stage, and what overlapped");
    bar_chart c = stages_chart(f, "<what", "ms per epoch");
    for (train_row const* r : of("ways"))
      add_stages(f, c, r->near() ? "near" : fmt::format("{}, {} kept", r->strategy, r->kept == 0 ? "none" : percent(r->kept)), r->times);
    train_row const* const far = find("ways", "window", 0);
    if (far && far->times.ms && far->times.stages() && *far->times.stages() > 0)
      f.finding = fmt::format("In windows with nothing kept {} of the {} ms of stages overlap; the model is {} of the epoch.",
                              percent(std::max(0.0, 1 - *far->times.ms / *far->times.stages())), short_number(*far->times.stages()),
                              percent(quotient(far->times.model_ms, far->times.ms)));
    return drawn(std::move(f), c);
  }

  figure widths() const {
    figure f("3.15", name_ + ": an epoch against the width of a row",
             "The paper, two GPUs: zero-copy is 1.5 to 1.6 times as fast as gathers by the host with small rows, 2.7 with 4,096 floats.");
    bar_chart c = bars(f);
    f.numbers.head = {"floats", "<way", "ms", "far / near", "staged / it", "MB far"};
    std::vector<std::pair<std::uint64_t, double>> gains;
    for (train_row const* r : of("widths")) {
      train_row const *near = find("widths", "tiered", 1, r->width), *staged = find("widths", "staged", 0, r->width);
      std::string const strategy = r->near() ? "near" : r->strategy;
      add(c, fmt::format("{} floats", r->width), strategy, *r);
      double const gain = staged ? quotient(staged->times.ms, r->times.ms) : 0;
      f.row(r->width, strategy, r->times.ms, times_text(near ? quotient(r->times.ms, near->times.ms) : 0), times_text(gain),
            r->rows.remote_bytes / 1e6);
      if (r->strategy == "window" && gain > 0) gains.emplace_back(r->width, gain);
    }
    if (gains.size() > 1)
      f.finding =
          fmt::format("Windows are {} times as fast as staged with rows of {} floats, {} times with {}.",
                      short_number(gains.front().second), gains.front().first, short_number(gains.back().second), gains.back().first);
    return drawn(std::move(f), c);
  }

  figure placement() const {
    figure f(
        "4.9", name_ + ": an epoch against which rows are kept, and how many",
        "The paper: zero-copy is 2.5 to 4.6 times as fast as gathers by the host (staged); rows placed by wrpr, 5 or 10 % of them near, "
        "are 1.6 to 2.1 times as fast again.");
    bar_chart c = bars(f);
    f.numbers.head = {"<way", "<by", "devices", "kept", unit_, "of nothing kept", "rows near", "on peers", "far"};
    std::vector<line_chart> lines;
    for (train_row const* r : of("placement")) {
      std::optional<double> const v = value(*r);
      bool const tenth = r->kept > 0.099 && r->kept < 0.101;
      std::string const &by = r->score, over = r->devices > 1 ? fmt::format(", {} devices", r->devices) : "";
      if (r->kept == 0 || tenth)
        add(c, r->kept == 0 ? "nothing kept" : "a tenth kept", r->strategy + (by.empty() ? "" : ", " + by) + over, *r);
      train_row const* none = find("placement", r->strategy, 0);
      f.row(r->strategy, by.empty() ? "-" : by, r->devices, percent(r->kept), v,
            none && quotient(v, value(*none)) > 0 ? percent(quotient(v, value(*none))) : "-", r->rows.near, r->rows.peer, r->rows.far);
      if (by.empty() || !v) continue;
      auto line = std::find_if(lines.begin(), lines.end(), [&](line_chart const& l) { return l.title.ends_with(", way " + r->strategy); });
      if (line == lines.end())
        line = lines.insert(
            line, line_chart(f.title + ", way " + r->strategy, unit_, "% of the rows kept, on each device; way " + r->strategy, unit_));
      curve* const l = line->of(by + over);
      if (!l) continue;
      if (l->points.empty() && none && value(*none)) l->points.emplace_back(0, *value(*none));
      l->points.emplace_back(100 * r->kept, *v);
      line->x_ticks.push_back(100 * r->kept);
    }
    f.charts = draw(c);
    for (line_chart& l : lines) {
      std::erase_if(l.curves, [](curve const& k) { return k.points.size() < 2; });
      for (curve& k : l.curves) std::sort(k.points.begin(), k.points.end());
      l.x_ticks.push_back(0);
      thin(l.x_ticks);
      f.charts += draw(l);
    }
    train_row const *staged = find("placement", "staged", 0), *zero = find("placement", "zero_copy", 0);
    train_row const* best = nullptr;
    for (train_row const* r : of("placement"))
      if (r->kept > 0.099 && r->kept < 0.101 && value(*r) && (!best || *value(*r) < *value(*best))) best = r;
    if (staged && zero && best && timed_ && quotient(staged->times.ms, zero->times.ms) > 0 && quotient(zero->times.ms, best->times.ms) > 0)
      f.finding = fmt::format("Zero_copy is {} times as fast as staged; a tenth kept by {}, way {}, is {} times as fast again.",
                              short_number(quotient(staged->times.ms, zero->times.ms)), best->score, best->strategy,
                              short_number(quotient(zero->times.ms, best->times.ms)));
    else if (best && zero && quotient(value(*best), value(*zero)) > 0)
      f.finding = fmt::format("With a tenth kept by {}, way {}, {} of zero_copy's requests remains.", best->score, best->strategy,
                              percent(quotient(value(*best), value(*zero))));
    return f;
  }

  figure not_measured() const {
    return left_out(name_ + ": not measured", [](train_row const& r) {
      return fmt::format("{}: way {}, {} floats, {} kept{} on {}", r.figure, r.strategy, r.width, percent(r.kept),
                         r.score.empty() ? "" : " by " + r.score, r.devices);
    });
  }

 private:
  // On one device; `width` 0: any.
  train_row const* find(char const* figure, std::string const& strategy, double kept, std::uint64_t width = 0) const {
    return first(figure, [&](train_row const& r) {
      return r.strategy == strategy && r.kept == kept && r.devices == 1 && (width == 0 || r.width == width);
    });
  }
  std::optional<double> value(train_row const& r) const { return timed_ ? r.times.ms : std::optional(r.rows.remote_bytes / 1e6); }
  bar_chart bars(figure& f) const {
    if (!timed_) f.title += ": bytes over the link";
    return bar_chart(f.title, unit_, unit_ + (timed_ ? ", smaller is better" : ""));
  }
  void add(bar_chart& c, std::string const& group, std::string const& name, train_row const& r) const {
    if (std::optional<double> const v = value(r)) c.add(group, name, v, r.strategy == "window" || r.near());
  }

  std::string name_, unit_;
  bool timed_ = false;
};

// Loss and accuracy of training curves by epoch.
figure losses(std::vector<train_course> const& courses) {
  figure f("", "loss by epoch", "On the training set, with dropout, before each step.");
  f.numbers.head = {"<training", "epoch", "loss", "accuracy then", "train", "validation", "test", "ms"};
  line_chart c(f.title, "mean loss of the training vertices", "epoch", "loss");
  std::set<double> ticks;
  for (train_course const& k : courses) {
    curve loss{k.name, {}};
    for (train_epoch const& e : k.epochs) {
      loss.points.emplace_back(static_cast<double>(e.epoch), e.loss);
      ticks.insert(static_cast<double>(e.epoch));
      f.row(k.name, e.epoch, e.loss, percent(e.accuracy), percent(e.train_accuracy), percent(e.validation_accuracy),
            percent(e.test_accuracy), e.times.ms);
    }
    std::sort(loss.points.begin(), loss.points.end());
    if (loss.points.size() > 1 && c.curves.size() < 6) c.curves.push_back(std::move(loss));
  }
  c.x_ticks.assign(ticks.begin(), ticks.end());
  thin(c.x_ticks);
  for (curve const& l : c.curves)
    f.finding += fmt::format("{}{}: from {} to {}", f.finding.empty() ? "Loss of " : "; ", l.name, short_number(l.points.front().second),
                             short_number(l.points.back().second));
  if (!f.finding.empty()) f.finding += ".";
  return drawn(std::move(f), c);
}
figure accuracies(std::vector<train_course> const& courses) {
  figure f("", "accuracy by epoch", "Exact: of all neighbors, without a draw.");
  line_chart c(f.title, "share of the vertices that are classified correctly", "epoch", "accuracy", {}, true);
  std::set<double> ticks;
  for (train_course const& k : courses)
    for (auto const& [part, which] :
         {std::pair{"train", &train_epoch::train_accuracy}, std::pair{"validation", &train_epoch::validation_accuracy},
          std::pair{"test", &train_epoch::test_accuracy}}) {
      if (courses.size() > 2 && std::string(part) != "test") continue;  // at most six curves
      curve a{courses.size() > 1 ? k.name + ", " + part : part, {}};
      for (train_epoch const& e : k.epochs)
        if (e.*which)
          a.points.emplace_back(static_cast<double>(e.epoch), std::min(1.0, *(e.*which))), ticks.insert(static_cast<double>(e.epoch));
      std::sort(a.points.begin(), a.points.end());
      if (a.points.size() < 2 || c.curves.size() == 6) continue;
      if (std::string(part) == "test")
        f.finding += fmt::format("{}{}: {}", f.finding.empty() ? "Final test accuracy: " : "; ", k.name, percent(a.points.back().second));
      c.curves.push_back(std::move(a));
    }
  if (!f.finding.empty()) f.finding += ".";
  c.x_ticks.assign(ticks.begin(), ticks.end());
  thin(c.x_ticks);
  return drawn(std::move(f), c);
}
// Trainable rows: a step on local and on remote rows, by optimizer.
figure learned_rows(std::vector<trainable_row> const& rows) {
  bool const timed = std::any_of(rows.begin(), rows.end(), [](trainable_row const& r) { return r.update_ms.has_value(); });
  figure f(
      "", timed ? "rows that are learned: a step" : "rows that are learned: bytes over the link",
      "A step gathers its rows, then reads each with its optimizer's state, updates it and writes it back. The floor: remote bytes at the "
      "link's rates, each way after the other.");
  f.key = timed ? "Gather, then update." : "";
  f.numbers.head = {"<optimiser", "<rows near", "a step",    "of rows",        "gather, ms",        "update, ms",
                    "median",     "MB far",     "floor, ms", "update / floor", "both / both floors"};
  bar_chart c(f.title, timed ? "ms per step by optimizer and share of cached rows" : "MB over the link per step",
              timed ? "ms per step, smaller is better" : "MB over the link per step, read and written");
  if (timed) c.parts = {"gather", "update"};
  for (trainable_row const& r : rows) {
    if (!r.skipped.empty()) {
      f.row(r.optimizer + ", not measured: " + r.skipped, percent(r.kept), "-", "-", "-", "-", "-", "-", "-", "-", "-");
      continue;
    }
    f.row(r.optimizer, percent(r.kept), count_text(static_cast<double>(r.step_rows)), count_text(static_cast<double>(r.rows)), r.gather_ms,
          r.update_ms, r.update_ms_median, r.remote_bytes / 1e6, r.update_floor_ms, percent(r.of_floor()), percent(r.of_both_floors()));
    if (timed && r.gather_ms && r.update_ms)
      c.of(kept_text(r.kept)).push_back({r.optimizer, {*r.gather_ms, *r.update_ms}, short_number(*r.gather_ms + *r.update_ms), true});
    else if (!timed) c.add(kept_text(r.kept), r.optimizer, 2 * r.remote_bytes / 1e6, true);
    if (r.kept == 0 && r.of_floor())
      f.finding += fmt::format("{}{}: {}", f.finding.empty() ? "Time of an update over the floor of remote rows: " : "; ", r.optimizer,
                               percent(*r.of_floor()));
  }
  if (!f.finding.empty()) f.finding += ".";
  return drawn(std::move(f), c);
}
// The mean of the epochs after the first.
figure course_stages(std::vector<train_course> const& courses) {
  figure f("", "an epoch by stage, and what overlapped");
  bar_chart c = stages_chart(f, "<what", "ms per epoch");
  for (train_course const& k : courses) {
    train_times mean;
    std::uint64_t const from = k.epochs.size() > 1 ? 1 : 0;
    for (std::uint64_t e = from; e < k.epochs.size(); ++e) mean.add(k.epochs[e].times, static_cast<double>(k.epochs.size() - from));
    add_stages(f, c, k.name, mean);
  }
  return drawn(std::move(f), c);
}

}  // namespace

std::string section_of(named<train_file> const& n) {
  train_file const& r = n.run;
  std::string const where = place_of(r);
  std::string const drawn = r.fanouts.empty() ? "the whole graph at every step"
                                              : fmt::format("mini-batches of {}, fanouts {}", r.batch, fmt::join(r.fanouts, ","));
  std::string const setting =
      fmt::format("{}, {}{}, {} hidden, {} classes", where,
                  r.alone ? "" : "GraphSAGE, " + r.share + " of the vertices with neighbors train, ", drawn, r.hidden, r.classes);
  fact_list facts(n.name, r);
  facts.add("setting", setting + fmt::format(", seed {}", r.seed) + (r.alone ? "" : fmt::format(", {} host threads", r.threads)));
  if (!r.alone) facts.add("link", link_text(r.link_gbs));
  section s("Trainings: " + n.name, facts);
  for (bench_graph const& g : r.graphs) {
    train_pages const p(r, g);
    s.add({p.strategies(), p.stages(), p.widths(), p.placement(), p.not_measured()}, fmt::format("{}; {}", setting, graph_text(g)));
  }
  if (!r.trainable.empty()) s.add({learned_rows(r.trainable)}, fmt::format("{}; rows of {} floats", where, r.trainable.front().width));
  if (!r.courses.empty()) {
    train_course const& k = r.courses.front();
    s.add({losses(r.courses), accuracies(r.courses), course_stages(r.courses)},
          fmt::format("{}; {} vertices, {} edges, {} training vertices", r.alone ? setting : where, k.vertices, k.edges, k.train));
  }
  return s.html();
}

}  // namespace garner::lab

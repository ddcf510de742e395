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

figure titled(char const* number, std::string title) { return {number, std::move(title), "", "", "", "", {}, ""}; }

// A group of two bars: the stages in sequence, and as they overlapped; and a row of the table.
void add_stages(bar_chart& c, table& numbers, std::string const& name, train_times const& t) {
  if (!t.ms || !t.stages()) return;
  double const sum = *t.stages(), overlapped = std::max(0.0, sum - *t.ms);
  std::vector<double> const parts{*t.sample_ms, *t.fetch_ms, *t.gather_ms, *t.model_ms};
  c.groups.push_back({name, {{"stages", parts, short_number(sum)}, {"as they ran", {*t.ms}, short_number(*t.ms), true}}});
  numbers.rows.push_back({name, short_number(parts[0]), short_number(parts[1]), short_number(parts[2]), short_number(parts[3]),
                          short_number(sum), short_number(*t.ms), percent(sum > 0 ? overlapped / sum : 0), ms_text(t.caller_waited_ms),
                          ms_text(t.loader_waited_ms)});
}
bar_chart stages_chart(figure& f) {
  f.key = "Above: the stages as if one came after the other; below: as they ran.";
  f.numbers.head = {"<what", "sample", "fetch", "gather", "model", "together", "as it ran", "overlapped", "caller waited", "loader waited"};
  bar_chart c{f.title, "ms per epoch by stage", {}, {"sample", "fetch", "gather", "model"}, {}, 0};
  c.unit = "ms per epoch";
  return c;
}

// One graph of a run.
class train_pages {
 public:
  train_pages(train_file const& f, bench_graph const& g) : name_(g.name) {
    for (train_row const& r : f.rows)
      if (r.graph == g.name) (r.skipped.empty() ? rows_ : skipped_).push_back(&r);
    timed_ = std::any_of(rows_.begin(), rows_.end(), [](train_row const* r) { return r->times.ms.has_value(); });
    unit_ = timed_ ? "ms per epoch" : "MB over the link per epoch";
  }

  figure strategies() const {
    figure f = titled("3.14", name_ + ": an epoch of training, in each way");
    f.said =
        "Local: adjacency and features in GPU memory. Remote: both in host memory. All learned the same, bit for bit. The paper, one GPU: "
        "its "
        "best zero-copy is 16 to 44 % faster than gathers by the host (staged).";
    bar_chart c = bars(f);
    f.numbers.head = {"<lists", "<rows kept", "<way", "ms", "median", "a mini-batch, ms", "far / near", "MB far", "loss"};
    train_row const* const near = find("ways", "tiered", 1);
    std::string finding;
    for (train_row const* r : of("ways")) {
      std::string const group = r->near() ? "near" : r->kept == 0 ? "far, nothing kept" : "far, " + percent(r->kept) + " of the rows kept";
      add(c, group, r->strategy, *r);
      double const q = near ? quotient(r->times.ms, near->times.ms) : 0;
      double const batches = static_cast<double>(std::max<std::uint64_t>(r->batches, 1));
      f.numbers.rows.push_back({r->lists, percent(r->kept), r->strategy, ms_text(r->times.ms), ms_text(r->ms_median),
                                r->times.ms ? short_number(*r->times.ms / batches) : "-", times_text(q),
                                short_number(r->rows.remote_bytes / 1e6), short_number(r->loss)});
      if (q > 0 && r->strategy == "window")
        finding += fmt::format("{}{} times as long as near with {} of the rows kept", finding.empty() ? "" : ", ", short_number(q),
                               r->kept == 0 ? "none" : percent(r->kept));
    }
    f.charts = draw(c);
    train_row const *zero = find("ways", "zero_copy", 0), *staged = find("ways", "staged", 0);
    double const faster = zero && staged ? quotient(staged->times.ms, zero->times.ms) : 0;
    if (!finding.empty()) f.finding = "An epoch with remote rows in prefetch windows takes " + finding + ".";
    if (faster > 0)
      f.finding += fmt::format("{}Staged takes {} times as long as zero_copy.", finding.empty() ? "" : " ", short_number(faster));
    return f;
  }

  figure stages() const {
    figure f = titled("", name_ + ": an epoch by stage, and what overlapped");
    bar_chart c = stages_chart(f);
    for (train_row const* r : of("ways"))
      add_stages(c, f.numbers, r->near() ? "near" : fmt::format("{}, {} kept", r->strategy, r->kept == 0 ? "none" : percent(r->kept)),
                 r->times);
    f.charts = draw(c);
    train_row const* const far = find("ways", "window", 0);
    if (far && far->times.ms && far->times.stages() && *far->times.stages() > 0)
      f.finding = fmt::format("In windows with nothing kept {} of the {} ms of stages overlap; the model is {} of the epoch.",
                              percent(std::max(0.0, 1 - *far->times.ms / *far->times.stages())), short_number(*far->times.stages()),
                              percent(quotient(far->times.model_ms, far->times.ms)));
    return f;
  }

  figure widths() const {
    figure f = titled("3.15", name_ + ": an epoch against the width of a row");
    f.said = "The paper, two GPUs: zero-copy is 1.5 to 1.6 times as fast as gathers by the host with small rows, 2.7 with 4,096 floats.";
    bar_chart c = bars(f);
    f.numbers.head = {"floats", "<way", "ms", "far / near", "staged / it", "MB far"};
    std::vector<std::pair<std::uint64_t, double>> gains;
    for (train_row const* r : of("widths")) {
      train_row const *near = at_width("tiered", 1, r->width), *staged = at_width("staged", 0, r->width);
      std::string const strategy = r->near() ? "near" : r->strategy;
      add(c, fmt::format("{} floats", r->width), strategy, *r);
      double const gain = staged ? quotient(staged->times.ms, r->times.ms) : 0;
      f.numbers.rows.push_back({std::to_string(r->width), strategy, ms_text(r->times.ms),
                                times_text(near ? quotient(r->times.ms, near->times.ms) : 0), times_text(gain),
                                short_number(r->rows.remote_bytes / 1e6)});
      if (r->strategy == "window" && gain > 0) gains.emplace_back(r->width, gain);
    }
    f.charts = draw(c);
    if (gains.size() > 1)
      f.finding =
          fmt::format("Windows are {} times as fast as staged with rows of {} floats, {} times with {}.",
                      short_number(gains.front().second), gains.front().first, short_number(gains.back().second), gains.back().first);
    return f;
  }

  figure placement() const {
    figure f = titled("4.9", name_ + ": an epoch against which rows are kept, and how many");
    f.said =
        "The paper: zero-copy is 2.5 to 4.6 times as fast as gathers by the host (staged); rows placed by wrpr, 5 or 10 % of them near, "
        "are "
        "1.6 to 2.1 times as fast again.";
    bar_chart c = bars(f);
    f.numbers.head = {"<way", "<by", "devices", "kept", unit_, "of nothing kept", "rows near", "on peers", "far"};
    std::string charts;
    std::vector<line_chart> lines;
    for (train_row const* r : of("placement")) {
      std::optional<double> const v = value(*r);
      bool const tenth = r->kept > 0.099 && r->kept < 0.101;
      std::string const by = r->score.empty() ? "" : r->score;
      if (r->kept == 0 || tenth)
        add(c, r->kept == 0 ? "nothing kept" : "a tenth kept",
            r->strategy + (by.empty() ? "" : ", " + by) + (r->devices > 1 ? fmt::format(", {} devices", r->devices) : ""), *r);
      train_row const* none = find("placement", r->strategy.c_str(), 0);
      f.numbers.rows.push_back({r->strategy, by.empty() ? "-" : by, std::to_string(r->devices), percent(r->kept), ms_text(v),
                                none && quotient(v, value(*none)) > 0 ? percent(quotient(v, value(*none))) : "-",
                                short_number(r->rows.near), short_number(r->rows.peer), short_number(r->rows.far)});
      if (by.empty() || !v) continue;
      auto line = std::find_if(lines.begin(), lines.end(), [&](line_chart const& l) { return l.title.ends_with(", way " + r->strategy); });
      if (line == lines.end()) {
        lines.push_back({f.title + ", way " + r->strategy, unit_, "% of the rows kept, on each device; way " + r->strategy, unit_, {}, {}});
        line = lines.end() - 1;
      }
      std::string const name = by + (r->devices > 1 ? fmt::format(", {} devices", r->devices) : "");
      auto at = std::find_if(line->curves.begin(), line->curves.end(), [&](curve const& k) { return k.name == name; });
      if (at == line->curves.end()) {
        if (line->curves.size() == 6) continue;
        line->curves.push_back({name, {}});
        at = line->curves.end() - 1;
        if (none && value(*none)) at->points.emplace_back(0, *value(*none));
      }
      at->points.emplace_back(100 * r->kept, *v);
      line->x_ticks.push_back(100 * r->kept);
    }
    f.charts = draw(c);
    for (line_chart& l : lines) {
      std::erase_if(l.curves, [](curve const& k) { return k.points.size() < 2; });
      for (curve& k : l.curves) std::sort(k.points.begin(), k.points.end());
      l.x_ticks.push_back(0);
      thin(l.x_ticks);
      if (!l.curves.empty()) f.charts += draw(l);
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
    figure f = titled("", name_ + ": not measured");
    f.numbers.head = {"<what", "<why"};
    for (train_row const* r : skipped_)
      f.numbers.rows.push_back({fmt::format("{}: way {}, {} floats, {} kept{} on {}", r->figure, r->strategy, r->width, percent(r->kept),
                                            r->score.empty() ? "" : " by " + r->score, r->devices),
                                r->skipped});
    return f;
  }

 private:
  std::vector<train_row const*> of(char const* figure) const {
    std::vector<train_row const*> all;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(all), [&](train_row const* r) { return r->figure == figure; });
    return all;
  }
  train_row const* find(std::string const& figure, std::string const& strategy, double kept) const {
    for (train_row const* r : rows_)
      if (r->figure == figure && r->strategy == strategy && r->kept == kept && r->devices == 1) return r;
    return nullptr;
  }
  train_row const* at_width(char const* strategy, double kept, std::uint64_t width) const {
    for (train_row const* r : rows_)
      if (r->figure == "widths" && r->strategy == strategy && r->kept == kept && r->width == width) return r;
    return nullptr;
  }
  std::optional<double> value(train_row const& r) const { return timed_ ? r.times.ms : std::optional(r.rows.remote_bytes / 1e6); }
  bar_chart bars(figure& f) const {
    if (!timed_) f.title += ": bytes over the link";
    bar_chart c{f.title, unit_, {}, {}, {}, 0};
    c.unit = unit_ + (timed_ ? ", smaller is better" : "");
    return c;
  }
  void add(bar_chart& c, std::string const& group, std::string const& name, train_row const& r) const {
    std::optional<double> const v = value(r);
    if (!v) return;
    auto at = std::find_if(c.groups.begin(), c.groups.end(), [&](bar_group const& g) { return g.name == group; });
    if (at == c.groups.end()) c.groups.push_back({group, {}}), at = c.groups.end() - 1;
    at->bars.push_back({name, {*v}, short_number(*v), r.strategy == "window" || r.near()});
  }

  std::string name_, unit_;
  std::vector<train_row const*> rows_, skipped_;
  bool timed_ = false;
};

// Loss and accuracy of training curves by epoch.
figure losses(std::vector<train_course> const& courses) {
  figure f = titled("", "loss by epoch");
  f.said = "On the training set, with dropout, before each step.";
  f.numbers.head = {"<training", "epoch", "loss", "accuracy then", "train", "validation", "test", "ms"};
  line_chart c{f.title, "mean loss of the training vertices", "epoch", "loss", {}, {}};
  auto const share = [](std::optional<double> x) { return x ? percent(*x) : std::string("-"); };
  std::set<double> ticks;
  for (train_course const& k : courses) {
    curve loss{k.name, {}};
    for (train_epoch const& e : k.epochs) {
      loss.points.emplace_back(static_cast<double>(e.epoch), e.loss);
      ticks.insert(static_cast<double>(e.epoch));
      f.numbers.rows.push_back({k.name, std::to_string(e.epoch), short_number(e.loss), percent(e.accuracy), share(e.train_accuracy),
                                share(e.validation_accuracy), share(e.test_accuracy), ms_text(e.times.ms)});
    }
    std::sort(loss.points.begin(), loss.points.end());
    if (loss.points.size() > 1 && c.curves.size() < 6) c.curves.push_back(std::move(loss));
  }
  c.x_ticks.assign(ticks.begin(), ticks.end());
  thin(c.x_ticks);
  if (!c.curves.empty()) f.charts = draw(c);
  for (curve const& l : c.curves)
    f.finding += fmt::format("{}{}: from {} to {}", f.finding.empty() ? "Loss of " : "; ", l.name, short_number(l.points.front().second),
                             short_number(l.points.back().second));
  if (!f.finding.empty()) f.finding += ".";
  return f;
}
figure accuracies(std::vector<train_course> const& courses) {
  figure f = titled("", "accuracy by epoch");
  f.said = "Exact: of all neighbors, without a draw.";
  line_chart c{f.title, "share of the vertices that are classified correctly", "epoch", "accuracy", {}, {}, true};
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
  if (!c.curves.empty()) f.charts = draw(c);
  return f;
}
// Trainable rows: a step on local and on remote rows, by optimizer.
figure learned_rows(std::vector<trainable_row> const& rows) {
  bool const timed = std::any_of(rows.begin(), rows.end(), [](trainable_row const& r) { return r.update_ms.has_value(); });
  figure f = titled("", timed ? "rows that are learned: a step" : "rows that are learned: bytes over the link");
  f.said =
      "A step gathers its rows, then reads each with its optimizer's state, updates it and writes it back. The floor: remote bytes at the "
      "link's rates, each way after the other.";
  f.key = timed ? "Gather, then update." : "";
  f.numbers.head = {"<optimiser", "<rows near", "a step",    "of rows",        "gather, ms",        "update, ms",
                    "median",     "MB far",     "floor, ms", "update / floor", "both / both floors"};
  bar_chart c{f.title, timed ? "ms per step by optimizer and share of cached rows" : "MB over the link per step", {}, {}, {}, 0};
  if (timed) c.parts = {"gather", "update"};
  c.unit = timed ? "ms per step, smaller is better" : "MB over the link per step, read and written";
  for (trainable_row const& r : rows) {
    if (!r.skipped.empty()) {
      f.numbers.rows.push_back(
          {r.optimizer + ", not measured: " + r.skipped, percent(r.kept), "-", "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    auto const over = [](std::optional<double> q) { return q ? percent(*q) : std::string("-"); };
    f.numbers.rows.push_back({r.optimizer, percent(r.kept), count_text(static_cast<double>(r.step_rows)),
                              count_text(static_cast<double>(r.rows)), ms_text(r.gather_ms), ms_text(r.update_ms),
                              ms_text(r.update_ms_median), short_number(r.remote_bytes / 1e6), ms_text(r.update_floor_ms),
                              over(r.of_floor()), over(r.of_both_floors())});
    std::string const group = r.kept == 1 ? "near" : r.kept == 0 ? "far, nothing kept" : "far, " + percent(r.kept) + " of the rows kept";
    auto at = std::find_if(c.groups.begin(), c.groups.end(), [&](bar_group const& g) { return g.name == group; });
    if (at == c.groups.end()) c.groups.push_back({group, {}}), at = c.groups.end() - 1;
    double const mb = 2 * r.remote_bytes / 1e6;
    if (timed && r.gather_ms && r.update_ms)
      at->bars.push_back({r.optimizer, {*r.gather_ms, *r.update_ms}, short_number(*r.gather_ms + *r.update_ms), true});
    else if (!timed) at->bars.push_back({r.optimizer, {mb}, short_number(mb), true});
    if (r.kept == 0 && r.of_floor())
      f.finding += fmt::format("{}{}: {}", f.finding.empty() ? "Time of an update over the floor of remote rows: " : "; ", r.optimizer,
                               percent(*r.of_floor()));
  }
  if (!f.finding.empty()) f.finding += ".";
  f.charts = draw(c);
  return f;
}
// The mean of the epochs after the first.
figure course_stages(std::vector<train_course> const& courses) {
  figure f = titled("", "an epoch by stage, and what overlapped");
  bar_chart c = stages_chart(f);
  for (train_course const& k : courses) {
    train_times mean;
    std::uint64_t const from = k.epochs.size() > 1 ? 1 : 0;
    for (auto const which : {&train_times::ms, &train_times::sample_ms, &train_times::fetch_ms, &train_times::gather_ms,
                             &train_times::model_ms, &train_times::caller_waited_ms, &train_times::loader_waited_ms})
      for (std::uint64_t e = from; e < k.epochs.size(); ++e)
        if (auto const x = k.epochs[e].times.*which)
          mean.*which = (mean.*which).value_or(0) + *x / static_cast<double>(k.epochs.size() - from);
    add_stages(c, f.numbers, k.name, mean);
  }
  f.charts = draw(c);
  return f;
}

}  // namespace

std::string train_sections(std::vector<named<train_file>> const& runs) {
  std::string out;
  for (named<train_file> const& n : runs) {
    train_file const& r = n.run;
    std::string const where = fmt::format("Place {}{}", r.place, r.device.empty() ? "" : " (" + r.device + ")");
    std::string const drawn = r.fanouts.empty() ? "the whole graph at every step"
                                                : fmt::format("mini-batches of {}, fanouts {}", r.batch, fmt::join(r.fanouts, ","));
    std::string const setting = r.alone ? fmt::format("{}, {}, {} hidden, {} classes", where, drawn, r.hidden, r.classes)
                                        : fmt::format("{}, GraphSAGE, {} of the vertices with neighbors train, {}, {} hidden, {} classes",
                                                      where, r.share, drawn, r.hidden, r.classes);
    out += fmt::format("<section>\n<h2>Trainings: {}</h2>\n", escaped(n.name));
    fact_list facts;
    facts.add("file", n.name);
    if (!r.alone) facts.add("measured", r.time + " with garner " + r.garner);
    if (!r.alone) facts.add("command", r.command);
    facts.add("setting", setting + fmt::format(", seed {}", r.seed) + (r.alone ? "" : fmt::format(", {} host threads", r.threads)));
    if (!r.alone) facts.add("link", r.link_gbs ? fmt::format("carries {} GB/s", short_number(*r.link_gbs)) : "none was measured");
    out += facts.html() + "</section>\n<section class=\"figures\">\n";
    auto const add = [&](figure const& f, std::string const& at) {
      if (!f.charts.empty() || !f.numbers.rows.empty()) out += html_of(f, at);
    };
    for (bench_graph const& g : r.graphs) {
      train_pages const p(r, g);
      std::string const at =
          fmt::format("{}; {}: {} vertices, {} edges, {} training vertices", setting, g.name, g.vertices, g.edges, g.train);
      for (figure const& f : {p.strategies(), p.stages(), p.widths(), p.placement(), p.not_measured()}) add(f, at);
    }
    if (!r.trainable.empty()) add(learned_rows(r.trainable), fmt::format("{}; rows of {} floats", where, r.trainable.front().width));
    if (!r.courses.empty()) {
      train_course const& k = r.courses.front();
      std::string const at =
          fmt::format("{}; {} vertices, {} edges, {} training vertices", r.alone ? setting : where, k.vertices, k.edges, k.train);
      add(losses(r.courses), at), add(accuracies(r.courses), at), add(course_stages(r.courses), at);
    }
    out += "</section>\n";
  }
  return out;
}

}  // namespace garner::lab

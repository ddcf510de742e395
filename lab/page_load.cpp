// The mini-batch figures for a run of `garner-lab load`.
#include <fmt/format.h>

#include <algorithm>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

// One graph of a run.
class load_pages {
 public:
  load_pages(load_file const& f, bench_graph const& g) : f_(f), g_(g) {
    for (load_row const& r : f.rows)
      if (r.graph == g.name) (r.skipped.empty() ? rows_ : skipped_).push_back(&r);
    timed_ = std::any_of(rows_.begin(), rows_.end(), [](load_row const* r) { return r->ms.has_value(); });
  }

  figure strategies() const {
    figure f = titled("", timed_ ? "a mini-batch, in each way" : "bytes over the link a mini-batch, in each way");
    f.said = "Local: adjacency and features in GPU memory. Remote: both in host memory. Each row's mini-batches are the same.";
    bar_chart c{f.title, timed_ ? "ms per mini-batch" : "MB over the link", {}, {}, {}, 0};
    c.unit = timed_ ? "ms per mini-batch, smaller is better" : "MB over the link per mini-batch";
    f.numbers.head = {"<lists",
                      "<rows kept",
                      "<way",
                      "ms",
                      "median",
                      "far / near",
                      "sample, ms",
                      "fetch, ms",
                      "gather, ms",
                      "caller waited, ms",
                      "loader waited, ms",
                      "MB far",
                      "GB/s"};
    load_row const* const near = find("ways", "tiered", 1);
    std::string finding;
    for (load_row const* r : of("ways")) {
      double const quotient = near && near->ms && r->ms && *near->ms > 0 ? *r->ms / *near->ms : 0;
      double const value = timed_ ? r->ms.value_or(0) : r->remote_bytes / 1e6;
      std::string const group = r->kept == 1   ? "near"
                                : r->kept == 0 ? "far, nothing kept"
                                               : "far, " + percent(r->kept) + " of the rows kept";
      if (c.groups.empty() || c.groups.back().name != group) c.groups.push_back({group, {}});
      c.groups.back().bars.push_back({r->strategy, {value}, short_number(value), r->strategy == "window" || r->kept == 1});
      f.numbers.rows.push_back({r->lists, percent(r->kept), r->strategy, ms_text(r->ms), ms_text(r->ms_median),
                                quotient > 0 ? short_number(quotient) : "-", ms_text(r->sample_ms), ms_text(r->fetch_ms),
                                ms_text(r->gather_ms), ms_text(r->caller_waited_ms), ms_text(r->loader_waited_ms),
                                short_number(r->remote_bytes / 1e6), ms_text(r->fetch_gbs())});
      if (quotient > 0 && r->strategy == "window")
        finding += fmt::format("{}{} times as long as near with {} of the rows kept", finding.empty() ? "" : ", ", short_number(quotient),
                               r->kept == 0 ? "none" : percent(r->kept));
    }
    f.charts = draw(c);
    if (!finding.empty()) f.finding = "Far mini-batches in windows take " + finding + ".";
    return f;
  }

  figure stages() const {
    figure f = titled("", "the stages of an epoch, and what overlapped");
    f.key = "Above: the stages as if one came after the other; below: as they ran.";
    bar_chart c{f.title, "ms per mini-batch by stage", {}, {"sample", "fetch", "gather", "model"}, {}, 0};
    c.unit = "ms per mini-batch";
    f.numbers.head = {"<rows",    "sample",    "fetch",      "gather",        "model",
                      "together", "as it ran", "overlapped", "caller waited", "loader waited"};
    std::string charts;
    for (load_row const* r : of("ways")) {
      if (!r->ms || (r->strategy != "window" && r->kept != 1)) continue;
      std::string const name = r->kept == 1 ? "near" : r->kept == 0 ? "far" : "far, " + percent(r->kept) + " kept";
      std::vector<double> const parts{r->sample_ms.value_or(0), r->fetch_ms.value_or(0), r->gather_ms.value_or(0), f_.compute_ms};
      double const sum = parts[0] + parts[1] + parts[2] + parts[3], overlapped = std::max(0.0, sum - *r->ms);
      c.groups.push_back({name, {{"stages", parts, short_number(sum)}, {"as they ran", {*r->ms}, short_number(*r->ms), true}}});
      f.numbers.rows.push_back({name, short_number(parts[0]), short_number(parts[1]), short_number(parts[2]), short_number(parts[3]),
                                short_number(sum), short_number(*r->ms), percent(sum > 0 ? overlapped / sum : 0),
                                ms_text(r->caller_waited_ms), ms_text(r->loader_waited_ms)});
      if (r->kept == 0)
        f.finding = fmt::format("With nothing kept {} of the {} ms of stages overlap; the caller waits {} ms per mini-batch.",
                                percent(sum > 0 ? overlapped / sum : 0), short_number(sum), ms_text(r->caller_waited_ms));
      if (r->moments.empty()) continue;
      span_chart when{fmt::format("What ran when: {}", name),
                      "stages as lanes, while two windows were gathered",
                      fmt::format("ms; {}, two windows", name),
                      {{"sample", {}}, {"fetch", {}}, {"gather", {}}}};
      if (f_.compute_ms > 0) when.lanes.push_back({"model", {}});
      double free = 0;
      for (load_moments const& m : r->moments) {
        auto const add = [&](std::size_t k, load_span const& s) {
          if (s.second > s.first) when.lanes[k].spans.push_back(s);
        };
        add(0, m.sample), add(1, m.fetch), add(2, m.gather);
        if (f_.compute_ms <= 0 || m.handed <= 0) continue;
        double const begin = std::max({free, m.handed, m.gather.second});
        add(3, {begin, free = begin + f_.compute_ms});
      }
      charts += draw(when);
    }
    f.charts = draw(c) + charts;
    return f;
  }

  figure tiers() const {
    figure f = titled("", "rows of a mini-batch, by where they were");
    f.said = "Kept on the device, on peers, had by the window (fetched before, or for another mini-batch), and over the link.";
    bar_chart c{f.title, "rows a mini-batch by tier", {}, {"kept", "on peers", "window", "link"}, {}, 0};
    c.unit = "rows a mini-batch";
    f.numbers.head = {"<figure", "<rows kept", "<way", "devices", "window", "on the device", "on peers", "window", "over the link"};
    for (load_row const* r : rows_) {
      bool const kept = r->figure == "kept", strategy = r->figure == "ways" && r->strategy == "window";
      if (!kept && !strategy) continue;
      bool const windows = r->window_rows + r->fetched_rows > 0;
      double const crossed = windows ? r->far_rows - r->window_rows : r->far_rows;
      std::vector<double> const parts{r->near_rows, r->peer_rows, windows ? r->window_rows : 0, std::max(0.0, crossed)};
      if (kept) {
        std::string const group = r->devices == 1 ? "one device" : fmt::format("{} devices", r->devices);
        if (c.groups.empty() || c.groups.back().name != group) c.groups.push_back({group, {}});
        c.groups.back().bars.push_back({percent(r->kept) + " kept", parts, short_number(parts[0] + parts[1] + parts[2] + parts[3])});
      }
      f.numbers.rows.push_back({r->figure, percent(r->kept), r->strategy, std::to_string(r->devices), std::to_string(r->window),
                                short_number(parts[0]), short_number(parts[1]), short_number(parts[2]), short_number(parts[3])});
    }
    f.charts = draw(c);
    return f;
  }

  figure windows() const {
    figure f = titled("", "remote rows that the window had, against its size");
    line_chart c{f.title, "percent of the remote rows", "mini-batches in a window", "remote rows fetched before or once for all", {{}}, {},
                 true};
    line_chart times{f.title + ", ms", "ms per mini-batch", "mini-batches in a window", "ms per mini-batch", {{}}, {}};
    c.curves[0].name = "nothing kept", times.curves[0].name = "nothing kept";
    f.numbers.head = {"window", "hits", "MB over the link", "ms", "fetch, ms"};
    for (load_row const* r : of("window")) {
      auto const x = static_cast<double>(r->window);
      if (auto const hits = r->hits()) c.curves[0].points.emplace_back(x, *hits), c.x_ticks.push_back(x);
      if (r->ms) times.curves[0].points.emplace_back(x, *r->ms), times.x_ticks.push_back(x);
      f.numbers.rows.push_back({std::to_string(r->window), r->hits() ? percent(*r->hits()) : "-", short_number(r->remote_bytes / 1e6),
                                ms_text(r->ms), ms_text(r->fetch_ms)});
    }
    thin(c.x_ticks), thin(times.x_ticks);
    if (c.curves[0].points.size() > 1) {
      f.charts = draw(c);
      auto const& last = c.curves[0].points.back();
      f.finding = fmt::format("A window of {:.0f} mini-batches has {} of the requested remote rows.", last.first, percent(last.second));
    }
    if (times.curves[0].points.size() > 1) f.charts += draw(times);
    return f;
  }

  figure share() const {
    figure f = titled("3.12", "remote rows against the share of the multiprocessors");
    f.said = "The paper, an RTX 3090: 6 of its 82 multiprocessors fill the link.";
    line_chart c{f.title, "GB/s while rows are fetched", "multiprocessors", "GB/s of remote rows", {{}}, {}};
    c.curves[0].name = "fetched";
    f.numbers.head = {"multiprocessors", "GB/s", "% of the link", "fetch, ms", "a mini-batch, ms"};
    double most = 0;
    for (load_row const* r : of("share")) most = std::max(most, r->fetch_gbs().value_or(0));
    for (load_row const* r : of("share")) {
      std::optional<double> const rate = r->fetch_gbs();
      if (rate && r->multiprocessors) {
        auto const x = static_cast<double>(r->multiprocessors);
        c.curves[0].points.emplace_back(x, *rate), c.x_ticks.push_back(x);
        if (f.finding.empty() && *rate >= 0.95 * most)
          f.finding = fmt::format("{} multiprocessors fetch {} GB/s, 95 % or more of the most.", r->multiprocessors, short_number(*rate));
      }
      f.numbers.rows.push_back({r->multiprocessors ? std::to_string(r->multiprocessors) : "all", rate ? short_number(*rate) : "-",
                                rate && f_.link_gbs ? short_number(100 * *rate / *f_.link_gbs) : "-", ms_text(r->fetch_ms),
                                ms_text(r->ms)});
    }
    thin(c.x_ticks);
    if (c.curves[0].points.size() > 1) f.charts = draw(c);
    return f;
  }

  figure kept_bytes() const {
    return against_kept(
        "4.11", "bytes over the link against the share of the rows kept", "MB over the link per mini-batch",
        [](load_row const& r) { return std::optional(r.remote_bytes / 1e6); },
        "The paper, ogbn-papers100M: 97 % fewer bytes with 25 % kept on one GPU; two hold twice as many.");
  }
  figure kept_times() const {
    return against_kept(
        "4.12", "time of a mini-batch against the share of the rows kept", "ms per mini-batch", [](load_row const& r) { return r.ms; }, "");
  }

  figure not_measured() const {
    figure f = titled("", "not measured");
    f.numbers.head = {"<what", "<why"};
    for (load_row const* r : skipped_)
      f.numbers.rows.push_back({fmt::format("{}: way {}, {} kept on {}, window {}, {} multiprocessors", r->figure, r->strategy,
                                            percent(r->kept), r->devices, r->window, r->multiprocessors),
                                r->skipped});
    return f;
  }

 private:
  figure titled(char const* number, std::string const& what) const { return {number, g_.name + ": " + what, "", "", "", "", {}, ""}; }
  std::vector<load_row const*> of(char const* figure) const {
    std::vector<load_row const*> all;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(all), [&](load_row const* r) { return r->figure == figure; });
    return all;
  }
  load_row const* find(char const* figure, char const* strategy, double kept) const {
    for (load_row const* r : of(figure))
      if (r->strategy == strategy && r->kept == kept) return r;
    return nullptr;
  }
  template <class Value>
  figure against_kept(char const* number, char const* what, char const* unit, Value value, char const* said) const {
    figure f = titled(number, what);
    f.said = said;
    line_chart c{
        fmt::format("Figure {}: {}", number, f.title), unit, "% of the rows kept, on each device", unit, {}, {0, 10, 20, 30, 40, 50}};
    f.numbers.head = {"devices", "kept", unit, "of nothing kept"};
    for (load_row const* r : of("kept")) {
      std::optional<double> const v = value(*r);
      if (!v) continue;
      std::string const name = r->devices == 1 ? "one device" : fmt::format("{} devices", r->devices);
      if (c.curves.empty() || c.curves.back().name != name) c.curves.push_back({name, {}});
      c.curves.back().points.emplace_back(100 * r->kept, *v);
      double const first = c.curves.back().points.front().second;
      f.numbers.rows.push_back({std::to_string(r->devices), percent(r->kept), short_number(*v), first > 0 ? percent(*v / first) : "-"});
      if (r->kept > 0.24 && r->kept < 0.26 && r->devices == 1 && first > 0)
        f.finding = fmt::format("With a quarter of the rows kept {} of it is left.", percent(*v / first));
    }
    std::erase_if(c.curves, [](curve const& k) { return k.points.size() < 2; });
    if (!c.curves.empty()) f.charts = draw(c);
    return f;
  }

  load_file const& f_;
  bench_graph const& g_;
  std::vector<load_row const*> rows_, skipped_;
  bool timed_ = false;
};

}  // namespace

std::string load_sections(std::vector<named<load_file>> const& runs) {
  std::string out;
  for (named<load_file> const& n : runs) {
    load_file const& r = n.run;
    std::string const setting =
        fmt::format(
            "Place {}{}, {} of the vertices with neighbors train, mini-batches of {}, fanouts {}, rule {}, rows of {} B, kept by {}",
            r.place, r.device.empty() ? "" : " (" + r.device + ")", r.share, r.batch, fmt::join(r.fanouts, ","), r.rule, r.row_bytes,
            r.score) +
        (r.compute_ms > 0 ? fmt::format(", a model of {} ms", short_number(r.compute_ms)) : "");
    out += fmt::format("<section>\n<h2>Mini-batches: {}</h2>\n", escaped(n.name));
    fact_list facts;
    facts.add("file", n.name);
    facts.add("measured", r.time + " with garner " + r.garner);
    facts.add("command", r.command);
    facts.add("setting", setting + fmt::format(", seed {}, {} host threads", r.seed, r.threads));
    facts.add("link", r.link_gbs ? fmt::format("carries {} GB/s", short_number(*r.link_gbs)) : "none was measured");
    out += facts.html() + "</section>\n<section class=\"figures\">\n";
    for (bench_graph const& g : r.graphs) {
      load_pages const p(r, g);
      std::string const at =
          fmt::format("{}; {}: {} vertices, {} edges, {} training vertices", setting, g.name, g.vertices, g.edges, g.train);
      for (figure const& f :
           {p.strategies(), p.stages(), p.tiers(), p.windows(), p.share(), p.kept_bytes(), p.kept_times(), p.not_measured()})
        if (!f.charts.empty() || !f.numbers.rows.empty()) out += html_of(f, at);
    }
    out += "</section>\n";
  }
  return out;
}

}  // namespace garner::lab

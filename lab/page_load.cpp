// The mini-batch figures for a run of `garner-lab load`.
#include <fmt/format.h>

#include <algorithm>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

std::string devices_text(load_row const& r) { return r.devices == 1 ? "one device" : fmt::format("{} devices", r.devices); }

// One graph of a run.
class load_pages : run_rows<load_row> {
 public:
  load_pages(load_file const& f, bench_graph const& g) : run_rows(f.rows, g.name), f_(f), g_(g) {
    timed_ = std::any_of(rows_.begin(), rows_.end(), [](load_row const* r) { return r->ms.has_value(); });
  }

  figure strategies() const {
    figure f = titled("", timed_ ? "a mini-batch, in each way" : "bytes over the link a mini-batch, in each way",
                      "Local: adjacency and features in GPU memory. Remote: both in host memory. Each row's mini-batches are the same.");
    bar_chart c(f.title, timed_ ? "ms per mini-batch" : "MB over the link",
                timed_ ? "ms per mini-batch, smaller is better" : "MB over the link per mini-batch");
    f.numbers.head = {"<lists", "<rows kept", "<way", "ms", "median", "far / near", "sample, ms", "fetch, ms", "gather, ms"};
    f.numbers.head.insert(f.numbers.head.end(), {"caller waited, ms", "loader waited, ms", "MB far", "GB/s"});
    load_row const* const near = first("ways", [](load_row const& r) { return r.strategy == "tiered" && r.kept == 1; });
    std::string finding;
    for (load_row const* r : of("ways")) {
      double const quotient = near && near->ms && r->ms && *near->ms > 0 ? *r->ms / *near->ms : 0;
      double const value = timed_ ? r->ms.value_or(0) : r->remote_bytes / 1e6;
      c.add(kept_text(r->kept), r->strategy, value, r->strategy == "window" || r->kept == 1);
      f.row(r->lists, percent(r->kept), r->strategy, r->ms, r->ms_median, quotient > 0 ? short_number(quotient) : "-", r->sample_ms,
            r->fetch_ms, r->gather_ms, r->caller_waited_ms, r->loader_waited_ms, r->remote_bytes / 1e6, r->fetch_gbs());
      if (quotient > 0 && r->strategy == "window")
        finding += fmt::format("{}{} times as long as near with {} of the rows kept", finding.empty() ? "" : ", ", short_number(quotient),
                               r->kept == 0 ? "none" : percent(r->kept));
    }
    if (!finding.empty()) f.finding = "Far mini-batches in windows take " + finding + ".";
    return drawn(std::move(f), c);
  }

  figure stages() const {
    figure f = titled("", "the stages of an epoch, and what overlapped");
    bar_chart c = stages_chart(f, "<rows", "ms per mini-batch");
    std::string charts;
    for (load_row const* r : of("ways")) {
      if (!r->ms || (r->strategy != "window" && r->kept != 1)) continue;
      std::string const name = r->kept == 1 ? "near" : r->kept == 0 ? "far" : "far, " + percent(r->kept) + " kept";
      std::vector<double> const parts{r->sample_ms.value_or(0), r->fetch_ms.value_or(0), r->gather_ms.value_or(0), f_.compute_ms};
      add_stages(f, c, name, parts, *r->ms, {r->caller_waited_ms, r->loader_waited_ms});
      if (r->kept == 0)
        f.finding = fmt::format("With nothing kept {} of the {} ms of stages overlap; the caller waits {} ms per mini-batch.",
                                f.numbers.rows.back()[7], f.numbers.rows.back()[5], ms_text(r->caller_waited_ms));
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
    figure f = titled("", "rows of a mini-batch, by where they were",
                      "Kept on the device, on peers, had by the window (fetched before, or for another mini-batch), and over the link.");
    bar_chart c(f.title, "rows a mini-batch by tier", "rows a mini-batch", 0, {"kept", "on peers", "window", "link"});
    f.numbers.head = {"<figure", "<rows kept", "<way", "devices", "window", "on the device", "on peers", "window", "over the link"};
    for (load_row const* r : rows_) {
      bool const kept = r->figure == "kept", strategy = r->figure == "ways" && r->strategy == "window";
      if (!kept && !strategy) continue;
      bool const windows = r->window_rows + r->fetched_rows > 0;
      double const crossed = windows ? r->far_rows - r->window_rows : r->far_rows;
      std::vector<double> const parts{r->near_rows, r->peer_rows, windows ? r->window_rows : 0, std::max(0.0, crossed)};
      if (kept) {
        c.of(devices_text(*r)).push_back({percent(r->kept) + " kept", parts, short_number(parts[0] + parts[1] + parts[2] + parts[3])});
      }
      f.row(r->figure, percent(r->kept), r->strategy, r->devices, r->window, parts[0], parts[1], parts[2], parts[3]);
    }
    return drawn(std::move(f), c);
  }

  figure windows() const {
    figure f = titled("", "remote rows that the window had, against its size");
    line_chart c(f.title, "percent of the remote rows", "mini-batches in a window", "remote rows fetched before or once for all", {}, true);
    line_chart times(f.title + ", ms", "ms per mini-batch", "mini-batches in a window", "ms per mini-batch");
    curve &hits = *c.of("nothing kept"), &ms = *times.of("nothing kept");
    f.numbers.head = {"window", "hits", "MB over the link", "ms", "fetch, ms"};
    for (load_row const* r : of("window")) {
      auto const x = static_cast<double>(r->window);
      if (r->hits()) hits.points.emplace_back(x, *r->hits()), c.x_ticks.push_back(x);
      if (r->ms) ms.points.emplace_back(x, *r->ms), times.x_ticks.push_back(x);
      f.row(r->window, r->hits() ? percent(*r->hits()) : "-", r->remote_bytes / 1e6, r->ms, r->fetch_ms);
    }
    thin(c.x_ticks), thin(times.x_ticks);
    if (hits.points.size() > 1)
      f.charts = draw(c), f.finding = fmt::format("A window of {:.0f} mini-batches has {} of the requested remote rows.",
                                                  hits.points.back().first, percent(hits.points.back().second));
    if (ms.points.size() > 1) f.charts += draw(times);
    return f;
  }

  figure share() const {
    figure f = titled("3.12", "remote rows against the share of the multiprocessors",
                      "The paper, an RTX 3090: 6 of its 82 multiprocessors fill the link.");
    line_chart c(f.title, "GB/s while rows are fetched", "multiprocessors", "GB/s of remote rows");
    curve& fetched = *c.of("fetched");
    f.numbers.head = {"multiprocessors", "GB/s", "% of the link", "fetch, ms", "a mini-batch, ms"};
    double most = 0;
    for (load_row const* r : of("share")) most = std::max(most, r->fetch_gbs().value_or(0));
    for (load_row const* r : of("share")) {
      std::optional<double> const rate = r->fetch_gbs();
      if (rate && r->multiprocessors) {
        auto const x = static_cast<double>(r->multiprocessors);
        fetched.points.emplace_back(x, *rate), c.x_ticks.push_back(x);
        if (f.finding.empty() && *rate >= 0.95 * most)
          f.finding = fmt::format("{} multiprocessors fetch {} GB/s, 95 % or more of the most.", r->multiprocessors, short_number(*rate));
      }
      f.row(r->multiprocessors ? std::to_string(r->multiprocessors) : "all", rate ? short_number(*rate) : "-",
            rate && f_.link_gbs ? short_number(100 * *rate / *f_.link_gbs) : "-", r->fetch_ms, r->ms);
    }
    thin(c.x_ticks);
    if (fetched.points.size() > 1) f.charts = draw(c);
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
    return left_out(g_.name + ": not measured", [](load_row const& r) {
      return fmt::format("{}: way {}, {} kept on {}, window {}, {} multiprocessors", r.figure, r.strategy, percent(r.kept), r.devices,
                         r.window, r.multiprocessors);
    });
  }

 private:
  figure titled(char const* number, std::string const& what, std::string said = "") const {
    return {number, g_.name + ": " + what, std::move(said)};
  }
  template <class Value>
  figure against_kept(char const* number, char const* what, char const* unit, Value value, char const* said) const {
    figure f = titled(number, what);
    f.said = said;
    line_chart c(fmt::format("Figure {}: {}", number, f.title), unit, "% of the rows kept, on each device", unit, {0, 10, 20, 30, 40, 50});
    f.numbers.head = {"devices", "kept", unit, "of nothing kept"};
    for (load_row const* r : of("kept")) {
      std::optional<double> const v = value(*r);
      if (!v) continue;
      curve* const l = c.of(devices_text(*r));
      if (!l) continue;
      l->points.emplace_back(100 * r->kept, *v);
      double const first = l->points.front().second;
      f.row(r->devices, percent(r->kept), *v, first > 0 ? percent(*v / first) : "-");
      if (r->kept > 0.24 && r->kept < 0.26 && r->devices == 1 && first > 0)
        f.finding = fmt::format("With a quarter of the rows kept {} of it is left.", percent(*v / first));
    }
    std::erase_if(c.curves, [](curve const& k) { return k.points.size() < 2; });
    return drawn(std::move(f), c);
  }

  load_file const& f_;
  bench_graph const& g_;
  bool timed_ = false;
};

}  // namespace

std::string section_of(named<load_file> const& n) {
  load_file const& r = n.run;
  std::string const setting =
      fmt::format("{}, {} of the vertices with neighbors train, mini-batches of {}, fanouts {}, rule {}, rows of {} B, kept by {}{}",
                  place_of(r), r.share, r.batch, fmt::join(r.fanouts, ","), r.rule, r.row_bytes, r.score,
                  r.compute_ms > 0 ? fmt::format(", a model of {} ms", short_number(r.compute_ms)) : "");
  fact_list facts(n.name, r);
  facts.add("setting", setting + fmt::format(", seed {}, {} host threads", r.seed, r.threads));
  facts.add("link", link_text(r.link_gbs));
  section s("Mini-batches: " + n.name, facts);
  for (bench_graph const& g : r.graphs) {
    load_pages const p(r, g);
    s.add({p.strategies(), p.stages(), p.tiers(), p.windows(), p.share(), p.kept_bytes(), p.kept_times(), p.not_measured()},
          fmt::format("{}; {}", setting, graph_text(g)));
  }
  return s.html();
}

}  // namespace garner::lab

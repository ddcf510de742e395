// The figures of features on storage for a run of `garner-lab storage`: 3 and 8 to 17 of the GIDS paper.
#include <fmt/format.h>

#include <algorithm>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"
#include "memory/budget.hpp"

namespace garner::lab {

namespace {

// Values in the paper's text for a dataset; 0: not stated.
struct said_of {
  char const* like;
  double training_of_mmap, training_of_gids;  // shares of an iteration: with the mapped file, with GIDS and four drives (4.7)
  double faster_rows, faster_sampling;        // GIDS, one drive, over the mapped file (4.4)
};
constexpr said_of paper[] = {{"ogbn-papers100M", 0.098, 0.325, 1.38, 3.25},
                             {"IGB-Full", 0.0018, 0.117, 29.98, 22.98},
                             {"MAG240M", 0.02, 0.169, 1.37, 6.3},
                             {"IGBH-Full", 0.0004, 0.161, 160, 53.55}};
said_of of_paper(std::string const& like) {
  for (said_of const& p : paper)
    if (like == p.like) return p;
  return {"", 0, 0, 0, 0};
}

std::string times(double x) { return x > 0 ? short_number(x) + " x" : "-"; }
double over(std::optional<double> a, std::optional<double> b) { return a && b && *b > 0 ? *a / *b : 0; }

class storage_pages {
 public:
  explicit storage_pages(storage_file const& f) : f_(f) {
    for (storage_row const& r : f.rows) (r.skipped.empty() ? rows_ : skipped_).push_back(&r);
    for (storage_graph const& g : f.graphs)
      if (g.like == "IGB-Full") large_ = &g;
  }

  figure baseline() const {
    figure f = titled("3", "a training over a mapped file, by stage");
    bar_chart c = stacked(f.title);
    f.numbers.head = stage_head();
    f.numbers.head.push_back("model, the paper");
    f.said =
        "Pages come one at a time from one simulated drive of 11 us, and the system's own work for a fault costs nothing, which favours "
        "this. The page cache holds the paper's share of what the training reads, warmed up by the very mini-batches that are timed.";
    double most = 0;
    for (storage_row const* r : of("stages")) {
      if (r->strategy != "mmap") continue;
      add_stages(c, f.numbers, *r, of_paper(like(r->graph)).training_of_mmap);
      most = std::max(most, over(rows_ms(*r), r->ms));
    }
    f.charts = draw(c);
    if (most > 0) f.finding = fmt::format("Rows take up to {} of a mini-batch.", percent(most));
    return f;
  }

  figure sampling() const {
    figure f = titled("8", "sampling by the host and by a device");
    f.said = "The paper: the device is faster on all three graphs, on the largest more than 3 times.";
    bar_chart c{f.title, "ms per mini-batch", {}, {}, {}, 0};
    c.unit = "ms per mini-batch, smaller is better";
    f.numbers.head = {"<graph", "<place", "ms"};
    for (storage_row const* r : of("sampling")) {
      in_group(c, r->graph).push_back({r->strategy, {r->sample_ms.value_or(0)}, ms_text(r->sample_ms), r->strategy == "device"});
      f.numbers.rows.push_back({r->graph, r->strategy, ms_text(r->sample_ms)});
    }
    f.charts = draw(c);
    return f;
  }

  figure cold() const {
    figure f = titled("9", "the first mini-batches, from nothing in any cache");
    f.said =
        "The paper, one Optane drive: GIDS 5.6 GB/s in the first iteration (the drive's peak: 5.8), the mapped file 0.05, and some 5 "
        "once all is in memory.";
    f.numbers.head = {"<drive", "<way", "first, GB/s", "last, GB/s", "ms", "rows compared"};
    std::string firsts;
    for (bool const real : {false, true}) {
      line_chart c{real ? "The same from a file" : "Figure 9: " + f.title,
                   "GB/s of rows, mini-batch by mini-batch",
                   "mini-batch",
                   real ? "GB/s, from a real drive" : "GB/s, from a simulated drive",
                   {},
                   {1, 5, 10, 15, 20},
                   false,
                   true};
      for (storage_row const* r : of("cold")) {
        if ((r->drive == "file") != real || r->gbs.empty()) continue;
        curve k{r->strategy, {}};
        for (std::size_t i = 0; i < r->gbs.size(); ++i)
          if (r->gbs[i] > 0) k.points.emplace_back(static_cast<double>(i + 1), r->gbs[i]);
        f.numbers.rows.push_back({r->drive, r->strategy, short_number(r->gbs.front()), short_number(r->gbs.back()), ms_text(r->ms),
                                  count_text(static_cast<double>(r->compared))});
        if (!real) firsts += fmt::format("{}{} {}", firsts.empty() ? "" : ", ", r->strategy, short_number(r->gbs.front()));
        if (k.points.size() > 1 && c.curves.size() < 6) c.curves.push_back(std::move(k));
      }
      std::erase_if(c.x_ticks, [&](double x) { return c.curves.empty() || x > c.curves[0].points.back().first; });
      if (!c.curves.empty()) f.charts += draw(c);
    }
    if (!firsts.empty()) f.finding = "The first mini-batch comes at (GB/s): " + firsts + ".";
    return f;
  }

  figure windows() const {
    figure f = titled("10", "hits of the cache against the window");
    f.said =
        "The paper, a cache of some five mini-batches: a window of 4 has 1.2 times the hits of none, one of 8 2.19 times; rows come in "
        "1.04 and 1.13 times less time. Possible: Belady's rule with the whole trace known.";
    line_chart c{"Figure 10: " + f.title, "per cent of the rows", "mini-batches known ahead", "rows that the cache had", {}, {}, true};
    storage_row const* const clock = find("window", "BaM", 0);
    f.numbers.head = {"<way", "window", "hits", "of BaM's", "of possible", "ms", "faster rows than BaM's"};
    curve possible{"possible", {}}, bam{"BaM", {}};
    for (char const* strategy : {"BaM", "GIDS", "Garner"}) {
      curve k{strategy, {}};
      for (storage_row const* r : of("window")) {
        if (r->strategy != strategy) continue;
        auto const x = static_cast<double>(r->window);
        f.numbers.rows.push_back({r->strategy, std::to_string(r->window), percent(r->hit_rate()),
                                  clock && clock->hits > 0 ? times(r->hits / clock->hits) : "-", of_possible(*r), ms_text(r->ms),
                                  clock && r->strategy != "Garner" ? times(over(clock->read_ms, r->read_ms)) : "-"});
        if (r == clock) continue;
        k.points.emplace_back(x, r->hit_rate());
        if (r->strategy != std::string("GIDS")) continue;
        c.x_ticks.push_back(x);
        if (clock) bam.points.emplace_back(x, clock->hit_rate());
        if (r->possible && r->rows > 0) possible.points.emplace_back(x, *r->possible / r->rows);
      }
      if (k.points.size() > 1) c.curves.push_back(std::move(k));
    }
    for (curve* const k : {&bam, &possible})
      if (k->points.size() > 1) c.curves.push_back(std::move(*k));
    thin(c.x_ticks);
    if (!c.curves.empty()) f.charts = draw(c);
    storage_row const *gids = find("window", "GIDS", 8), *own = find("window", "Garner", 8);
    if (clock && gids && own && clock->hits > 0)
      f.finding =
          fmt::format("In the same bytes, window 8: GIDS has {} times the hits of BaM's clock, Garner {} times, {} of what is possible.",
                      short_number(gids->hits / clock->hits), short_number(own->hits / clock->hits), of_possible(*own));
    return f;
  }

  figure policies() const {
    figure f = titled("11", "policies of the cache");
    f.said =
        "The paper: a window of 8 is 1.08 times as fast as 40 % of the cache pinned by degree. Merged: the storage access accumulator. "
        "The constant buffer holds a tenth of the rows in host memory, besides the cache.";
    f.key = key();
    bar_chart c{f.title, "ms per mini-batch", {{}}, {}, {}, 0};
    c.unit = "ms per mini-batch, smaller is better";
    f.numbers.head = {"<way",        "<policy",      "ms",           "waited for reads, ms", "hits", "in memory for good",
                      "of possible", "bytes a slot", "rows compared"};
    storage_row const *pinned = nullptr, *gids = nullptr;
    for (storage_row const* r : of("policies")) {
      bool const own = r->policy == "next-use";
      c.groups[0].bars.push_back({r->strategy, {r->ms.value_or(0)}, ms_text(r->ms), own});
      f.numbers.rows.push_back({r->strategy, r->policy, ms_text(r->ms), ms_text(r->read_ms), percent(r->hit_rate()),
                                percent(r->rows > 0 ? r->resident / r->rows : 0), of_possible(*r),
                                r->metadata_bytes ? short_number(*r->metadata_bytes) : "-", count_text(static_cast<double>(r->compared))});
      if (r->strategy == "pinned, 40 %") pinned = r;
      if (r->strategy == "GIDS") gids = r;
    }
    f.charts = draw(c);
    if (pinned && gids && over(pinned->ms, gids->ms) > 0)
      f.finding = fmt::format("A window of 8 takes {} of the time of the pinned cache.", times(over(gids->ms, pinned->ms)));
    return f;
  }

  figure breakdown(char const* number, bool heterogeneous) const {
    figure f = titled(number, heterogeneous ? "a mini-batch by stage, heterogeneous graphs" : "a mini-batch by stage");
    f.said = "One simulated drive of 11 us. Garner's stages overlap: what its model does not take is drawn as waiting for rows.";
    bar_chart c = stacked(f.title);
    f.numbers.head = stage_head();
    std::string found;
    for (storage_graph const& g : f_.graphs) {
      if (g.heterogeneous != heterogeneous) continue;
      for (storage_row const* r : of("stages"))
        if (r->graph == g.name && r->drives == 1) add_stages(c, f.numbers, *r, std::nullopt);
      storage_row const *gids = stage(g.name, "GIDS", 1), *own = stage(g.name, "Garner", 1);
      if (gids && own) found += fmt::format("{}{} of GIDS' time {}", found.empty() ? "" : ", ", percent(over(own->ms, gids->ms)), g.name);
    }
    f.charts = draw(c);
    if (!found.empty()) f.finding = "Garner takes " + found + ".";
    return f;
  }

  figure speedups() const {
    figure f = titled("14", "each stage, over the mapped file");
    f.said = "The paper's are of its machine, whose system took some 80 us for a fault; here a fault costs the drive's time alone.";
    bar_chart c{f.title, "times as fast as the mapped file", {}, {}, {}, 0};
    c.unit = "times as fast as the mapped file";
    f.numbers.head = {"<graph", "rows, GIDS", "the paper", "sampling", "the paper", "all, GIDS", "all, Garner"};
    for (storage_graph const& g : f_.graphs) {
      storage_row const *base = stage(g.name, "mmap", 1), *gids = stage(g.name, "GIDS", 1), *own = stage(g.name, "Garner", 1);
      if (!base || !gids || !own) continue;
      said_of const said = of_paper(g.like);
      double const rows = over(rows_ms(*base), rows_ms(*gids)), sample = over(base->sample_ms, gids->sample_ms);
      auto& bars = in_group(c, g.name);
      bars.push_back({"GIDS, rows", {rows}, times(rows)});
      bars.push_back({"GIDS, all", {over(base->ms, gids->ms)}, times(over(base->ms, gids->ms))});
      bars.push_back({"Garner, all", {over(base->ms, own->ms)}, times(over(base->ms, own->ms)), true});
      f.numbers.rows.push_back({g.name, times(rows), times(said.faster_rows), times(sample), times(said.faster_sampling),
                                times(over(base->ms, gids->ms)), times(over(base->ms, own->ms))});
    }
    f.charts = draw(c);
    return f;
  }

  figure drives() const {
    figure f = titled("15", "one to four drives");
    f.said = fmt::format("The paper: some 4 times with four drives on large graphs, until the link is full. Here the link carries {} GB/s.",
                         short_number(f_.link_gbs));
    f.key = key();
    bar_chart c{f.title, "ms per mini-batch", {}, {}, {}, 0};
    c.unit = "ms per mini-batch, smaller is better";
    f.numbers.head = {"<drive", "<way", "drives", "ms", "of one", "read, GB/s", "% of the link"};
    line_chart alone{"Rows alone", "GB/s from drives, without sampling and model", "drives", "GB/s from drives, rows alone", {},
                     {1, 2, 3, 4}};
    for (storage_row const* r : of("drives")) {
      storage_row const* const one = drive(r->drive, r->strategy, 1);
      double const gbs = r->ms && *r->ms > 0 ? r->read_bytes / *r->ms / 1e6 : 0;
      f.numbers.rows.push_back({r->drive, r->strategy, std::to_string(r->drives), ms_text(r->ms), one ? times(over(one->ms, r->ms)) : "-",
                                short_number(gbs), f_.link_gbs > 0 ? short_number(100 * gbs / f_.link_gbs) : "-"});
      if (r->sample_ms) {
        in_group(c, r->drive)
            .push_back({fmt::format("{}, {}", r->strategy, r->drives), {r->ms.value_or(0)}, ms_text(r->ms), r->strategy == "Garner"});
        continue;
      }
      std::string const name = r->strategy.substr(0, r->strategy.rfind(',')) + (r->drive == "optane" ? ", 11 us" : ", 324 us");
      auto at = std::find_if(alone.curves.begin(), alone.curves.end(), [&](curve const& k) { return k.name == name; });
      if (at == alone.curves.end()) at = alone.curves.insert(at, {name, {}});
      at->points.emplace_back(static_cast<double>(r->drives), gbs);
    }
    std::erase_if(alone.curves, [](curve const& k) { return k.points.size() < 2; });
    f.charts = draw(c);
    if (!alone.curves.empty() && alone.curves.size() <= 6) f.charts += draw(alone);
    if (double const quotient = four_of_one(); quotient > 0)
      f.finding = fmt::format("Four drives of 324 us bring Garner's rows {} as fast as one.", times(quotient));
    return f;
  }

  figure memory() const {
    figure f = titled("16", "four drives, against all rows in host memory");
    f.said = "The paper: GIDS takes 0.72 of the time for rows, since its cache spares the link. Host memory: bytes over the link's rate.";
    bar_chart c = stacked(f.title);
    f.numbers.head = stage_head();
    storage_row const *base = nullptr, *gids = nullptr, *own = nullptr;
    for (storage_row const* r : of("memory")) {
      add_stages(c, f.numbers, *r, std::nullopt);
      (r->strategy == "GIDS" ? gids : r->strategy == "Garner" ? own : base) = r;
    }
    f.charts = draw(c);
    if (base && gids && own)
      f.finding = fmt::format("GIDS' rows take {} of the time of those in host memory; all of Garner {} of all.",
                              times(over(rows_ms(*gids), rows_ms(*base))), times(over(own->ms, base->ms)));
    return f;
  }

  figure four() const {
    figure f = titled("17", "by stage, four drives");
    bar_chart c = stacked(f.title);
    f.numbers.head = stage_head();
    f.numbers.head.push_back("model, the paper");
    for (storage_row const* r : of("stages"))
      if (r->drives == 4) add_stages(c, f.numbers, *r, r->strategy == "GIDS" ? of_paper(like(r->graph)).training_of_gids : 0);
    f.charts = draw(c);
    return f;
  }

  // The targets.
  figure asked() const {
    figure f = titled("", "targets and measurements");
    f.numbers.head = {"<what", "measured", "target"};
    storage_row const *clock = find("window", "BaM", 0), *gids = find("window", "GIDS", 8), *own = find("window", "Garner", 8);
    if (gids && own && clock && gids->hits > 0 && clock->hits > 0) {
      f.numbers.rows.push_back({"hits of next-use over those of a window of 8", times(own->hits / gids->hits), "1 x or more"});
      f.numbers.rows.push_back({"... over those of the clock", times(own->hits / clock->hits), "-"});
      f.numbers.rows.push_back(
          {"... of what Belady's rule has of rows that come again in the window",
           own->possible_in_window && *own->possible_in_window > 0 ? percent(own->hits / *own->possible_in_window) : "-", "98 % or more"});
      f.numbers.rows.push_back({"... of what it has with the whole trace known", of_possible(*own), "-"});
      f.numbers.rows.push_back({"hits of a window of 8 over those of the clock", times(gids->hits / clock->hits), "2.19 x in the paper"});
      if (own->metadata_bytes && large_) {
        f.numbers.rows.push_back({"metadata bytes per cached row", short_number(*own->metadata_bytes), "16 or fewer"});
        f.numbers.rows.push_back({"... all of it",
                                  format_bytes(static_cast<std::uint64_t>(*own->metadata_bytes * static_cast<double>(own->slots))),
                                  "BaM, 32 per page of the drive: " + format_bytes(32 * large_->rows)});
      }
    }
    if (double const quotient = four_of_one(); quotient > 0)
      f.numbers.rows.push_back({"rows from four drives of 324 us over one", times(quotient), "3.8 x or more, until the link is full"});
    return f;
  }

  figure not_measured() const {
    figure f = titled("", "not measured");
    f.numbers.head = {"<what", "<why"};
    for (storage_row const* r : skipped_)
      f.numbers.rows.push_back({fmt::format("{}: {}, {}", r->figure, r->graph, r->strategy), r->skipped});
    return f;
  }

 private:
  static figure titled(char const* number, std::string what) { return {number, std::move(what), "", "", "", "", {}, ""}; }
  static std::string key() { return "<span class=\"key paper\"></span>the papers' &nbsp; <span class=\"key own\"></span>Garner's own"; }
  static bar_chart stacked(std::string const& title) {
    bar_chart c{title, "ms per mini-batch by stage", {}, {"sample", "rows", "copy", "model"}, {}, 0};
    c.unit = "ms per mini-batch";
    return c;
  }
  static std::vector<bar>& in_group(bar_chart& c, std::string const& name) {
    if (c.groups.empty() || c.groups.back().name != name) c.groups.push_back({name, {}});
    return c.groups.back().bars;
  }
  static std::vector<std::string> stage_head() {
    return {"<graph", "<way", "drives", "sample, ms", "rows, ms", "copy, ms", "model, ms", "all, ms", "model, share", "hits"};
  }
  static std::optional<double> rows_ms(storage_row const& r) {
    return r.read_ms || r.copy_ms ? std::optional(r.read_ms.value_or(0) + r.copy_ms.value_or(0)) : std::nullopt;
  }
  static std::string of_possible(storage_row const& r) { return r.possible && *r.possible > 0 ? percent(r.hits / *r.possible) : "-"; }
  // `said`: the paper's share of the model; 0: a dash; none: no such column.
  void add_stages(bar_chart& c, table& t, storage_row const& r, std::optional<double> said) const {
    bool const overlaps = r.strategy == "Garner";
    double const all = r.ms.value_or(0), model = r.model_ms.value_or(0);
    std::vector<double> const parts =
        overlaps ? std::vector<double>{0, std::max(0.0, all - model), 0, model}
                 : std::vector<double>{r.sample_ms.value_or(0), r.read_ms.value_or(0), r.copy_ms.value_or(0), model};
    std::string const name = r.drives > 1 ? fmt::format("{}, {} drives", r.strategy, r.drives) : r.strategy;
    in_group(c, r.graph).push_back({name, parts, ms_text(r.ms), overlaps});
    std::vector<std::string> cells{r.graph,
                                   r.strategy,
                                   std::to_string(r.drives),
                                   ms_text(r.sample_ms),
                                   ms_text(r.read_ms),
                                   ms_text(r.copy_ms),
                                   ms_text(r.model_ms),
                                   ms_text(r.ms),
                                   all > 0 ? percent(model / all) : "-",
                                   r.rows > 0 && r.slots ? percent(r.hit_rate()) : "-"};
    if (said) cells.push_back(*said > 0 ? percent(*said) : "-");
    t.rows.push_back(std::move(cells));
  }
  std::vector<storage_row const*> of(char const* figure) const {
    std::vector<storage_row const*> all;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(all), [&](storage_row const* r) { return r->figure == figure; });
    return all;
  }
  storage_row const* find(char const* figure, char const* strategy, std::uint64_t window) const {
    for (storage_row const* r : of(figure))
      if (r->strategy == strategy && r->window == window) return r;
    return nullptr;
  }
  storage_row const* stage(std::string const& graph, char const* strategy, std::uint64_t drives) const {
    for (storage_row const* r : of("stages"))
      if (r->graph == graph && r->strategy == strategy && r->drives == drives) return r;
    return nullptr;
  }
  storage_row const* drive(std::string const& name, std::string const& strategy, std::uint64_t drives) const {
    for (storage_row const* r : of("drives"))
      if (r->drive == name && r->strategy == strategy && r->drives == drives) return r;
    return nullptr;
  }
  double four_of_one() const {
    storage_row const *one = drive("samsung_980_pro", "Garner, rows alone", 1), *four = drive("samsung_980_pro", "Garner, rows alone", 4);
    return one && four ? over(one->ms, four->ms) : 0;
  }
  std::string like(std::string const& graph) const {
    for (storage_graph const& g : f_.graphs)
      if (g.name == graph) return g.like;
    return "";
  }

  storage_file const& f_;
  std::vector<storage_row const*> rows_, skipped_;
  storage_graph const* large_ = nullptr;
};

}  // namespace

std::string storage_sections(std::vector<named<storage_file>> const& runs) {
  std::string out;
  for (named<storage_file> const& n : runs) {
    storage_file const& r = n.run;
    std::string const setting =
        fmt::format("Place {}{}, {} of the vertices with neighbors train, mini-batches of {}, fanouts {}, a cache for {} mini-batches{}",
                    r.place, r.device.empty() ? "" : " (" + r.device + ")", r.share, r.batch, fmt::join(r.fanouts, ","),
                    short_number(r.cache_batches), r.compute_ms > 0 ? fmt::format(", a model of {} ms", short_number(r.compute_ms)) : "");
    out += fmt::format("<section>\n<h2>Rows on storage: {}</h2>\n", escaped(n.name));
    fact_list facts;
    facts.add("file", n.name);
    facts.add("measured", r.time + " with garner " + r.garner);
    facts.add("command", r.command);
    facts.add("setting", setting + fmt::format(", seed {}, {} host threads; {} mini-batches to get warm", r.seed, r.threads, r.warm));
    facts.add("drives",
              "simulated time, unless a row says file: optane 11 us, 1.5 M reads and 6 GB/s; samsung_980_pro 324 us, "
              "0.7 M and 7 GB; sampling was measured here, the model is a specified time");
    facts.add("link", fmt::format("{} GB/s, {}", short_number(r.link_gbs), r.link_measured ? "as measured here" : "said, not measured"));
    for (storage_graph const& g : r.graphs)
      facts.add("graph",
                fmt::format("{}: {} vertices, {} edges, {} train; rows of {} B{}; the mapped file's memory holds {}", g.name, g.vertices,
                            g.edges, g.train, g.row_bytes,
                            g.rows_a_batch > 0 ? fmt::format(", {} a mini-batch", short_number(g.rows_a_batch)) : "", percent(g.memory)));
    out += facts.html() + "</section>\n<section class=\"figures\">\n";
    storage_pages const p(r);
    for (figure const& f : {p.asked(), p.baseline(), p.sampling(), p.cold(), p.windows(), p.policies(), p.breakdown("12", false),
                            p.breakdown("13", true), p.speedups(), p.drives(), p.memory(), p.four(), p.not_measured()})
      if (!f.charts.empty() || !f.numbers.rows.empty()) out += html_of(f, setting);
    out += "</section>\n";
  }
  return out;
}

}  // namespace garner::lab

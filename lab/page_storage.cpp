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

class storage_pages : run_rows<storage_row> {
 public:
  explicit storage_pages(storage_file const& f) : run_rows(f.rows), f_(f) {
    for (storage_graph const& g : f.graphs)
      if (g.like == "IGB-Full") large_ = &g;
  }

  figure baseline() const {
    figure f(
        "3", "a training over a mapped file, by stage",
        "Pages come one at a time from one simulated drive of 11 us, and the system's own work for a fault costs nothing, which favours "
        "this. The page cache holds the paper's share of what the training reads, warmed up by the very mini-batches that are timed.");
    bar_chart c = stacked(f, true);
    double most = 0;
    for (storage_row const* r : of("stages")) {
      if (r->strategy != "mmap") continue;
      add_stages(f, c, *r, of_paper(like(r->graph)).training_of_mmap);
      most = std::max(most, over(rows_ms(*r), r->ms));
    }
    if (most > 0) f.finding = fmt::format("Rows take up to {} of a mini-batch.", percent(most));
    return drawn(std::move(f), c);
  }

  figure sampling() const {
    figure f("8", "sampling by the host and by a device",
             "The paper: the device is faster on all three graphs, on the largest more than 3 times.");
    bar_chart c(f.title, "ms per mini-batch", "ms per mini-batch, smaller is better");
    f.numbers.head = {"<graph", "<place", "ms"};
    for (storage_row const* r : of("sampling")) {
      c.add(r->graph, r->strategy, r->sample_ms, r->strategy == "device");
      f.row(r->graph, r->strategy, r->sample_ms);
    }
    return drawn(std::move(f), c);
  }

  figure cold() const {
    figure f(
        "9", "the first mini-batches, from nothing in any cache",
        "The paper, one Optane drive: GIDS 5.6 GB/s in the first iteration (the drive's peak: 5.8), the mapped file 0.05, and some 5 once "
        "all is in memory.");
    f.numbers.head = {"<drive", "<way", "first, GB/s", "last, GB/s", "ms", "rows compared"};
    std::string firsts;
    for (bool const real : {false, true}) {
      line_chart c(real ? "The same from a file" : "Figure 9: " + f.title, "GB/s of rows, mini-batch by mini-batch", "mini-batch",
                   real ? "GB/s, from a real drive" : "GB/s, from a simulated drive", {1, 5, 10, 15, 20}, false, true);
      for (storage_row const* r : of("cold")) {
        if ((r->drive == "file") != real || r->gbs.empty()) continue;
        curve k{r->strategy, {}};
        for (std::size_t i = 0; i < r->gbs.size(); ++i)
          if (r->gbs[i] > 0) k.points.emplace_back(static_cast<double>(i + 1), r->gbs[i]);
        f.row(r->drive, r->strategy, r->gbs.front(), r->gbs.back(), r->ms, count_text(static_cast<double>(r->compared)));
        if (!real) firsts += fmt::format("{}{} {}", firsts.empty() ? "" : ", ", r->strategy, short_number(r->gbs.front()));
        if (k.points.size() > 1 && c.curves.size() < 6) c.curves.push_back(std::move(k));
      }
      std::erase_if(c.x_ticks, [&](double x) { return c.curves.empty() || x > c.curves[0].points.back().first; });
      f.charts += draw(c);
    }
    if (!firsts.empty()) f.finding = "The first mini-batch comes at (GB/s): " + firsts + ".";
    return f;
  }

  figure windows() const {
    figure f(
        "10", "hits of the cache against the window",
        "The paper, a cache of some five mini-batches: a window of 4 has 1.2 times the hits of none, one of 8 2.19 times; rows come in "
        "1.04 and 1.13 times less time. Possible: Belady's rule with the whole trace known.");
    line_chart c("Figure 10: " + f.title, "per cent of the rows", "mini-batches known ahead", "rows that the cache had", {}, true);
    storage_row const* const clock = find("window", "BaM", 0);
    f.numbers.head = {"<way", "window", "hits", "of BaM's", "of possible", "ms", "faster rows than BaM's"};
    curve possible{"possible", {}}, bam{"BaM", {}};
    for (char const* strategy : {"BaM", "GIDS", "Garner"}) {
      curve k{strategy, {}};
      for (storage_row const* r : of("window")) {
        if (r->strategy != strategy) continue;
        auto const x = static_cast<double>(r->window);
        f.row(r->strategy, r->window, percent(r->hit_rate()), clock && clock->hits > 0 ? times(r->hits / clock->hits) : "-",
              of_possible(*r), r->ms, clock && r->strategy != "Garner" ? times(over(clock->read_ms, r->read_ms)) : "-");
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
    storage_row const *gids = find("window", "GIDS", 8), *own = find("window", "Garner", 8);
    if (clock && gids && own && clock->hits > 0)
      f.finding =
          fmt::format("In the same bytes, window 8: GIDS has {} times the hits of BaM's clock, Garner {} times, {} of what is possible.",
                      short_number(gids->hits / clock->hits), short_number(own->hits / clock->hits), of_possible(*own));
    return drawn(std::move(f), c);
  }

  figure policies() const {
    figure f(
        "11", "policies of the cache",
        "The paper: a window of 8 is 1.08 times as fast as 40 % of the cache pinned by degree. Merged: the storage access accumulator. The "
        "constant buffer holds a tenth of the rows in host memory, besides the cache.");
    f.key = key_of("the papers'", "Garner's own");
    bar_chart c(f.title, "ms per mini-batch", "ms per mini-batch, smaller is better");
    f.numbers.head = {"<way",        "<policy",      "ms",           "waited for reads, ms", "hits", "in memory for good",
                      "of possible", "bytes a slot", "rows compared"};
    storage_row const *pinned = nullptr, *gids = nullptr;
    for (storage_row const* r : of("policies")) {
      bool const own = r->policy == "next-use";
      c.add("", r->strategy, r->ms, own);
      f.row(r->strategy, r->policy, r->ms, r->read_ms, percent(r->hit_rate()), percent(r->rows > 0 ? r->resident / r->rows : 0),
            of_possible(*r), r->metadata_bytes ? short_number(*r->metadata_bytes) : "-", count_text(static_cast<double>(r->compared)));
      if (r->strategy == "pinned, 40 %") pinned = r;
      if (r->strategy == "GIDS") gids = r;
    }
    if (pinned && gids && over(pinned->ms, gids->ms) > 0)
      f.finding = fmt::format("A window of 8 takes {} of the time of the pinned cache.", times(over(gids->ms, pinned->ms)));
    return drawn(std::move(f), c);
  }

  figure breakdown(char const* number, bool heterogeneous) const {
    figure f(number, heterogeneous ? "a mini-batch by stage, heterogeneous graphs" : "a mini-batch by stage",
             "One simulated drive of 11 us. Garner's stages overlap: what its model does not take is drawn as waiting for rows.");
    bar_chart c = stacked(f);
    std::string found;
    for (storage_graph const& g : f_.graphs) {
      if (g.heterogeneous != heterogeneous) continue;
      for (storage_row const* r : of("stages"))
        if (r->graph == g.name && r->drives == 1) add_stages(f, c, *r);
      storage_row const *gids = stage(g.name, "GIDS", 1), *own = stage(g.name, "Garner", 1);
      if (gids && own) found += fmt::format("{}{} of GIDS' time {}", found.empty() ? "" : ", ", percent(over(own->ms, gids->ms)), g.name);
    }
    if (!found.empty()) f.finding = "Garner takes " + found + ".";
    return drawn(std::move(f), c);
  }

  figure speedups() const {
    figure f("14", "each stage, over the mapped file",
             "The paper's are of its machine, whose system took some 80 us for a fault; here a fault costs the drive's time alone.");
    bar_chart c(f.title, "times as fast as the mapped file", "times as fast as the mapped file");
    f.numbers.head = {"<graph", "rows, GIDS", "the paper", "sampling", "the paper", "all, GIDS", "all, Garner"};
    for (storage_graph const& g : f_.graphs) {
      storage_row const *base = stage(g.name, "mmap", 1), *gids = stage(g.name, "GIDS", 1), *own = stage(g.name, "Garner", 1);
      if (!base || !gids || !own) continue;
      said_of const said = of_paper(g.like);
      double const rows = over(rows_ms(*base), rows_ms(*gids)), sample = over(base->sample_ms, gids->sample_ms);
      double const by_gids = over(base->ms, gids->ms), by_own = over(base->ms, own->ms);
      c.of(g.name) = {
          {"GIDS, rows", {rows}, times(rows)}, {"GIDS, all", {by_gids}, times(by_gids)}, {"Garner, all", {by_own}, times(by_own), true}};
      f.row(g.name, times(rows), times(said.faster_rows), times(sample), times(said.faster_sampling), times(by_gids), times(by_own));
    }
    return drawn(std::move(f), c);
  }

  figure drives() const {
    figure f("15", "one to four drives");
    f.said = fmt::format("The paper: some 4 times with four drives on large graphs, until the link is full. Here the link carries {} GB/s.",
                         short_number(f_.link_gbs));
    f.key = key_of("the papers'", "Garner's own");
    bar_chart c(f.title, "ms per mini-batch", "ms per mini-batch, smaller is better");
    f.numbers.head = {"<drive", "<way", "drives", "ms", "of one", "read, GB/s", "% of the link"};
    line_chart alone("Rows alone", "GB/s from drives, without sampling and model", "drives", "GB/s from drives, rows alone", {1, 2, 3, 4});
    for (storage_row const* r : of("drives")) {
      storage_row const* const one = drive(r->drive, r->strategy, 1);
      double const gbs = r->ms && *r->ms > 0 ? r->read_bytes / *r->ms / 1e6 : 0;
      f.row(r->drive, r->strategy, r->drives, r->ms, one ? times(over(one->ms, r->ms)) : "-", gbs,
            f_.link_gbs > 0 ? short_number(100 * gbs / f_.link_gbs) : "-");
      if (r->sample_ms) {
        c.add(r->drive, fmt::format("{}, {}", r->strategy, r->drives), r->ms, r->strategy == "Garner");
        continue;
      }
      std::string const name = r->strategy.substr(0, r->strategy.rfind(',')) + (r->drive == "optane" ? ", 11 us" : ", 324 us");
      if (curve* const l = alone.of(name)) l->points.emplace_back(static_cast<double>(r->drives), gbs);
    }
    std::erase_if(alone.curves, [](curve const& k) { return k.points.size() < 2; });
    if (double const quotient = four_of_one(); quotient > 0)
      f.finding = fmt::format("Four drives of 324 us bring Garner's rows {} as fast as one.", times(quotient));
    return drawn(std::move(f), c, alone);
  }

  figure memory() const {
    figure f("16", "four drives, against all rows in host memory",
             "The paper: GIDS takes 0.72 of the time for rows, since its cache spares the link. Host memory: bytes over the link's rate.");
    bar_chart c = stacked(f);
    storage_row const *base = nullptr, *gids = nullptr, *own = nullptr;
    for (storage_row const* r : of("memory")) {
      add_stages(f, c, *r);
      (r->strategy == "GIDS" ? gids : r->strategy == "Garner" ? own : base) = r;
    }
    if (base && gids && own)
      f.finding = fmt::format("GIDS' rows take {} of the time of those in host memory; all of Garner {} of all.",
                              times(over(rows_ms(*gids), rows_ms(*base))), times(over(own->ms, base->ms)));
    return drawn(std::move(f), c);
  }

  figure four() const {
    figure f("17", "by stage, four drives");
    bar_chart c = stacked(f, true);
    for (storage_row const* r : of("stages"))
      if (r->drives == 4) add_stages(f, c, *r, r->strategy == "GIDS" ? of_paper(like(r->graph)).training_of_gids : 0);
    return drawn(std::move(f), c);
  }

  // The targets.
  figure asked() const {
    figure f("", "targets and measurements");
    f.numbers.head = {"<what", "measured", "target"};
    storage_row const *clock = find("window", "BaM", 0), *gids = find("window", "GIDS", 8), *own = find("window", "Garner", 8);
    if (gids && own && clock && gids->hits > 0 && clock->hits > 0) {
      f.row("hits of next-use over those of a window of 8", times(own->hits / gids->hits), "1 x or more");
      f.row("... over those of the clock", times(own->hits / clock->hits), "-");
      f.row("... of what Belady's rule has of rows that come again in the window",
            own->possible_in_window && *own->possible_in_window > 0 ? percent(own->hits / *own->possible_in_window) : "-", "98 % or more");
      f.row("... of what it has with the whole trace known", of_possible(*own), "-");
      f.row("hits of a window of 8 over those of the clock", times(gids->hits / clock->hits), "2.19 x in the paper");
      if (own->metadata_bytes && large_) {
        f.row("metadata bytes per cached row", *own->metadata_bytes, "16 or fewer");
        f.row("... all of it", format_bytes(static_cast<std::uint64_t>(*own->metadata_bytes * static_cast<double>(own->slots))),
              "BaM, 32 per page of the drive: " + format_bytes(32 * large_->rows));
      }
    }
    if (double const quotient = four_of_one(); quotient > 0)
      f.row("rows from four drives of 324 us over one", times(quotient), "3.8 x or more, until the link is full");
    return f;
  }

  figure not_measured() const {
    return left_out("not measured", [](storage_row const& r) { return fmt::format("{}: {}, {}", r.figure, r.graph, r.strategy); });
  }

 private:
  // `said`: with a column for the paper's share of the model.
  static bar_chart stacked(figure& f, bool said = false) {
    f.numbers.head = {"<graph", "<way", "drives", "sample, ms", "rows, ms", "copy, ms", "model, ms", "all, ms", "model, share", "hits"};
    if (said) f.numbers.head.push_back("model, the paper");
    return bar_chart(f.title, "ms per mini-batch by stage", "ms per mini-batch", 0, {"sample", "rows", "copy", "model"});
  }
  static std::optional<double> rows_ms(storage_row const& r) {
    return r.read_ms || r.copy_ms ? std::optional(r.read_ms.value_or(0) + r.copy_ms.value_or(0)) : std::nullopt;
  }
  static std::string of_possible(storage_row const& r) { return r.possible && *r.possible > 0 ? percent(r.hits / *r.possible) : "-"; }
  // `said`: the paper's share of the model; 0: a dash; none: no such column.
  static void add_stages(figure& f, bar_chart& c, storage_row const& r, std::optional<double> said = {}) {
    bool const overlaps = r.strategy == "Garner";
    double const all = r.ms.value_or(0), model = r.model_ms.value_or(0);
    std::vector<double> const parts =
        overlaps ? std::vector<double>{0, std::max(0.0, all - model), 0, model}
                 : std::vector<double>{r.sample_ms.value_or(0), r.read_ms.value_or(0), r.copy_ms.value_or(0), model};
    std::string const name = r.drives > 1 ? fmt::format("{}, {} drives", r.strategy, r.drives) : r.strategy;
    c.of(r.graph).push_back({name, parts, ms_text(r.ms), overlaps});
    f.row(r.graph, r.strategy, r.drives, r.sample_ms, r.read_ms, r.copy_ms, r.model_ms, r.ms, all > 0 ? percent(model / all) : "-",
          r.rows > 0 && r.slots ? percent(r.hit_rate()) : "-");
    if (said) f.numbers.rows.back().push_back(*said > 0 ? percent(*said) : "-");
  }
  storage_row const* find(char const* figure, std::string const& strategy, std::uint64_t window) const {
    return first(figure, [&](storage_row const& r) { return r.strategy == strategy && r.window == window; });
  }
  storage_row const* stage(std::string const& graph, std::string const& strategy, std::uint64_t drives) const {
    return first("stages", [&](storage_row const& r) { return r.graph == graph && r.strategy == strategy && r.drives == drives; });
  }
  storage_row const* drive(std::string const& name, std::string const& strategy, std::uint64_t drives) const {
    return first("drives", [&](storage_row const& r) { return r.drive == name && r.strategy == strategy && r.drives == drives; });
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
  storage_graph const* large_ = nullptr;
};

}  // namespace

std::string section_of(named<storage_file> const& n) {
  storage_file const& r = n.run;
  std::string const setting =
      fmt::format("{}, {} of the vertices with neighbors train, mini-batches of {}, fanouts {}, a cache for {} mini-batches{}", place_of(r),
                  r.share, r.batch, fmt::join(r.fanouts, ","), short_number(r.cache_batches),
                  r.compute_ms > 0 ? fmt::format(", a model of {} ms", short_number(r.compute_ms)) : "");
  fact_list facts(n.name, r);
  facts.add("setting", setting + fmt::format(", seed {}, {} host threads; {} mini-batches to get warm", r.seed, r.threads, r.warm));
  facts.add("drives",
            "simulated time, unless a row says file: optane 11 us, 1.5 M reads and 6 GB/s; samsung_980_pro 324 us, 0.7 M and 7 GB; "
            "sampling was measured here, the model is a specified time");
  facts.add("link", fmt::format("{} GB/s, {}", short_number(r.link_gbs), r.link_measured ? "as measured here" : "said, not measured"));
  for (storage_graph const& g : r.graphs)
    facts.add("graph",
              fmt::format("{}: {} vertices, {} edges, {} train; rows of {} B{}; the mapped file's memory holds {}", g.name, g.vertices,
                          g.edges, g.train, g.row_bytes,
                          g.rows_a_batch > 0 ? fmt::format(", {} a mini-batch", short_number(g.rows_a_batch)) : "", percent(g.memory)));
  section s("Rows on storage: " + n.name, facts);
  storage_pages const p(r);
  s.add({p.asked(), p.baseline(), p.sampling(), p.cold(), p.windows(), p.policies(), p.breakdown("12", false), p.breakdown("13", true),
         p.speedups(), p.drives(), p.memory(), p.four(), p.not_measured()},
        setting);
  return s.html();
}

}  // namespace garner::lab

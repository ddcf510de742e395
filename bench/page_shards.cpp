// The figures of aggregation over shards that a run of `garner bench shards` measured.
#include <fmt/format.h>

#include <algorithm>

#include "bench/chart.hpp"
#include "bench/figure.hpp"
#include "bench/page.hpp"

namespace garner::bench {

namespace {

std::string shape_text(mgg_shape const& s) { return fmt::format("{}, {}, {}", s.ps, s.dist, s.wpb); }

// Of one graph of a run.
class shard_pages {
 public:
  shard_pages(shards_file const& f, split_graph const& g) : f_(f), g_(g) {
    for (shard_row const& r : f.rows)
      if (r.graph == g.name) rows_.push_back(&r);
  }

  figure times() const {
    figure f = titled("", "one aggregation, by way");
    f.said = fmt::format("The slowest of the shards; {} f32 a row. One place alone is drawn first.", f_.width);
    bar_chart c{f.title, "ms an aggregation", {{"", {}}}, {}, {}, 0};
    c.unit = "ms, smaller is better";
    f.numbers.head = {"<way", "<sums", "<rows of", "<ps, dist, wpb", "shards", "ms", "over one", "MB crossed", "MB, the most"};
    for (shard_row const* r : rows_) {
      c.groups[0].bars.push_back({name_of(*r), {r->ms}, short_number(r->ms), r->how.shards > 1 && r->how.way == shard_way::bulk});
      bool const mgg = r->how.way == shard_way::mgg;
      f.numbers.rows.push_back({std::string(to_string(r->how.way)), mgg ? "-" : std::string(to_string(r->how.sums)),
                                std::string(to_string(r->how.wire)), mgg ? shape_text(r->how.mgg) : "-", std::to_string(r->how.shards),
                                short_number(r->ms), r->against_one ? short_number(*r->against_one) : "-", megabytes(r->bytes),
                                megabytes(r->most_bytes)});
    }
    if (rows_.empty()) return f;
    f.charts = draw(c);
    shard_row const* best = nullptr;
    for (shard_row const* r : rows_)
      if (r->how.shards > 1 && (!best || r->ms < best->ms)) best = r;
    if (best && best->against_one)
      f.finding = fmt::format("The quickest of {} shards is {}: {} times as long as one place.", f_.shards, name_of(*best),
                              short_number(*best->against_one));
    return f;
  }

  figure bytes() const {
    figure f = titled("", "bytes that cross between shards");
    f.said =
        fmt::format("The split: the largest part has {} times the mean of edges; {} of all edges lead to rows of others, {} a row.",
                    short_number(g_.imbalance), percent(g_.edges ? static_cast<double>(g_.cut_edges) / static_cast<double>(g_.edges) : 0),
                    short_number(g_.references));
    bar_chart c{f.title, "MB an aggregation", {{"", {}}}, {}, {}, 0};
    c.unit = "MB of all shards, smaller is better";
    f.numbers.head = {"<way", "MB crossed"};
    for (shard_row const* r : rows_) {
      if (r->how.shards == 1 || !r->steps.empty() ||
          (r->how.way == shard_way::bulk && r->how.sums == shard_sums::quick && r->how.wire == element::f32))
        continue;
      double const mb = static_cast<double>(r->bytes) / 1e6;
      c.groups[0].bars.push_back({name_of(*r), {mb}, short_number(mb), r->how.way == shard_way::bulk});
      f.numbers.rows.push_back({name_of(*r), megabytes(r->bytes)});
    }
    if (!c.groups[0].bars.empty()) f.charts = draw(c);
    return f;
  }

  figure search() const {
    figure f = titled("10", "the search over ps, dist and wpb");
    f.said = "Each is doubled while that is faster, in the paper's order; then ps is halved again.";
    bar_chart c{fmt::format("Figure 10: {}", f.title), "ms an aggregation, step by step", {{"", {}}}, {}, {}, 0};
    c.unit = "ms, step by step";
    f.numbers.head = {"step", "<ps, dist, wpb", "ms"};
    for (shard_row const* r : rows_) {
      for (std::size_t k = 0; k < r->steps.size(); ++k) {
        shard_step const& s = r->steps[k];
        c.groups[0].bars.push_back({shape_text(s.shape), {s.ms}, short_number(s.ms), s.shape == r->how.mgg});
        f.numbers.rows.push_back({std::to_string(k + 1), shape_text(s.shape), short_number(s.ms)});
      }
      if (!r->steps.empty()) f.finding = fmt::format("After {} measurements it says {}.", r->steps.size(), shape_text(r->how.mgg));
    }
    if (!c.groups[0].bars.empty()) f.charts = draw(c);
    return f;
  }

 private:
  figure titled(char const* number, std::string const& what) const { return {number, g_.name + ": " + what, "", "", "", "", {}, ""}; }
  static std::string megabytes(std::uint64_t bytes) { return short_number(static_cast<double>(bytes) / 1e6); }
  static std::string name_of(shard_row const& r) {
    if (r.how.shards == 1) return "one place";
    std::string name(to_string(r.how.way));
    if (r.how.way == shard_way::mgg) return name + (r.steps.empty() ? "" : ", searched");
    if (r.how.sums == shard_sums::quick) name += ", quick";
    if (r.how.wire != element::f32) name += ", " + std::string(to_string(r.how.wire));
    return name;
  }
  shards_file const& f_;
  split_graph const& g_;
  std::vector<shard_row const*> rows_;
};

}  // namespace

std::string shard_sections(std::vector<named_shards> const& runs) {
  std::string out;
  for (named_shards const& n : runs) {
    shards_file const& r = n.run;
    std::string const setting = fmt::format("Place {}{}, {} shards, rows of {} f32, graphs of the paper's sizes divided by {}", r.place,
                                            r.device.empty() ? "" : " (" + r.device + ")", r.shards, r.width, r.shrink);
    out += fmt::format("<section>\n<h2>Shards: {}</h2>\n", escaped(n.name));
    fact_list facts;
    facts.add("file", n.name);
    facts.add("measured", r.time + " with garner " + r.garner);
    facts.add("command", r.command);
    facts.add("setting", setting + fmt::format(", medians of {}, seed {}, {} host threads", r.trials, r.seed, r.threads));
    out += facts.html() + "</section>\n<section class=\"figures\">\n";
    for (split_graph const& g : r.graphs) {
      shard_pages const p(r, g);
      std::string const at = fmt::format("{}; {}: {} vertices, {} edges", setting, g.name, g.vertices, g.edges);
      for (figure const& f : {p.times(), p.bytes(), p.search()})
        if (!f.charts.empty()) out += html_of(f, at);
    }
    out += "</section>\n";
  }
  return out;
}

}  // namespace garner::bench

// The figures of chapter 4 for a run of `garner-lab tiering`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

std::string fanouts_text(tier_trace const& t) { return fmt::format("{}", fmt::join(t.fanouts, ",")); }
std::string label_of(std::string const& score) {
  return score == "rpr"        ? "reverse PageRank"
         : score == "wrpr"     ? "weighted reverse PageRank"
         : score == "expected" ? "expected accesses"
         : score == "sampled"  ? "expected, sampled"
                               : score;
}
std::string epochs_text(std::uint64_t n) { return fmt::format("{} epoch{}", n, n == 1 ? "" : "s"); }
// With the number of epochs that `sampled` counted.
std::string label_of(tiering_run const& r, std::string const& score) {
  for (std::uint64_t const n : r.presample)
    if (score == tier_curve::sampled(n, r.presample)) return label_of("sampled") + " over " + epochs_text(n);
  return label_of(score);
}
// At the depths of 4.10 it counts one.
std::string label_at_depth(std::string const& score) { return label_of(score) + (score == "sampled" ? " over 1 epoch" : ""); }
std::string of_graph(tiering_graph const& g, std::string const& text) { return fmt::format("{}: {}", g.name, text); }

// The part of the gap to the oracle that is chance.
std::string ceiling_text(tiering_run const& r, tier_trace const& t) {
  tier_curve const* const c = t.find(tier_curve::ceiling);
  return c ? fmt::format(
                 "No prediction can be expected to answer more than {} of what the oracle does (the best rows of another training of {} "
                 "times the epochs, by its own counts); the rest is chance.",
                 percent(r.of_oracle(t, *c)), r.ceiling)
           : "";
}
// Drawn, not only in the table: of several presample sizes, only the first.
bool is_drawn(tier_curve const& c) { return c.score != tier_curve::another && !c.score.starts_with("sampled "); }
bool is_score(tier_curve const& c) { return c.score != "oracle" && c.score != tier_curve::another && c.score != tier_curve::ceiling; }

std::string hits_with(tiering_run const& r, tier_curve const& c, double share) {
  return percent(c.hits[std::min(r.at(share), c.hits.size() - 1)]);
}
// Hit rate against the share of cached rows.
curve hit_curve(tiering_run const& r, std::string name, tier_curve const& c) {
  curve to{std::move(name), {}};
  for (std::size_t i = 0; i < r.kept.size(); ++i) to.points.emplace_back(100 * r.kept[i], c.hits[i]);
  return to;
}

figure hit_rates(tiering_run const& r, tiering_graph const& g) {
  tier_trace const& t = g.traces.front();
  figure f("4.8", of_graph(g, "hits of the cached rows"),
           "The paper, over its three graphs: 35 % and more with 10 % kept, 56 % and more with 25 %.");
  line_chart c("Figure 4.8: hit rate against the share of rows kept", "per cent of the accesses for each score and the oracle",
               "% of the rows kept", "accesses answered", {0, 25, 50, 75, 100}, true);
  f.numbers.head = {"<score", "1 %", "5 %", "10 %", "25 %", "50 %", "of the oracle at 10 %"};
  tier_curve const* best = nullptr;
  for (tier_curve const& s : t.curves) {
    if (is_drawn(s)) c.curves.push_back(hit_curve(r, label_of(r, s.score), s));
    std::vector<std::string> row{label_of(r, s.score)};
    for (double const share : {0.01, 0.05, 0.1, 0.25, 0.5}) row.push_back(hits_with(r, s, share));
    row.push_back(percent(r.of_oracle(t, s)));
    f.numbers.rows.push_back(std::move(row));
    if (is_score(s) && (!best || r.of_oracle(t, s) > r.of_oracle(t, *best))) best = &s;
  }
  if (best)
    f.finding = fmt::format("With 10 % of the rows kept {} answers {} of the accesses, {} of what the oracle does.",
                            label_of(r, best->score), hits_with(r, *best, 0.1), percent(r.of_oracle(t, *best))) +
                " " + ceiling_text(r, t);
  return drawn(std::move(f), c);
}

figure share_of_oracle(tiering_run const& r, tiering_graph const& g) {
  tier_trace const& t = g.traces.front();
  figure f("", of_graph(g, "link bytes saved with 10 % kept, of what the oracle saves"),
           "The oracle knows the trace, chance included. The ceiling is what the best rows of another training answer of that one.");
  bar_chart c("Saved with 10 % of the rows kept", "per cent of the oracle's saving, for each score", "% of the oracle's saving", 100, {},
              {{100, "the oracle"}});
  f.numbers.head = {"<score", "% of the oracle", "iterations", "ms to score"};
  for (tier_curve const& s : t.curves) {
    if (s.score == "oracle") continue;
    double const share = 100 * r.of_oracle(t, s);
    if (s.score == tier_curve::ceiling) c.marks.push_back({share, "the ceiling of predictions"});
    if (is_score(s)) c.add("", s.score, share, s.score == "expected" || s.score.starts_with("sampled"));
    std::string iterations = "-", ms = "-";
    for (score_cost const& k : g.scores)
      if (k.score == s.score) iterations = std::to_string(k.iterations), ms = short_number(k.ms);
    f.row(label_of(r, s.score), share, iterations, ms);
  }
  f.finding = ceiling_text(r, t);
  return drawn(std::move(f), c);
}

figure deeper(tiering_run const& r, tiering_graph const& g) {
  figure f("4.10", of_graph(g, "deeper sampling"),
           "The paper, ogbn-papers100M with six hops of 10 and 10 % kept: weighted reverse PageRank 52 %, degree 28 %.");
  f.numbers.head = {"<score", "<fanouts", "10 %", "25 %", "of the oracle at 10 %"};
  for (std::string const score : {"sampled", "expected", "wrpr", "degree"}) {
    line_chart c("Figure 4.10: " + label_at_depth(score), "hit rate against the share of rows kept, a curve a depth", "% of the rows kept",
                 "hits, by " + score, {0, 25, 50, 75, 100}, true);
    for (std::size_t k = 1; k < g.traces.size() && k <= 6; ++k) {
      tier_curve const* const s = g.traces[k].find(score);
      if (!s) continue;
      c.curves.push_back(hit_curve(r, fmt::format("{} hops of {}", g.traces[k].fanouts.size(), g.traces[k].fanouts[0]), *s));
      f.row(label_at_depth(score), fanouts_text(g.traces[k]), hits_with(r, *s, 0.1), hits_with(r, *s, 0.25),
            percent(r.of_oracle(g.traces[k], *s)));
    }
    f.charts += draw(c);
  }
  f.finding = "The deeper the sampling, the more the accesses spread.";
  return f;
}

figure link_bytes(tiering_run const& r, tiering_graph const& g) {
  tier_trace const& t = g.traces.front();
  figure f("4.11", of_graph(g, "bytes over the link against the share kept"),
           "The paper, ogbn-papers100M: 97 % fewer bytes with 25 % kept; 87 to 95 % fewer with 10 % over its graphs.");
  line_chart c("Figure 4.11: link bytes against the share of rows kept", "of the bytes with nothing kept, for each score",
               "% of the rows kept", "of the bytes with nothing kept", {0, 5, 10, 15, 20, 25}, true);
  line_chart times("Figure 4.11: gather time against the share of rows kept",
                   fmt::format("mean ms of {} mini-batches, for each score", t.gathered), "% of the rows kept", "ms per mini-batch",
                   {0, 5, 10, 15, 20, 25});
  f.numbers.head = {"<score", "kept", "GB per epoch", "fewer"};
  if (t.gathered) f.numbers.head.insert(f.numbers.head.end(), {"MB a gather", "ms a gather"});
  for (tier_curve const& s : t.curves) {
    curve line{label_of(r, s.score), {}};
    for (std::size_t i = 0; i < r.kept.size() && r.kept[i] <= 0.25 + 1e-9; ++i) {
      line.points.emplace_back(100 * r.kept[i], 1 - s.hits[i]);
      if (i % 5 && r.kept[i] < 0.1) continue;
      std::vector<std::string> row{label_of(r, s.score), percent(r.kept[i]), short_number(r.link_bytes(t, s, i) / 1e9), percent(s.hits[i])};
      if (t.gathered) {
        row.insert(row.end(), 2, "-");
        for (tier_gather const& m : s.gathers)
          if (std::abs(m.kept - r.kept[i]) < 1e-9) row[4] = short_number(m.link_bytes / 1e6), row[5] = ms_text(m.ms);
      }
      f.numbers.rows.push_back(std::move(row));
    }
    if (is_drawn(s)) c.curves.push_back(std::move(line));
    curve took{label_of(r, s.score), {}};
    for (tier_gather const& m : s.gathers)
      if (m.ms) took.points.emplace_back(100 * m.kept, *m.ms);
    if (took.points.size() > 1) times.curves.push_back(std::move(took));
  }
  if (!t.no_gathers.empty()) f.key = fmt::format("<p>No gathers: {}.</p>\n", escaped(t.no_gathers));
  if (tier_curve const* const best = t.find("expected"))
    f.finding =
        fmt::format("With {} of the rows kept by expected accesses {} fewer bytes cross the link{}.", percent(0.1),
                    hits_with(r, *best, 0.1), t.gathered && r.place != "host" && r.place != "cpu" ? "" : " (counted from the trace)");
  return drawn(std::move(f), c, times);
}

}  // namespace

std::string section_of(named<tiering_run> const& n) {
  tiering_run const& r = n.run;
  auto const setting_of = [&](std::uint64_t epochs) {
    return fmt::format("{}, training set {}, mini-batches of {}, {}, rule {}, rows of {} B", place_of(r), r.train, r.batch,
                       epochs_text(epochs), r.rule, r.row_bytes);
  };
  fact_list facts(n.name, r);
  if (!r.presample.empty())
    facts.add("sampled", fmt::format("over {} epoch{} beforehand", fmt::join(r.presample, ", "),
                                     r.presample == std::vector<std::uint64_t>{1} ? "" : "s"));
  facts.add("setting", setting_of(r.epochs) + fmt::format(", seed {}, {} host threads", r.seed, r.threads));
  section s("Data tiering: " + n.name, facts);
  for (tiering_graph const& g : r.graphs) {
    tier_trace const& t = g.traces.front();
    std::string const of_it = fmt::format("; {}: {} vertices, {} edges, {} training vertices, ", g.name, g.vertices, g.edges, g.train);
    std::string const at =
        setting_of(r.epochs) + of_it + fmt::format("fanouts {}, {} mini-batches, {} accesses", fanouts_text(t), t.batches, t.accesses);
    s.add({hit_rates(r, g), share_of_oracle(r, g)}, at);
    if (g.traces.size() > 1)
      s.add({deeper(r, g)}, setting_of(g.traces[1].epochs) + of_it +
                                fmt::format("fanout {} a hop, {} mini-batches; sampled counts 1 epoch beforehand", g.traces[1].fanouts[0],
                                            g.traces[1].batches));
    s.add({link_bytes(r, g)}, at);
  }
  return s.html();
}

}  // namespace garner::lab

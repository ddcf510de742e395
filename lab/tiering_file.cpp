#include "lab/tiering_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "lab/field.hpp"

namespace garner::lab {

std::size_t tiering_run::at(double share) const {
  auto const i = std::lower_bound(kept.begin(), kept.end(), share - 1e-9);
  return static_cast<std::size_t>(i - kept.begin());
}
double tiering_run::of_oracle(tier_trace const& t, tier_curve const& c, double share) const {
  tier_curve const* const oracle = t.find("oracle");
  std::size_t const i = at(share);
  if (!oracle || i >= c.hits.size() || !(oracle->hits[i] > 0)) return 1;
  return c.hits[i] / oracle->hits[i];
}
double tiering_run::link_bytes(tier_trace const& t, tier_curve const& c, std::size_t i) const {
  return static_cast<double>(t.accesses) * (1 - c.hits[i]) * static_cast<double>(row_bytes) /
         static_cast<double>(std::max<std::uint64_t>(t.epochs, 1));
}

std::string to_json(tiering_run const& run) {
  json all = to_json(tiering_run::schema, run);
  all.update({{"rule", run.rule},
              {"train", run.train},
              {"batch", run.batch},
              {"epochs", run.epochs},
              {"seed", run.seed},
              {"row_bytes", run.row_bytes},
              {"ceiling", run.ceiling},
              {"presample", run.presample},
              {"kept", run.kept},
              {"graphs", json::array()}});
  for (tiering_graph const& g : run.graphs) {
    json scores = json::array(), traces = json::array();
    for (score_cost const& s : g.scores) scores.push_back({{"score", s.score}, {"iterations", s.iterations}, {"ms", s.ms}});
    for (tier_trace const& t : g.traces) {
      json curves = json::array();
      for (tier_curve const& c : t.curves) {
        json bytes = json::array();
        for (std::size_t i = 0; i < c.hits.size(); ++i) bytes.push_back(run.link_bytes(t, c, i));
        json gathers = json::array();
        for (tier_gather const& m : c.gathers) gathers.push_back({{"kept", m.kept}, {"link_bytes", m.link_bytes}, {"ms", or_null(m.ms)}});
        curves.push_back({{"score", c.score},
                          {"of_oracle_at_10", run.of_oracle(t, c)},
                          {"hits", c.hits},
                          {"link_bytes", std::move(bytes)},
                          {"gathers", std::move(gathers)}});
      }
      traces.push_back({{"fanouts", t.fanouts},
                        {"epochs", t.epochs},
                        {"batches", t.batches},
                        {"accesses", t.accesses},
                        {"sampled", t.sampled},
                        {"ms", t.ms},
                        {"gathered", t.gathered},
                        {"no_gathers", text_or_null(t.no_gathers)},
                        {"curves", std::move(curves)}});
    }
    all["graphs"].push_back({{"name", g.name},
                             {"vertices", g.vertices},
                             {"edges", g.edges},
                             {"directed", g.directed},
                             {"training_vertices", g.train},
                             {"scores", std::move(scores)},
                             {"traces", std::move(traces)}});
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_tiering(std::string const& text) { return is_of(tiering_run::schema, text); }

tiering_run parse_tiering(std::string const& text, std::string const& name) {
  json const all = parse_as(tiering_run::schema, text, name);
  field const f(all, "", name, tiering_run::schema.bench);
  tiering_run run;
  static_cast<file_head&>(run) = head_in(f);
  run.rule = f["rule"].text();
  run.train = f["train"].text();
  run.batch = f["batch"].count();
  run.epochs = f["epochs"].count();
  run.seed = f["seed"].count();
  run.row_bytes = f["row_bytes"].count();
  run.ceiling = f["ceiling"].count();
  if (f.has("presample"))
    for (field const& k : f["presample"].items()) run.presample.push_back(k.count());
  for (field const& k : f["kept"].items()) run.kept.push_back(k.number());
  if (run.kept.size() < 2 || !std::is_sorted(run.kept.begin(), run.kept.end())) f["kept"].wrong("two shares or more, ascending");
  auto const numbers = [&](field const& list) {
    std::vector<double> values;
    for (field const& x : list.items()) values.push_back(x.number());
    if (values.size() != run.kept.size()) list.wrong("a number for each of 'kept'");
    return values;
  };
  for (field const& g : f["graphs"].items()) {
    tiering_graph row;
    row.name = g["name"].text();
    row.vertices = g["vertices"].count();
    row.edges = g["edges"].count();
    row.directed = g["directed"].truth();
    row.train = g["training_vertices"].count();
    for (field const& s : g["scores"].items()) row.scores.push_back({s["score"].text(), s["iterations"].count(), s["ms"].number()});
    for (field const& t : g["traces"].items()) {
      tier_trace trace;
      for (field const& x : t["fanouts"].items()) trace.fanouts.push_back(x.count());
      trace.epochs = t.has("epochs") ? t["epochs"].count() : run.epochs;
      trace.batches = t["batches"].count();
      trace.accesses = t["accesses"].count();
      trace.sampled = t["sampled"].count();
      trace.ms = t["ms"].number();
      trace.gathered = t["gathered"].count();
      trace.no_gathers = t["no_gathers"].text_or_none();
      for (field const& c : t["curves"].items()) {
        tier_curve curve{c["score"].text(), numbers(c["hits"]), {}};
        for (field const& m : c["gathers"].items())
          curve.gathers.push_back({m["kept"].number(), m["link_bytes"].number(), m["ms"].number_or_none()});
        trace.curves.push_back(std::move(curve));
      }
      row.traces.push_back(std::move(trace));
    }
    if (row.traces.empty()) g["traces"].wrong("one trace or more");
    run.graphs.push_back(std::move(row));
  }
  return run;
}

}  // namespace garner::lab

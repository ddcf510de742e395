#include "lab/load_file.hpp"

namespace garner::lab {

std::optional<double> load_row::hits() const {
  double const asked = window_rows + fetched_rows;
  return asked > 0 ? std::optional(window_rows / asked) : std::nullopt;
}
std::optional<double> load_row::fetch_gbs() const {
  std::optional<double> const took = fetch_ms && *fetch_ms > 0 ? fetch_ms : gather_ms;
  return took && *took > 0 && remote_bytes > 0 ? std::optional(remote_bytes / *took / 1e6) : std::nullopt;
}

namespace {
json span_of(load_span const& s) { return json::array({s.begin, s.end}); }
}  // namespace

std::string to_json(load_file const& f) {
  json all = to_json(load_file::schema, f);
  all.update({{"fanouts", f.fanouts},
              {"rule", f.rule},
              {"share", f.share},
              {"score", f.score},
              {"batch", f.batch},
              {"row_bytes", f.row_bytes},
              {"seed", f.seed},
              {"compute_ms", f.compute_ms},
              {"link_gbs", or_null(f.link_gbs)},
              {"graphs", json::array()},
              {"rows", json::array()}});
  for (bench_graph const& g : f.graphs) all["graphs"].push_back(to_json(g));
  for (load_row const& r : f.rows) {
    json moments = json::array();
    for (load_moments const& m : r.moments)
      moments.push_back({{"index", m.index},
                         {"sample", span_of(m.sample)},
                         {"fetch", span_of(m.fetch)},
                         {"gather", span_of(m.gather)},
                         {"handed", m.handed}});
    all["rows"].push_back({{"graph", r.graph},
                           {"figure", r.figure},
                           {"lists", r.lists},
                           {"way", r.strategy},
                           {"kept", r.kept},
                           {"devices", r.devices},
                           {"window", r.window},
                           {"multiprocessors", r.multiprocessors},
                           {"batches", r.batches},
                           {"ms", or_null(r.ms)},
                           {"ms_median", or_null(r.ms_median)},
                           {"sample_ms", or_null(r.sample_ms)},
                           {"fetch_ms", or_null(r.fetch_ms)},
                           {"gather_ms", or_null(r.gather_ms)},
                           {"caller_waited_ms", or_null(r.caller_waited_ms)},
                           {"loader_waited_ms", or_null(r.loader_waited_ms)},
                           {"vertices", r.vertices},
                           {"edges", r.edges},
                           {"near_rows", r.near_rows},
                           {"peer_rows", r.peer_rows},
                           {"far_rows", r.far_rows},
                           {"window_rows", r.window_rows},
                           {"fetched_rows", r.fetched_rows},
                           {"far_bytes", r.remote_bytes},
                           {"moments", std::move(moments)},
                           {"skipped", text_or_null(r.skipped)}});
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_loads(std::string const& text) { return is_of(load_file::schema, text); }

load_file parse_loads(std::string const& text, std::string const& name) {
  json const all = parse_as(load_file::schema, text, name);
  field const f(all, "", name, load_file::schema.bench);
  load_file file;
  static_cast<file_head&>(file) = head_in(f);
  for (field const& k : f["fanouts"].items()) file.fanouts.push_back(static_cast<std::int64_t>(k.count()));
  file.rule = f["rule"].text();
  file.share = f["share"].text();
  file.score = f["score"].text();
  file.batch = f["batch"].count();
  file.row_bytes = f["row_bytes"].count();
  file.seed = f["seed"].count();
  file.compute_ms = f["compute_ms"].number();
  file.link_gbs = f["link_gbs"].number_or_none();
  for (field const& g : f["graphs"].items()) file.graphs.push_back(graph_in(g));
  auto const span_in = [](field const& s) {
    std::vector<field> const two = s.items();
    if (two.size() != 2) s.wrong("a beginning and an end");
    return load_span{two[0].number(), two[1].number()};
  };
  for (field const& r : f["rows"].items()) {
    load_row row;
    row.graph = r["graph"].text();
    row.figure = r["figure"].text();
    row.lists = r["lists"].text();
    row.strategy = r["way"].text();
    row.kept = r["kept"].number();
    row.devices = r["devices"].count();
    row.window = r["window"].count();
    row.multiprocessors = r["multiprocessors"].count();
    row.batches = r["batches"].count();
    row.ms = r["ms"].number_or_none();
    row.ms_median = r["ms_median"].number_or_none();
    row.sample_ms = r["sample_ms"].number_or_none();
    row.fetch_ms = r["fetch_ms"].number_or_none();
    row.gather_ms = r["gather_ms"].number_or_none();
    row.caller_waited_ms = r["caller_waited_ms"].number_or_none();
    row.loader_waited_ms = r["loader_waited_ms"].number_or_none();
    row.vertices = r["vertices"].number();
    row.edges = r["edges"].number();
    row.near_rows = r["near_rows"].number();
    row.peer_rows = r["peer_rows"].number();
    row.far_rows = r["far_rows"].number();
    row.window_rows = r["window_rows"].number();
    row.fetched_rows = r["fetched_rows"].number();
    row.remote_bytes = r["far_bytes"].number();
    for (field const& m : r["moments"].items())
      row.moments.push_back({m["index"].count(), span_in(m["sample"]), span_in(m["fetch"]), span_in(m["gather"]), m["handed"].number()});
    row.skipped = r["skipped"].text_or_none();
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace garner::lab

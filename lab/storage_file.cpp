#include "lab/storage_file.hpp"

namespace garner::lab {

std::string to_json(storage_file const& f) {
  json all = to_json(storage_file::schema, f);
  all.update({{"fanouts", f.fanouts},
              {"share", f.share},
              {"batch", f.batch},
              {"warm", f.warm},
              {"seed", f.seed},
              {"cache_batches", f.cache_batches},
              {"compute_ms", f.compute_ms},
              {"link_gbs", f.link_gbs},
              {"link_measured", f.link_measured},
              {"graphs", json::array()},
              {"rows", json::array()}});
  for (storage_graph const& g : f.graphs) {
    json one = to_json(static_cast<bench_graph const&>(g));
    one.update({{"like", g.like},
                {"heterogeneous", g.heterogeneous},
                {"table_rows", g.rows},
                {"row_bytes", g.row_bytes},
                {"memory", g.memory},
                {"rows_a_batch", g.rows_a_batch}});
    all["graphs"].push_back(std::move(one));
  }
  for (storage_row const& r : f.rows)
    all["rows"].push_back({{"graph", r.graph},
                           {"figure", r.figure},
                           {"way", r.strategy},
                           {"policy", text_or_null(r.policy)},
                           {"drive", text_or_null(r.drive)},
                           {"drives", r.drives},
                           {"window", r.window},
                           {"slots", r.slots},
                           {"batches", r.batches},
                           {"ms", or_null(r.ms)},
                           {"sample_ms", or_null(r.sample_ms)},
                           {"read_ms", or_null(r.read_ms)},
                           {"copy_ms", or_null(r.copy_ms)},
                           {"model_ms", or_null(r.model_ms)},
                           {"asked", r.rows},
                           {"hits", r.hits},
                           {"resident", r.resident},
                           {"reads", r.reads},
                           {"read_bytes", r.read_bytes},
                           {"possible", or_null(r.possible)},
                           {"possible_in_window", or_null(r.possible_in_window)},
                           {"metadata_bytes", or_null(r.metadata_bytes)},
                           {"compared", r.compared},
                           {"gbs", r.gbs},
                           {"skipped", text_or_null(r.skipped)}});
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_storage(std::string const& text) { return is_of(storage_file::schema, text); }

storage_file parse_storage(std::string const& text, std::string const& name) {
  json const all = parse_as(storage_file::schema, text, name);
  field const f(all, "", name, storage_file::schema.bench);
  storage_file file;
  static_cast<file_head&>(file) = head_in(f);
  for (field const& k : f["fanouts"].items()) file.fanouts.push_back(static_cast<std::int64_t>(k.count()));
  file.share = f["share"].text();
  file.batch = f["batch"].count();
  file.warm = f["warm"].count();
  file.seed = f["seed"].count();
  file.cache_batches = f["cache_batches"].number();
  file.compute_ms = f["compute_ms"].number();
  file.link_gbs = f["link_gbs"].number();
  file.link_measured = f["link_measured"].truth();
  for (field const& g : f["graphs"].items()) {
    storage_graph one;
    static_cast<bench_graph&>(one) = graph_in(g);
    one.like = g["like"].text();
    one.heterogeneous = g["heterogeneous"].truth();
    one.rows = g["table_rows"].count();
    one.row_bytes = g["row_bytes"].count();
    one.memory = g["memory"].number();
    one.rows_a_batch = g["rows_a_batch"].number();
    file.graphs.push_back(std::move(one));
  }
  for (field const& r : f["rows"].items()) {
    storage_row row;
    row.graph = r["graph"].text();
    row.figure = r["figure"].text();
    row.strategy = r["way"].text();
    row.policy = r["policy"].text_or_none();
    row.drive = r["drive"].text_or_none();
    row.drives = r["drives"].count();
    row.window = r["window"].count();
    row.slots = r["slots"].count();
    row.batches = r["batches"].count();
    row.ms = r["ms"].number_or_none();
    row.sample_ms = r["sample_ms"].number_or_none();
    row.read_ms = r["read_ms"].number_or_none();
    row.copy_ms = r["copy_ms"].number_or_none();
    row.model_ms = r["model_ms"].number_or_none();
    row.rows = r["asked"].number();
    row.hits = r["hits"].number();
    row.resident = r["resident"].number();
    row.reads = r["reads"].number();
    row.read_bytes = r["read_bytes"].number();
    row.possible = r["possible"].number_or_none();
    row.possible_in_window = r["possible_in_window"].number_or_none();
    row.metadata_bytes = r["metadata_bytes"].number_or_none();
    row.compared = r["compared"].count();
    for (field const& k : r["gbs"].items()) row.gbs.push_back(k.number());
    row.skipped = r["skipped"].text_or_none();
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace garner::lab

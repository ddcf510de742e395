#include "lab/train_file.hpp"

namespace garner::lab {

std::optional<double> train_times::stages() const {
  if (!sample_ms || !fetch_ms || !gather_ms || !model_ms) return std::nullopt;
  return *sample_ms + *fetch_ms + *gather_ms + *model_ms;
}

std::optional<double> trainable_row::of_floor() const {
  return update_ms && update_floor_ms && *update_floor_ms > 0 ? std::optional(*update_ms / *update_floor_ms) : std::nullopt;
}
std::optional<double> trainable_row::of_both_floors() const {
  if (!of_floor() || !gather_ms || !gather_floor_ms) return std::nullopt;
  return (*gather_ms + *update_ms) / (*gather_floor_ms + *update_floor_ms);
}

namespace {

void put(json& to, train_times const& t) {
  to["ms"] = or_null(t.ms);
  to["sample_ms"] = or_null(t.sample_ms), to["fetch_ms"] = or_null(t.fetch_ms), to["gather_ms"] = or_null(t.gather_ms);
  to["model_ms"] = or_null(t.model_ms);
  to["caller_waited_ms"] = or_null(t.caller_waited_ms), to["loader_waited_ms"] = or_null(t.loader_waited_ms);
}
void put(json& to, train_rows const& r) {
  to["near_rows"] = r.near, to["peer_rows"] = r.peer, to["far_rows"] = r.far, to["far_bytes"] = r.remote_bytes;
}
train_times times_in(field const& f) {
  return {f["ms"].number_or_none(),
          f["sample_ms"].number_or_none(),
          f["fetch_ms"].number_or_none(),
          f["gather_ms"].number_or_none(),
          f["model_ms"].number_or_none(),
          f["caller_waited_ms"].number_or_none(),
          f["loader_waited_ms"].number_or_none()};
}
// garner train --json has other names since 0.1.0 than the files of garner-lab, and than it had before.
field either(field const& f, char const* now, char const* before) { return f[f.has(now) || !f.has(before) ? now : before]; }
train_rows rows_in(field const& f) {
  if (f.has("local_rows") || f.has("remote_rows") || f.has("remote_bytes"))
    return {f["local_rows"].number(), f["peer_rows"].number(), f["remote_rows"].number(), f["remote_bytes"].number()};
  return {f["near_rows"].number(), f["peer_rows"].number(), f["far_rows"].number(), f["far_bytes"].number()};
}
std::vector<train_epoch> epochs_in(field const& f) {
  std::vector<train_epoch> all;
  for (field const& e : f.items())
    all.push_back({e["epoch"].count(), e["loss"].number(), e["accuracy"].number(), e["train_accuracy"].number_or_none(),
                   e["validation_accuracy"].number_or_none(), e["test_accuracy"].number_or_none(), times_in(e), rows_in(e)});
  return all;
}
std::vector<std::int64_t> fanouts_in(field const& f) {
  std::vector<std::int64_t> all;
  for (field const& k : f.items()) all.push_back(k.signed_count());
  return all;
}

// What garner train --json prints has no schema; it has these.
bool is_course(json const& all) {
  return all.is_object() && !all.contains("schema") && all.contains("epochs") && all["epochs"].is_array() && all.contains("model") &&
         (all.contains("training_nodes") || all.contains("training_vertices"));
}
train_file course_in(json const& all, std::string const& name) {
  field const f(all, "", name, "train");
  train_file file;
  file.alone = true;
  file.place = either(f, "device", "place").text();
  if (!f["fanouts"].null()) file.fanouts = fanouts_in(f["fanouts"]);
  file.batch = f["batch"].count_or_none().value_or(0);
  file.hidden = f["hidden"].count(), file.classes = f["classes"].count(), file.seed = f["seed"].count();
  file.courses.push_back({{f["file"].text() + ", " + f["model"].text(), either(f, "nodes", "vertices").count(), f["edges"].count(),
                           either(f, "training_nodes", "training_vertices").count()},
                          epochs_in(f["epochs"])});
  if (file.place == "simulated")  // where time is not that of what is simulated
    for (train_epoch& e : file.courses.back().epochs) e.times = {};
  return file;
}

}  // namespace

std::string to_json(train_file const& f) {
  json all = to_json(train_file::schema, f);
  all.update({{"fanouts", f.fanouts},
              {"share", f.share},
              {"batch", f.batch},
              {"hidden", f.hidden},
              {"classes", f.classes},
              {"seed", f.seed},
              {"link_gbs", or_null(f.link_gbs)},
              {"graphs", json::array()},
              {"rows", json::array()},
              {"trainable", json::array()},
              {"courses", json::array()}});
  for (bench_graph const& g : f.graphs) all["graphs"].push_back(to_json(g));
  for (train_row const& r : f.rows) {
    json row{{"graph", r.graph}, {"figure", r.figure},   {"lists", r.lists}, {"way", r.strategy},    {"score", text_or_null(r.score)},
             {"kept", r.kept},   {"devices", r.devices}, {"width", r.width}, {"batches", r.batches}, {"epochs_timed", r.epochs}};
    put(row, r.times);
    row["ms_median"] = or_null(r.ms_median);
    put(row, r.rows);
    row["loss"] = r.loss, row["skipped"] = text_or_null(r.skipped);
    all["rows"].push_back(std::move(row));
  }
  for (trainable_row const& r : f.trainable)
    all["trainable"].push_back({{"optimiser", r.optimizer},
                                {"rows", r.rows},
                                {"width", r.width},
                                {"step_rows", r.step_rows},
                                {"record_bytes", r.record_bytes},
                                {"kept", r.kept},
                                {"steps", r.steps},
                                {"gather_ms", or_null(r.gather_ms)},
                                {"update_ms", or_null(r.update_ms)},
                                {"update_ms_median", or_null(r.update_ms_median)},
                                {"far_rows", r.far_rows},
                                {"far_bytes", r.remote_bytes},
                                {"gather_floor_ms", or_null(r.gather_floor_ms)},
                                {"update_floor_ms", or_null(r.update_floor_ms)},
                                {"of_floor", or_null(r.of_floor())},
                                {"of_both_floors", or_null(r.of_both_floors())},
                                {"skipped", text_or_null(r.skipped)}});
  for (train_course const& c : f.courses) {
    json epochs = json::array();
    for (train_epoch const& e : c.epochs) {
      json row{{"epoch", e.epoch},
               {"loss", e.loss},
               {"accuracy", e.accuracy},
               {"train_accuracy", or_null(e.train_accuracy)},
               {"validation_accuracy", or_null(e.validation_accuracy)},
               {"test_accuracy", or_null(e.test_accuracy)}};
      put(row, e.times), put(row, e.rows);
      epochs.push_back(std::move(row));
    }
    all["courses"].push_back(to_json(static_cast<bench_graph const&>(c)));
    all["courses"].back()["epochs"] = std::move(epochs);
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_trainings(std::string const& text) {
  json const all = json::parse(text, nullptr, false);
  return is_course(all) || is_of(train_file::schema, text);
}

train_file parse_trainings(std::string const& text, std::string const& name) {
  if (json const printed = json::parse(text, nullptr, false); is_course(printed)) return course_in(printed, name);
  json const all = parse_as(train_file::schema, text, name);
  field const f(all, "", name, train_file::schema.bench);
  train_file file;
  static_cast<file_head&>(file) = head_in(f);
  file.fanouts = fanouts_in(f["fanouts"]);
  file.share = f["share"].text();
  file.batch = f["batch"].count();
  file.hidden = f["hidden"].count(), file.classes = f["classes"].count(), file.seed = f["seed"].count();
  file.link_gbs = f["link_gbs"].number_or_none();
  for (field const& g : f["graphs"].items()) file.graphs.push_back(graph_in(g));
  for (field const& r : f["rows"].items()) {
    train_row row;
    row.graph = r["graph"].text(), row.figure = r["figure"].text();
    row.lists = r["lists"].text(), row.strategy = r["way"].text(), row.score = r["score"].text_or_none();
    row.kept = r["kept"].number(), row.devices = r["devices"].count(), row.width = r["width"].count();
    row.batches = r["batches"].count(), row.epochs = r["epochs_timed"].count();
    row.times = times_in(r), row.ms_median = r["ms_median"].number_or_none();
    row.rows = rows_in(r);
    row.loss = r["loss"].number();
    row.skipped = r["skipped"].text_or_none();
    file.rows.push_back(std::move(row));
  }
  if (f.has("trainable"))
    for (field const& r : f["trainable"].items()) {
      trainable_row row;
      row.optimizer = r["optimiser"].text();
      row.rows = r["rows"].count(), row.width = r["width"].count(), row.step_rows = r["step_rows"].count();
      row.record_bytes = r["record_bytes"].count(), row.kept = r["kept"].number(), row.steps = r["steps"].count();
      row.gather_ms = r["gather_ms"].number_or_none(), row.update_ms = r["update_ms"].number_or_none();
      row.update_ms_median = r["update_ms_median"].number_or_none();
      row.far_rows = r["far_rows"].number(), row.remote_bytes = r["far_bytes"].number();
      row.gather_floor_ms = r["gather_floor_ms"].number_or_none(), row.update_floor_ms = r["update_floor_ms"].number_or_none();
      row.skipped = r["skipped"].text_or_none();
      file.trainable.push_back(std::move(row));
    }
  for (field const& c : f["courses"].items()) file.courses.push_back({graph_in(c), epochs_in(c["epochs"])});
  return file;
}

}  // namespace garner::lab

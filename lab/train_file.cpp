#include "lab/train_file.hpp"

namespace garner::lab {

// It has no schema; it has these.
bool is_course(json const& all) {
  return all.is_object() && !all.contains("schema") && all.contains("epochs") && all["epochs"].is_array() && all.contains("model") &&
         (all.contains("training_nodes") || all.contains("training_vertices"));
}

train_file course_in(json const& all, std::string const& name) {
  field const f(all, "", name, train_file::schema);
  key_reader k(f);
  auto const either = [&](char const* now, char const* before) { return f.has(now) || !f.has(before) ? now : before; };
  train_file file;
  file.alone = true;
  train_course& c = file.courses.emplace_back();
  std::string graph, model;
  std::optional<std::uint64_t> batch;
  std::optional<std::vector<std::int64_t>> fanouts;
  k(either("device", "place"), file.place, "fanouts", fanouts, "batch", batch, "hidden", file.hidden, "classes", file.classes);
  k("seed", file.seed, "file", graph, "model", model, either("nodes", "vertices"), c.vertices, "edges", c.edges);
  k(either("training_nodes", "training_vertices"), c.train, "epochs", c.epochs);
  c.name = graph + ", " + model, file.batch = batch.value_or(0), file.fanouts = fanouts.value_or(file.fanouts);
  if (file.place == "simulated")  // where time is not that of what is simulated
    for (train_epoch& e : c.epochs) e.times = {};
  return file;
}

}  // namespace garner::lab

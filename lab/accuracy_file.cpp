#include "lab/accuracy_file.hpp"

#include <algorithm>

#include "lab/field.hpp"

namespace garner::lab {

bool is_accuracy(std::string const& text) {
  json const all = json::parse(text, nullptr, false);
  return all.is_object() && all.contains("schema") && all["schema"] == accuracy_file::schema;
}

accuracy_file parse_accuracy(std::string const& text, std::string const& name) {
  json const all = json::parse(text, nullptr, false);
  field const f(all, "", name, "", "tools/measure_sampling");
  accuracy_file file;
  file.time = f["time"].text(), file.garner = f["garner"].text(), file.processor = f["processor"].text();
  file.threads = f["threads"].count(), file.seeds = f["seeds"].count(), file.shards = f["shards"].count();
  file.fanout = f["fanout"].text(), file.batch = f["batch"].count();
  for (field const& r : f["rows"].items()) {
    accuracy_row row;
    row.set = r["set"].text(), row.model = r["model"].text(), row.strategy = r["way"].text(), row.measure = r["measure"].text();
    if (std::find(std::begin(accuracy_ways), std::end(accuracy_ways), row.strategy) == std::end(accuracy_ways))
      r["way"].wrong("whole, shards or sampled");
    row.vertices = r["vertices"].count(), row.arcs = r["arcs"].count();
    row.mean = r["mean"].number(), row.deviation = r["deviation"].number(), row.epoch_ms = r["epoch_ms"].number();
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace garner::lab

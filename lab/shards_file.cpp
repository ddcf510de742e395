#include "lab/shards_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace garner::lab {

std::string to_json(shards_file const& f) {
  json all = to_json(shards_file::schema, f);
  all["shards"] = f.shards, all["shrink"] = f.shrink, all["width"] = f.width, all["seed"] = f.seed, all["trials"] = f.trials;
  all["rates"] = {{"memory_gbs", f.rates.memory_gbs}, {"cache_gbs", f.rates.cache_gbs}, {"cache_bytes", f.rates.cache_bytes},
                  {"link_gbs", f.rates.link_gbs},     {"launch_us", f.rates.launch_us}, {"meeting_us", f.rates.meeting_us},
                  {"measured", f.rates.measured}};
  all["over"] = text_or_null(f.over);
  all["no_uvm"] = text_or_null(f.no_uvm);
  all["graphs"] = json::array();
  for (split_graph const& g : f.graphs) {
    json one{{"name", g.name}, {"vertices", g.vertices}, {"edges", g.edges}};
    one["imbalance"] = g.imbalance, one["cut_edges"] = g.cut_edges, one["remote_rows"] = g.remote_rows;
    one["references"] = g.references, one["split_ms"] = g.split_ms;
    all["graphs"].push_back(std::move(one));
  }
  all["rows"] = json::array();
  for (shard_row const& r : f.rows) {
    bool const mgg = r.how.strategy == shard_strategy::mgg;
    all["rows"].push_back({{"graph", r.graph},
                           {"study", r.study},
                           {"shards", r.how.shards},
                           {"way", r.strategy()},
                           {"sums", to_string(r.how.sums)},
                           {"wire", to_string(r.how.wire)},
                           {"width", r.width},
                           {"layers", r.layers},
                           {"ps", mgg ? json(r.how.tuning.ps) : json()},
                           {"dist", mgg ? json(r.how.tuning.dist) : json()},
                           {"wpb", mgg ? json(r.how.tuning.wpb) : json()},
                           {"whole_lists", r.how.tuning.whole_lists},
                           {"apart", r.how.tuning.apart},
                           {"plain_reads", r.how.tuning.plain_reads},
                           {"prepare_ms", r.prepare_ms},
                           {"ms", r.ms},
                           {"against_one", or_null(r.against_one)},
                           {"bytes", r.bytes},
                           {"most_bytes", r.most_bytes},
                           {"memory_bytes", r.memory_bytes},
                           {"floor_ms", or_null(r.floor_ms)},
                           {"links", r.links},
                           {"forward", nullptr},
                           {"steps", json::array()}});
    if (r.forward)
      all["rows"].back()["forward"] = {{"inputs", r.forward->inputs},
                                       {"classes", r.forward->classes},
                                       {"columns", r.forward->columns},
                                       {"ms", r.forward->ms},
                                       {"against_one", or_null(r.forward->against_one)},
                                       {"floor_ms", or_null(r.forward->floor_ms)}};
    for (shard_step const& s : r.steps)
      all["rows"].back()["steps"].push_back({{"ps", s.shape.ps}, {"dist", s.shape.dist}, {"wpb", s.shape.wpb}, {"ms", s.ms}});
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_shards(std::string const& text) { return is_of(shards_file::schema, text); }

shards_file parse_shards(std::string const& text, std::string const& name) {
  json const all = parse_as(shards_file::schema, text, name);
  field const f(all, "", name, shards_file::schema.bench);
  shards_file file;
  static_cast<file_head&>(file) = head_in(f);
  file.shards = f["shards"].count(), file.shrink = f["shrink"].count(), file.width = f["width"].count();
  file.seed = f["seed"].count(), file.trials = f["trials"].count();
  field const rates = f["rates"];
  file.rates = {rates["memory_gbs"].number(), rates["cache_gbs"].number(),  rates["link_gbs"].number(), rates["cache_bytes"].count(),
                rates["launch_us"].number(),  rates["meeting_us"].number(), rates["measured"].truth()};
  if (f.has("over")) file.over = f["over"].text_or_none();
  file.no_uvm = f["no_uvm"].text_or_none();
  for (field const& g : f["graphs"].items()) {
    split_graph one;
    one.name = g["name"].text(), one.vertices = g["vertices"].count(), one.edges = g["edges"].count();
    one.imbalance = g["imbalance"].number(), one.cut_edges = g["cut_edges"].count(), one.remote_rows = g["remote_rows"].count();
    one.references = g["references"].number(), one.split_ms = g["split_ms"].number();
    file.graphs.push_back(std::move(one));
  }
  // Enumerations, as the program spells them.
  auto const word = [](field const& at, auto const& parse) {
    try {
      return parse(at.text());
    } catch (error const&) {
      at.wrong("a word of garner-lab shards");
    }
  };
  auto const shape_in = [](field const& at) {
    auto const number = [&](char const* key) {
      std::uint64_t const n = at[key].count();
      if (n < 1 || n > 32) at[key].wrong("a number from 1 to 32");
      return static_cast<std::uint32_t>(n);
    };
    return mgg_tuning{number("ps"), number("dist"), number("wpb")};
  };
  for (field const& r : f["rows"].items()) {
    shard_row row;
    row.graph = r["graph"].text(), row.study = r["study"].text();
    if (std::find(std::begin(shard_studies), std::end(shard_studies), row.study) == std::end(shard_studies))
      r["study"].wrong("a word of garner-lab shards");
    std::uint64_t const shards = r["shards"].count();
    if (shards < 1 || shards > 16) r["shards"].wrong("a number from 1 to 16");
    row.how.shards = static_cast<std::uint32_t>(shards);
    row.managed = r["way"].text() == "uvm";
    row.how.strategy = row.managed ? shard_strategy::mgg : word(r["way"], parse_shard_strategy);
    row.how.sums = word(r["sums"], parse_shard_reduction);
    row.how.wire = word(r["wire"], parse_element);
    if (row.how.strategy == shard_strategy::mgg) row.how.tuning = shape_in(r);
    row.how.tuning.whole_lists = r["whole_lists"].truth(), row.how.tuning.apart = r["apart"].truth();
    if (r.has("plain_reads")) row.how.tuning.plain_reads = r["plain_reads"].truth();
    row.width = r["width"].count(), row.layers = r["layers"].count();
    row.prepare_ms = r["prepare_ms"].number(), row.memory_bytes = r["memory_bytes"].number();
    row.floor_ms = r["floor_ms"].number_or_none();
    for (field const& of : r["links"].items()) {
      row.links.emplace_back();
      for (field const& bytes : of.items()) row.links.back().push_back(bytes.count());
    }
    if (field const of = r["forward"]; !of.null()) {
      shard_forward whole;
      whole.inputs = of["inputs"].count(), whole.classes = of["classes"].count();
      whole.ms = of["ms"].number();
      whole.against_one = of["against_one"].number_or_none(), whole.floor_ms = of["floor_ms"].number_or_none();
      for (field const& columns : of["columns"].items()) whole.columns.push_back(columns.count());
      row.forward = std::move(whole);
    }
    row.ms = r["ms"].number(), row.against_one = r["against_one"].number_or_none();
    row.bytes = r["bytes"].count(), row.most_bytes = r["most_bytes"].count();
    for (field const& s : r["steps"].items()) row.steps.push_back({shape_in(s), s["ms"].number()});
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace garner::lab

#include "bench/shards_file.hpp"

#include <nlohmann/json.hpp>

namespace garner::bench {

std::string to_json(shards_file const& f) {
  json all = to_json(shards_file::schema, f);
  all["shards"] = f.shards, all["shrink"] = f.shrink, all["width"] = f.width, all["seed"] = f.seed, all["trials"] = f.trials;
  all["graphs"] = json::array();
  for (split_graph const& g : f.graphs) {
    json one{{"name", g.name}, {"vertices", g.vertices}, {"edges", g.edges}};
    one["imbalance"] = g.imbalance, one["cut_edges"] = g.cut_edges, one["remote_rows"] = g.remote_rows;
    one["references"] = g.references, one["split_ms"] = g.split_ms;
    all["graphs"].push_back(std::move(one));
  }
  all["rows"] = json::array();
  for (shard_row const& r : f.rows) {
    all["rows"].push_back({{"graph", r.graph},
                           {"shards", r.how.shards},
                           {"way", to_string(r.how.way)},
                           {"sums", to_string(r.how.sums)},
                           {"wire", to_string(r.how.wire)},
                           {"ps", r.how.way == shard_way::mgg ? json(r.how.mgg.ps) : json()},
                           {"dist", r.how.way == shard_way::mgg ? json(r.how.mgg.dist) : json()},
                           {"wpb", r.how.way == shard_way::mgg ? json(r.how.mgg.wpb) : json()},
                           {"ms", r.ms},
                           {"against_one", or_null(r.against_one)},
                           {"bytes", r.bytes},
                           {"most_bytes", r.most_bytes},
                           {"steps", json::array()}});
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
  for (field const& g : f["graphs"].items()) {
    split_graph one;
    one.name = g["name"].text(), one.vertices = g["vertices"].count(), one.edges = g["edges"].count();
    one.imbalance = g["imbalance"].number(), one.cut_edges = g["cut_edges"].count(), one.remote_rows = g["remote_rows"].count();
    one.references = g["references"].number(), one.split_ms = g["split_ms"].number();
    file.graphs.push_back(std::move(one));
  }
  // What the program says with a word that it knows.
  auto const word = [](field const& at, auto const& parse) {
    try {
      return parse(at.text());
    } catch (error const&) {
      at.wrong("a word of garner bench shards");
    }
  };
  auto const shape_in = [](field const& at) {
    auto const number = [&](char const* key) {
      std::uint64_t const n = at[key].count();
      if (n < 1 || n > 32) at[key].wrong("a number from 1 to 32");
      return static_cast<std::uint32_t>(n);
    };
    return mgg_shape{number("ps"), number("dist"), number("wpb")};
  };
  for (field const& r : f["rows"].items()) {
    shard_row row;
    row.graph = r["graph"].text();
    std::uint64_t const shards = r["shards"].count();
    if (shards < 1 || shards > 16) r["shards"].wrong("a number from 1 to 16");
    row.how.shards = static_cast<std::uint32_t>(shards);
    row.how.way = word(r["way"], parse_shard_way);
    row.how.sums = word(r["sums"], parse_shard_sums);
    row.how.wire = word(r["wire"], parse_element);
    if (row.how.way == shard_way::mgg) row.how.mgg = shape_in(r);
    row.ms = r["ms"].number(), row.against_one = r["against_one"].number_or_none();
    row.bytes = r["bytes"].count(), row.most_bytes = r["most_bytes"].count();
    for (field const& s : r["steps"].items()) row.steps.push_back({shape_in(s), s["ms"].number()});
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace garner::bench

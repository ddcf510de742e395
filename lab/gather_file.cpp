#include "lab/gather_file.hpp"

#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "lab/field.hpp"

namespace garner::lab {

std::string to_json(gather_file const& f) {
  json all = to_json(gather_file::schema, static_cast<file_head const&>(f));
  all["device"] = f.device;  // a string, also if empty
  all.update({{"table_bytes", f.table_bytes},
              {"trials", f.trials},
              {"seed", f.seed},
              {"link_gbs", f.link_measured ? json(f.link_gbs) : json()},
              {"rows", json::array()}});
  for (gather_row const& r : f.rows) {
    json beside;
    if (auto const& b = r.beside)
      beside = {{"share", b->share},
                {"rest", b->rest},
                {"gather_alone_gbs", b->gather_alone_gbs},
                {"whole_ms", b->whole_ms},
                {"rest_ms", b->rest_ms},
                {"beside_ms", b->beside_ms},
                {"slower", b->slower()},
                {"slower_than_alone", b->slower_than_alone()}};
    all["rows"].push_back({{"figure", r.figure},
                           {"label", r.label},
                           {"row_bytes", r.row_bytes},
                           {"ids", r.ids},
                           {"batches", r.batches},
                           {"way", r.strategy},
                           {"order", r.order},
                           {"duplicates", r.duplicates},
                           {"multiprocessors", r.multiprocessors},
                           {"load_bytes", r.load_bytes},
                           {"ms", or_null(r.ms)},
                           {"gbs", or_null(r.gbs)},
                           {"rows_a_second", or_null(r.rows_a_second)},
                           {"of_link", or_null(r.of_link)},
                           {"requests", r.requests},
                           {"beside", std::move(beside)},
                           {"why", r.why},
                           {"skipped", r.skipped}});
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_gathers(std::string const& text) { return is_of(gather_file::schema, text); }

gather_file parse_gathers(std::string const& text, std::string const& name) {
  json const all = parse_as(gather_file::schema, text, name);
  field const f(all, "", name, gather_file::schema.bench);
  gather_file file;
  if (all.contains("garner")) file.garner = f["garner"].text();
  if (all.contains("time")) file.time = f["time"].text();
  file.command = f["command"].text();
  file.place = f["place"].text();
  file.device = f["device"].text();
  file.threads = f["threads"].count();
  file.table_bytes = f["table_bytes"].count();
  file.trials = f["trials"].count();
  file.seed = f["seed"].count();
  if (auto const gbs = f["link_gbs"].number_or_none()) file.link_gbs = *gbs, file.link_measured = true;
  auto const small = [](field const& at) {
    std::uint64_t const n = at.count();
    if (n > 1u << 20) at.wrong("a number of multiprocessors or bytes");
    return static_cast<unsigned>(n);
  };
  std::size_t k = 0;
  for (field const& r : f["rows"].items()) {
    gather_row row;
    row.figure = r["figure"].text();
    row.label = r["label"].text();
    row.row_bytes = r["row_bytes"].count();
    row.ids = r["ids"].count();
    row.batches = r["batches"].count();
    row.strategy = r["way"].text();
    row.order = r["order"].text();
    row.multiprocessors = small(r["multiprocessors"]);
    row.load_bytes = small(r["load_bytes"]);
    row.ms = r["ms"].number_or_none();
    row.gbs = r["gbs"].number_or_none();
    row.rows_a_second = r["rows_a_second"].number_or_none();
    row.of_link = r["of_link"].number_or_none();
    row.requests = r["requests"].count();
    row.why = r["why"].text();
    row.skipped = r["skipped"].text();
    json const& raw = all["rows"][k++];
    if (raw.contains("duplicates")) row.duplicates = r["duplicates"].text();
    if (raw.contains("beside") && !raw["beside"].is_null()) {
      field const b = r["beside"];
      auto const time = [&](char const* key) {
        double const ms = b[key].number();
        if (!(ms > 0)) b[key].wrong("a time above 0");
        return ms;
      };
      row.beside = gather_beside{b["share"].text(), small(b["rest"]), b["gather_alone_gbs"].number(),
                                 time("whole_ms"),  time("rest_ms"),  time("beside_ms")};
    }
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace garner::lab

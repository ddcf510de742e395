#include "lab/run_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/fail.hpp"
#include "lab/field.hpp"

namespace garner::lab {

namespace {

json to_json(std::optional<traffic> const& t) {
  if (!t) return nullptr;
  json requests;
  for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = t->requests[k];
  requests["pages"] = t->pages;
  return {{"requests", requests}, {"bytes_link", t->bytes_link()}, {"bytes_useful", t->bytes_useful}};
}

std::optional<traffic> link_in(field const& f) {
  if (f.null()) return std::nullopt;
  traffic t;
  auto const requests = f["requests"];
  t.requests = {requests["32"].count(), requests["64"].count(), requests["96"].count(), requests["128"].count()};
  t.pages = requests["pages"].count();
  t.bytes_useful = f["bytes_useful"].count();
  return t;
}

}  // namespace

std::string to_json(run_file const& run) {
  machine_facts const& m = run.machine;
  json link = nullptr;
  if (m.link)
    link = {{"copy_gbs", m.link->copy_gbs},
            {"zero_copy_gbs", m.link->zero_copy_gbs},
            {"paged_gbs", or_null(m.link->paged_gbs)},
            {"line_requests_giga", m.link->line_requests},
            {"sector_requests_giga", m.link->sector_requests}};
  json all{{"schema", run_file::schema.name},
           {"version", run_file::schema.version},
           {"garner", run.garner},
           {"command", run.command},
           {"time", run.time},
           {"machine",
            {{"place", m.place},
             {"device", text_or_null(m.device)},
             {"threads", m.threads},
             {"l2_bytes", m.l2_bytes},
             {"device_budget", or_null(m.device_budget)},
             {"host_budget", or_null(m.host_budget)},
             {"link", link}}},
           {"protocol",
            {{"name", run.protocol.name},
             {"statistic", run.protocol.statistic},
             {"sources", run.protocol.sources},
             {"trials", run.protocol.trials},
             {"iterations", run.protocol.iterations},
             {"seed", run.protocol.seed}}},
           {"graphs", json::array()},
           {"patterns", json::array()},
           {"jobs", json::array()}};
  for (graph_row const& g : run.graphs) {
    json shares = json::array();
    for (degree_share const& s : g.shares) shares.push_back({{"degree", s.degree}, {"share", s.share}});
    all["graphs"].push_back({{"name", g.name},
                             {"vertices", g.vertices},
                             {"edges", g.edges},
                             {"directed", g.directed},
                             {"degree_max", g.degree_max},
                             {"shares", shares}});
  }
  for (pattern_row const& p : run.patterns)
    all["patterns"].push_back({{"pattern", p.pattern},
                               {"bytes", p.bytes},
                               {"ms", or_null(p.ms)},
                               {"gbs", or_null(p.gbs)},
                               {"link", to_json(p.link)},
                               {"verified", p.verified},
                               {"skipped", text_or_null(p.skipped)}});
  for (job_row const& j : run.jobs) {
    json predicted = json::array();
    for (prediction const& p : j.predicted) predicted.push_back({{"gbs", p.gbs}, {"ms", p.ms}});
    all["jobs"].push_back({{"graph", j.graph},
                           {"job", j.job},
                           {"way", j.strategy},
                           {"label", j.label},
                           {"paper", j.paper},
                           {"place", j.place},
                           {"access", j.access},
                           {"tier", j.tier},
                           {"id_bytes", j.id_bytes},
                           {"data_bytes", j.data_bytes},
                           {"state_bytes", j.state_bytes},
                           {"device_budget", or_null(j.device_budget)},
                           {"ms", j.ms},
                           {"ms_statistic", or_null(j.ms_statistic)},
                           {"prepare_ms", or_null(j.prepare_ms)},
                           {"iterations", j.iterations},
                           {"link", to_json(j.link)},
                           {"modelled", j.modelled},
                           {"predicted", predicted},
                           {"verified", j.verified},
                           {"skipped", text_or_null(j.skipped)}});
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";  // a file's name need not be UTF-8
}

run_file parse_run(std::string const& text, std::string const& name) {
  json all;
  try {
    all = json::parse(text);
  } catch (json::parse_error const& e) {
    fail(errc::input, "{}: is not JSON (byte {}); pass a file that garner-lab wrote", name, e.byte);
  } catch (json::exception const& e) {
    fail(errc::input, "{}: is not JSON ({}); pass a file that garner-lab wrote", name, e.what());
  }
  if (!all.is_object() || !all.contains("schema") || all["schema"] != run_file::schema.name)
    fail(errc::input,
         "{}: is not of the schema {}; report draws what garner-lab and tools/measure_sampling write, what garner train --json "
         "prints and nothing else (not the output of --json of other verbs, not docs/benchmarks)",
         name, run_file::schema.name);
  field const f(all, "", name);
  require_version(run_file::schema, all, name);

  run_file run;
  run.garner = f["garner"].text();
  run.command = f["command"].text();
  run.time = f["time"].text();
  auto const m = f["machine"];
  run.machine.place = m["place"].text();
  run.machine.device = m["device"].text_or_none();
  run.machine.threads = m["threads"].count();
  run.machine.l2_bytes = m["l2_bytes"].count();
  run.machine.device_budget = m["device_budget"].count_or_none();
  run.machine.host_budget = m["host_budget"].count_or_none();
  if (auto const l = m["link"]; !l.null())
    run.machine.link = {l["copy_gbs"].number(), l["zero_copy_gbs"].number(), l["paged_gbs"].number_or_none(),
                        l["line_requests_giga"].number(), l["sector_requests_giga"].number()};
  auto const p = f["protocol"];
  run.protocol = {p["name"].text(),    p["statistic"].text(),   p["sources"].count(),
                  p["trials"].count(), p["iterations"].count(), p["seed"].count()};
  for (field const& g : f["graphs"].items()) {
    graph_row row{g["name"].text(), g["vertices"].count(), g["edges"].count(), g["degree_max"].count(), g["directed"].truth(), {}};
    for (field const& s : g["shares"].items()) row.shares.push_back({s["degree"].count(), s["share"].number()});
    run.graphs.push_back(std::move(row));
  }
  for (field const& q : f["patterns"].items())
    run.patterns.push_back({q["pattern"].text(), q["bytes"].count(), q["ms"].number_or_none(), q["gbs"].number_or_none(),
                            link_in(q["link"]), q["verified"].truth(), q["skipped"].text_or_none()});
  for (field const& j : f["jobs"].items()) {
    job_row row;
    row.graph = j["graph"].text();
    row.job = j["job"].text();
    row.strategy = j["way"].text();
    row.label = j["label"].text();
    row.paper = j["paper"].truth();
    row.place = j["place"].text();
    row.access = j["access"].text();
    row.tier = j["tier"].text();
    auto const id_bytes = j["id_bytes"];
    if (std::uint64_t const n = id_bytes.count(); n != 4 && n != 8) id_bytes.wrong("4 or 8");
    row.id_bytes = static_cast<std::uint32_t>(id_bytes.count());
    row.data_bytes = j["data_bytes"].count();
    row.state_bytes = j["state_bytes"].count();
    row.device_budget = j["device_budget"].count_or_none();
    for (field const& ms : j["ms"].items()) row.ms.push_back(ms.number());
    row.ms_statistic = j["ms_statistic"].number_or_none();
    row.prepare_ms = j["prepare_ms"].number_or_none();
    row.iterations = j["iterations"].count();
    row.link = link_in(j["link"]);
    row.modelled = j["modelled"].truth();
    for (field const& x : j["predicted"].items()) row.predicted.push_back({x["gbs"].number(), x["ms"].number()});
    row.verified = j["verified"].truth();
    row.skipped = j["skipped"].text_or_none();
    run.jobs.push_back(std::move(row));
  }
  return run;
}

std::string read_bench(std::filesystem::path const& file) {
  constexpr std::uintmax_t most = 64u << 20;
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) fail(errc::io, "{}: is a folder; pass a file that garner-lab wrote", file.string());
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(errc::io, "{}: {}", file.string(), std::strerror(errno));
  std::string text;
  char part[65536];
  while (in.read(part, sizeof part), in.gcount() > 0) {
    text.append(part, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) fail(errc::input, "{}: is larger than 64 MiB; garner-lab writes no such file", file.string());
  }
  if (in.bad()) fail(errc::io, "{}: {}", file.string(), std::strerror(errno));
  return text;
}

run_file read_run(std::filesystem::path const& file) { return parse_run(read_bench(file), file.string()); }

}  // namespace garner::lab

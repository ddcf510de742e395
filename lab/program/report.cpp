// garner-lab report: the figures of one run of `garner-lab`, or of several, as one HTML page.
#include <memory>

#include "cli/command/common.hpp"
#include "core/publish.hpp"
#include "lab/page.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

struct report_arguments {
  std::vector<std::string> files;
  std::string out = "report.html";
};

void draw(report_arguments const& a) {
  for (std::string const& file : a.files) cli::check_outputs(file, {{"--out", a.out}});
  std::vector<named_run> runs;
  std::vector<named_tiering> tierings;
  std::vector<named_gathers> gathers;
  std::vector<named_loads> loads;
  std::vector<named_trainings> trainings;
  std::vector<named_storage> storages;
  std::vector<named_shards> shards;
  std::vector<named_accuracy> accuracies;
  for (std::string const& file : a.files) {
    std::string const text = read_bench(file);
    if (is_tiering(text)) tierings.push_back({file, parse_tiering(text, file)});
    else if (is_gathers(text)) gathers.push_back({file, parse_gathers(text, file)});
    else if (is_loads(text)) loads.push_back({file, parse_loads(text, file)});
    else if (is_trainings(text)) trainings.push_back({file, parse_trainings(text, file)});
    else if (is_storage(text)) storages.push_back({file, parse_storage(text, file)});
    else if (is_shards(text)) shards.push_back({file, parse_shards(text, file)});
    else if (is_accuracy(text)) accuracies.push_back({file, parse_accuracy(text, file)});
    else runs.push_back({file, parse_run(text, file)});
  }
  std::string const page = page_of(runs, tierings, gathers, loads, trainings, storages, shards, accuracies);
  pending_file out(a.out);
  out.write(page);
  out.commit();
  cli::say("{}: {} run{}, {} bytes\n", a.out, a.files.size(), a.files.size() == 1 ? "" : "s", cli::grouped(page.size()));
}

}  // namespace

void add_report(cli::program& p) {
  auto const a = std::make_shared<report_arguments>();
  cli::verb& v = p.add("report", "draw what garner-lab, or train --json, wrote: one HTML page of the paper's figures");
  v.add("RUN.json", a->files).required().repeats();
  v.add("--out", a->out);
  v.ends_with("Example: garner-lab report run.json --out report.html");
  v.runs([a] { draw(*a); });
}

}  // namespace garner::lab

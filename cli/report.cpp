// garner report: the figures of one run of `garner bench`, or of several, as one HTML page.
#include <memory>

#include "common.hpp"
#include "core/publish.hpp"
#include "lab/page.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct report_arguments {
  std::vector<std::string> files;
  std::string out = "report.html";
};

void draw(report_arguments const& a) {
  for (std::string const& file : a.files) cli::check_outputs(file, {{"--out", a.out}});
  std::vector<lab::named_run> runs;
  std::vector<lab::named_tiering> tierings;
  std::vector<lab::named_gathers> gathers;
  std::vector<lab::named_loads> loads;
  std::vector<lab::named_trainings> trainings;
  std::vector<lab::named_storage> storages;
  std::vector<lab::named_shards> shards;
  std::vector<lab::named_accuracy> accuracies;
  for (std::string const& file : a.files) {
    std::string const text = lab::read_bench(file);
    if (lab::is_tiering(text)) tierings.push_back({file, lab::parse_tiering(text, file)});
    else if (lab::is_gathers(text)) gathers.push_back({file, lab::parse_gathers(text, file)});
    else if (lab::is_loads(text)) loads.push_back({file, lab::parse_loads(text, file)});
    else if (lab::is_trainings(text)) trainings.push_back({file, lab::parse_trainings(text, file)});
    else if (lab::is_storage(text)) storages.push_back({file, lab::parse_storage(text, file)});
    else if (lab::is_shards(text)) shards.push_back({file, lab::parse_shards(text, file)});
    else if (lab::is_accuracy(text)) accuracies.push_back({file, lab::parse_accuracy(text, file)});
    else runs.push_back({file, lab::parse_run(text, file)});
  }
  std::string const page = lab::page_of(runs, tierings, gathers, loads, trainings, storages, shards, accuracies);
  pending_file out(a.out);
  out.write(page);
  out.commit();
  cli::say("{}: {} run{}, {} bytes\n", a.out, a.files.size(), a.files.size() == 1 ? "" : "s", cli::grouped(page.size()));
}

}  // namespace

void add_report(cli::program& p) {
  auto const a = std::make_shared<report_arguments>();
  cli::verb& v = p.add("report", "draw what garner bench, or train --json, wrote: one HTML page of the paper's figures");
  v.add("RUN.json", a->files).required().repeats();
  v.add("--out", a->out);
  v.ends_with("Example: garner report run.json --out report.html");
  v.runs([a] { draw(*a); });
}

}  // namespace garner

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
  bench_files files;
  for (std::string const& file : a.files) files.add(read_bench(file), file);
  std::string const page = page_of(files);
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

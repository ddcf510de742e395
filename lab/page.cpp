#include "lab/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lab/figure.hpp"

namespace garner::lab {

void bench_files::add(std::string const& text, std::string const& name) {
  json const all = json::parse(text, nullptr, false);
  auto const taken = [&]<class File>(std::vector<named<File>>& some) {
    if (!is_of(File::schema, all)) return false;
    some.push_back({name, file_in<File>(all, name)});
    return true;
  };
  if (is_course(all)) trainings.push_back({name, course_in(all, name)});
  else if (!taken(tierings) && !taken(gathers) && !taken(loads) && !taken(trainings) && !taken(storages) && !taken(shards) &&
           !taken(accuracies) && !taken(users) && !taken(wholes) && !taken(runs))
    no_bench_file(text, name);
}

namespace {

// What a page says above all, in its title and below, by the first kind that it has files of; without any, as of gathers.
struct opening {
  bool has;
  char const *title, *head;
};
opening opening_of(bench_files const& f) {
  opening const all[] = {
      {!f.users.empty(), "users&#39; scripts",
       "<h1>Garner: users&#39; scripts, measured</h1>\n<p>Scripts as the guides show them, with data in host memory and in GPU memory, by "
       "<code>tools/prove_user</code>, which compared every feature row. What follows are the papers' figures.</p>"},
      {!f.runs.empty(), "traversal",
       "<h1>Garner: traversal over far edges, measured</h1>\n<p>The figures of the dissertation's chapter on EMOGI (2.5 to 2.14), measured "
       "by <code>garner-lab traversal</code>. Every result was verified by its certificate; what was not is not drawn. The paper's "
       "values are those of its machine, a V100 on PCIe 3.</p>"},
      {!f.tierings.empty(), "data tiering",
       "<h1>Garner: data tiering, measured</h1>\n<p>The figures of the dissertation's chapter on data tiering (4.8, 4.10, 4.11), measured "
       "by <code>garner-lab tiering</code>. The paper's values are those of its graphs and its machine.</p>"},
      {!f.gathers.empty(), "gathers of rows",
       "<h1>Garner: gathers of rows, measured</h1>\n<p>The figures of the dissertation's chapter on unified tensors (3.10, 3.12, 3.13) and "
       "Garner's own, measured by <code>garner-lab gather</code>; of each way the rows were compared with the table first. The paper's "
       "values are those of its machines.</p>"},
      {!f.loads.empty(), "mini-batches",
       "<h1>Garner: mini-batches, measured</h1>\n<p>Mini-batches of a training whose graph and rows lie far, near, and far with some rows "
       "kept, measured by <code>garner-lab load</code>; of each setting the first were checked against graph and table. The paper's "
       "values are those of its machines.</p>"},
      {!f.trainings.empty(), "trainings",
       "<h1>Garner: trainings, measured</h1>\n<p>Whole trainings whose graph and rows lie far, near, and far with some rows kept, by "
       "<code>garner-lab train</code>, which compared what each learned bit for bit, or by <code>garner train --json</code>. The paper's "
       "values are those of its machines.</p>"},
      {!f.storages.empty(), "rows on storage",
       "<h1>Garner: rows on storage, measured</h1>\n<p>The figures of the GIDS paper (3, 8 to 17) on generated graphs, measured by "
       "<code>garner-lab storage</code>. Drives are simulated, in counted time, unless a row says file; every row that was looked at "
       "came right. The paper's values are those of its machine: an A100, up to four Intel Optane drives, 512 GB of host memory.</p>"},
      {!f.shards.empty(), "aggregation over shards",
       "<h1>Garner: aggregation over shards, measured</h1>\n<p>One aggregation over parts of a graph in every way, and models on it, "
       "beside one place, measured by <code>garner-lab shards</code>; what each gave was compared with f64 first.</p>"},
      {!f.accuracies.empty(), "accuracy",
       "<h1>Garner: accuracy with and without sampling, measured</h1>\n<p>Trainings on real graphs, whole, over shards and by "
       "mini-batches, by <code>tools/measure_sampling</code>: table 5 of the MGG paper.</p>"},
      {!f.wholes.empty(), "whole graphs",
       "<h1>Garner: whole graphs larger than the GPU, measured</h1>\n<p>Full-graph training with activations on the GPU, in host memory "
       "and "
       "in a file, by <code>tools/measure_whole_graph</code>, which compared the losses of all, bit for bit.</p>"},
  };
  auto const at = std::find_if(std::begin(all), std::end(all), [](opening const& o) { return o.has; });
  return at == std::end(all) ? all[3] : *at;
}

}  // namespace

std::string page_of(bench_files const& files) {
  opening const o = opening_of(files);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>Garner: {}, measured</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n<style>{}</style>\n</head>\n<body>\n<header>\n{}\n</header>\n<main>\n",
      o.title, style, o.head);
  auto const add = [&](auto const& some) {
    for (auto const& one : some) out += section_of(one);
  };
  add(files.users);
  std::vector<named<run_file>> const runs = joined(files.runs);
  for (std::size_t i = 0; i < runs.size(); ++i) out += section_of(runs[i], runs.size() > 1 ? fmt::format("Run {}: ", i + 1) : "");
  add(files.tierings), add(files.gathers), add(files.loads), add(files.trainings);
  add(files.storages), add(files.shards), add(files.accuracies), add(files.wholes);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace garner::lab

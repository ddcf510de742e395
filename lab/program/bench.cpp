#include "bench.hpp"

#include "core/device.hpp"
#include "core/publish.hpp"
#include "graph/convert.hpp"
#include "lab/provenance.hpp"

namespace garner::lab {

cli::option& bench_arguments::add(cli::verb& v, char const* of_figures) {
  cli::option& file = v.add("--out", out, "file to write, for garner-lab report").required();
  v.add("--device", place, "cuda, cuda:N, cpu, or simulated (default: cuda if there is a GPU)");
  v.add("--seed", seed, "random seed of all that is made");
  if (of_figures) v.add("--figures", figures, fmt::format("some of {} (default: all)", of_figures));
  budgets.add(v, true);
  return file;
}
void bench_arguments::add_graphs(cli::verb& v, char const* of_kinds) {
  v.add("--scale", scale, "2^SCALE vertices, 4 to 31");
  v.add("--edge-factor", edge_factor);
  v.add("--kinds", kinds, of_kinds);
  v.add("--graph", files).repeats();
}
void bench_arguments::add_training(cli::verb& v, char const* of_batches) {
  v.add("--fanout", training.fanout);
  v.add("--batch", training.batch);
  v.add("--share", share);
  v.add("--batches", batches, of_batches);
}

execution_device bench_arguments::where() const {
  return place.empty() ? execution_device{device::count() ? device_kind::cuda : device_kind::cpu, 0} : parse_device(place);
}
void bench_arguments::begin(execution_device at) const {
  check_target(out);
  budgets.apply(at);
}
void bench_arguments::write(std::string const& text) const {
  pending_file file(out);
  file.write(with_provenance(text, commit_of("/proc/self/exe")));
  file.commit();
  cli::say("{}: written; garner-lab report {} draws it\n", out, out);
}

void bench_arguments::set_graphs(measured_graphs& o) const {
  o.where = where();
  if (!kinds.empty()) o.kinds.clear();
  for (std::string const& name : kinds)
    if (name != "none") o.kinds.push_back(parse_generator(name));
  for (std::string const& file : files) o.files.emplace_back(file);
  o.scale = scale, o.edge_factor = edge_factor;
  o.command = cli::command_line();
}
std::function<std::vector<std::int64_t>(graph_handle const&)> bench_arguments::training_nodes() const {
  cli::share_of(share, 1);
  cli::loading_arguments train;
  train.share = share, train.seed = seed;
  return [train](graph_handle const& g) {
    cli::loading_arguments of = train;
    of.file = g.name();
    return cli::training_of(g, of).positions;
  };
}

}  // namespace garner::lab

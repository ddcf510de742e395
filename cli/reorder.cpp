// garner reorder: the vertices of a container in another order, with the user's ids kept.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "common.hpp"
#include "core/fail.hpp"
#include "graph/container.hpp"
#include "graph/formats.hpp"
#include "graph/reorder.hpp"
#include "memory/budget.hpp"
#include "pack_options.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct reorder_arguments {
  std::string in, out, by = "degree";
  bool no_check = false;
  reorder_options how;
  cli::budget_arguments budgets;
  cli::pack_arguments pack;
};

void reorder_file(reorder_arguments& a) {
  auto const start = std::chrono::steady_clock::now();
  a.how.by = parse_order(a.by);
  if (format_of(a.out) != file_format::gnr) fail(errc::usage, "{}: only a container keeps an order; let the name end in .gnr", a.out);
  a.budgets.apply({});
  cli::check_outputs(a.in, {{"OUT", a.out}});
  graph_info const info = read_header(a.in).info;
  std::uint64_t const bytes = reorder_bytes(info);
  cli::say("{}: {}\nmemory: about {} of host memory\n", a.in, cli::describe(info), format_bytes(bytes));
  cli::flush_out();
  cli::require_memory(a.in, bytes, 0, {});
  load_options how;
  how.in_lists = info.in_lists;
  how.weights = info.weights != weight_kind::none;
  how.check = !a.no_check;
  graph g = reorder(load_graph(a.in, how), a.how);
  a.pack.apply(g, {});
  save_graph(g, a.out);
  cli::say("{}: {}; {:.2f} s\n", a.out, cli::describe(g.info),
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

void add_reorder(CLI::App& app) {
  auto const a = std::make_shared<reorder_arguments>();
  CLI::App* const verb = app.add_subcommand("reorder", "the vertices of a container in another order; the user's ids stay");
  verb->add_option("FILE", a->in, "a container (.gnr); convert other formats first")->required();
  verb->add_option("OUT", a->out, "container to write (.gnr)")->required();
  verb->add_option("--by", a->by,
                   "degree: most out-edges first; bfs: breadth first from the highest degree; random; natural: by the user's ids")
      ->capture_default_str()
      ->type_name("ORDER");
  cli::add_number(*verb, "--seed", a->how.seed, "of random")->capture_default_str();
  verb->add_flag("--no-check", a->no_check, "do not check the checksums of the container");
  a->pack.add(*verb);
  a->budgets.add(*verb, false);
  verb->footer("Example: garner reorder kron20.gnr kron20-degree.gnr --by degree");
  verb->callback([a] { reorder_file(*a); });
}

}  // namespace garner

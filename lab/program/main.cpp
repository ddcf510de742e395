// The program `garner-lab`: the papers' figures on this machine. Each verb that measures writes a file, which `garner-lab report` draws.
// `garner-lab run` has the verbs of `garner`, with the options of the papers' ways too.
#include "cli/command/schema.hpp"
#include "cli/verbs.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

using enum cli::option_group;

// Its options in addition to those of cli/command/option_table.cpp.
constexpr cli::option_row options[] = {
    {"ALGORITHM", "", basic, "bfs, sssp, components or pagerank"},
    {"RUN.json", "", basic, "files that garner-lab wrote; several traversal runs with the same settings are drawn as one"},
    {"--keep-features", "", basic, "also keep the feature rows of every mini-batch, in a .gtr"},
    {"--kinds", "LIST", basic, "some of kron,uniform,web; or none (default: all)"},
    {"--shrink", "N", basic, "divide vertices and edges of the paper's graphs by N; 1: full size"},
    {"--graph", "FILE", basic, "graph file to measure too; repeatable"},
    {"--algorithms", "LIST", basic, "some of bfs,sssp,components,pagerank"},
    {"--strategies", "LIST", basic,
     "some of uvm,strided,merged,aligned,copied,aligned-x8,levels,direction,default,near; near: the default with edges in "
     "GPU memory (default: all)"},
    {"--protocol", "NAME", basic, "paper: the mean of 64 sources; short: the median of 8"},
    {"--strategy-seconds", "S", advanced, "start no further run of a strategy after this time (default: all runs of all strategies)"},
    {"--link", "LIST", advanced, "GB/s of links for which times are predicted"},
    {"--pattern-bytes", "BYTES", advanced, "size of the table for the access patterns"},
    {"--feature-bytes", "N", basic, "bytes per feature row"},
    {"--peers", "LIST", basic, "GPUs that share features, as 0,1: figures 4.9, 4.11 and 4.12 for these too"},
    {"--ceiling", "N", advanced, "the limit of any prediction, from another training of N times --epochs; larger is closer; 0: omitted"},
    {"--deeper-epochs", "N", advanced, "the same, for the depths of figure 4.10"},
    {"--no-gathers", "", advanced, "omit the gathers of figure 4.11 from a table in host memory"},
    {"--no-deeper", "", advanced, "omit the depths of figure 4.10"},
    {"--table-bytes", "BYTES", basic, "size of the table (default: 256MiB, on a GPU 32GiB, at most half of what is free)"},
    {"--ids", "LIST", basic, "ids per gather; most figures take the second"},
    {"--figures", "LIST", basic, "some of the figures"},
    {"--cache-batches", "X", basic, "mini-batches whose features the cache holds"},
    {"--link-gbs", "X", advanced, "GB/s of the link that drives share (default: as measured on a GPU, else 24, the paper's)"},
    {"--widths", "LIST", basic, "floats per feature row, for figure 3.15"},
    {"--step-rows", "N", basic, "distinct rows per step, of a trainable table of 2^SCALE rows"},
    {"--explain", "", basic,
     "measure nothing; print the strategy and order for --ids of --table-bytes, whether duplicates are fetched once, and why"},
};

cli::program_of const what{
    "garner-lab",
    "the papers' figures on this machine",
    "garner-lab VERB --help says more, with an example. garner-lab run VERB is a verb of garner, with the papers' ways too:\n"
    "  garner-lab run bfs kron20.gnr --device simulated --access merged",
    {add_traversal, add_gather, add_tiering, add_load, add_train, add_storage, add_shards, add_report, add_traffic, add_trace,
     cli::add_schema},
    json_table(),
    options,
    nullptr,
    true};
cli::program_of const users_verbs{"garner-lab run",
                                  "the verbs of garner, with the options of the papers' ways too",
                                  "garner-lab run VERB --help-all lists them.",
                                  garner::all_verbs(),
                                  garner::json_table(),
                                  {},
                                  nullptr,
                                  true};

}  // namespace
}  // namespace garner::lab

int main(int argc, char** argv) {
  bool const runs = argc > 1 && std::string_view(argv[1]) == "run";
  return runs ? garner::cli::run_program(garner::lab::users_verbs, argc - 1, argv + 1)
              : garner::cli::run_program(garner::lab::what, argc, argv);
}

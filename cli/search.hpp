// What the verbs that search from sources share in addition to job_options.hpp: search options, the choice of sources, and the runs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "command/job_options.hpp"
#include "garner/progress.hpp"

namespace garner::cli {

struct sources_chosen {
  std::vector<std::uint64_t> ids;
  std::string how;
  bool many() const { return ids.size() > 1; }
};

struct search_arguments : job_arguments {
  std::string sources_file, save_sources;
  std::optional<std::uint64_t> source, trials;
  std::uint64_t seed = 1;
  std::uint32_t vertices_per_team = 1, slice = 1024;
  bool no_split = false, join = false, no_join = false, steps = false;

  void add_sources(verb& v);
  void add_walk(verb& v, char const* join = "");  // a team's share, splitting, joining

  // Sets the library's options, checked, and the budgets and output files. join_lists is set only by its options.
  template <class Options>
  void apply(Options& o) const {
    resolve(o, {{"--save-sources", save_sources}});
    o.tuning.vertices_per_team = vertices_per_team;
    o.tuning.slice = slice;
    o.tuning.split_hubs = !no_split;
    if (join || no_join) o.tuning.join_lists = join;
    check_vertices_per_team(vertices_per_team);
    check_slice(slice);
    if (trials && (*trials == 0 || *trials > 1'000'000)) fail(errc::usage, "--trials {}: use 1 to 1000000", *trials);
  }

  sources_chosen choose_sources(graph const& g) const;  // saved with --save-sources
  static void say_sources(sources_chosen const& sources);

  // Runs the algorithm from every source and prints each run as it ends: in full for one source or with every step, else as a table row.
  template <class Job, class Head, class Row, class Full>
  auto run_all(Job& job, sources_chosen const& sources, Head const& say_row_head, Row const& say_row, Full const& say_full) const {
    bool const in_rows = sources.many() && !steps;
    if (!json && in_rows) say_row_head();
    flush_out();
    std::vector<decltype(job.run(0))> runs;
    progress bar("searching", sources.ids.size());
    for (std::uint64_t const source : sources.ids) {
      runs.push_back(job.run(source));
      bar.advance(1);
      if (json) continue;
      if (in_rows) {
        say_row(runs.back());
      } else {
        if (sources.many()) say("source  {}\n", source);
        say_full(runs.back());
        if (sources.many()) say("\n");
      }
      flush_out();
    }
    return runs;
  }
  void say_written(char const* what, sources_chosen const& sources) const;  // "FILE: depth and parent of every vertex, from ..."
};

}  // namespace garner::cli

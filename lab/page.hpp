// An HTML page of the figures of `garner-lab` results: inline SVG, a table under each chart, a sentence with the finding,
// and the paper's own value for comparison. Self-contained: no script, no font, no external resource. Unverified results are
// listed with the reason and has no bar.
#pragma once
#include <string>
#include <vector>

#include "lab/accuracy_file.hpp"
#include "lab/gather_file.hpp"
#include "lab/load_file.hpp"
#include "lab/run_file.hpp"
#include "lab/shards_file.hpp"
#include "lab/storage_file.hpp"
#include "lab/tiering_file.hpp"
#include "lab/train_file.hpp"
#include "lab/users_file.hpp"
#include "lab/whole_file.hpp"

namespace garner::lab {

template <class File>
struct named {
  std::string name;  // of the file
  File run;
};
// Files in the order of their sections. Runs of one setting (garner, device, protocol, and a device budget that differs by at most 1 %)
// over different graphs share one section; the others follow each other.
struct bench_files {
  std::vector<named<users_file>> users = {};          // tools/prove_user: what users get
  std::vector<named<run_file>> runs = {};             // garner-lab traversal: chapter 2
  std::vector<named<tiering_run>> tierings = {};      // garner-lab tiering: chapter 4
  std::vector<named<gather_file>> gathers = {};       // garner-lab gather: chapter 3
  std::vector<named<load_file>> loads = {};           // garner-lab load: mini-batches
  std::vector<named<train_file>> trainings = {};      // garner-lab train, or garner train --json
  std::vector<named<storage_file>> storages = {};     // garner-lab storage: the GIDS paper
  std::vector<named<shards_file>> shards = {};        // garner-lab shards: the MGG paper
  std::vector<named<accuracy_file>> accuracies = {};  // tools/measure_sampling
  std::vector<named<whole_file>> wholes = {};         // tools/measure_whole_graph

  void add(std::string const& text, std::string const& name);  // errc::input begins with `name` and names the problem
};
std::string page_of(bench_files const& files);
// A file's section, in page_traversal.cpp, page_tiering.cpp and so on.
std::string section_of(named<users_file> const& run);
std::string section_of(named<run_file> const& run, std::string const& before);  // `before` its heading
std::string section_of(named<tiering_run> const& run);
std::string section_of(named<gather_file> const& run);
std::string section_of(named<load_file> const& run);
std::string section_of(named<train_file> const& run);
std::string section_of(named<storage_file> const& run);
std::string section_of(named<shards_file> const& run);
std::string section_of(named<accuracy_file> const& run);
std::string section_of(named<whole_file> const& run);
std::vector<named<run_file>> joined(std::vector<named<run_file>> const& runs);  // those of one setting

}  // namespace garner::lab

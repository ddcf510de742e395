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

namespace garner::lab {

struct named_run {
  std::string name;  // of the file
  run_file run;
};
// Runs of one setting (garner, device, protocol, and a device budget that differs by at most 1 %) over different graphs
// share one section; the others follow each other.
// Runs of `garner-lab tiering` follow, each with the figures of chapter 4.
struct named_tiering {
  std::string name;
  tiering_run run;
};
// Runs of `garner-lab gather`, each with the figures of chapter 3.
struct named_gathers {
  std::string name;
  gather_file run;
};
// Runs of `garner-lab load`, each with its mini-batches.
struct named_loads {
  std::string name;
  load_file run;
};
// Runs of `garner-lab train`, or of garner train --json, each with its trainings.
struct named_trainings {
  std::string name;
  train_file run;
};
// Runs of `garner-lab storage`, each with the figures of the GIDS paper.
struct named_storage {
  std::string name;
  storage_file run;
};
// Runs of `garner-lab shards`, each with its aggregations.
struct named_shards {
  std::string name;
  shards_file run;
};
// Results of tools/measure_sampling: accuracy with and without sampling.
struct named_accuracy {
  std::string name;
  accuracy_file run;
};
std::string page_of(std::vector<named_run> const& runs, std::vector<named_tiering> const& tierings = {},
                    std::vector<named_gathers> const& gathers = {}, std::vector<named_loads> const& loads = {},
                    std::vector<named_trainings> const& trainings = {}, std::vector<named_storage> const& storages = {},
                    std::vector<named_shards> const& shards = {}, std::vector<named_accuracy> const& accuracies = {});
std::string tiering_sections(std::vector<named_tiering> const& runs);    // page_tiering.cpp
std::string gather_sections(std::vector<named_gathers> const& runs);     // page_gather.cpp
std::string load_sections(std::vector<named_loads> const& runs);         // page_load.cpp
std::string train_sections(std::vector<named_trainings> const& runs);    // page_train.cpp
std::string storage_sections(std::vector<named_storage> const& runs);    // page_storage.cpp
std::string shard_sections(std::vector<named_shards> const& runs);       // page_shards.cpp
std::string accuracy_sections(std::vector<named_accuracy> const& runs);  // page_accuracy.cpp

}  // namespace garner::lab

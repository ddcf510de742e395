// garner plan --algorithm load: what a loader will take, and what crosses the link for a mini-batch.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/common.hpp"
#include "load/plan.hpp"
#include "load_options.hpp"
#include "models.hpp"
#include "nn/plan.hpp"

namespace garner::cli {

// Options that `garner load` has too; unset: its default.
struct plan_load_arguments {
  std::optional<std::string> fanout, share, rule, side, features, budget, keep_lists, strategy, window_bytes, rows, host_rows, file_cache,
      target;
  std::optional<std::uint64_t> batch, width, window, ahead, drive_reads;
  bool disjoint = false, weighted = false;

  void add(verb& v);
  void require_unset(std::string const& job, bool may_be_weighted = false) const;  // errc::usage: they go with --algorithm load
};
// Options that `garner train` has in addition; unset: its default.
struct plan_train_arguments {
  std::optional<std::string> model, norm, split;
  std::optional<std::uint64_t> classes, layers, hidden;
  std::vector<std::uint32_t> devices;
  std::optional<std::uint32_t> ranks;
  bool full = false, residual = false;
  shard_arguments split_into;

  void add(verb& v);
  void require_unset(std::string const& job, bool shards_too = true) const;  // errc::usage: they go with --algorithm train
};
// What a loader of these arguments has to do, by the offsets of `from` if they are known; `device_allowed`: bytes of the device.
load_question question_of(load_arguments const& a, graph_source const& from, table_size const& rows, std::uint64_t device_allowed);
std::uint64_t near_bytes(load_question const& q);  // its local memory, cached rows included
// Device memory of full-graph training, or of training by these shards, at its fullest place; and activations in host memory.
bytes_needed whole_bytes(training_question q, shard_asked const* split, graph_source const& from, std::string const& file, bool in,
                         std::vector<execution_device> const& places, std::optional<std::uint32_t> process = {}, bool least = false);
// errc::memory, before adjacency is read, if full-graph training, or training by these shards, cannot fit in any case: without the spare
// memory that a plan leaves for growth, and as if no shard needed rows of others. `q`: of full-graph steps. `process`: shards are
// processes, and this is that one; devices have one each.
void require_whole(training_question q, shard_asked const* split, graph_source const& from, std::string const& file, bool in,
                   std::vector<execution_device> const& places, std::optional<std::uint32_t> process = {});
// `allowed`: host and device memory, in bytes, of each device. `train`: of a training, null: of mini-batches alone.
nlohmann::ordered_json plan_of_load(plan_load_arguments const& a, plan_train_arguments const* train, std::string const& file,
                                    execution_device where, std::string const& tier, std::uint64_t host_allowed,
                                    std::uint64_t device_allowed);
void print_plan_of_load(nlohmann::ordered_json const& all);

}  // namespace garner::cli

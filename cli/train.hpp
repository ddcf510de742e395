// What the files of `garner train` share: its arguments, and what is printed of a training.
#pragma once
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/common.hpp"
#include "garner/gnn.hpp"
#include "load_options.hpp"
#include "models.hpp"
#include "plan_load.hpp"
#include "shard/group.hpp"

namespace garner::cli {

struct train_arguments : cli::load_arguments {
  std::string model = "sage", split, scaling = "automatic", norm = "automatic", math = "tf32", out, checkpoint, resume;
  bool residual = false, no_recording = false;
  std::optional<std::uint32_t> layers, classes;
  std::uint32_t hidden = 64, evaluate_every = 1;
  double rate = 0.01;
  std::optional<double> dropout, input_dropout, decay;
  std::optional<std::uint64_t> most_epochs;
  std::optional<std::uint32_t> patience;
  std::vector<std::uint32_t> devices;
  std::optional<std::uint32_t> ranks;
  std::optional<std::string> said_group;
  std::string group, target;  // of said_group; empty: none
  cli::shard_arguments split_into;
  std::optional<shard_decision> decided;
  bool one_fits = true;  // the whole graph at the first place

  // Which of how many ranks this process is, with --group.
  static std::uint32_t of_environment(char const* name) {
    char const* const said = std::getenv(name);
    std::uint32_t value = 0;
    if (!said || !cli::set_value(std::string(said), value).empty())
      fail(errc::usage, "--group: {} is {} in the environment, and should be a number; start with torchrun, or set RANK and WORLD_SIZE",
           name, said ? fmt::format("'{}'", said) : "not set");
    return value;
  }
  // The ranks of this process, and where each of them learns.
  std::vector<garner::execution_device> places() const {
    if (!devices.empty() && place != "cpu") fail(errc::usage, "--devices and --device {}: use one of them", place);
    cli::shard_arguments here = split_into;
    if (full && group.empty() && devices.empty() && !here.shards && !here.keeps_in_host())
      here.refuse_all("goes with shards; add --shards, --devices, --group or --activations host");
    if (!group.empty() && here.scratch && here.activations != "file")
      fail(errc::usage, "--scratch {} and --group: each process keeps activations on its device; add --activations file, or leave it out",
           *here.scratch);
    if (!group.empty() && full) {
      if (here.shards && *here.shards != of_environment("WORLD_SIZE"))
        fail(errc::usage, "--shards {} and --group: each shard is a process, and WORLD_SIZE is {}; use --shards {}, or leave it out",
             *here.shards, of_environment("WORLD_SIZE"), of_environment("WORLD_SIZE"));
      here.shards.reset();
    }
    std::vector<garner::execution_device> all = cli::places_of(devices, ranks, here, where(), full);
    if (!group.empty() && place == "cuda" && std::getenv("LOCAL_RANK")) all[0].index = static_cast<int>(of_environment("LOCAL_RANK"));
    return all;
  }

  bool measures_ways() const { return split_into.decides() && resume.empty(); }  // a training that goes on keeps its way
  bool sharded(std::size_t places) const {
    return full && (places > 1 || split_into.shards || !group.empty() || split_into.keeps_in_host());
  }
  std::vector<std::int64_t> hops() const { return full ? std::vector<std::int64_t>() : fanouts(); }
  std::uint32_t depth() const {
    std::uint32_t const hops_or_two = full ? 2 : static_cast<std::uint32_t>(fanouts().size());
    if (layers && !full && *layers != hops_or_two)
      fail(errc::usage, "--layers {} and --fanout {}: use one fanout per layer", *layers, fanout);
    return layers.value_or(hops_or_two);
  }
};

// What is printed of a training in addition to its steps.
struct subject {
  nlohmann::ordered_json head;
  std::vector<std::string> lines;
  std::array<std::uint64_t, 4> parts{};  // vertices of a split_part
  std::optional<double> row_gb;          // unset: of several widths
  std::string predict;
};
// "": one rank, or shards.
std::string ranks_line(train_arguments const& a, std::vector<execution_device> const& places, std::uint32_t all_ranks);
// What the split came to.
void tell_shards(subject& what, train_arguments const& a, graph_handle const& g, std::vector<execution_device> const& places,
                 shard_group const& shards);
// Rank 0, or the only one: to the end, with what is printed and written.
void learn(train_arguments const& a, gnn_model& model, training& run, subject const& what);

}  // namespace garner::cli

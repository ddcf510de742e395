// What garner train, garner predict and garner plan --algorithm train share: options of models and their inputs.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "garner/gnn.hpp"
#include "garner/shards.hpp"
#include "load_options.hpp"

namespace garner {
struct shard_asked;  // shard/parts.hpp
}
namespace garner::cli {

// --norm and --residual; norm automatic: what suits the kind, and without --residual the number of training nodes (suit_layers).
void set_layers(model_options& m, std::string const& norm, bool residual, std::uint64_t training_vertices);

// How the whole graph is split; unset: as shard_options has it.
struct shard_arguments {
  std::optional<std::uint32_t> shards;
  std::optional<std::string> strategy, sums, balance, wire, lists, rows, provider, activations, scratch;
  std::vector<std::uint32_t> mgg;
  std::optional<double> wait;
  bool remote_adjacency = false;                                        // as --tier host says of shards on devices
  bool host_activations = false, host_layers = false, in_file = false;  // as --activations says, or fit()
  void add(verb& v, bool trains);
  bool packs_lists() const { return lists == "compressed"; }
  bool decides() const { return !strategy || *strategy == "auto"; }  // which way is decided by measuring
  bool keeps_in_file() const { return in_file || activations == "file"; }
  bool keeps_in_host() const { return host_activations || activations == "host" || keeps_in_file(); }  // or in a file
  char const* activations_are() const { return keeps_in_file() ? "file" : keeps_in_host() ? "host" : "device"; }
  // For --activations automatic, what may take less device memory: 0, activations in host memory; 1, feature rows by tier too; 2, the rows
  // of layers in host memory; 3, adjacency, if `tiers`. False: that is so already, or is not to be.
  bool take_less(int way, bool tiers);
  // The first of these ways, each on top of those before it that helped, for which bytes() fit what is allowed there; if none does, all
  // that helped. Then activations in a file, if host memory is too short for them and --scratch names a folder.
  template <class Bytes>
  void fit(bytes_needed const& allowed, bool on_device, bool tiers, Bytes const& bytes) {
    auto const in_host = [&](bytes_needed const& all) { return all.host + (on_device ? 0 : all.device); };
    auto const needed = [&] { return on_device ? bytes().device : in_host(bytes()); };
    std::uint64_t fewest = needed();
    for (int way = 0; fewest > (on_device ? allowed.device : allowed.host) && way < 4; ++way) {
      shard_arguments const before = *this;
      if (!take_less(way, tiers)) continue;
      if (std::uint64_t const now = needed(); now < fewest || way == 0) fewest = now;
      else *this = before;
    }
    in_file = scratch && keeps_in_host() && in_host(bytes()) > allowed.host;
  }
  char const* instead() const;          // what takes less device memory, in words
  char const* instead_of_host() const;  // and less host memory; null: nothing of these
  static constexpr char const* to_a_file = "keep activations in a file (--activations file --scratch FOLDER)";
  void refuse_types(std::string const& file) const;  // errc::usage: set, and `file` may have several types
  shard_asked options(std::uint32_t n) const;
  void refuse_all(char const* why) const;  // errc::usage names one that is set, except --shards
  double late_seconds() const { return wait.value_or(300); }
};

// Where each of those that learn together is, ranks or (full) shards: on these devices, or so many at a place.
std::vector<execution_device> places_of(std::vector<std::uint32_t> const& devices, std::optional<std::uint32_t> ranks,
                                        shard_arguments const& split, execution_device where, bool full);

// The kind of labels and the number of classes: as set, or the highest label plus one.
void set_classes(std::optional<std::uint64_t> said, row_array const& labels, std::string const& file, model_options& m);

// --- several types ---
std::string features_of(std::string const& file, vertex_type const& t);  // errc::input names a type that has none
// The type with training nodes (and labels, if `labelled`), or the one that is set.
std::size_t target_of(std::vector<vertex_type> const& types, std::string const& file, std::string const& said, bool labelled);
// Bytes of --feature-cache per table, if it is set. errc::usage if it, or --graph-cache, does not apply to several types.
std::optional<std::uint64_t> budget_of_types(load_arguments const& a);

// A graph of several types, with the tables that its dataset file names.
struct opened_types {
  hetero_graph g;
  std::vector<row_array> rows;
  std::vector<tiered_tensor> tables;
  std::vector<tiered_tensor*> features() {
    std::vector<tiered_tensor*> all;
    for (tiered_tensor& t : tables) all.push_back(&t);
    return all;
  }
};
struct pulled_lists {  // of each relation
  edge_direction side = edge_direction::in;
  bool weighted = false, both = false;  // both: whole-graph steps go back too
};
open_options types_options(execution_device where, std::string const& tier, pulled_lists const& how);
// `budget`: cached bytes of each table. `together`: processes that share one copy of adjacency and features in host memory. errc::input
// names a type without features.
opened_types open_types(std::string const& file, execution_device where, std::string const& tier, pulled_lists const& how,
                        std::optional<std::uint64_t> budget, row_arguments const& rows, rank_group* together = nullptr);

}  // namespace garner::cli

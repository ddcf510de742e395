// From arcs that come by parts to a container, in less host memory than the arcs take: what build_graph() and save_graph() do of a list in
// memory, byte for byte. Arcs become keys that are sorted in runs (arc_sorter.hpp); what comes out of the last merge is counted, thinned
// and written as it comes, lists first; what the container keeps behind them waits in files without names.
// Invariant: the same file as of the same arcs in memory; the container appears whole or not at all. In memory stand 8 bytes a vertex
// (offsets), twice with in-lists; 8 more where ids are compacted; and of arcs what the budget leaves. On disk beside the container: the
// keys of the arcs (8 bytes, 12 with weights, an undirected edge twice), twice with in-lists; 4 bytes an arc of weights or packed lists.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/executor.hpp"
#include "core/publish.hpp"
#include "core/scratch_file.hpp"
#include "graph/arc_sorter.hpp"
#include "graph/container.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"

namespace garner {

// What a container keeps beside the lists and is made of them, as cached neighbours are.
class beside_lists {
 public:
  virtual ~beside_lists() = default;
  // How many a vertex; 0: none. `g` has its counts and the offsets of its out-lists, and no lists.
  virtual std::uint32_t per_vertex(graph const& g, packed_words const& words) = 0;
  // Of `count` vertices from `first` on, whose in-lists stand in `targets`, with offsets from 0.
  virtual void make(graph const& g, std::uint64_t first, std::uint64_t count, std::uint64_t const* offsets, void const* targets,
                    std::uint32_t* to) = 0;
};

struct large_options {
  std::filesystem::path scratch = {};  // folder of what is sorted; empty: that of the container
  std::uint64_t bytes = 0;             // host memory to take; 0: what the budget leaves
  bool compress = false;               // lists are packed
  beside_lists* beside = nullptr;
};

// How it went.
struct large_report {
  std::uint64_t runs = 0, passes = 0;               // that were written; passes over them before the last
  std::uint64_t scratch_bytes = 0;                  // the most that lay in files without names
  std::uint64_t plain_bytes = 0, packed_bytes = 0;  // of lists that were packed
  double target_bits = 0, weight_bits = 0;          // an edge
  std::uint32_t cached_neighbours = 0;              // a vertex
  std::uint64_t cached_bytes = 0;
};

// Host memory below which nothing is sorted by parts, and what is taken of a budget for text that is read meanwhile.
inline constexpr std::uint64_t large_graph_least = std::uint64_t{32} << 20;
// Disk that it takes at the most beside the container: about so many bytes.
std::uint64_t scratch_bytes_of(std::uint64_t arcs, bool weights, bool undirected, bool in_lists, bool compress, bool compact);

class large_graph : public arc_sink {
 public:
  // `name`: of where the arcs come from, for messages. errc::io where one of the folders is none.
  large_graph(std::filesystem::path const& to, std::string name, large_options const& how, build_options const& build);
  ~large_graph() override;
  large_graph(large_graph const&) = delete;
  large_graph& operator=(large_graph const&) = delete;

  void expect(std::uint64_t scratch_bytes) { folder_.expect(scratch_bytes); }  // errc::io where the disk has not so many free
  void take(edge_list& part) override;
  bool any() const { return begun_; }  // arcs came
  // `said`: the list whose parts came, without them. Writes the container.
  graph_info finish(edge_list said, build_report& report);
  large_report const& about() const { return about_; }

 private:
  struct lists;
  void begin(edge_list const& part);
  void add_keys(arc const* arcs, std::uint32_t const* weights, std::uint64_t n);
  template <class Take>
  void each_spooled(Take const& take);
  void compact();
  std::uint64_t left() const;
  lists write_lists(arc_sorter& from, bool thinned, std::uint64_t at, arc_sorter* turned, build_report& report);
  void pack(lists& l);
  void write_beside(std::uint64_t at, lists const& in, std::uint64_t& checksum);
  void write_container(std::uint64_t id_base, build_report& report);

  pending_file out_;
  std::string name_;
  large_options how_;
  build_options build_;
  scratch_folder folder_;
  executor x_;
  std::uint64_t bytes_, used_before_;

  bool begun_ = false, undirected_ = false, mirror_ = false, weighted_ = false, real_ = false;
  std::uint64_t arcs_ = 0, largest_ = 0, loops_ = 0;
  std::unique_ptr<arc_sorter> sorter_;
  std::unique_ptr<scratch_file> spool_, spool_weights_;  // arcs from the first on whose ids do not fit a key
  std::uint64_t spooled_ = 0, spooled_whole_ = 0;        // of these so many have weights that were whole numbers
  buffer<std::uint64_t> user_;                           // ids, where they are compacted or listed with gaps
  graph counts_;                                         // info, and the offsets of the out-lists
  std::unique_ptr<lists> lists_[2];
  large_report about_;
};

}  // namespace garner

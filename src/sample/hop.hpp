// The stages of sampling, as loops over the device: open, then hop by hop and relation by relation count, choose, find and number, then
// close. No call waits but where the host plans reads of a file, or other processes own the adjacency.
//
//   open ----> [ begin hop -> count -------> choose -----> find ---------> number ] ----> (induced) ----> close
//   counters,                 edges of each  entries of    neighbors: the  local numbers, all edges       user's ids,
//   seeds                     vertex         each vertex   remote reads    edges, names   among them      counters
#pragma once
#include <cstdint>
#include <span>

#include "core/executor.hpp"
#include "sample/blocks.hpp"
#include "sample/kernels/hop_state.hpp"
#include "sample/sampler_buffers.hpp"
#include "sample/sampler_lists.hpp"

namespace garner {

class hop_stages {
 public:
  hop_stages(executor& x, block_options const& o, sampler_lists const& lists, sampler_buffers& buffers)
      : x_(x), o_(o), lists_(lists), b_(buffers), map_(lists.map) {}

  // Begins mini-batches, which are numbered consecutively: clears their counters and takes their seeds.
  void open(some_batches batches);
  void begin_hop(std::size_t batches, std::uint32_t hop, bool all);
  void hop(some_batches batches, std::uint32_t h, std::uint32_t r);
  void induced(some_batches batches, std::uint32_t r);
  // Ends mini-batches: clears local numbers for the next ones, and translates vertices to the user's ids.
  void close(some_batches batches);

  // --- adjacency split over processes: at its owner, and where mini-batches are assembled ---
  // The lists of b_.all_ids are sampled for; as many counts as vertices are expected.
  void draw_lists(std::uint64_t number, std::uint32_t h, sampling_response& into);
  void number_drawn(some_batches batches, std::uint32_t h, sampling_response const& came);

 private:
  using hop_of_relation = drawing::hop_of_relation;
  hop_of_relation shared(some_batches batches, std::uint32_t h, std::uint32_t r) const;
  void draws_by(hop_of_relation& s, std::uint64_t number, std::uint32_t h, std::uint32_t r) const;
  template <class Body>
  Body with_outputs(Body body, some_batches batches, std::uint32_t r, bool edges) const;
  template <class Id, class F>
  void with_times(hop_of_relation const& s, F const& f) const;
  template <class Id, class F>
  void with_entries(hop_of_relation const& s, F const& f) const;
  template <class Id>
  void count(hop_of_relation const& s, item_count drawing);
  template <class Id>
  void choose(hop_of_relation const& s, item_count drawing);
  template <class By>
  void choose_by(hop_of_relation const& s, item_count drawing, By const& by);
  template <class Id>
  void find(hop_of_relation const& s, std::uint64_t expected);
  template <class Id>
  void find_in_file(hop_of_relation const& s);
  void name(hop_of_relation const& s, item_count items);
  void number(hop_of_relation const& s, some_batches batches, bool finds_vertices);
  template <class Id, bool Packed>
  void list_all(hop_of_relation const& s, csr_view<Id> const& v);
  template <class Id>
  void draw_lists(hop_of_relation s, sampling_response& into);

  executor& x_;
  block_options const& o_;
  sampler_lists const& lists_;
  sampler_buffers& b_;
  drawing::counter_map const& map_;
  bool torn_ = false;  // an interrupted sampling left its local numbers behind
};

}  // namespace garner

#include "graph/list_windows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

constexpr std::uint64_t unit = list_file::unit, page = 4096, least_window = 512u << 10, usual_window = 64u << 20;
constexpr std::uint64_t piece = 2048;  // edges: granularity of ranges over all edges

std::uint64_t up(std::uint64_t x, std::uint64_t to) { return (x + to - 1) / to * to; }

struct file_range {
  std::uint64_t begin, end, place;  // bytes of the file; their position in memory
};
// Coalesces the wanted bytes into reads, in file order.
struct joined_reads {
  std::uint64_t block = unit, gap = 0;  // smallest read; and bytes worth wasting to save a request
  std::uint64_t asked = 0, blocks = 0;  // wanted bytes, and blocks that contain them, each counted once
  std::uint64_t end = 0, end_of_asked = 0;

  struct step {
    std::uint64_t from, to;  // range of the file, in blocks
    bool joins;              // with the previous read
  };
  step look(std::uint64_t begin_at, std::uint64_t end_at, bool whole) const {
    std::uint64_t const from = begin_at / block * block;
    return {from, up(end_at, block), end && (whole || from <= end + gap)};
  }
  void take(step const& s, std::uint64_t begin_at, std::uint64_t end_at) {
    std::uint64_t const known = s.joins ? end_of_asked : 0, known_blocks = up(known, block);  // compressed lists share blocks of 32 edges
    if (end_at > known) asked += end_at - std::max(begin_at, known);
    if (s.to > known_blocks) blocks += s.to - std::max(s.from, known_blocks);
    end_of_asked = std::max(known, end_at);
    end = s.joins ? std::max(end, s.to) : s.to;
  }
};
// One array in one staging buffer.
struct part {
  memory_block memory;
  std::uint64_t used = 0;
  joined_reads reads;
  std::vector<file_range> ranges;
  buffer<std::uint64_t> at;  // by item

  void clear(std::uint64_t block, std::uint64_t gap) { used = 0, reads = {block, gap}, ranges.clear(); }
  // Reserves space for the array's bytes [begin, end); false if it does not fit.
  bool add(stored_array const& a, std::uint64_t begin, std::uint64_t end, bool whole) {
    joined_reads::step const s = reads.look(a.at + begin, a.at + end, whole);
    if (s.joins) {
      file_range& last = ranges.back();
      std::uint64_t const more = std::max(last.end, s.to) - last.end;
      if (used + more > memory.bytes()) return false;
      last.end += more, used += more;
    } else {
      if (used + (s.to - s.from) > memory.bytes()) return false;
      ranges.push_back({s.from, s.to, used});
      used += s.to - s.from;
    }
    reads.take(s, a.at + begin, a.at + end);
    return true;
  }
  // Where byte 0 of the array would be in memory, relative to the last range.
  std::uint64_t origin(stored_array const& a) const {
    file_range const& last = ranges.back();
    return reinterpret_cast<std::uint64_t>(memory.data()) + last.place - last.begin + a.at;
  }
  void* of(file_range const& r) const { return static_cast<std::byte*>(memory.data()) + r.place; }
};

// Per staging buffer: bytes of its arrays, and its maximum item count.
struct room_sizes {
  std::uint64_t targets, weights, items;
  std::uint64_t bytes() const { return targets + weights + items * 8 * (weights ? 2 : 1); }
};
room_sizes sizes_of(graph_info const& info, std::uint64_t window) {
  bool const weighted = info.weights != weight_kind::none;
  std::uint64_t const data = window / 4 * 3;
  std::uint64_t const targets = !weighted ? data : info.compressed ? data / 2 : data / (info.id_bytes + 4) * info.id_bytes;
  return {up(targets, page), weighted ? up(data - targets, page) : 0, std::max<std::uint64_t>(64, window / 4 / (weighted ? 16 : 8))};
}
// Both buffers use half of the remaining host memory: a verification may need the other half.
std::uint64_t window_within(graph_info const& info, std::uint64_t free) {
  return std::min({usual_window, list_windows::most_bytes(info) / 2, std::max(free, list_windows::least_bytes(info)) / 4});
}

struct room {
  part targets, weights;
  std::uint64_t first = 0, last = 0;
};
using rooms = std::array<room, 2>;

// The bytes that hold an array's elements [begin, end). Compressed: the words of their blocks, plus one that a reader may look at.
indices bytes_of(packed_array const& packed, std::uint64_t each, indices arcs) {
  if (packed.empty()) return {arcs.begin * each, arcs.end * each};
  packed_directory const at = packed.view().at;
  return {at.word_of(arcs.begin / 32) * 4, (at.word_of((arcs.end + 31) / 32) + 1) * 4};
}

}  // namespace

struct list_windows::state {
  struct task {
    edge_lists const& lists;
    bool in;
    wanted what;
    std::uint64_t count;
    range_of const& range;
  };

  executor& x;
  graph const& g;
  list_file& file;
  std::shared_ptr<rooms> both;  // kept alive by reads that a drive has not cancelled
  std::optional<read_queue> queue;
  std::uint64_t most_items = 0, asked = 0, blocks = 0, gap = list_file::usual_gap;
  double waited_ms = 0;
  read_counters before;

  state(executor& at, graph const& of) : x(at), g(of), file(*of.in_file), before(file.files().counters()) {}

  void make_room() {
    if (both) return;
    std::uint64_t const free = host_budget().left();
    if (!file.window_bytes() && free < least_bytes(g.info))
      fail(errc::memory,
           "{}: two staging buffers for edges need {} of host memory, besides what the algorithm takes, and {} are left; raise the host "
           "budget",
           g.name, format_bytes(least_bytes(g.info)), format_bytes(free));
    room_sizes const sizes = sizes_of(g.info, file.window_bytes() ? file.window_bytes() : window_within(g.info, free));
    most_items = sizes.items;
    auto made = std::make_shared<rooms>();
    for (room& r : *made) {
      auto const make = [&](part& p, std::uint64_t bytes) {
        p.memory = memory_block(tier::host, bytes, x.device(), "a window of lists");
        p.at = buffer<std::uint64_t>(tier::host, most_items, x.device(), "a window of lists");
      };
      make(r.targets, sizes.targets);
      if (sizes.weights) make(r.weights, sizes.weights);
    }
    both = std::move(made);
    queue.emplace(file.files(), both);
    for (room& r : *both)
      for (part* p : {&r.targets, &r.weights})
        if (p->memory.bytes()) queue->register_memory(p->memory.data(), p->memory.bytes());
  }

  bool add(task const& t, room& r, std::uint64_t item) {
    indices const arcs = t.range(item);
    std::uint64_t const k = t.what.whole ? 0 : item - r.first;
    auto const one = [&](bool wanted, part& p, stored_array const& a, packed_array const& packed, std::uint64_t each) {
      if (!wanted) return true;
      if (arcs.begin >= arcs.end) {
        if (!t.what.whole) p.at[k] = 0;
        return true;
      }
      indices const bytes = bytes_of(packed, each, arcs);
      if (!p.add(a, bytes.begin, bytes.end, t.what.whole)) return false;
      p.at[k] = p.origin(a);
      return true;
    };
    return one(t.what.targets, r.targets, t.lists.stored_targets, t.lists.packed_targets, g.info.id_bytes) &&
           one(t.what.weights, r.weights, t.lists.stored_weights, t.lists.packed_weights, 4);
  }

  // Takes as many items from `first` on as fit, and reads their data.
  void fill(task const& t, std::uint64_t first, room& r) {
    r.first = r.last = first;
    r.targets.clear(file.block(), gap), r.weights.clear(file.block(), gap);
    std::uint64_t const most = t.what.whole ? t.count : std::min(t.count, first + most_items);
    while (r.last < most && add(t, r, r.last)) ++r.last;
    if (r.last == first) {
      indices const arcs = t.range(first);
      fail(errc::memory,
           "{}: edges {} to {} are needed together and exceed the staging buffer of {}; raise the host budget, or let "
           "long lists be cut, as all variants but emogi do",
           g.name, arcs.begin, arcs.end, format_bytes(r.targets.memory.bytes() + r.weights.memory.bytes()));
    }
    std::vector<read_request> requests;
    for (part* p : {&r.targets, &r.weights})
      for (file_range const& range : p->ranges) requests.push_back({range.begin, range.end - range.begin, p->of(range)});
    for (part const* p : {&r.targets, &r.weights}) asked += p->reads.asked, blocks += p->reads.blocks;
    if (requests.empty()) return;
    read_all(*queue, file.files(), requests);
  }

  // Validates the buffer before any use.
  void look_at(task const& t, room& r) {
    phase const timed{"lists.check"};
    std::atomic<std::uint64_t> wrong{list_file::none};
    auto const note = [&](std::uint64_t byte) {
      for (std::uint64_t known = wrong; byte < known && !wrong.compare_exchange_weak(known, byte);) {
      }
    };
    constexpr std::uint64_t step = 256 << 10;
    for (part* p : {&r.targets, &r.weights}) {
      if (p->ranges.empty()) continue;
      // By memory position, since ranges are contiguous there.
      shared_pool().run((p->used + step - 1) / step, 1, [&](std::uint64_t first, std::uint64_t last) {
        std::uint64_t at = first * step, const_end = std::min(p->used, last * step);
        auto range = std::upper_bound(p->ranges.begin(), p->ranges.end(), at,
                                      [](std::uint64_t place, file_range const& x) { return place < x.place; }) -
                     1;
        while (at < const_end) {
          std::uint64_t const n = std::min(const_end - at, range->place + (range->end - range->begin) - at);
          note(file.compare(range->begin + (at - range->place), static_cast<std::byte*>(p->memory.data()) + at, n));
          at += n;
          ++range;
        }
      });
    }
    if (wrong != list_file::none)
      fail(errc::input,
           "{}: the {} bytes at byte {} are not what was read before; the drive is at fault, or the file was written to: restore it from a "
           "copy",
           g.name, unit, wrong.load());
    if (!t.what.targets) return;
    std::atomic<std::uint64_t> arc{list_file::none};
    auto const note_arc = [&](std::uint64_t i) {
      for (std::uint64_t known = arc; i < known && !arc.compare_exchange_weak(known, i);) {
      }
    };
    shared_pool().run(r.last - r.first, t.what.whole ? 1 : 1024, [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t k = first; k < last; ++k) {
        indices const arcs = t.range(r.first + k);
        if (arcs.begin >= arcs.end) continue;
        std::uint64_t const at = r.targets.at[t.what.whole ? 0 : k];
        for (std::uint64_t b = arcs.begin / 32; b * 32 < arcs.end; ++b) {
          if (file.is_right(t.in, b)) continue;
          if (std::uint64_t const bad = beyond(t.lists, at, b); bad != list_file::none) note_arc(bad);
          else file.note_right(t.in, b);
        }
      }
    });
    if (arc != list_file::none)
      fail(errc::input, "{}: edge {} leads beyond the {} vertices; the file is damaged, copy or convert it again", g.name, arc.load(),
           g.info.vertices);
  }
  // The first edge of block b with an invalid target, or none.
  std::uint64_t beyond(edge_lists const& lists, std::uint64_t at, std::uint64_t b) const {
    std::uint64_t const begin = b * 32, end = std::min(g.info.edges, begin + 32);
    std::uint64_t bad = list_file::none;
    if (!lists.packed_targets.empty()) {
      packed_view const view{lists.packed_targets.view().at, reinterpret_cast<std::uint32_t const*>(at)};
      if (!block_is_right(view.at, view.words, b)) return begin;
      each_in_turn(view, begin, end, [&](std::uint32_t v, std::uint64_t i) {
        if (v < g.info.vertices) return false;
        bad = i;
        return true;
      });
      return bad;
    }
    auto const look = [&](auto const* targets) {
      for (std::uint64_t i = begin; i < end && bad == list_file::none; ++i)
        if (targets[i] >= g.info.vertices) bad = i;
    };
    if (g.info.id_bytes == 8) look(reinterpret_cast<std::uint64_t const*>(at));
    else look(reinterpret_cast<std::uint32_t const*>(at));
    return bad;
  }
};

list_windows::list_windows(executor& x, graph const& g) : state_(std::make_unique<state>(x, g)) {}
list_windows::~list_windows() = default;

void list_windows::each(edge_lists const& lists, wanted const& what, std::uint64_t count, range_of const& range, use_of const& use) {
  state& s = *state_;
  if (count == 0) return;
  s.make_room();
  s.gap = s.file.gap(what.whole ? 0 : count);
  state::task const task{lists, &lists == &s.g.in, what, count, range};
  rooms& both = *s.both;
  auto start = steady::now();
  s.fill(task, 0, both[0]);
  s.waited_ms += ms_since(start);
  for (std::size_t turn = 0;; turn ^= 1) {
    room &now = both[turn], &next = both[turn ^ 1];
    bool const more = now.last < count;
    std::exception_ptr problem;
    {
      std::jthread reading;
      if (more)
        reading = std::jthread([&] {
          try {
            s.fill(task, now.last, next);
          } catch (...) {
            problem = std::current_exception();
          }
        });
      s.look_at(task, now);
      list_window const w{now.first, now.last, what.targets ? now.targets.at.data() : nullptr,
                          what.weights ? now.weights.at.data() : nullptr};
      try {
        use(w);
        s.x.wait();
      } catch (...) {
        s.x.wait();
        throw;
      }
      start = steady::now();
    }
    if (more) s.waited_ms += ms_since(start);
    if (problem) std::rethrow_exception(problem);
    if (!more) break;
  }
  s.file.files().require_unchanged();
}

void list_windows::each_arc(edge_lists const& lists, wanted what, use_arcs const& use) {
  graph const& g = state_->g;
  what.whole = true;
  std::uint64_t const* const offsets = lists.offsets.data();
  auto const owner = [&](std::uint64_t arc) {
    return static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + g.info.vertices + 1, arc) - offsets) - 1;
  };
  each(
      lists, what, (g.info.edges + piece - 1) / piece,
      [&](std::uint64_t k) {
        return indices{k * piece, std::min(g.info.edges, (k + 1) * piece)};
      },
      [&](list_window const& w) {
        indices const arcs{w.first * piece, std::min(g.info.edges, w.last * piece)};
        use(w, arcs, {owner(arcs.begin), owner(arcs.end - 1) + 1});
      });
}

file_reads list_windows::take() {
  state& s = *state_;
  read_counters const now = s.file.files().counters();
  file_reads const all{now.reads - s.before.reads, now.bytes_read - s.before.bytes_read, std::exchange(s.asked, 0),
                       std::exchange(s.blocks, 0), std::exchange(s.waited_ms, 0)};
  s.before = now;
  return all;
}

list_windows::foreseen list_windows::foresee(edge_lists const& lists, wanted const& what, std::uint64_t count, range_of const& range) {
  state& s = *state_;
  foreseen all;
  all.gap = s.file.gap(what.whole ? 0 : count);
  std::atomic<std::uint64_t> reads{0}, bytes{0};
  // Reads are not merged across the two parts, which is negligible.
  shared_pool().run(count, 1u << 15, [&](std::uint64_t first, std::uint64_t last) {
    joined_reads targets{s.file.block(), all.gap}, weights = targets;
    std::uint64_t count_here = 0, bytes_here = 0;
    auto const take = [&](joined_reads& to, stored_array const& a, packed_array const& packed, std::uint64_t each, indices arcs) {
      indices const wanted = bytes_of(packed, each, arcs);
      joined_reads::step const step = to.look(a.at + wanted.begin, a.at + wanted.end, what.whole);
      std::uint64_t const from = step.joins ? to.end : step.from;
      count_here += !step.joins;
      if (step.to > from) bytes_here += step.to - from;
      to.take(step, a.at + wanted.begin, a.at + wanted.end);
    };
    for (std::uint64_t k = first; k < last; ++k) {
      indices const arcs = range(k);
      if (arcs.begin >= arcs.end) continue;
      if (what.targets) take(targets, lists.stored_targets, lists.packed_targets, s.g.info.id_bytes, arcs);
      if (what.weights) take(weights, lists.stored_weights, lists.packed_weights, 4, arcs);
    }
    reads += count_here, bytes += bytes_here;
  });
  all.requests = reads, all.bytes = bytes;
  return all;
}

std::uint64_t list_windows::least_bytes(graph_info const& info) { return 4 * std::min(least_window, most_bytes(info) / 2); }
std::uint64_t list_windows::bytes_within(graph_info const& info, std::uint64_t free) {
  return 2 * sizes_of(info, window_within(info, free)).bytes();
}
std::uint64_t list_windows::most_bytes(graph_info const& info) {
  std::uint64_t const arc = info.id_bytes + (info.weights == weight_kind::none ? 0 : 4);
  return 2 * std::min(usual_window, (info.edges * arc * 3 + 64 * page));  // weights may compress worse than targets
}

}  // namespace garner

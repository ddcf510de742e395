#include "graph/large_graph.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "graph/build.hpp"
#include "graph/container_format.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

constexpr std::uint64_t widest = 0xffffffff;     // ids below it fit in a key, two per key
constexpr std::uint64_t at_once = 1u << 13;      // edges converted to keys, and entries written, per step; they fit a cache
constexpr std::uint64_t of_streams = 12u << 20;  // memory of the open section streams
constexpr std::uint64_t least_merge = 4u << 20;

// A graph file section, written as its bytes arrive.
class section_stream {
 public:
  section_stream(pending_file& out, std::uint64_t at) : out_(out), at_(at) { block_.reserve(container::block); }
  void append(void const* data, std::uint64_t bytes) {
    auto const* p = static_cast<std::byte const*>(data);
    while (bytes) {
      std::uint64_t const n = std::min<std::uint64_t>(bytes, container::block - block_.size());
      block_.insert(block_.end(), p, p + n);
      p += n, bytes -= n;
      if (block_.size() == container::block) write();
    }
  }
  // Pads with zeros to the next page. Returns the section's checksum.
  std::uint64_t finish() {
    if (!block_.empty()) write();
    std::vector<std::byte> const zeros(container::on_page(at_) - at_);
    out_.write_at(at_, zeros.data(), zeros.size());
    return container::tree_checksum(sums_);
  }

 private:
  void write() {
    sums_.push_back(XXH3_64bits(block_.data(), block_.size()));
    out_.write_at(at_, block_.data(), block_.size());
    at_ += block_.size();
    block_.clear();
  }
  pending_file& out_;
  std::uint64_t at_;
  std::vector<std::byte> block_;
  std::vector<std::uint64_t> sums_;
};

void copy(scratch_file const& from, section_stream& to) {
  std::vector<std::byte> part(1u << 20);
  for (std::uint64_t at = 0; at < from.bytes(); at += part.size()) {
    std::uint64_t const n = std::min<std::uint64_t>(part.size(), from.bytes() - at);
    from.read(part.data(), n, at);
    to.append(part.data(), n);
  }
}

// Buffers values that arrive one at a time, and passes them on in batches.
template <class T>
class gathered {
 public:
  explicit gathered(std::function<void(T const*, std::uint64_t)> to) : to_(std::move(to)) { values_.reserve(at_once); }
  void push(T value) {
    values_.push_back(value);
    if (values_.size() == at_once) flush();
  }
  void flush() {
    if (!values_.empty()) to_(values_.data(), values_.size());
    values_.clear();
  }

 private:
  std::function<void(T const*, std::uint64_t)> to_;
  std::vector<T> values_;
};

}  // namespace

// One direction of the edges, as far as it is written.
struct large_graph::lists {
  buffer<std::uint64_t> offsets;
  std::uint64_t at = 0, checksum = 0;       // plain targets in the graph file
  std::unique_ptr<scratch_file> targets;    // of adjacency to be compressed
  std::unique_ptr<scratch_file> weights;    // plain, or none
  std::unique_ptr<scratch_file> packed[6];  // words, blocks and groups, of targets and weights
  std::uint64_t words[2] = {};
};

std::uint64_t scratch_bytes_of(std::uint64_t arcs, bool weights, bool undirected, bool in_edges, bool compress, bool compact) {
  std::uint64_t const keys = undirected ? 2 * arcs : arcs, one = keys * (weights ? 12 : 8);
  std::uint64_t const turned = in_edges && !undirected ? one : 0;
  return one + turned + keys * (weights ? 4 : 0) + (compress ? keys * (weights ? 17 : 9) : 0) + (compact ? 2 * keys * 8 : 0);
}

large_graph::large_graph(std::filesystem::path const& to, std::string name, large_options const& how, build_options const& build)
    : out_(to),
      name_(std::move(name)),
      how_(how),
      build_(build),
      folder_(how.scratch.empty() ? to.parent_path() : how.scratch),
      x_({device_kind::cpu, 0}),
      used_before_(host_budget().used()) {
  std::uint64_t const limit = host_budget().limit();
  bytes_ = limit - std::min(limit, used_before_);
  if (how.bytes) bytes_ = std::min(bytes_, how.bytes);
  if (build.id_bytes != 0 && build.id_bytes != 4 && build.id_bytes != 8) fail(errc::usage, "id bytes {}: use 4 or 8", build.id_bytes);
  if (build.random_weights) require_weights(*build.random_weights);
  scratch_file const there(folder_);  // reports an unusable folder now
}
large_graph::~large_graph() = default;

std::uint64_t large_graph::left() const {
  std::uint64_t const used = host_budget().used() - std::min(host_budget().used(), used_before_);
  return bytes_ - std::min(bytes_, used);
}

void large_graph::begin(edge_list const& part) {
  begun_ = true;
  undirected_ = build_.undirected.value_or(part.undirected);
  mirror_ = undirected_ && !(part.mirrored && build_.keep_duplicates);  // why: see build_graph()
  weighted_ = part.weights_are != weight_kind::none && !build_.random_weights;
  real_ = part.weights_are == weight_kind::f32;
  if (part.ids.empty() && build_.numbering != build_options::ids::compact) require_buildable(name_, part.vertices, false);
  sorter_ = std::make_unique<arc_sorter>(x_, folder_, weighted_, std::min(bytes_ / 2, left() / 4 * 3));
  if (real_) sorter_->weights_become_real();
}

void large_graph::take(edge_list& part) {
  std::uint64_t const n = part.arcs.size();
  if (n == 0) return;
  if (!begun_) begin(part);
  bool const by_user = !part.ids.empty() && build_.numbering == build_options::ids::keep;
  constexpr std::uint64_t block = 1u << 16;
  struct of_block {
    std::uint64_t largest = 0, loops = 0;
  };
  std::vector<of_block> blocks((n + block - 1) / block);
  x_.threads().run(n, block, [&](std::uint64_t i, std::uint64_t last) {
    of_block& mine = blocks[i / block];
    for (; i < last; ++i) {
      arc& a = part.arcs[i];
      if (by_user) a = {part.ids[a.source], part.ids[a.target]};
      mine.largest = std::max({mine.largest, a.source, a.target});
      mine.loops += a.source == a.target ? 1 : 0;
    }
  });
  for (of_block const& b : blocks) largest_ = std::max(largest_, b.largest), loops_ += b.loops;
  arcs_ += n;
  if (weighted_ && part.weights_are == weight_kind::f32 && !std::exchange(real_, true)) {
    sorter_->weights_become_real();
    spooled_whole_ = spooled_;
  }
  if (!spool_ && largest_ >= widest) {
    if (build_.numbering == build_options::ids::keep) require_buildable(name_, largest_ + 1, false);
    spool_ = std::make_unique<scratch_file>(folder_);
    if (weighted_) spool_weights_ = std::make_unique<scratch_file>(folder_);
  }
  if (spool_) {
    spool_->append(part.arcs.data(), n * sizeof(arc));
    if (weighted_) spool_weights_->append(part.weights.data(), n * 4);
    spooled_ += n;
  } else {
    add_keys(part.arcs.data(), weighted_ ? part.weights.data() : nullptr, n);
  }
  part.arcs.clear();
  part.weights.clear();
}

// An undirected loop is stored once. Loops to be dropped are removed after the sort, since their vertices count.
void large_graph::add_keys(arc const* arcs, std::uint32_t const* weights, std::uint64_t n) {
  std::vector<std::uint64_t> keys(2 * at_once);
  std::vector<std::uint32_t> with(weights ? keys.size() : 0);
  for (std::uint64_t i = 0; i < n;) {
    std::uint64_t made = 0;
    for (std::uint64_t const last = std::min(n, i + at_once); i < last; ++i) {
      std::uint64_t const u = arcs[i].source, v = arcs[i].target;
      for (bool const both : {false, true}) {
        if (both && (!mirror_ || u == v)) continue;
        if (weights) with[made] = weights[i];
        keys[made++] = both ? v << 32 | u : u << 32 | v;
      }
    }
    sorter_->add(std::span(keys).first(made), std::span(with).first(weights ? made : 0));
  }
}

// The spooled edges, in parts, with weights in their final type.
template <class Take>
void large_graph::each_spooled(Take const& take) {
  std::vector<arc> arcs(at_once);
  std::vector<std::uint32_t> weights(spool_weights_ ? at_once : 0);
  for (std::uint64_t first = 0; first < spooled_; first += at_once) {
    std::uint64_t const n = std::min(at_once, spooled_ - first);
    spool_->read(arcs.data(), n * sizeof(arc), first * sizeof(arc));
    if (spool_weights_) spool_weights_->read(weights.data(), n * 4, first * 4);
    for (std::uint64_t i = 0; i < weights.size() && first + i < spooled_whole_; ++i)
      weights[i] = std::bit_cast<std::uint32_t>(static_cast<float>(weights[i]));
    take(arcs.data(), weights.empty() ? nullptr : weights.data(), n);
  }
}

// Collects the distinct ids, ascending, in user_. Then replaces each id by its index, which keeps sorted runs sorted.
void large_graph::compact() {
  sorter_->cut();
  {
    arc_sorter ids(x_, folder_, false, std::min(bytes_ / 2, left() / 4 * 3));
    gathered<std::uint64_t> found([&](std::uint64_t const* values, std::uint64_t n) { ids.add({values, n}, {}); });
    std::uint64_t last = ~std::uint64_t{0};
    sorter_->each_run([&](std::span<std::uint64_t const> keys, std::span<std::uint32_t const>) {
      for (std::uint64_t const k : keys) {
        if (k >> 32 != last) found.push(last = k >> 32);
        if (!mirror_) found.push(k & widest);
      }
    });
    if (spool_)
      each_spooled([&](arc const* arcs, std::uint32_t const*, std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) found.push(arcs[i].source), found.push(arcs[i].target);
      });
    found.flush();
    ids.finish(std::min(bytes_ / 2, left() / 2));
    auto const each = [&](auto const& f) {
      std::uint64_t before = ~std::uint64_t{0};
      ids.in_order([&](std::span<std::uint64_t const> all, std::span<std::uint32_t const>) {
        for (std::uint64_t const id : all)
          if (id != before) f(before = id);  // no id is 2^64 - 1
      });
    };
    std::uint64_t count = 0;
    each([&](std::uint64_t) { ++count; });
    require_buildable(name_, count, true);
    user_ = buffer<std::uint64_t>(tier::host, count, -1, "ids that occur");
    count = 0;
    each([&](std::uint64_t id) { user_[count++] = id; });
    about_.runs += ids.runs(), about_.passes += ids.passes();
  }
  auto const number = [this](std::uint64_t id) {
    return static_cast<std::uint64_t>(std::lower_bound(user_.begin(), user_.end(), id) - user_.begin());
  };
  sorter_->renumber([number](std::span<std::uint64_t> keys) {
    for (std::uint64_t& k : keys) k = number(k >> 32) << 32 | number(k & widest);
  });
  if (spool_)
    each_spooled([&](arc* arcs, std::uint32_t const* weights, std::uint64_t n) {
      x_.threads().run(n, 1u << 12, [&](std::uint64_t i, std::uint64_t last) {
        for (; i < last; ++i) arcs[i] = {number(arcs[i].source), number(arcs[i].target)};
      });
      add_keys(arcs, weights, n);
    });
  spool_.reset(), spool_weights_.reset();
}

graph_info large_graph::finish(edge_list said, build_report& report, bool reversed) {
  phase const timed{"graph.build_by_parts"};
  if (!begun_) begin(said);
  report.edges_read = arcs_;
  if (!said.ids.empty() && build_.numbering == build_options::ids::keep) {
    said.vertices = said.ids.back() + 1;
    said.ids = {};
  }
  bool const listed = !said.ids.empty();
  numbering_plan const numbers = plan_numbering(said, arcs_, largest_, build_);
  graph_info& info = counts_.info;
  info.vertices = numbers.vertices;
  std::uint64_t first_id = listed ? said.ids.front() : 0;
  bool maps = listed && said.ids.back() - said.ids.front() != said.ids.size() - 1;
  if (numbers.compact) {
    compact();
    info.vertices = user_.size();
    first_id = user_.size() ? user_[0] : 0;
    maps = user_.size() && user_[user_.size() - 1] - first_id != user_.size() - 1;
  }
  require_buildable(name_, info.vertices, numbers.compact);
  report.compacted = numbers.compact && maps;
  if (listed && maps) {
    user_ = buffer<std::uint64_t>(tier::host, said.ids.size(), -1, "id map");
    std::copy(said.ids.begin(), said.ids.end(), user_.begin());
  }
  said.ids = {};
  info.directed = !undirected_;
  info.in_edges = info.directed && build_.in_edges;
  info.reversed = info.directed && reversed;
  info.id_bytes = build_.id_bytes ? build_.id_bytes : 4;
  info.weights = build_.random_weights ? build_.random_weights->kind
                 : !weighted_          ? weight_kind::none
                 : real_               ? weight_kind::f32
                                       : weight_kind::u32;
  info.id_map = maps;
  info.id_base = maps ? 0 : said.id_base + first_id;
  info.compressed = how_.compress;
  info.names_digest = said.names_digest;
  if (how_.compress) info.id_bytes = 4;
  counts_.name = name_;
  report.bytes_needed = bytes_;
  write_container(said.id_base, report);
  if (undirected_ && !mirror_) report.duplicates_dropped = 0;
  if (mirror_ && said.mirrored) count_listed_twice(report, info.edges, loops_, build_);
  about_.scratch_bytes = folder_.peak();
  return info;
}

// `thinned`: loops and duplicates are dropped, or counted. `turned` receives the reversed edges.
large_graph::lists large_graph::write_lists(arc_sorter& from, bool thinned, std::uint64_t at, arc_sorter* turned, build_report& report) {
  graph_info const& info = counts_.info;
  std::uint64_t const n = info.vertices;
  lists l;
  l.at = at;
  l.offsets = buffer<std::uint64_t>(tier::host, n + 1, -1, "offsets");
  std::optional<section_stream> plain;
  if (info.compressed) l.targets = std::make_unique<scratch_file>(folder_);
  else plain.emplace(out_, at);
  if (info.weights != weight_kind::none) l.weights = std::make_unique<scratch_file>(folder_);
  std::vector<std::uint64_t> around(turned ? at_once : 0);
  // Marks vertices with at least one edge, if offsets do not show them.
  bool const touches = thinned && info.directed && !info.in_edges;
  buffer<std::uint32_t> touched(tier::host, touches ? (n + 31) / 32 : 0, -1, "vertices that have an edge");
  auto const touch = [&](std::uint64_t v) { touched[v / 32] |= 1u << v % 32; };
  std::uint64_t written = 0, next = 0, loops_kept = 0;
  std::vector<std::uint32_t> narrow(at_once), words(at_once);
  auto const put = [&](std::uint64_t* keys, std::uint32_t const* with, std::uint64_t count) {
    std::uint64_t vertex = next;  // not a reference, which each write to memory might change
    for (std::uint64_t i = 0; i < count; ++i)
      for (std::uint64_t const u = keys[i] >> 32; vertex <= u; ++vertex) l.offsets[vertex] = written + i;
    next = vertex;
    written += count;
    for (std::uint64_t i = 0; i < count && touches; ++i) touch(keys[i] >> 32), touch(keys[i] & widest);
    if (l.weights && build_.random_weights)
      for (std::uint64_t i = 0; i < count; ++i) words[i] = drawn_weight(*build_.random_weights, keys[i] >> 32, keys[i] & widest);
    if (l.weights) l.weights->append(build_.random_weights ? words.data() : with, count * 4);
    if (turned) {
      for (std::uint64_t i = 0; i < count; ++i) around[i] = keys[i] << 32 | keys[i] >> 32;
      turned->add(std::span(around).first(count), {with, weighted_ ? count : 0});
    }
    for (std::uint64_t i = 0; i < count; ++i) narrow[i] = static_cast<std::uint32_t>(keys[i]);
    for (std::uint64_t i = 0; i < count && info.id_bytes == 8; ++i) keys[i] &= widest;
    if (info.id_bytes == 8) plain->append(keys, count * 8);
    else if (plain) plain->append(narrow.data(), count * 4);
    else l.targets->append(narrow.data(), count * 4);
  };
  // Keys without loops and duplicates. The last one waits for its duplicates, of which the smallest weight stays.
  std::vector<std::uint64_t> kept(at_once);
  std::vector<std::uint32_t> lightest(at_once);
  std::uint64_t held = 0;
  from.in_order([&](std::span<std::uint64_t const> keys, std::span<std::uint32_t const> with) {
    std::uint64_t *const to = kept.data(), count = held;
    for (std::uint64_t i = 0; i < keys.size(); ++i) {
      std::uint64_t const key = keys[i];
      std::uint32_t const weight = with.empty() ? 0 : with[i];
      if (thinned) {
        bool const loop = key >> 32 == (key & widest);
        if (loop && !build_.keep_loops) continue;
        if (count && key == to[count - 1] && !build_.keep_duplicates) {
          lightest[count - 1] = std::min(lightest[count - 1], weight);
          continue;
        }
        loops_kept += loop ? 1 : 0;
      }
      if (count == at_once) {
        std::uint64_t const last = to[count - 1];
        put(to, lightest.data(), count - 1);
        to[0] = last, lightest[0] = lightest[count - 1];
        count = 1;
      }
      to[count] = key, lightest[count++] = weight;
    }
    held = count;
  });
  put(kept.data(), lightest.data(), held);
  while (next <= n) l.offsets[next++] = written;
  if (plain) l.checksum = plain->finish();
  if (!thinned) return l;
  counts_.info.edges = written;
  report.loops_kept = loops_kept;
  report.loops_dropped = build_.keep_loops ? 0 : loops_;
  std::uint64_t const came = (mirror_ ? 2 : 1) * (arcs_ - loops_), dropped = came - (written - loops_kept);
  report.duplicates_dropped = (info.directed ? dropped : dropped / 2) + (build_.keep_loops ? loops_ - loops_kept : 0);
  if (touches) {
    std::uint64_t hit = 0;
    for (std::uint32_t const word : touched) hit += static_cast<std::uint64_t>(std::popcount(word));
    report.isolated = n - hit;
  }
  return l;
}

void large_graph::pack(lists& l) {
  graph_info const& info = counts_.info;
  progress told("packing", info.edges * (l.weights ? 2 : 1));
  std::uint64_t const step = packed_parts::values_a_group * x_.threads().threads();
  std::vector<std::uint32_t> values(std::min<std::uint64_t>(step, info.edges));
  for (int of : {0, 1}) {
    std::unique_ptr<scratch_file>& from = of ? l.weights : l.targets;
    if (!from) continue;
    packed_parts parts({info.edges, of ? nullptr : l.offsets.data(), info.vertices});
    scratch_file* to[3];
    for (int k : {0, 1, 2}) to[k] = (l.packed[of * 3 + k] = std::make_unique<scratch_file>(folder_)).get();
    auto const keep = [&] {
      to[0]->append(parts.words.data(), parts.words.size() * 4);
      to[1]->append(parts.blocks.data(), parts.blocks.size() * 4);
      to[2]->append(parts.begins.data(), parts.begins.size() * 8);
    };
    for (std::uint64_t first = 0; first < info.edges; first += step) {
      std::uint64_t const n = std::min(step, info.edges - first);
      from->read(values.data(), n * 4, first * 4);
      parts.add(values.data(), n);
      keep();
      told.advance(n);
    }
    parts.finish();
    keep();
    l.words[of] = parts.all_words();
    std::uint64_t const bytes = to[0]->bytes() + to[1]->bytes() + to[2]->bytes();
    about_.plain_bytes += info.edges * 4, about_.packed_bytes += bytes;
    (of ? about_.weight_bits : about_.target_bits) = info.edges ? static_cast<double>(bytes) * 8 / static_cast<double>(info.edges) : 0;
    if (of || (info.in_edges && &l == lists_[0].get())) from.reset();  // in-edges are read again
  }
}

void large_graph::write_beside(std::uint64_t at, lists const& in, std::uint64_t& checksum) {
  graph_info const& info = counts_.info;
  section_stream to(out_, at);
  buffer<std::uint64_t> const& in_offsets = info.in_edges ? in.offsets : counts_.out.offsets;
  progress told("cached neighbors", info.edges);
  std::uint64_t const words = about_.cached_bytes / 4 / std::max<std::uint64_t>(1, info.vertices);
  std::uint64_t const most = std::max<std::uint64_t>(1024, left() / 4 / info.id_bytes),
                      most_vertices = std::min<std::uint64_t>(1u << 16, most);
  for (std::uint64_t first = 0; first < info.vertices;) {
    std::uint64_t const begin = in_offsets[first];
    std::uint64_t last = std::min(info.vertices, first + most_vertices);
    last = static_cast<std::uint64_t>(std::upper_bound(in_offsets.data() + first + 1, in_offsets.data() + last + 1, begin + most) -
                                      in_offsets.data()) -
           1;
    last = std::max(last, first + 1);
    std::uint64_t const arcs = in_offsets[last] - begin;
    memory_block const targets(tier::host, std::max<std::uint64_t>(arcs, 1) * info.id_bytes, -1, "lists, a part of them");
    if (in.targets) in.targets->read(targets.data(), arcs * 4, begin * 4);
    else out_.read_at(in.at + begin * info.id_bytes, targets.data(), arcs * info.id_bytes);
    std::vector<std::uint64_t> offsets(last - first + 1);
    for (std::uint64_t v = first; v <= last; ++v) offsets[v - first] = in_offsets[v] - begin;
    std::vector<std::uint32_t> made((last - first) * words);
    how_.beside->make(counts_, first, last - first, offsets.data(), targets.data(), made.data());
    to.append(made.data(), made.size() * 4);
    told.advance(arcs);
    first = last;
  }
  checksum = to.finish();
}

void large_graph::write_container(std::uint64_t id_base, build_report& report) {
  graph_info& info = counts_.info;
  std::uint64_t const n = info.vertices;
  std::uint64_t const state = (n + 1) * 8 * (info.in_edges ? 2 : 1) + (info.directed && !info.in_edges ? n / 8 : 0);
  auto const enough = [&] { return left() >= state + of_streams + least_merge * (info.in_edges ? 2 : 1) + sorter_->sort_bytes(); };
  if (!enough()) sorter_->cut();
  bool const tiny = how_.bytes && how_.bytes < large_graph_least;  // as in tests
  if (!enough() && !tiny)
    fail(errc::memory,
         "{}: {} bytes of host memory are left for its {} vertices and a part of its edges, and {} are needed; raise the host budget{}",
         name_, left(), n, state + of_streams + least_merge * 2, info.directed && info.in_edges ? ", or leave out --in-edges" : "");
  std::uint64_t const free = left() - std::min(left(), state + of_streams + sorter_->sort_bytes());
  std::uint64_t const share = std::max<std::uint64_t>(tiny ? 1024 : least_merge, free / (info.in_edges ? 5 : 4) * (info.in_edges ? 2 : 3));
  sorter_->finish(share);

  std::unique_ptr<arc_sorter> turned;
  if (info.in_edges) turned = std::make_unique<arc_sorter>(x_, folder_, weighted_, share);
  lists_[0] = std::make_unique<lists>(write_lists(*sorter_, true, container::on_page(container::page + (n + 1) * 8), turned.get(), report));
  about_.runs += sorter_->runs(), about_.passes += sorter_->passes();
  sorter_.reset();
  packed_words words;
  if (turned) {
    turned->finish(share);
    std::uint64_t at = 0;
    for (auto const& s : container::layout(info, words, 0))
      if (s.kind == section_kind::in_targets) at = s.offset;
    lists_[1] = std::make_unique<lists>(write_lists(*turned, false, at, nullptr, report));
    about_.runs += turned->runs(), about_.passes += turned->passes();
    turned.reset();
  }
  lists& out = *lists_[0];
  lists& in = info.in_edges ? *lists_[1] : out;
  if (info.compressed)
    for (auto const& l : lists_)
      if (l) pack(*l);
  words = {out.words[0], out.words[1], info.in_edges ? in.words[0] : 0, info.in_edges ? in.words[1] : 0};
  if (!info.directed || info.in_edges) {
    report.isolated = 0;
    for (std::uint64_t v = 0; v < n; ++v)
      report.isolated += out.offsets[v] == out.offsets[v + 1] && in.offsets[v] == in.offsets[v + 1] ? 1 : 0;
  }
  counts_.out.offsets = std::move(out.offsets);
  std::uint32_t const cached = how_.beside ? how_.beside->per_vertex(counts_, words) : 0;

  std::vector<container_section> sections = container::layout(info, words, cached);
  progress told("writing", container::end_of(sections) - container::page);
  for (container_section& s : sections) {
    auto const write = [&](auto const& fill) {
      section_stream to(out_, s.offset);
      fill(to);
      s.checksum = to.finish();
    };
    auto const whole = [&](buffer<std::uint64_t> const& from) { write([&](section_stream& to) { to.append(from.data(), from.bytes()); }); };
    auto const first_packed = static_cast<std::uint32_t>(section_kind::out_target_words);
    std::uint32_t const kind = static_cast<std::uint32_t>(s.kind);
    if (s.kind == section_kind::out_offsets) whole(counts_.out.offsets);
    else if (s.kind == section_kind::in_offsets) whole(in.offsets);
    else if (s.kind == section_kind::ids) {
      for (std::uint64_t& id : user_) id += id_base;  // no more lookups
      whole(user_);
    } else if (s.kind == section_kind::out_targets) s.checksum = out.checksum;
    else if (s.kind == section_kind::in_targets) s.checksum = in.checksum;
    else if (s.kind == section_kind::out_weights) write([&](section_stream& to) { copy(*out.weights, to); });
    else if (s.kind == section_kind::in_weights) write([&](section_stream& to) { copy(*in.weights, to); });
    else if (s.kind == section_kind::cached_neighbors) {
      about_.cached_neighbors = cached, about_.cached_bytes = s.bytes;
      write_beside(s.offset, in, s.checksum);
    } else {
      write([&](section_stream& to) { copy(*(kind < first_packed + 6 ? out : in).packed[(kind - first_packed) % 6], to); });
    }
    told.advance(s.bytes);
  }
  container::raw_header const raw = container::header_of(info, words, cached, sections);
  out_.write_at(0, &raw, sizeof raw);
  out_.commit();
}

}  // namespace garner

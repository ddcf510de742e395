// Assigns rows to memory tiers, and owns them.
#include "features/placement.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "features/stored_rows.hpp"
#include "garner/memory.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

constexpr std::size_t score_grain = 1u << 20;
constexpr std::size_t most_peers = 16;
static_assert(most_peers + 2 <= row_view::most_parts);
constexpr std::uint64_t fetched_at_once = 32u << 20;  // bytes
constexpr char const* peer_use = "rows kept on a peer";

// In parts whose sums are added in their order.
template <class Value>
double sum_of(executor& x, std::uint64_t n, Value const& value) {
  std::vector<double> sums((n + score_grain - 1) / score_grain);
  x.threads().run(sums.size(), 1, [&](std::uint64_t k, std::uint64_t) {
    double sum = 0;
    for (std::uint64_t i = k * score_grain; i < std::min<std::uint64_t>(n, (k + 1) * score_grain); ++i) sum += value(i);
    sums[k] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::string no_fast_link(int reader, std::vector<int> const& owners) {
  for (int p : owners)
    if (!device::peer_of(reader, p).fast)
      return fmt::format("; device {} has no fast link to device {}, so no rows lie on peers", reader, p);
  return "";
}

}  // namespace

row_placement::row_placement(executor& x, row_array const& source, row_sender& sender, tiered_options const& o)
    : x_(x), source_(source), sender_(sender) {
  view_.rows = source.rows, view_.row_bytes = source.row_bytes();
  view_.far = static_cast<char const*>(source.data);
  view_.in_file = source.file && view_.row_bytes > 0;
  place(o);
}

row_placement::row_placement(executor& x, row_array const& source, row_sender& sender, row_placement const& first)
    : x_(x),
      source_(source),
      sender_(sender),
      view_(first.view_),
      host_rows_(first.host_rows_),
      file_(first.file_),
      scores_(first.scores_),
      peers_(first.peers_) {
  garner::execution_device const where = x.where();
  if (where.kind != first.x_.where().kind)
    fail(errc::usage, "a table whose rows lie as those of {} cannot be gathered at {}; make a tensor for it", to_string(first.x_.where()),
         to_string(where));
  if (peers_ && peers_->group)
    fail(errc::usage, "the peers of this table are processes, each of which gathers at its own device; make a tensor in a process of {}",
         to_string(where));
  auto const same = [&](memory_block const& from, char const* what) {
    memory_block block(x.near(), from.bytes(), x.device(), what);
    if (from.bytes()) x.copy(block.data(), from.data(), from.bytes());
    return block;
  };
  std::string note = fmt::format("; beside {}", to_string(first.x_.where()));
  std::uint64_t peer_rows = view_.rows_in(tier::peer);
  if (peers_ && x.on_device())
    if (std::string const slow = no_fast_link(where.index, peers_->devices); !slow.empty()) {
      if (source.file)
        fail(errc::usage, "rows of {} lie on peers and not in host memory{}; make a tensor for {}", source.file->name(), slow,
             to_string(where));
      note += slow;  // then the peers' rows are read from host memory, which has all rows
      peer_rows = 0;
      peers_.reset();
    }
  if (peers_ && x.on_device())
    for (int p : peers_->devices) device::enable_peer(x.device(), p);
  near_rows_ = same(first.near_rows_, "rows kept on the device");
  ranks_ = same(first.ranks_, "ranks of the rows");
  view_.rank_of = ranks_.data();
  see_kept(first.view_.rows_in(tier::device), peer_rows);
  x.wait();
  map_rest();
  tell(note);
}

void row_placement::see_kept(std::uint64_t near, std::uint64_t peer) {
  view_.segments = 0;
  char const* at = static_cast<char const*>(near_rows_.data());
  view_.add(tier::device, near, 1, &at);
  if (peers_ && peer) {
    std::vector<char const*> parts;
    for (void const* p : peers_->at) parts.push_back(static_cast<char const*>(p));
    view_.add(tier::peer, peer, static_cast<std::uint32_t>(parts.size()), parts.data());
  }
  char const* const host = host_rows_ ? static_cast<char const*>(host_rows_->data()) : nullptr;
  view_.add(tier::host, file_.host, 1, &host);
}

void row_placement::require_peers() const {
  if (peers_ && peers_->group) peers_->group->require_alive();
}

void row_placement::place(tiered_options const& o) {
  std::uint64_t const row_bytes = source_.row_bytes();
  gather_how const as_they_are{gather_strategy::naive, source_.kind, source_.kind, nullptr, 0};
  garner::execution_device const where = o.device;
  if (o.peers.size() > most_peers) fail(errc::usage, "{} peers; at most {}", o.peers.size(), most_peers);
  if (std::set<int>(o.peers.begin(), o.peers.end()).size() != o.peers.size()) fail(errc::usage, "a peer is named twice");
  auto const me = std::find(o.peers.begin(), o.peers.end(), where.index);
  if (!o.peers.empty() && where.kind != device_kind::cpu && me == o.peers.end())
    fail(errc::usage, "peers must name {} too, since it holds its share of the rows",
         where.kind == device_kind::simulated ? std::to_string(where.index) : to_string(where));
  if (o.peers.empty() && o.peer_cache.value_or(0) > 0) fail(errc::usage, "a budget for peers, and no peers; name which devices they are");
  if (o.peers.empty() && !o.group.empty())
    fail(errc::usage, "a group of processes ('{}') and no peers; use at which devices they gather, all of them in the same order", o.group);
  if (where.kind == device_kind::cpu && !source_.file) return tell("");
  row_budget b{source_.rows, row_bytes, o.feature_cache, o.peer_cache, 0, 0, 0};
  bool const at_host = where.kind == device_kind::cpu;
  if (at_host) b.device_budget = 0;
  std::vector<int> devices = at_host ? std::vector<int>() : o.peers;
  std::string note;
  std::optional<peer_group> group;
  std::uint32_t const mine = static_cast<std::uint32_t>(me - o.peers.begin());  // in a group
  if (!o.group.empty() && !at_host)
    group.emplace(o.group,
                  peer_group::terms{static_cast<std::uint32_t>(devices.size()), mine, x_.device(), same_for_all(o), o.timeout_seconds});
  if (where.kind == device_kind::cuda) {
    note = no_fast_link(where.index, devices);
    if (!note.empty()) devices.clear();
    b.free_here = left_on_device(where.index);
    b.least_free_of_peers = devices.empty() ? 0 : ~std::uint64_t{0};
    for (int p : devices)
      if (!group || p == where.index) b.least_free_of_peers = std::min(b.least_free_of_peers, left_on_device(p));
  }
  b.peers = static_cast<std::uint32_t>(devices.size());
  row_shares shares = share_rows(b);
  if (group) {  // what none of them must refuse
    auto const least = group->least_of({shares.near, shares.peer, b.peers});
    if (least[2] == 0 && b.peers) {
      note = "; not all processes have fast links, so no rows lie on peers";
      b.peers = 0;
      shares = share_rows(b);
    } else if (b.peers) {
      if (least[0] < shares.near || least[1] < shares.peer) shares.why += "; as much as all processes have room for";
      shares.near = least[0], shares.peer = least[1];
    }
  }
  std::uint64_t const kept = shares.near + shares.peer;
  if (source_.file) file_ = share_file_rows({source_.rows - kept, row_bytes, o.host_cache, o.file_cache, host_memory_now().free()});
  bool const mapped_ids = !o.scores.empty() && kept + file_.host > 0 && shares.near < source_.rows;
  buffer<std::uint64_t> hot;
  if (mapped_ids) {
    hot = hottest(o.scores, kept + file_.host);
    double const all = sum_of(x_, o.scores.size(), [&](std::uint64_t i) { return o.scores[i]; });
    double const of_kept = sum_of(x_, std::min<std::uint64_t>(kept, hot.size()), [&](std::uint64_t k) { return o.scores[hot[k]]; });
    if (kept > 0 && all > 0 && of_kept >= 0 && of_kept <= all) far_share_ = 1 - of_kept / all;
  }
  if (file_.cache_bytes) scores_.assign(o.scores.begin(), o.scores.end());
  // The rows of the tiers: rank first + k * step for k in [0, n) to one block.
  auto const ids_of = [&](std::uint64_t first, std::uint64_t step) {
    return [&hot, first, step](std::uint64_t k, std::uint64_t n, std::uint64_t* ids) {
      for (std::uint64_t i = 0; i < n; ++i) {
        std::uint64_t const rank = first + (k + i) * step;
        ids[i] = hot.empty() ? rank : hot[rank];
      }
    };
  };
  progress told(
      "placing rows",
      (file_.host + (group ? shares.near + rows_of_peer(shares.peer, devices.empty() ? 1 : devices.size(), mine) : kept)) * row_bytes);
  if (shares.near) {
    near_rows_ = memory_block(x_.near(), shares.near * row_bytes, x_.device(), "rows kept on the device");
    // Rows that the device can read where they are need no staging: pinning comes first.
    if (where.kind != device_kind::cpu && !source_.file && kept < source_.rows) map(), fetch_near(hot, shares.near, told);
    else
      sender_.send(shares.near, hot.empty() ? row_sender::id_source() : ids_of(0, 1), static_cast<char*>(near_rows_.data()), as_they_are,
                   &told);
  }
  if (shares.peer) {
    auto lie = std::make_shared<rows_on_peers>();
    lie->devices = devices;
    for (std::uint32_t p = 0; p < b.peers; ++p) {
      std::uint64_t const n = rows_of_peer(shares.peer, b.peers, p);
      void* to = nullptr;
      if (group) {
        if (p != mine) continue;
        to = group->make(n * row_bytes, rows_of_peer(shares.peer, b.peers, 0) * row_bytes, peer_use);
      } else {
        to = lie->blocks.emplace_back(x_.near(), n * row_bytes, x_.on_device() ? devices[p] : -1, peer_use).data();
        lie->at.push_back(to);
      }
      if (n) sender_.send(n, ids_of(shares.near + p, b.peers), static_cast<char*>(to), as_they_are, &told);
    }
    if (x_.on_device() && !group)  // opening what a process exported permits reading it
      for (int p : devices) device::enable_peer(x_.device(), p);
    if (group) {
      lie->at = group->open();
      lie->group = std::move(group);
    }
    peers_ = std::move(lie);
  }
  if (file_.host) {
    host_rows_ =
        std::make_shared<memory_block const>(tier::host, file_.host * row_bytes, x_.device(), "rows of a file kept in host memory");
    read_rows_of(*source_.file, file_.host, ids_of(kept, 1), static_cast<char*>(host_rows_->data()), &told);
  }
  see_kept(shares.near, shares.peer);
  if (mapped_ids) keep_ranks(hot);
  map_rest();
  tell((where.kind == device_kind::cuda ? shares.why : "") + file_.why + note);
}

// The processes of a group must place the same rows of the same table.
std::string row_placement::same_for_all(tiered_options const& o) const {
  std::uint64_t h = 0;
  std::vector<std::uint64_t> sums((o.scores.size() + score_grain - 1) / score_grain);
  x_.threads().run(sums.size(), 1, [&](std::uint64_t k, std::uint64_t) {
    std::uint64_t sum = 0;
    for (float s : o.scores.subspan(k * score_grain, std::min(score_grain, o.scores.size() - k * score_grain)))
      sum = mix(sum ^ std::bit_cast<std::uint32_t>(s));
    sums[k] = sum;
  });
  for (std::uint64_t s : sums) h = mix(h ^ s);
  std::string peers_are = "simulated";
  if (x_.on_device()) {  // by their addresses, since each process has its own numbers
    peers_are.clear();
    for (int p : o.peers) peers_are += (peers_are.empty() ? "" : " ") + device::describe(p).pci;
  }
  return fmt::format("{} rows of {} bytes ({}), {}, peers {} ({})", source_.rows, source_.row_bytes(), to_string(source_.kind),
                     o.scores.empty() ? "no scores" : fmt::format("scores with the sum {:016x}", h), fmt::join(o.peers, ","), peers_are);
}

void row_placement::map_rest() {
  sender_.close();
  if ((view_.kept() == source_.rows && file_.host == 0) || source_.row_bytes() == 0) return;
  if (x_.on_device()) self_test(x_.device());
  if (!source_.file) map();
}

void row_placement::map() {
  if (mapped_ || !x_.on_device()) return;
  self_test(x_.device());
  mapped_.emplace(source_, x_.device());
  view_.far = static_cast<char const*>(mapped_->device_data());
}

void row_placement::fetch_near(buffer<std::uint64_t> const& hot, std::uint64_t n, progress& told) {
  row_view from;
  from.rows = source_.rows, from.row_bytes = source_.row_bytes(), from.far = view_.far;
  std::uint64_t const each = std::max<std::uint64_t>(1, fetched_at_once / from.row_bytes);
  buffer<std::uint64_t> ids(x_.near(), hot.empty() ? 0 : std::min(n, each), x_.device(), "ids of rows kept on the device");
  for (std::uint64_t k = 0; k < n; k += each) {
    check_interrupted();
    std::uint64_t const some = std::min(each, n - k);
    char* const to = static_cast<char*>(near_rows_.data()) + k * from.row_bytes;
    if (hot.empty()) {
      x_.copy(to, from.far + k * from.row_bytes, some * from.row_bytes);
    } else {
      x_.copy(ids.data(), hot.data() + k, some * sizeof(std::uint64_t));
      batch_list batch;
      batch.add({ids.data(), some, 8}, to);
      gather_rows(x_, from, batch, as_given(batch), {gather_strategy::aligned, source_.kind, source_.kind, nullptr, 0});
    }
    x_.wait();
    told.advance(some * from.row_bytes);
  }
}

void row_placement::tell(std::string const& note) {
  std::uint64_t const row_bytes = source_.row_bytes();
  std::string const as_bytes = source_.type.empty() ? "" : fmt::format("; elements of {} are held as raw bytes", source_.type);
  if (x_.where().kind == device_kind::cpu && !source_.file) {
    about_ = fmt::format("host: {} rows of {} bytes in host memory, where they were{}", source_.rows, row_bytes, as_bytes);
    return;
  }
  std::uint64_t const near = view_.rows_in(tier::device), peer = view_.rows_in(tier::peer), far = view_.rows_in(tier::host),
                      filed = view_.rows_in(tier::file);
  about_ = fmt::format("{}: of {} rows of {} bytes ", to_string(x_.where()), source_.rows, row_bytes);
  if (x_.where().kind != device_kind::cpu) about_ += fmt::format("{} ({}) lie here", near, format_bytes(near * row_bytes));
  if (peer) {
    about_ += fmt::format(", {} ({}) on {} peers in turn", peer, format_bytes(peer * row_bytes), peers_->at.size());
    if (peers_->group) about_ += ", a process each";
  }
  about_ += fmt::format("{}{} ({}) in host memory", x_.where().kind == device_kind::cpu ? "" : ", ", far, format_bytes(far * row_bytes));
  if (source_.file)
    about_ += fmt::format(", {} ({}) in {} ({}), of which {} at a time in host memory too", filed, format_bytes(filed * row_bytes),
                          source_.file->name(), source_.file->about(), format_bytes(file_.cache_bytes));
  if (view_.kept() && (filed || (far && !source_.file)))
    about_ +=
        view_.rank_of ? fmt::format("; the hottest by score are near ({} of ranks)", format_bytes(ranks_.bytes())) : "; the first are near";
  about_ += note + as_bytes;
}

void row_placement::keep_ranks(buffer<std::uint64_t> const& hot) {
  view_.rank_bytes = 4;  // hottest() gives fewer than 2^32
  memory_block built(tier::host, source_.rows * view_.rank_bytes, -1, "ranks of the rows");
  auto* const rank = static_cast<std::uint32_t*>(built.data());
  x_.threads().run(source_.rows, 1u << 20, [&](std::uint64_t a, std::uint64_t b) { std::memset(rank + a, 0xff, (b - a) * 4); });
  x_.threads().run(hot.size(), 1u << 20, [&](std::uint64_t a, std::uint64_t b) {
    for (std::uint64_t k = a; k < b; ++k) rank[hot[k]] = static_cast<std::uint32_t>(k);
  });
  if (x_.on_device()) {
    ranks_ = memory_block(tier::device, built.bytes(), x_.device(), "ranks of the rows");
    x_.copy(ranks_.data(), built.data(), built.bytes());
    x_.wait();
  } else {
    ranks_ = std::move(built);
  }
  view_.rank_of = ranks_.data();
}

}  // namespace garner
